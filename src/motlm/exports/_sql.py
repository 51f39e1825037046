"""A model as one SQL expression."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ExportError
from ..geometry import Locus
from ..inputs import Group
from ..routine import Routine
from ._common import routine_of

__all__ = ["LONGEST", "to_sql"]

LONGEST = 900_000  # characters; SQLite takes a million
_NORMS = ("euclidean", "manhattan", "quadratic")


def to_sql(model: Any) -> str:
    """One standard SQL expression of the table's columns whose value is the prediction; NULL where
    a column is NULL, or holds a category that the model refuses. With a log link it calls EXP,
    which SQLite has from version 3.35 on, if it was built with the functions of mathematics.

    Parameters
    ----------
    model : fitted estimator or Mixture

    Returns
    -------
    str
    """
    routine = routine_of(model, _NORMS, "SQL")
    refused = [text for group in routine.groups for text in _refusals(routine, group)]
    text = f"CASE WHEN {' OR '.join(refused)} THEN NULL ELSE {_answer(routine)} END"
    if len(text) > LONGEST:
        raise ExportError(
            f"the expression would have {len(text)} characters, more than the {LONGEST} that"
            " databases take: the model has too many columns or categories for its number of"
            " localities.",
            "Use to_python or to_onnx, or fewer localities.",
        )
    return text


def _refusals(routine: Routine, group: Group) -> list[str]:
    """When there is no prediction because of a column."""
    name = _identifier(group.name)
    refusals = [f"{name} IS NULL"]
    if group.levels is not None and routine.refuses_unknown:
        refusals.append(f"{name} NOT IN ({', '.join(map(_literal, group.levels))})")
    return refusals


def _standardize(routine: Routine) -> dict[int, str]:
    """What each encoded column is written as."""
    z = {}
    for group in routine.groups:
        name = _identifier(group.name)
        for j in range(group.columns.start, group.columns.stop):
            if group.levels is None:
                value = f"CAST({name} AS DOUBLE PRECISION)"
            else:
                level = group.levels[1 + j - group.columns.start]
                value = f"CASE WHEN {name} = {_literal(level)} THEN 1.0"
                if routine.refuses_unknown:
                    value += " ELSE 0.0 END"
                else:
                    others = ", ".join(_literal(one) for one in group.levels if one != level)
                    typical = _number(routine.typical[j])
                    value += f" WHEN {name} IN ({others}) THEN 0.0 ELSE {typical} END"
            z[j] = f"(({value} - {_number(routine.origin[j])}) * {_number(routine.factor[j])})"
    return z


def _distance(locus: Locus, z: dict[int, str]) -> str:
    """Distance from a locus, or its square where it is a root."""
    gaps = [
        f"({z[int(j)]} - {_number(center)})"
        for j, center in zip(locus.columns, locus.center, strict=True)
    ]
    if locus.norm == "quadratic":
        matrix = np.asarray(locus.matrix)
        both = np.triu(matrix) + np.triu(matrix.T, 1)  # each product of two gaps once
        terms = [
            f"{_number(both[j, k])} * {gaps[j]} * {gaps[k]}" for j, k in np.argwhere(both != 0.0)
        ]
    else:
        root = locus.norm == "euclidean"
        terms = [f"{gap} * {gap}" if root else f"ABS({gap})" for gap in gaps]
        if locus.weight is not None:
            weights = [_number(weight) for weight in locus.weight]
            terms = [f"{one} * {term}" for one, term in zip(weights, terms, strict=True)]
    return "(" + " + ".join(terms or ["0.0"]) + ")"


def _distances(routine: Routine, z: dict[int, str]) -> tuple[list[str], list[str]]:
    """Distances and radii; the squares of all of them, which compare alike, if some are roots."""
    squared = any(norm != "manhattan" for norm in routine.norms)
    distances = [_distance(locus, z) for locus in routine.loci]
    if squared:
        distances = [
            f"({text} * {text})" if locus.norm == "manhattan" else text
            for text, locus in zip(distances, routine.loci, strict=True)
        ]
    reach = routine.radius * np.abs(routine.radius) if squared else routine.radius
    return distances, [_number(value) for value in reach]


def _score(routine: Routine, z: dict[int, str]) -> str:
    """The score of the answer."""
    scores = []
    for coef, intercept in zip(routine.coef, routine.intercept, strict=True):
        terms = [f"{_number(coef[j])} * {z[int(j)]}" for j in np.flatnonzero(coef)]
        scores.append("(" + " + ".join([_number(intercept), *terms]) + ")")
    away, reach = _distances(routine, z)
    n = len(away)
    if n == 0:
        return scores[0]
    inside = [f"{away[i]} <= {reach[i]}" for i in range(n)]
    if routine.overlap == "nearest" or n == 1:
        branches = []
        for i in range(n):
            rivals = [
                f"({away[j]} > {reach[j]} OR {away[i]} {'<' if j < i else '<='} {away[j]})"
                for j in range(n)
                if j != i
            ]
            branches.append(f"WHEN {' AND '.join([inside[i], *rivals])} THEN {scores[i]}")
        return f"CASE {' '.join(branches)} ELSE {scores[n]} END"
    total = " + ".join(f"CASE WHEN {inside[i]} THEN {scores[i]} ELSE 0.0 END" for i in range(n))
    count = " + ".join(f"CASE WHEN {one} THEN 1.0 ELSE 0.0 END" for one in inside)
    return f"CASE WHEN {' OR '.join(inside)} THEN ({total}) / ({count}) ELSE {scores[n]} END"


def _answer(routine: Routine) -> str:
    score, answer = _score(routine, _standardize(routine)), routine.answer
    if answer.link == "sign" and answer.classes is not None:
        negative, positive = map(_literal, answer.classes)
        return f"CASE WHEN {score} > 0 THEN {positive} ELSE {negative} END"
    value = f"{score} * {_number(answer.scale)} + {_number(answer.center)}"
    return value if answer.link == "identity" else f"EXP({value})"


def _number(value: Any) -> str:
    """A double; negative ones in brackets."""
    text = repr(float(value))
    if "e" not in text:
        text += "e0"  # approximate, not decimal, in standard SQL
    return f"({text})" if text.startswith("-") else text


def _identifier(name: str) -> str:
    if "\0" in name:
        raise ExportError(f"the column {name!r} cannot be named in SQL.")
    return '"' + name.replace('"', '""') + '"'


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float)):
        return repr(value)
    return "'" + str(value).replace("'", "''") + "'"
