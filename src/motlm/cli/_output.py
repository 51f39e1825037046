"""Where results go: standard output, or files that are checked before any work is done."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO

import click

from ..errors import MissingPackageError
from ..tables import plain
from ._errors import CommandError

__all__ = ["check_outputs", "echo_json", "open_standard_output", "require_report", "to_json"]


def check_outputs(
    outputs: Sequence[Path | None], inputs: Sequence[Path | None] = (), force: bool = False
) -> None:
    """Raise if an output cannot be written, is an input, or exists and must not be replaced."""
    places = [path.resolve() for path in outputs if path is not None]
    if len(set(places)) < len(places):
        raise CommandError(f"two outputs would be written to {places[0]}; give two names.")
    read = [path.resolve() for path in inputs if path is not None]
    for path in outputs:
        if path is not None:
            _check_output(path, read, force)


def _check_output(path: Path, inputs: Sequence[Path], force: bool) -> None:
    if path == Path("-"):
        raise CommandError("this cannot be written to standard output; give the name of a file.")
    if path.resolve() in inputs:
        raise CommandError(f"{path} is an input; give another name for the output.")
    if path.exists() and not path.is_file():
        raise CommandError(f"{path} is not a plain file; give the name of a file to write.")
    if path.exists() and not force:
        raise CommandError(f"{path} exists; give another name, or --force to replace it.")
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {folder}: {error.strerror}.") from error


def require_report() -> None:
    """Raise before any work is done if a report could not be written."""
    for name in ("jinja2", "plotly"):
        if find_spec(name) is None:
            raise MissingPackageError("reports need Jinja2 and plotly: pip install 'motlm[report]'")


def open_standard_output() -> TextIO:
    """In UTF-8 with plain line ends, like files, whatever the encoding of the console."""
    if sys.stdout is None:
        raise CommandError("standard output is closed; give the name of a file with -o.")
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8", newline="")
    return sys.stdout


def to_json(content: Any) -> str:
    """One line; null for numbers that are not finite."""
    return json.dumps(plain(content), ensure_ascii=False)


def echo_json(content: Any) -> None:
    click.echo(json.dumps(plain(content)))
