"""The paper's synthetic sets, ten splits each: minutes, so not run by default. `make slow` prints
the figures.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.datasets import load_published
from motlm.preprocessing import three_parts

pytestmark = pytest.mark.slow

POINTS = {
    "clf_case1": [[-1.0, 0.0], [1.0, 0.0]],
    "clf_case2": [[-1.4, 0.0], [0.0, 0.75], [1.4, 0.0]],
    "reg_case1": [[0.0189]],
    "reg_case2": [[-0.5086], [0.5086]],
}
RADII = {
    "clf_case1": [1.0, 0.8],
    "clf_case2": [0.85, 0.4, 0.85],
    "reg_case1": [1.0],
    "reg_case2": [0.5086, 0.5086],
}


# the coordinates are in one unit and the true balls are round in it
ROUND = {"standardize": False, "locality_features": "ball", "corrections": "none"}
LOSSES = {"clf": {"loss": "zero-one"}, "reg": {}}  # the paper's


def ten_splits(name: str, folder: Path, known: bool, **parameters) -> tuple[np.ndarray, int]:
    """Test scores over splits 0 to 9, 70/15/15, and how often all centers and radii came within 0.1
    of the true ones.
    """
    X, y = load_published(name, data_home=folder)
    classify = name.startswith("clf")
    scores, found = [], 0
    for i in range(10):
        parts = three_parts(X, y, i, stratify=classify)
        model = (LocalMixtureClassifier if classify else LocalMixtureRegressor)(
            len(POINTS[name]),
            points_of_interest=POINTS[name] if known else None,
            random_state=0,
            **parameters,
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="no training row belongs")
            model.fit(parts.X[0], parts.y[0])
        scores.append(model.score(parts.X[2], parts.y[2]))
        found += recovered(model, name)
    print(
        f"\n{name}, {'known' if known else 'learned'} points: {np.mean(scores):.4f} +-"
        f" {np.std(scores):.4f}, found in {found}"
    )
    return np.array(scores), found


def recovered(model, name: str) -> bool:
    if len(model.localities_) != len(POINTS[name]):
        return False
    ours = sorted([*locality.center, locality.radius] for locality in model.localities_)
    true = sorted([*point, radius] for point, radius in zip(POINTS[name], RADII[name], strict=True))
    return bool(np.abs(np.array(ours) - np.array(true)).max() <= 0.1)


@pytest.mark.parametrize(
    ("name", "least"),
    [("clf_case1", 0.78), ("clf_case2", 0.965), ("reg_case1", 0.998), ("reg_case2", 0.993)],
)
def test_known_points(name: str, least: float, shared_data: Path) -> None:
    scores, _ = ten_splits(name, shared_data, known=True, **ROUND, **LOSSES[name[:3]])
    assert scores.mean() >= least


@pytest.mark.parametrize(
    ("name", "least", "least_found"),
    [
        ("clf_case1", 0.785, 9),
        ("clf_case2", 0.97, 9),
        ("reg_case1", 0.999, 0),
        ("reg_case2", 0.995, 9),
    ],
)
def test_learned_points(name: str, least: float, least_found: int, shared_data: Path) -> None:
    """reg_case1 has no row between 0.811 and 0.945 from its center, so that its radius is not
    determined to 0.1.
    """
    scores, found = ten_splits(name, shared_data, known=False, **ROUND, **LOSSES[name[:3]])
    assert scores.mean() >= least
    assert found >= least_found


@pytest.mark.parametrize(
    ("name", "least"),
    [("clf_case1", 0.78), ("clf_case2", 0.98), ("reg_case1", 0.999), ("reg_case2", 0.995)],
)
def test_nothing_is_told_about_units(name: str, least: float, shared_data: Path) -> None:
    """By default columns are standardized, in which balls are none; their widths are learned."""
    scores, _ = ten_splits(name, shared_data, known=False)
    assert scores.mean() >= least
