"""The paper's synthetic sets, in its recipes, and Breiman's two."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._typing import Array
from ..errors import InputError

__all__ = [
    "make_clf_case1",
    "make_clf_case2",
    "make_reg_case1",
    "make_reg_case2",
    "make_ringnorm",
    "make_twonorm",
]

_MOST = 10**9  # rows
CASE1 = {
    "centers": np.array([[-1.0, 0.0], [1.0, 0.0]]),
    "radii": np.array([1.0, 0.8]),
    "above_inside": -1.0,
}
CASE2 = {
    "centers": np.array([[-1.4, 0.0], [0.0, 0.75], [1.4, 0.0]]),
    "radii": np.array([0.85, 0.4, 0.85]),
    "above_inside": 1.0,
}


def _make(
    case: dict[str, Any], n_rows: int, flipped: float, random_state: Any
) -> tuple[Array, Array]:
    """Uniform points in [-2.5, 2.5] x [-1.5, 1.5], as many inside the balls as outside, and outside
    as many above as below.

    The sign of the second coordinate decides the label, one way inside and the other way outside,
    so that one line serves no better than chance.
    """
    _check_rows(n_rows, 4)
    rng = check_random_state(random_state)
    below = n_rows // 4
    wanted = {"below": below, "above": n_rows // 2 - below, "inside": n_rows - n_rows // 2}
    X = np.empty((0, 2))
    region = np.empty(0, dtype=object)
    while any((region == name).sum() < count for name, count in wanted.items()):
        more = rng.uniform([-2.5, -1.5], [2.5, 1.5], size=(2 * n_rows, 2))
        distance = np.linalg.norm(more[:, None, :] - case["centers"], axis=2)
        where = np.where(
            (distance <= case["radii"]).any(axis=1),
            "inside",
            np.where(more[:, 1] > 0, "above", "below"),
        )
        X, region = np.vstack([X, more]), np.append(region, where)
    kept = np.sort(
        np.concatenate([np.flatnonzero(region == name)[:count] for name, count in wanted.items()])
    )
    X, inside = X[kept], region[kept] == "inside"
    y = np.where(inside, case["above_inside"], -case["above_inside"]) * np.where(
        X[:, 1] > 0, 1.0, -1.0
    )
    return X, np.where(rng.uniform(size=n_rows) < flipped, -y, y)


def make_clf_case1(
    n_rows: int = 1400, *, flipped: float = 0.2, random_state: Any = None
) -> tuple[Array, Array]:
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

    Examples
    --------
    >>> from motlm.datasets import make_clf_case1
    >>> X, y = make_clf_case1(200, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((200, 2), [-1.0, 1.0])

    Without flipped labels the sign of the second column is the label outside the balls, and the
    other one inside:

    >>> X, y = make_clf_case1(200, flipped=0.0, random_state=0)
    >>> int((y == (X[:, 1] > 0) * 2 - 1).sum())
    100
    """
    return _make(CASE1, n_rows, flipped, random_state)


def make_clf_case2(
    n_rows: int = 1250, *, flipped: float = 0.0, random_state: Any = None
) -> tuple[Array, Array]:
    """Case 2 of the paper: three balls in which the label follows the second coordinate, against it
    outside.

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


def _check_rows(n_rows: int, least: int) -> None:
    if not isinstance(n_rows, Real) or n_rows < least:
        raise InputError(f"n_rows must be at least {least}; got {n_rows!r}.")
    if n_rows > _MOST:
        raise InputError(f"n_rows must be at most {_MOST}.")


def make_reg_case1(
    n_rows: int = 706, *, noise: float = 0.012, random_state: Any = None
) -> tuple[Array, Array]:
    """Case 1 of the paper's regression: a rising line in an interval, a falling one outside.

    y = 0.54 x within 0.81 of the point 0.0189, and -0.55 x from 0.945 to 1.75 away from it: the
    lines and the gap between them are those of the authors' draw, measured.

    Parameters
    ----------
    n_rows : int, default=706
        Half of them inside.
    noise : float, default=0.012
        Standard deviation of the noise on y.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X : ndarray, (n_rows, 1)
    y : ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.datasets import make_reg_case1
    >>> X, y = make_reg_case1(100, noise=0.0, random_state=0)
    >>> X.shape
    (100, 1)
    >>> inside = np.abs(X[:, 0] - 0.0189) < 0.81
    >>> bool(np.allclose(y, np.where(inside, 0.54, -0.55) * X[:, 0])), int(inside.sum())
    (True, 50)
    """
    _check_rows(n_rows, 2)
    rng = check_random_state(random_state)
    inside = np.arange(n_rows) < n_rows - n_rows // 2
    away = np.where(
        inside,
        rng.uniform(-0.81, 0.81, n_rows),
        rng.choice([-1.0, 1.0], n_rows) * rng.uniform(0.945, 1.75, n_rows),
    )
    x = 0.0189 + away
    y = np.where(inside, 0.54 * x, -0.55 * x) + noise * rng.standard_normal(n_rows)
    order = rng.permutation(n_rows)
    return x[order, None], y[order]


def make_reg_case2(
    n_rows: int = 1058, *, noise: float = 0.03, random_state: Any = None
) -> tuple[Array, Array]:
    """Case 2 of the paper's regression: a roof of two lines that meet at 0, and a flat one outside.

    y = 1.12 - 2.2 abs(x) within 0.44 of the points -0.5086 and 0.5086, 0.045 from 1.095 to 1.97 on
    either side of 0: lines and the gaps between them are those of the authors' draw, measured.

    Parameters
    ----------
    n_rows : int, default=1058
        A third of them in each interval, a third outside.
    noise : float, default=0.03
        Standard deviation of the noise on y; half of it outside.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X : ndarray, (n_rows, 1)
    y : ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.datasets import make_reg_case2
    >>> X, y = make_reg_case2(99, noise=0.0, random_state=0)
    >>> X.shape
    (99, 1)
    >>> bool(np.allclose(y, np.where(np.abs(X[:, 0]) < 1, 1.12 - 2.2 * np.abs(X[:, 0]), 0.045)))
    True
    """
    _check_rows(n_rows, 3)
    rng = check_random_state(random_state)
    inside = np.arange(n_rows) < n_rows - n_rows // 3
    away = np.where(
        inside, rng.uniform(0.5086 - 0.44, 0.5086 + 0.44, n_rows), rng.uniform(1.095, 1.97, n_rows)
    )
    x = away * np.where(np.arange(n_rows) % 2, -1.0, 1.0)
    y = np.where(inside, 1.12 - 2.2 * away, 0.045) + noise * np.where(
        inside, 1.0, 0.5
    ) * rng.standard_normal(n_rows)
    order = rng.permutation(n_rows)
    return x[order, None], y[order]


def _two_gaussians(
    n_rows: int, means: tuple[float, float], scales: tuple[float, float], random_state: Any
) -> tuple[Array, Array]:
    _check_rows(n_rows, 2)
    rng = check_random_state(random_state)
    y = rng.permutation(np.arange(n_rows) % 2)
    X = np.take(means, y)[:, None] + np.take(scales, y)[:, None] * rng.standard_normal((n_rows, 20))
    return X, y.astype(float)


def make_ringnorm(n_rows: int = 7400, *, random_state: Any = None) -> tuple[Array, Array]:
    """Breiman's ringnorm: class 0 is N(0, 4 I) in 20 dimensions, class 1 N((a, .., a), I) with a =
    2 / sqrt(20).

    L. Breiman (1996), *Bias, variance, and arcing classifiers*. No rule errs on less than 1.2 % of
    it.

    Parameters
    ----------
    n_rows : int, default=7400
        Half of them of each class.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X : ndarray, (n_rows, 20)
    y : ndarray of 0 and 1

    Examples
    --------
    >>> from motlm.datasets import make_ringnorm
    >>> X, y = make_ringnorm(1000, random_state=0)
    >>> X.shape, float(y.mean())
    ((1000, 20), 0.5)
    >>> round(float(X[y == 0].std())), round(float(X[y == 1].std()))
    (2, 1)
    """
    return _two_gaussians(n_rows, (0.0, 2 / np.sqrt(20)), (2.0, 1.0), random_state)


def make_twonorm(n_rows: int = 7400, *, random_state: Any = None) -> tuple[Array, Array]:
    """Breiman's twonorm: N((a, .., a), I) and N((-a, .., -a), I) in 20 dimensions, a = 2 /
    sqrt(20).

    L. Breiman (1996), *Bias, variance, and arcing classifiers*. No rule errs on less than 2.3 % of
    it.

    Parameters
    ----------
    n_rows : int, default=7400
        Half of them of each class.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    X : ndarray, (n_rows, 20)
    y : ndarray of 0 and 1

    Examples
    --------
    The sign of the sum of the columns is the best rule:

    >>> from motlm.datasets import make_twonorm
    >>> X, y = make_twonorm(1000, random_state=0)
    >>> X.shape, float(y.mean())
    ((1000, 20), 0.5)
    >>> bool(((X.sum(axis=1) < 0) == y).mean() > 0.96)
    True
    """
    a = 2 / np.sqrt(20)
    return _two_gaussians(n_rows, (a, -a), (1.0, 1.0), random_state)
