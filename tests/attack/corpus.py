"""Models to begin from: small ones of every kind, and the files of earlier schemas."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from motlm import LocalMixtureClassifier, LocalMixtureRegressor, Prior, TableNotes, Units
from motlm.certificates import audit, certify_in_sample

__all__ = ["Base", "fitted", "models", "rows_and_labels"]

FIXTURES = Path(__file__).parents[1] / "fixtures"
QUICK: dict[str, Any] = {"inverse_temperature": 2.0, "n_starts": 1, "random_state": 0}
POINTS = [[-1.0, 0.0], [1.0, 0.0]]


@dataclass(frozen=True)
class Base:
    """A model file that a case begins from."""

    name: str
    text: str

    def document(self) -> dict[str, Any]:
        """A copy of its content."""
        return dict(json.loads(self.text))


def rows_and_labels(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two columns, and labels that no one line separates."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "ja", "nein")


def frame(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, categories, truth values and a constant."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            'größe, "in" €': rng.normal(1e6, 3e5, size=n),
            "c": np.array(["x", "y", "<z>"])[rng.permutation(np.arange(n) % 3)],
            "flag": rng.permutation(np.arange(n) % 2 == 0),
            "same": 1.0,
        }
    )
    return table, np.where(table["a"] + (table["c"] == "x") > 0.3, "ja", "nein")


@cache
def fitted() -> dict[str, Any]:
    """Small models by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {**_classifiers(), **_regressors(), **_tables(), **_columns()}


def _classifiers() -> dict[str, Any]:
    X, y = rows_and_labels(24, 0)

    def fit(labels: Any = y, **options: Any) -> Any:
        return LocalMixtureClassifier(**QUICK | options).fit(X, labels)

    made = {
        "learned": fit(n_localities=2),
        "any": fit(y == "ja", n_localities=1, combine="any", loss="zero-one"),
        "unit scale": fit(
            (y == "ja").astype(int), n_localities=1, coef_scale="unit", loss="zero-one"
        ),
        "linear": fit(n_localities=0, prior=Prior(coef_scale=0.5)),
        "weights of classes": fit(n_localities=0, class_weight={"ja": 2.0, "nein": 0.5}),
        "given": fit(points_of_interest=POINTS, overlap="mean"),
        "not standardized": fit(points_of_interest=POINTS, standardize=False),
    }
    three = np.where(X[:, 0] > 0.5, "doch", y)
    made |= {
        "several": fit(three, n_localities=1),
        "several, linear": fit(
            np.arange(24) % 5,
            n_localities=0,
            prior=Prior(coef=np.zeros((1, 5, 2)), coef_scale=0.5),
        ),
        "several, given": fit(three, points_of_interest=POINTS, loss="zero-one", overlap="mean"),
    }
    several = fit(three, n_localities=1, class_weight={"doch": 2.0})
    fresh, labels = rows_and_labels(40, 6)
    several.certificate_ = audit(several, fresh, np.where(fresh[:, 0] > 0.5, "doch", labels))
    made["several, certified"] = several
    for metric in ("manhattan", "chebyshev", "mahalanobis", "seuclidean", "cosine"):
        made[metric] = fit(points_of_interest=POINTS[:1], metric=metric)
    certified = fit(n_localities=1)
    certified.certificate_ = audit(certified, *rows_and_labels(40, 1))
    units = Units(np.zeros(2), np.ones(2))
    in_sample = LocalMixtureClassifier(n_localities=1, n_starts=1, random_state=0)
    model, certificate = certify_in_sample(
        in_sample.set_params(standardize=units, inverse_temperature=2.0), X, y
    )
    model.certificate_ = certificate
    return {**made, "certified": certified, "certified in sample": model}


def _regressors() -> dict[str, Any]:
    X, _ = rows_and_labels(24, 2)
    y = np.where(X[:, 0] > 0, 3 * X[:, 1], -X[:, 1]) + 100.0

    def fit(**options: Any) -> Any:
        return LocalMixtureRegressor(**QUICK | {"inverse_temperature": 16.0} | options).fit(X, y)

    made = {
        "regressor": fit(n_localities=2),
        "regressor, mean": fit(n_localities=2, overlap="mean"),
        "regressor, given": fit(points_of_interest=POINTS),
        "regressor, linear": fit(n_localities=0),
        "poisson": fit(n_localities=1, loss="poisson", inverse_temperature=1.0),
        "tweedie": fit(n_localities=1, loss="tweedie", power=1.2, overlap="mean"),
    }
    certified = fit(n_localities=1)
    fresh, _ = rows_and_labels(40, 3)
    outcomes = np.where(fresh[:, 0] > 0, 3 * fresh[:, 1], -fresh[:, 1]) + 100.0
    certified.certificate_ = audit(certified, fresh, outcomes)
    return {**made, "regressor, certified": certified}


def _tables() -> dict[str, Any]:
    X, y = frame(40, 4)
    model = LocalMixtureClassifier(**QUICK, n_localities=1, handle_unknown="error").fit(X, y)
    model.table_ = TableNotes("default", "client", {"a": 0.5, "c": "x"}, (1.5, -0.25))
    model.certificate_ = audit(model, *frame(60, 5))
    given = LocalMixtureRegressor(**QUICK, points_of_interest=X[:2]).fit(X, X["a"] ** 2)
    given.table_ = TableNotes("loss", None, {}, None)
    rate = LocalMixtureRegressor(**QUICK, n_localities=0, loss="gamma").fit(X, np.exp(X["a"]))
    rate.table_ = TableNotes("loss", None, {}, None, "years")
    return {"table": model, "table, given": given, "table, rates": rate}


def _columns() -> dict[str, Any]:
    """Localities in some columns, with widths of their own, and corrections."""
    X, y = frame(40, 7)
    score = X["a"].abs() + (X["c"] == "x")
    three = np.array(["b", "a", "c"])[np.digitize(score, [0.5, 1.2])]

    def fit(outcome: Any, **options: Any) -> Any:
        known = np.asarray(outcome).dtype.kind == "f"
        kind = LocalMixtureRegressor if known else LocalMixtureClassifier
        return kind(**QUICK | options).fit(X, outcome)

    given = {"points_of_interest": X[:2]}
    return {
        "columns": fit(score, n_localities=2),
        "columns, several": fit(three, n_localities=2, locality_features=1, overlap="mean"),
        "columns, rates": fit(np.exp(score), n_localities=1, loss="gamma", corrections="all"),
        "all columns": fit(y, n_localities=1, locality_features="all"),
        "equal widths": fit(score, n_localities=1, locality_widths="equal", corrections="none"),
        "named columns": fit(three, n_localities=1, locality_columns=["c", "a", "same"]),
        "given, learned widths": fit(three, **given),
        "given, named columns": fit(y, **given, locality_columns=["a", "flag"]),
        "given, widths": fit(score, **given, locality_columns="a", locality_widths=0.5),
        "rows": fit(score, n_localities=2, centers="rows"),
        "rows, gower": fit(three, n_localities=1, centers="rows", metric="gower"),
    }


@cache
def models() -> tuple[Base, ...]:
    """All files that cases begin from."""
    made = []
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in fitted().items():
            path = model.save(Path(folder) / "model.json")
            made.append(Base(name, path.read_text(encoding="utf-8")))
    old = [*FIXTURES.glob("[mr]*_schema_*.json"), *FIXTURES.glob("schema*/*.json")]
    old = sorted(path for path in old if ".expected" not in path.name)
    return (*made, *(Base(path.stem, path.read_text(encoding="utf-8")) for path in old))
