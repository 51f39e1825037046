"""A fitted model in a few sentences, for the terminal."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pandas as pd

from ..estimators import LocalMixture, LocalMixtureClassifier

__all__ = ["summary"]

_SHOWN = 3  # columns by which a locality is described
_WIDTH = 110


def summary(model: LocalMixture, explanation: Any, rows: pd.DataFrame, target: str) -> str:
    """Each locality by what its rows are like, with its formula; `rows` are those of the
    explanation.
    """
    speaker, n = model.apply(rows), len(model.localities_)
    left = "score" if isinstance(model, LocalMixtureClassifier) else target
    lines = []
    for region in explanation.regions:
        if region.index < n:
            where = (
                _given(model, region.index)
                if model.points_of_interest is not None
                else _like(rows, speaker == region.index)
            )
        else:
            where = "all other cases" if n else "all cases"
        lines.append(f"{region.name} ({region.share:.0%} of cases): {where}")
        lines += _wrapped(f"{left} = {region.formula}")
    if isinstance(model, LocalMixtureClassifier):
        no, yes = model.classes_.tolist()
        lines.append(f"a positive score means {yes}, a negative one {no}")
    if n > 1:
        lines.append(
            f"local models contradict each other on {explanation.ambiguous:.1%} of the rows kept"
            " aside"
        )
    return "\n".join(lines)


def _wrapped(formula: str) -> list[str]:
    """Lines that begin with a sign, so that no term is torn."""
    glued = formula.replace(" * ", "\xa0*\xa0").replace(" + ", " +\xa0").replace(" - ", " -\xa0")
    options: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
    lines = textwrap.wrap(
        glued, _WIDTH, initial_indent="    ", subsequent_indent="        ", **options
    )
    return [line.replace("\xa0", " ") for line in lines]


def _given(model: LocalMixture, number: int) -> str:
    """A typical case, as it was given."""
    point = model.points_of_interest.iloc[model.localities_[number].point]
    shown = [f"{name} = {_short(value)}" for name, value in list(point.items())[:8]]
    return "around the typical case " + ", ".join(shown) + (", .." if len(point) > 8 else "")


def _like(rows: pd.DataFrame, inside: Any) -> str:
    """What sets some rows apart from all: medians, and categories that are more frequent among
    them.
    """
    if not inside.any():
        return "none of the rows kept aside lies there"
    found: list[tuple[float, str]] = []
    for name in rows.columns:
        column = rows[name]
        if column.dtype == float:
            spread = float(column.std()) or 1.0
            here, everywhere = float(column[inside].median()), float(column.median())
            found.append(
                (
                    abs(here - everywhere) / spread,
                    f"{name} about {_short(here)} (of all {_short(everywhere)})",
                )
            )
            continue
        gap = (
            column[inside]
            .value_counts(normalize=True)
            .sub(column.value_counts(normalize=True), fill_value=0.0)
        )
        level = gap.idxmax()
        words = (
            f"{name} = {level} in {np.mean(column[inside] == level):.0%} (of all"
            f" {np.mean(column == level):.0%})"
        )
        found.append((2.0 * float(gap.max()), words))
    best = sorted(found, key=lambda one: -one[0])[:_SHOWN]
    return "cases with " + ", ".join(words for _, words in best)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)
