"""Certificates of localities in a few columns, of widths, and of models that are corrections: what
is paid for in-sample, and what is known of models that depend on each other.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import comb, exp, log, prod
from typing import Any

import numpy as np
import pytest
from helpers import random_localities
from scipy.stats import gamma, norm

import motlm
from motlm import LocalMixtureClassifier, LocalMixtureRegressor, Posterior, Prior, Units, bounds
from motlm.certificates import _distributions as distributions
from motlm.certificates import audit_in_sample, certify, certify_in_sample, draw_in_sample, verify
from motlm.certificates._distributions import LargestRisk, UnionRisk
from motlm.certificates._trained import move_to_medoids, read_training
from motlm.certificates._widths import price_of, round_weights
from motlm.combinations import COMBINATIONS
from motlm.geometry import GivenCenters, LearnedLocalities
from motlm.losses import OffBy, ZeroOne
from motlm.posterior import Layout, settle_scales
from motlm.rows import Rows
from motlm.targets import Several

QUICK: dict[str, Any] = {
    "inverse_temperature": 4.0,
    "local_models": "linear",
    "n_starts": 1,
    "random_state": 0,
}
Data = tuple[np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def rows() -> Data:
    """Five columns; the second and the fourth decide where the first one counts the other way."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5))
    inside = (X[:, 1] - 0.5) ** 2 + 0.3 * (X[:, 3] + 0.3) ** 2 < 0.8
    wrong = rng.uniform(size=500) < 0.05
    return X, np.where((X[:, 0] > 0) ^ inside ^ wrong, "yes", "no")


def few(n: int = 1, **options: Any) -> LocalMixtureClassifier:
    return LocalMixtureClassifier(
        **{"n_localities": n, "locality_features": 2, "standardize": False, **QUICK, **options}
    )


# -- densities and divergences ---------------------------------------------------------------------


def log_density(one: distributions.Draw, of: Any, layout: Layout, learned: bool) -> float:
    """By scipy: of the exterior and of corrections, each number by itself; a prior has one scale
    for weights and intercepts of a correction, and no width.
    """
    n, total = len(one.radius), 0.0
    prior = isinstance(of, Prior)
    for i in range(n + 1):
        inside = i < n
        coef, intercept = one.coef[i], one.intercept[i]
        mean, shift = np.asarray(of.coef)[i], np.asarray(of.intercept)[i]
        own = layout.corrected[i] > 0 if inside else np.ones(coef.shape[-1], dtype=bool)
        spread = np.asarray(of.intercept_scale)[i]
        if inside and layout.pooled:
            coef, intercept = coef - one.coef[-1], intercept - one.intercept[-1]
            mean, shift = mean - np.asarray(of.coef)[-1], shift - np.asarray(of.intercept)[-1]
            if prior:
                mean, shift, spread = 0.0 * mean, 0.0 * shift, np.asarray(of.coef_scale)[i]
        scale = np.asarray(of.coef_scale)[i]
        total += norm.logpdf(coef[..., own], mean[..., own], scale).sum()
        total += np.sum(norm.logpdf(intercept, shift, spread))
        if inside:
            shape, rate = np.asarray(of.radius_shape)[i], np.asarray(of.radius_rate)[i]
            total += gamma.logpdf(one.radius[i], shape, scale=1 / rate)
        if inside and learned:
            looks = layout.column_weight[i] > 0
            width = 1.0 if prior else 1 / np.sqrt(layout.column_weight[i, looks])
            total += norm.logpdf(
                one.center[i, looks],
                np.asarray(of.center)[i, looks],
                np.asarray(of.center_scale)[i] * width,
            ).sum()
    return float(total)


@pytest.mark.parametrize("scores", [(), (3,)])
@pytest.mark.parametrize("corrections", ["own", "all", "none"])
def test_log_ratio_is_the_ratio_of_densities(
    corrections: str, scores: tuple[int, ...], rng: np.random.Generator
) -> None:
    """And its mean over draws is the divergence, of which columns and widths are no part."""
    n, d = 3, 5
    geometry = LearnedLocalities(corrections=corrections)
    q = random_localities(rng, n, d, geometry, scores)
    assert q.layout is not None
    prior = replace(
        Prior().expand(n, d, scores),
        coef_scale=np.append(np.full(n, 0.6), 1.3),
        coef=0.3 * rng.normal(size=(n + 1, *scores, d)),
        intercept_scale=np.array([1.1, 0.9, 1.2, 1.7]),
    )
    ratios = []
    for seed in range(3000):
        one = distributions.draw_model(q, seed)
        ratios.append(distributions.log_ratio(one, q, prior))
        if seed < 5:
            expected = log_density(one, q, q.layout, True) - log_density(one, prior, q.layout, True)
            assert ratios[-1] == pytest.approx(expected, rel=1e-9)
            out = q.layout.column_weight == 0
            np.testing.assert_array_equal(one.center[out], q.center[out])
            if q.pooled:
                fixed = np.broadcast_to(q.layout.corrected[:, None] == 0, (n, 1, d))
                gap = (one.coef[:-1] - one.coef[-1:]).reshape(n, -1, d)
                assert np.abs(np.where(fixed, gap, 0.0)).max() < 1e-12
    data = Rows.of(rng.normal(size=(4, d)), np.zeros(4))
    loss = Several(np.arange(3)).loss if scores else ZeroOne()
    risk = UnionRisk(loss, geometry, prior, data)
    error = np.std(ratios) / np.sqrt(len(ratios))
    assert np.mean(ratios) == pytest.approx(risk.kl(q), abs=4 * error)
    added = risk.objective(1.0).kl(q) - risk.kl(q)
    log_a = np.log(q.column_weight[q.column_weight > 0])
    assert added == pytest.approx(geometry.log_choices(q) + 0.5 * (log_a**2).sum(), rel=1e-9)


@pytest.mark.parametrize("corrections", ["own", "all", "none"])
def test_scales_of_corrections_are_settled(corrections: str, rng: np.random.Generator) -> None:
    """One for all corrections, intercepts too, and one for the exterior's weights; the divergence
    is that of the search up to rounding, which costs at most 0.034 nats for each number.
    """
    n, d = 3, 5
    geometry = LearnedLocalities(corrections=corrections)
    data = Rows.of(rng.normal(size=(4, d)), np.ones(4))
    learned = Prior(learn_scales=True)
    for _ in range(20):
        q = random_localities(rng, n, d, geometry)
        settled, price = settle_scales(learned.expand(n, d), q)
        assert price == pytest.approx(2 * log(27))
        assert len(set(settled.coef_scale[:n])) == 1
        best, paid = (UnionRisk(ZeroOne(), geometry, one, data).kl(q) for one in (learned, settled))
        assert best - 1e-9 <= paid <= best + 0.0339 * (q.coef.size + n)


# -- widths ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3])
def test_prices_of_widths_are_probabilities(d: int) -> None:
    """Of all weights on the grid, by adding up those of all z, and of equal ones."""
    reach = range(-13, 14)
    density = {z: exp(-0.5 * (z * log(2)) ** 2) for z in reach}
    total = sum(density.values())
    chances: dict[tuple[int, ...], float] = {(0,) * d: 0.5}
    for z in product(reach, repeat=d):
        key = tuple(one - z[0] for one in z)
        chances[key] = chances.get(key, 0.0) + 0.5 * prod(density[one] / total for one in z)
    assert sum(chances.values()) == pytest.approx(1.0, rel=1e-9)
    for key, chance in chances.items():
        weight = np.exp2(np.array(key) - np.mean(key))
        if chance > 1e-9:
            assert price_of(np.append(weight, 0.0)[None]) == pytest.approx(-log(chance), abs=1e-6)


def test_rounded_weights(rng: np.random.Generator) -> None:
    """On the grid, near by, with the geometric mean 1; those that are on it stay where they are."""
    logs = rng.normal(size=(200, 4)) * rng.uniform(0, 2, size=(200, 1))
    weight = np.exp(logs - logs.mean(axis=1, keepdims=True))
    weight[:, 2] = 0.0
    weight /= np.exp(np.log(weight[:, [0, 1, 3]]).mean(axis=1))[:, None]
    made = round_weights(weight)
    inside = made > 0
    np.testing.assert_array_equal(inside, weight > 0)
    found = np.log2(made[:, [0, 1, 3]])
    np.testing.assert_allclose(found.mean(axis=1), 0.0, atol=1e-12)
    steps = found - found[:, :1]
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-9)
    assert np.abs(found - np.log2(weight[:, [0, 1, 3]])).max() < 0.9
    np.testing.assert_allclose(round_weights(made), made, rtol=1e-9)
    pairs = np.exp(np.array([[1.0, -1.0]]) * rng.normal(size=(200, 1)))
    gap = np.abs(np.log2(round_weights(pairs)) - np.log2(pairs))
    assert gap.max() <= 0.25 + 1e-9  # half a step of their difference


# -- models that depend on each other --------------------------------------------------------------


def simulate(q: Posterior, data: Rows, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Which models apply to each row, and their scores, of one draw."""
    one = distributions.draw_model(q, seed)
    away = data.coordinates[None] - one.center[:, None]
    distance = np.sqrt((q.column_weight[:, None] * away**2).sum(axis=2))
    inside = distance <= one.radius[:, None]
    scores = np.einsum("i...d,md->i...m", one.coef, data.features) + one.intercept[..., None]
    return np.concatenate([inside, ~inside.any(axis=0, keepdims=True)]), scores


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("corrections", ["own", "all", "none"])
def test_chances_of_two_labels(corrections: str, n: int, rng: np.random.Generator) -> None:
    """They are shares of draws where models are independent, and with one locality; else no share
    is larger.
    """
    geometry, m = LearnedLocalities(corrections=corrections), 30
    q = replace(
        random_localities(rng, n, 4, geometry),
        radius_shape=np.full(n, 6.0),
        radius_rate=np.full(n, 3.0),
        coef_scale=np.append(np.full(n, 0.3), 0.8),
        intercept_scale=np.append(np.full(n, 0.3), 0.8),
    )
    y = rng.choice([-1.0, 1.0], m)
    data = Rows.of(rng.normal(size=(m, 4)), y)
    found = UnionRisk(ZeroOne(), geometry, Prior(), data).chances(q)
    assert found.apart is not None
    assert found.silent is not None
    seen = []
    for seed in range(4000):
        applies, scores = simulate(q, data, seed)
        wrong, right = ((applies & (sign * y * scores <= 0)).any(axis=0) for sign in (1.0, -1.0))
        seen.append([wrong, wrong & right, wrong & ~right])
    shares = np.mean(seen, axis=0)
    for share, chance in zip(shares, (found.errs, found.apart, found.silent), strict=True):
        error = 5 * np.sqrt(np.maximum(share * (1 - share), 1e-3) / len(seen))
        assert (share <= chance + error).all()
        if corrections == "none" or n == 1:
            assert (np.abs(share - chance) <= error).all()
    if corrections != "none" and n > 1:
        assert found.errs.mean() > shares[0].mean()  # models err together


@pytest.mark.parametrize("corrections", ["own", "none"])
def test_chances_of_errors_beyond_a_tolerance(corrections: str) -> None:
    """Two corrections of which one is right where the other one is wrong: some model errs always,
    which the formula of independent models does not see.
    """
    n, one = 2, np.ones(2)
    layout = Layout(np.ones((n, 1)), np.ones((n, 1)), corrections != "none")
    q = Posterior(
        center=np.zeros((n, 1)),
        center_scale=0.01 * one,
        radius_shape=100.0 * one,
        radius_rate=one,  # all rows are inside
        coef=np.zeros((n + 1, 1)),
        coef_scale=np.full(n + 1, 0.01),
        intercept=np.array([-1.0, 1.0, 0.0]),
        intercept_scale=np.array([0.01, 0.01, 1.0]),
        layout=layout,
    )
    data = Rows.of(np.zeros((1, 1)), np.zeros(1))
    geometry, loss = LearnedLocalities(corrections=corrections), OffBy(1.0)
    found = UnionRisk(loss, geometry, Prior(), data).chances(q)
    share = np.mean(
        [
            (applies & (np.abs(scores) > 1.0)).any(axis=0)
            for applies, scores in (simulate(q, data, seed) for seed in range(4000))
        ]
    )
    assert share <= found.errs[0] + 0.03
    if corrections == "none":
        assert share == pytest.approx(found.errs[0], abs=0.03)
        return
    losses = loss.value_and_partials(
        data.target, np.array([[-1.0], [1.0], [0.0]]), q.variances(q.norms2(data.features))
    ).value
    independent = COMBINATIONS["any"].value(np.ones((2, 1)), losses)
    assert share > independent[0] + 0.1
    assert found.silent is None


def test_chances_of_several_labels_that_depend(rng: np.random.Generator) -> None:
    """All that is stated is the sum over the models."""
    geometry, m, n = LearnedLocalities(), 25, 3
    target = Several(np.arange(3))
    q = random_localities(rng, n, 4, geometry, (3,))
    y = rng.integers(3, size=m)
    data = Rows.of(rng.normal(size=(m, 4)), y.astype(float))
    risk = LargestRisk(target.loss, geometry, Prior(), data, target)
    found = risk.chances(q)
    assert found.apart is None
    assert found.silent is None
    seen = []
    for seed in range(3000):
        applies, scores = simulate(q, data, seed)
        seen.append((applies & (scores.argmax(axis=1) != y)).any(axis=0))
    share = np.mean(seen, axis=0)
    assert (share <= found.errs + 5 * np.sqrt(0.25 / len(seen))).all()
    assert risk.of_posterior(q) == pytest.approx(found.errs.mean())


# -- what is paid for ------------------------------------------------------------------------------


def price_by_hand(model: Any, m: int) -> float:
    """Of the number of localities, of columns, widths, scales, and of rows that are centers."""
    q, geometry = model.posterior_, model.mixture_.geometry
    n, d = q.n_localities, q.center.shape[1]
    most = model.mixture_.provenance.most_localities
    price = log(most + 1)
    for dims in q.layout.dims:
        price += log(comb(d, dims)) + log(geometry.most)
    price += price_of(round_weights(q.column_weight))
    price += 2 * log(27)
    if geometry.kind == "rows":
        price += log(comb(m + n - 1, n))
    return price


@pytest.mark.parametrize("centers", ["free", "rows"])
def test_what_an_audit_pays_for(rows: Data, centers: str) -> None:
    """The divergence by scipy's densities of many draws, and the prices by hand."""
    X, y = rows
    model = few(2, centers=centers).fit(X, y)
    certificate = audit_in_sample(model, X, y, random_state=3)
    mixture, q = model.mixture_, model.posterior_
    n = q.n_localities
    assert n > 0
    assert q.pooled
    layout = replace(q.layout, column_weight=round_weights(q.column_weight))
    q = replace(q, layout=layout)
    own = (q.coef[:-1] - q.coef[-1])[layout.corrected > 0]
    shift = q.intercept[:-1] - q.intercept[-1]
    squares = np.concatenate(
        [
            own**2 + np.repeat(q.coef_scale[:-1] ** 2, layout.corrected.sum(axis=1).astype(int)),
            shift**2 + q.intercept_scale[:-1] ** 2,
        ]
    )
    best = np.array([squares.mean(), (q.coef[-1] ** 2 + q.coef_scale[-1] ** 2).mean()])
    scale = 10 * 2 ** -(np.clip(np.rint(np.log2(100 / best)), 0, 26) / 2)
    prior = replace(
        Prior(intercept_scale=2.0).expand(n, X.shape[1]), coef_scale=np.repeat(scale, [n, 1])
    )
    learned = centers == "free"
    price, left = price_by_hand(model, len(y)), len(y) - (0 if learned else n)
    drawn = draw_in_sample(model, X, y, certificate)
    p = drawn.posterior_
    one = distributions.Draw(drawn.mixture_.geometry.radius, p.coef, p.intercept, p.center)
    paid = log_density(one, q, layout, learned) - log_density(one, prior, layout, learned)
    assert certificate["W4"].kl == pytest.approx(paid + price, rel=1e-9)
    ratios = [
        log_density(one, q, layout, learned) - log_density(one, prior, layout, learned)
        for one in (distributions.draw_model(q, seed) for seed in range(600))
    ]
    error = np.std(ratios) / np.sqrt(len(ratios))
    assert certificate["W1"].kl == pytest.approx(np.mean(ratios) + price, abs=4 * error)
    assert {one.n_rows for one in certificate} == {left}
    assert "its widths rounded" in certificate.protocol or (layout.dims == 1).all()
    assert verify(drawn, certificate) == (certificate["W4"],)
    assert certificate["W1"] in verify(model, certificate)
    wrong = drawn.predict(X) != y
    assert certificate["W4"].errors <= wrong.sum() <= certificate["W4"].errors + n
    assert mixture.hash == certificate.model


def test_more_columns_to_choose_from_cost_more(rows: Data) -> None:
    """The same locality, if it might have had others: any of five columns in place of two."""
    X, y = rows
    told = few(1, locality_columns=[1, 3]).fit(X, y)
    mixture = told.mixture_
    [dims] = mixture.posterior.layout.dims
    free = replace(mixture, geometry=replace(mixture.geometry, asked=None, candidates=None))
    first, second = (audit_in_sample(one, X, y)["W1"] for one in (mixture, free))
    assert second.kl - first.kl == pytest.approx(log(comb(5, dims) / comb(2, dims)))
    assert second.empirical == first.empirical


def test_a_choice_between_few_columns_and_all_is_paid_for(rows: Data) -> None:
    X, y = rows
    mixture = few(1, locality_features=3).fit(X, y).mixture_
    two = replace(mixture, geometry=replace(mixture.geometry, most=2))
    if mixture.posterior.layout.dims[0] < 3:
        saved = audit_in_sample(mixture, X, y)["W1"].kl - audit_in_sample(two, X, y)["W1"].kl
        assert saved == pytest.approx(log(2) + log(3 / 2))  # and the number of columns
    every = few(1, locality_features="all").fit(X, y).mixture_
    trained = read_training(every, X, y, None)
    widths = price_of(trained.mixture.posterior.column_weight)
    assert trained.price == pytest.approx(log(2) + log(2) + widths + 2 * log(27))


def test_given_points_pay_for_their_widths(rows: Data) -> None:
    X, y = rows
    points = [[0.0, 0.5, 0.0, -0.3, 0.0]]
    options = {"points_of_interest": points, "locality_columns": [1, 3]}
    learned = few(**options).fit(X, y)
    trained = read_training(learned.mixture_, X, y, None)
    widths = price_of(trained.mixture.posterior.column_weight)
    assert widths > 0
    assert trained.price == pytest.approx(log(2) + 2 * log(27) + widths)
    for given in ("equal", [1.0, 2.0]):
        mixture = few(locality_widths=given, **options).fit(X, y).mixture_
        fixed = read_training(mixture, X, y, None)
        assert fixed.price == pytest.approx(log(2) + 2 * log(27))
        np.testing.assert_array_equal(
            fixed.mixture.posterior.column_weight, mixture.posterior.column_weight
        )


def test_medoids_keep_columns_and_corrections(rows: Data) -> None:
    X, y = rows
    trained = read_training(few(2).fit(X, y).mixture_, X, y, None)
    moved = move_to_medoids(trained)
    old, new = trained.mixture.posterior, moved.mixture.posterior
    assert isinstance(moved.mixture.geometry, GivenCenters)
    assert new.pooled
    np.testing.assert_array_equal(new.column_weight, old.column_weight)
    np.testing.assert_array_equal(new.layout.corrected, old.layout.corrected)
    np.testing.assert_array_equal(new.coef_scale, old.coef_scale)
    np.testing.assert_array_equal(new.center_scale, 0.0)
    n = old.n_localities
    looks = old.column_weight > 0
    for center, own in zip(new.center, looks, strict=True):
        assert (X[:, own] == center[own]).all(axis=1).any()  # standardize=False
    assert len(moved.table.X) == len(X) - n
    assert moved.price == pytest.approx(trained.price + log(comb(len(X), n)))
    assert moved.risk.kl(new) < trained.risk.kl(old)  # centers are not drawn


@pytest.mark.parametrize("centers", ["free", "rows"])
def test_default_models_in_sample(rows: Data, centers: str, tmp_path: Any) -> None:
    X, y = rows
    estimator = LocalMixtureClassifier(1, centers=centers, **QUICK)
    certified = certify_in_sample(estimator, X, y)
    model, certificate = certified
    one = certificate.headline
    assert one.empirical < one.value < one.baseline
    assert verify(model, certificate) == (certificate["W4"],)
    assert verify(certified.gibbs, certificate) == (certificate["W1"],)
    cost = (one.kl + np.log(bounds.xi(one.n_rows) / one.delta)) / one.n_rows
    assert bounds.binary_kl(one.empirical, one.value) == pytest.approx(cost, rel=1e-6)
    weight = certified.gibbs.posterior_.column_weight
    np.testing.assert_allclose(round_weights(weight), weight, rtol=1e-9)
    model.save(tmp_path / "model.json")
    again = motlm.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert verify(again, again.certificate_) == (certificate["W4"],)


def test_regressors_with_corrections(rows: Data) -> None:
    """With two localities or more the sum over models is what is stated."""
    X, _ = rows
    rng = np.random.default_rng(1)
    inside = np.abs(X[:, 1]) < 0.7
    y = X[:, 0] * np.where(inside, -1.0, 1.0) + 0.1 * rng.normal(size=len(X))
    units = Units(np.zeros(5), np.ones(5), 0.0, 1.0)
    options = {**QUICK, "inverse_temperature": 16.0, "standardize": units}
    model = LocalMixtureRegressor(2, locality_features=2, **options).fit(X, y)
    certificate = audit_in_sample(model, X, y, tolerance=0.5)
    assert [one.code for one in certificate] == ["W1", "W4"]
    q = read_training(model.mixture_, X, y, 0.5).mixture.posterior
    data = model.mixture_.rows(X, model.mixture_.target.code(y))
    seen = []
    for seed in range(300):
        applies, scores = simulate(q, data, seed)
        seen.append((applies & (np.abs(scores - y) > 0.5)).any(axis=0).mean())
    error = np.std(seen) / np.sqrt(len(seen))
    assert np.mean(seen) <= certificate["W1"].empirical + 4 * error


@pytest.mark.parametrize("centers", ["free", "rows"])
def test_sealed_rows_and_the_new_localities(rows: Data, centers: str) -> None:
    """The distributions of C2 and C3 are of independent models around fixed centers, in the same
    columns.
    """
    X, y = rows
    certified = certify(few(1, centers=centers), X, y, sealed=0.5)
    model, certificate = certified
    gibbs = certified.gibbs.mixture_
    assert not gibbs.posterior.pooled
    assert isinstance(gibbs.geometry, GivenCenters)
    np.testing.assert_array_equal(
        gibbs.geometry.weights > 0, model.mixture_.posterior.column_weight > 0
    )
    assert 0 <= certificate["any rule"].kl < 20
    assert certificate["one draw"].value < certificate["one draw"].baseline
    for code in ("C1", "C2", "C3", "C5", "C6"):
        assert any(one.code == code for one in certificate)
