"""A model as one SQL expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array
from ..errors import ExportError
from ..geometry import Locus
from ..inputs import Group
from ..routine import Curve, Routine
from ._common import is_shared, routine_of
from ._dialects import Dialect, dialect_of

__all__ = ["LONGEST", "to_sql"]

_NOWHERE = 1e200  # the distance, or its square, of a row that lacks a value
LONGEST = 900_000  # characters; SQLite takes a million
_NORMS = ("euclidean", "manhattan", "quadratic")
_SHORTEST_LINE = 24  # characters of a curve between two knots, at least


def to_sql(model: Any, dialect: str = "ansi") -> str:
    """One SQL expression of the table's columns whose value is the prediction; NULL where a column
    is NULL that had no missing values in fit, or holds a category that the model refuses. Of
    several classes, any two are compared, so that the length grows with the square of their number.
    With a log link it calls EXP, which SQLite has from version 3.35 on, if it was built with the
    functions of mathematics.

    Parameters
    ----------
    model : fitted estimator or Mixture
    dialect : {"ansi", "postgres", "sqlite", "duckdb", "mysql", "bigquery", "snowflake", "tsql", \
"spark", "databricks"}, default="ansi"
        Of which database; "ansi" is standard SQL. It decides how names and texts are quoted (a
        backslash in a text means itself in some databases, and begins an escape in others), what a
        double is called, and how text is compared where the case would be ignored otherwise.

    Returns
    -------
    str

    Raises
    ------
    ExportError
        If a name or a category cannot be written, or the expression would be too long.
    """
    writer = _Writer(routine_of(model, _NORMS, "SQL"), dialect_of(dialect))
    text = writer.expression()
    _check_length(len(text))
    return text


def _check_length(length: int, bound: str = "") -> None:
    if length > LONGEST:
        raise ExportError(
            f"the expression would have {bound}{length} characters, more than the {LONGEST} that"
            " databases take: the model has too many columns, categories or labels for its number"
            " of localities.",
            "Use to_python or to_onnx, or fewer localities.",
        )


@dataclass(frozen=True)
class _Writer:
    """Writes a routine in a dialect."""

    routine: Routine
    dialect: Dialect

    def expression(self) -> str:
        """The prediction, or NULL."""
        refused = [text for group in self.routine.groups for text in self._refusals(group)]
        if not refused:
            return self._answer()
        return f"CASE WHEN {' OR '.join(refused)} THEN NULL ELSE {self._answer()} END"

    def _refusals(self, group: Group) -> list[str]:
        """When there is no prediction because of a column."""
        known = group.incomplete or None in (group.levels or ())
        refusals = [] if known else [self._is_null(group)]
        if _present(group.levels) and self.routine.refuses_unknown:
            assert group.levels is not None
            refusals.append(f"{self._compared(group)} NOT IN ({self._listed(group.levels)})")
        return refusals

    def _is_null(self, group: Group) -> str:
        return f"{self.dialect.identifier(group.name)} IS NULL"

    def _compared(self, group: Group) -> str:
        """A column of categories, to be compared with them."""
        name = self.dialect.identifier(group.name)
        return name if group.levels is None else self.dialect.compared(name, group.levels[0])

    def _listed(self, levels: Sequence[Any]) -> str:
        return ", ".join(map(self.dialect.literal, _present(levels)))

    def _encoded(self, group: Group, j: int) -> str:
        """The value of an encoded column."""
        null = self._is_null(group)
        if group.levels is None and j == group.columns.start:
            value = self.dialect.cast(self.dialect.identifier(group.name))
            if not group.incomplete:
                return value
            return f"COALESCE({value}, {self.dialect.real(self.routine.stand_in[j])})"
        if group.levels is None:
            value = f"CASE WHEN {null} THEN 1.0 ELSE 0.0 END"
            return self.dialect.cast(value) if self.dialect.casts else value
        name, level = self._compared(group), group.levels[1 + j - group.columns.start]
        same = null if level is None else f"{name} = {self.dialect.literal(level)}"
        value = f"CASE WHEN {same} THEN 1.0"
        if self.routine.refuses_unknown:
            value += " ELSE 0.0 END"
        else:
            others = [one for one in group.levels if one != level]
            some = f"{name} IN ({self._listed(others)})"
            some += f" OR {null}" if None in others else ""
            typical = self.dialect.real(self.routine.typical[j])
            value += f" WHEN {some} THEN 0.0 ELSE {typical} END"
        return self.dialect.cast(value) if self.dialect.casts else value

    def _standardize(self) -> dict[int, str]:
        """What each encoded column is written as."""
        routine, real = self.routine, self.dialect.real
        return {
            j: (
                f"(({self._encoded(group, j)} - {real(routine.origin[j])}) *"
                f" {real(routine.factor[j])})"
            )
            for group in routine.groups
            for j in range(group.columns.start, group.columns.stop)
        }

    def _distance(self, locus: Locus, z: dict[int, str]) -> str:
        """Distance from a locus, or its square where it is a root."""
        real = self.dialect.real
        gaps = [
            f"({z[int(j)]} - {real(center)})"
            for j, center in zip(locus.columns, locus.center, strict=True)
        ]
        if locus.norm == "quadratic":
            matrix = np.asarray(locus.matrix)
            both = np.triu(matrix) + np.triu(matrix.T, 1)  # each product of two gaps once
            terms = [
                f"{real(both[j, k])} * {gaps[j]} * {gaps[k]}" for j, k in np.argwhere(both != 0.0)
            ]
        else:
            root = locus.norm == "euclidean"
            terms = [f"{gap} * {gap}" if root else f"ABS({gap})" for gap in gaps]
            if locus.weight is not None:
                weights = [real(weight) for weight in locus.weight]
                terms = [f"{one} * {term}" for one, term in zip(weights, terms, strict=True)]
        return "(" + " + ".join(terms or ["0.0"]) + ")"

    def _distances(self, z: dict[int, str]) -> tuple[list[str], list[str]]:
        """Distances and radii; the squares of all of them, which compare alike, if some are
        roots.
        """
        routine = self.routine
        squared = any(norm != "manhattan" for norm in routine.norms)
        distances = [self._distance(locus, z) for locus in routine.loci]
        if squared:
            distances = [
                f"({text} * {text})" if locus.norm == "manhattan" else text
                for text, locus in zip(distances, routine.loci, strict=True)
            ]
        distances = [
            self._unless_null(text, routine.holes(locus))
            for text, locus in zip(distances, routine.loci, strict=True)
        ]
        reach = routine.radius * np.abs(routine.radius) if squared else routine.radius
        return distances, [self.dialect.real(value) for value in reach]

    def _unless_null(self, distance: str, holes: Sequence[Group]) -> str:
        """A distance, or that of a row that lacks a value of some columns."""
        if not holes:
            return distance
        lacks, far = " OR ".join(map(self._is_null, holes)), self.dialect.real(_NOWHERE)
        return f"(CASE WHEN {lacks} THEN {far} ELSE {distance} END)"

    def _linear(self, coef: Array, intercept: float, z: dict[int, str]) -> str:
        real = self.dialect.real
        terms = [f"{real(coef[j])} * {z[int(j)]}" for j in np.flatnonzero(coef)]
        return "(" + " + ".join([real(intercept), *terms]) + ")"

    def _curve(self, curve: Curve, values: Array) -> str:
        """Lines between values at the knots of a column, and beyond these the first and the last
        one.
        """
        real, knots = self.dialect.real, curve.knots
        [group] = [one for one in self.routine.groups if one.columns.start == curve.column]
        x = self._encoded(group, curve.column)
        lines = [
            f"WHEN {x} <= {real(knots[k + 1])} THEN {real(values[k])} + {real(step)} *"
            f" (({x} - {real(knots[k])}) / {real(knots[k + 1] - knots[k])})"
            for k, step in enumerate(np.diff(values))
        ]
        first = f"WHEN {x} <= {real(knots[0])} THEN {real(values[0])}"
        return f"CASE {' '.join([first, *lines])} ELSE {real(values[-1])} END"

    def _add_curves(self, text: str, values: Sequence[Array]) -> str:
        """What is written already, plus the curves with these values, except where they are 0; no
        values add none.
        """
        pairs = zip(self.routine.curves, values, strict=False)
        curves = [self._curve(one, points) for one, points in pairs if points.any()]
        return f"({' + '.join([text, *curves])})" if curves else text

    @property
    def _shares_curves(self) -> bool:
        """Whether there are curves, and all models have the same: they are written once."""
        return bool(self.routine.curves) and all(map(is_shared, self.routine.curves))

    def _values(self, i: int) -> list[Array]:
        """Of the curves, for one model."""
        return [one.values[i] for one in self.routine.curves]

    def _score(self) -> str:
        """The score of the answer."""
        routine, z = self.routine, self._standardize()
        scores = [
            self._linear(coef, intercept, z)
            for coef, intercept in zip(routine.coef, routine.intercept, strict=True)
        ]
        if self._shares_curves:
            return self._add_curves(self._choose(scores, z), self._values(-1))
        return self._choose(
            [self._add_curves(text, self._values(i)) for i, text in enumerate(scores)], z
        )

    def _choose(self, scores: Sequence[str], z: dict[int, str]) -> str:
        """The score of the model used, or the mean of several."""
        away, reach = self._distances(z)
        if not away:
            return scores[0]
        nearest = self.routine.overlap == "nearest" or len(away) == 1
        return (_nearest if nearest else _mean)(scores, away, reach)

    def _leads(
        self, coef: Array, intercept: Array, curves: Sequence[Array], z: dict[int, str]
    ) -> list[list[str]]:
        """Of one model, by how much the score of each class exceeds that of each later one."""
        count = len(intercept)
        return [
            [
                self._add_curves(
                    self._linear(coef[k] - coef[j], intercept[k] - intercept[j], z),
                    [one[k] - one[j] for one in curves],
                )
                for j in range(k + 1, count)
            ]
            for k in range(count - 1)
        ]

    def _check_leads(self, z: dict[int, str]) -> None:
        """Before they are written, since their number is the square of that of the classes."""
        routine, shortest = self.routine, min(map(len, z.values()), default=0)
        terms = sum(
            np.count_nonzero(coef[k] - coef[k + 1 :])
            for coef in routine.coef
            for k in range(len(coef))
        )
        models, count = routine.intercept.shape
        curves = sum(len(one.knots) for one in routine.curves) * count * (count - 1) // 2
        curves *= 1 if self._shares_curves else models
        _check_length(int(terms) * shortest + curves * _SHORTEST_LINE, "at least ")

    def _first(self, leads: Sequence[Sequence[str]]) -> str:
        """The label that no later one exceeds: the first of the largest scores."""
        *labels, last = map(self.dialect.literal, self.routine.answer.classes or ())
        branches = [
            f"WHEN {' AND '.join(f'{lead} >= 0' for lead in over_later)} THEN {label}"
            for label, over_later in zip(labels, leads, strict=True)
        ]
        return f"CASE {' '.join(branches)} ELSE {last} END"

    def _add_to_all(
        self, leads: Sequence[Sequence[Sequence[str]]], z: dict[int, str]
    ) -> list[list[str]]:
        """The leads of the answer, from those of the models and the curves that these share."""
        values = self._values(-1)
        return [
            [
                self._add_curves(
                    self._choose(of_models, z), [one[k] - one[k + 1 + m] for one in values]
                )
                for m, of_models in enumerate(zip(*over_later, strict=True))
            ]
            for k, over_later in enumerate(zip(*leads, strict=True))
        ]

    def _largest(self) -> str:
        """The label of the largest score of the answer.

        Scores are compared by their differences, which are linear, too: half as long.
        """
        routine, z = self.routine, self._standardize()
        self._check_leads(z)
        shared = self._shares_curves
        leads = [
            self._leads(coef, intercept, [] if shared else self._values(i), z)
            for i, (coef, intercept) in enumerate(zip(routine.coef, routine.intercept, strict=True))
        ]
        if shared:
            return self._first(self._add_to_all(leads, z))
        labels = [self._first(one) for one in leads]
        away, reach = self._distances(z)
        if not away:
            return labels[0]
        if routine.overlap == "nearest" or len(away) == 1:
            return _nearest(labels, away, reach)
        inside = [f"{one} <= {radius}" for one, radius in zip(away, reach, strict=True)]
        total = [
            [f"({_total(inside, each)})" for each in zip(*of_class, strict=True)]
            for of_class in zip(*leads[:-1], strict=True)
        ]
        return f"CASE WHEN {' OR '.join(inside)} THEN {self._first(total)} ELSE {labels[-1]} END"

    def _answer(self) -> str:
        if self.routine.answer.link == "largest":
            return self._largest()
        score, answer, real = self._score(), self.routine.answer, self.dialect.real
        if answer.link == "sign" and answer.classes is not None:
            negative, positive = map(self.dialect.literal, answer.classes)
            return f"CASE WHEN {score} > 0 THEN {positive} ELSE {negative} END"
        value = f"{score} * {real(answer.scale)} + {real(answer.center)}"
        value = self.dialect.cast(value) if self.dialect.casts else value
        return value if answer.link == "identity" else f"EXP({value})"


def _present(levels: Sequence[Any] | None) -> list[Any]:
    """Levels that are not missing values."""
    return [one for one in levels or () if one is not None]


def _nearest(scores: Sequence[str], away: Sequence[str], reach: Sequence[str]) -> str:
    """The score of the nearest locality that contains a row, or of the exterior."""
    n, branches = len(away), []
    for i in range(n):
        rivals = [
            f"({away[j]} > {reach[j]} OR {away[i]} {'<' if j < i else '<='} {away[j]})"
            for j in range(n)
            if j != i
        ]
        branches.append(
            f"WHEN {' AND '.join([f'{away[i]} <= {reach[i]}', *rivals])} THEN {scores[i]}"
        )
    return f"CASE {' '.join(branches)} ELSE {scores[n]} END"


def _mean(scores: Sequence[str], away: Sequence[str], reach: Sequence[str]) -> str:
    """The mean score of the localities that contain a row, or the score of the exterior."""
    n = len(away)
    inside = [f"{away[i]} <= {reach[i]}" for i in range(n)]
    total = _total(inside, scores[:n])
    count = " + ".join(f"CASE WHEN {one} THEN 1.0 ELSE 0.0 END" for one in inside)
    return f"CASE WHEN {' OR '.join(inside)} THEN ({total}) / ({count}) ELSE {scores[n]} END"


def _total(inside: Sequence[str], values: Sequence[str]) -> str:
    """The sum of those values whose locality contains a row."""
    pairs = zip(inside, values, strict=True)
    return " + ".join(f"CASE WHEN {one} THEN {value} ELSE 0.0 END" for one, value in pairs)
