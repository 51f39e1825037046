"""Pages of reports in headless Chromium."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next(
    (
        path
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (path := shutil.which(name))
    ),
    None,
)
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")
OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--disable-quic"),  # the browser itself asks nobody for anything either
)

# Before anything of the page: what it may not do.
LISTENER = """<script nonce="NONCE">
  window.found = { violations: [], alerts: 0, errors: [] };
  addEventListener("error", (event) => found.errors.push(String(event.message)));
  addEventListener("unhandledrejection", (event) => found.errors.push(String(event.reason)));
  console.error = (...parts) => found.errors.push(parts.join(" "));
  document.addEventListener("securitypolicyviolation", (event) =>
    found.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
  window.alert = () => { found.alerts += 1; };
</script>"""
# After the page and its charts: what the script finds, or promises, to the page around it.
HARNESS = """<script nonce="NONCE">
  setTimeout(async () => {
    let out;
    try { out = await (() => { SCRIPT })(); } catch (error) { out = { error: String(error) }; }
    parent.postMessage(JSON.stringify({ name: NAME, ...found, out }), "*");
  }, WAIT);
</script></body>"""
HOST = """<!DOCTYPE html><meta charset="utf-8"><pre id="out"></pre><script>
  addEventListener("message", (event) => {
    document.getElementById("out").append(event.data + "\\n");
  });
</script>FRAMES"""


def find_axe() -> Path | None:
    """axe-core, which checks pages for people who do not see them or use no mouse."""
    places = [Path(__file__).parents[1] / "node_modules"]
    if npm := shutil.which("npm"):
        found = subprocess.run([npm, "root", "-g"], capture_output=True, text=True, check=False)
        places.append(Path(found.stdout.strip()))
    return next((one for place in places if (one := place / "axe-core/axe.min.js").exists()), None)


def open_pages(
    scripts: Sequence[tuple[Path, str]],
    folder: Path,
    charts: bool = False,
    width: int = 1200,
    library: str = "",
    dark: bool = False,
) -> list[Any]:
    """What each script returns in its page, all pages in one run.

    Without charts the library that draws them is left out, which takes most of the time. `library`
    is a script that the pages have besides.
    """
    frames = []
    for k, (page, script) in enumerate(scripts):
        text = page.read_text(encoding="utf-8")
        if not charts:
            text = re.sub(r'(id="plotly">)[^<]*', r"\1", text)
        nonce = re.search(r"script-src 'nonce-([^']+)'", text)[1]
        wait = "3000" if charts else "0"
        harness = HARNESS.replace("NAME", str(k)).replace("WAIT", wait).replace("SCRIPT", script)
        text = text.replace("<head>", "<head>" + LISTENER.replace("NONCE", nonce), 1)
        harness = harness.replace("NONCE", nonce)
        if library:
            harness = f'<script nonce="{nonce}">{library}</script>{harness}'
        text = text.replace("</body>", harness, 1)
        (folder / f"frame-{k}.html").write_text(text, encoding="utf-8")
        frames.append(f'<iframe src="frame-{k}.html" width="{width}" height="900"></iframe>')
    host = folder / "host.html"
    host.write_text(HOST.replace("FRAMES", "".join(frames)), encoding="utf-8")
    profile = f"--user-data-dir={folder / 'profile'}"
    scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
    command = [CHROMIUM, *OPTIONS, "--virtual-time-budget=15000", profile, *scheme, "--dump-dom"]
    run = subprocess.run(
        [*command, host.as_uri()], check=True, capture_output=True, text=True, timeout=120
    )
    lines = html.unescape(re.search(r'<pre id="out">(.*?)</pre>', run.stdout, re.DOTALL)[1])
    found = {one["name"]: one for one in map(json.loads, lines.splitlines())}
    assert sorted(found) == list(range(len(scripts))), "a page did not answer"
    for one in found.values():
        assert not one["violations"], one["violations"]
        assert one["alerts"] == 0
        assert not (charts and one["errors"]), one["errors"]  # it misses the library else
        assert not (isinstance(one["out"], dict) and "error" in one["out"]), one["out"]
    return [found[k]["out"] for k in range(len(scripts))]


def open_page(page: Path, script: str, folder: Path) -> Any:
    """What a script returns in one page, once its charts are drawn."""
    return open_pages([(page, script)], folder, charts=True)[0]
