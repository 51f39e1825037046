"""Sums over rows: of the loss, and of its partials with respect to every field of the posterior.

The chain rule, written once. Rows are taken some hundred at a time, so that what is computed of
them stays in a fast cache; a row that surely is outside a locality costs no more than its distance
from it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._typing import Array, Integers
from .compile import compiled, compiled_fast, entry, inlined
from .special import cholesky_solve, cholesky_solve_each, exponential, logarithm, normal
from .tables import N_COLUMNS, Tables, look_up

__all__ = [
    "ANY",
    "ANY_SIGN",
    "GAMMA",
    "LOG",
    "MULTINOMIAL",
    "OFF_BY",
    "POISSON",
    "SQUARED",
    "SUM",
    "TWEEDIE",
    "ZERO_ONE",
    "Data",
    "Located",
    "Models",
    "add_gram",
    "add_moment",
    "add_moments",
    "add_sums",
    "class_losses",
    "combine",
    "dot",
    "losses_of",
    "n_class_work",
    "n_moments",
    "n_sums",
    "new_located",
    "pooled_scales",
    "prior_scales",
    "solve_given",
    "solve_models",
    "solve_pooled",
    "take",
]

ZERO_ONE, SQUARED, OFF_BY, LOG, POISSON, GAMMA, TWEEDIE = range(7)  # losses
MULTINOMIAL, ANY_SIGN = 7, 8  # of several classes
SUM, ANY = 0, 1  # combinations of them
_AT_ONCE = 128  # rows
_STEEP = 600.0  # logarithms of rates, and of odds, beyond which they do not grow or fall
_LEAST_PRIOR, _MOST_PRIOR = 1e-3, 10.0  # prior scales that are learned
_ROUNDS, _SETTLED = 40, 1e-5  # of learning them beside closed forms; relative change that ends it
# how fast the bound on the log loss of several classes leaves the softmax as variances grow; with
# the best bound of each row rows far away count for nothing, and answers there are too sure
_SPREAD = 0.1
_TINY = 1e-300
_NEAR = 1e-3  # scores so near to 0 that tanh is taken from its series


class Data(NamedTuple):
    """Rows, as `motlm.rows.Rows` has them; features and coordinates by column: (column, row)."""

    features: Array
    features_norm2: Array
    coordinates: Array
    coordinates_norm2: Array
    distance: Array
    target: Array
    weight: Array


class Models(NamedTuple):
    """The fields of a posterior that rows look at, but for the tables. Of several classes each
    model has one row of weights and one intercept for each of them, one after another.
    """

    center: Array
    coef: Array
    coef_scale: Array
    intercept: Array
    intercept_scale: Array
    column_weight: Array


class Located(NamedTuple):
    """Where rows lie: panel and position in each locality's table, and membership."""

    panel: Integers  # (n_localities, n_rows)
    position: Array
    omega: Array


@entry
def new_located(n: int, rows: int) -> Located:
    return Located(np.empty((n, rows), np.int32), np.empty((n, rows)), np.empty((n, rows)))


@compiled_fast
def losses_of(
    loss: int, tolerance: float, y: Array, mean: Array, variance: Array, value: Array,
    by_mean: Array, by_variance: Array,
) -> None:  # fmt: skip
    """The expected losses of scores N(mean, variance), and their partials in both."""
    if loss == SQUARED:
        for j in range(len(y)):
            residual = mean[j] - y[j]
            value[j] = residual * residual + variance[j]
            by_mean[j] = 2.0 * residual
            by_variance[j] = 1.0
    elif loss == ZERO_ONE:
        for j in range(len(y)):
            per_scale = -1.0 / math.sqrt(variance[j])
            t = mean[j] * y[j] * per_scale
            share, density = normal(t)
            value[j] = share
            by_mean[j] = y[j] * per_scale * density
            by_variance[j] = -0.5 * density * t * per_scale * per_scale
    elif loss == LOG:
        for j in range(len(y)):
            square = mean[j] * mean[j] + variance[j]
            xi = math.sqrt(square)
            small = exponential(max(-xi, -_STEEP))
            steep = (1.0 - small) / ((1.0 + small) * max(xi, _NEAR))  # tanh(xi / 2) / xi
            if xi < _NEAR:
                steep = 0.5 - square / 24.0
            size = abs(mean[j])  # xi - |mean| without cancellation
            beyond = variance[j] / max(xi + size, _TINY)
            value[j] = logarithm(1.0 + small) + 0.5 * (beyond + size - y[j] * mean[j])
            by_mean[j] = 0.5 * (mean[j] * steep - y[j])
            by_variance[j] = 0.25 * steep
    elif loss == POISSON:
        for j in range(len(y)):
            rate = exponential(max(min(mean[j] + 0.5 * variance[j], _STEEP), -_STEEP))
            value[j] = rate - y[j] * mean[j]
            by_mean[j] = rate - y[j]
            by_variance[j] = 0.5 * rate
    elif loss == GAMMA:
        for j in range(len(y)):
            ratio = y[j] * exponential(max(min(0.5 * variance[j] - mean[j], _STEEP), -_STEEP))
            value[j] = ratio + mean[j]
            by_mean[j] = 1.0 - ratio
            by_variance[j] = 0.5 * ratio
    elif loss == TWEEDIE:
        a, b = 2.0 - tolerance, 1.0 - tolerance
        for j in range(len(y)):
            up = exponential(max(min(a * mean[j] + 0.5 * a * a * variance[j], _STEEP), -_STEEP))
            low = max(min(b * mean[j] + 0.5 * b * b * variance[j], _STEEP), -_STEEP)
            down = y[j] * exponential(low)
            value[j] = up / a - down / b
            by_mean[j] = up - down
            by_variance[j] = 0.5 * (a * up - b * down)
    else:
        for j in range(len(y)):
            per_scale = 1.0 / math.sqrt(variance[j])
            residual = mean[j] - y[j]
            above, below = (residual - tolerance) * per_scale, (-tolerance - residual) * per_scale
            share_above, density_above = normal(above)
            share_below, density_below = normal(below)
            value[j] = share_above + share_below
            by_mean[j] = (density_above - density_below) * per_scale
            bend = density_above * above + density_below * below
            by_variance[j] = -0.5 * bend * per_scale * per_scale


@compiled
def n_class_work(outputs: int) -> int:
    """Rows of the array that `class_losses` works in."""
    return 3 * outputs + 5 if outputs > 1 else 0


@compiled
def class_losses(
    loss: int, y: Array, score: Array, variance: Array, value: Array, by_mean: Array,
    by_variance: Array, work: Array,
) -> None:  # fmt: skip
    """The expected losses of scores N(score, variance) of several classes, (class, row), y the
    index of the class; and their partials.
    """
    if loss == MULTINOMIAL:
        _multinomial(y, score, variance, value, by_mean, by_variance, work)
    else:
        _any_sign(y, score, variance, value, by_mean, by_variance, work)


@compiled_fast
def _multinomial(
    y: Array, score: Array, variance: Array, value: Array, by_mean: Array, by_variance: Array,
    work: Array,
) -> None:  # fmt: skip
    """-s_y + ln sum exp(s_k), by Knowles and Minka's bound v/2 sum a^2 + ln sum exp(mean +
    (1/2 - a) v), for any a: near the softmax p of the means where v is small, nearly uniform where
    it is large.
    """
    count, m = score.shape
    p, square, total = work[:count], work[count], work[count + 1]
    share, cross, slope = work[count + 2], work[count + 3], work[count + 4]
    for j in range(m):
        value[j], total[j], square[j] = score[0, j], 0.0, 0.0
        share[j] = 1.0 / (1.0 + _SPREAD * variance[j])
        cross[j], slope[j], by_variance[j] = 0.0, 0.0, 0.0
    for k in range(1, count):
        for j in range(m):
            value[j] = max(value[j], score[k, j])
    for k in range(count):
        for j in range(m):
            p[k, j] = exponential(max(score[k, j] - value[j], -_STEEP))
            total[j] += p[k, j]
    for k in range(count):
        for j in range(m):
            p[k, j] /= total[j]
            a = share[j] * p[k, j] + (1.0 - share[j]) / count
            square[j] += a * a
            by_mean[k, j] = score[k, j] + (0.5 - a) * variance[j]
    for j in range(m):
        value[j], total[j] = by_mean[0, j], 0.0
    for k in range(1, count):
        for j in range(m):
            value[j] = max(value[j], by_mean[k, j])
    for k in range(count):
        for j in range(m):
            by_mean[k, j] = exponential(max(by_mean[k, j] - value[j], -_STEEP))
            total[j] += by_mean[k, j]
    for k in range(count):
        for j in range(m):
            q = by_mean[k, j] / total[j]
            by_mean[k, j] = q
            a = share[j] * p[k, j] + (1.0 - share[j]) / count
            by_variance[j] += q * (0.5 - a)
            cross[j] += (a - q) * p[k, j]
            slope[j] += (a - q) * (p[k, j] - 1.0 / count)
    for k in range(count):
        for j in range(m):
            a = share[j] * p[k, j] + (1.0 - share[j]) / count
            by_mean[k, j] += variance[j] * share[j] * p[k, j] * (a - by_mean[k, j] - cross[j])
            if y[j] == k:
                by_mean[k, j] -= 1.0
                value[j] -= score[k, j]
    for j in range(m):
        value[j] += 0.5 * variance[j] * square[j] + logarithm(total[j])
        bend = _SPREAD * share[j] * share[j] * variance[j]
        by_variance[j] += 0.5 * square[j] - bend * slope[j]


@compiled
def _any_sign(
    y: Array, score: Array, variance: Array, value: Array, by_mean: Array, by_variance: Array,
    work: Array,
) -> None:  # fmt: skip
    """The probability that the sign of some class's score is wrong: 1 - prod (1 - P(wrong))."""
    count, m = score.shape
    each, slope, sign, others = work[:count], work[count : 2 * count], work[3 * count], value
    before = work[2 * count : 3 * count]
    for j in range(m):
        others[j], by_variance[j] = 1.0, 0.0
    for k in range(count):
        for j in range(m):
            sign[j] = 1.0 if y[j] == k else -1.0
        losses_of(ZERO_ONE, 0.0, sign, score[k], variance, each[k], by_mean[k], slope[k])
        for j in range(m):
            before[k, j] = others[j]
            others[j] *= 1.0 - each[k, j]
    after = sign
    for j in range(m):
        value[j], after[j] = 1.0 - value[j], 1.0
    for k in range(count - 1, -1, -1):
        for j in range(m):
            rest = before[k, j] * after[j]
            after[j] *= 1.0 - each[k, j]
            by_mean[k, j] *= rest
            by_variance[j] += slope[k, j] * rest


@compiled_fast
def combine(
    combination: int, omega: Array, losses: Array, value: Array, by_omega: Array,
    by_losses: Array, product: Array,
) -> None:  # fmt: skip
    """The loss of each row from its memberships and its models' losses, both (.., row), and its
    partials in both.

    By prefix and suffix products, never by a division.
    """
    n, m = omega.shape
    for j in range(m):
        product[j] = 1.0
    for i in range(n):
        for j in range(m):
            by_omega[i, j] = product[j]
            product[j] *= 1.0 - omega[i, j]
    for j in range(m):
        by_losses[n, j] = product[j]
        value[j] = product[j] * losses[n, j]
        product[j] = -losses[n, j]
    for i in range(n - 1, -1, -1):
        for j in range(m):
            by_omega[i, j] *= product[j]
            product[j] *= 1.0 - omega[i, j]
    if combination == SUM:
        for i in range(n):
            for j in range(m):
                by_losses[i, j] = omega[i, j]
                by_omega[i, j] += losses[i, j]
                value[j] += omega[i, j] * losses[i, j]
        return
    for j in range(m):
        product[j] = 1.0
    for i in range(n):
        for j in range(m):
            by_losses[i, j] = product[j]
            product[j] *= 1.0 - omega[i, j] * losses[i, j]
    for j in range(m):
        value[j] += 1.0 - product[j]
        product[j] = 1.0
    for i in range(n - 1, -1, -1):
        for j in range(m):
            others = by_losses[i, j] * product[j]
            product[j] *= 1.0 - omega[i, j] * losses[i, j]
            by_losses[i, j] = omega[i, j] * others
            by_omega[i, j] += losses[i, j] * others


@compiled_fast
def _add_slopes(
    tables: Tables, panel: Integers, position: Array, factor: Array, pull: Array, out: Array
) -> None:
    """Sums over rows of factor times the partials in center_scale, radius_shape and radius_rate;
    pull becomes factor times the slope in D^2 / 2.
    """
    coefficients, last = tables.coefficients, tables.coefficients.shape[1] - 1
    for j in range(len(panel)):
        at, x = panel[j], position[j]
        pull[j] = 0.0
        if at >= 0:
            a, b = coefficients[at, last, 1], coefficients[at, last, 2]
            c, d = coefficients[at, last, 3], coefficients[at, last, 4]
            for power in range(last - 1, -1, -1):
                a = a * x + coefficients[at, power, 1]
                b = b * x + coefficients[at, power, 2]
                c = c * x + coefficients[at, power, 3]
                d = d * x + coefficients[at, power, 4]
            pull[j] = factor[j] * a
            out[0] += factor[j] * b
            out[1] += factor[j] * c
            out[2] += factor[j] * d


@compiled
def take(table: Array, begin: int, rows: int, out: Array) -> None:
    """Some rows of a table; zeros after them."""
    for j in range(out.shape[0]):
        for row in range(rows):
            out[j, row] = table[j, begin + row]
        for row in range(rows, out.shape[1]):
            out[j, row] = 0.0


@compiled
def _take_seen(table: Array, weight: Array, begin: int, rows: int, out: Array) -> None:
    """Some rows of the columns that some locality looks at."""
    for j in range(out.shape[0]):
        for i in range(weight.shape[0]):
            if weight[i, j] != 0.0:
                for row in range(rows):
                    out[j, row] = table[j, begin + row]
                for row in range(rows, out.shape[1]):
                    out[j, row] = 0.0
                break


@compiled
def _cut(column: Array, begin: int, rows: int, out: Array) -> None:
    """Some entries of a column; zeros after them."""
    for row in range(rows):
        out[row] = column[begin + row]
    for row in range(rows, len(out)):
        out[row] = 0.0


@compiled_fast
def _project(weights: Array, columns: Array, out: Array) -> None:
    """out = weights @ columns."""
    for i in range(weights.shape[0]):
        for row in range(columns.shape[1]):
            out[i, row] = 0.0
        for j in range(weights.shape[1]):
            weight = weights[i, j]
            for row in range(columns.shape[1]):
                out[i, row] += weight * columns[j, row]


@compiled_fast
def dot(one: Array, other: Array) -> float:
    total = 0.0
    for row in range(len(one)):
        total += one[row] * other[row]
    return total


@compiled_fast
def _add_products(by_score: Array, columns: Array, out: Array) -> None:
    """out += by_score @ columns.T."""
    for i in range(by_score.shape[0]):
        for j in range(columns.shape[0]):
            total = 0.0
            for row in range(columns.shape[1]):
                total += by_score[i, row] * columns[j, row]
            out[i, j] += total


@compiled_fast
def _measure(center: Array, weight: Array, columns: Array, distance: Array) -> None:
    """Distances of rows from centers, (n_localities, row): sqrt of sum weight (x - c)^2."""
    for i in range(center.shape[0]):
        for row in range(columns.shape[1]):
            distance[i, row] = 0.0
        for j in range(center.shape[1]):
            at, a = center[i, j], weight[i, j]
            if a != 0.0:
                for row in range(columns.shape[1]):
                    gap = columns[j, row] - at
                    distance[i, row] += a * gap * gap
        for row in range(columns.shape[1]):
            distance[i, row] = math.sqrt(distance[i, row])


@compiled_fast
def _add_pull(
    pull: Array, center: Array, weight: Array, columns: Array, by_center: Array, by_weight: Array
) -> None:
    """From partials in D^2 / 2 of some rows to those in a locality's center and in the weights of
    its columns: d/dc is a (c - x), d/da is (x - c)^2 / 2.
    """
    for j in range(len(center)):
        at, a = center[j], weight[j]
        if a != 0.0:
            total, squares = 0.0, 0.0
            for row in range(len(pull)):
                gap = columns[j, row] - at
                total += pull[row] * gap
                squares += pull[row] * gap * gap
            by_center[j] -= a * total
            by_weight[j] += 0.5 * squares


@compiled_fast
def _squares(corrected: Array, columns: Array, out: Array) -> None:
    """Sum of squares of a row's features that a local model corrects."""
    for row in range(len(out)):
        out[row] = 0.0
    for j in range(len(corrected)):
        if corrected[j] != 0.0:
            for row in range(len(out)):
                out[row] += columns[j, row] * columns[j, row]


@compiled
def _locate(
    tables: Tables, measured: bool, data: Data, models: Models, columns: Array, begin: int,
    rows: int, distance: Array, here: Located,
) -> None:  # fmt: skip
    """Where the rows from `begin` on lie."""
    if measured:
        _measure(models.center, models.column_weight, columns, distance)
    else:
        for row in range(distance.shape[1]):
            for i in range(distance.shape[0]):
                distance[i, row] = data.distance[begin + row, i] if row < rows else 0.0
    for i in range(distance.shape[0]):
        look_up(tables, i, distance[i], here.panel[i], here.position[i], here.omega[i])


@compiled
def _copy_located(source: Located, first: int, rows: int, out: Located, at: int) -> None:
    for i in range(source.panel.shape[0]):
        for row in range(rows):
            out.panel[i, at + row] = source.panel[i, first + row]
            out.position[i, at + row] = source.position[i, first + row]
            out.omega[i, at + row] = source.omega[i, first + row]


@compiled
def n_sums(n: int, n_coordinates: int, d: int, outputs: int) -> int:
    """The loss, and the partials: center, center_scale, shape, rate, coef, coef_scale, intercept,
    intercept_scale, column_weight.
    """
    return 1 + n * (2 * n_coordinates + 3) + (n + 1) * ((d + 1) * outputs + 2)


@compiled
def add_sums(
    tables: Tables, measured: bool, alike: bool, loss: int, tolerance: float, combination: int,
    pooled: bool, corrected: Array, data: Data, models: Models, first: int, last: int,
    known: Located, partials: bool, out: Array,
) -> None:  # fmt: skip
    """Add the weighted sums over the rows from first to last to out: the loss, and, if they are
    asked for, its partials in the order of `n_sums`.

    Where rows lie may be known already.
    """
    n, d = (len(tables.lead) - 1), models.coef.shape[1]
    n_coordinates, outputs = models.center.shape[1], len(models.intercept) // (n + 1)
    many = (n + 1) * outputs
    at = 1
    by_center = out[at : at + n * n_coordinates].reshape(n, n_coordinates)
    at += n * n_coordinates
    by_locality = np.zeros((n, 3))
    at += 3 * n
    by_coef = out[at : at + many * d].reshape(many, d)
    at += many * d
    by_coef_scale = out[at : at + n + 1]
    at += n + 1
    by_intercept = out[at : at + many]
    by_intercept_scale = out[at + many : at + many + n + 1]
    by_weight = out[at + many + n + 1 :].reshape(n, n_coordinates)
    is_known = known.omega.shape[1] > 0
    width = min(_AT_ONCE, last - first)  # the last rows may be fewer: the others have no weight
    here, distance = new_located(n, width), np.empty((n, width))
    columns, score = np.empty((d, width)), np.empty((many, width))
    places = columns
    if measured and not alike:
        places = np.empty((n_coordinates, width))
    y, weight, norm2 = np.empty(width), np.empty(width), np.empty(width)
    norms = np.empty((n if pooled else 0, width))  # of the features that local models correct
    variance, value, ones = np.empty(width), np.empty(width), np.ones(width)
    losses, by_mean = np.empty((n + 1, width)), np.empty((many, width))
    by_variance, by_omega = np.empty((n + 1, width)), np.empty((n, width))
    gate, pull, work = score[: n + 1], losses[:n], np.empty((n_class_work(outputs), width))
    for begin in range(first, last, width):
        rows = min(width, last - begin)
        take(data.features, begin, rows, columns)
        if measured and not alike:
            _take_seen(data.coordinates, models.column_weight, begin, rows, places)
        if is_known:
            _copy_located(known, begin, rows, here, 0)
        else:
            _locate(tables, measured, data, models, places, begin, rows, distance, here)
        _project(models.coef, columns, score)
        _cut(data.target, begin, rows, y)
        _cut(data.weight, begin, rows, weight)
        _cut(data.features_norm2, begin, rows, norm2)
        for i in range(n + 1):
            coef2 = models.coef_scale[i] * models.coef_scale[i]
            intercept2 = models.intercept_scale[i] * models.intercept_scale[i]
            if pooled and i < n:  # the exterior's variance, and the correction's
                exterior2 = models.coef_scale[n] * models.coef_scale[n]
                intercept2 += models.intercept_scale[n] * models.intercept_scale[n]
                _squares(corrected[i], columns, norms[i])
                for row in range(width):
                    variance[row] = coef2 * norms[i, row] + exterior2 * norm2[row] + intercept2
            else:
                for row in range(width):
                    variance[row] = coef2 * norm2[row] + intercept2
            first_of, end_of = i * outputs, (i + 1) * outputs
            for k in range(first_of, end_of):
                for row in range(width):
                    score[k, row] += models.intercept[k]
            if outputs == 1:
                losses_of(
                    loss, tolerance, y, score[i], variance, losses[i], by_mean[i], by_variance[i]
                )
            else:
                class_losses(
                    loss, y, score[first_of:end_of], variance, losses[i], by_mean[first_of:end_of],
                    by_variance[i], work,
                )  # fmt: skip
        combine(combination, here.omega, losses, value, by_omega, gate, variance)
        out[0] += dot(weight, value)
        if not partials:
            continue
        for i in range(n + 1):
            for row in range(width):
                gate[i, row] *= weight[row]
                by_variance[i, row] *= gate[i, row]
            for k in range(i * outputs, (i + 1) * outputs):
                for row in range(width):
                    by_mean[k, row] *= gate[i, row]
                by_intercept[k] += dot(by_mean[k], ones)
            by_intercept_scale[i] += dot(by_variance[i], ones)
            if pooled and i < n:
                by_coef_scale[i] += dot(by_variance[i], norms[i])
                by_coef_scale[n] += dot(by_variance[i], norm2)
                by_intercept_scale[n] += dot(by_variance[i], ones)
            else:
                by_coef_scale[i] += dot(by_variance[i], norm2)
        _add_products(by_mean, columns, by_coef)
        for i in range(n):
            for row in range(width):
                by_omega[i, row] *= weight[row]
            _add_slopes(
                tables, here.panel[i], here.position[i], by_omega[i], pull[i], by_locality[i]
            )
        if measured:
            for i in range(n):
                _add_pull(
                    pull[i], models.center[i], models.column_weight[i], places, by_center[i],
                    by_weight[i],
                )  # fmt: skip
    for i in range(n):
        for j in range(3):
            out[1 + n * n_coordinates + j * n + i] += by_locality[i, j]


@compiled
def n_moments(n: int, d: int) -> int:
    """Of `add_moments`: for each model a Gram matrix with the intercept, its right side, and the
    sum of squared norms.
    """
    return (n + 1) * ((d + 1) * (d + 2) + 1)


@compiled_fast
def add_gram(
    columns: Array, gate: Array, target: Array, rows: int, weighted: Array, gram: Array,
    moment: Array,
) -> None:  # fmt: skip
    """Add the lower triangle of columns @ diag(gate) @ columns.T over the first rows to gram, and
    the products with the target to moment.
    """
    for j in range(columns.shape[0]):
        for row in range(rows):
            weighted[row] = gate[row] * columns[j, row]
        # apart from the sum: a loop that both writes and sums is compiled twice, and which of the
        # two runs, with another order of the sum, depends on where the arrays lie in memory
        total = 0.0
        for row in range(rows):
            total += weighted[row] * target[row]
        moment[j] += total
        for k in range(j + 1):
            total = 0.0
            for row in range(rows):
                total += weighted[row] * columns[k, row]
            gram[j, k] += total


@compiled_fast
def _add_row(
    columns: Array, j: int, gate: Array, target: Array, rows: int, weighted: Array, out: Array
) -> float:
    """Add a whole row of columns @ diag(gate) @ columns.T to out; its product with the target."""
    for row in range(rows):
        weighted[row] = gate[row] * columns[j, row]
    for k in range(columns.shape[0]):
        total = 0.0
        for row in range(rows):
            total += weighted[row] * columns[k, row]
        out[k] += total
    return dot(weighted[:rows], target[:rows])


@compiled_fast
def add_moment(columns: Array, gate: Array, target: Array, rows: int, moment: Array) -> None:
    """Add the products of columns and gated target over the first rows to moment."""
    for j in range(columns.shape[0]):
        total = 0.0
        for row in range(rows):
            total += gate[row] * columns[j, row] * target[row]
        moment[j] += total


@compiled
def _pack(columns: Array, gate: Array, target: Array, packed: Array, narrow: Array) -> int:
    """The rows whose gate is not 0, close together: columns into packed, gate and target into
    narrow. Their number, rounded up to a multiple of four.
    """
    count = 0
    for row in range(len(gate)):
        if gate[row] != 0.0:
            narrow[0, count], narrow[1, count] = gate[row], target[row]
            for j in range(columns.shape[0]):
                packed[j, count] = columns[j, row]
            count += 1
    while count % 4 and count < len(gate):
        narrow[0, count], narrow[1, count] = 0.0, 0.0
        for j in range(columns.shape[0]):
            packed[j, count] = 0.0
        count += 1
    return count


@compiled
def add_moments(
    tables: Tables, measured: bool, alike: bool, data: Data, models: Models, first: int, last: int,
    heavy: bool, pooled: bool, corrected: Array, located: Located, out: Array,
) -> None:  # fmt: skip
    """What the best models of the squared loss are solved from, added to out; and where the rows
    lie, into located. Of corrections the last are sums over all gates, and the others have the rows
    of what is corrected alone.
    """
    n, d = (len(tables.lead) - 1), data.features.shape[0]
    size = (n + 1) * (d + 1)
    gram = out[: size * (d + 1)].reshape(n + 1, d + 1, d + 1)
    moment = out[size * (d + 1) : size * (d + 2)].reshape(n + 1, d + 1)
    squares = out[size * (d + 2) :]
    width = min(_AT_ONCE, last - first)
    here, distance = new_located(n, width), np.empty((n, width))
    columns = np.empty((d + 1, width))  # the last is the intercept's
    features, places = columns[:d], columns[:d]
    if measured and not alike:
        places = np.empty((models.center.shape[1], width))
    packed, narrow = np.empty((d + 1, width)), np.empty((2, width))
    gate, outside, norms = np.empty(width), np.empty(width), np.empty(width)
    every = np.empty(width)
    weighted, target, weight = np.empty(width), np.empty(width), np.empty(width)
    for begin in range(first, last, width):
        rows = min(width, last - begin)
        take(data.features, begin, rows, features)
        if measured and not alike:
            _take_seen(data.coordinates, models.column_weight, begin, rows, places)
        _locate(tables, measured, data, models, places, begin, rows, distance, here)
        _copy_located(here, 0, rows, located, begin)
        _cut(data.features_norm2, begin, rows, norms)
        _cut(data.weight, begin, rows, weight)
        _cut(data.target, begin, rows, target)
        for row in range(width):
            columns[d, row], outside[row], every[row] = 1.0, 1.0, 0.0
        for i in range(n + 1):
            for row in range(width):
                inside = outside[row]
                if i < n:
                    inside = here.omega[i, row]
                    outside[row] *= 1.0 - inside
                if heavy:
                    inside = max(inside, 0.0)
                gate[row] = inside * weight[row]
                every[row] += gate[row]
            if i == n:
                if pooled:
                    for row in range(width):
                        gate[row] = every[row]
                squares[i] += dot(gate, norms)
                add_gram(columns, gate, target, width, weighted, gram[i], moment[i])
                continue
            count = _pack(columns, gate, target, packed, narrow)
            if pooled:
                for j in range(d + 1):
                    if j == d or corrected[i, j] != 0.0:
                        moment[i, j] += _add_row(
                            packed, j, narrow[0], narrow[1], count, weighted, gram[i, j]
                        )
                continue
            squares[i] += dot(gate, norms)
            add_gram(packed, narrow[0], narrow[1], count, weighted, gram[i], moment[i])


@compiled
def prior_scales(
    mean: Array, scale: Array, prior_mean: Array, prior_scale: Array, learned: bool, out: Array
) -> None:
    """Prior scales of the means of some models, (model, number), the last one's the exterior's;
    where they are learned, the best ones for these posteriors: one for the exterior and one for all
    localities, sqrt of the mean of (m - m0)^2 + scale^2.
    """
    n, width = mean.shape[0] - 1, mean.shape[1]
    for i in range(n + 1):
        out[i] = prior_scale[i]
    if not learned or width == 0:
        return
    total = 0.0
    for i in range(n + 1):
        if i == n:
            if n:
                shared = min(max(math.sqrt(total / (n * width)), _LEAST_PRIOR), _MOST_PRIOR)
                for k in range(n):
                    out[k] = shared
            total = 0.0
        for j in range(width):
            gap = mean[i, j] - prior_mean[i, j]
            total += gap * gap + scale[i] * scale[i]
    out[n] = min(max(math.sqrt(total / width), _LEAST_PRIOR), _MOST_PRIOR)


@compiled
def pooled_scales(
    models: Models, prior: Models, corrected: Array, learned: bool, out: Array
) -> None:
    """Prior scales of corrections, the same for all of them, and last that of the exterior's
    weights; where they are learned, the best ones for these posteriors.
    """
    n, d = corrected.shape
    outputs = len(models.intercept) // (n + 1)
    for i in range(n + 1):
        out[i] = prior.coef_scale[i]
    if not learned:
        return
    total, count, last = 0.0, 0, n * outputs
    for i in range(n):
        rho2 = models.coef_scale[i] * models.coef_scale[i]
        sigma2 = models.intercept_scale[i] * models.intercept_scale[i]
        for k in range(outputs):
            gap = models.intercept[i * outputs + k] - models.intercept[last + k]
            total += gap * gap + sigma2
            count += 1
            for j in range(d):
                if corrected[i, j] != 0.0:
                    gap = models.coef[i * outputs + k, j] - models.coef[last + k, j]
                    total += gap * gap + rho2
                    count += 1
    for i in range(n):
        out[i] = min(max(math.sqrt(total / count), _LEAST_PRIOR), _MOST_PRIOR)
    if d:
        total, rho2 = 0.0, models.coef_scale[n] * models.coef_scale[n]
        for k in range(outputs):
            for j in range(d):
                gap = models.coef[last + k, j] - prior.coef[last + k, j]
                total += gap * gap + rho2
        out[n] = min(max(math.sqrt(total / (d * outputs)), _LEAST_PRIOR), _MOST_PRIOR)


@inlined
def _with_scales(prior: Models, coef_scale: Array) -> Models:
    return Models(
        prior.center, prior.coef, coef_scale, prior.intercept, prior.intercept_scale,
        prior.column_weight,
    )  # fmt: skip


@compiled
def solve_pooled(
    moments: Array, n: int, d: int, twice: float, prior: Models, learned: bool, most: float,
    corrected: Array, models: Models,
) -> None:  # fmt: skip
    """The exterior and the corrections that are best for the localities and the squared loss; where
    prior scales are learned, for the best ones of them, which are found from above.
    """
    scales, before, step = prior.coef_scale.copy(), np.empty(n + 1), np.zeros(n + 1)
    for again in range(_ROUNDS if learned else 1):
        _solve_arrow(moments, n, d, twice, prior, scales, most, corrected, models)
        if not learned:
            return
        moved = 0.0
        for i in range(n + 1):
            before[i] = scales[i]
        pooled_scales(models, prior, corrected, True, scales)
        for i in range(n + 1):
            last, step[i] = step[i], math.log(scales[i] / before[i])
            moved = max(moved, abs(step[i]))
            share = step[i] / last if last != 0.0 else 0.0
            if again % 2 and 0.1 < share < 0.999:  # few numbers have one scale: steps are slow
                ahead = min(max(step[i] * share / (1.0 - share), -2.0), 2.0)
                scales[i] = min(max(scales[i] * math.exp(ahead), _LEAST_PRIOR), _MOST_PRIOR)
        if moved < _SETTLED:
            return


@compiled
def _solve_arrow(
    moments: Array, n: int, d: int, twice: float, prior: Models, scales: Array, most: float,
    corrected: Array, models: Models,
) -> None:  # fmt: skip
    """Ridge regressions that share the exterior: one border, and a block for each correction, which
    is eliminated. With G the sums over all gates, G_i those over the gates of locality i in its own
    features S, A_i = G_i[S, S] + 1 / (2 l s^2), the border is G - sum G_i[:, S] A_i^-1 G_i[S, :].
    """
    size = (n + 1) * (d + 1)
    gram = moments[: size * (d + 1)].reshape(n + 1, d + 1, d + 1)
    moment = moments[size * (d + 1) : size * (d + 2)].reshape(n + 1, d + 1)
    norm = moments[size * (d + 2) + n]
    border, right = np.empty((d + 1, d + 1)), moment[n].copy()
    for j in range(d + 1):
        for k in range(j + 1):
            border[j, k] = gram[n, j, k]
        scale = scales[n] if j < d else prior.intercept_scale[n]
        mean = prior.coef[n, j] if j < d else prior.intercept[n]
        pull = 1.0 / (scale * scale * twice)
        border[j, j] += pull
        right[j] += pull * mean
    places, solved = np.empty((n, d + 1), np.int64), np.zeros((n, d + 1, d + 2))
    counts = np.zeros(n, np.int64)
    for i in range(n):
        q, square = 0, 0.0
        for j in range(d + 1):
            if j == d or corrected[i, j] != 0.0:
                places[i, q] = j
                square += gram[i, j, j] if j < d else 0.0
                q += 1
        counts[i] = q
        block, sides = np.zeros((q, q)), np.empty((d + 2, q))
        pull = 1.0 / (scales[i] * scales[i] * twice)
        for a in range(q):
            for b in range(a + 1):
                block[a, b] = gram[i, places[i, a], places[i, b]]
            block[a, a] += pull
            for j in range(d + 1):
                sides[j, a] = gram[i, places[i, a], j]
            sides[d + 1, a] = moment[i, places[i, a]]
        cholesky_solve_each(block, sides)  # rows of A^-1 G[S, :], and of A^-1 moment
        for j in range(d + 1):
            for a in range(q):
                solved[i, j, a] = sides[j, a]
                right[j] -= gram[i, places[i, a], j] * sides[d + 1, a]
                for k in range(j + 1):
                    border[j, k] -= gram[i, places[i, a], j] * sides[k, a]
        for a in range(q):
            solved[i, a, d + 1] = sides[d + 1, a]
        inverse = 1.0 / (scales[i] * scales[i])
        total = gram[i, d, d]
        models.coef_scale[i] = scales[i]
        if q > 1:
            models.coef_scale[i] = min(
                math.sqrt((q - 1) / ((q - 1) * inverse + twice * square)), most
            )
        models.intercept_scale[i] = min(math.sqrt(1.0 / (inverse + twice * total)), most)
    cholesky_solve(border, right)
    r0, s0 = scales[n], prior.intercept_scale[n]
    models.coef_scale[n] = r0
    if d:
        models.coef_scale[n] = min(math.sqrt(d / (d / (r0 * r0) + twice * norm)), most)
    models.intercept_scale[n] = min(
        math.sqrt(1.0 / (1.0 / (s0 * s0) + twice * gram[n, d, d])), most
    )
    for j in range(d):
        models.coef[n, j] = right[j]
    models.intercept[n] = right[d]
    for i in range(n):
        for j in range(d):
            models.coef[i, j] = right[j]
        models.intercept[i] = right[d]
        for a in range(counts[i]):
            change = solved[i, a, d + 1]
            for j in range(d + 1):
                change -= solved[i, j, a] * right[j]
            if places[i, a] < d:
                models.coef[i, places[i, a]] += change
            else:
                models.intercept[i] += change


@compiled
def solve_models(
    moments: Array, n: int, d: int, twice: float, prior: Models, learned: bool, most: float,
    models: Models,
) -> None:  # fmt: skip
    """The models of `solve_given` for the prior scales; where these are learned, for the best ones
    of them, which are found from above.
    """
    coef_scale, before = prior.coef_scale.copy(), np.empty(n + 1)
    for _ in range(_ROUNDS if learned else 1):
        given = _with_scales(prior, coef_scale)
        solve_given(moments.copy() if learned else moments, n, d, twice, given, most, models)
        if not learned:
            return
        for i in range(n + 1):
            before[i] = coef_scale[i]
        prior_scales(models.coef, models.coef_scale, prior.coef, prior.coef_scale, True, coef_scale)
        moved = 0.0
        for i in range(n + 1):
            moved = max(moved, abs(math.log(coef_scale[i] / before[i])))
        if moved < _SETTLED:
            return


@compiled
def solve_given(
    moments: Array, n: int, d: int, twice: float, prior: Models, most: float, models: Models
) -> None:
    """For the squared loss: the linear models that are best for the localities, in closed form.

    Given the gates g the objective is quadratic in each model's means and separable in its scales:
    a weighted ridge regression towards the prior means, and, with l = inverse_temperature and prior
    scales r0, s0, rho^2 = d / (d / r0^2 + 2 l sum g |x|^2),  sigma^2 = 1 / (1 / s0^2 + 2 l sum g).
    Sums of gates below 0, by rounding, would go beyond a prior of the largest scale.
    """
    size = (n + 1) * (d + 1)
    gram = moments[: size * (d + 1)].reshape(n + 1, d + 1, d + 1)
    moment = moments[size * (d + 1) : size * (d + 2)].reshape(n + 1, d + 1)
    norms = moments[size * (d + 2) :]
    for i in range(n + 1):
        r0, s0 = prior.coef_scale[i], prior.intercept_scale[i]
        total = gram[i, d, d]
        models.coef_scale[i] = r0
        if d:
            models.coef_scale[i] = min(math.sqrt(d / (d / (r0 * r0) + twice * norms[i])), most)
        models.intercept_scale[i] = min(math.sqrt(1.0 / (1.0 / (s0 * s0) + twice * total)), most)
        for j in range(d + 1):
            scale, mean = (r0, prior.coef[i, j]) if j < d else (s0, prior.intercept[i])
            pull = 1.0 / (scale * scale * twice)
            gram[i, j, j] += pull
            moment[i, j] += pull * mean
        cholesky_solve(gram[i], moment[i])
        for j in range(d):
            models.coef[i, j] = moment[i, j]
        models.intercept[i] = moment[i, d]


assert N_COLUMNS == 5  # that the loops above write out
