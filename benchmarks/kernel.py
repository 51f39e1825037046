"""Speed of the kernel, as ratios within one run: value and gradient against the two matrix products it cannot avoid.

python benchmarks/kernel.py [--json results.json]
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from motlm.losses import ZeroOne
from motlm.objective import LearnedCenters, Objective
from motlm.posterior import Posterior, Prior
from motlm.rows import Rows
from motlm.vicinity import upsilon_table


def best_of(function: Callable[[], object], repeats: int) -> float:
    """Shortest of several runs, in seconds: the machine's noise only ever adds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def posterior(n: int, d: int, rng: np.random.Generator) -> Posterior:
    return Posterior(
        center=rng.normal(size=(n, d)),
        center_scale=np.full(n, 0.2),
        radius_shape=np.full(n, 50.0),
        radius_rate=np.full(n, 50.0) / np.sqrt(2 * d),
        coef=rng.normal(size=(n + 1, d)),
        coef_scale=np.full(n + 1, 0.3),
        intercept=rng.normal(size=n + 1),
        intercept_scale=np.full(n + 1, 0.3),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the table here too")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    table = []
    print(f"{'rows':>8} {'d':>4} {'n':>3} {'evaluation':>12} {'products':>12} {'ratio':>7}")
    for m, d, n in ((3704, 2, 2), (5180, 20, 2), (100_000, 20, 4)):
        X = rng.normal(size=(m, d))
        rows = Rows.of(X, np.sign(rng.normal(size=m)))
        q = posterior(n, d, rng)
        objective = Objective(ZeroOne(), LearnedCenters(), Prior(), rows, 1.0)
        weights = np.vstack([q.coef, q.center])
        repeats = 30 if m < 50_000 else 7
        evaluation = best_of(lambda o=objective, q=q: o.value_and_gradient(q), repeats)
        products = best_of(lambda X=X, w=weights: (X @ w.T).T @ X, repeats)
        table.append({"rows": m, "d": d, "n": n, "evaluation_s": evaluation, "products_s": products})
        print(f"{m:>8} {d:>4} {n:>3} {evaluation * 1e3:>9.2f} ms {products * 1e3:>9.2f} ms {evaluation / products:>7.1f}")
    for d in (2, 20, 100):
        cost = best_of(lambda d=d: upsilon_table(d, 0.2, 50.0, 50.0 / np.sqrt(2 * d)), 30)
        table.append({"upsilon_table_d": d, "s": cost})
        print(f"table of upsilon, d = {d}: {cost * 1e3:.2f} ms")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
