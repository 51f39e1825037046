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

__all__ = ["LINKS", "Answer", "Curve", "Routine"]

LINKS = ("sign", "largest", "identity", "log")  # that exports and the page can write


@dataclass(frozen=True)
class Answer:
    """What a score answers: with the link "sign" one of two labels, with "largest" the label of the
    largest of several scores, with "identity" score * scale + center, with "log" the exponential of
    that.
    """

    link: str  # one of LINKS
    classes: tuple[Any, ...] | None
    center: float
    scale: float
    tolerance: float  # numbers answered by applicable models contradict each other beyond it

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "link": self.link,
            "classes": None if self.classes is None else list(self.classes),
            "center": self.center,
            "scale": self.scale,
            "tolerance": self.tolerance,
        }


@dataclass(frozen=True, eq=False)
class Curve:
    """What the models' scores have of a column beyond straight lines: lines between the values at
    the knots, and beyond these the first and the last value.
    """

    column: int  # encoded
    knots: Array  # (n_knots,), increasing, in the user's units
    values: Array  # (n_localities + 1, n_knots); of several classes with an axis after the first

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "column": self.column,
            "knots": self.knots.tolist(),
            "values": self.values.tolist(),
        }


@dataclass(frozen=True, eq=False)
class Routine:
    """z = (x - origin) * factor, score_i = coef_i . z + intercept_i + sum of the curves at x,
    locality i contains the row if its radius is positive and its distance from locus i is at most
    the radius. A number that is missing, in a column where that is known, is its `stand_in`, and 1
    in the column after it; a locality whose locus looks at the number does not contain the row.

    Distances are sqrt(sum weight gap^2), sum weight |gap|, max weight |gap| or
    sqrt(gap' matrix gap), for gap = z - center in the columns of the locus.
    """

    groups: tuple[Group, ...]  # the user's columns; levels as plain values
    names: tuple[str, ...]  # of the encoded columns
    handle_unknown: str  # "error" refuses unknown categories, else they become `typical`
    typical: Array  # (n_encoded,), in the user's units
    stand_in: Array  # (n_encoded,), of missing numbers, in the user's units
    origin: Array  # (n_encoded,)
    factor: Array  # (n_encoded,), 0 for columns that are ignored
    loci: tuple[Locus, ...]
    # (n_localities + 1, n_encoded); the last row is the exterior model. Of several classes coef and
    # intercept have an axis of them after the first.
    coef: Array
    intercept: Array  # (n_localities + 1,)
    overlap: str  # "nearest" or "mean"
    answer: Answer
    curves: tuple[Curve, ...] = ()

    @property
    def used(self) -> Integers:
        """The encoded columns that are not ignored, or that a locus looks at."""
        needed = self.factor != 0
        for locus in self.loci:
            needed[locus.columns] = True
        return np.flatnonzero(needed)

    def holes(self, locus: Locus) -> tuple[Group, ...]:
        """The columns of numbers that a locus looks at, and that may be missing; a row that lacks
        one is not in its locality.
        """
        seen = set(locus.columns.tolist())
        return tuple(one for one in self.groups if one.incomplete and one.columns.start in seen)

    @property
    def refuses_unknown(self) -> bool:
        """Whether there is no prediction for a category that fit did not see."""
        return self.handle_unknown == "error"

    @property
    def radius(self) -> Array:
        """(n_localities,), negative for a locality that contains nothing."""
        return np.array([one.radius if one.radius > 0 else -1.0 for one in self.loci], dtype=float)

    @property
    def norms(self) -> tuple[str, ...]:
        """The norms of the loci, each once; "" for one that cannot be written down."""
        return tuple(dict.fromkeys(locus.norm for locus in self.loci))

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON; levels of categories as text."""
        return {
            "groups": [_group(group) for group in self.groups],
            "names": list(self.names),
            "refuses_unknown": self.refuses_unknown,
            "typical": self.typical.tolist(),
            "stand_in": self.stand_in.tolist(),
            "origin": self.origin.tolist(),
            "factor": self.factor.tolist(),
            "loci": [_locus(locus) for locus in self.loci],
            "coef": self.coef.tolist(),
            "intercept": self.intercept.tolist(),
            "curves": [one.to_dict() for one in self.curves],
            "overlap": self.overlap,
            "answer": self.answer.to_dict(),
        }


def _group(group: Group) -> dict[str, Any]:
    levels = None
    if group.levels is not None:  # null is a missing value
        levels = [None if level is None else str(level) for level in group.levels]
    made = {"name": group.name, "start": group.columns.start, "levels": levels}
    return {**made, "incomplete": group.incomplete}


def _locus(locus: Locus) -> dict[str, Any]:
    return {
        "norm": locus.norm,
        "columns": locus.columns.tolist(),
        "center": locus.center.tolist(),
        "weight": None if locus.weight is None else locus.weight.tolist(),
        "matrix": None if locus.matrix is None else locus.matrix.tolist(),
        "radius": float(locus.radius),
    }
