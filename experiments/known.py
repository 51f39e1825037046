"""Distributions of rows with finite support, and true risks under them, as exact sums and not as
estimates.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.special import ndtr, owens_t

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
    fit: str  # one of FITS

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


FITS = {
    "known": "the true centers",
    "wrong n": "one ball learned where there are two",
    "columns": "two localities in up to two of five columns, and corrections",
    "widths": "two localities with own widths in all five columns, and corrections",
    "rows": "two training rows as centers, in up to two of five columns, and corrections",
    "corrections": "two intervals learned, and corrections",
}
"""What is fitted, in words. The first two are the paper's balls, with independent models."""


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
        "local_models": "linear",
        "standardize": False,
        "random_state": 0,
    }
    if case.fit in _LOCALITIES:
        return _localities(case, options)
    options |= {"locality_features": "ball", "corrections": "none"}
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


_LOCALITIES: dict[str, dict[str, Any]] = {
    "columns": {"locality_features": 2},
    "widths": {"locality_features": "all"},
    "rows": {"locality_features": 2, "centers": "rows"},
    "corrections": {},
}


def _localities(case: Case, options: dict[str, Any]) -> Any:
    """With the settings of today, but for one start and given columns."""
    options = {**options, **_LOCALITIES[case.fit]}
    if case.classifies:
        return LocalMixtureClassifier(2, inverse_temperature=4.0, **options)
    return LocalMixtureRegressor(2, inverse_temperature=16.0, **options)


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


def both_below(first: np.ndarray, second: np.ndarray, correlation: np.ndarray) -> np.ndarray:
    """P(X <= first, Y <= second) of standard normal X and Y, by Owen's T function."""
    h, k = (np.where(one == 0, 1e-300, one) for one in (first, second))
    slope = np.sqrt((1.0 - correlation) * (1.0 + correlation))
    with np.errstate(over="ignore"):
        mixed = owens_t(h, (k / h - correlation) / slope)
        mixed = mixed + owens_t(k, (h / k - correlation) / slope)
    return 0.5 * (ndtr(h) + ndtr(k)) - mixed - 0.5 * (h * k < 0)


def _two_share(view: View) -> bool:
    """Whether there are two localities whose models are corrections of one exterior."""
    many = view.mixture.n_localities
    if view.mixture.posterior.pooled and many > 2:
        raise ValueError(f"no true risks of {many} models that depend on each other.")
    return view.mixture.posterior.pooled and many == 2


def _joint_label(view: View) -> np.ndarray:
    """(2, n_rows): the probability that both local models answer each of two labels."""
    scale = np.sqrt(view.variance)
    first, second = (view.mean / scale)[:2]
    correlation = view.variance[-1] / (scale[0] * scale[1])
    return np.stack([both_below(-s * first, -s * second, correlation) for s in (1.0, -1.0)])


def union(view: View, wrong: np.ndarray, both: np.ndarray | None) -> np.ndarray:
    """The probability that an applicable model errs, from those of each model, and of two that
    depend on each other that of both.
    """
    omega = view.membership
    if both is None:
        return COMBINATIONS["any"].value(omega, wrong)
    inside = omega[0] * wrong[0] + omega[1] * wrong[1] - omega[0] * omega[1] * both
    return inside + wrong[2] * (1.0 - omega[0]) * (1.0 - omega[1])


def gibbs(case: Case, model: Any) -> np.ndarray:
    """The probability that an applicable model errs, at each point of the plane."""
    view = view_of(model, PLANE)
    answered, chances = shares(view), case.labels.chances(case.noise)
    joint = _joint_label(view)[::-1] if _two_share(view) else None  # of the other label
    every = (
        chance * union(view, 1.0 - answered[:, k], None if joint is None else joint[k])
        for k, chance in enumerate(chances)
    )
    return np.sum(list(every), axis=0)


def gibbs_seen(case: Case, model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """The same on some rows, on average, of models that are independent."""
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
    if _two_share(view):
        return omega[0] * omega[1] * (1.0 - _joint_label(view).sum(axis=0))
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
    loss, both = target.error(tolerance), None
    total = 0.0
    for column in y.T:
        codes = (column - target.center) / target.scale
        losses = loss.value_and_partials(codes, view.mean, view.variance).value
        if _two_share(view):
            both = losses[0] + losses[1] - 1.0 + _both_near(view, codes, tolerance / target.scale)
        total += union(view, losses, both).mean() / y.shape[1]
    return total


def _both_near(view: View, codes: np.ndarray, tolerance: float) -> np.ndarray:
    """The probability that both local models are off by no more than a tolerance."""
    scale = np.sqrt(view.variance)
    correlation = view.variance[-1] / (scale[0] * scale[1])
    total = np.zeros(len(codes))
    for one, other in product((1.0, -1.0), repeat=2):
        ends = [
            (codes + side * tolerance - view.mean[i]) / scale[i]
            for i, side in enumerate((one, other))
        ]
        total += one * other * both_below(*ends, correlation)
    return total


# -- coins -----------------------------------------------------------------------------------------

COINS = 100  # columns that have nothing to do with the labels


def toss(n_rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Columns and labels of -1 and 1, all independent: every model errs on half of all cases."""
    return rng.choice([-1.0, 1.0], (n_rows, COINS)), rng.choice([-1.0, 1.0], n_rows)


# shapes of a locality around 1 in two columns: weights, and which of (same, first differs, second
# differs, both differ) are inside
SHAPES = {
    (1.0, 1.0): (True, True, True, False),
    (2.0, 0.5): (True, False, True, False),
    (0.5, 2.0): (True, True, False, False),
}


def best_pair(X: np.ndarray, y: np.ndarray) -> tuple[tuple[int, int], tuple[float, float]]:
    """The two columns and their weights of the locality that has the fewest errors, where models
    answer 1 inside and -1 outside.
    """
    one, other = (X > 0).astype(float), (X < 0).astype(float)
    best, found = np.inf, ((0, 1), (1.0, 1.0))
    for weights, inside in SHAPES.items():
        wrong = np.zeros((COINS, COINS))
        for (first, second), within in zip(product((one, other), repeat=2), _ORDER, strict=True):
            # rows of this kind are answered 1 or -1
            sign = 1.0 if inside[within] else -1.0
            wrong += (first * (y != sign)[:, None]).T @ second
        wrong[np.tril_indices(COINS)] = np.inf  # pairs, once each
        if wrong.min() < best:
            best = wrong.min()
            i, j = np.unravel_index(wrong.argmin(), wrong.shape)
            found = (int(i), int(j)), weights
    return found


_ORDER = (0, 2, 1, 3)  # same, the second differs, the first differs, both
