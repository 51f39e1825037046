"""P(row in locality) as a function of its distance to the centre, with partials.

A locality is a ball of random radius, beta ~ Gamma(shape, rate), around a centre. With a known centre::

    theta(D)   = P(beta >= D),

the survival function of the radius; with a centre c ~ N(c0, center_scale^2 I) whose mean is at distance D from the row::

    upsilon(D) = P(|u| <= beta),    u ~ N(D e_1, center_scale^2 I_d).

Both are functions of one number once the locality's parameters are given. So each locality gets a `Table`, a piecewise
polynomial in the distance, made from a hundred or so exact evaluations; rows only look things up.

How upsilon is computed. Let g be the density of the radius, f(r) that of r = norm(u), and A = I_{d/2} / I_{d/2-1} at
z = D r / center_scale^2. Then every partial is a single integral of the positive weight g f, which is log-concave::

    d/dD           = - int g f A                      (the flux through the sphere)
    rate   d/drate = - int g f r
    eps    d/deps  =   int g f (D A - r)              or, far from the centre,  - eps^2 int g f (k + d - 2 - rate r) / r
    d^2/dD dk      = - int g f A (ln(rate r) - psi(k))

The trapezoidal rule in ln r converges exponentially for these (the integrand is analytic and vanishes at both ends), with
the nodes laid around the mode. The value and its partial in the shape k are then integrals over D, from infinity inwards:
no incomplete gamma function, nor its derivative in the shape, and no non-central chi-square law enters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtr, chndtr, gammaincc, gammainccinv, gammaincinv, gammaln, psi, xlogy
from scipy.stats import gamma as gamma_law
from scipy.stats import qmc

from ._typing import Array, ArrayLike, Booleans, Integers
from .special import log_bessel_and_ratio, powers_from_values

__all__ = [
    "LIMITS",
    "Place",
    "Table",
    "ThetaPartials",
    "UpsilonPartials",
    "half_distance",
    "theta",
    "theta_and_partials",
    "theta_table",
    "upsilon",
    "upsilon_and_partials",
    "upsilon_qmc",
    "upsilon_table",
]

LIMITS = {"center_scale": (1e-3, 2.0), "radius_shape": (0.5, 1000.0), "radius_rate": (0.05, 1000.0)}
"""The range over which the accuracy is checked against reference values. Since upsilon depends on (rate D, rate center_scale,
shape, n_features) only, nothing changes with the unit of distance; the search lets the rate go further."""

_NEGLIGIBLE = 1e-13  # probability left out at each end of a table
_NODES = 12  # Chebyshev nodes in each panel of a table
_PANEL = 1.8  # width of a panel, in units of the local length; tuned: value error < 2e-10 over LIMITS
_DROP = 35.0  # the trapezoidal sum is cut where its terms are exp(-35) of the largest
_REACH = np.geomspace(8.4, 110.0, 16)  # candidate ends of the sum, in standard widths of the integrand
_FAR = 20.0  # beyond this many center_scales from the centre the second form of d/deps loses no digits


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
    """Membership of one locality as a piecewise polynomial of the distance.

    `value` holds the membership, `slope` its derivative with respect to D^2 / 2 (finite at D = 0), `parameters` its
    partials with respect to the locality's own parameters; all as (power, panel) coefficients of the position in the panel.
    Below the first edge and above the last one the membership is constant to within 1e-13.
    """

    edges: Array  # (panel + 1,) distances
    value: Array  # (power, panel)
    slope: Array  # (power, panel)
    parameters: Array  # (parameter, power, panel)

    def place(self, distance: Array) -> Place:
        panel = np.searchsorted(self.edges[1:-1], distance, side="right")
        half = 0.5 * np.diff(self.edges)
        position = (distance - (self.edges[:-1] + half)[panel]) * (1.0 / half)[panel]
        np.clip(position, -1.0, 1.0, out=position)
        return Place(panel, position)

    def look_up(self, coefficients: Array, place: Place) -> Array:
        """Value at the places of the piecewise polynomial with these (power, panel) coefficients."""
        result: Array = coefficients[-1][place.panel]
        for power in range(coefficients.shape[0] - 2, -1, -1):
            result *= place.position
            result += coefficients[power][place.panel]
        return result

    def parameter_sums(self, place: Place, factor: Array) -> Array:
        """sum over rows of factor * d membership / d parameter, for each parameter.

        The transpose of `look_up`: the factors are first gathered into moments per panel, once for all parameters.
        """
        n_powers, n_panels = self.value.shape
        moments = np.empty((n_powers, n_panels))
        weight = factor
        for power in range(n_powers):
            if power:
                weight = weight * place.position
            moments[power] = np.bincount(place.panel, weights=weight, minlength=n_panels)
        return np.asarray(np.einsum("kij,ij->k", self.parameters, moments))


_X, _POWERS_FROM_VALUES = powers_from_values(_NODES)


def _padded(coefficients: Array) -> Array:
    return np.vstack([coefficients, np.zeros((1, coefficients.shape[1]))])


def _integrated(derivative: Array, edges: Array) -> Array:
    """Coefficients of the integral, from the last edge inwards, of a derivative in D given as (node, panel) values."""
    powers = _POWERS_FROM_VALUES @ derivative * (0.5 * np.diff(edges))
    primitive = np.vstack([np.zeros((1, powers.shape[1])), powers / np.arange(1, _NODES + 1)[:, None]])
    at_right = primitive.sum(axis=0)
    steps = at_right - (primitive * (-1.0) ** np.arange(_NODES + 1)[:, None]).sum(axis=0)
    beyond = np.append(-np.cumsum(steps[::-1])[::-1], 0.0)[1:]  # value at each panel's right end
    primitive[0] += beyond - at_right
    return primitive


def _edges(low: float, high: float, smoothing: float, shape: float, rate: float) -> Array:
    """Panels from low to high, each about _PANEL times as wide as the length over which membership varies there.

    The radius varies over D / sqrt(shape) near a distance D below its mean and over the like of its own spread beyond;
    the centre's noise smooths all of that over center_scale.
    """
    curl = min(0.5, 1.0 / np.sqrt(shape))  # 0.5: tuned, for the power law near 0 of a small shape
    bend = max(shape, 1.0) / rate
    edges = [low]
    while edges[-1] < high:
        edges.append(edges[-1] + _PANEL * float(np.hypot(smoothing, curl * min(edges[-1], bend))))
    stretch = (high - low) / (edges[-1] - low)  # so that the last panel ends at high
    return low + stretch * (np.array(edges) - low)


def _node_distances(edges: Array) -> Array:
    """Distances (node, panel) of the Chebyshev nodes."""
    half = 0.5 * np.diff(edges)
    return edges[:-1] + half * (_X[:, None] + 1.0)


def theta_table(shape: float, rate: float) -> Table:
    """Table of theta; its parameters are (shape, rate). The slope with respect to D^2 / 2 is not kept: known centres stay."""
    low = max(float(gammaincinv(shape, _NEGLIGIBLE)) / rate, 1e-290)
    high = float(gammainccinv(shape, _NEGLIGIBLE)) / rate
    edges = _edges(low, high, 0.0, shape, rate)
    distance = _node_distances(edges)
    log_scaled = np.log(rate * distance)
    density = np.exp(shape * log_scaled - rate * distance - gammaln(shape)) / distance
    value = _integrated(-density, edges)
    by_shape = _integrated(-density * (log_scaled - psi(shape)), edges)
    by_rate = _padded(_POWERS_FROM_VALUES @ (-density * distance / rate))
    return Table(edges, value, np.zeros_like(value), np.stack([by_shape, by_rate]))


def upsilon_table(n_features: int, center_scale: float, shape: float, rate: float) -> Table:
    """Table of upsilon; its parameters are (center_scale, shape, rate)."""
    noise = np.sqrt(2.0 * gammainccinv(0.5 * n_features, _NEGLIGIBLE))
    low = max(0.0, float(gammaincinv(shape, _NEGLIGIBLE)) / rate - noise * center_scale)
    high = float(gammainccinv(shape, _NEGLIGIBLE)) / rate + 8.0 * center_scale
    edges = _edges(low, high, center_scale, shape, rate)
    distance = _node_distances(edges)
    flux = _fluxes(distance.ravel(), n_features, center_scale, shape, rate)
    slope, by_scale, by_rate, mixed = (part.reshape(distance.shape) for part in flux)
    value = _integrated(slope * distance, edges)
    by_shape = _integrated(mixed, edges)
    slope, by_scale, by_rate = (_padded(_POWERS_FROM_VALUES @ part) for part in (slope, by_scale, by_rate))
    return Table(edges, value, slope, np.stack([by_scale, by_shape, by_rate]))


def _fluxes(
    distance: Array, n_features: int, center_scale: float, shape: float, rate: float
) -> tuple[Array, Array, Array, Array]:
    """(dU/dD) / D, dU/deps, dU/drate and d^2U/dD dk at each distance, by the integrals at the head of this module."""
    d, eps, k = n_features, center_scale, shape
    order = 0.5 * d - 1.0
    D = distance[:, None]
    b = 0.5 * d  # z A ~ sqrt(b^2 + z^2) - b places the nodes; the sums themselves use the exact A

    def log_weight_slope(r: Array) -> tuple[Array, Array]:  # first and second derivative in ln r
        z = D * r / eps**2
        root = np.sqrt(b**2 + z**2)
        return k + d - 1.0 - rate * r - (r / eps) ** 2 + root - b, -rate * r - 2.0 * (r / eps) ** 2 + z**2 / root

    def log_weight(r: Array) -> Array:
        z = D * r / eps**2
        root = np.sqrt(b**2 + z**2)
        decay = rate * r + 0.5 * ((r - D) / eps) ** 2
        return np.asarray(xlogy(k + d - 1.0, r) - decay + (root - z) - b * np.log(b + root))

    shift = D - rate * eps**2
    spread = 4.0 * eps**2 * (k + 0.5 * (d - 1.0))
    mode = np.where(shift > 0, 0.5 * (shift + np.sqrt(shift**2 + spread)), 0.5 * spread / (np.sqrt(shift**2 + spread) - shift))
    for _ in range(4):
        first, second = log_weight_slope(mode)
        mode = mode * np.exp(np.clip(-first / np.minimum(second, -1e-300), -1.0, 1.0))
    width = 1.0 / np.sqrt(-np.minimum(log_weight_slope(mode)[1], -1e-300))
    reach = _REACH * width
    peak = log_weight(mode)
    right = _first_reach(reach, peak - log_weight(mode * np.exp(np.minimum(reach, 300.0))))
    left = _first_reach(reach, peak - log_weight(mode * np.exp(-np.minimum(reach, 300.0))))

    step = np.minimum(0.72 * width, 0.15)  # tuned with _DROP for a relative error of about 1e-13
    n_nodes = int(np.ceil(((left + right) / step).max()))
    step = (left + right) / n_nodes
    offset = -left + step * (np.arange(n_nodes) + 0.5)
    r = mode * np.exp(offset)
    z = D * r / eps**2
    log_scaled = np.log(rate * r)
    log_g_dr = k * log_scaled - rate * r - gammaln(k) + np.log(step)
    log_f = (d - 1.0) * np.log(r / eps) - np.log(eps) - 0.5 * ((mode - D + mode * np.expm1(offset)) / eps) ** 2
    log_bessel, ratio = log_bessel_and_ratio(order, z)
    weight = np.exp(log_g_dr + log_f + log_bessel)
    flux = weight * ratio
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio_by_distance = np.where(z > 1e-150, ratio / D, r / (d * eps**2))
    slope = -(weight * ratio_by_distance).sum(axis=1)
    mixed = -(flux * (log_scaled - psi(k))).sum(axis=1)
    by_rate = -(weight * r).sum(axis=1) / rate
    near = (weight * (D * ratio - r)).sum(axis=1) / eps
    far = -eps * (weight * ((k + d - 2.0) / r - rate)).sum(axis=1)
    return slope, np.where(distance > _FAR * eps, far, near), by_rate, mixed


def _first_reach(reach: Array, drop: Array) -> Array:
    """For each row the first of its reaches at which the drop is deep enough (the last one if none is)."""
    deep = drop >= _DROP
    deep[:, -1] = True
    return np.take_along_axis(reach, deep.argmax(axis=1)[:, None], axis=1)


# ---------------------------------------------------------------------------------------------------------------------
# Functions of distance


def _positive(**parameters: Array) -> None:
    for name, value in parameters.items():
        if not (np.all(np.isfinite(value)) and np.all(value > 0)):
            raise ValueError(f"{name} must be finite and positive; got {value}.")


def _distances(distance: ArrayLike) -> Array:
    distance = np.asarray(distance, dtype=float)
    if not np.all(distance >= 0):
        raise ValueError(f"distance must be non-negative and not nan; the smallest is {np.min(distance)}.")
    return distance


def theta(distance: ArrayLike, shape: ArrayLike, rate: ArrayLike) -> Array:
    """P(radius >= distance) for radius ~ Gamma(shape, rate); arguments broadcast.

    >>> round(float(theta(2.0, 1.0, 0.5)), 12)  # exp(-1)
    0.367879441171
    """
    D, k, t = np.broadcast_arrays(_distances(distance), np.asarray(shape, float), np.asarray(rate, float))
    _positive(shape=k, rate=t)
    return np.asarray(gammaincc(k, t * D))


def theta_and_partials(distance: ArrayLike, shape: ArrayLike, rate: ArrayLike) -> ThetaPartials:
    """theta and its partials with respect to distance, shape and rate; arguments broadcast.

    At distance 0 the partial in distance is minus the density of the radius: -inf for shape < 1.
    """
    D, k, t = np.broadcast_arrays(_distances(distance), np.asarray(shape, float), np.asarray(rate, float))
    _positive(shape=k, rate=t)
    with np.errstate(divide="ignore"):
        density = np.exp(np.log(t) + xlogy(k - 1.0, t * D) - t * D - gammaln(k))
    by_shape = np.empty(D.shape)
    for one, where in _groups(k, t):
        table = theta_table(*one)
        by_shape[where] = table.look_up(table.parameters[0], table.place(D[where]))
    with np.errstate(invalid="ignore"):
        by_rate = np.where(D > 0, -density * D / t, 0.0)
    return ThetaPartials(np.asarray(gammaincc(k, t * D)), -density, by_shape, by_rate)


def upsilon(distance: ArrayLike, n_features: int, center_scale: ArrayLike, shape: ArrayLike, rate: ArrayLike) -> Array:
    """P(row in ball) when the centre is N(c0, center_scale^2 I) in n_features dimensions, at this distance from c0.

    Arguments other than n_features broadcast. Absolute error below 1e-9 over `LIMITS` and distances 0 to 50.

    >>> round(float(upsilon(1.0, 2, 0.1, 30.0, 20.0)), 9)
    0.965462776
    """
    return upsilon_and_partials(distance, n_features, center_scale, shape, rate).value


def upsilon_and_partials(
    distance: ArrayLike, n_features: int, center_scale: ArrayLike, shape: ArrayLike, rate: ArrayLike
) -> UpsilonPartials:
    """upsilon and its partials with respect to distance, center_scale, shape and rate; arguments other than n_features broadcast.

    The partials' error is below 1e-7 of their largest size over distance.
    """
    if n_features < 1:
        raise ValueError(f"n_features must be at least 1; got {n_features}.")
    D, e, k, t = np.broadcast_arrays(
        _distances(distance), np.asarray(center_scale, float), np.asarray(shape, float), np.asarray(rate, float)
    )
    _positive(center_scale=e, shape=k, rate=t)
    value, by_distance, by_scale, by_shape, by_rate = (np.empty(D.shape) for _ in range(5))
    for one, where in _groups(e, k, t):
        table = upsilon_table(n_features, *one)
        place = table.place(D[where])
        value[where] = table.look_up(table.value, place)
        by_distance[where] = table.look_up(table.slope, place) * D[where]
        for result, coefficients in zip((by_scale, by_shape, by_rate), table.parameters, strict=True):
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
    """The paper's approximation of upsilon: the mean of the non-central chi-square law over quasi-random radii.

    For the paper's appendix and for comparison only; motlm itself uses `upsilon`. With a seed the Halton sequence is
    scrambled, which gives the spread that the appendix shows.
    """
    halton = qmc.Halton(d=1, scramble=seed is not None, rng=seed)
    points = halton.random(n_radii + 1)[1:, 0] if seed is None else halton.random(n_radii)[:, 0]
    radius = gamma_law.ppf(points, shape, scale=1.0 / rate)
    D = _distances(distance)
    noncentral = (D[..., None] / center_scale) ** 2
    x = np.broadcast_to((radius / center_scale) ** 2, noncentral.shape[:-1] + radius.shape)
    law = np.where(noncentral > 0, chndtr(x, n_features, np.maximum(noncentral, 1e-300)), chdtr(n_features, x))
    return np.asarray(law.mean(axis=-1))


def half_distance(table: Table) -> float:
    """The distance at which the membership falls through 1/2; 0 where it never reaches 1/2."""

    def excess(distance: float) -> float:
        return float(table.look_up(table.value, table.place(np.array([distance])))[0]) - 0.5

    if excess(0.0) <= 0.0:
        return 0.0
    return float(brentq(excess, 0.0, table.edges[-1], xtol=1e-12))
