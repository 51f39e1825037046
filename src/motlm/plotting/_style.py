"""What the drawings share: colors that the color-blind can distinguish and that differ in gray,
markers, axes.
"""

from __future__ import annotations

from typing import Any

from ..errors import MissingPackageError

__all__ = [
    "COLORS",
    "LABEL_COLORS",
    "LABEL_MARKERS",
    "MARKERS",
    "axes",
    "legend_outside",
    "model_names",
    "pyplot",
    "short",
]

# Okabe and Ito's palette, ordered so that neighbors differ in lightness too; black is the
# exterior's.
COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "d")
LABEL_COLORS = ("#0072b2", "#d55e00")
LABEL_MARKERS = ("o", "^")


def pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingPackageError("plotting needs matplotlib: pip install 'motlm[plot]'") from error
    return plt


def axes(ax: Any, figsize: tuple[float, float]) -> Any:
    """These axes, or new ones."""
    return pyplot().subplots(figsize=figsize, layout="constrained")[1] if ax is None else ax


def model_names(n: int) -> list[str]:
    """Of the models of n localities and of the exterior, as mixtures name them."""
    return [*(f"locality {i}" for i in range(n)), "exterior"]


def legend_outside(ax: Any, **options: Any) -> None:
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, **options)


def short(name: str, length: int = 48) -> str:
    return name if len(name) <= length else name[: length - 1] + "…"
