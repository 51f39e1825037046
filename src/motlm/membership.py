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

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaincc, gammainccinv, gammaincinv, gammaln, xlogy

from ._typing import Array, ArrayLike, Booleans, Integers
from .errors import InputError
from .limits import flush_to_zero
from .lookup import Table

__all__ = [
    "LIMITS",
    "ThetaPartials",
    "UpsilonPartials",
    "distances",
    "half_distances",
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

_NEGLIGIBLE = 1e-11  # probability left out at each end of a table


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
    return [_table(*one, (3, 4)) for one in _split(_theta(shape, rate))]


@flush_to_zero
def upsilon_tables(
    n_features: int | Integers, center_scale: Array, shape: Array, rate: Array
) -> list[Table]:
    """Tables of upsilon; their parameters are (center_scale, shape, rate). All localities have as
    many columns, or each its own number.
    """
    if len(shape) == 0:
        return []
    every = _upsilon(n_features, center_scale, shape, rate)
    return [_table(*one, (2, 3, 4)) for one in _split(every)]


@flush_to_zero
def half_distances(
    n_features: int | Integers | None, center_scale: Array, shape: Array, rate: Array
) -> Array:
    """The distance at which each membership falls through 1/2, 0 where it never reaches 1/2; of
    upsilon in n_features dimensions, or of theta where these are None.
    """
    from ._engine import entries

    if len(shape) == 0:
        return np.empty(0)
    if n_features is None:
        return np.asarray(entries.half_distances(_theta(shape, rate)))
    return np.asarray(entries.half_distances(_upsilon(n_features, center_scale, shape, rate)))


def _theta(shape: Array, rate: Array) -> Any:
    from ._engine import entries, tables

    low = np.maximum(gammaincinv(shape, _NEGLIGIBLE) / rate, 1e-290)
    high = gammainccinv(shape, _NEGLIGIBLE) / rate
    return entries.theta_tables(tables.fineness(True), *_arrays(shape, rate, low, high))


def _upsilon(n_features: int | Integers, center_scale: Array, shape: Array, rate: Array) -> Any:
    from ._engine import entries, tables

    low, high = gammaincinv(shape, _NEGLIGIBLE) / rate, gammainccinv(shape, _NEGLIGIBLE) / rate
    arrays = _arrays(center_scale, shape, rate, low, high)
    about = tables.constants(np.broadcast_to(n_features, len(shape)))
    return entries.upsilon_tables(tables.fineness(True), about, *arrays)


def _arrays(*given: Array) -> list[Array]:
    return [np.array(one, dtype=float) for one in given]


def _split(every: Any) -> Iterator[tuple[Any, int]]:
    return ((every, i) for i in range(len(every.lead) - 1))


def _table(every: Any, i: int, parameters: tuple[int, ...]) -> Table:
    """One locality's table, of those that the engine made."""
    shift, start, per_cell, n_cells, _, first = every.lead[i]
    panels = slice(int(first), int(every.lead[i + 1, -1]))
    edges = np.append(every.panels[panels, 0], n_cells).astype(np.intp)
    by_power = every.coefficients[panels].transpose(2, 1, 0)  # (column, power, panel)
    own = by_power[list(parameters)]
    cell = 1.0 / float(per_cell)
    return Table(float(shift), float(start), cell, edges, by_power[0], by_power[1], own)


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
        found = table.look_up(table.parameters[0], table.place(D[where]))
        by_shape[where] = np.where(table.varies_at(D[where]), found, 0.0)
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
        varies = table.varies_at(D[where])
        slope = table.look_up(table.slope, place)
        by_distance[where] = np.where(varies, slope, 0.0) * np.where(varies, D[where], 0.0)
        for result, coefficients in zip(
            (by_scale, by_shape, by_rate), table.parameters, strict=True
        ):
            result[where] = np.where(varies, table.look_up(coefficients, place), 0.0)
    return UpsilonPartials(value, by_distance, by_scale, by_shape, by_rate)


def _groups(*parameters: Array) -> list[tuple[tuple[float, ...], Booleans]]:
    """The distinct parameter combinations, and a mask of where each occurs."""
    flat = np.stack([parameter.ravel() for parameter in parameters], axis=1)
    distinct, inverse = np.unique(flat, axis=0, return_inverse=True)
    inverse = inverse.reshape(parameters[0].shape)
    return [(tuple(map(float, one)), inverse == i) for i, one in enumerate(distinct)]
