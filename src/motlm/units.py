"""Between the user's units and the standardized ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._renamed import warn_of
from ._typing import Array, Booleans
from .errors import InputError
from .frames import check_size
from .limits import LARGEST_TARGET, SLOPES, SMALLEST, SMALLEST_TARGET

__all__ = ["Units", "check_spread", "moments"]

_SWITCH = 0.5  # the largest deviation of a column of 0 and 1


@dataclass(frozen=True, eq=False)
class Units:
    """Between the user's units and the standardized ones: z = (x - center) * inverse_scale, and
    alike for the target.

    Attributes
    ----------
    center : ndarray, (n_columns,)
        What is subtracted from each column.
    inverse_scale : ndarray, (n_columns,)
        What each column is then multiplied by; 0 for a column that is constant.
    target_center, target_scale : float
        Of a regression's target; 0 and 1 (the defaults) for a classifier.

    Examples
    --------
    >>> from motlm import Units
    >>> units = Units.of_rows([[1.0, 10.0], [3.0, 30.0]])
    >>> units.center, units.inverse_scale
    (array([ 2., 20.]), array([1. , 0.1]))
    """

    center: Array  # (n_columns,)
    inverse_scale: Array  # (n_columns,)
    target_center: float = 0.0
    target_scale: float = 1.0

    @classmethod
    def of(
        cls,
        X: Array,
        target: Array,
        weight: Array,
        standardize: bool,
        scale_target: bool,
        switches: Booleans | None = None,
    ) -> Units:
        """Weighted means and standard deviations. A column that happens to be constant among these
        rows becomes 0; so does one of less spread than numbers can be divided by. Columns of 0 and
        1 that tell levels are all divided by 1/2: by the deviation of a rare one, its coefficient
        could be as large as few rows happen to make it.
        """
        share = weight / weight.sum()
        d = X.shape[1]
        center, inverse_scale = np.zeros(d), np.ones(d)
        if standardize:
            center, scale = moments(X, share)
            if switches is not None:
                scale[switches & (scale > 0)] = _SWITCH
            inverse_scale = np.divide(1.0, scale, out=np.zeros(d), where=scale >= SMALLEST)
        target_center, target_scale = 0.0, 1.0
        if scale_target:
            middle, size = moments(target[:, None], share)
            target_center = float(middle[0])
            target_scale = float(size[0]) if size[0] >= SMALLEST_TARGET else 1.0
        return cls(center, inverse_scale, target_center, target_scale)

    @classmethod
    def of_rows(cls, X: Any, target: Any = None) -> Units:
        """Means and standard deviations of these rows, and of a regression's target.

        Parameters
        ----------
        X : array of numbers, (n_rows, n_columns)
        target : array of numbers, (n_rows,), default=None
            Of a regression. None leaves the target as it is.

        Returns
        -------
        Units

        Examples
        --------
        >>> from motlm import Units
        >>> units = Units.of_rows([[1.0], [3.0]], target=[0.0, 8.0])
        >>> units.target_center, units.target_scale
        (4.0, 4.0)
        """
        try:
            X = np.asarray(X, dtype=float)
            y = np.zeros(len(X)) if target is None else np.asarray(target, dtype=float)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"units need a table of numbers: {error}.") from None
        if X.ndim != 2 or not len(X) or not np.isfinite(X).all():
            raise InputError(
                "units need a table of finite numbers with at least one row; got an array of shape"
                f" {X.shape}."
            )
        if y.shape != (len(X),) or not np.isfinite(y).all():
            raise InputError(
                f"target must be {len(X)} finite numbers, one for each row; got an array of shape"
                f" {y.shape}."
            )
        names = tuple(f"x{j}" for j in range(X.shape[1]))
        check_size(X, names, "X")
        check_size(y[:, None], ("target",), "target", LARGEST_TARGET)
        share = np.full(len(X), 1.0 / len(X))
        check_spread(moments(X, share)[1], names, "X")
        check_spread(moments(y[:, None], share)[1], ("target",), "target", SMALLEST_TARGET)
        return cls.of(X, y, np.ones(len(X)), True, target is not None)

    def standardized(self, X: Array) -> Array:
        """Renamed: see `standardize`."""
        warn_of("Units.standardized", "Units.standardize")
        return self.standardize(X)

    def check_slopes(self, names: tuple[str, ...], target_scale: float) -> None:
        """Raise where a coefficient in the user's units would leave the range of floats."""
        counted = self.inverse_scale > 0
        size = np.log10(self.inverse_scale, out=np.zeros(len(names)), where=counted)
        size += np.log10(target_scale)
        low, high = np.log10(SLOPES)
        bad = counted & ((size < low) | (size > high))
        if bad.any():
            first = int(np.flatnonzero(bad)[0])
            raise InputError(
                f"y varies by {target_scale:.3g} and column {names[first]!r} by"
                f" {1.0 / self.inverse_scale[first]:.3g}: a coefficient of it would be of the order"
                f" of 1e{size[first]:+.0f}.",
                "Divide the column, or y, by a number of its size.",
            )

    def standardize(self, X: Array) -> Array:
        Z = X - self.center
        Z *= self.inverse_scale
        return np.asarray(Z)


def check_spread(spread: Array, names: tuple[str, ...], what: str, least: float = SMALLEST) -> None:
    """Raise, naming the column, where a column varies too little to be divided by its spread."""
    small = (spread > 0) & (spread < least)
    if not small.any():
        return
    first = int(np.flatnonzero(small)[0])
    where = what if names[first] == what else f"column {names[first]!r} of {what}"
    raise InputError(
        f"{where} varies by {spread[first]:.3g} only (its standard deviation); at least"
        f" {least:g} can be divided by.",
        "Multiply the column by a large number, or leave it out.",
    )


def moments(X: Array, share: Array) -> tuple[Array, Array]:
    """Means and standard deviations under weights that add up to 1; 0 for a column whose spread is
    no more than rounding.
    """
    mean, scale = np.empty((2, X.shape[1]))
    for j in range(X.shape[1]):  # one at a time: no temporary the size of the table
        column = X[:, j].astype(float)
        largest = np.abs(column).max()
        shift = column[0]  # keeps the digits of columns far from 0
        column -= shift
        unit = np.abs(column).max() or 1.0  # so that squares neither over- nor underflow
        column /= unit
        middle = share @ column
        column -= middle
        spread = np.sqrt(share @ (column * column)) * unit
        mean[j] = middle * unit + shift
        scale[j] = spread if spread > 4.0 * np.finfo(X.dtype).eps * largest else 0.0
    return mean, scale
