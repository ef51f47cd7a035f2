"""How Sphinx makes the documentation site of these pages: make docs."""

import logging
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / folder) for folder in ("docs/_ext", "src", "workflow")]

from shufflebounds import __version__  # noqa: E402

project = "shufflebounds"
author = "The shufflebounds developers"
copyright = author
release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "formulas",
    "gallery",
    "indices",
    "notebook_cells",
    "reference",
]
# A page that a pattern stands for may not be there yet; Sphinx offers no name to silence that by.
logging.getLogger("sphinx.sphinx.directives.other").addFilter(
    lambda record: "glob pattern" not in str(record.msg)
)
nitpicky = True
# Types of other projects, and our own that no page documents.
nitpick_ignore_regex = [(r"py:.*", r"(?!shufflebounds\.\w+$).*")]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4

# Docstrings put names, not markup, in single backticks: a link where there is something to link to.
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"
napoleon_google_docstring = False
python_maximum_signature_line_length = 110
add_module_names = False

html_theme = "furo"
html_title = "shufflebounds"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
# Browsers let a page that lies on a disk fetch no other, from which a summary would be taken.
html_show_search_summary = False
html_show_sphinx = False
html_show_copyright = False
