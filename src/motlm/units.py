"""Between the user's units and the standardized ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._renamed import warn_of
from ._typing import Array
from .errors import InputError

__all__ = ["Units", "moments"]


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
        cls, X: Array, target: Array, weight: Array, standardize: bool, scale_target: bool
    ) -> Units:
        """Weighted means and standard deviations. A column that happens to be constant among these
        rows becomes 0.
        """
        share = weight / weight.sum()
        d = X.shape[1]
        center, inverse_scale = np.zeros(d), np.ones(d)
        if standardize:
            center, scale = moments(X, share)
            inverse_scale = np.divide(1.0, scale, out=np.zeros(d), where=scale > 0)
        target_center, target_scale = 0.0, 1.0
        if scale_target:
            middle, size = moments(target[:, None], share)
            target_center, target_scale = float(middle[0]), float(size[0]) or 1.0
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
        X = np.asarray(X, dtype=float)
        if X.ndim != 2 or not len(X) or not np.isfinite(X).all():
            raise InputError(
                "units need a table of finite numbers with at least one row; got an array of shape"
                f" {X.shape}."
            )
        y = np.zeros(len(X)) if target is None else np.asarray(target, dtype=float)
        if y.shape != (len(X),) or not np.isfinite(y).all():
            raise InputError(
                f"target must be {len(X)} finite numbers, one for each row; got an array of shape"
                f" {y.shape}."
            )
        return cls.of(X, y, np.ones(len(X)), True, target is not None)

    def standardized(self, X: Array) -> Array:
        """Renamed: see `standardize`."""
        warn_of("Units.standardized", "Units.standardize")
        return self.standardize(X)

    def standardize(self, X: Array) -> Array:
        Z = X - self.center
        Z *= self.inverse_scale
        return np.asarray(Z)


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
