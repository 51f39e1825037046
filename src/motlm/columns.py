"""From a user's table to a matrix of numbers: numeric columns as they are, the others one-hot with
the first level left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._typing import AnyArray, Array, Booleans

__all__ = [
    "Columns",
    "TableNotes",
    "check_finite",
    "check_present",
    "columns_of",
    "floats_of",
    "has_text",
    "is_frame",
    "is_missing",
    "is_numeric",
]


def is_frame(X: Any) -> bool:
    """Whether X is a table with named columns of their own types (pandas, polars)."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def columns_of(X: Any) -> list[Any]:
    """The columns of a table or matrix, each with its type."""
    if isinstance(X, np.ndarray) and X.dtype != object:
        return list(X.T)
    if hasattr(X, "iloc"):
        return [X.iloc[:, j] for j in range(X.shape[1])]
    if hasattr(X, "get_columns"):
        return list(X.get_columns())
    return list(np.asarray(X, dtype=object).T)


def is_numeric(column: Any) -> bool:
    """Whether a column holds numbers."""
    dtype = column.dtype
    if hasattr(dtype, "is_numeric"):  # polars
        if dtype.is_numeric() or str(dtype) == "Boolean":
            return True
        kind = "M" if dtype.is_temporal() else "O"
    else:
        kind = getattr(dtype, "kind", "O")
    if kind in "mM":
        raise TypeError(
            f"column {column.name!r} has dtype {dtype}; convert dates and durations to numbers"
            " (days since a date, say) or to categories."
        )
    if kind in "buif":
        return True
    if str(dtype) == "object":
        values = np.asarray(column, dtype=object)
        return all(
            isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
            for value in values
        )
    return False


def has_text(X: Any) -> bool:
    """Whether X is a table with columns that are not numbers."""
    return is_frame(X) and not all(is_numeric(column) for column in columns_of(X))


def floats_of(column: Any) -> Array:
    """A numeric column as floats, nan where it is missing."""
    if hasattr(column, "cast"):  # polars: nulls become nan
        import polars

        return np.asarray(column.cast(polars.Float64).to_numpy(), dtype=float)
    if hasattr(column, "to_numpy"):
        return np.asarray(column.to_numpy(dtype=float, na_value=np.nan), dtype=float)
    return np.asarray(column, dtype=float)


def is_missing(values: AnyArray) -> Booleans:
    """Which of these objects stand for a missing value."""
    return np.array(
        [value is None or type(value).__name__ == "NAType" or value != value for value in values],
        dtype=bool,
    )


def check_finite(X: Array, names: tuple[str, ...], what: str) -> None:
    """Raise, naming the column and the first row, where X has a nan or an infinity."""
    finite = np.isfinite(X)
    if finite.all():
        return
    row, column = np.argwhere(~finite)[0]
    kind = "NaN" if np.isnan(X[row, column]) else "infinity"
    bad = int((~finite).sum())
    raise ValueError(
        f"Input {what} contains {kind}: column {names[column]!r}, row {row} (of {bad} such"
        f" value{'s' * (bad > 1)} in all). motlm has no rule for missing values: drop or impute"
        " them first."
    )


@dataclass(frozen=True)
class TableNotes:
    """What is known of a model's table beyond its columns, as the command line keeps it:
    `model.table_`.
    """

    target: str  # the column that is predicted
    id_column: str | None = None  # the column that names the rows
    fill: Mapping[str, float | str] = field(
        default_factory=dict
    )  # what stands in for missing values of a column
    calibration: tuple[float, float] | None = (
        None  # slope and intercept of the log-odds, by `decision_function`
    )


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

    def encode(self, X: Any, what: str, typical: Array | None = None) -> Array:
        """The matrix of numbers, (n_rows, n_encoded).

        A level not seen in fit becomes the `typical` means of its columns; without them it is an
        error.
        """
        parts: list[Array] = []
        for name, level, column in zip(self.names, self.levels, columns_of(X), strict=True):
            if level is None:
                try:
                    parts.append(floats_of(column)[:, None])
                except (TypeError, ValueError) as error:
                    raise ValueError(
                        f"column {name!r} of {what} should hold numbers as it did in fit: {error}"
                    ) from error
                continue
            values = np.asarray(column, dtype=object)
            check_present(values, name, what)
            code = {value: position for position, value in enumerate(level)}
            codes = np.array([code.get(value, -1) for value in values], dtype=np.intp)
            indicator = (codes[:, None] == np.arange(1, len(level))).astype(float)
            new = codes < 0
            if new.any() and typical is None:
                strange = sorted({str(value) for value in values[new]})[:5]
                raise ValueError(
                    f"column {name!r} of {what} has categories that fit did not see:"
                    f" {', '.join(map(repr, strange))} (first at row"
                    f" {int(np.flatnonzero(new)[0])}); it knows {', '.join(map(repr, level[:10]))}."
                    " Fit on rows that have them, or set handle_unknown='ignore' to predict for"
                    " them all the same."
                )
            if new.any() and typical is not None:
                position = sum(part.shape[1] for part in parts)
                indicator[new] = typical[position : position + indicator.shape[1]]
            parts.append(indicator)
        return np.hstack(parts)


def _levels(column: Any, name: str) -> tuple[Hashable, ...]:
    """The levels that a column takes: in its own order if it has one, else sorted."""
    values = np.asarray(column, dtype=object)
    check_present(values, name, "X")
    kinds = {type(value) for value in values}
    strange = [kind for kind in kinds if not issubclass(kind, (str, bool, int, float, np.generic))]
    if strange:
        raise TypeError(
            f"column {name!r} holds values of type {strange[0].__name__}; motlm takes numbers, text"
            " and categories. Convert dates and durations to numbers (days since a date, say),"
            " other things to text or numbers."
        )
    found = set(values)
    declared = (
        getattr(column.dtype, "categories", None)
        if getattr(column.dtype, "ordered", False)
        else None
    )
    if declared is not None:
        return tuple(value for value in declared if value in found)
    levels = tuple(sorted(found, key=lambda value: (type(value).__name__, value)))
    if len(levels) > 20 and len(levels) > 0.5 * len(values):
        warnings.warn(
            f"column {name!r} has {len(levels)} different texts in {len(values)} rows, and each"
            " becomes a column of its own; is it an identifier? Leave it out of X.",
            stacklevel=6,
        )
    return levels


def check_present(values: AnyArray, name: str, what: str) -> None:
    """Raise, naming the column and the first row, where a column of objects has a missing value."""
    missing = is_missing(values)
    if missing.any():
        raise ValueError(
            f"Input {what} contains NaN: column {name!r}, row {int(np.flatnonzero(missing)[0])} (of"
            f" {int(missing.sum())} missing in it). motlm has no rule for missing values: drop or"
            " impute them first, or make them a category."
        )
