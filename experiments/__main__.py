"""`python -m experiments --list`, `python -m experiments table9 figure5`, `python -m experiments
all`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from motlm.datasets import data_folder

from . import certificates, copies, coverage, defaults, localities, losses, plan, rates, tables
from .methods import SYNTHETIC, is_redrawn
from .run import complete
from .store import PLACE, Key, Store

OUTPUT = Path(__file__).parents[1] / "docs" / "reproduction"


@dataclass(frozen=True)
class Table:
    title: str
    keys: Callable[[int], list[Key]]
    show: Callable[[Store], str]


TABLES = {
    "table3": Table(
        "accuracy on synthetic sets, known points",
        lambda k: plan.known_points("clf", k),
        lambda s: tables.synthetic_scores(s, "clf"),
    ),
    "table4": Table(
        "risk and core component, classification, known points",
        lambda k: plan.known_points("clf", k),
        lambda s: tables.synthetic_risks(s, "clf", "known"),
    ),
    "table5": Table(
        "R2 on synthetic sets, known points",
        lambda k: plan.known_points("reg", k),
        lambda s: tables.synthetic_scores(s, "reg"),
    ),
    "table6": Table(
        "risk and core component, regression, known points",
        lambda k: plan.known_points("reg", k),
        lambda s: tables.synthetic_risks(s, "reg", "known"),
    ),
    "table7": Table(
        "accuracy, risk and core component, learned points",
        lambda k: plan.learned_points("clf", k),
        lambda s: tables.synthetic_learned(s, "clf"),
    ),
    "table8": Table(
        "R2, risk and core component, learned points",
        lambda k: plan.learned_points("reg", k),
        lambda s: tables.synthetic_learned(s, "reg"),
    ),
    "table9": Table(
        "accuracy on KEEL's sets, and League of Experts",
        lambda k: plan.real_sets("classification", k),
        lambda s: tables.real_sets(s, "classification"),
    ),
    "table10": Table(
        "R2 on KEEL's sets, and SVR",
        lambda k: plan.real_sets("regression", k),
        lambda s: tables.real_sets(s, "regression"),
    ),
    "verdicts": Table(
        "motlm's search against the paper's best columns",
        lambda k: [
            key
            for task in plan.SIZES
            for key in plan.real_sets(task, k)
            if key.method.startswith("motlm")
        ],
        tables.verdicts,
    ),
    "peers": Table("other methods on KEEL's sets", plan.peers, tables.peers),
}
APART = {
    "certificates": "certified risks on KEEL's sets",
    "copies": "changed training rows and fresh rows: which of them an audit refuses",
    "coverage": (
        "coverage of the certificates where true risks are known, with controls that must fail"
    ),
    "rates": "coverage of the certificates of rates, with controls that must fail",
    "losses": "probabilities, rates and one linear model beside scikit-learn's",
    "defaults": "the default estimators beside what users would pick instead",
    "localities": "localities in balls, in a few columns and in all of them",
}
MODULES = {"defaults": defaults, "localities": localities, "losses": losses}
FIGURE_TITLES = {
    "figure1": "a simple and a complex global model",
    "figure2": "a mixture of local models on the same rows",
    "figure3": "synthetic classification sets",
    "figure4": "linear SVM on them",
    "figure5": "mixtures on them, known points",
    "figure6": "influence of the number of known points",
    "figure7": "synthetic regression sets",
    "figure8": "mixtures on them, known points",
    "figure9": "mixtures, classification, learned points",
    "figure10": "mixtures, regression, learned points",
    "figure11": "quasi-Monte-Carlo approximation of Upsilon",
}


def parser() -> argparse.ArgumentParser:
    about = argparse.ArgumentParser(
        prog="python -m experiments",
        description=(
            "Computes the paper's tables and figures. Results are kept in the results file and not"
            " computed again; an interrupted run resumes where it was stopped."
        ),
        epilog=(
            "Data sets are searched for in the folder named by the environment variable MOTLM_DATA."
        ),
    )
    about.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=(
            "table3 .. table10, verdicts, peers, figure1 .. figure11, or all (of these);"
            " certificates, copies, coverage, defaults, localities, losses, rates"
        ),
    )
    about.add_argument(
        "--list",
        action="store_true",
        help="list tables and figures, and how much of them is computed",
    )
    about.add_argument(
        "--jobs", type=int, default=1, help="processes (default 1); the results do not depend on it"
    )
    about.add_argument(
        "--splits", type=int, default=plan.SPLITS, help="number of splits (default 10)"
    )
    about.add_argument(
        "--protocol-hours",
        type=float,
        default=2.0,
        help="time for the paper's own protocol, which is slow (default 2; 0 skips it)",
    )
    about.add_argument(
        "--quick",
        action="store_true",
        help="coverage, copies, rates: fewer sets, 100 for each case instead of 1000",
    )
    about.add_argument(
        "--only",
        choices=(*coverage.PARTS, "copies"),
        help=(
            "coverage: the statements of certify and audit, those without a split, the controls on"
            " training rows, or that of audits on rounded ones"
        ),
    )
    about.add_argument(
        "--results",
        type=Path,
        default=None,
        help=f"results file (default {PLACE.name} next to the code)",
    )
    about.add_argument(
        "--output",
        type=Path,
        default=OUTPUT,
        help="folder for tables and figures (default docs/reproduction)",
    )
    return about


def _draw(name: str, store: Store, folder: Path) -> Path:
    try:
        from . import figures
    except ImportError as error:
        raise SystemExit(
            f"figures need matplotlib: pip install 'motlm[experiments]' ({error})"
        ) from error
    return figures.draw(name, store, folder)


def _run_apart(
    names: list[str], options: argparse.Namespace, about: argparse.ArgumentParser
) -> int:
    """Run the experiments that have their own results files."""
    if len(names) != len(set(options.names)):
        about.error(f"{names[0]} has its own results file; give it alone.")
    failed = 0
    try:
        for name in names:
            if name == "certificates":
                failed += certificates.main(
                    options.results, options.output, options.jobs, options.splits
                )
            elif name in MODULES:
                run = MODULES[name].main
                failed += run(options.results, options.output, options.jobs, options.splits)
            elif name == "rates":
                failed += rates.main(options.output, options.jobs, options.quick)
            elif name == "copies":
                failed += copies.main(options.output, options.jobs, options.quick)
            else:
                failed += coverage.main(
                    options.results, options.output, options.jobs, options.quick, options.only
                )
    except KeyboardInterrupt:
        print("\nstopped; results are kept, and the same command continues there.", file=sys.stderr)
        return 130
    return 1 if failed else 0


def main(arguments: list[str] | None = None) -> int:
    about = parser()
    options = about.parse_args(arguments)
    if options.jobs < 1 or not 1 <= options.splits <= plan.SPLITS:
        about.error(
            f"--jobs must be at least 1 and --splits 1 to {plan.SPLITS}; got {options.jobs} and"
            f" {options.splits}."
        )
    apart = [name for name in dict.fromkeys(options.names) if name in APART]
    if apart and not options.list:
        return _run_apart(apart, options, about)
    options.results = options.results or PLACE
    store = Store(options.results)
    if options.list:
        for name, table in TABLES.items():
            keys = table.keys(options.splits)
            print(
                f"{name:10} {table.title} ({len(keys) - len(store.missing(keys))} of {len(keys)}"
                " records)"
            )
        for name, title in (FIGURE_TITLES | APART).items():
            print(f"{name:10} {title}")
        return 0
    every = [*TABLES, *FIGURE_TITLES]
    names = every if "all" in options.names else list(dict.fromkeys(options.names))
    strange = [name for name in names if name not in every]
    if strange or not names:
        about.error(
            f"{'no ' + strange[0] + '; ' if strange else ''}give all, or some of"
            f" {', '.join(every)}."
        )
    anew = [name for name in SYNTHETIC if is_redrawn(name)]
    if anew:
        print(
            f"{', '.join(anew)}: the authors' samples are not in {data_folder()}; new samples are"
            " drawn from the same distributions.",
            file=sys.stderr,
        )
    keys = [key for name in names if name in TABLES for key in TABLES[name].keys(options.splits)]
    if "figure6" in names:
        keys += plan.influence(options.splits)
    others = store.others(keys)
    if others:
        print(
            f"{others} records in {options.results} were computed by another version of motlm's"
            " code; remove the file to compute them again.",
            file=sys.stderr,
        )
    try:
        failed = complete(store, keys, options.jobs, options.protocol_hours)
        for name in names:
            if name in TABLES:
                text = TABLES[name].show(store)
                options.output.mkdir(parents=True, exist_ok=True)
                (options.output / f"{name}.md").write_text(text, encoding="utf-8")
                print(f"{name}: {TABLES[name].title}\n\n{text}")
            else:
                print(f"{name}: {_draw(name, store, options.output)}")
    except KeyboardInterrupt:
        print(
            f"\nstopped; results are in {options.results}, and the same command continues there.",
            file=sys.stderr,
        )
        return 130
    if failed:
        print(
            f"{failed} computations failed; see above. The same command repeats them.",
            file=sys.stderr,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
