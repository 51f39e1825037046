"""Laws of localities in a few columns, each with a width of its own, and of local models as
corrections of the exterior one: over every loss, every kind of corrections and learned scales.
"""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from helpers import differences, name_of, random_localities, random_posterior, random_rows
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import digamma, gammaln, ndtr
from scipy.stats import gamma, norm

from motlm import PAPER, LocalMixtureClassifier, LocalMixtureRegressor, Units
from motlm.combinations import SUM
from motlm.errors import EmptyLocalityWarning, IdleLocalityWarning
from motlm.geometry import GivenCenters, LearnedBalls, LearnedLocalities
from motlm.losses import CLASS_LOSSES, LOSSES, Squared, ZeroOne
from motlm.membership import theta_tables
from motlm.objective import Evaluator, Objective, locate, solve_models
from motlm.posterior import FIELDS, Layout, Packing, Posterior, Prior
from motlm.problem import Recipe, Table, rows_of
from motlm.rows import Rows

CORRECTIONS = ("own", "all", "none")
EACH_LOSS = pytest.mark.parametrize("loss", [*LOSSES, *CLASS_LOSSES], ids=name_of)
EACH_GEOMETRY = pytest.mark.parametrize(
    "geometry",
    [
        one
        for kind in CORRECTIONS
        for one in (
            LearnedLocalities(corrections=kind),
            GivenCenters(corrections=kind, learned_widths=True),
        )
    ],
    ids=lambda one: f"{one.kind} {one.corrections}",
)
EACH_CORRECTION = pytest.mark.parametrize("corrections", CORRECTIONS)
LEARNED_SCALES = pytest.mark.parametrize("learned", [False, True], ids=["fixed", "learned scales"])


def free_of(geometry) -> tuple[str, ...]:
    return (*geometry.free, "coef", "coef_scale", "intercept", "intercept_scale")


def rows_for(rng: np.random.Generator, m: int, q: Posterior, geometry, loss) -> Rows:
    """Whose distances are computed from their coordinates."""
    return random_rows(rng, m, q, LearnedBalls(), loss)


# -- the objective ---------------------------------------------------------------------------------


@LEARNED_SCALES
@EACH_GEOMETRY
@EACH_LOSS
def test_gradient_matches_differences(
    loss, geometry, learned: bool, rng: np.random.Generator
) -> None:
    for n, d in ((0, 3), (1, 1), (3, 4)):
        q = random_localities(rng, n, d, geometry, loss.scores)
        rows = rows_for(rng, 40, q, geometry, loss)
        objective = Objective(loss, geometry, Prior(learn_scales=learned), rows, 1.5)
        packing = Packing(q, free_of(geometry))
        evaluator = Evaluator(objective, packing)
        numeric = differences(lambda v, e=evaluator: e.evaluate(v).value, packing.pack(q), 1e-4)
        gradient = evaluator.evaluate(packing.pack(q)).gradient
        assert np.abs(gradient - numeric).max() <= 1e-6 * np.abs(numeric).max()
        _, partials = objective.value_and_gradient(q)
        np.testing.assert_allclose(packing.pack_gradient(q, partials), gradient, atol=1e-12)


@EACH_GEOMETRY
@EACH_LOSS
def test_a_posterior_is_unpacked_as_it_was_packed(loss, geometry, rng: np.random.Generator) -> None:
    q = random_localities(rng, 3, 5, geometry, loss.scores)
    packing = Packing(q, free_of(geometry))
    values = packing.pack(q)
    back = packing.unpack(values)
    for name in (*FIELDS, "column_weight"):
        np.testing.assert_allclose(getattr(back, name), getattr(q, name), rtol=1e-12, atol=1e-14)
    lower, upper = packing.bounds()
    assert len(values) == len(lower) == len(upper) == len(packing.scales(q))
    # of a column that a locality does not look at, and of a feature that it does not correct,
    # nothing is free; of one column the width is 1
    looks = q.column_weight > 0
    scores = int(np.prod(loss.scores))
    own = q.layout.corrected.sum() if q.pooled else 3 * 5
    several = looks & (looks.sum(axis=1) > 1)[:, None]
    expected = 2 * 3 + several.sum() + (own + 5) * scores + 4 * (1 + scores) + 4
    if geometry.learned:
        expected += looks.sum() + 3
    assert len(values) == expected


@EACH_GEOMETRY
def test_whatever_is_unpacked_is_a_layout(geometry, rng: np.random.Generator) -> None:
    """Weights of columns have the geometric mean 1, and features that are not corrected have the
    exterior's weights, wherever a search goes.
    """
    q = random_localities(rng, 3, 5, geometry)
    packing = Packing(q, free_of(geometry))
    found = packing.unpack(packing.pack(q) + rng.normal(size=len(packing.pack(q))))
    looks = q.column_weight > 0
    assert ((found.column_weight > 0) == looks).all()
    for weight, own in zip(found.column_weight, looks, strict=True):
        assert np.log(weight[own]).mean() == pytest.approx(0.0, abs=1e-12)
    if found.pooled:
        same = q.layout.corrected == 0
        exterior = np.broadcast_to(found.coef[-1], found.coef[:-1].shape)
        assert (found.coef[:-1][same] == exterior[same]).all()


@LEARNED_SCALES
@EACH_GEOMETRY
@EACH_LOSS
def test_block_sums_add_up(loss, geometry, learned: bool, rng: np.random.Generator) -> None:
    q = random_localities(rng, 3, 4, geometry, loss.scores)
    rows = rows_for(rng, 101, q, geometry, loss)
    packing, prior = Packing(q, free_of(geometry)), Prior(learn_scales=learned)
    whole, blocks = (
        Evaluator(Objective(loss, geometry, prior, rows, 1.0, block=block), packing).evaluate(
            packing.pack(q)
        )
        for block in (8192, 7)
    )
    assert blocks.value == pytest.approx(whole.value, rel=1e-12)
    np.testing.assert_allclose(blocks.gradient, whole.gradient, rtol=1e-11, atol=1e-13)


@EACH_GEOMETRY
def test_blocks_have_the_same_bits_on_any_number_of_threads(
    geometry, rng: np.random.Generator
) -> None:
    q = random_localities(rng, 3, 4, geometry)
    rows = rows_for(rng, 300, q, geometry, Squared())
    objective = Objective(Squared(), geometry, Prior(learn_scales=True), rows, 1.0, block=16)
    for eliminated in (False, True):
        free = geometry.free if eliminated else free_of(geometry)
        packing = Packing(q, free)
        with ThreadPoolExecutor(3) as executor:
            alone, shared = (
                Evaluator(objective, packing, eliminated, one).evaluate(packing.pack(q))
                for one in (None, executor)
            )
        assert alone.value == shared.value
        assert (alone.gradient == shared.gradient).all()


@EACH_GEOMETRY
@EACH_LOSS
def test_an_integer_weight_is_a_repeated_row(loss, geometry, rng: np.random.Generator) -> None:
    q = random_localities(rng, 2, 3, geometry, loss.scores)
    rows = rows_for(rng, 20, q, geometry, loss)
    count = rng.integers(0, 4, size=20)
    index = np.repeat(np.arange(20), count)
    weighted = replace(rows, weight=count.astype(float))
    repeated = Rows.of(rows.features[index], rows.target[index])
    first, second = (
        Objective(loss, geometry, Prior(learn_scales=True), which, 2.0).value(q)
        for which in (weighted, repeated)
    )
    assert first == pytest.approx(second, rel=1e-12)


@EACH_GEOMETRY
@EACH_LOSS
def test_the_order_of_localities_and_of_columns_changes_nothing(
    loss, geometry, rng: np.random.Generator
) -> None:
    q = random_localities(rng, 3, 4, geometry, loss.scores)
    rows = rows_for(rng, 30, q, geometry, loss)
    prior = Prior(learn_scales=True)
    value, partials = Objective(loss, geometry, prior, rows, 2.0).value_and_gradient(q)
    for order in permutations(range(3)):
        assert Objective(loss, geometry, prior, rows, 2.0).value(q.keep(order)) == pytest.approx(
            value, rel=1e-12
        )
    order = rng.permutation(4)
    layout = Layout(q.column_weight[:, order], q.layout.corrected[:, order], q.pooled)
    moved = replace(q, center=q.center[:, order], coef=q.coef[..., order], layout=layout)
    turned = Rows.of(np.ascontiguousarray(rows.features[:, order]), rows.target, rows.weight)
    again, others = Objective(loss, geometry, prior, turned, 2.0).value_and_gradient(moved)
    assert again == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(others.coef, partials.coef[..., order], rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(others.center, partials.center[:, order], rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(
        others.column_weight, partials.column_weight[:, order], rtol=1e-9, atol=1e-13
    )


@LEARNED_SCALES
@EACH_LOSS
def test_equal_widths_in_all_columns_are_the_papers_balls(
    loss, learned: bool, rng: np.random.Generator
) -> None:
    for n, d in ((0, 3), (2, 1), (3, 4)):
        ball = random_posterior(rng, n, d, LearnedBalls(), loss.scores)
        rows = random_rows(rng, 50, ball, LearnedBalls(), loss)
        same = replace(ball, layout=Layout(np.ones((n, d)), np.ones((n, d)), pooled=False))
        equal = LearnedLocalities(most=0, corrections="none", widths=False)
        prior = Prior(learn_scales=learned)
        (first, partials), (second, others) = (
            Objective(loss, geometry, prior, rows, 1.5).value_and_gradient(q)
            for geometry, q in ((LearnedBalls(), ball), (equal, same))
        )
        assert second == pytest.approx(first, rel=1e-12)
        for name in FIELDS:
            one, other = getattr(partials, name), getattr(others, name)
            np.testing.assert_allclose(other, one, rtol=1e-10, atol=1e-13)
        assert equal.free == LearnedBalls.free


def test_a_column_that_is_not_looked_at_does_not_matter(rng: np.random.Generator) -> None:
    """Neither its values nor its center change a membership; its center costs nothing."""
    geometry = LearnedLocalities(corrections="none")
    q = random_localities(rng, 3, 4, geometry)
    rows = rows_for(rng, 30, q, geometry, Squared())
    away = np.where(q.column_weight > 0, q.center, 1e3)
    objective = Objective(Squared(), geometry, Prior(), rows, 1.0)
    assert objective.value(replace(q, center=away)) == objective.value(q)
    for i in range(3):
        other = np.where(q.column_weight[i] > 0, rows.features, rng.normal(size=(30, 4)))
        moved = locate(geometry, q, Rows.of(other, rows.target)).omega[i]
        assert (moved == locate(geometry, q, rows).omega[i]).all()


# -- what it is made of ----------------------------------------------------------------------------


def membership_by_draws(q: Posterior, X: np.ndarray, draws: int, rng) -> np.ndarray:
    """(n_localities, n_rows): the share of drawn centers and radii whose ellipsoid holds a row."""
    found = []
    for i in range(q.n_localities):
        own = q.column_weight[i] > 0
        a = q.column_weight[i, own]
        center = rng.normal(
            q.center[i, own], q.center_scale[i] / np.sqrt(a), size=(draws, int(own.sum()))
        )
        radius = rng.gamma(q.radius_shape[i], 1.0 / q.radius_rate[i], size=draws)
        squared = ((X[:, None, own] - center) ** 2 * a).sum(axis=2)
        found.append((squared <= radius**2).mean(axis=1))
    return np.array(found)


def test_membership_is_the_share_of_drawn_localities_that_hold_the_row(
    rng: np.random.Generator,
) -> None:
    geometry, draws = LearnedLocalities(), 40_000
    q = random_localities(rng, 9, 5, geometry)
    assert {1, 2, 3} <= set(q.layout.dims)
    X = rng.normal(size=(8, 5))
    omega = locate(geometry, q, Rows.of(X, np.zeros(8))).omega
    drawn = membership_by_draws(q, X, draws, rng)
    error = np.sqrt(np.maximum(omega * (1 - omega), 1e-4) / draws)
    assert (np.abs(drawn - omega) <= 4.5 * error).all()
    assert ((omega > 0.05) & (omega < 0.95)).mean() > 0.3


def test_one_column_is_an_interval(rng: np.random.Generator) -> None:
    """P(|x - c| <= r) in closed form for each radius."""
    geometry = LearnedLocalities(most=1)
    q = random_posterior(rng, 3, 4, geometry)
    q = replace(q, layout=Layout(np.eye(4)[[2, 0, 2]], np.eye(4)[[2, 0, 2]]))
    X = rng.normal(size=(6, 4))
    omega = locate(geometry, q, Rows.of(X, np.zeros(6))).omega
    for i, column in enumerate((2, 0, 2)):
        shape, rate, eps = q.radius_shape[i], q.radius_rate[i], q.center_scale[i]
        for j, gap in enumerate(X[:, column] - q.center[i, column]):

            def inside(r: float, gap=gap, shape=shape, rate=rate, eps=eps) -> float:
                reach = ndtr((r - gap) / eps) - ndtr((-r - gap) / eps)
                return float(gamma.pdf(r, shape, scale=1 / rate) * reach)

            most = (shape + 40 * np.sqrt(shape)) / rate
            expected, _ = quad(inside, 0, most, points=[shape / rate], limit=500, epsabs=1e-12)
            assert omega[i, j] == pytest.approx(expected, abs=1e-8)
    assert "column_weight" not in geometry.free


def gibbs_risk_by_draws(
    q: Posterior, rows: Rows, loss, learned: bool, draws: int, rng
) -> tuple[float, float]:
    """And its standard error: local models are drawn as the exterior one plus their corrections."""
    m, n, d = len(rows), q.n_localities, q.coef.shape[1]
    X, y = rows.features, rows.target
    exterior = rng.normal(q.coef[-1], q.coef_scale[-1], size=(draws, d))
    middle = rng.normal(q.intercept[-1], q.intercept_scale[-1], size=draws)
    total, outside = np.zeros((draws, m)), np.ones((draws, m))

    def losses(coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        score = coef @ X.T + intercept[:, None]
        return (score - y) ** 2 if loss.name == "squared" else (score * y <= 0).astype(float)

    for i in range(n):
        a = q.column_weight[i]
        eps = q.center_scale[i] / np.sqrt(np.where(a > 0, a, np.inf))
        center = rng.normal(q.center[i], eps if learned else 0.0, size=(draws, d))
        radius = rng.gamma(q.radius_shape[i], 1.0 / q.radius_rate[i], size=draws)
        squared = ((X[None] - center[:, None]) ** 2) @ a
        inside = squared <= radius[:, None] ** 2
        if q.pooled:
            flags = q.layout.corrected[i]
            noise = rng.normal(size=(draws, d)) * q.coef_scale[i]
            coef = exterior + flags * (q.coef[i] - q.coef[-1] + noise)
            shift = q.intercept[i] - q.intercept[-1]
            intercept = middle + rng.normal(shift, q.intercept_scale[i], size=draws)
        else:
            coef = rng.normal(q.coef[i], q.coef_scale[i], size=(draws, d))
            intercept = rng.normal(q.intercept[i], q.intercept_scale[i], size=draws)
        total += inside * losses(coef, intercept)
        outside *= ~inside
    total += outside * losses(exterior, middle)
    each = total @ rows.weight / rows.weight.sum()
    return float(each.mean()), float(each.std() / np.sqrt(draws))


@EACH_GEOMETRY
@pytest.mark.parametrize("loss", [Squared(), ZeroOne()], ids=name_of)
def test_gibbs_risk_is_the_mean_loss_of_drawn_mixtures(
    loss, geometry, rng: np.random.Generator
) -> None:
    q = random_localities(rng, 2, 3, geometry)
    rows = rows_for(rng, 12, q, geometry, loss)
    risk = Objective(loss, geometry, Prior(), rows, 1.0).gibbs_risk(q)
    drawn, error = gibbs_risk_by_draws(q, rows, loss, geometry.learned, 100_000, rng)
    assert abs(drawn - risk) <= 4.5 * error
    assert error < 0.01 * risk


def divergence_of_gaussians(mean, cov, mean0, cov0) -> float:
    """KL of one Gaussian from another, with full covariances."""
    gap = mean0 - mean
    inside = np.trace(np.linalg.solve(cov0, cov)) + gap @ np.linalg.solve(cov0, gap) - len(mean)
    return 0.5 * float(inside + np.linalg.slogdet(cov0)[1] - np.linalg.slogdet(cov)[1])


def gaussian_of_models(coef, intercept, scales, spreads, corrected, pooled):
    """Mean and covariance of all numbers of one score's models, the exterior's first, and of each
    local model those that it may have for itself: as linear maps of independent normals.
    """
    n, d = corrected.shape
    exterior = np.append(coef[-1], intercept[-1])
    deviations, means, maps = [np.append(np.full(d, scales[-1]), spreads[-1])], [exterior], []
    for i in range(n):
        own = np.append(corrected[i] > 0, True) if pooled else np.ones(d + 1, dtype=bool)
        means.append(np.append(coef[i], intercept[i])[own])
        deviations.append(np.append(np.full(d, scales[i]), spreads[i])[own])
        maps.append(own)
    every = np.concatenate(deviations)
    linear = np.eye(len(every))
    place = d + 1
    for own in maps:
        if pooled:
            linear[place : place + own.sum(), : d + 1] = np.eye(d + 1)[own]
        place += own.sum()
    return np.concatenate(means), (linear * every**2) @ linear.T


def kl_by_covariances(q: Posterior, prior: Prior, learned: bool, price: float) -> float:
    """From full covariances of models, in which the exterior is shared; centers by columns; radii
    by the textbook's formula; and what columns and widths cost.
    """
    n, d = q.n_localities, q.coef.shape[-1]
    flat = prior.expand(n, d, q.coef.shape[1:-1])
    corrected = np.ones((n, d)) if q.layout is None else q.layout.corrected
    total = price
    for k in np.ndindex(q.coef.shape[1:-1]):
        at = (slice(None), *k)
        own = gaussian_of_models(
            q.coef[at], q.intercept[at], q.coef_scale, q.intercept_scale, corrected, q.pooled
        )
        # corrections are around 0, and those of intercepts have the scale of the weights'
        middle, level = np.array(flat.coef[at]), np.array(flat.intercept[at])
        spreads = np.array(flat.intercept_scale)
        if q.pooled:
            middle[:], level[:] = middle[-1], level[-1]
            spreads[:-1] = flat.coef_scale[:-1]
        before = gaussian_of_models(middle, level, flat.coef_scale, spreads, corrected, q.pooled)
        total += divergence_of_gaussians(*own, *before)
    for i in range(n):
        looks = q.column_weight[i] > 0
        a = q.column_weight[i, looks]
        total += float((np.log(a) ** 2).sum()) / 2
        if learned:
            total += divergence_of_gaussians(
                q.center[i, looks],
                np.diag(q.center_scale[i] ** 2 / a),
                np.asarray(flat.center)[i, looks],
                np.eye(len(a)) * flat.center_scale[i] ** 2,
            )
        k, t = q.radius_shape[i], q.radius_rate[i]
        k0, t0 = flat.radius_shape[i], flat.radius_rate[i]
        total += (k - k0) * digamma(k) - gammaln(k) + gammaln(k0)
        total += k0 * np.log(t / t0) + k * (t0 - t) / t
    return total


@EACH_GEOMETRY
@EACH_LOSS
def test_the_divergence_by_full_covariances(loss, geometry, rng: np.random.Generator) -> None:
    for n, d in ((0, 3), (1, 2), (3, 4)):
        q = random_localities(rng, n, d, geometry, loss.scores)
        prior = Prior(
            center=0.3,
            center_scale=0.8,
            radius_shape=3.0,
            radius_rate=1.5,
            coef=0.2,
            coef_scale=0.6,
            intercept=-0.4,
            intercept_scale=1.7,
        )
        rows = rows_for(rng, 5, q, geometry, loss)
        found = Objective(loss, geometry, prior, rows, 1.0).kl(q)
        expected = kl_by_covariances(q, prior, geometry.learned, geometry.log_choices(q))
        assert found == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("kind", ["own", "all"])
def test_the_divergence_is_the_mean_log_ratio_of_draws(kind: str, rng: np.random.Generator) -> None:
    """ln dQ/dP of drawn exteriors, corrections, centers and radii, as densities of the models
    themselves given the exterior.
    """
    geometry, draws = LearnedLocalities(corrections=kind), 100_000
    q = random_localities(rng, 2, 3, geometry)
    prior = Prior(coef_scale=0.7, intercept_scale=1.3)
    log_ratio = np.zeros(draws)

    def add(value, mean, scale, mean0, scale0) -> None:
        gap = norm.logpdf(value, mean, scale) - norm.logpdf(value, mean0, scale0)
        log_ratio[:] += gap if gap.ndim == 1 else gap.sum(axis=1)

    exterior = rng.normal(q.coef[-1], q.coef_scale[-1], size=(draws, 3))
    add(exterior, q.coef[-1], q.coef_scale[-1], 0.0, 0.7)
    middle = rng.normal(q.intercept[-1], q.intercept_scale[-1], size=draws)
    add(middle, q.intercept[-1], q.intercept_scale[-1], 0.0, 1.3)
    for i in range(2):
        own = q.layout.corrected[i] > 0
        around = exterior[:, own] + (q.coef[i] - q.coef[-1])[own]
        local = rng.normal(around, q.coef_scale[i])
        add(local, around, q.coef_scale[i], exterior[:, own], 0.7)
        level = middle + q.intercept[i] - q.intercept[-1]
        add(rng.normal(level, q.intercept_scale[i]), level, q.intercept_scale[i], middle, 0.7)
        looks = q.column_weight[i] > 0
        eps = q.center_scale[i] / np.sqrt(q.column_weight[i, looks])
        center = rng.normal(q.center[i, looks], eps, size=(draws, int(looks.sum())))
        add(center, q.center[i, looks], eps, 0.0, 1.0)
        radius = rng.gamma(q.radius_shape[i], 1 / q.radius_rate[i], size=draws)
        log_ratio += gamma.logpdf(radius, q.radius_shape[i], scale=1 / q.radius_rate[i])
        log_ratio -= gamma.logpdf(radius, 2.0, scale=10.0)
    rows = rows_for(rng, 5, q, geometry, Squared())
    weights = q.column_weight[q.column_weight > 0]
    price = geometry.log_choices(q) + (np.log(weights) ** 2).sum() / 2
    kl = Objective(Squared(), geometry, prior, rows, 1.0).kl(q)
    error = log_ratio.std() / np.sqrt(draws)
    assert abs(log_ratio.mean() + price - kl) <= 4.5 * error
    assert error < 0.02 * kl


def test_which_columns_are_paid_for(rng: np.random.Generator) -> None:
    """exp(-price) of all sets of columns adds up to at most 1."""
    from math import comb

    for d, most in ((1, 3), (4, 1), (5, 3), (12, 2), (4, 0)):
        geometry = LearnedLocalities(most=most)
        total = sum(comb(d, k) * np.exp(-geometry.price(k, d)) for k in geometry.sizes(d))
        assert total == pytest.approx(1.0)
    few = LearnedLocalities(most=2, candidates=(0, 3, 4))
    assert sum(comb(3, k) * np.exp(-few.price(k, 9)) for k in few.sizes(9)) == pytest.approx(1.0)
    q = random_localities(rng, 3, 6, LearnedLocalities())
    each = [LearnedLocalities().price(int(k), 6) for k in q.layout.dims]
    assert LearnedLocalities().log_choices(q) == pytest.approx(sum(each))


@EACH_CORRECTION
@EACH_LOSS
def test_learned_prior_scales_are_the_best_ones(
    loss, corrections: str, rng: np.random.Generator
) -> None:
    """One of the exterior's weights, and one of all corrections or of all local weights."""
    geometry, n = LearnedLocalities(corrections=corrections), 3
    q = random_localities(rng, n, 4, geometry, loss.scores)
    rows = rows_for(rng, 5, q, geometry, loss)

    def kl(prior: Prior) -> float:
        return Objective(loss, geometry, prior, rows, 1.0).kl(q)

    best = [1.0, 1.0]
    for which in (0, 1):

        def of(log_scale: float, which=which) -> float:
            local, exterior = [np.exp(log_scale) if which == k else best[k] for k in (0, 1)]
            return kl(Prior(coef_scale=np.append(np.full(n, local), exterior)))

        found = minimize_scalar(of, bounds=(np.log(1e-3), np.log(9.9)), method="bounded",
                                options={"xatol": 1e-7})  # fmt: skip
        best[which] = np.exp(found.x)
    least = kl(Prior(coef_scale=np.append(np.full(n, best[0]), best[1])))
    assert kl(Prior(learn_scales=True)) == pytest.approx(least, rel=1e-9)


@LEARNED_SCALES
@pytest.mark.parametrize("block", [17, 8192])
@EACH_GEOMETRY
def test_the_best_models_of_the_squared_loss_have_no_gradient_left(
    geometry, block: int, learned: bool, rng: np.random.Generator
) -> None:
    """Solved as one system of all corrections and the exterior."""
    for n in (0, 1, 3):
        q = random_localities(rng, n, 4, geometry)
        rows = rows_for(rng, 80, q, geometry, Squared())
        mean, omega = locate(geometry, q, rows)  # so that the weights are not all noise
        inside = np.vstack([omega, np.prod(1.0 - omega, axis=0)])
        target = (inside * mean).sum(axis=0) + 0.3 * rng.normal(size=80)
        rows = replace(rows, target=target)
        prior = Prior(coef_scale=0.7, intercept_scale=1.4, learn_scales=learned)
        objective = Objective(Squared(), geometry, prior, rows, 3.0, block=block)
        better = solve_models(objective, q)
        packing = Packing(better, free_of(geometry))
        gradient = Evaluator(objective, packing).evaluate(packing.pack(better)).gradient
        models = len(packing.pack(better)) - len(Packing(better, geometry.free).pack(better))
        tolerance = 1e-5 if learned else 1e-10  # learned scales are found by iteration
        np.testing.assert_allclose(gradient[-models:], 0.0, atol=tolerance)
        assert objective.value(better) <= objective.value(q)
        for name in ("center", "radius_shape", "radius_rate", "column_weight"):
            np.testing.assert_array_equal(getattr(better, name), getattr(q, name))
        # what a search sees: the models are solved on the way
        alone = Packing(q, geometry.free)
        evaluator = Evaluator(objective, alone, eliminated=True)
        found = evaluator.evaluate(alone.pack(q))
        assert found.value == pytest.approx(objective.value(better), rel=1e-12)
        numeric = differences(lambda v, e=evaluator: e.evaluate(v).value, alone.pack(q), 1e-4)
        np.testing.assert_allclose(found.gradient, numeric, rtol=1e-5, atol=1e-5 * (1 + learned))


@pytest.mark.parametrize("kind", ["own", "all"])
def test_corrections_that_may_not_differ_leave_one_model(
    kind: str, rng: np.random.Generator
) -> None:
    """Their prior scale is tiny: with one locality every row then has the exterior's model, which
    is that of no locality.
    """
    geometry = LearnedLocalities(corrections=kind)
    q = random_localities(rng, 1, 4, geometry)
    rows = rows_for(rng, 60, q, geometry, Squared())
    prior = Prior(coef_scale=np.array([1e-4, 1.0]))
    tied = solve_models(Objective(Squared(), geometry, prior, rows, 2.0), q)
    alone = solve_models(Objective(Squared(), geometry, Prior(), rows, 2.0), q.keep([]))
    np.testing.assert_allclose(tied.coef, np.repeat(alone.coef, 2, axis=0), atol=1e-5)
    np.testing.assert_allclose(tied.intercept, np.repeat(alone.intercept, 2), atol=1e-5)
    for name in ("coef_scale", "intercept_scale"):
        assert getattr(tied, name)[1] == pytest.approx(getattr(alone, name)[0], rel=1e-5)
        assert getattr(tied, name)[0] <= 1.001e-4


def test_deviations_are_those_of_drawn_models(rng: np.random.Generator) -> None:
    geometry = LearnedLocalities()
    q = random_localities(rng, 2, 3, geometry)
    X = rng.normal(size=(4, 3))
    scales, spreads = q.deviations
    by_weights = scales**2 @ (X**2).T + spreads[:, None] ** 2
    np.testing.assert_allclose(q.variances(q.norms2(X)), by_weights, rtol=1e-12)
    exterior = by_weights[-1]
    for i in range(2):
        own = X * q.layout.corrected[i]
        local = q.coef_scale[i] ** 2 * (own**2).sum(axis=1) + q.intercept_scale[i] ** 2
        np.testing.assert_allclose(by_weights[i], exterior + local, rtol=1e-12)
    separate = q.separate()
    assert separate.layout is None
    np.testing.assert_allclose(separate.coef_scale**2, (scales**2).mean(axis=1))


@pytest.mark.parametrize("shape", [0.5, 2.0, 3.7, 60.0, 5e4])
def test_the_slope_of_theta_matches_differences(shape: float) -> None:
    """In half the squared distance, by which given centers learn their widths."""
    for rate in (shape / 0.3, shape, shape / 7.0):
        [table] = theta_tables(np.array([shape]), np.array([rate]))
        quantiles = gamma.ppf([0.01, 0.2, 0.5, 0.9, 0.999], shape, scale=1 / rate)
        slope = table.look_up(table.slope, table.place(quantiles))
        half = quantiles**2 / 2
        numeric = differences(
            lambda v, t=rate: gamma.sf(np.sqrt(2 * v[0]), shape, scale=1 / t),
            half[:1],
            1e-4 * half[0],
        )
        exact = -gamma.pdf(quantiles, shape, scale=1 / rate) / quantiles
        np.testing.assert_allclose(slope[0], numeric[0], rtol=1e-6)
        np.testing.assert_allclose(slope, exact, rtol=1e-6)


# -- other units -----------------------------------------------------------------------------------


@EACH_GEOMETRY
def test_localities_move_with_the_units(geometry, rng: np.random.Generator) -> None:
    """Rows that are stretched and shifted have the memberships that they had."""
    q = random_localities(rng, 3, 4, geometry)
    X = rng.normal(size=(20, 4))
    stretch, shift = np.exp(rng.normal(size=4)), rng.normal(size=4)
    geometry = replace(geometry, points=q.center * stretch + shift) if not geometry.learned else (
        geometry
    )  # fmt: skip
    moved = replace(q, **geometry.move(q, stretch, shift, float(np.exp(np.log(stretch).mean()))))
    before = locate(geometry, q, Rows.of(X, np.zeros(20))).omega
    after = locate(geometry, moved, Rows.of(X * stretch + shift, np.zeros(20))).omega
    np.testing.assert_allclose(after, before, atol=1e-9)
    weight = moved.column_weight
    for one, own in zip(weight, q.column_weight > 0, strict=True):
        assert np.log(one[own]).mean() == pytest.approx(0.0, abs=1e-12)


def test_columns_are_exchanged_within_the_candidates(rng: np.random.Generator) -> None:
    geometry = LearnedLocalities(most=3, candidates=(0, 2, 3, 5))
    for one in geometry.draw(Rows.of(rng.normal(size=(9, 6)), np.zeros(9)), 50, rng):
        weight = one
        for _ in range(20):
            weight = geometry.vary(weight, rng)
            own = np.flatnonzero(weight)
            assert 1 <= len(own) <= 3
            assert set(own) <= {0, 2, 3, 5}
            assert np.log(weight[own]).mean() == pytest.approx(0.0, abs=1e-9)
    every = LearnedLocalities(most=0, candidates=(0, 2))
    weight = every.vary(np.array([1.0, 0.0, 1.0]), rng)
    assert ((weight > 0) == [True, False, True]).all()


# -- fits ------------------------------------------------------------------------------------------

QUICK = {"local_models": "linear", "inverse_temperature": 4.0, "n_starts": 1, "random_state": 0}
KINDS = (LocalMixtureClassifier, LocalMixtureRegressor)


def policies(m: int = 400) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Young drivers of strong cars cost more, and mileage matters more to them; a score, and
    whether it is high.
    """
    rng = np.random.default_rng(7)
    table = pd.DataFrame(
        {
            "age": rng.uniform(18, 80, m).round(),
            "power": rng.gamma(9, 10, m).round(),
            "km": rng.normal(12, 4, m),
            "region": rng.choice(["north", "south", "west"], m),
            "new": rng.choice(["no", "yes"], m),
        }
    )
    young = (table["age"] < 32).to_numpy()
    score = 0.1 * table["km"] + np.where(young, 2.0 + 0.3 * (table["km"] - 12), 0.0)
    score = score.to_numpy() + 0.2 * rng.normal(size=m)
    return table, score, score > np.median(score)


def fit(Estimator, table, y, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyLocalityWarning)
        return Estimator(**({"n_localities": 2} | QUICK | settings)).fit(table, y)


def target_of(Estimator, score: np.ndarray, high: np.ndarray) -> np.ndarray:
    return high if Estimator is LocalMixtureClassifier else score


def looked_at(model) -> list[list[str]]:
    """The encoded columns of each locality."""
    names = np.array(model.mixture_.inputs.names)
    return [list(names[np.isfinite(one.half_width)]) for one in model.localities_]


@pytest.mark.parametrize("Estimator", KINDS)
@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_locality_looks_at_so_many_columns_at_most(Estimator, most: int) -> None:
    table, score, high = policies()
    y = target_of(Estimator, score, high)
    model = fit(Estimator, table, y, n_localities=2, locality_features=most)
    assert model.localities_
    for columns in looked_at(model):
        assert 1 <= len(columns) <= most
        assert set(columns) <= {"age", "power", "km", "new=yes"}  # numbers and two levels
    assert any("age" in columns for columns in looked_at(model))
    weight = model.posterior_.column_weight
    assert (weight.sum(axis=1) > 0).all()
    if most == 1:
        assert set(np.unique(weight)) <= {0.0, 1.0}


@pytest.mark.parametrize("settings", [{"locality_features": 1}, {"locality_features": 3}, {}])
def test_membership_is_within_the_half_widths(settings: dict) -> None:
    """The interval, or the ellipsoid whose half axes are the half widths."""
    table, score, _ = policies()
    numbers = table[["age", "power", "km"]]
    model = fit(LocalMixtureRegressor, numbers, score, n_localities=2, **settings)
    assert model.localities_
    for i, one in enumerate(model.localities_):
        away = ((numbers.to_numpy() - one.center) / one.half_width) ** 2
        inside = away.sum(axis=1) <= 1.0
        np.testing.assert_array_equal(model.membership(numbers)[:, i], inside)
        assert 0 < inside.sum() < len(table)
        chance = model.membership_proba(numbers)[:, i]
        assert (chance[inside] >= 0.5 - 1e-9).all()
        assert (chance[~inside] <= 0.5 + 1e-9).all()


@pytest.mark.parametrize("Estimator", KINDS)
def test_localities_look_at_the_columns_that_are_named_alone(Estimator) -> None:
    table, score, high = policies()
    y = target_of(Estimator, score, high)
    for named in (["age", "km"], "age", [0, 2], ["region", "age"]):
        model = fit(Estimator, table, y, n_localities=2, locality_columns=named)
        names = [named] if isinstance(named, str) else named
        names = [table.columns[one] if isinstance(one, int) else one for one in names]
        assert model.localities_
        for columns in looked_at(model):
            assert {one.split("=")[0] for one in columns} <= set(names)
    point = table.iloc[[0]]
    for widths in ("learned", "equal"):
        given = {"locality_columns": ["age", "km"], "locality_widths": widths}
        model = fit(Estimator, table, y, points_of_interest=point, **given)
        assert looked_at(model) == [["age", "km"]]


def test_widths_that_are_given_keep_their_proportions() -> None:
    table, score, _ = policies()
    given = {"points_of_interest": table.iloc[:2], "locality_columns": ["km", "age"]}
    first = fit(LocalMixtureRegressor, table, score, **given, locality_widths=[2.0, 10.0])
    second = fit(LocalMixtureRegressor, table, score, **given, locality_widths={"age": 5, "km": 1})
    for one in (*first.localities_, *second.localities_):
        assert one.half_width[0] == pytest.approx(5.0 * one.half_width[2])
    assert second.objective_ == pytest.approx(first.objective_, rel=1e-6)
    equal = fit(LocalMixtureRegressor, table, score, **given, locality_widths="equal")
    scale = table[["age", "km"]].to_numpy().std(axis=0)
    for one in equal.localities_:
        assert one.half_width[0] / scale[0] == pytest.approx(one.half_width[2] / scale[1])


@pytest.mark.parametrize("Estimator", KINDS)
@pytest.mark.parametrize("features", [1, "all", "ball"])
def test_corrections_change_the_weights_that_they_may(Estimator, features) -> None:
    table, score, high = policies()
    y = target_of(Estimator, score, high)
    for kind in CORRECTIONS:
        model = fit(Estimator, table, y, locality_features=features, corrections=kind)
        assert model.localities_
        inputs, q = model.mixture_.inputs, model.posterior_
        for i, one in enumerate(model.localities_):
            differs = one.coef != model.exterior_.coef
            if kind == "own":
                assert set(np.flatnonzero(differs)) <= set(np.flatnonzero(q.column_weight[i]))
            else:
                assert differs[inputs.varies].all()
        assert q.pooled == (kind != "none")


@pytest.mark.filterwarnings("ignore::motlm.errors.IdleLocalityWarning")
def test_paper_is_the_papers_setting() -> None:
    table, score, high = policies()
    for Estimator in KINDS:
        model = fit(Estimator, table, target_of(Estimator, score, high), **PAPER)
        assert model.mixture_.geometry.kind == "balls"
        assert model.posterior_.layout is None
    same = fit(LocalMixtureClassifier, table, high, loss="zero-one")
    assert same.mixture_.geometry.kind == "balls"
    paper = fit(LocalMixtureClassifier, table, high, loss="zero-one", **PAPER)
    assert same.objective_ == paper.objective_


@pytest.mark.parametrize(
    "settings",
    [
        {"locality_features": 2},
        {"locality_features": "all", "corrections": "all"},
        {"centers": "rows"},
        {"points_of_interest": [[25.0, 90.0, 12.0]], "locality_columns": [0, 2]},
    ],
    ids=str,
)
def test_warm_start_goes_on_from_the_localities_found(settings: dict) -> None:
    table, score, _ = policies()
    numbers = table[["age", "power", "km"]].to_numpy()
    model = fit(LocalMixtureRegressor, numbers, score, n_localities=1, **settings)
    before, columns = model.objective_, looked_at(model)
    again = model.set_params(warm_start=True).fit(numbers, score)
    assert again.objective_ <= before * (1 + 1e-6)
    assert looked_at(again) == columns
    part = again.fit(numbers[50:], score[50:])  # other rows, and so other units
    assert looked_at(part) == columns
    alone = fit(LocalMixtureRegressor, numbers[50:], score[50:], n_localities=1, **settings)
    assert part.objective_ <= 1.2 * alone.objective_


def test_a_posterior_in_other_units_gives_the_same_answers() -> None:
    """Scores and memberships of the same rows, where means and deviations are those of others."""
    table, score, _ = policies()
    numbers = table[["age", "power", "km"]].to_numpy()
    for settings in ({}, {"corrections": "none"}, {"points_of_interest": [[25.0, 90.0, 12.0]]}):
        model = fit(LocalMixtureRegressor, numbers, score, n_localities=1, **settings)
        mixture = model.mixture_
        units = Units.of_rows(3.0 * numbers[:100] - 1.0, 2.0 * score[:100])
        other = fit(
            LocalMixtureRegressor, numbers, score, n_localities=1, standardize=units, **settings
        ).mixture_
        recipe = Recipe(
            reading=other.inputs.reading,
            geometry=other.geometry,
            target=other.target,
            standardize=units,
            varies=other.inputs.varies,
            typical=other.inputs.typical,
            prior=Prior(),
            combination=SUM,
            free_scale=True,
            room=1,
        )
        problem = recipe.problem(Table(numbers, score, np.ones(len(score))))
        moved = problem.translate(mixture.posterior, mixture.inputs, mixture.target)
        here, there = (
            locate(one.geometry, q, one.rows)
            for one, q in (
                (replace(problem, rows=problem.rows), moved),
                (
                    replace(
                        problem,
                        geometry=mixture.geometry,
                        rows=rows_of(
                            mixture.inputs, mixture.geometry, mixture.target, numbers, score
                        ),
                    ),
                    mixture.posterior,
                ),
            )
        )
        np.testing.assert_allclose(
            here.mean * problem.target.scale + problem.target.center,
            there.mean * mixture.target.scale + mixture.target.center,
            atol=1e-8,
        )
        np.testing.assert_allclose(here.omega, there.omega, atol=1e-8)


def test_rows_of_float32_give_nearly_the_same_mixture(monkeypatch: pytest.MonkeyPatch) -> None:
    table, score, _ = policies(1500)
    numbers = table[["age", "power", "km"]].to_numpy()
    double = fit(LocalMixtureRegressor, numbers, score, n_localities=1)
    monkeypatch.setattr("motlm.mixture.LARGE", 1000)
    single = fit(LocalMixtureRegressor, numbers.astype(np.float32), score, n_localities=1)
    assert single.objective_ == pytest.approx(double.objective_, rel=0.05)
    assert single.posterior_.column_weight.dtype == np.float64
    assert single.predict(numbers.astype(np.float32)).dtype == np.float64
    geometry = LearnedLocalities()
    rng = np.random.default_rng(0)
    q = random_localities(rng, 3, 4, geometry)
    rows = rows_for(rng, 200, q, geometry, Squared())
    values = [
        Objective(Squared(), geometry, Prior(), rows.astype(dtype), 2.0).value(q)
        for dtype in (np.float64, np.float32)
    ]
    assert values[1] == pytest.approx(values[0], rel=1e-5)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_any_number_of_threads_has_the_same_bits(n_jobs: int) -> None:
    table, score, high = policies(300)
    for Estimator in KINDS:
        y = target_of(Estimator, score, high)
        one, other = (
            fit(Estimator, table, y, n_localities="auto", max_localities=2, n_jobs=jobs)
            for jobs in (1, n_jobs)
        )
        assert one.mixture_.hash == other.mixture_.hash


def test_localities_that_were_asked_for_differ_from_the_exterior() -> None:
    """Where Bayes' rule for lambda leaves them alike, lambda is raised; rows left out then judge
    the mixture that is kept.
    """
    rng = np.random.default_rng(3)
    X = rng.normal(size=(240, 3))
    y = (X[:, 0] + rng.logistic(size=240) > 0).astype(int)
    model = LocalMixtureClassifier(1, local_models="linear", random_state=0).fit(X, y)
    [locality] = model.localities_
    assert model.mixture_.provenance.n_rows[0] < len(X)
    scores = model.mixture_.posterior
    assert np.abs(scores.intercept[0] - scores.intercept[1]) > 0.01
    assert locality.correction() != "as everywhere"
    chosen = model.cv_results_["inverse_temperature"][model.cv_results_["chosen"]]
    assert list(chosen) == [model.mixture_.provenance.inverse_temperature]
    assert chosen[0] > 1.0


def test_a_given_point_that_tells_nothing_is_pointed_out() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=120)
    with pytest.warns(IdleLocalityWarning, match="locality 0 of 1 tells nothing"):
        LocalMixtureRegressor(
            points_of_interest=[[0.0, 0.0]],
            inverse_temperature=1.0,
            local_models="linear",
            random_state=0,
        ).fit(X, y)
