"""Questions asked by the names of flags, as a command, a page and a project file ask them."""

from __future__ import annotations

from typing import Any

from cranfield.questions import MODULES, find_question


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(name)
    return find_question(name).ask
