"""Speed of the kernels on one thread, relative to the two matrix products that an evaluation
needs at least.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.special import gammainccinv, gammaincinv
from table import Table, shortest

from motlm import LocalMixtureClassifier
from motlm._engine.entries import upsilon_tables
from motlm._engine.tables import NEGLIGIBLE, constants, fineness
from motlm.geometry import LearnedBalls
from motlm.losses import ZeroOne
from motlm.objective import Evaluator, Objective
from motlm.posterior import FIELDS, Packing, Posterior, Prior
from motlm.rows import Rows


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


def evaluation(m: int, d: int, n: int, dtype: type) -> float:
    """Time of value and gradient relative to the two products, measured alternately so that other
    load on the machine affects both.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, d)).astype(dtype)
    y = np.sign(rng.normal(size=m)).astype(dtype)
    rows = Rows.of(X, y, np.ones(m, dtype), np.empty((m, 0), dtype))
    q = posterior(n, d, rng)
    objective = Objective(ZeroOne(), LearnedBalls(), Prior(), rows, 1.0)
    packing = Packing(q, tuple(FIELDS))
    evaluator, values = Evaluator(objective, packing), packing.pack(q)
    weights = np.vstack([q.coef, q.center]).astype(dtype)
    best, products = np.inf, np.inf
    for _ in range(40):
        best = min(best, shortest(lambda: evaluator.evaluate(values), 3))
        products = min(products, shortest(lambda: (X @ weights.T).T @ X, 3))
    return best / products


def table_cost(d: int, n: int) -> float:
    """Milliseconds for the table of one locality, when n tables are computed together."""
    scale, shape = np.full(n, 0.2), np.full(n, 50.0)
    rate = shape / np.sqrt(2 * d)
    low, high = gammaincinv(shape, NEGLIGIBLE) / rate, gammainccinv(shape, NEGLIGIBLE) / rate
    about, fine = constants(np.full(n, d)), fineness(True)
    arrays = scale, shape, rate, low, high
    return shortest(lambda: upsilon_tables(fine, about, *arrays), 300) / n * 1e3


def prediction(m: int, d: int, n: int) -> float:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, d))
    y = np.sign(X[:, 0] * np.where(np.linalg.norm(X[:, :2] - 1, axis=1) < 1, 1, -1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LocalMixtureClassifier(
            n, inverse_temperature=8.0, n_starts=2, max_iter=20, random_state=0
        ).fit(X[:4000], y[:4000])
    weights = rng.normal(size=(2 * n + 1, d))
    best, products = np.inf, np.inf
    for _ in range(5):
        best = min(best, shortest(lambda: model.predict(X), 1))
        products = min(products, shortest(lambda: (X @ weights.T).T @ X, 1))
    return best / products


def run(table: Table, quick: bool) -> None:
    for m, d, n, target in ((5180, 20, 2, "<= 10"), (100_000, 20, 4, "<= 6")):
        both = table.measure(
            f"kernel {m} {d} {n}", lambda m=m, d=d, n=n: evaluation(m, d, n, np.float64)
        )
        table.row(f"value and gradient / two products, ({m}, {d}, {n})", both, target)
        single = table.measure(
            f"kernel32 {m} {d} {n}", lambda m=m, d=d, n=n: evaluation(m, d, n, np.float32)
        )
        table.row("  in float32, against products in float32", single)
    for d, n, target in ((20, 1, "<= 0.08"), (20, 4, "<= 0.048"), (2, 2, "<= 0.05")):
        table.row(
            f"table of upsilon, d = {d}, of {n} made together, ms",
            table.measure(f"table {d} {n}", lambda d=d, n=n: table_cost(d, n)),
            target,
        )
    m = 200_000 if quick else 1_000_000
    table.row(
        f"predict / two products, ({m}, 20, 4)",
        table.measure(f"predict {m}", lambda: prediction(m, 20, 4)),
        "<= 4",
    )
