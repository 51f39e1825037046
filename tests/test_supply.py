"""The verdict of `make supply`: nothing counts as audited that was not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from supply import judge

ROOT = Path(__file__).parents[1]
SOUND = {"name": "numpy", "version": "2.0", "vulns": []}
WEAK = {"name": "scipy", "version": "1.0", "vulns": [{"id": "PYSEC-1"}, {"id": "PYSEC-2"}]}
UNKNOWN = {"name": "click", "skip_reason": "not found"}
OWN = {"name": "motlm", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("packages", "well", "words"),
    [
        ([SOUND, OWN], True, "no known weaknesses of 1 packages"),
        ([SOUND, WEAK], False, "scipy 1.0: PYSEC-1, PYSEC-2"),
        ([SOUND, UNKNOWN], False, "NOT AUDITED: 1 of 2 packages"),
        ([OWN], False, "NOT AUDITED: 0 of 0 packages"),
        (None, False, "NOT AUDITED: the advisory service could not be reached"),
    ],
)
def test_verdicts(packages: object, well: bool, words: str, tmp_path: Path) -> None:
    path = tmp_path / "audit.json"
    if packages is not None:
        path.write_text(json.dumps({"dependencies": packages}))
    found, lines = judge(path)
    assert found == well
    assert words in "\n".join(lines)


def test_security_page_and_links() -> None:
    """Every page that it names is there."""
    text = (ROOT / "SECURITY.md").read_text()
    for link in re.findall(r"\]\(([^)#]+)", text):
        assert (ROOT / link).exists(), link
    assert "SECURITY.md" in (ROOT / "README.md").read_text()
