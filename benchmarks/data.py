"""The data sets and splits of the benchmarks: KEEL's files and the paper's synthetic sets, from the folder MOTLM_DATA."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

FOLDER = Path(os.environ.get("MOTLM_DATA", Path(__file__).parents[2] / "shared" / "data"))


@dataclass(frozen=True)
class Split:
    """Training, validation and test rows."""

    X: tuple[np.ndarray, np.ndarray, np.ndarray]
    y: tuple[np.ndarray, np.ndarray, np.ndarray]


def keel(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The numeric rows of a KEEL file after the paper's row steps: no duplicates; for regression the box rule on all columns."""
    [path] = FOLDER.glob(f"keel/*/{name}.dat")
    lines = path.read_text().split("@data")[1].split()
    table = pd.DataFrame([line.split(",") for line in " ".join(lines).replace(", ", ",").split()])
    if path.parent.name == "classification":
        table = table.drop_duplicates()
        return table.iloc[:, :-1].to_numpy(float), table.iloc[:, -1].to_numpy(str)
    table = table.astype(float).drop_duplicates()
    low, high = table.quantile(0.25), table.quantile(0.75)
    reach = 1.5 * (high - low)
    table = table[((table >= low - reach) & (table <= high + reach)).all(axis=1)]
    table = table.loc[:, table.nunique() > 1]
    return table.iloc[:, :-1].to_numpy(), table.iloc[:, -1].to_numpy()


def synthetic(name: str) -> tuple[np.ndarray, np.ndarray]:
    table = pd.read_csv(FOLDER / "synthetic" / f"{name}.csv").to_numpy()
    return table[:, :-1], table[:, -1]


def split(X: np.ndarray, y: np.ndarray, seed: int, classification: bool) -> Split:
    """70 / 15 / 15, as in the paper's experiments."""
    X0, rest, y0, rest_y = train_test_split(X, y, train_size=0.7, random_state=seed, stratify=y if classification else None)
    X1, X2, y1, y2 = train_test_split(rest, rest_y, train_size=0.5, random_state=0, stratify=rest_y if classification else None)
    return Split((X0, X1, X2), (y0, y1, y2))


def published_vif(X: np.ndarray, limit: float = 10.0) -> list[int]:
    """The columns left by the published rule: variance inflation without an intercept; the largest goes while >= 10."""
    kept = list(range(X.shape[1]))
    while len(kept) > 2:
        part = X[:, kept]
        inflation = []
        for j in range(len(kept)):
            others = np.delete(part, j, axis=1)
            residual = part[:, j] - others @ np.linalg.lstsq(others, part[:, j], rcond=None)[0]
            inflation.append((part[:, j] @ part[:, j]) / max(residual @ residual, 1e-300))
        if max(inflation) < limit:
            break
        del kept[int(np.argmax(inflation))]
    return kept
