"""What a user reads: local models and their localities, in the user's own units and names."""

from __future__ import annotations

from dataclasses import dataclass

from ._typing import Array

__all__ = ["LocalModel", "Locality"]


@dataclass(frozen=True, eq=False)
class LocalModel:
    """A linear model in the user's units: score or prediction = intercept + sum of coef * column.

    Attributes
    ----------
    feature_names : tuple of str
        Names of the (encoded) columns.
    coef : ndarray, (n_columns,)
    coef_scale : ndarray, (n_columns,)
        Posterior standard deviation of each coefficient.
    intercept, intercept_scale : float
        The intercept, and its posterior standard deviation.
    n_rows : int
        Training rows for which this model applies.

    Examples
    --------
    The exterior model of a mixture; the rows outside follow y = -0.55 x:

    >>> from motlm import LocalMixtureRegressor
    >>> from motlm.datasets import make_reg_case1
    >>> X, y = make_reg_case1(300, random_state=0)
    >>> mixture = LocalMixtureRegressor(points_of_interest=[[0.0189]], random_state=0)
    >>> model = mixture.fit(X, y)
    >>> exterior = model.exterior_
    >>> exterior.feature_names, exterior.n_rows, round(float(exterior.coef[0]), 2)
    (('x0',), 150, -0.55)
    """

    feature_names: tuple[str, ...]
    coef: Array  # (n_columns,)
    coef_scale: Array  # (n_columns,), posterior standard deviation of each coefficient
    intercept: float
    intercept_scale: float
    n_rows: int  # training rows for which this model applies

    def formula(self, digits: int = 3) -> str:
        """The model as text, columns with a coefficient of 0 left out.

        Parameters
        ----------
        digits : int, default=3
            Significant digits of each number.

        Returns
        -------
        str

        Examples
        --------
        >>> import numpy as np
        >>> coef = np.array([0.5, -2.0])
        >>> LocalModel(("age", "income"), coef, np.ones(2), 1.25, 0.1, 10).formula()
        '1.25 + 0.5 * age - 2 * income'
        """
        parts = [f"{self.intercept:.{digits}g}"]
        for name, value in zip(self.feature_names, self.coef.tolist(), strict=True):
            if value != 0.0:
                parts.append(f"{'-' if value < 0 else '+'} {abs(value):.{digits}g} * {name}")
        return " ".join(parts)


@dataclass(frozen=True, eq=False)
class Locality(LocalModel):
    """A ball and the linear model that applies in it.

    `center` is in the user's units. `radius` is the distance at which membership is 1/2, and
    `radius_mean` the mean of the radius (the paper's k / tau); both are distances between
    standardized rows, unless `standardize=False`. `half_width` is how far the ball reaches from its
    center along each column, in the user's units (None for metrics in which a ball has no such
    simple extent).

    Attributes
    ----------
    center : ndarray, (n_columns,)
    center_scale : ndarray, (n_columns,)
        Posterior standard deviation of the center; 0 where it was given.
    radius : float
        The distance at which membership is 1/2.
    radius_mean : float
        Mean of the radius.
    half_width : ndarray, (n_columns,), or None
        How far the ball reaches along each column.
    point : int
        Which of the points of interest (or of the n_localities searched for) it is.
    feature_names, coef, coef_scale, intercept, intercept_scale, n_rows
        Of its linear model, as in `LocalModel`.

    Examples
    --------
    The rows within 0.81 of the point follow y = 0.54 x, and none lies within 0.81 and 0.945 of it:

    >>> from motlm import LocalMixtureRegressor
    >>> from motlm.datasets import make_reg_case1
    >>> X, y = make_reg_case1(300, random_state=0)
    >>> mixture = LocalMixtureRegressor(points_of_interest=[[0.0189]], random_state=0)
    >>> [locality] = mixture.fit(X, y).localities_
    >>> locality.center, round(float(locality.coef[0]), 2)
    (array([0.0189]), 0.54)
    >>> bool(0.81 < locality.half_width[0] < 0.945)
    True
    """

    center: Array  # (n_columns,)
    center_scale: (
        Array  # (n_columns,), posterior standard deviation of the center; 0 where it was given
    )
    radius: float
    radius_mean: float
    half_width: Array | None  # (n_columns,)
    point: int  # which of the points of interest (or of the n_localities searched for) it is
