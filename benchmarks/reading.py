"""Reading: from files to rankings in memory, in a fresh process."""

from __future__ import annotations

from typing import Any

from benchmarks import tools
from benchmarks.data import Data
from benchmarks.table import Goal, Table, at_least, duration, megabytes, times

GOALS = {"pytrec_eval": 2.5, "ir_measures": 5.0, "ranx": 5.0}
HEADINGS = ("tool", "read", "with imports", "cranfield is faster by", "goal", "peak memory", "memory goal")
NOTES = (
    "read: the one call, or the loop over files.",
    "cranfield ranks the lists and joins the judgments as it reads; the others leave that for later.",
)


def tables(data: Data) -> list[Table]:
    ours = tools.ours("read", data)
    title = f"Reading {data.shape.runs} runs, everything kept in memory"
    table = Table(title, HEADINGS, NOTES, data.shape.promised)
    read, with_imports = duration(ours["reading"]), duration(ours["with_imports"])
    table.add("cranfield", read, with_imports, "", "", megabytes(ours["peak"]))
    table.add("cranfield, read again", duration(ours["again"]))
    for tool, wanted in GOALS.items():
        with table.attempt(tool, goals=2):
            _add(table, tool, tools.loaded(tool, data), ours["reading"], ours["peak"], wanted)
    return [table]


def _add(table: Table, tool: str, theirs: dict[str, Any], seconds: float, peak: float, wanted: float) -> None:
    ratio = theirs["reading"] / seconds
    table.add(
        tool,
        duration(theirs["reading"]),
        duration(theirs["with_imports"]),
        times(ratio),
        at_least(ratio, wanted),
        megabytes(theirs["peak"]),
        Goal("less than it", peak < theirs["peak"]),
    )
