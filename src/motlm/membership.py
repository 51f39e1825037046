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
    eps    d/deps  =   int g f (D A - r)
                   = - eps^2 int g f (k + d - 2 - rate r) / r    (better far from the center)
    d^2/dD dk      = - int g f A (ln(rate r) - psi(k))

The trapezoidal rule in ln r converges exponentially for these (the integrand is analytic and
vanishes at both ends), with the nodes laid around the mode. The value and its partial in the shape
k are then integrals over D, from infinity inwards: no incomplete gamma function, nor its derivative
in the shape, and no non-central chi-square distribution enters.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc, gammainccinv, gammaincinv, gammaln, psi, xlogy

from ._typing import Array, ArrayLike, Booleans
from .errors import InputError
from .limits import flush_to_zero
from .lookup import Panels, Table
from .special import log_bessel_and_ratio

__all__ = [
    "LIMITS",
    "ThetaPartials",
    "UpsilonPartials",
    "distances",
    "theta",
    "theta_and_partials",
    "theta_tables",
    "upsilon",
    "upsilon_and_partials",
    "upsilon_tables",
]

LIMITS = {"center_scale": (1e-3, 2.0), "radius_shape": (0.5, 1e5), "radius_rate": (0.05, 1e6)}
"""The range over which the accuracy is checked against reference values. Since upsilon depends on
(rate D, rate center_scale, shape, n_features) only, nothing changes with the unit of distance; the
search lets the rate go further."""

_AT_ONCE = 100  # localities whose tables are made at once
_NEGLIGIBLE = 1e-13  # probability left out at each end of a table
_DROP = 35.0  # the trapezoidal sum is cut where its terms are exp(-35) of the largest
_REACH = math.sqrt(2.0 * _DROP)  # end of the sum, in standard widths of a Gaussian
_FEW = 36  # most sums have fewer terms than this; the others are taken apart from them
# beyond this many center_scales from the center the second form of d/deps loses no digits
_FAR = 20.0


class ThetaPartials(NamedTuple):
    """theta and its partials, arrays of the shape of the (broadcast) arguments."""

    value: Array
    distance: Array
    shape: Array
    rate: Array


class UpsilonPartials(NamedTuple):
    """upsilon and its partials, arrays of the shape of the (broadcast) arguments."""

    value: Array
    distance: Array
    center_scale: Array
    shape: Array
    rate: Array


@flush_to_zero
def theta_tables(shape: Array, rate: Array) -> list[Table]:
    """Tables of theta; their parameters are (shape, rate). The slope with respect to D^2 / 2 is not
    kept: known centers stay.
    """
    if len(shape) == 0:
        return []
    low = np.maximum(gammaincinv(shape, _NEGLIGIBLE) / rate, 1e-290)
    high = gammainccinv(shape, _NEGLIGIBLE) / rate
    panels = Panels.over(low, high, np.zeros_like(shape), shape, rate)
    k, t = shape[panels.owner], rate[panels.owner]
    distance = panels.distance
    log_scaled = np.log(t * distance)
    density = np.exp(k * log_scaled - t * distance - gammaln(k)) / distance
    value = panels.integrate(-density)
    by_shape = panels.integrate(-density * (log_scaled - psi(k)))
    by_rate = panels.interpolate(-density * distance / t)
    return panels.tables(value, np.zeros_like(value), [by_shape, by_rate])


@flush_to_zero
def upsilon_tables(n_features: int, center_scale: Array, shape: Array, rate: Array) -> list[Table]:
    """Tables of upsilon; their parameters are (center_scale, shape, rate)."""
    if len(shape) == 0:
        return []
    if len(shape) > _AT_ONCE:  # integrals of many take much memory
        every = np.stack([center_scale, shape, rate])
        parts = np.split(every, range(_AT_ONCE, len(shape), _AT_ONCE), axis=1)
        return [table for part in parts for table in upsilon_tables(n_features, *part)]
    # |u| exceeds sqrt(D^2 + d eps^2) + t eps with probability at most exp(-t^2 / 2), since the norm
    # is 1-Lipschitz
    surely = np.maximum(
        gammaincinv(shape, _NEGLIGIBLE) / rate
        - math.sqrt(-2.0 * math.log(_NEGLIGIBLE)) * center_scale,
        0.0,
    )
    low = np.sqrt(np.maximum(surely**2 - n_features * center_scale**2, 0.0))
    high = gammainccinv(shape, _NEGLIGIBLE) / rate + 8.0 * center_scale
    panels = Panels.over(low, high, center_scale, shape, rate)
    like = panels.distance.shape
    owner = np.broadcast_to(panels.owner, like).ravel()
    own = (part[owner] for part in (center_scale, shape, rate))
    flux = _fluxes(panels.distance.ravel(), n_features, *own)
    slope, by_scale, by_rate, mixed = (part.reshape(like) for part in flux)
    value = panels.integrate(slope * panels.distance)
    by_shape = panels.integrate(mixed)
    slope, by_scale, by_rate = map(panels.interpolate, (slope, by_scale, by_rate))
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
        second = np.minimum(z * z / root - linear - 2.0 * square, -1e-300)
        return power - b - linear - square + root, second

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
    mode = np.where(shift > 0, 0.5 * (shift + root), 0.5 * spread / (root + np.abs(shift)))
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
            span = (left + right) / most
            parts = (distance, D, eps, power, rate, log_mode - left, span, constant)
            sums[:, chosen] = _trapezoidal(0.5 * d - 1.0, most, *(part[chosen] for part in parts))
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


def _positive(**parameters: Array) -> None:
    for name, value in parameters.items():
        if not (np.all(np.isfinite(value)) and np.all(value > 0)):
            raise InputError(f"{name} must be finite and positive; got {value}.")


def distances(distance: ArrayLike) -> Array:
    distance = np.asarray(distance, dtype=float)
    if not np.all(distance >= 0):
        raise InputError(
            f"distance must be non-negative and not nan; the smallest is {np.min(distance)}."
        )
    return distance


@flush_to_zero
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
        distances(distance), np.asarray(shape, float), np.asarray(rate, float)
    )
    _positive(shape=k, rate=t)
    return np.asarray(gammaincc(k, t * D))


@flush_to_zero
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

    >>> from motlm.membership import theta_and_partials
    >>> partials = theta_and_partials(2.0, 1.0, 0.5)
    >>> tuple(round(float(getattr(partials, name)), 6) for name in ("value", "distance", "rate"))
    (0.367879, -0.18394, -0.735759)
    """
    D, k, t = np.broadcast_arrays(
        distances(distance), np.asarray(shape, float), np.asarray(rate, float)
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

    >>> from motlm.membership import upsilon, upsilon_and_partials
    >>> step = 1e-3
    >>> partials = upsilon_and_partials(1.3, 2, 0.1, 30.0, 20.0)
    >>> after, before = (upsilon(1.3 + s, 2, 0.1, 30.0, 20.0) for s in (step, -step))
    >>> slope = (after - before) / (2 * step)
    >>> bool(abs(partials.distance - slope) < 1e-4 < abs(slope))
    True
    """
    if n_features < 1:
        raise InputError(f"n_features must be at least 1; got {n_features}.")
    D, e, k, t = np.broadcast_arrays(
        distances(distance),
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
