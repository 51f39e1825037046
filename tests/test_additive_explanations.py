"""Additive models as people read them: curves and formulas, importance, drawings, and the smallest
changes that alter an answer.
"""

from __future__ import annotations

import json
import re
import warnings

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from helpers import nearest_change

from motlm import LocalMixtureClassifier, LocalMixtureRegressor, LocalModel
from motlm.corrections import differences_of
from motlm.errors import InputError
from motlm.explanations import explain_global, explain_local, importance
from motlm.explanations._curved import Bend, Curved
from motlm.extents import columns_to_show
from motlm.localities import Exterior, Shape
from motlm.plotting import (
    CoefficientsDisplay,
    ContributionsDisplay,
    ImportanceDisplay,
    LocalitiesDisplay,
    RegressionDisplay,
    ShapeDisplay,
    StripsDisplay,
)

matplotlib.use("Agg")
ADDITIVE = {
    "local_models": "additive",
    "inverse_temperature": 8.0,
    "n_starts": 1,
    "random_state": 0,
}
pytestmark = [
    pytest.mark.filterwarnings("ignore:no training row belongs"),
    pytest.mark.filterwarnings("ignore:lbfgs stopped"),
]


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def quiet(mixture, X, y):
    """Fixtures are not told by marks what to ignore."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no training row belongs")
        warnings.filterwarnings("ignore", message="lbfgs stopped")
        return mixture.fit(X, y)


@pytest.fixture(scope="module")
def cars() -> tuple[pd.DataFrame, np.ndarray]:
    """What old cars cost: a curve of age, another rule for young drivers of strong cars."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 1200),
            "power": rng.uniform(40, 140, 1200),
            "fuel": rng.choice(["diesel", "electric", "gas"], 1200),
        }
    )
    y = 2.0 * np.exp((18 - X["age"]) / 8) + X["power"] / 50 + 0.4 * (X["fuel"] == "gas")
    young = (X["age"] < 40) & (X["power"] < 80)
    return X, np.asarray(y + np.where(young, 0.05 * X["power"] - 2, 0) + rng.normal(0, 0.1, 1200))


KINDS = {
    "number": lambda **more: (LocalMixtureRegressor(1, **ADDITIVE, **more), lambda y: y),
    "rate": lambda **more: (
        LocalMixtureRegressor(1, loss="poisson", **ADDITIVE, **more),
        lambda y: np.random.default_rng(1).poisson(np.exp(y - 2)),
    ),
    "two": lambda **more: (
        LocalMixtureClassifier(1, loss="log", **ADDITIVE, **more),
        lambda y: np.where(y > 2, "dear", "cheap"),
    ),
    "three": lambda **more: (
        LocalMixtureClassifier(1, loss="log", **ADDITIVE, **more),
        lambda y: np.digitize(y, [1.8, 2.6]),
    ),
}


@pytest.fixture(
    scope="module", params=[(kind, how) for kind in KINDS for how in ("own", "none")], ids=str
)
def fitted(request: pytest.FixtureRequest, cars):
    X, y = cars
    kind, corrections = request.param
    mixture, target = KINDS[kind](corrections=corrections)
    return kind, quiet(mixture, X, target(y)), X, target(y)


@pytest.fixture(scope="module")
def number(cars):
    X, y = cars
    return quiet(KINDS["number"]()[0], X, y), X, y


def each_score(model) -> list[tuple[int, object, LocalModel]]:
    """Index of the model, label, and the model of that score."""
    return [
        (i, label, one if label is None else one.of_class(label))
        for i, one in enumerate(model.mixture_.models)
        for label in one.classes or (None,)
    ]


# -- curves and formulas -----------------------------------------------------------------------


def test_curves_add_up_to_the_scores(fitted) -> None:
    """The constant of the formula, curves and straight columns are the score of each model."""
    _, model, X, _ = fitted
    view = model.mixture_.view(model.mixture_.encode(X))
    for i, label, one in each_score(model):
        scores = view.scores[i]
        if label is not None:
            scores = scores[list(one_of(model).classes).index(label)]
        total = np.full(len(X), np.log(one.base) if one.reference is not None else one.base)
        bent = [shape.column for shape in one.shapes]
        for j, name in enumerate(one.feature_names):
            x = view.encoded[:, j]
            zero = one.reference_of(name) if one.reference is not None or j in bent else 0.0
            total += one.curve(name, x).value if j in bent else one.coef[j] * (x - zero)
        np.testing.assert_allclose(total, scores, rtol=1e-9, atol=1e-9)


def one_of(model) -> LocalModel:
    return model.mixture_.exterior


def test_deviations_of_curves_are_those_of_the_posterior(fitted) -> None:
    """Against the variances of the weights of all ramps."""
    _, model, _, _ = fitted
    mixture = model.mixture_
    rho, _ = mixture.posterior.deviations
    n, scale = int(mixture.inputs.varies.sum()), mixture.target.scale
    for i, _, one in each_score(model):
        for bend, own in mixture.inputs.bends.parts():
            x = np.linspace(bend.knots[0] - 5, bend.knots[-1] + 5, 30)
            zero = one.reference_of(bend.column)
            away = bend.values(x) - bend.values(np.array([zero]))
            variance = away**2 @ (rho[i, n:][own] * scale) ** 2
            variance += (one.coef_scale[bend.column] * (x - zero)) ** 2
            found = one.curve(bend.column, x).scale
            np.testing.assert_allclose(found, np.sqrt(variance), rtol=1e-6, atol=1e-9)


def test_points_follow_the_curve(fitted) -> None:
    _, model, _, _ = fitted
    for _, _, one in each_score(model):
        for shape in one.shapes:
            points, whole = one.points(shape.column), one.curve(shape.column, shape.knots)
            assert 2 <= len(points.x) <= 6
            assert np.all(np.diff(points.x) > 0)
            assert one.reference_of(shape.column) in points.x
            some = np.linspace(0, len(shape.knots) - 1, 5).astype(int)
            places = np.union1d(shape.knots[some], one.reference_of(shape.column))
            other = one.curve(shape.column, places)
            away, less = (
                np.sqrt(np.mean((np.interp(whole.x, found.x, found.value) - whole.value) ** 2))
                for found in (points, other)
            )
            assert away < max(less, 0.02 * np.ptp(whole.value))
            again = one.curve(shape.column, points.x)  # round numbers, on the curve
            np.testing.assert_array_equal(points.value, again.value)
            assert all(len(f"{x:.12g}") <= 6 for x in points.x)


def test_formulas_name_curves(fitted) -> None:
    kind, model, _, _ = fitted
    letter = "g" if kind == "rate" else "f"
    for _, _, one in each_score(model):
        first, *curves = one.formula().split("\n")
        assert f"{letter}(age)" in first
        assert f"{letter}(power)" in first
        assert "fuel=gas" in first
        assert [line.split(":")[0].strip() for line in curves] == [
            f"{letter}(age)",
            f"{letter}(power)",
        ]
        zero = one.reference_of("age")
        assert re.search(rf"\b{zero:g}: {'1' if kind == 'rate' else '0'}(,|$)", curves[0])


def test_a_formula_is_read_off_by_hand() -> None:
    """A V around 40, that rates 1.5 per 10 years; and the points of a line are its ends."""
    knots = np.array([20.0, 40.0, 60.0])
    bend = Shape(0, knots, np.array([2.0, 0.0, 2.0]), np.zeros(3))
    names, coef, none = ("age", "size"), np.array([0.0, -1.0]), np.zeros(2)
    model = LocalModel(names, coef, none, 5.0, 0.0, 9, shapes=(bend,))
    assert model.formula() == "5 + f(age) - 1 * size\n    f(age): 20: +2, 40: 0, 60: +2"
    assert model.base == 5.0
    np.testing.assert_allclose(model.curve(0, [0, 30, 80]).value, [2, 1, 2])
    np.testing.assert_allclose(model.curve("age", [40, 60], reference=20).value, [-2, 0])
    np.testing.assert_allclose(model.curve("size").value, [0, -1])
    assert model.points("size").x.tolist() == [0, 1]
    units = {"reference": np.array([40.0, 1.0]), "step": np.array([10.0, 1.0])}
    rate = LocalModel(names, coef, none, 0.0, 0.0, 9, shapes=(bend,), **units)
    assert rate.base == pytest.approx(np.exp(-1))
    age, size = rate.factors()
    assert age["factor"] is None
    assert age["text"] == "x 7.39 at 20, x 1 at 40, x 7.39 at 60"
    assert [one["x"] for one in age["points"]] == [20, 40, 60]
    assert size["factor"] == pytest.approx(np.exp(-1))
    assert rate.formula().startswith(
        "0.368 x g(age) x 0.368^((size - 1) / 1)\n    g(age): 20: 7.39"
    )
    straight = LocalModel(
        names, coef, none, 5.0, 0.0, 9, shapes=(Shape(0, knots, 0 * knots, none),)
    )
    assert straight.formula() == "5 - 1 * size"
    with pytest.raises(InputError, match="expected one of the columns 'age', 'size'"):
        model.curve("weight")
    with pytest.raises(InputError, match="expected one of the columns"):
        model.curve(2)


def test_classes_have_curves_of_their_own() -> None:
    knots, values = np.array([0.0, 1.0, 2.0]), np.array([[0.0, 1, 0], [0, 0, 0], [0, -1, 0]])
    bend = Shape(0, knots, values, np.zeros(3))
    model = LocalModel(
        ("x",), np.zeros((3, 1)), np.zeros(1), np.zeros(3), 0.0, 9, classes=("a", "b", "c"),
        shapes=(bend,),
    )  # fmt: skip
    assert model.curve("x", [0, 1, 2], label="a").value.tolist() == [-1, 0, -1]
    assert model.points("x", label="c").value.tolist() == [1, 0, 1]
    a, a_curve, b, c, _ = model.formula().split("\n")
    assert (a, b, c) == ("a: 1 + f(x)", "b: 0", "c: -1 + f(x)")
    assert a_curve == "    f(x): 0: -1, 1: 0, 2: -1"
    with pytest.raises(InputError, match="label must be one of the labels"):
        model.curve("x")


def test_corrections_are_straight_differences(number) -> None:
    model, X, _ = number
    [locality] = model.localities_
    whole, *columns = locality.differences()
    assert {one["column"] for one in columns} <= {"age", "power"}
    assert all(one["bends"] for one in columns)
    assert "as everywhere, except:" in locality.correction()
    place = X.iloc[:1].assign(**whole["place"])
    view = model.mixture_.view(model.mixture_.encode(place))
    assert whole["difference"] == pytest.approx(view.scores[0, 0] - view.scores[1, 0])
    [gap], [deviation] = differences_of(model.mixture_)
    assert gap[0] == pytest.approx(locality.coef[0] - model.exterior_.coef[0])
    assert ((deviation > 0) == (gap != 0)).all()


def test_factors_of_corrections_do_not_name_a_factor_that_is_not_constant() -> None:
    knots = np.array([20.0, 40.0, 60.0])
    bend = (Shape(0, knots, np.array([2.0, 0.0, 2.0]), np.zeros(3)),)
    units = {"reference": np.array([40.0]), "step": np.array([10.0])}
    one, zero = np.ones(1), np.zeros(1, dtype=bool)
    outer = LocalModel(("age",), 0.1 * one, 0 * one, 0.0, 0.0, 9, shapes=bend, **units)
    exterior = Exterior(outer, np.array([30.0]), zero, ~zero)
    local = LocalModel(
        ("age",), 0.2 * one, 0 * one, -3.0, 0.0, 9, shapes=bend, exterior=exterior, **units
    )
    assert local.correction() == "as everywhere, except: age a further x 2.72 per 10"


# -- the whole model ---------------------------------------------------------------------------


def test_shapes_are_in_the_global_explanation(fitted) -> None:
    kind, model, X, y = fitted
    explanation = explain_global(model, X, y)
    content = json.loads(json.dumps(explanation.to_dict()))
    for region in content["regions"]:
        assert [one["column"] for one in region["shapes"]] == ["age", "power"]
        for one in region["shapes"]:
            assert np.shape(one["value"])[-1] == len(one["x"]) == len(one["scale"])
    assert content["importance"]["columns"][0]["column"] in ("age", "power")
    text = str(explanation)
    assert ("g(age): " if kind == "rate" else "f(age): ") in text
    assert "mean effect of each column: " in text
    assert list(explanation.regions[0].to_frame()["bends"]) == [True, True, False, False]
    assert "bends" in explanation.regions[0]._repr_html_()
    if kind == "rate":
        tariff = explanation.factors()
        at = [name for name in tariff.index if name.startswith("age at ")]
        assert 2 <= len(at) <= 6
        x = float(at[0].removeprefix("age at "))
        knots = model.exterior_.shapes[0].knots
        curve = model.exterior_.curve("age", [np.clip(x, knots[0], knots[-1])])
        assert tariff["exterior"][at[0]] == pytest.approx(np.exp(curve.value[0]))


def test_linear_models_are_told_as_before(cars) -> None:
    X, y = cars
    model = LocalMixtureRegressor(0, local_models="linear", random_state=0).fit(X, y)
    explanation = explain_global(model, X, y)
    assert "shapes" not in explanation.regions[0].to_dict()
    assert "bends" not in explanation.regions[0].to_frame()
    assert "mean effect" not in str(explanation)
    assert "\n" not in model.exterior_.formula()


# -- importance --------------------------------------------------------------------------------


def test_importance_is_the_mean_distance_of_contributions(fitted) -> None:
    """Against explain_local, whose contributions differ by a constant within a model."""
    kind, model, X, _ = fitted
    label = 1 if kind == "three" else None
    found = importance(model, X, label=label)
    explanation, used = explain_local(model, X), model.apply(X)
    parts = explanation.contributions
    parts = parts[:, list(model.classes_).index(1)] if kind == "three" else parts
    for i, name in enumerate(found.names):
        assert name == model.mixture_.region_name(i)
        own = parts[used == i]
        assert found.n_rows[i] == len(own)
        if len(own):
            expected = np.abs(own - own.mean(axis=0)).mean(axis=0)
            np.testing.assert_allclose(found.by_model[i], expected, atol=1e-9)
    frame = found.to_frame()
    assert list(frame["column"]) == list(found.order)
    assert frame["all rows"].is_monotonic_decreasing
    assert json.loads(json.dumps(found.to_dict()))["rows"]["exterior"] == found.n_rows[-1]
    assert found.order[0] in str(found)
    assert found.order[0] in found._repr_html_()


def test_importance_of_classes_does_not_depend_on_a_shift_of_all_scores(cars) -> None:
    X, y = cars
    mixture, target = KINDS["three"]()
    model = mixture.fit(X, target(y))
    every = [importance(model, X, label=label).overall for label in model.classes_]
    assert importance(model, X).overall.max() < np.max(every) + 1e-9
    with pytest.raises(InputError, match="label must be one of the labels"):
        importance(model, X, label="dear")
    with pytest.raises(InputError, match="X is empty"):
        importance(model, X[:0])


def test_importance_of_one_score_has_no_label(number) -> None:
    model, X, _ = number
    with pytest.raises(InputError, match="this model has one score"):
        importance(model, X, label=1)


# -- drawings ----------------------------------------------------------------------------------


def test_shapes_are_drawn(fitted) -> None:
    kind, model, X, _ = fitted
    more = {"label": 1} if kind == "three" else {}
    display = ShapeDisplay.from_estimator(model, X, **more)
    assert sorted(display.columns) == ["age", "fuel", "power"]
    assert display.columns == list(importance(model, X, **more).order)
    used, n = model.apply(X), model.mixture_.n_localities
    outer = one_of(model).of_class(1) if more else one_of(model)
    for panel in display.panels:
        *lines, last = panel.lines
        assert last.model == n
        if panel.name == "fuel":
            assert panel.levels == ("diesel", "electric", "gas")
            np.testing.assert_allclose(last.value[1:], outer.coef[2:])
            continue
        whole = outer.curve(panel.name, last.x)
        np.testing.assert_allclose(last.value, whole.value)
        np.testing.assert_allclose(last.scale, whole.scale)
        assert last.x[[0, -1]].tolist() == [X[panel.name].min(), X[panel.name].max()]
        for line in lines:
            rows = X[panel.name][used == line.model]
            assert line.x[[0, -1]].tolist() == [rows.min(), rows.max()]
            middle = np.median(rows)
            np.testing.assert_allclose(
                np.interp(middle, line.x, line.value), np.interp(middle, last.x, last.value),
                atol=1e-9,
            )  # fmt: skip
            assert np.interp(middle, line.x, line.scale) == 0
    assert len(display.axes_) == 3
    assert display.ax_ is display.axes_[0]
    label = display.ax_.get_ylabel()
    assert label == "factor" if kind == "rate" else label.startswith("adds to the")


def test_shapes_of_some_columns_and_without_rows(number) -> None:
    model, X, _ = number
    display = ShapeDisplay.from_estimator(model.mixture_, columns=["power"])
    assert display.columns == ["power"]
    knots = model.exterior_.shapes[1].knots
    assert display.panels[0].lines[-1].x[[0, -1]].tolist() == [knots[0], knots[-1]]
    assert {*ShapeDisplay.from_estimator(model, max_columns=2).columns} == {"age", "power"}
    figure, axes = plt.subplots(1, 2)
    again = ShapeDisplay.from_estimator(model, X, max_columns=2, ax=axes)
    assert again.figure_ is figure
    with pytest.raises(InputError, match="ax has 2 axes; 3 columns need one each"):
        ShapeDisplay.from_estimator(model, X, ax=axes)
    with pytest.raises(InputError, match="columns must be some of 'age'"):
        ShapeDisplay.from_estimator(model, columns=["weight"])
    with pytest.raises(InputError, match="label is for three classes"):
        ShapeDisplay.from_estimator(model, label=1)
    with pytest.raises(InputError, match="X is empty"):
        ShapeDisplay.from_estimator(model, X[:0])


def test_only_what_is_corrected_is_drawn(cars) -> None:
    X, y = cars
    model = LocalMixtureRegressor(
        1, locality_columns=["age"], corrections="own", **ADDITIVE
    ).fit(X, y)  # fmt: skip
    display = ShapeDisplay.from_estimator(model, X)
    lines = {panel.name: len(panel.lines) for panel in display.panels}
    assert lines == {"age": 2, "power": 1, "fuel": 1}


def test_many_levels_and_straight_columns_are_drawn() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "town": [f"town {k}" for k in rng.integers(0, 15, 400)],
            "owner": rng.integers(0, 2, 400),
            "age": rng.integers(18, 80, 400),
        }
    )
    y = 0.1 * X["age"] + X["owner"] + (X["town"] == "town 3") * 2.0
    model = LocalMixtureRegressor(0, **ADDITIVE).fit(X, y)
    display = ShapeDisplay.from_estimator(model, X)
    assert sorted(display.columns) == ["age", "owner", "town"]
    ShapeDisplay.from_estimator(model)
    linear = LocalMixtureRegressor(0, local_models="linear", random_state=0).fit(X, y)
    [age] = ShapeDisplay.from_estimator(linear, X, columns=["age"]).panels
    slopes = np.diff(age.lines[0].value) / np.diff(age.lines[0].x)
    np.testing.assert_allclose(slopes, linear.exterior_.coef[-1])


def test_importance_is_drawn(fitted) -> None:
    kind, model, X, _ = fitted
    display = ImportanceDisplay.from_estimator(model, X, max_columns=2)
    assert display.columns == list(importance(model, X).order[:2])
    expected = (
        "logarithm of the rate"
        if kind == "rate"
        else ("prediction" if kind == "number" else "score")
    )
    assert display.ax_.get_xlabel() == f"mean effect on the {expected}"
    assert display.ax_.patches[0].get_width() == pytest.approx(display.importance.overall.max())
    with pytest.raises(InputError, match="max_columns must be at least 1"):
        ImportanceDisplay.from_estimator(model, X, max_columns=0)


def test_other_drawings_of_additive_models(fitted) -> None:
    _, model, X, y = fitted
    display = CoefficientsDisplay.from_estimator(model, differences=False)
    bends = dict(zip(display.feature_names, display.bends, strict=True))
    assert bends == {"age": True, "power": True, "fuel=gas": False, "fuel=electric": False}
    assert "of the straight part" in "".join(ax.get_xlabel() for ax in display.axes_)
    differences = CoefficientsDisplay.from_estimator(model, differences=True)
    assert any(differences.bends) == (not model.mixture_.posterior.pooled)
    ContributionsDisplay.from_estimator(model, X[:1])
    LocalitiesDisplay.from_estimator(model, X, y, grid_resolution=20)
    StripsDisplay.from_estimator(model, X)
    encoded = model.mixture_.encode(X)
    assert set(columns_to_show(model.mixture_, encoded, [])[:2]) == {0, 1}


def test_a_bent_line_of_one_column() -> None:
    x = np.random.default_rng(0).uniform(-2, 2, size=(300, 1))
    model = LocalMixtureRegressor(0, **ADDITIVE).fit(x, np.abs(x[:, 0]))
    display = RegressionDisplay.from_estimator(model, x, np.abs(x[:, 0]))
    np.testing.assert_allclose(display.prediction, model.predict(display.grid[:, None]))
    assert np.abs(display.prediction - np.abs(display.grid)).mean() < 0.1


# -- what would change the answer --------------------------------------------------------------


def wavy(n_columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Curves of all kinds, and a corner with another rule."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(1000, n_columns))
    y = np.sin(2.5 * X[:, 0]) + 0.8 * np.abs(X[:, 1]) - 0.3 * X[:, -1] ** 2
    return X, y + 2.0 * (X[:, 0] > 0.5) * (X[:, 1] < 0)


def nearest_of_a_grid(model, x, met, ends, steps, fixed=()) -> float:
    """The least distance of points of a grid with the answer, by the same model."""
    mixture = model.mixture_
    lines = [[x[j]] if j in fixed else np.linspace(*ends, steps) for j in range(len(x))]
    grid = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, len(x))
    view = mixture.view(grid)
    good = (view.used == mixture.view(x[None]).used) & met(view)
    gaps = mixture.inputs.standardize(grid[good]) - mixture.inputs.standardize(x[None])
    return float(np.linalg.norm(gaps, axis=1).min(initial=np.inf))


@pytest.mark.parametrize("corrections", ["own", "none"])
@pytest.mark.parametrize("n_localities", [0, 2])
@pytest.mark.parametrize("kind", ["number", "rate", "two", "any of three", "one of three"])
@pytest.mark.parametrize(("n_columns", "steps"), [(2, 200), (3, 40)])
def test_no_row_of_a_grid_is_nearer(n_columns, steps, kind, n_localities, corrections) -> None:
    if not n_localities and corrections == "none":
        pytest.skip("nothing is corrected")
    X, score = wavy(n_columns, 3)
    options = {**ADDITIVE, "corrections": corrections}
    fit = LocalMixtureRegressor(n_localities, **options).fit
    y: np.ndarray = score
    if kind == "rate":
        y = np.random.default_rng(0).poisson(np.exp(score))
        fit = LocalMixtureRegressor(n_localities, loss="poisson", **options).fit
    elif kind != "number":
        y = score > 0.4 if kind == "two" else np.digitize(score, [0.0, 0.8])
        fit = LocalMixtureClassifier(n_localities, loss="log", **options).fit
    model = fit(X, y)
    rng, ends = np.random.default_rng(1), (-2.2, 2.2)
    bounds = {f"x{j}": ends for j in range(n_columns)}
    found = 0
    for k, x in enumerate(X[:3]):
        view = model.mixture_.view(x[None])
        now, wanted = view.answer[0], None
        if kind in ("number", "rate"):
            wanted = float(np.quantile(model.predict(X), rng.uniform(0.1, 0.9)))
            up = wanted > now
            met = lambda other: (other.answer >= wanted) == up  # noqa: B023, E731
        elif kind == "one of three":
            wanted = int(now + 1) % 3
            met = lambda other: other.answer == wanted  # noqa: B023, E731
        else:
            met = lambda other: other.answer != now  # noqa: B023, E731
        fixed = (1,) if k == 2 else ()
        change = nearest_change(
            model, x, target=wanted, bounds=bounds, immutable=[f"x{j}" for j in fixed]
        )
        best = nearest_of_a_grid(model, x, met, ends, steps, fixed)
        if not change.found:
            assert best == np.inf, change.reason
            continue
        found += 1
        after = model.mixture_.view(np.array([list(change.after.values())], dtype=float))
        assert after.used[0] == view.used[0]
        close = kind in ("number", "rate") and after.answer[0] == pytest.approx(wanted)
        assert met(after)[0] or close
        assert change.distance <= best + 1e-9
        assert all(change.after[f"x{j}"] == x[j] for j in fixed)
    assert found


def test_whole_numbers_and_categories_by_enumeration(number) -> None:
    """All ages, all fuels; the power is what it takes."""
    model, X, _ = number
    mixture, power = model.mixture_, np.linspace(40, 140, 401)
    for k in range(4):
        row = X.iloc[[k]]
        wanted = float(model.predict(row)[0]) + 0.7
        change = nearest_change(
            model, row, target=wanted, integer=["age"], bounds={"power": (40, 140), "age": (18, 79)}
        )
        every = pd.DataFrame(
            [
                {"age": age, "power": one, "fuel": fuel}
                for age in range(18, 80)
                for one in power
                for fuel in ("diesel", "electric", "gas")
            ]
        )
        view = mixture.view(mixture.encode(every))
        good = (view.answer >= wanted) & (view.used == model.apply(row)[0])
        gaps = mixture.inputs.standardize(view.encoded[good])
        gaps = gaps - mixture.inputs.standardize(mixture.encode(row))
        best = np.linalg.norm(gaps, axis=1).min(initial=np.inf)
        if change.found:
            assert float(change.after["age"]).is_integer()
            after = row.assign(**change.after)
            assert model.predict(after)[0] >= wanted - 1e-9
            assert change.distance <= best + 1e-9
        else:
            assert not change.exact or best == np.inf


def test_more_columns_than_cells_can_be_counted() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 10))
    y = sum(np.sin(2 * X[:, j] + j) for j in range(10))
    model = LocalMixtureRegressor(0, **ADDITIVE).fit(X, y)
    x = X[1]
    change = nearest_change(model, x, target=float(model.predict(X[1:2])[0]) + 3)
    assert change.found
    alone = [  # each column by itself, over a fine grid
        nearest_of_a_grid(
            model, x, lambda view: view.answer >= change.wanted, (-4, 4), 4001,
            [i for i in range(10) if i != j],
        )
        for j in range(10)
    ]  # fmt: skip
    assert change.distance <= min(alone) + 1e-9
    assert model.predict([list(change.after.values())])[0] == pytest.approx(change.wanted, abs=1e-4)


@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize("n_planes", [1, 2])
def test_parts_of_a_curved_domain_are_never_nearer(equal, n_planes) -> None:
    """The point of each part is at least as far as that of the whole, and where it is not divided
    it is inside, and no random point of the domain is nearer.
    """
    if equal and n_planes == 2:
        pytest.skip("predictions have one score")
    rng = np.random.default_rng(0)
    free = np.ones(2, dtype=bool)
    for _ in range(20):
        bends = tuple(
            Bend(j, np.sort(rng.normal(size=6)), rng.normal(size=(n_planes, 6))) for j in range(2)
        )
        domain = Curved(
            gradient=0.3 * rng.normal(size=(n_planes, 2)),
            reach=0.5 * rng.normal(size=n_planes),
            equal=equal,
            low=np.full(2, -3.0),
            high=np.full(2, 3.0),
            center=np.zeros(2),
            weight=np.ones(2),
            radius=float(rng.choice([np.inf, 2.0])),
            bends=bends,
        )
        start = 0.5 * rng.normal(size=2)
        places = rng.uniform(-3, 3, size=(4000, 2))
        inside = np.array([domain.excess(one) for one in places])
        good = (inside >= 0).all(axis=1) & (np.linalg.norm(places, axis=1) <= domain.radius)
        best = np.linalg.norm(places[good] - start, axis=1).min(initial=np.inf)
        waiting, nearest = [domain], np.inf
        while waiting:
            one = waiting.pop()
            point = one.nearest(start)
            if point is None:
                continue
            parts = one.split(point, free)
            for part in parts:
                inner = part.nearest(start)
                if inner is not None:
                    gap = np.linalg.norm(inner - start) - np.linalg.norm(point - start)
                    assert gap >= -1e-7
            if not parts:
                assert np.all(np.abs(domain.excess(point)) <= 1e-8 if equal else True)
                assert np.all(domain.excess(point) >= -1e-8)
                nearest = min(nearest, float(np.linalg.norm(point - start)))
            waiting.extend(parts)
        if not equal:
            assert nearest <= best + 1e-9
