"""Python, its exports and the page of a report answer alike, for every kind of model."""

from __future__ import annotations

import json
import sqlite3
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from browser import in_browser, open_pages
from made import place_at, with_localities

from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.datasets import make_clf_case1
from motlm.exports import ExportError, to_onnx, to_python, to_sql
from motlm.geometry import Locus
from motlm.report import render

QUICK = {"inverse_temperature": 8.0, "n_starts": 1, "random_state": 0}
ESTIMATORS = {"classifier": LocalMixtureClassifier, "regressor": LocalMixtureRegressor}
TEXT, MAXIMUM = "columns of text", "cannot be exported to SQL"  # why a language refuses


@dataclass(frozen=True)
class Case:
    """A model, the rows it was fitted on, rows to ask, and the languages that refuse it."""

    model: Any
    X: Any
    y: Any
    rows: Any
    refused: dict[str, str]

    @property
    def table(self) -> pd.DataFrame:
        """The rows to ask with the names that exports know."""
        if isinstance(self.rows, pd.DataFrame):
            return self.rows
        return pd.DataFrame(self.rows, columns=[f"x{j}" for j in range(self.rows.shape[1])])

    def predict(self) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # categories that fit did not see
            return self.model.predict(self.rows)


def rows_of(kind: str) -> tuple[Any, Any]:
    if kind == "classifier":
        return make_clf_case1(random_state=0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) * [1.0, 20.0] + [3.0, 0.0]
    return X, np.abs(X[:, 0] - 3.0) + 0.02 * X[:, 1] + 0.1 * rng.normal(size=300)


def fit(model: Any, X: Any, y: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def numeric(kind: str, overlap: str, metric: str | None, n: int = 3, column: Any = None) -> Case:
    """With overlapping localities; at given points, or learned if there is no metric."""
    rng = np.random.default_rng(1)
    X, y = rows_of(kind)
    if column is not None:
        X = np.column_stack([X[:, 0], np.full(len(X), column), X[:, 1]])
    options: dict[str, Any] = {"overlap": overlap, **QUICK}
    if metric is None:
        options |= {"n_localities": 1}
    else:
        options |= {"points_of_interest": X[:1] * 0 - 0.5, "metric": metric}
    model = fit(ESTIMATORS[kind](**options), X, y)
    radius = np.linspace(0.8, 1.6, n)
    model = with_localities(model, 0.7 * rng.normal(size=(n, X.shape[1])), radius, rng)
    rows = np.concatenate([X[:150], X[:50] + rng.normal(size=(50, X.shape[1]))])
    refused = {"sqlite": MAXIMUM, "duckdb": MAXIMUM} if metric == "chebyshev" else {}
    return Case(model, X, y, rows, refused)


def one_model(kind: str) -> Case:
    """n = 0."""
    X, y = rows_of(kind)
    return Case(fit(ESTIMATORS[kind](0, **QUICK), X, y), X, y, X[:100], {})


def constant() -> Case:
    """Nothing varies: one answer for all rows."""
    X, y = np.full((60, 2), 3.0), np.random.default_rng(0).normal(size=60)
    model = fit(LocalMixtureRegressor(0, **QUICK), X, y)
    return Case(model, X, y, np.random.default_rng(1).normal(size=(5, 2)), {})


def one_column() -> Case:
    """ONNX Runtime turns a product with one number before MatMul into a float32."""
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 0.7, size=(300, 1))
    y = np.sin(X[:, 0])
    model = fit(LocalMixtureRegressor(points_of_interest=[[3.0]], **QUICK), X, y)
    made = with_localities(model, np.array([[-0.3], [0.5]]), [0.5, 0.9], rng)
    return Case(made, X, y, X[:100], {})


def categories(kind: str, unknown: str, overlap: str = "nearest") -> Case:
    """Names with quotes, a constant column, and rows with categories that fit did not see."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            'a "quoted" name': rng.normal(size=300),
            "it's": rng.choice(["x'y", "z", "ü"], 300),
            "k": rng.integers(0, 9, 300),
            "same": 2.0,
            "alone": "one",
        }
    )
    score = X.iloc[:, 0] + (X["it's"] == "z") - 0.1 * X["k"]
    options = {"points_of_interest": X[:1], "handle_unknown": unknown, "overlap": overlap, **QUICK}
    if kind == "classifier":
        model, y = LocalMixtureClassifier(**options), np.where(score > 0.3, "o'k", "no")
    else:
        model, y = LocalMixtureRegressor(**options), np.asarray(score)
    model = fit(model, X, y)
    points = 0.7 * rng.normal(size=(3, len(model.mixture_.inputs.varies)))
    model = with_localities(model, points, [1.0, 1.6, 2.2], rng)
    rows = X[:120].copy()
    if unknown != "error":
        rows.loc[rows.index[::3], "it's"] = "new"
        rows.loc[rows.index[::5], "alone"] = "two"
    return Case(model, X, y, rows, {"onnx": TEXT})


def of_loci(kind: str, overlap: str, *places: Locus) -> Case:
    """A geometry that motlm does not know, which describes itself by loci."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 4)) * [1.0, 3.0, 0.2, 1.0] + [0.0, 5.0, 0.0, 1.0]
    y = X[:, 0] * X[:, 3] + 0.1 * X[:, 1]
    if kind == "classifier":
        y = np.where(y > np.median(y), 1, 0)
    model = fit(ESTIMATORS[kind](points_of_interest=X[:1], overlap=overlap, **QUICK), X, y)
    refused = {}
    if any(locus.norm == "chebyshev" for locus in places):
        refused = {"sqlite": MAXIMUM, "duckdb": MAXIMUM}
    return Case(place_at(model, places, rng), X, y, X[:200], refused)


def locus(norm: str, columns: list[int], radius: float, weight: list[float] | None = None) -> Locus:
    center = np.linspace(-0.3, 0.4, len(columns))
    factors = None if weight is None else np.array(weight)
    matrix = None
    if norm == "quadratic":
        matrix = np.eye(len(columns)) + 0.3
    return Locus(norm, np.array(columns, dtype=int), center, radius, factors, matrix)


FEW = (
    locus("euclidean", [0, 2], 0.9, [2.0, 0.5]),
    locus("euclidean", [3], 0.6),
    locus("euclidean", [1, 2, 3], 1.1, [1.0, 0.0, 3.0]),
)
MIXED = (
    locus("manhattan", [0, 1], 1.2, [1.5, 0.7]),
    locus("quadratic", [3, 1], 1.0),
    locus("euclidean", [2], 0.8),
)

CASES: dict[str, Callable[[], Case]] = {
    "classifier nearest euclidean": lambda: numeric("classifier", "nearest", "euclidean"),
    "classifier mean manhattan": lambda: numeric("classifier", "mean", "manhattan"),
    "classifier nearest chebyshev": lambda: numeric("classifier", "nearest", "chebyshev"),
    "classifier mean mahalanobis": lambda: numeric("classifier", "mean", "mahalanobis"),
    "classifier nearest seuclidean": lambda: numeric("classifier", "nearest", "seuclidean"),
    "classifier mean learned": lambda: numeric("classifier", "mean", None),
    "regressor mean euclidean": lambda: numeric("regressor", "mean", "euclidean"),
    "regressor nearest manhattan": lambda: numeric("regressor", "nearest", "manhattan"),
    "regressor mean chebyshev": lambda: numeric("regressor", "mean", "chebyshev"),
    "regressor nearest mahalanobis": lambda: numeric("regressor", "nearest", "mahalanobis"),
    "regressor mean seuclidean": lambda: numeric("regressor", "mean", "seuclidean"),
    "regressor nearest learned": lambda: numeric("regressor", "nearest", None),
    "constant column": lambda: numeric("regressor", "nearest", "euclidean", column=7.0),
    "constant column, learned": lambda: numeric("classifier", "nearest", None, column=7.0),
    "constant column, mahalanobis": lambda: numeric("regressor", "mean", "mahalanobis", column=7.0),
    "one locality": lambda: numeric("regressor", "mean", "euclidean", n=1),
    "all constant": constant,
    "one column": one_column,
    "classifier without localities": lambda: one_model("classifier"),
    "regressor without localities": lambda: one_model("regressor"),
    "categories, error": lambda: categories("classifier", "error"),
    "categories, ignore": lambda: categories("classifier", "ignore"),
    "categories, warn, mean": lambda: categories("regressor", "warn", "mean"),
    "few columns, classifier": lambda: of_loci("classifier", "nearest", *FEW),
    "few columns, regressor": lambda: of_loci("regressor", "mean", *FEW),
    "mixed norms": lambda: of_loci("regressor", "nearest", *MIXED),
    "mixed norms, with a maximum": lambda: of_loci(
        "regressor", "nearest", *MIXED, locus("chebyshev", [0, 3], 0.7, [1.0, 2.0])
    ),
    "nowhere and everywhere": lambda: of_loci(
        "regressor", "mean", locus("euclidean", [0], 0.0), locus("euclidean", [], 1.0), FEW[0]
    ),
    "everywhere, by a maximum": lambda: of_loci(
        "classifier", "nearest", locus("chebyshev", [], 1.0), locus("quadratic", [], 1.0)
    ),
}
UNUSUAL = ("all constant", "nowhere and everywhere", "everywhere, by a maximum")


@cache
def case_of(name: str) -> Case:
    return CASES[name]()


# -- the languages ------------------------------------------------------------------------------


def in_python(case: Case) -> list[Any]:
    namespace: dict[str, Any] = {}
    exec(to_python(case.model), namespace)
    return [namespace["predict"](row) for row in case.table.to_dict("records")]


def in_sqlite(case: Case) -> list[Any]:
    expression = to_sql(case.model)
    with sqlite3.connect(":memory:") as base:
        case.table.to_sql("t", base, index=False)
        return [row[0] for row in base.execute(f"SELECT {expression} FROM t")]


def in_duckdb(case: Case) -> list[Any]:
    duckdb = pytest.importorskip("duckdb")
    expression = to_sql(case.model)
    with duckdb.connect() as base:
        base.register("t", case.table)
        return [row[0] for row in base.execute(f"SELECT {expression} FROM t").fetchall()]


def in_onnx(case: Case) -> list[Any]:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    packed = to_onnx(case.model).SerializeToString()
    session = runtime.InferenceSession(packed, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    X = case.table.to_numpy(dtype=float)
    found = dict(zip(names, session.run(None, {"X": X}), strict=True))
    if "label" in found:
        return case.model.classes_[found["label"]].tolist()
    return found["score"].tolist()


LANGUAGES = {
    "python": in_python,
    "sqlite": in_sqlite,
    "duckdb": in_duckdb,
    "onnx": in_onnx,
}


def agree(found: list[Any], case: Case) -> None:
    expected = case.predict()
    if hasattr(case.model, "classes_"):
        assert found == expected.tolist()
    else:
        np.testing.assert_allclose(np.asarray(found, dtype=float), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_models_are_worth_asking(name: str) -> None:
    """All models apply to some rows, and localities overlap."""
    case = case_of(name)
    mixture = case.model.mixture_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        view = mixture.view(mixture.encode(case.rows))
    assert name in UNUSUAL or view.applicable.any(axis=1).all()
    assert mixture.n_localities < 2 or (view.member.sum(axis=0) > 1).any()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", CASES)
def test_exports_answer_as_predict_does(name: str, language: str) -> None:
    case = case_of(name)
    if language in case.refused:
        with pytest.raises(ExportError, match=case.refused[language]):
            LANGUAGES[language](case)
    else:
        agree(LANGUAGES[language](case), case)


@in_browser
def test_the_page_answers_as_predict_does(tmp_path: Path) -> None:
    """All models in one run of the browser."""
    scripts = []
    for k, name in enumerate(CASES):
        case = case_of(name)
        page = render(case.model, case.X, case.y, tmp_path / f"report-{k}.html")
        rows = json.dumps(case.table.to_dict("records"))
        scripts.append((page, f"return {rows}.map((row) => motlm.evaluate(row).prediction);"))
    for name, found in zip(CASES, open_pages(scripts, tmp_path), strict=True):
        agree(found, case_of(name))


def test_a_mixture_is_exported_like_its_estimator() -> None:
    model = case_of("regressor mean euclidean").model
    assert to_python(model.mixture_) == to_python(model) == model.to_python()
    assert to_sql(model.mixture_) == model.to_sql()
