"""From a problem to a model: which numbers of localities and lambdas are tried, and how one of them
is chosen.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from sklearn.metrics import accuracy_score, r2_score

from . import prediction
from ._typing import Array, Integers
from .localities import Units
from .objective import BLOCK, lookup_of
from .optimize import Record, Solution
from .posterior import Posterior
from .problem import Problem, Table
from .rows import Rows, held_out
from .search import Search, catoni_bound
from .watch import Watch

__all__ = ["ByAccuracy", "ByR2", "Found", "Judge", "Learning", "Outcome", "chosen", "in_vain"]

PATIENCE = 2  # sizes that bring nothing before growth ends
_FEW = 2  # localities; more are looked for at twice the anchor, where one more is cheaper


class Judge(Protocol):
    """What speaks for a solution."""

    stratify: bool  # whether held-out rows are to have the classes in the same shares

    def score(self, said: Array, rows: Rows) -> float:
        """Of what was said of rows with standardized targets; the larger the better."""

    def losses(self, said: Array, rows: Rows) -> Array:
        """Of each row."""

    def bound(self, solution: Solution, n_rows: float, n_choices: int) -> float:
        """On the risk, or something that ranks like one, from the training rows alone."""


class ByAccuracy:
    stratify = True

    def score(self, said: Array, rows: Rows) -> float:
        return float(
            accuracy_score(rows.target, np.where(said > 0, 1.0, -1.0), sample_weight=rows.weight)
        )

    def losses(self, said: Array, rows: Rows) -> Array:
        return np.asarray(np.where(said > 0, 1.0, -1.0) != rows.target, dtype=float)

    def bound(self, solution: Solution, n_rows: float, n_choices: int) -> float:
        return catoni_bound(solution.objective, solution.inverse_temperature, n_rows, n_choices)


class ByR2:
    stratify = False

    def score(self, said: Array, rows: Rows) -> float:
        if len(rows) < 2:
            return -float(np.average(self.losses(said, rows), weights=rows.weight))
        return float(r2_score(rows.target, said, sample_weight=rows.weight))

    def losses(self, said: Array, rows: Rows) -> Array:
        return np.asarray((said - rows.target) ** 2, dtype=float)

    def bound(self, solution: Solution, n_rows: float, n_choices: int) -> float:
        """The objective: no bound is known for the squared loss, but at one lambda it ranks like
        one.
        """
        return solution.objective


@dataclass(frozen=True)
class Found:
    """A solution, the problem it solves, and which of the localities it has left."""

    solution: Solution
    problem: Problem
    kept: list[int]
    searched: int = 0  # localities, before those without rows were dropped


@dataclass(frozen=True)
class Outcome:
    """The minima found for one number of localities and one inverse temperature, best first, and
    what speaks for them.
    """

    solutions: list[Solution]
    score: float | None  # of held-out rows
    losses: Array  # of each of them; none without them
    merit: tuple[float, ...]  # the larger the better
    enveloped: bool = False  # whether one ball contains all rows, and so does the exterior's work

    @property
    def n_localities(self) -> int:
        return self.solutions[0].posterior.n_localities


def chosen(outcomes: Sequence[Outcome], weight: Array | None, standard_errors: float) -> Outcome:
    """Of the number of localities that held-out rows like best, the smallest lambda that they do
    not tell from the best.

    That is Breiman's rule of a standard error, paired: the difference of two models' losses on the
    same rows has a much smaller standard error than either loss. Where the best has a ball around
    all rows, that ball does the exterior's work: it is good evidence for one ball less, which is
    then taken.
    """
    best = max(outcomes, key=lambda outcome: outcome.merit)
    fewer = [
        outcome
        for outcome in outcomes
        if outcome.n_localities < best.n_localities and not outcome.enveloped
    ]
    if best.enveloped and fewer:
        n = max(outcome.n_localities for outcome in fewer)
        outcomes = [outcome for outcome in fewer if outcome.n_localities == n]
        best = max(outcomes, key=lambda outcome: outcome.merit)
    if weight is None or len(weight) < 2:
        return best
    share = np.asarray(weight, dtype=float) / float(weight.sum())
    alike = [outcome for outcome in outcomes if outcome.n_localities == best.n_localities]
    for outcome in sorted(alike, key=lambda outcome: outcome.solutions[0].inverse_temperature):
        gap = outcome.losses - best.losses
        mean = float(share @ gap)
        error = np.sqrt(len(gap) / (len(gap) - 1) * float(share**2 @ (gap - mean) ** 2))
        if mean <= standard_errors * error:
            return outcome
    return best


def in_vain(outcomes: Sequence[Outcome]) -> bool:
    """Whether the last few sizes have brought nothing."""
    sizes = sorted({outcome.n_localities for outcome in outcomes})
    if len(sizes) <= PATIENCE:
        return False
    before, lately = (
        max(
            outcome.merit[0]
            for outcome in outcomes
            if (outcome.n_localities in sizes[-PATIENCE:]) == recent
        )
        for recent in (False, True)
    )
    return lately <= before


@dataclass(frozen=True)
class Learning:
    """How a fit goes, whatever its rows."""

    judge: Judge
    temperatures: tuple[float, ...]
    # where minima are looked for, if larger inverse temperatures are wanted: the objective is
    # smoother there
    anchor: float
    standard_errors: (
        float  # by which a smaller lambda may seem worse on held-out rows than the best
    )
    select: str  # "held-out" or "bound"
    validation_fraction: float
    overlap: str
    options: dict[str, Any]  # of the search
    watch: Watch
    rng: np.random.Generator
    records: list[Record] = field(
        default_factory=list
    )  # of every number of localities and lambda that was tried

    def learn(
        self,
        table: Table,
        whole: Problem,
        problem_of: Callable[[Table], Problem],
        sizes: list[int],
        before: tuple[Posterior, float] | None,
        validation: Table | None,
    ) -> Found:
        """Choose n and lambda, if there is a choice, and search on all rows.

        `whole` is the problem of the table, `problem_of` makes that of some of its rows. `before`
        is a posterior to go on from, with its lambda; `validation` are rows to choose by.
        """
        temperatures = sorted(self.temperatures, reverse=True)
        if before is not None and (len(temperatures) == 1 or before[1] in temperatures):
            temperatures = [before[1]] if before[1] in temperatures else temperatures
            n = min(before[0].n_localities, max(sizes)) if len(sizes) > 1 else sizes[0]
            self.watch.plan(2)
            return self._finish(
                whole, self._searching(whole).resume(n, temperatures[0], before[0], self.rng)
            )
        problem, held = whole, None
        if len(sizes) * len(temperatures) > 1 and self.select == "held-out":
            if validation is not None:
                held = whole.rows_of(validation.X, validation.target, validation.weight)
            else:
                mask = held_out(
                    table.target, self.validation_fraction, stratify=self.judge.stratify
                )
                if mask is None or (whole.points is None and min(sizes) > (~mask).sum()):
                    _warn_of_few(len(table.X), sizes, temperatures)
                    sizes, temperatures = sizes[:1], temperatures[-1:]
                else:
                    rest = table.part(mask)
                    problem = problem_of(table.part(~mask))
                    held = problem.rows_of(rest.X, rest.target, rest.weight)
                    sizes = [n for n in sizes if whole.points is not None or n <= (~mask).sum()]
        outcomes = self._explored(problem, held, sizes, temperatures)
        best = chosen(outcomes, None if held is None else held.weight, self.standard_errors)
        if self.watch.over() and problem is not whole:
            return self._finish(problem, best.solutions)
        seeds = best.solutions[:1]  # what was chosen, if on these rows
        if problem is not whole:  # the same localities, in the units of all rows
            seeds = [
                replace(one, posterior=whole.from_units(one.posterior, problem.units))
                for one in best.solutions
            ]
        return self._finish(whole, seeds)

    def _explored(
        self, problem: Problem, held: Rows | None, sizes: list[int], temperatures: list[float]
    ) -> list[Outcome]:
        """The minima for every number of localities and inverse temperature, as far as time allows."""
        search = self._searching(problem)
        ladder = (
            range(max(sizes) + 1) if search.grows else sizes
        )  # a mixture of n grows from one of n - 1
        self.watch.plan(
            sum(search.cost(n, len(temperatures) if n in sizes else 1) for n in ladder) + 1
        )
        widest = min(max(temperatures), 2.0 * self.anchor) if search.grows else max(temperatures)
        anchor = min(widest, self.anchor)
        outcomes: list[Outcome] = []
        leaders: list[Solution] = []
        for n in ladder:
            if outcomes and (self.watch.over() or in_vain(outcomes)):
                break
            leaders = search.explore(n, anchor if n <= _FEW else widest, self.rng, leaders)
            if n not in sizes:
                continue
            for solutions in search.along(leaders, temperatures, self.rng).values():
                outcome = self._outcome(problem, held, solutions, len(sizes) * len(temperatures))
                outcomes.append(outcome)
                for rank, one in enumerate(outcome.solutions):
                    self.records.append(
                        _record("search", rank, one, problem.units, outcome if rank == 0 else None)
                    )
        return outcomes

    def _outcome(
        self, problem: Problem, held: Rows | None, solutions: list[Solution], n_choices: int
    ) -> Outcome:
        ranked = sorted(solutions, key=lambda one: one.objective)
        posterior = ranked[0].posterior
        radius = prediction.radii(lookup_of(problem.vicinity, posterior))
        enveloped = bool((_rows_inside(problem, posterior, radius) == len(problem.rows)).any())
        if held is None:
            bound = self.judge.bound(ranked[0], float(problem.rows.weight.sum()), n_choices)
            return Outcome(ranked, None, np.empty(0), (-bound,), enveloped)
        said = prediction.spoken(
            prediction.route(problem.vicinity, posterior, radius, held), self.overlap
        )
        risk = (
            replace(problem, rows=held).objective(posterior.n_localities, 1.0).gibbs_risk(posterior)
        )
        score = self.judge.score(said, held)
        return Outcome(ranked, score, self.judge.losses(said, held), (score, -risk), enveloped)

    def _finish(self, problem: Problem, seeds: Sequence[Solution]) -> Found:
        """The best of these minima, searched to the end on all rows, without localities that no row
        belongs to.
        """
        n, temperature = seeds[0].posterior.n_localities, seeds[0].inverse_temperature
        objective = problem.objective(n, temperature)
        ends = self._searching(problem).polish(
            objective, [seed.posterior for seed in seeds], tol=None
        )
        every = [self._without_dead(Found(end, problem, list(range(n)), n)) for end in ends]
        every.sort(key=lambda found: found.solution.objective)
        self.records.extend(
            _record("final", rank, one.solution, problem.units) for rank, one in enumerate(every)
        )
        self.watch.say(f"n = {n}, lambda' = {temperature:g}, all rows", every[0].solution.objective)
        return every[0]

    def _without_dead(self, found: Found) -> Found:
        """Drop the localities that no row belongs to, search on without them, until all have rows."""
        solution, problem = found.solution, found.problem
        radius = prediction.radii(lookup_of(problem.vicinity, solution.posterior))
        alive = [int(i) for i in np.flatnonzero(_rows_inside(problem, solution.posterior, radius))]
        if len(alive) == solution.posterior.n_localities:
            return found
        fewer = problem.keep(alive)
        objective = fewer.objective(len(alive), solution.inverse_temperature)
        [again] = self._searching(fewer).polish(
            objective, [solution.posterior.keep(alive)], tol=None
        )
        again = replace(again, n_iter=solution.n_iter + again.n_iter)
        return self._without_dead(
            Found(again, fewer, [found.kept[i] for i in alive], found.searched)
        )

    def _searching(self, problem: Problem) -> Search:
        return Search(
            objective=problem.objective,
            points=problem.points,
            free=problem.free,
            watch=self.watch,
            grows=problem.points is None
            and problem.prior.alike
            and self.options["solver"] == "lbfgs",
            **self.options,
        )


def _rows_inside(problem: Problem, posterior: Posterior, radius: Array) -> Integers:
    """How many rows each ball contains."""
    count = np.zeros(len(radius), dtype=np.intp)
    for rows in problem.rows.blocks(BLOCK):
        count += prediction.route(problem.vicinity, posterior, radius, rows).member.sum(axis=1)
    return count


def _record(
    stage: str, rank: int, solution: Solution, units: Units, outcome: Outcome | None = None
) -> Record:
    unit = units.target_scale**2
    return Record(
        stage,
        solution.posterior.n_localities,
        solution.inverse_temperature,
        rank,
        solution.objective * unit,
        solution.gibbs_risk * unit,
        solution.kl,
        solution.n_iter,
        solution.converged,
        None if outcome is None else outcome.score,
        -outcome.merit[0] * unit if outcome is not None and outcome.score is None else None,
    )


def _warn_of_few(n_rows: int, sizes: list[int], temperatures: list[float]) -> None:
    what = "n_localities and inverse_temperature" if len(sizes) > 1 else "inverse_temperature"
    warnings.warn(
        f"{n_rows} distinct rows are too few to hold some out and choose {what}; the smallest, "
        + (f"{min(sizes)} and " if len(sizes) > 1 else "")
        + f"{min(temperatures):g}, is used. Give one number to choose it yourself.",
        stacklevel=5,
    )
