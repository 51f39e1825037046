"""The mixture inside a predictor, another in its place, and hashes that identify predictors."""

from __future__ import annotations

import copy
import io
import pickle
from hashlib import sha256
from typing import Any

import numpy as np
from joblib import hash as joblib_hash
from sklearn.neighbors import BallTree, KDTree
from sklearn.pipeline import Pipeline

from ..mixture import Mixture

__all__ = ["core_of", "find_mixture", "model_hash", "replace_mixture", "rows_of_core"]


def find_mixture(model: Any) -> Mixture | None:
    """The mixture that decides in the end: the model itself, or that of its core; None if there is
    none.
    """
    core = core_of(model)
    return None if core is None else _own_mixture(core)


def core_of(model: Any) -> Any:
    """What has the mixture that decides in the end: the model itself (an estimator or a mixture),
    the last step of a pipeline, the best of a search; None if there is none.
    """
    if _own_mixture(model) is not None:
        return model
    inner = _inner(model)
    return None if inner is None else core_of(inner)


def rows_of_core(model: Any, X: Any) -> Any:
    """Rows as the core of a model sees them: transformed by the steps of a pipeline."""
    if _own_mixture(model) is not None:
        return X
    if isinstance(model, Pipeline) and len(model.steps) > 1:
        X = model[:-1].transform(X)
    return rows_of_core(_inner(model), X)


def _own_mixture(model: Any) -> Mixture | None:
    """The mixture that a model is, or that it was fitted with."""
    found = model if isinstance(model, Mixture) else getattr(model, "mixture_", None)
    return found if isinstance(found, Mixture) else None


def _inner(model: Any) -> Any:
    if isinstance(model, Pipeline):
        return model.steps[-1][1]
    return getattr(model, "best_estimator_", None)


def replace_mixture(model: Any, mixture: Mixture) -> Any:
    """A predictor like the model that has another mixture, and no certificate."""
    if isinstance(model, Mixture):
        return mixture
    if _own_mixture(model) is not None:
        made = copy.copy(model)
        made.mixture_ = mixture
        made.__dict__.pop("certificate_", None)
        return made
    inner = replace_mixture(_inner(model), mixture)
    if not isinstance(model, Pipeline):
        return inner
    made = copy.copy(model)
    made.steps = [*model.steps[:-1], (model.steps[-1][0], inner)]
    return made


def model_hash(model: Any) -> str:
    """A hash of all the numbers that a model predicts by; empty for one that cannot be pickled."""
    own = _own_mixture(model)
    if own is not None:
        return own.hash
    if core_of(model) is None:
        return _pickle_hash(model)
    inner = model_hash(_inner(model))
    if not isinstance(model, Pipeline):
        return inner
    steps = _pickle_hash(model.steps[:-1])
    return sha256(f"{steps} {inner}".encode()).hexdigest() if steps else ""


def _pickle_hash(model: Any) -> str:
    try:  # the hash of what was pickled once is stable
        return str(joblib_hash(pickle.loads(_pickle(model))))
    except Exception:  # whatever __reduce__ of other people's classes raises
        return ""


def _pickle(model: Any) -> bytes:
    stream = io.BytesIO()
    _Pickler(stream).dump(model)
    return stream.getvalue()


class _Pickler(pickle.Pickler):
    """Search trees of neighbors without their counts of calls, which change in predict."""

    def reducer_override(self, one: Any) -> Any:
        if isinstance(one, (BallTree, KDTree)):
            return tuple, ([type(one).__name__, np.asarray(one.data)],)
        return NotImplemented
