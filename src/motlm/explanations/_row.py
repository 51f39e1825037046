"""One row: the answer of each model, which is used and why, and what each feature contributes; of
several classes to the score of each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from .._renamed import warn_of
from ..errors import InputError
from ..tables import html_table, item, number, plain, table_of

__all__ = ["ClassScore", "RowExplanation"]

_CLASSES = 5  # that texts list besides the answer
_COLUMNS = 5  # of training rows that texts show


@dataclass(frozen=True, eq=False)
class ClassScore:
    """The score of one of several classes for a row, or the difference of two such scores.

    Attributes
    ----------
    score, probability : float
        Of the class; of a difference, the probability of the first class if it must be one of the
        two.
    base : float
        The score at the reference of the explanation.
    contributions : dict of float
        By feature; ``base`` plus their sum is the score.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.explanations import explain_local
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LocalMixtureClassifier(0, inverse_temperature=2, random_state=0).fit(X, y)
    >>> row = explain_local(model, X[:1])[0]
    >>> part = row.by_class[2]
    >>> part.probability < 0.01
    True
    >>> abs(part.base + sum(part.contributions.values()) - part.score) < 1e-9
    True
    """

    score: float
    probability: float
    base: float
    contributions: dict[str, float]

    def minus(self, other: ClassScore) -> ClassScore:
        """The difference of two scores of a row, and what each feature contributes to it."""
        both = self.probability + other.probability
        pairs = zip(self.contributions.items(), other.contributions.values(), strict=True)
        return ClassScore(
            score=self.score - other.score,
            probability=self.probability / both if both > 0 else float("nan"),
            base=self.base - other.base,
            contributions={name: first - second for (name, first), second in pairs},
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return dict(plain({name: getattr(self, name) for name in self.__dataclass_fields__}))


@dataclass(frozen=True, eq=False)
class RowExplanation:
    """Why the model answers what it answers for one row.

    For a classifier of two labels a score is a linear score, positive for the second label; of
    three labels or more it is that of the label that is answered, whose score is the largest. For a
    regressor it is the prediction, or its logarithm with a log link. Contributions add up to the
    score; of a model of rates their exponentials are factors, and texts show these.

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
    where : str
        Where the locality used lies, in words; empty for the exterior, or several.
    reason : str
        Why it is used.
    models : tuple of dict
        Of each locality and of the exterior: whether it applies, distance, radius, depth (distance
        / radius), membership, score and answer; of several classes the score is that of its
        answer, and `scores` has all of them by label.
    contradicted : bool
        Whether applicable models contradict each other.
    reference, base : str, float
        What contributions are relative to, and the score there.
    reference_values : dict
        The values of that row; empty where several models are used, and for models from older
        files.
    note : str
        Of a pipeline: which columns are not the table's own; else empty.
    contributions : dict of float
        By feature; ``base`` plus their sum is the score, not always the prediction.
    score_label : str
        What a score is called: "score", or "prediction" where it is the prediction.
    link : str
        From score to prediction: "sign", "largest", "identity" or "log".
    factors : dict of float
        Of a model of rates, by feature: the prediction is ``exp(base)`` times all of them. Else
        empty.
    by_class : dict of ClassScore
        Of three labels or more: score, probability, base and contributions of each. Else empty.
    runner_up
        The label of the second largest of several scores; None else.
    missing : dict
        The features that are missing, and the value that stands in for each in the models: the
        median of the training rows, or their average if no value was missing there; None for a
        category.
    neighbors : tuple of dict
        The nearest training rows for which the same model is used, if `explain_local` was given
        X_train: the number of each, its standardized distance, and its values.
    identical : int or None
        The training row with the same values, which is left out of these: it may be the row itself.
    probability : float or None
        Of a classifier: the probability of the prediction.
    positive
        Of a classifier of two labels: the label that a positive score means. None else.

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
    row 0: 0.2..., decided by locality 0, x0 -0... to 0...; no other locality contains the row
        locality 0 gives 0.2...
        0... at the median row of locality 0
        +0... x0 = 0.5 (there ...)
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
    by_class: dict[Any, ClassScore] = field(default_factory=dict)
    where: str = ""
    reference_values: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    missing: dict[str, Any] = field(default_factory=dict)
    identical: int | None = None
    probability: float | None = None
    positive: Any = None

    @property
    def runner_up(self) -> Any:
        """The label of the second largest of several scores; None where there is one score."""
        others = [label for label in self.by_class if label != self.prediction]
        return max(others, key=lambda label: self.by_class[label].score, default=None)

    def against(self, label: Any = None) -> ClassScore:
        """The score of the answer less that of another of several classes: the log-odds of the two
        with the log loss.

        Parameters
        ----------
        label : default=None
            The other class; None for the runner-up.

        Returns
        -------
        ClassScore

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from motlm import LocalMixtureClassifier
        >>> from motlm.explanations import explain_local
        >>> X, y = load_iris(return_X_y=True)
        >>> model = LocalMixtureClassifier(0, inverse_temperature=2, random_state=0).fit(X, y)
        >>> row = explain_local(model, X[:1])[0]
        >>> row.prediction, row.runner_up
        (0, 1)
        >>> part = row.against()
        >>> abs(part.score - (row.by_class[0].score - row.by_class[1].score)) < 1e-9
        True
        """
        other = self.runner_up if label is None else label
        if other not in self.by_class or other == self.prediction:
            others = [one for one in self.by_class if one != self.prediction]
            raise InputError(
                f"expected one of the other labels {list(map(item, others))}; got {item(label)!r}."
                if others
                else "this model has one score, not one for each of several classes."
            )
        return self.by_class[self.prediction].minus(self.by_class[other])

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
        """As plain values; of several classes with a list `classes`, and `runner_up`."""
        names = [name for name in self.__dataclass_fields__ if name != "by_class"]
        content = {name: getattr(self, name) for name in names}
        for name in ("identical", "probability", "positive"):
            if content[name] is None:
                del content[name]
        if self.by_class:
            content["runner_up"] = self.runner_up
            content["classes"] = [
                {"label": label, **part.to_dict()} for label, part in self.by_class.items()
            ]
        return dict(plain(content))

    def to_frame(self) -> Any:
        """A pandas table of the contributions, the largest first; of several classes also of those
        to the other scores.
        """
        rows = self._rows()
        for label, part in self.by_class.items():
            for row in rows:
                if label != self.prediction:
                    row[f"contribution to {label}"] = part.contributions[row["feature"]]
        return table_of(rows)

    def _rows(self) -> list[dict[str, Any]]:
        order = sorted(self.contributions, key=lambda name: -abs(self.contributions[name]))
        factors = self.factors
        against = self.against().contributions if self.by_class else {}
        return [
            {
                "feature": name,
                "value": None if name in self.missing else self.values[name],
                **({"reference": self._reference(name)} if self.reference_values else {}),
                "contribution": self.contributions[name],
                **({"factor": factors[name]} if factors else {}),
                **({f"against {self.runner_up}": against[name]} if against else {}),
            }
            for name in order
        ]

    def _reference(self, name: str) -> Any:
        """The value that the row's is compared with; of yes and no as such."""
        value = self.reference_values.get(name)
        told = isinstance(self.values[name], (bool, np.bool_)) and value in (0, 1)
        return bool(value) if told else value

    @property
    def decided_by(self) -> str:
        """`model_name` in a sentence: "locality 0", or "the exterior model"."""
        return _in_a_sentence(self.model_name)

    @property
    def _headline(self) -> str:
        decided = f"decided by {self.decided_by} ({self.reason})"
        if self.where:
            decided = f"decided by {self.decided_by}, {self.where}; {self.reason}"
        answer = number(self.prediction)
        return f"row {self.row}: {answer}, {decided}"

    def __str__(self) -> str:
        lines = [self._headline]
        lines += [f"    {self._gives(one)}" for one in self.models if one["applies"]]
        if self.contradicted:
            lines.append("    applicable models contradict each other")
        lines.append(f"    {number(self._shown(self.base))} at {self.reference}")
        lines += [f"    {self._term(one)}" for one in self._rows() if one["contribution"] != 0.0]
        same = self.link == "log" or self.prediction == self.score
        end = "" if same and not self.by_class else f", the {self._score_name}"
        lines.append(f"    = {number(self._shown(self.score))}{end}")
        lines += [f"    {one}" for one in self._meaning]
        note = [f"    {self.note}"] if self.note else []
        return "\n".join(lines + self._other_classes() + self._neighbor_lines() + note)

    @property
    def _meaning(self) -> list[str]:
        """Of a classifier: what the sign of a score means, and the probability of the answer."""
        found = [] if self.positive is None else [f"a positive score means {number(self.positive)}"]
        if self.probability is not None:
            share = f"{self.probability:.3g}"
            found.append(f"probability of {number(self.prediction)}: {share}")
        return found

    @property
    def _identical(self) -> str:
        if self.identical is None:
            return ""
        return f" (row {self.identical}, which has the same values, is left out)"

    def _neighbor_lines(self) -> list[str]:
        """The nearest training rows, each with the columns that contribute most."""
        if not self.neighbors:
            return []
        names = [one["feature"] for one in self._rows()[:_COLUMNS]]
        more = ", .." if len(self.contributions) > len(names) else ""
        return [
            f"    nearest training rows for which the same model is used{self._identical}:",
            *(
                f"        {_name_of(one)}, at a distance of {number(one['distance'])}: "
                + ", ".join(
                    f"{name} = {number(one['values'][name]) or 'missing'}" for name in names
                )
                + more
                for one in self.neighbors
            ),
        ]

    def _neighbor_table(self) -> str:
        """The same in HTML, with all columns."""
        if not self.neighbors:
            return ""
        rows = [
            {"row": one["row"], "distance": one["distance"], **one["values"]}
            for one in self.neighbors
        ]
        return (
            "<p>Nearest training rows for which the same model is used, by their standardized"
            f" distance{self._identical}:</p>{html_table(rows)}"
        )

    def _term(self, entry: Mapping[str, Any]) -> str:
        """What a feature adds to the score, or multiplies the rate by."""
        value = self._told(entry["feature"])
        if entry.get("reference") is not None:
            value += f" (there {number(entry['reference'])})"
        if "factor" in entry:
            return f"x {number(entry['factor'])} for {value}"
        return f"{entry['contribution']:+.4g} {value}"

    def _told(self, name: str) -> str:
        """A feature and its value."""
        if name not in self.missing:
            return f"{name} = {number(self.values[name])}"
        if self.missing[name] is None:
            return f"{name} is missing"
        return f"{name} is missing, {number(self.missing[name])} stands in"

    @property
    def _score_name(self) -> str:
        """What the score is called in texts."""
        of_class = f" of {number(self.prediction)}" if self.by_class else ""
        return f"{self.score_label}{of_class}"

    def _other_classes(self) -> list[str]:
        """The scores of the other classes, the largest first, and why not the first of them."""
        if not self.by_class:
            return []
        others, part = self._ranking()[1:], self.against()
        lines = [
            f"    {number(one['score'])}, the score of {number(one['label'])}"
            for one in others[:_CLASSES]
        ]
        if len(others) > _CLASSES:
            lines.append(f"    .. and smaller scores of {len(others) - _CLASSES} more classes")
        features = sorted(part.contributions, key=lambda name: -abs(part.contributions[name]))
        return [
            *lines,
            f"    {number(self.prediction)} against {number(self.runner_up)}:",
            f"        {number(part.base)} at {self.reference}",
            *(
                f"        {part.contributions[name]:+.4g} {self._told(name)}"
                for name in features
                if part.contributions[name] != 0.0
            ),
            f"        = {number(part.score)}, the difference of the two scores",
        ]

    def _ranking(self) -> list[dict[str, Any]]:
        """Score and probability of each of several classes, the answer first."""
        order = sorted(
            self.by_class,
            key=lambda label: (label != self.prediction, -self.by_class[label].score),
        )
        parts = [(label, self.by_class[label]) for label in order]
        return [
            {"label": label, "score": part.score, "probability": part.probability}
            for label, part in parts
        ]

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
        label = "prediction" if self.link == "log" else self._score_name
        meaning = "".join(f"<p>{escape(one)}</p>" for one in self._meaning)
        return (
            f"<p>{escape(self._headline)}</p>{meaning}{html_table(self._ranking())}{warning}"
            f"{html_table([_without_scores(one) for one in self.models])}"
            f"<p>{escape(label[:1].upper() + label[1:])} {escape(number(self._shown(self.base)))}"
            f" at {escape(self.reference)}, and</p>{html_table(self._rows())}"
            f"{self._neighbor_table()}{f'<p>{escape(self.note)}</p>' if self.note else ''}"
        )


def _name_of(neighbor: Mapping[str, Any]) -> str:
    """A training row, by its number and its ID where that is known."""
    case = f" ({neighbor['case']})" if "case" in neighbor else ""
    return f"row {neighbor['row']}{case}"


def _in_a_sentence(name: str) -> str:
    return "the exterior model" if name == "exterior" else name


def _without_scores(model: Mapping[str, Any]) -> dict[str, Any]:
    """A line of a table: the scores of several classes have no place in one."""
    return {name: value for name, value in model.items() if name != "scores"}


def _exp(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(value))
