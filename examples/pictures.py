"""Draws the figures of the guide and of the explanations: python examples/pictures.py [output
folder].

Needs the data sets banana, german and stock (from the folder MOTLM_DATA, or downloaded).
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.certificates import certify
from motlm.datasets import load_keel, make_clf_case2, make_reg_case2
from motlm.errors import MotlmWarning
from motlm.plotting import (
    CoefficientsDisplay,
    ComparisonDisplay,
    ContributionsDisplay,
    LocalitiesDisplay,
    PathDisplay,
    RegressionDisplay,
    RiskDisplay,
    StripsDisplay,
)
from motlm.preprocessing import clean

matplotlib.use("Agg")


def rows_of(name: str) -> tuple[Any, Any]:
    bunch = load_keel(name, as_frame=True)
    frame, target = clean(bunch.frame, box=False), bunch.target_names[0]
    y = frame[target]
    return frame.drop(columns=target), (
        y.astype(str).to_numpy() if bunch.task == "classification" else y.to_numpy(dtype=float)
    )


POINTS = [[-1.4, 0.0], [0.0, 0.75], [1.4, 0.0]]


def method(folder: Path) -> None:
    """The figures of the method: one linear model, the balls, and posterior draws for several
    values of lambda.
    """
    X, y = make_clf_case2(random_state=0)
    some = np.random.default_rng(0).permutation(len(X))[:500]

    def axes(count: int = 1) -> Any:
        figure, every = plt.subplots(
            1, count, figsize=(5.2 * count, 3.9), sharex=True, sharey=True, layout="constrained"
        )
        for ax in np.atleast_1d(every):
            ax.set(
                aspect="equal",
                xlim=(-2.6, 2.6),
                ylim=(-1.8, 1.9),
                xlabel="feature 0",
                ylabel="feature 1",
            )
        return figure, every

    def rows(ax: Any) -> None:
        for label, color, marker in ((-1, "tab:blue", "o"), (1, "tab:orange", "^")):
            ax.scatter(*X[some][y[some] == label].T, s=9, color=color, marker=marker, linewidths=0)

    def line(ax: Any, coef: Any, intercept: float, **style: Any) -> None:
        """Where the score is zero, clipped to the part of the plane that is shown."""
        along = np.linspace(-9, 9, 3000)
        foot = -intercept * np.asarray(coef) / (np.asarray(coef) @ coef)
        points = foot + along[:, None] * np.array([-coef[1], coef[0]]) / np.hypot(*coef)
        keep = style.pop("inside", np.ones(len(points), dtype=bool))
        keep = keep(points) if callable(keep) else keep
        ax.plot(*np.where(keep[:, None], points, np.nan).T, **style)

    def keep(figure: Any, name: str) -> None:
        figure.savefig(folder / f"{name}.png", dpi=80, bbox_inches="tight")
        plt.close(figure)
        print(folder / f"{name}.png")

    linear = LogisticRegression().fit(X, y)
    figure, ax = axes()
    rows(ax)
    line(ax, linear.coef_[0], linear.intercept_[0], color="black")
    ax.set_title(f"one linear model: accuracy {linear.score(X, y):.0%}")
    keep(figure, "method_line")

    def draws(ax: Any, model: Any, shown: int, rng: np.random.Generator) -> None:
        """Balls and lines drawn from the posterior (thin) and the posterior means (bold)."""
        posterior, centers = model.posterior_, np.array(POINTS)
        for k in range(shown + 1):
            bold = k == shown
            style = (
                {"color": "black", "linewidth": 1.8}
                if bold
                else {"color": "black", "linewidth": 0.5, "alpha": 0.35}
            )
            noise, radii = (
                rng.normal(size=posterior.coef.shape),
                rng.gamma(posterior.radius_shape, 1 / posterior.radius_rate),
            )
            coefs = posterior.coef + (0 if bold else posterior.coef_scale[:, None] * noise)
            intercepts = posterior.intercept + (
                0 if bold else posterior.intercept_scale * rng.normal(size=len(posterior.intercept))
            )
            radii = np.array([one.radius for one in model.localities_]) if bold else radii
            for center, radius in zip(centers, radii, strict=True):
                ax.add_patch(plt.Circle(center, radius, fill=False, **style))
            for i, (coef, intercept) in enumerate(zip(coefs, intercepts, strict=True)):

                def applies(points: Any, i: int = i, radii: Any = radii) -> Any:
                    away = np.linalg.norm(points[:, None] - centers, axis=2)
                    within = away <= radii
                    return within[:, i] if i < len(centers) else ~within.any(axis=1)

                line(ax, coef, intercept, inside=applies, **style)

    rng = np.random.default_rng(0)
    balls = {"standardize": False, "locality_widths": "equal", "corrections": "none"}
    model = LocalMixtureClassifier(
        points_of_interest=POINTS, local_models="linear", select="held-out", random_state=0, **balls
    ).fit(X, y)
    figure, ax = axes()
    rows(ax)
    draws(ax, model, 0, rng)
    ax.set_title(f"three balls, four lines: accuracy {model.score(X, y):.0%}")
    keep(figure, "method_balls")
    figure, every = axes(3)
    for ax, value in zip(every, (0.02, 0.2, 8.0), strict=True):
        one = LocalMixtureClassifier(
            points_of_interest=POINTS,
            inverse_temperature=value,
            local_models="linear",
            select="held-out",
            random_state=0,
            **balls,
        )
        one.fit(X, y)
        rows(ax)
        draws(ax, one, 30, rng)
        ax.set_title(f"λ' = {value:g}: accuracy {one.score(X, y):.0%}, KL {one.kl_:.0f}")
        ax.label_outer()
    keep(figure, "method_lambda")


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    method(folder)

    def save(display: Any, name: str) -> None:
        display.figure_.savefig(folder / f"{name}.png", dpi=80)
        print(folder / f"{name}.png")

    warnings.simplefilter("ignore", MotlmWarning)  # equal rows, constant columns, time series
    X, y = rows_of("banana")
    banana, _ = certify(
        LocalMixtureClassifier(
            "auto", max_localities=4, local_models="linear", select="held-out", random_state=0
        ),
        X,
        y,
    )
    _, some, _, labels = train_test_split(X, y, test_size=1500, random_state=0)
    save(LocalitiesDisplay.from_estimator(banana, some, labels), "banana_localities")
    save(PathDisplay.from_estimator(banana), "banana_path")
    save(PathDisplay.from_estimator(banana, by="n"), "banana_numbers")
    save(RiskDisplay.from_estimator(banana), "banana_risk")

    X, y = rows_of("stock")
    stock, _ = certify(
        LocalMixtureRegressor(3, local_models="linear", select="held-out", random_state=0), X, y
    )
    save(LocalitiesDisplay.from_estimator(stock, X, y, at=0), "stock_slice")
    save(StripsDisplay.from_estimator(stock, X), "stock_strips")
    save(CoefficientsDisplay.from_estimator(stock), "stock_coefficients")
    save(ContributionsDisplay.from_estimator(stock, X[:1]), "stock_contributions")
    balls = LocalMixtureRegressor(
        3, locality_features="ball", local_models="linear", select="held-out", random_state=0
    ).fit(X, y)
    save(LocalitiesDisplay.from_estimator(balls, X, y, kind="projection"), "stock_projection")

    X, y = rows_of("german")
    german = LocalMixtureClassifier(
        2, local_models="linear", select="held-out", random_state=0
    ).fit(X, y)
    save(StripsDisplay.from_estimator(german, X), "german_strips")
    save(CoefficientsDisplay.from_estimator(german), "german_corrections")
    save(CoefficientsDisplay.from_estimator(german, differences=False), "german_coefficients")
    save(ContributionsDisplay.from_estimator(german, X[:1]), "german_contributions")
    save(ComparisonDisplay.from_estimator(german, X, y, random_state=0), "german_comparison")

    line, target = make_reg_case2(random_state=0)
    curve, _ = certify(
        LocalMixtureRegressor(2, local_models="linear", select="held-out", random_state=0),
        line,
        target,
    )
    save(RegressionDisplay.from_estimator(curve, line, target), "case2_regression")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/pictures"))
