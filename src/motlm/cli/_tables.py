"""Tables from files, every value as text first: CSV with its delimiter and encoding found, Parquet,
Excel, KEEL.

What a column is, is decided once, when a model is fitted; later tables are read by the model's own
columns, so that a code like 007 means the same thing everywhere.
"""

from __future__ import annotations

import csv
import gzip
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..columns import Columns
from ..datasets import KeelFormatError, read_keel

__all__ = [
    "Dialect",
    "Source",
    "TableError",
    "is_missing",
    "numbers_of",
    "opened",
    "read_chunks",
    "read_text",
    "scorable",
    "typed",
    "words_of",
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
_SAMPLE = 2**16  # bytes that are looked at to find out how a file is written
_DECIMAL_COMMA = re.compile(r"^[+-]?\d+,\d+([eE][+-]?\d+)?$")
_CODE = re.compile(r"^[+-]?0\d")  # a number does not begin so: a code
_TRUTH = {"true": "1", "false": "0"}
_KINDS = {".parquet": "parquet", ".xlsx": "excel", ".xls": "excel", ".dat": "keel"}


class TableError(Exception):
    """A file that cannot be read as a table; the message is for the user."""


@dataclass(frozen=True)
class Source:
    """A table's bytes: where they are, what they are called, and how they are written (csv,
    parquet, excel or keel).
    """

    path: Path
    name: str
    kind: str

    @property
    def title(self) -> str:
        """The name without its folder."""
        return Path(self.name).name

    @cached_property
    def dialect(self) -> Dialect:
        return _dialect_of(self)


@contextmanager
def opened(place: Path) -> Iterator[Source]:
    """A file; or standard input for "-", a pipe, or a gzipped file, which are copied to a temporary
    file first.
    """
    if str(place) == "-":
        if sys.stdin.isatty():
            raise TableError("standard input is a terminal; pipe a table into it, or give a file.")
        with _copied(sys.stdin.buffer, "standard input") as source:
            yield source
        return
    if not place.exists():
        raise TableError(f"there is no file {place}.")
    if place.is_dir():
        raise TableError(f"{place} is a folder; give a file.")
    if not place.is_file() or place.suffix.lower() == ".gz":
        with place.open("rb") as stream, _copied(stream, str(place)) as source:
            yield source
    else:
        yield Source(place, str(place), _KINDS.get(place.suffix.lower(), "csv"))


@contextmanager
def _copied(stream: Any, name: str) -> Iterator[Source]:
    """A stream as a file, unpacked if it is gzipped."""
    with tempfile.TemporaryDirectory(prefix="motlm-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "table"
        with path.open("wb") as copy:
            shutil.copyfileobj(stream, copy, 2**20)
        if _start_of(path).startswith(b"\x1f\x8b"):
            packed, path = path, Path(folder) / "unpacked"
            try:
                with gzip.open(packed, "rb") as unpacked, path.open("wb") as copy:
                    shutil.copyfileobj(unpacked, copy, 2**20)
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                raise TableError(f"{name} could not be unpacked: {error}") from error
        yield Source(path, name, _kind_of(_start_of(path)))


def _start_of(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(2**12)


def _kind_of(start: bytes) -> str:
    """What a file without a name of its own begins like."""
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith(b"PK\x03\x04"):
        return "excel"
    return "keel" if re.search(rb"^\s*@relation", start, re.IGNORECASE | re.MULTILINE) else "csv"


@dataclass(frozen=True)
class Dialect:
    """How a text file is written."""

    delimiter: str
    encoding: str
    names: tuple[str, ...]
    n_lines: int  # down to the one that has the names
    decimal_commas: bool

    @property
    def words(self) -> str:
        names = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
        return f"{names[self.delimiter]}-separated, {self.encoding}" + (
            ", decimal commas" if self.decimal_commas else ""
        )


def _dialect_of(source: Source) -> Dialect:
    with source.path.open("rb") as stream:
        sample = stream.read(_SAMPLE)
        rest_is_utf8 = _is_utf8(sample, stream)
    if not sample.strip():
        raise TableError(f"{source.name} is empty.")
    if sample.lstrip().startswith((b"{", b"[")):
        raise TableError(
            f"{source.name} looks like JSON, not like a table; give CSV, Parquet, Excel or KEEL."
        )
    if b"\0" in sample[:1000]:
        raise TableError(
            f"{source.name} is not a text file; give CSV, Parquet (.parquet), Excel (.xlsx) or KEEL"
            " (.dat)."
        )
    encoding = (
        "cp1252"
        if not rest_is_utf8
        else "utf-8-sig"
        if sample.startswith(b"\xef\xbb\xbf")
        else "utf-8"
    )
    lines = sample.decode(encoding, errors="replace").splitlines()
    if len(sample) == _SAMPLE and len(lines) > 1:
        lines = lines[:-1]  # it may be cut
    best, widest = ",", 0
    for mark in ",;\t|":
        rows = [row for row in csv.reader(lines[:50], delimiter=mark, skipinitialspace=True) if row]
        alike = sum(len(row) == len(rows[0]) for row in rows)
        if len(rows[0]) > 1 and alike * len(rows[0]) > widest and alike >= 0.8 * len(rows):
            best, widest = mark, alike * len(rows[0])
    reader = csv.reader(lines, delimiter=best, skipinitialspace=True)
    names = tuple(name.strip() for name in next(row for row in reader if any(row)))
    _refuse_twice(names, source.name)
    cells = [
        cell
        for row in csv.reader(lines[:50], delimiter=best, skipinitialspace=True)
        for cell in row
    ]
    commas = any(_DECIMAL_COMMA.match(cell.strip()) for cell in cells)
    return Dialect(best, encoding, names, reader.line_num, commas)


def _refuse_twice(names: Sequence[str], where: str) -> None:
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise TableError(f"{where} has the column {twice[0]!r} more than once; rename one of them.")


def _is_utf8(sample: bytes, stream: Any) -> bool:
    import codecs

    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        part = sample
        while part:
            decoder.decode(part)
            part = stream.read(2**20)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def read_chunks(source: Source, size: int) -> Iterator[pd.DataFrame]:
    """A table some rows at a time, every value as text."""
    path, name = source.path, source.name
    try:
        if source.kind == "parquet":
            from pyarrow.parquet import ParquetFile

            with ParquetFile(path) as parquet:
                empty = True
                for batch in parquet.iter_batches(batch_size=size):
                    empty = False
                    yield _as_text(_columns_of(batch), name)
                if empty:
                    yield _as_text(_columns_of(parquet.read()), name)
        elif source.kind in ("excel", "keel"):
            frame = pd.read_excel(path, dtype=object) if source.kind == "excel" else _keel(path)
            text = _as_text(frame, name)
            for start in range(0, max(len(text), 1), size):
                yield text.iloc[start : start + size].reset_index(drop=True)
        else:
            yield from _csv_chunks(source, size)
    except ImportError as error:
        raise TableError(
            f"{name} needs packages for such tables: pip install 'motlm[tables]' ({error})"
        ) from error
    except (
        ValueError,
        TypeError,
        KeelFormatError,
        pd.errors.ParserError,
        OSError,
        csv.Error,
    ) as error:
        raise TableError(f"{name} could not be read: {error}") from error


def _columns_of(table: Any) -> pd.DataFrame:
    """All columns of a Parquet table, a pandas index that has a name among them."""
    frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
    return frame[
        [name for name in frame.columns if not re.fullmatch(r"__index_level_\d+__", str(name))]
    ]


def _csv_chunks(source: Source, size: int) -> Iterator[pd.DataFrame]:
    dialect = source.dialect
    reader = pd.read_csv(
        source.path,
        sep=dialect.delimiter,
        encoding=dialect.encoding,
        dtype=str,
        keep_default_na=False,
        skipinitialspace=True,
        index_col=False,
        header=None,
        skiprows=dialect.n_lines,
        names=[*dialect.names, "\0more"],  # what stands beyond the header shows here
        chunksize=size,
        on_bad_lines="error",
        skip_blank_lines=True,
    )
    seen = False
    with reader:
        for chunk in reader:
            seen = True
            more = chunk.pop("\0more").fillna("") != ""
            if more.any():
                row, count = int(chunk.index[more][0]), len(dialect.names)
                raise TableError(
                    f"{source.name}: row {row} has more values than the header has names ({count})."
                )
            yield chunk.fillna("").reset_index(
                drop=True
            )  # a row that is too short lacks its last values
    if not seen:
        yield pd.DataFrame({name: pd.Series(dtype=str) for name in dialect.names})


def _keel(path: Path) -> pd.DataFrame:
    table = read_keel(path)
    names = [one.name for one in table.attributes]
    return pd.DataFrame(dict(zip(names, table.columns, strict=True)), columns=names)


def _as_text(frame: pd.DataFrame, source: str) -> pd.DataFrame:
    def text(value: Any) -> str:
        if (
            value is None
            or value is pd.NA
            or value is pd.NaT
            or (isinstance(value, float) and value != value)
        ):
            return ""
        if isinstance(value, (bool, np.bool_)):
            return "true" if value else "false"
        if isinstance(value, (float, np.floating)):
            return (
                repr(int(value))
                if float(value).is_integer() and abs(float(value)) < 1e15
                else repr(float(value))
            )
        return str(value)

    names = [str(name).strip() for name in frame.columns]
    _refuse_twice(names, source)
    values = {
        name: [text(value) for value in frame.iloc[:, j].tolist()] for j, name in enumerate(names)
    }
    return pd.DataFrame(values, columns=names, dtype=object)


def read_text(source: Source) -> tuple[pd.DataFrame, str]:
    """A whole table, every value as text, and how it was read, in words."""
    parts = list(read_chunks(source, 10**6))
    how = {"parquet": "Parquet", "excel": "Excel, first sheet", "keel": "KEEL"}.get(source.kind)
    return pd.concat(parts, ignore_index=True), how or source.dialect.words


def is_missing(column: pd.Series) -> pd.Series:
    return column.astype(str).str.strip().isin(MISSING)


def numbers_of(column: pd.Series) -> pd.Series:
    """Values as numbers, nan where they are none; true and false are 1 and 0, and commas may be
    decimal.
    """
    text = column.astype(str).str.strip()
    text = text.where(~text.str.casefold().isin(_TRUTH), text.str.casefold().map(_TRUTH))
    commas = text.str.match(_DECIMAL_COMMA)
    text = text.where(~commas, text.str.replace(",", ".", regex=False))
    found = pd.to_numeric(text, errors="coerce").astype(float)
    finite = np.isfinite(found)
    # older versions of pandas err in the last digit, Python does not
    return pd.Series(
        [float(one) if sound else np.nan for one, sound in zip(text, finite, strict=True)],
        text.index,
        dtype=float,
    )


def typed(text: pd.DataFrame, categories: Sequence[str] = ()) -> pd.DataFrame:
    """Columns of numbers where all values are, else (or where told) of categories; nan and None
    where they are missing.
    """
    made = {}
    for name in text.columns:
        column, missing = text[name].astype(str).str.strip(), is_missing(text[name])
        numbers = numbers_of(column)
        code = name in categories or bool(column[~missing].str.match(_CODE).any())
        if not code and numbers[~missing].notna().all() and (~missing).any():
            made[name] = numbers.where(~missing)
        else:
            made[name] = column.astype(object).where(~missing, None)
    return pd.DataFrame(made, index=text.index)


def words_of(frame: pd.DataFrame) -> list[tuple[str, str]]:
    """What each column was taken for."""
    told = []
    for name in frame.columns:
        column = frame[name].dropna()
        if frame[name].dtype == float:
            told.append((name, f"numbers, {column.min():g} to {column.max():g}{_remark(column)}"))
            continue
        levels = list(dict.fromkeys(column))
        shown = ", ".join(map(str, levels[:4])) + (", .." if len(levels) > 4 else "")
        told.append(
            (
                name,
                (
                    f"{len(levels)} categor{'y' if len(levels) == 1 else 'ies'}:"
                    f" {shown}{_remark(column)}"
                ),
            )
        )
    return told


def _remark(column: pd.Series) -> str:
    if column.nunique() == 1:
        return " (always the same, so that it cannot count)"
    if (
        column.dtype == float
        and len(column) > 20
        and column.is_monotonic_increasing
        and column.is_unique
    ):
        return (
            " (all different and increasing: if it numbers the rows, name it in --id or --drop it)"
        )
    return ""


@dataclass(frozen=True)
class Scorable:
    """Rows as a model takes them; why a row cannot be scored, or what is strange about it, else ""."""

    rows: pd.DataFrame
    reason: np.ndarray
    note: np.ndarray


def scorable(
    columns: Columns, text: pd.DataFrame, refuse_unknown: bool, fill: Mapping[str, float | str]
) -> Scorable:
    """Texts read by the columns of a model; `fill` has what stands in for missing values."""
    reason, note = np.full(len(text), "", dtype=object), np.full(len(text), "", dtype=object)

    def tell(bad: np.ndarray, where: np.ndarray, words: Any) -> None:
        for i in np.flatnonzero(bad):
            where[i] += "; " * (where[i] != "") + words(i)

    made = {}
    for name, levels in zip(columns.names, columns.levels, strict=True):
        column = text[name].astype(str).str.strip()
        values, missing = column.to_numpy(dtype=object), is_missing(column).to_numpy()
        if name in fill:
            value = str(fill[name])
            shown = f"{fill[name]:.6g}" if isinstance(fill[name], float) else value
            tell(
                missing,
                note,
                lambda i, name=name, shown=shown: f"no value in column {name!r}, {shown} stands in",
            )
            values = np.where(missing, value, values)
            column, missing = (
                pd.Series(values, index=column.index),
                np.zeros(len(values), dtype=bool),
            )
        tell(missing, reason, lambda i, name=name: f"no value in column {name!r}")
        if levels is None:
            numbers = numbers_of(column).to_numpy(dtype=float)
            bad = ~np.isfinite(numbers) & ~missing
            tell(
                bad,
                reason,
                lambda i, name=name, values=values: (
                    f"column {name!r}: {values[i][:40]!r} is not a number"
                ),
            )
            made[name] = np.where(np.isfinite(numbers), numbers, 0.0)
            continue
        by_text = {
            (str(level).casefold() if isinstance(level, bool) else str(level)): level
            for level in levels
        }
        truth = all(isinstance(level, bool) for level in levels)
        keys = [value.casefold() if truth else value for value in values]
        strange = np.array([key not in by_text for key in keys], dtype=bool) & ~missing
        words = lambda i, name=name, values=values: (
            f"column {name!r}: the category {values[i][:40]!r} is unknown to the model"
        )
        tell(strange, reason if refuse_unknown else note, words)
        made[name] = np.array(
            [
                by_text.get(key, levels[0] if refuse_unknown or gone else value)
                for key, value, gone in zip(keys, values, missing, strict=True)
            ],
            dtype=object,
        )
    return Scorable(pd.DataFrame(made, columns=list(columns.names)), reason, note)
