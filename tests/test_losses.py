from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp

from motlm.losses import LOSSES, Gamma, Log, Loss, OffBy, Poisson, Squared, Tweedie, ZeroOne

EACH = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)


def sampled(loss: Loss, y: float, score: np.ndarray) -> np.ndarray:
    if isinstance(loss, Poisson):
        return np.exp(score) - y * score
    if isinstance(loss, Gamma):
        return y * np.exp(-score) + score
    if isinstance(loss, Tweedie):
        a, b = 2 - loss.tolerance, 1 - loss.tolerance
        return np.exp(a * score) / a - y * np.exp(b * score) / b
    if isinstance(loss, OffBy):
        return (np.abs(score - y) > loss.tolerance).astype(float)
    return (y * score <= 0).astype(float) if isinstance(loss, ZeroOne) else (score - y) ** 2


@pytest.mark.parametrize(
    "loss", [loss for loss in LOSSES if not isinstance(loss, Log)], ids=lambda loss: loss.name
)
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


@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_log_is_a_bound_on_the_expectation(y: float) -> None:
    """By quadrature over the score: exact for a variance of 0, and within some percent of it."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    for mean in (-6.0, -1.0, 0.0, 0.3, 4.0):
        for variance in (0.0, 1e-8, 0.01, 0.5, 4.0):
            score = mean + np.sqrt(variance) * nodes
            exact = float(weights @ np.logaddexp(0.0, -y * score))
            [found] = (
                Log().value_and_partials(*(np.array([one]) for one in (y, mean, variance))).value
            )
            assert exact * (1 - 1e-9) <= found <= exact * (1 + 1e-9) + 0.06 * variance
            if variance == 0.0:
                assert found == pytest.approx(np.log1p(np.exp(-y * mean)), rel=1e-14)


def test_log_near_zero_has_exact_partials() -> None:
    """Where tanh(xi / 2) / xi is taken from its series, and beside it; by mpmath."""
    one = np.ones(1)
    for mean, variance in ((0.0, 0.0), (3e-4, 1e-8), (9.99e-4, 0.0), (1.001e-3, 0.0), (0.0, 1e-6)):
        found = Log().value_and_partials(one, mean * one, variance * one)
        xi = mp.sqrt(mp.mpf(mean) ** 2 + variance)
        steep = mp.tanh(xi / 2) / xi if xi else mp.mpf(1) / 2
        assert found.mean[0] == pytest.approx(float((mean * steep - 1) / 2), rel=1e-13)
        assert found.variance[0] == pytest.approx(float(steep / 4), rel=1e-12)


@pytest.mark.parametrize("mean", [-3.0, 0.0, 2.5])
def test_tweedie_lies_between_poisson_and_gamma(mean: float) -> None:
    """Up to a constant in the target, which partials do not see."""
    y, one = np.array([0.4, 1.0, 7.0]), np.ones(3)
    for power, end in ((1 + 1e-9, Poisson()), (2 - 1e-9, Gamma())):
        near = Tweedie(power).value_and_partials(y, mean * one, 0.3 * one)
        limit = end.value_and_partials(y, mean * one, 0.3 * one)
        np.testing.assert_allclose(near.mean, limit.mean, rtol=1e-6)
        np.testing.assert_allclose(near.variance, limit.variance, rtol=1e-6)


def test_rates_beyond_all_numbers_are_large_not_infinite() -> None:
    one = np.ones(1)
    for loss, mean in ((Poisson(), 1e4), (Gamma(), -1e4), (Tweedie(1.5), 1e5)):
        found = loss.value_and_partials(one, mean * one, one)
        assert all(np.isfinite(part).all() for part in found)
        assert found.value[0] > 1e200


@EACH
def test_a_step_of_reweighted_least_squares_is_newtons(loss: Loss) -> None:
    """The gradient at a variance of 0 is minus the response times its weight."""
    y, mean = np.array([1.0, 1.0, 1.0]), np.array([-1.0, 0.0, 2.0])
    response, weight = loss.working(y, mean)
    if not loss.likelihood:
        np.testing.assert_array_equal(response, y)
        return
    slope = loss.value_and_partials(y, mean, np.zeros(3)).mean
    np.testing.assert_allclose(response * weight, -slope, rtol=1e-12, atol=1e-15)


@EACH
def test_partials_match_differences(loss: Loss, rng: np.random.Generator) -> None:
    y = rng.choice([-1.0, 1.0], size=50)
    if loss.likelihood and not isinstance(loss, Log):
        y = rng.gamma(1.0, size=50)
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
