"""Simulated studies against a Python loop and against cumulative sums, and the memory of long ones."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.against import Peer, against
from benchmarks.child import job
from benchmarks.sizes import sized
from benchmarks.table import Table, at_most, duration, megabytes

PLANS = ("fixed", "iterative", "hybrid", "group-obrien-fleming", "group-pocock", "anytime", "every-topic")
NOTES = ("All are given the same table of thresholds; the loop's time is scaled up from a part of the work.",)


def tables() -> Iterator[Table]:
    peers = [Peer("a loop with NumPy calls", "loop", 500), Peer("cumulative sums", "cumulative", 4)]
    yield against("The iterative plan on 100 pairs × 1,000 repeats", "studies", "ours", peers, NOTES)
    yield _memory()


def _memory() -> Table:
    table = Table("100,000 studies of up to 500 topics, twice", ("plan", "time", "peak memory", "goal"))
    for plan in sized(PLANS, PLANS[1:2]):
        with table.attempt(plan):
            outcome = job("studies", "paths", plan)
            goal = at_most(outcome.megabytes, 1000, "MB")
            table.add(plan, duration(outcome.answer["seconds"]), megabytes(outcome.megabytes), goal)
    return table
