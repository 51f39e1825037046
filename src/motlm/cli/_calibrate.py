"""Calibrated probabilities of models with the zero-one loss.

Theirs are overconfident: the loss does not ask for probabilities. On rows that were not used for
fitting, the log-odds are fitted as slope * margin + intercept (Platt's scaling), where the margin
is the normal quantile of the posterior's vote. Of several classes the probabilities are the softmax
of slope * margin + intercept, with one slope for all classes and an intercept for each (vector
scaling). Models with the log loss have no such step; docs/command-line.md has the figures.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logit, ndtri, softmax
from sklearn.linear_model import LogisticRegression

from .._typing import AnyArray, Array, Integers
from ..estimators import LocalMixture

__all__ = ["calibrate", "calibrated", "probabilities"]

_FEWEST = 20  # rows of each of two classes; of several, in all: their likelihood is smoothed
_PENALTY = 1e-6  # half of it times the square of each number, as in LogisticRegression(C=1e6)


def calibrate(model: LocalMixture, X: Any, y: AnyArray) -> tuple[float, ...] | None:
    """Slope and intercept from rows that were not used for fitting, of several classes an intercept
    for each; None but for the zero-one loss, or where there are too few rows.
    """
    target = model.mixture_.target
    if target.classes is None or target.loss_name != "zero-one":
        return None
    classes, codes = target.classes, np.searchsorted(target.classes, y)
    if len(classes) > 2:
        return _fit_several(_margins(model, X), codes) if len(codes) >= _FEWEST else None
    positive = np.asarray(codes == 1)
    if min(positive.sum(), (~positive).sum()) < _FEWEST:
        return None
    found = LogisticRegression(C=1e6).fit(_margins(model, X)[:, 1:], positive)
    slope, intercept = float(found.coef_[0, 0]), float(found.intercept_[0])
    return (slope, intercept) if slope > 0 else (0.0, float(logit(positive.mean())))


def _fit_several(margin: Array, codes: Integers) -> tuple[float, ...]:
    """A slope of at least 0, and the intercepts.

    The likelihood counts each row as wrong with probability 1 / (n_rows + 2), the rule of
    succession: without it the slope would have no end where all rows are predicted rightly, nor an
    intercept where a class has no row.
    """
    n_rows, count = margin.shape
    truth = np.full((n_rows, count), 1.0 / (n_rows + 2.0) / (count - 1.0))
    truth[np.arange(n_rows), codes] = (n_rows + 1.0) / (n_rows + 2.0)

    def risk(numbers: Array) -> tuple[float, Array]:
        """Of the slope and the intercepts, with its gradient."""
        scores = numbers[0] * margin + numbers[1:]
        gap = softmax(scores, axis=1) - truth
        value = -float((truth * log_softmax(scores, axis=1)).sum())
        value += 0.5 * _PENALTY * float(numbers @ numbers)
        gradient = np.array([(gap * margin).sum(), *gap.sum(axis=0)]) + _PENALTY * numbers
        return value / n_rows, gradient / n_rows

    start, bounds = np.array([1.0, *np.zeros(count)]), [(0.0, None), *[(None, None)] * count]
    found = minimize(risk, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return tuple(found.x.tolist())


def probabilities(model: LocalMixture, X: Any, calibration: tuple[float, ...] | None) -> Array:
    """Of all classes; those of `predict_proba` where there is no calibration."""
    if calibration is None:
        return np.asarray(model.predict_proba(X))
    margin, (slope, *intercept) = _margins(model, X), calibration
    if len(intercept) == 1:
        odds = slope * margin[:, 1] + intercept[0]
        return np.column_stack([expit(-odds), expit(odds)])
    return np.asarray(softmax(slope * margin + np.array(intercept), axis=1))


def calibrated(model: LocalMixture, X: Any) -> Array | None:
    """Probabilities by the calibration that the model carries; None where it has none."""
    notes = getattr(model, "table_", None)
    if notes is None or notes.calibration is None:
        return None
    return probabilities(model, X, notes.calibration)


def _margins(model: Any, X: Any) -> Array:
    """Normal quantiles of the votes, (n_rows, n_classes), each from the smaller of the vote and
    that for all others, which has more digits.
    """
    own = model.vote_proba(X)
    others = np.column_stack([np.delete(own, k, axis=1).sum(axis=1) for k in range(own.shape[1])])
    return np.asarray(np.where(own < others, ndtri(own), -ndtri(np.minimum(others, 1.0))))
