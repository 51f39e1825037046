"""From a model file to an estimator."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.pipeline import Pipeline

from .certificates import standing
from .errors import CertificateWarning, InputTypeError, ModelFileError
from .estimators import ESTIMATORS
from .files import Saved, read_model, save_model
from .mixture import mixture_of
from .pipelines import prepare

__all__ = ["estimator_of", "load", "save"]


def save(model: Any, path: Any, *, overwrite: bool = True) -> Any:
    """Write a fitted estimator, or a pipeline that ends in one, to a JSON file.

    Of a pipeline the file holds what its steps compute, as data: of StandardScaler, MinMaxScaler,
    MaxAbsScaler, RobustScaler, SimpleImputer, OneHotEncoder, ColumnTransformer and selections of
    columns. Others are refused. `load` gives a pipeline of two steps, which predicts the same.

    Parameters
    ----------
    model : fitted LocalMixtureClassifier or LocalMixtureRegressor, or a Pipeline that ends in one
    path : str or Path
    overwrite : bool, default=True
        Whether a file that exists may be replaced.

    Returns
    -------
    Path

    Raises
    ------
    ModelFileError
        If the pipeline has a step that a file cannot hold.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import motlm
    >>> from motlm.datasets import make_reg_case1
    >>> X, y = make_reg_case1(100, random_state=0)
    >>> mixture = motlm.LocalMixtureRegressor(0, random_state=0)
    >>> model = make_pipeline(StandardScaler(), mixture).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = motlm.load(motlm.save(model, Path(folder) / "model.json"))
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    if not isinstance(model, Pipeline):
        if not hasattr(model, "to_saved"):
            raise InputTypeError(
                "expected a fitted motlm estimator, or a pipeline that ends in one; got a"
                f" {type(model).__name__}."
            )
        return model.save(path, overwrite=overwrite)
    mixture_of(model[-1])
    steps = prepare(model) if len(model.steps) > 1 else None
    return save_model(model[-1].to_saved(steps), path, overwrite)


def load(path: Any) -> Any:
    """The estimator, or pipeline, that was saved to a file. No code is run; a file that is not
    whole and sound is an error that says why. A certificate that is not about the model is left
    out, with a warning.

    Parameters
    ----------
    path : str or Path
        Of a file that `save`, or the method of an estimator, wrote.

    Returns
    -------
    LocalMixtureClassifier or LocalMixtureRegressor
        Or a Pipeline that ends in one, if that was saved.

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
        core = model[-1] if isinstance(model, Pipeline) else model
        del core.certificate_
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
    made = cls.from_saved(saved)
    return made if saved.steps is None else Pipeline([("steps", saved.steps), ("model", made)])
