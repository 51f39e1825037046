"""What training minimizes, L_S(Q) + KL(Q || P) / lambda, with its gradient, as sums over blocks of
rows.

    L_S(Q) = sum_rows weight [ sum_i omega_i l_i + prod_i (1 - omega_i) l_ext ] / sum_rows weight

with omega_i the row's membership in locality i and l_i the Gibbs loss of model i: eqs. 18, 21, 43
and 46 of the paper. Another combination of the l_i can take the place of the bracket.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import repeat
from typing import NamedTuple

import numpy as np

from . import divergence
from . import geometry as geometries
from ._renamed import forward
from ._typing import Array
from .combinations import SUM, Combination, gates
from .geometry import Geometry, lookup_of
from .limits import flush_to_zero
from .lookup import Lookup, Place
from .losses import Loss
from .posterior import FIELDS, FREE_SCALES, Posterior, Prior
from .rows import Rows
from .special import solve

__all__ = [
    "BLOCK",
    "BlockSums",
    "Located",
    "Objective",
    "Sums",
    "block_loss",
    "block_sums",
    "locate",
    "solve_models",
    "variances",
]

BLOCK = 8192  # rows; tuned: a block's arrays stay in a second-level cache for a few localities
# lambda, or squared norm of a row, from which a membership below 0, by some 1e-11 of rounding, may
# outweigh the prior
_HEAVY = 1e9


class BlockSums(NamedTuple):
    """Weighted sums over a block of rows: of the loss, of its partials with respect to every field
    of the posterior, and of what the partials of the localities' parameters are made from once all
    blocks are summed.
    """

    loss: float
    partials: Posterior
    moments: Array  # (4, n_parts) of the look-up


def variances(posterior: Posterior, norm2: Array) -> Array:
    """Variance of each model's score, (n_localities + 1, n_rows), from the squared norms of the
    rows' features.
    """
    variance = np.multiply.outer(posterior.coef_scale**2, norm2)
    variance += (posterior.intercept_scale**2)[:, None]
    return variance


class Located(NamedTuple):
    """Scores and memberships of rows."""

    mean: Array  # (n_localities + 1, n_rows)
    place: Place  # in the look-up
    omega: Array  # (n_localities, n_rows), probability of membership


def locate(geometry: Geometry, lookup: Lookup, posterior: Posterior, rows: Rows) -> Located:
    mean, distance = geometry.scores_and_distances(posterior, rows)
    place = lookup.place(distance)
    return Located(mean, place, lookup.look_up(lookup.value, place))


@flush_to_zero
def block_loss(
    loss: Loss,
    combination: Combination,
    geometry: Geometry,
    lookup: Lookup,
    posterior: Posterior,
    rows: Rows,
) -> float:
    """The weighted sum of the loss over a block of rows."""
    mean, _, omega = locate(geometry, lookup, posterior, rows)
    value = loss.value_and_partials(
        rows.target, mean, variances(posterior, rows.features_norm2)
    ).value
    return float(rows.weight @ combination.value(omega, value))


@flush_to_zero
def block_sums(
    loss: Loss,
    combination: Combination,
    geometry: Geometry,
    lookup: Lookup,
    posterior: Posterior,
    rows: Rows,
    located: Located | None = None,
) -> BlockSums:
    """The chain rule, written once: from the kernels' partials to those of the posterior's fields.

    What is already known of where the rows lie need not be computed again.

    Parameters
    ----------
    loss, combination, geometry, posterior, rows
        As in `Objective`.
    lookup : Lookup
        Of the posterior's localities, by `Objective.lookup`.
    located : Located, default=None
        Scores and memberships of these rows, if they are known.

    Returns
    -------
    BlockSums

    Examples
    --------
    Over all rows as one block, the loss of a row is the Gibbs risk:

    >>> from motlm import Prior
    >>> from motlm.combinations import SUM
    >>> from motlm.datasets import make_clf_case1
    >>> from motlm.losses import ZeroOne
    >>> from motlm.geometry import LearnedBalls
    >>> from motlm.objective import Objective, block_sums
    >>> from motlm.rows import Rows
    >>> from motlm.starts import one_model
    >>> X, y = make_clf_case1(200, random_state=0)
    >>> objective = Objective(ZeroOne(), LearnedBalls(), Prior(), Rows.of(X, y), 4.0)
    >>> posterior = one_model(objective, unit_scale=False)
    >>> lookup, rows = objective.lookup(posterior), objective.rows
    >>> sums = block_sums(objective.loss, SUM, objective.geometry, lookup, posterior, rows)
    >>> abs(sums.loss / 200 - objective.gibbs_risk(posterior)) < 1e-12, sums.partials.coef.shape
    (True, (1, 2))
    """
    n = posterior.n_localities
    mean, place, omega = locate(geometry, lookup, posterior, rows) if located is None else located
    model = loss.value_and_partials(rows.target, mean, variances(posterior, rows.features_norm2))
    value, by_omega, gate = combination.value_and_partials(omega, model.value)
    total = float(rows.weight @ value)
    if not rows.unweighted:
        gate *= rows.weight
        by_omega *= rows.weight
    by_score = (
        np.empty((2 * n + 1, len(rows)), dtype=gate.dtype)
        if geometry.learned
        else np.empty_like(gate)
    )
    by_mean = np.multiply(gate, model.mean, out=by_score[: n + 1])
    by_variance = np.multiply(gate, model.variance, out=gate)
    partials = {name: np.zeros_like(getattr(posterior, name)) for name in FIELDS}
    partials |= {
        "intercept": by_mean.sum(axis=1),
        "coef_scale": 2.0 * posterior.coef_scale * (by_variance @ rows.features_norm2),
        "intercept_scale": 2.0 * posterior.intercept_scale * by_variance.sum(axis=1),
    }
    if geometry.learned:
        np.multiply(by_omega, lookup.look_up(lookup.slope, place), out=by_score[n + 1 :])
    partials |= geometry.partials(posterior, rows, by_score)
    return BlockSums(total, Posterior(**partials), lookup.moments(place, by_omega))


@flush_to_zero
def solve_models(
    objective: Objective, posterior: Posterior, lookup: Lookup
) -> tuple[Posterior, list[Located]]:
    """For the squared loss: the posterior with the linear models that are best for its localities,
    in closed form.

    Given the gates g the objective is quadratic in each model's means and separable in its scales:
    a weighted ridge regression towards the prior means, and, with l = inverse_temperature and prior
    scales r0, s0, rho^2 = d / (d / r0^2 + 2 l sum g |x|^2),  sigma^2 = 1 / (1 / s0^2 + 2 l sum g).

    Hands back where the rows of each block lie with respect to it, too.
    """
    n, d = posterior.n_localities, posterior.coef.shape[1]
    prior, twice = objective.prior, 2.0 * objective.inverse_temperature
    gram, moment = np.zeros((n + 1, d + 1, d + 1)), np.zeros((n + 1, d + 1))
    norm2 = np.zeros(n + 1)
    heavy = objective.inverse_temperature * objective.total_weight > _HEAVY or bool(
        (objective.rows.features_norm2 > _HEAVY).any()
    )
    places = []
    for rows in objective.rows.blocks(objective.block):
        _, place, omega = locate(objective.geometry, lookup, posterior, rows)
        places.append((place, omega))
        gate, _ = gates(omega)
        if heavy:
            np.maximum(gate, 0.0, out=gate)
        gate *= rows.weight
        for i in range(n + 1):
            weighted = rows.features * gate[i][:, None]
            gram[i, :d, :d] += weighted.T @ rows.features
            gram[i, :d, d] += weighted.sum(axis=0)
            moment[i, :d] += rows.target @ weighted
        gram[:, d, d] += gate.sum(axis=1)
        moment[:, d] += gate @ rows.target
        norm2 += gate @ rows.features_norm2
    gram[:, d, :d] = gram[:, :d, d]
    coef_scale0, intercept_scale0 = (
        np.broadcast_to(np.asarray(scale, dtype=float), n + 1)
        for scale in (prior.coef_scale, prior.intercept_scale)
    )
    pull = (
        np.concatenate(
            [np.repeat(coef_scale0[:, None], d, axis=1), intercept_scale0[:, None]], axis=1
        )
        ** -2.0
        / twice
    )
    means0 = np.column_stack(
        [
            np.broadcast_to(np.asarray(prior.coef, dtype=float), (n + 1, d)),
            np.broadcast_to(prior.intercept, n + 1),
        ]
    )
    means = solve(gram + pull[:, :, None] * np.eye(d + 1), moment + pull * means0)
    # sums of gates below 0, by rounding, would go beyond a prior of the largest scale
    most = FREE_SCALES[1]
    spread = np.sqrt(d / (d / coef_scale0**2 + twice * norm2)) if d else coef_scale0
    offset = np.sqrt(1.0 / (1.0 / intercept_scale0**2 + twice * gram[:, d, d]))
    best = replace(
        posterior,
        coef=means[:, :d],
        intercept=means[:, d],
        coef_scale=np.minimum(spread, most),
        intercept_scale=np.minimum(offset, most),
    )
    typed = best.astype(objective.rows.features.dtype)
    located = []
    for (place, omega), rows in zip(places, objective.rows.blocks(objective.block), strict=True):
        mean = typed.coef @ rows.features.T
        mean += typed.intercept[:, None]
        located.append(Located(mean, place, omega))
    return best, located


class Sums(NamedTuple):
    """Weighted sums over all rows: of the loss, and of its partials."""

    loss: float
    partials: Posterior


@dataclass(frozen=True)
class Objective:
    """L_S(Q) + KL(Q || P) / lambda over some rows, lambda = inverse_temperature * (sum of weights).

    Parameters
    ----------
    loss : Loss
        One of `motlm.losses`.
    geometry : Geometry
        One of `motlm.geometry`.
    prior : Prior
    rows : Rows
    inverse_temperature : float
    block : int, default=8192
        Rows that are computed at once.
    combination : Combination, default=SUM
        One of `motlm.combinations`.

    Examples
    --------
    >>> from motlm import Prior
    >>> from motlm.datasets import make_clf_case1
    >>> from motlm.losses import ZeroOne
    >>> from motlm.geometry import LearnedBalls
    >>> from motlm.objective import Objective
    >>> from motlm.rows import Rows
    >>> from motlm.starts import one_model
    >>> X, y = make_clf_case1(200, random_state=0)
    >>> objective = Objective(ZeroOne(), LearnedBalls(), Prior(), Rows.of(X, y), 4.0)
    >>> posterior = one_model(objective, unit_scale=False)
    >>> value = objective.gibbs_risk(posterior) + objective.kl(posterior) / (4.0 * 200)
    >>> abs(objective.value(posterior) - value) < 1e-12
    True
    """

    loss: Loss
    geometry: Geometry
    prior: Prior
    rows: Rows
    inverse_temperature: float
    block: int = BLOCK
    combination: Combination = SUM

    def lookup(self, posterior: Posterior) -> Lookup:
        return lookup_of(self.geometry, posterior, self.rows.features.dtype)

    @property
    def total_weight(self) -> float:
        return float(self.rows.weight.sum())

    def sums(
        self,
        posterior: Posterior,
        lookup: Lookup | None = None,
        located: Sequence[Located] | None = None,
    ) -> Sums:
        """Sums over all rows. What is at hand for this posterior's localities need not be made
        again.
        """
        lookup = self.lookup(posterior) if lookup is None else lookup
        typed = posterior.astype(self.rows.features.dtype)
        known = repeat(None) if located is None else located
        partials = {
            field.name: np.zeros_like(getattr(posterior, field.name)) for field in fields(Posterior)
        }
        loss, moments = 0.0, np.zeros(lookup.value.shape)
        for rows, one in zip(self.rows.blocks(self.block), known, strict=False):
            sums = block_sums(self.loss, self.combination, self.geometry, lookup, typed, rows, one)
            loss += sums.loss
            moments += sums.moments
            for name, total in partials.items():
                total += getattr(sums.partials, name)
        if posterior.n_localities:
            partials |= zip(self.geometry.parameters, lookup.parameter_sums(moments), strict=True)
        return Sums(loss, Posterior(**partials))

    def kl(self, posterior: Posterior) -> float:
        """KL(Q || P), eqs. 14, 20, 23 and 45 of the paper."""
        return self._kl_and_partials(posterior)[0]

    def gibbs_risk(self, posterior: Posterior, lookup: Lookup | None = None) -> float:
        """L_S(Q)."""
        lookup = self.lookup(posterior) if lookup is None else lookup
        typed = posterior.astype(self.rows.features.dtype)
        blocks = self.rows.blocks(self.block)
        return (
            sum(
                block_loss(self.loss, self.combination, self.geometry, lookup, typed, rows)
                for rows in blocks
            )
            / self.total_weight
        )

    def value(self, posterior: Posterior, lookup: Lookup | None = None) -> float:
        return self.gibbs_risk(posterior, lookup) + self.kl(posterior) / (
            self.inverse_temperature * self.total_weight
        )

    @flush_to_zero
    def value_and_gradient(
        self,
        posterior: Posterior,
        lookup: Lookup | None = None,
        located: Sequence[Located] | None = None,
    ) -> tuple[float, Posterior]:
        """The objective, and its partials as a posterior-shaped record."""
        sums = self.sums(posterior, lookup, located)
        kl, kl_partials = self._kl_and_partials(posterior)
        weight = self.total_weight
        temperature = 1.0 / (self.inverse_temperature * weight)
        gradient = {
            field.name: (
                getattr(sums.partials, field.name) / weight
                + getattr(kl_partials, field.name) * temperature
            )
            for field in fields(Posterior)
        }
        return sums.loss / weight + kl * temperature, Posterior(**gradient)

    def _kl_and_partials(self, posterior: Posterior) -> tuple[float, Posterior]:
        prior = self.prior
        coef = divergence.gaussian(
            posterior.coef, posterior.coef_scale, prior.coef, prior.coef_scale
        )
        intercept = divergence.gaussian(
            posterior.intercept[:, None],
            posterior.intercept_scale,
            np.asarray(prior.intercept, dtype=float)[..., None],
            prior.intercept_scale,
        )
        radius = divergence.gamma(
            posterior.radius_shape, posterior.radius_rate, prior.radius_shape, prior.radius_rate
        )
        place, placed = self.geometry.kl_and_partials(posterior, prior)
        total = float(coef.value.sum() + intercept.value.sum() + radius.value.sum()) + place
        partials = {name: np.zeros_like(getattr(posterior, name)) for name in FIELDS}
        partials |= {
            "radius_shape": radius.shape,
            "radius_rate": radius.rate,
            "coef": coef.mean,
            "coef_scale": coef.scale,
            "intercept": intercept.mean[:, 0],
            "intercept_scale": intercept.scale,
        }
        return total, Posterior(**(partials | placed))


__getattr__ = forward(
    __name__,
    {
        "KnownCenters": (geometries, "GivenCenters"),
        "LearnedCenters": (geometries, "LearnedBalls"),
    },
)
