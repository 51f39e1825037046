"""Where a search begins: balls placed at rows with linear models fitted inside and outside, or the paper's random draws."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from threadpoolctl import threadpool_limits

from ._typing import Array
from .objective import Objective
from .posterior import Posterior
from .rows import Rows

__all__ = ["lowest", "paper_draw", "placed_at_rows"]

_RIDGE = 1.0  # one pseudo-row per weight, as a standard normal prior has
_SHAPE = 25.0  # the radius starts with a spread of a fifth of itself
_CENTER_SCALE = 0.2


def placed_at_rows(rows: Rows, points: Array | None, n_localities: int, unit_scale: bool, rng: np.random.Generator) -> Posterior:
    """Centres at random rows (or at the given points), radii at random quantiles of the distance, ridge models inside and out."""
    m, d = rows.features.shape
    n = n_localities
    if points is None:
        chosen = rng.choice(m, size=n, replace=False, p=rows.weight / rows.weight.sum())
        center = rows.coordinates[chosen]
        distance = np.array([rows.distance_from(point) for point in center]).reshape(n, m).T
        center_scale = np.full(n, _CENTER_SCALE)
    else:
        center, center_scale, distance = points, np.zeros(n), rows.distance
    share = rng.uniform(0.05, 0.5, size=n)
    radius = np.array([np.quantile(distance[:, i], share[i]) for i in range(n)])
    radius = np.maximum(radius, 1e-2)
    inside = distance <= radius
    coef, intercept = np.empty((n + 1, d)), np.empty(n + 1)
    for i in range(n):
        coef[i], intercept[i] = _ridge(rows, inside[:, i])
    coef[n], intercept[n] = _ridge(rows, ~inside.any(axis=1))
    return Posterior(
        center=center,
        center_scale=center_scale,
        radius_shape=np.full(n, _SHAPE),
        radius_rate=_SHAPE / radius,
        coef=coef,
        coef_scale=np.full(n + 1, 1.0 if unit_scale else 0.3),
        intercept=intercept,
        intercept_scale=np.full(n + 1, 0.3),
    )


def lowest(objective: Objective, candidates: Sequence[Posterior], count: int) -> list[Posterior]:
    """The candidates at which the objective is lowest, best first."""
    with threadpool_limits(limits=1, user_api="blas"):
        values = [objective.value(candidate) for candidate in candidates]
    return [candidates[i] for i in np.argsort(values, kind="stable")[:count]]


def _ridge(rows: Rows, chosen: Array) -> tuple[Array, float]:
    """Weighted ridge regression of the target on the chosen rows; the prior mean where there are none."""
    X, y, weight = rows.features[chosen], rows.target[chosen], rows.weight[chosen]
    d = rows.features.shape[1]
    design = np.column_stack([X, np.ones(len(X))])
    gram = (design * weight[:, None]).T @ design + _RIDGE * np.eye(d + 1)
    solution = np.linalg.solve(gram, design.T @ (weight * y))
    return solution[:d], float(solution[d])


def paper_draw(rows: Rows, points: Array | None, n_localities: int, classification: bool, rng: np.random.Generator) -> Posterior:
    """The published experiments' random start.

    Centres and weights N(0, I) (weights 0 for regression), center_scale U(0, 1), shape and rate 50 U(0, 1), the rest at
    the prior.
    """
    n, d = n_localities, rows.features.shape[1]
    center = rng.standard_normal((n, rows.coordinates.shape[1])) if points is None else points
    center_scale = rng.uniform(1e-3, 1.0, size=n) if points is None else np.zeros(n)
    shape, rate = 50.0 * rng.uniform(size=n), 50.0 * rng.uniform(size=n)
    return Posterior(
        center=center,
        center_scale=center_scale,
        radius_shape=np.maximum(shape, 2.0),
        radius_rate=np.maximum(rate, 0.1),
        coef=rng.standard_normal((n + 1, d)) if classification else np.zeros((n + 1, d)),
        coef_scale=np.ones(n + 1),
        intercept=np.zeros(n + 1),
        intercept_scale=np.ones(n + 1),
    )
