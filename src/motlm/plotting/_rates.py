"""Drawings of rates: what happened beside what was expected, in groups of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.utils.validation import check_consistent_length

from .._typing import Array, Integers
from ..checks import check_exposure
from ..errors import InputError
from ..intervals import count_interval
from ..mixture import mixture_of
from ..rows import group_equally
from ..targets import Continuous
from ._style import COLORS, axes, legend_outside, model_names

__all__ = ["LiftDisplay"]

KINDS = ("lift", "ratio", "locality")


class LiftDisplay:
    """Actual beside expected rates, in groups of rows. Made by `from_estimator` or
    `from_predictions`.

    The rows are sorted by predicted rate and cut into groups of equal exposure (rows of the same
    rate stay together); or they are grouped by the local model used for them. The interval of the
    actual rate of a group is the exact one of a Poisson count where y holds whole numbers: with
    overdispersion, or several events from one cause, it is too narrow. Where y holds other numbers,
    it is the actual rate plus or minus normal quantiles of the spread of the rows around it.

    Attributes
    ----------
    names : list of str
        Of the groups.
    exposure, actual, expected : ndarray, (n_groups,)
        Exposure of each group, what happened per unit of it, and the mean prediction.
    interval : ndarray, (n_groups, 2)
        Of the actual rate.
    ratio, ratio_interval : ndarray, (n_groups,) and (n_groups, 2)
        Actual over expected.
    ax_, figure_
        Of matplotlib, once it is drawn.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from motlm import LocalMixtureRegressor
    >>> from motlm.plotting import LiftDisplay
    >>> rng = np.random.default_rng(0)
    >>> X, years = rng.normal(size=(2000, 2)), rng.uniform(0.5, 1, size=2000)
    >>> claims = rng.poisson(years * np.exp(X[:, 0] - 1))
    >>> model = LocalMixtureRegressor(0, loss="poisson").fit(X, claims, exposure=years)
    >>> display = LiftDisplay.from_estimator(model, X, claims, exposure=years)
    >>> display.names[0], len(display.names), bool(np.all(np.diff(display.expected) > 0))
    ('1', 10, True)
    >>> bool(display.actual[-1] > 10 * display.actual[0])
    True
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        *,
        names: list[str],
        exposure: Array,
        actual: Array,
        expected: Array,
        interval: Array,
        interval_name: str,
        kind: str,
    ) -> None:
        self.names = names
        self.exposure = exposure  # (n_groups,)
        self.actual = actual  # (n_groups,), per unit of exposure
        self.expected = expected  # (n_groups,), likewise
        self.interval = interval  # (n_groups, 2), of the actual rate
        self.interval_name = interval_name
        self.kind = kind

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        exposure: Any = None,
        n_bins: int = 10,
        *,
        kind: str = "lift",
        confidence: float = 0.95,
        ax: Any = None,
    ) -> LiftDisplay:
        """Compute what there is to draw, and draw it.

        Parameters
        ----------
        estimator : fitted regressor that predicts rates
            For kind="locality" a fitted LocalMixtureRegressor, or its `mixture_`.
        X, y : rows and targets
            Rows not used for fitting show more.
        exposure : array of (n_rows,), default=None
            As in `LocalMixtureRegressor.fit`: y is what happened in all of it. None is 1 for each
            row.
        n_bins : int, default=10
            Groups; of kind "locality" there is one for each local model.
        kind : {"lift", "ratio", "locality"}, default="lift"
            Actual and expected rates by predicted rate; actual over expected, by predicted rate;
            or actual over expected for each local model.
        confidence : float, default=0.95
            Of the interval of each group by itself.
        ax : matplotlib Axes, default=None

        Returns
        -------
        LiftDisplay
        """
        rate = np.asarray(estimator.predict(X), dtype=float)
        groups = None
        if kind == "locality":
            mixture = mixture_of(estimator)
            used, n = mixture.apply(X), mixture.n_localities
            names = [*model_names(n), "several"]
            groups = np.where(used < 0, n + 1, used), names
        return cls._of(y, rate, exposure, n_bins, kind, confidence, groups).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        rate: Any,
        exposure: Any = None,
        n_bins: int = 10,
        *,
        kind: str = "lift",
        confidence: float = 0.95,
        ax: Any = None,
    ) -> LiftDisplay:
        """Compute what there is to draw from predicted rates, and draw it.

        Parameters
        ----------
        y : array of (n_rows,)
        rate : array of (n_rows,)
            Predictions, per unit of exposure.
        exposure : array of (n_rows,), default=None
        n_bins : int, default=10
        kind : {"lift", "ratio"}, default="lift"
        confidence : float, default=0.95
        ax : matplotlib Axes, default=None
            All as in `from_estimator`.

        Returns
        -------
        LiftDisplay

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> from motlm.plotting import LiftDisplay
        >>> display = LiftDisplay.from_predictions([0, 1, 1, 4], [0.5, 0.5, 2, 2], n_bins=2)
        >>> display.actual, display.expected
        (array([0.5, 2.5]), array([0.5, 2. ]))
        >>> display.interval.round(2)
        array([[0.01, 2.79],
               [0.81, 5.83]])
        >>> plt.close(display.figure_)
        """
        if kind == "locality":
            raise InputError(
                "kind='locality' needs to know which model is used for each row.",
                "Use from_estimator with a fitted LocalMixtureRegressor.",
            )
        return cls._of(y, rate, exposure, n_bins, kind, confidence, None).plot(ax=ax)

    @classmethod
    def _of(
        cls,
        y: Any,
        rate: Any,
        exposure: Any,
        n_bins: int,
        kind: str,
        confidence: float,
        groups: tuple[Integers, list[str]] | None,
    ) -> LiftDisplay:
        if kind not in KINDS:
            raise InputError(f"kind must be one of {', '.join(map(repr, KINDS))}; got {kind!r}.")
        if not isinstance(n_bins, (int, np.integer)) or n_bins < 1:
            raise InputError(f"n_bins must be a whole number of at least 1; got {n_bins!r}.")
        if not 0 < confidence < 1:
            raise InputError(f"confidence must lie between 0 and 1; got {confidence!r}.")
        y, rate = Continuous().code(y), Continuous().code(rate, "rate")
        check_consistent_length(y, rate)
        years = np.ones(len(y)) if exposure is None else check_exposure(exposure, len(y))
        where = group_equally(rate, years, n_bins) if groups is None else groups[0]
        found, where = np.unique(where, return_inverse=True)
        total = np.asarray(np.bincount(where, weights=years), dtype=float)
        actual = np.bincount(where, weights=y) / total
        interval, name = _intervals(y, years, where, confidence)
        return cls(
            names=[str(i + 1) if groups is None else groups[1][i] for i in found.tolist()],
            exposure=total,
            actual=actual,
            expected=np.bincount(where, weights=years * rate) / total,
            interval=interval,
            interval_name=name,
            kind=kind,
        )

    @property
    def ratio(self) -> Array:
        """(n_groups,): actual over expected."""
        return self.actual / self._divisor

    @property
    def ratio_interval(self) -> Array:
        """(n_groups, 2): of actual over expected."""
        return self.interval / self._divisor[:, None]

    @property
    def _divisor(self) -> Array:
        return np.where(self.expected > 0, self.expected, np.nan)

    def plot(self, ax: Any = None) -> LiftDisplay:
        """Draw, on these axes or on new ones."""
        ax = axes(ax, (8.5, 4.8))
        if self.kind == "lift":
            self._draw_rates(ax)
        else:
            self._draw_ratios(ax)
        if self.kind == "locality":
            share = self.exposure / self.exposure.sum()
            shares = [f"{one:.0%}" if one >= 0.01 else "below 1%" for one in share]
            labels = [f"{a}\n{b} of exposure" for a, b in zip(self.names, shares, strict=True)]
            ax.set_xlabel("model used")
        else:
            labels = self.names
            ax.set_xlabel("groups of equal exposure, by predicted rate")
        ax.set_xticks(np.arange(len(self.names)), labels)
        ax.set_xlim(-0.6, len(self.names) - 0.4)
        ax.spines[["top", "right"]].set_visible(False)
        legend_outside(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_rates(self, ax: Any) -> None:
        mean = float(np.average(self.actual, weights=self.exposure))
        ax.axhline(mean, color="0.6", linewidth=1.0, linestyle=":", label="mean of all", zorder=0)
        ax.plot(
            np.arange(len(self.names)),
            self.expected,
            "s-",
            color=COLORS[5],
            markerfacecolor="white",
            markersize=7,
            linewidth=1.6,
            label="expected",
            zorder=1,
        )
        self._draw_points(ax, self.actual, self.interval)
        ax.set_ylabel("rate, per unit of exposure")
        ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]) if self.interval.min() < 0 else 0.0)

    def _draw_ratios(self, ax: Any) -> None:
        ax.axhline(1.0, color=COLORS[5], linewidth=1.6, label="as expected", zorder=1)
        self._draw_points(ax, self.ratio, self.ratio_interval)
        ax.set_ylabel("actual / expected")

    def _draw_points(self, ax: Any, values: Array, interval: Array) -> None:
        ax.errorbar(
            np.arange(len(values)),
            values,
            yerr=np.abs(interval.T - values),
            fmt="o",
            color=COLORS[0],
            markersize=6,
            capsize=3,
            linewidth=1.2,
            label=f"actual,\n{self.interval_name}",
            zorder=2,
        )


def _intervals(y: Array, years: Array, where: Integers, confidence: float) -> tuple[Array, str]:
    """Of the actual rate of each group, (n_groups, 2), and what it is called."""
    total, count = np.bincount(where, weights=years), np.bincount(where, weights=y)
    tail = (1.0 - confidence) / 2.0
    if np.all((y >= 0) & (y == np.rint(y))):
        ends = count_interval(count, confidence)
        return ends / total[:, None], f"{confidence:.0%} Poisson interval"
    spread = np.bincount(where, weights=(y - years * (count / total)[where]) ** 2)
    reach = norm.isf(tail) * np.sqrt(spread) / total
    return (count / total)[:, None] + np.outer(reach, [-1.0, 1.0]), f"{confidence:.0%} interval"
