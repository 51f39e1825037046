"""Searches from many starts: on threads, in processes or on machines, on all rows or on some."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend
from threadpoolctl import threadpool_limits

from ._typing import Array
from .objective import Objective
from .optimize import Solution, Solver, lbfgs, solution_at, value_at
from .posterior import Posterior
from .reproduction import nadam
from .rows import Rows
from .watch import Deadline, Watch

__all__ = ["SHORT", "SOLVERS", "Runner"]

SHORT = 0.2  # cost of a short polish in a long one's, for the progress bar
# rows on which starts are compared; the rows come in random order. With 4096 the best localities of
# 130 000 policies, one in eight of which has a claim, are not found
_SCREENED_ROWS = 16384
# relative decrease at which a search along the way stops; tuned: within half a percent of the end,
# in 80 steps
_LOOSE = 1e-3

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")

SOLVERS: dict[str, Solver] = {"lbfgs": lbfgs, "nadam": nadam}


@dataclass(kw_only=True)
class Runner:
    """Runs searches over the rows of one problem. What it finds is the same for any n_jobs.

    Parameters
    ----------
    free : tuple of str
        Fields of the posterior that are searched.
    solver : "lbfgs" or "nadam"
    max_iter, tol, n_jobs
        As in the estimators.
    watch : Watch
    """

    free: tuple[str, ...]
    solver: str
    max_iter: int
    tol: float | None
    n_jobs: int | None
    watch: Watch
    # what was found, and on which rows
    _known: dict[tuple[int, int, float], tuple[Rows, Solution]] = field(default_factory=dict)
    _parts: dict[int, tuple[Rows, Rows]] = field(default_factory=dict)  # some of the rows, of each

    def polish(
        self,
        objective: Objective,
        begin: Sequence[Posterior],
        tol: float | None = _LOOSE,
        max_iter: int | None = None,
    ) -> list[Solution]:
        """Where each search ends, in the order of the starts. When time is over at least the first
        start comes back.
        """
        if self.tol is not None or self.solver != "lbfgs":
            tol = self.tol
        if tol == _LOOSE:
            objective = _coarse(objective)
        options = {"max_iter": self.max_iter if max_iter is None else max_iter, "tol": tol}
        step = 1.0 if max_iter is None else SHORT
        known = self._known.get((id(begin[0]), id(objective.rows), objective.inverse_temperature))
        if known is not None and self.watch.over():
            return [_reckon(objective, known[1])]
        solver, jobs = SOLVERS[self.solver], effective_n_jobs(self.n_jobs)
        if objective.many and self.solver == "lbfgs":  # the threads share the rows
            options["n_threads"], jobs = jobs, 1

        def search(start: Posterior) -> Solution:
            found = solver(objective, start, self.free, stop=self.watch.over, **options)
            self.watch.advance(step)
            return found

        found: list[Solution] = []
        if jobs == 1 or len(begin) == 1 or self.watch.over():
            for start in begin:
                if found and self.watch.over():
                    break
                found.append(search(start))
        elif shares_memory():
            found = self.in_threads(search, begin)
        else:
            found = self._elsewhere(objective, begin, options)
            self.watch.advance(len(begin) * step)
        for one in found:
            key = (id(one.posterior), id(objective.rows), one.inverse_temperature)
            self._known[key] = objective.rows, one  # both are held, and so are their identities
        return found

    def in_threads(
        self, function: Callable[[_Given], _Made], given: Sequence[_Given]
    ) -> list[_Made]:
        """What a function makes of each, in their order. It holds no lock of Python's for long."""
        jobs = min(effective_n_jobs(self.n_jobs), len(given))
        if jobs <= 1 or not shares_memory():
            return [function(one) for one in given]
        with ThreadPoolExecutor(jobs) as executor:
            return list(executor.map(function, given))

    def _elsewhere(
        self, objective: Objective, begin: Sequence[Posterior], options: dict[str, Any]
    ) -> list[Solution]:
        """Searches by the processes or machines that the user has told joblib of."""
        solver, already = SOLVERS[self.solver], self.watch.interrupted
        self.watch.raising = True
        try:
            tasks = (
                delayed(_run_solver)(
                    solver, objective, start, self.free, options, self.watch.deadline
                )
                for start in begin
            )
            found = list(Parallel(n_jobs=self.n_jobs)(tasks))
            self.watch.over()  # notes whether the others were stopped
        except KeyboardInterrupt:
            if already:
                raise
            self.watch.interrupted = True
            found = [solver(objective, begin[0], self.free, stop=self.watch.over, **options)]
        finally:
            self.watch.raising = False
        return found

    def reduce_rows(self, objective: Objective) -> Objective:
        """The objective on some of the rows, with the same lambda."""
        rows = objective.rows
        if len(rows) <= _SCREENED_ROWS:
            return objective
        if id(rows) not in self._parts:
            part = rows.part(slice(0, _SCREENED_ROWS)).astype(np.float64)
            self._parts[id(rows)] = rows, part
        _, part = self._parts[id(rows)]
        ratio = objective.total_weight / float(part.weight.sum())
        return replace(
            objective, rows=part, inverse_temperature=objective.inverse_temperature * ratio
        )

    def lowest(self, objective: Objective, begin: Sequence[Posterior]) -> list[Posterior]:
        """The starts by their objective, lowest first; when time is over, those that were looked
        at.
        """
        if len(begin) < 2 or self.watch.over():
            return list(begin[:1])
        value = value_at(_coarse(objective), begin[0], self.free, self.watch.over)
        values: Array = np.array(self.in_threads(value, begin))
        order = np.argsort(values, kind="stable")
        return [begin[i] for i in order if np.isfinite(values[i])] or list(begin[:1])


def _coarse(objective: Objective) -> Objective:
    """With memberships to six digits, which is enough along the way. Where rows are many the tables
    cost next to nothing.
    """
    return objective if objective.many else replace(objective, fine=False)


def _reckon(objective: Objective, found: Solution) -> Solution:
    """What was found along the way, with its exact objective."""
    if objective.many or not objective.fine:
        return found
    return solution_at(objective, found.posterior, found.n_iter, found.converged, found.message)


def shares_memory() -> bool:
    """Whether searches run on threads of this process: unless the user has told joblib of other
    processes or machines.
    """
    backend, _ = get_active_backend(prefer="threads")
    return bool(getattr(backend, "supports_sharedmem", False))


def _run_solver(
    solver: Callable[..., Solution],
    objective: Objective,
    start: Posterior,
    free: Sequence[str],
    options: dict[str, object],
    deadline: Deadline,
) -> Solution:
    """One search in another process."""
    with threadpool_limits(
        limits=1, user_api="blas"
    ):  # a block's products are small: more threads only wait for each other
        return solver(objective, start, free, stop=deadline.over, **options)
