"""Certificates from dictionaries, which may come from anywhere: every entry has its type and range,
and every value that follows from others is computed again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import isfinite
from typing import Any

import numpy as np

from ..bounds import catoni, clopper_pearson, pac_bayes_kl, rows_needed
from ..errors import CertificateError, InputError, InputTypeError
from ._checklist import Check
from ._rules import FULL, flag, flag_error, flag_gain, interval_rank
from ._words import FEW, round_share

__all__ = [
    "MOST_STATEMENTS",
    "check_plain",
    "check_population",
    "check_regions",
    "read_certificate",
    "read_checklist",
    "read_statement",
    "shorten",
]

MOST_STATEMENTS = 2000
_MOST_ROWS = 2**31 - 1
_LARGEST_SEED = 2**128
_LONGEST = 10_000  # characters of a text
_LONGEST_POPULATION = 1000
_MOST_TEXTS = 1000  # of a list of texts
_MOST_PARTS = 500_000  # entries of a certificate, all together
_MOST_LETTERS = 2**24  # characters of a certificate, all together
_DEEPEST = 6
_CLOSE = 1e-9
_ROUNDING = 1e-6  # by which a divergence may be below 0
_LARGEST = 1e300  # of sizes in the units of a target
_HASH = re.compile(r"[0-9a-f]{32}|[0-9a-f]{64}|")  # of other models than ours, ours, of none
_KEY = re.compile(r"[a-z][a-z_]{0,39}")
_OFF = "is off by more than "


@dataclass(frozen=True)
class _Kind:
    """What a statement of a code and name has."""

    predictor: str
    counted: bool = False  # whether it has a number of errors
    divergence: bool = False  # whether it has a kl
    details: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()  # details that it may have
    bound: str = "at most"
    unit: str = "share"
    baseline: bool = False  # whether it may have one
    regions: bool = False


_KINDS: dict[tuple[str, str], _Kind] = {
    ("C1", "hold-out"): _Kind("fixed", counted=True, baseline=True),
    ("C2", "any rule"): _Kind("gibbs", divergence=True, details=("c",), baseline=True),
    ("C3", "one draw"): _Kind("draw", True, True, ("c", "seed"), baseline=True),
    ("C4", "silent error"): _Kind("fixed", counted=True),
    ("C4", "ambiguity"): _Kind("fixed", counted=True),
    ("C5", "per locality"): _Kind(
        "fixed", counted=True, details=("regions",), optional=("needed",), regions=True
    ),
    ("C6", "gain"): _Kind("fixed", bound="at least", unit="difference"),
    ("R1", "tolerance"): _Kind("fixed", counted=True, details=("tolerance",), baseline=True),
    ("R2", "squared error"): _Kind(
        "fixed", details=("clip", "beyond"), unit="target", baseline=True
    ),
    ("R2", "explained"): _Kind(
        "fixed", details=("clip", "beyond", "mean"), bound="at least", unit="ratio"
    ),
    ("R3", "interval"): _Kind(
        "fixed",
        details=("regions", "coverage", "needed"),
        optional=("marginal",),
        unit="target",
        regions=True,
    ),
    ("W1", "any rule"): _Kind("gibbs", divergence=True, baseline=True),
    ("W2", "silent error"): _Kind("gibbs", divergence=True),
    ("W3", "ambiguity"): _Kind("gibbs", divergence=True),
    ("W4", "one draw"): _Kind("draw", True, True, ("seed",), baseline=True),
}
# of details: smallest and largest, and whether they count something
_DETAILS: dict[str, tuple[float, float, bool]] = {
    "c": (1e-12, 1e6, False),
    "seed": (0.0, float(_LARGEST_SEED), True),
    "regions": (1.0, float(MOST_STATEMENTS), True),
    "needed": (1.0, 1e15, True),
    "tolerance": (1e-300, _LARGEST, False),
    "clip": (1e-300, _LARGEST, False),
    "beyond": (0.0, 1.0, False),
    "mean": (-_LARGEST, _LARGEST, False),
    "coverage": (1e-12, 1.0 - 1e-12, False),
    "marginal": (1.0, 1.0, True),
}


# -- plain values ----------------------------------------------------------------------------------


def check_plain(content: Any, path: str = "certificate") -> None:
    """An error for what JSON cannot hold, or what is too large, too deep or too long."""
    left, letters = _MOST_PARTS, _MOST_LETTERS
    waiting: list[tuple[Any, str, int]] = [(content, path, 0)]
    while waiting:
        value, name, depth = waiting.pop()
        left -= 1
        if left < 0 or depth > _DEEPEST:
            raise CertificateError(f"{name} has too many entries, or too many inside one another.")
        if isinstance(value, Mapping):
            for key in value:
                if not isinstance(key, str):
                    raise _fail(name, "an object with names of text", key)
                _check_text(key, f"a name in {name}")
            waiting += [(one, f"{name}.{key[:40]}", depth + 1) for key, one in value.items()]
        elif isinstance(value, (list, tuple)):
            waiting += [(one, f"{name}[{i}]", depth + 1) for i, one in enumerate(value)]
        else:
            _check_scalar(value, name)
            letters -= len(value) if isinstance(value, str) else 0
            if letters < 0:
                raise CertificateError(f"{path} has more than {_MOST_LETTERS} characters.")


def _check_scalar(value: Any, name: str) -> None:
    if isinstance(value, str):
        _check_text(value, name)
    elif isinstance(value, int):
        if abs(value) > _LARGEST_SEED:
            raise CertificateError(f"{name} should be an integer of at most 38 digits.")
    elif isinstance(value, float):
        if not isfinite(value):
            raise _fail(name, "a finite number", value)
    elif value is not None:
        raise _fail(name, "text, a number, true, false, null, a list or an object", value)


def _check_text(text: str, name: str) -> None:
    if len(text) > _LONGEST:
        raise CertificateError(
            f"{name} should have at most {_LONGEST} characters; got {len(text)}."
        )
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _fail(name, "text without lone surrogates", text) from None


def shorten(text: str) -> str:
    """A text as a certificate may keep it, whatever a table has in it."""
    safe = text.encode(errors="replace").decode()
    return safe if len(safe) <= _LONGEST else safe[: _LONGEST - 4] + " ..."


def check_population(population: Any) -> str:
    """What the cases are called in the sentences."""
    if not isinstance(population, str):
        raise InputTypeError(
            f"population must be text, as in 'clients of 2026'; got a {type(population).__name__}."
        )
    if not population.strip() or len(population) > _LONGEST_POPULATION:
        raise InputError(
            f"population must have 1 to {_LONGEST_POPULATION} characters; got {len(population)}."
        )
    if shorten(population) != population:
        raise InputError(f"population must be text without lone surrogates; got {population!a}.")
    return population


def _fail(name: str, expected: str, got: Any) -> CertificateError:
    shown = ascii(got)
    shown = shown if len(shown) <= 60 else f"{shown[:60]} .."
    return CertificateError(f"{name} should be {expected}; got {shown}.")


@dataclass(frozen=True)
class _Entries:
    """The entries of an object, by name."""

    values: Mapping[str, Any]
    path: str

    def fail(self, name: str, expected: str) -> CertificateError:
        return _fail(f"{self.path}.{name}", expected, self.values.get(name))

    def text(self, name: str, default: str | None = None, empty: bool = False) -> str:
        value = self.values.get(name, default)
        if not isinstance(value, str) or not (value or empty):
            raise self.fail(name, "text" if empty else "text that is not empty")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.values.get(name, ())
        if (
            not isinstance(value, (list, tuple))
            or len(value) > _MOST_TEXTS
            or not all(isinstance(one, str) for one in value)
        ):
            raise self.fail(name, f"a list of at most {_MOST_TEXTS} texts")
        return tuple(value)

    def choice(self, name: str, known: Sequence[str], default: str | None = None) -> str:
        value = self.values.get(name, default)
        if not isinstance(value, str) or value not in known:
            raise self.fail(name, " or ".join(map(repr, known)))
        return value

    def truth(self, name: str, default: bool | None = None) -> bool:
        value = self.values.get(name, default)
        if not isinstance(value, bool):
            raise self.fail(name, "true or false")
        return value

    def integer(self, name: str, low: int, high: int) -> int:
        value = self.values.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self.fail(name, f"an integer from {low} to {high}")
        return value

    def number(self, name: str, low: float, high: float) -> float:
        value = self.values.get(name)
        if (
            not isinstance(value, (int, float))
            or isinstance(value, bool)
            or not isfinite(value)
            or not low <= value <= high
        ):
            raise self.fail(name, f"a number from {low:g} to {high:g}")
        return float(value)

    def is_null(self, name: str) -> bool:
        return self.values.get(name) is None

    def hash(self, name: str, default: str | None = None) -> str:
        value = self.text(name, default, empty=True)
        if not _HASH.fullmatch(value):
            raise self.fail(name, "a hash of 32 or 64 hexadecimal digits, or empty")
        return value


def _check_names(
    values: Any, path: str, known: Sequence[str], needed: Sequence[str]
) -> Mapping[str, Any]:
    if not isinstance(values, Mapping):
        raise _fail(path, "an object", values)
    strange = [name for name in values if name not in known]
    missing = [name for name in needed if name not in values]
    if strange or missing:
        raise CertificateError(
            f"not a {path.split('.')[-1].split('[')[0].removesuffix('s')}: unknown entries"
            f" {strange[:5]!a}, missing entries {missing}."
        )
    return values


# -- statements ------------------------------------------------------------------------------------


def read_statement(
    values: Any, known: Sequence[str], needed: Sequence[str], path: str = "statement"
) -> dict[str, Any]:
    """The entries of a statement, checked; `known` and `needed` are the names of its fields."""
    read = _Entries(_check_names(values, path, (*known, "sentence"), needed), path)
    code, name = read.text("code"), read.text("name")
    kind = _KINDS.get((code, name))
    if kind is None:
        if code not in {one for one, _ in _KINDS}:
            raise read.fail("code", '"C1" to "C6", "R1" to "R3" or "W1" to "W4"')
        raise read.fail("name", " or ".join(repr(b) for a, b in _KINDS if a == code))
    entries: dict[str, Any] = {
        "code": code,
        "name": name,
        "n_rows": read.integer("n_rows", 0, _MOST_ROWS),
        "loss": read.text("loss"),
        "predictor": read.choice("predictor", (kind.predictor,)),
        "bound": read.choice("bound", (kind.bound,), "at most"),
        "unit": read.choice("unit", (kind.unit,), "share"),
        "region": read.text("region", "", empty=True),
        "baseline_name": read.text("baseline_name", "", empty=True),
        "baseline_label": read.text("baseline_label", "", empty=True),
        "flags": read.texts("flags"),
        "assumptions": read.texts("assumptions"),
        "model": read.hash("model", ""),
        "details": _read_details(read, kind),
        "on_trust": read.truth("on_trust", False),
    }
    for text in ("population", "rows"):
        if text in read.values:
            entries[text] = read.text(text)
    marginal = "marginal" in entries["details"]
    entries["delta"] = read.number("delta", 0.0, 1.0)
    if not 0.0 <= entries["delta"] < 1.0 or (entries["delta"] == 0.0 and not marginal):
        raise read.fail("delta", "a number between 0 and 1")
    entries |= _read_region(read, kind, entries)
    entries |= _read_numbers(read, kind, entries)
    _check_bound(read, entries)
    _check_flags(read, entries)
    _check_words(read, entries)
    if "on_trust" not in read.values:
        del entries["on_trust"]
    return entries


def _read_details(read: _Entries, kind: _Kind) -> dict[str, float]:
    values, path = read.values.get("details", {}), f"{read.path}.details"
    found = _Entries(
        _check_names(values, path, (*kind.details, *kind.optional), kind.details), path
    )
    made = {}
    for name in found.values:
        low, high, whole = _DETAILS[name]
        made[name] = found.number(name, low, high)
        if whole and made[name] != round(made[name]):
            raise found.fail(name, "a whole number")
    return made


def _read_region(read: _Entries, kind: _Kind, entries: dict[str, Any]) -> dict[str, Any]:
    if entries["region"] and not kind.regions:
        raise read.fail("region", "empty, since the statement is about no region")
    if read.is_null("region_index"):
        return {"region_index": None}
    if not kind.regions or not entries["region"]:
        raise read.fail("region_index", "null, since the statement is about no region")
    return {"region_index": read.integer("region_index", -1, MOST_STATEMENTS)}


def _read_numbers(read: _Entries, kind: _Kind, entries: dict[str, Any]) -> dict[str, Any]:
    """Value, empirical value, errors, divergence and baseline, each where it belongs."""
    low, high = {"share": (0.0, 1.0), "target": (0.0, _LARGEST), "difference": (-1.0, 1.0)}.get(
        kind.unit, (-_LARGEST, 1.0)
    )
    made: dict[str, Any] = dict.fromkeys(("value", "empirical", "errors", "kl", "baseline"))
    may_lack = kind.regions or kind.unit == "ratio"
    for name in ("value", "empirical"):
        if not (may_lack and read.is_null(name)):
            made[name] = read.number(name, low, high)
    if kind.counted and made["value"] is not None:
        made["errors"] = read.integer("errors", 0, entries["n_rows"])
    elif not read.is_null("errors"):
        raise read.fail("errors", "null in a statement that counts none")
    if kind.divergence:
        made["kl"] = read.number("kl", -1e9 if entries["code"] == "C3" else -_ROUNDING, 1e9)
    elif not read.is_null("kl"):
        raise read.fail("kl", "null in a statement without a divergence")
    if not read.is_null("baseline"):
        if not kind.baseline or not entries["baseline_name"]:
            raise read.fail("baseline", "null in a statement without a baseline")
        made["baseline"] = read.number("baseline", 0.0, high)
    if made["baseline"] is None and entries["baseline_label"]:
        raise read.fail("baseline_label", "empty in a statement without a baseline")
    return made


def _close(first: float, second: float) -> bool:
    return abs(first - second) <= _CLOSE * max(1.0, abs(first), abs(second))


def _check_bound(read: _Entries, entries: dict[str, Any]) -> None:
    """The value is the bound that follows from the other numbers."""
    n_rows, errors, value = entries["n_rows"], entries["errors"], entries["value"]
    if value is None:
        _check_lack(read, entries)
        return
    if n_rows < 1:
        raise read.fail("n_rows", "at least 1 where there is a value")
    seen = entries["empirical"]
    if errors is not None and (seen is None or not _close(seen, errors / n_rows)):
        raise read.fail("empirical", f"{errors} / {n_rows}")
    if seen is None and entries["unit"] != "ratio":
        raise read.fail("empirical", "a number where there is a value")
    follows = _FORMULAS.get(entries["code"])
    if follows is None:
        _check_sizes(read, entries)
        return
    with np.errstate(all="ignore"):
        expected = follows(entries)
    if not (isfinite(expected) and _close(value, expected)):
        raise read.fail("value", f"{expected:.12g}, which follows from the other numbers")


def _count(entries: dict[str, Any]) -> float:
    part = entries["delta"] / entries["details"].get("regions", 1.0)
    return float(clopper_pearson(entries["errors"], entries["n_rows"], part))


def _catoni(entries: dict[str, Any]) -> float:
    risk, kl, n_rows, delta = _numbers(entries)
    return float(np.clip(catoni(risk, kl, n_rows, delta, entries["details"]["c"]), 0.0, 1.0))


def _pac_bayes(entries: dict[str, Any]) -> float:
    return float(pac_bayes_kl(*_numbers(entries)))


def _numbers(entries: dict[str, Any]) -> tuple[float, float, int, float]:
    return entries["empirical"], entries["kl"], entries["n_rows"], entries["delta"]


_FORMULAS: dict[str, Callable[[dict[str, Any]], float]] = {
    **dict.fromkeys(("C1", "C4", "C5", "R1"), _count),
    **dict.fromkeys(("C2", "C3"), _catoni),
    **dict.fromkeys(("W1", "W2", "W3", "W4"), _pac_bayes),
}


def _check_sizes(read: _Entries, entries: dict[str, Any]) -> None:
    """Of statements whose bound does not follow from the numbers that are kept."""
    details, value = entries["details"], entries["value"]
    if entries["name"] == "squared error":
        largest = details["clip"] * (1.0 + _CLOSE)
        for name in ("value", "empirical"):
            if entries[name] > largest:
                raise read.fail(name, f"at most the clip, {details['clip']:g}")
        if value < entries["empirical"] * (1.0 - _CLOSE):
            raise read.fail("value", "at least the empirical value")
    elif entries["name"] == "interval":
        _check_interval(read, entries, True)


def _check_lack(read: _Entries, entries: dict[str, Any]) -> None:
    """There is no value where there are too few rows for one."""
    details, delta = entries["details"], entries["delta"]
    if entries["name"] == "interval":
        _check_interval(read, entries, False)
    elif entries["name"] == "per locality":
        if entries["n_rows"]:
            raise read.fail("n_rows", "0 where there is no value")
        if details.get("needed") != float(rows_needed(0.5, delta / details["regions"])):
            raise read.fail("details", "with the number of rows that are needed")


def _check_interval(read: _Entries, entries: dict[str, Any], has_value: bool) -> None:
    details, n_rows = entries["details"], entries["n_rows"]
    marginal, part = "marginal" in details, entries["delta"] / details["regions"]
    rank, needed = interval_rank(n_rows, details["coverage"], part, marginal)
    if details["needed"] != needed:
        raise read.fail("details", f"with {needed} rows needed")
    if has_value != (0 < rank <= n_rows):
        raise read.fail("value", "null" if has_value else "a number: there are enough rows")


def _check_flags(read: _Entries, entries: dict[str, Any]) -> None:
    """The flags are those of the value."""
    value, details, name = entries["value"], entries["details"], entries["name"]
    baseline = entries["baseline"], entries["baseline_name"]
    if name == "explained":
        expected = flag_error(value is None, value is not None and value <= 0, details["beyond"])
    elif value is None:
        expected = (FEW,)
    elif name == "squared error":
        full = (value / details["clip"]) ** 2 >= FULL
        worse = bool(baseline[0] and value >= baseline[0])
        expected = flag_error(full, worse, details["beyond"])
    elif name == "gain":
        expected = flag_gain(value, entries["baseline_name"])
    elif name == "interval":
        expected = ()
    else:
        expected = flag(value, *baseline)
        # where the gain over the baseline is not certified, either: see Certificate._check
        if name == "hold-out" and baseline[1] and not expected:
            with_gain = flag_gain(0.0, baseline[1])
            expected = with_gain if entries["flags"] == with_gain else expected
    if entries["flags"] != expected:
        raise read.fail("flags", f"{list(expected)}, those of the value")


def _check_words(read: _Entries, entries: dict[str, Any]) -> None:
    """Numbers in the words are those of the statement."""
    if entries["name"] == "tolerance":
        expected = f"{_OFF}{entries['details']['tolerance']:.15g}"
        if entries["loss"] != expected:
            raise read.fail("loss", repr(expected))
    if "sentence" not in read.values:
        return
    text = read.text("sentence")
    if entries["unit"] == "share" and entries["value"] is not None:
        written = round_share(entries["value"], True)
        if f"at most {written}" not in text:
            raise read.fail("sentence", f"a sentence with the value, {written}")


# -- certificates ----------------------------------------------------------------------------------


def read_certificate(values: Any, known: Sequence[str], needed: Sequence[str]) -> dict[str, Any]:
    """The entries of a certificate, checked, but for its statements, which are a list of some."""
    read = _Entries(_check_names(values, "certificate", known, needed), "certificate")
    statements = read.values["statements"]
    if not isinstance(statements, (list, tuple)) or not 1 <= len(statements) <= MOST_STATEMENTS:
        raise CertificateError(
            f"certificate.statements should be a list of 1 to {MOST_STATEMENTS} statements; got"
            f" {f'{len(statements)}' if isinstance(statements, list) else ascii(statements)[:60]}."
        )
    _refuse_repeated(statements)
    delta = read.number("delta", 0.0, 1.0)
    if not 0.0 < delta < 1.0:
        raise read.fail("delta", "a number between 0 and 1")
    return {
        "statements": statements,
        "delta": delta,
        "together": read.truth("together"),
        "model": read.hash("model"),
        "protocol": read.text("protocol"),
        "seed": None if read.is_null("seed") else read.integer("seed", 0, _LARGEST_SEED),
        "notes": read.texts("notes"),
        "version": read.text("version", "", empty=True),
        "checklist": read_checklist(read.values.get("checklist", ())),
    }


def _refuse_repeated(statements: Sequence[Any]) -> None:
    """Each statement is made once, but for those of several regions or rivals."""
    seen: set[str] = set()
    for i, one in enumerate(statements):
        code = one.get("code") if isinstance(one, Mapping) else None
        name = one.get("name") if isinstance(one, Mapping) else None
        if code in ("C5", "C6", "R3") or not isinstance(code, str) or not isinstance(name, str):
            continue
        if f"{code} {name}" in seen:
            raise _fail(f"certificate.statements[{i}].code", "one that occurs once", code)
        seen.add(f"{code} {name}")


def check_regions(path: str, regions: float, indices: Sequence[int | None]) -> None:
    """The statements of all regions are there, each once."""
    known = [one for one in indices if one is not None]
    if len(indices) != regions or len(set(known)) != len(known):
        raise CertificateError(
            f"{path} should have one for each of {regions:.0f} regions; got {len(indices)}."
        )


def read_checklist(values: Any) -> tuple[Check, ...]:
    path = "certificate.checklist"
    if not isinstance(values, (list, tuple)) or len(values) > 100:
        raise _fail(path, "a list of at most 100 points", values)
    made: dict[str, Check] = {}
    names = ("key", "text", "by", "on")
    for i, one in enumerate(values):
        read = _Entries(_check_names(one, f"{path}[{i}]", names, names), f"{path}[{i}]")
        check = Check(*(read.text(name, empty=name in ("by", "on")) for name in names))
        if not _KEY.fullmatch(check.key) or check.key in made:
            raise read.fail("key", "a word of its own")
        if bool(check.by) != bool(check.on):
            raise read.fail("by", "given with the day, or neither")
        if not check.by.isprintable() or check.by != check.by.strip() or len(check.by) > 200:
            raise read.fail("by", "a name of at most 200 printable characters")
        if check.on and not _is_day(check.on):
            raise read.fail("on", 'a day such as "2026-01-31"')
        made[check.key] = check
    return tuple(made.values())


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
