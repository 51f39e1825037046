"""Where a locality lies, in the user's units: a strip for each of its columns, and a picture along
one or two of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._typing import AnyArray, Array
from ..corrections import differences_of
from ..extents import are_balls, columns_beside, extents_of, looks_at
from ..mixture import Mixture, View
from ..regions import round_to_width
from ..tables import number
from ._features import FEW

__all__ = ["add_places", "density_of", "draw_along", "hides_cases", "ranges_of"]

_POINTS = 50  # along each axis of a plane
_MIDDLE = (0.1, 0.9)
_LINE = 121  # along one column
_BINS = (5, 30), (4, 16)  # fewest and most, along one column, and along each of two
_PER_BIN = 8  # rows, about
_ALONE = 3  # rows below which a bin is left empty, unless rows may be shown
_REACH = 8  # strips of a locality that is not given by ranges
_LABELS = 10  # whose probabilities are drawn as lines


def hides_cases(mixture: Mixture, include_rows: bool) -> bool:
    """Whether the centers are training rows that the page may not show."""
    return any(one.row is not None for one in mixture.localities) and not include_rows


def add_places(
    view: View,
    regions: list[dict[str, Any]],
    features: list[dict[str, Any]],
    hidden: bool,
    alone: bool,
    include_rows: bool,
) -> None:
    """Complete what is told of each locality: where it lies, in words, strips and a picture (unless
    the map has it), and how its coefficients differ from the exterior's.
    """
    mixture = view.mixture
    pictures: list[Any] = [None] * mixture.n_localities
    if alone:
        pictures = _pictures(view, features, hidden, include_rows)
    gap, deviation = differences_of(mixture)
    for i, region in enumerate(regions[:-1]):
        region |= {"strips": _strips(view, i, features, hidden), "picture": pictures[i]}
        if not region["strips"]:
            region |= _reach(view, i, features, hidden)
        if hidden:
            place = mixture.localities[i].place
            region |= {"where": place, "center": None, "differences": []}
        if region["corrections"]:
            region |= {"gap": gap[i], "gap_scale": deviation[i]}
    regions[-1] |= {"strips": [], "picture": None, "where": ""}  # nowhere in particular


def _strips(
    view: View, i: int, features: list[dict[str, Any]], hidden: bool
) -> list[dict[str, Any]]:
    """How far a locality reaches along each column that it looks at, those first that limit it
    most; to two digits where its center may not be told. None of balls, and where distances do not
    show it.
    """
    if are_balls(view.mixture, [i]):
        return []
    return _limits(view, i, features, hidden)


def _limits(
    view: View, i: int, features: list[dict[str, Any]], hidden: bool
) -> list[dict[str, Any]]:
    """The same of all localities whose distances show how far they reach."""
    mixture, found = view.mixture, []
    ranges = ranges_of(view, features, [i])
    for extent in extents_of(mixture, i, view.encoded):
        if hidden and extent.ends is not None:
            extent = replace(extent, ends=_round_ends(extent.ends))
        strip: dict[str, Any] = {"name": extent.name, "text": extent.text, "ends": extent.ends}
        if extent.ends is None:
            strip["levels"] = [{"name": name, "inside": yes} for name, yes in extent.levels]
        else:
            strip["range"] = ranges[extent.name]
            strip["share"] = [round(100 * one, 2) for one in extent.share(*strip["range"])]
        found.append(strip)
    return found


def _reach(view: View, i: int, features: list[dict[str, Any]], hidden: bool) -> dict[str, Any]:
    """Strips of a ball in the columns that limit it by themselves; of localities of other metrics,
    or where none does, where the middle four fifths of its rows lie.
    """
    found = [one for one in _limits(view, i, features, hidden) if one["text"]]
    kind = "ends"
    if not found:
        found, kind = _middle(view, i, features), "rows"
    return {
        "reach": found[:_REACH],
        "reach_kind": kind,
        "reach_more": len(features) - len(found[:_REACH]) if found else 0,
    }


def _middle(view: View, i: int, features: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of numbers, those first in which the rows of a locality differ most from all."""
    inside = view.member[i]
    if inside.sum() < FEW:
        return []
    strips = []
    starts = {group.name: group.columns.start for group in view.mixture.inputs.groups}
    for one in features:
        if "low" not in one or not one["high"] > one["low"]:
            continue
        low, high = one["low"], one["high"]
        first, last = np.quantile(view.encoded[inside, starts[one["name"]]], _MIDDLE)
        share = np.clip((np.array([first, last]) - low) / (high - low), 0.0, 1.0)
        strips.append(
            {
                "name": one["name"],
                "text": f"{number(float(first), 3)} to {number(float(last), 3)}",
                "range": (low, high),
                "share": [round(100 * float(part), 2) for part in share],
                "width": float(share[1] - share[0]),
            }
        )
    return sorted(strips, key=lambda one: one["width"])


def density_of(
    view: View, shown: list[int], axes: list[Array], include_rows: bool
) -> dict[str, Any]:
    """How many rows lie in each bin of one or two columns; bins with very few rows are left empty,
    unless rows may be shown.
    """
    rows = view.encoded[:, shown]
    fewest, most = _BINS[len(shown) - 1]
    wanted = (len(rows) / _PER_BIN) ** (1.0 / len(shown))
    bins = int(np.clip(wanted, fewest, most))
    ends = [(float(axis[0]), float(axis[-1])) for axis in axes]
    counts, edges = np.histogramdd(rows, bins=bins, range=ends)
    if not include_rows:
        counts[counts < _ALONE] = 0
    middles = [_rounded((edge[1:] + edge[:-1]) / 2) for edge in edges]
    return {"bins": middles, "counts": counts.astype(int)}


def ranges_of(
    view: View, features: list[dict[str, Any]], localities: list[int]
) -> dict[str, tuple[float, float]]:
    """Of each column of numbers: the range of the form, and of localities that end outside it,
    where there are rows beyond.
    """
    ranges = {one["name"]: (one["low"], one["high"]) for one in features if "low" in one}
    starts = {group.name: group.columns.start for group in view.mixture.inputs.groups}
    for i in localities:
        for extent in extents_of(view.mixture, i, view.encoded):
            if extent.name not in ranges or extent.ends is None:
                continue
            (low, high), column = ranges[extent.name], view.encoded[:, starts[extent.name]]
            first, last = extent.ends
            ends = _round_ends(extent.ends)
            low = min(low, ends[0]) if first > column.min() else low
            high = max(high, ends[1]) if last < column.max() else high
            ranges[extent.name] = low, high
    return ranges


def _round_ends(ends: tuple[float, float]) -> tuple[float, float]:
    """To two digits of the width."""
    first, last = (float(round_to_width(end, ends[1] - ends[0])) for end in ends)
    return first, last


def _pictures(
    view: View, features: list[dict[str, Any]], hidden: bool, include_rows: bool
) -> list[Any]:
    """One for each locality, along the columns of numbers that limit it most; None of balls."""
    mixture = view.mixture
    made: list[dict[str, Any] | None] = []
    numeric = {
        group.name: group.columns.start for group in mixture.inputs.groups if group.levels is None
    }
    for i in range(mixture.n_localities):
        locus = mixture.loci[i]
        if locus.norm != "euclidean" or locus.radius <= 0 or are_balls(mixture, [i]):
            made.append(None)
            continue
        extents = [one for one in extents_of(mixture, i, view.encoded) if one.name in numeric]
        limiting = [one for one in extents if one.text] or extents
        shown = [numeric[one.name] for one in limiting[:2]]
        shown = [j for j in shown if np.ptp(view.encoded[:, j]) > 0]
        drawn = _picture(view, i, sorted(shown), features, hidden) if shown else None
        if drawn is not None:
            axes = [drawn["x"], drawn["y"]] if len(shown) == 2 else [drawn["x"]]
            drawn["density"] = density_of(view, sorted(shown), axes, include_rows)
        made.append(drawn)
    return made


def _picture(
    view: View, i: int, shown: list[int], features: list[dict[str, Any]], hidden: bool
) -> dict[str, Any] | None:
    """Through the middle of a locality; None where nothing of it is there."""
    mixture = view.mixture
    low, high = view.encoded.min(axis=0), view.encoded.max(axis=0)
    base = np.clip(mixture.localities[i].center, low, high)
    for group in mixture.inputs.groups:
        if group.levels is not None and set(looks_at(mixture, i)) & set(_columns(group)):
            base[group.columns] = _nearest_level(mixture, i, group)
    points = _POINTS if len(shown) == 2 else _LINE
    drawn = draw_along(mixture, base, shown, ranges_of(view, features, [i]), hidden, points)
    own = mixture.region_name(i)
    if not any(one["name"] == own for one in drawn["circles"]):
        return None
    others = sorted(set(looks_at(mixture, i)) - set(shown))
    held = [mixture.inputs.names[j] for j in others]
    rest = columns_beside(mixture, [*shown, *others])
    return {**drawn, "name": own, "held": held, "rest": rest}


def _columns(group: Any) -> range:
    return range(group.columns.start, group.columns.stop)


def _nearest_level(mixture: Mixture, i: int, group: Any) -> Array:
    """The encoded level that is nearest to the center of a locality."""
    locality = mixture.localities[i]
    assert locality.half_width is not None
    levels = np.eye(len(group.levels))[:, 1:]
    gap = (levels - locality.center[group.columns]) / locality.half_width[group.columns]
    return np.asarray(levels[int((gap**2).sum(axis=1).argmin())])


def draw_along(
    mixture: Mixture,
    base: Array,
    shown: list[int],
    ranges: dict[str, tuple[float, float]],
    hidden: bool,
    points: int,
) -> dict[str, Any]:
    """Answers along one or two columns, the others held, and where the localities lie there."""
    axes = []
    for j in shown:
        low, high = ranges[mixture.inputs.names[j]]
        margin = 0.05 * (high - low)
        axes.append(np.linspace(low - margin, high + margin, points))
    grid = np.tile(base, (points ** len(shown), 1))
    if len(shown) == 2:
        grid[:, shown] = np.column_stack([np.repeat(axes[0], points), np.tile(axes[1], points)])
    else:
        grid[:, shown[0]] = axes[0]
    view = mixture.view(grid)
    drawn = {
        "kind": "plane" if len(shown) == 2 else "line",
        "axes": [mixture.inputs.names[j] for j in shown],
        "circles": _cuts(mixture, base, shown, hidden),
        "x": axes[0],
    }
    if len(shown) == 2:
        shade = mixture.target.shade(view.score).reshape(points, points).T
        return {**drawn, "y": axes[1], "z": _rounded(shade)}
    return {**drawn, "lines": _lines(view)}


def _lines(view: View) -> list[dict[str, Any]]:
    """Predictions along a column, and those of the exterior model; or probabilities of labels."""
    target = view.mixture.target
    if target.classes is None:
        lines = [("", view.answer)]
        if view.mixture.n_localities:
            lines.append(("exterior", target.answer(view.scores[-1])))
        return [{"label": name, "y": _rounded(values)} for name, values in lines]
    if len(target.classes) > _LABELS:
        return []
    chances = view.probabilities
    shown = range(1, 2) if len(target.classes) == 2 else range(len(target.classes))
    return [{"label": target.classes[k], "y": _rounded(chances[:, k])} for k in shown]


def _cuts(mixture: Mixture, base: Array, shown: list[int], hidden: bool) -> list[dict[str, Any]]:
    """Centers and half-widths of the localities where the picture cuts them; to two digits of the
    width where a center may not be told.
    """
    circles = []
    place = mixture.inputs.standardize(base[None])[0]
    inverse = mixture.inputs.units.inverse_scale[shown]
    for i, locus in enumerate(mixture.loci):
        half = locus.cut(shown, place) if locus.radius > 0 else None
        if half is None or np.isinf(half).all():
            continue
        width = np.divide(half, inverse, out=half.copy(), where=np.isfinite(half))
        center = np.array(mixture.localities[i].center[shown])
        if hidden:
            for k in np.flatnonzero(np.isfinite(width)):
                center[k] = float(round_to_width(center[k], width[k]))
                width[k] = float(round_to_width(width[k], width[k]))
        circles.append({"name": mixture.region_name(i), "center": center, "width": width})
    return circles


def _rounded(values: AnyArray) -> list[Any]:
    """To the digits that a picture shows, which makes the page small."""
    numbers = np.asarray(values)
    if numbers.dtype.kind in "iub":
        return list(numbers.tolist())
    flat = [float(f"{one:.5g}") for one in numbers.ravel().tolist()]
    return list(np.array(flat).reshape(numbers.shape).tolist())
