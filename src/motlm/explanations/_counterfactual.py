"""The smallest change that alters the answer, within the locality that gave it: projections on a half-space, a ball and a box."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from itertools import combinations, product
from typing import Any

import numpy as np
from scipy.optimize import brentq

from .._typing import Array, Booleans
from ..columns import is_frame
from ..estimators import LocalMixture, LocalMixtureClassifier
from ._common import Group, Seen, checked, groups_of, html_table, number, plain, region_name, table_of, values_of

__all__ = ["Counterfactual", "counterfactual", "nearest_beyond"]

_BEYOND = 1e-6  # of the score: how far beyond the border of a label
_NODES = 400  # branches over whole numbers
_CHOICES = 20_000  # combinations of categories


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """A changed row for which the model gives another answer, or why there is none. Made by `counterfactual`."""

    found: bool
    reason: str  # why there is none
    region: str  # whose model speaks
    before: dict[str, Any]
    after: dict[str, Any]  # empty where none was found
    distance: float | None  # between the two rows, standardised
    prediction_before: Any
    prediction_after: Any
    score_before: float
    score_after: float | None
    wanted: Any

    @property
    def changes(self) -> dict[str, tuple[Any, Any]]:
        """The features that change: from what, to what."""
        return {name: (self.before[name], value) for name, value in self.after.items() if value != self.before[name]}

    def to_dict(self) -> dict[str, Any]:
        content = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return dict(plain({**content, "changes": {name: list(pair) for name, pair in self.changes.items()}}))

    def to_frame(self) -> Any:
        """A pandas table of the features that change."""
        return table_of(self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        return [{"feature": name, "from": before, "to": after} for name, (before, after) in self.changes.items()]

    def __str__(self) -> str:
        if not self.found:
            return f"no counterfactual: {self.reason}"
        changes = ", ".join(f"{name} from {number(before)} to {number(after)}" for name, (before, after) in self.changes.items())
        said = f"{number(self.prediction_before)} becomes {number(self.prediction_after)}"
        return f"{said} in {self.region} with {changes or 'no change'}"

    def _repr_html_(self) -> str:
        return f"<p>{escape(str(self))}</p>{html_table(self._rows())}"


def counterfactual(
    model: Any,
    x: Any,
    *,
    target: Any = None,
    fixed: Iterable[str] = (),
    bounds: Mapping[str, tuple[float, float]] | None = None,
    integer: Iterable[str] = (),
    max_categories: int = 2,
) -> Counterfactual:
    """The smallest change of a row, in standardised units, by which the same local model gives another answer.

    Without bounds, whole numbers and categories it is a projection in closed form; bounds add a search for one number, whole
    numbers add branches, and categories trials of all changes of a few of them.

    Parameters
    ----------
    model : fitted LocalMixtureClassifier or LocalMixtureRegressor
    x : one row, as a table of one row, a mapping of column names to values, or a sequence
    target : default=None
        The label that is wanted (None: the other one); for a regressor the prediction that is wanted, which must be given.
    fixed : names of columns
        That must stay as they are.
    bounds : mapping of column to (lowest, highest), default=None
    integer : names of columns
        That hold whole numbers.
    max_categories : int, default=2
        How many columns of categories may change at once.

    Returns
    -------
    Counterfactual
    """
    model = checked(model)
    row = _one_row(model, x)
    seen = Seen.of(model, row)
    groups = groups_of(model._columns)
    names = [group.name for group in groups]
    fixed, integer, bounds = set(fixed), set(integer), dict(bounds or {})
    for what, given in (("fixed", fixed), ("bounds", bounds), ("integer", integer)):
        for name in given:
            if name not in names:
                raise ValueError(f"{what} names {name!r}; the columns are {', '.join(map(repr, names[:20]))}.")
    text = [name for name in (*bounds, *integer) if groups[names.index(name)].levels is not None]
    if text:
        raise ValueError(f"column {text[0]!r} holds categories, which have no bounds and are no numbers.")
    n, speaker, score = len(model.localities_), int(seen.speaker[0]), float(seen.spoken()[0])
    values = {name: _plain_item(column[0]) for name, column in values_of(model, row).items()}
    classification = isinstance(model, LocalMixtureClassifier)
    if classification:
        label = model.classes_[int(score > 0)]
        wanted = model.classes_[int(score <= 0)] if target is None else target
        if wanted not in model.classes_:
            raise ValueError(f"target must be one of the labels {model.classes_.tolist()}; got {target!r}.")
        level, up, prediction = 0.0, bool(wanted == model.classes_[1]), label
        reached = bool(wanted == label)
    else:
        if target is None:
            raise ValueError("target is needed: the prediction that is wanted, in the units of y.")
        wanted, prediction = float(target), score
        level, up, reached = wanted, wanted > score, wanted == score
    about = {
        "region": region_name(speaker, n),
        "before": values,
        "prediction_before": _plain_item(prediction),
        "score_before": score,
        "wanted": _plain_item(wanted),
    }

    def none(reason: str) -> Counterfactual:
        return Counterfactual(
            found=False, reason=reason, after={}, distance=None, prediction_after=None, score_after=None, **about
        )

    if reached:
        return none("the model gives that answer already")
    if speaker < 0:
        return none("several localities speak together for this row; a change is sought within one")
    metric = model._fitted.metric
    if speaker < n and metric is not None and metric.name not in ("euclidean", "l2"):
        return none(f"balls of metric {metric.name!r} have no closed form")
    search = _Search.of(model, seen.encoded[0], speaker, level, up, abs(score - level) if classification else 0.0, classification)
    for name, (low, high) in bounds.items():
        search.bound(groups[names.index(name)], low, high)
    whole = [groups[names.index(name)].columns.start for name in integer if name not in fixed]
    numeric = [group for group in groups if group.levels is None and group.name not in fixed]
    categories = [group for group in groups if group.levels is not None and len(group.levels) > 1 and group.name not in fixed]
    best = search.best(numeric, categories, whole, max_categories)
    if best is None:
        limits = "within the given limits " if fixed or bounds or integer else ""
        return none(f"no row in {region_name(speaker, n)} {limits}has that answer")
    encoded = best
    after = _decoded(groups, encoded, values)
    again = Seen.of(model, _one_row(model, after))
    if int(again.speaker[0]) != speaker:
        other = region_name(int(again.speaker[0]), n)
        return none(f"the nearest row with that answer in {region_name(speaker, n)} lies where {other} speaks")
    said = float(again.spoken()[0])
    return Counterfactual(
        found=True,
        reason="",
        after=after,
        distance=float(
            np.linalg.norm(model._fitted.units.standardized((encoded - seen.encoded[0])[None] + model._fitted.units.center))
        ),
        prediction_after=_plain_item(model.classes_[int(said > 0)]) if classification else said,
        score_after=said,
        **about,
    )


@dataclass(frozen=True, eq=False)
class _Search:
    """The model that speaks, in standardised units: gradient . z + offset is its score."""

    row: Array  # encoded, in the user's units
    start: Array  # standardised
    unit: Array  # user's units of one standardised one; 0 for columns that count nowhere
    origin: Array
    gradient: Array
    offset: float
    level: float  # that the score has to reach
    up: bool
    center: Array
    radius: float
    low: Array
    high: Array

    @classmethod
    def of(cls, model: LocalMixture, row: Array, speaker: int, level: float, up: bool, score: float, beyond: bool) -> _Search:
        units, varies, n = model._fitted.units, model._fitted.varies, len(model.localities_)
        local = (*model.localities_, model.exterior_)[speaker]
        counts = varies & (units.inverse_scale > 0)
        unit = np.divide(1.0, units.inverse_scale, out=np.zeros_like(units.inverse_scale), where=counts)
        start = units.standardized(row[None])[0] * counts
        center = np.zeros(len(row))
        if speaker < n:
            center = units.standardized(model.localities_[speaker].center[None])[0] * counts
        margin = _BEYOND * max(score, 1e-12) if beyond else 0.0
        return cls(
            row, start, unit, units.center, local.coef * unit, float(local.intercept + local.coef @ units.center),
            level + (margin if up else -margin), up, center,
            float(model._radius[speaker]) if speaker < n else np.inf,
            np.full(len(row), -np.inf), np.full(len(row), np.inf),
        )  # fmt: skip

    def bound(self, group: Group, low: float, high: float) -> None:
        if not low <= high:
            raise ValueError(f"bounds of {group.name!r} must be (lowest, highest); got {(low, high)}.")
        j = group.columns.start
        if self.unit[j] > 0:
            self.low[j], self.high[j] = (low - self.origin[j]) / self.unit[j], (high - self.origin[j]) / self.unit[j]

    def best(self, numeric: list[Group], categories: list[Group], whole: list[int], most: int) -> Array | None:
        """The nearest encoded row that has the answer, over all changes of a few categories."""
        free = np.zeros(len(self.row), dtype=bool)
        free[[group.columns.start for group in numeric]] = True
        free &= self.unit > 0
        found: tuple[float, Array] | None = None
        for changed in self._choices(categories, most):
            step = (changed - self.row) / np.where(self.unit > 0, self.unit, 1.0)
            begin = self.start + np.where(self.unit > 0, step, 0.0)
            paid = float(((begin - self.start) ** 2).sum())
            if found is not None and paid >= found[0]:
                continue
            point = self._solved(begin, free, whole)
            if point is None:
                continue
            cost = paid + float(((point - begin) ** 2).sum())
            if found is None or cost < found[0]:
                row = changed.copy()
                row[free] = (point * self.unit + self.origin)[free]
                for j in whole:
                    row[j] = np.rint(row[j]) if free[j] else row[j]
                found = cost, row
        return None if found is None else found[1]

    def _choices(self, categories: list[Group], most: int) -> Iterable[Array]:
        """Rows with at most so many categories changed, the unchanged one first."""
        yield self.row
        tried = 0
        for count in range(1, min(most, len(categories)) + 1):
            for chosen in combinations(categories, count):
                others = [[level for level in range(len(group.levels or ())) if not self._at(group, level)] for group in chosen]
                for levels in product(*others):
                    tried += 1
                    if tried > _CHOICES:
                        return
                    row = self.row.copy()
                    for group, level in zip(chosen, levels, strict=True):
                        row[group.columns] = 0.0
                        if level:
                            row[group.columns.start + level - 1] = 1.0
                    yield row

    def _at(self, group: Group, level: int) -> bool:
        part = self.row[group.columns]
        return bool(part[level - 1] == 1.0) if level else not part.any()

    def _solved(self, begin: Array, free: Booleans, whole: list[int]) -> Array | None:
        """The nearest point, by branches over the whole numbers among its columns."""
        best: tuple[float, Array] | None = None
        waiting = [(self.low.copy(), self.high.copy())]
        for _ in range(_NODES):
            if not waiting:
                break
            low, high = waiting.pop()
            point = self._relaxed(begin, free, low, high)
            if point is None:
                continue
            cost = float(((point - begin) ** 2).sum())
            if best is not None and cost >= best[0]:
                continue
            value = point * self.unit + self.origin
            broken = [j for j in whole if free[j] and abs(value[j] - np.rint(value[j])) > 1e-9]
            if not broken:
                best = cost, point
                continue
            j = broken[0]
            below, above = high.copy(), low.copy()
            below[j] = (np.floor(value[j]) - self.origin[j]) / self.unit[j]
            above[j] = (np.ceil(value[j]) - self.origin[j]) / self.unit[j]
            waiting += [(low, below), (above, high)]
        return None if best is None else best[1]

    def _relaxed(self, begin: Array, free: Booleans, low: Array, high: Array) -> Array | None:
        held = ~free
        sign = 1.0 if self.up else -1.0
        room = self.radius**2 - float(((begin - self.center)[held] ** 2).sum())
        if room < 0:
            return None
        reach = sign * (self.level - self.offset - float(self.gradient[held] @ begin[held]))
        part = nearest_beyond(
            begin[free], sign * self.gradient[free], reach, self.center[free], np.sqrt(room), low[free], high[free]
        )
        if part is None:
            return None
        point = begin.copy()
        point[free] = part
        return point


def nearest_beyond(
    start: Array, gradient: Array, reach: float, center: Array, radius: float, low: Array, high: Array
) -> Array | None:
    """The point nearest to the start with gradient . z >= reach in a ball and a box; None if there is none.

    The points nearest to (1 - s) start + s center, for s in [0, 1], are those that minimise
    ``|z - start|^2 + mu |z - center|^2`` with mu = s / (1 - s), the ball's multiplier. Their distance from the centre falls
    with s.
    """
    if (low > high).any():
        return None
    inside = _in_ball(lambda point: np.clip(point, low, high), start, center, radius)
    if inside is None:
        return None
    if gradient @ inside >= reach:
        return inside
    unbounded = np.isinf(low).all() and np.isinf(high).all()
    if unbounded:
        return _on_disc(start, gradient, reach, center, radius)
    most = float(np.where(gradient > 0, gradient * np.where(gradient > 0, high, 0.0), 0.0).sum())
    most += float(np.where(gradient < 0, gradient * np.where(gradient < 0, low, 0.0), 0.0).sum())
    if most < reach:
        return None
    return _in_ball(lambda point: _on_plane(point, gradient, reach, low, high), start, center, radius)


def _on_disc(start: Array, gradient: Array, reach: float, center: Array, radius: float) -> Array | None:
    """The closed form: where a plane cuts a ball is a disc, and the nearest point of it is found within the plane."""
    norm2 = float(gradient @ gradient)
    if norm2 == 0:
        return None
    foot = start + (reach - gradient @ start) / norm2 * gradient
    if np.isinf(radius) or float(((foot - center) ** 2).sum()) <= radius**2:
        return np.asarray(foot)
    middle = center + (reach - gradient @ center) / norm2 * gradient
    room = radius**2 - float(((middle - center) ** 2).sum())
    if room < 0:
        return None
    away = foot - middle
    # a hair inside the ball, so that rounding does not put it outside
    return np.asarray(middle + away * (np.sqrt(room) * (1.0 - 1e-9) / np.linalg.norm(away)))


def _on_plane(point: Array, gradient: Array, reach: float, low: Array, high: Array) -> Array:
    """The point of the box on gradient . z = reach that is nearest: clip(point + t gradient), t from the sorted corners."""
    moving = gradient != 0
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.concatenate([((low - point) / gradient)[moving], ((high - point) / gradient)[moving]])
    corners = np.unique(ends[np.isfinite(ends)])

    def value(t: float) -> float:
        return float(gradient @ np.clip(point + t * gradient, low, high))

    values = np.array([value(t) for t in corners])
    place = int(np.searchsorted(values, reach))
    if len(corners) == 0:
        t = (reach - value(0.0)) / float(gradient @ gradient)
    elif place == 0:
        slope = value(corners[0]) - value(corners[0] - 1.0)
        t = corners[0] - (values[0] - reach) / slope if slope > 0 else corners[0]
    elif place == len(corners):
        slope = value(corners[-1] + 1.0) - values[-1]
        t = corners[-1] + (reach - values[-1]) / slope if slope > 0 else corners[-1]
    else:
        first, second = values[place - 1], values[place]
        t = corners[place - 1] + (corners[place] - corners[place - 1]) * (reach - first) / (second - first)
    return np.clip(point + t * gradient, low, high)


def _in_ball(project: Any, start: Array, center: Array, radius: float) -> Array | None:
    """project((1 - s) start + s center) for the smallest s at which it is in the ball."""
    point = project(start)
    if np.isinf(radius) or np.linalg.norm(point - center) <= radius:
        return np.asarray(point)

    def excess(s: float) -> float:
        return float(np.linalg.norm(project((1.0 - s) * start + s * center) - center) - radius * (1.0 - 1e-9))

    if excess(1.0) > 0:
        return None
    return np.asarray(project((1.0 - (s := brentq(excess, 0.0, 1.0, xtol=1e-15, rtol=1e-14))) * start + s * center))


def _one_row(model: LocalMixture, x: Any) -> Any:
    """A table of one row."""
    names = list(model._columns.names)
    if isinstance(x, Mapping):
        missing = [name for name in names if name not in x]
        if missing:
            raise ValueError(f"the row has no value for {missing[0]!r}; the columns are {', '.join(map(repr, names[:20]))}.")
        x = [x[name] for name in names]
    if is_frame(x):
        if len(x) != 1:
            raise ValueError(f"one row is explained at a time; got {len(x)}.")
        return x
    values = np.asarray(x, dtype=object)
    if values.ndim == 2 and len(values) == 1:
        values = values[0]
    if values.shape != (len(names),):
        raise ValueError(
            f"a row has {len(names)} values, {', '.join(map(repr, names[:20]))}; got an array of shape {np.shape(x)}."
        )
    if not hasattr(model, "feature_names_in_"):
        return np.asarray(values, dtype=float)[None]
    import pandas as pd

    labels = list(model.feature_names_in_)
    return pd.DataFrame({label: [value] for label, value in zip(labels, values, strict=True)}, columns=labels)


def _decoded(groups: list[Group], encoded: Array, before: dict[str, Any]) -> dict[str, Any]:
    """The user's values of an encoded row; numbers that did not change are left as they were."""
    after: dict[str, Any] = {}
    for group in groups:
        part = encoded[group.columns]
        if group.levels is None:
            same = isinstance(before[group.name], (int, float)) and float(before[group.name]) == float(part[0])
            after[group.name] = before[group.name] if same else float(part[0])
        else:
            hot = np.flatnonzero(part == 1.0)
            after[group.name] = group.levels[int(hot[0]) + 1] if len(hot) else group.levels[0]
    return after


def _plain_item(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
