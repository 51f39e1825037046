"""What y is: its coding, its units, what a score answers, and how answers are judged.

A target is one class. Learning asks it for codes, the loss and a judgment of held-out rows,
predictions for answers, explanations and certificates for what errs and what contradicts. Add it to
TARGETS, and files know it too.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from scipy.special import expit, log_ndtr, logsumexp, ndtr, softmax, xlogy
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LinearRegression, LogisticRegression, TweedieRegressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ._renamed import user_level
from ._typing import AnyArray, Array, Booleans
from .combinations import gates
from .errors import InputError, LookAlikeWarning, ModelFileError
from .frames import check_finite, check_present, check_size, look_alikes
from .limits import LARGEST_TARGET, SMALLEST_TARGET, flush_to_zero, power_of_two
from .losses import (
    AnySign,
    Gamma,
    Log,
    Loss,
    Multinomial,
    OffBy,
    Poisson,
    Squared,
    Tweedie,
    ZeroOne,
)
from .optimize import Solution
from .routine import Answer
from .rows import Rows
from .search import catoni_bound
from .units import Units

__all__ = [
    "DTYPES",
    "LABEL_LOSSES",
    "RATE_LOSSES",
    "TARGETS",
    "Binary",
    "Continuous",
    "Labels",
    "Rate",
    "Several",
    "Target",
    "read_target",
]

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "object", "text"),
)


class Target(Protocol):
    """The interface of a target."""

    kind: ClassVar[str]  # its name in files
    task: ClassVar[str]  # "classification" or "regression"
    score_name: ClassVar[str]  # of an estimator's `score`
    measure_name: ClassVar[str]  # of `measure`
    score_label: ClassVar[str]  # what a formula's value is called: "score", "prediction"
    stratify: ClassVar[bool]  # whether held-out rows keep the shares of the classes
    scaled: ClassVar[bool]  # whether it has a center and a scale of its own
    has_bound: ClassVar[bool]  # whether `bound` compares different lambdas
    standard_errors: ClassVar[float]  # by which a smaller lambda may do worse than the best

    @property
    def loss(self) -> Loss:
        """That fits minimize."""

    @property
    def loss_name(self) -> str:
        """As users give it."""

    @property
    def temperatures(self) -> tuple[float, ...]:
        """Inverse temperatures that "auto" tries; multiples of Bayes' rule where `relative`."""

    @property
    def anchor(self) -> float:
        """Inverse temperature at which minima are looked for; likewise."""

    @property
    def classes(self) -> AnyArray | None:
        """The labels, or None."""

    @property
    def center(self) -> float: ...

    @property
    def scale(self) -> float: ...

    @property
    def tolerance(self) -> float:
        """Scores that are further apart contradict each other."""

    @property
    def risk_unit(self) -> float:
        """The risk, in the units of the target, of a standardized risk of 1."""

    @classmethod
    def learn(cls, y: AnyArray) -> Target:
        """From the targets of the rows to fit on."""

    def scale_by(self, units: Units) -> Target:
        """With the center and scale of these units."""

    def tolerate(self, answers: AnyArray, codes: Array, weight: Array) -> Target:
        """With the tolerance that the answers on the training rows suggest."""

    def code(self, y: Any, what: str = "y") -> Array:
        """Targets as numbers; an error for what the model does not know."""

    def goal(self, codes: Array) -> Array:
        """Codes as the loss reads them, in standardized units."""

    @property
    def emphasis(self) -> float:
        """By which the weights of rows are multiplied, so that a risk of 1 of theirs is that of the
        likelihood.
        """

    def in_units(self, scores: Array) -> Array:
        """Scores of standardized targets in the units of the target."""

    def answer(self, scores: Array) -> AnyArray:
        """What scores in the units of the target answer."""

    def answers(self, scores: Array) -> AnyArray:
        """All that the scores of the models that apply to one row answer, in order."""

    def apart(self, first: Array, second: Array) -> Booleans:
        """Whether two scores, in the units of the target, contradict each other."""

    def level(self, answer: Any) -> float:
        """The score at which the answer is this number, or at which the label changes."""

    def shade(self, scores: Array) -> Array:
        """Numbers by which a map shows answers."""

    def describe(self) -> Answer:
        """What a score answers, for exports."""

    def judge(self, scores: Array, rows: Rows) -> float:
        """Selection criterion: of standardized scores on held-out rows; larger is better."""

    def losses(self, scores: Array, rows: Rows) -> Array:
        """Of each held-out row."""

    def bound(self, solution: Solution, n_rows: float, n_choices: int) -> float:
        """On the risk, or something that ranks like one, from the training rows alone."""

    def expected_risk(self, judgment: float) -> float | None:
        """The share of errors that a judgment of held-out rows amounts to, or None."""

    def expected_error(self, judgment: float, scale: float) -> float | None:
        """The typical size of errors that it amounts to, the target's deviation given, or None."""

    def usual(self, mean_code: float) -> Any:
        """The answer of the trivial predictor, from the mean of the codes."""

    def measure(self, y: AnyArray, answers: AnyArray) -> float | None:
        """How good answers are, for tables; None without rows."""

    def balance(self, y: AnyArray) -> dict[str, float]:
        """What the targets of a region are like, for tables."""

    def error(self, tolerance: float) -> Loss:
        """The loss of a certificate: to be wrong, or off by more than a tolerance."""

    def simple_model(self) -> Any:
        """One linear model of scikit-learn's, to compare with: a pipeline of steps that shift by
        mean_ and divide by scale_, and the model.
        """

    def content(self) -> dict[str, Any]:
        """All that answers depend on, as plain values."""

    @classmethod
    def read(cls, read: Any) -> Target:
        """From what `content` gave, by the reader of a file."""


@dataclass(frozen=True, eq=False)
class Labels:
    """What two labels and several have in common."""

    classes: AnyArray  # in order
    loss_name: str = "log"  # or "zero-one"

    kind: ClassVar[str]
    task: ClassVar[str] = "classification"
    score_name: ClassVar[str] = "accuracy"
    measure_name: ClassVar[str] = "accuracy"
    score_label: ClassVar[str] = "score"
    stratify: ClassVar[bool] = True
    scaled: ClassVar[bool] = False
    has_bound: ClassVar[bool] = True
    # Breiman's constant; having the rule at all was decided on ten splits of KEEL's eight sets
    standard_errors: ClassVar[float] = 1.0
    center: ClassVar[float] = 0.0
    scale: ClassVar[float] = 1.0
    tolerance: ClassVar[float] = 0.0
    risk_unit: ClassVar[float] = 1.0
    emphasis: ClassVar[float] = 1.0
    anchor: ClassVar[float] = 2.0  # tuned on training objectives

    @property
    def temperatures(self) -> tuple[float, ...]:
        if self.loss_name == "log":
            return (0.5, 1.0, 2.0, 4.0)  # around Bayes' rule, 1
        # tuned on two splits of Banana and wdbc, 0.5 on ten of KEEL's eight sets
        return (0.5, 1.0, 2.0, 4.0, 8.0)

    @staticmethod
    def learn(y: AnyArray, loss: str = "log") -> Binary | Several:
        """Of two labels, or of several; warns of labels that are one, written in two ways."""
        target = Labels._of(y, loss)
        _warn_of_look_alikes(y)
        return target

    @staticmethod
    def _of(y: AnyArray, loss: str = "log") -> Binary | Several:
        if y.dtype.kind == "f":
            check_finite(y[:, None], ("y",), "y")
        elif y.dtype.kind == "O":
            check_present(y, "y", "y")
        with np.errstate(invalid="ignore"):  # whether labels are whole numbers is tried by a cast
            try:
                check_classification_targets(y)
            except ValueError as error:
                raise InputError(str(error)) from None
        classes = np.unique(y)
        if len(classes) < 2:
            only = classes.tolist()[0]
            raise InputError(
                f"y has one class only, {only!r}, in {len(y)} rows of positive weight; a"
                " classifier needs two classes."
            )
        if len(classes) > MOST_CLASSES:
            raise InputError(
                f"y has {len(classes)} classes in {len(y)} rows; at most {MOST_CLASSES} can be"
                " told apart.",
                "If y is a number, use LocalMixtureRegressor; else join rare classes into one.",
            )
        return Binary(classes, loss) if len(classes) == 2 else Several(classes, loss)

    def scale_by(self, units: Units) -> Self:
        return self

    def tolerate(self, answers: AnyArray, codes: Array, weight: Array) -> Self:
        return self

    def check(self, y: Any, what: str) -> AnyArray:
        """Labels that the model knows."""
        labels: AnyArray = column_or_1d(y, warn=True)
        strange = ~np.isin(labels, self.classes)
        if strange.any():
            raise InputError(
                f"{what} has the label {labels[strange].tolist()[0]!r}, which the model does not"
                f" know; its labels are {self.classes.tolist()}."
            )
        return labels

    def goal(self, codes: Array) -> Array:
        return codes

    def in_units(self, scores: Array) -> Array:
        return scores

    def level(self, answer: Any) -> float:
        return 0.0

    def bound(self, solution: Solution, n_rows: float, n_choices: int) -> float:
        return catoni_bound(solution.objective, solution.inverse_temperature, n_rows, n_choices)

    def expected_risk(self, judgment: float) -> float | None:
        return None if self.loss_name == "log" else 1.0 - judgment

    def expected_error(self, judgment: float, scale: float) -> float | None:
        return None

    def measure(self, y: AnyArray, answers: AnyArray) -> float | None:
        return float(np.mean(y == answers)) if len(y) else None

    def balance(self, y: AnyArray) -> dict[str, float]:
        return {
            f"share of {label}": float(np.mean(y == label)) if len(y) else float("nan")
            for label in self.classes
        }

    def simple_model(self) -> Any:
        return make_pipeline(_InUnits(), StandardScaler(), LogisticRegression(max_iter=2000))

    def content(self) -> dict[str, Any]:
        dtype = "text" if self.classes.dtype.kind in "UT" else str(self.classes.dtype)
        made = {"kind": self.kind, "dtype": dtype, "classes": self.classes.tolist()}
        # as before there was another loss, so that models keep their hashes
        return made if self.loss_name == "zero-one" else {**made, "loss": self.loss_name}

    @classmethod
    def read(cls, read: Any) -> Self:
        dtype, values = read.text("dtype"), read.sequence("classes")
        loss = read.text("loss") if "loss" in read.content else "zero-one"
        if loss not in LABEL_LOSSES:
            raise read.fail("loss", f"one of {', '.join(LABEL_LOSSES)}", loss)
        if dtype not in DTYPES:
            raise read.fail("dtype", f"one of {', '.join(DTYPES)}", dtype)
        what = "two different labels"
        if cls is Several:
            what = f"three to {MOST_CLASSES} different labels"
        kinds = {"text": str, "object": object}
        if not 2 <= len(values) <= MOST_CLASSES:
            raise read.fail("classes", what, values[:10])
        try:
            made = np.array(values, dtype=kinds.get(dtype, dtype))
        except (ValueError, OverflowError, TypeError):
            raise read.fail("classes", f"labels of type {dtype}", values) from None
        if made.shape != (len(values),) or made.tolist() != values:
            raise read.fail("classes", f"labels of type {dtype}", values)
        try:  # as in fit; twice over, since scikit-learn warns of labels that are all different
            found = cls._of(np.tile(made, 2))
        except (ValueError, TypeError):
            raise read.fail("classes", what, values) from None
        if type(found) is not cls:
            raise read.fail("classes", what, values)
        if found.classes.tolist() != values:
            raise read.fail("classes", f"{what} in order", values)
        return cls(made, loss)


def _warn_of_look_alikes(y: AnyArray) -> None:
    same = look_alikes(y.tolist()) if y.dtype.kind in "OUT" else []
    if same:
        text = (
            f"y has labels that differ only in case or in the spaces around them: {same[0]}; each"
            " is a class of its own."
        )
        advice = "Write them alike, such as by y.str.strip().str.lower()."
        warnings.warn(LookAlikeWarning(text, advice), stacklevel=user_level())


LABEL_LOSSES = ("log", "zero-one")
MOST_CLASSES = 256


class Binary(Labels):
    """Two labels, coded as -1 and +1; the sign of a score is the answer.

    With the log loss a score is the log-odds of the second label. With the zero-one loss, the
    paper's, its size means nothing by itself: the probability is that of the posterior's score to
    be positive.
    """

    kind: ClassVar[str] = "binary"

    @property
    def loss(self) -> Loss:
        return Log() if self.loss_name == "log" else ZeroOne()

    def code(self, y: Any, what: str = "y") -> Array:
        return np.where(self.check(y, what) == self.classes[1], 1.0, -1.0)

    def log_odds(self, score: Array, variance: Array) -> Array:
        """Of the second label, from the score that is answered by and its variance."""
        if self.loss_name == "log":
            return score
        ratio = score / np.sqrt(variance)
        return np.asarray(log_ndtr(ratio) - log_ndtr(-ratio))

    def probabilities(self, score: Array, variance: Array) -> Array:
        """(n_rows, 2), from the score that is answered by and its variance."""
        odds = self.log_odds(score, variance)
        return np.column_stack([expit(-odds), expit(odds)])

    def answer(self, scores: Array) -> AnyArray:
        return np.asarray(self.classes[(scores > 0).astype(int)])

    def answers(self, scores: Array) -> AnyArray:
        return np.asarray(self.classes[[bool((scores <= 0).any()), bool((scores > 0).any())]])

    def apart(self, first: Array, second: Array) -> Booleans:
        return np.asarray((first > 0) != (second > 0))

    def shade(self, scores: Array) -> Array:
        return np.asarray(scores > 0, dtype=int)

    def describe(self) -> Answer:
        return Answer("sign", tuple(self.classes.tolist()), 0.0, 1.0, 0.0)

    def judge(self, scores: Array, rows: Rows) -> float:
        if self.loss_name == "log":
            return -float(np.average(self.losses(scores, rows), weights=rows.weight))
        signs = np.where(scores > 0, 1.0, -1.0)
        return float(accuracy_score(rows.target, signs, sample_weight=rows.weight))

    def losses(self, scores: Array, rows: Rows) -> Array:
        if self.loss_name == "log":
            # so many rows cannot tell greater odds: one row at an edge would outweigh all others
            most = np.log(len(rows) + 1.0)
            return np.asarray(np.logaddexp(0.0, -rows.target * np.clip(scores, -most, most)))
        return np.asarray(np.where(scores > 0, 1.0, -1.0) != rows.target, dtype=float)

    def usual(self, mean_code: float) -> Any:
        return self.classes[int(mean_code > 0)]

    def error(self, tolerance: float) -> Loss:
        return ZeroOne()

    @flush_to_zero
    def votes(self, membership: Array, mean: Array, variance: Array) -> Array:
        """(n_rows, 2): the posterior's votes for each label: memberships times Phi, over the sum of
        all gates.

        Each is computed by itself, so that a vote near 1 leaves the digits of the other.
        """
        gate = gates(membership)[0]
        gate /= gate.sum(axis=0)
        score = mean / np.sqrt(variance)
        tiny = np.finfo(float).tiny  # an impossible vote would be an infinite score
        each = [(gate * ndtr(sign * score)).sum(axis=0) for sign in (-1.0, 1.0)]
        return np.asarray(np.clip(np.column_stack(each), tiny, 1.0))  # 1 up to rounding


class Several(Labels):
    """Three labels or more, coded by their index; a model has one score for each, and the label of
    the largest is the answer.

    Scores are (.., n_classes, n_rows). With the log loss their softmax are the probabilities; with
    the zero-one loss the probability of a label is that of the posterior's score of it to be the
    largest.
    """

    kind: ClassVar[str] = "several"

    @property
    def loss(self) -> Loss:
        count = len(self.classes)
        return Multinomial(count) if self.loss_name == "log" else AnySign(count)

    def code(self, y: Any, what: str = "y") -> Array:
        return np.asarray(np.searchsorted(self.classes, self.check(y, what)), dtype=float)

    @flush_to_zero
    def probabilities(self, score: Array, variance: Array) -> Array:
        """(n_rows, n_classes), from the scores that are answered by and their variance."""
        log = self.loss_name == "log"
        found = np.asarray(softmax(score, axis=0) if log else self._largest(score, variance))
        answer = self.shade(score)
        tied = np.flatnonzero(found.argmax(axis=0) != answer)  # by rounding
        found[answer[tied], tied] *= _AHEAD
        return np.asarray(found.T)

    @staticmethod
    @flush_to_zero
    def _largest(mean: Array, variance: Array) -> Array:
        """Probability that each of independent normal scores, (.., n_classes, n_rows), of one
        variance is the largest: int phi(x - r_k) prod_(j != k) Phi(x - r_j) dx with r = mean /
        deviation, by the trapezoidal rule.
        """
        ratio = mean / np.sqrt(variance)[..., None, :]
        behind = ratio.max(axis=-2, keepdims=True) - ratio
        found = np.zeros(ratio.shape)
        for node in _NODES:  # from the largest of r
            ahead = np.minimum(behind + node, _FAR)
            below = ndtr(ahead)
            found += np.exp(-0.5 * ahead**2) / below * np.prod(below, axis=-2, keepdims=True)
        return np.asarray(found / found.sum(axis=-2, keepdims=True))

    def answer(self, scores: Array) -> AnyArray:
        return np.asarray(self.classes[self.shade(scores)])

    def answers(self, scores: Array) -> AnyArray:
        return np.asarray(self.classes[np.unique(scores.argmax(axis=-1))])

    def apart(self, first: Array, second: Array) -> Booleans:
        return np.asarray(self.shade(first) != self.shade(second))

    def shade(self, scores: Array) -> Array:
        return np.asarray(scores.argmax(axis=-2 if scores.ndim > 1 else -1))

    def describe(self) -> Answer:
        return Answer("largest", tuple(self.classes.tolist()), 0.0, 1.0, 0.0)

    def judge(self, scores: Array, rows: Rows) -> float:
        sign = -1.0 if self.loss_name == "log" else 1.0
        values = self.losses(scores, rows)
        if self.loss_name != "log":
            values = 1.0 - values
        return sign * float(np.average(values, weights=rows.weight))

    @flush_to_zero
    def losses(self, scores: Array, rows: Rows) -> Array:
        codes = rows.target.astype(int)
        if self.loss_name != "log":
            return np.asarray(self.shade(scores) != codes, dtype=float)
        own = np.take_along_axis(scores, codes[None], axis=0)[0]
        # so many rows cannot tell greater odds: one row at an edge would outweigh all others
        least, most = np.log1p(1.0 / (len(rows) + 1.0)), np.log(len(rows) + 2.0)
        return np.asarray(np.clip(logsumexp(scores, axis=0) - own, least, most))

    def usual(self, mean_code: float) -> Any:
        return None  # a mean of indices does not tell the most frequent label

    def error(self, tolerance: float) -> Loss:
        return AnySign(len(self.classes))

    @flush_to_zero
    def votes(self, membership: Array, mean: Array, variance: Array) -> Array:
        """(n_rows, n_classes): the posterior's votes for each label: memberships times the
        probability that its score is the largest, over the sum of all gates.
        """
        gate = gates(membership)[0]
        gate /= gate.sum(axis=0)
        found = (gate[:, None] * self._largest(mean, variance)).sum(axis=0)
        return np.asarray(np.clip(found, np.finfo(float).tiny, 1.0).T)


QUANTILES = 200  # of errors
_NODES = np.arange(-10.0, 9.1, 0.2)  # to 1e-15 of ten classes, 1e-9 of 256
_FAR = 40.0  # deviations beyond which a density is 0
_AHEAD = 1.0 + 4e-15  # by which an answer leads labels that rounding would tie it with


@dataclass(frozen=True, eq=False)
class Continuous:
    """Numbers, centered and scaled inside; a score is the answer."""

    center: float = 0.0
    scale: float = 1.0
    # root mean squared error of the answers to rows left out; to the training rows, if none were
    residual_scale: float = 0.0
    # quantiles of those to rows left out
    errors: Array = field(default_factory=lambda: np.empty(0), kw_only=True)

    kind: ClassVar[str] = "continuous"
    task: ClassVar[str] = "regression"
    score_name: ClassVar[str] = "R2"
    measure_name: ClassVar[str] = "root mean squared error"
    score_label: ClassVar[str] = "prediction"
    loss: ClassVar[Loss] = Squared()
    loss_name: ClassVar[str] = "squared"
    emphasis: ClassVar[float] = 1.0
    stratify: ClassVar[bool] = False
    scaled: ClassVar[bool] = True
    has_bound: ClassVar[bool] = False
    # tuned on two splits of Stock and Concrete
    temperatures: ClassVar[tuple[float, ...]] = (1.0, 4.0, 16.0, 64.0)
    anchor: ClassVar[float] = 16.0  # tuned on training objectives
    # squared errors have long tails: what is worse by a standard error often is worse
    standard_errors: ClassVar[float] = 0.0
    classes: ClassVar[None] = None

    @property
    def tolerance(self) -> float:
        return self.residual_scale

    @property
    def risk_unit(self) -> float:
        return self.scale**2

    @classmethod
    def learn(cls, y: AnyArray) -> Continuous:
        cls().code(y)
        return cls()

    def scale_by(self, units: Units) -> Continuous:
        return replace(self, center=units.target_center, scale=units.target_scale)

    def tolerate(self, answers: AnyArray, codes: Array, weight: Array) -> Continuous:
        size, none = _root_mean_square(answers - codes, weight), np.empty(0)
        return replace(self, residual_scale=size, errors=none)

    def expect(self, errors: Array, weight: Array, unit: float) -> Continuous:
        """With what the errors of rows left out tell of new ones, of weight `unit`. Quantiles are
        those of split conformal prediction: the rank of a new row's error among n others is
        uniform.
        """
        order = np.argsort(np.abs(errors), kind="stable")
        sizes, share = np.abs(errors)[order], weight[order]
        reached = np.cumsum(share) / (share.sum() + unit)
        levels = np.arange(1, QUANTILES) / QUANTILES
        place = np.searchsorted(reached, levels * (1.0 - 1e-12))
        known = sizes[place[place < len(sizes)]]
        return replace(self, residual_scale=_root_mean_square(errors, weight), errors=known)

    def half_width(self, coverage: float) -> float:
        """Of an interval that contains such a share of new targets."""
        if not len(self.errors):
            raise InputError(
                "no rows were left out when the model was fitted, so that nothing is known of"
                " errors of new rows.",
                "Use select='cv' (the default), or certify and prediction_interval.",
            )
        place = int(np.ceil(coverage * QUANTILES * (1.0 - 1e-12)))
        if place > len(self.errors):
            raise InputError(
                f"coverage={coverage:g} is more than the rows left out can tell; at most"
                f" {len(self.errors) / QUANTILES:g}."
            )
        return float(self.errors[place - 1])

    def code(self, y: Any, what: str = "y") -> Array:
        try:
            with np.errstate(over="ignore"):  # beyond the range of floats: an infinity, refused
                target = np.asarray(column_or_1d(y, warn=True, dtype=np.float64))
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{what} must be one number for each row: {error}") from None
        check_finite(target[:, None], (what,), what)
        check_size(target[:, None], (what,), what, LARGEST_TARGET)
        return target

    def goal(self, codes: Array) -> Array:
        return (codes - self.center) / self.scale

    def in_units(self, scores: Array) -> Array:
        return scores * self.scale + self.center

    def answer(self, scores: Array) -> AnyArray:
        return scores

    def answers(self, scores: Array) -> AnyArray:
        return np.sort(scores)

    def apart(self, first: Array, second: Array) -> Booleans:
        return np.asarray(np.abs(first - second) > self.tolerance)

    def level(self, answer: Any) -> float:
        return float(answer)

    def shade(self, scores: Array) -> Array:
        return scores

    def describe(self) -> Answer:
        return Answer(
            "identity", None, float(self.center), float(self.scale), float(self.tolerance)
        )

    def judge(self, scores: Array, rows: Rows) -> float:
        if len(rows) < 2:
            return -float(np.average(self.losses(scores, rows), weights=rows.weight))
        return float(r2_score(rows.target, scores, sample_weight=rows.weight))

    def losses(self, scores: Array, rows: Rows) -> Array:
        return np.asarray((scores - rows.target) ** 2, dtype=float)

    def bound(self, solution: Solution, n_rows: float, n_choices: int) -> float:
        """The objective: no bound is known for the squared loss, but at one lambda it ranks like
        one.
        """
        return solution.objective

    def expected_risk(self, judgment: float) -> float | None:
        return None

    def expected_error(self, judgment: float, scale: float) -> float | None:
        return scale * float(np.sqrt(max(1.0 - judgment, 0.0)))

    def usual(self, mean_code: float) -> Any:
        return mean_code

    def measure(self, y: AnyArray, answers: AnyArray) -> float | None:
        if not len(y):
            return None
        return _root_mean_square(np.asarray(y, dtype=float) - answers)

    def balance(self, y: AnyArray) -> dict[str, float]:
        values = np.asarray(y, dtype=float)
        return {
            "mean target": float(values.mean()) if len(values) else float("nan"),
            "deviation of target": float(values.std()) if len(values) else float("nan"),
        }

    def error(self, tolerance: float) -> Loss:
        return OffBy(tolerance / self.scale)

    def simple_model(self) -> Any:
        return make_pipeline(_InUnits(), StandardScaler(), LinearRegression())

    def content(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "center": float(self.center),
            "scale": float(self.scale),
            "residual_scale": float(self.residual_scale),
            **({"errors": np.asarray(self.errors)} if len(self.errors) else {}),
        }

    @classmethod
    def read(cls, read: Any) -> Continuous:
        return cls(
            read.number("center", -LARGEST_TARGET, LARGEST_TARGET),
            read.number("scale", SMALLEST_TARGET, LARGEST_TARGET),
            read.number("residual_scale", 0.0),
            errors=_read_errors(read) if "errors" in read.content else np.empty(0),
        )


def _read_errors(read: Any) -> Array:
    found = np.asarray(read.sequence("errors"), dtype=object)
    numbers = read.shaped("errors", found.tolist(), (len(found),))
    sound = 0 < len(numbers) < QUANTILES and (numbers >= 0).all() and (np.diff(numbers) >= 0).all()
    if not sound:
        raise read.fail("errors", f"fewer than {QUANTILES} numbers >= 0 that rise", found.tolist())
    return np.asarray(numbers)


@dataclass(frozen=True, eq=False)
class Rate:
    """Numbers of at least 0, of which a score is the logarithm of the mean; inside, they are
    divided by their mean.
    """

    center: float = 0.0  # logarithm of the mean
    loss_name: str = "poisson"  # "poisson", "gamma" or "tweedie"
    power: float = 1.5  # of the variance, for "tweedie"

    kind: ClassVar[str] = "rate"
    task: ClassVar[str] = "regression"
    score_name: ClassVar[str] = "D2"
    measure_name: ClassVar[str] = "mean deviance"
    score_label: ClassVar[str] = "log of the rate"
    stratify: ClassVar[bool] = False
    scaled: ClassVar[bool] = True
    has_bound: ClassVar[bool] = False
    standard_errors: ClassVar[float] = 1.0
    temperatures: ClassVar[tuple[float, ...]] = (0.5, 1.0, 2.0, 4.0)  # around Bayes' rule, 1
    anchor: ClassVar[float] = 2.0
    scale: ClassVar[float] = 1.0
    classes: ClassVar[None] = None

    @property
    def loss(self) -> Loss:
        return Tweedie(self.power) if self.loss_name == "tweedie" else _RATE_LOSSES[self.loss_name]

    @property
    def variance_power(self) -> float:
        """1 of Poisson's loss, 2 of Gamma's."""
        return {"poisson": 1.0, "gamma": 2.0}.get(self.loss_name, self.power)

    @property
    def mean(self) -> float:
        return float(np.exp(self.center))

    @property
    def tolerance(self) -> float:
        """A quarter of the mean rate: local models that differ by more contradict each other."""
        return 0.25 * self.mean

    @property
    def emphasis(self) -> float:
        return float(np.exp((2.0 - self.variance_power) * self.center))

    @property
    def risk_unit(self) -> float:
        return self.emphasis

    @classmethod
    def learn(cls, y: AnyArray, loss: str = "poisson", power: float = 1.5) -> Rate:
        found = cls(0.0, loss, power)
        codes = found.code(y)
        if not codes.any():
            raise InputError(
                f"y is 0 in all {len(codes)} rows of positive weight, so that there is no rate to"
                " learn.",
                "Give rows among which something has happened.",
            )
        return found

    def scale_by(self, units: Units) -> Rate:
        mean = units.target_center
        if not SMALLEST_TARGET <= mean <= LARGEST_TARGET:
            raise InputError(
                f"the mean rate is {mean:g}; it must lie between {SMALLEST_TARGET:g} and"
                f" {LARGEST_TARGET:g}.",
                "Measure the target, or the target_center of standardize, in another unit.",
            )
        return replace(self, center=float(np.log(mean)))

    def tolerate(self, answers: AnyArray, codes: Array, weight: Array) -> Rate:
        return self

    def imbalance(self, answers: AnyArray, codes: Array, weight: Array) -> float:
        """What to add to all scores, so that the answers on the training rows add up: premiums are
        to pay for the claims, and a posterior's means alone miss them by a little.
        """
        with np.errstate(all="ignore"):
            found = float(np.log(weight @ codes / (weight @ answers)))
        return found if np.isfinite(found) else 0.0

    def code(self, y: Any, what: str = "y") -> Array:
        target = Continuous().code(y, what)
        low = target <= 0 if self.loss_name == "gamma" else target < 0
        if low.any():
            least = "above 0" if self.loss_name == "gamma" else "of at least 0"
            first = int(np.flatnonzero(low)[0])
            raise InputError(
                f"loss={self.loss_name!r} needs numbers {least} in {what}; got"
                f" {target[first]:g} at row {first}, and {int(low.sum())} such numbers in all.",
                "Leave those rows out, or use loss='squared'.",
            )
        return target

    def goal(self, codes: Array) -> Array:
        return codes / self.mean

    def in_units(self, scores: Array) -> Array:
        return scores + self.center

    def answer(self, scores: Array) -> AnyArray:
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(scores))

    def answers(self, scores: Array) -> AnyArray:
        return np.sort(self.answer(scores))

    def apart(self, first: Array, second: Array) -> Booleans:
        return np.asarray(np.abs(self.answer(first) - self.answer(second)) > self.tolerance)

    def level(self, answer: Any) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.log(answer))

    def shade(self, scores: Array) -> Array:
        return self.answer(scores)

    def describe(self) -> Answer:
        return Answer("log", None, float(self.center), 1.0, float(self.tolerance))

    def deviances(self, y: Array, mean: Array) -> Array:
        """Of each row: twice the distance of the log-likelihood from that of the saturated
        model.
        """
        p, y, mean = self.variance_power, np.asarray(y, float), np.asarray(mean, float)
        if p == 1.0:
            return np.asarray(2.0 * (xlogy(y, y / mean) - y + mean))
        if p == 2.0:
            return np.asarray(2.0 * (np.log(mean / y) + y / mean - 1.0))
        saturated = y ** (2.0 - p) / ((1.0 - p) * (2.0 - p))
        reached = y * mean ** (1.0 - p) / (1.0 - p) - mean ** (2.0 - p) / (2.0 - p)
        return np.asarray(2.0 * (saturated - reached))

    def judge(self, scores: Array, rows: Rows) -> float:
        return -float(np.average(self.losses(scores, rows), weights=rows.weight))

    def losses(self, scores: Array, rows: Rows) -> Array:
        return self.deviances(rows.target, np.exp(np.clip(scores, -500.0, 500.0)))

    def bound(self, solution: Solution, n_rows: float, n_choices: int) -> float:
        """The objective: at one lambda it ranks like a bound."""
        return solution.objective

    def expected_risk(self, judgment: float) -> float | None:
        return None

    def expected_error(self, judgment: float, scale: float) -> float | None:
        return None

    def usual(self, mean_code: float) -> Any:
        return mean_code

    def measure(self, y: AnyArray, answers: AnyArray) -> float | None:
        return float(np.mean(self.deviances(y, answers))) if len(y) else None

    def balance(self, y: AnyArray) -> dict[str, float]:
        return {"mean rate": float(np.mean(np.asarray(y, float))) if len(y) else float("nan")}

    def error(self, tolerance: float) -> Loss:
        raise InputError("a rate has no bound on being off by more than a tolerance.")

    def simple_model(self) -> Any:
        model = TweedieRegressor(power=self.variance_power, alpha=1e-6, link="log", max_iter=1000)
        return make_pipeline(_InUnits(), StandardScaler(), model)

    def content(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "center": float(self.center),
            "loss": self.loss_name,
            "power": float(self.power),
        }

    @classmethod
    def read(cls, read: Any) -> Rate:
        loss = read.text("loss")
        if loss not in RATE_LOSSES:
            raise read.fail("loss", f"one of {', '.join(RATE_LOSSES)}", loss)
        largest, power = float(np.log(LARGEST_TARGET)), read.number("power", 1.0, 2.0)
        if power in (1.0, 2.0):  # Poisson's and Gamma's, where Tweedie's deviance is not defined
            raise read.fail("power", "a number between 1 and 2", power)
        return cls(read.number("center", -largest, largest), loss, power)


_RATE_LOSSES: dict[str, Loss] = {"poisson": Poisson(), "gamma": Gamma()}
RATE_LOSSES = ("poisson", "gamma", "tweedie")


class _InUnits(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Columns in units of powers of two, which changes no digit: squares do not overflow."""

    def fit(self, X: Array, y: Any = None) -> _InUnits:
        self.scale_ = np.array([power_of_two(column) for column in np.asarray(X, dtype=float).T])
        self.mean_ = np.zeros(len(self.scale_))  # as of a StandardScaler
        return self

    def transform(self, X: Array) -> Array:
        return np.asarray(X / self.scale_, dtype=float)


def _root_mean_square(values: Array, weight: Array | None = None) -> float:
    """In units of a power of two, which changes no digit, so that squares do not overflow."""
    unit = power_of_two(values)
    if weight is not None:
        weight = weight / power_of_two(weight)
    return unit * float(np.sqrt(np.average((values / unit) ** 2, weights=weight)))


TARGETS: dict[str, type[Any]] = {one.kind: one for one in (Binary, Several, Continuous, Rate)}


def read_target(read: Any) -> Target:
    """The target of a file, by its kind."""
    kind = read.text("kind")
    if kind not in TARGETS:
        raise ModelFileError(
            f"target.kind should be one of {', '.join(TARGETS)}; got {kind[:40]!r}."
        )
    target: Target = TARGETS[kind].read(read)
    read.done()
    return target
