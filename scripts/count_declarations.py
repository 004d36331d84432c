"""How many parameters of questions are declared in more than one place: 0 is the answer that CI wants.

A parameter is declared by the signature of a question's function, by an annotated argument of a hand-written command
(``typer.Option``, ``typer.Argument`` or an alias of ``cli.options``), and by an annotated field of a query model.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "cranfield"
Declared = tuple[str, str]  # question, parameter


def of_questions() -> Iterator[Declared]:
    """Signatures of functions under ``@question``."""
    for function in _functions("questions"):
        if any("question" in ast.unparse(each) for each in function.decorator_list):
            for argument in (*function.args.args, *function.args.kwonlyargs):
                yield function.name, argument.arg


def of_commands() -> Iterator[Declared]:
    """Arguments of commands written by hand."""
    for function in _functions("cli"):
        for argument in (*function.args.args, *function.args.kwonlyargs):
            said = ast.unparse(argument.annotation) if argument.annotation else ""
            if "typer." in said or "options." in said:
                yield function.name, argument.arg


def of_pages() -> Iterator[Declared]:
    """Fields of query models; the docstring names the command."""
    for path in sorted((SOURCE / "web").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and any(ast.unparse(base).endswith("Query") for base in node.bases):
                named = re.search(r"``cranfield ([a-z ]+)``", ast.get_docstring(node) or "")
                question = named[1].replace(" ", "_") if named else node.name
                for field in node.body:
                    if isinstance(field, ast.AnnAssign) and "ClassVar" not in ast.unparse(field.annotation):
                        yield question, ast.unparse(field.target)


def _functions(package: str) -> Iterator[ast.FunctionDef]:
    for path in sorted((SOURCE / package).rglob("*.py")):
        yield from (
            node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef)
        )


def declared_twice() -> dict[Declared, list[str]]:
    """Parameters by where they are declared, where that is more than one place."""
    places: dict[Declared, list[str]] = defaultdict(list)
    for where, found in (("question", of_questions()), ("command", of_commands()), ("page", of_pages())):
        for each in found:
            places[each].append(where)
    return {each: where for each, where in places.items() if len(where) > 1}


if __name__ == "__main__":
    twice = declared_twice()
    if "--list" in sys.argv:
        for (question, parameter), where in sorted(twice.items()):
            print(f"{question}.{parameter}: {', '.join(where)}")
    print(len(twice))
