"""The smallest change that alters the answer, within the locality that gave it: projections on a
half-space, a ball and a box.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from html import escape
from itertools import combinations, product
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize

from .._typing import Array, Booleans
from ..errors import InputError
from ..estimators import LocalMixture, LocalMixtureClassifier
from ._common import (
    Group,
    Seen,
    checked,
    groups_of,
    html_table,
    number,
    one_row,
    plain,
    region_name,
    table_of,
    values_of,
)

__all__ = ["Counterfactual", "counterfactual", "nearest_beyond"]

EUCLIDEAN = ("euclidean", "l2", "minkowski")  # the last with its p = 2
_BEYOND = 1e-7  # of the size of the score's terms: how far beyond the border of a label
_NODES = 2000  # branches over whole numbers
_CHOICES = 20_000  # combinations of categories
_DETOURS = 20  # searches by a general solver


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """A changed row for which the model gives another answer, or why there is none. Made by
    `counterfactual`.

    Attributes
    ----------
    found : bool
    exact : bool
        Whether it is proved that no nearer row, or none at all, has the answer.
    reason : str
        Why there is none.
    region : str
        Whose model speaks.
    before, after : dict
        Values of each feature; `after` is empty where none was found.
    distance : float or None
        Between the two rows, standardized.
    prediction_before, prediction_after, score_before, score_after
        What the model says of the two rows, and the scores behind it.
    wanted
        The answer that was asked for.

    Examples
    --------
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.datasets import make_clf_case2
    >>> from motlm.explanations import counterfactual
    >>> X, y = make_clf_case2(400, random_state=0)
    >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
    >>> mixture = LocalMixtureClassifier(points_of_interest=points, inverse_temperature=4, n_starts=1, random_state=0)
    >>> model = mixture.fit(X, y)
    >>> change = counterfactual(model, [-1.4, 0.1], fixed=["x0"])
    >>> list(change.changes), change.prediction_before, change.prediction_after
    (['x1'], 1.0, -1.0)
    >>> print(counterfactual(model, [-1.4, 0.1], fixed=["x0", "x1"]))
    no counterfactual: no row in locality 0 within the given limits has that answer
    """

    found: bool
    exact: bool  # whether it is proved that no nearer row, or none at all, has the answer
    reason: str  # why there is none
    region: str  # whose model speaks
    before: dict[str, Any]
    after: dict[str, Any]  # empty where none was found
    distance: float | None  # between the two rows, standardized
    prediction_before: Any
    prediction_after: Any
    score_before: float
    score_after: float | None
    wanted: Any

    @property
    def changes(self) -> dict[str, tuple[Any, Any]]:
        """The features that change: from what, to what."""
        return {
            name: (self.before[name], value)
            for name, value in self.after.items()
            if value != self.before[name]
        }

    def to_dict(self) -> dict[str, Any]:
        content = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return dict(
            plain({**content, "changes": {name: list(pair) for name, pair in self.changes.items()}})
        )

    def to_frame(self) -> Any:
        """A pandas table of the features that change."""
        return table_of(self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {"feature": name, "from": before, "to": after}
            for name, (before, after) in self.changes.items()
        ]

    def __str__(self) -> str:
        if not self.found:
            return f"no counterfactual: {self.reason}"
        changes = ", ".join(
            f"{name} from {number(before, 8)} to {number(after, 8)}"
            for name, (before, after) in self.changes.items()
        )
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
    """The smallest change of a row, in standardized units, by which the same local model gives
    another answer.

    Without bounds, whole numbers and categories it is a projection in closed form; bounds add a
    search for one number, whole numbers add branches, and categories trials of all changes of a few
    of them.

    Parameters
    ----------
    model : fitted LocalMixtureClassifier or LocalMixtureRegressor
    x : one row, as a table of one row, a mapping of column names to values, or a sequence
    target : default=None
        The label that is wanted (None: the other one); for a regressor the prediction that is
        wanted, which must be given.
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

    Examples
    --------
    Inside the first ball the label is the sign of the second column, so that this one has to fall:

    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.datasets import make_clf_case2
    >>> from motlm.explanations import counterfactual
    >>> X, y = make_clf_case2(400, random_state=0)
    >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
    >>> mixture = LocalMixtureClassifier(points_of_interest=points, inverse_temperature=4, n_starts=1, random_state=0)
    >>> model = mixture.fit(X, y)
    >>> change = counterfactual(model, [-1.4, 0.1])
    >>> change.found, change.exact, change.region
    (True, True, 'locality 0')
    >>> change.after["x1"] < change.before["x1"]
    True
    >>> model.predict([list(change.after.values())])
    array([-1.])

    For a regressor the prediction that is wanted must be given:

    >>> from motlm import LocalMixtureRegressor
    >>> from motlm.datasets import make_reg_case1
    >>> X, y = make_reg_case1(300, random_state=0)
    >>> mixture = LocalMixtureRegressor(points_of_interest=[[0.0189]], inverse_temperature=16, n_starts=1, random_state=0)
    >>> change = counterfactual(mixture.fit(X, y), [0.1], target=0.27)
    >>> round(change.prediction_after, 6), round(change.after["x0"], 1)
    (0.27, 0.5)
    """
    model = checked(model)
    row = one_row(model, x)
    seen = Seen.of(model, row)
    groups = groups_of(model._columns)
    names = [group.name for group in groups]
    held, whole, limits = _names(fixed, "fixed"), _names(integer, "integer"), dict(bounds or {})
    for what, given in (("fixed", held), ("bounds", limits), ("integer", whole)):
        for name in given:
            if name not in names:
                raise InputError(
                    f"{what} names {name!r}; the columns are {', '.join(map(repr, names[:20]))}."
                )
    text = [name for name in (*limits, *whole) if groups[names.index(name)].levels is not None]
    if text:
        raise InputError(
            f"column {text[0]!r} holds categories, which have no bounds and are no numbers."
        )
    n, speaker, score = len(model.localities_), int(seen.speaker[0]), float(seen.spoken()[0])
    values = {name: _plain_item(column[0]) for name, column in values_of(model, row).items()}
    for name, value in values.items():  # a yes or no stays one
        if isinstance(value, bool) and groups[names.index(name)].levels is None:
            whole.add(name)
            limits.setdefault(name, (0, 1))
    classification = isinstance(model, LocalMixtureClassifier)
    if classification:
        label = model.classes_[int(score > 0)]
        wanted = model.classes_[int(score <= 0)] if target is None else target
        if wanted not in model.classes_:
            raise InputError(
                f"target must be one of the labels {model.classes_.tolist()}; got {target!r}."
            )
        level, up, prediction = 0.0, bool(wanted == model.classes_[1]), label
        reached = bool(wanted == label)
    else:
        if target is None:
            raise InputError("target is needed: the prediction that is wanted, in the units of y.")
        wanted, prediction = float(target), score
        level, up, reached = wanted, wanted > score, wanted == score
    about = {
        "region": region_name(speaker, n),
        "before": values,
        "prediction_before": _plain_item(prediction),
        "score_before": score,
        "wanted": _plain_item(wanted),
    }

    def none(reason: str, exact: bool) -> Counterfactual:
        return Counterfactual(
            found=False,
            exact=exact,
            reason=reason,
            after={},
            distance=None,
            prediction_after=None,
            score_after=None,
            **about,
        )

    if reached:
        return none("the model gives that answer already", True)
    if speaker < 0:
        return none(
            "several localities speak together for this row; a change is sought within one", False
        )
    metric = model._fitted.metric
    if speaker < n and metric is not None and metric.name not in EUCLIDEAN:
        return none(f"balls of metric {metric.name!r} have no closed form", False)
    equal = not classification and not whole
    search = _Search.of(model, seen.encoded[0], speaker, level, up, equal)
    for name, limit in limits.items():
        search.bound(groups[names.index(name)], limit)
    numeric = [group for group in groups if group.levels is None and group.name not in held]
    categories = [
        group
        for group in groups
        if group.levels is not None and len(group.levels) > 1 and group.name not in held
    ]
    integers = [groups[names.index(name)].columns.start for name in sorted(whole - held)]

    def decoded(encoded: Array) -> tuple[dict[str, Any], Seen]:
        after = _decoded(groups, encoded, seen.encoded[0], values)
        return after, Seen.of(model, one_row(model, after))

    def accepted(encoded: Array) -> bool:
        """Whether the model itself gives the answer, by the same local model."""
        again = decoded(encoded)[1]
        said = float(again.spoken()[0])
        right = (
            (said > 0) == up
            if classification
            else (said >= level if up else said <= level)
            or abs(said - level) <= 1e-9 * (1 + abs(level))
        )
        return int(again.speaker[0]) == speaker and bool(right)

    best, exact, elsewhere = search.best(numeric, categories, integers, max_categories, accepted)
    if best is None:
        within = "within the given limits " if held or limits or whole else ""
        if exact:
            return none(f"no row in {region_name(speaker, n)} {within}has that answer", True)
        why = (
            "the nearest rows with that answer lie where another locality speaks"
            if elsewhere
            else "the search gave up"
        )
        return none(f"none was found in {region_name(speaker, n)} {within}({why})", False)
    after, again = decoded(best)
    said = float(again.spoken()[0])
    units = model._fitted.units
    return Counterfactual(
        found=True,
        exact=exact,
        reason="",
        after=after,
        distance=float(
            np.linalg.norm(
                (again.encoded[0] - seen.encoded[0]) * units.inverse_scale * model._fitted.varies
            )
        ),
        prediction_after=_plain_item(model.classes_[int(said > 0)]) if classification else said,
        score_after=said,
        **about,
    )


def _names(given: Iterable[str], option: str) -> set[str]:
    if isinstance(given, str):
        raise InputError(
            f"{option} must be a list of column names; got the text {given!r}. Write [{given!r}]."
        )
    return set(given)


@dataclass(frozen=True, eq=False)
class _Search:
    """The model that speaks, in standardized units: gradient . z + offset is its score."""

    row: Array  # encoded, in the user's units
    start: Array  # standardized
    unit: Array  # user's units of one standardized one; 0 for columns that count nowhere
    origin: Array
    gradient: Array
    offset: float
    level: float  # that the score has to reach
    up: bool
    equal: bool  # whether it must be reached exactly
    margin: float  # by which a label's border is passed
    centers: Array  # (n_localities, n_columns)
    radii: Array
    speaker: int
    low: Array
    high: Array

    @classmethod
    def of(
        cls, model: LocalMixture, row: Array, speaker: int, level: float, up: bool, equal: bool
    ) -> _Search:
        units, varies = model._fitted.units, model._fitted.varies
        local = (*model.localities_, model.exterior_)[speaker]
        counts = varies & (units.inverse_scale > 0)
        unit = np.divide(
            1.0, units.inverse_scale, out=np.zeros_like(units.inverse_scale), where=counts
        )
        start = units.standardized(row[None])[0] * counts
        places = np.array([one.center for one in model.localities_]).reshape(
            len(model.localities_), len(row)
        )
        gradient, offset = local.coef * unit, float(local.intercept + local.coef @ units.center)
        size = abs(offset) + float(np.abs(gradient) @ (np.abs(start) + 1.0))
        classification = isinstance(model, LocalMixtureClassifier)
        return cls(
            row=row,
            start=start,
            unit=unit,
            origin=units.center,
            gradient=gradient,
            offset=offset,
            level=level,
            up=up,
            equal=equal,
            margin=_BEYOND * size if classification else 0.0,
            centers=units.standardized(places) * counts,
            radii=np.asarray(model._radius),
            speaker=speaker,
            low=np.full(len(row), -np.inf),
            high=np.full(len(row), np.inf),
        )

    @property
    def ball(self) -> bool:
        return self.speaker < len(self.radii)

    def bound(self, group: Group, limit: Any) -> None:
        try:
            low, high = (
                (-np.inf if limit[0] is None else float(limit[0])),
                (np.inf if limit[1] is None else float(limit[1])),
            )
        except (TypeError, ValueError, IndexError):
            low, high = 1.0, 0.0
        if not low <= high:
            raise InputError(
                f"bounds of {group.name!r} must be (lowest, highest), either of which may be None;"
                f" got {limit!r}."
            )
        j = group.columns.start
        if self.unit[j] > 0:
            self.low[j], self.high[j] = (
                (low - self.origin[j]) / self.unit[j],
                (high - self.origin[j]) / self.unit[j],
            )

    def best(
        self,
        numeric: list[Group],
        categories: list[Group],
        whole: list[int],
        most: int,
        accepted: Callable[[Array], bool],
    ) -> tuple[Array | None, bool, bool]:
        """The nearest encoded row that has the answer, over all changes of a few categories;
        whether that is proved; and whether nearer ones were found where another locality speaks.
        """
        free = np.zeros(len(self.row), dtype=bool)
        free[[group.columns.start for group in numeric]] = True
        free &= self.unit > 0
        found: tuple[float, Array] | None = None
        exact, elsewhere, detours = True, False, 0
        choices, cut = self._choices(categories, most)
        exact &= not cut
        for paid, changed in choices:
            if found is not None and paid >= found[0]:
                break  # they come in order of what they cost
            begin = self.start + np.where(
                self.unit > 0, (changed - self.row) / np.where(self.unit > 0, self.unit, 1.0), 0.0
            )
            limit = np.inf if found is None else found[0] - paid
            point, proved = self._solved(begin, free, whole, limit)
            exact &= proved
            if point is None:
                continue
            row = self._row(changed, point, free, whole)
            if not accepted(row):
                elsewhere, exact = True, False
                detour = None
                if not whole and detours < _DETOURS:
                    detours += 1
                    detour = self._around(begin, point, free)
                if detour is None:
                    continue
                point, row = detour, self._row(changed, detour, free, whole)
                if not accepted(row):
                    continue
            cost = paid + float(((point - begin) ** 2).sum())
            if found is None or cost < found[0]:
                found = cost, row
        return (None if found is None else found[1]), exact, elsewhere

    def _row(self, changed: Array, point: Array, free: Booleans, whole: list[int]) -> Array:
        row = changed.copy()
        row[free] = (point * self.unit + self.origin)[free]
        for j in whole:
            row[j] = np.rint(row[j]) if free[j] else row[j]
        return row

    def _choices(
        self, categories: list[Group], most: int
    ) -> tuple[list[tuple[float, Array]], bool]:
        """Rows with at most so many categories changed, by what that costs; and whether there would
        be more.
        """
        made = [(0.0, self.row)]
        for count in range(1, min(most, len(categories)) + 1):
            for chosen in combinations(categories, count):
                others = [
                    [
                        level
                        for level in range(len(group.levels or ()))
                        if not self._at(group, level)
                    ]
                    for group in chosen
                ]
                for levels in product(*others):
                    if len(made) > _CHOICES:
                        return sorted(made, key=lambda one: one[0]), True
                    row = self.row.copy()
                    for group, level in zip(chosen, levels, strict=True):
                        row[group.columns] = 0.0
                        if level:
                            row[group.columns.start + level - 1] = 1.0
                    step = np.divide(
                        row - self.row, self.unit, out=np.zeros(len(row)), where=self.unit > 0
                    )
                    made.append((float(step @ step), row))
        return sorted(made, key=lambda one: one[0]), False

    def _at(self, group: Group, level: int) -> bool:
        part = self.row[group.columns]
        return bool(part[level - 1] == 1.0) if level else not part.any()

    def _solved(
        self, begin: Array, free: Booleans, whole: list[int], limit: float
    ) -> tuple[Array | None, bool]:
        """The nearest point within a limit, by branches over the whole numbers among its columns,
        the nearest first; and whether it is proved to be that.
        """
        first = self._relaxed(begin, free, self.low, self.high)
        if first is None:
            return None, True
        waiting = [(float(((first - begin) ** 2).sum()), 0, first, self.low, self.high)]
        for made in range(1, 2 * _NODES, 2):
            if not waiting or waiting[0][0] >= limit:
                return None, True
            _, _, point, low, high = heappop(waiting)
            value = point * self.unit + self.origin
            broken = [j for j in whole if free[j] and abs(value[j] - np.rint(value[j])) > 1e-9]
            if not broken:
                return point, True
            j = max(broken, key=lambda k: abs(value[k] - np.rint(value[k])))
            below, above = high.copy(), low.copy()
            below[j] = (np.floor(value[j]) - self.origin[j]) / self.unit[j]
            above[j] = (np.ceil(value[j]) - self.origin[j]) / self.unit[j]
            for place, (lower, upper) in enumerate(((low, below), (above, high))):
                again = self._relaxed(begin, free, lower, upper)
                if again is not None:
                    heappush(
                        waiting,
                        (float(((again - begin) ** 2).sum()), made + place, again, lower, upper),
                    )
        return None, False

    def _relaxed(self, begin: Array, free: Booleans, low: Array, high: Array) -> Array | None:
        fixed = ~free
        rest = self.level - self.offset - float(self.gradient[fixed] @ begin[fixed])
        up = self.up
        if self.equal:
            up = bool(float(self.gradient[free] @ begin[free]) <= rest)
        sign = 1.0 if up else -1.0
        room, center = np.inf, begin
        if self.ball:
            center = self.centers[self.speaker]
            room = self.radii[self.speaker] ** 2 - float(((begin - center)[fixed] ** 2).sum())
        if room < 0:
            return None
        reach = sign * rest + (0.0 if self.equal else self.margin)
        gradient = sign * self.gradient[free]
        part = nearest_beyond(
            begin[free],
            gradient,
            reach,
            center[free],
            float(np.sqrt(room)),
            low[free],
            high[free],
            self.equal,
        )
        if part is None:
            return None
        point = begin.copy()
        point[free] = part
        return point

    def _around(self, begin: Array, point: Array, free: Booleans) -> Array | None:
        """Where another locality speaks at the nearest point: a point near by where it does not, by
        a general solver.

        It leaves the balls of the others, or stays nearer to the center of its own; which of them
        is tried for all at once.
        """
        sign = 1.0 if self.up else -1.0
        others = [j for j in range(len(self.radii)) if j != self.speaker and self.radii[j] > 0]

        def whole(part: Array) -> Array:
            full = begin.copy()
            full[free] = part
            return full

        def reached(part: Array) -> float:
            return float(
                sign * (self.gradient @ whole(part) + self.offset - self.level) - self.margin
            )

        own = self.centers[self.speaker] if self.ball else begin
        starts = [
            point[free] + 1e-3 * np.sign(self.gradient[free]),
            *self._beside(point, free, others),
        ]
        best: tuple[float, Array] | None = None
        for leave in (True, False) if self.ball else (True,):
            rules: list[dict[str, Any]] = [{"type": "eq" if self.equal else "ineq", "fun": reached}]
            if self.ball:
                rules.append(
                    {
                        "type": "ineq",
                        "fun": (
                            lambda part: (
                                self.radii[self.speaker] ** 2 * (1 - 1e-9)
                                - ((whole(part) - own) ** 2).sum()
                            )
                        ),
                    }
                )
            for j in others:
                if leave or not self.ball:
                    rules.append(
                        {
                            "type": "ineq",
                            "fun": lambda part, j=j: (
                                ((whole(part) - self.centers[j]) ** 2).sum()
                                - self.radii[j] ** 2 * (1 + 1e-9)
                            ),
                        }
                    )
                else:
                    rules.append(
                        {
                            "type": "ineq",
                            "fun": lambda part, j=j: (
                                ((whole(part) - self.centers[j]) ** 2).sum()
                                - ((whole(part) - own) ** 2).sum()
                                - 1e-9
                            ),
                        }
                    )
            bounds = [
                (a if np.isfinite(a) else None, b if np.isfinite(b) else None)
                for a, b in zip(self.low[free], self.high[free], strict=True)
            ]
            for first in starts:
                with warnings.catch_warnings():
                    warnings.simplefilter(
                        "ignore", RuntimeWarning
                    )  # of steps that are clipped to the bounds
                    solved = minimize(
                        lambda part: float(((part - begin[free]) ** 2).sum()),
                        first,
                        jac=lambda part: 2.0 * (part - begin[free]),
                        bounds=bounds,
                        constraints=rules,
                        method="SLSQP",
                        options={"maxiter": 200, "ftol": 1e-10},
                    )
                sound = all(
                    (
                        (abs(rule["fun"](solved.x)) <= 1e-9)
                        if rule["type"] == "eq"
                        else rule["fun"](solved.x) >= -1e-12
                    )
                    for rule in rules
                )
                if sound and np.isfinite(solved.x).all() and (best is None or solved.fun < best[0]):
                    best = float(solved.fun), whole(solved.x)
        return None if best is None else best[1]

    def _beside(self, point: Array, free: Booleans, others: list[int]) -> list[Array]:
        """Points of the plane where the answer changes, just outside of the balls that the nearest
        of them lies in.
        """
        gradient = self.gradient[free]
        norm2 = float(gradient @ gradient)
        made: list[Array] = []
        rng = np.random.default_rng(0)
        for j in others:
            if ((point - self.centers[j]) ** 2).sum() > self.radii[j] ** 2 or norm2 == 0:
                continue
            place = self.centers[j][free]
            middle = place + gradient * float(gradient @ (point[free] - place)) / norm2
            held = float(((point - self.centers[j])[~free] ** 2).sum())
            room = self.radii[j] ** 2 - held - float(((middle - place) ** 2).sum())
            ways = [point[free] - middle, *rng.standard_normal((6, len(place)))]
            for way in ways:
                flat = way - gradient * float(gradient @ way) / norm2
                length = float(np.linalg.norm(flat))
                if room > 0 and length > 1e-12:
                    step = 1.02 * np.sqrt(room) / length * flat
                    made += [middle + step, middle - step]
        return made[:12]


def nearest_beyond(
    start: Array,
    gradient: Array,
    reach: float,
    center: Array,
    radius: float,
    low: Array,
    high: Array,
    equal: bool = False,
) -> Array | None:
    """The point nearest to the start with gradient . z >= reach (or equal to it) in a ball and a
    box; None if there is none.

    The points nearest to (1 - s) start + s center, for s in [0, 1], are those that minimize
    ``|z - start|^2 + mu |z - center|^2`` with mu = s / (1 - s), the ball's multiplier. Their distance from the center falls
    with s.
    """
    if (low > high).any():
        return None
    inside = _in_ball(lambda point: np.clip(point, low, high), start, center, radius)
    if inside is None:
        return None
    if gradient @ inside >= reach and not equal:
        return inside
    unbounded = np.isinf(low).all() and np.isinf(high).all()
    if unbounded:
        return _on_disc(start, gradient, reach, center, radius)
    most = float(np.where(gradient > 0, gradient * np.where(gradient > 0, high, 0.0), 0.0).sum())
    most += float(np.where(gradient < 0, gradient * np.where(gradient < 0, low, 0.0), 0.0).sum())
    least = float(np.where(gradient > 0, gradient * np.where(gradient > 0, low, 0.0), 0.0).sum())
    least += float(np.where(gradient < 0, gradient * np.where(gradient < 0, high, 0.0), 0.0).sum())
    if not least <= reach <= most:
        return None
    return _in_ball(
        lambda point: _on_plane(point, gradient, reach, low, high), start, center, radius
    )


def _on_disc(
    start: Array, gradient: Array, reach: float, center: Array, radius: float
) -> Array | None:
    """The closed form: where a plane cuts a ball is a disc, and the nearest point of it is found
    within the plane.
    """
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
    """The point of the box on gradient . z = reach that is nearest: clip(point + t gradient), t
    from the sorted corners.
    """
    moving = gradient != 0
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.concatenate(
            [((low - point) / gradient)[moving], ((high - point) / gradient)[moving]]
        )
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
        t = corners[place - 1] + (corners[place] - corners[place - 1]) * (reach - first) / (
            second - first
        )
    return np.clip(point + t * gradient, low, high)


def _in_ball(project: Any, start: Array, center: Array, radius: float) -> Array | None:
    """project((1 - s) start + s center) for the smallest s at which it is in the ball."""
    point = project(start)
    if np.isinf(radius) or np.linalg.norm(point - center) <= radius:
        return np.asarray(point)

    def excess(s: float) -> float:
        return float(
            np.linalg.norm(project((1.0 - s) * start + s * center) - center) - radius * (1.0 - 1e-9)
        )

    if excess(1.0) > 0:
        return None
    return np.asarray(
        project(
            (1.0 - (s := brentq(excess, 0.0, 1.0, xtol=1e-15, rtol=1e-14))) * start + s * center
        )
    )


def _decoded(
    groups: list[Group], encoded: Array, start: Array, before: dict[str, Any]
) -> dict[str, Any]:
    """The user's values of an encoded row; what did not change is left as it was."""
    after: dict[str, Any] = {}
    for group in groups:
        part, old = encoded[group.columns], start[group.columns]
        if np.all(np.abs(part - old) <= 1e-12 * np.maximum(1.0, np.abs(old))):
            after[group.name] = before[group.name]
        elif group.levels is None:
            after[group.name] = (
                bool(part[0]) if isinstance(before[group.name], bool) else float(part[0])
            )
        else:
            hot = np.flatnonzero(part == 1.0)
            after[group.name] = group.levels[int(hot[0]) + 1] if len(hot) else group.levels[0]
    return after


def _plain_item(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
