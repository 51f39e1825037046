"""From evidence to a certificate: how delta is shared out, the statements, the models certified."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .._version import __version__
from ..errors import CertificateError, InputError, MotlmWarning
from ._checklist import checks_of_rows
from ._classification import CLASSIFICATION
from ._common import Maker
from ._evidence import Evidence
from ._models import core_of
from ._reading import MOST_STATEMENTS, check_population, shorten
from ._regression import REGRESSION
from ._rules import flag_headline
from ._statements import Certificate, Ledger

__all__ = ["ISSUER", "Certified", "Spend", "issue", "make_certificate", "share_out", "warn_notes"]

ISSUER = f"motlm {__version__}"
Spend = Mapping[str, float] | str | None


@dataclass(frozen=True)
class Certified:
    """A fitted model, its certificate, and the two other predictors that the certificate is about.

    It unpacks into the first two: ``model, certificate = certify(...)``.

    Attributes
    ----------
    model : the fitted estimator, or pipeline
        The headline is about it and its `predict`.
    certificate : Certificate
    drawn : estimator or None
        The one model drawn from the certified distribution, of the statement "one draw"; None where
        there is no such statement. In-sample it is the model itself.
    gibbs : estimator or None
        The distribution of the statement "any rule", as an estimator; None where there is no such
        statement.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from motlm.certificates import certify
    >>> from motlm.datasets import make_twonorm
    >>> X, y = make_twonorm(400, random_state=0)
    >>> certified = certify(LogisticRegression(), X, y)
    >>> certified.model.n_features_in_, certified.certificate.headline.n_rows
    (20, 120)
    >>> model, certificate = certified
    >>> model is certified.model
    True
    """

    model: Any
    certificate: Certificate
    drawn: Any = None  # the model of the statement "one draw"
    gibbs: Any = None  # the distribution of the statement "any rule", as an estimator

    def __iter__(self) -> Iterator[Any]:
        return iter((self.model, self.certificate))

    def __str__(self) -> str:
        return f"{self.model}\n{self.certificate}"


def issue(evidence: Evidence, delta: float, spend: Spend, stacklevel: int = 2) -> Certified:
    """The certificate of some evidence, with the predictors that it is about."""
    spent = share_out(evidence, delta, spend)
    certificate = make_certificate(evidence, spent, delta, spend != "each")
    warn_notes(evidence.words.notes, stacklevel + 1)
    gibbs = drawn = None
    if evidence.randomized is not None:
        if "any rule" in spent:
            gibbs = evidence.randomized.gibbs(spent["any rule"])
        if "one draw" in spent:
            drawn = evidence.randomized.draw(spent["one draw"]).model
    for model in (evidence.subject.model, gibbs, drawn):
        core = core_of(model)
        if core is not None:
            core.certificate_ = certificate
    return Certified(evidence.subject.model, certificate, drawn, gibbs)


def make_certificate(
    evidence: Evidence, spent: Mapping[str, float], delta: float, together: bool
) -> Certificate:
    """All statements that are paid for."""
    ledger = Ledger(delta if together else sum(spent.values()) + 1e-9)
    for name, part in spent.items():
        if part or not _is_free(name, evidence):
            ledger = ledger.spend(name, part)
    makers, words = _makers(evidence), evidence.words
    check_population(words.population)
    statements = [one for name, part in spent.items() for one in makers[name].make(evidence, part)]
    if len(statements) > MOST_STATEMENTS:
        raise CertificateError(
            f"{len(statements)} statements are more than a certificate may have,"
            f" {MOST_STATEMENTS}.",
            "Name those that you need in spend, without those of each locality.",
        )
    return Certificate(
        flag_headline(statements),
        delta,
        together,
        evidence.subject.hash,
        words.protocol,
        evidence.seed,
        tuple(shorten(note) for note in words.notes),
        ISSUER,
        checks_of_rows(words.rows, evidence.has_points),
    )


def warn_notes(notes: Iterable[str], stacklevel: int) -> None:
    """Notes of a certificate as warnings, at the user's call."""
    for note in notes:
        warnings.warn(MotlmWarning(note), stacklevel=stacklevel + 1)


def _makers(evidence: Evidence) -> Mapping[str, Maker]:
    return CLASSIFICATION if evidence.subject.classification else REGRESSION


def _is_free(name: str, evidence: Evidence) -> bool:
    """Whether a statement needs no confidence."""
    return name == "interval" and evidence.sizes.marginal


def share_out(evidence: Evidence, delta: float, spend: Spend) -> dict[str, float]:
    """How much of delta each statement gets; an error for one that cannot be made."""
    makers = _makers(evidence)
    if spend is None or isinstance(spend, str):
        return _share_by_default(evidence, delta, spend)
    strange = [name for name in spend if name not in makers]
    if strange:
        raise InputError(f"spend names {strange[0]!r}; there are {', '.join(makers)}.")
    for name in spend:
        need = makers[name].need
        if not need.met(evidence):
            raise InputError(f"{name!r} needs {need.words}.")
    if not spend:
        raise InputError("spend names no statement; leave it out for all of them.")
    return {name: float(value) for name, value in spend.items()}


def _share_by_default(evidence: Evidence, delta: float, spend: str | None) -> dict[str, float]:
    """All statements that are not the same as another: that depends on the number of localities,
    not on these rows.
    """
    if spend not in (None, "each"):
        raise InputError(
            "spend must be None, 'each' or a mapping of statements to shares of delta; got"
            f" {spend!r}."
        )
    made = {
        name: maker.share
        for name, maker in _makers(evidence).items()
        if maker.need.met(evidence) and evidence.n_localities >= maker.need.n_localities
    }
    total = sum(share for name, share in made.items() if not _is_free(name, evidence))
    spent = {}
    for name, share in made.items():
        part = delta if spend else delta * share / total
        spent[name] = 0.0 if _is_free(name, evidence) else part
    return spent
