"""Tukey's p-values, MD6 and Tukey by permutation against scipy, statsmodels and NumPy; small comparisons in process."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.against import Peer, against
from benchmarks.child import job
from benchmarks.table import Table, at_most, duration, megabytes

TUKEY = "All 8,256 adjusted p-values of 129 systems"
MD6 = "MD6 on 50 topics × 50 systems × 10 shards"
PERMUTATION = "Tukey by permutation, 10,000 permutations × 129 × 50"


def tables() -> Iterator[Table]:
    peers = [Peer("scipy.stats.tukey_hsd", "tukey_scipy", 2000), Peer("statsmodels' psturng", "tukey_psturng", 2000)]
    yield against(TUKEY, "comparisons", "tukey_ours", peers)
    peers = [Peer("statsmodels' formula route", "md6_statsmodels", 1000)]
    table = against(MD6, "comparisons", "md6_ours", peers)
    _add_whole_md6(table)
    yield table
    peers = [
        Peer("rng.permuted", "tukey_permutation_permuted", 10),
        Peer("a loop over permutations and topics", "tukey_permutation_naive", 30),
    ]
    yield against(PERMUTATION, "comparisons", "tukey_permutation_ours", peers)


def _add_whole_md6(table: Table) -> None:
    """TREC-8's own size, which is more than statsmodels' route has memory for."""
    with table.attempt("cranfield, 50 × 129 × 10"):
        ours = job("comparisons", "md6_ours", 50, 129, 10)
        seconds = ours.answer["seconds"]
        goal = at_most(1000 * seconds, 1.5, "ms")
        table.add("cranfield, 50 × 129 × 10", "all", duration(seconds), megabytes(ours.megabytes), "", goal)
