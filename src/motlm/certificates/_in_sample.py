"""Certificates on the rows used for fitting, by PAC-Bayes: no rows are sealed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .._typing import AnyArray, Array, Booleans, Integers
from ..bounds import pac_bayes_kl
from ..errors import CertificateError, InputError, InputTypeError
from ..fingerprints import Fingerprint
from ..fitting import count_rows
from ..frames import columns_of, floats_of, from_arrow, has_text
from ..mixture import Mixture, mixture_of
from ..optimize import Solution
from ..problem import Table
from ..transformed import is_transformer
from ..units import Units
from . import _distributions as distributions
from ._checklist import checks_in_sample
from ._checks import check_labels, check_numbers, check_task, read_targets
from ._distributions import Draw, UnionRisk
from ._evidence import majority_of
from ._groups import count_groups, group_equal_rows, one_of_each
from ._guards import note_order, note_repeats_in_sample, refuse_weights
from ._issue import ISSUER, Certified, warn_notes
from ._models import core_of, replace_mixture
from ._reading import check_population, shorten
from ._records import POPULATION, Baseline
from ._rules import flag
from ._statements import Certificate, Statement
from ._trained import Trained, even_widths, move_to_medoids, read_training, round_widths
from ._words import INDEPENDENT, LABELS, PRIOR_IN_SAMPLE, SEED

__all__ = ["audit_in_sample", "certify_in_sample", "draw_in_sample"]

_LEAST = 20  # rows that fix the units, and rows to certify on
# shares of delta: of the headline, of the other of "any rule" and "one draw", and of each of the
# rest; a bound of tens of nats hardly depends on them
_HEADLINE, _SECOND, _SMALL = 0.6, 0.2, 0.1
_STREAM = 4  # of the seed, so that the draw is independent of a fit with the same seed
# inverse temperatures; the PAC-Bayes-kl bound holds for all posteriors at once
_TRIED = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)


def audit_in_sample(
    model: Any,
    X: Any,
    y: Any,
    *,
    delta: float = 0.05,
    tolerance: float | None = None,
    population: str = POPULATION,
    random_state: int = 0,
) -> Certificate:
    """Certify the posterior of a fitted motlm model on the rows used for fitting it, by the
    PAC-Bayes-kl bound.

    It is about models drawn at random from ``model.posterior_`` (with widths of columns, where
    they are learned, rounded to a grid): about one drawn anew for each case, by every rule that
    chooses among applicable models, and about the one that `draw_in_sample` draws. No statement is
    about the model itself, which predicts by the means of its posterior. The prior must not depend
    on the rows: the model must be fitted with `Units` of other rows, or, of classifiers,
    ``standardize=False``, and with ``local_models="linear"``, since additive ones take the knots of
    their curves from the rows. What was chosen on the same rows is paid for: n_localities, the
    columns and widths of each locality, scales of the prior, rows as centers.

    Parameters
    ----------
    model : fitted LocalMixtureClassifier or LocalMixtureRegressor, or its `mixture_`
    X, y : the rows used for fitting it, all of them
    delta : float, default=0.05
    tolerance : float, default=None
        Of regression: the error that is still acceptable. It must be chosen without the rows, and
        be given.
    population : str
        What the cases are called in the sentences.
    random_state : int, default=0
        Seed of the one draw. Fix it before you look at any result.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.certificates import audit_in_sample
    >>> from motlm.datasets import make_clf_case2
    >>> X, y = make_clf_case2(400, random_state=0)
    >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
    >>> mixture = LocalMixtureClassifier(
    ...     points_of_interest=points,
    ...     inverse_temperature=4,
    ...     n_starts=1,
    ...     local_models="linear",
    ...     standardize=False,
    ...     random_state=0,
    ... )
    >>> certificate = audit_in_sample(mixture.fit(X, y), X, y)
    >>> [statement.name for statement in certificate]
    ['any rule', 'one draw', 'silent error', 'ambiguity']
    >>> print(certificate.headline)  # doctest: +ELLIPSIS
    With 97 % confidence over the draw of the 400 rows used for fitting, whichever applicable local
    model is used, ...
    """
    if core_of(model) is not model:
        if hasattr(model, "fit") and "standardize" in _parameters(model):
            check_is_fitted(model)
        raise InputTypeError(
            f"audit_in_sample needs a motlm estimator or its mixture_; got a"
            f" {type(model).__name__}.",
            "Use audit on rows that were not used for fitting.",
        )
    delta, _, random_state = check_numbers(delta, 0.9, random_state)
    population = check_population(population)
    mixture = mixture_of(model)
    trained = read_training(mixture, X, y, tolerance)
    certifiable = _Certifiable.of(trained, mixture.hash)
    drawn = _draw(trained.mixture, _table(mixture, X, y), random_state)
    words = _Words.of(mixture, tolerance, trained.table, population)
    shares = {"W1": _HEADLINE, "W4": _SECOND}
    statements = _state(certifiable, drawn, delta, shares, words)
    rounded = ", its widths rounded" if trained.mixture.hash != mixture.hash else ""
    protocol = (
        f"in-sample on {len(trained.table.X)} rows, the posterior as trained{rounded}, seed"
        f" {random_state}"
    )
    checklist = checks_in_sample(_has_points(mixture))
    advice = "they are not independent draws: keep one of each, and fit again"
    note = note_repeats_in_sample(group_equal_rows(X, column_or_1d(y)), advice)
    notes = () if note is None else (note,)
    warn_notes(notes, stacklevel=2)
    return Certificate(
        statements, delta, True, mixture.hash, protocol, random_state, notes, ISSUER, checklist
    )


def draw_in_sample(model: Any, X: Any, y: Any, certificate: Certificate) -> Any:
    """The one model that the statement "one draw" of `audit_in_sample` is about: fixed, readable,
    and with a certificate of its own predictions.

    Parameters
    ----------
    model : fitted LocalMixtureClassifier or LocalMixtureRegressor, or its `mixture_`
    X, y : the rows used for fitting it, all of them
    certificate : Certificate
        Of `audit_in_sample`, of this model and these rows.

    Returns
    -------
    estimator or Mixture
        As the model is. An estimator carries the certificate.

    Examples
    --------
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.certificates import audit_in_sample, draw_in_sample, verify
    >>> from motlm.datasets import make_twonorm
    >>> X, y = make_twonorm(400, random_state=0)
    >>> options = {"local_models": "linear", "standardize": False, "random_state": 0}
    >>> model = LocalMixtureClassifier(0, **options).fit(X, y)
    >>> certificate = audit_in_sample(model, X, y)
    >>> drawn = draw_in_sample(model, X, y, certificate)
    >>> [statement.name for statement in verify(drawn, certificate)]
    ['one draw']
    >>> certificate["one draw"].errors == int((drawn.predict(X) != y).sum())
    True
    """
    if not isinstance(certificate, Certificate):
        raise InputTypeError(
            f"certificate must be one of audit_in_sample; got a {type(certificate).__name__}."
        )
    mixture = mixture_of(model)
    about = certificate.of("W4")
    if not about or certificate.seed is None:
        raise CertificateError(
            "this certificate has no statement 'one draw' in-sample.", "Use audit_in_sample."
        )
    drawn = _draw(round_widths(mixture), _table(mixture, X, y), certificate.seed).mixture
    if drawn.hash != about[0].model:
        raise CertificateError(
            "this certificate is not about a draw from this model with these rows.",
            "Give the model and the rows that audit_in_sample was given.",
        )
    made = replace_mixture(model, drawn)
    if not isinstance(made, Mixture):
        made.certificate_ = certificate
    return made


def certify_in_sample(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    delta: float = 0.05,
    reference: float = 0.05,
    tolerance: float | None = None,
    population: str = POPULATION,
    random_state: int = 0,
    sample_weight: Any = None,
) -> Certified:
    """Fit and certify on the same rows, by the PAC-Bayes-kl bound, which holds for every posterior
    at once.

    A few rows are set aside to fix the units of the columns, since the prior must not depend on the
    others; for the same reason models are linear. Of the posterior as trained, others of more and
    less temperature, of widths rounded to a grid or equal, and of centers that are learned or put
    on training rows (medoids, which cost ln C(m, n) nats), the one with the smallest bound is
    taken. One model is drawn from it, with a seed fixed beforehand: that model is handed out, and
    the headline is about its predictions.

    Parameters
    ----------
    estimator : LocalMixtureClassifier or LocalMixtureRegressor
        Cloned. Its columns must be numbers; ``local_models="auto"`` is "linear" here.
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
        Seed of the choice of those rows, and of the draw. Fix it before you look at any result.
    sample_weight : None
        Weights are refused.

    Returns
    -------
    Certified
        Its `model` is the one that was drawn. Its `gibbs` has the certified posterior, of which the
        statement "any rule" is; it predicts by the posterior's means, usually better than the drawn
        one, but no statement is about that.

    Examples
    --------
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.certificates import certify_in_sample
    >>> from motlm.datasets import make_clf_case2
    >>> X, y = make_clf_case2(400, random_state=0)
    >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
    >>> mixture = LocalMixtureClassifier(
    ...     points_of_interest=points, inverse_temperature=4, n_starts=1, random_state=0
    ... )
    >>> model, certificate = certify_in_sample(mixture, X, y)
    >>> certificate.protocol
    'in-sample on 380 rows (20 set aside for units, seed 0), known centers'
    >>> certificate.headline.empirical < certificate.headline.value < certificate.headline.baseline
    True
    """
    refuse_weights(sample_weight)
    delta, _, random_state = check_numbers(delta, 0.9, random_state)
    population = check_population(population)
    X = from_arrow(X)
    _check_estimator(estimator, X, reference)
    y = read_targets(X, y)
    together = group_equal_rows(X, y)
    if count_groups(together) < len(y):
        used = np.sort(one_of_each(together, random_state))
        X, y = _safe_indexing(X, used), y[used]
    units, rest = _set_aside(estimator, X, y, reference, random_state)
    X1, y1 = _safe_indexing(X, rest), y[rest]
    model = clone(estimator).set_params(standardize=units, **_linear(estimator)).fit(X1, y1)
    fitted = mixture_of(model)
    trained = read_training(fitted, X1, y1, tolerance)
    found = [_best_posterior(one, delta) for one in _candidates(trained)]
    _, solution, best = min(found, key=lambda one: one[0])
    encoded, codes = fitted.encode(X), check_labels(fitted.target, y)
    made = _use_posterior(best, solution, Fingerprint.of(encoded, codes), trained.table)
    certifiable = _Certifiable.of(replace(best, mixture=made), made.hash)
    drawn = _draw(made, trained.table, random_state)
    words = _Words.of(made, tolerance, trained.table, population)
    shares = {"W4": _HEADLINE, "W1": _SECOND}
    statements = _state(certifiable, drawn, delta, shares, words)
    protocol = (
        f"in-sample on {len(best.risk.rows)} rows ({len(y) - len(rest)} set aside for units, seed"
        f" {random_state}), {best.centers} centers"
    )
    every = note_order(X, codes), note_repeats_in_sample(together, "one of each was used")
    notes = tuple(shorten(note) for note in every if note)
    certificate = Certificate(
        statements,
        delta,
        True,
        drawn.mixture.hash,
        protocol,
        random_state,
        notes,
        ISSUER,
        checks_in_sample(_has_points(fitted)),
    )
    warn_notes(notes, stacklevel=2)
    gibbs, fixed = replace_mixture(model, made), replace_mixture(model, drawn.mixture)
    gibbs.certificate_ = fixed.certificate_ = certificate
    return Certified(fixed, certificate, fixed, gibbs)


# -- the search ------------------------------------------------------------------------------------


def _parameters(estimator: Any) -> dict[str, Any]:
    return estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}


def _linear(estimator: Any) -> dict[str, str]:
    """Models that take no knots from the rows, of an estimator that has others too."""
    return {"local_models": "linear"} if "local_models" in _parameters(estimator) else {}


def _has_points(mixture: Mixture) -> bool:
    """Whether centers were given, by a person."""
    geometry = mixture.geometry
    return mixture.n_localities > 0 and not (geometry.learned or geometry.sought)


def _table(mixture: Mixture, X: Any, y: Any) -> Table:
    """The training rows, encoded."""
    encoded, codes = mixture.encode(X), check_labels(mixture.target, read_targets(X, y))
    return Table(encoded, codes, np.ones(len(codes)))


def _check_estimator(estimator: Any, X: Any, reference: float) -> None:
    if "standardize" not in _parameters(estimator):
        raise InputTypeError(
            f"certify_in_sample needs a motlm estimator; got a {type(estimator).__name__}.",
            "Use audit_in_sample." if isinstance(estimator, Mixture) else "Use certify.",
        )
    check_task(estimator)
    models = _parameters(estimator).get("local_models", "auto")
    if is_transformer(models):
        raise CertificateError(
            f"local_models={type(models).__name__} is fitted to the rows used for fitting, and"
            " in-sample the prior must not depend on them.",
            "Use local_models='linear', or certify, which seals rows.",
        )
    if models == "additive":
        raise CertificateError(
            "local_models='additive' takes the knots of its curves from the rows used for fitting,"
            " and in-sample the prior must not depend on them.",
            "Use local_models='linear', or certify, which seals rows.",
        )
    if _parameters(estimator).get("monotonic_cst") is not None:
        raise CertificateError(
            "monotonic_cst holds for a fitted model, but in-sample the model is drawn at random"
            " around it, and need not rise or fall as asked.",
            "Leave monotonic_cst out, or use certify, which certifies the fitted model itself.",
        )
    if has_text(X):
        raise CertificateError(
            "X has columns of text, whose levels would be taken from the rows used for fitting.",
            "Encode them by levels that are known beforehand, or use certify, which splits.",
        )
    if any(np.isnan(floats_of(column)).any() for column in columns_of(X)):
        raise CertificateError(
            "X has missing values, and what stands in for them would be taken from the rows used"
            " for fitting.",
            "Impute them beforehand by values from elsewhere, or use certify, which seals rows.",
        )
    if not 0 <= reference < 1:
        raise InputError(
            f"reference must be a share of the rows, at least 0 and below 1; got {reference!r}."
        )


def _set_aside(
    estimator: Any, X: Any, y: AnyArray, reference: float, seed: int
) -> tuple[Units | bool, Integers]:
    """Units from rows that are set aside, and the other rows."""
    given, regression = isinstance(estimator.standardize, Units), is_regressor(estimator)
    if regression and not given and reference == 0:
        raise CertificateError(
            "a regressor scales its target; set rows aside for its units (reference > 0), or give"
            " Units."
        )
    order = np.random.default_rng(seed).permutation(len(y))
    aside = max(round(reference * len(y)), _LEAST) if reference and not given else 0
    if len(y) - aside < _LEAST:
        raise CertificateError(
            f"{len(y)} rows are too few: {aside} fix the units, and at least {_LEAST} more are"
            " needed."
        )
    first, rest = order[:aside], np.sort(order[aside:])
    units: Units | bool = estimator.standardize if given else False
    if aside:
        rows = np.asarray(_safe_indexing(X, first), dtype=float)
        units = Units.of_rows(rows, np.asarray(y[first], dtype=float) if regression else None)
    return units, rest


def _candidates(trained: Trained) -> list[Trained]:
    """With learned centers, or with medoids; with learned widths, or with equal ones."""
    mixture = trained.mixture
    found, weight = [trained], mixture.posterior.column_weight
    if "column_weight" in mixture.geometry.free and not np.isin(weight, (0.0, 1.0)).all():
        found.append(even_widths(trained))  # the prior has both
    if not (mixture.n_localities and mixture.geometry.learned):
        return found
    found = [replace(one, price=one.price + math.log(2)) for one in found]
    return [*found, *(move_to_medoids(one) for one in found)]


def _best_posterior(trained: Trained, delta: float) -> tuple[float, Solution, Trained]:
    """The smallest PAC-Bayes-kl bound that is found on all rows, and its posterior."""
    found: list[tuple[float, Solution, Trained]] = []
    posterior, n_rows = trained.mixture.posterior, len(trained.risk.rows)
    free = replace(trained.risk, prior=trained.prior)
    for temperature in _TRIED[::-1]:  # from the posterior as trained towards those that cost less
        one = distributions.learn(free, posterior, temperature)
        posterior = one.posterior
        settled = trained.settle(posterior)
        one = replace(one, kl=settled.risk.kl(posterior))
        risk = min(settled.risk.of_posterior(posterior), 1.0)
        bound = float(pac_bayes_kl(risk, one.kl + trained.price, n_rows, delta))
        found.append((bound, one, settled))
    return min(found, key=lambda one: one[0])


def _use_posterior(
    best: Trained, solution: Solution, fingerprint: Fingerprint, rows: Table
) -> Mixture:
    """The mixture with the posterior that was found."""
    made = distributions.replace_posterior(best.mixture, solution.posterior, fingerprint)
    provenance = replace(
        made.provenance,
        gibbs_risk=solution.gibbs_risk,
        kl=solution.kl,
        inverse_temperature=solution.inverse_temperature,
    )
    return count_rows(replace(made, provenance=provenance), rows)


# -- statements ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Certifiable:
    """A posterior, its rows, and what it costs."""

    mixture: Mixture
    risk: UnionRisk
    table: Table  # the same rows
    kl: float
    price: float  # of discrete choices
    hash: str  # of the model from which the posterior is taken

    @classmethod
    def of(cls, trained: Trained, hash: str) -> _Certifiable:
        mixture, risk = trained.mixture, trained.risk
        kl = risk.kl(mixture.posterior)
        return cls(mixture, risk, trained.table, kl, trained.price, hash)


@dataclass(frozen=True, eq=False)
class _Drawn:
    """The one model that was drawn."""

    mixture: Mixture
    draw: Draw
    seed: int


def _draw(mixture: Mixture, table: Table, seed: int) -> _Drawn:
    """From the posterior of a mixture; the rows are those it applies to."""
    draw = distributions.draw_model(mixture.posterior, (seed, _STREAM))
    return _Drawn(count_rows(distributions.fix_draw(mixture, draw), table), draw, seed)


@dataclass(frozen=True)
class _Words:
    loss: str
    population: str
    baseline: Baseline
    tolerance: float | None
    assumptions: tuple[str, ...] = (INDEPENDENT, PRIOR_IN_SAMPLE)

    @classmethod
    def of(cls, mixture: Mixture, tolerance: float | None, table: Table, population: str) -> _Words:
        if mixture.target.task != "classification":
            return cls(f"is off by more than {tolerance:.15g}", population, Baseline(), tolerance)
        classes = mixture.target.classes
        assert classes is not None
        codes = mixture.target.code(classes)
        labels = classes[np.searchsorted(codes, table.target)]
        words = cls("errs", population, majority_of(labels), None)
        if len(np.unique(labels)) > 2:  # of two, how many there are is no choice
            return replace(words, assumptions=(*words.assumptions, LABELS))
        return words


def _state(
    one: _Certifiable, drawn: _Drawn, delta: float, shares: Mapping[str, float], words: _Words
) -> tuple[Statement, ...]:
    """The union loss and the one draw, the headline first; a classifier's silent errors and
    contradictions. Where there are none of the latter, the headline has their shares of delta.
    """
    found = one.risk.chances(one.mixture.posterior)
    several = one.mixture.target.task == "classification" and one.mixture.n_localities > 1
    wrong = _errors(drawn.mixture, one.table, words.tolerance)
    of_draw = {
        "predictor": "draw",
        "errors": int(wrong.sum()),
        # max: a negative ratio would make the bound smaller than what was seen
        "kl": max(_log_ratio(one, drawn) + one.price, 0.0),
        "details": {"seed": float(drawn.seed)},
        "assumptions": (*words.assumptions, SEED),
        "model": drawn.mixture.hash,
    }
    makers: dict[str, tuple[str, str, Array, dict[str, Any]]] = {
        "W1": ("any rule", words.loss, found.errs, {}),
        "W4": ("one draw", words.loss, wrong.astype(float), of_draw),
    }
    parts = dict(shares)
    if several and found.silent is not None and found.apart is not None:
        contradiction = "shows a contradiction between its local models"
        silent = "errs without showing a contradiction"
        makers["W2"] = ("silent error", silent, found.silent, {})
        makers["W3"] = ("ambiguity", contradiction, found.apart, {})
        parts |= {"W2": _SMALL, "W3": _SMALL}
    else:
        parts[next(iter(parts))] += 2 * _SMALL
    known: dict[str, Any] = {
        "n_rows": len(one.risk.rows),
        "predictor": "gibbs",
        "kl": float(one.kl + one.price),
        "assumptions": words.assumptions,
        "rows": "rows used for fitting",
        "population": words.population,
        "model": one.hash,
    }
    made = []
    for code, share in parts.items():
        name, loss, values, own = makers[code]
        baseline = words.baseline if code in shares else Baseline()
        entries = known | own | {"code": code, "name": name, "loss": loss}
        made.append(_bound(values, share * delta, baseline, entries))
    return tuple(made)


def _bound(values: Array, delta: float, baseline: Baseline, entries: dict[str, Any]) -> Statement:
    """By PAC-Bayes-kl, from the losses of the rows."""
    empirical = float(values.mean())
    value = float(pac_bayes_kl(empirical, entries["kl"], entries["n_rows"], delta))
    return Statement(
        value=value,
        empirical=empirical,
        delta=delta,
        baseline=baseline.share,
        baseline_name=baseline.name,
        baseline_label=baseline.label,
        flags=flag(value, baseline.share, baseline.name),
        **entries,
    )


def _errors(mixture: Mixture, table: Table, tolerance: float | None) -> Booleans:
    """The rows on which the predictions of a mixture err."""
    answers = np.concatenate([view.answer for view in mixture.views(table.X)])
    if mixture.target.task == "classification":
        return np.asarray(mixture.target.code(answers) != table.target)
    assert tolerance is not None
    return np.asarray(~(np.abs(answers - table.target) <= tolerance))


def _log_ratio(one: _Certifiable, drawn: _Drawn) -> float:
    return distributions.log_ratio(drawn.draw, one.mixture.posterior, one.risk.prior)
