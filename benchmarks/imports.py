"""How long `import motlm` takes, against the module of scikit-learn that its users have loaded
anyway.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

from table import Table

REPEATS = 15


def processor_time(module: str) -> float:
    """Seconds of processor time of a process that imports a module; other work on the machine
    counts less than on the clock.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ratio() -> float:
    """Median over pairs of runs, side by side."""
    return statistics.median(
        processor_time("motlm") / processor_time("sklearn.linear_model") for _ in range(REPEATS)
    )


def run(table: Table, quick: bool) -> None:
    table.row(
        "import motlm / import sklearn.linear_model", table.measure("imports", ratio), "<= 1.2"
    )
