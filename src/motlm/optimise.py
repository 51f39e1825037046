"""Renamed: see motlm.optimize."""

from . import optimize, reproduction, search
from ._renamed import forward

__all__: list[str] = []
__getattr__ = forward(
    __name__,
    {"nadam": (reproduction, "nadam"), "SOLVERS": (search, "SOLVERS")},
    optimize,
)
