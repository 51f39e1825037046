"""Local models as a person reads them: formulas, and numbers by column, in the user's units.

They follow from the posterior; a file in which they do not is refused.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from .._typing import Array
from ..errors import ModelFileError
from ..localities import Locality, LocalModel
from ..mixture import Mixture
from ._read import Reader, show
from ._text import plain

__all__ = ["check_models", "model_entries", "read_models"]

_NUMBERS = (
    *("coef", "coef_scale", "intercept", "intercept_scale", "n_rows", "center", "center_scale"),
    *("radius", "radius_mean", "half_width", "point"),
)
_AGREE = 1e-9  # relative, by which numbers of the same file may differ between computers


def model_entries(mixture: Mixture) -> dict[str, Any]:
    """The entries of all models."""
    return {
        "localities": [_entry(one) for one in mixture.localities],
        "exterior": _entry(mixture.exterior),
    }


def _entry(one: LocalModel) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "formula": one.formula(),
        "n_rows": one.n_rows,
        "intercept": one.intercept,
        "intercept_scale": one.intercept_scale,
        "coef": _by_column(one, one.coef),
        "coef_scale": _by_column(one, one.coef_scale),
    }
    if isinstance(one, Locality):
        width = one.half_width
        entry = {"where": one.where, "correction": _correction(one)} | entry
        entry |= {
            "radius": one.radius,
            "radius_mean": one.radius_mean,
            "point": one.point,
            "center": _by_column(one, one.center),
            "center_scale": _by_column(one, one.center_scale),
            "half_width": None if width is None else _by_column(one, width),
        }
    return {name: plain(value) for name, value in entry.items()}


def _correction(one: LocalModel) -> str | None:
    """How it differs from the exterior model; None where they are independent."""
    return None if one.exterior is None else one.correction()


def _by_column(one: LocalModel, values: Array) -> list[list[Any]]:
    """Pairs of a column and its number, or its numbers for several classes; infinity, of a ball
    that has no end along a column, becomes null.
    """
    if values.ndim > 1:
        numbers = values.T.tolist()
    else:
        numbers = [None if np.isinf(value) else value for value in values.tolist()]
    return [list(pair) for pair in zip(one.feature_names, numbers, strict=True)]


def read_models(read: Reader, mixture: Mixture, worded: bool) -> tuple[LocalModel, ...]:
    """The models that a file shows, with numbers as they are written there; the last is the
    exterior. `worded` is whether localities are told in sentences, too.
    """
    part = read.part("exterior")
    exterior = replace(mixture.exterior, **_read_common(part, mixture.exterior))
    _finish(part, exterior)
    made = []
    for one, own in zip(read.parts("localities"), mixture.localities, strict=True):
        made.append(_read_locality(one, own, exterior))
        if worded:
            _check_words(one, made[-1])
        _finish(one, made[-1])
    return (*made, exterior)


def _read_locality(read: Reader, own: Locality, exterior: LocalModel) -> Locality:
    names, endless = own.feature_names, not read.is_null("half_width")
    about = None if own.exterior is None else replace(own.exterior, model=exterior)
    return replace(
        own,
        **_read_common(read, own),
        exterior=about,
        center=_read_by_column(read, "center", names),
        center_scale=_read_by_column(read, "center_scale", names),
        radius=read.number("radius", 0.0),
        radius_mean=read.number("radius_mean", 0.0),
        half_width=_read_by_column(read, "half_width", names, True) if endless else None,
        point=read.integer("point", 0),
    )


def _check_words(read: Reader, made: Locality) -> None:
    """Sentences must be those of the numbers beside them."""
    where, correction = read.text("where"), _correction(made)
    if where != made.where:
        raise read.fail("where", f"{made.where[:80]!r}, as the posterior has it", where)
    shown = None if read.is_null("correction") else read.text("correction")
    if shown != correction:
        raise read.fail("correction", f"that of its coefficients, {show(correction)}", shown)


def _read_common(read: Reader, own: LocalModel) -> dict[str, Any]:
    """The numbers of its model."""
    names, classes = own.feature_names, own.classes
    scores = (len(classes),) if classes else ()
    intercept = read.array("intercept", scores) if classes else read.number("intercept")
    return {
        "coef": _read_by_column(read, "coef", names, scores=scores).T,
        "coef_scale": _read_by_column(read, "coef_scale", names),
        "intercept": intercept,
        "intercept_scale": read.number("intercept_scale", 0.0),
        "n_rows": read.integer("n_rows", 0),
    }


def _read_by_column(
    read: Reader,
    entry: str,
    names: tuple[str, ...],
    endless: bool = False,
    scores: tuple[int, ...] = (),
) -> Array:
    pairs = read.sequence(entry)
    paired = set(map(type, pairs)) <= {list} and set(map(len, pairs)) <= {2}
    if not paired or [one[0] for one in pairs] != list(names):
        expected = f"a list of [column, number] for the {len(names)} columns"
        raise read.fail(entry, expected, pairs)
    return read.shaped(entry, [one[1] for one in pairs], (len(names), *scores), endless)


def _finish(read: Reader, made: LocalModel) -> None:
    """The formula must be that of the numbers beside it."""
    shown, formula = read.text("formula"), made.formula()
    if shown != formula:
        raise read.fail("formula", f"that of its coefficients, {formula[:80]!r}", shown)
    read.done()


def check_models(shown: tuple[LocalModel, ...], mixture: Mixture) -> None:
    """Raise where the numbers that a file shows are not those of its posterior."""
    for i, (one, own) in enumerate(zip(shown, mixture.models, strict=True)):
        where = f"localities.{i}" if i < mixture.n_localities else "exterior"
        # the intercept is a difference of these numbers, which other computers round otherwise
        terms = abs(own.intercept) + np.abs(own.coef) @ np.abs(mixture.inputs.units.center)
        if not np.isfinite(terms).all():
            raise ModelFileError(f"{where} has coefficients that are too large to add up.")
        for name in (field.name for field in fields(own) if field.name in _NUMBERS):
            slack = _AGREE * terms if name == "intercept" else 0.0
            if not _agree(getattr(one, name), getattr(own, name), slack):
                raise ModelFileError(
                    f"{where}.{name} does not agree with the posterior: this file shows another"
                    " model than the one that it predicts by."
                )


def _agree(shown: Any, own: Any, slack: Any) -> bool:
    if own is None or shown is None:
        return shown is own
    first, second = np.asarray(shown, dtype=float), np.asarray(own, dtype=float)
    allowed = _AGREE * np.minimum(np.abs(first), np.abs(second)) + slack
    return bool(np.all((first == second) | (np.abs(first - second) <= allowed)))
