"""The whole model in tables: each locality, where it lies, what it says, and why it exists."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_consistent_length, column_or_1d

from .._typing import Array, Integers
from ..certificates import Certificate
from ..errors import InputError
from ..estimators import LocalMixture, LocalMixtureClassifier
from ..localities import Locality
from ._common import Seen, checked, html_table, number, plain, region_name, said_by, table_of

__all__ = ["GlobalExplanation", "Region", "explain_global"]

_PARTS, _MANY = 5, 20_000


@dataclass(frozen=True, eq=False)
class Region:
    """A locality, or the exterior, in the user's units, with what the rows in it say of its model.

    Scores are accuracies, or root mean squared errors of a regressor; None where there is no row.

    Attributes
    ----------
    index, name : int, str
        Place in the list, and "locality 0" and so on, or "exterior".
    feature_names : tuple of str
    center, half_width : ndarray or None
        Of the ball, in the user's units; None for the exterior.
    radius : float or None
        In standardized units.
    n_rows, share : int, float
        How many rows it contains, and which share of all that is.
    n_spoken : int
        For how many rows its model speaks.
    balance : dict
        Share of each label, or mean and deviation of the target.
    score, exterior_score, linear_score : float or None
        On its rows: of its own model, of the exterior model, and of one linear model for all rows.
    coef, coef_scale, intercept, intercept_scale, formula
        Of its linear model, as in `motlm.LocalModel`.

    Examples
    --------
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.datasets import make_clf_case2
    >>> from motlm.explanations import explain_global
    >>> X, y = make_clf_case2(400, random_state=0)
    >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
    >>> mixture = LocalMixtureClassifier(points_of_interest=points, inverse_temperature=4, n_starts=1, random_state=0)
    >>> model = mixture.fit(X, y)
    >>> region = explain_global(model, X, y).regions[0]
    >>> region.name, region.score > region.exterior_score
    ('locality 0', True)
    >>> list(region.to_frame().columns)
    ['column', 'coefficient', 'deviation', 'center', 'reaches']
    """

    index: int
    name: str
    feature_names: tuple[str, ...]
    center: Array | None
    radius: float | None
    half_width: Array | None
    n_rows: int  # that it contains
    share: float
    n_spoken: int  # for which its model speaks
    balance: dict[str, float]  # share of each label, or mean and deviation of the target
    score: float | None  # of its own model on its rows
    exterior_score: float | None  # of the exterior model on the same rows
    linear_score: (
        float | None
    )  # of one linear model for all rows, on the same rows, each time fitted without them
    coef: Array
    coef_scale: Array
    intercept: float
    intercept_scale: float
    formula: str

    def to_dict(self) -> dict[str, Any]:
        return dict(plain({name: getattr(self, name) for name in self.__dataclass_fields__}))

    def to_frame(self) -> Any:
        """One row for each column: coefficient with its deviation, center and half-width."""
        return table_of(self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        none = [None] * len(self.feature_names)
        columns = zip(
            self.feature_names,
            self.coef,
            self.coef_scale,
            none if self.center is None else self.center,
            none if self.half_width is None else self.half_width,
            strict=True,
        )
        return [
            {
                "column": name,
                "coefficient": coef,
                "deviation": scale,
                "center": center,
                "reaches": width,
            }
            for name, coef, scale, center, width in columns
        ]

    def _repr_html_(self) -> str:
        return f"<h4>{escape(self.name)}</h4><p><code>{escape(self.formula)}</code></p>{html_table(self._rows())}"


@dataclass(frozen=True, eq=False)
class GlobalExplanation:
    """All regions, what they share, and how often local models contradict each other. Made by
    `explain_global`.

    Attributes
    ----------
    regions : tuple of Region
        The localities; the last is the exterior.
    shared, contradictions : ndarray of int, (n_localities, n_localities)
        Rows that two localities share, and those of them of which the two say different things.
    n_rows : int
    ambiguous : float
        Share of rows for which applicable models contradict each other.
    score_name : str
        "accuracy" or "root mean squared error".
    score, linear_score : float
        Of the whole model on these rows, and of one linear model for all rows.
    certificate : Certificate or None
        The one that the model carries.

    Examples
    --------
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.datasets import make_clf_case2
    >>> from motlm.explanations import explain_global
    >>> X, y = make_clf_case2(400, random_state=0)
    >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
    >>> mixture = LocalMixtureClassifier(points_of_interest=points, inverse_temperature=4, n_starts=1, random_state=0)
    >>> model = mixture.fit(X, y)
    >>> explanation = explain_global(model, X, y)
    >>> explanation.score_name, explanation.shared.shape
    ('accuracy', (3, 3))
    >>> [entry["region"] for entry in explanation.rows()]
    ['locality 0', 'locality 1', 'locality 2', 'exterior']
    >>> list(explanation.coefficients().index)
    ['x0', 'x1']
    """

    regions: tuple[Region, ...]  # the last is the exterior
    shared: Integers  # (n_localities, n_localities), rows in both; in one on the diagonal
    contradictions: (
        Integers  # (n_localities, n_localities), shared rows of which the two say different things
    )
    n_rows: int
    ambiguous: float  # share of rows for which applicable models contradict each other
    score_name: str
    score: float  # of the whole model on these rows
    linear_score: float  # of one linear model for all rows
    certificate: Certificate | None

    def to_dict(self) -> dict[str, Any]:
        content = {
            name: getattr(self, name)
            for name in self.__dataclass_fields__
            if name not in ("regions", "certificate")
        }
        content["regions"] = [region.to_dict() for region in self.regions]
        content["certificate"] = None if self.certificate is None else self.certificate.to_dict()
        return dict(plain(content))

    def rows(self) -> list[dict[str, Any]]:
        """One entry for each region."""
        return [
            {
                "region": region.name,
                "rows": region.n_rows,
                "share": region.share,
                "speaks for": region.n_spoken,
                "radius": region.radius,
                **region.balance,
                self.score_name: region.score,
                f"{self.score_name}, exterior model": region.exterior_score,
                f"{self.score_name}, one linear model": region.linear_score,
                "formula": region.formula,
            }
            for region in self.regions
        ]

    def to_frame(self) -> Any:
        """A pandas table, one row for each region."""
        return table_of(self.rows())

    def coefficients(self) -> Any:
        """A pandas table: a row for each column, the coefficient of each region."""
        names = self.regions[0].feature_names
        return table_of(
            [
                {"column": name, **{region.name: region.coef[j] for region in self.regions}}
                for j, name in enumerate(names)
            ]
        ).set_index("column")

    def __str__(self) -> str:
        lines = []
        for region in self.regions:
            where = f"{region.name}: {region.n_rows} of {self.n_rows} rows ({region.share:.1%})"
            if region.score is not None:
                where += (
                    f", {self.score_name} {number(region.score)} (exterior model"
                    f" {number(region.exterior_score)}, one linear model"
                    f" {number(region.linear_score)})"
                )
            lines += [where, f"    {region.formula}"]
        lines.append(f"local models contradict each other on {self.ambiguous:.1%} of the rows")
        if self.certificate is not None:
            lines.append(self.certificate.headline.sentence)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        certificate = (
            ""
            if self.certificate is None
            else f"<p>{escape(self.certificate.headline.sentence)}</p>"
        )
        return (
            f"{html_table(self.rows())}<p>Local models contradict each other on"
            f" {self.ambiguous:.1%} of {self.n_rows} rows.</p>" + certificate
        )


def explain_global(model: Any, X: Any, y: Any) -> GlobalExplanation:
    """What the model is, in tables, with the rows given to speak for it.

    Parameters
    ----------
    model : fitted LocalMixtureClassifier or LocalMixtureRegressor
    X, y : rows and targets
        Any rows; those that the model has not seen tell more of it. One linear model is
        cross-validated on them, to compare with.

    Returns
    -------
    GlobalExplanation

    Examples
    --------
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.datasets import make_clf_case2
    >>> from motlm.explanations import explain_global
    >>> X, y = make_clf_case2(random_state=0)
    >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
    >>> model = LocalMixtureClassifier(points_of_interest=points, standardize=False, random_state=0).fit(X, y)
    >>> explanation = explain_global(model, X, y)
    >>> [region.name for region in explanation.regions]
    ['locality 0', 'locality 1', 'locality 2', 'exterior']
    >>> round(explanation.score, 2), explanation.linear_score < 0.6
    (0.99, True)
    """
    model = checked(model)
    y = column_or_1d(y, warn=True)
    seen = Seen.of(model, X)
    check_consistent_length(seen.encoded, y)
    classification = isinstance(model, LocalMixtureClassifier)
    if isinstance(model, LocalMixtureClassifier):
        strange = ~np.isin(y, model.classes_)
        if strange.any():
            raise InputError(
                f"y has the label {y[strange].tolist()[0]!r}, which the model does not know; its"
                f" labels are {model.classes_.tolist()}."
            )
    of_linear = _linear(seen.encoded, y, classification)
    n = len(model.localities_)
    applicable = seen.applicable
    said = [said_by(model, seen.score[i]) for i in range(n + 1)]
    regions = []
    for i, local in enumerate((*model.localities_, model.exterior_)):
        inside = applicable[i]
        ball = local if isinstance(local, Locality) else None
        regions.append(
            Region(
                index=i,
                name=region_name(i, n),
                feature_names=local.feature_names,
                center=None if ball is None else ball.center,
                radius=None if ball is None else ball.radius,
                half_width=None if ball is None else ball.half_width,
                n_rows=int(inside.sum()),
                share=float(inside.mean()),
                n_spoken=int((seen.speaker == i).sum()),
                balance=_balance(model, y[inside]),
                score=_score(y[inside], said[i][inside], classification),
                exterior_score=_score(y[inside], said[n][inside], classification),
                linear_score=_score(y[inside], of_linear[inside], classification),
                coef=local.coef,
                coef_scale=local.coef_scale,
                intercept=local.intercept,
                intercept_scale=local.intercept_scale,
                formula=local.formula(),
            )
        )
    member = seen.member.astype(int)
    shared = member @ member.T
    contradictions = np.zeros((n, n), dtype=int)
    for i in range(n):
        for j in range(i):
            both = seen.member[i] & seen.member[j]
            contradictions[i, j] = contradictions[j, i] = int(
                (_apart(model, seen, i, j) & both).sum()
            )
    whole, one = (
        _score(y, values, classification) or 0.0
        for values in (said_by(model, seen.spoken()), of_linear)
    )
    return GlobalExplanation(
        regions=tuple(regions),
        shared=shared,
        contradictions=contradictions,
        n_rows=len(y),
        ambiguous=float(seen.contradicted(model).mean()),
        score_name="accuracy" if classification else "root mean squared error",
        score=whole,
        linear_score=one,
        certificate=getattr(model, "certificate_", None),
    )


def _linear(X: Array, y: Any, classification: bool) -> Any:
    """What one linear model says of each row, fitted to the other rows (in five parts; to all of
    them where they are many).
    """
    linear = make_pipeline(
        StandardScaler(),
        LogisticRegression(max_iter=2000) if classification else LinearRegression(),
    )
    if classification:
        labels, counts = np.unique(y, return_counts=True)
        if len(labels) < 2:
            return np.asarray(y)
        parts = min(_PARTS, int(counts.min()))
    else:
        parts = min(_PARTS, len(y) // 2)
    if parts < 2 or len(y) > _MANY:
        return linear.fit(X, y).predict(X)
    return cross_val_predict(
        linear, X, y, cv=parts if classification else KFold(parts, shuffle=True, random_state=0)
    )


def _apart(model: LocalMixture, seen: Seen, i: int, j: int) -> Any:
    if isinstance(model, LocalMixtureClassifier):
        return (seen.score[i] > 0) != (seen.score[j] > 0)
    return np.abs(seen.score[i] - seen.score[j]) > model.residual_scale_


def _score(y: Any, said: Any, classification: bool) -> float | None:
    if len(y) == 0:
        return None
    if classification:
        return float(np.mean(y == said))
    return float(np.sqrt(np.mean((np.asarray(y, dtype=float) - said) ** 2)))


def _balance(model: LocalMixture, y: Any) -> dict[str, float]:
    if isinstance(model, LocalMixtureClassifier):
        return {
            f"share of {label}": float(np.mean(y == label)) if len(y) else float("nan")
            for label in model.classes_
        }
    values = np.asarray(y, dtype=float)
    return {
        "mean target": float(values.mean()) if len(values) else float("nan"),
        "deviation of target": float(values.std()) if len(values) else float("nan"),
    }
