"""The command line that gives the same answer."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cranfield.questions.parameters import Parameter, Question


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


def command_of(question: Question, inputs: Mapping[str, Any]) -> str:
    """The command line of a result with these inputs; empty where the data did not come from files."""
    data = next(each.name for each in question.parameters.values() if each.is_positional)
    files = inputs.get(data)
    if not isinstance(files, list):
        return ""
    options = {}
    for name, each in question.parameters.items():
        value = inputs.get(name)
        if name == data or value is None or value == "" or _is_default(each, value):
            continue
        is_grid = each.kind in ("numbers", "counts") and isinstance(value, list)
        options[name] = ",".join(map(str, value)) if is_grid else value
    return command_line(question.command, files, options)


def _is_default(parameter: Parameter, value: Any) -> bool:
    return bool(
        value == parameter.default or (parameter.default is not None and value == parameter.checked(parameter.default))
    )


def _option(flag: str, value: str) -> list[str]:
    return [f"{flag}={value}"] if value.startswith("-") else [flag, value]
