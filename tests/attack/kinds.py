"""All kinds of attack, and how many cases of each a whole run has."""

from __future__ import annotations

from .certificates import CERTIFICATES
from .commands import COMMANDS
from .faults import FAULTS
from .files import FILES
from .fits import FITS
from .keel import KEEL
from .kills import KILLS
from .trials import Kind

__all__ = ["COUNTS", "KINDS"]

KINDS: tuple[Kind, ...] = (FILES, KEEL, COMMANDS, FITS, CERTIFICATES, FAULTS, KILLS)

COUNTS = {
    "files": 100_000,
    "keel": 100_000,
    "cli": 5000,
    "fits": 3000,
    "certificates": 200,
    "faults": 1000,
    "kills": 100,
}
