"""Between values, documents and text: JSON of a bounded size and depth, each entry once."""

from __future__ import annotations

import gc
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelFileError, NotAModelFileError
from ._scan import LARGEST, check_extent

__all__ = ["LARGEST", "checksum", "parse", "plain", "read_bytes", "render"]

_KINDS = "biufUTO"  # of arrays: truth values, numbers, texts and mixtures of them
_AT_ONCE = 1000  # entries of a list that are written at once
_SHARE = 2**20  # characters that are written at once
_PICKLE = "Pickle the model."


# -- to text ---------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """A value as JSON can hold it: mappings, sequences and arrays of texts and finite numbers."""
    if isinstance(value, dict):
        return {_text(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in _KINDS:
        inner = value.tolist()
        if not isinstance(inner, np.generic):
            return plain(inner)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ModelFileError(f"the model has a number that is not finite ({value}).", _PICKLE)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    raise ModelFileError(
        f"the model has a value of type {type(value).__name__}, which a file cannot hold.", _PICKLE
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ModelFileError(f"the model has an entry named {value!r}; names are texts.", _PICKLE)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        reason = f"{error.reason}, at position {error.start}"
        raise ModelFileError(f"the text {value[:60]!r} cannot be written: {reason}.") from None
    return str(value)


def checksum(content: dict[str, Any]) -> str:
    """Of all entries but the checksum itself, in the order of their names.

    Raises
    ------
    ModelFileError
        For half of a pair of surrogates, which is not a character.
    """
    counted = {name: value for name, value in content.items() if name != "checksum"}
    digest, escaped = sha256(), False
    for piece in _pieces(counted):
        digest.update(piece.encode())
        escaped = escaped or "\\ud" in piece
    if escaped:
        _check_characters(counted)
    return digest.hexdigest()


def _pieces(value: Any) -> Iterator[str]:
    """What json.dumps with sorted keys writes, in parts."""
    if isinstance(value, dict):
        for i, name in enumerate(sorted(value)):
            yield f"{', ' if i else '{'}{_dump(name)}: "
            yield from _pieces(value[name])
        yield "}" if value else "{}"
    elif isinstance(value, list) and value:
        for start in range(0, len(value), _AT_ONCE):
            yield ", " if start else "["
            yield from _entries(value[start : start + _AT_ONCE])
        yield "]"
    elif isinstance(value, str) and len(value) > _SHARE:
        yield '"'
        for start in range(0, len(value), _SHARE):
            yield _dump(value[start : start + _SHARE])[1:-1]
        yield '"'
    else:
        yield _dump(value)


def _entries(values: list[Any]) -> Iterator[str]:
    """Entries of a list: at once, unless they hold long texts or more than numbers by column."""
    inner = [one for part in values for one in (part if type(part) is list else (part,))]
    letters = sum([len(one) for one in inner if type(one) is str])
    if letters + len(inner) <= _SHARE and not {list, dict} & set(map(type, inner)):
        yield _dump(values)[1:-1]
        return
    for i, one in enumerate(values):
        yield ", " if i else ""
        yield from _pieces(one)


def _dump(value: Any) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False, ensure_ascii=True)


def _check_characters(value: Any) -> None:
    """Raise for a text that has half of a pair of surrogates."""
    if isinstance(value, str):
        _text(value)
    elif isinstance(value, list):
        for one in value:
            _check_characters(one)
    elif isinstance(value, dict):
        for name, one in value.items():
            _text(name)
            _check_characters(one)


def render(document: dict[str, Any]) -> bytes:
    """A document as text in UTF-8, no longer than a file may be."""
    text = json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    data = text.encode()
    if len(data) > LARGEST:
        raise ModelFileError(
            f"the model takes {len(data)} bytes, more than the {LARGEST} that a model file may"
            " have.",
            _PICKLE,
        )
    return data


# -- from text -------------------------------------------------------------------------------------


def read_bytes(place: Path) -> bytes:
    """The content of a file that may be a model."""
    if place.exists() and not place.is_file():
        raise ModelFileError("not a plain file.")
    with place.open("rb") as stream:
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        size = max(place.stat().st_size, len(data))
        raise ModelFileError(
            f"it has {size} bytes, more than the {LARGEST} that a model file may have."
        )
    return data


def parse(data: bytes) -> dict[str, Any]:
    """The document of a text; nothing but an object of JSON is one.

    What it would take is found beforehand, so that time and memory are bounded.
    """
    check_extent(data)
    text = _decode(data)
    del data
    try:
        with _no_collection():
            content = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise NotAModelFileError(f"not JSON, or cut off: {error}.") from None
    if not isinstance(content, dict):
        raise ModelFileError(
            f"not a model file: expected a JSON object, got a {type(content).__name__}."
        )
    return content


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        where = f"{error.reason}, at byte {error.start}"
        raise NotAModelFileError(f"not a text file in UTF-8: {where}.") from None


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without looks for garbage, of which parsing makes none and which take a third of its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The entries of an object, of which none may occur twice."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                break
            seen.add(name)
        raise ModelFileError(f"the entry {name[:60]!r} occurs twice.")
    return entries


def _no_constant(name: str) -> Any:
    raise ModelFileError(f"it holds {name}, which is not a number that a model may have.")
