# SPDX-License-Identifier: BSL-1.0
"""Sphinx's settings for the site. build_site.py starts Sphinx with them."""

import re
from pathlib import Path
from typing import Any

from millpond import __version__

_HERE = Path(__file__).resolve().parent

project = "Millpond"
author = "the Millpond authors"
version = release = __version__
language = "en"

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 6
# The same anchors as on a Git host, so that the test of links needs no Sphinx.
myst_heading_slug_func = "millpond_docs.page_text.slug"
highlight_language = "none"
# A block may leave out a part with `…`, which is no JSON and no C++.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = "Millpond"
html_theme_options = {"light_css_variables": {"color-code-background": "#f4f5f7"}}
html_static_path = [str(_HERE / "theme")]
html_css_files = ["millpond.css"]
html_js_files = ["accessible.js"]
html_show_sourcelink = html_copy_source = html_show_sphinx = False
html_show_copyright = False
html_use_index = html_domain_indices = False
html_permalinks = True
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"


# A place where a line of code may end, as HTML: behind a scope, an underscore, a bracket or a part of a path.
_BREAKS = re.compile(r"::|_|&lt;(?!&gt;)|[(/{,]")


def _mended_tables(
    app: Any, page: str, template: str, context: dict[str, Any], document: Any
) -> None:  # Sphinx names its arguments
    """Makes the empty corner of a table a cell: a screen reader takes a heading without text for no heading. Code in
    cells gets places where its lines may end.
    """
    if "body" in context:
        body = re.sub(r'<th class="head[^"]*">\s*(?:<p>\s*</p>\s*)?</th>', "<td></td>", context["body"])
        context["body"] = re.sub(r"<td>.*?</td>", lambda cell: _with_breaks(cell[0]), body, flags=re.DOTALL)


def _with_breaks(cell: str) -> str:
    return re.sub(
        r'(<span class="pre">)([^<]*)', lambda code: code[1] + _BREAKS.sub(r"\g<0><wbr>", code[2]), cell
    )  # fmt: skip


def setup(app: Any) -> None:
    """Registers our part with Sphinx."""
    app.connect("html-page-context", _mended_tables)
