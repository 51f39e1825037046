"""Explanations, as tables: the whole model, why it answers what it answers for a row, and what
would change that answer.
"""

from ._counterfactual import Counterfactual, counterfactual
from ._global import GlobalExplanation, Region, explain_global
from ._importance import Importance, importance
from ._local import LocalExplanation, explain_local
from ._row import ClassScore, RowExplanation

__all__ = [
    "ClassScore",
    "Counterfactual",
    "GlobalExplanation",
    "Importance",
    "LocalExplanation",
    "Region",
    "RowExplanation",
    "counterfactual",
    "explain_global",
    "explain_local",
    "importance",
]
