"""Each row: which localities contain it, the answer of each model, which model is used and why,
and what each feature contributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from .._renamed import warn_of
from .._typing import AnyArray, Array, Booleans, Integers
from ..mixture import View, mixture_of
from ..tables import (
    Entry,
    html_table,
    item,
    number,
    one_row,
    plain,
    table_of,
    values_of,
)
from ._contributions import nearest_rows, split_scores

__all__ = ["LocalExplanation", "RowExplanation", "explain_local"]


@dataclass(frozen=True, eq=False)
class RowExplanation:
    """Why the model answers what it answers for one row.

    For a classifier a score is a linear score, positive for the second label; for a regressor it is
    the prediction, or its logarithm with a log link. Contributions add up to the score; of a model
    of rates their exponentials are factors, and texts show these.

    Attributes
    ----------
    row : int
        Its place in the table.
    values : dict
        Of each feature.
    prediction, score
        The answer, and the score behind it.
    model_used, model_name : int, str
        Index of the model used (that of its locality, n for the exterior, -1 for several), and its
        name.
    reason : str
        Why it is used.
    models : tuple of dict
        Of each locality and of the exterior: whether it applies, distance, radius, depth (distance
        / radius), membership, score and answer.
    contradicted : bool
        Whether applicable models contradict each other.
    reference, base : str, float
        What contributions are relative to, and the score there.
    contributions : dict of float
        By feature; ``base`` plus their sum is the score, not always the prediction.
    score_label : str
        What a score is called: "score", or "prediction" where it is the prediction.
    link : str
        From score to prediction: "sign", "identity" or "log".
    factors : dict of float
        Of a model of rates, by feature: the prediction is ``exp(base)`` times all of them. Else
        empty.
    neighbors : tuple of dict
        The nearest training rows for which the same model is used, if `explain_local` was given
        X_train.

    Examples
    --------
    >>> from motlm import LocalMixtureRegressor
    >>> from motlm.datasets import make_reg_case1
    >>> from motlm.explanations import explain_local
    >>> X, y = make_reg_case1(300, random_state=0)
    >>> model = LocalMixtureRegressor(
    ...     points_of_interest=[[0.0189]], inverse_temperature=16, n_starts=1, random_state=0
    ... ).fit(X, y)
    >>> print(explain_local(model, [[0.5]])[0])  # doctest: +ELLIPSIS
    row 0: 0.2..., decided by locality 0 (no other locality contains the row)
        locality 0 gives 0.2...
        ... at the center of locality 0
        +0.2... x0 = 0.5
        = 0.2...
    """

    row: int
    values: dict[str, Any]
    prediction: Any
    score: float
    model_used: int  # index of its locality; n for the exterior, -1 for several
    model_name: str
    reason: str
    models: tuple[dict[str, Any], ...]  # one for each locality and the exterior
    contradicted: bool
    reference: str  # what contributions are relative to
    base: float  # score there
    contributions: dict[str, float]  # by feature; they add up to score - base
    neighbors: tuple[dict[str, Any], ...]
    score_label: str = "score"
    link: str = "identity"

    @property
    def factors(self) -> dict[str, float]:
        """By feature, of a model of rates; else empty."""
        if self.link != "log":
            return {}
        return {name: _exp(value) for name, value in self.contributions.items()}

    @property
    def speaker(self) -> int:
        """Deprecated: `model_used`."""
        warn_of("RowExplanation.speaker", "model_used")
        return self.model_used

    @property
    def speaker_name(self) -> str:
        """Deprecated: `model_name`."""
        warn_of("RowExplanation.speaker_name", "model_name")
        return self.model_name

    @property
    def neighbours(self) -> tuple[dict[str, Any], ...]:
        """Deprecated: `neighbors`."""
        warn_of("RowExplanation.neighbours", "neighbors")
        return self.neighbors

    def to_dict(self) -> dict[str, Any]:
        return dict(plain({name: getattr(self, name) for name in self.__dataclass_fields__}))

    def to_frame(self) -> Any:
        """A pandas table of the contributions, the largest first."""
        return table_of(self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        order = sorted(self.contributions, key=lambda name: -abs(self.contributions[name]))
        factors = self.factors
        return [
            {
                "feature": name,
                "value": self.values[name],
                "contribution": self.contributions[name],
                **({"factor": factors[name]} if factors else {}),
            }
            for name in order
        ]

    @property
    def decided_by(self) -> str:
        """`model_name` in a sentence: "locality 0", or "the exterior model"."""
        return _in_a_sentence(self.model_name)

    @property
    def _headline(self) -> str:
        decided = f"decided by {self.decided_by} ({self.reason})"
        return f"row {self.row}: {number(self.prediction)}, {decided}"

    def __str__(self) -> str:
        lines = [self._headline]
        lines += [f"    {self._gives(one)}" for one in self.models if one["applies"]]
        if self.contradicted:
            lines.append("    applicable models contradict each other")
        lines.append(f"    {number(self._shown(self.base))} at {self.reference}")
        lines += [f"    {_term(one)}" for one in self._rows() if one["contribution"] != 0.0]
        same = self.link == "log" or self.prediction == self.score
        end = "" if same else f", the {self.score_label}"
        lines.append(f"    = {number(self._shown(self.score))}{end}")
        return "\n".join(lines)

    def _shown(self, score: float) -> float:
        """A score as texts show it: of rates, the rate."""
        return _exp(score) if self.link == "log" else score

    def _gives(self, model: Mapping[str, Any]) -> str:
        """What a model that applies gives: its answer, and the score if texts show that."""
        text = f"{_in_a_sentence(model['model'])} gives {number(model['answer'])}"
        if self.link == "log" or model["answer"] == model["score"]:
            return text
        return f"{text} (score {number(model['score'])})"

    def _repr_html_(self) -> str:
        warning = (
            "<p><b>Applicable models contradict each other.</b></p>" if self.contradicted else ""
        )
        label = "prediction" if self.link == "log" else self.score_label
        return (
            f"<p>{escape(self._headline)}</p>{warning}{html_table(list(self.models))}"
            f"<p>{escape(label.capitalize())} {escape(number(self._shown(self.base)))} at"
            f" {escape(self.reference)}, and</p>{html_table(self._rows())}"
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
        The answer for each row, the score behind it, and the score at the place that contributions
        are relative to.
    contributions : ndarray, (n_rows, n_features)
    view : View
        Distances, memberships, scores of all models and the model used, as `Mixture.view` gives
        them.
    contradicted : ndarray of bool, (n_rows,)
        Whether applicable models contradict each other.
    radius : ndarray, (n_localities,)
    classes : ndarray or None
        The labels of a classifier.
    reference : tuple of str
        For each model, what its contributions are relative to.
    nearest, nearest_distance : ndarray, (n_rows, n_neighbors), or None
        Indices and distances of training rows for which the same model is used; -1 and nan where
        there are no more.

    Examples
    --------
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.datasets import make_clf_case2
    >>> from motlm.explanations import explain_local
    >>> X, y = make_clf_case2(400, random_state=0)
    >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
    >>> model = LocalMixtureClassifier(
    ...     points_of_interest=points, inverse_temperature=4, n_starts=1, random_state=0
    ... ).fit(X, y)
    >>> explanation = explain_local(model, X[:5])
    >>> len(explanation), explanation.contributions.shape
    (5, (5, 2))
    >>> list(explanation.to_frame().columns[:3])
    ['prediction', 'score', 'model']
    """

    feature_names: tuple[str, ...]
    values: dict[str, AnyArray]
    base: Array  # (n_rows,)
    contributions: Array  # (n_rows, n_features), of the user's own columns
    view: View
    reference: tuple[str, ...]  # for each model; the last is for several together
    nearest: Integers | None  # (n_rows, n_neighbors), of the training rows; -1: there are no more
    nearest_distance: Array | None

    @cached_property
    def prediction(self) -> AnyArray:
        """(n_rows,): labels, or predictions of a regression."""
        return self.view.answer

    @property
    def score(self) -> Array:
        """(n_rows,): the score behind each answer."""
        return self.view.score

    @cached_property
    def contradicted(self) -> Booleans:
        """(n_rows,): whether applicable models contradict each other."""
        return self.view.contradicted

    @property
    def radius(self) -> Array:
        """(n_localities,): between standardized rows."""
        return self.view.mixture.geometry.radius

    @property
    def classes(self) -> AnyArray | None:
        """The labels of a classification."""
        return self.view.mixture.target.classes

    @property
    def seen(self) -> View:
        """Deprecated: `view`."""
        warn_of("LocalExplanation.seen", "view")
        return self.view

    def __len__(self) -> int:
        return len(self.view)

    def __iter__(self) -> Iterator[RowExplanation]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, row: int) -> RowExplanation:
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        row = range(len(self))[row]
        view, mixture = self.view, self.view.mixture
        used, n = int(view.used[row]), mixture.n_localities
        contributions = zip(self.feature_names, self.contributions[row].tolist(), strict=True)
        return RowExplanation(
            row=row,
            values={name: item(column[row]) for name, column in self.values.items()},
            prediction=item(self.prediction[row]),
            score=float(self.score[row]),
            model_used=used,
            model_name=mixture.region_name(used),
            reason=_reason(int(view.member[:, row].sum()), used, n),
            models=tuple(self._model(i, row) for i in range(n + 1)),
            contradicted=bool(self.contradicted[row]),
            reference=self.reference[used],
            base=float(self.base[row]),
            contributions=dict(contributions),
            neighbors=self._neighbors(row),
            score_label=mixture.target.score_label,
            link=mixture.target.describe().link,
        )

    def _model(self, i: int, row: int) -> Entry:
        """What one model gives for a row."""
        view, mixture = self.view, self.view.mixture
        local = i < mixture.n_localities
        score = view.scores[i, row]
        return Entry(
            {
                "model": mixture.region_name(i),
                "applies": bool(view.applicable[i, row]),
                "distance": float(view.distance[i, row]) if local else None,
                "radius": float(self.radius[i]) if local else None,
                "depth": self._depth(i, row),
                "membership": float(view.membership[i, row]) if local else None,
                "score": float(score),
                "answer": item(mixture.target.answer(np.array([score]))[0]),
            }
        )

    def _depth(self, i: int, row: int) -> float | None:
        """Distance / radius, of a locality that contains rows."""
        if not 0 <= i < len(self.radius) or self.radius[i] <= 0:
            return None
        return float(self.view.distance[i, row] / self.radius[i])

    def _neighbors(self, row: int) -> tuple[dict[str, Any], ...]:
        if self.nearest is None or self.nearest_distance is None:
            return ()
        found = zip(self.nearest[row].tolist(), self.nearest_distance[row].tolist(), strict=True)
        return tuple({"row": index, "distance": away} for index, away in found if index >= 0)

    def to_frame(self) -> Any:
        """A pandas table, one line for each row: the answer, the model used, how deep inside its
        locality the row lies, and the contributions.
        """
        view, lines = self.view, []
        for row in range(len(self)):
            used = int(view.used[row])
            local = 0 <= used < len(self.radius)
            contributions = zip(self.feature_names, self.contributions[row].tolist(), strict=True)
            lines.append(
                {
                    "prediction": item(self.prediction[row]),
                    "score": float(self.score[row]),
                    "model": view.mixture.region_name(used),
                    "depth": self._depth(used, row),
                    "membership": float(view.membership[used, row]) if local else None,
                    "contradicted": bool(self.contradicted[row]),
                    "base": float(self.base[row]),
                    **{f"contribution of {name}": value for name, value in contributions},
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
    model: Any,
    X: Any,
    *,
    X_train: Any = None,
    n_neighbors: int = 3,
    n_neighbours: int | None = None,
) -> LocalExplanation:
    """Why the model answers what it answers for each row.

    The score is explained relative to the center of the locality used (of the exterior model: the
    average training row): the score there, plus coefficient times distance from it for each column,
    is the score (whose exponential is the prediction, with a log link). Columns that encode one
    feature are added up.

    Parameters
    ----------
    model : fitted LocalMixtureClassifier or LocalMixtureRegressor, or its `mixture_`
    X : rows to explain
    X_train : rows, default=None
        If given, the nearest of them for which the same model is used are listed.
    n_neighbors : int, default=3
        How many of them.
    n_neighbours : int, default=None
        Deprecated: `n_neighbors`.

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
    >>> model = LocalMixtureClassifier(
    ...     points_of_interest=points, inverse_temperature=4, n_starts=1, random_state=0
    ... ).fit(X, y)
    >>> explanation = explain_local(model, [[-1.4, 0.5], [0.0, -1.0]], X_train=X)
    >>> [row.model_name for row in explanation], explanation.prediction
    (['locality 0', 'exterior'], array([1., 1.]))
    >>> row = explanation[0]
    >>> row.reason, len(row.neighbors)
    ('no other locality contains the row', 3)

    The contributions add up:

    >>> abs(row.base + sum(row.contributions.values()) - row.score) < 1e-9
    True
    """
    mixture = mixture_of(model)
    if n_neighbours is not None:
        warn_of("explain_local(n_neighbours=)", "n_neighbors")
        n_neighbors = n_neighbours
    if isinstance(X, Mapping) or getattr(X, "ndim", 2) == 1:  # a row by itself
        X = one_row(mixture, X)
    view = mixture.view(mixture.encode(X))
    base, parts = split_scores(view)
    nearest, distance = None, None
    if X_train is not None:
        train = mixture.view(mixture.encode(X_train, "X_train"))
        nearest, distance = nearest_rows(view, train, n_neighbors)
    return LocalExplanation(
        feature_names=mixture.inputs.columns.names,
        values=values_of(mixture, X),
        base=base,
        contributions=mixture.inputs.contributions(parts),
        view=view,
        reference=(
            *(f"the center of locality {i}" for i in range(mixture.n_localities)),
            "the average training row",
            "the centers of these localities",
        ),
        nearest=nearest,
        nearest_distance=distance,
    )


def _reason(containing: int, used: int, n: int) -> str:
    if used < 0:
        return "several localities contain the row; the mean of their scores is used"
    if used == n:
        return "no locality contains the row"
    if containing == 1:
        return "no other locality contains the row"
    return f"its center is the nearest of the {containing} localities that contain the row"


def _in_a_sentence(name: str) -> str:
    return "the exterior model" if name == "exterior" else name


def _term(entry: Mapping[str, Any]) -> str:
    """What a feature adds to the score, or multiplies the rate by."""
    value = f"{entry['feature']} = {number(entry['value'])}"
    if "factor" in entry:
        return f"x {number(entry['factor'])} for {value}"
    return f"{entry['contribution']:+.4g} {value}"


def _exp(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(value))
