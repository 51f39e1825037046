"""Drawings of the models: a regression along its one column, coefficients side by side,
contributions of a row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import AnyArray, Array
from ..certificates import prediction_interval
from ..errors import InputError, InputTypeError
from ..estimators import LocalMixture, LocalMixtureRegressor
from ..explanations import RowExplanation, explain_local
from ._style import COLORS, LABEL_COLORS, MARKERS, axes, legend_outside, model_names, short

__all__ = ["CoefficientsDisplay", "ContributionsDisplay", "RegressionDisplay"]


class RegressionDisplay:
    """A regression on one column: rows, what each local model says where it applies, and intervals.
    Made by `from_estimator`.

    Attributes
    ----------
    ax_, figure_
        Of matplotlib, once it is drawn.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from motlm import LocalMixtureRegressor
    >>> from motlm.datasets import make_reg_case1
    >>> from motlm.plotting import RegressionDisplay
    >>> X, y = make_reg_case1(300, random_state=0)
    >>> model = LocalMixtureRegressor(
    ...     points_of_interest=[[0.0189]], inverse_temperature=16, n_starts=1, random_state=0
    ... ).fit(X, y)
    >>> display = RegressionDisplay.from_estimator(model, X, y)
    >>> len(display.balls), display.interval_name
    (1, '± 2 root mean squared errors of training')
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        *,
        grid: Array,
        prediction: Array,
        interval: Array,
        interval_name: str,
        speaker: AnyArray,
        balls: list[tuple[float, float]],
        X: Array,
        y: Array,
        feature_name: str,
    ) -> None:
        self.grid = grid
        self.prediction = prediction
        self.interval = interval  # (n_points, 2)
        self.interval_name = interval_name
        self.speaker = speaker
        self.balls = balls
        self.X = X
        self.y = y
        self.feature_name = feature_name

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, grid_resolution: int = 600, ax: Any = None
    ) -> RegressionDisplay:
        """Compute what there is to draw, and draw it.

        The band is the certified interval of the model's certificate, if it has one; else the
        prediction plus or minus two root mean squared errors on the training rows.

        Parameters
        ----------
        estimator : fitted LocalMixtureRegressor
            Of one column.
        X, y : rows and targets to show
        grid_resolution : int, default=600
            Points along the axis at which the prediction is computed.
        ax : matplotlib Axes, default=None

        Returns
        -------
        RegressionDisplay
        """
        if not isinstance(estimator, LocalMixtureRegressor):
            raise InputTypeError(
                "RegressionDisplay draws a LocalMixtureRegressor; got a"
                f" {type(estimator).__name__}."
            )
        check_is_fitted(estimator)
        if len(estimator.exterior_.feature_names) != 1:
            raise InputError(
                "RegressionDisplay draws models of 1 column; this one has"
                f" {len(estimator.exterior_.feature_names)}."
            )
        if estimator._columns.has_text:
            raise InputError(
                "RegressionDisplay draws a column of numbers; this one holds categories."
            )
        values = estimator._encode(X)[:, 0]
        margin = 0.03 * np.ptp(values)
        grid = np.linspace(values.min() - margin, values.max() + margin, grid_resolution)
        asked: Any = grid[:, None]
        if hasattr(X, "columns"):
            asked = type(X)({X.columns[0]: grid})
        said = estimator.predict(asked)
        certificate = getattr(estimator, "certificate_", None)
        if certificate is not None and certificate.of("interval"):
            interval = prediction_interval(estimator, certificate, asked)
            name = (
                f"certified interval, {certificate['interval'].details['coverage']:.0%} of outcomes"
            )
        else:
            interval = said[:, None] + 2.0 * estimator.residual_scale_ * np.array([-1.0, 1.0])
            name = "± 2 root mean squared errors of training"
        balls = []
        for one in estimator.localities_:
            width = one.radius if one.half_width is None else float(one.half_width[0])
            balls.append((float(one.center[0]) - width, float(one.center[0]) + width))
        return cls(
            grid=grid,
            prediction=said,
            interval=interval,
            interval_name=name,
            speaker=estimator.apply(asked),
            balls=balls,
            X=values,
            y=np.asarray(y, dtype=float),
            feature_name=estimator.exterior_.feature_names[0],
        ).plot(ax=ax)

    def plot(self, ax: Any = None) -> RegressionDisplay:
        """Draw, on these axes or on new ones."""
        ax = axes(ax, (9, 5.5))
        ax.scatter(self.X, self.y, s=10, c="0.55", linewidths=0, alpha=0.7, zorder=1)
        finite = np.isfinite(self.interval).all(axis=1)
        lower, upper = (
            np.where(finite, self.interval[:, 0], np.nan),
            np.where(finite, self.interval[:, 1], np.nan),
        )
        ax.fill_between(
            self.grid,
            lower,
            upper,
            color="0.75",
            alpha=0.45,
            linewidth=0,
            zorder=0,
            label=self.interval_name,
        )
        n = len(self.balls)
        for i, name in enumerate(model_names(n)):
            said = np.where(self.speaker == i, self.prediction, np.nan)
            color = "black" if i == n else COLORS[i % len(COLORS)]
            ax.plot(
                self.grid,
                said,
                color=color,
                linewidth=2.6,
                linestyle="-" if i < n else "--",
                label=name,
                zorder=3,
            )
        together = self.speaker < 0
        if np.any(together):
            ax.plot(
                self.grid,
                np.where(together, self.prediction, np.nan),
                color="0.4",
                linewidth=2.6,
                label="several",
                zorder=3,
            )
        for i, (low, high) in enumerate(self.balls):
            ax.annotate(
                "",
                (low, -0.02 - 0.035 * (i % 3)),
                (high, -0.02 - 0.035 * (i % 3)),
                xycoords=("data", "axes fraction"),
                arrowprops={
                    "arrowstyle": "|-|,widthA=0.25,widthB=0.25",
                    "color": COLORS[i % len(COLORS)],
                    "linewidth": 1.8,
                },
                annotation_clip=False,
            )
        ax.set_xlim(self.grid[0], self.grid[-1])
        ax.tick_params(axis="x", pad=8 + 10 * min(n, 3))
        ax.set(xlabel=self.feature_name, ylabel="target")
        legend_outside(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class CoefficientsDisplay:
    """Coefficients of all local models side by side, with their posterior deviations. Made by
    `from_estimator`.

    Attributes
    ----------
    ax_, figure_
        Of matplotlib, once it is drawn.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.datasets import make_clf_case2
    >>> from motlm.plotting import CoefficientsDisplay
    >>> X, y = make_clf_case2(400, random_state=0)
    >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
    >>> model = LocalMixtureClassifier(
    ...     points_of_interest=points, inverse_temperature=4, n_starts=1, random_state=0
    ... ).fit(X, y)
    >>> display = CoefficientsDisplay.from_estimator(model)
    >>> display.coef.shape, display.names
    ((4, 2), ['locality 0', 'locality 1', 'locality 2', 'exterior'])
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        *,
        coef: Array,
        scale: Array,
        feature_names: tuple[str, ...],
        names: list[str],
        standardized: bool,
    ) -> None:
        self.coef = coef  # (n_models, n_shown)
        self.scale = scale
        self.feature_names = feature_names
        self.names = names
        self.standardized = standardized

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, standardized: bool = True, max_features: int = 40, ax: Any = None
    ) -> CoefficientsDisplay:
        """Compute what there is to draw, and draw it.

        Parameters
        ----------
        estimator : fitted LocalMixtureClassifier or LocalMixtureRegressor
        standardized : bool, default=True
            Whether coefficients are per standard deviation of their column, so that they can be
            compared, or per unit of it.
        max_features : int, default=40
            Most columns that are shown: those with the largest coefficients.
        ax : matplotlib Axes, default=None

        Returns
        -------
        CoefficientsDisplay
        """
        if not isinstance(estimator, LocalMixture):
            raise InputTypeError(
                f"CoefficientsDisplay draws motlm's estimators; got a {type(estimator).__name__}."
            )
        check_is_fitted(estimator)
        models = (*estimator.localities_, estimator.exterior_)
        coef, scale = (
            np.array([one.coef for one in models]),
            np.array([one.coef_scale for one in models]),
        )
        inverse = estimator._fitted.units.inverse_scale
        unit = np.divide(1.0, inverse, out=np.zeros_like(inverse), where=inverse > 0)
        order = np.argsort(-np.abs(coef * unit).max(axis=0), kind="stable")[:max_features]
        if standardized:
            coef, scale = coef * unit, scale * unit
        names = estimator.exterior_.feature_names
        return cls(
            coef=coef[:, order],
            scale=scale[:, order],
            feature_names=tuple(names[j] for j in order),
            names=model_names(len(estimator.localities_)),
            standardized=standardized and estimator._units_from != "nowhere",
        ).plot(ax=ax)

    def plot(self, ax: Any = None) -> CoefficientsDisplay:
        """Draw, on these axes or on new ones."""
        count, shown = self.coef.shape
        step = max(0.3, 0.085 * count)  # inches for a column
        ax = axes(ax, (9, max(2.5, 1.0 + step * shown)))
        places = np.arange(shown)
        for i, name in enumerate(self.names):
            last = i == count - 1
            offset = 0.0 if count == 1 else 0.7 * (i / (count - 1) - 0.5)
            ax.errorbar(
                self.coef[i],
                places + offset,
                xerr=self.scale[i],
                fmt="o" if last else MARKERS[(i + 1) % len(MARKERS)],
                color="black" if last else COLORS[i % len(COLORS)],
                markerfacecolor="white" if last else None,
                markersize=5,
                linewidth=1.0,
                label=name,
            )
        for place in places[:-1]:
            ax.axhline(place + 0.5, color="0.9", linewidth=0.8, zorder=0)
        ax.axvline(0.0, color="0.5", linewidth=0.8, zorder=0)
        ax.set_yticks(places, [short(name, 36) for name in self.feature_names])
        ax.set_ylim(shown - 0.5, -0.5)
        ax.set_xlabel(
            "coefficient" + (", per standard deviation of the column" if self.standardized else "")
        )
        legend_outside(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class ContributionsDisplay:
    """From the score at the center of a locality to the score of a row, feature by feature. Made by
    `from_estimator`.

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
    """

    def __init__(self, *, explanation: RowExplanation, names: list[str], values: Array) -> None:
        self.explanation = explanation
        self.names = names
        self.values = values

    @classmethod
    def from_estimator(
        cls, estimator: Any, x: Any, *, max_features: int = 15, ax: Any = None
    ) -> ContributionsDisplay:
        """Explain a row (a table of one row), and draw it. Features beyond `max_features` are added
        up.

        Parameters
        ----------
        estimator : fitted LocalMixtureClassifier or LocalMixtureRegressor
        x : a table of one row
        max_features : int, default=15
        ax : matplotlib Axes, default=None

        Returns
        -------
        ContributionsDisplay
        """
        explanation = explain_local(estimator, x)
        if len(explanation) != 1:
            raise InputError(f"ContributionsDisplay draws one row; got {len(explanation)}.")
        return cls.from_explanation(explanation[0], max_features=max_features, ax=ax)

    @classmethod
    def from_explanation(
        cls, explanation: RowExplanation, *, max_features: int = 15, ax: Any = None
    ) -> ContributionsDisplay:
        """Draw the explanation of a row.

        Parameters
        ----------
        explanation : RowExplanation
        max_features : int, default=15
        ax : matplotlib Axes, default=None

        Returns
        -------
        ContributionsDisplay
        """
        entries = sorted(explanation.contributions.items(), key=lambda item: -abs(item[1]))
        shown, rest = entries[:max_features], entries[max_features:]
        names = [f"{short(name, 36)} = {_value(explanation.values[name])}" for name, _ in shown]
        values = [value for _, value in shown]
        if rest:
            names.append(f"{len(rest)} other features")
            values.append(sum(value for _, value in rest))
        return cls(explanation=explanation, names=names, values=np.array(values)).plot(ax=ax)

    def plot(self, ax: Any = None) -> ContributionsDisplay:
        """Draw, on these axes or on new ones."""
        shown = len(self.names)
        ax = axes(ax, (9, 1.6 + 0.34 * (shown + 2)))
        one = self.explanation
        ends = one.base + np.cumsum(self.values)
        starts = np.concatenate([[one.base], ends[:-1]])
        colors = [LABEL_COLORS[1] if value > 0 else LABEL_COLORS[0] for value in self.values]
        places = np.arange(1, shown + 1)
        bars = ax.barh(places, self.values, left=starts, color=colors, height=0.62)
        for bar, value in zip(bars, self.values, strict=True):
            if value < 0:
                bar.set_hatch("//")
                bar.set_edgecolor("white")
        for place, start, value in zip(places, starts, self.values, strict=True):
            right = max(start, start + value)
            ax.annotate(
                f"{value:+.3g}",
                (right, place),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
            )
        for row, value in ((0, one.base), (shown + 1, one.score)):
            ax.plot(value, row, marker="D", color="black", markersize=7)
            ax.annotate(
                f"{value:.4g}",
                (value, row),
                xytext=(8, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
            )
        ax.set_yticks(
            np.arange(shown + 2),
            [one.reference, *self.names, f"this row: {_value(one.prediction)}"],
        )
        ax.set_ylim(shown + 1.6, -0.6)
        low, high = (
            min(one.base, float(ends.min(initial=one.base))),
            max(one.base, float(ends.max(initial=one.base))),
        )
        room = 0.15 * (high - low or 1.0)
        ax.set_xlim(low - room, high + room)
        if low - room < 0.0 < high + room:
            ax.axvline(0.0, color="0.5", linewidth=0.8, zorder=0)
        ax.set_xlabel("score" if one.prediction != one.score else "prediction")
        ax.set_title(f"{one.speaker_name} speaks: {one.reason}", fontsize=10)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _value(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else short(str(value), 20)
