"""Explanations of three classes or more: that contributions add up to the score of each class, and
that counterfactuals have the class that was asked for and are the nearest there are.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from helpers import nearest_change
from scipy.optimize import minimize
from sklearn.datasets import load_iris

from motlm import LocalMixtureClassifier
from motlm.explanations import counterfactual, explain_global, explain_local
from motlm.explanations._wedge import Wedge, project

pytestmark = pytest.mark.filterwarnings("ignore::motlm.errors.IdleLocalityWarning")
QUICK = {"local_models": "linear", "inverse_temperature": 8.0, "n_starts": 1, "random_state": 0}


def problem(seed: int, n_classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two discs in a square; in each, and outside, the class of the largest of linear scores."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(500, 2))
    centers = rng.uniform(-1.3, 1.3, size=(2, 2))
    slopes, levels = 2.0 * rng.normal(size=(3, n_classes, 2)), rng.normal(size=(3, n_classes))
    inside = np.linalg.norm(X[:, None] - centers, axis=2) < [1.0, 0.9]
    which = np.where(inside[:, 0], 0, np.where(inside[:, 1], 1, 2))
    scores = np.einsum("nkd,nd->nk", slopes[which], X) + 0.7 * levels[which]
    return X, scores.argmax(axis=1), centers


def fit(seed: int, n_classes: int, **options):
    X, y, centers = problem(seed, n_classes)
    made = LocalMixtureClassifier(points_of_interest=centers, **QUICK | options)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no training row belongs")
        warnings.filterwarnings("ignore", message="lbfgs stopped")
        return made.fit(X, y), X, y


MODELS = [
    (loss, overlap, n_classes)
    for loss, overlap in product(("log", "zero-one"), ("nearest", "mean"))
    for n_classes in (3, 5)
]


@pytest.fixture(scope="module", params=MODELS, ids=str)
def fitted(request: pytest.FixtureRequest):
    loss, overlap, n_classes = request.param
    return fit(2, n_classes, loss=loss, overlap=overlap)


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, np.ndarray]:
    """Two numbers, a whole number and two columns of categories; the rule changes with age."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(20, 60, 600),
            "income": rng.normal(3, 1, 600),
            "children": rng.integers(0, 5, 600),
            "region": rng.choice(["north", "south", "west"], 600),
            "owner": rng.choice(["no", "yes"], 600),
        }
    )
    rich, many = frame["income"] - 3, (frame["children"] - 2) / 1.5
    young = np.where(frame["age"] < 40, 1.0, -1.0)
    west = 0.6 * (frame["region"] == "west")
    scores = np.column_stack([young * rich, many + west, -young * rich - many])
    return frame, np.array(["bad", "fair", "good"])[scores.argmax(axis=1)]


@pytest.fixture(scope="module")
def mixed(table) -> LocalMixtureClassifier:
    frame, y = table
    points = frame.iloc[:2].assign(
        age=[28.0, 52.0], income=3.0, children=2, region="north", owner="no"
    )
    ages = {"locality_columns": ["age"], "corrections": "none"}
    return LocalMixtureClassifier(points_of_interest=points, **ages, **QUICK).fit(frame, y)


@pytest.fixture(scope="module")
def iris():
    data = load_iris(as_frame=True)
    X, y = data.data, data.target_names[data.target]
    points = X.iloc[[60, 109]]
    return LocalMixtureClassifier(points_of_interest=points, **QUICK).fit(X, y), X, y


# -- rows ------------------------------------------------------------------------------------------


def test_contributions_add_up_to_the_score_of_each_class(fitted) -> None:
    model, X, _ = fitted
    explanation = explain_local(model, X)
    n_classes = len(model.classes_)
    assert explanation.score.shape == explanation.base.shape == (len(X), n_classes)
    assert explanation.contributions.shape == (len(X), n_classes, 2)
    np.testing.assert_allclose(
        explanation.base + explanation.contributions.sum(axis=2), explanation.score, atol=1e-9
    )
    np.testing.assert_array_equal(
        model.classes_[explanation.score.argmax(axis=1)], model.predict(X)
    )
    np.testing.assert_array_equal(explanation.prediction, model.predict(X))
    np.testing.assert_array_equal(explanation.view.used, model.apply(X))
    np.testing.assert_array_equal(explanation.contradicted, model.ambiguous(X))
    if model.loss == "log":
        np.testing.assert_allclose(explanation.score, model.decision_function(X), atol=1e-9)


def test_each_row_has_all_classes(fitted) -> None:
    model, X, _ = fitted
    explanation, probability = explain_local(model, X[:60], X_train=X), model.predict_proba(X[:60])
    seen = set()
    for i, row in enumerate(explanation):
        assert list(row.by_class) == model.classes_.tolist()
        for k, part in enumerate(row.by_class.values()):
            assert part.base + sum(part.contributions.values()) == pytest.approx(part.score)
            assert part.score == pytest.approx(explanation.score[i, k])
            assert part.probability == pytest.approx(probability[i, k], abs=1e-12)
        own = row.by_class[row.prediction]
        assert (row.score, row.base, row.contributions) == (
            own.score,
            own.base,
            own.contributions,
        )
        scores = sorted((part.score for part in row.by_class.values()), reverse=True)
        assert row.score == scores[0]
        assert row.by_class[row.runner_up].score == scores[1]
        for other in row.by_class:
            if other != row.prediction:
                gap = row.against(other)
                assert gap.score == pytest.approx(row.score - row.by_class[other].score)
                assert gap.base + sum(gap.contributions.values()) == pytest.approx(gap.score)
                assert gap.score >= row.against().score
        answers = {one["answer"] for one in row.models if one["applies"]}
        assert row.contradicted == (len(answers) > 1)
        for one in row.models:
            assert one["score"] == one["scores"][one["answer"]] == max(one["scores"].values())
        assert row.identical is not None
        assert row.values == dict(zip(row.values, X[row.identical], strict=True))
        seen.add(row.model_used)
    assert len(seen) > 1


def test_the_difference_is_the_log_odds(iris) -> None:
    model, X, _ = iris
    for row in explain_local(model, X[::30]):
        part, (a, b) = row.against(), (row.prediction, row.runner_up)
        odds = row.by_class[a].probability / row.by_class[b].probability
        assert part.score == pytest.approx(np.log(odds))
        assert part.probability == pytest.approx(odds / (1 + odds))


def test_a_row_in_words(iris) -> None:
    model, X, _ = iris
    row = explain_local(model, X[50:51])[0]
    text = str(row)
    assert text.startswith(f"row 0: versicolor, decided by {row.decided_by}")
    assert ", the score of versicolor\n" in text
    assert f", the score of {row.runner_up}\n" in text
    assert f"    versicolor against {row.runner_up}:\n" in text
    assert text.endswith(f"= {row.against().score:.4g}, the difference of the two scores")
    assert text.count("petal width (cm) = 1.4") == 2
    frame = row.to_frame()
    assert f"against {row.runner_up}" in frame
    for label, part in row.by_class.items():
        name = "contribution" if label == "versicolor" else f"contribution to {label}"
        assert frame[name].sum() == pytest.approx(sum(part.contributions.values()))
    html = row._repr_html_()
    assert "Score of versicolor" in html
    assert html.count("<table>") == 3
    for bad in ("versicolor", "rose"):
        with pytest.raises(ValueError, match=r"expected one of the other labels \['setosa', 'vir"):
            row.against(bad)


def test_one_score_has_no_other_classes(iris) -> None:
    _, X, y = iris
    two = LocalMixtureClassifier(0, **QUICK).fit(X[:100], y[:100])
    row = explain_local(two, X[:1])[0]
    assert row.by_class == {}
    assert row.runner_up is None
    with pytest.raises(ValueError, match="this model has one score"):
        row.against("versicolor")


def test_texts_of_many_classes_are_short() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = (np.arctan2(X[:, 1], X[:, 0]) // (np.pi / 6)).astype(int)
    model = LocalMixtureClassifier(0, **QUICK).fit(X, y)
    assert len(model.classes_) == 12
    text = str(explain_local(model, X[:1]))
    assert text.count("the score of ") == 6
    assert "smaller scores of 6 more classes" in text


def test_contributions_of_categories_are_gathered(table, mixed) -> None:
    frame, _ = table
    explanation = explain_local(mixed, frame)
    assert explanation.contributions.shape == (600, 3, 5)
    np.testing.assert_allclose(
        explanation.base + explanation.contributions.sum(axis=2), explanation.score, atol=1e-9
    )
    row, mixture = explanation[5], mixed.mixture_
    used = mixture.models[row.model_used].of_class("fair")
    place = mixture.provenance.summary.medians[row.model_used]
    encoded = mixture.encode(frame)[5]
    names = [j for j, name in enumerate(used.feature_names) if name.startswith("region=")]
    assert len(names) == 2
    assert row.by_class["fair"].contributions["region"] == pytest.approx(
        sum(used.coef[j] * (encoded[j] - place[j]) for j in names)
    )


def test_tables_json_and_notebooks(table, mixed) -> None:
    frame, y = table
    every = [
        explain_global(mixed, frame, y),
        explain_global(mixed, frame, y).regions[0],
        explain_local(mixed, frame[:7], X_train=frame),
        explain_local(mixed, frame[:7])[0],
        explain_local(mixed, frame[:7])[0].against(),
        counterfactual(mixed, frame[:1]),
    ]
    for one in every:
        json.dumps(one.to_dict(), allow_nan=False)
        if hasattr(one, "to_frame"):
            assert isinstance(one.to_frame(), pd.DataFrame)
            assert "<table>" in one._repr_html_()
    lines = every[2].to_frame()
    for label in mixed.classes_:
        added = lines.filter(regex=f"^contribution of .* to {label}$").sum(axis=1)
        np.testing.assert_allclose(lines[f"base of {label}"] + added, lines[f"score of {label}"])
    content = every[3].to_dict()
    assert [one["label"] for one in content["classes"]] == ["bad", "fair", "good"]
    assert content["runner_up"] == every[3].runner_up


def test_labels_are_escaped() -> None:
    rng = np.random.default_rng(0)
    bad = "<script>alert(1)</script>"
    X = rng.normal(size=(120, 2))
    y = np.array([bad, "b {} %s", "c\nd"])[(X @ rng.normal(size=(2, 3))).argmax(axis=1)]
    model = LocalMixtureClassifier(0, **QUICK).fit(X, y)
    for one in (
        explain_global(model, X, y),
        explain_global(model, X, y).regions[0],
        explain_local(model, X),
        counterfactual(model, X[0]),
    ):
        assert "<script>" not in one._repr_html_()
        assert str(one)
        one.to_frame()


# -- the whole -------------------------------------------------------------------------------------


def test_regions_have_a_formula_for_each_class(iris) -> None:
    model, X, y = iris
    explanation = explain_global(model, X, y)
    assert explanation.score == pytest.approx(model.score(X, y))
    member = model.membership(X)
    for i, region in enumerate(explanation.regions):
        inside = member[:, i] if i < len(model.localities_) else ~member.any(axis=1)
        own = X[inside] @ region.coef.T + region.intercept
        answers = model.classes_[np.asarray(own).argmax(axis=1)]
        if inside.any():
            assert region.score == pytest.approx(np.mean(answers == y[inside]))
            assert region.balance == {
                f"share of {k}": pytest.approx(np.mean(y[inside] == k)) for k in model.classes_
            }
        assert region.classes == tuple(model.classes_)
        local = model.mixture_.models[i]
        for k, formula in region.formulas.items():
            assert formula == local.of_class(k).formula()
            assert f"    {k}: {formula}\n" in explanation.text(full_formulas=True)
            differs = f"{k}: {local.of_class(k).correction()}" if local.exterior else formula
            assert differs in str(explanation)
            assert differs in region.correction or not local.exterior
            assert explanation.rows()[i][f"formula of {k}"] == formula
        frame = region.to_frame().set_index("column")
        coefficients = explanation.coefficients()
        for k, label in enumerate(model.classes_):
            np.testing.assert_array_equal(frame[f"coefficient of {label}"], region.coef[k])
            np.testing.assert_array_equal(coefficients[f"{region.name}, {label}"], region.coef[k])
    with pytest.raises(TypeError, match="factors are of models of rates"):
        explanation.factors()


def test_contradictions_are_counted(fitted) -> None:
    model, X, y = fitted
    explanation, member = explain_global(model, X, y), model.membership(X)
    assert explanation.ambiguous == pytest.approx(model.ambiguous(X).mean())
    if len(model.localities_) == 2:
        scores = model.mixture_.view(model.mixture_.encode(X)).scores
        apart = scores[0].argmax(axis=0) != scores[1].argmax(axis=0)
        assert explanation.contradictions[0, 1] == (apart & member.all(axis=1)).sum()
        assert explanation.contradictions[0, 1] == model.ambiguous(X).sum()


def test_old_tables_have_no_new_columns(iris) -> None:
    """Of two classes everything has the names that it had."""
    _, X, y = iris
    two = LocalMixtureClassifier(0, **QUICK).fit(X[:100], y[:100])
    whole = explain_global(two, X[:100], y[:100])
    assert list(whole.to_frame().columns)[-1] == "formula"
    assert list(whole.coefficients().columns) == ["the model"]
    assert not {"classes", "formulas"} & set(whole.regions[0].to_dict())
    assert "classes" not in explain_local(two, X[:1])[0].to_dict()
    assert isinstance(counterfactual(two, X[:1]).score_before, float)


# -- counterfactuals -------------------------------------------------------------------------------


def random_wedge(rng: np.random.Generator, kind: int) -> tuple[Wedge, np.ndarray]:
    d, planes = int(rng.integers(1, 6)), int(rng.integers(2, 10))
    gradient, start = rng.normal(size=(planes, d)), rng.normal(size=d)
    inner, center = start + 0.7 * rng.normal(size=(2, d))
    reach = gradient @ inner - rng.uniform(-0.15, 0.6, planes)
    if kind % 5 == 0:  # a slab, which may be empty
        gradient[1], reach[1] = -gradient[0], -reach[0] + rng.uniform(-0.5, 0.2)
    if kind % 7 == 0:  # a class whose score has no slope
        gradient[-1], reach[-1] = 0.0, rng.choice([-0.1, 0.0, 0.1])
    weight = rng.uniform(0.1, 4.0, d) * (rng.random(d) < (0.6 if kind % 3 == 2 else 1.0))
    weight = np.ones(d) if kind % 3 == 0 else weight
    low, high = np.full(d, -np.inf), np.full(d, np.inf)
    if kind % 2:
        low, high = start - rng.uniform(0, 1.5, d), start + rng.uniform(0, 1.5, d)
    radius = np.inf if kind % 4 == 3 else rng.uniform(0.5, 2.5)
    return Wedge(gradient, reach, False, low, high, center, weight, radius), start


def rules(wedge: Wedge) -> list:
    made = [lambda z: wedge.gradient @ z - wedge.reach]
    if np.isfinite(wedge.radius):
        made.append(lambda z: wedge.radius**2 - wedge.weight @ (z - wedge.center) ** 2)
    return made


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")
def test_the_nearest_point_between_planes_against_a_solver(rng: np.random.Generator) -> None:
    found, empty = 0, 0
    for kind in range(250):
        wedge, start = random_wedge(rng, kind)
        point, conditions = wedge.nearest(start), rules(wedge)
        solved = minimize(
            lambda z, start=start: ((z - start) ** 2).sum(),
            np.clip(wedge.center, wedge.low, wedge.high),
            jac=lambda z, start=start: 2 * (z - start),
            bounds=list(zip(wedge.low, wedge.high, strict=True)),
            constraints=[{"type": "ineq", "fun": one} for one in conditions],
            options={"maxiter": 500, "ftol": 1e-13},
        )
        feasible = solved.success and all(np.min(one(solved.x)) >= -1e-7 for one in conditions)
        if point is None:
            empty += 1
            assert not feasible
            continue
        found += 1
        assert all(np.min(one(point)) >= -1e-9 for one in conditions)
        assert (point >= wedge.low).all()
        assert (point <= wedge.high).all()
        if feasible:
            assert ((point - start) ** 2).sum() <= solved.fun * (1 + 1e-4) + 1e-7
    assert min(found, empty) > 50


def test_projections_by_hand() -> None:
    corner = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    reach = np.array([1.0, 2.0, -9.0])
    np.testing.assert_allclose(project(np.zeros(2), corner, reach), [1.0, 2.0])
    np.testing.assert_allclose(project(np.array([5.0, 0.0]), corner, reach), [5.0, 2.0])
    np.testing.assert_array_equal(project(np.array([5.0, 5.0]), corner, reach), [5.0, 5.0])
    slab = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert project(np.zeros(2), slab, np.array([1.0, -0.5])) is None
    np.testing.assert_allclose(project(np.zeros(2), slab, np.array([1.0, -1.0])), [1.0, 0.0])
    assert project(np.zeros(2), np.zeros((1, 2)), np.array([0.1])) is None
    np.testing.assert_array_equal(project(np.ones(2), np.zeros((1, 2)), np.zeros(1)), [1.0, 1.0])


GRID = np.stack(np.meshgrid(*[np.linspace(-4.0, 4.0, 241)] * 2), axis=-1).reshape(-1, 2)


@pytest.mark.parametrize("n_classes", [3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_no_point_of_a_grid_is_nearer(seed: int, n_classes: int) -> None:
    """Of every class, and of any other: the answer is the class, by the same model, and no point of
    a fine grid with that class by that model is clearly nearer.
    """
    loss = "log" if seed % 2 else "zero-one"
    model, X, _ = fit(seed, n_classes, standardize=False, loss=loss)
    labels, used = model.predict(GRID), model.apply(GRID)
    exact = 0
    for x in X[:10]:
        own, region = model.predict(x[None])[0], model.apply(x[None])[0]
        away = np.where(used == region, np.linalg.norm(GRID - x, axis=1), np.inf)
        for target in (None, *model.classes_):
            one = nearest_change(model, x, target=target)
            if target == own:
                assert one.reason == "the model gives that answer already"
                continue
            good = labels != own if target is None else labels == target
            nearest = away[good].min(initial=np.inf)
            if not one.found:
                assert not np.isfinite(nearest), (one.reason, nearest)
                continue
            after = np.array([list(one.after.values())])
            answer = model.predict(after)[0]
            assert answer == one.prediction_after
            assert answer != own if target is None else answer == target
            assert model.apply(after)[0] == region
            assert one.distance == pytest.approx(np.linalg.norm(after[0] - x))
            assert one.distance <= (nearest if one.exact else 1.05 * nearest + 0.02) + 1e-6
            exact += one.exact
    assert exact > 10


@pytest.mark.parametrize("features", [1, 2])
def test_learned_intervals_and_ellipses_of_several_classes(features: int) -> None:
    X, y, _ = problem(3, 3)
    options = QUICK | {"inverse_temperature": 2.0, "locality_features": features}
    model = LocalMixtureClassifier(2, **options).fit(X, y)
    line = np.linspace(-2.5, 2.5, 250)
    grid = np.stack(np.meshgrid(line, line), -1).reshape(-1, 2)
    answers, used = model.predict(grid), model.apply(grid)
    inputs = model.mixture_.inputs
    places, exact = inputs.standardize(grid), set()
    for x in X[:30]:
        one = nearest_change(model, x)
        fits = (used == model.apply(x[None])[0]) & (answers != model.predict(x[None])[0])
        away = np.linalg.norm(places[fits] - inputs.standardize(x[None]), axis=1)
        nearest = away.min() if fits.any() else np.inf
        if one.found:
            after = np.array([list(one.after.values())])
            assert model.apply(after)[0] == model.apply(x[None])[0]
            assert one.distance <= nearest * (1 if one.exact else 1.1)
            exact.add((one.region, one.exact))
        else:
            assert not (one.exact and np.isfinite(nearest))
    assert ("locality 0", True) in exact


def test_the_nearest_of_all_classes(iris) -> None:
    """Without a target: the least of the distances to each other class."""
    model, X, _ = iris
    single = LocalMixtureClassifier(0, **QUICK).fit(X, model.predict(X))
    for i in range(0, 150, 10):
        row = X.iloc[[i]]
        own = single.predict(row)[0]
        each = [nearest_change(single, row, target=k) for k in single.classes_ if k != own]
        any_other = nearest_change(single, row)
        assert any_other.exact
        assert any_other.wanted is None
        assert any_other.distance == pytest.approx(
            min(one.distance for one in each if one.found), rel=1e-5
        )


def test_a_class_that_no_row_has() -> None:
    """Of three classes along a line the one in the middle may have the largest score nowhere."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    y = np.where(X[:, 0] > 0, 2, 0)
    y[rng.choice(300, 6, replace=False)] = 1
    model = LocalMixtureClassifier(0, **QUICK).fit(X, y)
    line = np.linspace(-1e3, 1e3, 200_001)[:, None]
    assert 1 not in model.predict(line)
    one = counterfactual(model, X[0], target=1)
    assert not one.found
    assert one.exact
    where = "within the range of the training rows"
    assert str(one) == f"no counterfactual: no row {where} has that answer"
    fixed = counterfactual(model, X[0], immutable=["x0"])
    assert fixed.reason == "no row within the given limits has another answer"


def test_scores_are_of_each_class(iris) -> None:
    model, X, _ = iris
    one = counterfactual(model, X[50:51], target="virginica")
    assert (one.prediction_before, one.prediction_after) == ("versicolor", "virginica")
    assert str(one).startswith("versicolor becomes virginica in ")
    after = pd.DataFrame([one.after])
    np.testing.assert_allclose(
        list(one.score_after.values()), model.decision_function(after)[0], atol=1e-9
    )
    assert list(one.score_before) == list(model.classes_)
    assert max(one.score_after, key=one.score_after.get) == "virginica"
    with pytest.raises(ValueError, match="target must be one of the labels"):
        counterfactual(model, X[:1], target="rose")


def test_fixed_bounds_whole_numbers_and_categories(table, mixed) -> None:
    frame, _ = table
    found = 0
    for i, target in product(range(12), (None, "bad", "fair", "good")):
        row = frame.iloc[[i]]
        own = mixed.predict(row)[0]
        free, *limited = (
            counterfactual(mixed, row, target=target, **options)
            for options in (
                {},
                {"immutable": ["region", "owner"], "integer": ["children"]},
                {"immutable": ["income", "region", "owner"]},
                {"bounds": {"income": (0.0, 6.0), "age": (18, 80)}, "integer": ["children"]},
            )
        )
        for k, one in enumerate([free, *limited]):
            if not one.found:
                assert one.reason
                continue
            found += 1
            changed = pd.DataFrame([one.after])[list(frame.columns)]
            assert mixed.predict(changed)[0] == one.prediction_after != own
            assert target in (None, one.prediction_after)
            assert mixed.apply(changed)[0] == mixed.apply(row)[0]
            if free.exact and k < 3:  # with fewer limits fewer changes, or smaller ones
                counts = len(one.changes), len(free.changes)
                assert counts[0] >= counts[1]
                assert counts[0] > counts[1] or one.distance >= free.distance * (1 - 1e-5)
            if k in (1, 3):
                assert float(one.after["children"]).is_integer()
            if k == 2:
                assert set(one.changes) <= {"age", "children"}
            if k == 3:
                assert 0 <= one.after["income"] <= 6
                assert 18 <= one.after["age"] <= 80
    assert found > 60


def test_whole_numbers_by_enumeration() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(-6, 7, size=(400, 2)).astype(float)
    y = (X @ rng.normal(size=(2, 4)) + rng.normal(size=4)).argmax(axis=1)
    model = LocalMixtureClassifier(0, **QUICK).fit(X, y)
    every = np.array(list(product(range(-20, 21), repeat=2)), dtype=float)
    labels, inverse = model.predict(every), model.mixture_.inputs.units.inverse_scale
    for x, target in product(X[:8], (None, *model.classes_)):
        own = model.predict(x[None])[0]
        if target == own:
            continue
        one = nearest_change(model, x, target=target, integer=["x0", "x1"])
        good = labels != own if target is None else labels == target
        assert one.found == good.any()
        if one.found:
            away = np.linalg.norm((every - x) * inverse, axis=1)
            assert one.exact
            assert one.distance == pytest.approx(away[good].min())


def test_categories_by_enumeration(table, mixed) -> None:
    frame, _ = table
    held, changed = ["age", "income", "children"], 0
    for i, target in product(range(30), ("bad", "fair", "good")):
        row = frame.iloc[[i]]
        if mixed.predict(row)[0] == target:
            continue
        one = counterfactual(mixed, row, target=target, immutable=held)
        every = pd.concat(
            [
                row.assign(region=r, owner=o)
                for r, o in product(("north", "south", "west"), ("no", "yes"))
            ]
        )
        good = (mixed.predict(every) == target) & (mixed.apply(every) == mixed.apply(row)[0])
        assert one.found == bool(good.any())
        if one.found:
            changed += 1
            inputs, mixture = mixed.mixture_.inputs, mixed.mixture_
            Z, start = (inputs.standardize(mixture.encode(part)) for part in (every, row))
            assert one.distance == pytest.approx(np.linalg.norm(Z - start, axis=1)[good].min())
    assert changed > 3


def test_rows_used_by_several_models_are_not_searched() -> None:
    model, X, _ = fit(2, 3, overlap="mean", standardize=False)
    geometry = model.mixture_.geometry
    model.mixture_ = replace(
        model.mixture_, geometry=replace(geometry, radius=np.full(len(geometry.radius), 9.0))
    )
    one = counterfactual(model, X[0])
    assert not one.found
    assert one.region == "several localities together"
    assert one.reason.startswith("several localities contain the row")


def test_mixtures_are_explained_like_their_estimators(iris) -> None:
    model, X, y = iris
    mixture = model.mixture_
    assert explain_global(mixture, X, y).to_dict() == explain_global(model, X, y).to_dict()
    assert explain_local(mixture, X[:5]).to_dict() == explain_local(model, X[:5]).to_dict()
    first, second = (counterfactual(one, X[:1]) for one in (mixture, model))
    assert first.to_dict() == second.to_dict()
