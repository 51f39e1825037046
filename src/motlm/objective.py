"""What training minimises, L_S(Q) + KL(Q || P) / lambda, with its gradient, as sums over blocks of rows.

    L_S(Q) = sum_rows weight [ sum_i omega_i l_i + prod_i (1 - omega_i) l_ext ] / sum_rows weight

with omega_i the row's membership in locality i and l_i the Gibbs loss of model i: eqs. 18, 21, 43 and 46 of the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple, Protocol

import numpy as np

from . import divergence
from ._typing import Array
from .losses import Loss
from .posterior import Posterior, Prior
from .rows import Rows
from .vicinity import Table, theta_table, upsilon_table

__all__ = ["VICINITIES", "BlockSums", "KnownCenters", "LearnedCenters", "Objective", "Vicinity", "block_sums", "gates"]

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
        center = posterior.center[locality]
        squared = rows.coordinates_norm2 - 2.0 * (rows.coordinates @ center) + center @ center
        return np.asarray(np.sqrt(np.maximum(squared, 0.0)))  # membership is smooth in the square, so its rounding does no harm


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


def block_sums(loss: Loss, vicinity: Vicinity, tables: Sequence[Table], posterior: Posterior, rows: Rows) -> BlockSums:
    """The chain rule, written once: from the kernels' partials to those of the posterior's fields."""
    n = posterior.n_localities
    mean = posterior.coef @ rows.features.T + posterior.intercept[:, None]  # (n + 1, n_rows)
    variance = posterior.coef_scale[:, None] ** 2 * rows.features_norm2 + posterior.intercept_scale[:, None] ** 2
    model = loss.value_and_partials(rows.target, mean, variance)

    places = [table.place(vicinity.distance(posterior, i, rows)) for i, table in enumerate(tables)]
    omega = np.empty((n, len(rows)))
    for i, (table, place) in enumerate(zip(tables, places, strict=True)):
        omega[i] = table.look_up(table.value, place)
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

    def _tables(self, posterior: Posterior) -> list[Table]:
        return [self.vicinity.table(posterior, i) for i in range(posterior.n_localities)]

    @property
    def total_weight(self) -> float:
        return float(self.rows.weight.sum())

    def sums(self, posterior: Posterior) -> BlockSums:
        """Sums over all rows."""
        tables = self._tables(posterior)
        return _sum([block_sums(self.loss, self.vicinity, tables, posterior, rows) for rows in self.rows.blocks(self.block)])

    def kl(self, posterior: Posterior) -> float:
        """KL(Q || P), eqs. 14, 20, 23 and 45 of the paper."""
        return self._kl_and_partials(posterior)[0]

    def gibbs_risk(self, posterior: Posterior) -> float:
        """L_S(Q)."""
        return self.sums(posterior).loss / self.total_weight

    def value(self, posterior: Posterior) -> float:
        return self.value_and_gradient(posterior)[0]

    def value_and_gradient(self, posterior: Posterior) -> tuple[float, Posterior]:
        """The objective, and its partials as a posterior-shaped record."""
        sums = self.sums(posterior)
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
        if self.vicinity.learned and n:
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
