"""Scoring what is loaded: AP, P@10, nDCG and RBP of every run, and all measures of trec_eval."""

from __future__ import annotations

from benchmarks import tools
from benchmarks.child import Outcome
from benchmarks.data import Data
from benchmarks.table import Table, at_least, duration, times

GOAL = 200.0
ALL_GOAL = 100.0
HEADINGS = ("tool", "time", "cranfield is faster by", "goal")
NOTES = ("pytrec_eval does not have RBP and goes without.",)


def tables(data: Data) -> list[Table]:
    ours = tools.ours("score", data)
    title = f"Scoring {data.shape.runs} loaded runs with AP, P@10, nDCG and RBP"
    table = Table(title, HEADINGS, NOTES, data.shape.promised)
    table.add("cranfield, compiler loaded", duration(ours["scoring"]))
    table.add("cranfield, a packed file just opened", duration(ours["first"]))
    table.add("cranfield, the same again", duration(ours["repeated"]))
    _add_pytrec_eval(table, data, ours["scoring"])
    _add_ranx(table, data, ours["scoring"])
    return [table, _all_measures(data, ours["every"])]


def _all_measures(data: Data, ours: float) -> Table:
    """All measures of trec_eval at once."""
    title = f"Scoring {data.shape.runs} loaded runs with all measures of trec_eval"
    table = Table(title, HEADINGS, (), data.shape.promised)
    table.add("cranfield, compiler loaded", duration(ours))
    measured = tools.loaded("pytrec_eval", data)
    if isinstance(measured, Outcome):
        theirs = measured.answer["every"]
        table.add("pytrec_eval", duration(theirs), times(theirs / ours), at_least(theirs / ours, ALL_GOAL))
    else:
        table.add("pytrec_eval", measured)
    return table


def _add_pytrec_eval(table: Table, data: Data, ours: float) -> None:
    measured = tools.loaded("pytrec_eval", data)
    if isinstance(measured, Outcome):
        theirs = measured.answer["scoring"]
        table.add("pytrec_eval", duration(theirs), times(theirs / ours), at_least(theirs / ours, GOAL))
    else:
        table.add("pytrec_eval", measured)


def _add_ranx(table: Table, data: Data, ours: float) -> None:
    measured = tools.loaded("ranx", data)
    if isinstance(measured, Outcome):
        warm, first = measured.answer["scoring"], measured.answer["first"]
        table.add("ranx, warmed up", duration(warm), times(warm / ours))
        table.add("ranx, the first time", duration(first), times(first / ours))
    else:
        table.add("ranx", measured)
