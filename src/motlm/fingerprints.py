"""What a model remembers of the rows it was fitted on: enough to know them again, not enough to tell them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from ._typing import AnyArray, Array, Booleans
from .rows import mixed

__all__ = ["Fingerprint", "row_keys"]

SIZE = 4096  # hashes that are kept; of more rows those with the smallest ones, a random sample
_CHANCE = 1e-3  # of a false alarm, where rows repeat anyway


def row_keys(X: Array, target: Array) -> AnyArray:
    """A 64-bit hash of each row and its target; always the same for the same numbers."""
    key = np.zeros(len(X), dtype=np.uint64)
    for j in range(X.shape[1] + 1):
        column = np.asarray(X[:, j] if j < X.shape[1] else target, dtype=np.float64) + 0.0  # + 0.0 turns -0.0 into 0.0
        odd = mixed(np.array([j + 1], dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) | np.uint64(1)
        key = mixed((key ^ column.view(np.uint64)) * odd)
    return key


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """Hashes of training rows, and how much the rows repeat themselves."""

    keys: AnyArray  # sorted; the smallest ones, if there are more than SIZE distinct rows
    n_rows: int
    n_distinct: int
    repeated: float  # share of the rows that have an equal among them
    target_mean: float
    target_scale: float

    @classmethod
    def of(cls, X: Array, target: Array) -> Fingerprint:
        keys, counts = np.unique(row_keys(X, target), return_counts=True)
        return cls(
            keys[:SIZE],
            len(target),
            len(keys),
            float(counts[counts > 1].sum() / len(target)),
            float(np.mean(target)),
            float(np.std(target)),
        )

    def known(self, keys: AnyArray) -> tuple[Booleans, Booleans]:
        """Which rows were among the training rows, as far as that can be told, and for which it can."""
        all_kept = self.n_distinct == len(self.keys)
        told = np.ones(len(keys), dtype=bool) if all_kept else np.asarray(keys <= self.keys[-1])
        return np.isin(keys, self.keys) & told, told

    def coincidences(self, n_rows: int) -> int:
        """How many of so many fresh rows may equal a training row by chance, since rows repeat themselves."""
        return int(binom.isf(_CHANCE, n_rows, min(self.repeated, 1.0))) if self.repeated and n_rows else 0

    def same_rows(self, keys: AnyArray) -> bool:
        """Whether these are the training rows, all of them and no others."""
        distinct = np.unique(keys)
        return len(keys) == self.n_rows and len(distinct) == self.n_distinct and np.array_equal(distinct[:SIZE], self.keys)
