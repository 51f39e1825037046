"""Arrays that nobody can write to, in records of records."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

__all__ = ["lock", "read_only"]


def read_only(value: Any) -> Any:
    """The same value with copies of its arrays that cannot be written to.

    Arrays in frozen dataclasses, tuples and dictionaries are found; what has none is handed back as
    it is.
    """
    if isinstance(value, np.ndarray):
        if not value.flags.writeable and value.base is None:
            return value
        copy = value.copy()
        copy.flags.writeable = False
        return copy
    if isinstance(value, tuple) and type(value) is tuple:
        parts = tuple(read_only(one) for one in value)
        return parts if any(a is not b for a, b in zip(parts, value, strict=True)) else value
    if isinstance(value, dict):
        return {name: read_only(one) for name, one in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        made = {one.name: read_only(getattr(value, one.name)) for one in fields(value)}
        changed = {name: one for name, one in made.items() if one is not getattr(value, name)}
        return replace(value, **changed) if changed else value
    return value


def lock(value: Any) -> None:
    """Make the arrays of a value that is one's own, such as an unpickled one, read-only."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, (tuple, list)):
        for one in value:
            lock(one)
    elif isinstance(value, dict):
        for one in value.values():
            lock(one)
    elif is_dataclass(value) and not isinstance(value, type):
        lock(vars(value))
