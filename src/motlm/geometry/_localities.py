"""Localities in a few columns each, whose centers and widths are learned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln

from .._typing import Array, Booleans, Integers
from ..errors import InputError
from ..inputs import Inputs
from ..limits import COUNT
from ..lookup import Table
from ..membership import upsilon_tables
from ..metrics import Locus
from ..missing import BEYOND
from ..posterior import Layout, Posterior
from ..regions import Box
from ..rows import Rows
from ._balls import LearnedBalls
from ._common import (
    CORRECTIONS,
    LARGEST_START,
    NONE,
    SMALLEST_START,
    Geometry,
    Placed,
    corrected_of,
    distances_of,
    linear_scores,
    move_localities,
    placed_at,
    put_at_rows,
    radii,
    ranges_of,
    rank,
    reach_of,
    read_ranges,
    weighted_loci,
)

_TRIED = 8  # other columns that a locality might look at
# tuned on training objectives of ten of the paper's sets: share of localities that begin in as many
# columns as they may have; a column that does not matter is left out more easily than one is found
_WIDEST, _WIDEST_OF_FEW = 0.5, 0.8  # the latter where there are no more candidates than that
_COMMON = 0.5  # share of mixtures that are placed with the same columns for all localities
_SHARPEST = 100.0  # shape of the radius with which it does so first


@dataclass(frozen=True, eq=False)
class LearnedLocalities(LearnedBalls):
    """Localities in a few columns each, or in all, with widths of their own: membership is upsilon
    of sqrt(sum a (x - c)^2) over the columns that a locality looks at. Its model may be a
    correction of the exterior.
    """

    most: int = 3  # columns of a locality; 0 for all candidates
    asked: tuple[int, ...] | None = None  # encoded columns that localities may look at; None: all
    low: Array = field(default_factory=lambda: NONE)  # (n_encoded,), least of the rows
    high: Array = field(default_factory=lambda: NONE)  # (n_encoded,)
    # of the columns that vary, those that localities may look at; None for all
    candidates: tuple[int, ...] | None = None
    corrections: str = "own"  # "own": in the locality's columns; "all"; "none": independent models
    widths: bool = True  # whether columns have widths of their own
    n_ramps: int = 0  # features of the models beyond the columns
    # (n_encoded,), the columns that hold whole numbers
    whole: Booleans = field(default_factory=lambda: np.empty(0, dtype=bool))

    kind: ClassVar[str] = "localities"

    @property
    def free(self) -> tuple[str, ...]:  # type: ignore[override]
        widths = ("column_weight",) if self.widths and self.most != 1 else ()
        return ("radius_shape", "radius_rate", "center", "center_scale", *widths)

    def fit(self, inputs: Inputs, encoded: Array, weight: Array) -> LearnedLocalities:
        found, place = self.candidates, np.cumsum(inputs.varies) - 1  # among those that vary
        if self.asked is not None:
            found = tuple(int(place[j]) for j in self.asked if inputs.varies[j])
        made = replace(self, candidates=found, n_ramps=inputs.n_ramps, **ranges_of(encoded))
        if not self.most:
            made.check_complete(inputs, encoded)
        return made

    def check_complete(self, inputs: Inputs, encoded: Array) -> None:
        """Raise where no row has a value in all columns, and so none could be in a locality."""
        holes = inputs.holes(encoded)
        own = np.flatnonzero(inputs.varies)[self.columns(int(inputs.varies.sum()))]
        if holes is not None and holes[:, own].any(axis=1).all():
            raise InputError(
                "no training row has a value in all of the columns that localities look at:"
                f" {', '.join(inputs.names[j] for j in own[:8])}.",
                "Name fewer in locality_columns, or set locality_features to a small number.",
            )

    def looks_at(self, varies: Booleans) -> bool:
        return self.asked is None or bool(varies[list(self.asked)].any())

    def fits(self, other: Any) -> bool:
        mine, theirs = (
            (one.most, one.candidates, one.corrections, one.widths, one.n_ramps)
            for one in (self, other)
        )
        return mine == theirs

    def misfit(self, inputs: Inputs, posterior: Posterior) -> str:
        weight, width = posterior.column_weight, posterior.center.shape[1]
        active, sizes = weight > 0, self.sizes(width)
        strange = np.setdiff1d(np.flatnonzero(active.any(axis=0)), self.columns(width))
        if len(strange):
            return "column_weight should be 0 in columns that localities may not look at"
        if not all(count and count in sizes for count in active.sum(axis=1).tolist()):
            most = f"{sizes[-1]} of them" if self.most and sizes else "all of them"
            return f"column_weight should be positive in {'at most ' * bool(self.most)}{most}"
        if not self.widths and (weight[active] != 1).any():
            return "column_weight should be 0 or 1, as widths are equal"
        if posterior.center[~active].any():
            return "center should be 0 in columns that a locality does not look at"
        layout = posterior.layout
        if layout is None or not np.array_equal(layout.corrected, self.corrected(weight)):
            return f"corrected should be that of corrections = {self.corrections!r}"
        return ""

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
        own = np.ones(weight.shape) if self.corrections != "own" else (weight > 0).astype(float)
        return corrected_of(own, weight.shape[1] + self.n_ramps, self.pooled)

    def price(self, dims: int, n_coordinates: int) -> float:
        """Of which columns, in nats."""
        if not self.most:
            return 0.0
        count = len(self.columns(n_coordinates))
        ways = gammaln(count + 1) - gammaln(dims + 1) - gammaln(count - dims + 1)
        return float(ways + np.log(len(self.sizes(n_coordinates))))

    def work(self, n_features: int) -> float:
        """Products that a candidate's regression takes of each row."""
        own = n_features if self.corrections == "none" else n_features - self.n_ramps
        if self.corrections == "own":
            own = min(self.most or own, own)
        return float((own + 2) ** 2)

    def screened(self, rows: Rows) -> Rows:
        """The rows among which candidates are scored."""
        return rows

    def around(self, rows: Rows, row: Integers) -> Integers:
        """The rows around which candidates lie, of those that were drawn."""
        return row

    def draw(self, rows: Rows, count: int, rng: np.random.Generator) -> Array:
        """Weights of columns of localities to begin with, (count, n_coordinates)."""
        width = rows.coordinates.shape[1]
        columns, sizes = self.columns(width), self.sizes(width)
        size = rng.integers(sizes[0], sizes[-1] + 1, size=count)
        wide = _WIDEST if len(columns) > sizes[-1] else _WIDEST_OF_FEW
        size[rng.random(count) < wide] = sizes[-1]
        places = rng.random((count, len(columns))).argsort(axis=1).argsort(axis=1)
        weight = np.zeros((count, width))
        weight[:, columns] = places < size[:, None]
        return weight

    def place(self, rows: Rows, n: int, rng: np.random.Generator) -> tuple[Placed, Array]:
        placed, _ = super().place(rows, n, rng)
        if rng.random() < _COMMON:
            weight = self.draw(rows, 1, rng).repeat(n, axis=0)
        else:
            weight = self.draw(rows, n, rng)
        placed["center"], weight = put_at_rows(rows, placed["center"], weight, rng)
        placed["layout"] = Layout(weight, self.corrected(weight), self.pooled)
        return placed, distances_of(placed_at(placed, n), rows)

    def vary(self, weight: Array, rng: np.random.Generator) -> Array:
        """With a column less, one more, or another one; or with another width."""
        columns, sizes = self.columns(len(weight)), self.sizes(len(weight))
        found, own, others = weight.copy(), weight.nonzero()[0], columns[weight[columns] == 0]
        ways = ["width"] if self.widths and len(own) > 1 else []
        ways += ["less"] if len(own) - 1 in sizes else []
        ways += ["more"] if len(own) + 1 in sizes and len(others) else []
        ways += ["other"] if len(others) else []
        way = ways[rng.integers(len(ways))] if ways else ""
        if way in ("less", "other"):
            found[own[rng.integers(len(own))]] = 0.0
        if way in ("more", "other"):
            found[others[rng.integers(len(others))]] = 1.0
        if way == "width":
            found[own[rng.integers(len(own))]] *= math.exp(rng.normal())
        inside = found.nonzero()[0]
        found[inside] /= math.exp(np.log(found[inside]).mean())
        return found

    def variants(
        self, posterior: Posterior, rows: Rows, rng: np.random.Generator
    ) -> list[Posterior]:
        """The mixture with one locality that looks at other columns, for some of them."""
        found = []
        member = distances_of(posterior, rows) <= radii(self, posterior)[:, None]
        for i in np.flatnonzero(member.any(axis=1)):
            own = posterior.column_weight[i]
            tried = (self.vary(own, rng) for _ in range(_TRIED))
            others = {tuple(one > 0): one for one in tried}
            others.pop(tuple(own > 0), None)
            found += [
                self._look_at(posterior, int(i), weight, rows, member[i])
                for weight in others.values()
            ]
        return found

    def _look_at(
        self, posterior: Posterior, i: int, weight: Array, rows: Rows, inside: Booleans
    ) -> Posterior:
        """The mixture with locality i in other columns, around the middle of its rows, and about as
        many rows in it.
        """
        layout = posterior.layout
        assert layout is not None
        added = (weight > 0) & (posterior.column_weight[i] == 0)
        middle = _middle(rows.coordinates[inside], rows.weight[inside])
        one = np.where(added, middle, posterior.center[i]) * (weight > 0)
        weights, center = layout.column_weight.copy(), posterior.center.copy()
        weights[i], center[i] = weight, one
        layout = replace(layout, column_weight=weights, corrected=self.corrected(weights))
        moved = replace(posterior, center=center, layout=layout)
        far = rank(distances_of(moved, rows)[i], float(inside.mean()))
        shape, rate = posterior.radius_shape.copy(), posterior.radius_rate.copy()
        shape[i] = min(shape[i], _SHARPEST)
        rate[i] = shape[i] / min(max(far, SMALLEST_START), LARGEST_START)
        coef = posterior.coef.copy()
        if self.pooled:
            coef[i] = np.where(layout.corrected[i] > 0, coef[i], coef[-1])
        return replace(moved, radius_shape=shape, radius_rate=rate, coef=coef)

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
        return linear_scores(posterior, rows.features), distances_of(posterior, rows)

    def unlike(self, one: Placed, other: Placed, distance: float) -> bool:
        first, second = (each["layout"].column_weight[0] for each in (one, other))
        if ((first > 0) != (second > 0)).any():
            return True
        return bool(np.sqrt(first @ (one["center"] - other["center"]) ** 2) > distance)

    def move(
        self, posterior: Posterior, stretch: Array, shift: Array, mean_stretch: float
    ) -> dict[str, Any]:
        moved = move_localities(posterior, stretch, shift)
        if not self.widths:  # they stay equal
            layout = moved["layout"]
            same = (layout.column_weight > 0).astype(float)
            moved["layout"] = replace(layout, column_weight=same)
        return moved

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
        reach = reach_of(inputs, self._weights_of(inputs, posterior))
        return np.where(np.isinf(reach), 0.0, reach) * posterior.center_scale[:, None]

    def half_widths(self, inputs: Inputs, posterior: Posterior) -> Sequence[Array | None]:
        reach = reach_of(inputs, self._weights_of(inputs, posterior))
        return [radius * one for radius, one in zip(self.radius, reach, strict=True)]

    def loci(self, inputs: Inputs, posterior: Posterior) -> tuple[Locus, ...]:
        points = np.zeros((posterior.n_localities, len(inputs.varies)))
        points[:, inputs.varies] = posterior.center
        weights = self._weights_of(inputs, posterior)
        return weighted_loci(inputs, points, weights, self.radius)

    def freeze(self, inputs: Inputs, posterior: Posterior) -> tuple[Geometry, Posterior]:
        fixed, moved = super().freeze(inputs, posterior)
        made: Any = fixed
        weights = self._weights_of(inputs, posterior)
        ranges = {"low": self.low, "high": self.high, "whole": self.whole}
        return replace(made, weights=weights, varies=inputs.varies, **ranges), moved.separate()

    def describe(self, inputs: Inputs, posterior: Posterior) -> tuple[str, ...]:
        return tuple(box.text for box in self.boxes(inputs, posterior))

    def boxes(self, inputs: Inputs, posterior: Posterior) -> list[Box]:
        """As people read them."""
        pairs = zip(
            self.centers(inputs, posterior), self.half_widths(inputs, posterior), strict=True
        )
        return [
            Box(inputs, center, np.asarray(half), self.low, self.high, self.whole)
            for center, half in pairs
        ]

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
            "whole": self.whole,
        }

    @classmethod
    def read(cls, read: Any, inputs: Inputs, n_localities: int) -> LearnedLocalities:
        d = len(inputs.varies)
        asked = None
        if not read.is_null("columns"):
            asked = read.integers("columns", len(read.sequence("columns")))
            none = not asked and d > 0  # a model without columns has none to look at
            if none or max(asked, default=-1) >= d or len(set(asked)) != len(asked):
                raise read.fail("columns", f"different numbers below {d}", asked)
        else:
            read.raw("columns")
        made = cls(
            read.array("radius", (n_localities,)),
            read.integer("most", 0, COUNT),
            asked,
            corrections=read.choice("corrections", CORRECTIONS),
            widths=read.boolean("widths"),
            n_ramps=inputs.n_ramps,
            **read_ranges(read, d),
        )
        place = np.cumsum(inputs.varies) - 1
        if asked is None:
            return made
        return replace(made, candidates=tuple(int(place[j]) for j in asked if inputs.varies[j]))

    def log_choices(self, posterior: Posterior) -> float:
        n_coordinates = posterior.center.shape[1]
        dims = (posterior.column_weight > 0).sum(axis=1)
        return float(sum(self.price(int(one), n_coordinates) for one in dims))


def _middle(coordinates: Array, weight: Array) -> Array:
    """Means of the columns; of values that are not missing, and 0 of none."""
    holes = coordinates >= BEYOND
    if not holes.any():
        return np.asarray(np.average(coordinates, axis=0, weights=weight))
    counted = weight[:, None] * ~holes
    total = counted.sum(axis=0)
    sums = (counted * np.where(holes, 0.0, coordinates)).sum(axis=0)
    return np.asarray(np.divide(sums, total, out=np.zeros(len(total)), where=total > 0))
