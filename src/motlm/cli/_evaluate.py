"""motlm evaluate"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ..evaluation import evaluate as evaluate_model
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
from ._options import data_argument, exposure_option, json_option, model_argument, target_option
from ._output import echo_json

__all__ = ["evaluate"]


@dataclass(frozen=True)
class _Options:
    """The options of `motlm evaluate`."""

    model_path: Path
    data: Path
    target: str | None
    exposure: str | None
    as_json: bool


@click.command(short_help="Measure how good predictions are.")
@model_argument
@data_argument
@target_option
@exposure_option
@json_option
def evaluate(**given: Any) -> None:
    """Measure how good a model's predictions are on rows with known outcomes.

    Classes: accuracy, AUC, log loss, Brier score, recall and precision, confusion matrix and
    calibration. Numbers: R2, RMSE and MAE. Rates: mean deviance, D2, and actual over expected,
    overall, for each locality and by decile of the predicted rate. Rows that were used for fitting
    are noted.

    \b
    motlm evaluate model.json later.csv
    motlm evaluate model.json later.csv --json
    """
    options = _Options(**given)
    model = load_model(options.model_path)
    source = open_source(options.data)
    text = source_rows(source)
    y, target = outcomes_for(model, text, options.target)
    exposure = exposure_for(model, text, options.exposure)
    X, _ = rows_for(model, text, source.name)
    with ignore_warnings():  # rows_for has noted them
        chances, calibration = None, notes_of(model).calibration
        if model.mixture_.target.classes is not None:
            chances = probabilities(model, X, calibration)
        found = evaluate_model(model, X, y, exposure=exposure, probabilities=chances)
    if options.as_json:
        echo_json({"model": str(options.model_path), "target": target, **found.to_dict()})
        return
    show(f"{found.task} of {target!r} on {found.rows} rows of {source.name}\n\n{found}")
