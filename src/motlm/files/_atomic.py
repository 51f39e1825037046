"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

__all__ = ["atomic_stream", "write_atomically"]


def write_atomically(path: Any, text: str, overwrite: bool = True) -> Path:
    """Write a text file by way of a temporary one beside it."""
    place = Path(path)
    if place.is_dir():
        raise IsADirectoryError(f"{place} is a folder; give the name of a file.")
    if place.exists() and not place.is_file():
        raise FileExistsError(f"{place} is not a plain file, and is not replaced.")
    if place.exists() and not overwrite:
        raise FileExistsError(f"{place} exists; give another name, or allow it to be replaced.")
    with atomic_stream(place) as stream:
        stream.write(text)
    return place


@contextmanager
def atomic_stream(place: Path) -> Iterator[TextIO]:
    """A stream to a temporary file, which takes the name of the place when all went well, and is
    removed otherwise.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, _mode_of(place))
        os.replace(name, place)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _mode_of(place: Path) -> int:
    """The permissions of the file that is replaced, or those that the user's new files have."""
    if place.exists():
        return place.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
