"""Names of the release before, which keep working for one release, and where warnings point to."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["forward", "user_level", "warn_of"]

_PACKAGE = str(Path(__file__).parent)


def warn_of(old: str, new: str, stacklevel: int = 3) -> None:
    """Say what a name is now."""
    warnings.warn(
        f"{old} is now {new}; the old name goes away in the next release.",
        FutureWarning,
        stacklevel=stacklevel,
    )


def forward(
    old: str, names: Mapping[str, tuple[ModuleType, str]] | None = None, *modules: ModuleType
) -> Callable[[str], Any]:
    """A `__getattr__` for a module: names that moved to these modules, or that changed."""
    moved = {name: (module, name) for module in modules for name in module.__all__}
    moved |= names or {}

    def get(name: str) -> Any:
        if name not in moved:
            raise AttributeError(f"module {old!r} has no attribute {name!r}")
        module, new = moved[name]
        warn_of(f"{old}.{name}", f"{module.__name__}.{new}")
        return getattr(module, new)

    return get


def user_level() -> int:
    """The `stacklevel` at which a warning points to the call into motlm, however deep it is."""
    level, frame = 0, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return level
