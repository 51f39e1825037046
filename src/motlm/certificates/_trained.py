"""Mixtures that can be certified on the rows used for fitting: those whose prior does not depend on
them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaln

from ..errors import CertificateError, InputError
from ..fingerprints import row_keys
from ..geometry import Geometry, GivenCenters, LearnedLocalities, RowCenters, RowLocalities
from ..mixture import Mixture
from ..posterior import Posterior, Prior, settle_scales
from ..problem import Table
from ..units import Units
from . import _distributions as distributions
from ._checks import check_labels, read_targets
from ._distributions import UnionRisk
from ._widths import price_of, round_weights

__all__ = ["Trained", "even_widths", "move_to_medoids", "read_training", "round_widths"]

_ROWS = (RowLocalities, RowCenters)  # whose centers are training rows
_FEW = 3  # columns of a locality, which "auto" compares with all of them


@dataclass(frozen=True, eq=False)
class Trained:
    """A mixture, its training rows, and what the discrete choices made on them cost."""

    mixture: Mixture
    risk: UnionRisk
    table: Table
    price: float  # -ln of the prior weight of these choices
    centers: str  # "known", "learned", "medoid" or "row"
    prior: Prior  # whose scales, if they are learned, are settled in that of the risk

    def settle(self, posterior: Posterior) -> Trained:
        """With another posterior, and scales of the prior settled for it: all are paid for."""
        prior, _ = settle_scales(self.prior, posterior)
        mixture = replace(self.mixture, posterior=posterior)
        return replace(self, mixture=mixture, risk=replace(self.risk, prior=prior))


def read_training(mixture: Mixture, X: Any, y: Any, tolerance: float | None) -> Trained:
    """The training rows with the union loss; errors where the prior depends on them."""
    _refuse_prior_of_rows(mixture)
    encoded, y = mixture.encode(X), read_targets(X, y)
    own, units = Units.of_rows(encoded), mixture.inputs.units
    if mixture.provenance.units_from == "given" and (
        np.allclose(own.center, units.center, rtol=1e-9)
        and np.allclose(own.inverse_scale, units.inverse_scale, rtol=1e-9)
    ):
        raise CertificateError(
            "standardize has the units of these very rows; take them from other rows."
        )
    codes, fingerprint = check_labels(mixture.target, y), mixture.provenance.fingerprint
    if not fingerprint.same_rows(row_keys(encoded, codes)):
        raise CertificateError(
            f"these {len(encoded)} rows are not the {fingerprint.n_rows} used for fitting, all of"
            " them and no others.",
            "For rows that were not used for fitting use audit.",
        )
    if not mixture.inputs.varies.all():
        raise CertificateError(
            "a column is constant in all rows, and is ignored for that reason; leave it out of X."
        )
    size = _tolerance(mixture, tolerance)
    mixture = round_widths(mixture)
    rows = mixture.rows(encoded, codes)
    given = mixture.provenance.prior  # of the localities that are left
    scores = mixture.target.loss.scores
    expanded = mixture.geometry.expand(given, mixture.n_localities, mixture.inputs, scores)
    prior, price = settle_scales(expanded, mixture.posterior)
    trained = Trained(
        mixture,
        UnionRisk.of(mixture, prior, rows, size),
        Table(encoded, codes, np.ones(len(codes))),
        _price(mixture, len(codes)) + price,
        "learned" if mixture.geometry.learned else "known",
        expanded,
    )
    return _leave_out(trained) if isinstance(mixture.geometry, _ROWS) else trained


def _refuse_prior_of_rows(mixture: Mixture) -> None:
    """Priors, metrics and columns that depend on the rows used for fitting."""
    provenance, geometry = mixture.provenance, mixture.geometry
    units_from = provenance.units_from
    if provenance.objective is None:
        raise CertificateError(
            "the model was not fitted as it is, but made from a fitted one by certify or"
            " certify_in_sample, so that its centers and units may depend on the rows.",
            "Give the model as fit returned it, or quote the certificate that it has.",
        )
    if units_from == "rows" or (mixture.target.scaled and units_from != "given"):
        raise CertificateError(
            "the model has taken its units from the rows used for fitting (standardize=True, or a"
            " regressor's target), so that its prior depends on them.",
            "Fit with standardize=motlm.Units.of_rows(other_rows), or a classifier with"
            " standardize=False in units fixed beforehand, or let certify_in_sample do so.",
        )
    if mixture.inputs.n_ramps:
        taken = "is additive: it has taken the knots of its curves"
        if mixture.inputs.made is not None:
            taken = f"has local_models={mixture.inputs.kind}, a transformer with what it learned"
        raise CertificateError(
            f"the model {taken} from the rows used for fitting, so that its prior depends on them.",
            "Fit with local_models='linear', or use certify, which seals rows.",
        )
    if mixture.inputs.columns.incomplete:
        raise CertificateError(
            "the model has taken what stands in for missing values from the rows used for fitting,"
            " so that its prior depends on them.",
            "Impute them beforehand by values from elsewhere, or use certify, which seals rows.",
        )
    if not provenance.prior.plain:
        raise CertificateError(
            "the localities have priors of their own; in-sample they must have one, of plain"
            " numbers."
        )
    taken = geometry.depends_on_rows()
    if isinstance(geometry, _ROWS):  # its centers are paid for
        taken = GivenCenters.depends_on_rows(geometry) if isinstance(geometry, RowCenters) else ""
    if taken:
        raise CertificateError(
            f"the model has taken {taken} from the rows used for fitting.",
            "Use certify, which splits.",
        )
    if mixture.inputs.columns.has_text:
        raise CertificateError(
            "the model has taken the levels of text columns from the rows used for fitting.",
            "Use certify, which splits.",
        )


def _tolerance(mixture: Mixture, tolerance: float | None) -> float:
    if mixture.target.task == "classification":
        return 0.0
    if tolerance is None or not tolerance > 0:
        raise InputError(
            "tolerance is needed: a number > 0 in the units of y, chosen without these rows; got"
            f" {tolerance!r}."
        )
    return tolerance


def round_widths(mixture: Mixture) -> Mixture:
    """With learned weights of columns rounded to a grid that does not depend on rows."""
    layout = mixture.posterior.layout
    if layout is None or "column_weight" not in mixture.geometry.free:
        return mixture
    layout = replace(layout, column_weight=round_weights(layout.column_weight))
    return replace(mixture, posterior=replace(mixture.posterior, layout=layout))


def even_widths(trained: Trained) -> Trained:
    """With equal weights of columns in each locality, which cost less."""
    mixture, layout = trained.mixture, trained.mixture.posterior.layout
    assert layout is not None
    layout = replace(layout, column_weight=(layout.column_weight > 0).astype(float))
    even = replace(mixture, posterior=replace(mixture.posterior, layout=layout))
    saved = price_of(mixture.posterior.column_weight) - price_of(layout.column_weight)
    return replace(trained, mixture=even, price=trained.price - saved)


def _price(mixture: Mixture, n_rows: int) -> float:
    """Of the number of localities, of their columns and of the widths of these, and of the rows
    that are centers, in nats.

    Dropping localities, or choosing their number, used the same rows; any of known points may have
    been dropped. What is learned from here on keeps the columns and the widths.
    """
    most, posterior = mixture.provenance.most_localities, mixture.posterior
    geometry: Any = mixture.geometry
    sought = geometry.learned or isinstance(geometry, _ROWS)
    price = math.log(most + 1) if sought else most * math.log(2)
    if isinstance(geometry, _ROWS):  # among all rows, equal ones too
        price += replace(geometry, n_rows=n_rows).log_choices(posterior)
    else:
        price += geometry.log_choices(posterior)
    if _chosen_by_rows(geometry, posterior.center.shape[1]):
        price += math.log(2)
    if posterior.layout is not None and "column_weight" in geometry.free:
        price += price_of(posterior.column_weight)
    return float(price)


def _leave_out(trained: Trained) -> Trained:
    """Without the rows that are centers: a bound for each choice of them is about the others."""
    mixture, table, m = trained.mixture, trained.table, len(trained.table.X)
    distance = mixture.geometry.scores_and_distances(mixture.posterior, trained.risk.rows)[1]
    rest = np.setdiff1d(np.arange(m), distance.argmin(axis=1))
    others = mixture.rows(table.X[rest], table.target[rest])
    return replace(
        trained,
        risk=replace(trained.risk, rows=others),
        table=table.part(rest),
        centers="row",
    )


def _chosen_by_rows(geometry: Geometry, n_coordinates: int) -> bool:
    """Whether ``locality_features="auto"`` may have chosen between a few columns and all."""
    return (
        isinstance(geometry, LearnedLocalities)
        and geometry.most in (0, _FEW)
        and len(geometry.columns(n_coordinates)) > _FEW
    )


def move_to_medoids(trained: Trained) -> Trained:
    """Centers moved to the nearest rows, which are then left out of the certificate; and the price
    of such a choice, ln C(m, n). Columns, widths and corrections stay as they are.
    """
    mixture, rows, table = trained.mixture, trained.risk.rows, trained.table
    posterior, m = mixture.posterior, len(table.X)
    n, weights = posterior.n_localities, posterior.column_weight
    taken: list[int] = []
    center = posterior.center.copy()
    for i, weight in enumerate(weights):
        away = (rows.coordinates - center[i]) ** 2 @ weight
        away[taken] = np.inf
        taken.append(int(away.argmin()))
        center[i] = np.where(weight > 0, rows.coordinates[taken[-1]], center[i])
    fixed = _fix_centers(replace(mixture, posterior=replace(posterior, center=center)))
    rest = np.setdiff1d(np.arange(m), taken)
    others = fixed.rows(table.X[rest], table.target[rest])
    return Trained(
        fixed,
        replace(trained.risk, geometry=fixed.geometry, rows=others),
        table.part(rest),
        trained.price + float(gammaln(m + 1) - gammaln(m - n + 1) - gammaln(n + 1)),
        "medoid",
        trained.prior,
    )


def _fix_centers(mixture: Mixture) -> Mixture:
    """As `freeze` does, with models that are still corrections."""
    fixed, old = distributions.freeze(mixture), mixture.posterior
    if not old.pooled:
        return fixed
    posterior = replace(
        fixed.posterior,
        coef_scale=old.coef_scale,
        intercept_scale=old.intercept_scale,
        layout=old.layout,
    )
    geometry: Any = fixed.geometry
    corrections = getattr(mixture.geometry, "corrections", "none")
    return replace(fixed, geometry=replace(geometry, corrections=corrections), posterior=posterior)
