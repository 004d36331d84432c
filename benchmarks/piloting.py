"""SS16's leave-out study, on a collection of its size and on TREC-8's, against rebuilding qrels for pytrec_eval."""

from __future__ import annotations

from functools import cache

from benchmarks.child import Outcome, job
from benchmarks.data import Data, prepare, progress
from benchmarks.jobs.pilots import NAMES
from benchmarks.shapes import SMALLEST_SS16, SS16
from benchmarks.sizes import sized
from benchmarks.table import ABSENT, Table, at_least, at_most, duration, megabytes, times

HEADINGS = ("study", "trials", "cranfield", "pytrec_eval", "cranfield is faster by", "goal")
NOTES = (
    "Runs, judgments and compiled loops are in memory for both. Finding who contributed what is in cranfield's time,",
    "not in pytrec_eval's, which is scaled up from a few trials where lists are long. Each is the fastest of several.",
)
FIVE = ",".join(NAMES)
THEIRS = "nG@1,P+,nERR@10,nDCG@10,Q@10"  # SS16's own, three of which pytrec_eval does not have
MORE_TRIALS = 20  # times as many, to see whether memory grows


def tables(data: Data) -> list[Table]:
    """Only for collections with long lists of several teams; the small one of SS16's size is made here."""
    if data.shape.depth < sized(1000, 0):
        return []
    small = prepare(sized(SS16, SMALLEST_SS16), data.folder.parent, data.caches)
    teams = sized(16, 3)
    cases = (
        ("SS16: 16 teams, 44 runs × 100 × 10, 5 measures", small, teams, FIVE, 100),
        ("SS16, its own 5 measures", small, teams, THEIRS, None),
        (f"{data.shape.title}: {_teams(data)} teams, {data.shape.runs} runs, AP", data, _teams(data), "AP", 500),
        ("the same, 5 measures", data, _teams(data), FIVE, 500),
    )
    table = Table("Leaving k teams out, 10 times for every k", HEADINGS, NOTES, data.shape.promised)
    for title, where, teams, measures, goal in cases:
        _row(table, title, where, teams, measures, goal)
    return [table, _memory(data)]


def _teams(data: Data) -> int:
    return min(41, data.shape.runs // 2)


def _row(table: Table, title: str, data: Data, teams: int, measures: str, goal: int | None) -> None:
    with table.attempt(title):
        seconds = _ours(data, teams, measures, 10).answer["seconds"]
        shown = [title, f"{(teams - 1) * 10:,}", duration(seconds)]
        if goal is None:
            table.add(*shown, ABSENT)
            return
        progress(f"pytrec_eval: {title}")
        theirs = job("pilots", "pytrec_eval", data.runs, data.qrels, teams, measures, 10).answer
        peer = theirs["seconds"] / theirs["share"]
        table.add(*shown, duration(peer), times(peer / seconds), at_least(peer / seconds, goal))


@cache
def _ours(data: Data, teams: int, measures: str, trials: int) -> Outcome:
    progress(f"cranfield: leaving teams out, {trials} trials of {measures}")
    return job("pilots", "ours", data.runs, data.qrels, teams, measures, trials)


def _memory(data: Data) -> Table:
    table = Table("Memory of the study, by trials", ("trials", "peak memory", "more", "goal"), (), data.shape.promised)
    with table.attempt("memory"):
        _add_memory(table, data)
    return table


def _add_memory(table: Table, data: Data) -> None:
    few, many = (_ours(data, _teams(data), "AP", trials) for trials in (10, 10 * MORE_TRIALS))
    count = (_teams(data) - 1) * 10
    table.add(f"{count:,}", megabytes(few.megabytes), ABSENT)
    growth = many.megabytes - few.megabytes
    table.add(f"{count * MORE_TRIALS:,}", megabytes(many.megabytes), megabytes(growth), at_most(growth, 30, "MB"))
