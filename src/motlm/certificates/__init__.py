"""Certificates: bounds on the risk of a model that hold with a stated confidence, in words that can
be quoted.
"""

from typing import Any

from ..errors import CertificateError
from ._statements import Certificate, Ledger, Statement


def _pending(*args: Any, **kwargs: Any) -> Any:  # while the rest is being written
    raise NotImplementedError


Certified = certify = audit = verify = split = prediction_interval = _pending
certify_in_sample = audit_in_sample = certify_without_split = whole_sample = _pending
DEFAULT_SEALED = 0.3
