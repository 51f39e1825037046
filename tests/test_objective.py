"""Laws of the objective, over every loss and geometry; and the paper's displayed formulas, with
plain loops.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from helpers import differences, name_of, random_posterior, random_rows
from scipy.integrate import quad
from scipy.stats import gamma, ncx2

from motlm.combinations import COMBINATIONS, gates
from motlm.geometry import GivenCenters, LearnedBalls
from motlm.losses import CLASS_LOSSES, LOSSES, Squared, ZeroOne
from motlm.objective import Evaluator, Objective, solve_models
from motlm.posterior import FIELDS as EVERY_FIELD
from motlm.posterior import Packing, Posterior, Prior
from motlm.rows import Rows

EACH_LOSS = pytest.mark.parametrize("loss", [*LOSSES, *CLASS_LOSSES], ids=name_of)
EACH_GEOMETRY = pytest.mark.parametrize(
    "geometry", [GivenCenters(), LearnedBalls()], ids=lambda one: one.kind
)
FIELDS = ("radius_shape", "radius_rate", "coef", "intercept", "intercept_scale")


# -- the paper, literally --------------------------------------------------------------------------


def normal_cdf(t: float) -> float:
    return 0.5 * math.erfc(-t / math.sqrt(2))


def theta_literal(k: float, tau: float, distance: float) -> float:
    """The integral of the Gamma density from the distance on."""
    mean, spread = k / tau, math.sqrt(k) / tau
    value, _ = quad(
        lambda b: gamma.pdf(b, k, scale=1 / tau),
        distance,
        max(distance, mean) + 40 * spread,
        limit=500,
        epsabs=1e-12,
    )
    return value


def upsilon_literal(d: int, distance: float, eps: float, k: float, tau: float) -> float:
    """The expectation over the radius of the non-central chi-square law."""
    mean, spread = k / tau, math.sqrt(k) / tau
    value, _ = quad(
        lambda b: gamma.pdf(b, k, scale=1 / tau) * ncx2.cdf(b**2 / eps**2, d, distance**2 / eps**2),
        0,
        mean + 40 * spread,
        points=[mean],
        limit=500,
        epsabs=1e-12,
    )
    return value


def kl_literal(q: Posterior, regression: bool, learned: bool) -> float:
    """KL_cl, KL_reg and, with learned points, KL'_cl and KL'_reg as displayed, with priors N(0, 1)
    and Gamma(2, 0.1).
    """
    d, n = q.coef.shape[1], q.n_localities
    total = 0.0
    for i in range(n + 1):
        rho, sigma = q.coef_scale[i], q.intercept_scale[i]
        if regression:
            total += -math.log(rho**d * sigma) + 0.5 * (d * rho**2 + sigma**2 - d - 1)
        else:
            total += -math.log(sigma) + 0.5 * (sigma**2 - 1)
        total += 0.5 * (sum(w**2 for w in q.coef[i]) + q.intercept[i] ** 2)
    for i in range(n):
        k, tau = q.radius_shape[i], q.radius_rate[i]
        digamma = (
            math.lgamma(k + 1e-4) - math.lgamma(k - 1e-4)
        ) / 2e-4  # a difference, for want of psi in math
        total += (
            (k - 2) * digamma
            + math.lgamma(2)
            - math.lgamma(k)
            + 2 * math.log(tau / 0.1)
            + k * (0.1 - tau) / tau
        )
        if learned:
            eps = q.center_scale[i]
            total += (
                -d * math.log(eps) + 0.5 * (d * eps**2 - d) + 0.5 * sum(c**2 for c in q.center[i])
            )
    return total


def loss_literal(q: Posterior, x: np.ndarray, y: float, regression: bool, learned: bool) -> float:
    d, n = q.coef.shape[1], q.n_localities
    norm2 = sum(value**2 for value in x)

    def model(i: int) -> float:
        score = sum(w * value for w, value in zip(q.coef[i], x, strict=True)) + q.intercept[i]
        if regression:
            return norm2 * q.coef_scale[i] ** 2 + q.intercept_scale[i] ** 2 + (score - y) ** 2
        return 1 - normal_cdf(y * score / math.sqrt(q.intercept_scale[i] ** 2 + norm2))

    inside = []
    for i in range(n):
        distance = math.sqrt(sum((c - value) ** 2 for c, value in zip(q.center[i], x, strict=True)))
        if learned:
            inside.append(
                upsilon_literal(d, distance, q.center_scale[i], q.radius_shape[i], q.radius_rate[i])
            )
        else:
            inside.append(theta_literal(q.radius_shape[i], q.radius_rate[i], distance))
    outside = math.prod(1 - omega for omega in inside)
    return sum(omega * model(i) for i, omega in enumerate(inside)) + outside * model(n)


@pytest.mark.parametrize("n", [0, 1, 2])
@EACH_GEOMETRY
@pytest.mark.parametrize("loss", [ZeroOne(), Squared()], ids=lambda loss: loss.name)
def test_the_papers_formulas_literally(loss, geometry, n: int, rng: np.random.Generator) -> None:
    regression = isinstance(loss, Squared)
    q = random_posterior(rng, n, 3, geometry)
    if not regression:
        q = replace(q, coef_scale=np.ones(n + 1))  # the paper's
    rows = replace(random_rows(rng, 6, q, geometry, loss), weight=np.ones(6))
    objective = Objective(loss, geometry, Prior(), rows, 2.5)
    risk = np.mean(
        [
            loss_literal(q, x, y, regression, geometry.learned)
            for x, y in zip(rows.features, rows.target, strict=True)
        ]
    )
    kl = kl_literal(q, regression, geometry.learned)
    assert objective.gibbs_risk(q) == pytest.approx(risk, abs=3e-9)
    assert objective.kl(q) == pytest.approx(kl, rel=1e-7)
    assert objective.value(q) == pytest.approx(risk + kl / (2.5 * 6), rel=1e-7)


# -- laws ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("combine", COMBINATIONS)
@pytest.mark.parametrize("scale", ["free", "unit"])
@pytest.mark.parametrize("n", [0, 1, 3])
@EACH_GEOMETRY
@EACH_LOSS
def test_gradient_matches_differences(
    loss, geometry, n: int, scale: str, combine: str, rng: np.random.Generator
) -> None:
    for d in (1, 4):
        q = random_posterior(rng, n, d, geometry, loss.scores)
        free = [*FIELDS]
        if scale == "free":
            free.append("coef_scale")
        if geometry.learned:
            free += ["center", "center_scale"]
        rows = random_rows(rng, 40, q, geometry, loss)
        objective = Objective(loss, geometry, Prior(), rows, 1.5, combination=COMBINATIONS[combine])
        packing = Packing(q, free)
        _, partials = objective.value_and_gradient(q)
        gradient = packing.pack_gradient(q, partials)
        numeric = differences(
            lambda v, o=objective, p=packing: o.value(p.unpack(v)), packing.pack(q), 1e-4
        )
        assert np.abs(gradient - numeric).max() <= 1e-6 * np.abs(numeric).max()


@EACH_LOSS
def test_coordinates_need_not_be_the_features(loss, rng: np.random.Generator) -> None:
    """Models of five features, balls in two other columns: the gradient matches differences, and
    equal coordinates that are another array give the same sums.
    """
    n, m = 2, 40
    q = random_posterior(rng, n, 2, LearnedBalls())
    same = random_posterior(rng, n, 5, LearnedBalls(), loss.scores)
    q = replace(q, coef=same.coef, intercept=same.intercept)
    target = random_rows(rng, m, same, LearnedBalls(), loss).target
    rows = Rows.of(rng.normal(size=(m, 5)), target, coordinates=rng.normal(size=(m, 2)))
    objective = Objective(loss, LearnedBalls(), Prior(), rows, 1.5)
    packing = Packing(q, tuple(EVERY_FIELD))
    gradient = packing.pack_gradient(q, objective.value_and_gradient(q)[1])
    by_differences = differences(lambda v: objective.value(packing.unpack(v)), packing.pack(q))
    np.testing.assert_allclose(gradient, by_differences, rtol=1e-5, atol=1e-7)
    alone = Rows.of(rows.features, target)
    apart = Rows.of(rows.features, target, coordinates=rows.features.copy())
    first, second = (
        Objective(loss, LearnedBalls(), Prior(), one, 1.5).value_and_gradient(same)
        for one in (alone, apart)
    )
    assert first[0] == pytest.approx(second[0], rel=1e-12)
    for name in ("center", "coef"):
        one, other = (getattr(gradient, name) for gradient in (first[1], second[1]))
        np.testing.assert_allclose(one, other, atol=1e-12)


@EACH_GEOMETRY
@EACH_LOSS
def test_block_sums_add_up(loss, geometry, rng: np.random.Generator) -> None:
    q = random_posterior(rng, 3, 4, geometry, loss.scores)
    rows = random_rows(rng, 101, q, geometry, loss)
    whole = Objective(loss, geometry, Prior(), rows, 1.0).value_and_gradient(q)
    blocks = Objective(loss, geometry, Prior(), rows, 1.0, block=7).value_and_gradient(q)
    assert blocks[0] == pytest.approx(whole[0], rel=1e-12)
    packing = Packing(q, [*FIELDS, "coef_scale", "center", "center_scale"])
    np.testing.assert_allclose(
        packing.pack_gradient(q, blocks[1]),
        packing.pack_gradient(q, whole[1]),
        rtol=1e-12,
        atol=1e-14,
    )


@EACH_GEOMETRY
@EACH_LOSS
def test_an_integer_weight_is_a_repeated_row(loss, geometry, rng: np.random.Generator) -> None:
    q = random_posterior(rng, 2, 3, geometry, loss.scores)
    rows = random_rows(rng, 20, q, geometry, loss)
    count = rng.integers(0, 4, size=20)
    weighted = replace(rows, weight=count.astype(float))
    index = np.repeat(np.arange(20), count)
    repeated = Rows.of(rows.features[index], rows.target[index], None, rows.distance[index])
    first, second = (
        Objective(loss, geometry, Prior(), which, 2.0).value(q) for which in (weighted, repeated)
    )
    assert first == pytest.approx(second, rel=1e-12)


@EACH_GEOMETRY
@EACH_LOSS
def test_relabeling_the_localities_changes_nothing(
    loss, geometry, rng: np.random.Generator
) -> None:
    q = random_posterior(rng, 3, 2, geometry, loss.scores)
    rows = random_rows(rng, 30, q, geometry, loss)
    order = [2, 0, 1]
    moved = rows if geometry.learned else replace(rows, distance=rows.distance[:, order])
    before = Objective(loss, geometry, Prior(), rows, 2.0).value(q)
    assert Objective(loss, geometry, Prior(), moved, 2.0).value(q.keep(order)) == pytest.approx(
        before, rel=1e-12
    )


@EACH_LOSS
def test_no_locality_is_one_linear_model(loss, rng: np.random.Generator) -> None:
    q = random_posterior(rng, 0, 3, LearnedBalls(), loss.scores)
    rows = random_rows(rng, 30, q, LearnedBalls(), loss)
    mean = (rows.features @ q.coef[0].T + q.intercept[0]).T
    variance = q.coef_scale[0] ** 2 * rows.features_norm2 + q.intercept_scale[0] ** 2
    expected = np.average(
        loss.value_and_partials(rows.target, mean, variance).value, weights=rows.weight
    )
    assert Objective(loss, LearnedBalls(), Prior(), rows, 1.0).gibbs_risk(q) == pytest.approx(
        expected, rel=1e-13
    )


@EACH_LOSS
def test_learned_centers_that_are_sure_meet_known_ones(loss, rng: np.random.Generator) -> None:
    known = random_posterior(rng, 2, 3, GivenCenters(), loss.scores)
    rows = random_rows(rng, 50, known, GivenCenters(), loss)
    learned = replace(known, center_scale=np.full(2, 1e-5))
    risks = [
        Objective(loss, geometry, Prior(), rows, 1.0).gibbs_risk(q)
        for geometry, q in ((GivenCenters(), known), (LearnedBalls(), learned))
    ]
    assert risks[0] == pytest.approx(risks[1], abs=1e-7)


def test_squared_risk_scales_with_the_square_of_the_target(rng: np.random.Generator) -> None:
    q = random_posterior(rng, 2, 3, LearnedBalls())
    rows = random_rows(rng, 30, q, LearnedBalls(), Squared())
    scaled = replace(
        q,
        coef=3 * q.coef,
        coef_scale=3 * q.coef_scale,
        intercept=3 * q.intercept,
        intercept_scale=3 * q.intercept_scale,
    )
    plain, larger = (
        Objective(Squared(), LearnedBalls(), Prior(), which, 1.0).gibbs_risk(posterior)
        for which, posterior in ((rows, q), (replace(rows, target=3 * rows.target), scaled))
    )
    assert larger == pytest.approx(9 * plain, rel=1e-12)


def test_the_best_free_scale_has_the_closed_form(rng: np.random.Generator) -> None:
    """For a given ratio u = w / rho the zero-one loss is fixed and KL is least at
    rho^2 = d / (|u|^2 + d).
    """
    u, d = rng.normal(size=4), 4
    rho = np.sqrt(d / (u @ u + d))
    rows = Rows.of(rng.normal(size=(5, d)), np.ones(5))
    objective = Objective(ZeroOne(), LearnedBalls(), Prior(), rows, 1.0)

    def kl(scale: float) -> float:
        q = Posterior(
            np.empty((0, d)),
            np.empty(0),
            np.empty(0),
            np.empty(0),
            (scale * u)[None],
            np.array([scale]),
            np.zeros(1),
            np.ones(1),
        )
        return objective.kl(q)

    assert kl(rho) == pytest.approx(0.5 * d * np.log1p(u @ u / d))
    assert kl(rho) < min(kl(0.99 * rho), kl(1.01 * rho), kl(1.0))


@pytest.mark.parametrize("block", [17, 8192])
@pytest.mark.parametrize("n", [0, 1, 3])
@EACH_GEOMETRY
def test_the_best_models_of_the_squared_loss_have_no_gradient_left(
    geometry, n: int, block: int, rng: np.random.Generator
) -> None:
    q = random_posterior(rng, n, 3, geometry)
    rows = random_rows(rng, 60, q, geometry, Squared())
    prior = Prior(
        coef=rng.normal(size=(n + 1, 3)),
        coef_scale=rng.uniform(0.5, 2, size=n + 1),
        intercept=0.3,
        intercept_scale=0.7,
    )
    objective = Objective(Squared(), geometry, prior, rows, 1.7, block=block)
    better = solve_models(objective, q)
    value, gradient = objective.value_and_gradient(better)
    assert value <= objective.value(q)
    # what a search sees: the models are solved on the way, and rows located once
    free = ("radius_shape", "radius_rate", *(("center", "center_scale") * geometry.learned))
    packing = Packing(q, free)
    same = Evaluator(objective, packing, eliminated=True).evaluate(packing.pack(q))
    assert same.value == pytest.approx(value, rel=1e-12)
    expected = packing.pack_gradient(better, gradient)
    np.testing.assert_allclose(same.gradient, expected, rtol=1e-9, atol=1e-13)
    for name in ("coef", "coef_scale", "intercept", "intercept_scale"):
        np.testing.assert_allclose(getattr(gradient, name), 0.0, atol=1e-12)
    for name in ("center", "radius_shape", "radius_rate"):
        np.testing.assert_array_equal(getattr(better, name), getattr(q, name))


def test_gates_by_definition(rng: np.random.Generator) -> None:
    omega = rng.uniform(size=(4, 6))
    omega[:, 0] = 1.0  # a division would fail here
    gate, others = gates(omega)
    np.testing.assert_allclose(gate[-1], np.prod(1 - omega, axis=0))
    for i in range(4):
        np.testing.assert_allclose(others[i], np.prod(1 - np.delete(omega, i, axis=0), axis=0))
    gate, others = gates(np.empty((0, 3)))
    assert gate.tolist() == [[1.0, 1.0, 1.0]]
    assert others.shape == (0, 3)


def test_priors_can_be_changed(rng: np.random.Generator) -> None:
    q = random_posterior(rng, 2, 3, LearnedBalls())
    rows = random_rows(rng, 10, q, LearnedBalls(), ZeroOne())
    own = Prior(
        center=q.center,
        center_scale=q.center_scale,
        radius_shape=q.radius_shape,
        radius_rate=q.radius_rate,
        coef=q.coef,
        coef_scale=q.coef_scale,
        intercept=q.intercept,
        intercept_scale=q.intercept_scale,
    )
    assert Objective(ZeroOne(), LearnedBalls(), own, rows, 1.0).kl(q) == pytest.approx(
        0.0, abs=1e-12
    )
    with pytest.raises(ValueError, match=r"Prior\.radius_rate must be positive"):
        Prior(radius_rate=0.0)
    with pytest.raises(ValueError, match=r"Prior\.coef must be finite"):
        Prior(coef=np.nan)
