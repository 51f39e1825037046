"""Functions of one number: the normal distribution, Gamma's derivatives, Bessel's functions by a
table.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import gammainccinv, gammaincinv, gammaln, ndtr

from .._typing import Array
from ..special import bessel_ratio, log_bessel, powers_from_values
from .compile import compiled, compiled_fast

__all__ = [
    "BESSEL_BEGIN",
    "BESSEL_PER_UNIT",
    "NORMAL_CDF",
    "N_SHAPES",
    "SHAPES",
    "bessel_table",
    "cholesky_solve",
    "cholesky_solve_each",
    "digamma",
    "exponential",
    "log_bessel_and_ratio",
    "log_gamma_peak",
    "logarithm",
    "normal",
    "quantile_table",
    "trigamma",
]

_PER_UNIT = 64
_END = 38 * _PER_UNIT  # the density vanishes beyond
NORMAL_CDF: Array = ndtr(np.arange(-_END, _END + 1) / _PER_UNIT)
_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


_LOG2 = math.log(2.0)
_PER_LOG2 = 1.0 / _LOG2
_LOG2_HIGH, _LOG2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10


@compiled
def exponential(x: float) -> float:
    """exp(x) to 1e-14 for abs(x) < 700, without a branch or a call, so that several are computed at
    once.
    """
    k = math.floor(x * _PER_LOG2 + 0.5)
    f = (x - k * _LOG2_HIGH) - k * _LOG2_LOW
    p = 1.0 / 39916800.0
    p = p * f + 1.0 / 3628800.0
    p = p * f + 1.0 / 362880.0
    p = p * f + 1.0 / 40320.0
    p = p * f + 1.0 / 5040.0
    p = p * f + 1.0 / 720.0
    p = p * f + 1.0 / 120.0
    p = p * f + 1.0 / 24.0
    p = p * f + 1.0 / 6.0
    p = p * f + 0.5
    p = p * f + 1.0
    p = p * f + 1.0
    return p * np.int64((np.int64(k) + 1023) << 52).view(np.float64)  # times 2^k


@compiled_fast
def logarithm(x: float) -> float:
    """ln(x) to 1e-15 of its size or of 1, for normal floats above 0; without a branch or a call."""
    bits = np.float64(x).view(np.int64)
    power = (bits - 4604544271217802189) >> 52  # so that the rest lies within sqrt(2) of 1
    rest = np.int64(bits - (power << 52)).view(np.float64)
    f = (rest - 1.0) / (rest + 1.0)
    v = f * f
    p = 1.0 / 19.0
    p = p * v + 1.0 / 17.0
    p = p * v + 1.0 / 15.0
    p = p * v + 1.0 / 13.0
    p = p * v + 1.0 / 11.0
    p = p * v + 1.0 / 9.0
    p = p * v + 1.0 / 7.0
    p = p * v + 1.0 / 5.0
    p = p * v + 1.0 / 3.0
    return power * _LOG2 + 2.0 * f * (1.0 + v * p)


@compiled_fast
def normal(t: float) -> tuple[float, float]:
    """P(N <= t), to 1e-12, and the density at t of a standard normal N; without a branch.

    From the nearest of a grid of points, t - e, Taylor's series about t, with u = e t:
    P(N <= t) = P(N <= t - e) + density(t) e (1 + u / 2 + u^2 / 6 + u^3 / 24 - e^2 (1 / 6 + u / 8)).
    """
    t = min(max(t, -37.0), 37.0)
    density = _DENSITY * exponential(-0.5 * t * t)
    nearest = math.floor(t * _PER_UNIT + 0.5)
    e = t - nearest * (1.0 / _PER_UNIT)
    u = e * t
    series = 1.0 + u * (0.5 + u * (1.0 / 6.0 + u / 24.0)) - e * e * (1.0 / 6.0 + 0.125 * u)
    return NORMAL_CDF[np.int32(nearest) + _END] + e * density * series, density


@compiled
def digamma(x: float) -> float:
    """d ln Gamma(x) / dx for x > 0, by its recurrence and its asymptotic series."""
    shift = 0.0
    while x < 10.0:
        shift -= 1.0 / x
        x += 1.0
    v = 1.0 / (x * x)
    tail = v * (
        1.0 / 12.0 - v * (1.0 / 120.0 - v * (1.0 / 252.0 - v * (1.0 / 240.0 - v * (1.0 / 132.0))))
    )
    return shift + math.log(x) - 0.5 / x - tail


@compiled
def trigamma(x: float) -> float:
    """The second derivative of ln Gamma(x) for x > 0."""
    shift = 0.0
    while x < 12.0:
        shift += 1.0 / (x * x)
        x += 1.0
    v = 1.0 / (x * x)
    tail = v * (1.0 / 6.0 - v * (1.0 / 30.0 - v * (1.0 / 42.0 - v * (1.0 / 30.0 - v * 5.0 / 66.0))))
    return shift + (1.0 + 0.5 / x + tail) / x


@compiled
def log_gamma_peak(k: float) -> float:
    """k ln k - k - ln Gamma(k), without a difference of large numbers where k is large."""
    if k < 16.0:
        return k * math.log(k) - k - math.lgamma(k)
    v = 1.0 / (k * k)
    tail = (1.0 / 12.0 - v * (1.0 / 360.0 - v * (1.0 / 1260.0 - v * (1.0 / 1680.0)))) / k
    return 0.5 * math.log(k / (2.0 * math.pi)) - tail


BESSEL_PER_UNIT = 32
BESSEL_BEGIN = -34.0  # ln z; below, both functions are constant, to 1e-15
_BESSEL_END = 42.0
_BESSEL_DEGREE = 5


@lru_cache(maxsize=64)
def bessel_table(order: float) -> Array:
    """(2 power + function, interval): quintics in ln z, of ln(z^-order exp(-z) I_order(z)) and of
    I_{order+1}(z) / I_order(z), accurate to 1e-13 of the first one's size.

    The first interval has the limits at z = 0, the last one goes on as the first function does.
    """
    x, matrix = powers_from_values(_BESSEL_DEGREE + 1)
    n = int((_BESSEL_END - BESSEL_BEGIN) * BESSEL_PER_UNIT)
    middle = BESSEL_BEGIN + (np.arange(n) + 0.5) / BESSEL_PER_UNIT
    z = np.exp(middle + x[:, None] * (0.5 / BESSEL_PER_UNIT))
    table = np.zeros((2 * (_BESSEL_DEGREE + 1), n))
    table[0::2] = matrix @ log_bessel(order, z)
    table[1::2] = matrix @ bessel_ratio(order, z)
    table[:, [0, -1]] = 0.0
    table[0, 0] = -order * math.log(2.0) - float(gammaln(order + 1.0))
    slope = -(order + 0.5)
    table[0, -1] = slope * middle[-1] - 0.5 * math.log(2.0 * math.pi)
    table[1, -1], table[2, -1] = 1.0, slope * 0.5 / BESSEL_PER_UNIT
    return table


@compiled_fast
def log_bessel_and_ratio(table: Array, log_z: float) -> tuple[float, float]:
    """ln(z^-order exp(-z) I_order(z)) and I_{order+1}(z) / I_order(z), from ln z.

    Without a branch, so that several are computed at once; beyond the table's ends the polynomials
    of the last intervals go on.
    """
    place = (log_z - BESSEL_BEGIN) * BESSEL_PER_UNIT
    i = np.int32(min(max(place, 0.0), table.shape[1] - 1.0))
    x = 2.0 * (place - i) - 1.0
    value, ratio = table[10, i], table[11, i]
    value, ratio = value * x + table[8, i], ratio * x + table[9, i]
    value, ratio = value * x + table[6, i], ratio * x + table[7, i]
    value, ratio = value * x + table[4, i], ratio * x + table[5, i]
    value, ratio = value * x + table[2, i], ratio * x + table[3, i]
    return value * x + table[0, i], ratio * x + table[1, i]


SHAPES = (0.02, 2e6)  # over which quantiles are tabulated
N_SHAPES = 4096


@lru_cache(maxsize=2)
def quantile_table(tail: float) -> Array:
    """(2, number): ln of the quantiles of Gamma(shape, 1) at `tail` and 1 - `tail`, over equal
    steps of ln shape; they only say where a table begins and ends.
    """
    shape = np.exp(np.linspace(math.log(SHAPES[0]), math.log(SHAPES[1]), N_SHAPES))
    low = np.maximum(gammaincinv(shape, tail), 1e-290)
    return np.asarray(np.log(np.stack([low, gammainccinv(shape, tail)])))


@compiled
def cholesky_solve(gram: Array, moment: Array) -> None:
    """moment becomes the x of gram x = moment, for a symmetric positive matrix, which is
    overwritten.

    It is solved in units of its diagonal. Where rounding has left it singular, as little as is
    needed is added to the diagonal, so that the solution is nearly the smallest one.
    """
    unit = np.empty(len(moment))
    _substitute(gram, unit, _factor_in_units(gram, unit), moment)


@compiled
def cholesky_solve_each(gram: Array, moments: Array) -> None:
    """The same for several right sides, (side, number)."""
    unit = np.empty(moments.shape[1])
    sound = _factor_in_units(gram, unit)
    for k in range(len(moments)):
        _substitute(gram, unit, sound, moments[k])


@compiled
def _factor_in_units(gram: Array, unit: Array) -> bool:
    """Cholesky's factor of the matrix in units of its diagonal; whether there is one."""
    n = len(unit)
    for i in range(n):
        unit[i] = 1.0 / math.sqrt(gram[i, i]) if gram[i, i] > 0.0 else 1.0
    for i in range(n):
        for j in range(i + 1):
            gram[i, j] *= unit[i] * unit[j]
            gram[j, i] = gram[i, j]
    ridge = 0.0
    while not _factor(gram, ridge):
        ridge = 1e-14 if ridge == 0.0 else 10.0 * ridge
        if ridge > 1.0:
            return False
    return True


@compiled
def _substitute(gram: Array, unit: Array, sound: bool, moment: Array) -> None:
    n = len(moment)
    if not sound:
        for i in range(n):
            moment[i] = math.nan
        return
    for i in range(n):
        moment[i] *= unit[i]
    for i in range(n):
        total = moment[i]
        for j in range(i):
            total -= gram[i, j] * moment[j]
        moment[i] = total / gram[i, i]
    for i in range(n - 1, -1, -1):
        total = moment[i]
        for j in range(i + 1, n):
            total -= gram[j, i] * moment[j]
        moment[i] = total / gram[i, i]
    for i in range(n):
        moment[i] *= unit[i]


@compiled_fast
def _factor(gram: Array, ridge: float) -> bool:
    """The lower triangle becomes Cholesky's factor; the upper one stays, to begin anew with."""
    n = len(gram)
    for i in range(n):
        for j in range(i + 1):
            total = gram[j, i]
            if i == j:  # the diagonal of a matrix in its own units
                total = (1.0 if gram[i, i] != 0.0 else 0.0) + ridge
            for k in range(j):
                total -= gram[i, k] * gram[j, k]
            if i == j:
                if not total > 1e-14:
                    return False
                gram[i, i] = math.sqrt(total)
            else:
                gram[i, j] = total / gram[j, j]
    return True
