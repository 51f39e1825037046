"""Computes the missing records on several processes, with progress and remaining time; an
interrupted run can be resumed.
"""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from joblib import Parallel, delayed

from motlm.datasets import data_folder

from .methods import compute, same_parts
from .store import Key, Record, Store

GUESS = {
    "protocol": 25.0,
    "motlm": 8.0,
    "LoE": 5.0,
    "EBM": 60.0,
}  # seconds, until a run of that kind has been measured


class Progress:
    """Prints the progress of a run and, from the times measured so far, the remaining time."""

    def __init__(self, store: Store, keys: list[Key], jobs: int, slow_limit: float) -> None:
        self.jobs, self.began, self.failed = jobs, time.time(), 0
        self.slow_limit = slow_limit  # seconds
        self.left = dict.fromkeys(keys)
        self.total = len(keys)
        self.seen: dict[tuple[str, ...], tuple[float, int]] = defaultdict(
            lambda: (0.0, 0)
        )  # total seconds, number of runs
        for record in store.records.values():
            self._learn(record)
        self.terminal = sys.stderr.isatty()

    def _learn(self, record: Record) -> None:
        for about in ((record.method, record.data), (record.method,)):
            seconds, count = self.seen[about]
            self.seen[about] = seconds + record.seconds, count + 1

    def _estimate_seconds(self, key: Key) -> float:
        for about in ((key.method, key.data), (key.method,)):
            seconds, count = self.seen[about]
            if count:
                return seconds / count
        who = key.method.split()[0]
        if who == "protocol":
            n = int(key.method.replace("=", " ").split()[-1])
            return GUESS[who] * n * n + 1.0  # 10 n restarts of n localities
        return GUESS.get(who, 1.0)

    def order(self, key: Key) -> tuple[int, int, float]:
        """The paper's protocol last and split by split, so that it covers whole splits when its
        time is over.
        """
        slow = key.method.startswith("protocol")
        return (
            (1, key.split, self._estimate_seconds(key))
            if slow
            else (0, 0, -self._estimate_seconds(key))
        )

    def advance(self, key: Key, record: Record | None, error: str) -> None:
        del self.left[key]
        if record is None:
            self.failed += 1
            self._print(f"{_name(key)} failed: {error}")
            self.close()
            return
        self._learn(record)
        quick, slow = (
            sum(
                self._estimate_seconds(one)
                for one in self.left
                if one.method.startswith("protocol") == kind
            )
            / self.jobs
            for kind in (False, True)
        )
        left = quick + min(slow, self.slow_limit)
        done = self.total - len(self.left)
        line = (
            f"[{done}/{self.total}] {time.time() - self.began:5.0f} s, about {_clock(left)} left;"
            f" {_name(key)}: {record.test:.4f}"
        )
        self._print(line)

    def _print(self, line: str) -> None:
        if self.terminal:
            print("\r\x1b[K" + line, end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        if self.terminal and self.total:
            print(file=sys.stderr, flush=True)


def _name(key: Key) -> str:
    return f"{key.data}, {key.method}, {key.preparation}, split {key.split}"


def _clock(seconds: float) -> str:
    minutes = round(seconds / 60)
    return (
        f"{minutes // 60} h {minutes % 60:02d} min"
        if minutes >= 60
        else f"{minutes} min"
        if minutes
        else f"{seconds:.0f} s"
    )


def _attempt(key: Key, folder: Path) -> tuple[Key, Record | None, str]:
    os.environ["MOTLM_DATA"] = str(
        folder
    )  # a worker process may have been started before the caller set it
    try:
        return key, compute(key), ""
    # a failed task must not stop the others; it is reported and repeated in the next run
    except Exception as error:
        return key, None, f"{type(error).__name__}: {error}"


def complete(store: Store, keys: list[Key], jobs: int, protocol_hours: float) -> int:
    """Compute the missing records and return the number of failures. The paper's protocol is
    limited to `protocol_hours`.

    If both preparations give the same rows, one record is used for both.
    """
    missing = [
        key
        for key in store.missing(keys)
        if protocol_hours > 0 or not key.method.startswith("protocol")
    ]
    twins = {
        key: replace(key, preparation="paper")
        for key in missing
        if key.preparation == "sound" and same_parts(key)
    }
    wanted = set(keys)
    missing = [key for key in missing if twins.get(key) not in wanted]
    progress = Progress(store, missing, jobs, 3600 * protocol_hours)
    missing.sort(key=progress.order)
    began: list[float] = []
    folder = data_folder()

    def in_time() -> Iterator[Key]:
        for key in missing:
            if key.method.startswith("protocol"):
                began[:] = began or [time.time()]
                if time.time() - began[0] > 3600 * protocol_hours:
                    return
            yield key

    if jobs == 1:
        attempts: Iterator[tuple[Key, Record | None, str]] = (
            _attempt(key, folder) for key in in_time()
        )
    else:
        attempts = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch=jobs)(
            delayed(_attempt)(key, folder) for key in in_time()
        )
    try:
        for key, record, error in attempts:
            if record is not None:
                store.add(record)
            progress.advance(key, record, error)
    finally:
        progress.close()
    for key, twin in twins.items():
        if key not in store.records and twin in store.records:
            store.add(replace(store.records[twin], preparation="sound"))
    if progress.left:
        print(
            f"{len(progress.left)} records of the paper's protocol left out: --protocol-hours"
            f" {protocol_hours:g} is over; the same command continues with them.",
            file=sys.stderr,
        )
    return progress.failed
