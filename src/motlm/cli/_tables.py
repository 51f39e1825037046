"""Tables from files, every value as text: CSV with its delimiter and encoding detected, Parquet,
Excel, KEEL.

What a column holds is decided once, when a model is fitted; later tables are read by the model's
own columns (see _columns), so that a code like 007 means the same thing everywhere.
"""

from __future__ import annotations

import gzip
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any, TextIO
from zipfile import ZipFile, is_zipfile

import numpy as np
import pandas as pd

from ..datasets import KeelFormatError, read_keel
from ..errors import MotlmError
from ._columns import BETWEEN_VALUES
from ._dialect import (
    LONGEST_LINE,
    Dialect,
    detect,
    number_columns,
    open_rows,
    refuse_data,
    refuse_duplicates,
)
from ._errors import TableError

__all__ = ["FIRST_LINE", "Source", "TableError", "open_table", "read_chunks", "read_text"]

FIRST_LINE = "first line"  # in `attrs` of a table, the line of its first row in the file
_KINDS = {".parquet": "parquet", ".xlsx": "excel", ".xls": "excel", ".dat": "keel"}
_NAMED = {"parquet": "Parquet", "keel": "KEEL"}  # formats that hold names of columns
_UNNAMED = re.compile(r"Unnamed: \d+$")  # what pandas calls a column without a name
_LOOKED = 50  # rows that are looked at to see whether a sheet has a header
_EXTRA = "\0extra"  # name of the column of values beyond the header
_ALL_ROWS = 10**6  # at a time, where a whole table is read
_SMALL, _GROWTH = 2**26, 200  # bytes that any packed file may unpack to, and so many times its size
_DAMAGED = " (it is damaged, or its name has the ending of another format)"
_IN_TEXT = (
    " (lines are counted below the header); correct it: close its quotes, and quote values that"
    " contain the delimiter."
)
_LONGEST = 2**17  # characters of a value, as many as Python's csv takes


@dataclass(frozen=True)
class Source:
    """The bytes of a table: where they are, what messages call them, and their format (csv,
    parquet, excel or keel). `header`: whether the first row has the names of the columns; None if
    it has unless it looks like data, which is an error.
    """

    path: Path
    name: str
    kind: str
    header: bool | None = None

    def __post_init__(self) -> None:
        if self.header is not None and self.kind in _NAMED:
            raise TableError(
                f"{self.name}: {_NAMED[self.kind]} files hold the names of their columns; leave out"
                f" --{'' if self.header else 'no-'}header."
            )

    @property
    def title(self) -> str:
        """The name without its folder."""
        return Path(self.name).name

    @cached_property
    def dialect(self) -> Dialect:
        return detect(self.path, self.name, self.header)

    @property
    def description(self) -> str:
        """How the table is read."""
        if self.kind == "excel":
            return f"Excel, first sheet{', no header' if self.header is False else ''}"
        return _NAMED.get(self.kind) or self.dialect.description


@contextmanager
def open_table(place: Path, header: bool | None = None) -> Iterator[Source]:
    """A file; or standard input for "-", a pipe, or a gzipped file, which are copied to a temporary
    file first.
    """
    if str(place) == "-":
        if sys.stdin.isatty():
            raise TableError("standard input is a terminal; pipe a table into it, or give a file.")
        with _copy(sys.stdin.buffer, "standard input", header) as source:
            yield source
        return
    if not place.exists():
        raise TableError(f"there is no file {place}.")
    if place.is_dir():
        raise TableError(f"{place} is a folder; give a file.")
    if not place.is_file() or place.suffix.lower() == ".gz":
        with place.open("rb") as stream, _copy(stream, str(place), header) as source:
            yield source
    else:
        yield Source(place, str(place), _KINDS.get(place.suffix.lower(), "csv"), header)


@contextmanager
def _copy(stream: IO[bytes], name: str, header: bool | None) -> Iterator[Source]:
    """A stream as a file, unpacked if it is gzipped."""
    with tempfile.TemporaryDirectory(prefix="motlm-", ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "table"
        with path.open("wb") as copy:
            shutil.copyfileobj(stream, copy, 2**20)
        if _start_of(path).startswith(b"\x1f\x8b"):
            packed, path = path, Path(folder) / "unpacked"
            _unpack(packed, path, name)
        yield Source(path, name, _kind_of(_start_of(path)), header)


def _unpack(packed: Path, path: Path, name: str) -> None:
    left = _most_bytes(packed)
    try:
        with gzip.open(packed, "rb") as source, path.open("wb") as copy:
            while part := source.read(2**20):
                left -= len(part)
                if left < 0:
                    raise _too_large(name)
                copy.write(part)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise TableError(
            f"{name} could not be unpacked: {error}; it is damaged, or not gzipped."
        ) from error


def _most_bytes(packed: Path) -> int:
    """To which a packed file may grow; tables are seldom packed by more than a factor of 20."""
    return _SMALL + _GROWTH * packed.stat().st_size


def _too_large(name: str) -> TableError:
    return TableError(
        f"{name} unpacks to more than {_GROWTH} times its size, as hostile files do; if it is"
        " yours, unpack it first."
    )


def _start_of(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(2**12)


def _kind_of(start: bytes) -> str:
    """The format of a file without a suffix, by its first bytes."""
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith(b"PK\x03\x04"):
        return "excel"
    return "keel" if re.search(rb"^\s*@relation", start, re.IGNORECASE | re.MULTILINE) else "csv"


def read_text(source: Source) -> pd.DataFrame:
    """A whole table, every value as text; of a CSV file whose rows are lines, `attrs` has the line
    of the first one.
    """
    text = pd.concat(list(read_chunks(source, _ALL_ROWS)), ignore_index=True)
    if source.kind == "csv" and _has_a_line_for_each_row(source, len(text)):
        text.attrs[FIRST_LINE] = 1 + source.dialect.header
    return text


def _has_a_line_for_each_row(source: Source, n_rows: int) -> bool:
    """Not where lines are empty, or values have lines of their own."""
    with source.path.open(encoding=source.dialect.encoding, errors="replace") as stream:
        return sum(1 for _ in stream) == n_rows + source.dialect.header


def read_chunks(source: Source, size: int) -> Iterator[pd.DataFrame]:
    """A table some rows at a time, every value as text; at least one table, if an empty one."""
    return _READERS[source.kind](source, size)


@contextmanager
def _parser_errors(name: str, advice: str = _DAMAGED) -> Iterator[None]:
    """Around calls of other packages' parsers: whatever they raise is a fault of the file."""
    try:
        yield
    except ImportError as error:
        raise TableError(
            f"{name} needs packages for such tables: pip install 'motlm[tables]' ({error})"
        ) from error
    except (MotlmError, MemoryError):
        raise
    except Exception as error:
        raise TableError(f"{name} could not be read: {error}{advice}") from error


def _parts(parts: Iterable[Any], name: str, advice: str = _DAMAGED) -> Iterator[Any]:
    """The parts that another package's parser reads."""
    iterator = iter(parts)
    while True:
        with _parser_errors(name, advice):
            part = next(iterator, None)
        if part is None:
            return
        yield part


# -- formats ---------------------------------------------------------------------------------------


class _Checked:
    """A text stream that refuses a line without end, which pandas would read into memory."""

    def __init__(self, stream: TextIO, name: str) -> None:
        self.stream, self.name, self.length = stream, name, 0

    def read(self, size: int = -1) -> str:
        part = self.stream.read(size)
        end = max(part.rfind("\n"), part.rfind("\r"))
        self.length = len(part) - end - 1 if end >= 0 else self.length + len(part)
        if self.length > LONGEST_LINE:
            raise TableError(
                f"{self.name} has a line of more than {LONGEST_LINE} characters; give a table with"
                " one row in each line."
            )
        return part

    def __iter__(self) -> Iterator[str]:
        return iter(self.stream)


def _read_csv(source: Source, size: int) -> Iterator[pd.DataFrame]:
    dialect = source.dialect
    with open_rows(source.path, dialect, source.name) as stream:
        with _parser_errors(source.name):
            reader = pd.read_csv(
                _Checked(stream, source.name),
                sep=dialect.delimiter,
                dtype=str,
                keep_default_na=False,
                skipinitialspace=True,
                index_col=False,
                header=None,
                names=[*dialect.names, _EXTRA],
                chunksize=size,
                on_bad_lines="error",
                skip_blank_lines=True,
            )
        empty = True
        with reader:
            for chunk in _parts(reader, source.name, _IN_TEXT):
                empty = False
                made = _complete(chunk, source)
                made.attrs[BETWEEN_VALUES] = dialect.delimiter == ","
                yield made
    if empty:
        yield pd.DataFrame(columns=list(dialect.names), dtype=str)


def _complete(chunk: pd.DataFrame, source: Source) -> pd.DataFrame:
    """Rows as wide as the header; the last values of a row that is too short are missing."""
    extra = chunk.pop(_EXTRA).fillna("") != ""
    if extra.any():
        row, count = int(chunk.index[extra][0]), len(source.dialect.names)
        raise TableError(
            f"{source.name}: row {row} has more values than the header has names ({count});"
            " correct it, or quote values that contain the delimiter."
        )
    chunk = chunk.fillna("")
    for name, column in chunk.items():
        longest = max(map(len, column.to_numpy(dtype=object)), default=0)
        if longest > _LONGEST:
            raise TableError(
                f"{source.name}: a value of column {name!r} has {longest} characters, more than"
                f" {_LONGEST}; shorten it, or close its quote."
            )
    return chunk.reset_index(drop=True)


def _read_parquet(source: Source, size: int) -> Iterator[pd.DataFrame]:
    with _parser_errors(source.name):
        from pyarrow.parquet import ParquetFile

        parquet = ParquetFile(source.path)
    with parquet:
        empty = True
        batches = map(_to_pandas, parquet.iter_batches(batch_size=size))
        for frame in _parts(batches, source.name):
            empty = False
            yield _as_text(frame, source.name)
        if empty:
            with _parser_errors(source.name):
                frame = _to_pandas(parquet.read())
            yield _as_text(frame, source.name)


def _to_pandas(table: Any) -> pd.DataFrame:
    """All columns of a Parquet table, among them a pandas index that has a name."""
    frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
    return frame[
        [name for name in frame.columns if not re.fullmatch(r"__index_level_\d+__", str(name))]
    ]


def _read_excel(source: Source, size: int) -> Iterator[pd.DataFrame]:
    with _parser_errors(source.name):
        if is_zipfile(source.path):
            with ZipFile(source.path) as packed:
                size_unpacked = sum(one.file_size for one in packed.infolist())
            if size_unpacked > _most_bytes(source.path):
                raise _too_large(source.name)
        frame = pd.read_excel(
            source.path, dtype=object, header=None if source.header is False else 0
        )
    if source.header is False:
        frame.columns = list(number_columns(frame.shape[1]))
    text = _as_text(frame, source.name)
    if source.header is None:
        names = ["" if _UNNAMED.match(name) else name for name in text.columns]
        refuse_data(names, text.head(_LOOKED).to_numpy().tolist(), source.name)
    return _slices(text, size)


def _read_keel(source: Source, size: int) -> Iterator[pd.DataFrame]:
    try:
        table = read_keel(source.path)
    except KeelFormatError as error:
        raise TableError(f"{source.name} could not be read: {error}") from error
    names = [one.name for one in table.attributes]
    frame = pd.DataFrame(dict(zip(names, table.columns, strict=True)), columns=names)
    return _slices(_as_text(frame, source.name), size)


def _slices(text: pd.DataFrame, size: int) -> Iterator[pd.DataFrame]:
    for start in range(0, max(len(text), 1), size):
        yield text.iloc[start : start + size].reset_index(drop=True)


_READERS: dict[str, Callable[[Source, int], Iterator[pd.DataFrame]]] = {
    "csv": _read_csv,
    "parquet": _read_parquet,
    "excel": _read_excel,
    "keel": _read_keel,
}


def _as_text(frame: pd.DataFrame, where: str) -> pd.DataFrame:
    names = [str(name).strip() for name in frame.columns]
    refuse_duplicates(names, where)
    values = {
        name: [_cell(value) for value in frame.iloc[:, j].tolist()] for j, name in enumerate(names)
    }
    return pd.DataFrame(values, columns=names, dtype=object)


def _cell(value: Any) -> str:
    """A value as it would be written in a CSV file."""
    if value is None or value is pd.NA or value is pd.NaT:
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if number != number:
            return ""
        return repr(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
    return str(value)
