"""What all languages need: the routine of a model that they can write."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ExportError
from ..mixture import mixture_of
from ..routine import LINKS, Curve, Routine

__all__ = ["is_shared", "routine_of"]

_SAME = 1e-13  # relative; products of matrices differ in the last bits from row to row


def routine_of(model: Any, norms: tuple[str, ...], language: str) -> Routine:
    """How an estimator or a mixture predicts; an error if a norm or a link cannot be written."""
    mixture = mixture_of(model)
    mixture.refuse_transformer(f"the export to {language}")
    routine = mixture.routine()
    if not all(norm in norms for norm in routine.norms):
        raise ExportError(
            f"a model with metric={mixture.geometry.metric_name!r} cannot be exported to"
            f" {language}, which can write the norms {', '.join(norms)}."
        )
    if routine.answer.link not in LINKS:
        raise ExportError(
            f"answers with the link {routine.answer.link!r} cannot be exported to {language}, which"
            f" can write the links {', '.join(LINKS)}."
        )
    return routine


def is_shared(curve: Curve) -> bool:
    """Whether all models have the same curve, as corrections of one exterior model do."""
    gap = np.abs(curve.values - curve.values[-1:]).max(initial=0.0)
    return bool(gap <= _SAME * np.abs(curve.values).max(initial=0.0))
