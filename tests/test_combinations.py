"""The ways to combine the losses of applicable models: what they mean, their partials, and their
laws.
"""

from __future__ import annotations

import numpy as np
import pytest

from motlm import LocalMixtureClassifier
from motlm.combinations import COMBINATIONS, AnyErrs, Sum, ambiguity, gates, leave_one_out
from motlm.datasets import make_clf_case1

EACH = pytest.mark.parametrize("combination", COMBINATIONS.values(), ids=COMBINATIONS)


def drawn(rng: np.random.Generator, n: int, m: int = 30) -> tuple[np.ndarray, np.ndarray]:
    omega, losses = rng.uniform(size=(n, m)), rng.uniform(size=(n + 1, m))
    omega[rng.uniform(size=omega.shape) < 0.2] = 1.0  # rows deep inside a ball
    losses[rng.uniform(size=losses.shape) < 0.2] = 0.0
    return omega, losses


@EACH
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_partials_match_differences(combination, n: int, rng: np.random.Generator) -> None:
    omega, losses = drawn(rng, n)
    value, by_omega, by_losses = combination.value_and_partials(omega.copy(), losses.copy())
    np.testing.assert_allclose(value, combination.value(omega, losses), rtol=1e-14)
    step = 1e-6  # each is linear in each argument, so that differences are exact but for rounding
    for i in range(n):
        moved = omega.copy()
        moved[i] += step
        np.testing.assert_allclose(
            (combination.value(moved, losses) - value) / step, by_omega[i], atol=1e-9
        )
    for i in range(n + 1):
        moved = losses.copy()
        moved[i] += step
        np.testing.assert_allclose(
            (combination.value(omega, moved) - value) / step, by_losses[i], atol=1e-9
        )


def test_any_is_a_probability_below_the_sum(rng: np.random.Generator) -> None:
    for n in (0, 1, 2, 4):
        omega, losses = drawn(rng, n, 500)
        one, other = AnyErrs().value(omega, losses), Sum().value(omega, losses)
        assert (one >= -1e-15).all()
        assert (one <= 1 + 1e-15).all()
        assert (one <= other + 1e-14).all()
        if n <= 1:
            np.testing.assert_allclose(one, other, atol=1e-14)


def test_ambiguity_by_monte_carlo(rng: np.random.Generator) -> None:
    """Draw which models apply and which err: how often applicable ones disagree. Labels do not
    matter.
    """
    omega, losses = drawn(rng, 3, 4)
    draws = 200_000
    for j in range(4):
        applies = rng.uniform(size=(draws, 3)) < omega[:, j]
        errs = rng.uniform(size=(draws, 3)) < losses[:3, j]
        apart = (applies & errs).any(axis=1) & (applies & ~errs).any(axis=1)
        assert apart.mean() == pytest.approx(
            ambiguity(omega, losses)[j], abs=4 * np.sqrt(0.25 / draws)
        )
    np.testing.assert_allclose(ambiguity(omega, losses), ambiguity(omega, 1 - losses), atol=1e-14)
    assert (AnyErrs().value(omega, losses) - ambiguity(omega, losses) >= -1e-14).all()
    np.testing.assert_allclose(ambiguity(omega[:1], losses[:2]), 0.0, atol=1e-15)


def test_any_by_monte_carlo(rng: np.random.Generator) -> None:
    """Draw which models apply and which err: how often an applicable one errs; no rule among them
    does worse.
    """
    omega, losses = drawn(rng, 3, 4)
    draws = 200_000
    for j in range(4):
        applies = rng.uniform(size=(draws, 3)) < omega[:, j]
        errs = rng.uniform(size=(draws, 4)) < losses[:, j]
        outside = ~applies.any(axis=1)
        some = (applies & errs[:, :3]).any(axis=1) | (outside & errs[:, 3])
        expected = AnyErrs().value(omega, losses)[j]
        assert some.mean() == pytest.approx(expected, abs=4 * np.sqrt(0.25 / draws))
        first = np.where(outside, errs[:, 3], errs[np.arange(draws), applies.argmax(axis=1)])
        assert (first <= some).all()


def test_products_of_the_others(rng: np.random.Generator) -> None:
    factors = rng.uniform(size=(4, 6))
    factors[1, :3] = 0.0  # no division
    product, others = leave_one_out(factors.copy())
    np.testing.assert_allclose(product, factors.prod(axis=0))
    for i in range(4):
        np.testing.assert_allclose(
            others[i], np.delete(factors, i, axis=0).prod(axis=0), rtol=1e-14
        )
    gate, _ = gates(np.empty((0, 3)))
    np.testing.assert_array_equal(gate, np.ones((1, 3)))


def test_classifier_trained_on_any_error() -> None:
    X, y = make_clf_case1(400, flipped=0.1, random_state=0)
    options = {
        "inverse_temperature": 2.0,
        "standardize": False,
        "n_starts": 4,
        "random_state": 0,
        "loss": "zero-one",
    }
    summed, union = (
        LocalMixtureClassifier(2, combine=combine, **options).fit(X, y) for combine in COMBINATIONS
    )
    assert union.score(X, y) > 0.8
    assert union.objective_ <= summed.objective_ + 1e-6  # the same posterior has a lower loss
    with pytest.raises(ValueError, match="combine must be one of 'sum', 'any'; got 'max'"):
        LocalMixtureClassifier(combine="max").fit(X, y)
