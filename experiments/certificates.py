"""Certified risks on KEEL's sets with default settings: all columns, half of the rows sealed; n and
lambda, and of classifiers the loss, selected on the others; 15 % of the rows are test rows. The
whole sample is certified with up to two balls and the zero-one loss.

Each statement has delta = 0.05 on its own.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, ShuffleSplit, train_test_split

from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.bounds import clopper_pearson, pac_bayes_kl
from motlm.certificates import Certificate, certify, certify_in_sample
from motlm.datasets import KEEL, load_keel
from motlm.preprocessing import clean

from .batches import run_all
from .store import Lines, Store, versions
from .tables import TITLES, grid

PLACE = Path(__file__).parent / "certificates.csv"
SPLITS = 10
DELTA = 0.05
SEALED = 0.5
TASKS = {one.name: one.task for one in KEEL}
EXPECTED = {
    "classification": (
        "hold-out",
        "any rule",
        "one draw",
        "silent error",
        "ambiguity",
        "gain",
        "whole sample",
    ),
    "regression": ("tolerance", "squared error", "explained", "interval", "any rule", "one draw"),
}


@dataclass(frozen=True)
class Entry:
    """One statement for one split. Sizes of errors are in standard deviations of the target."""

    data: str
    split: int
    statement: str
    value: float
    empirical: float
    kl: float | None
    n_rows: int
    baseline: float | None
    test: float  # error or R2 of the model on the test rows
    n_localities: int
    seconds: float
    versions: str

    @property
    def key(self) -> tuple[str, int, str]:
        return self.data, self.split, self.statement


def rows_of(data: str, split: int) -> tuple[Any, Any, Any, Any]:
    """85 % of the rows for fitting and certifying, the others for testing."""
    bunch = load_keel(data, as_frame=True)
    frame, target = clean(bunch.frame, box=False), bunch.target_names[0]
    X, y = frame.drop(columns=target), frame[target]
    classification = bunch.task == "classification"
    y = y.astype(str).to_numpy() if classification else y.to_numpy(dtype=float)
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=0.85, random_state=split, stratify=y if classification else None
    )
    return X, y, X_test, y_test


def estimator_of(kind: str, seed: int) -> Any:
    """With default settings; of classifiers the loss that errs less on a quarter of the rows."""
    make = LocalMixtureClassifier if kind == "classification" else LocalMixtureRegressor
    estimator = make("auto", max_localities=4, handle_unknown="ignore", random_state=seed)
    if kind != "classification":
        return estimator
    quarter = ShuffleSplit(1, test_size=0.25, random_state=seed)
    return GridSearchCV(estimator, {"loss": ["log", "zero-one"]}, cv=quarter)


def compute(task: tuple[str, int]) -> list[Entry]:
    data, split = task
    began = time.time()
    X, y, X_test, y_test = rows_of(data, split)
    kind = TASKS[data]
    estimator = estimator_of(kind, split)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # equal rows in both parts, and columns that are constant in one part
        certified = certify(
            estimator, X, y, delta=DELTA, sealed=SEALED, spend="each", random_state=split
        )
        model, certificate = certified
        score = model.score(X_test, y_test)
        entries = _read(
            data,
            split,
            certificate,
            1.0 - score if kind == "classification" else score,
            getattr(model, "best_estimator_", model),
            began,
        )
        if kind == "classification" and not any(
            str(dtype) in ("object", "str", "category") for dtype in X.dtypes
        ):
            entries += whole_sample(data, split)
    return entries


def whole_sample(data: str, split: int) -> list[Entry]:
    """Certified on the rows that it was fitted to."""
    began = time.time()
    X, y, X_test, y_test = rows_of(data, split)
    balls = LocalMixtureClassifier(
        max_localities=2, loss="zero-one", combine="any", random_state=split
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = certify_in_sample(balls, X, y, delta=DELTA, random_state=split)
    test = np.mean(whole.gibbs.predict(X_test) != y_test)
    entries = _read(data, split, whole.certificate, test, whole.gibbs, began)
    return [
        replace(one, value=float(pac_bayes_kl(one.empirical, one.kl, one.n_rows, DELTA)))
        for one in entries
        if one.statement == "whole sample"
    ]


def _read(
    data: str, split: int, certificate: Certificate, test: float, model: Any, began: float
) -> list[Entry]:
    unit = float(getattr(model, "target_scale_", 1.0))
    found: dict[str, Entry] = {}
    for one in certificate:
        name = "whole sample" if one.code == "W1" else one.name
        if (
            one.code in ("W2", "W3", "W4", "C5")
            or name in found
            or one.value is None
            or one.empirical is None
        ):
            continue
        scale = 1.0 / unit if one.unit == "target" else 1.0
        found[name] = Entry(
            data,
            split,
            name,
            one.value * scale,
            one.empirical * scale,
            one.kl,
            one.n_rows,
            one.baseline,
            float(test),
            len(model.localities_),
            round(time.time() - began, 2),
            versions(),
        )
    return list(found.values())


def missing(store: Lines[Entry], splits: int) -> list[tuple[str, int]]:
    """The data sets and splits that are not in the store yet."""
    return [
        (data, split)
        for data, task in TASKS.items()
        for split in range(splits)
        if (data, split, EXPECTED[task][0]) not in store.records
    ]


def _mean(entries: Sequence[Entry], name: str, of: str = "value", digits: int = 3) -> str:
    values = [
        getattr(one, of)
        for one in entries
        if one.statement == name and getattr(one, of) is not None
    ]
    if not values:
        return ""
    text = f"{np.mean(values):.{digits}f}"
    return text if len(values) == SPLITS else f"{text} ({len(values)})"


def completed_corollary(core: float, chosen: str, n_rows: int) -> float:
    """The paper's corollary with the terms omitted in its tables: ln(2/delta)/lambda + lambda
    sigma^2 / (2 m), sigma = n / 2, lambda = lambda' m / n; `chosen` is the field of the protocol's
    record, "lambda'=1.25/2 n=2".
    """
    above, _, below = chosen.split()[0].removeprefix("lambda'=").partition("/")
    n = int(below)
    temperature = float(above) / n
    return core + np.log(2 / DELTA) / (temperature * n_rows) + temperature * n**2 / 8


def classification(store: Lines[Entry], paper: Store) -> str:
    rows, sums = [], {name: [] for name in ("hold-out", "any rule", "one draw")}
    better = 0
    for data, task in TASKS.items():
        if task != "classification":
            continue
        entries = [one for key, one in store.records.items() if key[0] == data]
        held = [one for one in entries if one.statement == "hold-out"]
        if not held:
            continue
        for name, values in sums.items():
            values.append(np.mean([one.value for one in entries if one.statement == name]))
        baseline = np.mean([one.baseline for one in held])
        better += sums["hold-out"][-1] < baseline
        printed = []
        for n in (1, 2):
            for record in paper.of(data, "paper", f"protocol n={n}")[:1]:
                m = round(0.7 * len(clean(load_keel(data, as_frame=True).frame, box=False)))
                printed.append(
                    f"{record.core:.2f} /"
                    f" {completed_corollary(record.core or 0.0, record.chosen, m):.2f}"
                )
        joint = np.mean(
            [
                clopper_pearson(round(one.empirical * one.n_rows), one.n_rows, 0.4 * DELTA)
                for one in held
            ]
        )
        rows.append(
            [
                TITLES[data],
                str(held[0].n_rows),
                ", ".join(printed),
                _mean(entries, "whole sample"),
                _mean(entries, "any rule"),
                _mean(entries, "one draw"),
                _mean(entries, "hold-out"),
                f"{joint:.3f}",
                _mean(held, "hold-out", "test"),
                f"{baseline:.3f}",
                f"{np.mean([one.n_localities for one in held]):.1f}",
                _mean(entries, "ambiguity"),
            ]
        )
    header = [
        "",
        "sealed rows",
        "paper's core / completed",
        "whole sample",
        "any rule",
        "one draw",
        "hold-out",
        "hold-out, joint",
        "test error",
        "majority class",
        "n",
        "contradictions",
    ]
    means = ", ".join(f"{name} {np.mean(values):.4f}" for name, values in sums.items() if values)
    return (
        grid(header, rows)
        + f"\nMeans over the sets: {means}. Hold-out below the majority class on {better} of"
        f" {len(rows)} sets.\n"
    )


def regression(store: Lines[Entry]) -> str:
    rows = []
    for data, task in TASKS.items():
        entries = [one for key, one in store.records.items() if key[0] == data]
        held = [one for one in entries if one.statement == "explained"]
        if task != "regression" or not held:
            continue
        gap = np.mean([one.test - one.value for one in held])
        rows.append(
            [
                TITLES[data],
                str(held[0].n_rows),
                _mean(entries, "explained"),
                _mean(held, "explained", "test"),
                f"{gap:.3f}",
                _mean(entries, "squared error"),
                _mean(entries, "tolerance"),
                _mean(entries, "tolerance", "baseline"),
                _mean(entries, "any rule"),
                _mean(entries, "one draw"),
                _mean(entries, "interval", digits=2),
                f"{np.mean([one.n_localities for one in held]):.1f}",
            ]
        )
    header = [
        "",
        "sealed rows",
        "certified R2",
        "test R2",
        "gap",
        "RMSE / sd",
        "P(off)",
        "mean target",
        "any rule",
        "one draw",
        "interval / sd",
        "n",
    ]
    return grid(header, rows)


def main(results: Path | None, output: Path, jobs: int, splits: int) -> int:
    store = Lines(results or PLACE, Entry)
    failed = run_all(store, missing(store, splits), compute, jobs)
    output.mkdir(parents=True, exist_ok=True)
    for name, text in (
        ("certificates_classification", classification(store, Store())),
        ("certificates_regression", regression(store)),
    ):
        (output / f"{name}.md").write_text(text, encoding="utf-8")
        print(f"{name}\n\n{text}")
    return failed
