"""What all explanations need: the model's columns as the user knows them, its readings of rows, and
plain values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import AnyArray, Array, Booleans, Integers
from ..columns import Columns, columns_of, is_frame
from ..errors import InputError, InputTypeError, MissingPackageError
from ..estimators import LocalMixture, LocalMixtureClassifier
from ..prediction import Routing, mean_model, nearest_model, spoken, spread

__all__ = [
    "Group",
    "Seen",
    "checked",
    "groups_of",
    "html_table",
    "number",
    "one_row",
    "plain",
    "region_name",
    "said_by",
    "table_of",
    "values_of",
]


@dataclass(frozen=True)
class Group:
    """A column of the user's table, and where its encoded columns are."""

    name: str
    columns: slice
    levels: tuple[Any, ...] | None  # None for a numeric column


def groups_of(columns: Columns) -> list[Group]:
    groups, start = [], 0
    for name, levels in zip(columns.names, columns.levels, strict=True):
        width = 1 if levels is None else len(levels) - 1
        groups.append(Group(name, slice(start, start + width), levels))
        start += width
    return groups


def checked(model: Any) -> LocalMixture:
    if not isinstance(model, LocalMixture):
        raise InputTypeError(
            f"explanations are of motlm's estimators; got a {type(model).__name__}. Of a pipeline,"
            " give the last step and the rows as it sees them."
        )
    check_is_fitted(model)
    return model


def region_name(i: int, n: int) -> str:
    if i < 0:
        return "several localities together"
    return f"locality {i}" if i < n else "exterior"


@dataclass(frozen=True)
class Seen:
    """All that the model's parts say of some rows, in the user's units."""

    encoded: Array  # (n_rows, n_columns)
    distance: Array  # (n_localities, n_rows), between standardized rows
    member: Booleans  # (n_localities, n_rows)
    membership: Array  # (n_localities, n_rows), probabilities
    score: Array  # (n_localities + 1, n_rows): linear score, or prediction of a regressor
    speaker: Integers  # (n_rows,)

    overlap: str

    @property
    def routing(self) -> Routing:
        """As predictions see it, with scores in the user's units."""
        return Routing(self.distance, self.member, self.score)

    @property
    def applicable(self) -> Booleans:
        """(n_localities + 1, n_rows)."""
        return self.routing.applicable

    @classmethod
    def of(cls, model: LocalMixture, X: Any) -> Seen:
        encoded = model._encode(X)
        routings = list(model._routings(encoded))
        score = np.concatenate([routing.mean for routing in routings], axis=1)
        if not isinstance(model, LocalMixtureClassifier):
            score = score * model._fitted.units.target_scale + model._fitted.units.target_center
        by = nearest_model if model.overlap == "nearest" else mean_model
        return cls(
            encoded,
            np.concatenate([routing.distance for routing in routings], axis=1),
            np.concatenate([routing.member for routing in routings], axis=1),
            np.concatenate([readings.omega for readings in model._readings(encoded)], axis=1),
            score,
            np.concatenate([by(routing) for routing in routings]),
            model.overlap,
        )

    def spoken(self) -> Array:
        """The score that is said in the end."""
        return spoken(self.routing, self.overlap)

    def contradicted(self, model: LocalMixture) -> Booleans:
        """Rows for which applicable models differ: in the label, or by more than the regressor's
        typical error.
        """
        if isinstance(model, LocalMixtureClassifier):
            return np.asarray(spread(self.routing, (self.score > 0).astype(float)) > 0)
        return np.asarray(spread(self.routing, self.score) > model.residual_scale_)


def said_by(model: LocalMixture, score: Array) -> Any:
    """The labels of scores; a regressor's scores are its predictions."""
    return (
        model.classes_[(score > 0).astype(int)]
        if isinstance(model, LocalMixtureClassifier)
        else score
    )


def values_of(model: LocalMixture, X: Any) -> dict[str, AnyArray]:
    """The user's columns by name."""
    return {
        name: np.asarray(column, dtype=object)
        for name, column in zip(
            model._columns.names,
            columns_of(X if hasattr(X, "columns") else np.asarray(X)),
            strict=True,
        )
    }


def plain(value: Any) -> Any:
    """As JSON can hold it; None for what is not finite."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return str(value)


def number(value: Any, digits: int = 4) -> str:
    """For tables: numbers with some digits, other things as they are."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        return "" if not np.isfinite(value) else f"{value:.{digits}g}"
    return "" if value is None else str(value)


def table_of(rows: list[dict[str, Any]]) -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingPackageError("to_frame needs pandas: pip install pandas") from error
    return pd.DataFrame(rows)


def html_table(rows: list[dict[str, Any]]) -> str:
    """An HTML table with every text escaped."""
    if not rows:
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(number(value))}</td>" for value in row.values()) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def one_row(model: LocalMixture, x: Any) -> Any:
    """A table of one row."""
    names = list(model._columns.names)
    if isinstance(x, Mapping):
        missing = [name for name in names if name not in x]
        if missing:
            raise InputError(
                f"the row has no value for {missing[0]!r}; the columns are"
                f" {', '.join(map(repr, names[:20]))}."
            )
        x = [x[name] for name in names]
    if is_frame(x):
        if len(x) != 1:
            raise InputError(f"one row is explained at a time; got {len(x)}.")
        return x
    values = np.asarray(x, dtype=object)
    if values.ndim == 2 and len(values) == 1:
        values = values[0]
    if values.shape != (len(names),):
        raise InputError(
            f"a row has {len(names)} values, {', '.join(map(repr, names[:20]))}; got an array of"
            f" shape {np.shape(x)}."
        )
    if model._labels is None and not model._columns.has_text:
        return np.asarray(values, dtype=float)[None]
    import pandas as pd

    labels = model._labels if model._labels is not None else list(model.feature_names_in_)
    return pd.DataFrame(
        {label: [value] for label, value in zip(labels, values, strict=True)}, columns=labels
    )
