"""Short formulas."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import motlm
from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.errors import FewRowsWarning, InputError
from motlm.explanations import explain_global, explain_local
from motlm.terms import count_terms, strike, terms_of

QUICK: dict[str, Any] = {"random_state": 0, "n_starts": 1, "local_models": "linear"}


def sparse(n_rows: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    """Two of eight columns count, with a step in a corner of them."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(n_rows, 8)), columns=list("abcdefgh"))
    corner = (X["a"] > 0) & (X["b"] < 0)
    y = 2 * X["a"] - X["b"] + 4 * corner + rng.normal(size=n_rows)
    return X, y.to_numpy()


def counted(model: Any) -> list[set[str]]:
    """The columns of each formula; of corrections those that differ."""
    posterior, inputs = model.mixture_.posterior, model.mixture_.inputs
    coef = posterior.coef.copy()
    if posterior.pooled:
        coef[:-1] -= coef[-1]
    coef = coef.reshape(len(coef), -1, coef.shape[-1]).any(axis=1)
    return [{inputs.term_names[k] for k in inputs.owners[one]} for one in coef]


@pytest.mark.parametrize("kind", ["linear", "additive"])
@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("most", [1, 2])
def test_formulas_have_at_most_so_many_terms(kind: str, n: int, most: int) -> None:
    X, y = sparse()
    options = {**QUICK, "local_models": kind, "inverse_temperature": 2.0}
    model = LocalMixtureRegressor(n, max_terms=most, corrections="all", **options).fit(X, y)
    assert len(model.localities_) == n
    assert all(0 < len(one) <= most for one in counted(model))
    assert counted(model)[-1] == {"a", "b"} if most == 2 else {"a"}
    assert model.exterior_.formula().split("\n")[0].count("*") <= most
    row = explain_local(model, X.iloc[:1])[0]
    np.testing.assert_allclose(row.base + sum(row.contributions.values()), row.score)


def test_what_is_left_is_the_minimum_without_the_others() -> None:
    """The means are those of a model that never had the other columns, for the same scales."""
    X, y = sparse()
    options = {**QUICK, "inverse_temperature": 2.0, "prior": motlm.Prior(), "tol": 1e-12}
    short = LocalMixtureRegressor(0, max_terms=2, **options).fit(X, y)
    few = LocalMixtureRegressor(0, **options).fit(X[["a", "b"]], y)
    np.testing.assert_allclose(short.exterior_.coef[:2], few.exterior_.coef, rtol=1e-4)
    np.testing.assert_array_equal(short.exterior_.coef[2:], 0)


def test_auto_strikes_what_rows_left_out_do_not_need() -> None:
    X, y = sparse(400)
    full = LocalMixtureRegressor(0, **QUICK).fit(X, y)
    short = LocalMixtureRegressor(0, max_terms="auto", **QUICK).fit(X, y)
    assert {"a", "b"} <= counted(short)[0]
    assert len(counted(short)[0]) <= 5 < len(counted(full)[0]) == 8
    test, target = sparse(1000)
    assert short.score(test, target) > full.score(test, target) - 0.01
    labels = (y > 0).astype(int)
    model = LocalMixtureClassifier(0, max_terms="auto", **QUICK).fit(X, labels)
    assert {"a", "b"} <= counted(model)[0] != set(X.columns)


def test_auto_keeps_all_that_is_needed() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 4))
    y = X @ [1.0, -1.0, 0.5, 0.7] + 0.2 * rng.normal(size=300)
    model = LocalMixtureRegressor(0, max_terms="auto", **QUICK).fit(X, y)
    assert len(counted(model)[0]) == 4
    assert "max_terms='auto': none of the 4 terms could be struck" in str(
        explain_global(model, X, y)
    )


@pytest.mark.parametrize("corrections", ["all", "own", "none"])
def test_explanations_say_how_many_terms_were_struck(corrections: str, tmp_path: Any) -> None:
    X, y = sparse()
    X = X.assign(kind=np.resize(["x", "y", "z"], len(X)))
    options = {**QUICK, "corrections": corrections, "inverse_temperature": 2.0}
    full = LocalMixtureRegressor(1, **options).fit(X, y)
    assert len(full.localities_) == 1
    assert explain_global(full, X, y).terms == ""
    possible = sum(map(len, counted(full)))
    assert count_terms(full.posterior_, full.mixture_.inputs) == (possible, possible)
    model = LocalMixtureRegressor(1, max_terms="auto", **options).fit(X, y)
    kept = sum(map(len, counted(model)))
    assert kept < possible
    text = f"max_terms='auto': {possible - kept} of {possible} terms were struck"
    again = motlm.load(model.save(tmp_path / "model.json"))
    for one in (model, again, make_pipeline(model)):
        assert explain_global(one, X, y).terms == text
    assert escape(text) in explain_global(model, X, y)._repr_html_()


def test_of_several_classes_and_of_rates() -> None:
    X, y = sparse()
    labels = np.digitize(y, [-2.0, 2.0])
    model = LocalMixtureClassifier(0, max_terms=2, **QUICK).fit(X, labels)
    assert counted(model) == [{"a", "b"}]
    rates = LocalMixtureRegressor(0, loss="poisson", max_terms=2, **QUICK)
    assert counted(rates.fit(X, np.clip(np.round(y + 3), 0, None))) == [{"a", "b"}]


@pytest.mark.filterwarnings("ignore::motlm.errors.IdleLocalityWarning")
def test_with_given_points_and_categories(tmp_path: Any) -> None:
    X, y = sparse()
    X = X.assign(kind=np.resize(["x", "y", "z"], len(X)))
    points = X.iloc[:2]
    model = LocalMixtureRegressor(
        points_of_interest=points, max_terms=2, corrections="all", inverse_temperature=2.0, **QUICK
    ).fit(X, y)
    assert all(len(one) <= 2 for one in counted(model))
    again = motlm.load(model.save(tmp_path / "model.json"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.max_terms == 2


def test_monotone_models_stay_monotone() -> None:
    X, y = sparse()
    model = LocalMixtureRegressor(
        1, max_terms=2, monotonic_cst={"a": 1}, inverse_temperature=2.0, **QUICK
    ).fit(X, y)
    rows = pd.concat([X.iloc[:20]] * 2, ignore_index=True)
    for one in model.mixture_.models:
        assert one.coef[0] >= 0
    assert np.isfinite(model.predict(rows)).all()


def test_the_smallest_terms_come_first() -> None:
    X, y = sparse()
    model = LocalMixtureRegressor(0, inverse_temperature=2.0, **QUICK).fit(X, y)
    mixture = model.mixture_
    rows = mixture.rows(mixture.encode(X), (y - mixture.target.center) / mixture.target.scale)

    class Problem:
        inputs, geometry = mixture.inputs, mixture.geometry

    Problem.rows = rows
    terms = terms_of(Problem, mixture.posterior)
    sizes = [one.size for one in terms]
    assert sizes == sorted(sizes)
    # of a standardized column the mean square of what it adds is its weight's square
    np.testing.assert_allclose(sizes, np.sort(mixture.posterior.coef[0] ** 2), rtol=1e-9)
    assert strike(terms[:3], 1).sum() == 3
    assert strike([], 1) is None


@pytest.mark.parametrize("most", [0, -1, 1.5, True, "few"])
def test_bad_numbers_are_told(most: Any) -> None:
    X, y = sparse(30)
    with pytest.raises(
        InputError, match="max_terms must be None, 'auto' or a number of terms >= 1"
    ):
        LocalMixtureRegressor(0, max_terms=most).fit(X, y)


@pytest.mark.parametrize("most", [1, "auto"])
def test_rows_left_out_judge_the_short_model(most: Any) -> None:
    """Not the one that it was shortened from: its errors are those of the formula that is kept."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 6))
    y = X.sum(axis=1) + 0.1 * rng.normal(size=600)
    model = LocalMixtureRegressor("auto", max_localities=1, max_terms=most, **QUICK)
    model.fit(X[:400], y[:400])
    error = float(np.sqrt(np.mean((model.predict(X[400:]) - y[400:]) ** 2)))
    assert model.residual_scale_ == pytest.approx(error, rel=0.15)
    low, high = model.predict_interval(X[400:], coverage=0.9).T
    assert np.mean((low <= y[400:]) & (y[400:] <= high)) == pytest.approx(0.9, abs=0.06)
    assert model.cv_score_ == pytest.approx(model.score(X[400:], y[400:]), abs=0.1)


def test_too_few_rows_to_choose_how_short() -> None:
    X, y = sparse(3)
    with pytest.warns(FewRowsWarning, match="too few to choose max_terms"):
        LocalMixtureRegressor(0, inverse_temperature=1.0, max_terms="auto", **QUICK).fit(X, y)
