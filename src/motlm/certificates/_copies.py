"""Tables of any kind as numbers, and training rows that models of other kinds keep, so that copies
of them are recognized.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline

from .._typing import AnyArray, Array
from ..errors import InputError, MotlmWarning
from ..fingerprints import Fingerprint
from ..frames import columns_of, from_arrow, is_frame
from ..mixture import Mixture
from ._models import find_mixture, rows_of_core

__all__ = ["Trace", "as_array", "as_numbers", "look_inside", "trace_given"]

_WIDE = 200  # columns of a sparse matrix from which on it is projected on a few
_PROJECTED = 8
_PARTS = 20  # of a model that are looked into; so many bagged ones have seen nearly all rows
# attributes by which scikit-learn's models keep training rows, and whether they keep all of them
_KEPT = {"_fit_X": True, "X_train_": True, "X_fit_": True, "support_vectors_": False}


@dataclass(frozen=True, eq=False)
class Trace:
    """Training rows of a model or of a part of it, and the rows of an audit as that part sees
    them.
    """

    fingerprint: Fingerprint
    X: Array
    codes: Array
    whole: bool  # whether all of the training rows are known

    @classmethod
    def of(cls, before: Any, X: Any, y_before: Any = None, y: Any = None) -> Trace:
        """Of the training rows themselves; without targets where they are not known."""
        first, second = as_numbers(before), as_numbers(X)
        known = y_before is not None
        targets = _numbers(np.asarray(y_before)) if known else np.zeros(len(first))
        codes = _numbers(np.asarray(y)) if known else np.zeros(len(second))
        return cls(Fingerprint.of(first, targets), second, codes, True)


# -- tables ----------------------------------------------------------------------------------------


def as_numbers(X: Any) -> Array:
    """Rows of any table as numbers: those of it, and hashes of what is not one."""
    X = from_arrow(X)
    if issparse(X):
        if X.shape[1] <= _WIDE:
            return np.asarray(X.toarray(), dtype=float)
        weights = np.random.default_rng(0).normal(size=(X.shape[1], _PROJECTED))
        return np.asarray(X @ weights, dtype=float)
    if not is_frame(X):
        X = as_array(X)
        X = X.reshape(len(X), -1)
    columns = [_numbers(np.asarray(column)) for column in columns_of(X)]
    return np.column_stack(columns) if columns else np.zeros((len(X), 0))


def as_array(X: Any) -> AnyArray:
    """Rows as an array, if only of objects."""
    try:
        return np.asarray(X)
    except ValueError:  # rows of several lengths
        rows = np.empty(len(X), dtype=object)
        rows[:] = list(X)
        return rows


def _numbers(column: AnyArray) -> Array:
    if column.dtype.kind in "mM":
        column = column.view(np.int64)
    if column.dtype.kind in "buif":
        made = column.astype(float)
    else:
        made = np.array([_number(value) for value in column], dtype=float)
    made[np.isnan(made)] = np.nan  # of which there are many in bits
    return made


def _number(value: Any) -> float:
    if isinstance(value, Real):
        return float(value)
    return float(zlib.crc32(str(value).encode("utf-8", "replace")))


def trace_given(X_train: Any, y_train: Any, X: Any, y: AnyArray) -> Trace:
    """Training rows that the user gives, beside those of an audit."""
    X_train, X = from_arrow(X_train), from_arrow(X)
    if is_frame(X_train) and is_frame(X):
        missing = [name for name in X.columns if name not in list(X_train.columns)]
        if missing:
            raise InputError(f"X_train has no column {missing[0]!r}, which X has.")
        X_train = X_train[list(X.columns)]
    made = Trace.of(X_train, X, y_train, y)
    n_columns, n_before = made.X.shape[1], len(made.fingerprint.sketches[0].scale) - 1
    if n_columns != n_before:
        raise InputError(f"X_train has {n_before} columns, but X has {n_columns}.")
    return made


# -- models ----------------------------------------------------------------------------------------


def look_inside(model: Any, X: Any, y: AnyArray) -> tuple[list[Trace], bool]:
    """Training rows that the parts of a model keep, and whether that is all of them."""
    labels = getattr(model, "classes_", None)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MotlmWarning)  # predict gives them
            found = list(islice(_walk(model, X, _Targets(y, labels)), _PARTS))
    except Exception:  # whatever attributes of other people's classes hold
        return [], False
    traces = [one for one in found if one is not None]
    return traces, bool(traces) and all(one is not None and one.whole for one in found)


@dataclass(frozen=True, eq=False)
class _Targets:
    """Targets of an audit, and the labels of the outermost classifier."""

    y: AnyArray
    labels: AnyArray | None

    def code(self, mixture: Mixture) -> Array | None:
        """As a mixture codes them; some classifiers give their parts the position of each label
        instead. None where it is not known.
        """
        classes = mixture.target.classes
        if classes is None or np.isin(self.y, classes).all():
            return mixture.target.code(self.y)
        if self.labels is None or len(self.labels) != len(classes):
            return None
        return mixture.target.code(classes[np.searchsorted(self.labels, self.y)])


def _walk(model: Any, X: Any, targets: _Targets) -> Iterator[Trace | None]:
    """What each of the innermost predictors keeps; None for one that keeps nothing."""
    mixture = find_mixture(model)
    if mixture is not None:
        codes = targets.code(mixture)
        rows = mixture.encode(rows_of_core(model, X))
        yield None if codes is None else Trace(mixture.provenance.fingerprint, rows, codes, True)
        return
    parts = list(_parts(model, X, targets))
    if not parts:
        yield _kept(model, X)
    for part in parts:
        yield from _walk(*part)


def _parts(model: Any, X: Any, targets: _Targets) -> Iterator[tuple[Any, Any, _Targets]]:
    """The predictors that a model is made of, with the rows and targets that each sees."""
    if isinstance(model, Pipeline):
        rows = model[:-1].transform(X) if len(model.steps) > 1 else X
        yield model.steps[-1][1], rows, targets
    elif hasattr(model, "best_estimator_"):
        yield model.best_estimator_, X, targets
    elif hasattr(model, "calibrated_classifiers_"):
        for one in model.calibrated_classifiers_:
            yield one.estimator, X, targets
    elif hasattr(model, "estimators_features_"):
        rows = X if issparse(X) else np.asarray(X)
        for one, features in zip(model.estimators_, model.estimators_features_, strict=True):
            yield one, rows[:, features], targets
    elif hasattr(model, "estimators_"):
        for one in np.ravel(np.asarray(model.estimators_, dtype=object)):
            if not isinstance(one, str):  # "drop"
                yield one, X, targets
    elif hasattr(model, "regressor_"):
        y = np.asarray(targets.y, dtype=float).reshape(-1, 1)
        yield model.regressor_, X, _Targets(model.transformer_.transform(y).ravel(), None)
    elif hasattr(model, "estimator_"):
        rows = model.transform(X) if hasattr(model, "support_") else X  # recursive elimination
        yield model.estimator_, rows, targets
    elif hasattr(model, "base_estimator_"):
        yield model.base_estimator_, X, targets
    elif type(model).__name__ == "FrozenEstimator":
        yield model.estimator, X, targets


def _kept(model: Any, X: Any) -> Trace | None:
    """By attributes of scikit-learn's models."""
    for name, whole in _KEPT.items():
        rows = getattr(model, name, None)
        if rows is None or not hasattr(rows, "shape") or len(rows.shape) != 2:
            continue
        made = Trace.of(rows, X)
        if rows.shape[0] and made.X.shape[1] == len(made.fingerprint.sketches[0].scale) - 1:
            return Trace(made.fingerprint, made.X, made.codes, whole)
    return None
