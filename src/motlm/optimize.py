"""One search from one start, by L-BFGS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from ._typing import Array
from .lookup import Lookup
from .objective import Objective, solve_models
from .posterior import MODEL_FIELDS, Packing, Posterior

__all__ = [
    "Record",
    "Solution",
    "Solver",
    "eliminates",
    "lbfgs",
    "never",
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
        "search": along the way, on the rows that are not held out; "final": on all rows,
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
    >>> [(record.stage, record.inverse_temperature) for record in path if record.rank == 0]
    [('search', 16.0), ('search', 1.0), ('final', 16.0)]
    """

    # "search": along the way, on the rows that are not held out; "final": on all rows,
    # without localities that have none
    stage: str
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
_LOOK_BACK = 10  # steps over which progress is measured
_OPTIONS = {"ftol": 1e-13, "gtol": 1e-3, "maxcor": 20, "maxls": 40}  # of scipy's L-BFGS-B
_RESCALED = 40  # steps after which the vector is scaled anew


def solution_at(
    objective: Objective,
    posterior: Posterior,
    n_iter: int,
    converged: bool,
    message: str,
    lookup: Lookup | None = None,
) -> Solution:
    risk, kl = objective.gibbs_risk(posterior, lookup), objective.kl(posterior)
    value = risk + kl / (objective.inverse_temperature * objective.total_weight)
    return Solution(
        posterior, value, risk, kl, objective.inverse_temperature, n_iter, converged, message
    )


class _StopError(Exception):
    """Time is over, or the user wants to stop."""


class _StrayError(Exception):
    """L-BFGS has left the range of floats: its own sums of squared gradients overflow."""


def never() -> bool:
    return False


def eliminates(objective: Objective, free: Sequence[str]) -> bool:
    """Whether the linear models need no search: with the sum of squared losses they have closed
    forms.
    """
    closed = objective.loss.closed_form and objective.combination.additive
    return closed and set(MODEL_FIELDS) <= set(free)


def value_at(objective: Objective, start: Posterior, free: Sequence[str]) -> float:
    """The objective at a start, with the best models where they have closed forms."""
    lookup = objective.lookup(start)
    if eliminates(objective, free):
        start, _ = solve_models(objective, start, lookup)
    return objective.value(start, lookup)


def lbfgs(
    objective: Objective,
    start: Posterior,
    free: Sequence[str],
    max_iter: int = 1000,
    tol: float | None = None,
    stop: Callable[[], bool] = never,
) -> Solution:
    """scipy's L-BFGS-B on the packed posterior, positives as logarithms and kept within the range
    of the tables.

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
        Called before each step; the search ends when it returns True.

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
    if eliminated:
        free = [name for name in free if name not in MODEL_FIELDS]
        if start.n_localities == 0:
            start, _ = solve_models(objective, start, objective.lookup(start))
            return solution_at(objective, start, 1, True, "closed form")
    tol = 1e-5 if tol is None else tol
    descent = _Descent(objective, Packing(start, free), eliminated, tol, stop)
    converged, message = False, f"max_iter = {max_iter} steps done"
    try:
        while (done := len(descent.values)) < max_iter:
            result = descent.descend(min(_RESCALED, max_iter - done))
            # 1: all steps done. 2: no further decrease, for rounding. 99: stalled
            if result.status != 1:
                converged, message = True, str(result.message)
                break
            if len(descent.values) == done:  # the next try would be the same
                message = f"no step found within {result.nfev} evaluations"
                break
    except _StopError:
        message = "stopped"
    except _StrayError:
        message = "gradients beyond the range of floats"
    end = descent.packing.unpack(descent.best_vector)
    lookup = objective.lookup(end)
    if eliminated:
        end, _ = solve_models(objective, end, lookup)
    return solution_at(objective, end, len(descent.values), converged, message, lookup)


class _Descent:
    """One search: its best point so far, and the values of its steps."""

    def __init__(
        self,
        objective: Objective,
        packing: Packing,
        eliminated: bool,
        tol: float,
        stop: Callable[[], bool],
    ) -> None:
        self.objective, self.packing, self.eliminated = objective, packing, eliminated
        self.tol, self.stop = tol, stop
        self.lower, self.upper = packing.bounds()
        self.best_vector = np.clip(packing.pack(packing.template), self.lower, self.upper)
        self.best_value = np.inf
        self.values: list[float] = []
        self.nats = objective.inverse_temperature * objective.total_weight

    def value_and_gradient(self, vector: Array) -> tuple[float, Array]:
        if self.stop() and np.isfinite(self.best_value):
            raise _StopError
        if not np.isfinite(vector).all():
            raise _StrayError
        posterior, located = self.packing.unpack(vector), None
        lookup = self.objective.lookup(posterior)
        if self.eliminated:
            posterior, located = solve_models(self.objective, posterior, lookup)
        value, partials = self.objective.value_and_gradient(posterior, lookup, located)
        if value < self.best_value:
            self.best_value, self.best_vector = value, vector
        return value, self.packing.pack_gradient(posterior, partials)

    def descend(self, n_steps: int) -> Any:
        """Some steps in units in which the divergence has a curvature of about 1."""
        scale = self.packing.scales(self.packing.unpack(self.best_vector))
        before = len(self.values)

        def evaluate(vector: Array) -> tuple[float, Array]:
            value, gradient = self.value_and_gradient(vector * scale)
            return self.nats * value, self.nats * gradient * scale

        def look_back(intermediate_result: OptimizeResult) -> None:
            self.values.append(float(intermediate_result.fun) / self.nats)
            if len(self.values) - before > _LOOK_BACK and self._has_stalled():
                raise StopIteration

        return minimize(
            evaluate,
            self.best_vector / scale,
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(self.lower / scale, self.upper / scale, strict=True)),
            callback=look_back,
            options=_OPTIONS | {"maxiter": n_steps, "maxfun": 20 * n_steps},
        )

    def _has_stalled(self) -> bool:
        values = self.values
        if len(values) <= _LOOK_BACK:
            return False
        return values[-1 - _LOOK_BACK] - values[-1] < self.tol * abs(values[-1])
