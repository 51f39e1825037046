"""Makers of statements: each takes the evidence and its share of delta. Those of both tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Booleans
from ..bounds import catoni, clopper_pearson, rows_needed
from ..errors import CertificateError
from . import _distributions as distributions
from ._evidence import Evidence
from ._models import model_hash
from ._records import Baseline
from ._rules import flag
from ._statements import Statement
from ._words import PRIOR_NOT_USED, SEED, write_rows

__all__ = [
    "MIXTURE",
    "NOTHING",
    "OVERLAPS",
    "PRIOR",
    "REGIONS",
    "TARGET",
    "Maker",
    "Need",
    "any_rule",
    "count",
    "hold_out",
    "one_draw",
]

_COIN = 0.5
_NO_BASELINE = Baseline()


@dataclass(frozen=True)
class Need:
    """What a statement needs."""

    words: str
    met: Callable[[Evidence], bool]
    n_localities: int = 0  # from which it is not the same as another statement


def _has_mixture(evidence: Evidence) -> bool:
    return evidence.subject.mixture is not None


NOTHING = Need("", lambda evidence: True)
MIXTURE = "a motlm mixture"
PRIOR = Need(f"{MIXTURE} and certify", lambda evidence: evidence.randomized is not None)
OVERLAPS = Need(MIXTURE, _has_mixture, 2)
REGIONS = Need(MIXTURE, _has_mixture, 1)
TARGET = Need(
    "the mean target of the rows used for fitting, which this model does not store",
    lambda evidence: bool(evidence.subject.training.scale),
)


@dataclass(frozen=True)
class Maker:
    """How statements of a name are made, their default share of delta, and what they need."""

    make: Callable[[Evidence, float], list[Statement]]
    share: float
    need: Need = NOTHING


def count(
    evidence: Evidence,
    errs: Booleans,
    delta: float,
    baseline: Baseline = _NO_BASELINE,
    **entries: Any,
) -> Statement:
    """Clopper and Pearson's bound for something that happens or not."""
    k, m = int(errs.sum()), len(errs)
    value = float(clopper_pearson(k, m, delta))
    known: dict[str, Any] = {
        "value": value,
        "empirical": k / m,
        "errors": k,
        "n_rows": m,
        "delta": delta,
        "baseline": baseline.share,
        "baseline_name": baseline.name,
        "baseline_label": baseline.label,
        "flags": flag(value, baseline.share, baseline.name),
    }
    return evidence.state(**(known | entries))


def hold_out(evidence: Evidence, delta: float) -> list[Statement]:
    """C1 and R1: how often this fixed model errs, or is off by more than the tolerance."""
    n_rows, needed = len(evidence.observed.y), int(rows_needed(_COIN, delta))
    if n_rows < needed:
        rows, verb = write_rows(n_rows, evidence.words.rows), "is" if n_rows == 1 else "are"
        raise CertificateError(
            f"{rows} {verb} too few for a certificate at confidence {1 - delta:.4g}: not even a"
            " model without errors would be shown to be better than a coin. At least"
            f" {needed} are needed."
        )
    entries: dict[str, Any] = {"code": "C1", "name": "hold-out"}
    if not evidence.subject.classification:
        tolerance = evidence.sizes.need("tolerance")
        entries = {"code": "R1", "name": "tolerance", "details": {"tolerance": tolerance}}
    loss, baseline = evidence.loss, evidence.baseline
    return [count(evidence, evidence.errs, delta, baseline, loss=loss, **entries)]


def any_rule(evidence: Evidence, delta: float) -> list[Statement]:
    """C2: the Gibbs risk of the union loss, by Catoni's bound."""
    randomized, baseline = evidence.randomized, evidence.baseline
    assert randomized is not None
    found = randomized.posterior(delta)
    n_rows = len(evidence.observed.y)
    value = float(np.clip(catoni(found.risk, found.kl, n_rows, delta, found.c), 0.0, 1.0))
    one = evidence.state(
        code="C2",
        name="any rule",
        value=value,
        empirical=found.risk,
        kl=found.kl,
        delta=delta,
        loss=evidence.loss,
        predictor="gibbs",
        baseline=baseline.share,
        baseline_name=baseline.name,
        baseline_label=baseline.label,
        flags=flag(value, baseline.share, baseline.name),
        details={"c": found.c},
        model=model_hash(randomized.gibbs(delta)),
        not_used=PRIOR_NOT_USED,
    )
    return [one]


def one_draw(evidence: Evidence, delta: float) -> list[Statement]:
    """C3: one model, drawn from the same distribution with a seed fixed beforehand."""
    randomized, baseline = evidence.randomized, evidence.baseline
    assert randomized is not None
    found = randomized.posterior(delta)
    drawn = randomized.draw(delta)
    cost = distributions.log_ratio(drawn.draw, found.posterior, randomized.prior.posterior)
    risk = float(drawn.errs.mean())
    value = float(np.clip(catoni(risk, cost, len(drawn.errs), delta, found.c), 0.0, 1.0))
    one = evidence.state(
        code="C3",
        name="one draw",
        value=value,
        empirical=risk,
        errors=int(drawn.errs.sum()),
        kl=cost,
        delta=delta,
        loss=evidence.loss,
        predictor="draw",
        baseline=baseline.share,
        baseline_name=baseline.name,
        baseline_label=baseline.label,
        flags=flag(value, baseline.share, baseline.name),
        details={"c": found.c, "seed": float(evidence.seed)},
        model=model_hash(drawn.model),
        not_used=PRIOR_NOT_USED,
        assumptions=(SEED,),
    )
    return [one]
