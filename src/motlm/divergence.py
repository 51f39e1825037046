"""Kullback-Leibler divergences of posterior from prior, with partials."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._typing import Array, ArrayLike

__all__ = ["GammaDivergence", "GaussianDivergence", "gamma", "gaussian"]


class GaussianDivergence(NamedTuple):
    """KL of one isotropic Gaussian from another, with its partials in the first one's mean and
    scale.
    """

    value: Array
    mean: Array
    scale: Array


class GammaDivergence(NamedTuple):
    """KL of one Gamma distribution from another, with its partials in the first one's shape and
    rate.
    """

    value: Array
    shape: Array
    rate: Array


def gaussian(
    mean: ArrayLike, scale: ArrayLike, prior_mean: ArrayLike, prior_scale: ArrayLike
) -> GaussianDivergence:
    """KL( N(mean, scale^2 I_d) || N(prior_mean, prior_scale^2 I_d) ), eq. 12 of the paper.

    ``= d (ln(s0/s) + (s^2/s0^2 - 1)/2) + |m - m0|^2 / (2 s0^2)``; mean is (..., d), the scales are
    (...).

    Parameters
    ----------
    mean : array, (..., d)
    scale : array, (...)
    prior_mean : float or array that broadcasts with mean
    prior_scale : float or array that broadcasts with scale

    Returns
    -------
    GaussianDivergence
        With `value` (...), and its partials `mean` (..., d) and `scale` (...).

    Examples
    --------
    Equal scales leave abs(m - m0)^2 / (2 s0^2), here 25/2:

    >>> from motlm.divergence import gaussian
    >>> kl = gaussian([3.0, 4.0], 1.0, 0.0, 1.0)
    >>> float(kl.value), kl.mean, float(kl.scale)
    (12.5, array([3., 4.]), 0.0)
    """
    from ._engine.entries import gaussian_divergences

    m, s = np.asarray(mean, dtype=float), np.asarray(scale, dtype=float)
    m0 = np.broadcast_to(np.asarray(prior_mean, dtype=float), m.shape)
    s0 = np.broadcast_to(np.asarray(prior_scale, dtype=float), s.shape)
    rows, d = s.size, m.shape[-1]
    means = (np.array(one).reshape(rows, d) for one in (m, m0))
    scales = (np.array(one).ravel() for one in (s, s0))
    (m, m0), (s, s0) = means, scales
    value, by_mean, by_scale = gaussian_divergences(m, s, m0, s0)
    shape = np.shape(scale)
    return GaussianDivergence(
        value.reshape(shape), by_mean.reshape(*shape, d), by_scale.reshape(shape)
    )


def gamma(
    shape: ArrayLike, rate: ArrayLike, prior_shape: ArrayLike, prior_rate: ArrayLike
) -> GammaDivergence:
    """KL( Gamma(k, t) || Gamma(k0, t0) ), eq. 13 of the paper.

    ``= (k - k0) psi(k) + ln Gamma(k0) - ln Gamma(k) + k0 ln(t/t0) + k (t0 - t)/t``

    Parameters
    ----------
    shape, rate : float or array
        k and t, of the posterior.
    prior_shape, prior_rate : float or array
        k0 and t0.

    Returns
    -------
    GammaDivergence
        With `value`, and its partials `shape` and `rate`.

    Examples
    --------
    Of two exponential distributions, k = k0 = 1, it is ln(t/t0) + t0/t - 1:

    >>> from math import log
    >>> from motlm.divergence import gamma
    >>> kl = gamma(1.0, 2.0, 1.0, 1.0)
    >>> bool(abs(kl.value - (log(2.0) + 0.5 - 1.0)) < 1e-12)
    True
    >>> float(gamma(2.0, 0.1, 2.0, 0.1).value)
    0.0
    """
    from ._engine.entries import gamma_divergences

    every = np.broadcast_arrays(
        *(np.asarray(one, dtype=float) for one in (shape, rate, prior_shape, prior_rate))
    )
    found = gamma_divergences(*(np.array(one).ravel() for one in every))
    return GammaDivergence(*(one.reshape(every[0].shape) for one in found))
