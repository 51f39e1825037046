"""The paper's figures, drawn from motlm's models on split 0 and from the results file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Circle
from scipy.stats import gamma, ncx2, qmc
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from motlm.membership import upsilon

from .methods import (
    CLASSIFIERS,
    POINTS,
    SYNTHETIC,
    TRUE,
    is_redrawn,
    origin,
    own_search,
    parts_of,
    rows_of_case,
)
from .store import Store

# Okabe and Ito's color-blind-safe colors; shapes differ as well.
BLUE, ORANGE, GREEN, GRAY = "#0072B2", "#D55E00", "#009E73", "#555555"
SPLIT = 0


def _scatter(ax: Any, X: np.ndarray, y: np.ndarray) -> None:
    for label, color, marker in ((-1.0, ORANGE, "x"), (1.0, BLUE, "o")):
        some = y == label
        face = {"facecolors": "none", "edgecolors": color} if marker == "o" else {"color": color}
        ax.scatter(
            X[some, 0],
            X[some, 1],
            s=9,
            marker=marker,
            linewidths=0.6,
            label=f"label {label:+.0f}",
            **face,
        )
    ax.set(xlabel="$x_1$", ylabel="$x_2$", xlim=(-2.6, 2.6), ylim=(-1.6, 1.6), aspect="equal")


def _stars(ax: Any, points: Any, height: float | None = None) -> None:
    at = np.asarray(points, dtype=float)
    second = at[:, 1] if at.shape[1] > 1 else np.full(len(at), height)
    ax.scatter(
        at[:, 0],
        second,
        marker="*",
        s=110,
        color=GREEN,
        edgecolors="black",
        linewidths=0.6,
        zorder=5,
        label="point of interest",
    )


def _pair(title: str, width: float = 11.0, height: float = 3.6) -> tuple[Any, Any]:
    figure, axes = plt.subplots(1, 2, figsize=(width, height), layout="constrained")
    figure.suptitle(title)
    return figure, axes


def _legend(figure: Any, axes: Any) -> None:
    columns = 6 if np.size(axes) > 1 else 3
    entries: dict[str, Any] = {}
    for ax in np.ravel(axes):
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(
        entries.values(),
        entries.keys(),
        loc="outside lower center",
        ncols=min(len(entries), columns),
        frameon=False,
    )


def _rows_with_jumps(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Seven linear pieces with jumps between them, which need a complex global model."""
    x = np.sort(rng.uniform(0.0, 7.0, 350))
    piece = np.minimum(x.astype(int), 6)
    level, slope = (
        np.array([0.0, 2.0, -1.0, 1.0, 3.0, 0.5, 2.5]),
        np.array([0.0, -1.0, 1.5, 0.0, -2.0, 0.0, 1.0]),
    )
    return x, level[piece] + slope[piece] * (x - piece - 0.5) + 0.12 * rng.standard_normal(len(x))


def figure1(store: Store) -> Any:
    rng = np.random.default_rng(0)
    figure, axes = _pair("Figure 1: a simple and a complex global model")
    simple = np.sort(rng.uniform(0.0, 7.0, 350))
    sets = (
        (simple, 0.4 * simple - 1.0 + 0.3 * rng.standard_normal(350), 1),
        (*_rows_with_jumps(rng), 25),
    )
    for ax, (x, y, order) in zip(axes, sets, strict=True):
        ax.scatter(x, y, s=6, color=GRAY, label="rows")
        model = make_pipeline(PolynomialFeatures(order), LinearRegression()).fit(
            x[:, None] / 3.5 - 1, y
        )
        line = np.linspace(0.02, 6.98, 600)
        ax.plot(
            line,
            model.predict(line[:, None] / 3.5 - 1),
            color=ORANGE,
            label="least squares polynomial",
        )
        ax.set(
            xlabel="$x$",
            ylabel="$y$",
            title=f"order {order}, R2 {model.score(x[:, None] / 3.5 - 1, y):.3f}",
            ylim=(-3.2, 5.2),
        )
    _legend(figure, axes)
    return figure


def figure2(store: Store) -> Any:
    from motlm import LocalMixtureRegressor

    rng = np.random.default_rng(0)
    rng.uniform(0.0, 7.0, 350), rng.standard_normal(350)  # the rows of figure 1
    x, y = _rows_with_jumps(rng)
    points = [[k + 0.5] for k in range(7)]
    settings = {"standardize": False, "local_models": "linear", "random_state": 0}
    model = LocalMixtureRegressor(points_of_interest=points, **settings).fit(x[:, None], y)
    figure, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
    figure.suptitle("Figure 2: a mixture of transparent local models on the rows of figure 1")
    _draw_regression(ax, model, x[:, None], y, points)
    ax.set_title(f"{len(model.localities_)} localities, R2 {model.score(x[:, None], y):.3f}")
    _legend(figure, ax)
    return figure


def _whose(kind: str) -> str:
    return (
        " (new samples from the same distributions)"
        if any(map(is_redrawn, _cases(kind)))
        else " (the authors' samples)"
    )


def _cases(kind: str) -> list[str]:
    return [name for name in SYNTHETIC if name.startswith(kind)]


def figure3(store: Store) -> Any:
    figure, axes = _pair(
        f"Figure 3: synthetic classification sets{_whose('clf')} and their points of interest"
    )
    for ax, data, number in zip(axes, _cases("clf"), "12", strict=True):
        X, y = rows_of_case(data, origin(data))
        _scatter(ax, X, y)
        _stars(ax, POINTS[data][: TRUE[data]])
        ax.set_title(f"Case {number}: {len(X)} rows")
    _legend(figure, axes)
    return figure


def figure4(store: Store) -> Any:
    figure, axes = _pair("Figure 4: linear SVM on the training rows")
    for ax, data, number in zip(axes, _cases("clf"), "12", strict=True):
        parts = parts_of(data, origin(data), SPLIT)
        model = CLASSIFIERS["linear SVM"](parts, SPLIT).model
        _regions(ax, model)
        _scatter(ax, parts.X[0], parts.y[0])
        ax.set_title(f"Case {number}: training accuracy {model.score(parts.X[0], parts.y[0]):.1%}")
    _legend(figure, axes)
    return figure


def _regions(ax: Any, model: Any) -> None:
    x1, x2 = np.meshgrid(np.linspace(-2.6, 2.6, 400), np.linspace(-1.6, 1.6, 260))
    predicted = model.predict(np.column_stack([x1.ravel(), x2.ravel()])).reshape(x1.shape)
    ax.contourf(x1, x2, predicted, levels=[-2, 0, 2], colors=[ORANGE, BLUE], alpha=0.16)
    if predicted.min() < predicted.max():
        ax.contour(x1, x2, predicted, levels=[0.0], colors="black", linewidths=0.8)


def _draw_classifiers(title: str, known: bool) -> Any:
    figure, axes = _pair(title)
    for ax, data, number in zip(axes, _cases("clf"), "12", strict=True):
        parts = parts_of(data, origin(data), SPLIT)
        n = TRUE[data]
        model = own_search(parts, data, SPLIT, n, POINTS[data][:n] if known else None).model
        _regions(ax, model)
        _scatter(ax, parts.X[0], parts.y[0])
        for locality in model.localities_:
            ax.add_patch(
                Circle(locality.center, locality.radius, fill=False, color="black", linewidth=1.4)
            )
        _stars(ax, [locality.center for locality in model.localities_])
        ax.set_title(
            f"Case {number}: training {model.score(parts.X[0], parts.y[0]):.1%}, test"
            f" {model.score(parts.X[2], parts.y[2]):.1%}"
        )
    _legend(figure, axes)
    return figure


def figure5(store: Store) -> Any:
    return _draw_classifiers(
        "Figure 5: mixtures of local linear classifiers, known points", known=True
    )


def figure6(store: Store) -> Any:
    figure, axes = _pair(
        "Figure 6: influence of the number of known points, Case 1 (means over the splits)"
    )
    sizes = list(range(1, len(POINTS["clf_case1"]) + 1))
    for who, color, label in (
        ("protocol", ORANGE, "paper's protocol"),
        ("motlm", BLUE, "motlm's search"),
    ):
        found = {n: store.of("clf_case1", origin("clf_case1"), f"{who} known {n}") for n in sizes}
        have = [n for n in sizes if found[n]]
        if not have:
            continue
        common = set.intersection(*({one.split for one in found[n]} for n in have))
        found = {n: [one for one in found[n] if one.split in common] for n in have}
        named = f"{label}, {len(common)} split{'s' * (len(common) != 1)}"
        for part, style in (("train", "--"), ("test", "-")):
            means = [100 * np.mean([getattr(one, part) for one in found[n]]) for n in have]
            text = f"{named}: {'training' if part == 'train' else 'test'}"
            axes[0].plot(
                have, means, style, marker="o" if who == "motlm" else "s", color=color, label=text
            )
        cores = [np.mean([one.core for one in found[n]]) for n in have]
        axes[1].plot(have, cores, "-", marker="o" if who == "motlm" else "s", color=color)
    axes[0].set(xlabel="$n$", ylabel="accuracy (%)", xticks=sizes)
    axes[1].set(xlabel="$n$", ylabel="core component", xticks=sizes)
    _legend(figure, axes)
    return figure


def figure7(store: Store) -> Any:
    figure, axes = _pair(
        f"Figure 7: synthetic regression sets{_whose('reg')} and their points of interest"
    )
    for ax, data, number in zip(axes, _cases("reg"), "12", strict=True):
        X, y = rows_of_case(data, origin(data))
        ax.scatter(X[:, 0], y, s=6, color=BLUE, label="rows")
        _stars(ax, POINTS[data], float(y.min()))
        ax.set(xlabel="$x$", ylabel="$y$", title=f"Case {number}: {len(X)} rows")
    _legend(figure, axes)
    return figure


def _draw_regression(ax: Any, model: Any, X: np.ndarray, y: np.ndarray, points: Any = None) -> None:
    ax.scatter(X[:, 0], y, s=6, color=GRAY, alpha=0.6, label="training rows")
    line = np.linspace(X.min(), X.max(), 2000)[:, None]
    predicted, used = model.predict(line), model.apply(line)
    ends = np.flatnonzero(np.diff(used)) + 1
    for piece in np.split(np.arange(len(line)), ends):
        outside = used[piece[0]] == len(model.localities_) or used[piece[0]] < 0
        color, label = (ORANGE, "exterior model") if outside else (BLUE, "local models")
        ax.plot(line[piece, 0], predicted[piece], color=color, linewidth=2.2, label=label)
    low = min(float(y.min()), float(predicted.min()))
    step = 0.05 * (float(y.max()) - low)
    for k, locality in enumerate(model.localities_):
        left, right = locality.center[0] - locality.radius, locality.center[0] + locality.radius
        ax.plot(
            [left, right],
            [low - step * (1 + k % 2)] * 2,
            "|-",
            color="black",
            linewidth=1.2,
            label="localities",
        )
    _stars(
        ax,
        points if points is not None else [one.center for one in model.localities_],
        low - step * 3.2,
    )
    ax.set(xlabel="$x$", ylabel="$y$")


def _draw_regressors(title: str, known: bool) -> Any:
    figure, axes = _pair(title)
    for ax, data, number in zip(axes, _cases("reg"), "12", strict=True):
        parts = parts_of(data, origin(data), SPLIT)
        n = TRUE[data]
        model = own_search(parts, data, SPLIT, n, POINTS[data][:n] if known else None).model
        _draw_regression(ax, model, parts.X[0], parts.y[0])
        train, test = (model.score(parts.X[k], parts.y[k]) for k in (0, 2))
        ax.set_title(f"Case {number}: training R2 {train:.4f}, test {test:.4f}")
    _legend(figure, axes)
    return figure


def figure8(store: Store) -> Any:
    return _draw_regressors(
        "Figure 8: mixtures of local linear regressors, known points", known=True
    )


def figure9(store: Store) -> Any:
    return _draw_classifiers(
        "Figure 9: mixtures of local linear classifiers, learned points", known=False
    )


def figure10(store: Store) -> Any:
    return _draw_regressors(
        "Figure 10: mixtures of local linear regressors, learned points", known=False
    )


# d, distance, eps, k, tau: the paper does not print its nine settings; these lie inside, at and
# outside the edge of a ball, in 1, 5 and 30 dimensions
QMC_SETTINGS = [
    (d, distance, eps, shape, rate)
    for d, eps, shape, rate in ((1, 0.3, 5.0, 5.0), (5, 0.2, 20.0, 15.0), (30, 0.1, 50.0, 40.0))
    for distance in (0.5, 1.0, 1.6)
]


def sample_upsilon(
    d: int,
    distance: float,
    eps: float,
    shape: float,
    rate: float,
    size: int,
    repeats: int,
    quasi: bool,
    seed: int,
) -> np.ndarray:
    """Upsilon as the mean over `size` radii, random or from scrambled Halton points; one value for
    each repeat.
    """
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(repeats):
        levels = qmc.Halton(1, rng=rng).random(size)[:, 0] if quasi else rng.uniform(size=size)
        radii = gamma.ppf(levels, shape, scale=1 / rate)
        found.append(ncx2.cdf((radii / eps) ** 2, d, (distance / eps) ** 2).mean())
    return np.array(found)


def figure11(store: Store, repeats: int = 500) -> Any:
    figure, axes = plt.subplots(3, 3, figsize=(11, 8), layout="constrained", sharex=True)
    figure.suptitle(
        f"Figure 11: Upsilon by sampling radii; mean and two standard deviations over {repeats}"
        " repeats"
    )
    sizes = np.arange(10, 101, 10)
    for ax, (d, distance, eps, shape, rate) in zip(axes.ravel(), QMC_SETTINGS, strict=True):
        for quasi, color, shift, label in (
            (False, ORANGE, -1.0, "random radii"),
            (True, BLUE, 1.0, "quasi-random radii (Halton)"),
        ):
            values = [
                sample_upsilon(d, distance, eps, shape, rate, size, repeats, quasi, size)
                for size in sizes
            ]
            ax.errorbar(
                sizes + shift,
                [one.mean() for one in values],
                [2 * one.std() for one in values],
                fmt="o",
                markersize=3,
                color=color,
                capsize=2,
                linewidth=1,
                label=label,
            )
        exact = float(upsilon(np.array([distance]), d, eps, shape, rate)[0])
        ax.axhline(exact, color="black", linewidth=1, label="motlm.membership.upsilon (exact)")
        ax.set_title(
            f"d={d}, distance={distance}, eps={eps}, k={shape:g}, tau={rate:g}", fontsize=9
        )
    for ax in axes[-1]:
        ax.set_xlabel("radii")
    _legend(figure, axes)
    return figure


FIGURES: dict[str, Callable[[Store], Any]] = {
    one.__name__: one
    for one in (
        figure1,
        figure2,
        figure3,
        figure4,
        figure5,
        figure6,
        figure7,
        figure8,
        figure9,
        figure10,
        figure11,
    )
}


def draw(name: str, store: Store, folder: Path) -> Path:
    plt.switch_backend("Agg")
    figure = FIGURES[name](store)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.png"
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)
    return path
