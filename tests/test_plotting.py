from __future__ import annotations

import builtins
import warnings

import matplotlib
import numpy as np
import pandas as pd
import pytest

from motlm import LocalMixtureClassifier, LocalMixtureRegressor
from motlm.datasets import make_clf_case2
from motlm.plotting import LocalitiesDisplay

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def model():
    X, y = make_clf_case2(200, random_state=0)
    X = pd.DataFrame(X, columns=["east", "north"])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no training row belongs")
        return (
            X,
            y,
            LocalMixtureClassifier(
                points_of_interest=[[-1.4, 0.0], [1.4, 0.0]], inverse_temperature=2.0, n_starts=1, random_state=0
            ).fit(X, y),
        )


def test_map_of_localities(model) -> None:
    X, y, fitted = model
    display = LocalitiesDisplay.from_estimator(fitted, X, y, grid_resolution=30)
    assert len(display.ax_.patches) == len(fitted.localities_)
    assert display.ax_.get_xlabel() == "east"
    width = 2 * fitted.localities_[0].half_width
    assert (display.ax_.patches[0].width, display.ax_.patches[0].height) == pytest.approx(tuple(width))
    again = display.plot(ax=display.ax_)
    assert again.figure_ is display.figure_
    matplotlib.pyplot.close("all")


def test_map_refuses_what_it_cannot_draw(model, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, fitted = model
    with pytest.raises(ValueError, match="draws classifiers; got a LocalMixtureRegressor"):
        LocalitiesDisplay.from_estimator(LocalMixtureRegressor(0, inverse_temperature=1.0).fit(X, y), X, y)
    wide = np.column_stack([X, X])
    with pytest.raises(ValueError, match="draws models of 2 features; this one has 4"):
        LocalitiesDisplay.from_estimator(LocalMixtureClassifier(0, inverse_temperature=1.0).fit(wide, y), wide, y)
    text = pd.DataFrame({"where": ["a", "b"] * 100, "north": X["north"]})
    with pytest.raises(ValueError, match="draws models of 2 numeric features; this one has where=b, north"):
        LocalitiesDisplay.from_estimator(LocalMixtureClassifier(0, inverse_temperature=1.0).fit(text, y), text, y)
    city = LocalMixtureClassifier(points_of_interest=[[0.0, 0.0]], metric="manhattan", inverse_temperature=8.0, n_starts=1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no training row belongs")
        city.fit(X, y)
    with pytest.raises(ValueError, match="draws Euclidean balls; this model has metric='manhattan'"):
        LocalitiesDisplay.from_estimator(city, X, y)
    real = builtins.__import__

    def without_matplotlib(name, *arguments, **keywords):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    with pytest.raises(ImportError, match=r"plotting needs matplotlib: pip install 'motlm\[plot\]'"):
        LocalitiesDisplay.from_estimator(fitted, X, y, grid_resolution=5)
