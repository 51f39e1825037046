"""The compiled engine: its elementary functions, its steps, its blocks of rows, and where its code
is kept.
"""

from __future__ import annotations

import gc
import io
import os
import pickle
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mpmath
import numba
import numpy as np
import pytest
from helpers import differences, name_of, random_posterior, random_rows
from scipy import special
from scipy.stats import norm

from motlm import LocalMixtureRegressor, warmup
from motlm._engine import compile as compiling
from motlm._engine import descent, entries, linking
from motlm._engine.compile import entry
from motlm._engine.special import bessel_table, cholesky_solve
from motlm.geometry import GivenCenters, LearnedBalls
from motlm.losses import CLASS_LOSSES, LOSSES, Squared
from motlm.objective import Evaluator, Objective
from motlm.optimize import lbfgs
from motlm.posterior import FIELDS, Packing, Prior, flatten
from motlm.special import bessel_ratio, log_bessel
from motlm.starts import one_model, promising_balls

EACH_LOSS = pytest.mark.parametrize("loss", [*LOSSES, *CLASS_LOSSES], ids=name_of)
EACH_GEOMETRY = pytest.mark.parametrize(
    "geometry", [GivenCenters(), LearnedBalls()], ids=lambda one: one.kind
)
ORDERS = [-0.5, 0.0, 0.5, 1.5, 9.0, 49.0, 59.5, 60.0, 199.0, 1000.0]


def elementary(x: np.ndarray, order: float = 0.0) -> dict[str, np.ndarray]:
    names = ("exp", "ln", "digamma", "trigamma", "cdf", "density", "log_bessel", "ratio")
    found = entries.elementary(np.array(x, dtype=float), bessel_table(order))
    return dict(zip(names, found, strict=True))


# -- functions of one number -----------------------------------------------------------------------


def test_exponential(rng: np.random.Generator) -> None:
    x = np.concatenate([rng.uniform(-30, 30, 3000), 1e-9 * rng.normal(size=50), [0.0, 1.0, -1.0]])
    np.testing.assert_allclose(elementary(x)["exp"], np.exp(x), rtol=1e-14)
    x *= 23.0
    np.testing.assert_allclose(elementary(x)["exp"], np.exp(x), rtol=5e-14)


def test_logarithm(rng: np.random.Generator) -> None:
    x = np.concatenate(
        [np.exp(rng.uniform(-700, 700, 3000)), 1.0 + 1e-6 * rng.normal(size=50), [1.0, 2.0, 0.5]]
    )
    np.testing.assert_allclose(elementary(x)["ln"], np.log(x), rtol=1e-15, atol=1e-15)
    around = 1.0 + np.geomspace(1e-12, 0.4, 50)
    np.testing.assert_allclose(elementary(around)["ln"], np.log(around), rtol=4e-16)


def test_derivatives_of_the_gamma_function() -> None:
    x = np.geomspace(1e-3, 1e7, 400)
    found = elementary(x)
    with mpmath.workdps(40):
        first, second = (
            np.array([float(mpmath.polygamma(order, one)) for one in x]) for order in (0, 1)
        )
    np.testing.assert_allclose(found["digamma"], first, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(found["trigamma"], second, rtol=1e-12)


def test_normal_distribution(rng: np.random.Generator) -> None:
    t = np.concatenate(
        [rng.normal(scale=4, size=2000), [0.0, 36.9, -36.9, 37.9, -37.9, 1e3, -1e3, 1e300, -1e300]]
    )
    found = elementary(t)
    with np.errstate(over="ignore"):
        expected = norm.pdf(t)
    np.testing.assert_allclose(found["cdf"], special.ndtr(t), atol=1e-12)
    np.testing.assert_allclose(found["density"], expected, atol=1e-15)
    assert ((found["cdf"] >= 0.0) & (found["cdf"] <= 1.0)).all()


@pytest.mark.parametrize("order", ORDERS)
def test_bessel_functions_by_table(order: float) -> None:
    """Against the functions that the table is made of, which tests/test_special.py compares with
    mpmath.
    """
    log_z = np.concatenate([np.linspace(-33.9, 32.0, 3001), [-1e3, -36.0]])
    z = np.exp(log_z)
    found = elementary(log_z, order)
    np.testing.assert_allclose(found["log_bessel"], log_bessel(order, z), rtol=1e-13, atol=1e-11)
    np.testing.assert_allclose(found["ratio"], bessel_ratio(order, z), atol=1e-11)
    small = (log_z > -33.9) & (log_z < -5.0)  # a table of a wide ball integrates it from there
    np.testing.assert_allclose(found["ratio"][small], bessel_ratio(order, z[small]), rtol=1e-9)
    beyond = elementary(np.array([45.0, 60.0]), order)  # the leading term of the expansion
    expected = -(order + 0.5) * np.array([45.0, 60.0]) - 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(beyond["log_bessel"], expected, rtol=1e-12)
    np.testing.assert_allclose(beyond["ratio"], 1.0, rtol=1e-12)


@pytest.mark.parametrize("order", [0.0, 1.5, 9.0])
def test_bessel_functions_against_mpmath(order: float) -> None:
    z = [1e-12, 1e-8, 1e-3, 0.5, 3.0, 30.0, 1e3, 1e5]
    with mpmath.workdps(40):
        exact = [mpmath.besseli(order, one) for one in z]
        values = [
            float(mpmath.log(i) - one - order * mpmath.log(one))
            for i, one in zip(exact, z, strict=True)
        ]
        ratios = [
            float(mpmath.besseli(order + 1, one) / i) for i, one in zip(exact, z, strict=True)
        ]
    found = elementary(np.log(z), order)
    np.testing.assert_allclose(found["log_bessel"], values, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found["ratio"], ratios, rtol=1e-9)


# -- linear systems --------------------------------------------------------------------------------


@entry
def _solve(gram: np.ndarray, moment: np.ndarray) -> None:
    cholesky_solve(gram, moment)


def solve(gram: np.ndarray, moment: np.ndarray) -> np.ndarray:
    gram, found = np.tril(np.array(gram, dtype=float)), np.array(moment, dtype=float)
    _solve(gram, found)  # which looks at the lower triangle
    return found


@pytest.mark.parametrize("d", [1, 2, 7, 30])
def test_systems_are_solved(d: int, rng: np.random.Generator) -> None:
    design = rng.normal(size=(3 * d, d)) * np.geomspace(1e-6, 1e6, d)  # in any units
    expected = rng.normal(size=d) / np.geomspace(1e-6, 1e6, d)
    gram = design.T @ design
    np.testing.assert_allclose(solve(gram, gram @ expected), expected, rtol=1e-9)


def test_singular_systems_have_a_small_solution(rng: np.random.Generator) -> None:
    """Equal columns share what one of them would have; columns of zeros have nothing."""
    design, target = rng.normal(size=(40, 3)), rng.normal(size=40)
    doubled = design[:, [0, 1, 2, 2]]
    found = solve(doubled.T @ doubled, doubled.T @ target)
    assert np.isfinite(found).all()
    fitted = design @ np.linalg.lstsq(design, target, rcond=None)[0]
    np.testing.assert_allclose(doubled @ found, fitted, atol=1e-6)
    np.testing.assert_allclose(found[2], found[3], atol=1e-2)
    for unit in (1e-40, 1.0, 1e40):
        found = solve(np.full((2, 2), unit), [2 * unit, 2 * unit])
        np.testing.assert_allclose(found, 1.0, atol=0.02)
        assert found.sum() == pytest.approx(2.0, rel=1e-9)
    nothing = np.zeros((4, 4))
    nothing[:3, :3] = design.T @ design
    found = solve(nothing, np.append(design.T @ target, 0.0))
    np.testing.assert_allclose(design @ found[:3], fitted, atol=1e-9)
    assert found[3] == 0.0
    assert not solve(np.zeros((3, 3)), np.zeros(3)).any()


def test_what_is_not_a_number_stays_so() -> None:
    gram = np.array([[1.0, 0.0], [np.nan, 1.0]])
    assert np.isnan(solve(gram, [1.0, 1.0])).all()


# -- L-BFGS ----------------------------------------------------------------------------------------

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]


def minimize(
    function: Function, start: object, low: object = -np.inf, high: object = np.inf, **more: object
) -> tuple[int, descent.Memory, list[np.ndarray]]:
    """How it ended, the state then, and all points that were evaluated."""
    point = np.array(start, dtype=float)
    lower, upper = (np.broadcast_to(np.array(one, float), point.shape) for one in (low, high))
    options = {"limit": 1000, "tol": 1e-13} | more
    memory = descent.new_memory(point, lower, upper, options["limit"], options["tol"])
    status, seen = descent.RUNNING, []
    while status == descent.RUNNING:
        trial = memory.vectors[descent.TRIAL].copy()
        assert ((trial >= lower) & (trial <= upper)).all()
        seen.append(trial)
        value, gradient = function(trial)
        status = int(descent.take(memory, float(value), np.array(gradient, dtype=float)))
        assert len(seen) < 20_000
    assert memory.counts[descent.EVALUATIONS] == len(seen)
    return status, memory, seen


def quadratic(rng: np.random.Generator, p: int) -> tuple[Function, np.ndarray]:
    """With curvatures from 1 to 1000, and where it is lowest."""
    turn = np.linalg.qr(rng.normal(size=(p, p)))[0]
    matrix, best = turn * np.geomspace(1, 1000, p) @ turn.T, rng.normal(size=p)
    return lambda x: (
        0.5 * (x - best) @ matrix @ (x - best) + 1.0,
        matrix @ (x - best),
    ), best


def rosenbrock(x: np.ndarray) -> tuple[float, np.ndarray]:
    a, b = x[:-1], x[1:]
    slope = np.zeros(len(x))
    slope[:-1] = -400.0 * a * (b - a**2) - 2.0 * (1.0 - a)
    slope[1:] += 200.0 * (b - a**2)
    return float((100.0 * (b - a**2) ** 2 + (1.0 - a) ** 2).sum()), slope


@pytest.mark.parametrize("p", [1, 2, 10, 60])
def test_quadratic(p: int, rng: np.random.Generator) -> None:
    function, best = quadratic(rng, p)
    status, memory, seen = minimize(function, np.zeros(p))
    assert status == descent.CONVERGED
    np.testing.assert_allclose(memory.vectors[descent.LOWEST], best, atol=2e-3)
    assert memory.numbers[descent.BEST] == pytest.approx(1.0, abs=1e-5)
    assert len(seen) < 50 + 6 * p


def test_rosenbrock() -> None:
    status, memory, seen = minimize(rosenbrock, [-1.2, 1.0] * 3)
    assert status == descent.CONVERGED
    np.testing.assert_allclose(memory.vectors[descent.LOWEST], 1.0, atol=1e-2)
    assert memory.numbers[descent.BEST] < 1e-5
    assert len(seen) < 200


def test_quadratic_within_bounds(rng: np.random.Generator) -> None:
    """Against scipy's, to what a flat gradient leaves."""
    from scipy.optimize import minimize as other

    for p in (2, 8, 30):
        function, best = quadratic(rng, p)
        low, high = best - rng.uniform(0.5, 1.0, p), best + rng.uniform(1.0, 2.0, p)
        low[::2] += 1.2  # so that it lies at some of them
        status, memory, _ = minimize(function, np.clip(np.zeros(p), low, high), low, high)
        expected = other(
            function, np.clip(best, low, high), jac=True, bounds=list(zip(low, high, strict=True)),
            options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 10_000},
        )  # fmt: skip
        assert status == descent.CONVERGED
        assert memory.numbers[descent.BEST] == pytest.approx(expected.fun, rel=1e-5)
        at_bound = (expected.x == low) | (expected.x == high)
        assert at_bound.any()
        found = memory.vectors[descent.LOWEST]
        np.testing.assert_allclose(found, expected.x, atol=1e-2)


def test_it_ends_at_the_bounds() -> None:
    """Where the function falls towards a corner, it goes there and no further."""
    status, memory, seen = minimize(lambda x: (x.sum(), np.ones(3)), [5.0, 6.0, 7.0], low=1.0)
    assert status == descent.CONVERGED
    assert memory.vectors[descent.LOWEST].tolist() == [1.0, 1.0, 1.0]
    assert len(seen) < 30
    # begun outside, and in a corner
    status, memory, seen = minimize(lambda x: (x.sum(), np.ones(2)), [-9.0, 0.0], low=1.0)
    assert (status, len(seen)) == (descent.CONVERGED, 1)
    assert memory.vectors[descent.LOWEST].tolist() == [1.0, 1.0]


def test_it_ends_at_a_flat_gradient() -> None:
    status, memory, seen = minimize(lambda x: (3.0, np.zeros(4)), np.ones(4))
    assert (status, len(seen), memory.counts[descent.STEPS]) == (descent.CONVERGED, 1, 0)
    assert memory.numbers[descent.BEST] == 3.0


def test_no_number_at_all_is_searched() -> None:
    status, memory, _ = minimize(lambda x: (2.0, np.empty(0)), np.empty(0))
    assert (status, memory.numbers[descent.BEST]) == (descent.CONVERGED, 2.0)


def test_the_limit_of_steps(rng: np.random.Generator) -> None:
    function, _ = quadratic(rng, 20)
    status, memory, seen = minimize(function, np.zeros(20), limit=5)
    assert status == descent.MOST
    assert memory.counts[descent.STEPS] == 5
    lowest = min(function(one)[0] for one in seen)
    assert memory.numbers[descent.BEST] == lowest
    assert function(memory.vectors[descent.LOWEST])[0] == lowest


def test_progress_over_ten_steps_ends_it(rng: np.random.Generator) -> None:
    """By less than `tol`, relatively."""
    loose, tight = (minimize(rosenbrock, np.zeros(20), tol=tol) for tol in (0.3, 1e-13))
    assert loose[0] == tight[0] == descent.CONVERGED
    assert len(loose[2]) < len(tight[2])
    assert loose[1].counts[descent.STEPS] > 10


@pytest.mark.parametrize("stray", [np.inf, np.nan, -np.inf])
def test_a_first_value_that_is_not_finite(stray: float) -> None:
    status, memory, seen = minimize(lambda x: (stray, np.ones(2)), np.ones(2))
    assert (status, len(seen)) == (descent.STRAY, 1)
    assert memory.numbers[descent.BEST] == np.inf
    status, _, _ = minimize(lambda x: (1.0, np.array([1.0, stray])), np.ones(2))
    assert status == descent.STRAY


@pytest.mark.parametrize("stray", [np.inf, np.nan, -np.inf])
@pytest.mark.parametrize("where", ["value", "gradient"])
def test_trials_that_are_not_finite(stray: float, where: str, rng: np.random.Generator) -> None:
    """A step there is shortened, and the minimum found beside it; they are never the best."""
    function, best = quadratic(rng, 3)
    wall, met = best[0] + 0.01, []

    def beyond(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = function(x)
        if x[0] < wall:
            return value, gradient
        met.append(x)
        return (stray, gradient) if where == "value" else (value, gradient + stray)

    status, memory, _ = minimize(beyond, best - [900.0, 30.0, 70.0])
    assert met
    assert status == descent.CONVERGED
    assert memory.vectors[descent.LOWEST][0] < wall
    assert memory.numbers[descent.BEST] == pytest.approx(1.0, abs=1e-3)


def test_a_function_that_never_falls_ends() -> None:
    """Gradients that promise what does not come."""
    status, memory, seen = minimize(lambda x: (float(np.abs(x).sum()), -np.ones(2)), np.ones(2))
    assert status == descent.CONVERGED
    assert len(seen) < 200
    assert memory.numbers[descent.BEST] == 2.0


# -- blocks of rows --------------------------------------------------------------------------------


def problem(
    rng: np.random.Generator, loss: object, geometry: object, block: int
) -> tuple[Objective, Packing, np.ndarray]:
    q = random_posterior(rng, 3, 4, geometry, loss.scores)
    rows = random_rows(rng, 2000, q, geometry, loss)
    prior = Prior().expand(3, 4, loss.scores)
    free = [name for name in FIELDS if geometry.learned or not name.startswith("center")]
    packing = Packing(q, free)
    return Objective(loss, geometry, prior, rows, 1.5, block=block), packing, packing.pack(q)


@pytest.mark.parametrize("eliminated", [False, True])
@EACH_GEOMETRY
@EACH_LOSS
def test_blocks_give_the_same_for_any_number_of_threads(
    loss, geometry, eliminated: bool, rng: np.random.Generator
) -> None:
    """The same bits for 1 and 3 threads, and to 1e-12 what one loop over all rows gives."""
    if eliminated and not isinstance(loss, Squared):
        pytest.skip("only the squared loss has closed forms")
    state = rng.bit_generator.state
    found = []
    for block, threads in ((8192, 1), (150, 1), (150, 3)):
        rng.bit_generator.state = state
        objective, packing, at = problem(rng, loss, geometry, block)
        with ThreadPoolExecutor(3) as executor:
            evaluator = Evaluator(
                objective, packing, eliminated, None if threads == 1 else executor
            )
            assert evaluator.many == (block == 150)
            found.append((evaluator.evaluate(at), flatten(evaluator.solved(at))))
    (whole, models), (one, _), (three, _) = found
    assert (one.value, one.risk, one.kl) == (three.value, three.risk, three.kl)
    np.testing.assert_array_equal(one.gradient, three.gradient)
    np.testing.assert_array_equal(found[1][1], found[2][1])
    assert one.value == pytest.approx(whole.value, rel=1e-12)
    size = np.abs(whole.gradient).max()
    np.testing.assert_allclose(one.gradient, whole.gradient, rtol=1e-12, atol=1e-12 * size)
    np.testing.assert_allclose(found[1][1], models, rtol=1e-9, atol=1e-9)


@EACH_LOSS
def test_searches_give_the_same_for_any_number_of_threads(loss, rng: np.random.Generator) -> None:
    state, found = rng.bit_generator.state, []
    for threads in (1, 3):
        rng.bit_generator.state = state
        objective, packing, at = problem(rng, loss, LearnedBalls(), 150)
        found.append(
            lbfgs(objective, packing.unpack(at), list(FIELDS), max_iter=8, n_threads=threads)
        )
    assert found[0].objective == found[1].objective
    np.testing.assert_array_equal(*(flatten(one.posterior) for one in found))


@EACH_LOSS
def test_a_value_alone_is_that_with_a_gradient(loss, rng: np.random.Generator) -> None:
    for block in (150, 8192):
        objective, packing, at = problem(rng, loss, LearnedBalls(), block)
        evaluator = Evaluator(objective, packing)
        both, alone = evaluator.evaluate(at), evaluator.evaluate(at, gradient=False)
        assert (both.value, both.risk, both.kl) == (alone.value, alone.risk, alone.kl)
        numeric = differences(lambda v, e=evaluator: e.evaluate(v, gradient=False).value, at, 1e-4)
        assert np.abs(both.gradient - numeric).max() <= 1e-6 * np.abs(numeric).max()


@EACH_LOSS
def test_a_stopped_search_of_many_rows_has_the_lowest_point_of_all(
    loss, rng: np.random.Generator
) -> None:
    """Blocks of an evaluation that was not finished have no part in it."""
    objective, packing, at = problem(rng, loss, LearnedBalls(), 150)
    start, ends = packing.unpack(at), []
    for last in (0, 1, 40, 200):
        calls = iter(range(10_000))
        stopped = lbfgs(objective, start, list(FIELDS), stop=lambda c=calls, n=last: next(c) >= n)
        assert (stopped.converged, stopped.message) == (False, "stopped")
        assert stopped.objective == pytest.approx(objective.value(stopped.posterior), rel=1e-12)
        ends.append(stopped.objective)
    first = objective.value(start)
    assert ends[0] <= first + 1e-12 * abs(first)
    assert np.diff(ends).max() <= 1e-12
    assert ends[-1] < ends[0]


# -- screening -------------------------------------------------------------------------------------


@EACH_LOSS
def test_what_a_ball_promises_is_the_loss_of_hard_memberships(
    loss, rng: np.random.Generator
) -> None:
    """With ridge models inside and outside, computed anew by NumPy."""
    q = random_posterior(rng, 0, 3, LearnedBalls(), loss.scores)
    rows = random_rows(rng, 300, q, LearnedBalls(), loss)
    objective = Objective(loss, LearnedBalls(), Prior().expand(0, 3, loss.scores), rows, 2.0)
    none = one_model(objective, False)
    design = np.column_stack([rows.features, np.ones(300)])
    aim = rows.target
    if loss.scores:  # by which residuals are measured: 1 for the class, -1 for the others
        aim = 2.0 * np.equal.outer(np.arange(*loss.scores), aim) - 1.0

    def ridge(inside: np.ndarray) -> np.ndarray:
        """One step of reweighted least squares from the model there is; else from nothing."""
        begin = loss.steps * np.concatenate([none.coef[0], none.intercept[0][..., None]], axis=-1)
        response, curvature = loss.working(rows.target[inside], begin @ design[inside].T)
        weighted = design[inside] * (rows.weight[inside] * curvature)[:, None]
        gram = design[inside].T @ weighted + np.eye(4)
        return begin + np.linalg.solve(gram, (response @ weighted).T).T

    def left(inside: np.ndarray) -> float:
        mean, weight = ridge(inside) @ design[inside].T, rows.weight[inside]
        residual = np.mean(np.average((aim[..., inside] - mean) ** 2, axis=-1, weights=weight))
        exact = loss.likelihood or isinstance(loss, Squared)
        variance = 0.0 if exact else max(residual, 1e-3)
        value = loss.value_and_partials(rows.target[inside], mean, np.full(len(weight), variance))
        return float(weight @ value.value)

    before = objective.gibbs_risk(none) * rows.weight.sum()
    for ball in promising_balls(objective, none, 30, rng):
        inside = np.linalg.norm(rows.features - ball.placed["center"], axis=1) <= ball.radius
        inside |= np.isclose(np.linalg.norm(rows.features - ball.placed["center"], axis=1),
                             ball.radius, rtol=1e-9)  # fmt: skip
        models = np.concatenate([ball.coef, ball.intercept[..., None]], axis=-1)
        for side, model in zip((inside, ~inside), models, strict=True):
            np.testing.assert_allclose(ridge(side), model, atol=1e-8)
        expected = (before - left(inside) - left(~inside)) / rows.weight.sum()
        assert ball.gain == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_a_fit_of_few_rows_is_the_same_wherever_arrays_lie(rng: np.random.Generator) -> None:
    """Sums over rows are taken in one order, whatever memory they are in."""
    X, y = rng.normal(size=(6, 2)), rng.normal(size=6)
    kept, found = [], set()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no training row belongs")
        for _ in range(30):
            kept.append(np.ones(rng.integers(1, 300)))
            model = LocalMixtureRegressor(1, inverse_temperature=16.0, n_starts=1, random_state=0)
            found.add(model.fit(X, y).mixture_.hash)
    assert len(found) == 1


# -- where compiled code is kept -------------------------------------------------------------------


def test_code_is_kept_under_a_digest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of the engine's own files, so that code of another version is never used."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "named"))
    folder = compiling.cache_folder()
    assert folder is not None
    assert folder.parent == tmp_path / "named"
    assert folder.is_dir()
    name, digest = folder.name.split("-")
    assert (name, len(digest)) == ("engine", 16)
    assert compiling.cache_folder() == folder
    changed = tmp_path / "rows.py"
    changed.write_text("# another version")
    monkeypatch.setattr(compiling, "_SOURCES", [*compiling._SOURCES, changed])
    assert compiling.cache_folder() != folder


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
def test_the_users_cache_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert compiling.cache_folder().parent == tmp_path / "cache" / "motlm"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert compiling.cache_folder().parent == tmp_path / "home" / ".cache" / "motlm"


def test_where_nothing_can_be_written_no_code_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(file / "below"))  # a file is no folder
    assert compiling.cache_folder() is None
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda *_: False)  # as in a read-only file system
    assert compiling.cache_folder() is None


def test_functions_are_compiled_without_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_FOLDER", None)

    @entry
    def double(x: float) -> float:
        return 2.0 * x

    assert double(1.5) == 3.0
    assert not double.stats.cache_path


@pytest.mark.parametrize(
    ("version", "own"),
    [((0, 61), False), ((0, 62), True), ((0, 68), True), ((0, 69), False), ((1, 0), False)],
)
def test_other_versions_of_numba_compile_in_their_own_way(
    monkeypatch: pytest.MonkeyPatch, version: tuple[int, int], own: bool
) -> None:
    """What replaces parts of Numba is used with versions alone that it was tried with."""
    monkeypatch.setattr(linking.numba, "version_info", SimpleNamespace(short=version))
    part, whole = linking.compilers()
    assert (part is not None, whole is not None) == (own, own)


def test_functions_inside_an_entry_get_no_machine_code_of_their_own() -> None:
    if linking.PART is None:
        pytest.skip(f"Numba {numba.__version__} compiles in its own way")

    @compiling.compiled
    def square(x: float) -> float:
        return x * x

    @entry
    def sum_of_squares(x: float, y: float) -> float:
        return square(x) + square(y)

    assert sum_of_squares(3.0, 4.0) == 25.0
    [library] = [one.library for one in square.overloads.values()]
    assert square.py_func.__name__ in str(library._final_module)  # what others take from it
    noted = [one for one in library._noted.functions if not one.is_declaration]
    assert noted == []


FIT = """
    import sys, warnings
    import numpy as np
    from motlm import LocalMixtureRegressor
    from motlm._engine import compile, entries
    warnings.simplefilter("ignore")
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.abs(X[:, 0]) + X[:, 1]
    model = LocalMixtureRegressor(1, n_starts=1, inverse_temperature=4.0, random_state=0).fit(X, y)
    print(compile.cache_folder(), model.posterior_.coef.tobytes().hex())
"""


def fit_elsewhere(**environment: str) -> list[str]:
    """Where code is kept, and what was found, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FIT)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    ).stdout.split()


@pytest.mark.slow
def test_fits_where_nothing_can_be_written(tmp_path: Path) -> None:
    """And with the bits of other processes: of code that was compiled, and that was kept."""
    file = tmp_path / "file"
    file.touch()
    nowhere = str(file / "below")
    folder, found = fit_elsewhere(
        HOME=nowhere, XDG_CACHE_HOME=nowhere, LOCALAPPDATA=nowhere, NUMBA_CACHE_DIR=nowhere
    )
    assert folder == "None"
    cache = tmp_path / "cache"
    first, compiled = fit_elsewhere(NUMBA_CACHE_DIR=str(cache))
    files = {path: path.stat().st_mtime_ns for path in cache.rglob("*.nb*")}
    assert Path(first).parent == cache
    assert files
    assert all(first in str(path) for path in files)
    second, kept = fit_elsewhere(NUMBA_CACHE_DIR=str(cache))
    assert second == first
    again = {path: path.stat().st_mtime_ns for path in cache.rglob("*.nb*")}
    assert again == files  # nothing was compiled
    assert found == compiled == kept


# -- the process that compiles a part -------------------------------------------------------------


KIND = warmup._Kind(Squared(), learned=True, sought=True, laid=True, many=False, dtype="float64")


def put_in_place_of_python(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
    if sys.platform == "win32":
        pytest.skip("a shell script stands for the interpreter")
    file = folder / "python"
    file.write_text(script)
    file.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(file))
    monkeypatch.setattr(warmup, "cpu_count", lambda: 2)


def test_what_the_other_process_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(pickle.dumps(KIND))))
    called = []
    monkeypatch.setattr(warmup, "lbfgs", lambda *_, **__: called.append("search"))
    monkeypatch.setattr(warmup, "weakest", lambda *_: called.append("weakest"))
    warmup.assist()
    assert called == ["weakest"]  # and the last


@pytest.mark.parametrize("script", ["#!/bin/sh\nexit 1\n", "not a program"])
def test_a_process_that_cannot_help_is_done_without(
    script: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put_in_place_of_python(monkeypatch, tmp_path, script)
    inside = []
    with warmup._help(KIND):
        inside.append(True)
    assert inside


def test_what_is_no_interpreter_is_not_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put_in_place_of_python(monkeypatch, tmp_path, f"#!/bin/sh\ntouch {tmp_path}/started\n")
    with warmup._help(KIND):
        pass
    assert (tmp_path / "started").exists()
    (tmp_path / "started").unlink()
    application = (tmp_path / "python").rename(tmp_path / "application")
    monkeypatch.setattr(sys, "executable", str(application))
    with warmup._help(KIND):
        pass
    assert not (tmp_path / "started").exists()


def test_a_fit_that_is_stopped_leaves_no_process_behind(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put_in_place_of_python(monkeypatch, tmp_path, "#!/bin/sh\nexec sleep 600\n")
    started, popen = [], subprocess.Popen

    def start(*arguments: Any, **options: Any) -> Any:
        started.append(popen(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    with pytest.raises(KeyboardInterrupt), warmup._help(KIND):
        raise KeyboardInterrupt
    [helper] = started
    assert helper.poll() is not None


def test_the_collection_of_garbage_goes_on() -> None:
    with warmup._no_collection():
        assert not gc.isenabled()
    assert gc.isenabled()
