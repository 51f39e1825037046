"""What the training rows are like: the range of each column, and a median row for each model."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log10
from typing import Any

import numpy as np

from ._typing import Array, Booleans, Integers
from .inputs import Group
from .limits import LARGEST

__all__ = ["Summary"]

_FEWEST = 10  # rows of which a median is taken, so that it is not one of them
_ROUNDING = 1e-12  # relative, of sums of weights
_WHOLE = 1e-9  # relative, from a whole number, after a column was scaled back
_DIGITS = 3  # of the range of a column, to which medians are rounded: they are no row's own number


@dataclass(frozen=True, eq=False)
class Summary:
    """Of the training rows, in the user's units and encoded.

    Attributes
    ----------
    low, high : ndarray, (n_encoded,)
        Least and largest number of each column.
    whole : ndarray of bool, (n_encoded,)
        Whether a column holds whole numbers alone.
    medians : ndarray, (n_localities + 1, n_encoded)
        Of the rows to which each model applies: the median of each number, to three digits of its
        range, and the most frequent level of each category. Of fewer than ten rows, of the ten
        nearest to the center. The last is the exterior's.
    exact : ndarray, (n_localities + 1, n_encoded), or None
        The medians before they are rounded, by which a pipeline rounds them in the units of its
        table. Files do not hold them: they are numbers of rows.
    """

    low: Array
    high: Array
    whole: Booleans
    medians: Array
    exact: Array | None = None

    @classmethod
    def of(
        cls,
        groups: tuple[Group, ...],
        encoded: Array,
        weight: Array,
        applicable: Booleans,
        distance: Array,
    ) -> Summary:
        """From rows: which models apply to them, (n_localities + 1, n_rows), and how far they are
        from the centers, (n_localities, n_rows).
        """
        ends = np.fmin.reduce(encoded, axis=0), np.fmax.reduce(encoded, axis=0)  # but for nan
        low, high = (np.nan_to_num(one.astype(float), nan=0.0) for one in ends)
        whole = (np.isnan(encoded) | (encoded == np.rint(encoded))).all(axis=0)
        order = _Order(groups, encoded, weight)
        medians = []
        for i, inside in enumerate(applicable):
            if np.count_nonzero(inside) < _FEWEST:
                inside = np.ones(len(encoded), dtype=bool)
                if i < len(distance):
                    inside[:] = False
                    inside[np.argsort(distance[i], kind="stable")[:_FEWEST]] = True
            medians.append(order.median_row(inside))
        exact = np.array(medians)
        return cls(low, high, whole, _tidy(exact, low, high, whole), exact)

    def rescale(self, scale: Array, shift: Array, whole: Booleans | None = None) -> Summary:
        """In other units, x = (u - shift) / scale; medians are rounded in these. Columns of whole
        numbers are those that are known, or else those whose ends and medians are.
        """
        moved = (scale != 1.0) | (shift != 0.0)
        values = self.medians if self.exact is None else self.exact
        ends, exact = ((one - shift) / scale for one in (np.array([self.low, self.high]), values))
        if whole is None:
            # medians that were rounded before may be off by half of the last digit
            slack = 0.0 if self.exact is not None else 0.5 * _step(self.high - self.low) / scale
            near = _is_whole(ends).all(axis=0) & _is_whole(exact, slack).all(axis=0)
            whole = np.where(moved, near, self.whole)
        ends = np.where(moved & whole, np.rint(ends) + 0.0, ends)  # 0 for -0
        low, high = ends
        exact = np.where(moved & whole, np.rint(exact) + 0.0, exact)
        medians = np.where(moved, _tidy(exact, low, high, whole), self.medians)
        return Summary(low, high, whole, medians, exact)

    def outside(self, row: Array) -> Booleans:
        """(n_encoded,): where an encoded row is beyond all training rows."""
        return np.asarray((row < self.low) | (row > self.high))

    def content(self) -> dict[str, Any]:
        """As arrays, and the places of the columns of whole numbers."""
        return {
            "low": self.low,
            "high": self.high,
            "whole": np.flatnonzero(self.whole).tolist(),
            "medians": self.medians,
        }

    @classmethod
    def read(
        cls, read: Any, n_localities: int, n_encoded: int, known: dict[str, Any] | None = None
    ) -> Summary:
        """From what `content` gave, by the reader of a file; without what is `known` already."""
        if known is None:
            low, high = (read.array(name, (n_encoded,)) for name in ("low", "high"))
            places = read.integers("whole", len(read.sequence("whole")))
            if len(set(places)) < len(places) or max(places, default=-1) >= n_encoded:
                raise read.fail("whole", f"different numbers below {n_encoded}", places)
            whole = np.isin(np.arange(n_encoded), places)
            known = {"low": low, "high": high, "whole": whole}
        made = cls(**known, medians=read.array("medians", (n_localities + 1, n_encoded)))
        low, high = made.low, made.high
        for name, value in (("low", low), ("high", high)):
            if not (np.abs(value) <= LARGEST).all():
                raise read.fail(name, f"numbers within {LARGEST:g}", value.tolist())
        if not (low <= high).all():
            raise read.fail("low", "at most high", low.tolist())
        if any(made.outside(row).any() for row in made.medians):
            raise read.fail("medians", "between low and high", made.medians.tolist())
        read.done()
        return made


class _Order:
    """Rows in the order of each number, for medians of many sets of them."""

    def __init__(self, groups: tuple[Group, ...], encoded: Array, weight: Array) -> None:
        self.groups, self.encoded, self.weight = groups, encoded, weight
        self.sorted: dict[int, Integers] = {}
        for group in groups:
            if group.levels is None:
                values = encoded[:, group.columns.start]
                order = np.argsort(values, kind="stable")
                self.sorted[group.columns.start] = order[: len(order) - np.isnan(values).sum()]

    def median_row(self, inside: Booleans) -> Array:
        """A number that a row has, of two in the middle the lower one; of categories a level."""
        row = np.zeros(self.encoded.shape[1])
        for group in self.groups:
            if group.levels is None:
                row[group.columns.start] = self._median(group.columns.start, inside)
                continue
            columns, weight = self.encoded[inside, group.columns], self.weight[inside]
            counts = weight @ columns
            counts = np.concatenate([[weight.sum() - counts.sum()], counts])
            level = int(np.argmax(counts >= counts.max() * (1.0 - _ROUNDING)))
            if level:
                row[group.columns.start + level - 1] = 1.0
        return row

    def _median(self, column: int, inside: Booleans) -> float:
        order = self.sorted[column]
        order = order[inside[order]]
        if not len(order):
            return 0.0
        share = np.cumsum(self.weight[order])
        place = int(np.argmax(share >= 0.5 * share[-1] * (1.0 - _ROUNDING)))
        return float(self.encoded[order[place], column])


def _tidy(values: Array, low: Array, high: Array, whole: Booleans) -> Array:
    """Numbers that are not whole to some digits of the range."""
    return np.clip(np.where(whole, values, _round(values, high - low)), low, high)


def _is_whole(values: Array, slack: Any = 0.0) -> Booleans:
    return np.asarray(np.abs(values - np.rint(values)) <= slack + _WHOLE * (1.0 + np.abs(values)))


def _step(width: Array) -> Array:
    """The last digit that `_round` keeps; 0 where there is no width."""
    step = np.zeros(len(width))
    wide = width > 0
    step[wide] = 10.0 ** (np.floor(np.log10(width[wide])) - (_DIGITS - 1))
    return step


def _round(values: Array, width: Array) -> Array:
    """To some digits of these widths; where there is no width, not at all."""
    made = values.copy()
    for j in np.flatnonzero(width > 0):
        place = _DIGITS - 1 - floor(log10(width[j]))
        made[:, j] = [round(one, place) + 0.0 for one in values[:, j].tolist()]  # 0 for -0
    return made
