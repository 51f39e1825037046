"""Each row: which localities contain it, the answer of each model, which model is used and why,
and what each feature contributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .._renamed import warn_of
from .._typing import AnyArray, Array, Booleans, Integers
from ..frames import is_missing
from ..mixture import Mixture, View
from ..pipelines import Subject, subject_of
from ..tables import Entry, decode, item, number, one_row, table_of, values_of
from ._contributions import nearest_rows, split_scores
from ._row import ClassScore, RowExplanation

__all__ = ["LocalExplanation", "explain_local"]

_JOINT = 3  # values of a term of several columns that are shown


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
        are relative to. Of several classes scores and bases are (n_rows, n_classes).
    contributions : ndarray, (n_rows, n_features)
        Of several classes (n_rows, n_classes, n_features); with the bases they add up to the
        scores.
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
    reference_values : tuple of dict
        For each model, the values of that row; empty for a model from an older file.
    nearest, nearest_distance : ndarray, (n_rows, n_neighbors), or None
        Indices and distances of training rows for which the same model is used; -1 and nan where
        there are no more.
    identical : ndarray of int, (n_rows,), or None
        The training row with the same values, which is left out of the nearest; -1: there is none.
    train_values : dict of ndarray
        The values of each feature of the rows that were given as X_train.
    note : str
        Of a pipeline: which columns are not the table's own; else empty.
    stand_ins : dict
        Of a pipeline: what a step puts in place of the missing values of a column.

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

    Of three classes or more each has a score, to which the features contribute:

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LocalMixtureClassifier(0, inverse_temperature=2, random_state=0).fit(X, y)
    >>> explanation = explain_local(model, X[:5])
    >>> explanation.score.shape, explanation.contributions.shape
    ((5, 3), (5, 3, 4))
    """

    feature_names: tuple[str, ...]
    values: dict[str, AnyArray]
    base: Array  # (n_rows,), or (n_rows, n_classes)
    # of the user's own columns: (n_rows, n_features), or (n_rows, n_classes, n_features)
    contributions: Array
    view: View
    reference: tuple[str, ...]  # for each model; the last is for several together
    nearest: Integers | None  # (n_rows, n_neighbors), of the training rows; -1: there are no more
    nearest_distance: Array | None
    reference_values: tuple[dict[str, Any], ...] = ()
    train_values: dict[str, AnyArray] = field(default_factory=dict)
    note: str = ""
    stand_ins: dict[str, Any] = field(default_factory=dict)
    identical: Integers | None = None

    @cached_property
    def prediction(self) -> AnyArray:
        """(n_rows,): labels, or predictions of a regression."""
        return self.view.answer

    @property
    def score(self) -> Array:
        """(n_rows,): the score behind each answer; (n_rows, n_classes) of several classes."""
        return self.view.score.T

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
        answer = item(self.prediction[row])
        parts = self._class_scores(row, answer)
        return RowExplanation(
            row=row,
            values={name: item(column[row]) for name, column in self.values.items()},
            prediction=answer,
            score=parts[answer].score,
            model_used=used,
            model_name=mixture.region_name(used),
            reason=_reason(int(view.member[:, row].sum()), used, n) + self._lacks(row),
            models=tuple(self._model(i, row) for i in range(n + 1)),
            contradicted=bool(self.contradicted[row]),
            reference=self.reference[used],
            reference_values=self.reference_values[used] if self.reference_values else {},
            base=parts[answer].base,
            contributions=dict(parts[answer].contributions),
            neighbors=self._neighbors(row),
            score_label=mixture.target.score_label,
            link=mixture.target.describe().link,
            by_class=parts if self._labels else {},
            where=mixture.localities[used].where if 0 <= used < n else "",
            note=self.note,
            missing=self._missing(row),
            identical=self._identical(row),
            probability=self._probability(row),
            positive=self._positive,
        )

    def _identical(self, row: int) -> int | None:
        found = -1 if self.identical is None else int(self.identical[row])
        return None if found < 0 else found

    @property
    def _positive(self) -> Any:
        """The label that a positive score means; None where a score has no such meaning."""
        answer = self.view.mixture.target.describe()
        return answer.classes[1] if answer.link == "sign" and answer.classes else None

    @cached_property
    def _shares(self) -> Array:
        return self.view.probabilities

    def _probability(self, row: int) -> float | None:
        """Of the prediction; None of a regressor."""
        if self.classes is None:
            return None
        return float(self._shares[row, int(np.searchsorted(self.classes, self.prediction[row]))])

    def _missing(self, row: int) -> dict[str, Any]:
        """The features that are missing, and what stands in for each; None of a category, which
        has a level for that, or is taken as the training average.
        """
        inputs, encoded = self.view.mixture.inputs, self.view.encoded[row]
        found: dict[str, Any] = {}
        for group in inputs.groups:
            j = group.columns.start
            if group.levels is None and np.isnan(encoded[j]):
                found[group.name] = float(inputs.stand_in[j])
            elif group.levels is not None and is_missing(self.values[group.name][row : row + 1])[0]:
                found[group.name] = None
        for name, column in self.values.items():  # what the steps of a pipeline fill
            if name not in found and is_missing(column[row : row + 1])[0]:
                found[name] = self.stand_ins.get(name)
        return found

    def _lacks(self, row: int) -> str:
        """Of localities that look at a missing value, in words."""
        mixture = self.view.mixture
        far = [i for i in range(mixture.n_localities) if np.isinf(self.view.distance[i, row])]
        if not far:
            return ""
        holes = np.isnan(self.view.encoded[row])
        own = {j for i in far for j in mixture.loci[i].columns[holes[mixture.loci[i].columns]]}
        names = " and ".join(mixture.inputs.names[j] for j in sorted(own))
        some = f"localit{'y' if len(far) == 1 else 'ies'} {', '.join(map(str, far))}"
        looks = "looks" if len(far) == 1 else "look"
        return f"; {some} {looks} at {names}, which {'is' if len(own) == 1 else 'are'} missing"

    @property
    def _labels(self) -> list[Any]:
        """Those of several classes, each of which has a score; none where there is one score."""
        several = self.score.ndim > 1 and self.classes is not None
        return list(self.classes.tolist()) if several else []  # type: ignore[union-attr]

    @cached_property
    def _probabilities(self) -> Array:
        """(n_rows, n_scores), nan where there is one score."""
        return self._shares if self._labels else np.full((len(self), 1), np.nan)

    def _class_scores(self, row: int, answer: Any) -> dict[Any, ClassScore]:
        """Of each of several classes, or of the answer by its one score."""
        scores, bases = np.atleast_1d(self.score[row]), np.atleast_1d(self.base[row])
        columns = np.atleast_2d(self.contributions[row]).tolist()
        return {
            label: ClassScore(
                score=float(scores[k]),
                probability=float(self._probabilities[row, k]),
                base=float(bases[k]),
                contributions=dict(zip(self.feature_names, columns[k], strict=True)),
            )
            for k, label in enumerate(self._labels or [answer])
        }

    def _model(self, i: int, row: int) -> Entry:
        """What one model gives for a row."""
        view, mixture = self.view, self.view.mixture
        local = i < mixture.n_localities
        scores = view.scores[i, ..., row]
        answer = item(mixture.target.answer(scores[..., None])[0])
        by_label = dict(zip(self._labels, np.atleast_1d(scores).tolist(), strict=False))
        return Entry(
            {
                "model": mixture.region_name(i),
                "where": mixture.localities[i].where if local else "",
                "applies": bool(view.applicable[i, row]),
                "distance": _finite(view.distance[i, row]) if local else None,
                "radius": float(self.radius[i]) if local else None,
                "depth": self._depth(i, row),
                "membership": float(view.membership[i, row]) if local else None,
                "score": by_label[answer] if by_label else float(scores),
                "answer": answer,
                **({"scores": by_label} if by_label else {}),
            }
        )

    def _depth(self, i: int, row: int) -> float | None:
        """Distance / radius, of a locality that contains rows."""
        if not 0 <= i < len(self.radius) or self.radius[i] <= 0:
            return None
        return _finite(self.view.distance[i, row] / self.radius[i])

    def _neighbors(self, row: int) -> tuple[dict[str, Any], ...]:
        if self.nearest is None or self.nearest_distance is None:
            return ()
        found = zip(self.nearest[row].tolist(), self.nearest_distance[row].tolist(), strict=True)
        return tuple(
            {"row": index, "distance": away, "values": self._train_row(index)}
            for index, away in found
            if index >= 0
        )

    def _train_row(self, index: int) -> dict[str, Any]:
        return {name: item(column[index]) for name, column in self.train_values.items()}

    def to_frame(self) -> Any:
        """A pandas table, one line for each row: the answer, the model used, how deep inside its
        locality the row lies, of a classifier the probability of the answer (and of two labels the
        one that a positive score means), and the contributions; of several classes those to the
        score of the answer first, and then score, probability, base and contributions of each.
        """
        view, lines = self.view, []
        for row in range(len(self)):
            used = int(view.used[row])
            local = 0 <= used < len(self.radius)
            answer = item(self.prediction[row])
            parts = self._class_scores(row, answer)
            lines.append(
                {
                    "prediction": answer,
                    "score": parts[answer].score,
                    "model": view.mixture.region_name(used),
                    "depth": self._depth(used, row),
                    "membership": float(view.membership[used, row]) if local else None,
                    "contradicted": bool(self.contradicted[row]),
                    **({} if self.classes is None else {"probability": self._probability(row)}),
                    **({} if self._positive is None else {"positive": self._positive}),
                    "base": parts[answer].base,
                    **_columns(parts[answer]),
                    **{
                        f"{name} {link} {label}": value
                        for label in self._labels
                        for name, link, value in _of_class(parts[label])
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
    model: Any,
    X: Any,
    *,
    X_train: Any = None,
    n_neighbors: int = 3,
    n_neighbours: int | None = None,
) -> LocalExplanation:
    """Why the model answers what it answers for each row.

    The score is explained relative to the median row of the training rows that the locality used
    contains (of the exterior model: of those in no locality): the score there, plus coefficient
    times distance from it for each column, is the score (whose exponential is the prediction, with
    a log link). A model from an older file, which has no median rows, is explained relative to the
    center of the locality. Columns that encode one feature are added up. Of three classes or more
    this is so for the score of each, and the answer is the class of the largest: see
    `RowExplanation.by_class`, and `RowExplanation.against` for why it is one class and not another.

    Parameters
    ----------
    model : fitted LocalMixtureClassifier or LocalMixtureRegressor, or its `mixture_`
        Or a pipeline that ends in one, which is explained by its input columns where its steps
        allow it.
    X : rows to explain
    X_train : rows, default=None
        If given, the nearest of them for which the same model is used are listed, in texts and
        tables too. One with the same values as the row is left out, since it may be the row itself.
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
    subject = subject_of(model)
    mixture = subject.mixture
    if n_neighbours is not None:
        warn_of("explain_local(n_neighbours=)", "n_neighbors")
        n_neighbors = n_neighbours
    if isinstance(X, Mapping) or getattr(X, "ndim", 2) == 1:  # a row by itself
        X = one_row(mixture, X) if subject.steps is None else subject.given(X)
    rows = subject.table(X)
    view = mixture.view(mixture.encode(rows))
    base, parts = split_scores(view)
    nearest, distance, identical, known = None, None, None, {}
    if X_train is not None:
        others = subject.table(X_train)
        train = mixture.view(mixture.encode(others, "X_train"))
        nearest, distance, identical = nearest_rows(view, train, n_neighbors)
        known = subject.values(X_train) if subject.traced else _values(mixture, others)
    names, values = _references(subject)
    contributions = mixture.inputs.contributions(parts)
    if subject.traced:
        contributions = subject.gather(contributions)
    return LocalExplanation(
        feature_names=subject.names if subject.traced else mixture.inputs.term_names,
        values=subject.values(X) if subject.traced else _values(mixture, rows),
        base=base,
        contributions=contributions,
        view=view,
        reference=names,
        nearest=nearest,
        nearest_distance=distance,
        reference_values=values,
        train_values=known,
        note=subject.note,
        stand_ins=subject.stand_ins,
        identical=identical,
    )


def _finite(distance: Any) -> float | None:
    """A distance; None from a locality that looks at a missing value."""
    return float(distance) if np.isfinite(distance) else None


def _values(mixture: Mixture, X: Any) -> dict[str, AnyArray]:
    """Of the user's columns, and of what is made of several of them: these values together."""
    found, inputs = values_of(mixture, X), mixture.inputs
    columns = list(found.values())
    for term, own in zip(inputs.term_names[len(columns) :], inputs.joint, strict=True):
        rows = zip(*(columns[k] for k in own[:_JOINT]), strict=True)
        end = ", .." if len(own) > _JOINT else ""
        texts = [", ".join(number(item(one)) for one in row) + end for row in rows]
        found[term] = np.array(texts, dtype=object)
    return found


def _references(subject: Subject) -> tuple[tuple[str, ...], tuple[dict[str, Any], ...]]:
    """What the contributions of each model are relative to, in words and in numbers; the last is
    for several together.
    """
    mixture = subject.mixture
    n, summary = mixture.n_localities, mixture.provenance.summary
    if summary is None:
        centers = (f"the center of locality {i}" for i in range(n))
        return (*centers, "the average training row", "the centers of these localities"), ()
    outer = "the median row of the exterior" if n else "the median training row"
    names = [f"the median row of locality {i}" for i in range(n)]
    rows = tuple(decode(filter(subject.known, subject.groups), row) for row in summary.medians)
    return (*names, outer, "the median rows of these localities"), (*rows, {})


def _columns(part: ClassScore) -> dict[str, float]:
    """Contributions, as columns of a table."""
    return {f"contribution of {name}": value for name, value in part.contributions.items()}


def _of_class(part: ClassScore) -> Iterator[tuple[str, str, float]]:
    """Score, probability, base and contributions of a class, as columns of a table."""
    yield from (("score", "of", part.score), ("probability", "of", part.probability))
    yield "base", "of", part.base
    yield from ((name, "to", value) for name, value in _columns(part).items())


def _reason(containing: int, used: int, n: int) -> str:
    if used < 0:
        return "several localities contain the row; the mean of their scores is used"
    if n == 0:
        return "it has no localities"
    if used == n:
        return "no locality contains the row"
    if containing == 1:
        return "no other locality contains the row"
    return f"its center is the nearest of the {containing} localities that contain the row"
