"""Messages: the library speaks of keywords and functions, the command of flags and commands, the page of fields."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest
import typer.main
from typer.testing import CliRunner

import cranfield
from cranfield.cli.app import COMMANDS, main, make_app
from cranfield.errors import COMMANDS_ONLY, Caution, RequestError, speak
from cranfield.formats.problems import KINDS, Problem
from cranfield.methods.design.planning import plan
from cranfield.methods.design.request import Request
from cranfield.rendering.document import Column, Document, Table, spoken
from cranfield.rendering.report_files import FORMATS
from cranfield.rendering.report_model import LeftOut, Part, Report, Section
from cranfield.web.calculators import CALCULATORS
from cranfield.web.page_list import QUESTIONS, WITHOUT_DATA

ROOT = Path(cranfield.__file__).parent
OWN_FLAGS = {
    "rendering/report_files.py": "the flags of a browser",
    "rendering/report_model.py": "the command line that makes a report",
    "errors.py": "where flags are made",
    "questions/parameters.py": "the command line that gives the same answer",
}


@pytest.mark.parametrize(
    ("message", "command", "page"),
    [
        ("nothing is marked here", "nothing is marked here", "nothing is marked here"),
        ("Leave out `small_pilot`.", "Leave out --small-pilot.", "Leave out «small pilot»."),
        ("Add `topics=50`.", "Add --topics 50.", "Add «topics» 50."),
        ('`replicates="nested"` or not', "--replicates nested or not", "«replicates» nested or not"),
        ('`columns="topic=a b,score=c"`', "--columns 'topic=a b,score=c'", "«columns» topic=a b,score=c"),
        ('`measure="nDCG(gains=exp)@10"`', "--measure 'nDCG(gains=exp)@10'", "«measure» nDCG(gains=exp)@10"),
        ("`shards=[2, 5, 10]`", "--shards 2,5,10", "«shards» 2,5,10"),
        ('`pair=("A", "B")`', "--pair A,B", "«pair» A,B"),
        ("`all_pairs=True` lists them", "--all-pairs lists them", "«all pairs» lists them"),
        ("Leave out `search=False`.", "Leave out --no-search.", "Leave out «search» no."),
        ("Use `shards()`.", "Use cranfield shards.", "Use the page «shards»."),
        ("Use `study_past()`.", "Use cranfield study past.", "Use the page «study past»."),
        ("Use `pack()`.", "Use cranfield pack.", "Use cranfield pack."),
        ('`check("a b.run")`', "cranfield check 'a b.run'", "The page «check»"),
        ("`1 + 1` is code", "1 + 1 is code", "1 + 1 is code"),
        (
            "there is no run «`topics`»: `best`",
            "there is no run «`topics`»: --best",
            "there is no run «`topics`»: «best»",
        ),
    ],
)
def test_a_message_is_translated_for_each_interface(message: str, command: str, page: str) -> None:
    assert speak(message, "python") == message
    assert speak(message, "command") == command
    assert speak(message, "page") == page


def test_an_unknown_interface_is_an_error() -> None:
    with pytest.raises(KeyError):
        speak("`topics`", "telephone")


# --- every message of the library


def _literals(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """String literals but docstrings and examples of a command; in f-strings, what is put in stands as {}."""
    if isinstance(tree, ast.JoinedStr):
        parts = [str(part.value) if isinstance(part, ast.Constant) else "{}" for part in tree.values]
        yield tree.lineno, "".join(parts)
    elif isinstance(tree, ast.Constant) and isinstance(tree.value, str):
        yield tree.lineno, tree.value
    for child in ast.iter_child_nodes(tree):
        is_docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        is_example = isinstance(child, ast.keyword) and child.arg == "examples"  # command lines, shown by --help
        if not (is_docstring or is_example or (isinstance(tree, ast.JoinedStr) and isinstance(child, ast.Constant))):
            yield from _literals(child)


def _messages() -> Iterator[tuple[str, str]]:
    """Every string literal of the library with its place."""
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(("cli/", "web/")):
            for line, text in _literals(ast.parse(path.read_text(encoding="utf-8"))):
                yield f"{name}:{line}", text


def test_no_message_of_the_library_has_a_flag() -> None:
    flags = {
        place: text
        for place, text in _messages()
        if re.search(r"--[a-z{]|(?<![\w-])-[a-z](?= [A-Z0-9])", text) and place.partition(":")[0] not in OWN_FLAGS
    }
    assert not flags


def test_no_message_of_the_library_has_a_command() -> None:
    command = re.compile(rf"\bcranfield ({'|'.join(COMMANDS)})\b(?!$)|\bstudy (new|add|next|test|edit|log)\b(?!$)")
    assert not {place: text for place, text in _messages() if command.search(text)}


def _marked() -> dict[str, str]:
    """What messages have in backticks, with the last place of each."""
    found = ((place, text) for place, text in _messages() if not place.startswith("errors.py"))
    return {word: place for place, text in found for word in re.findall(r"`([a-z][^`\n{}]*)`", text)}


def _flags(command: Any) -> set[str]:
    """All flags of a command and of the commands in it."""
    own = {flag for each in command.params for flag in (*each.opts, *each.secondary_opts)}
    return own.union(*(_flags(each) for each in getattr(command, "commands", {}).values()))


def test_every_parameter_in_a_message_is_a_flag_and_every_function_a_command() -> None:
    app = typer.main.get_command(make_app())
    flags, known = _flags(app), {name.replace("-", "_") for name in (*QUESTIONS, *WITHOUT_DATA, *CALCULATORS)}
    words = _marked()
    assert {"topics", 'test="t"', "shards()", "pack()"} <= set(words)
    for word, place in words.items():
        said = speak(f"`{word}`", "command")
        if said.startswith("cranfield "):
            name = word.partition("(")[0]
            assert name in known.union(COMMANDS_ONLY), place
            command: Any = app
            for part in name.split("_"):
                assert part in command.commands, f"{place}: {said}"
                command = command.commands[part]
        else:
            assert said.split()[0] in flags, f"{place}: {said}"


def test_commands_without_a_page_are_none_of_the_pages() -> None:
    assert not set(COMMANDS_ONLY) & {each.name.replace("-", "_") for each in QUESTIONS.values()}


def test_of_a_problem_only_the_fix_names_parameters() -> None:
    # Lines of warnings show title and effect, which are therefore the same on every interface.
    assert not [kind.slug for kind in KINDS.values() if "`" in kind.title + kind.effect]


# --- documents and reports


@pytest.fixture
def document() -> Document:
    columns = (Column("count", "how often", "count"), Column("fix", "what to do"))
    return Document(
        method="check",
        inputs={},
        tables=[Table(columns, [(2, "Use `order`.")], "Places: `all=True` lists them.")],
        rows=[{"fix": "Use `order`."}],
        answer="`all_pairs=True` lists the pairs.",
        warnings=(Caution("a", "no `sd`", "Add `sd`."), Problem("crlf", "a.run")),
    )


def test_a_document_is_spoken_where_people_read_it_and_nowhere_else(document: Document) -> None:
    shown = spoken(document, "command")
    assert shown.sentence == "--all-pairs lists the pairs."
    assert shown.tables[0].title == "Places: --all lists them."
    assert shown.tables[0].rows == [(2, "Use --order.")]
    assert shown.warnings == (Caution("a", "no --sd", "Add --sd."), Problem("crlf", "a.run"))
    assert shown.rows == document.rows
    assert spoken(document, "python") == document


def test_a_report_speaks_of_settings_and_not_of_flags(document: Document) -> None:
    section = Section("read", "What was read", (Part(document),))
    report = Report(title="mine", inputs={}, sections=(section,), left_out=(LeftOut("Shards", "`qrels` is missing"),))
    for face in (".md", ".tex", ".html"):
        text = FORMATS[face](report).decode()
        assert "«all pairs» lists the pairs" in text
        assert "«qrels» is missing" in text
        assert "all_pairs=True" not in text
    found = json.loads(FORMATS[".json"](report))
    assert found["rows"][0]["sentence"] == "`all_pairs=True` lists the pairs."
    assert found["left_out"][0]["reason"] == "`qrels` is missing"


# --- the same mistake everywhere


def test_a_mistake_names_the_keyword_the_flag_and_the_field(
    page: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RequestError) as refused:
        plan(Request(min_range=[0.1], systems=[10], sd=[0.1]))
    assert str(refused.value).startswith("`sd` has no effect on `min_range`\n  `sd` goes with `difference`, `width`,")

    monkeypatch.setattr("sys.argv", ["cranfield", "size", "--min-range", "0.1", "--systems", "10", "--sd", "0.1"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    printed = capsys.readouterr().err
    assert printed.startswith("error: --sd has no effect on --min-range\n  --sd goes with --difference, --width,")

    asked = {"min_range": "0.1", "systems": "10", "sd": "0.1"}
    fault = httpx.get(f"{page}/size.json", params=asked, timeout=600).json()["error"]
    assert fault["what"] == "«sd» has no effect on «min range»"
    assert "«sd» goes with «difference», «width»," in fault["fix"]
    labelled = "«Sd of paired differences» has no effect on «Smallest range of their means»"
    assert labelled in httpx.get(f"{page}/size", params=asked, timeout=600).text


def test_a_warning_names_the_keyword_in_json_the_flag_in_text_and_the_field_on_a_page(page: str) -> None:
    asked = {"difference": "0.05", "variance": "0.04"}
    command = ["size", *(word for name, value in asked.items() for word in (f"--{name}", value))]
    text, markdown, found = (CliRunner().invoke(make_app(), [*command, *more]) for more in ([], ["--md"], ["--json"]))
    assert "Give --correlation, the sd of paired differences (--sd)" in text.stderr
    assert "Give --correlation, the sd of paired differences (--sd)" in markdown.stdout
    raw = "Give `correlation`, the sd of paired differences (`sd`), or pilot scores."
    assert json.loads(found.stdout)["warnings"][0]["fix"] == raw
    assert httpx.get(f"{page}/size.json", params=asked, timeout=600).json()["warnings"][0]["fix"] == raw
    for face in ("", ".md", ".html"):
        answer = unescape(httpx.get(f"{page}/size{face}", params=asked, timeout=600).text)
        labelled = (
            "Give «correlation of two systems' scores», the sd of paired differences («Sd of paired differences»)"
        )
        assert labelled in answer
