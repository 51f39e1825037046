"""motlm report"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.utils import _safe_indexing

from .._typing import Array, Integers
from ..estimators import LocalMixture
from ..groups import GroupEvaluation
from ._by import by_options, group_rows
from ._calibrate import calibrated
from ._cards import card_options
from ._compare import read_comparison
from ._errors import ignore_warnings, show_message
from ._models import (
    Outcomes,
    check_tolerance,
    exposure_for,
    load_model,
    open_source,
    outcomes_for,
    rows_for,
    source_rows,
)
from ._options import (
    FILE,
    data_argument,
    exposure_option,
    force_option,
    header_option,
    json_option,
    model_argument,
    target_option,
    tolerance_option,
)
from ._output import check_outputs, echo_json, require_report

__all__ = ["report"]


@dataclass(frozen=True)
class _Options:
    """The options of `motlm report`."""

    model_path: Path
    data: Path
    header: bool | None
    target: str | None
    exposure: str | None
    output: Path
    title: str | None
    by: tuple[str, ...]
    positive: str | None
    comparison_path: Path | None
    owner: str
    intended_use: str
    tolerance: float | None
    include_rows: bool
    as_json: bool
    force: bool


@click.command(short_help="Write a report on a model and some rows.")
@model_argument
@data_argument
@header_option
@target_option
@exposure_option
@click.option("-o", "--output", type=FILE, required=True, help="Where to write the HTML file.")
@click.option("--title", help="Title of the report.")
@by_options
@click.option(
    "--compare",
    "comparison_path",
    type=FILE,
    help="What motlm compare -o wrote: the report gets a section on it.",
)
@card_options
@tolerance_option
@click.option("--include-rows", is_flag=True, help="Put rows into the report; they may be private.")
@json_option
@force_option
def report(**given: Any) -> None:
    """Write a report on a model and some rows: one HTML file, with a form to try out a case.

    \b
    motlm report model.json later.csv -o report.html
    motlm report model.json later.csv -o report.html --by sex,age --compare comparison.json
    """
    from ..report import render
    from ..report._render import judged_rows

    options = _Options(**given)
    check_outputs(
        [options.output], (options.model_path, options.data, options.comparison_path), options.force
    )
    require_report()
    comparison = read_comparison(options.comparison_path)
    model = load_model(options.model_path)
    check_tolerance(model, options.tolerance)
    source = open_source(options.data, options.header)
    text = source_rows(source)
    known = outcomes_for(model, text, options.target)
    text, y = known.text, known.y
    exposure = exposure_for(model, text, options.exposure)
    X, _ = rows_for(model, text, source.name)
    title = options.title or f"{known.target}, from {source.title}"
    with ignore_warnings():
        some = np.flatnonzero(judged_rows(model, X, y, exposure))
        groups = _group(model, X, known, exposure, options, some)
        render(
            model,
            X,
            y,
            options.output,
            title=title,
            include_rows=options.include_rows,
            exposure=exposure,
            owner=options.owner,
            intended_use=options.intended_use,
            tolerance=options.tolerance,
            probabilities=calibrated(model, X),
            groups=groups,
            comparison=comparison,
        )
        more = {} if exposure is None else {"exposure": exposure[some]}
        score = model.score(_safe_indexing(X, some), y[some], **more)
    show_message(f"report written to {options.output}")
    if options.as_json:
        name = model.mixture_.target.score_name
        echo_json(
            {
                "report": str(options.output),
                "rows": len(y),
                "judged_on": len(some),  # those that were not used for fitting, if possible
                "rows_without_target": known.n_without,
                name: score,
            }
        )


def _group(
    model: LocalMixture,
    X: Any,
    known: Outcomes,
    exposure: Array | None,
    options: _Options,
    some: Integers,
) -> GroupEvaluation | None:
    """Of the rows that the page judges the model on, which are not used for fitting if possible."""
    years = None if exposure is None else exposure[some]
    text, n_rows = known.text.iloc[some], len(known.y)
    rows = _safe_indexing(X, some)
    found = group_rows(model, rows, known.y[some], text, options.by, options.positive, years)
    if found is None:
        return None
    which = f"All {n_rows} rows of the report are counted."
    if len(some) < n_rows:
        which = f"The {len(some)} of {n_rows} rows that were not used for fitting are counted."
    return replace(found, notes=(which, *found.notes))
