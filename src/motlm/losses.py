"""Gibbs losses: the expected loss of a score s ~ N(mean, variance), as elementwise functions with
partials.

A loss is one class with `value_and_partials(y, mean, variance) -> (value, d/dmean, d/dvariance)`,
which the engine computes by its code; add it to LOSSES and the tests run over it.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from ._typing import Array
from .errors import InputTypeError
from .limits import flush_to_zero

__all__ = [
    "LOSSES",
    "Gamma",
    "Log",
    "Loss",
    "LossPartials",
    "OffBy",
    "Poisson",
    "Squared",
    "Tweedie",
    "ZeroOne",
    "check_loss",
]


class LossPartials(NamedTuple):
    """A Gibbs loss and its partial derivatives, elementwise."""

    value: Array
    mean: Array
    variance: Array


class Loss(Protocol):
    """The interface of a loss."""

    name: str
    closed_form: bool  # whether the best models, given the memberships, have a closed form
    code: int  # by which the engine knows it
    tolerance: float  # its parameter, for those that have one
    # whether it is a negative log-likelihood: then nats of the objective are nats of the data, by
    # which searches are told apart, and the prior scales of the weights can be learned
    likelihood: bool
    start_scale: float  # of weights and intercepts, where searches begin

    def value_and_partials(self, y: Array, mean: Array, variance: Array) -> LossPartials: ...


class _Compiled:
    """A loss that the engine computes."""

    code: int
    tolerance: float = 1.0
    likelihood: bool = False
    start_scale: float = 0.3

    @flush_to_zero
    def value_and_partials(self, y: Array, mean: Array, variance: Array) -> LossPartials:
        from ._engine.entries import losses

        every = np.broadcast_arrays(*(np.asarray(one, float) for one in (y, mean, variance)))
        flat = (np.array(one).ravel() for one in every)
        found = losses(self.code, float(self.tolerance), *flat)
        return LossPartials(*(one.reshape(every[0].shape) for one in found))


def check_loss(loss: Loss) -> None:
    """Raise unless the engine computes this loss as its class does."""
    made = getattr(type(loss), "value_and_partials", None)
    if made is not _Compiled.value_and_partials or not isinstance(getattr(loss, "code", None), int):
        raise InputTypeError(
            f"expected a loss that the engine knows ({', '.join(one.name for one in LOSSES)}); got"
            f" a {type(loss).__name__}. docs/adding-a-loss.md says how to add one."
        )


class ZeroOne(_Compiled):
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
    code = 0


class Squared(_Compiled):
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
    code = 1


class OffBy(_Compiled):
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
    code = 2

    def __init__(self, tolerance: float = 1.0) -> None:
        self.tolerance = tolerance


class Log(_Compiled):
    """E ln(1 + exp(-y s)) <= ln(1 + exp(-xi)) + (xi - y mean) / 2,   xi = sqrt(mean^2 + variance),
    y in {-1, +1}.

    That is Jaakkola and Jordan's bound at its best xi; it is exact for a variance of 0.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.losses import Log
    >>> y, mean, variance = np.array([1.0, -1.0]), np.array([0.0, 2.0]), np.array([0.0, 1.0])
    >>> Log().value_and_partials(y, mean, variance).value.round(4)  # ln 2; E is 2.1763
    array([0.6931, 2.2196])
    """

    name = "log"
    closed_form = False
    code = 3
    likelihood = True
    start_scale = 0.1


class Poisson(_Compiled):
    """E (exp(s) - y s) = exp(mean + variance / 2) - y mean: the negative log-likelihood of a count
    y with the rate exp(s), less what depends on y alone.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.losses import Poisson
    >>> Poisson().value_and_partials(np.array([2.0]), np.array([0.0]), np.array([0.0]))
    LossPartials(value=array([1.]), mean=array([-1.]), variance=array([0.5]))
    """

    name = "poisson"
    closed_form = False
    code = 4
    likelihood = True
    start_scale = 0.03


class Gamma(_Compiled):
    """E (y exp(-s) + s) = y exp(-mean + variance / 2) + mean: the negative log-likelihood of a
    positive number y with the mean exp(s), per unit of its shape, less what depends on y alone.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.losses import Gamma
    >>> Gamma().value_and_partials(np.array([2.0]), np.array([0.0]), np.array([0.0]))
    LossPartials(value=array([2.]), mean=array([-1.]), variance=array([1.]))
    """

    name = "gamma"
    closed_form = False
    code = 5
    likelihood = True
    start_scale = 0.03


class Tweedie(_Compiled):
    """E (exp((2-p) s) / (2-p) - y exp((1-p) s) / (1-p)) for a power p between 1 and 2: the negative
    quasi-log-likelihood of y >= 0 with the mean exp(s) and a variance that goes like its power p.

    Parameters
    ----------
    power : float, default=1.5
        p. Towards 1 it is Poisson's, towards 2 Gamma's.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.losses import Tweedie
    >>> Tweedie(1.5).value_and_partials(np.array([2.0]), np.array([0.0]), np.array([0.0]))
    LossPartials(value=array([6.]), mean=array([-1.]), variance=array([0.75]))
    """

    name = "tweedie"
    closed_form = False
    code = 6
    likelihood = True
    start_scale = 0.03

    def __init__(self, power: float = 1.5) -> None:
        self.tolerance = power


LOSSES: tuple[Loss, ...] = (
    ZeroOne(), Squared(), OffBy(), Log(), Poisson(), Gamma(), Tweedie(),
)  # fmt: skip
