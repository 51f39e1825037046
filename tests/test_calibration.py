"""What rows left out tell of a model: intervals, typical errors, bold probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

import motlm
from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.calibration import fit_scaling
from motlm.errors import InputError
from motlm.targets import QUANTILES, Continuous

QUICK: dict[str, Any] = {"random_state": 0, "n_starts": 1, "local_models": "linear"}


def line(n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 20))
    return X, X[:, 0] + rng.standard_t(5, size=n_rows)


def test_scaling_is_the_largest_posterior_density() -> None:
    """Beside a plain search over the same density."""
    rng = np.random.default_rng(1)
    scores, places = rng.normal(size=(3, 80)), rng.integers(0, 3, size=80)
    weight = rng.uniform(0.5, 2.0, size=80)
    slope, shift = fit_scaling(scores, places, weight)

    def risk(numbers: np.ndarray) -> float:
        made = log_softmax(np.exp(numbers[0]) * scores + numbers[1:, None], axis=0)
        return float(-weight @ made[places, np.arange(80)] + numbers @ numbers / 2 / 0.25**2)

    found = minimize(risk, np.zeros(4), method="Nelder-Mead", options={"maxiter": 5000})
    np.testing.assert_allclose(slope, np.exp(found.x[0]), rtol=1e-2)
    np.testing.assert_allclose(shift, found.x[1:] - found.x[1:].mean(), atol=1e-2)


def test_bold_probabilities_are_drawn_back() -> None:
    """Few rows of many columns, and a lambda that believes them too much."""
    X, y = make_classification(
        3000, 30, n_informative=8, n_redundant=0, flip_y=0.1, random_state=3, shuffle=False
    )
    rows = np.random.default_rng(0).permutation(3000)
    train, test = rows[:150], rows[150:]
    options = {"inverse_temperature": 8.0, **QUICK}
    model = LocalMixtureClassifier(0, **options).fit(X[train], y[train])
    plain = LocalMixtureClassifier(0, select="held-out", **options).fit(X[train], y[train])
    slope = model.exterior_.coef / plain.exterior_.coef
    np.testing.assert_allclose(slope, slope[0], rtol=0.05)  # one for all
    assert slope[0] < 0.97
    loss, bold = (log_loss(y[test], one.predict_proba(X[test])) for one in (model, plain))
    assert loss < bold
    best = LogisticRegression(C=1e6).fit(model.decision_function(X[test])[:, None], y[test])
    assert abs(np.log(best.coef_[0, 0])) < 0.35


def test_curves_corrections_and_classes_are_scaled_alike() -> None:
    X, y = make_classification(
        400, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0, n_clusters_per_class=1
    )
    model = LocalMixtureClassifier(1, inverse_temperature=(1.0, 2.0), **QUICK).fit(X, y)
    assert model.cv_score_ is not None
    scores = model.decision_function(X)
    np.testing.assert_allclose(
        model.predict_proba(X), np.exp(log_softmax(scores, axis=1)), rtol=1e-9
    )
    two = LocalMixtureClassifier(1, inverse_temperature=(1.0, 2.0), **QUICK).fit(X, y > 0)
    chance = two.predict_proba(X)[:, 1]
    np.testing.assert_allclose(chance, expit(two.decision_function(X)), rtol=1e-9)
    assert ((chance > 0.5) == two.predict(X)).all()


def test_intervals_hold_for_new_rows() -> None:
    X, y = line(400)
    model = LocalMixtureRegressor(0, **QUICK).fit(X, y)
    new, target = line(5000, seed=1)
    for coverage in (0.5, 0.8, 0.9, 0.95):
        low, high = model.predict_interval(new, coverage).T
        share = ((low <= target) & (target <= high)).mean()
        assert abs(share - coverage) < 0.07
        np.testing.assert_allclose((low + high) / 2, model.predict(new), atol=1e-9)
    # errors of training rows are smaller than those of new ones
    error = np.sqrt(np.mean((model.predict(new) - target) ** 2))
    fitted = np.sqrt(np.mean((model.predict(X) - y) ** 2))
    assert fitted < model.residual_scale_
    assert abs(model.residual_scale_ - error) < 0.5 * (error - fitted) + 0.1


def test_quantiles_are_those_of_split_conformal_prediction() -> None:
    rng = np.random.default_rng(0)
    errors = rng.normal(size=57)
    target = Continuous().expect(errors, np.ones(57), 1.0)
    for coverage in (0.1, 0.5, 0.9, 0.95):
        rank = int(np.ceil(coverage * 58))  # of 57 and a new one
        assert target.half_width(coverage) == np.sort(np.abs(errors))[rank - 1]
    with pytest.raises(InputError, match="more than the rows left out can tell"):
        target.half_width(0.99)
    doubled = Continuous().expect(errors, np.full(57, 2.0), 2.0)
    np.testing.assert_array_equal(doubled.errors, target.errors)
    assert len(target.errors) < QUANTILES


def test_intervals_are_saved(tmp_path: Any) -> None:
    X, y = line(100)
    model = LocalMixtureRegressor(0, **QUICK).fit(X, y)
    again = motlm.load(model.save(tmp_path / "model.json"))
    np.testing.assert_array_equal(again.predict_interval(X), model.predict_interval(X))
    assert again.residual_scale_ == model.residual_scale_


@pytest.mark.parametrize("coverage", [0, 1, 1.5, "much", None])
def test_bad_coverages_are_told(coverage: Any) -> None:
    X, y = line(60)
    model = LocalMixtureRegressor(0, **QUICK).fit(X, y)
    with pytest.raises(InputError, match="coverage must lie between 0 and 1"):
        model.predict_interval(X, coverage)


def test_without_rows_left_out_there_are_no_intervals() -> None:
    X, y = line(60)
    model = LocalMixtureRegressor(0, select="held-out", **QUICK).fit(X, y)
    with pytest.raises(InputError, match="no rows were left out"):
        model.predict_interval(X)
    rates = LocalMixtureRegressor(0, loss="poisson", **QUICK).fit(X, np.round(np.abs(y)))
    with pytest.raises(InputError, match="for loss='squared'"):
        rates.predict_interval(X)
