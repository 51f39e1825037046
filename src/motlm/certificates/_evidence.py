"""From rows that a model has not seen to statements: each maker takes the evidence and its share of
delta.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .. import prediction
from .._typing import AnyArray, Array, Booleans, Integers
from ..bounds import (
    best_c,
    betting,
    betting_reduction,
    catoni,
    clopper_pearson,
    conformal_rank,
    rows_needed,
)
from ..errors import InputError
from ..estimators import LocalMixture
from ..fingerprints import Fingerprint
from ..losses import Loss, OffBy, ZeroOne
from ..optimize import Solution
from ..posterior import Posterior
from ..problem import Problem, Table
from . import _laws
from ._guards import around, model_hash
from ._statements import FEW, NOT_BETTER, UNCHECKED, VACUOUS, CertificateError, Statement

__all__ = ["CLASSIFICATION", "REGRESSION", "Evidence", "Fitted", "Rival", "flags_of", "spending"]

INDEPENDENT = (
    "The rows are independent draws from one population, and the cases spoken of are drawn from it"
    " too."
)
UNSEEN = (
    "These rows had no part in choosing the model, its settings, its columns or its points of"
    " interest."
)
PRIOR = (
    "The prior of the bound and its C had no part of these rows, nor had the model's settings,"
    " columns and points of interest."
)
SEED = "The seed of the draw was fixed before the rows were looked at."
# standard deviations of the target; deviations beyond count as that, which can only make the
# baseline better
_WIDE = 4.0
_VACUOUS = 0.9995  # a bound that prints as 100 %
_COIN = 0.5
CLIPPED = "Larger errors count as the largest that is counted."
_TAIL = 0.05  # share of errors beyond those counted, from which a mean of the others says little
HEAVY = "LARGE ERRORS ARE NOT COUNTED IN FULL"


@dataclass(frozen=True)
class Fitted:
    """What is known of the rows that the model was fitted on."""

    X: Array | None  # encoded
    target: Array | None  # as the mixture's objective has it
    mean: float | None  # of a regression's target
    scale: float | None
    constant: Any = None  # the more frequent label


@dataclass(frozen=True)
class Rival:
    """Another predictor of the same rows."""

    name: str
    said: AnyArray


@dataclass(frozen=True)
class Evidence:
    """A model, and what it says of rows that it has not seen."""

    model: Any
    mixture: LocalMixture | None
    X: Array | None  # encoded, for the mixture
    y: AnyArray
    said: AnyArray
    fitted: Fitted
    rivals: tuple[Rival, ...]
    classification: bool
    tolerance: float | None
    clip: float | None
    coverage: float
    marginal: bool
    unlabeled: Booleans | None  # whether models contradict each other on further rows
    seed: int
    population: str
    rows: str  # how the rows are called
    trusted: bool  # whether that the rows are unseen is taken on trust

    def statement(self, **entries: Any) -> Statement:
        assumed = entries.pop("assumptions", ())
        unseen = PRIOR if entries.get("code") in ("C2", "C3") else UNSEEN
        entries.setdefault("n_rows", len(self.y))
        entries.setdefault("model", self.hash)
        entries.setdefault("predictor", "fixed")
        return Statement(
            **entries,
            population=self.population,
            rows=self.rows,
            assumptions=(INDEPENDENT, unseen, *((UNCHECKED,) if self.trusted else ()), *assumed),
        )

    @cached_property
    def hash(self) -> str:
        return model_hash(self.model)

    @cached_property
    def errs(self) -> Booleans:
        """Of a regressor: being off by more than the tolerance."""
        if self.classification:
            return np.asarray(self.said != self.y)
        return np.asarray(~(np.abs(self.residual) <= self.asked("tolerance")))

    @cached_property
    def residual(self) -> Array:
        return np.subtract(self.said, self.y, dtype=float)

    def asked(self, name: str) -> float:
        """The tolerance, or the clip; an error where there is none."""
        value = getattr(self, name)
        if value is None:
            raise InputError(
                f"{name} is needed for this kind of model: a size of errors in the units of y,"
                " chosen beforehand."
            )
        return float(value)

    @property
    def loss(self) -> str:
        return (
            "errs" if self.classification else f"is off by more than {self.asked('tolerance'):.15g}"
        )

    @cached_property
    def baseline(self) -> tuple[float | None, str]:
        """How often the trivial predictor errs on these rows, and its name."""
        if self.classification:
            if self.fitted.constant is None:
                counts = np.unique(self.y, return_counts=True)[1]
                return 1.0 - float(counts.max() / counts.sum()), "the majority class"
            return float(np.mean(self.y != self.fitted.constant)), "the majority class"
        if self.fitted.mean is None:
            return None, ""
        off = np.abs(np.asarray(self.y, dtype=float) - self.fitted.mean) > self.asked("tolerance")
        return float(np.mean(off)), "the mean target"

    @cached_property
    def regions(self) -> tuple[Integers, list[tuple[int, str]]]:
        """Who speaks for each row, and the names of all who may."""
        mixture = self.mixture
        assert mixture is not None
        assert self.X is not None
        by = prediction.nearest_model if mixture.overlap == "nearest" else prediction.mean_model
        speaker = np.concatenate([by(routing) for routing in mixture._routings(self.X)])
        n = len(mixture.localities_)
        names = [(i, f"where locality {i} speaks") for i in range(n)]
        if mixture.overlap == "mean" and n > 1:
            names.append((-1, "where several localities speak together"))
        return speaker, [*names, (n, "where the exterior model speaks" if n else "everywhere")]

    @cached_property
    def ambiguous(self) -> Booleans:
        assert self.mixture is not None
        assert self.X is not None
        return contradictions(self.mixture, self.X)

    # -- PAC-Bayes ---------------------------------------------------------------------------------

    @cached_property
    def target(self) -> Array:
        """As the mixture's objective has it."""
        mixture = self.mixture
        assert mixture is not None
        if not self.classification:
            return np.asarray(self.y, dtype=float)
        return np.where(self.y == mixture.classes_[1], 1.0, -1.0)

    @cached_property
    def prior(self) -> tuple[Problem, Posterior, float]:
        """The problem with frozen centers, the law learned from the rows of the fit, and a guess of
        its risk from them.
        """
        mixture, fitted = self.mixture, self.fitted
        assert mixture is not None
        assert fitted.X is not None
        assert fitted.target is not None
        scale = mixture._fitted.units.target_scale
        loss: Loss = ZeroOne() if self.classification else OffBy(self.asked("tolerance") / scale)
        problem, start = _laws.frozen(mixture, loss)
        rows = problem.rows_of(fitted.X, fitted.target)
        law = _laws.prior_from(problem, start, rows, mixture.inverse_temperature_)
        risk = replace(problem, rows=rows).objective(law.n_localities, 1.0).gibbs_risk(law)
        tried = [
            one.held_out_score
            for one in mixture.path_
            if one.n_localities == law.n_localities
            and one.inverse_temperature == mixture.inverse_temperature_
        ]
        held = [1.0 - score for score in tried if score is not None] if self.classification else []
        return problem, law, float(np.clip(max([risk, *held]), 0.0, 1.0))

    @cached_property
    def _posteriors(self) -> dict[float, tuple[Solution, float]]:
        return {}

    def posterior(self, delta: float) -> tuple[Solution, float]:
        """The law that minimizes Catoni's bound on these rows, and its C, which the rows of the fit
        have chosen.
        """
        if delta not in self._posteriors:
            problem, law, risk = self.prior
            assert self.X is not None
            c = float(
                best_c(risk, 1.0, len(self.y), delta)
            )  # about a nat is what learning from the rows usually costs
            rows = problem.rows_of(self.X, self.target)
            self._posteriors[delta] = _laws.learned(problem, _laws.as_prior(law), rows, c, law), c
        return self._posteriors[delta]

    @cached_property
    def _both(self) -> Fingerprint:
        """Of the rows of the fit and of these: a law fitted to both knows both."""
        assert self.mixture is not None
        assert self.X is not None
        return self.mixture._fingerprint.joined(Fingerprint.of(self.X, self.target))

    @cached_property
    def _models(self) -> dict[tuple[str, float], Any]:
        return {}

    def gibbs(self, delta: float) -> Any:
        """The predictor with the law that is certified at delta."""
        key = ("gibbs", delta)
        if key not in self._models:
            self._models[key] = around(self.model, self.made(self.posterior(delta)[0].posterior))
        return self._models[key]

    def draw(self, delta: float) -> tuple[Any, _laws.Draw, Booleans]:
        """The predictor that is drawn from that law, its numbers, and which rows it errs on."""
        key = ("draw", delta)
        if key not in self._models:
            self._models[key] = drawn_model(self, self.posterior(delta)[0])
        found: tuple[Any, _laws.Draw, Booleans] = self._models[key]
        return found

    def made(self, law: Posterior, draw: _laws.Draw | None = None) -> LocalMixture:
        """The mixture with another law, or one drawn from it."""
        assert self.mixture is not None
        assert self.X is not None
        seen = Table(self.X, self.target, np.ones(len(self.target)))
        mixture: LocalMixture = _laws.as_model(
            self.mixture, self.prior[0], law, seen, self._both, draw
        )
        return mixture


def contradictions(mixture: LocalMixture, X: Array) -> Booleans:
    """Rows for which applicable models of a classifier disagree."""
    return np.concatenate(
        [
            prediction.spread(routing, (routing.mean > 0).astype(float)) > 0
            for routing in mixture._routings(X)
        ]
    )


def flags_of(value: float, baseline: tuple[float | None, str]) -> tuple[str, ...]:
    share, name = baseline
    if value >= _VACUOUS:
        return (VACUOUS,)
    if share is not None and value >= share:
        return (NOT_BETTER.format(name.upper()),)
    return ()


def _counted(
    evidence: Evidence,
    errs: Booleans,
    delta: float,
    code: str,
    name: str,
    baseline: bool,
    **entries: Any,
) -> Statement:
    """Clopper and Pearson's bound for something that happens or not."""
    k, m = int(errs.sum()), len(errs)
    value = float(clopper_pearson(k, m, delta))
    trivial = evidence.baseline if baseline else (None, "")
    entries.setdefault("loss", evidence.loss)
    return evidence.statement(
        code=code,
        name=name,
        value=value,
        empirical=k / m,
        errors=k,
        n_rows=m,
        delta=delta,
        baseline=trivial[0],
        baseline_name=trivial[1],
        flags=flags_of(value, trivial),
        **entries,
    )


def hold_out(evidence: Evidence, delta: float) -> list[Statement]:
    """C1 and R1: how often this fixed model errs, or is off by more than the tolerance."""
    needed = int(rows_needed(_COIN, delta))
    if len(evidence.y) < needed:
        raise CertificateError(
            f"{len(evidence.y)} {evidence.rows} are too few for a certificate at confidence"
            f" {1 - delta:.4g}: not even a model without errors would be shown to be better than a"
            f" coin. At least {needed} are needed."
        )
    if evidence.classification:
        return [_counted(evidence, evidence.errs, delta, "C1", "hold-out", True)]
    details = {"tolerance": evidence.asked("tolerance")}
    return [_counted(evidence, evidence.errs, delta, "R1", "tolerance", True, details=details)]


def any_rule(evidence: Evidence, delta: float) -> list[Statement]:
    """C2: the Gibbs risk of the union loss, by Catoni's bound."""
    found, c = evidence.posterior(delta)
    value = min(float(catoni(found.gibbs_risk, found.kl, len(evidence.y), delta, c)), 1.0)
    return [
        evidence.statement(
            code="C2",
            name="any rule",
            value=value,
            empirical=found.gibbs_risk,
            kl=found.kl,
            delta=delta,
            loss=evidence.loss,
            predictor="gibbs",
            baseline=evidence.baseline[0],
            baseline_name=evidence.baseline[1],
            flags=flags_of(value, evidence.baseline),
            details={"c": c},
            model=model_hash(evidence.gibbs(delta)),
        )
    ]


def one_draw(evidence: Evidence, delta: float) -> list[Statement]:
    """C3: one model, drawn from the same law with a seed fixed beforehand."""
    found, c = evidence.posterior(delta)
    model, draw, errs = evidence.draw(delta)
    cost = _laws.log_ratio(draw, found.posterior, evidence.prior[1])
    value = min(float(catoni(errs.mean(), cost, len(errs), delta, c)), 1.0)
    return [
        evidence.statement(
            code="C3",
            name="one draw",
            value=value,
            empirical=float(errs.mean()),
            errors=int(errs.sum()),
            kl=cost,
            delta=delta,
            loss=evidence.loss,
            predictor="draw",
            baseline=evidence.baseline[0],
            baseline_name=evidence.baseline[1],
            flags=flags_of(value, evidence.baseline),
            details={"c": c, "seed": float(evidence.seed)},
            model=model_hash(model),
            assumptions=(SEED,),
        )
    ]


def drawn_model(evidence: Evidence, found: Solution) -> tuple[Any, _laws.Draw, Booleans]:
    """The model that is drawn, and which rows it errs on."""
    draw = _laws.drawn(found.posterior, evidence.seed)
    mixture = evidence.made(found.posterior, draw)
    assert evidence.X is not None
    said = np.concatenate(
        [prediction.spoken(routing, mixture.overlap) for routing in mixture._routings(evidence.X)]
    )
    model = around(evidence.model, mixture)
    if evidence.classification:
        return model, draw, np.asarray(np.where(said > 0, 1.0, -1.0) != evidence.target)
    units = mixture._fitted.units
    off = np.abs(said * units.target_scale + units.target_center - evidence.target)
    return model, draw, np.asarray(off > evidence.asked("tolerance"))


def silent_error(evidence: Evidence, delta: float) -> list[Statement]:
    """C4: wrong, and no contradiction shown."""
    silent = evidence.errs & ~evidence.ambiguous
    return [
        _counted(
            evidence,
            silent,
            delta,
            "C4",
            "silent error",
            False,
            loss="errs without showing a contradiction",
        )
    ]


def ambiguity(evidence: Evidence, delta: float) -> list[Statement]:
    """C4: how often local models contradict each other; labels are not needed."""
    seen, rows = evidence.ambiguous, evidence.rows
    if evidence.unlabeled is not None:
        seen, rows = (
            np.concatenate([seen, evidence.unlabeled]),
            f"{evidence.rows} and unlabeled rows",
        )
    one = _counted(
        evidence,
        seen,
        delta,
        "C4",
        "ambiguity",
        False,
        loss="shows a contradiction between its local models",
    )
    return [replace(one, rows=rows)]


def per_locality(evidence: Evidence, delta: float) -> list[Statement]:
    """C5: each region by itself, all at once."""
    speaker, names = evidence.regions
    made = []
    for i, region in names:
        errs = evidence.errs[speaker == i]
        details = {"regions": float(len(names))}
        if len(errs) == 0:
            needed = float(rows_needed(0.5, delta / len(names)))
            made.append(
                evidence.statement(
                    code="C5",
                    name="per locality",
                    value=None,
                    empirical=None,
                    n_rows=0,
                    delta=delta,
                    loss=evidence.loss,
                    region=region,
                    flags=(FEW,),
                    details={**details, "needed": needed},
                )
            )
            continue
        one = _counted(
            evidence,
            errs,
            delta / len(names),
            "C5",
            "per locality",
            False,
            region=region,
            details=details,
        )
        made.append(replace(one, delta=delta))
    return made


def gain(evidence: Evidence, delta: float) -> list[Statement]:
    """C6: how much less often it errs than the majority class, and than the rivals; on the same
    rows, in pairs.
    """
    y, errs = evidence.y, evidence.errs.astype(float)
    order = np.random.default_rng(evidence.seed).permutation(len(y))
    part = delta / (1 + len(evidence.rivals))
    constants = (
        [evidence.fitted.constant] if evidence.fitted.constant is not None else list(np.unique(y))
    )
    # which constant is best is not known, but it is one of them, and the bound for that one holds
    bounds = [_gain((y != label).astype(float), errs, order, part) for label in constants]
    seen = min(float(np.mean(y != label)) for label in constants) - float(errs.mean())
    made = [(min(bounds), seen, "the majority class", part)]
    for rival in evidence.rivals:
        wrong = (rival.said != y).astype(float)
        made.append(
            (_gain(wrong, errs, order, part), float(wrong.mean() - errs.mean()), rival.name, part)
        )
    return [
        evidence.statement(
            code="C6",
            name="gain",
            value=value,
            empirical=observed,
            delta=spent,
            loss="errs",
            bound="at least",
            unit="difference",
            baseline_name=name,
            flags=() if value > 0 else (NOT_BETTER.format(name.upper()),),
        )
        for value, observed, name, spent in made
    ]


def _gain(rival: Array, own: Array, order: Integers, delta: float) -> float:
    """Lower bound on the mean of rival - own, by a bet on (1 - rival + own) / 2."""
    return 1.0 - 2.0 * betting((0.5 * (1.0 - rival + own))[order], delta)


def squared_error(evidence: Evidence, delta: float) -> list[Statement]:
    """R2: the mean squared error, clipped, by betting; and how often errors are larger."""
    clip, scale = evidence.asked("clip"), evidence.fitted.scale
    for_error, for_tail = 0.85 * delta, 0.15 * delta
    clipped, order = _clipped(evidence)
    bound = betting(clipped[order], for_error)
    root = float(clip * np.sqrt(bound))
    tail = _tail(evidence, for_tail)
    worse = bool(scale and root >= scale)
    return [
        evidence.statement(
            code="R2",
            name="squared error",
            value=root,
            empirical=float(clip * np.sqrt(clipped.mean())),
            delta=delta,
            loss="root mean squared error",
            unit="target",
            baseline=scale,
            baseline_name="the mean target",
            flags=(
                (VACUOUS,)
                if bound >= _VACUOUS
                else (NOT_BETTER.format("THE MEAN TARGET"),)
                if worse
                else _heavy(tail)
            ),
            details={"clip": clip, "beyond": tail},
            assumptions=(CLIPPED,),
        )
    ]


def explained(evidence: Evidence, delta: float) -> list[Statement]:
    """R2: by how much the mean squared error, clipped, is smaller than that of always predicting
    the mean target of the fit.
    """
    clip, mean, scale = evidence.asked("clip"), evidence.fitted.mean, evidence.fitted.scale
    assert mean is not None
    assert scale is not None
    for_error, for_tail = 0.95 * delta, 0.05 * delta
    clipped, order = _clipped(evidence)
    away = np.minimum(np.abs(np.asarray(evidence.y, dtype=float) - mean), _WIDE * scale) / clip
    value = betting_reduction(clipped[order], away[order] ** 2, for_error)
    tail = _tail(evidence, for_tail)
    average = float((away**2).mean())
    return [
        evidence.statement(
            code="R2",
            name="explained",
            value=value,
            empirical=1.0 - float(clipped.mean()) / average if average > 0 else None,
            delta=delta,
            loss="share of the squared deviation from the mean target",
            bound="at least",
            unit="ratio",
            flags=(
                (VACUOUS,)
                if value is None
                else (NOT_BETTER.format("THE MEAN TARGET"),)
                if value <= 0
                else _heavy(tail)
            ),
            details={"clip": clip, "beyond": tail, "mean": mean},
            assumptions=(CLIPPED,),
        )
    ]


def _clipped(evidence: Evidence) -> tuple[Array, Integers]:
    """Squared errors in units of the largest that is counted, and a random order to bet on them in."""
    order = np.random.default_rng(evidence.seed).permutation(len(evidence.y))
    return np.minimum(np.abs(evidence.residual) / evidence.asked("clip"), 1.0) ** 2, order


def _tail(evidence: Evidence, delta: float) -> float:
    """At most so many errors are larger than the largest that is counted."""
    beyond = np.abs(evidence.residual) > evidence.asked("clip")
    return float(clopper_pearson(beyond.sum(), len(beyond), delta))


def _heavy(tail: float) -> tuple[str, ...]:
    return (HEAVY,) if tail > _TAIL else ()


def intervals(evidence: Evidence, delta: float) -> list[Statement]:
    """R3: prediction intervals of each region: by rank, so that each holds with confidence, all at
    once; or on average.
    """
    if evidence.mixture is None:
        speaker, names = np.zeros(len(evidence.y), dtype=int), [(0, "")]
    else:
        speaker, names = evidence.regions
    miss, part = 1.0 - evidence.coverage, delta / len(names)
    made = []
    for i, region in names:
        sizes = np.sort(np.abs(evidence.residual[speaker == i]))
        m = len(sizes)
        if evidence.marginal:
            rank, needed = (
                int(np.ceil((m + 1) * evidence.coverage - 1e-9)),
                int(np.ceil(evidence.coverage / miss - 1e-9)),
            )
        else:
            rank, needed = int(conformal_rank(max(m, 1), miss, part)), int(rows_needed(miss, part))
        enough = 0 < rank <= m
        details = {
            "regions": float(len(names)),
            "coverage": evidence.coverage,
            "needed": float(needed),
        }
        if evidence.marginal:
            details["marginal"] = 1.0
        made.append(
            evidence.statement(
                code="R3",
                name="interval",
                value=float(sizes[rank - 1]) if enough else None,
                empirical=float(np.quantile(sizes, evidence.coverage)) if m else None,
                n_rows=m,
                delta=delta,
                loss="half-width",
                unit="target",
                region=region,
                flags=() if enough else (FEW,),
                details=details,
            )
        )
    return made


Maker = Callable[[Evidence, float], list[Statement]]
CLASSIFICATION: Mapping[str, tuple[Maker, float, str]] = {  # maker, share of delta, what it needs
    "hold-out": (hold_out, 0.40, ""),
    "any rule": (any_rule, 0.10, "prior"),
    "one draw": (one_draw, 0.10, "prior"),
    "silent error": (silent_error, 0.10, "overlaps"),
    "ambiguity": (ambiguity, 0.05, "overlaps"),
    "per locality": (per_locality, 0.15, "regions"),
    "gain": (gain, 0.10, ""),
}
REGRESSION: Mapping[str, tuple[Maker, float, str]] = {
    "tolerance": (hold_out, 0.20, ""),
    "squared error": (squared_error, 0.20, ""),
    "explained": (explained, 0.15, "target"),
    "interval": (intervals, 0.20, ""),
    "any rule": (any_rule, 0.10, "prior"),
    "one draw": (one_draw, 0.15, "prior"),
}


def spending(
    evidence: Evidence, delta: float, spend: Mapping[str, float] | str | None
) -> dict[str, float]:
    """How much of delta each statement gets; an error for one that cannot be made."""
    makers = CLASSIFICATION if evidence.classification else REGRESSION
    n = 0 if evidence.mixture is None else len(evidence.mixture.localities_)

    def possible(needs: str) -> bool:
        if needs == "target":
            return bool(evidence.fitted.scale)
        return not needs or (
            evidence.mixture is not None and (needs != "prior" or evidence.fitted.X is not None)
        )

    def telling(needs: str) -> bool:
        """Whether it says another thing than the hold-out: that depends on the number of
        localities, not on these rows.
        """
        return possible(needs) and n >= {"overlaps": 2, "regions": 1}.get(needs, 0)

    if spend is None or isinstance(spend, str):
        if spend not in (None, "each"):
            raise InputError(
                "spend must be None, 'each' or a mapping of statements to shares of delta; got"
                f" {spend!r}."
            )
        names = [name for name, (_, _, needs) in makers.items() if telling(needs)]
        free = [
            name for name in names if name == "interval" and evidence.marginal
        ]  # needs no confidence
        total = sum(makers[name][1] for name in names if name not in free)
        return {
            name: 0.0 if name in free else delta if spend else delta * makers[name][1] / total
            for name in names
        }
    strange = [name for name in spend if name not in makers]
    if strange:
        raise InputError(f"spend names {strange[0]!r}; there are {', '.join(makers)}.")
    missing = [name for name in spend if not possible(makers[name][2])]
    if missing:
        needs = makers[missing[0]][2]
        what = (
            "the mean target of the fit, which this model does not remember"
            if needs == "target"
            else "a motlm mixture"
        )
        raise InputError(
            f"{missing[0]!r} needs {what}{' and certify' if needs == 'prior' else ''}."
        )
    if not spend:
        raise InputError("spend names no statement; leave it out for all of them.")
    return {name: float(value) for name, value in spend.items()}
