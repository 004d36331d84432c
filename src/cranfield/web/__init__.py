"""The local web page; a page and its JSON have the same data."""

from __future__ import annotations

from importlib.util import find_spec

from cranfield.errors import MissingPartError

NEEDED = {"fastapi": "fastapi", "uvicorn": "uvicorn", "jinja2": "jinja2", "python_multipart": "python-multipart"}


def check_installed() -> None:
    """Say how to install what the page needs and the rest of cranfield does not."""
    lacking = tuple(name for module, name in NEEDED.items() if find_spec(module) is None)
    if lacking:
        raise MissingPartError("the web page", "web", lacking)
