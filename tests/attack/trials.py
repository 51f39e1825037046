"""One case: what came of it, and its reduction where it is a finding."""

from __future__ import annotations

import dis
import re
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import motlm

from .chance import Chance

__all__ = [
    "Broken",
    "Finding",
    "Kind",
    "Result",
    "case_name",
    "is_raised",
    "printable",
    "reduce",
    "try_case",
    "within",
]

LIBRARY = Path(motlm.__file__).parent
_RAISE = dis.opmap["RAISE_VARARGS"]
_TRIES = 40  # of a reduction
_SECONDS = 60  # that a reduction may take


class Broken(AssertionError):
    """What must hold does not."""


@dataclass(frozen=True)
class Kind:
    """A kind of attack: `attempt` makes a case in a folder of its own, and returns in a few words
    what came of it. Whatever it raises is a finding.
    """

    name: str
    about: str  # what is attacked
    attempt: Callable[[Chance, Path], str]
    prepare: Callable[[], Any]  # what all cases need, made once
    chunk: int  # cases that are handed out at a time
    patience: float = 60.0  # seconds after which a case counts as hanging


@dataclass(frozen=True)
class Finding:
    """A case that ended as none may."""

    kind: str
    case: str  # seed/kind/number
    left_out: tuple[int, ...]  # steps that it does not need
    what: str
    error: str
    where: str  # the last line of motlm's code that was reached

    @property
    def signature(self) -> tuple[str, str, str]:
        """By which findings with the same cause are counted together."""
        name, _, words = self.error.partition(":")
        broken = re.sub(r"[0-9.]+", "0", words)[:60] if name == Broken.__name__ else ""
        return self.kind, name + broken, self.where

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        without = f" --without {','.join(map(str, self.left_out))}" if self.left_out else ""
        return (
            f"{self.kind}: {self.error}\n    at {self.where}\n    {self.what}\n"
            f"    python -m tests.attack --case {self.case}{without}"
        )


@dataclass(frozen=True)
class Result:
    """What came of a case."""

    outcome: str
    finding: Finding | None = None


def case_name(seed: int, kind: str, number: int) -> str:
    return f"{seed}/{kind}/{number}"


def try_case(kind: Kind, name: str, folder: Path, left_out: frozenset[int] = frozenset()) -> Result:
    """The case of this name, not reduced."""
    chance = Chance.of(name, left_out)
    began = time.process_time()
    try:
        outcome = kind.attempt(chance, folder)
    except Exception as error:
        seconds = time.process_time() - began
        if seconds > 1:
            chance.note(f"{seconds:.1f} s")
        words = printable("; ".join(chance.notes)[:1000])
        finding = Finding(
            kind.name, name, tuple(sorted(left_out)), words, _words(error), _place(error)
        )
        return Result("finding", finding)
    return Result(outcome)


def reduce(kind: Kind, finding: Finding, folder: Path) -> Finding:
    """The same finding with as few steps as possible."""
    chance, end = Chance.of(finding.case), time.monotonic() + _SECONDS
    try_quietly(kind, chance, folder)
    for number in list(range(chance.n_steps))[:_TRIES]:
        if time.monotonic() > end:
            break
        fewer = frozenset({*finding.left_out, number})
        found = try_case(kind, finding.case, folder, fewer).finding
        if found is not None and found.signature == finding.signature:
            finding = found
    return finding


def try_quietly(kind: Kind, chance: Chance, folder: Path) -> None:
    """To see how many steps a case has."""
    try:
        kind.attempt(chance, folder)
    except Exception:
        return


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {printable(' '.join(str(error).split()))}"[:400]


def printable(text: str) -> str:
    """With escapes for what no terminal takes."""
    return text.encode("utf-8", "backslashreplace").decode()


def _place(error: BaseException) -> str:
    """Where in motlm's code, or else in the attack's."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [one for one in frames if Path(one.filename).is_relative_to(LIBRARY)]
    last = (own or frames)[-1]
    return f"{'/'.join(Path(last.filename).parts[-2:])}:{last.lineno}, in {last.name}"


def is_raised(error: BaseException) -> bool:
    """Whether an error was raised on purpose, by a `raise` in motlm or scikit-learn, and did not
    come out of NumPy, SciPy or the interpreter.
    """
    frame: TracebackType | None = error.__traceback__
    assert frame is not None
    while frame.tb_next is not None:
        frame = frame.tb_next
    code, path = frame.tb_frame.f_code, Path(frame.tb_frame.f_code.co_filename)
    meant = path.is_relative_to(LIBRARY) or "sklearn" in path.parts
    return meant and code.co_code[frame.tb_lasti] == _RAISE


@contextmanager
def within(seconds: float, what: str) -> Iterator[None]:
    """Broken if the processor took longer."""
    began = time.process_time()
    yield
    took = time.process_time() - began
    if took > seconds:
        raise Broken(f"{what} took {took:.1f} s of the processor, more than {seconds:g}")
