"""Which values are missing, and what stands in for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import AnyArray
from ..frames import is_missing
from ..mixture import Mixture
from ..tables import values_of

__all__ = ["missing_values"]


def missing_values(mixture: Mixture, X: Any) -> tuple[dict[str, Any], ...]:
    """Of each column in which values are missing, in these rows or in training: how many are, the
    share of them, that among the training rows, by weight, and what stands in for them in the
    models; a category has a level for missing values.
    """
    inputs, found = mixture.inputs, []
    for group, values in zip(inputs.groups, values_of(mixture, X).values(), strict=True):
        j, own = group.columns.start, group.indicator
        if group.levels is not None and None in group.levels:
            own = group.columns.stop - 1
        count = _count(values)
        if not count and own is None:
            continue
        stand_in: Any = float(inputs.stand_in[j]) if group.levels is None else "a level of its own"
        if group.levels is not None and own is None:
            stand_in = "the training average"
        found.append(
            {
                "column": group.name,
                "missing": count,
                "share": count / max(len(values), 1),
                "share in training": 0.0 if own is None else float(inputs.typical[own]),
                "stands in": stand_in,
            }
        )
    return tuple(found)


def _count(values: AnyArray) -> int:
    return int(np.count_nonzero(is_missing(values)))
