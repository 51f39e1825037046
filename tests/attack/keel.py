"""Attack on KEEL texts: `read_keel` refuses a text, or gives all of its rows, in linear time."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from motlm.datasets import KeelFormatError, KeelTable, read_keel

from . import values
from .chance import Chance
from .trials import Broken, Kind

__all__ = ["KEEL", "check_text", "hostile_keel"]

_LONG = 1 / 2000  # share of the cases that measure time
_SIZES = 40_000, 80_000  # bytes, about
_NUMBERS: tuple[str, ...] = (
    *("0", "1", "-1.5", "1e3", "+.5", "5.", "1e400", "1e-400", "0x1", "1,5", "nan", "inf"),
    *("--1", "1e", "٣", "1_0", "", "?", "<null>", "99999999999999999999", "1.0", "007"),
)
_CASES: tuple[Callable[[str], str], ...] = (str.upper, str.title, str.swapcase, str.strip)
_WORDS = ("@data", "@attribute", "@relation", "@inputs", "@outputs", "@input", "@DATA", "%", "@")
_ENDS = ("\n", "\r\n", "\r", "\n\n", "\x0b", "\x0c", "\x85", "\u2028", "\0")


# -- texts -----------------------------------------------------------------------------------------


def sound_keel(chance: Chance) -> list[str]:
    """The lines of a table."""
    kinds = [chance.pick(("real", "integer", "nominal")) for _ in range(chance.whole(1, 4))]
    names = [chance.pick(("a", "b b", "Größe", "x")) + str(i) for i in range(len(kinds))]
    shown = [f"'{name}'" if " " in name else name for name in names]
    ranges = {"real": "real [0, 10]", "integer": "integer", "nominal": "{x, y, 'z, z'}"}
    lines = ["@relation table"]
    lines += [f"@attribute {n} {ranges[kind]}" for n, kind in zip(shown, kinds, strict=True)]
    if chance.likely(0.7):
        lines.append(f"@inputs {', '.join(shown[:-1])}")
    if chance.likely(0.7):
        lines.append(f"@outputs {shown[-1]}")
    lines.append("@data")
    for _ in range(chance.whole(0, 6)):
        lines.append(", ".join(_cell(chance, kind) for kind in kinds))
    return lines


def _cell(chance: Chance, kind: str) -> str:
    if chance.likely(0.1):
        return chance.pick(("?", "<null>"))
    if kind == "nominal":
        return chance.pick(("x", "y", "'z, z'", '"x"'))
    return str(chance.whole(-5, 5)) if kind == "integer" else f"{chance.real(-5, 5):.3g}"


def change_lines(chance: Chance, lines: list[str]) -> None:
    """One change of a table's lines, in place."""
    at = chance.whole(0, len(lines) - 1)
    kind = chance.whole(0, 9)
    if kind == 0:
        del lines[at]
        if not lines:
            lines.append("")
    elif kind == 1:
        lines.insert(chance.whole(0, len(lines)), lines[at])
    elif kind == 2:
        lines.insert(at, values.text(chance))
    elif kind == 3:
        lines[at] = values.text(chance, lines[at])
    elif kind == 4:
        lines[at] = chance.pick(_WORDS) + " " + lines[at]
    elif kind == 5:
        lines[at] = chance.pick(_CASES)(lines[at])
    elif kind == 6:
        cells = lines[at].split(",")
        cells[chance.whole(0, len(cells) - 1)] = chance.pick(_NUMBERS)
        lines[at] = ",".join(cells)
    elif kind == 7:
        lines[at] = lines[at] + chance.pick((",", ", ,", "'", '"', " {", "}", "[1, 2]", "%", "\\"))
    elif kind == 8:
        end = chance.whole(0, len(lines[at]))
        lines[at] = lines[at][:end] + chance.pick(_ENDS) + lines[at][end:]
    else:
        lines[at] = lines[at].replace(chance.pick((",", " ", "@", "{", "x")), chance.pick(_WORDS))


def hostile_keel(chance: Chance) -> bytes:
    lines = sound_keel(chance)
    for step in chance.steps(chance.pick((0, 1, 1, 1, 2, 3))):
        change_lines(step, lines)
    data = chance.pick(("\n", "\n", "\n", "\r\n")).join(lines).encode("utf-8", "surrogatepass")
    if chance.likely(0.1):
        data = chance.pick((b"\xef\xbb\xbf", b"\n", b" ", b"\xff\xfe", b"%x\n")) + data
    if chance.likely(0.05) and data:
        at = chance.whole(0, len(data) - 1)
        data = data[:at] + chance.pick((b"\xff", b"\0", b"\xe9", b"")) + data[at + 1 :]
    return data + (b"\n" if chance.likely(0.7) else b"")


# -- what must hold --------------------------------------------------------------------------------


def attempt(chance: Chance, folder: Path) -> str:
    path = folder / "table.dat"
    return check_time(chance, path) if chance.likely(_LONG) else check_text(chance, path)


def check_text(chance: Chance, path: Path) -> str:
    """Read a hostile text."""
    data = hostile_keel(chance)
    chance.note(values.shown(data, 800))
    path.write_bytes(data)
    encoding = chance.pick(("utf-8", "utf-8", "utf-8", "latin-1", "cp1252"))
    try:
        table = read_keel(path, encoding)
    except KeelFormatError:
        return "refused: KeelFormatError"
    _check_table(table, data, encoding)
    return "accepted"


def _check_table(table: KeelTable, data: bytes, encoding: str) -> None:
    names = [one.name for one in table.attributes]
    lengths = {len(column) for column in table.columns}
    rows = _data_lines(table, data, encoding)
    if lengths != {rows}:
        raise Broken(f"{rows} rows in the text, {lengths} in the table")
    if len(set(names)) < len(names) or len(names) != len(table.columns):
        raise Broken(f"names {names} of {len(table.columns)} columns")
    if set(table.inputs) & set(table.outputs) or not {*table.inputs, *table.outputs} <= set(names):
        raise Broken(f"inputs {table.inputs}, outputs {table.outputs} of {names}")
    for attribute, column in zip(table.attributes, table.columns, strict=True):
        if attribute.levels:
            sound = all(one is None or one in attribute.levels for one in column)
        else:
            sound = not np.isinf(column).any()
        if not sound:
            raise Broken(f"column {attribute.name!r} holds {column}")


def _data_lines(table: KeelTable, data: bytes, encoding: str) -> int:
    """Lines below @data, by themselves: without blank ones and comments."""
    lines = [
        one.decode(encoding).strip() for one in data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    ]
    header = next(i for i, one in enumerate(lines) if one[:5].lower() == "@data")
    comments = () if table.attributes[0].kind == "nominal" else ("%",)
    return sum(bool(one) and not one.startswith(comments) for one in lines[header + 1 :])


# -- time ------------------------------------------------------------------------------------------

_HEAD = "@relation r\n@attribute a real\n@attribute b {x, y}\n"
_SHAPES: dict[str, Callable[[int], str]] = {
    "attributes": lambda n: (
        "@relation r\n" + "".join(f"@attribute a{i} real\n" for i in range(n // 20)) + "@data\n"
    ),
    "inputs": lambda n: (
        "@relation r\n"
        + "".join(f"@attribute a{i} real\n" for i in range(n // 20))
        + f"@inputs {', '.join(f'a{i}' for i in range(n // 20 - 1))}\n@data\n"
    ),
    "levels": lambda n: (
        f"@attribute a {{{', '.join(f'l{i}' for i in range(n // 8))}}}\n@attribute b real\n@data\n"
        + "".join(f"l{i}, 1\n" for i in range(n // 8))
    ),
    "rows": lambda n: _HEAD + "@data\n" + "1.5, x\n" * (n // 7),
    "quotes": lambda n: _HEAD + "@data\n" + "1.5, 'x'\n" * (n // 9),
    "an open quote": lambda n: _HEAD + "@data\n" + "1, '" + "x," * (n // 2) + "\n",
    "quotes in a line": lambda n: _HEAD + "@data\n" + "'1', " * (n // 5) + "\n",
    "spaces": lambda n: _HEAD + "@data\n1," + " " * n + "'x\n",
    "spaces in the header": lambda n: "@attribute a" + " " * n + "real [0" + " " * n + ", x]\n",
    "braces": lambda n: "@attribute a " + "{" * n + "\n@data\n",
    "a long name": lambda n: f"@attribute {'a' * n} real\n@attribute b real\n@data\n1, 2\n",
    "comments": lambda n: _HEAD + "% comment\n" * (n // 10) + "@data\n1, x\n",
    "blank lines": lambda n: _HEAD + "\n" * n + "@data\n1, x\n",
    "digits": lambda n: _HEAD + "@data\n" + "1" * n + "x, x\n",
    "exponents": lambda n: _HEAD + "@data\n" + "1e" * (n // 2) + ", x\n",
    "opened names": lambda n: "@attribute '" + "'" * n + " real\n@data\n",
}


def check_time(chance: Chance, path: Path) -> str:
    """A text twice as long takes at most about twice the time."""
    shape = chance.value(_SHAPES)
    for factor in (1, 4):  # once more with longer ones, if the clock was not sure
        small, large = (_seconds(shape(factor * size), path) for size in _SIZES)
        if large <= 3 * small + 0.02:
            return "read in linear time"
    raise Broken(f"{small:.3f} s for a text, {large:.3f} s for one twice as long")


def _seconds(text: str, path: Path) -> float:
    path.write_text(text, encoding="utf-8")
    best = np.inf
    for _ in range(2):
        began = time.process_time()
        with suppress(KeelFormatError):
            read_keel(path)
        best = min(best, time.process_time() - began)
    return float(best)


KEEL = Kind("keel", "KEEL texts", attempt, lambda: None, chunk=1000)
