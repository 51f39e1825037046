"""The user's columns in a report: what the form needs of each, and what the rows of a region are
like.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import AnyArray, Array, Booleans
from ..frames import floats_of, is_missing
from ..inputs import Group
from ..tables import item, number

__all__ = ["FEW", "describe", "summarize"]

FEW = 10  # rows below which nothing is shown of a region, unless rows may be shown
_CENTRAL = (0.1, 0.5, 0.9)
_FREQUENT = 3  # levels that are shown


def describe(group: Group, values: AnyArray, exact: bool) -> dict[str, Any]:
    """What the form needs: the usual value, and a range. Without rows it is rounded and leaves out
    the ends, which are single rows'.
    """
    if group.levels is not None:
        counts = [int(np.sum(values == level)) for level in group.levels]
        if group.levels[-1] is None:
            counts[-1] = int(is_missing(values).sum())
        usual = group.levels[int(np.argmax(counts))]
        return {"name": group.name, "usual": None if usual is None else str(item(usual))}
    numbers = _numbers(values)
    whole = bool(np.all(numbers == np.rint(numbers)))
    low, middle, high = np.quantile(numbers, [0.0, 0.5, 1.0] if exact else [0.02, 0.5, 0.98])
    if not exact:
        spread = max(high - low, 1e-12 * max(abs(high), 1.0))
        step = 10.0 ** np.floor(np.log10(spread / 20.0))
        low, high = np.floor(low / step) * step, np.ceil(high / step) * step
        middle = np.rint(middle / step) * step
    if whole:
        low, middle, high = np.floor(low), np.rint(middle), np.ceil(high)
    digits = 12 if exact else 6
    low, middle, high = (float(f"{value:.{digits}g}") + 0.0 for value in (low, middle, high))
    return {"name": group.name, "usual": middle, "low": low, "high": high, "whole": whole}


def summarize(
    groups: tuple[Group, ...], columns: dict[str, AnyArray], inside: Booleans
) -> list[dict[str, str]]:
    """Ranges of the middle rows of a region, from which no single row can be read; nothing if it
    has very few.
    """
    if inside.sum() < FEW:
        return []
    return [
        {"feature": group.name, "text": _summary(group, columns[group.name][inside])}
        for group in groups
    ]


def _numbers(values: AnyArray) -> Array:
    """Those that are not missing; 0 if all are."""
    numbers = floats_of(values)
    numbers = numbers[~np.isnan(numbers)]
    return numbers if len(numbers) else np.zeros(1)


def _summary(group: Group, values: AnyArray) -> str:
    if group.levels is None:
        low, middle, high = np.quantile(_numbers(values), _CENTRAL)
        lost = int(is_missing(values).sum())
        more = f", missing {lost / len(values):.0%}" if lost else ""
        return f"{number(middle)} ({number(low)} to {number(high)}){more}"
    told = [
        "missing" if lost else str(item(one))
        for one, lost in zip(values, is_missing(values), strict=True)
    ]
    names, counts = np.unique(told, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:_FREQUENT]
    return ", ".join(f"{names[k]} {counts[k] / len(values):.0%}" for k in order)
