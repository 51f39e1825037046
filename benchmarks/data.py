"""The data sets and splits of the benchmarks: KEEL's files and the paper's synthetic sets, from the
folder MOTLM_DATA.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from motlm.datasets import load_keel, load_published
from motlm.preprocessing import Parts, clean, prepare, three_parts

FOLDER = Path(os.environ.get("MOTLM_DATA", Path(__file__).parents[2] / "shared" / "data"))


def keel(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a numeric data set after the paper's row filters, in its own units."""
    bunch = load_keel(name, as_frame=True, data_home=FOLDER)
    table = clean(bunch.frame, box=bunch.task == "regression")
    [target] = bunch.target_names
    kind = float if bunch.task == "regression" else str
    return table.drop(columns=target).to_numpy(float), table[target].to_numpy().astype(kind)


def prepare_split(name: str, seed: int) -> Parts:
    """A split of a data set in the paper's preparation."""
    bunch = load_keel(name, as_frame=True, data_home=FOLDER)
    return prepare(bunch.frame, bunch.target_names[0], seed, protocol="paper")


def synthetic(name: str) -> tuple[np.ndarray, np.ndarray]:
    return load_published(name, data_home=FOLDER)


def split(X: np.ndarray, y: np.ndarray, seed: int, classification: bool) -> Parts:
    return three_parts(X, y, seed, stratify=classification)
