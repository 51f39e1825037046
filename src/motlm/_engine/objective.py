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
    pooled_scales,
    prior_scales,
    solve_models,
    solve_pooled,
)
from .special import digamma, trigamma
from .tables import Constants, Fineness, Tables, edges_of, theta, upsilon

__all__ = [
    "LINEAR",
    "LOG",
    "MEAN_RADIUS",
    "SHAPE",
    "WIDTH",
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

# kinds of free numbers; SHAPE where the mean radius is free, too; WIDTH is the weight of a column
# in a locality's distance, the geometric mean of which is 1
LINEAR, LOG, MEAN_RADIUS, SHAPE, WIDTH = 0, 1, 2, 3, 4


class Setup(NamedTuple):
    """What an evaluation needs beside the rows and the vector."""

    learned: bool  # whether centers are searched
    measured: bool  # whether distances are computed from coordinates, or given
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
    pooled: bool  # whether local models are corrections of the exterior's
    corrected: Array  # (n, d): 1 where a local model has a weight of its own, and 0
    price: float  # of discrete choices, in nats
    most: float  # largest scale of a solved model
    block: int  # rows whose sums are taken before they are added to the others
    fine: Fineness
    prior: Array  # all fields


class Vector(NamedTuple):
    """Which numbers of a posterior are free."""

    template: Array  # all fields
    at: Integers  # of each free number, its place among all
    kind: Integers  # LINEAR, LOG, MEAN_RADIUS, SHAPE or WIDTH
    widths: bool  # whether some are widths
    n_coordinates: int
    # whether local models enter as differences from the exterior, and then where the weights of the
    # first model begin, how many each has, and the same of the intercepts
    shared: bool
    coef: int
    n_coef: int
    intercept: int
    n_intercept: int


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
    column_weight: Array


@compiled
def fields_of(full: Array, n: int, n_coordinates: int, d: int, outputs: int) -> Fields:
    a = n * n_coordinates
    b = a + 3 * n
    c = b + (n + 1) * outputs * d
    e = c + (n + 1) * (1 + outputs)
    f = e + n + 1
    return Fields(
        full[:a].reshape(n, n_coordinates),
        full[a : a + n],
        full[a + n : a + 2 * n],
        full[a + 2 * n : b],
        full[b:c].reshape((n + 1) * outputs, d),
        full[c : c + n + 1],
        full[c + n + 1 : e],
        full[e:f],
        full[f:].reshape(n, n_coordinates),
    )


@inlined
def models_of(fields: Fields) -> Models:
    return Models(
        fields.center, fields.coef, fields.coef_scale, fields.intercept, fields.intercept_scale,
        fields.column_weight,
    )  # fmt: skip


@compiled
def unpack(vector: Vector, n: int, values: Array) -> Array:
    """All fields, from the free numbers."""
    full = vector.template.copy()
    if vector.shared:
        for i in range(vector.coef, vector.coef + n * vector.n_coef):
            full[i] = 0.0
        for i in range(vector.intercept, vector.intercept + n * vector.n_intercept):
            full[i] = 0.0
    for i in range(len(values)):
        kind = vector.kind[i]
        full[vector.at[i]] = values[i] if kind == LINEAR else math.exp(values[i])
    if vector.shared:
        _add_exterior(full, n, vector.coef, vector.n_coef)
        _add_exterior(full, n, vector.intercept, vector.n_intercept)
    if vector.widths:
        first = len(full) - n * vector.n_coordinates
        for i in range(n):
            _balance(full[first + i * vector.n_coordinates :][: vector.n_coordinates])
    for i in range(len(values)):
        if vector.kind[i] == MEAN_RADIUS:  # the rate stands n places after the shape
            at = vector.at[i]
            full[at] = full[at - n] / full[at]
    return full


@compiled
def _add_exterior(full: Array, n: int, first: int, width: int) -> None:
    """From differences of local models from the exterior, which is the last, to the models."""
    for i in range(n):
        for j in range(width):
            full[first + i * width + j] += full[first + n * width + j]


@compiled
def _balance(weight: Array) -> None:
    """Divide the weights that are not 0 by their geometric mean."""
    total, count = 0.0, 0
    for j in range(len(weight)):
        if weight[j] > 0.0:
            total += math.log(weight[j])
            count += 1
    if count:
        middle = math.exp(total / count)
        for j in range(len(weight)):
            weight[j] /= middle


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
    if vector.shared:  # what moves the exterior moves all models
        for i in range(len(vector.at)):
            at = vector.at[i]
            for first, width in (
                (vector.coef, vector.n_coef), (vector.intercept, vector.n_intercept),
            ):  # fmt: skip
                j = at - first - n * width
                if 0 <= j < width:
                    for k in range(n):
                        gradient[i] += partials[first + k * width + j]
    if vector.widths:  # of weights whose geometric mean is 1
        first = len(full) - n * vector.n_coordinates
        total, count = np.zeros(n), np.zeros(n)
        for again in range(2):
            for i in range(len(vector.at)):
                if vector.kind[i] == WIDTH:
                    k = (vector.at[i] - first) // vector.n_coordinates
                    if again:
                        gradient[i] -= total[k] / count[k]
                    else:
                        total[k] += gradient[i]
                        count[k] += 1.0
    return gradient


def tables_of(setup: Setup, about: Constants | None, full: Array) -> Tables:
    """The memberships as functions of the distance, in compiled functions: from learned centers, or
    from given ones where about is None. Which of them is known when they are compiled.
    """
    raise NotImplementedError


@overload(tables_of, strict=False, jit_options=INNER)  # type: ignore[untyped-decorator]
def _tables_of(setup: Any, about: Any, full: Any) -> Any:
    given = isinstance(about, NoneType)

    def make(setup, about, full):  # type: ignore[no-untyped-def]
        fields = fields_of(full, setup.n, setup.n_coordinates, setup.d, setup.outputs)
        low, high = np.empty(setup.n), np.empty(setup.n)
        for i in range(setup.n):
            first, last = edges_of(fields.radius_shape[i], setup.fine.quantiles)
            low[i], high[i] = first / fields.radius_rate[i], last / fields.radius_rate[i]
        if given:
            return theta(setup.fine, fields.radius_shape, fields.radius_rate, low, high)
        return upsilon(
            setup.fine, about, fields.center_scale, fields.radius_shape, fields.radius_rate, low,
            high,
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
def _center_divergence(
    setup: Setup, fields: Fields, prior: Fields, partials: Fields, i: int
) -> float:
    """Of N(c, eps^2 / a), a the weights of the columns, from N(c0, s0^2) in each column that the
    locality looks at; and, of weights that are learned, that of a point from a standard normal
    prior on ln a.
    """
    value, eps, s2 = 0.0, fields.center_scale[i], prior.center_scale[i] ** 2
    partials.center_scale[i] = 0.0
    for j in range(setup.n_coordinates):
        a = fields.column_weight[i, j]
        partials.center[i, j], partials.column_weight[i, j] = 0.0, 0.0
        if a == 0.0:
            continue
        if setup.measured:  # not widths that are given
            log_a = math.log(a)
            value += 0.5 * log_a * log_a
            partials.column_weight[i, j] = log_a / a
        if setup.learned:
            gap, ratio = fields.center[i, j] - prior.center[i, j], eps * eps / (a * s2)
            value += 0.5 * (ratio + gap * gap / s2 - 1.0 - math.log(ratio))
            partials.center[i, j] = gap / s2
            partials.center_scale[i] += (ratio - 1.0) / eps
            partials.column_weight[i, j] += 0.5 * (1.0 - ratio) / a
    return value


@compiled
def _correction_divergence(
    gap: Array, corrected: Array, scale: float, scale0: float, by_local: Array, by_exterior: Array
) -> tuple[float, float]:
    """Of a local model's differences from the exterior, (score, feature), where it has its own; and
    the partial in its scale.
    """
    value, by_scale, ratio = 0.0, 0.0, scale / scale0
    for k in range(gap.shape[0]):
        for j in range(gap.shape[1]):
            by_local[k, j] = 0.0
            if corrected[j] != 0.0:
                slope = gap[k, j] / (scale0 * scale0)
                value += 0.5 * (ratio * ratio - 1.0 + slope * gap[k, j]) - math.log(ratio)
                by_scale += (ratio * ratio - 1.0) / scale
                by_local[k, j] = slope
                by_exterior[k, j] -= slope
    return value, by_scale


@compiled
def _pooled_divergence(setup: Setup, fields: Fields, prior: Fields, partials: Fields) -> float:
    """Of all models: the exterior's from its prior, corrections from one around 0 whose scale is
    shared by all of them, weights and intercepts.
    """
    n, outputs = setup.n, setup.outputs
    last = n * outputs
    scales, own = np.empty(n + 1), np.ones(1)
    pooled_scales(
        models_of(fields), models_of(prior), setup.corrected, setup.learned_scales, scales
    )
    total = 0.0
    for k in range(n + 1):
        partials.coef_scale[k], partials.intercept_scale[k] = 0.0, 0.0
    for k in range(outputs):
        value, by_scale = gaussian_divergence(
            fields.coef[last + k], fields.coef_scale[n], prior.coef[last + k], scales[n],
            partials.coef[last + k],
        )  # fmt: skip
        partials.coef_scale[n] += by_scale
        total += value
    value, partials.intercept_scale[n] = gaussian_divergence(
        fields.intercept[last:], fields.intercept_scale[n], prior.intercept[last:],
        prior.intercept_scale[n], partials.intercept[last:],
    )  # fmt: skip
    total += value
    for i in range(n):
        at = i * outputs
        gap = fields.coef[at : at + outputs] - fields.coef[last:]
        value, partials.coef_scale[i] = _correction_divergence(
            gap, setup.corrected[i], fields.coef_scale[i], scales[i],
            partials.coef[at : at + outputs], partials.coef[last:],
        )  # fmt: skip
        total += value
        shift = (fields.intercept[at : at + outputs] - fields.intercept[last:]).reshape(outputs, 1)
        value, partials.intercept_scale[i] = _correction_divergence(
            shift, own, fields.intercept_scale[i], scales[i],
            partials.intercept[at : at + outputs].reshape(outputs, 1),
            partials.intercept[last:].reshape(outputs, 1),
        )  # fmt: skip
        total += value
    return total


@compiled
def _models_divergence(setup: Setup, fields: Fields, prior: Fields, partials: Fields) -> float:
    """Of independent models."""
    n, outputs = setup.n, setup.outputs
    many, width = n + 1, outputs * setup.d
    scales, total = prior.coef_scale.copy(), 0.0
    coef, coef0 = fields.coef.reshape(many, width), prior.coef.reshape(many, width)
    if setup.learned_scales:  # at the best ones their own partials are 0
        prior_scales(coef, fields.coef_scale, coef0, prior.coef_scale, True, scales)
    by_coef = partials.coef.reshape(many, width)
    intercept, intercept0, by_intercept = (
        fields.intercept.reshape(many, outputs), prior.intercept.reshape(many, outputs),
        partials.intercept.reshape(many, outputs),
    )  # fmt: skip
    for i in range(many):
        value, partials.coef_scale[i] = gaussian_divergence(
            coef[i], fields.coef_scale[i], coef0[i], scales[i], by_coef[i]
        )
        total += value
        value, partials.intercept_scale[i] = gaussian_divergence(
            intercept[i], fields.intercept_scale[i], intercept0[i], prior.intercept_scale[i],
            by_intercept[i],
        )  # fmt: skip
        total += value
    return total


@compiled
def kl_and_partials(setup: Setup, full: Array, partials: Array) -> float:
    """KL(Q || P), eqs. 14, 20, 23 and 45 of the paper, and the price of discrete choices."""
    n, wide, d, outputs = setup.n, setup.n_coordinates, setup.d, setup.outputs
    fields = fields_of(full, n, wide, d, outputs)
    prior = fields_of(setup.prior, n, wide, d, outputs)
    slopes = fields_of(partials, n, wide, d, outputs)
    total = setup.price
    for i in range(n):
        value, slopes.radius_shape[i], slopes.radius_rate[i] = gamma_divergence(
            fields.radius_shape[i], fields.radius_rate[i], prior.radius_shape[i],
            prior.radius_rate[i],
        )  # fmt: skip
        total += value + _center_divergence(setup, fields, prior, slopes, i)
    if setup.pooled:
        return total + _pooled_divergence(setup, fields, prior, slopes)
    return total + _models_divergence(setup, fields, prior, slopes)


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
            tables, setup.measured, setup.alike, data, models, begin, end, setup.heavy,
            setup.pooled, setup.corrected, located, part,
        )  # fmt: skip
        for i in range(len(total)):
            total[i] += part[i]
    prior = models_of(fields_of(setup.prior, n, setup.n_coordinates, d, setup.outputs))
    twice = 2.0 * setup.inverse_temperature
    if setup.pooled:
        solve_pooled(
            total, n, d, twice, prior, setup.learned_scales, setup.most, setup.corrected, models
        )
    else:
        solve_models(total, n, d, twice, prior, setup.learned_scales, setup.most, models)
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
            tables, setup.measured, setup.alike, setup.loss, setup.tolerance, setup.combination,
            setup.pooled, setup.corrected, data, models, begin, end, located, partials, part,
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
