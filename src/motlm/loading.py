"""From a model file to an estimator."""

from __future__ import annotations

import warnings
from typing import Any

from .certificates import standing
from .errors import CertificateWarning, ModelFileError
from .estimators import ESTIMATORS
from .files import Saved, read_model

__all__ = ["estimator_of", "load"]


def load(path: Any) -> Any:
    """The estimator that was saved to a file. No code is run; a file that is not whole and sound is
    an error that says why. A certificate that is not about the model is left out, with a warning.

    Parameters
    ----------
    path : str or Path
        Of a file that `save` of an estimator wrote.

    Returns
    -------
    LocalMixtureClassifier or LocalMixtureRegressor

    Raises
    ------
    ModelFileError
        If it is not a model, or not one that this version can read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import motlm
    >>> from motlm.datasets import make_reg_case1
    >>> X, y = make_reg_case1(100, random_state=0)
    >>> mixture = motlm.LocalMixtureRegressor(points_of_interest=[[0.0]], random_state=0)
    >>> model = mixture.fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = model.save(Path(folder) / "model.json")
    ...     again = motlm.load(path)
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    model = read_model(path, estimator_of)
    void = standing(model).void
    if void:
        del model.certificate_
        text = f"{path}: loaded without its certificate: {void}"
        warnings.warn(CertificateWarning(text, "Certify the model anew."), stacklevel=2)
    return model


def estimator_of(saved: Saved) -> Any:
    """The estimator of what a file holds."""
    cls = ESTIMATORS.get(saved.estimator)
    if cls is None:
        raise ModelFileError(
            f"estimator should be one of {', '.join(ESTIMATORS)}; got {saved.estimator[:60]!r}."
        )
    return cls.from_saved(saved)
