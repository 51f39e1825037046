"""Drawings: that they show what they say, in all the shapes that models come in, and that no labels
overlap.
"""

from __future__ import annotations

import builtins
import copy
import warnings
from dataclasses import dataclass, field, replace
from itertools import pairwise

import matplotlib
import numpy as np
import pandas as pd
import pytest

from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.certificates import certify
from motlm.datasets import make_clf_case2, make_reg_case2
from motlm.explanations import explain_local
from motlm.geometry import GivenCenters, Locus
from motlm.plotting import (
    CoefficientsDisplay,
    ContributionsDisplay,
    LocalitiesDisplay,
    PathDisplay,
    RegressionDisplay,
    RiskDisplay,
)

matplotlib.use("Agg")
QUICK = {"inverse_temperature": 2.0, "n_starts": 1, "random_state": 0}


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
    fitted = LocalMixtureClassifier(points_of_interest=X[:12], max_iter=5, **QUICK)
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
            points_of_interest=[[0.5] * 4], **QUICK | {"inverse_temperature": 8.0}
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


@dataclass(frozen=True, eq=False)
class FewColumns(GivenCenters):
    """Each locality looks at some columns, and weighs them."""

    weights: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))  # (n, n_encoded)

    def rows(self, Z, features):
        gaps = Z[:, None] - self.points
        return features, np.sqrt((self.weights * gaps**2).sum(axis=2))

    def half_widths(self, inputs, posterior):
        return [None] * len(self.radius)

    def loci(self, inputs, posterior):
        return tuple(
            Locus("euclidean", np.flatnonzero(w), point[w > 0], float(radius), w[w > 0])
            for w, point, radius in zip(self.weights, self.points, self.radius, strict=True)
        )


@pytest.mark.parametrize("features", [(0, 1), (1, 2), (0, 3)])
def test_localities_in_a_few_columns(rng: np.random.Generator, features) -> None:
    """Ellipses where the model sees both columns, bands where it sees one."""
    X = rng.normal(size=(200, 4)) * [1.0, 5.0, 2.0, 1.0]
    y = np.where(X[:, 0] * np.sign(X[:, 1]) > 0, 1, -1)
    points = [[0.0, 4.0, 0.0, 0.0], [0.5, -4.0, 0.0, 0.0]]
    fitted = quiet(LocalMixtureClassifier(points_of_interest=points, **QUICK), X, y)
    old, radius = fitted.mixture_.geometry, np.array([1.3, 1.6])
    weights = np.array([[0.5, 2.0, 0.0, 0.0], [0.0, 1.5, 0.7, 0.0]])
    geometry = FewColumns(old.given, old.metric, old.points, radius, weights)
    made = copy.copy(fitted)
    made.mixture_ = replace(fitted.mixture_, geometry=geometry)
    display = LocalitiesDisplay.from_estimator(made, X, y, features=features, grid_resolution=40)
    rows = np.tile(made.mixture_.inputs.typical, (display.xx0.size, 1))
    rows[:, features[0]], rows[:, features[1]] = display.xx0.ravel(), display.xx1.ravel()
    assert len(display.circles) == 2
    for i, center, width in display.circles:
        inside = (((rows[:, list(features)] - center) / width) ** 2).sum(axis=1) <= 1
        assert (inside == made.membership(rows)[:, i]).mean() > 0.999
    with pytest.raises(ValueError, match=r"a projection draws balls; .* Draw a slice"):
        LocalitiesDisplay.from_estimator(made, X, y, kind="projection")


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
    fitted = quiet(LocalMixtureRegressor(1, **QUICK), frame, y)
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
    with pytest.raises(ValueError, match="needs two columns; for one use RegressionDisplay"):
        LocalitiesDisplay.from_estimator(single, X[["east"]], y)
    for options, match in (
        ({"kind": "map"}, "kind must be one of 'slice', 'projection'"),
        ({"at": 9}, "at must be one of the"),
        ({"features": ("east", "south")}, "features must be two of the columns 'east', 'north'"),
        ({"features": (1, 1)}, "two different columns"),
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
    few = CoefficientsDisplay.from_estimator(fitted, standardized=False, max_features=5)
    j = fitted.exterior_.feature_names.index(few.feature_names[0])
    assert few.coef[-1, 0] == fitted.exterior_.coef[j]
    sizes = np.abs(display.coef).max(axis=0)
    assert (np.diff(sizes) <= 1e-12).all()
    with pytest.raises(TypeError, match="expected a fitted motlm estimator"):
        CoefficientsDisplay.from_estimator(3)


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
