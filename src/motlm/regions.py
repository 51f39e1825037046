"""Where a locality lies, in words: "age 18 to 30 and power above 80"."""

from __future__ import annotations

import math

import numpy as np

from ._typing import Array
from .inputs import Group, Inputs

__all__ = ["describe_box"]

_SHOWN = 3  # columns that are named
_DIGITS = 2  # of a width, to which its ends are rounded


def describe_box(inputs: Inputs, center: Array, half: Array, low: Array, high: Array) -> str:
    """The columns that limit a locality, with its ends in the user's units.

    Parameters
    ----------
    inputs : Inputs
    center, half : ndarray, (n_encoded,)
        How far it reaches along each column; infinite along a column that it does not look at.
    low, high : ndarray, (n_encoded,)
        Of the training rows: an end beyond these is not told.

    Returns
    -------
    str
    """
    parts: list[tuple[float, str]] = []
    for group in inputs.groups:
        for j in range(group.columns.start, group.columns.stop):
            if not np.isfinite(half[j]):
                continue
            ends = float(center[j] - half[j]), float(center[j] + half[j])
            spread = float(high[j] - low[j])
            text = (
                _level(group, j, ends)
                if group.levels is not None
                else _range(group.name, ends, float(low[j]), float(high[j]))
            )
            share = (min(ends[1], high[j]) - max(ends[0], low[j])) / spread if spread > 0 else 1.0
            if text:
                parts.append((share, text))
    if not parts:
        return "all rows"
    kept = sorted(range(len(parts)), key=lambda k: parts[k][0])[:_SHOWN]
    texts = [parts[k][1] for k in sorted(kept)]
    more = len(parts) - len(texts)
    if more:
        texts.append(f"{more} more column{'s' if more > 1 else ''} in range")
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def _range(name: str, ends: tuple[float, float], low: float, high: float) -> str:
    """Of a number; empty where it does not limit anything."""
    below, above = ends[0] <= low, ends[1] >= high
    if below and above:
        return ""
    first, last = (_round(end, ends[1] - ends[0]) for end in ends)
    if below:
        return f"{name} up to {last}"
    if above:
        return f"{name} above {first}"
    return f"{name} {first} to {last}"


def _level(group: Group, j: int, ends: tuple[float, float]) -> str:
    """Of a level, there (1) or not (0)."""
    assert group.levels is not None
    has, lacks = ends[0] <= 1.0 <= ends[1], ends[0] <= 0.0 <= ends[1]
    level = group.levels[j - group.columns.start + 1]
    if has == lacks:
        return ""
    if has:
        return f"{group.name} {level}"
    other = group.levels[0] if len(group.levels) == 2 else f"not {level}"
    return f"{group.name} {other}"


def _round(value: float, width: float) -> str:
    """To so many digits of the width."""
    place = _DIGITS - 1 - math.floor(math.log10(width)) if width > 0 else 6
    rounded = round(value, place)
    return f"{rounded:.{max(place, 0)}f}" if place > 0 else f"{rounded:.0f}"
