"""From a problem to a model: which numbers of localities and lambdas are tried, and how one of them
is chosen.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ._renamed import user_level
from ._typing import Array, Booleans
from .errors import FewRowsWarning, InputError
from .folds import Chosen, Folds, is_close, left_out, score_of, sharpest_of
from .geometry import radii
from .limits import FARTHEST, TEMPERATURES
from .optimize import Record, Solution
from .overlap import Overlap, apply_to, contain
from .posterior import Posterior
from .problem import Problem, Recipe, Table
from .rows import Rows, held_out
from .search import Search
from .targets import Target
from .terms import Shortener
from .watch import Watch

__all__ = [
    "Found",
    "Learning",
    "Outcome",
    "choose",
    "choose_simplest",
    "is_futile",
]

PATIENCE = 2  # sizes without improvement before growth ends
_RAISED = 4  # times that lambda is doubled to keep as many localities as were asked for
_FEWEST = 5  # rows of a locality, where their number is chosen
_FEW = 2  # localities; more are looked for at twice the anchor, where one more is cheaper


@dataclass(frozen=True)
class Found:
    """A solution, the problem it solves, and which of the localities it has left."""

    solution: Solution
    problem: Problem
    kept: list[int]
    searched: int = 0  # localities, before those without rows were dropped

    @property
    def idle(self) -> list[int]:
        """Localities that tell nothing."""
        return self.problem.idle(self.solution.posterior)


@dataclass(frozen=True)
class Outcome:
    """The minima found for one number of localities and one inverse temperature, best first, and
    their selection criterion.
    """

    solutions: list[Solution]
    score: float | None  # of held-out rows
    losses: Array  # of each of them; none without them
    merit: tuple[float, ...]  # the larger the better
    enveloped: bool = False  # whether one ball contains all rows, and so does the exterior's work
    whole: bool = True  # whether all localities contain rows
    variant: int = 0  # which of several geometries its localities have

    @property
    def n_localities(self) -> int:
        return self.solutions[0].posterior.n_localities

    @property
    def kind(self) -> tuple[int, int]:
        """What a reader sees of it: how many localities of which geometry."""
        return self.n_localities, self.variant


def choose_simplest(outcomes: Sequence[Outcome], weight: Array) -> Outcome:
    """The simplest outcome that is not significantly worse on held-out rows than the best, by a
    standard error of the paired difference: none, else localities in a few columns, the fewest. Of
    these, by the same rule, the lambda' nearest to Bayes' rule, 1. A ball around all rows does the
    exterior's work: mixtures without one are preferred.
    """
    outcomes = [outcome for outcome in outcomes if not outcome.enveloped] or list(outcomes)

    def order(outcome: Outcome) -> tuple[float, ...]:
        away = abs(np.log(outcome.solutions[0].inverse_temperature))
        temperature, n = outcome.solutions[0].inverse_temperature, outcome.n_localities
        return min(n, 1), outcome.variant, n, away, temperature

    ordered = sorted(outcomes, key=order)
    best = max(outcomes, key=lambda outcome: outcome.merit)
    kind = next((one.kind for one in ordered if _is_close(one, best, weight, 1.0)), best.kind)
    same = [one for one in ordered if one.kind == kind]
    leader = max(same, key=lambda outcome: outcome.merit)
    return next((one for one in same if _is_close(one, leader, weight, 1.0)), leader)


def _is_close(outcome: Outcome, best: Outcome, weight: Array, standard_errors: float) -> bool:
    """Whether it is worse than the best by at most so many standard errors."""
    return is_close(outcome.losses, best.losses, weight, standard_errors)


def choose(outcomes: Sequence[Outcome], weight: Array | None, standard_errors: float) -> Outcome:
    """Of the number of localities that does best on held-out rows, the smallest lambda that is not
    significantly worse on them than the best.

    That is Breiman's rule of a standard error, paired: the difference of two models' losses on the
    same rows has a much smaller standard error than either loss. Where the best has a ball around
    all rows, that ball does the exterior's work: it is good evidence for one ball less, which is
    then taken. Localities in a few columns that are not significantly worse than those in all are
    preferred: they are easier to read.
    """
    best = max(outcomes, key=lambda outcome: outcome.merit)
    fewer = [
        outcome
        for outcome in outcomes
        if outcome.n_localities < best.n_localities and not outcome.enveloped
    ]
    if best.enveloped and fewer:
        fewer = [one for one in fewer if one.variant == best.variant] or fewer
        n = max(outcome.n_localities for outcome in fewer)
        outcomes = [outcome for outcome in fewer if outcome.n_localities == n]
        best = max(outcomes, key=lambda outcome: outcome.merit)
    if weight is None or len(weight) < 2:
        return best
    few = [one for one in outcomes if one.variant < best.variant and not one.enveloped]
    simpler = max(few, key=lambda outcome: outcome.merit, default=best)
    if _is_close(simpler, best, weight, 1.0):
        best = simpler
    alike = [outcome for outcome in outcomes if outcome.kind == best.kind]
    for outcome in sorted(alike, key=lambda outcome: outcome.solutions[0].inverse_temperature):
        if _is_close(outcome, best, weight, standard_errors):
            return outcome
    return best


def is_futile(outcomes: Sequence[Outcome]) -> bool:
    """Whether the last few sizes gave no improvement."""
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

    recipes: Sequence[Recipe]  # that differ in the geometry of localities
    temperatures: tuple[float, ...]
    select: str  # "cv", "held-out" or "bound"
    validation_fraction: float
    overlap: Overlap
    options: dict[str, Any]  # of the search
    watch: Watch
    rng: np.random.Generator
    # of every number of localities and lambda that was tried
    records: list[Record] = field(default_factory=list)
    automatic: bool = True  # whether lambda is to be chosen by Bayes' rule
    most_terms: Any = None  # of each model: all, a number, or "auto"
    chosen: list[Chosen] = field(default_factory=list)  # by cross-validation, if it was

    @property
    def target(self) -> Target:
        return self.recipes[0].target

    def shorten(self, found: Found, table: Table, wholes: Sequence[Problem]) -> Found:
        """What `learn` found without the terms that are not needed, if that was asked for. What was
        kept of rows left out is then that of models as short.
        """
        if self.most_terms is None or len(found.problem.rows) != len(table.X) or self.watch.over():
            return found
        same = [one.inputs is found.problem.inputs for one in wholes]
        recipe = replace(self.recipes[same.index(True)], sharpest=found.problem.sharpest)

        def polish(problem: Problem, start: Posterior, temperature: float) -> Solution:
            search = replace(self._search(problem), n_jobs=1)
            objective = problem.objective(start.n_localities, temperature)
            [end] = search.polish(objective, [start])
            return end

        shortener = Shortener(
            self.most_terms,
            recipe,
            found.kept,
            polish,
            self._scores_of,
            self._search(found.problem).in_threads,
            self.watch.over,
        )
        self.watch.report("terms that are not needed")
        seeds = self.chosen[-1].seeds if self.chosen else []
        short = shortener.run(found.problem, found.solution, table, self._left_out(table), seeds)
        if self.chosen and short.loss is not None:
            self.chosen[-1] = replace(self.chosen[-1], left=list(short.left), loss=short.loss)
        return replace(found, problem=short.problem, solution=short.solution)

    def _left_out(self, table: Table) -> list[Booleans]:
        """The rows of each fold."""
        return left_out(table.target, self.validation_fraction, self.target.stratify, table.groups)

    def learn(
        self,
        table: Table,
        wholes: Sequence[Problem],
        sizes: list[int],
        before: tuple[Posterior, float] | None,
        validation: Table | None,
    ) -> Found:
        """Choose n and lambda, if there is a choice, and search on all rows.

        `wholes` are the problems of the table, for each recipe. `before` is a posterior to go on
        from, with its lambda; `validation` are rows to choose by.
        """
        temperatures = sorted(self.temperatures, reverse=True)
        asked = sizes[0] if len(sizes) == 1 else 0
        if before is not None and (len(temperatures) == 1 or before[1] in temperatures):
            temperatures = [before[1]] if before[1] in temperatures else temperatures
            n = min(before[0].n_localities, max(sizes)) if len(sizes) > 1 else sizes[0]
            self.watch.plan(2)
            whole = wholes[0]
            if self.target.loss.likelihood:
                whole = replace(whole, sharpest=sharpest_of(before[0]))
            search = self._search(whole)
            resumed = search.resume(n, temperatures[0], before[0], self.rng)
            return self._finish(whole, resumed, asked)
        if validation is None and self.select == "cv":
            masks = self._left_out(table)
            least = min((int((~mask).sum()) for mask in masks), default=0)
            few = [n for n in sizes if n <= least or not wholes[0].geometry.sought]
            if masks and few and len(sizes) * len(temperatures) * len(wholes) > 1:
                return self._learn_by_folds(table, wholes, few, masks)
        problems = list(wholes)
        held: list[Rows | None] = [None] * len(wholes)
        if len(sizes) * len(temperatures) * len(wholes) > 1 and self.select != "bound":
            if validation is not None:
                held = [_hold(one, validation, "y_val") for one in wholes]
            else:
                parts = self._hold_out(table, sizes, temperatures)
                if parts is None:
                    sizes, temperatures, problems = sizes[:1], temperatures[-1:], problems[:1]
                else:
                    problems, held, sizes = parts
        outcomes = self._explore_all(problems, held, sizes, temperatures)
        rows = held[0]
        if len(sizes) == 1:  # what was asked for
            outcomes = [one for one in outcomes if one.whole] or outcomes
        if rows is not None and len(rows.weight) > 1 and self.target.loss.likelihood:
            best = choose_simplest(outcomes, rows.weight)
        else:
            weight = None if rows is None else rows.weight
            best = choose(outcomes, weight, self.target.standard_errors)
        problem, whole = problems[best.variant], wholes[best.variant]
        if self.watch.over() and problem is not whole:
            return self._finish(problem, best.solutions)
        seeds = best.solutions[:1]  # what was chosen, if on these rows
        if problem is not whole:  # the same localities, in the units of all rows
            moved = [
                whole.translate(one.posterior, problem.inputs, problem.target)
                for one in best.solutions
            ]
            pairs = zip(best.solutions, moved, strict=True)
            seeds = [replace(one, posterior=posterior) for one, posterior in pairs]
        return self._finish(whole, seeds, asked)

    def _learn_by_folds(
        self,
        table: Table,
        wholes: Sequence[Problem],
        sizes: list[int],
        masks: Sequence[Booleans],
    ) -> Found:
        """Choose by cross-validation, and search on all rows."""
        runner = self._search(wholes[0])
        folds = Folds(
            table=table,
            recipes=self.recipes,
            sizes=sizes,
            masks=masks,
            temperatures=tuple(sorted(self.temperatures)),
            automatic=self.automatic,
            search=lambda problem: replace(self._search(problem), n_jobs=1),
            scores=self._scores_of,
            watch=self.watch,
            seed=int(self.rng.integers(2**31)),
            share_out=runner.in_threads,
        )
        chosen = folds.run()
        if chosen is None:
            variant, problem, one = folds.begun[0]
            whole = wholes[variant]
            posterior = whole.translate(one.posterior, problem.inputs, problem.target)
            return self._finish(whole, [replace(one, posterior=posterior)], max(sizes))
        self.chosen.append(chosen)
        self.records.extend(_records_of(chosen, folds, wholes[0].target))
        best = chosen.best
        whole = replace(wholes[best.variant], sharpest=best.sharpest)
        n, temperature = best.n_localities, best.inverse_temperature
        moved = [
            replace(one, posterior=whole.translate(one.posterior, problem.inputs, problem.target))
            for problem, one in (chosen.seeds if n else chosen.seeds[:1])
        ]
        if n and whole.geometry.sought and not self.watch.over():
            moved += self._search_all(whole, n, temperature)
        found = self._finish(whole, moved, sizes[0] if len(sizes) == 1 else 0)
        last = found.solution.inverse_temperature
        if last != temperature and not self.watch.over():
            self.chosen[-1] = folds.at(best, last)
        return found

    def _search_all(self, whole: Problem, n: int, temperature: float) -> list[Solution]:
        """The best few mixtures of n localities on all rows."""
        search = self._search(whole)
        leaders: list[Solution] = []
        for size in range(n + 1):
            if leaders and self.watch.over():
                return []
            leaders = search.explore(size, temperature, self.rng, leaders)
        return leaders

    def _scores_of(self, problem: Problem, posterior: Posterior, rows: Rows) -> Array:
        return self._scores(problem, posterior, radii(problem.geometry, posterior), rows)

    def _explore_all(
        self,
        problems: Sequence[Problem],
        held: Sequence[Rows | None],
        sizes: list[int],
        temperatures: list[float],
    ) -> list[Outcome]:
        """Of each geometry and kind of models, as far as time allows; one model without localities
        is the same for all geometries.
        """
        outcomes: list[Outcome] = []
        kinds: set[int] = set()
        for k, (problem, rows) in enumerate(zip(problems, held, strict=False)):
            own = [n for n in sizes if n or id(problem.inputs.bends) not in kinds]
            kinds.add(id(problem.inputs.bends))
            if not own:
                continue
            if outcomes and self.watch.over():
                break
            found = self._explore(problem, rows, own, temperatures)
            outcomes += [replace(one, variant=k) for one in found]
        return outcomes

    def _hold_out(
        self, table: Table, sizes: list[int], temperatures: list[float]
    ) -> tuple[list[Problem], list[Rows | None], list[int]] | None:
        """The problems of some rows, the others to choose by, and the sizes that remain; None, with
        a warning, where there are too few rows.
        """
        sought = self.recipes[0].geometry.sought
        mask = held_out(table.target, self.validation_fraction, self.target.stratify, table.groups)
        if mask is None or (sought and min(sizes) > (~mask).sum()):
            _warn_of_few(len(table.X), sizes, temperatures)
            return None
        rest = table.part(mask)
        problems: list[Problem] = []
        held: list[Rows | None] = []
        for recipe in self.recipes:
            problem = recipe.problem(table.part(~mask))
            problem.inputs.check_reach(rest.X, "X")
            problems.append(problem)
            held.append(_hold(problem, rest, "y"))
        return problems, held, [n for n in sizes if not sought or n <= (~mask).sum()]

    def _explore(
        self, problem: Problem, held: Rows | None, sizes: list[int], temperatures: list[float]
    ) -> list[Outcome]:
        """The minima for every number of localities and lambda, as far as time allows."""
        search = self._search(problem)
        # a mixture of n grows from one of n - 1
        ladder = range(max(sizes) + 1) if search.grows else sizes
        self.watch.plan(
            sum(search.cost(n, len(temperatures) if n in sizes else 1) for n in ladder) + 1
        )
        widest = (
            min(max(temperatures), 2.0 * self.target.anchor) if search.grows else max(temperatures)
        )
        anchor = min(widest, self.target.anchor)
        outcomes: list[Outcome] = []
        leaders: list[Solution] = []
        softer: list[Solution] = []
        for n in ladder:
            if outcomes and (self.watch.over() or is_futile(outcomes)):
                break
            at = anchor if n <= _FEW else widest
            leaders, softer = search.explore_twice(n, at, self.rng, leaders, softer)
            if n not in sizes:
                continue
            for solutions in search.along(leaders, temperatures, self.rng).values():
                outcome = self._judge(problem, held, solutions, len(sizes) * len(temperatures))
                outcomes.append(outcome)
                for rank, one in enumerate(outcome.solutions):
                    self.records.append(
                        _record("search", rank, one, problem.target, outcome if rank == 0 else None)
                    )
        return outcomes

    def _judge(
        self, problem: Problem, held: Rows | None, solutions: list[Solution], n_choices: int
    ) -> Outcome:
        ranked = sorted(solutions, key=lambda one: one.objective)
        posterior = ranked[0].posterior
        radius = radii(problem.geometry, posterior)
        inside = problem.count_rows(posterior)
        enveloped = bool((inside == len(problem.rows)).any())
        whole = bool(inside.all()) and not enveloped
        if held is None:
            bound = self.target.bound(ranked[0], float(problem.rows.weight.sum()), n_choices)
            return Outcome(ranked, None, np.empty(0), (-bound,), enveloped, whole)
        scores = self._scores(problem, posterior, radius, held)
        objective = replace(problem, rows=held).objective(posterior.n_localities, 1.0)
        score = self.target.judge(scores, held)
        merit = (score, -objective.gibbs_risk(posterior))
        return Outcome(ranked, score, self.target.losses(scores, held), merit, enveloped, whole)

    def _scores(self, problem: Problem, posterior: Posterior, radius: Array, rows: Rows) -> Array:
        """Of the answers to some rows, standardized."""
        mean, distance = problem.geometry.scores_and_distances(posterior, rows)
        member = contain(distance, radius)
        used = self.overlap.choose(distance, member)
        return self.overlap.combine(mean, used, apply_to(member))

    def _finish(self, problem: Problem, seeds: Sequence[Solution], asked: int = 0) -> Found:
        """The best of these minima, searched to the end on all rows, without localities that no row
        belongs to; with as many as were asked for, if that can be had.
        """
        n, temperature = seeds[0].posterior.n_localities, seeds[0].inverse_temperature
        objective = problem.objective(n, temperature)
        ends = self._search(problem).polish(objective, [seed.posterior for seed in seeds], tol=None)
        free = self.select == "cv" and not asked and problem.geometry.sought
        least = _FEWEST if free else 1
        every = [self._drop_empty(Found(end, problem, list(range(n)), n), least) for end in ends]
        every.sort(key=lambda found: found.solution.objective)
        if asked:
            every.sort(key=lambda found: -len(found.kept))
            if len(every[0].kept) < asked:
                every = [self._refill(every[0], problem, asked), *every]
            elif self.automatic and every[0].idle:
                every = [self._stir(every[0], problem, asked), *every]
        self.records.extend(
            _record("final", rank, one.solution, problem.target) for rank, one in enumerate(every)
        )
        temperature = every[0].solution.inverse_temperature
        self.watch.report(
            f"n = {len(every[0].kept)}, lambda' = {temperature:g}, all rows",
            every[0].solution.objective,
        )
        return every[0]

    def _refill(self, found: Found, problem: Problem, n: int) -> Found:
        """With other localities in the place of those that died; and where these die too, at larger
        inverse temperatures, at which a locality is cheaper.
        """
        search = self._search(problem)
        temperature = found.solution.inverse_temperature
        if not search.grows:
            return found
        for _ in range(_RAISED):
            if self.watch.over():
                break
            [again] = search.resume(n, temperature, found.solution.posterior, self.rng)
            [end] = search.polish(problem.objective(n, temperature), [again.posterior], tol=None)
            kept = self._drop_empty(Found(end, problem, list(range(n)), n))
            if len(kept.kept) == n:
                return kept
            temperature *= 2.0
        return found

    def _stir(self, found: Found, problem: Problem, n: int) -> Found:
        """Where localities that were asked for differ from the exterior by nothing, at larger
        inverse temperatures, at which a difference is cheaper, as long as fewer of them are idle.
        """
        search, least = self._search(problem), len(found.idle)
        temperature = found.solution.inverse_temperature
        leaders: list[Solution] = []
        for _ in range(_RAISED):
            temperature *= 2.0
            if self.watch.over() or temperature > TEMPERATURES[1]:
                break
            for size in range(n + 1) if search.grows else [n]:
                leaders = search.explore(size, temperature, self.rng, leaders)
            [end] = search.polish(
                problem.objective(n, temperature), [leaders[0].posterior], tol=None
            )
            again = self._drop_empty(Found(end, problem, list(range(n)), n))
            idle = len(again.idle)
            if len(again.kept) == n and idle < least:
                found, least = again, idle
            if not least:
                break
        return found

    def _drop_empty(self, found: Found, least: int = 1) -> Found:
        """Drop the localities with fewer rows, search on without them, until all have as many."""
        solution, problem, posterior = found.solution, found.problem, found.solution.posterior
        inside = problem.count_rows(posterior)
        useful = inside >= least
        if problem.geometry.sought and posterior.layout is not None:
            around = np.flatnonzero(inside == len(problem.rows))
            useful[around] = False
            for i in around[:1]:  # it does the exterior's work
                coef, intercept = posterior.coef.copy(), posterior.intercept.copy()
                coef[-1], intercept[-1] = coef[i], intercept[i]
                posterior = replace(posterior, coef=coef, intercept=intercept)
        alive = [int(i) for i in np.flatnonzero(useful)]
        if len(alive) == posterior.n_localities:
            return found
        fewer = problem.keep(alive)
        objective = fewer.objective(len(alive), solution.inverse_temperature)
        [again] = self._search(fewer).polish(objective, [posterior.keep(alive)], tol=None)
        again = replace(again, n_iter=solution.n_iter + again.n_iter)
        rest = Found(again, fewer, [found.kept[i] for i in alive], found.searched)
        return self._drop_empty(rest, least)

    def _search(self, problem: Problem) -> Search:
        return Search(
            objective=problem.objective,
            free=problem.free,
            watch=self.watch,
            grows=problem.geometry.sought
            and problem.prior.alike
            and self.options["solver"] == "lbfgs",
            **self.options,
        )


def _hold(problem: Problem, table: Table, what: str) -> Rows:
    """Rows to choose by; an error where their targets are so far from the others that squares could
    overflow.
    """
    held = problem.rows_of(table.X, table.target, table.weight)
    largest = float(np.abs(held.target).max())
    if largest > FARTHEST:
        raise InputError(
            f"{what} has a number that is {largest:.3g} times as far from the mean as the other"
            f" targets usually are; at most {FARTHEST:g} can be compared.",
            "Divide the target by a number of its size, or take its logarithm.",
        )
    return held


def _record(
    stage: str, rank: int, solution: Solution, target: Target, outcome: Outcome | None = None
) -> Record:
    unit = target.risk_unit
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


def _records_of(chosen: Chosen, folds: Folds, target: Target) -> list[Record]:
    """Of each candidate, means over the folds; of those alike in number and lambda the best
    first.
    """
    found = []
    for one in [*chosen.every, *chosen.alone]:
        key = one.n_localities, one.inverse_temperature
        better = sum(
            (other.n_localities, other.inverse_temperature) == key and other.loss < one.loss
            for other in [*chosen.every, *chosen.alone]
        )
        same = [part.found[key] for part in folds.parts_of(one)]
        means = {
            name: float(np.mean([getattr(solution, name) for solution in same]))
            for name in ("objective", "gibbs_risk", "kl")
        }
        score = score_of(one.loss, target)
        found.append(
            Record(
                "without" if chosen.alone and not one.n_localities else "search",
                *key,
                better,
                means["objective"] * target.risk_unit,
                means["gibbs_risk"] * target.risk_unit,
                means["kl"],
                int(np.mean([solution.n_iter for solution in same])),
                all(solution.converged for solution in same),
                score if not better else None,
                None,
            )
        )
    return sorted(found, key=lambda one: (one.n_localities, one.inverse_temperature, one.rank))


def _warn_of_few(n_rows: int, sizes: list[int], temperatures: list[float]) -> None:
    what = "n_localities and inverse_temperature" if len(sizes) > 1 else "inverse_temperature"
    smallest = (
        f"{min(sizes)} and {min(temperatures):g}" if len(sizes) > 1 else f"{min(temperatures):g}"
    )
    text = (
        f"{n_rows} distinct rows are too few to hold some out and choose {what}; the smallest,"
        f" {smallest}, is used."
    )
    warnings.warn(
        FewRowsWarning(text, "Give one number to choose it yourself."), stacklevel=user_level()
    )
