"""From a table of texts to rows, outcomes and a split.

What a column holds, what stands in for a missing value and which task it is, is decided by the rows
to fit on alone; the sealed rows are read by that. Otherwise their certificate would be void.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from .._typing import AnyArray, Integers
from ..certificates import split
from ..columns import Columns
from ._tables import TableError, is_missing, numbers_of, scorable, typed, words_of

__all__ = ["Prepared", "column_of", "outcomes", "prepared"]

_DATE = re.compile(
    r"^(\d{4}-\d{1,2}-\d{1,2}([ T]\d{1,2}:\d{2}.*)?|\d{1,2}[./]\d{1,2}[./](\d{2}|\d{4})("
    r" \d{1,2}:\d{2}.*)?)$"
)
_MANY = 20  # categories that are never too many
_NEARLY = (
    0.9  # a column with more numbers than that, but not only numbers, is thought to be a mistake
)


@dataclass(frozen=True)
class Prepared:
    """Rows as a model takes them, which of them are sealed, and what was decided on the way, in
    words.
    """

    columns: Columns
    rows: pd.DataFrame
    outcome: AnyArray
    weight: AnyArray | None
    fill: dict[str, float | str]  # what stands in for missing values
    first: Integers  # rows to fit on
    sealed: Integers
    classification: bool
    told: list[str]


def prepared(
    text: pd.DataFrame,
    target: str,
    *,
    others: Sequence[str],  # columns that are not features
    weights: str | None,
    categories: Sequence[str],
    missing: str,  # "error", "drop" or "impute"
    task: str,  # "auto", "classification" or "regression"
    sealed: float,
    seed: int,
) -> Prepared:
    told = []
    gone = is_missing(column_of(text, target, "--target"))
    if gone.all():
        raise TableError(f"no row has a {target!r}.")
    if gone.any():
        told.append(f"{int(gone.sum())} rows without a {target!r} left out")
        text = text[~gone]
    features = text.drop(columns=list({target, *others, *([] if weights is None else [weights])}))
    if features.shape[1] == 0:
        raise TableError("no column is left to predict from.")
    holes = features.apply(is_missing)
    if missing != "impute" and holes.to_numpy().any():
        features = _without_holes(features, holes, missing)
        told.append(f"{len(text) - len(features)} rows with missing values left out")
        text = text.loc[features.index]
    first, held = split(len(text), sealed, seed)
    known = typed(features.iloc[first], categories)
    columns, fill = _columns(known, categories), _fill(known) if missing == "impute" else {}
    counts = holes.loc[features.index].sum()
    for name, count in counts[counts > 0].items():
        value = fill[str(name)]
        told.append(
            f"{count} missing values of {name!r} replaced by"
            f" {f'{value:.6g}' if isinstance(value, float) else repr(value)}"
        )
    read = scorable(columns, features, False, fill)
    bad = np.flatnonzero(read.reason != "")
    if len(bad):
        raise TableError(
            f"row {features.index[bad[0]]}: {read.reason[bad[0]]}, as the other rows have there;"
            " mend it, leave it empty to have it missing, --drop the column, or name it in"
            " --categories."
        )
    told += [f"  {name}: {words}" for name, words in words_of(known)]
    y = typed(text[[target]].iloc[first])[target]
    classification = _is_classification(y, task)
    if classification and _is_number(y) and (y != np.rint(y)).any():
        y = (
            text[target].iloc[first].astype(str).str.strip()
        )  # classes are no measures: 1.5 and 2.5 are names
    told.append(f"{'classification' if classification else 'regression'} of {target!r}")
    outcome = outcomes(text[target], np.unique(_labels(y)) if classification else None)
    weight = None if weights is None else _weights(text[weights])
    return Prepared(columns, read.rows, outcome, weight, fill, first, held, classification, told)


def column_of(frame: pd.DataFrame, name: str, option: str) -> pd.Series:
    if name not in frame.columns:
        raise TableError(
            f"{option} {name!r} is not a column; the columns are"
            f" {', '.join(map(str, frame.columns[:30]))}."
        )
    return frame[name]


def outcomes(column: pd.Series, classes: AnyArray | None) -> AnyArray:
    """A target column as a model has it: one of its classes, or numbers where it has none."""
    text = column.astype(str).str.strip()

    def refuse(bad: AnyArray, words: str) -> None:
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise TableError(f"row {text.index[row]}: {words.format(text.iloc[row][:40])}.")

    refuse(is_missing(text).to_numpy(), f"no {column.name!r} there; leave such rows out")
    numbers = np.asarray(numbers_of(text), dtype=float)
    if classes is None:
        refuse(np.isnan(numbers), f"{column.name!r} is {{!r}}, which is not a number")
        return numbers
    if classes.dtype.kind in "biuf":
        place = {float(label): k for k, label in enumerate(classes.tolist())}
        found = np.array([place.get(value, -1) for value in numbers.tolist()])
    else:
        by_text = {str(label): k for k, label in enumerate(classes.tolist())}
        found = np.array([by_text.get(value, -1) for value in text])
    refuse(
        found < 0,
        f"{column.name!r} is {{!r}}, which is not one of the labels"
        f" {', '.join(map(str, classes.tolist()))}",
    )
    return np.asarray(classes[found])


def _without_holes(features: pd.DataFrame, holes: pd.DataFrame, missing: str) -> pd.DataFrame:
    rows, where = holes.any(axis=1), holes.columns[holes.any()].tolist()
    if missing == "error":
        raise TableError(
            f"{int(rows.sum())} of {len(features)} rows have missing values, in"
            f" {', '.join(map(repr, where[:5]))}{', ..' if len(where) > 5 else ''}. Say what to do"
            " with --missing drop or --missing impute, or --drop the columns."
        )
    if rows.all():
        raise TableError("no row without missing values is left.")
    return features[~rows]


def _columns(known: pd.DataFrame, categories: Sequence[str]) -> Columns:
    """What each column holds: numbers, or some levels."""
    levels: list[tuple[str, ...] | None] = []
    for name in known.columns:
        column = known[name].dropna()
        if column.empty:
            raise TableError(f"column {name!r} has no value in the rows to fit on; --drop it.")
        if column.dtype == float:
            levels.append(None)
            continue
        strange = numbers_of(column).isna()
        if name not in categories and _NEARLY < 1.0 - float(strange.mean()) < 1.0:
            raise TableError(
                f"column {name!r} holds numbers, but for {int(strange.sum())} values such as"
                f" {column[strange].iloc[0]!r} in row {column.index[strange][0]}; mend them, leave"
                " them empty to have them missing, or name the column in --categories."
            )
        if name not in categories:
            _refuse_odd(str(name), column)
        levels.append(tuple(sorted(set(column))))
    return Columns(tuple(map(str, known.columns)), tuple(levels))


def _refuse_odd(name: str, column: pd.Series) -> None:
    """Dates, identifiers and numbers with units would be thousands of categories."""
    do = "--drop it, name it in --categories if these are kinds of cases, or"
    if column.str.match(_DATE).mean() > _NEARLY:
        raise TableError(
            f"column {name!r} holds dates, such as {column.iloc[0]!r}; {do} make it a number (days"
            " since a date, say)."
        )
    count = column.nunique()
    if count > _MANY and count > len(column) / 2:
        raise TableError(
            f"column {name!r} has {count} different texts in {len(column)} rows, such as"
            f" {column.iloc[0]!r}; {do} write it as plain numbers if it is one (1234.5), or name it"
            " in --id if it names the rows."
        )


def _fill(known: pd.DataFrame) -> dict[str, float | str]:
    """Median, or the most frequent category."""
    return {
        str(name): (
            float(known[name].median())
            if known[name].dtype == float
            else str(known[name].mode().iloc[0])
        )
        for name in known.columns
    }


def _is_number(y: pd.Series) -> bool:
    return bool(y.dtype == float)


def _labels(y: pd.Series) -> AnyArray:
    """Texts as they are, numbers as whole ones."""
    return np.asarray(y, dtype=float).astype(int) if _is_number(y) else np.asarray(y, dtype=str)


def _is_classification(y: pd.Series, task: str) -> bool:
    count = y.nunique()
    if count < 2:
        raise TableError(
            f"the target {y.name!r} has one value only, {str(y.iloc[0])!r}, in the rows to fit on."
        )
    if task == "auto":
        task = "classification" if count == 2 or not _is_number(y) else "regression"
    if task == "classification" and count > 2:
        raise TableError(
            f"the target {y.name!r} has {count} classes, and motlm knows two. Make it two (one"
            " against the others), or say --task regression if it is a number."
        )
    if task == "regression" and not _is_number(y):
        raise TableError(f"the target {y.name!r} is not a number, so that it is no regression.")
    return task == "classification"


def _weights(column: pd.Series) -> AnyArray:
    values = np.asarray(numbers_of(column.astype(str)), dtype=float)
    bad = ~(values >= 0)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise TableError(
            f"row {column.index[row]}: the weight {column.iloc[row]!r} is not a number that is 0 or"
            " more."
        )
    return values
