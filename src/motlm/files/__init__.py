"""Model files: one JSON document, readable by people, exact to the last bit; loading it runs no
code and checks everything.

The schema is described in docs/files.md; documents of earlier schemas are brought up to date.
"""

from ._atomic import atomic_stream, write_atomically
from ._document import Saved, from_document, read_model, save_model, to_document
from ._text import checksum
from ._upgrades import SCHEMA

__all__ = [
    "SCHEMA",
    "Saved",
    "atomic_stream",
    "checksum",
    "from_document",
    "read_model",
    "save_model",
    "to_document",
    "write_atomically",
]
