"""Tables as one matrix of numbers, for estimators that take no others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import AnyArray, Array, Booleans
from ..frames import columns_of, floats_of, is_frame, is_missing, is_numeric

__all__ = ["Matrix", "matrix_of"]

_DAY = np.timedelta64(1, "D")


@dataclass(frozen=True)
class Matrix:
    """The columns of a table: numbers, nan where they are missing, and codes of categories."""

    values: Array  # (n_rows, n_columns)
    codes: Booleans  # (n_columns,), which columns are codes


def matrix_of(X: Any) -> Matrix:
    """Nothing is learned from the rows but which categories there are; a missing one is another.

    Examples
    --------
    >>> import pandas as pd
    >>> from motlm.comparison._matrix import matrix_of
    >>> found = matrix_of(pd.DataFrame({"age": [30.0, None], "town": ["B", "A"]}))
    >>> found.values, found.codes
    (array([[30.,  1.],
           [nan,  0.]]), array([False,  True]))
    """
    made, codes = [], []
    for column in columns_of(X if is_frame(X) else np.asarray(X)):
        dates = _dates(column)
        number = dates is not None or is_numeric(column)
        codes.append(not number)
        if dates is not None:
            made.append(dates)
        else:
            made.append(floats_of(column) if number else _codes(column))
    return Matrix(np.column_stack(made), np.array(codes, dtype=bool))


def _dates(column: Any) -> Array | None:
    """Days, nan where there is none; None of other columns."""
    temporal = getattr(column.dtype, "is_temporal", None)  # polars
    kind = getattr(column.dtype, "kind", "O")
    if not (temporal() if temporal is not None else kind in "mM"):
        return None
    values = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
    if values.dtype.kind == "M":
        values = values - np.datetime64("1970-01-01")
    return np.asarray(values / _DAY, dtype=float)


def _codes(column: Any) -> Array:
    values: AnyArray = np.asarray(column, dtype=object)
    missing = is_missing(values)
    texts = np.array(
        ["" if gone else f"={one}" for one, gone in zip(values, missing, strict=True)], dtype=object
    )
    return np.unique(texts.astype(str), return_inverse=True)[1].astype(float)
