"""What a model stores of its training rows: hashes, by which they are recognized.

Hashes of rows that can be guessed can be guessed too: whoever has the model can test whether a
certain row was among them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from ._typing import AnyArray, Array, Booleans
from .rows import mix

__all__ = ["Fingerprint", "row_keys"]

SIZE = 4096  # hashes that are kept; of more rows those with the smallest ones, a random sample
_CHANCE = 1e-3  # of a false alarm, where rows repeat anyway
_DROPPED = 7  # last bits of a float32 that are rounded away: some five digits are looked at


def row_keys(X: Array, target: Array | None = None) -> AnyArray:
    """A 64-bit hash of each row, and of its target if given, to some five digits; always the same
    for the same numbers.
    """
    key = np.zeros(len(X), dtype=np.uint64)
    for j in range(X.shape[1] + (target is not None)):
        column = np.asarray(X[:, j] if j < X.shape[1] else target, dtype=np.float64)
        with np.errstate(over="ignore"):
            bits = (column.astype(np.float32) + np.float32(0.0)).view(
                np.uint32
            )  # + 0.0 turns -0.0 into 0.0
        bits = (bits + np.uint32(1 << (_DROPPED - 1))) >> np.uint32(_DROPPED)
        odd = mix(np.array([j + 1], dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) | np.uint64(1)
        key = mix((key ^ bits.astype(np.uint64)) * odd)
    return key


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """Hashes of rows, and how often rows are equal."""

    keys: AnyArray  # sorted; the smallest ones, if there are more than SIZE distinct rows
    n_rows: int
    n_distinct: int
    pairs: float  # of rows that are equal
    target_mean: float
    target_scale: float

    @classmethod
    def of(cls, X: Array, target: Array) -> Fingerprint:
        keys, counts = np.unique(row_keys(X, target), return_counts=True)
        return cls(
            keys[:SIZE],
            len(target),
            len(keys),
            float((counts * (counts - 1.0)).sum() / 2.0),
            float(np.mean(target)),
            float(np.std(target)),
        )

    def join(self, other: Fingerprint) -> Fingerprint:
        """Of the rows of both; mean and deviation of the target, and how often rows are equal, stay
        those of this one.
        """
        keys = np.union1d(self.keys, other.keys)
        whole = self.n_distinct <= SIZE and other.n_distinct <= SIZE
        distinct = len(keys) if whole else max(self.n_distinct, other.n_distinct, SIZE + 1)
        limit = min((one.keys[-1] for one in (self, other) if one.n_distinct > SIZE), default=None)
        if limit is not None:
            keys = keys[keys <= limit]
        return Fingerprint(
            keys[:SIZE],
            self.n_rows + other.n_rows,
            distinct,
            self.pairs,
            self.target_mean,
            self.target_scale,
        )

    def recognize(self, keys: AnyArray) -> tuple[Booleans, Booleans]:
        """Which rows were among these, and for which rows that can be checked: where hashes were
        left out, only for those up to the largest that is stored.
        """
        all_kept = self.n_distinct == len(self.keys)
        checkable = (
            np.ones(len(keys), dtype=bool) if all_kept else np.asarray(keys <= self.keys[-1])
        )
        return np.isin(keys, self.keys) & checkable, checkable

    def coincidences(self, keys: AnyArray, n_checkable: int) -> int:
        """How many of so many fresh rows may equal one of these by chance, from how often rows are
        equal in both tables.
        """
        counts = np.unique(keys, return_counts=True)[1]
        possible = self.n_rows * (self.n_rows - 1.0) / 2.0 + len(keys) * (len(keys) - 1.0) / 2.0
        equal = self.pairs + float((counts * (counts - 1.0)).sum() / 2.0)
        if equal == 0.0 or n_checkable == 0:
            return 0
        return int(binom.isf(_CHANCE, n_checkable, -np.expm1(-self.n_rows * equal / possible)))

    def same_rows(self, keys: AnyArray) -> bool:
        """Whether these are the rows, all of them and no others."""
        distinct = np.unique(keys)
        return (
            len(keys) == self.n_rows
            and len(distinct) == self.n_distinct
            and np.array_equal(distinct[:SIZE], self.keys)
        )
