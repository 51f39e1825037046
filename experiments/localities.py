"""Localities in all columns, in at most three, and as the defaults choose: R2 on KEEL's regression
sets, log loss and accuracy on its classification sets and on Adult, the deviance of claim
frequencies, and the paper's synthetic sets with nothing told about their units.

KEEL's sets have the sound preparation; at most four localities, chosen on the validation part.
Adult and the policies (beMTPL97) hold out some of the rows that are fitted on, as `fit` does.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss, mean_poisson_deviance, r2_score, roc_auc_score
from sklearn.model_selection import train_test_split

from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.datasets import KEEL, data_folder

from .batches import run_all
from .losses import FILES, sample_of
from .methods import SYNTHETIC, origin, parts_of, rows_of_case
from .store import Lines, versions
from .tables import TITLES, grid

PLACE = Path(__file__).parent / "localities.csv"
TASKS = (
    {one.name: one.task for one in KEEL}
    | dict.fromkeys(SYNTHETIC, "synthetic")
    | {"adult": "adult", "beMTPL97": "rate"}
)
SPLITS = {"adult": 1, "beMTPL97": 3}  # of the others as many as are asked for
SETTINGS: dict[str, dict[str, Any]] = {
    "one model": {"n_localities": 0},
    "balls": {"locality_features": "ball", "corrections": "none"},
    "3 columns": {"locality_features": 3},
    "all columns": {"locality_features": "all"},
    "default": {},
}
MEASURES = {
    "classification": ("log loss", "accuracy"),
    "adult": ("log loss", "AUC"),
    "regression": ("R2",),
    "rate": ("deviance",),
    "synthetic": ("score",),
}
MOST = 4  # localities


@dataclass(frozen=True)
class Entry:
    """One measure of one setting on the test rows of one split."""

    data: str
    split: int
    setting: str
    measure: str
    value: float
    n_localities: int
    seconds: float
    versions: str

    @property
    def key(self) -> tuple[str, int, str, str]:
        return self.data, self.split, self.setting, self.measure


def _estimator(data: str, split: int, setting: str) -> Any:
    options = {"n_localities": "auto", "max_localities": MOST, "random_state": split}
    options |= {"handle_unknown": "ignore", "local_models": "linear", "select": "held-out"}
    options |= SETTINGS[setting]
    if TASKS[data] == "rate":
        return LocalMixtureRegressor(loss="poisson", **options)
    if TASKS[data] == "regression" or data.startswith("reg"):
        return LocalMixtureRegressor(**options)
    return LocalMixtureClassifier(**options)


def _score(data: str, split: int, setting: str) -> tuple[dict[str, float], Any]:
    model, task = _estimator(data, split, setting), TASKS[data]
    if task == "synthetic":
        X, y = rows_of_case(data, origin(data))
        X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=split)
        return {"score": float(model.fit(X, y).score(X_test, y_test))}, model
    if task in ("adult", "rate"):
        sample = sample_of(data, split)
        if task == "rate":
            model.fit(sample.X, sample.y, exposure=sample.exposure)
            observed, weight = sample.y_test / sample.exposure_test, sample.exposure_test
            rate = model.predict(sample.X_test)
            found = mean_poisson_deviance(observed, rate, sample_weight=weight)
            return {"deviance": float(found)}, model
        model.fit(sample.X, sample.y)
        X_test, y_test = sample.X_test, sample.y_test
    else:
        parts = parts_of(data, "sound", split)
        model.fit(parts.X[0], parts.y[0], X_val=parts.X[1], y_val=parts.y[1])
        X_test, y_test = parts.X[2], parts.y[2]
    if task == "regression":
        return {"R2": float(r2_score(y_test, model.predict(X_test)))}, model
    probability = model.predict_proba(X_test)
    second = y_test == model.classes_[1]
    return {
        "log loss": float(log_loss(y_test, probability, labels=model.classes_)),
        "accuracy": float(np.mean(model.predict(X_test) == y_test)),
        "AUC": float(roc_auc_score(second, probability[:, 1])),
    }, model


def compute(task: tuple[str, int, str]) -> list[Entry]:
    data, split, setting = task
    began = time.time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, model = _score(data, split, setting)
    seconds = round(time.time() - began, 2)
    return [
        Entry(data, split, setting, measure, value, len(model.localities_), seconds, versions())
        for measure, value in found.items()
    ]


def missing(store: Lines[Entry], splits: int) -> list[tuple[str, int, str]]:
    """What is not in the store yet, of the data that are there; whole splits first."""
    every = [
        (data, split, setting)
        for data, task in TASKS.items()
        if all((data_folder() / name).is_file() for name in FILES.get(data, ()))
        for split in range(SPLITS.get(data, splits))
        for setting in SETTINGS
        if (data, split, setting, MEASURES[task][0]) not in store.records
    ]
    return sorted(every, key=lambda one: one[1])


def _table(store: Lines[Entry], task: str, measure: str, digits: int) -> str:
    rows = []
    for data in (name for name, kind in TASKS.items() if kind == task):
        cells, splits = [], 0
        for setting in SETTINGS:
            found = [
                one
                for one in store.records.values()
                if (one.data, one.setting, one.measure) == (data, setting, measure)
            ]
            splits = max(splits, len(found))
            if not found:
                cells.append("")
                continue
            size = np.mean([one.n_localities for one in found])
            value = np.mean([one.value for one in found])
            cells.append(f"{value:.{digits}f} ({size:.1f})")
        if splits:
            rows.append([TITLES.get(data, data), *cells, str(splits)])
    return grid([measure, *SETTINGS, "splits"], rows)


def show(store: Lines[Entry]) -> dict[str, str]:
    """The tables by their names; in parentheses the mean number of localities."""
    made = {
        "r2": ("regression", "R2", 4),
        "log_loss": ("classification", "log loss", 4),
        "accuracy": ("classification", "accuracy", 4),
        "adult_log_loss": ("adult", "log loss", 4),
        "adult_auc": ("adult", "AUC", 4),
        "rates": ("rate", "deviance", 5),
        "synthetic": ("synthetic", "score", 4),
    }
    return {f"localities_{name}": _table(store, *what) for name, what in made.items()}


def main(results: Path | None, output: Path, jobs: int, splits: int) -> int:
    store = Lines(results or PLACE, Entry)
    failed = run_all(store, missing(store, splits), compute, jobs)
    output.mkdir(parents=True, exist_ok=True)
    for name, text in show(store).items():
        (output / f"{name}.md").write_text(text, encoding="utf-8")
        print(f"{name}\n\n{text}")
    return failed
