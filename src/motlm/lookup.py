"""Piecewise polynomials of a distance, by which rows look up their memberships.

Membership is a function of one number once a locality's parameters are given. So each locality gets
a `Table`, a piecewise polynomial in the distance, made from a hundred or so exact evaluations; rows
only look things up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from ._typing import Array, Booleans, Integers
from .limits import flush_to_zero

__all__ = ["Place", "Table", "half_distance", "memberships"]


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
    membership is constant to within 1e-11. The edges are whole multiples of one width, so that a
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

    def varies_at(self, distance: Array) -> Booleans:
        """Whether a distance lies between the edges; elsewhere all partials are 0."""
        x = (np.log(distance + self.shift) - self.start) / self.cell
        return np.asarray((x > -0.5) & (x < self.edges[-1]))  # the first may be at 0

    @flush_to_zero
    def look_up(self, coefficients: Array, place: Place) -> Array:
        """Of the piecewise polynomial with these (power, panel) coefficients."""
        result: Array = coefficients[-1][place.panel]
        for power in range(coefficients.shape[0] - 2, -1, -1):
            result *= place.position
            result += coefficients[power][place.panel]
        return result


def memberships(tables: Sequence[Table], distance: Array) -> Array:
    """(n_localities, n_rows): of rows at these distances from each center."""
    found = np.empty(distance.shape)
    for i, table in enumerate(tables):
        found[i] = table.look_up(table.value, table.place(distance[i]))
    return found


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
