"""The command line that gives what a page shows."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any


def command_line(name: str, arguments: Sequence[str] = (), options: Mapping[str, Any] | None = None) -> str:
    """A line for a shell, whatever the names in it are made of.

    >>> command_line("size", (), {"systems": "10", "min_range": "0.1", "one_sided": False})
    'cranfield size --systems 10 --min-range 0.1'
    """
    words = ["cranfield", *name.split(), *(f"./{each}" if each.startswith("-") else each for each in arguments)]
    for option, value in (options or {}).items():
        flag = f"--{option.replace('_', '-')}"
        if value is True:
            words.append(flag)
        elif isinstance(value, list | tuple):
            for each in value:
                words += _option(flag, str(each))
        elif value is not None and value is not False:
            words += _option(flag, str(value))
    return shlex.join(words)


def _option(flag: str, value: str) -> list[str]:
    return [f"{flag}={value}"] if value.startswith("-") else [flag, value]
