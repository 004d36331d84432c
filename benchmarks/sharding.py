"""AP on every shard of documents at once, for several numbers of shards."""

from __future__ import annotations

from benchmarks import tools
from benchmarks.child import Outcome
from benchmarks.data import Data
from benchmarks.jobs.cranfield import MEASURES, SHARDS, STUDY_SAMPLES, STUDY_SHARDS
from benchmarks.table import ABSENT, Table, at_least, at_most, duration, times

GOAL = 1.5  # for the most shards, against one
FASTER = {"10": 400.0}  # than pytrec_eval
HEADINGS = (
    "shards",
    "scores",
    "cranfield",
    "of the time for 1",
    "goal",
    "pytrec_eval",
    "cranfield is faster by",
    "goal against it",
)
NOTES = (
    "Splitting the lists is in the time, dealing documents out to shards is not.",
    "pytrec_eval gets every (topic, shard) as a topic of its own.",
)


def tables(data: Data) -> list[Table]:
    ours, theirs = tools.ours("split", data)["shards"], _theirs(data)
    table = Table("AP on all shards, from the packed collection", HEADINGS, NOTES, data.shape.large)
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
            at_least(peer / ours[count], FASTER[count]) if peer is not None and count in FASTER else "",
        )
    return [table, _study(data)] if data.shape.large else [table]


def _study(data: Data) -> Table:
    """What ``cranfield shards`` does, and what of it takes how long."""
    parts = tools.ours("study", data)
    settings = f"S = {', '.join(map(str, STUDY_SHARDS))} × {STUDY_SAMPLES} samples × {len(MEASURES)} measures"
    table = Table(f"The whole study of shards, {settings}, from the packed collection", ("part", "time", "share"))
    for name, seconds in parts["parts"].items():
        table.add(name, duration(seconds), f"{seconds / parts['alone']:.0%}")
    table.add("all of it, one re-sharding at a time", duration(parts["alone"]), "100%")
    table.add("all of it, on all cores", duration(parts["seconds"]))
    table.add("peak memory", f"{parts['peak']:,.0f} MB")
    return table


def _theirs(data: Data) -> dict[str, float]:
    """pytrec_eval's times by the number of shards, for those it was asked for."""
    measured = tools.loaded("pytrec_eval", data)
    return measured.answer["shards"] if isinstance(measured, Outcome) else {}
