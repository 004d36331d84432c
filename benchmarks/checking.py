"""Checking: a report on the problems of all files beside scoring the same files, each in a fresh process."""

from __future__ import annotations

from benchmarks import tools
from benchmarks.data import Data
from benchmarks.table import Goal, Table, at_most, duration, megabytes, times

MOST = 2.0  # times as long as scoring
HEADINGS = ("command", "time", "× score", "peak memory", "goal")


def tables(data: Data) -> list[Table]:
    return [_table(f"{data.shape.runs} runs", data, data.runs), _table("one run", data, data.one_run)]


def _table(what: str, data: Data, runs: str) -> Table:
    table = Table(f"Checking {what}, cold", HEADINGS, (), data.shape.promised)
    with table.attempt("cranfield check"):
        scored, checked = tools.cold("cranfield", data, runs), tools.ours_check(data, runs)
        ratio = checked.seconds / scored.seconds
        goal: Goal | str = at_most(ratio, MOST, "× score") if runs == data.runs else ""
        table.add("cranfield score", duration(scored.seconds), "", megabytes(scored.megabytes))
        table.add("cranfield check", duration(checked.seconds), times(ratio), megabytes(checked.megabytes), goal)
    return table
