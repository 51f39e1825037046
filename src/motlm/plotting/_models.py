"""Drawings of the models: a regression along its one column, coefficients side by side."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._renamed import warn_of
from .._typing import AnyArray, Array
from ..certificates import prediction_interval, standing
from ..corrections import differences_of
from ..errors import CertificateWarning, InputError, InputTypeError
from ..mixture import Mixture, View, mixture_of
from ..tables import item
from ._style import COLORS, COLUMNS, MARKERS, axes, legend_outside, model_names, panels, short

__all__ = ["CoefficientsDisplay", "RegressionDisplay"]

_PANELS = 9  # classes whose coefficients are drawn, unless they are given


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
        values = mixture.inputs.fill_in(mixture.encode(X))[:, 0]
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
    """Coefficients of all local models side by side, with their posterior deviations; of several
    classes in a panel for the score of each. Made by `from_estimator`.

    Where local models are corrections of the exterior model, it shows what each corrects: the
    differences of its coefficients from the exterior's. These are all of the difference, of
    additive models too. Of a column that bends a full coefficient is that of the straight part
    alone, and says little: its name has "(bends)", and `ShapeDisplay` shows the whole curve.

    Attributes
    ----------
    ax_, figure_
        Of matplotlib, once it is drawn.
    axes_
        The panels of several classes; `ax_` is the first.

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
    ((3, 2), ['locality 0', 'locality 1', 'locality 2'])
    >>> display.ax_.get_xlabel()
    "difference from the exterior's coefficient, per standard deviation of the column"
    >>> plt.close(display.figure_)
    >>> display = CoefficientsDisplay.from_estimator(model, differences=False)
    >>> display.coef.shape, display.names
    ((4, 2), ['locality 0', 'locality 1', 'locality 2', 'exterior'])
    >>> plt.close(display.figure_)

    Of three classes:

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LocalMixtureClassifier(0, inverse_temperature=2, random_state=0).fit(X, y)
    >>> display = CoefficientsDisplay.from_estimator(model)
    >>> display.coef.shape, [ax.get_title() for ax in display.axes_]
    ((1, 3, 4), ['0', '1', '2'])
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
        classes: tuple[Any, ...] = (),
        differences: bool = False,
        bends: tuple[bool, ...] = (),
    ) -> None:
        self.coef = coef  # (n_models, n_shown), or (n_models, n_classes, n_shown)
        self.scale = scale
        self.feature_names = feature_names
        self.names = names
        self.standardized = standardized
        self.classes = classes  # of the panels; () where there is one score
        self.differences = differences  # from the exterior's, which is not among the models then
        # of each column: whether its coefficients are of the straight part of a curve
        self.bends = bends or (False,) * len(feature_names)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        standardized: bool = True,
        max_features: int = 40,
        labels: Any = None,
        differences: bool | None = None,
        ax: Any = None,
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
        labels : list, default=None
            Of several classes: those whose scores are shown. None is all of them, of more than 9
            those with the largest coefficients.
        differences : bool, default=None
            Whether to show differences from the exterior's coefficients, of the columns in which
            there is one, or full coefficients, the exterior's among them. None: differences where
            local models are corrections of the exterior.
        ax : matplotlib Axes, or an array of them, default=None
            Of several classes an array has one for each; the place of one is divided among them.

        Returns
        -------
        CoefficientsDisplay
        """
        mixture = mixture_of(estimator)
        n = mixture.n_localities
        if differences is None:
            differences = n > 0 and mixture.posterior.pooled
        elif differences and not n:
            raise InputError("the model has no locality, so that nothing differs.")
        coef, scale = differences_of(mixture) if differences else _coefficients(mixture)
        bent = set() if differences and mixture.posterior.pooled else _bent(mixture)
        inverse = mixture.inputs.units.inverse_scale
        unit = np.divide(1.0, inverse, out=np.zeros_like(inverse), where=inverse > 0)
        classes = _classes(mixture, labels, np.abs(coef * unit).max(axis=(0, -1)))
        if classes:
            coef = coef[:, [mixture.exterior.classes.index(label) for label in classes]]
        size = np.abs(coef * unit).reshape(-1, len(unit)).max(axis=0)
        order = np.argsort(-size, kind="stable")[:max_features]
        if differences:
            order = order[scale[:, order].any(axis=0)]  # of the columns that are corrected
        if standardized:
            coef, scale = coef * unit, scale * unit
        return cls(
            coef=coef[..., order],
            scale=scale[:, order],
            feature_names=tuple(mixture.inputs.names[j] for j in order),
            bends=tuple(bool(j in bent) for j in order),
            names=model_names(n)[:n] if differences else model_names(n),
            standardized=standardized and mixture.provenance.units_from != "nowhere",
            classes=classes,
            differences=differences,
        ).plot(ax=ax)

    def plot(self, ax: Any = None) -> CoefficientsDisplay:
        """Draw, on these axes or on new ones."""
        count, shown = len(self.coef), self.coef.shape[-1]
        step = max(0.3, 0.085 * count)  # inches for a column
        drawn = panels(ax, len(self.classes) or 1, (9, max(2.5, 1.0 + step * shown)))
        scores = np.moveaxis(self.coef, 1, 0) if self.classes else self.coef[None]
        names = [
            short(name, 36) + (" (bends)" if bends else "")
            for name, bends in zip(self.feature_names, self.bends, strict=True)
        ]
        for panel, coef in zip(drawn, scores, strict=True):
            self._draw_models(panel, coef)
            panel.set_yticks(np.arange(shown), names)
            panel.set_ylim(shown - 0.5, -0.5)
        label = "difference from the exterior's coefficient" if self.differences else "coefficient"
        if any(self.bends):
            label += " (where it bends: of the straight part)"
        if self.standardized:
            label += ", per standard deviation of the column"
        for panel, name in zip(drawn, self.classes, strict=False):
            panel.set_title(short(f"{name}", 24), fontsize=10)
        across = min(len(drawn), COLUMNS)
        below = drawn[(len(drawn) - 1) // across * across :]
        below[(len(below) - 1) // 2].set_xlabel(label)
        legend_outside(drawn[across - 1])
        self.axes_, self.ax_, self.figure_ = drawn, drawn[0], drawn[0].figure
        return self

    def _draw_models(self, ax: Any, coef: Array) -> None:
        """The coefficients of each model in one score, (n_models, n_shown)."""
        count, shown = coef.shape
        places = np.arange(shown)
        for i, name in enumerate(self.names):
            last = i == count - 1 and not self.differences  # the exterior
            offset = 0.0 if count == 1 else 0.7 * (i / (count - 1) - 0.5)
            own = np.ones(shown, dtype=bool) if not self.differences else self.scale[i] > 0
            ax.errorbar(
                np.where(own, coef[i], np.nan),  # of those that it corrects
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


def _coefficients(mixture: Mixture) -> tuple[Array, Array]:
    """Of all models and the exterior, in the user's units, with their deviations."""
    models = mixture.models
    return np.array([one.coef for one in models]), np.array([one.coef_scale for one in models])


def _bent(mixture: Mixture) -> set[int]:
    """The encoded columns that bend in some model."""
    every = [one for model in mixture.models for one in model.shapes]
    return {one.column for one in every if one.values.any()}


def _classes(mixture: Mixture, labels: Any, size: Array) -> tuple[Any, ...]:
    """The labels of the panels: those given, or those of the largest coefficients; () where there
    is one score.
    """
    known = mixture.exterior.classes
    if labels is None:
        largest = np.argsort(-size, kind="stable")[:_PANELS] if known else np.empty(0, dtype=int)
        return tuple(known[k] for k in np.sort(largest))
    given = tuple(item(one) for one in labels)
    wrong = [one for one in given if one not in known]
    if wrong or not given or isinstance(labels, str):
        raise InputError(
            f"labels must be a list of some of the labels {list(known)}; got {labels!r}."
            if known
            else "labels are those of three classes or more; this model has one score."
        )
    return given
