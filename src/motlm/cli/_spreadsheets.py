"""Tables that a spreadsheet does not take for formulas (CSV injection, as OWASP calls it)."""

from __future__ import annotations

import re
from typing import Any

import click
import pandas as pd

from ._errors import CommandError

__all__ = ["excel_safe_option", "make_safe", "refuse_json"]

_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
# full-width signs are read like the others in some languages; invisible characters may come first
_FORMULA = re.compile(r"^([\t\r\n]|[\s\u200b-\u200f\u2060\ufeff]*[=+\-@＝＋－＠])")
# a spreadsheet that expects semicolons, or tabs, begins a cell behind them, in spite of quotes
_LATER = re.compile(r"([;\t\r\n][\s\u200b-\u200f\u2060\ufeff]*)(?=[=+\-@＝＋－＠])")

excel_safe_option = click.option(
    "--excel-safe",
    is_flag=True,
    help="Put ' before values that a spreadsheet would take for a formula.",
)


def refuse_json(excel_safe: bool, as_json: bool) -> None:
    """Raise if a table for spreadsheets is wanted as JSON."""
    if excel_safe and as_json:
        raise CommandError(
            "--excel-safe changes values for spreadsheets, which do not read --json; leave out one"
            " of them."
        )


def make_safe(table: pd.DataFrame) -> pd.DataFrame:
    """A table with an apostrophe before all texts that begin like a formula, names of columns
    among them; numbers stay numbers.
    """
    made = {j: [_cell(one) for one in table.iloc[:, j].tolist()] for j in range(table.shape[1])}
    frame = pd.DataFrame(made, index=table.index, dtype=object)
    return frame.set_axis([_cell(name) for name in table.columns], axis=1)


def _cell(value: Any) -> Any:
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return value
    text = _LATER.sub(r"\1'", value)
    return f"'{text}" if _FORMULA.match(value) else text
