"""The motlm estimator inside a predictor, others in its place, and hashes by which predictors are
known again.
"""

from __future__ import annotations

import copy
import pickle
from hashlib import sha256
from typing import Any

from joblib import hash as joblib_hash
from sklearn.pipeline import Pipeline

from ..mixture import Mixture

__all__ = ["core_of", "model_hash", "replace_core", "replace_mixture", "rows_of_core"]


def core_of(model: Any) -> Any:
    """The fitted estimator whose mixture decides in the end: the model itself, the last step of a
    pipeline, the best of a search; None if there is none.
    """
    if isinstance(getattr(model, "mixture_", None), Mixture):
        return model
    inner = _inner(model)
    return None if inner is None else core_of(inner)


def rows_of_core(model: Any, X: Any) -> Any:
    """Rows as the core of a model sees them: transformed by the steps of a pipeline."""
    if isinstance(getattr(model, "mixture_", None), Mixture):
        return X
    if isinstance(model, Pipeline) and len(model.steps) > 1:
        X = model[:-1].transform(X)
    return rows_of_core(_inner(model), X)


def _inner(model: Any) -> Any:
    if isinstance(model, Pipeline):
        return model.steps[-1][1]
    return getattr(model, "best_estimator_", None)


def replace_mixture(core: Any, mixture: Mixture) -> Any:
    """An estimator like the core with another mixture, and without a certificate."""
    made = copy.copy(core)
    made.mixture_ = mixture
    made.__dict__.pop("certificate_", None)
    return made


def replace_core(model: Any, core: Any) -> Any:
    """A predictor like the model with another estimator in the place of its core."""
    if isinstance(getattr(model, "mixture_", None), Mixture):
        return core
    inner = replace_core(_inner(model), core)
    if not isinstance(model, Pipeline):
        return inner
    made = copy.copy(model)
    made.steps = [*model.steps[:-1], (model.steps[-1][0], inner)]
    return made


def model_hash(model: Any) -> str:
    """A hash of all the numbers that a model predicts by; empty for one that cannot be pickled."""
    if isinstance(model, Mixture):
        return model.hash
    core = core_of(model)
    if core is None:
        return _pickle_hash(model)
    if core is model:
        return str(core.mixture_.hash)
    inner = model_hash(_inner(model))
    if not isinstance(model, Pipeline):
        return inner
    steps = _pickle_hash(model.steps[:-1])
    return sha256(f"{steps} {inner}".encode()).hexdigest() if steps else ""


def _pickle_hash(model: Any) -> str:
    try:  # the hash of what was pickled once is stable
        return str(joblib_hash(pickle.loads(pickle.dumps(model))))
    except Exception:  # whatever __reduce__ of other people's classes raises
        return ""
