"""What y is: its coding, its units, what a score answers, and how answers are judged.

A target is one class. Learning asks it for codes, the loss and a judgment of held-out rows,
predictions for answers, explanations and certificates for what errs and what contradicts. Add it to
TARGETS, and files know it too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy.special import ndtr
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from ._typing import AnyArray, Array, Booleans
from .combinations import gates
from .errors import InputError, ModelFileError
from .frames import check_finite, check_present, check_size
from .limits import LARGEST_TARGET, SMALLEST_TARGET, flush_to_zero, power_of_two
from .losses import Loss, OffBy, Squared, ZeroOne
from .optimize import Solution
from .routine import Answer
from .rows import Rows
from .search import catoni_bound
from .units import Units

__all__ = ["DTYPES", "TARGETS", "Binary", "Continuous", "Target", "read_target"]

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
    loss: ClassVar[Loss]  # that fits minimize
    stratify: ClassVar[bool]  # whether held-out rows keep the shares of the classes
    scaled: ClassVar[bool]  # whether it has a center and a scale of its own
    has_bound: ClassVar[bool]  # whether `bound` compares different lambdas
    temperatures: ClassVar[tuple[float, ...]]  # inverse temperatures that "auto" tries
    anchor: ClassVar[float]  # inverse temperature at which minima are looked for
    standard_errors: ClassVar[float]  # by which a smaller lambda may do worse than the best

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
        """One linear model of scikit-learn's, to compare with."""

    def content(self) -> dict[str, Any]:
        """All that answers depend on, as plain values."""

    @classmethod
    def read(cls, read: Any) -> Target:
        """From what `content` gave, by the reader of a file."""


@dataclass(frozen=True, eq=False)
class Binary:
    """Two labels, coded as -1 and +1; the sign of a score is the answer."""

    classes: AnyArray  # (2,)

    kind: ClassVar[str] = "binary"
    task: ClassVar[str] = "classification"
    score_name: ClassVar[str] = "accuracy"
    measure_name: ClassVar[str] = "accuracy"
    score_label: ClassVar[str] = "score"
    loss: ClassVar[Loss] = ZeroOne()
    stratify: ClassVar[bool] = True
    scaled: ClassVar[bool] = False
    has_bound: ClassVar[bool] = True
    # tuned on two splits of Banana and wdbc, 0.5 on ten of KEEL's eight sets
    temperatures: ClassVar[tuple[float, ...]] = (0.5, 1.0, 2.0, 4.0, 8.0)
    anchor: ClassVar[float] = 2.0  # tuned on training objectives
    # Breiman's constant; having the rule at all was decided on ten splits of KEEL's eight sets
    standard_errors: ClassVar[float] = 1.0
    center: ClassVar[float] = 0.0
    scale: ClassVar[float] = 1.0
    tolerance: ClassVar[float] = 0.0
    risk_unit: ClassVar[float] = 1.0

    @classmethod
    def learn(cls, y: AnyArray) -> Binary:
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
        if len(classes) > 2:
            raise InputError(
                "Only binary classification is supported. The type of the target is"
                f" {type_of_target(y)}. It has {len(classes)} classes; wrap the model in"
                " sklearn.multiclass.OneVsRestClassifier."
            )
        if len(classes) < 2:
            raise InputError(
                f"y has one class only, {classes[0]!r}, in {len(y)} rows of positive weight; a"
                " classifier needs two classes."
            )
        return cls(classes)

    def scale_by(self, units: Units) -> Binary:
        return self

    def tolerate(self, answers: AnyArray, codes: Array, weight: Array) -> Binary:
        return self

    def code(self, y: Any, what: str = "y") -> Array:
        labels = column_or_1d(y, warn=True)
        strange = ~np.isin(labels, self.classes)
        if strange.any():
            raise InputError(
                f"{what} has the label {labels[strange].tolist()[0]!r}, which the model does not"
                f" know; its labels are {self.classes.tolist()}."
            )
        return np.where(labels == self.classes[1], 1.0, -1.0)

    def in_units(self, scores: Array) -> Array:
        return scores

    def answer(self, scores: Array) -> AnyArray:
        return np.asarray(self.classes[(scores > 0).astype(int)])

    def answers(self, scores: Array) -> AnyArray:
        return np.asarray(self.classes[[bool((scores <= 0).any()), bool((scores > 0).any())]])

    def apart(self, first: Array, second: Array) -> Booleans:
        return np.asarray((first > 0) != (second > 0))

    def level(self, answer: Any) -> float:
        return 0.0

    def shade(self, scores: Array) -> Array:
        return np.asarray(scores > 0, dtype=int)

    def describe(self) -> Answer:
        return Answer("sign", tuple(self.classes.tolist()), 0.0, 1.0, 0.0)

    def judge(self, scores: Array, rows: Rows) -> float:
        signs = np.where(scores > 0, 1.0, -1.0)
        return float(accuracy_score(rows.target, signs, sample_weight=rows.weight))

    def losses(self, scores: Array, rows: Rows) -> Array:
        return np.asarray(np.where(scores > 0, 1.0, -1.0) != rows.target, dtype=float)

    def bound(self, solution: Solution, n_rows: float, n_choices: int) -> float:
        return catoni_bound(solution.objective, solution.inverse_temperature, n_rows, n_choices)

    def expected_risk(self, judgment: float) -> float | None:
        return 1.0 - judgment

    def expected_error(self, judgment: float, scale: float) -> float | None:
        return None

    def usual(self, mean_code: float) -> Any:
        return self.classes[int(mean_code > 0)]

    def measure(self, y: AnyArray, answers: AnyArray) -> float | None:
        return float(np.mean(y == answers)) if len(y) else None

    def balance(self, y: AnyArray) -> dict[str, float]:
        return {
            f"share of {label}": float(np.mean(y == label)) if len(y) else float("nan")
            for label in self.classes
        }

    def error(self, tolerance: float) -> Loss:
        return ZeroOne()

    def simple_model(self) -> Any:
        return make_pipeline(_InUnits(), StandardScaler(), LogisticRegression(max_iter=2000))

    @staticmethod
    @flush_to_zero
    def votes(membership: Array, mean: Array, variance: Array) -> tuple[Array, Array]:
        """The posterior's votes for the positive and for the negative class: memberships times Phi,
        over the sum of all gates.

        Each is computed by itself, so that a vote near 1 leaves the digits of the other.
        """
        gate = gates(membership)[0]
        gate /= gate.sum(axis=0)
        score = mean / np.sqrt(variance)
        tiny = np.finfo(float).tiny  # an impossible vote would be an infinite score
        positive = np.clip((gate * ndtr(score)).sum(axis=0), tiny, 1.0)  # 1 up to rounding
        return positive, np.clip((gate * ndtr(-score)).sum(axis=0), tiny, 1.0)

    def content(self) -> dict[str, Any]:
        dtype = "text" if self.classes.dtype.kind in "UT" else str(self.classes.dtype)
        return {"kind": self.kind, "dtype": dtype, "classes": self.classes.tolist()}

    @classmethod
    def read(cls, read: Any) -> Binary:
        dtype, values = read.text("dtype"), read.sequence("classes")
        if dtype not in DTYPES:
            raise read.fail("dtype", f"one of {', '.join(DTYPES)}", dtype)
        if len(values) != 2:
            raise read.fail("classes", "two different labels", values)
        kinds = {"text": str, "object": object}
        try:
            made = np.array(values, dtype=kinds.get(dtype, dtype))
        except (ValueError, OverflowError, TypeError):
            raise read.fail("classes", f"labels of type {dtype}", values) from None
        if made.shape != (len(values),) or made.tolist() != values:
            raise read.fail("classes", f"labels of type {dtype}", values)
        try:  # as in fit
            found = cls.learn(made)
        except (ValueError, TypeError):
            raise read.fail("classes", "two different labels", values) from None
        if found.classes.tolist() != values:
            raise read.fail("classes", "two different labels in order", values)
        return cls(made)


@dataclass(frozen=True, eq=False)
class Continuous:
    """Numbers, centered and scaled inside; a score is the answer."""

    center: float = 0.0
    scale: float = 1.0
    residual_scale: float = 0.0  # root mean squared error of the answers on the training rows

    kind: ClassVar[str] = "continuous"
    task: ClassVar[str] = "regression"
    score_name: ClassVar[str] = "R2"
    measure_name: ClassVar[str] = "root mean squared error"
    score_label: ClassVar[str] = "prediction"
    loss: ClassVar[Loss] = Squared()
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
        return replace(self, residual_scale=_root_mean_square(answers - codes, weight))

    def code(self, y: Any, what: str = "y") -> Array:
        try:
            with np.errstate(over="ignore"):  # beyond the range of floats: an infinity, refused
                target = np.asarray(column_or_1d(y, warn=True, dtype=np.float64))
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{what} must be one number for each row: {error}") from None
        check_finite(target[:, None], (what,), what)
        check_size(target[:, None], (what,), what, LARGEST_TARGET)
        return target

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
        }

    @classmethod
    def read(cls, read: Any) -> Continuous:
        return cls(
            read.number("center", -LARGEST_TARGET, LARGEST_TARGET),
            read.number("scale", SMALLEST_TARGET, LARGEST_TARGET),
            read.number("residual_scale", 0.0),
        )


class _InUnits(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Columns in units of powers of two, which changes no digit: squares do not overflow."""

    def fit(self, X: Array, y: Any = None) -> _InUnits:
        self.units_ = np.array([power_of_two(column) for column in np.asarray(X, dtype=float).T])
        return self

    def transform(self, X: Array) -> Array:
        return np.asarray(X / self.units_, dtype=float)


def _root_mean_square(values: Array, weight: Array | None = None) -> float:
    """In units of a power of two, which changes no digit, so that squares do not overflow."""
    unit = power_of_two(values)
    if weight is not None:
        weight = weight / power_of_two(weight)
    return unit * float(np.sqrt(np.average((values / unit) ** 2, weights=weight)))


TARGETS: dict[str, type[Any]] = {one.kind: one for one in (Binary, Continuous)}


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
