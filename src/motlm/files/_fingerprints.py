"""Hashes of training rows to and from entries."""

from __future__ import annotations

import re
from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np

from .._typing import AnyArray
from ..errors import ModelFileError
from ..fingerprints import SIZE, SKETCHES, Fingerprint
from ..sketches import DECIMALS, KEPT, STEPS, Level, Sketch
from ._read import Reader

__all__ = ["fingerprint_entry", "read_fingerprint"]

_DIGITS = 12  # hexadecimal ones, of a hash in a sketch


def fingerprint_entry(mark: Fingerprint) -> dict[str, Any]:
    entry = {one.name: getattr(mark, one.name) for one in fields(Fingerprint)}
    keys = [f"{int(key):016x}" for key in mark.keys]
    return {**entry, "keys": keys, "sketches": [_sketch_entry(one) for one in mark.sketches]}


def _sketch_entry(sketch: Sketch) -> dict[str, Any]:
    return {"scale": sketch.scale, "levels": [_level_entry(one) for one in sketch.levels]}


def _level_entry(level: Level) -> dict[str, Any]:
    return {
        "decimals": level.decimals,
        "step": level.step,
        "keys": "".join(f"{int(key):0{_DIGITS}x}" for key in level.keys),
        "counts": "".join(str(int(count)) for count in level.counts),
        "n_cells": level.n_cells,
    }


def read_fingerprint(read: Reader, n_columns: int) -> Fingerprint:
    """Of rows with so many encoded columns."""
    keys = read.texts("keys")
    if len(keys) > SIZE:
        raise read.fail("keys", f"at most {SIZE} hashes", f"{len(keys)} of them")
    strange = [key for key in keys if not re.fullmatch("[0-9a-f]{16}", key)]
    if strange:
        raise read.fail("keys", "hashes of 16 hexadecimal digits", strange[0])
    if any(first >= second for first, second in pairwise(keys)):
        raise ModelFileError(f"{read.where}keys should increase.")
    n_rows = read.integer("n_rows", 0)
    if bool(keys) != bool(n_rows):
        raise read.fail("keys", f"the hashes of {n_rows} rows", f"{len(keys)} of them")
    n_distinct = read.integer("n_distinct", len(keys), n_rows)
    if n_distinct <= SIZE and n_distinct != len(keys):
        raise read.fail("n_distinct", f"{len(keys)}, the number of keys", n_distinct)
    made = Fingerprint(
        np.array([int(key, 16) for key in keys], dtype=np.uint64),
        n_rows,
        n_distinct,
        read.number("pairs", 0.0),
        read.number("target_mean"),
        read.number("target_scale", 0.0),
        _read_sketches(read, n_rows, n_columns),
    )
    if made.pairs > n_rows * (n_rows - 1.0) / 2.0:
        raise read.fail("pairs", f"at most the pairs of {n_rows} rows", made.pairs)
    read.done()
    return made


def _read_sketches(read: Reader, n_rows: int, n_columns: int) -> tuple[Sketch, ...]:
    parts = read.parts("sketches")
    if len(parts) > SKETCHES:
        raise read.fail("sketches", f"at most {SKETCHES} of them", f"{len(parts)} of them")
    return tuple(_read_sketch(one, n_rows, n_columns) for one in parts)


def _read_sketch(read: Reader, n_rows: int, n_columns: int) -> Sketch:
    scale, parts = read.array("scale", (n_columns + 1,)), read.parts("levels")
    if not (scale >= 0.0).all():
        raise ModelFileError(f"{read.where}scale should not be negative.")
    grids = len(DECIMALS) + len(STEPS)
    if len(parts) > grids:
        raise read.fail("levels", f"at most {grids} of them", f"{len(parts)} of them")
    read.done()
    return Sketch(scale, tuple(_read_level(one, n_rows) for one in parts))


def _read_level(read: Reader, n_rows: int) -> Level:
    decimals = step = None
    if read.is_null("decimals"):
        step = read.number("step")
        if step not in STEPS:
            raise read.fail("step", f"one of {', '.join(map(str, STEPS))}", step)
    else:
        decimals = read.integer("decimals", DECIMALS[0], DECIMALS[-1])
        if not read.is_null("step"):
            raise read.fail("step", "null, as there are decimals", read.raw("step"))
    keys, counts = _read_keys(read), read.text("counts")
    if len(counts) != len(keys) or not re.fullmatch("[123]+", counts):
        raise read.fail("counts", f"{len(keys)} digits from 1 to 3", counts)
    held = np.array([int(one) for one in counts], dtype=np.uint8)
    if int(held.sum()) > n_rows:
        raise read.fail("counts", f"those of {n_rows} rows", f"{int(held.sum())} rows")
    n_cells = read.integer("n_cells", len(keys), n_rows)
    if n_cells > len(keys) and len(keys) < KEPT:
        raise read.fail("n_cells", f"{len(keys)}, the number of keys", n_cells)
    read.done()
    return Level(decimals, step, keys, held, n_cells)


def _read_keys(read: Reader) -> AnyArray:
    text = read.text("keys")
    if not 1 <= len(text) <= _DIGITS * KEPT or len(text) % _DIGITS:
        expected = f"1 to {KEPT} hashes of {_DIGITS} hexadecimal digits"
        raise read.fail("keys", expected, f"{len(text)} characters")
    if not re.fullmatch("[0-9a-f]+", text):
        raise read.fail("keys", f"hashes of {_DIGITS} hexadecimal digits", text)
    places = range(0, len(text), _DIGITS)
    keys = np.array([int(text[i : i + _DIGITS], 16) for i in places], dtype=np.uint64)
    if not (keys[1:] > keys[:-1]).all():
        raise ModelFileError(f"{read.where}keys should increase.")
    return keys
