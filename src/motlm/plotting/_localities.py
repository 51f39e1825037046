"""Maps of the localities of a model, for two columns at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import AnyArray, Array
from ..errors import InputError
from ..mixture import Mixture, mixture_of
from ._style import axes, label_colors, label_markers, legend_outside, short

__all__ = ["LocalitiesDisplay"]

KINDS = ("slice", "projection")
_LINES = 25  # labels in a column of the legend
_ENDLESS = 1000.0  # widths of the map, for a locality that has no end along a column


class LocalitiesDisplay:
    """Balls and rows in the plane of two columns, with the regions of each answer. Made by
    `from_estimator`.

    A *slice* shows the model's answers where all other columns are held (at the center of a
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

    Of three labels or more each has a color:

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LocalMixtureClassifier(0, inverse_temperature=2, random_state=0).fit(X, y)
    >>> display = LocalitiesDisplay.from_estimator(model, X, y, grid_resolution=50)
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['0', '1', '2']
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
        self.response = response  # numbers that show answers: `target.shade` of the scores
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
        estimator : fitted LocalMixtureClassifier or LocalMixtureRegressor, or its `mixture_`
            With Euclidean distances.
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
        mixture = _check(mixture_of(estimator))
        if kind not in KINDS:
            raise InputError(f"kind must be one of {', '.join(map(repr, KINDS))}; got {kind!r}.")
        encoded = mixture.encode(X)
        labels = None if y is None else np.asarray(y)
        if len(encoded) > max_rows:
            shown = np.sort(np.random.default_rng(0).permutation(len(encoded))[:max_rows])
            encoded, labels = encoded[shown], None if labels is None else labels[shown]
        make = _slice if kind == "slice" else _projection
        parts = make(mixture, encoded, features, at, grid_resolution)
        return cls(kind=kind, y=labels, classes=mixture.target.classes, **parts).plot(ax=ax)

    def plot(self, ax: Any = None) -> LocalitiesDisplay:
        """Draw, on these axes or on new ones."""
        ax = axes(ax, (9, 6))
        self._draw_answers(ax)
        self._draw_rows(ax)
        for number, center, width in self.circles:
            self._draw_locality(ax, number, center, width)
        ax.set(xlabel=short(self.feature_names[0]), ylabel=short(self.feature_names[1]))
        if self.xx0 is not None and self.xx1 is not None:
            ax.set_xlim(self.xx0.min(), self.xx0.max())
            ax.set_ylim(self.xx1.min(), self.xx1.max())
        else:
            ax.set_aspect("equal")
        if self.held:
            ax.set_title(self.held, fontsize=10)
        if self.classes is not None and (self.y is not None or self._names_regions):
            legend_outside(ax, title="label", ncols=1 + (len(self.classes) - 1) // _LINES)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @property
    def _names_regions(self) -> bool:
        """Whether the legend has the regions: of several labels, where no rows show the colors."""
        several = self.classes is not None and len(self.classes) > 2
        return several and self.y is None and self.response is not None

    def _draw_answers(self, ax: Any) -> None:
        """The regions of each label, or predictions, of a slice."""
        from matplotlib.colors import ListedColormap

        if self.response is None:
            return
        mesh: dict[str, Any] = {"shading": "auto", "rasterized": True}
        grid = (self.xx0, self.xx1, self.response)
        if self.classes is None:
            drawn = ax.pcolormesh(*grid, cmap="cividis", **mesh)
            ax.figure.colorbar(drawn, ax=ax, label="prediction", pad=0.02)
            return
        count = len(self.classes)
        mesh |= {"cmap": ListedColormap(label_colors(count)), "vmin": 0, "vmax": count - 1}
        ax.pcolormesh(*grid, alpha=0.22, **mesh)
        border: dict[str, Any] = {"colors": "0.25", "linewidths": 0.9, "linestyles": "dotted"}
        if count > 2:  # the borders of two labels are drawn one over the other
            border |= {"linestyles": "solid", "linewidths": 0.7}
        for k in range(count - 1):  # for those who print in gray
            beyond = np.asarray(self.response > k, dtype=int)
            if np.ptp(beyond) > 0:
                ax.contour(self.xx0, self.xx1, beyond, levels=[0.5], **border)

    def _draw_locality(self, ax: Any, number: int, center: Array, width: Array) -> None:
        """An ellipse, with its number at the center."""
        from matplotlib.patches import Ellipse

        for color, line in (("white", 3.6), ("black", 1.8)):
            ax.add_patch(
                Ellipse(tuple(center), *(2.0 * width), fill=False, edgecolor=color, linewidth=line)
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

    def _draw_rows(self, ax: Any) -> None:
        if self.y is None:
            ax.scatter(self.X[:, 0], self.X[:, 1], s=10, c="0.35", linewidths=0, alpha=0.6)
            if self.classes is not None and self._names_regions:
                for value, color in zip(self.classes, label_colors(len(self.classes)), strict=True):
                    name = short(f"{value}", 24)
                    ax.plot([], [], "s", color=color, alpha=0.4, markersize=9, label=name)
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
            count = len(self.classes)
            looks = zip(self.classes, label_colors(count), label_markers(count), strict=True)
            for value, color, marker in looks:
                rows = self.y == value
                ax.scatter(
                    self.X[rows, 0],
                    self.X[rows, 1],
                    s=12,
                    color=color,
                    marker=marker,
                    linewidths=0,
                    alpha=0.7,
                    label=short(f"{value}", 24),
                )


def _check(mixture: Mixture) -> Mixture:
    if len(mixture.inputs.names) < 2:
        raise InputError("LocalitiesDisplay needs two columns; for one use RegressionDisplay.")
    if any(locus.norm != "euclidean" for locus in mixture.loci):
        raise InputError(
            "LocalitiesDisplay draws Euclidean balls; this model has"
            f" metric={mixture.geometry.metric_name!r}."
        )
    return mixture


def _columns(mixture: Mixture, features: tuple[Any, Any] | None) -> tuple[int, int]:
    """The two columns of a slice: those given, or those of numbers with the largest
    coefficients.
    """
    names = mixture.inputs.names
    if features is None:
        if len(names) == 2:
            return 0, 1
        coef = np.abs(mixture.routine().coef)
        size = coef.reshape(-1, len(names)).max(axis=0)
        numeric = np.zeros(len(names), dtype=bool)  # a column of zeros and ones makes a poor map
        for group in mixture.inputs.groups:
            numeric[group.columns] = group.levels is None
        first, second = sorted(np.lexsort((-size, ~numeric))[:2].tolist())
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
    mixture: Mixture,
    encoded: Array,
    features: tuple[Any, Any] | None,
    at: int | None,
    resolution: int,
) -> dict[str, Any]:
    """The answers on a grid of two columns, and the localities where the slice cuts them."""
    shown = list(_columns(mixture, features))
    n = mixture.n_localities
    if at is not None and not 0 <= at < n:
        raise InputError(f"at must be one of the {n} localities, from 0 on; got {at!r}.")
    base = mixture.inputs.typical if at is None else mixture.localities[at].center
    values = encoded[:, shown]
    margin = 0.05 * np.maximum(np.ptp(values, axis=0), 1e-12)
    low, high = values.min(axis=0) - margin, values.max(axis=0) + margin
    xx0, xx1 = np.meshgrid(*(np.linspace(low[k], high[k], resolution) for k in range(2)))
    rows = np.tile(base, (xx0.size, 1))
    rows[:, shown] = np.column_stack([xx0.ravel(), xx1.ravel()])
    response = mixture.target.shade(
        np.concatenate([view.score for view in mixture.views(rows)], axis=-1)
    )
    held, others = "", len(base) - 2
    if others:
        where = "the average row" if at is None else f"the center of locality {at}"
        held = f"slice: the other {others} columns held at {where} (those of the rows differ)"
    return {
        "xx0": xx0,
        "xx1": xx1,
        "response": response.reshape(xx0.shape),
        "circles": _cuts(mixture, base, shown, _ENDLESS * (high - low)),
        "X": values,
        "feature_names": tuple(mixture.inputs.names[j] for j in shown),
        "held": held,
    }


def _cuts(
    mixture: Mixture, base: Array, shown: list[int], endless: Array
) -> list[tuple[int, Array, Array]]:
    """Where a slice cuts the localities: ellipses, in the user's units."""
    circles = []
    place, inverse = mixture.inputs.standardize(base[None])[0], mixture.inputs.units.inverse_scale
    for i, (locality, locus) in enumerate(zip(mixture.localities, mixture.loci, strict=True)):
        half = locus.cut(shown, place)
        if half is not None:
            width = np.where(np.isfinite(half), half / inverse[shown], endless)
            circles.append((i, locality.center[shown], width))
    return circles


def _projection(
    mixture: Mixture,
    encoded: Array,
    features: tuple[Any, Any] | None,
    at: int | None,
    resolution: int,
) -> dict[str, Any]:
    """Rows and balls along the two directions in which standardized rows differ most."""
    if features is not None or at is not None:
        raise InputError("a projection shows all columns; features and at are of slices.")
    inputs = mixture.inputs
    if inputs.varies.sum() < 2 or len(encoded) < 3:
        raise InputError("a projection needs two columns that vary, and three rows.")
    if not all(locus.is_ball(inputs.counted) for locus in mixture.loci):
        raise InputError(
            "a projection draws balls; the localities of this model look at some of the columns,"
            " or weigh them.",
            'Draw a slice (kind="slice").',
        )
    Z = inputs.standardize(encoded)
    middle = Z.mean(axis=0)
    _, spread, directions = np.linalg.svd(Z - middle, full_matrices=False)
    plane = directions[:2]
    share = spread[:2] ** 2 / max(float((spread**2).sum()), 1e-300)
    circles = []
    for i, locus in enumerate(mixture.loci):
        center = np.zeros(len(middle))
        center[locus.columns] = locus.center
        circles.append((i, plane @ (center - middle), np.full(2, locus.radius)))
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
