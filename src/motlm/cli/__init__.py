"""The command line: motlm fit, predict, explain, report, certify, demo, datasets. Needs click, rich
and pandas.
"""

from __future__ import annotations

import sys

__all__ = ["main"]

_ERROR, _INTERRUPTED = 2, 130  # exit codes, as in _group, which needs click


def main() -> None:
    """The entry point of the command `motlm`."""
    try:
        _run()
    except KeyboardInterrupt:
        print("motlm: interrupted", file=sys.stderr)
        sys.exit(_INTERRUPTED)


def _run() -> None:
    try:
        from ._commands import motlm
    except ImportError as error:
        if error.name is not None and error.name.split(".")[0] not in ("click", "rich", "pandas"):
            raise
        print(
            f"the command line needs click, rich and pandas: pip install 'motlm[cli]' ({error})",
            file=sys.stderr,
        )
        sys.exit(_ERROR)
    motlm.main(prog_name="motlm")
