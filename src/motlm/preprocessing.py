"""The paper's preparation of a table, step by step: missing rows, duplicates, the box rule,
one-hot, variance inflation, split.

The row steps are transformers of a whole table, target included, that return fewer rows; they stand
before a split, not inside a pipeline. `prepare` runs all steps, in the published way
(`protocol="paper"`) or in the way that lets test rows decide nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.feature_selection import SelectorMixin, VarianceThreshold
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_feature_names, check_is_fitted, validate_data

from ._typing import AnyArray, Array, Booleans
from .errors import InputError, InputTypeError
from .frames import (
    POOLED,
    check_names,
    check_size,
    columns_of,
    floats_of,
    from_arrow,
    is_frame,
    is_missing,
    is_numeric,
    rare_levels,
)
from .limits import LARGEST_TARGET, power_of_two

__all__ = [
    "BoxRule",
    "DropDuplicateRows",
    "DropMissingRows",
    "Parts",
    "PoolRareLevels",
    "VarianceInflation",
    "clean",
    "prepare",
    "three_parts",
]

PROTOCOLS = ("sound", "paper")
TASKS = ("auto", "classification", "regression")
_LARGEST = LARGEST_TARGET  # scikit-learn squares the columns
_EXPLAINED = 1e12  # a factor of rounding, not of the columns


class _RowFilter(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Keeps some rows of a table; what kind of table it is stays."""

    def fit(self, X: Any, y: Any = None) -> Any:
        """Learn the columns of the table.

        Parameters
        ----------
        X : table
        y : ignored

        Returns
        -------
        self
        """
        _check_feature_names(self, X, reset=True)
        self.n_features_in_ = np.shape(X)[1]
        return self

    def keeps(self, X: Any) -> Booleans:
        """Which rows stay.

        Parameters
        ----------
        X : table

        Returns
        -------
        ndarray of bool, (n_rows,)
        """
        check_is_fitted(self, "n_features_in_")
        _check_feature_names(self, X, reset=False)
        if np.shape(X)[1] != self.n_features_in_:
            raise InputError(
                f"the table has {np.shape(X)[1]} columns; the one that was fitted had"
                f" {self.n_features_in_}."
            )
        return self._keeps(columns_of(X))

    def _keeps(self, columns: list[Any]) -> Booleans:
        raise NotImplementedError

    def transform(self, X: Any) -> Any:
        """The rows that stay.

        Parameters
        ----------
        X : table

        Returns
        -------
        table of the same kind
        """
        return _safe_indexing(X, np.flatnonzero(self.keeps(X)))


class DropMissingRows(_RowFilter):
    """Drop the rows that have a missing value.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.preprocessing import DropMissingRows
    >>> DropMissingRows().fit_transform(np.array([[1.0, 2.0], [np.nan, 3.0]]))
    array([[1., 2.]])
    """

    def _keeps(self, columns: list[Any]) -> Booleans:
        missing = [
            np.isnan(floats_of(one)) if is_numeric(one) else is_missing(np.asarray(one, object))
            for one in columns
        ]
        return np.asarray(~np.any(missing, axis=0))


class DropDuplicateRows(_RowFilter):
    """Keep the first of equal rows.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.preprocessing import DropDuplicateRows
    >>> DropDuplicateRows().fit_transform(np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 2.0]]))
    array([[1., 2.],
           [1., 3.]])
    """

    def _keeps(self, columns: list[Any]) -> Booleans:
        codes = []
        for one in columns:
            values = (
                floats_of(one)
                if is_numeric(one)
                else np.array([f"{type(v).__name__} {v}" for v in np.asarray(one, object)])
            )
            codes.append(np.unique(values, return_inverse=True)[1])
        first = np.unique(np.column_stack(codes), axis=0, return_index=True)[1]
        kept = np.zeros(len(codes[0]), dtype=bool)
        kept[first] = True
        return kept


class BoxRule(_RowFilter):
    """Drop the rows that lie outside the fences of some numeric column: whisker * IQR below or
    above the quartiles.

    Parameters
    ----------
    whisker : float, default=1.5

    Attributes
    ----------
    lower_, upper_ : ndarray, (n_columns,)
        The fences; infinite for columns that are not numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.preprocessing import BoxRule
    >>> table = np.array([[1.0], [2.0], [3.0], [4.0], [100.0]])
    >>> rule = BoxRule().fit(table)
    >>> rule.lower_, rule.upper_  # quartiles 2 and 4
    (array([-1.]), array([7.]))
    >>> rule.transform(table).ravel()
    array([1., 2., 3., 4.])
    """

    def __init__(self, whisker: float = 1.5) -> None:
        self.whisker = whisker

    def fit(self, X: Any, y: Any = None) -> BoxRule:
        """Learn the fences.

        Parameters
        ----------
        X : table
        y : ignored

        Returns
        -------
        self
        """
        super().fit(X)
        columns = columns_of(X)
        self.lower_, self.upper_ = np.full(len(columns), -np.inf), np.full(len(columns), np.inf)
        for j, one in enumerate(columns):
            if is_numeric(one):
                values = floats_of(one)
                unit = power_of_two(values[np.isfinite(values)])
                low, high = np.nanquantile(values / unit, [0.25, 0.75])
                with np.errstate(over="ignore"):  # a fence beyond all floats is infinite
                    self.lower_[j] = (low - self.whisker * (high - low)) * unit
                    self.upper_[j] = (high + self.whisker * (high - low)) * unit
        return self

    def _keeps(self, columns: list[Any]) -> Booleans:
        kept = np.ones(len(columns[0]), dtype=bool)
        for low, high, one in zip(self.lower_, self.upper_, columns, strict=True):
            if is_numeric(one):
                values = floats_of(one)
                kept &= ~((values < low) | (values > high))
        return kept


class PoolRareLevels(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Pool rare levels of the columns that are not numbers: they become one level, "other".

    A weight that is learned from a few rows is mostly noise. A column of which many levels are
    pooled is one of high cardinality, such as places or occupations.

    Parameters
    ----------
    min_frequency : int or float, default=10
        Rows that a level needs to stay; a number below 1 is a share of the rows, as in
        scikit-learn's OneHotEncoder.
    max_categories : int, default=50
        Most levels of a column, the pooled one included: the most frequent ones stay.

    Attributes
    ----------
    pooled_ : dict of str to tuple
        The levels that are pooled, of each column that has some. One rare level alone stays. Where
        a column has a level "other", rare ones join it.

    Examples
    --------
    >>> import pandas as pd
    >>> from motlm.preprocessing import PoolRareLevels
    >>> frame = pd.DataFrame({"pet": ["cat"] * 3 + ["dog"] * 3 + ["owl", "eel"]})
    >>> pool = PoolRareLevels(min_frequency=2).fit(frame)
    >>> pool.pooled_
    {'pet': ('eel', 'owl')}
    >>> pool.transform(frame)["pet"].tolist()
    ['cat', 'cat', 'cat', 'dog', 'dog', 'dog', 'other', 'other']
    """

    def __init__(self, min_frequency: float = 10, *, max_categories: int = 50) -> None:
        self.min_frequency = min_frequency
        self.max_categories = max_categories

    def fit(self, X: Any, y: Any = None) -> PoolRareLevels:
        """Find the rare levels.

        Parameters
        ----------
        X : table with named columns, of pandas, polars or pyarrow
        y : ignored

        Returns
        -------
        self
        """
        X = self._check(X, reset=True)
        if not self.min_frequency > 0:
            raise InputError(f"min_frequency must be above 0; got {self.min_frequency!r}.")
        if not self.max_categories >= 2:
            raise InputError(f"max_categories must be at least 2; got {self.max_categories!r}.")
        least = self.min_frequency * (len(X) if self.min_frequency < 1 else 1)
        self.pooled_: dict[str, tuple[Any, ...]] = {}
        for name, column in zip(X.columns, columns_of(X), strict=True):
            if not is_numeric(column):
                values = np.asarray(column, dtype=object)
                rare = rare_levels(values, least, self.max_categories)
                if rare:
                    self.pooled_[name] = rare
        return self

    def transform(self, X: Any) -> Any:
        """The table with rare levels replaced; levels that fit did not see stay.

        Parameters
        ----------
        X : table

        Returns
        -------
        table of the same kind; of a table of pyarrow, one of pandas
        """
        check_is_fitted(self, "pooled_")
        X = self._check(X, reset=False)
        made = X.clone() if hasattr(X, "clone") else X.copy()  # polars, pandas
        for name, rare in self.pooled_.items():
            values = np.asarray(X[name], dtype=object)
            pooled = [POOLED if value in rare else value for value in values]
            if hasattr(X, "with_columns"):
                made = made.with_columns(type(X[name])(name, pooled))
            else:
                made[name] = pooled
        return made

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """The columns, as they were.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self, "pooled_")
        return np.asarray(self.feature_names_in_)

    def _check(self, X: Any, reset: bool) -> Any:
        X = from_arrow(X)
        if not is_frame(X):
            raise InputTypeError(
                f"levels are pooled in tables with named columns; got {type(X).__name__}.",
                "Give a table of pandas, polars or pyarrow.",
            )
        check_names(X)
        _check_feature_names(self, X, reset=reset)
        if reset:
            self.n_features_in_ = X.shape[1]
        return X


class VarianceInflation(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Drop columns that the others explain, the worst one first, until no variance inflation factor
    reaches the threshold.

    The factor of a column is 1 / (1 - R2) of its regression on the others; with a constant column
    it is infinite.

    Parameters
    ----------
    threshold : float, default=10.0
    centered : bool, default=True
        Whether the regressions have an intercept. The published experiments had none, which also
        punishes a column for being far from zero.
    min_features : int, default=1
        So many columns are kept whatever their factors; the published experiments kept 2.

    Attributes
    ----------
    dropped_ : list of int
        The columns in the order in which they went.
    factors_ : ndarray
        The factors of the columns that stay.

    Examples
    --------
    The last column is nearly the sum of the others, and goes; those are uncorrelated, so that their
    factors are 1:

    >>> from itertools import product
    >>> import numpy as np
    >>> from motlm.preprocessing import VarianceInflation
    >>> X = np.array(list(product([-1.0, 1.0], repeat=3)))
    >>> X = np.column_stack([X, X.sum(axis=1) + 0.1 * X.prod(axis=1)])
    >>> selector = VarianceInflation().fit(X)
    >>> selector.dropped_, selector.factors_.round(6)
    ([3], array([1., 1., 1.]))
    >>> selector.transform(X).shape
    (8, 3)
    """

    def __init__(
        self, threshold: float = 10.0, *, centered: bool = True, min_features: int = 1
    ) -> None:
        self.threshold = threshold
        self.centered = centered
        self.min_features = min_features

    def fit(self, X: Any, y: Any = None) -> VarianceInflation:
        """Choose the columns that stay.

        Parameters
        ----------
        X : array, (n_rows, n_features)
        y : ignored

        Returns
        -------
        self
        """
        with np.errstate(over="ignore", invalid="ignore"):  # of a sum that looks for nan
            X = validate_data(self, X, dtype=float)
        if self.min_features < 1:
            raise InputError(f"min_features must be at least 1; got {self.min_features}.")
        X = _in_units(X)
        length = np.linalg.norm(X, axis=0)
        if self.centered:
            X = X - X.mean(axis=0)
        constant = np.linalg.norm(X, axis=0) <= len(X) * np.finfo(float).eps * length
        self.dropped_: list[int] = []
        kept = list(range(X.shape[1]))
        factors = _factors(X, constant)
        while len(kept) > self.min_features and factors.max() >= self.threshold:
            self.dropped_.append(kept.pop(int(np.argmax(factors))))
            factors = _factors(X[:, kept], constant[kept])
        self.factors_ = factors
        self._kept = np.isin(np.arange(X.shape[1]), kept)
        return self

    def _get_support_mask(self) -> Booleans:
        check_is_fitted(self, "factors_")
        return self._kept


def _in_units(X: Array) -> Array:
    """Columns in units of powers of two, which changes no digit: squares do not overflow."""
    return np.asarray(X / [power_of_two(column) for column in X.T])


def _factors(X: Array, constant: Booleans) -> Array:
    """Total over residual sum of squares of each column regressed on the others, without intercept.

    They are the diagonal of the inverse of U'U, U the columns in units of their lengths: from the
    singular values s_i and right vectors v_i of U, the sum over i of (v_ij / s_i)^2. Infinite where
    the others explain a column to rounding.
    """
    factors = np.full(X.shape[1], np.inf)
    if not constant.all():
        unit = X[:, ~constant] / np.linalg.norm(X[:, ~constant], axis=0)
        wide = unit.shape[0] < unit.shape[1]  # then some right vectors have no singular value
        _, singular, right = np.linalg.svd(unit, full_matrices=wide)
        padded = np.zeros(unit.shape[1])
        padded[: len(singular)] = singular
        least = np.finfo(float).eps * max(X.shape) * singular[0]
        factors[~constant] = ((right / np.maximum(padded, least)[:, None]) ** 2).sum(axis=0)
    factors[factors > _EXPLAINED] = np.inf
    return factors


@dataclass(frozen=True)
class Parts:
    """Training, validation and test rows.

    Attributes
    ----------
    X, y : tuple of three
        Rows and targets, of each part.
    feature_names : tuple of str
        Of the columns; empty where they are not known.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.preprocessing import three_parts
    >>> parts = three_parts(np.arange(20.0)[:, None], np.arange(20.0), seed=0, stratify=False)
    >>> X_train, X_valid, X_test = parts.X
    >>> X_train.shape
    (14, 1)
    """

    X: tuple[Any, Any, Any]
    y: tuple[Any, Any, Any]
    feature_names: tuple[str, ...] = ()


def three_parts(X: Any, y: Any, seed: int, *, stratify: bool) -> Parts:
    """70 % training, 15 % validation and 15 % test rows: the paper's split number `seed`.

    Parameters
    ----------
    X, y : rows and targets
    seed : int
        The paper's experiments have 0 to 9.
    stratify : bool
        Whether each part has the classes in the same shares, as for classification.

    Returns
    -------
    Parts

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.preprocessing import three_parts
    >>> X, y = np.arange(200.0).reshape(100, 2), np.repeat(["a", "b"], 50)
    >>> parts = three_parts(X, y, seed=0, stratify=True)
    >>> [len(part) for part in parts.y]
    [70, 15, 15]
    """
    X0, rest, y0, rest_y = train_test_split(
        X, y, train_size=0.7, random_state=seed, stratify=y if stratify else None
    )
    X1, X2, y1, y2 = train_test_split(
        rest, rest_y, train_size=0.5, random_state=0, stratify=rest_y if stratify else None
    )
    return Parts((X0, X1, X2), (y0, y1, y2))


def clean(frame: Any, *, box: bool) -> Any:
    """The paper's row steps over a whole table, target included.

    Parameters
    ----------
    frame : DataFrame of pandas
    box : bool
        Whether to apply the box rule, and then to drop columns that have become constant: as
        published for regression.

    Returns
    -------
    DataFrame without missing values and duplicates

    Examples
    --------
    >>> import pandas as pd
    >>> from motlm.preprocessing import clean
    >>> frame = pd.DataFrame({"age": [30, 30, None, 41, 52], "cups": [2.0, 2.0, 1.0, 0.5, 3.0]})
    >>> clean(frame, box=False).index.tolist()
    [0, 3, 4]
    """
    table = DropMissingRows().fit_transform(frame)
    if not len(table):
        worst = frame.isna().sum().idxmax()
        raise InputError(
            f"every row has a missing value; column {worst!r} has most, in"
            f" {frame[worst].isna().sum()} of {len(frame)}."
        )
    table = DropDuplicateRows().fit_transform(table)
    if not box:
        return table
    table = BoxRule().fit_transform(table)
    return table.loc[:, table.nunique() > 1]


def prepare(
    frame: Any, target: Any, seed: int, *, protocol: str = "sound", task: str = "auto"
) -> Parts:
    """Split number `seed` of a table, prepared for learning.

    Parameters
    ----------
    frame : DataFrame of pandas
    target : name of a column
        What to predict.
    seed : int
        Which split; the paper's experiments have 0 to 9.
    protocol : "sound" or "paper", default="sound"
        "paper" is what the published experiments did: for regression the box rule over the whole
        table, test rows and target included, before the split; variance inflation without an
        intercept, keeping at least two columns. "sound" lets the test rows decide nothing and stay
        as they are: no row is dropped for its values, and variance inflation has an intercept.
    task : "auto", "classification" or "regression", default="auto"
        "auto": regression where the target has numbers, more than two different ones.

    Returns
    -------
    Parts
        Matrices, one-hot with the first level left out and standardized by the training rows.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from motlm.preprocessing import prepare
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"age": rng.normal(40, 10, 100), "drink": ["tea", "coffee"] * 50})
    >>> frame["cups"] = 0.1 * frame["age"] + (frame["drink"] == "tea")
    >>> parts = prepare(frame, "cups", seed=0)
    >>> parts.feature_names, [part.shape for part in parts.X]
    (('age', 'drink_tea'), [(70, 2), (15, 2), (15, 2)])
    >>> bool(np.allclose(parts.X[0].mean(axis=0), 0.0))
    True
    """
    for name, value, known in (("protocol", protocol, PROTOCOLS), ("task", task, TASKS)):
        if value not in known:
            raise InputError(f"{name} must be one of {', '.join(map(repr, known))}; got {value!r}.")
    if target not in frame.columns:
        raise InputError(
            f"the table has no column {target!r}; it has"
            f" {', '.join(map(repr, frame.columns[:10]))}."
        )
    regression = task == "regression" or (
        task == "auto" and is_numeric(frame[target]) and frame[target].nunique() > 2
    )
    published = protocol == "paper"
    table = clean(frame, box=regression and published)
    if target not in table.columns:
        raise InputError(
            f"column {target!r} is constant after the box rule; there is nothing to predict."
        )
    X = table.drop(columns=target)
    X.columns = [str(name) for name in X.columns]  # numbers would be taken for positions
    parts = three_parts(X, table[target].to_numpy(), seed, stratify=not regression)
    steps = make_pipeline(
        _encoder(X),
        FunctionTransformer(_check_size, feature_names_out="one-to-one"),
        VarianceThreshold(),
        VarianceInflation(centered=not published, min_features=2 if published else 1),
        StandardScaler(),
    ).fit(parts.X[0])
    kind = float if regression else str
    train, valid, test = (np.asarray(steps.transform(part), dtype=float) for part in parts.X)
    y_train, y_valid, y_test = (np.asarray(y).astype(kind) for y in parts.y)
    return Parts(
        (train, valid, test),
        (y_train, y_valid, y_test),
        tuple(map(str, steps.get_feature_names_out())),
    )


def _check_size(X: Array) -> Array:
    """The same rows; an error for numbers whose squares are beyond floats."""
    check_size(X, tuple(f"number {j}" for j in range(X.shape[1])), "the table", _LARGEST)
    return X


def _encoder(X: Any) -> ColumnTransformer:
    """Numbers as they are; the others one-hot, with all the levels of the table, which some
    training rows may lack.
    """
    text = [name for name in X.columns if not is_numeric(X[name])]
    levels = [_levels(X[name]) for name in text]
    return make_column_transformer(
        ("passthrough", [name for name in X.columns if name not in text]),
        (OneHotEncoder(categories=levels, drop="first", sparse_output=False), text),
        verbose_feature_names_out=False,
    )


def _levels(column: Any) -> list[Any]:
    declared = getattr(column.dtype, "categories", None)
    return sorted(set(column), key=str) if declared is None else list(declared)
