"""Random posteriors and rows, central differences, and what the last bits depend on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy
from scipy.special import ndtr
from threadpoolctl import threadpool_info

from motlm.geometry import Geometry
from motlm.losses import Log, Loss, ZeroOne
from motlm.posterior import Posterior
from motlm.rows import Rows


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
