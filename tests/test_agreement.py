"""Python, its exports and the page of a report answer alike, for every kind of model."""

from __future__ import annotations

import json
import sqlite3
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from browser import in_browser, open_pages
from made import place_at, with_columns, with_localities, with_mixture
from scipy.special import expit, softmax
from sklearn.datasets import load_iris, load_wine

from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.datasets import make_clf_case1
from motlm.exports import ExportError, to_onnx, to_python, to_sql
from motlm.geometry import Locus
from motlm.report import render

BALLS = {"locality_features": "ball", "corrections": "none"}
QUICK = {"local_models": "linear", "inverse_temperature": 8.0, "n_starts": 1, "random_state": 0}
QUICK_BALLS = {**QUICK, **BALLS}
ESTIMATORS: dict[str, Callable[..., Any]] = {
    "classifier": LocalMixtureClassifier,
    "several": LocalMixtureClassifier,
    "several, zero-one": partial(LocalMixtureClassifier, loss="zero-one"),
    "regressor": LocalMixtureRegressor,
    "rate": partial(LocalMixtureRegressor, loss="poisson"),
    "rate, gamma": partial(LocalMixtureRegressor, loss="gamma"),
    "rate, tweedie": partial(LocalMixtureRegressor, loss="tweedie"),
}
LABELS = np.array(["a\\'; --", "it's", 'ü\n"b"'])  # in order
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
    return X, target_of(kind, np.abs(X[:, 0] - 3.0) + 0.02 * X[:, 1] + 0.1 * rng.normal(size=300))


def target_of(kind: str, score: Any) -> Any:
    """The score, or counts, amounts or one of three labels that increase with it."""
    if kind.startswith("several"):
        return LABELS[np.digitize(score, np.quantile(score, [0.3, 0.65]))]
    if kind.startswith("rate"):
        drawn = np.random.default_rng(5).poisson(np.exp(score))
        return drawn + 0.5 if kind == "rate, gamma" else drawn
    return np.asarray(score)


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
    options: dict[str, Any] = {"overlap": overlap, **QUICK_BALLS}
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
    return Case(fit(ESTIMATORS[kind](0, **QUICK_BALLS), X, y), X, y, X[:100], {})


def constant() -> Case:
    """Nothing varies: one answer for all rows."""
    X, y = np.full((60, 2), 3.0), np.random.default_rng(0).normal(size=60)
    model = fit(LocalMixtureRegressor(0, **QUICK_BALLS), X, y)
    return Case(model, X, y, np.random.default_rng(1).normal(size=(5, 2)), {})


def one_column(kind: str) -> Case:
    """ONNX Runtime turns a product with one number before MatMul into a float32."""
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 0.7, size=(300, 1))
    y = target_of(kind, np.sin(X[:, 0]))
    model = fit(ESTIMATORS[kind](points_of_interest=[[3.0]], **QUICK_BALLS), X, y)
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
    options = {
        "points_of_interest": X[:1],
        "handle_unknown": unknown,
        "overlap": overlap,
        **QUICK_BALLS,
    }
    y = np.where(score > 0.3, "o'k", "no") if kind == "classifier" else target_of(kind, score)
    model = fit(ESTIMATORS[kind](**options), X, y)
    points = 0.7 * rng.normal(size=(3, len(model.mixture_.inputs.varies)))
    model = with_localities(model, points, [1.0, 1.6, 2.2], rng)
    rows = X[:120].copy()
    if unknown != "error":
        rows.loc[rows.index[::3], "it's"] = "new"
        rows.loc[rows.index[::5], "alone"] = "two"
    return Case(model, X, y, rows, {"onnx": TEXT})


def table_of(n: int = 300) -> tuple[pd.DataFrame, Any]:
    """Five encoded columns that vary: two numbers, two of three levels and one of two levels."""
    rng = np.random.default_rng(6)
    X = pd.DataFrame(
        {
            "age": rng.uniform(18, 80, n),
            'a "quoted" name': rng.normal(90, 25, n),
            "it's": rng.choice(["x'y", "z", "ü"], n),
            "same": 2.0,
            "fuel": rng.choice(["gas", "diesel"], n),
        }
    )
    young = (np.abs(X["age"] - 30) < 13) & (X.iloc[:, 1] > 75)
    score = np.where(young, 1.2, -0.6) + 0.5 * (X["it's"] == "z") + 0.01 * (X.iloc[:, 1] - 90)
    return X, score + 0.2 * rng.normal(size=n)


def in_columns(kind: str, overlap: str, weights: Any, **options: Any) -> Case:
    """Localities in the columns of `table_of` that have weights; of numbers alone where `weights`
    has two columns. At given points, or learned.
    """
    rng = np.random.default_rng(7)
    X, score = table_of()
    weights, refused = np.array(weights, dtype=float), {"onnx": TEXT}
    if weights.shape[1] == 2:
        X, refused = X.iloc[:, :2].to_numpy(), {}
    else:  # the constant column is in the fifth place
        weights = np.insert(weights, 4, 0.0, axis=1)
    y = np.where(score > 0.2, 1, 0) if kind == "classifier" else target_of(kind, score)
    if "n_localities" not in options:
        options["points_of_interest"] = X[:1]
    options = {"overlap": overlap, **QUICK, "inverse_temperature": 16.0, **options}
    model = fit(ESTIMATORS[kind](**options), X, y)
    points = 0.5 * rng.normal(size=weights.shape)
    radius = np.linspace(0.9, 1.4, len(weights)) * np.sqrt((weights > 0).sum(axis=1))
    made = with_columns(model, weights, points, radius, rng)
    rows = X[:150] if isinstance(X, pd.DataFrame) else X
    return Case(made, X, y, rows, refused)


FEW_COLUMNS = ((2.0, 0.5, 0, 0, 0), (0, 1.0, 0, 0, 0), (0.5, 4.0, 0, 0, 0.5))
NUMBERS = ((3.0, 1 / 3), (1.0, 0.0), (0.25, 4.0))
ALL_NUMBERS = ((3.0, 1 / 3), (0.25, 4.0), (1.0, 1.0))
EVERY = ((2.0, 0.5, 1.0, 0.5, 2.0), (0.5, 2.0, 2.0, 0.5, 1.0), (1.0, 1.0, 1.0, 1.0, 1.0))
LEVELS = ((0, 0, 1.0, 1.0, 0), (2.0, 0, 0.5, 1.0, 0), (4.0, 0, 0, 0, 0.25))
ONE = {"n_localities": 1}
NAMED = {"locality_columns": ["age", 'a "quoted" name', "fuel"]}
WIDTHS = {**NAMED, "locality_widths": [10.0, 20.0, 1.0]}
OF_LEVELS = {"locality_columns": ["it's", "age", "fuel"]}


def flowers(n: int, overlap: str) -> Case:
    """Labels that are numbers, but not 0, 1, 2."""
    X, y = load_iris(return_X_y=True)
    y, rng = np.array([-4, 10, 70])[y], np.random.default_rng(2)
    model = fit(
        LocalMixtureClassifier(points_of_interest=X[:1], overlap=overlap, **QUICK_BALLS), X, y
    )
    model = with_localities(model, 0.8 * rng.normal(size=(n, 4)), np.linspace(1.8, 1.4, n), rng)
    rows = np.concatenate([X, X + 0.5 * rng.normal(size=X.shape)])
    return Case(model, X, y, rows, {})


def wines(loss: str, n: int) -> Case:
    """13 columns of very different units."""
    X, y = load_wine(return_X_y=True)
    rng = np.random.default_rng(4)
    model = fit(LocalMixtureClassifier(min(n, 1), loss=loss, **QUICK_BALLS), X, LABELS[y])
    if n:
        model = with_localities(model, 0.3 * rng.normal(size=(n, 13)), [2.8, 3.1, 3.3][:n], rng)
    return Case(model, X, LABELS[y], X, {})


def many_labels(overlap: str) -> Case:
    """Ten."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    score = X[:, 0] + 0.3 * rng.normal(size=400)
    y = 2.5 * np.digitize(score, np.quantile(score, np.linspace(0.1, 0.9, 9))) - 5.0
    y = y.astype(int)
    model = fit(
        LocalMixtureClassifier(points_of_interest=X[:1], overlap=overlap, **QUICK_BALLS), X, y
    )
    points = 0.5 * rng.normal(size=(3, 3))
    return Case(with_localities(model, points, [0.9, 1.3, 1.6], rng), X, y, X, {})


def of_loci(kind: str, overlap: str, *places: Locus) -> Case:
    """A geometry that motlm does not know, which describes itself by loci."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 4)) * [1.0, 3.0, 0.2, 1.0] + [0.0, 5.0, 0.0, 1.0]
    y = X[:, 0] * X[:, 3] + 0.1 * X[:, 1]
    y = np.where(y > np.median(y), 1, 0) if kind == "classifier" else target_of(kind, y)
    model = fit(ESTIMATORS[kind](points_of_interest=X[:1], overlap=overlap, **QUICK_BALLS), X, y)
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

IN_COLUMNS: dict[str, Callable[[], Case]] = {
    "columns": lambda: in_columns("regressor", "nearest", NUMBERS, **ONE, locality_features=2),
    "columns, classifier": lambda: in_columns("classifier", "mean", NUMBERS, **ONE),
    "columns, several": lambda: in_columns("several", "nearest", NUMBERS, **ONE),
    "columns, rate": lambda: in_columns("rate", "mean", NUMBERS, **ONE),
    "all columns": lambda: in_columns(
        "regressor", "mean", ALL_NUMBERS, **ONE, locality_features="all", corrections="all"
    ),
    "all columns, several": lambda: in_columns(
        "several", "mean", ALL_NUMBERS, **ONE, locality_features="all"
    ),
    "all columns, independent": lambda: in_columns(
        "rate", "nearest", ALL_NUMBERS, **ONE, locality_features="all", corrections="none"
    ),
    "columns, given": lambda: in_columns("regressor", "nearest", ALL_NUMBERS),
    "columns, given, several": lambda: in_columns("several", "mean", ALL_NUMBERS),
    "columns, given widths": lambda: in_columns(
        "classifier", "nearest", NUMBERS, locality_columns=[0, 1], locality_widths=[10.0, 9.0]
    ),
    "columns, given one": lambda: in_columns(
        "rate", "mean", ((1.0, 0.0), (1.0, 0.0)), locality_columns=0
    ),
    "columns of a table": lambda: in_columns("regressor", "mean", FEW_COLUMNS, **ONE),
    "columns of a table, several": lambda: in_columns("several", "nearest", FEW_COLUMNS, **ONE),
    "columns of a table, all": lambda: in_columns(
        "classifier", "mean", EVERY, **ONE, locality_features="all", **OF_LEVELS
    ),
    "columns of a table, given": lambda: in_columns("rate", "nearest", EVERY),
    "columns of a table, given, named": lambda: in_columns("several", "mean", FEW_COLUMNS, **NAMED),
    "columns of a table, given widths": lambda: in_columns(
        "regressor", "nearest", FEW_COLUMNS, **WIDTHS
    ),
    "levels": lambda: in_columns("several", "nearest", LEVELS, **ONE, **OF_LEVELS),
    "levels, given": lambda: in_columns("rate, gamma", "mean", LEVELS, **OF_LEVELS),
    "levels, given widths": lambda: in_columns(
        "classifier", "nearest", LEVELS, **OF_LEVELS, locality_widths=[1.0, 10.0, 2.0]
    ),
}

CASES: dict[str, Callable[[], Case]] = {
    **IN_COLUMNS,
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
    "one column": lambda: one_column("regressor"),
    "classifier without localities": lambda: one_model("classifier"),
    "regressor without localities": lambda: one_model("regressor"),
    "categories, error": lambda: categories("classifier", "error"),
    "categories, ignore": lambda: categories("classifier", "ignore"),
    "categories, warn, mean": lambda: categories("regressor", "warn", "mean"),
    "several nearest euclidean": lambda: numeric("several", "nearest", "euclidean"),
    "several mean manhattan": lambda: numeric("several", "mean", "manhattan"),
    "several nearest chebyshev": lambda: numeric("several", "nearest", "chebyshev"),
    "several mean mahalanobis": lambda: numeric("several, zero-one", "mean", "mahalanobis"),
    "several nearest seuclidean": lambda: numeric("several, zero-one", "nearest", "seuclidean"),
    "several mean learned": lambda: numeric("several", "mean", None),
    "several, constant column": lambda: numeric("several", "mean", "euclidean", column=7.0),
    "several, one locality": lambda: numeric("several", "mean", "euclidean", n=1),
    "several, one locality, nearest": lambda: numeric("several, zero-one", "nearest", None, n=1),
    "several, one column": lambda: one_column("several"),
    "several without localities": lambda: one_model("several"),
    "several, categories, error": lambda: categories("several", "error"),
    "several, categories, ignore": lambda: categories("several, zero-one", "ignore"),
    "several, categories, warn, mean": lambda: categories("several", "warn", "mean"),
    "several, few columns": lambda: of_loci("several", "mean", *FEW),
    "several, mixed norms": lambda: of_loci("several", "nearest", *MIXED),
    "iris, three localities": lambda: flowers(3, "nearest"),
    "iris, three localities, mean": lambda: flowers(3, "mean"),
    "iris, one locality": lambda: flowers(1, "nearest"),
    "wine": lambda: wines("log", 3),
    "wine, zero-one": lambda: wines("zero-one", 3),
    "wine without localities, zero-one": lambda: wines("zero-one", 0),
    "ten labels": lambda: many_labels("nearest"),
    "ten labels, mean": lambda: many_labels("mean"),
    "rate nearest euclidean": lambda: numeric("rate", "nearest", "euclidean"),
    "rate mean learned": lambda: numeric("rate", "mean", None),
    "rate mean chebyshev": lambda: numeric("rate, gamma", "mean", "chebyshev"),
    "rate nearest mahalanobis": lambda: numeric("rate, tweedie", "nearest", "mahalanobis"),
    "rate, one locality": lambda: numeric("rate, tweedie", "mean", "manhattan", n=1),
    "rate, one column": lambda: one_column("rate"),
    "rate without localities": lambda: one_model("rate, gamma"),
    "rate, categories, error": lambda: categories("rate", "error"),
    "rate, categories, warn, mean": lambda: categories("rate, gamma", "warn", "mean"),
    "rate, few columns": lambda: of_loci("rate", "mean", *FEW),
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


def onnx_outputs(case: Case) -> dict[str, Any]:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    packed = to_onnx(case.model).SerializeToString()
    session = runtime.InferenceSession(packed, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    X = case.table.to_numpy(dtype=float)
    return dict(zip(names, session.run(None, {"X": X}), strict=True))


def in_onnx(case: Case) -> list[Any]:
    found = onnx_outputs(case)
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
    if hasattr(case.model, "classes_"):
        assert set(view.answer) == set(case.model.classes_)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", CASES)
def test_exports_answer_as_predict_does(name: str, language: str) -> None:
    case = case_of(name)
    if language in case.refused:
        with pytest.raises(ExportError, match=case.refused[language]):
            LANGUAGES[language](case)
    else:
        agree(LANGUAGES[language](case), case)


AS_FITTED: dict[str, tuple[str, dict[str, Any]]] = {
    "few columns": ("regressor", {"n_localities": 2}),
    "intervals": ("classifier", {"n_localities": 2, "locality_features": 1}),
    "all columns": ("several", {"n_localities": 2, "locality_features": "all"}),
    "independent": ("rate", {"n_localities": 2, "corrections": "none", "overlap": "mean"}),
    "levels": ("several", {"n_localities": 2, "locality_columns": "it's"}),
    "given": ("several", {"points_of_interest": 2}),
    "given, named": ("rate", {"points_of_interest": 2, **NAMED, "overlap": "mean"}),
    "given, widths": ("classifier", {"points_of_interest": 2, **WIDTHS}),
    "given, level": ("regressor", {"points_of_interest": 2, "locality_columns": ["fuel"]}),
    "rows": ("regressor", {"n_localities": 2, "centers": "rows"}),
    "rows, all columns": ("rate", {"centers": "rows", "locality_features": "all"}),
    "rows, gower": ("several", {"n_localities": 2, "centers": "rows", "metric": "gower"}),
    "rows, manhattan": ("regressor", {"centers": "rows", "metric": "manhattan"}),
}


@cache
def as_fitted(name: str) -> Case:
    kind, options = AS_FITTED[name]
    X, score = table_of()
    y = np.where(score > 0.2, "o'k", "no") if kind == "classifier" else target_of(kind, score)
    if "points_of_interest" in options:
        options = {**options, "points_of_interest": X[: options["points_of_interest"]]}
    model = fit(ESTIMATORS[kind](**QUICK, **options), X, y)
    return Case(model, X, y, X, {"onnx": TEXT})


@pytest.mark.parametrize("language", [one for one in LANGUAGES if one != "onnx"])
@pytest.mark.parametrize("name", AS_FITTED)
def test_exports_of_models_as_they_are_fitted(name: str, language: str) -> None:
    case = as_fitted(name)
    assert case.model.localities_
    agree(LANGUAGES[language](case), case)


@pytest.mark.parametrize("name", IN_COLUMNS)
def test_exports_look_at_few_columns(name: str) -> None:
    """A locality in a column takes one term of a distance, whatever the table has."""
    mixture = case_of(name).model.mixture_
    loci, weights = mixture.routine().loci, mixture.posterior.column_weight
    place = np.flatnonzero(mixture.inputs.varies)
    for locus, weight in zip(loci, weights, strict=True):
        np.testing.assert_array_equal(locus.columns, place[weight > 0])
        np.testing.assert_array_equal(locus.weight, weight[weight > 0])


OF_NUMBERS = ("classifier", "several", "iris", "wine", "ten labels")
SCORED = [name for name in CASES if name.startswith(OF_NUMBERS) and "categories" not in name]


@pytest.mark.parametrize("name", SCORED)
def test_scores_in_onnx(name: str) -> None:
    """Of classifiers, those that labels are decided by: with the log loss their logistic function
    or softmax are the probabilities.
    """
    case = case_of(name)
    found, mixture = onnx_outputs(case)["score"], case.model.mixture_
    expected = mixture.view(mixture.encode(case.rows)).score.T
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    if mixture.target.loss_name == "log":
        share = softmax(found, axis=1) if found.ndim == 2 else expit([-found, found]).T
        np.testing.assert_allclose(share, case.model.predict_proba(case.rows), atol=1e-9)


GRID = np.array([[a, b] for a in range(-3, 4) for b in range(-3, 4)], dtype=float)


def with_ties(overlap: str) -> tuple[Case, Any]:
    """Small whole numbers, of which all sums are exact, and the largest scores."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(len(GRID)) % 4)
    options = {"standardize": False, "overlap": overlap, **QUICK_BALLS}
    model = fit(LocalMixtureClassifier(points_of_interest=[[-1.0, 0.0]], **options), GRID, y)
    points = np.array([[-1.0, 0.0], [1.0, 0.0]])
    model = with_localities(model, points, [1.5, 1.5], rng)
    coef, intercept = rng.integers(-1, 2, (3, 4, 2)) + 0.0, rng.integers(0, 2, (3, 4)) + 0.0
    posterior = replace(model.mixture_.posterior, coef=coef, intercept=intercept)
    model = with_mixture(model, posterior=posterior)
    assert not model.mixture_.routine().origin.any()
    away = np.linalg.norm(GRID[:, None] - points, axis=2)
    scores = np.einsum("ikj,rj->rik", coef, GRID) + intercept  # (rows, models, classes)
    weight = np.column_stack([away <= 1.5, (away > 1.5).all(axis=1)]).astype(int)
    if overlap == "nearest":
        weight[:, 1] *= ~((weight[:, 0] == 1) & (away[:, 0] <= away[:, 1]))
        weight[:, 0] *= ~((weight[:, 1] == 1) & (away[:, 1] < away[:, 0]))
    return Case(model, GRID, y, GRID, {}), (scores * weight[:, :, None]).sum(axis=1)


@pytest.mark.parametrize("language", [*LANGUAGES, "predict"])
@pytest.mark.parametrize("overlap", ["nearest", "mean"])
def test_of_equal_scores_the_first_label(overlap: str, language: str) -> None:
    case, scores = with_ties(overlap)
    largest = scores == scores.max(axis=1, keepdims=True)
    assert (largest.sum(axis=1) > 1).sum() >= len(GRID) / 6
    ask = LANGUAGES.get(language, lambda one: one.predict().tolist())
    assert ask(case) == largest.argmax(axis=1).tolist()


@in_browser
def test_the_page_answers_as_predict_does(tmp_path: Path) -> None:
    """All models in one run of the browser."""
    scripts = []
    cases = [*map(case_of, CASES), *map(as_fitted, AS_FITTED)]
    for k, case in enumerate(cases):
        # a page that may not show rows does not hold centers that are rows, nor predict
        shown = case.model.centers == "rows"
        place = tmp_path / f"report-{k}.html"
        page = render(case.model, case.X, case.y, place, include_rows=shown)
        rows = json.dumps(case.table.to_dict("records"))
        scripts.append((page, f"return {rows}.map((row) => motlm.evaluate(row).prediction);"))
    for case, found in zip(cases, open_pages(scripts, tmp_path), strict=True):
        agree(found, case)


def test_a_mixture_is_exported_like_its_estimator() -> None:
    model = case_of("regressor mean euclidean").model
    assert to_python(model.mixture_) == to_python(model) == model.to_python()
    assert to_sql(model.mixture_) == model.to_sql()
