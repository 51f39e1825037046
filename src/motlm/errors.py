"""Errors and warnings that a user can act on, as a small tree.

Every error of motlm's own that is the user's to mend is a `MotlmError`; each is also the built-in
error that scikit-learn's users expect there. scikit-learn's checks of arrays (their number of
columns, of dimensions, of rows) raise its own.
"""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning

__all__ = [
    "CertificateError",
    "CertificateWarning",
    "EmptyLocalityWarning",
    "ExportError",
    "FewRowsWarning",
    "IdentifierWarning",
    "IdleLocalityWarning",
    "InputError",
    "InputTypeError",
    "LookAlikeWarning",
    "MissingPackageError",
    "MissingValueWarning",
    "ModelFileError",
    "MotlmError",
    "MotlmWarning",
    "NeedlessLocalityWarning",
    "NotAModelFileError",
    "NotConvergedWarning",
    "StoppedEarlyWarning",
    "StrayTextWarning",
    "TooManyLocalitiesError",
    "TrainingRowsError",
    "UnknownCategoryError",
    "UnknownCategoryWarning",
    "VoidCertificateError",
]


class MotlmError(Exception):
    """What all errors that a user can mend have in common.

    Parameters
    ----------
    text : str
        What was expected and what came.
    advice : str, default=""
        What to do about it in Python; the command line has its own.

    Examples
    --------
    >>> import motlm
    >>> try:
    ...     motlm.LocalMixtureRegressor(n_localities=-1).fit([[0.0], [1.0]], [0.0, 1.0])
    ... except motlm.MotlmError as error:
    ...     print(error)
    n_localities must be 'auto' or an integer >= 0; got -1.
    """

    def __init__(self, text: str, advice: str = "") -> None:
        super().__init__(f"{text} {advice}" if advice else text)
        self.text, self.advice = text, advice


class InputError(MotlmError, ValueError):
    """A value that was given: a parameter, rows, targets, points of interest."""


class UnknownCategoryError(InputError):
    """A category that the model was not fitted on."""


class TooManyLocalitiesError(InputError):
    """More localities than distinct rows."""


class InputTypeError(MotlmError, TypeError):
    """An object of a kind that cannot be used there."""


class MissingPackageError(MotlmError, ImportError):
    """An optional package that is not installed."""


class ModelFileError(MotlmError, ValueError):
    """A file that is not a model, or not one that this version can read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import motlm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.json"
    ...     _ = path.write_text("{}")
    ...     try:
    ...         motlm.load(path)
    ...     except motlm.ModelFileError as error:
    ...         print(str(error).removeprefix(f"{path}: "))
    not a model file: it lacks the entry format = 'motlm model'.
    """


class NotAModelFileError(ModelFileError):
    """A file that is something else altogether: no text, or no JSON."""


class ExportError(MotlmError, ValueError):
    """A model that cannot be written in that language."""


class CertificateError(MotlmError, ValueError):
    """A certificate that cannot be given, does not belong to a model, or was changed.

    Examples
    --------
    >>> from motlm.certificates import Certificate, CertificateError
    >>> try:
    ...     Certificate.from_dict({"delta": 0.05})
    ... except CertificateError as error:
    ...     print(error)
    not a certificate: expected what Certificate.to_dict writes, with its digest.
    """


class VoidCertificateError(CertificateError, AttributeError):
    """The certificate that an estimator carries is not about it at this moment."""


class TrainingRowsError(CertificateError):
    """Rows that the model was fitted on, which cannot certify it."""


class MotlmWarning(UserWarning):
    """A warning with advice; the command line has its own advice for each kind.

    Parameters
    ----------
    text : str
    advice : str, default=""
    """

    def __init__(self, text: str, advice: str = "") -> None:
        super().__init__(f"{text} {advice}" if advice else text)
        self.text, self.advice = text, advice


class StoppedEarlyWarning(MotlmWarning, ConvergenceWarning):  # type: ignore[misc]
    """The search was stopped, by `max_time` or Ctrl-C, before it had ended.

    Parameters
    ----------
    text : str
    advice : str, default=""
    interrupted : bool, default=False
        Whether by Ctrl-C.
    """

    def __init__(self, text: str, advice: str = "", interrupted: bool = False) -> None:
        super().__init__(text, advice)
        self.interrupted = interrupted


class EmptyLocalityWarning(MotlmWarning):
    """A locality that no training row belongs to was dropped."""


class IdleLocalityWarning(MotlmWarning):
    """A locality that was asked for tells nothing: its model hardly differs from the exterior's, or
    it contains all rows, so that the exterior is used for none.
    """


class NeedlessLocalityWarning(MotlmWarning):
    """Rows that were left out are predicted clearly worse with the localities that were asked for
    than by one model without any.
    """


class IdentifierWarning(MotlmWarning):
    """A column looks like the names or the numbers of the rows, or holds dates as text."""


class StrayTextWarning(MotlmWarning):
    """Nearly all values of a column of text are numbers: a few stray words made it categories."""


class LookAlikeWarning(MotlmWarning):
    """Labels, or categories of a column, differ only in case or in the spaces around them."""


class UnknownCategoryWarning(MotlmWarning):
    """A category that the model was not fitted on is taken as the training average."""


class MissingValueWarning(MotlmWarning):
    """A value is missing in a column that had none missing in fit: it is taken as the training
    average.
    """


class CertificateWarning(MotlmWarning):
    """A certificate that is void is not kept: of a model file, or of a model that is saved."""


class FewRowsWarning(MotlmWarning):
    """There are too few rows to choose by."""


class NotConvergedWarning(MotlmWarning, ConvergenceWarning):  # type: ignore[misc]
    """A search took all the steps that it was allowed."""
