"""What a user reads: local models and their localities, in the user's own units and names."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ._typing import Array
from .errors import InputError, InputTypeError
from .inputs import Inputs

__all__ = ["LocalModel", "Locality", "factor_units"]


@dataclass(frozen=True, eq=False)
class LocalModel:
    """A linear model in the user's units: score or prediction = intercept + sum of coef * column.

    Of a model of rates that sum is the logarithm of the rate, and people read its exponential: a
    base times a factor for each column.

    Attributes
    ----------
    feature_names : tuple of str
        Names of the (encoded) columns.
    coef : ndarray, (n_columns,)
        Of several classes (n_classes, n_columns).
    coef_scale : ndarray, (n_columns,)
        Posterior standard deviation of each coefficient, the same for all classes.
    intercept, intercept_scale : float
        The intercept, and its posterior standard deviation. Of several classes the intercept is an
        array of (n_classes,).
    n_rows : int
        Training rows for which this model applies.
    reference, step : ndarray, (n_columns,), or None
        Of a model of rates: the row that has the base rate, and the difference of each column that
        a factor is for.
    classes : tuple
        The labels of several classes, each of which has a score of its own (see `of_class`); empty
        else.

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
    coef: Array  # (n_columns,), or (n_classes, n_columns)
    coef_scale: Array  # (n_columns,), posterior standard deviation of each coefficient
    intercept: Any  # float, or (n_classes,)
    intercept_scale: float
    n_rows: int  # training rows for which this model applies
    reference: Array | None = field(default=None, kw_only=True)  # (n_columns,), of rates only
    step: Array | None = field(default=None, kw_only=True)  # (n_columns,); 0: a level, there or not
    classes: tuple[Any, ...] = field(default=(), kw_only=True)  # of several scores

    def of_class(self, label: Any) -> LocalModel:
        """The model of the score of one of several classes.

        Parameters
        ----------
        label : str or number
            One of `classes`.

        Returns
        -------
        LocalModel

        Examples
        --------
        >>> import numpy as np
        >>> coef, intercept = np.array([[0.5], [0.0], [-0.5]]), np.array([1.0, 2.0, 3.0])
        >>> model = LocalModel(("x",), coef, np.ones(1), intercept, 0.1, 9, classes=("a", "b", "c"))
        >>> model.of_class("a").formula()
        '1 + 0.5 * x'
        """
        if label not in self.classes:
            raise InputError(
                f"expected one of the labels {list(self.classes)}; got {label!r}."
                if self.classes
                else "this model has one score, not one for each of several classes."
            )
        k = self.classes.index(label)
        return replace(self, coef=self.coef[k], intercept=float(self.intercept[k]), classes=())

    @property
    def base(self) -> float:
        """The score at the reference; of a model of rates the rate there."""
        if self.reference is None:
            return float(self.intercept)
        return _exp(self.intercept + float(self.coef @ self.reference))

    def factors(self, digits: int = 3) -> list[dict[str, Any]]:
        """What a model of rates multiplies the `base` rate by, columns with a coefficient of 0 left
        out.

        Parameters
        ----------
        digits : int, default=3
            Significant digits of each factor in the text.

        Returns
        -------
        list of dict
            Of each column: `column`, `reference` (the number at which there is no factor; None for
            a level), `step` (the difference that the factor is for: a round number of at most one
            standard deviation; None for a level, or a column of 0 and 1, which is there or not),
            `factor` and `text`, as "x 1.12 per 10".

        Examples
        --------
        >>> import numpy as np
        >>> from motlm import LocalMixtureRegressor
        >>> rng = np.random.default_rng(0)
        >>> age = rng.uniform(20, 60, size=3000)
        >>> X = np.column_stack([age, age > 50])
        >>> claims = rng.poisson(np.exp(0.07 * (age - 40) - X[:, 1]))
        >>> model = LocalMixtureRegressor(0, loss="poisson", random_state=0).fit(X, claims)
        >>> for row in model.exterior_.factors(digits=1):
        ...     print(row["column"], row["reference"], row["text"])
        x0 40.0 x 2 per 10
        x1 None x 0.4
        """
        if self.reference is None or self.step is None:
            raise InputTypeError(
                "factors are of models of rates, loss='poisson', 'gamma' or 'tweedie'; this model"
                " adds up: read coef and intercept, or formula()."
            )
        rows: list[dict[str, Any]] = []
        columns = zip(
            self.feature_names, self.coef.tolist(), self.reference, self.step, strict=True
        )
        for name, coef, middle, step in columns:
            if coef == 0.0:
                continue
            factor = _exp(coef * (step or 1.0))
            text = f"x {factor:.{digits}g}" + (f" per {step:g}" if step else "")
            row = {"column": name, "reference": float(middle), "step": float(step)}
            if not step:
                row = {"column": name, "reference": None, "step": None}
            rows.append({**row, "factor": factor, "text": text})
        return rows

    def formula(self, digits: int = 3) -> str:
        """The model as text, columns with a coefficient of 0 left out.

        Of a model of rates it is the rate: the `base`, times the `factors`. Of several classes it
        has a line for the score of each.

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

        Of rates, 5 % more for each 10 years above 40:

        >>> scale = {"reference": np.array([40.0, 0.0]), "step": np.array([10.0, 0.0])}
        >>> coef, deviation = np.array([0.004879, 0.405465]), np.ones(2)
        >>> LocalModel(("age", "fuel=gas"), coef, deviation, -2.168, 0.1, 10, **scale).formula()
        '0.139 x 1.05^((age - 40) / 10) x (1.5 if fuel=gas)'
        """
        if self.classes:
            each = (f"{label}: {self.of_class(label).formula(digits)}" for label in self.classes)
            return "\n".join(each)
        if self.reference is not None:
            return " x ".join([f"{self.base:.{digits}g}", *map(_power(digits), self.factors())])
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
    feature_names, coef, coef_scale, intercept, intercept_scale, n_rows, reference, step, classes
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


def factor_units(inputs: Inputs) -> dict[str, Array]:
    """`reference` and `step` of models of rates: of a number, about its mean and the round number
    at or below its standard deviation; of a level, or a column of 0 and 1, its absence and 0.
    """
    units = inputs.units
    reference, step = np.zeros(len(inputs.names)), np.zeros(len(inputs.names))
    for group in inputs.groups:
        j = group.columns.start
        if group.levels is None and inputs.counted[j]:
            size, mean = 1.0 / float(units.inverse_scale[j]), float(units.center[j])
            if not abs(mean * (1.0 - mean) / size / size - 1.0) <= _SAME:  # not of 0 and 1
                step[j] = _round_step(size)
                reference[j] = _round_to(float(inputs.typical[j]), step[j])
    for one in (reference, step):
        one.flags.writeable = False
    return {"reference": reference, "step": step}


_SAME = 1e-9  # relative; a variance that is p (1 - p) is that of a column of 0 and 1
_MOST = 1e12  # tenths of a step


def _round_step(size: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is not above a size, but for rounding."""
    leading, exponent = f"{size * (1.0 + _SAME):.15e}".split("e")
    return float(f"{max(one for one in (1, 2, 5) if one <= float(leading))}e{exponent}")


def _round_to(value: float, step: float) -> float:
    """To tenths of a step, where it has the digits."""
    ticks = 10.0 * (value / step)
    near = round(ticks) * (step / 10.0) if abs(ticks) < _MOST else value
    return float(f"{near:.12g}") + 0.0  # 0 for -0


def _exp(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(value))


def _power(digits: int) -> Any:
    """A factor as it stands in a formula."""

    def write(row: dict[str, Any]) -> str:
        factor = f"{row['factor']:.{digits}g}"
        if row["step"] is None:
            return f"({factor} if {row['column']})"
        gap = row["column"]
        if row["reference"]:
            sign = "-" if row["reference"] > 0 else "+"
            gap = f"({gap} {sign} {abs(row['reference']):.12g})"
        return f"{factor}^({gap} / {row['step']:g})"

    return write
