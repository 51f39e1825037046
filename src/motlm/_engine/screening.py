"""Where searches begin: rough linear models of some rows, and balls that promise to remove loss."""

from __future__ import annotations

import math

import numpy as np

from .._typing import Array, Integers
from .compile import compiled, compiled_fast, entry
from .rows import (
    ANY_SIGN,
    OFF_BY,
    ZERO_ONE,
    Data,
    add_gram,
    add_moment,
    class_losses,
    losses_of,
    n_class_work,
)
from .special import cholesky_solve_each

__all__ = ["fit_ridge", "score_balls", "score_corrections"]

_RIDGE = 1.0  # one pseudo-row per weight, as a standard normal prior has
_LEAST_VARIANCE = 1e-3  # of a roughly fitted score
_AT_ONCE = 128
_SORTED = 256  # rows whose distances are sorted, for quantiles
_BEYOND2 = 1e140  # squared distances from which on a row lacks a value: `motlm.missing.BEYOND`


@compiled
def _add_rows(data: Data, response: Array, weight: Array, gram: Array, moment: Array) -> None:
    """Add the weighted squares of the rows of positive weight, and products with the responses,
    (score, row).
    """
    d = data.features.shape[0]
    columns, gate = np.empty((d + 1, _AT_ONCE)), np.empty(_AT_ONCE)
    outputs = len(response)
    target, weighted = np.empty((outputs, _AT_ONCE)), np.empty(_AT_ONCE)
    chosen = np.empty(_AT_ONCE, np.int64)
    count = 0
    for row in range(len(weight) + 1):
        if row < len(weight) and weight[row] != 0.0:
            chosen[count], gate[count] = row, weight[row]
            for k in range(outputs):
                target[k, count] = response[k, row]
            count += 1
        if (row == len(weight) and count) or count == _AT_ONCE:
            for j in range(d):
                for i in range(count):
                    columns[j, i] = data.features[j, chosen[i]]
            for i in range(_AT_ONCE):
                columns[d, i] = 1.0
            add_gram(columns, gate, target[0], count, weighted, gram, moment[0])
            for k in range(1, outputs):
                add_moment(columns, gate, target[k], count, moment[k])
            count = 0


@compiled
def _solve_ridge(gram: Array, moment: Array) -> None:
    for j in range(len(gram)):
        gram[j, j] += _RIDGE
    cholesky_solve_each(gram, moment)


@entry
def fit_ridge(data: Data, response: Array, weight: Array) -> Array:
    """Weights and intercept of ridge regressions of the responses, (score, row), on the rows, with
    these weights.
    """
    d = data.features.shape[0]
    gram, moment = np.zeros((d + 1, d + 1)), np.zeros((len(response), d + 1))
    _add_rows(data, response, weight, gram, moment)
    _solve_ridge(gram, moment)
    return moment


@compiled
def _rank(values: Array, place: int) -> float:
    """The value that would stand at this place if they were sorted; their order is lost."""
    low, high = 0, len(values) - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if place <= j:
            high = j
        elif place >= i:
            low = i
        else:
            break
    return float(values[place])


@compiled_fast
def _distances(data: Data, row: int, out: Array) -> None:
    """Squared, of all rows from one of them."""
    norm2 = data.coordinates_norm2[row]
    for i in range(len(out)):
        out[i] = 0.0
    for j in range(data.coordinates.shape[0]):
        at = data.coordinates[j, row]
        for i in range(len(out)):
            out[i] += data.coordinates[j, i] * at
    for i in range(len(out)):
        out[i] = max(data.coordinates_norm2[i] + norm2 - 2.0 * out[i], 0.0)


@compiled_fast
def _hard_loss(
    data: Data, loss: int, tolerance: float, base: Array, model: Array, weight: Array, score: Array,
    slope: Array, work: Array,
) -> float:  # fmt: skip
    """Loss of a model, added to base scores, on rows with these weights; for losses that need it,
    with a score as uncertain as its residuals are large.
    """
    outputs, d, m = len(model), model.shape[1] - 1, len(weight)
    total, residual = 0.0, 0.0
    for k in range(outputs):
        for row in range(m):
            score[k, row] = base[k, row] + model[k, d]
        for j in range(d):
            weight_of = model[k, j]
            for row in range(m):
                score[k, row] += data.features[j, row] * weight_of
        for row in range(m):
            aim = data.target[row]
            if outputs > 1:
                aim = 1.0 if aim == k else -1.0
            gap = aim - score[k, row]
            residual += weight[row] * gap * gap
    for row in range(m):
        total += weight[row]
    residual /= max(total * outputs, 1e-300)
    variance = 0.0
    if loss in (ZERO_ONE, OFF_BY, ANY_SIGN):
        variance = max(residual, _LEAST_VARIANCE)
    for row in range(m):
        work[0, row] = variance
    if outputs == 1:
        losses_of(loss, tolerance, data.target, score[0], work[0], work[1], slope[0], work[2])
    else:
        class_losses(loss, data.target, score, work[0], work[1], slope, work[2], work[3:])
    total = 0.0
    for row in range(m):
        total += weight[row] * work[1, row]
    return total


@entry
def score_balls(
    data: Data, loss: int, tolerance: float, base: Array, response: Array, curvature: Array,
    outside: Array, rows: Integers, shares: Array,
) -> tuple[Array, Array]:  # fmt: skip
    """Of balls around rows that contain a share of all: squared radius, loss that is left and
    models, inside and outside, of hard memberships, to be added to the base scores, (score, row).
    `outside` are
    the weights of rows for the exterior model; the models are regressions of the response, rows
    counting by the curvature of the loss too.
    """
    d, m = data.features.shape
    count, outputs = len(rows), len(response)
    found, models = np.empty((count, 2)), np.empty((count, 2, outputs, d + 1))
    whole, whole_moment = np.zeros((d + 1, d + 1)), np.zeros((outputs, d + 1))
    weight = np.empty(m)
    for row in range(m):
        weight[row] = outside[row] * curvature[row]
    _add_rows(data, response, weight, whole, whole_moment)
    gram, inner = np.empty((d + 1, d + 1)), np.empty((d + 1, d + 1))
    inner_moment = np.empty((outputs, d + 1))
    squared, sorted_, work = np.empty(m), np.empty(m), np.empty((3 + n_class_work(outputs), m))
    score, slope = np.empty((outputs, m)), np.empty((outputs, m))
    for one in range(count):
        _distances(data, rows[one], squared)
        for row in range(m):
            sorted_[row] = squared[row]
        place = min(max(math.ceil(shares[one] * m) - 1, 0), m - 1)
        limit = _rank(sorted_, place)
        for row in range(m):
            weight[row] = outside[row] * curvature[row] if squared[row] <= limit else 0.0
        for j in range(d + 1):
            for k in range(outputs):
                inner_moment[k, j] = 0.0
            for k in range(j + 1):
                inner[j, k] = 0.0
        _add_rows(data, response, weight, inner, inner_moment)
        left = 0.0
        for side in range(2):  # the exterior keeps what is not inside
            for k in range(outputs):
                for j in range(d + 1):
                    part = inner_moment[k, j]
                    models[one, side, k, j] = part if side == 0 else whole_moment[k, j] - part
            for j in range(d + 1):
                for k in range(j + 1):
                    gram[j, k] = inner[j, k] if side == 0 else whole[j, k] - inner[j, k]
            _solve_ridge(gram, models[one, side])
            for row in range(m):
                if squared[row] <= limit:
                    weight[row] = data.weight[row] if side == 0 else 0.0
                else:
                    weight[row] = 0.0 if side == 0 else outside[row]
            left += _hard_loss(
                data, loss, tolerance, base, models[one, side], weight, score, slope, work
            )
        found[one, 0], found[one, 1] = limit, left
    return found, models


@compiled_fast
def _far(data: Data, row: int, weight: Array, out: Array) -> None:
    """Squared distances of all rows from one of them, by weighted columns."""
    for i in range(len(out)):
        out[i] = 0.0
    for j in range(len(weight)):
        a = weight[j]
        if a != 0.0:
            at = data.coordinates[j, row]
            for i in range(len(out)):
                gap = data.coordinates[j, i] - at
                out[i] += a * gap * gap


@compiled
def _promise(gram: Array, side: Array, ridge: float, factor: Array, solved: Array) -> float:
    """What a ridge regression removes of a quadratic loss, and its weights, into solved."""
    for a in range(len(gram)):
        for b in range(a + 1):
            factor[a, b] = gram[a, b]
        factor[a, a] += ridge
        for k in range(len(side)):
            solved[k, a] = side[k, a]
    cholesky_solve_each(factor, solved)
    gain = 0.0
    for k in range(len(side)):
        for a in range(len(gram)):
            gain += 0.5 * side[k, a] * solved[k, a]
    return gain


@compiled
def _add_pushed(
    data: Data, push: Array, bend: float, places: Integers, row: int, x: Array, gram: Array,
    side: Array,
) -> None:  # fmt: skip
    """Add a row to the normal equations of some features and the intercept."""
    q = len(x) - 1
    for a in range(q):
        x[a] = data.features[places[a], row]
    for a in range(q + 1):
        bent = bend * x[a]
        for b in range(a + 1):
            gram[a, b] += bent * x[b]
        for k in range(len(side)):
            side[k, a] += push[k, row] * x[a]


@entry
def score_corrections(
    data: Data, push: Array, curvature: Array, cost: Array, rows: Integers, weight: Array,
    corrected: Array, shares: Array, ridge: float,
) -> tuple[Array, Array]:  # fmt: skip
    """Of localities around rows, in weighted columns, that contain about one of some shares of all
    rows: the loss that corrections of the models inside and outside would remove, and those,
    (side, score, feature).

    Loss is taken as quadratic: `push` are the rows' slopes, (score, row), and `curvature` their
    bends; `cost` is what each row costs by being inside. Of each locality the share that removes
    most is taken: radius, gain. Quantiles of the distances are those of some rows, which come in
    random order.
    """
    outputs, m = push.shape
    d, count, n_cuts, few = data.features.shape[0], len(rows), len(shares), min(m, _SORTED)
    found, models = np.zeros((count, 2)), np.zeros((count, 2, outputs, d + 1))
    squared, places, limits = np.empty(m), np.empty(d + 1, np.int64), np.empty(n_cuts)
    nearest, spent = np.empty(n_cuts + 1), np.empty(n_cuts + 1)
    for one in range(count):
        _far(data, rows[one], weight[one], squared)
        some = np.sort(squared[:few])
        near = few
        while near > 1 and some[near - 1] >= _BEYOND2:
            near -= 1
        for cut in range(n_cuts):
            limits[cut] = some[min(max(math.ceil(shares[cut] * few) - 1, 0), near - 1)]
        q = 0
        for j in range(d):
            if corrected[one, j] != 0.0:
                places[q] = j
                q += 1
        places[q] = d
        grams = np.zeros((n_cuts + 1, q + 1, q + 1))
        sides, x = np.zeros((n_cuts + 1, outputs, q + 1)), np.empty(q + 1)
        x[q] = 1.0
        for cut in range(n_cuts + 1):
            nearest[cut], spent[cut] = math.inf, 0.0
        for row in range(m):
            cut = 0
            while cut < n_cuts and squared[row] > limits[cut]:
                cut += 1
            nearest[cut] = min(nearest[cut], squared[row])
            spent[cut] += cost[row]
            _add_pushed(data, push, curvature[row], places, row, x, grams[cut], sides[cut])
        for cut in range(1, n_cuts + 1):
            spent[cut] += spent[cut - 1]
            for a in range(q + 1):
                for b in range(q + 1):
                    grams[cut, a, b] += grams[cut - 1, a, b]
                for k in range(outputs):
                    sides[cut, k, a] += sides[cut - 1, k, a]
        rest, others = np.empty((q + 1, q + 1)), np.empty((outputs, q + 1))
        factor = np.empty((q + 1, q + 1))
        inside, outside = np.empty((outputs, q + 1)), np.empty((outputs, q + 1))
        found[one, 1] = -math.inf
        for cut in range(n_cuts):
            for a in range(q + 1):
                for b in range(a + 1):
                    rest[a, b] = grams[n_cuts, a, b] - grams[cut, a, b]
                for k in range(outputs):
                    others[k, a] = sides[n_cuts, k, a] - sides[cut, k, a]
            gain = _promise(grams[cut], sides[cut], ridge, factor, inside) - spent[cut]
            gain += _promise(rest, others, ridge, factor, outside)
            if gain > found[one, 1]:
                beyond = math.inf
                for later in range(cut + 1, n_cuts + 1):
                    beyond = min(beyond, nearest[later])
                radius = math.sqrt(limits[cut])
                if beyond < _BEYOND2:
                    radius = 0.5 * (radius + math.sqrt(beyond))
                found[one, 0], found[one, 1] = radius, gain
                for k in range(outputs):
                    for a in range(q + 1):
                        models[one, 0, k, places[a]] = inside[k, a]
                        models[one, 1, k, places[a]] = outside[k, a]
    return found, models
