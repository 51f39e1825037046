"""Counterfactuals of few columns, in round numbers that give the answer; what contributions are
relative to; and the nearest training rows.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

import motlm
from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.explanations import counterfactual, explain_global, explain_local
from motlm.explanations._fewest import round_row
from motlm.explanations._limits import Limits, Wishes
from motlm.summaries import Summary
from motlm.tables import amount, number

QUICK = {"inverse_temperature": 32.0, "n_starts": 1, "random_state": 0, "select": "held-out"}
NUMBERS = ["age", "income", "children", "debt"]


def table(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": rng.lognormal(8, 0.5, n),
            "children": rng.integers(0, 5, n),
            "region": rng.choice(["north", "south", "west"], n),
            "debt": rng.uniform(0, 10, n),
        }
    )


def score_of(frame: pd.DataFrame) -> Any:
    score = 0.05 * (frame["age"] - 50) + 0.001 * (frame["income"] - 3000) - 0.5 * frame["debt"]
    score = score + 2 + 1.0 * (frame["region"] == "north") + 0.4 * frame["children"]
    return np.where(frame["age"] < 40, 1 - score, score)


pytestmark = pytest.mark.filterwarnings("ignore:lbfgs stopped", "ignore:no training row belongs")

KINDS = ["two", "three", "number", "rate"]
CASES = [(kind, models, n) for kind in KINDS for models in ("linear", "additive") for n in (0, 1)]


@pytest.fixture(scope="module")
def fitted() -> Any:
    made: dict[Any, Any] = {}

    def fit(kind: str, models: str, n: int) -> Any:
        if (kind, models, n) not in made:
            frame = table()
            noise = np.random.default_rng(1).normal(size=len(frame))
            score, options = score_of(frame) + 0.5 * noise, {**QUICK, "local_models": models}
            if kind in ("two", "three"):
                edges = [0.5] if kind == "two" else [-0.5, 1.5]
                y = np.array(["no", "maybe", "yes"])[np.digitize(score, edges)]
                model = LocalMixtureClassifier(n, **options)
            elif kind == "rate":
                y = np.random.default_rng(1).poisson(np.exp(0.4 * score))
                model = LocalMixtureRegressor(n, loss="poisson", **options)
            else:
                y = score
                model = LocalMixtureRegressor(n, **options)
            made[kind, models, n] = model.fit(frame, y), frame
        return made[kind, models, n]

    return fit


def wanted_of(model: Any, row: pd.DataFrame) -> Any:
    now = model.predict(row)[0]
    return None if isinstance(now, str) else float(now) + 0.3 * abs(float(now)) + 0.2


def reaches(model: Any, rows: pd.DataFrame, row: pd.DataFrame, wanted: Any) -> Any:
    answers, same = model.predict(rows), model.apply(rows) == model.apply(row)[0]
    return same & (answers != model.predict(row)[0] if wanted is None else answers >= wanted)


def grid_of(model: Any, row: pd.DataFrame, columns: Any) -> pd.DataFrame:
    """Rows that differ in these columns, over the ranges of the training rows."""
    summary, names = model.mixture_.provenance.summary, model.mixture_.inputs.names
    values = []
    for name in columns:
        if name == "region":
            values.append(["north", "south", "west"])
            continue
        j, steps = names.index(name), 400 if len(columns) == 1 else 40
        ends = summary.low[j], summary.high[j]
        whole = np.arange(ends[0], ends[1] + 1)
        values.append(whole if summary.whole[j] else np.linspace(*ends, steps))
    every = pd.MultiIndex.from_product(values, names=list(columns)).to_frame(index=False)
    rows = pd.concat([row] * len(every), ignore_index=True)
    return rows.assign(**{name: every[name].to_numpy() for name in columns})


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_row_of_a_grid_has_fewer_changes_or_is_nearer(fitted, case) -> None:
    model, frame = fitted(*case)
    inputs, counts = model.mixture_.inputs, set()
    for i in range(12):
        row = frame.iloc[[i]]
        wanted = wanted_of(model, row)
        one = counterfactual(model, row, target=wanted)
        most = len(one.changes) if one.found else 2
        if one.found:
            counts.add(len(one.changes))
            after = pd.DataFrame([one.after])
            assert reaches(model, after, row, None if wanted is None else wanted - 1e-6)[0]
            assert one.prediction_after == pytest.approx(model.predict(after)[0]) or wanted is None
            assert all(isinstance(one.after[name], int) for name in ("age", "children"))
            for name, (before, to) in one.changes.items():
                if name in NUMBERS and isinstance(to, float):
                    assert float(f"{to:.6g}") == to != before
        for count in range(1, min(most, 2) + 1):
            for columns in combinations(frame.columns, count):
                rows = grid_of(model, row, columns)
                good = reaches(model, rows, row, wanted)
                if not one.found or count < most:
                    assert not (one.exact and good.any()), (columns, one)
                elif one.exact and good.any():
                    gaps = inputs.standardize(inputs.encode(rows[good]))
                    away = np.linalg.norm(gaps - inputs.standardize(inputs.encode(row)), axis=1)
                    assert one.distance <= away.min() * (1 + 1e-5) + 1e-9
    assert counts


def test_what_cannot_change_does_not(fitted) -> None:
    model, frame = fitted("two", "linear", 0)
    found = 0
    for i in range(40):
        row = frame.iloc[[i]]
        one = counterfactual(
            model, row, immutable=["region"], increasing=["age"], decreasing=["debt", "children"]
        )
        if not one.found:
            assert "within the given limits and the range of the training rows" in one.reason
            continue
        found += 1
        assert "region" not in one.changes
        assert one.after["age"] >= one.before["age"]
        assert one.after["debt"] <= one.before["debt"]
        assert one.after["children"] <= one.before["children"]
    assert found > 15
    held = counterfactual(model, row, immutable=["age"], increasing=["age"])
    assert "age" not in held.changes
    with pytest.raises(ValueError, match="increasing and decreasing both name 'age'"):
        counterfactual(model, row, increasing=["age"], decreasing=["age"])
    with pytest.raises(ValueError, match="increasing names 'region', a column of categories"):
        counterfactual(model, row, increasing=["region"])
    for bad in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="max_changes must be a whole number from 1 on"):
            counterfactual(model, row, max_changes=bad)
    with pytest.warns(FutureWarning, match="is now immutable"):
        assert "age" not in counterfactual(model, row, fixed=["age"]).changes


def test_more_columns_where_few_do_not_suffice() -> None:
    """Eight columns of 0 and 1 add up, and five of them must change; then twenty-four."""
    rng = np.random.default_rng(0)
    for n_columns, least in ((8, 5), (24, 14)):
        X = rng.integers(0, 2, size=(400, n_columns)).astype(float)
        y = np.where(X.sum(axis=1) > n_columns / 2, 1, -1)
        model = LocalMixtureClassifier(0, local_models="linear", **QUICK).fit(X, y)
        x = np.zeros(n_columns)
        one = counterfactual(model, x)
        assert one.found
        assert model.predict([list(one.after.values())])[0] == 1
        assert least - 2 <= len(one.changes) <= least + 1
        assert one.exact == (n_columns == 8)
        assert one.reason == "no change of at most 3 columns gives that answer"
        assert str(one).endswith(f"({one.reason})")
        assert counterfactual(model, x, max_changes=n_columns).reason == ""
        free = counterfactual(model, x, max_changes=None)
        assert free.found
        assert free.reason == ""
        assert not free.exact or free.distance <= one.distance + 1e-9


def test_answers_say_which_rows_were_searched(fitted) -> None:
    """A smaller change may lie where another model decides; without localities there is none."""
    words = "rows decided by other models were not searched"
    model, frame = fitted("two", "linear", 1)
    for i in range(12):
        one = counterfactual(model, frame.iloc[[i]], max_changes=1)
        assert one.scope == one.to_dict()["scope"] == words
        assert str(one).endswith(words)
        assert not one.reason.startswith("no change") or one.reason.endswith("same model decides")
    held = counterfactual(model, frame.iloc[[0]], immutable=list(frame.columns))
    assert not held.found
    assert str(held).endswith(f"has that answer; {words}")
    same = counterfactual(model, frame.iloc[[i]], target=one.prediction_before)
    assert same.scope == ""
    alone, frame = fitted("two", "linear", 0)
    assert counterfactual(alone, frame.iloc[[0]]).scope == ""


def test_whole_numbers_have_all_their_digits() -> None:
    texts = [number(one) for one in (153535.0, -2.0, 0.0, -0.0, 1e14, 12345.6, 1e15, 0.00012345)]
    assert texts == ["153535", "-2", "0", "0", "1" + 14 * "0", "12350", "1e+15", "0.0001234"]
    frame = table().assign(income=153535)
    frame.loc[::2, "income"] = 253535.0
    model = LocalMixtureRegressor(0, local_models="linear", **QUICK).fit(frame, score_of(frame))
    assert "e+05" not in str(explain_local(model, frame[:2]))


def test_one_of_a_thing() -> None:
    assert [amount(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
    assert [amount(n, "row", "is", "are") for n in (1, 2)] == ["1 row is", "2 rows are"]


def test_labels_in_messages_are_plain(fitted) -> None:
    frame = table(30)
    with pytest.raises(ValueError, match="one class only, 'a', in 30 rows"):
        LocalMixtureClassifier(0).fit(frame, ["a"] * 30)
    model, frame = fitted("two", "linear", 0)
    with pytest.raises(ValueError, match="got 'strange'"):
        counterfactual(model, frame.iloc[[0]], target=np.str_("strange"))


def test_columns_out_of_their_bounds_change_in_any_case(fitted) -> None:
    model, frame = fitted("two", "linear", 0)
    row = frame.iloc[[3]].assign(debt=9.0)
    one = counterfactual(model, row, bounds={"debt": (0, 5)})
    assert one.found
    assert 0 <= one.after["debt"] <= 5


def test_numbers_stay_among_the_training_rows_unless_told(fitted) -> None:
    model, frame = fitted("number", "linear", 0)
    row = frame.iloc[[0]]
    far = float(model.predict(frame).max()) + 50
    none = counterfactual(model, row, target=far)
    assert not none.found
    assert none.exact
    assert none.reason == ("no row within the range of the training rows has that answer")
    one = counterfactual(model, row, target=far, bounds={"income": (None, None)})
    assert list(one.changes) == ["income"]
    assert one.after["income"] > frame["income"].max()


def test_whole_numbers_are_those_of_the_training_rows(fitted) -> None:
    """Whatever the type of the row; a float column that held whole numbers too."""
    model, frame = fitted("two", "linear", 0)
    only = {"immutable": ["income", "region", "debt"]}
    found = 0
    for i in range(30):
        for row in (frame.iloc[[i]].astype({"age": float}), dict(frame.iloc[i])):
            one = counterfactual(model, row, **only)
            found += one.found
            assert not one.found or float(one.after["age"]).is_integer()
    assert found
    rows = [frame.iloc[[i]].astype({"age": float}) for i in range(30)]
    several = [counterfactual(model, row, integer=(), **only) for row in rows]
    assert not all(float(one.after["age"]).is_integer() for one in several if one.found)
    old = replace(  # a model from an older file: by the type of the row
        model.mixture_, provenance=replace(model.mixture_.provenance, summary=None)
    )
    for i in range(30):
        one = counterfactual(old, frame.iloc[[i]], **only)
        assert not one.found or float(one.after["age"]).is_integer()


def test_rounding_keeps_the_answer() -> None:
    limits = Limits.of((), {}, Wishes(), None, 0)
    limits = replace(
        limits, numeric=np.ones(2, dtype=bool), low=np.zeros(2), high=np.array([2.0, 3e9])
    )
    start, row = np.array([0.5, 1e9]), np.array([1.23456789, 1234567891.3])
    tidy = round_row(row, start, limits, lambda one: True)
    assert tidy.tolist() == [1.23457, 1234570000.0]
    tidy = round_row(row, start, limits, lambda one: one[0] <= row[0] and one[1] >= row[1])
    assert tidy.tolist() == [1.23456, 1234570000.0]
    tidy = round_row(row, start, limits, lambda one: bool(np.abs(one - row).max() < 1))
    assert tidy.tolist() == [1.234567891, 1234567891.0] or abs(tidy[1] - row[1]) < 1
    same = round_row(row, start, limits, lambda one: bool((one == row).all()))
    assert same.tolist() == row.tolist()
    assert round_row(start, start, limits, lambda one: False) is start


# -- what contributions are relative to ------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=str)
def test_references_are_median_rows(fitted, case) -> None:
    """A case that might exist: its score is the base, and its contributions are 0."""
    model, frame = fitted(*case)
    explanation = explain_local(model, frame)
    summary = model.mixture_.provenance.summary
    used = model.membership(frame)
    applies = np.column_stack([used, ~used.any(axis=1)])
    for i in range(len(applies.T)):
        inside = frame[applies[:, i]] if applies[:, i].sum() >= 10 else None
        values = explanation.reference_values[i]
        if inside is not None:
            assert values["age"] == np.sort(inside["age"])[(len(inside) - 1) // 2]
            assert values["region"] == inside["region"].mode()[0] or (
                (inside["region"] == values["region"]).sum()
                == inside["region"].value_counts().max()
            )
            assert values["income"] == pytest.approx(inside["income"].median(), rel=0.05)
        assert not summary.outside(summary.medians[i]).any()
        assert not np.isin(values["income"], frame["income"])
        scores = model.mixture_.view(summary.medians[[i]]).scores[i, ..., 0]
        for row in explanation:
            if row.model_used == i:
                answer = row.prediction if case[0] == "three" else None
                labels = list(getattr(model, "classes_", []))
                expected = scores[labels.index(answer)] if answer else scores
                assert row.base == pytest.approx(float(expected), abs=1e-9)
                name = f"locality {i}" if i < len(used.T) else "the exterior"
                assert row.reference == (
                    f"the median row of {name}" if len(used.T) else "the median training row"
                )
                break


def test_a_median_of_few_rows_is_no_row() -> None:
    encoded = np.random.default_rng(0).normal(size=(40, 2))
    applicable = np.zeros((2, 40), dtype=bool)
    applicable[0, :3] = True
    applicable[1] = ~applicable[0]
    distance = np.abs(np.arange(40.0))[None]
    model = LocalMixtureRegressor(0, **QUICK).fit(encoded, encoded[:, 0])
    groups = model.mixture_.inputs.groups
    summary = Summary.of(groups, encoded, np.ones(40), applicable, distance)
    np.testing.assert_allclose(summary.medians[0], np.sort(encoded[:10], axis=0)[4], atol=0.01)
    weight = np.where(np.arange(40) == 20, 100.0, 1.0)  # a heavy row is many rows
    heavy = Summary.of(groups, encoded, weight, applicable, distance)
    np.testing.assert_allclose(heavy.medians[1], encoded[20], atol=0.01)


def test_centers_beyond_the_rows_are_told() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sugar": rng.uniform(0.6, 20, 300), "acid": rng.normal(size=300)})
    y = np.where(X["sugar"] < 3, 5 + X["acid"], X["sugar"])
    model = LocalMixtureRegressor(
        points_of_interest=pd.DataFrame({"sugar": [-1.43], "acid": [0.0]}),
        locality_columns=["sugar"],
        local_models="linear",
        **QUICK,
    ).fit(X, y)
    region, outer = explain_global(model, X, y).regions
    assert region.outside == ("sugar",)
    assert 0.6 <= region.median["sugar"] <= 4
    assert region.note.startswith("its center lies beyond all training rows in sugar; the median")
    text = explain_global(model, X, y)
    assert region.note in str(text)
    assert region.note in text._repr_html_()
    assert region.to_dict()["outside"] == ["sugar"]
    assert outer.outside == ()
    assert outer.note == ""
    row = explain_local(model, X[model.apply(X) == 0][:1])[0]
    assert row.reference_values["sugar"] >= 0.6
    assert f"(there {row.reference_values['sugar']:.4g})" in str(row)


def test_models_of_older_files_are_explained_by_their_centers(fitted, tmp_path) -> None:
    model, frame = fitted("two", "linear", 1)
    model.save(tmp_path / "new.json")
    again = motlm.load(tmp_path / "new.json")
    assert explain_local(again, frame[:5]).to_dict() == explain_local(model, frame[:5]).to_dict()
    provenance = replace(model.mixture_.provenance, summary=None)
    old = replace(model.mixture_, provenance=provenance)
    assert old.hash != model.mixture_.hash
    explanation = explain_local(old, frame)
    assert explanation.reference[-2:] == (
        "the average training row",
        "the centers of these localities",
    )
    assert explanation[0].reference_values == {}
    np.testing.assert_allclose(
        explanation.base + explanation.contributions.sum(axis=1), explanation.score, atol=1e-9
    )


# -- the nearest training rows ---------------------------------------------------------------------


def test_the_nearest_rows_are_shown_where_they_were_asked_for(fitted) -> None:
    model, frame = fitted("two", "linear", 1)
    explanation = explain_local(model, frame[:3], X_train=frame[3:], n_neighbors=2)
    for row in explanation:
        text, html = str(row), row._repr_html_()
        assert "nearest training rows for which the same model is used:" in text
        assert "Nearest training rows" in html
        for one in row.neighbors:
            assert one["values"] == dict(frame.iloc[3 + one["row"]])
            assert f"row {one['row']}, at a distance of {one['distance']:.4g}: " in text
            assert f"<td>{one['row']}</td>" in html
            assert f"{one['values']['income']:.4g}" in html
        json.dumps(row.to_dict(), allow_nan=False)
    silent = explain_local(model, frame[:1])[0]
    assert "nearest training" not in str(silent) + silent._repr_html_()
