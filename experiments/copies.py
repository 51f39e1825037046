"""Which changes of training rows an audit sees through, and whether it takes fresh rows for copies.

No model is fitted: what is compared are rows, and the fingerprint that a model would store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from motlm.certificates._guards import refuse_training_rows
from motlm.errors import TrainingRowsError
from motlm.fingerprints import Fingerprint

from .tables import grid

Change = Callable[[np.ndarray, np.random.Generator], np.ndarray]
Rows = tuple[np.ndarray, np.ndarray]

WIDTHS, SIZES = (2, 5, 20, 60), (100, 400, 3000)
TRIALS, FRESH_TRIALS = 20, 2000
FRESH = 0.3  # share of fresh rows that are mixed in
SPLITS = ((100, 100), (400, 200), (100, 400), (700, 300), (60, 60))  # rows before and after


def _rounding(decimals: int) -> Change:
    return lambda X, rng: X.round(decimals)


def _noise(share: float) -> Change:
    return lambda X, rng: X + share * X.std(axis=0) * rng.normal(size=X.shape)


def _digits(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.vectorize(lambda value: float(f"{value:.3g}"))(X)


CHANGES: dict[str, Change] = {
    **{f"{n} decimal{'s' if n > 1 else ''}": _rounding(n) for n in (5, 4, 3, 2, 1)},
    **{f"noise of {share:g}": _noise(share) for share in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)},
    "float32": lambda X, rng: X.astype(np.float32).astype(float),
    "three digits": _digits,
}
OUT_OF_REACH: dict[str, Change] = {  # where few columns are left with little information
    "noise of 0.1": _noise(0.1),
    "whole numbers": _rounding(0),
}


def is_refused(before: Rows, after: Rows) -> bool:
    try:
        refuse_training_rows(Fingerprint.of(*before), *after)
    except TrainingRowsError:
        return True
    return False


def _draw(m: int, d: int, rng: np.random.Generator) -> Rows:
    """Continuous columns of deviation 1, and labels that do not depend on them."""
    return rng.normal(size=(m, d)), rng.choice([-1.0, 1.0], m)


def try_changes(d: int, m: int, trial: int) -> dict[tuple[str, bool], bool]:
    """Whether changed training rows are refused: all of them, and some with fresh rows mixed in."""
    rng = np.random.default_rng([d, m, trial])
    X, y = _draw(m, d, rng)
    n_fresh = round(FRESH * m)
    fresh, labels = _draw(n_fresh, d, rng)
    found = {}
    for name, change in (CHANGES | OUT_OF_REACH).items():
        changed = change(X, rng)
        found[name, False] = is_refused((X, y), (changed, y))
        order = rng.permutation(m)
        mixed = np.concatenate([changed[order[n_fresh:]], fresh])
        found[name, True] = is_refused(
            (X, y), (mixed, np.concatenate([y[order[n_fresh:]], labels]))
        )
    return found


def fresh_tables(n: int, m: int, rng: np.random.Generator) -> Iterator[tuple[str, Rows, Rows]]:
    """Tables of several kinds: n rows, and m fresh ones."""
    total = n + m

    def split(name: str, X: np.ndarray, y: np.ndarray) -> tuple[str, Rows, Rows]:
        order = rng.permutation(len(X))
        first, second = order[:n], order[n:total]
        return name, (X[first], y[first]), (X[second], y[second])

    def labels(size: int) -> np.ndarray:
        return rng.choice([-1.0, 1.0], size)

    for d in (1, 2, 8):
        yield split(f"continuous, {d} column{'s' if d > 1 else ''}", *_draw(total, d, rng))
    line = rng.normal(size=(total, 1)) * rng.normal(size=20)
    nearly = line + 1e-3 * rng.normal(size=line.shape)
    yield split("20 columns that are nearly one", nearly, labels(total))
    yield split("integers", rng.poisson(4, size=(total, 4)).astype(float), labels(total))
    levels = rng.integers(0, 4, size=(total, 6)).astype(float)
    yield split("categories", levels, labels(total))
    few = rng.normal(size=(12, 3))[rng.geometric(0.3, total) % 12]
    yield split("twelve different rows", few, labels(total))
    X, y = _draw(total // 2 + 1, 5, rng)
    again = X + 1e-4 * rng.normal(size=X.shape)
    yield split("each client twice", np.tile(X, (2, 1)), np.tile(y, 2))
    yield split("each client twice, measured again", np.vstack([X, again]), np.tile(y, 2))
    X, y = rng.lognormal(0, 2, size=(total // 3 + 1, 3)), labels(total // 3 + 1)
    yield split("each client three times", np.tile(X, (3, 1)), np.tile(y, 3))
    before, after = rng.poisson(20, (n, 2)), 18 + rng.poisson(2, (m, 2))
    yield (
        "integers, later from a denser region",
        (before.astype(float), labels(n)),
        (after.astype(float), labels(m)),
    )
    X, y = _draw(m, 2, rng)
    yield "continuous, later from a denser region", _draw(n, 2, rng), (0.1 * X, y)
    before, after = (
        np.where(rng.random((size, 1)) < share, 0.0, rng.normal(size=(size, 2)))
        for size, share in ((n, 0.02), (m, 0.3))
    )
    yield "empty forms, later more of them", (before, np.ones(n)), (after, np.ones(m))


def try_fresh(trial: int) -> dict[str, bool]:
    n, m = SPLITS[trial % len(SPLITS)]
    rng = np.random.default_rng([7, trial])
    return {name: is_refused(before, after) for name, before, after in fresh_tables(n, m, rng)}


def main(output: Path, jobs: int, quick: bool) -> int:
    """Write both tables; the number of fresh tables that were refused."""
    trials, fresh_trials = (2, 20) if quick else (TRIALS, FRESH_TRIALS)
    every = CHANGES | OUT_OF_REACH
    places = [(d, m) for d in WIDTHS for m in SIZES]
    shares: dict[tuple[str, tuple[int, int]], str] = {}
    for place in places:
        found = Parallel(n_jobs=jobs)(delayed(try_changes)(*place, one) for one in range(trials))
        for name in every:
            part = [round(100 * np.mean([one[name, mix] for one in found])) for mix in (0, 1)]
            shares[name, place] = f"{part[0]}" if part[0] == part[1] else f"{part[0]} / {part[1]}"
    head = ["", *(f"{d} col., {m}" for d, m in places)]
    text = grid(head, [[name, *(shares[name, place] for place in places)] for name in every])
    fresh = Parallel(n_jobs=jobs)(delayed(try_fresh)(trial) for trial in range(fresh_trials))
    refused = {name: sum(one[name] for one in fresh) for name in fresh[0]}
    rows = [[name, str(fresh_trials), str(count)] for name, count in refused.items()]
    alarms = grid(["fresh rows of", "tables", "refused"], rows)
    output.mkdir(parents=True, exist_ok=True)
    (output / "copies.md").write_text(text, encoding="utf-8")
    (output / "copies_fresh.md").write_text(alarms, encoding="utf-8")
    print(f"percent of tables refused\n\n{text}\n{alarms}")
    return sum(refused.values())
