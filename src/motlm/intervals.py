"""Intervals of shares, means, counts and ratios, and of the differences between two of them.

Each holds with about the stated confidence for independent rows; those of certificates hold without
approximations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtri, ndtri, stdtrit

from ._typing import Array

__all__ = [
    "Estimate",
    "count_interval",
    "difference",
    "mean_of",
    "overlapping_folds",
    "quotient",
    "ratio_of_sums",
    "root_mean_square",
    "share_of",
]


@dataclass(frozen=True)
class Estimate:
    """A number computed from some rows, and its interval.

    Attributes
    ----------
    value, low, high : float or None
        None where it is not defined: of no rows, or the ends of a mean of one.
    rows : int
        That it was computed from.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    rows: int = 0

    def to_dict(self) -> dict[str, Any]:
        return {"value": self.value, "low": self.low, "high": self.high, "rows": self.rows}


def share_of(found: Array, confidence: float) -> Estimate:
    """The share of rows for which something is true, with Wilson's interval (1927).

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.intervals import share_of
    >>> one = share_of(np.arange(10) < 3, 0.95)
    >>> one.value, round(one.low, 3), round(one.high, 3)
    (0.3, 0.108, 0.603)
    """
    n = len(found)
    if not n:
        return Estimate(None)
    share, z = float(np.mean(found)), float(ndtri(0.5 + confidence / 2.0))
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    low = 0.0 if share == 0 else float(middle - reach)
    high = 1.0 if share == 1 else float(middle + reach)
    return Estimate(share, low, high, n)


def mean_of(values: Array, confidence: float) -> Estimate:
    """A mean, with Student's interval."""
    n = len(values)
    if n < 2:
        return Estimate(float(values[0]) if n else None, rows=n)
    mean, reach = float(np.mean(values)), _reach(values, confidence)
    return Estimate(mean, mean - reach, mean + reach, n)


def root_mean_square(values: Array, confidence: float) -> Estimate:
    """The root of the mean square, with the roots of that mean's interval."""
    found = mean_of(np.asarray(values) ** 2, confidence)
    value, low, high = (
        None if one is None else max(one, 0.0) ** 0.5
        for one in (found.value, found.low, found.high)
    )
    return Estimate(value, low, high, found.rows)


def ratio_of_sums(above: Array, below: Array, confidence: float) -> Estimate:
    """sum(above) / sum(below), with the interval of the mean of its residuals (delta method)."""
    n = len(above)
    if not n or not np.sum(below) > 0:
        return Estimate(None, rows=n)
    ratio = float(np.sum(above) / np.sum(below))
    if n < 2:
        return Estimate(ratio, rows=n)
    reach = _reach(above - ratio * below, confidence) / float(np.mean(below))
    return Estimate(ratio, ratio - reach, ratio + reach, n)


def _reach(values: Array, confidence: float) -> float:
    """Half the width of Student's interval of a mean."""
    n = len(values)
    return float(stdtrit(n - 1, 0.5 + confidence / 2.0) * np.std(values, ddof=1) / np.sqrt(n))


def count_interval(count: Any, confidence: float) -> Array:
    """(.., 2): ends of the interval of the mean of a Poisson variable (Garwood, 1936).

    Examples
    --------
    >>> from motlm.intervals import count_interval
    >>> count_interval([0, 10], 0.95).round(3)
    array([[ 0.   ,  3.689],
           [ 4.795, 18.39 ]])
    """
    count, tail = np.asarray(count, dtype=float), (1.0 - confidence) / 2.0
    low = chdtri(2 * np.maximum(count, 1.0), 1.0 - tail) / 2
    high = chdtri(2 * count + 2, tail) / 2
    return np.stack([np.where(count > 0, low, 0.0), high], axis=-1)


def difference(first: Estimate, second: Estimate) -> Estimate:
    """first - second of independent rows, with the interval that follows from theirs (Zou and
    Donner, 2008; of Wilson's intervals that is Newcombe's, 1998).

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.intervals import difference, share_of
    >>> shares = share_of(np.arange(70) < 56, 0.95), share_of(np.arange(80) < 48, 0.95)
    >>> gap = difference(*shares)  # Newcombe's own example
    >>> round(gap.value, 4), round(gap.low, 4), round(gap.high, 4)
    (0.2, 0.0524, 0.3339)
    """
    rows = first.rows + second.rows
    if first.value is None or second.value is None:
        return Estimate(None, rows=rows)
    gap = first.value - second.value
    if first.low is None or first.high is None or second.low is None or second.high is None:
        return Estimate(gap, rows=rows)
    down = np.hypot(first.value - first.low, second.high - second.value)
    up = np.hypot(first.high - first.value, second.value - second.low)
    return Estimate(gap, float(gap - down), float(gap + up), rows)


def quotient(first: Estimate, second: Estimate) -> Estimate:
    """first / second of independent rows, both at least 0: the difference of their logarithms."""
    rows = first.rows + second.rows
    if first.value is None or not second.value:
        return Estimate(None, rows=rows)
    ratio = first.value / second.value
    if not first.value or first.low is None or second.low is None:
        return Estimate(ratio, rows=rows)
    found = difference(_logarithm(first), _logarithm(second))
    low, high = np.exp([found.low or 0.0, found.high or 0.0])
    return Estimate(ratio, float(low), float(high) if np.isfinite(high) else None, rows)


def _logarithm(one: Estimate) -> Estimate:
    with np.errstate(divide="ignore"):
        value, low, high = np.log([max(end or 0.0, 0.0) for end in (one.value, one.low, one.high)])
    return Estimate(float(value), float(low), float(high))


def overlapping_folds(
    gaps: Sequence[float], test_over_train: float, confidence: float
) -> tuple[float | None, float | None]:
    """Ends of the interval of the mean of differences over folds whose training rows overlap.

    The variance of the mean is (1 / J + test / train rows) times that of the J differences (Nadeau
    and Bengio, 2003), since differences of folds that share training rows are correlated; Student's
    quantile has J - 1 degrees of freedom. None of fewer than two folds.

    Examples
    --------
    >>> from motlm.intervals import overlapping_folds
    >>> low, high = overlapping_folds([0.02, 0.04, 0.03, 0.05, 0.01], 0.25, 0.95)
    >>> round(low, 4), round(high, 4)
    (0.0006, 0.0594)
    """
    count = len(gaps)
    if count < 2:
        return None, None
    spread = np.sqrt((1.0 / count + test_over_train) * np.var(gaps, ddof=1))
    mean = float(np.mean(gaps))
    reach = float(stdtrit(count - 1, 0.5 + confidence / 2.0) * spread)
    return mean - reach, mean + reach
