"""The data sets and splits of the benchmarks: KEEL's files and the paper's synthetic sets, from the
folder MOTLM_DATA.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes

from motlm.datasets import load_keel, load_published
from motlm.preprocessing import Parts, clean, prepare, three_parts

FOLDER = Path(os.environ.get("MOTLM_DATA", Path(__file__).parents[2] / "shared" / "data"))


def keel(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a numeric data set after the paper's row filters, in its own units."""
    X, y = keel_frame(name)
    return X.to_numpy(float), y


def keel_frame(name: str) -> tuple[Any, np.ndarray]:
    """The same for any data set, in its columns: numbers and categories."""
    bunch = load_keel(name, as_frame=True, data_home=FOLDER)
    table = clean(bunch.frame, box=bunch.task == "regression")
    [target] = bunch.target_names
    kind = float if bunch.task == "regression" else str
    return table.drop(columns=target), table[target].to_numpy().astype(kind)


def adult() -> tuple[Any, np.ndarray]:
    """UCI's Adult, training part, without the survey's weights and the second column of education.

    A missing value ("?") is a category.
    """
    frame = pd.read_csv(FOLDER / "tables" / "adult_train.csv.gz")
    y = frame["income"].to_numpy().astype(str)
    X = frame.drop(columns=["income", "fnlwgt", "education"])
    words = [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]
    return X.astype(dict.fromkeys(words, "category")), y


def diabetes() -> tuple[Any, np.ndarray]:
    return load_diabetes(return_X_y=True)


def plain(name: str) -> tuple[Any, np.ndarray]:
    """A whole table as a user would give it, without a split."""
    others = {"adult": adult, "diabetes": diabetes}
    return others[name]() if name in others else keel_frame(name)


def prepare_split(name: str, seed: int) -> Parts:
    """A split of a data set in the paper's preparation."""
    bunch = load_keel(name, as_frame=True, data_home=FOLDER)
    return prepare(bunch.frame, bunch.target_names[0], seed, protocol="paper")


def synthetic(name: str) -> tuple[np.ndarray, np.ndarray]:
    return load_published(name, data_home=FOLDER)


def split(X: np.ndarray, y: np.ndarray, seed: int, classification: bool) -> Parts:
    return three_parts(X, y, seed, stratify=classification)
