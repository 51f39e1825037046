"""Tables that need no network: scikit-learn's, made-up ones, and KEEL's from a folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
)

from ..errors import InputError, MissingPackageError
from ._keel import KEEL, load_keel
from ._synthetic import (
    make_clf_case1,
    make_clf_case2,
    make_reg_case1,
    make_reg_case2,
    make_ringnorm,
    make_twonorm,
)

__all__ = ["TABLES", "TableSet", "load_table"]


@dataclass(frozen=True)
class TableSet:
    """A data set that can be written as a table.

    Attributes
    ----------
    name, title : str
    task : str
        "classification" or "regression".
    source : str
        "scikit-learn" and "made up", which need nothing, or "KEEL", which needs a folder or the
        network.
    """

    name: str
    title: str
    task: str
    source: str


_SCIKIT: dict[str, tuple[str, str, str, Callable[..., Any]]] = {
    "breast_cancer": ("Breast cancer", "classification", "diagnosis", load_breast_cancer),
    "diabetes": ("Progression of diabetes", "regression", "progression", load_diabetes),
    "digits": ("Handwritten digits", "classification", "digit", load_digits),
    "iris": ("Species of iris", "classification", "species", load_iris),
    "wine": ("Cultivars of wine", "classification", "cultivar", load_wine),
}
_MADE: dict[str, tuple[str, str, Callable[..., Any]]] = {
    "clf_case1": ("Case 1 of the paper, two labels", "classification", make_clf_case1),
    "clf_case2": ("Case 2 of the paper, two labels", "classification", make_clf_case2),
    "reg_case1": ("Case 1 of the paper, a number", "regression", make_reg_case1),
    "reg_case2": ("Case 2 of the paper, a number", "regression", make_reg_case2),
    "made_ringnorm": ("Breiman's ringnorm", "classification", make_ringnorm),
    "made_twonorm": ("Breiman's twonorm", "classification", make_twonorm),
}
TABLES: tuple[TableSet, ...] = (
    *(TableSet(name, *about[:2], "scikit-learn") for name, about in _SCIKIT.items()),
    *(TableSet(name, *about[:2], "made up") for name, about in _MADE.items()),
    *(TableSet(one.name, one.title, one.task, "KEEL") for one in KEEL),
)
"""The data sets that `load_table` knows."""


def load_table(name: str, *, data_home: Any = None, download_if_missing: bool = False) -> Any:
    """A data set as a table of pandas, the target in its last column.

    Those that come with scikit-learn (in their own units, with classes by name) and those that are
    made up, always the same rows, need no network and no folder. KEEL's are looked for in a folder.

    Parameters
    ----------
    name : str
        "diabetes", "breast_cancer", "german"; `motlm datasets list` has all.
    data_home : str or Path, default=None
        Of KEEL's: the folder; by default the one that the environment variable MOTLM_DATA names,
        else `~/.cache/motlm`.
    download_if_missing : bool, default=False
        Whether to fetch one of KEEL's that is not there.

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> from motlm.datasets import load_table
    >>> table = load_table("diabetes")
    >>> table.shape, table.columns[:3].tolist(), table.columns[-1]
    ((442, 11), ['age', 'sex', 'bmi'], 'progression')
    """
    if name in _SCIKIT:
        return _from_scikit_learn(name)
    if name in _MADE:
        return _make(name)
    if name not in [one.name for one in KEEL]:
        here = [one.name for one in TABLES if one.source != "KEEL"]
        raise InputError(
            f"there is no data set {name!r}. These come with motlm: {', '.join(here)}. These need a"
            f" folder with their files, or a download: {', '.join(one.name for one in KEEL)}."
        )
    options = {"data_home": data_home, "download_if_missing": download_if_missing}
    return load_keel(name, as_frame=True, **options).frame


def _from_scikit_learn(name: str) -> Any:
    _, _, target, load = _SCIKIT[name]
    _pandas()
    options = {"scaled": False} if name == "diabetes" else {}
    found = load(as_frame=True, **options)
    table, y = found.data.copy(), found.target
    classes = getattr(found, "target_names", None)
    labelled = classes is not None and name != "digits"
    table[target] = np.asarray(classes)[y] if labelled else y
    return table


def _make(name: str) -> Any:
    X, y = _MADE[name][2](random_state=0)
    table = _pandas().DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    table["y"] = y.astype(int) if _MADE[name][1] == "classification" else y
    return table


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise MissingPackageError("tables need pandas: pip install pandas") from error
    return pandas
