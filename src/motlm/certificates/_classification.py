"""Makers of the statements about classifiers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .._typing import Array, Booleans, Integers
from ..bounds import betting, rows_needed
from ._common import OVERLAPS, PRIOR, REGIONS, Maker, any_rule, count, hold_out, one_draw
from ._evidence import Evidence
from ._rules import flag_gain
from ._statements import Statement
from ._words import FEW, MAJORITY

__all__ = ["CLASSIFICATION"]


def _contradictions(evidence: Evidence) -> Booleans:
    assert evidence.observed.contradicted is not None
    return evidence.observed.contradicted


def silent_error(evidence: Evidence, delta: float) -> list[Statement]:
    """C4: wrong, and no contradiction shown."""
    silent, loss = (
        evidence.errs & ~_contradictions(evidence),
        "errs without showing a contradiction",
    )
    return [count(evidence, silent, delta, code="C4", name="silent error", loss=loss)]


def ambiguity(evidence: Evidence, delta: float) -> list[Statement]:
    """C4: how often local models contradict each other; labels are not needed."""
    seen, rows = _contradictions(evidence), evidence.words.rows
    if evidence.observed.unlabeled is not None:
        seen = np.concatenate([seen, evidence.observed.unlabeled])
        rows = f"{rows} and unlabeled rows"
    loss = "shows a contradiction between its local models"
    return [count(evidence, seen, delta, code="C4", name="ambiguity", loss=loss, rows=rows)]


def per_locality(evidence: Evidence, delta: float) -> list[Statement]:
    """C5: each region by itself, all at once."""
    regions, errs = evidence.regions(), evidence.errs
    part = delta / len(regions)
    made = []
    for i, name, inside in regions:
        entries: dict[str, Any] = {
            "code": "C5",
            "name": "per locality",
            "loss": evidence.loss,
            "region": name,
            "region_index": i,
            "details": {"regions": float(len(regions))},
        }
        if inside.any():
            one = count(evidence, errs[inside], part, **entries)
            made.append(replace(one, delta=delta))
            continue
        needed = {"regions": float(len(regions)), "needed": float(rows_needed(0.5, part))}
        entries |= {"value": None, "empirical": None, "n_rows": 0, "delta": delta}
        made.append(evidence.state(**(entries | {"flags": (FEW,), "details": needed})))
    return made


def gain(evidence: Evidence, delta: float) -> list[Statement]:
    """C6: how much less often it errs than the majority class, and than the rivals; on the same
    rows, in pairs.

    Which label is the most frequent of the population is not known: it may be another one than on
    the rows of the fit, or on these. But it is one label, the bound for it holds with its
    confidence, and the smallest bound of all labels is not above that.
    """
    observed = evidence.observed
    y, errs = observed.y, evidence.errs.astype(float)
    order = np.random.default_rng(evidence.seed).permutation(len(y))
    part = delta / (1 + len(observed.rivals))
    wrong = [(y != label).astype(float) for label in np.unique(y)]
    wrong.append(np.ones(len(y)))  # of a label that is not among these rows
    bound = min(_gain(one, errs, order, part) for one in wrong)
    observed_gain = min(float(np.mean(one)) for one in wrong) - float(errs.mean())
    found = [(bound, observed_gain, MAJORITY)]
    for rival in observed.rivals:
        other = (rival.answers != y).astype(float)
        seen = float(other.mean() - errs.mean())
        found.append((_gain(other, errs, order, part), seen, rival.name))
    return [
        evidence.state(
            code="C6",
            name="gain",
            value=value,
            empirical=seen,
            delta=part,
            loss="errs",
            bound="at least",
            unit="difference",
            baseline_name=name,
            flags=flag_gain(value, name),
        )
        for value, seen, name in found
    ]


def _gain(rival: Array, own: Array, order: Integers, delta: float) -> float:
    """Lower bound on the mean of rival - own, by a bet on (1 - rival + own) / 2."""
    return 1.0 - 2.0 * betting((0.5 * (1.0 - rival + own))[order], delta)


CLASSIFICATION: Mapping[str, Maker] = {
    "hold-out": Maker(hold_out, 0.40),
    "any rule": Maker(any_rule, 0.10, PRIOR),
    "one draw": Maker(one_draw, 0.10, PRIOR),
    "silent error": Maker(silent_error, 0.10, OVERLAPS),
    "ambiguity": Maker(ambiguity, 0.05, OVERLAPS),
    "per locality": Maker(per_locality, 0.15, REGIONS),
    "gain": Maker(gain, 0.10),
}
