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
from ..routine import Routine
from ._common import routine_of
from ._dialects import Dialect, dialect_of

__all__ = ["LONGEST", "to_sql"]

LONGEST = 900_000  # characters; SQLite takes a million
_NORMS = ("euclidean", "manhattan", "quadratic")


def to_sql(model: Any, dialect: str = "ansi") -> str:
    """One SQL expression of the table's columns whose value is the prediction; NULL where a column
    is NULL, or holds a category that the model refuses. Of several classes, any two are compared,
    so that the length grows with the square of their number. With a log link it calls EXP, which
    SQLite has from version 3.35 on, if it was built with the functions of mathematics.

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
        return f"CASE WHEN {' OR '.join(refused)} THEN NULL ELSE {self._answer()} END"

    def _refusals(self, group: Group) -> list[str]:
        """When there is no prediction because of a column."""
        name = self.dialect.identifier(group.name)
        refusals = [f"{name} IS NULL"]
        if group.levels is not None and self.routine.refuses_unknown:
            refusals.append(f"{self._compared(group)} NOT IN ({self._listed(group.levels)})")
        return refusals

    def _compared(self, group: Group) -> str:
        """A column of categories, to be compared with them."""
        name = self.dialect.identifier(group.name)
        return name if group.levels is None else self.dialect.compared(name, group.levels[0])

    def _listed(self, levels: Sequence[Any]) -> str:
        return ", ".join(map(self.dialect.literal, levels))

    def _encoded(self, group: Group, j: int) -> str:
        """The value of an encoded column."""
        if group.levels is None:
            return self.dialect.cast(self.dialect.identifier(group.name))
        name, level = self._compared(group), group.levels[1 + j - group.columns.start]
        value = f"CASE WHEN {name} = {self.dialect.literal(level)} THEN 1.0"
        if self.routine.refuses_unknown:
            value += " ELSE 0.0 END"
        else:
            others = self._listed([one for one in group.levels if one != level])
            typical = self.dialect.real(self.routine.typical[j])
            value += f" WHEN {name} IN ({others}) THEN 0.0 ELSE {typical} END"
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
        reach = routine.radius * np.abs(routine.radius) if squared else routine.radius
        return distances, [self.dialect.real(value) for value in reach]

    def _linear(self, coef: Array, intercept: float, z: dict[int, str]) -> str:
        real = self.dialect.real
        terms = [f"{real(coef[j])} * {z[int(j)]}" for j in np.flatnonzero(coef)]
        return "(" + " + ".join([real(intercept), *terms]) + ")"

    def _score(self) -> str:
        """The score of the answer."""
        routine, z = self.routine, self._standardize()
        scores = [
            self._linear(coef, intercept, z)
            for coef, intercept in zip(routine.coef, routine.intercept, strict=True)
        ]
        away, reach = self._distances(z)
        if not away:
            return scores[0]
        choose = _nearest if routine.overlap == "nearest" or len(away) == 1 else _mean
        return choose(scores, away, reach)

    def _leads(self, coef: Array, intercept: Array, z: dict[int, str]) -> list[list[str]]:
        """Of one model, by how much the score of each class exceeds that of each later one."""
        count = len(intercept)
        return [
            [
                self._linear(coef[k] - coef[j], intercept[k] - intercept[j], z)
                for j in range(k + 1, count)
            ]
            for k in range(count - 1)
        ]

    def _check_leads(self, z: dict[int, str]) -> None:
        """Before they are written, since their number is the square of that of the classes."""
        terms = sum(
            np.count_nonzero(coef[k] - coef[k + 1 :])
            for coef in self.routine.coef
            for k in range(len(coef))
        )
        _check_length(int(terms) * min(map(len, z.values()), default=0), "at least ")

    def _first(self, leads: Sequence[Sequence[str]]) -> str:
        """The label that no later one exceeds: the first of the largest scores."""
        *labels, last = map(self.dialect.literal, self.routine.answer.classes or ())
        branches = [
            f"WHEN {' AND '.join(f'{lead} >= 0' for lead in over_later)} THEN {label}"
            for label, over_later in zip(labels, leads, strict=True)
        ]
        return f"CASE {' '.join(branches)} ELSE {last} END"

    def _largest(self) -> str:
        """The label of the largest score of the answer.

        Scores are compared by their differences, which are linear, too: half as long.
        """
        routine, z = self.routine, self._standardize()
        self._check_leads(z)
        leads = [
            self._leads(coef, intercept, z)
            for coef, intercept in zip(routine.coef, routine.intercept, strict=True)
        ]
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
