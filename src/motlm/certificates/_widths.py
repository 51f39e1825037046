"""Weights of columns on a grid that does not depend on the rows, and what the choice of them costs
in a bound over the training rows.

A weight is 2^z, z a whole number, times a factor that makes the geometric mean of a locality's
weights 1. A priori they are all equal with probability 1/2; else each z is drawn by itself, with a
probability like a standard normal density of z ln 2, the search's prior of ln a.
"""

from __future__ import annotations

import numpy as np

from .._typing import Array, Integers

__all__ = ["price_of", "round_weights"]

_STEP = float(np.log(2.0))
_FARTHEST = 60  # of the numbers that are summed over; further ones have probabilities of 0
_SQUARES = -0.5 * (_STEP * np.arange(-_FARTHEST, _FARTHEST + 1)) ** 2
_LOG_TOTAL = float(np.log(np.exp(_SQUARES).sum()))
_OFFSETS = (0.0, 0.25, 0.5, 0.75)  # that are tried, since only differences of z matter


def round_weights(weight: Array) -> Array:
    """The nearest weights on the grid, (n_localities, n_columns); columns of weight 0 keep it.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.certificates._widths import round_weights
    >>> round_weights(np.array([[4.1, 0.0, 0.24], [1.2, 0.8, 1.04]]))
    array([[4.  , 0.  , 0.25],
           [1.  , 1.  , 1.  ]])
    """
    inside = weight > 0
    logs = np.log2(np.where(inside, weight, 1.0))
    every = [_balance(np.where(inside, np.exp2(np.rint(logs - one)), 0.0)) for one in _OFFSETS]
    gaps = [((np.log2(np.where(inside, one, 1.0)) - logs) ** 2).sum(axis=1) for one in every]
    best = np.argmin(gaps, axis=0)
    return np.asarray(np.stack(every)[best, np.arange(len(weight))])


def price_of(weight: Array) -> float:
    """-ln of the prior probability of weights that are on the grid.

    Examples
    --------
    Of one column the weight is 1, and equal ones cost less than ln 2:

    >>> import numpy as np
    >>> from motlm.certificates._widths import price_of
    >>> price_of(np.array([[0.0, 1.0]])), round(price_of(np.array([[1.0, 1.0]])), 2)
    (0.0, 0.51)
    """
    places = _places(weight)
    return float(sum(_price(z[own > 0]) for z, own in zip(places, weight, strict=True)))


def _places(weight: Array) -> Integers:
    """The whole numbers z, up to a shift of all of a locality."""
    inside = weight > 0
    logs = np.log2(np.where(inside, weight, 1.0))
    # on the grid, all of a locality are off by the same part of a step
    first = np.take_along_axis(logs, inside.argmax(axis=1)[:, None], axis=1)
    return np.where(inside, np.rint(logs - first), 0).astype(np.int64)


def _balance(weight: Array) -> Array:
    """With a geometric mean of 1 in each locality."""
    inside = weight > 0
    logs = np.log(np.where(inside, weight, 1.0))
    middle = logs.sum(axis=1) / np.maximum(inside.sum(axis=1), 1)
    return np.asarray(weight / np.exp(middle)[:, None])


def _price(z: Integers) -> float:
    """Of one locality. A shift of all z changes nothing, so that the probabilities of all shifts
    add up.
    """
    shift = np.arange(-_FARTHEST, _FARTHEST + 1) - int(np.rint(z.mean()))
    squares = -0.5 * (_STEP * (z[:, None] + shift)) ** 2 - _LOG_TOTAL
    each = squares.sum(axis=0)
    log_own = float(np.logaddexp.reduce(each))
    equal = 0.0 if (z == z[0]).all() else -np.inf
    return max(-float(np.logaddexp(log_own, equal) + np.log(0.5)), 0.0)
