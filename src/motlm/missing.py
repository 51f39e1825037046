"""Missing values: what stands in for them in the models, and where their rows lie."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ._typing import Array, Booleans
from .frames import has_missing

__all__ = ["BEYOND", "FAR", "MISSING", "fill_in", "find_medians", "put_far"]

MISSING = ("auto", "error")
"""Rules for missing values."""
FAR = 1e100
"""The standardized coordinate of a missing value: so far away that no locality which looks at the
column contains the row, with partials that are exactly 0. Rows lie within 1e50 standard deviations,
and the weights of columns within 1e-8 and 1e8."""
BEYOND = np.float64(1e70)  # rows may be of float32, which has no such number
"""Distances from which on a row lacks a value that a locality looks at."""


def fill_in(encoded: Array, values: Array) -> Array:
    """Encoded rows with a value for each column where numbers are missing; the same array where
    none is.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.missing import fill_in
    >>> fill_in(np.array([[1.0, np.nan]]), np.array([7.0, 8.0]))
    array([[1., 8.]])
    """
    if not has_missing(encoded):
        return encoded
    return np.where(np.isnan(encoded), values.astype(encoded.dtype, copy=False), encoded)


def put_far(coordinates: Array, holes: Booleans) -> Array:
    """Coordinates of rows, far away where numbers are missing."""
    return np.where(holes, FAR, coordinates.astype(float, copy=False))


def find_medians(
    encoded: Array, weight: Array, incomplete: Sequence[int], typical: Array
) -> Array | None:
    """What stands in for missing values: medians of the rows in incomplete columns, typical values
    in others; None where no column is incomplete.
    """
    if not len(incomplete):
        return None
    found = np.array(typical, dtype=float)
    for j in incomplete:
        found[j] = _median(encoded[:, j], weight)
    return found


def _median(values: Array, weight: Array) -> float:
    """Of numbers that are not missing; an integer weight is a repeated number. 0 of none."""
    here = ~np.isnan(values)
    values, weight = values[here].astype(float), weight[here]
    if not len(values):
        return 0.0
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    both = [np.searchsorted(reached, 0.5 * reached[-1], side=side) for side in ("left", "right")]
    low, high = values[order[np.minimum(both, len(order) - 1)]]
    return float(low + 0.5 * (high - low))
