"""Near-copies of rows: hashes of the rows on grids of several resolutions.

Rows that were rounded or slightly perturbed fall into the cells of the rows that they were made
from. So do fresh rows, by chance; how often, cells that hold several rows tell. If the two tables
are independent, and their rows fall into a cell at the rates a and b, then of t >= 2 rows exactly
one is of the first table with probability t p (1 - p)^(t - 1) <= 1/2, p = a / (a + b), whatever the
rates are: equal populations or shifted ones, continuous columns or rows that repeat. So the number
of such cells is at most Binomial(cells, 1/2) by chance, while copies put one row of each table, or
one of the first and several of the second, into nearly all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.stats import binom

from ._typing import AnyArray, Array, Booleans
from .rows import mix

__all__ = ["DECIMALS", "KEPT", "STEPS", "Level", "Match", "Sketch", "hash_column"]

KEPT = 1024  # cells that are kept of a level; of more those with the smallest hashes
DECIMALS = tuple(range(6))  # grids of 1, 0.1, ..., as a file with so many decimals has
# Grids relative to the deviation of each column. No round numbers: edges of cells should not meet
# values such as 0.5, which columns of few values consist of.
STEPS = (1.9, 0.57, 0.17, 0.057, 0.017, 0.0017, 0.00017)
BITS = 48  # of a hash
_MANY = 3  # counts are kept up to this
_ROWS = 2**16  # rows that are sketched; of more a random sample
_BLOCK = 2**14  # rows at a time
_COLUMNS = 64  # that are looked at: with more of them, noise moves some column of every row
_TRIED = 1000  # rows by which they are chosen


def hash_column(key: AnyArray, bits: AnyArray, j: int) -> AnyArray:
    """Hashes of rows up to column j, from those up to the column before."""
    return mix((key ^ bits) * _odd(j))


@cache
def _odd(j: int) -> np.uint64:
    odd = mix(np.array([j + 1], dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    return np.uint64(odd[0] | np.uint64(1))


@dataclass(frozen=True, eq=False)
class Match:
    """What two tables have in common on one grid."""

    level: Level
    known: Booleans  # rows that share a cell with a sketched row
    n_checkable: int  # rows whose cell would have been kept
    mixed: tuple[int, ...]  # cells with rows of both tables, and one row of a certain table
    several: tuple[int, ...]  # cells of several rows among which these are

    @property
    def chance(self) -> float:
        """A bound on the probability of so many mixed cells in independent tables."""
        tails = binom.sf(np.array(self.mixed) - 1, self.several, 0.5)
        return min(1.0, len(tails) * float(tails.min()))

    @property
    def found(self) -> int:
        return int(self.known.sum())


@dataclass(frozen=True, eq=False)
class Level:
    """The cells of one grid that rows fall into."""

    decimals: int | None  # of a grid that is the same for all columns
    step: float | None  # of one in deviations of each column
    keys: AnyArray  # hashes of the cells, increasing
    counts: AnyArray  # rows in each: 1, 2, or 3 for more
    n_cells: int  # of which the keys are the smallest

    @property
    def words(self) -> str:
        """The resolution."""
        if self.decimals is None:
            return f"to {100.0 * (self.step or 0.0):.3g} % of the deviation of each column"
        if self.decimals == 0:
            return "to whole numbers"
        return f"to {self.decimals} decimal{'s' if self.decimals > 1 else ''}"

    def compare(self, keys: AnyArray) -> Match:
        """Other rows with these, by the hashes of their cells."""
        checkable = np.ones(len(keys), dtype=bool)
        if self.n_cells > len(self.keys):
            checkable = np.asarray(keys <= self.keys[-1])
        cells, counts = np.unique(keys[checkable], return_counts=True)
        every = np.union1d(self.keys, cells)
        before, after = np.zeros(len(every), dtype=int), np.zeros(len(every), dtype=int)
        before[np.searchsorted(every, self.keys)] = self.counts
        after[np.searchsorted(every, cells)] = counts
        both, total = (before > 0) & (after > 0), before + after
        mixed = (both & (total == 2), both & (before == 1), both & (after == 1))
        several = (total == 2, total >= 2, total >= 2)
        return Match(
            self,
            checkable & np.isin(keys, self.keys),
            int(checkable.sum()),
            tuple(int(one.sum()) for one in mixed),
            tuple(int(one.sum()) for one in several),
        )


@dataclass(frozen=True, eq=False)
class Sketch:
    """Hashes of rows on several grids."""

    scale: Array  # (n_columns + 1,): deviations, that of the target last; 0 of one that is left out
    levels: tuple[Level, ...]

    @classmethod
    def of(cls, X: Array, target: Array, order: AnyArray) -> Sketch:
        """Of the rows; of many, those that are first in the order of some hashes of them."""
        if len(X) > _ROWS:
            part = order <= np.partition(order, _ROWS)[_ROWS]
            X, target, order = X[part], target[part], order[part]
        scale = _scales(X, target, order)
        levels: list[Level] = []
        for decimals, step in _grids():
            keys, counts = np.unique(_cells(X, target, scale, decimals, step), return_counts=True)
            kept, held = keys[:KEPT], np.minimum(counts[:KEPT], _MANY).astype(np.uint8)
            if any(np.array_equal(one.keys, kept) for one in levels):
                continue  # nothing changes from one grid to the next
            levels.append(Level(decimals, step, kept, held, len(keys)))
        return cls(scale, tuple(levels) if scale.any() else ())

    def compare(self, X: Array, target: Array) -> Iterator[Match]:
        """Other rows with these, on each grid."""
        for one in self.levels:
            yield one.compare(_cells(X, target, self.scale, one.decimals, one.step))

    def equals(self, other: Sketch) -> bool:
        return (
            np.array_equal(self.scale, other.scale)
            and len(self.levels) == len(other.levels)
            and all(
                np.array_equal(one.keys, another.keys)
                for one, another in zip(self.levels, other.levels, strict=True)
            )
        )


def _grids() -> Iterator[tuple[int | None, float | None]]:
    for decimals in DECIMALS:
        yield decimals, None
    for step in STEPS:
        yield None, step


def _scales(X: Array, target: Array, order: AnyArray) -> Array:
    """Deviations; 0 of constant columns, and of those that tell rows apart least if there are
    many.
    """
    d = X.shape[1]
    scale = np.array([_deviation(X[:, j]) for j in range(d)] + [_deviation(target)])
    used = np.flatnonzero(scale[:d])
    if len(used) > _COLUMNS:
        some = np.argsort(order)[:_TRIED]
        agree = [_agreement(X[some, j] / scale[j]) for j in used.tolist()]
        scale[used[np.argsort(agree, kind="stable")[_COLUMNS:]]] = 0.0
    return scale


def _agreement(column: Array) -> float:
    """How often two numbers of a standardized column fall into one cell."""
    counts = np.unique(np.rint(column / STEPS[1]), return_counts=True)[1]
    return float((counts / counts.sum()) @ (counts / counts.sum()))


def _deviation(column: Array) -> float:
    """To three digits; 0 where it is too small to divide it."""
    column = np.asarray(column, dtype=np.float64)
    column = column[np.isfinite(column)]
    largest = float(np.abs(column).max(initial=0.0))
    if largest < 1e-290:
        return 0.0
    deviation = float(np.std(column / largest)) * largest
    return float(f"{deviation:.3g}") if deviation > 1e-12 * largest else 0.0


def _cells(
    X: Array, target: Array, scale: Array, decimals: int | None, step: float | None
) -> AnyArray:
    """A hash of the cell that each row lies in."""
    keys = np.zeros(len(X), dtype=np.uint64)
    used = np.flatnonzero(scale)
    inside = used[used < X.shape[1]]
    for start in range(0, len(X), _BLOCK):
        part = slice(start, start + _BLOCK)
        values = np.empty((len(used), len(keys[part])))
        values[: len(inside)] = X[part][:, inside].T
        if len(inside) < len(used):
            values[-1] = target[part]
        _round(values, scale[used], decimals, step)
        key = keys[part]
        for j, column in zip(used.tolist(), values.view(np.uint64), strict=True):
            key = hash_column(key, column, j)
        keys[part] = key >> np.uint64(64 - BITS)
    return keys


def _round(values: Array, scale: Array, decimals: int | None, step: float | None) -> None:
    """To a grid, in place; each column of a table is a row here."""
    with np.errstate(all="ignore"):
        if decimals is not None:  # values, which hash alike where nothing is rounded
            values *= 10.0**decimals
            np.rint(values, out=values)
            values /= 10.0**decimals
        elif step is not None:
            values /= (scale * step)[:, None]
            np.rint(values, out=values)
        values += 0.0  # turns -0.0 into 0.0
    values[np.isnan(values)] = np.nan  # of which there are many in bits
