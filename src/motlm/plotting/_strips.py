"""Strips: how far each locality reaches along each column, within the range of all rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from ..errors import InputError
from ..extents import Extent, extents_of
from ..mixture import mixture_of
from ..tables import number
from ._style import COLORS, axes, legend_outside, model_names, short

__all__ = ["StripsDisplay"]

_USUAL = (0.1, 0.9)  # quantiles between which most rows lie
_DIGITS = 5  # of the ends of a range
_LEVELS = 12  # of a category that are named below its strips


class StripsDisplay:
    """One strip for each column that a locality looks at: how far the locality reaches, within the
    range of all rows. Made by `from_estimator`.

    A locality in several columns is an ellipse, so that a row near an end along one of them is
    inside only if it is near the center along the others.

    Attributes
    ----------
    strips : list of tuple
        Of each strip: the name of the column, the index of the locality, and where it reaches, in
        words.
    ranges : dict
        Of each column of numbers: its smallest value, its 10 % and 90 % quantiles, its largest
        value.
    ax_, figure_
        Of matplotlib, once it is drawn.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> import pandas as pd
    >>> from motlm import LocalMixtureRegressor
    >>> from motlm.plotting import StripsDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"age": rng.uniform(18, 80, 500), "power": rng.uniform(30, 200, 500)})
    >>> y = np.where(X["age"] < 30, 2.0, 0.01 * X["power"])
    >>> model = LocalMixtureRegressor(1, locality_features=1, random_state=0).fit(X, y)
    >>> display = StripsDisplay.from_estimator(model, X)
    >>> [(name, i, text.startswith("up to")) for name, i, text in display.strips]
    [('age', 0, True)]
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        *,
        extents: list[tuple[int, Extent]],
        ranges: dict[str, Array],
        n_localities: int,
        left_out: int = 0,
    ) -> None:
        self.extents = extents  # (index of the locality, how far it reaches), by column
        self.ranges = ranges  # smallest, 10 %, 90 %, largest of each column
        self.n_localities = n_localities
        self.left_out = left_out  # columns that are looked at and not drawn

    @property
    def strips(self) -> list[tuple[str, int, str]]:
        """Name of the column, index of the locality, and where it reaches."""
        return [(one.name, i, one.text) for i, one in self.extents]

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, max_features: int = 15, ax: Any = None
    ) -> StripsDisplay:
        """Compute what there is to draw, and draw it.

        Parameters
        ----------
        estimator : fitted LocalMixtureClassifier or LocalMixtureRegressor, or its `mixture_`
            With at least one locality.
        X : rows
            Whose range is shown.
        max_features : int, default=15
            Most columns that are shown: those that limit localities most.
        ax : matplotlib Axes, default=None

        Returns
        -------
        StripsDisplay
        """
        mixture = mixture_of(estimator)
        if not mixture.n_localities:
            raise InputError("the model has no locality, so that there are no strips to draw.")
        encoded = mixture.inputs.fill_in(mixture.encode(X))
        if not len(encoded):
            raise InputError("strips lie within the range of rows; X is empty.")
        every = [
            (i, one) for i in range(mixture.n_localities) for one in extents_of(mixture, i, encoded)
        ]
        if not every:
            raise InputError(
                "distances of this metric do not show how far localities reach along a column:"
                f" {mixture.geometry.metric_name!r}."
            )
        ranges = {
            group.name: np.quantile(encoded[:, group.columns.start], [0.0, *_USUAL, 1.0])
            for group in mixture.inputs.groups
        }
        limited = [pair for pair in every if pair[1].text] or every
        width: dict[str, float] = {}
        for _, one in limited:
            width[one.name] = min(width.get(one.name, 1.0), _covered(one, ranges[one.name]))
        kept = sorted(width, key=lambda name: width[name])[:max_features]
        return cls(
            extents=sorted(
                (pair for pair in limited if pair[1].name in kept),
                key=lambda pair: (kept.index(pair[1].name), pair[0]),
            ),
            ranges={name: ranges[name] for name in kept},
            n_localities=mixture.n_localities,
            left_out=len({one.name for _, one in every}) - len(kept),
        ).plot(ax=ax)

    def plot(self, ax: Any = None) -> StripsDisplay:
        """Draw, on these axes or on new ones."""
        ax = axes(ax, (9, 1.1 + 0.3 * len(self.extents) + 0.25 * len(self.ranges)))
        names, place, ticks = model_names(self.n_localities), 0.0, []
        for name, span in self.ranges.items():
            own = [(i, one) for i, one in self.extents if one.name == name]
            ticks.append(place + 0.5 * (len(own) - 1))
            for i, one in own:
                self._draw_strip(ax, place, i, one, span)
                place += 1.0
            self._write_ends(ax, place - 0.45, own[0][1], span)
            place += 0.8
        ax.set_yticks(ticks, [short(name, 36) for name in self.ranges])
        ax.set_ylim(place - 0.7, -0.8)
        ax.set_xlim(-0.01, 1.3)
        ax.set_xticks([])
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
        if self.left_out:
            more = "column limits" if self.left_out == 1 else "columns limit"
            ax.set_xlabel(f"{self.left_out} more {more} localities less, or not at all")
        for i in sorted({i for i, _ in self.extents}):
            ax.plot([], [], color=COLORS[i % len(COLORS)], linewidth=5, label=names[i])
        ax.plot([], [], color="0.75", linewidth=9, label="middle 80 % of the rows")
        legend_outside(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_strip(self, ax: Any, place: float, i: int, one: Extent, span: Array) -> None:
        """The range of all rows, the locality in it, and its ends in words."""
        low, usual, common, high = span.tolist()
        color = COLORS[i % len(COLORS)]
        ax.hlines(place, 0.0, 1.0, color="0.9", linewidth=9, zorder=0)
        ax.text(1.02, place, short(one.text or "no limit", 30), va="center", fontsize=9)
        if one.ends is not None:
            if high > low:
                ends = (np.array([usual, common]) - low) / (high - low)
                ax.hlines(place, *ends, color="0.75", linewidth=9, zorder=1)
            ax.hlines(place, *one.share(low, high), color=color, linewidth=5, zorder=2)
            return
        step = 1.0 / len(one.levels)
        for k, (_, inside) in enumerate(one.levels):
            if inside:
                ax.hlines(place, k * step, (k + 1) * step, color=color, linewidth=5, zorder=2)

    def _write_ends(self, ax: Any, place: float, one: Extent, span: Array) -> None:
        """Below the strips of a column: its range, or its levels."""
        low, high = (number(float(end), _DIGITS) for end in (span[0], span[-1]))
        texts = [(0.0, low, "left"), (1.0, high, "right")]
        if one.ends is None:
            step = 1.0 / len(one.levels)
            length = max(2, int(60 * step))
            names = [short(name, length) for name, _ in one.levels]
            texts = [((k + 0.5) * step, name, "center") for k, name in enumerate(names)]
            texts = texts if len(texts) <= _LEVELS else []
        for x, text, side in texts:
            ax.text(x, place, text, ha=side, va="center", fontsize=8)


def _covered(one: Extent, span: Array) -> float:
    """Share of the range, or of the levels, that is inside."""
    if one.ends is None:
        return sum(inside for _, inside in one.levels) / len(one.levels)
    first, last = one.share(float(span[0]), float(span[-1]))
    return last - first
