"""What one step of a search costs, and in which part: on one thread, over tables of several
sizes.
"""

from __future__ import annotations

import numpy as np
from kernel import posterior
from table import Table, shortest

from motlm._engine import descent, entries, rows
from motlm.geometry import LearnedBalls
from motlm.losses import ZeroOne
from motlm.objective import Evaluator, Objective
from motlm.posterior import FIELDS, Packing, Prior, flatten
from motlm.rows import Rows

SHAPES = [(m, d, n) for m in (250, 800, 5_000, 100_000) for d in (3, 10, 30) for n in (1, 2, 4)]
PARTS = ("tables", "rows", "divergence", "rest")


def profile(m: int, d: int, n: int) -> dict[str, float]:
    """Microseconds for an evaluation and the step after it, by part. The rest is the optimizer's,
    and what it takes to hand arrays about.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, d))
    y = np.where(rng.uniform(size=m) < 0.5, 1.0, -1.0)
    X[y > 0] *= 2.0
    objective = Objective(ZeroOne(), LearnedBalls(), Prior().expand(n, d), Rows.of(X, y), 2.0)
    start = posterior(n, d, rng)
    packing = Packing(start, tuple(FIELDS))
    evaluator = Evaluator(objective, packing)
    setup, data, full = evaluator.setup, evaluator.data, flatten(start)
    unit, (lower, upper) = packing.scales(start), packing.bounds()
    begin = packing.pack(start) / unit
    memory = descent.new_memory(begin, lower / unit, upper / unit, 10, 0.0)

    def step() -> None:
        memory.counts[:] = 0
        memory.vectors[descent.TRIAL] = begin
        evaluator.run(memory, unit, 1)

    tables = entries.all_tables(setup, evaluator.about, full)
    nowhere = rows.new_located(n, 0)
    repeats = max(3, 30_000 // m)
    found = {
        "tables": shortest(lambda: entries.all_tables(setup, evaluator.about, full), 5 * repeats),
        "rows": shortest(
            lambda: entries.block_sums(setup, data, tables, full, nowhere, 0, m), repeats
        ),
        "divergence": shortest(lambda: entries.divergence(setup, full), 5 * repeats),
        "sum": shortest(step, 3 * repeats),
    }
    found = {name: 1e6 * value for name, value in found.items()}
    found["rest"] = found["sum"] - sum(found[name] for name in PARTS[:-1])
    return found


def run(table: Table, quick: bool) -> None:
    for m, d, n in SHAPES[::9] if quick else SHAPES:
        found = table.measure(f"profile {m} {d} {n}", lambda m=m, d=d, n=n: profile(m, d, n))
        parts = ", ".join(f"{name} {found[name]:.0f}" for name in PARTS)
        table.row(f"an evaluation, ({m}, {d}, {n}), microseconds", found["sum"], digits=".0f")
        print(f"  {parts}")
