"""Exports agree with predict, in the systems that they are for."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.datasets import make_clf_case1, make_reg_case2
from motlm.exports import ExportError

QUICK = {"inverse_temperature": 8.0, "n_starts": 1, "random_state": 0}


def wide(model, n_points: int = 3):
    """The same model with more balls, which overlap: what a search finds does not matter here."""
    from dataclasses import replace

    rng = np.random.default_rng(1)
    law = model.posterior_.keep([0] * n_points)
    model.posterior_ = replace(
        law,
        coef=law.coef + rng.normal(size=law.coef.shape),
        intercept=law.intercept + rng.normal(size=n_points + 1),
    )
    points = model._fitted.points[[0] * n_points] + rng.normal(
        size=(n_points, model._fitted.points.shape[1])
    )
    model._fitted = replace(model._fitted, points=points)
    model._radius = np.linspace(1.0, 2.0, n_points)
    return model


def numeric(kind: str, overlap: str, metric: str):
    X, y = (
        make_clf_case1(random_state=0) if kind == "classifier" else make_reg_case2(random_state=0)
    )
    make = LocalMixtureClassifier if kind == "classifier" else LocalMixtureRegressor
    model = make(points_of_interest=X[:1] * 0 - 0.5, overlap=overlap, metric=metric, **QUICK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    assert model.localities_
    return wide(model), X


def table(unknown: str):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            'a "quoted" name': rng.normal(size=300),
            "it's": rng.choice(["x'y", "z", "ü"], 300),
            "k": rng.integers(0, 9, 300),
            "same": 2.0,
        }
    )
    y = np.where(frame.iloc[:, 0] + (frame["it's"] == "z") > 0.3, "o'k", "no")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LocalMixtureClassifier(
            points_of_interest=frame[:1], handle_unknown=unknown, **QUICK
        ).fit(frame, y)
    return model, frame


KINDS = [
    (kind, overlap, metric)
    for kind in ("classifier", "regressor")
    for overlap in ("nearest", "mean")
    for metric in ("euclidean", "manhattan")
]


def agree(said, expected) -> None:
    if np.asarray(expected).dtype.kind == "f" and len(np.unique(expected)) > 2:
        np.testing.assert_allclose(np.asarray(said, dtype=float), expected, atol=1e-9)
    else:
        assert list(said) == list(expected)


@pytest.mark.parametrize(("kind", "overlap", "metric"), KINDS)
def test_python_function(kind: str, overlap: str, metric: str) -> None:
    model, X = numeric(kind, overlap, metric)
    namespace: dict = {}
    exec(model.to_python(), namespace)
    names = [f"x{j}" for j in range(X.shape[1])]
    agree(
        [namespace["predict"](dict(zip(names, map(float, row), strict=True))) for row in X[:300]],
        model.predict(X[:300]),
    )


def test_python_function_needs_nothing(tmp_path: Path) -> None:
    model, frame = table("error")
    (tmp_path / "said.py").write_text(
        model.to_python("say")
        + f"\nprint([say(row) for row in {frame[:40].to_dict('records')!r}])\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(tmp_path / "said.py")],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == repr(model.predict(frame[:40]).tolist())
    namespace: dict = {}
    exec(model.to_python(), namespace)
    row = frame[:1].to_dict("records")[0]
    with pytest.raises(ValueError, match="unknown category 'new'"):
        namespace["predict"]({**row, "it's": "new"})
    with pytest.raises(ValueError, match="is missing or infinite"):
        namespace["predict"]({**row, "k": float("nan")})
    with pytest.raises(ValueError, match="name must be a Python name"):
        model.to_python("1; import os")


def test_unknown_categories_in_python_and_sql() -> None:
    model, frame = table("ignore")
    odd = frame[:50].assign(**{"it's": "new"})
    namespace: dict = {}
    exec(model.to_python(), namespace)
    assert [namespace["predict"](row) for row in odd.to_dict("records")] == model.predict(
        odd
    ).tolist()
    with sqlite3.connect(":memory:") as base:
        odd.to_sql("t", base, index=False)
        assert [row[0] for row in base.execute(f"SELECT {model.to_sql()} FROM t")] == model.predict(
            odd
        ).tolist()


@pytest.mark.parametrize(("kind", "overlap", "metric"), KINDS)
@pytest.mark.parametrize("system", ["sqlite", "duckdb"])
def test_sql(system: str, kind: str, overlap: str, metric: str) -> None:
    model, X = numeric(kind, overlap, metric)
    frame = pd.DataFrame(X[:300], columns=[f"x{j}" for j in range(X.shape[1])])
    agree(queried(system, frame, model.to_sql()), model.predict(X[:300]))


@pytest.mark.parametrize("system", ["sqlite", "duckdb"])
def test_sql_of_names_and_categories(system: str) -> None:
    model, frame = table("error")
    assert queried(system, frame, model.to_sql()) == model.predict(frame).tolist()
    holes = frame[:3].astype(object)
    holes.iloc[0, 0] = None
    holes.iloc[1, 1] = "new"
    assert queried(system, holes.astype({"k": float, 'a "quoted" name': float}), model.to_sql())[
        :2
    ] == [None, None]


def queried(system: str, frame: pd.DataFrame, expression: str) -> list:
    if system == "sqlite":
        with sqlite3.connect(":memory:") as base:
            frame.to_sql("t", base, index=False)
            return [row[0] for row in base.execute(f"SELECT {expression} FROM t")]
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as base:
        base.register("t", frame)
        return [row[0] for row in base.execute(f"SELECT {expression} FROM t").fetchall()]


@pytest.mark.parametrize(
    ("kind", "overlap", "metric"), [*KINDS, ("classifier", "nearest", "chebyshev")]
)
def test_onnx(kind: str, overlap: str, metric: str) -> None:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model, X = numeric(kind, overlap, metric)
    session = runtime.InferenceSession(
        model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"]
    )
    found = dict(
        zip([one.name for one in session.get_outputs()], session.run(None, {"X": X}), strict=True)
    )
    if kind == "classifier":
        assert model.classes_[found["label"]].tolist() == model.predict(X).tolist()
    else:
        np.testing.assert_allclose(found["score"], model.predict(X), atol=1e-9)


def test_onnx_without_balls_and_refusals() -> None:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    X, y = make_clf_case1(random_state=0)
    model = LocalMixtureClassifier(0, **QUICK).fit(X, y)
    session = runtime.InferenceSession(
        model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"]
    )
    assert model.classes_[session.run(["label"], {"X": X})[0]].tolist() == model.predict(X).tolist()
    with pytest.raises(ExportError, match="columns of text cannot be exported"):
        table("error")[0].to_onnx()
    odd, _ = numeric("classifier", "nearest", "chebyshev")
    with pytest.raises(ExportError, match="metric='chebyshev' cannot be exported; euclidean, l2"):
        odd.to_sql()


def test_skops_and_pickle() -> None:
    io = pytest.importorskip("skops.io")
    X, y = make_clf_case1(random_state=0)
    model = LocalMixtureClassifier(points_of_interest=[[-1, 0], [1, 0]], **QUICK).fit(X, y)
    packed = io.dumps(model)
    trusted = io.get_untrusted_types(data=packed)
    assert all(name.startswith(("motlm.", "numpy.", "builtins.")) for name in trusted), trusted
    again = io.loads(packed, trusted=trusted)
    assert again.predict(X).tolist() == model.predict(X).tolist()


def test_truth_in_sql() -> None:
    """Columns of booleans are numbers to the model, and are not to a database."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200), "own": rng.choice([True, False], 200)})
    y = np.where(frame["a"] + frame["own"] > 0.5, 1, 0)
    model = LocalMixtureClassifier(0, **QUICK).fit(frame, y)
    for system in ("sqlite", "duckdb"):
        assert queried(system, frame, model.to_sql()) == model.predict(frame).tolist()


def test_too_long_for_a_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("motlm.exports._LONGEST", 100)
    with pytest.raises(ExportError, match="more than the 100 that databases take"):
        table("error")[0].to_sql()


def test_missing_categories_in_python() -> None:
    model, frame = table("ignore")
    namespace: dict = {}
    exec(model.to_python(), namespace)
    with pytest.raises(ValueError, match="is missing"):
        namespace["predict"]({**frame[:1].to_dict("records")[0], "it's": None})
