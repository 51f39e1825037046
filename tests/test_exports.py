"""What is particular to each export; that they agree with predict is in test_agreement."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.datasets import make_clf_case1
from motlm.errors import InputTypeError, MotlmError
from motlm.exports import ExportError, to_onnx, to_python, to_sql

QUICK = {"inverse_temperature": 8.0, "n_starts": 1, "random_state": 0}
SYSTEMS = ["sqlite", "duckdb"]


def table(unknown: str) -> tuple[Any, pd.DataFrame]:
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
    model = LocalMixtureClassifier(points_of_interest=frame[:1], handle_unknown=unknown, **QUICK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(frame, y), frame


def of_metric(metric: Any) -> Any:
    X, y = make_clf_case1(random_state=0)
    model = LocalMixtureClassifier(points_of_interest=[[-1, 0], [1, 0]], metric=metric, **QUICK)
    return model.fit(X, y)


def compile_python(model: Any) -> Any:
    namespace: dict[str, Any] = {}
    exec(to_python(model), namespace)
    return namespace["predict"]


def query(system: str, frame: pd.DataFrame, expression: str) -> list[Any]:
    if system == "sqlite":
        with sqlite3.connect(":memory:") as base:
            frame.to_sql("t", base, index=False)
            return [row[0] for row in base.execute(f"SELECT {expression} FROM t")]
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as base:
        base.register("t", frame)
        return [row[0] for row in base.execute(f"SELECT {expression} FROM t").fetchall()]


# -- Python -------------------------------------------------------------------------------------


def test_python_function_needs_nothing(tmp_path: Path) -> None:
    model, frame = table("error")
    asked = f"\nprint([answer(row) for row in {frame[:40].to_dict('records')!r}])\n"
    script = tmp_path / "answers.py"
    script.write_text(model.to_python("answer") + asked, encoding="utf-8")
    command = [sys.executable, "-I", "-S", str(script)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == repr(model.predict(frame[:40]).tolist())


def test_python_function_refuses() -> None:
    model, frame = table("error")
    predict, row = compile_python(model), frame[:1].to_dict("records")[0]
    with pytest.raises(ValueError, match="unknown category 'new'"):
        predict({**row, "it's": "new"})
    for value in (float("nan"), float("-inf"), None):
        with pytest.raises(ValueError, match="is missing or infinite"):
            predict({**row, "k": value})
    with pytest.raises(ValueError, match="name must be a Python name"):
        model.to_python("1; import os")


@pytest.mark.parametrize("unknown", ["ignore", "warn"])
def test_missing_categories_in_python(unknown: str) -> None:
    model, frame = table(unknown)
    with pytest.raises(ValueError, match="is missing"):
        compile_python(model)({**frame[:1].to_dict("records")[0], "it's": None})


# -- SQL ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("unknown", ["error", "warn"])
def test_null_in_sql(system: str, unknown: str) -> None:
    """NULL where a column is NULL, or where a category is refused."""
    model, frame = table(unknown)
    holes = frame[:3].astype(object)
    holes.iloc[0, 0] = None
    holes.iloc[1, 1] = "new"
    holes = holes.astype({"k": float, 'a "quoted" name': float})
    found = query(system, holes, model.to_sql())
    assert found[0] is None
    assert (found[1] is None) == (unknown == "error")
    assert found[2] == model.predict(frame[2:3])[0]


@pytest.mark.parametrize("system", SYSTEMS)
def test_truth_in_sql(system: str) -> None:
    """Columns of booleans are numbers to the model, and are not to a database."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200), "own": rng.choice([True, False], 200)})
    y = np.where(frame["a"] + frame["own"] > 0.5, 1, 0)
    model = LocalMixtureClassifier(0, **QUICK).fit(frame, y)
    assert query(system, frame, model.to_sql()) == model.predict(frame).tolist()


def test_too_long_for_a_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("motlm.exports._sql.LONGEST", 100)
    with pytest.raises(ExportError, match="more than the 100 that databases take"):
        table("error")[0].to_sql()


def test_a_name_that_sql_does_not_have() -> None:
    frame = pd.DataFrame({"a\0b": np.arange(50.0)})
    model = LocalMixtureRegressor(0, **QUICK).fit(frame, np.arange(50.0))
    with pytest.raises(ExportError, match="cannot be named in SQL"):
        model.to_sql()


# -- what cannot be written ---------------------------------------------------------------------


def city_block(a: Any, b: Any) -> float:
    return float(np.abs(a - b).sum())


def test_refusals() -> None:
    pytest.importorskip("onnx")
    with pytest.raises(ExportError, match="columns of text cannot be exported to ONNX"):
        table("error")[0].to_onnx()
    with pytest.raises(ExportError, match="metric='chebyshev' cannot be exported to SQL, which"):
        of_metric("chebyshev").to_sql()
    for metric, name in (("canberra", "canberra"), (city_block, "function")):
        model = of_metric(metric)
        assert model.localities_
        for export in (to_python, to_sql, to_onnx):
            with pytest.raises(ExportError, match=f"metric='{name}' cannot be exported"):
                export(model)
    for export in (to_python, to_sql, to_onnx):
        with pytest.raises(InputTypeError, match="expected a fitted motlm estimator"):
            export(LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0]))
    assert issubclass(ExportError, MotlmError)
    assert issubclass(ExportError, ValueError)


def test_skops_and_pickle() -> None:
    io = pytest.importorskip("skops.io")
    X, y = make_clf_case1(random_state=0)
    model = LocalMixtureClassifier(points_of_interest=[[-1, 0], [1, 0]], **QUICK).fit(X, y)
    packed = io.dumps(model)
    trusted = io.get_untrusted_types(data=packed)
    assert all(name.startswith(("motlm.", "numpy.", "builtins.")) for name in trusted), trusted
    again = io.loads(packed, trusted=trusted)
    assert again.predict(X).tolist() == model.predict(X).tolist()
