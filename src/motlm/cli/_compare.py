"""motlm compare"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from ..comparison import Comparison
from ..comparison import compare as compare_methods
from ..errors import InputError
from ..files import write_atomically
from ..tables import amount
from ._errors import CommandError, show, show_message
from ._fit import FitOptions, check_columns, fit, make_estimator
from ._models import open_source, source_rows
from ._options import FILE
from ._output import check_outputs, echo_json
from ._prepare import prepare

__all__ = ["compare", "read_comparison"]

# options of fit about what it writes, with the values that it has here
_OUTPUT: dict[str, Any] = {
    "model_path": None,
    "report_path": None,
    "full_formulas": False,
    "title": None,
    "owner": "",
    "intended_use": "",
    "tolerance": None,
    "by": (),
    "positive": None,
    "delta": 0.05,
    "population": "",
}
_HELP = """Compare the model that fit would make with what one would pick instead, on the same
folds: the majority class or mean, logistic regression or ridge (a GLM for rates), a tree of depth
4, HistGradientBoosting, and EBM where the package interpret is installed.

Scores, seconds of a fit, and differences to this model with intervals. The options are those of
fit. The rows that fit would seal are left out, so that its certificate holds whatever is chosen by
this comparison. Ctrl-C stops the work, and what is known by then is printed.

\b
motlm compare credit.csv --target default
motlm compare policies.csv --target claims --exposure years -o comparison.json
motlm report model.json later.csv --compare comparison.json -o report.html
"""


def _run(folds: int, output: Path | None, **given: Any) -> None:
    options = FitOptions(**given, **_OUTPUT)
    check_outputs([output], (options.data, options.points), options.force)
    options.of_task.check()
    options.of_localities.check(options.points is not None)
    source = open_source(options.data, options.header)
    text = source_rows(source)
    check_columns(options, text)
    prepared = prepare(text, options.roles, options.rules)
    options.of_localities.check_columns(prepared.columns.names)
    for line in prepared.messages:
        show_message(line)
    first = prepared.first
    show_message(
        f"{amount(len(first), 'row')}; the {len(prepared.groups) - len(first)} that fit would seal"
        f"{' or set aside' if prepared.n_aside else ''} are left out"
        f" (--sealed {options.sealed:g}, --seed {options.seed})"
    )
    given = {"sample_weight": prepared.weight, "exposure": prepared.exposure}
    if prepared.grouped:
        given["groups"] = prepared.groups
    parts = len(np.unique(prepared.groups[first])) if prepared.grouped else len(first)
    if folds > parts:
        what = "groups" if prepared.grouped else "rows"
        raise CommandError(f"--folds {folds} is more than the {parts} {what}; give fewer.")
    outcome = pd.Series(prepared.outcome[first], name=options.target)
    found = compare_methods(
        make_estimator(options, prepared),
        prepared.rows.iloc[first],
        outcome,
        **{name: one[first] for name, one in given.items() if one is not None},
        cv=folds,
        random_state=options.seed,
        verbose=sys.stderr.isatty(),
        callback=None if output is None else lambda so_far: _save(so_far, output),
    )
    if not found.methods:
        raise click.Abort
    if output is not None:
        _save(found, output)
        show_message(f"comparison written to {output}")
    if options.as_json:
        echo_json(found.to_dict())
        return
    done = f"{found.folds} of " if found.folds < found.planned else ""
    over = f"{done}{amount(found.planned, 'fold')} of {amount(found.rows, 'row')}"
    show(f"{found.task} of {options.target!r}, {over}\n\n{found}")


def _save(found: Comparison, output: Path) -> None:
    write_atomically(output, json.dumps(found.to_dict(), indent=1))


def read_comparison(path: Path | None) -> Comparison | None:
    """From a file that this command wrote."""
    if path is None:
        return None
    try:
        return Comparison.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (InputError, ValueError, RecursionError) as error:
        raise CommandError(
            f"{path} is not a comparison; write one with motlm compare -o ({error})"
        ) from error


compare = click.Command(
    "compare",
    callback=_run,
    params=[
        *(one for one in fit.params if one.name not in _OUTPUT),
        click.Option(
            ["--folds"],
            type=click.IntRange(2, 100),
            default=5,
            show_default=True,
            help="Number of folds. They are drawn three times where there are under 300 rows.",
        ),
        click.Option(
            ["-o", "--output"],
            type=FILE,
            help="Where to write the comparison (JSON), after each fold.",
        ),
    ],
    help=_HELP,
    short_help="Compare the model with others on the same folds.",
)
