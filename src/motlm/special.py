"""What scipy lacks: a scaled Bessel function that neither under- nor overflows, its ratio, and both
by table.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import gammaln, ive

from ._typing import Array

__all__ = [
    "bessel_ratio",
    "log_bessel",
    "powers_from_values",
    "solve",
]

_SERIES_BELOW = 1.0  # twelve terms of the power series reach 1e-17 there, for every order >= -1/2
_ASYMPTOTIC_ABOVE = (
    1e6  # scipy's ive is nan from about 1e9; seven terms of the expansion reach 1e-17 here
)
_DEBYE_FROM = (
    60.0  # from this order on scipy's ive underflows at moderate z; nine terms reach 1e-15 here
)
_SERIES_TERMS = 12
_ASYMPTOTIC_TERMS = 7
_DEBYE_TERMS = 9


def _small(order: float, z: Array) -> Array:
    """sum_m (z^2/4)^m / (m! (order+1)_m), the power series of I without its leading power."""
    quarter = 0.25 * z * z
    total = np.ones_like(z)
    term = np.ones_like(z)
    for m in range(1, _SERIES_TERMS + 1):
        term = term * (quarter / (m * (order + m)))
        total = total + term
    return total


def _large(order: float, z: Array) -> Array:
    """sqrt(2 pi z) exp(-z) I_order(z), Hankel's expansion."""
    total = np.ones_like(z)
    term = np.ones_like(z)
    for m in range(1, _ASYMPTOTIC_TERMS + 1):
        term = term * (-(4.0 * order**2 - (2 * m - 1) ** 2) / (8.0 * m * z))
        total = total + term
    return total


@lru_cache(maxsize=1)
def _debye_polynomials() -> list[np.polynomial.Polynomial]:
    """U_0 = 1, U_{k+1}(p) = p^2 (1 - p^2) U_k'(p) / 2 + int_0^p (1 - 5 t^2) U_k(t) dt / 8 (DLMF
    10.41.9).
    """
    p2 = np.polynomial.Polynomial([0.0, 0.0, 1.0])
    terms = [np.polynomial.Polynomial([1.0])]
    for _ in range(_DEBYE_TERMS):
        u = terms[-1]
        terms.append(0.5 * p2 * (1.0 - p2) * u.deriv() + 0.125 * ((1.0 - 5.0 * p2) * u).integ())
    return terms


def _log_debye(order: float, z: Array) -> Array:
    """ln( z^-order exp(-z) I_order(z) ) by the expansion uniform in z for large orders (DLMF
    10.41.3).
    """
    root = np.hypot(order, z)
    p = order / root
    total = np.zeros_like(z)
    for k, u in enumerate(_debye_polynomials()):
        total += u(p) / order**k
    gap = order * order / (root + z)  # root - z
    return gap - order * np.log(order + root) - 0.5 * np.log(2.0 * np.pi * root) + np.log(total)


def solve(gram: Array, moment: Array) -> Array:
    """The x of gram x = moment, for positive matrices; the smallest one in units of the diagonal
    where rounding has left a matrix singular.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.special import solve
    >>> solve(np.array([[1e40, 1e40], [1e40, 1e40]]), np.array([2e40, 2e40]))
    array([1., 1.])
    """
    try:
        found = np.asarray(np.linalg.solve(gram, moment[..., None])[..., 0])
        if np.isfinite(found).all():
            return found
    except np.linalg.LinAlgError:
        pass
    diagonal = np.einsum("...ii->...i", gram)
    unit = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = gram / unit[..., None] / unit[..., None, :]
    inverse = np.linalg.pinv(scaled, hermitian=True)
    return np.asarray((inverse @ (moment / unit)[..., None])[..., 0] / unit)


def log_bessel(order: float, z: Array) -> Array:
    """ln( z^-order exp(-z) I_order(z) ) for z >= 0 and order >= -1/2; finite at z = 0."""
    z = np.asarray(z, dtype=float)
    if order >= _DEBYE_FROM:
        return _log_debye(order, z)
    with np.errstate(all="ignore"):  # the branches that are not taken may overflow
        result = np.asarray(np.log(ive(order, z)) - order * np.log(z))
    small, large = z <= _SERIES_BELOW, z > _ASYMPTOTIC_ABOVE
    at = z[small]
    result[small] = np.log(_small(order, at)) - at - order * np.log(2.0) - gammaln(order + 1.0)
    at = z[large]
    result[large] = (
        np.log(_large(order, at)) - (order + 0.5) * np.log(at) - 0.5 * np.log(2.0 * np.pi)
    )
    return result


def bessel_ratio(order: float, z: Array) -> Array:
    """I_{order+1}(z) / I_order(z) for z >= 0 and order >= -1/2: from 0 at z = 0 up towards 1."""
    z = np.asarray(z, dtype=float)
    if order >= _DEBYE_FROM:
        return z * np.exp(_log_debye(order + 1.0, z) - _log_debye(order, z))
    with np.errstate(all="ignore"):
        result = np.asarray(ive(order + 1.0, z) / ive(order, z))
    small, large = z <= _SERIES_BELOW, z > _ASYMPTOTIC_ABOVE
    at = z[small]
    result[small] = at / (2.0 * (order + 1.0)) * _small(order + 1.0, at) / _small(order, at)
    at = z[large]
    result[large] = _large(order + 1.0, at) / _large(order, at)
    return result


def powers_from_values(n: int) -> tuple[Array, Array]:
    """Chebyshev nodes in (-1, 1), and the matrix from values at them to the coefficients of 1, x,
    .., x^(n-1).
    """
    nodes = np.cos(np.pi * (np.arange(n) + 0.5) / n)
    chebyshev_from_values = np.cos(np.outer(np.arange(n), np.arccos(nodes))) * (2.0 / n)
    chebyshev_from_values[0] /= 2.0
    powers_from_chebyshev = np.zeros((n, n))
    for j in range(n):
        powers_from_chebyshev[: j + 1, j] = np.polynomial.chebyshev.cheb2poly(np.eye(n)[j])[: j + 1]
    return nodes, powers_from_chebyshev @ chebyshev_from_values
