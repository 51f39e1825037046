"""Where a mixture comes from, to and from entries."""

from __future__ import annotations

import re
from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np

from ..errors import InputError, ModelFileError
from ..fingerprints import SIZE, Fingerprint
from ..mixture import Provenance
from ..optimize import Record
from ..posterior import FIELDS, Prior
from ._read import Reader
from ._text import plain

__all__ = ["prior_entry", "provenance_entry", "read_prior", "read_provenance"]

_UNITS_FROM = ("rows", "given", "nowhere")


def provenance_entry(provenance: Provenance) -> dict[str, Any]:
    entry = {one.name: getattr(provenance, one.name) for one in fields(Provenance)}
    entry["fingerprint"] = _fingerprint_entry(provenance.fingerprint)
    entry["prior"] = prior_entry(provenance.prior)
    entry["path"] = [
        {one.name: getattr(record, one.name) for one in fields(Record)}
        for record in provenance.path
    ]
    return {name: plain(value) for name, value in entry.items()}


def read_provenance(read: Reader, n_localities: int) -> Provenance:
    made = Provenance(
        fingerprint=_read_fingerprint(read.part("fingerprint")),
        units_from=read.choice("units_from", _UNITS_FROM),
        most_localities=read.integer("most_localities", 0),
        searched_localities=read.integer("searched_localities", 0),
        n_rows=read.integers("n_rows", n_localities + 1),
        points=read.integers("points", n_localities),
        inverse_temperature=read.number("inverse_temperature"),
        prior=read_prior(read.part("prior")),
        objective=read.optional_number("objective"),
        gibbs_risk=read.optional_number("gibbs_risk"),
        kl=read.optional_number("kl"),
        n_iter=read.integer("n_iter", 0),
        path=tuple(_read_record(one) for one in read.parts("path")),
        earlier_hash=None if read.is_null("earlier_hash") else _read_hashes(read),
    )
    read.done()
    return made


def prior_entry(prior: Prior) -> dict[str, Any]:
    """As it was given: numbers, or arrays."""
    return {name: plain(np.asarray(getattr(prior, name), dtype=float)) for name in FIELDS}


def read_prior(read: Reader) -> Prior:
    entries = {name: read.numbers(name) for name in FIELDS}
    read.done()
    try:
        return Prior(**entries)
    except InputError as error:
        raise ModelFileError(f"{read.where[:-1]} is not sound: {str(error)[:200]}") from None


def _read_record(read: Reader) -> Record:
    made = Record(
        stage=read.text("stage"),
        n_localities=read.integer("n_localities", 0),
        inverse_temperature=read.number("inverse_temperature"),
        rank=read.integer("rank", 0),
        objective=read.number("objective"),
        gibbs_risk=read.number("gibbs_risk"),
        kl=read.number("kl"),
        n_iter=read.integer("n_iter", 0),
        converged=read.boolean("converged"),
        held_out_score=read.optional_number("held_out_score"),
        bound=read.optional_number("bound"),
    )
    read.done()
    return made


def _fingerprint_entry(mark: Fingerprint) -> dict[str, Any]:
    entry = {one.name: getattr(mark, one.name) for one in fields(Fingerprint)}
    return {**entry, "keys": [f"{int(key):016x}" for key in mark.keys]}


def _read_fingerprint(read: Reader) -> Fingerprint:
    keys = read.texts("keys")
    if len(keys) > SIZE:
        raise read.fail("keys", f"at most {SIZE} hashes", f"{len(keys)} of them")
    strange = [key for key in keys if not re.fullmatch("[0-9a-f]{16}", key)]
    if strange:
        raise read.fail("keys", "hashes of 16 hexadecimal digits", strange[0])
    if any(first >= second for first, second in pairwise(keys)):
        raise ModelFileError(f"{read.where}keys should increase.")
    made = Fingerprint(
        np.array([int(key, 16) for key in keys], dtype=np.uint64),
        read.integer("n_rows", 0),
        read.integer("n_distinct", len(keys)),
        read.number("pairs", 0.0),
        read.number("target_mean"),
        read.number("target_scale", 0.0),
    )
    read.done()
    return made


def _read_hashes(read: Reader) -> tuple[str, str]:
    hashes = read.texts("earlier_hash")
    if len(hashes) != 2 or not all(re.fullmatch("[0-9a-f]{64}", one) for one in hashes):
        raise read.fail("earlier_hash", "null, or two hashes of 64 hexadecimal digits", hashes)
    return hashes[0], hashes[1]
