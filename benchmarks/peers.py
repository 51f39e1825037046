"""Fit times beside explainable boosting (EBM) and histogram gradient boosting, each with its
defaults on all cores, by turns in one run.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from statistics import median
from typing import Any

import joblib
from data import plain
from environments import present
from processes import Tables, Worker
from table import Table

from motlm.datasets import KEEL

NAMES = (*(one.name for one in KEEL), "adult")
MODELS: dict[str, tuple[tuple[str, str], dict[str, Any]]] = {
    "motlm": (("motlm:LocalMixtureClassifier", "motlm:LocalMixtureRegressor"), {"n_jobs": -1}),
    "EBM": (
        (
            "interpret.glassbox:ExplainableBoostingClassifier",
            "interpret.glassbox:ExplainableBoostingRegressor",
        ),
        {"n_jobs": -1},
    ),
    "HistGradientBoosting": (
        (
            "sklearn.ensemble:HistGradientBoostingClassifier",
            "sklearn.ensemble:HistGradientBoostingRegressor",
        ),
        {"categorical_features": "from_dtype"},
    ),
}
WARM_UP = {"EBM": {"max_rounds": 10}}  # its fits of 200 rows take as long as those of all
# Its threads wait for each other in a loop: with other load on the machine, all cores can take many
# times as long as one. The faster of the two counts.
THREADS = {"HistGradientBoosting": (1, None)}


def run(table: Table, quick: bool, pairs: int = 5) -> None:
    models = dict(MODELS)
    if find_spec("interpret") is None:
        print('EBM is left out, it is not installed: pip install "motlm[peers]"')
        del models["EBM"]
    cores = str(joblib.cpu_count())
    with Tables(plain) as tables, Worker(present(), OMP_NUM_THREADS=cores) as worker:

        def turn(name: str, i: int) -> dict[str, float]:
            """Seconds of one fit of each model; the order changes from turn to turn."""
            order = list(models)[i % len(models) :] + list(models)[: i % len(models)]
            seconds = {}
            for model in order:
                estimators, parameters = models[model]
                job = tables.job(
                    name, estimators, WARM_UP.get(model, {}), **parameters, random_state=0
                )
                seconds[model] = min(
                    worker.fit(job | {"threads": threads})["seconds"]
                    for threads in THREADS.get(model, (None,))
                )
                print(f"  {name}, {i}: {model} {seconds[model]:.3g} s", file=sys.stderr, flush=True)
            return seconds

        for name in ("german",) if quick else NAMES:
            turns = [
                table.measure(f"peers {name} {i}", lambda name=name, i=i: turn(name, i))
                for i in range(pairs)
            ]
            show(table, name, turns)


def show(table: Table, name: str, turns: list[dict[str, float]]) -> None:
    """The median seconds of each model, and their ratios."""
    known = [model for model in MODELS if all(model in turn for turn in turns)]
    seconds = {model: median(turn[model] for turn in turns) for model in known}
    table.row(f"default fit, {name}, all cores, s", seconds["motlm"])
    for model in known[1:]:
        table.row(f"  {model}, s", seconds[model])
    if "EBM" in seconds:
        table.row("  EBM / motlm", seconds["EBM"] / seconds["motlm"], ">= 1")
    table.row(
        "  motlm / HistGradientBoosting",
        seconds["motlm"] / seconds["HistGradientBoosting"],
        "<= 10",
    )
