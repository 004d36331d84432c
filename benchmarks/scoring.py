"""Scoring what is loaded: AP, P@10, nDCG and RBP of every run, and all measures of trec_eval."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import tools
from benchmarks.data import Data
from benchmarks.table import Table, at_least, duration, times

GOAL = 200.0
ALL_GOAL = 100.0
HEADINGS = ("tool", "time", "cranfield is faster by", "goal")
NOTES = ("pytrec_eval does not have RBP and goes without.",)


def tables(data: Data) -> Iterator[Table]:
    ours = tools.ours("score", data)
    title = f"Scoring {data.shape.runs} loaded runs with AP, P@10, nDCG and RBP"
    table = Table(title, HEADINGS, NOTES, data.shape.promised)
    table.add("cranfield, compiler loaded", duration(ours["scoring"]))
    table.add("cranfield, a packed file just opened", duration(ours["first"]))
    table.add("cranfield, the same again", duration(ours["repeated"]))
    _add(table, data, ours["scoring"], "pytrec_eval", {"pytrec_eval": "scoring"}, GOAL)
    _add(table, data, ours["scoring"], "ranx", {"ranx, warmed up": "scoring", "ranx, the first time": "first"})
    yield table
    title = f"Scoring {data.shape.runs} loaded runs with all measures of trec_eval"
    table = Table(title, HEADINGS, (), data.shape.promised)
    table.add("cranfield, compiler loaded", duration(ours["every"]))
    _add(table, data, ours["every"], "pytrec_eval", {"pytrec_eval": "every"}, ALL_GOAL)
    yield table


def _add(table: Table, data: Data, ours: float, tool: str, rows: dict[str, str], goal: float | None = None) -> None:
    """One row per time that a tool was measured in."""
    with table.attempt(tool):
        answer = tools.loaded(tool, data)
        for name, key in rows.items():
            ratio = answer[key] / ours
            table.add(name, duration(answer[key]), times(ratio), "" if goal is None else at_least(ratio, goal))
