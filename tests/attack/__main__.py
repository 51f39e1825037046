"""`python -m tests.attack --minutes 5`, `python -m tests.attack --case 0/files/17`."""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from threadpoolctl import threadpool_limits

import motlm

from .chance import Chance
from .kinds import COUNTS, KINDS
from .page import fill_page, table
from .runner import Account, Attack
from .trials import printable

ROOT = Path(__file__).parents[2]


def parser() -> argparse.ArgumentParser:
    about = argparse.ArgumentParser(
        prog="python -m tests.attack",
        description=(
            "Attacks motlm with random cases, and prints what was tried and found. The exit code"
            " is 1 if there is a finding. Ctrl-C ends the run, and prints what there is."
        ),
    )
    about.add_argument("--seed", type=int, default=0, help="of all cases (default 0)")
    about.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    about.add_argument("--minutes", type=float, help="stop after this time")
    about.add_argument(
        "--counts",
        default="",
        metavar="KIND=NUMBER,..",
        help=(
            "cases of each kind; without it and with --minutes, as many as there is time for."
            f" Default: {','.join(f'{kind}={number}' for kind, number in COUNTS.items())}"
        ),
    )
    about.add_argument("--output", type=Path, help="write the results as JSON")
    about.add_argument(
        "--case", metavar="SEED/KIND/NUMBER", help="run one case again, and show its traceback"
    )
    about.add_argument(
        "--without", default="", metavar="STEPS", help="with --case: steps to leave out"
    )
    about.add_argument(
        "--table", type=Path, metavar="RESULTS", help="write the table of results into the page"
    )
    return about


def main(arguments: list[str] | None = None) -> int:
    about = parser()
    options = about.parse_args(arguments)
    if options.table is not None:
        results = json.loads(options.table.read_text(encoding="utf-8"))
        fill_page(ROOT / "docs" / "reliability.md", results)
        print(table(results))
        return 0
    if options.case is not None:
        return _again(options.case, options.without)
    try:
        counts = _counts(options.counts)
    except ValueError as error:
        about.error(str(error))
    return _attack(options, counts)


def _counts(text: str) -> dict[str, int]:
    """Of each kind; of those that are not named, none."""
    if not text:
        return dict(COUNTS)
    counts = dict.fromkeys(COUNTS, 0)
    for part in text.split(","):
        name, _, number = part.partition("=")
        if name not in counts or not number.isdecimal():
            raise ValueError(f"--counts: {part!r} is not KIND=NUMBER; kinds: {', '.join(counts)}.")
        counts[name] = int(number)
    return counts


def _attack(options: argparse.Namespace, counts: dict[str, int]) -> int:
    threadpool_limits(1)  # the processes share the cores
    began = time.monotonic()
    end = math.inf if options.minutes is None else began + 60 * options.minutes
    kinds = [kind for kind in KINDS if counts[kind.name]]
    for kind in kinds:
        kind.prepare()
    endless = options.minutes is not None and not options.counts
    attack = Attack(kinds, counts, options.seed, options.jobs, end, endless, _say)
    try:
        attack.run()
    except KeyboardInterrupt:
        _say("stopped; this was tried until then:")
    results = {
        "motlm": motlm.__version__,
        "python": platform.python_version(),
        "seed": options.seed,
        "seconds": round(time.monotonic() - began, 1),
        "jobs": options.jobs,
        "kinds": {name: account.to_dict() for name, account in attack.accounts.items()},
    }
    if options.output is not None:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return _report(attack.accounts, results["seconds"])


def _report(accounts: dict[str, Account], seconds: Any) -> int:
    found = 0
    print(f"\n{seconds:.0f} s")
    for name, account in accounts.items():
        found += account.outcomes["finding"]
        print(f"{name}: {account.tried} tried, {account.outcomes['finding']} findings")
        for outcome, number in account.outcomes.most_common():
            print(f"    {number:8d}  {outcome}")
        for cause, number in account.causes.most_common():
            first = next(one for one in account.findings if one.signature == cause)
            print(f"  {number} times  {first}")
    return 1 if found else 0


def _again(case: str, without: str) -> int:
    """One case, with the traceback of what it raises."""
    kind = next((one for one in KINDS if one.name == case.split("/")[1]), None)
    if kind is None:
        print(f"no kind {case.split('/')[1]}", file=sys.stderr)
        return 2
    kind.prepare()
    chance = Chance.of(case, frozenset(int(one) for one in without.split(",") if one))
    with TemporaryDirectory(prefix="attack-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            print(kind.attempt(chance, Path(folder)))
        finally:
            print(printable("\n".join(chance.notes)))
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
