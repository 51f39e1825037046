"""A report that a person reads without Python: one HTML file that opens from disk and computes by
itself.
"""

from ._render import render

__all__ = ["render"]
