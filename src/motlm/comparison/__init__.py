"""A model beside simple and strong others on the same folds: what does reading it cost?"""

from ._compare import compare
from ._result import Comparison

__all__ = ["Comparison", "compare"]
