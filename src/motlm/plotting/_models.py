"""Drawings of the models: a regression along its one column, coefficients side by side,
contributions of a row.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._renamed import warn_of
from .._typing import AnyArray, Array
from ..certificates import prediction_interval, standing
from ..errors import CertificateWarning, InputError, InputTypeError
from ..explanations import RowExplanation, explain_local
from ..mixture import Mixture, View, mixture_of
from ..tables import number
from ._style import COLORS, LABEL_COLORS, MARKERS, axes, legend_outside, model_names, short

__all__ = ["CoefficientsDisplay", "ContributionsDisplay", "RegressionDisplay"]


class RegressionDisplay:
    """A regression on one column: rows, each local model where it is used, and intervals. Made by
    `from_estimator`.

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
        model_used: AnyArray,
        balls: list[tuple[float, float]],
        X: Array,
        y: Array,
        feature_name: str,
    ) -> None:
        self.grid = grid
        self.prediction = prediction
        self.interval = interval  # (n_points, 2)
        self.interval_name = interval_name
        self.model_used = model_used  # (n_points,), index of the model used; -1 for several
        self.balls = balls
        self.X = X
        self.y = y
        self.feature_name = feature_name

    @property
    def speaker(self) -> AnyArray:
        """Deprecated: `model_used`."""
        warn_of("RegressionDisplay.speaker", "model_used")
        return self.model_used

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, grid_resolution: int = 600, ax: Any = None
    ) -> RegressionDisplay:
        """Compute what there is to draw, and draw it.

        The band is the certified interval of the model's certificate, if it has one that stands;
        else the prediction plus or minus two root mean squared errors on the training rows. A void
        certificate is a warning.

        Parameters
        ----------
        estimator : fitted LocalMixtureRegressor, or its `mixture_`
            Of one column.
        X, y : rows and targets to show
        grid_resolution : int, default=600
            Points along the axis at which the prediction is computed.
        ax : matplotlib Axes, default=None

        Returns
        -------
        RegressionDisplay
        """
        mixture = _check_line(mixture_of(estimator))
        values = mixture.encode(X)[:, 0]
        margin = 0.03 * np.ptp(values)
        grid = np.linspace(values.min() - margin, values.max() + margin, grid_resolution)
        view = mixture.view(grid[:, None])
        found = standing(estimator)
        if found.void:
            warnings.warn(CertificateWarning(f"no certified band: {found.void}"), stacklevel=2)
        certificate = found.certificate
        if certificate is not None and certificate.of("interval"):
            asked = type(X)({X.columns[0]: grid}) if hasattr(X, "columns") else grid[:, None]
            interval = prediction_interval(estimator, certificate, asked)
            coverage = certificate["interval"].details["coverage"]
            name = f"certified interval, {coverage:.0%} of outcomes"
        else:
            reach = 2.0 * mixture.target.tolerance * np.array([-1.0, 1.0])
            interval = view.answer[:, None] + reach
            name = "± 2 root mean squared errors of training"
        return cls(
            grid=grid,
            prediction=view.answer,
            interval=interval,
            interval_name=name,
            model_used=view.used,
            balls=_spans(view),
            X=values,
            y=np.asarray(y, dtype=float),
            feature_name=mixture.inputs.names[0],
        ).plot(ax=ax)

    def plot(self, ax: Any = None) -> RegressionDisplay:
        """Draw, on these axes or on new ones."""
        ax = axes(ax, (9, 5.5))
        ax.scatter(self.X, self.y, s=10, c="0.55", linewidths=0, alpha=0.7, zorder=1)
        finite = np.isfinite(self.interval).all(axis=1)
        low, high = (np.where(finite, end, np.nan) for end in self.interval.T)
        band: dict[str, Any] = {"color": "0.75", "alpha": 0.45, "linewidth": 0, "zorder": 0}
        ax.fill_between(self.grid, low, high, label=self.interval_name, **band)
        n = len(self.balls)
        for i, name in enumerate(model_names(n)):
            color, style = (COLORS[i % len(COLORS)], "-") if i < n else ("black", "--")
            self._draw_line(ax, self.model_used == i, color, name, style)
        if np.any(self.model_used < 0):
            self._draw_line(ax, self.model_used < 0, "0.4", "several", "-")
        for i, span in enumerate(self.balls):
            if np.isfinite(span).all():
                self._draw_bracket(ax, i, *span)
        ax.set_xlim(self.grid[0], self.grid[-1])
        ax.tick_params(axis="x", pad=8 + 10 * min(n, 3))
        ax.set(xlabel=self.feature_name, ylabel="target")
        legend_outside(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_line(self, ax: Any, used: AnyArray, color: str, name: str, style: str) -> None:
        """The predictions where a model is used."""
        line = np.where(used, self.prediction, np.nan)
        ax.plot(self.grid, line, color=color, linewidth=2.6, linestyle=style, label=name, zorder=3)

    def _draw_bracket(self, ax: Any, i: int, low: float, high: float) -> None:
        """A locality, below the axis."""
        height = -0.02 - 0.035 * (i % 3)
        ax.annotate(
            "",
            (low, height),
            (high, height),
            xycoords=("data", "axes fraction"),
            arrowprops={
                "arrowstyle": "|-|,widthA=0.25,widthB=0.25",
                "color": COLORS[i % len(COLORS)],
                "linewidth": 1.8,
            },
            annotation_clip=False,
        )


def _check_line(mixture: Mixture) -> Mixture:
    """Refuse what is not a regression on one column of numbers."""
    if mixture.target.task != "regression":
        raise InputTypeError(
            f"RegressionDisplay draws a regression; this model is a {mixture.target.task}."
        )
    n_columns = len(mixture.inputs.names)
    if n_columns != 1:
        raise InputError(f"RegressionDisplay draws models of 1 column; this one has {n_columns}.")
    if mixture.inputs.columns.has_text:
        raise InputError("RegressionDisplay draws a column of numbers; this one holds categories.")
    return mixture


def _spans(view: View) -> list[tuple[float, float]]:
    """From where to where each locality reaches; as far as the grid shows, where distances do not
    show it, and nan if it shows nothing.
    """
    spans = []
    for i, locality in enumerate(view.mixture.localities):
        if locality.half_width is not None:
            center, width = float(locality.center[0]), float(locality.half_width[0])
            spans.append((center - width, center + width))
            continue
        inside = view.encoded[view.member[i], 0]
        spans.append((float(inside.min()), float(inside.max())) if len(inside) else (np.nan,) * 2)
    return spans


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
        estimator : fitted LocalMixtureClassifier or LocalMixtureRegressor, or its `mixture_`
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
        mixture = mixture_of(estimator)
        coef = np.array([one.coef for one in mixture.models])
        scale = np.array([one.coef_scale for one in mixture.models])
        inverse = mixture.inputs.units.inverse_scale
        unit = np.divide(1.0, inverse, out=np.zeros_like(inverse), where=inverse > 0)
        order = np.argsort(-np.abs(coef * unit).max(axis=0), kind="stable")[:max_features]
        if standardized:
            coef, scale = coef * unit, scale * unit
        return cls(
            coef=coef[:, order],
            scale=scale[:, order],
            feature_names=tuple(mixture.inputs.names[j] for j in order),
            names=model_names(mixture.n_localities),
            standardized=standardized and mixture.provenance.units_from != "nowhere",
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
    """From the score at the center of a locality to the score of a row, feature by feature; of a
    model of rates on the scale of logarithms, with rates and factors as numbers. Made by
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
        estimator : fitted LocalMixtureClassifier or LocalMixtureRegressor, or its `mixture_`
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
        rates = one.link == "log"  # shown as factors, on the scale of logarithms
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
                f"x {np.exp(value):.3g}" if rates else f"{value:+.3g}",
                (right, place),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
            )
        for row, value in ((0, one.base), (shown + 1, one.score)):
            ax.plot(value, row, marker="D", color="black", markersize=7)
            ax.annotate(
                _value(float(np.exp(value)) if rates else value),
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
        ax.set_xlabel(one.score_label)
        ax.set_title(f"decided by {one.decided_by}: {one.reason}", fontsize=10)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _value(value: Any) -> str:
    return number(value) if isinstance(value, float) else short(str(value), 20)
