"""Model files: one JSON document, readable by people, exact to the last bit; loading it runs no code
and checks everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..inputs import TableNotes
from ..mixture import Mixture


@dataclass(frozen=True)
class Saved:
    """What a file holds."""

    estimator: str
    parameters: dict[str, Any]
    mixture: Mixture
    table: TableNotes | None = None
    certificate: Any = None


def save_model(saved: Saved, path: Any, overwrite: bool = True) -> Any:
    raise NotImplementedError


def read_model(path: Any, make: Any) -> Any:
    raise NotImplementedError
