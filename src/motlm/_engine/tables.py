"""Memberships of localities as piecewise polynomials of the distance, with their partials.

The mathematics is at the head of `motlm.membership`. A locality's table covers the distances over
which its membership varies, in panels that are as wide as the length over which it does; in each
panel a polynomial goes through the values at Chebyshev nodes, each of which is one trapezoidal sum
in ln r, taken outwards from the mode of the integrand.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .._typing import AnyArray, Array, Integers
from ..special import powers_from_values
from .compile import compiled, compiled_fast
from .special import (
    N_SHAPES,
    SHAPES,
    bessel_table,
    digamma,
    exponential,
    log_bessel_and_ratio,
    log_gamma_peak,
    logarithm,
    quantile_table,
)

__all__ = [
    "FIRST_PANEL",
    "INSIDE",
    "NEGLIGIBLE",
    "N_CELLS",
    "N_COLUMNS",
    "OUTSIDE",
    "PER_CELL",
    "SHIFT",
    "START",
    "Constants",
    "Fineness",
    "Tables",
    "constants",
    "edges_of",
    "fineness",
    "look_up",
    "theta",
    "upsilon",
]

INSIDE, OUTSIDE = -1, -2  # panels of rows that surely are
NEGLIGIBLE = 1e-11  # probability left out at each end of a table
_MOST = 800  # panels of a table; of theta with a shape of 0.01 there are so many
_CELLS = 8  # cells in the narrowest panel; the others are rounded to whole cells
N_COLUMNS = 5  # value, slope in D^2 / 2, partials in center_scale, radius_shape and radius_rate
_TERMS, _BELOW = 8, 3.5  # of the sum that are computed at once; the first of them below the mode
# beyond this many center_scales from the center the second form of d/deps loses no digits
_FAR = 20.0


class Fineness(NamedTuple):
    """How finely tables are made. All numbers are tuned over the limits of `motlm.membership`."""

    tail: float  # probability left out at each end of a table
    panel: float  # width of a panel, in units of the local length
    drop: float  # the trapezoidal sum is cut where its terms are exp(-drop) of the largest
    # its steps, in widths of the integrand; less where that is wide, and so not like a Gaussian
    step: float
    wide: float
    largest_step: float
    nodes: Array  # Chebyshev's, in each panel
    interpolate: Array  # (power, node): from values at the nodes to powers
    primitive: Array  # the same of the integral
    quantiles: Array


@lru_cache(maxsize=2)
def fineness(fine: bool) -> Fineness:
    """Fine: values within 2e-10, partials within 1e-7. Coarse, for the way of a search, which ends
    with the fine ones: within 1e-5 and 3e-4, at a third of the cost.
    """
    if fine:
        return _fineness(NEGLIGIBLE, 3.0, 26.0, 0.88, 4.2, 0.15, 16)
    return _fineness(1e-7, 3.0, 8.0, 1.15, 2.0, 0.3, 9)


def _fineness(
    tail: float, panel: float, drop: float, step: float, wide: float, largest: float, n: int
) -> Fineness:
    x, matrix = powers_from_values(n)
    primitive = np.vstack([np.zeros((1, n)), matrix / np.arange(1, n + 1)[:, None]])
    interpolate = np.vstack([matrix, np.zeros((1, n))])
    quantiles = quantile_table(tail)
    return Fineness(tail, panel, drop, step, wide, largest, x, interpolate, primitive, quantiles)


class Constants(NamedTuple):
    """What tables of localities in so many dimensions share."""

    dims: Integers  # (n_localities,)
    which: Integers  # (n_localities,), of the Bessel functions
    bessel: Array  # (which, 2 power + function, interval)


class Tables(NamedTuple):
    """The tables of several localities. A row at distance D has x = ln(D + shift); its cell is
    (x - start) per_cell.
    """

    lead: Array  # (n_localities, 6): SHIFT, START, PER_CELL, N_CELLS, FIRST_CELL, FIRST_PANEL
    panel_of: AnyArray  # (cell,)
    panels: Array  # (panel, 2): its left edge in cells, and two over its width in cells
    coefficients: Array  # (panel, power, column)


SHIFT, START, PER_CELL, N_CELLS, FIRST_CELL, FIRST_PANEL = range(6)


def constants(dims: Integers) -> Constants:
    """Of localities with these numbers of columns."""
    dims = np.array(dims, dtype=np.int64)
    different, which = np.unique(np.maximum(dims, 1), return_inverse=True)
    return Constants(dims, which.astype(np.int64), _bessel_tables(tuple(different.tolist())))


@lru_cache(maxsize=64)
def _bessel_tables(dims: tuple[int, ...]) -> Array:
    return np.stack([bessel_table(0.5 * d - 1.0) for d in dims or (1,)])


_BEGIN = math.log(SHAPES[0])
_PER_STEP = (N_SHAPES - 1) / (math.log(SHAPES[1]) - _BEGIN)


@compiled
def edges_of(shape: float, quantiles: Array) -> tuple[float, float]:
    """Quantiles of Gamma(shape, 1), from their table."""
    place = (math.log(shape) - _BEGIN) * _PER_STEP
    i = min(max(int(place), 0), quantiles.shape[1] - 2)
    part = place - i
    low = quantiles[0, i] + part * (quantiles[0, i + 1] - quantiles[0, i])
    high = quantiles[1, i] + part * (quantiles[1, i + 1] - quantiles[1, i])
    return math.exp(low), math.exp(high)


@compiled
def _walk(
    panel: float, low: float, high: float, smoothing: float, shape: float, rate: float
) -> Array:
    """x at the edges of panels from low to high, each about `panel` times as wide as the length
    over which membership varies there; the last entry is the shift.

    The radius varies over D / sqrt(shape) near a distance D below its mean and over the like of its
    own spread beyond; the center's noise smooths all of that over center_scale. In x = ln(D +
    shift) with shift = center_scale sqrt(shape) the first two are nearly one length.
    """
    curl = min(0.5, 1.0 / math.sqrt(shape))  # 0.5: tuned, for the power law near 0 of a small shape
    bend = max(shape, 1.0) / rate
    shift = max(smoothing / curl, 1e-290)
    end = math.log(high + shift)
    found = np.empty(_MOST + 2)
    found[0], count = math.log(low + shift), 0
    while found[count] < end and count < _MOST:
        at = math.exp(found[count])
        length = math.hypot(smoothing, curl * min(at - shift, bend))
        found[count + 1] = found[count] + math.log1p(panel * length / at)
        count += 1
    stretch = (end - found[0]) / (found[count] - found[0])  # so that the last panel ends at high
    for i in range(1, count + 1):
        found[i] = found[0] + stretch * (found[i] - found[0])
    found[count + 1] = shift
    return found[: count + 2]


@compiled
def _lay(
    fine: Fineness, low: Array, high: Array, smoothing: Array, shape: Array, rate: Array
) -> Tables:
    """Panels for each locality; the coefficients are not yet computed."""
    n = len(shape)
    lead, ends = np.empty((n + 1, 6)), np.zeros(n + 1, np.int64)
    for i in range(n):
        walk = _walk(fine.panel, low[i], high[i], smoothing[i], shape[i], rate[i])
        ends[i + 1] = ends[i] + len(walk) - 1
    edges = np.empty(ends[n], np.int64)  # of all localities, one after another
    n_panels, n_cells = 0, 0
    for i in range(n):
        walk = _walk(fine.panel, low[i], high[i], smoothing[i], shape[i], rate[i])
        own, first = len(walk) - 2, ends[i]
        narrowest = math.inf
        for j in range(own):
            narrowest = min(narrowest, walk[j + 1] - walk[j])
        for j in range(own + 1):
            edges[first + j] = math.floor((walk[j] - walk[0]) * _CELLS / narrowest + 0.5)
        lead[i, SHIFT], lead[i, START] = walk[-1], walk[0]
        lead[i, PER_CELL] = edges[first + own] / (walk[own] - walk[0])
        lead[i, N_CELLS], lead[i, FIRST_CELL] = edges[first + own], n_cells
        lead[i, FIRST_PANEL] = n_panels
        n_panels += own
        n_cells += edges[first + own]
    lead[n, FIRST_PANEL], lead[n, FIRST_CELL] = n_panels, n_cells
    panel_of, panels = np.empty(n_cells, np.int32), np.empty((n_panels, 2))
    for i in range(n):
        first = int(lead[i, FIRST_PANEL])
        for panel in range(first, int(lead[i + 1, FIRST_PANEL])):
            left, right = edges[ends[i] + panel - first], edges[ends[i] + panel - first + 1]
            panels[panel, 0], panels[panel, 1] = left, 2.0 / (right - left)
            for c in range(left, right):
                panel_of[int(lead[i, FIRST_CELL]) + c] = panel
    return Tables(lead, panel_of, panels, np.empty((n_panels, len(fine.nodes) + 1, N_COLUMNS)))


@compiled_fast
def _fit_panel(fine: Fineness, values: Array, half: float, coefficients: Array) -> None:
    """From (node, column) values to polynomials. The first column and the fourth are derivatives in
    x, to be integrated; the others go through their values.
    """
    for power in range(len(coefficients)):
        for column in range(N_COLUMNS):
            coefficients[power, column] = 0.0
        for node in range(len(values)):
            primitive = fine.primitive[power, node] * half
            straight = fine.interpolate[power, node]
            coefficients[power, 0] += primitive * values[node, 0]
            coefficients[power, 3] += primitive * values[node, 3]
            coefficients[power, 1] += straight * values[node, 1]
            coefficients[power, 2] += straight * values[node, 2]
            coefficients[power, 4] += straight * values[node, 4]


@compiled_fast
def _join(coefficients: Array, first: int, last: int) -> None:
    """Integrals from the last edge inwards: each panel ends where the next begins."""
    for column in (0, 3):
        beyond = 0.0
        for panel in range(last - 1, first - 1, -1):
            at_left, at_right = 0.0, 0.0
            sign = 1.0
            for power in range(coefficients.shape[1]):
                at_right += coefficients[panel, power, column]
                at_left += sign * coefficients[panel, power, column]
                sign = -sign
            coefficients[panel, 0, column] += beyond - at_right
            beyond += at_left - at_right


@compiled
def _middle(tables: Tables, i: int, panel: int) -> tuple[float, float]:
    """x in the middle of a panel, and half its width."""
    per_cell = tables.lead[i, PER_CELL]
    half = 1.0 / (tables.panels[panel, 1] * per_cell)
    return tables.lead[i, START] + tables.panels[panel, 0] / per_cell + half, half


@compiled
def theta(fine: Fineness, shape: Array, rate: Array, low: Array, high: Array) -> Tables:
    """Tables of theta between the distances low and high: known centers, without a scale."""
    n = len(shape)
    tables = _lay(fine, low, high, np.zeros(n), shape, rate)
    nodes = len(fine.nodes)
    values = np.zeros((nodes, N_COLUMNS))
    for i in range(n):
        k, t = shape[i], rate[i]
        peak, psi = log_gamma_peak(k), digamma(k)
        first, last = int(tables.lead[i, FIRST_PANEL]), int(tables.lead[i + 1, FIRST_PANEL])
        for panel in range(first, last):
            middle, half = _middle(tables, i, panel)
            for node in range(nodes):
                x = middle + half * fine.nodes[node]
                shifted = math.exp(x)
                distance = max(shifted - tables.lead[i, SHIFT], 1e-300)
                ratio = t * distance / k
                log_ratio = math.log(ratio)
                # D times the density of the radius there
                density = math.exp(peak + k * (log_ratio - ratio + 1.0))
                by_x = density * shifted / distance
                values[node, 0] = -by_x
                values[node, 3] = -by_x * (log_ratio + math.log(k) - psi)
                near = max(distance, 1e-100)
                values[node, 1] = -density / near / near
                values[node, 4] = -density / t
            _fit_panel(fine, values, half, tables.coefficients[panel])
        _join(tables.coefficients, first, last)
    return tables


@compiled
def upsilon(
    fine: Fineness, about: Constants, scale: Array, shape: Array, rate: Array, low: Array,
    high: Array,
) -> Tables:  # fmt: skip
    """Tables of upsilon; low and high are quantiles of the radii, beyond which nothing is left."""
    n = len(shape)
    begin, end = np.empty(n), np.empty(n)
    far = math.sqrt(-2.0 * math.log(fine.tail))
    for i in range(n):
        # |u| exceeds sqrt(D^2 + d eps^2) + t eps with probability at most exp(-t^2 / 2), since the
        # norm is 1-Lipschitz
        surely = max(low[i] - far * scale[i], 0.0)
        begin[i] = math.sqrt(max(surely * surely - about.dims[i] * scale[i] * scale[i], 0.0))
        end[i] = high[i] + 8.0 * scale[i]
    tables = _lay(fine, begin, end, scale, shape, rate)
    nodes = len(fine.nodes)
    values, work = np.empty((nodes, N_COLUMNS)), np.empty((2, nodes))
    shifted, distance = np.empty(nodes), np.empty(nodes)
    for i in range(n):
        first, last = int(tables.lead[i, FIRST_PANEL]), int(tables.lead[i + 1, FIRST_PANEL])
        bessel = about.bessel[about.which[i]]
        for panel in range(first, last):
            middle, half = _middle(tables, i, panel)
            for node in range(nodes):
                shifted[node] = math.exp(middle + half * fine.nodes[node])
                distance[node] = max(shifted[node] - tables.lead[i, SHIFT], 0.0)
            _fluxes(
                fine, about.dims[i], bessel, distance, scale[i], shape[i], rate[i], work, values
            )
            for node in range(nodes):
                values[node, 0] = values[node, 1] * distance[node] * shifted[node]
                values[node, 3] *= shifted[node]
            _fit_panel(fine, values, half, tables.coefficients[panel])
        _join(tables.coefficients, first, last)
    return tables


@compiled_fast
def _add_terms(
    bessel: Array, u0: float, h: float, power: float, linear: float, away: float, reach: float,
    log_z: float, constant: float, sums: Array,
) -> float:  # fmt: skip
    """Add the next terms of the sum, from ln(r / mode) = u0 on in steps of h; the logarithm of the
    last one comes back.

    sums: of A, r / mode, mode / r, 1 and A ln(r / mode), times the weight.
    """
    s0, s1, s2, s3, s4 = 0.0, 0.0, 0.0, 0.0, 0.0
    log_term = 0.0
    for j in range(_TERMS):
        u = u0 + j * h
        r = exponential(u)
        gap = away + reach * (r - 1.0)
        log_bessel, A = log_bessel_and_ratio(bessel, log_z + u)
        log_term = power * u - linear * (r - 1.0) - 0.5 * gap * gap + log_bessel + constant
        term = exponential(max(log_term, -690.0))
        flux = term * A
        s0 += flux
        s1 += term * r
        s2 += term / r
        s3 += term
        s4 += flux * u
    sums[0] += s0
    sums[1] += s1
    sums[2] += s2
    sums[3] += s3
    sums[4] += s4
    return log_term


@compiled_fast
def _find_modes(
    fine: Fineness, d: int, distance: Array, eps: float, k: float, rate: float, mode: Array,
    step: Array,
) -> None:  # fmt: skip
    """Where the integrands are largest, roughly, in ln r, and the steps of their sums.

    z A ~ sqrt(b^2 + z^2) - b, b = d / 2, serves for that; the sums themselves use the exact A.
    """
    b, power, eps2 = 0.5 * d, k + (d - 1.0), eps * eps
    per_eps2, spread = 1.0 / eps2, 4.0 * eps2 * (k + 0.5 * (d - 1.0))
    for i in range(len(distance)):
        D = distance[i] * per_eps2
        shift = distance[i] - rate * eps2
        root = math.sqrt(shift * shift + spread)
        r = 0.5 * (shift + root) if shift > 0.0 else 0.5 * spread / (root + abs(shift))
        curvature = 1.0
        for again in range(3):  # near it is enough: the sum goes far on both sides
            z = D * r
            root = math.sqrt(b * b + z * z)
            linear, square = rate * r, per_eps2 * r * r
            curvature = max(linear + 2.0 * square - z * z / root, 1e-300)
            if again < 2:
                slope = power - b - linear - square + root
                r *= exponential(min(max(slope / curvature, -1.0), 1.0))
        mode[i] = r
        width = 1.0 / math.sqrt(curvature)
        step[i] = min(fine.step * width / (1.0 + fine.wide * width), fine.largest_step)


@compiled
def _fluxes(
    fine: Fineness, d: int, bessel: Array, distance: Array, eps: float, k: float, rate: float,
    work: Array, out: Array,
) -> None:  # fmt: skip
    """(dU/dD) / D, dU/deps, d^2U/dD dk and dU/drate at each distance, into out[:, 1:]."""
    modes, steps = work[0], work[1]
    sums = np.empty(5)
    _find_modes(fine, d, distance, eps, k, rate, modes, steps)
    power, per_eps2 = k + (d - 1.0), 1.0 / (eps * eps)
    log_rate = math.log(rate)
    shared = log_gamma_peak(k) - d * math.log(eps) + k
    log_mean, psi = math.log(k) - log_rate, digamma(k) - log_rate
    for i in range(len(distance)):
        at, mode, h = distance[i], modes[i], steps[i]
        log_mode = math.log(mode)
        log_z = max(math.log(at * per_eps2) + log_mode, -1e3) if at > 0.0 else -1e3
        linear, reach, away = rate * mode, mode / eps, (mode - at) / eps
        constant = shared + k * (log_mode - log_mean - linear / k) + (d - 1.0) * log_mode
        cut = constant - 0.5 * away * away + log_bessel_and_ratio(bessel, log_z)[0] - fine.drop
        for j in range(5):
            sums[j] = 0.0
        u, right = (
            (_TERMS - 1 - _BELOW) * h,
            _add_terms(bessel, -_BELOW * h, h, power, linear, away, reach, log_z, constant, sums),
        )
        while right > cut and u < 300.0:
            right = _add_terms(bessel, u + h, h, power, linear, away, reach, log_z, constant, sums)
            u += _TERMS * h
        u = _BELOW * h
        r = math.exp(-u)
        gap = away + reach * (r - 1.0)
        left = -power * u - linear * (r - 1.0) - 0.5 * gap * gap + constant
        left += log_bessel_and_ratio(bessel, log_z - u)[0]
        while left > cut and u < 300.0:
            left = _add_terms(bessel, -u - h, -h, power, linear, away, reach, log_z, constant, sums)
            u += _TERMS * h
        through, outward, inward = h * sums[0], h * sums[1] * mode, h * sums[2] / mode
        out[i, 1] = -through / at if at > 0.0 else -outward / d * per_eps2
        if at > _FAR * eps:
            out[i, 2] = -eps * ((power - 1.0) * inward - rate * h * sums[3])
        else:
            out[i, 2] = (at * through - outward) / eps
        out[i, 3] = through * (psi - log_mode) - h * sums[4]
        out[i, 4] = -outward / rate


@compiled_fast
def look_up(
    tables: Tables, i: int, distance: Array, panel: Integers, position: Array, omega: Array
) -> None:
    """Memberships of rows in locality i, from their distances; with the panel in which each lies,
    INSIDE before the first edge and OUTSIDE beyond the last, and its position in [-1, 1] there.
    """
    lead, coefficients = tables.lead[i], tables.coefficients
    last = coefficients.shape[1] - 1
    shift, start, per_cell = lead[SHIFT], lead[START], lead[PER_CELL]
    n_cells, first_cell = lead[N_CELLS], int(lead[FIRST_CELL])
    for j in range(len(distance)):
        position[j] = (logarithm(distance[j] + shift) - start) * per_cell
    for j in range(len(distance)):
        x = position[j]
        if not x > -0.5:
            panel[j], omega[j] = INSIDE, 1.0
        elif x >= n_cells:
            panel[j], omega[j] = OUTSIDE, 0.0
        else:
            x = max(x, 0.0)  # where a table begins at 0, a row there lies in it, but for rounding
            at = tables.panel_of[first_cell + np.int64(x)]
            x = (x - tables.panels[at, 0]) * tables.panels[at, 1] - 1.0
            value = coefficients[at, last, 0]
            for power in range(last - 1, -1, -1):
                value = value * x + coefficients[at, power, 0]
            # rounding aside it is a probability; a large loss would make much of less than 0
            panel[j], position[j], omega[j] = at, x, min(max(value, 0.0), 1.0)
