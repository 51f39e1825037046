"""The engine made ready before a fit's clock starts: compiled, or loaded from where its code is
kept.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path

import numpy as np

from .geometry import (
    Geometry,
    GivenCenters,
    LearnedBalls,
    LearnedLocalities,
    RowLocalities,
    radii,
)
from .losses import Loss
from .objective import Objective
from .optimize import lbfgs
from .posterior import MODEL_FIELDS, Prior
from .rows import Rows
from .starts import one_model, place_at_rows, promising_balls, with_ball
from .strengths import weakest

__all__ = ["announce", "warm_up"]

_ANNOUNCED: ContextVar[bool] = ContextVar("announced", default=False)
_READY: set[tuple[object, ...]] = set()  # what this process has compiled or loaded
_ROWS, _MANY, _BLOCK = 40, 800, 128


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
    kind = (geometry.learned, geometry.sought, laid, loss.closed_form, many, dtype)
    if kind in _READY:
        return
    mark = _mark(kind)
    if (mark is None or not mark.exists()) and (show or _interactive()):
        print(
            "[motlm] compiling the search, once after an installation; this takes half a minute"
            " or so",
            file=sys.stderr,
            flush=True,
        )
    _run(geometry, loss, many, objective.rows.features.dtype)
    if mark is not None:
        mark.touch()
    _READY.add(kind)


def _mark(kind: tuple[object, ...]) -> Path | None:
    """A file that says that code for this kind of problem is kept."""
    from ._engine.compile import cache_folder

    folder = cache_folder()
    return None if folder is None else folder / "-".join(["ready", *map(str, kind)])


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


def _run(geometry: Geometry, loss: Loss, many: bool, dtype: object) -> None:
    """All that a search does, on rows in which there is next to nothing to find."""
    rng = np.random.default_rng(0)
    m = _MANY if many else _ROWS
    X, y = rng.normal(size=(m, 1)), np.sign(rng.normal(size=m))
    if loss.scores:
        y = np.maximum(y, 0.0)  # indices of classes
    points = np.zeros((1, 1))
    laid = geometry.layout(1, 1) is not None
    alike: Geometry = GivenCenters(points=points)
    if geometry.learned:
        alike = LearnedLocalities(most=1) if laid else LearnedBalls()
    elif geometry.sought:
        alike = RowLocalities(most=1)
    distance = None if geometry.learned else np.abs(X)
    rows = Rows.of(X, y, None, distance).astype(dtype)
    prior = Prior().expand(1, 1, loss.scores)
    objective = Objective(loss, alike, prior, rows, 1.0, block=_BLOCK if many else _MANY)
    free = [*MODEL_FIELDS, *alike.free]
    if laid and geometry.sought:
        fewer = one_model(objective, False)
        [ball, *_] = promising_balls(objective, fewer, 2, rng)
        begin = with_ball(fewer, ball, False)
    else:
        begin = place_at_rows(objective, 1, False, rng)
    found = lbfgs(objective, begin, free, max_iter=2)
    radii(alike, found.posterior)
    weakest(objective, found.posterior)
    if geometry.sought:
        none = one_model(objective, False)
        lbfgs(Objective(loss, alike, prior.keep([]), rows, 1.0), none, free[:4], max_iter=2)
        promising_balls(objective, none, 2, rng)
