"""Which of several applicable local models is used, and what is predicted."""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np

from ._typing import Array, Booleans, Integers

__all__ = ["OVERLAPS", "Mean", "Nearest", "Overlap", "apply_to", "contain", "nearest"]


class Overlap(Protocol):
    """The interface of such a rule. Arrays are (n_localities, n_rows), scores have one row more,
    and of several classes an axis of them before the rows.
    """

    name: ClassVar[str]

    def choose(self, distance: Array, member: Booleans) -> Integers:
        """Index of the model used for each row; n_localities for the exterior, -1 for several."""

    def combine(self, scores: Array, used: Integers, applicable: Booleans) -> Array:
        """The score of the answer."""


def nearest(distance: Array, member: Booleans) -> Integers:
    """Index of the nearest center among the localities that contain the row; n_localities for the
    exterior.
    """
    n, n_rows = member.shape
    used = np.full(n_rows, n, dtype=np.intp)
    least = np.full(n_rows, np.inf)
    for i in range(n):
        closer = member[i] & (distance[i] < least)
        used[closer] = i
        np.copyto(least, distance[i], where=closer)
    return used


def contain(distance: Array, radius: Array) -> Booleans:
    """(n_localities, n_rows): which localities contain each row; one of radius 0 contains none."""
    return np.asarray(distance <= np.where(radius > 0, radius, -1.0)[:, None])


def apply_to(member: Booleans) -> Booleans:
    """(n_localities + 1, n_rows): the localities that contain the row, or else the exterior."""
    outside = np.asarray(~member.any(axis=0))
    return np.concatenate([member, outside[None]])


class Nearest:
    """The model of the nearest center."""

    name: ClassVar[str] = "nearest"

    def choose(self, distance: Array, member: Booleans) -> Integers:
        return nearest(distance, member)

    def combine(self, scores: Array, used: Integers, applicable: Booleans) -> Array:
        if scores.ndim > 2:
            return np.asarray(np.take_along_axis(scores, used[None, None], axis=0)[0])
        n_rows = scores.shape[1]
        return np.asarray(scores.ravel().take(used * n_rows + np.arange(n_rows)))


class Mean:
    """All applicable models, by the mean of their scores."""

    name: ClassVar[str] = "mean"

    def choose(self, distance: Array, member: Booleans) -> Integers:
        return np.where(member.sum(axis=0) > 1, -1, nearest(distance, member))

    def combine(self, scores: Array, used: Integers, applicable: Booleans) -> Array:
        apply = applicable[:, None] if scores.ndim > 2 else applicable
        return np.asarray((scores * apply).sum(axis=0) / applicable.sum(axis=0))


OVERLAPS: dict[str, Overlap] = {"nearest": Nearest(), "mean": Mean()}
