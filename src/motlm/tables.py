"""Rows and results as people and other programs read them: plain values, tables, one row."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, ClassVar

import numpy as np

from ._renamed import warn_of
from ._typing import AnyArray
from .errors import InputError, MissingPackageError
from .frames import columns_of, from_arrow, is_frame
from .inputs import Group
from .mixture import Mixture

__all__ = [
    "Entry",
    "amount",
    "decode",
    "html_table",
    "item",
    "number",
    "one_row",
    "plain",
    "table_of",
    "text_lines",
    "text_table",
    "text_tables",
    "values_of",
]

_SHOWN = 20  # names in a message
_WHOLE = 1e15  # below which whole numbers have all their digits


def values_of(mixture: Mixture, X: Any) -> dict[str, AnyArray]:
    """The user's columns by name."""
    X = from_arrow(X)
    columns = columns_of(X if hasattr(X, "columns") else np.asarray(X))
    names = mixture.inputs.columns.names
    return {
        name: np.asarray(column, dtype=object) for name, column in zip(names, columns, strict=True)
    }


def decode(groups: Iterable[Group], encoded: AnyArray) -> dict[str, Any]:
    """The user's values of an encoded row."""
    values: dict[str, Any] = {}
    for group in groups:
        part = encoded[group.columns]
        if group.levels is None:
            values[group.name] = float(part[0])
        else:
            same = np.flatnonzero((group.codes == part).all(axis=1))
            values[group.name] = item(group.levels[int(same[0]) if len(same) else 0])
    return values


def one_row(mixture: Mixture, x: Any) -> Any:
    """A table of one row, from such a table, a mapping of column names to values, or a sequence."""
    names = list(mixture.inputs.columns.names)
    if isinstance(x, Mapping):
        missing = [name for name in names if name not in x]
        if missing:
            raise InputError(
                f"the row has no value for {missing[0]!r}; the columns are"
                f" {', '.join(map(repr, names[:_SHOWN]))}."
            )
        x = [x[name] for name in names]
    x = from_arrow(x)
    if is_frame(x):
        if len(x) != 1:
            raise InputError(f"one row is explained at a time; got {len(x)}.")
        return x
    values = np.asarray(x, dtype=object)
    if values.ndim == 2 and len(values) == 1:
        values = values[0]
    if values.shape != (len(names),):
        raise InputError(
            f"a row has {len(names)} values, {', '.join(map(repr, names[:_SHOWN]))}; got an array"
            f" of shape {np.shape(x)}."
        )
    return _table_of_one(mixture, values)


def _table_of_one(mixture: Mixture, values: AnyArray) -> Any:
    """With the labels that the table had in fit, so that nothing warns about them."""
    inputs = mixture.inputs
    named = inputs.reading.named
    if inputs.labels is None and not named and not inputs.columns.has_text:
        return np.asarray(values, dtype=float)[None]
    labels: Any = inputs.labels
    if labels is None:  # of a model from a file
        labels = inputs.columns.names if named else range(len(values))
    content = {label: [value] for label, value in zip(labels, values, strict=True)}
    return _pandas("a row given as values").DataFrame(content, columns=list(labels))


def _pandas(what: str) -> Any:
    try:
        import pandas
    except ImportError as error:
        raise MissingPackageError(f"{what} needs pandas: pip install pandas") from error
    return pandas


def item(value: Any) -> Any:
    """A value of Python's own."""
    return value.item() if isinstance(value, np.generic) else value


def plain(value: Any) -> Any:
    """As JSON can hold it; None for what is not finite."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return str(value)


def number(value: Any, digits: int = 4) -> str:
    """For tables: numbers with some digits, whole ones with all, other things as they are."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        if not np.isfinite(value):
            return ""
        if float(value).is_integer() and abs(float(value)) < _WHOLE:
            return f"{value + 0.0:.0f}"  # 0 for -0
        text = f"{value + 0.0:.{digits}g}"
        return f"{float(text):.0f}" if "e+" in text and abs(float(value)) < _WHOLE else text
    return "" if value is None else str(value)


def amount(count: int, what: str, one: str = "", more: str = "") -> str:
    """ "1 row", "2 rows"; with a verb for one and for more, "1 row is", "2 rows are"."""
    text = f"{count} {what}{'' if count == 1 else 's'}"
    return f"{text} {one if count == 1 else more}".strip()


def table_of(rows: list[dict[str, Any]]) -> Any:
    return _pandas("to_frame").DataFrame(rows)


def text_lines(sentences: Sequence[str], width: int = 110) -> str:
    """Sentences, each on lines of its own that are not wider than that."""
    return "\n".join(textwrap.fill(one, width, break_on_hyphens=False) for one in sentences)


def text_table(lines: list[tuple[str, ...]]) -> str:
    """Columns aligned: the first one to the left, numbers to the right."""
    widths = [max(len(line[j]) for line in lines) for j in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            [line[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        ).rstrip()
        for line in lines
    )


def text_tables(
    names: Sequence[tuple[str, ...]], columns: Sequence[Sequence[str]], width: int = 110
) -> str:
    """Lines that begin with names and have a cell of each column: one table, or several below each
    other where it would be wider than that.
    """
    tables: list[list[tuple[str, ...]]] = []
    for column in columns:
        last = tables[-1] if tables else names
        wider = [(*line, cell) for line, cell in zip(last, column, strict=True)]
        if tables and len(text_table(wider).split("\n")[0]) <= width:
            tables[-1] = wider
        else:
            tables.append([(*line, cell) for line, cell in zip(names, column, strict=True)])
    return "\n\n".join(map(text_table, tables))


def html_table(rows: list[dict[str, Any]]) -> str:
    """An HTML table with every text escaped."""
    if not rows:
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(number(value))}</td>" for value in row.values()) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


# -- names of the release before -------------------------------------------------------------------


class Entry(dict[str, Any]):
    """One line of a table, which also answers to the names that its entries had before."""

    renamed: ClassVar[dict[str, str]] = {"says": "answer", "speaks for": "used for"}

    def __missing__(self, key: str) -> Any:
        if self.renamed.get(key) not in self:
            raise KeyError(key)
        warn_of(f"the entry {key!r}", repr(self.renamed[key]))
        return self[self.renamed[key]]

    def get(self, key: str, default: Any = None) -> Any:
        """The entry, by its old name too."""
        if self.renamed.get(key) in self:
            warn_of(f"the entry {key!r}", repr(self.renamed[key]))
            key = self.renamed[key]
        return super().get(key, default)
