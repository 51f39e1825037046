"""Drawings of how a model was chosen, and of what is certified of it."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np

from .._typing import Array
from ..certificates import Certificate, Statement, standing
from ..errors import InputError
from ..mixture import mixture_of
from ..optimize import Record
from ._style import COLORS, LABEL_COLORS, MARKERS, axes, legend_outside

__all__ = ["PathDisplay", "RiskDisplay"]

_VALUES = ("objective", "gibbs_risk", "kl", "held_out_score", "bound")


class PathDisplay:
    """What was found along the way, for every lambda and number of localities that was tried. Made
    by `from_estimator`.

    Attributes
    ----------
    ax_, figure_
        Of matplotlib, once it is drawn.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from motlm import LocalMixtureRegressor
    >>> from motlm.datasets import make_reg_case1
    >>> from motlm.plotting import PathDisplay
    >>> X, y = make_reg_case1(300, random_state=0)
    >>> model = LocalMixtureRegressor(
    ...     points_of_interest=[[0.0189]], inverse_temperature=[1, 16], n_starts=1, random_state=0
    ... ).fit(X, y)
    >>> display = PathDisplay.from_estimator(model)
    >>> display.value, sorted(record.inverse_temperature for record in display.records)
    ('held_out_score', [1.0, 16.0])
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        *,
        records: list[Record],
        by: str,
        value: str,
        chosen: tuple[int, float],
        kept: tuple[int, float] | None = None,
    ) -> None:
        self.records = records
        self.by = by
        self.value = value
        self.chosen = chosen  # number of localities, lambda'
        # of the model; localities without rows are dropped, or found at a larger lambda'
        self.kept = chosen if kept is None else kept

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, by: str = "lambda", value: str | None = None, ax: Any = None
    ) -> PathDisplay:
        """Draw a quantity of the search.

        Parameters
        ----------
        estimator : fitted LocalMixtureClassifier or LocalMixtureRegressor, or its `mixture_`
        by : "lambda" or "n", default="lambda"
            What is along the axis: the inverse temperature, or the number of localities.
        value : "objective", "gibbs_risk", "kl", "held_out_score" or "bound", default=None
            None is what the choice was made by.
        ax : matplotlib Axes, default=None

        Returns
        -------
        PathDisplay
        """
        mixture = mixture_of(estimator)
        provenance = mixture.provenance
        if by not in ("lambda", "n"):
            raise InputError(f"by must be 'lambda' or 'n'; got {by!r}.")
        records = [one for one in provenance.path if one.stage == "search" and one.rank == 0]
        if value is None:
            value = next(
                (
                    name
                    for name in ("held_out_score", "bound")
                    if any(getattr(r, name) is not None for r in records)
                ),
                "objective",
            )
        if value not in _VALUES:
            raise InputError(
                f"value must be one of {', '.join(map(repr, _VALUES))}; got {value!r}."
            )
        records = [one for one in records if getattr(one, value) is not None]
        if not records:
            raise InputError(
                f"the search has no {value!r} to draw: nothing was chosen, or the model was not"
                " fitted but made."
            )
        kept = (mixture.n_localities, provenance.inverse_temperature)
        tried = {one.inverse_temperature for one in records}
        # that of the search; the others are of localities that were found at a larger one
        final = [one.inverse_temperature for one in provenance.path if one.stage == "final"]
        temperature = next((one for one in [kept[1], *final] if one in tried), kept[1])
        chosen = (provenance.searched_localities, temperature)
        return cls(records=records, by=by, value=value, chosen=chosen, kept=kept).plot(ax=ax)

    def plot(self, ax: Any = None) -> PathDisplay:
        """Draw, on these axes or on new ones."""
        ax = axes(ax, (8, 5))
        names = ("n_localities", "inverse_temperature")
        inner, outer = (
            attrgetter(name) for name in (names if self.by == "lambda" else names[::-1])
        )
        best, color = self._best(), {}
        for k, line in enumerate(sorted({inner(one) for one in self.records})):
            color[line] = COLORS[k % len(COLORS)]
            points = sorted(
                (outer(one), getattr(one, self.value)) for one in best if inner(one) == line
            )
            x, y = np.array(points).T
            name = f"n = {line}" if self.by == "lambda" else f"λ′ = {line:g}"
            ax.plot(
                x,
                y,
                marker=MARKERS[k % len(MARKERS)],
                color=color[line],
                linewidth=1.6,
                label=name,
            )
        for one in self.records:
            if one not in best:
                place = (outer(one), getattr(one, self.value))
                ax.plot(*place, ".", color=color[inner(one)], alpha=0.5)
        n, temperature = self.chosen
        for one in best:
            if (one.n_localities, one.inverse_temperature) == (n, temperature):
                place = (outer(one), getattr(one, self.value))
                ax.plot(
                    *place,
                    marker="o",
                    markersize=15,
                    markerfacecolor="none",
                    markeredgecolor="black",
                    label=self._chosen_name,
                    linewidth=0,
                )
        if self.by == "lambda":
            ax.set_xscale("log", base=2)
            ticks = sorted({one.inverse_temperature for one in self.records})
            ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            ax.minorticks_off()
        else:
            ax.set_xticks(sorted({one.n_localities for one in self.records}))
        ax.set_xlabel("inverse temperature λ′" if self.by == "lambda" else "number of localities")
        ax.set_ylabel(self.value.replace("_", " "))
        legend_outside(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _best(self) -> list[Record]:
        """The best of the records of each number and lambda: there is one for each kind of locality
        that was tried.
        """
        sign = -1.0 if self.value == "held_out_score" else 1.0
        found: dict[tuple[int, float], Record] = {}
        for one in sorted(self.records, key=lambda one: sign * getattr(one, self.value)):
            found.setdefault((one.n_localities, one.inverse_temperature), one)
        return [
            one for one in self.records if found[one.n_localities, one.inverse_temperature] is one
        ]

    @property
    def _chosen_name(self) -> str:
        """With the number of localities that were kept, and lambda, where these are others."""
        (n, tried), (kept, temperature) = self.chosen, self.kept
        if temperature != tried:
            return f"chosen; {kept} kept,\nwith λ′ = {temperature:g}"
        return "chosen" if kept == n else f"chosen; {kept} of {n} kept"


class RiskDisplay:
    """Observed and certified risks: from the share on the rows to what is certified. Made by
    `from_certificate`.

    Attributes
    ----------
    ax_, figure_
        Of matplotlib, once it is drawn.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.linear_model import LogisticRegression
    >>> from motlm.certificates import certify
    >>> from motlm.datasets import make_twonorm
    >>> from motlm.plotting import RiskDisplay
    >>> X, y = make_twonorm(400, random_state=0)
    >>> model, certificate = certify(LogisticRegression(), X, y)
    >>> display = RiskDisplay.from_certificate(certificate)
    >>> [statement.name for statement in display.statements]
    ['hold-out']
    >>> plt.close(display.figure_)
    """

    def __init__(self, *, statements: list[Statement]) -> None:
        self.statements = statements

    @classmethod
    def from_certificate(cls, certificate: Certificate, *, ax: Any = None) -> RiskDisplay:
        """Draw the shares that a certificate bounds from above.

        Parameters
        ----------
        certificate : Certificate
        ax : matplotlib Axes, default=None

        Returns
        -------
        RiskDisplay
        """
        shown = [
            one
            for one in certificate
            if one.unit == "share" and one.value is not None and one.empirical is not None
        ]
        if not shown:
            raise InputError("the certificate has no share of cases to draw.")
        return cls(statements=shown).plot(ax=ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> RiskDisplay:
        """Draw the certificate that the model carries.

        Parameters
        ----------
        estimator : fitted LocalMixtureClassifier or LocalMixtureRegressor
            That `motlm.certificates.certify` made; an error if its certificate is void.
        ax : matplotlib Axes, default=None

        Returns
        -------
        RiskDisplay
        """
        found = standing(estimator)
        if found.void:
            raise InputError(found.void, "Certify the model anew.")
        if found.certificate is None:
            raise InputError("the model has no certificate; motlm.certificates.certify makes one.")
        return cls.from_certificate(found.certificate, ax=ax)

    def plot(self, ax: Any = None) -> RiskDisplay:
        """Draw, on these axes or on new ones."""
        shown = len(self.statements)
        ax = axes(ax, (8, 1.4 + 0.42 * shown))
        places = np.arange(shown)
        observed = np.array([one.empirical for one in self.statements], dtype=float)
        bound: Array = np.array([one.value for one in self.statements], dtype=float)
        ax.hlines(places, observed, bound, color="0.6", linewidth=2.0)
        ax.plot(
            observed, places, "o", color=LABEL_COLORS[0], label="observed on the rows", markersize=7
        )
        ax.plot(
            bound,
            places,
            "|",
            color=LABEL_COLORS[1],
            label="certified, at most",
            markersize=16,
            markeredgewidth=3,
        )
        names = [f"{one.name}{', ' + one.region if one.region else ''}" for one in self.statements]
        ax.set_yticks(places, names)
        ax.set_ylim(shown - 0.5, -0.6)
        trivial = [
            (one.baseline, place)
            for place, one in enumerate(self.statements)
            if one.baseline is not None
        ]
        if trivial:
            ax.plot(
                *np.array(trivial).T,
                "x",
                color="black",
                label=self.statements[0].baseline_name or "trivial predictor",
                markersize=7,
            )
        ax.set_xlim(
            0.0, min(1.0, 1.12 * max([float(bound.max()), *(share for share, _ in trivial)]))
        )
        ax.set_xlabel("share of cases")
        legend_outside(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self
