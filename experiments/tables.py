"""The paper's tables in Markdown: published results, the paper's protocol, and motlm's search."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from motlm.datasets import KEEL

from . import plan, published
from .methods import OPTIONAL, SYNTHETIC, TRUE, origin, unusable
from .store import Record, Store

TITLES = {one.name: one.title for one in KEEL}
CASES = {"clf_case1": "Case 1", "clf_case2": "Case 2", "reg_case1": "Case 1", "reg_case2": "Case 2"}
PART_NAMES = {"train": "training", "valid": "validation", "test": "test"}


def grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [
        "| " + " | ".join(header) + " |",
        "|" + "|".join([":--"] + ["--:"] * (len(header) - 1)) + "|",
    ]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def cell(records: Sequence[Record], scale: float, pick: Callable[[Record], float | None]) -> str:
    """Mean and standard deviation over the splits, with their number if it is not ten."""
    values = [value for one in records if (value := pick(one)) is not None]
    if not values:
        return ""
    digits = 2 if scale == 100 else 4 if pick is not _test else 3
    text = f"{scale * np.mean(values):.{digits}f}"
    if len(values) > 1:
        text += f" ± {scale * np.std(values, ddof=1):.{digits}f}"
    return text if len(values) == plan.SPLITS else f"{text} ({len(values)})"


def _test(record: Record) -> float:
    return record.test


def _field(name: str) -> Callable[[Record], float | None]:
    return lambda one: getattr(one, name)


def _format(value: float, scale: float, digits: int) -> str:
    return f"{scale * value:.{digits}f}"


def compare(ours: Sequence[Record], theirs: Sequence[Record], scale: float) -> str:
    """Mean difference over common splits, and numbers of splits with better/equal/worse scores."""
    other = {one.split: one.test for one in theirs}
    gaps = np.array([one.test - other[one.split] for one in ours if one.split in other])
    if not len(gaps):
        return ""
    wins, losses = int((gaps > 1e-12).sum()), int((gaps < -1e-12).sum())
    return (
        f"{scale * gaps.mean():+.{1 if scale == 100 else 3}f}"
        f" ({wins}/{len(gaps) - wins - losses}/{losses})"
    )


def synthetic_scores(store: Store, kind: str) -> str:
    """Tables 3 and 5."""
    scale, digits = (100.0, 2) if kind == "clf" else (1.0, 4)
    machines = plan.MACHINES[kind]
    header = ["data set"] + [
        f"{one}, {who}"
        for one in machines
        for who in ("paper", "ours")
        if one != "linear SVR" or who == "ours"
    ]
    header += ["mixture, paper", "mixture, paper's protocol", "mixture, motlm's search"]
    rows = []
    for data in SYNTHETIC:
        if not data.startswith(kind):
            continue
        for j, part in enumerate(published.PARTS):
            pick = _field(part)
            row = [f"{CASES[data]}, {PART_NAMES[part]}"]
            for one in machines:
                if one in published.KNOWN[data]:
                    row.append(_format(published.KNOWN[data][one][j], scale, digits))
                row.append(cell(store.of(data, origin(data), one), scale, pick))
            row.append(_format(published.KNOWN[data]["mixture"][j], scale, digits))
            row += [
                cell(store.of(data, origin(data), f"{who} known {TRUE[data]}"), scale, pick)
                for who in ("protocol", "motlm")
            ]
            rows.append(row)
    return grid(header, rows)


def synthetic_risks(store: Store, kind: str, which: str) -> str:
    """Tables 4 and 6 (known points), and the risks of tables 7 and 8 (learned points)."""
    paper = published.RISKS_KNOWN if which == "known" else published.RISKS_LEARNED
    header = ["data set", "paper", "paper's protocol", "motlm's search"]
    rows = []
    for data in SYNTHETIC:
        if data.startswith(kind):
            name = f"known {TRUE[data]}" if which == "known" else f"n={TRUE[data]}"
            for j, what in enumerate(("gibbs_risk", "core")):
                label = "empirical Gibbs risk" if what == "gibbs_risk" else "core component"
                ours = [
                    cell(store.of(data, origin(data), f"{who} {name}"), 1.0, _field(what))
                    for who in ("protocol", "motlm")
                ]
                rows.append([f"{CASES[data]}, {label}", f"{paper[data][j]:.4f}", *ours])
    return grid(header, rows)


def synthetic_learned(store: Store, kind: str) -> str:
    """Tables 7 and 8."""
    scale, digits = (100.0, 2) if kind == "clf" else (1.0, 4)
    rows = []
    for data in SYNTHETIC:
        if data.startswith(kind):
            for j, part in enumerate(published.PARTS):
                ours = [
                    cell(store.of(data, origin(data), f"{who} n={TRUE[data]}"), scale, _field(part))
                    for who in ("protocol", "motlm")
                ]
                rows.append(
                    [
                        f"{CASES[data]}, {PART_NAMES[part]}",
                        _format(published.LEARNED[data][j], scale, digits),
                        *ours,
                    ]
                )
    return (
        grid(["data set", "paper", "paper's protocol", "motlm's search"], rows)
        + "\n"
        + synthetic_risks(store, kind, "learned")
    )


def real_sets(store: Store, task: str) -> str:
    """Tables 9 and 10: one row for each data set and column of the paper's table."""
    scale, digits = (100.0, 2) if task == "classification" else (1.0, 2)
    header = [
        "data set",
        "column",
        "paper",
        "paper's protocol",
        "motlm's search, paper's preparation",
        "motlm's search, sound preparation",
    ]
    rows = []
    for data in plan.SETS[task]:
        first = f"**{TITLES[data]}**"
        for column in (*plan.SIZES[task], "auto"):
            value = published.REAL[data].get(column)
            printed = "" if value is None else _format(value, scale, digits)
            ours = [
                cell(store.of(data, preparation, f"{who} {column}"), scale, _test)
                for who, preparation in (
                    ("protocol", "paper"),
                    ("motlm", "paper"),
                    ("motlm", "sound"),
                )
            ]
            rows.append([first, column, printed, *ours])
            first = ""
    return grid(header, rows) + "\n" + fewer(store, task) + "\n" + _rivals(store, task)


def _rivals(store: Store, task: str) -> str:
    """The other methods of the paper's table, and the mixture minus each on the same splits."""
    scale, digits = (100.0, 2) if task == "classification" else (1.0, 2)
    header = [
        "data set",
        "method",
        "paper",
        "ours, paper's preparation",
        "ours, sound preparation",
        "motlm auto minus it, paper's",
        "sound",
    ]
    rows = []
    for data in plan.SETS[task]:
        first = f"**{TITLES[data]}**"
        for rival in plan.RIVALS[task]:
            value = published.REAL[data].get(rival)
            ours = [
                cell(store.of(data, preparation, rival), scale, _test)
                for preparation in plan.PREPARATIONS
            ]
            gaps = [
                compare(
                    store.of(data, preparation, "motlm auto"),
                    store.of(data, preparation, rival),
                    scale,
                )
                for preparation in plan.PREPARATIONS
            ]
            rows.append(
                [
                    first,
                    rival,
                    "" if value is None else _format(value, scale, digits),
                    *ours,
                    *gaps,
                ]
            )
            first = ""
    return grid(header, rows)


def _mean(records: Sequence[Record], scale: float) -> str:
    if not records:
        return ""
    text = f"{scale * np.mean([one.test for one in records]):.{1 if scale == 100 else 3}f}"
    return text if len(records) == plan.SPLITS else f"{text} ({len(records)})"


def peers(store: Store) -> str:
    """Every method on every set: mean test score, and paired differences from the mixture."""
    text = ""
    for task, names in plan.PEERS.items():
        scale = 100.0 if task == "classification" else 1.0
        for preparation in plan.PREPARATIONS:
            every = [
                name
                for name in names
                if any(store.of(data, preparation, name) for data in plan.SETS[task])
            ]
            header = [f"{task}, {preparation} preparation", "motlm auto", *every]
            rows, gaps = [], []
            for data in plan.SETS[task]:
                found = [store.of(data, preparation, name) for name in ("motlm auto", *every)]
                means = [_mean(some, scale) for some in found]
                rows.append([TITLES[data], *means])
                gaps.append([TITLES[data], *(compare(found[0], some, scale) for some in found[1:])])
            text += grid(header, rows) + "\n"
            text += (
                "The mixture minus each, and numbers of splits where it is better/equal/worse:\n\n"
            )
            text += grid([header[0], *every], gaps) + "\n"
    run = {key.method for key in store.records}
    absent = [
        f"{name} (package {OPTIONAL[name]}: {unusable(name)})"
        for name in OPTIONAL
        if name not in run and unusable(name)
    ]
    return text + (f"Not run: {'; '.join(absent)}.\n" if absent else "")


def verdicts(store: Store) -> str:
    """motlm's search against the best column of the paper's own method, and against its Gaussian
    SVR, in the paper's preparation.

    "auto" is selected on validation rows; the best n on test rows, like the paper's best column.
    """
    rows = []
    for data, columns in published.REAL.items():
        task = "classification" if data in published.CLASSIFICATION else "regression"
        scale = 100.0 if task == "classification" else 1.0
        best = max(value for name, value in columns.items() if name in published.OWN)
        ours = {
            size: store.of(data, "paper", f"motlm {size}") for size in (*plan.SIZES[task], "auto")
        }
        means = {
            size: float(np.mean([one.test for one in found]))
            for size, found in ours.items()
            if found
        }
        sizes = [size for size in means if size != "auto"]
        if "auto" not in means or not sizes:
            continue
        top = max(sizes, key=lambda size: means[size])
        svr = columns.get("Gaussian SVR")
        row = [TITLES[data], _format(best, scale, 2)]
        row += [cell(ours["auto"], scale, _test), _as_good(means["auto"], best, scale)]
        row += [f"{cell(ours[top], scale, _test)}, {top}", _as_good(means[top], best, scale)]
        row += (
            ["", ""] if svr is None else [_format(svr, 1.0, 2), _as_good(means["auto"], svr, 1.0)]
        )
        rows.append(row)
    header = [
        "data set",
        "paper's best n",
        "motlm auto",
        "as good",
        "motlm's best n",
        "as good",
        "paper's Gaussian SVR",
        "auto as good",
    ]
    return grid(header, rows)


def _as_good(ours: float, theirs: float, scale: float) -> str:
    """Compared to the two digits that the paper prints."""
    return "yes" if round(scale * ours, 2) >= round(scale * theirs, 2) else "no"


def fewer(store: Store, task: str) -> str:
    """How often a fit ended with fewer localities than requested, since some contained no rows."""
    requested = [
        one
        for one in store.records.values()
        if one.data in plan.SETS[task] and one.method.startswith("motlm n=")
    ]
    less = [
        one for one in requested if int(one.chosen.split("n=")[1]) < int(one.method.split("n=")[1])
    ]
    if not less:
        return ""
    names = ", ".join(sorted({TITLES[one.data] for one in less}))
    return (
        f"In {len(less)} of {len(requested)} fits of motlm with a given n, localities without any"
        f" row were dropped ({names}).\n"
    )
