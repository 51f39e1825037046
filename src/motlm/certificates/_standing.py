"""Whether the certificate that a model carries may be quoted at this moment."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from ..errors import CertificateError
from ..inputs import HANDLE_UNKNOWN
from ..missing import MISSING
from ..overlap import OVERLAPS
from ._models import core_of, find_mixture, replace_mixture
from ._statements import Certificate
from ._verify import known_hashes, verify

__all__ = ["Standing", "standing"]


@dataclass(frozen=True)
class Standing:
    """What may be quoted of a certificate, or why nothing may.

    Attributes
    ----------
    certificate : Certificate or None
        The certificate, if `verify` accepts it at this moment; of a model that was drawn, or of a
        distribution, its statements about that one alone. None if it is void, or there is none.
    void : str
        Why the certificate is void, in a sentence; empty if it stands, or there is none.

    Examples
    --------
    >>> from motlm.certificates import Standing
    >>> Standing(None, "").void  # of a model without certificate
    ''
    """

    certificate: Certificate | None
    void: str


def standing(model: Any, certificate: Certificate | None = None) -> Standing:
    """What may be quoted of a certificate: all of it if `verify` accepts it at this moment, nothing
    if the model was refitted, changed or is another one.

    Parameters
    ----------
    model : fitted estimator, pipeline, search or mixture
    certificate : Certificate, default=None
        None is the one that the model carries.

    Returns
    -------
    Standing

    Examples
    --------
    >>> from motlm import LocalMixtureClassifier
    >>> from motlm.certificates import certify, standing
    >>> from motlm.datasets import make_clf_case2
    >>> X, y = make_clf_case2(400, random_state=0)
    >>> points = [[-1.4, 0], [0, 0.75], [1.4, 0]]
    >>> estimator = LocalMixtureClassifier(
    ...     points_of_interest=points, inverse_temperature=4, n_starts=1, random_state=0
    ... )
    >>> model, certificate = certify(estimator, X, y, spend={"hold-out": 0.05})
    >>> standing(model).certificate is certificate
    True
    >>> print(standing(model.set_params(overlap="mean")).void)
    the certificate is void: overlap was changed from 'nearest' to 'mean' after it was issued.
    """
    given: Any = _carried(model) if certificate is None else certificate
    if given is None:
        return Standing(None, "")
    if not isinstance(given, Certificate):
        return _void(f"it is a {type(given).__name__}, not a Certificate")
    try:
        about = verify(model, given)
    except CertificateError as error:
        return _void(_changed_rule(model, given) or _reason(error))
    if given.model in known_hashes(model):
        return Standing(given, "")
    return Standing(replace(given, statements=about), "")


def _void(reason: str) -> Standing:
    return Standing(None, f"the certificate is void: {reason}.")


def _reason(error: CertificateError) -> str:
    return "it " + error.text.removeprefix("this certificate ").rstrip(".")


def _carried(model: Any) -> Any:
    """What was stored with a model as its certificate, or with the last step of a pipeline."""
    core = core_of(model)
    holder = model if core is None else core
    return getattr(holder, "__dict__", {}).get("certificate_")


def _changed_rule(model: Any, certificate: Certificate) -> str:
    """The rules of reading the model that were changed, if it is the certified one otherwise."""
    mixture = find_mixture(model)
    if mixture is None:
        return ""
    for overlap, unknown, missing in product(OVERLAPS.values(), HANDLE_UNKNOWN, MISSING):
        before = mixture.follow(overlap, unknown, missing)
        try:
            verify(replace_mixture(model, before), certificate)
        except CertificateError:
            continue
        rules = {
            "overlap": (before.overlap.name, mixture.overlap.name),
            "handle_unknown": (before.inputs.handle_unknown, mixture.inputs.handle_unknown),
            "missing": (before.inputs.missing, mixture.inputs.missing),
        }
        return (
            " and ".join(
                f"{name} was changed from {old!r} to {new!r}"
                for name, (old, new) in rules.items()
                if old != new
            )
            + " after it was issued"
        )
    return ""
