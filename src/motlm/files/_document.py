"""Model files: what is saved, to and from one document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from .._version import __version__
from ..errors import ModelFileError, MotlmError
from ..frames import POOLED
from ..inputs import Columns, TableNotes
from ..limits import LARGEST
from ..mixture import Mixture
from ..pipelines import Prepared
from ._atomic import write_atomically
from ._cards import card_entries, read_card, read_linear
from ._earlier import remember_hash
from ._mixture import mixture_entries, read_mixture
from ._models import check_models, model_entries, read_models
from ._parameters import check_parameters, parameter_entries, read_parameters
from ._read import Reader, show
from ._steps import read_steps, steps_entry
from ._text import checksum, parse, plain, read_bytes, render
from ._upgrades import HASHED, SCHEMA, WORDED, upgrade

__all__ = ["Saved", "from_document", "read_model", "save_model", "to_document"]

FORMAT = "motlm model"
STEEPEST = 1e100  # slope or intercept of a calibration, which stays finite for any score

Made = TypeVar("Made")


@dataclass(frozen=True)
class Saved:
    """What a file holds."""

    estimator: str  # name of its class
    parameters: dict[str, Any]  # of its constructor
    mixture: Mixture
    table: TableNotes | None = None
    certificate: Any = None
    steps: Prepared | None = None  # of a pipeline, before the estimator


# -- to a file -------------------------------------------------------------------------------------


def save_model(saved: Saved, path: Any, overwrite: bool = True) -> Path:
    """Write a JSON file; to a temporary one first, so that a crash leaves no half file.

    What could not be read again, to the last bit, is not written.
    """
    if saved.mixture.inputs.made is not None:
        raise ModelFileError(
            f"a model with local_models={saved.mixture.inputs.kind} holds a transformer, and model"
            " files hold numbers alone.",
            "Pickle the model, or use local_models='auto'.",
        )
    data = render(to_document(saved))
    if from_document(parse(data)).mixture.hash != saved.mixture.hash:
        raise ModelFileError("a file cannot hold all of this model's numbers.", "Pickle the model.")
    return write_atomically(path, data.decode(), overwrite)


def to_document(saved: Saved) -> dict[str, Any]:
    """All that a fitted estimator is, as values that JSON can hold."""
    certificate, table = saved.certificate, saved.table
    content = {
        "format": FORMAT,
        "schema": SCHEMA,
        "library": f"motlm {__version__}",
        "estimator": saved.estimator,
        **model_entries(saved.mixture),
        "parameters": parameter_entries(saved.parameters, saved.mixture.inputs),
        **mixture_entries(saved.mixture),
        "table": None if table is None else _table_entry(table),
        "certificate": None if certificate is None else certificate.to_dict(),
    }
    if saved.steps is not None:  # absent of an estimator by itself
        content["steps"] = steps_entry(saved.steps)
    return {**content, "checksum": checksum(content)}


def _table_entry(table: TableNotes) -> dict[str, Any]:
    made = {
        "target": plain(table.target),
        "id_column": plain(table.id_column),
        "fill": plain(dict(table.fill)),
        "calibration": plain(table.calibration),
    }
    # absent without one, as in files of before there were rates, pooled levels, rows as centers
    if table.exposure is not None:
        made["exposure"] = plain(table.exposure)
    if table.pooled:
        made["pooled"] = {name: list(levels) for name, levels in table.pooled.items()}
    if table.cases:
        made["cases"] = plain(table.cases)
    return {**made, **card_entries(table)}


# -- from a file -----------------------------------------------------------------------------------


def read_model(path: Any, make: Callable[[Saved], Made]) -> Made:
    """What is made of the content of a file; errors of the file name it."""
    place = Path(path)
    try:
        return make(from_document(parse(read_bytes(place))))
    except ModelFileError as error:
        raise type(error)(f"{place}: {error.text}", error.advice) from None


def from_document(content: dict[str, Any]) -> Saved:
    """What a document of `to_document` holds, of this or an earlier schema."""
    version = _check(content)
    given = {name: value for name, value in content.items() if name != "checksum"}
    with np.errstate(all="ignore"):  # whatever comes out of strange numbers is checked
        return _read_saved(Reader(upgrade(given, version)), version)


def _read_saved(read: Reader, version: int) -> Saved:
    for name in ("format", "schema"):
        read.raw(name)
    read.text("library")
    estimator = read.text("estimator")
    mixture = read_mixture(read, estimator)
    shown = read_models(read, mixture, version >= WORDED)
    check_models(shown, mixture)
    certificate = _read_certificate(read)
    if version < HASHED and certificate is not None:
        mixture = remember_hash(mixture, estimator, shown)
    saved = Saved(
        estimator=estimator,
        parameters=read_parameters(read.part("parameters"), len(mixture.inputs.names)),
        mixture=mixture,
        table=_read_table(read, mixture),
        certificate=certificate,
        steps=_read_steps(read, mixture),
    )
    read.done()
    check_parameters(saved.parameters, saved.mixture)
    return saved


def _read_steps(read: Reader, mixture: Mixture) -> Prepared | None:
    if "steps" not in read.content:
        return None
    return read_steps(
        read.part("steps"), len(mixture.inputs.columns.names), mixture.n_localities + 1
    )


def _check(content: dict[str, Any]) -> int:
    """The schema of a document that is whole."""
    if content.get("format") != FORMAT:
        raise ModelFileError(f"not a model file: it lacks the entry format = {FORMAT!r}.")
    version = content.get("schema")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ModelFileError(f"schema should be an integer from 1 on; got {show(version)}.")
    if version > SCHEMA:
        raise ModelFileError(
            f"it has schema {show(version)}, and motlm {__version__} reads schemas up to {SCHEMA};"
            f" it was written by {show(content.get('library'), 40)}.",
            "Use that version or a newer one.",
        )
    try:
        sound = content.get("checksum") == checksum(content)
    except ModelFileError:
        raise
    except (TypeError, ValueError):  # an infinite number, such as 1e999
        sound = False
    if not sound:
        raise ModelFileError(
            "it was changed or damaged after it was saved: its content does not fit its checksum."
        )
    return version


def _read_table(read: Reader, mixture: Mixture) -> TableNotes | None:
    if read.is_null("table"):
        return None
    table = read.part("table")
    target = table.text("target")
    id_column = None if table.is_null("id_column") else table.text("id_column")
    fill = _read_fill(table.part("fill"), mixture.inputs.columns)
    calibration = None
    if not table.is_null("calibration"):
        # a slope, and an intercept for each score
        numbers = table.array("calibration", (1 + mixture.posterior.intercept[0].size,)).tolist()
        if max(map(abs, numbers)) > STEEPEST:
            raise table.fail("calibration", f"numbers within {STEEPEST:g}", numbers)
        calibration = tuple(numbers)
    exposure = table.text("exposure") if "exposure" in table.content else None
    cases = table.texts("cases") if "cases" in table.content else ()
    if len(cases) not in (0, mixture.n_localities):
        raise table.fail("cases", f"a text for each of {mixture.n_localities} localities", cases)
    pooled = _read_pooled(table, mixture.inputs.columns) if "pooled" in table.content else {}
    card, linear = read_card(table), read_linear(table, mixture)
    table.done()
    return TableNotes(target, id_column, fill, calibration, exposure, cases, pooled, card, linear)


def _read_pooled(table: Reader, columns: Columns) -> Mapping[str, tuple[str, ...]]:
    """Levels that are read as another; that one must be known."""
    read, levels = table.part("pooled"), dict(zip(columns.names, columns.levels, strict=True))
    for name in read.content:
        if POOLED not in (levels.get(name) or ()):
            raise ModelFileError(
                f"{read.where[:-1]} should be levels of columns that have the level {POOLED!r}; got"
                f" {show(name)}."
            )
    return {name: read.texts(name) for name in read.content}


def _read_fill(read: Reader, columns: Columns) -> Mapping[str, Any]:
    levels = dict(zip(columns.names, columns.levels, strict=True))
    for name, value in read.content.items():
        if name not in levels:
            raise ModelFileError(
                f"{read.where[:-1]} should be values for columns of the model; got {show(name)}."
            )
        known = levels[name]
        if known is None:
            read.number(name, -LARGEST, LARGEST)
        elif not any(type(value) is type(one) and value == one for one in known):
            raise read.fail(name, "a level of the column", value)
    return dict(read.content)


def _read_certificate(read: Reader) -> Any:
    if read.is_null("certificate"):
        return None
    content = read.take("certificate", (dict,), "an object or null")
    from ..certificates import Certificate  # which imports what reads files

    try:
        return Certificate.from_dict(content)
    except (MotlmError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise ModelFileError(f"its certificate is not sound: {show(str(error), 300)}") from None
