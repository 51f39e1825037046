"""Makes the reports of reports.md, pictures of them, and what the commands printed.

    MOTLM_DATA=folder python docs/reports.py [names ...]

The folder has German credit of KEEL, insurance/beMTPL97.csv.gz (of the R package CASdatasets) and
tables/adult_train.csv.gz (of UCI, with a first row of names). Needs Chromium, for the pictures. The
pages are left in build/reports.
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

from PIL import Image

HERE = Path(__file__).parent
PAGE, PICTURES, PAGES = HERE / "reports.md", HERE / "pictures", HERE.parent / "build" / "reports"
BLOCK = re.compile(r"```text\n\$ (motlm fit .*?--report (\w+)\.html.*)\n[^`]*```")
RESULT = re.compile(r"^.* on [\d ]+ sealed rows?[:,].*\n.*$", re.MULTILINE)
SIZES = {"wide": (1400, 1500), "narrow": (390, 1500)}  # pixels
LARGEST = 3_000_000  # bytes of a page
COLORS = 64


def run(command: str) -> str:
    program = [sys.executable, "-m", "motlm.cli", *shlex.split(command)[1:]]
    done = subprocess.run(program, cwd=PAGES, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def draw(name: str) -> None:
    """Pictures of the top of a page."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("pictures of the reports need Chromium on the path")
    for kind, (width, height) in SIZES.items():
        picture = PICTURES / f"report_{name}_{kind}.png"
        with TemporaryDirectory() as profile:
            quiet = ["--no-first-run", "--disable-background-networking", "--disable-sync"]
            options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *quiet]
            options += [f"--user-data-dir={profile}", "--virtual-time-budget=9000"]
            options += [f"--window-size={width},{height}", f"--screenshot={picture}"]
            page = (PAGES / f"{name}.html").as_uri()
            subprocess.run([chromium, *options, page], check=True, capture_output=True)
        with Image.open(picture) as image:
            image.convert("RGB").quantize(COLORS).save(picture, optimize=True)


def block(command: str, name: str) -> str:
    text = run(command)
    size = (PAGES / f"{name}.html").stat().st_size
    assert size < LARGEST, f"{name}.html has {size} bytes"
    draw(name)
    found = RESULT.search(text)
    shown = text if found is None else found[0]
    if shown.endswith(":"):  # a list of statements begins, which the page has
        shown = shown.rsplit("\n", 1)[0]
    return f"```text\n$ {command}\n..\n{shown}\n```"


def main(names: list[str]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    PAGES.mkdir(parents=True, exist_ok=True)
    data = Path(os.environ["MOTLM_DATA"])
    run("motlm datasets fetch german -o german.csv --force")
    for path in ("tables/adult_train.csv.gz", "insurance/beMTPL97.csv.gz"):
        shutil.copy(data / path, PAGES)
    for found in BLOCK.finditer(page):
        if not names or found[2] in names:
            page = page.replace(found[0], block(found[1], found[2]))
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
