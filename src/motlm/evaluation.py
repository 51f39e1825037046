"""How good predictions are on rows with known outcomes, by scikit-learn's metrics.

Probabilities by accuracy, AUC, log loss and calibration; numbers by R2 and errors; rates by the
deviance and by actual over expected.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ._typing import AnyArray, Array, Integers
from .checks import check_exposure, per_exposure
from .errors import InputError, InputTypeError
from .mixture import mixture_of
from .rows import group_equally
from .scores import score_labels, score_numbers, score_rates
from .tables import plain, text_table
from .targets import Rate

__all__ = ["Evaluation", "evaluate"]

_BINS = 10  # of the calibration table, and of predicted rates
_WIDTH = 110  # characters of a confusion matrix
_MISTAKES = 10  # that are shown instead of a wider one
_OF_SEVERAL = {
    "balanced accuracy": "mean over the classes of the recall",
    "AUC": "mean over the classes, each against the rest (one-vs-rest)",
    "log loss": "mean of -log(probability of the true class)",
    "Brier score": "squared errors of the probabilities, added up over the classes: 0 to 2",
}


@dataclass(frozen=True)
class ClassScore:
    """One class: how many rows are of it, how many of them were found (recall), and how many of
    the rows that were predicted to be of it are (precision; None if there is no such row).
    """

    label: Any
    rows: int
    recall: float | None
    precision: float | None


@dataclass(frozen=True)
class CalibrationBin:
    """Rows of similar predicted probability of a class, and the share that is of it.

    Of rows binned by the probability of their own answers, `label` is None.
    """

    label: Any
    predicted: float  # mean probability
    observed: float  # share of rows
    rows: int


@dataclass(frozen=True)
class Experience:
    """What happened to some rows, and what was expected of them."""

    name: str  # "all rows", "locality 0", "decile 1"
    rows: int
    exposure: float
    actual: float
    expected: float
    where: str = ""  # a locality lies, in words

    @property
    def ratio(self) -> float:
        """Actual over expected."""
        return self.actual / self.expected


@dataclass(frozen=True)
class Evaluation:
    """How good a model's predictions are on some rows.

    Attributes
    ----------
    task : str
        "classification", "regression" or "rate".
    rows : int
    metrics : dict of str to float or None
        By name; None where it is not defined on these rows.
    classes : tuple of ClassScore
    confusion : tuple of tuples of int
        Rows are true classes, columns predicted ones, in the order of `classes`.
    calibration : tuple of CalibrationBin
        Ten bins of equally many rows, by predicted probability: of the second of two classes, or of
        each of more.
    confidence : tuple of CalibrationBin
        Of more than two classes: the same by the probability of the answer, and the share of right
        answers.
    definitions : dict of str to str
        Of metrics that have several: which one is meant.
    experience : tuple of Experience
        Of rates: all rows, those of each model, and ten bins of equal exposure by predicted rate.
    rows_used_for_fitting : int
        How many of the rows equal one that the model was fitted on.
    notes : tuple of str
    """

    task: str
    rows: int
    metrics: dict[str, float | None]
    classes: tuple[ClassScore, ...] = ()
    confusion: tuple[tuple[int, ...], ...] = ()
    calibration: tuple[CalibrationBin, ...] = ()
    experience: tuple[Experience, ...] = ()
    rows_used_for_fitting: int = 0
    notes: tuple[str, ...] = ()
    confidence: tuple[CalibrationBin, ...] = ()
    definitions: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, for JSON."""
        made: dict[str, Any] = {"task": self.task, "rows": self.rows}
        made |= {_key(name): value for name, value in self.metrics.items()}
        if self.task == "classification":
            made["classes"] = [asdict(one) for one in self.classes]
            made["confusion"] = self.confusion
            made["calibration"] = [asdict(one) for one in self.calibration]
        if self.confidence:
            made["confidence"] = [
                {"predicted": one.predicted, "observed": one.observed, "rows": one.rows}
                for one in self.confidence
            ]
        if self.definitions:
            made["definitions"] = {_key(name): words for name, words in self.definitions.items()}
        if self.task == "rate":
            made["experience"] = [{**asdict(one), "ratio": one.ratio} for one in self.experience]
        made["rows_used_for_fitting"] = self.rows_used_for_fitting
        made["notes"] = list(self.notes)
        found: dict[str, Any] = plain(made)
        return found

    def __str__(self) -> str:
        blocks = [self._metrics_table()]
        if self.classes:
            blocks += [self._class_table(), self._confusion_table(), self._calibration_table()]
        if self.experience:
            blocks.append(self._experience_table())
        return "\n\n".join([*blocks, *(f"note: {note}" for note in self.notes)])

    def _metrics_table(self) -> str:
        lines = text_table([(name, _short(value)) for name, value in self.metrics.items()]).split(
            "\n"
        )
        words = [f"  {self.definitions.get(name, '')}".rstrip() for name in self.metrics]
        return "\n".join(line + more for line, more in zip(lines, words, strict=True))

    def _experience_table(self) -> str:
        lines = [
            (one.name, str(one.rows), *map(_amount, (one.exposure, one.actual, one.expected)))
            for one in self.experience
        ]
        ratios = [f"{one.ratio:.3f}" for one in self.experience]
        head = ("", "rows", "exposure", "actual", "expected", "ratio")
        table = text_table([head, *((*line, r) for line, r in zip(lines, ratios, strict=True))])
        places = [f"{one.name}: {one.where}" for one in self.experience if one.where]
        return "\n\n".join([table, "\n".join(places)] if places else [table])

    def _class_table(self) -> str:
        lines = [
            (str(one.label), str(one.rows), _short(one.recall), _short(one.precision))
            for one in self.classes
        ]
        return text_table([("class", "rows", "recall", "precision"), *lines])

    def _confusion_table(self) -> str:
        labels = [str(one.label) for one in self.classes]
        counts = zip(labels, self.confusion, strict=True)
        lines = [(label, *map(str, row)) for label, row in counts]
        table = text_table([("true \\ predicted", *labels), *lines])
        wide = len(labels) > 2 and max(map(len, table.splitlines())) > _WIDTH
        return self._mistakes_table(labels) if wide else table

    def _mistakes_table(self, labels: list[str]) -> str:
        """The most frequent entries beside the diagonal."""
        wrong = np.array(self.confusion)
        np.fill_diagonal(wrong, 0)
        pairs = sorted(np.argwhere(wrong).tolist(), key=lambda pair: -wrong[tuple(pair)])
        lines = [(labels[i], labels[j], str(wrong[i, j])) for i, j in pairs[:_MISTAKES]]
        return text_table([("most frequent mistakes: true", "predicted", "rows"), *lines])

    def _calibration_table(self) -> str:
        """Of two classes by the probability of one, of more by that of the answer."""
        head = ("probability of the answer", "share of right answers", "rows")
        if not self.confidence:
            [label] = {one.label for one in self.calibration}
            head = (f"probability of {label}", "observed share", "rows")
        lines = [
            (f"{one.predicted:.3f}", f"{one.observed:.3f}", str(one.rows))
            for one in self.confidence or self.calibration
        ]
        return text_table([head, *lines])


def evaluate(
    model: Any, X: Any, y: Any, *, exposure: Any = None, probabilities: Any = None
) -> Evaluation:
    """How good the predictions of a model are on rows with known outcomes.

    Parameters
    ----------
    model : fitted LocalMixtureClassifier or LocalMixtureRegressor
    X, y : rows and targets
        Rows that were used for fitting are recognized, to five digits, and noted: on them
        predictions look better than they are.
    exposure : array of (n_rows,), default=None
        Of rates, as in `fit`.
    probabilities : array of (n_rows, n_classes), default=None
        Of a classifier, instead of those of `predict_proba`.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.datasets import make_clf_case2
    >>> from motlm.evaluation import evaluate
    >>> X, y = make_clf_case2(400, random_state=0)
    >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
    >>> model = LocalMixtureClassifier(points_of_interest=points, random_state=0).fit(X, y)
    >>> found = evaluate(model, *make_clf_case2(400, random_state=1))
    >>> bool(found.metrics["AUC"] > 0.8), len(found.calibration), found.rows_used_for_fitting
    (True, 10, 0)
    >>> evaluate(model, X, y).notes[0]
    '400 of the 400 rows were used for fitting, on which predictions look better than they are.'
    """
    mixture = mixture_of(model)
    if mixture is model:
        raise InputTypeError("expected a fitted motlm estimator; got its mixture_.")
    target = mixture.target
    y = column_or_1d(y, warn=True)
    encoded = mixture.encode(X)
    check_consistent_length(encoded, y)
    if not len(y):
        raise InputError("there are no rows to evaluate on; give at least one.")
    if probabilities is not None and target.classes is None:
        raise InputError("probabilities are for classifiers; leave them out.")
    if isinstance(target, Rate):
        made, y = _of_rates(model, X, y, exposure)
    elif exposure is not None:
        raise InputError("exposure is for models of rates; leave it out.")
    elif target.classes is not None:
        target.code(y)
        made = _of_classes(model, X, y, probabilities)
    else:
        made = _of_numbers(target.code(y), model.predict(X))
    used, note = mixture.provenance.fingerprint.describe(encoded, target.code(y))
    made["notes"] = [*made.get("notes", []), *note]
    return Evaluation(rows=len(y), rows_used_for_fitting=used, **_tuples(made))


def _tuples(made: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(one) if isinstance(one, list) else one for name, one in made.items()}


# -- classes ---------------------------------------------------------------------------------------


def _of_classes(model: Any, X: Any, y: AnyArray, probabilities: Any) -> dict[str, Any]:
    classes = model.mixture_.target.classes
    answers = model.predict(X)
    chances = model.predict_proba(X) if probabilities is None else np.asarray(probabilities)
    if chances.shape != (len(y), len(classes)):
        raise InputError(
            f"probabilities must be of shape {(len(y), len(classes))}; got {chances.shape}."
        )
    scores = _class_scores(y, answers, classes)
    present = [k for k, one in enumerate(scores) if one.rows]
    made = {
        "task": "classification",
        "metrics": score_labels(y, answers, chances, classes),
        "classes": scores,
        "confusion": [tuple(map(int, row)) for row in confusion_matrix(y, answers, labels=classes)],
        "calibration": [
            one
            for k in range(1 if len(classes) == 2 else 0, len(classes))
            for one in _calibration(y == classes[k], chances[:, k], classes[k])
        ],
        "notes": _absent([one.label for one in scores if not one.rows], len(present)),
    }
    if len(classes) == 2:
        return made
    own = chances[np.arange(len(y)), np.searchsorted(classes, answers)]
    confidence = list(_calibration(y == answers, own, None))
    return {**made, "confidence": confidence, "definitions": dict(_OF_SEVERAL)}


def _absent(labels: list[Any], present: int) -> list[str]:
    """A note on classes that no row is of."""
    if not labels:
        return []
    some = f"no row is of class {', '.join(map(str, labels))}"
    if present < 2:
        return [f"{some}, so that AUC and balanced accuracy are not defined."]
    return [f"{some}: AUC and balanced accuracy are means over the other classes."]


def _class_scores(y: AnyArray, answers: AnyArray, classes: AnyArray) -> list[ClassScore]:
    precision, recall, _, rows = precision_recall_fscore_support(
        y, answers, labels=classes, zero_division=np.nan
    )
    return [
        ClassScore(label, int(n), _defined(found), _defined(right))
        for label, n, found, right in zip(classes.tolist(), rows, recall, precision, strict=True)
    ]


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _calibration(truth: AnyArray, chance: Array, label: Any) -> Iterator[CalibrationBin]:
    """Bins of equally many rows; fewer than ten if there are fewer rows."""
    order = np.argsort(chance, kind="stable")
    for some in np.array_split(order, min(_BINS, len(order))):
        yield CalibrationBin(
            label.item() if hasattr(label, "item") else label,
            float(chance[some].mean()),
            float(truth[some].mean()),
            len(some),
        )


# -- numbers and rates -----------------------------------------------------------------------------


def _of_numbers(y: Array, answers: Array) -> dict[str, Any]:
    made: dict[str, Any] = {"task": "regression", "metrics": score_numbers(y, answers)}
    if made["metrics"]["R2"] is not None:
        return made
    note = "all rows have the same target, so that R2 is not defined."
    return {**made, "notes": [note]}


def _of_rates(model: Any, X: Any, y: AnyArray, exposure: Any) -> tuple[dict[str, Any], AnyArray]:
    """Weighted by exposure; and the targets as rates."""
    target = model.mixture_.target
    observed = np.ones(len(y)) if exposure is None else check_exposure(exposure, len(y))
    rate = target.code(y) if exposure is None else per_exposure(y, exposure, None, "exposure")[0]
    target.code(rate)
    answers, power = model.predict(X), target.variance_power
    stray = ~(np.isfinite(answers) & (answers > 0))
    if stray.any():
        raise InputError(
            f"the predicted rate of row {int(np.flatnonzero(stray)[0])} is too small or too large"
            " for a deviance; leave such rows out."
        )
    metrics, notes = score_rates(rate, answers, observed, power), []
    if metrics["D2"] is None:
        notes.append("all rows have the same rate, so that D2 is not defined.")
    experience = list(_experience(model, X, rate * observed, answers * observed, observed))
    metrics["actual / expected"] = experience[0].ratio
    made = {"task": "rate", "metrics": metrics, "experience": experience, "notes": notes}
    return made, rate


def _experience(
    model: Any, X: Any, actual: Array, expected: Array, exposure: Array
) -> Iterator[Experience]:
    """Of all rows, of each model, and by decile of the predicted rate."""

    def of(name: str, some: Integers, where: str = "") -> Experience:
        years, seen, due = (float(values[some].sum()) for values in (exposure, actual, expected))
        return Experience(name, len(some), years, seen, due, where)

    mixture = model.mixture_

    yield of("all rows", np.arange(len(actual)))
    used = model.apply(X)
    for i in np.unique(used) if mixture.n_localities else ():
        where = mixture.localities[i].where if 0 <= i < mixture.n_localities else ""
        yield of(mixture.region_name(int(i)), np.flatnonzero(used == i), where)
    decile = group_equally(expected / exposure, exposure, _BINS)
    for k in range(decile.max() + 1):
        yield of(f"decile {k + 1}", np.flatnonzero(decile == k))


# -- text ------------------------------------------------------------------------------------------


def _key(name: str) -> str:
    """Of a metric in JSON."""
    return name.replace(" / ", "_over_").replace(" ", "_")


def _short(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.4g}"


def _amount(value: float) -> str:
    """A sum, with all digits before the point."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"
