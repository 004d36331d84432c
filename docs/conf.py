"""How the documentation is built; ``make docs`` does it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import numpy.typing as npt
from sphinx.util.typing import stringify_annotation

import cranfield

project = "cranfield"
author = "the cranfield authors"
project_copyright = author
version = release = cranfield.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "mathematics",
    "running",
]
exclude_patterns = ["_ext"]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4
smartquotes = False  # --help is not –help
nitpicky = True
# Signatures name types of other libraries and of the rooms' own; what pages link to (py:obj) is checked.
nitpick_ignore_regex = [(r"py:(class|data|exc|meth|func|attr|mod)", r".*")]

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
add_module_names = False
python_maximum_signature_line_length = 90

SHORT = {  # numpy's types are spelled out in signatures, over several lines
    stringify_annotation(npt.ArrayLike, "smart"): "ArrayLike",
    stringify_annotation(npt.NDArray[Any], "smart"): "Array",
}
# These show what they print themselves, passage by passage; a test compares it with what they print.
run_not = [f"gallery/{page.stem}" for page in (Path(__file__).parent / "gallery").glob("*.md")]

# Nothing is fetched when the site is looked at: mathematics is MathML, fonts are the reader's, scripts are beside it.
html_theme = "furo"
html_math_renderer = "mathml"
html_title = "cranfield"
html_static_path = ["_static"]
html_css_files = ["cranfield.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5d66", "color-brand-content": "#0b5d66"},
    "dark_css_variables": {"color-brand-primary": "#6cc5cf", "color-brand-content": "#6cc5cf"},
}
pygments_style = "tango"
pygments_dark_style = "monokai"


def escape_bars(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Docstrings write |difference| for its size; to Sphinx that would be the name of a text."""
    lines[:] = [re.sub(r"(?<![`\\])\|", r"\\|", line) for line in lines]


def shorten(app: Any, what: str, name: str, value: Any, options: Any, signature: str, returned: str) -> tuple[str, str]:
    """Arrays and what can become one, by the names the code has for them."""
    for written, short in SHORT.items():
        signature, returned = (text.replace(written, short) if text else text for text in (signature, returned))
    # What can be chosen is said in the text; as a type it would be looked for as a name.
    return signature and re.sub(r"~?(typing\.)?Literal\[[^\]]*\]", "str", signature), returned


def list_references(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Numbered references of one docstring are a list: as footnotes, those of two docstrings on a page would clash."""
    items = [_item(line) if _in_references(lines, at) else line for at, line in enumerate(lines)]
    lines[:] = [re.sub(r"\[(\d+)\]_(?!\w)", r"[\1]", line) for line in items]


def _item(line: str) -> str:
    return re.sub(r"^\.\. \[(\d+)\] ", r"- [\1] ", re.sub(r"^   (?=\S)", "  ", line))


def _in_references(lines: list[str], at: int) -> bool:
    """Whether a line belongs to a numbered reference."""
    while at >= 0 and lines[at].startswith("   "):
        at -= 1
    return at >= 0 and bool(re.match(r"\.\. \[\d+\] ", lines[at]))


def setup(app: Any) -> None:
    """Read docstrings as they are meant."""
    app.connect("autodoc-process-docstring", list_references, priority=100)  # before napoleon reads sections
    app.connect("autodoc-process-docstring", escape_bars)
    app.connect("autodoc-process-signature", shorten)
