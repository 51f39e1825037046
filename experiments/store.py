"""The results file: one line for each (data set, preparation, method, split), written as it is computed."""

from __future__ import annotations

import csv
import io
import os
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy
import scipy
import sklearn

import motlm

PLACE = Path(__file__).parent / "results.csv"


@dataclass(frozen=True, order=True)
class Key:
    """What is computed once."""

    data: str
    preparation: str  # "paper", "sound"; of the synthetic sets "none", or "recipe" where they were drawn anew
    method: str
    split: int


@dataclass(frozen=True)
class Record:
    """What came of it. Risks are in units of the training target's variance for regression."""

    data: str
    preparation: str
    method: str
    split: int
    train: float  # scores: accuracy or R2
    valid: float
    test: float
    n_features: int
    chosen: str  # on the validation rows
    gibbs_risk: float | None
    core: float | None
    seconds: float
    versions: str

    @property
    def key(self) -> Key:
        return Key(self.data, self.preparation, self.method, self.split)


@cache
def source() -> str:
    """A hash of the library's code, by which records of other states of it are known."""
    code = sha256()
    for path in sorted(Path(motlm.__file__).parent.rglob("*.py")):
        code.update(path.read_bytes())
    return code.hexdigest()[:8]


def versions() -> str:
    return (
        f"motlm {motlm.__version__} ({source()}), Python {platform.python_version()}, NumPy {numpy.__version__}, "
        f"SciPy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    )


_COLUMNS = [one.name for one in fields(Record)]
_NUMBERS = {"train": float, "valid": float, "test": float, "split": int, "n_features": int, "seconds": float}


class Store:
    """Records on disk. A line that a killed run left half-written does not count, and goes when the next one is written."""

    def __init__(self, path: Path = PLACE) -> None:
        self.path = path
        self.records: dict[Key, Record] = {}
        self._whole = 0  # bytes of whole lines
        if path.exists():
            content = path.read_bytes()
            self._whole = content.rfind(b"\n") + 1
            reader = csv.DictReader(io.StringIO(content[: self._whole].decode(), newline=""))
            if reader.fieldnames not in (None, _COLUMNS):
                raise SystemExit(f"{path} has other columns than {', '.join(_COLUMNS)}; move it away to begin anew.")
            for row in reader:
                self._take(row, reader.line_num)

    def _take(self, row: dict[str, str], line: int) -> None:
        values: dict[str, object] = dict(row)
        try:
            for name, kind in _NUMBERS.items():
                values[name] = kind(row[name])
            for name in ("gibbs_risk", "core"):
                values[name] = float(row[name]) if row[name] else None
            record = Record(**values)  # type: ignore[arg-type]
        except (TypeError, ValueError) as error:
            raise SystemExit(f"{self.path}, line {line}: not a record ({error}); remove the line.") from None
        self.records[record.key] = record

    def _mend(self) -> None:
        """Cut off half a line at the end, if it is still there."""
        if self.path.exists() and not self.path.read_bytes()[self._whole :].endswith(b"\n"):
            os.truncate(self.path, self._whole)

    def add(self, record: Record) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._mend()
        new = not self.path.exists() or self.path.stat().st_size == 0
        with self.path.open("a", newline="") as stream:
            writer = csv.DictWriter(stream, _COLUMNS, lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow({name: "" if value is None else value for name, value in asdict(record).items()})
            stream.flush()
            os.fsync(stream.fileno())
        self._whole = self.path.stat().st_size
        self.records[record.key] = record

    def of(self, data: str, preparation: str, method: str) -> list[Record]:
        """The records of a method on a data set, by split."""
        found = [one for one in self.records.values() if (one.data, one.preparation, one.method) == (data, preparation, method)]
        return sorted(found, key=lambda one: one.split)

    def others(self, keys: Iterable[Key]) -> int:
        """How many of these records another state of the library has computed."""
        return sum(source() not in self.records[key].versions for key in keys if key in self.records)

    def missing(self, keys: Iterable[Key]) -> list[Key]:
        return [key for key in dict.fromkeys(keys) if key not in self.records]
