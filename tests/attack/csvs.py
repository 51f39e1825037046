"""Random tables, as CSV text in many dialects, sound and broken."""

from __future__ import annotations

import csv
import gzip
import io
from dataclasses import dataclass
from typing import Any

from . import values
from .chance import Chance

__all__ = ["Made", "hostile_table"]

_NUMBERS = ("0", "1", "-1", "2.5", "1e3", "1e99", "1e101", "1e-300", "1e308", "-0", "3,5", "1 000")
_WORDS = ("x", "y", "z", "<z>", "ja", "nein", "true", "false", "True", "", "NA", "?", "nan", "=1")
_BROKEN: tuple[bytes, ...] = (
    *(b"", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b",,,,\n", b"\n\n\n", b"a,b\n", b"\0", b'"'),
    *(b"a", b";", b"\xff\xfe", b"PAR1", b"PK\x03\x04", b"\x1f\x8b\x08", b"@relation r\n"),
    *(b"a,b\n1,2,3\n", b"a,a\n1,2\n", b"a\n" + b"1\n" * 3, b"a,b\n" + b'"' * 100, b"\r"),
)
_COLUMNS = ("a", 'größe, "in" €', "c", "flag", "same", "default", "client", "loss", "x0", "x1")


@dataclass(frozen=True)
class Made:
    """A table as it is written to a file."""

    data: bytes
    names: list[str]
    rows: int | None  # how many there are; None if that is a matter of opinion


def hostile_table(chance: Chance, columns: tuple[str, ...] = _COLUMNS) -> Made:
    """A table with these columns in most cases, in some dialect, with some changes."""
    if chance.likely(0.05):
        data = chance.pick(_BROKEN)
        chance.note(f"table {data[:20]!r}")
        return Made(data * chance.pick((1, 1, 3)), ["a"], None)
    names, rows = _sound(chance, columns)
    clear = True
    for step in chance.steps(chance.pick((0, 0, 1, 1, 1, 2, 4))):
        clear &= _change(step, names, rows)
    rows_known = len(rows) if clear and len(names) > 1 else None
    data = _written(chance, names, rows)
    if chance.likely(0.04):
        at = chance.whole(0, len(data))
        new = chance.pick((b"\0", b"\xff", b'"', b"\n", b",", b"\xe2\x80\xa8", b"\x1a", b"\r"))
        chance.note(f"byte {new!r} at {at}")
        data, rows_known = data[:at] + new + data[at:], None
    return Made(data, names, rows_known)


def _sound(chance: Chance, columns: tuple[str, ...]) -> tuple[list[str], list[list[str]]]:
    """Names, and rows in which each column has its kind of values."""
    names = list(columns) if chance.likely(0.9) else chance.some(columns) or ["a"]
    n = chance.pick((0, 1, 2, 5, 12, 30, 30, 40, 60, 60, 60, 90, 120))
    rng = chance.numpy()
    chance.note(f"{n} rows of {len(names)} columns")
    made = []
    for i in range(n):
        draws = rng.normal(size=len(names))
        row = [_usual(name, float(draw), i) for name, draw in zip(names, draws, strict=True)]
        made.append(row)
    return names, made


def _usual(name: str, draw: float, row: int) -> str:
    if name == "client":
        return f"K-{row}"
    if name == "default":
        return "ja" if draw > 0 else "nein"
    if name == "c":
        return ("x", "y", "<z>")[int(abs(draw) * 10) % 3]
    if name == "flag":
        return "True" if draw > 0 else "False"
    if name == "same":
        return "1.0"
    return f"{draw:.6g}"


def _change(chance: Chance, names: list[str], rows: list[list[str]]) -> bool:
    """One change, in place; whether the number of rows is still clear."""
    kind, j = chance.whole(0, 11), chance.whole(0, len(names) - 1)
    rows_at = [row for row in rows if len(row) > j]
    if kind == 0:
        names[j] = values.text(chance, names[j])
        chance.note(f"column {j} named {values.shown(names[j])}")
        return False
    if kind == 1 and rows:
        row, value = chance.pick(rows), values.text(chance)
        chance.note(f"a cell {values.shown(value)} in column {j}")
        row[j : j + 1] = [value]
        return all(letter not in value for letter in "\0\r\n\ud800\udfff\udcff")
    if kind == 2:
        value = chance.pick((*_NUMBERS, *_WORDS))
        chance.note(f"column {j} all {value!r}")
        for row in rows_at:
            row[j] = value
    elif kind == 3:
        chance.note(f"column {j} missing here and there")
        for row in rows_at:
            if chance.likely(0.2):
                row[j] = chance.pick(("", "NA", "?", "NaN", " "))
    elif kind == 4:
        factor = chance.pick(values.EXTREMES)
        chance.note(f"column {j} times {factor}")
        for row in rows_at:
            row[j] = _scaled(row[j], factor)
    elif kind == 5:
        chance.note(f"column {j} of dates")
        for i, row in enumerate(rows_at):
            row[j] = f"2024-01-{i % 28 + 1:02d}"
    elif kind == 6:
        chance.note(f"column {j} of mixed values")
        for row in rows_at:
            row[j] = chance.pick((*_NUMBERS, *_WORDS))
    elif kind == 7 and rows:
        row = chance.pick(rows)
        change = chance.pick(("longer", "shorter"))
        chance.note(f"a row {change}")
        row[:] = [*row, "7"] if change == "longer" else row[:-1]
        return False
    elif kind == 8:
        chance.note("rows twice")
        rows += [list(row) for row in rows]
    elif kind == 9:
        chance.note(f"column {j} left out")
        if len(names) > 1:
            del names[j]
            for row in rows_at:
                del row[j]
    elif kind == 10 and rows:
        size = chance.pick((1000, 140_000))
        chance.note(f"a field of {size} letters in column {j}")
        chance.pick(rows)[j : j + 1] = ["x" * size]
    else:
        chance.note("numbers with commas")
        for row in rows_at:
            row[j] = row[j].replace(".", ",")
    return True


def _scaled(text: str, factor: float) -> str:
    try:
        return repr(float(text) * factor)
    except ValueError:
        return text


def _written(chance: Chance, names: list[str], rows: list[list[str]]) -> bytes:
    """In some dialect."""
    delimiter = chance.pick((",", ",", ",", ";", "\t", "|"))
    dialect: dict[str, Any] = {
        "delimiter": delimiter,
        "quoting": csv.QUOTE_ALL if chance.likely(0.3) else csv.QUOTE_MINIMAL,
        "lineterminator": chance.pick(("\n", "\n", "\r\n")),
    }
    stream = io.StringIO()
    csv.writer(stream, **dialect).writerows([names, *rows])
    encoding = chance.pick((*["utf-8"] * 12, "utf-8-sig", "latin-1", "cp1252", "utf-16"))
    chance.note(f"{delimiter!r} {encoding}")
    data = stream.getvalue().encode(encoding, "replace" if encoding != "utf-8" else "surrogatepass")
    return gzip.compress(data, 1, mtime=0) if chance.likely(0.02) else data
