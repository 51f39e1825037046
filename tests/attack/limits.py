"""Limits of memory and of file sizes, for the time of a case."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["file_limit", "memory_limit"]

_STATM = Path("/proc/self/statm")


@contextmanager
def _soft(kind: int, value: int) -> Iterator[None]:
    before, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (value, hard))
    try:
        yield
    finally:
        resource.setrlimit(kind, (before, hard))


@contextmanager
def memory_limit(more: int) -> Iterator[None]:
    """So many bytes of address space more than the process has now; where Linux does not tell how
    many these are, no limit.
    """
    if not _STATM.exists():
        yield
        return
    size = int(_STATM.read_text().split()[0]) * resource.getpagesize()
    with _soft(resource.RLIMIT_AS, size + more):
        yield


@contextmanager
def file_limit(size: int) -> Iterator[None]:
    """No file may grow beyond this size; writing more is an OSError, as on a full disk."""
    with _soft(resource.RLIMIT_FSIZE, size):
        yield
