"""Team lists: ``run team``, one run per line; a header line is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cranfield.formats.lines import Inspection, careful_lines, split_fields
from cranfield.formats.problems import Problem, refuse
from cranfield.formats.text import read_bytes, show, write_text

HEADERS = {(b"run", b"team"), (b"system", b"team")}


def read_teams(source: str | Path) -> dict[str, str]:
    """Which team each run belongs to."""
    teams, problems = inspect_teams(read_bytes(source), show(source))
    refuse(problems)
    return teams


def inspect_teams(data: bytes, file: str) -> tuple[dict[str, str], list[Problem]]:
    """Read a team list line by line and report everything odd about it."""
    look = Inspection(file)
    teams: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, line in careful_lines(data, look):
        fields = _fields(line, number, look)
        if fields is None or (number == 1 and (fields[0].lower(), fields[1].lower()) in HEADERS):
            continue
        run, team = fields[0].decode(), fields[1].decode()
        if teams.setdefault(run, team) != team:
            look.add("team-conflict", number, line, f"line {lines[run]} says {teams[run]}")
        lines.setdefault(run, number)
    if not teams and not look.failed:
        look.add("empty-file")
    return teams, look.problems


def _fields(line: bytes, number: int, look: Inspection) -> list[bytes] | None:
    """Tabs or commas let a team's name have blanks; otherwise any blank parts the two."""
    for mark in (b"\t", b","):
        if line.count(mark) == 1:
            fields = [part.strip() for part in line.split(mark)]
            if all(fields) and not fields[0].startswith(b"#"):
                return fields
    return split_fields(line, number, 2, look)


def write_teams(path: str | Path, teams: Mapping[str, str]) -> None:
    """Write a team list with its header."""
    rows = "".join(f"{run}\t{team}\n" for run, team in teams.items())
    write_text(path, f"run\tteam\n{rows}")
