"""Reopening a packed collection instead of reading its files again."""

from __future__ import annotations

from benchmarks import tools
from benchmarks.data import Data
from benchmarks.table import Table, at_least, duration, megabytes, times

GOAL = 50.0
HEADINGS = ("what", "time", "faster than reading by", "peak memory", "goal")
NOTES = (
    "Against reading again with the compiler loaded, which is the faster way to read.",
    "An array is checked against its checksum when it is first used; scoring AP checks those that AP uses.",
)


def tables(data: Data) -> list[Table]:
    read, packed = tools.ours("read", data), tools.ours("reopen", data)
    command = tools.ours_packed(data)
    table = Table("Reopening the packed collection", HEADINGS, NOTES, data.shape.promised)
    table.add("read the files", duration(read["reading"]), "", megabytes(read["peak"]))
    table.add("read the files again", duration(read["again"]))
    table.add("pack", duration(read["packing"]))
    ratio = read["again"] / packed["opening"]
    table.add("reopen", duration(packed["opening"]), times(ratio), "", at_least(ratio, GOAL))
    score_ratio = read["again"] / packed["scoring"]
    table.add("reopen and score AP", duration(packed["scoring"]), times(score_ratio), megabytes(packed["peak"]))
    table.add("reopen and score AP, the first time", duration(packed["score_first"]))
    table.add("cranfield score PACKED -m AP, cold", duration(command.seconds), "", megabytes(command.megabytes))
    return [table]
