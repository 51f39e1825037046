"""How a text file is written: its delimiter, its encoding, its header."""

from __future__ import annotations

import codecs
import csv
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TextIO

from ._errors import TableError

__all__ = [
    "DECIMAL_COMMA",
    "LONGEST_LINE",
    "THOUSANDS",
    "Dialect",
    "detect",
    "number_columns",
    "open_rows",
    "refuse_data",
    "refuse_duplicates",
]

DECIMAL_COMMA = re.compile(r"^[+-]?\d+,\d+([eE][+-]?\d+)?$")
# where commas stand between values, such a number may have a decimal comma as well
THOUSANDS = re.compile(r"^[+-]?[1-9]\d{0,2}(,\d{3})+$")
LONGEST_LINE = 2**24  # characters; a longer line is not one of a table, and would fill the memory
_SAMPLE = 2**16  # bytes that are looked at to find the delimiter
_LINES = 50  # of them, for the delimiter
_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_LINE_END = re.compile(r"\r\n|\r|\n")  # str.splitlines has more, such as U+2028
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)  # that of UTF-32 LE too
_NEEDED = "give a table whose first row names its columns."
_FORMATS = "give CSV, Parquet (.parquet), Excel (.xlsx) or KEEL (.dat)."


@dataclass(frozen=True)
class Dialect:
    """How a text file is written."""

    delimiter: str
    encoding: str
    names: tuple[str, ...]
    decimal_commas: bool
    header: bool = True  # whether the first row has the names

    @property
    def description(self) -> str:
        commas = ", decimal commas" if self.decimal_commas else ""
        header = "" if self.header else ", no header"
        return f"{_DELIMITERS[self.delimiter]}-separated, {self.encoding}{commas}{header}"


def detect(path: Path, name: str, header: bool | None = None) -> Dialect:
    """The dialect of a file; `name` is what messages call it, `header` whether the first row has
    the names of the columns: None if it has unless it looks like data, which is an error.
    """
    with path.open("rb") as stream:
        sample = stream.read(_SAMPLE)
        _refuse_other_formats(sample, name)
        is_utf8 = _is_utf8(sample, stream, name)
    encoding = "cp1252" if not is_utf8 else _utf8_of(sample)
    lines = _LINE_END.split(sample.decode(encoding, errors="replace"))
    if len(sample) == _SAMPLE and len(lines) > 1:
        lines = lines[:-1]  # it may be cut
    first = [line for line in lines if line.strip()][:_LINES]
    if not first:
        raise TableError(f"{name} is empty; {_NEEDED}")
    with _csv_errors(name):
        delimiter = _delimiter_of(first)
        rows = [[cell.strip() for cell in row] for row in _parse(first, delimiter) if any(row)]
    decimal = {cell for row in rows for cell in row if DECIMAL_COMMA.match(cell)}
    commas = any(delimiter != "," or not THOUSANDS.match(cell) for cell in decimal)
    with path.open(encoding=encoding, newline="") as text:
        names = _read_header(text, delimiter, name)
        _refuse_open_quote(names, text.read(1), name)
    if header is None:
        refuse_data(names, rows[1:], name)
    if header is False:
        names = number_columns(len(names))
    refuse_duplicates(names, name)
    return Dialect(delimiter, encoding, names, commas, header is not False)


def open_rows(path: Path, dialect: Dialect, name: str) -> TextIO:
    """A file behind its header, if it has one."""
    stream = path.open(encoding=dialect.encoding, newline="")
    if dialect.header:
        _read_header(stream, dialect.delimiter, name)
    return stream


def _refuse_other_formats(sample: bytes, name: str) -> None:
    if not sample.removeprefix(codecs.BOM_UTF8).strip():
        raise TableError(f"{name} is empty; {_NEEDED}")
    if sample.lstrip().startswith((b"{", b"[")):
        raise TableError(
            f"{name} looks like JSON, not like a table; give CSV, Parquet, Excel or KEEL."
        )
    if sample.startswith(b"\x1f\x8b"):
        raise TableError(f"{name} is gzipped; give it a name that ends in .gz.")
    nuls = sample.count(0)
    if sample.startswith(_WIDE) or (nuls and 0 in (sample[::2].count(0), sample[1::2].count(0))):
        raise TableError(
            f"{name} is not a text file in UTF-8 but looks like UTF-16 or UTF-32; save it as UTF-8"
            " (Excel calls it CSV UTF-8)."
        )
    if nuls:
        raise TableError(f"{name} is not a text file; {_FORMATS}")


def _utf8_of(sample: bytes) -> str:
    return "utf-8-sig" if sample.startswith(codecs.BOM_UTF8) else "utf-8"


def _is_utf8(sample: bytes, stream: IO[bytes], name: str) -> bool:
    """Whether a sample and the rest of the stream are UTF-8; an error if there is a NUL."""
    decoder, is_utf8, start, part = codecs.getincrementaldecoder("utf-8")(), True, 0, sample
    while part:
        if 0 in part:
            raise TableError(
                f"{name} has a NUL byte (number {start + part.index(0)}), so that it is damaged or"
                f" not a text file; {_FORMATS}"
            )
        is_utf8 = is_utf8 and _decodes(decoder, part)
        start += len(part)
        part = stream.read(2**20)
    return is_utf8 and _decodes(decoder, b"", final=True)


def _decodes(decoder: codecs.IncrementalDecoder, part: bytes, final: bool = False) -> bool:
    try:
        decoder.decode(part, final)
    except UnicodeDecodeError:
        return False
    return True


@contextmanager
def _csv_errors(name: str) -> Iterator[None]:
    """Around the parser of Python's csv."""
    try:
        yield
    except csv.Error as error:
        raise TableError(
            f"{name} could not be read: {error}; correct the value, or the quote that is never"
            " closed."
        ) from error
    except UnicodeDecodeError as error:
        raise TableError(f"{name} could not be read: {error}; save it as UTF-8.") from error


def _read_header(stream: TextIO, delimiter: str, name: str) -> tuple[str, ...]:
    """The first row that is not empty; the stream is then behind it."""
    with _csv_errors(name):
        rows = _parse(_lines(stream, name), delimiter)
        header = next((row for row in rows if any(row)), None)
    if header is None:
        raise TableError(f"{name} has no header; {_NEEDED}")
    return tuple(cell.strip() for cell in header)


def _refuse_open_quote(names: Sequence[str], rest: str, name: str) -> None:
    if not rest and any(_LINE_END.search(one) for one in names):
        raise TableError(f"{name} has only a header, in which a quote is never closed; correct it.")


def _lines(stream: TextIO, name: str) -> Iterator[str]:
    while line := stream.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise TableError(
                f"{name} has a line of more than {LONGEST_LINE} characters; {_FORMATS}"
            )
        yield line


def _parse(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=True)


def _delimiter_of(lines: Sequence[str]) -> str:
    """The delimiter that gives the most cells, in rows of one length."""
    if _has_decimal_commas(lines):
        return ";"
    best, most = ",", 0
    for delimiter in _DELIMITERS:
        rows = [row for row in _parse(lines, delimiter) if row]
        width = len(rows[0])
        alike = sum(len(row) == width for row in rows)
        if width > 1 and alike * width > most and alike >= 0.8 * len(rows):
            best, most = delimiter, alike * width
    return best


def _has_decimal_commas(lines: Sequence[str]) -> bool:
    """Whether cells between semicolons are equally many in all rows, and commas are decimal."""
    rows = [[cell.strip() for cell in row] for row in _parse(lines, ";") if row]
    commas = [cell for row in rows for cell in row if "," in cell]
    alike = len({len(row) for row in rows}) == 1 and len(rows[0]) > 1
    return alike and bool(commas) and all(DECIMAL_COMMA.match(cell) for cell in commas)


# -- whether there is a header ---------------------------------------------------------------------


def number_columns(count: int) -> tuple[str, ...]:
    """Names of columns that have none: c1, c2 and so on."""
    return tuple(f"c{j + 1}" for j in range(count))


def refuse_data(names: Sequence[str], rows: Sequence[Sequence[str]], where: str) -> None:
    """Raise if the row of names looks like one of data."""
    if not _looks_like_data(names, rows):
        return
    shown = ", ".join(map(repr, names[:4])) + (", .." if len(names) > 4 else "")
    raise TableError(
        f"{where}: the first row looks like data ({shown}); use --no-header if it is (the columns"
        " are then c1, c2, ..), or --header if it has the names of the columns."
    )


def _looks_like_data(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row has numbers alone, or values that occur again below, or numbers with
    decimals above numbers. A text above numbers is a name, and so are 0, 1, 2, ...
    """
    numbers, found = [_number_in(name) for name in names], False
    if len(names) > 1 and numbers in ([*range(len(names))], [*range(1, len(names) + 1)]):
        return False
    for j, (name, number) in enumerate(zip(names, numbers, strict=True)):
        below = [row[j] for row in rows if j < len(row) and row[j]]
        of_numbers = bool(below) and all(_number_in(value) is not None for value in below)
        if name and number is None and of_numbers:
            return False
        if number is None:
            found = found or (bool(name) and name in below)
        else:
            found = found or (of_numbers and not number.is_integer())
    named = [number for name, number in zip(names, numbers, strict=True) if name]
    return found or (bool(named) and None not in named)


def _number_in(text: str) -> float | None:
    """The finite number that a text is, or None."""
    if DECIMAL_COMMA.match(text):
        text = text.replace(",", ".")
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def refuse_duplicates(names: Sequence[str], where: str) -> None:
    """Raise if two columns have one name."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice and not twice[0]:
        places = [str(j + 1) for j, name in enumerate(names) if not name]
        raise TableError(
            f"{where} has {len(places)} columns without a name (numbers {', '.join(places[:10])});"
            " name them in the header, or delete them."
        )
    if twice:
        raise TableError(f"{where} has the column {twice[0]!r} more than once; rename one of them.")
