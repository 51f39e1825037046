"""What is known of a model and of rows that were not used for fitting it; statements are made from
it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import AnyArray, Array, Booleans
from ..overlap import Overlap
from ._randomized import Randomized
from ._records import Baseline, Observed, Sizes, Subject, Words
from ._statements import Statement
from ._words import GROUPED, INDEPENDENT, MAJORITY, NOT_USED, ON_TRUST

__all__ = ["Evidence", "majority_of"]

_LONGEST = 60  # characters of a label in a sentence


def majority_of(labels: AnyArray) -> Baseline:
    """The most frequent of these labels as the answer to all of them."""
    every, counts = np.unique(labels, return_counts=True)
    k = int(counts.argmax())
    shown = repr(every.tolist()[k])
    if len(shown) > _LONGEST:
        shown = f"{shown[:_LONGEST]}.."
    return Baseline(1.0 - float(counts[k] / counts.sum()), MAJORITY, shown)


def _averages(overlap: Overlap) -> bool:
    """Whether several models are used together for a row that is in several localities."""
    both = np.ones((2, 1), dtype=bool)
    return bool(overlap.choose(np.zeros((2, 1)), both)[0] < 0)


@dataclass(frozen=True, eq=False)
class Evidence:
    """A model, and its answers on rows that were not used for fitting it."""

    subject: Subject
    observed: Observed
    sizes: Sizes
    words: Words
    seed: int
    randomized: Randomized | None = None  # None where there is no prior for PAC-Bayes

    @property
    def n_localities(self) -> int:
        mixture = self.subject.mixture
        return 0 if mixture is None else mixture.n_localities

    @property
    def has_points(self) -> bool:
        """Whether centers were given, by a person."""
        mixture = self.subject.mixture
        return mixture is not None and mixture.n_localities > 0 and not mixture.geometry.sought

    @property
    def residual(self) -> Array:
        return np.subtract(self.observed.answers, self.observed.y, dtype=float)

    @property
    def errs(self) -> Booleans:
        """Of a regressor: being off by more than the tolerance."""
        if self.subject.classification:
            return np.asarray(self.observed.answers != self.observed.y)
        return np.asarray(~(np.abs(self.residual) <= self.sizes.need("tolerance")))

    @property
    def loss(self) -> str:
        if self.subject.classification:
            return "errs"
        return f"is off by more than {self.sizes.need('tolerance'):.15g}"

    @property
    def baseline(self) -> Baseline:
        """Of classifiers the label that is the most frequent on these rows, and not the one that
        was by chance the most frequent on those of the fit: no constant answer is better here, so
        that a model is not compared with a bad one.
        """
        y, training = self.observed.y, self.subject.training
        if self.subject.classification:
            return majority_of(y)
        if training.usual is None:
            return Baseline()
        off = np.abs(np.asarray(y, dtype=float) - training.usual) > self.sizes.need("tolerance")
        return Baseline(float(np.mean(off)), "the mean target")

    def regions(self) -> list[tuple[int | None, str, Booleans]]:
        """Index of the model used, words and rows of each region."""
        mixture, used = self.subject.mixture, self.observed.used
        if mixture is None or used is None:
            return [(None, "", np.ones(len(self.observed.y), dtype=bool))]
        n = mixture.n_localities
        names = {i: f"where the model of locality {i} is used" for i in range(n)}
        if n > 1 and _averages(mixture.overlap):
            names[-1] = "where the models of several localities are averaged"
        names[n] = "where the exterior model is used" if n else "everywhere"
        return [(i, name, np.asarray(used == i)) for i, name in names.items()]

    def state(
        self, *, not_used: str = NOT_USED, assumptions: tuple[str, ...] = (), **entries: Any
    ) -> Statement:
        """A statement of these rows; about the fixed model unless another is given."""
        trust = (ON_TRUST,) if self.words.on_trust else ()
        drawn = GROUPED if self.words.grouped else INDEPENDENT
        known: dict[str, Any] = {
            "n_rows": len(self.observed.y),
            "model": self.subject.hash,
            "predictor": "fixed",
            "population": self.words.population,
            "rows": self.words.rows,
            "assumptions": (drawn, not_used, *trust, *assumptions),
            "on_trust": self.words.on_trust,
        }
        return Statement(**(known | entries))
