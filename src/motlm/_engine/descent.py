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
from .compile import compiled, compiled_fast, entry, inlined
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
from .rows import Data, new_located

__all__ = [
    "BEST",
    "CONVERGED",
    "EVALUATIONS",
    "KL",
    "LIMIT",
    "MOST",
    "RISK",
    "RUNNING",
    "STEPS",
    "STRAY",
    "VALUE",
    "Memory",
    "advance",
    "begin",
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
_PHASE, _PAIRS, _NEXT, STEPS, _TRIES, LIMIT, EVALUATIONS, _SINCE = 0, 1, 2, 3, 4, 5, 6, 7
VALUE, _STEP, _TOL, _KEPT, BEST, RISK, KL = 0, 1, 2, 3, 4, 5, 6
_FIRST, _LINE, _EXPANDING = 0, 1, 2
_FLAT, _ROUNDING = 1e-3, 1e-13  # gradient, and relative decrease in one step, that end a search


class Memory(NamedTuple):
    """The state of a search; all in the units in which it goes."""

    counts: Integers
    numbers: Array
    lower: Array
    upper: Array
    point: Array
    gradient: Array
    direction: Array
    trial: Array  # to be evaluated next
    kept: Array  # a point along the direction that will do
    kept_gradient: Array
    best: Array  # the lowest point seen
    steps: Array  # (pair, number)
    changes: Array
    per_product: Array  # 1 / (step @ change)
    values: Array  # after the last steps


def new_memory(start: Array, lower: Array, upper: Array, limit: int, tol: float) -> Memory:
    p = len(start)
    counts, numbers = np.zeros(8, dtype=np.int64), np.zeros(7)
    counts[LIMIT], numbers[_TOL], numbers[BEST] = limit, tol, np.inf
    point = np.clip(start, lower, upper)
    vectors = [np.zeros(p) for _ in range(5)]
    return Memory(
        counts, numbers, lower, upper, point, vectors[0], vectors[1], point.copy(), vectors[2],
        vectors[3], point.copy(), np.zeros((_MEMORY, p)), np.zeros((_MEMORY, p)),
        np.zeros(_MEMORY), np.zeros(_LOOK_BACK + 1),
    )  # fmt: skip


@compiled_fast
def _dot(a: Array, b: Array) -> float:
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@compiled
def _aim(memory: Memory) -> None:
    """The next direction, by the two loops of L-BFGS, among the numbers that are free to move."""
    point, gradient, direction = memory.point, memory.gradient, memory.direction
    p, pairs = len(point), memory.counts[_PAIRS]
    alpha = np.empty(_MEMORY)
    fixed = np.zeros(p, np.bool_)
    for i in range(p):
        fixed[i] = (point[i] <= memory.lower[i] and gradient[i] > 0.0) or (
            point[i] >= memory.upper[i] and gradient[i] < 0.0
        )
        direction[i] = 0.0 if fixed[i] else -gradient[i]
    steepest = math.sqrt(_dot(direction, direction))
    for back in range(pairs):
        j = (memory.counts[_NEXT] - 1 - back) % _MEMORY
        alpha[j] = memory.per_product[j] * _dot(memory.steps[j], direction)
        for i in range(p):
            direction[i] -= alpha[j] * memory.changes[j, i]
    if pairs:
        j = (memory.counts[_NEXT] - 1) % _MEMORY
        scale = 1.0 / (memory.per_product[j] * _dot(memory.changes[j], memory.changes[j]))
        for i in range(p):
            direction[i] *= scale
    for back in range(pairs - 1, -1, -1):
        j = (memory.counts[_NEXT] - 1 - back) % _MEMORY
        beta = memory.per_product[j] * _dot(memory.changes[j], direction)
        for i in range(p):
            direction[i] += (alpha[j] - beta) * memory.steps[j, i]
    for i in range(p):
        if fixed[i]:
            direction[i] = 0.0
    slope = _dot(gradient, direction)
    size = math.sqrt(_dot(direction, direction))
    if pairs and not slope < -1e-10 * steepest * size:
        memory.counts[_PAIRS] = 0
        for i in range(p):
            direction[i] = 0.0 if fixed[i] else -gradient[i]
        pairs, slope = 0, -steepest * steepest
    memory.numbers[_STEP] = 1.0 if pairs else min(1.0, 1.0 / max(steepest, 1e-300))
    memory.counts[_TRIES] = 0
    memory.counts[_PHASE] = _LINE


@compiled
def _copy(source: Array, out: Array) -> None:
    for i in range(len(out)):
        out[i] = source[i]


@inlined
def _try(memory: Memory) -> None:
    for i in range(len(memory.point)):
        moved = memory.point[i] + memory.numbers[_STEP] * memory.direction[i]
        memory.trial[i] = min(max(moved, memory.lower[i]), memory.upper[i])


@compiled
def _accept(memory: Memory, value: float, point: Array, gradient: Array) -> int:
    """Take a step to a point; whether to go on."""
    counts, numbers = memory.counts, memory.numbers
    step, change = memory.steps[counts[_NEXT]], memory.changes[counts[_NEXT]]
    for i in range(len(point)):
        step[i] = point[i] - memory.point[i]
        change[i] = gradient[i] - memory.gradient[i]
        memory.point[i] = point[i]
        memory.gradient[i] = gradient[i]
    product = _dot(step, change)
    if product > 1e-12 * _dot(change, change) and product < math.inf:
        memory.per_product[counts[_NEXT]] = 1.0 / product
        counts[_NEXT] = (counts[_NEXT] + 1) % _MEMORY
        counts[_PAIRS] = min(counts[_PAIRS] + 1, _MEMORY)
    before = numbers[VALUE]
    numbers[VALUE] = value
    counts[STEPS] += 1
    counts[_SINCE] += 1
    size = len(memory.values)
    memory.values[counts[STEPS] % size] = value
    if before - value <= _ROUNDING * max(abs(before), abs(value), 1.0):
        return CONVERGED
    if counts[_SINCE] > _LOOK_BACK:
        earlier = memory.values[(counts[STEPS] - _LOOK_BACK) % size]
        if earlier - value < numbers[_TOL] * abs(value):
            return CONVERGED
    if counts[STEPS] >= counts[LIMIT]:
        return MOST
    return RUNNING


@inlined
def _is_flat(memory: Memory) -> bool:
    """Whether the projected gradient is small everywhere."""
    for i in range(len(memory.point)):
        moved = min(max(memory.point[i] - memory.gradient[i], memory.lower[i]), memory.upper[i])
        if abs(moved - memory.point[i]) > _FLAT:
            return False
    return True


@compiled
def _next(memory: Memory) -> int:
    if _is_flat(memory):
        return CONVERGED
    _aim(memory)
    _try(memory)
    return RUNNING


def begin(memory: Memory) -> None:
    """Forget the pairs, and evaluate the point anew: for a search in other units."""
    memory.counts[[_PHASE, _PAIRS, _SINCE]] = 0
    memory.trial[:] = memory.point


@compiled
def advance(memory: Memory, value: float, gradient: Array) -> int:
    """Take the evaluation of the trial point, and set the next one."""
    counts, numbers = memory.counts, memory.numbers
    counts[EVALUATIONS] += 1
    finite = math.isfinite(value) and math.isfinite(_dot(gradient, gradient))
    if finite and value < numbers[BEST]:
        numbers[BEST] = value
        _copy(memory.trial, memory.best)
    if counts[_PHASE] == _FIRST:
        if not finite:
            return STRAY
        numbers[VALUE] = value
        memory.values[counts[STEPS] % len(memory.values)] = value
        _copy(gradient, memory.gradient)
        return _next(memory)
    slope, after = 0.0, 0.0
    for i in range(len(memory.point)):
        moved = memory.trial[i] - memory.point[i]
        slope += memory.gradient[i] * moved
        after += gradient[i] * moved
    expanding = counts[_PHASE] == _EXPANDING
    back = False
    if expanding and not (finite and value < numbers[_KEPT]):
        back = True
    elif not finite or value > numbers[VALUE] + _ARMIJO * slope:
        counts[_TRIES] += 1
        if counts[_TRIES] <= _BACKTRACKS:
            shrink = 0.1
            if finite:
                shrink = min(max(-0.5 * slope / (value - numbers[VALUE] - slope), 0.1), 0.5)
            numbers[_STEP] *= shrink
            _try(memory)
            return RUNNING
        if counts[_PAIRS] == 0:
            return CONVERGED  # no further decrease, for rounding
        counts[_PAIRS] = 0
        return _next(memory)
    elif after < _WOLFE * slope and counts[_TRIES] < _EXPANSIONS * expanding + (not expanding):
        counts[_PHASE] = _EXPANDING
        counts[_TRIES] += 1
        numbers[_KEPT] = value
        _copy(memory.trial, memory.kept)
        _copy(gradient, memory.kept_gradient)
        ahead = slope / (slope - after) if after > slope else 4.0
        numbers[_STEP] *= min(max(ahead, 2.0), 4.0)
        _try(memory)
        for i in range(len(memory.trial)):
            if memory.trial[i] != memory.kept[i]:
                return RUNNING
        back = True  # all are at their bounds
    if back:
        value = numbers[_KEPT]
        _copy(memory.kept, memory.trial)
        _copy(memory.kept_gradient, gradient)
    status = _accept(memory, value, memory.trial, gradient)
    return status if status != RUNNING else _next(memory)


@entry
def take(memory: Memory, value: float, gradient: Array) -> int:
    """`advance`, for a loop in Python."""
    return advance(memory, value, gradient)


@entry
def search(
    setup: Setup, data: Data, vector: Vector, bessel: Array | None, eliminate: bool | None,
    memory: Memory, unit: Array, budget: int,
) -> int:  # fmt: skip
    """So many evaluations of the objective and its gradient, each followed by a step. The vector is
    in units of its own, and the objective in nats.

    `bessel` is None where centers are given, and `eliminate` where models are searched: what is not
    needed is not compiled.
    """
    nats = setup.inverse_temperature * setup.total_weight
    values, partials = np.empty(len(unit)), np.empty(len(vector.template))
    for _ in range(budget):
        for i in range(len(unit)):
            values[i] = memory.trial[i] * unit[i]
        full = unpack(vector, setup.n, values)
        tables = tables_of(setup, bessel, full)
        if eliminate is None:
            located = new_located(setup.n, 0)
        else:
            located = solve_all(setup, data, tables, full)
        sums = sum_all(setup, data, tables, full, located, True)
        risk, kl = finish(setup, full, sums, partials)
        gradient = pack_gradient(vector, setup.n, full, partials)
        for i in range(len(unit)):
            gradient[i] *= unit[i] * nats
        memory.numbers[RISK], memory.numbers[KL] = risk, kl
        status = advance(memory, nats * risk + kl, gradient)
        if status != RUNNING:
            return status
    return RUNNING
