"""A problem to search: rows in standardized units, and all that a search over them needs but
lambda.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances

from ._typing import Array, Booleans
from .combinations import Combination
from .localities import Units, moments
from .losses import Loss
from .objective import Objective, Vicinity
from .posterior import Posterior, Prior
from .rows import Rows

__all__ = ["NO_ROWS", "Metric", "Problem", "Table"]

LARGE = 50_000  # rows from which float32 tables are computed with in float32
NO_ROWS = Rows.of(np.empty((0, 0)), np.empty(0))


@dataclass(frozen=True)
class Table:
    """Encoded rows of positive weight, in the user's units."""

    X: Array
    target: Array
    weight: Array

    def part(self, rows: Any) -> Table:
        return Table(self.X[rows], self.target[rows], self.weight[rows])


@dataclass(frozen=True)
class Metric:
    """A metric between standardized rows, with what it takes from the training rows."""

    name: Any
    arguments: dict[str, Array]

    @classmethod
    def of(cls, name: Any, Z: Array, weight: Array) -> Metric:
        """Two metrics have scales of their own, which scikit-learn would take anew from whatever
        rows it is given.
        """
        share = weight / weight.sum()
        if isinstance(name, str) and name == "seuclidean":
            variance = moments(Z, share)[1] ** 2
            return cls(name, {"V": np.where(variance > 0, variance, 1.0)})
        if isinstance(name, str) and name == "mahalanobis":
            return cls(
                name,
                {
                    "VI": np.linalg.pinv(
                        np.atleast_2d(np.cov(Z, rowvar=False, aweights=share, ddof=0))
                    )
                },
            )
        return cls(name, {})

    def distances(self, Z: Array, points: Array) -> Array:
        if len(points) == 0:
            return np.empty((len(Z), 0))
        try:
            distance = np.asarray(
                pairwise_distances(Z, points, metric=self.name, **self.arguments), dtype=float
            )
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"metric={self.name!r} gave no distances between rows and points_of_interest"
                f" ({error}). Give a name that scikit-learn's pairwise_distances knows, or a"
                " function of two rows."
            ) from error
        if not (np.isfinite(distance).all() and (distance >= 0).all()):
            raise ValueError(
                f"metric={self.name!r} gave distances that are negative or not finite; a distance"
                " must be a number >= 0."
            )
        return distance


@dataclass(frozen=True)
class Problem:
    """Rows in standardized units, and all that a search over them needs but lambda."""

    units: Units
    varies: Booleans  # which columns the models and learned centers see
    rows: Rows
    points: Array | None
    metric: Metric | None
    vicinity: Vicinity
    loss: Loss
    combination: Combination
    prior: Prior
    free: tuple[str, ...]

    def objective(self, n_localities: int, inverse_temperature: float) -> Objective:
        prior = (
            self.prior
            if n_localities == len(np.asarray(self.prior.radius_shape))
            else self.prior.keep(range(n_localities))
        )
        return Objective(
            self.loss,
            self.vicinity,
            prior,
            self.rows,
            inverse_temperature,
            combination=self.combination,
        )

    def rows_of(self, X: Array, target: Array, weight: Array | None = None) -> Rows:
        """These rows in the units of the problem; in float32 where they are, and are many."""
        Z = self._standardized(X)
        distance = None
        if self.points is not None and self.metric is not None:
            distance = self.metric.distances(Z, self.points)
        if not self.varies.all():
            Z = np.ascontiguousarray(Z[:, self.varies])
        target = (target - self.units.target_center) / self.units.target_scale
        if X.dtype == np.float32 and len(X) >= LARGE:
            weight = (
                np.ones(len(X), dtype=np.float32) if weight is None else weight.astype(np.float32)
            )
            distance = (
                np.empty((len(X), 0), dtype=np.float32)
                if distance is None
                else distance.astype(np.float32)
            )
            return Rows.of(Z.astype(np.float32), target.astype(np.float32), weight, distance)
        return Rows.of(Z, target, weight, distance)

    def _standardized(self, X: Array) -> Array:
        """All columns; the constant ones, which a metric sees too, are 0."""
        Z = self.units.standardized(X)
        if not self.varies.all():
            Z *= self.varies
        return Z

    def keep(self, kept: list[int]) -> Problem:
        """The problem with these localities alone."""
        fewer = replace(self, prior=self.prior.keep(kept))
        if self.points is None:
            return fewer
        return replace(
            fewer,
            rows=replace(self.rows, distance=self.rows.distance[:, kept]),
            points=self.points[kept],
        )

    def from_units(self, posterior: Posterior, old: Units) -> Posterior:
        """A posterior from other units in those of the problem; balls stay balls, scaled by the
        mean change of the columns.
        """
        varies, new = self.varies, self.units
        stretch = np.ones(varies.sum())  # of a column that is constant among the rows of either
        both = (new.inverse_scale > 0) & (old.inverse_scale > 0)
        np.divide(
            new.inverse_scale[varies], old.inverse_scale[varies], out=stretch, where=both[varies]
        )
        mean_stretch = float(np.exp(np.log(stretch).mean())) if varies.any() else 1.0
        to_target = old.target_scale / new.target_scale
        shift = (old.center - new.center)[varies] * new.inverse_scale[varies]
        coef = posterior.coef / stretch * to_target
        center = posterior.center * stretch + shift if self.points is None else self.points
        moved = replace(
            posterior,
            center=center,
            center_scale=posterior.center_scale * mean_stretch,
            radius_rate=posterior.radius_rate / mean_stretch,
            coef=coef,
            coef_scale=posterior.coef_scale / mean_stretch * to_target,
            intercept=posterior.intercept * to_target
            + (old.target_center - new.target_center) / new.target_scale
            - coef @ shift,
            intercept_scale=posterior.intercept_scale * to_target,
        )
        if "coef_scale" in self.free:
            return moved
        unit = moved.coef_scale  # the zero-one loss sees ratios only
        return replace(
            moved,
            coef=moved.coef / unit[:, None],
            coef_scale=np.ones_like(unit),
            intercept=moved.intercept / unit,
            intercept_scale=moved.intercept_scale / unit,
        )
