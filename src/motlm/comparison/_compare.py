"""Fits of a model and of others on the same folds."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import (
    GroupKFold,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    check_cv,
)
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_consistent_length, column_or_1d, has_fit_parameter

from .._typing import AnyArray, Array, Integers
from ..checks import check_weights, per_exposure
from ..errors import InputError, InputTypeError, StoppedEarlyWarning
from ..scores import score_labels, score_numbers, score_rates
from ..tables import amount
from ..targets import RATE_LOSSES
from ..watch import Watch
from ._matrix import Matrix, matrix_of
from ._peers import Peer, Task, inner_splits, peers_of
from ._result import THIS, Comparison, Method

__all__ = ["compare"]

_FOLDS = 5
_FEW_ROWS, _REPEATS = 300, 3  # below so many rows, the folds are drawn anew so many times
_FEWEST = 10  # rows to fit on
_SMALLEST_RATE = 1e-3  # of the mean, that others may predict: a leaf without claims predicts 0

Scores = dict[str, float | None]
_Fold = tuple[Integers, Integers]


def compare(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    exposure: Any = None,
    groups: Any = None,
    cv: Any = None,
    random_state: Any = None,
    verbose: bool = False,
    callback: Callable[[Comparison], Any] | None = None,
) -> Comparison:
    """Compare a model with what one would pick instead, on the same folds: what does reading cost?

    Beside it are the majority class (or mean), logistic regression (ridge, or a GLM) with a
    penalty chosen by cross-validation, a tree of depth 4, HistGradientBoosting and, where the
    package interpret is installed, EBM. They get the same columns, one-hot, standardized and with
    missing values replaced where they need that, and the same weights.

    Ctrl-C stops the work, and what is known by then is the result: the folds that all methods have
    ended. Fits are timed one after another.

    Parameters
    ----------
    estimator : LocalMixtureClassifier or LocalMixtureRegressor
        Cloned for each fold; a pipeline, or another estimator of scikit-learn, will do, if it takes
        X. What is given for each row goes to the last step of a pipeline.
    X, y : rows and targets
    sample_weight : array of (n_rows,), default=None
        Of fits and scores.
    exposure : array of (n_rows,), default=None
        With a loss of rates, as in `fit`.
    groups : array of (n_rows,), default=None
        Of which rows belong together: folds have whole groups.
    cv : int, splitter of scikit-learn or None, default=None
        Folds; None is five, drawn three times where there are fewer than 300 rows.
    random_state : int, RandomState or None, default=None
        Of folds and fits of the others.
    verbose : bool, default=False
        Whether progress is shown, on stderr.
    callback : callable, default=None
        Called with the comparison so far after each fold, to keep it.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import motlm
    >>> from motlm.datasets import make_reg_case1
    >>> X, y = make_reg_case1(300, random_state=0)
    >>> model = motlm.LocalMixtureRegressor(
    ...     points_of_interest=[[0.0189]], local_models="linear", random_state=0
    ... )
    >>> found = motlm.compare(model, X, y, random_state=0)
    >>> [one.name for one in found.methods][:3]
    ['this model', 'mean', 'ridge']
    >>> found.difference("ridge", "R2").better
    False
    """
    rows = _Rows.of(estimator, X, y, sample_weight, exposure, groups)
    rng = check_random_state(random_state)
    folds = _folds(rows, cv, rng.randint(2**31 - 1))
    peers = peers_of(rows.task, rows.matrix.codes)
    work = _Work(estimator, rows, peers, folds, rng.randint(2**31 - 1))
    names = [THIS, *(one.name for one in peers)]
    with Watch(None, verbose) as watch:
        watch.plan(len(folds) * len(names))
        for k in range(len(folds)):
            for name in [*names[1:], THIS]:  # the slowest last
                watch.report(f"fold {k + 1} of {len(folds)}: {name}")
                if watch.over() or not work.run(name, k):
                    return work.result(k, stopped=True)
                watch.advance(1)
            if callback is not None:
                callback(work.result(k + 1))
    return work.result(len(folds))


@dataclass(frozen=True)
class _Rows:
    """Checked rows; of rates, `y` is per unit of exposure and `weight` has the exposures."""

    task: Task
    X: Any
    matrix: Matrix
    y: AnyArray
    given: dict[str, AnyArray]  # what this model's fit gets beside X and `outcome`
    outcome: AnyArray
    weight: Array | None
    groups: AnyArray | None
    classes: AnyArray | None
    target: str  # what y is called, "" where it has no name

    @classmethod
    def of(
        cls, estimator: Any, X: Any, y: Any, sample_weight: Any, exposure: Any, groups: Any
    ) -> _Rows:
        task = _task_of(estimator)
        outcome = np.asarray(column_or_1d(y, warn=True))
        check_consistent_length(X, outcome)
        if exposure is not None and task.kind != "rate":
            raise InputError(
                f"exposure is for losses of rates, {', '.join(map(repr, RATE_LOSSES))}; leave it"
                " out, or set loss='poisson'."
            )
        weight = None if sample_weight is None else check_weights(sample_weight, outcome)
        given = {"sample_weight": weight, "exposure": exposure, "groups": groups}
        given = {
            name: np.asarray(column_or_1d(one)) for name, one in given.items() if one is not None
        }
        check_consistent_length(outcome, *given.values())
        for name in given:
            last, _ = _last_step(estimator)
            if name != "groups" and not has_fit_parameter(last, name):
                raise InputError(f"{type(last).__name__}.fit takes no {name}; leave it out.")
        values = outcome
        if exposure is not None:
            values, weight = per_exposure(outcome, exposure, weight, "exposure")
        if task.kind != "classification":
            values = np.asarray(values, dtype=float)
        classes = np.unique(outcome) if task.kind == "classification" else None
        if classes is not None and len(classes) < 2:
            raise InputError(f"y has one class, {classes[0]!r}; there is nothing to compare.")
        own = given.get("groups")
        if not has_fit_parameter(_last_step(estimator)[0], "groups"):
            given.pop("groups", None)
        called = getattr(y, "name", None)
        target = "" if called is None else str(called)
        return cls(task, X, matrix_of(X), values, given, outcome, weight, own, classes, target)

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the columns of X, if it has any."""
        return tuple(str(name) for name in getattr(self.X, "columns", ()))

    def score(self, answers: AnyArray, chances: Array | None, some: Integers) -> Scores:
        """Of predictions for some rows; rows of no weight are ignored."""
        weight = None if self.weight is None else self.weight[some]
        if weight is not None and not weight.all():
            kept = weight > 0
            some, answers, weight = some[kept], answers[kept], weight[kept]
            chances = None if chances is None else chances[kept]
        y = self.y[some]
        if self.classes is not None and chances is not None:
            return score_labels(y, answers, chances, self.classes, weight)
        if self.task.kind == "regression":
            return score_numbers(y, answers, weight)
        return score_rates(y, answers, weight, self.task.power)


def _last_step(estimator: Any) -> tuple[Any, str]:
    """What predicts, and what the names of its parameters begin with; of a pipeline its end."""
    if not isinstance(estimator, Pipeline):
        return estimator, ""
    name, last = estimator.steps[-1]
    return last, f"{name}__"


def _task_of(estimator: Any) -> Task:
    known = hasattr(estimator, "fit") and not isinstance(estimator, type)
    if not known or not (is_classifier(estimator) or is_regressor(estimator)):
        raise InputTypeError(
            "expected an estimator, such as LocalMixtureClassifier(); got"
            f" {type(estimator).__name__}."
        )
    last, _ = _last_step(estimator)
    loss = getattr(last, "loss", None)
    if is_classifier(estimator):
        return Task("classification")
    if loss not in RATE_LOSSES:
        return Task("regression")
    power = {"poisson": 1.0, "gamma": 2.0}.get(loss, getattr(last, "power", 1.5))
    return Task("rate", float(power))


def _folds(rows: _Rows, cv: Any, seed: int) -> list[_Fold]:
    """Rows to fit on, and rows left out."""
    n, groups = len(rows.y), rows.groups
    stratify = rows.classes is not None
    if cv is not None and not isinstance(cv, (int, np.integer)):
        found = list(check_cv(cv).split(np.zeros(n), rows.outcome, groups))
    else:
        count = _FOLDS if cv is None else int(cv)
        parts = n if groups is None else len(np.unique(groups))
        what = "rows" if groups is None else "groups"
        if not 2 <= count <= parts:
            raise InputError(f"cv must be from 2 to the number of {what}, {parts}; got {count}.")
        splitter = _splitter(n, count, stratify, groups is not None, seed)
        with warnings.catch_warnings():  # a class with few rows, which a remark is on
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            found = list(splitter.split(np.zeros(n), rows.outcome, groups))
    folds = [(np.asarray(train), np.asarray(test)) for train, test in found]
    for k, (train, test) in enumerate(folds):
        _check_fold(rows, train, test, f"fold {k + 1} of {len(folds)}")
    return folds


def _check_fold(rows: _Rows, train: Integers, test: Integers, name: str) -> None:
    """Whether all methods can be fitted and scored; rows of no weight are ignored."""
    counted = np.ones(len(rows.y), dtype=bool) if rows.weight is None else rows.weight > 0
    fitted, scored = int(counted[train].sum()), int(counted[test].sum())
    advice = "give more rows, or another number of folds."
    if fitted < _FEWEST or not scored:
        raise InputError(
            f"{name} has {fitted} rows with a weight above 0 to fit on and {scored} to score; at"
            f" least {_FEWEST} and 1 are needed: {advice}"
        )
    if rows.classes is not None and len(np.unique(rows.y[train][counted[train]])) < 2:
        raise InputError(f"all rows to fit on in {name} are of one class: {advice}")


def _splitter(n: int, count: int, stratify: bool, grouped: bool, seed: int) -> Any:
    options = {"shuffle": True, "random_state": seed}
    if grouped:
        kind = StratifiedGroupKFold if stratify else GroupKFold
        return kind(count, **options)
    repeats = _REPEATS if n < _FEW_ROWS else 1
    kind = RepeatedStratifiedKFold if stratify else RepeatedKFold
    return kind(n_splits=count, n_repeats=repeats, random_state=seed)


class _Work:
    """Fits and scores, as far as they are done."""

    def __init__(
        self, estimator: Any, rows: _Rows, peers: list[Peer], folds: list[_Fold], seed: int
    ) -> None:
        self.estimator, self.rows, self.folds, self.seed = estimator, rows, folds, seed
        self.peers = {one.name: one for one in peers}
        self.words = {THIS: type(estimator).__name__} | {one.name: one.words for one in peers}
        self.done: dict[str, list[tuple[Scores, float]]] = {name: [] for name in self.words}
        self.limited = 0  # fits of this model that a time limit has ended

    def run(self, name: str, k: int) -> bool:
        """Fit and score a method on a fold; False if it was interrupted."""
        train, test = self.folds[k]
        began = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model, X = self._fit_own(train) if name == THIS else self._fit_peer(name, train)
            seconds = time.perf_counter() - began
            stops = [one.message for one in caught if isinstance(one.message, StoppedEarlyWarning)]
            if any(one.interrupted for one in stops):
                return False
            self.limited += bool(stops)
            scores = self._score(model, X, test, name != THIS)
        self.done[name].append((scores, seconds))
        return True

    def _fit_own(self, train: Integers) -> tuple[Any, Any]:
        model, rows = clone(self.estimator), self.rows
        last, prefix = _last_step(model)
        if "verbose" in last.get_params():
            last.set_params(verbose=0)
        given = {f"{prefix}{name}": values[train] for name, values in rows.given.items()}
        return model.fit(_safe_indexing(rows.X, train), rows.outcome[train], **given), rows.X

    def _fit_peer(self, name: str, train: Integers) -> tuple[Any, Any]:
        rows, X = self.rows, self.rows.matrix.values
        y, groups = rows.y[train], None if rows.groups is None else rows.groups[train]
        weight = np.ones(len(y)) if rows.weight is None else rows.weight[train]
        classes = getattr(_last_step(self.estimator)[0], "class_weight", None)
        if classes is not None:
            weight = weight * compute_sample_weight(classes, y)
        kept = weight > 0
        y, weight, groups = y[kept], weight[kept], None if groups is None else groups[kept]
        splits = inner_splits(y, groups, rows.classes is not None, self.seed)
        model = self.peers[name].make(splits, self.seed)
        step = f"{model.steps[-1][0]}__" if hasattr(model, "steps") else ""
        return model.fit(X[train][kept], y, **{f"{step}sample_weight": weight}), X

    def _score(self, model: Any, X: Any, test: Integers, floor: bool) -> Scores:
        rows, some = self.rows, _safe_indexing(X, test)
        answers, chances = model.predict(some), None
        if rows.classes is not None:
            chances = np.zeros((len(test), len(rows.classes)))
            chances[:, np.searchsorted(rows.classes, model.classes_)] = model.predict_proba(some)
        elif floor and rows.task.kind == "rate":
            answers = np.maximum(answers, _SMALLEST_RATE * np.average(rows.y, weights=rows.weight))
        return rows.score(np.asarray(answers), chances, test)

    def result(self, folds: int, stopped: bool = False) -> Comparison:
        """Of the folds that all methods have ended; if there is none, of those that have ended the
        first.
        """
        names, notes = [name for name in self.done if len(self.done[name]) >= folds], []
        if stopped and not folds:
            names, folds = [name for name in self.done if self.done[name]], 1
        if stopped:
            notes.append(
                f"stopped after {min(len(self.done[THIS]), folds)} of"
                f" {amount(len(self.folds), 'fold')}."
            )
        if self.limited:
            notes.append(f"the time limit ended {self.limited} of the fits of this model.")
        ratio = float(np.mean([len(test) / len(train) for train, test in self.folds]))
        methods = tuple(self._method(name, folds) for name in names)
        made = Comparison(
            self.rows.task.kind, len(self.rows.y), folds, len(self.folds), methods, ratio
        )
        return replace(
            made,
            notes=tuple(notes + self._remarks()),
            target=self.rows.target,
            features=self.rows.features,
        )

    def _method(self, name: str, folds: int) -> Method:
        done = self.done[name][:folds]
        scores = {score: tuple(one[score] for one, _ in done) for score in done[0][0]}
        return Method(name, self.words[name], scores, tuple(seconds for _, seconds in done))

    def _remarks(self) -> list[str]:
        """On what the scores depend."""
        rows, remarks = self.rows, []
        if rows.task.kind == "rate":
            remarks.append(
                f"rates that others predict below {_SMALLEST_RATE:g} of the mean are raised to it,"
                " as the deviance of 0 is infinite."
            )
        if rows.classes is not None:
            labels, counts = np.unique(rows.y, return_counts=True)
            rare = [str(one) for one, n in zip(labels, counts, strict=True) if n < _FOLDS]
            if rare:
                remarks.append(
                    f"few rows are of class {', '.join(rare[:10])}: some folds have none of it."
                )
        return remarks
