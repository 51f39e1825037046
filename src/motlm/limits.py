"""The range of numbers that fits, predictions and files take, in one place.

Within it no sum, square or product of them leaves the range of a float (about 1e-308 to 1e308);
beyond it is an error that says what to do. `docs/numerics.md` has the table.
"""

from __future__ import annotations

import numpy as np

from ._typing import ArrayLike

__all__ = [
    "COUNT",
    "FARTHEST",
    "LARGEST",
    "SMALLEST",
    "STARTS",
    "TEMPERATURES",
    "UNSCALED",
    "WEIGHTS",
    "power_of_two",
]

LARGEST = 1e150
"""Of a number in a table, of a target or a point of interest, in the user's units: its square is a
float, too."""
SMALLEST = 1e-150
"""Of the standard deviation of a column or target that is standardized."""
FARTHEST = 1e100
"""Of a row, in standardized units: of how many standard deviations it may lie from the average."""
UNSCALED = 1e20
"""Of a number in a row to fit on, where columns are taken as they are (standardize=False)."""
WEIGHTS = (1e-60, 1e60)
"""Of the sum of all weights; one weight may be any smaller positive number."""
TEMPERATURES = (1e-30, 1e30)
"""Of an inverse temperature."""
STARTS = 100_000
"""Of n_starts."""
COUNT = 2**31 - 1
"""Of the other parameters that count something."""


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
