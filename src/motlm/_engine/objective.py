"""The objective and its gradient as functions of one vector.

A posterior is one array of all its fields, in their order; a vector of free numbers is some of
them, positives as logarithms.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numba.types import NoneType

from .._typing import Array, Integers
from .compile import INNER, compiled, inlined
from .rows import (
    Data,
    Located,
    Models,
    add_moments,
    add_sums,
    n_moments,
    n_sums,
    new_located,
    prior_scales,
    solve_models,
)
from .special import digamma, trigamma
from .tables import Fineness, Tables, edges_of, theta, upsilon

__all__ = [
    "LINEAR",
    "LOG",
    "MEAN_RADIUS",
    "SHAPE",
    "Fields",
    "Setup",
    "Vector",
    "fields_of",
    "finish",
    "gamma_divergence",
    "gaussian_divergence",
    "kl_and_partials",
    "models_of",
    "pack_gradient",
    "solve_all",
    "sum_all",
    "tables_of",
    "unpack",
]

LINEAR, LOG, MEAN_RADIUS, SHAPE = 0, 1, 2, 3  # kinds of free numbers


class Setup(NamedTuple):
    """What an evaluation needs beside the rows and the vector."""

    learned: bool  # whether centers are searched
    alike: bool  # whether coordinates are the features
    loss: int
    tolerance: float
    combination: int
    inverse_temperature: float
    total_weight: float
    n: int  # localities
    n_coordinates: int
    d: int  # features
    outputs: int  # scores of a model: classes where there are several
    heavy: bool
    learned_scales: bool  # whether the prior scales of the weights are the best ones
    most: float  # largest scale of a solved model
    block: int  # rows whose sums are taken before they are added to the others
    fine: Fineness
    prior: Array  # all fields


class Vector(NamedTuple):
    """Which numbers of a posterior are free."""

    template: Array  # all fields
    at: Integers  # of each free number, its place among all
    kind: Integers  # LINEAR, LOG, MEAN_RADIUS, or SHAPE where the mean radius is free, too


class Fields(NamedTuple):
    """Views of an array of all fields."""

    center: Array
    center_scale: Array
    radius_shape: Array
    radius_rate: Array
    coef: Array
    coef_scale: Array
    intercept: Array
    intercept_scale: Array


@compiled
def fields_of(full: Array, n: int, n_coordinates: int, d: int, outputs: int) -> Fields:
    a = n * n_coordinates
    b = a + 3 * n
    c = b + (n + 1) * outputs * d
    e = c + (n + 1) * (1 + outputs)
    return Fields(
        full[:a].reshape(n, n_coordinates),
        full[a : a + n],
        full[a + n : a + 2 * n],
        full[a + 2 * n : b],
        full[b:c].reshape((n + 1) * outputs, d),
        full[c : c + n + 1],
        full[c + n + 1 : e],
        full[e:],
    )


@inlined
def models_of(fields: Fields) -> Models:
    return Models(
        fields.center, fields.coef, fields.coef_scale, fields.intercept, fields.intercept_scale
    )


@compiled
def unpack(vector: Vector, n: int, values: Array) -> Array:
    """All fields, from the free numbers."""
    full = vector.template.copy()
    for i in range(len(values)):
        kind = vector.kind[i]
        full[vector.at[i]] = values[i] if kind == LINEAR else math.exp(values[i])
    for i in range(len(values)):
        if vector.kind[i] == MEAN_RADIUS:  # the rate stands n places after the shape
            at = vector.at[i]
            full[at] = full[at - n] / full[at]
    return full


@compiled
def pack_gradient(vector: Vector, n: int, full: Array, partials: Array) -> Array:
    """d/d ln(v) = v d/dv for the positives; with the mean radius fixed, the rate moves with the
    shape.
    """
    gradient = np.empty(len(vector.at))
    for i in range(len(vector.at)):
        at, kind = vector.at[i], vector.kind[i]
        if kind == LINEAR:
            gradient[i] = partials[at]
        elif kind == MEAN_RADIUS:
            gradient[i] = -partials[at] * full[at]
        else:
            gradient[i] = partials[at] * full[at]
            if kind == SHAPE:
                gradient[i] += partials[at + n] * full[at + n]
    return gradient


def tables_of(setup: Setup, bessel: Array | None, full: Array) -> Tables:
    """The memberships as functions of the distance, in compiled functions: from learned centers, or
    from given ones where bessel is None. Which of them is known when they are compiled.
    """
    raise NotImplementedError


@overload(tables_of, strict=False, jit_options=INNER)  # type: ignore[untyped-decorator]
def _tables_of(setup: Any, bessel: Any, full: Any) -> Any:
    given = isinstance(bessel, NoneType)

    def make(setup, bessel, full):  # type: ignore[no-untyped-def]
        fields = fields_of(full, setup.n, setup.n_coordinates, setup.d, setup.outputs)
        low, high = np.empty(setup.n), np.empty(setup.n)
        for i in range(setup.n):
            first, last = edges_of(fields.radius_shape[i], setup.fine.quantiles)
            low[i], high[i] = first / fields.radius_rate[i], last / fields.radius_rate[i]
        if given:
            return theta(setup.fine, fields.radius_shape, fields.radius_rate, low, high)
        return upsilon(
            setup.fine, setup.n_coordinates, bessel, fields.center_scale, fields.radius_shape,
            fields.radius_rate, low, high,
        )  # fmt: skip

    return make


@compiled
def gaussian_divergence(
    mean: Array, scale: float, mean0: Array, scale0: float, by_mean: Array
) -> tuple[float, float]:
    """KL( N(mean, scale^2 I) || N(mean0, scale0^2 I) ), eq. 12 of the paper, and its partial in the
    scale; that in the mean goes into by_mean.
    """
    d, ratio = len(mean), scale / scale0
    squared = 0.0
    for j in range(d):
        shift = (mean[j] - mean0[j]) / scale0
        squared += shift * shift
        by_mean[j] = shift / scale0
    value = d * (0.5 * (ratio * ratio - 1.0) - math.log(ratio)) + 0.5 * squared
    return value, d * (ratio / scale0 - 1.0 / scale)


@compiled
def gamma_divergence(k: float, t: float, k0: float, t0: float) -> tuple[float, float, float]:
    """KL( Gamma(k, t) || Gamma(k0, t0) ), eq. 13 of the paper, and its partials in k and t."""
    excess = (t0 - t) / t
    value = (k - k0) * digamma(k) + math.lgamma(k0) - math.lgamma(k)
    value += k0 * math.log(t / t0) + k * excess
    return value, (k - k0) * trigamma(k) + excess, (k0 - k * t0 / t) / t


@compiled
def kl_and_partials(setup: Setup, full: Array, partials: Array) -> float:
    """KL(Q || P), eqs. 14, 20, 23 and 45 of the paper."""
    n, d, wide, prior = setup.n, setup.d, setup.n_coordinates, setup.prior
    scale = n * wide  # where the fields begin: scales of the centers, then shapes and rates
    shape, rate, coef = scale + n, scale + 2 * n, scale + 3 * n
    coef_scale = coef + (n + 1) * setup.outputs * d
    total = 0.0
    for i in range(n):
        value, by_shape, by_rate = gamma_divergence(
            full[shape + i], full[rate + i], prior[shape + i], prior[rate + i]
        )
        partials[shape + i], partials[rate + i] = by_shape, by_rate
        total += value
    for part in range(3):  # centers, weights, intercepts
        count, width, first, spread = n, wide, 0, scale
        if part > 0:
            count, width, first, spread = n + 1, setup.outputs * d, coef, coef_scale
        if part == 2:
            width, first = setup.outputs, coef_scale + n + 1
            spread = first + (n + 1) * setup.outputs
        scales = prior[spread : spread + count].copy()
        if part == 1 and setup.learned_scales:  # at the best ones their own partials are 0
            last = first + count * width
            prior_scales(
                full[first:last].reshape(count, width), full[spread : spread + count],
                prior[first:last].reshape(count, width), prior[spread : spread + count], True,
                scales,
            )  # fmt: skip
        for i in range(count):
            low = first + i * width
            if part == 0 and not setup.learned:
                partials[spread + i] = 0.0
                for j in range(low, low + width):
                    partials[j] = 0.0
                continue
            value, partials[spread + i] = gaussian_divergence(
                full[low : low + width], full[spread + i], prior[low : low + width],
                scales[i], partials[low : low + width],
            )  # fmt: skip
            total += value
    return total


@inlined
def solve_all(setup: Setup, data: Data, tables: Tables, full: Array) -> Located:
    """The best models of the squared loss, into full; and where the rows lie."""
    n, d, m = setup.n, setup.d, len(data.target)
    located = new_located(n, m)
    models = models_of(fields_of(full, n, setup.n_coordinates, d, setup.outputs))
    total = np.zeros(n_moments(n, d))
    for begin in range(0, m, setup.block):
        part, end = np.zeros(len(total)), min(begin + setup.block, m)
        add_moments(
            tables, setup.learned, setup.alike, data, models.center, begin, end, setup.heavy,
            located, part,
        )  # fmt: skip
        for i in range(len(total)):
            total[i] += part[i]
    prior = models_of(fields_of(setup.prior, n, setup.n_coordinates, d, setup.outputs))
    solve_models(
        total, n, d, 2.0 * setup.inverse_temperature, prior, setup.learned_scales, setup.most,
        models,
    )  # fmt: skip
    return located


@inlined
def sum_all(
    setup: Setup, data: Data, tables: Tables, full: Array, located: Located, partials: bool
) -> Array:
    """Sums over all rows, in the order of `n_sums`."""
    models = models_of(fields_of(full, setup.n, setup.n_coordinates, setup.d, setup.outputs))
    total = np.zeros(n_sums(setup.n, setup.n_coordinates, setup.d, setup.outputs))
    for begin in range(0, len(data.target), setup.block):
        part, end = np.zeros(len(total)), min(begin + setup.block, len(data.target))
        add_sums(
            tables, setup.learned, setup.alike, setup.loss, setup.tolerance, setup.combination,
            data, models, begin, end, located, partials, part,
        )  # fmt: skip
        for i in range(len(total)):
            total[i] += part[i]
    return total


@compiled
def finish(setup: Setup, full: Array, sums: Array, partials: Array) -> tuple[float, float]:
    """From sums over rows to the risk and the divergence, and the objective's partials in all
    fields.
    """
    kl = kl_and_partials(setup, full, partials)
    first = setup.n * (setup.n_coordinates + 3) + (setup.n + 1) * setup.outputs * setup.d
    last = first + (setup.n + 1) * (1 + setup.outputs)
    for i in range(setup.n + 1):  # the sums are of partials in the variances of the scores
        sums[1 + first + i] *= 2.0 * full[first + i]
        sums[1 + last + i] *= 2.0 * full[last + i]
    temperature = 1.0 / (setup.inverse_temperature * setup.total_weight)
    for i in range(len(partials)):
        partials[i] = sums[1 + i] / setup.total_weight + partials[i] * temperature
    return sums[0] / setup.total_weight, kl
