"""Attack on model files: `load` refuses a file, or gives a model that works."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import motlm
from motlm.certificates import verify
from motlm.errors import CertificateError, ModelFileError, MotlmError
from motlm.explanations import explain_global, explain_local

from .chance import Chance
from .corpus import models
from .documents import change, damage, mend_models, sign
from .limits import memory_limit
from .trials import Broken, Kind, within

__all__ = ["FILES", "check_model", "hostile_file"]

SECONDS, MEMORY = 2.0, 500 * 2**20  # that anything done with a file may take


def hostile_file(chance: Chance) -> bytes:
    """A model file with some changes, most of them under a checksum that fits."""
    bases = models()
    base = chance.pick(bases)
    chance.note(base.name)
    document = base.document()
    for step in chance.steps(chance.pick((1, 1, 1, 1, 2, 2, 3, 4))):
        change(step, document, bases)
    for _ in chance.step() if chance.likely(0.7) else ():
        mend_models(document)
    sign(chance, document)
    data = json.dumps(document, ensure_ascii=chance.likely(0.5)).encode("utf-8", "surrogatepass")
    if chance.likely(0.03):
        for step in chance.step():
            data = damage(step, data)
    return data


def attempt(chance: Chance, folder: Path) -> str:
    path = folder / "model.json"
    path.write_bytes(hostile_file(chance))
    with memory_limit(MEMORY):
        try:
            with within(SECONDS, "load"):
                model = motlm.load(path)
        except ModelFileError as error:
            return f"refused: {type(error).__name__}"
        return check_model(chance, model, folder)


# -- a model that was accepted ---------------------------------------------------------------------


def check_model(chance: Chance, model: Any, folder: Path) -> str:
    """All that one does with a model works, or is refused by an error of motlm's own."""
    X = rows_for(model)
    refused = ""
    for check in (_predict, _explain, _export, _save, _quote):
        certified = check is _quote and hasattr(model, "certificate_")
        if check in (_quote, _export) and not certified and chance.likely(0.7):
            continue  # these take long
        try:
            with within(SECONDS, check.__name__.strip("_")):
                check(model, X, folder)
        except MotlmError as error:
            refused = refused or f", then {check.__name__.strip('_')}: {type(error).__name__}"
    return f"accepted{refused}"


def rows_for(model: Any) -> Any:
    """Some rows in the columns of a model: typical ones, and others."""
    inputs = model.mixture_.inputs
    columns: dict[Any, list[Any]] = {}
    for j, levels in enumerate(inputs.columns.levels):
        known = list(levels or ())
        values = known[:3] if known else [0.0, 1.0, -2.5]
        columns[j] = [values[i % len(values)] for i in range(4)]
    if inputs.labels is not None:
        return pd.DataFrame(columns).set_axis(list(inputs.labels), axis=1)
    if inputs.columns.has_text:
        return pd.DataFrame(columns)
    return np.array(list(columns.values()), dtype=float).T


def _need(holds: Any, words: str) -> None:
    if not holds:
        raise Broken(words)


def _predict(model: Any, X: Any, folder: Path) -> None:
    classes = model.mixture_.target.classes
    answers = model.predict(X)
    _need(len(answers) == len(X), "predict gave another number of answers than rows")
    if classes is None:
        _need(np.isfinite(answers).all(), f"infinite predictions {answers}")
        return
    _need(np.isin(answers, classes).all(), f"predictions that are no classes: {answers}")
    shares = model.predict_proba(X)
    _need(((shares >= 0) & (shares <= 1)).all(), f"probabilities {shares}")
    _need(np.allclose(shares.sum(axis=1), 1.0, rtol=0, atol=1e-9), f"sums {shares.sum(axis=1)}")
    _need(np.isfinite(model.decision_function(X)).all(), "infinite decision_function")


def _explain(model: Any, X: Any, folder: Path) -> None:
    for one, answer in zip(explain_local(model, X), model.predict(X), strict=True):
        _need(one.prediction == answer, f"{one.prediction} explained, {answer} predicted")
        str(one)
        json.dumps(one.to_dict(), allow_nan=False)


def _save(model: Any, X: Any, folder: Path) -> None:
    again = motlm.load(model.save(folder / "again.json"))
    _need(again.mixture_.hash == model.mixture_.hash, "another hash after save and load")
    _need((again.predict(X) == model.predict(X)).all(), "other predictions after save and load")
    before, after = (getattr(one, "certificate_", None) for one in (model, again))
    _need(before == after, "another certificate after save and load")


def _export(model: Any, X: Any, folder: Path) -> None:
    function, names = python_function(model), model.mixture_.inputs.columns.names
    rows = X.to_numpy(dtype=object) if hasattr(X, "to_numpy") else X
    for row, answer in zip(rows.tolist(), model.predict(X), strict=True):
        found = function(dict(zip(names, row, strict=True)))
        _need(_same(found, answer), f"to_python gives {found!r}, predict {answer!r}")
    _need(_runs(model), "to_sql gives text that SQLite cannot run")


def python_function(model: Any) -> Any:
    """What to_python exports."""
    names: dict[str, Any] = {}
    exec(compile(model.to_python(), "exported", "exec"), names)
    return names["predict"]


def _runs(model: Any) -> bool:
    """Whether SQLite can run the exported expression over a table without rows."""
    names = [name.replace('"', '""') for name in model.mixture_.inputs.columns.names]
    if any("\ud800" <= letter <= "\udfff" for name in names for letter in name):
        return True
    with sqlite3.connect(":memory:") as base:
        try:
            base.execute(
                f"CREATE TABLE rows ({', '.join(f'{chr(34)}{n}{chr(34)}' for n in names)})"
            )
        except sqlite3.Error:
            return True  # names that SQLite does not take
        try:
            base.execute(f"SELECT {model.to_sql()} FROM rows").fetchall()
        except sqlite3.Error as error:
            raise Broken(f"to_sql: {error}") from None
    return True


def _same(first: Any, second: Any) -> bool:
    if isinstance(second, (float, np.floating)) and isinstance(first, float):
        return bool(np.isclose(first, second, rtol=1e-6, atol=1e-9))
    return bool(str(first) == str(second))


def _quote(model: Any, X: Any, folder: Path) -> None:
    """A certificate is quoted only where `verify` accepts it."""
    classes, answers = model.mixture_.target.classes, model.predict(X)
    y = answers if classes is None else np.asarray(classes)[[0, 1, 1, 0]]
    explanation = explain_global(model, X, y)
    said = str(explanation)
    certificate = getattr(model, "certificate_", None)
    if certificate is None:
        return
    str(certificate)
    try:
        about = verify(model, certificate)
    except CertificateError:
        about = ()
    for one in certificate:
        if one not in about and one.sentence:
            _need(one.sentence not in said, "explain_global quotes a statement about another model")
    if not about:
        _need(explanation.certificate is None, "explain_global carries a void certificate")


FILES = Kind("files", "model files", attempt, models, chunk=250)
