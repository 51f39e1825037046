"""Piecewise polynomials of a distance, by which rows look up their memberships.

Membership is a function of one number once a locality's parameters are given. So each locality gets
a `Table`, a piecewise polynomial in the distance, made from a hundred or so exact evaluations; rows
only look things up, by cubics that the tables are cut into.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from ._typing import Array, Integers
from .limits import flush_to_zero
from .special import powers_from_values

__all__ = ["Lookup", "Panels", "Place", "Table", "half_distance"]

_NODES = 12  # Chebyshev nodes in each panel of a table
# width of a panel, in units of the local length; tuned: value error < 2e-10 over LIMITS
_PANEL = 1.8
_CELLS = 8  # cells in the narrowest panel; the others are rounded to whole cells
_PARTS = 64  # cubics that a panel is cut into for rows to look up


class Place(NamedTuple):
    """Where distances lie in a table: the panel of each, and its position in [-1, 1] there."""

    panel: Integers
    position: Array


@dataclass(frozen=True)
class Table:
    """Membership of one locality as a piecewise polynomial of x = ln(D + shift), exact to about
    1e-10.

    `value` holds the membership, `slope` its derivative with respect to D^2 / 2 (finite at D = 0),
    `parameters` its partials with respect to the locality's own parameters; all as (power, panel)
    coefficients of the position in the panel. Below the first edge and above the last one the
    membership is constant to within 1e-13. The edges are whole multiples of one width, so that a
    panel is found without a search.
    """

    shift: float
    start: float  # x at the first edge
    cell: float  # the width, in x
    edges: Integers  # (panel + 1,), in cells from the start; the first is 0
    value: Array  # (power, panel)
    slope: Array  # (power, panel)
    parameters: Array  # (parameter, power, panel)

    @property
    def reach(self) -> float:
        """The distance of the last edge: nothing lies beyond."""
        return float(np.exp(self.start + self.cell * self.edges[-1]) - self.shift)

    def place(self, distance: Array) -> Place:
        x = (np.log(distance + self.shift) - self.start) / self.cell
        panel = np.searchsorted(self.edges[1:-1], x, side="right")
        left, width = self.edges[:-1][panel], np.diff(self.edges)[panel]
        return Place(panel, np.clip(2.0 * (x - left) / width - 1.0, -1.0, 1.0))

    @flush_to_zero
    def look_up(self, coefficients: Array, place: Place) -> Array:
        """Of the piecewise polynomial with these (power, panel) coefficients."""
        result: Array = coefficients[-1][place.panel]
        for power in range(coefficients.shape[0] - 2, -1, -1):
            result *= place.position
            result += coefficients[power][place.panel]
        return result


_X, _POWERS_FROM_VALUES = powers_from_values(_NODES)


def _cut() -> Array:
    """(power in the part, part, power in the panel): the cubics that a panel's polynomial is cut
    into, each over [0, 1].
    """
    x, powers = powers_from_values(4)
    at = (np.arange(_PARTS)[:, None] + 0.5 * (x + 1.0)) * (
        2.0 / _PARTS
    ) - 1.0  # (part, node), position in the panel
    by_position = np.einsum("jn,pnk->jpk", powers, at[:, :, None] ** np.arange(_NODES + 1))
    from_unit = np.array(
        [
            [1.0, -1.0, 1.0, -1.0],
            [0.0, 2.0, -4.0, 6.0],
            [0.0, 0.0, 4.0, -12.0],
            [0.0, 0.0, 0.0, 8.0],
        ]
    )
    return np.asarray(
        np.einsum("ij,jpk->ipk", from_unit, by_position)
    )  # powers of 2 f - 1 as powers of f


_CUT = _cut()


@dataclass(frozen=True)
class Lookup:
    """The tables of several localities as rows use them: each panel is cut into cubics, all
    localities at once.

    Arrays over rows are (n_localities, n_rows). They are computed in the floating type of the
    distances.
    """

    tables: tuple[Table, ...]
    dtype: Any
    shift: Array  # (n_localities, 1), like start, per_cell and last
    start: Array
    per_cell: Array
    last: Array
    first_cell: Integers  # (n_localities, 1)
    parts_per_cell: Array  # (n_cells,)
    part_at: Array  # (n_cells,), number of the part at which a cell's line passes through 0
    value: Array  # (4, n_parts)
    slope: Array  # (4, n_parts)

    @classmethod
    def of(cls, tables: Sequence[Table], dtype: Any = np.float64) -> Lookup:
        def column(values: list[float]) -> Array:
            return np.array(values, dtype=dtype)[:, None]

        def cubics(coefficients: list[Array]) -> Array:
            return (
                np.tensordot(_CUT, np.hstack(coefficients), axes=1)
                .transpose(0, 2, 1)
                .reshape(4, -1)
                .astype(dtype)
            )

        per_cell, part_at, first_cell = [np.empty(0)], [np.empty(0)], []
        n_cells, n_panels = 0, 0
        for table in tables:
            widths = np.diff(table.edges)
            parts = np.repeat(_PARTS / widths, widths)
            left = np.repeat(table.edges[:-1], widths)
            panel = n_panels + np.repeat(np.arange(len(widths)), widths)
            per_cell.append(parts)
            part_at.append(_PARTS * panel - left * parts)
            first_cell.append(n_cells)
            n_cells, n_panels = n_cells + len(parts), n_panels + len(widths)
        empty = [np.empty((_NODES + 1, 0))]
        return cls(
            tuple(tables),
            dtype,
            column([max(table.shift, float(np.finfo(dtype).tiny)) for table in tables]),
            column([table.start for table in tables]),
            column([1.0 / table.cell for table in tables]),
            column(
                [table.edges[-1] - 0.01 for table in tables]
            ),  # constant there; and rounding stays below the end
            np.array(first_cell, dtype=np.intp)[:, None],
            np.concatenate(per_cell).astype(dtype),
            np.concatenate(part_at).astype(dtype),
            cubics(empty + [table.value for table in tables]),
            cubics(empty + [table.slope for table in tables]),
        )

    def place(self, distance: Array) -> Place:
        """Number of the part in which each distance lies, and its position in [0, 1] there. Writes
        over the distances.
        """
        x = distance
        x += self.shift
        np.log(x, out=x)
        x -= self.start
        x *= self.per_cell
        np.maximum(x, 0.0, out=x)
        np.minimum(x, self.last, out=x)
        cell = x.astype(np.intp)
        cell += self.first_cell
        x *= self.parts_per_cell.take(cell)
        x += self.part_at.take(cell)
        np.copyto(cell, x, casting="unsafe")
        x -= cell
        return Place(cell, x)

    @flush_to_zero
    def look_up(self, cubics: Array, place: Place) -> Array:
        result: Array = cubics[3].take(place.panel)
        for power in (2, 1, 0):
            result *= place.position
            result += cubics[power].take(place.panel)
        return result

    @flush_to_zero
    def moments(self, place: Place, factor: Array) -> Array:
        """(4, n_parts): sums of factor * position^power over the rows in each part. Writes over the
        factors.
        """
        part, n_parts = place.panel.ravel(), self.value.shape[1]
        moments = np.empty((4, n_parts))
        for power in range(4):
            if power:
                factor *= place.position
            moments[power] = np.bincount(part, weights=factor.ravel(), minlength=n_parts)
        return moments

    @flush_to_zero
    def parameter_sums(self, moments: Array) -> Array:
        """(parameter, locality): sum over rows of factor * d membership / d parameter. The
        transpose of a look-up.
        """
        by_panel = np.tensordot(
            _CUT, moments.reshape(4, -1, _PARTS), axes=((0, 1), (0, 2))
        )  # (power, panel)
        sums, first = [], 0
        for table in self.tables:
            last = first + table.value.shape[1]
            sums.append(np.einsum("kij,ij->k", table.parameters, by_panel[:, first:last]))
            first = last
        return np.array(sums).T


_PRIMITIVE = np.vstack(
    [np.zeros((1, _NODES)), _POWERS_FROM_VALUES / np.arange(1, _NODES + 1)[:, None]]
)
_ENDS = np.array([[-1.0], [1.0]]) ** np.arange(_NODES + 1) @ _PRIMITIVE


@dataclass(frozen=True)
class Panels:
    """The panels of the tables of several localities, side by side, and the distances of their
    Chebyshev nodes.
    """

    shift: list[float]  # of each locality, like start and cell
    start: list[float]
    cell: list[float]
    edges: list[Integers]
    ends: Integers  # (n_localities,), number of the panel after the last one of each
    owner: Integers  # (panel,), the locality that each belongs to
    distance: Array  # (node, panel)
    by_position: Array  # (node, panel), d distance / d position

    @classmethod
    def over(cls, low: Array, high: Array, smoothing: Array, shape: Array, rate: Array) -> Panels:
        """Panels from low to high, each about _PANEL times as wide as the length over which
        membership varies there.

        The radius varies over D / sqrt(shape) near a distance D below its mean and over the like of
        its own spread beyond; the center's noise smooths all of that over center_scale. In x = ln(D
        + shift) with shift = center_scale sqrt(shape) the first two are nearly one length.
        """
        shifts, starts, cells, edges = [], [], [], []
        for a, z, e, k, t in zip(
            *(part.tolist() for part in (low, high, smoothing, shape, rate)), strict=True
        ):
            # 0.5: tuned, for the power law near 0 of a small shape
            curl = min(0.5, 1.0 / math.sqrt(k))
            bend = max(k, 1.0) / t
            shift = max(e / curl, 1e-290)
            end = math.log(z + shift)
            walk = [math.log(a + shift)]
            while walk[-1] < end:
                at = math.exp(walk[-1])
                walk.append(
                    walk[-1] + math.log1p(_PANEL * math.hypot(e, curl * min(at - shift, bend)) / at)
                )
            stretch = (end - walk[0]) / (walk[-1] - walk[0])  # so that the last panel ends at high
            cell = (
                stretch * min(after - before for before, after in itertools.pairwise(walk)) / _CELLS
            )
            whole = [round(stretch * (x - walk[0]) / cell) for x in walk]
            shifts.append(shift)
            starts.append(walk[0])
            cells.append((end - walk[0]) / whole[-1])
            edges.append(np.array(whole))
        sizes = [len(one) - 1 for one in edges]
        owner = np.repeat(np.arange(len(sizes)), sizes)
        shift, start, cell = np.array([shifts, starts, cells])[:, owner]
        left = np.concatenate([one[:-1] for one in edges])
        half = 0.5 * cell * (np.concatenate([one[1:] for one in edges]) - left)
        shifted = np.exp(start + cell * left + half * (_X[:, None] + 1.0))
        distance = np.maximum(shifted - shift, 0.0)
        return cls(shifts, starts, cells, edges, np.cumsum(sizes), owner, distance, shifted * half)

    def integrate(self, derivative: Array) -> Array:
        """Coefficients of the integral, from each last edge inwards, of a derivative in D given as
        (node, panel) values.
        """
        by_position = derivative * self.by_position
        primitive = _PRIMITIVE @ by_position  # 0 in the middle of each panel
        at_left, at_right = _ENDS @ by_position
        beyond = np.zeros(len(at_left) + 1)
        np.cumsum((at_right - at_left)[::-1], out=beyond[-2::-1])
        primitive[0] -= beyond[:-1] - beyond[self.ends][self.owner] + at_left
        return np.asarray(primitive)

    def interpolate(self, values: Array) -> Array:
        """Coefficients of the polynomials through (node, panel) values."""
        coefficients = _POWERS_FROM_VALUES @ values
        return np.vstack([coefficients, np.zeros((1, coefficients.shape[1]))])

    def tables(self, value: Array, slope: Array, parameters: Sequence[Array]) -> list[Table]:
        stacked = np.stack(parameters)
        first = [0, *self.ends[:-1].tolist()]
        return [
            Table(shift, start, cell, edges, value[:, a:z], slope[:, a:z], stacked[:, :, a:z])
            for shift, start, cell, edges, a, z in zip(
                self.shift,
                self.start,
                self.cell,
                self.edges,
                first,
                self.ends.tolist(),
                strict=True,
            )
        ]


def half_distance(table: Table) -> float:
    """The distance at which the membership falls through 1/2; 0 where it never reaches 1/2.

    Parameters
    ----------
    table : Table
        Of one locality.

    Returns
    -------
    float

    Examples
    --------
    For shape 1 theta is exp(-rate D), which is 1/2 at ln(2) / rate:

    >>> import numpy as np
    >>> from motlm.lookup import half_distance
    >>> from motlm.membership import theta_tables
    >>> [table] = theta_tables(np.array([1.0]), np.array([0.5]))
    >>> bool(abs(half_distance(table) - np.log(2) / 0.5) < 1e-8)
    True
    """

    def excess(distance: float) -> float:
        return float(table.look_up(table.value, table.place(np.array([distance])))[0]) - 0.5

    if excess(0.0) <= 0.0:
        return 0.0
    return float(brentq(excess, 0.0, table.reach, xtol=1e-12))
