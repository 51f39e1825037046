"""Changes of JSON documents that know how a model file is made."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

from motlm.errors import MotlmError
from motlm.files import SCHEMA
from motlm.files._mixture import read_mixture
from motlm.files._models import model_entries
from motlm.files._read import Reader

from . import values
from .chance import Chance
from .corpus import Base

__all__ = ["change", "damage", "digest", "mend_models", "sign"]

Path = tuple[Any, ...]
_PARTS = (
    *("certificate", "posterior", "geometry", "inputs", "target", "table", "provenance"),
    *("parameters", "localities", "exterior", "overlap", "estimator", "schema"),
)
_TEXTS = ("formula", "where", "correction")  # of a locality, which tell of columns and levels
_LIKELY = ("posterior", "geometry", "inputs", "target", "certificate", "table", "provenance")


# -- one change ------------------------------------------------------------------------------------


def change(chance: Chance, document: dict[str, Any], others: Sequence[Base]) -> None:
    """One change of a document, in place."""
    kind = chance.whole(0, 19)
    if kind < 2:
        _transplant(chance, document, chance.pick(others).document())
    elif kind < 4:
        _rename_everywhere(chance, document)
    elif kind < 5:
        _swap(chance, document)
    else:
        _change_at(chance, document, _somewhere(chance, document))


def _somewhere(chance: Chance, document: dict[str, Any]) -> Path:
    """A path into a document: down to a value, or to a part on the way."""
    path: Path = ()
    here: Any = document
    if chance.likely(0.6):
        known = [name for name in _LIKELY if isinstance(document.get(name), (dict, list))]
        if known:
            path = (chance.pick(known),)
            here = document[path[0]]
    while isinstance(here, (dict, list)) and here and (not path or chance.likely(0.9)):
        key = chance.pick(list(here) if isinstance(here, dict) else range(len(here)))
        path, here = (*path, key), here[key]
    return path


def _get(document: Any, path: Path) -> Any:
    for key in path:
        document = document[key]
    return document


def _set(chance: Chance, document: Any, path: Path, value: Any) -> None:
    chance.note(f"{'.'.join(map(str, path))[:80]} := {values.shown(value)}")
    _get(document, path[:-1])[path[-1]] = value


def _change_at(chance: Chance, document: dict[str, Any], path: Path) -> None:
    if not path:
        return
    before = _get(document, path)
    if chance.likely(0.12):
        _set(chance, document, path, values.other_type(chance))
    elif isinstance(before, str):
        _set(chance, document, path, values.text(chance, before))
    elif isinstance(before, (int, float)) and not isinstance(before, bool):
        _set(chance, document, path, values.number(chance, before))
    elif isinstance(before, list):
        _set(chance, document, path, chance.pick(_LISTS)(chance, before))
    elif isinstance(before, dict):
        _set(chance, document, path, chance.pick(_OBJECTS)(chance, before))
    else:
        _set(chance, document, path, values.other_type(chance))


def _without(chance: Chance, before: Any) -> Any:
    left = chance.whole(0, max(len(before) - 1, 0))
    if isinstance(before, dict):
        return {name: one for i, (name, one) in enumerate(before.items()) if i != left}
    return [one for i, one in enumerate(before) if i != left]


def _with_another(chance: Chance, before: list[Any]) -> list[Any]:
    at = chance.whole(0, len(before))
    new = chance.pick(before) if before and chance.likely(0.6) else values.other_type(chance)
    return [*before[:at], new, *before[at:]]


def _all_numbers(chance: Chance, before: Any) -> Any:
    """Every number in it replaced by one, or times one."""
    extreme = chance.pick((-1.0, 1.0, 1.0)) * chance.pick(values.EXTREMES)
    times = chance.likely(0.5)

    def walk(value: Any) -> Any:
        if isinstance(value, list):
            return [walk(one) for one in value]
        if isinstance(value, dict):
            return {name: walk(one) for name, one in value.items()}
        if isinstance(value, float):
            return value * extreme if times and abs(value * extreme) < 1.8e308 else extreme
        return value

    return walk(before)


def _longer(chance: Chance, before: list[Any]) -> list[Any]:
    return before * chance.pick((2, 3, 100)) if len(before) < 100 else before * 2


_LISTS: tuple[Callable[[Chance, Any], Any], ...] = (
    *(_without, _with_another, _all_numbers, _all_numbers, _longer),
    lambda chance, before: before[::-1],
    lambda chance, before: sorted(before, key=repr),
    lambda chance, before: [before],
    lambda chance, before: before[:1],
)
_OBJECTS: tuple[Callable[[Chance, Any], Any], ...] = (
    *(_without, _all_numbers),
    lambda chance, before: {**before, values.text(chance, "new"): values.other_type(chance)},
    lambda chance, before: [list(one) for one in before.items()],
    lambda chance, before: {values.text(chance, name): one for name, one in before.items()},
)


def _transplant(chance: Chance, document: dict[str, Any], other: dict[str, Any]) -> None:
    """A part of another model."""
    shared = [name for name in _PARTS if name in other and name in document]
    weight = [name for name in shared if name == "certificate" and other[name]]
    name = chance.pick([*shared, *weight * 4])
    if isinstance(document[name], dict) and isinstance(other[name], dict) and chance.likely(0.3):
        inner = [key for key in document[name] if key in other[name]]
        if inner:
            key = chance.pick(inner)
            _set(chance, document, (name, key), other[name][key])
            return
    _set(chance, document, (name,), other[name])


def _swap(chance: Chance, document: dict[str, Any]) -> None:
    first, second = _somewhere(chance, document), _somewhere(chance, document)
    if first[: len(second)] == second or second[: len(first)] == first:
        return  # one is within the other
    one, two = _get(document, first), _get(document, second)
    _set(chance, document, first, two)
    _set(chance, document, second, one)


def _rename_everywhere(chance: Chance, document: dict[str, Any]) -> None:
    """A column, a level or a class by another name wherever it occurs, also within formulas."""
    found = _names(document)
    if not found:
        return
    before = chance.pick(found)
    after = values.text(chance, before)
    chance.note(f"{values.shown(before)} renamed {values.shown(after)}")

    def walk(value: Any, formula: bool = False) -> Any:
        if isinstance(value, list):
            return [walk(one) for one in value]
        if isinstance(value, dict):
            return {walk(name): walk(one, name in _TEXTS) for name, one in value.items()}
        if isinstance(value, str) and (value == before or (formula and before in value)):
            return value.replace(before, after) if before else after
        return value

    for part in ("inputs", "columns", "classes", "target", "localities", "exterior", "table"):
        if part in document:
            document[part] = walk(document[part])
    if isinstance(document.get("parameters"), dict):
        for name in ("points_of_interest", "locality_columns", "locality_widths"):
            if name in document["parameters"]:
                document["parameters"][name] = walk(document["parameters"][name])


def _names(document: dict[str, Any]) -> list[str]:
    """Names of columns, levels and classes."""
    found: list[Any] = []
    for part, entries in (
        ("inputs", ("names", "levels")),
        ("columns", ("names", "levels")),
        ("target", ("classes",)),
        ("classes", ("values",)),
    ):
        inner = document.get(part)
        for entry in entries:
            listed = inner.get(entry) if isinstance(inner, dict) else None
            for one in listed if isinstance(listed, list) else ():
                found += one if isinstance(one, list) else [one]
    return list(dict.fromkeys(one for one in found if isinstance(one, str) and one))


# -- what makes a changed document acceptable ------------------------------------------------------


def mend_models(document: dict[str, Any]) -> None:
    """Let the models that are shown be those of the posterior, if it can be read."""
    if document.get("schema") != SCHEMA:
        return
    try:
        mixture = read_mixture(Reader(document), str(document.get("estimator")))
        document.update(model_entries(mixture))
    except (MotlmError, ArithmeticError, ValueError, TypeError, LookupError, AttributeError):
        return  # load has to refuse it


def sign(chance: Chance, document: dict[str, Any]) -> None:
    """Checksums that fit what is in the document, in most cases."""
    certificate = document.get("certificate")
    if isinstance(certificate, dict) and "digest" in certificate and chance.likely(0.95):
        certificate["digest"] = digest(certificate, "digest")
    if chance.likely(0.98):
        document["checksum"] = digest(document, "checksum")


def digest(content: dict[str, Any], entry: str) -> str:
    """The checksum that stands in this entry, as docs/files.md describes it."""
    counted = {name: value for name, value in content.items() if name != entry}
    text = json.dumps(counted, sort_keys=True, ensure_ascii=True)
    return sha256(text.encode()).hexdigest()


# -- bytes -----------------------------------------------------------------------------------------


def damage(chance: Chance, data: bytes) -> bytes:
    """Bytes cut off, turned, put in, or taken for another encoding."""
    kind = chance.pick(("cut", "flip", "insert", "drop", "double", "encode", "nest", "prefix"))
    chance.note(f"bytes: {kind}")
    at = chance.whole(0, len(data))
    if kind == "cut":
        return data[:at]
    if kind == "flip":
        return (
            data[:at]
            + bytes(one ^ (1 << chance.whole(0, 7)) for one in data[at : at + 1])
            + (data[at + 1 :])
        )
    if kind == "insert":
        new = chance.pick((b"\0", b"\xff", b"{", b"]", b"NaN", b"Infinity", b"1" * 5000, b'"'))
        return data[:at] + new + data[at:]
    if kind == "drop":
        return data[:at] + data[at + chance.whole(1, 200) :]
    if kind == "double":
        lines = data.splitlines(keepends=True)
        line = chance.whole(0, max(len(lines) - 1, 0))
        return b"".join([*lines[: line + 1], *lines[line:]])
    if kind == "encode":
        return data.decode("utf-8", "replace").encode(chance.pick(("utf-16", "utf-32", "utf-7")))
    if kind == "nest":
        depth = chance.pick((10, 1000, 100_000))
        return b'{"format": ' + b"[" * depth + b"]" * depth + b"}"
    return chance.pick((b"\xef\xbb\xbf", b"\x1f\x8b", b"PK\x03\x04", b" ", b"//")) + data
