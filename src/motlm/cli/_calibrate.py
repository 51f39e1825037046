"""Calibrated probabilities of models with the zero-one loss.

Theirs are overconfident: the loss does not ask for probabilities. On rows that were not used for
fitting, the log-odds are fitted as slope * margin + intercept (Platt's scaling), where the margin
is the normal quantile of the posterior's vote. Models with the log loss have no such step;
docs/command-line.md has the figures.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtri
from sklearn.linear_model import LogisticRegression

from .._typing import AnyArray, Array
from ..estimators import LocalMixture

__all__ = ["calibrate", "probabilities"]

_FEWEST = 20  # rows of each class


def calibrate(model: LocalMixture, X: Any, y: AnyArray) -> tuple[float, float] | None:
    """Slope and intercept from rows that were not used for fitting; None but for the zero-one loss,
    or where there are too few rows.
    """
    target = model.mixture_.target
    if target.classes is None or target.loss_name != "zero-one":
        return None
    classes = target.classes
    positive = np.asarray(y == classes[1])
    if min(positive.sum(), (~positive).sum()) < _FEWEST:
        return None
    found = LogisticRegression(C=1e6).fit(_margins(model, X)[:, None], positive)
    slope, intercept = float(found.coef_[0, 0]), float(found.intercept_[0])
    return (slope, intercept) if slope > 0 else (0.0, float(logit(positive.mean())))


def probabilities(model: LocalMixture, X: Any, calibration: tuple[float, float] | None) -> Array:
    """Of both classes; those of `predict_proba` where there is no calibration."""
    if calibration is None:
        return np.asarray(model.predict_proba(X))
    slope, intercept = calibration
    odds = slope * _margins(model, X) + intercept
    return np.column_stack([expit(-odds), expit(odds)])


def _margins(model: Any, X: Any) -> Array:
    """Normal quantiles of the votes, from the smaller one, which has more digits."""
    negative, positive = model.vote_proba(X).T
    return np.asarray(np.where(positive < negative, ndtri(positive), -ndtri(negative)))
