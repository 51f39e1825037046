"""Certificates: bounds on the risk of a model that hold with a stated confidence, in words that can
be quoted.
"""

from ..errors import CertificateError
from ._audit import audit
from ._certify import DEFAULT_SEALED, certify, split
from ._checklist import Check
from ._deprecated import certify_without_split as certify_without_split
from ._deprecated import whole_sample as whole_sample
from ._groups import group_equal_rows
from ._in_sample import audit_in_sample, certify_in_sample, draw_in_sample
from ._issue import Certified
from ._rates import RateCertificate, RateStatement, audit_rates, certify_rates, ratio_interval
from ._standing import Standing, standing
from ._statements import Certificate, Ledger, Statement
from ._verify import prediction_interval, verify
from ._words import round_interval as round_interval  # for pages that quote limits
from ._words import round_number as round_number
from ._words import round_seen as round_seen
from ._words import round_share as round_share

__all__ = [
    "DEFAULT_SEALED",
    "Certificate",
    "CertificateError",
    "Certified",
    "Check",
    "Ledger",
    "RateCertificate",
    "RateStatement",
    "Standing",
    "Statement",
    "audit",
    "audit_in_sample",
    "audit_rates",
    "certify",
    "certify_in_sample",
    "certify_rates",
    "draw_in_sample",
    "group_equal_rows",
    "prediction_interval",
    "ratio_interval",
    "split",
    "standing",
    "verify",
]
