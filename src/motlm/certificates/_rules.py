"""Rules that makers of statements and readers of certificates share: flags, ranks of intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..bounds import conformal_rank, rows_needed
from ._words import HEAVY, NOT_BETTER, VACUOUS

if TYPE_CHECKING:
    from ._statements import Statement

__all__ = ["FULL", "flag", "flag_error", "flag_gain", "flag_headline", "interval_rank"]

FULL = 0.9995  # a bound that prints as 100 %
_TAIL = (
    0.05  # share of errors beyond those counted, from which a mean of the others is not informative
)


def flag(value: float, share: float | None, name: str) -> tuple[str, ...]:
    """The flag of an upper bound on a share, if it has one; beside the share of a baseline."""
    if value >= FULL:
        return (VACUOUS,)
    if share is not None and value >= share:
        return (NOT_BETTER.format(name.upper()),)
    return ()


def flag_headline(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """With the flag on the error rate where the statement about the gain over the same baseline
    certifies none: a limit below what the baseline was seen to have may be chance.
    """
    lost = {
        one.baseline_name
        for one in statements
        if one.name == "gain" and one.value is not None and one.value <= 0
    }
    return tuple(
        replace(one, flags=(NOT_BETTER.format(one.baseline_name.upper()),))
        if one.name == "hold-out" and not one.flags and one.baseline_name in lost
        else one
        for one in statements
    )


def flag_gain(value: float, name: str) -> tuple[str, ...]:
    """The flag of a lower bound on the gain over a rival."""
    return () if value > 0 else (NOT_BETTER.format(name.upper()),)


def flag_error(vacuous: bool, worse: bool, tail: float) -> tuple[str, ...]:
    """The flag of a bound on a mean of errors that are counted up to a size."""
    if vacuous:
        return (VACUOUS,)
    if worse:
        return (NOT_BETTER.format("THE MEAN TARGET"),)
    return (HEAVY,) if tail > _TAIL else ()


def interval_rank(n_rows: int, coverage: float, delta: float, marginal: bool) -> tuple[int, int]:
    """Which of the sorted errors is the half-width, and how many rows are needed for one."""
    miss = 1.0 - coverage
    if marginal:
        rank = int(np.ceil((n_rows + 1) * coverage - 1e-9))
        return rank, int(np.ceil(coverage / miss - 1e-9))
    return int(conformal_rank(max(n_rows, 1), miss, delta)), int(rows_needed(miss, delta))
