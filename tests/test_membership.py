from __future__ import annotations

import numpy as np
import pytest
from reference.membership_accuracy import RECORDS, errors
from scipy.integrate import quad
from scipy.stats import gamma, ncx2

from motlm.geometry import GivenCenters, LearnedBalls, radii
from motlm.lookup import half_distance
from motlm.losses import Squared
from motlm.membership import (
    LIMITS,
    theta,
    theta_and_partials,
    theta_tables,
    upsilon,
    upsilon_and_partials,
    upsilon_tables,
)
from motlm.objective import Evaluator, Objective, locate
from motlm.posterior import FIELDS, Packing, Posterior, Prior
from motlm.reproduction import upsilon_qmc
from motlm.rows import Rows


def test_reference_covers_the_range() -> None:
    assert len(RECORDS) > 300
    for name, field in (
        ("center_scale", "center_scale"),
        ("radius_shape", "shape"),
        ("radius_rate", "rate"),
    ):
        values = [one[field] for one in RECORDS]
        assert (min(values), max(values)) == LIMITS[name]
    assert {one["n_features"] for one in RECORDS} == {1, 2, 3, 5, 20, 100}
    assert (min(one["distance"] for one in RECORDS), max(one["distance"] for one in RECORDS)) == (
        0,
        50,
    )


def test_against_reference_values() -> None:
    of_upsilon, of_theta = zip(*(errors(one) for one in RECORDS), strict=True)
    worst = np.array(of_upsilon).max(axis=0)
    assert worst[0] <= 1e-9
    assert worst[1:].max() <= 1e-7
    worst = np.array([one for one in of_theta if one is not None]).max(axis=0)
    assert worst[0] <= 1e-9
    assert worst[1:].max() <= 1e-7


@pytest.mark.parametrize("d", [1, 2, 7])
def test_upsilon_by_adaptive_quadrature_of_the_definition(d: int, rng: np.random.Generator) -> None:
    for _ in range(5):
        D, e, k, t = rng.uniform(0, 3), rng.uniform(0.2, 1), rng.uniform(1, 40), rng.uniform(1, 30)
        expected, _ = quad(
            lambda beta, D=D, e=e, k=k, t=t: (
                gamma.pdf(beta, k, scale=1 / t) * ncx2.cdf((beta / e) ** 2, d, (D / e) ** 2)
            ),
            0,
            k / t + 12 * np.sqrt(k) / t,
            epsabs=1e-11,
            limit=200,
        )
        assert upsilon(D, d, e, k, t) == pytest.approx(expected, abs=2e-9)


def test_upsilon_by_simulation(rng: np.random.Generator) -> None:
    u = np.array([1.2, 0, 0]) + 0.5 * rng.standard_normal((400_000, 3))
    inside = np.linalg.norm(u, axis=1) <= rng.gamma(9.0, 1 / 6.0, size=len(u))
    assert upsilon(1.2, 3, 0.5, 9.0, 6.0) == pytest.approx(
        inside.mean(), abs=4 * inside.std() / np.sqrt(len(u))
    )


def test_a_sharp_center_is_a_known_one() -> None:
    D = np.linspace(0, 4, 50)
    np.testing.assert_allclose(upsilon(D, 4, 1e-3, 20.0, 12.0), theta(D, 20.0, 12.0), atol=1e-4)
    np.testing.assert_allclose(upsilon(D, 4, 1e-6, 20.0, 12.0), theta(D, 20.0, 12.0), atol=1e-9)


def test_units_do_not_matter(rng: np.random.Generator) -> None:
    """upsilon(c D, c eps, k, rate / c) does not depend on c: also far outside the limits of the
    search.
    """
    D = rng.uniform(0, 3, size=40)
    plain = upsilon(D, 3, 0.3, 30.0, 25.0)
    for c in (1e-4, 1e4):
        np.testing.assert_allclose(upsilon(c * D, 3, c * 0.3, 30.0, 25.0 / c), plain, atol=1e-11)


def test_membership_falls_from_at_most_one_to_zero() -> None:
    D = np.linspace(0, 60, 2001)
    for d, e, k, t in [
        (1, 0.5, 0.5, 0.5),
        (2, 0.01, 800.0, 500.0),
        (20, 0.3, 50.0, 12.0),
        (300, 0.1, 100.0, 20.0),
    ]:
        value = upsilon(D, d, e, k, t)
        assert np.all(np.diff(value) <= 1e-10)
        assert value[0] <= 1 + 1e-9
        assert value[-1] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("d", [1, 2, 20, 400])
def test_partials_match_differences(d: int) -> None:
    arguments = [1.7, 0.2, 40.0, 22.0]
    partials = upsilon_and_partials(arguments[0], d, *arguments[1:])
    for index, computed in enumerate(partials[1:]):
        h = 1e-3 * arguments[index]
        values = []
        for step in (h, -h, 2 * h, -2 * h):
            moved = arguments.copy()
            moved[index] += step
            values.append(float(upsilon(moved[0], d, *moved[1:])))
        numeric = (8 * (values[0] - values[1]) - (values[2] - values[3])) / (12 * h)
        assert float(computed) == pytest.approx(numeric, rel=1e-5, abs=1e-7)


def test_theta_at_distance_zero() -> None:
    assert theta(0.0, 0.5, 1.0) == 1.0
    at_zero = [float(theta_and_partials(0.0, k, 3.0).distance) for k in (0.5, 1.0, 2.0)]
    assert at_zero == [-np.inf, pytest.approx(-3.0), 0.0]
    assert float(theta_and_partials(0.0, 0.5, 3.0).rate) == 0.0


def test_arguments_broadcast() -> None:
    D = np.linspace(0, 2, 5)[:, None]
    k = np.array([2.0, 30.0])
    both = upsilon_and_partials(D, 2, 0.2, k, 10.0)
    for column, one in enumerate(k):
        for together, alone in zip(
            both, upsilon_and_partials(D[:, 0], 2, 0.2, one, 10.0), strict=True
        ):
            np.testing.assert_array_equal(together[:, column], alone)
    assert theta_and_partials(D, k, 10.0).shape.shape == (5, 2)
    assert upsilon(1.0, 2, 0.2, 3.0, 2.0).shape == ()


def test_paper_approximation_is_close_but_not_exact() -> None:
    D = np.linspace(0, 3, 30)
    exact = upsilon(D, 5, 0.3, 30.0, 20.0)
    error = np.abs(upsilon_qmc(D, 5, 0.3, 30.0, 20.0) - exact).max()
    assert 1e-4 < error < 0.03
    assert np.abs(upsilon_qmc(D, 5, 0.3, 30.0, 20.0, n_radii=20_000) - exact).max() < 2e-4
    assert upsilon_qmc(1.0, 5, 0.3, 30.0, 20.0, seed=1) != upsilon_qmc(
        1.0, 5, 0.3, 30.0, 20.0, seed=2
    )


def one(*numbers: float) -> list[np.ndarray]:
    return [np.array([number]) for number in numbers]


def test_half_distance() -> None:
    for table in (*theta_tables(*one(30.0, 20.0)), *upsilon_tables(3, *one(0.3, 30.0, 20.0))):
        at = half_distance(table)
        assert table.look_up(table.value, table.place(np.array([at])))[0] == pytest.approx(
            0.5, abs=1e-11
        )
    assert (
        half_distance(*upsilon_tables(20, *one(1.0, 2.0, 1.0))) == 0.0
    )  # membership never reaches 1/2


def log_uniform(rng: np.random.Generator, low: float, high: float, size: int) -> np.ndarray:
    return np.exp(rng.uniform(np.log(low), np.log(high), size=size))


@pytest.mark.parametrize("d", [1, 4, 40])
def test_tables_of_several_localities_are_those_of_each(d: int, rng: np.random.Generator) -> None:
    scale, shape, radius = (
        log_uniform(rng, 1e-3, 2, 6),
        log_uniform(rng, 0.5, 1e5, 6),
        log_uniform(rng, 0.1, 10, 6),
    )
    together = upsilon_tables(d, scale, shape, shape / radius)
    for i, table in enumerate(together):
        [alone] = upsilon_tables(d, *one(scale[i], shape[i], shape[i] / radius[i]))
        np.testing.assert_array_equal(table.edges, alone.edges)
        place = alone.place(rng.uniform(0, alone.reach, size=50))
        np.testing.assert_allclose(
            table.look_up(table.value, place), alone.look_up(alone.value, place), atol=1e-11
        )
        for computed, expected in zip(table.parameters, alone.parameters, strict=True):
            size = max(np.abs(expected).max(), 1e-12)
            np.testing.assert_allclose(
                table.look_up(computed, place) / size,
                table.look_up(expected, place) / size,
                atol=1e-7,
            )
    assert upsilon_tables(d, *(np.empty(0),) * 3) == theta_tables(*(np.empty(0),) * 2) == []


def balls(rng: np.random.Generator, d: int, n: int, learned: bool) -> Posterior:
    """Localities of all sorts around 0."""
    shape = log_uniform(rng, 0.5, 1e5, n)
    return Posterior(
        center=np.zeros((n, d)),
        center_scale=log_uniform(rng, 1e-3, 2, n) if learned else np.zeros(n),
        radius_shape=shape,
        radius_rate=shape / log_uniform(rng, 0.1, 10, n),
        coef=np.zeros((n + 1, d)),
        coef_scale=np.ones(n + 1),
        intercept=rng.normal(size=n + 1),
        intercept_scale=np.ones(n + 1),
    )


def rows_at(distance: np.ndarray, d: int, y: np.ndarray, weight: np.ndarray, n: int) -> Rows:
    """Rows at these distances from 0."""
    X = np.zeros((len(distance), d), dtype=distance.dtype)
    X[:, 0] = distance
    types = (X, y.astype(X.dtype), weight.astype(X.dtype))
    return Rows.of(*types, np.repeat(distance[:, None], n, axis=1))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("geometry", [GivenCenters(), LearnedBalls()], ids=lambda one: one.kind)
def test_rows_look_up_what_the_tables_hold(geometry, dtype, rng: np.random.Generator) -> None:
    """What the engine gives rows agrees with the tables, at and beyond both ends too."""
    exact = dtype == np.float64
    for d in (1, 3, 20):
        q = balls(rng, d, 5, geometry.learned)
        tables = geometry.tables(q)
        ends = np.array([table.reach for table in tables])
        inside = np.multiply.outer(ends, rng.uniform(0, 1.1, size=100)).ravel()
        distance = np.concatenate([[0.0, 1e-9], inside, ends, 1e3 * ends]).astype(dtype)
        ones = np.ones(len(distance))
        objective = Objective(
            Squared(), geometry, Prior(), rows_at(distance, d, ones, ones, 5), 1.0
        )
        evaluator = Evaluator(objective, Packing(q, ()), eliminated=True)
        _, located, _ = evaluator._prepare(np.empty(0))
        for i, table in enumerate(tables):
            expected = table.look_up(table.value, table.place(distance.astype(float)))
            np.testing.assert_allclose(located.omega[i], expected, atol=1e-9 if exact else 2e-2)
        if exact:
            found = locate(geometry, q, objective.rows).omega
            np.testing.assert_allclose(found, located.omega, atol=1e-9)


def test_a_row_at_the_mean_of_a_learned_center() -> None:
    """A search begins with centers at rows; in many dimensions even these lie outside more often
    than not.
    """
    one, two = np.ones(1), np.ones(2)
    for d, scale, shape, rate in ((20, 0.5, 30.0, 20.0), (3, 0.15, 25.0, 12.0), (1, 2.0, 0.5, 9.0)):
        center = np.full((1, d), 0.7)
        q = Posterior(
            center, scale * one, shape * one, rate * one, np.zeros((2, d)), two,
            np.array([2.0, 0.0]), two,
        )  # fmt: skip
        objective = Objective(Squared(), LearnedBalls(), Prior(), Rows.of(center, 0 * one), 1.0)
        # E s^2 is 4 more inside than outside
        rest = objective.rows.features_norm2[0] + 1.0
        expected = rest + 4.0 * float(upsilon(0.0, d, scale, shape, rate))
        assert objective.gibbs_risk(q) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("learned", [False, True])
def test_sums_over_rows_are_of_what_the_tables_hold(
    learned: bool, rng: np.random.Generator
) -> None:
    """Partials of the risk, from those of memberships at each row: with constant models the partial
    in omega_i is l_i - l_ext prod_j (1 - omega_j).
    """
    geometry = LearnedBalls() if learned else GivenCenters()
    for d in (1, 4):
        q = balls(rng, d, 2, learned)
        prior = Prior(**{name: getattr(q, name) for name in FIELDS if name[:6] != "center"})
        distance = np.concatenate([[0.0], rng.uniform(0, 1.2 * radii(geometry, q).max(), 200)])
        y, weight = rng.normal(size=201), rng.uniform(0.5, 2, size=201)
        rows = rows_at(distance, d, y, weight, 2)
        objective = Objective(Squared(), geometry, prior, rows, 1e12)  # hardly any divergence
        _, found = objective.value_and_gradient(q)
        loss = (q.intercept[:, None] - y) ** 2 + rows.features_norm2 + 1.0
        tables = geometry.tables(q)
        omega = locate(geometry, q, rows).omega
        for i, table in enumerate(tables):
            place = table.place(distance)
            factor = weight * (loss[i] - loss[2] * (1 - omega[1 - i])) / weight.sum()
            names = ("center_scale", "radius_shape", "radius_rate")[not learned :]
            for name, coefficients in zip(names, table.parameters, strict=True):
                partial = table.look_up(coefficients, place)
                size = np.abs(factor).sum() * np.abs(partial).max()
                computed = getattr(found, name)[i]
                assert computed / size == pytest.approx(factor @ partial / size, abs=1e-8), name
            if learned:  # d/dc of omega(|c - x|) is slope (c - x)
                slope = table.look_up(table.slope, place)
                size = np.abs(factor).sum() * np.abs(distance * slope).max()
                expected = -(factor * distance) @ slope
                assert found.center[i, 0] / size == pytest.approx(expected / size, abs=1e-8)
                np.testing.assert_allclose(found.center[i, 1:], 0.0, atol=1e-12)


def test_radii_are_where_the_tables_fall_through_one_half(rng: np.random.Generator) -> None:
    for geometry in (GivenCenters(), LearnedBalls()):
        for d in (1, 4, 40):
            q = balls(rng, d, 6, geometry.learned)
            expected = [half_distance(table) for table in geometry.tables(q)]
            np.testing.assert_allclose(radii(geometry, q), expected, rtol=1e-9, atol=1e-11)
    assert radii(LearnedBalls(), balls(rng, 2, 0, True)).shape == (0,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theta(-1.0, 2.0, 1.0), "distance must be non-negative"),
        (lambda: theta(np.nan, 2.0, 1.0), "distance must be non-negative"),
        (lambda: theta(1.0, 0.0, 1.0), "shape must be finite and positive"),
        (lambda: upsilon(1.0, 0, 0.1, 2.0, 1.0), "n_features must be at least 1"),
        (lambda: upsilon(1.0, 2, 0.0, 2.0, 1.0), "center_scale must be finite and positive"),
        (lambda: upsilon(1.0, 2, 0.1, 2.0, np.inf), "rate must be finite and positive"),
    ],
)
def test_bad_arguments(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
