"""AP on every shard of documents at once, for several numbers of shards."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import tools
from benchmarks.against import add_parts
from benchmarks.data import Data
from benchmarks.jobs.cranfield import MEASURES, SHARDS, STUDY_SAMPLES, STUDY_SHARDS
from benchmarks.sizes import SMALLEST, size
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


def tables(data: Data) -> Iterator[Table]:
    ours = tools.ours("split", data)["shards"]
    table = Table("AP on all shards, from the packed collection", HEADINGS, NOTES, data.shape.large)
    theirs: dict[str, float] = {}
    with table.attempt("pytrec_eval"):
        theirs = tools.loaded("pytrec_eval", data)["shards"]
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
    yield table
    if data.shape.large or size() == SMALLEST:
        yield _study(data)


def _study(data: Data) -> Table:
    """What ``cranfield shards`` does, and what of it takes how long."""
    settings = f"S = {', '.join(map(str, STUDY_SHARDS))} × {STUDY_SAMPLES} samples × {len(MEASURES)} measures"
    table = Table(f"The whole study of shards, {settings}, from the packed collection", ("part", "time", "share"))
    with table.attempt("all of it"):
        study = tools.ours("study", data)
        add_parts(table, study["parts"], study["alone"])
        table.add("all of it, one re-sharding at a time", duration(study["alone"]), "100%")
        table.add("all of it, on all cores", duration(study["seconds"]))
        table.add("peak memory", f"{study['peak']:,.0f} MB")
    return table
