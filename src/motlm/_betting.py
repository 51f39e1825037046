"""Bounds on a mean by betting against it (Waudby-Smith and Ramdas, 2024)."""

from __future__ import annotations

import numpy as np

from ._typing import Array, ArrayLike
from .errors import InputError

__all__ = ["betting", "betting_reduction", "check_delta", "is_below"]

_STEPS = 200  # of halving; a dozen are needed
_RESTS = np.geomspace(
    2.0, 1e-5, 2400
)  # shares of a baseline that may be left, half a percent apart


def check_delta(delta: ArrayLike, name: str = "delta") -> None:
    values = np.asarray(delta, dtype=float)
    if not ((values > 0) & (values < 1)).all():
        raise InputError(f"{name} must lie between 0 and 1; got {delta!r}.")


def betting(losses: ArrayLike, delta: float) -> float:
    """Upper bound on the mean of losses in [0, 1], by a bet on their being smaller (Waudby-Smith
    and Ramdas, 2024).

    For each mean mu the capital prod_t (1 + b_t (mu - x_t)) would be a fair game; the bets b_t look
    at earlier rows only. The bound is the smallest mu at which it has once exceeded 1 / delta. It
    adapts to the variance of the losses, and depends a little on the order of the rows, which must
    be random.

    Parameters
    ----------
    losses : sequence of float in [0, 1]
        In random order.
    delta : float
        The probability with which the bound may fail.

    Returns
    -------
    float
        At most 1, which is vacuous.

    Examples
    --------
    Of losses with little variance the bound is the closer:

    >>> import numpy as np
    >>> from motlm.bounds import betting
    >>> calm = np.full(500, 0.1)
    >>> wild = np.where(np.arange(500) % 10 == 0, 1.0, 0.0)
    >>> round(betting(calm, 0.05), 3), round(betting(wild, 0.05), 3)
    (0.107, 0.138)
    """
    check_delta(delta)
    x = np.asarray(losses, dtype=float)
    if x.ndim != 1 or not len(x) or not ((x >= 0) & (x <= 1)).all():
        raise InputError("losses must be a sequence of numbers between 0 and 1, at least one.")
    wanted = _bets(x, delta)
    low, high = float(x.mean()), 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if _wins(x, middle, wanted, delta):
            high = middle
        else:
            low = middle
    return high


def is_below(losses: ArrayLike, mean: float, delta: float) -> bool:
    """Whether a bet shows that the mean of losses in [0, 1] is below a number: it does so wrongly
    with probability delta at most.

    Parameters
    ----------
    losses : sequence of float in [0, 1]
        In random order.
    mean : float
    delta : float

    Returns
    -------
    bool

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.bounds import is_below
    >>> losses = np.full(500, 0.1)
    >>> is_below(losses, 0.2, 0.05), is_below(losses, 0.101, 0.05)
    (True, False)
    """
    check_delta(delta)
    x = np.asarray(losses, dtype=float)
    return bool(_wins(x, mean, _bets(x, delta), delta))


def betting_reduction(losses: ArrayLike, baseline: ArrayLike, delta: float) -> float | None:
    """Lower bound on 1 - mean(losses) / mean(baseline), for pairs of losses in [0, 1] and in [0,
    b]; None if not even -1.

    For each reduction r of a fixed list, in increasing order, a bet that losses - (1 - r) baseline
    has a negative mean; the last r before the first bet that is lost. The first r above the true
    one is won with probability delta at most.

    Parameters
    ----------
    losses : sequence of float in [0, 1]
        In random order.
    baseline : sequence of float, at least 0
        The losses of a rival on the same rows.
    delta : float
        The probability with which the bound may fail.

    Returns
    -------
    float or None

    Examples
    --------
    Losses that are a tenth of the rival's, on 500 rows:

    >>> import numpy as np
    >>> from motlm.bounds import betting_reduction
    >>> rival = np.where(np.arange(500) % 2 == 0, 0.4, 0.6)
    >>> reduction = betting_reduction(0.1 * rival, rival, 0.05)
    >>> 0.8 < reduction < 0.9
    True
    """
    check_delta(delta)
    own, rival = np.asarray(losses, dtype=float), np.asarray(baseline, dtype=float)
    if (
        own.shape != rival.shape
        or own.ndim != 1
        or not len(own)
        or not ((own >= 0) & (own <= 1) & (rival >= 0)).all()
    ):
        raise InputError(
            "losses must be numbers between 0 and 1, and baseline as many numbers >= 0."
        )
    top = float(rival.max())
    best = None
    for rest in _RESTS:  # 1 - r
        low, span = rest * top, 1.0 + rest * top
        x = (own - rest * rival + low) / span
        if not _wins(x, low / span, _bets(x, delta), delta):
            break
        best = 1.0 - float(rest)
    return best


def _bets(x: Array, delta: float) -> Array:
    """How much to bet on each row, from the rows before it."""
    count = np.arange(1, len(x) + 1)
    means = (0.5 + np.cumsum(x)) / (count + 1)
    variances = (0.25 + np.cumsum((x - means) ** 2)) / (count + 1)
    before = np.concatenate([[0.25], variances[:-1]])
    return np.asarray(np.sqrt(2 * np.log(1 / delta) / (before * len(x))))


def _wins(x: Array, mean: float, wanted: Array, delta: float) -> bool:
    """Whether a bet on a mean below this one has once multiplied the capital by 1 / delta."""
    if not 0.0 < mean < 1.0:
        return False
    bets = np.minimum(wanted, 0.75 / (1.0 - mean))
    return bool(np.cumsum(np.log1p(bets * (mean - x))).max() >= -np.log(delta))
