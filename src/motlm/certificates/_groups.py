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
from scipy.stats import poisson
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import column_or_1d, has_fit_parameter

from .._typing import AnyArray, Integers
from ..checks import refuse_missing_groups
from ..errors import CertificateError, InputError
from ..fingerprints import five_digits
from ..frames import columns_of, from_arrow, is_frame
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

_CHANCE = 1e-2  # probability of taking equal rows for copies where chance explains them
_MANY = 10  # copies of each row, on average, in a table of a few kinds of cases
_MARGIN = 2.0  # by which columns may depend on each other more than is assumed


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
    codes = [_codes(one) for one in (*_columns(X), *targets)]
    marks = _marks(codes)
    every, n_rows = _add(marks), len(codes[0])
    equal, common = _pairs(every), _MANY * len(np.unique(every)) <= n_rows
    if not equal or common or equal <= _explained(every, marks, codes):
        return np.arange(n_rows)
    return _in_order(every)


def are_copies(groups: Integers, X: Any, *targets: Any) -> bool:
    """Whether all rows of each group are equal: those a fit merges by itself."""
    every = _add(_marks([_codes(one) for one in (*_columns(X), *targets)]))
    return len(np.unique(np.column_stack([groups.astype(np.uint64), every]), axis=0)) == (
        count_groups(groups)
    )


def _marks(codes: list[Integers]) -> list[AnyArray]:
    """Of each column a random number for each value."""
    rng = np.random.default_rng(0)
    return [rng.integers(2**64, size=len(one), dtype=np.uint64)[one] for one in codes]


def _add(marks: list[AnyArray]) -> AnyArray:
    """The hash of each row, from which the mark of a column can be subtracted."""
    return np.asarray(np.sum(marks, axis=0, dtype=np.uint64))


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


def _pairs(keys: AnyArray) -> float:
    """Of equal keys."""
    counts = np.unique(keys, return_counts=True)[1].astype(float)
    return float((counts * (counts - 1.0)).sum() / 2.0)


def _explained(every: AnyArray, marks: list[AnyArray], codes: list[Integers]) -> float:
    """The number of pairs of equal rows that chance may give."""
    n_rows, equal = len(every), _pairs(every)
    possible, most = n_rows * (n_rows - 1.0) / 2.0, 0.0
    for mark, code in zip(marks, codes, strict=True):
        agreeing = _pairs(code)
        rate = np.sqrt(agreeing / possible)
        if 2 * len(np.unique(code)) > n_rows:  # mostly different values: by copies alone, perhaps
            rate = (agreeing - equal + 1.0) / possible
        if rate < 1.0:
            most = max(most, (_pairs(every - mark) - equal) * rate / (1.0 - rate))
    return float(poisson.isf(_CHANCE, _MARGIN * most)) if most > 0 else 0.0


def _in_order(values: AnyArray) -> Integers:
    """Equal values as one number, from 0, in order of appearance."""
    _, first, where = np.unique(values, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[where.ravel()])


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
        return _in_order(given)
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
