"""The default estimators beside what users would pick instead, on KEEL's sets with the sound
preparation, on Adult and on motor policies (beMTPL97).

Models are fitted to the training and the validation part of a split, and judged on its test part.
Those of scikit-learn are tuned on the validation part (their results are those of the other
tables); EBM has its defaults, is fitted like ours, and to the first three splits alone.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss, mean_poisson_deviance, r2_score, roc_auc_score

from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.datasets import KEEL, data_folder

from . import losses
from .batches import run_all
from .losses import FILES, Sample, sample_of
from .store import Lines, Store, versions
from .tables import TITLES, grid

PLACE = Path(__file__).parent / "defaults.csv"
TASKS = {one.name: one.task for one in KEEL} | {"adult": "adult", "beMTPL97": "rate"}
SPLITS = {"adult": 1, "beMTPL97": 3}  # of the others as many as are asked for
EBM_SPLITS = 3
METHODS = ("default", "EBM")
MEASURES = {"regression": "R2", "classification": "accuracy", "adult": "AUC", "rate": "deviance"}
# of the other tables, by their names in the results
PEERS = {
    "regression": ("ridge", "KMeans + linear", "Gaussian SVR", "HistGradientBoosting"),
    "classification": (
        "logistic regression",
        "KMeans + linear",
        "Gaussian SVM",
        "HistGradientBoosting",
    ),
}


Fitted = Lines[losses.Entry]
# likewise, of the tables of probabilities and rates; fitted to both parts, as ours are
FITTED = {
    "classification": {"logistic regression": "logistic", "HistGradientBoosting": "boosting"},
    "adult": {"logistic regression": "logistic", "HistGradientBoosting": "boosting"},
    "rate": {"GLM": "GLM", "HistGradientBoosting": "boosting"},
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
    additive: int
    seconds: float
    versions: str

    @property
    def key(self) -> tuple[str, int, str, str]:
        return self.data, self.split, self.method, self.measure


def _estimator(method: str, task: str, split: int) -> Any:
    if method == "EBM":
        from interpret import glassbox

        if task == "rate":
            options = {"objective": "poisson_deviance", "random_state": split}
            return glassbox.ExplainableBoostingRegressor(**options)
        name = "Regressor" if task == "regression" else "Classifier"
        return getattr(glassbox, f"ExplainableBoosting{name}")(random_state=split)
    options = {"handle_unknown": "ignore", "random_state": split, "n_jobs": -1}
    if task == "rate":
        return LocalMixtureRegressor(loss="poisson", **options)
    make = LocalMixtureRegressor if task == "regression" else LocalMixtureClassifier
    return make(**options)


def _fit(method: str, model: Any, task: str, sample: Sample) -> Any:
    if task != "rate":
        return model.fit(sample.X, sample.y)
    if method == "EBM":
        return model.fit(sample.X, sample.y / sample.exposure, sample_weight=sample.exposure)
    return model.fit(sample.X, sample.y, exposure=sample.exposure)


def _score(model: Any, task: str, sample: Sample) -> dict[str, float]:
    X, y = sample.X_test, sample.y_test
    if task == "regression":
        return {"R2": float(r2_score(y, model.predict(X)))}
    if task == "rate":
        years = sample.exposure_test
        return {
            "deviance": float(
                mean_poisson_deviance(y / years, model.predict(X), sample_weight=years)
            )
        }
    probability = model.predict_proba(X)
    return {
        "log loss": float(log_loss(y, probability, labels=model.classes_)),
        "accuracy": float(np.mean(model.predict(X) == y)),
        "AUC": float(roc_auc_score(y == model.classes_[1], probability[:, 1])),
    }


def compute(task: tuple[str, int, str]) -> list[Entry]:
    data, split, method = task
    kind, sample = TASKS[data], sample_of(data, split)
    model, began = _estimator(method, TASKS[data], split), time.time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _fit(method, model, kind, sample)
    seconds = round(time.time() - began, 2)
    mixture = getattr(model, "mixture_", None)
    about = (0, 1) if mixture is None else (mixture.n_localities, int(mixture.inputs.n_ramps > 0))
    return [
        Entry(data, split, method, measure, value, *about, seconds, versions())
        for measure, value in _score(model, kind, sample).items()
    ]


def missing(store: Lines[Entry], splits: int) -> list[tuple[str, int, str]]:
    """What is not in the store yet, of the data and packages that are there; whole splits first."""
    methods = METHODS if find_spec("interpret") else METHODS[:1]
    every = [
        (data, split, method)
        for data, task in TASKS.items()
        if all((data_folder() / name).is_file() for name in FILES.get(data, ()))
        for method in methods
        for split in range(min(SPLITS.get(data, splits), EBM_SPLITS if method == "EBM" else splits))
        if (data, split, method, MEASURES[task]) not in store.records
    ]
    return sorted(every, key=lambda one: (one[2] == "EBM", one[1]))


def _mean(store: Lines[Entry], data: str, method: str, what: str, splits: int = 99) -> float | None:
    found = [
        getattr(one, what) if what in ("seconds", "n_localities", "additive") else one.value
        for one in store.records.values()
        if (one.data, one.method) == (data, method)
        and one.split < splits
        and one.measure == (MEASURES[TASKS[data]] if what in _ABOUT else what)
    ]
    return float(np.mean(found)) if found else None


_ABOUT = ("seconds", "n_localities", "additive")


def _table(
    store: Lines[Entry], peers: Store, fitted: Fitted, task: str, measure: str, digits: int
) -> str:
    tuned = measure in ("R2", "accuracy")
    others = PEERS.get(task, ()) if tuned else tuple(FITTED.get(task, ()))
    rows = []
    for data in (name for name, kind in TASKS.items() if kind == task):
        own = [one for one in store.records.values() if one.data == data]
        own = [one for one in own if (one.method, one.measure) == ("default", measure)]
        if not own:
            continue
        cells = [_mean(store, data, "default", measure)]
        cells += [
            _peer(peers, data, other, len(own))
            if tuned
            else _fitted(fitted, data, FITTED[task][other], measure, len(own))
            for other in others
        ]
        cells += [
            _mean(store, data, "default", measure, EBM_SPLITS),
            _mean(store, data, "EBM", measure, EBM_SPLITS),
        ]
        shown = ["" if one is None else f"{one:.{digits}f}" for one in cells]
        size, bent = (_mean(store, data, "default", what) for what in _ABOUT[1:])
        rows.append([TITLES.get(data, data), *shown, f"{size:.1f}", f"{bent:.1f}", str(len(own))])
    names = ["default", *others, "default, 3 splits", "EBM, 3 splits"]
    return grid([measure, *names, "localities", "additive", "splits"], rows)


def _peer(peers: Store, data: str, method: str, splits: int) -> float | None:
    found = [
        one.test
        for one in peers.records.values()
        if (one.data, one.preparation, one.method) == (data, "sound", method) and one.split < splits
    ]
    return float(np.mean(found)) if found else None


def _fitted(fitted: Fitted, data: str, method: str, measure: str, splits: int) -> float | None:
    keys = [(data, split, method, measure) for split in range(splits)]
    found = [fitted.records[key].value for key in keys if key in fitted.records]
    return float(np.mean(found)) if len(found) == splits else None


def show(store: Lines[Entry], peers: Store, fitted: Fitted) -> dict[str, str]:
    """The tables by their names."""
    made = {
        "r2": ("regression", "R2", 4),
        "accuracy": ("classification", "accuracy", 4),
        "log_loss": ("classification", "log loss", 4),
        "adult_log_loss": ("adult", "log loss", 4),
        "adult_auc": ("adult", "AUC", 4),
        "rates": ("rate", "deviance", 5),
    }
    return {f"defaults_{name}": _table(store, peers, fitted, *what) for name, what in made.items()}


def main(results: Path | None, output: Path, jobs: int, splits: int) -> int:
    store = Lines(results or PLACE, Entry)
    failed = run_all(store, missing(store, splits), compute, jobs)
    output.mkdir(parents=True, exist_ok=True)
    peers, fitted = Store(), Lines(losses.PLACE, losses.Entry)
    for name, text in show(store, peers, fitted).items():
        (output / f"{name}.md").write_text(text, encoding="utf-8")
        print(f"{name}\n\n{text}")
    return failed
