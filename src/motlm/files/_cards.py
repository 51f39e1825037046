"""Cards and reference models of a table, to and from entries; absent in files without them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..cards import LinearReference, ModelCard
from ..inputs import TableNotes
from ..mixture import Mixture
from ._read import Reader
from ._text import plain

__all__ = ["card_entries", "read_card", "read_linear"]

_LARGEST = 1e300  # of a coefficient


def card_entries(table: TableNotes) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if table.card is not None:
        made["card"] = {name: plain(value) for name, value in asdict(table.card).items()}
    if table.linear is not None:
        made["linear"] = {
            "coef": plain(table.linear.coef),
            "intercept": plain(table.linear.intercept),
            "usual": plain(table.linear.usual),
            "n_rows": table.linear.n_rows,
        }
    return made


def read_card(table: Reader) -> ModelCard | None:
    if "card" not in table.content:
        return None
    read = table.part("card")
    missing = read.part("missing")
    card = ModelCard(
        owner=read.text("owner"),
        intended_use=read.text("intended_use"),
        fitted_on=read.text("fitted_on"),
        source=read.text("source"),
        n_read=read.integer("n_read", 0),
        n_fitted=read.integer("n_fitted", 0),
        n_sealed=read.integer("n_sealed", 0),
        columns_left_out=read.texts("columns_left_out"),
        missing={name: missing.integer(name, 1) for name in missing.content},
        tolerance=None if read.is_null("tolerance") else read.number("tolerance", 0.0, _LARGEST),
        **_later_entries(read),
    )
    if card.n_left_out < 0 or (card.n_incomplete or 0) < 0:
        raise read.fail("n_read", "at least n_fitted + n_sealed and those left out", card.n_read)
    missing.done()
    read.done()
    return card


def _later_entries(read: Reader) -> dict[str, Any]:
    """Those that the first files with cards do not have."""
    made: dict[str, Any] = {
        name: read.integer(name, 0)
        for name in ("n_without_target", "n_set_aside")
        if name in read.content and not read.is_null(name)
    }
    if "identifiers" in read.content:
        made["identifiers"] = read.texts("identifiers")
    return made


def read_linear(table: Reader, mixture: Mixture) -> LinearReference | None:
    if "linear" not in table.content:
        return None
    read, answer = table.part("linear"), mixture.target.describe()
    n_scores = len(answer.classes or ()) if answer.link == "largest" else 1
    last = len(answer.classes) - 1 if answer.classes else _LARGEST
    made = LinearReference(
        answer.link,
        read.array("coef", (n_scores, len(mixture.inputs.names))),
        read.array("intercept", (n_scores,)),
        read.number("usual", 0.0 if answer.classes else -_LARGEST, last),
        read.integer("n_rows", 1),
    )
    if answer.classes and made.usual != round(made.usual):
        raise read.fail("usual", "the index of a label", made.usual)
    read.done()
    return made
