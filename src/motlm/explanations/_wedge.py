"""The nearest point of several half-spaces, a box, and an ellipsoid along the columns: where one of
several classes has the largest score.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._typing import Array
from ._projection import Domain

__all__ = ["Wedge", "project"]

_NEAR = 1e-6  # from a plane, in units of its normal: a point lies on it
_ROUNDING = 1e-12  # of the size of the terms: a half-space that misses a point by less contains it
_PARALLEL = 1e-20  # squared sine of the angle between a normal and the span of others
_ROUNDS = 50  # for each half-space


@dataclass(frozen=True, eq=False)
class Wedge(Domain):
    """gradient . z >= reach for each of several planes, low <= z <= high, and the ellipsoid.

    `gradient` is (n_planes, n_columns) and `reach` (n_planes,).
    """

    largest: ClassVar[float] = 1e10  # beyond it planes that cross look parallel

    def walls(self, point: Array) -> Array:
        size = np.maximum(np.linalg.norm(self.gradient, axis=1), np.finfo(float).tiny)
        room = (self.gradient @ point - self.reach) / size
        return np.asarray(self.gradient[room <= max(float(room.min()), 0.0) + _NEAR])

    def _has_plane(self) -> bool:
        return True  # `_penalize` finds out

    def _is_ball(self) -> bool:
        return False

    def _penalize(self, start: Array, multiplier: float) -> Array | None:
        """The point of half-spaces and box with the least |z - start|^2 + mu sum weight (z - c)^2,
        as in one half-space; None where they do not meet.

        That is the nearest point to m in units of 1 / sqrt(k).
        """
        curvature, middle = self._pull(start, multiplier)
        point = np.clip(middle, self.low, self.high)
        if (self.gradient @ point >= self.reach).all():
            return np.asarray(point)
        unit, each = np.sqrt(curvature), np.eye(len(start))
        below, above = np.isfinite(self.low), np.isfinite(self.high)
        normals = np.concatenate([self.gradient, each[below], -each[above]])
        reach = np.concatenate([self.reach, self.low[below], -self.high[above]])
        found = project(middle * unit, normals / unit, reach)
        return None if found is None else np.clip(found / unit, self.low, self.high)


def project(start: Array, normals: Array, reach: Array) -> Array | None:
    """The point nearest to a start with normals . z >= reach; None if there is no such point.

    By the dual method of Goldfarb and Idnani (1983): half-spaces that do not contain the point are
    added one by one, and those that no longer hold it back are dropped. A half-space that contains
    no point of the others ends it: its normal is a sum of theirs with negative weights.
    """
    size = np.linalg.norm(normals, axis=1)
    counts = size > 0
    if (reach[~counts] > 0).any():
        return None
    normals, reach = normals[counts] / size[counts, None], reach[counts] / size[counts]
    margin = _ROUNDING * (1.0 + np.abs(reach) + np.abs(normals) @ np.abs(start))
    point, active, weight = start, np.empty(0, dtype=int), np.empty(0)
    for _ in range(_ROUNDS * len(reach)):
        lack = reach - normals @ point - margin
        lack[active] = 0.0
        worst = int(np.argmax(lack)) if len(lack) else 0
        if not len(lack) or lack[worst] <= 0:
            break
        added = _add(point, normals, reach, worst, (active, weight))
        if added is None:
            return None
        point, active, weight = added
    held = normals[active]  # once more from the start, so that rounding does not add up
    return np.asarray(start + np.linalg.lstsq(held, reach[active] - held @ start, rcond=None)[0])


def _add(
    point: Array, normals: Array, reach: Array, new: int, held: tuple[Array, Array]
) -> tuple[Array, Array, Array] | None:
    """The nearest point that one more half-space contains: the point, the half-spaces that hold it
    back and their multipliers; None if there is none.
    """
    active, weight = held
    normal, own = normals[new], 0.0
    while True:
        others = normals[active]
        share = np.linalg.lstsq(others.T, normal, rcond=None)[0]
        way = normal - others.T @ share  # along the planes of the others
        bend = float(way @ way)
        binds = share > _ROUNDING
        lets_go = np.where(binds, weight / np.where(binds, share, 1.0), np.inf)
        first = float(lets_go.min(initial=np.inf))
        arrives = np.inf
        if bend > _PARALLEL:
            arrives = max(float(reach[new] - normal @ point), 0.0) / bend
        step = min(first, arrives)
        if not np.isfinite(step):
            return None
        weight, own = weight - step * share, own + step
        if np.isfinite(arrives):
            point = point + step * way
        if arrives <= first:
            return point, np.append(active, new), np.append(np.maximum(weight, 0.0), own)
        gone = int(np.argmin(lets_go))
        active, weight = np.delete(active, gone), np.delete(weight, gone)
