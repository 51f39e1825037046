"""Hypothesis strategies: the same cases as those of a run, drawn and reduced by hypothesis."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from .chance import Chance
from .csvs import Made, hostile_table
from .files import hostile_file
from .fits import Fit, hostile_fit
from .keel import hostile_keel

__all__ = ["chances", "fits", "keel_texts", "model_files", "tables"]


def chances() -> st.SearchStrategy[Chance]:
    """Random choices of which hypothesis sees every one, so that it can reduce a case."""

    def chance(source: Random) -> Chance:
        return Chance(source, shrinking=True)

    return st.randoms(use_true_random=False).map(chance)


def model_files() -> st.SearchStrategy[bytes]:
    return chances().map(hostile_file)


def keel_texts() -> st.SearchStrategy[bytes]:
    return chances().map(hostile_keel)


def tables() -> st.SearchStrategy[Made]:
    return chances().map(hostile_table)


def fits() -> st.SearchStrategy[Fit]:
    return chances().map(hostile_fit)
