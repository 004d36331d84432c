"""The command reference, from the command itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from cranfield.cli.app import make_app

SHARED = """Every command has `-h` and `--help`. `--json`, `--csv`, `--md` and `--latex` print the result for programs,
spreadsheets and papers; tables go to standard output, warnings and progress to standard error. Exit codes: 0, or 1 when
a gate failed or a test came too early, or 2 for input that cannot be used."""


def commands_page() -> str:
    """Every command with its arguments, options, defaults and help."""
    root = typer.main.get_command(make_app())
    parts = ["# Commands\n", SHARED + "\n"]
    found = list(_walk(root, "cranfield"))
    parts += ["| command | what it does |", "|---|---|"]
    parts += [f"| [`{path}`](#{path.replace(' ', '-')}) | {_first_line(command)} |" for path, command in found] + [""]
    for path, command in found:
        parts.append(_section(path, command))
    return "\n".join(parts)


def _walk(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        yield f"{path} {name}", command
        if hasattr(command, "commands"):
            yield from _walk(command, f"{path} {name}")


def _first_line(command: Any) -> str:
    return _cell((command.help or "").strip().splitlines()[0])


def _section(path: str, command: Any) -> str:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option" and not each.hidden]
    usage = " ".join(
        [
            path,
            *("COMMAND" for _ in [0] if hasattr(command, "commands")),
            *map(_placeholder, arguments),
            *("[OPTIONS]" for _ in options[:1]),
        ]
    )
    parts = [f"## {path}\n", f"```text\n{usage}\n```\n", _prose(command.help or "")]
    if arguments:
        parts += ["| argument | meaning |", "|---|---|"]
        parts += [f"| `{_placeholder(each)}` | {_cell(each.help)} |" for each in arguments] + [""]
    if options:
        parts += ["| option | default | meaning |", "|---|---|---|"]
        parts += [f"| {_names(each)} | {_default(each)} | {_cell(each.help)} |" for each in options] + [""]
    return "\n".join(parts)


def _placeholder(argument: Any) -> str:
    name = (argument.metavar or argument.name).upper() + ("…" if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _prose(text: str) -> str:
    """The docstring; its examples, which need files of their own, as plain text."""
    said, *shown = re.split(r"\n\s*Examples?:", text.replace("\r", ""))
    lines = [line.strip() for part in shown for line in part.splitlines() if line.strip()]
    example = "\n".join(["```text", *lines, "```\n"]) if lines else ""
    paragraphs = [" ".join(part.split()) for part in said.strip().split("\n\n")]
    return "\n\n".join(map(_cell, paragraphs)) + "\n" + ("\n" + example if example else "")


def _names(option: Any) -> str:
    names = sorted([*option.opts, *option.secondary_opts], key=lambda name: name.startswith("--"))
    return ", ".join(f"`{name}`" for name in names) + ("" if option.is_flag else f" `{_value(option)}`")


def _value(option: Any) -> str:
    choices = getattr(option.type, "choices", None)
    if choices:
        return "/".join(str(getattr(choice, "value", choice)) for choice in choices)
    return str(option.metavar or option.type.name).upper()


def _default(option: Any) -> str:
    value = option.default
    if value is None or value is False or callable(value) or value == "":
        return ""
    value = getattr(value, "value", value)
    return f"`{', '.join(map(str, value)) if isinstance(value, (list, tuple)) else value}`"


def _cell(text: str | None) -> str:
    plain = " ".join((text or "").split())
    return re.sub(r"([|<>*_\[\]])", r"\\\1", plain)
