"""The exit codes: expected errors are one line, bugs are a traceback."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click

from .._version import __version__
from ..errors import MotlmError
from ._errors import describe, show_message, show_warnings

__all__ = ["BROKEN_PIPE", "BUG", "ERROR", "INTERRUPTED", "NOT_SCORED", "Group"]

BUG = 1
ERROR = 2  # an error that the user can mend
NOT_SCORED = 3  # some rows could not be scored
INTERRUPTED, BROKEN_PIPE = 130, 141  # as in shells


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

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with show_warnings():
                return super().invoke(ctx)
        except BrokenPipeError:
            # the reader is gone: what is left to be flushed goes nowhere
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(BROKEN_PIPE)


def _exit_code(run: Callable[[], Any]) -> int:
    try:
        code = run()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return ERROR
    except (MotlmError, OSError, click.ClickException) as error:
        show_message(f"Error: {describe(error)}")
        return ERROR
    except click.Abort:
        show_message("motlm: interrupted")
        return INTERRUPTED
    except Exception:
        traceback.print_exc()
        show_message(
            "motlm: this is a bug. Please report it, with the command, the version of motlm"
            f" ({__version__}) and the traceback above."
        )
        return BUG
    return code if isinstance(code, int) else 0
