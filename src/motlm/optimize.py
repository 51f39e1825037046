"""One search from one start, by L-BFGS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from .objective import Evaluator, Objective, StoppedError, never, solve_models
from .posterior import EVERY, MODEL_FIELDS, Packing, Posterior, flatten

__all__ = [
    "NATS",
    "Record",
    "Solution",
    "Solver",
    "eliminates",
    "lbfgs",
    "solution_at",
    "value_at",
]


@dataclass(frozen=True)
class Solution:
    """Where a search ended.

    Attributes
    ----------
    posterior : Posterior
    objective, gibbs_risk, kl : float
        What was minimized, and its parts.
    inverse_temperature : float
    n_iter : int
        Steps that were taken.
    converged : bool
    message : str
        Why the search ended.

    Examples
    --------
    Without localities, and with the squared loss, there is nothing to search:

    >>> from motlm import Prior
    >>> from motlm.datasets import make_reg_case1
    >>> from motlm.losses import Squared
    >>> from motlm.geometry import LearnedBalls
    >>> from motlm.objective import Objective
    >>> from motlm.optimize import lbfgs
    >>> from motlm.rows import Rows
    >>> from motlm.starts import one_model
    >>> X, y = make_reg_case1(100, random_state=0)
    >>> objective = Objective(Squared(), LearnedBalls(), Prior(), Rows.of(X, y), 4.0)
    >>> free = ["coef", "coef_scale", "intercept", "intercept_scale"]
    >>> solution = lbfgs(objective, one_model(objective, False), free)
    >>> solution.message, solution.n_iter
    ('closed form', 1)
    """

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
    """One line of an estimator's `path_`: a minimum found with so many localities at one inverse
    temperature.

    Attributes
    ----------
    stage : str
        "search": along the way, on the rows that are not held out; "without": likewise, of one
        model beside which the localities that were asked for can be judged; "final": on all rows,
        without localities that have none.
    n_localities : int
    inverse_temperature : float
    rank : int
        0 for the best minimum found with these two.
    objective, gibbs_risk, kl : float
        In the user's units.
    n_iter : int
    converged : bool
    held_out_score : float or None
        Accuracy or R2 of the held-out rows, for rank 0.
    bound : float or None
        What ``select="bound"`` compares, for rank 0.

    Examples
    --------
    >>> from motlm import LocalMixtureRegressor
    >>> from motlm.datasets import make_reg_case1
    >>> X, y = make_reg_case1(200, random_state=0)
    >>> mixture = LocalMixtureRegressor(
    ...     points_of_interest=[[0.0]], inverse_temperature=[1, 16], n_starts=1, random_state=0
    ... )
    >>> path = mixture.fit(X, y).path_
    >>> found = [one for one in path if one.n_localities and one.rank == 0]  # not those "without"
    >>> [(record.stage, record.inverse_temperature) for record in found]
    [('search', 1.0), ('search', 16.0), ('final', 16.0)]
    """

    stage: str  # "search", "without" or "final"
    n_localities: int
    inverse_temperature: float
    rank: int  # 0 for the best minimum found with these two
    objective: float  # like the estimator's objective_ and gibbs_risk_, in the user's units
    gibbs_risk: float
    kl: float
    n_iter: int
    converged: bool
    held_out_score: float | None  # accuracy or R2 of the held-out rows, for rank 0
    bound: float | None  # what select="bound" compares, for rank 0


Solver = Callable[..., Solution]
_RESCALED = 40  # steps after which the vector is scaled anew
# of the objective of a likelihood, to which tolerances are relative: the noise of many rows makes
# it large, and a locality is worth some ten
NATS = 1000.0


def solution_at(
    objective: Objective, posterior: Posterior, n_iter: int, converged: bool, message: str
) -> Solution:
    found = objective.evaluate(posterior)
    temperature = objective.inverse_temperature
    return Solution(
        posterior, found.value, found.risk, found.kl, temperature, n_iter, converged, message
    )


def eliminates(objective: Objective, free: Sequence[str]) -> bool:
    """Whether the linear models need no search: with the sum of squared losses they have closed
    forms.
    """
    return _is_closed(objective, free) and not is_wide(objective)


def _is_closed(objective: Objective, free: Sequence[str]) -> bool:
    return objective.has_closed_form and set(MODEL_FIELDS) <= set(free)


def is_wide(objective: Objective) -> bool:
    """Whether models have so many features more than localities have coordinates that a closed form
    at each step takes longer than a search for them.
    """
    rows = objective.rows
    return rows.features.shape[1] > rows.coordinates.shape[1] and not rows.distance.shape[1]


def value_at(
    objective: Objective,
    alike: Posterior,
    free: Sequence[str],
    stop: Callable[[], bool] = never,
) -> Callable[[Posterior], float]:
    """The objective as a function of posteriors with as many localities as this one, with the best
    models where they have closed forms; infinite where it was stopped.
    """

    def evaluator_of(like: Posterior) -> Evaluator:
        packing = Packing(like, EVERY, plain=True)
        return Evaluator(objective, packing, eliminates(objective, free), stop=stop)

    shared = evaluator_of(alike) if alike.layout is None else None

    def value(posterior: Posterior) -> float:
        evaluator = shared or evaluator_of(posterior)  # each layout is of one posterior
        try:
            return evaluator.evaluate(flatten(posterior), gradient=False).value
        except StoppedError:
            return np.inf

    return value


def lbfgs(
    objective: Objective,
    start: Posterior,
    free: Sequence[str],
    max_iter: int = 1000,
    tol: float | None = None,
    stop: Callable[[], bool] = never,
    n_threads: int = 1,
) -> Solution:
    """L-BFGS on the packed posterior, positives as logarithms and kept within the range of the
    tables.

    With the squared loss the linear models are eliminated: at each point they are the best ones for
    the localities there, in closed form, and only the localities are searched (the gradient is the
    same, by the envelope theorem).

    The vector is scaled by the Fisher information of the posterior, anew every 40 steps: in those
    units the divergence has the curvature 1, and at a minimum the loss has about the same.

    It ends when ten steps lower the objective by less than `tol` (default 1e-5) relatively, at a
    flat gradient, or when `stop` returns True, with the best point seen. (One step is not enough:
    the first after a change of lambda may be tiny.)

    Parameters
    ----------
    objective : Objective
    start : Posterior
    free : sequence of str
        Fields of the posterior that are searched; the others stay as in the start.
    max_iter : int, default=1000
        Most steps.
    tol : float, default=None
    stop : callable
        Called every few hundredths of a second; the search ends when it returns True.
    n_threads : int, default=1
        That share the rows, where there are many.

    Returns
    -------
    Solution

    Examples
    --------
    >>> from motlm import Prior
    >>> from motlm.datasets import make_clf_case1
    >>> from motlm.losses import ZeroOne
    >>> from motlm.geometry import LearnedBalls
    >>> from motlm.objective import Objective
    >>> from motlm.optimize import lbfgs
    >>> from motlm.rows import Rows
    >>> from motlm.starts import one_model
    >>> X, y = make_clf_case1(200, random_state=0)
    >>> objective = Objective(ZeroOne(), LearnedBalls(), Prior(), Rows.of(X, y), 4.0)
    >>> start = one_model(objective, unit_scale=False)
    >>> solution = lbfgs(objective, start, ["coef", "coef_scale", "intercept", "intercept_scale"])
    >>> solution.converged, solution.objective < objective.value(start)
    (True, True)
    """
    eliminated = eliminates(objective, free)
    closed = _is_closed(objective, free)
    if closed and start.n_localities == 0:
        return solution_at(objective, solve_models(objective, start), 1, True, "closed form")
    if eliminated:
        free = [name for name in free if name not in MODEL_FIELDS]
    tol = 1e-5 if tol is None else tol
    if closed and not eliminated:  # the search begins with the best models
        start = solve_models(objective, start)
    with ExitStack() as stack:
        executor = stack.enter_context(ThreadPoolExecutor(n_threads)) if n_threads > 1 else None
        packing = Packing(start, free, False, objective.signs, objective.struck, objective.sharpest)
        evaluator = Evaluator(objective, packing, eliminated, executor, stop)
        return _descend(evaluator, start, max_iter, tol, stop)


def _descend(
    evaluator: Evaluator, start: Posterior, max_iter: int, tol: float, stop: Callable[[], bool]
) -> Solution:
    from ._engine import descent

    packing, objective = evaluator.packing, evaluator.objective
    cap = NATS if objective.loss.likelihood else np.inf
    lower, upper = packing.bounds()
    best, steps = np.clip(packing.pack(start), lower, upper), 0
    value, risk, kl = np.inf, np.nan, np.nan
    converged, message = False, f"max_iter = {max_iter} steps done"
    while steps < max_iter:
        unit = packing.scales(packing.unpack(best))
        limit = min(_RESCALED, max_iter - steps)
        block = _curvature(objective, packing, packing.unpack(best))
        memory = descent.new_memory(best / unit, lower / unit, upper / unit, limit, tol, cap, block)
        status, stopped = descent.RUNNING, False
        try:
            while status == descent.RUNNING and not stopped:
                status = evaluator.run(memory, unit, evaluator.budget)
                stopped = status != descent.CONVERGED and stop()
        except StoppedError:
            stopped = True
        steps += int(memory.counts[descent.STEPS])
        if memory.numbers[descent.BEST] < value:
            best = memory.vectors[descent.LOWEST] * unit
            value, risk, kl = (
                float(memory.numbers[which])
                for which in (descent.BEST, descent.BEST_RISK, descent.BEST_KL)
            )
        if status == descent.CONVERGED:
            converged, message = True, "no further decrease"
        elif status == descent.STRAY:
            message = "gradients beyond the range of floats"
        elif stopped:
            message = "stopped"
        if converged or stopped or status == descent.STRAY:
            break
    evaluator.stop = never  # what was found is finished
    end = evaluator.solved(best)
    if not np.isfinite(value):
        return solution_at(objective, end, steps, converged, message)
    temperature, total = objective.inverse_temperature, risk + kl / evaluator.nats
    return Solution(end, total, risk, kl, temperature, steps, converged, message)


def _curvature(objective: Objective, packing: Packing, posterior: Posterior) -> Any:
    """Of the exterior's weights, where they are many: that of the loss is about the same in all
    rows, and of the divergence 1 / scale^2.
    """
    from ._engine import descent

    first = packing.exterior
    if first is None or not is_wide(objective):
        return None
    rows, rho = objective.rows, float(posterior.coef_scale[-1])
    spread, ways = rows.spectrum
    scores = posterior.coef[-1] @ rows.features.T + posterior.intercept[-1][..., None]
    variance = posterior.variances(posterior.norms2(rows.features))[-1]
    _, bends = objective.loss.push(np.asarray(rows.target, float), scores, variance)
    bend = float(np.average(bends, weights=rows.weight))
    size = np.mean(posterior.coef[-1] ** 2) + rho**2
    curvature = rho**2 * (objective.inverse_temperature * bend * spread + 1.0 / size)
    copies = posterior.coef[-1].size // len(spread)
    return descent.Block(first, copies, ways, 1.0 / curvature)
