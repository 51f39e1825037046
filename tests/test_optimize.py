from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from helpers import random_posterior, random_rows

from motlm import LocalMixtureRegressor
from motlm.errors import NotConvergedWarning
from motlm.geometry import GivenCenters, LearnedBalls
from motlm.losses import LOSSES, Squared, ZeroOne
from motlm.objective import Evaluator, Objective
from motlm.optimize import lbfgs
from motlm.posterior import FIELDS, Packing, Posterior, Prior
from motlm.reproduction import nadam, paper_draw
from motlm.rows import Rows, distinct_rows, held_out
from motlm.running import SOLVERS
from motlm.starts import one_model, place_at_rows

FREE = ("radius_shape", "radius_rate", "coef", "coef_scale", "intercept", "intercept_scale")
EACH_GEOMETRY = pytest.mark.parametrize(
    "geometry", [GivenCenters(), LearnedBalls()], ids=lambda one: one.kind
)
EACH_LOSS = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)


@EACH_GEOMETRY
def test_packing_there_and_back(geometry, rng: np.random.Generator) -> None:
    q = random_posterior(rng, 2, 3, geometry)
    for free in (FREE, ("coef",), ("radius_rate",), ("radius_shape",)):
        packing = Packing(q, free)
        there = packing.unpack(packing.pack(q))
        for name in FREE:
            np.testing.assert_allclose(getattr(there, name), getattr(q, name), rtol=1e-13)


@pytest.mark.parametrize("solver", SOLVERS)
@EACH_GEOMETRY
@EACH_LOSS
def test_solvers_lower_the_objective_and_report_it(
    loss, geometry, solver: str, rng: np.random.Generator
) -> None:
    q = replace(random_posterior(rng, 2, 2, geometry), coef_scale=np.full(3, 0.5))
    rows = random_rows(rng, 80, q, geometry, loss)
    objective = Objective(loss, geometry, Prior(), rows, 2.0)
    free = (*FREE, "center", "center_scale") if geometry.learned else FREE
    solution = SOLVERS[solver](objective, q, free, max_iter=300)
    assert solution.objective < objective.value(q)
    assert solution.objective == pytest.approx(objective.value(solution.posterior), rel=1e-12)
    assert solution.objective == pytest.approx(
        solution.gibbs_risk + solution.kl / (2.0 * rows.weight.sum()), rel=1e-12
    )
    if not geometry.learned:
        np.testing.assert_array_equal(solution.posterior.center, q.center)


def test_squared_loss_without_localities_ends_at_ridge_regression(rng: np.random.Generator) -> None:
    """With n = 0 the minimum is known: w = (X'X + 1/(2 l') I)^-1 X'y over rows,
    rho^2 = d / (d + 2 l E|x|^2).
    """
    m, d, lam = 200, 3, 1.7
    X, y = rng.normal(size=(m, d)), rng.normal(size=m)
    rows = Rows.of(X, y)
    objective = Objective(Squared(), LearnedBalls(), Prior(), rows, lam)
    solution = SOLVERS["lbfgs"](objective, one_model(objective, False), FREE, tol=1e-14)
    design = np.column_stack([X, np.ones(m)])
    ridge = np.linalg.solve(design.T @ design + np.eye(d + 1) / (2 * lam), design.T @ y)
    np.testing.assert_allclose(solution.posterior.coef[0], ridge[:d], atol=2e-5)
    np.testing.assert_allclose(solution.posterior.intercept[0], ridge[d], atol=2e-5)
    assert solution.posterior.coef_scale[0] ** 2 == pytest.approx(
        d / (d + 2 * lam * (X**2).sum()), rel=1e-3
    )
    assert solution.posterior.intercept_scale[0] ** 2 == pytest.approx(
        1 / (1 + 2 * lam * m), rel=1e-3
    )


def test_nadam_takes_the_steps_of_its_definition(rng: np.random.Generator) -> None:
    """Two steps of Dozat's update with the decayed momentum, worked by hand for the exterior
    intercept.
    """
    rows = Rows.of(rng.normal(size=(50, 2)), np.sign(rng.normal(size=50)))
    objective = Objective(ZeroOne(), LearnedBalls(), Prior(), rows, 1.0)
    start = place_at_rows(objective, 0, True, rng)
    value, first, second, product = start.intercept.copy(), 0.0, 0.0, 1.0
    posterior = start
    for t in (1, 2):
        gradient = objective.value_and_gradient(posterior)[1].intercept
        now, later = (0.9 * (1 - 0.5 * 0.96 ** (step * 0.004)) for step in (t, t + 1))
        product *= now
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        ahead = later * first / (1 - product * later) + (1 - now) * gradient / (1 - product)
        value = value - 0.1 * ahead / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
        posterior = replace(posterior, intercept=value)
        steps = nadam(objective, start, ("intercept",), max_iter=t)
        # nadam keeps the best point it has looked at, so follow it through the objective
        assert steps.objective <= objective.value(start)
        if objective.value(posterior) < objective.value(start):
            np.testing.assert_allclose(steps.posterior.intercept, value, rtol=1e-12)


def test_nadam_stops_by_the_papers_rules(rng: np.random.Generator) -> None:
    q = random_posterior(rng, 2, 2, LearnedBalls())
    rows = random_rows(rng, 60, q, LearnedBalls(), ZeroOne())
    objective = Objective(ZeroOne(), LearnedBalls(), Prior(), rows, 1.0)
    stopped = nadam(objective, q, (*FREE, "center", "center_scale"))
    assert stopped.converged
    assert stopped.n_iter % 40 == 0
    unfinished = nadam(objective, q, FREE, max_iter=30)
    assert not unfinished.converged
    assert "max_iter = 30" in unfinished.message


@pytest.mark.parametrize("block", [10, 8192])
@EACH_LOSS
def test_a_stopped_search_hands_back_the_best_it_has_seen(
    loss, block: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two looks at the clock, and between two blocks of one evaluation."""
    monkeypatch.setattr(Evaluator, "budget", 1)  # evaluations between two looks
    q = random_posterior(rng, 2, 2, LearnedBalls())
    free = (*FREE, "center", "center_scale")
    rows = random_rows(rng, 60, q, LearnedBalls(), loss)
    objective = Objective(loss, LearnedBalls(), Prior(), rows, 1.0, block=block)
    for solver in SOLVERS.values():
        calls, last = iter(range(10_000)), 72 if solver is lbfgs and block == 10 else 12
        stopped = solver(objective, q, free, stop=lambda c=calls, n=last: next(c) >= n)
        assert next(calls) < last + 20  # it was heeded at once
        assert not stopped.converged
        assert stopped.message == "stopped"
        assert stopped.objective < objective.value(q)
        assert stopped.objective == pytest.approx(objective.value(stopped.posterior), rel=1e-12)
        assert solver(objective, q, free, stop=lambda: True).objective <= objective.value(q) + 1e-12


@EACH_LOSS
def test_scales_are_those_of_the_fisher_information(loss, rng: np.random.Generator) -> None:
    """Moved by its scale, each number costs about half a nat of divergence:
    KL(moved || here) ~ scale^2 Fisher / 2.
    """
    q = random_posterior(rng, 2, 3, LearnedBalls())
    free = (*FREE, "center", "center_scale")
    packing = Packing(q, free)
    here, scales = packing.pack(q), packing.scales(q)
    rows = random_rows(rng, 10, q, LearnedBalls(), loss)
    prior = Prior(**{name: getattr(q, name) for name in FIELDS})
    objective = Objective(loss, LearnedBalls(), prior, rows, 1.0)
    h = 0.01
    for j in range(len(here)):
        moved = here.copy()
        moved[j] += h * scales[j]
        assert objective.kl(packing.unpack(moved)) == pytest.approx(0.5 * h**2, rel=0.05)


def test_a_step_of_nothing_ends_at_once(rng: np.random.Generator) -> None:
    q = random_posterior(rng, 1, 2, LearnedBalls())
    objective = Objective(
        ZeroOne(),
        LearnedBalls(),
        Prior(),
        random_rows(rng, 60, q, LearnedBalls(), ZeroOne()),
        1.0,
    )
    end = lbfgs(objective, q, (*FREE, "center", "center_scale"))
    again = lbfgs(objective, end.posterior, (*FREE, "center", "center_scale"))
    assert end.converged
    assert again.converged
    assert again.n_iter <= 45
    assert again.objective <= end.objective * (1 + 1e-12)


def test_starts_have_the_right_sizes(rng: np.random.Generator) -> None:
    rows = Rows.of(rng.normal(size=(30, 4)), np.sign(rng.normal(size=30)))
    objective = Objective(ZeroOne(), LearnedBalls(), Prior(), rows, 1.0)
    for n in (0, 1, 3):
        for start in (place_at_rows(objective, n, False, rng), paper_draw(objective, n, rng)):
            assert isinstance(start, Posterior)
            assert start.center.shape == (n, 4)
            assert start.coef.shape == (n + 1, 4)
            objective.value(start)


def test_distinct_rows_ignore_order_and_repetition(rng: np.random.Generator) -> None:
    X, y = rng.integers(0, 3, size=(40, 2)).astype(float), rng.integers(0, 2, size=40).astype(float)
    weight = rng.integers(1, 4, size=40).astype(float)
    index = np.repeat(np.arange(40), weight.astype(int))
    shuffled = rng.permutation(index)
    results = []
    for rows, w in ((np.arange(40), weight), (shuffled, np.ones(len(shuffled)))):
        kinds = distinct_rows(X[rows], y[rows], w, np.random.default_rng(3))
        results.append((X[rows][kinds.first], y[rows][kinds.first], kinds.weight))
    for first, second in zip(*results, strict=True):
        np.testing.assert_array_equal(first, second)
    assert len(results[0][0]) == len(np.unique(np.column_stack([X, y]), axis=0))
    assert results[0][2].sum() == weight.sum()


def test_minus_zero_is_zero() -> None:
    X = np.array([[0.0], [-0.0]])
    assert len(distinct_rows(X, np.zeros(2), np.ones(2), np.random.default_rng(0)).first) == 1


def test_held_out_rows() -> None:
    y = np.array([1.0] * 8 + [-1.0] * 4)
    mask = held_out(y, 0.25, stratify=True)
    assert (mask[:8].sum(), mask[8:].sum()) == (2, 1)
    assert held_out(np.array([1.0, -1.0]), 0.25, stratify=True) is None
    assert held_out(np.array([1.0]), 0.25, stratify=False) is None


@pytest.mark.filterwarnings("ignore::motlm.errors.IdleLocalityWarning")
@pytest.mark.parametrize("seed", [4, 5])
def test_a_search_that_finds_no_step_ends(seed: int) -> None:
    """A line search that took all evaluations of a step began again, for ever."""
    rng = np.random.default_rng(seed)
    X, weight = 1e-21 * rng.normal(size=(60, 2)), 1e49 * rng.uniform(size=60)
    model = LocalMixtureRegressor(
        points_of_interest=X[:1],
        corrections="none",
        standardize=False,
        max_iter=1,
        n_starts=1,
        inverse_temperature=1000.0,
        prior=Prior(radius_shape=0.5, radius_rate=0.1, coef_scale=1e-4),
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"stopped at max_iter=1", NotConvergedWarning)
        model.fit(X, X @ [0.3, 0.1], sample_weight=weight)
    assert np.isfinite(model.objective_)
