"""Explanations: what a model says in all, what it says of a row and why, and what would change its
answer. Tables first.
"""

from ._counterfactual import Counterfactual, counterfactual
from ._global import GlobalExplanation, Region, explain_global
from ._local import LocalExplanation, RowExplanation, explain_local

__all__ = [
    "Counterfactual",
    "GlobalExplanation",
    "LocalExplanation",
    "Region",
    "RowExplanation",
    "counterfactual",
    "explain_global",
    "explain_local",
]
