"""Equal rows of a table: whether they are more than chance explains, as where cases were recorded
twice.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import poisson

from ._typing import AnyArray, Integers

__all__ = ["add_marks", "count_pairs", "group_equal", "in_order", "marks_of", "pairs_of"]

_CHANCE = 1e-2  # probability of taking equal rows for copies where chance explains them
_MANY = 10  # copies of each row, on average, in a table of a few kinds of cases
_MARGIN = 2.0  # by which columns may depend on each other more than is assumed


def group_equal(codes: list[Integers]) -> Integers:
    """Which rows are one case: the group of each row, from 0, in order of appearance; each row by
    itself where chance explains how many are equal.

    Parameters
    ----------
    codes : list of ndarray of int, each (n_rows,)
        Of each column, numbers from 0 that are equal where its values are.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.repeats import group_equal
    >>> group_equal([np.array([0, 1, 2, 3, 1, 4]), np.array([5, 0, 1, 2, 0, 4])])
    array([0, 1, 2, 3, 1, 4])
    """
    marks = marks_of(codes)
    every, n_rows = add_marks(marks), len(codes[0])
    equal, common = count_pairs(every), _MANY * len(np.unique(every)) <= n_rows
    if not equal or common or equal <= _explained(every, marks, codes):
        return np.arange(n_rows)
    return in_order(every)


def marks_of(codes: list[Integers]) -> list[AnyArray]:
    """Of each column a random number for each value."""
    rng = np.random.default_rng(0)
    return [rng.integers(2**64, size=len(one), dtype=np.uint64)[one] for one in codes]


def add_marks(marks: list[AnyArray]) -> AnyArray:
    """The hash of each row, from which the mark of a column can be subtracted."""
    return np.asarray(np.sum(marks, axis=0, dtype=np.uint64))


def count_pairs(keys: AnyArray) -> float:
    """Pairs of equal ones."""
    return pairs_of(np.unique(keys, return_counts=True)[1])


def pairs_of(counts: AnyArray) -> float:
    """Pairs of equal ones, from how many of each there are."""
    return float((counts * (counts - 1.0)).sum() / 2.0)


def _explained(every: AnyArray, marks: list[AnyArray], codes: list[Integers]) -> float:
    """The number of pairs of equal rows that chance may give."""
    n_rows, equal = len(every), count_pairs(every)
    possible, most = n_rows * (n_rows - 1.0) / 2.0, 0.0
    for mark, code in zip(marks, codes, strict=True):
        agreeing = count_pairs(code)
        rate = np.sqrt(agreeing / possible)
        if 2 * len(np.unique(code)) > n_rows:  # mostly different values: by copies alone, perhaps
            rate = (agreeing - equal + 1.0) / possible
        if rate < 1.0:
            most = max(most, (count_pairs(every - mark) - equal) * rate / (1.0 - rate))
    return float(poisson.isf(_CHANCE, _MARGIN * most)) if most > 0 else 0.0


def in_order(values: AnyArray) -> Integers:
    """Equal values as one number, from 0, in order of appearance."""
    _, first, where = np.unique(values, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[where.ravel()])
