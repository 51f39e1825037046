"""Sphinx configuration."""

import os
import re
import warnings
from importlib.resources import files
from pathlib import Path

import motlm
from motlm.datasets import KEEL, data_folder

project = "motlm"
author = "The motlm developers"
copyright = f"2026, {author}"
release = version = motlm.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
html_theme = "furo"
html_title = f"motlm {release}"
# One file that draws formulas as SVG, without fonts and without a network.
mathjax = files("sphinx-mathjax-offline") / "static" / "mathjax" / "tex-svg.js"
mathjax_path = mathjax.name
html_static_path = ["_static", str(mathjax)]
html_css_files = ["motlm.css"]
exclude_patterns = ["_build", "reproduction/*.md"]  # tables included by other pages
autodoc_typehints = "none"
numpydoc_show_class_members = False
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
suppress_warnings = ["myst.xref_missing"]  # links of the changelog that work on GitHub only


def shown_only(examples: Path) -> list[str]:
    """Names of the examples whose data sets are not available: they are shown but not run."""
    here = [one.name for one in KEEL if any(data_folder().rglob(f"{one.name}.dat"))]
    found = []
    for path in sorted(examples.glob("plot_*.py")):
        lacking = sorted(
            set(re.findall(r'load_keel\("(\w+)"', path.read_text(encoding="utf-8"))) - set(here)
        )
        if lacking:
            print(
                f"{path.name} is not run: set MOTLM_DATA to a folder with {', '.join(lacking)}.dat"
            )
            found.append(path.stem)
    return found


os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
not_run = shown_only(Path(__file__).parents[1] / "examples")
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": (
        rf"[\\/]plot_(?!{'|'.join(name.removeprefix('plot_') for name in not_run) or '$'})"
    ),
    "ignore_pattern": r"(demo|pictures)\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "run_stale_examples": True,  # the library may have changed even if the example has not
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 1e9,  # times on the build machine are of no use to readers
    "write_computation_times": False,  # that page loads scripts from remote hosts
    "remove_config_comments": True,
    "capture_repr": ("_repr_html_",),
}
