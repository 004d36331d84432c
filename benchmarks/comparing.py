"""Tukey's p-values, MD6 and Tukey by permutation against scipy, statsmodels and plain NumPy."""

from __future__ import annotations

from benchmarks.child import ChildError, job
from benchmarks.table import ABSENT, Table, at_least, at_most, duration, megabytes, times

HEADINGS = ("way", "what", "time", "peak memory", "cranfield is faster by", "goal")

CASES = {
    "All 8,256 adjusted p-values of 129 systems": (
        "tukey",
        (("scipy", "scipy.stats.tukey_hsd", 2000), ("psturng", "statsmodels' psturng", 2000)),
    ),
    "MD6 on 50 topics × 50 systems × 10 shards": ("md6", (("statsmodels", "statsmodels' formula route", 1000),)),
    "Tukey by permutation, 10,000 permutations × 129 × 50": (
        "tukey_permutation",
        (("permuted", "rng.permuted", 10), ("naive", "a loop over permutations and topics", 30)),
    ),
}


def tables() -> list[Table]:
    found = [_table(title, name, peers) for title, (name, peers) in CASES.items()]
    _add_whole_md6(found[1])
    return found


def _add_whole_md6(table: Table) -> None:
    """TREC-8's own size, which is more than statsmodels' route has memory for."""
    ours = job("comparisons", "md6", "ours", "50", "129", "10")
    seconds = ours.answer["seconds"]
    table.add(
        "cranfield",
        "50 × 129 × 10",
        duration(seconds),
        megabytes(ours.megabytes),
        "",
        at_most(1000 * seconds, 1.5, "ms"),
    )


def _table(title: str, name: str, peers: tuple[tuple[str, str, float], ...]) -> Table:
    table = Table(title, HEADINGS, ("A peer's time is scaled up where it was given only part of the work.",))
    ours = job("comparisons", name, "ours")
    seconds = ours.answer["seconds"]
    table.add("cranfield", "all", duration(seconds), megabytes(ours.megabytes))
    for way, shown, goal in peers:
        try:
            theirs = job("comparisons", name, way)
        except ChildError as error:
            table.add(shown, ABSENT, f"failed: {error}")
            continue
        share = theirs.answer["share"]
        ratio = theirs.answer["seconds"] / share / seconds
        part = "all" if share == 1 else f"1/{1 / share:.0f} of it"
        table.add(
            shown,
            part,
            duration(theirs.answer["seconds"] / share),
            megabytes(theirs.megabytes),
            times(ratio),
            at_least(ratio, goal),
        )
    return table
