"""Laws over models, for the certificates of PAC-Bayes: a prior from some rows with the centers
frozen, the posterior that others make of it, and one model drawn from that.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaincinv, gammaln
from threadpoolctl import threadpool_limits

from .._typing import Array
from ..bounds import pac_bayes_kl
from ..combinations import COMBINATIONS
from ..estimators import LocalMixture
from ..fingerprints import Fingerprint
from ..losses import Loss
from ..objective import KnownCenters, Objective
from ..optimize import Solution, lbfgs
from ..posterior import FREE_SCALES, Posterior, Prior
from ..prediction import Routing, radii, route
from ..problem import NO_ROWS, Metric, Problem, Table
from ..rows import Rows
from ..vicinity import LIMITS

__all__ = [
    "ANY",
    "Draw",
    "as_model",
    "best_whole",
    "drawn",
    "frozen",
    "learned",
    "log_ratio",
    "prior_from",
]

ANY = COMBINATIONS["any"]
_MODELS = ("radius_shape", "radius_rate", "coef", "coef_scale", "intercept", "intercept_scale")
# factor of the prior's scales; tuned on two splits of KEEL's classification sets, where 0.03 to 0.3
# differ little
_SHARPER = 0.3
_SMALLEST_RADIUS = 0.02  # standardized, of a ball that never reaches a membership of 1/2
_TRIED = (
    0.125,
    0.25,
    0.5,
    1.0,
    2.0,
    4.0,
)  # inverse temperatures; the PAC-Bayes-kl bound holds for all posteriors at once


def frozen(model: LocalMixture, loss: Loss) -> tuple[Problem, Posterior]:
    """The model's problem with its centers fixed where they are and the union loss, and its
    posterior there.

    Radii keep the distance at which membership is 1/2.
    """
    problem, posterior = model._fitted, model.posterior_
    if problem.points is not None:
        return replace(problem, loss=loss, combination=ANY), posterior
    n = posterior.n_localities
    _, points = model._in_all_columns()
    shape = posterior.radius_shape
    rate = gammaincinv(shape, 0.5) / np.maximum(model._radius, _SMALLEST_RADIUS)
    fixed = replace(
        problem,
        points=points,
        metric=Metric("euclidean", {}),
        vicinity=KnownCenters(),
        loss=loss,
        combination=ANY,
    )
    return fixed, replace(posterior, center_scale=np.zeros(n), radius_rate=rate)


def learned(
    problem: Problem, prior: Prior, rows: Rows, inverse_temperature: float, start: Posterior
) -> Solution:
    """The posterior that minimizes risk + KL / lambda on some rows, from a start."""
    objective = Objective(
        problem.loss,
        problem.vicinity,
        prior,
        rows,
        inverse_temperature,
        combination=problem.combination,
    )
    free = _MODELS if problem.points is not None else (*_MODELS, "center", "center_scale")
    with threadpool_limits(
        limits=1, user_api="blas"
    ):  # as in fit: the same numbers whatever the threads
        return lbfgs(objective, start, free, max_iter=300)


def prior_from(
    problem: Problem, start: Posterior, rows: Rows, inverse_temperature: float
) -> Posterior:
    """A law learned on some rows, sharpened, to be the prior of others: its means are good, so that
    there is little to learn.
    """
    base = Prior().expanded(start.n_localities, start.coef.shape[1])
    found = learned(problem, base, rows, inverse_temperature, start).posterior
    shape = np.clip(found.radius_shape / _SHARPER**2, *LIMITS["radius_shape"])
    return replace(
        found,
        radius_shape=shape,
        radius_rate=shape / found.radius_mean,
        coef_scale=np.clip(_SHARPER * found.coef_scale, *FREE_SCALES),
        intercept_scale=np.clip(_SHARPER * found.intercept_scale, *FREE_SCALES),
    )


def as_prior(law: Posterior) -> Prior:
    """A posterior with frozen centers in the role of a prior."""
    return Prior(
        radius_shape=law.radius_shape,
        radius_rate=law.radius_rate,
        coef=law.coef,
        coef_scale=law.coef_scale,
        intercept=law.intercept,
        intercept_scale=law.intercept_scale,
    )


@dataclass(frozen=True)
class Draw:
    """One model drawn from a law with frozen centers."""

    radius: Array  # (n_localities,)
    coef: Array  # (n_localities + 1, n_features)
    intercept: Array  # (n_localities + 1,)


def drawn(law: Posterior, seed: int) -> Draw:
    rng = np.random.default_rng(seed)
    return Draw(
        rng.gamma(law.radius_shape) / law.radius_rate,
        law.coef + law.coef_scale[:, None] * rng.standard_normal(law.coef.shape),
        law.intercept + law.intercept_scale * rng.standard_normal(law.intercept.shape),
    )


def log_ratio(draw: Draw, law: Posterior, prior: Posterior) -> float:
    """ln dQ/dP of a draw; its mean over draws from Q is the KL divergence."""

    def density(of: Posterior) -> float:
        weights = (draw.coef - of.coef) / of.coef_scale[:, None]
        intercepts = (draw.intercept - of.intercept) / of.intercept_scale
        shape, rate = of.radius_shape, of.radius_rate
        gaussian = (
            -0.5 * float((weights**2).sum() + (intercepts**2).sum())
            - float(np.log(of.intercept_scale).sum())
            - draw.coef.shape[1] * float(np.log(of.coef_scale).sum())
        )
        gamma = (
            shape * np.log(rate)
            + (shape - 1.0) * np.log(draw.radius)
            - rate * draw.radius
            - gammaln(shape)
        )
        return float(gaussian + gamma.sum())

    return density(law) - density(prior)


def routed(draw: Draw, law: Posterior, rows: Rows) -> Routing:
    """What the drawn model says of rows."""
    return route(
        KnownCenters(), replace(law, coef=draw.coef, intercept=draw.intercept), draw.radius, rows
    )


def as_model(
    model: LocalMixture,
    problem: Problem,
    law: Posterior,
    seen: Table,
    fingerprint: Fingerprint,
    draw: Draw | None = None,
) -> Any:
    """An estimator like the model with another law, or with one draw from it; `seen` are rows for
    its localities to count.
    """
    made = copy.copy(model)
    made._fitted = replace(problem, rows=NO_ROWS)
    made._fingerprint = fingerprint
    if draw is None:
        made.posterior_, made._radius = (
            law,
            radii(problem.objective(law.n_localities, 1.0).lookup(law)),
        )
    else:  # as sharp as laws may be, so that probabilities are almost certain
        shape = np.full(law.n_localities, LIMITS["radius_shape"][1])
        made.posterior_ = replace(
            law,
            radius_shape=shape,
            radius_rate=shape / draw.radius,
            coef=draw.coef,
            intercept=draw.intercept,
            coef_scale=np.full(law.n_localities + 1, FREE_SCALES[0]),
            intercept_scale=np.full(law.n_localities + 1, FREE_SCALES[0]),
        )
        made._radius = draw.radius
    for stale in ("certificate_", "objective_", "gibbs_risk_", "kl_"):
        made.__dict__.pop(stale, None)
    made.path_ = []
    counts = sum(routing.applicable.sum(axis=1) for routing in made._routings(seen.X))
    known = model._fitted.points is not None  # given by the user: shown as they were given
    centers = (
        np.array([one.center for one in model.localities_]).reshape(
            law.n_localities, seen.X.shape[1]
        )
        if known
        else None
    )
    made._store_localities(
        counts, centers, [one.point for one in model.localities_], model.exterior_.feature_names
    )
    made._store_more(seen)
    return made


def best_whole(
    problem: Problem,
    prior: Prior,
    rows: Rows,
    start: Posterior,
    n_rows: int,
    delta: float,
    prior_mass: float,
) -> tuple[float, Solution]:
    """The posterior with the smallest PAC-Bayes-kl bound that is found on all rows, and that bound."""
    best: tuple[float, Solution] | None = None
    law = start
    for temperature in _TRIED[::-1]:  # from the model as trained towards laws that cost less
        found = learned(problem, prior, rows, temperature, law)
        law = found.posterior
        bound = float(pac_bayes_kl(min(found.gibbs_risk, 1.0), found.kl, n_rows, delta, prior_mass))
        if best is None or bound < best[0]:
            best = bound, found
    assert best is not None
    return best
