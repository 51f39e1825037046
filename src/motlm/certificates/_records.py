"""What is known of a model and of rows, as small records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._typing import AnyArray, Array, Booleans, Integers
from ..errors import InputError
from ..mixture import Mixture

__all__ = [
    "POPULATION",
    "Baseline",
    "Observed",
    "Options",
    "Rival",
    "Sizes",
    "Subject",
    "Training",
    "Words",
]

POPULATION = "future cases drawn like these"


@dataclass(frozen=True)
class Options:
    """What a user chooses about statements, whatever the protocol."""

    tolerance: float | None = None
    clip: float | None = None
    coverage: float = 0.9
    marginal: bool = False
    X_unlabeled: Any = None
    population: str = POPULATION
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Baseline:
    """The trivial predictor, which always gives one answer."""

    share: float | None = None  # how often it errs on the rows
    name: str = ""
    label: str = ""  # the label that it answers


@dataclass(frozen=True, eq=False)
class Training:
    """What is known of the rows used for fitting."""

    encoded: Array | None = None
    codes: Array | None = None  # targets as the mixture's objective has them
    usual: Any = None  # the most frequent label, the mean target
    scale: float | None = None  # deviation of a regression's target


@dataclass(frozen=True, eq=False)
class Subject:
    """The model that is certified."""

    model: Any
    mixture: Mixture | None  # that decides in the end
    classification: bool
    hash: str
    training: Training


@dataclass(frozen=True, eq=False)
class Rival:
    """Another predictor of the same rows."""

    name: str
    answers: AnyArray


@dataclass(frozen=True, eq=False)
class Observed:
    """Rows that were not used for fitting, and the model's answers."""

    y: AnyArray
    answers: AnyArray
    rivals: tuple[Rival, ...] = ()
    encoded: Array | None = None  # this and the next three: of a mixture
    codes: Array | None = None
    used: Integers | None = None  # index of the model used for each row
    contradicted: Booleans | None = None  # whether applicable models contradict each other
    unlabeled: Booleans | None = None  # the same on further rows


@dataclass(frozen=True)
class Sizes:
    """Which errors of a regression count, and what its intervals have to contain."""

    tolerance: float | None
    clip: float | None
    coverage: float
    marginal: bool

    def need(self, name: str) -> float:
        """The tolerance, or the clip; an error where there is none."""
        value = getattr(self, name)
        if value is None:
            raise InputError(
                f"{name} is needed for this kind of model: a size of errors in the units of y,"
                " chosen beforehand."
            )
        return float(value)


@dataclass(frozen=True)
class Words:
    """What the sentences call things, how the rows were chosen, and what looked odd in them."""

    population: str
    rows: str
    protocol: str
    notes: tuple[str, ...] = ()
    on_trust: bool = False  # whether that the rows were not used for fitting was not checked
    grouped: bool = False  # whether they are one row of each of several groups
