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
from ._typing import AnyArray, Array, Booleans
from .bends import Bends
from .errors import (
    IdentifierWarning,
    InputError,
    InputTypeError,
    UnknownCategoryError,
    UnknownCategoryWarning,
)
from .frames import (
    check_finite,
    check_present,
    check_size,
    columns_of,
    floats_of,
    has_text,
    is_frame,
    is_numeric,
)
from .limits import FARTHEST, LARGEST
from .units import Units

__all__ = ["HANDLE_UNKNOWN", "CheckedTable", "Columns", "Group", "Inputs", "Reading", "TableNotes"]

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
    """

    target: str
    id_column: str | None = None
    fill: Mapping[str, float | str] = field(default_factory=dict)
    calibration: tuple[float, ...] | None = None
    exposure: str | None = None
    cases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Group:
    """A column of the user's table, and where its encoded columns are."""

    name: str
    columns: slice
    levels: tuple[Any, ...] | None  # None for a numeric column


@dataclass(frozen=True)
class Columns:
    """The columns that an estimator was fitted on, and the levels of those that are not numbers."""

    names: tuple[str, ...]
    levels: tuple[tuple[Hashable, ...] | None, ...]  # None for a numeric column

    @classmethod
    def numeric(cls, names: tuple[str, ...]) -> Columns:
        return cls(names, (None,) * len(names))

    @classmethod
    def learn(cls, X: Any, names: tuple[str, ...]) -> Columns:
        """Find out what each column of the table is, and the levels it takes."""
        levels: list[tuple[Hashable, ...] | None] = []
        for name, column in zip(names, columns_of(X), strict=True):
            levels.append(None if is_numeric(column) else _levels(column, name))
        return cls(names, tuple(levels))

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """Names of the encoded columns: 'region=north' for the level north of the column region."""
        names: list[str] = []
        for name, level in zip(self.names, self.levels, strict=True):
            names.extend([name] if level is None else [f"{name}={value}" for value in level[1:]])
        return tuple(names)

    @property
    def has_text(self) -> bool:
        return any(level is not None for level in self.levels)

    @property
    def groups(self) -> tuple[Group, ...]:
        """Where the encoded columns of each column are."""
        groups, start = [], 0
        for name, levels in zip(self.names, self.levels, strict=True):
            width = 1 if levels is None else len(levels) - 1
            groups.append(Group(name, slice(start, start + width), levels))
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
                    parts.append(floats_of(column)[:, None])
                except (TypeError, ValueError, OverflowError) as error:
                    raise InputError(
                        f"column {group.name!r} of {what} should hold numbers as it did in fit:"
                        f" {error}"
                    ) from error
                continue
            values = np.asarray(column, dtype=object)
            check_present(values, group.name, what)
            code = {value: position for position, value in enumerate(group.levels)}
            codes = np.array([code.get(value, -1) for value in values], dtype=np.intp)
            indicator = (codes[:, None] == np.arange(1, len(group.levels))).astype(float)
            new = codes < 0
            if new.any():
                if typical is None:
                    text = _unknown(group, values, new, what)
                    raise UnknownCategoryError(text, _ADVICE_ON_UNKNOWN)
                if unknown == "warn":
                    text = _unknown(group, values, new, what)
                    text += " They are taken as the training average."
                    warnings.warn(
                        UnknownCategoryWarning(text, _ADVICE_ON_WARNING), stacklevel=user_level()
                    )
                indicator[new] = typical[group.columns]
            parts.append(indicator)
        return np.hstack(parts)


_ADVICE_ON_UNKNOWN = (
    "Fit on rows that have them, or set handle_unknown='ignore' to predict for them all the same."
)
_ADVICE_ON_WARNING = "Set handle_unknown='ignore' to have no warning, or 'error' to refuse them."


def _unknown(group: Group, values: AnyArray, new: Booleans, what: str) -> str:
    strange = sorted({str(value) for value in values[new]})[:5]
    return (
        f"column {group.name!r} of {what} has categories that fit did not see:"
        f" {', '.join(map(repr, strange))} (first at row {int(np.flatnonzero(new)[0])}); it knows"
        f" {', '.join(map(repr, (group.levels or ())[:10]))}."
    )


def _levels(column: Any, name: str) -> tuple[Hashable, ...]:
    """The levels that a column takes: in its own order if it has one, else sorted."""
    values = np.asarray(column, dtype=object)
    check_present(values, name, "X")
    kinds = {type(value) for value in values}
    strange = [kind for kind in kinds if not issubclass(kind, (str, bool, int, float, np.generic))]
    if strange:
        raise InputTypeError(
            f"column {name!r} holds values of type {strange[0].__name__}; motlm takes numbers, text"
            " and categories. Convert dates and durations to numbers (days since a date, say),"
            " other things to text or numbers."
        )
    found = set(values)
    if getattr(column.dtype, "ordered", False):
        declared = getattr(column.dtype, "categories", None)
        if declared is not None:
            return tuple(value for value in declared if value in found)
    levels = tuple(sorted(found, key=lambda value: (type(value).__name__, value)))
    if len(levels) > 20 and len(levels) > 0.5 * len(values):
        text = (
            f"column {name!r} has {len(levels)} different texts in {len(values)} rows, and each"
            " becomes a column of its own; is it an identifier?"
        )
        warnings.warn(IdentifierWarning(text, "Leave it out of X."), stacklevel=user_level())
    return levels


@dataclass(frozen=True)
class Reading:
    """How tables are read: their columns, and what to do with a category that is unknown."""

    columns: Columns
    labels: tuple[Any, ...] | None  # of the columns of the table; None for an array
    named: bool  # whether the names are those of the table, as scikit-learn has it
    owner: str  # the class that was fitted, for messages
    handle_unknown: str = "warn"

    def encode(self, X: Any, typical: Array | None, what: str = "X") -> Array:
        """Rows as numbers, in the user's units, as in fit."""
        scribe = _scribe(self.owner)
        scribe.n_features_in_ = len(self.columns.names)
        if self.named:
            scribe.feature_names_in_ = np.array(self.columns.names, dtype=object)
        if self.columns.has_text:
            validate_data(scribe, X, reset=False, skip_check_array=True)
            refuse = self.handle_unknown == "error"
            given = None if refuse else typical
            encoded = self.columns.encode(X, what, given, self.handle_unknown)
        else:
            try:
                encoded = np.asarray(_numbers(scribe, X, reset=False))
            except (TypeError, ValueError):
                self._refuse_text_columns(X, what)
                raise
        check_finite(encoded, self.columns.encoded_names, what)
        check_size(encoded, self.columns.encoded_names, what)
        return encoded

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
        columns, n_columns = self.columns, len(self.columns.names)
        if is_frame(points):
            points = self._in_order(points)
        elif hasattr(points, "column_names"):
            raise InputTypeError(
                "points_of_interest must be an array or a pandas or polars table; got"
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
            encoded = columns.encode(points, "points_of_interest")
        check_finite(encoded, columns.encoded_names, "points_of_interest")
        check_size(encoded, columns.encoded_names, "points_of_interest")
        return encoded

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
        scribe, text = _scribe(owner), has_text(X)
        if text:
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

    def learn(self, rows: Any, handle_unknown: str) -> tuple[Reading, Array]:
        """How tables like this are to be read, from some of its rows, and these rows encoded."""
        columns = Columns.learn(rows, self.names) if self.text else Columns.numeric(self.names)
        encoded = columns.encode(rows, "X") if self.text else rows
        check_finite(encoded, columns.encoded_names, "X")
        check_size(encoded, columns.encoded_names, "X")
        reading = Reading(columns, self.labels, self.named, self.owner, handle_unknown)
        return reading, encoded


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

    def standardize(self, encoded: Array) -> Array:
        """All columns; the constant ones, which a metric sees too, are 0."""
        if self.varies.all():
            return self.units.standardize(encoded)
        scale = self.units.inverse_scale * self.varies
        return replace(self.units, inverse_scale=scale).standardize(encoded)

    @property
    def n_features(self) -> int:
        """That the models see: the columns that vary, and ramps."""
        return int(self.varies.sum()) + self.n_ramps

    @property
    def n_ramps(self) -> int:
        return 0 if self.bends is None else len(self.bends)

    def coordinates(self, Z: Array) -> Array:
        """Where standardized rows lie: their columns that vary."""
        return Z if self.varies.all() else np.ascontiguousarray(Z[:, self.varies])

    def features(self, encoded: Array, coordinates: Array) -> Array:
        """What the models see of rows: their coordinates, and ramps."""
        if self.bends is None:
            return coordinates
        ramps = self.bends.values(encoded).astype(coordinates.dtype, copy=False)
        return np.concatenate([coordinates, ramps], axis=1)

    def of_features(self, columns: Any) -> Any:
        """(n_features,): of each feature what its encoded column has."""
        ramps = [] if self.bends is None else [(one.column, len(one)) for one in self.bends.each]
        more = [np.full(count, columns[j]) for j, count in ramps]
        return np.concatenate([columns[self.varies], *more])

    def by_column(self, parts: Array) -> Array:
        """(.., n_encoded): parts of the features added up for each encoded column."""
        found = np.zeros((*parts.shape[:-1], len(self.varies)))
        n = int(self.varies.sum())
        found[..., self.varies] = parts[..., :n]
        for one, own in self.bends.parts() if self.bends is not None else ():
            found[..., one.column] += parts[..., n:][..., own].sum(axis=-1)
        return found

    def contributions(self, parts: Array) -> Array:
        """(n_rows, n_columns): parts of the encoded columns added up for each of the user's."""
        return np.column_stack([parts[:, group.columns].sum(axis=1) for group in self.groups])

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
            **({} if self.bends is None else {"bends": self.bends.content()}),
        }


@cache
def _scribe_class(owner: str) -> type[Any]:
    return type(owner, (BaseEstimator,), {})


def _scribe(owner: str) -> Any:
    """What scikit-learn's checks write to and read from: n_features_in_, feature_names_in_."""
    return _scribe_class(owner)()


def _numbers(scribe: Any, X: Any, reset: bool) -> Any:
    """X as an array of numbers, checked by scikit-learn; text is refused with advice."""
    _refuse_text(X)
    try:
        # a number beyond the range of floats becomes an infinity, which is refused
        with np.errstate(over="ignore"):
            return validate_data(
                scribe, X, reset=reset, dtype=(np.float64, np.float32), ensure_all_finite=False
            )
    except OverflowError as error:
        raise InputError(f"X must be numbers that a computer can hold: {error}.") from None


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
            "Categories are encoded in tables with named columns: give one of pandas or polars; in"
            ' a pipeline, by .set_output(transform="pandas") of the step before.',
        ) from None


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
