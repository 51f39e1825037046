"""motlm evaluate"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ..evaluation import evaluate as evaluate_model
from ..tables import amount
from ._by import by_options, group_rows
from ._calibrate import probabilities
from ._errors import ignore_warnings, show
from ._models import (
    exposure_for,
    load_model,
    notes_of,
    open_source,
    outcomes_for,
    rows_for,
    source_rows,
)
from ._options import (
    data_argument,
    exposure_option,
    header_option,
    json_option,
    model_argument,
    target_option,
)
from ._output import echo_json

__all__ = ["evaluate"]


@dataclass(frozen=True)
class _Options:
    """The options of `motlm evaluate`."""

    model_path: Path
    data: Path
    header: bool | None
    target: str | None
    exposure: str | None
    by: tuple[str, ...]
    positive: str | None
    as_json: bool


@click.command(short_help="Measure how good predictions are.")
@model_argument
@data_argument
@header_option
@target_option
@exposure_option
@by_options
@json_option
def evaluate(**given: Any) -> None:
    """Measure how good a model's predictions are on rows with known outcomes.

    Classes: accuracy, AUC, log loss, Brier score, recall and precision, confusion matrix and
    calibration. Numbers: R2, RMSE and MAE. Rates: mean deviance, D2, and actual over expected,
    overall, for each locality and by decile of the predicted rate. Rows that were used for fitting
    are noted. With --by, errors, false positives and negatives (numbers: mean errors; rates: actual
    over expected) of groups of rows, with intervals, and how far the groups are apart.

    \b
    motlm evaluate model.json later.csv
    motlm evaluate model.json later.csv --by sex,age
    motlm evaluate model.json later.csv --json
    """
    options = _Options(**given)
    model = load_model(options.model_path)
    source = open_source(options.data, options.header)
    text = source_rows(source)
    known = outcomes_for(model, text, options.target)
    text, y, target = known.text, known.y, known.target
    exposure = exposure_for(model, text, options.exposure)
    X, _ = rows_for(model, text, source.name)
    with ignore_warnings():  # rows_for has noted them
        chances, calibration = None, notes_of(model).calibration
        if model.mixture_.target.classes is not None:
            chances = probabilities(model, X, calibration)
        found = evaluate_model(model, X, y, exposure=exposure, probabilities=chances)
        groups = group_rows(model, X, y, text, options.by, options.positive, exposure)
    if options.as_json:
        content = {
            "model": str(options.model_path),
            "target": target,
            "rows_without_target": known.n_without,
            **found.to_dict(),
        }
        echo_json(content if groups is None else {**content, "groups": groups.to_dict()})
        return
    show(f"{found.task} of {target!r} on {amount(found.rows, 'row')} of {source.name}\n\n{found}")
    if groups is not None:
        show(f"\n{groups}")
