"""Certificates: bounds on the risk of a model that hold with a stated confidence, in words that can
be quoted.
"""

from ._protocol import (
    Certified,
    audit,
    certify,
    certify_without_split,
    prediction_interval,
    split,
    verify,
    whole_sample,
)
from ._statements import Certificate, CertificateError, Ledger, Statement

__all__ = [
    "Certificate",
    "CertificateError",
    "Certified",
    "Ledger",
    "Statement",
    "audit",
    "certify",
    "certify_without_split",
    "prediction_interval",
    "split",
    "verify",
    "whole_sample",
]
