"""What must be true of the rows for a certificate to hold, as far as it can be looked at."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np
from joblib import hash as hash_of
from scipy.stats import ks_2samp, rankdata
from sklearn.pipeline import Pipeline

from .._typing import AnyArray, Array
from ..estimators import LocalMixture
from ..fingerprints import Fingerprint, row_keys
from ._statements import CertificateError

__all__ = ["core_of", "model_hash", "note_duplicates", "note_order", "note_shift", "refuse_seen", "refuse_weights"]

_ALARM = 4.0  # standard errors; one false alarm in 16 000


def core_of(model: Any, X: Any) -> tuple[LocalMixture | None, Any]:
    """The mixture of local models that speaks in the end, if there is one, and the rows as it sees them."""
    if isinstance(model, LocalMixture):
        return model, X
    if isinstance(model, Pipeline) and isinstance(model.steps[-1][1], LocalMixture):
        return model.steps[-1][1], model[:-1].transform(X)
    return None, X


def model_hash(model: Any) -> str:
    """A hash of all the numbers that a model predicts by, and of those that it shows."""
    if isinstance(model, Pipeline) and isinstance(model.steps[-1][1], LocalMixture):
        return sha256(f"{hash_of(model.steps[:-1])} {model_hash(model.steps[-1][1])}".encode()).hexdigest()
    if not isinstance(model, LocalMixture):
        return str(hash_of(model))
    digest = sha256()
    units, posterior = model._fitted.units, model.posterior_
    parts: list[Any] = [type(model).__name__, model.overlap, model.handle_unknown, repr(model.metric)]
    parts += [vars(posterior)[name] for name in sorted(vars(posterior))]
    parts += [units.center, units.inverse_scale, units.target_center, units.target_scale, model._fitted.varies, model._radius]
    parts += [model._fitted.points, getattr(model, "classes_", None), repr(model._columns), model._typical]
    for one in (*model.localities_, model.exterior_):
        parts += [one.feature_names, *(vars(one)[name] for name in sorted(vars(one)) if name != "feature_names")]
    for part in parts:
        if isinstance(part, (np.ndarray, float)):
            array = np.asarray(part)
            content = np.ascontiguousarray(array).tobytes() if array.dtype != object else repr(array.tolist()).encode()
            digest.update(repr(array.shape).encode() + content)
        else:
            digest.update(repr(part).encode())
        digest.update(b"|")
    return digest.hexdigest()


def refuse_weights(sample_weight: Any) -> None:
    if sample_weight is not None:
        raise CertificateError(
            "sample_weight was given, but a certificate counts independent rows, each once; leave the weights out, or weight in "
            "fit alone by an estimator of your own and use audit on unweighted rows."
        )


def refuse_seen(fingerprint: Fingerprint, X: Array, target: Array) -> str | None:
    """An error if these rows are training rows; a note if some equal one by chance."""
    known, told = fingerprint.known(row_keys(X, target))
    found, looked = int(known.sum()), int(told.sum())
    if found > fingerprint.coincidences(looked):
        of = "" if looked == len(X) else f" (of {looked} that could be told)"
        raise CertificateError(
            f"{found} of the {len(X)} rows{of} are among the {fingerprint.n_rows} that the model was fitted on, the first at row "
            f"{int(np.flatnonzero(known)[0])}. Give rows that it has never seen, or call certify, which keeps some sealed."
        )
    if found:
        return (
            f"{found} of {len(X)} rows equal a training row, as happens by chance in this table, where "
            f"{fingerprint.repeated:.1%} of the training rows have an equal."
        )
    return None


def note_duplicates(first: AnyArray, second: AnyArray) -> str | None:
    """About rows that are in both parts."""
    both = int(np.isin(second, first).sum())
    if not both:
        return None
    return (
        f"{both} of the {len(second)} sealed rows equal a row that the model was fitted on. If the same case was recorded twice, "
        "the rows are not independent: drop such duplicates and certify again. If equal cases are common, nothing is wrong."
    )


def note_order(X: Any, target: Array) -> str | None:
    """About rows whose order says something."""
    index = getattr(X, "index", None)
    if getattr(getattr(index, "dtype", None), "kind", "") == "M":
        return (
            "the rows are dated. A random split certifies cases drawn from the same years, not those of the future: fit on the "
            "earlier rows, and audit on the later ones."
        )
    ranks = rankdata(target)
    ranks -= ranks.mean()
    spread = float(ranks @ ranks)
    if len(ranks) < 20 or spread == 0:
        return None
    lag = float(ranks[1:] @ ranks[:-1]) / spread
    if abs(lag) * np.sqrt(len(ranks)) <= _ALARM:
        return None
    return (
        f"the targets of neighbouring rows are alike (their correlation is {lag:.2f}), so that the order of the rows says "
        "something. If it is time, the rows are not independent draws and the future may differ: fit on the earlier rows, and "
        "audit on the later ones. If they are merely sorted, nothing is wrong."
    )


def note_shift(before: Array | Fingerprint, after: Array) -> str | None:
    """About a target that has another distribution in the second part."""
    if isinstance(before, Fingerprint):
        mean, scale, n_before = before.target_mean, before.target_scale, before.n_rows
    else:
        mean, scale, n_before = float(before.mean()), float(before.std()), len(before)
    error = np.sqrt(scale**2 / n_before + float(after.var()) / len(after))
    gap = float(after.mean()) - mean
    moved = abs(gap) > _ALARM * error if error > 0 else gap != 0
    if not moved and not isinstance(before, Fingerprint) and len(np.unique(before)) > 2:
        moved = float(ks_2samp(before, after).pvalue) < 1e-4
    if not moved:
        return None
    return (
        f"the target changed between the rows of the fit and these (its mean from {mean:.4g} to {float(after.mean()):.4g}). The "
        "certificate is about cases like these rows; it says nothing of cases like the former."
    )
