"""The section on groups of rows."""

from __future__ import annotations

from html import escape
from typing import Any

from ..groups import GroupEvaluation
from ._features import FEW
from ._sections import Section, notes, table

__all__ = ["groups_section"]

_HIDDEN = "not shown"  # of groups of few rows, from whose figures rows could be read


def groups_section(found: GroupEvaluation, include_rows: bool) -> Section:
    """A table of each column's groups, and one of its gaps. Without rows, nothing is shown of
    groups of very few.
    """
    parts = []
    for column in found.columns:
        groups, gaps = found.of_column(column)
        head = ["group", "rows", *groups[0].cells]
        rows = [_line(one, include_rows) for one in groups]
        parts.append(f"<h3>By {escape(column)}</h3>{table(f'Groups of {column}', head, rows)}")
        if gaps:
            head = ["gap", "largest", "highest", "lowest", "also known as"]
            lines = [(one.name, one.cell, one.highest, one.lowest, one.known_as) for one in gaps]
            parts.append(table(f"Largest gaps between groups of {column}", head, lines, texts=3))
    words = list(found.about)
    few = any(one.rows < FEW for one in found.groups)
    if few and not include_rows:
        words.append(f"Groups of fewer than {FEW} rows are not shown, since rows may be private.")
    html = (
        f'<section id="groups"><h2>Groups of cases</h2>{"".join(parts)}'
        f"{notes([*words, *found.notes])}</section>"
    )
    return Section("groups", "Groups", html)


def _line(group: Any, include_rows: bool) -> list[str]:
    if group.rows < FEW and not include_rows:
        return [group.name, f"under {FEW}", *[_HIDDEN] * len(group.cells)]
    return [group.name, str(group.rows), *group.cells.values()]
