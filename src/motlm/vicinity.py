"""Renamed: see motlm.membership, motlm.lookup and motlm.reproduction."""

from . import lookup, membership, reproduction
from ._renamed import forward

__all__: list[str] = []
__getattr__ = forward(__name__, None, membership, lookup, reproduction)
