"""The results file: one line for each (data set, preparation, method, split), written as soon as it
is computed.
"""

from __future__ import annotations

import csv
import io
import os
import platform
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy
import scipy
import sklearn

import motlm

PLACE = Path(__file__).parent / "results.csv"


@dataclass(frozen=True, order=True)
class Key:
    """Identifies one computation."""

    data: str
    # "paper" or "sound"; for the synthetic sets "none", or "recipe" for a new sample
    preparation: str
    method: str
    split: int


@dataclass(frozen=True)
class Record:
    """The result. Risks are in units of the training target's variance for regression."""

    data: str
    preparation: str
    method: str
    split: int
    train: float  # scores: accuracy or R2
    valid: float
    test: float
    n_features: int
    chosen: str  # hyperparameters selected on the validation rows
    gibbs_risk: float | None
    core: float | None
    seconds: float
    versions: str

    @property
    def key(self) -> Key:
        return Key(self.data, self.preparation, self.method, self.split)


@cache
def source() -> str:
    """A hash of the library's code, which identifies the records of other versions of it."""
    code = sha256()
    for path in sorted(Path(motlm.__file__).parent.rglob("*.py")):
        code.update(path.read_bytes())
    return code.hexdigest()[:8]


def versions() -> str:
    return (
        f"motlm {motlm.__version__} ({source()}), Python {platform.python_version()}, NumPy"
        f" {numpy.__version__}, SciPy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    )


_READ: dict[str, Callable[[str], object]] = {
    "str": str,
    "int": int,
    "float": float,
    "float | None": lambda text: float(text) if text else None,
}


class Kept(Protocol):
    """A record that a store can keep: a dataclass of texts and numbers, identified by its key."""

    @property
    def key(self) -> Any: ...


R = TypeVar("R", bound=Kept)


class Lines(Generic[R]):
    """Records on disk. An incomplete last line, left by a killed run, is ignored, and removed when
    the next line is written.
    """

    def __init__(self, path: Path, kind: type[R]) -> None:
        self.path, self.kind = path, kind
        self.columns = {one.name: _READ[str(one.type)] for one in fields(kind)}  # type: ignore[arg-type]
        self.records: dict[Any, R] = {}
        self._whole = 0  # bytes of whole lines
        if path.exists():
            content = path.read_bytes()
            self._whole = content.rfind(b"\n") + 1
            reader = csv.DictReader(io.StringIO(content[: self._whole].decode(), newline=""))
            if reader.fieldnames not in (None, list(self.columns)):
                raise SystemExit(
                    f"{path} has other columns than {', '.join(self.columns)}; move it away to"
                    " start again."
                )
            for row in reader:
                self._take(row, reader.line_num)

    def _take(self, row: dict[str, str], line: int) -> None:
        try:
            record = self.kind(**{name: read(row[name]) for name, read in self.columns.items()})
        except (TypeError, ValueError) as error:
            raise SystemExit(
                f"{self.path}, line {line}: not a record ({error}); remove the line."
            ) from None
        self.records[record.key] = record

    def _mend(self) -> None:
        """Cut off an incomplete last line."""
        if self.path.exists() and not self.path.read_bytes()[self._whole :].endswith(b"\n"):
            os.truncate(self.path, self._whole)

    def add(self, *records: R) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._mend()
        new = not self.path.exists() or self.path.stat().st_size == 0
        with self.path.open("a", newline="") as stream:
            writer = csv.DictWriter(stream, list(self.columns), lineterminator="\n")
            if new:
                writer.writeheader()
            for record in records:
                values = {name: getattr(record, name) for name in self.columns}
                writer.writerow(
                    {name: "" if value is None else value for name, value in values.items()}
                )
            stream.flush()
            os.fsync(stream.fileno())
        self._whole = self.path.stat().st_size
        self.records |= {record.key: record for record in records}

    def missing(self, keys: Iterable[Any]) -> list[Any]:
        return [key for key in dict.fromkeys(keys) if key not in self.records]


class Store(Lines[Record]):
    """The records of the paper's tables."""

    def __init__(self, path: Path = PLACE) -> None:
        super().__init__(path, Record)

    def of(self, data: str, preparation: str, method: str) -> list[Record]:
        """The records of a method on a data set, by split."""
        found = [
            one
            for one in self.records.values()
            if (one.data, one.preparation, one.method) == (data, preparation, method)
        ]
        return sorted(found, key=lambda one: one.split)

    def others(self, keys: Iterable[Key]) -> int:
        """The number of these records that another version of the library's code computed."""
        return sum(
            source() not in self.records[key].versions for key in keys if key in self.records
        )
