from __future__ import annotations

import copy
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from helpers import draw_members, draw_models
from made import with_mixture
from scipy.special import expit, ndtr
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.metrics import d2_tweedie_score
from sklearn.utils.class_weight import compute_sample_weight

from motlm import LocalMixtureClassifier, LocalMixtureRegressor, Prior
from motlm.datasets import make_clf_case1, make_clf_case2
from motlm.errors import InputError
from motlm.membership import theta, upsilon
from motlm.posterior import FIELDS

POINTS = [[-1.4, 0.0], [0.0, 0.75], [1.4, 0.0]]
RADII = [0.85, 0.4, 0.85]
SHORT = {
    "n_localities": 1,
    "n_starts": 2,
    "inverse_temperature": (1.0, 4.0),
    "max_iter": 300,
    "tol": 1e-5,
    "random_state": 3,
}


@pytest.fixture(scope="module")
def case2():
    X, y = make_clf_case2(700, random_state=1)
    model = LocalMixtureClassifier(
        points_of_interest=POINTS,
        standardize=False,
        inverse_temperature=4.0,
        n_starts=3,
        max_iter=3000,
        random_state=0,
    ).fit(X, y)
    return X, y, model


@pytest.fixture(scope="module")
def overlapping():
    """Two balls that overlap and contradict each other, in the user's odd units, with learned
    points.
    """
    rng = np.random.default_rng(0)
    X = rng.uniform([-100.0, 0.0], [100.0, 0.1], size=(500, 2))
    y = np.where(np.abs(X[:, 0]) < 50, "low", "high")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no training row belongs")
        model = LocalMixtureClassifier(
            points_of_interest=[[-20.0, 0.05], [20.0, 0.05]],
            loss="zero-one",
            inverse_temperature=2.0,
            n_starts=3,
            random_state=0,
        ).fit(X, y)
    return X, y, model


@pytest.fixture(scope="module")
def kinked():
    X = np.linspace(1000.0, 1400.0, 400)[:, None]
    y = 1e6 + np.where(
        np.abs(X[:, 0] - 1200) < 100, 3e4 * (X[:, 0] - 1200), -3e4 * (X[:, 0] - 1200)
    )
    return (
        X,
        y,
        LocalMixtureRegressor(1, inverse_temperature=(4.0, 32.0), n_starts=3, random_state=0).fit(
            X, y
        ),
    )


def test_known_points_find_the_radii(case2) -> None:
    X, y, model = case2
    assert model.score(X, y) > 0.97
    for locality, point, radius in zip(model.localities_, POINTS, RADII, strict=True):
        np.testing.assert_array_equal(locality.center, point)
        assert locality.radius == pytest.approx(radius, abs=0.08)
        np.testing.assert_allclose(locality.half_width, radius, atol=0.08)
        assert locality.radius_mean == pytest.approx(locality.radius, rel=0.05)


def test_what_is_stored_fits_together(case2) -> None:
    X, _, model = case2
    assert model.objective_ == pytest.approx(
        model.gibbs_risk_ + model.kl_ / (model.inverse_temperature_ * len(X)), rel=1e-10
    )
    assert model.posterior_.n_localities == len(model.localities_) == 3
    assert [locality.point for locality in model.localities_] == [0, 1, 2]
    assert model.n_iter_ >= 1
    assert {record.stage for record in model.path_} == {"search", "without", "final"}
    assert {record.inverse_temperature for record in model.path_} == {model.inverse_temperature_}
    finals = [record.objective for record in model.path_ if record.stage == "final"]
    assert min(finals) == pytest.approx(model.objective_, rel=1e-12)
    assert sum(locality.n_rows for locality in model.localities_) + model.exterior_.n_rows >= len(X)


LOSSES = {
    "log": lambda margin: np.logaddexp(0.0, -margin),
    "zero-one": lambda margin: (margin <= 0).astype(float),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_gibbs_risk_by_drawing_models_from_the_posterior(case2, loss: str) -> None:
    """The risk that fit reports, by Monte Carlo over radii, weights and biases: nothing of the
    library's algebra.
    """
    X, y, model = case2
    if loss != model.loss:
        model = clone(model).set_params(loss=loss).fit(X, y)
    q, rng = model.posterior_, np.random.default_rng(5)
    losses = []
    for _ in range(400):
        inside = draw_members(q, X, rng)
        v, b = draw_models(q, rng)
        each = LOSSES[loss](y[:, None] * (X @ v.T + b))
        losses.append(
            (each[:, :3] * inside).sum(axis=1).mean() + (each[:, 3] * ~inside.any(axis=1)).mean()
        )
    assert model.gibbs_risk_ == pytest.approx(np.mean(losses), abs=4 * np.std(losses) / 20)


def test_the_formulas_are_the_predictions(case2, overlapping, kinked) -> None:
    """Whoever reads a formula and a calculator gets the model's own answer, in the user's units."""
    for X, _, model in (case2, overlapping, kinked):
        models = [*model.localities_, model.exterior_]
        said = np.column_stack([X @ one.coef + one.intercept for one in models])
        spoken = said[np.arange(len(X)), model.apply(X)]
        if hasattr(model, "classes_"):
            assert (model.classes_[(spoken > 0).astype(int)] == model.predict(X)).all()
        else:
            np.testing.assert_allclose(spoken, model.predict(X), rtol=1e-9)


def test_membership_is_distance_within_radius(case2) -> None:
    X, _, model = case2
    q = model.posterior_
    weight = q.column_weight
    distance = np.sqrt((weight * (X[:, None] - np.array(POINTS)) ** 2).sum(axis=2))
    radius = [locality.radius for locality in model.localities_]
    np.testing.assert_array_equal(model.membership(X), distance <= radius)
    for locality, one in zip(model.localities_, weight, strict=True):
        np.testing.assert_allclose(locality.half_width, locality.radius / np.sqrt(one))
    np.testing.assert_allclose(
        model.membership_proba(X), theta(distance, q.radius_shape, q.radius_rate), atol=1e-9
    )
    np.testing.assert_array_equal(model.membership(X), model.membership_proba(X) >= 0.5)
    inside = model.membership(X).any(axis=1)
    np.testing.assert_array_equal(model.apply(X) == 3, ~inside)


def by_loss(model: LocalMixtureClassifier, loss: str) -> LocalMixtureClassifier:
    """The same localities and models, read by another loss."""
    target = model.mixture_.target
    return with_mixture(model, target=replace(target, loss_name=loss))


@pytest.mark.parametrize("loss", LOSSES)
def test_the_posteriors_vote(overlapping, loss: str) -> None:
    X, _, model = overlapping
    model, q = by_loss(model, loss), model.posterior_
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    phi = ndtr(
        (Z @ q.coef.T + q.intercept)
        / np.sqrt(q.coef_scale**2 * (Z**2).sum(axis=1)[:, None] + q.intercept_scale**2)
    )
    omega = model.membership_proba(X)
    gate = np.column_stack([omega, np.prod(1 - omega, axis=1)])
    vote = (gate * phi).sum(axis=1) / gate.sum(axis=1)
    proba = model.vote_proba(X)
    np.testing.assert_allclose(proba[:, 1], vote, atol=1e-8)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert (model.classes_[proba.argmax(axis=1)] == model.predict(X)).mean() > 0.9


@pytest.mark.parametrize("overlap", ["nearest", "mean"])
@pytest.mark.parametrize("loss", LOSSES)
def test_predict_is_the_argmax_of_the_probabilities(
    case2, overlapping, loss: str, overlap: str
) -> None:
    """Both are of the model used; the log-odds are those of the probabilities."""
    for X, _, fitted in (case2, overlapping):
        model = by_loss(fitted, loss).set_params(overlap=overlap)
        assert (overlap == "mean") == (model.apply(X) < 0).any() or fitted is case2[2]
        proba, odds = model.predict_proba(X), model.decision_function(X)
        assert proba.shape == (len(X), 2)
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
        np.testing.assert_array_equal(odds > 0, model.predict(X) == model.classes_[1])
        np.testing.assert_array_equal(proba[:, 1], expit(odds))
        inner = np.abs(odds) < 20  # beyond, 1 - p has lost its digits
        np.testing.assert_allclose(
            odds[inner], np.log(proba[inner, 1] / proba[inner, 0]), rtol=1e-6, atol=1e-9
        )


@pytest.mark.parametrize("overlap", ["nearest", "mean"])
def test_log_odds_are_the_formulas_value(case2, overlapping, overlap: str) -> None:
    """With the log loss; the mean of several where several apply and are averaged."""
    for X, _, fitted in (case2, overlapping):
        model = by_loss(fitted, "log").set_params(overlap=overlap)
        models, used, member = model.mixture_.models, model.apply(X), model.membership(X)
        values = np.column_stack([X @ one.coef + one.intercept for one in models])
        expected = values[np.arange(len(X)), used]
        several = used < 0
        expected[several] = np.mean(values[several, :-1], axis=1, where=member[several])
        np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(expected), atol=1e-9)


@pytest.mark.parametrize("overlap", ["nearest", "mean"])
def test_zero_one_probability_is_that_of_a_positive_score(overlapping, overlap: str) -> None:
    """Phi of score over deviation, of the model used; a mean of scores has the mean variance over
    their number.
    """
    X, _, fitted = overlapping
    model, q = copy.copy(fitted).set_params(overlap=overlap), fitted.posterior_
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    score = Z @ q.coef.T + q.intercept
    variance = q.coef_scale**2 * (Z**2).sum(axis=1)[:, None] + q.intercept_scale**2
    member = model.membership(X)
    applies = np.column_stack([member, ~member.any(axis=1)])
    if overlap == "nearest":
        applies = np.arange(3) == model.apply(X)[:, None]
    count = applies.sum(axis=1)
    mean = (score * applies).sum(axis=1) / count
    deviation = np.sqrt((variance * applies).sum(axis=1)) / count
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], ndtr(mean / deviation), atol=1e-8)


def test_ambiguity_and_sets(overlapping) -> None:
    X, _, model = overlapping
    member = model.membership(X)
    labels = np.column_stack([(X @ one.coef + one.intercept) > 0 for one in model.localities_])
    contradict = member.all(axis=1) & (labels[:, 0] != labels[:, 1])
    np.testing.assert_array_equal(model.ambiguous(X), contradict)
    sets = model.predict_set(X)
    assert [len(one) == 2 for one in sets] == contradict.tolist()
    assert all(label in one for label, one in zip(model.predict(X), sets, strict=True))


def test_overlap_rules(overlapping) -> None:
    X, _, model = overlapping
    nearest = model.apply(X)
    both = model.membership(X).all(axis=1)
    assert both.any()
    assert (nearest[both] == (X[both, 0] > 0)).all()  # the nearer of the two centers
    model.set_params(overlap="mean")
    try:
        assert (model.apply(X)[both] == -1).all()
        assert (model.apply(X)[~both] == nearest[~both]).all()
        formulas = np.column_stack([X @ one.coef + one.intercept for one in model.localities_])
        expected = model.classes_[(formulas[both].mean(axis=1) > 0).astype(int)]
        np.testing.assert_array_equal(model.predict(X)[both], expected)
    finally:
        model.set_params(overlap="nearest")


def test_regression_in_the_users_units(kinked) -> None:
    X, y, model = kinked
    assert model.score(X, y) > 0.99
    assert model.inverse_temperature_ in (4.0, 32.0)
    (locality,) = model.localities_
    assert locality.center[0] == pytest.approx(1200, abs=10)
    assert locality.half_width[0] == pytest.approx(100, abs=5)
    assert locality.coef[0] == pytest.approx(3e4, rel=0.1)  # the prior draws it towards 0
    assert model.target_scale_ == pytest.approx(y.std())
    assert model.residual_scale_ >= np.sqrt(
        np.mean((y - model.predict(X)) ** 2)
    )  # of rows left out
    weight = model.inverse_temperature_ * len(X)
    assert model.objective_ == pytest.approx(
        model.gibbs_risk_ + model.target_scale_**2 * model.kl_ / weight, rel=1e-9
    )
    assert model.gibbs_risk_ > np.mean((y - model.predict(X)) ** 2) * 0.9
    z = np.abs(X[:, 0] - locality.center[0]) / X.std()
    q = model.posterior_
    expected = upsilon(
        z, 1, float(q.center_scale[0]), float(q.radius_shape[0]), float(q.radius_rate[0])
    )
    np.testing.assert_allclose(model.membership_proba(X)[:, 0], expected, atol=1e-7)


def test_regression_sets_and_tolerance() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(200, 1))
    y = np.abs(X[:, 0]) + 0.05 * rng.normal(size=200)
    model = LocalMixtureRegressor(
        points_of_interest=[[-1.0], [1.0]],
        inverse_temperature=8.0,
        n_starts=3,
        random_state=0,
        standardize=False,
    ).fit(X, y)
    sets = model.predict_set(X)
    member = model.membership(X)
    assert [len(one) for one in sets] == np.maximum(member.sum(axis=1), 1).tolist()
    width = np.array([one.max() - one.min() for one in sets])
    np.testing.assert_array_equal(model.ambiguous(X), width > model.residual_scale_)
    np.testing.assert_array_equal(model.ambiguous(X, tolerance=0.0), width > 0)
    assert not model.ambiguous(X, tolerance=1e9).any()
    with pytest.raises(ValueError, match="tolerance must be a number >= 0"):
        model.ambiguous(X, tolerance=-1)


def test_no_locality_is_ridge_regression(rng: np.random.Generator) -> None:
    X = rng.normal(size=(300, 3))
    y = X @ [1.0, -2.0, 0.5] + 3 + 0.1 * rng.normal(size=300)
    model = LocalMixtureRegressor(0, inverse_temperature=100.0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), LinearRegression().fit(X, y).predict(X), atol=0.01)
    assert model.localities_ == []
    assert model.membership(X).shape == (300, 0)
    assert (model.apply(X) == 0).all()
    assert not model.ambiguous(X).any()
    with_points = LocalMixtureRegressor(
        points_of_interest=np.empty((0, 3)), inverse_temperature=100.0
    ).fit(X, y)
    np.testing.assert_allclose(with_points.predict(X), model.predict(X), atol=1e-3)


def test_same_seed_same_model_for_any_jobs_and_row_order(rng: np.random.Generator) -> None:
    X, y = make_clf_case1(200, random_state=0)
    order = rng.permutation(len(X))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no training row belongs")
        one = LocalMixtureClassifier(n_jobs=1, **SHORT).fit(X, y)
        two = LocalMixtureClassifier(n_jobs=2, **SHORT).fit(X[order], y[order])
        three = LocalMixtureClassifier(n_jobs=1, **SHORT | {"random_state": 4}).fit(X, y)
    np.testing.assert_array_equal(one.posterior_.coef, two.posterior_.coef)
    assert one.objective_ == two.objective_
    assert one.objective_ != three.objective_


def test_weights_count_as_repetition_and_zero_as_absence(rng: np.random.Generator) -> None:
    X, y = make_clf_case1(150, random_state=0)
    count = rng.integers(0, 3, size=len(X))
    index = np.repeat(np.arange(len(X)), count)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no training row belongs")
        weighted = LocalMixtureClassifier(**SHORT).fit(X, y, sample_weight=count)
        repeated = LocalMixtureClassifier(**SHORT).fit(X[index], y[index])
    np.testing.assert_array_equal(weighted.posterior_.coef, repeated.posterior_.coef)
    # n_rows counts rows, whatever they weigh
    assert weighted.exterior_.n_rows <= (count > 0).sum()


def test_selection_is_recorded() -> None:
    X, y = make_clf_case2(300, random_state=0)
    model = LocalMixtureClassifier(
        points_of_interest=POINTS,
        standardize=False,
        inverse_temperature=(1.0, 2.0, 4.0),
        n_starts=2,
        random_state=0,
    ).fit(X, y)
    selection = [record for record in model.path_ if record.stage == "search"]
    assert {record.inverse_temperature for record in selection} == {1.0, 2.0, 4.0}
    scored = [record for record in selection if record.held_out_score is not None]
    assert len(scored) == 3
    best = max(record.held_out_score for record in scored)
    assert (
        next(
            r.held_out_score for r in scored if r.inverse_temperature == model.inverse_temperature_
        )
        == best
    )
    assert {record.inverse_temperature for record in model.path_ if record.stage == "final"} == {
        model.inverse_temperature_
    }


def test_unit_scale_is_the_papers_and_never_better() -> None:
    X, y = make_clf_case2(300, random_state=0)
    free, unit = (
        LocalMixtureClassifier(
            points_of_interest=POINTS,
            standardize=False,
            inverse_temperature=2.0,
            loss="zero-one",
            coef_scale=scale,
            n_starts=3,
            random_state=0,
        ).fit(X, y)
        for scale in ("free", "unit")
    )
    np.testing.assert_array_equal(unit.posterior_.coef_scale, 1.0)
    assert free.objective_ < unit.objective_
    for setting in ({"coef_scale": "unit"}, {"combine": "any"}):
        with pytest.raises(InputError, match=r"are of the zero-one loss; got .* with loss='log'"):
            LocalMixtureClassifier(0, **setting).fit(X, y)


def test_refit_with_other_data_leaves_nothing_behind() -> None:
    X, y = make_clf_case2(100, random_state=0)
    model = LocalMixtureClassifier(0, inverse_temperature=1.0)
    model.fit(pd.DataFrame(X, columns=["a", "b"]), np.where(y > 0, "yes", "no"))
    model.fit(X[:, :1], y)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 1
    assert model.classes_.tolist() == [-1.0, 1.0]
    assert model.exterior_.feature_names == ("x0",)


def test_set_params_after_fit_does_not_change_what_was_measured(case2) -> None:
    X, _, model = case2
    before = model.membership(X)
    model.set_params(metric="manhattan")
    try:
        np.testing.assert_array_equal(model.membership(X), before)
    finally:
        model.set_params(metric="euclidean")


def test_path_and_objective_are_in_the_same_units(kinked) -> None:
    _, _, model = kinked
    finals = [record.objective for record in model.path_ if record.stage == "final"]
    assert min(finals) == pytest.approx(model.objective_, rel=1e-12)
    for value in (4.0, 32.0):
        ranked = [
            record
            for record in model.path_
            if record.inverse_temperature == value and record.stage == "search"
        ]
        assert [record.rank for record in ranked] == list(range(len(ranked)))
        assert [record.objective for record in ranked] == sorted(
            record.objective for record in ranked
        )


def test_a_heavy_row_does_not_upset_the_split() -> None:
    X, y = make_clf_case2(120, random_state=0)
    weight = np.ones(120)
    weight[7] = 1e4
    model = LocalMixtureClassifier(0, inverse_temperature=(1.0, 2.0), random_state=0).fit(
        X, y, sample_weight=weight
    )
    assert np.isfinite(model.objective_)


def test_metrics_with_scales_of_their_own_keep_them() -> None:
    X, y = make_clf_case2(200, random_state=0)
    for metric in ("seuclidean", "mahalanobis"):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="no training row belongs")
            model = LocalMixtureClassifier(
                points_of_interest=POINTS,
                metric=metric,
                inverse_temperature=4.0,
                n_starts=1,
                random_state=0,
            ).fit(X, y)
        np.testing.assert_allclose(
            model.membership_proba(X[:3]), model.membership_proba(X)[:3], atol=1e-12
        )


@pytest.mark.filterwarnings("ignore::motlm.errors.IdleLocalityWarning")
def test_array_priors_and_dropped_localities(rng: np.random.Generator) -> None:
    X = rng.normal(size=(100, 2))
    y = X @ [1.0, 2.0]
    prior = Prior(radius_shape=[2.0, 3.0], coef=np.zeros((3, 2)))
    with pytest.warns(UserWarning, match="no training row belongs to locality"):
        model = LocalMixtureRegressor(
            points_of_interest=[[0.0, 0.0], [500.0, 500.0]],
            prior=prior,
            inverse_temperature=2.0,
            n_starts=1,
            random_state=0,
        ).fit(X, y)
    assert model.posterior_.n_localities < 2
    with pytest.raises(
        ValueError,
        match=r"Prior\.center must be a number or an array of shape \(1, 2\); got shape \(3,\)",
    ):
        LocalMixtureRegressor(1, prior=Prior(center=[0.0, 1.0, 2.0]), inverse_temperature=1.0).fit(
            X, y
        )
    with pytest.raises(ValueError, match=r"Prior\.coef_scale must lie between 0.0001 and 10"):
        Prior(coef_scale=100.0)


def test_records_compare_by_identity(case2) -> None:
    _, _, model = case2
    assert model.localities_[0] != model.localities_[1]
    assert model.localities_[0] in model.localities_


def test_nadam_solver() -> None:
    X, y = make_clf_case2(300, random_state=0)
    model = LocalMixtureClassifier(
        points_of_interest=POINTS,
        standardize=False,
        inverse_temperature=2.0,
        solver="nadam",
        n_starts=4,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no training row belongs")
        model.fit(X, y)
    assert model.score(X, y) > 0.6


def test_other_metrics_and_callables() -> None:
    X, y = make_clf_case2(300, random_state=0)
    parameters = {
        "points_of_interest": POINTS,
        "standardize": False,
        "inverse_temperature": 2.0,
        "n_starts": 2,
        "random_state": 0,
    }

    def city(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.abs(a - b).sum())

    named = LocalMixtureClassifier(metric="manhattan", **parameters).fit(X, y)
    called = LocalMixtureClassifier(metric=city, **parameters).fit(X, y)
    np.testing.assert_allclose(named.objective_, called.objective_, rtol=1e-9)
    assert named.localities_[0].half_width is not None
    assert called.localities_[0].half_width is None


def test_a_prior_of_the_users_own() -> None:
    X, y = make_clf_case2(200, random_state=0)
    narrow = LocalMixtureClassifier(
        points_of_interest=POINTS,
        standardize=False,
        inverse_temperature=1.0,
        n_starts=2,
        random_state=0,
        prior=Prior(radius_shape=900.0, radius_rate=1800.0),
    ).fit(X, y)
    assert all(locality.radius == pytest.approx(0.5, abs=0.05) for locality in narrow.localities_)


@pytest.mark.filterwarnings("ignore::motlm.errors.IdleLocalityWarning")
def test_a_locality_without_rows_is_dropped_and_said(rng: np.random.Generator) -> None:
    X = rng.normal(size=(200, 2))
    y = np.where(X[:, 0] > 0, 1, 0)
    with pytest.warns(UserWarning, match="no training row belongs to locality 1 of 2: dropped"):
        model = LocalMixtureClassifier(
            points_of_interest=[[0.0, 0.0], [500.0, 500.0]],
            inverse_temperature=2.0,
            n_starts=2,
            random_state=0,
        ).fit(X, y)
    assert [locality.point for locality in model.localities_] in ([0], [])
    assert all(locality.n_rows > 0 for locality in model.localities_)
    assert model.posterior_.n_localities == len(model.localities_)
    assert model.objective_ == pytest.approx(model.gibbs_risk_ + model.kl_ / (2.0 * 200))


def test_verbose_prints_and_quiet_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = make_clf_case2(100, random_state=0)
    model = LocalMixtureClassifier(
        points_of_interest=POINTS, standardize=False, inverse_temperature=(1.0, 2.0), n_starts=1
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no training row belongs")
        model.fit(X, y)
        assert "".join(capsys.readouterr()) == ""
        model.set_params(verbose=1).fit(X, y)
    said = capsys.readouterr()
    assert said.out == ""
    assert "100%" in said.err
    for words in (
        "screening",
        "lambda' = 1, best objective 0.",
        "lambda' = 2, best objective 0.",
        "all rows",
    ):
        assert words in said.err


def test_callers_arrays_are_left_alone() -> None:
    X, y = make_clf_case2(100, random_state=0)
    points = np.array(POINTS)
    before = X.copy(), y.copy(), points.copy()
    for array in (X, y, points):
        array.setflags(write=False)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no training row belongs")
        LocalMixtureClassifier(points_of_interest=points, inverse_temperature=1.0, n_starts=1).fit(
            X, y
        ).predict(X)
    for now, then in zip((X, y, points), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_max_iter_reached_is_a_convergence_warning_with_numbers() -> None:
    X, y = make_clf_case2(200, random_state=0)
    model = LocalMixtureClassifier(
        points_of_interest=POINTS,
        standardize=False,
        inverse_temperature=2.0,
        max_iter=3,
        n_starts=1,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no training row belongs")
        with pytest.warns(
            ConvergenceWarning,
            match=r"lbfgs stopped at max_iter=3 with objective 0\.\d+ \(lambda' = 2\)",
        ):
            model.fit(X, y)


def test_a_subclass_may_fix_parameters() -> None:
    """Those that its constructor does not have are attributes all the same."""

    class Sharp(LocalMixtureClassifier):
        def __init__(self, n_localities: int = 1) -> None:
            super().__init__(n_localities, inverse_temperature=4.0, n_starts=1, random_state=0)

    X, y = make_clf_case2(200, random_state=0)
    model = Sharp().fit(X, y)
    assert model.inverse_temperature_ == 4.0
    plain = LocalMixtureClassifier(1, inverse_temperature=4.0, n_starts=1, random_state=0)
    np.testing.assert_array_equal(model.predict(X), plain.fit(X, y).predict(X))


# -- weights of classes ----------------------------------------------------------------------------


def same_bits(one, other) -> None:
    for name in FIELDS:
        np.testing.assert_array_equal(
            getattr(one.posterior_, name), getattr(other.posterior_, name)
        )
    assert one.objective_ == other.objective_


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("given", ["balanced", {"yes": 3.0}, {"yes": 0.5, "no": 2}])
def test_weights_of_classes_are_those_of_their_rows(given, loss: str) -> None:
    X, y = make_clf_case1(150, random_state=0)
    labels = np.where((y > 0) & (np.arange(150) % 3 > 0), "yes", "no")
    quick = {**SHORT, "n_localities": 0, "inverse_temperature": (0.5, 2.0), "loss": loss}
    weight = compute_sample_weight(given, labels)
    weighted = LocalMixtureClassifier(class_weight=given, **quick).fit(X, labels)
    same_bits(weighted, LocalMixtureClassifier(**quick).fit(X, labels, weight))
    assert weighted.objective_ != LocalMixtureClassifier(**quick).fit(X, labels).objective_
    rows = np.arange(150) % 2 + 1.0
    both = clone(weighted).fit(X, labels, sample_weight=rows)
    same_bits(both, LocalMixtureClassifier(**quick).fit(X, labels, rows * weight))


def test_balanced_classes_do_not_count_rows_without_weight() -> None:
    X, y = make_clf_case2(200, random_state=0)
    weight = np.where((y > 0) & (np.arange(200) % 2 > 0), 0.0, 1.0)
    model = LocalMixtureClassifier(
        0, class_weight="balanced", inverse_temperature=1.0, random_state=0
    )
    kept = weight > 0
    same_bits(clone(model).fit(X, y, weight), clone(model).fit(X[kept], y[kept]))


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"ja": 2.0}, r"class_weight has the label 'ja', which is not in y; its labels are"),
        ({"yes": -1.0}, "class_weight must have numbers of at least 0; got {'yes': -1.0}"),
        ({"yes": np.nan}, "class_weight must have numbers of at least 0"),
        ({"yes": "2"}, "class_weight must have numbers of at least 0"),
        ({"yes": 0, "no": 0}, "class_weight gives all rows a weight of 0"),
        ("equal", "class_weight must be None, 'balanced' or a dict of labels and weights; got"),
        ([1.0, 2.0], "class_weight must be None, 'balanced' or a dict of labels and weights; got"),
    ],
)
def test_wrong_weights_of_classes(given, match: str) -> None:
    X, y = make_clf_case2(60, random_state=0)
    with pytest.raises(InputError, match=match):
        LocalMixtureClassifier(0, class_weight=given).fit(X, np.where(y > 0, "yes", "no"))


# -- rates -----------------------------------------------------------------------------------------

POWERS = {"poisson": 1.0, "gamma": 2.0, "tweedie": 1.5}
RATES = pytest.mark.parametrize("loss", POWERS)


def claims(loss: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, what has happened in their exposures, and these."""
    rng = np.random.default_rng(0)
    X, years = rng.uniform(-1, 1, size=(300, 2)), rng.uniform(0.2, 2.0, size=300)
    rate = 3 * np.exp(np.where(np.abs(X[:, 0]) < 0.5, X[:, 1], -X[:, 1]))
    if loss == "gamma":
        return X, years * rate * rng.gamma(2.0, 0.5, size=300), years
    number = rng.poisson(years * rate)
    return X, number if loss == "poisson" else rng.gamma(2.0 * number, 0.5), years


def rated(loss: str, n: int = 1, **options) -> LocalMixtureRegressor:
    return LocalMixtureRegressor(
        n,
        loss=loss,
        **{
            "inverse_temperature": 1.0,
            "local_models": "linear",
            "n_starts": 2,
            "random_state": 0,
        }
        | options,
    )


@RATES
def test_exposure_is_the_rate_with_its_weight(loss: str) -> None:
    X, y, years = claims(loss)
    model = rated(loss).fit(X, y, exposure=years)
    same_bits(model, rated(loss).fit(X, y / years, sample_weight=years))
    weight = np.arange(300) % 3 + 1.0
    same_bits(
        rated(loss, 0).fit(X, y, weight, exposure=years),
        rated(loss, 0).fit(X, y / years, weight * years),
    )
    np.testing.assert_array_equal(model.predict(X, years), years * model.predict(X))
    np.testing.assert_array_equal(model.predict(X, exposure=list(years)), model.predict(X, years))
    several = {"n": 0, "inverse_temperature": (0.5, 4.0)}
    held = {"X_val": X[200:], "y_val": y[200:], "exposure_val": years[200:]}
    chosen = rated(loss, **several).fit(X[:200], y[:200], exposure=years[:200], **held)
    assert chosen.inverse_temperature_ in (0.5, 4.0)
    scores = [one.held_out_score for one in chosen.path_ if one.held_out_score is not None]
    assert len(scores) == 2


@RATES
def test_rates_are_the_exponential_of_the_formula(loss: str) -> None:
    X, y, years = claims(loss)
    model = rated(loss).fit(X, y, exposure=years)
    values = np.column_stack(
        [
            X @ one.coef + one.intercept + sum(bend.at(X[:, bend.column]) for bend in one.shapes)
            for one in model.mixture_.models
        ]
    )
    np.testing.assert_allclose(
        model.predict(X), np.exp(values[np.arange(len(X)), model.apply(X)]), rtol=1e-9
    )
    sets = model.predict_set(X)
    assert all(rate in one for rate, one in zip(model.predict(X), sets, strict=True))
    answers = [np.exp(values[i, :-1][inside]) for i, inside in enumerate(model.membership(X))]
    np.testing.assert_allclose(
        [one.max() - one.min() for one in sets],
        [np.ptp(one) if len(one) else 0.0 for one in answers],
        atol=1e-9,
    )


@RATES
def test_rates_add_up_over_the_training_rows(loss: str) -> None:
    X, y, years = claims(loss)
    for n in (0, 1):
        model = rated(loss, n).fit(X, y, exposure=years)
        assert model.predict(X, years).sum() == pytest.approx(y.sum(), rel=1e-9)


@RATES
def test_score_is_the_share_of_the_deviance(loss: str) -> None:
    X, y, years = claims(loss)
    model, power = rated(loss).fit(X, y, exposure=years), POWERS[loss]
    rates, weight = model.predict(X), np.arange(300) % 3 + 1.0
    for given, one, w in [
        ({}, y, None),
        ({"sample_weight": weight}, y, weight),
        ({"exposure": years}, y / years, years),
        ({"exposure": years, "sample_weight": weight}, y / years, years * weight),
    ]:
        expected = d2_tweedie_score(one, rates, sample_weight=w, power=power)
        assert model.score(X, y, **given) == pytest.approx(expected, rel=1e-12)
    assert model.score(X, y, exposure=years) > 0.1
    assert model.score(X[:1], y[:1] + 1) == 0.0  # as R2 is of answers to targets without spread


def test_power_is_that_of_the_variance() -> None:
    X, y, _ = claims("tweedie")
    model = rated("tweedie", 0, power=1.2).fit(X, y)
    assert model.score(X, y) == pytest.approx(d2_tweedie_score(y, model.predict(X), power=1.2))
    assert model.objective_ != rated("tweedie", 0, power=1.7).fit(X, y).objective_


@pytest.mark.parametrize(
    ("loss", "exposure", "match"),
    [
        ("poisson", 0.0, "exposure must be positive and at most 1e.60; got 0 at row 3, and 1 such"),
        ("gamma", -2.0, "exposure must be positive and at most 1e.60; got -2 at row 3, and 1 such"),
        ("tweedie", np.nan, "exposure must be positive and at most 1e.60; got nan at row 3"),
        ("poisson", np.inf, "exposure must be positive and at most 1e.60; got inf at row 3"),
        ("squared", 1.0, "exposure is for losses of rates, 'poisson', 'gamma', 'tweedie'; got"),
    ],
)
def test_wrong_exposures(loss: str, exposure: float, match: str) -> None:
    X, y, years = claims("gamma")
    years[3] = exposure
    fitted = rated(loss, 0).fit(X, y)
    for call in (
        lambda: rated(loss, 0).fit(X, y, exposure=years),
        lambda: fitted.predict(X, years),
        lambda: fitted.score(X, y, exposure=years),
    ):
        with pytest.raises(InputError, match=match):
            call()
    with pytest.raises(InputError, match="exposure_val"):
        rated(loss, 0).fit(X, y, X_val=X, y_val=y, exposure_val=years)


def test_exposures_of_other_shapes() -> None:
    X, y, years = claims("poisson")
    with pytest.raises(InputError, match="exposure must have one number for each of 300 rows; got"):
        rated("poisson", 0).fit(X, y, exposure=years[:5])
    with pytest.raises(InputError, match="exposure must be one positive number for each row"):
        rated("poisson", 0).fit(X, y, exposure="a year")
    with pytest.raises(InputError, match="exposure_val comes with X_val and y_val; got it alone"):
        rated("poisson", 0).fit(X, y, exposure=years, exposure_val=years)
    years[7], y[7] = 1e-320, 1.0
    with pytest.raises(InputError, match="y contains infinity: column 'y', row 7"):
        rated("poisson", 0).fit(X, y, exposure=years)


@pytest.mark.parametrize(
    ("loss", "low", "match"),
    [
        (
            "poisson",
            -1.0,
            "loss='poisson' needs numbers of at least 0 in y; got -1 at row 7, and 1",
        ),
        ("tweedie", -0.5, "loss='tweedie' needs numbers of at least 0 in y; got -0.5 at row 7"),
        ("gamma", 0.0, "loss='gamma' needs numbers above 0 in y; got 0 at row 7"),
        ("gamma", -1.0, "loss='gamma' needs numbers above 0 in y; got -1 at row 7"),
    ],
)
def test_targets_that_are_no_rates(loss: str, low: float, match: str) -> None:
    X, y, years = claims("gamma")
    wrong = np.where(np.arange(300) == 7, low, y)
    fitted = rated(loss, 0).fit(X, y)
    for call in (
        lambda: rated(loss, 0).fit(X, wrong),
        lambda: rated(loss, 0).fit(X, wrong * years, exposure=years),
        lambda: fitted.score(X, wrong),
    ):
        with pytest.raises(InputError, match=match.split(" got ")[0]):
            call()
    with pytest.raises(InputError, match=match):
        rated(loss, 0).fit(X, wrong)
    with pytest.raises(InputError, match="in y_val"):
        rated(loss, 0).fit(X, y, X_val=X, y_val=wrong)


def test_nothing_has_happened() -> None:
    X, _, _ = claims("poisson")
    with pytest.raises(InputError, match="y is 0 in all 300 rows of positive weight"):
        rated("poisson").fit(X, np.zeros(300))


@pytest.mark.parametrize("power", [1, 2.0, 0.0, 3, np.nan, "1.5", None, True])
def test_powers_outside_of_1_and_2(power) -> None:
    X, y, _ = claims("tweedie")
    with pytest.raises(InputError, match=r"power must lie between 1 and 2 \(both excluded\)"):
        rated("tweedie", power=power).fit(X, y)
    rated("poisson", 0, power=power).fit(X, y)  # has none


@pytest.mark.parametrize("model", [LocalMixtureClassifier, LocalMixtureRegressor])
def test_unknown_losses(model) -> None:
    X, y = make_clf_case2(60, random_state=0)
    with pytest.raises(InputError, match=r"loss must be one of '.*; got 'hinge'"):
        model(0, loss="hinge").fit(X, y)


def test_the_prior_by_default_is_the_losss() -> None:
    """Scales of weights are learned but for the zero-one loss, the paper's."""
    X, y = make_clf_case2(100, random_state=0)
    for model, learned in [
        (LocalMixtureClassifier(0), True),
        (LocalMixtureClassifier(0, loss="zero-one"), False),
        (LocalMixtureClassifier(0, prior=Prior()), False),
        (LocalMixtureRegressor(0), True),
        (LocalMixtureRegressor(0, prior=Prior()), False),
        (rated("gamma", 0), True),
    ]:
        model.set_params(inverse_temperature=1.0).fit(X, np.where(y > 0, 2.0, 1.0))
        assert model.mixture_.provenance.prior.learn_scales == learned
