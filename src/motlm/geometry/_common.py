"""The interface of a geometry, and what several of them share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol

import numpy as np

from .._typing import Array, Booleans, Integers
from ..frames import has_missing
from ..inputs import Inputs
from ..limits import LARGEST
from ..lookup import Table
from ..membership import half_distances
from ..metrics import Locus
from ..missing import BEYOND
from ..posterior import WEIGHTS, Layout, Posterior, Prior
from ..rows import Rows

OTHERS = ("radius_shape", "radius_rate", "coef", "coef_scale", "intercept", "intercept_scale")
CENTER_SCALE = 0.2  # of a learned center, where a search begins
SMALLEST_START, LARGEST_START = 1e-2, 1e6  # radius of a ball where a search begins
CORRECTIONS = ("own", "all", "none")
NONE: Array = np.empty(0)
Placed = dict[str, Any]  # fields of the posterior that place localities


class Geometry(Protocol):
    """The interface of a geometry."""

    kind: ClassVar[str]  # its name in files
    parameters: ClassVar[tuple[str, ...]]  # fields that a table has partials for, in its order

    @property
    def free(self) -> tuple[str, ...]:
        """Fields of the posterior that are searched."""

    @property
    def learned(self) -> bool:
        """Whether centers are searched, so that rows pull at them."""

    @property
    def sought(self) -> bool:
        """Whether the search finds the centers: learned ones, or rows among others."""

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

    def rows(
        self, Z: Array, coordinates: Array, holes: Booleans | None = None
    ) -> tuple[Array, Array | None]:
        """Coordinates of standardized rows: the columns that vary, which are given, unless a metric
        has others; and the rows' distances where centers are given. `holes`, (n_rows, n_encoded),
        are missing values, for which the coordinates are far away; None: there are none.
        """

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

    def variants(
        self, posterior: Posterior, rows: Rows, rng: np.random.Generator
    ) -> list[Posterior]:
        """The mixture with one locality changed by a step that no descent takes: another column, or
        another row as its center.
        """

    def unlike(self, one: Placed, other: Placed, distance: float) -> bool:
        """Whether two candidates lie further apart than that."""

    def move(
        self, posterior: Posterior, stretch: Array, shift: Array, mean_stretch: float
    ) -> dict[str, Any]:
        """The posterior's fields of the localities in other units."""

    def looks_at(self, varies: Booleans) -> bool:
        """Whether some of the encoded columns that vary are among those that it looks at."""

    def fits(self, other: Geometry) -> bool:
        """Whether a posterior of this one is one of the other, which has the same kind."""

    def layout(self, n_coordinates: int, n_features: int) -> Layout | None:
        """Of no locality; None where all are balls in all columns, with independent models."""

    def keep(self, kept: Sequence[int]) -> Geometry:
        """With these localities alone."""

    def offer(self, X: Array, room: int, before: Geometry | None) -> Geometry:
        """With some of these distinct rows to choose centers from, at least so many; `before` is
        one that was fitted, to go on from.
        """

    def release(self) -> Geometry | None:
        """The same with centers that are not bound to rows, by which a search finds its way; None
        where they are free already, or given.
        """

    def resume(self, before: Geometry, posterior: Posterior) -> Posterior:
        """A posterior of a fitted geometry in the form in which this one is searched for."""

    def adopt(self, posterior: Posterior, rows: Rows) -> Posterior:
        """A posterior that was found with other rows, as one of these."""

    def settle(
        self, inputs: Inputs, posterior: Posterior, encoded: Array, places: Integers
    ) -> tuple[Geometry, Posterior]:
        """What was found, as it is kept; `places` are the numbers of the encoded rows in the table
        that was given.
        """

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

    @property
    def cases(self) -> tuple[int, ...]:
        """Which rows of the table given to fit the centers are, where they are rows."""

    def describe_place(self, inputs: Inputs, posterior: Posterior) -> tuple[str, ...]:
        """The same as `describe` without telling which row a center is."""

    def freeze(self, inputs: Inputs, posterior: Posterior) -> tuple[Geometry, Posterior]:
        """The same localities with their centers fixed where they are."""

    def depends_on_rows(self) -> str:
        """What of it was taken from the training rows beyond the posterior, in words; "" for
        nothing. A certificate in-sample needs nothing.
        """

    def log_choices(self, posterior: Posterior) -> float:
        """The price, in nats, of discrete choices that the posterior's KL does not pay for."""

    def misfit(self, inputs: Inputs, posterior: Posterior) -> str:
        """What cannot be in a posterior of this geometry, in words; "" for nothing."""

    def content(self) -> dict[str, Any]:
        """All that distances depend on, as plain values and arrays."""

    @classmethod
    def read(cls, read: Any, inputs: Inputs, n_localities: int) -> Geometry:
        """From what `content` gave, by the reader of a file."""


class Unbound:
    """What all geometries share whose centers are not bound to rows: derive from it."""

    sought: ClassVar[bool] = False

    def offer(self, X: Array, room: int, before: Any) -> Any:
        return self

    def release(self) -> Any:
        return None

    def variants(
        self, posterior: Posterior, rows: Rows, rng: np.random.Generator
    ) -> list[Posterior]:
        return []

    def resume(self, before: Any, posterior: Posterior) -> Posterior:
        return posterior

    def adopt(self, posterior: Posterior, rows: Rows) -> Posterior:
        return posterior

    def settle(
        self, inputs: Inputs, posterior: Posterior, encoded: Array, places: Integers
    ) -> tuple[Any, Posterior]:
        return self, posterior

    @property
    def cases(self) -> tuple[int, ...]:
        return ()

    def describe(self, inputs: Inputs, posterior: Posterior) -> tuple[str, ...]:
        raise NotImplementedError

    def describe_place(self, inputs: Inputs, posterior: Posterior) -> tuple[str, ...]:
        return self.describe(inputs, posterior)


def read_ranges(read: Any, n_encoded: int) -> dict[str, Any]:
    """Of the training rows, from a file: `low`, `high`, and which columns are `whole` numbers."""
    found = {name: read.array(name, (n_encoded,)) for name in ("low", "high")}
    for name, value in found.items():
        if not (np.abs(value) <= LARGEST).all():
            raise read.fail(name, f"numbers within {LARGEST:g}", value.tolist())
    if not (found["low"] <= found["high"]).all():
        raise read.fail("low", "at most high", found["low"].tolist())
    return {**found, "whole": read.booleans("whole", n_encoded)}


def ranges_of(encoded: Array) -> dict[str, Any]:
    """Of rows: least and largest number of each column, and which hold whole numbers alone; a
    missing value is none, and a column without values has 0 for both.
    """
    if not has_missing(encoded):
        whole = (encoded == np.rint(encoded)).all(axis=0)
        low, high = encoded.min(axis=0), encoded.max(axis=0)
    else:
        holes = np.isnan(encoded)
        low, high = np.fmin.reduce(encoded, axis=0), np.fmax.reduce(encoded, axis=0)
        low, high = np.nan_to_num(low, nan=0.0), np.nan_to_num(high, nan=0.0)
        whole = (holes | (encoded == np.rint(encoded))).all(axis=0)
    return {"low": low.astype(float), "high": high.astype(float), "whole": whole}


def radii(geometry: Geometry, posterior: Posterior) -> Array:
    """Distance at which each membership is 1/2; 0 where it never is."""
    dims = (posterior.column_weight > 0).sum(axis=1) if geometry.learned else None
    return half_distances(
        dims, posterior.center_scale, posterior.radius_shape, posterior.radius_rate
    )


def rank(values: Array, share: float) -> float:
    """The value that this share of all values does not exceed; those of rows that lack a value are
    left out.
    """
    near = values < BEYOND
    if near.any() and not near.all():
        values = values[near]
    place = min(max(int(np.ceil(share * len(values))) - 1, 0), len(values) - 1)
    return float(np.partition(values, place)[place])


def linear_scores(posterior: Posterior, features: Array) -> Array:
    """Of each model, (n_localities + 1, n_rows); of several classes (.., n_classes, n_rows)."""
    intercept, d = posterior.intercept, features.shape[1]
    products = posterior.coef.reshape(intercept.size, d) @ features.T
    return products.reshape(*intercept.shape, len(features)) + intercept[..., None]


def expand(prior: Prior, n_localities: int, inputs: Inputs, scores: tuple[int, ...]) -> Prior:
    """For localities and models that look at all columns that vary."""
    varies = inputs.varies
    prior = prior.expand(n_localities, len(varies), scores)
    center, coef = np.asarray(prior.center), np.asarray(prior.coef)[..., varies]
    ramps = np.zeros((*coef.shape[:-1], inputs.n_features - coef.shape[-1]))
    coef = np.concatenate([coef, ramps], axis=-1)
    return replace(prior, center=center[:, varies], coef=coef)


def corrected_of(own: Array, n_features: int, pooled: bool) -> Array:
    """(n_localities, n_features): of these columns; corrections are straight, and models that
    correct nothing bend like the exterior.
    """
    ramps = np.full((len(own), n_features - own.shape[1]), float(not pooled))
    return np.concatenate([own, ramps], axis=1)


def widths_of(inputs: Inputs) -> Array:
    """The user's units of one standardized one; a locality has no end along an ignored column."""
    width = np.full(len(inputs.varies), np.inf)
    width[inputs.counted] = 1.0 / inputs.units.inverse_scale[inputs.counted]
    return width


def reach_of(inputs: Inputs, weights: Array) -> Array:
    """(n_localities, n_encoded): the user's units of a distance of 1; infinite along a column that
    a locality does not look at.
    """
    scale = np.sqrt(np.where(weights > 0, weights, 1.0))
    return np.asarray(np.where(weights > 0, widths_of(inputs) / scale, np.inf))


def weighted_loci(inputs: Inputs, points: Array, weights: Array, radii: Array) -> tuple[Locus, ...]:
    """Of standardized points and weights of the encoded columns."""
    made = []
    for point, weight, radius in zip(points, weights, radii, strict=True):
        own = np.flatnonzero((weight > 0) & inputs.counted)
        made.append(Locus("euclidean", own, point[own], float(radius), weight[own]))
    return tuple(made)


def move_localities(posterior: Posterior, stretch: Array, shift: Array) -> dict[str, Any]:
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
        "layout": replace(layout, column_weight=balance(np.clip(weight, *WEIGHTS) * active)),
    }


def balance(weights: Array) -> Array:
    """With a geometric mean of 1 of the weights of each locality that are not 0."""
    active = weights > 0
    logs = np.log(np.where(active, weights, 1.0)).sum(axis=1)
    return np.asarray(weights / np.exp(logs / np.maximum(active.sum(axis=1), 1))[:, None])


def placed_at(placed: Placed, n: int) -> Posterior:
    """A posterior of localities at these places, with anything for the rest."""
    made: dict[str, Any] = {**placed, **dict.fromkeys(OTHERS, np.ones(n))}
    return Posterior(**made)


def distances_of(posterior: Posterior, rows: Rows) -> Array:
    """(n_localities, n_rows), by the weights of the columns."""
    distance = np.zeros((posterior.n_localities, len(rows)))
    columns = rows.coordinates.T
    for j, weight in enumerate(posterior.column_weight.T):
        seen = np.flatnonzero(weight)
        if len(seen):
            gap = columns[j] - posterior.center[seen, j, None]
            gap *= gap
            gap *= weight[seen, None]
            if len(seen) == len(weight):
                distance += gap
            else:
                distance[seen] += gap
    return np.sqrt(distance, out=distance)


def at_row(rows: Rows, row: int) -> Array:
    """A center where a row lies; 0 in columns that are missing, which it does not look at."""
    center: Array = rows.coordinates[row].astype(float)
    center[center >= BEYOND] = 0.0
    return center


def put_at_rows(
    rows: Rows, center: Array, weight: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Centers that are rows, and the weights of their columns, for rows that may lack values:
    around another row where one lacks a value that is looked at, or in one column where no row has
    all of them. 0 in columns that are not looked at, if they are missing.
    """
    if not len(center) or center.max() < BEYOND:
        return center, weight
    center, weight = center.copy(), weight.copy()
    for i in np.flatnonzero(((center >= BEYOND) & (weight > 0)).any(axis=1)):
        row, weight[i] = another_row(rows.coordinates, weight[i], rng)
        center[i] = rows.coordinates[row]
    center[center >= BEYOND] = 0.0
    return center, weight


def another_row(coordinates: Array, weight: Array, rng: np.random.Generator) -> tuple[int, Array]:
    """A row that has all values that are looked at, and the weights of the columns; of one column
    alone where there is none.
    """
    own = np.flatnonzero(weight)
    whole = np.flatnonzero((coordinates[:, own] < BEYOND).all(axis=1))
    if not len(whole):
        own = own[[int(rng.integers(len(own)))]]
        weight = np.zeros(len(weight))
        weight[own] = 1.0
        whole = np.flatnonzero(coordinates[:, own[0]] < BEYOND)
    return int(rng.choice(whole)) if len(whole) else 0, weight


def within(radius: float, inputs: Inputs) -> str:
    plain = np.array_equal(inputs.units.inverse_scale, np.ones(len(inputs.varies)))
    return f"within {radius:.3g} of its center" + ("" if plain else " in standardized units")
