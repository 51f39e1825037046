"""Kills at random moments: outputs are whole or absent, and the same command goes on from there."""

from __future__ import annotations

import csv
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import motlm
from motlm.errors import ModelFileError

from .chance import Chance
from .commands import known_models
from .trials import LIBRARY, Broken, Kind

__all__ = ["KILLS"]

ROOT = Path(__file__).parents[2]
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
_ENDS = {  # exit codes; that a command had ended before is 0
    signal.SIGKILL: (0, -signal.SIGKILL),
    signal.SIGTERM: (0, -signal.SIGTERM, 128 + signal.SIGTERM),
    signal.SIGINT: (0, 130),
}
_START = 0.15  # share of a run in which Python itself starts, and ends by its own rules
_MEASURED = ("seconds", "versions")  # columns of results that may differ


@dataclass(frozen=True)
class Program:
    """A command, its outputs, and how they are checked."""

    name: str
    arguments: tuple[str, ...]
    outputs: tuple[str, ...]
    check: Callable[[Path], None]  # of one output that exists
    guarded: bool = True  # whether Ctrl-C is one line while modules are imported, too


# -- programs --------------------------------------------------------------------------------------


def _whole_model(path: Path) -> None:
    try:
        motlm.load(path)
    except ModelFileError as error:
        raise Broken(f"{path.name} is not whole: {error}") from None


def _whole_model_or_page(path: Path) -> None:
    if path.suffix == ".json":
        _whole_model(path)
    elif not path.read_bytes().endswith(b"</html>"):
        raise Broken(f"{path.name} is not whole")


def _whole_predictions(path: Path) -> None:
    with path.open(newline="", encoding="utf-8") as stream:
        rows = [row["row"] for row in csv.DictReader(stream)]
    if rows != [str(i) for i in range(N_ROWS)]:
        raise Broken(f"{path.name} has {len(rows)} of {N_ROWS} rows")


def _readable_records(path: Path) -> None:
    """All lines but the last, which may be cut, are records."""
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    for row in csv.reader(lines):
        if len(row) != len(lines[0].split(",")):
            raise Broken(f"{path.name} has a line of {len(row)} values")


N_ROWS = 20_000
_CLI = ("-m", "motlm.cli")
PROGRAMS = (
    Program(
        "fit",
        (
            *(*_CLI, "fit", "data.csv", "--target", "default", "--localities", "1"),
            *("--model", "model.json", "--report", "report.html", "--force"),
        ),
        ("model.json", "report.html"),
        _whole_model_or_page,
    ),
    Program(
        "predict",
        (*_CLI, "predict", "old.json", "big.csv", "-o", "out.csv", "--force"),
        ("out.csv",),
        _whole_predictions,
    ),
    Program(
        "certify",
        (*_CLI, "certify", "model.json", "fresh.csv", "--target", "default", "--save", "--force"),
        ("model.json",),
        _whole_model,
    ),
    Program(
        "experiments",
        (
            *("-m", "experiments", "table5", "--splits", "1", "--protocol-hours", "0"),
            *("--results", "results.csv", "--output", "tables"),
        ),
        ("results.csv",),
        _readable_records,
        guarded=False,
    ),
)


@cache
def inputs() -> dict[str, bytes]:
    """Files that the programs read."""
    rng = np.random.default_rng(0)

    def rows(n: int) -> bytes:
        X = rng.normal(size=(n, 2))
        labels = np.where(X[:, 0] * X[:, 1] > 0, "ja", "nein")
        lines = [f"{a!r},{b!r},{y}" for (a, b), y in zip(X.tolist(), labels, strict=True)]
        return "\n".join(["x0,x1,default", *lines, ""]).encode()

    model = known_models()["learned"]
    return {
        "data.csv": rows(200),
        "fresh.csv": rows(200),
        "big.csv": rows(N_ROWS),
        "old.json": model,
        "model.json": model,
    }


def _lay_out(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, data in inputs().items():
        (folder / name).write_bytes(data)


def start(program: Program, folder: Path) -> subprocess.Popen[bytes]:
    paths = [str(ROOT), str(LIBRARY.parent), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "MOTLM_DATA": str(folder),  # without the authors' samples, new ones are drawn
    }
    return subprocess.Popen(
        [sys.executable, *program.arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=_heed_signals,
    )


def _heed_signals() -> None:
    """A process in the background ignores Ctrl-C, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@dataclass(frozen=True)
class Reference:
    """A run that nobody killed."""

    seconds: float
    records: dict[tuple[str, ...], tuple[str, ...]]


@cache
def reference(program: Program) -> Reference:
    with TemporaryDirectory(prefix="attack-") as folder:
        place = Path(folder) / "run"
        _lay_out(place)
        began = time.monotonic()
        _, words = (running := start(program, place)).communicate()
        if running.returncode:
            raise Broken(f"{program.name}: exit code {running.returncode}: {words.decode()}")
        seconds = time.monotonic() - began
        for name in program.outputs:
            program.check(place / name)
        return Reference(seconds, _records(place / "results.csv"))


def _records(path: Path) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Results by key, without what is measured."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    return {
        tuple(list(row.values())[:4]): tuple(
            value for name, value in row.items() if name not in _MEASURED
        )
        for row in rows
    }


# -- what must hold --------------------------------------------------------------------------------


def attempt(chance: Chance, folder: Path) -> str:
    place = folder / "kill"
    _lay_out(place)
    program, sent = chance.pick(PROGRAMS), chance.pick(SIGNALS)
    moment = chance.real(0.0, 1.05) * reference(program).seconds
    chance.note(f"{program.name}, {sent.name} after {moment:.2f} s")
    code, words = _kill(program, place, sent, moment)
    begun = moment > _START * reference(program).seconds
    if not program.guarded and "experiments/__main__.py" in words and "in main" not in words:
        begun = False  # while modules are imported
    if begun and code not in _ENDS[sent]:
        raise Broken(f"exit code {code} after {sent.name}: {words[-300:]!r}")
    if begun and "Traceback" in words and sent != signal.SIGKILL:
        raise Broken(f"a traceback after {sent.name}: {words[-300:]!r}")
    for name in program.outputs:
        if (place / name).exists():
            program.check(place / name)
    left = _strays(place)
    if left and sent != signal.SIGKILL:
        raise Broken(f"{left} left behind after {sent.name}")
    _go_on(program, place, left)
    end = "ended before" if code == 0 else "a temporary file stays" if left else "outputs whole"
    return f"{program.name}, {sent.name}: {end}"


def _kill(program: Program, place: Path, sent: signal.Signals, moment: float) -> tuple[int, str]:
    """The exit code, and what was written to standard error."""
    running = start(program, place)
    try:
        _, words = running.communicate(timeout=moment)
    except subprocess.TimeoutExpired:
        running.send_signal(sent)
        _, words = running.communicate()
    return running.returncode, words.decode(errors="replace")


def _strays(place: Path) -> list[str]:
    return sorted(path.name for path in place.rglob(".*"))


def _go_on(program: Program, place: Path, left: list[str]) -> None:
    """The same command again does what it would have done."""
    running = start(program, place)
    _, words = running.communicate()
    if running.returncode:
        raise Broken(f"again: exit code {running.returncode}: {words[-300:]!r}")
    for name in program.outputs:
        program.check(place / name)
    if _records(place / "results.csv") != reference(program).records:
        raise Broken("other results than without the kill")
    if not set(_strays(place)) <= set(left):
        raise Broken(f"{_strays(place)} left behind by a run that was not killed")


def prepare() -> None:
    inputs()
    for program in PROGRAMS:
        reference(program)


KILLS = Kind("kills", "kills at random moments", attempt, prepare, chunk=2, patience=300.0)
