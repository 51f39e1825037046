"""What training minimises, L_S(Q) + KL(Q || P) / lambda, with its gradient, as sums over blocks of rows.

    L_S(Q) = sum_rows weight [ sum_i omega_i l_i + prod_i (1 - omega_i) l_ext ] / sum_rows weight

with omega_i the row's membership in locality i and l_i the Gibbs loss of model i: eqs. 18, 21, 43 and 46 of the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple, Protocol

import numpy as np

from . import divergence
from ._typing import Array
from .losses import Loss
from .posterior import Posterior, Prior
from .rows import Rows
from .vicinity import Place, Table, theta_table, upsilon_table

__all__ = [
    "VICINITIES",
    "BlockSums",
    "KnownCenters",
    "LearnedCenters",
    "Located",
    "Objective",
    "Vicinity",
    "block_loss",
    "block_sums",
    "gates",
    "locate",
    "scores",
    "tables_of",
    "with_best_models",
]

BLOCK = 8192  # rows; a block's arrays stay in a second-level cache for a few localities


class Vicinity(Protocol):
    """How far a row is from a centre, and what the membership is there."""

    learned: bool
    parameters: tuple[str, ...]  # fields of the posterior that a table has partials for, in its order

    def table(self, posterior: Posterior, locality: int) -> Table: ...

    def distance(self, posterior: Posterior, locality: int, rows: Rows) -> Array: ...


class KnownCenters:
    """Centres are given: membership is theta of the distance, in any metric."""

    learned = False
    parameters: tuple[str, ...] = ("radius_shape", "radius_rate")

    def table(self, posterior: Posterior, locality: int) -> Table:
        return theta_table(float(posterior.radius_shape[locality]), float(posterior.radius_rate[locality]))

    def distance(self, posterior: Posterior, locality: int, rows: Rows) -> Array:
        return rows.distance[:, locality]


class LearnedCenters:
    """Centres are Gaussian: membership is upsilon of the Euclidean distance to the mean centre."""

    learned = True
    parameters: tuple[str, ...] = ("center_scale", "radius_shape", "radius_rate")

    def table(self, posterior: Posterior, locality: int) -> Table:
        return upsilon_table(
            posterior.center.shape[1],
            float(posterior.center_scale[locality]),
            float(posterior.radius_shape[locality]),
            float(posterior.radius_rate[locality]),
        )

    def distance(self, posterior: Posterior, locality: int, rows: Rows) -> Array:
        return rows.distance_from(posterior.center[locality])


VICINITIES: tuple[Vicinity, ...] = (KnownCenters(), LearnedCenters())


class BlockSums(NamedTuple):
    """Weighted sums over a block of rows: of the loss, and of its partials with respect to every field of the posterior."""

    loss: float
    partials: Posterior


def gates(omega: Array) -> tuple[Array, Array]:
    """(omega_1, .., omega_n, prod(1 - omega)) along the first axis, and prod over j != i of (1 - omega_j) for each i.

    By prefix and suffix products, never by a division.
    """
    outside = 1.0 - omega
    n = len(omega)
    others = np.ones_like(omega)
    for i in range(1, n):
        others[i] = others[i - 1] * outside[i - 1]
    exterior = others[-1] * outside[-1] if n else np.ones(omega.shape[1:])
    suffix = np.ones(omega.shape[1:])
    for i in range(n - 2, -1, -1):
        suffix = suffix * outside[i + 1]
        others[i] *= suffix
    return np.concatenate([omega, exterior[None]]), others


def tables_of(vicinity: Vicinity, posterior: Posterior) -> list[Table]:
    """One table for each locality."""
    return [vicinity.table(posterior, i) for i in range(posterior.n_localities)]


class Located(NamedTuple):
    """Where rows lie with respect to each locality."""

    distance: Array  # (n_localities, n_rows)
    places: list[Place]  # in each locality's table
    omega: Array  # (n_localities, n_rows), probability of membership


def locate(vicinity: Vicinity, tables: Sequence[Table], posterior: Posterior, rows: Rows) -> Located:
    distance, omega = np.empty((2, posterior.n_localities, len(rows)))
    places = []
    for i, table in enumerate(tables):
        distance[i] = vicinity.distance(posterior, i, rows)
        places.append(table.place(distance[i]))
        omega[i] = table.look_up(table.value, places[i])
    return Located(distance, places, omega)


def scores(posterior: Posterior, rows: Rows) -> tuple[Array, Array]:
    """Mean and variance of each model's score, (n_localities + 1, n_rows)."""
    mean = posterior.coef @ rows.features.T + posterior.intercept[:, None]
    return mean, posterior.coef_scale[:, None] ** 2 * rows.features_norm2 + posterior.intercept_scale[:, None] ** 2


def block_loss(loss: Loss, vicinity: Vicinity, tables: Sequence[Table], posterior: Posterior, rows: Rows) -> float:
    """The weighted sum of the loss over a block of rows."""
    gate, _ = gates(locate(vicinity, tables, posterior, rows).omega)
    return float(np.vdot(gate * rows.weight, loss.value_and_partials(rows.target, *scores(posterior, rows)).value))


def block_sums(loss: Loss, vicinity: Vicinity, tables: Sequence[Table], posterior: Posterior, rows: Rows) -> BlockSums:
    """The chain rule, written once: from the kernels' partials to those of the posterior's fields."""
    n = posterior.n_localities
    model = loss.value_and_partials(rows.target, *scores(posterior, rows))
    _, places, omega = locate(vicinity, tables, posterior, rows)
    gate, others = gates(omega)
    gate *= rows.weight
    total = float(np.vdot(gate, model.value))

    by_mean = gate * model.mean
    by_variance = gate * model.variance
    partials = {
        "coef": by_mean @ rows.features,
        "intercept": by_mean.sum(axis=1),
        "coef_scale": 2.0 * posterior.coef_scale * (by_variance @ rows.features_norm2),
        "intercept_scale": 2.0 * posterior.intercept_scale * by_variance.sum(axis=1),
        "center": np.zeros_like(posterior.center),
        "center_scale": np.zeros(n),
        "radius_shape": np.zeros(n),
        "radius_rate": np.zeros(n),
    }
    by_omega = rows.weight * (model.value[:n] - model.value[n] * others)
    for i, (table, place) in enumerate(zip(tables, places, strict=True)):
        for name, part in zip(vicinity.parameters, table.parameter_sums(place, by_omega[i]), strict=True):
            partials[name][i] = part
        if vicinity.learned:  # d/dc of omega(|c - x|) is slope (c - x), slope = d omega / d(D^2 / 2)
            pull = by_omega[i] * table.look_up(table.slope, place)
            partials["center"][i] = pull.sum() * posterior.center[i] - pull @ rows.coordinates
    return BlockSums(total, Posterior(**partials))


def with_best_models(objective: Objective, posterior: Posterior, tables: Sequence[Table]) -> Posterior:
    """For the squared loss: the posterior with the linear models that are best for its localities, in closed form.

    Given the gates g the objective is quadratic in each model's means and separable in its scales:
    a weighted ridge regression towards the prior means, and, with l = inverse_temperature and prior scales r0, s0,
    rho^2 = d / (d / r0^2 + 2 l sum g |x|^2),  sigma^2 = 1 / (1 / s0^2 + 2 l sum g).
    """
    n, d = posterior.n_localities, posterior.coef.shape[1]
    prior, twice = objective.prior, 2.0 * objective.inverse_temperature
    gram, moment = np.zeros((n + 1, d + 1, d + 1)), np.zeros((n + 1, d + 1))
    norm2 = np.zeros(n + 1)
    for rows in objective.rows.blocks(objective.block):
        gate, _ = gates(locate(objective.vicinity, tables, posterior, rows).omega)
        gate *= rows.weight
        design = np.column_stack([rows.features, np.ones(len(rows))])
        for i in range(n + 1):
            gram[i] += (design * gate[i][:, None]).T @ design
        moment += gate * rows.target @ design
        norm2 += gate @ rows.features_norm2
    coef_scale0, intercept_scale0 = (
        np.broadcast_to(np.asarray(scale, dtype=float), n + 1) for scale in (prior.coef_scale, prior.intercept_scale)
    )
    pull = np.concatenate([np.repeat(coef_scale0[:, None], d, axis=1), intercept_scale0[:, None]], axis=1) ** -2.0 / twice
    means0 = np.column_stack(
        [np.broadcast_to(np.asarray(prior.coef, dtype=float), (n + 1, d)), np.broadcast_to(prior.intercept, n + 1)]
    )
    means = np.linalg.solve(gram + pull[:, :, None] * np.eye(d + 1), (moment + pull * means0)[:, :, None])[:, :, 0]
    return replace(
        posterior,
        coef=means[:, :d],
        intercept=means[:, d],
        coef_scale=np.sqrt(d / (d / coef_scale0**2 + twice * norm2)) if d else coef_scale0,
        intercept_scale=np.sqrt(1.0 / (1.0 / intercept_scale0**2 + twice * gram[:, d, d])),
    )


def _sum(parts: Sequence[BlockSums]) -> BlockSums:
    if len(parts) == 1:
        return parts[0]
    partials = {field.name: np.sum([getattr(part.partials, field.name) for part in parts], axis=0) for field in fields(Posterior)}
    return BlockSums(sum(part.loss for part in parts), Posterior(**partials))


@dataclass(frozen=True)
class Objective:
    """L_S(Q) + KL(Q || P) / lambda over some rows, lambda = inverse_temperature * (sum of the weights)."""

    loss: Loss
    vicinity: Vicinity
    prior: Prior
    rows: Rows
    inverse_temperature: float
    block: int = BLOCK

    def tables(self, posterior: Posterior) -> list[Table]:
        return tables_of(self.vicinity, posterior)

    @property
    def total_weight(self) -> float:
        return float(self.rows.weight.sum())

    def sums(self, posterior: Posterior, tables: Sequence[Table] | None = None) -> BlockSums:
        """Sums over all rows. Tables that are at hand for this posterior's localities need not be made again."""
        tables = self.tables(posterior) if tables is None else tables
        return _sum([block_sums(self.loss, self.vicinity, tables, posterior, rows) for rows in self.rows.blocks(self.block)])

    def kl(self, posterior: Posterior) -> float:
        """KL(Q || P), eqs. 14, 20, 23 and 45 of the paper."""
        return self._kl_and_partials(posterior)[0]

    def gibbs_risk(self, posterior: Posterior, tables: Sequence[Table] | None = None) -> float:
        """L_S(Q)."""
        tables = self.tables(posterior) if tables is None else tables
        blocks = self.rows.blocks(self.block)
        return sum(block_loss(self.loss, self.vicinity, tables, posterior, rows) for rows in blocks) / self.total_weight

    def value(self, posterior: Posterior) -> float:
        return self.gibbs_risk(posterior) + self.kl(posterior) / (self.inverse_temperature * self.total_weight)

    def value_and_gradient(self, posterior: Posterior, tables: Sequence[Table] | None = None) -> tuple[float, Posterior]:
        """The objective, and its partials as a posterior-shaped record."""
        sums = self.sums(posterior, tables)
        kl, kl_partials = self._kl_and_partials(posterior)
        weight = self.total_weight
        temperature = 1.0 / (self.inverse_temperature * weight)
        gradient = {
            field.name: getattr(sums.partials, field.name) / weight + getattr(kl_partials, field.name) * temperature
            for field in fields(Posterior)
        }
        return sums.loss / weight + kl * temperature, Posterior(**gradient)

    def _kl_and_partials(self, posterior: Posterior) -> tuple[float, Posterior]:
        prior, n = self.prior, posterior.n_localities
        coef = divergence.gaussian(posterior.coef, posterior.coef_scale, prior.coef, prior.coef_scale)
        intercept = divergence.gaussian(
            posterior.intercept[:, None],
            posterior.intercept_scale,
            np.asarray(prior.intercept, dtype=float)[..., None],
            prior.intercept_scale,
        )
        radius = divergence.gamma(posterior.radius_shape, posterior.radius_rate, prior.radius_shape, prior.radius_rate)
        total = float(coef.value.sum() + intercept.value.sum() + radius.value.sum())
        center, center_scale = np.zeros_like(posterior.center), np.zeros(n)
        if self.vicinity.learned:
            place = divergence.gaussian(posterior.center, posterior.center_scale, prior.center, prior.center_scale)
            total += float(place.value.sum())
            center, center_scale = place.mean, place.scale
        return total, Posterior(
            center=center,
            center_scale=center_scale,
            radius_shape=radius.shape,
            radius_rate=radius.rate,
            coef=coef.mean,
            coef_scale=coef.scale,
            intercept=intercept.mean[:, 0],
            intercept_scale=intercept.scale,
        )
