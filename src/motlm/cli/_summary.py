"""A fitted model in a few sentences, for the terminal."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pandas as pd

from .._typing import AnyArray, Booleans
from ..estimators import LocalMixture
from ..localities import LocalModel

__all__ = ["summarize"]

_SHOWN = 3  # columns by which a locality is described
_MOST = 8  # columns of a typical case that are shown
_CLASSES = 10  # whose formulas are shown
_WIDTH = 110


def summarize(
    model: LocalMixture, explanation: Any, rows: pd.DataFrame, target: str, name: str
) -> str:
    """Each locality by how its rows differ from the rest, with its formula; `rows` are those of the
    explanation, and `name` is what messages call them: "the sealed rows".
    """
    mixture = model.mixture_
    used, answer = model.apply(rows), mixture.target.describe()
    left = target if answer.link in ("identity", "log") else mixture.target.score_label
    lines = []
    for region in explanation.regions:
        where = _location(model, region.index, rows, used, name)
        lines.append(f"{region.name} ({region.share:.0%} of cases): {where}")
        for formula in _formulas(mixture.models[region.index], left):
            lines += _wrap(formula)
    if answer.link == "sign":
        no, yes = answer.classes or ()
        lines.append(f"a positive score means {yes}, a negative one {no}")
    if answer.link == "largest":
        lines.append("the class with the largest score is predicted")
    if model.mixture_.n_localities > 1:
        lines.append(f"local models contradict each other on {explanation.ambiguous:.1%} of {name}")
    return "\n".join(lines)


def _formulas(model: LocalModel, left: str) -> list[str]:
    """With their left side: one, or one for each of several classes, unless they are many."""
    if len(model.classes) > _CLASSES:
        return [f"scores of {len(model.classes)} classes: --json prints their formulas"]
    parts = [(f"{left} of {label}", model.of_class(label)) for label in model.classes]
    return [f"{name} = {one.formula()}" for name, one in parts or [(left, model)]]


def _location(
    model: LocalMixture, region: int, rows: pd.DataFrame, used: AnyArray, name: str
) -> str:
    """Which cases a region has."""
    n = model.mixture_.n_localities
    if region == n:
        return "all other cases" if n else "all cases"
    if model.points_of_interest is not None:
        return _typical_case(model, region)
    if not (used == region).any():
        return f"none of {name}"
    return _differences(rows, used == region)


def _wrap(formula: str) -> list[str]:
    """Lines that begin with a sign, so that no term is broken."""
    left, equals, right = formula.partition(" = ")
    factors = " x " in right  # names of columns, and factors, have spaces inside
    right = right.replace(" ", "\xa0")
    for sign in "x" if factors else "+-":
        right = right.replace(f"\xa0{sign}\xa0", f" {sign}\xa0")
    glued = left + equals + right
    options: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
    lines = textwrap.wrap(
        glued, _WIDTH, initial_indent="    ", subsequent_indent="        ", **options
    )
    return [line.replace("\xa0", " ") for line in lines]


def _typical_case(model: LocalMixture, number: int) -> str:
    """A typical case, as it was given."""
    point = model.points_of_interest.iloc[model.localities_[number].point]
    shown = [f"{name} = {_short(value)}" for name, value in list(point.items())[:_MOST]]
    more = ", .." if len(point) > _MOST else ""
    return f"around the typical case {', '.join(shown)}{more}"


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
