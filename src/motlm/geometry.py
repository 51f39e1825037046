"""Where localities lie: their distances, their memberships, and how they are described.

A geometry is one class. The objective asks it for distances and partials, the search for places to
begin, explanations, exports, files and the report for centers, widths and loci. Add it to
GEOMETRIES, and files know it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy.special import gammaincinv

from ._typing import Array
from .errors import ModelFileError
from .inputs import Inputs
from .lookup import Table
from .membership import half_distances, theta_tables, upsilon_tables
from .metrics import Locus, Metric
from .posterior import Posterior, Prior
from .rows import Rows

__all__ = [
    "GEOMETRIES",
    "LARGEST_START",
    "SMALLEST_START",
    "Geometry",
    "GivenCenters",
    "LearnedBalls",
    "Locus",
    "Metric",
    "Placed",
    "radii",
    "rank",
    "read_geometry",
]

_SMALLEST_RADIUS = 0.02  # standardized, of a ball that never reaches a membership of 1/2
CENTER_SCALE = 0.2  # of a learned center, where a search begins
SMALLEST_START, LARGEST_START = 1e-2, 1e6  # radius of a ball where a search begins
_ROUNDING = 1e-9  # relative, by which two forms of a center in a file may differ
_NONE: Array = np.empty(0)
Placed = dict[str, Array]  # fields of the posterior that place localities


class Geometry(Protocol):
    """The interface of a geometry."""

    kind: ClassVar[str]  # its name in files
    parameters: ClassVar[tuple[str, ...]]  # fields that a table has partials for, in its order
    free: ClassVar[tuple[str, ...]]  # fields of the posterior that are searched

    @property
    def learned(self) -> bool:
        """Whether centers are searched, so that rows pull at them."""

    @property
    def radius(self) -> Array:
        """(n_localities,): distance at which membership is 1/2; of a fitted one."""

    @property
    def metric_name(self) -> str:
        """Of the distance, in words."""

    # -- while it is learned

    def fit(self, inputs: Inputs, encoded: Array, weight: Array) -> Geometry:
        """The geometry in the units of these inputs, from encoded rows."""

    def rows(self, Z: Array, features: Array) -> tuple[Array, Array | None]:
        """Coordinates of standardized rows, and their distances where centers are given."""

    def expand(
        self, prior: Prior, n_localities: int, inputs: Inputs, scores: tuple[int, ...] = ()
    ) -> Prior:
        """A prior with every entry an array, for the columns that models and localities look at."""

    def tables(self, posterior: Posterior) -> list[Table]:
        """The memberships as functions of the distance."""

    def scores_and_distances(self, posterior: Posterior, rows: Rows) -> tuple[Array, Array]:
        """Mean score of each model, (n_localities + 1, n_rows), and distance from each center."""

    def place(self, rows: Rows, n: int, rng: np.random.Generator) -> tuple[Placed, Array]:
        """Where a search may begin: fields of n localities, and their distances from the rows."""

    def candidate(self, rows: Rows, row: int, radius: float) -> Placed:
        """Fields of a locality around a row, of this radius. Only where centers are learned."""

    def unlike(self, one: Placed, other: Placed, distance: float) -> bool:
        """Whether two candidates lie further apart than that."""

    def move(
        self, posterior: Posterior, stretch: Array, shift: Array, mean_stretch: float
    ) -> dict[str, Array]:
        """The posterior's fields of the localities in other units."""

    def keep(self, kept: Sequence[int]) -> Geometry:
        """With these localities alone."""

    # -- of a fitted mixture

    def centers(self, inputs: Inputs, posterior: Posterior) -> Array:
        """(n_localities, n_encoded), in the user's units."""

    def center_scales(self, inputs: Inputs, posterior: Posterior) -> Array:
        """(n_localities, n_encoded): posterior standard deviations of the centers."""

    def half_widths(self, inputs: Inputs, posterior: Posterior) -> Sequence[Array | None]:
        """How far each locality reaches along each encoded column, in the user's units."""

    def loci(self, inputs: Inputs, posterior: Posterior) -> tuple[Locus, ...]:
        """Where the localities lie, for exports."""

    def describe(self, inputs: Inputs, posterior: Posterior) -> tuple[str, ...]:
        """Where each locality lies, in words that follow "rows": "within 0.9 of its center"."""

    def freeze(self, inputs: Inputs, posterior: Posterior) -> tuple[Geometry, Posterior]:
        """The same localities with their centers fixed where they are."""

    def depends_on_rows(self) -> str:
        """What of it was taken from the training rows beyond the posterior, in words; "" for
        nothing. A certificate in-sample needs nothing.
        """

    def log_choices(self, posterior: Posterior) -> float:
        """The price, in nats, of discrete choices that the posterior's KL does not pay for."""

    def content(self) -> dict[str, Any]:
        """All that distances depend on, as plain values and arrays."""

    @classmethod
    def read(cls, read: Any, inputs: Inputs, n_localities: int) -> Geometry:
        """From what `content` gave, by the reader of a file."""


def radii(geometry: Geometry, posterior: Posterior) -> Array:
    """Distance at which each membership is 1/2; 0 where it never is."""
    n_coordinates = posterior.center.shape[1] if geometry.learned else None
    return half_distances(
        n_coordinates, posterior.center_scale, posterior.radius_shape, posterior.radius_rate
    )


def rank(values: Array, share: float) -> float:
    """The value that this share of all values does not exceed."""
    place = min(max(int(np.ceil(share * len(values))) - 1, 0), len(values) - 1)
    return float(np.partition(values, place)[place])


def linear_scores(posterior: Posterior, features: Array) -> Array:
    """Of each model, (n_localities + 1, n_rows); of several classes (.., n_classes, n_rows)."""
    intercept, d = posterior.intercept, features.shape[1]
    products = posterior.coef.reshape(intercept.size, d) @ features.T
    return products.reshape(*intercept.shape, len(features)) + intercept[..., None]


def _expand(prior: Prior, n_localities: int, inputs: Inputs, scores: tuple[int, ...]) -> Prior:
    """For localities and models that look at all columns that vary."""
    varies = inputs.varies
    prior = prior.expand(n_localities, len(varies), scores)
    center, coef = np.asarray(prior.center), np.asarray(prior.coef)
    return replace(prior, center=center[:, varies], coef=coef[..., varies])


def _widths(inputs: Inputs) -> Array:
    """The user's units of one standardized one; a locality has no end along an ignored column."""
    width = np.full(len(inputs.varies), np.inf)
    width[inputs.counted] = 1.0 / inputs.units.inverse_scale[inputs.counted]
    return width


@dataclass(frozen=True, eq=False)
class GivenCenters:
    """Centers are given, and with them the rows' distances, in any metric: membership is theta."""

    # (n_localities, n_encoded), in the user's units
    given: Array = field(default_factory=lambda: np.empty((0, 0)))
    metric: Metric = field(default_factory=lambda: Metric("euclidean"))
    points: Array = field(default_factory=lambda: np.empty((0, 0)))  # the same, standardized
    radius: Array = field(default_factory=lambda: _NONE)

    kind: ClassVar[str] = "given"
    learned: ClassVar[bool] = False
    parameters: ClassVar[tuple[str, ...]] = ("radius_shape", "radius_rate")
    free: ClassVar[tuple[str, ...]] = ("radius_shape", "radius_rate")

    @property
    def metric_name(self) -> str:
        return self.metric.text if isinstance(self.metric.name, str) else "function"

    def fit(self, inputs: Inputs, encoded: Array, weight: Array) -> GivenCenters:
        inputs.check_reach(self.given, "points_of_interest")
        points = inputs.standardize(self.given)
        metric = self.metric.fit(inputs.standardize(encoded), weight)
        return replace(self, points=points, metric=metric)

    def expand(
        self, prior: Prior, n_localities: int, inputs: Inputs, scores: tuple[int, ...] = ()
    ) -> Prior:
        return _expand(prior, n_localities, inputs, scores)

    def rows(self, Z: Array, features: Array) -> tuple[Array, Array | None]:
        return features, self.metric.distances(Z, self.points)

    def tables(self, posterior: Posterior) -> list[Table]:
        return theta_tables(posterior.radius_shape, posterior.radius_rate)

    def scores_and_distances(self, posterior: Posterior, rows: Rows) -> tuple[Array, Array]:
        return linear_scores(posterior, rows.features), np.array(rows.distance.T, order="C")

    def place(self, rows: Rows, n: int, rng: np.random.Generator) -> tuple[Placed, Array]:
        return {"center": self.points, "center_scale": np.zeros(n)}, rows.distance.T

    def candidate(self, rows: Rows, row: int, radius: float) -> Placed:
        raise NotImplementedError("given centers stay where they are")

    def unlike(self, one: Placed, other: Placed, distance: float) -> bool:
        raise NotImplementedError("given centers stay where they are")

    def move(
        self, posterior: Posterior, stretch: Array, shift: Array, mean_stretch: float
    ) -> dict[str, Array]:
        return {
            "center": self.points,
            "center_scale": posterior.center_scale * mean_stretch,
            "radius_rate": posterior.radius_rate / mean_stretch,
        }

    def keep(self, kept: Sequence[int]) -> GivenCenters:
        inside = list(kept)
        return replace(self, given=self.given[inside], points=self.points[inside])

    def centers(self, inputs: Inputs, posterior: Posterior) -> Array:
        return self.given

    def center_scales(self, inputs: Inputs, posterior: Posterior) -> Array:
        return np.zeros((len(self.given), len(inputs.varies)))

    def half_widths(self, inputs: Inputs, posterior: Posterior) -> Sequence[Array | None]:
        if self.metric.norm in ("", "quadratic") or self.metric.arguments:
            return [None] * len(self.radius)
        width = _widths(inputs)
        return [radius * width for radius in self.radius]

    def loci(self, inputs: Inputs, posterior: Posterior) -> tuple[Locus, ...]:
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
        return tuple(_within(radius, inputs) for radius in self.radius)

    def freeze(self, inputs: Inputs, posterior: Posterior) -> tuple[Geometry, Posterior]:
        return self, posterior

    def depends_on_rows(self) -> str:
        return f"the scales of the metric {self.metric_name!r}" if self.metric.arguments else ""

    def log_choices(self, posterior: Posterior) -> float:
        return 0.0

    def content(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "given": self.given,
            "points": self.points,
            "metric": self.metric.content(),
            "radius": self.radius,
        }

    @classmethod
    def read(cls, read: Any, inputs: Inputs, n_localities: int) -> GivenCenters:
        n, d = n_localities, len(inputs.varies)
        made = cls(
            read.array("given", (n, d)),
            Metric.read(read.part("metric"), d),
            read.array("points", (n, d)),
            read.array("radius", (n,)),
        )
        units, counted = inputs.units, inputs.counted
        gap = np.abs(units.standardize(made.given) - made.points)[:, counted]
        size = ((np.abs(made.given) + np.abs(units.center)) * units.inverse_scale)[:, counted]
        if not (gap <= _ROUNDING * (size + np.abs(made.points[:, counted]))).all():
            raise read.fail("points", "the given centers, standardized", made.points.tolist())
        return made


@dataclass(frozen=True, eq=False)
class LearnedBalls:
    """Centers are Gaussian: membership is upsilon of the Euclidean distance to the mean center, in
    all columns that vary.
    """

    radius: Array = field(default_factory=lambda: _NONE)

    kind: ClassVar[str] = "balls"
    learned: ClassVar[bool] = True
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
        return _expand(prior, n_localities, inputs, scores)

    def rows(self, Z: Array, features: Array) -> tuple[Array, Array | None]:
        return features, None

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
        center = rows.coordinates[row].astype(float)
        return {"center": center, "center_scale": np.asarray(min(CENTER_SCALE, 0.3 * radius))}

    def unlike(self, one: Placed, other: Placed, distance: float) -> bool:
        return bool(np.linalg.norm(one["center"] - other["center"]) > distance)

    def move(
        self, posterior: Posterior, stretch: Array, shift: Array, mean_stretch: float
    ) -> dict[str, Array]:
        """Balls stay balls, scaled by the mean change of the columns."""
        return {
            "center": posterior.center * stretch + shift,
            "center_scale": posterior.center_scale * mean_stretch,
            "radius_rate": posterior.radius_rate / mean_stretch,
        }

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
        width = np.where(inputs.counted, _widths(inputs), 0.0)
        return np.multiply.outer(posterior.center_scale, width)

    def half_widths(self, inputs: Inputs, posterior: Posterior) -> Sequence[Array | None]:
        width = _widths(inputs)
        return [radius * width for radius in self.radius]

    def loci(self, inputs: Inputs, posterior: Posterior) -> tuple[Locus, ...]:
        columns, seen = np.flatnonzero(inputs.counted), inputs.counted[inputs.varies]
        return tuple(
            Locus("euclidean", columns, center[seen], float(radius))
            for center, radius in zip(posterior.center, self.radius, strict=True)
        )

    def describe(self, inputs: Inputs, posterior: Posterior) -> tuple[str, ...]:
        return tuple(_within(radius, inputs) for radius in self.radius)

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


def _within(radius: float, inputs: Inputs) -> str:
    plain = np.array_equal(inputs.units.inverse_scale, np.ones(len(inputs.varies)))
    return f"within {radius:.3g} of its center" + ("" if plain else " in standardized units")


GEOMETRIES: dict[str, type[Any]] = {one.kind: one for one in (GivenCenters, LearnedBalls)}


def read_geometry(read: Any, inputs: Inputs, n_localities: int) -> Geometry:
    """The geometry of a file, by its kind."""
    kind = read.text("kind")
    if kind not in GEOMETRIES:
        raise ModelFileError(
            f"geometry.kind should be one of {', '.join(GEOMETRIES)}; got {kind[:40]!r}."
        )
    geometry: Geometry = GEOMETRIES[kind].read(read, inputs, n_localities)
    read.done()
    return geometry
