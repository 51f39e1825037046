"""The time of `import motlm`, relative to a module of scikit-learn that users import anyway."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

from table import Table

REPEATS = 15


def processor_time(module: str) -> float:
    """Processor time in seconds of a process that imports a module; other work on the machine
    affects it less than wall-clock time.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ratio() -> float:
    """Median over pairs of consecutive runs."""
    return statistics.median(
        processor_time("motlm") / processor_time("sklearn.linear_model") for _ in range(REPEATS)
    )


def run(table: Table, quick: bool) -> None:
    table.row(
        "import motlm / import sklearn.linear_model", table.measure("imports", ratio), "<= 1.2"
    )
