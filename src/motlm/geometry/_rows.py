"""Centers that are training rows: real cases, of which a reader can be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln

from .._typing import Array, Booleans, Integers
from ..errors import InputError
from ..frames import has_missing
from ..inputs import Inputs
from ..lookup import Table
from ..membership import theta_tables
from ..metrics import GOWER, Metric
from ..missing import FAR
from ..posterior import Layout, Posterior
from ..rows import Rows
from ._common import (
    CENTER_SCALE,
    Geometry,
    Placed,
    at_row,
    corrected_of,
    distances_of,
    linear_scores,
    placed_at,
)
from ._given import GivenCenters, fit_metric
from ._localities import LearnedLocalities

_TRIED = 12  # rows near a center that it might move to
_NEAREST, _FARTHEST = 0.05, 0.7  # how far away, in radii
_OFFERED = 400  # rows that may be centers in other metrics than the Euclidean, at most
_FEWEST = 48  # and at least, if there are so many
_ENTRIES = 2e7  # distances of all rows from these, at most: 160 MB
_SLOW_ENTRIES = 2e6  # the same of a function, which takes a microsecond or more each
_MIDDLE = 2.0  # median distance between rows while a mixture is searched for, as of two columns
_ROUNDING = 1e-9  # relative, by which two forms of a center in a file may differ
_LEAST_SCALE = 1e-3  # of a center that is let go
_NO_ROWS: Integers = np.empty(0, dtype=np.int64)


def _price_of_rows(n_rows: int, n: int) -> float:
    """ln of the number of ways to choose n of so many rows, of which one may be chosen twice."""
    if not (n_rows and n):
        return 0.0
    return float(gammaln(n_rows + n) - gammaln(n + 1) - gammaln(n_rows))


@dataclass(frozen=True, eq=False)
class RowLocalities(LearnedLocalities):
    """Localities in a few columns each, or in all, around training rows, with widths that are
    learned: membership is theta of sqrt(sum a (x - c)^2). Which rows is a choice of the search.
    """

    n_rows: int = 0  # among which centers are chosen
    # of a fitted one: the centers in the user's units, (n_localities, n_encoded), typical values in
    # columns that are not looked at; and which rows they are, of the table given to fit
    given: Array = field(default_factory=lambda: np.empty((0, 0)))
    row: Integers = field(default_factory=lambda: _NO_ROWS)

    kind: ClassVar[str] = "rows"
    learned: ClassVar[bool] = False
    parameters: ClassVar[tuple[str, ...]] = ("radius_shape", "radius_rate")

    @property
    def free(self) -> tuple[str, ...]:  # type: ignore[override]
        widths = ("column_weight",) if self.widths and self.most != 1 else ()
        return ("radius_shape", "radius_rate", *widths)

    def fit(self, inputs: Inputs, encoded: Array, weight: Array) -> RowLocalities:
        fitted: Any = super().fit(inputs, encoded, weight)
        made: RowLocalities = replace(fitted, n_rows=len(encoded))
        return made

    def price(self, dims: int, n_coordinates: int) -> float:
        return super().price(dims, n_coordinates) + _price_of_rows(self.n_rows, 1)

    def log_choices(self, posterior: Posterior) -> float:
        n, width = posterior.n_localities, posterior.center.shape[1]
        dims = (posterior.column_weight > 0).sum(axis=1)
        columns = sum(LearnedLocalities.price(self, int(one), width) for one in dims)
        return columns + _price_of_rows(self.n_rows, n)

    def tables(self, posterior: Posterior) -> list[Table]:
        return theta_tables(posterior.radius_shape, posterior.radius_rate)

    def place(self, rows: Rows, n: int, rng: np.random.Generator) -> tuple[Placed, Array]:
        placed, distance = super().place(rows, n, rng)
        return placed | {"center_scale": np.zeros(n)}, distance

    def candidate(self, rows: Rows, row: int, radius: float) -> Placed:
        return super().candidate(rows, row, radius) | {"center_scale": np.asarray(0.0)}

    def variants(
        self, posterior: Posterior, rows: Rows, rng: np.random.Generator
    ) -> list[Posterior]:
        """With one of its centers at a row nearby, too."""
        found = [self.adopt(one, rows) for one in super().variants(posterior, rows, rng)]
        for i, (center, weight) in enumerate(
            zip(posterior.center, posterior.column_weight, strict=True)
        ):
            own, radius = np.flatnonzero(weight), float(posterior.radius_mean[i])
            share = np.exp(rng.uniform(np.log(_NEAREST), np.log(_FARTHEST), size=_TRIED))
            way = rng.normal(size=(_TRIED, len(own)))
            way *= (share * radius / np.linalg.norm(way, axis=1))[:, None]
            goals = center[own] + way / np.sqrt(weight[own])
            near = {_nearest(rows.coordinates, goal, weight, own) for goal in goals}
            for row in sorted(near - {_nearest(rows.coordinates, center[own], weight, own)}):
                moved = posterior.center.copy()
                moved[i] = at_row(rows, row)
                found.append(replace(posterior, center=moved))
        return found

    def release(self) -> LearnedLocalities:
        """With free centers."""
        own = {one.name: getattr(self, one.name) for one in fields(LearnedLocalities)}
        return LearnedLocalities(**own)

    def let_go(self, posterior: Posterior) -> Posterior:
        """With centers that may move."""
        scale = np.minimum(CENTER_SCALE, 0.3 * posterior.radius_mean)
        return replace(posterior, center_scale=np.maximum(scale, _LEAST_SCALE))

    def adopt(self, posterior: Posterior, rows: Rows) -> Posterior:
        """With each center at the nearest row."""
        center = posterior.center.copy()
        for i, weight in enumerate(posterior.column_weight):
            own = np.flatnonzero(weight)
            center[i] = at_row(rows, _nearest(rows.coordinates, center[i, own], weight, own))
        return replace(posterior, center=center, center_scale=np.zeros(len(center)))

    def settle(
        self, inputs: Inputs, posterior: Posterior, encoded: Array, places: Integers
    ) -> tuple[Geometry, Posterior]:
        """The fitted one, which knows its rows; of equal ones the first."""
        X = inputs.places(encoded)
        active = posterior.column_weight > 0
        rows = [
            _nearest(X, center[own], weight, np.flatnonzero(own))
            for center, weight, own in zip(
                posterior.center, posterior.column_weight, active, strict=True
            )
        ]
        center = np.where(active, X[rows], 0.0).reshape(posterior.center.shape)
        seen = self._weights_of(inputs, posterior) > 0
        given = np.where(seen, encoded[rows].reshape(seen.shape), inputs.typical)
        made = replace(self, given=given, row=places[rows])
        return made, replace(posterior, center=center)

    def keep(self, kept: Sequence[int]) -> RowLocalities:
        inside = list(kept)
        if not len(self.row):
            return self
        return replace(self, given=self.given[inside], row=self.row[inside])

    @property
    def cases(self) -> tuple[int, ...]:
        return tuple(int(row) for row in self.row)

    def centers(self, inputs: Inputs, posterior: Posterior) -> Array:
        return self.given

    def freeze(self, inputs: Inputs, posterior: Posterior) -> tuple[Geometry, Posterior]:
        points = np.zeros((posterior.n_localities, len(inputs.varies)))
        points[:, inputs.varies] = posterior.center
        given = super().centers(inputs, posterior)
        fixed = GivenCenters(
            given,
            Metric("euclidean"),
            points,
            self.radius,
            weights=self._weights_of(inputs, posterior),
            varies=inputs.varies,
            low=self.low,
            high=self.high,
            whole=self.whole,
        )
        return fixed, posterior.separate()

    def describe(self, inputs: Inputs, posterior: Posterior) -> tuple[str, ...]:
        places = zip(self.row, self.describe_place(inputs, posterior), strict=True)
        return tuple(f"cases like row {row}, {text}" for row, text in places)

    def describe_place(self, inputs: Inputs, posterior: Posterior) -> tuple[str, ...]:
        return super().describe(inputs, posterior)

    def depends_on_rows(self) -> str:
        return ""  # centers are paid for

    def content(self) -> dict[str, Any]:
        return super().content() | {
            "n_rows": self.n_rows,
            "given": self.given,
            "row": self.row.tolist(),
        }

    def misfit(self, inputs: Inputs, posterior: Posterior) -> str:
        seen = self._weights_of(inputs, posterior) > 0
        center = np.where(seen, inputs.standardize(self.given), 0.0)[:, inputs.varies]
        size = (np.abs(self.given) + np.abs(inputs.units.center)) * inputs.units.inverse_scale
        slack = _ROUNDING * (size[:, inputs.varies] + np.abs(center))
        if not (np.abs(center - posterior.center) <= slack).all():
            return "center should be that of the geometry"
        return super().misfit(inputs, posterior)

    @classmethod
    def read(cls, read: Any, inputs: Inputs, n_localities: int) -> RowLocalities:
        plain: Any = super().read(read, inputs, n_localities)
        given = read.array("given", (n_localities, len(inputs.varies)))
        made: RowLocalities = replace(plain, given=given, **_read_rows(read, n_localities))
        return made


@dataclass(frozen=True, eq=False)
class RowCenters(GivenCenters):
    """Centers are training rows, in any metric: membership is theta of the distance.

    While it is searched for, centers are chosen among some rows that are offered. The rows'
    coordinates are then their distances from these, and a locality looks at one such column, with
    its center at 0. Fitted, it is one of given centers, which knows its rows.
    """

    offered: Array = field(default_factory=lambda: np.empty((0, 0)))  # in the user's units
    between: Array = field(default_factory=lambda: np.empty((0, 0)))  # their distances
    unit: float = 1.0  # of distances while it is searched for, in those of the metric
    n_features: int = 0
    n_rows: int = 0  # among which centers are chosen
    row: Integers = field(default_factory=lambda: _NO_ROWS)  # of the table given to fit

    kind: ClassVar[str] = "rows by metric"
    sought: ClassVar[bool] = True

    @property
    def measured(self) -> bool:
        return len(self.offered) > 0

    @property
    def free(self) -> tuple[str, ...]:
        return ("radius_shape", "radius_rate")

    @property
    def pooled(self) -> bool:
        return self.corrections != "none"

    # -- while it is searched for

    def offer(self, X: Array, room: int, before: Any) -> RowCenters:
        """With some of these distinct rows, which come in random order, as centers to choose from;
        they are the last, since the first are held out. The centers of a fitted one are among them.
        """
        entries = _ENTRIES if isinstance(self.metric.name, str) else _SLOW_ENTRIES
        count = max(int(entries / max(len(X), 1)), _FEWEST)
        some = _complete_rows(X)[-max(min(count, _OFFERED), room) :]
        if isinstance(before, RowCenters) and before.given.shape[1:] == X.shape[1:]:
            old = [one for one in before.given if _is_in(one, X) and not _is_in(one, some)]
            some = np.concatenate([some, *(one[None] for one in old)])
        return replace(self, offered=some)

    def fit(self, inputs: Inputs, encoded: Array, weight: Array) -> RowCenters:
        points = inputs.measured(inputs.standardize(self.offered))
        metric = fit_metric(self.metric, inputs, encoded, weight)
        between = metric.distances(points, points)
        apart = between[between > 0]
        unit = float(np.median(apart)) / _MIDDLE if len(apart) else 1.0
        return replace(
            self,
            points=points,
            metric=metric,
            between=between / unit,
            unit=unit,
            n_features=inputs.n_features,
            n_ramps=inputs.n_ramps,
            n_rows=len(encoded),
        )

    def rows(
        self, Z: Array, coordinates: Array, holes: Booleans | None = None
    ) -> tuple[Array, Array | None]:
        if not self.measured:
            return super().rows(Z, coordinates, holes)
        distance = self.metric.distances_by_column(Z, self.points, self.unit)
        if holes is not None:
            distance[holes.any(axis=1)] = FAR
        return distance, None

    def scores_and_distances(self, posterior: Posterior, rows: Rows) -> tuple[Array, Array]:
        if not self.measured:
            return super().scores_and_distances(posterior, rows)
        return linear_scores(posterior, rows.features), distances_of(posterior, rows)

    def screened(self, rows: Rows) -> Rows:
        """With one row more, of no weight, at all centers at once."""
        last = rows.part(slice(0, 1))
        nowhere = np.zeros_like(last.coordinates)
        features, target = np.zeros_like(last.features), last.target
        return Rows.of(
            np.concatenate([rows.features, features]),
            np.concatenate([rows.target, target]),
            np.concatenate([rows.weight, np.zeros_like(last.weight)]),
            coordinates=np.asfortranarray(np.concatenate([rows.coordinates, nowhere])),
        )

    def around(self, rows: Rows, row: Integers) -> Integers:
        """That row, whatever row was drawn: the column tells which center it is."""
        return np.full(len(row), len(rows) - 1, dtype=np.int64)

    def corrected(self, weight: Array) -> Array:
        """All columns."""
        own = np.ones((len(weight), self.n_features - self.n_ramps))
        return corrected_of(own, self.n_features, self.pooled)

    def price(self, dims: int, n_coordinates: int) -> float:
        return _price_of_rows(self.n_rows, 1)

    def log_choices(self, posterior: Posterior) -> float:
        return _price_of_rows(self.n_rows, posterior.n_localities)

    def work(self, n_features: int) -> float:
        own = n_features - self.n_ramps if self.pooled else n_features
        return float((own + 2) ** 2)

    def _pick(self, which: Any) -> Array:
        """Weights of columns of localities around these of the rows that are offered."""
        return np.asarray(np.eye(len(self.offered))[which])

    def draw(self, rows: Rows, count: int, rng: np.random.Generator) -> Array:
        size = len(self.offered)
        return self._pick(rng.choice(size, size=count, replace=count > size))

    def vary(self, weight: Array, rng: np.random.Generator) -> Array:
        """Around another of the nearest."""
        near = np.argsort(self.between[int(weight.argmax())], kind="stable")[1 : _TRIED + 1]
        return self._pick(rng.choice(near)) if len(near) else weight

    def place(self, rows: Rows, n: int, rng: np.random.Generator) -> tuple[Placed, Array]:
        weight = self._pick(rng.choice(len(self.offered), size=n, replace=False))
        placed: Placed = {"center": np.zeros(weight.shape), "center_scale": np.zeros(n)}
        placed["layout"] = Layout(weight, self.corrected(weight), self.pooled)
        return placed, distances_of(placed_at(placed, n), rows)

    def candidate(self, rows: Rows, row: int, radius: float) -> Placed:
        return {"center": np.zeros(len(self.offered)), "center_scale": np.asarray(0.0)}

    def unlike(self, one: Placed, other: Placed, distance: float) -> bool:
        first, second = (int(each["layout"].column_weight[0].argmax()) for each in (one, other))
        return bool(self.between[first, second] > distance)

    def variants(
        self, posterior: Posterior, rows: Rows, rng: np.random.Generator
    ) -> list[Posterior]:
        """The mixture with one of its centers at a row nearby, for some of them."""
        found = []
        for i, weight in enumerate(posterior.column_weight):
            order = np.argsort(self.between[int(weight.argmax())], kind="stable")
            near = order[order != weight.argmax()][:_TRIED]
            for one in self._pick(near):
                moved = posterior.column_weight.copy()
                moved[i] = one
                assert posterior.layout is not None
                layout = replace(posterior.layout, column_weight=moved)
                found.append(replace(posterior, layout=layout))
        return found

    def move(
        self, posterior: Posterior, stretch: Array, shift: Array, mean_stretch: float
    ) -> dict[str, Any]:
        """The same rows are offered, and distances have units of their own."""
        return {"radius_rate": posterior.radius_rate}

    def layout(self, n_coordinates: int, n_features: int) -> Layout | None:
        if not self.measured:
            return super().layout(n_coordinates, n_features)
        return Layout(np.empty((0, n_coordinates)), np.empty((0, n_features)), self.pooled)

    def fits(self, other: Any) -> bool:
        mine, theirs = ((one.corrections, one.metric.text) for one in (self, other))
        return mine == theirs and all(_is_in(one, other.offered) for one in self.given)

    def resume(self, before: Any, posterior: Posterior) -> Posterior:
        """A fitted one's posterior, as it is searched for."""
        which = [int((self.offered == one).all(axis=1).argmax()) for one in before.given]
        weight = self._pick(np.array(which, dtype=np.int64))
        return replace(
            posterior,
            center=np.zeros(weight.shape),
            layout=Layout(weight, self.corrected(weight), self.pooled),
            radius_rate=posterior.radius_rate * before.unit,
        )

    # -- fitted

    def settle(
        self, inputs: Inputs, posterior: Posterior, encoded: Array, places: Integers
    ) -> tuple[Geometry, Posterior]:
        """The fitted one, which knows its rows; of equal ones the first."""
        which = posterior.column_weight.argmax(axis=1)
        given = self.offered[which].reshape(len(which), len(inputs.varies))
        seen = inputs.varies
        rows = [int((encoded[:, seen] == one[seen]).all(axis=1).argmax()) for one in given]
        made = replace(
            self,
            given=given,
            points=inputs.measured(inputs.standardize(given)),
            row=places[rows],
            offered=np.empty((0, 0)),
            between=np.empty((0, 0)),
        )
        layout = made.own_layout(posterior.coef.shape[-1])
        rate = posterior.radius_rate / self.unit
        return made, replace(posterior, center=made.points, radius_rate=rate, layout=layout)

    def keep(self, kept: Sequence[int]) -> RowCenters:
        if self.measured:
            return self
        kept_alone: Any = super().keep(kept)
        made: RowCenters = replace(kept_alone, row=self.row[list(kept)])
        return made

    @property
    def cases(self) -> tuple[int, ...]:
        return tuple(int(row) for row in self.row)

    def freeze(self, inputs: Inputs, posterior: Posterior) -> tuple[Geometry, Posterior]:
        fixed = GivenCenters(self.given, self.metric, self.points, self.radius)
        return fixed, posterior.separate()

    def describe(self, inputs: Inputs, posterior: Posterior) -> tuple[str, ...]:
        return tuple(
            f"cases like row {row} (within {radius:.3g}, {self._measure})"
            for row, radius in zip(self.row, self.radius, strict=True)
        )

    def describe_place(self, inputs: Inputs, posterior: Posterior) -> tuple[str, ...]:
        return tuple(
            f"within {radius:.3g} of a typical case ({self._measure})" for radius in self.radius
        )

    @property
    def _measure(self) -> str:
        """How it is measured, in words."""
        if self.metric.text == GOWER:
            return "Gower's distance"
        if not isinstance(self.metric.name, str):
            return "by a function of two rows"
        return f"{self.metric_name} distance, standardized"

    def content(self) -> dict[str, Any]:
        return super().content() | {
            "n_rows": self.n_rows,
            "unit": self.unit,
            "row": self.row.tolist(),
        }

    @classmethod
    def read(cls, read: Any, inputs: Inputs, n_localities: int) -> RowCenters:
        plain: Any = super().read(read, inputs, n_localities)
        unit = read.number("unit")
        if not 0 < unit < np.inf:
            raise read.fail("unit", "a positive number", unit)
        own = {"unit": unit, "n_features": inputs.n_features, "n_ramps": inputs.n_ramps}
        made: RowCenters = replace(plain, **own, **_read_rows(read, n_localities))
        return made


def _nearest(X: Array, goal: Array, weight: Array, own: Integers) -> int:
    """The row that is nearest to a place in some columns; of equal ones the first."""
    squared = np.zeros(len(X))
    for j, at in zip(own, goal, strict=True):
        squared += weight[j] * (X[:, j] - at) ** 2
    return int(squared.argmin())


def _complete_rows(X: Array) -> Array:
    """Those without missing values, of columns that have any value."""
    if not has_missing(X):
        return X
    holes = np.isnan(X)
    whole = ~(holes & ~holes.all(axis=0)).any(axis=1)
    if not whole.any():
        raise InputError(
            "localities around rows, by a metric, need training rows that have values in all"
            " columns; there are none.",
            "Use metric='euclidean'.",
        )
    return X[whole]


def _is_in(row: Array, X: Array) -> bool:
    return bool((row == X).all(axis=1).any())


def _read_rows(read: Any, n: int) -> dict[str, Any]:
    """Which rows the centers are."""
    n_rows, row = read.integer("n_rows", 0), np.array(read.integers("row", n), dtype=np.int64)
    return {"n_rows": n_rows, "row": row}
