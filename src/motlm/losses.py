"""Gibbs losses: the expected loss of a score s ~ N(mean, variance), as elementwise functions with partials.

A loss is one class with `value_and_partials(y, mean, variance) -> (value, d/dmean, d/dvariance)`; add it to LOSSES and the
tests' laws run over it.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from ._typing import Array
from .special import normal_cdf_and_density

__all__ = ["LOSSES", "Loss", "LossPartials", "Squared", "ZeroOne"]


class LossPartials(NamedTuple):
    """A Gibbs loss and its partial derivatives, elementwise."""

    value: Array
    mean: Array
    variance: Array


class Loss(Protocol):
    """What the objective asks of a loss."""

    name: str

    def value_and_partials(self, y: Array, mean: Array, variance: Array) -> LossPartials: ...


class ZeroOne:
    """P(y s <= 0) = Phi(-y mean / sqrt(variance)),   s ~ N(mean, variance), y in {-1, +1}."""

    name = "zero-one"

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
    """E (s - y)^2 = (mean - y)^2 + variance,   s ~ N(mean, variance)."""

    name = "squared"

    def value_and_partials(self, y: Array, mean: Array, variance: Array) -> LossPartials:
        residual = mean - y
        return LossPartials(residual * residual + variance, 2.0 * residual, np.ones_like(variance))


LOSSES: tuple[Loss, ...] = (ZeroOne(), Squared())
