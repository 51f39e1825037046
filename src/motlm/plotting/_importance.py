"""Drawings of how much each column matters."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError
from ..explanations import Importance, importance
from ._style import COLORS, axes, legend_outside, short

__all__ = ["ImportanceDisplay"]


class ImportanceDisplay:
    """How much each column matters, as bars: over all rows, and over those of each local model.
    Made by `from_estimator`.

    A bar is the mean distance, over rows, of what the column adds to the score from its mean over
    the rows of the same model; of a model of rates, to the logarithm of the rate. So columns that
    bend and columns that do not can be compared.

    Attributes
    ----------
    importance : Importance
    columns : list of str
        Those that are drawn, the most important first.
    ax_, figure_
        Of matplotlib, once it is drawn.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from motlm import LocalMixtureRegressor
    >>> from motlm.plotting import ImportanceDisplay
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
    >>> y = X[:, 0] ** 2 - 3 * X[:, 1]
    >>> model = LocalMixtureRegressor(0, local_models="additive", random_state=0).fit(X, y)
    >>> display = ImportanceDisplay.from_estimator(model, X)
    >>> display.columns
    ['x1', 'x0']
    >>> plt.close(display.figure_)
    """

    def __init__(self, *, importance: Importance, columns: list[str]) -> None:
        self.importance = importance
        self.columns = columns

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, max_columns: int = 15, label: Any = None, ax: Any = None
    ) -> ImportanceDisplay:
        """Compute what there is to draw, and draw it.

        Parameters
        ----------
        estimator : fitted LocalMixtureClassifier or LocalMixtureRegressor, or its `mixture_`
        X : rows
        max_columns : int, default=15
            Most columns that are shown.
        label : default=None
            Of three classes or more: the one whose score it is; None is the mean over all.
        ax : matplotlib Axes, default=None

        Returns
        -------
        ImportanceDisplay
        """
        if max_columns < 1:
            raise InputError(f"max_columns must be at least 1; got {max_columns!r}.")
        found = importance(estimator, X, label=label)
        return cls(importance=found, columns=list(found.order[:max_columns])).plot(ax=ax)

    def plot(self, ax: Any = None) -> ImportanceDisplay:
        """Draw, on these axes or on new ones."""
        found, shown = self.importance, len(self.columns)
        every = [found.feature_names.index(name) for name in self.columns]
        drawn = [i for i, count in enumerate(found.n_rows) if count] if len(found.names) > 1 else []
        step = max(0.34, 0.13 * (1 + len(drawn)))  # inches for a column
        ax = axes(ax, (8, 1.1 + step * shown))
        places = np.arange(shown)
        ax.barh(places, found.overall[every], height=0.84, color="0.82", label="all rows")
        height = 0.72 / max(len(drawn), 1)
        for k, i in enumerate(drawn):
            last = i == len(found.names) - 1  # the exterior
            ax.barh(
                places + height * (k - 0.5 * (len(drawn) - 1)),
                found.by_model[i, every],
                height=0.8 * height,
                color="white" if last else COLORS[i % len(COLORS)],
                edgecolor="black" if last else COLORS[i % len(COLORS)],
                hatch="///" if last else None,
                linewidth=0.8,
                label=found.names[i],
            )
        ax.set_yticks(places, [short(name, 36) for name in self.columns])
        ax.set_ylim(shown - 0.4, -0.6)
        ax.set_xlabel(f"mean effect on the {self._score}")
        ax.spines[["top", "right"]].set_visible(False)
        if drawn:
            legend_outside(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @property
    def _score(self) -> str:
        if self.importance.link == "log":
            return "logarithm of the rate"
        return self.importance.score_label
