"""The choice by cross-validation: of linear or additive models, of smooth or rugged curves, of the
columns that localities look at, of their borders, of their number and of lambda.

All candidates are judged on the same rows that were left out, and compared row by row. One model
without localities comes first, which costs next to nothing: it tells whether models should bend,
and how strong the noise is, by which Bayes' rule sets lambda. Then localities are added one at a
time, on the rows of each fold, until three more give no improvement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ._typing import Array, Booleans, Integers
from .errors import InputError
from .limits import TEMPERATURES, power_of_two
from .optimize import Solution
from .posterior import Posterior
from .problem import Problem, Recipe, Table
from .rows import Rows, held_out
from .search import Search
from .targets import Target
from .watch import Watch

__all__ = [
    "Candidate",
    "Chosen",
    "Folds",
    "Part",
    "choose_candidate",
    "is_close",
    "left_out",
    "mean_by_row",
    "score_name",
    "score_of",
    "sharpest_of",
]

_FOLDS = 5
_FEW_ROWS, _REPEATS = 300, 3  # below so many rows, the folds are drawn anew so many times
_MANY_ROWS = 20_000  # above, one part is left out
_SOME_ROWS, _SOME = 2000, 3  # from so many rows on, so many of the folds will do
_SMALLEST_FOLD = 2  # rows
_TIMES_BAYES = (0.5, 1.0, 2.0, 4.0)  # multiples of Bayes' rule that are tried
_LOOKED_AT = 2.0  # the one at which localities are looked for
_NOISE = (1e-4, 1.0)  # share of the target's variance, at least and at most
_HOPELESS = 2.0  # standard errors by which a way of candidates is behind before it is left
_CLEARLY = 2.0  # standard errors by which one model is better than localities that are asked for
_SOFT = 100.0  # shape of a radius with a soft border: it is known to a tenth of itself
_STEPS = 4.0  # searches that a number of localities takes on the rows of a fold, about
_LOOKED = 2  # numbers of localities that are tried with each kind, however far behind
_PATIENCE = 3  # numbers of localities without improvement before growth ends


_SCORES = {
    "log": "minus the log loss",
    "zero-one": "accuracy",
    "squared": "R2",
    **dict.fromkeys(("poisson", "gamma", "tweedie"), "minus the deviance"),
}


@dataclass(frozen=True)
class Candidate:
    """A number of localities of one kind with one lambda, and the losses of rows left out.

    Attributes
    ----------
    variant : int
        Which of the recipes: how models bend, and which columns localities look at.
    n_localities : int
    inverse_temperature : float
    losses : ndarray, (n_rows,)
        Of each row, by models that were fitted without it.
    loss, error : float
        Their mean, and its standard error.
    whole : bool
        Whether in most folds each of its localities has rows and tells something about them; True
        where their number is to be chosen.
    sharpest : float
        Largest shape of a radius; infinite where borders may be as sharp as they like.
    """

    variant: int
    n_localities: int
    inverse_temperature: float
    losses: Array
    loss: float
    error: float
    whole: bool = True
    sharpest: float = np.inf


@dataclass(frozen=True)
class Chosen:
    """What a cross-validation came to."""

    best: Candidate
    every: list[Candidate]
    # minima of the same kind that were found on the rows of each fold, with their problems
    seeds: list[tuple[Problem, Solution]]
    # of each fold the rows left out, and their scores in units of the target, (.., n_left_out)
    left: list[tuple[Booleans, Array]]
    loss: float  # of these rows
    # one model without localities at each lambda, beside which those that were asked for can be
    # judged; and whether the best of these is clearly better
    alone: list[Candidate] = field(default_factory=list)
    needless: bool = False


def left_out(
    target: Array, fraction: float, stratify: bool, groups: Integers | None
) -> list[Booleans]:
    """Masks of the rows of each fold; none where there are too few rows. The rows come in random
    order.
    """
    m = len(target)
    if m > _MANY_ROWS and groups is None:
        mask = held_out(target, fraction, stratify=stratify)
        return [] if mask is None else [mask]
    repeats = _REPEATS if m < _FEW_ROWS and groups is None else 1
    order, found = np.arange(m), []
    for turn in range(repeats):
        if turn:  # another order, the same for the same rows
            order = np.random.default_rng(turn).permutation(m)
        fold = _assign(target[order], stratify, None if groups is None else groups[order])
        place = np.empty(m, dtype=np.int64)
        place[order] = fold
        masks = [place == k for k in range(_FOLDS)]
        found += [one for one in masks if one.sum() >= _SMALLEST_FOLD and (~one).any()]
    classes = np.unique(target) if stratify else np.empty(0)
    sound = all(np.isin(classes, target[~one]).all() for one in found)
    if not found or not sound or not np.sum(found, axis=0).all():
        return []
    return found[:_SOME] if m >= _SOME_ROWS else found


def _assign(target: Array, stratify: bool, groups: Integers | None) -> Integers:
    """The fold of each row: one after another, of each class; or whole groups, the largest first,
    each to the fold that has fewest rows.
    """
    fold = np.zeros(len(target), dtype=np.int64)
    if groups is not None:
        names, where, size = np.unique(groups, return_inverse=True, return_counts=True)
        filled, own = np.zeros(_FOLDS), np.zeros(len(names), dtype=np.int64)
        for k in np.argsort(-size, kind="stable"):
            own[k] = int(filled.argmin())
            filled[own[k]] += size[k]
        return np.asarray(own[where])
    next_fold = 0
    for label in np.unique(target) if stratify else [None]:
        rows = np.flatnonzero(target == label) if stratify else np.arange(len(target))
        fold[rows] = (next_fold + np.arange(len(rows))) % _FOLDS
        next_fold += len(rows)
    return fold


def mean_by_row(masks: Sequence[Booleans], losses: Sequence[Array]) -> Array:
    """The mean loss of each row over the times that it was left out; of rows that never were, 0."""
    total, count = np.zeros(len(masks[0])), np.zeros(len(masks[0]))
    for mask, one in zip(masks, losses, strict=True):
        total[mask] += one
        count[mask] += 1
    return total / np.maximum(count, 1.0)


def is_close(losses: Array, best: Array, weight: Array, standard_errors: float) -> bool:
    """Whether losses are larger than others by at most so many standard errors of the paired
    difference.
    """
    share = np.asarray(weight, dtype=float) / float(weight.sum())
    gap = losses - best
    gap = gap / power_of_two(gap)  # the sign below is the same, and squares do not overflow
    mean = float(share @ gap)
    error = np.sqrt(len(gap) / (len(gap) - 1) * float(share**2 @ (gap - mean) ** 2))
    return bool(mean <= standard_errors * error)


def sharpest_of(posterior: Posterior) -> float:
    """Where a search goes on from a posterior: soft borders stay soft."""
    soft = posterior.n_localities > 0 and bool(
        (posterior.radius_shape <= _SOFT * (1.0 + 1e-9)).all()
    )
    return _SOFT if soft else np.inf


def score_of(loss: Any, target: Target) -> Any:
    """What users read of the loss of rows left out: R2, or minus the log loss or deviance."""
    return -loss * target.risk_unit if target.loss.likelihood else 1.0 - loss


def score_name(target: Target) -> str:
    """Of what `score_of` gives."""
    return _SCORES.get(target.loss_name, "score")


def choose_candidate(
    candidates: Sequence[Candidate],
    weight: Array,
    plain: Callable[[int], bool],
    rule: float | None = None,
) -> Candidate:
    """The simplest that is not worse than the best by more than a standard error of the paired
    difference: linear models before additive ones, then the fewest localities; of their columns the
    best, and of lambda the best or, by the same standard error, the nearest to a `rule`.

    `plain` tells of a variant whether its models are linear.
    """
    best = min(candidates, key=_loss)

    def close(some: Sequence[Candidate]) -> Candidate | None:
        leader = min(some, key=_loss, default=None)
        if leader is None or not is_close(leader.losses, best.losses, weight, 1.0):
            return None
        return leader

    def near(leader: Candidate) -> Candidate:
        if rule is None:
            return leader
        same = [one for one in candidates if _way(one) == _way(leader)]
        same.sort(key=lambda one: (abs(np.log(one.inverse_temperature / rule)), one.loss))
        closest = (one for one in same if is_close(one.losses, leader.losses, weight, 1.0))
        return next(closest, leader)

    for n in (0, None):  # without localities first
        for linear in (True, False):
            same = [one for one in candidates if plain(one.variant) == linear]
            same = [one for one in same if n is None or one.n_localities == n]
            leader = close(same)
            if leader is None:
                continue
            # of localities in a few columns or in all, those of the leader
            same = [one for one in same if one.variant == leader.variant or not one.n_localities]
            for size in sorted({one.n_localities for one in same}):
                found = close([one for one in same if one.n_localities == size])
                if found is not None:
                    return near(found)
    return near(best)


@dataclass
class Part:
    """One kind of mixture on the rows of one fold."""

    problem: Problem
    held: Rows
    search: Search
    alone: Search  # for one model, without the centers that are given
    rng: np.random.Generator
    leaders: list[Solution] = field(default_factory=list)
    # minima by number of localities that was asked for and lambda
    found: dict[tuple[int, float], Solution] = field(default_factory=dict)


@dataclass
class Folds:
    """A cross-validation.

    Parameters
    ----------
    table : Table
        All rows.
    recipes : sequence of Recipe
        The kinds of mixtures: of linear models first, of localities in a few columns first.
    sizes : sequence of int
        Numbers of localities to choose from.
    masks : list of ndarray
        Of rows left out (see `left_out`).
    temperatures : tuple of float
        That are tried; multiples of Bayes' rule are added where `automatic`.
    automatic : bool
    search : callable
        The search over a problem.
    scores : callable
        Of a problem, a posterior and rows: the answers' scores.
    watch : Watch
    seed : int
    share_out : callable
        That applies a function to each of several parts, on threads perhaps.
    """

    table: Table
    recipes: Sequence[Recipe]
    sizes: Sequence[int]
    masks: Sequence[Booleans]
    temperatures: tuple[float, ...]
    automatic: bool
    search: Callable[[Problem], Search]
    scores: Callable[[Problem, Posterior, Rows], Array]
    watch: Watch
    seed: int
    share_out: Callable[[Any, Any], list[Any]]
    # of each variant
    parts: dict[int, list[Part]] = field(default_factory=dict)
    soft: dict[int, list[Part]] = field(default_factory=dict)  # of the same rows, with soft borders
    ones: list[Candidate] = field(default_factory=list)  # one model without localities
    every: list[Candidate] = field(default_factory=list)  # of `sizes`
    begun: list[tuple[int, Problem, Solution]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.weight = np.where(np.any(self.masks, axis=0), self.table.weight, 0.0)

    @property
    def target(self) -> Target:
        return self.recipes[0].target

    def run(self) -> Chosen | None:
        """Try all candidates, as far as they may win and time allows, and choose; None where time
        did not suffice for one: `begun` has what was found on the rows of one fold.
        """
        grows, sizes = self.recipes[0].geometry.sought, self.sizes
        last = max(sizes)
        sizes_each = max(last, 1) + (min(_LOOKED, last) if self._may_soften(0) else 0)
        steps = len(self.masks) * len(self.recipes) * (sizes_each if grows else 1)
        self.watch.plan(_STEPS * steps + 1)
        kinds = list(dict.fromkeys(id(one.bends) for one in self.recipes))
        firsts = [
            next(v for v, one in enumerate(self.recipes) if id(one.bends) == k) for k in kinds
        ]
        self._prepare(firsts)
        variants = list(range(len(self.recipes)))
        anchor = self._look_at(firsts)
        variants = self._curved(variants)
        if grows or 0 in sizes:
            variants = self._bending(variants, firsts)
        self._prepare([v for v in variants if last])
        ladder = range(1, last + 1) if grows else [n for n in sizes if n]
        ways = [(v, np.inf) for v in variants]
        if grows:
            ways += [(v, _SOFT) for v in variants if self._may_soften(v)]
        for n in ladder:
            if self.every and (self.watch.over() or self._is_futile()):
                break
            for way in list(ways):
                if n in sizes and n > _LOOKED and self._is_hopeless(*way):
                    ways.remove(way)
                    continue
                if not self._grow(*way, n, anchor, n in sizes):
                    return None
                if self.every and self.watch.over():
                    break
            if n == min(_LOOKED, last):
                ways = self._bordered(ways, n, anchor)
        self._follow(anchor)
        self._soften()
        return self._conclude(self._choose())

    def _follow(self, anchor: float) -> None:
        """Other lambdas, for the kind and number of localities that would be chosen."""
        best = self._choose()
        others = [one for one in self.temperatures if one != anchor]
        if not best.n_localities or not others or self.watch.over():
            return
        n, variant = best.n_localities, best.variant

        def follow(part: Part) -> None:
            start = [part.found[n, anchor]]
            for temperature, found in part.search.continued(start, others).items():
                part.found[n, temperature] = found[0]

        self.watch.report(f"n = {n}, {self._name(variant)}: other lambdas")
        parts = self.parts_of(best)
        self.share_out(follow, parts)
        for temperature in others:
            if all((n, temperature) in part.found for part in parts):
                self.every.append(self._judge(variant, n, temperature, best.sharpest))

    def _may_soften(self, variant: int) -> bool:
        """Whether borders may be soft. The loss of a likelihood has no upper end, so that a sharp
        border is worth much where it evades some rows; near it, other rows pay for that.
        """
        sharp = bool((np.asarray(self.recipes[variant].prior.radius_shape) > _SOFT).any())
        return self.target.loss.likelihood and not sharp

    def _bordered(
        self, ways: list[tuple[int, float]], n: int, anchor: float
    ) -> list[tuple[int, float]]:
        """Of each kind the borders, sharp or soft, that are better with a few localities."""
        found: dict[int, tuple[float, float]] = {}
        for variant, sharpest in ways:
            if all((n, anchor) in part.found for part in self._parts(variant, sharpest)):
                own = self._judge(variant, n, anchor, sharpest).loss, sharpest
                found[variant] = min(found.get(variant, own), own)
        return [one for one in ways if found.get(one[0], (0.0, one[1]))[1] == one[1]]

    def _soften(self) -> None:
        """Soft borders for what would be chosen, where its borders are sharp."""
        best = self._choose()
        n, variant, temperature = best.n_localities, best.variant, best.inverse_temperature
        if not n or np.isfinite(best.sharpest) or not self._may_soften(variant):
            return
        if self.watch.over():
            return
        others = [one for one in self.temperatures if one != temperature]

        def soften(pair: tuple[Part, Part]) -> None:
            sharp, soft = pair
            objective = soft.search.objective(n, temperature)
            [first] = soft.search.polish(objective, [sharp.found[n, temperature].posterior])
            soft.found[n, temperature] = first
            for other, more in soft.search.continued([first], others).items():
                soft.found[n, other] = more[0]

        self.watch.report(f"n = {n}, {self._name(variant)}: soft borders")
        parts = self._parts(variant, _SOFT)
        self.share_out(soften, list(zip(self.parts[variant], parts, strict=True)))
        key = variant, n, _SOFT  # fewer localities may have been grown with soft borders
        self.every = [one for one in self.every if _way(one) != key]
        for one in self.temperatures:
            if all((n, one) in part.found for part in parts):
                self.every.append(self._judge(variant, n, one, _SOFT))

    def parts_of(self, candidate: Candidate) -> list[Part]:
        return self._parts(candidate.variant, candidate.sharpest)

    def _parts(self, variant: int, sharpest: float) -> list[Part]:
        if np.isinf(sharpest):
            return self.parts[variant]
        if variant not in self.soft:
            self.soft[variant] = [
                self._with_borders(part, sharpest, [self.seed, variant, k, 1])
                for k, part in enumerate(self.parts[variant])
            ]
        return self.soft[variant]

    def _with_borders(self, part: Part, sharpest: float, seed: list[int]) -> Part:
        problem, rng = replace(part.problem, sharpest=sharpest), np.random.default_rng(seed)
        first = [one for one in part.leaders if not one.posterior.n_localities]
        search = self.search(problem)
        return replace(part, problem=problem, search=search, rng=rng, leaders=first, found={})

    def at(self, chosen: Candidate, inverse_temperature: float) -> Chosen:
        """The same at another lambda, which the search on all rows has ended at."""
        n, variant = chosen.n_localities, chosen.variant

        def search(part: Part) -> None:
            leaders: list[Solution] = []
            for size in range(n + 1) if part.search.grows else [n]:
                leaders = part.search.explore(size, inverse_temperature, part.rng, leaders)
            part.found[n, inverse_temperature] = leaders[0]

        self.watch.report(f"n = {n}, {self._name(variant)}: lambda' = {inverse_temperature:g}")
        self.share_out(search, self.parts_of(chosen))
        self.every.append(self._judge(variant, n, inverse_temperature, chosen.sharpest))
        return self._conclude(self.every[-1])

    def _choose(self) -> Candidate:
        """Where a number of localities is asked for, of those that have as many."""
        rule, every = 1.0 if self.target.loss.likelihood else None, self.every
        if len(self.sizes) == 1:
            every = [one for one in every if one.whole] or every
        return choose_candidate(every, self.weight, lambda v: self.recipes[v].bends is None, rule)

    def _prepare(self, variants: Sequence[int]) -> None:
        """The problems of each fold."""
        tasks = [(v, k) for v in variants if v not in self.parts for k in range(len(self.masks))]
        made = [self._part(v, k) for v, k in tasks]
        for (v, _), part in zip(tasks, made, strict=True):
            self.parts.setdefault(v, []).append(part)

    def _part(self, variant: int, k: int) -> Part:
        mask = self.masks[k]
        rest = self.table.part(mask)
        problem = self.recipes[variant].problem(self.table.part(~mask))
        problem.inputs.check_reach(rest.X, "X")
        held = problem.rows_of(rest.X, rest.target, rest.weight)
        rng = np.random.default_rng([self.seed, variant, k])
        search = self.search(problem)
        alone = search if problem.geometry.sought else self.search(problem.keep([]))
        return Part(problem, held, search, alone, rng)

    # -- one model ---------------------------------------------------------------------------------

    def _look_at(self, firsts: Sequence[int]) -> float:
        """Try one model of each kind; the lambda at which localities are to be looked for."""
        anchor = self.target.anchor
        for v in firsts:
            parts = self.parts[v]

            def solve(part: Part) -> None:
                search = part.alone
                part.leaders = search.explore(0, anchor, part.rng)
                for temperature in self.temperatures:
                    start = [part.leaders[0].posterior]
                    [part.found[0, temperature]] = search.polish(
                        search.objective(0, temperature), start
                    )

            self.share_out(solve, parts)
            self.watch.report(f"one model, {self._name(v)}")
        self.ones = ones = [self._judge(v, 0, one) for v in firsts for one in self.temperatures]
        if 0 in self.sizes:
            self.every += ones
        if not self.automatic:
            near = [one for one in self.temperatures if one <= anchor] or [min(self.temperatures)]
            return max(near)
        if self.target.loss.likelihood:
            return min(anchor, max(self.temperatures))
        noise = min(max(min(one.loss for one in ones), _NOISE[0]), _NOISE[1])
        rule = 0.5 / noise
        low, high = TEMPERATURES
        self.temperatures = tuple(min(max(rule * one, low), high) for one in _TIMES_BAYES)
        return self.temperatures[_TIMES_BAYES.index(_LOOKED_AT)]

    def _curved(self, variants: list[int]) -> list[int]:
        """Of curves those, rugged or smooth, with which one model is better."""
        bent = [one for one in self.ones if self.recipes[one.variant].bends is not None]
        if not bent:
            return variants
        best = self.recipes[min(bent, key=_loss).variant].bends
        return [v for v in variants if self.recipes[v].bends in (None, best)]

    def _bending(self, variants: list[int], firsts: Sequence[int]) -> list[int]:
        """Of additive models, only if one of them is better than a linear one."""
        best = {
            v: min((one for one in self.ones if one.variant == v), key=_loss)
            for v in firsts
            if v in variants
        }
        if len(best) == 1:
            return variants
        plain, bent = best.values()
        if bent.loss >= plain.loss or is_close(plain.losses, bent.losses, self.weight, 1.0):
            return [v for v in variants if self.recipes[v].bends is None]
        return sorted(variants, key=lambda v: self.recipes[v].bends is None)

    # -- localities --------------------------------------------------------------------------------

    def _grow(self, variant: int, sharpest: float, n: int, anchor: float, asked: bool) -> bool:
        """One locality more, on the rows of each fold; False where time did not suffice for all
        folds, of points that are given.
        """

        def grow(part: Part) -> None:
            search = part.search
            if self.begun and self.watch.over() and not self.every and not search.grows:
                return
            leaders = part.leaders
            if search.grows and not (leaders and leaders[0].inverse_temperature == anchor):
                leaders = search.explore(0, anchor, part.rng)
            part.leaders = search.advance(n, anchor, part.rng, leaders)
            part.found[n, anchor] = part.leaders[0]
            self.begun.append((variant, part.problem, part.leaders[0]))

        kind = self._name(variant) + ("" if np.isinf(sharpest) else ", soft borders")
        self.watch.report(f"n = {n}, {kind}")
        parts = self._parts(variant, sharpest)
        self.share_out(grow, parts)
        if any((n, anchor) not in part.found for part in parts):
            return False
        if not asked:
            return True
        self.every.append(self._judge(variant, n, anchor, sharpest))
        best = min(self.every, key=_loss)
        self.watch.report(f"n = {n}, {kind}: best loss of rows left out {best.loss:.5g}")
        return True

    def _judge(
        self, variant: int, n: int, temperature: float, sharpest: float = np.inf
    ) -> Candidate:
        """Means over the times that a row was left out; of rows that never were, 0."""
        parts = self._parts(variant, sharpest)
        each = [
            part.problem.target.losses(self._scores(part, (n, temperature)), part.held)
            for part in parts
        ]
        losses, share = mean_by_row(self.masks, each), self.weight / self.weight.sum()
        loss = float(share @ losses)
        unit = power_of_two(losses)  # squares do not overflow
        error = unit * float(np.sqrt(share**2 @ ((losses - loss) / unit) ** 2))
        if not np.isfinite(loss):
            raise InputError(
                "the losses of rows left out are beyond the range of floats.",
                "Divide the target by a number of its size, or take its logarithm.",
            )
        whole = [self._has_all(part, (n, temperature)) for part in parts]
        most = 2 * sum(whole) > len(whole)
        return Candidate(variant, n, temperature, losses, loss, error, most, sharpest)

    def _has_all(self, part: Part, key: tuple[int, float]) -> bool:
        """Whether each locality has rows of its own, and tells something about them."""
        posterior, problem = part.found[key].posterior, part.problem
        if len(self.sizes) > 1 or not posterior.n_localities or not problem.geometry.sought:
            return True
        return bool(problem.count_rows(posterior).all() and not problem.idle(posterior))

    def _scores(self, part: Part, key: tuple[int, float]) -> Array:
        """Of the rows left out."""
        posterior, problem, held = part.found[key].posterior, part.problem, part.held
        if not posterior.n_localities and not problem.geometry.sought:
            problem, held = problem.keep([]), replace(held, distance=held.distance[:, :0])
        return self.scores(problem, posterior, held)

    def _is_futile(self) -> bool:
        """Whether the last few sizes gave no improvement."""
        tried = sorted({one.n_localities for one in self.every})
        if len(tried) <= _PATIENCE or len(self.sizes) == 1:
            return False
        late = tried[-_PATIENCE:]
        before = min(one.loss for one in self.every if one.n_localities not in late)
        return min(one.loss for one in self.every if one.n_localities in late) >= before

    def _is_hopeless(self, variant: int, sharpest: float) -> bool:
        """Whether the best of a variant with such borders is clearly worse than the best of all."""
        mine = variant, sharpest
        own = [
            one for one in self.every if one.n_localities and (one.variant, one.sharpest) == mine
        ]
        if not own:
            return False
        leader, best = min(own, key=_loss), min(self.every, key=_loss)
        if leader.variant == best.variant:
            return False
        return not is_close(leader.losses, best.losses, self.weight, _HOPELESS)

    def _conclude(self, best: Candidate) -> Chosen:
        parts = self.parts_of(best)
        key = best.n_localities, best.inverse_temperature
        seeds = [(part.problem, part.found[key]) for part in parts]
        left = [
            (mask, np.asarray(part.problem.target.in_units(self._scores(part, key))))
            for mask, part in zip(self.masks, parts, strict=True)
        ]
        if 0 in self.sizes:
            return Chosen(best, self.every, seeds, left, best.loss)
        one = min(self.ones, key=_loss)
        needless = not is_close(best.losses, one.losses, self.weight, _CLEARLY)
        return Chosen(best, self.every, seeds, left, best.loss, self.ones, needless)

    def _name(self, variant: int) -> str:
        """Of a variant, in words."""
        recipe = self.recipes[variant]
        kind = recipe.name
        most = getattr(recipe.geometry, "most", None)
        if most is None:
            return kind
        return f"{kind}, {'all columns' if not most else f'up to {most} columns'}"


def _loss(one: Candidate) -> float:
    return one.loss


def _way(one: Candidate) -> tuple[int, int, float]:
    return one.variant, one.n_localities, one.sharpest
