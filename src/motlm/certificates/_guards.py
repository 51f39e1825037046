"""What must be true of the rows for a certificate to hold, as far as it can be looked at."""

from __future__ import annotations

import pickle
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

__all__ = [
    "around",
    "core_of",
    "model_hash",
    "note_duplicates",
    "note_order",
    "note_shift",
    "note_unlabeled",
    "refuse_seen",
    "refuse_weights",
]

_ALARM = 4.0  # standard errors; one false alarm in 16 000


def core_of(model: Any, X: Any) -> tuple[LocalMixture | None, Any]:
    """The mixture of local models that speaks in the end, if there is one, and the rows as it sees
    them.
    """
    if isinstance(model, LocalMixture):
        return model, X
    if isinstance(model, Pipeline):
        last = model.steps[-1][1]
        mixture, _ = core_of(last, None)
        if mixture is None or X is None:
            return mixture, X
        return core_of(last, model[:-1].transform(X) if len(model.steps) > 1 else X)
    best = getattr(model, "best_estimator_", None)
    return (None, X) if best is None else core_of(best, X)


def around(model: Any, mixture: LocalMixture) -> Any:
    """A predictor like the model with another mixture in its place."""
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        return Pipeline([*model.steps[:-1], (name, around(last, mixture))])
    best = getattr(model, "best_estimator_", None)
    return mixture if best is None else around(best, mixture)


def model_hash(model: Any) -> str:
    """A hash of all the numbers that a model predicts by, and of those that it shows; empty for one
    that cannot be pickled.
    """
    if isinstance(model, Pipeline) and isinstance(model.steps[-1][1], LocalMixture):
        return sha256(
            f"{_of_other(model.steps[:-1])} {model_hash(model.steps[-1][1])}".encode()
        ).hexdigest()
    if not isinstance(model, LocalMixture):
        return _of_other(model)
    digest = sha256()
    problem, posterior = model._fitted, model.posterior_
    units, metric = problem.units, problem.metric
    parts: list[Any] = [
        type(model).__name__,
        model.overlap,
        model.handle_unknown,
        problem.vicinity.learned,
    ]
    if metric is not None:
        name = (
            metric.name
            if isinstance(metric.name, str)
            else f"{metric.name.__module__}.{metric.name.__qualname__}"
        )
        parts += [
            name,
            *(part for key in sorted(metric.arguments) for part in (key, metric.arguments[key])),
        ]
    parts += [vars(posterior)[name] for name in sorted(vars(posterior))]
    parts += [
        units.center,
        units.inverse_scale,
        units.target_center,
        units.target_scale,
        problem.varies,
        model._radius,
    ]
    parts += [
        problem.points,
        getattr(model, "classes_", None),
        repr(model._columns),
        model._typical,
    ]
    for one in (*model.localities_, model.exterior_):
        parts += [
            one.feature_names,
            *(vars(one)[name] for name in sorted(vars(one)) if name != "feature_names"),
        ]
    for part in parts:
        if isinstance(part, (np.ndarray, float)):
            array = np.asarray(part)
            content = (
                np.ascontiguousarray(array).tobytes()
                if array.dtype != object
                else repr(array.tolist()).encode()
            )
            digest.update(repr(array.shape).encode() + content)
        else:
            digest.update(repr(part).encode())
        digest.update(b"|")
    return digest.hexdigest()


def _of_other(model: Any) -> str:
    try:  # the hash of what was pickled once is stable
        return str(hash_of(pickle.loads(pickle.dumps(model))))
    except Exception:
        return ""


def refuse_weights(sample_weight: Any) -> None:
    if sample_weight is not None:
        raise CertificateError(
            "sample_weight was given, but a certificate counts independent rows, each once; leave"
            " the weights out, or weight in fit alone by an estimator of your own and use audit on"
            " unweighted rows."
        )


def refuse_seen(fingerprint: Fingerprint, X: Array, target: Array) -> str | None:
    """An error if these rows are training rows; a note if some equal one by chance."""
    keys = row_keys(X, target)
    known, told = fingerprint.known(keys)
    found, looked = int(known.sum()), int(told.sum())
    if found > fingerprint.coincidences(keys, looked) or fingerprint.same_rows(keys):
        of = "" if looked == len(X) else f" (of {looked} that could be told)"
        raise CertificateError(
            f"{found} of the {len(X)} rows{of} are among the {fingerprint.n_rows} that the model"
            f" was made from, the first at row {int(np.flatnonzero(known)[0])}. Give rows that it"
            " has never seen, or call certify, which keeps some sealed."
        )
    if found:
        return (
            f"{found} of {len(X)} rows equal one that the model was made from, as many as chance"
            " explains in such a table."
        )
    return None


def note_duplicates(first: AnyArray, second: AnyArray) -> str | None:
    """About rows that are in both parts."""
    both = int(np.isin(second, first).sum())
    if not both:
        return None
    return (
        f"{both} of the {len(second)} sealed rows equal a row that the model was fitted on. If the"
        " same case was recorded twice, the rows are not independent: drop such duplicates and"
        " certify again. If equal cases are common, nothing is wrong."
    )


def note_unlabeled(unlabeled: AnyArray, *others: AnyArray) -> str | None:
    """About unlabeled rows that are among the labeled ones; an error if most of them are."""
    both = int(np.isin(unlabeled, np.concatenate(others)).sum())
    if 2 * both > len(unlabeled):
        raise CertificateError(
            f"{both} of the {len(unlabeled)} rows of X_unlabeled are among the labeled rows;"
            " give others of the population."
        )
    return (
        f"{both} of the {len(unlabeled)} rows of X_unlabeled equal a labeled row." if both else None
    )


def note_order(X: Any, target: Array) -> str | None:
    """About rows whose order says something."""
    index = getattr(X, "index", None)
    if getattr(getattr(index, "dtype", None), "kind", "") == "M":
        return (
            "the rows are dated. A random split certifies cases drawn from the same years, not"
            " those of the future: fit on the earlier rows, and audit on the later ones."
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
        f"the targets of neighboring rows are related (their correlation is {lag:.2f}), so that"
        " the order of the rows says something. If it is time, the rows are not independent draws"
        " and the future may differ: fit on the earlier rows, and audit on the later ones. If they"
        " are merely sorted, nothing is wrong."
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
        f"the target changed between the rows of the fit and these (its mean from {mean:.4g} to"
        f" {float(after.mean()):.4g}). The certificate is about cases like these rows; it says"
        " nothing of cases like the former."
    )
