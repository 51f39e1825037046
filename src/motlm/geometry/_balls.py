"""Balls in all columns, whose centers are learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaincinv

from .._typing import Array, Booleans
from ..inputs import Inputs
from ..lookup import Table
from ..membership import upsilon_tables
from ..metrics import Locus, Metric
from ..posterior import Layout, Posterior, Prior
from ..rows import Rows
from ._common import (
    CENTER_SCALE,
    NONE,
    Geometry,
    Placed,
    Unbound,
    at_row,
    expand,
    linear_scores,
    widths_of,
    within,
)
from ._given import GivenCenters

_SMALLEST_RADIUS = 0.02  # standardized, of a ball that never reaches a membership of 1/2


@dataclass(frozen=True, eq=False)
class LearnedBalls(Unbound):
    """Centers are Gaussian: membership is upsilon of the Euclidean distance to the mean center, in
    all columns that vary.
    """

    radius: Array = field(default_factory=lambda: NONE)

    kind: ClassVar[str] = "balls"
    learned: ClassVar[bool] = True
    sought: ClassVar[bool] = True
    measured: ClassVar[bool] = True
    parameters: ClassVar[tuple[str, ...]] = ("center_scale", "radius_shape", "radius_rate")
    free: ClassVar[tuple[str, ...]] = ("radius_shape", "radius_rate", "center", "center_scale")

    @property
    def metric_name(self) -> str:
        return "euclidean"

    def fit(self, inputs: Inputs, encoded: Array, weight: Array) -> LearnedBalls:
        return self

    def expand(
        self, prior: Prior, n_localities: int, inputs: Inputs, scores: tuple[int, ...] = ()
    ) -> Prior:
        return expand(prior, n_localities, inputs, scores)

    def rows(
        self, Z: Array, coordinates: Array, holes: Booleans | None = None
    ) -> tuple[Array, Array | None]:
        return coordinates, None

    def tables(self, posterior: Posterior) -> list[Table]:
        return upsilon_tables(
            posterior.center.shape[1],
            posterior.center_scale,
            posterior.radius_shape,
            posterior.radius_rate,
        )

    def scores_and_distances(self, posterior: Posterior, rows: Rows) -> tuple[Array, Array]:
        """Rounding enters a distance through its square, in which memberships are smooth, so that
        it does no harm.
        """
        if rows.coordinates is rows.features:  # one product for both
            intercept, d = posterior.intercept, rows.features.shape[1]
            coef = posterior.coef.reshape(intercept.size, d)
            both = np.concatenate([coef, -2.0 * posterior.center]) @ rows.features.T
            mean, distance = both[: len(coef)], both[len(coef) :]
            mean = mean.reshape(*intercept.shape, len(rows))
            mean += intercept[..., None]
        else:
            mean = linear_scores(posterior, rows.features)
            distance = -2.0 * posterior.center @ rows.coordinates.T
        distance += rows.coordinates_norm2
        distance += np.einsum("ij,ij->i", posterior.center, posterior.center)[:, None]
        np.maximum(distance, 0.0, out=distance)
        return mean, np.sqrt(distance, out=distance)

    def place(self, rows: Rows, n: int, rng: np.random.Generator) -> tuple[Placed, Array]:
        m = len(rows)
        chance = np.maximum(rows.weight / rows.weight.sum(), 1e-300)  # every row may be drawn
        chosen = rng.choice(m, size=n, replace=False, p=chance)
        center = rows.coordinates[chosen].astype(float)
        squared = [_squared_distances(rows, point) for point in center]
        placed = {"center": center, "center_scale": np.full(n, CENTER_SCALE)}
        return placed, np.sqrt(squared).reshape(n, m)

    def candidate(self, rows: Rows, row: int, radius: float) -> Placed:
        center = at_row(rows, row)
        return {"center": center, "center_scale": np.asarray(min(CENTER_SCALE, 0.3 * radius))}

    def unlike(self, one: Placed, other: Placed, distance: float) -> bool:
        return bool(np.linalg.norm(one["center"] - other["center"]) > distance)

    def move(
        self, posterior: Posterior, stretch: Array, shift: Array, mean_stretch: float
    ) -> dict[str, Any]:
        """Balls stay balls, scaled by the mean change of the columns."""
        return {
            "center": posterior.center * stretch + shift,
            "center_scale": posterior.center_scale * mean_stretch,
            "radius_rate": posterior.radius_rate / mean_stretch,
        }

    def layout(self, n_coordinates: int, n_features: int) -> Layout | None:
        return None

    def looks_at(self, varies: Booleans) -> bool:
        return True

    def misfit(self, inputs: Inputs, posterior: Posterior) -> str:
        return ""

    def fits(self, other: Any) -> bool:
        return True

    def keep(self, kept: Sequence[int]) -> LearnedBalls:
        return self

    def centers(self, inputs: Inputs, posterior: Posterior) -> Array:
        counted, units = inputs.counted, inputs.units
        seen = counted[inputs.varies]
        centers = np.repeat(inputs.typical[None], posterior.n_localities, axis=0)
        inverse = units.inverse_scale[counted]
        centers[:, counted] = posterior.center[:, seen] / inverse + units.center[counted]
        return centers

    def center_scales(self, inputs: Inputs, posterior: Posterior) -> Array:
        width = np.where(inputs.counted, widths_of(inputs), 0.0)
        return np.multiply.outer(posterior.center_scale, width)

    def half_widths(self, inputs: Inputs, posterior: Posterior) -> Sequence[Array | None]:
        width = widths_of(inputs)
        return [radius * width for radius in self.radius]

    def loci(self, inputs: Inputs, posterior: Posterior) -> tuple[Locus, ...]:
        columns, seen = np.flatnonzero(inputs.counted), inputs.counted[inputs.varies]
        return tuple(
            Locus("euclidean", columns, center[seen], float(radius))
            for center, radius in zip(posterior.center, self.radius, strict=True)
        )

    def describe(self, inputs: Inputs, posterior: Posterior) -> tuple[str, ...]:
        return tuple(within(radius, inputs) for radius in self.radius)

    def freeze(self, inputs: Inputs, posterior: Posterior) -> tuple[Geometry, Posterior]:
        """Radii keep the distance at which membership is 1/2."""
        n = posterior.n_localities
        points = np.zeros((n, len(inputs.varies)))
        points[:, inputs.varies] = posterior.center
        given = self.centers(inputs, posterior)
        rate = gammaincinv(posterior.radius_shape, 0.5)
        rate = rate / np.maximum(self.radius, _SMALLEST_RADIUS)
        fixed = GivenCenters(given, Metric("euclidean"), points, self.radius)
        return fixed, replace(posterior, center_scale=np.zeros(n), radius_rate=rate)

    def depends_on_rows(self) -> str:
        return ""

    def log_choices(self, posterior: Posterior) -> float:
        return 0.0

    def content(self) -> dict[str, Any]:
        return {"kind": self.kind, "radius": self.radius}

    @classmethod
    def read(cls, read: Any, inputs: Inputs, n_localities: int) -> LearnedBalls:
        return cls(read.array("radius", (n_localities,)))


def _squared_distances(rows: Rows, point: Array) -> Array:
    squared = rows.coordinates @ (-2.0 * point).astype(rows.coordinates.dtype)
    squared += rows.coordinates_norm2
    squared += point @ point
    return np.maximum(squared, 0.0)
