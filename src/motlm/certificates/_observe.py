"""What a mixture makes of rows that were not used for fitting it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._typing import Array, Booleans, Integers
from ..errors import InputError, MotlmWarning
from ..fingerprints import row_keys
from ..mixture import Mixture
from ._guards import note_unlabeled
from ._models import rows_of_core
from ._records import Subject

__all__ = ["encode", "look", "observe_unlabeled"]


def encode(subject: Subject, X: Any, what: str = "X") -> tuple[Array, list[str | None]]:
    """Rows as the mixture has them, by the encoding that was learned in fit; with notes about
    categories that it did not see.
    """
    mixture = subject.mixture
    assert mixture is not None
    rows = rows_of_core(subject.model, X)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MotlmWarning)
        encoded = mixture.encode(rows, what)
    notes: list[str | None] = []
    for one in caught:
        if isinstance(one.message, MotlmWarning):
            notes.append(one.message.text)
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return encoded, notes


def look(mixture: Mixture, encoded: Array) -> tuple[Integers, Booleans]:
    """The model used for each row, and whether applicable models contradict each other."""
    views = [(view.used, view.contradicted) for view in mixture.views(encoded)]
    used, contradicted = zip(*views, strict=True)
    return np.concatenate(used), np.concatenate(contradicted)


def observe_unlabeled(
    subject: Subject, X: Any, *labeled: Array | None
) -> tuple[Booleans | None, list[str | None]]:
    """Where local models contradict each other on further rows, and notes."""
    if X is None:
        return None, []
    mixture = subject.mixture
    if mixture is None:
        raise InputError(
            "X_unlabeled serves to count contradictions between local models; this model has none."
        )
    encoded, notes = encode(subject, X, "X_unlabeled")
    keys = [row_keys(one) for one in labeled if one is not None]
    notes.append(note_unlabeled(row_keys(encoded), *keys))
    return look(mixture, encoded)[1], notes
