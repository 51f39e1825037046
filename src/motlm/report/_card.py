"""The top of a report: what is predicted, from which rows, for what use; and how far it may be
relied on, in one sentence and one of three colors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from ..cards import ModelCard
from ..certificates import Certificate, RateCertificate, round_interval
from ..mixture import Mixture
from ..tables import number

__all__ = ["Badge", "badge_of", "badge_of_rates", "facts_of", "statements_of"]

_LABELS = 6  # that are named
_NOT_STATED = "not stated"
_NOT_SHOWN = "Not shown"  # how the remark on a model that is not certified to be better begins
_GAINS = ("gain", "explained")  # statements that compare with the constant answer


@dataclass(frozen=True)
class Badge:
    """A color with its meaning, and what is certified, in a sentence.

    green: a certified statement says that the model is better than the constant answer, and none
    says that this is not shown.
    amber: certified, but not shown to be better than that, or only with large errors aside; or not
    certified, but measured on rows that were not used for fitting.
    red: nothing is certified and rows may have been used for fitting, the certificate is void or
    not informative, or the model was seen to be worse than the constant answer.
    """

    color: str
    meaning: str
    sentence: str


def badge_of(
    certificate: Certificate | None, void: str, unseen: bool, bars: list[dict[str, Any]]
) -> Badge:
    """Of labels and numbers; `bars` has the model first and the constant answer last."""
    own, constant = bars[0], bars[-1]
    worse = len(bars) > 1 and own["value"] > constant["value"]
    if certificate is not None:
        one = certificate.headline
        name = one.baseline_name or "a constant answer"
        if one.value is None or (one.flags and not one.remarks[0].startswith(_NOT_SHOWN)):
            meaning = one.remarks[0] if one.remarks else "Too few rows"
            return Badge("red", meaning, one.brief)
        if worse:
            return Badge("red", f"Worse than {name} on the rows of this report", one.brief)
        better = not one.flags and _is_shown_better(certificate)
        if better is None:
            meaning = f"Certified to be better than {name}, with large errors aside"
            return Badge("amber", meaning, one.brief)
        if not better:
            return Badge("amber", f"Certified, but not shown to be better than {name}", one.brief)
        return Badge("green", f"Certified to be better than {name}", one.brief)
    if void:
        return Badge(
            "red",
            "Certificate void",
            f"This model has a certificate, but {void} Its figures are not quoted.",
        )
    seen = (
        "This model carries no certificate: the figures below were measured on the rows of this"
        " report and guarantee nothing."
    )
    if not unseen:
        return Badge("red", "Not certified, and rows may have been used for fitting", seen)
    if worse:
        return Badge("red", f"Not certified, and worse than {constant['name']}", seen)
    return Badge("amber", "Not certified; measured on rows that were not used for fitting", seen)


def _is_shown_better(certificate: Certificate) -> bool | None:
    """Whether a statement about the gain over the constant answer says so, and no statement about
    all cases says that it is not shown; None where the statement is about errors that are counted
    up to a size, and many are larger. A limit of the error below what the constant answer has on
    the same rows does not say so: that, too, differs from the long run.
    """
    rivals = ("", certificate.headline.baseline_name)  # not one linear model, which has its own
    whole = [
        one
        for one in certificate
        if not one.is_technical and not one.region and one.baseline_name in rivals
    ]
    gains = [one for one in whole if one.name in _GAINS]
    if any(text.startswith(_NOT_SHOWN) for one in whole for text in one.remarks):
        return False
    better = [one for one in gains if one.value is not None and one.value > 0]
    if better and all(one.flags for one in better):
        return None
    return bool(better)


def badge_of_rates(found: RateCertificate | None) -> Badge:
    """Of rates, which are certified on the rows of the report."""
    if found is None:
        return Badge(
            "red",
            "Not certified: rows were used for fitting",
            "This model carries no certificate: the figures below were measured on rows that were"
            " used for fitting, and guarantee nothing.",
        )
    whole, (less, seen) = found.ratios[0], found.reductions["the mean rate"]
    low, high = whole.free
    sure = f"{100 * (1 - found.delta):g} % confidence"
    up_to = "" if whole.largest is None else f", counting up to {number(whole.largest)} a row,"
    sentence = (
        f"With {sure}, actual over expected{up_to} is {round_interval(low, high)} in the long run"
        f" ({whole.ratio:.3f} on {found.n_rows} rows that were not used for fitting), and"
        f" the deviance {found.describe_reduction('the mean rate')}."
    )
    if not low <= 1.0 <= high:
        return Badge("red", "Actual and expected differ", sentence)
    if less is not None and less > 0:
        return Badge("green", "Certified to be better than the mean rate", sentence)
    if seen < 0:
        return Badge("red", "Worse than the mean rate on the rows of this report", sentence)
    return Badge("amber", "Certified, but not shown to be better than the mean rate", sentence)


def facts_of(
    mixture: Mixture, target: str, exposure: str | None, card: ModelCard, n_rows: int, rows: str
) -> dict[str, list[tuple[str, str]]]:
    """What stands on the card, and what is folded below it; pairs of a name and a text."""
    trained = mixture.provenance.fingerprint.n_rows
    day = f", on {card.fitted_on}" if card.fitted_on else ""
    shown = [
        ("Predicts", _predicts(mixture, target, exposure)),
        ("Intended use", card.intended_use or _NOT_STATED),
        ("Owner", card.owner or _NOT_STATED),
        ("Fitted to", f"{_count(trained, 'row')}{day}"),
        ("This report", f"{date.today().isoformat()}, {_count(n_rows, 'row')}; {rows}"),
    ]
    groups = mixture.inputs.groups
    texts = sum(group.levels is not None for group in groups)
    kinds = f"{len(groups) - texts} of numbers, {texts} of categories"
    data = [("Columns used", f"{len(groups)}: {kinds}")]
    constant = [group.name for group in groups if not mixture.inputs.varies[group.columns].any()]
    if constant:
        data.append(("Columns without variation, ignored", ", ".join(constant)))
    if card.n_read:
        data = [
            ("Table", f"{card.source}, {_count(card.n_read, 'row')}"),
            ("Rows left out", _left_out(card)),
            ("Rows fitted to", str(card.n_fitted)),
            ("Rows sealed for the certificate", str(card.n_sealed)),
            *data,
            ("Columns left out", ", ".join(card.columns_left_out) or "none"),
            ("Missing values", _missing(card)),
        ]
    return {"shown": shown, "data": data}


def _predicts(mixture: Mixture, target: str, exposure: str | None) -> str:
    name, classes = target or "the target", mixture.target.classes
    if classes is None:
        if mixture.target.describe().link == "log":
            return f"{name} per unit of {exposure}" if exposure else f"{name}, a rate"
        return f"{name}, a number"
    labels = [str(one) for one in classes.tolist()]
    if len(labels) > _LABELS:
        return f"{name}: one of {len(labels)} labels"
    return f"{name}: {', '.join(labels[:-1])} or {labels[-1]}"


def _count(number_of: int, what: str) -> str:
    return f"{number_of} {what}{'' if number_of == 1 else 's'}"


def _left_out(card: ModelCard) -> str:
    """How many rows were neither fitted to nor sealed, and why, as `motlm fit` prints it."""
    parts = (
        (card.n_without_target, "without a target"),
        (card.n_incomplete, "with missing values"),
        (card.n_set_aside, "set aside: further rows of sealed cases"),
    )
    told = ", ".join(f"{count} {why}" for count, why in parts if count)
    return f"{card.n_left_out} ({told})" if told else str(card.n_left_out)


def _missing(card: ModelCard) -> str:
    if not card.missing:
        return "none"
    each = ", ".join(f"{name} {count}" for name, count in card.missing.items())
    where = ""
    if card.n_set_aside is not None:
        where = f" in {_count(card.n_fitted + card.n_sealed + card.n_set_aside, 'row')}"
    return f"{sum(card.missing.values())}{where}: {each}"


def statements_of(certificate: Certificate) -> list[dict[str, Any]]:
    """Of each: its name, sentence, remarks and whether it is about another predictor."""
    return [
        {
            "title": one.title,
            "code": one.code,
            "sentence": _capital(replace(one, flags=()).sentence),
            "remarks": list(one.remarks),
            "technical": one.is_technical,
        }
        for one in certificate
    ]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
