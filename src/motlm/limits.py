"""The range of numbers that fits, predictions and files take, in one place.

Within it no sum, square or product of them leaves the range of a float (about 1e-308 to 1e308);
beyond it is an error that says what to do. `docs/numerics.md` has the table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np

from ._typing import ArrayLike

__all__ = [
    "COUNT",
    "FARTHEST",
    "LARGEST",
    "LARGEST_TARGET",
    "SLOPES",
    "SMALLEST",
    "SMALLEST_TARGET",
    "STARTS",
    "TEMPERATURES",
    "UNSCALED",
    "WEIGHTS",
    "flush_to_zero",
    "power_of_two",
]

_P = ParamSpec("_P")
_R = TypeVar("_R")

LARGEST = 1e250
"""Of a number in a column of X or in a point of interest, in the user's units."""
SMALLEST = 1e-250
"""Of the standard deviation of a column that is standardized."""
LARGEST_TARGET = 1e150
"""Of a number in y, whose square is the unit of a regression's risk."""
SMALLEST_TARGET = 1e-150
"""Of the standard deviation of a regression's y."""
SLOPES = (1e-290, 1e290)
"""Of the standard deviation of y over that of a column, the unit of a coefficient."""
FARTHEST = 1e50
"""Of a row, in standardized units: how many standard deviations it may lie from the average."""
UNSCALED = 1e20
"""Of a number in a row to fit on, where columns are taken as they are (standardize=False)."""
WEIGHTS = (1e-60, 1e60)
"""Of the largest weight; the others may be any smaller positive numbers."""
TEMPERATURES = (1e-30, 1e30)
"""Of an inverse temperature."""
STARTS = 100_000
"""Of n_starts."""
COUNT = 2**31 - 1
"""Of the other parameters that count something."""


def flush_to_zero(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A function whose results may be too small for a float, and are then 0, as they should be:
    densities far out, memberships far away, and what is multiplied by them. A user who has NumPy
    raise at an underflow sees none of these.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.limits import flush_to_zero
    >>> with np.errstate(all="raise"):
    ...     float(flush_to_zero(np.exp)(-1000.0))
    0.0
    """

    @wraps(function)
    def inner(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with np.errstate(under="ignore"):
            return function(*args, **kwargs)

    return inner


def power_of_two(values: ArrayLike) -> float:
    """The power of two next below the largest absolute value; 1 where all are 0.

    Divided by it, numbers keep all of their digits, and their squares neither over- nor underflow.

    Examples
    --------
    >>> from motlm.limits import power_of_two
    >>> power_of_two([-5.0, 3.0]), power_of_two([])
    (4.0, 1.0)
    """
    largest = float(np.max(np.abs(values), initial=0.0))
    if largest == 0.0 or not np.isfinite(largest):
        return 1.0
    return float(np.ldexp(1.0, int(np.frexp(largest)[1]) - 1))
