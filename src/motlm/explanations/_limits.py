"""What a counterfactual may change and what it is to reach, from what a user gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array, Booleans
from ..errors import InputError
from ..inputs import Group
from ..tables import item
from ..targets import Target

__all__ = ["Goal", "Limits"]


@dataclass(frozen=True, eq=False)
class Limits:
    """What may change, and how far, in the user's units."""

    numeric: Booleans  # (n_encoded,), numbers that may change
    whole: tuple[int, ...]  # of them, encoded columns that hold whole numbers
    low: Array  # (n_encoded,)
    high: Array  # (n_encoded,)
    categories: tuple[Group, ...]  # that may change
    most_categories: int  # at once
    given: bool  # whether there are any limits

    @classmethod
    def of(
        cls,
        groups: tuple[Group, ...],
        values: Mapping[str, Any],
        fixed: Iterable[str],
        bounds: Mapping[str, tuple[float, float]] | None,
        integer: Iterable[str],
        max_categories: int,
    ) -> Limits:
        """From names and bounds of the user's columns; yes and no stay so."""
        held, whole = _names(fixed, "fixed"), _names(integer, "integer")
        within = dict(bounds or {})
        _check_names(groups, {"fixed": held, "bounds": within, "integer": whole})
        by_name = {group.name: group for group in groups}
        numbers = {name for name, group in by_name.items() if group.levels is None}
        for name in numbers:
            if isinstance(values[name], bool):
                whole.add(name)
                within.setdefault(name, (0, 1))
        n_encoded = max((group.columns.stop for group in groups), default=0)
        numeric = np.zeros(n_encoded, dtype=bool)
        numeric[[by_name[name].columns.start for name in numbers - held]] = True
        low, high = np.full(n_encoded, -np.inf), np.full(n_encoded, np.inf)
        for name, pair in within.items():
            column = by_name[name].columns.start
            low[column], high[column] = _bounds(name, pair)
        return cls(
            numeric=numeric,
            whole=tuple(sorted(by_name[name].columns.start for name in whole - held)),
            low=low,
            high=high,
            categories=tuple(
                group for group in groups if len(group.levels or ()) > 1 and group.name not in held
            ),
            most_categories=max_categories,
            given=bool(held or whole or within),
        )


def _names(given: Iterable[str], option: str) -> set[str]:
    if isinstance(given, str):
        raise InputError(
            f"{option} must be a list of column names; got the text {given!r}. Write [{given!r}]."
        )
    return set(given)


def _check_names(groups: tuple[Group, ...], given: dict[str, Iterable[str]]) -> None:
    levels = {group.name: group.levels for group in groups}
    for option, names in given.items():
        for name in names:
            if name not in levels:
                known = ", ".join(map(repr, list(levels)[:20]))
                raise InputError(f"{option} names {name!r}; the columns are {known}.")
            if option != "fixed" and levels[name] is not None:
                raise InputError(
                    f"column {name!r} holds categories, which have no bounds and are no numbers."
                )


def _bounds(name: str, given: Any) -> tuple[float, float]:
    try:
        low, high = given
        lowest = -np.inf if low is None else float(low)
        highest = np.inf if high is None else float(high)
        if lowest <= highest:
            return lowest, highest
    except (TypeError, ValueError):
        pass
    raise InputError(
        f"bounds of {name!r} must be (lowest, highest), either of which may be None; got {given!r}."
    )


def _number(wanted: Any) -> float:
    """The prediction that is wanted."""
    advice = "Give the prediction that is wanted, in the units of y."
    if wanted is None:
        raise InputError("target is needed for a regression.", advice)
    try:
        level = float(wanted)
    except (TypeError, ValueError):
        level = np.nan
    if not np.isfinite(level):
        raise InputError(f"target must be a finite number; got {wanted!r}.", advice)
    return level


def _level(target: Target, answer: float) -> float:
    """The score that gives an answer; nan for an answer that no score gives."""
    try:
        with np.errstate(all="ignore"):
            level = float(target.level(answer))
    except (ValueError, ArithmeticError):  # as math.log raises
        return np.nan
    return level if np.isfinite(level) else np.nan


@dataclass(frozen=True, eq=False)
class Goal:
    """The answer that is wanted, as a level for the score to reach."""

    target: Target
    wanted: Any
    level: float  # nan where no score gives the answer
    up: bool  # whether the score has to rise

    @classmethod
    def of(cls, target: Target, wanted: Any, score: float) -> Goal:
        """The label that is wanted, or the other one; or the prediction that is wanted, which
        larger scores make larger.
        """
        if target.classes is None:
            answer = _number(wanted)
            level = _level(target, answer)
            return cls(target, answer, level, level > score)
        if wanted is None:
            wanted = target.classes[int(score <= 0)]
        elif wanted not in target.classes:
            raise InputError(
                f"target must be one of the labels {target.classes.tolist()}; got {wanted!r}."
            )
        level = float(target.level(wanted))
        return cls(target, item(wanted), level, bool(wanted == target.classes[1]))

    @property
    def possible(self) -> bool:
        """Whether some score gives the answer."""
        return bool(np.isfinite(self.level))

    @property
    def exact(self) -> bool:
        """Whether a prediction is to be met, not the border of a label to be passed."""
        return self.target.classes is None

    def answer(self, score: float) -> Any:
        """What a score answers."""
        return item(self.target.answer(np.array([score]))[0])

    def is_met(self, score: float) -> bool:
        """Whether a score gives the answer, or more than was wanted of a prediction."""
        if not self.possible:
            return False
        if not self.exact:
            return bool(self.answer(score) == self.wanted)
        if abs(score - self.level) <= 1e-9 * (1 + abs(self.level)):
            return True
        return score >= self.level if self.up else score <= self.level
