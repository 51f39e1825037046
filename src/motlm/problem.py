"""A problem to search: rows in standardized units, and all that a search needs but lambda."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._typing import Array, Booleans, Integers
from .bends import Bends
from .combinations import Combination
from .errors import InputError
from .geometry import Geometry, radii
from .inputs import Inputs, Reading, kind_of
from .limits import UNSCALED
from .losses import Loss
from .missing import fill_in, find_medians
from .mixture import rows_of
from .objective import Objective, in_passing
from .overlap import contain
from .posterior import Posterior, Prior
from .rows import Rows
from .targets import Target
from .transformed import Transformed
from .units import Units

__all__ = ["NO_ROWS", "Problem", "Recipe", "Table"]

NO_ROWS = Rows.of(np.empty((0, 0)), np.empty(0))
# The order in which the fields of the posterior are packed; others follow.
_ORDER = ("radius_shape", "radius_rate", "coef", "intercept", "intercept_scale", "coef_scale")

_IDLE = 0.01  # largest difference of scores, in standard deviations, that tells nothing
_STRETCH = 1e12  # between the units of some rows and those of all; beyond it nothing is alike


@dataclass(frozen=True)
class Table:
    """Encoded rows of positive weight, in the user's units, and their coded targets."""

    X: Array
    target: Array
    weight: Array
    places: Integers | None = None  # of the rows in the table that was given; None: all, in order
    groups: Integers | None = None  # of which all rows are left out together

    def part(self, rows: Any) -> Table:
        places, groups = (None if one is None else one[rows] for one in (self.places, self.groups))
        return Table(self.X[rows], self.target[rows], self.weight[rows], places, groups)


@dataclass(frozen=True)
class Problem:
    """Rows in standardized units, and all that a search over them needs but lambda."""

    inputs: Inputs
    geometry: Geometry
    target: Target
    rows: Rows
    loss: Loss
    combination: Combination
    prior: Prior
    free: tuple[str, ...]
    signs: Integers | None = None  # (n_features,), that weights must have; 0: any
    struck: Booleans | None = None  # (n_localities + 1, n_features), of terms that are left out
    sharpest: float = np.inf  # shape of a radius

    def objective(self, n_localities: int, inverse_temperature: float) -> Objective:
        prior = self.prior
        if n_localities != prior.n_localities:
            prior = prior.keep(range(n_localities))
        return Objective(
            self.loss,
            self.geometry,
            prior,
            self.rows,
            inverse_temperature,
            combination=self.combination,
            signs=self.signs,
            struck=self.struck,
            sharpest=self.sharpest,
        )

    def rows_of(self, X: Array, target: Array, weight: Array | None = None) -> Rows:
        """These rows in the units of the problem."""
        return rows_of(self.inputs, self.geometry, self.target, X, target, weight)

    def count_rows(self, posterior: Posterior) -> Integers:
        """How many rows each locality contains."""
        radius = radii(self.geometry, posterior)
        count = np.zeros(len(radius), dtype=np.intp)
        for rows in self.rows.blocks(in_passing(posterior.n_localities)):
            _, distance = self.geometry.scores_and_distances(posterior, rows)
            count += contain(distance, radius).sum(axis=1)
        return count

    def idle(self, posterior: Posterior) -> list[int]:
        """Localities whose models have the exterior's scores on all their rows, to a hundredth of
        the standard deviation of these; and those that contain all rows.
        """
        n = posterior.n_localities
        if not n:
            return []
        radius, weight = radii(self.geometry, posterior), self.rows.weight / self.rows.weight.sum()
        largest, around, parts = np.zeros(n), np.ones(n, dtype=bool), []
        for rows in self.rows.blocks(in_passing(n)):
            scores, distance = self.geometry.scores_and_distances(posterior, rows)
            member = contain(distance, radius)
            gap = np.abs(scores[:-1] - scores[-1]).reshape(n, -1, len(rows)).max(axis=1)
            largest = np.maximum(largest, np.where(member, gap, 0.0).max(axis=1))
            around &= member.all(axis=1)
            parts.append(scores[-1])
        everywhere = np.concatenate(parts, axis=-1)
        spread = np.sqrt(((everywhere - everywhere @ weight[:, None]) ** 2 @ weight).max())
        return [int(i) for i in np.flatnonzero((largest <= _IDLE * spread) | around)]

    def keep(self, kept: list[int]) -> Problem:
        """The problem with these localities alone."""
        rows = self.rows
        if rows.distance.shape[1]:
            rows = replace(rows, distance=rows.distance[:, kept])
        geometry, prior = self.geometry.keep(kept), self.prior.keep(kept)
        return replace(self, geometry=geometry, prior=prior, rows=rows)

    def translate(self, posterior: Posterior, inputs: Inputs, target: Target) -> Posterior:
        """A posterior from the units of other inputs and of another target in those of the
        problem.
        """
        varies, new, old = self.inputs.varies, self.inputs.units, inputs.units
        stretch = np.ones(varies.sum())  # of a column that is constant among the rows of either
        both = (new.inverse_scale > 0) & (old.inverse_scale > 0)
        np.divide(
            new.inverse_scale[varies], old.inverse_scale[varies], out=stretch, where=both[varies]
        )
        stretch = np.clip(stretch, 1.0 / _STRETCH, _STRETCH)
        mean_stretch = float(np.exp(np.log(stretch).mean())) if varies.any() else 1.0
        to_target = target.scale / self.target.scale
        shift = (old.center - new.center)[varies] * new.inverse_scale[varies]
        linear, ramps = np.split(posterior.coef, [len(stretch)], axis=-1)
        coef = linear / stretch * to_target
        moved = replace(
            posterior,
            **self.geometry.move(posterior, stretch, shift, mean_stretch),
            coef=np.concatenate([coef, ramps * to_target], axis=-1),
            coef_scale=posterior.coef_scale / mean_stretch * to_target,
            intercept=posterior.intercept * to_target
            + (target.center - self.target.center) / self.target.scale
            - coef @ shift,
            intercept_scale=posterior.intercept_scale * to_target,
        )
        moved = self.geometry.adopt(moved, self.rows)
        if "coef_scale" in self.free:
            return moved
        unit = moved.coef_scale  # the zero-one loss sees ratios only
        return replace(
            moved,
            coef=(moved.coef.T / unit).T,
            coef_scale=np.ones_like(unit),
            intercept=(moved.intercept.T / unit).T,
            intercept_scale=moved.intercept_scale / unit,
        )


def _check_target(codes: Array, target: Target) -> None:
    """Raise where targets, in units that were given, are too large to be squared and summed."""
    largest = float(np.abs((codes - target.center) / target.scale).max(initial=0.0))
    if largest > UNSCALED:
        raise InputError(
            f"y is up to {largest:.3g} times the target_scale of standardize away from its"
            f" target_center; at most {UNSCALED:g} can be fitted.",
            "Take the units from rows like X and y by Units.of_rows.",
        )


@dataclass(frozen=True)
class Recipe:
    """How rows become a problem: the same for all rows of a fit and for some of them."""

    reading: Reading
    geometry: Geometry  # before it was fitted to units
    target: Target  # likewise
    standardize: bool | Units
    varies: Booleans
    typical: Array
    prior: Prior
    combination: Combination
    free_scale: bool  # whether the scale of the weights is searched
    room: int  # most localities
    bends: Bends | None = None
    made: Transformed | None = None
    signs: Integers | None = None  # (n_encoded,), in which columns models must rise or fall
    sharpest: float = np.inf  # shape of a radius

    @property
    def kind(self) -> str:
        """Of the models: "linear", "additive", or by the name of a transformer."""
        return kind_of(self.bends, self.made)

    @property
    def name(self) -> str:
        """The same, and "additive, smooth" where curves are smooth."""
        smooth = self.bends is not None and bool(self.bends.smooth)
        return f"{self.kind}, smooth" if smooth else self.kind

    def problem(self, table: Table) -> Problem:
        units, columns = self.standardize, self.reading.columns
        fill = find_medians(table.X, table.weight, columns.incomplete_numbers, self.typical)
        if not isinstance(units, Units):
            rows = table.X if fill is None else fill_in(table.X, fill)
            units = Units.of(
                rows, table.target, table.weight, units, self.target.scaled, columns.switches
            )
        target = self.target.scale_by(units)
        units.check_slopes(columns.encoded_names, target.scale)
        units = replace(units, target_center=0.0, target_scale=1.0)
        inputs = Inputs(self.reading, units, self.varies, self.typical, self.bends, self.made, fill)
        if isinstance(self.standardize, Units) or not self.standardize:
            inputs.check_reach(table.X, "X", UNSCALED)
            _check_target(table.target, target)
        geometry = self.geometry.fit(inputs, table.X, table.weight)
        prior = geometry.expand(self.prior, self.room, inputs, target.loss.scores)
        problem = Problem(
            inputs,
            geometry,
            target,
            NO_ROWS,
            target.loss,
            self.combination,
            prior,
            self._free(),
            None if self.signs is None else inputs.of_features(self.signs),
            sharpest=self.sharpest,
        )
        return replace(problem, rows=problem.rows_of(table.X, table.target, table.weight))

    def _free(self) -> tuple[str, ...]:
        names = {"coef", "intercept", "intercept_scale", *self.geometry.free}
        if self.free_scale:
            names.add("coef_scale")
        order = [name for name in _ORDER if name in names]
        return (*order, *(name for name in self.geometry.free if name not in order))
