from __future__ import annotations

import numpy as np
import pytest
from helpers import differences
from scipy.integrate import quad
from scipy.stats import gamma as gamma_law
from scipy.stats import norm

from motlm import divergence


def kl_by_quadrature(q, p, low: float, high: float) -> float:
    value, _ = quad(
        lambda x: np.exp(q.logpdf(x)) * (q.logpdf(x) - p.logpdf(x)),
        low,
        high,
        limit=300,
        epsabs=1e-11,
    )
    return value


@pytest.mark.parametrize(
    ("m", "s", "m0", "s0"), [(0.3, 0.5, 0.0, 1.0), (-2.0, 1.7, 0.4, 0.6), (0.0, 1.0, 0.0, 1.0)]
)
def test_gaussian_by_quadrature(m: float, s: float, m0: float, s0: float) -> None:
    expected = kl_by_quadrature(norm(m, s), norm(m0, s0), m - 12 * s, m + 12 * s)
    assert divergence.gaussian([m], s, m0, s0).value == pytest.approx(expected, abs=1e-9)


def test_gaussian_adds_up_over_dimensions(rng: np.random.Generator) -> None:
    m = rng.normal(size=(3, 4))
    whole = divergence.gaussian(m, [0.5, 1.0, 2.0], 0.2, 0.8).value
    parts = sum(divergence.gaussian(m[:, [j]], [0.5, 1.0, 2.0], 0.2, 0.8).value for j in range(4))
    np.testing.assert_allclose(whole, parts)


@pytest.mark.parametrize(
    ("k", "t", "k0", "t0"), [(2.0, 0.1, 2.0, 0.1), (30.0, 20.0, 2.0, 0.1), (0.7, 3.0, 2.0, 0.5)]
)
def test_gamma_by_quadrature(k: float, t: float, k0: float, t0: float) -> None:
    q = gamma_law(k, scale=1 / t)
    expected = kl_by_quadrature(q, gamma_law(k0, scale=1 / t0), 0, float(q.isf(1e-15)))
    assert divergence.gamma(k, t, k0, t0).value == pytest.approx(expected, abs=1e-7)


def test_partials_match_differences(rng: np.random.Generator) -> None:
    m, s = rng.normal(size=3), 0.6
    computed = divergence.gaussian(m, s, 0.1, 0.9)
    numeric = differences(
        lambda v: float(divergence.gaussian(v[:3], v[3], 0.1, 0.9).value), np.append(m, s), 1e-4
    )
    np.testing.assert_allclose(np.append(computed.mean, computed.scale), numeric, rtol=1e-8)
    computed = divergence.gamma(7.0, 3.0, 2.0, 0.1)
    numeric = differences(
        lambda v: float(divergence.gamma(v[0], v[1], 2.0, 0.1).value), np.array([7.0, 3.0]), 1e-3
    )
    np.testing.assert_allclose([computed.shape, computed.rate], numeric, rtol=1e-8)


def test_never_negative_and_zero_at_the_prior(rng: np.random.Generator) -> None:
    for _ in range(50):
        assert divergence.gamma(*rng.uniform(0.5, 20, size=4)).value >= 0
        assert divergence.gaussian(rng.normal(size=3), *rng.uniform(0.1, 2, size=3)).value >= 0
    assert divergence.gamma(2.0, 0.1, 2.0, 0.1).value == pytest.approx(0, abs=1e-12)
    assert divergence.gaussian(np.zeros(4), 1.0, 0.0, 1.0).value == 0
