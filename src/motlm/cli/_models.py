"""Models from files, and tables read for them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from .._typing import AnyArray, Array
from ..errors import NotAModelFileError
from ..estimators import LocalMixture
from ..inputs import Inputs, TableNotes
from ..loading import load
from ..mixture import Mixture
from ..tables import amount, number
from ..targets import Continuous, Rate
from ._columns import RowsRead, column_of, read_rows, refuse_missing_columns
from ._errors import CommandError, TableError, show_message
from ._prepare import read_exposure, read_outcomes, refuse_rates, rows_with_target
from ._tables import Source, open_table, read_text

__all__ = [
    "Outcomes",
    "beyond",
    "check_tolerance",
    "exposure_column",
    "exposure_for",
    "load_model",
    "notes_of",
    "open_source",
    "outcomes_for",
    "read_for",
    "refuse_unreadable",
    "rows_for",
    "source_rows",
    "to_input",
    "tolerance_for",
]


def open_source(place: Path, header: bool | None) -> Source:
    """A table that can be read until the command ends."""
    return click.get_current_context().with_resource(open_table(place, header))


def source_rows(source: Source) -> pd.DataFrame:
    """All rows of a table, as text; there must be some."""
    text = read_text(source)
    if text.empty:
        raise TableError(f"{source.name} has no rows; write at least one below the row of names.")
    return text


def load_model(path: Path) -> LocalMixture:
    try:
        model = load(path)
    except NotAModelFileError as error:
        raise CommandError(
            f"{path} is not a model file; the model comes first, then the table ({error})"
        ) from error
    if not hasattr(model, "mixture_"):
        raise CommandError(
            f"{path} holds a pipeline of scikit-learn, whose tables are prepared by its steps; use"
            " it in Python: motlm.load, motlm.explanations and motlm.report.render take it."
        )
    found: LocalMixture = model
    return found


def notes_of(model: LocalMixture) -> TableNotes:
    """What the model file keeps about the table that the model was fitted to."""
    notes: TableNotes = getattr(model, "table_", TableNotes(""))
    return notes


def to_input(mixture: Mixture, rows: pd.DataFrame) -> Any:
    """Rows as a model takes them: with the labels of its table, or without any."""
    inputs = mixture.inputs
    if inputs.labels is not None:
        return rows.set_axis(list(inputs.labels), axis=1)
    if inputs.columns.has_text:
        return rows.set_axis(range(rows.shape[1]), axis=1)  # numbers are not names of columns
    return rows.to_numpy(dtype=float)


def read_for(model: LocalMixture, text: pd.DataFrame, where: str) -> RowsRead:
    """Rows read by the columns of a model."""
    inputs = model.mixture_.inputs
    refuse_missing_columns(inputs.columns, text, where)
    notes, refuse = notes_of(model), inputs.handle_unknown == "error"
    return read_rows(inputs.columns, text, refuse, notes.fill, notes.pooled, _allowed(inputs))


def _allowed(inputs: Inputs) -> dict[str, str]:
    """The columns in which values may be missing, and what a note says of such a row."""
    if inputs.missing == "error":
        return {}
    found = {}
    for group in inputs.groups:
        j, words = group.columns.start, f"no value in column {group.name!r}, "
        if group.incomplete:
            found[group.name] = f"{words}{inputs.stand_in[j]:.6g} stands in"
        elif None in (group.levels or ()):
            found[group.name] = ""  # a level like others
        elif inputs.handle_unknown != "error":
            average = "" if group.levels is not None else f" {inputs.stand_in[j]:.6g}"
            found[group.name] = f"{words}taken as the training average{average}"
    return found


def refuse_unreadable(read: RowsRead, index: pd.Index, where: str) -> None:
    """Raise for the first row that cannot be read; `index` has the rows' numbers."""
    bad = np.flatnonzero(read.reason != "")
    if len(bad):
        more = f" ({len(bad)} such rows)" if len(bad) > 1 else ""
        raise TableError(f"{where}, row {int(index[bad[0]])}: {read.reason[bad[0]]}{more}.")


def rows_for(model: LocalMixture, text: pd.DataFrame, where: str) -> tuple[Any, AnyArray]:
    """All rows as a model takes them, and notes on them."""
    read = read_for(model, text, where)
    refuse_unreadable(read, text.index, where)
    noted = np.flatnonzero(read.note != "")
    if len(noted):
        show_message(
            f"{amount(len(noted), 'row', 'was', 'were')} read with a note; the first is row"
            f" {int(text.index[noted[0]])}: {read.note[noted[0]]}"
        )
    return to_input(model.mixture_, read.rows), read.note


def beyond(model: LocalMixture, rows: pd.DataFrame) -> AnyArray:
    """A note on each row with numbers that are beyond all training rows, "" on the others."""
    mixture = model.mixture_
    inputs, summary = mixture.inputs, mixture.provenance.summary
    notes = np.full(len(rows), "", dtype=object)
    if summary is None:  # of a model from an older file
        return notes
    for group in inputs.groups:
        j = group.columns.start
        if group.levels is not None or not inputs.counted[j]:
            continue
        values = rows[group.name].to_numpy(dtype=float)
        low, high = float(summary.low[j]), float(summary.high[j])
        for i in np.flatnonzero((values < low) | (values > high)):
            shown = f"{group.name} = {number(float(values[i]), 8)}"
            gap = "; " if notes[i] else ""
            notes[i] += (
                f"{gap}{shown} is beyond all training rows ({number(low, 8)} to {number(high, 8)})"
            )
    return notes


@dataclass(frozen=True)
class Outcomes:
    """The rows of a table that have an outcome."""

    text: pd.DataFrame
    y: AnyArray  # as the model has them
    target: str  # the column that they are in
    n_without: int  # rows of the table without one, which are left out


def outcomes_for(model: LocalMixture, text: pd.DataFrame, target: str | None) -> Outcomes:
    """The rows with an outcome; a line tells how many have none, as in `fit`."""
    if target is None:
        target = notes_of(model).target
        if not target:
            raise CommandError(
                "the model file does not name its target column; name it with --target."
            )
        if target not in text.columns:
            raise TableError(
                f"this needs the true outcomes, and the table has no column {target!r}; name"
                " theirs with --target."
            )
    n_read, (text, lines) = len(text), rows_with_target(text, target)
    for line in lines:
        show_message(line)
    column, known = text[target], model.mixture_.target
    outcome = read_outcomes(column, known.classes)
    if isinstance(known, Rate):
        refuse_rates(column, outcome, known.loss_name)
    return Outcomes(text, outcome, target, n_read - len(text))


def exposure_column(model: LocalMixture, given: str | None) -> str | None:
    """The column of exposures: the one given, or that of the fit; None if there is none."""
    if given is not None and not isinstance(model.mixture_.target, Rate):
        raise CommandError("--exposure is for models of rates, and this is none; leave it out.")
    return notes_of(model).exposure if given is None else given


def exposure_for(model: LocalMixture, text: pd.DataFrame, given: str | None) -> Array | None:
    """How long each row was observed; None for a model that was fitted without exposures."""
    name = exposure_column(model, given)
    if name is None:
        return None
    if given is None and name not in text.columns:
        raise TableError(
            f"the model is of a rate per {name!r}, and the table has no such column; name its own"
            " with --exposure."
        )
    return read_exposure(column_of(text, name, "--exposure"))


def tolerance_for(model: LocalMixture, given: float | None) -> float | None:
    """The error that is still acceptable: the one given, or that of the fit; None if there is
    none, or the model does not predict numbers.
    """
    check_tolerance(model, given)
    card = notes_of(model).card
    return card.tolerance if given is None and card is not None else given


def check_tolerance(model: LocalMixture, given: float | None) -> None:
    """An error where there is none to be given."""
    if given is not None and not isinstance(model.mixture_.target, Continuous):
        kind = "rates" if isinstance(model.mixture_.target, Rate) else "classes"
        raise CommandError(
            f"--tolerance is for models of numbers, and this is one of {kind}; leave it out."
        )
