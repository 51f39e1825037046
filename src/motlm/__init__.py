"""Mixtures of transparent local models: a few balls, a linear model in each, one outside."""

from ._version import __version__
from .estimators import LocalMixtureClassifier, LocalMixtureRegressor
from .files import ModelFileError, load
from .localities import Locality, LocalModel, Units
from .posterior import Posterior, Prior

__all__ = [
    "LocalMixtureClassifier",
    "LocalMixtureRegressor",
    "LocalModel",
    "Locality",
    "ModelFileError",
    "Posterior",
    "Prior",
    "Units",
    "__version__",
    "load",
]
