"""What the command does when it is asked to stop; needs nothing but Python.

While modules are imported, nothing has been written, and Ctrl-C ends the process at once: an
exception could be swallowed, or turned into another one, by whatever module is being imported.
While a command runs, Ctrl-C is a KeyboardInterrupt, and SIGTERM and SIGHUP a SystemExit, so that
temporary files are removed. When the result is known, Ctrl-C no longer changes it.
"""

from __future__ import annotations

import os
import signal
import sys
from os import _exit

TYPE_CHECKING = False  # typing takes some milliseconds, in which Ctrl-C would be a traceback
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

__all__ = ["INTERRUPTED", "LINE", "begin", "end", "was_interrupted", "work"]

INTERRUPTED = 130  # exit code, as in shells
LINE = "motlm: interrupted"
_ENDING = [
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
]  # Windows has no SIGHUP

_PAUSE = 0.01  # seconds; by then, the finalizer has ended
_received: list[int] = []


def was_interrupted() -> bool:
    """Whether Ctrl-C came while a command was running."""
    return signal.SIGINT in _received


def begin() -> None:
    """Until `work`, Ctrl-C ends the process."""
    _replace(signal.SIGINT, signal.default_int_handler, _leave)


def work() -> None:
    """Until `end`, Ctrl-C and requests to end are exceptions."""
    _replace(signal.SIGINT, _leave, _raise)
    for number in _ENDING:
        _replace(number, signal.SIG_DFL, _raise)
    sys.unraisablehook = _raise_again


def end() -> None:
    """The result is known: Ctrl-C no longer changes it."""
    for before in (_leave, _raise):
        _replace(signal.SIGINT, before, signal.SIG_IGN)
    for number in _ENDING:
        _replace(number, _raise, signal.SIG_DFL)
    sys.unraisablehook = sys.__unraisablehook__


def _replace(number: int, before: Any, handler: Any) -> None:
    """Replace the handler of a signal, unless it is another one than before: a process may have
    been started to ignore the signal, or be somebody else's.
    """
    if signal.getsignal(number) == before:
        try:
            signal.signal(number, handler)
        except ValueError:  # not in the main thread
            return


def _leave(number: int, frame: FrameType | None) -> None:
    try:
        os.write(2, f"{LINE}\n".encode())
    finally:
        _exit(INTERRUPTED)


def _raise(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def _raise_again(problem: Any) -> None:
    """An interrupt in a finalizer, which Python would print and forget, comes again later."""
    if _received and isinstance(problem.exc_value, (KeyboardInterrupt, SystemExit)):
        from threading import Thread

        Thread(target=_send, args=(_received[-1],), daemon=True).start()
    else:
        sys.__unraisablehook__(problem)


def _send(number: int) -> None:
    from _thread import interrupt_main
    from threading import main_thread
    from time import sleep

    sleep(_PAUSE)
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main_thread().ident or 0, number)
    else:  # Windows, where it does not break off a wait
        interrupt_main(signal.Signals(number))
