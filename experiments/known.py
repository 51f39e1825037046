"""Distributions of rows with finite support, and true risks under them, as exact sums and not as
estimates.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.special import ndtr

from motlm import LocalMixtureClassifier, LocalMixtureRegressor, Prior
from motlm.combinations import COMBINATIONS
from motlm.mixture import View

_STEP = 0.125  # of sums in the place of integrals over a normal variable; errors below 1e-14
_GRID = np.arange(-9.0, 9.0 + _STEP, _STEP)
_DENSITY = _STEP * np.exp(-0.5 * _GRID**2) / np.sqrt(2 * np.pi)


@dataclass(frozen=True)
class Case:
    """A distribution of rows, the size of the sample, and the model fitted."""

    task: str
    n_rows: int
    noise: float
    fit: str  # "known": the true centers; "wrong n": one learned center where two are needed

    @property
    def name(self) -> str:
        return f"{self.task}, {self.fit}, m={self.n_rows}, noise {self.noise:g}"

    @property
    def labels(self) -> Labels:
        """Of a classification."""
        return LABELS[self.task]

    @property
    def classifies(self) -> bool:
        return self.task in LABELS


@dataclass(frozen=True, eq=False)
class Labels:
    """A label for each point of the plane. With the probability of the noise it is one of the
    others, each alike.
    """

    names: np.ndarray  # in order
    index: np.ndarray  # (n_points,), of the label without noise
    center: float  # of the second ball; the first is on the other side

    @property
    def points(self) -> list[list[float]]:
        return [[place, 0.0, 0.0, 0.0, 0.0] for place in (-self.center, self.center)]

    def draw(self, which: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
        changed = rng.uniform(size=len(which)) < noise
        others = rng.integers(1, len(self.names), size=len(which))
        return self.names[(self.index[which] + changed * others) % len(self.names)]

    def chances(self, noise: float) -> np.ndarray:
        """(n_labels, n_points): the probability of each label."""
        others = noise / (len(self.names) - 1)
        own = np.arange(len(self.names))[:, None] == self.index
        return np.where(own, 1.0 - noise, others)


# -- the distributions -----------------------------------------------------------------------------


def _plane() -> np.ndarray:
    """13 x 13 points of the plane, each with three uninformative binary columns."""
    places, coins = np.linspace(-2, 2, 13), (-0.5, 0.5)
    return np.array(list(product(places, places, coins, coins, coins)))


def _two_labels(X: np.ndarray) -> np.ndarray:
    """Labels from two overlapping balls, whose models agree on most of their common points, and the
    opposite rule outside.
    """
    first, second = (np.hypot(X[:, 0] - place, X[:, 1]) <= 1.1 for place in (-0.5, 0.5))
    rising, falling = (X[:, 1] + slope * X[:, 0] > 0.1 for slope in (0.5, -0.5))
    inside = np.where(first & (X[:, 0] <= 0), rising, falling)
    return np.where(first & (X[:, 0] <= 0) | second, inside, X[:, 1] <= 0.1).astype(int)


def _three_labels(X: np.ndarray) -> np.ndarray:
    """Sectors around the origin, and others, that are turned, around the centers of two balls."""
    side = np.where(X[:, 0] > 0, 1.0, -1.0)
    near = np.hypot(X[:, 0] - 0.8 * side, X[:, 1]) <= 1.0
    turns = np.arctan2(X[:, 1] - 0.1, X[:, 0] - 0.8 * side * near) / (2 * np.pi)
    return np.floor(3 * ((turns + near * (0.5 + 0.1 * side)) % 1)).astype(int)


PLANE = _plane()
LABELS = {
    "classification": Labels(np.array([-1, 1]), _two_labels(PLANE), 0.5),
    "three classes": Labels(np.array(["high", "low", "none"]), _three_labels(PLANE), 0.8),
}
LINE = np.linspace(-2, 2, 61)[:, None]
CURVE = np.where(
    np.abs(LINE[:, 0] + 0.6) <= 0.7,
    1.5 * LINE[:, 0],
    np.where(np.abs(LINE[:, 0] - 0.6) <= 0.7, -LINE[:, 0], 0.3),
)
_QUANTILES = (np.arange(25) + 0.5) / 25
NOISE = -np.log1p(-_QUANTILES) - np.mean(-np.log1p(-_QUANTILES))  # skewed, with mean 0


def draw(case: Case, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    if case.classifies:
        which = rng.integers(len(PLANE), size=case.n_rows)
        return PLANE[which], case.labels.draw(which, case.noise, rng)
    which = rng.integers(len(LINE), size=case.n_rows)
    return (
        LINE[which],
        CURVE[which] + case.noise * NOISE[rng.integers(len(NOISE), size=case.n_rows)],
    )


def estimator(case: Case) -> Any:
    """Of three classes the true centers are with the log loss, the wrong n with the zero-one."""
    options: dict[str, Any] = {
        "n_starts": 1,
        "max_iter": 60,
        "standardize": False,
        "random_state": 0,
    }
    if not case.classifies:
        return LocalMixtureRegressor(
            points_of_interest=[[-0.6], [0.6]], inverse_temperature=16.0, prior=Prior(), **options
        )
    options |= {"inverse_temperature": 8.0, "loss": "zero-one"}
    if case.fit == "wrong n":
        return LocalMixtureClassifier(1, **options)
    options |= {"points_of_interest": case.labels.points}
    if case.task == "three classes":
        return LocalMixtureClassifier(**options | {"loss": "log"})
    return LocalMixtureClassifier(combine="any", **options)


# -- true risks of classifiers ---------------------------------------------------------------------


def errs(case: Case, answers: np.ndarray) -> np.ndarray:
    """The probability that the label answered for each point of the plane is wrong."""
    labels = case.labels
    right = answers == labels.names[labels.index]
    return np.where(right, case.noise, 1.0 - case.noise / (len(labels.names) - 1))


def view_of(model: Any, X: np.ndarray) -> View:
    return model.mixture_.view(model.mixture_.encode(X))


def shares(view: View) -> np.ndarray:
    """(n_models, n_labels, n_rows): the probability that each model answers each label. Of several,
    that its score is the largest: a sum over the distance of that score from its mean.
    """
    ratio = view.mean / np.sqrt(np.expand_dims(view.variance, tuple(range(1, view.mean.ndim - 1))))
    if ratio.ndim == 2:
        return np.stack([ndtr(-ratio), ndtr(ratio)], axis=1)
    found = np.zeros(ratio.shape)
    for k in range(ratio.shape[1]):
        gaps = np.delete(ratio[:, k : k + 1] - ratio, k, axis=1)
        for place, density in zip(_GRID, _DENSITY, strict=True):
            found[:, k] += density * ndtr(gaps + place).prod(axis=1)
    return found


def gibbs(case: Case, model: Any) -> np.ndarray:
    """The probability that an applicable model errs, at each point of the plane."""
    view = view_of(model, PLANE)
    answered, chances = shares(view), case.labels.chances(case.noise)
    every = (
        chance * COMBINATIONS["any"].value(view.membership, 1.0 - answered[:, k])
        for k, chance in enumerate(chances)
    )
    return np.sum(list(every), axis=0)


def gibbs_seen(case: Case, model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """The same on some rows, on average."""
    view = view_of(model, X)
    own = np.searchsorted(case.labels.names, y)[None, None]
    right = np.take_along_axis(shares(view), own, axis=1)[:, 0]
    return float(COMBINATIONS["any"].value(view.membership, 1.0 - right).mean())


def apart(model: Any) -> np.ndarray:
    """The probability that two applicable models answer different labels, at each point of the
    plane: over all sets of localities that may apply.
    """
    view = view_of(model, PLANE)
    omega, answered = view.membership, shares(view)
    total = np.zeros(len(PLANE))
    for applies in product((False, True), repeat=len(omega)):
        chance, same = np.ones(len(PLANE)), np.ones(answered.shape[1:])
        for i, inside in enumerate(applies):
            chance = chance * (omega[i] if inside else 1.0 - omega[i])
            same = same * answered[i] if inside else same
        if any(applies):
            total += chance * (1.0 - same.sum(axis=0))
    return total


# -- and of regressors -----------------------------------------------------------------------------


def outcomes(case: Case) -> np.ndarray:
    return np.asarray(CURVE[:, None] + case.noise * NOISE)  # (points, noises)


def gibbs_off(model: Any, y: np.ndarray, tolerance: float) -> float:
    """The probability that an applicable model is off by more than a tolerance."""
    view, target = view_of(model, LINE), model.mixture_.target
    loss = target.error(tolerance)
    total = 0.0
    for column in y.T:
        codes = (column - target.center) / target.scale
        losses = loss.value_and_partials(codes, view.mean, view.variance).value
        total += COMBINATIONS["any"].value(view.membership, losses).mean() / y.shape[1]
    return total
