"""A model as the source of one Python function."""

from __future__ import annotations

import keyword
from typing import Any

import numpy as np

from .._typing import Array
from ..errors import InputError
from ..geometry import Locus
from ..inputs import Group
from ..routine import Answer, Curve, Routine
from ._common import is_shared, routine_of

__all__ = ["to_python"]

_NORMS = ("euclidean", "manhattan", "chebyshev", "quadratic")
_LARGEST_EXPONENT = repr(float(np.log(np.finfo(float).max)))
_PLAIN = {
    "euclidean": "sum(a ** 2 for a in gap) ** 0.5",
    "manhattan": "sum(abs(a) for a in gap)",
    "chebyshev": "max((abs(a) for a in gap), default=0.0)",
}
_WEIGHTED = {
    "euclidean": "sum(w * a ** 2 for w, a in zip({weight}, gap)) ** 0.5",
    "manhattan": "sum(w * abs(a) for w, a in zip({weight}, gap))",
    "chebyshev": "max((w * abs(a) for w, a in zip({weight}, gap)), default=0.0)",
}
# rounding may leave a form of a singular matrix below 0
_QUADRATIC = (
    "max(0.0, sum(a * sum(m * b for m, b in zip(row, gap)) for a, row in zip(gap, {matrix})))"
    " ** 0.5"
)
_ONE_SCORE = (
    "scores = [intercepts[i] + sum(a * b for a, b in zip(coefs[i], x)) for i in used]",
    "score = sum(scores) / len(scores)",
)
_SCORES = (  # one for each class
    "scores = [",
    "    [b + sum(a * c for a, c in zip(coef, x)) for coef, b in zip(coefs[i], intercepts[i])]",
    "    for i in used",
    "]",
    "score = [sum(one) / len(one) for one in zip(*scores)]",
)
_ONE_BEND = (  # of each model
    "intercepts = [b + curve(value, knots, one) for b, one in zip(intercepts, points)]",
)
_BENDS = (  # of each model and class
    "intercepts = [",
    "    [b + curve(value, knots, one) for b, one in zip(*both)]",
    "    for both in zip(intercepts, points)",
    "]",
)
_CURVE = (
    "from bisect import bisect_right",
    "",
    "def curve(at, knots, points):",
    "    # lines between the points at the knots; beyond these the first and the last one",
    "    k = min(max(bisect_right(knots, at), 1), len(knots) - 1)",
    "    share = (at - knots[k - 1]) / (knots[k] - knots[k - 1])",
    "    share = min(max(share, 0.0), 1.0)",
    "    return points[k - 1] * (1.0 - share) + points[k] * share",
    "",
)


def to_python(model: Any, name: str = "predict") -> str:
    """Source of a function of one row, a mapping of column names to values, that returns the
    prediction.

    It needs nothing but Python. A category that the model refuses is a ValueError, and so is a
    missing value (None, or NaN) in a column that had none in fit.

    Parameters
    ----------
    model : fitted estimator or Mixture
    name : str, default="predict"
        Of the function.

    Returns
    -------
    str
    """
    if not name.isidentifier() or keyword.iskeyword(name):
        raise InputError(f"name must be a Python name; got {name!r}.")
    routine = routine_of(model, _NORMS, "Python")
    place = {int(j): k for k, j in enumerate(routine.used)}
    body = list(_CURVE) if routine.curves else []
    body += [f"intercepts = {_floats(routine.intercept)}", "x = []"]
    body += ["missing = set()"] if any(group.incomplete for group in routine.groups) else []
    for group in routine.groups:
        body += _column(routine, group, place)
    body.append("away = []")
    for locus in routine.loci:
        body += _distance(locus, place)
        lacking = sorted(one.name for one in routine.holes(locus))
        if lacking:  # a row that lacks a value is not in the locality
            body += [f"if not missing.isdisjoint({lacking!r}):", "    away[-1] = float('inf')"]
    body += [
        f"radii = {_floats(routine.radius)}",
        f"coefs = {_floats(routine.coef[..., routine.used])}",
        "inside = [i for i, radius in enumerate(radii) if away[i] <= radius]",
        {
            "nearest": "used = [min(inside, key=lambda i: away[i])] if inside else [len(radii)]",
            "mean": "used = inside or [len(radii)]",
        }[routine.overlap],
        *(_ONE_SCORE if routine.intercept.ndim == 1 else _SCORES),
        *_answer(routine.answer),
    ]
    head = [
        f"def {name}(row):",
        '    """Written by motlm; the prediction for one row, a mapping of column names to values.',
        '    """',
    ]
    return "\n".join([*head, *(f"    {line}".rstrip() for line in body)]) + "\n"


def _column(routine: Routine, group: Group, place: dict[int, int]) -> list[str]:
    """Read and check a column, and standardize what it is encoded as."""
    name, start = group.name, group.columns.start
    lines = [f"value = row[{name!r}]"]
    if group.levels is None:
        lines += _checked(routine, group)
        if start in place:
            lines.append(_append(routine, start, "value"))
        if group.indicator is not None and group.indicator in place:
            hot = f"(1.0 if {name!r} in missing else 0.0)"
            lines.append(_append(routine, group.indicator, hot))
        return lines + [
            line for curve in routine.curves if curve.column == start for line in _bend(curve)
        ]
    missing, unknown = f"column {name!r} is missing", f"column {name!r}: unknown category "
    refused = "value = None" if None in group.levels else f"raise ValueError({missing!r})"
    lines += [
        "if value is None or value != value:",
        f"    {refused}",
        f"known = value in {group.levels!r}",
    ]
    if routine.refuses_unknown:
        lines += ["if not known:", f"    raise ValueError({unknown!r} + repr(value))"]
    for j, level in enumerate(group.levels[1:], start):
        if j in place:
            typical = _float(routine.typical[j])
            hot = f"((1.0 if value == {level!r} else 0.0) if known else {typical})"
            lines.append(_append(routine, j, hot))
    return lines


def _checked(routine: Routine, group: Group) -> list[str]:
    """A number, or what stands in for it."""
    wrong = f"column {group.name!r} is missing or infinite"
    if not group.incomplete:
        return [
            "if value is None or value != value or value in (float('inf'), float('-inf')):",
            f"    raise ValueError({wrong!r})",
        ]
    wrong = f"column {group.name!r} is infinite"
    return [
        "if value is None or value != value:",
        f"    missing.add({group.name!r})",
        f"    value = {_float(routine.stand_in[group.columns.start])}",
        "elif value in (float('inf'), float('-inf')):",
        f"    raise ValueError({wrong!r})",
    ]


def _bend(curve: Curve) -> list[str]:
    """Add the curve of a column to the intercepts; written once where all models share it."""
    points = _floats(curve.values)
    if is_shared(curve):
        points = f"[{_floats(curve.values[-1])}] * {len(curve.values)}"
    add = _ONE_BEND if curve.values.ndim == 2 else _BENDS
    return [f"knots = {_floats(curve.knots)}", f"points = {points}", *add]


def _append(routine: Routine, j: int, value: str) -> str:
    return f"x.append(({value} - {_float(routine.origin[j])}) * {_float(routine.factor[j])})"


def _distance(locus: Locus, place: dict[int, int]) -> list[str]:
    gaps = (
        f"x[{place[int(j)]}] - {_float(center)}"
        for j, center in zip(locus.columns, locus.center, strict=True)
    )
    if locus.norm == "quadratic":
        text = _QUADRATIC.format(matrix=_floats(locus.matrix))
    elif locus.weight is None:
        text = _PLAIN[locus.norm]
    else:
        text = _WEIGHTED[locus.norm].format(weight=_floats(locus.weight))
    return [f"gap = [{', '.join(gaps)}]", f"away.append({text})"]


def _answer(answer: Answer) -> list[str]:
    # a scalar of numpy, as an array of objects may hold, would need numpy
    classes = tuple(
        one.item() if isinstance(one, np.generic) else one for one in answer.classes or ()
    )
    if answer.link == "sign":
        return [f"return {classes[1]!r} if score > 0 else {classes[0]!r}"]
    if answer.link == "largest":
        return [f"return {classes!r}[score.index(max(score))]"]
    value = f"score * {_float(answer.scale)} + {_float(answer.center)}"
    if answer.link == "identity":
        return [f"return {value}"]
    return [
        "import math",
        f"value = {value}",
        # where other languages give infinity, math.exp raises an error
        f"return math.exp(value) if value <= {_LARGEST_EXPONENT} else math.inf",
    ]


def _float(value: Any) -> str:
    return repr(float(value))


def _floats(values: Array | None) -> str:
    return repr(np.asarray(values, dtype=float).tolist())
