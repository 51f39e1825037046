"""The paper's own way: its solver with its learning rates and stopping rule, its random starts, and
its approximation of upsilon.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import chdtr, chndtr
from scipy.stats import gamma as gamma_distribution
from scipy.stats import qmc

from ._typing import Array, ArrayLike
from .membership import distances
from .objective import Evaluator, Objective, never
from .optimize import Solution, solution_at
from .posterior import FIELDS, Packing, Posterior, Prior

__all__ = ["PAPER", "nadam", "paper_draw", "upsilon_qmc"]

PAPER: dict[str, Any] = {
    "local_models": "linear",
    "select": "held-out",
    "locality_features": "ball",
    "corrections": "none",
    "prior": Prior(),
}
"""The parameters of the paper's mixtures: balls in all columns, independent local models, and its
prior. A classifier's loss there is ``loss="zero-one"``; the paper's own solver and, of classifiers,
weights are ``solver="nadam"`` and ``coef_scale="unit"``."""


_RATES = {"mean": 0.1, "scale": 0.005, "radius": 2.0}  # by the role of a field
_BOUNDS = {
    "center_scale": (1e-3, 1.0),
    "coef_scale": (1e-4, 1.0),
    "intercept_scale": (1e-4, 1.0),
    "radius_shape": (2.0, 1000.0),
    "radius_rate": (0.1, 1000.0),
}
_CHECK = 40  # steps between looks at the stopping rules


def nadam(
    objective: Objective,
    start: Posterior,
    free: Sequence[str],
    max_iter: int = 2000,
    tol: float | None = None,
    stop: Callable[[], bool] = never,
) -> Solution:
    """The paper's solver: NAdam (Dozat, 2016) on the parameters themselves, with the learning rates
    of its experiments.

    Every 40 steps it stops when the objective fell by less than `tol` (default 0.05, as published)
    relatively since the last look, or when the radii's variances add up to more than the number of
    localities. The gradient is the exact one.

    Parameters
    ----------
    objective : Objective
    start : Posterior
    free : sequence of str
        Fields of the posterior that are searched; the others stay as in the start.
    max_iter : int, default=2000
        Most steps.
    tol : float, default=None
    stop : callable
        Called before each step; the search ends when it returns True.

    Returns
    -------
    Solution

    Examples
    --------
    >>> from motlm import Prior
    >>> from motlm.datasets import make_clf_case1
    >>> from motlm.losses import ZeroOne
    >>> from motlm.geometry import LearnedBalls
    >>> from motlm.objective import Objective
    >>> from motlm.reproduction import nadam
    >>> from motlm.rows import Rows
    >>> from motlm.starts import one_model
    >>> X, y = make_clf_case1(200, random_state=0)
    >>> objective = Objective(ZeroOne(), LearnedBalls(), Prior(), Rows.of(X, y), 4.0)
    >>> start = one_model(objective, unit_scale=False)
    >>> solution = nadam(objective, start, ["coef", "intercept", "intercept_scale"], max_iter=50)
    >>> solution.n_iter, solution.objective < objective.value(start)
    (50, True)
    """
    tol = 0.05 if tol is None else tol
    beta1, beta2, decay, tiny = (
        0.9,
        0.999,
        4e-3,
        1e-8,
    )  # PyTorch's defaults, which the published experiments used
    packing = Packing(start, free, plain=True)
    sizes = [getattr(start, name).size for name in free]
    rates = np.repeat([_RATES[FIELDS[name].role] for name in free], sizes)
    lower, upper = (
        np.repeat([_BOUNDS.get(name, (-np.inf, np.inf))[side] for name in free], sizes)
        for side in (0, 1)
    )
    evaluator = Evaluator(objective, packing)
    values = np.clip(packing.pack(start), lower, upper)
    first, second = np.zeros_like(values), np.zeros_like(values)
    product = 1.0
    best_value, best = np.inf, values
    last_look = np.inf
    step, converged, message = 0, False, f"max_iter = {max_iter} steps done"
    while step < max_iter:
        if step and stop():
            message = "stopped"
            break
        found = evaluator.evaluate(values)
        if found.value < best_value:
            best_value, best = found.value, values
        if step % _CHECK == 0 and step:
            posterior = packing.unpack(values)
            spread = float((posterior.radius_shape / posterior.radius_rate**2).sum())
            wide = spread > posterior.n_localities
            if last_look - found.value < tol * abs(last_look) or wide:
                converged = True
                message = "the radii spread too far" if wide else "progress below tol"
                break
        if step % _CHECK == 0:
            last_look = found.value
        step += 1
        now = beta1 * (1.0 - 0.5 * 0.96 ** (step * decay))
        later = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * decay))
        product *= now
        gradient = found.gradient
        first = beta1 * first + (1.0 - beta1) * gradient
        second = beta2 * second + (1.0 - beta2) * gradient**2
        size = np.sqrt(second / (1.0 - beta2**step)) + tiny
        ahead = (1.0 - now) / (1.0 - product) * gradient + later / (1.0 - product * later) * first
        values = np.clip(values - rates * ahead / size, lower, upper)
    if message != "stopped" and not converged and evaluator.evaluate(values).value < best_value:
        best = values
    return solution_at(objective, packing.unpack(best), step, converged, message)


def paper_draw(objective: Objective, n_localities: int, rng: np.random.Generator) -> Posterior:
    """The published experiments' random start.

    Centers and weights N(0, I) (weights 0 for regression), center_scale U(0, 1), shape and rate 50
    U(0, 1), the rest at the prior. Given centers stay where they are.

    Parameters
    ----------
    objective : Objective
    n_localities : int
    rng : numpy Generator

    Returns
    -------
    Posterior

    Examples
    --------
    >>> import numpy as np
    >>> from motlm import Prior
    >>> from motlm.datasets import make_reg_case1
    >>> from motlm.geometry import LearnedBalls
    >>> from motlm.losses import Squared
    >>> from motlm.objective import Objective
    >>> from motlm.reproduction import paper_draw
    >>> from motlm.rows import Rows
    >>> X, y = make_reg_case1(100, random_state=0)
    >>> objective = Objective(Squared(), LearnedBalls(), Prior(), Rows.of(X, y), 4.0)
    >>> start = paper_draw(objective, 2, np.random.default_rng(0))
    >>> start.center.shape, start.coef.ravel()
    ((2, 1), array([0., 0., 0.]))
    """
    rows, geometry = objective.rows, objective.geometry
    n, d = n_localities, rows.features.shape[1]
    if geometry.learned:
        center = rng.standard_normal((n, rows.coordinates.shape[1]))
        center_scale = rng.uniform(1e-3, 1.0, size=n)
    else:
        placed, _ = geometry.place(rows, n, rng)
        center, center_scale = placed["center"], placed["center_scale"]
    classification, wide = objective.loss.name == "zero-one", (n + 1, *objective.loss.scores, d)
    shape, rate = 50.0 * rng.uniform(size=n), 50.0 * rng.uniform(size=n)
    return Posterior(
        center=center,
        center_scale=center_scale,
        radius_shape=np.maximum(shape, 2.0),
        radius_rate=np.maximum(rate, 0.1),
        coef=rng.standard_normal(wide) if classification else np.zeros(wide),
        coef_scale=np.ones(n + 1),
        intercept=np.zeros(wide[:-1]),
        intercept_scale=np.ones(n + 1),
    )


def upsilon_qmc(
    distance: ArrayLike,
    n_features: int,
    center_scale: float,
    shape: float,
    rate: float,
    n_radii: int = 60,
    seed: int | None = None,
) -> Array:
    """The paper's approximation of upsilon: the mean of the non-central chi-square distribution
    over quasi-random radii.

    For the paper's appendix and for comparison only; motlm itself uses `upsilon`. With a seed the
    Halton sequence is scrambled, which gives the spread that the appendix shows.

    Parameters
    ----------
    distance : float or array, at least 0
    n_features : int
    center_scale, shape, rate : float, above 0
    n_radii : int, default=60
        Radii whose mean is taken.
    seed : int or None, default=None
        Of the scrambling; None does not scramble.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> from motlm.membership import upsilon
    >>> from motlm.reproduction import upsilon_qmc
    >>> exact, approximate = upsilon(1.3, 2, 0.1, 30.0, 20.0), upsilon_qmc(1.3, 2, 0.1, 30.0, 20.0)
    >>> bool(1e-9 < abs(exact - approximate) < 0.02)
    True
    """
    halton = qmc.Halton(d=1, scramble=seed is not None, rng=seed)
    points = halton.random(n_radii + 1)[1:, 0] if seed is None else halton.random(n_radii)[:, 0]
    radius = gamma_distribution.ppf(points, shape, scale=1.0 / rate)
    D = distances(distance)
    noncentral = (D[..., None] / center_scale) ** 2
    x = np.broadcast_to((radius / center_scale) ** 2, noncentral.shape[:-1] + radius.shape)
    share = np.where(
        noncentral > 0, chndtr(x, n_features, np.maximum(noncentral, 1e-300)), chdtr(n_features, x)
    )
    return np.asarray(share.mean(axis=-1))
