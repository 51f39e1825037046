"""Gibbs losses: the expected loss of a score s ~ N(mean, variance), as elementwise functions with
partials.

A loss is one class with `value_and_partials(y, mean, variance) -> (value, d/dmean, d/dvariance)`;
add it to LOSSES and the tests run over it.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from ._typing import Array
from .limits import flush_to_zero
from .special import normal_cdf_and_density

__all__ = ["LOSSES", "Loss", "LossPartials", "OffBy", "Squared", "ZeroOne"]

_LEAST_VARIANCE = 1e-3  # of a roughly fitted score


class LossPartials(NamedTuple):
    """A Gibbs loss and its partial derivatives, elementwise."""

    value: Array
    mean: Array
    variance: Array


class Loss(Protocol):
    """The interface of a loss."""

    name: str
    closed_form: bool  # whether the best models, given the memberships, have a closed form

    def value_and_partials(self, y: Array, mean: Array, variance: Array) -> LossPartials: ...

    def rough_target(self, y: Array) -> Array:
        """Scores that a rough least-squares fit, where a search begins, aims at."""

    def rough_variance(self, residual: float) -> float:
        """Of the score of such a fit, whose mean squared residual is given."""


class ZeroOne:
    """P(y s <= 0) = Phi(-y mean / sqrt(variance)),   s ~ N(mean, variance), y in {-1, +1}.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.losses import ZeroOne
    >>> y, mean, variance = np.array([1.0, 1.0, -1.0]), np.array([0.0, 2.0, 2.0]), np.ones(3)
    >>> ZeroOne().value_and_partials(y, mean, variance).value.round(4)  # 1/2, Phi(-2), Phi(2)
    array([0.5   , 0.0228, 0.9772])
    """

    name = "zero-one"
    closed_form = False

    def rough_target(self, y: Array) -> Array:
        return y

    def rough_variance(self, residual: float) -> float:
        return max(residual, _LEAST_VARIANCE)

    @flush_to_zero
    def value_and_partials(self, y: Array, mean: Array, variance: Array) -> LossPartials:
        per_scale = np.sqrt(variance)
        np.divide(-1.0, per_scale, out=per_scale)
        signed = y * per_scale
        t = mean * signed
        value, density = normal_cdf_and_density(t)
        signed *= density
        density *= t
        density *= per_scale
        density *= per_scale
        density *= -0.5
        return LossPartials(value, signed, density)


class Squared:
    """E (s - y)^2 = (mean - y)^2 + variance,   s ~ N(mean, variance).

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.losses import Squared
    >>> Squared().value_and_partials(np.array([1.0]), np.array([3.0]), np.array([0.5]))  # 2^2 + 0.5
    LossPartials(value=array([4.5]), mean=array([4.]), variance=array([1.]))
    """

    name = "squared"
    closed_form = True

    def rough_target(self, y: Array) -> Array:
        return y

    def rough_variance(self, residual: float) -> float:
        return 0.0  # certain: its variance would only add to the loss

    def value_and_partials(self, y: Array, mean: Array, variance: Array) -> LossPartials:
        residual = mean - y
        return LossPartials(residual * residual + variance, 2.0 * residual, np.ones_like(variance))


class OffBy:
    """P(abs(s - y) > t) = Phi((r - t) / sd) + Phi((-t - r) / sd),   s ~ N(mean, variance), r = mean
    - y, sd = sqrt(variance).

    Parameters
    ----------
    tolerance : float, default=1.0
        t, the error that is still acceptable.

    Examples
    --------
    A score with mean y and variance 1 is off by more than 1.96 with probability 0.05:

    >>> import numpy as np
    >>> from motlm.losses import OffBy
    >>> zero, one = np.array([0.0]), np.array([1.0])
    >>> OffBy(1.96).value_and_partials(zero, zero, one).value.round(4)
    array([0.05])
    """

    name = "off by"
    closed_form = False

    def rough_target(self, y: Array) -> Array:
        return y

    def rough_variance(self, residual: float) -> float:
        return max(residual, _LEAST_VARIANCE)

    def __init__(self, tolerance: float = 1.0) -> None:
        self.tolerance = tolerance

    @flush_to_zero
    def value_and_partials(self, y: Array, mean: Array, variance: Array) -> LossPartials:
        per_scale = 1.0 / np.sqrt(variance)
        residual = mean - y
        above, below = (
            (residual - self.tolerance) * per_scale,
            (-self.tolerance - residual) * per_scale,
        )
        share_above, density_above = normal_cdf_and_density(above)
        share_below, density_below = normal_cdf_and_density(below)
        by_mean = (density_above - density_below) * per_scale
        by_variance = -0.5 * (density_above * above + density_below * below) * per_scale**2
        return LossPartials(share_above + share_below, by_mean, by_variance)


LOSSES: tuple[Loss, ...] = (ZeroOne(), Squared(), OffBy())
