from __future__ import annotations

import numpy as np
import pytest

from motlm.losses import LOSSES, Loss, OffBy, Squared, ZeroOne

EACH = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)


def sampled(loss: Loss, y: float, score: np.ndarray) -> np.ndarray:
    if isinstance(loss, OffBy):
        return (np.abs(score - y) > loss.tolerance).astype(float)
    return (y * score <= 0).astype(float) if isinstance(loss, ZeroOne) else (score - y) ** 2


@EACH
def test_value_by_simulation_over_the_weights(loss: Loss, rng: np.random.Generator) -> None:
    """The loss of a random linear model, v ~ N(w, rho^2 I), b ~ N(mu, sigma^2), averaged over draws
    of (v, b).
    """
    for y in (-1.0, 1.0):
        w, mu, rho, sigma, x = rng.normal(size=3), rng.normal(), 0.7, 0.4, rng.normal(size=3)
        v = w + rho * rng.standard_normal((200_000, 3))
        b = mu + sigma * rng.standard_normal(200_000)
        drawn = sampled(loss, y, v @ x + b)
        [computed] = loss.value_and_partials(
            *(np.array([part]) for part in (y, w @ x + mu, rho**2 * x @ x + sigma**2))
        ).value
        assert computed == pytest.approx(drawn.mean(), abs=4.5 * drawn.std() / np.sqrt(len(drawn)))


@EACH
def test_partials_match_differences(loss: Loss, rng: np.random.Generator) -> None:
    y = rng.choice([-1.0, 1.0], size=50)
    mean, variance = 2 * rng.normal(size=50), rng.uniform(0.05, 3, size=50)
    partials = loss.value_and_partials(y, mean, variance)
    h = 1e-5
    by_mean = (
        loss.value_and_partials(y, mean + h, variance).value
        - loss.value_and_partials(y, mean - h, variance).value
    ) / (2 * h)
    by_variance = (
        loss.value_and_partials(y, mean, variance + h).value
        - loss.value_and_partials(y, mean, variance - h).value
    ) / (2 * h)
    np.testing.assert_allclose(partials.mean, by_mean, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(partials.variance, by_variance, rtol=1e-6, atol=1e-7)


def test_worked_cases() -> None:
    one = np.ones(1)
    assert ZeroOne().value_and_partials(one, 0 * one, one).value[0] == 0.5
    assert 0.0 <= ZeroOne().value_and_partials(one, 50 * one, one).value[0] < 1e-290
    assert ZeroOne().value_and_partials(-one, 50 * one, one).value[0] == 1.0
    assert Squared().value_and_partials(2 * one, 5 * one, 0.25 * one).value[0] == 9.25
    assert OffBy(2.0).value_and_partials(2 * one, 2 * one, one).value[0] == pytest.approx(
        0.04550026389635842, rel=1e-12
    )
    assert OffBy(2.0).value_and_partials(2 * one, 50 * one, one).value[0] == 1.0


def test_squared_scales_with_the_square_of_the_target(rng: np.random.Generator) -> None:
    y, mean, variance = rng.normal(size=9), rng.normal(size=9), rng.uniform(size=9)
    np.testing.assert_allclose(
        Squared().value_and_partials(3 * y, 3 * mean, 9 * variance).value,
        9 * Squared().value_and_partials(y, mean, variance).value,
    )
