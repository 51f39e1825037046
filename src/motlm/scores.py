"""The usual scores of predictions, by scikit-learn's metrics, with weights."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    d2_tweedie_score,
    log_loss,
    mean_absolute_error,
    mean_tweedie_deviance,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from ._typing import AnyArray, Array

__all__ = ["HIGHER", "score_labels", "score_numbers", "score_rates"]

HIGHER = ("accuracy", "balanced accuracy", "AUC", "R2", "D2")  # is better; of the others lower

Scores = dict[str, float | None]


def score_labels(
    y: AnyArray, answers: AnyArray, chances: Array, classes: AnyArray, weight: Any = None
) -> Scores:
    """Of labels and their probabilities; None where a score is not defined, for want of a class.
    Means over classes are over those that rows are of.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.scores import score_labels
    >>> y, chance = np.array(["a", "b", "b", "a"]), np.array([0.1, 0.8, 0.4, 0.6])
    >>> answers = np.where(chance > 0.5, "b", "a")
    >>> score_labels(y, answers, np.column_stack([1 - chance, chance]), np.array(["a", "b"]))["AUC"]
    0.75
    """
    present = [k for k, label in enumerate(classes.tolist()) if np.any(y == label)]
    recalls = [
        _mean(answers[y == classes[k]] == classes[k], weight, y == classes[k]) for k in present
    ]
    several = len(present) > 1
    return {
        "accuracy": float(accuracy_score(y, answers, sample_weight=weight)),
        "balanced accuracy": float(np.mean(recalls)) if several else None,
        "AUC": _auc(y, chances, classes, present, weight) if several else None,
        "log loss": _log_loss(y, chances, classes, weight),
        "Brier score": _brier(y, chances, classes, weight),
    }


def score_numbers(y: Array, answers: Array, weight: Any = None) -> Scores:
    """R2 (None where all rows have the same target), RMSE and MAE."""
    return {
        "R2": float(r2_score(y, answers, sample_weight=weight)) if np.ptp(y) > 0 else None,
        "RMSE": float(root_mean_squared_error(y, answers, sample_weight=weight)),
        "MAE": float(mean_absolute_error(y, answers, sample_weight=weight)),
    }


def score_rates(rate: Array, answers: Array, weight: Any, power: float) -> Scores:
    """Mean deviance and D2 (None where all rows have the same rate); weights are exposures."""
    options = {"sample_weight": weight, "power": power}
    return {
        "mean deviance": float(mean_tweedie_deviance(rate, answers, **options)),
        "D2": float(d2_tweedie_score(rate, answers, **options)) if np.ptp(rate) > 0 else None,
    }


def _mean(values: AnyArray, weight: Any, rows: AnyArray) -> float:
    return float(np.average(values, weights=None if weight is None else weight[rows]))


def _log_loss(y: AnyArray, chances: Array, classes: AnyArray, weight: Any) -> float:
    with warnings.catch_warnings():  # of a list of labels that are all different
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        return float(log_loss(y, chances, labels=classes, sample_weight=weight))


def _brier(y: AnyArray, chances: Array, classes: AnyArray, weight: Any) -> float:
    """Of two classes the mean of (p - 1{y})^2; of more its sum over the classes."""
    if len(classes) == 2:
        return float(brier_score_loss(y == classes[1], chances[:, 1], sample_weight=weight))
    errors = ((chances - (y[:, None] == classes)) ** 2).sum(axis=1)
    return float(np.average(errors, weights=weight))


def _auc(y: AnyArray, chances: Array, classes: AnyArray, present: list[int], weight: Any) -> float:
    """Of more than two classes the mean over those present, each against the rest."""
    asked = present[1:] if len(classes) == 2 else present
    each = [roc_auc_score(y == classes[k], chances[:, k], sample_weight=weight) for k in asked]
    return float(np.mean(each))
