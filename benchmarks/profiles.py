"""What one step of a search costs, and in which part: seconds within the parts of an evaluation, on
one thread, over tables of several sizes.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np
from kernel import posterior
from table import Table

from motlm import geometry, lookup, objective, optimize
from motlm.geometry import LearnedBalls
from motlm.losses import LOSSES
from motlm.objective import Objective
from motlm.posterior import Packing, Prior
from motlm.rows import Rows

SHAPES = [(m, d, n) for m in (250, 800, 5_000, 100_000) for d in (3, 10, 30) for n in (1, 2, 4)]
FREE = (
    "radius_shape",
    "radius_rate",
    "coef",
    "intercept",
    "intercept_scale",
    "coef_scale",
    "center",
    "center_scale",
)
PARTS = {  # name: (owner, function)
    "tables": (geometry, "upsilon_tables"),
    "cubics": (lookup.Lookup, "of"),
    "rows": (objective, "block_sums"),
    "divergence": (Objective, "_kl_and_partials"),
    "unpack": (Packing, "unpack"),
    "pack": (Packing, "pack_gradient"),
    "evaluation": (optimize._Descent, "value_and_gradient"),
}


def profile(loss: str, m: int, d: int, n: int) -> dict[str, float]:
    """Microseconds for an evaluation, by part; the optimizer's own share is what the evaluations
    leave.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, d))
    y = np.where(rng.uniform(size=m) < 0.5, 1.0, -1.0)
    X[y > 0] *= 2.0
    [kind] = [one for one in LOSSES if one.name == loss]
    target = Objective(kind, LearnedBalls(), Prior(), Rows.of(X, y), 2.0)
    start = posterior(n, d, rng)
    spent: Counter[str] = Counter()
    calls = 0

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def inner(*args: Any, **kwargs: Any) -> Any:
            nonlocal calls
            calls += name == "evaluation"
            begin = time.perf_counter()
            result = function(*args, **kwargs)
            spent[name] += time.perf_counter() - begin
            return result

        return inner

    with ExitStack() as stack:
        for name, (owner, attribute) in PARTS.items():
            found = getattr(owner, attribute)
            stack.enter_context(patch.object(owner, attribute, timed(name, found)))
        begin = time.perf_counter()
        steps = 0
        while time.perf_counter() - begin < 1.0:
            optimize.lbfgs(target, start, FREE, max_iter=30, tol=0.0)
            steps += 1
        whole = time.perf_counter() - begin
    found = {name: 1e6 * spent[name] / calls for name in PARTS if name != "evaluation"}
    found["other"] = 1e6 * spent["evaluation"] / calls - sum(found.values())
    found["optimizer"] = 1e6 * (whole - spent["evaluation"]) / calls
    found["sum"] = 1e6 * whole / calls
    return found


def run(table: Table, quick: bool) -> None:
    for m, d, n in SHAPES[::9] if quick else SHAPES:
        found = table.measure(
            f"profile {m} {d} {n}", lambda m=m, d=d, n=n: profile("zero-one", m, d, n)
        )
        parts = ", ".join(f"{name} {value:.0f}" for name, value in found.items() if name != "sum")
        table.row(f"an evaluation, ({m}, {d}, {n}), microseconds", found["sum"], digits=".0f")
        print(f"  {parts}")
