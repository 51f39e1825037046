"""What the rest of the package calls, but for the search itself: functions of whole arrays."""

from __future__ import annotations

import math

import numpy as np

from .._typing import Array
from .compile import compiled, entry
from .objective import (
    Setup,
    Vector,
    fields_of,
    finish,
    gamma_divergence,
    gaussian_divergence,
    kl_and_partials,
    models_of,
    pack_gradient,
    solve_all,
    tables_of,
    unpack,
)
from .rows import (
    Data,
    Located,
    add_moments,
    add_sums,
    class_losses,
    combine,
    losses_of,
    n_class_work,
    n_moments,
    n_sums,
    solve_models,
    solve_pooled,
)
from .special import digamma, exponential, log_bessel_and_ratio, logarithm, normal, trigamma
from .tables import (
    FIRST_PANEL,
    PER_CELL,
    SHIFT,
    START,
    Constants,
    Fineness,
    Tables,
    theta,
    upsilon,
)

__all__ = [
    "all_tables",
    "block_moments",
    "block_sums",
    "combined",
    "conclude",
    "divergence",
    "elementary",
    "from_moments",
    "gamma_divergences",
    "gaussian_divergences",
    "half_distances",
    "losses",
    "losses_of_classes",
    "prepare",
    "solved",
    "theta_tables",
    "to_gradient",
    "to_posterior",
    "upsilon_tables",
]


@entry
def losses(loss: int, tolerance: float, y: Array, mean: Array, variance: Array) -> Array:
    """(3, number): expected losses and their partials in mean and variance."""
    found = np.empty((3, len(y)))
    losses_of(loss, tolerance, y, mean, variance, found[0], found[1], found[2])
    return found


@entry
def losses_of_classes(
    loss: int, y: Array, mean: Array, variance: Array
) -> tuple[Array, Array, Array]:
    """Expected losses of scores of several classes, mean (class, number), and their partials in
    mean and variance.
    """
    value, by_mean, by_variance = np.empty(len(y)), np.empty(mean.shape), np.empty(len(y))
    work = np.empty((n_class_work(len(mean)), len(y)))
    class_losses(loss, y, mean, variance, value, by_mean, by_variance, work)
    return value, by_mean, by_variance


@entry
def combined(combination: int, omega: Array, losses: Array) -> tuple[Array, Array, Array]:
    """The loss of each row and its partials in memberships and losses."""
    value = np.empty(omega.shape[1])
    by_omega, by_losses = np.empty(omega.shape), np.empty(losses.shape)
    combine(combination, omega, losses, value, by_omega, by_losses, np.empty(len(value)))
    return value, by_omega, by_losses


@entry
def theta_tables(fine: Fineness, shape: Array, rate: Array, low: Array, high: Array) -> Tables:
    return theta(fine, shape, rate, low, high)


@entry
def upsilon_tables(
    fine: Fineness, about: Constants, scale: Array, shape: Array, rate: Array, low: Array,
    high: Array,
) -> Tables:  # fmt: skip
    return upsilon(fine, about, scale, shape, rate, low, high)


@entry
def half_distances(tables: Tables) -> Array:
    """The distance at which each membership falls through 1/2; 0 where it never reaches 1/2."""
    n = len(tables.lead) - 1
    found = np.zeros(n)
    for i in range(n):
        lead = tables.lead[i]
        first, last = int(lead[FIRST_PANEL]), int(tables.lead[i + 1, FIRST_PANEL])
        if first == last or _at(tables, first, -1.0) <= 0.5:
            continue
        panel = first
        while panel + 1 < last and _at(tables, panel + 1, -1.0) > 0.5:
            panel += 1
        low, high = -1.0, 1.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            if _at(tables, panel, middle) > 0.5:
                low = middle
            else:
                high = middle
        cell = tables.panels[panel, 0] + (0.5 * (low + high) + 1.0) / tables.panels[panel, 1]
        found[i] = max(math.exp(lead[START] + cell / lead[PER_CELL]) - lead[SHIFT], 0.0)
    return found


@compiled
def _at(tables: Tables, panel: int, x: float) -> float:
    last = tables.coefficients.shape[1] - 1
    value = tables.coefficients[panel, last, 0]
    for power in range(last - 1, -1, -1):
        value = value * x + tables.coefficients[panel, power, 0]
    return float(value)


@entry
def all_tables(setup: Setup, about: Constants | None, full: Array) -> Tables:
    return tables_of(setup, about, full)


@entry
def solved(setup: Setup, data: Data, about: Constants | None, full: Array) -> Array:
    """All fields, with the models that are best for the squared loss."""
    best = full.copy()
    solve_all(setup, data, tables_of(setup, about, full), best)
    return best


@entry
def divergence(setup: Setup, full: Array) -> float:
    """KL(Q || P)."""
    return kl_and_partials(setup, full, np.empty(len(full)))


@entry
def to_posterior(vector: Vector, n: int, values: Array) -> Array:
    """All fields from the free numbers."""
    return unpack(vector, n, values)


@entry
def to_gradient(vector: Vector, n: int, full: Array, partials: Array) -> Array:
    """The gradient in the free numbers from the partials in all fields."""
    return pack_gradient(vector, n, full, partials)


# -- one evaluation in parts, whose blocks of rows may run on several threads ----------------------


@entry
def prepare(
    setup: Setup, vector: Vector, about: Constants | None, values: Array
) -> tuple[Array, Tables]:
    """All fields, and the tables of the localities."""
    full = unpack(vector, setup.n, values)
    return full, tables_of(setup, about, full)


@entry
def block_moments(
    setup: Setup, data: Data, tables: Tables, full: Array, located: Located, begin: int, end: int
) -> Array:
    """Of some rows, for `from_moments`."""
    total = np.zeros(n_moments(setup.n, setup.d))
    models = models_of(fields_of(full, setup.n, setup.n_coordinates, setup.d, setup.outputs))
    add_moments(
        tables, setup.measured, setup.alike, data, models, begin, end, setup.heavy, setup.pooled,
        setup.corrected, located, total,
    )  # fmt: skip
    return total


@entry
def from_moments(setup: Setup, total: Array, full: Array) -> None:
    """The best models of the squared loss, into full."""
    models = models_of(fields_of(full, setup.n, setup.n_coordinates, setup.d, setup.outputs))
    prior = models_of(fields_of(setup.prior, setup.n, setup.n_coordinates, setup.d, setup.outputs))
    twice = 2.0 * setup.inverse_temperature
    if setup.pooled:
        solve_pooled(
            total, setup.n, setup.d, twice, prior, setup.learned_scales, setup.most,
            setup.corrected, models,
        )  # fmt: skip
    else:
        solve_models(
            total, setup.n, setup.d, twice, prior, setup.learned_scales, setup.most, models
        )


@entry
def block_sums(
    setup: Setup, data: Data, tables: Tables, full: Array, located: Located, begin: int, end: int
) -> Array:
    """Sums over some rows."""
    models = models_of(fields_of(full, setup.n, setup.n_coordinates, setup.d, setup.outputs))
    total = np.zeros(n_sums(setup.n, setup.n_coordinates, setup.d, setup.outputs))
    add_sums(
        tables, setup.measured, setup.alike, setup.loss, setup.tolerance, setup.combination,
        setup.pooled, setup.corrected, data, models, begin, end, located, True, total,
    )  # fmt: skip
    return total


@entry
def conclude(setup: Setup, vector: Vector, full: Array, sums: Array) -> tuple[float, float, Array]:
    """Risk, divergence, and the gradient of the objective."""
    partials = np.empty(len(full))
    risk, kl = finish(setup, full, sums, partials)
    return risk, kl, pack_gradient(vector, setup.n, full, partials)


# -- elementwise, for those who look at one function ----------------------------------------------


@entry
def gaussian_divergences(
    mean: Array, scale: Array, mean0: Array, scale0: Array
) -> tuple[Array, Array, Array]:
    """Value, and partials in mean and scale, of each row."""
    value, by_scale, by_mean = np.empty(len(scale)), np.empty(len(scale)), np.empty(mean.shape)
    for i in range(len(scale)):
        value[i], by_scale[i] = gaussian_divergence(
            mean[i], scale[i], mean0[i], scale0[i], by_mean[i]
        )
    return value, by_mean, by_scale


@entry
def gamma_divergences(
    shape: Array, rate: Array, shape0: Array, rate0: Array
) -> tuple[Array, Array, Array]:
    """Value, and partials in shape and rate."""
    value, by_shape, by_rate = (
        np.empty(len(shape)), np.empty(len(shape)), np.empty(len(shape)),
    )  # fmt: skip
    for i in range(len(shape)):
        value[i], by_shape[i], by_rate[i] = gamma_divergence(shape[i], rate[i], shape0[i], rate0[i])
    return value, by_shape, by_rate


@entry
def elementary(x: Array, bessel: Array) -> Array:
    """(8, number): exp, ln, digamma, trigamma, normal distribution and density, and at ln z = x
    Bessel's logarithm and ratio.
    """
    found = np.empty((8, len(x)))
    for i in range(len(x)):
        found[0, i] = exponential(x[i])
        found[1, i] = logarithm(x[i]) if x[i] > 0.0 else np.nan
        found[2, i] = digamma(x[i]) if x[i] > 0.0 else np.nan
        found[3, i] = trigamma(x[i]) if x[i] > 0.0 else np.nan
        found[4, i], found[5, i] = normal(x[i])
        found[6, i], found[7, i] = log_bessel_and_ratio(bessel, x[i])
    return found
