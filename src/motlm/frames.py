"""Tables of pandas and polars, and matrices, as columns with types of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._typing import AnyArray, Array, Booleans
from .errors import InputError, InputTypeError
from .limits import LARGEST

__all__ = [
    "check_finite",
    "check_present",
    "check_size",
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
        raise InputTypeError(
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
    raise InputError(
        f"Input {what} contains {kind}: column {names[column]!r}, row {row} (of {bad} such"
        f" value{'s' * (bad > 1)} in all). motlm has no rule for missing values: drop or impute"
        " them first."
    )


def check_size(X: Array, names: tuple[str, ...], what: str, most: float = LARGEST) -> None:
    """Raise, naming the column and the first row, where a number is too large to compute with."""
    if not X.size or max(-float(X.min()), float(X.max())) <= most:
        return
    row, column = np.argwhere(np.abs(X) > most)[0]
    where = "" if names[column] == what else f" in column {names[column]!r}"
    raise InputError(
        f"{what} has the number {X[row, column]:.3g}{where}, row {row}; numbers up to {most:g} can"
        " be computed with.",
        "Divide the column by a number of that size, or take its logarithm.",
    )


def check_present(values: AnyArray, name: str, what: str) -> None:
    """Raise, naming the column and the first row, where a column of objects has a missing value."""
    missing = is_missing(values)
    if missing.any():
        raise InputError(
            f"Input {what} contains NaN: column {name!r}, row {int(np.flatnonzero(missing)[0])} (of"
            f" {int(missing.sum())} missing in it). motlm has no rule for missing values: drop or"
            " impute them first, or make them a category."
        )
