"""The engine made ready before a fit's clock starts: compiled, or loaded from where its code is
kept.
"""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from multiprocessing import parent_process
from pathlib import Path

import numpy as np
from joblib import cpu_count

from .geometry import (
    Geometry,
    GivenCenters,
    LearnedBalls,
    LearnedLocalities,
    RowLocalities,
    radii,
)
from .losses import Loss
from .objective import Objective, solve_models
from .optimize import lbfgs
from .posterior import MODEL_FIELDS, Posterior, Prior
from .rows import Rows
from .starts import one_model, place_at_rows, promising_balls, with_ball
from .strengths import weakest

__all__ = ["announce", "warm_up"]

_ANNOUNCED: ContextVar[bool] = ContextVar("announced", default=False)
_READY: set[str] = set()  # what this process has compiled or loaded
_ROWS, _MANY, _BLOCK = 40, 800, 128
_PATIENCE = 60.0  # seconds that the other process may take longer


def warm_up(objective: Objective, show: bool) -> None:
    """Run the engine once on a few rows, on a problem of the same kind.

    The first time after an installation it is compiled, which takes half a minute or so; a line on
    stderr says so where somebody may be waiting: with `show`, inside `announce`, or in a terminal
    or a notebook.

    Parameters
    ----------
    objective : Objective
        Of the fit to come.
    show : bool

    Examples
    --------
    >>> from motlm import Prior
    >>> from motlm.datasets import make_clf_case1
    >>> from motlm.geometry import LearnedBalls
    >>> from motlm.losses import ZeroOne
    >>> from motlm.objective import Objective
    >>> from motlm.rows import Rows
    >>> from motlm.warmup import warm_up
    >>> X, y = make_clf_case1(200, random_state=0)
    >>> objective = Objective(ZeroOne(), LearnedBalls(), Prior(), Rows.of(X, y), 4.0)
    >>> warm_up(objective, show=False)
    """
    geometry, loss, many = objective.geometry, objective.loss, objective.many
    released = geometry.release()
    if released is not None:  # by which the search finds its way
        warm_up(replace(objective, geometry=released), show)
    laid = geometry.layout(1, 1) is not None
    dtype = objective.rows.features.dtype.name
    kind = _Kind(loss, geometry.learned, geometry.sought, laid, many, dtype)
    if kind.name in _READY:
        return
    mark = _mark(kind.name)
    anew = mark is None or not mark.exists()
    if anew and (show or _interactive()):
        print(
            "[motlm] compiling the search, once after an installation; this takes half a minute"
            " or so",
            file=sys.stderr,
            flush=True,
        )
    _make_ready(kind, helped=anew and mark is not None)
    if mark is not None:
        mark.touch()
    _READY.add(kind.name)


def _mark(name: str) -> Path | None:
    """A file that says that code for this kind of problem is kept."""
    from ._engine.compile import cache_folder

    folder = cache_folder()
    return None if folder is None else folder / name


def _interactive() -> bool:
    return _ANNOUNCED.get() or sys.stderr.isatty() or "ipykernel" in sys.modules


@contextmanager
def announce() -> Iterator[None]:
    """Around fits of a command: a line on stderr says where the search is compiled, also where
    stderr is piped.
    """
    before = _ANNOUNCED.set(True)
    try:
        yield
    finally:
        _ANNOUNCED.reset(before)


@dataclass(frozen=True)
class _Kind:
    """What decides which of the engine's functions a fit calls, and with which types."""

    loss: Loss
    learned: bool
    sought: bool
    laid: bool
    many: bool
    dtype: str

    @property
    def name(self) -> str:
        """Of the file that says that code for this kind is kept."""
        about = (self.learned, self.sought, self.laid, self.loss.closed_form, self.many, self.dtype)
        return "-".join(["ready", *map(str, about)])


class _Trial:
    """A problem of this kind, with rows in which there is next to nothing to find."""

    def __init__(self, kind: _Kind) -> None:
        self.rng = np.random.default_rng(0)
        m = _MANY if kind.many else _ROWS
        X, y = self.rng.normal(size=(m, 1)), np.sign(self.rng.normal(size=m))
        if kind.loss.scores:
            y = np.maximum(y, 0.0)  # indices of classes
        self.geometry: Geometry = GivenCenters(points=np.zeros((1, 1)))
        if kind.learned:
            self.geometry = LearnedLocalities(most=1) if kind.laid else LearnedBalls()
        elif kind.sought:
            self.geometry = RowLocalities(most=1)
        rows = Rows.of(X, y, None, None if kind.learned else np.abs(X)).astype(kind.dtype)
        prior = Prior().expand(1, 1, kind.loss.scores)
        block = _BLOCK if kind.many else _MANY
        self.objective = Objective(kind.loss, self.geometry, prior, rows, 1.0, block=block)
        self.empty = Objective(kind.loss, self.geometry, prior.keep([]), rows, 1.0)
        self.free = [*MODEL_FIELDS, *self.geometry.free]

    def search(self) -> Posterior:
        """The descent, whose code is half of all; nothing else is called before it."""
        placed, _ = self.geometry.place(self.objective.rows, 1, self.rng)
        models, one = (2, *self.objective.loss.scores), np.ones(1)
        begin = Posterior(
            **placed,
            radius_shape=one,
            radius_rate=one,
            coef=np.zeros((*models, 1)),
            coef_scale=np.ones(2),
            intercept=np.zeros(models),
            intercept_scale=np.ones(2),
        )
        return lbfgs(self.objective, begin, self.free, max_iter=2).posterior

    def others(self) -> None:
        """What else a search calls."""
        if not self.geometry.sought:
            found = place_at_rows(self.objective, 1, False, self.rng)
        else:
            none = one_model(self.objective, False)
            [ball, *_] = promising_balls(self.objective, none, 2, self.rng)
            found = with_ball(none, ball, False)
        if self.objective.has_closed_form:
            found = solve_models(self.objective, found)
        radii(self.geometry, found)
        weakest(self.objective, found)

    def without(self) -> None:
        """The search for one model alone."""
        if self.geometry.sought:
            none = one_model(self.objective, False)
            lbfgs(self.empty, none, self.free[:4], max_iter=2)


def _make_ready(kind: _Kind, helped: bool) -> None:
    """Run all that a search calls; where it is to be compiled, another process takes a part."""
    with _no_collection(), _help(kind) if helped else nullcontext():
        trial = _Trial(kind)
        trial.search()
    trial.others()
    trial.without()


@contextmanager
def _help(kind: _Kind) -> Iterator[None]:
    """Meanwhile another process compiles what is not of the descent, and keeps it. If it cannot,
    nothing is lost: it is compiled here.
    """
    helper = None
    interpreter = Path(sys.executable or "").name.lower().startswith("python")  # not an application
    if interpreter and parent_process() is None and cpu_count() > 1:
        with suppress(OSError):
            helper = subprocess.Popen(
                [sys.executable, "-c", f"from {__name__} import assist; assist()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
    try:
        if helper is not None and helper.stdin is not None:
            with suppress(OSError), helper.stdin as stream:
                stream.write(pickle.dumps(kind))
        yield
        if helper is not None:
            with suppress(subprocess.TimeoutExpired):
                helper.wait(_PATIENCE)
    finally:
        if helper is not None and helper.poll() is None:
            helper.kill()
            helper.wait()


def assist() -> None:
    """What the process of `_help` does."""
    trial = _Trial(pickle.load(sys.stdin.buffer))
    with _no_collection():
        trial.others()


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without the search for garbage, a tenth of the time that compiling takes."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
