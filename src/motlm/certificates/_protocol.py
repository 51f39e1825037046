"""certify, audit and verify: which rows may decide what."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import gammaln
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import (
    _num_samples,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from .._typing import AnyArray, Array
from .._version import __version__
from ..bounds import pac_bayes_kl
from ..columns import has_text, is_missing
from ..combinations import ambiguity as disagreement
from ..errors import InputError, InputTypeError
from ..estimators import LocalMixture, LocalMixtureClassifier
from ..fingerprints import Fingerprint, row_keys
from ..localities import Units
from ..losses import OffBy, ZeroOne
from ..objective import Objective, lookup_of
from ..posterior import Posterior, Prior
from ..prediction import read
from ..problem import Problem, Table
from ..rows import Rows
from . import _laws
from ._evidence import (
    CLASSIFICATION,
    INDEPENDENT,
    REGRESSION,
    Evidence,
    Fitted,
    Rival,
    contradictions,
    flags_of,
    spending,
)
from ._guards import (
    core_of,
    model_hash,
    note_duplicates,
    note_order,
    note_shift,
    note_unlabeled,
    refuse_seen,
    refuse_weights,
)
from ._statements import Certificate, CertificateError, Ledger, Statement

__all__ = [
    "Certified",
    "audit",
    "certify",
    "certify_without_split",
    "prediction_interval",
    "split",
    "verify",
    "whole_sample",
]

_ISSUER = f"motlm {__version__}"
_PRIOR = (
    "The prior, its units included, the points of interest and the other settings were fixed"
    " without these rows."
)


@dataclass(frozen=True)
class Certified:
    """A fitted model, its certificate, and the two other predictors that the certificate speaks of.

    It unpacks into the first two: ``model, certificate = certify(...)``.

    Attributes
    ----------
    model : the fitted estimator, or pipeline
        It answers by `predict`, and is what most statements speak of.
    certificate : Certificate
    drawn : estimator or None
        The one model drawn from the certified law, of the statement "one draw"; None where there is
        no such statement.
    gibbs : estimator or None
        The law of the statement "any rule", as an estimator; None where there is no such statement.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from motlm.certificates import certify
    >>> from motlm.datasets import make_twonorm
    >>> X, y = make_twonorm(400, random_state=0)
    >>> certified = certify(LogisticRegression(), X, y)
    >>> certified.model.n_features_in_, certified.certificate.headline.n_rows
    (20, 200)
    >>> model, certificate = certified
    >>> model is certified.model
    True
    """

    model: Any
    certificate: Certificate
    drawn: Any = None  # the model of the statement "one draw"
    gibbs: Any = None  # the law of the statement "any rule", as an estimator

    def __iter__(self) -> Iterator[Any]:
        return iter((self.model, self.certificate))

    def __str__(self) -> str:
        return f"{self.model}\n{self.certificate}"


def certify(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    delta: float = 0.05,
    sealed: float = 0.5,
    spend: Mapping[str, float] | str | None = None,
    tolerance: float | None = None,
    clip: float | None = None,
    coverage: float = 0.9,
    marginal: bool = False,
    X_unlabeled: Any = None,
    population: str = "future cases drawn like these",
    random_state: int = 0,
    sample_weight: Any = None,
) -> Certified:
    """Fit on some rows, keep the others sealed until the end, and certify what is fitted on them.

    Parameters
    ----------
    estimator : a motlm estimator, a Pipeline that ends in one, or any scikit-learn classifier or
    regressor
        It is cloned. Everything that it learns (columns, units, centers, n_localities, lambda) it
        learns from the unsealed rows.
    X, y : rows and targets
        Independent rows from the population of interest.
    delta : float, default=0.05
        The probability with which the certificate may be wrong.
    sealed : float, default=0.5
        Share of the rows that is sealed.
    spend : None, "each" or mapping of statement to delta, default=None
        How delta is shared out. None: by default shares, such that all statements hold together.
        "each": every statement at delta, by itself. A mapping makes only the statements it names:
        "hold-out", "any rule", "one draw", "silent error", "ambiguity", "per locality", "gain"; of
        regression "tolerance", "squared error", "explained", "interval", "any rule", "one draw".
    tolerance : float, default=None
        Of regression: the error that is still acceptable, in the units of y. None is twice the root
        mean squared error that is expected from the unsealed rows, of which some are held out for
        it.
    clip : float, default=None
        Of regression: errors are counted up to this size. None is four such errors.
    coverage : float, default=0.9
        Of regression: the share of outcomes that a prediction interval has to contain.
    marginal : bool, default=False
        Whether intervals hold on average over sealed rows only (and need fewer of them), not with
        confidence 1 - delta.
    X_unlabeled : rows without targets, default=None
        Further rows from the population, on which contradictions are counted too.
    population : str
        What the cases are called in the sentences.
    random_state : int, default=0
        Seed of the split, of the one draw and of the order of the bets. Fix it before you look at
        any result.
    sample_weight : None
        Certificates count rows; weights are refused.

    Returns
    -------
    Certified
        With `model`, `certificate`, `drawn` and `gibbs`. The mixture keeps the certificate, too, as
        `certificate_`.

    Examples
    --------
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.certificates import certify
    >>> from motlm.datasets import make_clf_case1
    >>> X, y = make_clf_case1(random_state=0)
    >>> mixture = LocalMixtureClassifier(points_of_interest=[[-1, 0], [1, 0]], random_state=0)
    >>> model, certificate = certify(mixture, X, y)
    >>> print(certificate.headline)  # doctest: +ELLIPSIS
    With 98 % confidence over the draw of the ... sealed rows, this fixed model errs on at most ...
    """
    refuse_weights(sample_weight)
    delta, coverage, random_state = _check(delta, coverage, random_state)
    if not 0 < sealed < 1:
        raise InputError(f"sealed must be a number between 0 and 1; got {sealed!r}.")
    evidence, protocol, notes = sealed_evidence(
        estimator,
        X,
        y,
        sealed=sealed,
        tolerance=tolerance,
        clip=clip,
        coverage=coverage,
        marginal=marginal,
        X_unlabeled=X_unlabeled,
        population=population,
        random_state=random_state,
    )
    return issued(evidence, delta, spend, protocol, notes)


def split(n_rows: int, sealed: float = 0.5, random_state: int = 0) -> tuple[AnyArray, AnyArray]:
    """Which rows `certify` fits on, and which it keeps sealed: indices, in order.

    Whatever is done to a table before `certify` may look at the first only, such as the values that
    stand in for missing ones.

    Parameters
    ----------
    n_rows : int
    sealed : float, default=0.5
        Share of the rows that is sealed.
    random_state : int, default=0
        Seed of the split.

    Returns
    -------
    first, kept : ndarray of int
        The rows to fit on, and the sealed ones.

    Examples
    --------
    >>> from motlm.certificates import split
    >>> split(10, sealed=0.3, random_state=0)
    (array([0, 1, 3, 5, 7, 8, 9]), array([2, 4, 6]))
    """
    order = np.random.default_rng(random_state).permutation(n_rows)
    n_sealed = round(sealed * n_rows)
    if not 1 <= n_sealed < n_rows:
        raise CertificateError(
            f"{n_rows} rows cannot be split into some to fit on and some to seal; give more rows."
        )
    return np.sort(order[n_sealed:]), np.sort(order[:n_sealed])


def sealed_evidence(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sealed: float = 0.5,
    tolerance: float | None = None,
    clip: float | None = None,
    coverage: float = 0.9,
    marginal: bool = False,
    X_unlabeled: Any = None,
    population: str = "future cases drawn like these",
    random_state: int = 0,
) -> tuple[Evidence, str, list[str | None]]:
    """Split, fit, and let the model speak of the sealed rows; with the protocol in words, and
    notes.
    """
    y = _targets(X, y)
    first, kept = split(len(y), sealed, random_state)
    X0, y0, X1, y1 = _safe_indexing(X, first), y[first], _safe_indexing(X, kept), y[kept]
    classification = _is_classifier(estimator)
    _refuse_idle(classification, tolerance=tolerance, clip=clip)
    if not classification:
        _refuse_idle(True, X_unlabeled=X_unlabeled)
    _check_finite(y)
    model = clone(estimator).fit(X0, y0)
    try:
        fitted, rivals, encoded1, codes = _from_rows(model, X0, y0, X1, classification)
    except ValueError as error:
        if "categories that fit did not see" not in str(error):
            raise
        raise CertificateError(f"a category occurs among the sealed rows only: {error}") from error
    mixture = core_of(model, None)[0]
    notes = [note_order(X, _codes(y, codes)), note_shift(_codes(y0, codes), _codes(y1, codes))]
    if mixture is not None:
        _check_labels(mixture, y1)
        assert fitted.X is not None
        assert fitted.target is not None
        assert encoded1 is not None
        notes.append(
            note_duplicates(
                row_keys(fitted.X, fitted.target), row_keys(encoded1, _codes(y1, codes))
            )
        )
    unlabeled, note = _unlabeled(model, X_unlabeled, fitted.X, encoded1)
    notes.append(note)
    scale = (
        None if classification else _typical_error(estimator, model, mixture, X0, y0, random_state)
    )
    evidence = Evidence(
        model=model,
        mixture=mixture,
        X=encoded1,
        y=y1,
        said=_predicted(model, X1),
        fitted=fitted,
        rivals=rivals,
        classification=classification,
        tolerance=_size("tolerance", tolerance, 2.0, scale),
        clip=_size("clip", clip, 4.0, scale),
        coverage=coverage,
        marginal=marginal,
        unlabeled=unlabeled,
        seed=random_state,
        population=population,
        rows="sealed rows",
        trusted=False,
    )
    protocol = (
        f"split of {len(y)} rows: {len(first)} to fit on, {len(kept)} sealed, seed {random_state}"
    )
    return evidence, protocol, notes


def issued(
    evidence: Evidence,
    delta: float,
    spend: Mapping[str, float] | str | None,
    protocol: str,
    notes: list[str | None],
) -> Certified:
    """The certificate of some evidence, with the predictors that it speaks of."""
    spent = spending(evidence, delta, spend)
    certificate = _certificate(
        evidence, spent, delta, spend != "each", protocol, notes, stacklevel=4
    )
    gibbs = evidence.gibbs(spent["any rule"]) if "any rule" in spent else None
    drawn = evidence.draw(spent["one draw"])[0] if "one draw" in spent else None
    for one in (evidence.model, gibbs, drawn):
        mixture = None if one is None else core_of(one, None)[0]
        if mixture is not None:
            mixture.certificate_ = certificate
    return Certified(evidence.model, certificate, drawn, gibbs)


def audit(
    model: Any,
    X: Any,
    y: Any,
    *,
    delta: float = 0.05,
    spend: Mapping[str, float] | str | None = None,
    tolerance: float | None = None,
    clip: float | None = None,
    coverage: float = 0.9,
    marginal: bool = False,
    rival: Any = None,
    X_unlabeled: Any = None,
    population: str = "future cases drawn like these",
    random_state: int = 0,
    sample_weight: Any = None,
) -> Certificate:
    """Certify a model that exists, on rows that it has never seen.

    Parameters
    ----------
    model : fitted motlm estimator, or any fitted scikit-learn classifier or regressor
        A motlm model knows the rows it was fitted on, and refuses them. Of other models it is taken
        on trust.
    X, y : rows and targets
    rival : fitted predictor, default=None
        Another model, to certify the gain over it.
    delta, spend, tolerance, clip, coverage, marginal, X_unlabeled, population, random_state,
    sample_weight
        As in `certify`. For other models than motlm's, tolerance and clip must be given.

    Returns
    -------
    Certificate

    Examples
    --------
    A model of another kind, on rows that it was not fitted on:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from motlm.certificates import audit
    >>> from motlm.datasets import make_twonorm
    >>> X, y = make_twonorm(800, random_state=0)
    >>> model = LogisticRegression().fit(X[:400], y[:400])
    >>> certificate = audit(model, X[400:], y[400:], spend={"hold-out": 0.05})
    >>> statement = certificate["hold-out"]
    >>> statement.errors, statement.n_rows, round(statement.value, 3)
    (8, 400, 0.036)

    The bound is Clopper and Pearson's:

    >>> from motlm.bounds import clopper_pearson
    >>> bool(statement.value == clopper_pearson(statement.errors, statement.n_rows, 0.05))
    True
    """
    refuse_weights(sample_weight)
    delta, coverage, random_state = _check(delta, coverage, random_state)
    check_is_fitted(model)
    y = _targets(X, y)
    _check_finite(y)
    classification = _is_classifier(model)
    _refuse_idle(classification, tolerance=tolerance, clip=clip)
    if not classification:
        _refuse_idle(True, X_unlabeled=X_unlabeled, rival=rival)
    mixture, seen = core_of(model, X)
    fitted, encoded, codes = Fitted(None, None, None, None), None, None
    notes: list[str | None] = []
    if mixture is not None:
        encoded = mixture._encode(seen)
        fingerprint = mixture._fingerprint
        if classification:
            codes = mixture.classes_
            _check_labels(mixture, y)
            fitted = Fitted(None, None, None, None, codes[int(fingerprint.target_mean > 0)])
        else:
            fitted = Fitted(None, None, fingerprint.target_mean, fingerprint.target_scale)
        target = _codes(y, codes)
        notes = [
            refuse_seen(fingerprint, encoded, target),
            note_shift(fingerprint, target),
            note_order(X, target),
        ]
    else:
        notes = [note_order(X, _codes(y, np.unique(y) if classification else None))]
    unlabeled, note = _unlabeled(model, X_unlabeled, encoded)
    notes.append(note)
    scale = None if classification or mixture is None else float(mixture.residual_scale_)
    evidence = Evidence(
        model=model,
        mixture=mixture,
        X=encoded,
        y=y,
        said=_predicted(model, X),
        fitted=fitted,
        rivals=() if rival is None else (Rival("the rival", _predicted(rival, X)),),
        classification=classification,
        tolerance=_size("tolerance", tolerance, 2.0, scale),
        clip=_size("clip", clip, 4.0, scale),
        coverage=coverage,
        marginal=marginal,
        unlabeled=unlabeled,
        seed=random_state,
        population=population,
        rows="rows of the audit",
        trusted=mixture is None,
    )
    spent = spending(evidence, delta, spend)
    protocol = f"audit on {len(y)} rows, seed {random_state}"
    return _certificate(evidence, spent, delta, spend != "each", protocol, notes, stacklevel=3)


def whole_sample(
    model: LocalMixture,
    X: Any,
    y: Any,
    *,
    delta: float = 0.05,
    tolerance: float | None = None,
    population: str = "future cases drawn like these",
) -> Certificate:
    """Certify the law that a motlm model was trained to, on the rows it was trained on, by the
    PAC-Bayes-kl bound.

    It speaks of models drawn at random from ``model.posterior_``, and of every rule by which
    applicable models speak. The prior must not have seen the rows: the model must be fitted with
    `Units` of other rows, or, of classifiers, ``standardize=False``. If n_localities was chosen
    from the same rows, each number that was tried has a share of delta.

    Parameters
    ----------
    model : fitted LocalMixtureClassifier or LocalMixtureRegressor
    X, y : the rows it was fitted on, all of them
    delta : float, default=0.05
    tolerance : float, default=None
        Of regression: the error that is still acceptable. It must be chosen without the rows, and
        be given.
    population : str
        What the cases are called in the sentences.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.certificates import whole_sample
    >>> from motlm.datasets import make_clf_case2
    >>> X, y = make_clf_case2(400, random_state=0)
    >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
    >>> mixture = LocalMixtureClassifier(
    ...     points_of_interest=points, inverse_temperature=4, n_starts=1, standardize=False, random_state=0
    ... )
    >>> certificate = whole_sample(mixture.fit(X, y), X, y)
    >>> [statement.name for statement in certificate]
    ['any rule', 'silent error', 'ambiguity']
    >>> print(certificate.headline)  # doctest: +ELLIPSIS
    With 96 % confidence over the draw of the 400 rows it was fitted on, whichever applicable local
    model is asked, ...
    """
    if not isinstance(model, LocalMixture):
        raise InputTypeError(
            f"whole_sample needs a motlm estimator; got {type(model).__name__}. Use audit on rows"
            " it has not seen."
        )
    check_is_fitted(model)
    delta, _, _ = _check(delta, 0.9, 0)
    problem, rows, n_rows = _trained(model, X, y, tolerance)
    objective = Objective(
        problem.loss, problem.vicinity, _prior_of(model), rows, 1.0, combination=_laws.ANY
    )
    law, name = model.posterior_, model_hash(model)
    statements = _whole(
        name,
        problem,
        law,
        rows,
        n_rows,
        objective.kl(law),
        _mass(model),
        delta,
        _constant(model, y),
        population,
    )
    protocol = f"whole sample of {n_rows} rows, the law as trained"
    return Certificate(tuple(statements), delta, True, name, protocol, None, (), _ISSUER)


def certify_without_split(
    estimator: LocalMixture,
    X: Any,
    y: Any,
    *,
    delta: float = 0.05,
    reference: float = 0.05,
    tolerance: float | None = None,
    population: str = "future cases drawn like these",
    random_state: int = 0,
    sample_weight: Any = None,
) -> Certified:
    """Fit and certify on the same rows, by the PAC-Bayes-kl bound, which holds for every law at
    once.

    A few rows are set aside to fix the units of the columns, since the prior must not see the
    others. Of the law as trained, others of more and less temperature, and of centers that are
    learned or put on training rows (medoids, which cost ln C(m, n) nats), the one with the smallest
    bound is taken.

    Parameters
    ----------
    estimator : LocalMixtureClassifier or LocalMixtureRegressor
        Cloned. Its columns must be numbers.
    X, y : rows and targets
    delta : float, default=0.05
    reference : float, default=0.05
        Share of the rows that fixes the units (20 rows at least). 0 where X is in such units
        already. No rows are needed where the estimator has ``standardize=Units``.
    tolerance : float, default=None
        Of regression: the error that is still acceptable, in the units of y, chosen beforehand.
    population : str
        What the cases are called in the sentences.
    random_state : int, default=0
        Seed of the choice of those rows.
    sample_weight : None
        Weights are refused.

    Returns
    -------
    Certified
        Its `model` is the estimator with the certified law.

    Examples
    --------
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.certificates import certify_without_split
    >>> from motlm.datasets import make_clf_case2
    >>> X, y = make_clf_case2(400, random_state=0)
    >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
    >>> mixture = LocalMixtureClassifier(points_of_interest=points, inverse_temperature=4, n_starts=1, random_state=0)
    >>> model, certificate = certify_without_split(mixture, X, y)
    >>> certificate.protocol
    'whole sample of 380 rows (20 set aside for units, seed 0), known centers'
    >>> certificate.headline.empirical < certificate.headline.value < certificate.headline.baseline
    True
    """
    refuse_weights(sample_weight)
    delta, _, random_state = _check(delta, 0.9, random_state)
    if not isinstance(estimator, LocalMixture):
        raise InputTypeError(
            f"certify_without_split needs a motlm estimator; got {type(estimator).__name__}. Use"
            " certify."
        )
    if has_text(X):
        raise CertificateError(
            "X has columns of text, whose levels would be learned from the rows that certify."
            " Encode them by levels that are known beforehand, or use certify, which splits."
        )
    if not 0 <= reference < 1:
        raise InputError(
            f"reference must be a share of the rows, at least 0 and below 1; got {reference!r}."
        )
    y = _targets(X, y)
    _check_finite(y)
    given = isinstance(estimator.standardize, Units)
    regression = not isinstance(estimator, LocalMixtureClassifier)
    if regression and not given and reference == 0:
        raise CertificateError(
            "a regressor scales its target; set rows aside for its units (reference > 0), or give"
            " Units."
        )
    order = np.random.default_rng(random_state).permutation(len(y))
    aside = max(round(reference * len(y)), 20) if reference and not given else 0
    if len(y) - aside < 20:
        raise CertificateError(
            f"{len(y)} rows are too few: {aside} fix the units, and at least 20 more are needed."
        )
    first, rest = order[:aside], np.sort(order[aside:])
    X1, y1 = _safe_indexing(X, rest), y[rest]
    units: Any = estimator.standardize if given else False
    if aside:
        rows = np.asarray(_safe_indexing(X, first), dtype=float)
        units = Units.of_rows(rows, np.asarray(y[first], dtype=float) if regression else None)
    model = clone(estimator).set_params(standardize=units).fit(X1, y1)
    problem, rows1, n_rows = _trained(model, X1, y1, tolerance)
    n = model.posterior_.n_localities
    mass = _mass(model) * (
        0.5 if n and problem.points is None else 1.0
    )  # learned centers, or medoids
    bound, found = _laws.best_whole(
        problem, _prior_of(model), rows1, model.posterior_, n_rows, delta, mass
    )
    best = problem, found, rows1, n_rows, mass
    if n and problem.points is None:
        medoid, start, others, n_others, price = _medoids(model, problem, rows1, n_rows)
        prior = replace(_prior_of(model), center=np.zeros((n, 0)))
        lower, again = _laws.best_whole(medoid, prior, others, start, n_others, delta, mass * price)
        if lower < bound:
            best = medoid, again, others, n_others, mass * price
    chosen, solution, rows2, n_rows2, mass2 = best
    codes = _codes(y, getattr(model, "classes_", None))
    encoded = model._encode(X)
    seen = Table(encoded[rest], codes[rest], np.ones(len(rest)))
    made = _laws.as_model(model, chosen, solution.posterior, seen, Fingerprint.of(encoded, codes))
    made.gibbs_risk_, made.kl_ = solution.gibbs_risk, solution.kl
    made.inverse_temperature_, made.objective_ = solution.inverse_temperature, solution.objective
    name, baseline = model_hash(made), _constant(model, y1)
    statements = _whole(
        name,
        chosen,
        solution.posterior,
        rows2,
        n_rows2,
        solution.kl,
        mass2,
        delta,
        baseline,
        population,
    )
    centers = (
        "known" if problem.points is not None else "medoid" if chosen is not problem else "learned"
    )
    protocol = (
        f"whole sample of {n_rows2} rows ({aside} set aside for units, seed {random_state}),"
        f" {centers} centers"
    )
    notes = tuple(note for note in (note_order(X, codes),) if note)
    for note in notes:
        warnings.warn(note, stacklevel=2)
    certificate = Certificate(
        tuple(statements), delta, True, name, protocol, random_state, notes, _ISSUER
    )
    made.certificate_ = certificate
    return Certified(made, certificate, None, made)


def verify(model: Any, certificate: Certificate) -> tuple[Statement, ...]:
    """The statements of a certificate that are about this model; an error if there are none, since
    it was refitted or changed.

    Parameters
    ----------
    model : fitted estimator
    certificate : Certificate

    Returns
    -------
    tuple of Statement

    Raises
    ------
    CertificateError
        If no statement is about this model.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from motlm.certificates import certify, verify
    >>> from motlm.datasets import make_twonorm
    >>> X, y = make_twonorm(400, random_state=0)
    >>> model, certificate = certify(LogisticRegression(), X, y, spend={"hold-out": 0.05})
    >>> [statement.name for statement in verify(model, certificate)]
    ['hold-out']
    >>> verify(model.fit(X, y), certificate)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    motlm.certificates._statements.CertificateError: this certificate is not about this model ...
    """
    own = model_hash(model)
    if not own:
        raise CertificateError(
            "this model cannot be hashed, since it cannot be pickled; whether it is the certified"
            " one is unknown."
        )
    about = tuple(one for one in certificate.statements if one.model == own)
    if not about:
        raise CertificateError(
            f"this certificate is not about this model (its numbers hash to {own[:16]}, the"
            f" certificate's to {certificate.model[:16]}): it was refitted, edited, or is another"
            " one. Certify it anew."
        )
    return about


def prediction_interval(model: Any, certificate: Certificate, X: Any) -> Array:
    """The certified interval of each row, (n_rows, 2), in the units of y; infinite where a region
    had too few rows for one.

    Parameters
    ----------
    model : fitted regressor
    certificate : Certificate
        Of this very model, with the statement "interval".
    X : rows

    Returns
    -------
    ndarray, (n_rows, 2)
        Lower and upper end.

    Examples
    --------
    >>> from motlm import LocalMixtureRegressor
    >>> from motlm.certificates import certify, prediction_interval
    >>> from motlm.datasets import make_reg_case1
    >>> X, y = make_reg_case1(300, random_state=0)
    >>> mixture = LocalMixtureRegressor(points_of_interest=[[0.0189]], inverse_temperature=16, n_starts=1, random_state=0)
    >>> model, certificate = certify(mixture, X, y, spend={"interval": 0.05}, coverage=0.9)
    >>> prediction_interval(model, certificate, [[0.5], [1.5]]).round(2)
    array([[ 0.24,  0.3 ],
           [-0.85, -0.8 ]])
    """
    about = [one for one in verify(model, certificate) if one.name == "interval"]
    if not about:
        raise CertificateError(
            "this certificate has no prediction intervals; certify a regressor with the statement"
            " 'interval'."
        )
    half = np.array([np.inf if one.value is None else one.value for one in about])
    said = np.asarray(model.predict(X), dtype=float)
    mixture, seen = core_of(model, X)
    region = np.zeros(len(said), dtype=int)
    if mixture is not None:
        speaker = mixture.apply(seen)
        n = len(mixture.localities_)
        together = len(about) == n + 2  # several speak together: the last but one of the regions
        region = np.where(speaker == n, n + together, np.where(speaker < 0, n, speaker))
    return np.column_stack([said - half[region], said + half[region]])


# -- parts of the protocol -------------------------------------------------------------------------


def _check(delta: Any, coverage: Any, random_state: Any) -> tuple[float, float, int]:
    """As plain numbers, which the certificate can keep."""
    for name, value in (("delta", delta), ("coverage", coverage)):
        if not (isinstance(value, Real) and 0.0 < float(value) < 1.0):
            raise InputError(f"{name} must be a number between 0 and 1; got {value!r}.")
    if not isinstance(random_state, Integral) or isinstance(random_state, bool) or random_state < 0:
        raise InputError(
            "random_state must be an integer >= 0, which the certificate records; got"
            f" {random_state!r}."
        )
    return (
        float(np.format_float_positional(delta)),
        float(np.format_float_positional(coverage)),
        int(random_state),
    )


def _is_classifier(model: Any) -> bool:
    if not (is_classifier(model) or is_regressor(model)):
        raise InputTypeError(
            f"certificates are for classifiers and regressors; got a {type(model).__name__}."
        )
    return bool(is_classifier(model))


def _refuse_idle(idle: bool, **given: Any) -> None:
    """Options that would do nothing."""
    for name, value in given.items():
        if idle and value is not None:
            raise InputError(f"{name} has no part in certifying this kind of model; leave it out.")


def _check_finite(y: AnyArray) -> None:
    missing = (
        is_missing(y)
        if y.dtype == object
        else ~np.isfinite(y)
        if y.dtype.kind == "f"
        else np.zeros(len(y), dtype=bool)
    )
    if missing.any():
        raise CertificateError(
            f"y has {int(missing.sum())} missing or infinite values, the first at row"
            f" {int(np.flatnonzero(missing)[0])}; a case without an outcome certifies nothing."
            " Leave such rows out of the population, and say so."
        )


def _predicted(model: Any, X: Any) -> AnyArray:
    """What the model says, one value for each row."""
    said = column_or_1d(np.asarray(model.predict(X)))
    check_consistent_length(X, said)
    if said.dtype.kind == "f" and not np.isfinite(said).all():
        row = int(np.flatnonzero(~np.isfinite(said))[0])
        raise CertificateError(
            f"the model predicts {said[row]} for row {row}; a model that does not answer cannot be"
            " certified."
        )
    return np.asarray(said)


def _targets(X: Any, y: Any) -> AnyArray:
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    if _num_samples(X) == 0:
        raise CertificateError("there are no rows to certify on.")
    return np.asarray(y)


def _codes(y: AnyArray, classes: AnyArray | None) -> Array:
    """Targets as numbers: -1 and +1 for two labels, places in the list for more."""
    if classes is None:
        return np.asarray(y, dtype=float)
    if len(classes) == 2:
        return np.where(y == classes[1], 1.0, -1.0)
    return np.searchsorted(classes, y).astype(float)


def _check_labels(mixture: LocalMixture, y: AnyArray) -> None:
    if isinstance(mixture, LocalMixtureClassifier):
        strange = ~np.isin(y, mixture.classes_)
        if strange.any():
            raise CertificateError(
                f"the label {y[strange].tolist()[0]!r} is not among those that the model was fitted"
                f" on, {mixture.classes_.tolist()}; give more rows, or leave such rows out of the"
                " population, and say so."
            )


def _from_rows(
    model: Any, X0: Any, y0: AnyArray, X1: Any, classification: bool
) -> tuple[Fitted, tuple[Rival, ...], Array | None, AnyArray | None]:
    """What the rows of the fit say, one linear model of them, the sealed rows encoded, and the
    labels.
    """
    classes, constant, mean, scale = None, None, None, None
    if classification:
        classes, counts = np.unique(y0, return_counts=True)
        constant = classes[int(counts.argmax())]
    else:
        mean, scale = float(np.mean(y0)), float(np.std(y0))
    mixture, seen0 = core_of(model, X0)
    if mixture is None:
        return Fitted(None, None, mean, scale, constant), (), None, classes
    X, encoded1 = mixture._encode(seen0), mixture._encode(core_of(model, X1)[1])
    simple = make_pipeline(
        StandardScaler(),
        LogisticRegression(max_iter=2000) if classification else LinearRegression(),
    )
    rivals = (
        (Rival("one linear model for all rows", simple.fit(X, y0).predict(encoded1)),)
        if classification
        else ()
    )
    return Fitted(X, _codes(y0, classes), mean, scale, constant), rivals, encoded1, classes


def _typical_error(
    estimator: Any, model: Any, mixture: LocalMixture | None, X0: Any, y0: AnyArray, seed: int
) -> float:
    """The root mean squared error to expect, from the rows of the fit alone: of rows that a fit has
    not seen, if larger.
    """
    scale = float(np.std(y0))
    inside = float(np.sqrt(np.mean((_predicted(model, X0) - y0) ** 2)))
    scores = (
        [one.held_out_score for one in mixture.path_ if one.held_out_score is not None]
        if mixture is not None
        else []
    )
    if scores:  # the choice of n and lambda has held some out
        return max(inside, scale * float(np.sqrt(max(1.0 - max(scores), 0.0))))
    part = np.random.default_rng(seed).permutation(len(y0))
    some, rest = part[: len(y0) // 3], part[len(y0) // 3 :]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again = clone(estimator).fit(_safe_indexing(X0, rest), y0[rest])
            outside = float(
                np.sqrt(np.mean((_predicted(again, _safe_indexing(X0, some)) - y0[some]) ** 2))
            )
    except ValueError:  # too few rows, or categories, for a fit to two thirds of them
        outside = scale
    return max(inside, outside)


def _size(name: str, given: float | None, multiple: float, scale: float | None) -> float | None:
    """A size of errors: given, or a multiple of the typical one with four digits, so that it can be
    quoted in full.
    """
    if given is not None:
        if not (isinstance(given, Real) and np.isfinite(float(given)) and float(given) > 0.0):
            raise InputError(f"{name} must be a number > 0, in the units of y; got {given!r}.")
        return float(given)
    return float(f"{multiple * scale:.4g}") if scale else None


def _unlabeled(model: Any, X: Any, *labeled: Array | None) -> tuple[Any, str | None]:
    """Where local models contradict each other on further rows."""
    if X is None:
        return None, None
    mixture, seen = core_of(model, X)
    if mixture is None:
        raise InputError(
            "X_unlabeled serves to count contradictions between local models; this model has none."
        )
    encoded = mixture._encode(seen)
    note = note_unlabeled(row_keys(encoded), *(row_keys(one) for one in labeled if one is not None))
    return contradictions(mixture, encoded), note


def _certificate(
    evidence: Evidence,
    spent: dict[str, float],
    delta: float,
    together: bool,
    protocol: str,
    notes: list[str | None],
    stacklevel: int,  # of the user's call, as seen from here
) -> Certificate:
    ledger = Ledger(delta if together else sum(spent.values()) + 1e-9)
    for name, part in spent.items():
        if part or not (name == "interval" and evidence.marginal):
            ledger = ledger.spend(name, part)
    makers = CLASSIFICATION if evidence.classification else REGRESSION
    statements = [one for name, part in spent.items() for one in makers[name][0](evidence, part)]
    told = tuple(note for note in notes if note)
    for note in told:
        warnings.warn(note, stacklevel=stacklevel)
    return Certificate(
        tuple(statements), delta, together, evidence.hash, protocol, evidence.seed, told, _ISSUER
    )


# -- without a split -------------------------------------------------------------------------------


def _trained(
    model: LocalMixture, X: Any, y: Any, tolerance: float | None
) -> tuple[Problem, Rows, int]:
    """The model's problem with the union loss, its training rows, and how many they are; errors
    where the prior saw them.
    """
    regression = not isinstance(model, LocalMixtureClassifier)
    if model._units_from == "rows" or (regression and model._units_from != "given"):
        raise CertificateError(
            "the model has taken its units from the rows it was fitted on (standardize=True, or a"
            " regressor's target), so that its prior has seen them. Fit with"
            " standardize=motlm.Units.of_rows(other_rows), or a classifier with standardize=False"
            " in units fixed beforehand, or let certify_without_split do so."
        )
    if model.prior is not None and not model.prior.plain:
        raise CertificateError(
            "the localities have priors of their own; without a split they must have one, of plain"
            " numbers."
        )
    if model._fitted.metric is not None and model._fitted.metric.arguments:
        raise CertificateError(
            f"metric {model._fitted.metric.name!r} has taken its scales from the rows; use certify,"
            " which splits."
        )
    if model._columns.has_text:
        raise CertificateError(
            "the model has learned the levels of text columns from the rows; use certify, which"
            " splits."
        )
    encoded, target = model._encode(X), _targets(X, y)
    _check_finite(target)
    classification = not regression
    if model._units_from == "given":
        own, units = Units.of_rows(encoded), model._fitted.units
        if np.allclose(own.center, units.center, rtol=1e-9) and np.allclose(
            own.inverse_scale, units.inverse_scale, rtol=1e-9
        ):
            raise CertificateError(
                "standardize has the units of these very rows; take them from other rows."
            )
    if classification:
        _check_labels(model, target)
    codes = _codes(target, model.classes_ if classification else None)
    if not model._fingerprint.same_rows(row_keys(encoded, codes)):
        raise CertificateError(
            f"these {len(encoded)} rows are not the {model._fingerprint.n_rows} that the model was"
            " fitted on, all of them and no others; for rows that it has not seen use audit."
        )
    if not model._fitted.varies.all():
        raise CertificateError(
            "a column is constant in all rows, and was left out for that reason; leave it out of X."
        )
    if classification:
        loss: Any = ZeroOne()
    elif tolerance is None or not tolerance > 0:
        raise InputError(
            "tolerance is needed: a number > 0 in the units of y, chosen without these rows; got"
            f" {tolerance!r}."
        )
    else:
        loss = OffBy(tolerance / model._fitted.units.target_scale)
    problem = replace(model._fitted, loss=loss, combination=_laws.ANY)
    return problem, problem.rows_of(encoded, codes), len(encoded)


def _prior_of(model: LocalMixture) -> Prior:
    """Of the localities that are left."""
    prior: Prior = model._fitted.prior
    n = model.posterior_.n_localities
    return prior if len(np.asarray(prior.radius_shape)) == n else prior.keep(range(n))


def _mass(model: LocalMixture) -> float:
    """The prior weight of the number of localities: dropping some, or choosing it, used the same
    rows.
    """
    most = model._most_localities
    return (
        2.0**-most if model._fitted.points is not None else 1.0 / (most + 1)
    )  # any of known points may have been dropped


def _constant(model: LocalMixture, y: Any) -> tuple[float | None, str]:
    if not isinstance(model, LocalMixtureClassifier):
        return None, ""
    _, counts = np.unique(np.asarray(y), return_counts=True)
    return 1.0 - float(counts.max() / counts.sum()), "the majority class"


def _medoids(
    model: LocalMixture, problem: Problem, rows: Rows, n_rows: int
) -> tuple[Problem, Posterior, Rows, int, float]:
    """Centers moved to the nearest rows, which then certify no more; and the prior weight of such a
    choice, 1 / C(m, n).
    """
    law = model.posterior_
    n = law.n_localities
    taken: list[int] = []
    for i in range(n):
        away = ((rows.coordinates - law.center[i]) ** 2).sum(axis=1)
        away[taken] = np.inf
        taken.append(int(away.argmin()))
    centers = rows.coordinates[taken]
    fixed, start = _laws.frozen(model, problem.loss)
    points = np.zeros((n, len(problem.varies)))
    points[:, problem.varies] = centers
    fixed = replace(fixed, points=points)
    rest = np.setdiff1d(np.arange(len(rows)), taken)
    part = rows.part(rest)
    assert fixed.metric is not None
    distance = fixed.metric.distances(part.features, centers)
    price = gammaln(n_rows - n + 1) + gammaln(n + 1) - gammaln(n_rows + 1)
    return (
        fixed,
        replace(start, center=centers),
        replace(part, distance=distance),
        n_rows - n,
        float(np.exp(price)),
    )


def _whole(
    name: str,
    problem: Problem,
    law: Posterior,
    rows: Rows,
    n_rows: int,
    kl: float,
    mass: float,
    delta: float,
    baseline: tuple[float | None, str],
    population: str,
) -> list[Statement]:
    """Of the union loss the most of delta; of a classifier's silent errors and contradictions the
    rest.
    """
    lookup = lookup_of(problem.vicinity, law)
    readings = read(problem.vicinity, lookup, law, rows)
    losses = problem.loss.value_and_partials(rows.target, readings.mean, readings.variance).value
    errs = np.clip(_laws.ANY.value(readings.omega, losses), 0.0, 1.0)
    loss = problem.loss
    classification = isinstance(loss, ZeroOne)
    size = loss.tolerance * problem.units.target_scale if isinstance(loss, OffBy) else 0.0
    off = f"is off by more than {size:.12g}" if size else "errs"
    kinds = [("W1", "any rule", off, errs, delta)]
    if classification and law.n_localities > 1:
        apart = np.clip(disagreement(readings.omega, losses), 0.0, 1.0)
        kinds = [
            ("W1", "any rule", off, errs, 0.8 * delta),
            (
                "W2",
                "silent error",
                "errs without showing a contradiction",
                np.clip(errs - apart, 0.0, 1.0),
                0.1 * delta,
            ),
            (
                "W3",
                "ambiguity",
                "shows a contradiction between its local models",
                apart,
                0.1 * delta,
            ),
        ]
    cost = kl - np.log(mass)
    made = []
    for code, title, words, value, part in kinds:
        empirical = float(value @ rows.weight / rows.weight.sum())
        bound = float(pac_bayes_kl(empirical, cost, n_rows, part))
        made.append(
            Statement(
                code=code,
                name=title,
                value=bound,
                empirical=empirical,
                n_rows=n_rows,
                delta=part,
                loss=words,
                predictor="gibbs",
                kl=float(cost),
                baseline=baseline[0] if code == "W1" else None,
                baseline_name=baseline[1] if code == "W1" else "",
                flags=flags_of(bound, baseline if code == "W1" else (None, "")),
                assumptions=(INDEPENDENT, _PRIOR),
                rows="rows it was fitted on",
                population=population,
                model=name,
            )
        )
    return made
