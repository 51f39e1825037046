"""Model files: one JSON document, readable by people, exact to the last bit; loading it runs no
code and checks everything.

The schema is described in docs/files.md. Files of earlier versions are brought up to date by
`_UPGRADES`.
"""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from sklearn.metrics.pairwise import _VALID_METRICS

from ._typing import AnyArray, Array
from ._version import __version__
from .columns import Columns, TableNotes
from .combinations import COMBINATIONS
from .fingerprints import SIZE, Fingerprint
from .localities import Locality, LocalModel, Units
from .losses import Loss, Squared, ZeroOne
from .objective import KnownCenters, LearnedCenters, Vicinity
from .optimize import Record
from .posterior import Posterior, Prior
from .problem import NO_ROWS, Metric, Problem

__all__ = [
    "SCHEMA",
    "ModelFileError",
    "atomic_stream",
    "from_document",
    "load",
    "save",
    "to_document",
    "write_atomically",
]

FORMAT, SCHEMA = "motlm model", 2
LARGEST = 64 * 2**20  # bytes of a file that is read
WIDEST = 100_000  # encoded columns
DEEPEST = 20  # levels of nesting; the schema has six
_ESTIMATORS = ("LocalMixtureClassifier", "LocalMixtureRegressor")
_DTYPES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
    "object",
    "text",
)


class ModelFileError(ValueError):
    """A file that is not a model, or not one that this version can read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import motlm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.json"
    ...     _ = path.write_text("{}")
    ...     try:
    ...         motlm.load(path)
    ...     except motlm.ModelFileError as error:
    ...         print(str(error).removeprefix(f"{path}: "))
    not a model file: it lacks the entry format = 'motlm model'.
    """


# -- to a document ---------------------------------------------------------------------------------


def to_document(model: Any) -> dict[str, Any]:
    """All that a fitted estimator is, as values that JSON can hold."""
    if type(model).__name__ not in _ESTIMATORS:
        raise TypeError(f"model files hold motlm's estimators; got a {type(model).__name__}.")
    problem: Problem = model._fitted
    if problem.metric is not None and not isinstance(problem.metric.name, str):
        raise ModelFileError(
            f"metric={problem.metric.name!r} is a function, which a file cannot hold; use a metric"
            " by name, or pickle the model."
        )
    certificate = getattr(model, "certificate_", None)
    n = model.posterior_.n_localities  # a search for more has a prior for more
    prior = (
        problem.prior
        if len(np.asarray(problem.prior.radius_shape)) == n
        else problem.prior.keep(range(n))
    )
    content = {
        "format": FORMAT,
        "schema": SCHEMA,
        "library": f"motlm {__version__}",
        "estimator": type(model).__name__,
        "localities": [_local(one) for one in model.localities_],
        "exterior": _local(model.exterior_),
        "parameters": _parameters(model),
        "columns": {
            "names": list(model._columns.names),
            "levels": [
                None if levels is None else [_scalar(level) for level in levels]
                for levels in model._columns.levels
            ],
            "feature_names_in": _names(model),
            "typical": _list(model._typical),
        },
        "classes": _labeled(model.classes_) if hasattr(model, "classes_") else None,
        "units": _units(problem.units),
        "units_from": model._units_from,
        "most_localities": int(model._most_localities),
        "chosen_localities": int(getattr(model, "_chosen", n)),
        "varies": [bool(one) for one in problem.varies],
        "points": None if problem.points is None else _list(problem.points),
        "metric": None if problem.metric is None else _metric(problem.metric),
        "prior": {one.name: _list(np.asarray(getattr(prior, one.name))) for one in fields(Prior)},
        "free": list(problem.free),
        "posterior": {
            one.name: _list(getattr(model.posterior_, one.name)) for one in fields(Posterior)
        },
        "radius": _list(model._radius),
        "training": {
            name: _scalar(getattr(model, name))
            for name in (
                "objective_",
                "gibbs_risk_",
                "kl_",
                "inverse_temperature_",
                "n_iter_",
                "target_scale_",
                "residual_scale_",
            )
            if hasattr(model, name)
        },
        "path": [
            {one.name: _scalar(getattr(record, one.name)) for one in fields(Record)}
            for record in model.path_
        ],
        "fingerprint": _fingerprint(model._fingerprint),
        "table": _table(getattr(model, "table_", None), model._columns),
        "certificate": None if certificate is None else certificate.to_dict(),
    }
    return {**content, "checksum": _checksum(content)}


def save(model: Any, path: Any, overwrite: bool = True) -> Path:
    """Write a fitted estimator to a JSON file; to a temporary one first, so that a crash leaves no
    half file.
    """
    text = json.dumps(to_document(model), indent=1, allow_nan=False, ensure_ascii=False)
    return write_atomically(path, text + "\n", overwrite)


def write_atomically(path: Any, text: str, overwrite: bool = True) -> Path:
    """Write a text file by way of a temporary one beside it."""
    place = Path(path)
    if place.is_dir():
        raise IsADirectoryError(f"{place} is a folder; give the name of a file.")
    if place.exists() and not place.is_file():
        raise FileExistsError(f"{place} is not a plain file, and is not replaced.")
    if place.exists() and not overwrite:
        raise FileExistsError(f"{place} exists; give another name, or allow it to be replaced.")
    with atomic_stream(place) as stream:
        stream.write(text)
    return place


@contextmanager
def atomic_stream(place: Path) -> Iterator[TextIO]:
    """A stream to a temporary file, which takes the name of the place when all went well, and is
    removed otherwise.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, _mode_of(place))
        os.replace(name, place)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _mode_of(place: Path) -> int:
    """The permissions of the file that is replaced, or those that the user's new files have."""
    if place.exists():
        return place.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _scalar(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not math.isfinite(value):
        raise ModelFileError(
            f"the model has a number that is not finite ({value}); it cannot be saved."
        )
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ModelFileError(
        f"the model has a value of type {type(value).__name__}, which a file cannot hold; pickle"
        " the model."
    )


def _list(array: AnyArray) -> Any:
    """Nested lists; infinity, of a ball that has no end along a column, becomes null."""
    values = np.asarray(array)
    if values.ndim == 0:
        return _scalar(values[()])
    if values.ndim > 1:
        return [_list(row) for row in values]
    return [
        None if isinstance(value, float) and math.isinf(value) else _scalar(value)
        for value in values.tolist()
    ]


def _local(one: LocalModel) -> dict[str, Any]:
    """A model and its locality as a person reads them: by column."""
    entry: dict[str, Any] = {
        "formula": one.formula(),
        "n_rows": one.n_rows,
        "intercept": float(one.intercept),
        "intercept_scale": float(one.intercept_scale),
        "coef": _by_name(one, one.coef),
        "coef_scale": _by_name(one, one.coef_scale),
    }
    if isinstance(one, Locality):
        entry |= {
            "radius": float(one.radius),
            "radius_mean": float(one.radius_mean),
            "point": int(one.point),
            "center": _by_name(one, one.center),
            "center_scale": _by_name(one, one.center_scale),
            "half_width": None if one.half_width is None else _by_name(one, one.half_width),
        }
    return entry


def _by_name(one: LocalModel, values: Array) -> list[list[Any]]:
    return [[name, value] for name, value in zip(one.feature_names, _list(values), strict=True)]


def _parameters(model: Any) -> dict[str, Any]:
    """The constructor's parameters; points of interest as plain rows, a generator of random numbers
    not at all.
    """
    kept: dict[str, Any] = {}
    for name, value in model.get_params(deep=False).items():
        if name == "points_of_interest":
            kept[name] = None if value is None else _points(model, value)
        elif name == "prior":
            kept[name] = (
                None
                if value is None
                else {
                    one.name: _list(np.asarray(getattr(value, one.name))) for one in fields(Prior)
                }
            )
        elif name == "standardize" and isinstance(value, Units):
            kept[name] = _units(value)
        elif name == "inverse_temperature" and not isinstance(value, str):
            kept[name] = _list(np.asarray(value, dtype=float))
        elif name == "random_state" and not (value is None or isinstance(value, (int, np.integer))):
            kept[name] = None  # a generator in some state; the model no longer needs it
        else:
            kept[name] = _scalar(value)
    return kept


def _points(model: Any, points: Any) -> list[list[Any]]:
    """Rows in the order of the model's columns."""
    if hasattr(points, "columns"):
        points = points[model._labels] if model._labels is not None else points
        points = points.to_numpy()
    rows = [[_scalar(value) for value in row] for row in np.asarray(points, dtype=object).tolist()]
    numbers = all(isinstance(value, (int, float)) for row in rows for value in row)
    return [[float(value) for value in row] for row in rows] if numbers else rows


def _names(model: Any) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _units(units: Units) -> dict[str, Any]:
    return {
        "center": _list(units.center),
        "inverse_scale": _list(units.inverse_scale),
        "target_center": _scalar(float(units.target_center)),
        "target_scale": _scalar(float(units.target_scale)),
    }


def _metric(metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "arguments": {name: _list(value) for name, value in metric.arguments.items()},
    }


def _labeled(classes: AnyArray) -> dict[str, Any]:
    dtype = "text" if classes.dtype.kind in "UT" else str(classes.dtype)
    if dtype not in _DTYPES:
        raise ModelFileError(
            f"labels of type {classes.dtype} cannot be saved; use text or numbers, or pickle the"
            " model."
        )
    return {"dtype": dtype, "values": [_scalar(value) for value in classes.tolist()]}


def _table(table: TableNotes | None, columns: Columns) -> dict[str, Any] | None:
    if table is None:
        return None
    _check_fill(table.fill, columns)
    fill = {name: _scalar(value) for name, value in table.fill.items()}
    calibration = (
        None if table.calibration is None else [_scalar(value) for value in table.calibration]
    )
    return {
        "target": table.target,
        "id_column": table.id_column,
        "fill": fill,
        "calibration": calibration,
    }


def _fingerprint(mark: Fingerprint) -> dict[str, Any]:
    return {
        "keys": [f"{int(key):016x}" for key in mark.keys],
        "n_rows": mark.n_rows,
        "n_distinct": mark.n_distinct,
        "pairs": mark.pairs,
        "target_mean": mark.target_mean,
        "target_scale": mark.target_scale,
    }


def _checksum(content: dict[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, allow_nan=False, ensure_ascii=True)
    return sha256(text.encode()).hexdigest()


# -- from a document -------------------------------------------------------------------------------


def load(path: Any) -> Any:
    """The estimator that was saved to a file. No code is run; a file that is not whole and sound is
    an error that says why.

    Parameters
    ----------
    path : str or Path
        Of a file that `save` of an estimator wrote.

    Returns
    -------
    LocalMixtureClassifier or LocalMixtureRegressor

    Raises
    ------
    ModelFileError
        If it is not a model, or not one that this version can read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import motlm
    >>> from motlm.datasets import make_reg_case1
    >>> X, y = make_reg_case1(100, random_state=0)
    >>> mixture = motlm.LocalMixtureRegressor(points_of_interest=[[0.0]], inverse_temperature=16, n_starts=1, random_state=0)
    >>> model = mixture.fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = model.save(Path(folder) / "model.json")
    ...     again = motlm.load(path)
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    place = Path(path)
    if place.exists() and not place.is_file():
        raise ModelFileError(f"{place} is not a plain file.")
    size = place.stat().st_size
    if size > LARGEST:
        raise ModelFileError(
            f"{place} has {size} bytes, more than the {LARGEST} that a model file may have."
        )
    try:
        text = place.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ModelFileError(f"{place} is not a text file in UTF-8: {error}.") from None
    try:
        return from_document(_parsed(text))
    except ModelFileError as error:
        raise ModelFileError(f"{place}: {error}") from None


def _parsed(text: str) -> dict[str, Any]:
    deepest = depth = 0
    quoted = escaped = False
    for character in text if _might_be_deep(text) else "":
        if quoted:
            quoted = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            quoted = True
        elif character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    if deepest > DEEPEST:
        raise ModelFileError(
            f"not a model file: nested {deepest} levels deep, where {DEEPEST} are allowed."
        )

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        entries = dict(pairs)
        if len(entries) != len(pairs):
            seen: set[str] = set()
            for name, _ in pairs:
                if name in seen:
                    raise ModelFileError(f"the entry {name[:60]!r} occurs twice.")
                seen.add(name)
        return entries

    def no_constant(name: str) -> Any:
        raise ModelFileError(f"it holds {name}, which is not a number that a model may have.")

    try:
        content = json.loads(text, object_pairs_hook=once, parse_constant=no_constant)
    except json.JSONDecodeError as error:
        raise ModelFileError(f"not JSON, or cut off: {error}.") from None
    except RecursionError:
        raise ModelFileError(
            f"not a model file: nested more than the {DEEPEST} levels that are allowed."
        ) from None
    except ValueError as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(
            f"not a model file: {error}."
        ) from None  # an integer of thousands of digits
    if not isinstance(content, dict):
        raise ModelFileError(
            f"not a model file: expected a JSON object, got a {type(content).__name__}."
        )
    return content


def _might_be_deep(text: str) -> bool:
    """A quick look: brackets in a row without a closing one between are rare in a sound file."""
    run = 0
    for part in text.split("]"):
        run = max(run, part.count("[") + part.count("{"))
        if run > DEEPEST:
            return True
    return False


class _Reader:
    """Takes entries out of a document, each with its type and shape checked."""

    def __init__(self, content: dict[str, Any], where: str = "") -> None:
        self.content, self.where, self.left = content, where, set(content)

    def fail(self, name: str, expected: str, got: Any) -> ModelFileError:
        shown = repr(got)
        return ModelFileError(
            f"{self.where}{name} should be {expected}; got"
            f" {shown[:80]}{'..' if len(shown) > 80 else ''}."
        )

    def take(self, name: str, kinds: tuple[type, ...], expected: str) -> Any:
        if name not in self.content:
            raise ModelFileError(f"the entry {self.where}{name} is missing.")
        self.left.discard(name)
        value = self.content[name]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise self.fail(name, expected, value)
        return value

    def text(self, name: str) -> str:
        return str(self.take(name, (str,), "a text"))

    def number(self, name: str, low: float = -math.inf) -> float:
        value = self.take(name, (int, float), "a number")
        try:
            number = float(value)
        except OverflowError:
            raise self.fail(
                name, "a number that a computer can hold", "one of many digits"
            ) from None
        if not number >= low:
            raise self.fail(name, f"a number >= {low:g}", value)
        return number

    def integer(self, name: str, low: int, high: int = 2**53) -> int:
        value = self.take(name, (int,), "an integer")
        if not low <= value <= high:
            raise self.fail(name, f"an integer between {low} and {high}", value)
        return int(value)

    def part(self, name: str) -> _Reader:
        return _Reader(self.take(name, (dict,), "an object"), f"{self.where}{name}.")

    def sequence(self, name: str) -> list[Any]:
        return list(self.take(name, (list,), "a list"))

    def texts(self, name: str) -> tuple[str, ...]:
        values = self.sequence(name)
        for value in values:
            if not isinstance(value, str):
                raise self.fail(name, "a list of texts", value)
        return tuple(values)

    def array(self, name: str, shape: tuple[int, ...], *, endless: bool = False) -> Array:
        return self.shaped(
            name, self.take(name, (list, int, float), f"an array of shape {shape}"), shape, endless
        )

    def shaped(
        self, name: str, values: Any, shape: tuple[int, ...], endless: bool = False
    ) -> Array:
        """Numbers of a shape; null is infinity where that may be."""

        def walk(value: Any, rest: tuple[int, ...]) -> Any:
            if rest:
                if not isinstance(value, list) or len(value) != rest[0]:
                    got = f"{len(value)} entries" if isinstance(value, list) else repr(value)[:40]
                    raise ModelFileError(
                        f"{self.where}{name} should have shape {shape}; got {got}."
                    )
                return [walk(entry, rest[1:]) for entry in value]
            if value is None and endless:
                return math.inf
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise self.fail(name, "numbers", value)
            return value

        try:
            return np.array(walk(values, shape), dtype=float).reshape(shape)
        except OverflowError:
            raise ModelFileError(f"{self.where}{name} has a number of too many digits.") from None

    def done(self) -> None:
        if self.left:
            raise ModelFileError(
                "unknown entries"
                f" {', '.join(repr(self.where + name) for name in sorted(self.left)[:5])}."
            )


def _from_1_to_2(content: dict[str, Any]) -> dict[str, Any]:
    if "table" in content:
        raise ModelFileError("unknown entries 'table'.")
    return {**content, "schema": 2, "table": None}


_UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {1: _from_1_to_2}


def from_document(content: dict[str, Any]) -> Any:
    """The estimator of a document that `to_document` made."""
    if content.get("format") != FORMAT:
        raise ModelFileError("not a model file: it lacks the entry format = 'motlm model'.")
    version = content.get("schema")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ModelFileError(f"schema should be an integer from 1 on; got {repr(version)[:60]}.")
    if version > SCHEMA:
        raise ModelFileError(
            f"it has schema {version}, and motlm {__version__} reads schemas up to {SCHEMA}; it was"
            f" written by {str(content.get('library'))[:40]}. Use that version or a newer one."
        )
    given = {name: value for name, value in content.items() if name != "checksum"}
    try:
        sound = content.get("checksum") == _checksum(given)
    except (ValueError, RecursionError):
        sound = False
    if not sound:
        raise ModelFileError(
            "it was changed or damaged after it was saved: its content does not fit its checksum."
        )
    while version < SCHEMA:
        given = _UPGRADES[version](given)
        version += 1
    return _built(_Reader(given))


def _built(read: _Reader) -> Any:
    for name in ("format", "schema", "library"):
        read.left.discard(name)
    kind = read.text("estimator")
    if kind not in _ESTIMATORS:
        raise read.fail("estimator", f"one of {', '.join(_ESTIMATORS)}", kind)
    cls = getattr(import_module(".estimators", __package__), kind)
    classification = kind == _ESTIMATORS[0]
    columns, typical, names_in = _columns(read.part("columns"))
    d = len(columns.encoded_names)
    n = (
        len(read.content.get("localities", ()))
        if isinstance(read.content.get("localities"), list)
        else -1
    )
    model = _empty(cls, read.part("parameters"), d)
    varies = read.sequence("varies")
    if len(varies) != d or not all(isinstance(one, bool) for one in varies):
        raise read.fail("varies", f"{d} values true or false", varies)
    used = int(sum(varies))
    units = _read_units(read.part("units"), d)
    metric, points = None, None
    vicinity: Vicinity = LearnedCenters()
    raw_points, raw_metric = (
        read.take(name, (list, dict, type(None)), "an array, an object or null")
        for name in ("points", "metric")
    )
    known = raw_points is not None
    if known:
        points, vicinity = read.shaped("points", raw_points, (n, d)), KnownCenters()
        metric = _read_metric(
            _Reader(raw_metric if isinstance(raw_metric, dict) else {}, "metric."), d
        )
    elif raw_metric is not None:
        raise read.fail("metric", "null, as centers are learned", raw_metric)
    centers = used if not known else None
    model.posterior_ = _laws(read.part("posterior"), n, used, centers, Posterior)
    prior = _laws(read.part("prior"), n, used, centers, Prior)
    combine = getattr(model, "combine", "sum")
    if combine not in COMBINATIONS:
        raise read.fail("parameters.combine", f"one of {', '.join(COMBINATIONS)}", combine)
    loss: Loss = ZeroOne() if classification else Squared()
    free = read.texts("free")
    if not set(free) <= {one.name for one in fields(Posterior)}:
        raise read.fail("free", "names of the posterior's laws", free)
    model._fitted = Problem(
        units,
        np.array(varies, dtype=bool),
        NO_ROWS,
        points,
        metric,
        vicinity,
        loss,
        COMBINATIONS[combine],
        prior,
        free,
    )
    model._radius = read.array("radius", (n,))
    model._columns, model._typical = columns, typical
    model._labels = None if names_in is None else list(names_in)
    model.n_features_in_ = len(columns.names)
    if names_in is not None:
        model.feature_names_in_ = np.array(names_in, dtype=object)
    classes = read.take("classes", (dict, type(None)), "an object or null")
    if classification:
        model.classes_ = _classes(_Reader(classes or {}, "classes."))
    elif classes is not None:
        raise read.fail("classes", "null for a regressor", classes)
    model.localities_ = [
        _read_local(
            _Reader(_object(one, f"localities.{i}"), f"localities.{i}."),
            columns.encoded_names,
            True,
        )
        for i, one in enumerate(read.sequence("localities"))
    ]
    model.exterior_ = _read_local(read.part("exterior"), columns.encoded_names, False)
    model._units_from = read.text("units_from")
    if model._units_from not in ("rows", "given", "nowhere"):
        raise read.fail("units_from", "rows, given or nowhere", model._units_from)
    model._most_localities = read.integer("most_localities", 0)
    model._chosen = read.integer("chosen_localities", 0)
    _read_training(model, read.part("training"), classification)
    model.path_ = [
        _read_record(_Reader(_object(one, f"path.{i}"), f"path.{i}."))
        for i, one in enumerate(read.sequence("path"))
    ]
    model._fingerprint = _read_fingerprint(read.part("fingerprint"))
    table = read.take("table", (dict, type(None)), "an object or null")
    if table is not None:
        model.table_ = _read_table(_Reader(table, "table."), columns)
    certificate = read.take("certificate", (dict, type(None)), "an object or null")
    if certificate is not None:
        try:
            model.certificate_ = import_module(".certificates", __package__).Certificate.from_dict(
                certificate
            )
        except (ValueError, TypeError, KeyError) as error:
            raise ModelFileError(f"its certificate is not sound: {error}") from None
    read.done()
    return model


def _object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ModelFileError(f"{name} should be an object; got {repr(value)[:60]}.")
    return value


def _empty(cls: Any, read: _Reader, d: int) -> Any:
    """An estimator with its parameters."""
    known = set(cls().get_params(deep=False))
    given = dict(read.content)
    if set(given) != known:
        raise ModelFileError(
            f"parameters should be {', '.join(sorted(known))}; got"
            f" {', '.join(sorted(given))[:200]}."
        )
    for name, value in given.items():
        if name == "prior" and isinstance(value, dict):
            try:
                given[name] = Prior(
                    **{key: np.asarray(entry, dtype=float) for key, entry in value.items()}
                )
            except (TypeError, ValueError, OverflowError) as error:
                raise ModelFileError(f"parameters.prior is not sound: {str(error)[:200]}") from None
        elif name == "standardize" and isinstance(value, dict):
            given[name] = _read_units(_Reader(value, "parameters.standardize."), d)
        elif name == "inverse_temperature" and isinstance(value, list):
            given[name] = tuple(value)
        elif name == "points_of_interest" and isinstance(value, list):
            given[name] = _read_points(read, value)
        elif isinstance(value, (dict, list)):
            raise read.fail(name, "a plain value", value)
    model = cls(**given)
    try:
        model._check_parameters()
        model._temperatures()
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"its parameters are not sound: {str(error)[:300]}") from None
    return model


def _read_points(read: _Reader, rows: list[Any]) -> AnyArray:
    widths = {len(row) if isinstance(row, list) else -1 for row in rows}
    if len(widths) != 1 or -1 in widths:
        raise read.fail("points_of_interest", "a list of rows of one length", rows)
    values = [value for row in rows for value in row]
    if not all(isinstance(value, (str, bool, int, float)) for value in values):
        raise read.fail("points_of_interest", "rows of texts and numbers", rows)
    numbers = all(isinstance(value, (int, float)) for value in values)
    try:
        return np.array(rows, dtype=float if numbers else object)
    except OverflowError:
        raise read.fail(
            "points_of_interest", "numbers that a computer can hold", "one of many digits"
        ) from None


def _columns(read: _Reader) -> tuple[Columns, Array, tuple[str, ...] | None]:
    names = read.texts("names")
    levels: list[tuple[Any, ...] | None] = []
    for name, one in zip(names, read.sequence("levels"), strict=False):
        if one is None:
            levels.append(None)
            continue
        if (
            not isinstance(one, list)
            or not one
            or not all(isinstance(level, (str, bool, int, float)) for level in one)
        ):
            raise read.fail("levels", f"null, or a list of the levels of {name!r}", one)
        levels.append(tuple(one))
    if len(levels) != len(names) or len(read.content["levels"]) != len(names) or not names:
        raise read.fail(
            "levels", f"one entry for each of {len(names)} names", read.content["levels"]
        )
    width = sum(1 if one is None else len(one) - 1 for one in levels)
    letters = sum(
        len(name) * (1 if one is None else len(one))
        for name, one in zip(names, levels, strict=True)
    )
    if width > WIDEST or letters > LARGEST:
        raise ModelFileError(
            f"columns would make {width} encoded columns; at most {WIDEST} are read."
        )
    columns = Columns(names, tuple(levels))
    typical = read.array("typical", (len(columns.encoded_names),))
    names_in = read.take("feature_names_in", (list, type(None)), "a list of texts or null")
    if names_in is not None:
        names_in = read.texts("feature_names_in")
        if names_in != names:
            raise read.fail("feature_names_in", "the same as names", names_in)
    read.done()
    return columns, typical, names_in


def _read_table(read: _Reader, columns: Columns) -> TableNotes:
    target, id_column = (
        read.text("target"),
        read.take("id_column", (str, type(None)), "a text or null"),
    )
    fill = read.part("fill").content
    _check_fill(fill, columns)
    given = read.take("calibration", (list, type(None)), "two numbers or null")
    calibration = None
    if given is not None:
        slope, intercept = read.shaped("calibration", given, (2,)).tolist()
        calibration = slope, intercept
    read.done()
    return TableNotes(target, id_column, fill, calibration)


def _check_fill(fill: Mapping[str, Any], columns: Columns) -> None:
    levels = dict(zip(columns.names, columns.levels, strict=True))
    read = _Reader(dict(fill), "table.fill.")
    for name, value in fill.items():
        if name not in levels:
            raise ModelFileError(
                f"table.fill should be values for columns of the model; got {name!r}."
            )
        known = levels[name]
        if known is None:
            read.number(name)
        elif value not in known:
            raise read.fail(name, "a level of the column", value)


def _read_units(read: _Reader, d: int) -> Units:
    units = Units(
        read.array("center", (d,)),
        read.array("inverse_scale", (d,)),
        read.number("target_center"),
        read.number("target_scale", 0.0),
    )
    if (units.inverse_scale < 0).any() or units.target_scale == 0:
        raise ModelFileError(f"{read.where}inverse_scale and target_scale should be positive.")
    read.done()
    return units


def _read_metric(read: _Reader, d: int) -> Metric:
    name, arguments = read.text("name"), read.part("arguments")
    shapes = {"V": (d,), "VI": (d, d)}
    if not set(arguments.content) <= set(shapes):
        raise read.fail("arguments", "V or VI", list(arguments.content))
    needs = {"mahalanobis": {"VI"}, "seuclidean": {"V"}}.get(name, set())
    if name not in _VALID_METRICS or set(arguments.content) != needs:
        raise read.fail("name", "a metric that scikit-learn knows, with its arguments", name)
    read.done()
    return Metric(name, {key: arguments.array(key, shapes[key]) for key in arguments.content})


def _laws(read: _Reader, n: int, used: int, centers: int | None, cls: type) -> Any:
    """Arrays of a prior or posterior; with known centers those of the center may have any width, or
    none.
    """
    one = read.content.get("center")
    width = centers
    if width is None:
        width = len(one[0]) if isinstance(one, list) and one and isinstance(one[0], list) else 0
    shapes = {"center": (n, width), "coef": (n + 1, used)}
    shapes |= dict.fromkeys(("center_scale", "radius_shape", "radius_rate"), (n,))  # type: ignore[arg-type]
    shapes |= dict.fromkeys(("coef_scale", "intercept", "intercept_scale"), (n + 1,))  # type: ignore[arg-type]
    arrays = {}
    for name, shape in shapes.items():
        arrays[name] = read.array(name, shape)
        if (
            name in ("radius_shape", "radius_rate", "coef_scale", "intercept_scale")
            and not (arrays[name] > 0).all()
        ):
            raise ModelFileError(f"{read.where}{name} should be positive.")
        if name == "center_scale" and not (arrays[name] >= 0).all():
            raise ModelFileError(f"{read.where}{name} should not be negative.")
    read.done()
    try:
        return cls(**arrays)
    except ValueError as error:
        raise ModelFileError(f"{read.where[:-1]}: {error}") from None


def _classes(read: _Reader) -> AnyArray:
    dtype, values = read.text("dtype"), read.sequence("values")
    if dtype not in _DTYPES:
        raise read.fail("dtype", f"one of {', '.join(_DTYPES)}", dtype)
    if (
        len(values) != 2
        or values[0] == values[1]
        or not all(isinstance(value, (str, bool, int, float)) for value in values)
    ):
        raise read.fail("values", "two different labels", values)
    read.done()
    try:
        made = (
            np.array(values)
            if dtype == "text"
            else np.array(values, dtype=object if dtype == "object" else dtype)
        )
    except (ValueError, OverflowError, TypeError):
        raise read.fail("values", f"labels of type {dtype}", values) from None
    if made.tolist() != values:
        raise read.fail("values", f"labels of type {dtype}", values)
    return made


def _read_local(read: _Reader, names: tuple[str, ...], ball: bool) -> LocalModel:
    d = len(names)

    def by_name(entry: str, endless: bool = False) -> Array:
        pairs = read.sequence(entry)
        if [
            pair[0] if isinstance(pair, list) and len(pair) == 2 else None for pair in pairs
        ] != list(names):
            raise read.fail(entry, f"a list of [column, number] for the {d} columns", pairs)
        return read.shaped(entry, [pair[1] for pair in pairs], (d,), endless)

    read.text("formula")
    common: dict[str, Any] = {
        "feature_names": names,
        "coef": by_name("coef"),
        "coef_scale": by_name("coef_scale"),
        "intercept": read.number("intercept"),
        "intercept_scale": read.number("intercept_scale", 0.0),
        "n_rows": read.integer("n_rows", 0),
    }
    if not ball:
        read.done()
        return LocalModel(**common)
    width = read.take("half_width", (list, type(None)), "a list or null")
    one = Locality(
        **common,
        center=by_name("center"),
        center_scale=by_name("center_scale"),
        radius=read.number("radius", 0.0),
        radius_mean=read.number("radius_mean", 0.0),
        half_width=None if width is None else by_name("half_width", endless=True),
        point=read.integer("point", 0),
    )
    read.done()
    return one


def _read_training(model: Any, read: _Reader, classification: bool) -> None:
    for name in (
        ("inverse_temperature_",)
        if classification
        else ("inverse_temperature_", "target_scale_", "residual_scale_")
    ):
        if name not in read.content:
            raise ModelFileError(f"the entry training.{name} is missing.")
    for name in read.content:
        if name == "n_iter_":
            model.n_iter_ = read.integer(name, 0)
        elif name in (
            "objective_",
            "gibbs_risk_",
            "kl_",
            "inverse_temperature_",
            "target_scale_",
            "residual_scale_",
        ):
            setattr(model, name, read.number(name))
        else:
            raise ModelFileError(f"unknown entry 'training.{name}'.")


def _read_record(read: _Reader) -> Record:
    values: dict[str, Any] = {
        "stage": read.text("stage"),
        "converged": read.take("converged", (bool,), "true or false"),
    }
    for name in ("n_localities", "rank", "n_iter"):
        values[name] = read.integer(name, 0)
    for name in ("inverse_temperature", "objective", "gibbs_risk", "kl"):
        values[name] = read.number(name)
    for name in ("held_out_score", "bound"):
        values[name] = None if read.content.get(name, 0) is None else read.number(name)
        read.left.discard(name)
    read.done()
    return Record(**values)


def _read_fingerprint(read: _Reader) -> Fingerprint:
    keys = read.texts("keys")
    if len(keys) > SIZE:
        raise read.fail("keys", f"at most {SIZE} hashes", f"{len(keys)} of them")
    strange = [key for key in keys if not re.fullmatch("[0-9a-f]{16}", key)]
    if strange:
        raise read.fail("keys", "hashes of 16 hexadecimal digits", strange[0])
    numbers = np.array([int(key, 16) for key in keys], dtype=np.uint64)
    if (np.diff(numbers.astype(object)) <= 0).any():
        raise ModelFileError("fingerprint.keys should increase.")
    mark = Fingerprint(
        numbers,
        read.integer("n_rows", 0),
        read.integer("n_distinct", len(keys)),
        read.number("pairs", 0.0),
        read.number("target_mean"),
        read.number("target_scale", 0.0),
    )
    read.done()
    return mark
