"""Runs the cases of all kinds on several processes, for a time or up to counts."""

from __future__ import annotations

import multiprocessing
import signal
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .trials import Finding, Kind, Result, case_name, reduce, try_case

__all__ = ["Account", "Attack", "run_here"]

_REDUCED = 5  # findings with the same cause that are reduced and kept


@dataclass
class Account:
    """What was tried of a kind, and what came of it."""

    outcomes: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    causes: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    seconds: float = 0.0  # of the processes

    @property
    def tried(self) -> int:
        return self.outcomes.total()

    def add(self, result: Result) -> None:
        self.outcomes[result.outcome] += 1
        if result.finding is not None:
            self.causes[result.finding.signature] += 1
            if self.causes[result.finding.signature] <= _REDUCED:
                self.findings.append(result.finding)

    def to_dict(self) -> dict[str, Any]:
        first = {one.signature: one for one in reversed(self.findings)}
        return {
            "tried": self.tried,
            "outcomes": dict(self.outcomes.most_common()),
            "seconds": round(self.seconds, 1),
            "findings": [
                {**one.to_dict(), "count": self.causes[signature]}
                for signature, one in first.items()
            ],
        }


def run_case(kind: Kind, name: str, folder: Path) -> Result:
    """A case, reduced where it is a finding."""
    result = try_case(kind, name, folder)
    if result.finding is None:
        return result
    return Result(result.outcome, reduce(kind, result.finding, folder))


def run_here(kind: Kind, seed: int, number: int) -> Account:
    """So many cases in this process."""
    kind.prepare()
    account = Account()
    with TemporaryDirectory(prefix="attack-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(number):
            account.add(run_case(kind, case_name(seed, kind.name, i), Path(folder)))
    return account


# -- processes -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chunk:
    """Cases of one kind that a process takes at once."""

    kind: int
    first: int
    length: int


class Worker:
    """A process that takes chunks, and says which case it is at."""

    def __init__(self, kinds: list[Kind], seed: int, end: float) -> None:
        context = multiprocessing.get_context("fork")
        self.pipe, there = context.Pipe()
        self.at = context.Value("q", -1)  # number of the case
        self.since = context.Value("d", 0.0)
        self.chunk: Chunk | None = None
        arguments = (kinds, seed, end, there, self.at, self.since)
        self.process = context.Process(target=_work, args=arguments, daemon=False)
        self.process.start()
        there.close()

    def give(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.since.value = time.monotonic()
        self.pipe.send(chunk)

    def stop(self) -> None:
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.pipe.close()


def _work(kinds: list[Kind], seed: int, end: float, pipe: Connection, at: Any, since: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent stops this process
    warnings.simplefilter("ignore")
    seen: Counter[tuple[str, str, str]] = Counter()
    with TemporaryDirectory(prefix="attack-") as folder:
        while (chunk := pipe.recv()) is not None:
            kind, results, began = kinds[chunk.kind], [], time.monotonic()
            for i in range(chunk.first, chunk.first + chunk.length):
                at.value, since.value = i, time.monotonic()
                result = try_case(kind, case_name(seed, kind.name, i), Path(folder))
                if result.finding is not None:
                    seen[result.finding.signature] += 1
                    if seen[result.finding.signature] == 1:
                        since.value = time.monotonic() + 60  # a reduction takes longer
                        finding = reduce(kind, result.finding, Path(folder))
                        result = Result(result.outcome, finding)
                results.append(result)
                if time.monotonic() > end:
                    break
            pipe.send((results, time.monotonic() - began))


@dataclass
class Attack:
    """A whole run: so many cases of each kind, or as many as there is time for."""

    kinds: list[Kind]
    counts: Mapping[str, int]  # the proportions, if the time decides
    seed: int
    jobs: int
    end: float  # time.monotonic
    endless: bool = False  # whether to go on beyond the counts
    say: Callable[[str], None] = print
    accounts: dict[str, Account] = field(default_factory=dict)

    def run(self) -> None:
        """Until all is tried, the time is over, or Ctrl-C."""
        self.accounts = {kind.name: Account() for kind in self.kinds}
        chunks, workers = self._chunks(), []
        try:
            workers = [Worker(self.kinds, self.seed, self.end) for _ in range(self.jobs)]
            self._loop(chunks, workers)
        finally:
            for worker in workers:
                worker.stop()

    def _chunks(self) -> Any:
        """All chunks, of all kinds in turn, so that a run that is stopped has some of each."""
        order = []
        for number, kind in enumerate(self.kinds):
            total, first = self.counts[kind.name], 0
            if not total:
                continue
            for first in count(0, kind.chunk):
                if first >= total and not self.endless:
                    break
                if first / total > 100:
                    break
                length = kind.chunk if self.endless else min(kind.chunk, total - first)
                order.append((first / total, number, Chunk(number, first, length)))
        return iter([chunk for _, _, chunk in sorted(order, key=lambda one: one[:2])])

    def _loop(self, chunks: Any, workers: list[Worker]) -> None:
        busy = [worker for worker in workers if self._feed(worker, chunks)]
        last = time.monotonic()
        while busy:
            ready = wait([worker.pipe for worker in busy], timeout=1.0)
            for i, worker in enumerate(busy):
                if worker.pipe in ready:
                    busy[i] = self._take(worker, workers)
                elif self._hangs(worker):
                    busy[i] = self._replace(worker, workers, "hangs")
            busy = [
                worker for worker in busy if worker.chunk is not None or self._feed(worker, chunks)
            ]
            if time.monotonic() - last > 30:
                last = time.monotonic()
                self.say(self.progress())

    def _feed(self, worker: Worker, chunks: Any) -> bool:
        chunk = next(chunks, None) if time.monotonic() < self.end else None
        if chunk is not None:
            worker.give(chunk)
        return chunk is not None

    def _take(self, worker: Worker, workers: list[Worker]) -> Worker:
        """The results of a worker, or a new one in its place if it died."""
        try:
            results, seconds = worker.pipe.recv()
        except (EOFError, OSError):
            return self._replace(worker, workers, "ended its process")
        assert worker.chunk is not None
        account = self.accounts[self.kinds[worker.chunk.kind].name]
        account.seconds += seconds
        for result in results:
            before = len(account.findings)
            account.add(result)
            new = account.findings[before:]
            if new and account.causes[new[0].signature] == 1:
                self.say(str(new[0]))
        worker.chunk = None
        return worker

    def _hangs(self, worker: Worker) -> bool:
        assert worker.chunk is not None
        patience = self.kinds[worker.chunk.kind].patience
        return bool(time.monotonic() - worker.since.value > patience)

    def _replace(self, worker: Worker, workers: list[Worker], what: str) -> Worker:
        """Another process instead of one that died or hangs, of which the case is a finding."""
        assert worker.chunk is not None
        kind = self.kinds[worker.chunk.kind]
        name = case_name(self.seed, kind.name, worker.at.value)
        worker.stop()
        finding = Finding(kind.name, name, (), f"exit code {worker.process.exitcode}", what, "?")
        self.accounts[kind.name].add(Result("finding", finding))
        self.say(str(finding))
        new = Worker(self.kinds, self.seed, self.end)
        workers[workers.index(worker)] = new
        return new

    def progress(self) -> str:
        parts = []
        for name, account in self.accounts.items():
            found = f" ({account.outcomes['finding']} findings)" if account.causes else ""
            parts.append(f"{name} {account.tried}{found}")
        return ", ".join(parts)
