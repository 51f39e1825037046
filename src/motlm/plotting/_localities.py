"""Maps of the localities of a model, for two columns at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import AnyArray, Array
from ..errors import InputError, InputTypeError
from ..estimators import LocalMixture, LocalMixtureClassifier
from ._style import LABEL_COLORS, LABEL_MARKERS, axes, legend_outside, pyplot, short

__all__ = ["LocalitiesDisplay"]

KINDS = ("slice", "projection")


class LocalitiesDisplay:
    """Balls and rows in the plane of two columns, with the regions of each answer. Made by
    `from_estimator`.

    A *slice* shows what the model says where all other columns are held (at the center of a
    locality, or at the average row): the circles are where the balls cut it. A *projection* shows
    all columns at once, along the two directions in which standardized rows differ most: circles
    are balls in their full size, and there are no regions of answers, since rows with different
    answers may fall on one point.

    Attributes
    ----------
    ax_, figure_
        Of matplotlib, once it is drawn.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.datasets import make_clf_case2
    >>> from motlm.plotting import LocalitiesDisplay
    >>> X, y = make_clf_case2(400, random_state=0)
    >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
    >>> model = LocalMixtureClassifier(
    ...     points_of_interest=points, inverse_temperature=4, n_starts=1, random_state=0
    ... ).fit(X, y)
    >>> display = LocalitiesDisplay.from_estimator(model, X, y, grid_resolution=50)
    >>> len(display.circles), display.ax_.get_xlabel(), display.ax_.get_ylabel()
    (3, 'x0', 'x1')
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        *,
        kind: str,
        xx0: Array | None,
        xx1: Array | None,
        response: Array | None,
        circles: list[tuple[int, Array, Array]],
        X: Array,
        y: AnyArray | None,
        classes: AnyArray | None,
        feature_names: tuple[str, str],
        held: str,
    ) -> None:
        self.kind = kind
        self.xx0 = xx0
        self.xx1 = xx1
        self.response = response  # index of the label, or prediction
        self.circles = circles  # (index of the locality, center, half-widths)
        self.X = X
        self.y = y
        self.classes = classes
        self.feature_names = feature_names
        self.held = held

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        features: tuple[Any, Any] | None = None,
        kind: str = "slice",
        at: int | None = None,
        grid_resolution: int = 300,
        max_rows: int = 5000,
        ax: Any = None,
    ) -> LocalitiesDisplay:
        """Compute what there is to draw, and draw it.

        Parameters
        ----------
        estimator : fitted LocalMixtureClassifier or LocalMixtureRegressor
            With balls that have a width along each axis.
        X : rows to show
        y : their targets, default=None
        features : two names or numbers of (encoded) columns, default=None
            Of a slice. None: the two columns of numbers of greatest weight, by standardized
            coefficients.
        kind : "slice" or "projection", default="slice"
        at : int, default=None
            Of a slice: the locality at whose center the other columns are held; None is the average
            training row.
        grid_resolution : int, default=300
            Points along each axis at which the answer is computed.
        max_rows : int, default=5000
            Most rows that are drawn, chosen at random.
        ax : matplotlib Axes, default=None

        Returns
        -------
        LocalitiesDisplay
        """
        model = _checked(estimator)
        if kind not in KINDS:
            raise InputError(f"kind must be one of {', '.join(map(repr, KINDS))}; got {kind!r}.")
        encoded = model._encode(X)
        labels = None if y is None else np.asarray(y)
        if len(encoded) > max_rows:
            shown = np.sort(np.random.default_rng(0).permutation(len(encoded))[:max_rows])
            encoded, labels = encoded[shown], None if labels is None else labels[shown]
        make = _slice if kind == "slice" else _projection
        parts = make(model, encoded, features, at, grid_resolution)
        classes = model.classes_ if isinstance(model, LocalMixtureClassifier) else None
        return cls(kind=kind, y=labels, classes=classes, **parts).plot(ax=ax)

    def plot(self, ax: Any = None) -> LocalitiesDisplay:
        """Draw, on these axes or on new ones."""
        plt = pyplot()
        from matplotlib.colors import ListedColormap
        from matplotlib.patches import Ellipse

        ax = axes(ax, (9, 6))
        figure = ax.figure
        if self.response is not None and self.classes is not None:
            colors = ListedColormap(LABEL_COLORS)
            ax.pcolormesh(
                self.xx0,
                self.xx1,
                self.response,
                cmap=colors,
                vmin=0,
                vmax=1,
                alpha=0.22,
                shading="auto",
                rasterized=True,
            )
            if np.ptp(self.response) > 0:  # for those who print in gray
                ax.contour(
                    self.xx0,
                    self.xx1,
                    self.response,
                    levels=[0.5],
                    colors="0.25",
                    linewidths=0.9,
                    linestyles="dotted",
                )
        elif self.response is not None:
            mesh = ax.pcolormesh(
                self.xx0, self.xx1, self.response, cmap="cividis", shading="auto", rasterized=True
            )
            figure.colorbar(mesh, ax=ax, label="prediction", pad=0.02)
        self._rows(ax, plt)
        for number, center, width in self.circles:
            ax.add_patch(
                Ellipse(tuple(center), *(2.0 * width), fill=False, edgecolor="white", linewidth=3.6)
            )
            ax.add_patch(
                Ellipse(tuple(center), *(2.0 * width), fill=False, edgecolor="black", linewidth=1.8)
            )
            ax.plot(*center, marker="*", color="black", markersize=12, markeredgecolor="white")
            ax.annotate(
                f"{number}",
                tuple(center),
                xytext=self._beside(number),
                textcoords="offset points",
                fontsize=12,
                fontweight="bold",
                bbox={
                    "boxstyle": "round,pad=0.15",
                    "facecolor": "white",
                    "edgecolor": "none",
                    "alpha": 0.8,
                },
            )
        ax.set(xlabel=short(self.feature_names[0]), ylabel=short(self.feature_names[1]))
        if self.xx0 is not None and self.xx1 is not None:
            ax.set_xlim(self.xx0.min(), self.xx0.max())
            ax.set_ylim(self.xx1.min(), self.xx1.max())
        else:
            ax.set_aspect("equal")
        if self.held:
            ax.set_title(self.held, fontsize=10)
        if self.classes is not None and self.y is not None:
            legend_outside(ax, title="label")
        self.ax_, self.figure_ = ax, figure
        return self

    def _beside(self, number: int) -> tuple[float, float]:
        """Where a number stands: on the side of its center that is away from the others."""
        places = {i: np.asarray(center, dtype=float) for i, center, _ in self.circles}
        away = np.zeros(2)
        scale = np.ptp(self.X, axis=0) + 1e-300
        for i, place in places.items():
            if i != number:
                gap = (places[number] - place) / scale
                away += gap / max(float(gap @ gap), 1e-4)
        length = float(np.linalg.norm(away))
        if length < 1e-9:
            return 7.0, 7.0
        step = 13.0 * away / length
        return float(step[0] - 4.0), float(step[1] - 5.0)

    def _rows(self, ax: Any, plt: Any) -> None:
        if self.y is None:
            ax.scatter(self.X[:, 0], self.X[:, 1], s=10, c="0.35", linewidths=0, alpha=0.6)
        elif self.classes is None:
            dots = ax.scatter(
                self.X[:, 0],
                self.X[:, 1],
                s=14,
                c=self.y,
                cmap="cividis",
                edgecolors="white",
                linewidths=0.4,
            )
            if self.response is not None:
                dots.set_clim(float(np.min(self.response)), float(np.max(self.response)))
            else:
                ax.figure.colorbar(dots, ax=ax, label="target", pad=0.02)
        else:
            for value, color, marker in zip(self.classes, LABEL_COLORS, LABEL_MARKERS, strict=True):
                rows = self.y == value
                ax.scatter(
                    self.X[rows, 0],
                    self.X[rows, 1],
                    s=12,
                    c=color,
                    marker=marker,
                    linewidths=0,
                    alpha=0.7,
                    label=short(f"{value}", 24),
                )


def _checked(estimator: Any) -> LocalMixture:
    if not isinstance(estimator, LocalMixture):
        raise InputTypeError(
            f"LocalitiesDisplay draws motlm's estimators; got a {type(estimator).__name__}."
        )
    check_is_fitted(estimator)
    if len(estimator.exterior_.feature_names) < 2:
        raise InputError("LocalitiesDisplay needs two columns; for one use RegressionDisplay.")
    if estimator.points_of_interest is not None and estimator.metric not in (
        "euclidean",
        "l2",
        "minkowski",
    ):
        raise InputError(
            f"LocalitiesDisplay draws Euclidean balls; this model has metric={estimator.metric!r}."
        )
    return estimator


def _columns(model: LocalMixture, features: tuple[Any, Any] | None) -> tuple[int, int]:
    names = model.exterior_.feature_names
    if features is None:
        if len(names) == 2:
            return 0, 1
        weight = np.zeros(len(names))
        weight[model._fitted.varies] = np.abs(model.posterior_.coef).max(axis=0)
        levels = [
            level
            for level in model._columns.levels
            for _ in range(1 if level is None else len(level) - 1)
        ]
        numeric = np.array(
            [level is None for level in levels]
        )  # a column of zeros and ones makes a poor map
        first, second = sorted(np.lexsort((-weight, ~numeric))[:2].tolist())
        return first, second
    found = []
    for one in features:
        place = names.index(one) if one in names else one
        if not isinstance(place, (int, np.integer)) or not 0 <= place < len(names):
            raise InputError(
                f"features must be two of the columns {', '.join(map(repr, names[:20]))}, or"
                f" numbers; got {one!r}."
            )
        found.append(int(place))
    if len(found) != 2 or found[0] == found[1]:
        raise InputError(f"features must be two different columns; got {features!r}.")
    return found[0], found[1]


def _slice(
    model: LocalMixture,
    encoded: Array,
    features: tuple[Any, Any] | None,
    at: int | None,
    resolution: int,
) -> dict[str, Any]:
    first, second = _columns(model, features)
    names, units = model.exterior_.feature_names, model._fitted.units
    if at is not None and not 0 <= at < len(model.localities_):
        raise InputError(
            f"at must be one of the {len(model.localities_)} localities, from 0 on; got {at!r}."
        )
    base = model._typical if at is None else model.localities_[at].center
    shown = encoded[:, [first, second]]
    margin = 0.05 * np.maximum(np.ptp(shown, axis=0), 1e-12)
    low, high = shown.min(axis=0) - margin, shown.max(axis=0) + margin
    xx0, xx1 = np.meshgrid(
        np.linspace(low[0], high[0], resolution), np.linspace(low[1], high[1], resolution)
    )
    rows = np.tile(base, (xx0.size, 1))
    rows[:, first], rows[:, second] = xx0.ravel(), xx1.ravel()
    said = np.concatenate([_spoken(model, routing) for routing in model._routings(rows)])
    response = (said > 0).astype(int) if isinstance(model, LocalMixtureClassifier) else said
    others = np.ones(len(base), dtype=bool)
    others[[first, second]] = False
    circles = []
    for i, one in enumerate(model.localities_):
        away = (
            units.standardized((base - one.center + units.center)[None])[0] * model._fitted.varies
        )
        room = one.radius**2 - float((away[others] ** 2).sum())
        if room > 0 and one.half_width is not None:
            scale = one.half_width[[first, second]] / one.radius if one.radius > 0 else np.zeros(2)
            width = np.where(np.isfinite(scale), np.sqrt(room) * scale, 4.0 * (high - low))
            circles.append((i, one.center[[first, second]], width))
    held = ""
    if others.any():
        where = "the average row" if at is None else f"the center of locality {at}"
        held = (
            f"slice: the other {int(others.sum())} columns held at {where} (those of the rows"
            " differ)"
        )
    return {
        "xx0": xx0,
        "xx1": xx1,
        "response": response.reshape(xx0.shape),
        "circles": circles,
        "X": shown,
        "feature_names": (names[first], names[second]),
        "held": held,
    }


def _spoken(model: LocalMixture, routing: Any) -> Array:
    from ..prediction import spoken

    said = spoken(routing, model.overlap)
    units = model._fitted.units
    return said * units.target_scale + units.target_center


def _projection(
    model: LocalMixture,
    encoded: Array,
    features: tuple[Any, Any] | None,
    at: int | None,
    resolution: int,
) -> dict[str, Any]:
    if features is not None or at is not None:
        raise InputError("a projection shows all columns; features and at are of slices.")
    units, varies = model._fitted.units, model._fitted.varies
    if varies.sum() < 2 or len(encoded) < 3:
        raise InputError("a projection needs two columns that vary, and three rows.")
    Z = units.standardized(encoded)[:, varies]
    middle = Z.mean(axis=0)
    _, spread, axes_ = np.linalg.svd(Z - middle, full_matrices=False)
    plane = axes_[:2]
    share = spread[:2] ** 2 / max(float((spread**2).sum()), 1e-300)
    circles = []
    for i, one in enumerate(model.localities_):
        center = plane @ (units.standardized(one.center[None])[0][varies] - middle)
        circles.append((i, center, np.full(2, one.radius)))
    return {
        "xx0": None,
        "xx1": None,
        "response": None,
        "circles": circles,
        "X": (Z - middle) @ plane.T,
        "feature_names": tuple(
            f"principal direction {k + 1} ({share[k]:.0%} of the variance)" for k in range(2)
        ),
        "held": "projection: balls in full size; a row inside a circle need not be inside the ball",
    }
