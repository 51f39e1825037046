"""The parameters of an estimator to and from entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from numbers import Integral, Real
from typing import Any

import numpy as np

from .._typing import AnyArray
from ..checks import Settings, check_units
from ..errors import ModelFileError, MotlmError
from ..fitting import geometries_of
from ..frames import from_arrow, is_frame
from ..inputs import Inputs
from ..mixture import Mixture
from ..posterior import Prior
from ..units import Units
from ._provenance import prior_entry, read_prior
from ._read import Reader, show
from ._text import plain

__all__ = ["check_parameters", "parameter_entries", "read_parameters"]

_MOST = 2**63  # of an integer
_SEEDS = 2**32  # that random_state may be


def parameter_entries(parameters: dict[str, Any], inputs: Inputs) -> dict[str, Any]:
    """As plain values: points of interest as rows, a generator of random numbers not at all."""
    return {name: _entry(name, value, inputs) for name, value in parameters.items()}


def _entry(name: str, value: Any, inputs: Inputs) -> Any:
    if callable(value):
        raise ModelFileError(
            f"{name}={value!r} is a function, which a file cannot hold; use a {name} by name, or"
            " pickle the model."
        )
    if isinstance(value, Prior):
        return prior_entry(value)
    if isinstance(value, Units):
        return _units_entry(value)
    if name == "class_weight" and isinstance(value, dict):
        return [[plain(label), plain(float(weight))] for label, weight in value.items()]
    if name == "points_of_interest" and value is not None:
        return _points_entry(value, inputs)
    if name == "locality_columns" and not (value is None or isinstance(value, (str, Integral))):
        return [plain(one) for one in _listed(name, value)]
    if name == "locality_widths" and not isinstance(value, str):
        if isinstance(value, Mapping):
            return [[plain(column), plain(width)] for column, width in value.items()]
        return _numbers_entry(name, np.atleast_1d(value))
    if name == "monotonic_cst" and value is not None:
        return _signs_entry(name, value)
    if name == "inverse_temperature" and not isinstance(value, str):
        return _numbers_entry(name, value)
    if name == "random_state" and not (value is None or isinstance(value, (int, np.integer))):
        return None  # a generator in some state; the model no longer needs it
    return plain(value)


def _listed(name: str, values: Any) -> list[Any]:
    try:
        return list(values)
    except TypeError:
        raise ModelFileError(f"{name} should be names of columns; got {show(values)}.") from None


def _signs_entry(name: str, value: Any) -> list[Any]:
    """-1, 0 and 1: in order, or [column, number] each."""
    named = isinstance(value, Mapping)
    signs = list(value.values()) if named else list(np.ravel(np.asarray(value, dtype=object)))
    flat = named or np.ndim(value) == 1
    if not flat or not all(isinstance(one, Real) and one in (-1, 0, 1) for one in signs):
        raise ModelFileError(f"{name} should be numbers -1, 0 and 1; got {show(value)}.")
    whole = [int(one) for one in signs]
    return [list(pair) for pair in zip(map(plain, value), whole, strict=True)] if named else whole


def _points_entry(points: Any, inputs: Inputs) -> list[list[Any]]:
    """Rows in the order of the model's columns."""
    points = from_arrow(points)
    if is_frame(points):
        labels = inputs.labels
        if labels is not None and set(labels) == set(points.columns):
            points = points[list(labels)]
        points = points.to_numpy()
    table = np.asarray(points, dtype=object)
    if table.ndim != 2:
        raise ModelFileError(
            f"points_of_interest should be rows; got an array of shape {table.shape}."
        )
    rows: list[list[Any]] = plain(table)
    return [[float(value) for value in row] for row in rows] if _are_numbers(rows) else rows


def _are_numbers(rows: list[list[Any]]) -> bool:
    return all(isinstance(value, (int, float)) for row in rows for value in row)


def _numbers_entry(name: str, value: Any) -> Any:
    try:
        return plain(np.asarray(value, dtype=float))
    except (TypeError, ValueError, OverflowError):
        raise ModelFileError(f"{name} should be numbers; got {show(value)}.") from None


def _units_entry(units: Units) -> dict[str, Any]:
    return {
        "center": plain(np.asarray(units.center, dtype=float)),
        "inverse_scale": plain(np.asarray(units.inverse_scale, dtype=float)),
        "target_center": plain(float(units.target_center)),
        "target_scale": plain(float(units.target_scale)),
    }


def read_parameters(read: Reader, n_encoded: int) -> dict[str, Any]:
    """The parameters; which there should be, and what they may be, the estimator knows."""

    structured: dict[tuple[str, type], Callable[[str], Any]] = {
        ("prior", dict): lambda name: read_prior(read.part(name)),
        ("standardize", dict): lambda name: _read_units(read.part(name), n_encoded),
        ("inverse_temperature", list): lambda name: _read_numbers(read, name),
        ("class_weight", list): lambda name: _read_weights(read, name),
        ("points_of_interest", list): lambda name: _read_points(read, name),
        ("locality_columns", list): lambda name: _read_names(read, name),
        ("locality_widths", list): lambda name: _read_widths(read, name),
        ("monotonic_cst", list): lambda name: _read_signs(read, name),
    }
    found = {}
    for name, value in read.content.items():
        take = structured.get((name, type(value)))
        if take is None and isinstance(value, (dict, list)):
            raise read.fail(name, "a plain value", value)
        if isinstance(value, int) and abs(value) > _MOST:
            raise read.fail(name, "a number that a computer can hold", value)
        found[name] = read.raw(name) if take is None else take(name)
    read.done()
    return found


def _read_numbers(read: Reader, name: str) -> tuple[float, ...]:
    values = read.sequence(name)
    return tuple(read.shaped(name, values, (len(values),)).tolist())


def _read_names(read: Reader, name: str) -> list[Any]:
    """Names or numbers of columns."""
    found = read.sequence(name)
    if not all(type(one) in (str, int) for one in found):
        raise read.fail(name, "names or numbers of columns", found)
    return list(found)


def _read_widths(read: Reader, name: str) -> Any:
    """In order, or [column, width] each."""
    found = read.sequence(name)
    if all(isinstance(one, list) for one in found):
        return _read_weights(read, name)
    return _read_numbers(read, name)


def _read_signs(read: Reader, name: str) -> Any:
    """In order, or [column, -1, 0 or 1] each."""
    found = read.sequence(name)
    named = all(isinstance(one, list) for one in found)
    if named and not all(len(one) == 2 and isinstance(one[0], str) for one in found):
        raise read.fail(name, "a list of [column, number]", found)
    signs = [one[1] for one in found] if named else found
    if not all(type(one) is int and one in (-1, 0, 1) for one in signs):
        raise read.fail(name, "numbers -1, 0 and 1, in order or by column", found)
    if not named:
        return found
    by_column: dict[str, int] = dict(found)
    if len(by_column) < len(found):
        raise read.fail(name, "different columns", found)
    return by_column


def _read_weights(read: Reader, name: str) -> dict[Any, float]:
    """Of classes: [label, weight] each."""
    pairs = read.sequence(name)
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or isinstance(pair[0], (list, dict)):
            raise read.fail(name, "a list of [label, weight]", pair)
    weights = read.shaped(name, [pair[1] for pair in pairs], (len(pairs),)).tolist()
    return {pair[0]: weight for pair, weight in zip(pairs, weights, strict=True)}


def _read_points(read: Reader, name: str) -> AnyArray:
    rows = read.sequence(name)
    widths = {len(row) if isinstance(row, list) else -1 for row in rows}
    if len(widths) != 1 or -1 in widths:
        raise read.fail(name, "a list of rows of one length", rows)
    values = [value for row in rows for value in row]
    if not all(isinstance(value, (str, bool, int, float)) for value in values):
        raise read.fail(name, "rows of texts and numbers", rows)
    try:
        return np.array(rows, dtype=float if _are_numbers(rows) else object)
    except OverflowError:
        raise read.fail(name, "numbers that a computer can hold", rows) from None


def _read_units(read: Reader, d: int) -> Units:
    made = Units(
        read.array("center", (d,)),
        read.array("inverse_scale", (d,)),
        read.number("target_center"),
        read.number("target_scale", 0.0),
    )
    if not (made.inverse_scale >= 0).all() or made.target_scale == 0:
        raise ModelFileError(f"{read.where}inverse_scale and target_scale should be positive.")
    read.done()
    return made


def check_parameters(parameters: dict[str, Any], mixture: Mixture) -> None:
    """Raise where a next fit would refuse the parameters, or where they are not those that the
    mixture is read by. Whether they are all those of the estimator, the estimator knows.
    """
    known = {one.name for one in fields(Settings)}
    settings = Settings(**{name: one for name, one in parameters.items() if name in known})
    try:
        _check_settings(settings, mixture)
    except (MotlmError, TypeError, ValueError) as error:
        raise ModelFileError(f"its parameters are not sound: {str(error)[:300]}") from None
    same = {
        "overlap": mixture.overlap.name,
        "handle_unknown": mixture.inputs.handle_unknown,
        "missing": mixture.inputs.missing,
    }
    for name, used in same.items():
        if name in parameters and parameters[name] != used:
            raise ModelFileError(
                f"parameters.{name} is {parameters[name]!r}, but the model is read by {used!r}."
            )


def _check_settings(settings: Settings, mixture: Mixture) -> None:
    """By the checks of fit."""
    settings.check()
    settings.temperatures(mixture.target)
    settings.check_metric()
    reading, points = mixture.inputs.reading, settings.points_of_interest
    if points is not None:
        points = reading.encode_points(points)
    geometries_of(points, settings, reading.columns, mixture.target)
    # a certificate may have put the zero-one loss in place of the log loss that is fitted
    if settings.loss != "log" or settings.solver == "nadam":
        settings.models_of(mixture.target)
    settings.signs_of(reading.columns)
    if isinstance(settings.standardize, Units):
        check_units(settings.standardize, mixture.inputs.names, mixture.target.scaled)
    seed, jobs = settings.random_state, settings.n_jobs
    if seed is not None and not (type(seed) is int and 0 <= seed < _SEEDS):
        raise ValueError(f"random_state must be None or an integer below 2**32; got {show(seed)}.")
    if jobs is not None and not (type(jobs) is int and jobs):
        raise ValueError(f"n_jobs must be None or an integer other than 0; got {show(jobs)}.")
