"""The nearest point of a half-space or a plane, a box, and an ellipsoid along the columns."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.optimize import brentq

from .._typing import Array, Booleans

__all__ = ["Domain"]

_HAIR = 1e-9  # of a radius: so much inside, so that rounding does not put a point outside


@dataclass(frozen=True, eq=False)
class Domain:
    """gradient . z >= reach (or = reach), low <= z <= high, sum weight (z - center)^2 <= radius^2.

    The ellipsoid does not look at columns of weight 0; there is none if its radius is infinite.
    """

    gradient: Array  # (n_columns,), as all arrays here
    reach: Any  # float, or (n_planes,) of several planes
    equal: bool  # whether it is a plane, not a half-space
    low: Array
    high: Array
    center: Array
    weight: Array
    radius: float

    # multiplier of the ellipsoid at which it and the others do not meet
    largest: ClassVar[float] = 1e16

    def fix(self, free: Booleans, at: Array) -> Self | None:
        """In the free columns alone, the others being held there; None if nothing is left."""
        fixed = ~free
        room = self.radius**2 - float(self.weight[fixed] @ (at - self.center)[fixed] ** 2)
        if room < 0:
            return None
        return replace(
            self,
            gradient=self.gradient[..., free],
            reach=self.reach - self.gradient[..., fixed] @ at[fixed],
            low=self.low[free],
            high=self.high[free],
            center=self.center[free],
            weight=self.weight[free],
            radius=float(np.sqrt(room)),
        )

    def excess(self, point: Array) -> Any:
        """By how much a point has more than enough of the score; of each of several planes."""
        return self.gradient @ point - self.reach

    def within(self, start: Array, cost: float) -> Self:
        """Perhaps without points that are farther from the start, by their squared distance."""
        return self

    def split(self, point: Array, free: Booleans) -> tuple[Self, ...]:
        """Parts to search one by one, if `nearest` gave a point that may be outside; none here."""
        return ()

    def cell(self, point: Array) -> Domain:
        """The part of it around a point in which nothing bends: here all of it."""
        return self

    def among_knots(self, start: Array) -> Self:
        """The part of it where it bends; here all of it."""
        return self

    def lift(self, point: Array, free: Booleans) -> Array:
        """A point that is inside, or nearer to that; here the same."""
        return point

    def potential(self, begin: Array, sign: float) -> tuple[Array, Array]:
        """(n_planes, n_columns) each: the most that a column can add to a score, times a sign,
        between its ends, beyond what it adds at a point; and its steepest slope.
        """
        gradient = sign * np.atleast_2d(self.gradient)
        ends = [
            np.where(gradient != 0, gradient * np.where(gradient != 0, end - begin, 0.0), 0.0)
            for end in self._ends()
        ]
        return np.maximum(*ends), np.abs(gradient)

    def _ends(self) -> tuple[Array, Array]:
        """Of the columns, within box and ellipsoid."""
        reach = np.full(len(self.weight), np.inf)
        np.divide(self.radius, np.sqrt(self.weight), out=reach, where=self.weight > 0)
        return np.maximum(self.low, self.center - reach), np.minimum(self.high, self.center + reach)

    def walls(self, point: Array) -> Array:
        """(n_walls, n_columns): the gradients of the planes that a point lies on."""
        return self.gradient[None]

    def nearest(self, start: Array) -> Array | None:
        """The point of the domain that is nearest to the start; None if the domain is empty."""
        if (self.low > self.high).any() or not self._has_plane():
            return None
        if self._is_ball():
            return self._nearest_in_ball(start)
        point = self._penalize(start, 0.0)
        if point is None or self._distance(point) <= self.radius:
            return point
        multiplier = self._multiplier(start)
        return None if multiplier is None else self._penalize(start, multiplier)

    def _distance(self, point: Array) -> float:
        return float(np.sqrt(self.weight @ (point - self.center) ** 2))

    def _has_plane(self) -> bool:
        """Whether half-space, or plane, and box meet."""
        rising, falling = self.gradient > 0, self.gradient < 0
        up, down = self.gradient[rising], self.gradient[falling]
        most = float(up @ self.high[rising] + down @ self.low[falling])
        least = float(up @ self.low[rising] + down @ self.high[falling])
        return self.reach <= most and (least <= self.reach or not self.equal)

    # -- ball without box: closed form

    def _is_ball(self) -> bool:
        no_box = np.isinf(self.low).all() and np.isinf(self.high).all()
        return bool(no_box and np.isfinite(self.radius) and (self.weight == 1.0).all())

    def _nearest_in_ball(self, start: Array) -> Array | None:
        """A plane cuts a ball in a disc, and the nearest point of it is found within the plane."""
        gradient, reach, center = self.gradient, self.reach, self.center
        away = start - center
        length = float(np.linalg.norm(away))
        inside = start
        if length > self.radius:
            inside = center + away * (self.radius * (1.0 - _HAIR) / length)
        norm2 = float(gradient @ gradient)
        if norm2 == 0 or (not self.equal and gradient @ inside >= reach):
            return inside  # without a gradient, all points are on the plane, or none
        foot = start + (reach - gradient @ start) / norm2 * gradient
        if self._distance(foot) <= self.radius:
            return np.asarray(foot)
        middle = center + (reach - gradient @ center) / norm2 * gradient
        room = self.radius**2 - float(((middle - center) ** 2).sum())
        if room < 0:
            return None
        away = foot - middle
        return np.asarray(middle + away * (np.sqrt(room) * (1.0 - _HAIR) / np.linalg.norm(away)))

    # -- else: a search for the multiplier of the ellipsoid

    def _multiplier(self, start: Array) -> float | None:
        """The smallest mu with |penalize(mu) - center| <= radius; the distance falls with mu."""

        def excess(multiplier: float) -> float:
            point = self._penalize(start, multiplier)
            away = np.inf if point is None else self._distance(point)
            return away - self.radius * (1.0 - _HAIR)

        low, high = 0.0, 1.0
        while (beyond := excess(high)) > 0:
            if high > self.largest or np.isinf(beyond):
                return None
            low, high = high, 16.0 * high
        return float(brentq(excess, low, high, xtol=1e-15, rtol=1e-14))

    def _penalize(self, start: Array, multiplier: float) -> Array | None:
        """The point of half-space and box with the least |z - start|^2 + mu sum weight (z - c)^2.

        That is sum k (z - m)^2 up to a constant, with curvatures k = 1 + mu weight and a point m
        between start and center in each column.
        """
        curvature, middle = self._pull(start, multiplier)
        point = np.clip(middle, self.low, self.high)
        if not self.equal and self.gradient @ point >= self.reach:
            return np.asarray(point)
        return self._on_plane(middle, curvature)

    def _pull(self, start: Array, multiplier: float) -> tuple[Array, Array]:
        """Those curvatures, and that point."""
        pull = multiplier * self.weight
        curvature = 1.0 + pull
        return curvature, start + pull / curvature * (self.center - start)

    def _on_plane(self, middle: Array, curvature: Array) -> Array:
        """clip(middle + t gradient / curvature) on the plane: t from the sorted corners, at which a
        column meets its bound.
        """
        gradient, low, high = self.gradient, self.low, self.high
        step = gradient / curvature
        moves = step != 0
        if not moves.any():
            return np.asarray(np.clip(middle, low, high))
        ends = [((bound - middle)[moves]) / step[moves] for bound in (low, high)]
        corners = np.unique(np.concatenate(ends))
        corners = corners[np.isfinite(corners)]

        def value(t: float) -> float:
            return float(gradient @ np.clip(middle + t * step, low, high))

        place = bisect_left(corners, self.reach, key=value)
        if 0 < place < len(corners):
            first, second = corners[place - 1], corners[place]
            below, above = value(first), value(second)
            t = first + (second - first) * (self.reach - below) / (above - below)
        else:  # before the first corner or after the last, where unbounded columns go on
            t = 0.0 if len(corners) == 0 else corners[min(place, len(corners) - 1)]
            rises = place > 0 or len(corners) == 0
            end = np.where((gradient > 0) == rises, high, low)
            slope = float((gradient * step)[np.isinf(end)].sum())
            t += (self.reach - value(t)) / slope if slope > 0 else 0.0
        return np.asarray(np.clip(middle + t * step, low, high))
