"""motlm report"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ._errors import ignore_warnings, show_message
from ._models import (
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
    json_option,
    model_argument,
    target_option,
)
from ._output import check_outputs, echo_json, require_report

__all__ = ["report"]


@dataclass(frozen=True)
class _Options:
    """The options of `motlm report`."""

    model_path: Path
    data: Path
    target: str | None
    exposure: str | None
    output: Path
    title: str | None
    include_rows: bool
    as_json: bool
    force: bool


@click.command(short_help="Write a report on a model and some rows.")
@model_argument
@data_argument
@target_option
@exposure_option
@click.option("-o", "--output", type=FILE, required=True, help="Where to write the HTML file.")
@click.option("--title", help="Title of the report.")
@click.option("--include-rows", is_flag=True, help="Put rows into the report; they may be private.")
@json_option
@force_option
def report(**given: Any) -> None:
    """Write a report on a model and some rows: one HTML file, with a form to try out a case.

    \b
    motlm report model.json later.csv -o report.html
    """
    from ..report import render

    options = _Options(**given)
    check_outputs([options.output], (options.model_path, options.data), options.force)
    require_report()
    model = load_model(options.model_path)
    source = open_source(options.data)
    text = source_rows(source)
    y, target = outcomes_for(model, text, options.target)
    exposure = exposure_for(model, text, options.exposure)
    X, _ = rows_for(model, text, source.name)
    more = {} if exposure is None else {"exposure": exposure}
    rates = y if exposure is None else y / exposure
    title = options.title or f"{target}, from {source.title}"
    with ignore_warnings():
        render(model, X, rates, options.output, title=title, include_rows=options.include_rows)
        score = model.score(X, y, **more)
    show_message(f"report written to {options.output}")
    if options.as_json:
        name = model.mixture_.target.score_name
        echo_json({"report": str(options.output), "rows": len(y), name: score})
