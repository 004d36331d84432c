# mypy: disable-error-code="no-untyped-def"
"""The loops over pairs of runs."""

from __future__ import annotations

import numpy as np

from cranfield.runtime.compiled import Kernel


def _unions(first, last, topics, systems, documents_count, one, other, depths, edges, documents, out_union):
    """How many documents two runs have among their first d together, over all topics, for every pair and depth.

    A document is shared at depth d when the worse of its two ranks is at most d.
    """
    rank_of = np.zeros(documents_count, np.int32)
    owner = np.full(documents_count, -1, np.int64)
    deepest = depths[len(depths) - 1]
    for pair in range(first, last):
        for topic in range(topics):
            number = pair * topics + topic
            a, b = topic * systems + one[pair], topic * systems + other[pair]
            end_a = min(edges[a + 1], edges[a] + deepest)
            end_b = min(edges[b + 1], edges[b] + deepest)
            for at in range(edges[a], end_a):
                rank_of[documents[at]] = at - edges[a] + 1
                owner[documents[at]] = number
            for which in range(len(depths)):
                out_union[pair * len(depths) + which] += min(end_a - edges[a], depths[which])
                out_union[pair * len(depths) + which] += min(end_b - edges[b], depths[which])
            for at in range(edges[b], end_b):
                if owner[documents[at]] == number:
                    worse = max(rank_of[documents[at]], at - edges[b] + 1)
                    for which in range(len(depths)):
                        if worse <= depths[which]:
                            out_union[pair * len(depths) + which] -= 1


def _found_by(first, last, systems, one, other, depth, edges, rank, judgment, out_kept):
    """Which judgments two runs have among their first few."""
    for at in range(len(out_kept)):
        out_kept[at] = 0
    for topic in range(first, last):
        for system in (one, other):
            number = topic * systems + system
            for hit in range(edges[number], edges[number + 1]):
                if rank[hit] > depth:
                    break
                out_kept[judgment[hit]] = 1


unions = Kernel(_unions)
found_by = Kernel(_found_by)
