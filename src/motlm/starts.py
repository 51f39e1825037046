"""Where a search begins: balls placed at rows with linear models fitted inside and outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ._renamed import warn_of
from ._typing import Array, Booleans, Integers
from .combinations import gates
from .geometry import (
    LARGEST_START,
    SMALLEST_START,
    Geometry,
    GivenCenters,
    LearnedBalls,
    rank,
)
from .limits import flush_to_zero
from .losses import ZeroOne
from .objective import Objective, locate, never
from .posterior import Posterior, Prior
from .rows import Rows
from .screening import Ball, promising_corrections

__all__ = [
    "Ball",
    "diverse",
    "one_model",
    "place_at_rows",
    "promising_balls",
    "with_ball",
]

_SCORED = 16  # balls that are looked at between two looks at the clock
_SHAPE = 25.0  # the radius starts with a spread of a fifth of itself


def place_at_rows(
    objective: Objective,
    n_localities: int,
    unit_scale: bool,
    rng: np.random.Generator,
    stop: Callable[[], bool] = never,
    exterior: Posterior | None = None,
) -> Posterior:
    """Centers where the geometry places them, radii at random quantiles of the distance, ridge
    models inside and out.

    Parameters
    ----------
    objective : Objective
        Its rows and geometry are looked at.
    n_localities : int
    unit_scale : bool
        Whether the scale of the weights is fixed at 1.
    rng : numpy Generator
    stop : callable
        Where it returns True, the other balls begin with the exterior's model.
    exterior : Posterior, default=None
        That of `one_model`, in whose exterior models are to begin, where it has too many features
        to be found anew each time.

    Returns
    -------
    Posterior

    Examples
    --------
    >>> import numpy as np
    >>> from motlm import Prior
    >>> from motlm.datasets import make_clf_case1
    >>> from motlm.geometry import LearnedBalls
    >>> from motlm.losses import ZeroOne
    >>> from motlm.objective import Objective
    >>> from motlm.rows import Rows
    >>> from motlm.starts import place_at_rows
    >>> X, y = make_clf_case1(200, random_state=0)
    >>> objective = Objective(ZeroOne(), LearnedBalls(), Prior(), Rows.of(X, y), 4.0)
    >>> start = place_at_rows(objective, 2, False, np.random.default_rng(0))
    >>> [bool((X == center).all(axis=1).any()) for center in start.center], start.coef.shape
    ([True, True], (3, 2))
    """
    rows = objective.rows
    d, n = rows.features.shape[1], n_localities
    placed, distance = objective.geometry.place(rows, n, rng)
    share = rng.uniform(0.05, 0.5, size=n)
    outside = np.ones(len(rows), dtype=bool)
    scores = objective.loss.scores
    radius = np.ones(n)
    coef, intercept = np.zeros((n + 1, *scores, d)), np.zeros((n + 1, *scores))
    working = _from_nothing(objective)
    layout: Any = placed.get("layout")
    pooled = bool(layout is not None and layout.pooled)
    late = n
    for i in range(n):
        if i and stop():
            late = i
            break
        found = rank(distance[i], share[i])
        radius[i] = min(max(found, SMALLEST_START), LARGEST_START)
        inside = distance[i] <= radius[i]
        outside &= ~inside
        if not pooled:
            coef[i], intercept[i] = _ridge(objective, working, inside)
    if exterior is None:
        coef[n], intercept[n] = _ridge(objective, working, outside)
    else:
        coef[n], intercept[n] = exterior.coef[-1], exterior.intercept[-1]
    coef[late:n], intercept[late:n] = coef[n], intercept[n]
    if pooled:
        for i in range(late):
            own = layout.corrected[i] > 0
            inside = distance[i] <= radius[i]
            coef[i], intercept[i] = _correct(objective, working, inside, own, coef[n], intercept[n])
    return Posterior(
        **placed,
        radius_shape=np.full(n, _SHAPE),
        radius_rate=_SHAPE / radius,
        **_models(coef, intercept, unit_scale, objective.loss.start_scale),
    )


def _models(coef: Array, intercept: Array, unit_scale: bool, start: float) -> dict[str, Any]:
    """The distributions of linear models with these means; where the weights' scale is fixed at 1,
    with the same ratio of mean to scale.
    """
    scale = start if unit_scale else 1.0
    return {
        "coef": coef / scale,
        "coef_scale": np.full(len(coef), start / scale),
        "intercept": intercept / scale,
        "intercept_scale": np.full(len(coef), start / scale),
    }


def one_model(objective: Objective, unit_scale: bool) -> Posterior:
    """No locality: a ridge model of all rows."""
    rows = objective.rows
    every = np.ones(len(rows), dtype=bool)
    coef, intercept = _ridge(objective, _from_nothing(objective), every)
    nothing = np.empty(0)
    return Posterior(
        layout=objective.geometry.layout(rows.coordinates.shape[1], rows.features.shape[1]),
        center=np.empty((0, rows.coordinates.shape[1])),
        center_scale=nothing,
        radius_shape=nothing,
        radius_rate=nothing,
        **_models(coef[None], intercept[None], unit_scale, objective.loss.start_scale),
    )


@flush_to_zero
def promising_balls(
    objective: Objective,
    posterior: Posterior,
    count: int,
    rng: np.random.Generator,
    stop: Callable[[], bool] = never,
    share_out: Callable[[Any, Any], list[Any]] = lambda function, parts: list(map(function, parts)),
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
    stop : callable
        Where it returns True, no more are looked at.
    share_out : callable
        That applies a function to each of several parts, on threads perhaps.

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
    >>> from motlm.geometry import LearnedBalls
    >>> from motlm.objective import Objective
    >>> from motlm.rows import Rows
    >>> from motlm.starts import one_model, promising_balls
    >>> X, y = make_clf_case1(200, random_state=0)
    >>> objective = Objective(ZeroOne(), LearnedBalls(), Prior(), Rows.of(X, y), 4.0)
    >>> before = one_model(objective, unit_scale=False)
    >>> balls = promising_balls(objective, before, 20, np.random.default_rng(0))
    >>> len(balls), balls[0].gain >= balls[-1].gain
    (20, True)
    """
    from ._engine.screening import score_balls

    if posterior.layout is not None:
        return promising_corrections(objective, posterior, count, rng, stop, share_out)
    rows, loss = objective.rows, objective.loss
    mean, omega = locate(objective.geometry, posterior, rows)
    outside = gates(omega)[0][-1] * rows.weight
    lost = (
        outside
        * loss.value_and_partials(
            rows.target, mean[-1], posterior.variances(posterior.norms2(rows.features))[-1]
        ).value
    )
    stays = float(loss.steps)  # whether models are corrections of the exterior's
    offset = stays * posterior.intercept[-1]
    base = np.asarray(stays * mean[-1], float)
    response, curvature = loss.working(np.asarray(rows.target, float), base)
    total = rows.total_weight
    if loss.steps:
        before, suspect = float(lost.sum()), outside * curvature * response**2
    else:
        suspect = np.maximum(lost, 0.0)  # memberships from tables may exceed 1 by some 1e-11
        before = float(suspect.sum())
    chance = 0.5 * suspect / max(float(suspect.sum()), 1e-300) + 0.5 * rows.weight / total
    chosen = rng.choice(len(rows), size=count, p=chance / chance.sum())
    share = np.exp(rng.uniform(np.log(0.03), np.log(0.6), size=count))
    least = min(rows.features.shape[1] + 2, len(rows)) / len(rows)

    def score(part: Integers) -> list[Ball]:
        if part[0] and stop():
            return []
        found, models = score_balls(
            rows.data, loss.code, float(loss.tolerance), np.atleast_2d(base),
            np.atleast_2d(response), curvature, outside, chosen[part],
            np.maximum(share[part], least),
        )  # fmt: skip
        balls = []
        for row, (limit, left), model in zip(chosen[part], found, models, strict=True):
            radius = min(max(float(np.sqrt(limit)), SMALLEST_START), LARGEST_START)
            placed = objective.geometry.candidate(rows, int(row), radius)
            gain = (before - float(left)) / total
            model = model.reshape(2, *loss.scores, -1)
            coef, intercept = model[..., :-1] + posterior.coef[-1] * stays, model[..., -1] + offset
            balls.append(Ball(placed, radius, coef, intercept, gain, loss.start_scale))
        return balls

    parts = np.array_split(np.arange(count), max(count // _SCORED, 1))
    every = share_out(score, parts)
    return sorted((ball for part in every for ball in part), key=lambda ball: -ball.gain)


def diverse(geometry: Geometry, balls: Sequence[Ball], count: int) -> list[Ball]:
    """The first balls that are not much like one before.

    Parameters
    ----------
    geometry : Geometry
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
    >>> from motlm.geometry import LearnedBalls
    >>> from motlm.objective import Objective
    >>> from motlm.rows import Rows
    >>> from motlm.starts import diverse, one_model, promising_balls
    >>> X, y = make_clf_case1(200, random_state=0)
    >>> objective = Objective(ZeroOne(), LearnedBalls(), Prior(), Rows.of(X, y), 4.0)
    >>> before = one_model(objective, unit_scale=False)
    >>> balls = promising_balls(objective, before, 20, np.random.default_rng(0))
    >>> few = diverse(objective.geometry, balls, 3)
    >>> len(few), few[0] is balls[0]
    (3, True)
    """
    chosen: list[Ball] = []
    for ball in balls:
        if len(chosen) == count:
            break
        if all(_unlike(geometry, ball, other) for other in chosen):
            chosen.append(ball)
    return chosen


def _unlike(geometry: Geometry, one: Ball, other: Ball) -> bool:
    small, large = sorted([one.radius, other.radius])
    return geometry.unlike(one.placed, other.placed, 0.5 * large) or large > 1.5 * small


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
    >>> from motlm.geometry import LearnedBalls
    >>> from motlm.objective import Objective
    >>> from motlm.rows import Rows
    >>> from motlm.starts import one_model, promising_balls, with_ball
    >>> X, y = make_clf_case1(200, random_state=0)
    >>> objective = Objective(ZeroOne(), LearnedBalls(), Prior(), Rows.of(X, y), 4.0)
    >>> before = one_model(objective, unit_scale=False)
    >>> balls = promising_balls(objective, before, 20, np.random.default_rng(0))
    >>> with_ball(before, balls[0], unit_scale=False).n_localities
    1
    """
    n, layout = posterior.n_localities, posterior.layout
    placed = dict(ball.placed)
    if layout is not None:
        layout = layout.join(placed.pop("layout"))
    added = placed | {
        "radius_shape": np.asarray(_SHAPE),
        "radius_rate": np.asarray(_SHAPE / ball.radius),
    }
    models = _models(ball.coef, ball.intercept, unit_scale, ball.start_scale)
    fields = {
        name: np.concatenate([getattr(posterior, name), value[None]])
        for name, value in added.items()
    }
    fields |= {
        name: np.concatenate([getattr(posterior, name)[:n], value])
        for name, value in models.items()
    }
    if posterior.pooled:  # the exterior goes on from where it is
        for name in ("coef_scale", "intercept_scale"):
            fields[name][-1] = getattr(posterior, name)[-1]
    return replace(posterior, **fields, layout=layout)


def _from_nothing(objective: Objective) -> tuple[Array, Array]:
    """What a model aims at where all scores are 0, and the weights of the rows in it."""
    rows = objective.rows
    response, curvature = objective.loss.working(
        np.asarray(rows.target, float), np.zeros((*objective.loss.scores, len(rows)))
    )
    return response, rows.weight * curvature


def _ridge(
    objective: Objective, working: tuple[Array, Array], chosen: Booleans
) -> tuple[Array, Array]:
    """Weighted ridge regression on the chosen rows; 0 where there are none."""
    from ._engine.screening import fit_ridge

    response, weight = working
    data, chosen_weight = objective.rows.data, np.where(chosen, weight, 0.0)
    model = fit_ridge(data, np.atleast_2d(response), chosen_weight)
    model = model.reshape(*objective.loss.scores, -1)
    return np.asarray(model[..., :-1]), np.asarray(model[..., -1])


def _correct(
    objective: Objective,
    working: tuple[Array, Array],
    chosen: Booleans,
    own: Booleans,
    coef: Array,
    intercept: Array,
) -> tuple[Array, Array]:
    """The exterior's model, corrected in some features by a ridge regression on the chosen rows."""
    X = objective.rows.features[chosen].astype(float)
    response, weight = working
    gap = response[..., chosen] - (X @ coef.T).T - intercept[..., None]
    design = np.column_stack([X[:, own], np.ones(len(X))])
    gram = design.T @ (design * weight[chosen, None]) + np.eye(design.shape[1])
    # features far beyond standardized ones leave nothing of the ridge
    change = np.linalg.lstsq(gram, design.T @ (weight[chosen] * gap).T, rcond=None)[0].T
    coef = coef.copy()
    coef[..., own] += change[..., :-1]
    return coef, intercept + change[..., -1]


def placed_at_rows(
    rows: Rows,
    points: Array | None,
    n_localities: int,
    unit_scale: bool,
    rng: np.random.Generator,
) -> Posterior:
    """Renamed: see `place_at_rows`."""
    warn_of("motlm.starts.placed_at_rows", "motlm.starts.place_at_rows")
    geometry: Geometry = LearnedBalls() if points is None else GivenCenters(points=points)
    objective = Objective(ZeroOne(), geometry, Prior(), rows, 1.0)
    return place_at_rows(objective, n_localities, unit_scale, rng)
