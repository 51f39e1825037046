"""Drawings: that they show what they say, in all the shapes that models come in, and that no labels
overlap.
"""

from __future__ import annotations

import builtins
import re
import warnings
from dataclasses import replace
from itertools import pairwise

import matplotlib
import numpy as np
import pandas as pd
import pytest
from made import place_at
from matplotlib.collections import PathCollection, QuadMesh
from sklearn.datasets import load_iris

from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.certificates import certify
from motlm.datasets import make_clf_case2, make_reg_case2
from motlm.explanations import explain_local
from motlm.geometry import Locus
from motlm.plotting import (
    CoefficientsDisplay,
    ContributionsDisplay,
    LocalitiesDisplay,
    PathDisplay,
    RegressionDisplay,
    RiskDisplay,
    StripsDisplay,
)
from motlm.plotting._style import label_colors, label_markers

matplotlib.use("Agg")
pytestmark = pytest.mark.filterwarnings("ignore::motlm.errors.IdleLocalityWarning")
QUICK = {"local_models": "linear", "inverse_temperature": 2.0, "n_starts": 1, "random_state": 0}


@pytest.fixture(autouse=True)
def _close():
    yield
    matplotlib.pyplot.close("all")


def quiet(model, X, y):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no training row belongs")
        return model.fit(X, y)


@pytest.fixture(scope="module")
def model():
    X, y = make_clf_case2(200, random_state=0)
    X = pd.DataFrame(X, columns=["east", "north"])
    return (
        X,
        y,
        quiet(LocalMixtureClassifier(points_of_interest=[[-1.4, 0.0], [1.4, 0.0]], **QUICK), X, y),
    )


@pytest.fixture(scope="module")
def wide():
    """40 columns, 12 localities."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        rng.normal(size=(400, 40)),
        columns=[f"a rather long name of a column {j}" for j in range(40)],
    )
    y = np.where(X.iloc[:, 0] * X.iloc[:, 1] > 0, 1, -1)
    fitted = LocalMixtureClassifier(
        points_of_interest=X[:12], max_iter=5, locality_widths="equal", **QUICK
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted.fit(X, y)
    return X, y, fitted


def no_overlap(display) -> None:
    """No two labels of the y axis cover each other."""
    display.figure_.canvas.draw()
    boxes = sorted(
        (label.get_window_extent() for label in display.ax_.get_yticklabels()),
        key=lambda box: box.y0,
    )
    for below, above in pairwise(boxes):
        assert below.y1 <= above.y0 + 0.5


# -- maps ------------------------------------------------------------------------------------------


def test_map_of_localities(model) -> None:
    X, y, fitted = model
    display = LocalitiesDisplay.from_estimator(fitted, X, y, grid_resolution=30)
    assert len(display.circles) == len(fitted.localities_)
    assert display.ax_.get_xlabel() == "east"
    width = 2 * fitted.localities_[0].half_width
    assert (display.ax_.patches[0].width, display.ax_.patches[0].height) == pytest.approx(
        tuple(width)
    )
    assert display.held == ""
    again = display.plot(ax=display.ax_)
    assert again.figure_ is display.figure_
    grid = pd.DataFrame({"east": display.xx0.ravel(), "north": display.xx1.ravel()})
    np.testing.assert_array_equal(
        display.response.ravel(), (fitted.predict(grid) == fitted.classes_[1]).astype(int)
    )


def test_a_slice_cuts_balls_where_it_says(rng: np.random.Generator) -> None:
    """Points of the map inside a circle are inside the ball, and the others outside."""
    X = rng.normal(size=(300, 4))
    y = np.where(np.linalg.norm(X - 0.5, axis=1) < 1.9, X[:, 0] > 0.5, X[:, 0] < 0.5)
    fitted = quiet(
        LocalMixtureClassifier(
            points_of_interest=[[0.5] * 4],
            **QUICK | {"inverse_temperature": 8.0, "locality_widths": "equal"},
        ),
        X,
        y,
    )
    assert fitted.localities_
    for at in (None, 0):
        display = LocalitiesDisplay.from_estimator(
            fitted, X, y, features=(2, "x0"), at=at, grid_resolution=40
        )
        assert display.feature_names == ("x2", "x0")
        assert (
            "the other 2 columns held at "
            + ("the average row" if at is None else "the center of locality 0")
            in display.held
        )
        [(_, center, width)] = display.circles
        rows = np.tile(
            fitted.mixture_.inputs.typical if at is None else fitted.localities_[0].center,
            (display.xx0.size, 1),
        )
        rows[:, 2], rows[:, 0] = display.xx0.ravel(), display.xx1.ravel()
        inside = ((rows[:, 2] - center[0]) / width[0]) ** 2 + (
            (rows[:, 0] - center[1]) / width[1]
        ) ** 2 <= 1
        assert (inside == fitted.membership(rows)[:, 0]).mean() > 0.999


@pytest.mark.parametrize("features", [(0, 1), (1, 2), (0, 3), (1,), (2,), (3,)])
def test_localities_in_a_few_columns(rng: np.random.Generator, features) -> None:
    """Ellipses where the model sees both columns, bands where it sees one, intervals along one."""
    X = rng.normal(size=(200, 4)) * [1.0, 5.0, 2.0, 1.0]
    y = np.where(X[:, 0] * np.sign(X[:, 1]) > 0, 1, -1)
    fitted = quiet(LocalMixtureClassifier(points_of_interest=[[0.0] * 4], **QUICK), X, y)
    places = (
        Locus("euclidean", np.array([0, 1]), np.array([0.0, 0.8]), 1.3, np.array([0.5, 2.0])),
        Locus("euclidean", np.array([1, 2]), np.array([-0.8, 0.0]), 1.6, np.array([1.5, 0.7])),
    )
    made = place_at(fitted, places, rng)
    display = LocalitiesDisplay.from_estimator(made, X, y, features=features, grid_resolution=40)
    rows = np.tile(made.mixture_.inputs.typical, (display.xx0.size, 1))
    rows[:, features[0]] = display.xx0.ravel()
    if len(features) == 2:
        rows[:, features[1]] = display.xx1.ravel()
    member = made.membership(rows)
    for i, center, width in display.circles:
        inside = (((rows[:, list(features)] - center) / width) ** 2).sum(axis=1) <= 1
        assert (inside == member[:, i]).mean() > 0.999
    drawn = [i for i, _, _ in display.circles]
    for i in set(range(2)) - set(drawn):  # those that are not drawn are told
        assert len(set(member[:, i])) == 1
        verb = "lies within" if member[0, i] else "does not meet"
        assert re.search(rf"the map {verb} locality [01, ]*{i}", display.held)
    with pytest.raises(ValueError, match=r"a projection draws balls; .* Draw a slice"):
        LocalitiesDisplay.from_estimator(made, X, y, kind="projection")


@pytest.fixture(scope="module")
def corner():
    """Other slopes for young drivers of strong cars; localities in at most two columns."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "bonus": rng.normal(size=500),
            "age": rng.uniform(18, 80, 500),
            "power": rng.uniform(30, 200, 500),
            "fuel": rng.choice(["gas", "diesel"], 500),
        }
    )
    inside = (X["age"] < 32) & (X["power"] > 90)
    y = X["bonus"] + np.where(inside, 0.1 * (X["power"] - 90), 0.02 * X["age"])
    y += 0.1 * rng.normal(size=500)
    options = {"locality_features": 2, "locality_columns": ["age", "power"]}
    return X, y, quiet(LocalMixtureRegressor(1, **QUICK, **options), X, y)


def test_maps_show_the_columns_that_localities_look_at(corner) -> None:
    """Of a locality in the two columns shown, the ellipse is the locality, for all rows."""
    X, y, fitted = corner
    display = LocalitiesDisplay.from_estimator(fitted, X, y, grid_resolution=20)
    assert display.feature_names == ("age", "power")
    assert "they change answers, not localities" in display.held
    [(_, center, width)] = display.circles
    inside = (((X[["age", "power"]] - center) / width) ** 2).sum(axis=1) <= 1
    np.testing.assert_array_equal(inside, fitted.membership(X)[:, 0])
    [one] = fitted.localities_
    np.testing.assert_allclose(
        width[np.isfinite(width)], one.half_width[[1, 2]][np.isfinite(width)]
    )


@pytest.mark.parametrize("labels", [False, True])
def test_a_map_of_one_column(corner, labels: bool) -> None:
    """The line is the prediction, or the colors are the labels, and the interval is the
    locality, at what is held.
    """
    X, y, fitted = corner
    if labels:
        y = np.where(y > np.median(y), "high", "low")
        options = {"locality_features": 1, "locality_columns": ["age"], **QUICK}
        fitted = quiet(LocalMixtureClassifier(1, **options), X, y)
    display = LocalitiesDisplay.from_estimator(fitted, X, y, features="age", grid_resolution=50)
    assert display.feature_names == ("age",)
    row = dict(zip(fitted.mixture_.inputs.names, fitted.mixture_.inputs.typical, strict=True))
    rows = np.tile(list(row.values()), (50, 1))
    rows[:, list(row).index("age")] = display.xx0
    view = fitted.mixture_.view(rows)
    shown = fitted.classes_[display.response] if labels else display.response
    np.testing.assert_array_equal(shown, view.answer)
    for i, center, width in display.circles:
        inside = np.abs(display.xx0 - center[0]) <= width[0]
        np.testing.assert_array_equal(inside, view.member[i])
    assert display.plot().ax_.get_xlabel() == "age"
    assert LocalitiesDisplay.from_estimator(fitted, X, features=[1], grid_resolution=9).circles


def test_strips(corner) -> None:
    """A row outside a strip is outside the locality; the ends are those of the sentences."""
    X, _, fitted = corner
    display = StripsDisplay.from_estimator(fitted, X)
    member = fitted.membership(X)
    assert display.strips
    for i, one in display.extents:
        low, high = one.ends
        assert not member[(X[one.name] < low) | (X[one.name] > high), i].any()
        assert f"{one.name} {one.text}" in fitted.localities_[i].where
        low, *_, high = display.ranges[one.name]
        assert (low, high) == (X[one.name].min(), X[one.name].max())
    no_overlap(display)
    again = display.plot(ax=display.ax_)
    assert again.figure_ is display.figure_
    few = StripsDisplay.from_estimator(fitted.mixture_, X, max_features=1)
    assert len(few.ranges) == 1
    nothing = LocalMixtureRegressor(0, **QUICK).fit(X[["age"]], X["power"])
    with pytest.raises(ValueError, match="the model has no locality"):
        StripsDisplay.from_estimator(nothing, X[["age"]])
    with pytest.raises(ValueError, match="X is empty"):
        StripsDisplay.from_estimator(fitted, X[:0])


@pytest.mark.filterwarnings("ignore::motlm.errors.IdleLocalityWarning")
def test_strips_of_categories_and_metrics(corner) -> None:
    X, y, _ = corner
    y = np.where(X["fuel"] == "gas", X["bonus"], -X["bonus"])
    options = {"locality_features": 1, "locality_columns": ["fuel"], "corrections": "all", **QUICK}
    fitted = quiet(LocalMixtureRegressor(1, **options), X, y)
    [(i, one)] = StripsDisplay.from_estimator(fitted, X).extents
    levels = dict(one.levels)
    inside = np.array([levels[name] for name in X["fuel"]])
    np.testing.assert_array_equal(inside, fitted.membership(X)[:, i])
    assert one.text == next(name for name, yes in one.levels if yes)
    numbers = X[["age", "power"]].to_numpy()
    city = LocalMixtureRegressor(points_of_interest=numbers[:1], metric="canberra", **QUICK)
    with pytest.raises(ValueError, match=r"do not show how far localities reach.*'canberra'"):
        StripsDisplay.from_estimator(quiet(city, numbers, y), numbers)


def test_mixtures_are_drawn_like_their_estimators(model) -> None:
    X, y, fitted = model
    mixture = fitted.mixture_
    display = LocalitiesDisplay.from_estimator(mixture, X, y, grid_resolution=10)
    again = LocalitiesDisplay.from_estimator(fitted, X, y, grid_resolution=10)
    np.testing.assert_array_equal(display.response, again.response)
    np.testing.assert_array_equal(
        CoefficientsDisplay.from_estimator(mixture).coef,
        CoefficientsDisplay.from_estimator(fitted).coef,
    )
    assert ContributionsDisplay.from_estimator(mixture, X[:1]).names
    with pytest.raises(ValueError, match="nothing was chosen"):
        PathDisplay.from_estimator(
            replace(mixture, provenance=replace(mixture.provenance, path=()))
        )


def test_a_projection_keeps_circles(wide) -> None:
    X, y, fitted = wide
    display = LocalitiesDisplay.from_estimator(fitted, X, y, kind="projection", max_rows=100)
    assert len(display.X) == 100
    assert display.response is None
    for (_, _, width), one in zip(display.circles, fitted.localities_, strict=True):
        assert width == pytest.approx([one.radius] * 2)
    with pytest.raises(ValueError, match="features and at are of slices"):
        LocalitiesDisplay.from_estimator(fitted, X, y, kind="projection", at=0)


def test_maps_of_regressors_and_of_categories(rng: np.random.Generator) -> None:
    frame = pd.DataFrame(
        {"a": rng.normal(size=120), "b": rng.normal(size=120), "c": rng.choice(["x", "y"], 120)}
    )
    y = frame["a"] ** 2 + 0.1 * rng.normal(size=120)
    fitted = quiet(LocalMixtureRegressor(1, locality_features="ball", **QUICK), frame, y)
    display = LocalitiesDisplay.from_estimator(fitted, frame, y, grid_resolution=20)
    assert display.feature_names == ("a", "b")  # numbers first
    assert display.response.shape == (20, 20)
    LocalitiesDisplay.from_estimator(fitted, frame, kind="projection")
    LocalitiesDisplay.from_estimator(fitted, frame, y, kind="projection")


def test_map_refuses_what_it_cannot_draw(model, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, fitted = model
    with pytest.raises(TypeError, match=r"expected a fitted motlm estimator .* got a dict"):
        LocalitiesDisplay.from_estimator({}, X, y)
    single = LocalMixtureClassifier(0, **QUICK).fit(X[["east"]], y)
    assert LocalitiesDisplay.from_estimator(single, X[["east"]], y).feature_names == ("east",)
    for options, match in (
        ({"kind": "map"}, "kind must be one of 'slice', 'projection'"),
        ({"at": 9}, "at must be one of the"),
        ({"features": ("east", "south")}, "must be one or two of the columns 'east', 'north'"),
        ({"features": (1, 1)}, "one column or two different ones"),
        ({"features": ()}, "one column or two different ones"),
    ):
        with pytest.raises(ValueError, match=match):
            LocalitiesDisplay.from_estimator(fitted, X, y, **options)
    city = quiet(
        LocalMixtureClassifier(points_of_interest=[[0.0, 0.0]], metric="manhattan", **QUICK), X, y
    )
    with pytest.raises(
        ValueError, match="draws Euclidean balls; this model has metric='manhattan'"
    ):
        LocalitiesDisplay.from_estimator(city, X, y)
    real = builtins.__import__

    def without_matplotlib(name, *arguments, **keywords):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    with pytest.raises(
        ImportError, match=r"plotting needs matplotlib: pip install 'motlm\[plot\]'"
    ):
        LocalitiesDisplay.from_estimator(fitted, X, y, grid_resolution=5)


# -- models ----------------------------------------------------------------------------------------


LINE = {"points_of_interest": [[-0.5], [0.5]], **QUICK, "inverse_temperature": 16.0}


def test_regression_along_one_column() -> None:
    X, y = make_reg_case2(random_state=0)
    plain = LocalMixtureRegressor(**LINE).fit(X, y)
    display = RegressionDisplay.from_estimator(plain, X, y)
    assert "root mean squared errors" in display.interval_name
    np.testing.assert_allclose(display.prediction, plain.predict(display.grid[:, None]))
    np.testing.assert_array_equal(display.model_used, plain.apply(display.grid[:, None]))
    with pytest.warns(FutureWarning, match="RegressionDisplay.speaker is now model_used"):
        np.testing.assert_array_equal(display.speaker, display.model_used)
    again = RegressionDisplay.from_estimator(plain.mixture_, X, y)
    np.testing.assert_array_equal(again.interval, display.interval)
    frame = pd.DataFrame({"dose": X[:, 0]})
    framed = LocalMixtureRegressor(**LINE, overlap="mean").fit(frame, y)
    assert RegressionDisplay.from_estimator(framed, frame, y).ax_.get_xlabel() == "dose"
    labels = LocalMixtureClassifier(0, **QUICK).fit(X, y > 0)
    with pytest.raises(TypeError, match="draws a regression; this model is a classification"):
        RegressionDisplay.from_estimator(labels, X, y)
    with pytest.raises(ValueError, match="draws models of 1 column; this one has 2"):
        RegressionDisplay.from_estimator(
            LocalMixtureRegressor(0, **QUICK).fit(np.column_stack([X, X**2]), y), X, y
        )


def test_regression_in_any_metric() -> None:
    """Where distances do not tell how far a locality reaches, the grid does."""
    X, y = make_reg_case2(random_state=0)
    known, asked = (
        LocalMixtureRegressor(**LINE, metric=metric).fit(X, y)
        for metric in ("euclidean", "canberra")
    )
    assert asked.localities_[0].half_width is None
    display = RegressionDisplay.from_estimator(asked, X, y)
    for i, (low, high) in enumerate(display.balls):
        inside = display.grid[asked.membership(display.grid[:, None])[:, i]]
        assert (low, high) == (inside.min(), inside.max())
    for (low, high), one in zip(
        RegressionDisplay.from_estimator(known, X, y).balls, known.localities_, strict=True
    ):
        assert (low + high) / 2 == pytest.approx(one.center[0])
        assert high - low == pytest.approx(2 * one.half_width[0])


def test_certified_intervals_are_drawn() -> None:
    X, y = make_reg_case2(random_state=0)
    certified, certificate = certify(LocalMixtureRegressor(**LINE), X, y)
    display = RegressionDisplay.from_estimator(certified, X, y)
    assert display.interval_name == "certified interval, 90% of outcomes"
    half = np.array([one.value for one in certificate.of("interval")])[display.model_used]
    np.testing.assert_allclose(display.interval[:, 1] - display.prediction, half)


def test_coefficients_of_many_columns_and_localities(wide) -> None:
    _, _, fitted = wide
    display = CoefficientsDisplay.from_estimator(fitted)
    assert len(display.feature_names) == 40
    no_overlap(display)
    full = {"standardized": False, "differences": False}
    few = CoefficientsDisplay.from_estimator(fitted, max_features=5, **full)
    j = fitted.exterior_.feature_names.index(few.feature_names[0])
    assert few.coef[-1, 0] == fitted.exterior_.coef[j]
    sizes = np.abs(display.coef).max(axis=0)
    assert (np.diff(sizes) <= 1e-12).all()
    with pytest.raises(TypeError, match="expected a fitted motlm estimator"):
        CoefficientsDisplay.from_estimator(3)


def test_coefficients_of_corrections_are_differences(corner) -> None:
    """From the exterior's, of the columns that are corrected; or in full."""
    X, _, fitted = corner
    display = CoefficientsDisplay.from_estimator(fitted, standardized=False)
    [one] = fitted.localities_
    assert display.names == ["locality 0"]
    assert set(display.feature_names) <= {"age", "power"}
    assert "difference from the exterior's" in display.ax_.get_xlabel()
    names = list(one.feature_names)
    gap = (one.coef - fitted.exterior_.coef)[[names.index(name) for name in display.feature_names]]
    np.testing.assert_allclose(display.coef[0], gap)
    squared = one.coef_scale**2 - fitted.exterior_.coef_scale**2
    own = squared[[names.index(name) for name in display.feature_names]]
    np.testing.assert_allclose(display.scale[0], np.sqrt(own))
    full = CoefficientsDisplay.from_estimator(fitted, differences=False)
    assert full.names == ["locality 0", "exterior"]
    assert len(full.feature_names) == 4
    apart = quiet(LocalMixtureRegressor(1, corrections="none", **QUICK), X, X["age"] ** 2)
    assert CoefficientsDisplay.from_estimator(apart).names[-1] == "exterior"
    both = CoefficientsDisplay.from_estimator(apart, differences=True, standardized=False)
    order = [names.index(name) for name in both.feature_names]
    inner, outer = apart.localities_[0], apart.exterior_
    np.testing.assert_allclose(both.coef[0], (inner.coef - outer.coef)[order])
    np.testing.assert_allclose(both.scale[0], np.hypot(inner.coef_scale, outer.coef_scale)[order])
    none = LocalMixtureRegressor(0, **QUICK).fit(X, X["age"])
    assert CoefficientsDisplay.from_estimator(none).names == ["the model"]
    with pytest.raises(ValueError, match="the model has no locality, so that nothing differs"):
        CoefficientsDisplay.from_estimator(none, differences=True)


def test_contributions_of_a_row(wide) -> None:
    X, _, fitted = wide
    display = ContributionsDisplay.from_estimator(fitted, X[:1], max_features=12)
    one = display.explanation
    assert display.names[-1] == "28 other features"
    assert one.base + display.values.sum() == pytest.approx(one.score)
    assert display.ax_.get_title() == f"decided by {one.decided_by}: {one.reason}"
    no_overlap(display)
    again = ContributionsDisplay.from_explanation(explain_local(fitted, X[:1])[0], max_features=40)
    no_overlap(again)
    assert len(again.plot().names) == 40
    with pytest.raises(ValueError, match="draws one row; got 2"):
        ContributionsDisplay.from_estimator(fitted, X[:2])


# -- three classes or more -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def flowers():
    data = load_iris(as_frame=True)
    X, y = data.data, data.target_names[data.target]
    points = X.iloc[[60, 109]]
    options = QUICK | {"inverse_temperature": 4.0, "locality_widths": "equal"}
    return X, y, quiet(LocalMixtureClassifier(points_of_interest=points, **options), X, y)


def colors_at(display, count: int) -> list[tuple[int, ...]]:
    """The colors of the map at its points, one for each label that is answered."""
    [mesh] = [one for one in display.ax_.collections if isinstance(one, QuadMesh)]
    shown = mesh.to_rgba(mesh.get_array()).reshape(-1, 4).round(6)
    answers = display.response.ravel()
    found = [{tuple(one) for one in shown[answers == k]} for k in range(count)]
    assert all(len(one) <= 1 for one in found)
    return [next(iter(one)) for one in found if one]


def test_a_map_has_one_color_for_each_class(flowers) -> None:
    X, y, fitted = flowers
    names = ["petal length (cm)", "petal width (cm)"]
    display = LocalitiesDisplay.from_estimator(fitted, X, y, features=names, grid_resolution=40)
    grid = pd.DataFrame([fitted.mixture_.inputs.typical] * 1600, columns=X.columns)
    grid[names[0]], grid[names[1]] = display.xx0.ravel(), display.xx1.ravel()
    np.testing.assert_array_equal(fitted.classes_[display.response.ravel()], fitted.predict(grid))
    colors = colors_at(display, 3)
    assert len(set(colors)) == 3
    dots = [one for one in display.ax_.collections if isinstance(one, PathCollection)]
    for one, color, label in zip(dots, colors, fitted.classes_, strict=True):
        np.testing.assert_allclose(one.get_facecolor()[0][:3], color[:3], atol=1e-6)
        assert one.get_label() == label
        assert len(one.get_offsets()) == (y == label).sum()
    shapes = {tuple(one.get_paths()[0].vertices.ravel().round(3)) for one in dots}
    assert len(shapes) == 3
    default = LocalitiesDisplay.from_estimator(fitted, X, y, grid_resolution=10)
    coef = np.abs(fitted.mixture_.routine().coef).max(axis=(0, 1))
    largest = sorted(np.argsort(-coef)[:2])
    assert list(default.feature_names) == [X.columns[j] for j in largest]


def test_a_map_without_labels_names_its_regions(flowers) -> None:
    X, y, fitted = flowers
    display = LocalitiesDisplay.from_estimator(fitted, X, grid_resolution=10)
    texts = [one.get_text() for one in display.ax_.get_legend().get_texts()]
    assert texts == list(fitted.classes_)
    drawn = LocalitiesDisplay.from_estimator(fitted, X, kind="projection")
    assert drawn.ax_.get_legend() is None
    assert len(LocalitiesDisplay.from_estimator(fitted, X, y, kind="projection").circles) == 2


@pytest.mark.parametrize("count", [2, 3, 7, 8, 20, 40])
def test_labels_look_different(count: int) -> None:
    looks = list(zip(map(str, label_colors(count)), label_markers(count), strict=True))
    assert len(set(looks)) == count
    assert len(set(looks[: min(count, 21)])) == len({color for color, _ in looks[:21]})


def test_maps_of_many_classes() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(900, 2))
    y = (np.arctan2(X[:, 1], X[:, 0]) // (np.pi / 15)).astype(int)
    fitted = quiet(LocalMixtureClassifier(0, **QUICK | {"inverse_temperature": 8.0}), X, y)
    display = LocalitiesDisplay.from_estimator(fitted, X, y, grid_resolution=60)
    colors_at(display, 30)
    assert len(display.ax_.get_legend().get_texts()) == 30
    few = CoefficientsDisplay.from_estimator(fitted)
    sizes = np.abs(fitted.exterior_.coef * X.std(axis=0)).max(axis=1)
    shown = [list(fitted.classes_).index(label) for label in few.classes]
    assert len(shown) == 9
    assert sizes[shown].min() >= np.delete(sizes, shown).max()


def test_coefficients_of_each_class(flowers) -> None:
    X, _, fitted = flowers
    full = {"standardized": False, "differences": False}
    display = CoefficientsDisplay.from_estimator(fitted, **full)
    assert display.coef.shape == (3, 3, 4)
    order = [list(X.columns).index(name) for name in display.feature_names]
    for i, one in enumerate([*fitted.localities_, fitted.exterior_]):
        np.testing.assert_array_equal(display.coef[i], one.coef[:, order])
    assert [ax.get_title() for ax in display.axes_] == list(fitted.classes_)
    for k, ax in enumerate(display.axes_):
        points = [line for line in ax.lines if len(line.get_xdata()) == 4][:3]
        for i, line in enumerate(points):
            np.testing.assert_array_equal(line.get_xdata(), display.coef[i, k])
    no_overlap(display)
    two = CoefficientsDisplay.from_estimator(fitted, labels=["virginica", "setosa"])
    assert two.classes == ("virginica", "setosa")
    one = CoefficientsDisplay.from_estimator(fitted, labels=["setosa"], max_features=2)
    assert one.coef.shape == (2, 1, 2)
    figure, axes = matplotlib.pyplot.subplots(1, 2)
    inside = CoefficientsDisplay.from_estimator(fitted, ax=axes[1])
    assert inside.figure_ is figure
    assert len(figure.axes) == 5
    again = two.plot(ax=axes)
    assert again.axes_ == list(axes)
    assert [label.get_text() for label in axes[1].get_yticklabels()] == list(two.feature_names)
    with pytest.raises(ValueError, match="ax has 2 axes; 3 classes need one each"):
        CoefficientsDisplay.from_estimator(fitted, ax=axes)
    alone = matplotlib.pyplot.figure().add_axes((0, 0, 1, 1))
    with pytest.raises(ValueError, match="Give an array of axes, one for each class"):
        CoefficientsDisplay.from_estimator(fitted, ax=alone)
    for bad in (["rose"], "setosa", []):
        with pytest.raises(ValueError, match="labels must be a list of some of the labels"):
            CoefficientsDisplay.from_estimator(fitted, labels=bad)


def test_contributions_to_one_class_and_not_another(flowers) -> None:
    X, _, fitted = flowers
    row = explain_local(fitted, X[70:71])[0]
    display = ContributionsDisplay.from_estimator(fitted, X[70:71])
    part = row.against()
    assert display.ends == (part.base, part.score)
    assert part.base + display.values.sum() == pytest.approx(part.score)
    name = f"score of {row.prediction} minus score of {row.runner_up}"
    assert display.ax_.get_xlabel() == name
    other = next(k for k in row.by_class if k not in (row.prediction, row.runner_up))
    third = ContributionsDisplay.from_explanation(row, against=other, max_features=2)
    assert third.names[-1] == "2 other features"
    assert third.ends[0] + third.values.sum() == pytest.approx(row.against(other).score)
    for label, score in row.by_class.items():
        own = ContributionsDisplay.from_explanation(row, score_of=label)
        assert own.ends[0] + own.values.sum() == pytest.approx(score.score)
        assert own.ax_.get_xlabel() == f"score of {label}"
    no_overlap(display)
    for options, match in (
        ({"against": row.prediction}, "expected one of the other labels"),
        ({"score_of": "rose"}, "score_of must be one of the labels"),
        ({"against": other, "score_of": other}, "give one of the two"),
    ):
        with pytest.raises(ValueError, match=match):
            ContributionsDisplay.from_explanation(row, **options)


def test_options_of_several_classes_are_refused_for_two(model) -> None:
    X, _, fitted = model
    with pytest.raises(ValueError, match="labels are those of three classes or more"):
        CoefficientsDisplay.from_estimator(fitted, labels=[1.0])
    with pytest.raises(ValueError, match="this model has one score"):
        ContributionsDisplay.from_estimator(fitted, X[:1], against=1.0)
    with pytest.raises(ValueError, match="score_of is for three classes or more"):
        ContributionsDisplay.from_estimator(fitted, X[:1], score_of=1.0)


def test_paths_and_risks_of_several_classes(flowers) -> None:
    X, y, _ = flowers
    options = {"inverse_temperature": (1.0, 4.0), "n_starts": 1, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted, certificate = certify(LocalMixtureClassifier(0, **options), X, y)
    assert PathDisplay.from_estimator(fitted).records
    display = RiskDisplay.from_estimator(fitted)
    assert display.statements[0] is certificate.headline
    no_overlap(display)


# -- search and certificates -----------------------------------------------------------------------


def test_paths(model) -> None:
    X, y, _ = model
    fitted = quiet(
        LocalMixtureClassifier(
            "auto", max_localities=2, inverse_temperature=(1.0, 4.0), n_starts=1, random_state=0
        ),
        X,
        y,
    )
    display = PathDisplay.from_estimator(fitted)
    assert display.value == "held_out_score"
    lines = [line for line in display.ax_.lines if line.get_label().startswith("n = ")]
    assert sum(len(line.get_xdata()) for line in lines) == len(display.records)
    by_n = PathDisplay.from_estimator(fitted, by="n", value="objective")
    assert by_n.ax_.get_xlabel() == "number of localities"
    for options, match in (
        ({"by": "luck"}, "by must be"),
        ({"value": "luck"}, "value must be"),
        ({"value": "bound"}, "has no 'bound'"),
    ):
        with pytest.raises(ValueError, match=match):
            PathDisplay.from_estimator(fitted, **options)
    with pytest.raises(TypeError, match="expected a fitted motlm estimator"):
        PathDisplay.from_estimator(3)


def test_paths_tell_what_was_kept(corner) -> None:
    """The number that was chosen, what of it was kept, and at which lambda."""
    fitted = quiet(
        LocalMixtureRegressor(2, inverse_temperature=(1.0, 4.0), n_starts=1, random_state=0),
        *corner[:2],
    )
    mixture = fitted.mixture_
    names = [text.get_text() for text in PathDisplay.from_estimator(fitted).ax_.get_legend().texts]
    n, provenance = mixture.n_localities, mixture.provenance
    assert provenance.searched_localities == 2
    assert sum(name.startswith("chosen") for name in names) == 1
    tried = sorted(one.inverse_temperature for one in PathDisplay.from_estimator(fitted).records)
    assert set(tried) == {1.0, 4.0}
    last = next(one for one in provenance.path if one.stage == "final")
    search = tuple(one for one in provenance.path if one.stage == "search")
    fewer = replace(provenance, inverse_temperature=4.0, path=search)
    assert PathDisplay.from_estimator(replace(mixture, provenance=fewer)).chosen == (2, 4.0)
    raised = replace(
        provenance,
        inverse_temperature=64.0,
        path=(
            *search,
            replace(last, inverse_temperature=64.0),
            replace(last, inverse_temperature=1.0),
        ),
    )
    display = PathDisplay.from_estimator(replace(mixture, provenance=raised))
    assert display.chosen == (2, 1.0)
    assert display.kept == (n, 64.0)
    texts = [text.get_text() for text in display.ax_.get_legend().texts]
    assert f"chosen; {n} kept,\nwith λ′ = 64" in texts
    few = PathDisplay(
        records=display.records, by="n", value="objective", chosen=(2, 1.0), kept=(1, 1.0)
    )
    assert "chosen; 1 of 2 kept" in [one.get_text() for one in few.plot().ax_.get_legend().texts]


def test_risks(model) -> None:
    X, y, fitted = model
    with pytest.raises(ValueError, match="the model has no certificate"):
        RiskDisplay.from_estimator(fitted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        certified, certificate = certify(
            LocalMixtureClassifier(points_of_interest=[[-1.4, 0.0]], **QUICK), X, y
        )
    display = RiskDisplay.from_estimator(certified)
    assert display.statements[0] is certificate.headline
    assert display.ax_.lines[-1].get_xdata()[0] == certificate.headline.baseline
    no_overlap(display)
    line, label = make_reg_case2(random_state=0)
    intervals = certify(
        LocalMixtureRegressor(0, **QUICK), line, label, spend={"interval": 0.05}
    ).certificate
    with pytest.raises(ValueError, match="no share of cases"):
        RiskDisplay.from_certificate(intervals)
