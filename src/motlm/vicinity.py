"""P(row in locality) as a function of its distance to the center, with partials.

A locality is a ball of random radius, beta ~ Gamma(shape, rate), around a center. With a known
center::

    theta(D)   = P(beta >= D),

the survival function of the radius; with a center c ~ N(c0, center_scale^2 I) whose mean is at
distance D from the row::

    upsilon(D) = P(|u| <= beta),    u ~ N(D e_1, center_scale^2 I_d).

Both are functions of one number once the locality's parameters are given. So each locality gets a
`Table`, a piecewise polynomial in the distance, made from a hundred or so exact evaluations; rows
only look things up.

How upsilon is computed. Let g be the density of the radius, f(r) that of r = norm(u), and A =
I_{d/2} / I_{d/2-1} at z = D r / center_scale^2. Then every partial is a single integral of the
positive weight g f, which is log-concave::

    d/dD           = - int g f A                      (the flux through the sphere)
    rate   d/drate = - int g f r
    eps    d/deps  =   int g f (D A - r)              or, far from the center,  - eps^2 int g f (k +
    d - 2 - rate r) / r d^2/dD dk      = - int g f A (ln(rate r) - psi(k))

The trapezoidal rule in ln r converges exponentially for these (the integrand is analytic and
vanishes at both ends), with the nodes laid around the mode. The value and its partial in the shape
k are then integrals over D, from infinity inwards: no incomplete gamma function, nor its derivative
in the shape, and no non-central chi-square law enters.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtr, chndtr, gammaincc, gammainccinv, gammaincinv, gammaln, psi, xlogy
from scipy.stats import gamma as gamma_law
from scipy.stats import qmc

from ._typing import Array, ArrayLike, Booleans, Integers
from .special import log_bessel_and_ratio, powers_from_values

__all__ = [
    "LIMITS",
    "Lookup",
    "Place",
    "Table",
    "ThetaPartials",
    "UpsilonPartials",
    "half_distance",
    "theta",
    "theta_and_partials",
    "theta_tables",
    "upsilon",
    "upsilon_and_partials",
    "upsilon_qmc",
    "upsilon_tables",
]

LIMITS = {"center_scale": (1e-3, 2.0), "radius_shape": (0.5, 1e5), "radius_rate": (0.05, 1e6)}
"""The range over which the accuracy is checked against reference values. Since upsilon depends on (rate D, rate center_scale,
shape, n_features) only, nothing changes with the unit of distance; the search lets the rate go further."""

_NEGLIGIBLE = 1e-13  # probability left out at each end of a table
_NODES = 12  # Chebyshev nodes in each panel of a table
_PANEL = (
    1.8  # width of a panel, in units of the local length; tuned: value error < 2e-10 over LIMITS
)
_CELLS = 8  # cells in the narrowest panel; the others are rounded to whole cells
_PARTS = 64  # cubics that a panel is cut into for rows to look up
_DROP = 35.0  # the trapezoidal sum is cut where its terms are exp(-35) of the largest
_REACH = math.sqrt(2.0 * _DROP)  # end of the sum, in standard widths of a Gaussian
_FEW = 36  # most sums have fewer terms than this; the others are taken apart from them
_FAR = (
    20.0  # beyond this many center_scales from the center the second form of d/deps loses no digits
)


class ThetaPartials(NamedTuple):
    """theta and its partial derivatives, each an array of the shape of the (broadcast) arguments."""

    value: Array
    distance: Array
    shape: Array
    rate: Array


class UpsilonPartials(NamedTuple):
    """upsilon and its partial derivatives, each an array of the shape of the (broadcast) arguments."""

    value: Array
    distance: Array
    center_scale: Array
    shape: Array
    rate: Array


# ---------------------------------------------------------------------------------------------------------------------
# Tables


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

    def look_up(self, coefficients: Array, place: Place) -> Array:
        """Value at the places of the piecewise polynomial with these (power, panel) coefficients."""
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

    def look_up(self, cubics: Array, place: Place) -> Array:
        result: Array = cubics[3].take(place.panel)
        for power in (2, 1, 0):
            result *= place.position
            result += cubics[power].take(place.panel)
        return result

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


def _padded(coefficients: Array) -> Array:
    return np.vstack([coefficients, np.zeros((1, coefficients.shape[1]))])


_PRIMITIVE = np.vstack(
    [np.zeros((1, _NODES)), _POWERS_FROM_VALUES / np.arange(1, _NODES + 1)[:, None]]
)
_ENDS = np.array([[-1.0], [1.0]]) ** np.arange(_NODES + 1) @ _PRIMITIVE


@dataclass(frozen=True)
class _Panels:
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
    def over(cls, low: Array, high: Array, smoothing: Array, shape: Array, rate: Array) -> _Panels:
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
            curl = min(
                0.5, 1.0 / math.sqrt(k)
            )  # 0.5: tuned, for the power law near 0 of a small shape
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

    def integrated(self, derivative: Array) -> Array:
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


def theta_tables(shape: Array, rate: Array) -> list[Table]:
    """Tables of theta; their parameters are (shape, rate). The slope with respect to D^2 / 2 is not
    kept: known centers stay.
    """
    if len(shape) == 0:
        return []
    low = np.maximum(gammaincinv(shape, _NEGLIGIBLE) / rate, 1e-290)
    high = gammainccinv(shape, _NEGLIGIBLE) / rate
    panels = _Panels.over(low, high, np.zeros_like(shape), shape, rate)
    k, t = shape[panels.owner], rate[panels.owner]
    distance = panels.distance
    log_scaled = np.log(t * distance)
    density = np.exp(k * log_scaled - t * distance - gammaln(k)) / distance
    value = panels.integrated(-density)
    by_shape = panels.integrated(-density * (log_scaled - psi(k)))
    by_rate = _padded(_POWERS_FROM_VALUES @ (-density * distance / t))
    return panels.tables(value, np.zeros_like(value), [by_shape, by_rate])


def upsilon_tables(n_features: int, center_scale: Array, shape: Array, rate: Array) -> list[Table]:
    """Tables of upsilon; their parameters are (center_scale, shape, rate)."""
    if len(shape) == 0:
        return []
    # |u| exceeds sqrt(D^2 + d eps^2) + t eps with probability at most exp(-t^2 / 2), since the norm
    # is 1-Lipschitz
    surely = np.maximum(
        gammaincinv(shape, _NEGLIGIBLE) / rate
        - math.sqrt(-2.0 * math.log(_NEGLIGIBLE)) * center_scale,
        0.0,
    )
    low = np.sqrt(np.maximum(surely**2 - n_features * center_scale**2, 0.0))
    high = gammainccinv(shape, _NEGLIGIBLE) / rate + 8.0 * center_scale
    panels = _Panels.over(low, high, center_scale, shape, rate)
    like = panels.distance.shape
    owner = np.broadcast_to(panels.owner, like).ravel()
    laws = (part[owner] for part in (center_scale, shape, rate))
    flux = _fluxes(panels.distance.ravel(), n_features, *laws)
    slope, by_scale, by_rate, mixed = (part.reshape(like) for part in flux)
    value = panels.integrated(slope * panels.distance)
    by_shape = panels.integrated(mixed)
    slope, by_scale, by_rate = (
        _padded(_POWERS_FROM_VALUES @ part) for part in (slope, by_scale, by_rate)
    )
    return panels.tables(value, slope, [by_scale, by_shape, by_rate])


def _fluxes(
    distance: Array, n_features: int, center_scale: Array, shape: Array, rate: Array
) -> tuple[Array, ...]:
    """(dU/dD) / D, dU/deps, dU/drate and d^2U/dD dk at each distance, by the integrals at the head
    of this module.
    """
    d, eps, k = n_features, center_scale, shape
    b = 0.5 * d  # z A ~ sqrt(b^2 + z^2) - b places the nodes; the sums themselves use the exact A
    power = k + (d - 1.0)
    per_eps2 = 1.0 / (eps * eps)
    D = distance * per_eps2

    def slopes(r: Array) -> tuple[Array, Array]:
        """First and second derivative of the logarithm of the weight, in ln r."""
        z = D * r
        root = np.sqrt(b * b + z * z)
        linear, square = rate * r, per_eps2 * r * r
        return power - b - linear - square + root, np.minimum(
            z * z / root - linear - 2.0 * square, -1e-300
        )

    def log_weight(r: Array, log_r: Array) -> Array:
        z = D * r
        root = np.sqrt(b * b + z * z)
        away = (r - distance) / eps
        return np.asarray(
            power * log_r - rate * r - 0.5 * away * away + (root - z) - b * np.log(b + root)
        )

    shift = distance - rate * eps * eps
    spread = 4.0 * eps * eps * (k + 0.5 * (d - 1.0))
    root = np.sqrt(shift * shift + spread)
    mode = np.where(shift > 0, 0.5 * (shift + root), 0.5 * spread / (root - shift))
    for _ in range(2):  # near it is enough: the sum reaches far on both sides
        first, second = slopes(mode)
        mode = mode * np.exp(np.clip(-first / second, -1.0, 1.0))
    width = 1.0 / np.sqrt(-slopes(mode)[1])
    log_mode = np.log(mode)
    peak = log_weight(mode, log_mode)
    right = _REACH * width  # the logarithm falls faster than a parabola there
    left = right
    # and slower here. It is concave, so that after one step of Newton's method left is too far,
    # never too near
    for _ in range(2):
        log_r = log_mode - left
        r = np.exp(log_r)
        left = left - (peak - log_weight(r, log_r) - _DROP) / np.maximum(slopes(r)[0], 1e-3)
        left = np.clip(left, right, 300.0)

    step = np.minimum(0.72 * width, 0.15)  # tuned with _DROP for a relative error of about 1e-13
    n_nodes = np.ceil((left + right) / step)
    constant = k * np.log(rate) - gammaln(k) - d * np.log(eps)
    few = n_nodes <= _FEW
    sums = np.empty((5, len(distance)))
    for group in (few, ~few):
        if group.any():
            chosen = slice(None) if group.all() else np.flatnonzero(group)
            most = int(n_nodes[chosen].max())
            arguments = (
                part[chosen]
                for part in (
                    distance,
                    D,
                    eps,
                    power,
                    rate,
                    log_mode - left,
                    (left + right) / most,
                    constant,
                )
            )
            sums[:, chosen] = _trapezoidal(0.5 * d - 1.0, most, *arguments)
    through, outward, inward, weight, logarithmic = sums
    mixed = through * (psi(k) - np.log(rate)) - logarithmic
    slope = -np.divide(through, distance, out=outward / d * per_eps2, where=distance > 0)
    near = (distance * through - outward) / eps
    far = -eps * ((power - 1.0) * inward - rate * weight)
    return slope, np.where(distance > _FAR * eps, far, near), -outward / rate, mixed


def _trapezoidal(
    order: float,
    n_nodes: int,
    distance: Array,
    per_r: Array,
    eps: Array,
    power: Array,
    rate: Array,
    begin: Array,
    step: Array,
    constant: Array,
) -> tuple[Array, ...]:
    """Sums of A, r, 1 / r, 1 and A ln r, times the weight, over equal steps of ln r; one for each
    distance.
    """
    log_r = step[:, None] * np.arange(n_nodes)
    log_r += (begin + 0.5 * step)[:, None]
    r = np.exp(log_r)
    log_weights, ratio = log_bessel_and_ratio(order, per_r[:, None] * r)
    scratch = power[:, None] * log_r
    log_weights += scratch
    np.multiply(rate[:, None], r, out=scratch)
    log_weights -= scratch
    np.subtract(r, distance[:, None], out=scratch)
    scratch *= (math.sqrt(0.5) / eps)[:, None]
    scratch *= scratch
    log_weights -= scratch
    log_weights += (np.log(step) + constant)[:, None]
    weight = np.exp(log_weights, out=log_weights)
    flux = np.multiply(weight, ratio, out=ratio)
    return (
        flux.sum(axis=1),
        np.einsum("ij,ij->i", weight, r),
        np.divide(weight, r, out=scratch).sum(axis=1),
        weight.sum(axis=1),
        np.einsum("ij,ij->i", flux, log_r),
    )


# ---------------------------------------------------------------------------------------------------------------------
# Functions of distance


def _positive(**parameters: Array) -> None:
    for name, value in parameters.items():
        if not (np.all(np.isfinite(value)) and np.all(value > 0)):
            raise ValueError(f"{name} must be finite and positive; got {value}.")


def _distances(distance: ArrayLike) -> Array:
    distance = np.asarray(distance, dtype=float)
    if not np.all(distance >= 0):
        raise ValueError(
            f"distance must be non-negative and not nan; the smallest is {np.min(distance)}."
        )
    return distance


def theta(distance: ArrayLike, shape: ArrayLike, rate: ArrayLike) -> Array:
    """P(radius >= distance) for radius ~ Gamma(shape, rate); arguments broadcast.

    Parameters
    ----------
    distance : float or array, at least 0
    shape, rate : float or array, above 0

    Returns
    -------
    ndarray

    Examples
    --------
    >>> round(float(theta(2.0, 1.0, 0.5)), 12)  # exp(-1)
    0.367879441171
    """
    D, k, t = np.broadcast_arrays(
        _distances(distance), np.asarray(shape, float), np.asarray(rate, float)
    )
    _positive(shape=k, rate=t)
    return np.asarray(gammaincc(k, t * D))


def theta_and_partials(distance: ArrayLike, shape: ArrayLike, rate: ArrayLike) -> ThetaPartials:
    """theta and its partials with respect to distance, shape and rate; arguments broadcast.

    At distance 0 the partial in distance is minus the density of the radius: -inf for shape < 1.

    Parameters
    ----------
    distance : float or array, at least 0
    shape, rate : float or array, above 0

    Returns
    -------
    ThetaPartials
        With `value`, `distance`, `shape` and `rate`.

    Examples
    --------
    For shape 1 theta is exp(-rate D), with partials -rate exp(-rate D) and -D exp(-rate D):

    >>> from motlm.vicinity import theta_and_partials
    >>> partials = theta_and_partials(2.0, 1.0, 0.5)
    >>> round(float(partials.value), 6), round(float(partials.distance), 6), round(float(partials.rate), 6)
    (0.367879, -0.18394, -0.735759)
    """
    D, k, t = np.broadcast_arrays(
        _distances(distance), np.asarray(shape, float), np.asarray(rate, float)
    )
    _positive(shape=k, rate=t)
    with np.errstate(divide="ignore"):
        density = np.exp(np.log(t) + xlogy(k - 1.0, t * D) - t * D - gammaln(k))
    by_shape = np.empty(D.shape)
    for one, where in _groups(k, t):
        [table] = theta_tables(*(np.array([value]) for value in one))
        by_shape[where] = table.look_up(table.parameters[0], table.place(D[where]))
    with np.errstate(invalid="ignore"):
        by_rate = np.where(D > 0, -density * D / t, 0.0)
    return ThetaPartials(np.asarray(gammaincc(k, t * D)), -density, by_shape, by_rate)


def upsilon(
    distance: ArrayLike, n_features: int, center_scale: ArrayLike, shape: ArrayLike, rate: ArrayLike
) -> Array:
    """P(row in ball) when the center is N(c0, center_scale^2 I) in n_features dimensions, at this
    distance from c0.

    Arguments other than n_features broadcast. Absolute error below 1e-9 over `LIMITS` and distances
    0 to 50.

    Parameters
    ----------
    distance : float or array, at least 0
    n_features : int
    center_scale, shape, rate : float or array, above 0

    Returns
    -------
    ndarray

    Examples
    --------
    >>> round(float(upsilon(1.0, 2, 0.1, 30.0, 20.0)), 9)
    0.965462776
    """
    return upsilon_and_partials(distance, n_features, center_scale, shape, rate).value


def upsilon_and_partials(
    distance: ArrayLike, n_features: int, center_scale: ArrayLike, shape: ArrayLike, rate: ArrayLike
) -> UpsilonPartials:
    """upsilon and its partials with respect to distance, center_scale, shape and rate; arguments
    other than n_features broadcast.

    The partials' error is below 1e-7 of their largest size over distance.

    Parameters
    ----------
    distance : float or array, at least 0
    n_features : int
    center_scale, shape, rate : float or array, above 0

    Returns
    -------
    UpsilonPartials
        With `value`, `distance`, `center_scale`, `shape` and `rate`.

    Examples
    --------
    The partials are the slopes of the value:

    >>> from motlm.vicinity import upsilon, upsilon_and_partials
    >>> step = 1e-3
    >>> partials = upsilon_and_partials(1.3, 2, 0.1, 30.0, 20.0)
    >>> slope = (upsilon(1.3 + step, 2, 0.1, 30.0, 20.0) - upsilon(1.3 - step, 2, 0.1, 30.0, 20.0)) / (2 * step)
    >>> bool(abs(partials.distance - slope) < 1e-4 < abs(slope))
    True
    """
    if n_features < 1:
        raise ValueError(f"n_features must be at least 1; got {n_features}.")
    D, e, k, t = np.broadcast_arrays(
        _distances(distance),
        np.asarray(center_scale, float),
        np.asarray(shape, float),
        np.asarray(rate, float),
    )
    _positive(center_scale=e, shape=k, rate=t)
    value, by_distance, by_scale, by_shape, by_rate = (np.empty(D.shape) for _ in range(5))
    for one, where in _groups(e, k, t):
        [table] = upsilon_tables(n_features, *(np.array([value]) for value in one))
        place = table.place(D[where])
        value[where] = table.look_up(table.value, place)
        by_distance[where] = table.look_up(table.slope, place) * D[where]
        for result, coefficients in zip(
            (by_scale, by_shape, by_rate), table.parameters, strict=True
        ):
            result[where] = table.look_up(coefficients, place)
    return UpsilonPartials(value, by_distance, by_scale, by_shape, by_rate)


def _groups(*parameters: Array) -> list[tuple[tuple[float, ...], Booleans]]:
    """The distinct parameter combinations, and a mask of where each occurs."""
    flat = np.stack([parameter.ravel() for parameter in parameters], axis=1)
    distinct, inverse = np.unique(flat, axis=0, return_inverse=True)
    inverse = inverse.reshape(parameters[0].shape)
    return [(tuple(map(float, one)), inverse == i) for i, one in enumerate(distinct)]


def upsilon_qmc(
    distance: ArrayLike,
    n_features: int,
    center_scale: float,
    shape: float,
    rate: float,
    n_radii: int = 60,
    seed: int | None = None,
) -> Array:
    """The paper's approximation of upsilon: the mean of the non-central chi-square law over
    quasi-random radii.

    For the paper's appendix and for comparison only; motlm itself uses `upsilon`. With a seed the
    Halton sequence is scrambled, which gives the spread that the appendix shows.

    Parameters
    ----------
    distance : float or array, at least 0
    n_features : int
    center_scale, shape, rate : float, above 0
    n_radii : int, default=60
        Radii whose mean is taken.
    seed : int or None, default=None
        Of the scrambling; None does not scramble.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> from motlm.vicinity import upsilon, upsilon_qmc
    >>> exact, approximate = upsilon(1.3, 2, 0.1, 30.0, 20.0), upsilon_qmc(1.3, 2, 0.1, 30.0, 20.0)
    >>> bool(1e-9 < abs(exact - approximate) < 0.02)
    True
    """
    halton = qmc.Halton(d=1, scramble=seed is not None, rng=seed)
    points = halton.random(n_radii + 1)[1:, 0] if seed is None else halton.random(n_radii)[:, 0]
    radius = gamma_law.ppf(points, shape, scale=1.0 / rate)
    D = _distances(distance)
    noncentral = (D[..., None] / center_scale) ** 2
    x = np.broadcast_to((radius / center_scale) ** 2, noncentral.shape[:-1] + radius.shape)
    law = np.where(
        noncentral > 0, chndtr(x, n_features, np.maximum(noncentral, 1e-300)), chdtr(n_features, x)
    )
    return np.asarray(law.mean(axis=-1))


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
    >>> from motlm.vicinity import half_distance, theta_tables
    >>> [table] = theta_tables(np.array([1.0]), np.array([0.5]))
    >>> bool(abs(half_distance(table) - np.log(2) / 0.5) < 1e-8)
    True
    """

    def excess(distance: float) -> float:
        return float(table.look_up(table.value, table.place(np.array([distance])))[0]) - 0.5

    if excess(0.0) <= 0.0:
        return 0.0
    return float(brentq(excess, 0.0, table.reach, xtol=1e-12))
