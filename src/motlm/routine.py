"""How a mixture predicts, written down in plain numbers.

The exports to Python, SQL and ONNX and the page of a report are generated from this one
description: encode the columns, standardize them, measure the distance to each locality, compute
the scores, choose the model used, and answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._typing import Array, Integers
from .geometry import Locus
from .inputs import Group

__all__ = ["Answer", "Routine"]


@dataclass(frozen=True)
class Answer:
    """What a score answers: one of two labels by its sign, or score * scale + center."""

    classes: tuple[Any, ...] | None
    center: float
    scale: float
    tolerance: float  # scores of applicable models that are further apart contradict each other


@dataclass(frozen=True, eq=False)
class Routine:
    """z = (x - origin) * factor, score_i = coef_i . z + intercept_i, locality i contains the row if
    its distance from locus i is at most the radius.
    """

    groups: tuple[Group, ...]  # the user's columns; levels as plain values
    names: tuple[str, ...]  # of the encoded columns
    handle_unknown: str  # "error" refuses unknown categories, else they become `typical`
    typical: Array  # (n_encoded,), in the user's units
    origin: Array  # (n_encoded,)
    factor: Array  # (n_encoded,), 0 for columns that are ignored
    loci: tuple[Locus, ...]
    coef: Array  # (n_localities + 1, n_encoded); the last row is the exterior model
    intercept: Array  # (n_localities + 1,)
    overlap: str  # "nearest" or "mean"
    answer: Answer

    @property
    def used(self) -> Integers:
        """The encoded columns that are not ignored."""
        return np.flatnonzero(self.factor)

    @property
    def norms(self) -> tuple[str, ...]:
        """The norms of the loci, each once; "" for one that cannot be written down."""
        return tuple(dict.fromkeys(locus.norm for locus in self.loci))
