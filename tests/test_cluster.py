"""Searches on a Dask cluster: the same model, found by the workers, and the time limit reaches
them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import joblib
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from motlm import LocalMixtureClassifier
from motlm.datasets import make_ringnorm

distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'motlm[cluster]'")


@pytest.fixture(scope="module")
def client() -> Iterator[object]:
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


def test_same_model_on_a_cluster(client) -> None:
    X, y = make_ringnorm(600, random_state=0)
    here = LocalMixtureClassifier(1, inverse_temperature=2.0, random_state=0).fit(X, y)
    with joblib.parallel_config(backend="dask"):
        there = LocalMixtureClassifier(1, inverse_temperature=2.0, random_state=0).fit(X, y)
    assert there.objective_ == here.objective_
    np.testing.assert_array_equal(there.posterior_.coef, here.posterior_.coef)
    ran = client.run(lambda dask_worker: dask_worker.state.executed_count)
    assert sum(ran.values()) > 2


def test_time_limit_on_a_cluster(client) -> None:
    X, y = make_ringnorm(600, random_state=0)
    with joblib.parallel_config(backend="dask"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with pytest.warns(ConvergenceWarning, match="the time limit is over"):
            model = LocalMixtureClassifier(4, max_time=0.3, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.5
