"""What the drawings share: colors that the color-blind can distinguish and that differ in gray,
markers, axes.
"""

from __future__ import annotations

from typing import Any

from ..errors import InputError, MissingPackageError

__all__ = [
    "COLORS",
    "COLUMNS",
    "LABEL_COLORS",
    "LABEL_MARKERS",
    "MARKERS",
    "axes",
    "label_colors",
    "label_markers",
    "legend_outside",
    "model_names",
    "panels",
    "pyplot",
    "short",
]

# Okabe and Ito's palette, ordered so that neighbors differ in lightness too; black is the
# exterior's.
COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "d")
LABEL_COLORS = ("#0072b2", "#d55e00")
LABEL_MARKERS = ("o", "^")
_MORE_COLORS = ("#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442")
_MORE_MARKERS = ("s", "D", "v", "P", "X", "<", ">", "p", "h", "d")
COLUMNS = 3  # of panels
_SHADES = (0.0, -0.4, 0.5)  # of colors that are used again: towards black, and towards white


def pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingPackageError("plotting needs matplotlib: pip install 'motlm[plot]'") from error
    return plt


def axes(ax: Any, figsize: tuple[float, float]) -> Any:
    """These axes, or new ones."""
    return pyplot().subplots(figsize=figsize, layout="constrained")[1] if ax is None else ax


def panels(
    ax: Any,
    count: int,
    size: tuple[float, float],
    *,
    what: tuple[str, str] = ("classes", "class"),
    share: str = "both",
) -> list[Any]:
    """Axes for so many panels side by side, which share theirs, or the y axis alone: these axes,
    new ones of a size each, or parts of the place of one.
    """
    many, one = what
    if ax is not None and not hasattr(ax, "plot"):  # an array or a list of axes
        given = list(getattr(ax, "flat", ax))
        if len(given) < count:
            raise InputError(f"ax has {len(given)} axes; {count} {many} need one each.")
        return given[:count]
    if count == 1:
        return [axes(ax, size)]
    across = min(count, COLUMNS)
    shape = (-(-count // across), across)
    if ax is None:
        whole = (size[0] * (0.45 + 0.35 * across), size[1] * shape[0])
        figure = pyplot().figure(figsize=whole, layout="constrained")
        grid = figure.add_gridspec(*shape)
    else:
        place = ax.get_subplotspec()
        if place is None:
            raise InputError(
                f"ax has no place in a grid of axes that {count} {many} could share.",
                f"Give an array of axes, one for each {one}, or axes of plt.subplots.",
            )
        ax.set_axis_off()
        figure, grid = ax.figure, place.subgridspec(*shape, wspace=0.08)
    made: list[Any] = []
    for k in range(count):
        other = made[0] if made else None
        along = {"sharex": other, "sharey": other} if share == "both" else {"sharey": other}
        made.append(figure.add_subplot(grid[k // across, k % across], **along))
        below = k + across >= count or share != "both"
        made[-1].tick_params(labelleft=k % across == 0, labelbottom=below)
    return made


def label_colors(count: int) -> list[Any]:
    """One color for each label."""
    from matplotlib.colors import to_rgb

    palette = (*LABEL_COLORS, *_MORE_COLORS)
    if count <= len(palette):
        return list(palette[:count])
    made: list[Any] = []
    for k in range(count):
        shade = _SHADES[k // len(palette) % len(_SHADES)]
        color = to_rgb(palette[k % len(palette)])
        end = 1.0 if shade > 0 else 0.0
        made.append(tuple(one + abs(shade) * (end - one) for one in color))
    return made


def label_markers(count: int) -> list[str]:
    """One marker for each label; those of one color differ."""
    every = (*LABEL_MARKERS, *_MORE_MARKERS)
    return [every[k % len(every)] for k in range(count)]


def model_names(n: int) -> list[str]:
    """Of the models of n localities and of the exterior, as mixtures name them."""
    return [*(f"locality {i}" for i in range(n)), "exterior"] if n else ["the model"]


def legend_outside(ax: Any, **options: Any) -> None:
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, **options)


def short(name: str, length: int = 48) -> str:
    return name if len(name) <= length else name[: length - 1] + "…"
