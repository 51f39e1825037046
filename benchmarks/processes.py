"""Processes that fit on request (see worker.py), and the memory that they take."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

from environments import Side

SCRIPT = Path(__file__).with_name("worker.py")
WARM_UP = 200  # rows of the untimed fit before the first timed one
EVERY = 0.1  # seconds between two looks at the memory

Job = dict[str, Any]
Answer = dict[str, Any]


class Worker:
    """One process for many fits, begun with the first. Before the first fit of each job the same is
    fitted to a few rows, untimed, so that compilation and the start of other processes are not
    counted.
    """

    def __init__(self, side: Side, **variables: str) -> None:
        self.side, self.variables = side, variables
        self.process: subprocess.Popen[str] | None = None
        self.warm: set[str] = set()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *reason: object) -> None:
        if self.process is None:
            return
        process, self.process = self.process, None
        with suppress(BrokenPipeError):  # it has ended before it was told to
            process.stdin.close()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    def begin(self) -> None:
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        self.process = subprocess.Popen(
            [str(self.side.python), "-P", str(SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=variables | self.variables,
        )
        found = Path(self.answer()["motlm"]).resolve()
        if not found.is_relative_to(self.side.folder.resolve()):
            raise SystemExit(
                f"the motlm that {self.side.python} imports is {found}, not that of"
                f" {self.side.folder}; install it with `pip install --editable .`."
            )

    def answer(self) -> Answer:
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(
                f"the process of {self.side.name} ended with status {self.process.wait()}."
            )
        found = json.loads(line)
        if "error" in found:
            raise SystemExit(f"a fit of {self.side.name} failed: {found['error']}")
        return found

    def ask(self, job: Job) -> Answer:
        with suppress(BrokenPipeError):  # it has ended: `answer` says so
            print(json.dumps(job), file=self.process.stdin, flush=True)
        return self.answer()

    def fit(self, job: Job) -> Answer:
        self.warm_up(job)
        return self.ask(job)

    def warm_up(self, job: Job) -> None:
        if self.process is None:
            self.begin()
        name = json.dumps(job)
        if name not in self.warm:
            self.ask(job | {"rows": WARM_UP, "parameters": job["parameters"] | job["warm_up"]})
            self.warm.add(name)


def fit_alone(side: Side, job: Job) -> Answer:
    """A fit in a process of its own, with its peak of memory in MiB: data, packages and the
    processes that it starts included.
    """
    with Worker(side) as worker:
        worker.warm_up(job)
        pid = worker.process.pid
        answer, peak = with_peak(lambda: resident(pid), lambda: worker.ask(job))
        return answer | {"MiB": max(peak, highest(pid))}


def with_peak(look: Callable[[], float], function: Callable[[], Answer]) -> tuple[Answer, float]:
    """What a function gives, and the highest of the values seen while it ran."""
    done, seen = Event(), [look()]

    def watch() -> None:
        while not done.wait(EVERY):
            seen.append(look())

    thread = Thread(target=watch, daemon=True)
    thread.start()
    try:
        return function(), max(seen)
    finally:
        done.set()
        thread.join()


def resident(pid: int) -> float:
    """MiB of a process and of those that it started; pages that they share are counted once."""
    whole = 0.0
    with suppress(OSError):  # it may end while it is looked at
        found = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)
        whole = int(found[1]) / 1024 if found else 0.0
        for task in Path(f"/proc/{pid}/task").iterdir():
            whole += sum(resident(int(child)) for child in (task / "children").read_text().split())
    return whole


def highest(pid: int) -> float:
    """The peak of one process in MiB by the system's own count."""
    with suppress(OSError):
        found = re.search(r"^VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.M)
        return int(found[1]) / 1024 if found else 0.0
    return 0.0


class Tables:
    """Files from which the processes read their tables, in a folder that is removed at the end."""

    def __init__(self, read: Callable[[str], tuple[Any, Any]]) -> None:
        self.read, self.folder = read, tempfile.TemporaryDirectory(prefix="motlm-tables-")
        self.regression: dict[str, bool] = {}

    def __enter__(self) -> Tables:
        return self

    def __exit__(self, *reason: object) -> None:
        self.folder.cleanup()

    def job(
        self, name: str, estimators: tuple[str, str], warm_up: dict[str, Any], **parameters: Any
    ) -> Job:
        """A fit of a classifier or a regressor, whichever the table's target asks for; `warm_up`
        has parameters that shorten the untimed fit.
        """
        path = Path(self.folder.name) / f"{name}.pickle"
        if name not in self.regression:
            X, y = self.read(name)
            self.regression[name] = y.dtype.kind == "f"
            path.write_bytes(pickle.dumps((X, y)))
        return {
            "data": str(path),
            "estimator": estimators[self.regression[name]],
            "parameters": parameters,
            "warm_up": warm_up,
        }
