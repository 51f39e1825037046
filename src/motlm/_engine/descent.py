"""L-BFGS within bounds, as a routine that is handed one evaluation after another.

So the same steps serve a loop that is compiled with the evaluation, and one in Python that
evaluates the rows of large tables on several threads. Numbers on a bound towards which the
objective falls stay there; the others are moved along the usual two-loop direction, projected onto
the bounds.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._typing import Array, Integers
from .compile import compiled, entry
from .objective import (
    Setup,
    Vector,
    finish,
    pack_gradient,
    solve_all,
    sum_all,
    tables_of,
    unpack,
)
from .rows import Data, dot, new_located
from .tables import Constants

__all__ = [
    "BEST",
    "BEST_KL",
    "BEST_RISK",
    "CONVERGED",
    "EVALUATIONS",
    "GRADIENT",
    "KL",
    "LIMIT",
    "LOWEST",
    "MOST",
    "POINT",
    "RISK",
    "RUNNING",
    "STEPS",
    "STRAY",
    "TRIAL",
    "VALUE",
    "Block",
    "Memory",
    "advance",
    "new_memory",
    "search",
    "take",
]

RUNNING, CONVERGED, MOST, STRAY = 0, 1, 2, 3
_MEMORY = 20  # pairs of steps and changes of the gradient that are kept
_ARMIJO, _WOLFE = 1e-4, 0.9
_BACKTRACKS, _EXPANSIONS = 30, 8
_LOOK_BACK = 10  # steps over which progress is measured
# what a search counts and measures
_PHASE, _PAIRS, _NEXT, STEPS, _TRIES, LIMIT, EVALUATIONS, _SINCE, _BLOCK, _COPIES = range(10)
VALUE, _STEP, _TOL, _KEPT, BEST, RISK, KL, BEST_RISK, BEST_KL, _CAP = range(10)
_PRODUCTS = 10  # from there on 1 / (step @ change) of each pair
_VALUES = _PRODUCTS + _MEMORY  # and from there the values after the last steps
_FIRST, _LINE, _EXPANDING = 0, 1, 2
_NEGLIGIBLE = 0.03  # nats of a likelihood in ten steps that end a search: no reader sees them
_FLAT, _ROUNDING = 1e-3, 1e-13  # gradient, and relative decrease in one step, that end a search
# rows of the vectors: bounds, the point and its gradient, the direction, the point to be evaluated
# next, one along the direction that will do with its gradient, and the lowest point seen
_LOWER, _UPPER, POINT, GRADIENT, _DIRECTION, TRIAL, _KEPT_POINT, _KEPT_GRADIENT, LOWEST = range(9)


class Block(NamedTuple):
    """Numbers of the vector whose curvature is known: a search begins with it instead of 1."""

    first: int
    copies: int  # of as many numbers as there are ways, one after another
    ways: Array
    gains: Array


class Memory(NamedTuple):
    """The state of a search; all in the units in which it goes."""

    counts: Integers
    numbers: Array
    vectors: Array  # (which, number)
    pairs: Array  # (2, pair, number): steps, and changes of the gradient
    ways: Array  # (way, number of the block): directions of the block with known curvatures
    gains: Array  # (way,): 1 / these


def new_memory(
    start: Array,
    lower: Array,
    upper: Array,
    limit: int,
    tol: float,
    cap: float = np.inf,
    block: Block | None = None,
) -> Memory:
    """`tol` is relative to the value, or to `cap` where that is smaller."""
    block = Block(0, 0, np.empty((0, 0)), np.empty(0)) if block is None else block
    counts, numbers = np.zeros(10, dtype=np.int64), np.zeros(_VALUES + _LOOK_BACK + 1)
    counts[_BLOCK], counts[_COPIES] = block.first, block.copies
    counts[LIMIT], numbers[_TOL], numbers[_CAP], numbers[BEST] = limit, tol, cap, np.inf
    vectors = np.zeros((9, len(start)))
    vectors[_LOWER], vectors[_UPPER] = lower, upper
    vectors[[POINT, TRIAL, LOWEST]] = np.clip(start, lower, upper)
    pairs = np.empty((2, _MEMORY, len(start)))
    return Memory(counts, numbers, vectors, pairs, block.ways, block.gains)


@compiled
def _copy(source: Array, out: Array) -> None:
    for i in range(len(out)):
        out[i] = source[i]


@compiled
def _try(vectors: Array, step: float) -> None:
    for i in range(vectors.shape[1]):
        moved = vectors[POINT, i] + step * vectors[_DIRECTION, i]
        vectors[TRIAL, i] = min(max(moved, vectors[_LOWER, i]), vectors[_UPPER, i])


@compiled
def _apply_block(memory: Memory, pairs: int) -> None:
    """The direction times the inverse of the curvature with which a search begins: that of the
    block, and of the others one number for all.
    """
    counts, ways, direction = memory.counts, memory.ways, memory.vectors[_DIRECTION]
    size, first, p = len(memory.gains), counts[_BLOCK], len(direction)
    last = first + size * counts[_COPIES]
    product, change2, rest2 = 0.0, 0.0, 0.0
    j = (counts[_NEXT] - 1) % _MEMORY
    for i in range(p):
        if first <= i < last:
            continue
        rest2 += direction[i] * direction[i]
        if pairs:
            product += memory.pairs[0, j, i] * memory.pairs[1, j, i]
            change2 += memory.pairs[1, j, i] * memory.pairs[1, j, i]
    scale = min(1.0, 1.0 / max(math.sqrt(rest2), 1e-300))
    if pairs and product > 1e-12 * change2:
        scale = product / change2
    for i in range(p):
        if i < first or i >= last:
            direction[i] *= scale
    moved = np.empty(size)
    for copy in range(counts[_COPIES]):
        part = direction[first + copy * size : first + (copy + 1) * size]
        for i in range(size):
            moved[i] = 0.0
        for k in range(size):
            along = memory.gains[k] * dot(ways[k], part)
            for i in range(size):
                moved[i] += along * ways[k, i]
        for i in range(size):
            part[i] = moved[i]


@compiled
def _aim(memory: Memory) -> int:
    """Set the next trial, along a direction by the two loops of L-BFGS among the numbers that are
    free to move, unless the projected gradient is small everywhere.
    """
    vectors, numbers = memory.vectors, memory.numbers
    point, gradient, direction = vectors[POINT], vectors[GRADIENT], vectors[_DIRECTION]
    steps, changes = memory.pairs[0], memory.pairs[1]
    p, pairs = len(point), memory.counts[_PAIRS]
    alpha, fixed, flat = np.empty(_MEMORY), np.empty(p, np.bool_), True
    for i in range(p):
        moved = min(max(point[i] - gradient[i], vectors[_LOWER, i]), vectors[_UPPER, i])
        flat = flat and abs(moved - point[i]) <= _FLAT
        fixed[i] = (point[i] <= vectors[_LOWER, i] and gradient[i] > 0.0) or (
            point[i] >= vectors[_UPPER, i] and gradient[i] < 0.0
        )
        direction[i] = 0.0 if fixed[i] else -gradient[i]
    if flat:
        return CONVERGED
    steepest = math.sqrt(dot(direction, direction))
    for back in range(pairs):
        j = (memory.counts[_NEXT] - 1 - back) % _MEMORY
        alpha[j] = numbers[_PRODUCTS + j] * dot(steps[j], direction)
        for i in range(p):
            direction[i] -= alpha[j] * changes[j, i]
    if len(memory.gains):
        _apply_block(memory, pairs)
    elif pairs:
        j = (memory.counts[_NEXT] - 1) % _MEMORY
        scale = 1.0 / (numbers[_PRODUCTS + j] * dot(changes[j], changes[j]))
        for i in range(p):
            direction[i] *= scale
    for back in range(pairs - 1, -1, -1):
        j = (memory.counts[_NEXT] - 1 - back) % _MEMORY
        beta = numbers[_PRODUCTS + j] * dot(changes[j], direction)
        for i in range(p):
            direction[i] += (alpha[j] - beta) * steps[j, i]
    for i in range(p):
        if fixed[i]:
            direction[i] = 0.0
    slope = dot(gradient, direction)
    size = math.sqrt(dot(direction, direction))
    if pairs and not slope < -1e-10 * steepest * size:
        memory.counts[_PAIRS] = 0
        for i in range(p):
            direction[i] = 0.0 if fixed[i] else -gradient[i]
        if len(memory.gains):
            _apply_block(memory, 0)
        pairs, slope = 0, -steepest * steepest
    known = pairs or len(memory.gains)
    numbers[_STEP] = 1.0 if known else min(1.0, 1.0 / max(steepest, 1e-300))
    memory.counts[_TRIES] = 0
    memory.counts[_PHASE] = _LINE
    _try(vectors, numbers[_STEP])
    return RUNNING


@compiled
def _accept(memory: Memory, value: float, gradient: Array) -> int:
    """Take a step to the trial point; whether to go on."""
    counts, numbers, vectors = memory.counts, memory.numbers, memory.vectors
    step, change = memory.pairs[0, counts[_NEXT]], memory.pairs[1, counts[_NEXT]]
    for i in range(len(gradient)):
        step[i] = vectors[TRIAL, i] - vectors[POINT, i]
        change[i] = gradient[i] - vectors[GRADIENT, i]
        vectors[POINT, i] = vectors[TRIAL, i]
        vectors[GRADIENT, i] = gradient[i]
    product = dot(step, change)
    if product > 1e-12 * dot(change, change) and product < math.inf:
        numbers[_PRODUCTS + counts[_NEXT]] = 1.0 / product
        counts[_NEXT] = (counts[_NEXT] + 1) % _MEMORY
        counts[_PAIRS] = min(counts[_PAIRS] + 1, _MEMORY)
    before = numbers[VALUE]
    numbers[VALUE] = value
    counts[STEPS] += 1
    counts[_SINCE] += 1
    size = _LOOK_BACK + 1
    numbers[_VALUES + counts[STEPS] % size] = value
    if before - value <= _ROUNDING * max(abs(before), abs(value), 1.0):
        return CONVERGED
    if counts[_SINCE] > _LOOK_BACK:
        earlier = numbers[_VALUES + (counts[STEPS] - _LOOK_BACK) % size]
        least = numbers[_TOL] * min(abs(value), numbers[_CAP])
        if earlier - value < max(least, _NEGLIGIBLE if numbers[_CAP] < math.inf else 0.0):
            return CONVERGED
    if counts[STEPS] >= counts[LIMIT]:
        return MOST
    return RUNNING


@compiled
def advance(memory: Memory, value: float, gradient: Array) -> int:
    """Take the evaluation of the trial point, and set the next one."""
    counts, numbers, vectors = memory.counts, memory.numbers, memory.vectors
    counts[EVALUATIONS] += 1
    trial = vectors[TRIAL]
    finite = math.isfinite(value) and math.isfinite(dot(gradient, gradient))
    if finite and value < numbers[BEST]:
        numbers[BEST], numbers[BEST_RISK], numbers[BEST_KL] = value, numbers[RISK], numbers[KL]
        _copy(trial, vectors[LOWEST])
    slope, after = 0.0, 0.0
    for i in range(len(trial)):
        moved = trial[i] - vectors[POINT, i]
        slope += vectors[GRADIENT, i] * moved
        after += gradient[i] * moved
    expanding = counts[_PHASE] == _EXPANDING
    accepted, again, back = True, False, False
    if counts[_PHASE] == _FIRST:
        if not finite:
            return STRAY
        numbers[VALUE] = value
        numbers[_VALUES + counts[STEPS] % (_LOOK_BACK + 1)] = value
        _copy(gradient, vectors[GRADIENT])
        accepted = False
    elif expanding and not (finite and value < numbers[_KEPT]):
        back = True
    elif not finite or value > numbers[VALUE] + _ARMIJO * slope:
        counts[_TRIES] += 1
        accepted, again = False, counts[_TRIES] <= _BACKTRACKS
        if again:
            shrink = 0.1
            if finite:
                shrink = min(max(-0.5 * slope / (value - numbers[VALUE] - slope), 0.1), 0.5)
            numbers[_STEP] *= shrink
        elif counts[_PAIRS] == 0:
            return CONVERGED  # no further decrease, for rounding
        counts[_PAIRS] *= again
    elif after < _WOLFE * slope and counts[_TRIES] < (_EXPANSIONS if expanding else 1):
        counts[_PHASE] = _EXPANDING
        counts[_TRIES] += 1
        numbers[_KEPT] = value
        _copy(trial, vectors[_KEPT_POINT])
        _copy(gradient, vectors[_KEPT_GRADIENT])
        ahead = slope / (slope - after) if after > slope else 4.0
        numbers[_STEP] *= min(max(ahead, 2.0), 4.0)
        again = True
    if again:
        _try(vectors, numbers[_STEP])
        for i in range(len(trial)):
            if not accepted or trial[i] != vectors[_KEPT_POINT, i]:
                return RUNNING
        back = True  # all are at their bounds
    if back:
        value = numbers[_KEPT]
        _copy(vectors[_KEPT_POINT], trial)
        _copy(vectors[_KEPT_GRADIENT], gradient)
    status = _accept(memory, value, gradient) if accepted else RUNNING
    return status if status != RUNNING else _aim(memory)


@entry
def take(memory: Memory, value: float, gradient: Array) -> int:
    """`advance`, for a loop in Python."""
    return advance(memory, value, gradient)


@entry
def search(
    setup: Setup, data: Data, vector: Vector, about: Constants | None, eliminate: bool | None,
    memory: Memory, unit: Array, budget: int,
) -> int:  # fmt: skip
    """So many evaluations of the objective and its gradient, each followed by a step; or, with a
    budget of 0, one evaluation of the objective alone. The vector is in units of its own, and the
    objective in nats.

    `about` is None where centers are given, and `eliminate` where models have no closed form: what
    is not needed is not compiled.
    """
    nats = setup.inverse_temperature * setup.total_weight
    values, partials = np.empty(len(unit)), np.empty(len(vector.template))
    for _ in range(max(budget, 1)):
        for i in range(len(unit)):
            values[i] = memory.vectors[TRIAL, i] * unit[i]
        full = unpack(vector, setup.n, values)
        tables = tables_of(setup, about, full)
        located = new_located(setup.n, 0)
        if eliminate is not None and eliminate:
            located = solve_all(setup, data, tables, full)
        sums = sum_all(setup, data, tables, full, located, budget > 0)
        risk, kl = finish(setup, full, sums, partials)
        memory.numbers[RISK], memory.numbers[KL] = risk, kl
        if budget == 0:
            return RUNNING
        gradient = pack_gradient(vector, setup.n, full, partials)
        for i in range(len(unit)):
            gradient[i] *= unit[i] * nats
        status = advance(memory, nats * risk + kl, gradient)
        if status != RUNNING:
            return status
    return RUNNING
