"""Probabilities that mean what they say.

A classifier's own are votes of its posterior, which are surer than they are right. On rows that it
has not seen, their log-odds are found to be slope * decision_function + intercept (Platt's
scaling).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from .._typing import AnyArray, Array
from ..estimators import LocalMixture, LocalMixtureClassifier

__all__ = ["calibrated", "probabilities"]

_FEWEST = 20  # rows of each class


def calibrated(model: LocalMixture, X: Any, y: AnyArray) -> tuple[float, float] | None:
    """Slope and intercept from rows that the model has not seen; None for a regressor, or where
    they are too few to tell.
    """
    if not isinstance(model, LocalMixtureClassifier):
        return None
    positive = np.asarray(y == model.classes_[1])
    if min(positive.sum(), (~positive).sum()) < _FEWEST:
        return None
    found = LogisticRegression(C=1e6).fit(model.decision_function(X)[:, None], positive)
    slope, intercept = float(found.coef_[0, 0]), float(found.intercept_[0])
    return (slope, intercept) if slope > 0 else (0.0, float(logit(positive.mean())))


def probabilities(
    model: LocalMixtureClassifier, X: Any, calibration: tuple[float, float] | None
) -> Array:
    """Of both classes; votes where there is no calibration."""
    if calibration is None:
        return np.asarray(model.predict_proba(X))
    slope, intercept = calibration
    odds = slope * model.decision_function(X) + intercept
    return np.column_stack([expit(-odds), expit(odds)])
