"""Certificates as records: what is certified, of which predictor, on how many rows, at what
confidence; and in words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from hashlib import sha256
from html import escape
from math import ceil, floor, isfinite, log10
from typing import Any

from ..errors import InputError, MissingPackageError

__all__ = [
    "FEW",
    "NOT_BETTER",
    "UNCHECKED",
    "VACUOUS",
    "Certificate",
    "CertificateError",
    "Ledger",
    "Statement",
    "confidence",
    "rounded",
    "share",
]

VACUOUS = "VACUOUS"
UNCHECKED = (
    "That the model was not made from these rows is taken on trust: this kind of model does not"
    " remember its rows."
)
FEW = "TOO FEW ROWS"
NOT_BETTER = "NOT BETTER THAN {}"

PREDICTORS = {
    "fixed": "this fixed model",
    "gibbs": "a model drawn anew from the certified law for each case",
    "draw": "the one model drawn from the certified law",
}


class CertificateError(ValueError):
    """A certificate that cannot be given, does not belong to a model, or was changed.

    Examples
    --------
    >>> from motlm.certificates import Certificate, CertificateError
    >>> try:
    ...     Certificate.from_dict({"delta": 0.05})
    ... except CertificateError as error:
    ...     print(error)
    not a certificate: expected what Certificate.to_dict writes, with its digest.
    """


def rounded(value: float, up: bool, digits: int = 2) -> str:
    """A number with so many significant digits, rounded to the safe side: an upper bound up, a
    lower bound down.
    """
    if value == 0 or not isfinite(value):
        return f"{value:g}"
    step = 10.0 ** (floor(log10(abs(value))) - digits + 1)
    whole = value / step
    whole = ceil(whole - 1e-9) if up else floor(whole + 1e-9)
    return f"{whole * step:.{digits + 2}g}"


def share(value: float, up: bool) -> str:
    """A share in percent with one decimal, or two near 0 and 100 %, rounded to the safe side."""
    percent = 100.0 * value
    decimals = 1 if min(abs(percent), abs(100.0 - percent)) >= 0.95 else 2
    scale = 10**decimals
    safe = (ceil(percent * scale - 1e-7) if up else floor(percent * scale + 1e-7)) / scale
    return f"{safe:.{decimals}f} %"


def confidence(delta: float) -> str:
    """1 - delta in percent, rounded down."""
    percent = 100.0 * (1.0 - delta)
    decimals = max(1, ceil(0.7 - log10(100.0 * delta)))
    safe = floor(percent * 10**decimals + 1e-7) / 10**decimals
    return f"{safe:.{decimals}f}".rstrip("0").rstrip(".") + " %"


@dataclass(frozen=True)
class Statement:
    """One thing that is certified.

    `value` is None where there are too few rows to certify anything. `bound` says whether the true
    value is "at most" or "at least" that. `unit` is "share" of cases, "target" (the units of y), or
    "ratio".

    Attributes
    ----------
    code : str
        "C1" to "C6" of classification, "R1" to "R3" of regression, "W1" to "W3" of a whole sample.
    name : str
        As in `spend` of `certify`: "hold-out", "any rule" and so on.
    value : float or None
        What is certified.
    empirical : float or None
        What was seen on the rows.
    n_rows : int
        On how many rows it rests.
    delta : float
        The probability with which it may be wrong.
    loss : str
        What counts, in words: "errs".
    predictor : str
        "fixed" (the model), "gibbs" (a model drawn anew for each case) or "draw" (the one model
        that was drawn).
    bound : str
        "at most" or "at least".
    unit : str
        "share", "target" or "ratio".
    kl : float or None
        The divergence that the bound pays for, in nats.
    errors : int or None
        How many of the rows were errors.
    region : str
        Of a statement about one region: where it holds.
    baseline, baseline_name : float or None, str
        The same quantity of a trivial predictor, and its name.
    flags : tuple of str
        Warnings that stand before the sentence, such as "VACUOUS".
    assumptions : tuple of str
    population, rows : str
        What the cases, and the rows, are called.
    model : str
        Hash of the numbers of the predictor.
    details : dict
        Further numbers of some statements.

    Examples
    --------
    >>> from motlm.bounds import clopper_pearson
    >>> from motlm.certificates import Statement
    >>> bound = float(clopper_pearson(0, 60, 0.05))
    >>> statement = Statement("C1", "hold-out", bound, 0.0, 60, 0.05, loss="errs", predictor="fixed", errors=0)
    >>> print(statement)  # doctest: +ELLIPSIS
    With 95 % confidence over the draw of the 60 sealed rows, this fixed model errs on at most 4.9 %
    of future cases ...
    """

    code: str  # "C1" to "C6", "R1" to "R3", "W1" to "W3"
    name: str
    value: float | None
    empirical: float | None
    n_rows: int
    delta: float
    loss: str
    predictor: str  # "fixed", "gibbs", "draw"
    bound: str = "at most"
    unit: str = "share"
    kl: float | None = None
    errors: int | None = None
    region: str = ""
    baseline: float | None = None
    baseline_name: str = ""
    flags: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    population: str = "future cases drawn like these"
    rows: str = "sealed rows"
    model: str = ""  # hash of the numbers of the predictor
    details: dict[str, float] = field(default_factory=dict, hash=False)

    @property
    def sentence(self) -> str:
        """The statement in plain words, its flags first."""
        return "".join(f"{flag}: " for flag in self.flags) + _said(self)

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it, with the sentence."""
        return {
            **asdict(self),
            "flags": list(self.flags),
            "assumptions": list(self.assumptions),
            "sentence": self.sentence,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Statement:
        return cls(**_checked(cls, values))

    def to_frame(self) -> Any:
        """A pandas table of one row."""
        return _frame([self])

    def _repr_html_(self) -> str:
        return f"<p><b>{escape(self.code)} {escape(self.name)}</b><br>{escape(self.sentence)}</p>"

    def __str__(self) -> str:
        return self.sentence


def _said(one: Statement) -> str:
    """The words of each kind of statement."""
    if one.details.get("marginal"):
        return _on_average(one)
    opening = (
        f"With {confidence(one.delta)} confidence over the draw of the {one.n_rows} {one.rows}, "
    )
    who = PREDICTORS[one.predictor]
    if one.value is None:
        return _none(one)
    up = one.bound == "at most"
    counted = f"{one.errors} of {one.n_rows} seen" if one.errors is not None else ""
    observed = counted or (
        share(one.empirical, True) + " seen"
        if one.empirical is not None and one.unit == "share"
        else ""
    )
    verb = "errs" if one.loss == "errs" else "is off"
    beside = (
        f"; {one.baseline_name} {verb} on {share(one.baseline, False)} of them"
        if one.baseline is not None and one.unit == "share"
        else ""
    )
    noted = f" ({observed}{beside})" if observed else ""
    void = " It was fitted without those rows; refitting it voids this certificate."
    if UNCHECKED in one.assumptions:
        void = (
            " This holds if it was fitted without those rows, which was not checked; refitting it"
            " voids this certificate."
        )
    value = share(one.value, up) if one.unit in ("share", "ratio") else rounded(one.value, up, 3)
    text = opening
    if one.region and one.details["regions"] > 1:  # all regions together
        there = f"{one.region[0].upper()}{one.region[1:]} ({one.n_rows} {one.rows}), "
        text = (
            f"{there}with {confidence(one.delta)} confidence for all {one.details['regions']:.0f}"
            " regions together, "
        )
    if one.code == "C1":
        return text + f"{who} {one.loss} on at most {value} of {one.population}{noted}.{void}"
    if one.code in ("C2", "W1"):
        rule = "whichever applicable local model is asked, "
        other = " The answers of predict are those of a fixed model, of which this says nothing."
        return (
            text + f"{rule}{who} {one.loss} on at most {value} of {one.population}{noted}.{other}"
        )
    if one.code == "C3":
        seed = f" with seed {one.details['seed']:.0f}"
        return (
            text
            + f"{who}{seed} {one.loss} on at most {value} of {one.population}{noted}. Redrawing it"
            " voids this certificate."
        )
    if one.code in ("C4", "W2", "W3"):
        return text + f"{who} {one.loss} on at most {value} of {one.population}{noted}."
    if one.code == "C5":
        return text + f"{who} {one.loss} on at most {value} of {one.population}{noted}."
    if one.code == "C6":
        if one.value <= 0:
            return text + f"no gain over {one.baseline_name} is certified on {one.population}."
        points = f"{floor(1000 * one.value + 1e-9) / 10:g} percentage points"
        return (
            text + f"{who} {one.loss} at least {points} less often than {one.baseline_name} on"
            f" {one.population}."
        )
    if one.code == "R1":
        return text + f"{who} {one.loss} on at most {value} of {one.population}{noted}.{void}"
    if one.code == "R2" and one.unit == "target":
        clip, beyond = f"{one.details['clip']:.15g}", share(one.details["beyond"], True)
        return (
            text
            + f"{who} has a root mean squared error of at most {value} on {one.population}, errors"
            f" counted up to {clip} (they are larger on at most {beyond})."
        )
    if one.code == "R2":
        return (
            text
            + f"the mean squared error of {who} on {one.population} is at least {value} smaller"
            f" than that of always predicting {one.details['mean']:.4g}, the mean target of the"
            f" fit; errors counted up to {one.details['clip']:.15g} (they are larger on at most"
            f" {share(one.details['beyond'], True)})."
        )
    if one.code == "R3":
        sure = f"{100 * one.details['coverage']:g} % of the outcomes of {one.population}"
        return text + f"the prediction of {who} plus or minus {value} contains at least {sure}."
    raise InputError(f"no words for statement {one.code!r}.")


def _none(one: Statement) -> str:
    needed = f"; {one.details['needed']:.0f} are needed" if "needed" in one.details else ""
    return (
        f"no certificate {one.region}{' ' * bool(one.region)}from {one.n_rows} {one.rows}{needed}."
    )


def _on_average(one: Statement) -> str:
    """Of an interval that needs no confidence."""
    if one.value is None:
        return _none(one)
    where = f"{one.region[0].upper()}{one.region[1:]}, the" if one.region else "The"
    return (
        f"{where} prediction of {PREDICTORS[one.predictor]} plus or minus"
        f" {rounded(one.value, True, 3)} contains the outcome with probability at least"
        f" {100 * one.details['coverage']:g} % for {one.population}, on average over the draw of"
        f" the {one.n_rows} {one.rows} and of the case."
    )


@dataclass(frozen=True)
class Ledger:
    """The confidence that may be spent, and on what it was.

    Attributes
    ----------
    total : float
        The delta that may be spent.
    entries : tuple of (name, delta)
        On what it was.

    Examples
    --------
    >>> ledger = Ledger(0.05).spend("hold-out", 0.04)
    >>> round(ledger.left, 6)
    0.01
    """

    total: float
    entries: tuple[tuple[str, float], ...] = ()

    @property
    def spent(self) -> float:
        return sum(delta for _, delta in self.entries)

    @property
    def left(self) -> float:
        return self.total - self.spent

    def spend(self, name: str, delta: float) -> Ledger:
        if not delta > 0:
            raise CertificateError(f"{name!r} must be given a share of delta > 0; got {delta}.")
        if delta > self.left + 1e-12:
            raise CertificateError(
                f"{name!r} asks for delta = {delta:g}, but of {self.total:g} only"
                f" {max(self.left, 0.0):g} is left; raise delta, or spend less on the others."
            )
        return replace(self, entries=(*self.entries, (name, delta)))


@dataclass(frozen=True)
class Certificate:
    """All that is certified of a model, with what an auditor needs to check it.

    The first statement is the headline. With `together` all statements hold at once with confidence
    1 - delta; without, each holds by itself with that confidence, and nothing is said of all at
    once.

    Attributes
    ----------
    statements : tuple of Statement
    delta : float
        The probability with which the certificate may be wrong.
    together : bool
        Whether all statements hold at once.
    model : str
        Hash of the numbers of the certified model; see `verify`.
    protocol : str
        Which rows decided what, in words.
    seed : int or None
        Of the split, of the one draw and of the order of the bets.
    notes : tuple of str
        What looked odd in the rows.
    version : str
        Of the library that issued it.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from motlm.certificates import Certificate, certify
    >>> from motlm.datasets import make_twonorm
    >>> X, y = make_twonorm(400, random_state=0)
    >>> model, certificate = certify(LogisticRegression(), X, y)
    >>> certificate.validity
    'All 2 statements hold together with 95 % confidence.'
    >>> [statement.name for statement in certificate], certificate["hold-out"].n_rows
    (['hold-out', 'gain'], 200)
    >>> Certificate.from_dict(certificate.to_dict()) == certificate
    True
    """

    statements: tuple[Statement, ...]
    delta: float
    together: bool
    model: str  # hash of the numbers of the certified model
    protocol: str
    seed: int | None
    notes: tuple[str, ...] = ()
    version: str = ""

    @property
    def headline(self) -> Statement:
        return self.statements[0]

    @property
    def ledger(self) -> Ledger:
        """What was spent on which statement."""
        entries: dict[str, float] = {}
        for one in self.statements:
            part = f"{one.code} {one.name}"
            family = "regions" in one.details  # whose statements hold together at one delta
            entries[part] = one.delta if family else entries.get(part, 0.0) + one.delta
        return Ledger(
            self.delta if self.together else sum(entries.values()), tuple(entries.items())
        )

    def __getitem__(self, name: str) -> Statement:
        """The first statement of a name or code."""
        for one in self.statements:
            if name in (one.name, one.code):
                return one
        raise KeyError(
            f"no statement {name!r}; there are"
            f" {', '.join(dict.fromkeys(s.name for s in self.statements))}."
        )

    def of(self, name: str) -> tuple[Statement, ...]:
        """All statements of a name or code."""
        return tuple(one for one in self.statements if name in (one.name, one.code))

    def __iter__(self) -> Iterator[Statement]:
        return iter(self.statements)

    def __len__(self) -> int:
        return len(self.statements)

    @property
    def validity(self) -> str:
        """How the statements hold, in a sentence."""
        if len(self.statements) == 1:
            return f"The statement holds with {confidence(self.statements[0].delta)} confidence."
        if self.together:
            return (
                f"All {len(self)} statements hold together with {confidence(self.delta)}"
                " confidence."
            )
        return (
            f"Each statement holds by itself with the confidence it names; all {len(self)} together"
            f" are not certified at {confidence(self.delta)}. Quote the one that was chosen before"
            " it was read."
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it, with a digest by which a change is noticed (it is no signature)."""
        content = {
            "version": self.version,
            "protocol": self.protocol,
            "seed": self.seed,
            "delta": self.delta,
            "together": self.together,
            "model": self.model,
            "notes": list(self.notes),
            "statements": [one.to_dict() for one in self.statements],
        }
        return {**content, "digest": _digest(content)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Certificate:
        """The certificate that `to_dict` wrote; an error if it was changed since."""
        if not isinstance(values, dict) or "digest" not in values:
            raise CertificateError(
                "not a certificate: expected what Certificate.to_dict writes, with its digest."
            )
        content = {name: value for name, value in values.items() if name != "digest"}
        if _digest(content) != values["digest"]:
            raise CertificateError(
                "this certificate was changed after it was issued: its content does not fit its"
                " digest."
            )
        known = _checked(cls, content)
        known["statements"] = tuple(Statement.from_dict(one) for one in content["statements"])
        return cls(**known)

    def to_frame(self) -> Any:
        """A pandas table, one row for each statement."""
        return _frame(self.statements)

    def __str__(self) -> str:
        lines = [self.validity, "", *(f"{one.code}  {one.sentence}" for one in self.statements)]
        if self.notes:
            lines += ["", *(f"Note: {note}" for note in self.notes)]
        assumed = dict.fromkeys(text for one in self.statements for text in one.assumptions)
        if assumed:
            lines += ["", "Assumed:", *(f"- {text}" for text in assumed)]
        return "\n".join([*lines, "", f"Model {self.model[:16]}, {self.protocol}."])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(one.code)}</td><td"
            f" style='text-align:left'>{escape(one.sentence)}</td></tr>"
            for one in self.statements
        )
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        assumed = "".join(
            f"<li>{escape(text)}</li>"
            for text in dict.fromkeys(t for s in self.statements for t in s.assumptions)
        )
        return (
            f"<div><p><b>{escape(self.validity)}</b></p><table>{rows}</table>"
            + (f"<p>Notes</p><ul>{notes}</ul>" if notes else "")
            + (f"<p>Assumed</p><ul>{assumed}</ul>" if assumed else "")
            + f"<p>Model {escape(self.model[:16])}, {escape(self.protocol)}.</p></div>"
        )


def _checked(cls: type, values: dict[str, Any]) -> dict[str, Any]:
    names = {one.name for one in fields(cls)}
    strange = [name for name in values if name not in names and name != "sentence"]
    needed = [
        one.name for one in fields(cls) if one.default is MISSING and one.default_factory is MISSING
    ]
    missing = [name for name in needed if name not in values]
    if strange or missing:
        raise CertificateError(
            f"not a {cls.__name__.lower()}: unknown entries {strange}, missing entries {missing}."
        )
    tuples = ("flags", "assumptions", "notes")
    return {
        name: tuple(value) if name in tuples else value
        for name, value in values.items()
        if name in names
    }


def _digest(content: dict[str, Any]) -> str:
    return sha256(
        json.dumps(content, sort_keys=True, ensure_ascii=True, allow_nan=False).encode()
    ).hexdigest()


def _frame(statements: Any) -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingPackageError("to_frame needs pandas: pip install pandas") from error
    columns = (
        "code",
        "name",
        "region",
        "value",
        "bound",
        "empirical",
        "errors",
        "n_rows",
        "delta",
        "kl",
        "baseline",
        "predictor",
        "loss",
    )
    rows = [
        {
            **{name: getattr(one, name) for name in columns},
            "baseline": one.baseline,
            "flags": "; ".join(one.flags),
            "sentence": one.sentence,
        }
        for one in statements
    ]
    return pd.DataFrame(rows)
