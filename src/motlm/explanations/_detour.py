"""Around other localities: a point near by where the same model is used, by a general solver."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from .._typing import Array, Booleans
from ..geometry import Locus
from ._projection import Domain

__all__ = ["Detour"]

# with half as many starts and sides, 2 of 605 detours around ellipses were 6 and 8 % longer than
# the best of a grid, with these none was
_STARTS = 24  # points just outside of other localities
_WAYS = 6  # random directions from a point to them
_SIDES = 48  # random directions from the center of each of them, where there are several planes
_OUTSIDE = 1.02  # of a radius


@dataclass(frozen=True, eq=False)
class Detour:
    """Where the nearest point lies in other localities: near by, out of them or nearer to the
    center of its own.

    Which of the two is tried for all of them at once, so that a nearer point may be missed.
    """

    domain: Domain  # in all columns
    own: Locus | None  # None: the exterior's
    others: tuple[Locus, ...]

    @classmethod
    def of(cls, domain: Domain, loci: tuple[Locus, ...], used: int) -> Detour:
        written = [j for j, locus in enumerate(loci) if locus.radius > 0 and locus.norm]
        own = loci[used] if used < len(loci) else None
        return cls(domain, own, tuple(loci[j] for j in written if j != used))

    def around(self, begin: Array, point: Array, free: Booleans) -> Array | None:
        """A point that differs from `begin` in free columns; `point` is the nearest, which lies
        where another model is used.
        """
        starts = [
            point[free] + 1e-3 * np.sign(self.domain.walls(point).sum(axis=0)[free]),
            *self._beside(begin, point, free),
        ]
        best: tuple[float, Array] | None = None
        for leave in (True,) if self.own is None else (True, False):
            rules = [_hold(rule, begin, free) for rule in self._rules(leave)]
            for start in starts:
                part = self._solve(rules, start, begin[free], free)
                if part is None:
                    continue
                cost = float(((part - begin[free]) ** 2).sum())
                if best is None or cost < best[0]:
                    best = cost, part
        if best is None:
            return None
        made = begin.copy()
        made[free] = best[1]
        return made

    def _rules(self, leave: bool) -> list[Callable[[Array], Any]]:
        """What must not be negative at a point; the first must be 0 if the domain is a plane."""
        domain, own = self.domain, self.own
        rules: list[Callable[[Array], Any]] = [domain.excess]
        if own is None:
            return rules + [_be_outside(one) for one in self.others]
        most = own.radius**2 * (1 - 1e-9)
        rules.append(lambda z: most - own.squared_distance(z))
        return rules + [_be_outside(one) if leave else _be_nearer(own, one) for one in self.others]

    def _solve(
        self, rules: list[Callable[[Array], Any]], start: Array, begin: Array, free: Booleans
    ) -> Array | None:
        """The point that the solver ends at, if it satisfies the rules."""
        kinds = ["eq" if self.domain.equal else "ineq", *["ineq"] * (len(rules) - 1)]
        low, high = self.domain.low[free], self.domain.high[free]
        bounds = [
            (a if np.isfinite(a) else None, b if np.isfinite(b) else None)
            for a, b in zip(low, high, strict=True)
        ]
        with warnings.catch_warnings():
            # of steps that are clipped to the bounds
            warnings.simplefilter("ignore", RuntimeWarning)
            solved = minimize(
                lambda part: float(((part - begin) ** 2).sum()),
                start,
                jac=lambda part: 2.0 * (part - begin),
                bounds=bounds,
                constraints=[
                    {"type": kind, "fun": rule} for kind, rule in zip(kinds, rules, strict=True)
                ],
                method="SLSQP",
                options={"maxiter": 200, "ftol": 1e-10},
            )
        if not np.isfinite(solved.x).all():
            return None
        for kind, rule in zip(kinds, rules, strict=True):
            value = rule(solved.x)
            if not np.all(abs(value) <= 1e-9 if kind == "eq" else value >= -1e-12):
                return None
        return np.asarray(solved.x)

    def _beside(self, begin: Array, point: Array, free: Booleans) -> list[Array]:
        """Points just outside of other localities, along some directions from this one, where
        sum weight (z - center)^2 is the squared radius; the best of them first.
        """
        domain = self.domain
        near = [one for one in self.others if one.norm == "euclidean"]
        gaps = [_spread(one, point[one.columns] - one.center, len(point)) for one in near]
        places = [
            np.clip(point + step * way, domain.low, domain.high)
            for way in self._ways(point, gaps, free)
            for one, gap in zip(near, gaps, strict=True)
            for step in _crossings(one, gap, way)
        ]
        made: dict[tuple[float, ...], tuple[bool, float, Array]] = {}
        for place in places + self._all_around(begin, near, free):
            bad = any(k.squared_distance(place) < k.radius**2 for k in self.others)
            bad |= bool(np.any(domain.excess(place) < -1e-9))
            cost = float(((place - begin) ** 2).sum())
            made[tuple(place.round(6).tolist())] = (bad, cost, place[free])
        best = sorted(made.values(), key=lambda one: one[:2])
        return [place for _, _, place in best[:_STARTS]]

    def _all_around(self, begin: Array, near: list[Locus], free: Booleans) -> list[Array]:
        """Between several planes, which may end before a locality does: points on all sides of the
        localities, moved between the planes.
        """
        between = replace(self.domain, radius=np.inf).fix(free, begin)
        if np.size(self.domain.reach) < 2 or between is None:
            return []
        random = np.random.default_rng(0).standard_normal((_SIDES, len(free)))
        places = []
        for one in near:
            middle = begin.copy()
            middle[one.columns] = one.center
            middle = np.where(free, middle, begin)
            gap = _spread(one, middle[one.columns] - one.center, len(begin))
            for way in (*np.where(free, random, 0.0), np.where(free, begin - middle, 0.0)):
                for step in _crossings(one, gap, way):
                    part = between.nearest((middle + step * way)[free])
                    if part is not None:
                        place = begin.copy()
                        place[free] = part
                        places.append(place)
        return places

    def _ways(self, point: Array, gaps: list[Array], free: Booleans) -> list[Array]:
        """Directions away from centers and at random, along the planes that the point lies on and,
        in half-spaces, as they are.
        """
        random = np.random.default_rng(0).standard_normal((_WAYS, len(free)))
        ways = [np.where(free, way, 0.0) for way in (*gaps, *random)]
        flat: list[Array] = []
        for wall in self.domain.walls(point):
            gradient = np.where(free, wall, 0.0)
            norm2 = float(gradient @ gradient)
            if norm2 > 0:
                flat += [way - gradient * float(gradient @ way) / norm2 for way in ways]
        return flat if self.domain.equal or not flat else flat + ways


def _spread(locus: Locus, values: Any, n_columns: int) -> Array:
    """Values of the columns that it looks at, among zeros."""
    made = np.zeros(n_columns)
    made[locus.columns] = values
    return made


def _crossings(one: Locus, gap: Array, way: Array) -> list[float]:
    """The steps t at which the gap from the center, gap + t way, is a little more than a radius:
    bend t^2 + 2 tilt t = lack.
    """
    weight = _spread(one, 1.0 if one.weight is None else one.weight, len(gap))
    bend, tilt = float(weight @ way**2), float(weight @ (way * gap))
    lack = (_OUTSIDE * one.radius) ** 2 - float(weight @ gap**2)
    square = tilt**2 + bend * lack
    if bend <= 1e-24 or square <= 0:
        return []
    return [(sign * float(np.sqrt(square)) - tilt) / bend for sign in (1, -1)]


def _be_outside(one: Locus) -> Callable[[Array], float]:
    least = one.radius**2 * (1 + 1e-9)
    return lambda z: one.squared_distance(z) - least


def _be_nearer(own: Locus, one: Locus) -> Callable[[Array], float]:
    return lambda z: one.squared_distance(z) - own.squared_distance(z) - 1e-9


def _hold(rule: Callable[[Array], Any], begin: Array, free: Booleans) -> Callable[[Array], Any]:
    """A rule for the free columns alone, the others being held where they are."""

    def function(part: Array) -> Any:
        whole = begin.copy()
        whole[free] = part
        return rule(whole)

    return function
