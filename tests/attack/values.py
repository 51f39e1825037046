"""Values that break programs: texts, numbers, and values of other types."""

from __future__ import annotations

from typing import Any

from .chance import Chance

__all__ = ["EXTREMES", "TEXTS", "number", "other_type", "shown", "text"]

TEXTS = (
    *("", " ", "\t", "\n", "\r\n", "\0", "a\0b", "\x1b[31m", "\x7f", "\x85", "\u2028", "\ufeff"),
    *("\ud800", "a\udfffb", "\udcff", "a\u202eb", "\u200b", "e\u0301", "\u00e9", "ﬁ", "ß", "İ"),
    *("\U0001f600", "名前", "é" * 50, "x" * 5000, "'", '"', "`", "\\", "\\'", "''", '"" ""'),
    *("=1+1", "+1", "-1", "@x", "%s %d", "{0}", "{x!r}", "$(id)", "; DROP TABLE rows; --"),
    *("<script>alert(1)</script>", "</script>", "]]>", "&amp;", "__class__", "__proto__"),
    *("null", "NaN", "nan", "inf", "-inf", "None", "true", "0", "-0", "007", "1e5", "1_000"),
    *("1e400", "0x10", "١٢", "1,5", "1.000,5", "2024-01-31", "31.01.2024", "?", "NA", "<null>"),
    *("'); raise SystemExit('injected') #", '"); import os #', "*/", "-- ", "exterior", "row"),
)

EXTREMES = (
    *(0.0, -0.0, 1.0, 0.5, 2.0, 1e-5, 1e5, 1e-8, 1e8, 1e-15, 1e15, 1e-30, 1e30, 1e-100, 1e100),
    *(1e-150, 1e150, 1e154, 1e155, 1e-200, 1e200, 1e-300, 1e300, 2.3e-308, 1e-308, 1e308),
    *(1.7e308, 1.7976931348623157e308, 5e-324, 1e-322, 4503599627370497.5, 0.1 + 0.2),
)
_WHOLE = (0, 1, -1, 2, 3, 255, 2**31, 2**53, 2**53 + 1, 2**63, 2**64, 10**18, 10**400, -(10**400))


def text(chance: Chance, before: str = "") -> str:
    """A hostile text, or one that was there with something in it."""
    if chance.likely(0.6) or not before:
        made = chance.pick(TEXTS)
        return made * chance.pick((2, 100)) if chance.likely(0.03) else made
    at = chance.whole(0, len(before))
    return before[:at] + chance.pick(TEXTS) + before[at + chance.whole(0, 1) :]


def number(chance: Chance, before: float | int | None = None) -> float | int:
    """A hostile number, or one that was there and is changed a little or a lot."""
    kind = chance.whole(0, 9)
    if kind < 4 or before is None or isinstance(before, bool):
        return chance.pick((-1.0, 1.0, 1.0)) * chance.pick(EXTREMES)
    if kind < 6:
        return chance.pick(_WHOLE)
    if isinstance(before, int):
        return before + chance.pick((-1, 1, 2, -10, 1000))
    factor = chance.pick((-1.0, 0.5, 2.0, 10.0, 1e-3, 1e3, 1e-9, 1e9, 1 + 1e-15, 1 + 1e-9, 1.01))
    return before * factor


def other_type(chance: Chance) -> Any:
    """A value of some type that JSON has."""
    return chance.pick(
        (
            *(None, True, False, 0, 1, -1, 1.5, "", "a", "0.5", [], {}, [[]], [None], [0.0]),
            *([1, 2], [[1.0]], ["a"], {"a": 1}, {"": None}, [[0.0] * 3] * 3, [[[[[1]]]]]),
            *([0] * 2000, ["a"] * 500, {str(i): i for i in range(300)}),
        )
    )


def shown(value: Any, most: int = 60) -> str:
    """A value in a note."""
    if isinstance(value, int) and abs(value) > 10**20:
        return f"an integer of {value.bit_length()} bits"
    found = repr(value)
    return found if len(found) <= most else f"{found[:most]}.. ({len(found)} characters)"
