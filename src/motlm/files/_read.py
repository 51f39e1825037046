"""Takes entries out of a document, each with its type and shape checked."""

from __future__ import annotations

import math
import reprlib
from typing import Any

import numpy as np

from .._typing import Array, Booleans
from ..errors import ModelFileError

__all__ = ["MOST_INTEGER", "Reader", "show"]

MOST_INTEGER = 2**64  # beyond it integers are of no type that NumPy has
_SHOWN = 80  # characters of a value in a message
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxlong = _SHOWN


def show(value: Any, most: int = _SHOWN) -> str:
    """A value in a message, without going through all of a large one."""
    try:
        text = _SHORT.repr(value)
    except ValueError:  # Python does not write integers of more than 4300 digits
        text = "a number of very many digits"
    return text if len(text) <= most else f"{text[:most]}.."


class Reader:
    """One object of a document, whose entries are taken by name.

    An entry that is missing, or is not what was asked for, is a ModelFileError that names it, and
    so is one that nobody has taken when all is `done`.
    """

    def __init__(self, content: dict[str, Any], where: str = "") -> None:
        self.content, self.where, self.left = content, where, set(content)

    def fail(self, name: str, expected: str, got: Any) -> ModelFileError:
        return ModelFileError(f"{self.where}{name} should be {expected}; got {show(got)}.")

    def raw(self, name: str) -> Any:
        """An entry, whatever it is."""
        if name not in self.content:
            raise ModelFileError(f"the entry {self.where}{name} is missing.")
        self.left.discard(name)
        return self.content[name]

    def take(self, name: str, kinds: tuple[type, ...], expected: str) -> Any:
        value = self.raw(name)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise self.fail(name, expected, value)
        return value

    def is_null(self, name: str) -> bool:
        """Whether an entry is null; it counts as taken then."""
        null = name in self.content and self.content[name] is None
        if null:
            self.left.discard(name)
        return null

    def text(self, name: str) -> str:
        return str(self.take(name, (str,), "a text"))

    def choice(self, name: str, allowed: Any) -> str:
        """One of some texts."""
        value = self.text(name)
        if value not in allowed:
            raise self.fail(name, f"one of {', '.join(allowed)}", value)
        return value

    def boolean(self, name: str) -> bool:
        return bool(self.take(name, (bool,), "true or false"))

    def number(self, name: str, low: float = -math.inf, high: float = math.inf) -> float:
        value = self.take(name, (int, float), "a number")
        try:
            number = float(value)
        except OverflowError:
            raise self.fail(name, "a number that a computer can hold", value) from None
        if not low <= number <= high:
            expected = f"a number >= {low:g}"
            if math.isfinite(high):
                expected = f"a number between {low:g} and {high:g}"
            raise self.fail(name, expected, value)
        return number

    def optional_number(self, name: str) -> float | None:
        """A number, or null."""
        return None if self.is_null(name) else self.number(name)

    def integer(self, name: str, low: int, high: int = 2**53) -> int:
        value = self.take(name, (int,), "an integer")
        if not low <= value <= high:
            raise self.fail(name, f"an integer between {low} and {high}", value)
        return int(value)

    def part(self, name: str) -> Reader:
        return Reader(self.take(name, (dict,), "an object"), f"{self.where}{name}.")

    def parts(self, name: str) -> list[Reader]:
        """A list of objects."""
        found = []
        for i, value in enumerate(self.sequence(name)):
            if not isinstance(value, dict):
                raise self.fail(f"{name}.{i}", "an object", value)
            found.append(Reader(value, f"{self.where}{name}.{i}."))
        return found

    def sequence(self, name: str) -> list[Any]:
        return list(self.take(name, (list,), "a list"))

    def texts(self, name: str) -> tuple[str, ...]:
        values = self.sequence(name)
        if not set(map(type, values)) <= {str}:
            raise self.fail(name, "a list of texts", values)
        return tuple(values)

    def integers(self, name: str, length: int, low: int = 0) -> tuple[int, ...]:
        values = self.sequence(name)
        whole = len(values) == length and set(map(type, values)) <= {int}
        if not whole or not all(low <= one <= 2**53 for one in values):
            raise self.fail(name, f"{length} integers >= {low}", values)
        return tuple(values)

    def booleans(self, name: str, length: int) -> Booleans:
        values = self.sequence(name)
        if len(values) != length or not set(map(type, values)) <= {bool}:
            raise self.fail(name, f"{length} values true or false", values)
        return np.array(values, dtype=bool)

    def array(self, name: str, shape: tuple[int, ...], *, endless: bool = False) -> Array:
        """Numbers of a shape; null is infinity where that may be."""
        return self.shaped(name, self.raw(name), shape, endless)

    def numbers(self, name: str, most: int = 2) -> float | Array:
        """A number, or a vector or matrix of any size; or an array of so many axes."""
        values = inner = self.take(name, (list, int, float), "a number or an array")
        shape: tuple[int, ...] = ()
        while isinstance(inner, list):
            shape += (len(inner),)
            inner = inner[0] if inner else None
        if len(shape) > most:
            also = "" if most == 2 else f", or an array of {most} axes"
            raise self.fail(name, f"a number, a vector or a matrix{also}", values)
        return self.shaped(name, values, shape) if shape else self.number(name)

    def shaped(
        self, name: str, values: Any, shape: tuple[int, ...], endless: bool = False
    ) -> Array:
        """Numbers of a shape, from a value that was taken already."""
        flat = [values]
        for size in shape:
            for one in flat:
                if not isinstance(one, list) or len(one) != size:
                    got = f"{len(one)} entries" if isinstance(one, list) else show(one, 40)
                    raise ModelFileError(
                        f"{self.where}{name} should have shape {shape}; got {got}."
                    )
            flat = [entry for one in flat for entry in one]
        kinds = {int, float, type(None)} if endless else {int, float}
        if not set(map(type, flat)) <= kinds:
            stray = next(one for one in flat if type(one) not in kinds)
            raise self.fail(name, "numbers", stray)
        if endless:
            flat = [math.inf if one is None else one for one in flat]
        try:
            return np.array(flat, dtype=float).reshape(shape)
        except OverflowError:
            raise ModelFileError(f"{self.where}{name} has a number of too many digits.") from None

    def done(self) -> None:
        if self.left:
            names = ", ".join(show(self.where + name) for name in sorted(self.left)[:5])
            raise ModelFileError(f"unknown entries {names}.")
