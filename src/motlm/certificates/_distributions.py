"""Distributions over models, for PAC-Bayes: a prior learned from some rows with the centers fixed,
the posterior that minimizes a bound on others, and one model drawn from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaln
from threadpoolctl import threadpool_limits

from .._typing import Array, ArrayLike
from ..combinations import COMBINATIONS
from ..fingerprints import Fingerprint
from ..geometry import Geometry, radii
from ..losses import Loss
from ..mixture import Mixture
from ..objective import Objective
from ..optimize import Solution, lbfgs
from ..posterior import FIELDS, FREE_SCALES, Posterior, Prior
from ..rows import Rows
from ..targets import Binary

__all__ = [
    "ANY",
    "Draw",
    "UnionRisk",
    "as_prior",
    "draw_model",
    "fix_draw",
    "freeze",
    "learn",
    "log_ratio",
    "replace_posterior",
    "sharpen",
    "use_draw",
]

ANY = COMBINATIONS["any"]
# The order in which the fields are packed; others follow.
_ORDER = ("radius_shape", "radius_rate", "coef", "coef_scale", "intercept", "intercept_scale")
_MODELS = ("coef", "coef_scale", "intercept", "intercept_scale")
# factor of the prior's scales; tuned on two splits of KEEL's classification sets, where 0.03 to 0.3
# differ little
_SHARPER = 0.3


@dataclass(frozen=True)
class UnionRisk:
    """The probability that some applicable model errs, over some rows and under a prior."""

    loss: Loss
    geometry: Geometry
    prior: Prior
    rows: Rows

    def objective(self, inverse_temperature: float) -> Objective:
        return Objective(
            self.loss, self.geometry, self.prior, self.rows, inverse_temperature, combination=ANY
        )


def freeze(mixture: Mixture) -> Mixture:
    """The mixture with its centers fixed where they are; radii keep the distance at which
    membership is 1/2.
    """
    geometry, posterior = mixture.geometry.freeze(mixture.inputs, mixture.posterior)
    return replace(mixture, geometry=geometry, posterior=posterior)


def learn(risk: UnionRisk, start: Posterior, inverse_temperature: float) -> Solution:
    """The posterior that minimizes risk + KL / lambda, from a start."""
    names = (*_MODELS, *risk.geometry.free)
    first = [name for name in _ORDER if name in names]
    free = (*first, *(name for name in risk.geometry.free if name not in first))
    # one thread, as in fit: the same numbers on any machine
    with threadpool_limits(limits=1, user_api="blas"):
        return lbfgs(risk.objective(inverse_temperature), start, free, max_iter=300)


def sharpen(posterior: Posterior) -> Posterior:
    """With smaller scales, to be the prior for other rows: its means are good, so that there is
    little left to learn.
    """
    limits = FIELDS["radius_shape"].limits
    assert limits is not None
    shape = np.clip(posterior.radius_shape / _SHARPER**2, *limits)
    return replace(
        posterior,
        radius_shape=shape,
        radius_rate=shape / posterior.radius_mean,
        coef_scale=np.clip(_SHARPER * posterior.coef_scale, *FREE_SCALES),
        intercept_scale=np.clip(_SHARPER * posterior.intercept_scale, *FREE_SCALES),
    )


def as_prior(posterior: Posterior) -> Prior:
    """A posterior with fixed centers in the role of a prior."""
    return Prior(**{name: getattr(posterior, name) for name in _ORDER})


def replace_posterior(
    mixture: Mixture, posterior: Posterior, fingerprint: Fingerprint, radius: Array | None = None
) -> Mixture:
    """The mixture with another distribution of its models, made from the rows of a fingerprint.

    Its rows are still to be counted, by `count_rows`.
    """
    geometry = mixture.geometry
    radius = radii(geometry, posterior) if radius is None else radius
    provenance = replace(
        mixture.provenance,
        fingerprint=fingerprint,
        objective=None,
        gibbs_risk=None,
        kl=None,
        path=(),
        earlier_hash=None,
    )
    target: Any = mixture.target
    if isinstance(target, Binary):  # such distributions are learned for the share of errors
        target = replace(target, loss_name="zero-one")
    return replace(
        mixture,
        posterior=posterior,
        target=target,
        geometry=replace(geometry, radius=radius),  # type: ignore[type-var]
        provenance=provenance,
    )


@dataclass(frozen=True)
class Draw:
    """One model drawn from a distribution."""

    radius: Array  # (n_localities,)
    coef: Array  # (n_localities + 1, n_features)
    intercept: Array  # (n_localities + 1,)
    center: Array  # (n_localities, n_coordinates); fixed centers are drawn where they are


def draw_model(posterior: Posterior, seed: int | Sequence[int]) -> Draw:
    rng = np.random.default_rng(seed)
    return Draw(
        rng.gamma(posterior.radius_shape) / posterior.radius_rate,
        _draw_normal(rng, posterior.coef, posterior.coef_scale),
        _draw_normal(rng, posterior.intercept, posterior.intercept_scale),
        _draw_normal(rng, posterior.center, posterior.center_scale),
    )


def _draw_normal(rng: np.random.Generator, mean: Array, scale: Array) -> Array:
    """One scale for each row of means."""
    wide = scale.reshape(scale.shape + (1,) * (mean.ndim - 1))
    return np.asarray(mean + wide * rng.standard_normal(mean.shape))


def fix_draw(mixture: Mixture, draw: Draw) -> Mixture:
    """The one model that was drawn: a mixture with its centers, radii and coefficients, on which
    alone its predictions depend. Its rows are still to be counted.
    """
    sharp = use_draw(mixture.posterior, draw)
    geometry = replace(mixture.geometry, radius=draw.radius)  # type: ignore[type-var]
    fixed = freeze(replace(mixture, posterior=sharp, geometry=geometry))
    posterior = use_draw(fixed.posterior, draw)
    return replace_posterior(fixed, posterior, mixture.provenance.fingerprint, draw.radius)


def use_draw(posterior: Posterior, draw: Draw) -> Posterior:
    """The distribution as sharp as it may be around a draw, so that probabilities are almost
    certain.
    """
    limits, n = FIELDS["radius_shape"].limits, posterior.n_localities
    assert limits is not None
    shape = np.full(n, limits[1])
    return replace(
        posterior,
        radius_shape=shape,
        radius_rate=shape / draw.radius,
        center=draw.center,
        center_scale=np.zeros(n),
        coef=draw.coef,
        intercept=draw.intercept,
        coef_scale=np.full(n + 1, FREE_SCALES[0]),
        intercept_scale=np.full(n + 1, FREE_SCALES[0]),
    )


def log_ratio(draw: Draw, posterior: Posterior, prior: Posterior | Prior) -> float:
    """ln dQ/dP of a draw; its mean over draws from Q is the KL divergence.

    Centers that are fixed, with scale 0, are the same under both.
    """
    learned = posterior.center_scale > 0

    def density(of: Posterior | Prior) -> float:
        shape, rate = np.asarray(of.radius_shape), np.asarray(of.radius_rate)
        gamma = (
            shape * np.log(rate)
            + (shape - 1.0) * np.log(draw.radius)
            - rate * draw.radius
            - gammaln(shape)
        )
        normal = (
            _log_normal(draw.coef, of.coef, of.coef_scale)
            + _log_normal(draw.intercept, of.intercept, of.intercept_scale)
            + _log_normal(
                draw.center[learned],
                np.asarray(of.center)[learned],
                np.asarray(of.center_scale)[learned],
            )
        )
        return float(normal + gamma.sum())

    return density(posterior) - density(prior)


def _log_normal(values: Array, mean: ArrayLike, scale: ArrayLike) -> float:
    """The logarithm of a Gaussian density up to a constant; one scale for each row of values."""
    sigma = np.asarray(scale, dtype=float)
    n_axes = values.shape[1] if values.ndim > 1 else 1
    away = (values - np.asarray(mean)) / sigma.reshape(sigma.shape + (1,) * (values.ndim - 1))
    return float(-0.5 * (away**2).sum() - n_axes * np.log(sigma).sum())
