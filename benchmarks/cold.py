"""Cold and end to end: from files to mean scores, a fresh process for each tool."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial

from benchmarks import child, tools
from benchmarks.child import Outcome
from benchmarks.data import Data
from benchmarks.table import Goal, Table, at_least, at_most, duration, megabytes, score, times

GOALS = {"trec_eval": 5.0, "pytrec_eval": 3.0, "ranx": 10.0}
PEERS = ("trec_eval", "pytrec_eval", "ir_measures", "ranx")
LIMIT = 0.6  # seconds, for one run of TREC-8's size
ONE_RUN = 3.0  # times trec_eval, for one run
FIRST = 2.0  # times the second, for the first run on a new installation
HEADINGS = ("tool", "time", "cranfield is faster by", "peak memory", "mean AP", "goal")
NOTES = (
    "AP, P@10, nDCG and RBP; trec_eval, pytrec_eval and ir_measures do not have RBP and go without.",
    f"trec_eval is {tools.CORES} processes at a time; the memory is that of one, or of the Python that started it.",
)


def tables(data: Data) -> Iterator[Table]:
    ranx_is_compiled = tools.is_compiled("ranx", data)  # for an earlier collection
    yield _all_runs(data)
    table = _one_run(data)
    if not ranx_is_compiled:
        _add_first_ranx(table, data)
    yield table
    yield _gzipped(data)


def _all_runs(data: Data) -> Table:
    table = Table(f"Cold, from files to mean scores, {data.shape.runs} runs", HEADINGS, NOTES, data.shape.large)
    with table.attempt("cranfield", goals=len(GOALS) + 1):
        is_first = not tools.is_compiled("cranfield", data)
        first = tools.first_ever("cranfield", data) if is_first else None
        ours = tools.cold("cranfield", data, data.runs)
        _add(table, "cranfield", ours)
        if first is not None:
            goal = at_most(first.seconds / ours.seconds, FIRST, "× the second run")
            _add(table, "cranfield, first run ever", first, "", goal)
        for tool in PEERS:
            with table.attempt(tool):
                theirs = tools.cold(tool, data, data.runs)
                ratio = theirs.seconds / ours.seconds
                _add(table, tool, theirs, times(ratio), at_least(ratio, GOALS[tool]) if tool in GOALS else "")
    return table


def _one_run(data: Data) -> Table:
    lines = data.shape.lines // data.shape.runs
    table = Table(f"Cold, from file to mean scores, one run of {lines:,} lines", HEADINGS, (), data.shape.promised)
    with table.attempt("cranfield", goals=2):
        ours = tools.cold("cranfield", data, data.one_run)
        _add(table, "cranfield", ours, "", at_most(ours.seconds, LIMIT, "s") if lines <= 50_000 else "")
        for name, line in (
            ("  of it cranfield --version", [*tools.command(), "--version"]),
            ("  of it python -c pass", [sys.executable, "-c", "pass"]),
        ):
            start = child.best(partial(child.run, line), at_most=10)
            table.add(name, duration(start.seconds), "", megabytes(start.megabytes))
        for tool in PEERS:
            with table.attempt(tool):
                theirs = tools.cold(tool, data, data.one_run)
                ratio = theirs.seconds / ours.seconds
                goal = at_most(1 / ratio, ONE_RUN, "× its time") if tool == "trec_eval" else ""
                _add(table, tool, theirs, times(ratio), goal)
    return table


def _add_first_ranx(table: Table, data: Data) -> None:
    with table.attempt("ranx, first run ever"):
        _add(table, "ranx, first run ever", tools.first_ever("ranx", data))


def _gzipped(data: Data) -> Table:
    """The same runs gzipped, beside what unzipping alone takes."""
    title = f"Cold, from gzipped files to mean scores, {data.shape.runs} runs"
    table = Table(title, ("what", "time", "× plain files", "peak memory", "mean AP", "goal"), (), False)
    with table.attempt("cranfield"):
        plain, zipped, alone = tools.cold("cranfield", data, data.runs), tools.cold_gzipped(data), tools.gunzip(data)
        _add(table, "cranfield, plain", plain)
        _add(table, "cranfield, gzipped", zipped, times(zipped.seconds / plain.seconds))
        table.add(f"gunzip alone, {tools.CORES} processes at a time", duration(alone.seconds))
    return table


def _add(table: Table, name: str, outcome: Outcome, ratio: str = "", goal: Goal | str = "") -> None:
    ap = score(tools.mean_ap(outcome))
    table.add(name, duration(outcome.seconds), ratio, megabytes(outcome.megabytes), ap, goal)
