"""Tasks on a Dask cluster against threads, and two workers against one."""

from __future__ import annotations

from benchmarks.child import ChildError, Outcome, job
from benchmarks.table import Table, at_least, at_most, duration, times

COUNT = 13_000_000  # permutations of 129 systems × 50 topics: about a minute on two cores
SHARE = 4  # one worker alone gets so little of them
HEADINGS = ("where", "permutations", "time", "ratio", "goal")
NOTES = ("One worker's time is scaled up. A cluster is started before the clock is; every way gives the same numbers.",)


def tables() -> list[Table]:
    table = Table("Tasks on a cluster: Tukey by permutation, 129 systems × 50 topics", HEADINGS, NOTES)
    try:
        threads, two = _measure("threads", 2, COUNT), _measure("dask", 2, COUNT)
        one = _measure("dask", 1, COUNT // SHARE)
    except ChildError as error:
        table.add("Dask", "", f"not measured: {error}")
        return [table]
    here, there, alone = threads.answer["seconds"], two.answer["seconds"], one.answer["seconds"] * SHARE
    if threads.answer["sum"] != two.answer["sum"]:
        raise SystemExit("threads and the cluster give different numbers")
    table.add("2 threads", f"{COUNT:,}", duration(here))
    table.add(
        "Dask, 2 workers",
        f"{COUNT:,}",
        duration(there),
        f"{there / here - 1:+.1%}",
        at_most(100 * (there / here - 1), 15, "% more than threads"),
    )
    table.add(
        "Dask, 1 worker", f"{COUNT // SHARE:,}", duration(alone), times(alone / there), at_least(alone / there, 1.7)
    )
    return [table]


def _measure(where: str, workers: int, count: int) -> Outcome:
    return job("clusters", where, str(count), str(workers))
