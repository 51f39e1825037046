"""Data sets: the paper's synthetic cases, drawn by recipe."""

from ._synthetic import make_clf_case1, make_clf_case2

__all__ = ["make_clf_case1", "make_clf_case2"]
