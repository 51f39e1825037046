"""The curves of additive models: a small picture and a table of points for each column that
bends.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import AnyArray, Array
from ..localities import LocalModel, Points
from ..mixture import Mixture
from ..tables import number

__all__ = ["curves_of", "shorten"]

_MOST = 12  # pictures that are not folded
_SAME = 1e-9  # relative
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 260, 150, 46, 8, 8, 22  # of a picture
_FACTORS = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 5.0, 10.0, 100.0, 1000.0)
_OWN, _EXTERIOR = "var(--ink)", "var(--muted)"
# of localities or labels, as in page.js
_COLORS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"),
    *("#56b4e9", "#8c510a", "#5e3c99", "#7f7f7f", "#f0e442"),
)


def shorten(formula: str) -> str:
    """A formula without the points of its curves, which are drawn."""
    for letter in "fg":
        formula = formula.split(f"\n    {letter}(")[0]
    return formula


def curves_of(
    mixture: Mixture, features: list[dict[str, Any]], regions: list[dict[str, Any]], hidden: bool
) -> list[dict[str, Any]]:
    """Of each region: the pictures of the columns in which it differs from the exterior, or of all;
    the larger ones first, on one scale. Empty of linear models.
    """
    ranges = {one["name"]: (one["low"], one["high"]) for one in features if "low" in one}
    rates = mixture.target.describe().link == "log"
    made = []
    for i, region in enumerate(regions):
        model = mixture.models[i]
        bent = [one.column for one in model.shapes if one.values.any()]
        drawn = bent if i == mixture.n_localities else _differing(mixture, model, bent)
        ends = {one["name"]: one["ends"] for one in region["strips"] if one["ends"] is not None}
        figures = []
        for j in drawn:
            name = mixture.inputs.names[j]
            seen = _clip(ranges[name], ends.get(name, ranges[name]))
            figures.append(_figure(mixture, i, j, ranges[name], seen, hidden))
        made.append(_sheet(figures, len(bent), rates))
    return made if any(one["total"] for one in made) else []


def _differing(mixture: Mixture, model: LocalModel, bent: list[int]) -> list[int]:
    """The columns whose curves are not the exterior's, but for rounding."""
    found = []
    for shape in model.shapes:
        own, other = (_stack(one, shape.column, shape.knots) for one in (model, mixture.exterior))
        gap = max(float(np.abs(a.value - b.value).max()) for a, b in zip(own, other, strict=True))
        size = max(float(np.abs(one.value).max()) for one in other)
        if shape.column in bent and gap > _SAME * size:
            found.append(shape.column)
    return found


def _stack(model: LocalModel, j: int, x: Array, reference: float | None = None) -> list[Points]:
    """The curve of a column, or that of each of several labels."""
    labels = model.classes or (None,)
    return [model.curve(j, x, label, reference) for label in labels]


def _clip(ends: tuple[float, float], within: tuple[float, float]) -> tuple[float, float]:
    low, high = max(ends[0], within[0]), min(ends[1], within[1])
    return (low, high) if low < high else ends


def _figure(
    mixture: Mixture,
    i: int,
    j: int,
    ends: tuple[float, float],
    seen: tuple[float, float],
    hidden: bool,
) -> dict[str, Any]:
    """What is drawn of a column, in the units of the score: the model's own lines where the
    locality reaches, and the exterior's everywhere. Of a correction both are 0 in the middle of the
    locality, if that may be told, where the other differences are told, too.
    """
    model, local = mixture.models[i], i < mixture.n_localities
    corrected = None if hidden else model.exterior
    reference = None if corrected is None else float(corrected.place[j])
    [knots] = [one.knots for one in model.shapes if one.column == j]
    x, everywhere = _points(knots, seen), _points(knots, ends)
    own = _stack(model, j, x, reference)
    outer = _stack(mixture.exterior, j, everywhere, reference) if local else []
    beside = _stack(mixture.exterior, j, x, reference) if local else []
    lines: list[dict[str, Any]] = [
        {"points": one, "color": _color(k) if model.classes else _EXTERIOR, "kind": "outer"}
        for k, one in enumerate(outer)
    ]
    for k, one in enumerate(own):
        color = _color(k) if model.classes else _color(i) if local else _OWN
        lines.append({"points": one, "color": color, "kind": "own"})
    values = np.concatenate([[0.0], *(one["points"].value for one in lines)])
    return {
        "name": mixture.inputs.names[j],
        "ends": ends,
        "lines": lines,
        "own": own,
        "beside": beside,
        "reach": max(float(np.ptp(one["points"].value)) for one in lines),
        "span": (float(values.min()), float(values.max())),
    }


def _points(knots: Array, ends: tuple[float, float]) -> Array:
    return np.array([ends[0], *knots[(knots > ends[0]) & (knots < ends[1])], ends[1]])


def _color(k: int) -> str:
    return _COLORS[k % len(_COLORS)]


def _sheet(figures: list[dict[str, Any]], total: int, rates: bool) -> dict[str, Any]:
    """The pictures of a region, drawn."""
    least = min((one["span"][0] for one in figures), default=0.0)
    most = max((one["span"][1] for one in figures), default=0.0)
    margin = 0.08 * (most - least) or 1.0
    order = sorted(figures, key=lambda one: -one["reach"])
    drawn = [_draw(one, least - margin, most + margin, rates) for one in order]
    return {"first": drawn[:_MOST], "more": drawn[_MOST:], "total": total}


def _draw(figure: dict[str, Any], least: float, most: float, rates: bool) -> dict[str, Any]:
    """As numbers of an SVG picture, and texts."""
    low, high = figure["ends"]
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM

    def down(y: Any) -> AnyArray:
        share = (most - np.asarray(y)) / (most - least)
        inside = np.clip(share, -1.0, 2.0)  # beyond the picture, which cuts it
        return _TOP + inside * (bottom - _TOP)

    def path(x: AnyArray, y: AnyArray) -> str:
        across = _LEFT + (x - low) / (high - low or 1.0) * (right - _LEFT)
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, down(y), strict=True))

    lines = []
    for one in figure["lines"]:
        (x, y, scale), kind = one["points"], one["kind"]
        line = {"path": path(x, y), "color": one["color"], "kind": kind}
        if kind == "own":
            line["band"] = path(np.r_[x, x[::-1]], np.r_[y + scale, (y - scale)[::-1]])
        lines.append(line)
    return {
        "name": figure["name"],
        "lines": lines,
        "box": (_LEFT, _TOP, right - _LEFT, bottom - _TOP),
        "size": (_WIDTH, _HEIGHT),
        "x_ticks": [(_LEFT, number(low, 4), "start"), (right, number(high, 4), "end")],
        "y_ticks": [
            (float(down(value)), _told(value, rates, 3)) for value in _ticks(least, most, rates)
        ],
        "text": _text(figure, rates),
        "rows": _rows(figure, rates),
    }


def _rows(figure: dict[str, Any], rates: bool) -> list[list[str]]:
    """Of each value of the column: what it adds to each score and the deviation, and what the
    exterior adds.
    """
    own, beside = figure["own"], figure["beside"]
    rows = []
    for k, x in enumerate(own[0].x):
        values = [_told(one.value[k], rates) for one in own]
        other = [_told(one.value[k], rates) for one in beside]
        rows.append([number(x, 4), *values, number(own[0].scale[k], 2), *other])
    return rows


def _told(value: float, rates: bool, digits: int = 4) -> str:
    """A summand, or the factor whose logarithm it is."""
    return f"x {number(float(np.exp(value)), digits)}" if rates else number(value, digits)


def _text(figure: dict[str, Any], rates: bool) -> str:
    """For those who do not see the picture."""
    x, value, _ = figure["own"][0]
    places = {"from": 0, "to": -1, "lowest": value.argmin(), "highest": value.argmax()}
    at = {
        word: f"{word} {_told(value[k], rates)} at {number(x[k], 4)}" for word, k in places.items()
    }
    if len(figure["own"]) > 1:
        return f"{figure['name']}: a line for each label; the tables below have all points"
    return (
        f"{figure['name']}: {at['from']} {at['to']}; {at['lowest']}, {at['highest']};"
        " the tables below have all points"
    )


def _ticks(least: float, most: float, rates: bool) -> list[float]:
    """0, and a round summand, or the logarithm of a round factor, to both sides of it where there
    is room.
    """
    size = max(-least, most)
    step = _round_below(size)
    if rates and size > np.log(1.01):
        step = float(np.log(max(one for one in _FACTORS if np.log(one) <= size)))
    return [value for value in (-step, 0.0, step) if least <= value <= most]


def _round_below(size: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is not above a size."""
    unit = 10.0 ** np.floor(np.log10(size))
    return float(max(one * unit for one in (1, 2, 5) if one * unit <= size * (1 + 1e-9)))
