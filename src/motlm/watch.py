"""Watching a long search: a progress bar, a time limit, and Ctrl-C, each of which leaves the best
model found so far.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from types import FrameType, TracebackType
from typing import Any

__all__ = ["Bar", "Deadline", "Watch"]

_WIDTH = 24  # of the bar, in characters
_MOST_KEPT = 0.8  # of the time
_PAUSE = 0.1  # seconds between two drawings


class Deadline:
    """A moment after which searches stop. Small enough to travel to other processes.

    Parameters
    ----------
    at : float or None
        Seconds, as `time.time` counts them; None is never.

    Examples
    --------
    >>> import time
    >>> from motlm.watch import Deadline
    >>> Deadline(None).over(), Deadline(time.time() - 1).over()
    (False, True)
    """

    def __init__(self, at: float | None) -> None:
        self.at = at  # of time.time(), which all processes of a machine share

    def over(self) -> bool:
        return self.at is not None and time.time() >= self.at


class Watch:
    """Decides when to stop, and shows how far the search is. A context manager: inside it the first
    Ctrl-C stops the search, and does not raise.

    Parameters
    ----------
    max_time : float or None
        Seconds from now.
    show : bool
        Whether to draw a progress bar, on stderr.

    Examples
    --------
    >>> from motlm.watch import Watch
    >>> with Watch(max_time=None, show=False) as watch:
    ...     watch.over()
    False
    """

    def __init__(self, max_time: float | None, show: bool) -> None:
        self.deadline = Deadline(None if max_time is None else time.time() + max_time)
        self.interrupted = False
        self.cut = False  # whether a search has been stopped
        self.raising = False  # whether Ctrl-C must break off a wait for other processes
        self._bar = Bar() if show else None
        self._previous: Any = None
        self._installed = False

    def over(self) -> bool:
        """Whether to stop now."""
        self.cut = self.cut or self.interrupted or self.deadline.over()
        return self.cut

    def keep_back(self, seconds: float) -> bool:
        """Stop so much earlier, for what is left to do then, though not at once; whether as much
        time remains.
        """
        if self.deadline.at is None:
            return True
        left = self.deadline.at - time.time()
        self.deadline.at -= min(seconds, _MOST_KEPT * left)
        return left >= 2.0 * seconds

    @property
    def reason(self) -> str:
        return "interrupted" if self.interrupted else "the time limit is over"

    def plan(self, steps: float) -> None:
        """Add so much work to the total."""
        if self._bar:
            self._bar.total += steps

    def report(self, doing: str, objective: float | None = None) -> None:
        """Show what is being done, and the best objective so far."""
        if self._bar:
            self._bar.text = (
                doing if objective is None else f"{doing}, best objective {objective:.5g}"
            )
            self._bar.draw()

    def advance(self, steps: float) -> None:
        if self._bar:
            self._bar.count += steps
            self._bar.draw()

    def __enter__(self) -> Watch:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.getsignal(signal.SIGINT)
            if callable(self._previous):  # not where the process ignores the signal
                signal.signal(signal.SIGINT, self._stop)
                self._installed = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, self._previous)
        if self._bar:
            if kind is None and not self.cut:
                self._bar.count = self._bar.total  # some ways are shorter than planned
            self._bar.close()

    def _stop(self, signum: int, frame: FrameType | None) -> None:
        if self.interrupted or self.raising:
            self.interrupted = True
            raise KeyboardInterrupt
        self.interrupted = True


class Bar:
    """One line on stderr, drawn over where that is a terminal or a notebook; otherwise a line for
    each new text.
    """

    def __init__(self) -> None:
        self.total, self.count, self.text = 0.0, 0.0, ""
        self._began = time.time()
        self._drawn, self._written = 0.0, ""
        self._over = sys.stderr.isatty() or "ipykernel" in sys.modules

    def draw(self, always: bool = False) -> None:
        if not self._over:
            if always or self.text != self._written:
                self._written = self.text
                print(f"[motlm] {self._line()}", file=sys.stderr, flush=True)
            return
        if always or time.time() - self._drawn > _PAUSE:
            self._drawn = time.time()
            line = f"[motlm] {self._line()}"
            print(
                "\r" + line + " " * (len(self._written) - len(line)),
                end="",
                file=sys.stderr,
                flush=True,
            )
            self._written = line

    def _line(self) -> str:
        share = min(self.count / self.total, 1.0) if self.total else 0.0
        full = round(_WIDTH * share)
        return (
            f"[{'#' * full}{'.' * (_WIDTH - full)}] {share:4.0%} {time.time() - self._began:5.1f} s"
            f"  {self.text}"
        )

    def close(self) -> None:
        self.draw(always=True)
        if self._over:
            print(file=sys.stderr, flush=True)
