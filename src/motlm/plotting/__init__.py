"""Drawings of fitted models, as scikit-learn Display objects. Needs matplotlib: pip install 'motlm[plot]'."""

from ._localities import LocalitiesDisplay

__all__ = ["LocalitiesDisplay"]
