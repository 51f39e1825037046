"""The results file: one line for each (data set, preparation, method, split), written as it is computed."""

from __future__ import annotations

import csv
import os
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
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
    preparation: str  # "paper", "sound", or "none" for the synthetic sets
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


def versions() -> str:
    return (
        f"motlm {motlm.__version__}, Python {platform.python_version()}, NumPy {numpy.__version__}, SciPy {scipy.__version__}, "
        f"scikit-learn {sklearn.__version__}"
    )


_COLUMNS = [one.name for one in fields(Record)]
_NUMBERS = {"train": float, "valid": float, "test": float, "split": int, "n_features": int, "seconds": float}


class Store:
    """Records on disk. A line that a killed run left half-written is removed."""

    def __init__(self, path: Path = PLACE) -> None:
        self.path = path
        self.records: dict[Key, Record] = {}
        if path.exists():
            self._mend()
            with path.open(newline="") as stream:
                for row in csv.DictReader(stream):
                    self._take(row)

    def _mend(self) -> None:
        content = self.path.read_bytes()
        if content and not content.endswith(b"\n"):
            self.path.write_bytes(content[: content.rfind(b"\n") + 1])

    def _take(self, row: dict[str, str]) -> None:
        if set(row) != set(_COLUMNS):
            raise SystemExit(f"{self.path} has other columns than {', '.join(_COLUMNS)}; move it away to begin anew.")
        values: dict[str, object] = dict(row)
        for name, kind in _NUMBERS.items():
            values[name] = kind(row[name])
        for name in ("gibbs_risk", "core"):
            values[name] = float(row[name]) if row[name] else None
        record = Record(**values)  # type: ignore[arg-type]
        self.records[record.key] = record

    def add(self, record: Record) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = not self.path.exists() or self.path.stat().st_size == 0
        with self.path.open("a", newline="") as stream:
            writer = csv.DictWriter(stream, _COLUMNS, lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow({name: "" if value is None else value for name, value in asdict(record).items()})
            stream.flush()
            os.fsync(stream.fileno())
        self.records[record.key] = record

    def of(self, data: str, preparation: str, method: str) -> list[Record]:
        """The records of a method on a data set, by split."""
        found = [one for one in self.records.values() if (one.data, one.preparation, one.method) == (data, preparation, method)]
        return sorted(found, key=lambda one: one.split)

    def missing(self, keys: Iterable[Key]) -> list[Key]:
        return [key for key in dict.fromkeys(keys) if key not in self.records]
