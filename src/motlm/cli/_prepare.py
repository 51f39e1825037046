"""From a table of text to rows, outcomes and a split.

What a column holds, the values that replace missing ones and the task are decided by the rows to
fit on alone; the sealed rows are read accordingly. Otherwise their certificate would be void.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote

import numpy as np
import pandas as pd

from .._typing import AnyArray, Array, Booleans, Integers
from ..certificates import group_equal_rows, split
from ..frames import POOLED, are_dates, is_nearly_numbers, look_alikes
from ..inputs import Columns
from ..limits import WEIGHTS
from ..preprocessing import PoolRareLevels
from ..tables import amount
from ._columns import (
    LARGEST,
    column_of,
    describe_columns,
    find_identifiers,
    infer_types,
    is_missing,
    numbers_of,
    read_rows,
)
from ._errors import TableError
from ._tables import FIRST_LINE
from ._task import CLASSIFICATION, RATE, Decision, TaskOptions, decide, is_number

__all__ = [
    "Prepared",
    "Roles",
    "Rules",
    "prepare",
    "read_exposure",
    "read_outcomes",
    "refuse_rates",
    "rows_with_target",
]

_MANY = 20  # categories that are never too many
_LISTED = 8  # columns in a message
_SHOWN = 40  # characters of a value in a message
_FEW_ROWS = 10  # of a class, about which there is a remark


@dataclass(frozen=True)
class Roles:
    """What the columns of a table are for."""

    target: str
    ignored: tuple[str, ...] = ()  # columns that are left out of the model
    weights: str | None = None
    categories: tuple[str, ...] = ()  # columns of codes
    exposure: str | None = None
    group: str | None = None  # that tells which rows belong together

    @property
    def others(self) -> tuple[str, ...]:
        """Columns that are not features."""
        more = self.weights, self.exposure, self.group
        named = [name for name in more if name is not None]
        return (self.target, *self.ignored, *named)


@dataclass(frozen=True)
class Rules:
    """How a table is read and split."""

    missing: str  # "auto", "error", "drop" or "impute"
    task: TaskOptions
    sealed: float
    seed: int
    min_frequency: int  # rows that a level needs to stay


@dataclass(frozen=True)
class Prepared:
    """Rows as a model takes them, which of them are sealed, and what was decided, in words."""

    columns: Columns
    rows: pd.DataFrame
    outcome: AnyArray
    weight: Array | None
    exposure: Array | None
    fill: dict[str, float | str]  # the values that replace missing ones
    pooled: dict[str, tuple[str, ...]]  # levels that are read as one
    first: Integers  # rows to fit on
    sealed: Integers
    task: str
    messages: tuple[str, ...]
    places: Integers  # numbers of the rows in the table
    groups: Integers  # of rows that belong together, which are on one side
    grouped: bool  # whether by a column; else equal rows belong together
    n_without_target: int  # rows of the table that were left out first
    n_missing: dict[str, int]  # missing values of each column, in the rows of `groups`
    identifiers: tuple[str, ...]  # columns that look like some

    @property
    def noted(self) -> str:
        """How a note of the library begins that `messages` have."""
        return _repeats(len(self.groups) - int(self.groups.max()) - 1, len(self.groups))

    @property
    def n_aside(self) -> int:
        """Rows that are neither fitted on nor sealed."""
        return len(self.groups) - len(self.first) - len(self.sealed)


def prepare(text: pd.DataFrame, roles: Roles, rules: Rules) -> Prepared:
    """Select rows, split them, decide by those to fit on what the columns hold, read them all."""
    n_read = len(text)
    text, messages = rows_with_target(text, roles.target)
    n_without_target = n_read - len(text)
    text, features, more = _rows_to_use(text, roles, rules.missing)
    messages += more
    groups = _groups_of(text, features, roles)
    first, sealed = split(len(text), rules.sealed, rules.seed, groups=groups)
    messages += _set_aside(groups, len(first), len(sealed), roles.group)
    known = infer_types(features.iloc[first], roles.categories)
    _check_columns(known, features, roles.categories, roles.ignored)
    known, pooled = _pool(known, rules.min_frequency)
    columns = _columns_of(known)
    fill = _typical_values(known) if rules.missing == "impute" else {}
    allowed = dict.fromkeys(columns.names, "") if rules.missing == "auto" else {}
    rows = _read_all(columns, features, fill, pooled, allowed)
    weight = None if roles.weights is None else _read_weights(text[roles.weights], first)
    exposure = None if roles.exposure is None else read_exposure(text[roles.exposure])
    decision, outcome = _read_target(text[roles.target], first, weight, rules.task)
    n_missing = {name: int(is_missing(features[name]).sum()) for name in columns.names}
    messages += _replacements(n_missing, fill)
    if rules.missing == "auto":
        messages += _holes(n_missing, len(features), columns)
    messages += [f"  {line}" for line in describe_columns(known)]
    messages += _describe_pools(pooled, features, first, rules.min_frequency)
    task = decision.task
    per = "" if exposure is None else f" per {roles.exposure!r}"
    messages.append(f"target {roles.target!r}: {decision.words}")
    if task == CLASSIFICATION:
        messages += _rare_classes(outcome[first])
    messages.append(f"{task} of {roles.target!r}{per} ({rules.task.loss_of(task)} loss)")
    return Prepared(
        columns,
        rows,
        outcome,
        weight,
        exposure,
        fill,
        pooled,
        first,
        sealed,
        task,
        tuple(messages),
        text.index.to_numpy(),
        groups,
        roles.group is not None,
        n_without_target,
        n_missing,
        find_identifiers(known),
    )


# -- which rows ------------------------------------------------------------------------------------


def rows_with_target(text: pd.DataFrame, target: str) -> tuple[pd.DataFrame, list[str]]:
    """The rows that have an outcome, and a line about the others."""
    missing = is_missing(column_of(text, target, "--target"))
    if missing.all():
        raise TableError(f"no row has a value of {target!r}.")
    if not missing.any():
        return text, []
    return text[~missing], [f"{amount(int(missing.sum()), 'row')} without a {target!r} left out"]


def _rows_to_use(
    text: pd.DataFrame, roles: Roles, missing: str
) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """The table and its features, without incomplete rows if `missing` is "drop"."""
    features = text.drop(columns=list(set(roles.others)))
    if features.shape[1] == 0:
        raise TableError("no column is left to predict from.")
    holes = features.apply(is_missing)
    if missing in ("auto", "impute") or not holes.to_numpy().any():
        return text, features, []
    complete = ~holes.any(axis=1)
    if missing == "error":
        where, lacking = holes.columns[holes.any()].tolist(), int((~complete).sum())
        raise TableError(
            f"{lacking} of {amount(len(features), 'row')} {'has' if lacking == 1 else 'have'}"
            " missing values, in"
            f" {', '.join(map(repr, where[:5]))}{', ..' if len(where) > 5 else ''}. Choose"
            " --missing auto, drop or impute, or --drop the columns."
        )
    if not complete.any():
        raise TableError("no row without missing values is left.")
    left_out = f"{amount(int((~complete).sum()), 'row')} with missing values left out"
    return text[complete], features[complete], [left_out]


def _groups_of(text: pd.DataFrame, features: pd.DataFrame, roles: Roles) -> Integers:
    """Which rows belong together: by a column, or those that are equal."""
    if roles.group is None:
        rest = [roles.target] if roles.exposure is None else [roles.target, roles.exposure]
        every = [text[name].astype(str).str.strip() for name in (*features.columns, *rest)]
        return group_equal_rows(pd.concat(every, axis=1))
    column = text[roles.group].astype(str).str.strip()
    missing = is_missing(column).to_numpy()
    if missing.any():
        row = text.index[np.flatnonzero(missing)[0]]
        raise TableError(
            f"row {row} has no value of {roles.group!r}, the column of --group; give one, as every"
            " row belongs to a group."
        )
    return np.asarray(pd.factorize(column)[0])


def _set_aside(groups: Integers, n_first: int, n_sealed: int, column: str | None) -> list[str]:
    """What the split did with rows that belong together."""
    n_rows, n_groups = len(groups), int(groups.max()) + 1
    if n_groups == n_rows and column is None:
        return []
    aside = f"{n_rows - n_first - n_sealed} further rows of theirs are set aside"
    if column is not None:
        return [
            f"{n_groups} groups by {column!r}: {n_sealed} of them are sealed, with one row of each"
            f" counted; {aside}"
        ]
    return [
        f"{_repeats(n_rows - n_groups, n_rows)} another row, more than chance explains: equal rows"
        f" are one case, and {n_sealed} cases are sealed and counted once; {aside}"
    ]


def _repeats(n_repeats: int, n_rows: int) -> str:
    """As the library's note begins."""
    return f"{n_repeats} of {n_rows} rows repeat"


# -- features --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Problem:
    """Why a column cannot be used as it is, and what to do about it."""

    name: str
    what: str
    advice: str
    is_name: bool = False  # of the rows: all values differ


def _check_columns(
    known: pd.DataFrame, features: pd.DataFrame, categories: Sequence[str], ignored: Sequence[str]
) -> None:
    """Raise for columns that cannot be used as they are, all of them at once; `features` has all
    rows.
    """
    every = (_problem_of(str(name), known[name], features, categories) for name in known.columns)
    found = [one for one in every if one is not None]
    if len(found) == 1:
        [one] = found
        raise TableError(f"column {one.name!r} {one.what}; {one.advice}")
    if found:
        words = "; ".join(f"{one.name!r} {one.what}" for one in found[:_LISTED])
        more = "; .." if len(found) > _LISTED else ""
        raise TableError(
            f"{len(found)} columns cannot be used as they are: {words}{more}. Leave them out with"
            f" {_leave_out(found, ignored)}; or correct values, leave them empty to mark them as"
            " missing, write dates and amounts as plain numbers, and name columns of codes and of"
            " kinds of cases in --categories."
        )


def _leave_out(found: Sequence[_Problem], ignored: Sequence[str]) -> str:
    """The options to paste; an ID column is named unless one may be already."""
    names = [one.name for one in found]
    ids = [one.name for one in found if one.is_name and not ignored][:1]
    dropped = ",".join(name for name in names if name not in ids)
    return " ".join(
        [f"--drop {quote(dropped)}"] * bool(dropped) + [f"--id {quote(name)}" for name in ids]
    )


def _problem_of(
    name: str, column: pd.Series, features: pd.DataFrame, categories: Sequence[str]
) -> _Problem | None:
    column = column.dropna()
    if column.empty:
        return _Problem(name, "has no value in the rows to fit on", "--drop it.")
    if column.dtype == float or name in categories:
        return None
    return _stray_texts(name, column, features[name]) or _too_many(name, column)


def _columns_of(known: pd.DataFrame) -> Columns:
    """What each column holds: numbers, or some levels."""
    levels = [
        None if known[name].dtype == float else tuple(sorted(set(known[name].dropna())))
        for name in known.columns
    ]
    return Columns(tuple(map(str, known.columns)), tuple(levels))


def _pool(
    known: pd.DataFrame, min_frequency: int
) -> tuple[pd.DataFrame, dict[str, tuple[str, ...]]]:
    """Rare levels as one."""
    pool = PoolRareLevels(min_frequency).fit(known)
    return pool.transform(known), {str(name): rare for name, rare in pool.pooled_.items()}


def _describe_pools(
    pooled: dict[str, tuple[str, ...]], text: pd.DataFrame, first: Integers, min_frequency: int
) -> list[str]:
    """Which categories are pooled, in how many rows, and why."""
    lines = []
    for name, levels in pooled.items():
        column = text[name].astype(str).str.strip()
        inside = column[column.isin(levels)]
        largest = int(column.iloc[first].value_counts().reindex(levels).max())
        why = f"each has fewer than {amount(min_frequency, 'row')} to fit on"
        if largest >= min_frequency:
            why = f"they are not among the {PoolRareLevels().max_categories - 1} most frequent"
        lines.append(
            f"{len(levels)} categories of {name!r} are pooled as {POOLED!r}"
            f" ({amount(len(inside), 'row')}), as {why}: {_shorten(levels)}"
        )
    return lines


def _shorten(levels: Sequence[str]) -> str:
    return ", ".join(levels[:_MANY]) + (", .." if len(levels) > _MANY else "")


def _stray_texts(name: str, column: pd.Series, text: pd.Series) -> _Problem | None:
    """Of numbers but for a few texts, which are counted and shown among all rows."""
    if not is_nearly_numbers(numbers_of(column).to_numpy(dtype=float)):
        return None
    text = text[~is_missing(text)].astype(str).str.strip()
    others = text[numbers_of(text).isna()]
    row = others.index[0]
    first = text.attrs.get(FIRST_LINE)
    line = "" if first is None else f" (line {row + first} of the file)"
    return _Problem(
        name,
        f"holds numbers, except for {amount(len(others), 'value')} such as"
        f" {others.iloc[0][:_SHOWN]!r} in row {row}{line}",
        "correct them, leave them empty to mark them as missing, or name the column in"
        " --categories.",
    )


def _too_many(name: str, column: pd.Series) -> _Problem | None:
    """Dates, identifiers and numbers with units would be thousands of categories."""
    advice = "--drop it, name it in --categories if these are kinds of cases, or"
    if are_dates(column):
        return _Problem(
            name,
            f"holds dates, such as {column.iloc[0]!r}",
            f"{advice} make it a number (for example days since a date).",
        )
    count = column.nunique()
    if count > _MANY and count > len(column) / 2:
        return _Problem(
            name,
            f"has {count} different texts in {len(column)} rows, such as {column.iloc[0]!r}",
            f"{advice} write it as plain numbers if it is one (1234.5), or name it in --id if it"
            " identifies the rows.",
            count == len(column),
        )
    return None


def _typical_values(known: pd.DataFrame) -> dict[str, float | str]:
    """Median, or the most frequent category."""
    return {
        str(name): (
            _median(known[name].dropna())
            if known[name].dtype == float
            else str(known[name].mode().iloc[0])
        )
        for name in known.columns
    }


def _median(column: pd.Series) -> float:
    """Of whole numbers a whole one: the lower of the two in the middle."""
    whole = bool((column == np.rint(column)).all())
    return float(column.quantile(0.5, interpolation="lower" if whole else "midpoint"))


def _replacements(n_missing: dict[str, int], fill: dict[str, float | str]) -> list[str]:
    return [
        f"{amount(n_missing[name], 'missing value')} of {name!r} replaced by"
        f" {f'{value:.6g}' if isinstance(value, float) else repr(value)}"
        for name, value in fill.items()
        if n_missing[name]
    ]


def _holes(n_missing: dict[str, int], n_rows: int, columns: Columns) -> list[str]:
    """How many values are missing in each column, and what becomes of them."""
    lines = []
    for name, levels in zip(columns.names, columns.levels, strict=True):
        count = n_missing[name]
        words = (
            "the median of the rows to fit on stands in, and a term tells that it is missing, if"
            " any of those rows lacks it"
        )
        if levels is not None:
            words = "a category of its own"
        if count:
            verb = "is" if count == 1 else "are"
            lines.append(f"{count} of {n_rows} values of {name!r} {verb} missing: {words}")
    return lines


def _read_all(
    columns: Columns,
    features: pd.DataFrame,
    fill: dict[str, float | str],
    pooled: dict[str, tuple[str, ...]],
    allowed: dict[str, str],
) -> pd.DataFrame:
    read = read_rows(columns, features, False, fill, pooled, allowed)
    bad = np.flatnonzero(read.reason != "")
    if len(bad):
        more = f" ({amount(len(bad) - 1, 'more row')} like it)" if len(bad) > 1 else ""
        raise TableError(
            f"row {features.index[bad[0]]}: {read.reason[bad[0]]}, unlike the other rows{more};"
            " correct it, leave it empty to mark it as missing, --drop the column, or name it in"
            " --categories."
        )
    return read.rows


# -- target and weights ----------------------------------------------------------------------------


def read_outcomes(
    column: pd.Series, classes: AnyArray | None, advice: str = "leave such rows out"
) -> AnyArray:
    """A target column without missing values as a model has it: its classes, or numbers where it
    has none; `advice` is what to do about other labels.
    """
    text = column.astype(str).str.strip()
    numbers = np.asarray(numbers_of(text), dtype=float)
    if classes is None:
        _refuse(text, np.isnan(numbers), "which is not a number")
        _refuse(text, np.abs(numbers) > LARGEST, f"which is larger than {LARGEST:g}")
        return numbers
    labels = classes.tolist()
    if classes.dtype.kind in "biuf":
        place = {float(label): k for k, label in enumerate(labels)}
        found = np.array([place.get(value, -1) for value in numbers.tolist()], dtype=np.intp)
    else:
        by_text = {str(label): k for k, label in enumerate(labels)}
        found = np.array([by_text.get(value, -1) for value in text], dtype=np.intp)
    shown = ", ".join(map(str, labels[:_MANY])) + (", .." if len(labels) > _MANY else "")
    _refuse(text, found < 0, f"which is not one of the labels {shown}; {advice}")
    return np.asarray(classes[found])


def _refuse(text: pd.Series, bad: Booleans, wrong: str) -> None:
    """Raise for the first bad row."""
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise TableError(
            f"row {text.index[row]}: {text.name!r} is {text.iloc[row][:40]!r}, {wrong}."
        )


def _read_target(
    column: pd.Series, first: Integers, weight: Array | None, options: TaskOptions
) -> tuple[Decision, AnyArray]:
    """The task, and the outcomes of all rows."""
    y = infer_types(column.iloc[first].to_frame())[column.name]
    counted = y if weight is None else y[weight[first] > 0]
    if counted.nunique() < 2 and options.exposure is None:
        raise TableError(
            f"the target {y.name!r} has only one value, {str(counted.iloc[0])!r}, in the rows to"
            " fit on."
        )
    decision = decide(y, options.asked)
    if decision.task == CLASSIFICATION:
        return decision, _read_labels(column, counted)
    outcome = read_outcomes(column, None)
    if decision.task == RATE:
        refuse_rates(column, outcome, options.loss_of(RATE))
    elif not np.var(outcome[first]) > 0:  # squares of tiny numbers are 0
        raise TableError(f"the target {y.name!r} varies too little; give it in larger units.")
    return decision, outcome


def _read_labels(column: pd.Series, known: pd.Series) -> AnyArray:
    """Classes; `known` has the rows to fit on that have a weight."""
    if is_number(known) and (known != np.rint(known)).any():
        known = column.loc[known.index].astype(str).str.strip()  # 1.5 and 2.5 are names of classes
    if is_number(known):
        classes = np.unique(np.asarray(known, dtype=float).astype(int))
        return read_outcomes(column, classes, _unseen(numbers_of(column), classes))
    same = look_alikes(column.astype(str).str.strip())
    if same:
        raise TableError(
            f"the target {column.name!r} has labels that differ only in case: {same[0]}; write"
            " them alike, or else each would be a class of its own."
        )
    classes = np.unique(np.asarray(known, dtype=str))
    return read_outcomes(column, classes, _unseen(column.astype(str).str.strip(), classes))


def _unseen(values: pd.Series, classes: AnyArray) -> str:
    """What to do about classes of sealed rows alone."""
    counts = values[~values.isin(classes)].value_counts()
    names = [
        f"{label:g}" if isinstance(label, float) else str(label)[:40] for label in counts.index
    ]
    shown = [f"{name} ({n})" for name, n in zip(names, counts, strict=True)][:_MANY]
    more = ", .." if len(counts) > _MANY else ""
    return (
        f"no row to fit on is of class {', '.join(shown)}{more}; leave such rows out, or join rare"
        " classes"
    )


def _rare_classes(outcome: AnyArray) -> list[str]:
    """A remark on those of several classes that have few rows to fit on."""
    labels, counts = np.unique(outcome, return_counts=True)
    rare = [
        f"{label} ({n})" for label, n in zip(labels.tolist(), counts, strict=True) if n < _FEW_ROWS
    ]
    if len(labels) == 2 or not rare:
        return []
    more = ", .." if len(rare) > _MANY else ""
    return [f"few rows to fit on are of class {', '.join(rare[:_MANY])}{more}"]


def refuse_rates(column: pd.Series, outcome: AnyArray, loss: str) -> None:
    """Raise for the first row whose target cannot be that of a rate."""
    low = outcome <= 0 if loss == "gamma" else outcome < 0
    least = "above 0" if loss == "gamma" else "of at least 0"
    words = f"and the {loss} loss needs numbers {least}; leave such rows out, or choose another"
    _refuse(column.astype(str).str.strip(), low, f"{words} --loss")


def read_exposure(column: pd.Series) -> Array:
    """How long each row was observed: positive numbers."""
    values = np.asarray(numbers_of(column), dtype=float)
    bad = ~((values > 0) & (values <= WEIGHTS[1]))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise TableError(
            f"row {column.index[row]}: the exposure {str(column.iloc[row])[:40]!r} is not a number"
            f" above 0 and up to {WEIGHTS[1]:g}; correct it, or leave the row out."
        )
    return values


def _read_weights(column: pd.Series, first: Integers) -> Array:
    values = np.asarray(numbers_of(column.astype(str)), dtype=float)
    bad = ~((values >= 0) & (values <= LARGEST))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise TableError(
            f"row {column.index[row]}: the weight {column.iloc[row]!r} is not a number from 0 to"
            f" {LARGEST:g}."
        )
    if not values[first].any():
        raise TableError(f"all weights {column.name!r} of the rows to fit on are 0.")
    return values
