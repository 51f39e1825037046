"""The whole model in tables: each locality, where it lies, its model, and what that improves."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_consistent_length, column_or_1d

from .._renamed import warn_of
from .._typing import AnyArray, Array, Integers
from ..cards import LinearReference, fit_reference
from ..certificates import Certificate, standing
from ..checks import check_exposure, per_exposure
from ..errors import InputError, InputTypeError, MotlmWarning
from ..fingerprints import row_keys
from ..localities import Locality, LocalModel, Shape
from ..mixture import Mixture, View, mixture_of
from ..pipelines import Subject, subject_of
from ..tables import Entry, amount, decode, html_table, number, plain, table_of
from ..targets import Rate, Target
from ..terms import count_terms
from ._importance import Importance, importance
from ._missing import missing_values

__all__ = ["GlobalExplanation", "Region", "explain_global"]

_PARTS = 5  # in which one linear model is cross-validated
_MANY = 20_000  # rows from which it is fitted once, to all of them
_COLUMNS = 8  # that a note names
_CHECKLIST = "To be checked by a person, since code cannot see it:"


@dataclass(frozen=True, eq=False)
class Region:
    """A locality, or the exterior, in the user's units, with the scores of its model on its rows.

    Scores are accuracies, or root mean squared errors of a regressor; None where there is no row.

    Attributes
    ----------
    index, name : int, str
        Place in the list, and "locality 0" and so on, or "exterior"; "the model" if there are no
        localities.
    where : str
        Where it lies, in words: "age 18 to 30 and power above 80", or "all other rows".
    feature_names : tuple of str
    center, half_width : ndarray or None
        Of the locality, in the user's units; None for the exterior.
    radius : float or None
        In standardized units.
    n_rows, share : int, float
        How many rows it contains, and which share of all that is.
    n_used : int
        For how many rows its model is used.
    balance : dict
        Share of each label, or mean and deviation of the target.
    score, exterior_score, linear_score : float or None
        On its rows: of its own model, of the exterior model, and of one linear model for all rows.
    coef, coef_scale, intercept, intercept_scale, formula
        Of its model, as in `motlm.LocalModel`: they give its score, with what the shapes of an
        additive model add. Of several classes coef is (n_classes, n_columns), intercept
        (n_classes,), and the formula has a line for each.
    shapes : tuple of dict
        Of an additive model, for each column that bends: its `column`, `reference`, and the arrays
        `x`, `value` and `scale` of its whole curve, as `motlm.LocalModel.curve` gives them; of
        several classes `value` is (n_classes, n_points). Else empty.
    correction : str
        How its model differs from the exterior model, "as everywhere, except: ..", if it is a
        correction of that; else empty. Of several classes it has a line for each.
    differences : tuple of dict
        The same as numbers, as `motlm.LocalModel.differences` gives them.
    base, factors : float, tuple of dict
        Of a model of rates: the rate at the reference, and what it is multiplied by, as in
        `motlm.LocalModel`. Else None, and empty.
    formulas : dict of str
        Of three classes or more: that of the score of each, by label; else empty.
    classes : tuple
        Their labels.
    median : dict
        The median of the training rows that it contains; empty of a model from an older file.
    outside : tuple of str
        The columns in which its center lies beyond all training rows, so that no case is like it;
        `note` says so, and what the rows inside are like.

    Examples
    --------
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.datasets import make_clf_case2
    >>> from motlm.explanations import explain_global
    >>> X, y = make_clf_case2(400, random_state=0)
    >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
    >>> model = LocalMixtureClassifier(
    ...     points_of_interest=points, inverse_temperature=4, n_starts=1, random_state=0
    ... ).fit(X, y)
    >>> region = explain_global(model, X, y).regions[0]
    >>> region.name, region.score > region.exterior_score
    ('locality 0', True)
    >>> list(region.to_frame().columns)
    ['column', 'coefficient', 'exterior', 'deviation', 'center', 'reaches']
    """

    index: int
    name: str
    feature_names: tuple[str, ...]
    center: Array | None
    radius: float | None
    half_width: Array | None
    n_rows: int  # that it contains
    share: float
    n_used: int  # for which its model is used
    balance: dict[str, float]  # share of each label, or mean and deviation of the target
    score: float | None  # of its own model on its rows
    exterior_score: float | None  # of the exterior model on the same rows
    linear_score: float | None  # on them, of one linear model for all rows, fitted without them
    coef: Array
    coef_scale: Array
    intercept: Any  # float, or (n_classes,)
    intercept_scale: float
    formula: str
    base: float | None = None
    factors: tuple[dict[str, Any], ...] = ()
    formulas: dict[Any, str] = field(default_factory=dict)
    where: str = ""
    correction: str = ""
    differences: tuple[dict[str, Any], ...] = ()
    exterior_coef: Array | None = None  # of which its model is a correction
    shapes: tuple[dict[str, Any], ...] = ()
    median: dict[str, Any] = field(default_factory=dict)
    outside: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """Of a center that no case is like: in which columns, and a median row instead."""
        if not self.outside:
            return ""
        columns = ", ".join(self.outside[:_COLUMNS])
        columns += ", .." if len(self.outside) > _COLUMNS else ""
        shown = list(self.median.items())[:_COLUMNS]
        values = ", ".join(f"{name} {number(value)}" for name, value in shown)
        values += ", .." if len(self.median) > len(shown) else ""
        return (
            f"its center lies beyond all training rows in {columns}; the median of the rows inside:"
            f" {values}"
        )

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels of several classes, each of which has a score; else empty."""
        return tuple(self.formulas)

    @property
    def n_spoken(self) -> int:
        """Deprecated: `n_used`."""
        warn_of("Region.n_spoken", "n_used")
        return self.n_used

    def to_dict(self) -> dict[str, Any]:
        """As plain values; of several classes with `classes` and `formulas`, of additive models
        with `shapes`.
        """
        names = [name for name in self.__dataclass_fields__ if name != "exterior_coef"]
        content = {name: getattr(self, name) for name in names}
        if not self.shapes:
            del content["shapes"]
        formulas = content.pop("formulas")
        more = {"classes": self.classes, "formulas": formulas} if formulas else {}
        return dict(plain({**content, **more}))

    def to_frame(self) -> Any:
        """One row for each column: coefficient with its deviation, center and half-width; where
        the model is a correction, the exterior model's coefficient beside it; of a model of rates
        also its factor, and of several classes the coefficient in each score. Of a column that
        bends the coefficient is that of the straight part, and `bends` is True.
        """
        return table_of(self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        none = [None] * len(self.feature_names)
        columns = zip(
            self.feature_names,
            self.coef_scale,
            none if self.center is None else self.center,
            none if self.half_width is None else self.half_width,
            strict=True,
        )
        factors = {one["column"]: one["text"] for one in self.factors}
        bent = {one["column"] for one in self.shapes}
        return [
            {
                "column": name,
                **self._coefficients(self.coef, "coefficient", "coefficient of {}", j),
                **self._coefficients(self.exterior_coef, "exterior", "exterior of {}", j),
                "deviation": scale,
                "center": center,
                "reaches": width,
                **({"factor": factors.get(name, "")} if factors else {}),
                **({"bends": name in bent} if bent else {}),
            }
            for j, (name, scale, center, width) in enumerate(columns)
        ]

    def _coefficients(self, coef: Array | None, name: str, of_class: str, j: int) -> dict[str, Any]:
        """The coefficient of a column under a name, or one for each of several classes."""
        if coef is None:
            return {}
        if not self.classes:
            return {name: coef[j]}
        return {of_class.format(k): coef[i, j] for i, k in enumerate(self.classes)}

    def _named_formulas(self) -> dict[str, str]:
        """The formula by its name in tables: one, or one for each of several classes."""
        several = {f"formula of {label}": formula for label, formula in self.formulas.items()}
        return several or {"formula": self.formula}

    def _lines(self, full_formulas: bool = False) -> list[str]:
        """How it differs from the exterior model, or the formula, of each of several classes, as
        lines of a text.
        """
        if self.correction and not full_formulas:
            return self.correction.split("\n")
        several = [f"{label}: {formula}" for label, formula in self.formulas.items()]
        return several or [self.formula]

    @property
    def title(self) -> str:
        """The name, and where it lies: "locality 0, age 18 to 30"."""
        return f"{self.name}, {self.where}" if self.where else self.name

    def _repr_html_(self) -> str:
        lines = _paragraphs(self._lines())
        if self.correction:
            full = _paragraphs(self._lines(True))
            lines += f"<details><summary>full formula</summary>{full}</details>"
        return f"<h4>{escape(self.title)}</h4>{lines}{html_table(self._rows())}"


def _paragraphs(lines: list[str]) -> str:
    """Formulas, and the curves below them."""
    every = "\n".join(lines).split("\n")
    return "".join(f"<p><code>{escape(line.strip())}</code></p>" for line in every)


@dataclass(frozen=True, eq=False)
class GlobalExplanation:
    """All regions, what they share, and how often local models contradict each other. Made by
    `explain_global`.

    Attributes
    ----------
    regions : tuple of Region
        The localities; the last is the exterior.
    shared, contradictions : ndarray of int, (n_localities, n_localities)
        Rows that two localities share, and those of them on which the two contradict each other.
    n_rows : int
    ambiguous : float
        Share of rows for which applicable models contradict each other.
    score_name : str
        "accuracy" or "root mean squared error".
    score, linear_score : float
        Of the whole model on these rows, and of one linear model for all rows: see
        `explain_global`.
    linear_name : str
        What texts call the linear model: "one linear model" if it was fitted to the rows that the
        model was fitted to; else with how its answers for these rows were made.
    notes : tuple of str
        If some of the rows were used for fitting, how many, and what that means for the scores.
    certificate : Certificate or None
        The one that the model carries, if it stands; see `motlm.certificates.standing`.
    void : str
        Why the certificate that it carries is void, and therefore not quoted; else empty.
    importance : Importance or None
        How much each column matters on these rows, as `importance` gives it.
    note : str
        Of a pipeline: which columns are not the table's own; else empty.
    missing : tuple of dict
        Of each column in which values are missing, in these rows or in training: how many are, and
        what stands in for them in the models.
    reference : LinearReference or None
        The linear model that was fitted to the same rows as the model; None where there is none,
        and `linear_score` is cross-validated on the rows of the explanation (of more than 20 000,
        of a linear model fitted to them).
    terms : str
        With `max_terms="auto"`: how many terms were struck, or that none could be; else empty.

    Examples
    --------
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.datasets import make_clf_case2
    >>> from motlm.explanations import explain_global
    >>> X, y = make_clf_case2(400, random_state=0)
    >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
    >>> model = LocalMixtureClassifier(
    ...     points_of_interest=points, inverse_temperature=4, n_starts=1, random_state=0
    ... ).fit(X, y)
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
    contradictions: Integers  # (n_localities, n_localities), shared rows on which the two differ
    n_rows: int
    ambiguous: float  # share of rows for which applicable models contradict each other
    score_name: str
    score: float  # of the whole model on these rows
    linear_score: float  # of one linear model for all rows
    certificate: Certificate | None
    void: str = ""  # why the certificate is not quoted
    importance: Importance | None = None
    note: str = ""
    missing: tuple[dict[str, Any], ...] = ()
    reference: LinearReference | None = None
    terms: str = ""
    linear_name: str = "one linear model"
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        content = {
            name: getattr(self, name)
            for name in self.__dataclass_fields__
            if name not in ("regions", "certificate", "importance", "reference")
        }
        content["regions"] = [region.to_dict() for region in self.regions]
        content["certificate"] = None if self.certificate is None else self.certificate.to_dict()
        content["importance"] = None if self.importance is None else self.importance.to_dict()
        return dict(plain(content))

    def rows(self) -> list[dict[str, Any]]:
        """One entry for each region."""
        corrected = any(region.correction for region in self.regions)

        def outer(region: Region) -> dict[str, Any]:
            own = {f"{self.score_name}, exterior model": region.exterior_score}
            return own if len(self.regions) > 1 else {}

        return [
            Entry(
                {
                    "region": region.name,
                    "where": region.where,
                    "rows": region.n_rows,
                    "share": region.share,
                    "used for": region.n_used,
                    "radius": region.radius,
                    **region.balance,
                    self.score_name: region.score,
                    **outer(region),
                    f"{self.score_name}, one linear model": region.linear_score,
                    **({"correction": region.correction} if corrected else {}),
                    **region._named_formulas(),
                }
            )
            for region in self.regions
        ]

    def to_frame(self) -> Any:
        """A pandas table, one row for each region."""
        return table_of(self.rows())

    def coefficients(self) -> Any:
        """A pandas table: a row for each column, the coefficient of each region; of several classes
        that of each class in each region. Of a column that bends it is that of the straight part.
        """
        rows: list[dict[str, Any]] = []
        for j, name in enumerate(self.regions[0].feature_names):
            row: dict[str, Any] = {"column": name}
            for one in self.regions:
                row |= one._coefficients(one.coef, one.name, f"{one.name}, {{}}", j)
            rows.append(row)
        return table_of(rows).set_index("column")

    def factors(self) -> Any:
        """A pandas table of a model of rates, the tariff: a row for each column with the reference
        and step of its factor, and the factor in each region; the first row is the base. A column
        that bends has a row for each of a few points, "age at 25", between which factors are found
        by interpolating their logarithms.
        """
        if self.regions[0].base is None:
            raise InputTypeError(
                "factors are of models of rates; this model adds up: see coefficients()."
            )
        rows: dict[str, dict[str, Any]] = {}
        for region in self.regions:
            for one in region.factors:
                if one["factor"] is None:
                    rows[one["column"]] = {}  # in its place; the last is the exterior's
                    continue
                empty = {"column": one["column"], "reference": one["reference"], "per": one["step"]}
                rows.setdefault(one["column"], empty)[region.name] = one["factor"]
        names = [name for name in self.regions[0].feature_names if name in rows]
        start = {"column": "base", "reference": None, "per": None}
        base = {**start, **{region.name: region.base for region in self.regions}}
        absent = {region.name: 1.0 for region in self.regions}
        made = [base]
        for name in names:
            made += [{**absent, **rows[name]}] if rows[name] else self._curve_rows(name)
        return table_of(made).set_index("column")

    def _curve_rows(self, name: str) -> list[dict[str, Any]]:
        """The factors of a column that bends, at the points of the exterior model."""
        [one] = [one for one in self.regions[-1].factors if one["column"] == name]
        rows = []
        for x in (point["x"] for point in one["points"]):
            row = {"column": f"{name} at {x:.12g}", "reference": one["reference"], "per": None}
            for region in self.regions:
                [curve] = [shape for shape in region.shapes if shape["column"] == name]
                row[region.name] = float(np.exp(np.interp(x, curve["x"], curve["value"])))
            rows.append(row)
        return rows

    def __str__(self) -> str:
        return self.text()

    def text(self, full_formulas: bool = False) -> str:
        """What `print` shows: each region in a sentence, its scores, and its formula; of a model
        that is a correction, how it differs from the exterior model.

        Parameters
        ----------
        full_formulas : bool, default=False
            Whether formulas of corrections are written in full.

        Returns
        -------
        str
        """
        lines, local = [], len(self.regions) > 1
        for region in self.regions:
            rows = f"{region.n_rows} of {amount(self.n_rows, 'row')}"
            where = f"{region.title}: {rows} ({region.share:.1%})"
            if region.score is not None:
                outer = f"exterior model {number(region.exterior_score)}, " if local else ""
                where += (
                    f", {self.score_name} {number(region.score)} ({outer}{self.linear_name}"
                    f" {number(region.linear_score)})"
                )
            lines.append(where)
            if region.note:
                lines.append(f"    {region.note}")
            lines += [f"    {line}" for line in region._lines(full_formulas)]
        lines += self.notes
        if self.importance is not None and any(region.shapes for region in self.regions):
            lines.append(f"mean effect of each column: {self.importance}")
        if self.terms:
            lines.append(self.terms)
        if local:
            lines.append(f"local models contradict each other on {self.ambiguous:.1%} of the rows")
        if self.certificate is not None:
            lines.append(self.certificate.headline.sentence)
            if self.certificate.checklist:
                lines += [_CHECKLIST, *(f"    {one}" for one in self.certificate.checklist)]
        if self.void:
            lines.append(f"{self.void} Its figures are not quoted.")
        if self.note:
            lines.append(self.note)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        noted = [one for one in self.regions if one.note]
        parts = [
            html_table(self.rows()),
            *(f"<p>{escape(one.name)}: {escape(one.note)}.</p>" for one in noted),
            *(f"<p>{escape(one)}</p>" for one in self.notes),
        ]
        if self.terms:
            parts.append(f"<p>{escape(self.terms)}</p>")
        if len(self.regions) > 1:
            share = f"{self.ambiguous:.1%} of {self.n_rows} rows"
            parts.append(f"<p>Local models contradict each other on {share}.</p>")
        if self.certificate is not None:
            parts.append(f"<p>{escape(self.certificate.headline.sentence)}</p>")
            if self.certificate.checklist:
                items = "".join(
                    f"<li>{escape(str(one))}</li>" for one in self.certificate.checklist
                )
                parts.append(f"<p>{_CHECKLIST}</p><ul>{items}</ul>")
        if self.void:
            parts.append(f"<p><b>{escape(self.void)}</b> Its figures are not quoted.</p>")
        if self.note:
            parts.append(f"<p>{escape(self.note)}</p>")
        return "".join(parts)


def explain_global(
    model: Any,
    X: Any,
    y: Any,
    *,
    exposure: Any = None,
    X_train: Any = None,
    y_train: Any = None,
    exposure_train: Any = None,
) -> GlobalExplanation:
    """What the model is, in tables, with scores on the rows given.

    Parameters
    ----------
    model : fitted LocalMixtureClassifier or LocalMixtureRegressor, or its `mixture_`
        Or a pipeline that ends in one, which is told in its input columns where its steps allow it.
    X, y : rows and targets
        Any rows; those not used for fitting are more informative. If they are all rows that the
        model was fitted to, the linear model is fitted to them as well, so that the two compare.
    exposure : array of (n_rows,), default=None
        Of rates, as in `fit`: y is what happened in all of it, and rates and deviances are means
        over the exposure. None: y are rates, and all rows count alike.
    X_train, y_train : rows and targets that the model was fitted to, default=None
        One linear model is fitted to them, to compare with. None: the linear model that the command
        line keeps with a model; where there is none, one that is cross-validated on X and y, which
        has fewer rows to learn from than the model had.
    exposure_train : array, default=None
        Of rates: the exposures of y_train.

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
    >>> model = LocalMixtureClassifier(
    ...     points_of_interest=points, standardize=False, random_state=0
    ... ).fit(X, y)
    >>> explanation = explain_global(model, X, y)
    >>> [region.name for region in explanation.regions]
    ['locality 0', 'locality 1', 'locality 2', 'exterior']
    >>> explanation.score > 0.98, explanation.linear_score < 0.6
    (True, True)
    """
    subject = subject_of(model)
    mixture, given = subject.mixture, X
    X, y = subject.table(X), column_or_1d(y, warn=True)
    encoded = mixture.encode(X)
    check_consistent_length(encoded, y)
    y, weight = _rates(mixture.target, y, exposure, "exposure")
    mixture.target.code(y)  # refuses a label that the model does not know
    view = mixture.view(encoded)
    whole = mixture.inputs.fill_in(encoded)
    fitted = _Fitted.of(subject, given, encoded, y)
    reference = _linear_reference(model, X_train, y_train, exposure_train)
    if reference is None and fitted.all:
        balance = getattr(model, "class_weight", None)
        reference = fit_reference(mixture.target, whole, y, weight, class_weight=balance)
    linear, linear_name = _linear(mixture.target, reference, whole, y, weight)
    judge = _Judge(mixture.target, y, weight, linear)
    found, n = standing(model), mixture.n_localities
    member = view.member.astype(int)
    contradictions = np.zeros((n, n), dtype=int)
    for i in range(n):
        for j in range(i):
            apart = mixture.target.apart(view.scores[i], view.scores[j])
            both = view.member[i] & view.member[j]
            contradictions[i, j] = contradictions[j, i] = int((apart & both).sum())
    return GlobalExplanation(
        regions=tuple(_region(view, i, judge) for i in range(n + 1)),
        shared=member @ member.T,
        contradictions=contradictions,
        n_rows=len(y),
        ambiguous=float(view.contradicted.mean()),
        score_name=mixture.target.measure_name,
        score=judge.score(view.answer) or 0.0,
        linear_score=judge.score(linear) or 0.0,
        certificate=found.certificate,
        void=found.void,
        importance=_importance(mixture, X),
        note=subject.long_note,
        missing=missing_values(mixture, X),
        reference=reference,
        terms=_terms(model),
        linear_name=linear_name,
        notes=fitted.describe(reference is not None),
    )


@dataclass(frozen=True, eq=False)
class _Judge:
    """Rows with outcomes; means are over their exposures, where there are any."""

    target: Target
    y: AnyArray
    weight: Array | None
    linear: AnyArray  # answers of one linear model

    def at(self, rows: AnyArray) -> _Judge:
        weight = None if self.weight is None else self.weight[rows]
        return _Judge(self.target, self.y[rows], weight, self.linear[rows])

    def score(self, answers: AnyArray) -> float | None:
        if self.weight is None or not len(self.y):
            return self.target.measure(self.y, answers)
        assert isinstance(self.target, Rate)
        return float(np.average(self.target.deviances(self.y, answers), weights=self.weight))

    @property
    def balance(self) -> dict[str, float]:
        if self.weight is None or not len(self.y):
            return self.target.balance(self.y)
        return {"mean rate": float(np.average(self.y, weights=self.weight))}


@dataclass(frozen=True)
class _Fitted:
    """Which of the rows were used for fitting."""

    all: bool  # these are the rows, all of them and no others
    by_chance: bool = False  # no more than chance explains
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, subject: Subject, X: Any, encoded: Array, y: AnyArray) -> _Fitted:
        own = subject.own
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MotlmWarning)  # the caller has given them
            if subject.steps is not None:  # as the estimator got them
                encoded = own.encode(subject.own_table(X))
        codes, fingerprint = own.target.code(y), own.provenance.fingerprint
        notes = tuple(fingerprint.describe(encoded, codes)[1])
        if not notes:
            return cls(False)
        keys = row_keys(encoded, codes)
        chance = fingerprint.is_chance(keys, encoded, codes)
        return cls(fingerprint.same_rows(keys), chance, notes)

    def describe(self, same: bool) -> tuple[str, ...]:
        """The notes, and whether the linear model was fitted to the same rows as the model."""
        if not self.notes or self.by_chance:
            return self.notes
        if same:
            return (*self.notes, "One linear model was fitted to the same rows as the model.")
        return (
            *self.notes,
            "The linear model was not fitted to the same rows as the model, so that the two do not"
            " compare; give X_train and y_train, or rows that were not used for fitting.",
        )


def _rates(target: Target, y: AnyArray, exposure: Any, what: str) -> tuple[AnyArray, Array | None]:
    """Outcomes per unit of exposure, and the weights of these; None where there is no exposure."""
    if exposure is None:
        return y, None
    if not isinstance(target, Rate):
        raise InputError(f"{what} is for models of rates; leave it out.")
    return per_exposure(y, check_exposure(exposure, len(y), what), None, what)


def _terms(model: Any) -> str:
    """What `max_terms="auto"` did, in a sentence; "" of other values, which need none."""
    last = model[-1] if isinstance(model, Pipeline) else model
    if not isinstance(getattr(last, "max_terms", None), str):
        return ""
    own = mixture_of(last)
    kept, possible = count_terms(own.posterior, own.inputs)
    if kept == possible:
        return f"max_terms='auto': none of the {amount(possible, 'term')} could be struck"
    return f"max_terms='auto': {possible - kept} of {amount(possible, 'term')} were struck"


def _linear_reference(
    model: Any, X_train: Any, y_train: Any, exposure_train: Any
) -> LinearReference | None:
    """One linear model of the rows that a model was fitted to: fitted to those given, or the one
    that the command line keeps with the model; None where there is neither.
    """
    if X_train is None and y_train is None and exposure_train is None:
        notes = getattr(model, "table_", None)
        return None if notes is None else notes.linear
    if X_train is None or y_train is None:
        raise InputError("give both X_train and y_train, or neither.")
    subject, y = subject_of(model), column_or_1d(y_train, warn=True)
    mixture = subject.mixture
    encoded = mixture.inputs.fill_in(mixture.encode(subject.table(X_train)))
    check_consistent_length(encoded, y)
    y, weight = _rates(mixture.target, y, exposure_train, "exposure_train")
    mixture.target.code(y, "y_train")
    balance = getattr(model, "class_weight", None)
    return fit_reference(mixture.target, encoded, y, weight, class_weight=balance)


def _region(view: View, i: int, judge: _Judge) -> Region:
    """One locality, or the exterior, and the scores of the three models on its rows."""
    mixture, target = view.mixture, view.mixture.target
    inside, local = view.applicable[i], mixture.models[i]
    locality = local if isinstance(local, Locality) else None
    own, exterior = (target.answer(view.scores[k][..., inside]) for k in (i, mixture.n_localities))
    rows = judge.at(inside)
    return Region(
        index=i,
        name=mixture.region_name(i),
        where=_where(mixture, i),
        feature_names=local.feature_names,
        center=None if locality is None else locality.center,
        radius=None if locality is None else locality.radius,
        half_width=None if locality is None else locality.half_width,
        n_rows=int(inside.sum()),
        share=float(inside.mean()),
        n_used=int((view.used == i).sum()),
        balance=rows.balance,
        score=rows.score(own),
        exterior_score=rows.score(exterior),
        linear_score=rows.score(rows.linear),
        coef=local.coef,
        coef_scale=local.coef_scale,
        intercept=local.intercept,
        intercept_scale=local.intercept_scale,
        formula=local.formula(),
        base=None if local.reference is None else local.base,
        factors=() if local.reference is None else tuple(local.factors()),
        formulas={label: local.of_class(label).formula() for label in local.classes},
        shapes=tuple(_curve(local, one) for one in local.shapes),
        **_correction(local),
        **_rows_inside(mixture, i),
    )


def _rows_inside(mixture: Mixture, i: int) -> dict[str, Any]:
    """What the training rows of a model are like, and where its center is beyond all rows."""
    summary = mixture.provenance.summary
    if summary is None:
        return {}
    local, names = mixture.models[i], mixture.inputs.names
    outside: tuple[str, ...] = ()
    if isinstance(local, Locality):
        beyond = summary.outside(local.center)
        outside = tuple(name for name, one in zip(names, beyond, strict=True) if one)
    return {"median": decode(mixture.inputs.groups, summary.medians[i]), "outside": outside}


def _curve(local: LocalModel, shape: Shape) -> dict[str, Any]:
    """The whole curve of a column; of several classes the values have an axis."""
    zero = local.reference_of(shape.column)
    x = np.union1d(shape.knots, zero)
    each = [local.curve(shape.column, x, label) for label in local.classes or (None,)]
    value = np.array([one.value for one in each])
    return {
        "column": local.feature_names[shape.column],
        "reference": zero,
        "x": x,
        "value": value if local.classes else value[0],
        "scale": np.max([one.scale for one in each], axis=0),
    }


def _where(mixture: Mixture, i: int) -> str:
    local = mixture.models[i]
    if isinstance(local, Locality):
        return local.where
    return "all other rows" if mixture.n_localities else "all rows"


def _correction(local: LocalModel) -> dict[str, Any]:
    """How a model differs from the exterior model; nothing where it is independent."""
    if local.exterior is None:
        return {}
    return {
        "correction": local.correction(),
        "differences": tuple(local.differences()),
        "exterior_coef": local.exterior.model.coef,
    }


def _linear(
    target: Target,
    reference: LinearReference | None,
    X: Array,
    y: AnyArray,
    weight: Array | None,
) -> tuple[AnyArray, str]:
    """What one linear model answers for each row, and what texts call it: the reference, or one
    fitted to the other rows (in five parts; to all of them where they are many).
    """
    name = "one linear model"
    if reference is not None:
        codes, classes = reference.predict(X), target.classes
        return (codes if classes is None else classes[codes]), name
    if not X.shape[1]:  # of categories that were pooled to one, nothing is left
        X = np.zeros((len(X), 1))
    linear, parts = target.simple_model(), min(_PARTS, len(y) // 2)
    if target.stratify:
        labels, counts = np.unique(y, return_counts=True)
        if len(labels) < 2:
            return np.asarray(y), name
        parts = min(_PARTS, int(counts.min()))
    given = {} if weight is None else {f"{linear.steps[-1][0]}__sample_weight": weight}
    if parts < 2 or len(y) > _MANY:
        return np.asarray(linear.fit(X, y, **given).predict(X)), f"{name} of these rows"
    shuffled = KFold(parts, shuffle=True, random_state=0)
    folds = StratifiedKFold(parts) if target.stratify else shuffled
    answers = cross_val_predict(linear, X, y, cv=folds, params=given)
    return np.asarray(answers), f"cross-validated {name.removeprefix('one ')}"


def _importance(mixture: Mixture, X: Any) -> Importance:
    """Without the warnings that were given when the rows were read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MotlmWarning)
        return importance(mixture, X)
