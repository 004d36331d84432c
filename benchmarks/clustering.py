"""Tasks on a Dask cluster against threads, and two workers against one."""

from __future__ import annotations

from benchmarks.child import job
from benchmarks.sizes import sized
from benchmarks.table import Goal, Table, at_least, at_most, duration, times

SHARE = 4  # one worker alone gets so little of them
HEADINGS = ("where", "permutations", "time", "ratio", "goal", "goal ")
NOTES = ("One worker's time is scaled up. A cluster is started before the clock is; every way gives the same numbers.",)


def tables() -> list[Table]:
    count = sized(13_000_000, 8)  # permutations of 129 systems × 50 topics: about a minute on two cores
    table = Table("Tasks on a cluster: Tukey by permutation, 129 systems × 50 topics", HEADINGS, NOTES)
    with table.attempt("Dask", goals=3):
        threads, two = (job("clusters", where, count, 2).answer for where in ("threads", "dask"))
        alone = job("clusters", "dask", count // SHARE, 1).answer["seconds"] * SHARE
        here, there = threads["seconds"], two["seconds"]
        table.add("2 threads", f"{count:,}", duration(here))
        more, same = there / here - 1, Goal("same numbers", threads["sum"] == two["sum"])
        goal = at_most(100 * more, 15, "% more than threads")
        table.add("Dask, 2 workers", f"{count:,}", duration(there), f"{more:+.1%}", goal, same)
        goal = at_least(alone / there, 1.7)
        table.add("Dask, 1 worker", f"{count // SHARE:,}", duration(alone), times(alone / there), goal)
    return [table]
