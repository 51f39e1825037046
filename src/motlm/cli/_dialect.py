"""How a text file is written: its delimiter, its encoding, its header."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ._errors import TableError

__all__ = ["DECIMAL_COMMA", "Dialect", "detect", "refuse_duplicates"]

DECIMAL_COMMA = re.compile(r"^[+-]?\d+,\d+([eE][+-]?\d+)?$")
_SAMPLE = 2**16  # bytes that are looked at to find the delimiter and the header
_LINES = 50  # of them, for the delimiter
_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


@dataclass(frozen=True)
class Dialect:
    """How a text file is written."""

    delimiter: str
    encoding: str
    names: tuple[str, ...]
    n_lines: int  # to the end of the header
    decimal_commas: bool

    @property
    def description(self) -> str:
        commas = ", decimal commas" if self.decimal_commas else ""
        return f"{_DELIMITERS[self.delimiter]}-separated, {self.encoding}{commas}"


def detect(path: Path, name: str) -> Dialect:
    """The dialect of a file; `name` is what messages call it."""
    with path.open("rb") as stream:
        sample = stream.read(_SAMPLE)
        is_utf8 = _is_utf8(sample, stream)
    _refuse_other_formats(sample, name)
    encoding = "cp1252" if not is_utf8 else _utf8_of(sample)
    lines = sample.decode(encoding, errors="replace").splitlines()
    if len(sample) == _SAMPLE and len(lines) > 1:
        lines = lines[:-1]  # it may be cut
    try:
        return _from_lines(lines, encoding, name)
    except csv.Error as error:
        raise TableError(f"{name} could not be read: {error}.") from error


def _refuse_other_formats(sample: bytes, name: str) -> None:
    if not sample.strip():
        raise TableError(f"{name} is empty.")
    if sample.lstrip().startswith((b"{", b"[")):
        raise TableError(
            f"{name} looks like JSON, not like a table; give CSV, Parquet, Excel or KEEL."
        )
    if b"\0" in sample[:1000]:
        raise TableError(
            f"{name} is not a text file; give CSV, Parquet (.parquet), Excel (.xlsx) or KEEL"
            " (.dat)."
        )


def _utf8_of(sample: bytes) -> str:
    return "utf-8-sig" if sample.startswith(codecs.BOM_UTF8) else "utf-8"


def _is_utf8(sample: bytes, stream: IO[bytes]) -> bool:
    """Whether a sample and the rest of the stream are UTF-8."""
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


def _from_lines(lines: Sequence[str], encoding: str, name: str) -> Dialect:
    first = [line for line in lines if line.strip()][:_LINES]
    delimiter = _delimiter_of(first)
    reader = _parse(lines, delimiter)
    header = next((row for row in reader if any(row)), None)
    if header is None:
        raise TableError(f"{name} has no header: the first row must name the columns.")
    names = tuple(cell.strip() for cell in header)
    refuse_duplicates(names, name)
    commas = any(
        DECIMAL_COMMA.match(cell.strip()) for row in _parse(first, delimiter) for cell in row
    )
    return Dialect(delimiter, encoding, names, reader.line_num, commas)


def _parse(lines: Sequence[str], delimiter: str) -> Any:
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
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise TableError(f"{where} has the column {twice[0]!r} more than once; rename one of them.")
