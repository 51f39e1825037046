"""A process that fits on request: one JSON job per line comes in, one JSON answer goes out.

It is run by the Python of each revision that is compared, so it uses only what all of them have. A
job is {"data": .., "estimator": "module:class", "parameters": {..}}, with the number of "rows" if
not all of them are to be fitted, and of OpenMP's "threads" if fewer than it would take. The data
are a file of pickled X and y, or the numbers of rows and columns of Breiman's ringnorm.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import time
import traceback
import warnings
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits


def ringnorm(m: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(m, d))
    y = np.where(rng.uniform(size=m) < 0.5, 1, 0)
    X[y == 1] *= 2
    X[y == 0] += 2 / np.sqrt(d)
    return X, y


@lru_cache(maxsize=1)
def read(data: str | tuple[int, int]) -> tuple[Any, np.ndarray]:
    if not isinstance(data, str):
        return ringnorm(*data)
    with open(data, "rb") as file:
        return pickle.load(file)


def some(X: Any, y: np.ndarray, count: int) -> tuple[Any, np.ndarray]:
    """Rows drawn at random, the same ones every time."""
    which = np.random.default_rng(0).permutation(len(y))[:count]
    return (X.iloc[which] if hasattr(X, "iloc") else X[which]), y[which]


def follow_paper(model: Any) -> None:
    """The paper's loss and prior, which earlier revisions have alone."""
    from motlm import Prior

    if "loss" in model.get_params(deep=False):
        classifier = "class_weight" in model.get_params(deep=False)
        model.set_params(**({"loss": "zero-one"} if classifier else {"prior": Prior()}))


def fit(job: dict[str, Any]) -> dict[str, Any]:
    """Seconds of `fit`, and what it found if the model is one of motlm's."""
    data = job["data"]
    X, y = read(data if isinstance(data, str) else tuple(data))
    if "rows" in job:
        X, y = some(X, y, job["rows"])
    module, name = job["estimator"].split(":")
    model = getattr(import_module(module), name)(**job["parameters"])
    if job.get("paper") and module == "motlm":
        follow_paper(model)
    with threadpool_limits(job.get("threads"), user_api="openmp"):
        start = time.perf_counter()
        model.fit(X, y)
        answer = {"seconds": time.perf_counter() - start}
    if module == "motlm":
        answer |= {
            "objective": float(model.objective_),
            "localities": len(model.localities_),
            "inverse_temperature": float(model.inverse_temperature_),
        }
    return answer


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed goes where errors go
    warnings.simplefilter("ignore")
    import motlm

    print(json.dumps({"motlm": motlm.__file__}), file=answers, flush=True)
    for line in sys.stdin:
        try:
            answer = fit(json.loads(line))
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
