"""Bounds on a risk, as functions of what was observed. They do not depend on models; arguments
may be arrays.

Each holds with probability 1 - delta over the draw of the rows it is computed on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betaincinv, gammaincc, gammaln
from scipy.stats import binom

from ._betting import betting, betting_reduction, check_delta, is_below
from ._typing import Array, ArrayLike
from .errors import InputError

__all__ = [
    "best_c",
    "betting",
    "betting_reduction",
    "binary_kl",
    "binary_kl_inverse",
    "catoni",
    "clopper_pearson",
    "conformal_rank",
    "is_below",
    "pac_bayes_kl",
    "rows_needed",
    "xi",
]

_STEPS = 200  # of Newton or of halving; a dozen are needed
_SERIES = 0.02  # below which ln(1 + x) - x is summed


def _log1p_less(x: Array) -> Array:
    """ln(1 + x) - x without cancellation."""
    near = np.where(np.abs(x) < _SERIES, x, 0.0)
    series = np.zeros_like(near)
    for k in range(12, 1, -1):
        series = near * series + (-1.0) ** (k + 1) / k
    with np.errstate(divide="ignore"):
        return np.where(np.abs(x) < _SERIES, series * near**2, np.log1p(x) - x)


def _log_less(ratio: Array, gap: Array) -> Array:
    """ln(ratio) - gap, for a gap of ratio - 1."""
    near = ratio > 0.5
    return np.where(near, _log1p_less(np.where(near, gap, 0.0)), np.log(ratio) - gap)


def binary_kl(q: ArrayLike, p: ArrayLike) -> Any:
    """kl(q || p) = q ln(q/p) + (1-q) ln((1-q)/(1-p)), the divergence of two coins.

    Computed as d^2 / (p (1-p)) + q f(-d/p) + (1-q) f(d/(1-p)) with d = p - q and f(x) = ln(1+x) -
    x, which loses nothing where p is close to q.

    Parameters
    ----------
    q, p : float or array, in [0, 1]

    Returns
    -------
    float or ndarray
        Infinite where p is 0 or 1 and q is not.

    Examples
    --------
    >>> from math import log
    >>> from motlm.bounds import binary_kl
    >>> bool(abs(binary_kl(0.0, 0.5) - log(2)) < 1e-12)
    True
    >>> binary_kl([0.1, 0.2, 0.3], 0.2).round(4)
    array([0.0367, 0.    , 0.0282])
    """
    q, p = np.broadcast_arrays(np.asarray(q, dtype=float), np.asarray(p, dtype=float))
    _check_shares(q=q, p=p)
    inside = (p > 0) & (p < 1)
    at = np.where(inside, p, 0.5)
    gap = at - q
    some, rest = np.where(q > 0, q / at, 1.0), np.where(q < 1, (1 - q) / (1 - at), 1.0)
    first = q * _log_less(some, np.where(q > 0, -gap / at, 0.0))
    second = (1 - q) * _log_less(rest, np.where(q < 1, gap / (1 - at), 0.0))
    # where q is 0 or 1 one of the logarithms is missing, with its share of the linear term
    linear = np.where(q > 0, -q * gap / at, 0.0) + np.where(q < 1, (1 - q) * gap / (1 - at), 0.0)
    both = (q > 0) & (q < 1)
    value = first + second + np.where(both, gap**2 / (at * (1 - at)), linear)
    edge = np.where(p == q, 0.0, np.inf)
    return np.maximum(np.where(inside, value, edge), 0.0)[()]


def binary_kl_inverse(q: ArrayLike, c: ArrayLike) -> Any:
    """kl+(q, c) = sup {p : kl(q || p) <= c}, by Newton's method from the right of the root, where
    it cannot overshoot.

    The lower inverse is 1 - kl+(1 - q, c).

    Parameters
    ----------
    q : float or array, in [0, 1]
    c : float or array, at least 0

    Returns
    -------
    float or ndarray
        In [q, 1].

    Examples
    --------
    For q = 0 it is 1 - exp(-c):

    >>> from math import exp
    >>> from motlm.bounds import binary_kl, binary_kl_inverse
    >>> bool(abs(binary_kl_inverse(0.0, 0.1) - (1 - exp(-0.1))) < 1e-12)
    True
    >>> p = binary_kl_inverse(0.2, 0.05)
    >>> round(float(p), 4), round(float(binary_kl(0.2, p)), 6)
    (0.3435, 0.05)
    """
    q, c = np.broadcast_arrays(np.asarray(q, dtype=float), np.asarray(c, dtype=float))
    _check_shares(q=q)
    if not (c >= 0).all():
        raise InputError(f"c must be a number >= 0; got {np.min(c)}.")
    rest = 1.0 - q
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.where(q > 0, q * np.log(q), 0.0) - np.where(
            rest > 0, rest * np.log(rest), 0.0
        )
        # both lie right of the root: Pinsker's inequality, and kl >= -entropy - (1-q) ln(1-p)
        far = np.where(
            rest > 0,
            -np.expm1(-np.where(np.isinf(c), np.inf, c + entropy) / np.where(rest > 0, rest, 1.0)),
            1.0,
        )
    p = np.minimum(np.minimum(q + np.sqrt(c / 2), far), 1.0)
    for _ in range(_STEPS):
        moving = (p > q) & (p < 1)
        slope = np.where(moving, (p - q) / np.where(moving, p * (1 - p), 1.0), 1.0)
        step = (binary_kl(q, np.where(moving, p, q)) - np.where(moving, c, 0.0)) / slope
        new = np.clip(p - np.maximum(step, 0.0), q, 1.0)
        if (np.abs(new - p) <= 1e-15 * p).all():
            break
        p = new
    return p[()]


def xi(n_rows: ArrayLike) -> Any:
    """xi(m) = sum_k C(m, k) (k/m)^k (1 - k/m)^(m-k), the constant of the PAC-Bayes-kl bound; at
    most 2 sqrt(m).

    By Abel's identity it is (m! / m^m) sum_{j <= m} m^j / j! = sqrt(2 pi m) e^s(m) Q(m + 1, m),
    with Stirling's remainder s(m) and the regularized incomplete gamma function Q: no sum, and
    nothing that overflows.

    Parameters
    ----------
    n_rows : int or array, at least 1
        m.

    Returns
    -------
    float or ndarray

    Examples
    --------
    >>> from motlm.bounds import xi
    >>> xi([1, 2, 1000]).round(3)  # 2 and 5/2 by hand
    array([ 2.   ,  2.5  , 40.303])
    """
    m = np.asarray(n_rows, dtype=float)
    if not (m >= 1).all():
        raise InputError(f"n_rows must be at least 1; got {np.min(m)}.")
    return (np.sqrt(2 * np.pi * m) * np.exp(_stirling_remainder(m)) * gammaincc(m + 1, m))[()]


def _stirling_remainder(m: Array) -> Array:
    """ln m! - ((m + 1/2) ln m - m + ln(2 pi) / 2)."""
    large = np.maximum(m, 30.0)
    series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * large**2)) / large**2) / large**2) / large
    exact = gammaln(m + 1) - (m + 0.5) * np.log(m) + m - 0.5 * np.log(2 * np.pi)
    return np.asarray(np.where(m >= 30, series, exact))


def pac_bayes_kl(
    risk: ArrayLike, kl: ArrayLike, n_rows: ArrayLike, delta: ArrayLike, prior_mass: ArrayLike = 1.0
) -> Any:
    """kl+(risk, (KL + ln(xi(m) / (delta p))) / m): Maurer's form of Seeger's bound, for every
    posterior at once.

    Parameters
    ----------
    risk : empirical Gibbs risk, in [0, 1]
    kl : KL(posterior || prior); the prior must not depend on these rows
    n_rows : m, the number of independent rows
    delta : the probability with which the bound may fail
    prior_mass : p, the prior weight of the choice that was made on the same rows (such as n)

    Returns
    -------
    float or ndarray
        Upper bound on the Gibbs risk.

    Examples
    --------
    Without empirical risk it is 1 - exp(-(KL + ln(xi(m) / delta)) / m):

    >>> from math import exp, log
    >>> from motlm.bounds import pac_bayes_kl, xi
    >>> bound = pac_bayes_kl(0.0, kl=20.0, n_rows=1000, delta=0.05)
    >>> bool(abs(bound - (1 - exp(-(20.0 + log(xi(1000) / 0.05)) / 1000))) < 1e-12)
    True
    >>> pac_bayes_kl([0.0, 0.1], kl=20.0, n_rows=1000, delta=0.05).round(3)
    array([0.026, 0.183])
    """
    check_delta(delta)
    m = np.asarray(n_rows, dtype=float)
    cost = np.asarray(kl, dtype=float) + np.log(xi(m)) - np.log(delta) - np.log(prior_mass)
    return binary_kl_inverse(risk, cost / m)


def catoni(
    risk: ArrayLike, kl: ArrayLike, n_rows: ArrayLike, delta: ArrayLike, c: ArrayLike
) -> Any:
    """[1 - exp(-C risk - (KL + ln(1/delta)) / m)] / (1 - exp(-C)): Catoni's bound, for a C chosen
    without these rows.

    With C = lambda / m it is monotone in risk + KL / lambda, which is what the estimators minimize.
    Above 1 it is vacuous.

    Parameters
    ----------
    risk : float or array
        Empirical Gibbs risk, in [0, 1].
    kl : float or array
        KL(posterior || prior); the prior must not depend on these rows.
    n_rows : int or array
        m, the number of independent rows.
    delta : float or array
        The probability with which the bound may fail.
    c : float or array
        C, above 0.

    Returns
    -------
    float or ndarray
        Upper bound on the Gibbs risk.

    Examples
    --------
    >>> from motlm.bounds import catoni
    >>> catoni(0.1, kl=20.0, n_rows=1000, delta=0.05, c=[0.1, 1.0, 10.0]).round(3)
    array([0.341, 0.183, 0.641])
    """
    check_delta(delta)
    c = np.asarray(c, dtype=float)
    if not (c > 0).all():
        raise InputError(f"c must be a number > 0; got {np.min(c)}.")
    exponent = c * np.asarray(risk) + (np.asarray(kl, dtype=float) - np.log(delta)) / np.asarray(
        n_rows, dtype=float
    )
    return (np.expm1(-exponent) / np.expm1(-c))[()]


def best_c(risk: ArrayLike, kl: ArrayLike, n_rows: ArrayLike, delta: ArrayLike) -> Any:
    """The C for which Catoni's bound is smallest, if risk and KL turn out to be these: logit(b) -
    logit(risk), with b = kl+(risk, (KL + ln(1/delta)) / m) the smallest bound. They must be guessed
    without the rows that the bound is for.

    Parameters
    ----------
    risk, kl : float or array
        Guesses of the empirical Gibbs risk and of the divergence.
    n_rows : int or array
        m, the number of rows that the bound is for.
    delta : float or array
        The probability with which the bound may fail.

    Returns
    -------
    float or ndarray

    Examples
    --------
    With it Catoni's bound is kl+(risk, (KL + ln(1/delta)) / m):

    >>> from math import log
    >>> from motlm.bounds import best_c, binary_kl_inverse, catoni
    >>> c = best_c(0.1, kl=20.0, n_rows=1000, delta=0.05)
    >>> round(float(c), 3)
    0.655
    >>> inverse = binary_kl_inverse(0.1, (20.0 + log(1 / 0.05)) / 1000)
    >>> bool(abs(catoni(0.1, 20.0, 1000, 0.05, c) - inverse) < 1e-9)
    True
    """
    check_delta(delta)
    m = np.asarray(n_rows, dtype=float)
    q = np.clip(np.asarray(risk, dtype=float), 0.5 / m, 1.0 - 0.5 / m)
    bound = np.minimum(
        binary_kl_inverse(q, (np.asarray(kl, dtype=float) - np.log(delta)) / m), 1.0 - 1e-12
    )
    return (np.log(bound / q) + np.log1p(-q) - np.log1p(-bound))[()]


def clopper_pearson(errors: ArrayLike, n_rows: ArrayLike, delta: ArrayLike) -> Any:
    """The largest error rate at which so few errors in so many rows have probability delta or more.

    For a model that was fixed before these rows were looked at.

    Parameters
    ----------
    errors : int or array
        How many of the rows were errors.
    n_rows : int or array
    delta : float or array
        The probability with which the bound may fail.

    Returns
    -------
    float or ndarray
        Upper bound on the error rate.

    Examples
    --------
    Without errors it is 1 - delta^(1/n):

    >>> from motlm.bounds import clopper_pearson
    >>> bool(abs(clopper_pearson(0, 60, 0.05) - (1 - 0.05 ** (1 / 60))) < 1e-12)
    True
    >>> clopper_pearson([0, 1, 5], 60, 0.05).round(4)
    array([0.0487, 0.0766, 0.1673])
    """
    check_delta(delta)
    k, m = np.broadcast_arrays(np.asarray(errors, dtype=float), np.asarray(n_rows, dtype=float))
    if not ((k >= 0) & (k <= m) & (m >= 1)).all():
        raise InputError("errors must lie between 0 and n_rows, and n_rows be at least 1.")
    all_wrong = k == m
    return np.where(
        all_wrong, 1.0, betaincinv(k + 1, np.where(all_wrong, 1.0, m - k), 1.0 - np.asarray(delta))
    )[()]


def conformal_rank(n_rows: ArrayLike, miss: ArrayLike, delta: ArrayLike) -> Any:
    """The smallest k such that the k-th smallest of m residuals is at least the 1 - miss quantile
    with probability 1 - delta.

    The share of future residuals below it is Beta(k, m + 1 - k) distributed (or larger, with ties),
    and P(Beta(k, m + 1 - k) < 1 - miss) = P(Bin(m, 1 - miss) >= k). Where m is too small it is m +
    1: no residual is large enough.

    Parameters
    ----------
    n_rows : int or array
        m, the number of residuals.
    miss : float or array
        Share of future outcomes that may be missed.
    delta : float or array
        The probability with which more may be missed.

    Returns
    -------
    int or ndarray of int

    Examples
    --------
    With 28 residuals no interval is wide enough, with 29 the largest of them is: 0.9^29 is below
    0.05.

    >>> from motlm.bounds import conformal_rank
    >>> conformal_rank([28, 29, 100], miss=0.1, delta=0.05)
    array([29, 29, 96])
    """
    check_delta(delta)
    check_delta(miss, "miss")
    m = np.asarray(n_rows, dtype=float)
    return (np.asarray(binom.isf(delta, m, 1.0 - np.asarray(miss, dtype=float))).astype(int) + 1)[
        ()
    ]


def rows_needed(share: ArrayLike, delta: ArrayLike) -> Any:
    """In how many rows something of this probability is seen at least once, but for a probability
    of delta.

    With fewer, not even a model without errors is certified to err on less than this share, and no
    interval to miss less.

    Parameters
    ----------
    share : float or array
        The probability of what has to be seen.
    delta : float or array
        The probability with which it may not be.

    Returns
    -------
    int or ndarray of int
        The smallest m with (1 - share)^m at most delta.

    Examples
    --------
    >>> from motlm.bounds import rows_needed
    >>> int(rows_needed(0.1, 0.05)), 0.9**28 > 0.05 >= 0.9**29
    (29, True)
    """
    check_delta(delta)
    check_delta(share, "share")
    return np.ceil(np.log(delta) / np.log1p(-np.asarray(share, dtype=float)) - 1e-9).astype(int)[()]


def _check_shares(**shares: Array) -> None:
    for name, values in shares.items():
        if not ((values >= 0) & (values <= 1)).all():
            raise InputError(
                f"{name} must lie between 0 and 1; got"
                f" {values[~((values >= 0) & (values <= 1))][0]}."
            )
