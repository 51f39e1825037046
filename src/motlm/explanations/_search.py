"""The nearest row with another answer: over columns that change, changes of categories, branches
over whole numbers and curves, and projections in the columns of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heappop, heappush
from itertools import combinations, islice, product
from math import comb
from typing import Any

import numpy as np

from .._typing import Array, Booleans, Integers
from ..frames import is_missing
from ..mixture import Mixture
from ..pipelines import Group
from ._curved import Bend, Curved
from ._detour import Detour
from ._limits import Conditions, Limits
from ._projection import Domain
from ._wedge import Wedge

__all__ = ["Found", "Search"]

_BEYOND = 1e-7  # of the size of the score's terms: how far beyond the border of a label
_NODES = 2000  # branches over whole numbers, and over parts of curves: some seconds at most
_ALL_NODES = 5000  # of all combinations of categories, after which each has the next number
_FEW_NODES = 50
_CHOICES = 20_000  # combinations of categories
_DETOURS = 20  # searches by a general solver
_SUBSETS = 200_000  # of columns of numbers that are looked at
_PAIRS = 2_000_000  # of these and combinations of categories that are held at once
_TRIED = 2000  # of them in which the nearest row is searched for
_WHOLE = 1e-9  # from a whole number
_SAME = 1e-9  # relative, of squared distances
_CELLS = 20  # that are tried one after another from a point of a curved domain
_INTO = 1e-9  # relative: so far from a knot into a cell


@dataclass(frozen=True, eq=False)
class Found:
    """How far a search has come."""

    row: Array | None = None  # encoded, in the user's units
    cost: float = np.inf  # squared distance, standardized
    exact: bool = True  # whether it is proved that there is none, or none nearer
    elsewhere: bool = False  # whether nearer ones lie where another model is used
    detours: int = 0
    branches: int = 0
    tried: int = 0  # sets of columns
    more: bool = False  # whether more columns change than were asked for
    none_of_few: bool = False  # whether it is proved that this must be so


@dataclass(frozen=True, eq=False)
class _Choice:
    """Levels of the categories."""

    paid: float  # squared distance from those of the row
    row: Array  # with these levels
    count: int  # of categories that differ


@dataclass(frozen=True, eq=False)
class Search:
    """The rows near a row for which the same model gives another answer, in standardized units."""

    row: Array  # encoded, in the user's units
    origin: Array
    factor: Array  # standardized units in one of the user's; 0 for columns that are ignored
    limits: Limits
    domain: Domain  # of the points with that answer
    detour: Detour
    accept: Callable[[Array], bool]  # whether the model itself gives the answer for an encoded row
    free: Booleans  # (n_encoded,): columns of numbers that may change, and matter

    @classmethod
    def of(
        cls,
        mixture: Mixture,
        row: Array,
        used: int,
        conditions: Conditions,
        limits: Limits,
        accept: Callable[[Array], bool],
    ) -> Search:
        routine = mixture.routine()
        origin, factor = routine.origin, routine.factor
        # of scores in the units of the target, in which the levels are
        slopes = np.atleast_2d(routine.coef[used] * mixture.target.scale)
        offsets = np.atleast_1d(mixture.target.in_units(routine.intercept[used : used + 1])[0])
        signs, margin = conditions.signs, 0.0
        bends, ignored = _bends(mixture, row, used)
        offsets = offsets + ignored
        if not conditions.equal:
            start = np.abs((row - origin) * factor) + 1.0
            terms = np.array([float(np.abs(slope) @ start) for slope in slopes])
            terms += sum(np.abs(one.values).max(axis=1) for one in bends)
            margin = _BEYOND * (np.abs(signs) @ (np.abs(offsets) + terms))
        gradient, reach = signs @ slopes, conditions.level - signs @ offsets + margin
        center, weight, radius = np.zeros(len(row)), np.zeros(len(row)), np.inf
        if used < len(routine.loci):
            locus = routine.loci[used]
            center[locus.columns], radius = locus.center, locus.radius
            weight[locus.columns] = 1.0 if locus.weight is None else locus.weight
        free = np.asarray(limits.numeric & (factor > 0))
        around: dict[str, Any] = {
            # whole numbers and categories alone may have to go beyond
            "equal": conditions.equal and not limits.whole and bool(free.any()),
            "low": _standardize(limits.low, origin, factor),
            "high": _standardize(limits.high, origin, factor),
            "center": center,
            "weight": weight,
            "radius": radius,
        }
        domain: Domain
        if bends:
            each = tuple(Bend(one.column, one.knots, signs @ one.values) for one in bends)
            domain = Curved(gradient=gradient, reach=reach, bends=each, **around)
        elif len(gradient) == 1:
            domain = Domain(gradient=gradient[0], reach=float(reach[0]), **around)
        else:
            domain = Wedge(gradient=gradient, reach=reach, **around)
        detour = Detour.of(domain, routine.loci, used)
        return cls(row, origin, factor, limits, domain, detour, accept, free)

    @property
    def gap(self) -> float:
        """The distance of the row from the first of the planes, as if nothing were in the way."""
        gradient, begin = np.atleast_2d(self.domain.gradient)[0], self._begin(self.row)
        lack = -float(np.atleast_1d(self.domain.excess(begin))[0])
        return lack / max(float(np.linalg.norm(gradient)), float(np.finfo(float).tiny))

    def best(self, found: Found) -> Found:
        """The nearest row that has the answer, over all changes of a few categories; or what was
        found so far, if that is nearer.
        """
        found = replace(found, exact=found.exact and len(self._choices) <= _CHOICES)
        for one in sorted(self._choices, key=lambda one: one.paid):
            if one.paid >= found.cost:
                break  # they come in order of what they cost
            found = self._improve(found, one.paid, one.row)
        return found

    def best_of(self, count: int, found: Found) -> Found:
        """The same over all changes of so many columns; where they are too many, of some."""
        trials, beyond = self._trials(count, found.cost)
        found = replace(found, exact=found.exact and len(self._choices) <= _CHOICES)
        for bound, choice, columns in trials:
            if bound * (1.0 - _SAME) >= found.cost:
                break  # they come in order of what they cost at least
            if found.tried >= _TRIED:
                return replace(found, exact=False)
            free = np.zeros(len(self.free), dtype=bool)
            free[columns] = True
            part = replace(self, free=free)
            found = part._improve(replace(found, tried=found.tried + 1), choice.paid, choice.row)
        return replace(found, exact=found.exact and found.cost <= beyond)

    def strongest(self, count: int, found: Found) -> Found:
        """The same in the columns of numbers that can add most to the scores, so many of them."""
        most, steep = (one.sum(axis=0) for one in self._potential[1.0])
        columns = np.flatnonzero(self.free)
        order = columns[np.lexsort((-steep[columns], -most[columns]))][:count]
        if len(order) < count or np.isinf(self._bounds(self._choices[:1], order[None])).all():
            return found
        free = np.zeros(len(self.free), dtype=bool)
        free[order] = True
        return replace(self, free=free)._improve(found, 0.0, self.row)

    def is_small(self, count: int) -> bool:
        """Whether all changes of so many columns can be looked at."""
        return comb(int(self.free.sum()), min(count, int(self.free.sum()) // 2)) <= _SUBSETS

    @property
    def n_changeable(self) -> int:
        """Columns of the user's that may change at once."""
        categories = min(len(self.limits.categories), self.limits.most_categories)
        return int(self.free.sum()) + categories

    def _trials(
        self, count: int, cost: float
    ) -> tuple[list[tuple[float, _Choice, Integers]], float]:
        """Changes of so many columns by which there may be enough of the score: a squared distance
        that no such row is nearer than, the categories, and the columns of numbers. Those first
        that may be nearest, of less than a cost; and what others cost at least, where these are
        not all.
        """
        made: list[tuple[float, _Choice, Integers]] = []
        beyond = np.inf
        for categories in range(min(count, self.limits.most_categories) + 1):
            choices = [one for one in self._choices if one.count == categories and one.paid < cost]
            if not choices:
                continue
            subsets, every = self._subsets(count - categories)
            beyond = beyond if every else 0.0
            step = max(1, _PAIRS // max(len(subsets), 1))
            for start in range(0, len(choices), step):
                some = choices[start : start + step]
                bounds = self._bounds(some, subsets)
                which, columns = np.nonzero(bounds < cost)
                made += [
                    (float(bounds[k, m]), some[k], subsets[m])
                    for k, m in zip(which.tolist(), columns.tolist(), strict=True)
                ]
                if len(made) > _TRIED:
                    made.sort(key=lambda one: one[0])
                    beyond, made = min(beyond, made[_TRIED][0]), made[:_TRIED]
        return sorted(made, key=lambda one: one[0]), beyond

    def _subsets(self, count: int) -> tuple[Integers, bool]:
        """(n_subsets, count): columns of numbers that change together, and whether these are all;
        else of those along which scores are steepest. Columns that are out of their bounds change
        in any case.
        """
        columns = np.flatnonzero(self.free)
        if count > len(columns):
            return np.empty((0, count), dtype=np.intp), True
        steep = self._potential[1.0][1].max(axis=0)
        order = columns[np.argsort(-steep[columns], kind="stable")]
        kept = len(order)
        while comb(kept, count) > _SUBSETS:
            kept -= 1
        made = list(combinations(order[:kept].tolist(), count))
        subsets = np.sort(np.array(made, dtype=np.intp).reshape(len(made), count), axis=1)
        begin = self._begin(self.row)
        slack = _SAME * (1.0 + np.abs(begin))
        out = (begin < self.domain.low - slack) | (begin > self.domain.high + slack)
        must = self.free & out
        if must.any():
            subsets = subsets[must[subsets].sum(axis=1) == must.sum()]
        return subsets, kept == len(order)

    def _bounds(self, choices: list[_Choice], subsets: Integers) -> Array:
        """(n_choices, n_subsets): squared distances that no row is nearer than; infinite where the
        columns together cannot give enough of the score.
        """
        starts = np.array([self._begin(one.row) for one in choices])
        gradient = np.atleast_2d(self.domain.gradient)
        begin = self._begin(self.row)
        # categories are straight, so that they add to what the row lacks
        lacks = -(np.atleast_1d(self.domain.excess(begin)) + (starts - begin) @ gradient.T)
        bounds = np.repeat(np.array([one.paid for one in choices])[:, None], len(subsets), axis=1)
        signs = (1.0, -1.0) if self.domain.equal else (1.0,)
        for sign in signs:
            most, steep = self._potential[sign]
            gains = most[:, subsets].sum(axis=-1)
            squares = (steep[:, subsets] ** 2).sum(axis=-1)
            for k, lack in enumerate((sign * lacks).T):
                slack = _SAME * (1.0 + np.abs(lack))
                far = np.maximum(lack - slack, 0.0)[:, None] ** 2
                with np.errstate(divide="ignore", invalid="ignore"):
                    away = np.where(far > 0.0, far / squares[k], 0.0)
                away[gains[k] * (1.0 + _SAME) < (lack - slack)[:, None]] = np.inf
                paid = np.array([one.paid for one in choices])[:, None]
                bounds = np.maximum(bounds, paid + away)
        return bounds

    @cached_property
    def _potential(self) -> dict[float, tuple[Array, Array]]:
        """By sign, what the columns can do from the row."""
        begin = self._begin(self.row)
        return {sign: self.domain.potential(begin, sign) for sign in (1.0, -1.0)}

    def _improve(self, found: Found, paid: float, changed: Array) -> Found:
        """With the nearest row that has these categories, if it is nearer."""
        begin = self._begin(changed)
        most = _NODES if found.branches < _ALL_NODES else _FEW_NODES
        point, proved, count = self._nearest(begin, found.cost - paid, most)
        found = replace(found, exact=found.exact and proved, branches=found.branches + count)
        if point is None:
            return found
        row = self._row(changed, begin, point)
        if not self.accept(row):
            found = replace(found, exact=False, elsewhere=True, detours=found.detours + 1)
            if self.limits.whole or found.detours > _DETOURS:
                return found
            point = self.detour.around(begin, point, self.free)
            if point is None:
                return found
            row = self._row(changed, begin, point)
            if not self.accept(row):
                return found
        cost = paid + _squared(point - begin)
        return found if cost >= found.cost else replace(found, row=row, cost=cost)

    def _begin(self, row: Array) -> Array:
        """An encoded row, standardized; 0 in columns that are ignored."""
        return (row - self.origin) * self.factor

    def _row(self, changed: Array, begin: Array, point: Array) -> Array:
        """Back to the user's units; what did not move keeps its digits."""
        row, moved = changed.copy(), self.free & (point != begin)
        row[moved] = point[moved] / self.factor[moved] + self.origin[moved]
        whole = [j for j in self.limits.whole if self.free[j]]
        row[whole] = np.rint(row[whole]) + 0.0  # 0 for -0
        return row

    # -- categories

    @cached_property
    def _choices(self) -> list[_Choice]:
        """Rows with at most so many categories changed, one more than are looked at if there are
        more.
        """
        return list(islice(self._all_choices(), _CHOICES + 1))

    def _all_choices(self) -> Iterator[_Choice]:
        yield _Choice(0.0, self.row, 0)
        categories = self.limits.categories
        for count in range(1, min(self.limits.most_categories, len(categories)) + 1):
            for chosen in combinations(categories, count):
                for levels in product(*(self._other_levels(group) for group in chosen)):
                    row = self.row.copy()
                    for group, level in zip(chosen, levels, strict=True):
                        row[group.columns] = group.codes[level]
                    step = (row - self.row) * self.factor
                    yield _Choice(float(step @ step), row, count)

    def _other_levels(self, group: Group) -> list[int]:
        """The levels that the row does not have."""
        other = (group.codes != self.row[group.columns]).any(axis=1)
        missing = is_missing(np.array(group.levels or (), dtype=object))  # no value is taken away
        return [int(k) for k in np.flatnonzero(other & ~missing)]

    # -- numbers

    def _nearest(self, begin: Array, limit: float, most: int) -> tuple[Array | None, bool, int]:
        """The nearest point at less than a squared distance, by branches over the whole numbers
        among its columns and over the parts of a curved domain, the nearest first; whether it is
        proved to be that; and the number of branches.
        """
        waiting: list[tuple[float, int, Array, Domain]] = []
        best: Array | None = None

        def wait(domain: Domain, order: int) -> None:
            domain = domain.within(begin, limit)
            point = self._project(domain, begin)
            if point is not None:
                heappush(waiting, (_squared(point - begin), order, point, domain))

        def improve(domain: Domain, point: Array) -> None:
            nonlocal best, limit
            guess = self._guess(domain, point, begin)
            if guess is not None and _squared(guess - begin) < limit:
                best, limit = guess, _squared(guess - begin)

        wait(self.domain, 0)
        if waiting and waiting[0][0] < limit and self.domain.split(waiting[0][2], self.free):
            near = self.domain.among_knots(begin)
            point = self._project(near, begin)
            if point is not None:
                improve(near, point)
        for made in range(1, 2 * most, 2):
            if not waiting or waiting[0][0] >= limit * (1.0 if best is None else 1.0 - _SAME):
                return best, True, made // 2
            _, _, point, domain = heappop(waiting)
            parts = domain.split(point, self.free)
            if parts:
                improve(domain, point)
            else:
                parts = self._branch(domain, point)
            if not parts:
                return point, True, made // 2
            for order, part in enumerate(parts, made):
                wait(part, order)
        return best, False, most

    def _branch(self, domain: Domain, point: Array) -> tuple[Domain, ...]:
        """Below and above the column that is farthest from a whole number; none where all are."""
        whole = [j for j in self.limits.whole if self.free[j]]
        values = point[whole] / self.factor[whole] + self.origin[whole]
        away = np.abs(values - np.rint(values))
        if not (away > _WHOLE).any():
            return ()
        k = int(np.argmax(away))
        j = whole[k]
        high, low = domain.high.copy(), domain.low.copy()
        high[j] = (np.floor(values[k]) - self.origin[j]) * self.factor[j]
        low[j] = (np.ceil(values[k]) - self.origin[j]) * self.factor[j]
        return replace(domain, high=high), replace(domain, low=low)

    def _guess(self, domain: Domain, point: Array, begin: Array) -> Array | None:
        """A point of a curved domain near to one that may be outside: the nearest of the cell
        around it in which nothing bends, and of the cells next to that on the way back.
        """
        best: Array | None = None
        for start in (domain.lift(point, self.free), point):
            place, cost = start, np.inf
            for _ in range(_CELLS):
                back = place + _INTO * np.sign(begin - place) * (1.0 + np.abs(place))
                found = self._in_cell(domain.cell(np.where(self.free, back, place)), begin)
                if found is None or _squared(found - begin) >= cost * (1.0 - _SAME):
                    break
                place, cost = found, _squared(found - begin)
            if cost < (np.inf if best is None else _squared(best - begin)):
                best = place
        return best

    def _in_cell(self, cell: Domain, begin: Array) -> Array | None:
        """The nearest point of a cell, whole numbers being rounded where it has none."""
        found = self._project(cell, begin)
        if found is None or not self._branch(cell, found):
            return found
        whole = [j for j in self.limits.whole if self.free[j]]
        low, high = cell.low.copy(), cell.high.copy()
        values = np.rint(found[whole] / self.factor[whole] + self.origin[whole])
        low[whole] = high[whole] = (values - self.origin[whole]) * self.factor[whole]
        return self._project(replace(cell, low=low, high=high), begin)

    def _project(self, domain: Domain, begin: Array) -> Array | None:
        """The nearest point of a domain that differs in free columns alone."""
        free = self.free
        within = domain.fix(free, begin)
        part = None if within is None else within.nearest(begin[free])
        if part is None:
            return None
        point = begin.copy()
        point[free] = part
        return point


def _bends(mixture: Mixture, row: Array, used: int) -> tuple[list[Bend], Array]:
    """What the scores of a model have beyond straight lines, (n_scores, n_knots) of each column in
    the units of the target; and the sum of those columns that are ignored elsewhere, at the row.
    """
    routine, made = mixture.routine(), []
    ignored = np.zeros(np.size(routine.intercept[used]))
    for one in routine.curves:
        j, values = one.column, np.atleast_2d(one.values[used]) * mixture.target.scale
        if routine.factor[j] > 0:
            knots = (one.knots - routine.origin[j]) * routine.factor[j]
            made.append(Bend(j, knots, values))
        else:
            ignored = ignored + Bend(j, one.knots, values).at(float(row[j]))
    return made, ignored


def _squared(step: Array) -> float:
    return float((step**2).sum())


def _standardize(bound: Array, origin: Array, factor: Array) -> Array:
    """Bounds of columns; those of ignored columns stay as they are."""
    made, counted = bound.copy(), factor > 0
    made[counted] = (bound[counted] - origin[counted]) * factor[counted]
    return made
