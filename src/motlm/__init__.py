"""Mixtures of transparent local models: a few balls, a linear model in each, one outside.

The public names are imported when they are first asked for. NumPy, SciPy and scikit-learn take a
second to import, and the command line must answer Ctrl-C in that time.
"""

from ._version import __version__

__all__ = [
    "PAPER",
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
    "compare",
    "load",
    "save",
]

TYPE_CHECKING = False  # type checkers take it for true
if TYPE_CHECKING:
    from .comparison import compare
    from .errors import ModelFileError, MotlmError
    from .estimators import LocalMixtureClassifier, LocalMixtureRegressor
    from .inputs import TableNotes
    from .loading import load, save
    from .localities import Locality, LocalModel
    from .mixture import Mixture
    from .posterior import Posterior, Prior
    from .reproduction import PAPER
    from .units import Units
else:
    _HOMES = {
        "LocalMixtureClassifier": "estimators",
        "LocalMixtureRegressor": "estimators",
        "LocalModel": "localities",
        "Locality": "localities",
        "Mixture": "mixture",
        "ModelFileError": "errors",
        "PAPER": "reproduction",
        "MotlmError": "errors",
        "Posterior": "posterior",
        "Prior": "posterior",
        "TableNotes": "inputs",
        "Units": "units",
        "compare": "comparison",
        "load": "loading",
        "save": "loading",
    }

    def __getattr__(name):
        """A public name from its module, or a module of the package."""
        from importlib.util import find_spec

        home = _HOMES.get(name, name)
        if name.startswith("_") or find_spec(f"{__name__}.{home}") is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = __import__(f"{__name__}.{home}", fromlist=["*"])
        if name not in _HOMES:
            return module
        globals()[name] = found = getattr(module, name)
        return found

    def __dir__():
        return sorted({*globals(), *__all__})
