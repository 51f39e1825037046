"""Drawings of fitted models, as scikit-learn Display objects. Needs matplotlib: pip install
'motlm[plot]'.
"""

from ._comparison import ComparisonDisplay
from ._contributions import ContributionsDisplay
from ._importance import ImportanceDisplay
from ._localities import LocalitiesDisplay
from ._models import CoefficientsDisplay, RegressionDisplay
from ._rates import LiftDisplay
from ._search import PathDisplay, RiskDisplay
from ._shapes import ShapeDisplay
from ._strips import StripsDisplay

__all__ = [
    "CoefficientsDisplay",
    "ComparisonDisplay",
    "ContributionsDisplay",
    "ImportanceDisplay",
    "LiftDisplay",
    "LocalitiesDisplay",
    "PathDisplay",
    "RegressionDisplay",
    "RiskDisplay",
    "ShapeDisplay",
    "StripsDisplay",
]
