"""The command line: motlm fit, predict, explain, report, certify, demo, datasets. Needs click, rich and pandas."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """The entry point of the command `motlm`."""
    try:
        from ._commands import motlm
    except ImportError as error:
        if error.name is not None and error.name.split(".")[0] not in ("click", "rich", "pandas"):
            raise
        sys.exit(f"the command line needs click, rich and pandas: pip install 'motlm[cli]' ({error})")
    motlm(prog_name="motlm")
