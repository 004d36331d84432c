"""AP on every shard of documents at once, for several numbers of shards."""

from __future__ import annotations

from benchmarks import tools
from benchmarks.child import Outcome
from benchmarks.data import Data
from benchmarks.jobs.cranfield import SHARDS
from benchmarks.table import ABSENT, Table, at_most, duration, times

GOAL = 1.5
HEADINGS = ("shards", "scores", "cranfield", "of the time for 1", "goal", "pytrec_eval", "cranfield is faster by")
NOTES = ("Splitting the lists is in the time. pytrec_eval gets every (topic, shard) as a topic of its own.",)


def tables(data: Data) -> list[Table]:
    ours, theirs = tools.ours("split", data)["shards"], _theirs(data)
    table = Table("AP on all shards, from the packed collection", HEADINGS, NOTES, data.shape.promised)
    for count in map(str, SHARDS):
        share, peer = ours[count] / ours["1"], theirs.get(count)
        table.add(
            count,
            f"{data.shape.runs * data.shape.topics * int(count):,}",
            duration(ours[count]),
            times(share),
            at_most(share, GOAL, "×") if count == str(max(SHARDS)) else "",
            ABSENT if peer is None else duration(peer),
            ABSENT if peer is None else times(peer / ours[count]),
        )
    return [table]


def _theirs(data: Data) -> dict[str, float]:
    """pytrec_eval's times by the number of shards, for those it was asked for."""
    measured = tools.loaded("pytrec_eval", data)
    return measured.answer["shards"] if isinstance(measured, Outcome) else {}
