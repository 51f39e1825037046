"""What a text of JSON would take to parse, found without parsing it.

A file of a few megabytes can hold millions of empty lists, which take a hundred times its size in
memory. So its bytes are counted first, in one pass of constant memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Booleans, Integers
from ..errors import ModelFileError

__all__ = ["LARGEST", "MOST", "Extent", "check_extent", "measure"]

LARGEST = 64 * 2**20  # bytes of a file that is read
BLOCK = 500  # a number of twice as many characters has at least one whole block of them


@dataclass(frozen=True)
class Extent:
    """How much of everything a text of JSON has; or, as `MOST`, may have."""

    memory: int = 0  # bytes of the text in memory: up to four for a character, if any needs them
    depth: int = 0  # levels of nesting
    values: int = 0  # numbers, texts, lists, objects, and names of entries
    texts: int = 0
    objects: int = 0
    entries: int = 0  # of all objects together
    longest_text: int = 0  # bytes
    long_numbers: int = 0  # blocks of so many characters that are all of one number


# A model of 80 000 encoded columns and one locality has at most 3.1 million values, of which 0.65
# million are texts; one of 100 000 with a ball, 3 and 0.8 million. The schema has seven levels; the
# formula is at most a third of a file, since numbers by column are beside it.
MOST = Extent(112 * 2**20, 20, 3_500_000, 1_000_000, 100_000, 300_000, LARGEST // 3, 0)
_WORDS = {
    "memory": "bytes in memory, up to four for each character",
    "depth": "levels of nesting",
    "values": "values",
    "texts": "texts",
    "objects": "objects",
    "entries": "entries of objects",
    "longest_text": "bytes in a text",
    "long_numbers": f"parts of numbers of {BLOCK} characters",
}

_CHUNK = 2000 * BLOCK  # bytes that are looked at at once
_QUOTE = ord('"')
_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))  # all other bytes
_IN_NUMBER = np.zeros(256, dtype=bool)
_IN_NUMBER[list(b"0123456789+-.eE")] = True


def check_extent(data: bytes) -> None:
    """Raise where a text would take more to parse than any model does."""
    found = measure(data)
    for name, words in _WORDS.items():
        count, most = getattr(found, name), getattr(MOST, name)
        if count > most:
            raise ModelFileError(
                f"not a model file: it has {count} {words}, where {most} are allowed."
            )


def measure(data: bytes) -> Extent:
    """The extent of a text of JSON; of a text that is not, up to its first error."""
    if b"\\" in data:  # an escaped quote ends no text
        data = data.replace(b"\\\\", b"..").replace(b'\\"', b"..")
    counts = dict.fromkeys(b",:[{", 0)
    depth = deepest = long_numbers = n_tails = 0
    texts, inside = _Texts(), False
    codes = np.frombuffer(data, dtype=np.uint8)
    for start in range(0, len(codes), _CHUNK):
        part = codes[start : start + _CHUNK]
        quote = part == _QUOTE
        within = np.bitwise_xor.accumulate(quote) ^ inside  # from a quote to before the next one
        inside = bool(within[-1])
        n_tails += int(np.count_nonzero((part & 0xC0) == 0x80))
        texts.add(np.flatnonzero(quote) + start)
        outside = ~(within | quote)
        long_numbers += _full_blocks(_IN_NUMBER[part] & outside)
        structure = part[outside].tobytes()
        for code in counts:
            counts[code] += structure.count(code)
        steps = _steps(structure)
        deepest = max(deepest, depth + int(steps.max(initial=0)))
        depth += int(steps[-1]) if len(steps) else 0
    return Extent(
        memory=_width(int(codes.max(initial=0))) * (len(codes) - n_tails),
        depth=deepest,
        values=1 + sum(counts.values()),
        texts=texts.count,
        objects=counts[ord("{")],
        entries=counts[ord(":")],
        longest_text=max(texts.longest, len(codes) - texts.opened if inside else 0),
        long_numbers=long_numbers,
    )


class _Texts:
    """How many texts there are, and how long the longest is, from the places of their quotes."""

    def __init__(self) -> None:
        self.count = self.longest = self.opened = 0
        self._inside = False

    def add(self, quotes: Integers) -> None:
        if not len(quotes):
            return
        if self._inside:
            quotes = np.concatenate([[self.opened], quotes])
        opening, closing = quotes[::2], quotes[1::2]
        self.count += len(opening) - self._inside
        lengths = closing - opening[: len(closing)]
        self.longest = max(self.longest, int(lengths.max(initial=0)))
        self._inside, self.opened = len(opening) > len(closing), int(opening[-1])


def _width(largest: int) -> int:
    """Bytes that Python takes for each character of a text with this largest byte in UTF-8."""
    return 1 if largest < 0xC4 else 2 if largest < 0xF0 else 4


def _full_blocks(within: Booleans) -> int:
    """Blocks of a fixed place and length in which all are true."""
    whole = within[: len(within) // BLOCK * BLOCK].reshape(-1, BLOCK)
    return int(np.count_nonzero(whole.all(axis=1)))


def _steps(structure: bytes) -> Any:
    """How deep the brackets are nested after each of them."""
    codes = np.frombuffer(structure.translate(None, _BRACKETS), dtype=np.uint8)
    opening = (codes == ord("[")) | (codes == ord("{"))
    return np.cumsum(np.where(opening, np.int8(1), np.int8(-1)), dtype=np.int32)
