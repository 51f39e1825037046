"""The choice by cross-validation."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes
from sklearn.metrics import mean_poisson_deviance
from sklearn.model_selection import KFold

import motlm
from motlm import LocalMixtureClassifier, LocalMixtureRegressor, Prior
from motlm.datasets import make_reg_case1
from motlm.errors import InputError, NeedlessLocalityWarning
from motlm.folds import Candidate, choose_candidate, is_close, left_out
from motlm.report import render
from motlm.watch import Watch

QUICK = {"random_state": 0, "n_starts": 2, "max_localities": 2}


@given(st.integers(10, 400), st.booleans())
def test_each_row_is_left_out_as_often(n_rows: int, stratify: bool) -> None:
    target = np.arange(n_rows) % 2.0
    masks = left_out(target, 0.2, stratify, None)
    count = np.sum(masks, axis=0)
    assert (count == (3 if n_rows < 300 else 1)).all()
    for mask in masks:
        assert abs(mask.sum() - n_rows / 5) <= 2
        if stratify:
            assert abs(target[mask].mean() - 0.5) <= 0.51 / mask.sum() + 0.25


def test_many_rows_have_fewer_folds() -> None:
    masks = left_out(np.zeros(5000), 0.2, False, None)
    assert len(masks) == 3
    assert np.sum(masks, axis=0).max() == 1
    [mask] = left_out(np.zeros(30_000), 0.2, False, None)
    assert mask.sum() == 6000


@given(st.lists(st.integers(0, 12), min_size=40, max_size=200))
def test_groups_stay_together(groups: list[int]) -> None:
    codes = np.array(groups)
    masks = left_out(np.zeros(len(codes)), 0.2, False, codes)
    for mask in masks:
        assert not set(codes[mask]) & set(codes[~mask])
    if len(set(groups)) >= 10:
        assert masks


def test_a_label_that_is_too_rare_has_no_folds() -> None:
    assert left_out(np.array([0.0] * 30 + [1.0]), 0.2, True, None) == []


def candidate(variant: int, n: int, losses: np.ndarray, value: float = 1.0) -> Candidate:
    return Candidate(variant, n, value, losses, float(losses.mean()), 0.0)


def test_the_simplest_within_a_standard_error_wins(rng: np.random.Generator) -> None:
    base, weight = rng.exponential(size=400), np.ones(400)
    worse = base + rng.normal(scale=0.2, size=400)
    worse += 0.005 - (worse - base).mean()  # half a standard error
    much = base + rng.normal(0.3, 0.2, size=400)

    def plain(variant: int) -> bool:
        return variant == 0

    best = candidate(1, 3, base)
    assert choose_candidate([best, candidate(0, 0, much)], weight, plain) is best
    simple = candidate(0, 0, worse)
    assert choose_candidate([best, simple], weight, plain) is simple
    fewer = candidate(1, 1, worse)
    assert choose_candidate([best, fewer, candidate(0, 0, much)], weight, plain) is fewer
    linear = candidate(0, 4, worse)  # straight lines before fewer localities
    assert choose_candidate([best, fewer, linear], weight, plain) is linear
    other = candidate(1, 3, worse, 2.0)
    assert choose_candidate([best, other], weight, plain, rule=2.0) is other
    assert choose_candidate([best, other], weight, plain) is best


def test_closeness_is_paired(rng: np.random.Generator) -> None:
    losses, weight = 100 * rng.exponential(size=300), np.ones(300)
    assert not is_close(losses + 0.1, losses, weight, 1.0)
    noise = rng.normal(size=300)
    assert is_close(losses + noise - noise.mean() + 0.01, losses, weight, 1.0)


def noisy(n_rows: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_rows, 3))
    return X, X[:, 0] + rng.normal(size=n_rows)


def test_noise_has_no_localities_and_no_curves() -> None:
    X, y = noisy()
    model = LocalMixtureRegressor(**QUICK).fit(X, y)
    assert model.localities_ == []
    assert model.mixture_.inputs.bends is None
    results = model.cv_results_
    assert len({len(one) for one in results.values()}) == 1
    [chosen] = np.flatnonzero(results["chosen"])
    assert results["n_localities"][chosen] == 0
    assert results["mean_test_score"][chosen] == pytest.approx(model.cv_score_)
    assert results["mean_test_score"].max() <= model.cv_score_ + 0.1
    assert sorted(results["rank_test_score"]) == list(range(1, len(results["chosen"]) + 1))
    fresh = np.random.default_rng(2).normal(size=(4000, 3))
    truth = fresh[:, 0] + np.random.default_rng(3).normal(size=4000)
    assert model.cv_score_ == pytest.approx(model.score(fresh, truth), abs=0.12)


def test_localities_that_were_asked_for_are_beside_none(tmp_path: Path) -> None:
    """Of linear data: a warning, a line of the table, of the path and of the page."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = X @ [1, 2, 0, -1] + rng.normal(size=120)
    model = LocalMixtureRegressor(
        2, local_models="linear", inverse_temperature=[64, 256], random_state=0
    )
    with pytest.warns(NeedlessLocalityWarning, match="clearly worse with 2 localities") as told:
        model.fit(X, y)
    results = model.cv_results_
    none = results["n_localities"] == 0
    assert none.sum() == 2
    assert not results["chosen"][none].any()
    assert results["chosen"].sum() == 1
    best = results["mean_test_score"][none].max()
    assert best > model.cv_score_
    assert f"R2 {model.cv_score_:.3g} instead of {best:.3g}" in str(told[0].message)
    model.save(tmp_path / "m.json")
    again = motlm.load(tmp_path / "m.json")
    assert [one.n_localities for one in again.path_ if one.stage == "without"] == [0, 0]
    text = render(again, X, y, tmp_path / "r.html").read_text(encoding="utf-8")
    assert "One model without any does better on rows left out" in text


def test_localities_that_are_needed_are_not_warned_of() -> None:
    X, y = make_reg_case1(200, random_state=0)
    model = LocalMixtureRegressor(1, local_models="linear", random_state=0).fit(X, y)
    assert 0 in model.cv_results_["n_localities"]
    assert len(model.localities_) == 1


def test_of_a_number_that_is_asked_for_the_kind_that_has_as_many_is_chosen() -> None:
    """In all columns both localities are empty or tell nothing."""
    data = load_diabetes()
    train, _ = list(KFold(4, shuffle=True, random_state=0).split(data.data))[3]
    model = LocalMixtureRegressor(2, local_models="linear", random_state=0)
    model.fit(data.data[train], data.target[train])
    assert len(model.localities_) == 2


def test_the_number_of_jobs_changes_nothing() -> None:
    X, y = noisy(150)
    y = y + 3 * (X[:, 1] > 0.5)
    models = [LocalMixtureRegressor(n_jobs=jobs, **QUICK).fit(X, y) for jobs in (1, 2)]
    assert models[0].mixture_.hash == models[1].mixture_.hash


def test_groups_are_left_out_whole_and_checked() -> None:
    """Rows are copied with a little noise: only groups tell that they are not new."""
    rng = np.random.default_rng(0)
    first, labels = rng.normal(size=(40, 2)), rng.normal(size=40)
    X = np.repeat(first, 8, axis=0) + 1e-3 * rng.normal(size=(320, 2))
    y, groups = np.repeat(labels, 8), np.repeat(np.arange(40), 8)
    alone = LocalMixtureRegressor(**QUICK).fit(X, y)
    together = LocalMixtureRegressor(**QUICK).fit(X, y, groups=groups)
    assert together.cv_score_ < alone.cv_score_
    with pytest.raises((InputError, ValueError), match=r"groups|inconsistent"):
        LocalMixtureRegressor(**QUICK).fit(X, y, groups=groups[:-1])


def test_two_labels_and_rates_have_scores_of_rows_left_out() -> None:
    X, y = noisy()
    labels = LocalMixtureClassifier(**QUICK).fit(X, y > 0)
    assert -0.69 < labels.cv_score_ < 0
    rates = LocalMixtureRegressor(loss="poisson", **QUICK).fit(X, np.floor(np.abs(y)))
    assert rates.cv_score_ < 0
    held = LocalMixtureClassifier(select="held-out", **QUICK).fit(X, y > 0)
    assert not hasattr(held, "cv_score_")


def test_time_that_is_over_leaves_a_model() -> None:
    X, y = noisy()
    with pytest.warns(UserWarning, match="time limit is over"):
        model = LocalMixtureRegressor(max_time=1e-3, random_state=0).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("enough", [True, False])
def test_time_that_does_not_suffice_for_a_choice(
    enough: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of points that are given: not for that of lambda, or, against expectation, not for all
    folds.
    """
    X, y = noisy()
    points = X[::10]
    monkeypatch.setattr(Watch, "keep_back", lambda self, seconds: enough)
    with pytest.warns(UserWarning, match="time limit is over"):
        model = LocalMixtureRegressor(points_of_interest=points, max_time=1e-6, random_state=0).fit(
            X, y
        )
    assert 0 < len(model.localities_) <= len(points)
    assert np.isfinite(model.predict(X)).all()
    assert not hasattr(model, "cv_score_")
    assert [one.stage for one in model.path_].count("search") == (0 if enough else 1)


def test_time_is_kept_back(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    for seconds, remains, suffices in ((0.0, 10.0, True), (3.0, 7.0, True), (6.0, 4.0, False)):
        watch = Watch(10.0, show=False)
        assert watch.keep_back(seconds) is suffices
        assert watch.deadline.at == pytest.approx(now + remains)
    assert not watch.keep_back(100.0)
    assert watch.deadline.at > now
    assert Watch(None, show=False).keep_back(100.0)


@pytest.mark.parametrize("n_rows", [2, 3, 5, 8, 12])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_few_rows_have_a_model_all_the_same(n_rows: int) -> None:
    rng = np.random.default_rng(n_rows)
    X, y = rng.normal(size=(n_rows, 2)), rng.normal(size=n_rows)
    for settings in ({}, {"n_localities": 2}, {"points_of_interest": [[0.0, 0.0]]}):
        model = LocalMixtureRegressor(random_state=0, **settings).fit(X, y)
        assert np.isfinite(model.predict(X)).all()


def test_localities_that_are_chosen_have_rows() -> None:
    """Outliers that a locality could have for itself stay with the exterior."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=200)
    X[:2], y[:2] = [[4.0, 4.0], [4.1, 4.0]], 30.0
    model = LocalMixtureRegressor(local_models="linear", random_state=0, n_starts=1).fit(X, y)
    assert all(one.n_rows >= 5 for one in model.localities_)


def test_scores_of_rates_are_in_the_units_of_their_deviance() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = rng.poisson(0.1 * np.exp(0.5 * X[:, 0]))
    model = LocalMixtureRegressor(0, loss="poisson", random_state=0).fit(X, y)
    deviance = mean_poisson_deviance(y, model.predict(X))
    assert 0.95 * deviance < -model.cv_score_ < 1.15 * deviance


@pytest.mark.parametrize("groups", [[0.0, float("nan"), 1.0, 1.0], ["a", None, "b", "b"]])
def test_rows_without_a_group_are_refused(groups: list[object]) -> None:
    with pytest.raises(InputError, match="groups has no value for 1 of 4 rows"):
        LocalMixtureRegressor(**QUICK).fit(
            [[0.0], [1.0], [2.0], [3.0]], [0, 1, 2, 4], groups=groups
        )


# -- borders ---------------------------------------------------------------------------------------


def hill(sharp: bool, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Columns, and log odds that fall with the distance from the middle: at once, or bit by bit."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(700, 2))
    away = np.hypot(*X.T)
    return X, np.where(away < 1, 2.5, -2.5) if sharp else 5 - 5 * away


def labels(score: np.ndarray) -> np.ndarray:
    return np.random.default_rng(4).random(len(score)) < 1 / (1 + np.exp(-score))


def test_borders_are_soft_where_rows_left_out_are_better_for_it() -> None:
    """The radius is then known to a tenth of itself at best, and with sharp ones to less."""
    for sharp in (False, True):
        X, score = hill(sharp)
        model = LocalMixtureClassifier(1, local_models="linear", **QUICK).fit(X, labels(score))
        results = model.cv_results_
        best = {
            kind: results["mean_test_score"][(results["borders"] == kind) & one].max()
            for one in [results["n_localities"] == 1]
            for kind in ("sharp", "soft")
        }
        assert (best["sharp"] > best["soft"]) == sharp
        assert list(results["borders"][results["chosen"]]) == ["sharp" if sharp else "soft"]
        [shape] = model.posterior_.radius_shape
        assert (shape > 1000) == sharp
        assert shape <= 100 * (1 + 1e-9) or sharp


def test_borders_of_squared_losses_and_of_sharp_priors_are_not_softened() -> None:
    X, score = hill(False)
    model = LocalMixtureRegressor(1, local_models="linear", **QUICK).fit(X, score)
    assert set(model.cv_results_["borders"]) == {"sharp"}
    prior = Prior(radius_shape=1000.0, radius_rate=1000.0)
    known = LocalMixtureClassifier(1, local_models="linear", prior=prior, **QUICK)
    assert set(known.fit(X, labels(score)).cv_results_["borders"]) == {"sharp"}


def test_soft_borders_stay_soft() -> None:
    """Where the fit goes on, and where terms are struck out."""
    X, score = hill(False)
    y = labels(score)
    short = LocalMixtureClassifier(1, local_models="linear", max_terms=1, **QUICK).fit(X, y)
    assert short.posterior_.radius_shape[0] <= 100 * (1 + 1e-9)
    again = short.set_params(max_terms=None, warm_start=True).fit(X, y)
    assert again.posterior_.radius_shape[0] <= 100 * (1 + 1e-9)


def test_borders_of_rates_may_be_soft() -> None:
    X, score = hill(False)
    y = np.random.default_rng(0).poisson(np.exp(score / 3))
    model = LocalMixtureRegressor(1, loss="poisson", local_models="linear", **QUICK).fit(X, y)
    assert set(model.cv_results_["borders"]) == {"sharp", "soft"}
    given = LocalMixtureRegressor(
        points_of_interest=[[0.0, 0.0]], loss="poisson", local_models="linear", **QUICK
    ).fit(X, y)
    assert set(given.cv_results_["borders"]) == {"sharp", "soft"}
