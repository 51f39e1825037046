"""How far localities reach along the columns that they look at, among some rows: what strips and
maps show.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._typing import Array
from .bends import interpolate
from .mixture import Mixture
from .regions import Box
from .routine import Curve

__all__ = ["Extent", "are_balls", "columns_beside", "columns_to_show", "extents_of", "looks_at"]


@dataclass(frozen=True)
class Extent:
    """A locality along one of the user's columns that it looks at."""

    name: str
    text: str  # "18 to 30", "up to 30", "gas"; "" where it does not limit the rows
    ends: tuple[float, float] | None  # in the user's units; None of a category
    levels: tuple[tuple[str, bool], ...]  # of a category: which are inside

    def share(self, low: float, high: float) -> tuple[float, float]:
        """Where numbers inside begin and end between two numbers, as shares from 0 to 1."""
        if self.ends is None or not high > low:
            return 0.0, 1.0
        first, last = np.clip((np.array(self.ends) - low) / (high - low), 0.0, 1.0)
        return float(first), float(last)


def extents_of(mixture: Mixture, i: int, encoded: Array) -> list[Extent]:
    """Of a locality, the columns that limit it most first; empty where distances do not show how
    far it reaches.

    Parameters
    ----------
    mixture : Mixture
    i : int
        Which locality.
    encoded : ndarray, (n_rows, n_encoded)
        Rows whose range is taken where that of the training rows is not known.

    Returns
    -------
    list of Extent

    Examples
    --------
    >>> import numpy as np
    >>> from motlm import LocalMixtureRegressor
    >>> from motlm.extents import extents_of
    >>> age = np.random.default_rng(0).uniform(18, 80, size=(400, 1))
    >>> y = np.where(age[:, 0] < 40, 1.0, 0.02 * age[:, 0])
    >>> linear = {"local_models": "linear", "random_state": 0}
    >>> model = LocalMixtureRegressor(points_of_interest=[[30.0]], **linear).fit(age, y)
    >>> [extent] = extents_of(model.mixture_, 0, age)
    >>> extent.name, extent.text.startswith("up to"), extent.share(18, 80)[0]
    ('x0', True, 0.0)
    """
    locality, encoded = mixture.localities[i], mixture.inputs.fill_in(encoded)
    if locality.half_width is None:
        return []
    low, high, whole = (getattr(mixture.geometry, name, None) for name in ("low", "high", "whole"))
    if low is None or len(low) != encoded.shape[1]:
        low, high = encoded.min(axis=0), encoded.max(axis=0)
        whole = (encoded == np.rint(encoded)).all(axis=0)
    box = Box(mixture.inputs, locality.center, locality.half_width, low, high, whole)
    sides = sorted(box.sides, key=lambda one: (not one.text, one.share))
    return [_extent(side) for side in sides]


def _extent(side: Any) -> Extent:
    name = str(side.group.name)
    text = side.text.removeprefix(f"{name} ")
    if side.number:
        first, last = side.ends
        return Extent(name, text, (float(first), float(last)), ())
    levels = zip(map(str, side.names), side.inside.tolist(), strict=True)
    return Extent(name, text, None, tuple(levels))


def columns_beside(mixture: Mixture, shown: Iterable[int]) -> int:
    """How many of the user's columns are not among these encoded ones."""
    some = set(shown)
    return sum(
        some.isdisjoint(range(group.columns.start, group.columns.stop))
        for group in mixture.inputs.groups
    )


def looks_at(mixture: Mixture, i: int) -> list[int]:
    """The encoded columns that a locality looks at."""
    locus = mixture.loci[i]
    if locus.weight is None:
        return [int(j) for j in locus.columns]
    return [int(j) for j in locus.columns[locus.weight > 0]]


def are_balls(mixture: Mixture, localities: Iterable[int]) -> bool:
    """Whether these localities are plain Euclidean balls in all columns that are not ignored."""
    every = np.flatnonzero(mixture.inputs.counted)
    loci = [mixture.loci[i] for i in localities]
    return all(
        one.norm == "euclidean"
        and np.array_equal(one.columns, every)
        and (one.weight is None or bool((one.weight == 1.0).all()))
        for one in loci
    )


def columns_to_show(mixture: Mixture, encoded: Array, localities: list[int]) -> list[int]:
    """All encoded columns, those first that localities look at, by the share of rows that they
    exclude; numbers before levels, which make a poor map. Of balls, by the standardized
    coefficients, and for columns that bend by the standard deviation of what they add.
    """
    names, inputs = mixture.inputs.names, mixture.inputs
    encoded = inputs.fill_in(encoded)
    coef = np.abs(mixture.routine().coef).reshape(-1, len(names)).max(axis=0)
    for curve in mixture.routine().curves:
        coef[curve.column] = _spread(mixture, curve, encoded)
    numeric, excluded = np.zeros(len(names), dtype=bool), np.zeros(len(names))
    for group in inputs.groups:
        numeric[group.values] = group.levels is None
    if not are_balls(mixture, localities):
        for i in localities:
            locality = mixture.localities[i]
            if locality.half_width is not None:
                seen = np.isin(np.arange(len(names)), looks_at(mixture, i))
                gap = np.abs(encoded - locality.center)
                # those that it looks at before all others
                excluded += np.where(seen, (gap > locality.half_width).mean(axis=0) + 1e-9, 0.0)
    order = np.lexsort((-coef, -excluded, ~numeric))
    return [int(j) for j in order]


def _spread(mixture: Mixture, curve: Curve, encoded: Array) -> float:
    """The largest standard deviation, over rows and models, of what a column that bends adds to a
    standardized score.
    """
    routine, j = mixture.routine(), curve.column
    x = encoded[:, j].astype(float)
    z = (x - routine.origin[j]) * routine.factor[j]
    straight = routine.coef[..., j].reshape(-1, 1) * z
    bent = interpolate(curve.knots, curve.values.reshape(-1, len(curve.knots)).T, x).T
    return float((straight + bent).std(axis=1).max())
