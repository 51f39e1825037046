"""How a text file is written: its delimiter, its encoding, its header."""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TextIO

from ._errors import TableError

__all__ = ["DECIMAL_COMMA", "LONGEST_LINE", "Dialect", "detect", "open_rows", "refuse_duplicates"]

DECIMAL_COMMA = re.compile(r"^[+-]?\d+,\d+([eE][+-]?\d+)?$")
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

    @property
    def description(self) -> str:
        commas = ", decimal commas" if self.decimal_commas else ""
        return f"{_DELIMITERS[self.delimiter]}-separated, {self.encoding}{commas}"


def detect(path: Path, name: str) -> Dialect:
    """The dialect of a file; `name` is what messages call it."""
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
        commas = any(
            DECIMAL_COMMA.match(cell.strip()) for row in _parse(first, delimiter) for cell in row
        )
    with path.open(encoding=encoding, newline="") as text:
        names = _read_header(text, delimiter, name)
        _refuse_open_quote(names, text.read(1), name)
    refuse_duplicates(names, name)
    return Dialect(delimiter, encoding, names, commas)


def open_rows(path: Path, dialect: Dialect, name: str) -> TextIO:
    """A file behind its header."""
    stream = path.open(encoding=dialect.encoding, newline="")
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
    best, most = ",", 0
    for delimiter in _DELIMITERS:
        rows = [row for row in _parse(lines, delimiter) if row]
        width = len(rows[0])
        alike = sum(len(row) == width for row in rows)
        if width > 1 and alike * width > most and alike >= 0.8 * len(rows):
            best, most = delimiter, alike * width
    return best


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
