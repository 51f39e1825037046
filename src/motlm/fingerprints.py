"""What a model stores of its training rows: hashes, by which they are recognized.

Hashes of rows that can be guessed can be guessed too: whoever has the model can test whether a
certain row was among them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv
from scipy.stats import binom

from ._typing import AnyArray, Array, Booleans, Integers
from .repeats import count_pairs, group_equal, pairs_of
from .sketches import Sketch, hash_column

__all__ = ["Fingerprint", "describe_found", "five_digits", "one_of_equal", "row_keys"]

SIZE = 4096  # hashes that are kept; of more rows those with the smallest ones, a random sample
SKETCHES = 4  # tables of which near-copies are recognized: the last ones that were joined
_CHANCE = 1e-5  # of a false alarm, where rows repeat anyway
_MARGIN = 1e-4  # probability that rows repeat more often than is assumed from their pairs
_FEW = 30  # rows, of which chance explains nothing with certainty
_KINDS = 10  # rows of each kind, on average, of a table of so few kinds that all may occur again
_COPIES = 1e-4  # probability of taking independent rows for near-copies
_RARE = 1e-3  # equal rows that may be expected of columns whose rows cannot be equal by chance
_DROPPED = 7  # last bits of a float32 that are rounded away: some five digits are looked at
_RESOLVED = 1e-4  # probability that two numbers of more digits agree in those


def row_keys(X: Array, target: Array | None = None) -> AnyArray:
    """A 64-bit hash of each row, and of its target if given, to some five digits; always the same
    for the same numbers.
    """
    key = np.zeros(len(X), dtype=np.uint64)
    for j in range(X.shape[1] + (target is not None)):
        key = hash_column(key, five_digits(X[:, j] if j < X.shape[1] else target), j)
    return key


def five_digits(column: Array | None) -> AnyArray:
    """Some five digits of numbers, as bits."""
    with np.errstate(over="ignore", under="ignore"):
        single = np.asarray(column, dtype=np.float64).astype(np.float32)
    bits = (single + np.float32(0.0)).view(np.uint32)  # + 0.0 turns -0.0 into 0.0
    return ((bits + np.uint32(1 << (_DROPPED - 1))) >> np.uint32(_DROPPED)).astype(np.uint64)


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """Hashes of rows, and how often rows are equal."""

    keys: AnyArray  # sorted; the smallest ones, if there are more than SIZE distinct rows
    n_rows: int
    n_distinct: int
    pairs: float  # of rows that are equal
    target_mean: float
    target_scale: float
    sketches: tuple[Sketch, ...] = ()  # none in files of before schema 4

    @classmethod
    def of(cls, X: Array, target: Array) -> Fingerprint:
        every = row_keys(X, target)
        keys, counts = np.unique(every, return_counts=True)
        return cls(
            keys[:SIZE],
            len(target),
            len(keys),
            pairs_of(counts),
            float(np.mean(target)),
            float(np.std(target)),
            (Sketch.of(X, target, every),),
        )

    def join(self, other: Fingerprint) -> Fingerprint:
        """Of the rows of both; mean and deviation of the target, and how often rows are equal, stay
        those of this one. Near-copies are recognized of the last tables.
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
            _unite(self.sketches, other.sketches),
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

    def coincidences(self, keys: AnyArray, X: Array, target: Array, n_checkable: int) -> int:
        """How many of so many fresh rows, with these hashes, may equal one of these by chance.

        A fresh row equals one of n rows with probability n sum_c p_c q_c at most, and that is at
        most n sqrt(sum_c p_c^2 sum_c q_c^2), whose sums are how often two rows of one table are
        equal. Where no two are, it may still happen, unless the columns have too many digits.
        """
        if n_checkable == 0:
            return 0
        pairs = count_pairs(keys)
        if pairs == self.pairs == 0.0 and self.n_rows * _expect_equal(X, target) < _RARE:
            return 0
        rates = _equal_rate(self.pairs, self.n_rows) * _equal_rate(pairs, len(X))
        return int(binom.isf(_CHANCE, n_checkable, min(1.0, self.n_rows * np.sqrt(rates))))

    def is_chance(self, keys: AnyArray, X: Array, target: Array) -> bool:
        """Whether no more of these rows, with their hashes, equal one of those than chance
        explains.
        """
        known, checkable = self.recognize(keys)
        explained = self.coincidences(keys, X, target, int(checkable.sum()))
        if int(known.sum()) > explained or self.is_contained(keys):
            return False
        matches = [one for sketch in self.sketches for one in sketch.compare(X, target)]
        return not any(one.chance < _COPIES / len(matches) for one in matches)

    def describe(self, X: Array, target: Array) -> tuple[int, list[str]]:
        """How many of some rows equal one of these, and a note on them for their readers."""
        keys = row_keys(X, target)
        known, checkable = self.recognize(keys)
        found, n_checkable = int(known.sum()), int(checkable.sum())
        if not found:
            return 0, []
        some = describe_found(found, len(keys), n_checkable)
        if self.is_chance(keys, X, target):
            equal = "equals" if found == 1 else "equal"
            text = f"{some} {equal} a row used for fitting"
            repeat = self.pairs > 0 and len(keys) >= _FEW
            if repeat:  # rows that were not used for fitting are equal as well
                return found, [f"{text}, as many as chance explains in such a table."]
            return found, [
                f"{text}. Predictions on such rows look better than they are, unless they are other"
                " cases that are equal by chance."
            ]
        was = "was" if found == 1 else "were"
        return found, [
            f"{some} {was} used for fitting, on which predictions look better than they are."
        ]

    def same_rows(self, keys: AnyArray) -> bool:
        """Whether these are the rows, all of them and no others."""
        distinct = np.unique(keys)
        return (
            len(keys) == self.n_rows
            and len(distinct) == self.n_distinct
            and np.array_equal(distinct[:SIZE], self.keys)
        )

    def is_contained(self, keys: AnyArray) -> bool:
        """Whether these are the rows, or a table of up to twice as many that has all of them,
        though they are of many kinds.
        """
        many = len(self.keys) >= _FEW and self.n_rows < _KINDS * self.n_distinct
        small = len(keys) <= 2 * self.n_rows
        return self.same_rows(keys) or (many and small and bool(np.isin(self.keys, keys).all()))


def describe_found(found: int, n_rows: int, n_checkable: int) -> str:
    """How many rows were found: a number, or a share where only some rows could be looked for."""
    if n_checkable == n_rows:
        return f"{found} of the {n_rows} rows"
    share = 100.0 * found / n_checkable
    words = f"about {share:.0f} %" if share >= 1.0 else "less than 1 %"
    return f"{words} of the {n_rows} rows ({found} of the {n_checkable} that can be looked for)"


def one_of_equal(X: Array, target: Array) -> Booleans:
    """The first row of each case: all rows, but for copies where chance does not explain them."""
    groups = group_equal(_codes(X, target))
    first = np.zeros(len(groups), dtype=bool)
    first[np.unique(groups, return_index=True)[1]] = True
    return first


def _codes(X: Array, target: Array) -> list[Integers]:
    columns = [*np.asarray(X).T, np.asarray(target)]
    return [np.unique(five_digits(one), return_inverse=True)[1] for one in columns]


def _equal_rate(pairs: float, n_rows: int) -> float:
    """How often two rows are equal, with a margin for few pairs."""
    possible = n_rows * (n_rows - 1.0) / 2.0
    return min(1.0, float(gammaincinv(pairs + 1.0, 1.0 - _MARGIN)) / possible) if possible else 1.0


def _expect_equal(X: Array, target: Array) -> float:
    """The number of these rows to expect that equal another row, from how often numbers of each
    column agree. Columns of few values may depend on each other, and count by half.
    """
    n_rows, logarithm = len(X), float(np.log(len(X)))
    for j in range(X.shape[1] + 1):
        column = np.asarray(X[:, j] if j < X.shape[1] else target, dtype=np.float64)
        counts = np.unique(five_digits(column), return_counts=True)[1]
        rate = (pairs_of(counts) + 1.0) / max(n_rows * (n_rows - 1.0) / 2.0, 1.0)
        many = 2 * len(counts) > n_rows
        if many and _has_more_digits(column):
            rate = min(rate, _RESOLVED)
        logarithm += min(0.0, float(np.log(rate))) * (1.0 if many else 0.5)
    return float(np.exp(logarithm))


def _has_more_digits(column: Array) -> bool:
    """Whether most numbers have more digits than are looked at."""
    with np.errstate(all="ignore"):
        size = 10.0 ** (np.floor(np.log10(np.abs(column))) - 4.0)
        rest = np.abs(column - np.rint(column / size) * size)
    return bool(2 * (rest > 1e-3 * size).sum() > len(column))


def _unite(first: tuple[Sketch, ...], second: tuple[Sketch, ...]) -> tuple[Sketch, ...]:
    """Those of both, each once; the first ones if there are more than are kept."""
    made: list[Sketch] = []
    for one in (*first, *second):
        if not any(one.equals(other) for other in made):
            made.append(one)
    return tuple(made[:SKETCHES])
