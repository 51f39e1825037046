"""Small charts as numbers of an SVG picture, which the template writes: they need no script, and
are printed as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .._typing import AnyArray, Array
from ..tables import number

__all__ = ["COLORS", "Chart", "round_steps"]

# of lines, localities or labels, as in page.js
COLORS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"),
    *("#56b4e9", "#8c510a", "#5e3c99", "#7f7f7f", "#f0e442"),
)
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 420, 260, 56, 12, 10, 44


def round_steps(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers within two ends: multiples of 1, 2 or 5 times a power of ten."""
    if not high > low:
        return [low]
    rough = (high - low) / most
    unit = 10.0 ** np.floor(np.log10(rough))
    step = float(min(one * unit for one in (1, 2, 5, 10) if one * unit >= rough * (1 - 1e-9)))
    first = np.ceil(low / step - 1e-9)
    places = (first + np.arange(most + 2)) * step
    return [float(one) + 0.0 for one in places if one <= high + 1e-9 * step]


class Chart:
    """Points and lines in the units of two axes, to those of a picture."""

    def __init__(
        self, x: tuple[float, float], y: tuple[float, float], x_label: str, y_label: str, text: str
    ) -> None:
        self.x, self.y = _widen(x), _widen(y)
        right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
        self.across, self.down = (_LEFT, right), (bottom, _TOP)
        self.made: dict[str, Any] = {
            "size": (_WIDTH, _HEIGHT),
            "box": (_LEFT, _TOP, right - _LEFT, bottom - _TOP),
            "x_label": x_label,
            "y_label": y_label,
            "text": text,
            "lines": [],
            "bands": [],
            "dots": [],
            "x_ticks": self._ticks(round_steps(*self.x), 0),
            "y_ticks": self._ticks(round_steps(*self.y), 1),
        }

    def _place(self, values: Any, axis: int) -> Array:
        (low, high), (start, end) = ((self.x, self.across), (self.y, self.down))[axis]
        share = np.clip((np.asarray(values, dtype=float) - low) / (high - low), -1.0, 2.0)
        return np.asarray(start + share * (end - start))

    def _ticks(self, values: Iterable[float], axis: int) -> list[tuple[float, str]]:
        return [(round(float(self._place(one, axis)), 1), number(one, 4)) for one in values]

    def _path(self, x: AnyArray | Sequence[float], y: AnyArray | Sequence[float]) -> str:
        pairs = zip(self._place(x, 0), self._place(y, 1), strict=True)
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in pairs)

    def name_x(self, places: Sequence[float], names: Sequence[str]) -> None:
        """Ticks of one's own along the lower axis."""
        where = [round(float(self._place(one, 0)), 1) for one in places]
        self.made["x_ticks"] = list(zip(where, names, strict=True))

    def line(self, x: Any, y: Any, color: str = "var(--ink)", kind: str = "own") -> None:
        self.made["lines"].append({"path": self._path(x, y), "color": color, "kind": kind})

    def band(self, x: AnyArray, low: AnyArray, high: AnyArray, color: str) -> None:
        path = self._path(np.r_[x, x[::-1]], np.r_[high, low[::-1]])
        self.made["bands"].append({"path": path, "color": color})

    def dots(
        self,
        x: AnyArray,
        y: AnyArray,
        color: str,
        radius: float = 4.0,
        hollow: bool = False,
        texts: Sequence[str] = (),
    ) -> None:
        told = list(texts) or [""] * len(x)
        for a, b, text in zip(self._place(x, 0), self._place(y, 1), told, strict=True):
            at = (round(float(a), 1), round(float(b), 1))
            self.made["dots"].append(
                {"at": at, "color": color, "radius": radius, "hollow": hollow, "text": text}
            )


def _widen(ends: tuple[float, float]) -> tuple[float, float]:
    low, high = float(ends[0]), float(ends[1])
    if high > low:
        return low, high
    margin = 0.5 * abs(low) or 0.5
    return low - margin, high + margin
