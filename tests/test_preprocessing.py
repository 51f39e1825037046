"""The paper's preparation: its shapes, its traps, and the sound way."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from motlm.datasets import KEEL, load_keel
from motlm.preprocessing import (
    BoxRule,
    DropDuplicateRows,
    DropMissingRows,
    VarianceInflation,
    clean,
    prepare,
    three_parts,
)

FEATURES = {  # left by the published variance inflation
    "autoMPG8": {2},
    "baseball": {7, 8},
    "concrete": {5},
    "dee": {3},
    "laser": {3},
    "stock": {2},
    "treasury": {2},
    "wizmir": {2},
}


@pytest.mark.parametrize("one", KEEL, ids=lambda one: one.name)
def test_shapes_that_the_paper_prints(one, shared_data: Path) -> None:
    bunch = load_keel(one.name, data_home=shared_data, as_frame=True)
    assert clean(bunch.frame, box=one.task == "regression").shape == one.shape
    [target] = bunch.target_names
    for seed in (0, 1):
        parts = prepare(bunch.frame, target, seed, protocol="paper")
        assert sum(map(len, parts.y)) == one.shape[0]
        assert len(parts.X[0]) == int(0.7 * one.shape[0])
        if one.task == "regression":
            assert parts.X[0].shape[1] in FEATURES[one.name]
        np.testing.assert_allclose(parts.X[0].mean(axis=0), 0.0, atol=1e-9)
        np.testing.assert_allclose(parts.X[0].std(axis=0), 1.0, atol=1e-9)
        assert len(parts.feature_names) == parts.X[0].shape[1]


def test_sound_preparation_drops_no_row_for_its_values(shared_data: Path) -> None:
    bunch = load_keel("laser", data_home=shared_data, as_frame=True)
    parts = prepare(bunch.frame, "Output", 0)
    assert sum(map(len, parts.y)) == len(clean(bunch.frame, box=False)) > 881


def test_test_rows_decide_nothing() -> None:
    """Whatever stands in the validation and test rows, the training part comes out the same;
    published, it does not.
    """
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 4)), columns=list("abcy"))
    train = three_parts(np.arange(200), frame["y"], 3, stratify=False).X[0]
    other = frame.copy()
    rest = np.setdiff1d(np.arange(200), train)
    other.iloc[rest] = 3.0 * other.iloc[rest] + 1.0
    same = [prepare(one, "y", 3).X[0] for one in (frame, other)]
    np.testing.assert_array_equal(*same)
    published = [prepare(one, "y", 3, protocol="paper").X[0] for one in (frame, other)]
    assert published[0].shape != published[1].shape


@pytest.mark.parametrize("kind", ["pandas", "polars", "array"])
def test_row_steps_on_every_kind_of_table(kind: str) -> None:
    frame = pd.DataFrame(
        {"a": [1.0, 1.0, np.nan, 2.0, 900.0, 2.5, 1.5], "b": ["x", "x", "y", None, "y", "x", "y"]}
    )
    table = {
        "pandas": frame,
        "polars": polars.from_pandas(frame),
        "array": frame.to_numpy(dtype=object),
    }[kind]
    table = DropMissingRows().fit_transform(table)
    assert len(table) == 5
    table = DropDuplicateRows().fit_transform(table)
    assert len(table) == 4
    rule = BoxRule().fit(table)
    np.testing.assert_array_equal(np.isfinite(rule.lower_), [True, False])
    kept = rule.transform(table)
    assert type(kept) is type(table)
    assert [float(row) for row in np.asarray(kept, dtype=object)[:, 0]] == [1.0, 2.5, 1.5]


def test_row_steps_are_estimators() -> None:
    assert clone(BoxRule(whisker=3.0)).whisker == 3.0
    with pytest.raises(ValueError, match="the table has 2 columns; the one that was fitted had 3"):
        BoxRule().fit(np.ones((4, 3))).transform(np.ones((4, 2)))


def test_box_rule_is_the_textbooks() -> None:
    x = np.arange(1.0, 12.0)  # quartiles 3.5 and 8.5
    rule = BoxRule().fit(x[:, None])
    assert (rule.lower_[0], rule.upper_[0]) == (3.5 - 7.5, 8.5 + 7.5)
    np.testing.assert_array_equal(
        rule.keeps(np.array([[-4.0], [-4.1], [16.0], [16.1]])), [True, False, True, False]
    )


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([VarianceInflation()])
def test_scikit_learn_checks(estimator, check) -> None:
    check(estimator)


@pytest.mark.parametrize("centered", [True, False])
def test_factors_against_regressions(centered: bool) -> None:
    rng = np.random.default_rng(0)
    X = 2.0 + rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4))
    factors = VarianceInflation(np.inf, centered=centered).fit(X).factors_
    for j in range(4):
        others = np.delete(X, j, axis=1)
        residual = X[:, j] - LinearRegression(fit_intercept=centered).fit(others, X[:, j]).predict(
            others
        )
        total = X[:, j] - X[:, j].mean() if centered else X[:, j]
        assert factors[j] == pytest.approx((total @ total) / (residual @ residual), rel=1e-9)


def test_variance_inflation_drops_the_worst_first() -> None:
    rng = np.random.default_rng(0)
    base = rng.normal(size=(100, 3))
    X = np.column_stack([base, base.sum(axis=1) + 0.01 * rng.normal(size=100), 5.0 * np.ones(100)])
    selector = VarianceInflation().fit(X)
    assert selector.dropped_ == [4, 3]  # the constant, then the sum
    assert (selector.factors_ < 10).all()
    np.testing.assert_array_equal(selector.get_support(indices=True), [0, 1, 2])
    twins = VarianceInflation(min_features=2).fit(np.column_stack([base[:, 0]] * 3))
    assert twins.get_support().sum() == 2
    with pytest.raises(ValueError, match="min_features must be at least 1; got 0"):
        VarianceInflation(min_features=0).fit(X)
    far = 100.0 + base[:, :2]  # far from zero: without an intercept columns explain each other
    assert VarianceInflation().fit(far).dropped_ == []
    assert len(VarianceInflation(centered=False).fit(far).dropped_) == 1


def test_levels_that_training_rows_lack() -> None:
    levels = pd.Categorical(["a"] * 97 + ["rare"] * 3, categories=["a", "b", "rare"])
    frame = pd.DataFrame({"x": np.arange(100.0), "level": levels, "y": ["u", "v"] * 50})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(5):
            parts = prepare(frame, "y", seed)
            assert all(np.isfinite(X).all() for X in parts.X)


@pytest.mark.parametrize("centered", [True, False])
def test_more_columns_than_rows(centered: bool) -> None:
    X = np.random.default_rng(0).normal(size=(8, 20))
    selector = VarianceInflation(centered=centered).fit(X)
    assert selector.get_support().sum() < 8
    assert (selector.factors_ >= 1.0).all()


def test_factors_do_not_depend_on_units() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    for unit in ([1.0, 1.0, 1.0], [1e7, 1.0, 1e-6]):
        assert VarianceInflation().fit(X * unit).dropped_ == []
    with_constant = np.column_stack([1e-7 * X, np.full(50, 0.1)])
    assert VarianceInflation().fit(with_constant).dropped_ == [3]
    for scale in (1.0, 3.0, 7.0):  # the first of those that explain each other
        assert VarianceInflation().fit(
            np.column_stack([scale * X[:, 0], X[:, 1], X[:, 0], 2 * X[:, 0]])
        ).dropped_ == [0, 2]


def test_tables_as_users_have_them() -> None:
    rng = np.random.default_rng(0)
    text = pd.DataFrame(
        {"level": ["a"] * 97 + ["rare", "b", "c"], "x": rng.normal(size=100), "y": ["u", "v"] * 50}
    )
    numbered = pd.DataFrame(rng.normal(size=(100, 3)))
    for seed in range(4):
        assert prepare(text, "y", seed).y[0].dtype.kind == "U"
        assert prepare(numbered, 0, seed).X[0].shape == (70, 2)
    binary = pd.DataFrame(
        {"x": rng.normal(size=100), "flag": [True, False] * 50, "code": [0, 1] * 50}
    )
    assert prepare(binary, "flag", 0).y[0].dtype.kind == "U"
    assert prepare(binary, "code", 0).y[0].dtype.kind == "U"
    assert prepare(binary, "code", 0, task="regression").y[0].dtype.kind == "f"


def test_row_steps_know_their_columns() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [10.0, 20.0, 30.0]})
    with pytest.raises(ValueError, match="feature names should match"):
        BoxRule().fit(frame).transform(frame[["b", "a"]])
    with pytest.raises(NotFittedError):
        BoxRule().keeps(frame)
    mixed = np.array([[1, "x"], ["1", "x"]], dtype=object)
    assert len(DropDuplicateRows().fit_transform(mixed)) == 2


def test_prepare_says_what_is_wrong() -> None:
    missing = pd.DataFrame({"x": np.arange(20.0), "gone": np.nan, "y": np.arange(20.0)})
    with pytest.raises(
        ValueError, match="every row has a missing value; column 'gone' has most, in 20 of 20"
    ):
        prepare(missing, "y", 0)
    flat = pd.DataFrame({"x": np.arange(20.0), "y": [0.0] * 17 + [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match="column 'y' is constant after the box rule"):
        prepare(flat, "y", 0, protocol="paper")
    with pytest.raises(
        ValueError, match="task must be one of 'auto', 'classification', 'regression'; got 'rank'"
    ):
        prepare(flat, "y", 0, task="rank")
    frame = pd.DataFrame({"x": np.arange(20.0), "y": np.arange(20.0)})
    with pytest.raises(ValueError, match="protocol must be one of 'sound', 'paper'; got 'papers'"):
        prepare(frame, "y", 0, protocol="papers")
    with pytest.raises(ValueError, match="the table has no column 'z'; it has 'x', 'y'"):
        prepare(frame, "z", 0)
