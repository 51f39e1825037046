"""Fits of two revisions in one run: the same tables by turns, so that other load on the machine
affects both.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import isclose
from statistics import median
from typing import Any

from data import plain
from environments import Side
from processes import Answer, Job, Tables, Worker, fit_alone
from table import Table

OURS = ("motlm:LocalMixtureClassifier", "motlm:LocalMixtureRegressor")
SMALL = ("german", "saheart", "wdbc", "baseball", "concrete", "diabetes")
MIDDLE = ("banana", "phoneme", "stock", "ring")
GROUPS = {  # name: (tables, parameters, target)
    "small": (SMALL, {}, ">= 8"),
    "middle": (MIDDLE, {"n_localities": 2}, ">= 4"),
    "auto": (SMALL + MIDDLE, {"n_localities": "auto"}, ">= 6"),
    "large": ((100_000, 1_000_000), {"n_localities": 2, "n_jobs": 2}, ">= 2"),
}
QUICK = {"auto": ("saheart", "baseball"), "large": (100_000,)}  # otherwise the first two
Pair = dict[str, Answer]  # old and new


class Comparison:
    """Two revisions, measured in pairs; which of the two comes first alternates."""

    def __init__(self, table: Table, old: Side, new: Side, pairs: int) -> None:
        self.table, self.old, self.new, self.pairs = table, old, new, pairs

    def measure(self, label: str, pairs: int, fit: Callable[[str], Answer]) -> list[Pair]:
        """Answers for "old" and "new", pair by pair."""

        def pair(i: int) -> Pair:
            order = ("old", "new") if i % 2 == 0 else ("new", "old")
            found = {side: fit(side) for side in order}
            times = ", ".join(f"{side} {found[side]['seconds']:.3g} s" for side in ("old", "new"))
            print(f"  {label}, pair {i + 1} of {pairs}: {times}", file=sys.stderr, flush=True)
            return found

        names = f"{self.old.name}, {self.new.name}"
        return [
            self.table.measure(f"{label}, pair {i} of {names}", lambda i=i: pair(i))
            for i in range(pairs)
        ]

    def show(self, label: str, found: list[Pair], target: str) -> None:
        """Medians of the seconds, their ratio, and the ratio of the objectives."""
        old, new = (median(pair[side]["seconds"] for pair in found) for side in ("old", "new"))
        self.table.row(f"{label}, old, s", old)
        self.table.row("  new, s", new)
        self.table.row("  times as fast", old / new, target)
        before, after = found[-1]["old"], found[-1]["new"]
        differ = [
            f"{what.replace('_', ' ')} {before[what]:.4g}, now {after[what]:.4g}"
            for what in ("localities", "inverse_temperature")
            if not isclose(before[what], after[what], rel_tol=1e-6)
        ]
        if differ:
            print(f"  objectives not comparable: {'; '.join(differ)}", flush=True)
        else:
            self.table.row("  objective, new / old", after["objective"] / before["objective"])

    def on_tables(self, group: str, quick: bool) -> None:
        names, parameters, target = GROUPS[group]
        names = QUICK.get(group, names[:2]) if quick else names
        with Worker(self.old) as old, Worker(self.new) as new, Tables(plain) as tables:
            workers = {"old": old, "new": new}
            for name in names:
                job = tables.job(name, OURS, {"max_localities": 2}, **parameters, random_state=0)
                job["paper"] = True
                label = f"{group} fit, {name}"
                found = self.measure(
                    label, self.pairs, lambda side, job=job: workers[side].fit(job)
                )
                self.show(label, found, target)

    def on_large(self, quick: bool) -> None:
        """Ringnorm with 20 columns, each fit in a process of its own; one pair of the largest."""
        sizes, parameters, target = GROUPS["large"]
        sides = {"old": self.old, "new": self.new}
        for m in QUICK["large"] if quick else sizes:
            job: Job = {
                "data": [m, 20],
                "estimator": OURS[0],
                "parameters": parameters | {"random_state": 0},
                "warm_up": {},
                "paper": True,
            }
            label, most = f"large fit, {m} rows, d = 20", m >= 1_000_000
            found = self.measure(
                label,
                1 if most else self.pairs,
                lambda side, job=job: fit_alone(sides[side], job),
            )
            self.show(label, found, ">= 1" if most else target)
            peaks = {side: median(pair[side]["MiB"] for pair in found) for side in sides}
            self.table.row("  peak memory, old, MiB", peaks["old"], digits=".0f")
            self.table.row("  peak memory, new, MiB", peaks["new"], digits=".0f")
            self.table.row(
                "  peak memory, new / old", peaks["new"] / peaks["old"], "<= 1" if most else None
            )


def run(group: str, table: Table, quick: bool, sides: dict[str, Any]) -> None:
    """One group of fits; `sides` has the `old` and the `new` revision and the number of `pairs`."""
    comparison = Comparison(table, **sides)
    if group == "large":
        comparison.on_large(quick)
    else:
        comparison.on_tables(group, quick)
