"""Shared fixtures. The environment variable makes scikit-learn's array-API check run instead of
being skipped.
"""

from __future__ import annotations

import os
import signal
import zlib
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # before anything imports scipy

import numpy as np
import pytest

collect_ignore = [
    "reference/make_membership_reference.py"
]  # needs python-flint, which the tests do not

SHARED = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(autouse=True)
def _interrupts() -> Iterator[None]:
    """A shell's background jobs ignore Ctrl-C, and their tests would never see it."""
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def _same_numbers(request: pytest.FixtureRequest) -> None:
    """Estimators without a random_state draw from NumPy's global generator: the same numbers in
    every run, so that a test that passes does so again.
    """
    np.random.seed(zlib.crc32(request.node.nodeid.encode()))  # noqa: NPY002


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20250)


@pytest.fixture
def shared_data() -> Path:
    if not SHARED.is_dir():
        pytest.skip(f"needs the paper's data sets in {SHARED}")
    return SHARED
