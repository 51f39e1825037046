"""Where a search begins: balls placed at rows with linear models fitted inside and outside, or the
paper's random draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ._typing import Array, Booleans
from .combinations import gates
from .losses import Loss
from .objective import Objective, locate, lookup_of, variances
from .posterior import Posterior
from .rows import Rows

__all__ = [
    "Ball",
    "diverse",
    "one_model",
    "paper_draw",
    "placed_at_rows",
    "promising_balls",
    "with_ball",
]

_RIDGE = 1.0  # one pseudo-row per weight, as a standard normal prior has
_SHAPE = 25.0  # the radius starts with a spread of a fifth of itself
_CENTER_SCALE = 0.2
_MODEL_SCALE = 0.3


def placed_at_rows(
    rows: Rows, points: Array | None, n_localities: int, unit_scale: bool, rng: np.random.Generator
) -> Posterior:
    """Centers at random rows (or at the given points), radii at random quantiles of the distance,
    ridge models inside and out.

    Parameters
    ----------
    rows : Rows
    points : array, (n_localities, n_coordinates), or None
        Known centers; None places them at rows.
    n_localities : int
    unit_scale : bool
        Whether the scale of the weights is fixed at 1.
    rng : numpy Generator

    Returns
    -------
    Posterior

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.datasets import make_clf_case1
    >>> from motlm.rows import Rows
    >>> from motlm.starts import placed_at_rows
    >>> X, y = make_clf_case1(200, random_state=0)
    >>> law = placed_at_rows(Rows.of(X, y), None, 2, False, np.random.default_rng(0))
    >>> [bool((X == center).all(axis=1).any()) for center in law.center], law.coef.shape
    ([True, True], (3, 2))
    """
    m, d = rows.features.shape
    n = n_localities
    if points is None:
        chosen = rng.choice(m, size=n, replace=False, p=rows.weight / rows.weight.sum())
        center = rows.coordinates[chosen].astype(float)
        distance = np.sqrt([_squared_distances(rows, point) for point in center]).reshape(n, m)
        center_scale = np.full(n, _CENTER_SCALE)
    else:
        center, center_scale, distance = points, np.zeros(n), rows.distance.T
    share = rng.uniform(0.05, 0.5, size=n)
    radius = np.array([_ranked(distance[i], share[i]) for i in range(n)])
    radius = np.maximum(radius, 1e-2)
    inside = distance <= radius[:, None]
    coef, intercept = np.empty((n + 1, d)), np.empty(n + 1)
    for i in range(n):
        coef[i], intercept[i] = _ridge(rows, inside[i])
    coef[n], intercept[n] = _ridge(rows, ~inside.any(axis=0))
    return Posterior(
        center=center,
        center_scale=center_scale,
        radius_shape=np.full(n, _SHAPE),
        radius_rate=_SHAPE / radius,
        **_models(coef, intercept, unit_scale),
    )


def _models(coef: Array, intercept: Array, unit_scale: bool) -> dict[str, Array]:
    """The laws of linear models with these means, or, where the weights' scale is fixed at 1, as
    sure of themselves as those.
    """
    scale = _MODEL_SCALE if unit_scale else 1.0
    return {
        "coef": coef / scale,
        "coef_scale": np.full(len(coef), _MODEL_SCALE / scale),
        "intercept": intercept / scale,
        "intercept_scale": np.full(len(coef), _MODEL_SCALE / scale),
    }


def one_model(rows: Rows, unit_scale: bool) -> Posterior:
    """No locality: a ridge model of all rows."""
    return placed_at_rows(rows, None, 0, unit_scale, np.random.default_rng(0))


@dataclass(frozen=True)
class Ball:
    """A ball that might be added to a mixture, with ridge models of the rows in it and of the rows
    that the exterior keeps.
    """

    center: Array
    radius: float
    coef: Array  # (2, n_features): inside, exterior
    intercept: Array  # (2,)
    gain: float  # loss per row that it promises to remove


def promising_balls(
    objective: Objective, posterior: Posterior, count: int, rng: np.random.Generator
) -> list[Ball]:
    """Of `count` balls around rows, drawn where the exterior model errs and elsewhere, those first
    that promise to remove most.

    The promise takes hard memberships and ridge models, inside the ball and outside: sum over rows
    in the ball of its loss, and over the others of the new exterior model's, against the exterior's
    loss before. Rows of other balls gain nothing, and a ball over them adds its own loss to theirs,
    as the objective has it.

    Parameters
    ----------
    objective : Objective
    posterior : Posterior
        The mixture to which a ball might be added.
    count : int
        Balls that are drawn.
    rng : numpy Generator

    Returns
    -------
    list of Ball
        The one of most gain first.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm import Prior
    >>> from motlm.datasets import make_clf_case1
    >>> from motlm.losses import ZeroOne
    >>> from motlm.objective import LearnedCenters, Objective
    >>> from motlm.rows import Rows
    >>> from motlm.starts import one_model, promising_balls
    >>> X, y = make_clf_case1(200, random_state=0)
    >>> objective = Objective(ZeroOne(), LearnedCenters(), Prior(), Rows.of(X, y), inverse_temperature=4.0)
    >>> before = one_model(objective.rows, unit_scale=False)
    >>> balls = promising_balls(objective, before, 20, np.random.default_rng(0))
    >>> len(balls), balls[0].gain >= balls[-1].gain
    (20, True)
    """
    rows, loss = objective.rows, objective.loss
    mean, _, omega = locate(
        objective.vicinity, lookup_of(objective.vicinity, posterior), posterior, rows
    )
    outside = gates(omega)[0][-1] * rows.weight
    lost = (
        outside
        * loss.value_and_partials(rows.target, mean[-1], variances(posterior, rows)[-1]).value
    )
    total = float(rows.weight.sum())
    lost = np.maximum(lost, 0.0)  # memberships from tables may exceed 1 by some 1e-11
    chance = 0.5 * lost / max(float(lost.sum()), 1e-300) + 0.5 * rows.weight / total
    chosen = rng.choice(len(rows), size=count, p=chance / chance.sum())
    share = np.exp(rng.uniform(np.log(0.03), np.log(0.6), size=count))
    least = min(rows.features.shape[1] + 2, len(rows)) / len(rows)
    balls = []
    for center, part in zip(
        rows.coordinates[chosen].astype(float), np.maximum(share, least), strict=True
    ):
        squared = _squared_distances(rows, center)
        limit = _ranked(squared, part)
        inside = squared <= limit
        models = [_ridge(rows, inside, outside), _ridge(rows, ~inside, outside)]
        left = _hard_loss(loss, rows, inside, rows.weight, *models[0]) + _hard_loss(
            loss, rows, ~inside, outside, *models[1]
        )
        coef, intercept = (np.array(parts) for parts in zip(*models, strict=True))
        balls.append(
            Ball(
                center,
                max(float(np.sqrt(limit)), 1e-2),
                coef,
                intercept,
                (float(lost.sum()) - left) / total,
            )
        )
    return sorted(balls, key=lambda ball: -ball.gain)


def diverse(balls: Sequence[Ball], count: int) -> list[Ball]:
    """The first balls that are not much like one before.

    Parameters
    ----------
    balls : sequence of Ball
        The best first.
    count : int
        Most that are chosen.

    Returns
    -------
    list of Ball

    Examples
    --------
    >>> import numpy as np
    >>> from motlm import Prior
    >>> from motlm.datasets import make_clf_case1
    >>> from motlm.losses import ZeroOne
    >>> from motlm.objective import LearnedCenters, Objective
    >>> from motlm.rows import Rows
    >>> from motlm.starts import diverse, one_model, promising_balls
    >>> X, y = make_clf_case1(200, random_state=0)
    >>> objective = Objective(ZeroOne(), LearnedCenters(), Prior(), Rows.of(X, y), inverse_temperature=4.0)
    >>> before = one_model(objective.rows, unit_scale=False)
    >>> balls = promising_balls(objective, before, 20, np.random.default_rng(0))
    >>> few = diverse(balls, 3)
    >>> len(few), few[0] is balls[0]
    (3, True)
    """
    chosen: list[Ball] = []
    for ball in balls:
        if len(chosen) == count:
            break
        if all(_unlike(ball, other) for other in chosen):
            chosen.append(ball)
    return chosen


def _unlike(one: Ball, other: Ball) -> bool:
    small, large = sorted([one.radius, other.radius])
    return bool(np.linalg.norm(one.center - other.center) > 0.5 * large or large > 1.5 * small)


def with_ball(posterior: Posterior, ball: Ball, unit_scale: bool) -> Posterior:
    """The mixture with this ball, and with the ridge model outside.

    That the exterior begins anew from a soft model matters: a sharp one, left as it was, keeps the
    search where it is.

    Parameters
    ----------
    posterior : Posterior
    ball : Ball
    unit_scale : bool
        Whether the scale of the weights is fixed at 1.

    Returns
    -------
    Posterior

    Examples
    --------
    >>> import numpy as np
    >>> from motlm import Prior
    >>> from motlm.datasets import make_clf_case1
    >>> from motlm.losses import ZeroOne
    >>> from motlm.objective import LearnedCenters, Objective
    >>> from motlm.rows import Rows
    >>> from motlm.starts import one_model, promising_balls, with_ball
    >>> X, y = make_clf_case1(200, random_state=0)
    >>> objective = Objective(ZeroOne(), LearnedCenters(), Prior(), Rows.of(X, y), inverse_temperature=4.0)
    >>> before = one_model(objective.rows, unit_scale=False)
    >>> balls = promising_balls(objective, before, 20, np.random.default_rng(0))
    >>> with_ball(before, balls[0], unit_scale=False).n_localities
    1
    """
    n = posterior.n_localities
    added = {
        "center": ball.center,
        "center_scale": min(_CENTER_SCALE, 0.3 * ball.radius),
        "radius_shape": _SHAPE,
        "radius_rate": _SHAPE / ball.radius,
    }
    models = _models(ball.coef, ball.intercept, unit_scale)
    fields = {
        name: np.concatenate([getattr(posterior, name), np.asarray(value)[None]])
        for name, value in added.items()
    }
    fields |= {
        name: np.concatenate([getattr(posterior, name)[:n], value])
        for name, value in models.items()
    }
    return replace(posterior, **fields)


def _squared_distances(rows: Rows, point: Array) -> Array:
    squared = rows.coordinates @ (-2.0 * point).astype(rows.coordinates.dtype)
    squared += rows.coordinates_norm2
    squared += point @ point
    return np.maximum(squared, 0.0)


def _ranked(values: Array, share: float) -> float:
    """The value that this share of all values does not exceed."""
    rank = min(max(int(np.ceil(share * len(values))) - 1, 0), len(values) - 1)
    return float(np.partition(values, rank)[rank])


def _ridge(rows: Rows, chosen: Booleans, weight: Array | None = None) -> tuple[Array, float]:
    """Weighted ridge regression of the target on the chosen rows; the prior mean where there are
    none.
    """
    X, y = rows.features[chosen], rows.target[chosen]
    weight = (rows.weight if weight is None else weight)[chosen]
    d = X.shape[1]
    weighted = X * weight[:, None]
    gram = _RIDGE * np.eye(d + 1)
    gram[:d, :d] += weighted.T @ X
    gram[:d, d] = gram[d, :d] = weighted.sum(axis=0)
    gram[d, d] += weight.sum()
    solution = np.linalg.solve(gram, np.append(y @ weighted, y @ weight))
    return np.asarray(solution[:d], dtype=float), float(solution[d])


def _hard_loss(
    loss: Loss, rows: Rows, chosen: Booleans, weight: Array, coef: Array, intercept: float
) -> float:
    """Loss of a model on the chosen rows, its score as uncertain as its residuals are large."""
    X, y, weight = rows.features[chosen], rows.target[chosen], weight[chosen]
    mean = X @ coef.astype(X.dtype) + intercept
    residual = float(weight @ (y - mean) ** 2) / max(float(weight.sum()), 1e-300)
    variance = np.full_like(mean, 0.0 if loss.name == "squared" else max(residual, 1e-3))
    return float(weight @ loss.value_and_partials(y, mean, variance).value)


def paper_draw(
    rows: Rows,
    points: Array | None,
    n_localities: int,
    classification: bool,
    rng: np.random.Generator,
) -> Posterior:
    """The published experiments' random start.

    Centers and weights N(0, I) (weights 0 for regression), center_scale U(0, 1), shape and rate 50
    U(0, 1), the rest at the prior.

    Parameters
    ----------
    rows : Rows
    points : array, (n_localities, n_coordinates), or None
        Known centers; None draws them.
    n_localities : int
    classification : bool
    rng : numpy Generator

    Returns
    -------
    Posterior

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.datasets import make_reg_case1
    >>> from motlm.rows import Rows
    >>> from motlm.starts import paper_draw
    >>> X, y = make_reg_case1(100, random_state=0)
    >>> law = paper_draw(Rows.of(X, y), None, 2, False, np.random.default_rng(0))
    >>> law.center.shape, law.coef.ravel()
    ((2, 1), array([0., 0., 0.]))
    """
    n, d = n_localities, rows.features.shape[1]
    center = rng.standard_normal((n, rows.coordinates.shape[1])) if points is None else points
    center_scale = rng.uniform(1e-3, 1.0, size=n) if points is None else np.zeros(n)
    shape, rate = 50.0 * rng.uniform(size=n), 50.0 * rng.uniform(size=n)
    return Posterior(
        center=center,
        center_scale=center_scale,
        radius_shape=np.maximum(shape, 2.0),
        radius_rate=np.maximum(rate, 0.1),
        coef=rng.standard_normal((n + 1, d)) if classification else np.zeros((n + 1, d)),
        coef_scale=np.ones(n + 1),
        intercept=np.zeros(n + 1),
        intercept_scale=np.ones(n + 1),
    )
