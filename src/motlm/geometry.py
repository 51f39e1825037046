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
from scipy.special import gammaincinv, gammaln

from ._typing import Array, Booleans, Integers
from .errors import ModelFileError
from .inputs import Inputs
from .lookup import Table
from .membership import half_distances, theta_tables, upsilon_tables
from .metrics import Locus, Metric
from .posterior import WEIGHTS, Layout, Posterior, Prior
from .regions import describe_box
from .rows import Rows

__all__ = [
    "GEOMETRIES",
    "LARGEST_START",
    "SMALLEST_START",
    "Geometry",
    "GivenCenters",
    "LearnedBalls",
    "LearnedLocalities",
    "Locus",
    "Metric",
    "Placed",
    "radii",
    "rank",
    "read_geometry",
]

_OTHERS = ( "radius_shape", "radius_rate", "coef", "coef_scale", "intercept", "intercept_scale")
_SMALLEST_RADIUS = 0.02  # standardized, of a ball that never reaches a membership of 1/2
CENTER_SCALE = 0.2  # of a learned center, where a search begins
SMALLEST_START, LARGEST_START = 1e-2, 1e6  # radius of a ball where a search begins
_ROUNDING = 1e-9  # relative, by which two forms of a center in a file may differ
CORRECTIONS = ("own", "all", "none")
_NONE: Array = np.empty(0)
Placed = dict[str, Any]  # fields of the posterior that place localities


class Geometry(Protocol):
    """The interface of a geometry."""

    kind: ClassVar[str]  # its name in files
    parameters: ClassVar[tuple[str, ...]]  # fields that a table has partials for, in its order
    free: ClassVar[tuple[str, ...]]  # fields of the posterior that are searched

    @property
    def learned(self) -> bool:
        """Whether centers are searched, so that rows pull at them."""

    @property
    def measured(self) -> bool:
        """Whether distances change with what is searched, and so are computed from coordinates."""

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

    def looks_at(self, varies: Booleans) -> bool:
        """Whether some of the encoded columns that vary are among those that it looks at."""

    def fits(self, other: Geometry) -> bool:
        """Whether a posterior of this one is one of the other, which has the same kind."""

    def layout(self, n_coordinates: int, n_features: int) -> Layout | None:
        """Of no locality; None where all are balls in all columns, with independent models."""

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
    dims = (posterior.column_weight > 0).sum(axis=1) if geometry.learned else None
    return half_distances(
        dims, posterior.center_scale, posterior.radius_shape, posterior.radius_rate
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
        return _expand(prior, n_localities, inputs, scores)

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
            return linear_scores(posterior, rows.features), _distances(posterior, rows)
        return linear_scores(posterior, rows.features), np.array(rows.distance.T, order="C")

    def place(self, rows: Rows, n: int, rng: np.random.Generator) -> tuple[Placed, Array]:
        placed: Placed = {"center": self._seen(self.points), "center_scale": np.zeros(n)}
        layout = self._layout(rows.features.shape[1])
        if layout is not None:
            placed["layout"] = layout
        if not self.measured:
            return placed, rows.distance.T
        like = Posterior(**placed, **dict.fromkeys(_OTHERS, np.ones(n)))
        return placed, _distances(like, rows)

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
            return _move(posterior, stretch, shift) | {"center": self._seen(self.points)}
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
        return replace(
            self, given=self.given[inside], points=self.points[inside], weights=weights
        )

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
            reach = _reach(inputs, weights)
            return [radius * one for radius, one in zip(self.radius, reach, strict=True)]
        if self.metric.norm in ("", "quadratic") or self.metric.arguments:
            return [None] * len(self.radius)
        width = _widths(inputs)
        return [radius * width for radius in self.radius]

    def loci(self, inputs: Inputs, posterior: Posterior) -> tuple[Locus, ...]:
        weights = self._weights_of(inputs, posterior)
        if weights is not None:
            return _weighted_loci(inputs, self.points, weights, self.radius)
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


@dataclass(frozen=True, eq=False)
class LearnedBalls:
    """Centers are Gaussian: membership is upsilon of the Euclidean distance to the mean center, in
    all columns that vary.
    """

    radius: Array = field(default_factory=lambda: _NONE)

    kind: ClassVar[str] = "balls"
    learned: ClassVar[bool] = True
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

    def layout(self, n_coordinates: int, n_features: int) -> Layout | None:
        return None

    def looks_at(self, varies: Booleans) -> bool:
        return True

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


def _reach(inputs: Inputs, weights: Array) -> Array:
    """(n_localities, n_encoded): the user's units of a distance of 1; infinite along a column that
    a locality does not look at.
    """
    scale = np.sqrt(np.where(weights > 0, weights, 1.0))
    return np.asarray(np.where(weights > 0, _widths(inputs) / scale, np.inf))


def _weighted_loci(
    inputs: Inputs, points: Array, weights: Array, radii: Array
) -> tuple[Locus, ...]:
    """Of standardized points and weights of the encoded columns."""
    made = []
    for point, weight, radius in zip(points, weights, radii, strict=True):
        own = np.flatnonzero((weight > 0) & inputs.counted)
        made.append(Locus("euclidean", own, point[own], float(radius), weight[own]))
    return tuple(made)


def _move(posterior: Posterior, stretch: Array, shift: Array) -> dict[str, Any]:
    """Each locality is scaled by the mean change of its columns, and its widths by the rest."""
    layout = posterior.layout
    assert layout is not None
    active = layout.column_weight > 0
    each = np.where(active, np.log(stretch), 0.0).sum(axis=1) / np.maximum(layout.dims, 1)
    weight = layout.column_weight / (stretch / np.exp(each)[:, None]) ** 2
    return {
        "center": np.where(active, posterior.center * stretch + shift, 0.0),
        "center_scale": posterior.center_scale * np.exp(each),
        "radius_rate": posterior.radius_rate / np.exp(each),
        "layout": replace(layout, column_weight=np.clip(weight, *WEIGHTS) * active),
    }


@dataclass(frozen=True, eq=False)
class LearnedLocalities(LearnedBalls):
    """Localities in a few columns each, or in all, with widths of their own: membership is upsilon
    of sqrt(sum a (x - c)^2) over the columns that a locality looks at. Its model may be a correction
    of the exterior.
    """

    most: int = 3  # columns of a locality; 0 for all candidates
    asked: tuple[int, ...] | None = None  # encoded columns that localities may look at; None: all
    low: Array = field(default_factory=lambda: _NONE)  # (n_encoded,), least of the rows
    high: Array = field(default_factory=lambda: _NONE)  # (n_encoded,)
    # of the columns that vary, those that localities may look at; None for all
    candidates: tuple[int, ...] | None = None
    corrections: str = "own"  # "own": in the locality's columns; "all"; "none": independent models
    widths: bool = True  # whether columns have widths of their own

    kind: ClassVar[str] = "localities"

    @property
    def free(self) -> tuple[str, ...]:  # type: ignore[override]
        widths = ("column_weight",) if self.widths and self.most != 1 else ()
        return ("radius_shape", "radius_rate", "center", "center_scale", *widths)

    def fit(self, inputs: Inputs, encoded: Array, weight: Array) -> LearnedLocalities:
        found, place = self.candidates, np.cumsum(inputs.varies) - 1  # among those that vary
        if self.asked is not None:
            found = tuple(int(place[j]) for j in self.asked if inputs.varies[j])
        low, high = encoded.min(axis=0), encoded.max(axis=0)
        return replace(self, candidates=found, low=low, high=high)

    def looks_at(self, varies: Booleans) -> bool:
        return self.asked is None or bool(varies[list(self.asked)].any())

    def fits(self, other: Any) -> bool:
        mine, theirs = (
            (one.most, one.candidates, one.corrections, one.widths) for one in (self, other)
        )
        return mine == theirs

    @property
    def pooled(self) -> bool:
        return self.corrections != "none"

    def columns(self, n_coordinates: int) -> Integers:
        """Those that may be looked at."""
        every = range(n_coordinates) if self.candidates is None else self.candidates
        return np.array(every, dtype=np.int64)

    def sizes(self, n_coordinates: int) -> range:
        """Numbers of columns that a locality may have."""
        count = len(self.columns(n_coordinates))
        return range(count, count + 1) if not self.most else range(1, min(self.most, count) + 1)

    def corrected(self, weight: Array) -> Array:
        """Which features local models may correct, for these weights of columns."""
        if self.corrections != "own":
            return np.ones(weight.shape)
        return (weight > 0).astype(float)

    def price(self, dims: int, n_coordinates: int) -> float:
        """Of which columns, in nats."""
        if not self.most:
            return 0.0
        count = len(self.columns(n_coordinates))
        ways = gammaln(count + 1) - gammaln(dims + 1) - gammaln(count - dims + 1)
        return float(ways + np.log(len(self.sizes(n_coordinates))))

    def work(self, n_features: int) -> float:
        """Products that a candidate's regression takes of each row."""
        own = n_features
        if self.corrections == "own":
            own = min(self.most or n_features, n_features)
        return float((own + 2) ** 2)

    def draw(self, rows: Rows, count: int, rng: np.random.Generator) -> Array:
        """Weights of columns of localities to begin with, (count, n_coordinates)."""
        width = rows.coordinates.shape[1]
        columns, sizes = self.columns(width), self.sizes(width)
        weight = np.zeros((count, width))
        for one in weight:
            one[rng.choice(columns, size=rng.choice(sizes), replace=False)] = 1.0
        return weight

    def place(self, rows: Rows, n: int, rng: np.random.Generator) -> tuple[Placed, Array]:
        placed, _ = super().place(rows, n, rng)
        weight = self.draw(rows, n, rng)
        placed["layout"] = Layout(weight, self.corrected(weight), self.pooled)
        like = Posterior(**placed, **dict.fromkeys(_OTHERS, np.ones(n)))
        return placed, _distances(like, rows)

    def vary(self, weight: Array, rng: np.random.Generator) -> Array:
        """With a column less, one more, or another one; or with another width."""
        columns, sizes = self.columns(len(weight)), self.sizes(len(weight))
        found, own = weight.copy(), np.flatnonzero(weight)
        others = np.setdiff1d(columns, own)
        ways = ["width"] if self.widths and len(own) > 1 else []
        ways += ["less"] if len(own) - 1 in sizes else []
        ways += ["more"] if len(own) + 1 in sizes and len(others) else []
        ways += ["other"] if len(others) else []
        way = rng.choice(ways) if ways else ""
        if way in ("less", "other"):
            found[rng.choice(own)] = 0.0
        if way in ("more", "other"):
            found[rng.choice(others)] = 1.0
        if way == "width":
            found[rng.choice(own)] *= np.exp(rng.normal())
        inside = found > 0
        found[inside] /= np.exp(np.log(found[inside]).mean())
        return found

    def layout(self, n_coordinates: int, n_features: int) -> Layout | None:
        return Layout(np.empty((0, n_coordinates)), np.empty((0, n_features)), self.pooled)

    def tables(self, posterior: Posterior) -> list[Table]:
        return upsilon_tables(
            (posterior.column_weight > 0).sum(axis=1),
            posterior.center_scale,
            posterior.radius_shape,
            posterior.radius_rate,
        )

    def scores_and_distances(self, posterior: Posterior, rows: Rows) -> tuple[Array, Array]:
        return linear_scores(posterior, rows.features), _distances(posterior, rows)

    def unlike(self, one: Placed, other: Placed, distance: float) -> bool:
        first, second = (each["layout"].column_weight[0] for each in (one, other))
        if ((first > 0) != (second > 0)).any():
            return True
        return bool(np.sqrt(first @ (one["center"] - other["center"]) ** 2) > distance)

    def move(
        self, posterior: Posterior, stretch: Array, shift: Array, mean_stretch: float
    ) -> dict[str, Any]:
        return _move(posterior, stretch, shift)

    def _weights_of(self, inputs: Inputs, posterior: Posterior) -> Array:
        """(n_localities, n_encoded)"""
        found = np.zeros((posterior.n_localities, len(inputs.varies)))
        found[:, inputs.varies] = posterior.column_weight
        return found

    def centers(self, inputs: Inputs, posterior: Posterior) -> Array:
        """Typical values where a locality does not look."""
        seen = self._weights_of(inputs, posterior) > 0
        return np.where(seen, super().centers(inputs, posterior), inputs.typical)

    def center_scales(self, inputs: Inputs, posterior: Posterior) -> Array:
        reach = _reach(inputs, self._weights_of(inputs, posterior))
        return np.where(np.isinf(reach), 0.0, reach) * posterior.center_scale[:, None]

    def half_widths(self, inputs: Inputs, posterior: Posterior) -> Sequence[Array | None]:
        reach = _reach(inputs, self._weights_of(inputs, posterior))
        return [radius * one for radius, one in zip(self.radius, reach, strict=True)]

    def loci(self, inputs: Inputs, posterior: Posterior) -> tuple[Locus, ...]:
        points = np.zeros((posterior.n_localities, len(inputs.varies)))
        points[:, inputs.varies] = posterior.center
        weights = self._weights_of(inputs, posterior)
        return _weighted_loci(inputs, points, weights, self.radius)

    def freeze(self, inputs: Inputs, posterior: Posterior) -> tuple[Geometry, Posterior]:
        fixed, moved = super().freeze(inputs, posterior)
        made: Any = fixed
        weights = self._weights_of(inputs, posterior)
        return replace(made, weights=weights, varies=inputs.varies), moved.separate()

    def describe(self, inputs: Inputs, posterior: Posterior) -> tuple[str, ...]:
        centers = self.centers(inputs, posterior)
        return tuple(
            describe_box(inputs, center, half, self.low, self.high)
            for center, half in zip(centers, self.half_widths(inputs, posterior), strict=True)
        )

    def content(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "radius": self.radius,
            "most": self.most,
            "columns": None if self.asked is None else list(self.asked),
            "corrections": self.corrections,
            "widths": self.widths,
            "low": self.low,
            "high": self.high,
        }

    @classmethod
    def read(cls, read: Any, inputs: Inputs, n_localities: int) -> LearnedLocalities:
        d = len(inputs.varies)
        asked = None
        if not read.is_null("columns"):
            asked = read.integers("columns", len(read.sequence("columns")))
            if not all(0 <= j < d for j in asked) or len(set(asked)) != len(asked):
                raise read.fail("columns", f"different numbers below {d}", asked)
        else:
            read.raw("columns")
        made = cls(
            read.array("radius", (n_localities,)),
            read.integer("most", 0),
            asked,
            read.array("low", (d,)),
            read.array("high", (d,)),
            None,
            read.choice("corrections", CORRECTIONS),
            read.boolean("widths"),
        )
        place = np.cumsum(inputs.varies) - 1
        if asked is None:
            return made
        return replace(
            made, candidates=tuple(int(place[j]) for j in asked if inputs.varies[j])
        )

    def log_choices(self, posterior: Posterior) -> float:
        n_coordinates = posterior.center.shape[1]
        dims = (posterior.column_weight > 0).sum(axis=1)
        return float(sum(self.price(int(one), n_coordinates) for one in dims))


def _distances(posterior: Posterior, rows: Rows) -> Array:
    """(n_localities, n_rows), by the weights of the columns."""
    distance = np.zeros((posterior.n_localities, len(rows)))
    for i, (center, weight) in enumerate(
        zip(posterior.center, posterior.column_weight, strict=True)
    ):
        for j in np.flatnonzero(weight):
            distance[i] += weight[j] * (rows.coordinates[:, j] - center[j]) ** 2
    return np.sqrt(distance, out=distance)


def _squared_distances(rows: Rows, point: Array) -> Array:
    squared = rows.coordinates @ (-2.0 * point).astype(rows.coordinates.dtype)
    squared += rows.coordinates_norm2
    squared += point @ point
    return np.maximum(squared, 0.0)


def _within(radius: float, inputs: Inputs) -> str:
    plain = np.array_equal(inputs.units.inverse_scale, np.ones(len(inputs.varies)))
    return f"within {radius:.3g} of its center" + ("" if plain else " in standardized units")


GEOMETRIES: dict[str, type[Any]] = {
    one.kind: one for one in (GivenCenters, LearnedBalls, LearnedLocalities)
}


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
