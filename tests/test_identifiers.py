"""Columns of whole numbers that name rows, and those that measure something."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motlm.cli._columns import describe_columns, is_identifier

RNG = np.random.default_rng(0)
ALL = 400
IDENTIFIERS = {
    "row numbers": np.arange(ALL),
    "some of them, in another order": RNG.permutation(2000)[:ALL] + 17,
    "years of clients": 20_000 + RNG.permutation(3 * ALL)[:ALL],
    "nearly all different": np.append(np.arange(ALL - 3), [0, 1, 2]),
    "account numbers": RNG.choice(9 * 10**9, ALL, replace=False) + 10**9,
}
MEASURED = {
    "ages": RNG.integers(18, 90, ALL),
    "amounts": RNG.lognormal(8, 1, ALL).round(),
    "wide amounts": RNG.integers(0, 10**6, ALL),
    "all different amounts": RNG.choice(10**7, ALL, replace=False),
    "days of every year, as often each": np.arange(ALL) % 100,
    "incomes": 1000 * RNG.integers(10, 90, ALL),
    "sorted amounts": np.sort(RNG.integers(0, 10**6, ALL)),
    "not whole": np.sort(RNG.normal(size=ALL)),
    "few rows": np.arange(20),
    "a constant": np.ones(ALL),
}


@pytest.mark.parametrize("name", IDENTIFIERS)
def test_identifiers_are_pointed_out(name: str) -> None:
    column = pd.Series(IDENTIFIERS[name], dtype=float)
    assert is_identifier(column)
    [line] = describe_columns(column.to_frame("x"))
    assert "LOOKS LIKE AN IDENTIFIER" in line
    assert "--id" in line


@pytest.mark.parametrize("name", MEASURED)
def test_measurements_are_not(name: str) -> None:
    column = pd.Series(MEASURED[name], dtype=float)
    assert not is_identifier(column)
    assert "IDENTIFIER" not in describe_columns(column.to_frame("x"))[0]


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(30, 800))
def test_independent_draws_are_never_pointed_out(seed: int, digits: int, n_rows: int) -> None:
    rng = np.random.default_rng(seed)
    assert not is_identifier(pd.Series(rng.integers(0, 10**digits, n_rows), dtype=float))
    assert not is_identifier(pd.Series(rng.lognormal(digits, 1, n_rows).round()))


def test_columns_of_real_tables_are_not() -> None:
    """Breast cancer, diabetes, wine: all measured."""
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

    for load in (load_breast_cancer, load_diabetes, load_wine):
        frame = load(as_frame=True).data.astype(float)
        assert not [name for name in frame if is_identifier(frame[name])]
