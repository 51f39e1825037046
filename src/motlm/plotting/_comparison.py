"""Drawings of a model beside other methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..comparison import Comparison, compare
from ..errors import InputError
from ..scores import HIGHER
from ._style import COLORS, axes

__all__ = ["ComparisonDisplay"]

_BETTER, _WORSE, _NEITHER = COLORS[5], COLORS[0], "0.35"


class ComparisonDisplay:
    """A score of other methods less this model's, with intervals: what reading costs. Made by
    `from_comparison` or `from_estimator`.

    The line at 0 is this model. An interval that does not reach it is in the color of a method that
    is better (orange, triangle) or worse (blue, circle). One that is much wider than the others is
    cut at the edge.

    Attributes
    ----------
    comparison : Comparison
    score : str
    ax_, figure_
        Of matplotlib, once it is drawn.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from motlm import LocalMixtureRegressor
    >>> from motlm.datasets import make_reg_case1
    >>> from motlm.plotting import ComparisonDisplay
    >>> X, y = make_reg_case1(300, random_state=0)
    >>> model = LocalMixtureRegressor(0, local_models="linear", random_state=0)
    >>> display = ComparisonDisplay.from_estimator(model, X, y, random_state=0)
    >>> display.score
    'R2'
    >>> plt.close(display.figure_)
    """

    def __init__(self, *, comparison: Comparison, score: str) -> None:
        self.comparison = comparison
        self.score = score

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, *, score: str | None = None, ax: Any = None
    ) -> ComparisonDisplay:
        """Draw a comparison.

        Parameters
        ----------
        comparison : Comparison
        score : str, default=None
            One of `comparison.scores`; None is the log loss, R2 or the mean deviance.
        ax : matplotlib Axes, default=None

        Returns
        -------
        ComparisonDisplay
        """
        wanted = comparison.main_score if score is None else score
        if wanted not in comparison.scores:
            raise InputError(
                f"score must be one of {', '.join(map(repr, comparison.scores))}; got {score!r}."
            )
        if not comparison.has_model:
            raise InputError("this model was not fitted on any fold; there is nothing to draw.")
        return cls(comparison=comparison, score=wanted).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        score: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> ComparisonDisplay:
        """Compare, and draw; `options` are those of `motlm.compare`."""
        return cls.from_comparison(compare(estimator, X, y, **options), score=score, ax=ax)

    def plot(self, ax: Any = None) -> ComparisonDisplay:
        """Draw, on these axes or on new ones."""
        found, others = self.comparison, self.comparison.methods[1:]
        ax = axes(ax, (7.5, 1.2 + 0.4 * len(others)))
        ax.axvline(0.0, color="0.6", linewidth=1.0, zorder=1)
        for k, one in enumerate(others):
            gap = found.difference(one.name, self.score)
            if gap.value is None:
                continue
            ends = np.array([[gap.value if end is None else end] for end in (gap.low, gap.high)])
            ax.errorbar(
                gap.value,
                k,
                xerr=np.abs(ends - gap.value),
                fmt="^" if gap.better else "o",
                color={True: _BETTER, False: _WORSE, None: _NEITHER}[gap.better],
                capsize=3,
                zorder=2,
            )
        ax.set_yticks(range(len(others)), [self._label(one) for one in others])
        ax.set_ylim(len(others) - 0.5, -0.5)
        low, high = found.span(self.score)
        ax.set_xlim(low - 0.03 * (high - low), high + 0.03 * (high - low))
        better = "right" if self.score in HIGHER else "left"
        own = found.methods[0].mean(self.score)
        at = "not defined" if own is None else f"{own:.4g}"
        ax.set_xlabel(f"{self.score} less this model's ({at}); better to the {better}")
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _label(self, method: Any) -> str:
        value = method.mean(self.score)
        return f"{method.name}, {'not defined' if value is None else f'{value:.4g}'}"
