"""Renamed: see motlm.TableNotes, motlm.inputs and motlm.frames."""

from . import frames, inputs
from ._renamed import forward

__all__: list[str] = []
__getattr__ = forward(__name__, None, inputs, frames)
