"""Routing and scores: which local models apply to a row, which one speaks, and what each says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from ._typing import Array, Booleans, Integers
from .combinations import gates
from .objective import Vicinity, models_and_distances, variances
from .posterior import Posterior
from .rows import Rows
from .vicinity import Lookup, half_distance

__all__ = [
    "OVERLAPS",
    "Readings",
    "Routing",
    "mean_model",
    "nearest_model",
    "radii",
    "read",
    "route",
    "spoken",
    "spread",
    "votes",
]

OVERLAPS = ("nearest", "mean")


@dataclass(frozen=True)
class Routing:
    """Which models apply to some rows, and what each says."""

    distance: Array  # (n_localities, n_rows)
    member: Booleans  # (n_localities, n_rows), distance <= radius
    mean: (
        Array  # (n_localities + 1, n_rows), score of each model; the last row is the exterior model
    )

    @property
    def applicable(self) -> Booleans:
        """(n_localities + 1, n_rows): the localities that contain the row, or else the exterior."""
        outside = np.asarray(~self.member.any(axis=0))
        return np.concatenate([self.member, outside[None]])


@dataclass(frozen=True)
class Readings:
    """The posterior's view of some rows."""

    omega: Array  # (n_localities, n_rows), probability of membership
    mean: Array  # (n_localities + 1, n_rows)
    variance: Array  # (n_localities + 1, n_rows)


def radii(lookup: Lookup) -> Array:
    """Distance at which each membership is 1/2; 0 where it never is."""
    return np.array([half_distance(table) for table in lookup.tables])


def route(vicinity: Vicinity, posterior: Posterior, radius: Array, rows: Rows) -> Routing:
    mean, distance = models_and_distances(vicinity, posterior, rows)
    return Routing(distance, distance <= np.where(radius > 0, radius, -1.0)[:, None], mean)


def read(vicinity: Vicinity, lookup: Lookup, posterior: Posterior, rows: Rows) -> Readings:
    mean, distance = models_and_distances(vicinity, posterior, rows)
    omega = lookup.look_up(lookup.value, lookup.place(distance))
    np.clip(omega, 0.0, 1.0, out=omega)  # rounding in the last digits
    return Readings(omega, mean, variances(posterior, rows))


def nearest_model(routing: Routing) -> Integers:
    """Index of the nearest center among the localities that contain the row; n_localities for the
    exterior.
    """
    n, n_rows = routing.member.shape
    speaker = np.full(n_rows, n, dtype=np.intp)
    reach = np.full(n_rows, np.inf)
    for i in range(n):
        closer = routing.member[i] & (routing.distance[i] < reach)
        speaker[closer] = i
        np.copyto(reach, routing.distance[i], where=closer)
    return speaker


def mean_model(routing: Routing) -> Integers:
    """As `nearest_model` where one model applies; -1 where several speak together."""
    return np.where(routing.member.sum(axis=0) > 1, -1, nearest_model(routing))


def spoken(routing: Routing, overlap: str) -> Array:
    """The score that is said in the end: by the model of the nearest center, or by the mean of the
    applicable models.
    """
    if overlap == "nearest":
        n_rows = routing.mean.shape[1]
        return np.asarray(
            routing.mean.ravel().take(nearest_model(routing) * n_rows + np.arange(n_rows))
        )
    applicable = routing.applicable
    return np.asarray((routing.mean * applicable).sum(axis=0) / applicable.sum(axis=0))


def votes(readings: Readings) -> tuple[Array, Array]:
    """The posterior's votes for the positive and for the negative class: memberships times Phi,
    over the sum of all gates.

    Each is computed by itself, so that a vote near 1 leaves the digits of the other.
    """
    gate = gates(readings.omega)[0]
    gate /= gate.sum(axis=0)
    score = readings.mean / np.sqrt(readings.variance)
    tiny = np.finfo(float).tiny  # an impossible vote would be an infinite score
    return np.maximum((gate * ndtr(score)).sum(axis=0), tiny), np.maximum(
        (gate * ndtr(-score)).sum(axis=0), tiny
    )


def spread(routing: Routing, said: Array) -> Array:
    """Largest less smallest of what the applicable models say."""
    applicable = routing.applicable
    high = np.where(applicable, said, -np.inf).max(axis=0)
    low = np.where(applicable, said, np.inf).min(axis=0)
    return np.asarray(high - low)
