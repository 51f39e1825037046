"""The paper's synthetic classification sets, in its recipes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._typing import Array

__all__ = ["make_clf_case1", "make_clf_case2"]

CASE1 = {"centers": np.array([[-1.0, 0.0], [1.0, 0.0]]), "radii": np.array([1.0, 0.8]), "above_inside": -1.0}
CASE2 = {
    "centers": np.array([[-1.4, 0.0], [0.0, 0.75], [1.4, 0.0]]),
    "radii": np.array([0.85, 0.4, 0.85]),
    "above_inside": 1.0,
}


def _make(case: dict[str, Any], n_rows: int, flipped: float, random_state: Any) -> tuple[Array, Array]:
    """Uniform points in [-2.5, 2.5] x [-1.5, 1.5], as many inside the balls as outside, and outside as many above as below.

    The sign of the second coordinate decides the label, one way inside and the other way outside, so that one line serves no
    better than chance.
    """
    if n_rows < 4:
        raise ValueError(f"n_rows must be at least 4; got {n_rows}.")
    rng = check_random_state(random_state)
    below = n_rows // 4
    wanted = {"below": below, "above": n_rows // 2 - below, "inside": n_rows - n_rows // 2}
    X = np.empty((0, 2))
    region = np.empty(0, dtype=object)
    while any((region == name).sum() < count for name, count in wanted.items()):
        more = rng.uniform([-2.5, -1.5], [2.5, 1.5], size=(2 * n_rows, 2))
        distance = np.linalg.norm(more[:, None, :] - case["centers"], axis=2)
        where = np.where((distance <= case["radii"]).any(axis=1), "inside", np.where(more[:, 1] > 0, "above", "below"))
        X, region = np.vstack([X, more]), np.append(region, where)
    kept = np.sort(np.concatenate([np.flatnonzero(region == name)[:count] for name, count in wanted.items()]))
    X, inside = X[kept], region[kept] == "inside"
    y = np.where(inside, case["above_inside"], -case["above_inside"]) * np.where(X[:, 1] > 0, 1.0, -1.0)
    return X, np.where(rng.uniform(size=n_rows) < flipped, -y, y)


def make_clf_case1(n_rows: int = 1400, *, flipped: float = 0.2, random_state: Any = None) -> tuple[Array, Array]:
    """Case 1 of the paper: two overlapping balls, and a share of flipped labels.

    Parameters
    ----------
    n_rows : int, default=1400
        Half of them inside the balls.
    flipped : float, default=0.2
        Share of the labels that is turned round.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X : ndarray, (n_rows, 2)
    y : ndarray of -1 and +1
    """
    return _make(CASE1, n_rows, flipped, random_state)


def make_clf_case2(n_rows: int = 1250, *, flipped: float = 0.0, random_state: Any = None) -> tuple[Array, Array]:
    """Case 2 of the paper: three balls in which the label follows the second coordinate, against it outside.

    Parameters
    ----------
    n_rows : int, default=1250
        Half of them inside the balls.
    flipped : float, default=0.0
        Share of the labels that is turned round.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X : ndarray, (n_rows, 2)
    y : ndarray of -1 and +1

    Examples
    --------
    >>> from motlm.datasets import make_clf_case2
    >>> X, y = make_clf_case2(random_state=0)
    >>> X.shape[1], sorted(set(y.tolist()))
    (2, [-1.0, 1.0])
    """
    return _make(CASE2, n_rows, flipped, random_state)
