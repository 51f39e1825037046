"""The house: imports run one way, the docs' code runs, the demo runs."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
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
    "_renamed",
    "_frozen",
    "errors",
    "limits",
    "special",
    "_engine",
    "_betting",
    "bounds",
    "lookup",
    "membership",
    "losses",
    "combinations",
    "divergence",
    "posterior",
    "rows",
    "sketches",
    "repeats",
    "fingerprints",
    "frames",
    "missing",
    "units",
    "bends",
    "transformed",
    "cards",
    "inputs",
    "summaries",
    "regions",
    "metrics",
    "geometry",
    "objective",
    "screening",
    "starts",
    "optimize",
    "reproduction",
    "watch",
    "strengths",
    "warmup",
    "running",
    "search",
    "overlap",
    "routine",
    "targets",
    "localities",
    "mixture",
    "pipelines",
    "corrections",
    "extents",
    "problem",
    "calibration",
    "folds",
    "terms",
    "learning",
    "checks",
    "fitting",
    "tables",
    "certificates",
    "files",
    "exports",
    "_docs",
    "estimators",
    "loading",
    "explanations",
    "intervals",
    "scores",
    "evaluation",
    "groups",
    "comparison",
    "preprocessing",
    "baselines",
    "datasets",
    "plotting",
    "report",
    "cli",
    "vicinity",
    "optimise",
    "columns",
]


OLD = ("vicinity", "optimise", "columns")  # names of the release before


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


def test_run_time_dependencies_are_four() -> None:
    """Importing motlm needs NumPy, SciPy and scikit-learn and nothing of the extras; Numba is
    imported when a fit begins.
    """
    with (ROOT / "pyproject.toml").open("rb") as file:
        needed = tomllib.load(file)["project"]["dependencies"]
    names = [re.match(r"[\w-]+", one)[0] for one in needed]
    assert names == ["numpy", "scipy", "scikit-learn", "numba"]
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
    extras = {"matplotlib", "pandas", "polars", "plotly", "jinja2"}
    assert not (extras | {"numba", "llvmlite"}) & set(loaded)


@pytest.mark.parametrize("name", [one for one in LINE if one[0] != "_" or one == "_docs"])
def test_no_module_imports_numba(name: str) -> None:
    """But for the engine, and inside the functions that need it."""
    sources = sorted((SOURCE / name).rglob("*.py")) or [SOURCE / f"{name}.py"]
    for path in sources:
        for node in ast.parse(path.read_text()).body:  # at the top of the file
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                text = ast.unparse(node)
                assert "numba" not in text, f"{path.name}: {text}"
                assert "_engine" not in text, f"{path.name}: {text}"


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


def test_the_readme_quotes_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """But for the numbers, which may depend on the processor."""
    text = (ROOT / "README.md").read_text()
    namespace: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, "README.md", "exec"), namespace)
    headline = capsys.readouterr().out.splitlines()[-1]
    quoted = " ".join(text.split())
    assert re.sub(r"[\d.]+", "#", headline) in re.sub(r"[\d.]+", "#", quoted)


def run_commands(page: str) -> None:
    """Every `motlm` line of a block, in order; comparisons of one linear model on two folds."""
    lines = re.findall(r"^ {4}(motlm .*)$", (ROOT / page).read_text(), re.MULTILINE)
    assert len(lines) >= 4
    for line in lines:
        arguments = shlex.split(line, comments=True)[1:]
        if arguments[0] == "compare":
            arguments += ["--localities", "0", "--folds", "2"]
        result = CliRunner().invoke(command_line, arguments)
        assert result.exit_code == 0, f"{line}: {result.output}"
        if "datasets fetch german" in line:
            rows = pd.read_csv("german.csv")
            rows[:700].to_csv("german.csv", index=False)
            rows[700:].to_csv("later.csv", index=False)
            rows[700:].drop(columns="Customer").to_csv("new.csv", index=False)


def test_commands_of_the_readme_need_no_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MOTLM_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setattr("motlm.datasets._keel.download", lambda *_: pytest.fail("a download"))
    run_commands("README.md")
    assert len(pd.read_csv("out.csv")) == 442
    assert '<section id="groups">' in Path("report.html").read_text(encoding="utf-8")


def test_commands_of_the_command_line_page(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a folder where german.csv has been divided into rows seen and rows to come."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MOTLM_DATA", str(shared_data))
    run_commands("docs/command-line.md")
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


# -- rules of the house ------------------------------------------------------------------------


def private_names(tree: ast.AST) -> set[str]:
    """Names with an underscore that a file defines itself: functions, methods, attributes."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return {name for name in found if name.startswith("_")}


# of notebooks and named tuples
NOT_PRIVATE = ("_repr_html_", "_asdict", "_fields", "_replace")
# what a library of Numba's own asks of the code generator that it belongs to; other versions of
# Numba than those that it was tried with are left alone
OF_NUMBA = {"linking.py": ("_create_empty_module", "_add_module", "_module_pass_manager")}


def broken_rules(path: Path, text: str | None = None) -> list[str]:
    """Private attributes of other modules' objects, hidden imports, and tasks told by class."""
    tree = ast.parse(path.read_text() if text is None else text)
    own, found = private_names(tree), []
    for node in ast.walk(tree):
        where = f"{path.name}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Attribute) and re.fullmatch(r"_[a-z]\w*", node.attr):
            mine = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            known = NOT_PRIVATE + OF_NUMBA.get(path.name, ())
            if not mine and node.attr not in own and node.attr not in known:
                found.append(f"{where}: {ast.unparse(node)}")
        names = {one.name for one in node.names} if isinstance(node, ast.ImportFrom) else set()
        if "import_module" in names or (
            isinstance(node, ast.Attribute) and node.attr == "import_module"
        ):
            found.append(f"{where}: import_module")
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
            kinds = ast.unparse(node.args[1])
            if re.search(r"\bLocalMixture\w*", kinds) and path.name != "estimators.py":
                found.append(f"{where}: {ast.unparse(node)}")
    return found


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.stem)
def test_rules_of_the_house(path: Path) -> None:
    assert broken_rules(path) == []


@pytest.mark.parametrize(
    "text",
    [
        "model._fitted",
        "def f(model):\n    return model.mixture_._secret",
        "from importlib import import_module",
        "importlib.import_module('x')",
        "isinstance(model, LocalMixtureClassifier)",
        "isinstance(model, (int, estimators.LocalMixtureRegressor))",
    ],
)
def test_the_rules_are_noticed(text: str) -> None:
    assert broken_rules(SOURCE / "some.py", text)


def test_what_is_no_breach() -> None:
    text = "class A:\n    def _own(self):\n        return other._own, self._x\n"
    assert not broken_rules(SOURCE / "some.py", text)


# -- the docs say what there is ----------------------------------------------------------------

PUBLIC = [  # the modules that users import from
    motlm,
    *(
        importlib.import_module(f"motlm.{name}")
        for name in (
            "baselines",
            "bounds",
            "certificates",
            "comparison",
            "datasets",
            "errors",
            "evaluation",
            "explanations",
            "groups",
            "plotting",
            "preprocessing",
            "report",
        )
    ),
]


def public_names() -> dict[str, object]:
    """By identity, so that what two modules offer is one name."""
    return {
        name: getattr(module, name)
        for module in PUBLIC
        for name in module.__all__
        if name != "__version__"
    }


def test_the_api_page_lists_exactly_the_public_names() -> None:
    page = (ROOT / "docs" / "api.md").read_text()
    listed: set[str] = set()
    for directive, name, rest in re.findall(
        r"\.\. auto(\w+):: motlm\.?([\w.]*)\n((?: {3}:.*\n)*)", page
    ):
        members = re.search(r":members: (.*)", rest)
        if directive == "module" and members:
            listed |= set(members[1].split(", "))
        elif directive != "module":
            listed.add(name.split(".")[-1])
    assert listed == set(public_names())
    assert len(listed) < 130


def test_every_public_name_is_documented() -> None:
    for name, thing in public_names().items():
        if callable(thing):
            assert (thing.__doc__ or "").strip(), name


def test_the_design_page_names_what_exists() -> None:
    """Every `module.name` and `module.Class.name` in backticks."""
    text = (ROOT / "docs" / "design.md").read_text()
    names = re.findall(r"`([a-z_]+(?:\.\w+)+)`", text)
    checked = [name for name in names if name.split(".")[0] in LINE]
    assert len(checked) > 30
    for name in checked:
        module, *rest = name.split(".")
        thing: object = importlib.import_module(f"motlm.{module}")
        if module == "_engine":  # whose modules are imported when a fit begins
            thing = importlib.import_module(f"motlm._engine.{rest.pop(0)}")
        for part in rest:
            assert hasattr(thing, part), f"docs/design.md names {name}"
            thing = getattr(thing, part)
    for module in re.findall(r"^\| (`.*?`) \|", text, re.MULTILINE):
        for one in re.findall(r"`(\w+)`", module):
            assert one in LINE, f"docs/design.md names the module {one}"


def test_the_picture_of_the_modules_is_drawn_from_the_imports() -> None:
    spec = importlib.util.spec_from_file_location("modules", ROOT / "docs" / "modules.py")
    drawing = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(drawing)
    assert drawing.PICTURE.read_text() == drawing.draw(), "python docs/modules.py draws it anew"
    drawn = " ".join(drawing.LAYERS.values()).split()
    known = [name for name in LINE if not name.startswith("_") and name not in OLD]
    assert sorted(drawn) == sorted(name for name in known if name != "errors")


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("motlm.vicinity", "upsilon"),
        ("motlm.vicinity", "upsilon_qmc"),
        ("motlm.vicinity", "half_distance"),
        ("motlm.optimise", "lbfgs"),
        ("motlm.optimise", "nadam"),
        ("motlm.columns", "TableNotes"),
    ],
)
def test_old_modules_forward_with_a_warning(module: str, name: str) -> None:
    old = importlib.import_module(module)
    with pytest.warns(FutureWarning, match=rf"{module}\.{name} is now motlm\.\w+\.{name}"):
        assert callable(getattr(old, name))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = old.nothing


def test_old_names_of_the_engine_warn() -> None:
    from motlm import Prior, Units, geometry, objective
    from motlm.rows import Rows
    from motlm.starts import placed_at_rows

    with pytest.warns(FutureWarning, match=r"is now motlm\.geometry\.GivenCenters"):
        assert objective.KnownCenters is geometry.GivenCenters
    rows = np.array([[1.0], [3.0]])
    with pytest.warns(FutureWarning, match=r"is now Units\.standardize"):
        assert Units.of_rows(rows).standardized(rows).tolist() == [[-1.0], [1.0]]
    with pytest.warns(FutureWarning, match=r"is now Prior\.expand"):
        assert Prior().expanded(2, 3).n_localities == 2
    with pytest.warns(FutureWarning, match=r"is now motlm\.starts\.place_at_rows"):
        start = placed_at_rows(Rows.of(rows, rows[:, 0]), None, 1, False, np.random.default_rng(0))
    assert start.n_localities == 1
