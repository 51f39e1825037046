"""What is particular to each export; that they agree with predict is in test_agreement."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
import warnings
from functools import cache
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
from motlm.exports._dialects import DIALECTS as WRITERS

QUICK = {"inverse_temperature": 8.0, "n_starts": 1, "random_state": 0}
SYSTEMS = ["sqlite", "duckdb"]
DIALECTS = list(WRITERS)


@cache
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
    return run_query(system, frame, f"SELECT {expression} FROM t")


def run_query(system: str, frame: pd.DataFrame, text: str) -> list[Any]:
    if system == "sqlite":
        with sqlite3.connect(":memory:") as base:
            frame.to_sql("t", base, index=False)
            return [row[0] for row in base.execute(text)]
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as base:
        base.register("t", frame)
        return [row[0] for row in base.execute(text).fetchall()]


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


# -- dialects of SQL ----------------------------------------------------------------------------

HOSTILE = [
    "plain",
    "it's",
    "''",
    "'",
    "\\",
    "\\'",
    "\\\\'",
    "'; DROP TABLE t; --",
    "\\'; DROP TABLE t; --",
    "a\nb",
    "a\r\nb",
    "a\tb",
    "\\n",
    'say "yes"',
    "`tick`",
    "[x]",
    "100 %",
    "%s {} :name ? $1 @v",
    "-- comment",
    "/* comment */",
    "# comment",
    "ünï 日本 \U0001f600",
    "\u2028",
    "",
    " ",
    "TRUE",
    "NULL",
    "N'x'",
    "E'\\n'",
]


@cache
def hostile_table() -> tuple[Any, pd.DataFrame]:
    """Categories, labels and names of columns that try to break out of their quotes."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            'it\'s `a\\ "name"] --': rng.choice(np.array(HOSTILE, dtype=object), 300),
            "a]b`c": rng.normal(size=300) * 1e-7,
        }
    )
    first = frame.columns[0]
    frame[first] = frame[first].astype(object)
    order = frame[first].map({text: k for k, text in enumerate(HOSTILE)})
    y = np.where(order + 1e7 * frame["a]b`c"] > 14, "yes\\'; --", "no'\n")
    model = LocalMixtureClassifier(0, handle_unknown="error", **QUICK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(frame, y), frame


def parse(expression: str, dialect: str) -> Any:
    sqlglot = pytest.importorskip("sqlglot")
    reading = None if dialect == "ansi" else dialect
    [tree] = sqlglot.parse(f"SELECT {expression} AS answer FROM t", read=reading)
    return tree


@pytest.mark.parametrize("dialect", DIALECTS)
def test_texts_are_read_as_they_were_written(dialect: str) -> None:
    """By the parser of each dialect: categories, labels and names, and nothing else."""
    exp = pytest.importorskip("sqlglot.expressions")
    model, frame = hostile_table()
    tree = parse(model.to_sql(dialect=dialect), dialect)
    texts = {one.this for one in tree.find_all(exp.Literal) if one.is_string}
    texts |= {one.this for one in tree.find_all(exp.National)}
    if dialect == "snowflake":
        texts = {text for text in texts if not re.fullmatch(r"-?[\d.]+e-?\d+", text)}
    assert texts == {*HOSTILE, *model.classes_}
    assert {one.name for one in tree.find_all(exp.Column)} == set(frame.columns)
    assert len(list(tree.find_all(exp.Select))) == 1
    assert not list(tree.find_all(exp.Drop))


def numbers_of(model: Any) -> set[float]:
    routine = model.mixture_.routine()
    found = {*routine.intercept.tolist(), *routine.coef[routine.coef != 0].tolist()}
    return {abs(value) for value in found}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_numbers_are_doubles(dialect: str) -> None:
    """To the last digit, and never decimals, whose products some databases round."""
    exp = pytest.importorskip("sqlglot.expressions")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) * [1e-9, 1e9]
    model = LocalMixtureRegressor(0, **QUICK).fit(X, 1e-5 * (X[:, 0] * 1e9 + X[:, 1] / 1e9))
    expression = model.to_sql(dialect=dialect)
    tree = parse(expression, dialect)
    found = {float(one.this) for one in tree.find_all(exp.Literal)}
    assert numbers_of(model) <= found
    assert all("e" in one.this.lower() for one in tree.find_all(exp.Literal))
    kinds = {one.to.this.name for one in tree.find_all(exp.Cast)}
    assert kinds == {"DOUBLE"}


def without_collations(tree: Any) -> Any:
    """SQLite and DuckDB compare exactly, and have neither the collations nor the texts of T-SQL."""
    exp = pytest.importorskip("sqlglot.expressions")

    def change(node: Any) -> Any:
        if isinstance(node, exp.Collate):
            return node.this.this if isinstance(node.this, exp.Cast) else node.this
        return exp.Literal.string(node.this) if isinstance(node, exp.National) else node

    return tree.transform(change)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_dialects_predict_alike(dialect: str, system: str) -> None:
    """Each of them, translated for a database that is at hand."""
    cases = [hostile_table(), table("warn"), table("error")]
    for model, frame in cases:
        tree = parse(model.to_sql(dialect=dialect), dialect)
        text = without_collations(tree).sql(dialect=system)
        assert run_query(system, frame, text) == model.predict(frame).tolist()
    X, y = make_clf_case1(random_state=0)
    frame = pd.DataFrame(X, columns=["a", "b"])
    for options in ({"metric": "manhattan"}, {"overlap": "mean"}):
        points = [[-1.0, 0.0], [1.0, 0.0]]
        model = LocalMixtureRegressor(points_of_interest=points, **options, **QUICK)
        model.fit(frame.to_numpy(), y.astype(float))
        names = dict(zip(frame.columns, model.mixture_.inputs.columns.names, strict=True))
        text = parse(model.to_sql(dialect=dialect), dialect).sql(dialect=system)
        found = run_query(system, frame.rename(columns=names), text)
        np.testing.assert_allclose(found, model.predict(frame.to_numpy()), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_dialects_as_they_are(dialect: str) -> None:
    """Without a translation, where the database is at hand."""
    for model, frame in (hostile_table(), table("warn")):
        found = query(dialect, frame, model.to_sql(dialect=dialect))
        assert found == model.predict(frame).tolist()


def test_a_missing_column_is_an_error_in_sqlite() -> None:
    """In double quotes it would be a text, which becomes 0."""
    model, frame = table("error")
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        query("sqlite", frame.drop(columns="k"), model.to_sql(dialect="sqlite"))


def test_text_is_compared_exactly() -> None:
    """Where the collation of a database ignores the case by default."""
    model, _ = table("error")
    assert "`it's` COLLATE utf8mb4_bin = 'z'" in model.to_sql(dialect="mysql")
    assert (
        "CAST([it's] AS NVARCHAR(MAX)) COLLATE Latin1_General_BIN2 NOT IN (N'x''y', N'z', N'ü')"
        in model.to_sql(dialect="tsql")
    )


@cache
def of_category(name: str) -> Any:
    frame = pd.DataFrame({"a": np.array([name, "b"] * 30, dtype=object)})
    return LocalMixtureClassifier(0, **QUICK).fit(frame, [0, 1] * 30)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_categories_that_sql_does_not_have(dialect: str) -> None:
    with pytest.raises(ExportError, match=r"category 'a\\x00b' cannot be written in SQL"):
        of_category("a\0b").to_sql(dialect=dialect)
    for value in ("\ud800", "\0", float("inf"), float("nan")):
        with pytest.raises(ExportError, match=r"category .* cannot be written in SQL"):
            WRITERS[dialect].literal(value)
    for name in ("\ud800", "\0"):
        with pytest.raises(ExportError, match=r"the column .* cannot be named in SQL"):
            WRITERS[dialect].identifier(name)


@pytest.mark.parametrize("dialect", ["spark", "databricks"])
def test_spark_replaces_variables(dialect: str) -> None:
    model = of_category("${env:HOME}")
    with pytest.raises(ExportError, match=r"of (spark|databricks), which replaces"):
        model.to_sql(dialect=dialect)
    assert "${env:HOME}" in model.to_sql()


def test_unknown_dialects() -> None:
    for dialect in ("oracle", None, "MySQL"):
        with pytest.raises(ValueError, match="dialect must be one of ansi, postgres, "):
            of_category("a").to_sql(dialect=dialect)


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
