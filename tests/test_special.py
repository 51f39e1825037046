from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import norm

from motlm.special import bessel_ratio, log_bessel, log_bessel_and_ratio, normal_cdf_and_density

ORDERS = [-0.5, 0.0, 0.5, 1.5, 9.0, 49.0, 59.5, 60.0, 199.0, 1000.0]
Z = np.array([1e-8, 1e-3, 0.5, 1.0, 1.0001, 3.0, 30.0, 1e3, 1e5, 2e6])


@pytest.mark.parametrize("order", ORDERS)
def test_scaled_bessel_against_mpmath(order: float) -> None:
    with mpmath.workdps(40):
        exact = [mpmath.besseli(order, z) for z in Z]
        log_exact = [
            float(mpmath.log(i) - z - order * mpmath.log(z)) for i, z in zip(exact, Z, strict=True)
        ]
        ratio_exact = [
            float(mpmath.besseli(order + 1, z) / i) for i, z in zip(exact, Z, strict=True)
        ]
    np.testing.assert_allclose(log_bessel(order, Z), log_exact, rtol=1e-14, atol=1e-12)
    np.testing.assert_allclose(bessel_ratio(order, Z), ratio_exact, rtol=5e-12)


@pytest.mark.parametrize("order", ORDERS)
def test_tables_agree_with_the_functions(order: float) -> None:
    z = np.concatenate([[0.0], np.geomspace(1e-6, 1e14, 3001)])
    log_value, ratio = log_bessel_and_ratio(order, z)
    np.testing.assert_allclose(log_value, log_bessel(order, z), rtol=1e-13, atol=1e-11)
    np.testing.assert_allclose(ratio, bessel_ratio(order, z), atol=1e-11)


def test_at_zero() -> None:
    # I_0(0) = 1, and the ratio vanishes
    assert log_bessel(0.0, np.zeros(1))[0] == 0.0
    assert bessel_ratio(3.0, np.zeros(1))[0] == 0.0


def test_normal_distribution(rng: np.random.Generator) -> None:
    t = np.concatenate(
        [rng.normal(scale=4, size=2000), [0.0, 37.9, -37.9, 1e3, -1e3, 1e300, -1e300]]
    )
    with np.errstate(over="ignore"):
        cdf, density = normal_cdf_and_density(t)
        expected = norm.pdf(t)
    np.testing.assert_allclose(cdf, ndtr(t), atol=1e-12)
    np.testing.assert_allclose(density, expected, atol=1e-15)
    single, _ = normal_cdf_and_density(t[:2000].astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, ndtr(t[:2000]), atol=2e-6)
