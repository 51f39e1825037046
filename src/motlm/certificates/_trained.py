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
from ..mixture import Mixture
from ..posterior import settle_scales
from ..problem import Table
from ..units import Units
from . import _distributions as distributions
from ._checks import check_labels, read_targets
from ._distributions import UnionRisk

__all__ = ["Trained", "move_to_medoids", "read_training"]


@dataclass(frozen=True, eq=False)
class Trained:
    """A mixture, its training rows, and the prior weight of what was chosen on them."""

    mixture: Mixture
    risk: UnionRisk
    table: Table
    mass: float
    centers: str  # "known", "learned" or "medoid"


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
    rows = mixture.rows(encoded, codes)
    given = mixture.provenance.prior  # of the localities that are left
    scores = mixture.target.loss.scores
    expanded = mixture.geometry.expand(given, mixture.n_localities, mixture.inputs, scores)
    prior, price = settle_scales(expanded, mixture.posterior)
    return Trained(
        mixture,
        UnionRisk.of(mixture, prior, rows, size),
        Table(encoded, codes, np.ones(len(codes))),
        _mass(mixture) * math.exp(-price),
        "learned" if mixture.geometry.learned else "known",
    )


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
    if not provenance.prior.plain:
        raise CertificateError(
            "the localities have priors of their own; in-sample they must have one, of plain"
            " numbers."
        )
    taken = geometry.depends_on_rows()
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


def _mass(mixture: Mixture) -> float:
    """The prior weight of the number of localities and of the geometry's discrete choices.

    Dropping localities, or choosing their number, used the same rows; any of known points may have
    been dropped. What is learned from here on keeps the geometry's choices.
    """
    most, geometry = mixture.provenance.most_localities, mixture.geometry
    mass = 1.0 / (most + 1) if geometry.learned else 2.0**-most
    return mass * math.exp(-geometry.log_choices(mixture.posterior))


def move_to_medoids(trained: Trained) -> Trained:
    """Centers moved to the nearest rows, which are then left out of the certificate; and the prior
    weight of such a choice, 1 / C(m, n).
    """
    mixture, rows, table = trained.mixture, trained.risk.rows, trained.table
    posterior, m = mixture.posterior, len(table.X)
    n = posterior.n_localities
    taken: list[int] = []
    for center in posterior.center:
        away = ((rows.coordinates - center) ** 2).sum(axis=1)
        away[taken] = np.inf
        taken.append(int(away.argmin()))
    moved = replace(posterior, center=rows.coordinates[taken])
    fixed = distributions.freeze(replace(mixture, posterior=moved))
    rest = np.setdiff1d(np.arange(m), taken)
    price = gammaln(m - n + 1) + gammaln(n + 1) - gammaln(m + 1)
    others = fixed.rows(table.X[rest], table.target[rest])
    return Trained(
        fixed,
        replace(trained.risk, geometry=fixed.geometry, rows=others),
        table.part(rest),
        trained.mass * float(np.exp(price)),
        "medoid",
    )
