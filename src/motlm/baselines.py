"""Rivals of the same shape, several simple models in parts of the space, as scikit-learn estimators
to compare with.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ._typing import AnyArray, Array, Integers
from .errors import InputError
from .frames import check_size
from .limits import LARGEST_TARGET, UNSCALED

__all__ = ["ClusteredLinearClassifier", "ClusteredLinearRegressor", "LeagueOfExperts"]

_LEAST = 1e-100  # largest number of a column; LinearSVC does not end at 1e-200


def _check_count(name: str, value: Any, least: int) -> None:
    if not isinstance(value, Integral) or value < least:
        raise InputError(f"{name} must be an integer, at least {least}; got {value!r}.")


def _check_rows(X: Array) -> None:
    """Rows are taken as they are, by solvers that may never end on larger or smaller numbers."""
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    check_size(X, names, "X", UNSCALED)
    largest = np.abs(X).max(axis=0, initial=0.0)
    small = (largest > 0) & (largest < _LEAST)
    if small.any():
        first = int(np.flatnonzero(small)[0])
        raise InputError(
            f"no number in column {names[first]!r} of X is larger than {largest[first]:.3g}; at"
            f" least {_LEAST:g} can be computed with.",
            "Multiply the column by a large number.",
        )


class _Constant:
    """Predicts the one class that its rows have."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def predict(self, X: Array) -> AnyArray:
        return np.full(len(X), self.value)


class _Routed(BaseEstimator):  # type: ignore[misc]
    """Each row is predicted by the expert that `_route` selects."""

    experts_: list[Any]

    def _route(self, X: Array) -> Integers:
        raise NotImplementedError

    def _fit_expert(self, expert: Any, X: Array, y: AnyArray) -> Any:
        values = np.unique(y)
        if len(values) == 1:
            return _Constant(values[0])
        return expert.fit(X, y)

    def _predict(self, X: Array) -> AnyArray:
        route = self._route(X)
        predicted = np.empty(len(X), dtype=self._kind)
        for k, expert in enumerate(self.experts_):
            if (route == k).any():
                predicted[route == k] = expert.predict(X[route == k])
        return predicted

    def _rows(self, X: Any) -> Array:
        X = validate_data(self, X, reset=False, dtype=float)
        check_size(X, tuple(f"x{j}" for j in range(X.shape[1])), "X", UNSCALED)
        return np.asarray(X)

    def apply(self, X: Any) -> Integers:
        """The expert used for each row.

        Parameters
        ----------
        X : array, (n_rows, n_features)

        Returns
        -------
        ndarray of int, (n_rows,)
            Index in `experts_`.
        """
        check_is_fitted(self, "experts_")
        return self._route(self._rows(X))

    def predict(self, X: Any) -> AnyArray:
        """The prediction of the expert used for each row.

        Parameters
        ----------
        X : array, (n_rows, n_features)

        Returns
        -------
        ndarray, (n_rows,)
        """
        check_is_fitted(self, "experts_")
        return np.asarray(self._decode(self._predict(self._rows(X))))


class _RoutedClassifier(ClassifierMixin, _Routed):  # type: ignore[misc]
    _kind = np.intp

    def _encode(self, X: Any, y: Any) -> tuple[Array, Integers]:
        """The rows, and the classes as numbers; sets `classes_`."""
        with np.errstate(over="ignore", invalid="ignore"):  # of a sum that looks for nan
            X, y = validate_data(self, X, y, dtype=float)
        _check_rows(X)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        return X, codes

    def _decode(self, codes: Integers) -> AnyArray:
        return np.asarray(self.classes_)[codes]


class LeagueOfExperts(_RoutedClassifier):
    """The League of Experts of Vogel et al. (2024): experts sit at places that move towards the
    rows that they get right.

    Places are drawn from N(0, standard deviation of each feature). A row belongs to the nearest
    place, in L1 distance and units of the features' standard deviations, and each expert is fitted
    on its rows; one without rows gets a random share of them, and one whose rows have one class
    predicts that class. In round t of T, each place moves by 2 (1 - t / T) of the way to the mean
    of *all* rows that its expert classifies correctly, and the experts are fitted anew. The places
    with the best training accuracy are kept.

    Parameters
    ----------
    n_experts : int, default=2
    expert : classifier, default=None
        Cloned for each place; by default `LinearSVC()`.
    n_rounds : int, default=20
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    places_ : ndarray, (n_experts, n_features)
    experts_ : list of fitted classifiers
    classes_ : ndarray

    Examples
    --------
    >>> from motlm.baselines import LeagueOfExperts
    >>> from motlm.datasets import make_twonorm
    >>> X, y = make_twonorm(400, random_state=0)
    >>> LeagueOfExperts(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        n_experts: int = 2,
        *,
        expert: Any = None,
        n_rounds: int = 20,
        random_state: Any = None,
    ) -> None:
        self.n_experts = n_experts
        self.expert = expert
        self.n_rounds = n_rounds
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> LeagueOfExperts:
        """Place the experts and fit them.

        Parameters
        ----------
        X : array, (n_rows, n_features)
        y : array, (n_rows,)

        Returns
        -------
        self
        """
        _check_count("n_experts", self.n_experts, 1)
        _check_count("n_rounds", self.n_rounds, 0)
        X, codes = self._encode(X, y)
        rng = check_random_state(self.random_state)
        deviation = X.std(axis=0)
        deviation[deviation <= len(X) * np.finfo(float).eps * np.abs(X).max(axis=0)] = (
            0.0  # constant, but for rounding
        )
        self._unit = np.where(deviation > 0, deviation, 1.0)
        places = deviation * rng.standard_normal((self.n_experts, X.shape[1]))
        self._settle(X, codes, places, rng)
        best, best_places = self._accuracy(X, codes), places
        for t in range(self.n_rounds):
            step = 2.0 * (1.0 - t / self.n_rounds)
            moved = []
            for place, expert in zip(places, self.experts_, strict=True):
                right = expert.predict(X) == codes
                moved.append(
                    place + step * (X[right].mean(axis=0) - place) if right.any() else place
                )
            places = np.array(moved)
            self._settle(X, codes, places, rng)
            accuracy = self._accuracy(X, codes)
            if accuracy > best:
                best, best_places = accuracy, places
        self._settle(X, codes, best_places, rng)
        return self

    def _settle(self, X: Array, codes: Integers, places: Array, rng: np.random.RandomState) -> None:
        """Fit the experts at these places."""
        self.places_ = places
        expert = LinearSVC() if self.expert is None else self.expert
        route = self._route(X)
        share = min(max(2, len(X) // self.n_experts), len(X))
        self.experts_ = []
        for k in range(self.n_experts):
            rows = np.flatnonzero(route == k)
            if not len(rows):
                rows = rng.choice(len(X), size=share, replace=False)
            one = clone(expert)
            if "random_state" in one.get_params(deep=False):
                one.set_params(random_state=rng.randint(2**31 - 1))
            self.experts_.append(self._fit_expert(one, X[rows], codes[rows]))

    def _accuracy(self, X: Array, codes: Integers) -> float:
        return float((self._predict(X) == codes).mean())

    def _route(self, X: Array) -> Integers:
        distance = [np.abs((X - place) / self._unit).sum(axis=1) for place in self.places_]
        return np.asarray(np.argmin(distance, axis=0), dtype=np.intp)


class _Clustered(_Routed):
    """KMeans, and a linear model for each cluster."""

    def _fit_clusters(self, X: Array, y: AnyArray, expert: Any) -> None:
        _check_count("n_clusters", self.n_clusters, 1)
        count = min(self.n_clusters, len(np.unique(X, axis=0)))
        self.kmeans_ = KMeans(count, n_init=10, random_state=self.random_state).fit(X)
        route = self.kmeans_.labels_
        self.experts_ = []
        for k in range(count):
            rows = route == k
            if not rows.any():  # columns too small for squared distances to differ
                rows = np.ones(len(X), dtype=bool)
            self.experts_.append(self._fit_expert(clone(expert), X[rows], y[rows]))

    def _route(self, X: Array) -> Integers:
        return np.asarray(self.kmeans_.predict(X), dtype=np.intp)


class ClusteredLinearClassifier(_RoutedClassifier, _Clustered):
    """KMeans clusters, and a logistic regression in each: the simplest mixture of local linear
    models.

    Parameters
    ----------
    n_clusters : int, default=2
    expert : classifier, default=None
        Cloned for each cluster; by default `LogisticRegression()`.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    kmeans_ : fitted KMeans
    experts_ : list of fitted classifiers
    classes_ : ndarray

    Examples
    --------
    Two clusters in which the label follows the second column in opposite ways:

    >>> import numpy as np
    >>> from motlm.baselines import ClusteredLinearClassifier
    >>> rng = np.random.default_rng(0)
    >>> side = np.repeat([-1.0, 1.0], 100)
    >>> X = np.column_stack([5 * side, rng.normal(size=200)])
    >>> y = X[:, 1] * side > 0
    >>> model = ClusteredLinearClassifier(n_clusters=2, random_state=0).fit(X, y)
    >>> len(model.experts_), bool(model.score(X, y) > 0.95)
    (2, True)
    """

    def __init__(
        self, n_clusters: int = 2, *, expert: Any = None, random_state: Any = None
    ) -> None:
        self.n_clusters = n_clusters
        self.expert = expert
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> ClusteredLinearClassifier:
        """Find the clusters and fit their models.

        Parameters
        ----------
        X : array, (n_rows, n_features)
        y : array, (n_rows,)

        Returns
        -------
        self
        """
        X, codes = self._encode(X, y)
        self._fit_clusters(X, codes, LogisticRegression() if self.expert is None else self.expert)
        return self


class ClusteredLinearRegressor(RegressorMixin, _Clustered):  # type: ignore[misc]
    """KMeans clusters, and a ridge regression in each.

    Parameters
    ----------
    n_clusters : int, default=2
    expert : regressor, default=None
        Cloned for each cluster; by default `Ridge(alpha=0.001)`, which differs from least squares
        only in clusters of few rows.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    kmeans_ : fitted KMeans
    experts_ : list of fitted regressors

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.baselines import ClusteredLinearRegressor
    >>> X = np.concatenate([np.linspace(-3, -2, 50), np.linspace(2, 3, 50)])[:, None]
    >>> y = np.where(X[:, 0] < 0, 1 + X[:, 0], 5 - 2 * X[:, 0])
    >>> model = ClusteredLinearRegressor(n_clusters=2, random_state=0).fit(X, y)
    >>> sorted(round(float(expert.coef_[0]), 2) for expert in model.experts_)
    [-2.0, 1.0]
    >>> len(set(model.apply(X).tolist()))
    2
    """

    _kind = float

    def __init__(
        self, n_clusters: int = 2, *, expert: Any = None, random_state: Any = None
    ) -> None:
        self.n_clusters = n_clusters
        self.expert = expert
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> ClusteredLinearRegressor:
        """Find the clusters and fit their models.

        Parameters
        ----------
        X : array, (n_rows, n_features)
        y : array, (n_rows,)

        Returns
        -------
        self
        """
        with np.errstate(over="ignore", invalid="ignore"):  # of a sum that looks for nan
            X, y = validate_data(self, X, y, dtype=float, y_numeric=True)
        _check_rows(X)
        check_size(y[:, None], ("y",), "y", LARGEST_TARGET)
        self._fit_clusters(
            X, y.astype(float), Ridge(alpha=1e-3) if self.expert is None else self.expert
        )
        return self

    def _decode(self, values: Array) -> Array:
        return values
