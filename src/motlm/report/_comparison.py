"""The section that has the model beside other methods: a chart, and tables."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import Any

from ..comparison import Comparison
from ..errors import InputError
from ..inputs import TableNotes
from ..mixture import Mixture
from ..scores import HIGHER
from ..tables import amount, number
from ..targets import Rate
from ._sections import Section, notes, table

__all__ = ["check_comparison", "comparison_section"]

_WIDE, _LINE, _NAMES = 640, 26, 190  # of the chart, a line of it, and the place of names
_NAMED = 5  # columns in an error


def check_comparison(
    found: Comparison, mixture: Mixture, features: tuple[str, ...], table: TableNotes
) -> Comparison:
    """Refuse a comparison that cannot be of this model, whose columns have these names, if any;
    what cannot be told becomes a note.
    """
    own = "rate" if isinstance(mixture.target, Rate) else "classification"
    if own != "rate" and mixture.target.classes is None:
        own = "regression"
    _check_same("task", found.task, own)
    if found.target and table.target:
        _check_same("target", found.target, table.target)
    if found.features and features:
        more = sorted(set(found.features) - set(features))
        less = sorted(set(features) - set(found.features))
        gaps = [f"has also {_some(more)}"] if more else []
        gaps += [f"lacks {_some(less)}"] if less else []
        if gaps:
            _refuse(f"its columns are not those of the model: it {' and '.join(gaps)}")
    read = 0 if table.card is None else table.card.n_read
    if 0 < read < found.rows:
        _refuse(f"it has {found.rows} rows, but the model's table had {read}")
    notes, fitted = list(found.notes), mixture.provenance.fingerprint.n_rows
    if features and not found.features:
        notes.append(
            "this comparison does not tell its target and columns; whether it is of the same table"
            " as the model was not checked."
        )
    if fitted and fitted != found.rows:
        notes.append(f"the model was fitted to {fitted} rows, the comparison has {found.rows}.")
    return replace(found, notes=tuple(notes))


def _check_same(what: str, given: str, own: str) -> None:
    if given != own:
        _refuse(f"its {what} is {given!r}, the model's is {own!r}")


def _some(names: list[str]) -> str:
    return ", ".join(map(repr, names[:_NAMED])) + (", .." if len(names) > _NAMED else "")


def _refuse(why: str) -> None:
    raise InputError(
        f"the comparison is not of this model: {why}. Make one with the table, the target and the"
        " columns that the model was fitted with (motlm compare), or leave it out."
    )


def comparison_section(found: Comparison) -> Section:
    head = ["method", *found.scores, "fit, seconds"]
    rows = [
        [one.name, *(_cell(one.mean(score)) for score in found.scores), number(one.fit_time, 2)]
        for one in found.methods
    ]
    parts = [f"<p>{escape(found.headline)}</p>"]
    if found.has_model and found.folds > 1:
        parts.append(_chart(found))
    folds = f"{amount(found.folds, 'fold')} of {amount(found.rows, 'row')}"
    parts.append(
        table(f"Mean scores over {folds}; lower is better but for {_higher(found)}", head, rows)
    )
    if found.has_model and found.folds > 1:
        others = found.methods[1:]
        lines = [
            [one.name, *(_gap(found.difference(one.name, score)) for score in found.scores)]
            for one in others
        ]
        parts.append(table("Scores less this model's", ["method", *found.scores], lines))
    what = "; ".join(f"{one.name}: {one.words}" for one in found.methods[1:])
    html = (
        f'<section id="comparison"><h2>What reading costs</h2>{"".join(parts)}'
        f"{notes([*found.about[1:], f'{what}.'])}</section>"
    )
    return Section("comparison", "Comparison", html)


def _higher(found: Comparison) -> str:
    return ", ".join(score for score in found.scores if score in HIGHER)


def _cell(value: float | None) -> str:
    return "not defined" if value is None else number(value)


def _gap(one: Any) -> str:
    if one.value is None or one.low is None or one.high is None:
        return "not defined" if one.value is None else number(one.value, 3)
    word = {True: ", better", False: ", worse", None: ""}[one.better]
    return f"{number(one.value, 3)}{word} ({number(one.low, 3)} to {number(one.high, 3)})"


def _chart(found: Comparison) -> str:
    """Differences of the main score to this model, with intervals; this model is the line at 0."""
    score = found.main_score
    gaps = [(one.name, found.difference(one.name, score)) for one in found.methods[1:]]
    known = [(name, one) for name, one in gaps if one.low is not None and one.high is not None]
    low, high = found.span(score)
    span = (high - low) or 1.0

    def place(value: float | None) -> str:
        share = (min(max(value or 0.0, low), high) - low) / span  # a long interval is cut
        return f"{_NAMES + 10 + share * (_WIDE - _NAMES - 30):.1f}"

    height = _LINE * (len(known) + 1)
    parts = [f'<line x1="{place(0)}" x2="{place(0)}" y1="0" y2="{height - 18}" class="grid"/>']
    for k, (name, one) in enumerate(known):
        y = _LINE * (k + 0.5)
        color = {True: "#d55e00", False: "#0072b2", None: "currentColor"}[one.better]
        parts.append(
            f'<text x="{_NAMES}" y="{y + 4:g}" text-anchor="end">{escape(name)}</text>'
            f'<line x1="{place(one.low)}" x2="{place(one.high)}" y1="{y:g}" y2="{y:g}"'
            f' stroke="{color}" stroke-width="2"/>'
            f'<circle cx="{place(one.value)}" cy="{y:g}" r="4.5" fill="{color}"/>'
        )
    parts.append(f'<text x="{place(0)}" y="{height - 4}" text-anchor="middle">this model</text>')
    side = "right" if score in HIGHER else "left"
    label = "; ".join(f"{name} {_gap(one)}" for name, one in known)
    words = f"{score} less this model's, with intervals: methods to the {side} are better"
    return (
        f'<figure class="curve"><figcaption>{escape(words)}</figcaption>'
        f'<svg viewBox="0 0 {_WIDE} {height}" style="max-width:{_WIDE}px" role="img"'
        f' aria-label="{escape(label)}">{"".join(parts)}</svg></figure>'
    )
