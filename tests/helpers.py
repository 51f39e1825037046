"""Random posteriors and rows, central differences, and what the last bits depend on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
from scipy.special import ndtr
from threadpoolctl import threadpool_info

from motlm.explanations import Counterfactual, counterfactual
from motlm.geometry import Geometry
from motlm.losses import Log, Loss, ZeroOne
from motlm.posterior import Layout, Posterior
from motlm.rows import Rows


def nearest_change(
    model: Any, x: Any, bounds: Any = None, integer: Any = (), **options: Any
) -> Counterfactual:
    """The smallest change, however many columns it takes, without limits of the training rows."""
    groups = model.mixture_.inputs.groups
    free = {group.name: (None, None) for group in groups if group.levels is None}
    every = {**free, **(bounds or {})}
    return counterfactual(model, x, max_changes=None, bounds=every, integer=integer, **options)


def random_posterior(
    rng: np.random.Generator, n: int, d: int, geometry: Geometry, scores: tuple[int, ...] = ()
) -> Posterior:
    """`scores` is the shape of a model's score for one row: (n_classes,) of several classes."""
    shape = rng.uniform(2, 60, size=n)
    return Posterior(
        center=rng.normal(size=(n, d)),
        center_scale=rng.uniform(0.05, 0.9, size=n) if geometry.learned else np.zeros(n),
        radius_shape=shape,
        radius_rate=shape / rng.uniform(0.5, 2.5, size=n),
        coef=rng.normal(size=(n + 1, *scores, d)),
        coef_scale=rng.uniform(0.1, 1.0, size=n + 1),
        intercept=rng.normal(size=(n + 1, *scores)),
        intercept_scale=rng.uniform(0.1, 1.0, size=n + 1),
    )


def random_weights(rng: np.random.Generator, n: int, d: int, most: int = 3) -> np.ndarray:
    """(n, d): of columns in squared distances, in a few columns each, with geometric means of 1."""
    weight = np.zeros((n, d))
    for one in weight:
        own = rng.choice(d, size=rng.integers(1, min(most, d) + 1), replace=False)
        free = rng.normal(size=len(own))
        one[own] = np.exp(free - free.mean())
    return weight


def random_localities(
    rng: np.random.Generator, n: int, d: int, geometry: Geometry, scores: tuple[int, ...] = ()
) -> Posterior:
    """In a few columns each, with the corrections of the geometry: "own", "all" or "none"."""
    plain = random_posterior(rng, n, d, geometry, scores)
    weight = random_weights(rng, n, d)
    corrected = (weight > 0).astype(float) if geometry.corrections == "own" else np.ones((n, d))
    own = corrected.reshape(n, *(1,) * len(scores), d)
    coef = np.concatenate([np.where(own > 0, plain.coef[:-1], plain.coef[-1:]), plain.coef[-1:]])
    layout = Layout(weight, corrected, geometry.corrections != "none")
    return replace(plain, coef=coef, layout=layout)


def draw_models(q: Posterior, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Weights and intercepts of all models, drawn from a posterior: of corrections those of the
    exterior one plus what they change.
    """
    wide = (-1, *(1,) * (q.coef.ndim - 1))
    coef = q.coef_scale.reshape(wide) * rng.standard_normal(q.coef.shape)
    intercept = q.intercept_scale.reshape(wide[:-1]) * rng.standard_normal(q.intercept.shape)
    if q.pooled:
        coef[:-1] *= q.layout.corrected.reshape(q.n_localities, *wide[2:], q.coef.shape[-1])
        coef[:-1] += coef[-1]
        intercept[:-1] += intercept[-1]
    return q.coef + coef, q.intercept + intercept


def draw_members(q: Posterior, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(n_rows, n_localities): which localities, drawn from a posterior, hold each row."""
    radius = rng.gamma(q.radius_shape, 1 / q.radius_rate)
    looks = q.column_weight > 0
    spread = q.center_scale[:, None] / np.sqrt(np.where(looks, q.column_weight, 1.0))
    center = q.center + spread * rng.standard_normal(q.center.shape)
    squared = (q.column_weight * (X[:, None] - center) ** 2).sum(axis=2)
    return squared <= radius**2


def random_rows(
    rng: np.random.Generator, m: int, posterior: Posterior, geometry: Geometry, loss: Loss
) -> Rows:
    X = rng.normal(size=(m, posterior.center.shape[1]))
    y = rng.normal(size=m)
    if loss.scores:
        y = np.floor(loss.scores[0] * ndtr(y))
    elif isinstance(loss, (ZeroOne, Log)):
        y = np.sign(y)
    elif loss.likelihood:
        y = np.exp(y)
    distance = None
    if not geometry.learned:
        distance = np.linalg.norm(X[:, None] - posterior.center, axis=2)
    return Rows.of(X, y, rng.uniform(0.2, 2.0, size=m), distance)


def name_of(loss: Loss) -> str:
    """As tests are named by it."""
    return " of ".join([loss.name, *(f"{count} classes" for count in loss.scores)])


def differences(
    function: Callable[[np.ndarray], float], at: np.ndarray, step: float = 1e-5
) -> np.ndarray:
    """Central differences of fourth order."""
    result = np.empty_like(at)
    for i in range(len(at)):
        h = np.zeros_like(at)
        h[i] = step
        result[i] = (
            8 * (function(at + h) - function(at - h))
            - (function(at + 2 * h) - function(at - 2 * h))
        ) / (12 * step)
    return result


def environment() -> str:
    """What the last bits depend on."""
    kernels = {one.get("architecture", "") for one in threadpool_info()} - {""}
    return f"numpy {np.__version__}, scipy {scipy.__version__}, {' '.join(sorted(kernels))}"
