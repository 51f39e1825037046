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
from .lookup import Lookup, Table, half_distance
from .membership import theta_tables, upsilon_tables
from .metrics import Locus, Metric
from .posterior import Posterior
from .rows import Rows

__all__ = [
    "CENTER_SCALE",
    "GEOMETRIES",
    "Geometry",
    "GivenCenters",
    "LearnedBalls",
    "Locus",
    "Metric",
    "lookup_of",
    "radii",
    "read_geometry",
]

_SMALLEST_RADIUS = 0.02  # standardized, of a ball that never reaches a membership of 1/2
CENTER_SCALE = 0.2  # of a learned center, where a search begins
_ROUNDING = 1e-9  # relative, by which two forms of a center in a file may differ
_NONE: Array = np.empty(0)


class Geometry(Protocol):
    """What is asked of a geometry."""

    kind: ClassVar[str]  # its name in files
    learned: ClassVar[bool]  # whether centers are searched, so that rows pull at them
    parameters: ClassVar[tuple[str, ...]]  # fields that a table has partials for, in its order
    free: ClassVar[tuple[str, ...]]  # fields of the posterior that are searched

    @property
    def radius(self) -> Array:
        """(n_localities,): distance at which membership is 1/2; of a fitted one."""

    @property
    def metric_name(self) -> str:
        """Of the distance, in words."""

    # -- while it is learned

    def fit(self, inputs: Inputs, Z: Array, weight: Array) -> Geometry:
        """The geometry in the units of these inputs; Z are standardized rows."""

    def rows(self, Z: Array, features: Array) -> tuple[Array, Array | None]:
        """Coordinates of standardized rows, and their distances where centers are given."""

    def tables(self, posterior: Posterior) -> list[Table]:
        """The memberships as functions of the distance."""

    def scores_and_distances(self, posterior: Posterior, rows: Rows) -> tuple[Array, Array]:
        """Mean score of each model, (n_localities + 1, n_rows), and distance from each center."""

    def partials(self, posterior: Posterior, rows: Rows, by_score: Array) -> dict[str, Array]:
        """Sums over rows of the partials of the weights, and of what places the localities.

        `by_score` has d/dmean for each model and, where centers are learned, d/d(D^2 / 2) for each
        locality.
        """

    def place(self, rows: Rows, n: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """Where a search may begin: center, center_scale, and distances (n_localities, n_rows)."""

    def move(
        self, posterior: Posterior, stretch: Array, shift: Array, mean_stretch: float
    ) -> dict[str, Array]:
        """The posterior's fields of the localities in other units."""

    def keep(self, kept: Sequence[int]) -> Geometry:
        """With these localities alone."""

    def squared_distances(self, rows: Rows, point: Array) -> Array:
        """Of rows from a point that might become a center; only where centers are learned."""

    # -- of a fitted mixture

    def centers(self, inputs: Inputs, posterior: Posterior) -> Array:
        """(n_localities, n_encoded), in the user's units."""

    def half_widths(self, inputs: Inputs) -> Sequence[Array | None]:
        """How far each locality reaches along each encoded column, in the user's units."""

    def loci(self, inputs: Inputs, posterior: Posterior) -> tuple[Locus, ...]:
        """Where the localities lie, for exports."""

    def freeze(self, inputs: Inputs, posterior: Posterior) -> tuple[GivenCenters, Posterior]:
        """The same localities with their centers fixed where they are."""

    def content(self) -> dict[str, Any]:
        """All that distances depend on, as plain values and arrays."""

    @classmethod
    def read(cls, read: Any, inputs: Inputs, n_localities: int) -> Geometry:
        """From what `content` gave, by the reader of a file."""


def radii(geometry: Geometry, posterior: Posterior) -> Array:
    """Distance at which each membership is 1/2; 0 where it never is."""
    return np.array([half_distance(table) for table in geometry.tables(posterior)])


def lookup_of(geometry: Geometry, posterior: Posterior, dtype: Any = np.float64) -> Lookup:
    """The memberships of all localities, for rows to look up."""
    return Lookup.of(geometry.tables(posterior), dtype)


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

    def fit(self, inputs: Inputs, Z: Array, weight: Array) -> GivenCenters:
        points = inputs.units.standardize(self.given) * inputs.varies
        return replace(self, points=points, metric=self.metric.fit(Z, weight))

    def rows(self, Z: Array, features: Array) -> tuple[Array, Array | None]:
        return features, self.metric.distances(Z, self.points)

    def tables(self, posterior: Posterior) -> list[Table]:
        return theta_tables(posterior.radius_shape, posterior.radius_rate)

    def scores_and_distances(self, posterior: Posterior, rows: Rows) -> tuple[Array, Array]:
        mean = posterior.coef @ rows.features.T
        mean += posterior.intercept[:, None]
        return mean, np.array(rows.distance.T, order="C")

    def partials(self, posterior: Posterior, rows: Rows, by_score: Array) -> dict[str, Array]:
        return {"coef": by_score @ rows.features, "center": np.zeros_like(posterior.center)}

    def place(self, rows: Rows, n: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        return self.points, np.zeros(n), rows.distance.T

    def squared_distances(self, rows: Rows, point: Array) -> Array:
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

    def half_widths(self, inputs: Inputs) -> Sequence[Array | None]:
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

    def freeze(self, inputs: Inputs, posterior: Posterior) -> tuple[GivenCenters, Posterior]:
        return self, posterior

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

    def fit(self, inputs: Inputs, Z: Array, weight: Array) -> LearnedBalls:
        return self

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
        n = posterior.n_localities
        if rows.coordinates is rows.features:  # one product for both
            both = np.concatenate([posterior.coef, -2.0 * posterior.center]) @ rows.features.T
            mean, distance = both[: n + 1], both[n + 1 :]
        else:
            mean = posterior.coef @ rows.features.T
            distance = -2.0 * posterior.center @ rows.coordinates.T
        mean += posterior.intercept[:, None]
        distance += rows.coordinates_norm2
        distance += np.einsum("ij,ij->i", posterior.center, posterior.center)[:, None]
        np.maximum(distance, 0.0, out=distance)
        return mean, np.sqrt(distance, out=distance)

    def partials(self, posterior: Posterior, rows: Rows, by_score: Array) -> dict[str, Array]:
        """d/dc of omega(|c - x|) is slope (c - x), slope = d omega / d(D^2 / 2)."""
        n = posterior.n_localities
        pull = by_score[n + 1 :]
        if rows.coordinates is rows.features:
            both = by_score @ rows.features
            coef, pulled = both[: n + 1], both[n + 1 :]
        else:
            coef, pulled = by_score[: n + 1] @ rows.features, pull @ rows.coordinates
        return {"coef": coef, "center": pull.sum(axis=1)[:, None] * posterior.center - pulled}

    def place(self, rows: Rows, n: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        m = len(rows)
        chosen = rng.choice(m, size=n, replace=False, p=rows.weight / rows.weight.sum())
        center = rows.coordinates[chosen].astype(float)
        squared = [self.squared_distances(rows, point) for point in center]
        return center, np.full(n, CENTER_SCALE), np.sqrt(squared).reshape(n, m)

    def squared_distances(self, rows: Rows, point: Array) -> Array:
        squared = rows.coordinates @ (-2.0 * point).astype(rows.coordinates.dtype)
        squared += rows.coordinates_norm2
        squared += point @ point
        return np.maximum(squared, 0.0)

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
        centers = np.tile(inputs.typical, (posterior.n_localities, 1))
        inverse = units.inverse_scale[counted]
        centers[:, counted] = posterior.center[:, seen] / inverse + units.center[counted]
        return centers

    def half_widths(self, inputs: Inputs) -> Sequence[Array | None]:
        width = _widths(inputs)
        return [radius * width for radius in self.radius]

    def loci(self, inputs: Inputs, posterior: Posterior) -> tuple[Locus, ...]:
        columns, seen = np.flatnonzero(inputs.counted), inputs.counted[inputs.varies]
        return tuple(
            Locus("euclidean", columns, center[seen], float(radius))
            for center, radius in zip(posterior.center, self.radius, strict=True)
        )

    def freeze(self, inputs: Inputs, posterior: Posterior) -> tuple[GivenCenters, Posterior]:
        """Radii keep the distance at which membership is 1/2."""
        n = posterior.n_localities
        points = np.zeros((n, len(inputs.varies)))
        points[:, inputs.varies] = posterior.center
        given = self.centers(inputs, posterior)
        rate = gammaincinv(posterior.radius_shape, 0.5)
        rate = rate / np.maximum(self.radius, _SMALLEST_RADIUS)
        fixed = GivenCenters(given, Metric("euclidean"), points, self.radius)
        return fixed, replace(posterior, center_scale=np.zeros(n), radius_rate=rate)

    def content(self) -> dict[str, Any]:
        return {"kind": self.kind, "radius": self.radius}

    @classmethod
    def read(cls, read: Any, inputs: Inputs, n_localities: int) -> LearnedBalls:
        return cls(read.array("radius", (n_localities,)))


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
