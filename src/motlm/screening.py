"""Where one more locality promises to remove most loss: in which columns, around which row, how
wide.

Many are drawn, and each is scored in closed form: the loss is taken as quadratic in the scores,
rows inside a radius count fully, and the correction of their model is a ridge regression. Those
that do best are varied by a column, a row or a width, and scored again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._typing import Array, Integers
from .combinations import gates
from .geometry import LARGEST_START, SMALLEST_START, LearnedLocalities
from .limits import flush_to_zero
from .objective import Objective, locate, never
from .posterior import Layout, Posterior

__all__ = ["Ball", "Drawn", "promising_corrections"]

_SCORED = 16  # that are looked at between two looks at the clock
_VARIED, _VARIANTS = 12, 8  # localities that are varied, and variants of each
_CUTS = (0.02, 0.04, 0.07, 0.12, 0.18, 0.27, 0.4, 0.6)  # shares of the rows inside
_FEWEST = 5  # rows inside
_WORK = 4e8  # products of features that are summed for one ranking, about
_PER_COLUMN, _PER_WEIGHT = 1.8, 1.5  # nats that a column of the center, a weight usually costs
_SCALE = 0.5  # of corrections


@dataclass(frozen=True)
class Ball:
    """A locality that might be added to a mixture, with rough models of the rows in it and of the
    rows that the exterior keeps.
    """

    placed: dict[str, Any]  # fields of one locality
    radius: float
    coef: Array  # (2, n_features): inside, exterior; of several classes (2, n_classes, n_features)
    intercept: Array  # (2,), or (2, n_classes)
    gain: float  # loss per row that it promises to remove
    start_scale: float = 0.3  # of its weights and intercepts


@dataclass(frozen=True)
class Drawn:
    """Localities around rows, in some columns."""

    row: Integers  # (count,)
    weight: Array  # (count, n_coordinates)

    def join(self, other: Drawn) -> Drawn:
        return Drawn(
            np.concatenate([self.row, other.row]), np.concatenate([self.weight, other.weight])
        )


@flush_to_zero
def promising_corrections(
    objective: Objective,
    posterior: Posterior,
    count: int,
    rng: np.random.Generator,
    stop: Callable[[], bool] = never,
    share_out: Callable[[Any, Any], list[Any]] = lambda function, parts: list(map(function, parts)),
) -> list[Ball]:
    """Of `count` localities and variants of the best of them those first that promise most.

    Parameters
    ----------
    objective : Objective
        With `LearnedLocalities`.
    posterior : Posterior
        The mixture to which one might be added.
    count : int
        That are drawn.
    rng : numpy Generator
    stop : callable
        Where it returns True, no more are looked at.
    share_out : callable
        That applies a function to each of several parts, on threads perhaps.

    Returns
    -------
    list of Ball
    """
    from ._engine.screening import score_corrections

    geometry: Any = objective.geometry
    rows, loss = geometry.screened(objective.rows), objective.loss
    variance = posterior.variances(posterior.norms2(rows.features))
    mean, omega = locate(geometry, posterior, rows)
    gate = gates(omega)[0][-1]
    target = np.asarray(rows.target, float)
    push, curvature = loss.push(target, np.asarray(mean[-1], float), variance[-1])
    outside = gate * rows.weight
    own = loss.value_and_partials(target, mean[-1], variance[-1]).value
    # rows of other localities pay twice; below 0, a loss is taken as 0
    cost = np.maximum(own, 0.0) * (rows.weight - outside)
    slopes, bends = np.atleast_2d(push) * outside, curvature * outside
    suspect = (np.atleast_2d(push) ** 2).sum(axis=0) * outside
    chance = 0.5 * suspect / max(float(suspect.sum()), 1e-300)
    chance += 0.5 * rows.weight / rows.total_weight
    chance /= chance.sum()
    m, nats = len(rows), objective.inverse_temperature
    shares = np.maximum(_CUTS, min(_FEWEST / m, 1.0))
    ridge = 1.0 / (_SCALE**2 * nats)

    def score(drawn: Drawn) -> list[tuple[float, Array, Array, int, Array]]:
        def part_of(part: Integers) -> Any:
            if part[0] and stop():
                return None
            return score_corrections(
                rows.data, slopes, bends, cost, geometry.around(rows, drawn.row[part]),
                drawn.weight[part], geometry.corrected(drawn.weight[part]), shares, ridge,
            )  # fmt: skip

        pieces = np.array_split(np.arange(len(drawn.row)), max(len(drawn.row) // _SCORED, 1))
        made = []
        for piece, done in zip(pieces, share_out(part_of, pieces), strict=True):
            if done is None:
                continue
            for k, (radius, gain), model in zip(piece, *done, strict=True):
                dims = int((drawn.weight[k] > 0).sum())
                own = int(geometry.corrected(drawn.weight[k][None]).sum()) + 1
                price = geometry.price(dims, rows.coordinates.shape[1])
                net = nats * gain - price - _PER_COLUMN * dims - _PER_WEIGHT * own * model.shape[1]
                made.append((float(net), drawn.weight[k], model, int(drawn.row[k]), radius))
        return sorted(made, key=lambda one: -one[0])

    fewer = int(min(count, max(16, _WORK / (m * geometry.work(rows.features.shape[1])))))
    first = Drawn(rng.choice(m, size=fewer, p=chance), geometry.draw(rows, fewer, rng))
    ranked = score(first)
    if not stop():
        varied = _vary(geometry, rows, ranked[:_VARIED], rng)
        ranked = sorted([*ranked, *score(varied)], key=lambda one: -one[0])
    total = rows.total_weight * nats
    return [_ball(objective, posterior, one, total) for one in ranked]


def _vary(geometry: LearnedLocalities, rows: Any, ranked: list[Any], rng: Any) -> Drawn:
    """Each with a column less, more or exchanged, around the same row or another one inside."""
    row, weight = [], []
    for _, own, _, center, radius in ranked:
        seen = np.flatnonzero(own)
        gap = rows.coordinates[:, seen] - rows.coordinates[center, seen]
        inside = np.flatnonzero(gap**2 @ own[seen] <= radius**2)
        for _ in range(_VARIANTS):
            row.append(int(rng.choice(inside)) if rng.random() < 0.5 and len(inside) else center)
            weight.append(geometry.vary(own, rng))
    return Drawn(np.array(row, dtype=np.int64), np.array(weight).reshape(len(row), -1))


def _ball(objective: Objective, posterior: Posterior, one: Any, total: float) -> Ball:
    net, weight, model, row, radius = one
    loss, geometry = objective.loss, objective.geometry
    radius = min(max(float(radius), SMALLEST_START), LARGEST_START)
    model = model.reshape(2, *loss.scores, -1)
    coef, intercept = posterior.coef[-1] + model[..., :-1], posterior.intercept[-1] + model[..., -1]
    placed = geometry.candidate(objective.rows, row, radius)
    layout = Layout(weight[None], geometry.corrected(weight[None]), geometry.pooled)
    return Ball(placed | {"layout": layout}, radius, coef, intercept, net / total, loss.start_scale)
