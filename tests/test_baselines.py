"""The rivals behave as described, and as scikit-learn's estimators."""

from __future__ import annotations

from unittest import SkipTest

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from motlm.baselines import ClusteredLinearClassifier, ClusteredLinearRegressor, LeagueOfExperts


@pytest.mark.filterwarnings("ignore")  # liblinear stops on scikit-learn's odd data, and says so
@parametrize_with_checks(
    [LeagueOfExperts(n_rounds=3), ClusteredLinearClassifier(), ClusteredLinearRegressor()]
)
def test_scikit_learn_checks(estimator, check) -> None:
    try:
        check(estimator)
    except SkipTest as reason:
        pytest.fail(f"skipped: {reason}")


def two_halves(m: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Left of 0 the sign of the second coordinate is the label, right of it the other sign."""
    X = np.random.default_rng(0).normal(size=(m, 2))
    return X, np.where(X[:, 0] < 0, X[:, 1] > 0, X[:, 1] < 0).astype(int)


def test_league_finds_what_two_lines_can_do() -> None:
    X, y = two_halves()
    single = LogisticRegression().fit(X, y).score(X, y)
    league = max(
        (LeagueOfExperts(2, random_state=seed).fit(X, y) for seed in range(5)),
        key=lambda one: one.score(X, y),
    )
    assert single < 0.6
    assert league.score(X, y) > 0.8


def test_league_by_hand() -> None:
    """The rule of the class's description, written out again with loops."""
    X, y = two_halves(80)
    rng = np.random.RandomState(3)
    expert = LogisticRegression()
    deviation = X.std(axis=0)
    places = deviation * rng.standard_normal((2, 2))

    def settled(places):
        route = np.array(
            [np.argmin([sum(abs(x - place) / deviation) for place in places]) for x in X]
        )
        assert set(route) == {0, 1}
        experts = [LogisticRegression().fit(X[route == k], y[route == k]) for k in range(2)]
        right = (
            np.array([experts[k].predict(x[None])[0] for x, k in zip(X, route, strict=True)]) == y
        )
        return experts, right.mean()

    experts, best = settled(places)
    kept = places
    for t in range(6):
        step = 2 * (1 - t / 6)
        moved = []
        for k in range(2):
            mean = X[experts[k].predict(X) == y].mean(axis=0)
            moved.append(places[k] + step * (mean - places[k]))
        places = np.array(moved)
        experts, accuracy = settled(places)
        if accuracy > best:
            best, kept = accuracy, places
    league = LeagueOfExperts(2, expert=expert, n_rounds=6, random_state=3).fit(X, y)
    np.testing.assert_allclose(league.places_, kept, atol=1e-12)
    assert league.score(X, y) == best


def test_experts_without_rows_and_with_one_class() -> None:
    X, y = two_halves(30)
    league = LeagueOfExperts(25, n_rounds=2, random_state=0).fit(X, y)
    assert len(league.experts_) == 25
    far = LeagueOfExperts(2, n_rounds=0, random_state=0).fit(
        X + 100.0, y
    )  # places are drawn around 0: one gets all rows
    assert len(np.unique(far.apply(X + 100.0))) == 1
    constant = ClusteredLinearClassifier(2, random_state=0).fit(
        [[0.0], [0.1], [9.0], [9.1]], ["a", "a", "b", "b"]
    )
    np.testing.assert_array_equal(constant.predict([[0.05], [9.05]]), ["a", "b"])


def test_same_seed_same_league() -> None:
    """Also where the experts have a seed of their own, as LinearSVC has it for wide tables;
    constant columns do not matter.
    """
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 60)), rng.integers(2, size=40)
    first, second = (LeagueOfExperts(random_state=0, n_rounds=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.experts_[0].coef_, second.experts_[0].coef_)
    X, y = two_halves(100)
    expert = DecisionTreeClassifier(max_depth=1)
    places = [
        LeagueOfExperts(expert=expert, random_state=1)
        .fit(np.column_stack([X, np.full(100, c)]), y)
        .places_
        for c in (0.1, 0.5)
    ]
    np.testing.assert_allclose(places[0][:, :2], places[1][:, :2])


def test_clusters_and_their_lines() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-3, -1, 100), rng.uniform(1, 3, 100)])
    y = np.where(x < 0, 2 * x + 1, -x)
    model = ClusteredLinearRegressor(2, random_state=0).fit(x[:, None], y)
    assert model.score(x[:, None], y) > 0.9999
    assert len(np.unique(model.apply(x[:, None]))) == 2


@pytest.mark.parametrize(
    "model",
    [
        LeagueOfExperts(0),
        LeagueOfExperts(2.5),
        LeagueOfExperts(n_rounds=-3),
        ClusteredLinearClassifier(0),
    ],
)
def test_numbers_that_are_no_counts(model) -> None:
    with pytest.raises(ValueError, match="must be an integer, at least"):
        model.fit([[0.0], [1.0]], [0, 1])
