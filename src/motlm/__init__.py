"""Mixtures of transparent local models: a few balls, a linear model in each, one outside."""

from .estimators import LocalMixtureClassifier, LocalMixtureRegressor
from .localities import Locality, LocalModel
from .posterior import Posterior, Prior

__version__ = "0.1.0"

__all__ = ["LocalMixtureClassifier", "LocalMixtureRegressor", "LocalModel", "Locality", "Posterior", "Prior", "__version__"]
