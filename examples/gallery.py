"""Draws the pictures of the docs' gallery: python examples/gallery.py [output folder]. Needs the sets banana, german and stock
(MOTLM_DATA, or they are downloaded)."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import matplotlib
from sklearn.model_selection import train_test_split

from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.certificates import certify
from motlm.datasets import load_keel, make_reg_case2
from motlm.plotting import (
    CoefficientsDisplay,
    ContributionsDisplay,
    LocalitiesDisplay,
    PathDisplay,
    RegressionDisplay,
    RiskDisplay,
)
from motlm.preprocessing import clean

matplotlib.use("Agg")


def rows_of(name: str) -> tuple[Any, Any]:
    bunch = load_keel(name, as_frame=True)
    frame, target = clean(bunch.frame, box=False), bunch.target_names[0]
    y = frame[target]
    return frame.drop(columns=target), y.astype(str).to_numpy() if bunch.task == "classification" else y.to_numpy(dtype=float)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)

    def save(display: Any, name: str) -> None:
        display.figure_.savefig(folder / f"{name}.png", dpi=80)
        print(folder / f"{name}.png")

    warnings.filterwarnings("ignore", message=".*(sealed rows equal|constant in all|no training row belongs|neighbouring rows)")
    X, y = rows_of("banana")
    banana, _ = certify(LocalMixtureClassifier("auto", max_localities=4, random_state=0), X, y)
    _, some, _, labels = train_test_split(X, y, test_size=1500, random_state=0)
    save(LocalitiesDisplay.from_estimator(banana, some, labels), "banana_localities")
    save(PathDisplay.from_estimator(banana), "banana_path")
    save(PathDisplay.from_estimator(banana, by="n"), "banana_numbers")
    save(RiskDisplay.from_estimator(banana), "banana_risk")

    X, y = rows_of("stock")
    stock, _ = certify(LocalMixtureRegressor(3, random_state=0), X, y)
    save(LocalitiesDisplay.from_estimator(stock, X, y, at=0), "stock_slice")
    save(LocalitiesDisplay.from_estimator(stock, X, y, kind="projection"), "stock_projection")
    save(CoefficientsDisplay.from_estimator(stock), "stock_coefficients")
    save(ContributionsDisplay.from_estimator(stock, X[:1]), "stock_contributions")

    X, y = rows_of("german")
    german = LocalMixtureClassifier(2, inverse_temperature=8.0, random_state=0).fit(X, y)
    save(LocalitiesDisplay.from_estimator(german, X, y, kind="projection"), "german_projection")
    save(CoefficientsDisplay.from_estimator(german), "german_coefficients")
    save(ContributionsDisplay.from_estimator(german, X[:1]), "german_contributions")

    line, target = make_reg_case2(random_state=0)
    curve, _ = certify(LocalMixtureRegressor(2, random_state=0), line, target)
    save(RegressionDisplay.from_estimator(curve, line, target), "case2_regression")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/gallery"))
