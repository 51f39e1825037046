"""What the localities of a mixture are good for, and which of them are weakest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._typing import Array
from .combinations import gates
from .limits import flush_to_zero
from .objective import Objective, locate
from .posterior import Posterior

__all__ = ["Strengths", "strengths", "weakest"]

_TWINS = 0.9  # share of common rows at which two balls are one


class Strengths(NamedTuple):
    """What the localities of a mixture are good for."""

    # (n_localities,), the loss that its rows would have under the exterior model less their own
    saved: Array
    lost: Array  # (n_localities,), their own loss
    # (n_localities, n_localities), number of rows that two share; of its own on the diagonal
    common: Array


@flush_to_zero
def strengths(objective: Objective, posterior: Posterior) -> Strengths:
    n = posterior.n_localities
    saved, lost, common = np.zeros(n), np.zeros(n), np.zeros((n, n))
    for rows in objective.rows.blocks(objective.block):
        mean, omega = locate(objective.geometry, posterior, rows)
        value = objective.loss.value_and_partials(
            rows.target, mean, posterior.variances(posterior.norms2(rows.features))
        ).value
        _, others = gates(omega)
        own = (omega * value[:n]) @ rows.weight
        saved += (omega * others * value[n]) @ rows.weight - own
        lost += own
        member = (omega >= 0.5).astype(float)
        common += member @ member.T
    return Strengths(saved, lost, common)


def weakest(objective: Objective, posterior: Posterior) -> tuple[list[int], int]:
    """The localities, weakest first, and how many of them are of no use: no row in them, or the
    rows of a stronger one.

    Parameters
    ----------
    objective : Objective
    posterior : Posterior

    Returns
    -------
    order : list of int
    useless : int
        So many of the first are of no use.

    Examples
    --------
    A ball far away from all rows is of no use:

    >>> from dataclasses import replace
    >>> import numpy as np
    >>> from motlm import Prior
    >>> from motlm.datasets import make_clf_case1
    >>> from motlm.losses import ZeroOne
    >>> from motlm.geometry import LearnedBalls
    >>> from motlm.objective import Objective
    >>> from motlm.rows import Rows
    >>> from motlm.strengths import weakest
    >>> from motlm.starts import place_at_rows
    >>> X, y = make_clf_case1(200, random_state=0)
    >>> objective = Objective(ZeroOne(), LearnedBalls(), Prior(), Rows.of(X, y), 4.0)
    >>> start = place_at_rows(objective, 2, False, np.random.default_rng(0))
    >>> weakest(objective, replace(start, center=np.array([[0.0, 0.0], [90.0, 0.0]])))
    ([1, 0], 1)
    """
    saved, _, common = strengths(objective, posterior)
    size = np.maximum(np.diag(common), 1.0)
    order = [int(i) for i in np.argsort(saved, kind="stable")]
    useless = [i for i in order if common[i, i] == 0]
    for place, i in enumerate(order):
        stronger = order[place + 1 :]
        if i not in useless and any(
            common[i, j] > _TWINS * max(size[i], size[j]) for j in stronger
        ):
            useless.append(i)
    return useless + [i for i in order if i not in useless], len(useless)
