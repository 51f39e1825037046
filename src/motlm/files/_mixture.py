"""The fitted mixture to and from entries.

Geometries, targets and overlaps are found by the kind that an entry names, and read themselves.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._typing import Array, Booleans
from ..bends import VALUES, Bend, Bends
from ..errors import InputError, ModelFileError
from ..geometry import Geometry, read_geometry
from ..inputs import HANDLE_UNKNOWN, Columns, Inputs, Reading
from ..limits import LARGEST, SMALLEST
from ..missing import MISSING
from ..mixture import Mixture
from ..overlap import OVERLAPS
from ..posterior import FIELDS, Layout, Posterior, check_ranges, shape_of
from ..targets import read_target
from ..units import Units
from ._provenance import LOCALITIES, provenance_entry, read_provenance
from ._read import MOST_INTEGER, Reader
from ._text import LARGEST as LARGEST_FILE
from ._text import plain

__all__ = ["mixture_entries", "read_mixture"]

WIDEST = 100_000  # encoded columns
MOST_KNOTS = 2 * VALUES  # of a column that bends
POINTS = 100_000  # of the curves of all models and classes: ten take about a millisecond to show
_AT_ONCE = 50  # localities whose tables are made at once
_NEAR = 1e-4  # relative, between a radius that was drawn and the median of its distribution
_SOLVED = 1e-11  # absolute, of the root that a radius is
_HALF = 0.5 + 1e-6
_LEAST_SHARE = 1e-13  # of a column, that a ramp has
_NARROW = 1e-12  # of a column's range, between two knots; fits leave more
_OVER = 1e-9  # by which a mean of numbers up to 1 may exceed 1, as it is rounded


def mixture_entries(mixture: Mixture) -> dict[str, Any]:
    return {
        "inputs": plain(mixture.inputs.content()),
        "geometry": plain(mixture.geometry.content()),
        "target": plain(mixture.target.content()),
        "posterior": plain(mixture.posterior.content()),
        "overlap": mixture.overlap.name,
        "provenance": provenance_entry(mixture.provenance, mixture.geometry),
    }


def read_mixture(read: Reader, owner: str) -> Mixture:
    """From the entries of a document; `owner` is the name of the estimator."""
    n = len(read.sequence("localities"))
    if n > LOCALITIES:
        raise ModelFileError(f"localities should be at most {LOCALITIES}; got {n} of them.")
    inputs = _read_inputs(read.part("inputs"), owner)
    geometry = read_geometry(read.part("geometry"), inputs, n)
    if not (geometry.radius >= 0).all():
        raise ModelFileError("geometry.radius should not be negative.")
    target = read_target(read.part("target"))
    _check_points(inputs, (n + 1) * math.prod(target.loss.scores))
    posterior = _read_posterior(read.part("posterior"), inputs, geometry, n, target.loss.scores)
    _check_radius(geometry, posterior)
    return Mixture(
        inputs=inputs,
        geometry=geometry,
        target=target,
        posterior=posterior,
        overlap=OVERLAPS[read.choice("overlap", OVERLAPS)],
        provenance=read_provenance(
            read.part("provenance"), n, len(inputs.varies), target.loss.scores, geometry
        ),
    )


def _read_inputs(read: Reader, owner: str) -> Inputs:
    columns = _read_columns(read)
    d = len(columns.encoded_names)
    named = read.boolean("named")
    handle_unknown = read.choice("handle_unknown", HANDLE_UNKNOWN)
    missing = read.choice("missing", MISSING) if "missing" in read.content else "error"
    labels, varies = columns.names if named else None, read.booleans("varies", d)
    made = Inputs(
        reading=Reading(columns, labels, named, owner, handle_unknown, missing),
        units=Units(read.array("center", (d,)), read.array("inverse_scale", (d,))),
        varies=varies,
        typical=read.array("typical", (d,)),
        bends=_read_bends(read, columns, varies) if "bends" in read.content else None,
        fill=read.array("fill", (d,)) if columns.incomplete else None,
    )
    shown = ("center", made.units.center), ("typical", made.typical), ("fill", made.stand_in)
    for name, value in shown:
        if not (np.abs(value) <= LARGEST).all():
            raise ModelFileError(f"{read.where}{name} should lie within {-LARGEST:g}, {LARGEST:g}.")
    scale = made.units.inverse_scale
    if not ((scale == 0) | ((scale >= 1 / LARGEST) & (scale <= 1 / SMALLEST))).all():
        raise ModelFileError(
            f"{read.where}inverse_scale should be 0, or lie between {1 / LARGEST:g} and"
            f" {1 / SMALLEST:g}."
        )
    read.done()
    return made


def _read_bends(read: Reader, columns: Columns, varies: Booleans) -> Bends:
    """Of numeric columns that vary, in their order."""
    numeric = [group.columns.start for group in columns.groups if group.levels is None]
    may = {j for j in numeric if varies[j]}
    found: list[Bend] = []
    for part in read.parts("bends"):
        column = part.integer("column", 0)
        if column not in may or (found and column <= found[-1].column):
            expected = "a numeric column that varies, after those of the entries before"
            raise part.fail("column", expected, column)
        knots = _read_knots(part)
        middle = part.array("middle", (len(knots) - 1,))
        if not ((middle >= 0.0) & (middle <= 1.0 + _OVER)).all():
            raise part.fail("middle", "numbers between 0 and 1", middle.tolist())
        share = part.array("share", middle.shape) if "share" in part.content else None
        if share is not None and not ((share >= _LEAST_SHARE) & (share <= 1.0 + _OVER)).all():
            expected = f"numbers between {_LEAST_SHARE:g} and 1"
            raise part.fail("share", expected, share.tolist())
        smooth = part.boolean("smooth") if "smooth" in part.content else False
        if smooth and share is not None:
            raise part.fail("smooth", "false, or no share", smooth)
        part.done()
        found.append(Bend(column, knots, middle, share, smooth))
    if not found:
        raise read.fail("bends", "absent, or those of some columns", [])
    return Bends(tuple(found))


def _check_points(inputs: Inputs, n_scores: int) -> None:
    """Curves are shown with their points, and told by the best of them."""
    if inputs.bends is None:
        return
    count = n_scores * sum(len(one.knots) for one in inputs.bends.each)
    if count > POINTS:
        raise ModelFileError(
            f"inputs.bends would make curves of {count} points; at most {POINTS} are read."
        )


def _read_knots(read: Reader) -> Array:
    """So far from each other that what lies between them can be computed."""
    count = len(read.sequence("knots"))
    if not 2 <= count <= MOST_KNOTS:
        raise read.fail("knots", f"2 to {MOST_KNOTS} numbers", f"{count} of them")
    knots = read.array("knots", (count,))
    if not (np.abs(knots) <= LARGEST).all():
        raise read.fail("knots", f"numbers within {LARGEST:g}", knots.tolist())
    gap = np.diff(knots)
    if not ((gap > 0.0) & (gap > _NARROW * (knots[-1] - knots[0]))).all():
        expected = f"increasing, by more than {_NARROW:g} of their range"
        raise read.fail("knots", expected, knots.tolist())
    return knots


def _read_columns(read: Reader) -> Columns:
    names, given = read.texts("names"), read.sequence("levels")
    if len(given) != len(names) or not names:
        raise read.fail("levels", f"one entry for each of {len(names)} names", given)
    for name, one in zip(names, given, strict=True):
        if one is not None and not _are_levels(one):
            raise read.fail("levels", f"null, or a list of the levels of {name!r}", one)
    incomplete = _read_incomplete(read, names, given)
    counts = [
        2 + (name in incomplete) if one is None else len(one)
        for name, one in zip(names, given, strict=True)
    ]
    width = sum(count - 1 for count in counts)
    letters = sum(len(name) * count for name, count in zip(names, counts, strict=True))
    if width > WIDEST or letters > LARGEST_FILE // 2:  # a file shows each name twice
        raise ModelFileError(
            f"{read.where}names would make {width} encoded columns; at most {WIDEST} are read."
        )
    levels = tuple(None if one is None else tuple(one) for one in given)
    return Columns(names, levels, incomplete)


def _read_incomplete(read: Reader, names: tuple[str, ...], levels: list[Any]) -> frozenset[str]:
    """The columns of numbers that had missing values."""
    if "incomplete" not in read.content:
        return frozenset()
    flags = read.booleans("incomplete", len(names))
    if not flags.any() or any(
        flag and one is not None for flag, one in zip(flags, levels, strict=True)
    ):
        raise read.fail("incomplete", "absent, or true for some columns of numbers", flags.tolist())
    return frozenset(name for name, flag in zip(names, flags, strict=True) if flag)


def _are_levels(value: Any) -> bool:
    """Texts and numbers, each once; null, for missing values, may be the last."""
    if not isinstance(value, list):
        return False
    value = value[:-1] if value[1:] and value[-1] is None else value
    if not set(map(type, value)) <= {str, bool, int, float}:
        return False
    whole = [one for one in value if isinstance(one, int)]
    return 0 < len(set(value)) == len(value) and all(abs(one) <= MOST_INTEGER for one in whole)


def _read_posterior(
    read: Reader, inputs: Inputs, geometry: Geometry, n: int, scores: tuple[int, ...]
) -> Posterior:
    """Learned centers lie among the rows' coordinates; given ones may have any width, or none."""
    n_features = inputs.n_features
    if geometry.learned or geometry.measured:
        row = np.zeros((1, len(inputs.varies)))
        n_coordinates = geometry.rows(row, inputs.coordinates(row))[0].shape[1]
    else:
        first = next(iter(read.sequence("center")), None)
        n_coordinates = len(first) if isinstance(first, list) else 0
    shapes = {name: shape_of(name, n, n_coordinates, n_features, scores) for name in FIELDS}
    layout = _read_layout(read, geometry, n, n_coordinates, n_features)
    made = Posterior(
        **{name: read.array(name, shape) for name, shape in shapes.items()}, layout=layout
    )
    read.done()
    try:
        check_ranges(made, geometry.learned)
    except InputError as error:
        raise ModelFileError(f"{read.where}{error.text}") from None
    _check_layout(read, geometry, inputs, made)
    return made


def _check_layout(read: Reader, geometry: Geometry, inputs: Inputs, posterior: Posterior) -> None:
    """Columns and corrections must be those of the geometry, and a weight that is not corrected
    that of the exterior.
    """
    layout = posterior.layout
    if layout is None:
        return
    wrong = geometry.misfit(inputs, posterior)
    if wrong:
        raise ModelFileError(f"{read.where}{wrong}.")
    same = np.broadcast_to(posterior.coef[-1], posterior.coef[:-1].shape)
    fixed = layout.corrected == 0
    fixed = fixed[:, None] if same.ndim > 2 else fixed
    if (np.where(fixed, posterior.coef[:-1] - same, 0.0) != 0).any():
        raise ModelFileError(
            f"{read.where}coef should be that of the exterior, the last, where corrected is 0."
        )


def _read_layout(
    read: Reader, geometry: Geometry, n: int, n_coordinates: int, n_features: int
) -> Layout | None:
    """Of localities in some columns, or whose models are corrections."""
    expected = geometry.layout(n_coordinates, n_features)
    if expected is None:
        return None
    if not (geometry.measured or expected.pooled) and "column_weight" not in read.content:
        return None  # of localities that were frozen
    weight = read.array("column_weight", (n, n_coordinates))
    corrected = read.array("corrected", (n, n_features))
    stray = corrected[(corrected != 0) & (corrected != 1)]
    if len(stray):
        raise read.fail("corrected", "numbers 0 and 1", float(stray[0]))
    pooled = read.boolean("pooled")
    if pooled != expected.pooled:
        raise read.fail("pooled", f"{expected.pooled}, as the geometry has it", pooled)
    return Layout(weight, corrected, pooled)


def _check_radius(geometry: Geometry, posterior: Posterior) -> None:
    """A radius must be where membership falls through 1/2, or 0 where it never reaches it."""
    radius = geometry.radius
    near = np.maximum([radius * (1 - _NEAR) - _SOLVED, radius * (1 + _NEAR) + _SOLVED], 0.0)
    for start in range(0, len(radius), _AT_ONCE):
        some = list(range(start, min(start + _AT_ONCE, len(radius))))
        for i, table in zip(some, geometry.tables(posterior.keep(some)), strict=True):
            within, beyond = table.look_up(table.value, table.place(near[:, i]))
            if (radius[i] > 0 and not within >= 1 - _HALF) or not beyond <= _HALF:
                raise ModelFileError(
                    f"geometry.radius does not agree with the posterior of locality {i}: membership"
                    f" is not 1/2 at the distance {radius[i]:g}."
                )
