"""What ``--help`` prints at 80 columns: every option with its help, usual ones first, and nothing too long."""

from __future__ import annotations

import re
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from cranfield.cli.app import app, make_app
from cranfield.cli.help_text import ADVANCED, OUTPUT, USUAL

COMMANDS = ("size", "verify", "budget", "pilot", "compare", "report", "judges", "power", "leaderboard", "score")
STUDIES = ("new", "add", "next", "status", "test", "edit", "log", "plans", "past", "trial", "simulate", "peek", "width")
ALL = [*COMMANDS, *(f"study {each}" for each in STUDIES)]


def help_of(command: str, monkeypatch: pytest.MonkeyPatch, width: int = 80) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    ran = CliRunner().invoke(app, [*command.split(), "--help"])
    assert ran.exit_code == 0
    return ran.stdout


def options_of(command: str) -> list[Any]:
    found: Any = get_command(make_app([command.split()[0]]))
    for word in command.split():
        found = found.commands[word] if hasattr(found, "commands") else found
    return list(found.params)


@pytest.mark.parametrize("command", ALL)
def test_it_fits_and_nothing_is_lost(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = help_of(command, monkeypatch)
    lines = text.splitlines()
    assert len(lines) <= 100
    assert max(map(len, lines)) <= 80
    flat = " ".join(text.split())
    for each in options_of(command):
        assert each.help
        said = re.split(r" A number, a list| One of:", each.help)[0]
        assert " ".join(said.split()) in flat, each.name
        for flag in each.opts if each.param_type_name == "option" else ():
            assert re.search(rf"^  .*{re.escape(flag)}\b", text, re.MULTILINE), flag


@pytest.mark.parametrize("command", ALL)
def test_usual_options_come_first_and_advanced_ones_last(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    titles = [line for line in help_of(command, monkeypatch).splitlines() if line and line[0].isalpha()]
    panels = [title.partition("  ")[0] for title in titles]
    assert OUTPUT in panels[-2:]
    if ADVANCED in panels:
        assert panels[-1] == ADVANCED
    if USUAL in panels:
        assert panels.index(USUAL) <= panels.index("Arguments") + 1 if "Arguments" in panels else True


def test_groups_are_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    text = help_of("size", monkeypatch)
    judge = text.partition("\nLabels of a model\n")[2].partition("\nSeveral scores per topic\n")[0]
    assert [line.split()[0] for line in judge.splitlines() if line.startswith("  --")] == [
        "--judge",
        "--judge-correlation",
        "--human-cost",
        "--judge-cost",
        "--judged-topics",
    ]


@pytest.mark.parametrize("width", [60, 200])
def test_other_widths_keep_every_word(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    narrow, usual = (help_of("size", monkeypatch, columns) for columns in (width, 80))
    assert narrow.split() == usual.split()


NEWCOMER = [
    ("size", "non-inferiority", "--non-inferiority"),
    ("pilot", "two-way", "--estimate"),
    ("size", "cost of a topic", "--topic-cost"),
    ("budget", "cost of a topic", "--topic-price"),
    ("size", "human labels", "--human-cost"),
    ("compare", "baseline", "--baseline"),
    ("size", "how many systems", "--systems"),
    ("size", "one-sided", "--one-sided"),
    ("compare", "resamples", "--resamples"),
    ("compare", "missing score", "--missing"),
    ("size", "seeds", "--repeats"),
    ("size", "variations", "--replicates"),
    ("size", "expected power", "--assurance"),
    ("power", "what the topics must detect", "--gate"),
    ("leaderboard", "weight of a task", "--weights"),
    ("judges", "for people to label", "--draw"),
]


@pytest.mark.parametrize(("command", "words", "option"), NEWCOMER)
def test_a_newcomer_finds_the_option(command: str, words: str, option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = re.split(r"\n(?=  -|[A-Z])", help_of(command, monkeypatch))
    row = next(each for each in rows if re.match(rf"  (-\w, )?{option}\b", each))
    assert words in " ".join(row.split()).lower()
