"""Routing and scores: which local models apply to a row, which one speaks, and what each says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from ._typing import Array, Booleans, Integers
from .objective import Vicinity, gates, locate, scores
from .posterior import Posterior
from .rows import Rows
from .vicinity import Table, half_distance

__all__ = ["OVERLAPS", "Readings", "mean_model", "nearest_model", "radii", "read", "spoken", "spread", "votes"]

OVERLAPS = ("nearest", "mean")


@dataclass(frozen=True)
class Readings:
    """What the mixture says of some rows, before one model is let speak."""

    distance: Array  # (n_rows, n_localities)
    omega: Array  # (n_rows, n_localities), probability of membership
    member: Booleans  # (n_rows, n_localities), distance <= radius
    mean: Array  # (n_rows, n_localities + 1), score of each model; last column is the exterior model
    variance: Array  # (n_rows, n_localities + 1)

    @property
    def applicable(self) -> Booleans:
        """(n_rows, n_localities + 1): the localities that contain the row, or else the exterior."""
        return np.column_stack([self.member, ~self.member.any(axis=1)])


def radii(tables: Sequence[Table]) -> Array:
    """Distance at which each membership is 1/2; 0 where it never is."""
    return np.array([half_distance(table) for table in tables])


def read(vicinity: Vicinity, tables: Sequence[Table], posterior: Posterior, radius: Array, rows: Rows) -> Readings:
    distance, _, omega = locate(vicinity, tables, posterior, rows)
    np.clip(omega, 0.0, 1.0, out=omega)  # rounding in the last digits
    mean, variance = scores(posterior, rows)
    member = (radius >= distance.T) & (radius > 0)
    return Readings(distance.T, omega.T, member, mean.T, variance.T)


def nearest_model(readings: Readings) -> Integers:
    """Index of the nearest centre among the localities that contain the row; n_localities for the exterior."""
    n_rows, n = readings.member.shape
    if n == 0:
        return np.zeros(n_rows, dtype=np.intp)
    reach = np.where(readings.member, readings.distance, np.inf)
    return np.asarray(np.where(readings.member.any(axis=1), reach.argmin(axis=1), n))


def mean_model(readings: Readings) -> Integers:
    """As `nearest_model` where one model applies; -1 where several speak together."""
    speaker = nearest_model(readings)
    return np.where(readings.member.sum(axis=1) > 1, -1, speaker)


def spoken(readings: Readings, overlap: str) -> Array:
    """The score that is said in the end: by the model of the nearest centre, or by the mean of the applicable models."""
    if overlap == "nearest":
        return np.take_along_axis(readings.mean, nearest_model(readings)[:, None], axis=1)[:, 0]
    applicable = readings.applicable
    return np.asarray((readings.mean * applicable).sum(axis=1) / applicable.sum(axis=1))


def votes(readings: Readings) -> tuple[Array, Array]:
    """The posterior's votes for the positive and for the negative class: memberships times Phi, over the sum of all gates.

    Each is computed by itself, so that a vote near 1 leaves the digits of the other.
    """
    gate = gates(readings.omega.T)[0].T
    gate = gate / gate.sum(axis=1, keepdims=True)
    score = readings.mean / np.sqrt(readings.variance)
    tiny = np.finfo(float).tiny  # an impossible vote would be an infinite score
    return np.maximum((gate * ndtr(score)).sum(axis=1), tiny), np.maximum((gate * ndtr(-score)).sum(axis=1), tiny)


def spread(readings: Readings, said: Array) -> Array:
    """Largest less smallest of what the applicable models say."""
    applicable = readings.applicable
    high = np.where(applicable, said, -np.inf).max(axis=1)
    low = np.where(applicable, said, np.inf).min(axis=1)
    return np.asarray(high - low)
