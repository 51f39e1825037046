"""What a user reads: local models and their localities, in the user's own units and names."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ._typing import Array, Booleans
from .bends import interpolate
from .errors import InputError, InputTypeError
from .inputs import Inputs
from .limits import power_of_two
from .regions import is_indicator, join_words

__all__ = ["Exterior", "LocalModel", "Locality", "Outputs", "Points", "Shape", "factor_units"]

_PLACES = 3  # columns of a place that are named
_POINTS = 6  # of a curve that are named
_OUTPUTS = 12  # of a transformer, that a formula lists
_NEAR = 0.1  # of the distances beside it: that of knots between which a curve all but jumps
_CLOSE = 0.01  # of a curve's range: root mean square by which lines between fewer may miss it


@dataclass(frozen=True, eq=False)
class Exterior:
    """What a local model is a correction of.

    Attributes
    ----------
    model : LocalModel
        The exterior model.
    place : ndarray, (n_columns,)
        A row of round numbers in the locality, at which the constant of the correction is told.
    constant : ndarray of bool, (n_columns,)
        The columns that have one value in the locality.
    named : ndarray of bool, (n_columns,)
        The columns of the place that are named: numbers that the locality looks at.
    """

    model: LocalModel
    place: Array
    constant: Booleans
    named: Booleans


@dataclass(frozen=True, eq=False)
class Shape:
    """How a model of a column bends: lines between the values at the knots, which are added to coef
    * column; beyond the knots it is straight.

    Attributes
    ----------
    column : int
        The encoded column.
    knots : ndarray, (n_knots,)
        Increasing, in the user's units.
    values : ndarray, (n_knots,)
        Of several classes (n_classes, n_knots).
    scale : ndarray, (n_knots,)
        Posterior standard deviation of the values.
    parts : ndarray, (n_knots, n_parts), or None
        Those of independent parts that the values are sums of; None: the values are certain.
    """

    column: int
    knots: Array
    values: Array
    scale: Array
    parts: Array | None = None

    def at(self, x: Array) -> Array:
        """(n,): what is added for these numbers of the column; of one class."""
        return interpolate(self.knots, self.values[:, None], np.asarray(x, dtype=float))[:, 0]

    def variance(self, x: Array, reference: float) -> Array:
        """(n,): posterior variance of what is added at x less what is added at the reference."""
        if self.parts is None:
            return np.zeros(len(x))
        unit = power_of_two(self.parts)  # squares do not overflow
        at = interpolate(self.knots, self.parts, np.append(np.asarray(x, dtype=float), reference))
        with np.errstate(over="ignore"):
            return np.asarray((((at[:-1] - at[-1]) / unit) ** 2).sum(axis=1) * unit * unit)


@dataclass(frozen=True, eq=False)
class Outputs:
    """What a transformer makes of the columns, in the formula of a model."""

    transformer: str
    names: tuple[str, ...]  # of its outputs
    coef: Array  # (n_outputs,) or (n_classes, n_outputs), of each less its mean
    columns: tuple[int, ...]  # encoded columns that some output depends on

    def terms(self, digits: int) -> list[str]:
        """The largest as text, and how many others there are."""
        ranked = np.argsort(-np.abs(self.coef), kind="stable")
        order = [int(k) for k in ranked if self.coef[k] != 0.0]
        shown = [
            f"{'-' if self.coef[k] < 0 else '+'} {abs(self.coef[k]):.{digits}g} * [{self.names[k]}]"
            for k in order[:_OUTPUTS]
        ]
        more = len(order) - len(shown)
        return shown + ([f"+ {more} more of {self.transformer}"] if more else [])

    @property
    def note(self) -> str:
        """Below a formula."""
        return (
            f"    [..]: made by {self.transformer} of the columns in standard units, less its mean"
        )


class Points(NamedTuple):
    """Of a curve: numbers of the column, what it adds to the score there, and the posterior
    standard deviation of that, (n,) each.
    """

    x: Array
    value: Array
    scale: Array


@dataclass(frozen=True, eq=False)
class LocalModel:
    """A linear or additive model in the user's units: score or prediction = intercept + sum of coef
    * column, and for columns that bend what their `shapes` add.

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
    exterior : Exterior or None
        The exterior model, if this one is a correction of it: see `correction`.
    shapes : tuple of Shape
        Of the columns that bend; empty for a linear model. `curve` adds them to the straight part.
    outputs : Outputs or None
        What the model has of a transformer's outputs, where `local_models` is one.

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
    exterior: Exterior | None = field(default=None, kw_only=True, repr=False)
    shapes: tuple[Shape, ...] = field(default=(), kw_only=True, repr=False)
    outputs: Outputs | None = field(default=None, kw_only=True, repr=False)

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
        k, exterior = self.classes.index(label), self.exterior
        if exterior is not None:
            exterior = replace(exterior, model=exterior.model.of_class(label))
        return replace(
            self,
            coef=self.coef[k],
            intercept=float(self.intercept[k]),
            classes=(),
            exterior=exterior,
            shapes=tuple(replace(one, values=one.values[k]) for one in self.shapes),
            outputs=self.outputs and replace(self.outputs, coef=self.outputs.coef[k]),
        )

    @property
    def base(self) -> float:
        """The constant of the formula: the score where straight columns are 0 and each curve is
        (see `curve`); of a model of rates, the rate at the reference.
        """
        shift = [float(one.at(np.array([self._zero(j)]))[0]) for j, one in self._bent.items()]
        if self.reference is not None:
            return _exp(self.intercept + float(self.coef @ self.reference) + sum(shift))
        straight = [float(self.coef[j]) * self._zero(j) for j in self._bent]
        return _sum(np.array([self.intercept, *straight, *shift]))

    @cached_property
    def _bent(self) -> dict[int, Shape]:
        """The shapes that are not straight, by column."""
        return {one.column: one for one in self.shapes if one.values.any()}

    def reference_of(self, column: str | int) -> float:
        """The number of a column at which its `curve` is 0, unless another is given."""
        return self._zero(self._index(column))

    def _zero(self, j: int) -> float:
        if self.reference is not None:
            return float(self.reference[j])
        knots = next((one.knots for one in self.shapes if one.column == j), None)
        if knots is None:
            return 0.0
        knots = _thin(knots)
        return _round_between(float(knots[len(knots) // 2]), knots)

    def curve(
        self, column: str | int, x: Any = None, label: Any = None, reference: float | None = None
    ) -> Points:
        """What a column adds to the score, straight part and bend together, relative to what it
        adds at a reference.

        Parameters
        ----------
        column : str or int
            Name or index of an encoded column.
        x : array, default=None
            Numbers of the column. None: the ends of the lines that the curve consists of, and the
            reference; of a straight column 0 and 1. Beyond its ends a curve goes on straight, with
            the slope `coef`.
        label : default=None
            Of several classes: the one whose score it is.
        reference : float, default=None
            Where the curve is 0. None: of a model of rates, the `reference` of the model; else a
            round number in the middle of the column, and of straight columns 0. It is the same for
            all models of a mixture.

        Returns
        -------
        Points
            Named arrays `x`, `value` and `scale`, the posterior standard deviation of the value,
            which is 0 at the reference. Of a model of rates the exponential of a value is a factor.

        Examples
        --------
        >>> import numpy as np
        >>> from motlm.localities import Shape
        >>> shape = Shape(0, np.array([20.0, 40.0, 60.0]), np.array([3.0, 0, 0]), np.zeros(3))
        >>> deviation = np.array([0.1])
        >>> model = LocalModel(("age",), np.array([0.5]), deviation, 7.0, 0.1, 9, shapes=(shape,))
        >>> x, value, scale = model.curve("age", [20, 30, 40, 60, 70])
        >>> value, scale
        (array([-7. , -3.5,  0. , 10. , 15. ]), array([2., 1., 0., 2., 3.]))
        """
        if self.classes:
            if label is None:
                raise InputError(
                    f"label must be one of the labels {list(self.classes)}: each has a curve."
                )
            return self.of_class(label).curve(column, x, None, reference)
        j = self._index(column)
        if self.outputs is not None and j in self.outputs.columns:
            raise InputError(
                f"{self.feature_names[j]!r} is a part of what {self.outputs.transformer} makes, and"
                " has no curve by itself.",
                "See what it adds in each row by motlm.explanations.explain_local.",
            )
        bend = self._bent.get(j)
        zero = self._zero(j) if reference is None else float(reference)
        if x is None:
            x = np.array([0.0, 1.0]) if bend is None else np.union1d(bend.knots, zero)
        at = np.asarray(x, dtype=float)
        value = float(self.coef[j]) * (at - zero)
        with np.errstate(over="ignore"):
            variance = (float(self.coef_scale[j]) * (at - zero)) ** 2
        if bend is not None:
            value = value + (bend.at(at) - bend.at(np.array([zero])))
            variance = variance + bend.variance(at, zero)
        return Points(at, value, np.sqrt(variance))

    def _index(self, column: str | int) -> int:
        names = self.feature_names
        j = names.index(column) if column in names else column
        if isinstance(j, str) or not 0 <= int(j) < len(names):
            raise InputError(
                f"expected one of the columns {', '.join(map(repr, names[:20]))}, or the number of"
                f" one; got {column!r}."
            )
        return int(j)

    def points(self, column: str | int, most: int = _POINTS, label: Any = None) -> Points:
        """A few points of the `curve` of a column, between which lines follow it closely.

        Parameters
        ----------
        column : str or int
            Name or index of an encoded column that bends.
        most : int, default=6
            How many; fewer, where fewer are as good.
        label : default=None
            Of several classes: the one whose score it is.

        Returns
        -------
        Points
            As `curve` gives them; x are round numbers, the reference of the curve among them.

        Examples
        --------
        >>> import numpy as np
        >>> from motlm.localities import Shape
        >>> knots = np.array([20.0, 30.0, 40.0, 50.0, 60.0])
        >>> shape = Shape(0, knots, np.array([4.0, 2, 0, 0, 0]), np.zeros(5))
        >>> one = np.ones(1)
        >>> model = LocalModel(("age",), 0.5 * one, one, 7.0, 0.1, 9, shapes=(shape,))
        >>> model.points("age").x
        array([20., 40., 60.])
        """
        if self.classes and label is not None:
            return self.of_class(label).points(column, most)
        j = self._index(column)
        zero, bend = self._zero(j), self._bent.get(j)
        if bend is None:
            return self.curve(j)
        x = _include(_thin(bend.knots), zero)
        kept = _follow(x, self.curve(j, x).value, zero, most)
        x = np.array([_round_between(float(x[k]), x) for k in kept])
        return self.curve(j, x)

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
            `factor` and `text`, as "x 1.12 per 10". A column that bends has no `step` and no
            `factor`, but a list of `points` with `x` and `factor`, as `points` chooses them.

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
        for j, (name, coef, middle, step) in enumerate(columns):
            if j in self._bent:
                rows.append(self._curve_factors(j, digits))
            if coef == 0.0 or j in self._bent:
                continue
            factor = _exp(coef * (step or 1.0))
            text = f"x {factor:.{digits}g}" + (f" per {step:g}" if step else "")
            row = {"column": name, "reference": float(middle), "step": float(step)}
            if not step:
                row = {"column": name, "reference": None, "step": None}
            rows.append({**row, "factor": factor, "text": text})
        return rows

    def _curve_factors(self, j: int, digits: int) -> dict[str, Any]:
        """The factors of a column that bends, at a few points."""
        found = self.points(j)
        pairs = [(x, _exp(value)) for x, value in zip(found.x, found.value, strict=True)]
        return {
            "column": self.feature_names[j],
            "reference": self._zero(j),
            "step": None,
            "factor": None,
            "points": [{"x": float(x), "factor": factor} for x, factor in pairs],
            "text": ", ".join(f"x {_rounded(factor, digits)} at {x:.12g}" for x, factor in pairs),
        }

    def formula(self, digits: int = 3) -> str:
        """The model as text, columns with a coefficient of 0 left out.

        Of a model of rates it is the rate: the `base`, times the `factors`. Of several classes it
        has a line for the score of each.

        A column that bends is a function, f(age) or as a factor g(age), with a line below that
        lists a few points of it, as `points` chooses them. Between the points it is about straight,
        and beyond them it goes on with the slope `coef`; `curve` has all of it.

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

        Of an additive model:

        >>> from motlm.localities import Shape
        >>> bend = Shape(0, np.array([20.0, 40.0, 60.0]), np.array([3.0, 0, 0]), np.ones(3))
        >>> names, coef = ("age", "income"), np.array([0.05, -2.0])
        >>> print(LocalModel(names, coef, np.ones(2), 1.25, 0.1, 10, shapes=(bend,)).formula())
        3.25 + f(age) - 2 * income
            f(age): 20: +2, 40: 0, 60: +1
        """
        if self.classes:
            each = (f"{label}: {self.of_class(label).formula(digits)}" for label in self.classes)
            return "\n".join(each)
        if self.reference is not None:
            parts = [f"{self.base:.{digits}g}", *map(_power(digits), self.factors())]
            if self.outputs is not None:
                parts.append(f"exp({' '.join(self.outputs.terms(digits)).removeprefix('+ ')})")
            return "\n".join([" x ".join(parts), *self._curves("g", digits), *self._notes()])
        parts = [f"{self.base:.{digits}g}"]
        for j, (name, value) in enumerate(zip(self.feature_names, self.coef.tolist(), strict=True)):
            if j in self._bent:
                parts.append(f"+ f({name})")
            elif value != 0.0:
                term = f"({name})" if name.endswith(" is missing") else name
                parts.append(f"{'-' if value < 0 else '+'} {abs(value):.{digits}g} * {term}")
        if self.outputs is not None:
            parts += self.outputs.terms(digits)
        return "\n".join([" ".join(parts), *self._curves("f", digits), *self._notes()])

    def _notes(self) -> list[str]:
        return [] if self.outputs is None else [self.outputs.note]

    def _curves(self, letter: str, digits: int) -> list[str]:
        """Below a formula: a line for each curve, with a few of its points."""
        lines = []
        for j in self._bent:
            found = self.points(j)
            values = [
                _rounded(_exp(value), digits) if letter == "g" else _signed(value, digits)
                for value in found.value.tolist()
            ]
            pairs = zip(found.x.tolist(), values, strict=True)
            told = ", ".join(f"{x:.12g}: {value}" for x, value in pairs)
            lines.append(f"    {letter}({self.feature_names[j]}): {told}")
        return lines

    def differences(self) -> list[dict[str, Any]]:
        """How a local model that is a correction differs from the exterior model.

        Returns
        -------
        list of dict
            First of the whole score, `column` being None: its `difference` at `place`, a row of
            round numbers in the locality (by column). Then of each column whose coefficient is
            another: `local` and `exterior` coefficient, and their `difference`; of a model of rates
            also the factors, `local_factor` and `exterior_factor`, and the `step` that they are for
            (None for a level). A column of one value in the locality is part of the first entry. Of
            several classes each entry has its `class`. Of a column that bends, which has the same
            bend in both models, coefficients and factors are those of the straight part, and the
            entry has `bends`, True.

        Examples
        --------
        >>> import numpy as np
        >>> from motlm import LocalMixtureRegressor
        >>> X = np.random.default_rng(0).uniform(0, 10, size=(500, 1))
        >>> y = X[:, 0] + np.where(X[:, 0] > 6, 3 * (X[:, 0] - 6), 0)
        >>> model = LocalMixtureRegressor(1, random_state=0).fit(X, y)
        >>> whole, column = model.localities_[0].differences()
        >>> whole["column"], column["column"]
        (None, 'x0')
        >>> abs(column["local"] - column["exterior"] - column["difference"]) < 1e-12
        True
        """
        if self.classes:
            return [
                {"class": label, **one}
                for label in self.classes
                for one in self.of_class(label).differences()
            ]
        exterior = self._corrected()
        outer, place = exterior.model, exterior.place
        gap = self.coef - outer.coef
        whole = self.intercept - outer.intercept + _sum(gap * place)
        names = self.feature_names
        at = {names[j]: float(place[j]) for j in np.flatnonzero(exterior.named & (gap != 0.0))}
        rows: list[dict[str, Any]] = [{"column": None, "difference": whole, "place": at}]
        for j in np.flatnonzero((gap != 0.0) & ~exterior.constant):
            own, other = float(self.coef[j]), float(outer.coef[j])
            row = {"column": names[j], "local": own, "exterior": other, "difference": own - other}
            if self.step is not None:
                step = float(self.step[j])
                row["local_factor"] = _exp(own * (step or 1.0))
                row["exterior_factor"] = _exp(other * (step or 1.0))
                row["step"] = step or None
            if j in self._bent:
                row["bends"] = True
            rows.append(row)
        return rows

    def correction(self, digits: int = 3) -> str:
        """The model as text where it is a correction of the exterior model: how it differs.

        A column that counts 0.3 more has a coefficient that is larger by 0.3; where it bends, a
        curve that is steeper by 0.3 everywhere. Of a model of rates these are factors. Of several
        classes it has a line for the score of each.

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
        >>> from motlm.localities import Exterior
        >>> names, one = ("age", "income"), np.ones(2)
        >>> everywhere = LocalModel(names, np.array([0.5, -2.0]), one, 1.25, 0.1, 90)
        >>> looks = np.array([True, False])
        >>> exterior = Exterior(everywhere, np.array([24.0, 0.0]), ~(looks | True), looks)
        >>> local = LocalModel(names, np.array([0.8, -2.0]), one, -4.75, 0.1, 9, exterior=exterior)
        >>> local.correction()
        'as everywhere, except: +1.2 at age 24; age counts 0.3 more'
        >>> local.formula()
        '-4.75 + 0.8 * age - 2 * income'
        """
        if self.classes:
            each = (f"{label}: {self.of_class(label).correction(digits)}" for label in self.classes)
            return "\n".join(each)
        whole, *columns = self.differences()
        write = _difference if self.step is None else _factor_instead
        parts = [_constant(whole, self.step is not None, digits)]
        parts.append(", ".join(filter(None, (write(one, digits) for one in columns))))
        told = "; ".join(part for part in parts if part)
        return f"as everywhere, except: {told}" if told else "as everywhere"

    def _corrected(self) -> Exterior:
        if self.exterior is None:
            raise InputTypeError(
                "this model is not a correction of the exterior model; read formula()."
            )
        return self.exterior


@dataclass(frozen=True, eq=False)
class Locality(LocalModel):
    """Where a linear or additive model applies, and the model.

    A locality in one column is an interval, in several an ellipse along the columns (a ball, if
    their widths are equal). `center` is in the user's units. `radius` is the distance at which
    membership is 1/2, and `radius_mean` the mean of the radius (the paper's k / tau); both are
    distances between standardized rows, unless `standardize=False`. `half_width` is how far the
    locality reaches from its center along each column, in the user's units: infinite along a
    column that it does not look at (None for metrics in which a ball has no such simple extent).
    `str(locality)` is one sentence.

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
        How far it reaches along each column.
    point : int
        Which of the points of interest (or of the n_localities searched for) it is.
    where : str
        Where it lies, in words: "age 18 to 30 and power above 80".
    row : int or None
        With ``centers="rows"``: which row of the table given to fit its center is, from 0.
    place : str
        As `where`, without telling which row that is, for readers who must not know.
    feature_names, coef, coef_scale, intercept, intercept_scale, n_rows, reference, step, classes
        Of its linear or additive model, as in `LocalModel`; so are `shapes`.
    exterior : Exterior or None
        As in `LocalModel`.

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
    >>> print(locality)  # doctest: +ELLIPSIS
    x0 -0... to 0...: 150 rows
    """

    center: Array  # (n_columns,)
    center_scale: (
        Array  # (n_columns,), posterior standard deviation of the center; 0 where it was given
    )
    radius: float
    radius_mean: float
    half_width: Array | None  # (n_columns,)
    point: int  # which of the points of interest (or of the n_localities searched for) it is
    where: str = field(default="", kw_only=True)
    row: int | None = field(default=None, kw_only=True)
    place: str = field(default="", kw_only=True)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.n_rows} row{'' if self.n_rows == 1 else 's'}"


def factor_units(inputs: Inputs) -> dict[str, Array]:
    """`reference` and `step` of models of rates: of a number, about its mean and the round number
    at or below its standard deviation; of a level, or a column of 0 and 1, its absence and 0.
    """
    units = inputs.units
    reference, step = np.zeros(len(inputs.names)), np.zeros(len(inputs.names))
    for group in inputs.groups:
        j = group.columns.start
        if group.levels is None and inputs.counted[j] and not is_indicator(inputs, j):
            step[j] = _round_step(1.0 / float(units.inverse_scale[j]))
            reference[j] = _round_to(float(inputs.typical[j]), step[j])
    for one in (reference, step):
        one.flags.writeable = False
    return {"reference": reference, "step": step}


_SAME = 1e-9  # relative
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


def _thin(x: Array) -> Array:
    """Without numbers that are much nearer to the one before than its neighbors are to each other;
    the ends are kept.
    """
    near = np.zeros(len(x), dtype=bool)
    for k in range(1, len(x) - 1):
        gap = np.diff(x[max(k - 2, 0) : k + 2])
        near[k] = gap[-2] < _NEAR * np.delete(gap, -2).min()
    return np.asarray(x[~near])


def _include(x: Array, value: float) -> Array:
    """With a number in its place, instead of one that is near to it."""
    k = int(np.clip(np.searchsorted(x, value), 1, len(x) - 1))
    near = np.abs(x - value) < _NEAR * (x[k] - x[k - 1])
    near[[0, -1]] = False
    return np.union1d(x[~near], value)


def _round_between(value: float, places: Array) -> float:
    """To a power of ten that is small beside the range of places, and beside the distances from
    this one to the next.
    """
    away = np.abs(places - value)
    gap = min(float(np.ptp(places)) / 50.0, float(away[away > 0].min(initial=np.inf)) / 5.0)
    if not 0.0 < gap < np.inf or abs(value) > _MOST * gap:
        return value
    unit = 10.0 ** math.floor(math.log10(gap))
    return float(f"{round(value / unit) * unit:.12g}") + 0.0  # 0 for -0


def _follow(x: Array, value: Array, always: float, most: int) -> list[int]:
    """Which points to keep, so that lines between them have the least squared distance from the
    others: the ends, that at `always`, and at most so many; fewer, if the lines are close.
    """
    size, n = float(np.ptp(value)) or 1.0, len(x)
    error = np.full((n, n), np.inf)
    for a in range(n - 1):
        for b in range(a + 1, n):
            if not x[a] < always < x[b]:
                line = np.interp(x[a:b], x[[a, b]], value[[a, b]])
                # rounded, so that all computers choose the same
                error[a, b] = round(float((((line - value[a:b]) / size) ** 2).sum()) / n, 9)
    least = np.where(np.arange(n) == 0, 0.0, np.inf)  # up to each point, in so many steps
    before: list[Array] = []
    while least[-1] > _CLOSE**2 and (len(before) + 1 < most or np.isinf(least[-1])):
        every = least[:, None] + error
        before.append(every.argmin(axis=0))
        least = every.min(axis=0)
    kept = [n - 1]
    for step in reversed(before):
        kept.append(int(step[kept[-1]]))
    return kept[::-1]


def _rounded(value: float, digits: int) -> str:
    """With so many digits, and no exponent where it can be read without."""
    return f"{float(f'{value:.{digits}g}'):.9g}"


def _signed(value: float, digits: int) -> str:
    text = _rounded(value, digits)
    return "0" if not float(text) else f"+{text}" if value > 0 else text


def _sum(values: Array) -> float:
    """The same on all computers, whose products of arrays differ in the last bits."""
    try:
        return math.fsum(values.tolist())
    except (OverflowError, ValueError):  # beyond the range of floats
        return math.nan


def _exp(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(value))


def _power(digits: int) -> Any:
    """A factor as it stands in a formula."""

    def write(row: dict[str, Any]) -> str:
        if row["factor"] is None:
            return f"g({row['column']})"
        factor = f"{row['factor']:.{digits}g}"
        if row["step"] is None:
            return f"({factor} if {row['column']})"
        gap = row["column"]
        if row["reference"]:
            sign = "-" if row["reference"] > 0 else "+"
            gap = f"({gap} {sign} {abs(row['reference']):.12g})"
        return f"{factor}^({gap} / {row['step']:g})"

    return write


def _constant(whole: dict[str, Any], factor: bool, digits: int) -> str:
    """The difference of the whole score, and where; empty where there is none."""
    value, place = whole["difference"], whole["place"]
    if value == 0.0:
        return ""
    text = f"x {_exp(value):.{digits}g}" if factor else f"{value:+.{digits}g}"
    if not place:
        return text
    if len(place) > _PLACES:
        return f"{text} in its middle"
    return f"{text} at {join_words([f'{name} {at:.12g}' for name, at in place.items()])}"


def _difference(row: dict[str, Any], digits: int) -> str:
    gap = row["difference"]
    return f"{row['column']} counts {abs(gap):.{digits}g} {'more' if gap > 0 else 'less'}"


def _factor_instead(row: dict[str, Any], digits: int) -> str:
    """Empty where the two are the same to these digits."""
    own, other = (f"x {row[name]:.{digits}g}" for name in ("local_factor", "exterior_factor"))
    if own == other:
        return ""
    per = "" if row["step"] is None else f" per {row['step']:g}"
    if row.get("bends"):  # the rest of its factor differs from place to place
        more = row["local_factor"] / row["exterior_factor"]
        return f"{row['column']} a further x {more:.{digits}g}{per}"
    return f"{row['column']} {own}{per} instead of {other}"
