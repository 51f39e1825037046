"""What is kept of a fit for its readers: who owns a model and what it is for, which rows it comes
from, and the simple models to compare it with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.utils.class_weight import compute_sample_weight

from ._typing import AnyArray, Array

__all__ = ["LinearReference", "ModelCard", "fit_reference"]


@dataclass(frozen=True)
class ModelCard:
    """Whose model it is, what it is for, and which rows it was fitted to, as the command line keeps
    it: `model.table_.card`.

    Attributes
    ----------
    owner, intended_use : str
        As they were given; "" if they were not.
    fitted_on : str
        The day of the fit, "2026-01-31".
    source : str
        Name of the table.
    n_read : int
        Rows of the table.
    n_fitted, n_sealed : int
        Rows that the model was fitted to, and rows that were kept for the certificate; all others
        were left out.
    n_without_target, n_set_aside : int or None
        Of those left out: rows without a target, and further rows of sealed cases (copies, or of
        the same group), of which one row is counted. The rest lacked other values. None if it is
        not known.
    columns_left_out : tuple of str
        Columns of the table that the model does not use.
    missing : mapping of str to int
        How many values of a column were missing, where some were, in the rows that were fitted to,
        sealed or set aside.
    tolerance : float or None
        Of a regressor: the error that counts as acceptable in its certificate.
    identifiers : tuple of str
        Columns that the model uses although their numbers look like those of rows, or codes.

    Examples
    --------
    >>> from motlm.cards import ModelCard
    >>> card = ModelCard(owner="Credit risk", n_read=1000, n_fitted=690, n_sealed=300)
    >>> card.n_left_out
    10
    """

    owner: str = ""
    intended_use: str = ""
    fitted_on: str = ""
    source: str = ""
    n_read: int = 0
    n_fitted: int = 0
    n_sealed: int = 0
    columns_left_out: tuple[str, ...] = ()
    missing: Mapping[str, int] = field(default_factory=dict)
    tolerance: float | None = None
    n_without_target: int | None = None
    n_set_aside: int | None = None
    identifiers: tuple[str, ...] = ()

    @property
    def n_left_out(self) -> int:
        """Rows of the table that were neither fitted to nor sealed."""
        return self.n_read - self.n_fitted - self.n_sealed

    @property
    def n_incomplete(self) -> int | None:
        """Rows of the table that were left out since they lacked values other than the target."""
        if self.n_without_target is None or self.n_set_aside is None:
            return None
        return self.n_left_out - self.n_without_target - self.n_set_aside


@dataclass(frozen=True, eq=False)
class LinearReference:
    """Two simple models that were fitted to the same rows as a mixture: one linear model, and one
    constant answer. Targets are codes: indices of labels, numbers, or rates.

    Attributes
    ----------
    link : str
        What a score answers: "sign", "largest", "identity" or "log", as in `motlm.routine.Answer`.
    coef : ndarray, (n_scores, n_encoded)
    intercept : ndarray, (n_scores,)
    usual : float
        The constant answer: the index of the most frequent label, or the mean.
    n_rows : int
        That they were fitted to.

    Examples
    --------
    >>> import numpy as np
    >>> from motlm.cards import LinearReference
    >>> one = LinearReference("sign", np.array([[2.0]]), np.array([-1.0]), 0.0, 100)
    >>> one.predict(np.array([[0.0], [1.0]])), one.probabilities(np.array([[0.5]]))
    (array([0, 1]), array([[0.5, 0.5]]))
    """

    link: str
    coef: Array
    intercept: Array
    usual: float
    n_rows: int

    def scores(self, encoded: Array) -> Array:
        """(n_rows, n_scores)"""
        return np.asarray(encoded @ self.coef.T + self.intercept)

    def predict(self, encoded: Array) -> AnyArray:
        """Codes of the answers."""
        scores = self.scores(encoded)
        if self.link == "largest":
            return np.asarray(scores.argmax(axis=1))
        if self.link == "sign":
            return np.asarray(scores[:, 0] > 0).astype(int)
        return np.asarray(np.exp(scores[:, 0]) if self.link == "log" else scores[:, 0])

    def probabilities(self, encoded: Array) -> Array:
        """(n_rows, n_classes), of labels."""
        scores = self.scores(encoded)
        if self.link == "largest":
            return np.asarray(softmax(scores, axis=1))
        return np.column_stack([expit(-scores[:, 0]), expit(scores[:, 0])])


def fit_reference(
    target: Any,
    encoded: Array,
    y: AnyArray,
    weight: Array | None = None,
    class_weight: Any = None,
) -> LinearReference | None:
    """The simple models of some rows, as `motlm.targets` chooses them; None where columns are too
    large or too small for the numbers of one formula, or all rows have one label.

    Parameters
    ----------
    target : Target of a mixture
    encoded : ndarray, (n_rows, n_encoded)
    y : ndarray, (n_rows,)
        Labels, numbers or rates.
    weight : ndarray, (n_rows,), default=None
        Such as exposures.
    class_weight : as of the mixture, default=None

    Returns
    -------
    LinearReference or None
    """
    if not encoded.shape[1]:
        return None
    labels = target.classes
    codes = np.asarray(y, dtype=float) if labels is None else np.searchsorted(labels, y)
    if labels is not None and len(np.unique(codes)) < 2:
        return None
    model = target.simple_model()
    used = weight
    if class_weight is not None and labels is not None:
        balance = compute_sample_weight(class_weight, y)
        used = balance if weight is None else weight * balance
    given = {} if used is None else {f"{model.steps[-1][0]}__sample_weight": used}
    *scalers, last = (step for _, step in model.fit(encoded, codes, **given).steps)
    coef, intercept = np.atleast_2d(last.coef_), np.atleast_1d(last.intercept_)
    with np.errstate(all="ignore"):
        for one in reversed(scalers):  # (x - mean_) / scale_
            coef = coef / one.scale_
            intercept = intercept - coef @ one.mean_
    if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        return None
    if labels is None:
        usual = float(np.average(codes, weights=weight))
    else:
        usual = float(np.bincount(codes, weights=weight).argmax())
    coef, intercept = _for_all_labels(coef, intercept, np.unique(codes), labels)
    link = target.describe().link
    return LinearReference(link, coef, intercept, usual, len(codes))


_NEVER = -1e3  # score of a label that no row has


def _for_all_labels(
    coef: Array, intercept: Array, present: AnyArray, labels: AnyArray | None
) -> tuple[Array, Array]:
    """A row for each of several labels, also of those that no row has."""
    if labels is None or len(labels) == 2 or len(present) == len(labels):
        return coef, intercept
    if len(present) == 2:  # one score, that of the second against the first
        coef, intercept = np.vstack([0 * coef, coef]), np.r_[0.0, intercept]
    every = np.zeros((len(labels), coef.shape[1])), np.full(len(labels), _NEVER)
    every[0][present], every[1][present] = coef, intercept
    return every
