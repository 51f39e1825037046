"""Certificates as records: what is certified, of which predictor, on how many rows, at what
confidence.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from datetime import date
from hashlib import sha256
from html import escape
from typing import Any

from ..errors import CertificateError, MissingPackageError
from ._checklist import CHECKLIST_TITLE, Check, tick
from ._reading import check_plain, check_regions, read_certificate, read_statement
from ._rules import flag, flag_headline
from ._words import basis, brief, confidence, remarks, sentence, title

__all__ = ["Certificate", "Ledger", "Statement"]

# the assumption by which `on_trust` is known in certificates that were issued without that entry
_ON_TRUST_BEFORE = (
    "That the model was not made from these rows is taken on trust: this kind of model does not"
    " remember its rows."
)


@dataclass(frozen=True)
class Statement:
    """One thing that is certified.

    `value` is None where there are too few rows to certify anything. `bound` is whether the true
    value is "at most" or "at least" that. `unit` is "share" of cases, "target" (the units of y),
    "ratio", or "difference" of two shares.

    Attributes
    ----------
    code : str
        "C1" to "C6" of classification, "R1" to "R3" of regression, "W1" to "W4" in-sample.
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
        "share", "target", "ratio" or "difference".
    kl : float or None
        The divergence that the bound pays for, in nats.
    errors : int or None
        How many of the rows were errors.
    region : str
        Of a statement about one region: where it holds.
    baseline, baseline_name : float or None, str
        The same quantity of a trivial predictor, and its name.
    flags : tuple of str
        Warnings that come before the sentence, such as "VACUOUS".
    assumptions : tuple of str
    population, rows : str
        What the cases, and the rows, are called.
    model : str
        Hash of the numbers of the predictor.
    details : dict
        Further numbers of some statements.
    region_index : int or None
        Of a statement about one region: index of the model used there, as `apply` gives it: that of
        the locality, n_localities for the exterior, -1 where several are averaged. None in
        certificates of earlier versions, whose regions are in this order, the exterior last.
    on_trust : bool
        Whether that the rows were not used for fitting could not be checked.
    baseline_label : str
        The label that the trivial predictor always answers, as Python writes it; empty if the
        answer is no label, and in certificates of earlier versions.

    Examples
    --------
    >>> from motlm.bounds import clopper_pearson
    >>> from motlm.certificates import Statement
    >>> bound = float(clopper_pearson(0, 60, 0.05))
    >>> statement = Statement(
    ...     "C1", "hold-out", bound, 0.0, 60, 0.05, loss="errs", predictor="fixed", errors=0
    ... )
    >>> print(statement)  # doctest: +ELLIPSIS
    With 95 % confidence over the draw of the 60 sealed rows, this fixed model errs on at most 4.9 %
    of future cases ...
    """

    code: str  # "C1" to "C6", "R1" to "R3", "W1" to "W4"
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
    region_index: int | None = None
    on_trust: bool = False
    baseline_label: str = ""

    @property
    def sentence(self) -> str:
        """The statement in plain words, its flags first."""
        return sentence(self)

    @property
    def brief(self) -> str:
        """The statement in a shorter sentence, without flags, for the top of a page."""
        return brief(self)

    @property
    def basis(self) -> str:
        """On which rows, and with which confidence: "53 sealed rows, 97.5 % confidence", to be put
        beside a limit. Limits of other rows, or with another confidence, are other numbers.
        """
        return basis(self)

    @property
    def title(self) -> str:
        """What it is about, in a few words: "Error rate"."""
        return title(self)

    @property
    def remarks(self) -> tuple[str, ...]:
        """The flags in words, such as "Not shown to be better than the majority class"."""
        return remarks(self)

    @property
    def is_technical(self) -> bool:
        """Whether it is about another predictor than the model that `predict` uses."""
        return self.predictor != "fixed"

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
        """The statement that `to_dict` wrote, in this version or an earlier one; an error that
        names the entry if one has another type or range, or does not follow from the others.
        """
        check_plain(values, "statement")
        return cls._read(values, "statement")

    @classmethod
    def _read(cls, values: Any, path: str) -> Statement:
        entries = read_statement(values, *_names(cls), path)
        entries.setdefault("on_trust", _ON_TRUST_BEFORE in entries["assumptions"])
        return cls(**entries)

    def to_frame(self) -> Any:
        """A pandas table of one row."""
        return _frame([self])

    def _repr_html_(self) -> str:
        return f"<p><b>{escape(self.code)} {escape(self.name)}</b><br>{escape(self.sentence)}</p>"

    def __str__(self) -> str:
        return self.sentence


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
    1 - delta; without, each holds by itself with that confidence, and there is no statement
    about all at once.

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
    checklist : tuple of Check
        What a person has to check, since code cannot see it; see `tick`. Empty in certificates of
        earlier versions.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from motlm.certificates import Certificate, certify
    >>> from motlm.datasets import make_twonorm
    >>> X, y = make_twonorm(400, random_state=0)
    >>> model, certificate = certify(LogisticRegression(), X, y)
    >>> print(certificate.validity)
    All 2 statements hold together with 95 % confidence. So each by itself has the higher
    confidence that it names, and a limit for one statement alone, at 95 %, would be smaller.
    >>> [statement.name for statement in certificate], certificate["hold-out"].n_rows
    (['hold-out', 'gain'], 120)
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
    checklist: tuple[Check, ...] = ()

    def tick(self, *keys: str, by: str, on: date | str | None = None) -> Certificate:
        """This certificate with points of the checklist ticked; the statements stay as they are.

        Parameters
        ----------
        *keys : str
            Of the points that were checked, and are true.
        by : str
            Who has checked them.
        on : date or str, default=None
            The day, such as "2026-01-31"; None is today.

        Returns
        -------
        Certificate

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from motlm.certificates import certify
        >>> from motlm.datasets import make_twonorm
        >>> model, certificate = certify(LogisticRegression(), *make_twonorm(400, random_state=0))
        >>> [check.key for check in certificate.checklist]
        ['features', 'tuning', 'preprocessing', 'groups', 'time', 'future', 'once']
        >>> certificate = certificate.tick("future", "once", by="A. Smith", on="2026-01-31")
        >>> [check.key for check in certificate.checklist if check.ticked]
        ['future', 'once']
        >>> print(certificate.checklist[-1])  # doctest: +ELLIPSIS
        [x] once: This certificate was chosen before ... (A. Smith, 2026-01-31)
        """
        return replace(self, checklist=tick(self.checklist, keys, by, on))

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
                " confidence. So each by itself has the higher confidence that it names, and a"
                f" limit for one statement alone, at {confidence(self.delta)}, would be smaller."
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
        if self.checklist:  # those of earlier versions have none, and keep their digest
            content["checklist"] = [one.to_dict() for one in self.checklist]
        return {**content, "digest": _digest(content)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Certificate:
        """The certificate that `to_dict` wrote; an error if it was changed since, or if an entry
        has another type or range than `to_dict` writes, or does not follow from the others.
        """
        if not isinstance(values, dict) or "digest" not in values:
            raise CertificateError(
                "not a certificate: expected what Certificate.to_dict writes, with its digest."
            )
        content = {name: value for name, value in values.items() if name != "digest"}
        check_plain(content)
        if _digest(content) != values["digest"]:
            raise CertificateError(
                "this certificate was changed after it was issued: its content does not fit its"
                " digest."
            )
        entries = read_certificate(content, *_names(cls))
        entries["statements"] = tuple(
            Statement._read(one, f"certificate.statements[{i}]")
            for i, one in enumerate(entries["statements"])
        )
        made = cls(**entries)
        made._check()
        return made

    def _check(self) -> None:
        """That the statements fit together: an error for those put together from several."""
        seed = None if self.seed is None else float(self.seed)
        most = self.delta * (1.0 + 1e-9)
        for i, one in enumerate(self.statements):
            where = f"certificate.statements[{i}]"
            if one.predictor == "fixed" and one.model != self.model:
                raise CertificateError(f"{where}.model should be that of the certificate.")
            if one.details.get("seed", seed) != seed:
                raise CertificateError(f"{where}.details.seed should be that of the certificate.")
            if one.delta > most:
                raise CertificateError(f"{where}.delta should be at most that of the certificate.")
        for name in ("per locality", "interval"):
            family = self.of(name)
            if family:
                indices = [one.region_index for one in family]
                for one in family[:1] + family[-1:]:
                    check_regions(f"statements {name!r}", one.details["regions"], indices)
        flagged = flag_headline([_bare(one) for one in self.statements])
        for i, (one, expected) in enumerate(zip(self.statements, flagged, strict=True)):
            # those of earlier versions, without a label, have the flag for the limit alone
            if one.name == "hold-out" and one.baseline_label and one.flags != expected.flags:
                raise CertificateError(
                    f"certificate.statements[{i}].flags should be {list(expected.flags)}."
                )
        spent = self.ledger.spent
        if self.together and spent > most:
            raise CertificateError(
                f"the statements spend {spent:.6g} of delta, more than the {self.delta:.6g} of the"
                " certificate, so that they do not hold together."
            )

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
        if self.checklist:
            lines += ["", CHECKLIST_TITLE, *map(str, self.checklist)]
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
        checks = "".join(f"<li>{escape(str(one))}</li>" for one in self.checklist)
        return (
            f"<div><p><b>{escape(self.validity)}</b></p><table>{rows}</table>"
            + (f"<p>Notes</p><ul>{notes}</ul>" if notes else "")
            + (f"<p>Assumed</p><ul>{assumed}</ul>" if assumed else "")
            + (f"<p>{CHECKLIST_TITLE}</p><ul>{checks}</ul>" if checks else "")
            + f"<p>Model {escape(self.model[:16])}, {escape(self.protocol)}.</p></div>"
        )


def _bare(one: Statement) -> Statement:
    """An error rate with the flag of its own numbers alone."""
    if one.name != "hold-out" or one.value is None:
        return one
    return replace(one, flags=flag(one.value, one.baseline, one.baseline_name))


def _names(cls: type) -> tuple[list[str], list[str]]:
    """Of the fields of a record, and of those that it cannot do without."""
    needed = [
        one.name for one in fields(cls) if one.default is MISSING and one.default_factory is MISSING
    ]
    return [one.name for one in fields(cls)], needed


def _digest(content: dict[str, Any]) -> str:
    return sha256(
        json.dumps(content, sort_keys=True, ensure_ascii=True, allow_nan=False).encode()
    ).hexdigest()


def _frame(statements: Sequence[Statement]) -> Any:
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
