"""Tables from files: CSV with its delimiter and encoding found, Parquet, Excel, KEEL; and what each column was taken for."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..columns import Columns
from ..datasets import KeelFormatError, read_keel

__all__ = ["Dialect", "TableError", "kinds", "read_chunks", "read_table", "scorable"]

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "<null>", "?", "#N/A")
_SAMPLE = 2**16  # bytes that are looked at to find out how a file is written
_DECIMAL_COMMA = re.compile(r"^-?\d+,\d+$")


class TableError(Exception):
    """A file that cannot be read as a table; the message is for the user."""


@dataclass(frozen=True)
class Dialect:
    """How a text file is written."""

    delimiter: str
    encoding: str
    decimal: str

    @property
    def words(self) -> str:
        names = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}
        text = f"{names.get(self.delimiter, repr(self.delimiter))}-separated, {self.encoding}"
        return text + (", decimal comma" if self.decimal == "," else "")


def dialect_of(path: Path) -> Dialect:
    with path.open("rb") as stream:
        sample = stream.read(_SAMPLE)
    if not sample.strip():
        raise TableError(f"{path} is empty.")
    if b"\0" in sample[:1000]:
        raise TableError(f"{path} is not a text file; give CSV, Parquet (.parquet), Excel (.xlsx) or KEEL (.dat).")
    encoding = "utf-8"
    try:
        cut = sample[: sample.rfind(b"\n") + 1] or sample
        text = cut.decode("utf-8-sig")
        if sample.startswith(b"\xef\xbb\xbf"):
            encoding = "utf-8-sig"
    except UnicodeDecodeError:
        encoding = "cp1252"
        text = sample.decode("cp1252", errors="replace")
    header = text.splitlines()[0]
    counts = {mark: header.count(mark) for mark in ",;\t|"}
    delimiter = max(counts, key=lambda mark: counts[mark])
    if counts[delimiter] == 0:
        delimiter = ","
    decimal = "."
    if delimiter != ",":
        cells = [cell for row in csv.reader(text.splitlines()[1:200], delimiter=delimiter) for cell in row]
        if any(_DECIMAL_COMMA.match(cell) for cell in cells) and not any(re.match(r"^-?\d+\.\d+$", cell) for cell in cells):
            decimal = ","
    return Dialect(delimiter, encoding, decimal)


def _extension(path: Path) -> str:
    if not path.exists():
        raise TableError(f"there is no file {path}.")
    if path.is_dir():
        raise TableError(f"{path} is a folder; give a file.")
    return path.suffix.lower()


def read_table(path: Path) -> tuple[pd.DataFrame, str]:
    """A table, and how it was read, in words."""
    kind = _extension(path)
    try:
        if kind == ".parquet":
            return pd.read_parquet(path), "Parquet"
        if kind in (".xlsx", ".xls"):
            return pd.read_excel(path), "Excel, first sheet"
        if kind == ".dat":
            table = read_keel(path)
            names = [one.name for one in table.attributes]
            return pd.DataFrame(dict(zip(names, table.columns, strict=True)), columns=names), "KEEL"
        dialect = dialect_of(path)
        frame = pd.read_csv(
            path,
            sep=dialect.delimiter,
            encoding=dialect.encoding,
            decimal=dialect.decimal,
            na_values=list(MISSING),
            keep_default_na=False,
            skipinitialspace=True,
        )
    except ImportError as error:
        raise TableError(f"{path} needs another package: {error}") from error
    except (ValueError, KeelFormatError, pd.errors.ParserError, UnicodeDecodeError, OSError) as error:
        raise TableError(f"{path} could not be read: {error}") from error
    names = [str(name).strip() for name in frame.columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    twice += [name for name in names if re.search(r"\.\d+$", name) and name.rsplit(".", 1)[0] in names]  # as pandas renames them
    if twice:
        raise TableError(f"{path} has the column {twice[0]!r} more than once; rename one of them.")
    frame.columns = pd.Index(names)
    return frame, dialect.words


def read_chunks(path: Path, size: int) -> Iterator[pd.DataFrame]:
    """A table some rows at a time, every value as text, as it stands in the file."""
    kind = _extension(path)
    if kind in (".parquet", ".xlsx", ".xls", ".dat"):
        frame, _ = read_table(path)
        text = (
            frame.astype(object)
            .where(frame.notna(), "")
            .map(lambda value: value if isinstance(value, str) else repr(value) if isinstance(value, float) else str(value))
        )
        for start in range(0, max(len(text), 1), size):
            yield text.iloc[start : start + size]
        return
    dialect = dialect_of(path)
    try:
        reader = pd.read_csv(
            path,
            sep=dialect.delimiter,
            encoding=dialect.encoding,
            dtype=str,
            keep_default_na=False,
            skipinitialspace=True,
            chunksize=size,
        )
        for chunk in reader:
            chunk.columns = pd.Index([str(name).strip() for name in chunk.columns])
            yield chunk.apply(lambda column: column.str.replace(",", ".", regex=False)) if dialect.decimal == "," else chunk
    except (ValueError, pd.errors.ParserError, UnicodeDecodeError) as error:
        raise TableError(f"{path} could not be read: {error}") from error


def kinds(frame: pd.DataFrame) -> list[tuple[str, str]]:
    """What each column was taken for, in words."""
    told = []
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_bool_dtype(column) or pd.api.types.is_numeric_dtype(column):
            values = column.dropna()
            told.append((name, f"numbers, {values.min():g} to {values.max():g}" if len(values) else "numbers, all missing"))
        else:
            levels = column.dropna().unique()
            shown = ", ".join(map(str, levels[:4])) + (", .." if len(levels) > 4 else "")
            told.append((name, f"{len(levels)} categor{'y' if len(levels) == 1 else 'ies'}: {shown}"))
    return told


def scorable(columns: Columns, text: pd.DataFrame, known: bool) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of texts as the model's columns, and for each row why it cannot be scored ("" if it can).

    `known`: whether a category must be one that the model has seen.
    """
    reason = np.full(len(text), "", dtype=object)

    def note(bad: np.ndarray, words: Any) -> None:
        for i in np.flatnonzero(bad & (reason == "")):
            reason[i] = words(i)

    made = {}
    for name, levels in zip(columns.names, columns.levels, strict=True):
        values = text[name].to_numpy(dtype=object)
        missing = np.isin(values.astype(str), MISSING)
        note(missing, lambda i, name=name: f"column {name!r} is missing")
        if levels is None:
            lower = pd.Series(values).astype(str).str.strip()
            numbers = pd.to_numeric(
                lower.replace({"True": "1", "False": "0", "true": "1", "false": "0"}), errors="coerce"
            ).to_numpy(float)
            bad = ~np.isfinite(numbers) & ~missing
            note(bad, lambda i, name=name, values=values: f"column {name!r}: {str(values[i])[:40]!r} is not a number")
            made[name] = np.where(np.isfinite(numbers), numbers, 0.0)
        else:
            by_text = {str(level): level for level in levels}
            found = np.array([by_text.get(str(value)) if str(value) in by_text else None for value in values], dtype=object)
            strange = np.array([str(value) not in by_text for value in values]) & ~missing
            if known:
                note(
                    strange,
                    lambda i, name=name, values=values: f"column {name!r}: the category {str(values[i])[:40]!r} is unknown",
                )
            found[missing | (strange & known)] = levels[0]
            found[strange & ~missing & (not known)] = values[strange & ~missing & (not known)]
            made[name] = found
    return pd.DataFrame(made, columns=list(columns.names)), reason
