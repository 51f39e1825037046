"""What training minimizes, L_S(Q) + KL(Q || P) / lambda, with its gradient.

    L_S(Q) = sum_rows weight [ sum_i omega_i l_i + prod_i (1 - omega_i) l_ext ] / sum_rows weight

with omega_i the row's membership in locality i and l_i the Gibbs loss of model i: eqs. 18, 21, 43
and 46 of the paper. Another combination of the l_i can take the place of the bracket. The engine
computes it, in machine code; here it is one object that says what is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from . import geometry as geometries
from ._renamed import forward
from ._typing import Array, Booleans, Integers
from .combinations import SUM, Combination
from .geometry import Geometry
from .lookup import memberships
from .losses import Loss, check_loss
from .posterior import EVERY, FREE_SCALES, Packing, Posterior, Prior, flatten, unflatten
from .rows import Rows

__all__ = [
    "BLOCK",
    "Evaluation",
    "Evaluator",
    "Located",
    "Objective",
    "StoppedError",
    "locate",
    "never",
    "solve_models",
]

BLOCK = 8192  # rows whose sums are taken before they are added to the others
_SMALLEST_BLOCK = 128
_AT_ONCE = 1 << 17  # rows times models in a block, at most
_IN_PASSING = 1 << 20  # likewise, of what is computed once
# blocks from which on they are handed out one by one, so that threads share them, and a search can
# be stopped between two
_MANY = 4
# lambda, or squared norm of a row, from which a membership below 0, by some 1e-11 of rounding, may
# outweigh the prior
_HEAVY = 1e9


class Located(NamedTuple):
    """Scores and memberships of rows."""

    mean: Array  # (n_localities + 1, n_rows); of several classes (.., n_classes, n_rows)
    omega: Array  # (n_localities, n_rows), probability of membership


def locate(geometry: Geometry, posterior: Posterior, rows: Rows) -> Located:
    mean, distance = geometry.scores_and_distances(posterior, rows)
    return Located(mean, memberships(geometry.tables(posterior), distance))


def solve_models(objective: Objective, posterior: Posterior) -> Posterior:
    """For the squared loss: the posterior with the linear models that are best for its localities,
    in closed form.

    Given the gates g the objective is quadratic in each model's means and separable in its scales:
    a weighted ridge regression towards the prior means, and, with l = inverse_temperature and prior
    scales r0, s0, rho^2 = d / (d / r0^2 + 2 l sum g |x|^2),  sigma^2 = 1 / (1 / s0^2 + 2 l sum g).

    Parameters
    ----------
    objective : Objective
    posterior : Posterior

    Returns
    -------
    Posterior

    Examples
    --------
    >>> from motlm import Prior
    >>> from motlm.datasets import make_reg_case1
    >>> from motlm.geometry import LearnedBalls
    >>> from motlm.losses import Squared
    >>> from motlm.objective import Objective, solve_models
    >>> from motlm.rows import Rows
    >>> from motlm.starts import one_model
    >>> X, y = make_reg_case1(100, random_state=0)
    >>> objective = Objective(Squared(), LearnedBalls(), Prior(), Rows.of(X, y), 4.0)
    >>> start = one_model(objective, unit_scale=False)
    >>> objective.value(solve_models(objective, start)) < objective.value(start)
    True
    """
    return Evaluator(objective, Packing(posterior, ()), eliminated=True).solved(np.empty(0))


class Evaluation(NamedTuple):
    """The objective at a point, its parts, and its gradient in the free numbers."""

    value: float
    risk: float
    kl: float
    gradient: Array


@dataclass(frozen=True)
class Objective:
    """L_S(Q) + KL(Q || P) / lambda over some rows, lambda = inverse_temperature * (sum of weights).

    Parameters
    ----------
    loss : Loss
        One of `motlm.losses`.
    geometry : Geometry
        One of `motlm.geometry`.
    prior : Prior
    rows : Rows
    inverse_temperature : float
    block : int, default=8192
        Rows that are computed at once.
    combination : Combination, default=SUM
        One of `motlm.combinations`.
    fine : bool, default=True
        Whether memberships are exact to ten digits; else to six, for the way of a search.
    sharpest : float, default=inf
        Largest shape of a radius that a search goes to.

    Examples
    --------
    >>> from motlm import Prior
    >>> from motlm.datasets import make_clf_case1
    >>> from motlm.losses import ZeroOne
    >>> from motlm.geometry import LearnedBalls
    >>> from motlm.objective import Objective
    >>> from motlm.rows import Rows
    >>> from motlm.starts import one_model
    >>> X, y = make_clf_case1(200, random_state=0)
    >>> objective = Objective(ZeroOne(), LearnedBalls(), Prior(), Rows.of(X, y), 4.0)
    >>> posterior = one_model(objective, unit_scale=False)
    >>> value = objective.gibbs_risk(posterior) + objective.kl(posterior) / (4.0 * 200)
    >>> abs(objective.value(posterior) - value) < 1e-12
    True
    """

    loss: Loss
    geometry: Geometry
    prior: Prior
    rows: Rows
    inverse_temperature: float
    block: int = BLOCK
    combination: Combination = SUM
    fine: bool = True
    signs: Integers | None = None  # (n_features,), that weights must have; 0: any
    # (n_localities + 1, n_features), weights that are 0, or where models are corrections no other
    struck: Booleans | None = None
    sharpest: float = np.inf

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_priors"}

    @property
    def has_closed_form(self) -> bool:
        """Whether the best models for given localities do: of the sum of squared losses, with
        weights that may be any.
        """
        free = self.signs is None and self.struck is None
        return bool(self.loss.closed_form and self.combination.additive and free)

    @property
    def many(self) -> bool:
        """Whether its rows are so many that they are handed out in blocks."""
        n = np.size(self.prior.radius_shape)
        return len(self.rows) > _MANY * _block(self.block, n, self.loss.scores)

    @property
    def total_weight(self) -> float:
        return self.rows.total_weight

    @cached_property
    def _priors(self) -> dict[tuple[int, ...], Array]:
        return {}

    def setup(self, like: Posterior, block: int) -> Any:
        """What the engine needs beside the rows and the vector, for posteriors like this one."""
        from ._engine import objective as engine
        from ._engine import tables

        n, n_coordinates, d = like.n_localities, like.center.shape[1], like.coef.shape[-1]
        check_loss(self.loss)
        rows, prior, layout = self.rows, self.prior, like.layout
        shape = (n, n_coordinates, d)
        if shape not in self._priors:
            if not self.geometry.learned:  # given centers have no prior, nor its width
                prior = replace(prior, center=0.0)
            self._priors[shape] = flatten(prior, *shape, self.loss.scores)
        heavy = max(self.inverse_temperature * self.total_weight, rows.largest_norm2) > _HEAVY
        return engine.Setup(
            self.geometry.learned,
            self.geometry.learned or self.geometry.measured,
            rows.coordinates is rows.features,
            self.loss.code,
            float(self.loss.tolerance),
            self.combination.code,
            float(self.inverse_temperature),
            self.total_weight,
            n,
            n_coordinates,
            d,
            int(np.prod(self.loss.scores)),
            heavy,
            bool(prior.learn_scales),
            like.pooled,
            np.ones((n, d)) if layout is None else np.asarray(layout.corrected, float),
            self.geometry.log_choices(like),
            FREE_SCALES[1],
            block,
            tables.fineness(self.fine),
            self._priors[shape],
        )

    def evaluate(self, posterior: Posterior) -> Evaluation:
        """With its partials in all fields, one after another."""
        evaluator = Evaluator(self, Packing(posterior, EVERY, plain=True))
        return evaluator.evaluate(flatten(posterior))

    def kl(self, posterior: Posterior) -> float:
        """KL(Q || P), eqs. 14, 20, 23 and 45 of the paper."""
        from ._engine.entries import divergence

        evaluator = Evaluator(self, Packing(posterior, ()))
        return float(divergence(evaluator.setup, flatten(posterior)))

    def gibbs_risk(self, posterior: Posterior) -> float:
        """L_S(Q)."""
        return self.evaluate(posterior).risk

    def value(self, posterior: Posterior) -> float:
        return self.evaluate(posterior).value

    def value_and_gradient(self, posterior: Posterior) -> tuple[float, Posterior]:
        """The objective, and its partials as a posterior-shaped record."""
        found = self.evaluate(posterior)
        return found.value, unflatten(found.gradient, posterior)


class Evaluator:
    """The objective as a function of the free numbers of a posterior, by the engine.

    Parameters
    ----------
    objective : Objective
    packing : Packing
        Which numbers are free.
    eliminated : bool, default=False
        Whether the linear models are the best ones for the localities, in closed form.
    executor : Executor, default=None
        Threads by which the blocks of many rows are shared.
    stop : callable
        Called between blocks of many rows; where it returns True, `StoppedError` is raised.

    Examples
    --------
    >>> from motlm import Prior
    >>> from motlm.datasets import make_clf_case1
    >>> from motlm.geometry import LearnedBalls
    >>> from motlm.losses import ZeroOne
    >>> from motlm.objective import Evaluator, Objective
    >>> from motlm.posterior import Packing
    >>> from motlm.rows import Rows
    >>> from motlm.starts import one_model
    >>> X, y = make_clf_case1(200, random_state=0)
    >>> objective = Objective(ZeroOne(), LearnedBalls(), Prior(), Rows.of(X, y), 4.0)
    >>> start = one_model(objective, unit_scale=False)
    >>> packing = Packing(start, ["coef", "intercept"])
    >>> found = Evaluator(objective, packing).evaluate(packing.pack(start))
    >>> abs(found.value - objective.value(start)) < 1e-12, found.gradient.shape
    (True, (3,))
    """

    def __init__(
        self,
        objective: Objective,
        packing: Packing,
        eliminated: bool = False,
        executor: Executor | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        from ._engine import tables

        rows, template = objective.rows, packing.template
        n = template.n_localities
        self.objective, self.packing, self.eliminated = objective, packing, eliminated
        self.executor, self.stop = executor, stop
        self.data, self.vector = rows.data, packing.vector
        dims = (template.column_weight > 0).sum(axis=1)
        self.about = tables.constants(dims) if objective.geometry.learned else None
        self.eliminate = eliminated if objective.loss.closed_form else None
        block = _block(objective.block, n, objective.loss.scores)
        self.setup = objective.setup(template, block)
        self.many = len(rows) > _MANY * block

    def evaluate(self, values: Array, gradient: bool = True) -> Evaluation:
        """The objective at a vector of free numbers, and its gradient if that is asked for."""
        from ._engine import descent

        if self.many:
            full, located, tables = self._prepare(values)
            return self._conclude(full, tables, located)
        memory = descent.new_memory(values, values, values, 1, 0.0)
        unit = np.ones(len(values))
        self.run(memory, unit, 1 if gradient else 0)
        risk, kl = float(memory.numbers[descent.RISK]), float(memory.numbers[descent.KL])
        slopes = memory.vectors[descent.GRADIENT] / self.nats
        return Evaluation(risk + kl / self.nats, risk, kl, slopes)

    @property
    def nats(self) -> float:
        """Units of the objective in which the divergence is 1."""
        return self.objective.inverse_temperature * self.objective.total_weight

    def run(self, memory: Any, unit: Array, budget: int) -> int:
        """So many evaluations and steps of a search; what it came to."""
        from ._engine import descent

        if not self.many:
            return int(
                descent.search(
                    self.setup, self.data, self.vector, self.about, self.eliminate, memory, unit,
                    budget,
                )
            )  # fmt: skip
        status = descent.RUNNING
        for _ in range(budget):
            found = self.evaluate(memory.vectors[descent.TRIAL] * unit)
            memory.numbers[descent.RISK], memory.numbers[descent.KL] = found.risk, found.kl
            gradient = found.gradient * unit * self.nats
            status = int(descent.take(memory, found.value * self.nats, gradient))
            if status != descent.RUNNING:
                break
        return status

    @property
    def budget(self) -> int:
        """Evaluations between two looks at the clock: some hundredths of a second."""
        work = len(self.objective.rows) * (self.setup.n + 1) * self.setup.outputs
        return 1 if self.many else max(1, 500_000 // max(work, 2_000))

    def solved(self, values: Array) -> Posterior:
        """The posterior at a vector, with its models solved for where they are eliminated."""
        from ._engine import entries

        if not self.eliminated:
            full = entries.to_posterior(self.vector, self.setup.n, values)
        elif self.many:
            full, _, _ = self._prepare(values)
        else:
            full = entries.to_posterior(self.vector, self.setup.n, values)
            full = entries.solved(self.setup, self.data, self.about, full)
        return unflatten(full, self.packing.template)

    # -- in blocks ---------------------------------------------------------------------------------

    def _prepare(self, values: Array) -> tuple[Array, Any, Any]:
        """All fields, where the rows lie (if that is known), and the tables."""
        from ._engine import entries, rows

        setup, n = self.setup, self.setup.n
        full, tables = entries.prepare(setup, self.vector, self.about, values)
        if not self.eliminated:
            return full, rows.new_located(n, 0), tables
        located = rows.new_located(n, len(self.objective.rows))
        total = self._over_blocks(entries.block_moments, tables, full, located)
        entries.from_moments(setup, total, full)
        return full, located, tables

    def _conclude(self, full: Array, tables: Any, located: Any) -> Evaluation:
        from ._engine import entries

        sums = self._over_blocks(entries.block_sums, tables, full, located)
        risk, kl, gradient = entries.conclude(self.setup, self.vector, full, sums)
        return Evaluation(risk + kl / self.nats, risk, kl, gradient)

    def _over_blocks(self, function: Any, tables: Any, full: Array, located: Any) -> Array:
        """A function summed over the blocks of rows, in their order whatever the threads."""
        m, size = len(self.objective.rows), self.setup.block

        def one(begin: int) -> Array:
            if self.stop():
                raise StoppedError
            end = min(begin + size, m)
            return np.asarray(function(self.setup, self.data, tables, full, located, begin, end))

        begins = range(0, m, size)
        parts = map(one, begins) if self.executor is None else self.executor.map(one, begins)
        total = None
        for part in parts:
            total = part if total is None else np.add(total, part, out=total)
        assert total is not None
        return total


def _block(most: int, n: int, scores: tuple[int, ...]) -> int:
    """Rows of a block, which are fewer for many localities or classes."""
    each = (n + 1) * int(np.prod(scores))
    return max(min(most, _AT_ONCE // each), min(most, _SMALLEST_BLOCK))


def in_passing(n_localities: int) -> int:
    """Rows that are looked at together where each is looked at once."""
    return max(min(BLOCK, _IN_PASSING // (n_localities + 1)), _SMALLEST_BLOCK)


class StoppedError(Exception):
    """Time is over, or the user wants to stop."""


def never() -> bool:
    return False


__getattr__ = forward(
    __name__,
    {
        "KnownCenters": (geometries, "GivenCenters"),
        "LearnedCenters": (geometries, "LearnedBalls"),
    },
)
