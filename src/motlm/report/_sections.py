"""Sections of the page that are made apart from its template: tables with every text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Section", "notes", "table"]

_ONE_LINE = ' style="white-space:nowrap"'


@dataclass(frozen=True)
class Section:
    """A section: its anchor, what the contents call it, and its HTML."""

    anchor: str
    title: str
    html: str


def table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 0) -> str:
    """A table whose first column has names; the last `texts` columns are words. On narrow screens
    the cells of a row are below each other, with the names of their columns.
    """
    first = len(head) - texts
    kinds = ["" if j < first else ' class="text"' for j in range(len(head))]
    top = "".join(
        f'<th scope="col" role="columnheader"{kind}>{escape(name)}</th>'
        for name, kind in zip(head, kinds, strict=True)
    )
    lines = []
    for name, *cells in rows:
        each = zip(cells, kinds[1:], head[1:], strict=True)
        made = "".join(
            f'<td role="cell" data-label="{escape(label)}"{kind or _ONE_LINE}>{_cell(cell)}</td>'
            for cell, kind, label in each
        )
        first_cell = f'<th scope="row" role="rowheader">{escape(name)}</th>'
        lines.append(f'<tr role="row">{first_cell}{made}</tr>')
    return (
        '<div class="scroll" tabindex="0"><table class="stack" role="table">'
        f"<caption>{escape(caption)}</caption>"
        f'<thead role="rowgroup"><tr role="row">{top}</tr></thead>'
        f'<tbody role="rowgroup">{"".join(lines)}</tbody></table></div>'
    )


def _cell(text: str) -> str:
    """An interval in brackets is below its number."""
    return escape(text).replace(" (", "<br>(", 1)


def notes(sentences: Sequence[str]) -> str:
    return f'<p class="note">{escape(" ".join(sentences))}</p>' if sentences else ""
