"""The house: imports run one way, the docs' code runs, the demo runs."""

from __future__ import annotations

import ast
import importlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import motlm
from motlm.cli._commands import motlm as command_line

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "motlm"

# Each module may import from those before it.
LINE = [
    "_typing",
    "_version",
    "special",
    "bounds",
    "vicinity",
    "losses",
    "combinations",
    "divergence",
    "posterior",
    "rows",
    "fingerprints",
    "objective",
    "starts",
    "optimize",
    "watch",
    "search",
    "prediction",
    "columns",
    "localities",
    "problem",
    "learning",
    "files",
    "exports",
    "estimators",
    "certificates",
    "explanations",
    "preprocessing",
    "baselines",
    "datasets",
    "plotting",
    "report",
    "cli",
]


def imported(path: Path) -> set[str]:
    """Top-level modules of motlm that a file imports."""
    depth = len(path.relative_to(SOURCE).parts)
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == depth:
            found |= (
                {node.module.split(".")[0]} if node.module else {name.name for name in node.names}
            )
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("motlm"):
            pytest.fail(f"{path}: use a relative import")
    return found


def test_imports_run_one_way() -> None:
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if name == "__init__":
            continue
        assert name in LINE, f"{name} has no place in the line"
        for other in imported(path):
            assert LINE.index(other) < LINE.index(name), (
                f"{name} imports {other}, which comes after it"
            )


def test_every_module_has_an_honest_all() -> None:
    for name in LINE[1:]:
        module = __import__(f"motlm.{name}", fromlist=["*"])
        for public in module.__all__:
            assert hasattr(module, public), f"motlm.{name}.__all__ names {public}"


def test_run_time_dependencies_are_three() -> None:
    """Importing motlm needs NumPy, SciPy and scikit-learn and nothing of the extras."""
    code = (
        "import sys, sklearn.base, sklearn.metrics, scipy.optimize, scipy.stats, joblib,"
        " threadpoolctl\nbefore = set(sys.modules)  # scikit-learn itself may load pandas where it"
        " finds it\nimport motlm, motlm.baselines, motlm.certificates, motlm.datasets,"
        " motlm.explanations\nimport motlm.plotting, motlm.preprocessing,"
        " motlm.report\nprint(*sorted({name.split('.')[0] for name in set(sys.modules) - before}))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    assert not {"matplotlib", "pandas", "polars", "plotly", "jinja2"} & set(loaded)


def test_version_and_typing_marker() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", motlm.__version__)
    assert f"## {motlm.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert f"version: {motlm.__version__}" in (ROOT / "CITATION.cff").read_text()
    assert (SOURCE / "py.typed").exists()


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page.name, "exec"), namespace)


@pytest.mark.parametrize("page", ["README.md", "docs/command-line.md"])
def test_commands_run(
    page: str, shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every `motlm` line of a block, in order, on a folder where german.csv has been divided into
    rows seen and rows to come.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MOTLM_DATA", str(shared_data))
    lines = re.findall(r"^ {4}(motlm .*)$", (ROOT / page).read_text(), re.MULTILINE)
    assert len(lines) >= 4
    for line in lines:
        result = CliRunner().invoke(command_line, shlex.split(line, comments=True)[1:])
        assert result.exit_code == 0, f"{line}: {result.output}"
        if "datasets fetch german" in line:
            rows = pd.read_csv("german.csv")
            rows[:700].to_csv("german.csv", index=False)
            rows[700:].to_csv("later.csv", index=False)
            rows[700:].drop(columns="Customer").to_csv("new.csv", index=False)
    assert len(pd.read_csv("out.csv")) == 300


def test_demo(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "demo.py"), str(tmp_path)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "MPLBACKEND": "Agg"},
    )
    assert run.stdout.count("score = ") == 4
    assert float(re.search(r"test accuracy +([\d.]+)", run.stdout)[1]) > 0.95
    assert (tmp_path / "localities.png").stat().st_size > 20_000
    assert "this fixed model errs on at most" in run.stdout
    assert str(tmp_path / "report.html") in run.stdout
    assert (tmp_path / "report.html").stat().st_size > 1_000_000


EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))


def test_examples_are_for_the_gallery() -> None:
    """`make docs` runs them; here: that each has a title, and imports what there is."""
    assert len(EXAMPLES) >= 8
    for path in EXAMPLES:
        tree = ast.parse(path.read_text())
        title, line = (ast.get_docstring(tree) or "").splitlines()[:2]
        assert line == "=" * len(title), path.name
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.ImportFrom)
                and node.module
                and node.module.split(".")[0] == "motlm"
            ):
                module = importlib.import_module(node.module)
                for one in node.names:
                    assert hasattr(module, one.name), (
                        f"{path.name} imports {one.name} from {node.module}"
                    )


def test_insurance_example() -> None:
    command = [sys.executable, str(ROOT / "examples" / "plot_04_insurance.py")]
    said = subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, "MPLBACKEND": "Agg"}
    ).stdout
    assert "is off by more than 150 on at most" in said
    assert "with certified interval" in said
    assert "insurance.html" in said
