"""KEEL's .dat format: a header of attributes, then rows of comma-separated values. Text in, values
out; nothing is executed.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._typing import AnyArray
from ..errors import MotlmError

__all__ = ["Attribute", "KeelFormatError", "KeelTable", "read_keel"]

_LONGEST = 2**20  # bytes of a line; the longest of KEEL's own files have a few thousand
_SPACE = re.compile(r"\s*")
_MISSING = frozenset({"?", "<null>"})
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_ATTRIBUTE = re.compile(r"""('[^']*'|"[^"]*"|[^\s{]+)\s*(.*)""", re.DOTALL)
_NUMERIC = re.compile(r"(real|integer|numeric)\s*(?:\[([^\],]*),([^\]]*)\])?", re.IGNORECASE)


class KeelFormatError(MotlmError, ValueError):
    """A file that does not keep to the format; the message has the file, the line, what was
    expected and what came.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from motlm.datasets import KeelFormatError, read_keel
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "tea.dat"
    ...     _ = path.write_text("@relation tea")
    ...     try:
    ...         read_keel(path)
    ...     except KeelFormatError as error:
    ...         print(str(error).removeprefix(folder))
    /tea.dat, line 1: the file ends without @data.
    """


@dataclass(frozen=True)
class Attribute:
    """A column as the header declares it.

    Attributes
    ----------
    name : str
    kind : str
        "real", "integer" or "nominal".
    levels : tuple of str
        Of a nominal column.
    range : tuple of two floats, or None
        Of a numeric column, as declared; files do not always keep to it.

    Examples
    --------
    >>> from motlm.datasets import Attribute
    >>> Attribute("drink", "nominal", levels=("tea", "coffee")).levels
    ('tea', 'coffee')
    """

    name: str
    kind: str  # "real", "integer" or "nominal"
    levels: tuple[str, ...] = ()  # of a nominal column
    range: tuple[float, float] | None = (
        None  # of a numeric column, as declared; files do not always keep to it
    )


@dataclass(frozen=True)
class KeelTable:
    """A file's columns: floats with nan for what is missing, or objects (text) with None.

    Attributes
    ----------
    relation : str
        The name that the header gives to the table.
    attributes : tuple of Attribute
    columns : tuple of ndarray
        One for each attribute.
    inputs, outputs : tuple of str
        Names of the attributes to predict from, and to predict.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.datasets import Attribute, KeelTable
    >>> attributes = Attribute("age", "integer"), Attribute("cups", "real")
    >>> columns = np.array([30.0, 41.0]), np.array([2.5, 1.0])
    >>> table = KeelTable("tea", attributes, columns, ("age",), ("cups",))
    >>> table.column("cups"), table.attribute("cups").kind
    (array([2.5, 1. ]), 'real')
    """

    relation: str
    attributes: tuple[Attribute, ...]
    columns: tuple[AnyArray, ...]  # one for each attribute
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {one.name: place for place, one in enumerate(self.attributes)}

    def _index(self, name: str) -> int:
        if name not in self._places:
            names = [one.name for one in self.attributes[:10]]
            raise KeyError(f"no attribute {name!r}; there are {', '.join(map(repr, names))}.")
        return self._places[name]

    def attribute(self, name: str) -> Attribute:
        """The declaration of a column in the header."""
        return self.attributes[self._index(name)]

    def column(self, name: str) -> AnyArray:
        """The values of a column."""
        return self.columns[self._index(name)]


def read_keel(path: Any, encoding: str = "utf-8") -> KeelTable:
    """Read a file in KEEL's .dat format.

    Parameters
    ----------
    path : str or Path
    encoding : str, default="utf-8"

    Returns
    -------
    KeelTable
        Missing values (`?` or `<null>`) are nan in numeric and None in nominal columns.

    Raises
    ------
    KeelFormatError
        Where the file does not keep to the format, with its name and the line.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from motlm.datasets import read_keel
    >>> text = '''@relation tea
    ... @attribute age integer [0, 99]
    ... @attribute drink {tea, coffee}
    ... @attribute cups real [0, 10]
    ... @inputs age, drink
    ... @outputs cups
    ... @data
    ... 30, tea, 2.5
    ... 41, ?, 1.0
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "tea.dat"
    ...     _ = path.write_text(text)
    ...     table = read_keel(path)
    >>> table.inputs, table.outputs
    (('age', 'drink'), ('cups',))
    >>> table.column("age"), table.column("drink")
    (array([30., 41.]), array(['tea', None], dtype=object))
    """
    with Path(path).open("rb") as stream:
        return _Reader(str(path), stream, encoding).table()


@dataclass
class _Header:
    """What was declared above @data."""

    relation: str | None = None
    attributes: dict[str, Attribute] = field(default_factory=dict)
    named: dict[str, tuple[str, ...]] = field(default_factory=lambda: {"inputs": (), "outputs": ()})


class _Reader:
    """One pass over the lines of a file, with the number of the line for messages."""

    def __init__(self, name: str, stream: IO[bytes], encoding: str) -> None:
        codecs.lookup(encoding)  # an unknown one is the caller's mistake, not the file's
        self.name, self.stream, self.encoding = name, stream, encoding
        self.number = 0  # of the line last read

    def error(self, message: str) -> KeelFormatError:
        return KeelFormatError(f"{self.name}, line {self.number}: {message}")

    def lines(self) -> Iterator[str]:
        """The lines that are not blank, without white space at the ends."""
        while raw := self.stream.readline(_LONGEST + 1):
            self.number += 1
            if len(raw) > _LONGEST:
                raise self.error(
                    f"the line has more than {_LONGEST} bytes; this is not a table in KEEL's .dat"
                    " format."
                )
            if b"\0" in raw:
                raise self.error(
                    "a NUL byte: this is a binary file, not a table in KEEL's .dat format."
                )
            if self.number == 1:
                raw = raw.removeprefix(codecs.BOM_UTF8)
            try:
                text = raw.decode(self.encoding).strip()
            except UnicodeDecodeError as error:
                raise self.error(
                    f"byte 0x{raw[error.start]:02x} at position {error.start + 1} is not"
                    f" {self.encoding}; give the file's encoding, for example encoding='latin-1'."
                ) from None
            if text:
                yield text

    def fields(self, text: str) -> list[str]:
        """Comma-separated values, which may stand in quotes."""
        if "'" not in text and '"' not in text:
            return [value.strip() for value in text.split(",")]
        values, at = [], 0
        while True:
            value, at = self.field(text, at)
            values.append(value)
            if at == len(text):
                return values
            at += 1  # the comma

    def field(self, text: str, at: int) -> tuple[str, int]:
        """The value that begins at a place, and where the comma behind it is, or the end."""
        at = _after_space(text, at)
        quote = text[at : at + 1]
        if quote not in ("'", '"'):
            end = text.find(",", at)
            end = len(text) if end < 0 else end
            return text[at:end].strip(), end
        closing = text.find(quote, at + 1)
        end = _after_space(text, closing + 1) if closing > 0 else -1
        if end < 0 or text[end : end + 1] not in ("", ","):
            raise self.error(
                f"values that cannot be separated, from {_short(text[at : at + 100])} on: a quote"
                " is not closed, or no comma follows it."
            )
        return text[at + 1 : closing].strip(), end

    def table(self) -> KeelTable:
        lines = self.lines()
        header = self.header(lines)
        if not header.attributes:
            raise self.error("@data without an @attribute above it.")
        inputs, outputs = self.roles(header)
        attributes = tuple(header.attributes.values())
        columns = self.rows(attributes, lines)
        return KeelTable(header.relation or "", attributes, columns, inputs, outputs)

    def header(self, lines: Iterator[str]) -> _Header:
        """All lines up to @data."""
        header = _Header()
        for text in lines:
            if text.startswith("%"):
                continue
            word, rest = (*text.split(maxsplit=1), "")[:2]
            if word.lower() == "@data":
                if rest:
                    raise self.error(
                        f"expected the rows below @data, not beside it; got {_short(rest)}."
                    )
                return header
            self.declare(header, word, rest.strip(), text)
        if not self.number:
            raise KeelFormatError(f"{self.name}: the file is empty.")
        raise self.error("the file ends without @data.")

    def declare(self, header: _Header, word: str, rest: str, text: str) -> None:
        """One line of the header."""
        keyword = word.lower()
        if keyword == "@relation":
            if header.relation is not None:
                raise self.error(f"{word} occurs twice in the header.")
            header.relation = rest
        elif keyword == "@attribute":
            attribute = self.attribute(rest)
            if attribute.name in header.attributes:
                raise self.error(f"attribute {_short(attribute.name)} is declared twice.")
            header.attributes[attribute.name] = attribute
        elif keyword in ("@inputs", "@input", "@outputs", "@output"):
            kind = "inputs" if "in" in keyword else "outputs"
            if header.named[kind]:
                raise self.error(f"{word} occurs twice in the header.")
            header.named[kind] = self.names(header, word, rest)
        else:
            raise self.error(
                "expected @relation, @attribute, @inputs, @outputs or @data in the header; got"
                f" {_short(text)}."
            )

    def names(self, header: _Header, word: str, rest: str) -> tuple[str, ...]:
        """Names of attributes, each once."""
        names = tuple(self.fields(rest))
        for name in names:
            if name not in header.attributes:
                raise self.error(
                    f"{word} names {_short(name)}, which no @attribute above declares."
                )
        if len(set(names)) < len(names):
            raise self.error(f"{word} names an attribute twice: {_short(rest)}.")
        return names

    def roles(self, header: _Header) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What to predict from, and what to predict; the last attribute, if nothing is said."""
        every, named = tuple(header.attributes), header.named
        outputs = named["outputs"] or _without(every, named["inputs"])
        if not named["inputs"] and not named["outputs"]:
            outputs = every[-1:]  # as KEEL does
        inputs = named["inputs"] or _without(every, outputs)
        if not inputs or not outputs:
            raise self.error(
                "every attribute is an input, or every one an output; expected some of both."
            )
        both = set(inputs) & set(outputs)
        if both:
            raise self.error(f"{_short(sorted(both)[0])} is both in @inputs and in @outputs.")
        return inputs, outputs

    def attribute(self, text: str) -> Attribute:
        match = _ATTRIBUTE.fullmatch(text)
        if match is None:
            raise self.error(
                "@attribute without a name; expected @attribute NAME real [low, high], integer or"
                " {level, ..}."
            )
        name, kind = match[1], match[2].strip()
        if name[0] in "'\"":
            name = name[1:-1]
        if kind.startswith("{"):
            if not kind.endswith("}"):
                raise self.error(
                    f"the levels of attribute {_short(name)} do not end with a brace:"
                    f" {_short(kind)}."
                )
            levels = tuple(self.fields(kind[1:-1]))
            if "" in levels or len(set(levels)) < len(levels):
                raise self.error(
                    f"attribute {_short(name)} has an empty or a repeated level: {_short(kind)}."
                )
            if _MISSING & set(levels):
                raise self.error(
                    f"attribute {_short(name)} has a level that stands for a missing value:"
                    f" {_short(kind)}."
                )
            return Attribute(name, "nominal", levels)
        number = _NUMERIC.fullmatch(kind)
        if number is None:
            raise self.error(
                f"attribute {_short(name)} has type {_short(kind)}; expected real, integer (with"
                " [low, high] or without) or {level, ..}."
            )
        ends = None
        if number[2] is not None:
            ends = self.number_of(number[2].strip(), name), self.number_of(number[3].strip(), name)
        return Attribute(name, "integer" if number[1].lower() == "integer" else "real", range=ends)

    def number_of(self, text: str, name: str) -> float:
        value = float(text) if _NUMBER.fullmatch(text) else np.nan
        if not np.isfinite(value):
            raise self.error(f"expected a finite number for {_short(name)}; got {_short(text)}.")
        return value

    def rows(self, attributes: tuple[Attribute, ...], lines: Iterator[str]) -> tuple[AnyArray, ...]:
        columns: list[list[Any]] = [[] for _ in attributes]
        known = [frozenset(one.levels) for one in attributes]
        for text in lines:
            if text.startswith("%") and attributes[0].kind != "nominal":
                continue  # a comment: no number begins so
            values = self.fields(text)
            if len(values) != len(attributes):
                raise self.error(
                    f"expected {len(attributes)} values, one for each @attribute; got"
                    f" {len(values)}: {_short(text)}."
                )
            for attribute, levels, column, value in zip(
                attributes, known, columns, values, strict=True
            ):
                if value in _MISSING:
                    column.append(None if levels else np.nan)
                elif not levels:
                    number = self.number_of(value, attribute.name)
                    if attribute.kind == "integer" and number != int(number):
                        raise self.error(
                            f"expected an integer for {_short(attribute.name)}; got"
                            f" {_short(value)}."
                        )
                    column.append(number)
                elif value in levels:
                    column.append(value)
                else:
                    raise self.error(
                        f"{_short(value)} is none of the {len(levels)} levels that"
                        f" {_short(attribute.name)} is declared with:"
                        f" {_short(', '.join(attribute.levels[:60]))}."
                    )
        if not columns[0]:
            raise self.error("no rows after @data.")
        return tuple(
            np.array(column, dtype=object if attribute.levels else float)
            for attribute, column in zip(attributes, columns, strict=True)
        )


def _after_space(text: str, at: int) -> int:
    """The next place that is not white space."""
    match = _SPACE.match(text, at)
    return at if match is None else match.end()


def _without(names: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    left_out = set(others)
    return tuple(name for name in names if name not in left_out)


def _short(text: str, most: int = 60) -> str:
    return repr(text if len(text) <= most else text[:most] + " ..")
