"""Tables of pandas, polars and pyarrow, and matrices, as columns with types of their own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.stats import poisson

from ._typing import AnyArray, Array, Booleans
from .errors import InputError, InputTypeError
from .limits import LARGEST

POOLED = "other"
"""The level that rare levels are pooled to."""
__all__ = [
    "POOLED",
    "are_dates",
    "check_finite",
    "check_names",
    "check_present",
    "check_size",
    "columns_of",
    "floats_of",
    "from_arrow",
    "has_missing",
    "has_text",
    "is_declared",
    "is_frame",
    "is_identifier",
    "is_missing",
    "is_nearly_numbers",
    "is_numeric",
    "look_alikes",
    "meant",
    "rare_levels",
]


def from_arrow(X: Any) -> Any:
    """A table of pyarrow as one of pandas; anything else as it is."""
    if type(X).__module__.split(".")[0] != "pyarrow" or not hasattr(X, "column_names"):
        return X
    return X.to_pandas()


def check_names(X: Any) -> None:
    """Columns of a table are told apart by their names."""
    if not hasattr(X, "iloc"):
        return
    twice = [name for name, count in Counter(X.columns).items() if count > 1]
    if twice:
        more = f" (and {len(twice) - 1} more)" if len(twice) > 1 else ""
        raise InputError(
            f"each column of X must have a name of its own; got {twice[0]!r}"
            f" {list(X.columns).count(twice[0])} times{more}.",
            "Rename one of them, or leave it out.",
        )


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
        if len(values):  # numbers with holes are numbers, and holes alone are not
            values = values[~is_missing(values)]
            if not len(values):
                return False
        return all(
            isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
            for value in values
        )
    return False


def is_declared(column: Any) -> bool:
    """Whether the type of a column says that it holds categories (pandas, polars)."""
    return hasattr(column.dtype, "categories") or str(column.dtype).startswith("Categorical")


_NEARLY = 0.9  # a column with more numbers than that, but not only numbers, is taken for a mistake
_DISTINCT = 10  # numbers that it has at least: fewer may be codes


def is_nearly_numbers(numbers: Array) -> bool:
    """Whether values are numbers but for a few stray ones, which are nan.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.frames import is_nearly_numbers
    >>> is_nearly_numbers(np.array([*range(20), np.nan])), is_nearly_numbers(np.arange(20.0))
    (True, False)
    """
    known = numbers[~np.isnan(numbers)]
    return (
        len(known) > _NEARLY * len(numbers)
        and len(known) < len(numbers)
        and (len(np.unique(known)) >= _DISTINCT)
    )


_DATE = re.compile(
    r"^(\d{4}-\d{1,2}-\d{1,2}([ T]\d{1,2}:\d{2}.*)?|\d{1,2}[./]\d{1,2}[./](\d{2}|\d{4})("
    r" \d{1,2}:\d{2}.*)?)$"
)


def are_dates(values: Iterable[Any]) -> bool:
    """Whether nearly all of these are dates, written as text.

    Examples
    --------
    >>> from motlm.frames import are_dates
    >>> are_dates(["2024-01-31", "1.2.2024", "3/14/24"]), are_dates(["2024", "1.2"])
    (True, False)
    """
    found = [isinstance(one, str) and _DATE.match(one.strip()) is not None for one in values]
    return bool(found) and sum(found) > _NEARLY * len(found)


_FEW = 30  # rows, of which nothing is said
_CHANCE = 1e-6  # probability of taking a measurement for an identifier
_LONG = 1e7  # the least number of eight digits


def is_identifier(column: Any) -> bool:
    """Whether whole numbers look like numbers of rows or codes, and not like a measurement.

    Most rows have a number of their own, and the numbers are more different than independent draws
    would be: of m draws from R numbers at least m (m - 1) / 2R pairs are equal on average, whatever
    the distribution. (Of numbers that repeat, such as the hours of each day, equal counts are a
    matter of design.) Or they are all different and long, with the same number of digits, as
    account numbers are.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.frames import is_identifier
    >>> is_identifier(np.arange(1000, 1100)), is_identifier(np.arange(1000) // 20)
    (True, False)
    """
    values = np.asarray(column, dtype=float)
    if not np.array_equal(values, np.rint(values)) or len(values) < _FEW:
        return False
    counts, m = np.unique(values, return_counts=True)[1].astype(float), len(values)
    if 2 * len(counts) <= m:
        return False
    equal = float((counts * (counts - 1.0)).sum() / 2.0)
    expected = m * (m - 1.0) / 2.0 / float(np.ptp(values) + 1.0)
    if poisson.cdf(equal, expected) < _CHANCE:
        return True
    low, high = float(values.min()), float(values.max())
    return equal == 0 and low >= _LONG and np.floor(np.log10(low)) == np.floor(np.log10(high))


def look_alikes(values: Iterable[Any]) -> list[str]:
    """Texts that differ only in case or in the spaces around them, with how often each occurs.

    Examples
    --------
    >>> from motlm.frames import look_alikes
    >>> look_alikes(["Yes ", "no", "yes", "Yes ", 1])
    ["'Yes ' (2), 'yes' (1)"]
    """
    alike: dict[str, list[tuple[str, int]]] = {}
    for text, count in Counter(str(one) for one in values if isinstance(one, str)).items():
        alike.setdefault(_plain(text), []).append((text, count))
    return [
        ", ".join(f"{text!r} ({count})" for text, count in sorted(one, key=lambda pair: -pair[1]))
        for one in alike.values()
        if len(one) > 1
    ]


def meant(value: Any, levels: Iterable[Any]) -> str | None:
    """The level that an unknown one differs from only in case or in the spaces around it."""
    if not isinstance(value, str):
        return None
    same = (one for one in levels if isinstance(one, str) and _plain(one) == _plain(value))
    return next(same, None)


def _plain(text: str) -> str:
    return text.strip().casefold()


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
    values = np.asarray(column)
    if values.dtype.kind == "O":
        values = np.where(is_missing(values), np.nan, values)
    return np.asarray(values, dtype=float)


def is_missing(values: AnyArray) -> Booleans:
    """Which of these objects stand for a missing value."""
    return np.array(
        [value is None or type(value).__name__ == "NAType" or value != value for value in values],
        dtype=bool,
    )


def rare_levels(values: AnyArray, least: float, most: int) -> tuple[Any, ...]:
    """Levels that are to be pooled: those with fewer than `least` rows, and those beyond the `most`
    frequent ones, of which the pooled one is one. None if there is but one.
    """
    count = Counter(values[~is_missing(values)].tolist())
    order = sorted(count, key=lambda level: (-count[level], str(level)))
    rare = [level for level in order if count[level] < least]
    if len(order) - len(rare) + bool(rare) > most:
        rare = order[most - 1 :]
    return tuple(sorted(rare, key=str)) if len(rare) > 1 else ()


_REFUSED = "Drop or impute missing values first"


def has_missing(X: Array) -> bool:
    """Whether an array of numbers has a nan."""
    return bool(np.isnan(X.min(initial=0.0)))  # a nan is the least of all; no temporary


def check_finite(
    X: Array, names: tuple[str, ...], what: str, missing: bool = False, advice: str = _REFUSED
) -> None:
    """Raise, naming the column and the first row, where X has an infinity, or a nan unless missing
    values are allowed.
    """
    finite = np.isfinite(X)
    if finite.all():
        return
    if missing:
        finite |= np.isnan(X)
        if finite.all():
            return
    row, column = np.argwhere(~finite)[0]
    kind = "NaN" if np.isnan(X[row, column]) else "infinity"
    bad = int((~finite).sum())
    raise InputError(
        f"Input {what} contains {kind}: column {names[column]!r}, row {row} (of {bad} such"
        f" value{'s' * (bad > 1)} in all). {advice if kind == 'NaN' else 'Numbers must be finite'}."
    )


def check_size(X: Array, names: tuple[str, ...], what: str, most: float = LARGEST) -> None:
    """Raise, naming the column and the first row, where a number is too large to compute with."""
    if not X.size or max(-float(X.min()), float(X.max())) <= most:
        return
    large = np.abs(X) > most
    if not large.any():  # some are missing
        return
    row, column = np.argwhere(large)[0]
    where = "" if names[column] == what else f" in column {names[column]!r}"
    raise InputError(
        f"{what} has the number {X[row, column]:.3g}{where}, row {row}; numbers up to {most:g} can"
        " be computed with.",
        "Divide the column by a number of that size, or take its logarithm.",
    )


def check_present(values: AnyArray, name: str, what: str, advice: str = _REFUSED) -> None:
    """Raise, naming the column and the first row, where a column of objects has a missing value."""
    missing = is_missing(values)
    if missing.any():
        raise InputError(
            f"Input {what} contains NaN: column {name!r}, row {int(np.flatnonzero(missing)[0])} (of"
            f" {int(missing.sum())} missing in it). {advice}."
        )
