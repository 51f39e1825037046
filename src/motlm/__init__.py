"""Mixtures of transparent local models: a few balls, a linear model in each, one outside."""

from ._version import __version__
from .errors import ModelFileError, MotlmError
from .estimators import LocalMixtureClassifier, LocalMixtureRegressor
from .inputs import TableNotes
from .loading import load
from .localities import Locality, LocalModel
from .mixture import Mixture
from .posterior import Posterior, Prior
from .units import Units

__all__ = [
    "LocalMixtureClassifier",
    "LocalMixtureRegressor",
    "LocalModel",
    "Locality",
    "Mixture",
    "ModelFileError",
    "MotlmError",
    "Posterior",
    "Prior",
    "TableNotes",
    "Units",
    "__version__",
    "load",
]
