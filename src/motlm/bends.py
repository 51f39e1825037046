"""How models bend: ramps between knots of a column, as features beside the column itself.

A model's curve of a column is then piecewise linear: a short table of points. There are two kinds
of curves, which differ in their prior alone.

A rugged curve has a ramp between each two neighboring knots. The scale of a ramp grows with the
square root of its share of the column, so that a prior on its weight is that of a random walk along
it: heights of near points are near. The share is the ramp's width; where values repeat, as amounts
do, half of it goes by the distinct values between the knots, so that a curve may turn between near
ones.

A smooth curve has long ramps: from the first knot to each of the lower half, and from each of the
upper half to the last. A weight is then a change of slope, and the prior that of a random walk of
slopes, outwards from the middle: slopes of near pieces are near.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._typing import Array, Booleans

__all__ = ["Bend", "Bends", "find_bends", "interpolate"]

# tuned by cross-validation over the training rows of one split of the paper's 16 sets, one model
KNOTS = 32  # of a column, at most; half of them by rows, half by distinct values
# of a column whose values repeat: each value that enough rows have, as far as there are no more
VALUES = 128
_REPEATED = 20.0  # rows of a distinct value on average, from which on values repeat
_ROWS = 5  # of a value that is a knot for itself
FEWEST = 5  # distinct values of a column that may bend
_RAMPS = 640  # of all columns, about
_FEWEST_KNOTS = 4
_FINE = 500.0  # steps in their range to which knots are rounded, at least
_MOST_TICKS = 1e11
_SCALE = 0.5  # of ramps: a column slopes more readily than it bends
_TURN = 1.5  # scale of the slope of a smooth curve, over the whole column and in its units


def interpolate(knots: Array, table: Array, x: Array) -> Array:
    """Lines between the rows of a table, at x; beyond the knots its first and last row."""
    x = np.clip(x, knots[0], knots[-1])
    place = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
    share = ((x - knots[place]) / (knots[place + 1] - knots[place]))[:, None]
    return np.asarray(table[place] * (1.0 - share) + table[place + 1] * share)


@dataclass(frozen=True, eq=False)
class Bend:
    """The ramps of one column, each of which rises between two knots: in a rugged curve between
    neighbors, one after another; in a smooth one between the first knot and each of the lower half,
    and between each of the upper half and the last.

    Attributes
    ----------
    column : int
        The encoded column.
    knots : ndarray, (n_knots,)
        Increasing, in the user's units.
    middle : ndarray, (n_knots - 1,)
        The mean of each ramp, from 0 to 1, among the training rows; it is subtracted.
    share : ndarray, (n_knots - 1,), or None
        Of the column, positive: a ramp's scale goes with its square root. None: by its width.
    smooth : bool
        Whether the curve is smooth.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.bends import Bend
    >>> bend = Bend(0, np.array([0.0, 1.0, 3.0]), np.zeros(2))
    >>> bend.values(np.array([0.5, 2.0, 9.0])) / bend.table[-1]
    array([[0.5, 0. ],
           [1. , 0.5],
           [1. , 1. ]])

    A smooth one, of the same height at the end:

    >>> smooth = Bend(0, np.array([0.0, 1.0, 3.0, 5.0]), np.zeros(3), smooth=True)
    >>> smooth.values(np.array([0.5, 2.0, 9.0])) / smooth.table[-1]
    array([[0.5 , 0.  , 0.  ],
           [1.  , 0.25, 0.  ],
           [1.  , 1.  , 1.  ]])
    """

    column: int
    knots: Array
    middle: Array
    share: Array | None = None
    smooth: bool = False

    def __len__(self) -> int:
        """Number of ramps."""
        return len(self.knots) - 1

    @property
    def table(self) -> Array:
        """(n_knots, n_ramps): the ramps at the knots."""
        return np.asarray((self.ramps - self.middle) * self.scale)

    @property
    def ramps(self) -> Array:
        """(n_knots, n_ramps): from 0 to 1."""
        if not self.smooth:
            return np.tri(len(self.knots), len(self), k=-1)
        return np.column_stack(
            [np.clip((self.knots - a) / (b - a), 0.0, 1.0) for a, b in self.ends]
        )

    @property
    def ends(self) -> Array:
        """(n_ramps, 2): the knots between which each ramp rises."""
        knots, half = self.knots, len(self) // 2
        if not self.smooth:
            return np.column_stack([knots[:-1], knots[1:]])
        first, last = np.full(half, knots[0]), np.full(len(self) - half, knots[-1])
        return np.column_stack([np.r_[first, knots[half:-1]], np.r_[knots[1 : half + 1], last]])

    @property
    def scale(self) -> Array:
        """(n_ramps,)"""
        if not self.smooth:
            share = np.diff(self.knots) if self.share is None else self.share
            return np.asarray(_SCALE * np.sqrt(share / share.mean()))
        width = np.diff(self.knots) / (self.knots[-1] - self.knots[0])
        around = np.r_[width[0], (width[:-1] + width[1:]) / 2.0, width[-1]]
        half = len(self) // 2
        turn = np.sqrt(len(self) * np.r_[around[1 : half + 1], around[half:-1]])
        rise = np.diff(self.ends)[:, 0] / (self.knots[-1] - self.knots[0])
        return np.asarray(_TURN * turn * rise)

    def values(self, x: Array) -> Array:
        """(n_rows, n_ramps)"""
        return interpolate(self.knots, self.table, x)


@dataclass(frozen=True, eq=False)
class Bends:
    """Of all columns that bend, in their order.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.bends import find_bends
    >>> X = np.column_stack([np.arange(100.0), np.arange(100) % 2])
    >>> bends = find_bends(X, np.ones(100), np.array([True, True]))
    >>> [one.column for one in bends.each], len(bends) == len(bends.each[0].knots) - 1
    ([0], True)
    >>> float(abs(bends.values(X).mean(axis=0)).max()) < 1e-12
    True
    """

    each: tuple[Bend, ...]

    def __len__(self) -> int:
        """Number of ramps."""
        return sum(map(len, self.each))

    @property
    def smooth(self) -> tuple[int, ...]:
        """The encoded columns whose curves are smooth."""
        return tuple(one.column for one in self.each if one.smooth)

    def parts(self) -> Iterator[tuple[Bend, slice]]:
        """Each with the places of its ramps among all."""
        first = 0
        for one in self.each:
            yield one, slice(first, first + len(one))
            first += len(one)

    def values(self, encoded: Array) -> Array:
        """(n_rows, n_ramps), of rows in the user's units."""
        made = np.empty((len(encoded), len(self)), order="F")
        for one, own in self.parts():
            made[:, own] = one.values(encoded[:, one.column].astype(float))
        return made

    def content(self) -> list[dict[str, Any]]:
        """All numbers, by their names."""
        return [
            {"column": one.column, "knots": one.knots, "middle": one.middle}
            | ({} if one.share is None else {"share": one.share})
            | ({"smooth": True} if one.smooth else {})
            for one in self.each
        ]


def find_bends(
    encoded: Array,
    weight: Array,
    may: Booleans,
    stand_in: Array | None = None,
    smooth: Booleans | None = None,
) -> Bends | None:
    """Of the columns that may bend, by the values of these rows; None where none can. Knots are
    taken from values that are not missing, and means with those that stand in for missing ones.
    `smooth` names the columns with smooth curves; where values repeat they are rugged all the same.
    """
    found: list[Bend] = []
    share = weight / weight.sum()
    most = max(_FEWEST_KNOTS, min(KNOTS, _RAMPS // max(int(may.sum()), 1)))
    for j in np.flatnonzero(may):
        x = encoded[:, j].astype(float)
        here = ~np.isnan(x)
        known = x[here]
        knots, shares = _repeated(known, most), None
        if knots is None:
            knots = _knots(known, weight[here], most) if len(known) else x[:1]
        else:
            shares = _shares(np.unique(known), knots)
        if stand_in is not None:
            x[~here] = stand_in[j]
        if len(knots) > 1:
            even = smooth is not None and bool(smooth[j]) and shares is None
            made = Bend(int(j), knots, np.zeros(len(knots) - 1), shares, even)
            found.append(replace(made, middle=share @ interpolate(knots, made.ramps, x)))
    return Bends(tuple(found)) if found else None


def _knots(values: Array, weight: Array, most: int) -> Array:
    """Half of them quantiles of the rows, half of the distinct values; fewer where they agree. One
    where the column does not bend.
    """
    distinct, where = np.unique(values, return_inverse=True)
    gap = np.diff(distinct)
    if len(distinct) < FEWEST or not gap.min() > 1e-12 * (distinct[-1] - distinct[0]):
        return distinct[:1]
    if len(distinct) <= most:
        return _round(distinct)
    half = most // 2
    size = np.bincount(where, weights=weight)
    reached = (np.cumsum(size) - 0.5 * size) / size.sum()
    by_row = np.searchsorted(reached, np.linspace(0.0, 1.0, half))
    by_row = np.minimum(by_row, len(distinct) - 1)
    by_value = np.rint(np.linspace(0, len(distinct) - 1, half)).astype(int)
    return _round(distinct[np.unique(np.concatenate([by_row, by_value]))])


def _repeated(values: Array, most: int) -> Array | None:
    """Of a column whose values repeat, each that enough rows have, and the ends; None where they do
    not repeat, or are not too many for the usual knots, or too many for any.
    """
    distinct, count = np.unique(values, return_counts=True)
    if len(distinct) <= most or len(values) < _REPEATED * len(distinct):
        return None
    often = count >= _ROWS
    often[[0, -1]] = True
    knots = distinct[often]
    gap = float(np.diff(knots).min())
    few = most < len(knots) <= VALUES * most // KNOTS
    return _round(knots, gap / 10.0) if few and gap > 1e-12 * (knots[-1] - knots[0]) else None


def _shares(distinct: Array, knots: Array) -> Array:
    """Of a column, of each ramp: the mean of its shares of the range and of the distinct values."""
    wide = np.diff(knots) / (knots[-1] - knots[0])
    order = np.interp(knots, distinct, np.linspace(0.0, 1.0, len(distinct)))
    return np.asarray(0.5 * (wide + np.diff(order)))


def _step(width: float) -> float:
    """The power of ten that is at most this width."""
    return float(10.0 ** np.floor(np.log10(width)))


def _round(knots: Array, finest: float = np.inf) -> Array:
    """To a thousandth of their range, or less, or to digits in which numbers that are so near to
    each other differ: round numbers are read more easily, and tell less of the training rows.
    """
    step = _step(min(float(knots[-1] - knots[0]) / _FINE, finest))
    ticks = np.rint(knots / step)
    if not np.abs(ticks).max() < _MOST_TICKS:  # far from 0 there are no digits left
        return knots
    return np.array([float(f"{one * step:.12g}") for one in np.unique(ticks)])
