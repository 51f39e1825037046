"""Intervals of shares, means, ratios and differences: against published cases, and by coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from motlm.intervals import (
    Estimate,
    count_interval,
    difference,
    mean_of,
    overlapping_folds,
    quotient,
    ratio_of_sums,
    root_mean_square,
    share_of,
)


@pytest.mark.parametrize(("found", "total"), [(0, 7), (3, 10), (10, 10), (81, 263), (1, 29)])
def test_shares_have_the_interval_of_scipy(found: int, total: int) -> None:
    one = share_of(np.arange(total) < found, 0.95)
    theirs = stats.binomtest(found, total).proportion_ci(0.95, method="wilson")
    assert one.value == found / total
    assert (one.low, one.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert one.rows == total


def test_means_have_students_interval(rng: np.random.Generator) -> None:
    values = rng.normal(size=20)
    theirs = stats.ttest_1samp(values, 0.0).confidence_interval(0.9)
    one = mean_of(values, 0.9)
    assert (one.low, one.high) == pytest.approx((theirs.low, theirs.high))
    assert mean_of(values[:1], 0.9) == Estimate(float(values[0]), None, None, 1)
    assert mean_of(values[:0], 0.9).value is None
    root = root_mean_square(values, 0.9)
    assert root.value == pytest.approx(np.sqrt(np.mean(values**2)))
    assert root.low < root.value < root.high


@pytest.mark.parametrize("count", [0, 1, 10, 250])
def test_counts_have_garwoods_interval(count: int) -> None:
    low, high = count_interval(count, 0.95)
    assert stats.poisson.sf(count - 1, low) == pytest.approx(0.025 if count else 1.0)
    assert stats.poisson.cdf(count, high) == pytest.approx(0.025)


@pytest.mark.parametrize(  # of Newcombe's table II (1998), method 10
    ("first", "second", "low", "high"),
    [
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((6, 7), (2, 7), 0.0582, 0.8062),
        ((5, 56), (0, 29), -0.0381, 0.1926),
        ((10, 10), (0, 20), 0.6791, 1.0),
    ],
)
def test_differences_of_shares_are_newcombes(
    first: tuple[int, int], second: tuple[int, int], low: float, high: float
) -> None:
    one, other = (share_of(np.arange(n) < k, 0.95) for k, n in (first, second))
    gap = difference(one, other)
    assert (gap.low, gap.high) == pytest.approx((low, high), abs=6e-5)
    back = difference(other, one)
    assert (back.low, back.high) == pytest.approx((-high, -low), abs=6e-5)


def test_what_is_not_defined() -> None:
    some, none = share_of(np.ones(5, bool), 0.95), share_of(np.ones(0, bool), 0.95)
    zero = share_of(np.zeros(5, bool), 0.95)
    assert none.value is None
    assert difference(some, none).value is None
    assert quotient(some, none).value is None
    assert quotient(some, zero).value is None
    assert quotient(zero, some).value == 0.0
    assert ratio_of_sums(np.ones(3), np.zeros(3), 0.95).value is None
    assert overlapping_folds([0.1], 0.25, 0.95) == (None, None)


def test_quotients_cover() -> None:
    """Of 400 pairs of shares the 90 % interval of their ratio covers the true one about 360
    times.
    """
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(400):
        one, other = share_of(rng.random(150) < 0.3, 0.9), share_of(rng.random(200) < 0.4, 0.9)
        ratio = quotient(one, other)
        covered += ratio.low <= 0.75 <= ratio.high
    assert 340 <= covered <= 380


def test_ratios_of_sums_cover() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        below = rng.uniform(0.5, 2.0, size=200)
        above = rng.gamma(2.0, 0.6, size=200) * below
        one = ratio_of_sums(above, below, 0.9)
        covered += one.low <= 1.2 <= one.high
    assert 340 <= covered <= 380


def test_folds_that_overlap_have_wider_intervals() -> None:
    gaps = [0.02, 0.04, 0.03, 0.05, 0.01]
    theirs = stats.ttest_1samp(gaps, 0.0).confidence_interval(0.95)
    low, high = overlapping_folds(gaps, 0.0, 0.95)
    assert (low, high) == pytest.approx((theirs.low, theirs.high))
    low, high = overlapping_folds(gaps, 0.25, 0.95)  # (1/5 + 1/4) / (1/5) = 1.5^2
    assert high - low == pytest.approx(1.5 * (theirs.high - theirs.low))
