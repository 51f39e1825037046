"""Quality of the minima: objectives on split 0, all features standardized, lambda in units of the
number of training rows.
"""

from __future__ import annotations

import warnings

from data import keel, split
from table import Table

from motlm import LocalMixtureClassifier

TARGETS = (
    ("banana", 2, "unit", 1.0, 0.169),
    ("banana", 2, "unit", 2.0, 0.148),
    ("banana", 2, "unit", 4.0, 0.136),
    ("banana", 2, "free", 1.0, 0.122),
    ("banana", 2, "free", 2.0, 0.1143),
    ("banana", 2, "free", 4.0, 0.1102),
    ("phoneme", 2, "unit", 1.0, 0.1992),
    ("phoneme", 2, "unit", 2.0, 0.188),
    ("phoneme", 2, "free", 1.0, 0.1918),
    ("phoneme", 2, "free", 3.0, 0.180),
    ("ring", 1, "unit", 2.0, 0.0414),
    ("ring", 1, "free", 2.0, 0.0295),
    ("ring", 1, "free", 1.0, 0.0384),
    ("twonorm", 1, "free", 1.0, 0.0285),
    ("banana", "auto", "free", 1.0, 0.120),
)
SEEDS = 20


def objective(name: str, n: int | str, coef_scale: str, value: float, seed: int = 0) -> float:
    X, y = keel(name)
    part = split(X, y, 0, True)
    model = LocalMixtureClassifier(
        n,
        loss="zero-one",
        coef_scale=coef_scale,
        inverse_temperature=value,
        select="bound",
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(model.fit(part.X[0], part.y[0]).objective_)


def default_objectives(seed: int) -> dict[str, float]:
    """The best objective of a default fit at each lambda', on the same rows for every seed."""
    X, y = keel("banana")
    part = split(X, y, 0, True)
    model = LocalMixtureClassifier(2, loss="zero-one", random_state=seed).fit(
        part.X[0], part.y[0], X_val=part.X[1], y_val=part.y[1]
    )
    return {
        f"{one.inverse_temperature:g}": one.objective
        for one in model.path_
        if one.stage == "search" and one.rank == 0
    }


def run(table: Table, quick: bool) -> None:
    for name, n, scale, value, target in TARGETS[3:4] + TARGETS[11:12] if quick else TARGETS:
        found = table.measure(
            f"objective {name} {n} {scale} {value}", lambda a=(name, n, scale, value): objective(*a)
        )
        table.row(
            f"objective, {name}, n = {n}, coef_scale {scale}, lambda' = {value:g}",
            found,
            f"<= {target}",
            ".4f",
        )
    seeds = range(2 if quick else SEEDS)
    every = [
        table.measure(f"seed {seed}", lambda seed=seed: default_objectives(seed)) for seed in seeds
    ]
    spread = max(
        max(one[value] for one in every) / min(one[value] for one in every) - 1
        for value in every[0]
    )
    table.row(
        f"spread of the objective over {len(seeds)} seeds, banana, n = 2", spread, "<= 0.03", ".4f"
    )
