"""Documents of earlier schemas, brought up to date.

An upgrade moves values to where the next schema has them. That there are such entries is checked
here; what is in them, when the document is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import ModelFileError
from ..posterior import Prior
from ._provenance import prior_entry
from ._read import Reader

__all__ = ["HASHED", "SCHEMA", "WORDED", "upgrade"]

SCHEMA = 9
HASHED = 3  # the schema from which on certificates name models by the hash of today
WORDED = 6  # the schema from which on localities are told in sentences, worded as today


def upgrade(content: dict[str, Any], version: int) -> dict[str, Any]:
    """A document of the current schema."""
    for schema in range(version, SCHEMA):
        content = _UPGRADES[schema](content)
    return content


def _from_1_to_2(content: dict[str, Any]) -> dict[str, Any]:
    if "table" in content:
        raise ModelFileError("unknown entries 'table'.")
    return {**content, "schema": 2, "table": None}


_SAME = (
    *("format", "library", "estimator", "localities", "exterior", "parameters", "posterior"),
    *("table", "certificate"),
)


def _from_2_to_3(content: dict[str, Any]) -> dict[str, Any]:
    read = Reader(content)
    read.raw("schema")
    parameters = read.part("parameters")
    units, training = read.part("units"), read.part("training")
    for dropped in ("prior", "free"):  # that of the search; the one given is a parameter
        read.raw(dropped)
    made = {
        **{name: read.raw(name) for name in _SAME},
        "schema": 3,
        "inputs": _inputs(read, parameters, units),
        "geometry": _geometry(read),
        "target": _target(read, units, training),
        "overlap": parameters.raw("overlap"),
        "provenance": _provenance(read, parameters, training),
    }
    for part in (units, training, read):
        part.done()
    return made


def _inputs(read: Reader, parameters: Reader, units: Reader) -> dict[str, Any]:
    columns = read.part("columns")
    names, given = columns.raw("names"), columns.raw("feature_names_in")
    if given is not None and given != names:
        raise columns.fail("feature_names_in", "null, or the same as names", given)
    made = {
        "names": names,
        "levels": columns.raw("levels"),
        "named": given is not None,
        "handle_unknown": parameters.raw("handle_unknown"),
        "typical": columns.raw("typical"),
        "center": units.raw("center"),
        "inverse_scale": units.raw("inverse_scale"),
        "varies": read.raw("varies"),
    }
    columns.done()
    return made


def _geometry(read: Reader) -> dict[str, Any]:
    radius, points, metric = read.raw("radius"), read.raw("points"), read.raw("metric")
    if points is None:
        if metric is not None:
            raise read.fail("metric", "null, as centers are learned", metric)
        return {"kind": "balls", "radius": radius}
    given = [_second(one, "center") for one in read.parts("localities")]
    return {"kind": "given", "given": given, "points": points, "metric": metric, "radius": radius}


def _second(read: Reader, name: str) -> list[Any]:
    """The numbers of a list of [column, number]."""
    pairs = read.sequence(name)
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2:
            raise read.fail(name, "a list of [column, number]", pair)
    return [pair[1] for pair in pairs]


def _target(read: Reader, units: Reader, training: Reader) -> dict[str, Any]:
    center, scale = units.number("target_center"), units.number("target_scale", 0.0)
    if read.is_null("classes"):
        training.raw("target_scale_")  # the same as that of the units
        residual_scale = training.raw("residual_scale_")
        return {
            "kind": "continuous",
            "center": center,
            "scale": scale,
            "residual_scale": residual_scale,
        }
    if (center, scale) != (0.0, 1.0):
        raise units.fail("target_center and target_scale", "0 and 1 for labels", (center, scale))
    classes = read.part("classes")
    made = {"kind": "binary", "dtype": classes.raw("dtype"), "classes": classes.raw("values")}
    classes.done()
    return made


def _provenance(read: Reader, parameters: Reader, training: Reader) -> dict[str, Any]:
    localities, exterior = read.parts("localities"), read.part("exterior")
    prior = parameters.raw("prior")

    def found(name: str, otherwise: Any = None) -> Any:
        """Of a search; a model made by a certificate has none."""
        return training.raw(name) if name in training.content else otherwise

    return {
        "fingerprint": read.raw("fingerprint"),
        "units_from": read.raw("units_from"),
        "most_localities": read.raw("most_localities"),
        "searched_localities": read.raw("chosen_localities"),
        "n_rows": [one.raw("n_rows") for one in (*localities, exterior)],
        "points": [one.raw("point") for one in localities],
        "inverse_temperature": training.raw("inverse_temperature_"),
        "prior": prior_entry(Prior()) if prior is None else prior,
        "objective": found("objective_"),
        "gibbs_risk": found("gibbs_risk_"),
        "kl": found("kl_"),
        "n_iter": found("n_iter_", 1),
        "path": read.raw("path"),
        "earlier_hash": None,
    }


def _from_3_to_4(content: dict[str, Any]) -> dict[str, Any]:
    """Near-copies of the rows that an earlier model was fitted on are not recognized."""
    read = Reader(content)
    provenance = read.part("provenance")
    fingerprint = provenance.part("fingerprint")
    if "sketches" in fingerprint.content:
        raise ModelFileError(f"unknown entries '{fingerprint.where}sketches'.")
    known = {**fingerprint.content, "sketches": []}
    return {**content, "schema": 4, "provenance": {**provenance.content, "fingerprint": known}}


_NEW: dict[str, dict[str, Any]] = {  # parameters that schema 5 added, with what was meant before
    "LocalMixtureClassifier": {"loss": "zero-one", "class_weight": None},
    "LocalMixtureRegressor": {"loss": "squared", "power": 1.5},
}


def _from_4_to_5(content: dict[str, Any]) -> dict[str, Any]:
    """Losses; and a prior of None was the paper's."""
    read = Reader(content)
    parameters, estimator = read.part("parameters").content, read.text("estimator")
    added = _NEW.get(estimator, {})
    known = [name for name in added if name in parameters]
    if known:
        raise ModelFileError(f"unknown entries 'parameters.{known[0]}'.")
    prior = parameters.get("prior")
    made = {**parameters, **added, "prior": prior_entry(Prior()) if prior is None else prior}
    return {**content, "schema": 5, "parameters": made}


_BALLS = {  # parameters that schema 6 added, with what was meant before
    "centers": "free",
    "locality_features": "ball",
    "locality_columns": None,
    "locality_widths": "learned",
    "corrections": "none",
}


_GEOMETRIES = ("given", "balls")  # before schema 6
_LAYOUT = ("corrections", "weights", "learned_widths", "low", "high", "whole")  # since


def _from_5_to_6(content: dict[str, Any]) -> dict[str, Any]:
    """Localities were balls in all columns, with independent models."""
    read = Reader(content)
    parameters, geometry = read.part("parameters").content, read.part("geometry")
    known = [f"parameters.{name}" for name in _BALLS if name in parameters]
    known += [f"geometry.{name}" for name in _LAYOUT if name in geometry.content]
    if known:
        raise ModelFileError(f"unknown entries '{known[0]}'.")
    geometry.choice("kind", _GEOMETRIES)
    return {**content, "schema": 6, "parameters": {**parameters, **_BALLS}}


_STRAIGHT: dict[str, Any] = {  # parameters that schema 7 added, with what was meant before
    "local_models": "linear",
    "monotonic_cst": None,
}


def _from_6_to_7(content: dict[str, Any]) -> dict[str, Any]:
    """Models were linear."""
    read = Reader(content)
    parameters, inputs = read.part("parameters").content, read.part("inputs").content
    known = [f"parameters.{name}" for name in _STRAIGHT if name in parameters]
    known += ["inputs.bends"] if "bends" in inputs else []
    if known:
        raise ModelFileError(f"unknown entries '{known[0]}'.")
    return {**content, "schema": 7, "parameters": {**parameters, **_STRAIGHT}}


_LATER: dict[str, Any] = {  # parameters that schema 8 added, with what was meant before
    "max_terms": None,
    "missing": "error",
}
_HOLES = ("missing", "incomplete", "fill")


def _from_7_to_8(content: dict[str, Any]) -> dict[str, Any]:
    """Formulas had all terms, and missing values were refused."""
    read = Reader(content)
    parameters, inputs = read.part("parameters").content, read.part("inputs").content
    known = [f"parameters.{name}" for name in _LATER if name in parameters]
    known += [f"inputs.{name}" for name in _HOLES if name in inputs]
    if known:
        raise ModelFileError(f"unknown entries '{known[0]}'.")
    return {**content, "schema": 8, "parameters": {**parameters, **_LATER}}


def _from_8_to_9(content: dict[str, Any]) -> dict[str, Any]:
    """Curves were rugged."""
    inputs = Reader(content).part("inputs")
    for one in inputs.parts("bends") if "bends" in inputs.content else ():
        if "smooth" in one.content:
            raise ModelFileError("unknown entries 'inputs.bends.smooth'.")
    return {**content, "schema": 9}


_UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {
    1: _from_1_to_2,
    2: _from_2_to_3,
    3: _from_3_to_4,
    4: _from_4_to_5,
    5: _from_5_to_6,
    6: _from_6_to_7,
    7: _from_7_to_8,
    8: _from_8_to_9,
}
