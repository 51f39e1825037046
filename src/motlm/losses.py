"""Gibbs losses: the expected loss of a score s ~ N(mean, variance), as elementwise functions with
partials.

A loss is one class with `value_and_partials(y, mean, variance) -> (value, d/dmean, d/dvariance)`,
which the engine computes by its code; add it to LOSSES and the tests run over it.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import expit, ndtr

from ._typing import Array
from .errors import InputTypeError
from .limits import flush_to_zero

__all__ = [
    "CLASS_LOSSES",
    "LOSSES",
    "AnySign",
    "Gamma",
    "Log",
    "Loss",
    "LossPartials",
    "Multinomial",
    "OffBy",
    "Poisson",
    "Squared",
    "Tweedie",
    "ZeroOne",
    "check_loss",
]


_FLAT = 12.0  # scores beyond which a loss is too flat to be told from there


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
    scores: tuple[int, ...]  # shape of a model's score for one row: () or (n_classes,)
    # whether a step from the model there is tells what a locality might bring; else a regression of
    # its own does, since a model that is sure of itself leaves no slope to follow
    steps: bool

    def value_and_partials(self, y: Array, mean: Array, variance: Array) -> LossPartials: ...

    def working(self, y: Array, mean: Array) -> tuple[Array, Array]:
        """From scores as they are, the changes that a step of reweighted least squares aims at, and
        the rows' weights in it. Where there is no such step the targets themselves, for scores
        of 0.
        """

    def push(self, y: Array, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Which way, and how strongly, rows push their scores, like the means, and a curvature of
        the loss, (n_rows,): a step of push / curvature lowers it. Bounds of curvatures, so that a
        model that is sure of itself does not hide what it has wrong.
        """


class _Compiled:
    """A loss that the engine computes."""

    code: int
    tolerance: float = 1.0
    likelihood: bool = False
    start_scale: float = 0.3
    steps: bool = False
    scores: tuple[int, ...] = ()
    bend: float = 1.0  # the largest curvature in a score

    @flush_to_zero
    def value_and_partials(self, y: Array, mean: Array, variance: Array) -> LossPartials:
        from ._engine.entries import losses

        every = np.broadcast_arrays(*(np.asarray(one, float) for one in (y, mean, variance)))
        flat = (np.array(one).ravel() for one in every)
        found = losses(self.code, float(self.tolerance), *flat)
        return LossPartials(*(one.reshape(every[0].shape) for one in found))

    def working(self, y: Array, mean: Array) -> tuple[Array, Array]:
        return y, np.ones(len(y))

    def push(self, y: Array, mean: Array, variance: Array) -> tuple[Array, Array]:
        return -self.value_and_partials(y, mean, variance).mean, np.full(len(y), self.bend)


def check_loss(loss: Loss) -> None:
    """Raise unless the engine computes this loss as its class does."""
    made = getattr(type(loss), "value_and_partials", None)
    own = _Compiled.value_and_partials, _OfClasses.value_and_partials
    if made not in own or not isinstance(getattr(loss, "code", None), int):
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

    def push(self, y: Array, mean: Array, variance: Array) -> tuple[Array, Array]:
        """That of squared gaps between labels and expected signs: slopes of its own vanish."""
        return y - (2.0 * ndtr(mean / np.sqrt(variance)) - 1.0), np.ones(len(y))


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
    bend = 2.0


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
    bend = 0.25

    def working(self, y: Array, mean: Array) -> tuple[Array, Array]:
        share = expit(np.clip(mean, -_FLAT, _FLAT))
        curvature = share * (1.0 - share)
        return (0.5 * (y + 1.0) - share) / curvature, curvature


class _LogLink(_Compiled):
    """A loss of which exp(s) is the mean, and whose variance goes like a power of it."""

    closed_form = False
    likelihood = True
    start_scale = 0.03
    steps = True

    @property
    def power(self) -> float:
        return self.tolerance

    def working(self, y: Array, mean: Array) -> tuple[Array, Array]:
        rate = np.exp(np.clip(mean, -_FLAT, _FLAT))
        return y / rate - 1.0, rate ** (2.0 - self.power)

    def push(self, y: Array, mean: Array, variance: Array) -> tuple[Array, Array]:
        response, curvature = self.working(y, mean)
        return response * curvature, curvature


class Poisson(_LogLink):
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
    code = 4
    tolerance = 1.0


class Gamma(_LogLink):
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
    code = 5
    tolerance = 2.0


class Tweedie(_LogLink):
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
    code = 6

    def __init__(self, power: float = 1.5) -> None:
        self.tolerance = power


class _OfClasses(_Compiled):
    """A loss of one score for each of several classes, all of the same variance; y is the index of
    the class. Means are (.., n_classes, n_rows), variances (.., n_rows).
    """

    closed_form = False

    def __init__(self, n_classes: int = 3) -> None:
        self.scores = (n_classes,)

    @flush_to_zero
    def value_and_partials(self, y: Array, mean: Array, variance: Array) -> LossPartials:
        from ._engine.entries import losses_of_classes

        mean = np.asarray(mean, float)
        axes = (*mean.shape[:-2], mean.shape[-1])  # all but the classes'
        columns = np.moveaxis(mean, -2, 0).reshape(mean.shape[-2], -1)
        codes, spread = (
            np.array(np.broadcast_to(np.asarray(one, float), axes)).ravel() for one in (y, variance)
        )
        value, by_mean, by_variance = losses_of_classes(
            self.code, codes, np.ascontiguousarray(columns), spread
        )
        slopes = np.moveaxis(by_mean.reshape(mean.shape[-2], *axes), 0, -2)
        return LossPartials(value.reshape(axes), slopes, by_variance.reshape(axes))

    def working(self, y: Array, mean: Array) -> tuple[Array, Array]:
        (count,) = self.scores
        return count * np.equal.outer(np.arange(count), y) - 1.0, np.full(len(y), 1.0 / count)


class Multinomial(_OfClasses):
    """E (ln sum exp(s_k) - s_y) <= v/2 sum a_k^2 + ln sum exp(mean_k + (1/2 - a_k) v) - mean_y,
    with scores s_k ~ N(mean_k, v) of several classes.

    That is Knowles and Minka's bound, which holds for any a; here a = t p + (1 - t) / K with p the
    softmax of the means and t = 1 / (1 + v / 10). It is exact for a variance of 0, and agrees with
    the expectation to the second order in the scores' deviation; for large variances it goes
    towards Boehning's, v/2 (1 - 1/K).

    Parameters
    ----------
    n_classes : int, default=3

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.losses import Multinomial
    >>> loss = Multinomial(3).value_and_partials(np.array([0]), np.zeros((3, 1)), np.zeros(1))
    >>> loss.value.round(4), loss.mean.round(4).ravel()  # ln 3, and shares less the truth
    (array([1.0986]), array([-0.6667,  0.3333,  0.3333]))
    """

    name = "log"
    code = 7
    likelihood = True
    start_scale = 0.1
    bend = 0.5


class AnySign(_OfClasses):
    """P(some sign is wrong) = 1 - prod_k Phi(z_k mean_k / sqrt(v)), with independent scores
    s_k ~ N(mean_k, v) of several classes, z_y = 1 and the others -1.

    Where no sign is wrong the largest score is that of the class: it errs no more often.

    Parameters
    ----------
    n_classes : int, default=3

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.losses import AnySign
    >>> AnySign(3).value_and_partials(np.array([0]), np.zeros((3, 1)), np.ones(1)).value
    array([0.875])
    """

    name = "zero-one"
    code = 8

    def working(self, y: Array, mean: Array) -> tuple[Array, Array]:
        return 2.0 * np.equal.outer(np.arange(self.scores[0]), y) - 1.0, np.ones(len(y))

    def push(self, y: Array, mean: Array, variance: Array) -> tuple[Array, Array]:
        """As that of two labels."""
        signs, ones = self.working(y, mean)
        return signs - (2.0 * ndtr(mean / np.sqrt(variance)) - 1.0), ones


LOSSES: tuple[Loss, ...] = (
    ZeroOne(), Squared(), OffBy(), Log(), Poisson(), Gamma(), Tweedie(),
)  # fmt: skip
CLASS_LOSSES: tuple[Loss, ...] = (Multinomial(), AnySign())
