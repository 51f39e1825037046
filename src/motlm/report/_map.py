"""The map of a report: the plane of the two columns of a model that has two numbers, or whose
localities look at these alone; or the two directions in which rows differ most.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import AnyArray, Array
from ..extents import are_balls, columns_beside, columns_to_show, looks_at
from ..mixture import Mixture, View
from ._places import density_of, draw_along, hides_cases, ranges_of

__all__ = ["map_of", "sample"]

_GRID = 120  # points along each axis


def sample(total: int, most: int) -> AnyArray:
    """The rows that are shown: all, or a random choice where they are many."""
    if total <= most:
        return np.arange(total)
    return np.sort(np.random.default_rng(0).permutation(total)[:most])


def map_of(
    view: View, y: AnyArray, features: list[dict[str, Any]], include_rows: bool, most: int
) -> dict[str, Any] | None:
    """What there is to draw; None for localities that are not Euclidean, and for too few rows."""
    mixture, encoded = view.mixture, view.filled.encoded
    inputs = mixture.inputs
    if len(encoded) < 3 or any(locus.norm != "euclidean" for locus in mixture.loci):
        return None
    shown = _columns(mixture, encoded)
    if shown:
        hidden = hides_cases(mixture, include_rows)
        balls = are_balls(mixture, range(mixture.n_localities))
        seen = ranges_of(view.filled, features, [] if balls else list(range(mixture.n_localities)))
        content = draw_along(mixture, inputs.typical, shown, seen, hidden, _GRID)
        content["others"] = columns_beside(mixture, shown)
        content["density"] = density_of(
            view.filled, shown, [content["x"], content["y"]], include_rows
        )
        rows = view.encoded[:, shown]
    elif mixture.n_localities and are_balls(mixture, range(mixture.n_localities)):
        if inputs.counted.sum() < 2:
            return None
        content, rows = _projection(mixture, encoded)
    else:
        return None
    some = sample(len(encoded), most)
    return {
        **content,
        "rows": rows[some] if include_rows else None,
        "target": y[some] if include_rows else None,
    }


def _columns(mixture: Mixture, encoded: Array) -> list[int]:
    """The two columns of numbers of a model that has no others, or at which its localities look;
    empty where there are none.
    """
    inputs, every = mixture.inputs, list(range(mixture.n_localities))
    counted = inputs.counted & (np.ptp(encoded, axis=0) > 0)
    numeric = np.zeros(len(counted), dtype=bool)
    for group in inputs.groups:
        numeric[group.values] = group.levels is None
    numeric &= counted
    if len(numeric) == 2:
        return [0, 1] if numeric.all() else []
    seen = {j for i in every for j in looks_at(mixture, i)}
    if len(seen) != 2 or not numeric[list(seen)].all():  # along one column it is a picture
        return []
    order = [j for j in columns_to_show(mixture, encoded, every) if numeric[j]]
    return sorted(order[:2]) if len(order) > 1 else []


def _projection(mixture: Mixture, encoded: Array) -> tuple[dict[str, Any], Array]:
    """Balls in their full size, and the rows, along two directions in standardized units."""
    inputs = mixture.inputs
    Z = inputs.standardize(encoded)[:, inputs.counted]
    middle = Z.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov((Z - middle).T))
    plane = vectors[:, np.argsort(-values)[:2]].T
    plane *= np.where(plane[np.arange(2), np.abs(plane).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]
    circles = [
        {
            "name": mixture.region_name(i),
            "center": plane @ (locus.center - middle),
            "width": [locus.radius, locus.radius],
        }
        for i, locus in enumerate(mixture.loci)
    ]
    axes = ["principal direction 1", "principal direction 2"]
    return {"kind": "projection", "axes": axes, "circles": circles}, (Z - middle) @ plane.T
