"""Short formulas: terms that are not needed are struck out of the models, and the rest refitted.

A term is what one column adds in one model: in the exterior all that it adds, in a local model that
is a correction how it counts differently there. The smallest go first. How many may go is decided
on rows left out: as many as make the losses there not significantly larger.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._renamed import user_level
from ._typing import Array, Booleans
from .errors import FewRowsWarning
from .folds import is_close, mean_by_row
from .geometry import radii
from .inputs import Inputs
from .optimize import Solution
from .overlap import contain
from .posterior import Posterior
from .problem import Problem, Recipe, Table
from .rows import Rows

__all__ = ["Short", "Shortener", "Term", "count_terms", "strike", "terms_of"]

_WORSE = 1.0  # standard errors that losses of rows left out may be larger with fewer terms
_SHARE = 0.15  # of the terms that go at a time


@dataclass(frozen=True)
class Term:
    """What a column, or several that a transformer joins, add in a model."""

    model: int
    features: Booleans  # (n_features,)
    size: float  # mean square, over all rows, of what it adds, less its mean where it is used


def terms_of(problem: Problem, posterior: Posterior) -> list[Term]:
    """All that are not 0, the smallest first."""
    rows, inputs, n = problem.rows, problem.inputs, posterior.n_localities
    weight = rows.weight / rows.weight.sum()
    _, distance = problem.geometry.scores_and_distances(posterior, rows)
    member = contain(distance, radii(problem.geometry, posterior))
    used = np.vstack([member, np.ones(len(rows), dtype=bool)])
    owners, found = inputs.owners, []
    for i in range(n + 1):
        share, coef = np.where(used[i], weight, 0.0), posterior.coef[i]
        if i < n and posterior.pooled:
            coef = coef - posterior.coef[-1]
        total = share.sum()
        for k in np.unique(owners):
            own = owners == k
            if not coef[..., own].any() or not total > 0:
                continue
            parts = np.atleast_2d(coef[..., own] @ rows.features[:, own].T)
            middle = parts @ share / total
            size = float((share @ (parts - middle[:, None]).T ** 2).sum())
            found.append(Term(i, own, size))
    return sorted(found, key=lambda one: one.size)


def count_terms(posterior: Posterior, inputs: Inputs) -> tuple[int, int]:
    """How many terms all models have together, and how many they could have."""
    kept, possible, layout = 0, 0, posterior.layout
    for i in range(posterior.n_localities + 1):
        coef, owners = posterior.coef[i], inputs.owners
        free = np.ones(len(owners), dtype=bool)
        if i < posterior.n_localities and layout is not None and layout.pooled:
            coef = coef - posterior.coef[-1]
            free = layout.corrected[i] > 0
        used = np.atleast_2d(coef).any(axis=0)
        kept += len(np.unique(owners[used]))
        possible += len(np.unique(owners[free]))
    return kept, possible


def strike(terms: Sequence[Term], n_models: int) -> Booleans | None:
    """(n_models, n_features): the weights that these terms have."""
    if not terms:
        return None
    struck = np.zeros((n_models, len(terms[0].features)), dtype=bool)
    for one in terms:
        struck[one.model] |= one.features
    return struck


@dataclass(frozen=True)
class Short:
    """What is left when terms were struck out."""

    problem: Problem
    solution: Solution
    loss: float | None = None  # of rows left out, by models as short; None without such rows
    # of each fold the rows left out, and their scores in units of the target, (.., n_left_out)
    left: Sequence[tuple[Booleans, Array]] = ()


@dataclass(frozen=True)
class Shortener:
    """Strikes terms out of a model.

    Parameters
    ----------
    most : int or "auto"
        Terms of each model; "auto" lets rows left out decide.
    recipe : Recipe
        How rows become a problem.
    kept : sequence of int
        Which of the points that were given have localities.
    polish : callable
        Of a problem, a posterior and lambda: searches on from there.
    scores : callable
        Of a problem, a posterior and rows.
    share_out : callable
        That applies a function to each of several folds, on threads perhaps.
    over : callable
        Whether time is up.
    """

    most: Any
    recipe: Recipe
    kept: Sequence[int]
    polish: Callable[[Problem, Posterior, float], Solution]
    scores: Callable[[Problem, Posterior, Rows], Array]
    share_out: Callable[[Any, Any], list[Any]]
    over: Callable[[], bool]

    def run(
        self,
        problem: Problem,
        solution: Solution,
        table: Table,
        masks: Sequence[Booleans],
        seeds: Sequence[tuple[Problem, Solution]] = (),
    ) -> Short:
        """The problem with the terms that are struck, and its minimum; the same where none is.

        `masks` are of the rows of each fold that are left out, `seeds` the minima without these, of
        the same kind and lambda, as far as they are known.
        """
        if self.most == "auto" and not masks:
            text = f"{len(table.X)} distinct rows are too few to choose max_terms; none is struck."
            advice = "Give a number of terms to choose it yourself."
            warnings.warn(FewRowsWarning(text, advice), stacklevel=user_level())
            return Short(problem, solution)
        path = self._path(problem, solution)
        if not masks:
            return Short(*path[-1])
        weight = np.where(np.any(masks, axis=0), table.weight, 0.0)
        followed = self._follow(path[0], table, masks, seeds)
        losses = [
            mean_by_row(masks, [fold[min(k, len(fold) - 1)][0] for fold in followed])
            for k in range(len(path))
        ]
        length = self._choose(losses, weight) if self.most == "auto" else len(path) - 1
        scores = [fold[min(length, len(fold) - 1)][1] for fold in followed]
        loss = float(losses[length] @ weight / weight.sum())
        return Short(*path[length], loss, list(zip(masks, scores, strict=True)))

    def _path(self, problem: Problem, solution: Solution) -> list[tuple[Problem, Solution]]:
        """With ever fewer terms: the smallest go, a few at a time, and the rest is refitted."""
        path, n = [(problem, solution)], solution.posterior.n_localities
        while not self.over():
            terms = terms_of(problem, solution.posterior)
            gone = self._next(terms)
            if not gone:
                break
            struck = [one for one in (strike(gone, n + 1), problem.struck) if one is not None]
            problem = replace(problem, struck=np.any(struck, axis=0))
            solution = self.polish(problem, solution.posterior, solution.inverse_temperature)
            path.append((problem, solution))
        return path

    def _next(self, terms: Sequence[Term]) -> list[Term]:
        """The smallest of what may still go."""
        if self.most == "auto":
            return list(terms[: max(1, int(_SHARE * len(terms)))])
        count = {i: sum(one.model == i for one in terms) for i in {one.model for one in terms}}
        spare = {i: size - int(self.most) for i, size in count.items()}
        found = []
        for i, size in spare.items():
            own = [one for one in terms if one.model == i]
            found += own[: min(size, max(1, int(_SHARE * count[i])))] if size > 0 else []
        return found

    def _follow(
        self,
        whole: tuple[Problem, Solution],
        table: Table,
        masks: Sequence[Booleans],
        seeds: Sequence[tuple[Problem, Solution]],
    ) -> list[list[tuple[Array, Array]]]:
        """Of each fold, with ever fewer terms: losses and scores of the rows left out. Terms are
        struck anew, without a look at those rows.
        """
        problem, solution = whole

        def follow(k: int) -> list[tuple[Array, Array]]:
            part, held, start = self._part(problem, solution, table, masks[k])
            if seeds and part.geometry.sought:
                first = seeds[k][1]
            else:
                first = self.polish(part, start, solution.inverse_temperature)
            found = []
            for one, end in self._path(part, first):
                scores = self.scores(one, end.posterior, held)
                losses = np.asarray(one.target.losses(scores, held))
                found.append((losses, np.asarray(one.target.in_units(scores))))
            return found

        return list(self.share_out(follow, range(len(masks))))

    def _choose(self, losses: Sequence[Array], weight: Array) -> int:
        """How far to go: as long as losses of rows left out are not significantly larger than the
        smallest.
        """
        first = int(np.argmin([one @ weight for one in losses]))
        worse = [
            k
            for k in range(first, len(losses))
            if not is_close(losses[k], losses[first], weight, _WORSE)
        ]
        return min(worse, default=len(losses)) - 1

    def _part(
        self, problem: Problem, solution: Solution, table: Table, mask: Booleans
    ) -> tuple[Problem, Rows, Posterior]:
        """The rows of a fold, those left out, and where to begin."""
        rest = table.part(mask)
        part = self.recipe.problem(table.part(~mask))
        if not part.geometry.sought:
            part = part.keep(list(self.kept))
        held = part.rows_of(rest.X, rest.target, rest.weight)
        start = part.translate(solution.posterior, problem.inputs, problem.target)
        return part, held, start
