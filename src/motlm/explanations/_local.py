"""Each row: which localities contain it, what each model says, which one spoke and why, and what
each feature contributed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from .._typing import AnyArray, Array, Integers
from ..estimators import LocalMixture, LocalMixtureClassifier
from ._common import (
    Seen,
    checked,
    groups_of,
    html_table,
    number,
    one_row,
    plain,
    region_name,
    said_by,
    table_of,
    values_of,
)

__all__ = ["LocalExplanation", "RowExplanation", "explain_local"]

_BLOCK = 1024  # rows whose distances to the training rows are held at once


@dataclass(frozen=True, eq=False)
class RowExplanation:
    """Why the model says what it says of one row.

    For a classifier a score is a linear score, positive for the second label; for a regressor it is
    a prediction.

    Attributes
    ----------
    row : int
        Its place in the table.
    values : dict
        Of each feature.
    prediction, score
        What the model says, and the score behind it.
    speaker, speaker_name : int, str
        Index of the locality that spoke (n for the exterior, -1 for several), and its name.
    reason : str
        Why it spoke.
    models : tuple of dict
        Of each locality and of the exterior: whether it applies, distance, radius, membership,
        score and what it says.
    contradicted : bool
        Whether applicable models contradict each other.
    reference, base : str, float
        What contributions are relative to, and the score there.
    contributions : dict of float
        By feature; ``base`` plus their sum is the score.
    neighbors : tuple of dict
        The nearest training rows for which the same model speaks, if `explain_local` was given
        X_train.

    Examples
    --------
    >>> from motlm import LocalMixtureRegressor
    >>> from motlm.datasets import make_reg_case1
    >>> from motlm.explanations import explain_local
    >>> X, y = make_reg_case1(300, random_state=0)
    >>> mixture = LocalMixtureRegressor(points_of_interest=[[0.0189]], inverse_temperature=16, n_starts=1, random_state=0)
    >>> print(explain_local(mixture.fit(X, y), [[0.5]])[0])  # doctest: +ELLIPSIS
    row 0: 0.2..., said by locality 0 (no other locality contains the row)
        locality 0 says 0.2... (score 0.2...)
        ... at the center of locality 0
        +0.2... x0 = 0.5
        = 0.2...
    """

    row: int
    values: dict[str, Any]
    prediction: Any
    score: float
    speaker: int  # index of the locality that spoke; n for the exterior, -1 for several
    speaker_name: str
    reason: str
    models: tuple[dict[str, Any], ...]  # one for each locality and the exterior
    contradicted: bool
    reference: str  # what contributions are relative to
    base: float  # score there
    contributions: dict[str, float]  # by feature; they add up to score - base
    neighbors: tuple[dict[str, Any], ...]

    def to_dict(self) -> dict[str, Any]:
        return dict(plain({name: getattr(self, name) for name in self.__dataclass_fields__}))

    def to_frame(self) -> Any:
        """A pandas table of the contributions, the largest first."""
        return table_of(self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        order = sorted(self.contributions, key=lambda name: -abs(self.contributions[name]))
        return [
            {"feature": name, "value": self.values[name], "contribution": self.contributions[name]}
            for name in order
        ]

    def __str__(self) -> str:
        lines = [
            f"row {self.row}: {number(self.prediction)}, said by {self.speaker_name}"
            f" ({self.reason})"
        ]
        lines += [
            f"    {one['model']} says {number(one['says'])} (score {number(one['score'])})"
            for one in self.models
            if one["applies"]
        ]
        if self.contradicted:
            lines.append("    applicable models contradict each other")
        lines.append(f"    {number(self.base)} at {self.reference}")
        lines += [
            f"    {entry['contribution']:+.4g} {entry['feature']} = {number(entry['value'])}"
            for entry in self._rows()
            if entry["contribution"] != 0.0
        ]
        lines.append(f"    = {number(self.score)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        first, *_ = str(self).splitlines()
        warning = (
            "<p><b>Applicable models contradict each other.</b></p>" if self.contradicted else ""
        )
        return (
            f"<p>{escape(first)}</p>{warning}{html_table(list(self.models))}<p>Score"
            f" {escape(number(self.base))} at {escape(self.reference)},"
            f" and</p>{html_table(self._rows())}"
        )


@dataclass(frozen=True, eq=False)
class LocalExplanation:
    """Explanations of rows; `explanation[i]` is that of row i. Made by `explain_local`.

    Attributes
    ----------
    feature_names : tuple of str
        The user's own columns.
    values : dict of ndarray
        The values of each feature.
    prediction, score, base : ndarray, (n_rows,)
        What the model says of each row, the score behind it, and the score at the place that
        contributions are relative to.
    contributions : ndarray, (n_rows, n_features)
    contradicted : ndarray of bool, (n_rows,)
        Whether applicable models contradict each other.
    radius : ndarray, (n_localities,)
    classes : ndarray or None
        The labels of a classifier.
    reference : tuple of str
        For each model, what its contributions are relative to.
    nearest, nearest_distance : ndarray, (n_rows, n_neighbors), or None
        Indices and distances of training rows for which the same model speaks; -1 and nan where
        there are no more.

    Examples
    --------
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.datasets import make_clf_case2
    >>> from motlm.explanations import explain_local
    >>> X, y = make_clf_case2(400, random_state=0)
    >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
    >>> mixture = LocalMixtureClassifier(points_of_interest=points, inverse_temperature=4, n_starts=1, random_state=0)
    >>> model = mixture.fit(X, y)
    >>> explanation = explain_local(model, X[:5])
    >>> len(explanation), explanation.contributions.shape
    (5, (5, 2))
    >>> list(explanation.to_frame().columns[:3])
    ['prediction', 'score', 'speaker']
    """

    feature_names: tuple[str, ...]
    values: dict[str, AnyArray]
    prediction: AnyArray  # (n_rows,)
    score: Array  # (n_rows,)
    base: Array  # (n_rows,)
    contributions: Array  # (n_rows, n_features), of the user's own columns
    seen: Seen
    radius: Array  # (n_localities,)
    contradicted: AnyArray
    classes: AnyArray | None
    reference: tuple[str, ...]  # for each model
    nearest: (
        Integers | None
    )  # (n_rows, n_neighbors), indices of training rows; -1 where there are no more
    nearest_distance: Array | None

    def __len__(self) -> int:
        return len(self.prediction)

    def __iter__(self) -> Iterator[RowExplanation]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, row: int) -> RowExplanation:
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        row = range(len(self))[row]
        seen, n = self.seen, len(self.radius)
        speaker = int(seen.speaker[row])
        applicable = seen.applicable[:, row]
        models = []
        for i in range(n + 1):
            ball = i < n
            models.append(
                {
                    "model": region_name(i, n),
                    "applies": bool(applicable[i]),
                    "distance": float(seen.distance[i, row]) if ball else None,
                    "radius": float(self.radius[i]) if ball else None,
                    "depth": (
                        float(seen.distance[i, row] / self.radius[i])
                        if ball and self.radius[i] > 0
                        else None
                    ),
                    "membership": float(seen.membership[i, row]) if ball else None,
                    "score": float(seen.score[i, row]),
                    "says": self._says(seen.score[i, row]),
                }
            )
        neighbors: tuple[dict[str, Any], ...] = ()
        if self.nearest is not None and self.nearest_distance is not None:
            neighbors = tuple(
                {"row": int(index), "distance": float(distance)}
                for index, distance in zip(
                    self.nearest[row], self.nearest_distance[row], strict=True
                )
                if index >= 0
            )
        return RowExplanation(
            row=row,
            values={name: _item(column[row]) for name, column in self.values.items()},
            prediction=_item(self.prediction[row]),
            score=float(self.score[row]),
            speaker=speaker,
            speaker_name=region_name(speaker, n),
            reason=_reason(int(applicable[:n].sum()), speaker, n),
            models=tuple(models),
            contradicted=bool(self.contradicted[row]),
            reference=self.reference[speaker],
            base=float(self.base[row]),
            contributions={
                name: float(value)
                for name, value in zip(self.feature_names, self.contributions[row], strict=True)
            },
            neighbors=neighbors,
        )

    def _says(self, score: float) -> Any:
        return float(score) if self.classes is None else _item(self.classes[int(score > 0)])

    def to_frame(self) -> Any:
        """A pandas table, one row for each row: what was said, by whom, how deep inside, and the
        contributions.
        """
        lines = []
        n = len(self.radius)
        for i in range(len(self)):
            speaker = int(self.seen.speaker[i])
            ball = 0 <= speaker < n
            lines.append(
                {
                    "prediction": _item(self.prediction[i]),
                    "score": float(self.score[i]),
                    "speaker": region_name(speaker, n),
                    "depth": (
                        float(self.seen.distance[speaker, i] / self.radius[speaker])
                        if ball
                        else None
                    ),
                    "membership": float(self.seen.membership[speaker, i]) if ball else None,
                    "contradicted": bool(self.contradicted[i]),
                    "base": float(self.base[i]),
                    **{
                        f"contribution of {name}": float(v)
                        for name, v in zip(self.feature_names, self.contributions[i], strict=True)
                    },
                }
            )
        return table_of(lines)

    def to_dict(self) -> dict[str, Any]:
        return {"rows": [one.to_dict() for one in self]}

    def __str__(self) -> str:
        return "\n".join(str(one) for one in self)

    def _repr_html_(self) -> str:
        shown = [self[i] for i in range(min(len(self), 5))]
        more = f"<p>.. and {len(self) - len(shown)} more rows</p>" if len(self) > len(shown) else ""
        return "".join(one._repr_html_() for one in shown) + more


def explain_local(
    model: Any, X: Any, *, X_train: Any = None, n_neighbors: int = 3
) -> LocalExplanation:
    """Why the model says what it says of each row.

    The score is explained relative to the center of the locality that spoke (of the exterior model:
    the average training row): the score there, plus coefficient times distance from it for each
    column, is the score. Columns that encode one feature are added up.

    Parameters
    ----------
    model : fitted LocalMixtureClassifier or LocalMixtureRegressor
    X : rows to explain
    X_train : rows, default=None
        If given, the nearest of them for which the same model speaks are named.
    n_neighbors : int, default=3
        How many of them.

    Returns
    -------
    LocalExplanation

    Examples
    --------
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.datasets import make_clf_case2
    >>> from motlm.explanations import explain_local
    >>> X, y = make_clf_case2(400, random_state=0)
    >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
    >>> mixture = LocalMixtureClassifier(points_of_interest=points, inverse_temperature=4, n_starts=1, random_state=0)
    >>> model = mixture.fit(X, y)
    >>> explanation = explain_local(model, [[-1.4, 0.5], [0.0, -1.0]], X_train=X)
    >>> [row.speaker_name for row in explanation], explanation.prediction
    (['locality 0', 'exterior'], array([1., 1.]))
    >>> row = explanation[0]
    >>> row.reason, len(row.neighbors)
    ('no other locality contains the row', 3)

    The contributions add up:

    >>> abs(row.base + sum(row.contributions.values()) - row.score) < 1e-9
    True
    """
    model = checked(model)
    if isinstance(X, Mapping) or getattr(X, "ndim", 2) == 1:  # a row by itself
        X = one_row(model, X)
    seen = Seen.of(model, X)
    n = len(model.localities_)
    coef = np.array([one.coef for one in (*model.localities_, model.exterior_)])
    places = np.array([*(one.center for one in model.localities_), model._typical]).reshape(
        n + 1, -1
    )
    at_places = _at_places(model, places)
    together = np.flatnonzero(seen.speaker < 0)
    speaker = np.where(seen.speaker < 0, n, seen.speaker)
    parts = coef[speaker] * (seen.encoded - places[speaker])  # (n_rows, n_columns)
    base = at_places[speaker]
    for i in together:  # several speak by the mean of their scores
        voices = np.flatnonzero(seen.applicable[:, i])
        parts[i] = (coef[voices] * (seen.encoded[i] - places[voices])).mean(axis=0)
        base[i] = at_places[voices].mean()
    groups = groups_of(model._columns)
    contributions = np.column_stack([parts[:, group.columns].sum(axis=1) for group in groups])
    score = seen.spoken()
    classification = isinstance(model, LocalMixtureClassifier)
    nearest, distance = (
        (None, None) if X_train is None else _neighbors(model, seen, X_train, n_neighbors)
    )
    return LocalExplanation(
        feature_names=tuple(group.name for group in groups),
        values=values_of(model, X),
        prediction=said_by(model, score),
        score=score,
        base=base,
        contributions=contributions,
        seen=seen,
        radius=np.array([one.radius for one in model.localities_]),
        contradicted=seen.contradicted(model),
        classes=model.classes_ if classification else None,
        reference=(
            *(f"the center of locality {i}" for i in range(n)),
            "the average training row",
            "the centers of these localities",
        ),
        nearest=nearest,
        nearest_distance=distance,
    )


def _at_places(model: LocalMixture, places: Array) -> Array:
    """The score of each model at its own place, from standardized numbers, which keep their digits."""
    units, varies, posterior = model._fitted.units, model._fitted.varies, model.posterior_
    Z = units.standardized(places)[:, varies]
    if model._fitted.points is None:
        Z[:-1] = posterior.center
    score = np.einsum("ij,ij->i", posterior.coef, Z) + posterior.intercept
    return np.asarray(score * units.target_scale + units.target_center)


def _neighbors(model: LocalMixture, seen: Seen, X_train: Any, count: int) -> tuple[Integers, Array]:
    """The nearest training rows, in standardized units, for which the same model speaks."""
    train = Seen.of(model, X_train)
    units, varies = model._fitted.units, model._fitted.varies
    Z, T = (units.standardized(one.encoded)[:, varies] for one in (seen, train))
    nearest = np.full((len(Z), count), -1, dtype=np.intp)
    distance = np.full((len(Z), count), np.nan)
    own, others = (_voices(one) for one in (seen, train))
    for voice in np.unique(own, axis=0):
        among = np.flatnonzero((others == voice).all(axis=1))
        asked = np.flatnonzero((own == voice).all(axis=1))
        k = min(count, len(among))
        if k == 0:
            continue
        for start in range(0, len(asked), _BLOCK):
            rows = asked[start : start + _BLOCK]
            squared = (
                (Z[rows] ** 2).sum(axis=1)[:, None]
                + (T[among] ** 2).sum(axis=1)
                - 2.0 * Z[rows] @ T[among].T
            )
            first = np.argsort(squared, axis=1, kind="stable")[:, :k]
            nearest[rows[:, None], np.arange(k)] = among[first]
            distance[rows[:, None], np.arange(k)] = np.sqrt(
                np.maximum(np.take_along_axis(squared, first, axis=1), 0.0)
            )
    return nearest, distance


def _voices(seen: Seen) -> Integers:
    """Who speaks for each row: one model, or where several do, all of them."""
    several = seen.applicable.T.astype(int) * (seen.speaker < 0)[:, None]
    return np.column_stack([seen.speaker, several])


def _reason(containing: int, speaker: int, n: int) -> str:
    if speaker < 0:
        return f"{containing} localities contain the row, and speak by the mean of their scores"
    if speaker == n:
        return "no locality contains the row"
    if containing == 1:
        return "no other locality contains the row"
    return f"the nearest center of the {containing} localities that contain the row"


def _item(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
