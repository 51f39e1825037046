"""Coverage of the certificates of rates where the truth is known, with controls that must fail.

No model is fitted: what a tariff expects of each row is given, and claims are drawn with a known
ratio of actual to expected; so the true ratio and the true mean of the clipped deviance are known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from motlm.bounds import betting, clopper_pearson
from motlm.certificates import ratio_interval
from motlm.certificates._rates import garwood
from motlm.targets import Rate

from .coverage import limit
from .tables import grid

Draw = Callable[[np.ndarray, np.random.Generator], np.ndarray]

ROWS, RATIO, DELTA, LARGEST, CLIP = 400, 1.2, 0.1, 12.0, 12.0
TRIALS, QUICK, MANY = 1000, 100, 2_000_000


def _poisson(mean: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.poisson(mean).astype(float)


def _mixed(mean: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Negative binomial: rows differ in what no column shows."""
    return rng.poisson(mean * rng.gamma(0.5, 2.0, size=len(mean))).astype(float)


def _pairs(mean: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return 2.0 * rng.poisson(0.5 * mean)


def _none_or_many(mean: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Most rows have no claims at all, whatever is expected."""
    return np.where(rng.random(len(mean)) < 0.25, rng.poisson(4.0 * mean), 0).astype(float)


CASES: dict[str, Draw] = {
    "Poisson": _poisson,
    "negative binomial": _mixed,
    "claims in pairs": _pairs,
    "none or many": _none_or_many,
}
STATEMENTS = (
    "ratio, free",
    "ratio, if Poisson",
    "deviance, by betting",
    "control: the mean deviance seen",
)


def _expected(m: int, rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(0.1, 1.0, size=m)


def _deviances(actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
    return np.minimum(np.maximum(Rate().deviances(actual, expected), 0.0), CLIP)


def true_deviance(case: str) -> float:
    rng = np.random.default_rng(0)
    expected = _expected(MANY, rng)
    return float(_deviances(CASES[case](RATIO * expected, rng), expected).mean())


def covered(case: str, truth: float, trial: int) -> list[bool]:
    """Whether each statement holds for one table."""
    rng = np.random.default_rng([trial, *map(ord, case)])
    expected = _expected(ROWS, rng)
    actual = CASES[case](RATIO * expected, rng)
    free = ratio_interval(actual, expected, DELTA, LARGEST, trial)
    exact = garwood(float(actual.sum()), float(expected.sum()), DELTA)
    deviance = _deviances(actual, expected)
    bound = CLIP * betting(rng.permutation(deviance) / CLIP, DELTA)
    return [
        free[0] <= RATIO <= free[1],
        exact[0] <= RATIO <= exact[1],
        truth <= bound,
        truth <= float(deviance.mean()),
    ]


def judge(failures: Mapping[str, Sequence[int]], trials: int) -> list[str]:
    """What is not as it must be: a statement that failed more often than its limit, of those that
    need no assumption or whose assumption is true, or a control that was not detected.
    """
    most = limit(trials, DELTA)
    beyond = {
        (name, case): failed > most
        for case, row in failures.items()
        for name, failed in zip(STATEMENTS, row, strict=True)
    }
    free, poisson, deviance, control = STATEMENTS
    must_hold = [(name, case) for name in (free, deviance) for case in failures]
    wrong = [f"{name}: {case}" for name, case in must_hold if beyond[name, case]]
    if beyond[poisson, "Poisson"]:
        wrong.append(f"{poisson}: Poisson")
    if not any(beyond[poisson, case] for case in failures if case != "Poisson"):
        wrong.append(f"{poisson}: not detected where claims are not")
    if not any(beyond[control, case] for case in failures):
        wrong.append(f"{control}: not detected")
    return wrong


def main(output: Path, jobs: int, quick: bool) -> int:
    trials, rows = QUICK if quick else TRIALS, []
    counted: dict[str, list[int]] = {}
    for case in CASES:
        truth = true_deviance(case)
        found = Parallel(n_jobs=jobs)(delayed(covered)(case, truth, i) for i in range(trials))
        counted[case] = [trials - int(held) for held in np.sum(found, axis=0)]
        cells = []
        for number in counted[case]:
            most = float(clopper_pearson(number, trials, 0.05))
            cell = f"{100 * number / trials:.1f} (at most {100 * most:.1f})"
            cells.append(f"**{cell}**" if number > limit(trials, DELTA) else cell)
        rows.append([case, *cells])
    text = grid(["failures, %", *STATEMENTS], rows)
    output.mkdir(parents=True, exist_ok=True)
    (output / "coverage_rates.md").write_text(text, encoding="utf-8")
    wrong = judge(counted, trials)
    verdict = f"NOT AS IT MUST BE: {wrong}" if wrong else "all is as it must be"
    print(f"{text}{verdict}")
    return len(wrong)
