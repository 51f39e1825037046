"""What a counterfactual may change and what it is to reach, from what a user gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from .._typing import Array, Booleans
from ..errors import InputError
from ..frames import is_missing
from ..pipelines import Group
from ..summaries import Summary
from ..tables import item
from ..targets import Target

__all__ = ["Conditions", "Goal", "Limits", "Wishes", "names_in"]


@dataclass(frozen=True)
class Wishes:
    """What a user gives: names of columns, and bounds by name."""

    immutable: Iterable[str] = ()
    increasing: Iterable[str] = ()
    decreasing: Iterable[str] = ()
    bounds: Mapping[str, tuple[float, float]] | None = None
    integer: Iterable[str] | None = None  # None: those of whole numbers among the training rows
    max_categories: int = 2


@dataclass(frozen=True, eq=False)
class Limits:
    """What may change, and how far, in the user's units."""

    numeric: Booleans  # (n_encoded,), numbers that may change
    whole: tuple[int, ...]  # of them, encoded columns that hold whole numbers
    low: Array  # (n_encoded,)
    high: Array  # (n_encoded,)
    categories: tuple[Group, ...]  # that may change
    most_categories: int  # at once
    words: str  # what the limits are, after "no row .."; empty where there are none

    @classmethod
    def of(
        cls,
        groups: tuple[Group, ...],
        values: Mapping[str, Any],
        wishes: Wishes,
        summary: Summary | None,
        n_encoded: int,
        integers: Iterable[str] = (),
    ) -> Limits:
        """Of the user's columns, for a row of these values; yes and no stay so. Numbers stay within
        the range of the training rows, where that is known and no bounds are given; `integers` are
        columns of whole numbers where it is not.
        """
        held, up, down = (
            set(names_in(getattr(wishes, option), option))
            for option in ("immutable", "increasing", "decreasing")
        )
        given = dict(wishes.bounds or {})
        whole = None if wishes.integer is None else set(names_in(wishes.integer, "integer"))
        numeric_only = {"increasing": up, "decreasing": down, "bounds": given}
        _check_names(groups, {"immutable": held, **numeric_only, "integer": whole or ()})
        for name in up & down:
            raise InputError(
                f"increasing and decreasing both name {name!r}; name it in immutable if it cannot"
                " change."
            )
        by_name = {group.name: group for group in groups}
        numbers = {name for name, group in by_name.items() if group.levels is None}
        column = {name: by_name[name].columns.start for name in numbers}
        yes_no = {name for name in numbers if isinstance(values[name], bool)}
        if whole is None:
            known = set(integers) if summary is None else _of_whole(summary, column)
            whole = {name for name in known & numbers if _now(values[name]).is_integer()}
        low, high = np.full(n_encoded, -np.inf), np.full(n_encoded, np.inf)
        for name, j in column.items():
            if name in given:
                low[j], high[j] = _bounds(name, given[name])
            elif name in yes_no:
                low[j], high[j] = 0.0, 1.0
            elif summary is not None:
                now = _now(values[name])  # nan of a value that is missing
                low[j], high[j] = np.fmin(now, summary.low[j]), np.fmax(now, summary.high[j])
        for name in up:
            low[column[name]] = np.fmax(low[column[name]], _now(values[name]))
        for name in down:
            high[column[name]] = np.fmin(high[column[name]], _now(values[name]))
        numeric = np.zeros(n_encoded, dtype=bool)
        numeric[[column[name] for name in numbers - held]] = True
        asked = bool(held or up or down or given or wishes.integer)
        return cls(
            numeric=numeric,
            whole=tuple(sorted(column[name] for name in (whole | yes_no) - held)),
            low=low,
            high=high,
            categories=tuple(
                group for group in groups if len(group.levels or ()) > 1 and group.name not in held
            ),
            most_categories=wishes.max_categories,
            words=_words(asked, summary is not None and bool(numbers - held - set(given))),
        )

    def hold(self, missing: Sequence[Group]) -> Limits:
        """With values that are missing, which stay so."""
        if not missing:
            return self
        numeric = self.numeric.copy()
        starts = [one.columns.start for one in missing if one.levels is None]
        numeric[starts] = False
        held = {one.name for one in missing}
        return replace(
            self,
            numeric=numeric,
            whole=tuple(j for j in self.whole if j not in starts),
            categories=tuple(one for one in self.categories if one.name not in held),
        )


def _now(value: Any) -> float:
    """A number of the row; nan where it is missing."""
    return float("nan") if is_missing(np.array([value], dtype=object))[0] else float(value)


def _of_whole(summary: Summary, column: Mapping[str, int]) -> set[str]:
    """The columns of whole numbers among the training rows."""
    return {name for name, j in column.items() if summary.whole[j]}


def _words(asked: bool, ranges: bool) -> str:
    parts = ["the given limits"] * asked + ["the range of the training rows"] * ranges
    return f" within {' and '.join(parts)}" if parts else ""


def names_in(given: Iterable[str], option: str) -> tuple[str, ...]:
    """Names of columns that a user gives."""
    if isinstance(given, str):
        raise InputError(
            f"{option} must be a list of column names; got the text {given!r}. Write [{given!r}]."
        )
    return tuple(given)


def _check_names(groups: tuple[Group, ...], given: dict[str, Iterable[str]]) -> None:
    levels = {group.name: group.levels for group in groups}
    for option, names in given.items():
        for name in names:
            if name not in levels:
                known = ", ".join(map(repr, list(levels)[:20]))
                raise InputError(f"{option} names {name!r}; the columns are {known}.")
            if option != "immutable" and levels[name] is not None:
                raise InputError(
                    f"{option} names {name!r}, a column of categories, which have no bounds and are"
                    " no numbers; immutable keeps it as it is."
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
class Conditions:
    """What the scores of a model have to satisfy: signs . scores >= level for each row of signs, or
    = level where the model is to meet a prediction.
    """

    signs: Array  # (n_conditions, n_scores)
    level: Array  # (n_conditions,)
    equal: bool


@dataclass(frozen=True, eq=False)
class Goal:
    """The answer that is wanted, as a level for the score to reach."""

    target: Target
    wanted: Any
    level: float  # nan where no score gives the answer
    up: bool  # whether the score has to rise

    what: ClassVar[str] = "that answer"

    @classmethod
    def of(cls, target: Target, wanted: Any, score: Array) -> Goal:
        """The label that is wanted, or the other one; or the prediction that is wanted, which
        larger scores make larger. `score` is one number, or one for each of several classes.
        """
        if target.classes is None:
            answer = _number(wanted)
            level = _level(target, answer)
            return Goal(target, answer, level, bool(level > score))
        if wanted is not None and wanted not in target.classes:
            raise InputError(
                f"target must be one of the labels {target.classes.tolist()}; got {item(wanted)!r}."
            )
        if np.ndim(score):
            goal = AnyOther if wanted is None else OneClass
            return goal(target, item(wanted), 0.0, True, score)
        if wanted is None:
            wanted = target.classes[int(score <= 0)]
        level = float(target.level(wanted))
        return Goal(target, item(wanted), level, bool(wanted == target.classes[1]))

    @property
    def possible(self) -> bool:
        """Whether some score gives the answer."""
        return bool(np.isfinite(self.level))

    @property
    def exact(self) -> bool:
        """Whether a prediction is to be met, not the border of a label to be passed."""
        return self.target.classes is None

    def conditions(self) -> list[Conditions]:
        """Ways to give the answer, any of which will do."""
        sign = 1.0 if self.up else -1.0
        return [Conditions(np.array([[sign]]), np.array([sign * self.level]), self.exact)]

    def answer(self, score: Array) -> Any:
        """What a score answers."""
        return item(self.target.answer(np.asarray(score)[..., None])[0])

    def show(self, score: Array) -> Any:
        """A score as people read it."""
        return float(score)

    def is_met(self, score: Array) -> bool:
        """Whether a score gives the answer, or more than was wanted of a prediction."""
        if not self.possible:
            return False
        if not self.exact:
            return bool(self.answer(score) == self.wanted)
        if abs(score - self.level) <= 1e-9 * (1 + abs(self.level)):
            return True
        return bool(score >= self.level if self.up else score <= self.level)


@dataclass(frozen=True, eq=False)
class OneClass(Goal):
    """One of several classes, whose score is to be the largest."""

    before: Array  # (n_classes,), scores of the row

    def conditions(self) -> list[Conditions]:
        """Its score less that of each other class is positive."""
        labels = np.asarray(self.target.classes)
        each = np.eye(len(labels))
        others = labels != self.wanted
        signs = each[~others] - each[others]
        return [Conditions(signs, np.zeros(len(signs)), equal=False)]

    def show(self, score: Array) -> Any:
        return dict(zip(np.asarray(self.target.classes).tolist(), score.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class AnyOther(OneClass):
    """Any class but that of the row: one of the other scores is to pass the largest."""

    what: ClassVar[str] = "another answer"

    def conditions(self) -> list[Conditions]:
        each, own = np.eye(len(self.before)), int(self.before.argmax())
        rows = np.delete(each - each[own], own, axis=0)
        return [Conditions(row[None], np.zeros(1), equal=False) for row in rows]

    def is_met(self, score: Array) -> bool:
        return bool(self.answer(score) != self.answer(self.before))
