from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from helpers import name_of
from mpmath import mp

from motlm.errors import InputTypeError
from motlm.losses import (
    CLASS_LOSSES,
    LOSSES,
    AnySign,
    Gamma,
    Log,
    Loss,
    Multinomial,
    OffBy,
    Poisson,
    Squared,
    Tweedie,
    ZeroOne,
    check_loss,
)
from motlm.targets import Several

EACH = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
OF_CLASSES = pytest.mark.parametrize(
    "loss",
    [type(loss)(count) for loss in CLASS_LOSSES for count in (3, 4, 11)],
    ids=name_of,
)
REFERENCE = json.loads((Path(__file__).parent / "reference" / "classes.json").read_text())


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


@pytest.mark.parametrize("size", [650.0, 720.0, 1500.0, 1e5])
def test_scores_beyond_the_range_of_exponentials(size: float) -> None:
    """exp(-size) is next to nothing, whatever its bits."""
    one = np.ones(1)
    for sign in (-1.0, 1.0):
        found = Log().value_and_partials(one, sign * size * one, one)
        with mp.workdps(50):
            xi = mp.sqrt(mp.mpf(size) ** 2 + 1)
            exact = mp.log1p(mp.exp(-xi)) + (xi - sign * size) / 2
        assert found.value[0] == pytest.approx(float(exact), rel=1e-9)
    for loss, mean in ((Poisson(), -size), (Gamma(), size), (Tweedie(1.5), -2 * size)):
        zero = np.zeros(1)
        found = loss.value_and_partials(zero if loss.name != "gamma" else one, mean * one, one)
        base = mean if loss.name == "gamma" else 0.0
        assert found.value[0] == pytest.approx(base, abs=1e-9)


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


# -- several classes -------------------------------------------------------------------------------


@OF_CLASSES
def test_partials_of_several_classes_match_differences(
    loss: Loss, rng: np.random.Generator
) -> None:
    (count,), m = loss.scores, 40
    y, mean = rng.integers(count, size=m), 2 * rng.normal(size=(count, m))
    variance, h = rng.uniform(0.05, 6.0, size=m), 1e-5
    partials = loss.value_and_partials(y, mean, variance)
    assert partials.mean.shape == (count, m)
    for k in range(count):
        step = h * (np.arange(count) == k)[:, None]
        up, down = (loss.value_and_partials(y, mean + s, variance).value for s in (step, -step))
        np.testing.assert_allclose(partials.mean[k], (up - down) / (2 * h), rtol=1e-6, atol=1e-9)
    up, down = (loss.value_and_partials(y, mean, variance + s).value for s in (h, -h))
    np.testing.assert_allclose(partials.variance, (up - down) / (2 * h), rtol=1e-6, atol=1e-8)


@OF_CLASSES
def test_models_of_several_classes_are_computed_one_by_one(
    loss: Loss, rng: np.random.Generator
) -> None:
    """Means (.., n_classes, n_rows) with variances (.., n_rows)."""
    (count,) = loss.scores
    y, mean = rng.integers(count, size=7), rng.normal(size=(2, 3, count, 7))
    variance = rng.uniform(0.1, 1.0, size=(2, 3, 7))
    found = loss.value_and_partials(y, mean, variance)
    assert found.value.shape == found.variance.shape == (2, 3, 7)
    assert found.mean.shape == mean.shape
    for at in np.ndindex(2, 3):
        alone = loss.value_and_partials(y, mean[at], variance[at])
        for one, other in zip(found, alone, strict=True):
            np.testing.assert_allclose(one[at], other, rtol=1e-13, atol=1e-15)


@OF_CLASSES
def test_relabeling_the_classes_permutes_the_partials(loss: Loss, rng: np.random.Generator) -> None:
    (count,), m = loss.scores, 30
    y, mean = rng.integers(count, size=m), 2 * rng.normal(size=(count, m))
    variance, order = rng.uniform(0.05, 3.0, size=m), rng.permutation(count)
    found = loss.value_and_partials(y, mean, variance)
    moved = loss.value_and_partials(np.argsort(order)[y], mean[order], variance)
    np.testing.assert_allclose(moved.value, found.value, rtol=1e-12)
    np.testing.assert_allclose(moved.mean, found.mean[order], rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(moved.variance, found.variance, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("case", REFERENCE["cases"])
def test_losses_of_several_classes_by_reference(case: dict) -> None:
    """tests/reference/make_classes_reference.py: the bound on the log loss is not below the
    expectation, agrees with it to the second order of the variance, and is exact where that is 0;
    the probability that some sign is wrong is exact, and not below that of another largest score.
    """
    count, variance = len(case["mean"]), case["variance"]
    one = (np.array([case["y"]]), np.array(case["mean"])[:, None], np.array([variance]))
    [bound] = Multinomial(count).value_and_partials(*one).value
    gap = bound - case["log_loss"]
    assert (
        -1e-14 * max(case["log_loss"], 1.0)
        <= gap
        <= min(0.06 * variance**2, 0.26 * variance) + 1e-14
    )
    if "largest" in case:
        [wrong] = AnySign(count).value_and_partials(*one).value
        shares = Several(np.arange(count), "zero-one").probabilities(*one[1:])[0]
        assert wrong == pytest.approx(case["any_sign"], abs=1e-11)
        np.testing.assert_allclose(shares, case["largest"], atol=1e-14)
        assert wrong >= 1.0 - shares[case["y"]]


def test_the_largest_of_a_hundred_scores_by_reference() -> None:
    crowd = REFERENCE["crowd"]
    mean = np.zeros((crowd["count"], 1))
    mean[3] = crowd["ahead"]
    shares = Several(np.arange(crowd["count"]), "zero-one").probabilities(mean, np.ones(1))[0]
    np.testing.assert_allclose(shares[[3, 0, 99]], np.array(crowd["largest"])[[0, 1, 1]], rtol=1e-9)


def drawn_losses(loss: Loss, y: int, scores: np.ndarray) -> np.ndarray:
    """Of scores, (n_classes, number)."""
    if isinstance(loss, Multinomial):
        top = scores.max(axis=0)
        return top + np.log(np.exp(scores - top).sum(axis=0)) - scores[y]
    right = np.arange(len(scores))[:, None] == y
    return (np.where(right, scores, -scores) <= 0).any(axis=0).astype(float)


@OF_CLASSES
def test_several_classes_by_simulation_over_the_weights(
    loss: Loss, rng: np.random.Generator
) -> None:
    """Random linear models, v_k ~ N(w_k, rho^2 I), b_k ~ N(mu_k, sigma^2), averaged over draws."""
    (count,), draws = loss.scores, 100_000
    for y in range(3):
        w, x, rho, sigma = 0.2 * rng.normal(size=(count, 2)), rng.normal(size=2), 0.3, 0.2
        mu = 0.2 * rng.normal(size=count) + np.where(np.arange(count) == y, 0.7, -0.7)
        v = w[..., None] + rho * rng.standard_normal((count, 2, draws))
        b = mu[:, None] + sigma * rng.standard_normal((count, draws))
        scores = np.einsum("kjn,j->kn", v, x) + b
        drawn, variance = drawn_losses(loss, y, scores), rho**2 * x @ x + sigma**2
        [found] = loss.value_and_partials(
            np.array([y]), (w @ x + mu)[:, None], np.array([variance])
        ).value
        slack = 0.06 * variance**2 if isinstance(loss, Multinomial) else 0.0
        error = 4.5 * drawn.std() / np.sqrt(draws)
        assert 0.0 < drawn.mean() < 1.0 or isinstance(loss, Multinomial)
        assert drawn.mean() - error <= found <= drawn.mean() + error + slack
        largest = np.mean(scores.argmax(axis=0) != y)
        assert isinstance(loss, Multinomial) or found >= largest - error


@OF_CLASSES
def test_steps_from_nothing_of_several_classes(loss: Loss) -> None:
    """Where all scores are 0 the gradient is minus the response times its weight; of zero-one the
    responses are signs.
    """
    (count,), m = loss.scores, 5
    y, zero = np.arange(m) % count, np.zeros((count, m))
    response, weight = loss.working(y, zero)
    signs = np.where(np.arange(count)[:, None] == y, 1.0, -1.0)
    if not loss.likelihood:
        np.testing.assert_array_equal(response, signs)
        return
    slope = loss.value_and_partials(y, zero, np.zeros(m)).mean
    np.testing.assert_allclose(response * weight, -slope, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(np.sign(response), signs)


def test_scores_of_several_classes_beyond_all_numbers() -> None:
    """Large, not infinite."""
    mean = np.array([[1e5, -1e5, 0.0], [0.0, 1e5, 1e-300], [-1e5, 0.0, -1e-300]])
    for loss in CLASS_LOSSES:
        for variance in (1e-8, 1.0, 1e6):
            found = loss.value_and_partials(np.zeros(3), mean, np.full(3, variance))
            assert all(np.isfinite(part).all() for part in found)
            assert found.value[1] > found.value[0]


def test_losses_of_several_classes_are_the_engines() -> None:
    for loss in CLASS_LOSSES:
        check_loss(loss)

    class Own(Multinomial):
        def value_and_partials(self, y, mean, variance):
            return super().value_and_partials(y, mean, variance)

    with pytest.raises(InputTypeError, match="expected a loss that the engine knows"):
        check_loss(Own())
