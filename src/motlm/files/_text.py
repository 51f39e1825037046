"""Between values, documents and text: JSON of a bounded size and depth, each entry once."""

from __future__ import annotations

import json
import math
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelFileError, NotAModelFileError

__all__ = ["LARGEST", "checksum", "parse", "plain", "read_text", "render"]

LARGEST = 64 * 2**20  # bytes of a file that is read
DEEPEST = 20  # levels of nesting; the schema has seven
# the last one may be cut off: every quote begins a match, so that the search is linear
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_KINDS = "biufUTO"  # of arrays: truth values, numbers, texts and mixtures of them
_OTHERS = bytes(set(range(256)) - set(b"[]{}"))


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


_PICKLE = "Pickle the model."


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ModelFileError(f"the model has an entry named {value!r}; names are texts.", _PICKLE)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ModelFileError(f"the text {value!r} cannot be written: {error}.") from None
    return str(value)


def checksum(content: dict[str, Any]) -> str:
    """Of all entries but the checksum itself, in the order of their names."""
    counted = {name: value for name, value in content.items() if name != "checksum"}
    text = json.dumps(counted, sort_keys=True, allow_nan=False, ensure_ascii=True)
    return sha256(text.encode()).hexdigest()


def render(document: dict[str, Any]) -> str:
    """A document as text, no longer than a file may be."""
    text = json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    size = len(text.encode())
    if size > LARGEST:
        raise ModelFileError(
            f"the model takes {size} bytes, more than the {LARGEST} that a model file may have.",
            _PICKLE,
        )
    return text


# -- from text -------------------------------------------------------------------------------------


def read_text(place: Path) -> str:
    """The text of a file that may be a model."""
    if place.exists() and not place.is_file():
        raise ModelFileError("not a plain file.")
    size = place.stat().st_size
    if size > LARGEST:
        raise ModelFileError(
            f"it has {size} bytes, more than the {LARGEST} that a model file may have."
        )
    try:
        return place.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise NotAModelFileError(f"not a text file in UTF-8: {error}.") from None


def parse(text: str) -> dict[str, Any]:
    """The document of a text; nothing but an object of JSON is one."""
    depth = _depth(text)
    if depth > DEEPEST:
        raise ModelFileError(
            f"not a model file: nested {depth} levels deep, where {DEEPEST} are allowed."
        )
    try:
        content = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise NotAModelFileError(f"not JSON, or cut off: {error}.") from None
    except ModelFileError:
        raise
    except ValueError as error:  # an integer of thousands of digits
        raise ModelFileError(f"not a model file: {error}.") from None
    if not isinstance(content, dict):
        raise ModelFileError(
            f"not a model file: expected a JSON object, got a {type(content).__name__}."
        )
    return content


def _depth(text: str) -> int:
    """How deep the brackets outside of strings are nested."""
    brackets = _STRINGS.sub("", text).encode("utf-8", "replace").translate(None, _OTHERS)
    codes = np.frombuffer(brackets, dtype=np.uint8)
    steps = np.where((codes == ord("[")) | (codes == ord("{")), 1, -1).astype(np.int8)
    return int(np.cumsum(steps, dtype=np.int32).max(initial=0))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The entries of an object, of which none may occur twice."""
    entries: dict[str, Any] = {}
    for name, value in pairs:
        if name in entries:
            raise ModelFileError(f"the entry {name[:60]!r} occurs twice.")
        entries[name] = value
    return entries


def _no_constant(name: str) -> Any:
    raise ModelFileError(f"it holds {name}, which is not a number that a model may have.")
