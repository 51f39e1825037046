"""The command line: motlm fit, predict, explain, evaluate, report, certify, demo, datasets. Needs
click, rich and pandas.
"""

from __future__ import annotations

import sys

from ._signals import INTERRUPTED, LINE, begin, end, work

__all__ = ["main"]

_ERROR = 2  # exit code, as in _group, which needs click


def main() -> None:
    """The entry point of the command `motlm`. It imports all the rest."""
    begin()
    try:
        code = _run()
    except KeyboardInterrupt:
        end()
        print(LINE, file=sys.stderr)
        code = INTERRUPTED
    end()
    sys.exit(code)


def _run() -> int:
    """The exit code."""
    try:
        from ._commands import motlm
    except ImportError as error:
        if error.name is not None and error.name.split(".")[0] not in ("click", "rich", "pandas"):
            raise
        print(
            f"the command line needs click, rich and pandas: pip install 'motlm[cli]' ({error})",
            file=sys.stderr,
        )
        return _ERROR
    work()
    try:
        motlm.main(prog_name="motlm")
    except SystemExit as stopped:
        return stopped.code if isinstance(stopped.code, int) else 0
    return 0
