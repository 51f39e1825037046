"""Maps of the localities of a model, for one or two columns at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import AnyArray, Array
from ..errors import InputError
from ..mixture import mixture_of
from ._maps import check_map, make_map, make_projection
from ._style import COLORS, axes, label_colors, label_markers, legend_outside, short

__all__ = ["LocalitiesDisplay"]

KINDS = ("slice", "projection")
_LINES = 25  # labels in a column of the legend
_JITTER = 0.3  # height of the rows of a label, in a map of one column


class LocalitiesDisplay:
    """Localities and rows in the plane of two columns, or along one, in the user's units, with the
    regions of each answer. Made by `from_estimator`.

    A locality that looks at the two columns shown is an ellipse, one that looks at one of them a
    band; along one column it is an interval. A *slice* shows the model's answers where all other
    columns are held (at the center of a locality, or at the average row): a locality that looks at
    these too is drawn where it cuts the slice. A *projection* shows all columns at once, along the
    two directions in which standardized rows differ most: circles are balls in their full size, and
    there are no regions of answers, since rows with different answers may fall on one point.

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

    Along one column:

    >>> display = LocalitiesDisplay.from_estimator(model, X, y, features=["x0"], at=1)
    >>> display.ax_.get_xlabel(), [i for i, center, width in display.circles]
    ('x0', [0, 1, 2])
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
        feature_names: tuple[str, ...],
        held: str,
    ) -> None:
        self.kind = kind
        self.xx0 = xx0
        self.xx1 = xx1
        self.response = response  # numbers that show answers: `target.shade` of the scores
        # (index of the locality, center, half-widths), infinite along a column it does not look at
        self.circles = circles
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
        features: Any = None,
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
        features : one or two names or numbers of (encoded) columns, default=None
            Of a slice. None: the two columns of numbers that limit the localities most (that at
            whose center it is, where one is given); of balls, those of greatest weight by
            standardized coefficients.
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
        mixture = check_map(mixture_of(estimator))
        if kind not in KINDS:
            raise InputError(f"kind must be one of {', '.join(map(repr, KINDS))}; got {kind!r}.")
        encoded = mixture.encode(X)
        labels = None if y is None else np.asarray(y)
        if len(encoded) > max_rows:
            shown = np.sort(np.random.default_rng(0).permutation(len(encoded))[:max_rows])
            encoded, labels = encoded[shown], None if labels is None else labels[shown]
        make = make_map if kind == "slice" else make_projection
        parts = make(mixture, encoded, features, at, grid_resolution)
        return cls(kind=kind, y=labels, classes=mixture.target.classes, **parts).plot(ax=ax)

    def plot(self, ax: Any = None) -> LocalitiesDisplay:
        """Draw, on these axes or on new ones."""
        ax = axes(ax, (9, 6) if self._is_plane else (9, 4))
        if self._is_plane:
            self._draw_answers(ax)
            self._draw_rows(ax)
        else:
            self._draw_line(ax)
        for number, center, width in self.circles:
            self._draw_locality(ax, number, center, width)
        ax.set_xlabel(short(self.feature_names[0]))
        if self._is_plane:
            ax.set_ylabel(short(self.feature_names[1]))
        if self.xx0 is not None:
            ax.set_xlim(self.xx0.min(), self.xx0.max())
        if self.xx1 is not None:
            ax.set_ylim(self.xx1.min(), self.xx1.max())
        if self.kind == "projection":
            ax.set_aspect("equal")
        if self.held:
            ax.set_title(self.held, fontsize=10, wrap=True)
        if self.classes is not None and (self.y is not None or self._names_regions):
            legend_outside(ax, title="label", ncols=1 + (len(self.classes) - 1) // _LINES)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @property
    def _is_plane(self) -> bool:
        return len(self.feature_names) == 2

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
        """An ellipse, with its number at the center; a band or an interval, with it at the edge."""
        from matplotlib.patches import Ellipse

        endless = np.isinf(width)
        if len(width) == 1 or endless.any():
            self._draw_band(ax, number, center, width)
            return
        for color, line in (("white", 3.6), ("black", 1.8)):
            ax.add_patch(
                Ellipse(tuple(center), *(2.0 * width), fill=False, edgecolor=color, linewidth=line)
            )
        ax.plot(*center, marker="*", color="black", markersize=12, markeredgecolor="white")
        self._write(ax, number, tuple(center), "data", self._beside(number))

    def _draw_band(self, ax: Any, number: int, center: Array, width: Array) -> None:
        """Between two lines, along the column that it looks at."""
        k = int(np.flatnonzero(np.isfinite(width))[0])
        ends = center[k] - width[k], center[k] + width[k]
        line = (ax.axvline, ax.axhline)[k]
        for end in ends:
            for color, size in (("white", 3.6), ("black", 1.8)):
                line(end, color=color, linewidth=size)
        if not self._is_plane and self.classes is None:  # colors of labels are behind it
            color = COLORS[number % len(COLORS)]
            ax.axvspan(*ends, color=color, alpha=0.15, linewidth=0, zorder=0)
        shown = ax.get_xlim() if self.xx0 is None else (self.xx0.min(), self.xx0.max())
        if k == 1 and self.xx1 is not None:
            shown = self.xx1.min(), self.xx1.max()
        middle = float(np.clip(ends, *shown).mean())
        edge = 0.95 - 0.06 * (number % 3)  # bands may overlap
        if k == 0:
            self._write(ax, number, (middle, edge), ("data", "axes fraction"), (-4.0, -5.0))
        else:
            self._write(ax, number, (1.0 - edge, middle), ("axes fraction", "data"), (-4.0, -5.0))

    def _write(self, ax: Any, number: int, place: Any, coords: Any, offset: Any) -> None:
        """The number of a locality."""
        box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"}
        ax.annotate(
            f"{number}",
            place,
            xycoords=coords,
            xytext=offset,
            textcoords="offset points",
            fontsize=12,
            fontweight="bold",
            bbox=box | {"alpha": 0.8},
        )

    def _beside(self, number: int) -> tuple[float, float]:
        """Where a number stands: on the side of its center that is away from the others."""
        places = {
            i: np.asarray(center, dtype=float)
            for i, center, width in self.circles
            if np.isfinite(width).all()
        }
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

    def _draw_line(self, ax: Any) -> None:
        """Of one column: predictions as a line, or labels as colors, and the rows."""
        from matplotlib.colors import ListedColormap

        assert self.xx0 is not None
        assert self.response is not None
        x = self.X[:, 0]
        if self.classes is None:
            if self.y is not None:
                ax.scatter(x, self.y, s=12, c="0.55", linewidths=0, alpha=0.7)
            ax.plot(self.xx0, self.response, color="black", linewidth=2.2)
            ax.set_ylabel("prediction" if self.y is None else "prediction and target")
            return
        count = len(self.classes)
        mesh: dict[str, Any] = {"cmap": ListedColormap(label_colors(count)), "rasterized": True}
        mesh |= {"vmin": 0, "vmax": count - 1, "shading": "nearest", "alpha": 0.22}
        ends = np.array([0.0, count - 1.0])
        ax.pcolormesh(self.xx0, ends, np.tile(self.response, (2, 1)), **mesh)
        shift = np.random.default_rng(0).uniform(-_JITTER, _JITTER, size=len(x))
        looks = zip(self.classes, label_colors(count), label_markers(count), strict=True)
        for k, (value, color, marker) in enumerate(looks):
            rows = np.zeros(len(x), dtype=bool) if self.y is None else self.y == value
            dots = {"s": 12, "color": color, "marker": marker, "linewidths": 0, "alpha": 0.7}
            ax.scatter(x[rows], k + shift[rows], label=short(f"{value}", 24), **dots)
        ax.set_yticks(range(count), [short(f"{one}", 24) for one in self.classes])
        ax.set_ylim(-0.5, count - 0.5)
