"""Every command and name that a page shows exists, with these options: without running it, which `make proof` does."""

from __future__ import annotations

import ast
import importlib
import json
import shlex
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from blocks import blocks_of
from typer.main import get_command

import cranfield
from cranfield.cli.app import make_app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SHELL, REDIRECTION = set("();|&\n"), set("<>&")


@cache
def whole_command() -> Any:
    return get_command(make_app())


def blocks(language: str) -> Iterator[tuple[str, str]]:
    """Page and text of every block, of the cells of the notebook, and of the script of ``make demo``."""
    for page in PAGES:
        yield from ((page.name, each.text) for each in blocks_of(page.read_text("utf-8")) if each.language == language)
    if language == "python":
        notebook = json.loads((ROOT / "docs" / "first-steps.ipynb").read_text("utf-8"))
        yield from (("first-steps.ipynb", "".join(cell["source"])) for cell in notebook["cells"] if is_plain(cell))
    else:
        yield "demo.sh", (ROOT / "scripts" / "demo.sh").read_text("utf-8").replace("\nshow ", "\ncranfield ")


def is_plain(cell: dict[str, Any]) -> bool:
    return cell["cell_type"] == "code" and not any(line.startswith(("%", "!")) for line in cell["source"])


def commands(text: str) -> Iterator[list[str]]:
    """The arguments of every call of cranfield in some lines of shell."""
    lexer = shlex.shlex(text.replace("\\\n", " "), posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace_split, lexer.whitespace, lexer.commenters = True, " \t", ""
    found: list[str] | None = None
    words = iter([*lexer, "\n"])
    for word in words:
        if word and set(word) <= SHELL:
            if found is not None:
                yield found
            found = None
        elif word and set(word) <= REDIRECTION:
            next(words)
            if found and found[-1] in ("1", "2"):  # the number of a stream
                found.pop()
        elif found is not None:
            found.append("1" if word.startswith("$") else word)  # a variable of the shell
        elif word == "cranfield":
            found = []


def complaint(words: Sequence[str]) -> str:
    """Read the arguments as the command does, and stop before it does anything: what is wrong with them."""
    command = whole_command()
    try:
        context = command.make_context("cranfield", [*words])
        while hasattr(command, "resolve_command"):
            name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
            context = command.make_context(name, rest, parent=context)
    except Exception as error:  # Click's, or that of the copy of Click in newer versions of Typer
        if hasattr(error, "format_message"):
            return str(error.format_message())
        raise
    return ""


def test_every_command_of_the_documentation_can_be_parsed() -> None:
    seen, wrong = 0, []
    for page, text in blocks("sh"):
        for words in commands(text):
            seen += 1
            if words[0] != "--version" and (said := complaint(words)):
                wrong.append(f"{page}: cranfield {shlex.join(words)}: {said}")
    assert not wrong, "\n".join(wrong)
    assert seen > 250


@pytest.mark.parametrize(
    "line", ["cranfield size --sistems 3", "cranfield sise", "cranfield demo a --seed x", "cd x && cranfield no > y"]
)
def test_a_command_that_does_not_exist_is_found(line: str) -> None:
    (words,) = commands(line)
    assert complaint(words)


def test_commands_are_found_among_others_in_a_shell() -> None:
    text = (
        "x=1\ncranfield serve --port 0 > a.txt 2> b.log &\ncat a.txt | cranfield size \\\n  --sd $x; echo cranfield\n"
    )
    assert [*commands(text)] == [["serve", "--port", "0"], ["size", "--sd", "1"], []]


def unknown_names(code: str) -> Iterator[str]:
    """Names of cranfield that a program uses and that do not exist."""
    aliases = {"cranfield"}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            aliases |= {each.asname for each in node.names if each.name == "cranfield" and each.asname}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "cranfield":
            module = importlib.import_module(str(node.module))
            yield from (each.name for each in node.names if not hasattr(module, each.name))
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases:
            yield from () if hasattr(cranfield, node.attr) else (node.attr,)


def test_every_name_in_the_programs_of_the_documentation_exists() -> None:
    seen = 0
    for page, code in blocks("python"):
        assert not [*unknown_names(code)], page
        seen += 1
    assert seen > 60


def test_a_name_that_does_not_exist_is_found() -> None:
    assert [*unknown_names("import cranfield as cf\ncf.sise(3)\ncf.size()")] == ["sise"]
    assert [*unknown_names("from cranfield.scores import ScoreTable, Nothing")] == ["Nothing"]
