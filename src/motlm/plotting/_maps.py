"""What maps of localities show: answers on a grid, and where localities lie in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from ..errors import InputError
from ..extents import are_balls, columns_beside, columns_to_show, looks_at
from ..mixture import Mixture

__all__ = ["check_map", "make_map", "make_projection"]

Circles = list[tuple[int, Array, Array]]


def check_map(mixture: Mixture) -> Mixture:
    """Refuse localities that are not Euclidean."""
    if any(locus.norm != "euclidean" for locus in mixture.loci):
        raise InputError(
            "LocalitiesDisplay draws Euclidean balls; this model has"
            f" metric={mixture.geometry.metric_name!r}."
        )
    return mixture


def _columns(mixture: Mixture, features: Any, encoded: Array, at: int | None) -> list[int]:
    """The columns of a slice: those given, or those that localities look at."""
    names = mixture.inputs.names
    if features is None:
        localities = list(range(mixture.n_localities)) if at is None else [at]
        return sorted(columns_to_show(mixture, encoded, localities)[:2])
    found = []
    for one in [features] if isinstance(features, (str, int, np.integer)) else features:
        place = names.index(one) if one in names else one
        if not isinstance(place, (int, np.integer)) or not 0 <= place < len(names):
            raise InputError(
                f"features must be one or two of the columns {', '.join(map(repr, names[:20]))}, or"
                f" numbers; got {one!r}."
            )
        found.append(int(place))
    if len(found) not in (1, 2) or len(set(found)) != len(found):
        raise InputError(f"features must be one column or two different ones; got {features!r}.")
    return found


def make_map(
    mixture: Mixture, encoded: Array, features: Any, at: int | None, resolution: int
) -> dict[str, Any]:
    """The answers on a grid of one or two columns, and the localities where the slice cuts them."""
    n = mixture.n_localities
    if at is not None and not 0 <= at < n:
        raise InputError(f"at must be one of the {n} localities, from 0 on; got {at!r}.")
    shown = _columns(mixture, features, encoded, at)
    base = mixture.inputs.typical if at is None else mixture.localities[at].center
    values = mixture.inputs.fill_in(encoded)[:, shown]
    margin = 0.05 * np.maximum(np.ptp(values, axis=0), 1e-12)
    low, high = values.min(axis=0) - margin, values.max(axis=0) + margin
    lines = [np.linspace(low[k], high[k], resolution) for k in range(len(shown))]
    grid = np.meshgrid(*lines)
    rows = np.tile(base, (grid[0].size, 1))
    rows[:, shown] = np.column_stack([one.ravel() for one in grid])
    score = np.concatenate([view.score for view in mixture.views(rows)], axis=-1)
    response = mixture.target.shade(score).reshape(grid[0].shape)
    if len(shown) == 1 and mixture.target.classes is None:
        response = mixture.target.answer(score)
    circles, beside = _cuts(mixture, base, shown)
    return {
        "xx0": grid[0],
        "xx1": grid[1] if len(shown) == 2 else None,
        "response": response,
        "circles": circles,
        "X": encoded[:, shown],
        "feature_names": tuple(mixture.inputs.names[j] for j in shown),
        "held": _held(mixture, shown, at) + beside,
    }


def _held(mixture: Mixture, shown: list[int], at: int | None) -> str:
    """What is held, in words."""
    others = columns_beside(mixture, shown)
    if not others:
        return ""
    where = "the average row" if at is None else f"the center of locality {at}"
    columns = f"the other {others} columns" if others > 1 else "the other column"
    seen = {j for i in range(mixture.n_localities) for j in looks_at(mixture, i)}
    if mixture.n_localities and seen <= set(shown):
        return f"{columns} held at {where}: they change answers, not localities"
    return f"slice: {columns} held at {where} (those of the rows differ)"


def _cuts(mixture: Mixture, base: Array, shown: list[int]) -> tuple[Circles, str]:
    """Where a slice cuts the localities: ellipses, in the user's units, infinite along a column
    that a locality does not look at. And those that it does not cut, in words.
    """
    circles: Circles = []
    beside = {"does not meet": [], "lies within": []}  # type: dict[str, list[str]]
    place, inverse = mixture.inputs.standardize(base[None])[0], mixture.inputs.units.inverse_scale
    for i, (locality, locus) in enumerate(zip(mixture.localities, mixture.loci, strict=True)):
        half = locus.cut(shown, place)
        if half is None:
            beside["does not meet"].append(f"{i}")
        elif np.isinf(half).all():
            beside["lies within"].append(f"{i}")
        else:
            width = np.divide(half, inverse[shown], out=half.copy(), where=np.isfinite(half))
            circles.append((i, locality.center[shown], width))
    return circles, "".join(
        f"\nthe map {verb} locality {', '.join(which)}" for verb, which in beside.items() if which
    )


def make_projection(
    mixture: Mixture, encoded: Array, features: Any, at: int | None, resolution: int
) -> dict[str, Any]:
    """Rows and balls along the two directions in which standardized rows differ most."""
    if features is not None or at is not None:
        raise InputError("a projection shows all columns; features and at are of slices.")
    inputs = mixture.inputs
    if inputs.varies.sum() < 2 or len(encoded) < 3:
        raise InputError("a projection needs two columns that vary, and three rows.")
    if not are_balls(mixture, range(mixture.n_localities)):
        raise InputError(
            "a projection draws balls; the localities of this model look at some of the columns,"
            " or weigh them.",
            'Draw a slice (kind="slice").',
        )
    Z = inputs.standardize(encoded)
    middle = Z.mean(axis=0)
    _, spread, directions = np.linalg.svd(Z - middle, full_matrices=False)
    plane = directions[:2]
    share = spread[:2] ** 2 / max(float((spread**2).sum()), 1e-300)
    circles = []
    for i, locus in enumerate(mixture.loci):
        center = np.zeros(len(middle))
        center[locus.columns] = locus.center
        circles.append((i, plane @ (center - middle), np.full(2, locus.radius)))
    return {
        "xx0": None,
        "xx1": None,
        "response": None,
        "circles": circles,
        "X": (Z - middle) @ plane.T,
        "feature_names": tuple(
            f"principal direction {k + 1} ({share[k]:.0%} of the variance)" for k in range(2)
        ),
        "held": "projection: balls in full size; a row inside a circle need not be inside the ball",
    }
