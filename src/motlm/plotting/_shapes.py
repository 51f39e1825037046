"""Drawings of what each column adds to the score: curves, lines, and points of categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array, Booleans
from ..errors import InputError
from ..explanations import importance
from ..inputs import Group
from ..localities import LocalModel
from ..mixture import Mixture, mixture_of
from ..tables import number
from ._style import COLORS, COLUMNS, MARKERS, legend_outside, model_names, panels, short

__all__ = ["ShapeDisplay"]

_WIDE = 2.0  # posterior standard deviations on both sides of a curve
_BINS = 40  # of the rows below a curve
_HEIGHT = 0.12  # of a panel, that they take
_LEVELS = 12  # of a category, that are named
_FAR = 4.0  # factors that differ by more are drawn on a scale of logarithms


@dataclass(frozen=True, eq=False)
class Line:
    """What a column adds to the score of one model."""

    model: int  # its index
    x: Array  # numbers of the column, or indices of levels
    value: Array
    scale: Array  # posterior standard deviation of the value


@dataclass(frozen=True, eq=False)
class Panel:
    """What one of the user's columns adds to the scores of the models."""

    name: str
    lines: tuple[Line, ...]  # the exterior's is the last
    levels: tuple[str, ...]  # of a category; else empty
    rows: Array | None  # of the column: numbers, or indices of levels
    missing: Line | None = None  # what the exterior adds where a number is missing, at its stand-in


class ShapeDisplay:
    """What each column adds to the score, one panel for each: curves of numbers, points of
    categories, with two posterior standard deviations on both sides. Made by `from_estimator`.

    The exterior model is dashed; its curve is 0 at a round number in the middle of the column, and
    that of a category at its first level. A local model has its own color, and is drawn over the
    range of its rows: with corrections in the columns in which it differs from the exterior. It is
    drawn to meet the exterior's curve in the middle of its rows, since what it adds everywhere is
    no part of a column; the band of each curve is relative to that place. Of a model of rates the
    scale is one of factors.

    Attributes
    ----------
    columns : list of str
        Those that are drawn, the most important first.
    panels : list
        Of each column its `name`, `levels` (of a category), `rows`, and `lines`, which have
        `model`, `x`, `value` and `scale`.
    axes_
        The panels of matplotlib, once it is drawn; `ax_` is the first.
    ax_, figure_
        Of matplotlib.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from motlm import LocalMixtureRegressor
    >>> from motlm.plotting import ShapeDisplay
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
    >>> y = 3 * X[:, 0] ** 2 - X[:, 1]
    >>> model = LocalMixtureRegressor(0, local_models="additive", random_state=0).fit(X, y)
    >>> display = ShapeDisplay.from_estimator(model, X)
    >>> display.columns, [len(panel.lines) for panel in display.panels]
    (['x0', 'x1'], [1, 1])
    >>> plt.close(display.figure_)
    """

    def __init__(
        self, *, panels: list[Panel], n_localities: int, link: str, score_name: str
    ) -> None:
        self.panels = panels
        self.n_localities = n_localities
        self.link = link
        self.score_name = score_name

    @property
    def columns(self) -> list[str]:
        """The names of the panels."""
        return [one.name for one in self.panels]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        columns: Any = None,
        max_columns: int = 6,
        label: Any = None,
        ax: Any = None,
    ) -> ShapeDisplay:
        """Compute what there is to draw, and draw it.

        Parameters
        ----------
        estimator : fitted LocalMixtureClassifier or LocalMixtureRegressor, or its `mixture_`
        X : rows, default=None
            Their density is drawn below the curves, and the range of a local model is that of its
            rows. None: no density, and all curves over the whole range of the training rows.
        columns : names, default=None
            Of the table. None: the most important, by `motlm.explanations.importance` if X is
            given, else by the size of their curves.
        max_columns : int, default=6
            How many of them, if they are not given.
        label : default=None
            Of three classes or more: the one whose score it is, which must be given.
        ax : matplotlib Axes, or an array of them, default=None
            An array has one for each column; the place of one is divided among them.

        Returns
        -------
        ShapeDisplay
        """
        mixture = mixture_of(estimator)
        models = _models_of(mixture, label)
        encoded = None if X is None else mixture.encode(X)
        if encoded is not None and not len(encoded):
            raise InputError("X is empty; leave it out to draw curves without rows.")
        if columns is None:
            order = _order(mixture, models) if X is None else _by_importance(mixture, X, label)
            columns = order[:max_columns]
        groups = {group.name: group for group in mixture.inputs.groups}
        for name in columns:
            if name not in groups:
                known = ", ".join(map(repr, list(groups)[:20]))
                raise InputError(f"columns must be some of {known}; got {name!r}.")
        member = None if encoded is None else _members(mixture, encoded)
        drawn = [_panel(mixture, models, groups[name], encoded, member) for name in columns]
        if not drawn:
            raise InputError("columns is empty; give at least one.")
        link = mixture.target.describe().link
        score = mixture.target.score_label if label is None else f"score of {label}"
        return cls(
            panels=drawn, n_localities=mixture.n_localities, link=link, score_name=score
        ).plot(ax=ax)

    def plot(self, ax: Any = None) -> ShapeDisplay:
        """Draw, on these axes or on new ones."""
        count = len(self.panels)
        size = (7.0, 4.4) if count == 1 else (7.5, 3.1)
        what = ("columns", "column")
        drawn = panels(ax, count, size, what=what, share="y")
        across = min(count, COLUMNS)
        for k, (one, panel) in enumerate(zip(self.panels, drawn, strict=True)):
            self._draw(panel, one)
            if k % across == 0:
                panel.set_ylabel(
                    "factor" if self.link == "log" else f"adds to the {self.score_name}"
                )
        self._set_scale(drawn[0])
        if any(one.rows is not None for one in self.panels):
            _make_room(drawn[0])
        names, seen = model_names(self.n_localities), sorted({i for i, _ in self._seen()})
        for i in seen if self.n_localities else []:
            last = i == self.n_localities
            style = {"color": "black", "linestyle": "--"} if last else {"color": _color(i)}
            drawn[across - 1].plot([], [], linewidth=2.0, label=names[i], **style)
        if self.n_localities:
            legend_outside(drawn[across - 1])
        self.axes_, self.ax_, self.figure_ = drawn, drawn[0], drawn[0].figure
        return self

    def _seen(self) -> list[tuple[int, Line]]:
        return [(line.model, line) for panel in self.panels for line in panel.lines]

    def _shown(self, value: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.exp(value) if self.link == "log" else value

    def _set_scale(self, ax: Any) -> None:
        """Of factors that differ much: of logarithms, with the ticks 1, 2, 5, 10 .."""
        if self.link != "log":
            return
        ends = [end for _, line in self._seen() for end in (line.value.min(), line.value.max())]
        if np.exp(max(ends) - min(ends)) < _FAR:
            return
        from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.yaxis.set_minor_locator(NullLocator())

    def _draw(self, ax: Any, one: Panel) -> None:
        ax.axhline(self._shown(np.zeros(1))[0], color="0.8", linewidth=0.8, zorder=0)
        if one.rows is not None:
            _draw_rows(ax, one)
        for k, line in enumerate(one.lines):
            if one.levels:
                self._draw_points(ax, line, k, len(one.lines))
            else:
                self._draw_curve(ax, line)
        if one.missing is not None:
            self._draw_points(ax, one.missing, 0, 1)
            place = one.missing.x[0], float(self._shown(one.missing.value)[0])
            ax.annotate("missing", place, (6, 0), textcoords="offset points", va="center")
        if one.levels:
            named = one.levels if len(one.levels) <= _LEVELS else ()
            names = [short(name, 12) for name in named]
            turned = {"rotation": 30, "ha": "right"} if sum(map(len, names)) > 28 else {}
            ax.set_xticks(np.arange(len(names)), names, **turned)
            ax.set_xlim(-0.6, len(one.levels) - 0.4)
        ax.set_xlabel(short(one.name, 30))
        ax.spines[["top", "right"]].set_visible(False)

    def _draw_curve(self, ax: Any, line: Line) -> None:
        last = line.model == self.n_localities
        color = "black" if last else _color(line.model)
        low, high = (self._shown(line.value + side * line.scale) for side in (-_WIDE, _WIDE))
        band: dict[str, Any] = {"color": "0.6" if last else color, "alpha": 0.25, "linewidth": 0}
        ax.fill_between(line.x, low, high, zorder=1, **band)
        dashes = {"linestyle": "--"} if last and self.n_localities else {}
        ax.plot(line.x, self._shown(line.value), color=color, linewidth=1.8, zorder=2, **dashes)

    def _draw_points(self, ax: Any, line: Line, k: int, count: int) -> None:
        last = line.model == self.n_localities
        value = self._shown(line.value)
        ends = [self._shown(line.value + side * line.scale) for side in (-_WIDE, _WIDE)]
        ax.errorbar(
            line.x + 0.18 * (k - 0.5 * (count - 1)),
            value,
            yerr=np.abs(np.array(ends) - value),
            fmt="o" if last else MARKERS[(line.model + 1) % len(MARKERS)],
            color="black" if last else _color(line.model),
            markerfacecolor="white" if last else None,
            markersize=6,
            linewidth=1.2,
            zorder=2,
        )


def _color(i: int) -> str:
    return COLORS[i % len(COLORS)]


def _make_room(ax: Any) -> None:
    """For the rows, below the curves."""
    low, high = ax.get_ylim()
    if ax.get_yscale() == "log":
        ax.set_ylim(low * (low / high) ** _HEIGHT, high)
    else:
        ax.set_ylim(low - _HEIGHT * (high - low), high)


def _draw_rows(ax: Any, one: Panel) -> None:
    """How many rows there are, at the bottom."""
    rows = np.asarray(one.rows)
    if one.levels:
        x, count, width = np.arange(len(one.levels)), np.bincount(rows.astype(int)), 0.8
        count = np.append(count, np.zeros(len(x) - len(count)))
    else:
        count, edges = np.histogram(rows, bins=_bins(rows))
        x, width = 0.5 * (edges[1:] + edges[:-1]), 0.95 * float(edges[1] - edges[0])
    share = _HEIGHT * count / max(count.max(), 1)
    ax.bar(x, share, width, color="0.85", transform=ax.get_xaxis_transform(), zorder=0)


def _bins(rows: Array) -> Any:
    """Ends of bins, or how many; of whole numbers each has as many of them."""
    low, high = float(rows.min()), float(rows.max())
    if not (rows == np.rint(rows)).all() or high - low > 100 * _BINS:
        return _BINS
    step = max(int(np.ceil((high - low + 1.0) / _BINS)), 1)
    return np.arange(low - 0.5, high + step, step)


def _models_of(mixture: Mixture, label: Any) -> list[LocalModel]:
    """Of one score."""
    known = mixture.exterior.classes
    if bool(known) != (label is not None) or (known and label not in known):
        raise InputError(
            f"label must be one of the labels {list(known)}; got {label!r}."
            if known
            else "label is for three classes or more; this model has one score."
        )
    return [one if label is None else one.of_class(label) for one in mixture.models]


def _by_importance(mixture: Mixture, X: Any, label: Any) -> list[str]:
    found = importance(mixture, X, label=label)
    return [name for name in found.order if found.overall[found.feature_names.index(name)] > 0] or [
        found.order[0]
    ]


def _order(mixture: Mixture, models: list[LocalModel]) -> list[str]:
    """The columns, those of the largest curves first."""
    sizes = {}
    for group in mixture.inputs.groups:
        parts = [_values(mixture, one, group, None) for one in models]
        sizes[group.name] = max((float(np.std(part.value)) for part in parts), default=0.0)
    return sorted(sizes, key=lambda name: -sizes[name])


def _members(mixture: Mixture, encoded: Array) -> Booleans:
    """(n_localities, n_rows): the rows for which each local model is used."""
    used = np.concatenate([view.used for view in mixture.views(encoded)])
    return np.asarray(used == np.arange(mixture.n_localities)[:, None])


def _panel(
    mixture: Mixture,
    models: list[LocalModel],
    group: Group,
    encoded: Array | None,
    member: Booleans | None,
) -> Panel:
    outer, n = models[-1], mixture.n_localities
    rows = None if encoded is None else _column(group, encoded)
    lines = []
    for i in range(n):
        own = None if rows is None or member is None else _present(rows[member[i]])
        if (own is not None and not len(own)) or _same(models[i], group):
            continue
        lines.append(_line(mixture, models[i], outer, group, own, i))
    rows = None if rows is None else _present(rows)
    points = _values(mixture, outer, group, rows)
    lines.append(Line(n, points.x, points.value, points.scale))
    levels = tuple("missing" if one is None else str(one) for one in group.levels or ())
    missing = None if group.indicator is None else _missing(mixture, outer, group, points)
    return Panel(group.name, tuple(lines), levels, rows, missing)


def _missing(mixture: Mixture, outer: LocalModel, group: Group, points: Line) -> Line:
    """What the exterior adds where a number is missing, on the scale of its curve."""
    j, own = group.columns.start, group.indicator
    assert own is not None
    x = np.array([float(mixture.inputs.stand_in[j])])
    first = outer.curve(j, x, reference=float(points.x[0]))
    value = points.value[0] + first.value + outer.coef[own]
    scale = np.hypot(first.scale, outer.coef_scale[own])
    return Line(mixture.n_localities, x, np.asarray(value), np.asarray(scale))


def _column(group: Group, encoded: Array) -> Array:
    """Numbers of rows, or indices of their levels."""
    part = encoded[:, group.columns]
    if group.levels is None:
        return np.asarray(part[:, 0], dtype=float)
    return np.asarray(np.where(part.any(axis=1), part.argmax(axis=1) + 1, 0))


def _present(rows: Array) -> Array:
    """Values that are not missing."""
    return rows[~np.isnan(rows)]


def _same(model: LocalModel, group: Group) -> bool:
    """Whether a model is a correction that leaves a column as it is."""
    if model.exterior is None:
        return False
    other, own = model.exterior.model.coef[group.columns], model.coef[group.columns]
    return bool((own == other).all())


def _values(mixture: Mixture, model: LocalModel, group: Group, rows: Array | None) -> Line:
    """What a column adds over the range of rows, relative to its own reference."""
    j = group.columns.start
    if group.levels is not None:
        coef, scale = model.coef[group.columns], model.coef_scale[group.columns]
        x = np.arange(len(group.levels), dtype=float)
        return Line(-1, x, np.append(0.0, coef), np.append(0.0, scale))
    knots = next((one.knots for one in model.shapes if one.column == j), None)
    low, high = _range(mixture, j, knots, rows)
    x = np.array([low, high])
    if knots is not None:
        x = np.union1d(x, knots[(knots > low) & (knots < high)])
    zero = model.reference_of(j)
    if knots is None and model.reference is None:
        zero = float(number(float(mixture.inputs.typical[j]), 2))
    if low < zero < high:
        x = np.union1d(x, zero)
    found = model.curve(j, x, reference=zero)
    return Line(-1, found.x, found.value, found.scale)


def _range(
    mixture: Mixture, j: int, knots: Array | None, rows: Array | None
) -> tuple[float, float]:
    if rows is not None and len(rows):
        return float(rows.min()), float(rows.max())
    if knots is not None:
        return float(knots[0]), float(knots[-1])
    inverse, middle = mixture.inputs.units.inverse_scale[j], float(mixture.inputs.typical[j])
    away = 2.0 / float(inverse) if inverse > 0 else 1.0
    return middle - away, middle + away


def _line(
    mixture: Mixture,
    model: LocalModel,
    outer: LocalModel,
    group: Group,
    rows: Array | None,
    i: int,
) -> Line:
    """Of a local model over its rows; it meets the exterior's in their middle."""
    if group.levels is not None:
        own = _values(mixture, model, group, None)
        seen = np.ones(len(own.x), dtype=bool) if rows is None else np.isin(own.x, rows)
        return Line(i, own.x[seen], own.value[seen], own.scale[seen])
    j = group.columns.start
    whole = _values(mixture, outer, group, None if rows is None else rows)
    middle = float(np.median(rows)) if rows is not None else float(whole.x[len(whole.x) // 2])
    x = np.union1d(whole.x, middle)
    base = _values(mixture, outer, group, np.array([middle]))
    found = model.curve(j, x, reference=middle)
    return Line(i, found.x, found.value + base.value[0], found.scale)
