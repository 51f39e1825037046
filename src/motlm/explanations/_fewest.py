"""The fewest columns whose change gives another answer, and round numbers that still give it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from math import floor, log10

import numpy as np

from .._typing import Array, Integers
from ._limits import Limits
from ._search import Found, Search

__all__ = ["fewest", "nearest", "round_row"]

_DIGITS = 6  # of numbers that change
_MOST_DIGITS = 17
_ROUNDED = 6  # columns whose numbers are rounded up and down in all combinations


def fewest(searches: list[Search], most: int) -> Found:
    """The nearest row that has the answer, among those with the fewest changes. Changes of more
    than `most` columns are looked at where there are no others: all of them as long as they are
    not too many, then those of the columns that can do most.
    """
    found, none_of_few = Found(), False
    for count in range(1, max(search.n_changeable for search in searches) + 1):
        more = count > most
        if more and not (found.exact and all(one.is_small(count) for one in searches)):
            break
        for search in searches:
            found = search.best_of(count, found)
        if found.row is not None:
            return replace(found, more=more, none_of_few=none_of_few)
        none_of_few = found.exact if count <= most else none_of_few
    else:
        return found
    return _more(searches, replace(found, none_of_few=none_of_few, more=True), count)


def nearest(searches: list[Search]) -> Found:
    """The nearest row that has the answer, however many columns change; where the search for it
    ends without one, any such row.
    """
    found = Found()
    for search in searches:
        found = search.best(found)
    if found.row is None and not found.exact:
        return _strong(searches, found, 1)
    return found


def _more(searches: list[Search], found: Found, count: int) -> Found:
    """A row with at least so many changes, which is not proved to have the fewest; where there is
    none, the nearest row of all.
    """
    strong = _strong(searches, found, count)
    if strong.row is not None:
        return strong
    found = replace(strong, exact=True)
    for search in searches:
        found = search.best(found)
    return found if found.row is None else replace(found, exact=False)


def _strong(searches: list[Search], found: Found, count: int) -> Found:
    """A row in which the columns change that can do most, at least so many of them."""
    for more in range(count, max(int(search.free.sum()) for search in searches) + 1):
        for search in searches:
            found = search.strongest(more, found)
        if found.row is not None:
            break
    return replace(found, exact=False)


def round_row(row: Array, start: Array, limits: Limits, accept: Callable[[Array], bool]) -> Array:
    """With numbers that changed rounded to six significant digits, or to as many as are needed for
    the row to be accepted; of several such rows the nearest to the one given.
    """
    moved = np.flatnonzero(limits.numeric & (row != start))
    moved = moved[~np.isin(moved, limits.whole)]
    if not len(moved):
        return row
    for digits in range(_DIGITS, _MOST_DIGITS):
        rounded = [
            one for one in _rounded(row, start, moved, digits) if _within(one, moved, limits)
        ]
        size = np.maximum(np.abs(row[moved]), np.finfo(float).tiny)
        rounded.sort(key=lambda one: float((np.abs(one - row)[moved] / size).sum()))
        for one in rounded:
            if accept(one):
                return one
    return row


def _rounded(row: Array, start: Array, moved: Integers, digits: int) -> Iterator[Array]:
    """With these numbers rounded up and down; of many, all away from the start or to the
    nearest.
    """
    pairs = [_neighbors(float(row[j]), digits) for j in moved]
    if len(moved) > _ROUNDED:
        away = [pair[int(row[j] > start[j])] for j, pair in zip(moved, pairs, strict=True)]
        nearest = [float(f"{row[j]:.{digits - 1}e}") for j in moved]
        choices = [tuple(away), tuple(nearest)]
    else:
        choices = list(product(*pairs))
    for values in choices:
        made = row.copy()
        made[moved] = values
        yield made


def _neighbors(value: float, digits: int) -> tuple[float, float]:
    """The numbers of so many digits below and above."""
    if value == 0.0:
        return 0.0, 0.0
    place = digits - 1 - floor(log10(abs(value)))
    near = float(f"{value:.{digits - 1}e}")
    step = 10.0**-place
    below, above = (near - step, near) if near > value else (near, near + step)
    if near == value:
        return near, near
    return float(f"{below:.{digits - 1}e}"), float(f"{above:.{digits - 1}e}")


def _within(row: Array, moved: Integers, limits: Limits) -> bool:
    inside = (row >= limits.low) & (row <= limits.high)
    return bool(inside[moved].all())
