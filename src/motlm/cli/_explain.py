"""motlm explain"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from .._typing import Booleans
from ..estimators import LocalMixture
from ..explanations import Counterfactual, RowExplanation, counterfactual, explain_local
from ..fingerprints import row_keys
from ..mixture import Mixture
from ..tables import amount
from ..targets import Target
from ._calibrate import probabilities
from ._columns import column_of, is_missing, join_notes, read_rows
from ._errors import CommandError, TableError, ignore_warnings, show, show_message
from ._models import (
    beyond,
    exposure_for,
    load_model,
    notes_of,
    open_source,
    read_for,
    rows_for,
    source_rows,
    to_input,
)
from ._options import (
    FILE,
    data_argument,
    header_option,
    json_option,
    model_argument,
    parse_names,
    require_finite,
)
from ._output import echo_json
from ._prepare import read_outcomes

__all__ = ["explain"]

_SHOWN = 10  # probabilities in a line
_TRAINING = "nearest training rows"  # as explanations call them
_PATIENCE = 5.0  # seconds in which the furthest prediction is searched for
_FINEST = 2e-3  # of the target's deviation, to which it is searched for


@dataclass(frozen=True)
class _Options:
    """The options of `motlm explain`."""

    model_path: Path
    data: Path
    header: bool | None
    row: int | None
    case: str | None
    wanted: str | None
    immutable: tuple[str, ...]
    increasing: tuple[str, ...]
    decreasing: tuple[str, ...]
    max_changes: int
    nearest: Path | None
    neighbors: int
    as_json: bool


@click.command(short_help="Explain the prediction for one row.")
@model_argument
@data_argument
@header_option
@click.option("--row", type=click.IntRange(0), help="Number of the row, from 0 on.")
@click.option("--case", help="ID of the row, in the column that fit was given as --id.")
@click.option(
    "--wanted",
    help="For regression: the prediction that is wanted; of three or more classes: the class.",
)
@click.option(
    "--immutable",
    "--fixed",
    "immutable",
    callback=parse_names,
    metavar="NAMES",
    multiple=True,
    help="Columns that cannot change, with commas between.",
)
@click.option(
    "--increasing",
    callback=parse_names,
    metavar="NAMES",
    multiple=True,
    help="Columns of numbers that can only rise, such as an age.",
)
@click.option(
    "--decreasing",
    callback=parse_names,
    metavar="NAMES",
    multiple=True,
    help="Columns of numbers that can only fall.",
)
@click.option(
    "--max-changes",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="How many columns should change at most.",
)
@click.option(
    "--nearest",
    type=FILE,
    metavar="TABLE",
    help="Table of training rows, of which the nearest with the same model are shown.",
)
@click.option(
    "--neighbors",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="How many of them.",
)
@json_option
def explain(**given: Any) -> None:
    """Explain the prediction for one row, and show a change of few columns that would alter it.

    \b
    motlm explain model.json new.csv --row 17 --immutable region --increasing age
    motlm explain model.json new.csv --case K-1024 --nearest train.csv
    motlm explain iris.json new.csv --row 3 --wanted virginica
    """
    options = _Options(**given)
    if (options.row is None) == (options.case is None):
        raise CommandError("choose one row: --row 17, or --case with its ID.")
    model = load_model(options.model_path)
    wanted = _wanted(options.wanted, model.mixture_.target)
    _check_names(options, model.mixture_)
    source = open_source(options.data, options.header)
    text = source_rows(source)
    row = _row_number(options, model, text)
    one = text.iloc[[row]]
    X, notes = rows_for(model, one, source.name)
    remarks = beyond(model, read_for(model, one, source.name).rows)
    with ignore_warnings():
        shares = _shares(model, X)
        found, title = _explain(options, model, X, row)
        explanation = _calibrate(replace(found, row=row), shares)
        change = _change(options, wanted, model, X, text)
        then = {} if change is None else _shares_after(model, X, change)
        furthest = _furthest(options, wanted, model, X, text, change)
    if options.as_json:
        more = {
            "note": join_notes([notes, remarks], 1)[0],
            "counterfactual": None if change is None else change.to_dict(),
            "probabilities": shares,
        }
        if then:
            more["probabilities_after"] = then
        if furthest is not None:
            more["furthest"] = furthest.prediction_after
        if title != _TRAINING:
            more["neighbors_are"] = title
        echo_json({**explanation.to_dict(), **more})
        return
    show(str(explanation).replace(f"    {_TRAINING} for", f"    {title} for"))
    if remarks[0]:
        show(f"note: {remarks[0]}")
    if shares:
        show(_line(shares))
    if change is not None:
        show(f"what would change it: {change}")
        if then:
            label = str(change.prediction_after)
            show(f"probability of {label}: {shares[label]:.3g} becomes {then[label]:.3g}")
    elif wanted is None:
        show("--wanted with a prediction shows a change of few columns that gives it")
    if furthest is not None:
        show(f"the furthest that was found: {furthest}")


def _wanted(text: str | None, target: Target) -> Any:
    """The prediction that is wanted: a number, or one of several classes; None for any other."""
    if text is None:
        return None
    labels = {str(label): label for label in target.describe().classes or ()}
    if len(labels) > 2:
        if text.strip() not in labels:
            raise CommandError(f"--wanted {text!r} is not one of the classes {', '.join(labels)}.")
        return labels[text.strip()]
    if labels:
        raise CommandError(
            "--wanted is for regression and for three or more classes; this model predicts one of"
            " two, and the change to the other one is shown without it."
        )
    number = click.FLOAT(text, _option("wanted"), click.get_current_context())
    require_finite(click.get_current_context(), _option("wanted"), number)
    return number


def _option(name: str) -> click.Parameter:
    """Of this command, as messages name it."""
    return next(one for one in click.get_current_context().command.params if one.name == name)


def _calibrate(explanation: RowExplanation, shares: dict[str, float]) -> RowExplanation:
    """With the calibrated probabilities, of a classifier."""
    parts = {
        label: replace(part, probability=shares[str(label)])
        for label, part in explanation.by_class.items()
    }
    own = shares.get(str(explanation.prediction))
    return replace(explanation, by_class=parts, probability=own)


def _shares_after(model: LocalMixture, X: Any, change: Counterfactual) -> dict[str, float]:
    """The probabilities of the classes for the changed row; nothing where there is none."""
    if not change.found or model.mixture_.target.classes is None:
        return {}
    names, after = model.mixture_.inputs.columns.names, X.copy()
    for name, (_, value) in change.changes.items():
        j = names.index(name)
        if isinstance(after, pd.DataFrame):
            after[after.columns[j]] = [value]
        else:
            after[0, j] = value
    return _shares(model, after)


def _furthest(
    options: _Options,
    wanted: Any,
    model: LocalMixture,
    X: Any,
    text: pd.DataFrame,
    change: Counterfactual | None,
) -> Counterfactual | None:
    """Where a prediction is wanted that cannot be had: the nearest to it that was found, by steps
    of growing and then of falling size; None where there is none, or no need.
    """
    classes = model.mixture_.target.classes
    if change is None or change.found or classes is not None:
        return None
    before, stop = float(change.prediction_before), time.monotonic() + _PATIENCE
    gap = float(wanted) - before
    size, best, share = model.mixture_.provenance.fingerprint.target_scale, None, 0.0
    step, growing = min(1.0, size / abs(gap)) if gap and size > 0 else 0.0, True
    while step * abs(gap) > _FINEST * size and share < 1.0 and time.monotonic() < stop:
        trial = min(share + step, 1.0)
        one = _change(options, before + trial * gap, model, X, text)
        if one is not None and one.found:
            best, share = one, trial
        else:
            growing = False
        step *= 2.0 if growing else 0.5
    return best


def _explain(
    options: _Options, model: LocalMixture, X: Any, row: int
) -> tuple[RowExplanation, str]:
    """With the nearest rows of a table, if one is given, and what they are; those that cannot be
    read are left out, and the row itself where the table is its own.
    """
    if options.nearest is None:
        return explain_local(model, X)[0], _TRAINING
    source = open_source(options.nearest, options.header)
    text = source_rows(source)
    read = read_for(model, text, source.name)
    sound = np.flatnonzero(read.reason == "")
    if len(sound) < len(text):
        bad = int(np.flatnonzero(read.reason != "")[0])
        show_message(
            f"{amount(len(text) - len(sound), 'row')} of {source.name} left out of the nearest; the"
            f" first is row {bad}: {read.reason[bad]}"
        )
    if options.nearest.resolve() == options.data.resolve():
        show_message(f"row {row} itself is left out of the nearest rows of {source.name}")
        sound = sound[sound != row]
    if not len(sound):
        raise CommandError(f"no other row of {source.name} can be read by the model's columns.")
    used, title = _used_for_fitting(model, text.iloc[sound], source.name), _TRAINING
    if used is None or not used.any():
        title = f"nearest rows of {source.name}"
        if used is not None:
            title += ", none of which was used for fitting,"
    elif not used.all():
        left = amount(int((~used).sum()), "row")
        show_message(f"{left} of {source.name} not used for fitting left out of the nearest")
        sound = sound[used]
    rows = to_input(model.mixture_, read.rows.iloc[sound])
    explanation = explain_local(model, X, X_train=rows, n_neighbors=options.neighbors)[0]
    named = _cases(model, text)
    found = (
        {**one, "row": int(sound[one["row"]]), **named(int(sound[one["row"]]))}
        for one in explanation.neighbors
    )
    same = explanation.identical
    left_out = None if same is None else int(sound[same])
    return replace(explanation, neighbors=tuple(found), identical=left_out), title


def _used_for_fitting(model: LocalMixture, text: pd.DataFrame, where: str) -> Booleans | None:
    """Which rows of a table equal a row used for fitting, with their outcomes; None where that
    cannot be told: without outcomes, or where the model has not kept the hashes of all rows.
    """
    mixture, name = model.mixture_, notes_of(model).target
    if name not in text.columns:
        return None
    sound = ~is_missing(text[name]).to_numpy()
    used, part = np.zeros(len(text), dtype=bool), text[sound]
    if not len(part):
        return used
    try:
        y = read_outcomes(part[name], mixture.target.classes)
        exposure = exposure_for(model, part, None)
    except TableError:  # other labels, or no exposures
        return None
    if exposure is not None:
        y = y / exposure
    encoded = mixture.encode(to_input(mixture, read_for(model, part, where).rows))
    known, checkable = mixture.provenance.fingerprint.recognize(
        row_keys(encoded, mixture.target.code(y))
    )
    used[sound] = known
    return used if checkable.all() else None


def _cases(model: LocalMixture, text: pd.DataFrame) -> Callable[[int], dict[str, str]]:
    """The ID of a row, as an entry, where the table has them."""
    name = notes_of(model).id_column
    if name is None or name not in text.columns:
        return lambda row: {}
    ids = text[name].astype(str).str.strip().tolist()
    return lambda row: {"case": ids[row]}


def _check_names(options: _Options, mixture: Mixture) -> None:
    names = mixture.inputs.columns.names
    for option in ("immutable", "increasing", "decreasing"):
        unknown = [name for name in getattr(options, option) if name not in names]
        if unknown:
            raise CommandError(
                f"--{option} {unknown[0]!r} is not a column of the model; its columns are"
                f" {', '.join(names[:30])}."
            )


def _row_number(options: _Options, model: LocalMixture, text: pd.DataFrame) -> int:
    if options.row is None:
        return _row_of_case(str(options.case), notes_of(model).id_column, text)
    if options.row >= len(text):
        numbers = f"numbered from 0 to {len(text) - 1}" if len(text) > 1 else "number 0"
        raise CommandError(
            f"there is no row {options.row}: the table has {amount(len(text), 'row')}, {numbers}."
        )
    return options.row


def _row_of_case(case: str, id_column: str | None, text: pd.DataFrame) -> int:
    if id_column is None:
        raise CommandError("the model was fitted without --id, so rows have no ID; use --row.")
    ids = column_of(text, id_column, "the ID column").astype(str).str.strip()
    found = np.flatnonzero(ids == case.strip())
    if len(found) != 1:
        raise CommandError(f"{len(found)} rows have {id_column!r} = {case!r}; one is needed.")
    return int(found[0])


def _shares(model: LocalMixture, X: Any) -> dict[str, float]:
    """The probabilities of the classes; of regression, nothing."""
    classes = model.mixture_.target.classes
    if classes is None:
        return {}
    shares = probabilities(model, X, notes_of(model).calibration)[0]
    return {str(label): float(share) for label, share in zip(classes.tolist(), shares, strict=True)}


def _line(shares: dict[str, float]) -> str:
    """The probabilities; of many classes the largest ones, in order."""
    shown, more = list(shares.items()), ""
    if len(shown) > _SHOWN:
        shown, more = sorted(shown, key=lambda pair: -pair[1])[:_SHOWN], ", .."
    return ", ".join(f"probability of {label}: {share:.3g}" for label, share in shown) + more


def _change(
    options: _Options, wanted: Any, model: LocalMixture, X: Any, text: pd.DataFrame
) -> Counterfactual | None:
    """A change of few columns; of regression, if a prediction is wanted."""
    if model.mixture_.target.classes is None and wanted is None:
        return None
    whole = None  # as in the training rows
    if model.mixture_.provenance.summary is None:
        whole = _whole_numbers(model.mixture_, text)
    return counterfactual(
        model,
        X,
        target=wanted,
        max_changes=options.max_changes,
        immutable=options.immutable,
        increasing=options.increasing,
        decreasing=options.decreasing,
        integer=whole,
    )


def _whole_numbers(mixture: Mixture, text: pd.DataFrame) -> list[str]:
    """Columns that hold only whole numbers in this table, for a model from an older file."""
    columns = mixture.inputs.columns
    read = read_rows(columns, text, False, {}, {})
    sound = read.rows[read.reason == ""]
    numeric = [
        name for name, levels in zip(columns.names, columns.levels, strict=True) if levels is None
    ]
    return [
        name for name in numeric if len(sound) > 1 and (sound[name] == np.rint(sound[name])).all()
    ]
