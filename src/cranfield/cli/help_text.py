"""What ``--help`` prints: usual options first, a panel for each group, what is rarely needed last."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import typer

from cranfield.questions.parameters import LISTS

ADVANCED, OUTPUT = "Advanced", "Output"
USUAL = "Options"
NARROWEST, WIDEST, FLAGS = 40, 100, 25  # columns of a line, and of the names of options
_CHOICES = re.compile(r" One of: ([^.]*)\.")
_ABOUT_LISTS = "A value «X,…» may be a list (0.03,0.05) or a range (10:50:10)."


def help_lines(command: Any, context: Any) -> Iterator[str]:
    """Usage, what the command does, examples, and every parameter in its panel."""
    width = max(NARROWEST, min(context.terminal_width or _columns(), WIDEST))
    parameters = [each for each in command.get_params(context) if not getattr(each, "hidden", False)]
    yield _usage(context.command_path, parameters, has_commands=hasattr(command, "commands"))
    yield ""
    yield from _described(command.help or "", width)
    has_lists = any(LISTS in (each.help or "") for each in parameters)
    for title, rows in _panels(parameters, getattr(command, "commands", {})).items():
        yield typer.style(title, bold=True) + (f"  {_ABOUT_LISTS}" if title == USUAL and has_lists else "")
        for names, text in rows:
            yield from _row(names, text, width)
    if command.epilog:
        yield ""
        yield from textwrap.wrap(command.epilog, width)


def _columns() -> int:
    from shutil import get_terminal_size

    return get_terminal_size((80, 24)).columns


def _described(text: str, width: int) -> Iterator[str]:
    """The docstring: paragraphs, and examples one below the other."""
    said, *shown = text.replace("\r", "").replace("\b", "").partition("\n\nExample")
    for paragraph in said.split("\n\n"):
        yield from textwrap.wrap(" ".join(paragraph.split()), width)
        yield ""
    lines = [line.strip() for line in shown[-1].splitlines() if line.strip()] if shown else []
    if lines:
        yield typer.style("Examples" if len(lines) > 1 else "Example", bold=True)
        lines[0] = lines[0].partition(": ")[2]
        for line in lines:
            yield from textwrap.wrap(
                line, width, initial_indent="  ", subsequent_indent="      ", break_on_hyphens=False
            )
        yield ""


Rows = list[tuple[str, str]]


def _usage(path: str, parameters: Sequence[Any], *, has_commands: bool) -> str:
    arguments = [_argument(each) for each in parameters if each.param_type_name == "argument"]
    return " ".join(["Usage:", path, "[OPTIONS]", *arguments, *(["COMMAND"] if has_commands else [])])


def _panels(parameters: Sequence[Any], commands: dict[str, Any]) -> dict[str, Rows]:
    """The rows of every panel, arguments and usual options first."""
    panels: dict[str, Rows] = {"Arguments": [], USUAL: []}
    for each in parameters:
        is_argument = each.param_type_name == "argument"
        usual = "Arguments" if is_argument else OUTPUT if each.name == "help" else USUAL
        panels.setdefault(getattr(each, "rich_help_panel", None) or usual, []).append(
            (_argument(each) if is_argument else _names(each), _text(each))
        )
    for name, inner in commands.items():
        panels.setdefault("Commands", []).append((name, (inner.help or "").split("\n\n")[0]))
    last = [panels.pop(name, []) for name in (OUTPUT, ADVANCED)]
    panels |= dict(zip((OUTPUT, ADVANCED), last, strict=True))
    return {title: rows for title, rows in panels.items() if rows}


def _argument(argument: Any) -> str:
    name = (argument.metavar or argument.name).upper()
    return name if argument.required else f"[{name}]"


def _names(option: Any) -> str:
    """The flags of an option, short ones first, and what stands for its value."""
    names = ", ".join(sorted((*option.opts, *option.secondary_opts), key=len))
    if option.is_flag or option.count:
        return names
    return f"{names} {option.metavar or _kind(option)}{',…' if LISTS in (option.help or '') else ''}"


def _kind(option: Any) -> str:
    return {"integer": "N", "int": "N", "float": "X"}.get(option.type.name.split()[0], "TEXT")


def _text(parameter: Any) -> str:
    text = _without_choices((parameter.help or "").replace(LISTS, ""))
    default = parameter.default
    is_shown = getattr(parameter, "show_default", False) and not callable(default)
    if not is_shown or default is None or default is False or default == "":
        return text
    said = f"{default:g}" if isinstance(default, float) else f"{getattr(default, 'value', default)}"
    return f"{text} Default: {'on' if default is True else said}."


def _without_choices(text: str) -> str:
    """Without a list of choices that are all explained before it."""
    found = _CHOICES.search(text)
    if found is None or any(
        not re.search(rf"\b{re.escape(each)}\b", text[: found.start()]) for each in found[1].split(", ")
    ):
        return text
    return text.replace(found[0], "")


def _row(names: str, text: str, width: int) -> Iterator[str]:
    """An option and its meaning beside it; below it where its name is too long."""
    lines = textwrap.wrap(text, width - FLAGS - 1, break_on_hyphens=False) or [""]
    head = f"  {names}"
    if len(head) > FLAGS:
        yield typer.style(head, fg="cyan")
        head = ""
    for line in lines:
        yield f"{typer.style(head, fg='cyan')}{' ' * (FLAGS - len(head) + 1)}{line}".rstrip()
        head = ""
