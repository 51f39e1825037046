"""motlm predict"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from .._typing import AnyArray, Array, Booleans
from ..estimators import LocalMixture
from ..files import atomic_stream
from ..limits import WEIGHTS
from ..tables import amount
from ._calibrate import probabilities
from ._columns import column_of, join_notes, numbers_of
from ._errors import CommandError, ignore_warnings, show_message
from ._group import NOT_SCORED
from ._models import beyond, exposure_column, load_model, notes_of, open_source, read_for, to_input
from ._options import (
    FILE,
    data_argument,
    exposure_option,
    force_option,
    header_option,
    model_argument,
)
from ._output import check_outputs, open_standard_output, to_json
from ._spreadsheets import excel_safe_option, make_safe, refuse_json
from ._tables import read_chunks

__all__ = ["WRITTEN", "predict"]

CHUNK = 50_000  # rows that are predicted at a time
_PROBABILITY = "probability of "
_EXPECTED = "expected"  # in the exposure of a row
# the columns that are written, besides probabilities
WRITTEN = ("row", "prediction", _EXPECTED, "model_used", "ambiguous", "reason", "note")


@dataclass(frozen=True)
class _Options:
    """The options of `motlm predict`."""

    model_path: Path
    data: Path
    header: bool | None
    output: Path | None
    id_column: str | None
    exposure: str | None
    excel_safe: bool
    as_json: bool
    force: bool


@click.command(short_help="Predict for the rows of a table.")
@model_argument
@data_argument
@header_option
@click.option("-o", "--output", type=FILE, help="Where to write. Default: standard output.")
@click.option(
    "--id",
    "id_column",
    help="Column of row IDs, to be copied. Default: the one that the model was fitted with.",
)
@exposure_option
@excel_safe_option
@click.option(
    "--json", "as_json", is_flag=True, help="Write one JSON object per line, instead of CSV."
)
@force_option
def predict(**given: Any) -> None:
    """Predict for the rows of a table: prediction, probabilities, the model used, and whether the
    local models contradict each other. Of a rate also what is expected in the exposure of a row, if
    the table has it.

    The table is read in parts, so that files of any size need little memory. A row that cannot be
    scored is written with the reason, and the exit code is then 3.

    \b
    motlm predict model.json new.csv -o out.csv --id client
    zcat new.csv.gz | motlm predict model.json - --json > out.jsonl
    """
    options = _Options(**given)
    output = None if options.output == Path("-") else options.output
    refuse_json(options.excel_safe, options.as_json)
    check_outputs([output], (options.model_path, options.data), options.force)
    model = load_model(options.model_path)
    source = open_source(options.data, options.header)
    total = not_scored = noted = 0
    target = nullcontext(open_standard_output()) if output is None else atomic_stream(output)
    with target as stream:
        for number, chunk in enumerate(read_chunks(source, CHUNK)):
            id_column = _id_column(model, chunk, options.id_column, warn=number == 0)
            exposure = _exposures(model, chunk, options.exposure)
            table = _predict_chunk(model, chunk, id_column, exposure, total)
            if options.as_json:
                stream.writelines(_to_line(one) + "\n" for one in table.to_dict("records"))
            else:
                written = make_safe(table) if options.excel_safe else table
                written.to_csv(stream, index=False, header=number == 0, lineterminator="\n")
            total += len(table)
            not_scored += int((table["reason"] != "").sum())
            noted += int((table["note"] != "").sum())
        stream.flush()
    _show_counts(output, total, not_scored, noted)
    if not_scored:
        click.get_current_context().exit(NOT_SCORED)


def _show_counts(output: Path | None, total: int, not_scored: int, noted: int) -> None:
    where = "" if output is None else f" written to {output}"
    failed = f", of which {not_scored} could not be scored: see the column reason"
    show_message(f"{amount(total, 'row')}{where}{failed if not_scored else ''}")
    if noted:
        some = amount(noted, "row", "has a note", "have notes")
        show_message(
            f"{some} (on missing values, unknown categories or numbers beyond all training rows):"
            " see the column note"
        )


def _id_column(
    model: LocalMixture, chunk: pd.DataFrame, given: str | None, warn: bool
) -> str | None:
    """The column of IDs to copy, if there is one."""
    known = notes_of(model).id_column
    if given is not None or known is None:
        return given
    if known in chunk.columns:
        return known
    if warn:
        show_message(
            f"the table has no column {known!r}, which has the IDs of the rows for this model"
        )
    return None


def _exposures(model: LocalMixture, chunk: pd.DataFrame, given: str | None) -> Array | None:
    """How long each row was observed, nan where that is not a positive number; None where the
    table does not tell.
    """
    name = exposure_column(model, given)
    if name is None or (given is None and name not in chunk.columns):
        return None
    values = np.asarray(numbers_of(column_of(chunk, name, "--exposure")), dtype=float)
    return np.where((values > 0) & (values <= WEIGHTS[1]), values, np.nan)


def _predict_chunk(
    model: LocalMixture,
    chunk: pd.DataFrame,
    id_column: str | None,
    exposure: Array | None,
    first: int,
) -> pd.DataFrame:
    """The table that is written; its first row has the number `first`."""
    read = read_for(model, chunk, "the table")
    sound = read.reason == ""
    notes = join_notes([read.note, beyond(model, read.rows)], len(chunk))
    answers = {name: np.full(len(chunk), "", dtype=object) for name in _answer_names(model)}
    if sound.any():
        for name, values in _answers(model, to_input(model.mixture_, read.rows[sound])).items():
            answers[name][sound] = values
    if exposure is not None:
        answers, notes = _add_expected(answers, notes, sound, exposure)
    table: dict[str, Any] = {"row": np.arange(first, first + len(chunk))}
    if id_column is not None:
        if id_column in (*WRITTEN, *answers):
            raise CommandError(
                f"--id {id_column!r} is the name of a column that predict writes; rename it."
            )
        table[id_column] = column_of(chunk, id_column, "--id").to_numpy()
    remarks = {"reason": read.reason, "note": np.where(sound, notes, "")}
    return pd.DataFrame({**table, **answers, **remarks})


def _add_expected(
    answers: dict[str, AnyArray], notes: AnyArray, sound: Booleans, exposure: Array
) -> tuple[dict[str, AnyArray], AnyArray]:
    """With what is expected in the exposures, and a note where there is none."""
    known = sound & ~np.isnan(exposure)
    expected = np.full(len(sound), "", dtype=object)
    expected[known] = answers["prediction"][known] * exposure[known]
    remark = np.where(known, "", "no exposure above 0").astype(object)
    gap = np.where((notes != "") & (remark != ""), "; ", "").astype(object)
    rate, *others = answers.items()
    return dict([rate, (_EXPECTED, expected), *others]), notes + gap + remark


def _answer_names(model: LocalMixture) -> list[str]:
    classes = model.mixture_.target.classes
    labels = [] if classes is None else classes.tolist()
    return [
        "prediction",
        *(f"{_PROBABILITY}{label}" for label in labels),
        "model_used",
        "ambiguous",
    ]


def _answers(model: LocalMixture, X: Any) -> dict[str, AnyArray]:
    """The columns of _answer_names, for rows that can be scored."""
    mixture, shares = model.mixture_, []
    with ignore_warnings():
        prediction, used, ambiguous = model.predict(X), model.apply(X), model.ambiguous(X)
        if mixture.target.classes is not None:
            shares = list(probabilities(model, X, notes_of(model).calibration).T)
    names = {int(i): mixture.region_name(int(i)) for i in np.unique(used)}
    where = np.array([names[i] for i in used.tolist()], dtype=object)
    columns = [prediction, *shares, where, np.where(ambiguous, "yes", "no")]
    return dict(zip(_answer_names(model), columns, strict=True))


def _to_line(record: Mapping[Any, Any]) -> str:
    """A row as JSON; null where there is no answer."""
    return to_json({name: _json_value(str(name), value) for name, value in record.items()})


def _json_value(name: str, value: Any) -> Any:
    if name == "ambiguous":
        return {"yes": True, "no": False, "": None}[value]
    is_answer = name in ("prediction", _EXPECTED, "model_used") or name.startswith(_PROBABILITY)
    return None if value == "" and is_answer else value
