"""Centers that are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from .._typing import Array, Booleans
from ..inputs import Inputs
from ..lookup import Table
from ..membership import theta_tables
from ..metrics import Locus, Metric
from ..posterior import Layout, Posterior, Prior
from ..rows import Rows
from ._common import (
    CORRECTIONS,
    NONE,
    OTHERS,
    Geometry,
    Placed,
    distances_of,
    expand,
    linear_scores,
    move_localities,
    reach_of,
    weighted_loci,
    widths_of,
    within,
)

_ROUNDING = 1e-9  # relative, by which two forms of a center in a file may differ


@dataclass(frozen=True, eq=False)
class GivenCenters:
    """Centers are given, and with them the rows' distances, in any metric: membership is theta."""

    # (n_localities, n_encoded), in the user's units
    given: Array = field(default_factory=lambda: np.empty((0, 0)))
    metric: Metric = field(default_factory=lambda: Metric("euclidean"))
    points: Array = field(default_factory=lambda: np.empty((0, 0)))  # the same, standardized
    radius: Array = field(default_factory=lambda: NONE)
    corrections: str = "none"  # whether local models are corrections of the exterior: "own", "all"
    columns: tuple[int, ...] | None = None  # encoded, that matter; None: all, by the metric
    widths: tuple[float, ...] | None = None  # of these columns, in the user's units
    learned_widths: bool = False  # whether columns have widths of their own, which are learned
    # (n_localities, n_encoded), of columns in squared Euclidean distances, where some are named;
    # where they are learned, those to begin with
    weights: Array | None = None
    varies: Booleans | None = None  # (n_encoded,), where some are named

    kind: ClassVar[str] = "given"
    learned: ClassVar[bool] = False
    parameters: ClassVar[tuple[str, ...]] = ("radius_shape", "radius_rate")

    @property
    def measured(self) -> bool:
        return self.learned_widths

    @property
    def free(self) -> tuple[str, ...]:
        return ("radius_shape", "radius_rate", *(("column_weight",) if self.measured else ()))

    @property
    def metric_name(self) -> str:
        return self.metric.text if isinstance(self.metric.name, str) else "function"

    def fit(self, inputs: Inputs, encoded: Array, weight: Array) -> GivenCenters:
        inputs.check_reach(self.given, "points_of_interest")
        points = inputs.standardize(self.given)
        metric = self.metric.fit(inputs.standardize(encoded), weight)
        if self.columns is None:
            return replace(self, points=points, metric=metric)
        row = np.zeros(len(inputs.varies))
        own = [j for j in self.columns if inputs.varies[j]]
        row[own] = 1.0
        if self.widths is not None:
            given = dict(zip(self.columns, self.widths, strict=True))
            scales = np.array([given[j] * inputs.units.inverse_scale[j] for j in own])
            row[own] = np.exp(-2.0 * (np.log(scales) - np.log(scales).mean()))
        return replace(
            self,
            points=points,
            metric=metric,
            weights=np.repeat(row[None], len(points), axis=0),
            varies=inputs.varies,
        )

    def expand(
        self, prior: Prior, n_localities: int, inputs: Inputs, scores: tuple[int, ...] = ()
    ) -> Prior:
        return expand(prior, n_localities, inputs, scores)

    def rows(self, Z: Array, features: Array) -> tuple[Array, Array | None]:
        if self.weights is None:
            return features, self.metric.distances(Z, self.points)
        if self.measured:
            return features, None
        squared = [
            ((Z[:, own > 0] - point[own > 0]) ** 2) @ own[own > 0]
            for point, own in zip(self.points, self.weights, strict=True)
        ]
        return features, np.sqrt(np.array(squared).reshape(len(self.points), len(Z))).T

    def tables(self, posterior: Posterior) -> list[Table]:
        return theta_tables(posterior.radius_shape, posterior.radius_rate)

    def scores_and_distances(self, posterior: Posterior, rows: Rows) -> tuple[Array, Array]:
        if self.measured:
            return linear_scores(posterior, rows.features), distances_of(posterior, rows)
        return linear_scores(posterior, rows.features), np.array(rows.distance.T, order="C")

    def place(self, rows: Rows, n: int, rng: np.random.Generator) -> tuple[Placed, Array]:
        placed: Placed = {"center": self._seen(self.points), "center_scale": np.zeros(n)}
        layout = self._layout(rows.features.shape[1])
        if layout is not None:
            placed["layout"] = layout
        if not self.measured:
            return placed, rows.distance.T
        like = Posterior(**placed, **dict.fromkeys(OTHERS, np.ones(n)))
        return placed, distances_of(like, rows)

    def _seen(self, columns: Array) -> Array:
        """Where distances are measured while it is learned: the columns that vary."""
        return columns if self.varies is None else columns[:, self.varies]

    def _layout(self, n_features: int) -> Layout | None:
        if self.corrections == "none" and self.weights is None:
            return None
        n = len(self.points)
        weight = np.ones(self._seen(self.points).shape)
        if self.weights is not None:
            weight = self._seen(self.weights)
        corrected = np.ones((n, n_features))
        if self.corrections == "own" and self.weights is not None:
            corrected = (self._seen(self.weights) > 0).astype(float)
        return Layout(weight, corrected, self.corrections != "none")

    def candidate(self, rows: Rows, row: int, radius: float) -> Placed:
        raise NotImplementedError("given centers stay where they are")

    def unlike(self, one: Placed, other: Placed, distance: float) -> bool:
        raise NotImplementedError("given centers stay where they are")

    def move(
        self, posterior: Posterior, stretch: Array, shift: Array, mean_stretch: float
    ) -> dict[str, Array]:
        if self.measured:
            return move_localities(posterior, stretch, shift) | {"center": self._seen(self.points)}
        moved: dict[str, Any] = {
            "center": self._seen(self.points),
            "center_scale": posterior.center_scale * mean_stretch,
            "radius_rate": posterior.radius_rate / mean_stretch,
        }
        if posterior.layout is not None:
            moved["layout"] = self._layout(posterior.coef.shape[-1])
        return moved

    def layout(self, n_coordinates: int, n_features: int) -> Layout | None:
        if self.corrections == "none" and self.weights is None:
            return None
        empty = np.empty((0, n_coordinates)), np.empty((0, n_features))
        return Layout(*empty, self.corrections != "none")

    def looks_at(self, varies: Booleans) -> bool:
        return True

    def fits(self, other: Any) -> bool:
        mine, theirs = (
            (one.corrections, one.measured, one.weights is None) for one in (self, other)
        )
        return mine == theirs

    def keep(self, kept: Sequence[int]) -> GivenCenters:
        inside = list(kept)
        weights = None if self.weights is None else self.weights[inside]
        return replace(self, given=self.given[inside], points=self.points[inside], weights=weights)

    def _weights_of(self, inputs: Inputs, posterior: Posterior) -> Array | None:
        """(n_localities, n_encoded), learned or given."""
        if not self.measured:
            return self.weights
        found = np.zeros((posterior.n_localities, len(inputs.varies)))
        found[:, inputs.varies] = posterior.column_weight
        return found

    def centers(self, inputs: Inputs, posterior: Posterior) -> Array:
        return self.given

    def center_scales(self, inputs: Inputs, posterior: Posterior) -> Array:
        return np.zeros((len(self.given), len(inputs.varies)))

    def half_widths(self, inputs: Inputs, posterior: Posterior) -> Sequence[Array | None]:
        weights = self._weights_of(inputs, posterior)
        if weights is not None:
            reach = reach_of(inputs, weights)
            return [radius * one for radius, one in zip(self.radius, reach, strict=True)]
        if self.metric.norm in ("", "quadratic") or self.metric.arguments:
            return [None] * len(self.radius)
        width = widths_of(inputs)
        return [radius * width for radius in self.radius]

    def loci(self, inputs: Inputs, posterior: Posterior) -> tuple[Locus, ...]:
        weights = self._weights_of(inputs, posterior)
        if weights is not None:
            return weighted_loci(inputs, self.points, weights, self.radius)
        columns = np.flatnonzero(inputs.counted)
        scales, matrix = self.metric.arguments.get("V"), self.metric.arguments.get("VI")
        return tuple(
            Locus(
                self.metric.norm,
                columns,
                point[columns],
                float(radius),
                None if scales is None else 1.0 / scales[columns],
                None if matrix is None else matrix[np.ix_(columns, columns)],
            )
            for point, radius in zip(self.points, self.radius, strict=True)
        )

    def describe(self, inputs: Inputs, posterior: Posterior) -> tuple[str, ...]:
        return tuple(within(radius, inputs) for radius in self.radius)

    def freeze(self, inputs: Inputs, posterior: Posterior) -> tuple[Geometry, Posterior]:
        weights = self._weights_of(inputs, posterior)
        fixed = replace(self, weights=weights, learned_widths=False, corrections="none")
        return fixed, posterior.separate()

    def depends_on_rows(self) -> str:
        return f"the scales of the metric {self.metric_name!r}" if self.metric.arguments else ""

    def log_choices(self, posterior: Posterior) -> float:
        return 0.0

    def content(self) -> dict[str, Any]:
        made = {
            "kind": self.kind,
            "given": self.given,
            "points": self.points,
            "metric": self.metric.content(),
            "radius": self.radius,
        }
        # as before there were any, so that models keep their hashes
        if self.corrections != "none":
            made["corrections"] = self.corrections
        if self.weights is not None:
            made["weights"], made["learned_widths"] = self.weights, self.learned_widths
        return made

    @classmethod
    def read(cls, read: Any, inputs: Inputs, n_localities: int) -> GivenCenters:
        n, d = n_localities, len(inputs.varies)
        made = cls(
            read.array("given", (n, d)),
            Metric.read(read.part("metric"), d),
            read.array("points", (n, d)),
            read.array("radius", (n,)),
        )
        if "corrections" in read.content:
            made = replace(made, corrections=read.choice("corrections", CORRECTIONS))
        if "weights" in read.content:
            weights = read.array("weights", (n, d))
            if not (weights >= 0).all() or weights[:, ~inputs.varies].any():
                raise read.fail("weights", "numbers of at least 0", weights.tolist())
            made = replace(
                made,
                weights=weights,
                learned_widths=read.boolean("learned_widths"),
                varies=inputs.varies,
            )
        units, counted = inputs.units, inputs.counted
        gap = np.abs(units.standardize(made.given) - made.points)[:, counted]
        size = ((np.abs(made.given) + np.abs(units.center)) * units.inverse_scale)[:, counted]
        if not (gap <= _ROUNDING * (size + np.abs(made.points[:, counted]))).all():
            raise read.fail("points", "the given centers, standardized", made.points.tolist())
        return made
