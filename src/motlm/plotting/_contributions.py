"""Drawings of the contributions of a row."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from ..errors import InputError
from ..explanations import ClassScore, RowExplanation, explain_local
from ..tables import number
from ._style import LABEL_COLORS, axes, short

__all__ = ["ContributionsDisplay"]


class ContributionsDisplay:
    """From the score at the center of a locality to the score of a row, feature by feature; of a
    model of rates on the scale of logarithms, with rates and factors as numbers. Of several classes
    the score of the answer minus that of another, which is positive as long as the answer is the
    first of the two. Made by `from_estimator`.

    Attributes
    ----------
    ax_, figure_
        Of matplotlib, once it is drawn.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.datasets import make_clf_case2
    >>> from motlm.plotting import ContributionsDisplay
    >>> X, y = make_clf_case2(400, random_state=0)
    >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
    >>> model = LocalMixtureClassifier(
    ...     points_of_interest=points, inverse_temperature=4, n_starts=1, random_state=0
    ... ).fit(X, y)
    >>> display = ContributionsDisplay.from_estimator(model, [[-1.4, 0.5]])
    >>> display.names
    ['x1 = 0.5', 'x0 = -1.4']
    >>> plt.close(display.figure_)

    Of three classes, why it is the first and not the second:

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LocalMixtureClassifier(0, inverse_temperature=2, random_state=0).fit(X, y)
    >>> display = ContributionsDisplay.from_estimator(model, X[:1])
    >>> display.ax_.get_xlabel()
    'score of 0 minus score of 1'
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        *,
        explanation: RowExplanation,
        names: list[str],
        values: Array,
        ends: tuple[float, float] | None = None,
        score_name: str = "",
    ) -> None:
        self.explanation = explanation
        self.names = names
        self.values = values
        # the score at the reference, and that of the row
        self.ends = (explanation.base, explanation.score) if ends is None else ends
        self.score_name = score_name or explanation.score_label

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        x: Any,
        *,
        against: Any = None,
        score_of: Any = None,
        max_features: int = 15,
        ax: Any = None,
    ) -> ContributionsDisplay:
        """Explain a row (a table of one row), and draw it. Features beyond `max_features` are added
        up.

        Parameters
        ----------
        estimator : fitted LocalMixtureClassifier or LocalMixtureRegressor, or its `mixture_`
        x : a table of one row
        against : label, default=None
            Of several classes: the one that the answer is compared with; None is the runner-up.
        score_of : label, default=None
            Of several classes: the one whose score is drawn by itself, instead of a difference.
        max_features : int, default=15
        ax : matplotlib Axes, default=None

        Returns
        -------
        ContributionsDisplay
        """
        explanation = explain_local(estimator, x)
        if len(explanation) != 1:
            raise InputError(f"ContributionsDisplay draws one row; got {len(explanation)}.")
        return cls.from_explanation(
            explanation[0], against=against, score_of=score_of, max_features=max_features, ax=ax
        )

    @classmethod
    def from_explanation(
        cls,
        explanation: RowExplanation,
        *,
        against: Any = None,
        score_of: Any = None,
        max_features: int = 15,
        ax: Any = None,
    ) -> ContributionsDisplay:
        """Draw the explanation of a row.

        Parameters
        ----------
        explanation : RowExplanation
        against : label, default=None
            Of several classes: the one that the answer is compared with; None is the runner-up.
        score_of : label, default=None
            Of several classes: the one whose score is drawn by itself, instead of a difference.
        max_features : int, default=15
        ax : matplotlib Axes, default=None

        Returns
        -------
        ContributionsDisplay
        """
        part, score_name = _part(explanation, against, score_of)
        entries = sorted(part.contributions.items(), key=lambda item: -abs(item[1]))
        shown, rest = entries[:max_features], entries[max_features:]
        names = [
            f"{short(name, 36)} is missing"
            if name in explanation.missing
            else f"{short(name, 36)} = {_value(explanation.values[name])}"
            for name, _ in shown
        ]
        values = [value for _, value in shown]
        if rest:
            names.append(f"{len(rest)} other features")
            values.append(sum(value for _, value in rest))
        return cls(
            explanation=explanation,
            names=names,
            values=np.array(values),
            ends=(part.base, part.score),
            score_name=score_name,
        ).plot(ax=ax)

    def plot(self, ax: Any = None) -> ContributionsDisplay:
        """Draw, on these axes or on new ones."""
        shown, one = len(self.names), self.explanation
        ax = axes(ax, (9, 1.6 + 0.34 * (shown + 2)))
        base, score = self.ends
        ends = base + np.cumsum(self.values)
        self._draw_bars(ax, np.concatenate([[base], ends[:-1]]))
        for row, value in ((0, base), (shown + 1, score)):
            ax.plot(value, row, marker="D", color="black", markersize=7)
            text = _value(float(np.exp(value)) if one.link == "log" else value)
            self._annotate(ax, text, (value, row), 8)
        ax.set_yticks(
            np.arange(shown + 2),
            [one.reference, *self.names, f"this row: {_value(one.prediction)}"],
        )
        ax.set_ylim(shown + 1.6, -0.6)
        low = min(base, float(ends.min(initial=base)))
        high = max(base, float(ends.max(initial=base)))
        room = 0.15 * (high - low or 1.0)
        ax.set_xlim(low - room, high + room)
        if low - room < 0.0 < high + room:
            ax.axvline(0.0, color="0.5", linewidth=0.8, zorder=0)
        ax.set_xlabel(self.score_name)
        ax.set_title(f"decided by {one.decided_by}: {one.reason}", fontsize=10)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_bars(self, ax: Any, starts: Array) -> None:
        """What each feature adds; of rates, multiplies by, on the scale of logarithms."""
        rates = self.explanation.link == "log"
        colors = [LABEL_COLORS[1] if value > 0 else LABEL_COLORS[0] for value in self.values]
        places = np.arange(1, len(self.names) + 1)
        bars = ax.barh(places, self.values, left=starts, color=colors, height=0.62)
        for bar, place, start, value in zip(bars, places, starts, self.values, strict=True):
            if value < 0:
                bar.set_hatch("//")
                bar.set_edgecolor("white")
            text = f"x {np.exp(value):.3g}" if rates else f"{value:+.3g}"
            self._annotate(ax, text, (max(start, start + value), place), 4)

    def _annotate(self, ax: Any, text: str, place: tuple[Any, Any], away: float) -> None:
        ax.annotate(
            text, place, xytext=(away, 0), textcoords="offset points", va="center", fontsize=9
        )


def _part(one: RowExplanation, against: Any, score_of: Any) -> tuple[ClassScore, str]:
    """What is drawn, and its name: the one score, that of a class, or the difference of two."""
    if against is not None and score_of is not None:
        raise InputError(
            "against compares two classes, and score_of draws one by itself; give one of the two."
        )
    if score_of is not None:
        if score_of not in one.by_class:
            raise InputError(
                f"score_of must be one of the labels {list(one.by_class)}; got {score_of!r}."
                if one.by_class
                else "score_of is for three classes or more; this model has one score."
            )
        return one.by_class[score_of], f"score of {_value(score_of)}"
    if not one.by_class and against is None:
        return ClassScore(one.score, np.nan, one.base, one.contributions), one.score_label
    other = one.runner_up if against is None else against
    names = f"score of {_value(one.prediction)} minus score of {_value(other)}"
    return one.against(against), names


def _value(value: Any) -> str:
    return number(value) if isinstance(value, float) else short(str(value), 20)
