"""Models made by hand from a fit, where what a search finds does not matter."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from motlm.geometry import GivenCenters, Locus


def with_mixture(model: Any, **changes: Any) -> Any:
    """The estimator with parts of its mixture replaced."""
    made = copy.copy(model)
    made.mixture_ = replace(model.mixture_, **changes)
    return made


def with_localities(model: Any, points: Any, radius: Any, rng: np.random.Generator) -> Any:
    """The estimator with localities at these standardized points, and other local models."""
    mixture, n = model.mixture_, len(points)
    inputs = mixture.inputs
    kept = mixture.posterior.keep([0] * n)
    posterior = replace(
        kept,
        coef=kept.coef + rng.normal(size=kept.coef.shape),
        intercept=kept.intercept + rng.normal(size=kept.intercept.shape),
        center=np.asarray(points, dtype=float)[:, inputs.varies],
    )
    changes: dict[str, Any] = {"radius": np.asarray(radius, dtype=float)}
    if not mixture.geometry.learned:
        units, counted = inputs.units, inputs.counted
        given = np.tile(inputs.typical, (n, 1))
        given[:, counted] = points[:, counted] / units.inverse_scale[counted]
        given[:, counted] += units.center[counted]
        changes |= {"points": points * inputs.varies, "given": given}
        if mixture.geometry.weights is not None:
            changes["weights"] = np.repeat(mixture.geometry.weights[:1], n, axis=0)
    summary = mixture.provenance.summary
    if summary is not None:
        summary = replace(summary, medians=summary.medians[[-1] * (n + 1)])
    counts = {"n_rows": (1,) * (n + 1), "points": tuple(range(n)), "summary": summary}
    return with_mixture(
        model,
        posterior=posterior,
        geometry=replace(mixture.geometry, **changes),
        provenance=replace(mixture.provenance, **counts),
    )


def with_columns(
    model: Any, weights: Any, points: Any, radius: Any, rng: np.random.Generator
) -> Any:
    """The estimator with localities in the encoded columns that have weights, at these standardized
    points, with other corrections: in those columns, or in all.
    """
    made = with_localities(model, points, radius, rng)
    mixture, weights = made.mixture_, np.asarray(weights, dtype=float)
    geometry, posterior = mixture.geometry, mixture.posterior
    seen = weights[:, mixture.inputs.varies]
    corrected = (seen > 0).astype(float) if geometry.corrections == "own" else np.ones(seen.shape)
    flags = corrected[:, None] if posterior.coef.ndim > 2 else corrected
    local, exterior = posterior.coef[:-1], posterior.coef[-1:]
    if geometry.learned:
        posterior = replace(posterior, center=np.where(seen > 0, posterior.center, 0.0))
    else:
        geometry = replace(geometry, weights=weights)
    posterior = replace(
        posterior,
        coef=np.concatenate([np.where(flags > 0, local, exterior), exterior]),
        layout=replace(posterior.layout, column_weight=seen, corrected=corrected),
    )
    return with_mixture(made, posterior=posterior, geometry=geometry)


@dataclass(frozen=True, eq=False)
class Described(GivenCenters):
    """A geometry of the tests: each locality lies where its locus says, whatever that is."""

    places: tuple[Locus, ...] = ()

    def rows(self, Z: Any, features: Any) -> Any:
        away = [self._away(one, Z[:, one.columns] - one.center) for one in self.places]
        return features, np.column_stack(away)

    def loci(self, inputs: Any, posterior: Any) -> tuple[Locus, ...]:
        return self.places

    @staticmethod
    def _away(locus: Locus, gap: Any) -> Any:
        weight = np.ones(gap.shape[1]) if locus.weight is None else locus.weight
        if locus.norm == "quadratic":
            return np.sqrt(np.einsum("ij,jk,ik->i", gap, locus.matrix, gap))
        if locus.norm == "euclidean":
            return np.sqrt((weight * gap**2).sum(axis=1))
        sizes = weight * np.abs(gap)
        return sizes.sum(axis=1) if locus.norm == "manhattan" else sizes.max(axis=1, initial=0.0)


def place_at(model: Any, places: tuple[Locus, ...], rng: np.random.Generator) -> Any:
    """The estimator with such localities."""
    points = np.zeros((len(places), len(model.mixture_.inputs.varies)))
    for point, locus in zip(points, places, strict=True):
        point[locus.columns] = locus.center
    made = with_localities(model, points, [one.radius for one in places], rng)
    given = made.mixture_.geometry
    geometry = Described(given.given, given.metric, given.points, given.radius, places=places)
    return with_mixture(made, geometry=geometry)
