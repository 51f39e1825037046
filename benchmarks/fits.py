"""Whole fits: default fits against the paper's solver and protocol, and the growth of time and
memory with the number of rows.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from itertools import pairwise

import numpy as np
from data import keel, split
from table import Table

from motlm import LocalMixtureClassifier, LocalMixtureRegressor

PAPER_TEMPERATURES = np.arange(1, 5.01, 0.25)  # 17 of them, over n


def training(name: str) -> tuple[np.ndarray, np.ndarray, type]:
    X, y = keel(name)
    classification = y.dtype.kind != "f"
    part = split(X, y, 0, classification)
    return part.X[0], part.y[0], LocalMixtureClassifier if classification else LocalMixtureRegressor


def default_fit(name: str) -> float:
    """Seconds of a default fit with n = 2 on two cores: the faster of one and two processes."""
    X, y, Estimator = training(name)
    times = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for jobs in (None, 2):
            start = time.perf_counter()
            Estimator(2, n_jobs=jobs, random_state=0).fit(X, y)
            times.append(time.perf_counter() - start)
    return min(times)


def paper_protocol(name: str, temperatures: list[float]) -> dict[str, list[float]]:
    """Seconds and best objective of 10 n restarts of the paper's solver for each lambda', on two
    processes.

    For some lambda' also the objective found by motlm's search (in classification with the scale of
    the weights fixed at 1).
    """
    X, y, Estimator = training(name)
    n = 2
    found: dict[str, list[float]] = {"seconds": [], "nadam": [], "ours": []}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i, value in enumerate(temperatures):
            arguments = (
                {"coef_scale": "unit", "loss": "zero-one"}
                if Estimator is LocalMixtureClassifier
                else {}
            )
            start = time.perf_counter()
            model = Estimator(
                n,
                solver="nadam",
                max_iter=2000,
                n_starts=10 * n,
                inverse_temperature=value / n,
                n_jobs=2,
                random_state=0,
                **arguments,
            ).fit(X, y)
            found["seconds"].append(time.perf_counter() - start)
            if i % 8:
                continue
            found["nadam"].append(model.objective_)
            found["ours"].append(
                Estimator(n, inverse_temperature=value / n, n_jobs=2, random_state=0, **arguments)
                .fit(X, y)
                .objective_
            )
    return found


GROWTH = """
import json, resource, sys, time, warnings
import numpy as np
from motlm import LocalMixtureClassifier
m, d, n = (int(part) for part in sys.argv[1:4])
rng = np.random.default_rng(0)
X = rng.normal(size=(m, d))
y = np.where(rng.uniform(size=m) < 0.5, 1, 0)
X[y == 1] *= 2  # Breiman's ringnorm
X[y == 0] += 2 / np.sqrt(d)
warnings.simplefilter("ignore")
LocalMixtureClassifier(1, inverse_temperature=1.0, n_starts=1, max_iter=3).fit(X[:500], y[:500])
with open("/proc/self/statm") as file:  # what it holds now; the peak so far may have been higher
    before = int(file.read().split()[1]) * resource.getpagesize() / 1024
start = time.perf_counter()
model = LocalMixtureClassifier(n, random_state=0).fit(X, y)
print(json.dumps({"seconds": time.perf_counter() - start,
                  "MiB": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024,
                  "steps": sum(record.n_iter for record in model.path_),
                  "score": model.score(X[:10000], y[:10000])}))
"""


def growth(m: int, n: int) -> dict[str, float]:
    """Time of a default fit, and its memory beyond the data, in a separate process."""
    done = subprocess.run(
        [sys.executable, "-c", GROWTH, str(m), "20", str(n)],
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout))


def run(table: Table, quick: bool) -> None:
    for name, target in (("banana", "<= 5"), ("ring", "<= 5"), ("stock", "<= 2")):
        seconds = table.measure(f"fit {name}", lambda name=name: default_fit(name))
        table.row(f"default fit, {name}, n = 2, s", seconds, target)
        values = [
            float(value) for value in (PAPER_TEMPERATURES[::17] if quick else PAPER_TEMPERATURES)
        ]
        found = table.measure(
            f"paper {name} {len(values)}",
            lambda name=name, values=values: paper_protocol(name, values),
        )
        whole = float(np.mean(found["seconds"])) * len(PAPER_TEMPERATURES)
        table.row(
            "  the paper's solver and protocol, s" + (" (from 1 of 17 lambdas)" if quick else ""),
            whole,
        )
        table.row("  times as long as the default fit", whole / seconds, ">= 100")
        excess = max(
            ours / theirs for ours, theirs in zip(found["ours"], found["nadam"], strict=True)
        )
        table.row("  objective / the paper's solver's, at some lambdas", excess, "<= 1")
    sizes = (10_000,) if quick else (10_000, 100_000, 1_000_000)
    seconds = {}
    for m in sizes:
        figures = table.measure(f"growth {m} 2", lambda m=m: growth(m, 2))
        seconds[m] = figures["seconds"]
        table.row(f"default fit, {m} rows, d = 20, n = 2, s", figures["seconds"])
        table.row("  memory beyond the data, MiB", figures["MiB"], "<= 1024", ".0f")
    for small, large in pairwise(sizes):
        table.row(f"time of {large} rows / of {small}", seconds[large] / seconds[small], "<= 12")
