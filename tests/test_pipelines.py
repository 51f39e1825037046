"""Pipelines that end in a motlm estimator: explained in the columns of their tables."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

import motlm
from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.errors import ModelFileError, UnknownCategoryError
from motlm.explanations import counterfactual, explain_global, explain_local, importance
from motlm.files import checksum
from motlm.pipelines import _count_outputs, _places, subject_of
from motlm.preprocessing import PoolRareLevels
from motlm.report import render

QUICK = {
    "inverse_temperature": 8.0,
    "n_starts": 1,
    "random_state": 0,
    "select": "held-out",
    "local_models": "linear",
}
NUMBERS = ["age", "income", "debt"]
pytestmark = pytest.mark.filterwarnings("ignore:lbfgs stopped", "ignore:no training row belongs")


def table(n: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": rng.lognormal(8, 0.5, n),
            "region": rng.choice(["north", "south", "west"], n),
            "debt": rng.uniform(0, 10, n),
        }
    )
    score = 0.05 * (frame["age"] - 50) + 0.001 * (frame["income"] - 3000) - 0.5 * frame["debt"]
    score = score + 2 + 1.0 * (frame["region"] == "north") + 0.5 * rng.normal(size=n)
    return frame, np.where(frame["age"] < 40, 1 - score, score)


def by_columns(numbers: Any, categories: Any, **options: Any) -> ColumnTransformer:
    steps = [("numbers", numbers, NUMBERS), ("categories", categories, ["region"])]
    return ColumnTransformer(steps, **options)


def dense(**options: Any) -> OneHotEncoder:
    return OneHotEncoder(sparse_output=False, **options)


STEPS = {
    "one-hot": lambda: by_columns(StandardScaler(), dense()),
    "drop": lambda: by_columns(RobustScaler(), dense(drop="first")),
    "imputed": lambda: by_columns(
        make_pipeline(SimpleImputer(), MinMaxScaler()), dense(handle_unknown="ignore")
    ),
    "scaled twice": lambda: make_pipeline(
        by_columns(MaxAbsScaler(), dense()), StandardScaler(), FunctionTransformer()
    ),
    "categories": lambda: by_columns(StandardScaler(), "passthrough").set_output(
        transform="pandas"
    ),
}


def fit(name: str, kind: str, n: int = 1, models: str = "linear") -> tuple[Pipeline, Any, Any]:
    frame, y = table()
    options = {**QUICK, "local_models": models}
    if kind == "labels":
        y, model = np.where(y > 0.5, "yes", "no"), LocalMixtureClassifier(n, **options)
    else:
        model = LocalMixtureRegressor(n, **options)
    return make_pipeline(STEPS[name](), model).fit(frame, y), frame, y


@pytest.mark.parametrize("models", ["linear", "additive"])
@pytest.mark.parametrize("kind", ["labels", "number"])
@pytest.mark.parametrize("name", STEPS)
def test_rows_are_explained_by_the_columns_of_the_table(name, kind, models) -> None:
    pipeline, frame, _ = fit(name, kind, models=models)
    subject = subject_of(pipeline)
    rows = subject.table(frame)
    answers = pipeline.predict(frame)
    explanation = explain_local(pipeline, frame[:50], X_train=frame[50:], n_neighbors=2)
    assert explanation.feature_names == tuple(frame.columns)
    assert explanation.note == subject.note == ""
    np.testing.assert_allclose(
        explanation.base + explanation.contributions.sum(axis=1), explanation.score, atol=1e-8
    )
    if kind == "labels":
        np.testing.assert_array_equal(subject.mixture.predict(rows), answers)
        np.testing.assert_array_equal(explanation.prediction, answers[:50])
    else:
        np.testing.assert_allclose(subject.mixture.predict(rows), answers, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(explanation.prediction, answers[:50], rtol=1e-9, atol=1e-9)
    for i, row in enumerate(explanation):
        assert row.values == dict(frame.iloc[i])
        there = row.reference_values
        assert set(there) == set(frame.columns)
        assert there["region"] in ("north", "south", "west")
        assert frame["age"].min() <= there["age"] <= frame["age"].max()
        assert frame["income"].min() <= there["income"] <= frame["income"].max()
        assert row.neighbors[0]["values"] == dict(frame.iloc[50 + row.neighbors[0]["row"]])
        if row.where.startswith("age"):
            ends = [float(one) for one in re.findall(r"age\D*(\d+)", row.where)]
            assert all(17 <= end <= 81 for end in ends)
    single = explain_local(pipeline, dict(frame.iloc[3]))[0]
    assert single.prediction == pytest.approx(explanation[3].prediction) or kind == "labels"
    found = importance(pipeline, frame)
    assert found.to_dict()


@pytest.mark.parametrize("drop", [None, "first", "if_binary"])
@pytest.mark.parametrize("n", [0, 1])
def test_median_rows_are_rows_that_a_table_can_have(n, drop) -> None:
    """Of a category that is encoded by indicators: the most frequent level, and no row of zeros."""
    frame, y = table()
    rng = np.random.default_rng(1)
    frame["region"] = rng.choice(["east", "north", "south", "west"], 300, p=[0.2, 0.2, 0.45, 0.15])
    frame["sex"] = rng.choice(["f", "m"], 300, p=[0.3, 0.7])
    y = np.where(y + (frame["region"] == "south") > 1.0, "yes", "no")
    steps = ColumnTransformer(
        [("n", StandardScaler(), NUMBERS), ("c", dense(drop=drop), ["region", "sex"])]
    )
    model = LocalMixtureClassifier(n, **QUICK)
    pipeline = make_pipeline(steps, model).fit(frame, y)
    explanation = explain_local(pipeline, frame[:40])
    for row in explanation:
        there = row.reference_values
        at = explain_local(pipeline, pd.DataFrame([there])[list(frame.columns)])
        assert at.view.scores[row.model_used, 0] == pytest.approx(row.base, abs=1e-9)
        if n == 0:
            assert (there["region"], there["sex"]) == ("south", "m")
            assert pipeline.decision_function(pd.DataFrame([there])) == pytest.approx(row.base)
            other = pd.DataFrame([{**row.values, "region": "south"}])
            gap = row.score - float(pipeline.decision_function(other)[0])
            assert row.contributions["region"] == pytest.approx(gap, abs=1e-9)
    subject = subject_of(pipeline)
    places = subject.mixture.provenance.summary.medians
    for group in (one for one in subject.groups if one.name in ("region", "sex")):
        for place in places:
            assert (group.codes == place[group.columns]).all(axis=1).sum() == 1


@pytest.mark.parametrize("kind", ["labels", "number"])
@pytest.mark.parametrize("name", STEPS)
def test_changes_are_of_the_columns_of_the_table(name, kind) -> None:
    pipeline, frame, _ = fit(name, kind)
    found, regions = 0, 0
    for i in range(25):
        row = frame.iloc[[i]]
        now = pipeline.predict(row)[0]
        wanted = None if kind == "labels" else float(now) + 1.0
        free = counterfactual(pipeline, row, target=wanted)
        near = None if kind == "labels" else float(now) + 0.3
        only = counterfactual(pipeline, row, target=near, immutable=NUMBERS)
        held = counterfactual(
            pipeline, row, target=wanted, immutable=["region"], increasing=["age"]
        )
        for one in (free, only, held):
            assert set(one.before) == set(frame.columns)
            if not one.found:
                continue
            found += 1
            after = pd.DataFrame([one.after])[list(frame.columns)]
            answer = pipeline.predict(after)[0]
            assert answer != now if wanted is None else answer >= one.wanted - 1e-6
            assert isinstance(one.after["age"], int)
            for to in (one.after["income"], one.after["debt"]):
                assert to in (one.before["income"], one.before["debt"]) or float(f"{to:.6g}") == to
        if only.found:
            regions += 1
            assert set(only.changes) == {"region"}
        if held.found:
            assert "region" not in held.changes
            assert held.after["age"] >= held.before["age"]
    assert found > 20
    assert regions
    with pytest.raises(ValueError, match="immutable names 'wealth'"):
        counterfactual(pipeline, row, target=wanted, immutable=["wealth"])


@pytest.mark.parametrize("name", STEPS)
def test_whole_models_are_told_in_the_units_of_the_table(name, tmp_path: Path) -> None:
    pipeline, frame, y = fit(name, "number")
    explanation = explain_global(pipeline, frame, y)
    names = explanation.regions[-1].feature_names
    assert {"age", "income", "debt"} <= set(names)
    slope = dict(zip(names, explanation.regions[-1].coef, strict=True))
    rows = frame[pipeline[-1].apply(pipeline[:-1].transform(frame)) == 1]
    if len(rows):  # of the exterior: more debt by 1
        more = rows[:1].assign(debt=rows["debt"] + 1e-3)
        gap = pipeline.predict(more)[0] - pipeline.predict(rows[:1])[0]
        assert slope["debt"] == pytest.approx(gap / 1e-3, rel=1e-4)
    if name != "categories":
        assert "is 1 for that level and 0 for others" in str(explanation)
        assert "region=" in explanation.note
    page = render(pipeline, frame, y, tmp_path / "report.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert data["fitted_share"] == 1.0  # it knows its training rows
    assert data["score"] == pytest.approx(explanation.score)
    ranges = {one["name"]: one for one in data["features"]}
    assert ranges["age"]["low"] >= 15
    assert ranges["age"]["whole"]
    assert [one["name"] for one in data["features"] if one.get("bound")] == [
        one for one in names if one.startswith("region=") and name != "categories"
    ]
    if name != "categories":  # the form starts at the most frequent level
        first = frame["region"].value_counts().index[0]
        usual = {one["name"]: one["usual"] for one in data["features"] if one.get("bound")}
        assert usual == {one: float(one == f"region={first}") for one in usual}


def test_columns_that_steps_mix_are_named() -> None:
    frame, y = table()
    X = frame[NUMBERS]
    pipeline = make_pipeline(StandardScaler(), PCA(2), LocalMixtureRegressor(1, **QUICK)).fit(X, y)
    note = "The columns pca0, pca1 are as the steps of the pipeline make them, not columns of"
    explanation = explain_local(pipeline, X[:3])
    assert explanation.feature_names == ("pca0", "pca1")
    np.testing.assert_allclose(explanation.prediction, pipeline.predict(X[:3]))
    assert note in str(explanation[0])
    assert note in explanation[0]._repr_html_()
    assert note in str(explain_global(pipeline, X, y))
    change = counterfactual(pipeline, X[:1], target=float(pipeline.predict(X[:1])[0]) + 0.5)
    assert set(change.changes) <= {"pca0", "pca1"}
    assert note in str(change)


def test_columns_made_from_one_each_contribute_to_it() -> None:
    frame, y = table()
    steps = by_columns(PowerTransformer(), OrdinalEncoder())
    pipeline = make_pipeline(steps, LocalMixtureRegressor(0, **QUICK)).fit(frame, y)
    row = explain_local(pipeline, frame[:5])[2]
    assert set(row.contributions) == set(frame.columns)
    assert row.base + sum(row.contributions.values()) == pytest.approx(row.score)
    assert "not columns of the table" in row.note
    # a column that is used twice cannot change by itself
    twice = ColumnTransformer(
        [("a", StandardScaler(), NUMBERS), ("b", PowerTransformer(), ["debt"])]
    )
    pipeline = make_pipeline(twice, LocalMixtureRegressor(0, **QUICK)).fit(frame, y)
    row = explain_local(pipeline, frame[:5])[2]
    assert set(row.contributions) == set(frame.columns)
    assert row.contributions["region"] == 0.0
    change = counterfactual(pipeline, frame[:1], target=float(pipeline.predict(frame[:1])[0]) + 0.5)
    assert set(change.changes) <= {"age", "income"}


def test_selected_columns_and_arrays() -> None:
    frame, y = table()
    X = frame[NUMBERS].to_numpy()
    model = LocalMixtureRegressor(0, **QUICK)
    pipeline = make_pipeline(StandardScaler(), SelectKBest(f_regression, k=2), model).fit(X, y)
    row = explain_local(pipeline, X[:3])[1]
    assert set(row.contributions) == {"x0", "x1", "x2"}
    assert sum(value != 0 for value in row.contributions.values()) <= 2
    change = counterfactual(pipeline, X[0], target=float(pipeline.predict(X[:1])[0]) + 0.3)
    assert set(change.changes) <= {"x0", "x1", "x2"}
    alone = Pipeline([("model", model)]).fit(X, y)
    assert explain_local(alone, X[:3]).to_dict() == explain_local(model, X[:3]).to_dict()


def test_missing_values_that_steps_fill() -> None:
    frame, y = table()
    frame.loc[::7, "debt"] = np.nan
    model = LocalMixtureRegressor(0, **QUICK)
    pipeline = make_pipeline(by_columns(SimpleImputer(), dense()), model).fit(frame, y)
    row = explain_local(pipeline, frame[:1])[0]
    assert row.prediction == pytest.approx(pipeline.predict(frame[:1])[0])
    assert np.isnan(row.values["debt"])
    stand_in = float(frame["debt"].mean())
    assert row.missing == {"debt": pytest.approx(stand_in)}
    assert f"debt is missing, {stand_in:.4g} stands in" in str(row)
    assert explain_local(pipeline, frame[1:2])[0].missing == {}


def test_missing_categories_that_steps_fill() -> None:
    frame, y = table()
    frame["region"] = frame["region"].astype(object)
    frame.loc[::7, "region"] = np.nan
    fill = make_pipeline(SimpleImputer(strategy="most_frequent"), dense())
    model = LocalMixtureRegressor(0, **QUICK)
    pipeline = make_pipeline(by_columns(StandardScaler(), fill), model).fit(frame, y)
    frame.loc[::7, "region"] = np.nan
    row = explain_local(pipeline, frame[:1])[0]
    assert row.missing == {"region": frame["region"].mode()[0]}
    assert "region = " not in str(row)


def test_other_pipelines_are_refused() -> None:
    from sklearn.linear_model import LinearRegression

    frame, y = table()
    pipeline = make_pipeline(StandardScaler(), LinearRegression()).fit(frame[NUMBERS], y)
    with pytest.raises(TypeError, match="expected a fitted motlm estimator"):
        explain_local(pipeline, frame[NUMBERS])


# -- laws, by one table ----------------------------------------------------------------------------


def towns(n: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    """Of a skewed number between whole ends, and rare levels."""
    rng = np.random.default_rng(0)
    ratio = np.clip(np.round(rng.exponential(0.4, n), 2), 0.0, 3.0)
    ratio[:2] = 0.0, 3.0
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": rng.lognormal(3, 0.5, n),
            "ratio": ratio,
            "town": rng.choice(["A", "B", "C", "D"], n, p=[0.6, 0.3, 0.05, 0.05]),
        }
    )
    score = 0.05 * (frame["age"] - 50) + 0.1 * (frame["income"] - 20) - 2 * frame["ratio"]
    score = score + (frame["town"] == "B") + 0.3 * rng.normal(size=n)
    return frame, np.where(score > 0, "yes", "no")


COLUMNS = ["age", "income", "ratio"]


def classifier(n: int = 0, **options: Any) -> LocalMixtureClassifier:
    return LocalMixtureClassifier(n, **{**QUICK, **options})


def encoded(encoder: Any, numbers: Any = None) -> ColumnTransformer:
    scaler = StandardScaler() if numbers is None else numbers
    return ColumnTransformer([("n", scaler, COLUMNS), ("c", encoder, ["town"])])


@pytest.mark.parametrize(
    "scaler", [StandardScaler(), MinMaxScaler(), RobustScaler(), MaxAbsScaler()], ids=repr
)
def test_a_scaled_model_is_explained_as_one_in_the_units_of_the_table(scaler, tmp_path) -> None:
    frame, y = towns()
    X = frame[COLUMNS].assign(balance=frame["ratio"] - 0.3)
    X.loc[::2, "balance"] = 0.0
    direct = explain_local(classifier().fit(X, y), X[:5])
    pipeline = make_pipeline(scaler, classifier()).fit(X, y)
    again = motlm.load(motlm.save(pipeline, tmp_path / "model.json"))
    for model in (pipeline, again):
        found = explain_local(model, X[:5])
        assert found[0].reference_values == direct[0].reference_values
        assert str(found[0].reference_values) == str(direct[0].reference_values)  # no -0.0
        np.testing.assert_allclose(found.contributions, direct.contributions, atol=1e-3)
    regions = [explain_global(one, X, y).regions[-1] for one in (pipeline, again)]
    assert regions[0].median == regions[1].median
    whole = [subject_of(one).mixture.provenance.summary.whole for one in (pipeline, again)]
    assert whole[0].tolist() == whole[1].tolist() == [True, False, False, False]


def test_scalers_that_clip_are_not_straight(tmp_path: Path) -> None:
    frame, y = towns()
    X = frame[COLUMNS]
    for scaler in (MinMaxScaler(clip=True), *_clipping(MaxAbsScaler)):
        pipeline = make_pipeline(scaler, classifier()).fit(X, y)
        with pytest.raises(ModelFileError, match="cannot hold the step"):
            motlm.save(pipeline, tmp_path / "model.json")
        far = X[:3] * 50.0
        np.testing.assert_array_equal(
            explain_local(pipeline, far).prediction, pipeline.predict(far)
        )


def _clipping(kind: Any) -> list[Any]:
    return [kind(clip=True)] if "clip" in kind().get_params() else []


def test_steps_that_compute_something_else_are_noticed(tmp_path: Path) -> None:
    """As a version of scikit-learn might that has an option which is not known."""
    frame, y = towns()
    X = frame[COLUMNS].to_numpy()
    scaler = StandardScaler()
    plain = scaler.transform
    scaler.transform = lambda X, **options: np.clip(plain(X, **options), -2.0, 2.0)
    pipeline = make_pipeline(scaler, classifier())
    pipeline.steps[0][1].fit(X)
    pipeline[-1].fit(scaler.transform(X), y)
    with pytest.raises(ModelFileError, match="cannot hold the step StandardScaler"):
        motlm.save(pipeline, tmp_path / "model.json")
    far = X[:3] * 50.0
    np.testing.assert_array_equal(explain_local(pipeline, far).prediction, pipeline.predict(far))


def answers_of(pipeline: Any, X: pd.DataFrame, **options: Any) -> list[Any]:
    """Changes of some rows, each of which the pipeline itself confirms."""
    found = [counterfactual(pipeline, X.iloc[[i]], **options) for i in range(12)]
    for one in found:
        if one.found and set(X.columns) <= set(one.after):
            after = pd.DataFrame([{name: one.after[name] for name in X.columns}])
            after = after.astype(
                {name: kind for name, kind in X.dtypes.items() if kind.kind == "f"}
            )
            assert pipeline.predict(after)[0] == one.prediction_after
    assert any(one.found for one in found)
    return found


def test_columns_that_depend_on_each_other_do_not_change() -> None:
    frame, y = towns()
    rare = make_pipeline(encoded(dense(min_frequency=20)), classifier()).fit(frame, y)
    for one in answers_of(rare, frame):
        assert set(one.changes) <= set(COLUMNS)
    row = explain_local(rare, frame[:1])[0]
    assert set(row.contributions) == set(frame.columns)
    twice = ColumnTransformer(
        [
            ("a", StandardScaler(), ["age", "income"]),
            ("b", FunctionTransformer(np.log1p), ["income"]),
        ]
    )
    pipeline = make_pipeline(twice, classifier()).fit(frame, y)
    for options in ({}, {"immutable": ["income"]}):
        assert {*()}.union(*(one.changes for one in answers_of(pipeline, frame, **options))) == {
            "age"
        }
    logarithms = make_pipeline(FunctionTransformer(np.log1p), classifier())
    logarithms.fit(frame[COLUMNS], y)
    names = {f"FunctionTransformer of {name}" for name in COLUMNS}
    for one in answers_of(logarithms, frame[COLUMNS]):
        assert set(one.changes) <= names
    held = counterfactual(logarithms, frame[COLUMNS][:1], immutable=["income"])
    assert "FunctionTransformer of income" not in held.changes
    both = ColumnTransformer([("a", dense(), ["town"]), ("b", OrdinalEncoder(), ["town"])])
    pipeline = make_pipeline(both, classifier()).fit(frame, y)
    with pytest.raises(ValueError, match="none can change by itself"):
        counterfactual(pipeline, frame[:1])


@pytest.mark.parametrize("immutable", [[], ["income"]])
def test_products_of_columns_have_no_counterfactual(immutable) -> None:
    frame, y = towns()
    X = frame[COLUMNS]
    squares = make_pipeline(
        StandardScaler(), PolynomialFeatures(2, include_bias=False), classifier()
    ).fit(X, y)
    with pytest.raises(ValueError, match="none can change by itself"):
        counterfactual(squares, X[:1], immutable=immutable)
    components = make_pipeline(StandardScaler(), PCA(2), classifier()).fit(X, y)
    if immutable:
        with pytest.raises(ValueError, match="none can change by itself"):
            counterfactual(components, X[:1], immutable=immutable)
    else:
        assert answers_of(components, X)


@pytest.mark.parametrize("hole", [np.nan, None])
def test_a_level_for_missing_categories_is_not_offered(hole) -> None:
    frame, y = towns()
    frame["town"] = frame["town"].astype(object)
    frame.loc[::9, "town"] = hole
    pipeline = make_pipeline(encoded(dense()), classifier()).fit(frame, y)
    found = 0
    for i in range(30):
        row = frame.iloc[[i]]
        one = counterfactual(pipeline, row, immutable=COLUMNS, max_changes=1)
        assert set(one.changes) <= ({"town"} if i % 9 else set())
        if one.found:
            found += 1
            assert one.after["town"] in ("A", "B", "C", "D")
            after = row.assign(town=one.after["town"])
            assert pipeline.predict(after)[0] == one.prediction_after
            score = pipeline.decision_function(after)[0]
            assert one.score_after == pytest.approx(score)
    assert found
    one = counterfactual(pipeline, frame[:1])
    assert one.found
    assert "town" not in one.changes


@pytest.mark.parametrize(
    "encoder",
    [
        lambda: make_pipeline(SimpleImputer(strategy="most_frequent"), dense()),
        lambda: dense(handle_unknown="ignore"),
    ],
    ids=["filled", "ignored"],
)
def test_rows_without_their_category_have_counterfactuals(encoder) -> None:
    frame, y = towns()
    pipeline = make_pipeline(encoded(encoder()), classifier()).fit(frame, y)
    row = frame[:1].assign(town=pd.Series([np.nan], dtype=object))
    one = counterfactual(pipeline, row)
    assert one.found
    mapping = counterfactual(pipeline, dict(row.iloc[0]))
    assert str(mapping) == str(one)
    assert set(one.changes) <= set(COLUMNS)
    after = row.assign(**{name: [to] for name, (_, to) in one.changes.items()})
    assert pipeline.predict(after)[0] == one.prediction_after


@pytest.mark.parametrize("models", ["linear", "additive"])
@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler()], ids=repr)
@pytest.mark.filterwarnings("ignore:locality 0 of 1 tells nothing")
def test_missing_values_that_steps_pass_on(scaler, models, tmp_path: Path) -> None:
    frame, y = towns()
    X = frame[COLUMNS].astype(float)
    X.loc[::7, "income"] = np.nan
    pipeline = make_pipeline(scaler, classifier(1, local_models=models)).fit(X, y)
    found = explain_local(pipeline, X[:9], X_train=X)
    np.testing.assert_array_equal(found.prediction, pipeline.predict(X[:9]))
    np.testing.assert_allclose(found.base + found.contributions.sum(axis=1), found.score)
    again = motlm.load(motlm.save(pipeline, tmp_path / "model.json"))
    assert explain_local(again, X[:9]).to_dict() == explain_local(pipeline, X[:9]).to_dict()
    assert set(importance(pipeline, X).order) == set(COLUMNS)
    assert explain_global(pipeline, X, y).regions
    for i, one in enumerate(answers_of(pipeline, X)):
        assert "income" not in one.changes or i % 7


SELECTIONS = {
    "names of the step before": lambda: make_pipeline(
        ColumnTransformer([("a", StandardScaler(), ["age", "income"])]).set_output(
            transform="pandas"
        ),
        ColumnTransformer([("b", MinMaxScaler(), ["a__income", "a__age"])]),
    ),
    "labels from and to": lambda: ColumnTransformer(
        [("a", StandardScaler(), slice("age", "income"))]
    ),
    "numbers": lambda: ColumnTransformer([("a", StandardScaler(), [-4, 1])]),
}


@pytest.mark.parametrize("name", SELECTIONS)
def test_selections_of_columns(name, tmp_path: Path) -> None:
    frame, y = towns()
    pipeline = make_pipeline(SELECTIONS[name](), classifier()).fit(frame, y)
    again = motlm.load(motlm.save(pipeline, tmp_path / "model.json"))
    np.testing.assert_array_equal(again.predict(frame), pipeline.predict(frame))
    row = explain_local(pipeline, frame[:1])[0]
    assert row.note == ""
    assert {one for one, part in row.contributions.items() if part} == {"age", "income"}
    answers_of(pipeline, frame)


@pytest.mark.parametrize("hole", [None, pd.NA, np.nan])
def test_rows_as_mappings_with_holes(hole) -> None:
    frame, y = towns()
    X = frame.assign(income=frame["income"].mask(np.arange(300) % 7 == 0))
    row = {**dict(frame.iloc[3]), "income": hole}
    numbers = {name: row[name] for name in COLUMNS}
    for model, given in (
        (make_pipeline(encoded(dense()), classifier()).fit(X, y), row),
        (make_pipeline(StandardScaler(), classifier()).fit(X[COLUMNS], y), numbers),
        (classifier().fit(X, y), row),
        (classifier().fit(X[COLUMNS], y), numbers),
    ):
        one = counterfactual(model, given)
        assert one.found
        assert set(one.changes) <= {"age", "ratio", "town"}
        assert "income" not in str(one)
        assert explain_local(model, given)[0].prediction == one.prediction_before
        short = {name: value for name, value in given.items() if name != "ratio"}
        for explain in (counterfactual, explain_local):
            with pytest.raises(ValueError, match="the row has no value for 'ratio'"):
                explain(model, short)


def test_categories_have_one_importance() -> None:
    frame, y = towns()
    for drop in (None, "first"):
        pipeline = make_pipeline(encoded(dense(drop=drop)), classifier()).fit(frame, y)
        found = importance(pipeline, frame)
        assert set(found.order) == set(frame.columns)
        parts = explain_local(pipeline, frame).contributions
        expected = np.abs(parts - parts.mean(axis=0)).mean(axis=0)
        np.testing.assert_allclose(found.overall, expected)


@pytest.mark.parametrize(
    "options",
    [
        {"strategy": "constant", "fill_value": 0},
        {"strategy": "constant", "fill_value": 7, "keep_empty_features": True},
        {"strategy": "mean"},
        {"strategy": "mean", "keep_empty_features": True},
        {"strategy": "median", "add_indicator": True},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:Skipping features without", "ignore:constant in all training")
def test_columns_without_any_value_are_filled_or_dropped(options, tmp_path: Path) -> None:
    frame, y = towns()
    X = frame[COLUMNS].assign(empty=np.nan)
    X.loc[::7, "income"] = np.nan
    pipeline = make_pipeline(SimpleImputer(**options), classifier()).fit(X, y)
    row = explain_local(pipeline, X[:1])[0]
    assert row.prediction == pipeline.predict(X[:1])[0]
    assert set(row.contributions) == set(X.columns)
    assert row.contributions["empty"] == 0.0
    for one in answers_of(pipeline, X):
        assert set(one.changes) <= set(COLUMNS)
    path = tmp_path / "model.json"
    if "add_indicator" in options:
        with pytest.raises(ModelFileError, match="cannot hold the step SimpleImputer"):
            motlm.save(pipeline, path)
    else:
        again = motlm.load(motlm.save(pipeline, path))
        np.testing.assert_array_equal(again.predict(X), pipeline.predict(X))


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["labels", "number"])
@pytest.mark.parametrize("name", STEPS)
def test_pipelines_are_saved_to_the_last_bit(name, kind, tmp_path: Path) -> None:
    pipeline, frame, _ = fit(name, kind)
    again = motlm.load(motlm.save(pipeline, tmp_path / "model.json"))
    np.testing.assert_array_equal(again.predict(frame), pipeline.predict(frame))
    assert again[-1].mixture_.hash == pipeline[-1].mixture_.hash
    first, second = (explain_local(one, frame[:5]).to_dict() for one in (pipeline, again))
    assert first == second
    target = None if kind == "labels" else float(pipeline.predict(frame[:1])[0]) + 0.5
    changes = [counterfactual(one, frame[:1], target=target) for one in (pipeline, again)]
    assert changes[0].to_dict() == changes[1].to_dict()
    once_more = motlm.load(motlm.save(again, tmp_path / "again.json"))
    np.testing.assert_array_equal(once_more.predict(frame), pipeline.predict(frame))
    assert (tmp_path / "again.json").read_text() == (tmp_path / "model.json").read_text()


def test_unknown_categories_are_as_in_the_pipeline(tmp_path: Path) -> None:
    for name in ("one-hot", "imputed"):
        pipeline, frame, _ = fit(name, "number", 0)
        again = motlm.load(motlm.save(pipeline, tmp_path / "model.json"))
        new = frame[:2].assign(region=["east", "west"])
        if name == "imputed":  # its encoder ignores them, and its imputer fills
            new = new.assign(debt=[np.nan, 1.0])
            np.testing.assert_array_equal(again.predict(new), pipeline.predict(new))
            continue
        with pytest.raises(ValueError, match="unknown categories"):
            pipeline.predict(new)
        with pytest.raises(UnknownCategoryError, match="'region' has categories that fit did not"):
            again.predict(new)


def test_steps_that_a_file_cannot_hold_are_named(tmp_path: Path) -> None:
    frame, y = table()
    X, model = frame[NUMBERS], LocalMixtureRegressor(0, **QUICK)
    path = tmp_path / "model.json"
    for step, kind in (
        (PCA(2), "PCA"),
        (PowerTransformer(), "PowerTransformer"),
        (FunctionTransformer(np.log1p), "FunctionTransformer"),
        (MinMaxScaler(clip=True), "MinMaxScaler"),
    ):
        pipeline = make_pipeline(step, model).fit(X, y)
        with pytest.raises(ModelFileError, match=f"cannot hold the step {kind} of this pipeline"):
            motlm.save(pipeline, path)
        assert not path.exists()
    with pytest.raises(TypeError, match="expected a fitted motlm estimator"):
        motlm.save(PCA(2), path)
    assert motlm.load(motlm.save(model, path)).mixture_.hash == model.mixture_.hash
    alone = Pipeline([("model", model)])
    assert motlm.load(motlm.save(alone, path)).mixture_.hash == model.mixture_.hash


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda steps: steps["columns"].pop(), "columns should be 6, as many as the estimator"),
        (lambda steps: steps["columns"][0].update(source=9), "source should be an integer"),
        (lambda steps: steps["columns"][0]["operations"].append(["eval", 1]), "pairs of one of"),
        (lambda steps: steps["columns"][0]["operations"].append(["divide", 0]), "a number to comp"),
        (lambda steps: steps["columns"][0]["operations"].append(["add", "x"]), "a number to comp"),
        (lambda steps: steps["columns"][0]["operations"].append(["is", 1]), "that are listed"),
        (lambda steps: steps["levels"][0].update(every=[None]), "a list of texts and numbers"),
        (lambda steps: steps["levels"][0].update(source=0), "which indicates a level"),
        (lambda steps: steps.update(names=[]), "names should be 1 to"),
        (lambda steps: steps.update(whole=[9]), "different numbers below 6"),
        (lambda steps: steps.update(medians=[[1.0]]), "rows of 6 numbers"),
        (lambda steps: steps.update(medians=[]), "1 rows, one of each model"),
        (lambda steps: steps.update(more=1), "unknown entries"),
    ],
)
def test_damaged_steps_are_refused(change, match, tmp_path: Path) -> None:
    pipeline, _, _ = fit("one-hot", "number", 0)
    path = motlm.save(pipeline, tmp_path / "model.json")
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content["steps"])
    content["checksum"] = checksum(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ModelFileError, match=match):
        motlm.load(path)


def test_commands_say_that_a_file_holds_a_pipeline(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from motlm.cli._commands import motlm as command_line

    pipeline, frame, _ = fit("one-hot", "number", 0)
    motlm.save(pipeline, tmp_path / "model.json")
    frame.to_csv(tmp_path / "new.csv", index=False)
    arguments = ["predict", str(tmp_path / "model.json"), str(tmp_path / "new.csv")]
    result = CliRunner().invoke(command_line, arguments)
    assert result.exit_code == 2
    assert "holds a pipeline of scikit-learn" in result.output


@pytest.mark.parametrize(
    "selected",
    [
        "age",
        0,
        -1,
        ["debt", "age"],
        [2, -4],
        slice("income", "debt"),
        slice(None, "region"),
        slice("region", None),
        slice(1, -1),
        [True, False, False, True],
        np.array([1, 3]),
        pd.Index(["income", "region"]),
        [],
        lambda X: list(X.columns[1:]),
    ],
    ids=lambda one: "a function" if callable(one) else str(one),
)
def test_places_of_selected_columns(selected: Any) -> None:
    """As the step takes them, however they are selected."""
    frame, _ = table(20)
    one: Any = "passthrough"
    if isinstance(selected, (str, int)):  # the step is given a column, not a table
        one = FunctionTransformer(lambda column: np.asarray(column)[:, None])
    step = ColumnTransformer([("own", one, selected)], remainder="drop").fit(frame)
    [(_, _, kept), *_] = step.transformers_
    places = _places(kept, list(frame.columns))
    np.testing.assert_array_equal(step.transform(frame), frame.iloc[:, places].to_numpy())


@pytest.mark.parametrize("drop", [None, "first", "if_binary"])
@pytest.mark.parametrize("rare", [{"min_frequency": 3}, {"max_categories": 2}])
def test_indicators_are_counted(drop: Any, rare: dict[str, int]) -> None:
    frame = pd.DataFrame(
        {"kind": list("aaaaabbbbccd"), "two": list("xy" * 6), "many": list("ppqqrrrrrrrr")}
    )
    step = OneHotEncoder(drop=drop, sparse_output=False, **rare).fit(frame)
    counts = [_count_outputs(step, k) for k in range(3)]
    names = [str(name).split("_")[0] for name in step.get_feature_names_out()]
    assert counts == [names.count(name) for name in frame]


def test_pooled_columns_keep_their_names() -> None:
    """Columns without rare levels are told as they are; yes and no as such."""
    frame, score = table(400)
    y = np.where(score > np.median(score), "p", "q")
    frame = frame.assign(
        own=frame["age"] > 40, place=np.r_[["isle"] * 4, ["cape"] * 4, ["north", "south"] * 196]
    )
    model = make_pipeline(PoolRareLevels(10), classifier()).fit(frame, y)
    pooled = model[0].transform(frame)
    alone = classifier().fit(pooled, y)
    row, same = explain_local(model, frame)[9], explain_local(alone, pooled)[9]
    assert row.contributions.keys() == same.contributions.keys() == set(frame)
    assert row.contributions == pytest.approx(same.contributions)
    texts = [str(one) for one in explain_local(model, frame[:40])]
    assert any(re.search(r"own = (yes|no) \(there (yes|no)\)", text) for text in texts)
    assert not any(re.search(r"own = (yes|no) \(there \d", text) for text in texts)
    assert explain_local(model, frame)[0].values["place"] == "isle"
    change = counterfactual(model, frame[9:10], immutable=["place"])
    assert change.found
    with pytest.raises(ModelFileError, match=r"makes? the column 'place'"):
        motlm.save(model, "never.json")
