"""The first screen of a report: the card, the badge, and how good the model is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from .._typing import AnyArray, Array
from ..cards import ModelCard
from ..certificates import Certificate, CertificateError, RateCertificate, audit_rates
from ..errors import InputError
from ..explanations import GlobalExplanation
from ..inputs import TableNotes
from ..mixture import View
from ..tables import number
from ..targets import Rate
from ._card import Badge, badge_of, badge_of_rates, facts_of
from ._judgment import Case, judge

__all__ = ["Wanted", "front_of"]

_GROUPED = "Rows that belong together"  # how the assumption of such a certificate begins
_DELTA = 0.05  # of limits, where no certificate has another


@dataclass(frozen=True, eq=False)
class Wanted:
    """What was given for the first screen."""

    exposure: Array | None
    probabilities: Any
    tolerance: float | None
    owner: str
    intended_use: str


def front_of(
    view: View,
    X: Any,
    y: AnyArray,
    explanation: GlobalExplanation,
    judged: dict[str, Any],
    notes: TableNotes,
    wanted: Wanted,
) -> dict[str, Any]:
    """What the template shows there."""
    mixture, certificate = view.mixture, explanation.certificate
    some = np.flatnonzero(judged["judged"])
    card = notes.card or ModelCard()
    every = len(some) == len(y)
    case = Case(
        view if every else mixture.view(view.encoded[some]),
        X if every else _safe_indexing(X, some),
        y[some],
        None if wanted.exposure is None else wanted.exposure[some],
        _chances(wanted.probabilities, len(y), some),
        explanation.reference,
        judged["unseen"],
        judged["unseen"] and _has_limits(mixture.target, certificate, judged["sealed"]),
        _DELTA if certificate is None else certificate.headline.delta,
        _tolerance(view, explanation, card, wanted.tolerance),
        0 if certificate is None else certificate.seed or 0,
    )
    rates = _certify_rates(case) if isinstance(mixture.target, Rate) else None
    quality = judge(case, None if rates is None else rates.deviance)
    certified_at = _certified_tolerance(explanation.certificate)
    if certified_at is not None and certified_at != case.tolerance:
        quality["bars"]["what"] += f"; the certificate is about more than {number(certified_at)}"
    badge = _badge(case, explanation, quality, rates)
    told = replace(
        card,
        owner=wanted.owner or card.owner,
        intended_use=wanted.intended_use or card.intended_use,
    )
    as_certified = judged["sealed"] or judged["n_copies"] > 0
    which = _which(judged) + ("" if as_certified else _of_groups(certificate))
    facts = facts_of(mixture, notes.target, notes.exposure, told, len(y), which)
    return {
        "badge": badge,
        "facts": facts,
        "identifiers": card.identifiers,
        "quality": quality,
        "n_judged": len(some),
        "delta": case.delta,
        "certified": case.certified,
        "sealed": judged["sealed"],
        "rate_certificate": None if rates is None else _blocks(str(rates)),
        "exposure_name": notes.exposure,
    }


def _has_limits(target: Any, certificate: Certificate | None, sealed: bool) -> bool:
    """Whether limits hold on rows that were not used for fitting: with a certificate, and unless
    rows belong together, of which the certificate counts one for each group.
    """
    if isinstance(target, Rate):
        return True
    if certificate is None:
        return False
    return sealed or not _is_grouped(certificate)


def _blocks(text: str) -> list[dict[str, Any]]:
    """Lines of a text, each with the points below it."""
    made: list[dict[str, Any]] = []
    for line in text.splitlines():
        if line.startswith("- ") and made:
            made[-1]["items"].append(line[2:])
        else:
            made.append({"text": line, "items": []})
    return made


def _badge(
    case: Case,
    explanation: GlobalExplanation,
    quality: dict[str, Any],
    rates: RateCertificate | None,
) -> Badge:
    if isinstance(case.mixture.target, Rate):
        return badge_of_rates(rates)
    return badge_of(
        explanation.certificate, explanation.void, case.unseen, quality["bars"]["lines"]
    )


def _certify_rates(case: Case) -> RateCertificate | None:
    """On the rows of the report, where none was used for fitting."""
    if not case.unseen:
        return None
    try:
        return audit_rates(case.mixture, case.X, case.y, exposure=case.exposure, delta=_DELTA)
    except CertificateError:
        return None


def _tolerance(
    view: View, explanation: GlobalExplanation, card: ModelCard, given: float | None
) -> float:
    """The error that is still acceptable: the one given, the certificate's, that of the fit, or
    twice the typical error.
    """
    target = view.mixture.target
    if given is not None:
        if target.classes is not None or isinstance(target, Rate):
            raise InputError("tolerance is for models of numbers; leave it out.")
        if not (np.isfinite(given) and given > 0):
            raise InputError(f"tolerance must be a positive number; got {given!r}.")
        return float(given)
    certified = _certified_tolerance(explanation.certificate)
    if certified is not None:
        return certified
    return card.tolerance or 2.0 * float(target.tolerance)


def _certified_tolerance(certificate: Certificate | None) -> float | None:
    found = None if certificate is None else certificate.headline.details.get("tolerance")
    return None if found is None else float(found)


def _chances(probabilities: Any, n_rows: int, some: AnyArray) -> Array | None:
    if probabilities is None:
        return None
    given = np.asarray(probabilities, dtype=float)
    if given.ndim != 2 or len(given) != n_rows:
        raise InputError(
            f"probabilities must have a row for each of the {n_rows} rows of X; got an array of"
            f" shape {given.shape}."
        )
    return np.asarray(given[some])


def _which(judged: dict[str, Any]) -> str:
    """Which of the rows the model is judged on."""
    share, copies = judged["fitted_share"], ""
    if judged["n_copies"]:
        many = judged["n_copies"] > 1
        copies = f"; {judged['n_copies']} {'copies are' if many else 'copy is'} not counted"
    if share is None:
        return "whether they were used for fitting is not known"
    those = "those of the certificate; " if judged["sealed"] else ""
    if share == 0:
        return f"{those}none of them was used for fitting{copies}"
    if judged["by_chance"]:
        return (
            f"{those}{100 * share:.0f} % of them equal a row used for fitting, as many as chance"
            f" explains{copies}"
        )
    text = f"{100 * share:.0f} % of them were used for fitting"
    if not judged["unseen"]:
        return text
    if judged["all_known"]:
        return f"{text}; the model is judged on the other {judged['n_fresh']}{copies}"
    return (
        f"{text}; the model is judged on {judged['n_fresh']} others, those of which that is known"
        f"{copies}"
    )


def _of_groups(certificate: Certificate | None) -> str:
    if certificate is None or not _is_grouped(certificate):
        return ""
    return "; each row counts here, while the certificate counts one of each group"


def _is_grouped(certificate: Certificate) -> bool:
    return any(text.startswith(_GROUPED) for text in certificate.headline.assumptions)
