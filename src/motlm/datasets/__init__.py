"""Data sets: KEEL's, which the paper's tables use, the paper's synthetic cases, and those that come
with scikit-learn. Files are read, never executed.
"""

from ._keel import KEEL, KeelSet, data_folder, load_keel, load_published
from ._keel_format import Attribute, KeelFormatError, KeelTable, read_keel
from ._shipped import TABLES, load_table
from ._synthetic import (
    make_clf_case1,
    make_clf_case2,
    make_reg_case1,
    make_reg_case2,
    make_ringnorm,
    make_twonorm,
)

__all__ = [
    "KEEL",
    "TABLES",
    "Attribute",
    "KeelFormatError",
    "KeelSet",
    "KeelTable",
    "data_folder",
    "load_keel",
    "load_published",
    "load_table",
    "make_clf_case1",
    "make_clf_case2",
    "make_reg_case1",
    "make_reg_case2",
    "make_ringnorm",
    "make_twonorm",
    "read_keel",
]
