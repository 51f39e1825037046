"""Where localities lie: their distances, their memberships, and how they are described.

A geometry is one class. The objective asks it for distances and partials, the search for places to
begin, explanations, exports, files and the report for centers, widths and loci. Add it to
GEOMETRIES, and files know it too.
"""

from __future__ import annotations

from typing import Any

from ..errors import ModelFileError
from ..inputs import Inputs
from ..metrics import Locus, Metric
from ._balls import LearnedBalls
from ._common import (
    LARGEST_START,
    SMALLEST_START,
    Geometry,
    Placed,
    Unbound,
    another_row,
    linear_scores,
    radii,
    rank,
)
from ._given import GivenCenters
from ._localities import LearnedLocalities
from ._rows import RowCenters, RowLocalities

__all__ = [
    "GEOMETRIES",
    "LARGEST_START",
    "SMALLEST_START",
    "Geometry",
    "GivenCenters",
    "LearnedBalls",
    "LearnedLocalities",
    "Locus",
    "Metric",
    "Placed",
    "RowCenters",
    "RowLocalities",
    "Unbound",
    "another_row",
    "linear_scores",
    "radii",
    "rank",
    "read_geometry",
]

GEOMETRIES: dict[str, type[Any]] = {
    one.kind: one
    for one in (GivenCenters, LearnedBalls, LearnedLocalities, RowCenters, RowLocalities)
}


def read_geometry(read: Any, inputs: Inputs, n_localities: int) -> Geometry:
    """The geometry of a file, by its kind."""
    kind = read.text("kind")
    if kind not in GEOMETRIES:
        raise ModelFileError(
            f"geometry.kind should be one of {', '.join(GEOMETRIES)}; got {kind[:40]!r}."
        )
    geometry: Geometry = GEOMETRIES[kind].read(read, inputs, n_localities)
    read.done()
    return geometry
