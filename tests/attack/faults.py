"""Faults of the disk and the memory while files are written: the old file stays, or the new one is
whole.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import motlm
from motlm.errors import ModelFileError

from .chance import Chance
from .commands import check_result, invoke, known_models
from .corpus import fitted
from .kills import inputs
from .limits import file_limit
from .trials import Broken, Kind

__all__ = ["FAULTS"]

_ERRORS: dict[str, Callable[[], BaseException]] = {
    "no space": lambda: OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    "input/output error": lambda: OSError(errno.EIO, os.strerror(errno.EIO)),
    "not permitted": lambda: PermissionError(errno.EPERM, os.strerror(errno.EPERM)),
    "too many files": lambda: OSError(errno.EMFILE, os.strerror(errno.EMFILE)),
    "interrupted": KeyboardInterrupt,
}
_CALLS = ((os, "fsync"), (os, "replace"), (os, "chmod"), (os, "fdopen"), (tempfile, "mkstemp"))
_CODES = (0, 2, 130)


@contextmanager
def fault(chance: Chance) -> Iterator[None]:
    """A full disk after some bytes, or a call of the operating system that fails."""
    with ExitStack() as stack:
        if chance.likely(0.4):
            size = chance.pick((0, 1, 100, 4096, 9000, 100_000))
            chance.note(f"no file may be larger than {size} bytes")
            stack.enter_context(file_limit(size))
        else:
            module, name = chance.pick(_CALLS)
            error, after = chance.value(_ERRORS), chance.pick((0, 0, 0, 1, 2))
            chance.note(f"in call {after} of {name}")
            failing = _failing(getattr(module, name), error, after)
            stack.enter_context(mock.patch.object(module, name, failing))
        yield


def _failing(call: Any, error: Callable[[], BaseException], after: int) -> Any:
    """The call, which raises once, after so many times."""
    left = [after]

    def wrapped(*arguments: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] == -1:
            raise error()
        return call(*arguments, **named)

    return wrapped


def attempt(chance: Chance, folder: Path) -> str:
    place = folder / "fault"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for name in ("data.csv", "fresh.csv", "old.json", "model.json"):
        (place / name).write_bytes(inputs()[name])
    before = {}
    for name in ("model.json", "report.html", "out.csv"):
        if not (place / name).exists() and chance.likely(0.7):
            (place / name).write_bytes(b"what was there before\n")
        if (place / name).exists():
            before[name] = (place / name).read_bytes()
    outcome = _save(chance, place) if chance.likely(0.4) else _command(chance, place)
    _check_outputs(place, before)
    return outcome


def _save(chance: Chance, place: Path) -> str:
    chance.note("save")
    model = fitted()[chance.pick(("learned", "table", "regressor"))]
    try:
        with fault(chance):
            model.save(place / "model.json")
    except (OSError, KeyboardInterrupt) as error:
        return f"refused: {type(error).__name__}"
    return "accepted: not hit"


def _command(chance: Chance, place: Path) -> str:
    model, fresh = str(place / "old.json"), str(place / "fresh.csv")
    commands = {
        "predict": ["predict", model, fresh, "-o", str(place / "out.csv")],
        "certify": ["certify", str(place / "model.json"), fresh, "--target=default", "--save"],
        "report": ["report", model, fresh, "--target=default", "-o", str(place / "report.html")],
        "fit": [
            *("fit", str(place / "data.csv"), "--target=default", "--localities=0"),
            *("--time-limit=0.1s", "--model", str(place / "model.json")),
        ],
    }
    arguments = [*chance.value(commands), "--force"]
    with fault(chance):
        result = invoke(arguments)
    check_result(result, _CODES)
    return "accepted: not hit" if result.exit_code == 0 else f"refused: exit {result.exit_code}"


def _check_outputs(place: Path, before: dict[str, bytes]) -> None:
    """Each output is as it was, or a whole new one; nothing else is there."""
    for path in place.iterdir():
        if path.name.startswith("."):
            raise Broken(f"{path.name} was left behind")
        data = path.read_bytes()
        if path.name in inputs() and path.name != "model.json":
            continue
        if before.get(path.name) == data:
            continue
        if path.suffix == ".json":
            try:
                motlm.load(path)
            except ModelFileError as error:
                raise Broken(f"{path.name} is not whole: {error}") from None
        elif not data.endswith(b"</html>" if path.suffix == ".html" else b"\n"):
            raise Broken(f"{path.name} is not whole")
    gone = [name for name in before if not (place / name).exists()]
    if gone:
        raise Broken(f"{gone} were removed")


def prepare() -> None:
    fitted()
    known_models()
    inputs()


FAULTS = Kind("faults", "faults of the disk", attempt, prepare, chunk=20)
