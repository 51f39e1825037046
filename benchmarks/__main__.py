"""python benchmarks [--quick] [--only SECTION ..] [--json FILE] [--resume]

Prints one table with every figure next to its target, and writes it as JSON. A full run takes about
an hour on two cores, --quick about a minute. Ctrl-C stops it; --resume continues from the file.
Data sets are read from the folder MOTLM_DATA.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy: one thread for each process
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
from pathlib import Path

import accuracy
import fits
import imports
import kernel
import minima
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
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="only some of the figures, in about a minute"
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=SECTIONS,
        default=list(SECTIONS),
        metavar="SECTION",
        help=", ".join(SECTIONS),
    )
    parser.add_argument(
        "--json", type=Path, default=Path("bench.json"), help="file to write (bench.json)"
    )
    parser.add_argument(
        "--resume", action="store_true", help="do not repeat measurements that are in the file"
    )
    options = parser.parse_args()
    sections = options.only
    if not FOLDER.is_dir():
        print(
            f"no data in {FOLDER}: imports, kernel and profile only. For the rest, set MOTLM_DATA to"
            " the folder with keel/ and synthetic/."
        )
        sections = [name for name in sections if name in ("imports", "kernel", "profile")]
    table = Table(options.json, options.resume)
    print(" | ".join(machine().values()))
    print(f"{'':<62} {'measured':>10}  {'target':>10}  met")
    for name in sections:
        SECTIONS[name](table, options.quick)


if __name__ == "__main__":
    main()
