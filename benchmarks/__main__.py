"""python benchmarks [--quick] [--only SECTION ..] [--json FILE] [--resume]
python benchmarks --against REV [--pairs 5] [--quick] [--only GROUP ..] [--json FILE] [--resume]

Prints one table with every figure next to its target, and writes it as JSON. A full run takes about
an hour and a half on two cores, --quick some minutes. Ctrl-C stops it; --resume continues from the
file, whose figures are taken as they are: give it only if the tree has not changed since. Data sets
are read from the folder MOTLM_DATA.

The section `peers` needs the package of explainable boosting: pip install "motlm[peers]".

With --against the same fits are run by turns in an earlier revision and in the present tree, and
the rows say how many times as fast they are. The revision (a commit, a tag, a branch) is installed
in an environment of its own, build/against/<commit>, with the versions of NumPy, SciPy,
scikit-learn, pandas and joblib of this one; it is kept for the next run. Each of the two fits in
one process that lives as long as the run, after an untimed fit of a few rows. Groups:
  small   default fits of tables with some hundred rows
  middle  two localities, tables with some thousand rows
  auto    n_localities="auto" on both
  large   100 000 and 1 000 000 rows on two cores, with the peak of memory
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy: one thread for each process
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

import accuracy
import against
import environments
import fits
import imports
import kernel
import minima
import peers
import profiles
from data import FOLDER
from table import Table, machine

SECTIONS = {
    "imports": imports.run,
    "kernel": kernel.run,
    "profile": profiles.run,
    "fits": fits.run,
    "minima": minima.run,
    "accuracy": accuracy.run,
    "peers": peers.run,
}
WITHOUT_DATA = ("imports", "kernel", "profile", "large")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="only some of the figures, in some minutes"
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=[*SECTIONS, *against.GROUPS],
        metavar="SECTION",
        help=f"{', '.join(SECTIONS)}; with --against also {', '.join(against.GROUPS)}",
    )
    parser.add_argument("--against", metavar="REV", help="an earlier revision to compare with")
    parser.add_argument("--of", metavar="REV", help="a revision in place of the present tree")
    parser.add_argument(
        "--pairs", type=int, metavar="N", help="fits of each by turns (5; 1 with --quick)"
    )
    parser.add_argument(
        "--json", type=Path, help="file to write (bench.json; against.json with --against)"
    )
    parser.add_argument(
        "--resume", action="store_true", help="do not repeat measurements that are in the file"
    )
    found = parser.parse_args()
    found.pairs = (1 if found.quick else 5) if found.pairs is None else found.pairs
    if found.pairs < 1:
        parser.error(f"--pairs must be at least 1; got {found.pairs}.")
    found.only = found.only or list(against.GROUPS if found.against else SECTIONS)
    found.json = found.json or Path("against.json" if found.against else "bench.json")
    groups = [name for name in found.only if name in against.GROUPS]
    if not found.against and (groups or found.of):
        parser.error(f"{', '.join(groups) or '--of'}: what to compare with? Give --against REV.")
    return found


def sections(given: argparse.Namespace) -> dict[str, Callable[[Table, bool], None]]:
    """What can be run, by name; what --against names is installed first."""
    found = {**SECTIONS, "peers": partial(peers.run, pairs=given.pairs)}
    if given.against:
        sides = {
            "old": environments.installed(given.against),
            "new": environments.installed(given.of) if given.of else environments.present(),
            "pairs": given.pairs,
        }
        for group in against.GROUPS:
            found[group] = partial(against.run, group, sides=sides)
    return found


def main() -> None:
    given = options()
    names = given.only
    if not FOLDER.is_dir():
        names = [name for name in names if name in WITHOUT_DATA]
        print(
            f"no data in {FOLDER}: {', '.join(names) or 'nothing'} only. For the rest, set"
            " MOTLM_DATA to the folder with keel/, synthetic/ and tables/."
        )
    run = sections(given)
    table = Table(given.json, given.resume)
    print(" | ".join(machine().values()))
    if given.against:
        print(f"old: {given.against}, new: {given.of or 'the present tree'}, {given.pairs} pairs")
    print(f"{'':<62} {'measured':>10}  {'target':>10}  met")
    for name in names:
        run[name](table, given.quick)


if __name__ == "__main__":
    main()
