"""The command line: motlm fit, predict, explain, report, certify, demo, datasets. Needs click, rich
and pandas.
"""

from __future__ import annotations

import sys

__all__ = ["main"]

_INTERRUPTED = 130  # exit code, as shells have it


def main() -> None:
    """The entry point of the command `motlm`."""
    try:
        sys.exit(_run())
    except KeyboardInterrupt:
        print("motlm: interrupted", file=sys.stderr)
        sys.exit(_INTERRUPTED)


def _run() -> int:
    """The exit code of a command."""
    try:
        import click

        from ._commands import motlm
    except ImportError as error:
        if error.name is not None and error.name.split(".")[0] not in ("click", "rich", "pandas"):
            raise
        sys.exit(
            f"the command line needs click, rich and pandas: pip install 'motlm[cli]' ({error})"
        )
    try:
        code = motlm.main(prog_name="motlm", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None
    return code if isinstance(code, int) else 0
