"""Distributions over models, for PAC-Bayes: a prior learned from some rows with the centers fixed,
the posterior that minimizes a bound on others, and one model drawn from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln
from threadpoolctl import threadpool_limits

from .._typing import Array
from ..combinations import COMBINATIONS, SUM, ambiguity
from ..fingerprints import Fingerprint
from ..geometry import Geometry, radii
from ..losses import Loss, ZeroOne
from ..mixture import Mixture
from ..objective import Objective, locate
from ..optimize import Solution, lbfgs
from ..posterior import FIELDS, FREE_SCALES, Posterior, Prior
from ..rows import Rows
from ..targets import Binary, Several

__all__ = [
    "ANY",
    "Chances",
    "Draw",
    "LargestRisk",
    "UnionRisk",
    "as_prior",
    "draw_model",
    "fix_draw",
    "freeze",
    "learn",
    "log_ratio",
    "replace_posterior",
    "searched_widths",
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


@dataclass(frozen=True, eq=False)
class Chances:
    """Probabilities for each row, under a distribution of models; of models that are corrections
    of the exterior, and so depend on each other, numbers that they do not exceed.
    """

    errs: Array  # that some applicable model errs
    apart: Array | None  # that two applicable models contradict each other; None: not bounded
    silent: Array | None  # that some applicable model errs, and none contradicts it


@dataclass(frozen=True)
class UnionRisk:
    """The probability that some applicable model errs, over some rows and under a prior."""

    loss: Loss  # by which distributions are learned
    geometry: Geometry
    prior: Prior
    rows: Rows

    @staticmethod
    def of(mixture: Mixture, prior: Prior, rows: Rows, tolerance: float) -> UnionRisk:
        """Of a mixture's localities; a regressor errs where it is off by more than a tolerance."""
        target, geometry = mixture.target, mixture.geometry
        if isinstance(target, Several):
            return LargestRisk(target.loss, geometry, prior, rows, target)
        return UnionRisk(target.error(tolerance), geometry, prior, rows)

    def objective(self, inverse_temperature: float) -> Objective:
        return Objective(
            self.loss,
            self.geometry,
            self.prior,
            self.rows,
            inverse_temperature,
            combination=SUM if self.loss.likelihood else ANY,
        )

    def kl(self, posterior: Posterior) -> float:
        """KL(Q || P) of all that is random: without the search's prices of columns and widths."""
        widths = searched_widths(posterior) + self.geometry.log_choices(posterior)
        return self.objective(1.0).kl(posterior) - widths

    def of_solution(self, solution: Solution) -> float:
        """The mean probability of an error, of a distribution that was learned."""
        return self.of_posterior(solution.posterior)

    def of_posterior(self, posterior: Posterior) -> float:
        """The same of any distribution."""
        return float(self.chances(posterior).errs.mean())

    def chances(self, posterior: Posterior) -> Chances:
        """Of the rows, under this distribution.

        Corrections share the exterior's score. Of two labels the probability that a model errs
        falls with that score times the label, for all models, so that they err together more often
        than if they were independent (Chebyshev's inequality of sums), and contradict each other
        less often: the formulas of independent models are upper bounds. Silent errors are at most
        those of any one model. Of several labels and of regressors all that is known is that the
        probabilities of a union are at most their sum.
        """
        mean, omega = locate(self.geometry, posterior, self.rows)
        omega = np.clip(omega, 0.0, 1.0)  # rounding in the last digits
        variance = posterior.variances(posterior.norms2(self.rows.features))
        losses, apart = self._judge(omega, mean, variance)
        dependent = posterior.pooled and posterior.n_localities > 1
        if dependent and not isinstance(self.loss, ZeroOne):
            return Chances(np.clip(SUM.value(omega, losses), 0.0, 1.0), None, None)
        errs = np.clip(ANY.value(omega, losses), 0.0, 1.0)
        apart = np.clip(apart, 0.0, 1.0)
        silent = errs - apart
        if dependent:
            silent = np.minimum(errs, _silent(omega, losses))
        return Chances(errs, apart, np.clip(silent, 0.0, 1.0))

    def _judge(self, omega: Array, mean: Array, variance: Array) -> tuple[Array, Array]:
        """The probability that each model errs, and that two applicable ones contradict each
        other, if models are independent.
        """
        losses = self.loss.value_and_partials(self.rows.target, mean, variance).value
        return losses, ambiguity(omega, losses)


@dataclass(frozen=True)
class LargestRisk(UnionRisk):
    """The same of several classes: a model errs where its largest score is not that of the row's
    class.

    The engine has no slopes of it: distributions are learned by the loss of the fit, and judged by
    it. A bound that holds for all distributions holds for those too.
    """

    labels: Several

    def _judge(self, omega: Array, mean: Array, variance: Array) -> tuple[Array, Array]:
        shares = _label_shares(self.labels, mean, variance)
        own = self.rows.target.astype(int)[None, None]
        losses = np.clip(1.0 - np.take_along_axis(shares, own, axis=1)[:, 0], 0.0, 1.0)
        return losses, _contradictions(omega, shares)


def searched_widths(posterior: Posterior) -> float:
    """What the search pays for the weights of columns, (ln a)^2 / 2: not a price of a bound."""
    weight = posterior.column_weight
    return float(0.5 * (np.log(weight[weight > 0]) ** 2).sum())


def _silent(omega: Array, losses: Array) -> Array:
    """min_i (1 - omega_i (1 - l_i)) - prod(1 - omega_i) (1 - l_ext): at most the probability that
    an applicable model errs and none is right, however the models depend on each other.

    The probability that no applicable model is right is at most that of locality i alone.
    """
    outside = np.prod(1.0 - omega, axis=0)
    return np.asarray((1.0 - omega * (1.0 - losses[:-1])).min(axis=0) - outside * (1 - losses[-1]))


def _label_shares(target: Several, mean: Array, variance: Array) -> Array:
    """(n_models, n_classes, n_rows): probability that each model answers each label."""
    answers = replace(target, loss_name="zero-one")  # probabilities of the largest score
    each = [answers.probabilities(*one).T for one in zip(mean, variance, strict=True)]
    return np.stack(each)


def _contradictions(omega: Array, shares: Array) -> Array:
    """1 - sum_k prod_i (1 - omega_i (1 - q_ik)) + (K - 1) prod_i (1 - omega_i): the probability
    that two applicable models answer different labels; model i answers label k with q_ik.

    The product of k is the probability that none applies or answers another label than k: where
    none applies that is counted for each of the K labels. Of two labels it is `ambiguity`.
    """
    out = 1.0 - shares[:-1]  # (n_localities, n_classes, n_rows)
    agree = np.prod(1.0 - omega[:, None] * out, axis=0).sum(axis=0)
    return np.asarray(1.0 - agree + (shares.shape[1] - 1) * np.prod(1.0 - omega, axis=0))


def freeze(mixture: Mixture) -> Mixture:
    """The mixture with its centers fixed where they are; radii keep the distance at which
    membership is 1/2.
    """
    geometry, posterior = mixture.geometry.freeze(mixture.inputs, mixture.posterior)
    return replace(mixture, geometry=geometry, posterior=posterior)


def learn(risk: UnionRisk, start: Posterior, inverse_temperature: float) -> Solution:
    """The posterior that minimizes risk + KL / lambda, from a start, whose columns and widths it
    keeps.
    """
    own = [name for name in risk.geometry.free if name != "column_weight"]  # which is paid for
    first = [name for name in _ORDER if name in (*_MODELS, *own)]
    free = (*first, *(name for name in own if name not in first))
    # one thread, as in fit: the same numbers on any machine
    with threadpool_limits(limits=1, user_api="blas"):
        found = lbfgs(risk.objective(inverse_temperature), start, free, max_iter=300)
    return replace(found, kl=risk.kl(found.posterior))


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
    if isinstance(target, Binary):  # its distributions are learned for the share of errors
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
    coef: Array  # (n_localities + 1, n_features); of several classes (.., n_classes, n_features)
    intercept: Array  # (n_localities + 1,), or (n_localities + 1, n_classes)
    center: Array  # (n_localities, n_coordinates); fixed centers are drawn where they are


def draw_model(posterior: Posterior, seed: int | Sequence[int]) -> Draw:
    rng = np.random.default_rng(seed)
    radius = rng.gamma(posterior.radius_shape) / posterior.radius_rate
    coef, intercept = (
        _draw_normal(rng, mean, scale)
        for mean, scale in (
            (posterior.coef, posterior.coef_scale),
            (posterior.intercept, posterior.intercept_scale),
        )
    )
    if posterior.layout is not None and posterior.layout.pooled:  # of corrections, and the exterior
        own = posterior.layout.corrected
        coef[:-1] *= own[:, None] if coef.ndim > 2 else own
        coef[:-1] += coef[-1]
        intercept[:-1] += intercept[-1]
    weight = posterior.column_weight
    center = _draw_normal(rng, posterior.center, posterior.center_scale)
    center = np.divide(center, np.sqrt(weight), out=np.zeros_like(center), where=weight > 0)
    return Draw(
        radius, posterior.coef + coef, posterior.intercept + intercept, posterior.center + center
    )


def _draw_normal(rng: np.random.Generator, like: Array, scale: Array) -> Array:
    """Around 0; one scale for each row, or for each row of classes."""
    wide = scale.reshape(scale.shape + (1,) * (like.ndim - 1))
    return np.asarray(wide * rng.standard_normal(like.shape))


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

    Centers that are fixed, with scale 0, are the same under both, and so are their coordinates in
    columns that a locality does not look at, and weights of a local model that are the exterior's.
    """

    def gamma(of: Posterior | Prior) -> float:
        shape, rate = np.asarray(of.radius_shape), np.asarray(of.radius_rate)
        density = (
            shape * np.log(rate)
            + (shape - 1.0) * np.log(draw.radius)
            - rate * draw.radius
            - gammaln(shape)
        )
        return float(density.sum())

    normals = [*_models(draw, posterior, prior), _centers(draw, posterior, prior)]
    return gamma(posterior) - gamma(prior) + sum(one.log_ratio() for one in normals)


class _Normal(NamedTuple):
    """Numbers that were drawn, and their means and scales under both distributions."""

    value: Array
    mean: Array
    scale: Array
    prior_mean: Array
    prior_scale: Array

    def log_ratio(self) -> float:
        away = (self.value - self.mean) / self.scale
        before = (self.value - self.prior_mean) / self.prior_scale
        ratio = np.log(np.asarray(self.prior_scale) / self.scale)
        return float(np.sum(0.5 * (before**2 - away**2) + ratio))


def _models(draw: Draw, posterior: Posterior, prior: Posterior | Prior) -> list[_Normal]:
    """Weights and intercepts; of corrections, their differences from the exterior."""
    layout = posterior.layout
    n = posterior.n_localities
    pooled = layout is not None and layout.pooled
    made = []
    for name in ("coef", "intercept"):
        value, mean = getattr(draw, name), getattr(posterior, name)
        before = np.broadcast_to(np.asarray(getattr(prior, name), dtype=float), value.shape)
        scale, own = getattr(posterior, f"{name}_scale"), np.ones(value.shape, dtype=bool)
        prior_scale = np.array(getattr(prior, f"{name}_scale"), dtype=float)
        if layout is not None and pooled:
            value, mean = (np.concatenate([one[:n] - one[n:], one[n:]]) for one in (value, mean))
            before = np.concatenate([np.zeros_like(before[:n]), before[n:]])
            prior_scale[:n] = np.asarray(prior.coef_scale)[:n]  # one for all corrections
            if name == "coef":
                flags = layout.corrected > 0
                own[:n] = flags[:, None] if own.ndim > 2 else flags
        wide = (one.reshape(one.shape + (1,) * (value.ndim - 1)) for one in (scale, prior_scale))
        first, second = (np.broadcast_to(one, value.shape) for one in wide)
        made.append(_Normal(*(one[own] for one in (value, mean, first, before, second))))
    return made


def _centers(draw: Draw, posterior: Posterior, prior: Posterior | Prior) -> _Normal:
    """Of learned localities, in the columns that they look at."""
    weight, eps = posterior.column_weight, posterior.center_scale
    looks = (weight > 0) & (eps > 0)[:, None]
    scale = eps[:, None] / np.sqrt(np.where(looks, weight, 1.0))
    before = np.asarray(prior.center_scale, dtype=float)
    every = (draw.center, posterior.center, scale, np.asarray(prior.center), before[..., None])
    return _Normal(*(np.broadcast_to(one, looks.shape)[looks] for one in every))
