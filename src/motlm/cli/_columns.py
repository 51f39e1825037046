"""From columns of text to numbers and categories."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from .._typing import AnyArray, Booleans
from ..frames import POOLED, is_identifier, meant
from ..inputs import Columns
from ._dialect import DECIMAL_COMMA, THOUSANDS
from ._errors import TableError

__all__ = [
    "BETWEEN_VALUES",
    "LARGEST",
    "RowsRead",
    "column_of",
    "describe_columns",
    "find_identifiers",
    "infer_types",
    "is_identifier",
    "is_missing",
    "join_notes",
    "numbers_of",
    "read_rows",
    "refuse_missing_columns",
]

MISSING = (
    "",
    "NA",
    "N/A",
    "NaN",
    "nan",
    "null",
    "NULL",
    "None",
    "<null>",
    "?",
    "#N/A",
    "<NA>",
    "NaT",
)
BETWEEN_VALUES = "commas between values"  # in `attrs` of what is read from such a file
LARGEST = 1e100  # the largest number: squares, and sums of them, must be finite
_CODE = re.compile(r"^[+-]?0\d")  # 007 is a code, not a number
_TRUTH = {"true": "1", "false": "0"}
_SHOWN = 40  # characters of a value in a message


def column_of(frame: pd.DataFrame, name: str, option: str) -> pd.Series:
    """The column that an option names."""
    if name not in frame.columns:
        raise TableError(
            f"{option} {name!r} is not a column; the columns are"
            f" {', '.join(map(str, frame.columns[:30]))}."
        )
    return frame[name]


def refuse_missing_columns(columns: Columns, text: pd.DataFrame, where: str) -> None:
    """Raise if a table does not have all columns of a model."""
    missing = [name for name in columns.names if name not in text.columns]
    if missing:
        raise TableError(
            f"{where} has no column {', '.join(map(repr, missing))}; the model needs"
            f" {', '.join(columns.names)}."
        )


def is_missing(column: pd.Series) -> pd.Series:
    return column.astype(str).str.strip().isin(MISSING)


def numbers_of(column: pd.Series) -> pd.Series:
    """Values as finite numbers, nan where they are not; true and false are 1 and 0, and commas may
    be decimal. Raise if they may as well stand between thousands.
    """
    text = column.astype(str).str.strip()
    if column.attrs.get(BETWEEN_VALUES):
        _refuse_thousands(str(column.name), text)
    text = text.where(~text.str.casefold().isin(_TRUTH), text.str.casefold().map(_TRUTH))
    commas = text.str.match(DECIMAL_COMMA)
    text = text.where(~commas, text.str.replace(",", ".", regex=False))
    finite = np.isfinite(pd.to_numeric(text, errors="coerce").astype(float))
    # older versions of pandas err in the last digit, Python does not
    return pd.Series(
        [float(one) if sound else np.nan for one, sound in zip(text, finite, strict=True)],
        text.index,
        dtype=float,
    )


def _refuse_thousands(name: str, text: pd.Series) -> None:
    """Raise if the numbers of a column have commas, and all of them could be between thousands."""
    commas = text.str.contains(",", regex=False)
    if not commas.any() or not text[commas].str.match(THOUSANDS).all():
        return
    others = text[~commas & ~is_missing(text)]
    if pd.to_numeric(others, errors="coerce").isna().any():
        return  # categories
    raise TableError(
        f"column {name!r} has {text[commas].iloc[0]!r}: is the comma between thousands, or is it"
        " decimal? Write the numbers of a comma-separated table without separators of thousands,"
        " and decimals with a point (or the table with semicolons between its values);"
        " motlm fit also takes it with --drop or --categories."
    )


def infer_types(text: pd.DataFrame, categories: Sequence[str] = ()) -> pd.DataFrame:
    """Columns of numbers where all values are numbers, else (or where named in `categories`) of
    categories; missing values are nan and None.
    """
    made = {}
    for name in text.columns:
        column, missing = text[name].astype(str).str.strip(), is_missing(text[name])
        made[name] = column.astype(object).where(~missing, None)
        if name in categories or column[~missing].str.match(_CODE).any() or missing.all():
            continue
        numbers = numbers_of(column)
        if numbers[~missing].notna().all():
            made[name] = numbers.where(~missing)
    return pd.DataFrame(made, index=text.index)


def describe_columns(frame: pd.DataFrame) -> list[str]:
    """What each column was taken for, one line each."""
    return [f"{name}: {_description(frame[name].dropna())}" for name in frame.columns]


def _description(column: pd.Series) -> str:
    if column.dtype == float:
        return f"numbers, {column.min():g} to {column.max():g}{_remark(column)}"
    levels = list(dict.fromkeys(column))
    shown = ", ".join(map(str, levels[:4])) + (", .." if len(levels) > 4 else "")
    return f"{len(levels)} categor{'y' if len(levels) == 1 else 'ies'}: {shown}{_remark(column)}"


def _remark(column: pd.Series) -> str:
    if column.nunique() == 1:
        return " (always the same: ignored)"
    if _looks_like_one(column):
        return (
            f" (LOOKS LIKE AN IDENTIFIER: {column.nunique()} different values in {len(column)}"
            " rows; if it numbers or names the rows, leave it out with --id or --drop)"
        )
    return ""


def find_identifiers(frame: pd.DataFrame) -> tuple[str, ...]:
    """Columns of numbers that look like identifiers."""
    return tuple(str(name) for name in frame.columns if _looks_like_one(frame[name].dropna()))


def _looks_like_one(column: pd.Series) -> bool:
    return column.dtype == float and column.nunique() > 1 and is_identifier(column)


# -- rows for a model ------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowsRead:
    """Rows as a model takes them; for each, why it cannot be scored, and a note on how it was read;
    "" where there is none.
    """

    rows: pd.DataFrame
    reason: AnyArray
    note: AnyArray


def read_rows(
    columns: Columns,
    text: pd.DataFrame,
    refuse_unknown: bool,
    fill: Mapping[str, float | str],
    pooled: Mapping[str, Sequence[str]],
    allowed: Mapping[str, str] = MappingProxyType({}),
) -> RowsRead:
    """Read text by the columns of a model; `fill` has the values that replace missing ones,
    `pooled` the levels that are read as one, and `allowed` a note, or "", for columns in which
    values may be missing.
    """
    reasons, notes, made = [], [], {}
    for name, levels in zip(columns.names, columns.levels, strict=True):
        values = text[name].astype(str).str.strip()
        missing = is_missing(values).to_numpy()
        if name in fill:
            notes.append(_replacements(name, missing, fill[name]))
            values, missing = values.where(~missing, str(fill[name])), np.zeros_like(missing)
        if name in allowed:
            notes.append(np.where(missing, allowed[name], "").astype(object))
        else:
            reasons.append(np.where(missing, f"no value in column {name!r}", "").astype(object))
        if levels is None:
            made[name], reason = _read_numbers(name, values, missing)
            reasons.append(reason)
        else:
            values = values.where(~values.isin(pooled.get(name, ())), POOLED)
            made[name], unknown = _read_categories(name, levels, values, missing, refuse_unknown)
            if name in allowed:
                made[name][missing] = None
            (reasons if refuse_unknown else notes).append(unknown)
    rows = pd.DataFrame(made, columns=list(columns.names))
    return RowsRead(rows, join_notes(reasons, len(text)), join_notes(notes, len(text)))


def _replacements(name: str, missing: Booleans, value: float | str) -> AnyArray:
    shown = f"{value:.6g}" if isinstance(value, float) else value
    words = f"no value in column {name!r}, replaced by {shown}"
    return np.where(missing, words, "").astype(object)


def _read_numbers(name: str, values: pd.Series, missing: Booleans) -> tuple[AnyArray, AnyArray]:
    """Numbers, nan where they are missing, 0 where there is none, and what is wrong."""
    numbers, texts = numbers_of(values).to_numpy(dtype=float), values.to_numpy(dtype=object)
    sound = np.abs(numbers) <= LARGEST

    def reason(i: int) -> str:
        wrong = "is not a number" if np.isnan(numbers[i]) else f"is larger than {LARGEST:g}"
        return f"column {name!r}: {texts[i][:_SHOWN]!r} {wrong}"

    return np.where(sound | missing, numbers, 0.0), _texts_where(~sound & ~missing, reason)


def _read_categories(
    name: str, levels: Sequence[Any], values: pd.Series, missing: Booleans, refuse_unknown: bool
) -> tuple[AnyArray, AnyArray]:
    """The levels of a model, or other categories as they are, and which of them it does not know;
    the first level where there is no answer.
    """
    texts = values.to_numpy(dtype=object)
    levels = [level for level in levels if level is not None] or [""]
    truth = all(isinstance(level, bool) for level in levels)
    known = {str(level).casefold() if truth else str(level): level for level in levels}
    keys = [text.casefold() if truth else text for text in texts]
    unknown = np.array([key not in known for key in keys], dtype=bool) & ~missing
    made = np.array(
        [
            known.get(key, levels[0] if refuse_unknown or gone else text)
            for key, text, gone in zip(keys, texts, missing, strict=True)
        ],
        dtype=object,
    )

    def remark(i: int) -> str:
        known_one = meant(texts[i], levels)
        hint = "" if known_one is None else f", did you mean {known_one!r}?"
        return f"column {name!r}: the category {texts[i][:_SHOWN]!r} is unknown to the model{hint}"

    return made, _texts_where(unknown, remark)


def _texts_where(selected: Booleans, words: Callable[[int], str]) -> AnyArray:
    """A text for each selected row, "" for the others."""
    texts = np.full(len(selected), "", dtype=object)
    for i in np.flatnonzero(selected):
        texts[i] = words(int(i))
    return texts


def join_notes(parts: Iterable[AnyArray], n_rows: int) -> AnyArray:
    """All remarks on each row, in one text."""
    joined = np.full(n_rows, "", dtype=object)
    for part in parts:
        for i in np.flatnonzero(part != ""):
            joined[i] += ("; " if joined[i] else "") + part[i]
    return joined
