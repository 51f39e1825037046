"""The map of the localities of a classifier with two features."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import AnyArray, Array
from ..columns import is_frame
from ..localities import Locality

__all__ = ["LocalitiesDisplay"]

_COLORS = ("#0072b2", "#d55e00")  # Okabe and Ito's blue and vermilion: told apart by the colour-blind, and in grey
_MARKERS = ("o", "^")


class LocalitiesDisplay:
    """Decision regions, balls and rows of a classifier with two numeric features. Made by `from_estimator`."""

    def __init__(
        self,
        *,
        xx0: Array,
        xx1: Array,
        label: AnyArray,
        localities: list[Locality],
        X: Array,
        y: AnyArray,
        classes: AnyArray,
        feature_names: tuple[str, str],
    ) -> None:
        self.xx0 = xx0
        self.xx1 = xx1
        self.label = label
        self.localities = localities
        self.X = X
        self.y = y
        self.classes = classes
        self.feature_names = feature_names

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, grid_resolution: int = 300, ax: Any = None) -> LocalitiesDisplay:
        """Compute what there is to draw, and draw it.

        Parameters
        ----------
        estimator : LocalMixtureClassifier
            Fitted on two numeric features, with a metric in which a ball has a width along each axis.
        X : array or DataFrame of (n_rows, 2)
        y : array of (n_rows,)
        grid_resolution : int, default=300
            Points along each axis at which the prediction is computed.
        ax : matplotlib Axes, default=None

        Returns
        -------
        LocalitiesDisplay
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "classes_"):
            raise ValueError(f"LocalitiesDisplay draws classifiers; got a {type(estimator).__name__}.")
        if estimator.n_features_in_ != 2:
            raise ValueError(f"LocalitiesDisplay draws models of 2 features; this one has {estimator.n_features_in_}.")
        names = estimator.exterior_.feature_names
        if len(names) != 2 or any("=" in name for name in names):
            raise ValueError(f"LocalitiesDisplay draws models of 2 numeric features; this one has {', '.join(names)}.")
        if estimator.points_of_interest is not None and estimator.metric not in ("euclidean", "l2", "minkowski"):
            raise ValueError(f"LocalitiesDisplay draws Euclidean balls; this model has metric={estimator.metric!r}.")
        values = np.asarray(X, dtype=float)
        margin = 0.05 * np.ptp(values, axis=0)
        low, high = values.min(axis=0) - margin, values.max(axis=0) + margin
        xx0, xx1 = np.meshgrid(np.linspace(low[0], high[0], grid_resolution), np.linspace(low[1], high[1], grid_resolution))
        grid: Any = np.column_stack([xx0.ravel(), xx1.ravel()])
        if is_frame(X):
            grid = type(X)(dict(zip(X.columns, grid.T, strict=True)))
        label = np.searchsorted(estimator.classes_, estimator.predict(grid)).reshape(xx0.shape)
        display = cls(
            xx0=xx0,
            xx1=xx1,
            label=label,
            localities=list(estimator.localities_),
            X=values,
            y=np.asarray(y),
            classes=estimator.classes_,
            feature_names=(names[0], names[1]),
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> LocalitiesDisplay:
        """Draw, on these axes or on new ones."""
        try:
            import matplotlib.pyplot as plt
            from matplotlib.colors import ListedColormap
            from matplotlib.patches import Ellipse
        except ImportError as error:
            raise ImportError("plotting needs matplotlib: pip install 'motlm[plot]'") from error
        if ax is None:
            _, ax = plt.subplots(figsize=(9, 6), layout="constrained")
        ax.pcolormesh(
            self.xx0,
            self.xx1,
            self.label,
            cmap=ListedColormap(_COLORS),
            vmin=0,
            vmax=1,
            alpha=0.22,
            shading="auto",
            rasterized=True,
        )
        for value, color, marker in zip(self.classes, _COLORS, _MARKERS, strict=True):
            rows = self.y == value
            ax.scatter(self.X[rows, 0], self.X[rows, 1], s=12, c=color, marker=marker, linewidths=0, alpha=0.7, label=f"{value}")
        for number, locality in enumerate(self.localities):
            assert locality.half_width is not None
            ax.add_patch(
                Ellipse(tuple(locality.center), *(2.0 * locality.half_width), fill=False, edgecolor="black", linewidth=1.8)
            )
            ax.plot(*locality.center, marker="*", color="black", markersize=12, markeredgecolor="white")
            ax.annotate(
                f"{number}",
                tuple(locality.center),
                xytext=(7, 7),
                textcoords="offset points",
                fontsize=12,
                fontweight="bold",
                bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
            )
        ax.set(xlabel=self.feature_names[0], ylabel=self.feature_names[1])
        ax.set_xlim(self.xx0.min(), self.xx0.max())
        ax.set_ylim(self.xx1.min(), self.xx1.max())
        ax.legend(title="label", loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
