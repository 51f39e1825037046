"""Probabilities and rates beside scikit-learn's linear models and boosting: log loss, AUC and
accuracy on KEEL's classification sets and on Adult, R2 of one linear model on the regression sets,
and the deviance of claim frequencies; and several classes: three of scikit-learn's sets, and a made
one.

KEEL's sets have the sound preparation; training and validation parts are fitted on together. Adult
has its own test rows; of the policies (beMTPL97) a fifth are test rows; the sets of several classes
have ten stratified folds.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    PoissonRegressor,
    RidgeCV,
)
from sklearn.metrics import log_loss, mean_poisson_deviance, r2_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.datasets import KEEL, data_folder

from .batches import run_all
from .methods import parts_of
from .store import Lines, versions
from .tables import TITLES, grid

PLACE = Path(__file__).parent / "losses.csv"
SEVERAL = ("iris", "wine", "digits", "four blobs")
TASKS = (
    {one.name: one.task for one in KEEL}
    | {"adult": "adult", "beMTPL97": "rate"}
    | dict.fromkeys(SEVERAL, "several")
)
SPLITS = {"adult": 1, "beMTPL97": 3}  # of the others as many as are asked for
FILES = {
    "adult": ("tables/adult_train.csv.gz", "tables/adult_test.csv.gz"),
    "beMTPL97": ("insurance/beMTPL97.csv.gz",),
}
_CLASSIFIERS = ("logistic", "boosting", "motlm n=0", "motlm", "motlm zero-one")
METHODS = {
    "classification": _CLASSIFIERS,
    "adult": ("logistic", "boosting", "motlm n=0", "motlm n=1"),
    "regression": ("ridge", "motlm n=0"),
    "rate": ("mean", "GLM", "boosting", "motlm n=0", "motlm n=1"),
    "several": ("logistic C=1", "logistic", "boosting", "motlm n=0", "motlm n=2", "motlm"),
}
MEASURES = {
    "classification": ("log loss", "AUC", "accuracy"),
    "adult": ("log loss", "AUC", "accuracy"),
    "regression": ("R2",),
    "rate": ("deviance",),
    "several": ("log loss", "accuracy"),
}


@dataclass(frozen=True)
class Entry:
    """One measure of one method on the test rows of one split."""

    data: str
    split: int
    method: str
    measure: str
    value: float
    n_localities: int
    seconds: float
    versions: str

    @property
    def key(self) -> tuple[str, int, str, str]:
        return self.data, self.split, self.method, self.measure


@dataclass(frozen=True)
class Sample:
    """Rows to fit on and test rows, with their exposures."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any
    exposure: Any = None
    exposure_test: Any = None


def four_blobs(n_rows: int, random_state: int) -> tuple[np.ndarray, np.ndarray]:
    """Four disks with a ring around each. A ring has the class of its disk; in a disk the classes
    are those of the four quadrants around its center, turned by one from disk to disk. One label in
    ten is drawn at random.
    """
    rng = np.random.default_rng(random_state)
    blob, angle = rng.integers(4, size=n_rows), rng.uniform(0.0, 2.0 * np.pi, size=n_rows)
    away = np.sqrt(rng.uniform(0.0, 1.7**2, size=n_rows))
    center = 2.0 * np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]])[blob]
    X = center + (away * np.array([np.cos(angle), np.sin(angle)])).T
    quadrant = (4.0 * angle / (2.0 * np.pi)).astype(int)
    y = np.where(away < 1.0, (quadrant + blob) % 4, blob)
    return X, np.where(rng.random(n_rows) < 0.1, rng.integers(4, size=n_rows), y)


def _fold(data: str, split: int) -> Sample:
    """One of ten folds as test rows."""
    loaders = {"iris": load_iris, "wine": load_wine, "digits": load_digits}
    X, y = loaders[data](return_X_y=True) if data in loaders else four_blobs(2000, 0)
    folds = StratifiedKFold(10, shuffle=True, random_state=0).split(X, y)
    rest, test = list(folds)[split]
    return Sample(X[rest], y[rest], X[test], y[test])


def sample_of(data: str, split: int) -> Sample:
    if TASKS[data] == "several":
        return _fold(data, split)
    if data == "adult":
        tables = [pd.read_csv(data_folder() / name, skipinitialspace=True) for name in FILES[data]]
        X, X_test = (table.drop(columns=["income", "fnlwgt", "education"]) for table in tables)
        y, y_test = (table["income"].str.strip(". ").to_numpy() for table in tables)
        return Sample(X, y, X_test, y_test)
    if data == "beMTPL97":
        table = pd.read_csv(data_folder() / FILES[data][0])
        X = table.drop(columns=["expo", "nclaims", "amount"])
        parts = train_test_split(
            X, table["nclaims"], table["expo"], test_size=0.2, random_state=split
        )
        X, X_test, y, y_test, exposure, exposure_test = parts
        return Sample(X, y, X_test, y_test, exposure, exposure_test)
    parts = parts_of(data, "sound", split)
    return Sample(np.concatenate(parts.X[:2]), np.concatenate(parts.y[:2]), parts.X[2], parts.y[2])


def _encoded(model: Any, one_hot: bool) -> Any:
    """A model of scikit-learn's behind an encoding of text columns."""
    text = make_column_selector(dtype_exclude="number")
    if one_hot:
        encoder, rest = OneHotEncoder(drop="if_binary", handle_unknown="ignore"), StandardScaler()
    else:
        encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        rest = "passthrough"
    return make_pipeline(make_column_transformer((encoder, text), remainder=rest), model)


def _mixture(method: str, rate: bool = False) -> Any:
    n: int | str = int(method[-1]) if method[-2:-1] == "=" else "auto"
    options: dict[str, Any] = {"random_state": 0, "handle_unknown": "ignore"}
    options |= {"local_models": "linear", "select": "held-out"}
    if rate:
        return LocalMixtureRegressor(n, loss="poisson", **options)
    loss = "zero-one" if method.endswith("zero-one") else "log"
    return LocalMixtureClassifier(n, loss=loss, **options)


def classifier(method: str, tables: bool) -> Any:
    if method == "logistic C=1":
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))
    if method == "logistic":
        model = LogisticRegressionCV(scoring="neg_log_loss", max_iter=5000)
        return _encoded(model, True) if tables else make_pipeline(StandardScaler(), model)
    if method == "boosting":
        boosting = HistGradientBoostingClassifier(random_state=0)
        return _encoded(boosting, False) if tables else boosting
    return _mixture(method)


def _classify(method: str, sample: Sample, tables: bool) -> tuple[dict[str, float], Any]:
    model = classifier(method, tables).fit(sample.X, sample.y)
    probability = model.predict_proba(sample.X_test)
    found = {
        "log loss": float(log_loss(sample.y_test, probability, labels=model.classes_)),
        "accuracy": float(np.mean(model.predict(sample.X_test) == sample.y_test)),
    }
    if len(model.classes_) == 2:
        second = sample.y_test == model.classes_[1]
        found["AUC"] = float(roc_auc_score(second, probability[:, 1]))
    return found, model


def _regress(method: str, sample: Sample) -> tuple[dict[str, float], Any]:
    model = LocalMixtureRegressor(0, local_models="linear", random_state=0)
    if method == "ridge":
        model = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 4, 29)))
    model.fit(sample.X, sample.y)
    return {"R2": float(r2_score(sample.y_test, model.predict(sample.X_test)))}, model


def _rate(method: str, sample: Sample) -> tuple[dict[str, float], Any]:
    model: Any = None
    if method == "mean":
        rate = np.full(len(sample.y_test), sample.y.sum() / sample.exposure.sum())
    elif method.startswith("motlm"):
        model = _mixture(method, rate=True).fit(sample.X, sample.y, exposure=sample.exposure)
        rate = model.predict(sample.X_test)
    else:
        glm = method == "GLM"
        last = (
            PoissonRegressor(alpha=1e-6, max_iter=1000)
            if glm
            else HistGradientBoostingRegressor(loss="poisson", random_state=0)
        )
        model = _encoded(last, glm)
        weight = {f"{model.steps[-1][0]}__sample_weight": sample.exposure}
        rate = model.fit(sample.X, sample.y / sample.exposure, **weight).predict(sample.X_test)
    observed, exposure = sample.y_test / sample.exposure_test, sample.exposure_test
    return {"deviance": float(mean_poisson_deviance(observed, rate, sample_weight=exposure))}, model


def compute(task: tuple[str, int, str]) -> list[Entry]:
    data, split, method = task
    began, kind = time.time(), TASKS[data]
    sample = sample_of(data, split)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "regression":
            found, model = _regress(method, sample)
        elif kind == "rate":
            found, model = _rate(method, sample)
        else:
            found, model = _classify(method, sample, kind == "adult")
    n = len(getattr(model, "localities_", ()))
    seconds = round(time.time() - began, 2)
    return [
        Entry(data, split, method, measure, value, n, seconds, versions())
        for measure, value in found.items()
    ]


def missing(store: Lines[Entry], splits: int) -> list[tuple[str, int, str]]:
    """What is not in the store yet, of the data that are there."""
    return [
        (data, split, method)
        for data, task in TASKS.items()
        if all((data_folder() / name).is_file() for name in FILES.get(data, ()))
        for split in range(SPLITS.get(data, splits))
        for method in METHODS[task]
        if (data, split, method, MEASURES[task][0]) not in store.records
    ]


def _values(store: Lines[Entry], data: str, method: str, measure: str) -> list[float]:
    return [
        one.value
        for one in store.records.values()
        if (one.data, one.method, one.measure) == (data, method, measure)
    ]


def _table(store: Lines[Entry], tasks: Sequence[str], measure: str, digits: int) -> str:
    names = [data for data, task in TASKS.items() if task in tasks]
    methods = list(dict.fromkeys(name for task in tasks for name in METHODS[task]))
    rows = []
    for data in names:
        found = {name: _values(store, data, name, measure) for name in methods}
        if not any(found.values()):
            continue
        sizes = [
            one.n_localities
            for one in store.records.values()
            if (one.data, one.measure) == (data, measure) and one.method in ("motlm", "motlm n=1")
        ]
        cells = [f"{np.mean(one):.{digits}f}" if one else "" for one in found.values()]
        mean_size = f"{np.mean(sizes):.1f}" if sizes else ""
        rows.append([TITLES.get(data, data), *cells, mean_size])
    return grid([measure, *methods, "localities"], rows)


def show(store: Lines[Entry]) -> dict[str, str]:
    """The tables by their names."""
    made: dict[str, Callable[[], str]] = {
        "log_loss": lambda: _table(store, ("classification", "adult"), "log loss", 4),
        "auc": lambda: _table(store, ("classification", "adult"), "AUC", 4),
        "accuracy": lambda: _table(store, ("classification", "adult"), "accuracy", 4),
        "one_linear_model": lambda: _table(store, ("regression",), "R2", 4),
        "rates": lambda: _table(store, ("rate",), "deviance", 5),
        "classes_log_loss": lambda: _table(store, ("several",), "log loss", 4),
        "classes_accuracy": lambda: _table(store, ("several",), "accuracy", 4),
    }
    return {f"losses_{name}": make() for name, make in made.items()}


def main(results: Path | None, output: Path, jobs: int, splits: int) -> int:
    store = Lines(results or PLACE, Entry)
    failed = run_all(store, missing(store, splits), compute, jobs)
    output.mkdir(parents=True, exist_ok=True)
    for name, text in show(store).items():
        (output / f"{name}.md").write_text(text, encoding="utf-8")
        print(f"{name}\n\n{text}")
    return failed
