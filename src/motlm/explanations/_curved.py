"""The nearest point where additive models have enough of a score, by branch and bound.

Within a box, each column's curve is replaced by its concave envelope, which makes the points with
enough of a score more, and convex: the nearest of them is no farther than the nearest that counts.
Where the envelope is above the curve there, the box is divided at a knot.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from .._typing import Array, Booleans
from ._projection import Domain
from ._wedge import Wedge, project

__all__ = ["Bend", "Curved"]

_ROUNDING = 1e-12  # of the size of the terms: an envelope that is nearer to its curve is on it
_CUTS = 100  # tangent planes of several curved sides


Hull = tuple[tuple[Array, Array], ...]


@dataclass(frozen=True, eq=False)
class Bend:
    """Lines between values at knots of one column, of each plane; constant beyond the knots."""

    column: int
    knots: Array  # (n_knots,), increasing, standardized
    values: Array  # (n_planes, n_knots)
    hulls: dict[tuple[float, float, float], Hull] = field(default_factory=dict)  # that were made

    def at(self, z: float) -> Array:
        """(n_planes,)"""
        return np.array([np.interp(z, self.knots, one) for one in self.values])

    def between(self, low: float, high: float) -> Array:
        """The knots strictly inside."""
        return np.asarray(self.knots[(self.knots > low) & (self.knots < high)])

    def line(self, z: float) -> tuple[float, float, Array, Array]:
        """Around a place: from where to where it is straight, and there the slope and the value at
        0 of each plane.
        """
        knots, values = self.knots, self.values
        k = int(np.searchsorted(knots, z, side="right"))
        if k == 0:
            return -np.inf, float(knots[0]), np.zeros(len(values)), values[:, 0]
        if k == len(knots):
            return float(knots[-1]), np.inf, np.zeros(len(values)), values[:, -1]
        low, high = float(knots[k - 1]), float(knots[k])
        slope = (values[:, k] - values[:, k - 1]) / (high - low)
        return low, high, slope, values[:, k - 1] - slope * low

    def envelope(self, low: float, high: float, sign: float = 1.0) -> Hull:
        """Of each plane, with a sign: knots and values of the least concave function between two
        places that is nowhere below this one.
        """
        made = self.hulls.get((low, high, sign))
        if made is None:
            ends = [end for end in (low, high) if np.isfinite(end)]
            x = np.union1d(self.between(low, high), ends) if ends else self.knots
            endless = bool(np.isinf(low)), bool(np.isinf(high))
            made = tuple(
                _hull(x, np.interp(x, self.knots, sign * one), endless) for one in self.values
            )
            self.hulls[low, high, sign] = made
        return made


def _hull(x: Array, y: Array, endless: tuple[bool, bool]) -> tuple[Array, Array]:
    """The corners of the concave envelope of points. A bounded function that goes on for ever has
    an envelope that does not fall there.
    """
    top = int(np.argmax(y))
    first, last = top if endless[0] else 0, top if endless[1] else len(x) - 1
    kept: list[tuple[float, float]] = []
    for a, b in zip(x[first : last + 1].tolist(), y[first : last + 1].tolist(), strict=True):
        while len(kept) > 1:
            (x0, y0), (x1, y1) = kept[-2:]
            if (b - y1) * (x1 - x0) < (y1 - y0) * (a - x1):
                break
            kept.pop()
        kept.append((a, b))
    corners = np.array(kept)
    return corners[:, 0], corners[:, 1]


@dataclass(frozen=True, eq=False)
class Concave(Domain):
    """gradient . z + sum of concave functions of a column each >= reach, with box and ellipsoid.

    `gradient` is (n_planes, n_columns) and `reach` (n_planes,), as in a wedge.
    """

    # by column: of each plane the corners of what is added
    hulls: dict[int, Hull]
    # tangent planes, which contain all points of the domain: normals, and how far they reach
    cuts: list[tuple[Array, float]] = field(default_factory=list)

    def _has_plane(self) -> bool:
        return True  # `_penalize` finds out

    def _is_ball(self) -> bool:
        return False

    def _penalize(self, start: Array, multiplier: float) -> Array | None:
        """As in `Domain`; None where nothing is left."""
        curvature, middle = self._pull(start, multiplier)
        point = np.clip(middle, self.low, self.high)
        if len(self.reach) == 1:
            if self._value(0, point) >= self.reach[0]:
                return np.asarray(point)
            return self._on_side(middle, curvature)
        unit = np.sqrt(curvature)
        for _ in range(_CUTS):
            lack = [k for k in range(len(self.reach)) if self._lacks(k, point)]
            if not lack:
                return point
            self.cuts.extend(self._tangent(k, point) for k in lack)
            found = self._between_cuts(middle, unit)
            if found is None:
                return None
            point = found
        return point

    def _value(self, k: int, point: Array) -> float:
        """What one plane has at a point."""
        bends = [np.interp(point[j], *hull[k]) for j, hull in self.hulls.items()]
        return float(self.gradient[k] @ point + sum(bends))

    def _lacks(self, k: int, point: Array) -> bool:
        size = 1.0 + abs(float(self.reach[k])) + float(np.abs(self.gradient[k]) @ np.abs(point))
        return bool(self._value(k, point) < self.reach[k] - _ROUNDING * size)

    def _tangent(self, k: int, point: Array) -> tuple[Array, float]:
        normal = self.gradient[k].copy()
        for j, hull in self.hulls.items():
            normal[j] += _slope(*hull[k], float(point[j]))
        return normal, float(self.reach[k] - self._value(k, point) + normal @ point)

    def _between_cuts(self, middle: Array, unit: Array) -> Array | None:
        each = np.eye(len(middle))
        below, above = np.isfinite(self.low), np.isfinite(self.high)
        normals = np.concatenate([[one for one, _ in self.cuts], each[below], -each[above]])
        reach = np.concatenate([[far for _, far in self.cuts], self.low[below], -self.high[above]])
        found = project(middle * unit, normals / unit, reach)
        return None if found is None else np.clip(found / unit, self.low, self.high)

    def _on_side(self, middle: Array, curvature: Array) -> Array | None:
        """The least sum k (z - m)^2 with the value wanted of one plane: in each column
        k (z - m) = t slope(z), and t from the sorted places at which a column meets a corner.
        """
        slopes, ends = self._pieces()
        with np.errstate(divide="ignore", invalid="ignore"):
            corners = curvature[:, None] * (ends - middle[:, None]) / slopes
            before = curvature * (self.low - middle) / slopes[:, 0]
            later = curvature[:, None] * (ends[:, :-1] - middle[:, None]) / slopes[:, 1:]
        places = np.concatenate([corners.ravel(), before, later.ravel(), [0.0]])
        places = np.unique(places[np.isfinite(places) & (places >= 0)])

        def point(t: float) -> Array:
            free = np.minimum(middle[:, None] + t * slopes / curvature[:, None], ends).max(axis=1)
            return np.asarray(np.clip(free, self.low, self.high))

        def value(t: float) -> float:
            return self._value(0, point(t))

        goal = float(self.reach[0])
        place = bisect_left(places, goal, key=value)
        if place == 0:
            return point(0.0)
        endless = place == len(places)  # beyond the last corner unbounded columns go on
        first = float(places[place - 1])
        second = 2.0 * first + 1.0 if endless else float(places[place])
        below, above = value(first), value(second)
        if not above > below or (endless and not self._rises(slopes)):
            return None
        return point(first + (second - first) * (goal - below) / (above - below))

    def _pieces(self) -> tuple[Array, Array]:
        """Slopes of the one plane along each column, falling, and where each ends, (n_columns,
        n_pieces); the last are repeated where a column has fewer.
        """
        count = 1 + max((len(hull[0][0]) for hull in self.hulls.values()), default=0)
        slopes = np.repeat(self.gradient[0][:, None], count, axis=1)
        ends = np.repeat(self.high[:, None], count, axis=1)
        for j, hull in self.hulls.items():
            x, y = hull[0]
            own = np.concatenate([[0.0], np.diff(y) / np.diff(x), [0.0]])
            if np.isfinite(self.high[j]) and len(x) > 1:
                own[-1] = own[-2]
            slopes[j] += np.append(own, np.full(count - len(own), own[-1]))
            ends[j, : len(x)] = x
        return slopes, ends

    def _rises(self, slopes: Array) -> bool:
        """Whether a column goes on for ever to where the value is larger."""
        up = (slopes[:, -1] > 0) & np.isinf(self.high)
        return bool((up | ((slopes[:, 0] < 0) & np.isinf(self.low))).any())


def _slope(x: Array, y: Array, at: float) -> float:
    """Of lines between points, to the right of a place; beyond the points 0."""
    k = int(np.searchsorted(x, at, side="right"))
    if k == len(x) and len(x) > 1 and at == x[-1]:
        k -= 1
    return 0.0 if not 0 < k < len(x) else float((y[k] - y[k - 1]) / (x[k] - x[k - 1]))


@dataclass(frozen=True, eq=False)
class Curved(Domain):
    """gradient . z + sum of bends >= reach (or = reach) for each plane, with box and ellipsoid.

    `gradient` is (n_planes, n_columns) and `reach` (n_planes,), as in a wedge.
    """

    bends: tuple[Bend, ...]

    def fix(self, free: Booleans, at: Array) -> Self | None:
        within = super().fix(free, at)
        if within is None:
            return None
        place = np.cumsum(free) - 1
        held = sum(one.at(float(at[one.column])) for one in self.bends if not free[one.column])
        return replace(
            within,
            reach=within.reach - held,
            bends=tuple(
                replace(one, column=int(place[one.column]))
                for one in self.bends
                if free[one.column]
            ),
        )

    def excess(self, point: Array) -> Any:
        value = super().excess(point)
        return value + sum(one.at(float(point[one.column])) for one in self.bends)

    def potential(self, begin: Array, sign: float) -> tuple[Array, Array]:
        most, steep = super().potential(begin, sign)
        low, high = self._ends()
        for one in self.bends:
            j = one.column
            slope, values = sign * self.gradient[:, j], sign * one.values
            finite = [end for end in (low[j], high[j]) if np.isfinite(end)]
            places = np.concatenate([one.between(low[j], high[j]), finite])
            bent = np.array([np.interp(places, one.knots, row) for row in values])
            added = slope[:, None] * (places - begin[j]) + bent
            most[:, j] = added.max(axis=1, initial=-np.inf) - sign * one.at(float(begin[j]))
            most[(slope > 0) & np.isinf(high[j]), j] = np.inf
            most[(slope < 0) & np.isinf(low[j]), j] = np.inf
            pieces = np.diff(values, axis=1) / np.diff(one.knots)
            steep[:, j] = np.maximum(steep[:, j], np.abs(slope[:, None] + pieces).max(axis=1))
        return most, steep

    def walls(self, point: Array) -> Array:
        gradient = self.gradient.copy()
        for one in self.bends:
            for k, values in enumerate(one.values):
                gradient[k, one.column] += _slope(one.knots, values, float(point[one.column]))
        size = np.maximum(np.linalg.norm(gradient, axis=1), np.finfo(float).tiny)
        room = self.excess(point) / size
        return np.asarray(gradient[room <= max(float(room.min()), 0.0) + 1e-6])

    def within(self, start: Array, cost: float) -> Self:
        """Without points whose squared distance from the start is larger in one column."""
        if not np.isfinite(cost):
            return self
        away = np.sqrt(cost) * (1.0 + 1e-9)
        return replace(
            self,
            low=np.maximum(self.low, start - away),
            high=np.minimum(self.high, start + away),
        )

    def among_knots(self, start: Array) -> Self:
        """The part of it where columns that bend are between their knots, or as at the start."""
        low, high = self.low.copy(), self.high.copy()
        for one in self.bends:
            j = one.column
            low[j] = max(low[j], min(start[j], one.knots[0]))
            high[j] = min(high[j], max(start[j], one.knots[-1]))
        return replace(self, low=low, high=high)

    def nearest(self, start: Array) -> Array | None:
        """A point that is no farther than the nearest of the domain, and is that where `split` does
        not divide the domain; None if the domain is empty.
        """
        if (self.low > self.high).any():
            return None
        if not any(len(one.between(*self._side(one))) for one in self.bends):
            return self.cell(self._inside()).nearest(start)
        found = self._concave(1.0).nearest(start)
        if found is None or not self.equal:
            return found
        other = self._concave(-1.0).nearest(start)
        if other is None:
            return None
        farther = ((found - start) ** 2).sum() >= ((other - start) ** 2).sum()
        return found if farther else other

    def cell(self, point: Array) -> Domain:
        """The part of the domain around a point in which nothing bends."""
        low, high, reach = self.low.copy(), self.high.copy(), self.reach.copy()
        gradient = self.gradient.copy()
        for one in self.bends:
            j = one.column
            first, last, slope, base = one.line(float(point[j]))
            low[j], high[j] = max(low[j], first), min(high[j], last)
            gradient[:, j] += slope
            reach = reach - base
        single = len(reach) == 1
        return (Domain if single else Wedge)(
            gradient=gradient[0] if single else gradient,
            reach=float(reach[0]) if single else reach,
            equal=self.equal,
            low=low,
            high=high,
            center=self.center,
            weight=self.weight,
            radius=self.radius,
        )

    def lift(self, point: Array, free: Booleans) -> Array:
        """From a point below the envelopes to one of the domain, if there are no other limits: in
        each column to the corner with the higher score.
        """
        wrong = self.excess(point) < 0.0 if not self.equal else np.ones(len(self.reach), dtype=bool)
        made = point.copy()
        for one in self.bends:
            j, k = one.column, int(np.argmax(wrong))
            x, y = one.envelope(*self._side(one))[k]
            place = int(np.searchsorted(x, point[j]))
            if free[j] and 0 < place < len(x) and point[j] != x[place]:
                ends = x[place - 1 : place + 1]
                score = self.gradient[k, j] * ends + y[place - 1 : place + 1]
                made[j] = ends[int(np.argmax(score))]
        return made

    def split(self, point: Array, free: Booleans) -> tuple[Self, ...]:
        """Two parts of it, where its nearest point may be farther than this one; none where this is
        the nearest.
        """
        lack, size = -self.excess(point), self._size(point)
        if self.equal:
            lack = np.abs(lack)
        wrong = lack > _ROUNDING * size
        if not wrong.any():
            return ()
        best: tuple[float, int, Bend] | None = None
        for one in self.bends:
            count = len(one.between(*self._side(one)))
            if count and free[one.column]:
                gap = float(self._gap(one, float(point[one.column]))[wrong].max())
                if best is None or (gap, count) > best[:2]:
                    best = gap, count, one
        if best is None:
            return ()
        one, j = best[2], best[2].column
        inside = one.between(*self._side(one))
        knot = float(inside[np.argmin(np.abs(inside - point[j]))])
        low, high = self.low.copy(), self.high.copy()
        low[j] = high[j] = knot
        return replace(self, high=high), replace(self, low=low)

    def _gap(self, one: Bend, z: float) -> Array:
        """(n_planes,): how far the envelope is above a curve; of planes, above that below it."""
        hulls = one.envelope(*self._side(one))
        above = np.array([np.interp(z, *hull) for hull in hulls]) - one.at(z)
        if not self.equal:
            return above
        hulls = one.envelope(*self._side(one), -1.0)
        return above + (np.array([np.interp(z, *hull) for hull in hulls]) + one.at(z))

    def _size(self, point: Array) -> Array:
        """(n_planes,): of the terms that are added up at a point."""
        size = 1.0 + np.abs(self.reach) + np.abs(self.gradient) @ np.abs(point)
        return np.asarray(size + sum(np.abs(one.values).max(axis=1) for one in self.bends))

    def _side(self, one: Bend) -> tuple[float, float]:
        return float(self.low[one.column]), float(self.high[one.column])

    def _inside(self) -> Array:
        """A point inside the box."""
        low = np.where(np.isfinite(self.low), self.low, self.high - 1.0)
        high = np.where(np.isfinite(self.high), self.high, self.low + 1.0)
        return np.asarray(np.where(np.isfinite(low) & np.isfinite(high), 0.5 * (low + high), 0.0))

    def _concave(self, sign: float) -> Concave:
        """The points where the concave envelopes of all curves reach far enough; of their
        negatives, where there are too many.
        """
        return Concave(
            gradient=sign * self.gradient,
            reach=sign * self.reach,
            equal=False,
            low=self.low,
            high=self.high,
            center=self.center,
            weight=self.weight,
            radius=self.radius,
            hulls={one.column: one.envelope(*self._side(one), sign) for one in self.bends},
        )
