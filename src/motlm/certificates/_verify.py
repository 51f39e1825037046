"""Whether a certificate belongs to a model, and the intervals that it certifies."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from joblib import hash as joblib_hash

from .._typing import Array
from ..errors import CertificateError, MotlmWarning
from ..localities import Shape
from ..mixture import Mixture
from ._models import core_of, find_mixture, model_hash, rows_of_core
from ._statements import Certificate, Statement

__all__ = ["known_hashes", "prediction_interval", "verify"]

_ROUNDING = 1e-9  # by which what is derived anew may differ


def verify(model: Any, certificate: Certificate) -> tuple[Statement, ...]:
    """The statements of a certificate that are about this model; an error if there are none, since
    it was refitted or changed, or if they are mixed with those about another one.

    Parameters
    ----------
    model : fitted estimator or mixture
    certificate : Certificate

    Returns
    -------
    tuple of Statement

    Raises
    ------
    CertificateError
        If no statement is about this model, or some that should be are about another one.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from motlm.certificates import certify, verify
    >>> from motlm.datasets import make_twonorm
    >>> X, y = make_twonorm(400, random_state=0)
    >>> model, certificate = certify(LogisticRegression(), X, y, spend={"hold-out": 0.05})
    >>> [statement.name for statement in verify(model, certificate)]
    ['hold-out']
    >>> verify(model.fit(X, y), certificate)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    motlm.errors.CertificateError: this certificate is not about this model ...
    """
    _check_derived(model)
    known = known_hashes(model)
    if not known:
        raise CertificateError(
            "this certificate cannot be verified: the model cannot be hashed, since it cannot be"
            " pickled."
        )
    about = tuple(one for one in certificate.statements if one.model in known)
    if not about:
        raise CertificateError(
            f"this certificate is not about this model (its numbers hash to {known[0][:16]}, the"
            f" certificate's to {certificate.model[:16]}): it was refitted, edited, or is another"
            " one (of a certified pipeline, the certificate is about all steps together).",
            "Certify it anew.",
        )
    fixed = [one.model for one in certificate.statements if one.predictor == "fixed"]
    others = {*fixed, certificate.model} - {*known}
    # a model that was drawn, and a distribution, have statements beside those about the model
    if others and (certificate.model in known or {*fixed} & {*known}):
        raise CertificateError(
            f"this certificate is not about this model alone (its numbers hash to {known[0][:16]},"
            f" some of the certificate's to {min(others)[:16]}): it was put together from several"
            " ones.",
            "Certify the model anew.",
        )
    return about


def _check_derived(model: Any) -> None:
    """What a mixture derives from its numbers once, and keeps, is still what follows from them."""
    mixture = find_mixture(model)
    if mixture is None:
        return
    inputs = replace(mixture.inputs)  # which has derived nothing yet
    fresh, own = replace(mixture, inputs=inputs), {one.name for one in fields(inputs)}
    changed = [
        name
        for name, value in vars(mixture.inputs).items()
        if name not in own and joblib_hash(value) != joblib_hash(getattr(inputs, name))
    ]
    if "models" in vars(mixture) and not _same_models(mixture, fresh):
        changed.append("models")
    if changed:
        raise CertificateError(
            f"this certificate is not about this model any more: {changed[0]}, which the model"
            " derives from its numbers, was changed in place.",
            "Load or fit the model anew.",
        )


def _same_models(shown: Mixture, fresh: Mixture) -> bool:
    """Whether the local models have the same coefficients and places, up to rounding."""
    for one, other in zip(shown.models, fresh.models, strict=True):
        terms = np.abs(other.coef) @ np.abs(fresh.inputs.units.center) + np.abs(other.intercept)
        if not np.all(np.abs(one.intercept - other.intercept) <= _ROUNDING * terms):
            return False
        for name in ("coef", "center", "radius"):
            value, expected = getattr(one, name, 0.0), getattr(other, name, 0.0)
            if not np.allclose(value, expected, rtol=_ROUNDING, atol=0.0):
                return False
        if not all(map(_same_shape, one.shapes, other.shapes)):
            return False
    return True


def _same_shape(shown: Shape, fresh: Shape) -> bool:
    """Whether a curve has the same points, up to rounding of numbers of its size."""
    size = float(np.abs(fresh.values).max(initial=0.0))
    return np.array_equal(shown.knots, fresh.knots) and np.allclose(
        shown.values, fresh.values, rtol=_ROUNDING, atol=_ROUNDING * size
    )


def known_hashes(model: Any) -> tuple[str, ...]:
    """The hashes by which certificates may name this model: its own, and of a model from a file of
    an earlier version that by the rule of that time; none if it cannot be hashed.
    """
    own = model_hash(model)
    return tuple(one for one in (own, _earlier_hash(model)) if own and one)


def _earlier_hash(model: Any) -> str:
    """Of a model from a file of an earlier version: its hash by the rule of that time, as long as
    it is unchanged.
    """
    mixture = find_mixture(model)
    if mixture is None or core_of(model) is not model or mixture.provenance.earlier_hash is None:
        return ""
    now, before = mixture.provenance.earlier_hash
    return before if now == mixture.hash else ""


def prediction_interval(model: Any, certificate: Certificate, X: Any) -> Array:
    """The certified interval of each row, (n_rows, 2), in the units of y; infinite where a region
    had too few rows for one.

    Parameters
    ----------
    model : fitted regressor or mixture
    certificate : Certificate
        Of this very model, with the statement "interval".
    X : rows

    Returns
    -------
    ndarray, (n_rows, 2)
        Lower and upper end.

    Examples
    --------
    >>> from motlm import LocalMixtureRegressor
    >>> from motlm.certificates import certify, prediction_interval
    >>> from motlm.datasets import make_reg_case1
    >>> X, y = make_reg_case1(300, random_state=0)
    >>> mixture = LocalMixtureRegressor(
    ...     points_of_interest=[[0.0189]], inverse_temperature=16, n_starts=1, random_state=0
    ... )
    >>> spend = {"interval": 0.05}
    >>> model, certificate = certify(mixture, X, y, sealed=0.5, spend=spend, coverage=0.9)
    >>> prediction_interval(model, certificate, [[0.5], [1.5]]).round(2)
    array([[ 0.24,  0.3 ],
           [-0.85, -0.8 ]])
    """
    about = [one for one in verify(model, certificate) if one.name == "interval"]
    if not about:
        raise CertificateError(
            "this certificate has no prediction intervals; certify a regressor with the statement"
            " 'interval'."
        )
    answers = np.asarray(model.predict(X), dtype=float)
    mixture = find_mixture(model)
    used, n = np.zeros(len(answers), dtype=int), 0
    if mixture is not None:
        n = mixture.n_localities
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MotlmWarning)  # predict has given them
            used = mixture.apply(rows_of_core(model, X))
    half = np.full(n + 2, np.inf)  # of each model; the last but one is the exterior, -1 is several
    for i, one in zip(_region_indices(about, n), about, strict=True):
        half[i] = np.inf if one.value is None else one.value
    return np.column_stack([answers - half[used], answers + half[used]])


def _region_indices(about: Sequence[Statement], n: int) -> list[int]:
    """The model used in the region of each statement; by their order in certificates of earlier
    versions, and 0 where there is one region.
    """
    indices = [one.region_index for one in about if one.region_index is not None]
    if len(indices) == len(about):
        return indices
    several = [-1] * (len(about) - n - 1)
    return [*range(n), *several, n]
