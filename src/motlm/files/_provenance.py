"""Where a mixture comes from, to and from entries."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import numpy as np

from ..errors import InputError, ModelFileError
from ..limits import TEMPERATURES
from ..mixture import Provenance
from ..optimize import Record
from ..posterior import FIELDS, Prior
from ..summaries import Summary
from ._fingerprints import fingerprint_entry, read_fingerprint
from ._read import Reader
from ._text import plain

__all__ = ["LOCALITIES", "prior_entry", "provenance_entry", "read_prior", "read_provenance"]

LOCALITIES = 1000  # that a file may have: their tables take 0.1 MB and a millisecond each
_UNITS_FROM = ("rows", "given", "nowhere")
_STAGES = ("search", "without", "final")


def provenance_entry(provenance: Provenance, geometry: Any) -> dict[str, Any]:
    entry = {one.name: getattr(provenance, one.name) for one in fields(Provenance)}
    entry["fingerprint"] = fingerprint_entry(provenance.fingerprint)
    entry["prior"] = prior_entry(provenance.prior)
    entry["path"] = [
        {one.name: getattr(record, one.name) for one in fields(Record)}
        for record in provenance.path
    ]
    if provenance.summary is None:  # as before there were any
        del entry["summary"]
    else:
        content, known = provenance.summary.content(), _ranges_of(geometry) or {}
        if any(
            not np.array_equal(getattr(provenance.summary, name), known[name]) for name in known
        ):
            known = {}  # of a model that was made from another's localities, with other rows
        entry["summary"] = {name: one for name, one in content.items() if name not in known}
    return {name: plain(value) for name, value in entry.items()}


def read_provenance(
    read: Reader, n_localities: int, n_columns: int, scores: tuple[int, ...], geometry: Any
) -> Provenance:
    made = Provenance(
        fingerprint=read_fingerprint(read.part("fingerprint"), n_columns),
        units_from=read.choice("units_from", _UNITS_FROM),
        most_localities=read.integer("most_localities", 0, LOCALITIES),
        searched_localities=read.integer("searched_localities", 0, LOCALITIES),
        n_rows=read.integers("n_rows", n_localities + 1),
        points=read.integers("points", n_localities),
        inverse_temperature=read.number("inverse_temperature", *TEMPERATURES),
        prior=read_prior(read.part("prior"), several=bool(scores)),
        objective=read.optional_number("objective"),
        gibbs_risk=read.optional_number("gibbs_risk"),
        kl=read.optional_number("kl"),
        n_iter=read.integer("n_iter", 0),
        path=tuple(_read_record(one) for one in read.parts("path")),
        earlier_hash=None if read.is_null("earlier_hash") else _read_hashes(read),
        summary=_read_summary(read, n_localities, n_columns, geometry),
    )
    _check_counts(read, made)
    read.done()
    return made


def _check_counts(read: Reader, made: Provenance) -> None:
    """Numbers of rows and of localities must be possible beside each other."""
    n_rows = made.fingerprint.n_rows
    if not n_rows:
        raise read.fail("fingerprint.n_rows", "at least 1", n_rows)
    if max(made.n_rows) > n_rows:
        raise read.fail("n_rows", f"at most the {n_rows} rows of the fingerprint", made.n_rows)
    points, searched = made.points, made.searched_localities
    if len(set(points)) < len(points) or any(one >= searched for one in points):
        raise read.fail("points", f"different numbers below {searched}", points)
    if searched > made.most_localities:
        raise read.fail("searched_localities", f"at most {made.most_localities}", searched)


def prior_entry(prior: Prior) -> dict[str, Any]:
    """As it was given: numbers, or arrays."""
    made = {name: plain(np.asarray(getattr(prior, name), dtype=float)) for name in FIELDS}
    return {**made, "learn_scales": True} if prior.learn_scales else made


def read_prior(read: Reader, several: bool = True) -> Prior:
    """`several` is whether models may have a score for each of several classes."""
    left_out = () if several else ("scores",)
    axes = {
        name: [one for one in declared.axes if one not in left_out]
        for name, declared in FIELDS.items()
    }
    most = {name: max(len(one), 2) for name, one in axes.items()}
    entries: dict[str, Any] = {name: read.numbers(name, most[name]) for name in FIELDS}
    learned = read.boolean("learn_scales") if "learn_scales" in read.content else False
    read.done()
    for name, value in entries.items():
        alone = tuple(one for one in axes[name] if one != "scores")  # of one score, not of classes
        if np.ndim(value) not in (0, len(axes[name]), len(alone)):
            raise read.fail(name, f"a number, or an array over {alone}", value)
    try:
        return Prior(**entries, learn_scales=learned)
    except InputError as error:
        raise ModelFileError(f"{read.where[:-1]} is not sound: {str(error)[:200]}") from None


def _read_summary(read: Reader, n_localities: int, n_columns: int, geometry: Any) -> Summary | None:
    """None of earlier versions."""
    if "summary" not in read.content:
        return None
    part = read.part("summary")
    known = None if "low" in part.content else _ranges_of(geometry)
    return Summary.read(part, n_localities, n_columns, known)


def _ranges_of(geometry: Any) -> dict[str, Any] | None:
    """Of the training rows, where a geometry has them."""
    if getattr(geometry, "low", None) is None or not len(geometry.low):
        return None
    return {name: getattr(geometry, name) for name in ("low", "high", "whole")}


def _read_record(read: Reader) -> Record:
    made = Record(
        stage=read.choice("stage", _STAGES),
        n_localities=read.integer("n_localities", 0, LOCALITIES),
        inverse_temperature=read.number("inverse_temperature", *TEMPERATURES),
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


def _read_hashes(read: Reader) -> tuple[str, str]:
    hashes = read.texts("earlier_hash")
    if len(hashes) != 2 or not all(re.fullmatch("[0-9a-f]{64}", one) for one in hashes):
        raise read.fail("earlier_hash", "null, or two hashes of 64 hexadecimal digits", hashes)
    return hashes[0], hashes[1]
