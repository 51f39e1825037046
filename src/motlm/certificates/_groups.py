"""Rows that belong together: equal rows, and those of one client. They are never on both sides of a
split, and one of them is counted.

A certificate counts independent draws. Groups are drawn, and of each sealed group one row, so that
the counted rows are independent if the groups are: draws of "one row of a new group". The other
rows of sealed groups are neither used for fitting nor counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import column_or_1d, has_fit_parameter

from .._typing import Integers
from ..checks import refuse_missing_groups
from ..errors import CertificateError, InputError
from ..fingerprints import five_digits
from ..frames import columns_of, from_arrow, is_frame
from ..repeats import add_marks, group_equal, in_order, marks_of
from ._copies import as_array, as_numbers

__all__ = [
    "are_copies",
    "check_groups",
    "count_groups",
    "describe_counted",
    "describe_split",
    "draw",
    "fit_groups",
    "group_equal_rows",
    "one_of_each",
]


def group_equal_rows(X: Any, *targets: Any) -> Integers:
    """Which rows are one case: the group of each row, from 0, in order of appearance.

    Rows that are equal, to five digits and with their targets, are in one group if more of them are
    equal than chance explains, as where cases were recorded twice. If chance explains it, as in a
    table of a few columns with few values, each row is a group by itself.

    Chance: pairs of rows that agree in all columns but one are as many as its probability q of
    agreement leaves: for n of them, n q / (1 - q) pairs agree in that one too. q is the square root
    of the share of all pairs that agree (columns may depend on each other); if most values of the
    column are different, the share of pairs of different rows. The column that explains most pairs
    counts. Chance explains all where rows repeat ten times on average.

    Parameters
    ----------
    X : table or matrix
    *targets : arrays of (n_rows,)
        What else has to be equal: targets, exposures.

    Returns
    -------
    ndarray of int, (n_rows,)
        As `certify` takes it: `groups`.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.certificates import group_equal_rows
    >>> X = np.random.default_rng(0).normal(size=(4, 2))
    >>> group_equal_rows(X[[0, 1, 2, 1, 3]], [0, 1, 0, 1, 1])
    array([0, 1, 2, 1, 3])
    >>> coins = np.random.default_rng(0).integers(2, size=(1000, 3))
    >>> len(np.unique(group_equal_rows(coins[:, :2], coins[:, 2])))
    1000
    """
    return group_equal([_codes(one) for one in (*_columns(X), *targets)])


def are_copies(groups: Integers, X: Any, *targets: Any) -> bool:
    """Whether all rows of each group are equal: those a fit merges by itself."""
    every = add_marks(marks_of([_codes(one) for one in (*_columns(X), *targets)]))
    return len(np.unique(np.column_stack([groups.astype(np.uint64), every]), axis=0)) == (
        count_groups(groups)
    )


def _columns(X: Any) -> list[Any]:
    X = from_arrow(X)
    if is_frame(X):
        return columns_of(X)
    if not issparse(X):
        values = as_array(X)
        if values.dtype.kind in "OUS":
            return list(values.reshape(len(values), -1).T)
    return list(as_numbers(X).T)


def _codes(column: Any) -> Integers:
    """Equal values have one number, from 0; numbers are compared to five digits."""
    values = np.asarray(column)
    if values.dtype.kind in "mM":
        values = values.view(np.int64)
    if values.dtype.kind in "biuf":
        numbers = values.astype(float)
        numbers[np.isnan(numbers)] = np.nan  # of which there are many in bits
        return np.asarray(np.unique(five_digits(numbers), return_inverse=True)[1])
    seen: dict[Any, int] = {}
    keys = (one if isinstance(one, str) else (type(one), str(one)) for one in values.tolist())
    return np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.int64)


def check_groups(groups: Any, n_rows: int) -> Integers:
    """Groups that were given, as numbers from 0 in order of appearance."""
    refuse_missing_groups(groups)
    try:
        given = column_or_1d(groups)
    except ValueError as error:
        raise InputError(f"groups must be one value for each row: {error}") from None
    if len(given) != n_rows:
        raise InputError(f"groups has {len(given)} values, but there are {n_rows} rows.")
    try:
        return in_order(given)
    except TypeError:  # which NumPy raises where values cannot be sorted
        kinds = sorted({type(one).__name__ for one in given.tolist()})
        raise InputError(
            f"groups must be values of one kind; got {', '.join(kinds)}.",
            "Write all of them as text, or all as numbers.",
        ) from None


def count_groups(groups: Integers) -> int:
    return int(groups.max(initial=-1)) + 1


def one_of_each(groups: Integers, random_state: int) -> Integers:
    """One row of each group, drawn at random: indices, in order of the groups."""
    order = np.random.default_rng([random_state, 1]).permutation(len(groups))
    return np.asarray(order[np.unique(groups[order], return_index=True)[1]])


def draw(groups: Integers, sealed: float, random_state: int) -> tuple[Integers, Integers]:
    """The rows of most groups, and one row of each of the others: indices, in order."""
    n_groups = count_groups(groups)
    order = np.random.default_rng(random_state).permutation(n_groups)
    n_sealed = round(sealed * n_groups)
    if not 1 <= n_sealed < n_groups:
        what = "rows" if n_groups == len(groups) else "groups of rows that belong together"
        raise CertificateError(
            f"{n_groups} {what} cannot be split into some to fit on and some to seal; give more"
            " rows."
        )
    first = np.flatnonzero(np.isin(groups, order[n_sealed:]))
    return first, np.sort(one_of_each(groups, random_state)[order[:n_sealed]])


def describe_split(groups: Integers, first: Integers, kept: Integers) -> str:
    n_rows, n_groups = len(groups), count_groups(groups)
    if n_groups == n_rows:
        return f"split of {n_rows} rows: {len(first)} to fit on, {len(kept)} sealed"
    aside = n_rows - len(first) - len(kept)
    return (
        f"split of {n_rows} rows in {n_groups} groups: {len(first)} to fit on, {len(kept)} sealed,"
        f" one of each group, {aside} set aside"
    )


def describe_counted(groups: Integers) -> str:
    n_rows, n_groups = len(groups), count_groups(groups)
    if n_groups == n_rows:
        return f"{n_rows} rows"
    return f"{n_groups} of {n_rows} rows, one of each group"


def fit_groups(estimator: Any, groups: Integers) -> dict[str, Integers]:
    """The argument by which `fit` takes groups, if it does; of a pipeline its last step."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return {f"{name}__{key}": values for key, values in fit_groups(last, groups).items()}
    return {"groups": groups} if has_fit_parameter(estimator, "groups") else {}
