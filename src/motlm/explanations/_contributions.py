"""What each column adds to the scores of rows, and the training rows near to them."""

from __future__ import annotations

import numpy as np

from .._typing import Array, Booleans, Integers
from ..mixture import Mixture, View

__all__ = ["nearest_rows", "parts_of", "split_scores"]

_BLOCK = 1024  # rows whose distances to the training rows are held at once


def split_scores(view: View) -> tuple[Array, Array]:
    """The score of the model used at its own place, (n_rows,), and what each encoded column adds
    to it, (n_rows, n_encoded); means over the models where several are used. Of several classes
    both have an axis of them after the first.

    They add up to the score, in the units of the target; the answer is `target.answer` of that.
    """
    mixture = view.mixture
    inputs, target, posterior = mixture.inputs, mixture.target, mixture.posterior
    places = _places(mixture)
    scores = np.einsum("i...j,ij->i...", posterior.coef, places) + posterior.intercept
    at_places = target.in_units(scores)
    features = inputs.features(view.encoded, inputs.coordinates(inputs.standardize(view.encoded)))
    slopes = posterior.coef * target.scale
    # several are used where the index is -1; the exterior's stand in for them until below
    base, parts = at_places[view.used], _times(slopes[view.used], features - places[view.used])
    for row in np.flatnonzero(view.used < 0):
        models = np.flatnonzero(view.applicable[:, row])
        base[row] = at_places[models].mean(axis=0)
        parts[row] = _times(slopes[models], features[row] - places[models]).mean(axis=0)
    return base, inputs.by_column(parts)


def parts_of(view: View) -> Array:
    """What each encoded column adds to the score of the model used, (n_rows, n_encoded), relative
    to the average training row; of several classes (n_rows, n_classes, n_encoded).
    """
    mixture = view.mixture
    inputs, slopes = mixture.inputs, mixture.posterior.coef * mixture.target.scale
    features = inputs.features(view.encoded, inputs.coordinates(inputs.standardize(view.encoded)))
    parts = _times(slopes[view.used], features)
    for row in np.flatnonzero(view.used < 0):
        models = np.flatnonzero(view.applicable[:, row])
        parts[row] = _times(slopes[models], features[[row]]).mean(axis=0)
    return inputs.by_column(parts)


def _times(slopes: Array, gaps: Array) -> Array:
    """Each slope times its gap, which is the same for all classes."""
    return slopes * (gaps if slopes.ndim == gaps.ndim else gaps[:, None])


def _places(mixture: Mixture) -> Array:
    """What contributions are relative to, (n_localities + 1, n_features): the median row of each
    model; of a model from an older file, which has none, the centers and the average training row.

    Centers are taken from standardized numbers, which keep their digits.
    """
    inputs, summary = mixture.inputs, mixture.provenance.summary
    if summary is not None:
        rows = np.array(summary.medians)
        return inputs.features(rows, inputs.coordinates(inputs.standardize(rows)))
    rows = np.array([*mixture.geometry.centers(inputs, mixture.posterior), inputs.typical])
    places = inputs.standardize(rows)
    for place, locus in zip(places, mixture.loci, strict=False):
        place[locus.columns] = locus.center
    return inputs.features(rows, inputs.coordinates(places))


def nearest_rows(view: View, train: View, count: int) -> tuple[Integers, Array, Integers]:
    """The nearest training rows, in standardized units, for which the same model is used, and the
    training row with the same values as each row (-1: there is none), which is left out of them.
    """
    nearest, distance = _nearest(view, train, count + 1)
    same = (nearest >= 0) & _equal(view.encoded[:, None], train.encoded[nearest])
    own = same & (nearest == np.arange(len(nearest))[:, None])  # at its own place, if it is there
    first = np.where(own.any(axis=1), own.argmax(axis=1), same.argmax(axis=1))
    left_out = np.where(same.any(axis=1), first, count)
    kept = np.arange(count + 1) != left_out[:, None]
    rows = np.arange(len(nearest))
    identical = np.where(same.any(axis=1), nearest[rows, left_out], -1)
    shape = len(nearest), count
    return nearest[kept].reshape(shape), distance[kept].reshape(shape), identical


def _equal(rows: Array, others: Array) -> Booleans:
    """Whether rows are equal, and miss the same values."""
    return np.asarray(((rows == others) | (np.isnan(rows) & np.isnan(others))).all(axis=-1))


def _nearest(view: View, train: View, count: int) -> tuple[Integers, Array]:
    inputs = view.mixture.inputs
    Z, T = (inputs.coordinates(inputs.standardize(one.encoded)) for one in (view, train))
    nearest = np.full((len(Z), count), -1, dtype=np.intp)
    distance = np.full((len(Z), count), np.nan)
    own, others = _models_used(view), _models_used(train)
    for models in np.unique(own, axis=0):
        among = np.flatnonzero((others == models).all(axis=1))
        asked = np.flatnonzero((own == models).all(axis=1))
        k = min(count, len(among))
        if k == 0:
            continue
        for start in range(0, len(asked), _BLOCK):
            rows = asked[start : start + _BLOCK]
            squared = (
                (Z[rows] ** 2).sum(axis=1)[:, None]
                + (T[among] ** 2).sum(axis=1)
                - 2.0 * Z[rows] @ T[among].T
            )
            first = np.argsort(squared, axis=1, kind="stable")[:, :k]
            nearest[rows[:, None], np.arange(k)] = among[first]
            distance[rows[:, None], np.arange(k)] = np.sqrt(
                np.maximum(np.take_along_axis(squared, first, axis=1), 0.0)
            )
    return nearest, distance


def _models_used(view: View) -> Integers:
    """Of each row: the index of the model used, and where several are used, which."""
    several = view.applicable.T.astype(int) * (view.used < 0)[:, None]
    return np.column_stack([view.used, several])
