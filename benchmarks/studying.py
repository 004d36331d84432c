"""Simulated studies against a Python loop and against cumulative sums, and the memory of long ones."""

from __future__ import annotations

from benchmarks.child import job
from benchmarks.table import Table, at_least, at_most, duration, megabytes, times

PLANS = ("fixed", "iterative", "hybrid", "group-obrien-fleming", "group-pocock", "anytime", "every-topic")


def tables() -> list[Table]:
    return [_iterative(), _memory()]


def _iterative() -> Table:
    headings = ("way", "what", "time", "mean topics", "peak memory", "cranfield is faster by", "goal")
    notes = ("All are given the same table of thresholds; the loop's time is scaled up from a part of the work.",)
    table = Table("The iterative plan on 100 pairs × 1,000 repeats", headings, notes)
    ours = job("studies", "ours")
    seconds = ours.answer["seconds"]
    table.add("cranfield", "all", duration(seconds), f"{ours.answer['topics']:.1f}", megabytes(ours.megabytes))
    for way, shown, goal in (("loop", "a loop with NumPy calls", 500), ("cumulative", "cumulative sums", 4)):
        theirs = job("studies", way)
        share = theirs.answer["share"]
        whole = theirs.answer["seconds"] / share
        part = "all" if share == 1 else f"1/{1 / share:.0f} of it"
        table.add(
            shown,
            part,
            duration(whole),
            f"{theirs.answer['topics']:.1f}",
            megabytes(theirs.megabytes),
            times(whole / seconds),
            at_least(whole / seconds, goal),
        )
    return table


def _memory() -> Table:
    table = Table("100,000 studies of up to 500 topics, twice", ("plan", "time", "peak memory", "goal"))
    for plan in PLANS:
        found = job("studies", "paths", plan)
        goal = at_most(found.megabytes, 1000, "MB")
        table.add(plan, duration(found.answer["seconds"]), megabytes(found.megabytes), goal)
    return table
