"""Where one more locality promises to remove most loss: in which columns, around which row, how
wide.

Many are drawn, and each is scored in closed form: the loss is taken as quadratic in the scores,
rows inside a radius count fully, and the correction of their model is a ridge regression. Those
that do best are varied by a column, a row or a width, and scored again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ._typing import Array, Integers
from .combinations import gates
from .geometry import LARGEST_START, SMALLEST_START, LearnedLocalities, another_row
from .limits import flush_to_zero
from .missing import BEYOND
from .objective import Objective, locate, never
from .posterior import Layout, Posterior
from .rows import Rows

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

    def at_values(self, rows: Rows, rng: np.random.Generator) -> Drawn:
        """With another row where one lacks a value that its locality looks at."""
        if rows.coordinates.max(initial=0.0) < BEYOND:
            return self
        row, weight = self.row.copy(), self.weight.copy()
        lost = (rows.coordinates[row] >= BEYOND) & (weight > 0)
        for k in np.flatnonzero(lost.any(axis=1)):
            row[k], weight[k] = another_row(rows.coordinates, weight[k], rng)
        return Drawn(row, weight)


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
    screen = _Screen.of(objective, posterior, stop, share_out)
    geometry, rows, m = screen.geometry, screen.rows, len(screen.rows)
    fewer = int(min(count, max(16, _WORK / (m * geometry.work(rows.features.shape[1])))))
    first = Drawn(rng.choice(m, size=fewer, p=screen.chance), geometry.draw(rows, fewer, rng))
    first = first.at_values(rows, rng)
    ranked = screen.score(first)
    if not stop():
        varied = _vary(geometry, rows, ranked[:_VARIED], rng).at_values(rows, rng)
        ranked = sorted([*ranked, *screen.score(varied)], key=lambda one: -one[0])
    total = rows.total_weight * objective.inverse_temperature
    return [_ball(objective, posterior, one, total) for one in ranked]


@dataclass(frozen=True, eq=False)
class _Screen:
    """The rows as a locality might improve on the exterior's model of them."""

    geometry: Any
    rows: Rows
    nats: float
    slopes: Array  # (score, row), of the loss that is taken as quadratic
    bends: Array  # (row,)
    cost: Array  # (row,), of rows of other localities, which pay twice
    chance: Array  # (row,), to be a center: half of it where the exterior errs
    stop: Callable[[], bool]
    share_out: Callable[[Any, Any], list[Any]]

    @staticmethod
    def of(objective: Objective, posterior: Posterior, stop: Any, share_out: Any) -> _Screen:
        geometry: Any = objective.geometry
        rows, loss = geometry.screened(objective.rows), objective.loss
        variance = posterior.variances(posterior.norms2(rows.features))[-1]
        means, omega = locate(geometry, posterior, rows)
        target, mean = np.asarray(rows.target, float), np.asarray(means[-1], float)
        # memberships from tables may exceed 1 by some 1e-6
        outside = np.maximum(gates(omega)[0][-1], 0.0) * rows.weight
        push, curvature = loss.push(target, mean, variance)
        push = np.atleast_2d(push)
        own = loss.value_and_partials(target, mean, variance).value
        cost = np.maximum(own, 0.0) * (rows.weight - outside)  # below 0, a loss is taken as 0
        suspect = (push**2).sum(axis=0) * outside
        chance = 0.5 * suspect / max(float(suspect.sum()), 1e-300)
        chance += 0.5 * rows.weight / rows.total_weight
        return _Screen(
            geometry, rows, objective.inverse_temperature, push * outside, curvature * outside,
            cost, chance / chance.sum(), stop, share_out,
        )  # fmt: skip

    def score(self, drawn: Drawn) -> list[tuple[float, Array, Array, int, float]]:
        """Nats that each promises, its columns, models, row and radius; the best first."""
        pieces = np.array_split(np.arange(len(drawn.row)), max(len(drawn.row) // _SCORED, 1))
        made = []

        def part(piece: Integers) -> Any:
            return None if piece[0] and self.stop() else self._score(drawn, piece)

        for piece, done in zip(pieces, self.share_out(part, pieces), strict=True):
            if done is not None:
                for k, (radius, gain), model in zip(piece, *done, strict=True):
                    net = self.nats * gain - self._price(drawn.weight[k], model.shape[1])
                    made.append((net, drawn.weight[k], model, int(drawn.row[k]), float(radius)))
        return sorted(made, key=lambda one: -one[0])

    def _score(self, drawn: Drawn, piece: Integers) -> Any:
        from ._engine.screening import score_corrections

        weight = drawn.weight[piece]
        shares = np.maximum(_CUTS, min(_FEWEST / len(self.rows), 1.0))
        return score_corrections(
            self.rows.data, self.slopes, self.bends, self.cost,
            self.geometry.around(self.rows, drawn.row[piece]), weight,
            self.geometry.corrected(weight), shares, 1.0 / (_SCALE**2 * self.nats),
        )  # fmt: skip

    def _price(self, weight: Array, outputs: int) -> float:
        """Nats that a locality in these columns costs, about."""
        dims, own = int((weight > 0).sum()), int(self.geometry.corrected(weight[None]).sum()) + 1
        columns = float(self.geometry.price(dims, self.rows.coordinates.shape[1]))
        return columns + _PER_COLUMN * dims + _PER_WEIGHT * own * outputs


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
    loss, geometry = objective.loss, cast(Any, objective.geometry)
    radius = min(max(float(radius), SMALLEST_START), LARGEST_START)
    model = model.reshape(2, *loss.scores, -1)
    coef, intercept = posterior.coef[-1] + model[..., :-1], posterior.intercept[-1] + model[..., -1]
    placed = geometry.candidate(objective.rows, row, radius)
    layout = Layout(weight[None], geometry.corrected(weight[None]), geometry.pooled)
    return Ball(placed | {"layout": layout}, radius, coef, intercept, net / total, loss.start_scale)
