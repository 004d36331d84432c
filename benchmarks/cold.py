"""Cold and end to end: from files to mean scores, a fresh process for each tool."""

from __future__ import annotations

import sys
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


def tables(data: Data) -> list[Table]:
    return [_all_runs(data), _one_run(data), _gzipped(data)]


def _all_runs(data: Data) -> Table:
    title = f"Cold, from files to mean scores, {data.shape.runs} runs"
    table = Table(title, HEADINGS, NOTES, data.shape.large)
    first = tools.first_ever("cranfield", data)
    ours = tools.cold("cranfield", data, data.runs)
    _add(table, "cranfield", ours)
    _add(table, "cranfield, first run ever", first, times_of=ours)
    for tool in PEERS:
        _add(table, tool, tools.cold(tool, data, data.runs), against=ours, wanted=GOALS.get(tool))
    return table


def _one_run(data: Data) -> Table:
    lines = data.shape.lines // data.shape.runs
    table = Table(f"Cold, from file to mean scores, one run of {lines:,} lines", HEADINGS, (), data.shape.promised)
    ours = tools.cold("cranfield", data, data.one_run)
    _add(table, "cranfield", ours, limit=LIMIT if lines <= 50_000 else None)
    for name, line in (
        ("  of it cranfield --version", [tools.command(), "--version"]),
        ("  of it python -c pass", [sys.executable, "-c", "pass"]),
    ):
        start = child.best(partial(child.run, line), at_most=10)
        table.add(name, duration(start.seconds), "", megabytes(start.megabytes))
    for tool in PEERS:
        measured = tools.cold(tool, data, data.one_run)
        _add(table, tool, measured, against=ours, at_most_times=ONE_RUN if tool == "trec_eval" else None)
    _add(table, "ranx, first run ever", tools.first_ever("ranx", data))
    return table


def _gzipped(data: Data) -> Table:
    """The same runs gzipped, beside what unzipping alone takes."""
    title = f"Cold, from gzipped files to mean scores, {data.shape.runs} runs"
    table = Table(title, ("what", "time", "× plain files", "peak memory", "mean AP"), (), False)
    plain, zipped, alone = tools.cold("cranfield", data, data.runs), tools.cold_gzipped(data), tools.gunzip(data)
    if isinstance(plain, Outcome):
        table.add("cranfield, plain", duration(plain.seconds), "", megabytes(plain.megabytes))
        ratio, ap = times(zipped.seconds / plain.seconds), score(tools.mean_ap(zipped))
        table.add("cranfield, gzipped", duration(zipped.seconds), ratio, megabytes(zipped.megabytes), ap)
    table.add(f"gunzip alone, {tools.CORES} processes at a time", duration(alone.seconds))
    return table


def _add(
    table: Table,
    name: str,
    measured: tools.Measured,
    *,
    against: tools.Measured = "",
    wanted: float | None = None,
    limit: float | None = None,
    at_most_times: float | None = None,
    times_of: tools.Measured = "",
) -> None:
    """One row: a time, its ratio ``against`` ours, the memory, and the goal on the ratio or the time."""
    if not isinstance(measured, Outcome):
        table.add(name, measured)
        return
    goal: Goal | str = "" if limit is None else at_most(measured.seconds, limit, "s")
    ratio = ""
    if isinstance(against, Outcome):
        faster = measured.seconds / against.seconds
        ratio, goal = times(faster), "" if wanted is None else at_least(faster, wanted)
        if at_most_times is not None:
            goal = at_most(1 / faster, at_most_times, "× its time")
    if isinstance(times_of, Outcome):
        goal = at_most(measured.seconds / times_of.seconds, FIRST, "× the second run")
    ap = score(tools.mean_ap(measured))
    table.add(name, duration(measured.seconds), ratio, megabytes(measured.megabytes), ap, goal)
