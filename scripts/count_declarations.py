"""The parameters of every question, the fields of every group, and how many of them are declared.

A parameter is declared by ``Param(...)``, ``Input(...)`` or ``Written(...)``: in the signature of a question, in a
group, or beside them where questions share it. A question may say something else about one that is declared already,
such as its default, by ``about`` or ``changed``. Fails where a question has more than 20 parameters, where more than
200 are declared, or where a command or a query model declares one of a question again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path

from cranfield.questions import MODULES, find_question
from cranfield.questions import groups as declared_groups
from cranfield.questions.parameters import Group

SOURCE = Path(__file__).parents[1] / "src" / "cranfield"
MOST_PARAMETERS, MOST_DECLARED = 20, 200
Declared = tuple[str, str]  # question, parameter


def per_question() -> dict[str, int]:
    """Parameters in the signature of every question."""
    return {name: len(find_question(name).signature.parameters) for name in MODULES}


def per_group() -> dict[str, int]:
    """Fields of every group."""
    kinds = [each for each in vars(declared_groups).values() if isinstance(each, type) and issubclass(each, Group)]
    return {each.__name__: len(fields(each)) for each in kinds if is_dataclass(each)}


def calls(*names: str) -> int:
    """How often one of these is called in the package of questions."""
    return sum(
        isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in names
        for path in sorted((SOURCE / "questions").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    )


def of_commands() -> Iterator[Declared]:
    """Arguments of commands written by hand."""
    for function in _functions("cli"):
        for argument in (*function.args.args, *function.args.kwonlyargs):
            said = ast.unparse(argument.annotation) if argument.annotation else ""
            if "typer." in said or "options." in said:
                yield function.name, argument.arg


def of_pages() -> Iterator[Declared]:
    """Fields of query models that are written by hand."""
    for path in sorted((SOURCE / "web").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and any(ast.unparse(base).endswith("Query") for base in node.bases):
                for field in node.body:
                    if isinstance(field, ast.AnnAssign) and "ClassVar" not in ast.unparse(field.annotation):
                        yield node.name.removesuffix("Query").lower(), ast.unparse(field.target)


def _functions(package: str) -> Iterator[ast.FunctionDef]:
    for path in sorted((SOURCE / package).rglob("*.py")):
        yield from (
            node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef)
        )


def declared_twice() -> list[Declared]:
    """Parameters of questions that a command or a page declares again."""
    return [
        (question, name)
        for question, name in (*of_commands(), *of_pages())
        if question in MODULES and name in find_question(question).parameters
    ]


def main() -> int:
    questions, members = per_question(), per_group()
    for name, count in questions.items():
        print(f"{name:15} {count:3} parameters, {len(find_question(name).parameters):3} flags")
    for name, count in members.items():
        print(f"{name:15} {count:3} fields")
    declared, twice = calls("Param", "Input", "Written"), declared_twice()
    print(f"{sum(questions.values())} parameters in signatures, {sum(members.values())} fields of groups")
    print(f"{declared} declared, {calls('about', 'changed')} said otherwise, {len(twice)} declared twice")
    return int(max(questions.values()) > MOST_PARAMETERS or declared > MOST_DECLARED or bool(twice))


if __name__ == "__main__":
    raise SystemExit(main())
