"""How databases write names, texts, numbers and truth values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..errors import ExportError, InputError

__all__ = ["DIALECTS", "Dialect", "dialect_of"]


@dataclass(frozen=True)
class Dialect:
    """A family of databases. Standard SQL, unless a field says otherwise."""

    name: str
    quotes: tuple[str, str] = ('"', '"')  # around names
    backslash: bool = False  # whether it begins an escape in texts
    quote: str = "''"  # a quote in a text
    escapes_names: bool = False  # whether a backslash begins an escape in names, too
    escapes_lines: bool = False  # whether texts cannot contain line ends as they are
    text: str = "'{}'"
    double: str = "DOUBLE PRECISION"
    number: str = "{}"  # where a number with an exponent may be a decimal, a cast
    exact: str = "{}"  # a column that is compared with a text, regardless of the table's collation
    truth: tuple[str, str] = ("TRUE", "FALSE")
    casts: bool = True  # categories, as numbers, and answers
    forbidden: str = ""  # what is replaced before a statement is parsed

    def identifier(self, name: str) -> str:
        """The name of a column."""
        self._check(name, f"the column {name!r} cannot be named in SQL")
        start, end = self.quotes
        if self.escapes_names:
            inner = name.replace("\\", "\\\\").replace(end, f"\\{end}")
        else:
            inner = name.replace(end, end * 2)
        return f"{start}{inner}{end}"

    def literal(self, value: Any) -> str:
        """A category or a label."""
        if isinstance(value, bool):
            return self.truth[0 if value else 1]
        if isinstance(value, (int, float)):
            if not math.isfinite(value):
                raise ExportError(f"the category {value!r} cannot be written in SQL.")
            return repr(value)
        text = str(value)
        self._check(text, f"the category {text!r} cannot be written in SQL")
        if self.backslash:
            text = text.replace("\\", "\\\\")
        text = text.replace("'", self.quote)
        if self.escapes_lines:
            text = text.replace("\n", "\\n").replace("\r", "\\r")
        return self.text.format(text)

    def compared(self, column: str, level: Any) -> str:
        """A column, named already, to be compared with categories like this one."""
        return column if isinstance(level, (bool, int, float)) else self.exact.format(column)

    def real(self, value: Any) -> str:
        """A double; negative ones in brackets."""
        text = repr(float(value))
        if "e" not in text:
            text += "e0"  # approximate, not decimal, in standard SQL
        text = self.number.format(text)
        return f"({text})" if text.startswith("-") else text

    def cast(self, expression: str) -> str:
        """As a double."""
        return f"CAST({expression} AS {self.double})"

    def _check(self, text: str, words: str) -> None:
        if "\0" in text:
            raise ExportError(f"{words}: it contains NUL.", "Use another name.")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ExportError(f"{words}: it is not valid Unicode.", "Use another name.") from None
        if self.forbidden and self.forbidden in text:
            raise ExportError(
                f"{words} of {self.name}, which replaces {self.forbidden}..}} in statements.",
                "Use another name.",
            )


_SPARK = {
    "quotes": ("`", "`"),
    "backslash": True,
    "quote": "\\'",  # 'a''b' are two texts, one behind the other
    "double": "DOUBLE",
    "forbidden": "${",
}

DIALECTS: dict[str, Dialect] = {
    one.name: one
    for one in (
        Dialect("ansi", casts=False),
        Dialect("postgres"),
        # in double quotes, SQLite takes the name of a column that is missing for a text
        Dialect("sqlite", quotes=("`", "`"), double="REAL"),
        Dialect("duckdb", double="DOUBLE"),
        Dialect(
            "mysql",
            quotes=("`", "`"),
            backslash=True,
            double="DOUBLE",
            exact="{} COLLATE utf8mb4_bin",
        ),
        Dialect(
            "bigquery",
            quotes=("`", "`"),
            backslash=True,
            quote="\\'",
            escapes_names=True,
            escapes_lines=True,
            double="FLOAT64",
        ),
        Dialect("snowflake", backslash=True, double="DOUBLE", number="CAST('{}' AS DOUBLE)"),
        Dialect(
            "tsql",
            quotes=("[", "]"),
            text="N'{}'",
            exact="CAST({} AS NVARCHAR(MAX)) COLLATE Latin1_General_BIN2",
            truth=("1", "0"),
        ),
        Dialect("spark", **_SPARK),  # type: ignore[arg-type]
        Dialect("databricks", **_SPARK),  # type: ignore[arg-type]
    )
}


def dialect_of(name: Any) -> Dialect:
    if not isinstance(name, str) or name not in DIALECTS:
        raise InputError(f"dialect must be one of {', '.join(DIALECTS)}; got {name!r}.")
    return DIALECTS[name]
