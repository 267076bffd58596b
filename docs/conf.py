"""Sphinx configuration. `sphinx-build -W -n docs FOLDER` builds the site, for which the package must be installed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import cyzarr

project = "cyzarr"
author = "the cyzarr developers"
release = version = cyzarr.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "stubs", "changes", "race"]
exclude_patterns = ["changes/*", "_build"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

# Signatures of compiled code come from the .pyi beside it (_ext/stubs.py). Types are said in the docstrings.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
napoleon_google_docstring = False
napoleon_use_param = napoleon_use_rtype = False

html_theme = "furo"
html_title = "cyzarr"
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_copy_source = html_show_sourcelink = False
# Nothing is fetched from elsewhere when a page is looked at.
html_theme_options = {"source_repository": "", "top_of_page_buttons": []}

# What is raised, and derived from, is Python's own mostly, whose pages aren't looked up.
nitpick_ignore_regex = [("py:(exc|class|obj)", r"[A-Z]\w*|(zarr|numpy|typing)\..*|\w+ array")]
