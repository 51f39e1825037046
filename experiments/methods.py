"""The methods, each a function of the prepared parts of one split; hyperparameters are selected on
the validation part.
"""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from motlm import PAPER, LocalMixtureClassifier, LocalMixtureRegressor
from motlm.baselines import ClusteredLinearClassifier, ClusteredLinearRegressor, LeagueOfExperts
from motlm.datasets import (
    data_folder,
    load_keel,
    load_published,
    make_clf_case1,
    make_clf_case2,
    make_reg_case1,
    make_reg_case2,
)
from motlm.errors import StoppedEarlyWarning
from motlm.preprocessing import Parts, prepare, three_parts

from .store import Key, Record, versions

SYNTHETIC = ("clf_case1", "clf_case2", "reg_case1", "reg_case2")
# the true points of interest; for Case 1 also the three that the paper adds to study the influence
# of n
POINTS = {
    "clf_case1": [[-1.0, 0.0], [1.0, 0.0], [-2.0, -1.0], [2.0, 1.0], [-1.0, 0.5]],
    "clf_case2": [[-1.4, 0.0], [0.0, 0.75], [1.4, 0.0]],
    "reg_case1": [[0.0189]],
    "reg_case2": [[-0.5086], [0.5086]],
}
RECIPES = {
    "clf_case1": make_clf_case1,
    "clf_case2": make_clf_case2,
    "reg_case1": make_reg_case1,
    "reg_case2": make_reg_case2,
}
TRUE = {
    "clf_case1": 2,
    "clf_case2": 3,
    "reg_case1": 1,
    "reg_case2": 2,
}  # true number of localities
PUBLISHED_TEMPERATURES = np.arange(1.0, 5.1, 0.25)  # lambda': lambda is lambda' * rows / n
OPTIONAL = {"EBM": "interpret", "linear tree": "lineartree"}  # method: package


def is_redrawn(data: str) -> bool:
    """Whether the authors' own sample of a synthetic set is not available, so that a new one is
    drawn.
    """
    return data in SYNTHETIC and not (data_folder() / "synthetic" / f"{data}.csv").is_file()


def origin(data: str) -> str:
    """The preparation of a synthetic set in the records: "none", or "recipe" for a new sample."""
    return "recipe" if is_redrawn(data) else "none"


def rows_of_case(data: str, preparation: str) -> tuple[np.ndarray, np.ndarray]:
    return RECIPES[data](random_state=0) if preparation == "recipe" else load_published(data)


@cache
def parts_of(data: str, preparation: str, split: int) -> Parts:
    if data in SYNTHETIC:
        return three_parts(*rows_of_case(data, preparation), split, stratify=data.startswith("clf"))
    bunch = _load(data)
    return prepare(bunch.frame, bunch.target_names[0], split, protocol=preparation, task=bunch.task)


@cache
def _load(data: str) -> Any:
    return load_keel(data, as_frame=True)


def same_parts(key: Key) -> bool:
    """Whether both preparations give the same parts, as they do if variance inflation drops no
    column.
    """
    if key.data in SYNTHETIC:
        return False
    try:
        paper, sound = (
            parts_of(key.data, preparation, key.split) for preparation in ("paper", "sound")
        )
    except OSError:
        return False  # a missing file is reported when its rows are needed
    return all(
        np.array_equal(a, b)
        for one, other in ((paper.X, sound.X), (paper.y, sound.y))
        for a, b in zip(one, other, strict=True)
    )


def is_classification(parts: Parts, data: str) -> bool:
    return data.startswith("clf") if data in SYNTHETIC else parts.y[0].dtype.kind != "f"


@dataclass(frozen=True)
class Fitted:
    """A fitted model and the hyperparameters selected on the validation rows."""

    model: Any
    chosen: str = ""


def best(candidates: Iterable[tuple[str, BaseEstimator]], parts: Parts) -> Fitted:
    """The candidate with the best validation score; the first one in case of ties."""
    found, top = None, -np.inf
    for chosen, model in candidates:
        score = model.fit(parts.X[0], parts.y[0]).score(parts.X[1], parts.y[1])
        if score > top:
            found, top = Fitted(model, chosen), score
    assert found is not None
    return found


# -- the mixture -----------------------------------------------------------------------------------


def _estimator(classification: bool) -> Any:
    """In the paper's setting."""
    if classification:
        return partial(LocalMixtureClassifier, loss="zero-one", **PAPER)
    return partial(LocalMixtureRegressor, **PAPER)


def _selection(model: Any) -> str:
    return f"lambda'={model.inverse_temperature_:g} n={len(model.localities_)}"


def own_search(parts: Parts, data: str, split: int, n: int | str, points: Any = None) -> Fitted:
    """motlm with default settings; n = "auto" selects the number of localities, at most 4."""
    options: dict[str, Any] = {"max_localities": 4} if n == "auto" else {}
    if data in SYNTHETIC:
        options["standardize"] = False  # the true balls are round in the units of the data
    model = _estimator(is_classification(parts, data))(
        n, points_of_interest=points, random_state=split, **options
    )
    model.fit(parts.X[0], parts.y[0], X_val=parts.X[1], y_val=parts.y[1])
    return Fitted(model, _selection(model))


def paper_protocol(parts: Parts, data: str, split: int, n: int, points: Any = None) -> Fitted:
    """17 values of lambda', NAdam, 10 n random restarts each; the best restart by the training
    objective, as in the paper, and lambda' by the validation score.

    The gradient is exact.
    """
    classification = is_classification(parts, data)
    options: dict[str, Any] = {"coef_scale": "unit"} if classification else {}
    found, top = None, -np.inf
    for value in PUBLISHED_TEMPERATURES[::-1]:  # ties go to the largest
        model = _estimator(classification)(
            n,
            points_of_interest=points,
            inverse_temperature=value / max(n, 1),
            solver="nadam",
            n_starts=max(10 * n, 1),
            max_iter=2000,
            standardize=False,
            random_state=split,
            **options,
        ).fit(parts.X[0], parts.y[0])
        score = model.score(parts.X[1], parts.y[1])
        if score > top:
            found, top = (
                Fitted(model, f"lambda'={value:g}/{max(n, 1)} n={len(model.localities_)}"),
                score,
            )
    assert found is not None
    return found


# -- other methods ---------------------------------------------------------------------------------


def _scale_target(model: Any) -> TransformedTargetRegressor:
    return TransformedTargetRegressor(model, transformer=StandardScaler())


def league(parts: Parts, split: int, n_experts: int) -> Fitted:
    """C = 0.5, 1, .., 9.5 times the number of training rows."""
    rows = len(parts.X[0])
    return best(
        (
            (
                f"C={c:g} m",
                LeagueOfExperts(
                    n_experts, expert=LinearSVC(C=c * rows, dual=False), random_state=split
                ),
            )
            for c in np.arange(0.5, 9.6, 0.5)
        ),
        parts,
    )


PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)


def _linear_svm(parts: Parts, split: int) -> Fitted:
    return best(((f"C={c:g}", SVC(C=c, kernel="linear")) for c in PENALTIES[:4]), parts)


def _gaussian_svm(parts: Parts, split: int) -> Fitted:
    return best(((f"C={c:g}", SVC(C=c)) for c in PENALTIES[1:]), parts)


def _linear_svr(parts: Parts, split: int) -> Fitted:
    return best(
        ((f"C={c:g}", _scale_target(SVR(C=c, kernel="linear"))) for c in PENALTIES[:4]), parts
    )


def _gaussian_svr(parts: Parts, split: int) -> Fitted:
    return best(((f"C={c:g}", _scale_target(SVR(C=c))) for c in PENALTIES[1:]), parts)


def _linear_in_clusters(model: Any) -> Callable[[Parts, int], Fitted]:
    def run(parts: Parts, split: int) -> Fitted:
        return best(((f"K={k}", model(k, random_state=split)) for k in range(1, 6)), parts)

    return run


def _single(make: Callable[[int], Any]) -> Callable[[Parts, int], Fitted]:
    def run(parts: Parts, split: int) -> Fitted:
        return Fitted(make(split).fit(parts.X[0], parts.y[0]))

    return run


def _ebm(classification: bool) -> Callable[[int], Any]:
    def make(split: int) -> Any:
        from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

        return (ExplainableBoostingClassifier if classification else ExplainableBoostingRegressor)(
            random_state=split, n_jobs=1
        )

    return make


def _linear_tree(classification: bool) -> Callable[[Parts, int], Fitted]:
    def run(parts: Parts, split: int) -> Fitted:
        from lineartree import LinearTreeClassifier, LinearTreeRegressor

        kind, leaf = (
            (LinearTreeClassifier, LogisticRegression())
            if classification
            else (LinearTreeRegressor, Ridge(alpha=1e-3))
        )
        return best(((f"depth={depth}", kind(leaf, max_depth=depth)) for depth in (1, 2)), parts)

    return run


CLASSIFIERS: dict[str, Callable[[Parts, int], Fitted]] = {
    "linear SVM": _linear_svm,
    "Gaussian SVM": _gaussian_svm,
    "LoE 2": lambda parts, split: league(parts, split, 2),
    "LoE 3": lambda parts, split: league(parts, split, 3),
    "logistic regression": lambda parts, split: best(
        ((f"C={c:g}", LogisticRegression(C=c, max_iter=1000)) for c in PENALTIES[:5]), parts
    ),
    "KMeans + linear": _linear_in_clusters(ClusteredLinearClassifier),
    "tree, depth 4": _single(lambda split: DecisionTreeClassifier(max_depth=4, random_state=split)),
    "random forest": _single(lambda split: RandomForestClassifier(200, random_state=split)),
    "HistGradientBoosting": _single(
        lambda split: HistGradientBoostingClassifier(random_state=split)
    ),
    "EBM": _single(_ebm(True)),
    "linear tree": _linear_tree(True),
}
REGRESSORS: dict[str, Callable[[Parts, int], Fitted]] = {
    "least squares": _single(lambda split: LinearRegression()),
    "linear SVR": _linear_svr,
    "Gaussian SVR": _gaussian_svr,
    "ridge": lambda parts, split: best(
        ((f"alpha={a:g}", Ridge(alpha=a)) for a in PENALTIES[:5]), parts
    ),
    "KMeans + linear": _linear_in_clusters(ClusteredLinearRegressor),
    "tree, depth 4": _single(lambda split: DecisionTreeRegressor(max_depth=4, random_state=split)),
    "random forest": _single(lambda split: RandomForestRegressor(200, random_state=split)),
    "HistGradientBoosting": _single(
        lambda split: HistGradientBoostingRegressor(random_state=split)
    ),
    "EBM": _single(_ebm(False)),
    "linear tree": _linear_tree(False),
}


@cache
def unusable(method: str) -> str:
    """The reason why a method that needs an extra package cannot be run; "" if it can."""
    if method not in OPTIONAL:
        return ""
    if importlib.util.find_spec(OPTIONAL[method]) is None:
        return "not installed"
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60.0)
    try:
        REGRESSORS[method](Parts((X, X, X), (y, y, y)), 0)
    except Exception as error:  # not compatible with this version of scikit-learn
        return f"fails with this scikit-learn: {error}"
    return ""


def _fit(key: Key, parts: Parts) -> Fitted:
    """Methods of the mixture are named "motlm n=2", "protocol n=2", "motlm auto", "motlm known 2",
    "protocol known 2".
    """
    who, _, what = key.method.partition(" ")
    if who in ("motlm", "protocol"):
        run: Any = own_search if who == "motlm" else paper_protocol
        if what.startswith("known"):
            points = POINTS[key.data][: int(what.split()[1])]
            return run(parts, key.data, key.split, len(points), points)
        return run(
            parts, key.data, key.split, "auto" if what == "auto" else int(what.removeprefix("n="))
        )
    return (CLASSIFIERS if is_classification(parts, key.data) else REGRESSORS)[key.method](
        parts, key.split
    )


def compute(key: Key) -> Record:
    parts = parts_of(key.data, key.preparation, key.split)
    # warnings of localities without rows, and of solvers stopped by the published rule
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.perf_counter()
        fitted = _fit(key, parts)
        seconds = time.perf_counter() - began
        if any(
            isinstance(one.message, StoppedEarlyWarning) and one.message.interrupted
            for one in caught
        ):
            # the model is the best found so far, not the result of a complete run
            raise KeyboardInterrupt
        train, valid, test = (
            float(fitted.model.score(X, y)) for X, y in zip(parts.X, parts.y, strict=True)
        )
    unit = 1.0 if is_classification(parts, key.data) else float(np.var(parts.y[0]))
    mixture = hasattr(fitted.model, "gibbs_risk_")
    return Record(
        key.data,
        key.preparation,
        key.method,
        key.split,
        train,
        valid,
        test,
        parts.X[0].shape[1],
        fitted.chosen,
        float(fitted.model.gibbs_risk_) / unit if mixture else None,
        float(fitted.model.objective_) / unit if mixture else None,
        round(seconds, 2),
        versions(),
    )
