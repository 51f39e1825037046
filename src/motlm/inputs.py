"""From a user's table to a matrix of numbers and back: numeric columns as they are, the others
one-hot with the first level left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from ._renamed import user_level
from ._typing import AnyArray, Array, Booleans, Integers
from .bends import Bends
from .cards import LinearReference, ModelCard
from .errors import (
    IdentifierWarning,
    InputError,
    InputTypeError,
    LookAlikeWarning,
    MissingValueWarning,
    StrayTextWarning,
    UnknownCategoryError,
    UnknownCategoryWarning,
)
from .frames import (
    POOLED,
    are_dates,
    check_finite,
    check_names,
    check_present,
    check_size,
    columns_of,
    floats_of,
    from_arrow,
    has_missing,
    has_text,
    is_declared,
    is_frame,
    is_identifier,
    is_missing,
    is_nearly_numbers,
    is_numeric,
    look_alikes,
    meant,
)
from .limits import FARTHEST, LARGEST
from .missing import fill_in, put_far
from .transformed import Transformed, name_term
from .units import Units

__all__ = [
    "HANDLE_UNKNOWN",
    "CheckedTable",
    "Columns",
    "Group",
    "Inputs",
    "Reading",
    "TableNotes",
    "kind_of",
]

HANDLE_UNKNOWN = ("warn", "ignore", "error")


@dataclass(frozen=True)
class TableNotes:
    """What is known of a model's table beyond its columns, as the command line keeps it:
    `model.table_`.

    Attributes
    ----------
    target : str
        The column that is predicted.
    id_column : str or None
        The column that names the rows.
    fill : mapping of str to float or str
        The value that replaces missing values of a column.
    calibration : tuple of float or None
        Of a classifier with the zero-one loss: slope and intercept of the log-odds, by the normal
        quantile of `vote_proba`; of several classes the slope and an intercept for each.
    exposure : str or None
        The column that tells how long, or how much, each row was observed.
    cases : tuple of str
        Of centers that are rows: what each is called, by the ID column ("client 4711") or by its
        number in the table ("row 17").
    pooled : mapping of str to tuple of str
        The levels of a column that are read as one, "other" (`PoolRareLevels`).
    card : ModelCard or None
        Whose model it is, what it is for, and which rows it was fitted to.
    linear : LinearReference or None
        One linear model that was fitted to the same rows, to compare with.
    """

    target: str
    id_column: str | None = None
    fill: Mapping[str, float | str] = field(default_factory=dict)
    calibration: tuple[float, ...] | None = None
    exposure: str | None = None
    cases: tuple[str, ...] = ()
    pooled: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    card: ModelCard | None = None
    linear: LinearReference | None = None


@dataclass(frozen=True)
class Group:
    """A column of the user's table, and where its encoded columns are."""

    name: str
    columns: slice
    levels: tuple[Any, ...] | None  # None for a numeric column; a level None is a missing value
    incomplete: bool = False  # a numeric column that had missing values in fit

    @property
    def values(self) -> slice:
        """Its encoded columns, but for the indicator of missing values."""
        return slice(self.columns.start, self.columns.stop - self.incomplete)

    @property
    def indicator(self) -> int | None:
        """The encoded column that is 1 where a number is missing."""
        return self.columns.stop - 1 if self.incomplete else None

    @property
    def codes(self) -> Array:
        """(n_levels, n_columns): how levels are encoded; the first has no column."""
        return np.eye(len(self.levels or ()))[:, 1:]


@dataclass(frozen=True)
class Columns:
    """The columns that an estimator was fitted on, and the levels of those that are not numbers."""

    names: tuple[str, ...]
    levels: tuple[tuple[Hashable, ...] | None, ...]  # None for a numeric column
    incomplete: frozenset[str] = frozenset()  # numeric columns that had missing values
    # levels that are read as POOLED, by column, of a model of `motlm fit`
    pooled: Mapping[str, tuple[str, ...]] = field(default_factory=dict, compare=False)

    @classmethod
    def numeric(cls, names: tuple[str, ...], X: Array | None = None) -> Columns:
        """Of numbers; where rows are given, as in an array of them."""
        incomplete: frozenset[str] = frozenset()
        if X is not None and has_missing(X):
            holes = np.flatnonzero(np.isnan(X).any(axis=0))
            incomplete = frozenset(names[j] for j in holes)
        return cls(names, (None,) * len(names), incomplete)

    @classmethod
    def learn(cls, X: Any, names: tuple[str, ...], missing: str) -> Columns:
        """Find out what each column of the table is, the levels it takes, and whether numbers are
        missing.
        """
        levels: list[tuple[Hashable, ...] | None] = []
        incomplete = []
        for name, column in zip(names, columns_of(X), strict=True):
            number = is_numeric(column)
            levels.append(None if number else _levels(column, name, missing))
            if number and np.isnan(floats_of(column)).any():
                incomplete.append(name)
        return cls(names, tuple(levels), frozenset(incomplete))

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """Names of the encoded columns: 'region=north' for the level north of the column region,
        'age is missing' for the indicator of missing values.
        """
        names: list[str] = []
        for group in self.groups:
            name, levels = group.name, group.levels
            names.extend(
                [name] if levels is None else [_encoded_name(name, one) for one in levels[1:]]
            )
            names.extend([_encoded_name(name, None)] * group.incomplete)
        return tuple(names)

    @property
    def incomplete_numbers(self) -> list[int]:
        """The encoded columns of numbers that had missing values."""
        return [one.columns.start for one in self.groups if one.incomplete]

    @property
    def switches(self) -> Booleans:
        """(n_encoded,): the columns of 0 and 1 that tell a level, or that a number is missing."""
        found = self.indicators
        for group in self.groups:
            found[group.columns] |= group.levels is not None
        return found

    @property
    def indicators(self) -> Booleans:
        """(n_encoded,): the columns that tell that a number is missing."""
        groups = self.groups
        found = np.zeros(groups[-1].columns.stop if groups else 0, dtype=bool)
        found[[one.indicator for one in groups if one.indicator is not None]] = True
        return found

    @property
    def has_text(self) -> bool:
        return any(level is not None for level in self.levels)

    @property
    def groups(self) -> tuple[Group, ...]:
        """Where the encoded columns of each column are."""
        groups, start = [], 0
        for name, levels in zip(self.names, self.levels, strict=True):
            width = 1 if levels is None else len(levels) - 1
            incomplete = name in self.incomplete
            width += incomplete
            groups.append(Group(name, slice(start, start + width), levels, incomplete))
            start += width
        return tuple(groups)

    def encode(
        self, X: Any, what: str, typical: Array | None = None, unknown: str = "error"
    ) -> Array:
        """The matrix of numbers, (n_rows, n_encoded).

        A level not seen in fit becomes the `typical` means of its columns, with a warning if
        `unknown` says so; without them it is an error.
        """
        parts: list[Array] = []
        for group, column in zip(self.groups, columns_of(X), strict=True):
            if group.levels is None:
                try:
                    values = floats_of(column)
                    parts.append(values[:, None])
                    if group.incomplete:
                        parts.append(np.isnan(values)[:, None].astype(float))
                except (TypeError, ValueError, OverflowError) as error:
                    raise InputError(
                        f"column {group.name!r} of {what} should hold numbers as it did in fit:"
                        f" {error}"
                    ) from error
                continue
            values = _none_for_missing(column)
            code = {value: position for position, value in enumerate(group.levels)}
            rest = {one: code[POOLED] for one in self.pooled.get(group.name, ()) if POOLED in code}
            code = rest | code
            codes = np.array([code.get(value, -1) for value in values], dtype=np.intp)
            indicator = (codes[:, None] == np.arange(1, len(group.levels))).astype(float)
            new = codes < 0
            if new.any():
                if typical is None:
                    text = _unknown(group, values, new, what, X)
                    raise UnknownCategoryError(text, _ADVICE_ON_UNKNOWN)
                if unknown == "warn":
                    text = _unknown(group, values, new, what, X)
                    text += " They are taken as the training average."
                    warnings.warn(
                        UnknownCategoryWarning(text, _ADVICE_ON_WARNING), stacklevel=user_level()
                    )
                indicator[new] = typical[group.columns]
            parts.append(indicator)
        return np.hstack(parts)

    def widen(self, X: Array) -> Array:
        """An array of numbers with the indicators of missing values."""
        if not self.incomplete:
            return X
        made = np.empty((len(X), len(self.indicators)), dtype=X.dtype)
        made[:, ~self.indicators] = X
        for group in self.groups:
            if group.incomplete:
                made[:, group.columns.stop - 1] = np.isnan(made[:, group.columns.start])
        return made


def _encoded_name(name: str, level: Any) -> str:
    return f"{name} is missing" if level is None else f"{name}={level}"


def _none_for_missing(column: Any) -> AnyArray:
    """A column of objects; None where a value is missing."""
    values = np.array(column, dtype=object)
    values[is_missing(values)] = None
    return values


_ADVICE_ON_UNKNOWN = (
    "Fit on rows that have them, or set handle_unknown='ignore' to predict for them all the same."
)
_ADVICE_ON_WARNING = "Set handle_unknown='ignore' to have no warning, or 'error' to refuse them."


_ADVICE_ON_MISSING = (
    "missing='error' refuses missing values: drop or impute them, or set missing='auto'"
)
_ADVICE_ON_POINTS = "Give each point of interest a value in every column"


def _row_name(X: Any, place: int) -> Any:
    """Of a row of a table: by the label that pandas has for it, else by its number."""
    labels = getattr(X, "index", None)
    return place if labels is None or callable(labels) else labels[place]


def _unknown(group: Group, values: AnyArray, new: Booleans, what: str, X: Any) -> str:
    levels = group.levels or ()
    strange = sorted({"missing" if value is None else str(value) for value in values[new]})
    known = ["missing" if level is None else repr(level) for level in levels]
    first = _row_name(X, int(np.flatnonzero(new)[0]))
    close = {one: meant(one, levels) for one in strange[:_STRANGE]}
    pairs = [f"{level!r} by {one!r}" for one, level in close.items() if level is not None]
    hint = f" Did you mean {', '.join(pairs)}?" if pairs else ""
    return (
        f"column {group.name!r} of {what} has categories that fit did not see:"
        f" {_first(list(map(repr, strange)), _STRANGE)} (first at row {first}); it knows"
        f" {_first(known, _KNOWN)}.{hint}"
    )


_STRANGE, _KNOWN = 5, 10  # categories that are named


def _first(names: list[str], count: int) -> str:
    return ", ".join(names[:count]) + (", .." if len(names) > count else "")


def _levels(column: Any, name: str, missing: str) -> tuple[Hashable, ...]:
    """The levels that a column takes: in its own order if it has one, else sorted; None, the last,
    where values are missing.
    """
    values = _none_for_missing(column)
    present = values[~is_missing(values)]
    if missing == "error":
        check_present(values, name, "X", _ADVICE_ON_MISSING)
    last = (None,) if len(present) < len(values) else ()
    kinds = {type(value) for value in present}
    strange = [kind for kind in kinds if not issubclass(kind, (str, bool, int, float, np.generic))]
    if strange:
        raise InputTypeError(
            f"column {name!r} holds values of type {strange[0].__name__}; motlm takes numbers, text"
            " and categories. Convert dates and durations to numbers (days since a date, say),"
            " other things to text or numbers."
        )
    found = set(present)
    if getattr(column.dtype, "ordered", False):
        declared = getattr(column.dtype, "categories", None)
        if declared is not None:
            return (*(value for value in declared if value in found), *last)
    levels = tuple(sorted(found, key=lambda value: (type(value).__name__, value)))
    _warn_of_look_alikes(present, name)
    if not is_declared(column) and (
        _warn_of_strays(present, name) or _warn_of_dates(present, name)
    ):
        return levels + last
    if len(levels) > 20 and len(levels) > 0.5 * len(values):
        text = (
            f"column {name!r} has {len(levels)} different texts in {len(values)} rows, and each"
            " becomes a column of its own; is it an identifier?"
        )
        warnings.warn(IdentifierWarning(text, "Leave it out of X."), stacklevel=user_level())
    return levels + last


_STRAYS = 5  # that are named


def _warn_of_strays(values: AnyArray, name: str) -> bool:
    """Warn where all values but a few are numbers, of which the command line refuses a column."""
    numbers = np.array([_number(value) for value in values], dtype=float)
    if not is_nearly_numbers(numbers):
        return False
    stray = values[np.isnan(numbers)]
    each, s = list(dict.fromkeys(map(str, stray))), "" if len(stray) == 1 else "s"
    named = ", ".join(map(repr, each[:_STRAYS])) + (", .." if len(each) > _STRAYS else "")
    text = (
        f"column {name!r} holds numbers, except for {len(stray)} value{s}: {named}."
        " So each of its numbers becomes a category."
    )
    advice = (
        "Correct these values or mark them as missing (pandas.to_numeric with errors='coerce'); if"
        " the numbers are codes, give the column the type 'category'."
    )
    warnings.warn(StrayTextWarning(text, advice), stacklevel=user_level())
    return True


def _warn_of_look_alikes(values: AnyArray, name: str) -> None:
    same = look_alikes(values)
    if same:
        more = f" (and {len(same) - 1} more such sets)" if len(same) > 1 else ""
        text = (
            f"column {name!r} has categories that differ only in case or in the spaces around"
            f" them: {same[0]}{more}; each is a category of its own."
        )
        advice = "Write them alike, such as by .str.strip().str.lower()."
        warnings.warn(LookAlikeWarning(text, advice), stacklevel=user_level())


def _warn_of_dates(values: AnyArray, name: str) -> bool:
    if not are_dates(values):
        return False
    text = f"column {name!r} holds dates as text, such as {values[0]!r}: each becomes a category."
    advice = (
        "Leave it out of X, or make it a number (for example days since a date); if these are"
        " kinds of cases, give the column the type 'category'."
    )
    warnings.warn(IdentifierWarning(text, advice), stacklevel=user_level())
    return True


def _warn_of_identifiers(columns: Columns, encoded: Array) -> None:
    """Warn of columns of whole numbers that number the rows, which the command line points out."""
    for group in columns.groups:
        if group.levels is None:
            values = encoded[:, group.columns.start]
            values = values[~np.isnan(values)]
            if is_identifier(values):
                text = (
                    f"column {group.name!r} looks like an identifier:"
                    f" {len(np.unique(values))} different whole numbers in {len(values)} rows."
                )
                advice = "If it numbers or names the rows, leave it out of X."
                warnings.warn(IdentifierWarning(text, advice), stacklevel=user_level())


def _number(value: Any) -> float:
    """A number, or what a text reads as, with a decimal comma perhaps; nan where it is none."""
    text = value.strip() if isinstance(value, str) else value
    if isinstance(text, str):
        text = text.replace("_", "?").replace(",", ".", 1)  # Python alone reads 1_000
    try:
        found = float(text)
    except (TypeError, ValueError, OverflowError):
        return np.nan
    return found if np.isfinite(found) else np.nan


@dataclass(frozen=True)
class Reading:
    """How tables are read: their columns, and what to do with a category that is unknown."""

    columns: Columns
    labels: tuple[Any, ...] | None  # of the columns of the table; None for an array
    named: bool  # whether the names are those of the table, as scikit-learn has it
    owner: str  # the class that was fitted, for messages
    handle_unknown: str = "warn"
    missing: str = "auto"  # "error" refuses missing values

    def encode(self, X: Any, typical: Array | None, what: str = "X") -> Array:
        """Rows as numbers, in the user's units, as in fit."""
        X = from_arrow(X)
        check_names(X)
        scribe = _scribe(self.owner)
        scribe.n_features_in_ = len(self.columns.names)
        if self.named:
            scribe.feature_names_in_ = np.array(self.columns.names, dtype=object)
        if self.columns.has_text:
            validate_data(scribe, X, reset=False, skip_check_array=True)
            if self.missing == "error":
                self._check_categories(X, what, _ADVICE_ON_MISSING)
            refuse = self.handle_unknown == "error"
            given = None if refuse else typical
            encoded = self.columns.encode(X, what, given, self.handle_unknown)
        else:
            try:
                encoded = self.columns.widen(np.asarray(_numbers(scribe, X, reset=False)))
            except (TypeError, ValueError):
                self._refuse_text_columns(X, what)
                raise
        encoded = self.check(encoded, what)
        if has_missing(encoded):
            self._look_for_new_holes(encoded, typical, what, X)
        return encoded

    def check(self, encoded: Array, what: str) -> Array:
        """Encoded rows, checked: numbers that can be computed with, or missing if allowed."""
        names = self.columns.encoded_names
        check_finite(encoded, names, what, self.missing != "error", _ADVICE_ON_MISSING)
        check_size(encoded, names, what)
        return encoded

    def _look_for_new_holes(self, encoded: Array, typical: Array | None, what: str, X: Any) -> None:
        """Warn of numbers that are missing in columns that had none missing in fit, or raise."""
        if self.handle_unknown == "ignore":
            return
        for group in self.columns.groups:
            if group.levels is not None or group.incomplete:
                continue
            holes = np.flatnonzero(np.isnan(encoded[:, group.columns.start]))
            if not len(holes):
                continue
            text = (
                f"column {group.name!r} of {what} has {len(holes)} missing value"
                f"{'s' * (len(holes) > 1)} (first at row {_row_name(X, int(holes[0]))}), and had"
                " none in fit."
            )
            if self.handle_unknown == "error":
                raise InputError(text, "Set handle_unknown='ignore' to predict all the same.")
            if typical is not None:
                text += (
                    f" They are taken as the training average, {typical[group.columns.start]:.6g}."
                )
            warnings.warn(MissingValueWarning(text, _ADVICE_ON_WARNING), stacklevel=user_level())

    def _refuse_text_columns(self, X: Any, what: str) -> None:
        """Name the column of a table that could not be read as numbers."""
        if not is_frame(X) or X.shape[1] != len(self.columns.names):
            return
        for label, column in zip(X.columns, columns_of(X), strict=True):
            try:
                floats_of(column)
            except (TypeError, ValueError, OverflowError):
                raise InputError(
                    f"column {label!r} of {what} holds text or categories; it held numbers in fit."
                ) from None

    def encode_points(self, points: Any) -> Array:
        """Points of interest as numbers; their columns may come in any order if they have names."""
        columns, n_columns, points = self.columns, len(self.columns.names), from_arrow(points)
        if is_frame(points):
            points = self._in_order(points)
        elif hasattr(points, "column_names"):
            raise InputTypeError(
                "points_of_interest must be an array or a pandas, polars or pyarrow table; got"
                f" {type(points)}."
            )
        else:
            try:
                with np.errstate(over="ignore"):  # beyond the range of floats: refused below
                    points = np.asarray(points, dtype=object if columns.has_text else float)
            except (TypeError, ValueError, OverflowError) as error:
                raise InputError(
                    f"points_of_interest must be rows of numbers, like X: {error}"
                ) from error
        if len(points.shape) != 2:
            raise InputError(
                "points_of_interest must be 2-D, one row for each point; got an array of shape"
                f" {points.shape}. For one point write [[...]]."
            )
        if points.shape[1] != n_columns:
            raise InputError(
                f"points_of_interest has {points.shape[1]} columns but X has {n_columns}; give each"
                " point in the columns of X."
            )
        encoded = np.empty((0, len(columns.encoded_names)))
        if len(points):
            self._check_categories(points, "points_of_interest", _ADVICE_ON_POINTS)
            encoded = columns.encode(points, "points_of_interest")
        names = columns.encoded_names
        check_finite(encoded, names, "points_of_interest", advice=_ADVICE_ON_POINTS)
        check_size(encoded, columns.encoded_names, "points_of_interest")
        return encoded

    def _check_categories(self, X: Any, what: str, advice: str) -> None:
        """Raise where a category is missing."""
        for group, column in zip(self.columns.groups, columns_of(X), strict=True):
            if group.levels is not None:
                check_present(np.asarray(column, dtype=object), group.name, what, advice)

    def _in_order(self, points: Any) -> Any:
        """A table of points with its columns in the order of X."""
        if self.labels is None:
            return points
        known, given = list(self.labels), list(points.columns)
        missing = [label for label in known if label not in given]
        extra = [label for label in given if label not in known]
        if missing or extra:
            raise InputError(
                f"points_of_interest should have the columns of X, {known}"
                + (f"; missing: {missing}" if missing else "")
                + (f"; not in X: {extra}" if extra else "")
                + "."
            )
        return points[known]


@dataclass(frozen=True)
class CheckedTable:
    """A table to fit on, as scikit-learn has checked it, with nothing written to the estimator."""

    rows: Any
    names: tuple[str, ...]
    named: bool
    labels: tuple[Any, ...] | None
    text: bool  # whether it has columns that are not numbers
    owner: str

    @classmethod
    def of(cls, X: Any, owner: str) -> CheckedTable:
        X = from_arrow(X)
        check_names(X)
        scribe, text = _scribe(owner), has_text(X)
        if text:
            if not len(X):
                raise InputError(
                    f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is"
                    f" required by {owner}: the table has columns, but no rows."
                )
            validate_data(scribe, X, skip_check_array=True)
            rows = X
        else:
            rows = _numbers(scribe, X, reset=True)
        named = hasattr(scribe, "feature_names_in_")
        names = tuple(f"x{j}" for j in range(scribe.n_features_in_))
        if named:
            names = tuple(map(str, scribe.feature_names_in_))
        labels = tuple(X.columns) if is_frame(X) else None
        return cls(rows, names, named, labels, text, owner)

    def learn(self, rows: Any, handle_unknown: str, missing: str) -> tuple[Reading, Array]:
        """How tables like this are to be read, from some of its rows, and these rows encoded."""
        if self.text:
            columns = Columns.learn(rows, self.names, missing)
            encoded = columns.encode(rows, "X")
        else:
            columns = Columns.numeric(self.names, rows)
            encoded = columns.widen(rows)
        if self.named:  # arrays may be made of anything
            _warn_of_identifiers(columns, encoded)
        reading = Reading(columns, self.labels, self.named, self.owner, handle_unknown, missing)
        return reading, reading.check(encoded, "X")


@dataclass(frozen=True, eq=False)
class Inputs:
    """From a table to two arrays: the features of the models and the coordinates of the
    localities.
    """

    reading: Reading
    units: Units  # of the columns; the target's part stays at its default
    varies: Booleans  # (n_encoded,), whether a column is not constant among the training rows
    typical: Array  # (n_encoded,), the average training row, in the user's units
    bends: Bends | None = None  # by which models bend; None: they are straight
    made: Transformed | None = None  # what models see besides, made by a transformer
    # (n_encoded,), in the user's units: the medians of columns that had missing values, which stand
    # in for these, and the averages of others; None where no column had any
    fill: Array | None = None

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone: what was derived from them is derived again."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def columns(self) -> Columns:
        return self.reading.columns

    @property
    def labels(self) -> tuple[Any, ...] | None:
        return self.reading.labels

    @property
    def handle_unknown(self) -> str:
        return self.reading.handle_unknown

    @property
    def missing(self) -> str:
        return self.reading.missing

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the encoded columns."""
        return self.columns.encoded_names

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The user's columns, with the encoded columns of each."""
        return self.columns.groups

    @cached_property
    def counted(self) -> Booleans:
        """(n_encoded,): the columns that are not ignored. A column may be constant among the rows
        that a fit had when it was stopped.
        """
        return np.asarray(self.varies & (self.units.inverse_scale > 0))

    def encode(self, X: Any, what: str = "X") -> Array:
        """Rows as numbers in the user's units, (n_rows, n_encoded)."""
        encoded = self.reading.encode(X, self.typical, what)
        self.check_reach(encoded, what)
        return encoded

    def check_reach(self, encoded: Array, what: str, most: float = FARTHEST) -> None:
        """Raise, naming the column and the first row, where a row lies so far from the training
        rows, in standardized units, that squared distances could overflow.
        """
        units = self.units
        width = np.full(len(units.center), 2.0 * LARGEST)  # no end
        near = self.counted & (units.inverse_scale > 0.5 * most / LARGEST)
        np.divide(most, units.inverse_scale, out=width, where=near)
        low, high = units.center - width, units.center + width
        far = (encoded < low) | (encoded > high)
        if not far.any():
            return
        row, column = np.argwhere(far)[0]
        raise InputError(
            f"{what} has the number {encoded[row, column]:.3g} in column {self.names[column]!r},"
            f" row {row}, which is more than {most:g} times"
            f" {1.0 / units.inverse_scale[column]:.3g}, the unit of the column, away from"
            f" {units.center[column]:.3g}.",
            "Check the units of the row; or take the logarithm of the column and fit again.",
        )

    @property
    def stand_in(self) -> Array:
        """(n_encoded,): what stands in for missing values, in the user's units."""
        return self.typical if self.fill is None else self.fill

    @cached_property
    def indicators(self) -> Booleans:
        """(n_encoded,): the columns that tell that a number is missing."""
        return self.columns.indicators

    def fill_in(self, encoded: Array) -> Array:
        """Encoded rows without missing values, as the models see them."""
        return fill_in(encoded, self.stand_in)

    def places(self, encoded: Array) -> Array:
        """(n_rows, n_coordinates): where rows lie; far away along columns that are missing."""
        made = self.coordinates(self.standardize(encoded))
        holes = self.holes(encoded)
        return made if holes is None else put_far(made, holes[:, self.varies])

    def measured(self, Z: Array) -> Array:
        """Standardized rows as a metric sees them: 0 in the indicators of missing values."""
        return np.where(self.indicators, 0.0, Z) if self.columns.incomplete else Z

    def holes(self, encoded: Array) -> Booleans | None:
        """(n_rows, n_encoded): where numbers are missing in columns that vary; None where none
        is.
        """
        if not has_missing(encoded):
            return None
        found = np.isnan(encoded) & self.varies
        return found if found.any() else None

    def standardize(self, encoded: Array) -> Array:
        """All columns; the constant ones, which a metric sees too, are 0."""
        encoded = self.fill_in(encoded)
        if self.varies.all():
            return self.units.standardize(encoded)
        scale = self.units.inverse_scale * self.varies
        return replace(self.units, inverse_scale=scale).standardize(encoded)

    @property
    def n_features(self) -> int:
        """That the models see: the columns that vary, ramps, and what a transformer makes."""
        return int(self.varies.sum()) + self.n_ramps

    @property
    def n_ramps(self) -> int:
        """Features beyond the columns."""
        return sum(len(one) for one in (self.bends, self.made) if one is not None)

    @property
    def kind(self) -> str:
        """Of the models: "linear", "additive", or by the name of a transformer."""
        return kind_of(self.bends, self.made)

    @property
    def smooth(self) -> tuple[int, ...]:
        """The encoded columns whose curves are smooth."""
        return () if self.bends is None else self.bends.smooth

    def coordinates(self, Z: Array) -> Array:
        """Where standardized rows lie: their columns that vary."""
        return Z if self.varies.all() else np.ascontiguousarray(Z[:, self.varies])

    def features(self, encoded: Array, coordinates: Array) -> Array:
        """What the models see of rows: their coordinates, ramps, and what a transformer makes."""
        more = [one for one in (self.bends, self.made) if one is not None]
        if not more:
            return coordinates
        whole = self.fill_in(encoded)
        made = [one.values(whole).astype(coordinates.dtype, copy=False) for one in more]
        return np.concatenate([coordinates, *made], axis=1)

    def of_features(self, columns: Any) -> Any:
        """(n_features,): of each feature what its encoded column has; 0 for what a transformer
        makes.
        """
        ramps = [] if self.bends is None else [(one.column, len(one)) for one in self.bends.each]
        more = [np.full(count, columns[j]) for j, count in ramps]
        free = np.zeros(0 if self.made is None else len(self.made), dtype=columns.dtype)
        return np.concatenate([columns[self.varies], *more, free])

    @cached_property
    def _terms(self) -> list[tuple[tuple[int, ...], list[int]]]:
        """What a transformer makes, by the user's columns that it depends on."""
        if self.made is None:
            return []
        return self.made.terms(self._column_owners.tolist())

    @property
    def _column_owners(self) -> Integers:
        """(n_encoded,): to which of the user's columns each belongs."""
        found = np.zeros(len(self.varies), dtype=np.int64)
        for k, group in enumerate(self.groups):
            found[group.columns] = k
        return found

    @property
    def joint(self) -> list[tuple[int, ...]]:
        """Sets of the user's columns of which a transformer makes something together."""
        return [one for one, _ in self._terms if len(one) > 1]

    @cached_property
    def term_names(self) -> tuple[str, ...]:
        """Of what adds up to a score: the user's columns, and what is made of several of them."""
        names, kind = self.columns.names, self.kind
        return (*names, *(name_term([names[k] for k in one], kind) for one in self.joint))

    @cached_property
    def owners(self) -> Integers:
        """(n_features,): to which of the terms each belongs."""
        found, joint = self.of_features(self._column_owners), self.joint
        first = len(found) - (0 if self.made is None else len(self.made))
        for names, outputs in self._terms:
            alone = len(names) == 1
            own = names[0] if alone else len(self.groups) + joint.index(names)
            found[first + np.array(outputs)] = own
        return np.asarray(found)

    def by_column(self, parts: Array) -> Array:
        """(.., n_encoded + n_terms): parts of the features added up for each encoded column, and
        then for what is made of several columns.
        """
        joint = self.joint
        found = np.zeros((*parts.shape[:-1], len(self.varies) + len(joint)))
        n, d = int(self.varies.sum()), len(self.varies)
        found[..., :d][..., self.varies] = parts[..., :n]
        for one, own in self.bends.parts() if self.bends is not None else ():
            found[..., one.column] += parts[..., n:][..., own].sum(axis=-1)
        first = parts.shape[-1] - (0 if self.made is None else len(self.made))
        for columns, outputs in self._terms:
            alone = len(columns) == 1
            where = self.groups[columns[0]].columns.start if alone else d + joint.index(columns)
            found[..., where] += parts[..., first:][..., outputs].sum(axis=-1)
        return found

    def contributions(self, parts: Array) -> Array:
        """(.., n_columns + n_terms): parts of the encoded columns added up for each of the user's,
        and those of several of them.
        """
        own = [parts[..., group.columns].sum(axis=-1) for group in self.groups]
        return np.concatenate([np.stack(own, axis=-1), parts[..., len(self.varies) :]], axis=-1)

    def pool(self, levels: Mapping[str, tuple[str, ...]]) -> Inputs:
        """The same, which reads these levels as `motlm fit` did. It is no part of the content: the
        rows of the fit had them pooled already.
        """
        columns = replace(self.columns, pooled=levels)
        return replace(self, reading=replace(self.reading, columns=columns))

    def content(self) -> dict[str, Any]:
        """All that predictions depend on, as plain values and arrays."""
        return {
            "names": list(self.columns.names),
            "levels": [None if one is None else list(one) for one in self.columns.levels],
            "named": self.reading.named,
            "handle_unknown": self.handle_unknown,
            "typical": self.typical,
            "center": self.units.center,
            "inverse_scale": self.units.inverse_scale,
            "varies": self.varies,
            **self._content_of_missing(),
            **({} if self.bends is None else {"bends": self.bends.content()}),
            **({} if self.made is None else {"made": self.made.content()}),
        }

    def _content_of_missing(self) -> dict[str, Any]:
        """As before there were any, so that models keep their hashes."""
        made: dict[str, Any] = {} if self.missing == "error" else {"missing": self.missing}
        if self.fill is not None:
            made["incomplete"] = [name in self.columns.incomplete for name in self.columns.names]
            made["fill"] = self.fill
        return made


def kind_of(bends: Bends | None, made: Transformed | None) -> str:
    """Of models: "linear", "additive", or by the name of a transformer."""
    if made is not None:
        return made.name
    return "linear" if bends is None else "additive"


@cache
def _scribe_class(owner: str) -> type[Any]:
    return type(owner, (BaseEstimator,), {})


def _scribe(owner: str) -> Any:
    """What scikit-learn's checks write to and read from: n_features_in_, feature_names_in_."""
    return _scribe_class(owner)()


def _numbers(scribe: Any, X: Any, reset: bool) -> Any:
    """X as an array of numbers, checked by scikit-learn; text is refused with advice."""
    _refuse_text(X)
    X = _nan_for_missing(X)
    try:
        # a number beyond the range of floats becomes an infinity, which is refused
        with np.errstate(over="ignore"):
            return validate_data(
                scribe, X, reset=reset, dtype=(np.float64, np.float32), ensure_all_finite=False
            )
    except OverflowError as error:
        raise InputError(f"X must be numbers that a computer can hold: {error}.") from None


def _nan_for_missing(X: Any) -> Any:
    """Objects among which some are None or pandas.NA, as floats; anything else as it is."""
    if hasattr(X, "iloc") and any(str(one) == "object" for one in getattr(X, "dtypes", ())):
        values = np.column_stack([floats_of(one) for one in columns_of(X)])
        return type(X)(values, columns=X.columns, index=X.index)
    if not isinstance(X, (np.ndarray, list, tuple)):
        return X
    try:
        values = np.asarray(X)
    except ValueError:  # rows of different lengths
        return X
    if values.dtype.kind != "O" or values.ndim != 2:
        return X
    holes = is_missing(values.ravel()).reshape(values.shape)
    return np.where(holes, np.nan, values) if holes.any() else X


def _refuse_text(X: Any) -> None:
    if is_frame(X) or hasattr(X, "tocsr"):
        return
    try:
        values = np.asarray(X)
    except ValueError:  # rows of different lengths, of which scikit-learn's own message tells
        return
    texts = values.dtype.kind in "US"
    if values.dtype.kind == "O":
        texts = any(isinstance(value, str) for value in values.ravel())
    if not texts:
        return
    try:
        values.astype(float)
    except OverflowError:  # of an integer, which is refused as a number
        return
    except (TypeError, ValueError):
        text = next(value for value in values.ravel() if not _is_number(value))
        raise InputError(
            f"X is an array that holds text, such as {str(text)!r}.",
            "Categories are encoded in tables with named columns: give one of pandas, polars or"
            ' pyarrow; in a pipeline, by .set_output(transform="pandas") of the step before.',
        ) from None


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
