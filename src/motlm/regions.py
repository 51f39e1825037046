"""Where a locality lies, in words: "age 18 to 30 and power above 80"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from ._typing import Array, Booleans
from .inputs import Group, Inputs

__all__ = ["Box", "describe_box", "is_indicator", "join_words"]

_SHOWN = 3  # columns that are named
_WORDS = 18  # of a description, so that a sentence around it has at most 25
_DIGITS = 2  # of a width, to which its ends are rounded
_MOST_DIGITS = 15
_EXACT = 1000.0  # width up to which whole numbers are told exactly
_LEVELS = 2  # of a category that are named
_NOTICED = 0.2  # of the squared radius that a column takes from the others: 10 % of their widths
_SAME = 1e-9  # relative
_USUAL = 4.0  # standard deviations, for the range of a column that is not known


@dataclass(frozen=True, eq=False)
class Box:
    """sum ((x - center) / half)^2 <= 1 over the columns with a finite `half`, as people read it.

    Each column is told as far as the locality reaches along it, where the other columns are as near
    to the center as rows can be; an end beyond the rows is not told. A whole number, or a level, is
    told exactly; other ends to two digits of the width.

    Attributes
    ----------
    inputs : Inputs
    center, half : ndarray, (n_encoded,)
        How far it reaches along each column; infinite along a column that it does not look at.
    low, high : ndarray, (n_encoded,), or None
        Of the training rows; None where they are not known.
    whole : ndarray of bool, (n_encoded,), or None
        The columns that hold whole numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm import LocalMixtureRegressor
    >>> from motlm.regions import Box
    >>> X = np.array([[18.0, 40.0], [75.0, 120.0], [33.0, 90.0]])
    >>> inputs = LocalMixtureRegressor(0).fit(X, [1.0, 2.0, 4.0]).mixture_.inputs
    >>> center, half = np.array([21.0, 110.0]), np.array([9.3, 29.5])
    >>> Box(inputs, center, half, X.min(axis=0), X.max(axis=0), np.ones(2, dtype=bool)).text
    'x0 up to 30 and x1 above 80 (an ellipse)'
    >>> Box(inputs, center, np.array([9.3, np.inf])).text
    'x0 21 +- 9.3'
    """

    inputs: Inputs
    center: Array
    half: Array
    low: Array | None = None
    high: Array | None = None
    whole: Booleans | None = None

    @cached_property
    def text(self) -> str:
        """Its columns and their ends, in at most 18 words where names of columns are short."""
        told = sorted((one for one in self._sides if one.text), key=lambda one: one.share)
        silent = [one for one in self._sides if not one.text and one.taken > _NOTICED]
        if not told:
            if not silent or sum(one.least + one.taken for one in self._sides) <= 1.0:
                return "all rows"
            return (
                f"all rows but those far from {join_words([one.middle for one in silent[:_SHOWN]])}"
            )
        made = ""
        for count in range(min(_SHOWN, len(told)), 0, -1):
            made = self._write(told, silent, count)
            if len(made.split()) <= _WORDS:
                break
        return made

    def _write(self, told: list[_Side], silent: list[_Side], count: int) -> str:
        order = sorted(told[:count], key=lambda one: one.group.columns.start)
        parts, more, remarks = [one.text for one in order], len(told) - count, []
        numbers = [
            one
            for one in self._sides
            if one.number and (one.text or one in silent) and not np.all(one.constant)
        ]
        ellipse = sum(bool(one.text) for one in numbers) > 1
        if len(told) + len(silent) > _SHOWN:
            more, silent, ellipse = more + len(silent), [], len(numbers) > 1
        if ellipse:
            remarks.append("an ellipse" if len(numbers) == 2 else "an ellipsoid")
            more += sum(one.number for one in silent)
            silent = [one for one in silent if not one.number]
        remarks += [f"narrower {one.away}" for one in silent]
        if more:
            parts.append(f"{more} more column{'s' if more > 1 else ''}")
        return join_words(parts) + (f" ({', '.join(remarks)})" if remarks else "")

    @property
    def place(self) -> Array:
        """(n_encoded,): a row inside, of round numbers; the average one in columns that it does not
        look at, and 0 for a level that may be there or not.
        """
        place = np.array(self.inputs.typical, dtype=float)
        for side in self._sides:
            place[side.group.values] = side.place
        return place

    @property
    def constant(self) -> Booleans:
        """(n_encoded,): whether all rows inside have the same value."""
        found = np.zeros(len(self.half), dtype=bool)
        for side in self._sides:
            found[side.group.values] = side.constant
        return found

    @property
    def sides(self) -> list[Any]:
        """Of the user's columns that it looks at: each has `group`, `text` and `share`; `ends` of
        numbers; `names` and `inside` of levels.
        """
        return list(self._sides)

    @property
    def named(self) -> Booleans:
        """(n_encoded,): the numbers that it looks at, and that differ inside."""
        found = np.zeros(len(self.half), dtype=bool)
        for side in self._sides:
            found[side.group.values] = side.number and not np.all(side.constant)
        return found

    @cached_property
    def _sides(self) -> list[_Side]:
        """Of the user's columns that it looks at."""
        groups = [
            one
            for one in self.inputs.groups
            if np.isfinite(self.half[one.columns]).any() and (self.half[one.columns] > 0).all()
        ]
        sides = [self._side(group) for group in groups]
        least = sum(one.least for one in sides)
        if least > 1.0:  # no row is inside
            return [one.settle(1.0) for one in sides]
        return [one.settle(1.0 - least + one.least) for one in sides]

    def _side(self, group: Group) -> _Side:
        j = group.columns.start
        if group.levels is not None:
            count = len(group.levels)
            names = tuple("missing" if one is None else one for one in group.levels)
            values = np.eye(count)[:, 1:]
            return _Levels(group, self._costs(group, values), values, names)
        low, high = -math.inf, math.inf
        if self.low is not None and self.high is not None:
            low, high = float(self.low[j]), float(self.high[j])
        whole = self.whole is not None and bool(self.whole[j])
        two = whole and high - low == 1.0
        if self.low is None and is_indicator(self.inputs, j):
            two, low, high = True, 0.0, 1.0
        if two:
            values = np.array([[low], [high]])
            names = tuple(_show(float(one), 0) for one in values[:, 0])
            return _Levels(group, self._costs(group, values), values, names)
        unit = float(self.inputs.units.inverse_scale[j])
        usual = _USUAL / unit if unit > 0 else math.inf
        ends = float(self.center[j]), float(self.half[j])
        return _Number(group, *ends, low, high, whole, usual)

    def _costs(self, group: Group, values: Array) -> Array:
        """Of rows with these values of a group: their shares of the squared radius."""
        center, half = self.center[group.values], self.half[group.values]
        return np.asarray((((values - center) / half) ** 2).sum(axis=1))


class _Side(Protocol):
    """One of the user's columns in a box; `settle` gives it its share of the squared radius."""

    number: ClassVar[bool]

    @property
    def group(self) -> Group: ...

    def settle(self, room: float) -> Any: ...

    @property
    def least(self) -> float:
        """Of the squared radius, what any row takes."""

    @property
    def text(self) -> str:
        """Empty where it limits nothing."""

    @property
    def share(self) -> float:
        """Of its range, what is inside."""

    @property
    def taken(self) -> float:
        """Of the squared radius, what the furthest of the rows inside take more than others."""

    @property
    def place(self) -> Any:
        """A value inside."""

    @property
    def constant(self) -> Any:
        """Whether all rows inside have the same value."""

    @property
    def middle(self) -> str:
        """Where the other columns reach furthest."""

    @property
    def away(self) -> str:
        """Where they reach less far."""


@dataclass(frozen=True, eq=False)
class _Number:
    """A column of numbers."""

    group: Group
    center: float
    half: float
    low: float
    high: float
    whole: bool
    usual: float  # range, where it is not known
    room: float = 1.0

    number: ClassVar[bool] = True

    def settle(self, room: float) -> _Number:
        return replace(self, room=max(room, 0.0))

    @property
    def _known(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def _nearest(self) -> float:
        """Of the values that rows may have, to the center."""
        near = min(max(self.center, self.low), self.high)
        return min(max(float(np.rint(near)), self.low), self.high) if self.whole else near

    @property
    def least(self) -> float:
        return float(((self._nearest - self.center) / self.half) ** 2)

    @property
    def ends(self) -> tuple[float, float]:
        reach = self.half * math.sqrt(self.room)
        return self.center - reach, self.center + reach

    @property
    def _visible(self) -> tuple[float, float]:
        """Of the ends, within the range of the rows."""
        first, last = self.ends
        inner = max(first, self.low), min(last, self.high)
        return inner if inner[0] <= inner[1] else (first, last)

    @property
    def width(self) -> float:
        first, last = self._visible
        return last - first

    @property
    def share(self) -> float:
        whole = self.high - self.low if self._known else self.usual
        return self.width / whole if whole > 0 else 1.0  # all rows have one value

    @property
    def taken(self) -> float:
        first, last = self._visible
        furthest = max(abs(first - self.center), abs(last - self.center)) / self.half
        return furthest**2 - self.least

    @property
    def text(self) -> str:
        name, (first, last) = self.group.name, self.ends
        if not self._known:
            return f"{name} {self._around()}"
        whole = self._whole_ends(first, last) if self.whole else None
        if whole is not None:
            return _whole_range(name, *whole, self.low, self.high)
        below, above = first <= self.low, last >= self.high
        if below and above:
            return ""
        low, high = (round_to_width(end, self.width) for end in (first, last))
        digits = _DIGITS
        while not self._sound(low, high) and digits < _MOST_DIGITS:
            digits += 1
            low, high = (round_to_width(end, self.width, digits) for end in (first, last))
        if below:
            return f"{name} up to {high}"
        return f"{name} above {low}" if above else f"{name} {low} to {high}"

    def _sound(self, low: str, high: str) -> bool:
        """Whether rounded ends are two, and exclude some rows where the ends do."""
        first, last = self.ends
        above = first <= self.low or float(low) > self.low
        return low != high and above and (last >= self.high or float(high) < self.high)

    def _whole_ends(self, first: float, last: float) -> tuple[float, float] | None:
        """The least and the largest whole number inside; None where the ends are rounded to
        hundreds or more, or there is none.
        """
        if self.width >= _EXACT:
            return None
        slack = _SAME * max(abs(first), abs(last), 1.0)
        least = max(math.ceil(first - slack), self.low)
        most = min(math.floor(last + slack), self.high)
        return (least, most) if least <= most else None

    def _around(self) -> str:
        first, last = self.ends
        reach = 0.5 * (last - first)
        return f"{round_to_width(self.center, reach)} +- {round_to_width(reach, reach)}"

    @property
    def place(self) -> float:
        first, last = self._visible
        if self.constant:
            return self._nearest
        middle = float(round_to_width(0.5 * (first + last), self.width))
        return float(np.rint(middle)) if self.whole else middle

    @property
    def constant(self) -> bool:
        whole = self._whole_ends(*self.ends) if self.whole and self._known else None
        return whole is not None and whole[0] == whole[1]

    @property
    def middle(self) -> str:
        return f"{self.group.name} {round_to_width(self._nearest, self.width)}"

    @property
    def away(self) -> str:
        return f"far from {self.middle}"


@dataclass(frozen=True, eq=False)
class _Levels:
    """A category, or a column of two numbers."""

    group: Group
    costs: Array  # (n_levels,), of the squared radius
    values: Array  # (n_levels, n_columns)
    names: Sequence[Any]
    room: float = 1.0

    number: ClassVar[bool] = False

    def settle(self, room: float) -> _Levels:
        return replace(self, room=room)

    @property
    def least(self) -> float:
        return float(self.costs.min())

    @cached_property
    def inside(self) -> Booleans:
        return np.asarray(self.costs <= self.room * (1.0 + _SAME))

    @property
    def share(self) -> float:
        return float(self.inside.mean())

    @property
    def taken(self) -> float:
        return float(self.costs[self.inside].max(initial=self.least) - self.least)

    @property
    def text(self) -> str:
        if self.inside.all() or not self.inside.any():
            return ""
        return self._name(self.inside)

    def _name(self, which: Booleans) -> str:
        """Some levels, or all but some."""
        has, lacks = (
            [str(name) for name, one in zip(self.names, those, strict=True) if one]
            for those in (which, ~which)
        )
        if len(has) <= max(len(lacks), 1):
            return f"{self.group.name} {_some(has)}"
        return f"{self.group.name} not {_some(lacks)}"

    @property
    def constant(self) -> Booleans:
        inside = self.values[self.inside]
        if not len(inside):
            return np.zeros(self.values.shape[1], dtype=bool)
        return np.asarray((inside == inside[0]).all(axis=0))

    @property
    def place(self) -> Array:
        if not self.inside.any():
            return np.zeros(self.values.shape[1])
        least = self.values.min(axis=0)
        return np.asarray(np.where(self.constant, self.values[self.inside][0], least))

    @property
    def middle(self) -> str:
        return self._name(self.costs <= self.least * (1.0 + _SAME))

    @property
    def away(self) -> str:
        return f"for {self._name(self.inside & (self.costs > self.least * (1.0 + _SAME)))}"


def describe_box(
    inputs: Inputs,
    center: Array,
    half: Array,
    low: Array | None = None,
    high: Array | None = None,
    whole: Booleans | None = None,
) -> str:
    """The columns that limit a locality, with its ends in the user's units: the text of a `Box`."""
    return Box(inputs, center, half, low, high, whole).text


def is_indicator(inputs: Inputs, j: int) -> bool:
    """Whether an encoded column holds 0 and 1 alone, by its mean and deviation."""
    if not inputs.counted[j]:
        return False
    size, mean = 1.0 / float(inputs.units.inverse_scale[j]), float(inputs.units.center[j])
    return abs(mean * (1.0 - mean) / size / size - 1.0) <= _SAME


def place_of(width: float, digits: int = _DIGITS) -> int:
    """The decimal place of the last of so many digits of a width."""
    if not (width > 0 and math.isfinite(width)):
        return 6
    return digits - 1 - math.floor(math.log10(width))


def round_to_width(value: float, width: float, digits: int = _DIGITS) -> str:
    """A number, to so many digits of a width."""
    return _show(value, place_of(width, digits))


def _show(value: float, place: int) -> str:
    rounded = round(value, place) + 0.0  # 0 for -0
    size = abs(rounded)
    if size >= 1e9 or 0 < size < 1e-4:
        digits = place + math.floor(math.log10(size)) + 1
        return f"{rounded:.{min(max(digits, 1), 15)}g}"
    if place <= 0:
        return f"{rounded:.0f}"
    text = f"{rounded:.{place}f}"
    return text.rstrip("0").rstrip(".")


def _whole_range(name: str, least: float, most: float, low: float, high: float) -> str:
    """Of the whole numbers inside, among those from low to high."""
    if least <= low and most >= high:
        return ""
    if least == most:
        return f"{name} {_show(least, 0)}"
    if least <= low:
        return f"{name} up to {_show(most, 0)}"
    if most >= high:
        return f"{name} above {_show(least - 1.0, 0)}"
    return f"{name} {_show(least, 0)} to {_show(most, 0)}"


def _some(names: list[str]) -> str:
    if len(names) > _LEVELS + 1:
        return f"{', '.join(names[:_LEVELS])} or {len(names) - _LEVELS} others"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def join_words(texts: list[str]) -> str:
    """ "a, b and c"."""
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
