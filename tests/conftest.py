"""Shared fixtures. The environment variable makes scikit-learn's array-API check run instead of being skipped."""

from __future__ import annotations

import os
from pathlib import Path

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # before anything imports scipy

import numpy as np
import pytest

collect_ignore = ["reference/make_vicinity_reference.py"]  # needs python-flint, which the tests do not

SHARED = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20250)


@pytest.fixture
def shared_data() -> Path:
    if not SHARED.is_dir():
        pytest.skip(f"needs the paper's data sets in {SHARED}")
    return SHARED
