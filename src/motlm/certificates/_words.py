"""Certificates in words: sentences, assumptions, and numbers. What is certified is rounded to the
safe side, what was seen to the nearest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil, floor, isfinite, log10
from typing import TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:
    from ._statements import Statement

__all__ = [
    "CLIPPED",
    "FEW",
    "GROUPED",
    "HEAVY",
    "INDEPENDENT",
    "LABELS",
    "MAJORITY",
    "NOT_BETTER",
    "NOT_USED",
    "ON_TRUST",
    "PRIOR_IN_SAMPLE",
    "PRIOR_NOT_USED",
    "SEED",
    "VACUOUS",
    "basis",
    "brief",
    "confidence",
    "remarks",
    "round_interval",
    "round_number",
    "round_seen",
    "round_share",
    "sentence",
    "title",
    "write_rows",
]

MAJORITY = "the majority class"  # of the rows or cases that a statement is about

# Flags, which come before a sentence
VACUOUS = "VACUOUS"
FEW = "TOO FEW ROWS"
NOT_BETTER = "NOT BETTER THAN {}"
HEAVY = "LARGE ERRORS ARE NOT COUNTED IN FULL"

_REMARKS = {
    VACUOUS: "Not informative: the limit excludes nothing",
    FEW: "Too few rows",
    HEAVY: "Large errors are not counted in full",
}

# What statements are called, by their names in `spend`
_TITLES = {
    "hold-out": "Error rate",
    "tolerance": "Errors beyond the tolerance",
    "silent error": "Errors without a contradiction shown",
    "ambiguity": "Contradictions between local models",
    "per locality": "Error rate",
    "gain": "Improvement",
    "squared error": "Root mean squared error",
    "explained": "Improvement over the mean (R2)",
    "interval": "Prediction interval",
    "any rule": "Error rate of a randomized model",
    "one draw": "Error rate of one model drawn at random",
}

# Assumptions
INDEPENDENT = (
    "The rows are independent draws from one population, and so are the cases of the statements."
)
GROUPED = (
    "Rows that belong together are one group, and groups are independent draws from one population;"
    " the cases of the statements are one row each of further groups."
)
NOT_USED = (
    "These rows were not used to choose the model, its settings, its columns or its points of"
    " interest."
)
PRIOR_NOT_USED = (
    "These rows were not used to choose the prior of the bound and its C, nor the model's settings,"
    " columns and points of interest."
)
PRIOR_IN_SAMPLE = (
    "The prior, its units included, the points of interest and the other settings were fixed"
    " without these rows."
)
LABELS = "The labels were known beforehand, and not taken from these rows."
SEED = "The seed of the draw was fixed before any result on these rows was known."
CLIPPED = "Larger errors count as the largest that is counted."
ON_TRUST = (
    "That these rows were not used for fitting is taken on trust: models of this kind store no"
    " fingerprint of their training rows."
)

_PREDICTORS = {
    "fixed": "this fixed model",
    "gibbs": "a model drawn anew from the certified distribution for each case",
    "draw": "the one model drawn from the certified distribution",
}


_FINEST = 6  # decimals of a percentage
_WHOLE = {f"{whole:.{k}f}" for whole in (0.0, 100.0) for k in range(_FINEST)}


def round_number(value: float, up: bool, digits: int = 2) -> str:
    """A number with so many significant digits, rounded to the safe side: an upper bound up, a
    lower bound down.
    """
    if value == 0 or not isfinite(value):
        return f"{value:g}"
    step = 10.0 ** (floor(log10(abs(value))) - digits + 1)
    whole = value / step
    whole = ceil(whole - 1e-9) if up else floor(whole + 1e-9)
    return f"{whole * step:.{digits + 2}g}"


def round_share(value: float, up: bool) -> str:
    """A share in percent with one decimal, or two near 0 and 100 %, rounded to the safe side."""
    percent = 100.0 * value
    decimals = 1 if min(abs(percent), abs(100.0 - percent)) >= 0.95 else 2
    scale = 10**decimals
    safe = (ceil(percent * scale - 1e-7) if up else floor(percent * scale + 1e-7)) / scale
    return f"{safe:.{decimals}f} %"


def round_seen(value: float) -> str:
    """A share that was seen, in percent: to the nearest, with as many decimals as `round_share`."""
    percent = 100.0 * value
    decimals = 1 if min(abs(percent), abs(100.0 - percent)) >= 0.95 else 2
    while decimals < _FINEST and 0.0 < percent < 100.0 and f"{percent:.{decimals}f}" in _WHOLE:
        decimals += 1  # what was seen is not written as never or always
    return f"{percent:.{decimals}f} %"


def round_interval(low: float, high: float) -> str:
    """Both ends with three decimals, the lower rounded down and the upper up."""
    first = f"{floor(1000 * low + 1e-7) / 1000:.3f}"
    if not isfinite(high):
        return f"at least {first}"
    return f"between {first} and {ceil(1000 * high - 1e-7) / 1000:.3f}"


def confidence(delta: float) -> str:
    """1 - delta in percent, rounded down."""
    percent = 100.0 * (1.0 - delta)
    decimals = min(max(1, ceil(0.7 - log10(max(100.0 * delta, 1e-300)))), 12)
    scale = 10**decimals
    safe = min(floor(percent * scale + 1e-7), 100 * scale - 1) / scale  # never all of it
    return f"{safe:.{decimals}f}".rstrip("0").rstrip(".") + " %"


def write_rows(n_rows: int, rows: str) -> str:
    """How many there are of which rows: "1 sealed row", "20 rows of the audit"."""
    return f"{n_rows} {rows.replace('rows', 'row', 1) if n_rows == 1 else rows}"


def sentence(one: Statement) -> str:
    """The statement in plain words, its flags first."""
    end = ":" if one.value is None else "."
    flags = "".join(f"{text}{end} " for text in remarks(one))
    if one.value is None:
        return flags + _without_value(one)
    if one.details.get("marginal"):
        return flags + _on_average(one)
    if one.code not in _WORDS:
        raise InputError(f"no words for statement {one.code!r}.")
    return flags + _opening(one) + _WORDS[one.code](one)


def basis(one: Statement) -> str:
    """The rows and the confidence of a statement."""
    text = write_rows(one.n_rows, one.rows)
    if one.details.get("marginal"):
        return f"{text}, on average"
    text += f", {confidence(one.delta)} confidence"
    if one.region and one.details["regions"] > 1:
        text += f" for all {one.details['regions']:.0f} regions together"
    return text


def brief(one: Statement) -> str:
    """Of the error rate of a model, a shorter sentence, without flags; of other statements the same
    without them.
    """
    if one.code not in ("C1", "R1") or one.value is None:
        return sentence(replace(one, flags=()))
    beside = ""
    if one.baseline is not None:
        beside = f"; {_compare(one)}"
    return (
        f"This model {one.loss} on at most {_value(one)} of {one.population}, with"
        f" {confidence(one.delta)} confidence (seen on {one.errors} of"
        f" {write_rows(one.n_rows, one.rows)}{beside})."
    )


def remarks(one: Statement) -> tuple[str, ...]:
    """The flags in words."""
    return tuple(_remark(one, flag) for flag in one.flags)


def _remark(one: Statement, flag: str) -> str:
    if one.name == "explained" and flag == VACUOUS:  # without a limit on the improvement
        flag = NOT_BETTER.format("THE MEAN TARGET")
    if flag in _REMARKS:
        return _REMARKS[flag]
    name = one.baseline_name or flag.removeprefix(NOT_BETTER.format("")).lower()
    return f"Not shown to be better than {name}"


def title(one: Statement) -> str:
    """What a statement is about, in a few words."""
    text = _TITLES.get(one.name, one.name)
    if one.name == "gain":
        return f"{text} over {one.baseline_name}"
    several = one.region and one.details.get("regions", 0.0) > 1
    return f"{text} {one.region}" if several else text


def _opening(one: Statement) -> str:
    sure = f"{confidence(one.delta)} confidence"
    if one.region and one.details["regions"] > 1:  # all regions together
        return (
            f"{_capital(one.region)} ({write_rows(one.n_rows, one.rows)}), with {sure} for all"
            f" {one.details['regions']:.0f} regions together, "
        )
    return f"With {sure} over the draw of the {write_rows(one.n_rows, one.rows)}, "


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _value(one: Statement) -> str:
    up, value = one.bound == "at most", one.value or 0.0
    if one.unit in ("share", "ratio"):
        return round_share(value, up)
    return round_number(value, up, 3)


def _brackets(one: Statement) -> str:
    """In brackets: what was seen on the rows, and the same of the trivial predictor."""
    if one.errors is not None:
        seen = f"{one.errors} of {one.n_rows} seen"
    elif one.empirical is not None and one.unit == "share":
        seen = f"{round_seen(one.empirical)} seen"
    else:
        return ""
    beside = ""
    if one.baseline is not None and one.unit == "share":
        beside = f"; {_compare(one)}"
    return f" ({seen}{beside})"


def _compare(one: Statement) -> str:
    """What was seen of the trivial predictor on the same rows."""
    how = f" by always answering {one.baseline_label}" if one.baseline_label else ""
    return f"{one.baseline_name} {one.loss} on {round_seen(one.baseline or 0.0)} of them{how}"


def _share_of_cases(one: Statement, which: str = "") -> str:
    who = _PREDICTORS[one.predictor]
    return f"{who}{which} {one.loss} on at most {_value(one)} of {one.population}{_brackets(one)}."


def _fixed_model(one: Statement) -> str:
    fitted = "It was fitted without those rows"
    if one.on_trust:
        fitted = "This holds if it was fitted without those rows, which was not checked"
    return f"{_share_of_cases(one)} {fitted}; refitting it voids this certificate."


def _any_rule(one: Statement) -> str:
    return (
        f"whichever applicable local model is used, {_share_of_cases(one)} This is not a statement"
        " about the fixed model that predict uses."
    )


def _one_draw(one: Statement) -> str:
    which = f" with seed {one.details['seed']:.0f}"
    return f"{_share_of_cases(one, which)} Redrawing it voids this certificate."


def _one_draw_in_sample(one: Statement) -> str:
    which = f" with seed {one.details['seed']:.0f}"
    return (
        f"{_share_of_cases(one, which)} The distribution was fitted to those rows, which the bound"
        " accounts for; redrawing or refitting voids this certificate."
    )


def _gain(one: Statement) -> str:
    if (one.value or 0.0) <= 0:
        points = f"{ceil(-1000 * (one.value or 0.0) - 1e-9) / 10:g} percentage points"
        return (
            f"no gain over {one.baseline_name} is certified on {one.population}:"
            f" {_PREDICTORS[one.predictor]} may err up to {points} more often."
        )
    points = f"{floor(1000 * (one.value or 0.0) + 1e-9) / 10:g} percentage points"
    return (
        f"{_PREDICTORS[one.predictor]} {one.loss} at least {points} less often than"
        f" {one.baseline_name} on {one.population}."
    )


def _squared_error(one: Statement) -> str:
    who = _PREDICTORS[one.predictor]
    clip, beyond = f"{one.details['clip']:.15g}", round_share(one.details["beyond"], True)
    if one.unit == "target":
        return (
            f"{who} has a root mean squared error of at most {_value(one)} on {one.population},"
            f" errors counted up to {clip} (they are larger on at most {beyond})."
        )
    how = f"is at least {_value(one)} smaller"
    if (one.value or 0.0) <= 0:
        how = f"may be up to {round_share(-(one.value or 0.0), True)} larger"
    return (
        f"the mean squared error of {who} on {one.population} {how} than that of always predicting"
        f" {one.details['mean']:.4g}, the mean target of the rows used for fitting; errors counted"
        f" up to {clip} (they are larger on at most {beyond})."
    )


def _interval(one: Statement) -> str:
    return (
        f"the prediction of {_PREDICTORS[one.predictor]} plus or minus {_value(one)} contains at"
        f" least {100 * one.details['coverage']:g} % of the outcomes of {one.population}."
    )


def _without_value(one: Statement) -> str:
    where = f"{one.region} " if one.region else ""
    needed = f"; {one.details['needed']:.0f} are needed" if "needed" in one.details else ""
    return f"no certificate {where}from {write_rows(one.n_rows, one.rows)}{needed}."


def _on_average(one: Statement) -> str:
    """Of an interval that needs no confidence."""
    where = f"{_capital(one.region)}, the" if one.region else "The"
    return (
        f"{where} prediction of {_PREDICTORS[one.predictor]} plus or minus"
        f" {round_number(one.value or 0.0, True, 3)} contains the outcome with probability at least"
        f" {100 * one.details['coverage']:g} % for {one.population}, on average over the draw of"
        f" the {write_rows(one.n_rows, one.rows)} and of the case."
    )


_WORDS: dict[str, Callable[[Statement], str]] = {
    "C1": _fixed_model,
    "C2": _any_rule,
    "C3": _one_draw,
    "C4": _share_of_cases,
    "C5": _share_of_cases,
    "C6": _gain,
    "R1": _fixed_model,
    "R2": _squared_error,
    "R3": _interval,
    "W1": _any_rule,
    "W2": _share_of_cases,
    "W3": _share_of_cases,
    "W4": _one_draw_in_sample,
}
