from __future__ import annotations

import numpy as np
import pytest
from reference.membership_accuracy import RECORDS, errors
from scipy.integrate import quad
from scipy.stats import gamma, ncx2

from motlm.lookup import Lookup, half_distance
from motlm.membership import (
    LIMITS,
    theta,
    theta_and_partials,
    theta_tables,
    upsilon,
    upsilon_and_partials,
    upsilon_tables,
)
from motlm.reproduction import upsilon_qmc


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


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_look_up_what_the_tables_hold(dtype, rng: np.random.Generator) -> None:
    """The cubics that rows use agree with the tables, at and beyond both ends too."""
    exact = dtype == np.float64
    for d in (1, 3, 20):
        scale, shape, radius = (
            log_uniform(rng, 1e-3, 2, 5),
            log_uniform(rng, 0.5, 1e5, 5),
            log_uniform(rng, 0.1, 10, 5),
        )
        for tables in (
            upsilon_tables(d, scale, shape, shape / radius),
            theta_tables(shape, shape / radius),
        ):
            lookup = Lookup.of(tables, dtype)
            reach = np.array([[table.reach] for table in tables])
            distance = np.concatenate(
                [reach * rng.uniform(0, 1.1, size=(5, 300)), 0 * reach, reach, 1e3 * reach], axis=1
            )
            if not exact:
                distance = distance.astype(np.float32).astype(float)
            place = lookup.place(distance.astype(dtype))
            value, slope = lookup.look_up(lookup.value, place), lookup.look_up(lookup.slope, place)
            assert value.dtype == slope.dtype == dtype
            for i, table in enumerate(tables):
                at = table.place(distance[i])
                np.testing.assert_allclose(
                    value[i], table.look_up(table.value, at), atol=1e-9 if exact else 2e-2
                )
                if exact:
                    expected = table.look_up(table.slope, at) * np.maximum(distance[i], 1e-3)
                    np.testing.assert_allclose(
                        slope[i] * np.maximum(distance[i], 1e-3), expected, atol=1e-6
                    )


def test_parameter_sums_are_the_transpose_of_look_up(rng: np.random.Generator) -> None:
    tables = upsilon_tables(
        4, np.array([0.3, 0.01]), np.array([30.0, 900.0]), np.array([20.0, 700.0])
    )
    lookup = Lookup.of(tables)
    D, factor = rng.uniform(0, 3, size=(2, 200)), rng.normal(size=(2, 200))
    sums = lookup.parameter_sums(lookup.moments(lookup.place(D.copy()), factor.copy()))
    for i, table in enumerate(tables):
        expected = [
            factor[i] @ table.look_up(coefficients, table.place(D[i]))
            for coefficients in table.parameters
        ]
        size = [
            np.abs(factor[i]) @ np.abs(table.look_up(coefficients, table.place(D[i])))
            for coefficients in table.parameters
        ]
        np.testing.assert_allclose(sums[:, i] / size, np.array(expected) / size, atol=1e-8)


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
