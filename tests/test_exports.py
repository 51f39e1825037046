"""What is particular to each export; that they agree with predict is in test_agreement."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
import tracemalloc
import warnings
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made import with_localities
from sklearn.linear_model import LinearRegression

from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.datasets import make_clf_case1
from motlm.errors import InputTypeError, MotlmError
from motlm.exports import ExportError, to_onnx, to_python, to_sql
from motlm.exports._dialects import DIALECTS as WRITERS

QUICK = {"local_models": "linear", "inverse_temperature": 8.0, "n_starts": 1, "random_state": 0}
SYSTEMS = ["sqlite", "duckdb"]
DIALECTS = list(WRITERS)


@cache
def table(unknown: str, several: bool = False) -> tuple[Any, pd.DataFrame]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            'a "quoted" name': rng.normal(size=300),
            "it's": rng.choice(["x'y", "z", "ü"], 300),
            "k": rng.integers(0, 9, 300),
            "same": 2.0,
        }
    )
    score = frame.iloc[:, 0] + (frame["it's"] == "z")
    y = np.where(score > 0.3, "o'k", "no")
    if several:
        y = np.where(score > 1.0, "\\very'", y)
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


@pytest.mark.parametrize("several", [False, True])
def test_python_function_needs_nothing(several: bool, tmp_path: Path) -> None:
    model, frame = table("error", several)
    asked = f"\nprint([answer(row) for row in {frame[:40].to_dict('records')!r}])\n"
    script = tmp_path / "answers.py"
    script.write_text(model.to_python("answer") + asked, encoding="utf-8")
    command = [sys.executable, "-I", "-S", str(script)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == repr(model.predict(frame[:40]).tolist())


@pytest.mark.parametrize("count", [2, 3])
def test_labels_of_numpy_in_python(count: int) -> None:
    """Texts of numpy's among objects are written as texts."""
    X = np.random.default_rng(0).normal(size=(90, 2))
    y = np.empty(90, dtype=object)
    y[:] = [np.str_("abc"[k]) for k in np.digitize(X[:, 0], [-0.3, 0.3][: count - 1])]
    model = LocalMixtureClassifier(0, **QUICK).fit(X, y)
    assert isinstance(model.classes_[0], np.str_)
    rows = pd.DataFrame(X, columns=["x0", "x1"]).to_dict("records")
    assert list(map(compile_python(model), rows)) == model.predict(X).tolist()


@pytest.mark.parametrize("several", [False, True])
def test_python_function_refuses(several: bool) -> None:
    model, frame = table("error", several)
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
@pytest.mark.parametrize("several", [False, True])
def test_null_in_sql(system: str, unknown: str, several: bool) -> None:
    """NULL where a column is NULL, or where a category is refused."""
    model, frame = table(unknown, several)
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


def test_too_many_labels_for_a_database() -> None:
    """Refused before the text, of 650 million characters, is written; Python takes them."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(512, 200)), np.arange(512) % 256
    model = LocalMixtureClassifier(0, **QUICK).fit(X, y)
    tracemalloc.start()
    with pytest.raises(ExportError, match=r"at least \d+ characters, more than the 900000 that"):
        model.to_sql()
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()
    predict, names = compile_python(model), model.mixture_.inputs.columns.names
    rows = [dict(zip(names, row, strict=True)) for row in X[:20].tolist()]
    assert [predict(row) for row in rows] == model.predict(X[:20]).tolist()


def test_a_name_that_sql_does_not_have() -> None:
    frame = pd.DataFrame({"a\0b": np.arange(50.0) / 2})
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


HOSTILE_LABELS = ["no'\n", "yes\\'; --", "\\", "'", '"`]', "N'%s\r"]


@cache
def hostile_table(n_labels: int = 2) -> tuple[Any, pd.DataFrame]:
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
    score = order + 1e7 * frame["a]b`c"]
    steps = np.linspace(0, 28, n_labels + 1)[1:-1]
    y = np.array(HOSTILE_LABELS)[np.digitize(score, steps, right=True)]
    model = LocalMixtureClassifier(0, handle_unknown="error", **QUICK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(frame, y), frame


def parse(expression: str, dialect: str) -> Any:
    sqlglot = pytest.importorskip("sqlglot")
    reading = None if dialect == "ansi" else dialect
    [tree] = sqlglot.parse(f"SELECT {expression} AS answer FROM t", read=reading)
    return tree


@pytest.mark.parametrize("n_labels", [2, len(HOSTILE_LABELS)])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_texts_are_read_as_they_were_written(dialect: str, n_labels: int) -> None:
    """By the parser of each dialect: categories, labels and names, and nothing else."""
    exp = pytest.importorskip("sqlglot.expressions")
    model, frame = hostile_table(n_labels)
    assert len(model.classes_) == n_labels
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
    """Intercepts and coefficients; of several classes, the differences of any two."""
    routine = model.mixture_.routine()
    found = np.concatenate([routine.intercept[..., None], routine.coef], axis=-1)
    if found.ndim == 3:
        found = np.concatenate([found[:, k] - found[:, j] for k, j in combinations(range(3), 2)])
    return set(np.abs(found).ravel().tolist())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_numbers_are_doubles(dialect: str) -> None:
    """To the last digit, and never decimals, whose products some databases round."""
    exp = pytest.importorskip("sqlglot.expressions")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) * [1e-9, 1e9]
    score = X[:, 0] * 1e9 + X[:, 1] / 1e9
    for model in (
        LocalMixtureRegressor(0, **QUICK).fit(X, 1e-5 * score),
        LocalMixtureRegressor(0, loss="gamma", **QUICK).fit(X, np.exp(score)),
        LocalMixtureClassifier(0, **QUICK).fit(X, np.digitize(score, [-0.5, 0.5])),
    ):
        tree = parse(model.to_sql(dialect=dialect), dialect)
        labels = [] if model.mixture_.target.classes is None else ["0", "1", "2"]
        texts = [one.this for one in tree.find_all(exp.Literal) if one.this not in labels]
        assert numbers_of(model) <= {abs(float(text)) for text in texts}
        assert all("e" in text.lower() for text in texts)
        assert {one.to.this.name for one in tree.find_all(exp.Cast)} == {"DOUBLE"}


def without_collations(tree: Any) -> Any:
    """SQLite and DuckDB compare exactly, and have neither the collations nor the texts of T-SQL."""
    exp = pytest.importorskip("sqlglot.expressions")

    def change(node: Any) -> Any:
        if isinstance(node, exp.Collate):
            return node.this.this if isinstance(node.this, exp.Cast) else node.this
        return exp.Literal.string(node.this) if isinstance(node, exp.National) else node

    return tree.transform(change)


@cache
def of_numbers() -> list[tuple[Any, pd.DataFrame]]:
    """Predictions, rates and labels that are numbers, with two localities that overlap."""
    X, y = make_clf_case1(random_state=0)
    frame = pd.DataFrame(X, columns=["a", "b"])
    labels = (y > 0) + 1 * (X[:, 1] > 0)
    nearest, mean = {"metric": "manhattan"}, {"overlap": "mean"}
    wanted: list[tuple[Any, dict[str, str], Any]] = [
        *((LocalMixtureRegressor, options, y.astype(float)) for options in (nearest, mean)),
        (LocalMixtureRegressor, {"loss": "poisson", **nearest}, labels),
        (LocalMixtureRegressor, {"loss": "gamma", **mean}, labels + 0.5),
        *((LocalMixtureClassifier, options, labels) for options in (nearest, mean)),
    ]
    points, rng = np.array([[-0.5, 0.0], [0.5, 0.0]]), np.random.default_rng(0)
    found = []
    for kind, options, target in wanted:
        model = kind(points_of_interest=points[:1], **options, **QUICK).fit(frame, target)
        model = with_localities(model, points, [0.8, 1.2], rng)
        assert set(model.membership(frame).sum(axis=1)) == {0, 1, 2}
        found.append((model, frame))
    return found


@cache
def in_columns() -> list[tuple[Any, pd.DataFrame]]:
    """Localities in some columns, with widths of their own; categories are among them."""
    _, frame = table("error")
    number, level = frame.columns[0], "it's"
    score = frame[number].abs() + 1.5 * ((frame[level] == "z") & (frame[number] > 0))
    given = {"points_of_interest": frame[:2], "locality_columns": [level, number]}
    wanted: list[tuple[Any, dict[str, Any], Any]] = [
        (LocalMixtureRegressor, {"n_localities": 2}, score),
        (LocalMixtureRegressor, {"loss": "poisson", **given}, np.floor(np.exp(score))),
        (LocalMixtureRegressor, {**given, "locality_widths": [1.0, 0.5]}, score),
        (
            LocalMixtureClassifier,
            {"n_localities": 2, "locality_columns": [level, "k"], "overlap": "mean"},
            np.digitize(score, [0.5, 1.2]),
        ),
    ]
    found = []
    for kind, options, target in wanted:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = kind(**QUICK | options).fit(frame, target)
        assert len(model.localities_) == 2
        found.append((model, frame))
    return found


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_dialects_predict_alike(dialect: str, system: str) -> None:
    """Each of them, translated for a database that is at hand."""
    hostile = [hostile_table(2), hostile_table(len(HOSTILE_LABELS))]
    cases = [*hostile, *(table(one, more) for one in ("warn", "error") for more in (False, True))]
    for model, frame in cases:
        tree = parse(model.to_sql(dialect=dialect), dialect)
        text = without_collations(tree).sql(dialect=system)
        assert run_query(system, frame, text) == model.predict(frame).tolist()
    for model, frame in [*of_numbers(), *in_columns()]:
        tree = parse(model.to_sql(dialect=dialect), dialect)
        text = without_collations(tree).sql(dialect=system)
        found = run_query(system, frame, text)
        np.testing.assert_allclose(found, model.predict(frame), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_dialects_as_they_are(dialect: str) -> None:
    """Without a translation, where the database is at hand."""
    for model, frame in (hostile_table(), hostile_table(6), table("warn"), table("warn", True)):
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
