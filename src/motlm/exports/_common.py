"""What all languages need: the routine of a model that they can write."""

from __future__ import annotations

from typing import Any

from ..errors import ExportError
from ..mixture import mixture_of
from ..routine import LINKS, Routine

__all__ = ["routine_of"]


def routine_of(model: Any, norms: tuple[str, ...], language: str) -> Routine:
    """How an estimator or a mixture predicts; an error if a norm or a link cannot be written."""
    mixture = mixture_of(model)
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
