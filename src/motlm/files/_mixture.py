"""The fitted mixture to and from entries.

Geometries, targets and overlaps are found by the kind that an entry names, and read themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ModelFileError
from ..geometry import Geometry, read_geometry
from ..inputs import HANDLE_UNKNOWN, Columns, Inputs, Reading
from ..mixture import Mixture
from ..overlap import OVERLAPS
from ..posterior import FIELDS, Posterior, shape_of
from ..targets import read_target
from ..units import Units
from ._provenance import provenance_entry, read_provenance
from ._read import Reader
from ._text import LARGEST, plain

__all__ = ["mixture_entries", "read_mixture"]

WIDEST = 100_000  # encoded columns
_MAY_BE_ZERO = ("center_scale",)  # of a center that was given


def mixture_entries(mixture: Mixture) -> dict[str, Any]:
    return {
        "inputs": plain(mixture.inputs.content()),
        "geometry": plain(mixture.geometry.content()),
        "target": plain(mixture.target.content()),
        "posterior": {name: plain(getattr(mixture.posterior, name)) for name in FIELDS},
        "overlap": mixture.overlap.name,
        "provenance": provenance_entry(mixture.provenance),
    }


def read_mixture(read: Reader, owner: str) -> Mixture:
    """From the entries of a document; `owner` is the name of the estimator."""
    n = len(read.sequence("localities"))
    inputs = _read_inputs(read.part("inputs"), owner)
    geometry = read_geometry(read.part("geometry"), inputs, n)
    if not (geometry.radius >= 0).all():
        raise ModelFileError("geometry.radius should not be negative.")
    return Mixture(
        inputs=inputs,
        geometry=geometry,
        target=read_target(read.part("target")),
        posterior=_read_posterior(read.part("posterior"), inputs, geometry, n),
        overlap=OVERLAPS[read.choice("overlap", OVERLAPS)],
        provenance=read_provenance(read.part("provenance"), n),
    )


def _read_inputs(read: Reader, owner: str) -> Inputs:
    columns = _read_columns(read)
    d = len(columns.encoded_names)
    named = read.boolean("named")
    handle_unknown = read.choice("handle_unknown", HANDLE_UNKNOWN)
    labels = columns.names if named else None
    made = Inputs(
        reading=Reading(columns, labels, named, owner, handle_unknown),
        units=Units(read.array("center", (d,)), read.array("inverse_scale", (d,))),
        varies=read.booleans("varies", d),
        typical=read.array("typical", (d,)),
    )
    if not (made.units.inverse_scale >= 0).all():
        raise ModelFileError(f"{read.where}inverse_scale should not be negative.")
    read.done()
    return made


def _read_columns(read: Reader) -> Columns:
    names, given = read.texts("names"), read.sequence("levels")
    if len(given) != len(names) or not names:
        raise read.fail("levels", f"one entry for each of {len(names)} names", given)
    for name, one in zip(names, given, strict=True):
        if one is not None and not _are_levels(one):
            raise read.fail("levels", f"null, or a list of the levels of {name!r}", one)
    counts = [2 if one is None else len(one) for one in given]
    width = sum(count - 1 for count in counts)
    letters = sum(len(name) * count for name, count in zip(names, counts, strict=True))
    if width > WIDEST or letters > LARGEST:
        raise ModelFileError(
            f"{read.where}names would make {width} encoded columns; at most {WIDEST} are read."
        )
    return Columns(names, tuple(None if one is None else tuple(one) for one in given))


def _are_levels(value: Any) -> bool:
    kinds = (str, bool, int, float)
    return isinstance(value, list) and bool(value) and all(isinstance(one, kinds) for one in value)


def _read_posterior(read: Reader, inputs: Inputs, geometry: Geometry, n: int) -> Posterior:
    """Learned centers lie among the rows' coordinates; given ones may have any width, or none."""
    n_features = int(inputs.varies.sum())
    if geometry.learned:
        row, features = np.zeros((1, len(inputs.varies))), np.zeros((1, n_features))
        n_coordinates = geometry.rows(row, features)[0].shape[1]
    else:
        first = next(iter(read.sequence("center")), None)
        n_coordinates = len(first) if isinstance(first, list) else 0
    arrays = {}
    for name, declared in FIELDS.items():
        value = read.array(name, shape_of(name, n, n_coordinates, n_features))
        if declared.positive and name in _MAY_BE_ZERO and not (value >= 0).all():
            raise ModelFileError(f"{read.where}{name} should not be negative.")
        if declared.positive and name not in _MAY_BE_ZERO and not (value > 0).all():
            raise ModelFileError(f"{read.where}{name} should be positive.")
        arrays[name] = value
    read.done()
    return Posterior(**arrays)
