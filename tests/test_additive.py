"""Additive models: ramps, their search beside the closed form, monotone models."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from motlm import LocalMixtureClassifier, LocalMixtureRegressor, optimize
from motlm.bends import Bend, find_bends, interpolate
from motlm.errors import InputError

QUICK = {"random_state": 0, "n_starts": 2}


def bent(n_rows: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """A wave, a slope, and a step in a corner."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-3, 3, size=(n_rows, 3))
    corner = (X[:, 1] > 0.5) & (X[:, 2] > 0.5)
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 1.5 * corner + 0.1 * rng.normal(size=n_rows)


# -- ramps -----------------------------------------------------------------------------------------


def test_interpolation_is_that_of_numpy(rng: np.random.Generator) -> None:
    knots, values = np.sort(rng.normal(size=9)), rng.normal(size=9)
    x = np.concatenate([rng.normal(scale=3, size=200), knots, [-1e300, 1e300]])
    np.testing.assert_allclose(
        interpolate(knots, values[:, None], x)[:, 0], np.interp(x, knots, values), atol=1e-12
    )


def test_ramps_rise_one_after_another_and_have_mean_zero(rng: np.random.Generator) -> None:
    X = np.column_stack([rng.exponential(size=500), rng.integers(0, 3, size=500)])
    weight = rng.uniform(0.5, 2, size=500)
    bends = find_bends(X, weight, np.array([True, True]))
    [bend] = bends.each  # three values do not bend
    values = bends.values(X)
    np.testing.assert_allclose(weight @ values, 0, atol=1e-9)
    order = np.argsort(X[:, 0])
    assert (np.diff(values[order], axis=0) >= -1e-12).all()
    assert (np.diff(bend.knots) > 0).all()
    # any piecewise linear curve with these knots is a sum of ramps
    goal = rng.normal(size=len(bend.knots))
    weights = np.diff(goal) / (bend.table[-1] - bend.table[0])
    inside = np.interp(X[:, 0], bend.knots, goal)
    made = bend.values(X[:, 0]) @ weights
    np.testing.assert_allclose(made - made[0], inside - inside[0], atol=1e-9)


def test_knots_are_round_and_few() -> None:
    x = np.random.default_rng(0).normal(loc=1234.5, size=4000)
    [bend] = find_bends(x[:, None], np.ones(4000), np.array([True])).each
    assert len(bend.knots) <= 32
    np.testing.assert_array_equal(bend.knots, np.round(bend.knots, 2))
    many = np.random.default_rng(0).normal(size=(400, 200))
    bends = find_bends(many, np.ones(400), np.ones(200, dtype=bool))
    assert len(bends) <= 3 * 200


def test_wide_columns_far_from_zero_keep_their_knots() -> None:
    x = 1e15 + np.arange(100.0)
    [bend] = find_bends(x[:, None], np.ones(100), np.array([True])).each
    assert (np.diff(bend.knots) > 0).all()
    assert np.isfinite(bend.values(x)).all()


def test_a_bend_has_as_many_ramps_as_gaps() -> None:
    bend = Bend(0, np.array([0.0, 1.0, 5.0]), np.array([0.2, 0.7]))
    assert len(bend) == bend.values(np.zeros(4)).shape[1] == 2


def amounts(n_rows: int = 4000) -> np.ndarray:
    """Mostly 0, else one of 60 amounts that lie close together, or far above them."""
    rng = np.random.default_rng(0)
    each = np.append(3000 + 11 * np.arange(60), 99_999)
    return np.where(rng.random(n_rows) < 0.3, rng.choice(each, n_rows), 0.0)


def test_values_that_repeat_have_a_knot_each() -> None:
    x = amounts()
    x[:4] = 3333.25  # too few rows for a knot, and not a number of their own to be told
    [bend] = find_bends(x[:, None], np.ones(len(x)), np.array([True])).each
    value, count = np.unique(x, return_counts=True)
    np.testing.assert_array_equal(bend.knots, value[count >= 5])
    assert 3333.25 not in bend.knots
    assert len(bend.knots) > 60
    fresh = np.random.default_rng(1).normal(size=len(x))  # that do not repeat
    [other] = find_bends(fresh[:, None], np.ones(len(x)), np.array([True])).each
    assert len(other.knots) <= 32
    assert other.share is None


def test_a_curve_may_turn_between_values_that_lie_close_together() -> None:
    x = amounts()
    [bend] = find_bends(x[:, None], np.ones(len(x)), np.array([True])).each
    assert bend.share is not None
    assert bend.share.sum() == pytest.approx(1)
    wide = np.diff(bend.knots)
    steps = bend.table[-1] - bend.table[0]
    close = steps[np.argmin(wide)] / steps[np.argmax(wide)]
    assert close > 5 * np.sqrt(wide.min() / wide.max())  # which it is by the width alone
    score = 3.0 * ((x // 11) % 2)  # up and down from each amount to the next
    rng = np.random.default_rng(2)
    y = score + rng.normal(scale=0.5, size=len(x))
    model = LocalMixtureRegressor(0, local_models="additive", **QUICK).fit(x[:, None], y)
    left = amounts()[::-1][:500]
    truth = 3.0 * ((left // 11) % 2)
    assert np.corrcoef(model.predict(left[:, None]), truth)[0, 1] > 0.95


# -- smooth curves ---------------------------------------------------------------------------------


def bowls(n_rows: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Three smooth curves under noise."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n_rows, 3))
    return X, X[:, 0] ** 2 - 0.5 * X[:, 1] ** 2 + np.sin(X[:, 2]) + rng.normal(size=n_rows)


def stairs(n_rows: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(6)
    X = rng.uniform(-3, 3, size=(n_rows, 2))
    return X, 2.0 * (np.floor(X[:, 0]) % 2) + 0.1 * rng.normal(size=n_rows)


def smooth_and_rugged(X: np.ndarray) -> tuple[Bend, Bend]:
    every = np.ones(X.shape[1], dtype=bool)
    smooth, rugged = (find_bends(X, np.ones(len(X)), every, None, one) for one in (every, None))
    return smooth.each[0], rugged.each[0]


def test_smooth_curves_are_the_same_curves_with_another_prior(rng: np.random.Generator) -> None:
    """Long ramps add up to any piecewise linear curve, as the short ones do."""
    X = rng.exponential(size=(500, 1))
    smooth, rugged = smooth_and_rugged(X)
    assert smooth.smooth
    assert not rugged.smooth
    np.testing.assert_array_equal(smooth.knots, rugged.knots)
    np.testing.assert_allclose(smooth.values(X[:, 0]).mean(axis=0), 0, atol=1e-12)
    assert (smooth.middle >= 0).all()
    assert (smooth.middle <= 1).all()
    goal = np.append(rng.normal(size=len(smooth)), 0)
    for one in (smooth, rugged):
        basis = np.column_stack([one.table, np.ones(len(one.knots))])
        np.testing.assert_allclose(basis @ np.linalg.solve(basis, goal), goal, atol=1e-8)


def test_slopes_of_smooth_curves_walk_at_random_from_the_middle(rng: np.random.Generator) -> None:
    """Weights are independent and of one scale: the variance of a slope, less that of the piece in
    the middle, is the sum of those of the turns between, each of which goes with the width of the
    pieces around it; a rugged curve's height does what here the slope does.
    """
    smooth, rugged = smooth_and_rugged(np.sort(rng.normal(size=(500, 1)), axis=0))
    knots, half = smooth.knots, len(smooth) // 2
    width = np.diff(knots)
    slopes = np.diff(smooth.table, axis=0).T / width  # (n_ramps, n_pieces)
    turns = np.abs(np.diff(slopes, axis=1))
    # each ramp turns where it begins or ends, but for the outermost knots
    assert ((turns > 1e-9).sum(axis=1) == 1).all()
    variance = (slopes**2).sum(axis=0)
    assert (np.diff(variance[half:]) > 0).all()
    assert (np.diff(variance[:half]) < 0).all()
    inner = (turns**2).sum(axis=0)  # of the turns at the inner knots, one or two ramps each
    around = (width[:-1] + width[1:]) / 2
    ratio = np.delete(inner / around, [half - 1])  # the middle knot has a ramp to either side
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)
    steps = np.diff(rugged.table, axis=0)
    np.testing.assert_allclose((steps**2).sum(axis=1) / width, (steps**2).sum() / width.sum())


def test_smooth_curves_do_not_depend_on_the_units(rng: np.random.Generator) -> None:
    bend, _ = smooth_and_rugged(rng.normal(size=(300, 1)))
    moved = Bend(0, 1000.0 + 8.0 * bend.knots, bend.middle, smooth=True)
    np.testing.assert_allclose(moved.table, bend.table, rtol=1e-9)


@pytest.mark.parametrize(("rows", "smooth"), [(bowls, True), (stairs, False)])
def test_rows_left_out_decide_whether_curves_are_smooth(rows: object, smooth: bool) -> None:
    X, y = rows()
    model = LocalMixtureRegressor(0, local_models="additive", **QUICK).fit(X, y)
    assert bool(model.mixture_.inputs.smooth) == smooth
    kinds = model.cv_results_["local_models"]
    best = {kind: model.cv_results_["mean_test_score"][kinds == kind].max() for kind in set(kinds)}
    assert set(best) == {"additive", "additive, smooth"}
    assert (best["additive, smooth"] > best["additive"]) == smooth


def test_smooth_curves_predict_better_where_curves_are_smooth() -> None:
    """Beside the model of rugged ones: without a choice, curves are rugged."""
    X, y = bowls()
    fresh = np.random.default_rng(7).normal(size=(4000, 3))
    truth = fresh[:, 0] ** 2 - 0.5 * fresh[:, 1] ** 2 + np.sin(fresh[:, 2])
    smooth = LocalMixtureRegressor(0, local_models="additive", **QUICK).fit(X, y)
    settings = {"inverse_temperature": smooth.inverse_temperature_, **QUICK}
    rugged = LocalMixtureRegressor(0, local_models="additive", select="held-out", **settings)
    rugged.fit(X, y)
    assert smooth.mixture_.inputs.smooth == (0, 1, 2)
    assert rugged.mixture_.inputs.smooth == ()
    errors = [np.mean((one.predict(fresh) - truth) ** 2) for one in (smooth, rugged)]
    assert errors[0] < 0.8 * errors[1]


def test_monotone_columns_and_amounts_stay_rugged() -> None:
    """Long ramps of one sign would make them concave and convex, too."""
    X, y = bowls()
    model = LocalMixtureRegressor(0, local_models="additive", monotonic_cst=[0, 0, 1], **QUICK)
    assert model.fit(X, y).mixture_.inputs.smooth == (0, 1)
    repeated = amounts(400 * 20)[:, None]
    weight = np.ones(len(repeated))
    every = np.ones(1, dtype=bool)
    assert find_bends(repeated, weight, every, None, every).smooth == ()


def test_the_spread_of_a_smooth_curve_is_that_of_its_posterior(rng: np.random.Generator) -> None:
    X, y = bowls()
    model = LocalMixtureRegressor(0, local_models="additive", **QUICK).fit(X, y)
    mixture = model.mixture_
    at = np.array([-1.7, -0.3, 0.0, 0.8, 2.5])
    points = model.exterior_.curve(0, at, reference=0.4)
    n = len(mixture.inputs.varies)
    [rho, *_], _ = mixture.posterior.deviations
    draws = mixture.posterior.coef[-1] + rho * rng.normal(size=(40_000, len(rho)))
    bend, own = next(mixture.inputs.bends.parts())
    unit = mixture.inputs.units.inverse_scale[0]
    made = draws[:, [0]] * unit * (at - 0.4)
    made += draws[:, n:][:, own] @ (bend.values(at) - bend.values(np.array([0.4]))).T
    scale = mixture.target.scale
    np.testing.assert_allclose(points.value, made.mean(axis=0) * scale, atol=0.02 * y.std())
    np.testing.assert_allclose(points.scale, made.std(axis=0) * scale, rtol=0.03)


def test_a_smooth_model_goes_on_as_one() -> None:
    X, y = bowls()
    model = LocalMixtureRegressor(0, local_models="additive", **QUICK).fit(X, y)
    again = clone(model).set_params(warm_start=True)
    again.mixture_ = model.mixture_
    again.fit(X, y)
    assert again.mixture_.inputs.smooth == model.mixture_.inputs.smooth
    np.testing.assert_allclose(again.predict(X), model.predict(X), atol=1e-2 * y.std())


# -- models ----------------------------------------------------------------------------------------


def test_a_curve_is_found_where_there_is_one() -> None:
    X, y = bent()
    line, curve = (
        LocalMixtureRegressor(0, local_models=kind, **QUICK).fit(X[:200], y[:200])
        for kind in ("linear", "additive")
    )
    assert curve.score(X[200:], y[200:]) > line.score(X[200:], y[200:]) + 0.2
    assert not line.exterior_.shapes
    shape = next(one for one in curve.exterior_.shapes if one.column == 0)
    model, at = curve.exterior_, np.linspace(-2.5, 2.5, 50)
    found = model.coef[0] * at + shape.at(at)
    assert np.corrcoef(found, np.sin(2 * at))[0, 1] > 0.98


@pytest.mark.parametrize("corrections", ["own", "all", "none"])
def test_what_is_read_is_what_predicts(corrections: str) -> None:
    X, y = bent()
    model = LocalMixtureRegressor(
        1, local_models="additive", corrections=corrections, inverse_temperature=16.0, **QUICK
    ).fit(X, y)
    scores = np.array(
        [
            one.intercept + X @ one.coef + sum(bend.at(X[:, bend.column]) for bend in one.shapes)
            for one in model.mixture_.models
        ]
    )
    used = scores[model.apply(X), np.arange(len(X))]
    np.testing.assert_allclose(used, model.predict(X), rtol=1e-9, atol=1e-9)
    if corrections != "none":  # curves are those of the exterior
        for one, other in zip(model.localities_[0].shapes, model.exterior_.shapes, strict=True):
            np.testing.assert_allclose(one.values, other.values, atol=1e-12)


def test_the_search_ends_where_the_closed_form_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """With many features models are searched for, not solved for at each step."""
    X, y = bent(200)
    settings = {"local_models": "additive", "inverse_temperature": 8.0, "tol": 1e-9, **QUICK}
    model = LocalMixtureRegressor(1, **settings).fit(X, y)
    monkeypatch.setattr(optimize, "is_wide", lambda objective: False)
    again = clone(model).set_params(warm_start=True)
    again.mixture_ = model.mixture_
    again.fit(X, y)
    assert again.objective_ == pytest.approx(model.objective_, rel=1e-5)


def test_additive_models_are_not_for_the_papers_loss() -> None:
    X, y = bent(60)
    with pytest.raises(InputError, match="not for the paper's setting"):
        LocalMixtureClassifier(loss="zero-one", local_models="additive").fit(X, y > 0)
    with pytest.raises(InputError, match="local_models must be one of"):
        LocalMixtureRegressor(local_models="splines").fit(X, y)


def test_categories_stay_levels() -> None:
    X, y = bent()
    table = pd.DataFrame(X, columns=list("abc")).assign(d=np.where(X[:, 1] > 0, "u", "v"))
    model = LocalMixtureRegressor(0, local_models="additive", **QUICK).fit(table, y)
    bends = model.mixture_.inputs.bends
    assert [one.column for one in bends.each] == [0, 1, 2]


# -- monotone models -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["linear", "additive"])
@pytest.mark.parametrize("corrections", ["own", "none"])
def test_models_rise_and_fall_as_they_must(kind: str, corrections: str) -> None:
    """At random rows, and beyond the training rows."""
    X, y = bent()
    settings = {"local_models": kind, "corrections": corrections, "inverse_temperature": 8.0}
    signs = [-1, 1, 0]
    model = LocalMixtureRegressor(1, monotonic_cst=signs, **settings, **QUICK).fit(X, y)
    rng = np.random.default_rng(0)
    rows = rng.uniform(-5, 5, size=(400, 3))
    for column, sign in enumerate(signs):
        moved = rows.copy()
        moved[:, column] += rng.exponential(size=400)
        views = [model.mixture_.view(model.mixture_.encode(one)) for one in (rows, moved)]
        rise = (views[1].mean - views[0].mean) * sign
        assert (rise >= -1e-9).all()


def test_signs_by_name_hold_for_labels_and_rates() -> None:
    X, y = bent()
    table = pd.DataFrame(X, columns=list("abc"))
    signs = {"b": -1, "a": 1}
    models = [
        LocalMixtureClassifier(0, monotonic_cst=signs, **QUICK).fit(table, y > 0),
        LocalMixtureRegressor(0, loss="poisson", monotonic_cst=signs, **QUICK).fit(table, y**2),
    ]
    for model in models:
        for moved, sign in ((table.assign(b=table.b + 1), -1), (table.assign(a=table.a + 2), 1)):
            views = [model.mixture_.view(model.mixture_.encode(one)) for one in (table, moved)]
            assert ((views[1].mean - views[0].mean) * sign >= -1e-9).all()


def test_a_constraint_that_fits_costs_nothing_much() -> None:
    X, y = bent()
    free, bound = (
        LocalMixtureRegressor(
            0, local_models="additive", inverse_temperature=8.0, monotonic_cst=signs, **QUICK
        ).fit(X, y)
        for signs in (None, [0, 1, 0])
    )
    assert bound.score(X, y) > free.score(X, y) - 0.02


@pytest.mark.parametrize(
    ("signs", "message"),
    [
        ([1, 0], "one number for each of the 4 columns"),
        ([2, 0, 0, 0], "one number for each of the 4 columns"),
        ("a", "one number for each of the 4 columns"),
        ({"z": 1}, "'z', which is not a column of X"),
        ({"d": 1}, "'d' holds categories"),
    ],
)
def test_bad_signs(signs, message: str) -> None:
    X, y = bent(60)
    table = pd.DataFrame(X, columns=list("abc")).assign(d=["u", "v", "w"] * 20)
    with pytest.raises(InputError, match=message):
        LocalMixtureRegressor(0, monotonic_cst=signs).fit(table, y)
    with pytest.raises(InputError, match="not for the paper's solver"):
        LocalMixtureRegressor(0, monotonic_cst=[0, 0, 0], solver="nadam").fit(X, y)
