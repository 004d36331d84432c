"""10,000 simulated collections of 100 topics × 50 systems through blocked Tukey, and what of it takes how long."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.against import Peer, add_parts, against
from benchmarks.child import job
from benchmarks.table import Table, duration

TITLE = "10,000 simulated collections of 100 topics × 50 systems through blocked Tukey"
NOTES = (
    "Cranfield draws and tests every collection under two truths, the loop under one.",
    "The loop's time is scaled up from 20 collections.",
)


def tables() -> Iterator[Table]:
    peers = [Peer("a loop over collections, NumPy and scipy.stats", "loop", 10)]
    yield against(TITLE, "simulations", "ours", peers, NOTES)
    yield _parts()


def _parts() -> Table:
    table = Table("The same, part by part: one batch on one thread", ("part", "time", "share"))
    with table.attempt("cranfield"):
        answer = job("simulations", "parts").answer
        total = sum(answer["parts"].values())
        add_parts(table, answer["parts"], total)
        table.add(f"all parts, {answer['batch']} collections", duration(total))
        table.add("fitting margins and dependence, once", duration(answer["fitting"]))
    return table
