"""What the public functions are given: checked, and as plain numbers."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import _num_samples, check_consistent_length, column_or_1d

from .._renamed import warn_of
from .._typing import AnyArray, Array
from ..errors import CertificateError, InputError, InputTypeError, MotlmWarning
from ..frames import is_missing
from ..mixture import Mixture
from ..targets import RATE_LOSSES, Rate, Target

__all__ = [
    "check_labels",
    "check_numbers",
    "check_task",
    "code_targets",
    "list_labels",
    "predict",
    "read_renamed",
    "read_targets",
    "refuse_idle",
    "size_of_errors",
]


def check_numbers(delta: Any, coverage: Any, random_state: Any) -> tuple[float, float, int]:
    """As plain numbers, which the certificate can keep."""
    for name, value in (("delta", delta), ("coverage", coverage)):
        if not (isinstance(value, Real) and 0.0 < float(value) < 1.0):
            raise InputError(f"{name} must be a number between 0 and 1; got {value!r}.")
    if not isinstance(random_state, Integral) or isinstance(random_state, bool) or random_state < 0:
        raise InputError(
            "random_state must be an integer >= 0, which the certificate records; got"
            f" {random_state!r}."
        )
    return (
        float(np.format_float_positional(delta)),
        float(np.format_float_positional(coverage)),
        int(random_state),
    )


def check_task(model: Any) -> bool:
    """Whether it is a classifier; an error for what is not a regressor either, and for models of
    rates, whose certificates are of another kind.
    """
    mixture = model if isinstance(model, Mixture) else vars(model).get("mixture_")
    rates = mixture is not None and isinstance(mixture.target, Rate)
    if rates or (getattr(model, "loss", None) in RATE_LOSSES and hasattr(model, "n_localities")):
        raise CertificateError(
            "a model of rates has no share of errors to certify.",
            "Use certify_rates or audit_rates: actual over expected, and deviances.",
        )
    if isinstance(model, Mixture):
        return model.target.task == "classification"
    if not (is_classifier(model) or is_regressor(model)):
        raise InputTypeError(
            f"certificates are for classifiers and regressors; got a {type(model).__name__}."
        )
    return bool(is_classifier(model))


def refuse_idle(**given: Any) -> None:
    """Options that would be ignored."""
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name} is not used in certifying this kind of model; leave it out.")


def read_renamed(before: str, value: Any, now: str, new_value: Any) -> Any:
    """The value of a keyword that was renamed: the old name is accepted for one release."""
    if value is None:
        return new_value
    if new_value is not None:
        raise InputError(f"{before} is the old name of {now}; give {now} alone.")
    warn_of(before, now, stacklevel=4)
    return value


def read_targets(X: Any, y: Any) -> AnyArray:
    """One finite target for each row."""
    targets: AnyArray = np.asarray(column_or_1d(y, warn=True))
    check_consistent_length(X, targets)
    if _num_samples(X) == 0:
        raise CertificateError("there are no rows to certify on.")
    missing = np.zeros(len(targets), dtype=bool)
    if targets.dtype == object:
        missing = is_missing(targets)
    elif targets.dtype.kind == "f":
        missing = ~np.isfinite(targets)
    n = int(missing.sum())
    if n:
        raise CertificateError(
            f"y has {n} missing or infinite {'value' if n == 1 else 'values'}, the first at row"
            f" {int(np.flatnonzero(missing)[0])}; a case without an outcome cannot be used for a"
            " certificate.",
            "Leave such rows out of the population, and state this.",
        )
    return targets


def code_targets(mixture: Mixture | None, y: AnyArray, classification: bool) -> Array:
    """Targets as numbers: as a mixture codes them; of other classifiers, the position of each label
    in their sorted list.
    """
    if mixture is not None:
        return check_labels(mixture.target, y)
    if classification:
        return np.unique(y, return_inverse=True)[1].astype(float)
    return np.asarray(y, dtype=float)


def list_labels(mixture: Mixture | None, y: AnyArray, classification: bool) -> AnyArray | None:
    """The labels, in the order of what `code_targets` gives for them."""
    labels = np.unique(y) if mixture is None and classification else None
    if mixture is not None:
        labels = mixture.target.classes
    return None if labels is None or len(labels) < 2 else labels


def check_labels(target: Target, y: AnyArray) -> Array:
    """Codes of the targets; an error for a label that the model was not fitted on."""
    if target.classes is not None:
        strange = ~np.isin(y, target.classes)
        if strange.any():
            raise CertificateError(
                f"the label {y[strange].tolist()[0]!r} is not among those that the model was fitted"
                f" on, {target.classes.tolist()}.",
                "Give more rows, or leave such rows out of the population, and state this.",
            )
    return target.code(y)


def predict(model: Any, X: Any, quiet: bool = False) -> AnyArray:
    """The model's answers, one for each row; `quiet` if the rows' warnings were given before."""
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore", MotlmWarning)
        answers = np.asarray(column_or_1d(np.asarray(model.predict(X))))
    check_consistent_length(X, answers)
    if answers.dtype.kind == "f" and not np.isfinite(answers).all():
        row = int(np.flatnonzero(~np.isfinite(answers))[0])
        raise CertificateError(
            f"the model predicts {answers[row]} for row {row}; a model that does not answer cannot"
            " be certified."
        )
    return answers


def size_of_errors(
    name: str, given: float | None, multiple: float, scale: float | None
) -> float | None:
    """Given, or a multiple of the typical error with four digits, so that it can be quoted in
    full.
    """
    if given is None:
        return float(f"{multiple * scale:.4g}") if scale else None
    if not (isinstance(given, Real) and np.isfinite(float(given)) and float(given) > 0.0):
        raise InputError(f"{name} must be a number > 0, in the units of y; got {given!r}.")
    return float(given)
