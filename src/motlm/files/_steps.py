"""The steps of a pipeline before its estimator, to and from entries."""

from __future__ import annotations

import math
from typing import Any

from ..errors import ModelFileError
from ..limits import LARGEST
from ..pipelines import OPERATIONS, Known, Levels, Made, Prepared
from ._read import Reader
from ._text import plain

__all__ = ["read_steps", "steps_entry"]

_WIDEST = 100_000  # columns
_LONGEST = 100  # operations on a column


def steps_entry(steps: Prepared) -> dict[str, Any]:
    known = steps.known
    rows = {} if known is None else {"whole": list(known.whole), "medians": plain(known.medians)}
    return {
        "names": plain(steps.names),
        "named": bool(steps.named),
        "frame": bool(steps.frame),
        "columns": [
            {"name": plain(one.name), "source": one.source, "operations": _operations(one)}
            for one in steps.columns
        ],
        "levels": [
            {"source": place, "strict": bool(one.strict), "every": [_value(v) for v in one.every]}
            for place, one in steps.levels.items()
        ],
        **rows,  # absent of a model without a summary of its training rows
    }


def _operations(one: Made) -> list[list[Any]]:
    return [[name, _value(value)] for name, value in one.chain or ()]


def _value(value: Any) -> Any:
    """A level, or a number."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        raise ModelFileError(
            "a file cannot hold a step that takes a missing value for a category.",
            "Fill them with a text before, by SimpleImputer(strategy='constant', fill_value='?').",
        )
    return plain(value)


def read_steps(read: Reader, n_made: int, n_models: int) -> Prepared:
    """`n_made` is the number of columns that the estimator takes."""
    names = read.texts("names")
    if not 0 < len(names) <= _WIDEST:
        raise read.fail("names", f"1 to {_WIDEST} texts", f"{len(names)} of them")
    columns = [_read_column(one, len(names)) for one in read.parts("columns")]
    if len(columns) != n_made:
        raise read.fail("columns", f"{n_made}, as many as the estimator takes", len(columns))
    levels = {}
    for one in read.parts("levels"):
        place = one.integer("source", 0, len(names) - 1)
        every = tuple(one.sequence("every"))
        if not every or not all(isinstance(level, (str, bool, int, float)) for level in every):
            raise one.fail("every", "a list of texts and numbers", every)
        if not any(made.source == place and made.indicates for made in columns):
            raise one.fail("source", "that of a column which indicates a level", place)
        levels[place] = Levels(every, one.boolean("strict"))
        one.done()
    for made in columns:
        if made.indicates and (
            made.source not in levels or made.level not in levels[made.source].every
        ):
            raise read.fail("columns", "indicators of levels that are listed", made.name)
    named, frame = read.boolean("named"), read.boolean("frame")
    known = _read_known(read, n_made, n_models)
    made_by = Prepared(names, named, tuple(columns), levels, frame, known)
    read.done()
    return made_by


def _read_known(read: Reader, n_made: int, n_models: int) -> Known | None:
    """Absent from files of earlier versions."""
    if "medians" not in read.content:
        return None
    whole = read.integers("whole", len(read.sequence("whole")))
    if len(set(whole)) < len(whole) or max(whole, default=0) >= n_made:
        raise read.fail("whole", f"different numbers below {n_made}", list(whole))
    rows = []
    for row in read.sequence("medians"):
        sound = isinstance(row, list) and len(row) == n_made
        if not sound or not all(_is_sound("add", one) for one in row):
            raise read.fail("medians", f"rows of {n_made} numbers", row)
        rows.append(tuple(map(float, row)))
    if len(rows) != n_models:
        raise read.fail("medians", f"{n_models} rows, one of each model", f"{len(rows)} of them")
    return Known(whole, tuple(rows))


def _read_column(read: Reader, n_names: int) -> Made:
    name, source = read.text("name"), read.integer("source", 0, n_names - 1)
    operations = read.sequence("operations")
    if len(operations) > _LONGEST:
        raise read.fail("operations", f"at most {_LONGEST}", f"{len(operations)} of them")
    chain = []
    for one in operations:
        if not isinstance(one, list) or len(one) != 2 or one[0] not in OPERATIONS:
            raise read.fail(
                "operations", f"pairs of one of {', '.join(OPERATIONS)} and a value", one
            )
        if not _is_sound(*one):
            raise read.fail("operations", "a number to compute with, or a level", one)
        chain.append((one[0], one[1]))
    read.done()
    if sum(kind == "is" for kind, _ in chain) > 1:
        raise read.fail("operations", "at most one that indicates a level", operations)
    return Made(name, source, tuple(chain))


def _is_sound(name: str, value: Any) -> bool:
    if name in ("fill", "is"):
        return isinstance(value, (str, bool, int)) or (
            isinstance(value, float) and math.isfinite(value)
        )
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    size = abs(float(value)) if abs(value) <= LARGEST else math.inf
    return 1 / LARGEST <= size <= LARGEST if name in ("divide", "multiply") else size <= LARGEST
