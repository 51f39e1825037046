"""What users would pick instead: estimators of scikit-learn and EBM, with a sound preparation.

Each takes the matrix of `_matrix`. Numbers that are missing are replaced by the median, with a
column that tells where; categories are one-hot. Linear models have standardized columns, and their
penalty is chosen on rows left out of those to fit on; boosting takes categories and missing values
as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, TweedieRegressor
from sklearn.metrics import log_loss, mean_squared_error, mean_tweedie_deviance
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from .._typing import AnyArray, Array, Booleans, Integers

__all__ = ["Peer", "Task", "inner_splits", "peers_of"]

_STRENGTHS = tuple((10.0 ** np.arange(-3.0, 4.0)).tolist())  # of penalties, in units of one row
_LEAF = 0.02  # least share of the rows: the log loss of a leaf with one class may be infinite
_LEVELS = 250  # of a category; rarer ones are joined
_FOLDS = 5  # on which a penalty is chosen
_MANY_ROWS = 20_000  # above, one part is left out

Splits = list[tuple[Integers, Integers]]


@dataclass(frozen=True)
class Task:
    """What is predicted: "classification", "regression" or "rate"; the power of its variance."""

    kind: str
    power: float = 0.0


@dataclass(frozen=True)
class Peer:
    """An estimator to compare with: its name, what it is, and how it is made for the rows of a
    fold, of which some can be left out.
    """

    name: str
    words: str
    make: Callable[[Splits, int], Any]


def peers_of(task: Task, codes: Booleans) -> list[Peer]:
    """Of the columns of a matrix, some of them codes."""
    made = [
        _constant(task),
        _linear(task, codes),
        _tree(task, codes),
        _boosting(task, codes),
    ]
    return made + ([_ebm(task, codes)] if find_spec("interpret") is not None else [])


def inner_splits(y: AnyArray, groups: Any, stratify: bool, seed: int) -> Splits:
    """Folds of the rows to fit on, on which a peer may choose."""
    rows, count = np.zeros(len(y)), 0 if groups is None else min(_FOLDS, len(np.unique(groups)))
    if count > 1:
        found = list(GroupKFold(count).split(rows, y, groups))
    else:
        smallest = int(np.unique(y, return_counts=True)[1].min()) if stratify else 0
        kind = StratifiedKFold if smallest >= _FOLDS else KFold
        found = list(kind(_FOLDS, shuffle=True, random_state=seed).split(rows, y))
    return found[:1] if len(y) > _MANY_ROWS else found


class _Tuned(BaseEstimator):  # type: ignore[misc]
    """A model with the value of a parameter that has the least weighted loss on rows left out."""

    def __init__(self, model: Any, parameter: str, values: Any, splits: Any, loss: Any) -> None:
        self.model = model
        self.parameter = parameter
        self.values = values
        self.splits = splits
        self.loss = loss

    def fit(self, X: Array, y: AnyArray, sample_weight: Any = None) -> _Tuned:
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        losses = [
            sum(
                self.loss(
                    self._fit_one(value, X[rest], y[rest], weight[rest]),
                    X[test],
                    y[test],
                    weight[test],
                )
                for rest, test in self.splits
            )
            for value in self.values
        ]
        self.value_ = self.values[int(np.argmin(losses))]
        self.model_ = self._fit_one(self.value_, X, y, weight)
        return self

    def _fit_one(self, value: float, X: Array, y: AnyArray, weight: Array) -> Any:
        return (
            clone(self.model).set_params(**{self.parameter: value}).fit(X, y, sample_weight=weight)
        )

    @property
    def classes_(self) -> AnyArray:
        return np.asarray(self.model_.classes_)

    def predict(self, X: Array) -> AnyArray:
        return np.asarray(self.model_.predict(X))

    def predict_proba(self, X: Array) -> Array:
        return np.asarray(self.model_.predict_proba(X))


# -- the estimators --------------------------------------------------------------------------------


def _constant(task: Task) -> Peer:
    if task.kind == "classification":
        words = "the most frequent class, with the shares of all as probabilities"
        return Peer("majority class", words, lambda splits, seed: DummyClassifier(strategy="prior"))
    name = "mean" if task.kind == "regression" else "mean rate"
    return Peer(name, f"the {name} of the rows to fit on", lambda splits, seed: DummyRegressor())


def _linear(task: Task, codes: Booleans) -> Peer:
    name, parameter, model = {
        "classification": ("logistic regression", "C", LogisticRegression(max_iter=2000)),
        "regression": ("ridge", "alpha", Ridge()),
        "rate": (
            "GLM",
            "alpha",
            TweedieRegressor(power=task.power, link="log", solver="newton-cholesky", max_iter=1000),
        ),
    }[task.kind]
    # the penalty of a GLM is per unit of weight
    values = tuple(one * 1e-3 for one in _STRENGTHS) if task.kind == "rate" else _STRENGTHS

    def make(splits: Splits, seed: int) -> Any:
        tuned = _Tuned(model, parameter, values, splits, _Loss(task))
        return _prepared(codes, tuned, scale=True)

    return Peer(name, "linear, its penalty chosen by cross-validation; standardized columns", make)


def _tree(task: Task, codes: Booleans) -> Peer:
    def make(splits: Splits, seed: int) -> Any:
        options = {"max_depth": 4, "min_samples_leaf": _LEAF, "random_state": seed}
        if task.kind == "classification":
            model = DecisionTreeClassifier(**options)
        else:
            criterion = "poisson" if task.power == 1.0 else "squared_error"
            model = DecisionTreeRegressor(criterion=criterion, **options)
        return _prepared(codes, model, scale=False)

    return Peer("tree of depth 4", f"up to 16 leaves of at least {_LEAF:.0%} of the rows", make)


def _boosting(task: Task, codes: Booleans) -> Peer:
    loss = {0.0: "squared_error", 1.0: "poisson", 2.0: "gamma"}.get(task.power, "poisson")

    def make(splits: Splits, seed: int) -> Any:
        last = np.arange(len(codes)) >= np.count_nonzero(~codes)
        options = {"categorical_features": last, "random_state": seed}
        if task.kind == "classification":
            model = HistGradientBoostingClassifier(**options)
        else:
            model = HistGradientBoostingRegressor(loss=loss, **options)
        unknown = {"handle_unknown": "use_encoded_value", "unknown_value": np.nan}
        encoder = OrdinalEncoder(max_categories=_LEVELS, **unknown)
        parts = [("numbers", "passthrough", ~codes), ("codes", encoder, codes)]
        return make_pipeline(ColumnTransformer(parts), model)

    words = "hundreds of trees with scikit-learn's defaults; not readable"
    if task.kind == "rate" and loss == "poisson" and task.power != 1.0:
        words += "; with Poisson's loss, as it has no Tweedie loss"
    return Peer("HistGradientBoosting", words, make)


def _ebm(task: Task, codes: Booleans) -> Peer:
    objectives = {1.0: "poisson_deviance", 2.0: "gamma_deviance"}
    tweedie = f"tweedie_deviance:variance_power={task.power:g}"

    def make(splits: Splits, seed: int) -> Any:
        from interpret import glassbox

        kinds = ["nominal" if one else "continuous" for one in codes]
        options = {"feature_types": kinds, "random_state": seed, "n_jobs": 1}
        if task.kind == "classification":
            return glassbox.ExplainableBoostingClassifier(**options)
        if task.kind == "rate":
            options["objective"] = objectives.get(task.power, tweedie)
        return glassbox.ExplainableBoostingRegressor(**options)

    return Peer(
        "EBM", "a curve for each column, and pairs of columns, with interpret's defaults", make
    )


def _prepared(codes: Booleans, model: Any, scale: bool) -> Pipeline:
    """With missing numbers replaced and marked, and categories one-hot."""
    numbers = [SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)]
    one_hot = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=_LEVELS, sparse_output=False
    )
    encode = ColumnTransformer(
        [("numbers", make_pipeline(*numbers), ~codes), ("codes", one_hot, codes)]
    )
    steps = [encode, StandardScaler()] if scale else [encode]
    return make_pipeline(*steps, model)


@dataclass(frozen=True)
class _Loss:
    """What a penalty is chosen by: log loss, squared error or deviance, summed over weights."""

    task: Task

    def __call__(self, model: Any, X: Array, y: AnyArray, weight: Array) -> float:
        if not weight.sum() > 0:
            return 0.0
        if self.task.kind == "classification":
            known = np.isin(y, model.classes_)  # a class whose rows are all left out is no one's
            if not weight[known].sum() > 0:
                return 0.0
            chances, labels = model.predict_proba(X[known]), model.classes_
            value = log_loss(y[known], chances, labels=labels, sample_weight=weight[known])
        elif self.task.kind == "regression":
            value = mean_squared_error(y, model.predict(X), sample_weight=weight)
        else:
            answers = np.clip(model.predict(X), 1e-300, 1e300)
            value = mean_tweedie_deviance(y, answers, sample_weight=weight, power=self.task.power)
        return float(value * weight.sum())
