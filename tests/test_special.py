from __future__ import annotations

import mpmath
import numpy as np
import pytest

from motlm.special import bessel_ratio, log_bessel, powers_from_values

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


def test_at_zero() -> None:
    # I_0(0) = 1, and the ratio vanishes
    assert log_bessel(0.0, np.zeros(1))[0] == 0.0
    assert bessel_ratio(3.0, np.zeros(1))[0] == 0.0


@pytest.mark.parametrize("n", [4, 6, 16])
def test_polynomials_go_through_their_values(n: int, rng: np.random.Generator) -> None:
    nodes, matrix = powers_from_values(n)
    values = rng.normal(size=n)
    found = np.polynomial.Polynomial(matrix @ values)(nodes)
    np.testing.assert_allclose(found, values, atol=1e-9)
