"""The exit codes: expected errors are one line, bugs are a traceback."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import click

from .._version import __version__
from ..errors import MotlmError
from ._errors import describe, show_message, show_warnings
from ._signals import INTERRUPTED, LINE, was_interrupted

__all__ = ["BROKEN_PIPE", "BUG", "ERROR", "INTERRUPTED", "NOT_SCORED", "Group"]

BUG = 1
ERROR = 2  # an error that the user can mend
NOT_SCORED = 3  # some rows could not be scored
BROKEN_PIPE = 141  # as in shells


class _Interrupted(Exception):
    """Ctrl-C, where click would print an empty line."""


class _NoReader(Exception):
    """The reader of the output is gone, for which click has an exit code of its own."""


class Group(click.Group):
    """A group of commands that turns every exception into an exit code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        run = partial(super().main, args, prog_name, complete_var, standalone_mode=False, **extra)
        if not standalone_mode:
            return run()
        sys.exit(_exit_code(run))

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        with _ours():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        with _ours(), show_warnings():
            return super().invoke(ctx)


@contextmanager
def _ours() -> Iterator[None]:
    """Exceptions that click would handle in its own way."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise _Interrupted from error
    except BrokenPipeError as error:
        raise _NoReader from error


def _exit_code(run: Callable[[], Any]) -> int:
    code, line = _outcome(run)
    try:
        if line:
            show_message(line)
        _flush()
    except OSError:
        _discard()
    return code


def _outcome(run: Callable[[], Any]) -> tuple[int, str]:
    """The exit code, and a line to print."""
    try:
        code = run()
        _flush()
    except click.exceptions.NoArgsIsHelpError as error:
        return ERROR, error.format_message()
    except (_NoReader, BrokenPipeError):
        return BROKEN_PIPE, ""
    except (_Interrupted, click.Abort):
        return INTERRUPTED, LINE
    except (MotlmError, OSError, click.ClickException) as error:
        return ERROR, f"Error: {describe(error)}"
    except MemoryError:
        return ERROR, "Error: there is not enough memory for this table, or this model."
    except Exception:
        if was_interrupted():  # by a library that turns an interrupt into an error of its own
            return INTERRUPTED, LINE
        traceback.print_exc()
        return BUG, (
            "motlm: this is a bug. Please report it, with the command, the version of motlm"
            f" ({__version__}) and the traceback above."
        )
    return (code if isinstance(code, int) else 0), ""


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


def _discard() -> None:
    """What is left to be flushed goes nowhere; Python would complain when it ends."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, AttributeError):  # AttributeError: there is no such stream
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
