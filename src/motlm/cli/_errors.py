"""What the command line makes of errors and warnings: one line each, with advice about options."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from ..errors import (
    CertificateWarning,
    EmptyLocalityWarning,
    IdentifierWarning,
    LookAlikeWarning,
    MissingValueWarning,
    MotlmError,
    MotlmWarning,
    NeedlessLocalityWarning,
    StoppedEarlyWarning,
    StrayTextWarning,
    TooManyLocalitiesError,
    TrainingRowsError,
    UnknownCategoryWarning,
)

__all__ = [
    "NOTED",
    "CommandError",
    "TableError",
    "describe",
    "ignore_warnings",
    "printable",
    "show",
    "show_message",
    "show_warnings",
]


class TableError(MotlmError):
    """A table that cannot be read, or that does not have what a command needs."""


class CommandError(MotlmError):
    """Options, models or output files that a command cannot work with."""


NOTED = (UnknownCategoryWarning, MissingValueWarning)  # of which rows have notes
_LONGEST = 2000  # characters of an error, in which names and values may be of any length
# Instead of the library's own advice, which is about Python; the first type that fits counts.
_ADVICE: dict[type[MotlmError | MotlmWarning], str] = {
    StoppedEarlyWarning: "",
    CertificateWarning: "motlm certify --save certifies the model anew.",
    EmptyLocalityWarning: "Ask for fewer with --localities.",
    NeedlessLocalityWarning: "--localities auto chooses their number.",
    TooManyLocalitiesError: "Give a smaller number to --localities.",
    TrainingRowsError: (
        "Give rows that were not used for fitting, or fit again: motlm fit keeps some sealed."
    ),
    LookAlikeWarning: "Write them alike in the table.",
    MotlmWarning: "",
}


def printable(text: str) -> str:
    """Text for a terminal: control characters, which names and values of a table may contain, are
    written as in Python.
    """
    if text.isprintable():
        return text
    return "".join(
        one if one.isprintable() or one in "\n\t" else one.encode("unicode_escape").decode()
        for one in text
    )


def show(text: str) -> None:
    """Print a result for people to standard output."""
    click.echo(printable(text))


def show_message(text: str) -> None:
    """Print a message to standard error; standard output is for results."""
    click.echo(printable(text), err=True)


def describe(problem: BaseException) -> str:
    """An error or a warning in one line, of bounded length."""
    words = " ".join(line.strip() for line in _text(problem).splitlines() if line.strip())
    half = _LONGEST // 2
    return words if len(words) <= _LONGEST else f"{words[:half]} .. {words[-half:]}"


def _text(problem: BaseException) -> str:
    if isinstance(problem, (MotlmError, MotlmWarning)):
        for kind, advice in _ADVICE.items():
            if isinstance(problem, kind):
                return f"{problem.text} {advice}"
    if isinstance(problem, click.UsageError):
        hint = "" if problem.ctx is None else f" Try '{problem.ctx.command_path} --help'."
        return problem.format_message() + hint
    if isinstance(problem, click.ClickException):
        return problem.format_message()
    if isinstance(problem, OSError) and problem.strerror is not None:
        return f"{problem.filename or ''}: {problem.strerror}".removeprefix(": ")
    return str(problem)


@contextmanager
def show_warnings() -> Iterator[None]:
    """Print warnings as notes, each once; those for programmers (not a UserWarning) are ignored."""
    shown: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = message if isinstance(message, str) else describe(message)
        if text not in shown:
            shown.add(text)
            show_message(f"note: {text}")

    before = warnings.showwarning
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        # `fit` points such columns out, refuses them, or was told
        warnings.simplefilter("ignore", IdentifierWarning)
        warnings.simplefilter("ignore", StrayTextWarning)
        warnings.showwarning = show
        try:
            yield
        finally:
            warnings.showwarning = before


@contextmanager
def ignore_warnings(*noted: str) -> Iterator[None]:
    """Around predictions for rows of which a note has been printed: the library would warn of
    unknown categories and missing values again, or of what is `noted`.
    """
    with warnings.catch_warnings():
        for kind in NOTED:
            warnings.simplefilter("ignore", kind)
        for text in noted:
            warnings.filterwarnings("ignore", re.escape(text), MotlmWarning)
        yield
