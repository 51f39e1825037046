"""How the engine is compiled, and where the compiled code is kept.

Numba compiles a function when it is first called with arguments of some types, and keeps the
machine code in a folder of the user's cache. The folder's name has a digest of the engine's own
files, since Numba notices a change of a function's own file only, not of those it calls. Where no
folder can be written to, code is compiled anew in each process.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

from .linking import PART, WHOLE

__all__ = ["INNER", "cache_folder", "compiled", "compiled_fast", "entry", "inlined"]

_F = TypeVar("_F", bound=Callable[..., Any])
_SOURCES = [*sorted(Path(__file__).parent.glob("*.py")), Path(__file__).parents[1] / "special.py"]


def _digest() -> str:
    found = hashlib.sha256(numba.__version__.encode())
    for path in _SOURCES:
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


def _user_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or "~/AppData/Local").expanduser()
    if sys.platform == "darwin":
        return Path("~/Library/Caches").expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()


def cache_folder() -> Path | None:
    """Where compiled code is kept: in NUMBA_CACHE_DIR or the user's cache; None where neither can
    be written to.
    """
    named = os.environ.get("NUMBA_CACHE_DIR")
    folder = (Path(named) if named else _user_folder() / "motlm") / f"engine-{_digest()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # a home that cannot be found, too
        return None
    return folder if os.access(folder, os.W_OK) else None


_FOLDER = cache_folder()


_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
INNER = _OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
if PART is not None:
    INNER |= {"pipeline_class": PART}
else:  # else the process that compiles an entry calls other copies of these functions than those
    # that are kept with it, and their last bits differ
    INNER |= {"forceinline": True}
_EXACT = {"contract", "nsz"}
_ANY_ORDER = {"contract", "nsz", "reassoc", "arcp"}


def compiled(function: _F) -> _F:
    """A function in machine code, for others of the engine to call."""
    return numba.njit(fastmath=_EXACT, **INNER)(function)  # type: ignore[no-any-return]


def compiled_fast(function: _F) -> _F:
    """The same where sums may be taken in any order, several terms at once."""
    return numba.njit(fastmath=_ANY_ORDER, **INNER)(function)  # type: ignore[no-any-return]


def inlined(function: _F) -> _F:
    """A function that becomes part of those that call it, which are compiled once, with it."""
    return numba.njit(inline="always", fastmath=_EXACT, **_OPTIONS)(function)  # type: ignore[no-any-return]


def entry(function: _F) -> _F:
    """A function in machine code that Python calls; its code is kept. It holds no lock of Python's
    while it runs, so that threads run beside each other.
    """
    options = _OPTIONS | {"fastmath": _EXACT}
    if WHOLE is not None:
        options["pipeline_class"] = WHOLE
    if _FOLDER is None:
        return numba.njit(**options)(function)  # type: ignore[no-any-return]
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(_FOLDER)  # read when a function is decorated
    try:
        return numba.njit(cache=True, **options)(function)  # type: ignore[no-any-return]
    finally:
        numba.config.CACHE_DIR = before
