"""Centers that are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from .._typing import Array, Booleans
from ..errors import InputError, ModelFileError
from ..inputs import Inputs
from ..lookup import Table
from ..membership import theta_tables
from ..metrics import GOWER, Locus, Metric
from ..missing import FAR
from ..posterior import ANY_WEIGHTS, Layout, Posterior, Prior, check_weights
from ..regions import Box
from ..rows import Rows
from ._common import (
    CORRECTIONS,
    NONE,
    Geometry,
    Placed,
    Unbound,
    corrected_of,
    distances_of,
    expand,
    linear_scores,
    move_localities,
    placed_at,
    ranges_of,
    reach_of,
    read_ranges,
    weighted_loci,
    widths_of,
    within,
)

_ROUNDING = 1e-9  # relative, by which two forms of a center in a file may differ
_MOST = 500.0  # logarithm of a number that is still a float


@dataclass(frozen=True, eq=False)
class GivenCenters(Unbound):
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
    # (n_encoded,), where some are named: least and largest number of the rows, and the columns of
    # whole numbers, for descriptions
    low: Array | None = None
    high: Array | None = None
    whole: Booleans | None = None
    n_ramps: int = 0  # features of the models beyond the columns

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
        points = inputs.measured(inputs.standardize(self.given))
        metric = fit_metric(self.metric, inputs, encoded, weight)
        fitted = replace(self, points=points, metric=metric, n_ramps=inputs.n_ramps)
        if self.columns is None:
            return fitted
        row = np.zeros(len(inputs.varies))
        own = [j for j in self.columns if inputs.varies[j]]
        row[own] = 1.0
        if self.widths is not None:
            own = [j for j in own if inputs.counted[j]]
            given = dict(zip(self.columns, self.widths, strict=True))
            row[own] = _weights_by(
                np.array([given[j] for j in own]), inputs.units.inverse_scale[own]
            )
        return replace(
            fitted,
            weights=np.repeat(row[None], len(points), axis=0),
            varies=inputs.varies,
            **ranges_of(encoded),
        )

    def expand(
        self, prior: Prior, n_localities: int, inputs: Inputs, scores: tuple[int, ...] = ()
    ) -> Prior:
        return expand(prior, n_localities, inputs, scores)

    def rows(
        self, Z: Array, coordinates: Array, holes: Booleans | None = None
    ) -> tuple[Array, Array | None]:
        if self.weights is None:
            distance = self.metric.distances(Z, self.points)
            if holes is not None:
                distance[holes.any(axis=1)] = FAR
            return coordinates, distance
        if self.measured:
            return coordinates, None
        squared = [
            ((Z[:, own > 0] - point[own > 0]) ** 2) @ own[own > 0]
            for point, own in zip(self.points, self.weights, strict=True)
        ]
        distance = np.sqrt(np.array(squared).reshape(len(self.points), len(Z)))
        if holes is not None:
            for one, own in zip(distance, self.weights, strict=True):
                one[holes[:, own > 0].any(axis=1)] = FAR
        return coordinates, distance.T

    def tables(self, posterior: Posterior) -> list[Table]:
        return theta_tables(posterior.radius_shape, posterior.radius_rate)

    def scores_and_distances(self, posterior: Posterior, rows: Rows) -> tuple[Array, Array]:
        if self.measured:
            return linear_scores(posterior, rows.features), distances_of(posterior, rows)
        return linear_scores(posterior, rows.features), np.array(rows.distance.T, order="C")

    def place(self, rows: Rows, n: int, rng: np.random.Generator) -> tuple[Placed, Array]:
        placed: Placed = {"center": self._seen(self.points), "center_scale": np.zeros(n)}
        layout = self.own_layout(rows.features.shape[1])
        if layout is not None:
            placed["layout"] = layout
        if not self.measured:
            return placed, rows.distance.T
        return placed, distances_of(placed_at(placed, n), rows)

    def _seen(self, columns: Array) -> Array:
        """Where distances are measured while it is learned: the columns that vary."""
        return columns if self.varies is None else columns[:, self.varies]

    def own_layout(self, n_features: int) -> Layout | None:
        if self.corrections == "none" and self.weights is None:
            return None
        n = len(self.points)
        weight = np.ones(self._seen(self.points).shape)
        if self.weights is not None:
            weight = self._seen(self.weights)
        own = np.ones((n, n_features - self.n_ramps))
        if self.corrections == "own" and self.weights is not None:
            own = (self._seen(self.weights) > 0).astype(float)
        pooled = self.corrections != "none"
        return Layout(weight, corrected_of(own, n_features, pooled), pooled)

    def candidate(self, rows: Rows, row: int, radius: float) -> Placed:
        raise NotImplementedError("given centers stay where they are")

    def unlike(self, one: Placed, other: Placed, distance: float) -> bool:
        raise NotImplementedError("given centers stay where they are")

    def move(
        self, posterior: Posterior, stretch: Array, shift: Array, mean_stretch: float
    ) -> dict[str, Any]:
        if self.measured:
            return move_localities(posterior, stretch, shift) | {"center": self._seen(self.points)}
        moved: dict[str, Any] = {
            "center": self._seen(self.points),
            "center_scale": posterior.center_scale * mean_stretch,
            "radius_rate": posterior.radius_rate / mean_stretch,
        }
        if posterior.layout is not None:
            moved["layout"] = self.own_layout(posterior.coef.shape[-1])
        return moved

    def layout(self, n_coordinates: int, n_features: int) -> Layout | None:
        if self.corrections == "none" and self.weights is None:
            return None
        empty = np.empty((0, n_coordinates)), np.empty((0, n_features))
        return Layout(*empty, self.corrections != "none")

    def looks_at(self, varies: Booleans) -> bool:
        return self.columns is None or bool(varies[list(self.columns)].any())

    def misfit(self, inputs: Inputs, posterior: Posterior) -> str:
        layout, expected = posterior.layout, self.own_layout(posterior.coef.shape[-1])
        if layout is None or expected is None or not posterior.n_localities:  # None: frozen
            return ""
        found: Any = layout.column_weight
        wanted: Any = expected.column_weight
        if self.measured:
            found, wanted = found > 0, wanted > 0
            if not np.array_equal(posterior.center, self._seen(self.points)):
                return "center should be that of the geometry"
        if not np.array_equal(found, wanted):
            return "column_weight should be that of the geometry"
        if not np.array_equal(layout.corrected, expected.corrected):
            return f"corrected should be that of corrections = {self.corrections!r}"
        return ""

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
        width = widths_of(inputs)
        if self.metric.text == GOWER:
            shares = (self.metric.weights_at(point) for point in self.points)
            return [_reach(r, one, width) for r, one in zip(self.radius, shares, strict=True)]
        if self.metric.norm in ("", "quadratic") or self.metric.arguments:
            return [None] * len(self.radius)
        return [radius * width for radius in self.radius]

    def loci(self, inputs: Inputs, posterior: Posterior) -> tuple[Locus, ...]:
        weights = self._weights_of(inputs, posterior)
        if weights is not None:
            return weighted_loci(inputs, self.points, weights, self.radius)
        columns = np.flatnonzero(inputs.counted & ~inputs.indicators)
        scales, matrix = self.metric.arguments.get("V"), self.metric.arguments.get("VI")

        def locus(point: Array, radius: float) -> Locus:
            weight = self.metric.weights_at(point) if scales is None else 1.0 / scales
            return Locus(
                self.metric.norm,
                columns,
                point[columns],
                float(radius),
                None if weight is None else weight[columns],
                None if matrix is None else matrix[np.ix_(columns, columns)],
            )

        return tuple(locus(*one) for one in zip(self.points, self.radius, strict=True))

    def describe(self, inputs: Inputs, posterior: Posterior) -> tuple[str, ...]:
        if self.metric.text == GOWER:
            return tuple(f"within {radius:.3g} of its center ({GOWER})" for radius in self.radius)
        return tuple(
            within(radius, inputs) if box is None else box.text
            for radius, box in zip(self.radius, self.boxes(inputs, posterior), strict=True)
        )

    def boxes(self, inputs: Inputs, posterior: Posterior) -> list[Box | None]:
        """As people read them; None of balls in all columns, and of metrics."""
        if self.weights is None:
            return [None] * len(self.radius)
        halves = self.half_widths(inputs, posterior)
        return [
            None if half is None else Box(inputs, center, half, self.low, self.high, self.whole)
            for center, half in zip(self.given, halves, strict=True)
        ]

    def freeze(self, inputs: Inputs, posterior: Posterior) -> tuple[Geometry, Posterior]:
        weights = self._weights_of(inputs, posterior)
        fixed = replace(self, weights=weights, learned_widths=False, corrections="none")
        return fixed, posterior.separate()

    def depends_on_rows(self) -> str:
        return f"the scales of the metric {self.metric_name!r}" if self.metric.arguments else ""

    def log_choices(self, posterior: Posterior) -> float:
        return 0.0

    def content(self) -> dict[str, Any]:
        made: dict[str, Any] = {
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
            if self.low is not None:
                made |= {"low": self.low, "high": self.high, "whole": self.whole}
        return made

    @classmethod
    def read(cls, read: Any, inputs: Inputs, n_localities: int) -> GivenCenters:
        n, d = n_localities, len(inputs.varies)
        made = cls(
            read.array("given", (n, d)),
            Metric.read(read.part("metric"), inputs),
            read.array("points", (n, d)),
            read.array("radius", (n,)),
            n_ramps=inputs.n_ramps,
        )
        if "corrections" in read.content:
            made = replace(made, corrections=read.choice("corrections", CORRECTIONS[:-1]))
        if "weights" in read.content:
            made = replace(
                made,
                weights=_read_weights(read, inputs, n),
                learned_widths=read.boolean("learned_widths"),
                varies=inputs.varies,
            )
            if made.metric.text != "euclidean":
                raise read.fail("metric", "'euclidean', as columns have weights", made.metric.text)
            if "low" in read.content:
                made = replace(made, **read_ranges(read, d))
        counted = inputs.counted & ~inputs.indicators
        units, seen = inputs.units, counted & np.ones((n, d), dtype=bool)
        if made.weights is not None:  # what is not looked at is of no account
            seen &= made.weights > 0
        gap = np.abs(units.standardize(made.given) - made.points)
        size = (np.abs(made.given) + np.abs(units.center)) * units.inverse_scale
        if not (gap <= _ROUNDING * (size + np.abs(made.points)))[seen].all():
            raise read.fail("points", "the given centers, standardized", made.points.tolist())
        return made


def fit_metric(metric: Metric, inputs: Inputs, encoded: Array, weight: Array) -> Metric:
    """By the rows that have all values."""
    holes = inputs.holes(encoded)
    if holes is not None and (metric.name != "euclidean" or not isinstance(metric.name, str)):
        whole = ~holes.any(axis=1)
        if not whole.any():
            raise InputError(
                f"metric={metric.text!r} needs rows that have values in all columns; no training"
                " row has.",
                "Use metric='euclidean' with locality_columns.",
            )
        encoded, weight = encoded[whole], weight[whole]
    return metric.fit(inputs.measured(inputs.standardize(encoded)), weight, inputs)


def _reach(radius: float, share: Array | None, width: Array) -> Array:
    """Along each column alone, in the user's units, where a standardized unit adds such a share to
    the distance; without end along a column that adds nothing.
    """
    assert share is not None
    reach = np.divide(radius, share, out=np.full(len(share), np.inf), where=share > 0)
    ends = np.isfinite(reach) & np.isfinite(width)
    return np.asarray(np.multiply(reach, width, out=np.full(len(share), np.inf), where=ends))


def _read_weights(read: Any, inputs: Inputs, n_localities: int) -> Array:
    """Of columns that vary, at least one for each locality."""
    weights: Array = read.array("weights", (n_localities, len(inputs.varies)))
    if weights[:, ~inputs.varies].any() or not (weights != 0).any(axis=1).all():
        raise read.fail("weights", "positive for some columns that vary", weights.tolist())
    try:
        check_weights(weights, "weights")
    except InputError as error:
        raise ModelFileError(f"{read.where}{error.text}") from None
    return weights


def _weights_by(widths: Array, inverse_scale: Array) -> Array:
    """Of columns with these widths in the user's units; their geometric mean is 1."""
    logs = np.log(widths) + np.log(inverse_scale)
    weights = np.exp(np.clip(-2.0 * (logs - logs.sum() / max(len(logs), 1)), -_MOST, _MOST))
    low, high = ANY_WEIGHTS
    if not ((weights >= low) & (weights <= high)).all():
        shown = ", ".join(f"{one:.3g}" for one in np.exp(np.clip(logs, -_MOST, _MOST))[:8])
        raise InputError(
            "locality_widths are too different, in standard deviations of their columns: they are"
            f" {shown}.",
            f"Give widths of which none is more than {np.sqrt(high):g} times another.",
        )
    return np.asarray(weights)
