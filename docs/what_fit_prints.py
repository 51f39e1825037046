"""Runs the commands of "What fit prints" in command-line.md, and writes their output there.

    MOTLM_DATA=folder python docs/what_fit_prints.py

The folder has the paper's sets, and insurance/beMTPL97.csv.gz of the R package CASdatasets. What
goes to standard error, and what follows the score, is left out.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

PAGE = Path(__file__).parent / "command-line.md"
HEADING = "### What fit prints"
BLOCK = re.compile(r"```text\n\$ (motlm fit .*)\n[^`]*```")
SCORE = re.compile(r"^.* on \d+ sealed rows: .*$", re.MULTILINE)


def run(command: list[str], folder: str) -> str:
    program = [sys.executable, "-m", "motlm.cli", *command[1:]]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def block(command: str, folder: str) -> str:
    text = run(shlex.split(command), folder)
    end = SCORE.search(text)
    return f"```text\n$ {command}\n{text[: end.end() if end else None]}\n```"


def main() -> None:
    page = PAGE.read_text(encoding="utf-8")
    before, heading, rest = page.partition(f"{HEADING}\n")
    part, line, after = rest.partition("\n### ")
    with TemporaryDirectory() as folder:
        for name in ("german", "concrete"):
            run(["motlm", "datasets", "fetch", name, "-o", f"{name}.csv"], folder)
        data = Path(os.environ["MOTLM_DATA"]) / "insurance" / "beMTPL97.csv.gz"
        shutil.copy(data, folder)
        part = BLOCK.sub(lambda found: block(found[1], folder), part)
    PAGE.write_text(before + heading + part + line + after, encoding="utf-8")


if __name__ == "__main__":
    main()
