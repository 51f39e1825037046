"""One search from one start, by either of two solvers; the best of several starts; a path over lambda."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from ._typing import Array
from .losses import Squared
from .objective import Objective, with_best_models
from .posterior import Packing, Posterior
from .vicinity import Table

__all__ = ["SOLVERS", "Record", "Solution", "best", "lbfgs", "nadam", "paths"]


@dataclass(frozen=True)
class Solution:
    """Where a search ended."""

    posterior: Posterior
    objective: float
    gibbs_risk: float
    kl: float
    inverse_temperature: float
    n_iter: int
    converged: bool
    message: str


@dataclass(frozen=True)
class Record:
    """One line of an estimator's `path_`: what a start gave at one inverse temperature."""

    stage: str  # "selection": on the training part of the rows; "final": on all rows, dead localities dropped
    inverse_temperature: float
    start: int  # number of the start that the search goes back to
    objective: float  # like the estimator's objective_ and gibbs_risk_, in the user's units
    gibbs_risk: float
    kl: float
    n_iter: int
    converged: bool
    held_out_score: float | None  # accuracy or R2 of the held-out rows, for the best start of each inverse temperature


Solver = Callable[..., Solution]
_MODELS = ("coef", "coef_scale", "intercept", "intercept_scale")


def _solution(objective: Objective, posterior: Posterior, n_iter: int, converged: bool, message: str) -> Solution:
    risk, kl = objective.gibbs_risk(posterior), objective.kl(posterior)
    value = risk + kl / (objective.inverse_temperature * objective.total_weight)
    return Solution(posterior, value, risk, kl, objective.inverse_temperature, n_iter, converged, message)


def lbfgs(
    objective: Objective, start: Posterior, free: Sequence[str], max_iter: int = 1000, tol: float | None = None
) -> Solution:
    """scipy's L-BFGS-B on the packed posterior, positives as logarithms and kept within the range of the tables.

    With the squared loss the linear models are eliminated: at each point they are the best ones for the localities there, in
    closed form, and only the localities are searched (the gradient is the same, by the envelope theorem).

    It stops when a step lowers the objective by less than `tol` (default 1e-8) relatively, or at a flat gradient.
    """
    eliminated = isinstance(objective.loss, Squared) and set(_MODELS) <= set(free)
    if eliminated:
        free = [name for name in free if name not in _MODELS]
        start = with_best_models(objective, start, objective.tables(start))
        if start.n_localities == 0:
            return _solution(objective, start, 1, True, "closed form")
    packing = Packing(start, free)
    lower, upper = packing.bounds()

    def at(vector: Array) -> tuple[Posterior, list[Table]]:
        posterior = packing.unpack(vector)
        tables = objective.tables(posterior)
        return with_best_models(objective, posterior, tables) if eliminated else posterior, tables

    def value_and_gradient(vector: Array) -> tuple[float, Array]:
        posterior, tables = at(vector)
        value, partials = objective.value_and_gradient(posterior, tables)
        return value, packing.pack_gradient(posterior, partials)

    result = minimize(
        value_and_gradient,
        np.clip(packing.pack(start), lower, upper),
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(lower, upper, strict=True)),
        options={
            "maxiter": max_iter,
            "maxfun": 20 * max_iter,
            "ftol": 1e-8 if tol is None else tol,
            "gtol": 1e-7,
            "maxcor": 20,
            "maxls": 40,
        },
    )
    # status 2 is a line search that found no further decrease: rounding, at the bottom
    return _solution(objective, at(result.x)[0], int(result.nit), result.status != 1, str(result.message))


_NADAM_RATES = {
    "center": 0.1,
    "coef": 0.1,
    "intercept": 0.1,
    "center_scale": 0.005,
    "coef_scale": 0.005,
    "intercept_scale": 0.005,
    "radius_shape": 2.0,
    "radius_rate": 2.0,
}
_NADAM_BOUNDS = {
    "center_scale": (1e-3, 1.0),
    "coef_scale": (1e-4, 1.0),
    "intercept_scale": (1e-4, 1.0),
    "radius_shape": (2.0, 1000.0),
    "radius_rate": (0.1, 1000.0),
}
_NADAM_CHECK = 40  # steps between looks at the stopping rules


def nadam(
    objective: Objective, start: Posterior, free: Sequence[str], max_iter: int = 2000, tol: float | None = None
) -> Solution:
    """The paper's solver: NAdam (Dozat, 2016) on the parameters themselves, with the learning rates of its experiments.

    Every 40 steps it stops when the objective fell by less than `tol` (default 0.05, as published) relatively since the last
    look, or when the radii's variances add up to more than the number of localities. The gradient is the exact one.
    """
    tol = 0.05 if tol is None else tol
    beta1, beta2, decay, tiny = 0.9, 0.999, 4e-3, 1e-8  # PyTorch's defaults, which the published experiments used
    posterior = _clipped(start, free)
    first = {name: np.zeros_like(getattr(posterior, name)) for name in free}
    second = {name: np.zeros_like(getattr(posterior, name)) for name in free}
    product = 1.0
    best_value, best_posterior = np.inf, posterior
    last_look = np.inf
    step, converged, message = 0, False, f"max_iter = {max_iter} steps done"
    while step < max_iter:
        value, partials = objective.value_and_gradient(posterior)
        if value < best_value:
            best_value, best_posterior = value, posterior
        if step % _NADAM_CHECK == 0 and step:
            wide = float((posterior.radius_shape / posterior.radius_rate**2).sum()) > posterior.n_localities
            if last_look - value < tol * abs(last_look) or wide:
                converged, message = True, "the radii spread too far" if wide else "progress below tol"
                break
        if step % _NADAM_CHECK == 0:
            last_look = value
        step += 1
        now = beta1 * (1.0 - 0.5 * 0.96 ** (step * decay))
        later = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * decay))
        product *= now
        changed = {}
        for name in free:
            gradient = getattr(partials, name)
            first[name] = beta1 * first[name] + (1.0 - beta1) * gradient
            second[name] = beta2 * second[name] + (1.0 - beta2) * gradient**2
            size = np.sqrt(second[name] / (1.0 - beta2**step)) + tiny
            ahead = (1.0 - now) / (1.0 - product) * gradient + later / (1.0 - product * later) * first[name]
            changed[name] = getattr(posterior, name) - _NADAM_RATES[name] * ahead / size
        posterior = _clipped(replace(posterior, **changed), free)
    if not converged and objective.value(posterior) < best_value:
        best_posterior = posterior
    return _solution(objective, best_posterior, step, converged, message)


def _clipped(posterior: Posterior, free: Sequence[str]) -> Posterior:
    bounded = {name: np.clip(getattr(posterior, name), *_NADAM_BOUNDS[name]) for name in free if name in _NADAM_BOUNDS}
    return replace(posterior, **bounded)


SOLVERS: dict[str, Solver] = {"lbfgs": lbfgs, "nadam": nadam}


def _path(
    objectives: Sequence[Objective], start: Posterior, solver: Solver, free: Sequence[str], options: dict[str, object]
) -> list[Solution]:
    solutions = []
    with threadpool_limits(limits=1, user_api="blas"):  # a block's products are small: more threads only wait for each other
        for objective in objectives:
            solution = solver(objective, start, free, **options)
            solutions.append(solution)
            start = solution.posterior
    return solutions


def paths(
    objectives: Sequence[Objective],
    starts: Sequence[Posterior],
    solver: Solver,
    free: Sequence[str],
    options: dict[str, object],
    n_jobs: int | None = None,
) -> list[list[Solution]]:
    """For each start its solutions along the objectives, each search going on from the one before.

    The result is the same for any n_jobs: a path knows nothing of the others.
    """
    return list(Parallel(n_jobs=n_jobs)(delayed(_path)(objectives, start, solver, free, options) for start in starts))


def best(solutions: Sequence[Solution]) -> int:
    """Index of the lowest objective; the first of equals."""
    return int(np.argmin([solution.objective for solution in solutions]))
