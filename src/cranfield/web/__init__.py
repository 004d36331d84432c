"""The local web page; a page and its JSON have the same data."""

from __future__ import annotations

from importlib.util import find_spec

from cranfield.errors import CranfieldError

NEEDED = {"fastapi": "fastapi", "uvicorn": "uvicorn", "jinja2": "jinja2", "python_multipart": "python-multipart"}


class MissingPartError(CranfieldError):
    """Something that is installed only when it is asked for."""


def check_installed() -> None:
    """Say how to install what the page needs and the rest of cranfield does not."""
    lacking = [name for module, name in NEEDED.items() if find_spec(module) is None]
    if lacking:
        raise MissingPartError(
            f"the web page needs {', '.join(lacking)}, which {'are' if len(lacking) > 1 else 'is'} not installed",
            fix="Install it with: pip install 'cranfield[web]'",
        )
