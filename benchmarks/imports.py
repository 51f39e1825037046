"""The time of importing motlm and its estimators, relative to a module of scikit-learn that users
import anyway.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

from table import Table


def processor_time(statement: str) -> float:
    """Processor time in seconds of a process that runs a statement; other work on the machine
    affects it less than wall-clock time.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", statement], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ratio(statement: str, repeats: int) -> float:
    """Median over pairs of consecutive runs."""
    return statistics.median(
        processor_time(statement) / processor_time("import sklearn.linear_model")
        for _ in range(repeats)
    )


STATEMENTS = {  # names of the package are imported when they are first used
    "import motlm / import sklearn.linear_model": "import motlm",
    "  with the classifier": "from motlm import LocalMixtureClassifier",
}


def run(table: Table, quick: bool) -> None:
    repeats = 3 if quick else 15
    for label, statement in STATEMENTS.items():
        value = table.measure(statement, lambda statement=statement: ratio(statement, repeats))
        table.row(label, value, "<= 1.2")
