"""Certificates: bounds on the risk of a model that hold with a stated confidence, in words that can
be quoted.
"""

from ..errors import CertificateError
from ._audit import audit
from ._certify import DEFAULT_SEALED, certify, split
from ._checklist import Check
from ._deprecated import certify_without_split as certify_without_split
from ._deprecated import whole_sample as whole_sample
from ._in_sample import audit_in_sample, certify_in_sample, draw_in_sample
from ._issue import Certified
from ._standing import Standing, standing
from ._statements import Certificate, Ledger, Statement
from ._verify import prediction_interval, verify

__all__ = [
    "DEFAULT_SEALED",
    "Certificate",
    "CertificateError",
    "Certified",
    "Check",
    "Ledger",
    "Standing",
    "Statement",
    "audit",
    "audit_in_sample",
    "certify",
    "certify_in_sample",
    "draw_in_sample",
    "prediction_interval",
    "split",
    "standing",
    "verify",
]
