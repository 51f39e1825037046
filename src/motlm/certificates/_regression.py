"""Makers of the statements about regressors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .._typing import Array, Integers
from ..bounds import betting, betting_reduction, clopper_pearson
from ._common import PRIOR, TARGET, Maker, any_rule, hold_out, one_draw
from ._evidence import Evidence
from ._rules import FULL, flag_error, interval_rank
from ._statements import Statement
from ._words import CLIPPED, FEW

__all__ = ["REGRESSION"]

# standard deviations of the target; deviations beyond count as that, which can only make the
# baseline better
_WIDE = 4.0


def squared_error(evidence: Evidence, delta: float) -> list[Statement]:
    """R2: the mean squared error, clipped, by betting; and how often errors are larger."""
    clip, scale = evidence.sizes.need("clip"), evidence.subject.training.scale
    for_error, for_tail = 0.85 * delta, 0.15 * delta
    clipped, order = _clip_squares(evidence)
    bound = betting(clipped[order], for_error)
    root = float(clip * np.sqrt(bound))
    tail = _tail(evidence, for_tail)
    one = evidence.state(
        code="R2",
        name="squared error",
        value=root,
        empirical=float(clip * np.sqrt(clipped.mean())),
        delta=delta,
        loss="root mean squared error",
        unit="target",
        baseline=scale,
        baseline_name="the mean target",
        flags=flag_error(bound >= FULL, bool(scale and root >= scale), tail),
        details={"clip": clip, "beyond": tail},
        assumptions=(CLIPPED,),
    )
    return [one]


def reduction(evidence: Evidence, delta: float) -> list[Statement]:
    """R2: by how much the mean squared error, clipped, is smaller than that of always predicting
    the mean target of the rows used for fitting.
    """
    clip, training = evidence.sizes.need("clip"), evidence.subject.training
    assert training.usual is not None
    assert training.scale is not None
    for_error, for_tail = 0.95 * delta, 0.05 * delta
    clipped, order = _clip_squares(evidence)
    away = np.abs(np.asarray(evidence.observed.y, dtype=float) - training.usual)
    away = np.minimum(away, _WIDE * training.scale) / clip
    value = betting_reduction(clipped[order], away[order] ** 2, for_error)
    tail = _tail(evidence, for_tail)
    average = float((away**2).mean())
    one = evidence.state(
        code="R2",
        name="explained",
        value=value,
        empirical=1.0 - float(clipped.mean()) / average if average > 0 else None,
        delta=delta,
        loss="share of the squared deviation from the mean target",
        bound="at least",
        unit="ratio",
        flags=flag_error(value is None, value is not None and value <= 0, tail),
        details={"clip": clip, "beyond": tail, "mean": training.usual},
        assumptions=(CLIPPED,),
    )
    return [one]


def _clip_squares(evidence: Evidence) -> tuple[Array, Integers]:
    """Squared errors in units of the largest that is counted, and a random order to bet on them
    in.
    """
    order = np.random.default_rng(evidence.seed).permutation(len(evidence.observed.y))
    sizes = np.abs(evidence.residual) / evidence.sizes.need("clip")
    return np.minimum(sizes, 1.0) ** 2, order


def _tail(evidence: Evidence, delta: float) -> float:
    """At most so many errors are larger than the largest that is counted."""
    beyond = np.abs(evidence.residual) > evidence.sizes.need("clip")
    return float(clopper_pearson(beyond.sum(), len(beyond), delta))


def intervals(evidence: Evidence, delta: float) -> list[Statement]:
    """R3: prediction intervals of each region: by rank, so that each holds with confidence, all at
    once; or on average.
    """
    regions, residual, sizes = evidence.regions(), evidence.residual, evidence.sizes
    made = []
    for i, name, inside in regions:
        errors = np.sort(np.abs(residual[inside]))
        m = len(errors)
        part = delta / len(regions)
        rank, needed = interval_rank(m, sizes.coverage, part, sizes.marginal)
        enough = 0 < rank <= m
        details = {
            "regions": float(len(regions)),
            "coverage": sizes.coverage,
            "needed": float(needed),
        }
        if sizes.marginal:
            details["marginal"] = 1.0
        made.append(
            evidence.state(
                code="R3",
                name="interval",
                value=float(errors[rank - 1]) if enough else None,
                empirical=float(np.quantile(errors, sizes.coverage)) if m else None,
                n_rows=m,
                delta=delta,
                loss="half-width",
                unit="target",
                region=name,
                region_index=i,
                flags=() if enough else (FEW,),
                details=details,
            )
        )
    return made


REGRESSION: Mapping[str, Maker] = {
    "tolerance": Maker(hold_out, 0.20),
    "squared error": Maker(squared_error, 0.20),
    "explained": Maker(reduction, 0.15, TARGET),
    "interval": Maker(intervals, 0.20),
    "any rule": Maker(any_rule, 0.10, PRIOR),
    "one draw": Maker(one_draw, 0.15, PRIOR),
}
