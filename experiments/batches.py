"""Runs independent tasks, each of which gives some records, on several processes, with progress and
remaining time.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from motlm.datasets import data_folder

from .store import Lines

Work = Callable[[Any], list[Any]]


def _attempt(work: Work, task: Any, folder: Path) -> tuple[Any, list[Any], str]:
    os.environ["MOTLM_DATA"] = str(
        folder
    )  # a worker process may have been started before the caller set it
    try:
        return task, work(task), ""
    # a failed task must not stop the others; it is reported and repeated in the next run
    except Exception as error:
        return task, [], f"{type(error).__name__}: {error}"


def run_all(store: Lines[Any], tasks: Sequence[Any], work: Work, jobs: int) -> int:
    """Run the tasks and store their records as they arrive; return the number of failures."""
    began, failed, folder = time.time(), 0, data_folder()
    if jobs == 1:
        attempts: Any = (_attempt(work, task, folder) for task in tasks)
    else:
        attempts = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch=jobs)(
            delayed(_attempt)(work, task, folder) for task in tasks
        )
    for done, (task, records, error) in enumerate(attempts, start=1):
        if error:
            failed += 1
            print(f"{task} failed: {error}", file=sys.stderr, flush=True)
            continue
        store.add(*records)
        spent = time.time() - began
        left = spent / done * (len(tasks) - done) / 60
        print(
            f"[{done}/{len(tasks)}] {spent:5.0f} s, about {left:.0f} min left; {task}",
            file=sys.stderr,
            flush=True,
        )
    return failed
