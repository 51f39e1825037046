"""Rare levels that are pooled."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from motlm import LocalMixtureClassifier, TableNotes, load
from motlm.cli._commands import motlm
from motlm.errors import InputError, InputTypeError, ModelFileError, UnknownCategoryWarning
from motlm.frames import rare_levels
from motlm.preprocessing import PoolRareLevels


@given(st.lists(st.integers(0, 40), max_size=300), st.integers(1, 20), st.integers(2, 12))
def test_what_stays_is_frequent_and_not_too_much(values: list[int], least: int, most: int) -> None:
    texts = np.array([f"level {value}" for value in values], dtype=object)
    rare = rare_levels(texts, least, most)
    count = pd.Series(texts).value_counts()
    kept = count.drop(list(rare))
    assert len(rare) != 1
    assert len(kept) + bool(rare) <= most or len(count) <= most
    if rare:
        assert max(count[level] for level in rare) <= kept.min() if len(kept) else True
    assert (kept < least).sum() <= 1


def table(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    places = ["north", "south", *(f"p{i:02d}" for i in range(20))]
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n).round(4),
            "place": rng.choice(places, n, p=[0.4, 0.3, *([0.015] * 20)]),
            "kind": rng.choice(["a", "b"], n),
        }
    )
    frame["y"] = np.where(frame["x"] + rng.normal(size=n) > 0, "yes", "no")
    return frame


def kinds() -> dict[str, Any]:
    frame = table().drop(columns="y")
    made: dict[str, Any] = {
        "object": frame.astype({"place": object}),
        "string": frame.astype({"place": "string"}),
        "category": frame.astype({"place": "category"}),
    }
    try:
        import polars

        made["polars"] = polars.from_pandas(frame)
        made["polars categories"] = made["polars"].with_columns(
            polars.col("place").cast(polars.Categorical)
        )
    except ImportError:
        pass
    try:
        import pyarrow

        made["pyarrow"] = pyarrow.Table.from_pandas(frame)
        made["backed by pyarrow"] = frame.convert_dtypes(dtype_backend="pyarrow")
    except ImportError:
        pass
    return made


@pytest.mark.parametrize("kind", kinds())
def test_tables_of_any_kind(kind: str) -> None:
    X = kinds()[kind]
    pool = clone(PoolRareLevels(min_frequency=20)).fit(X)
    assert list(pool.pooled_) == ["place"]
    assert len(pool.pooled_["place"]) == 20
    made = pool.transform(X)
    assert set(made["place"]) == {"north", "south", "other"}
    assert list(made["x"]) == table()["x"].tolist()
    assert pool.get_feature_names_out().tolist() == ["x", "place", "kind"]
    y = table()["y"]
    model = make_pipeline(pool, LocalMixtureClassifier(0, local_models="linear", random_state=0))
    model.fit(X, y)
    assert model[-1].mixture_.inputs.columns.levels[1] == ("north", "other", "south")
    assert len(model.predict(X)) == 300


def test_parameters_of_pooling() -> None:
    frame = table()
    assert PoolRareLevels(1).fit(frame).pooled_ == {}
    pooled = PoolRareLevels(1, max_categories=4).fit(frame).pooled_["place"]
    assert len(pooled) == 22 - 3
    assert PoolRareLevels(0.35).fit(frame).pooled_ == {
        "place": tuple(sorted(set(frame["place"]) - {"north"}))
    }
    one = pd.DataFrame({"a": ["x"] * 30 + ["y"]})
    assert PoolRareLevels().fit(one).pooled_ == {}  # one rare level stays
    joined = pd.DataFrame({"a": ["x"] * 30 + ["other"] * 30 + ["y", "z"]})
    assert PoolRareLevels().fit_transform(joined)["a"].value_counts()["other"] == 32
    missing = pd.DataFrame({"a": ["x"] * 30 + [None, "y", "z"]})
    assert PoolRareLevels().fit(missing).pooled_ == {"a": ("y", "z")}
    assert PoolRareLevels().fit_transform(missing)["a"].isna().sum() == 1
    for bad in ({"min_frequency": 0}, {"max_categories": 1}):
        with pytest.raises(InputError, match=next(iter(bad))):
            PoolRareLevels(**bad).fit(frame)
    with pytest.raises(InputTypeError, match="tables with named columns; got ndarray"):
        PoolRareLevels().fit(np.zeros((3, 2)))


# -- the command line ------------------------------------------------------------------------------


def run(*arguments: Any, code: int = 0) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = CliRunner().invoke(motlm, [str(one) for one in arguments], prog_name="motlm")
    assert result.exit_code == code, f"{result.output}\n{result.exception!r}"
    return result


def test_fit_pools_and_says_so_everywhere(tmp_path: Path) -> None:
    place, model, page = tmp_path / "t.csv", tmp_path / "m.json", tmp_path / "r.html"
    table().to_csv(place, index=False)
    fast = ["--target", "y", "--localities", "0", "--local-models", "linear"]
    result = run("fit", place, *fast, "--model", model, "--report", page)
    assert "20 categories of 'place' are pooled as 'other' (" in result.stderr
    assert "each has fewer than 10 rows to fit on" in result.stderr
    assert "place: 3 categories" in result.stderr
    stored = json.loads(model.read_text())
    assert len(stored["table"]["pooled"]["place"]) == 20
    assert stored["inputs"]["levels"][1] == ["north", "other", "south"]
    assert load(model).table_.pooled["place"][0] == "p00"
    text = page.read_text(encoding="utf-8")
    assert "Rare categories count as one, other: 20 of place (p00, p01" in text
    new = pd.DataFrame({"x": 0.0, "place": ["p00", "p19", "other", "moon"], "kind": "a"})
    new.to_csv(tmp_path / "new.csv", index=False)
    lines = run("predict", model, tmp_path / "new.csv", "--json").stdout.splitlines()
    found = [json.loads(line) for line in lines]
    chances = [one["probability of yes"] for one in found]
    assert chances[0] == chances[1] == chances[2] != chances[3]
    assert [one["note"] != "" for one in found] == [False, False, False, True]
    run("explain", model, tmp_path / "new.csv", "--row", "0")
    found = json.loads(run("fit", place, *fast, "--json").stdout)
    assert len(found["pooled"]["place"]) == 20
    result = run("fit", place, *fast, "--min-frequency", 1)
    assert "pooled" not in result.stderr
    assert "place: 22 categories" in result.stderr


def test_many_levels_are_pooled_to_fifty(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    codes = [f"z{i:03d}" for i in range(80)]
    frame = pd.DataFrame({"zip": rng.choice(codes, 2000), "x": rng.normal(size=2000).round(3)})
    frame["y"] = (frame["x"] + rng.normal(size=2000)).round(3)
    frame.to_csv(tmp_path / "t.csv", index=False)
    fast = ["--target", "y", "--localities", "0", "--local-models", "linear", "--json"]
    found = run("fit", tmp_path / "t.csv", *fast, "--min-frequency", 1)
    assert len(json.loads(found.stdout)["pooled"]["zip"]) == 31
    assert "not among the 49 most frequent" in found.stderr


def test_pools_in_model_files_are_checked(tmp_path: Path) -> None:
    frame = table(100).drop(columns="place")
    model = LocalMixtureClassifier(0, local_models="linear", random_state=0)
    model.fit(frame[["x", "kind"]], frame["y"])
    for column in ("x", "kind", "moon"):
        model.table_ = TableNotes("y", pooled={column: ("q",)})
        with pytest.raises(ModelFileError, match=r"pooled should be levels of columns that have"):
            model.save(tmp_path / "m.json")


def test_a_loaded_model_pools_as_the_command_line_does(tmp_path: Path) -> None:
    """The same answers for the same table, and no warning of categories that fit has pooled."""
    rng = np.random.default_rng(0)
    place = rng.choice(["north", "south", "isle", "cape"], 400, p=[0.5, 0.47, 0.015, 0.015])
    frame = pd.DataFrame({"age": rng.integers(18, 80, 400), "place": place})
    frame["cost"] = frame["age"] + 30.0 * np.isin(place, ["isle", "cape"]) + rng.normal(size=400)
    frame.to_csv(tmp_path / "t.csv", index=False)
    options = ["--target", "cost", "--localities", "0", "--local-models", "linear", "--force"]
    model, out = tmp_path / "m.json", tmp_path / "out.csv"
    run("fit", tmp_path / "t.csv", *options, "--model", model)
    run("predict", model, tmp_path / "t.csv", "-o", out)
    loaded = load(model)
    assert loaded.table_.pooled == {"place": ("cape", "isle")}
    X = frame[["age", "place"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answers = loaded.predict(X)
        again = load(loaded.save(tmp_path / "again.json")).predict(X)
    np.testing.assert_array_equal(answers, again)
    np.testing.assert_allclose(answers, pd.read_csv(out)["prediction"], rtol=1e-12)
    with pytest.warns(UnknownCategoryWarning, match="reef"):
        loaded.predict(X.assign(place="reef")[:1])


@pytest.mark.parametrize("task", ["classification", "regression", "rate"])
def test_a_column_of_rare_levels_alone(task: str, tmp_path: Path) -> None:
    """All of them are pooled to one, so that no column varies: a constant is fitted."""
    k = np.arange(100)
    frame = pd.DataFrame({"a": [f"v{i % 13}" for i in k], "y": (k // 3) % 2})
    frame.to_csv(tmp_path / "t.csv", index=False)
    model, page = tmp_path / "m.json", tmp_path / "r.html"
    options = ["--target", "y", "--task", task, "--model", model, "--report", page]
    result = run("fit", tmp_path / "t.csv", *options)
    assert "sealed rows" in result.stdout
    assert page.is_file()
    if task == "regression":
        wanted = ["--row", 0, "--wanted", "inf"]
        refused = run("explain", model, tmp_path / "t.csv", *wanted, code=2)
        assert "inf is not a finite number" in refused.output
