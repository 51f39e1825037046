"""A fitted model in a few sentences, for the terminal."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pandas as pd

from .._typing import AnyArray, Booleans
from ..estimators import LocalMixture
from ..localities import Locality, LocalModel
from ..tables import amount

__all__ = ["summarize"]

_SHOWN = 3  # columns by which a locality is described
_WORDS = 8  # of a typical case that are shown
_EXCEPT = "as everywhere"
_CLASSES = 10  # whose formulas are shown
_WIDTH = 110


def summarize(
    model: LocalMixture,
    explanation: Any,
    rows: pd.DataFrame,
    target: str,
    full_formulas: bool = False,
    kind: str = "row",
) -> str:
    """Each locality in a sentence, with how its model differs from the exterior's, or with its
    formula; `rows` are those of the explanation, and `kind` what each is called.
    """
    mixture = model.mixture_
    used, answer = model.apply(rows), mixture.target.describe()
    left = target if answer.link in ("identity", "log") else mixture.target.score_label
    lines = []
    for region in explanation.regions:
        local = mixture.models[region.index]
        where = _location(model, region, rows, used)
        name = region.name
        if mixture.geometry.kind == "given" and isinstance(local, Locality):
            name += f" (case {local.point})"
        lines.append(f"{name}, {where}: {amount(region.n_rows, kind)} ({region.share:.0%})")
        corrected = local.exterior is not None and not full_formulas
        made = _corrections(local, left) if corrected else _formulas(local, left)
        for text in made:
            lines += _wrap(text)
    if answer.link == "sign":
        no, yes = answer.classes or ()
        lines.append(f"a positive score means {yes}, a negative one {no}")
    if answer.link == "largest":
        lines.append("the class with the largest score is predicted")
    if explanation.terms:
        lines.append(explanation.terms.replace("max_terms='auto'", "--max-terms auto"))
    if model.mixture_.n_localities > 1:
        share = f"{explanation.ambiguous:.1%} of {amount(explanation.n_rows, kind)}"
        lines.append(f"local models contradict each other on {share}")
    return "\n".join(lines)


def _formulas(model: LocalModel, left: str) -> list[str]:
    """With their left side: one, or one for each of several classes, unless they are many."""
    if len(model.classes) > _CLASSES:
        return [f"scores of {len(model.classes)} classes: --json prints their formulas"]
    parts = [(f"{left} of {label}", model.of_class(label)) for label in model.classes]
    return [f"{name} = {one.formula()}" for name, one in parts or [(left, model)]]


def _corrections(model: LocalModel, left: str) -> list[str]:
    """How it differs from the exterior model: in one list, or one for each of several classes."""
    if len(model.classes) > _CLASSES:
        return [f"scores of {len(model.classes)} classes: --json prints how they differ"]
    parts = [(f"{left} of {label}: ", model.of_class(label)) for label in model.classes]
    return [f"{name}{one.correction()}" for name, one in parts or [("", model)]]


def _location(model: LocalMixture, region: Any, rows: pd.DataFrame, used: AnyArray) -> str:
    """Which cases a region has. Balls in all columns say little in words, so that their typical
    case is named, or how their rows differ.
    """
    geometry: Any = model.mixture_.geometry
    if region.index == model.mixture_.n_localities:
        return str(region.where)
    if geometry.kind == "given" and geometry.weights is None:
        return f"around {_typical_case(model, model.localities_[region.index].point)}"
    inside = used == region.index
    if geometry.kind == "balls" and inside.any():
        return _differences(rows, inside)
    notes: Any = getattr(model, "table_", None)
    if notes is not None and notes.cases:  # which row of the table it is, and not of those to fit
        row = f"row {model.localities_[region.index].row}"
        return str(region.where).replace(row, notes.cases[region.index], 1)
    return str(region.where)


def _wrap(text: str) -> list[str]:
    """Lines that begin with a sign, or a column, so that no term is broken; curves have lines of
    their own.
    """
    text, *curves = text.split("\n")
    left, equals, right = text.partition(" = ")
    if text.startswith(_EXCEPT) or f": {_EXCEPT}" in text:
        glued = text.replace(" ", "\xa0").replace(",\xa0", ", ").replace(";\xa0", "; ")
        glued = glued.replace("except:\xa0", "except: ")
    else:
        factors = " x " in right  # names of columns, and factors, have spaces inside
        right = right.replace(" ", "\xa0")
        for sign in "x" if factors else "+-":
            right = right.replace(f"\xa0{sign}\xa0", f" {sign}\xa0")
        glued = left + equals + right
    options: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
    lines = textwrap.wrap(
        glued, _WIDTH, initial_indent="    ", subsequent_indent="        ", **options
    )
    lines = [line.replace("\xa0", " ") for line in lines]
    return lines + [f"            {one.strip()}" for one in curves]


def _typical_case(model: LocalMixture, number: int) -> str:
    """A typical case, as it was given."""
    point = model.points_of_interest.iloc[number]
    shown: list[str] = []
    words = 0
    for name, value in point.items():
        text = f"{name}={_short(value)}"
        words += len(text.split())
        if words > _WORDS:
            return f"{', '.join(shown)} and {len(point) - len(shown)} more columns"
        shown.append(text)
    return ", ".join(shown)


def _differences(rows: pd.DataFrame, inside: Booleans) -> str:
    """How some rows differ from all: medians, and categories that are more frequent."""
    columns = [rows[name] for name in rows.columns]
    found = [
        _number_gap(column, inside) if column.dtype == float else _level_gap(column, inside)
        for column in columns
    ]
    best = sorted(found, key=lambda one: -one[0])[:_SHOWN]
    return "cases with " + ", ".join(words for _, words in best)


def _number_gap(column: pd.Series, inside: Booleans) -> tuple[float, str]:
    """The gap between the medians, in standard deviations, and in words."""
    spread = float(column.std()) or 1.0
    here, overall = float(column[inside].median()), float(column.median())
    if np.isnan(here):  # all are missing
        return 0.0, f"{column.name} missing"
    words = f"{column.name} about {_short(here)} (overall {_short(overall)})"
    return abs(here - overall) / spread, words


def _level_gap(column: pd.Series, inside: Booleans) -> tuple[float, str]:
    """Twice the largest gap between the shares of a category, and in words."""
    shares = column[inside].value_counts(normalize=True)
    gap = shares.sub(column.value_counts(normalize=True), fill_value=0.0)
    level = gap.idxmax()
    here, overall = np.mean(column[inside] == level), np.mean(column == level)
    words = f"{column.name} = {level} in {here:.0%} (overall {overall:.0%})"
    return 2.0 * float(gap.max()), words


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)
