"""The map of a report: the plane of the two columns of a model that has two numbers, or the two
directions in which rows differ most.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import AnyArray, Array
from ..mixture import Mixture, View
from ._features import describe

__all__ = ["map_of", "sample"]

_GRID = 120  # points along each axis


def sample(total: int, most: int) -> AnyArray:
    """The rows that are shown: all, or a random choice where they are many."""
    if total <= most:
        return np.arange(total)
    return np.sort(np.random.default_rng(0).permutation(total)[:most])


def map_of(view: View, y: AnyArray, include_rows: bool, most: int) -> dict[str, Any] | None:
    """What there is to draw; None for localities that are not Euclidean, and for too few rows."""
    mixture, encoded = view.mixture, view.encoded
    inputs = mixture.inputs
    if len(encoded) < 3 or any(locus.norm != "euclidean" for locus in mixture.loci):
        return None
    numbers = len(inputs.names) == 2 and not inputs.columns.has_text
    if numbers and inputs.counted.all() and (np.ptp(encoded, axis=0) > 0).all():
        content, rows = _plane(view, include_rows), encoded
    elif mixture.n_localities and all(one.is_ball(inputs.counted) for one in mixture.loci):
        if inputs.counted.sum() < 2:
            return None
        content, rows = _projection(mixture, encoded)
    else:
        return None
    shown = sample(len(encoded), most)
    return {
        **content,
        "rows": rows[shown] if include_rows else None,
        "target": y[shown] if include_rows else None,
    }


def _plane(view: View, exact: bool) -> dict[str, Any]:
    """The answers on a grid, and where the localities lie in it, in the user's units."""
    mixture, encoded = view.mixture, view.encoded
    inputs = mixture.inputs
    axes = []
    for j, group in enumerate(inputs.groups):
        ends = describe(group, encoded[:, j], exact)
        margin = 0.05 * (ends["high"] - ends["low"])
        axes.append(np.linspace(ends["low"] - margin, ends["high"] + margin, _GRID))
    grid = np.column_stack([np.repeat(axes[0], _GRID), np.tile(axes[1], _GRID)])
    shade = mixture.target.shade(mixture.view(grid).score)
    circles = []
    for i, locus in enumerate(mixture.loci):
        half = locus.cut((0, 1), np.zeros(2)) if locus.radius > 0 else None
        if half is not None:
            circles.append(
                {
                    "name": mixture.region_name(i),
                    "center": mixture.localities[i].center,
                    "width": half / inputs.units.inverse_scale,
                }
            )
    return {
        "kind": "plane",
        "axes": list(inputs.names),
        "circles": circles,
        "x": axes[0],
        "y": axes[1],
        "z": shade.reshape(_GRID, _GRID).T,
    }


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
