"""What an audit by pip-audit says, for `make supply`: run with the file that it wrote.

pip-audit counts a package that the advisory service does not know as one without weaknesses; here
it is one that was not audited. The exit code is 0 only if all were, and none has a known weakness.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

OWN = "motlm"


def judge(path: Path) -> tuple[bool, list[str]]:
    """Whether all is well, and what to print."""
    try:
        packages = json.loads(path.read_text(encoding="utf-8"))["dependencies"]
    except (OSError, ValueError, KeyError):
        return False, ["NOT AUDITED: the advisory service could not be reached; try again later."]
    others = [one for one in packages if one["name"] != OWN]
    skipped = [one["name"] for one in others if "skip_reason" in one]
    weak = [one for one in others if one.get("vulns")]
    lines = [
        f"{one['name']} {one['version']}: {', '.join(known['id'] for known in one['vulns'])}"
        for one in weak
    ]
    if skipped or not others:
        lines.append(
            f"NOT AUDITED: {len(skipped)} of {len(others)} packages, of which the advisory service"
            f" gave no information: {', '.join(skipped[:5])}{', ..' if len(skipped) > 5 else ''}."
            " Try again where it can be reached."
        )
    elif not weak:
        lines.append(f"no known weaknesses of {len(others)} packages")
    return not (skipped or weak or not others), lines


if __name__ == "__main__":
    well, lines = judge(Path(sys.argv[1]))
    print(*lines, sep="\n")
    sys.exit(0 if well else 1)
