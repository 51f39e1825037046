"""Formulas as tables: the terms of a model by the user's columns, those with the largest effect
first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from ..bends import interpolate
from ..inputs import Group
from ..localities import LocalModel
from ..mixture import View
from ..tables import item, number

__all__ = ["terms_of"]

_FIRST = 12  # columns that are not folded
_DIGITS = 3  # of a base rate, as in formulas


def terms_of(view: View, i: int) -> dict[str, Any]:
    """Of a model: for each column its coefficient, or one for each category; the mean effect is the
    mean absolute deviation of what the column adds over the rows. Of a correction, also the
    coefficients of the exterior model.
    """
    mixture = view.mixture
    model, local = mixture.models[i], i < mixture.n_localities
    inside = view.applicable[i]
    encoded = view.filled.encoded
    rows = encoded[inside] if inside.any() else encoded
    corrected = local and model.exterior is not None
    groups = [
        _group(group, model, mixture.exterior if corrected else None, rows)
        for group in mixture.inputs.groups
    ]
    groups = [one for one in groups if one["size"] > 0 or one["differs"]]
    groups.sort(key=lambda one: -one["size"])
    most = max((one["size"] for one in groups), default=0.0) or 1.0
    for one in groups:
        one["width"] = round(100 * one["size"] / most, 1)
        one["size"] = number(one["size"], 3)
    scores = list(model.classes) or [None]
    each = [model.of_class(label) for label in model.classes] or [model]
    shown = [one for one in groups if one["differs"]] if corrected else groups
    return {
        "intercept": [number(one.base) for one in each],
        "intercept_scale": number(float(model.intercept_scale), 2),
        "scores": scores,
        "base": None if model.reference is None else number(model.base, _DIGITS),
        "corrected": corrected,
        "has_values": any(
            one["curved"] or any(line["level"] for line in one["lines"]) for one in groups
        ),
        "first": shown[:_FIRST],
        "more": shown[_FIRST:],
        "same": [one for one in groups if one not in shown],
        "left_out": len(mixture.inputs.groups) - len(groups),
        "curved": any(one["curved"] for one in groups),
    }


def _group(
    group: Group, model: LocalModel, exterior: LocalModel | None, rows: Array
) -> dict[str, Any]:
    """One of the user's columns."""
    columns = range(group.columns.start, group.columns.stop)
    coef = np.atleast_2d(model.coef)[:, group.columns]  # (n_scores, n_columns)
    added = rows[:, group.columns] @ coef.T  # (n_rows, n_scores)
    curved = False
    for shape in model.shapes:
        if group.levels is None and shape.column == group.columns.start and shape.values.any():
            values = np.atleast_2d(shape.values)
            added = added + interpolate(shape.knots, values.T, rows[:, shape.column])
            curved = True
    added = added[np.isfinite(added).all(axis=1)]
    size = float(np.abs(added - added.mean(axis=0)).mean(axis=0).max()) if len(added) else 0.0
    other = None if exterior is None else np.atleast_2d(exterior.coef)[:, group.columns]
    factors = {} if model.reference is None else {row["column"]: row for row in model.factors()}
    lines = []
    if group.levels is not None:
        lines.append({"level": _told(group.levels[0]), "reference": True})
    for k, j in enumerate(columns):
        told = not (curved and k == 0) or exterior is not None  # a curve is not a coefficient
        lines.append(
            {
                "level": _level(group, k),
                "values": [number(float(value)) if told else "" for value in coef[:, k]],
                **_factor(factors.get(model.feature_names[j]), curved),
                "everywhere": [] if other is None else [number(float(v)) for v in other[:, k]],
                "scale": number(float(model.coef_scale[j]), 2) if told else "",
            }
        )
    return {
        "name": group.name,
        "size": size,
        "curved": curved,
        "differs": other is not None
        and (not np.array_equal(other, coef) or _bends_differ(model, exterior, group)),
        "lines": lines,
    }


def _factor(row: dict[str, Any] | None, curved: bool) -> dict[str, str]:
    """As formulas of rates have it: "x 1.3 per 10", and the number at which there is no factor."""
    if row is None:
        return {"factor": "" if curved else "x 1", "at": ""}
    at = "" if row["reference"] is None else number(row["reference"])
    return {"factor": row.get("text", ""), "at": at}


def _bends_differ(model: LocalModel, exterior: LocalModel | None, group: Group) -> bool:
    """Whether the curves of a column differ."""
    own, other = (
        [one.values for one in each.shapes if one.column == group.columns.start]
        for each in (model, exterior or model)
    )
    return len(own) != len(other) or not all(map(np.array_equal, own, other))


def _level(group: Group, k: int) -> str:
    """What an encoded column tells: a category, or that a number is missing; a number itself has no
    name.
    """
    if group.levels is None:
        return "is missing" if k else ""
    return _told(group.levels[k + 1])


def _told(level: Any) -> str:
    return "missing" if level is None else str(item(level))
