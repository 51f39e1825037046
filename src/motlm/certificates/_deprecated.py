"""Old names, which are accepted for one release."""

from __future__ import annotations

from typing import Any

from .._renamed import warn_of
from ._in_sample import audit_in_sample, certify_in_sample
from ._issue import Certified
from ._statements import Certificate

__all__ = ["certify_without_split", "whole_sample"]


def certify_without_split(*args: Any, **kwargs: Any) -> Certified:
    """The old name of `certify_in_sample`."""
    warn_of("certify_without_split", "certify_in_sample")
    return certify_in_sample(*args, **kwargs)


def whole_sample(*args: Any, **kwargs: Any) -> Certificate:
    """The old name of `audit_in_sample`."""
    warn_of("whole_sample", "audit_in_sample")
    return audit_in_sample(*args, **kwargs)
