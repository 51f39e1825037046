"""Sphinx configuration."""

import motlm

project = "motlm"
author = "The motlm developers"
release = version = motlm.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
html_theme = "furo"
html_title = f"motlm {release}"
exclude_patterns = ["_build", "reproduction/*.md"]  # tables that reproduction.md includes
autodoc_typehints = "none"
myst_heading_anchors = 3
suppress_warnings = ["myst.xref_missing"]  # the changelog is shown on GitHub too, with its own links
