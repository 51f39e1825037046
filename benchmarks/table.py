"""Measured figures next to their targets: one row for each figure, kept in a JSON file so that a
run can be resumed.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn


class Table:
    """Figures by name. With `resume`, figures in the file are not measured again."""

    def __init__(self, path: Path | None, resume: bool) -> None:
        self.path, self.shown = path, []
        self.known: dict[str, Any] = {}
        if path is not None and resume and path.exists():
            self.known = json.loads(path.read_text())["figures"]
        self.figures = dict(self.known)

    def measure(self, name: str, function: Callable[[], Any]) -> Any:
        """A figure or a list of figures without a target, from which the rows are computed."""
        if name not in self.known:
            self.figures[name] = function()
            self.known[name] = self.figures[name]
            self._write()
        return self.known[name]

    def row(self, name: str, value: float, target: str | None = None, digits: str = ".3g") -> None:
        """Print one line; the target has the form '<= 6' or '>= 0.9'."""
        met = ""
        if target is not None:
            relation, limit = target.split()
            met = (
                "yes"
                if (value <= float(limit) if relation == "<=" else value >= float(limit))
                else "NO"
            )
        self.shown.append({"name": name, "value": value, "target": target, "met": met})
        print(f"{name:<62} {value:>10{digits}}  {target or '':>10}  {met}", flush=True)
        self._write()

    def _write(self) -> None:
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        document = {"machine": machine(), "rows": self.shown, "figures": self.figures}
        self.path.write_text(json.dumps(document, indent=1) + "\n")


def machine() -> dict[str, str]:
    model = platform.processor() or platform.machine()
    cpu = Path("/proc/cpuinfo")
    if cpu.exists():
        model = next(
            (
                line.split(":")[1].strip()
                for line in cpu.read_text().splitlines()
                if line.startswith("model name")
            ),
            model,
        )
    return {
        "cpu": f"{model}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def shortest(function: Callable[[], object], repeats: int) -> float:
    """The shortest time of several runs, in seconds, since other load only adds time."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)
