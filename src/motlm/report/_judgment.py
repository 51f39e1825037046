"""How good a model is on the rows of a report, beside a constant answer and one linear model that
was fitted to the same rows: bars with certified limits, measures, and charts of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import AnyArray, Array
from ..bounds import betting, clopper_pearson
from ..cards import LinearReference
from ..certificates import ratio_interval, round_number, round_seen, round_share
from ..evaluation import Evaluation, evaluate
from ..mixture import Mixture, View
from ..rows import group_equally
from ..tables import number
from ..targets import Rate
from ._charts import COLORS, Chart
from ._features import FEW

__all__ = ["Case", "judge"]

_CLIP = 12.0  # deviance of a row that is counted, as in certificates of rates
_BINS = 10
_MOST_CLASSES = 12  # of a confusion matrix
_MISTAKES = 10  # shown instead of a larger one
_OWN = "this model"
_LOSSES_ONLY = ("AUC", "log loss", "Brier score")  # of probabilities, which a constant has not


@dataclass(frozen=True, eq=False)
class Case:
    """A model, and rows with outcomes."""

    view: View
    X: Any
    y: AnyArray  # labels, numbers, or amounts where there are exposures
    exposure: Array | None
    probabilities: Array | None
    reference: LinearReference | None
    unseen: bool  # no row was used for fitting, as far as that is known
    certified: bool  # whether limits may be told
    delta: float
    tolerance: float
    seed: int

    @property
    def mixture(self) -> Mixture:
        return self.view.mixture

    @property
    def observed(self) -> Array:
        """Exposures."""
        return np.ones(len(self.y)) if self.exposure is None else self.exposure


@dataclass(frozen=True, eq=False)
class _Answers:
    """Answers as `evaluate` asks for them."""

    mixture_: Mixture
    answers: AnyArray
    chances: Array | None
    used: AnyArray

    def predict(self, X: Any) -> AnyArray:
        return self.answers

    def predict_proba(self, X: Any) -> Array | None:
        return self.chances

    def apply(self, X: Any) -> AnyArray:
        return self.used


def judge(case: Case, limit: float | None = None) -> dict[str, Any]:
    """Everything that the page shows of it; `limit` is what a certificate of rates says of the
    model's deviance, together with its other statements.
    """
    every = _predictors(case)
    found = {name: _evaluate(case, one) for name, one in every.items()}
    own = found[_OWN]
    made: dict[str, Any] = {
        "tiles": [(name, number(value)) for name, value in _tiles(own, case)],
        "names": list(found),
        "measures": _measures(found, case),
        "definitions": own.definitions,
        "bars": _bars(case, every, limit),
        "has_linear": case.reference is not None,
        "n_train": None if case.reference is None else case.reference.n_rows,
        "confusion": _confusion(own),
        "calibration": _calibration(own),
        "residuals": None,
        "experience": _experience(own),
        "experience_chart": None,
        "notes": [note for note in own.notes if "used for fitting" not in note],
    }
    if own.task == "regression":
        made["residuals"] = _residuals(np.asarray(case.y, dtype=float), case.view.answer)
    if own.task == "rate":
        made["experience_chart"] = _experience_chart(case)
    return made


# -- the three predictors --------------------------------------------------------------------------


def _predictors(case: Case) -> dict[str, _Answers]:
    view, mixture, classes = case.view, case.mixture, case.mixture.target.classes
    chances = None
    if classes is not None:
        chances = view.probabilities if case.probabilities is None else case.probabilities
    every = {_OWN: _Answers(mixture, view.answer, chances, view.used)}
    if case.reference is not None:
        codes = case.reference.predict(view.filled.encoded)
        chances = None if classes is None else case.reference.probabilities(view.filled.encoded)
        answers = codes if classes is None else classes[codes]
        every["one linear model"] = _Answers(mixture, answers, chances, view.used)
    usual, name = _usual(case)
    if usual is not None:
        constant = np.full(len(case.y), usual)
        flat = None if classes is None else np.asarray(constant[:, None] == classes, dtype=float)
        every[name] = _Answers(mixture, constant, flat, view.used)
    return every


def _usual(case: Case) -> tuple[Any, str]:
    """The constant answer, and what it is called; of labels the most frequent one of these rows, as
    in certificates: no constant answer is better here.
    """
    target, reference = case.mixture.target, case.reference
    if target.classes is not None:
        labels, counts = np.unique(case.y, return_counts=True)
        most = labels[counts.argmax()]
        return most, f"always “{most}”"
    if isinstance(target, Rate):
        return target.mean, "the mean rate"
    known = target.usual(case.mixture.provenance.fingerprint.target_mean)
    return (known if reference is None else reference.usual), "the mean"


def _evaluate(case: Case, one: _Answers) -> Evaluation:
    more = {} if one.chances is None else {"probabilities": one.chances}
    return evaluate(one, case.X, case.y, exposure=case.exposure, **more)


def _tiles(own: Evaluation, case: Case) -> list[tuple[str, float | None]]:
    return [
        (_named(name, case), value) for name, value in own.metrics.items() if name != "Brier score"
    ]


def _named(name: str, case: Case) -> str:
    per = " per unit of exposure" if name == "mean deviance" and case.exposure is not None else ""
    return name[:1].upper() + name[1:] + per


def _measures(found: dict[str, Evaluation], case: Case) -> list[tuple[str, list[str]]]:
    """A line for each measure, a number for each predictor."""
    lines = []
    for name in found[_OWN].metrics:
        values = [
            "" if key.startswith("always") and name in _LOSSES_ONLY else number(one.metrics[name])
            for key, one in found.items()
        ]
        lines.append((_named(name, case), values))
    return lines


# -- bars ------------------------------------------------------------------------------------------


def _bars(case: Case, every: dict[str, _Answers], certified: float | None) -> dict[str, Any]:
    """What goes wrong with each predictor, as lengths, and a limit that holds with confidence where
    the model is certified.
    """
    shares = not isinstance(case.mixture.target, Rate)
    seen = {name: (_losses if shares else _deviances)(case, one) for name, one in every.items()}
    if certified is not None:
        seen[_OWN] = seen[_OWN][0], certified
    most = max(max(value, limit or 0.0) for value, limit in seen.values()) or 1.0
    lines = []
    for name, (value, limit) in seen.items():
        line = {"name": name, "own": name == _OWN, "value": value, "limit": limit}
        text = round_seen(value) if shares else number(value)  # as certificates do
        line |= {"width": round(100 * value / most, 2), "text": text}
        if limit is not None:
            text = round_share(limit, True) if shares else round_number(limit, True, 4)
            line |= {"at": round(100 * limit / most, 2), "limit_text": text}
        lines.append(line)
    return {"what": _measured(case), "lines": lines}


def _measured(case: Case) -> str:
    target = case.mixture.target
    if isinstance(target, Rate):
        text = f"Mean deviance of a row, counted up to {_CLIP:g} in each"
        if case.exposure is None:
            return f"{text}, as the certificate has it; above it is counted in full"
        return (
            f"{text} and including its exposure, as the certificate has it; above it is per unit of"
            " exposure, and counted in full"
        )
    if target.classes is None:
        return f"Share of predictions that are off by more than {number(case.tolerance)}"
    return "Share of wrong answers"


def _losses(case: Case, one: _Answers) -> tuple[float, float | None]:
    """How often it is wrong, or off by more than the tolerance; and Clopper and Pearson's limit."""
    if case.mixture.target.classes is None:
        off = np.abs(np.asarray(case.y, dtype=float) - one.answers)
        wrong = ~(off <= case.tolerance)
    else:
        wrong = np.asarray(one.answers != case.y)
    limit = None
    if case.certified:
        limit = float(clopper_pearson(int(wrong.sum()), len(wrong), case.delta))
    return float(wrong.mean()), limit


def _deviances(case: Case, one: _Answers) -> tuple[float, float | None]:
    """The mean deviance of a row, clipped, and its limit by betting."""
    target = case.mixture.target
    assert isinstance(target, Rate)
    rate = np.asarray(case.y, dtype=float) / case.observed
    found = np.clip(case.observed * target.deviances(rate, one.answers), 0.0, _CLIP)
    order = np.random.default_rng(case.seed).permutation(len(found))
    limit = float(_CLIP * betting(found[order] / _CLIP, case.delta)) if case.certified else None
    return float(found.mean()), limit


# -- classes ---------------------------------------------------------------------------------------


def _confusion(own: Evaluation) -> dict[str, Any] | None:
    if own.task != "classification":
        return None
    labels, counts = [one.label for one in own.classes], np.array(own.confusion)
    if len(labels) > _MOST_CLASSES:
        wrong = counts.copy()
        np.fill_diagonal(wrong, 0)
        pairs = sorted(np.argwhere(wrong).tolist(), key=lambda pair: -wrong[tuple(pair)])
        some = [(labels[i], labels[j], int(wrong[i, j])) for i, j in pairs[:_MISTAKES]]
        return {"labels": labels, "rows": [], "mistakes": some}
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    rows = [
        {
            "label": labels[i],
            "cells": [
                {"count": int(counts[i, j]), "share": float(share[i, j]), "right": i == j}
                for j in range(len(labels))
            ],
        }
        for i in range(len(labels))
    ]
    return {"labels": labels, "rows": rows, "mistakes": []}


def _calibration(own: Evaluation) -> dict[str, Any] | None:
    """Predicted against observed, with 95 % intervals of Clopper and Pearson."""
    bins = own.confidence or own.calibration
    if not bins:
        return None
    x_label, y_label = "predicted probability of the answer", "share of right answers"
    if not own.confidence:
        x_label = f"predicted probability of {bins[0].label}"
        y_label = f"share of {bins[0].label}"
    text = f"Calibration: {y_label} by {x_label}; the table below has the numbers"
    chart = Chart((0.0, 1.0), (0.0, 1.0), x_label, y_label, text)
    chart.line([0, 1], [0, 1], "var(--muted)", "outer")
    rows = []
    for one in bins:
        right = round(one.observed * one.rows)
        high = float(clopper_pearson(right, one.rows, 0.025))
        low = 1.0 - float(clopper_pearson(one.rows - right, one.rows, 0.025))
        chart.line([one.predicted, one.predicted], [low, high], COLORS[0], "whisker")
        rows.append((f"{one.predicted:.3f}", f"{one.observed:.3f}", f"{low:.3f} to {high:.3f}"))
    predicted, observed = ([getattr(b, n) for b in bins] for n in ("predicted", "observed"))
    chart.dots(np.array(predicted), np.array(observed), COLORS[0])
    return {**chart.made, "head": (x_label, y_label, "95 % interval"), "rows": rows}


# -- numbers and rates -----------------------------------------------------------------------------


def _residuals(y: Array, answers: Array) -> dict[str, Any] | None:
    """Outcome minus prediction by tenths of the predictions: the median, and where the middle four
    fifths lie.
    """
    parts = min(_BINS, len(y) // FEW)
    if parts < 2:
        return None
    order = np.argsort(answers, kind="stable")
    bins = np.array_split(order, parts)
    residual = y - answers
    at = np.array([float(np.median(answers[some])) for some in bins])
    low, middle, high = (
        np.array([float(np.quantile(residual[some], q)) for some in bins]) for q in (0.1, 0.5, 0.9)
    )
    span = float(max(abs(low.min()), abs(high.max()))) * 1.1
    text = "Outcome minus prediction by the size of the prediction; the table has the numbers"
    chart = Chart(
        (float(at[0]), float(at[-1])), (-span, span), "prediction", "outcome minus prediction", text
    )
    chart.line(chart.x, (0.0, 0.0), "var(--muted)", "outer")
    chart.band(at, low, high, COLORS[0])
    chart.line(at, middle, COLORS[0])
    chart.dots(at, middle, COLORS[0])
    rows = [tuple(number(one) for one in line) for line in zip(at, middle, low, high, strict=True)]
    return {**chart.made, "rows": rows}


def _experience(own: Evaluation) -> list[dict[str, Any]]:
    return [
        {
            "name": one.name,
            "where": one.where,
            "cells": (
                str(one.rows),
                *(number(value) for value in (one.exposure, one.actual, one.expected)),
                f"{one.ratio:.3f}",
            ),
        }
        for one in own.experience
    ]


def _experience_chart(case: Case) -> dict[str, Any] | None:
    """Actual over expected by tenths of the predicted rate; of counts with 95 % intervals that
    assume no distribution.
    """
    rate, exposure = case.view.answer, case.observed
    actual, expected = np.asarray(case.y, dtype=float), rate * exposure
    group = group_equally(rate, exposure, _BINS)
    parts = [np.flatnonzero(group == k) for k in range(group.max() + 1)]
    if len(parts) < 2:
        return None
    ratio = np.array([actual[some].sum() / expected[some].sum() for some in parts])
    spans = []
    if case.mixture.target.loss_name == "poisson":
        spans = [ratio_interval(actual[s], expected[s], 0.05, seed=case.seed) for s in parts]
    high = max(2.0, 1.5 * float(ratio.max()))
    chart = Chart(
        (0.5, len(parts) + 0.5),
        (0.0, high),
        "tenth of the exposure, by predicted rate",
        "actual / expected",
        "Actual over expected by tenths of the predicted rate; the table has the numbers",
    )
    places = np.arange(1, len(parts) + 1)
    chart.name_x(places.tolist(), [str(k) for k in places])
    chart.line(chart.x, (1.0, 1.0), "var(--muted)", "outer")
    for place, (first, last) in zip(places, spans, strict=False):
        chart.line([place, place], [first, min(last, 2 * high)], COLORS[0], "whisker")
    chart.dots(places, ratio, COLORS[0])
    return {**chart.made, "intervals": bool(spans)}
