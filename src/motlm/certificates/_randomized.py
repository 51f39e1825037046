"""PAC-Bayes on rows that were not used for fitting: the prior learned from the rows of the fit, and
what the others make of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from .._typing import Array, Booleans
from ..bounds import best_c
from ..fingerprints import Fingerprint
from ..fitting import count_rows
from ..mixture import Mixture
from ..posterior import Posterior, Prior, settle_scales
from ..problem import Table
from ..targets import Binary, Several
from . import _distributions as distributions
from ._distributions import UnionRisk
from ._models import replace_mixture
from ._records import Observed, Sizes, Subject

__all__ = ["DrawnModel", "Learned", "LearnedPrior", "Randomized"]

_PARTS = 3  # of the rows used for fitting, each left out once
# lambda' of the zero-one loss after a fit by the log loss; tuned on three splits of KEEL's
# classification sets, where 2 to 8 differ little
_ZERO_ONE = 4.0


@dataclass(frozen=True, eq=False)
class LearnedPrior:
    """The prior, learned from the rows used for fitting."""

    mixture: Mixture  # with its centers fixed
    posterior: Posterior  # in the role of the prior
    risk: float  # to be expected, from the rows used for fitting


@dataclass(frozen=True, eq=False)
class Learned:
    """The distribution that these rows make of the prior, and the numbers of its bound."""

    posterior: Posterior
    risk: float  # mean probability that some applicable model errs, on these rows
    kl: float
    c: float


@dataclass(frozen=True, eq=False)
class DrawnModel:
    """The one model that was drawn, its numbers, and the rows on which it errs."""

    model: Any
    draw: distributions.Draw
    errs: Booleans


class Randomized:
    """Random models around a fitted one. All is computed when needed, and once for each delta."""

    def __init__(self, subject: Subject, observed: Observed, sizes: Sizes, seed: int) -> None:
        self._subject, self._observed, self._sizes, self._seed = subject, observed, sizes, seed
        # caches of the object, which end with it
        self.posterior = lru_cache(maxsize=None)(self._learn_posterior)
        self.gibbs = lru_cache(maxsize=None)(self._make_gibbs)
        self.draw = lru_cache(maxsize=None)(self._make_draw)

    @cached_property
    def rows(self) -> Table:
        """Those not used for fitting."""
        encoded, codes = self._observed.encoded, self._observed.codes
        assert encoded is not None
        assert codes is not None
        return Table(encoded, codes, np.ones(len(codes)))

    @cached_property
    def prior(self) -> LearnedPrior:
        """Learned from the rows used for fitting, with the centers fixed, and sharpened."""
        fitted, training = self._subject.mixture, self._subject.training
        assert fitted is not None
        assert training.encoded is not None
        mixture = distributions.freeze(fitted)
        rows = mixture.rows(training.encoded, training.codes)
        union = UnionRisk.of(mixture, _base(mixture), rows, self._tolerance)
        posterior = distributions.sharpen(_learn_prior(union, mixture))
        risks = [union.of_posterior(posterior), *self._held_out_risks(posterior)]
        if self._subject.classification and mixture.target.loss.likelihood:
            risks.append(self._left_out_risk(mixture))
        return LearnedPrior(mixture, posterior, float(np.clip(max(risks), 0.0, 1.0)))

    def _left_out_risk(self, mixture: Mixture) -> float:
        """Of models learned by the loss of the fit, in the same localities, on rows left out: in
        turn a third of those used for fitting.
        """
        encoded, codes = self._subject.training.encoded, self._subject.training.codes
        assert encoded is not None
        assert codes is not None
        if len(codes) < _PARTS:
            return 0.0
        temperature = mixture.provenance.inverse_temperature
        order, total = np.random.default_rng(self._seed).permutation(len(codes)), 0.0
        for out in (order[k::_PARTS] for k in range(_PARTS)):
            rest = np.setdiff1d(order, out)
            apart, inside = (
                UnionRisk.of(mixture, _settled(mixture), mixture.rows(encoded[one], codes[one]), 0)
                for one in (out, rest)
            )
            fit = replace(inside, loss=mixture.target.loss)
            found = distributions.learn(fit, mixture.posterior, temperature).posterior
            total += len(out) * apart.of_posterior(distributions.sharpen(found))
        return total / len(codes)

    @property
    def _tolerance(self) -> float:
        return 0.0 if self._subject.classification else self._sizes.need("tolerance")

    def _held_out_risks(self, posterior: Posterior) -> list[float]:
        """On the rows that the fit held out, where it did and the target has such a risk."""
        mixture = self._subject.mixture
        assert mixture is not None
        provenance = mixture.provenance
        risks = [
            mixture.target.expected_risk(one.held_out_score)
            for one in provenance.path
            if one.held_out_score is not None
            and one.n_localities == posterior.n_localities
            and one.inverse_temperature == provenance.inverse_temperature
        ]
        return [one for one in risks if one is not None]

    def _learn_posterior(self, delta: float) -> Learned:
        """The distribution that minimizes Catoni's bound on these rows (of several classes, with
        the loss of the fit), and its C, chosen by the rows used for fitting.
        """
        prior, rows = self.prior, self.rows
        # about a nat is what learning from the rows usually costs
        c = float(best_c(prior.risk, 1.0, len(rows.target), delta))
        union = UnionRisk.of(
            prior.mixture,
            distributions.as_prior(prior.posterior),
            prior.mixture.rows(rows.X, rows.target),
            self._tolerance,
        )
        found = distributions.learn(union, prior.posterior, c)
        return Learned(found.posterior, union.of_solution(found), found.kl, c)

    def _make_gibbs(self, delta: float) -> Any:
        """The predictor with the distribution that is certified at delta."""
        return self._model(self._mixture(self.posterior(delta).posterior))

    def _make_draw(self, delta: float) -> DrawnModel:
        """The predictor that is drawn from that distribution."""
        posterior = self.posterior(delta).posterior
        draw = distributions.draw_model(posterior, self._seed)
        mixture = self._mixture(distributions.use_draw(posterior, draw), draw.radius)
        answers = np.concatenate([view.answer for view in mixture.views(self.rows.X)])
        if self._subject.classification:
            errs = answers != self._observed.y
        else:
            errs = np.abs(answers - self.rows.target) > self._sizes.need("tolerance")
        return DrawnModel(self._model(mixture), draw, np.asarray(errs))

    def _mixture(self, posterior: Posterior, radius: Array | None = None) -> Mixture:
        """The mixture with another distribution, learned from the rows of the fit and these."""
        fixed, rows = self.prior.mixture, self.rows
        seen = fixed.provenance.fingerprint.join(Fingerprint.of(rows.X, rows.target))
        made = distributions.replace_posterior(fixed, posterior, seen, radius)
        return count_rows(made, rows)

    def _model(self, mixture: Mixture) -> Any:
        return replace_mixture(self._subject.model, mixture)


def _learn_prior(union: UnionRisk, mixture: Mixture) -> Posterior:
    """By the union loss, at the temperature of the fit; after a fit of two labels by the log loss
    at that of the zero-one loss, or as it was fitted where there is one model alone.
    """
    start, temperature = mixture.posterior, mixture.provenance.inverse_temperature
    if isinstance(mixture.target, Binary) and mixture.target.loss.likelihood:
        if not mixture.n_localities:
            return start
        temperature = max(temperature, _ZERO_ONE)
    return distributions.learn(union, start, temperature).posterior


def _base(mixture: Mixture) -> Prior:
    """Prior of the prior: the paper's; of several classes that of the fit, as settled by it."""
    posterior = mixture.posterior
    if not isinstance(mixture.target, Several):
        return Prior().expand(posterior.n_localities, posterior.coef.shape[1])
    return _settled(mixture)


def _settled(mixture: Mixture) -> Prior:
    """That of the fit, with its scales as they were learned."""
    given, scores = mixture.provenance.prior, mixture.target.loss.scores
    expanded = mixture.geometry.expand(given, mixture.n_localities, mixture.inputs, scores)
    return settle_scales(expanded, mixture.posterior)[0]
