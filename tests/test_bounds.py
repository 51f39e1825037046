"""The bounds against arbitrary precision, their laws, and how often they hold."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.stats import binom

from motlm import bounds

mpmath.mp.dps = 50


def exact_kl(q: float, p: float) -> mpmath.mpf:
    q, p = mpmath.mpf(q), mpmath.mpf(p)
    first = q * mpmath.log(q / p) if q else mpmath.mpf(0)
    second = (1 - q) * mpmath.log((1 - q) / (1 - p)) if q < 1 else mpmath.mpf(0)
    return first + second


@pytest.mark.parametrize("q", [0.0, 1e-9, 0.01, 0.3, 0.5, 0.97, 1 - 1e-9, 1.0])
@pytest.mark.parametrize("gap", [0.0, 1e-9, 1e-5, 1e-3, 0.02, 0.3])
def test_kl_to_full_precision(q: float, gap: float) -> None:
    for p in (q + gap * (1 - q), q - gap * q):
        if 0 < p < 1:
            exact = exact_kl(q, p)
            assert (
                float(abs(mpmath.mpf(float(bounds.binary_kl(q, p))) - exact))
                <= 1e-13 * float(exact) + 1e-30
            )


def test_kl_at_the_edges() -> None:
    np.testing.assert_array_equal(
        bounds.binary_kl([0.0, 1.0, 0.5, 0.5, 0.3], [0.0, 1.0, 0.0, 1.0, 0.3]),
        [0, 0, np.inf, np.inf, 0],
    )


@pytest.mark.parametrize("q", [0.0, 1e-6, 0.02, 0.3, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("c", [1e-10, 1e-6, 1e-3, 0.05, 0.7, 5.0])
def test_inverse_against_mpmath(q: float, c: float) -> None:
    found = bounds.binary_kl_inverse(q, c)
    if found < 1:
        low, high = mpmath.mpf(q), mpmath.mpf(1)
        for _ in range(120):
            middle = (low + high) / 2
            low, high = (middle, high) if exact_kl(q, middle) <= c else (low, middle)
        assert abs(float(low - mpmath.mpf(float(found)))) <= 1e-12
    else:
        assert exact_kl(q, 1 - mpmath.mpf(10) ** -15) < c


def test_laws_of_the_inverse(rng: np.random.Generator) -> None:
    q, c = rng.uniform(size=500), rng.exponential(0.3, size=500)
    p = bounds.binary_kl_inverse(q, c)
    assert (p >= q).all()
    assert (p <= q + np.sqrt(c / 2) + 1e-15).all()  # Pinsker
    assert (bounds.binary_kl_inverse(q, 1.1 * c) >= p).all()
    inside = p < 1 - 1e-6
    np.testing.assert_allclose(bounds.binary_kl(q, p)[inside], c[inside], rtol=1e-9)
    np.testing.assert_allclose(bounds.binary_kl_inverse(0.0, c), -np.expm1(-c), rtol=1e-14)
    np.testing.assert_array_equal(bounds.binary_kl_inverse([1.0, 0.4], [0.5, np.inf]), 1.0)
    np.testing.assert_array_equal(bounds.binary_kl_inverse([0.2, 0.7], 0.0), [0.2, 0.7])


@pytest.mark.parametrize("m", [1, 2, 5, 29, 30, 31, 200])
def test_xi_is_the_sum(m: int) -> None:
    total = mpmath.mpf(0)
    for k in range(m + 1):
        share = mpmath.mpf(k) / m
        total += mpmath.binomial(m, k) * share**k * (1 - share) ** (m - k)
    assert float(abs(total - mpmath.mpf(float(bounds.xi(m)))) / total) < 1e-13


def test_xi_of_many_rows() -> None:
    m = np.array([1e3, 1e5, 1e7, 1e9])
    values = bounds.xi(m)
    exact = [
        mpmath.exp(mpmath.mpf(k) + mpmath.loggamma(k + 1) - k * mpmath.log(k))
        * mpmath.gammainc(k + 1, k, regularized=True)
        for k in (1000, 100_000)
    ]
    np.testing.assert_allclose(values[:2], [float(one) for one in exact], rtol=1e-12)
    np.testing.assert_allclose(
        values, np.sqrt(np.pi * m / 2) + 2 / 3, rtol=1e-3
    )  # the first terms of its expansion
    assert (values <= 2 * np.sqrt(m)).all()


def test_monotone() -> None:
    """More divergence or confidence loosens a bound, more rows tighten it; no bound is below the
    empirical risk.
    """
    for bound in (bounds.pac_bayes_kl, lambda *a: bounds.catoni(*a, 1.5)):
        assert (np.diff(bound(0.1, np.linspace(0, 40, 9), 500, 0.05)) > 0).all()
        assert (np.diff(bound(0.1, 5.0, np.array([100, 200, 400, 10_000]), 0.05)) < 0).all()
        assert (np.diff(bound(0.1, 5.0, 500, np.array([0.2, 0.05, 0.001]))) > 0).all()
        assert (np.diff(bound(np.array([0.0, 0.1, 0.3, 0.6]), 5.0, 500, 0.05)) > 0).all()
        assert bound(0.2, 0.0, 10**9, 0.05) >= 0.2 - 1e-12
    assert bounds.pac_bayes_kl(0.1, 5.0, 500, 0.05, prior_mass=0.25) > bounds.pac_bayes_kl(
        0.1, 5.0, 500, 0.05
    )
    assert (np.diff(bounds.clopper_pearson(np.arange(11), 10, 0.05)) > 0).all()


def test_catoni_by_hand() -> None:
    value = (1 - np.exp(-2 * 0.1 - (3 + np.log(20)) / 100)) / (1 - np.exp(-2))
    assert bounds.catoni(0.1, 3.0, 100, 0.05, 2.0) == pytest.approx(value, rel=1e-14)
    assert bounds.catoni(0.9, 300.0, 100, 0.05, 2.0) > 1.0


@pytest.mark.parametrize("p", [0.003, 0.1, 0.5, 0.98])
def test_clopper_pearson_covers(p: float) -> None:
    """Exactly, over all outcomes of the draw."""
    k = np.arange(41)
    fails = bounds.clopper_pearson(k, 40, 0.05) < p
    assert binom.pmf(k, 40, p)[fails].sum() <= 0.05
    assert bounds.clopper_pearson(0, 29, 0.05) == pytest.approx(1 - 0.05 ** (1 / 29), rel=1e-12)
    assert bounds.clopper_pearson(7, 7, 0.05) == 1.0


def test_betting_covers_and_adapts(rng: np.random.Generator) -> None:
    """Rare large losses, the hard case: 2000 draws, of which at most 5 % and three standard errors
    may fail.
    """
    values, shares = np.array([0.0, 0.05, 1.0]), np.array([0.6, 0.38, 0.02])
    mean = float(values @ shares)
    found = np.array(
        [bounds.betting(rng.choice(values, p=shares, size=120), 0.05) for _ in range(2000)]
    )
    assert np.mean(found < mean) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)
    quiet = rng.uniform(0.09, 0.11, size=2000)
    assert quiet.mean() < bounds.betting(quiet, 0.05) < quiet.mean() + 0.01
    assert (
        quiet.mean() + np.sqrt(np.log(20) / (2 * 2000)) > bounds.betting(quiet, 0.05) + 0.015
    )  # Hoeffding
    assert bounds.betting(np.ones(50), 0.05) == 1.0


def test_what_is_not_a_share_or_a_count() -> None:
    for call, message in (
        (lambda: bounds.binary_kl(1.2, 0.5), "q must lie between 0 and 1; got 1.2"),
        (lambda: bounds.binary_kl_inverse(0.2, -1.0), "c must be a number >= 0; got -1"),
        (lambda: bounds.binary_kl_inverse(0.2, np.nan), "c must be a number >= 0; got nan"),
        (lambda: bounds.xi(0), "n_rows must be at least 1; got 0"),
        (lambda: bounds.catoni(0.1, 1.0, 10, 1.5, 1.0), "delta must lie between 0 and 1; got 1.5"),
        (lambda: bounds.catoni(0.1, 1.0, 10, 0.5, 0.0), "c must be a number > 0; got 0"),
        (lambda: bounds.clopper_pearson(11, 10, 0.05), "errors must lie between 0 and n_rows"),
        (
            lambda: bounds.betting([0.5, 1.5], 0.05),
            "losses must be a sequence of numbers between 0 and 1",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_best_c_is_the_best(rng: np.random.Generator) -> None:
    for risk, kl, m in ((0.0, 0.5, 100), (0.02, 3.0, 500), (0.3, 1.0, 60), (0.5, 0.0, 5000)):
        c = bounds.best_c(risk, kl, m, 0.05)
        least = min(
            bounds.catoni(max(risk, 0.5 / m), kl, m, 0.05, c * factor)
            for factor in np.linspace(0.7, 1.4, 141)
        )
        assert bounds.catoni(max(risk, 0.5 / m), kl, m, 0.05, c) == pytest.approx(least, rel=1e-4)
        assert least == pytest.approx(
            bounds.binary_kl_inverse(max(risk, 0.5 / m), (kl + np.log(20)) / m), rel=1e-4
        )


def test_bounds_grow_with_kl_and_shrink_with_rows_and_delta() -> None:
    kl, m, delta = (
        np.array([0.0, 1.0, 5.0, 50.0]),
        np.array([50, 200, 1000, 10**6]),
        np.array([1e-4, 0.01, 0.05, 0.5]),
    )
    for bound in (bounds.pac_bayes_kl, lambda *given: bounds.catoni(*given, 0.5)):
        assert (np.diff(bound(0.1, kl, 300, 0.05)) > 0).all()
        assert (np.diff(bound(0.1, 3.0, m, 0.05)) < 0).all()
        assert (np.diff(bound(0.1, 3.0, 300, delta)) < 0).all()
    assert (np.diff(bounds.clopper_pearson(5, m, 0.05)) < 0).all()
    assert (np.diff(bounds.clopper_pearson(5, 300, delta)) < 0).all()


def test_conformal_rank() -> None:
    """The k-th smallest of m uniform numbers is at least 0.9 often enough; that before is not."""
    for m, delta in ((29, 0.05), (100, 0.05), (1000, 0.01)):
        k = bounds.conformal_rank(m, 0.1, delta)
        assert mpmath.betainc(k, m + 1 - k, 0, 0.9, regularized=True) <= delta
        assert mpmath.betainc(k - 1, m + 2 - k, 0, 0.9, regularized=True) > delta
    assert bounds.conformal_rank(28, 0.1, 0.05) == 29  # none is large enough
    np.testing.assert_array_equal(bounds.rows_needed(0.1, 0.05 / np.array([1, 3, 5])), [29, 39, 44])
    for delta in (0.05, 0.01):
        m = bounds.rows_needed(0.1, delta)
        assert bounds.conformal_rank(m, 0.1, delta) == m
        assert bounds.clopper_pearson(0, m, delta) <= 0.1 < bounds.clopper_pearson(0, m - 1, delta)
    with pytest.raises(ValueError, match="miss must lie between 0 and 1"):
        bounds.conformal_rank(10, 1.5, 0.05)


def test_reduction_holds_and_is_close(rng: np.random.Generator) -> None:
    """Pairs with a known ratio of means: rarely above it, and not far below."""
    found = []
    for _ in range(300):
        baseline = rng.uniform(0, 3, size=400)
        losses = np.minimum(
            0.1 * baseline + rng.uniform(0, 0.2, size=400), 1.0
        )  # means 1.5 and 0.25
        found.append(bounds.betting_reduction(losses, baseline, 0.1))
    truth = 1 - 0.25 / 1.5
    assert np.mean(np.array(found) > truth) <= 0.1 + 3 * np.sqrt(0.09 / 300)
    assert truth - np.mean(found) < 0.04
    assert bounds.betting_reduction(np.ones(50), np.full(50, 0.1), 0.05) is None
    assert bounds.betting_reduction(np.full(2000, 0.5), np.full(2000, 0.5), 0.05) == pytest.approx(
        0.0, abs=0.05
    )
    with pytest.raises(ValueError, match="between 0 and 1, and baseline"):
        bounds.betting_reduction([0.5], [0.5, 1.0], 0.05)
