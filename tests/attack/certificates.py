"""Misuse of certificates: rows that were used for fitting, as they were or as copies that differ a
little, are refused, or the bound is not below the true error; a certificate is not about a model
that was changed.

The labels are drawn without regard to the columns, so that every model errs on exactly half of the
cases. With delta = 1e-6 an honest bound is below that in one of a million cases.
"""

from __future__ import annotations

import copy
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import motlm
from motlm import LocalMixtureClassifier
from motlm.certificates import Certificate, audit, certify, verify
from motlm.errors import CertificateError, ModelFileError
from motlm.explanations import explain_global

from .chance import Chance
from .documents import digest
from .trials import Broken, Kind

__all__ = ["CERTIFICATES"]

TRUE_ERROR = 0.5
DELTA = 1e-6


def noise(chance: Chance, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and labels that do not depend on them."""
    rng, d = chance.numpy(), chance.pick((4, 8, 16))
    X = rng.normal(size=(n, d)) * chance.pick((1.0, 1.0, 100.0, 0.01)) + chance.pick((0.0, 50.0))
    return X, rng.integers(0, 2, n)


def overfitted(chance: Chance) -> Any:
    """A mixture that learns its rows by heart as well as it can."""
    return LocalMixtureClassifier(
        n_localities=chance.pick((1, 2)), inverse_temperature=256.0, n_starts=1, random_state=0
    )


# -- copies of rows --------------------------------------------------------------------------------


def copies(chance: Chance, X: np.ndarray, y: np.ndarray) -> tuple[Any, np.ndarray]:
    """Training rows on some detour."""
    rng, spread = chance.numpy(), X.std(axis=0)
    what = chance.pick(
        (
            "exact",
            "rounded",
            "rounded",
            "digits",
            "perturbed",
            "perturbed",
            "float32",
            "some columns",
        )
    )
    chance.note(f"training rows, {what}")
    if what == "rounded":
        decimals = chance.whole(1, 8) - int(np.floor(np.log10(spread.max())))
        chance.note(f"to {decimals} decimals")
        X = X.round(decimals)
    elif what == "digits":
        digits = chance.whole(3, 8)
        chance.note(f"{digits}")
        X = np.array([[float(f"{one:.{digits}g}") for one in row] for row in X.tolist()])
    elif what == "perturbed":
        size = 10.0 ** -chance.whole(2, 12)
        chance.note(f"by {size:g} of the spread")
        X = X + size * spread * rng.normal(size=X.shape)
    elif what == "float32":
        X = X.astype(np.float32).astype(float)
    elif what == "some columns":
        X = X.copy()
        X[:, 0] += 10.0 ** -chance.whole(2, 9) * spread[0] * rng.normal(size=len(X))
    for step in chance.steps(chance.pick((0, 1, 2))):
        X, y = _arrange(step, X, y)
    return X, y


def _arrange(chance: Chance, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """In another order, some of them, some more than once, some with others among them."""
    rng = chance.numpy()
    what = chance.pick(("shuffled", "half", "repeated", "diluted"))
    chance.note(what)
    if what == "shuffled":
        order = rng.permutation(len(X))
    elif what == "half":
        order = rng.permutation(len(X))[: max(len(X) // 2, 60)]
    elif what == "repeated":
        order = rng.integers(0, len(X), 2 * len(X))
    else:
        fresh = rng.normal(X.mean(axis=0), X.std(axis=0), size=(len(X) // 4, X.shape[1]))
        return np.vstack([X, fresh]), np.concatenate([y, rng.integers(0, 2, len(fresh))])
    return X[order], y[order]


def bound_of(certificate: Certificate) -> float:
    """The certified error rate of the model on all cases."""
    found = [one.value for one in certificate if one.name == "hold-out" and not one.region]
    if len(found) != 1 or found[0] is None:
        raise Broken(f"a certificate with the bounds {found}")
    return float(found[0])


def check_bound(certificate: Certificate) -> None:
    """The bound is not below the true error."""
    if (bound := bound_of(certificate)) < TRUE_ERROR:
        raise Broken(f"certified {bound:.3f}, the true error is {TRUE_ERROR}")


def _audit_copies(chance: Chance, folder: Path) -> str:
    X, y = noise(chance, chance.pick((120, 200, 300)))
    model = overfitted(chance).fit(X, y)
    rows, labels = copies(chance, X, y)
    try:
        certificate = audit(model, rows, labels, delta=DELTA)
    except CertificateError as error:
        return f"refused: {type(error).__name__}"
    check_bound(certificate)
    return "issued, not below the true error"


def _audit_others(chance: Chance, folder: Path) -> str:
    """Models of scikit-learn; of those that do not keep their rows, the rows are given."""
    X, y = noise(chance, chance.pick((120, 200)))
    rows, labels = copies(chance, X, y)
    kept: dict[str, Any] = {}
    model = chance.value(_others())
    if "neighbors" not in chance.notes[-1:] or chance.likely(0.5):
        kept = {"X_train": X, "y_train": y}
    try:
        certificate = audit(model.fit(X, y), rows, labels, delta=DELTA, **kept)
    except CertificateError as error:
        return f"refused: {type(error).__name__}"
    check_bound(certificate)
    return "issued, not below the true error"


def _others() -> dict[str, Any]:
    return {
        "tree": DecisionTreeClassifier(random_state=0),
        "neighbors": KNeighborsClassifier(1),
        "pipeline": make_pipeline(StandardScaler(), KNeighborsClassifier(1)),
        "bagging": BaggingClassifier(DecisionTreeClassifier(), 10, random_state=0),
        "calibrated": CalibratedClassifierCV(KNeighborsClassifier(1), cv=2),
    }


def _certify_copies(chance: Chance, folder: Path) -> str:
    """A table in which each row stands twice, so that sealed rows are near-copies of others."""
    X, y = noise(chance, chance.pick((150, 250)))
    rows, labels = copies(chance, X, y)
    every, all_labels = np.vstack([X, rows]), np.concatenate([y, labels])
    model = chance.value({**_others(), "mixture": overfitted(chance)})
    try:
        certificate = certify(model, every, all_labels, delta=DELTA).certificate
    except CertificateError as error:
        return f"refused: {type(error).__name__}"
    if any("sealed rows" in note for note in certificate.notes):
        return "issued with a note on copies among the sealed rows"
    check_bound(certificate)
    return "issued, not below the true error"


def _audit_fresh(chance: Chance, folder: Path) -> str:
    """A control: fresh rows are accepted, with an honest bound."""
    X, y = noise(chance, 240)
    if chance.likely(0.3):
        X = X.round(1 - int(np.floor(np.log10(X.std()))))
    if chance.likely(0.3):
        X = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    model = overfitted(chance).fit(X[:120], y[:120])
    certificate = audit(model, X[120:], y[120:], delta=DELTA)
    check_bound(certificate)
    return "fresh rows accepted"


# -- certificates of other models ------------------------------------------------------------------


def _certified(chance: Chance) -> tuple[Any, Any, Any]:
    """A model with its certificate, and rows."""
    rng = chance.numpy()
    X = rng.normal(size=(160, 2))
    y = (X[:, 0] + 0.1 * rng.normal(size=160) > 0).astype(int)
    model = overfitted(chance).fit(X[:60], y[:60])
    model.certificate_ = audit(model, X[60:], y[60:])
    return model, X[60:], y[60:]


def _changed_model(chance: Chance, folder: Path) -> str:
    """A certificate that was issued for the model before it was changed."""
    model, X, y = _certified(chance)
    certificate = model.certificate_
    what = chance.pick(("overlap", "posterior", "refit", "pasted", "edited file", "copied"))
    chance.note(what)
    if what == "overlap":
        model.set_params(overlap="mean")
    elif what == "posterior":
        mixture = model.mixture_
        coef = mixture.posterior.coef * (1 + 10.0 ** -chance.whole(1, 15))
        model.mixture_ = replace(mixture, posterior=replace(mixture.posterior, coef=coef))
    elif what == "refit":
        model.fit(X, y)
    elif what == "pasted":
        model = _pasted(chance, model, folder)
    elif what == "edited file":
        return _edited(chance, model, folder)
    else:
        other = copy.deepcopy(model)
        other.fit(X[:50], y[:50])
        other.certificate_ = certificate
        model = other
    return _void(model, certificate, X, y)


def _pasted(chance: Chance, model: Any, folder: Path) -> Any:
    """Another model from a file with this certificate in it."""
    rng = chance.numpy()
    X = rng.normal(size=(40, 2))
    other = overfitted(chance).fit(X, rng.integers(0, 2, 40))
    path = other.save(folder / "other.json")
    document = json.loads(path.read_text(encoding="utf-8"))
    document["certificate"] = model.certificate_.to_dict()
    document["checksum"] = digest(document, "checksum")
    path.write_text(json.dumps(document), encoding="utf-8")
    return motlm.load(path)


def _edited(chance: Chance, model: Any, folder: Path) -> str:
    """A certificate with a better number in it, under the old digest."""
    path = model.save(folder / "edited.json")
    document = json.loads(path.read_text(encoding="utf-8"))
    statement = chance.pick(document["certificate"]["statements"])
    statement["value"] = 0.001
    document["checksum"] = digest(document, "checksum")
    path.write_text(json.dumps(document), encoding="utf-8")
    try:
        motlm.load(path)
    except ModelFileError as error:
        return f"refused: {type(error).__name__}"
    raise Broken("an edited certificate was loaded")


def _void(model: Any, certificate: Certificate, X: Any, y: Any) -> str:
    try:
        verify(model, certificate)
    except CertificateError:
        pass
    else:
        raise Broken("verify accepts the certificate of another model")
    said = str(explain_global(model, X, y))
    if any(one.sentence in said for one in certificate):
        raise Broken("explain_global quotes the certificate of another model")
    return "refused: void"


_MISUSES = (
    *(_audit_copies, _audit_copies, _audit_copies, _audit_others, _certify_copies),
    *(_audit_fresh, _changed_model, _changed_model),
)


def attempt(chance: Chance, folder: Path) -> str:
    misuse = chance.pick(_MISUSES)
    chance.note(misuse.__name__.strip("_").replace("_", " "))
    return misuse(chance, folder)


CERTIFICATES = Kind(
    "certificates", "misuse of certificates", attempt, time.monotonic, chunk=5, patience=120.0
)
