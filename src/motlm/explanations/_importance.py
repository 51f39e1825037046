"""How much each of the user's columns matters: how far what it adds to the score is from its mean,
on average over the rows of a model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array
from ..errors import InputError
from ..pipelines import subject_of
from ..tables import Entry, html_table, item, number, plain, table_of
from ._contributions import parts_of

__all__ = ["Importance", "importance"]

_SHOWN = 10  # columns that texts list


@dataclass(frozen=True, eq=False)
class Importance:
    """How much each column matters, over all rows and over those of each model. Made by
    `importance`.

    Attributes
    ----------
    feature_names : tuple of str
        The user's own columns.
    overall : ndarray, (n_features,)
        Over all rows: the mean of those of the models, by their numbers of rows.
    names : tuple of str
        Of the models: "locality 0" and so on, and "exterior"; "the model" without localities.
    by_model : ndarray, (n_models, n_features)
        Over the rows for which each model is used; nan where there are none.
    n_rows : tuple of int
        How many these are.
    score_label : str
        Of what these are parts: "score", "score of" a label, or "prediction" where it is that.
    link : str
        From score to prediction: "sign", "largest", "identity" or "log".

    Examples
    --------
    >>> import numpy as np
    >>> from motlm import LocalMixtureRegressor
    >>> from motlm.explanations import importance
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
    >>> model = LocalMixtureRegressor(0, random_state=0).fit(X, 3 * X[:, 0] - X[:, 1])
    >>> found = importance(model, X)
    >>> found.order, found.overall.round(1)
    (('x0', 'x1'), array([1.5, 0.5]))
    >>> list(found.to_frame().columns)
    ['column', 'all rows', 'the model']
    """

    feature_names: tuple[str, ...]
    overall: Array
    names: tuple[str, ...]
    by_model: Array
    n_rows: tuple[int, ...]
    score_label: str
    link: str

    @property
    def order(self) -> tuple[str, ...]:
        """The columns, the most important first."""
        return tuple(self.feature_names[j] for j in self._order())

    def _order(self) -> list[int]:
        return [int(j) for j in np.argsort(-self.overall, kind="stable")]

    def rows(self) -> list[dict[str, Any]]:
        """One entry for each column, the most important first."""
        return [
            Entry(
                {
                    "column": self.feature_names[j],
                    "all rows": float(self.overall[j]),
                    **dict(zip(self.names, self.by_model[:, j].tolist(), strict=True)),
                }
            )
            for j in self._order()
        ]

    def to_frame(self) -> Any:
        """A pandas table, one row for each column."""
        return table_of(self.rows())

    def to_dict(self) -> dict[str, Any]:
        return {
            "columns": plain(self.rows()),
            "rows": dict(zip(self.names, self.n_rows, strict=True)),
        }

    def __str__(self) -> str:
        shown = self._order()[:_SHOWN]
        told = [f"{self.feature_names[j]} {number(self.overall[j])}" for j in shown]
        more = len(self.feature_names) - len(shown)
        return ", ".join([*told, *([f".. and {more} more"] if more else [])])

    def _repr_html_(self) -> str:
        return html_table(self.rows())


def importance(model: Any, X: Any, *, label: Any = None) -> Importance:
    """How much each column matters: the mean, over rows, of how far what the column adds to the
    score is from its own mean over the rows for which the same model is used.

    It is told for each model, and over all rows. What a locality adds to all of its rows alike is
    no part of a column. What a column
    adds is its coefficient times its value, or its curve, with all columns that encode a category
    added up; so linear and additive models are measured alike. Of a model of rates it is a part of
    the logarithm: exp(0.2) = 1.22 is a factor by which rates differ on average.

    Parameters
    ----------
    model : fitted LocalMixtureClassifier or LocalMixtureRegressor, or its `mixture_`
    X : rows
    label : default=None
        Of three classes or more: the one whose score it is. None is the mean over all classes, of
        their scores less the mean of all scores.

    Returns
    -------
    Importance

    Examples
    --------
    In the locality, the second column matters:

    >>> import numpy as np
    >>> from motlm import LocalMixtureRegressor
    >>> from motlm.explanations import importance
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(1000, 2))
    >>> y = X[:, 0] ** 2 + np.where(X[:, 0] > 0.5, 2 * X[:, 1], 0)
    >>> options = {"local_models": "additive", "corrections": "all", "random_state": 0}
    >>> model = LocalMixtureRegressor(1, **options).fit(X, y)
    >>> found = importance(model, X)
    >>> within, outside = found.by_model
    >>> found.names, bool(within[1] > 0.9), bool(outside[1] < 0.1)
    (('locality 0', 'exterior'), True, True)
    """
    subject = subject_of(model)
    mixture, X = subject.mixture, subject.table(X)
    known = mixture.exterior.classes
    if label is not None and label not in known:
        raise InputError(
            f"label must be one of the labels {list(map(item, known))}; got {item(label)!r}."
            if known
            else "label is for three classes or more; this model has one score."
        )
    encoded = mixture.encode(X)
    if not len(encoded):
        raise InputError("importance is a mean over rows; X is empty.")
    each, models = [], []
    for view in mixture.views(encoded):
        parts = parts_of(view)
        if known and label is None:
            parts = parts - parts.mean(axis=1, keepdims=True)
        elif known:
            parts = parts[:, [known.index(label)]]
        each.append(parts if known else parts[:, None])
        models.append(view.used)
    # (n_rows, n_scores, n_encoded), and of the user's columns
    parts, used = np.concatenate(each), np.concatenate(models)
    gathered = mixture.inputs.contributions(parts)
    if subject.traced:
        gathered = subject.gather(gathered)
    n = mixture.n_localities
    found = [used == i for i in np.unique(used)]  # several together are one
    overall = sum(rows.mean() * _spread(gathered[rows]) for rows in found)
    return Importance(
        feature_names=subject.names if subject.traced else mixture.inputs.term_names,
        overall=np.asarray(overall),
        names=tuple(mixture.region_name(i) for i in range(n + 1)),
        by_model=np.array([_spread(gathered[used == i]) for i in range(n + 1)]),
        n_rows=tuple(int((used == i).sum()) for i in range(n + 1)),
        score_label=mixture.target.score_label if label is None else f"score of {label}",
        link=mixture.target.describe().link,
    )


def _spread(parts: Array) -> Array:
    """(n_features,): mean distance from the mean over rows; of several scores their mean."""
    if not len(parts):
        return np.full(parts.shape[-1], np.nan)
    return np.asarray(np.abs(parts - parts.mean(axis=0)).mean(axis=(0, 1)))
