"""What rows left out in cross-validation tell of a model that was fitted to all rows: how large its
errors are, and whether its probabilities are too bold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from ._typing import Array, Booleans
from .mixture import Mixture
from .problem import Table
from .targets import Continuous

__all__ = ["calibrate", "fit_scaling"]

_SPREAD = 0.25  # prior standard deviation of ln(slope) and of intercepts


def calibrate(mixture: Mixture, left: Sequence[tuple[Booleans, Array]], rows: Table) -> Mixture:
    """With the errors of rows left out; of the log loss with scores times a slope, and an intercept
    for each class, that fit those rows (Platt's scaling).
    """
    target: Any = mixture.target
    times = np.maximum(np.sum([mask for mask, _ in left], axis=0), 1)  # that a row was left out
    weight = np.concatenate([(rows.weight / times)[mask] for mask, _ in left])
    codes = np.concatenate([rows.target[mask] for mask, _ in left])
    scores = np.concatenate([one for _, one in left], axis=-1)
    if isinstance(target, Continuous):
        return replace(
            mixture, target=target.expect(scores - codes, weight, float(rows.weight.mean()))
        )
    if target.loss_name != "log":
        return mixture
    several = scores.ndim > 1
    places = codes.astype(int) if several else (codes > 0).astype(int)
    slope, shift = fit_scaling(
        scores if several else np.vstack([0 * scores, scores]), places, weight
    )
    if not several:
        shift = shift[1] - shift[0]
    posterior = mixture.posterior
    scaled = replace(
        posterior,
        coef=posterior.coef * slope,
        coef_scale=posterior.coef_scale * slope,
        intercept=posterior.intercept * slope + shift,
        intercept_scale=posterior.intercept_scale * slope,
    )
    return replace(mixture, posterior=scaled)


def fit_scaling(scores: Array, places: Any, weight: Array) -> tuple[float, Array]:
    """The slope > 0 and the intercepts, which add up to 0, by which scores, (n_classes, n_rows),
    become the logarithms of probabilities: those of the largest posterior density, where ln(slope)
    and intercepts are about 0. 1 and 0, where others gain less than a nat for each, and so would
    not be expected to gain on new rows (Akaike's rule).

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.calibration import fit_scaling
    >>> rng = np.random.default_rng(0)
    >>> score = rng.normal(size=2000)
    >>> label = (rng.uniform(size=2000) < 1 / (1 + np.exp(-score))).astype(int)
    >>> bold = np.vstack([np.zeros(2000), 2 * score])  # twice too sure
    >>> slope, shift = fit_scaling(bold, label, np.ones(2000))
    >>> 0.4 < slope < 0.6
    True
    """
    n, m = scores.shape
    truth = np.zeros((n, m))
    truth[places, np.arange(m)] = 1.0

    def risk(numbers: Array) -> tuple[float, Array]:
        slope = np.exp(numbers[0])
        made = slope * scores + numbers[1:, None]
        gap = (softmax(made, axis=0) - truth) * weight
        value = -float(weight @ (log_softmax(made, axis=0) * truth).sum(axis=0))
        gradient = np.array([slope * float((gap * scores).sum()), *gap.sum(axis=1)])
        gradient += numbers / _SPREAD**2
        return value + 0.5 * float(numbers @ numbers) / _SPREAD**2, gradient

    found = minimize(risk, np.zeros(1 + n), jac=True, method="L-BFGS-B")
    numbers = found.x
    if not risk(np.zeros(1 + n))[0] - found.fun > n:  # n of them are free
        numbers = np.zeros(1 + n)
    return float(np.exp(numbers[0])), numbers[1:] - numbers[1:].mean()
