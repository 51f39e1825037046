"""Local models as a person reads them: formulas, and numbers by column, in the user's units.

They follow from the posterior; a file in which they do not is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np

from .._typing import Array
from ..errors import ModelFileError
from ..localities import Locality, LocalModel, Shape
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
    if one.shapes:
        entry["shapes"] = [[one.feature_names[own.column], _points(own)] for own in one.shapes]
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


def _points(shape: Shape) -> list[list[Any]]:
    """Of each knot: the number, what is added there (of several classes for each), its scale."""
    pairs = zip(shape.knots.tolist(), shape.values.T.tolist(), shape.scale.tolist(), strict=True)
    return [list(point) for point in pairs]


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
    _check_shapes(part, exterior, mixture, -1)
    _finish(part, exterior)
    made: list[LocalModel] = []
    for one, own in zip(read.parts("localities"), mixture.localities, strict=True):
        made.append(_read_locality(one, own, exterior))
        _check_shapes(one, made[-1], mixture, len(made) - 1)
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


def _check_words(read: Reader, made: Any) -> None:
    """Sentences must be those of the numbers beside them."""
    where, correction = read.text("where"), _tell(read, _correction, made)
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
        "shapes": _read_shapes(read, own) if own.shapes else (),
    }


def _read_shapes(read: Reader, own: LocalModel) -> tuple[Shape, ...]:
    pairs = read.sequence("shapes")
    names = [own.feature_names[one.column] for one in own.shapes]
    if not all(_is_list(one, 2) for one in pairs) or [one[0] for one in pairs] != names:
        expected = f"a list of [column, points] for the {len(names)} columns that bend"
        raise read.fail("shapes", expected, pairs)
    return tuple(
        _read_points(read, points, one) for (_, points), one in zip(pairs, own.shapes, strict=True)
    )


def _read_points(read: Reader, points: Any, own: Shape) -> Shape:
    n = len(own.knots)
    if not _is_list(points, n) or not all(_is_list(one, 3) for one in points):
        raise read.fail("shapes", f"{n} points [number, value, scale] of this column", points)
    knots, values, scale = (
        read.shaped("shapes", [one[i] for one in points], shape)
        for i, shape in enumerate(((n,), own.values.T.shape, (n,)))
    )
    if not np.array_equal(knots, own.knots):
        raise read.fail("shapes", "points at the knots of inputs.bends", knots.tolist())
    return replace(own, values=values.T, scale=scale)


def _is_list(value: Any, length: int) -> bool:
    return isinstance(value, list) and len(value) == length


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
    shown, formula = read.text("formula"), _tell(read, LocalModel.formula, made)
    if shown != formula:
        raise read.fail("formula", f"that of its coefficients, {formula[:80]!r}", shown)
    read.done()


def _tell(read: Reader, write: Callable[[LocalModel], Any], made: LocalModel) -> Any:
    try:
        return write(made)
    except ArithmeticError:
        raise ModelFileError(
            f"{read.where[:-1]} has numbers that are too large to compute with."
        ) from None


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
                raise _other_model(f"{where}.{name}")


def _check_shapes(read: Reader, shown: LocalModel, mixture: Mixture, i: int) -> None:
    """The same of the curves of model i, before they are told in words."""
    inputs, own = mixture.inputs, mixture.models[i].shapes
    if inputs.bends is None:
        return
    first = int(inputs.varies.sum())
    ramps = np.abs(mixture.posterior.coef[i, ..., first:]) * mixture.target.scale
    for (bend, part), one, expected in zip(inputs.bends.parts(), shown.shapes, own, strict=True):
        terms = ramps[..., part] @ np.abs(bend.table).T  # the values are sums of these, with signs
        sound = _agree(one.values, expected.values, _AGREE * terms)
        if not sound or not _agree(one.scale, expected.scale, 0.0):
            raise _other_model(f"{read.where}shapes of {inputs.names[bend.column]!r}")


def _other_model(what: str) -> ModelFileError:
    return ModelFileError(
        f"{what} does not agree with the posterior: this file shows another model than the one that"
        " it predicts by."
    )


def _agree(shown: Any, own: Any, slack: Any) -> bool:
    if own is None or shown is None:
        return shown is own
    first, second = np.asarray(shown, dtype=float), np.asarray(own, dtype=float)
    allowed = _AGREE * np.minimum(np.abs(first), np.abs(second)) + slack
    return bool(np.all((first == second) | (np.abs(first - second) <= allowed)))
