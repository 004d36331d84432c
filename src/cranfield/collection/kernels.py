# mypy: disable-error-code="no-untyped-def"
"""The loops over whole ranked lists. Lists are laid out topic by topic: list = topic · systems + system."""

from __future__ import annotations

import numpy as np

from cranfield.runtime.compiled import Kernel


def _shard_hits(
    first,
    last,
    shards,
    edges,
    documents,
    hit_edges,
    hit_rank,
    hit_judgment,
    shard_of,
    out_rank,
    out_judgment,
    out_edges,
):
    """Split every list into its shards in one pass: a counter a shard gives each hit its rank within the shard.

    ``out_edges[segment]`` is where a segment's hits begin; what follows the last segment is the caller's to set. There
    are two sets of counters, for documents at even and odd places, so that counting one does not wait for the other.
    """
    even = np.zeros(shards, np.int32)
    odd = np.zeros(shards, np.int32)
    place = np.zeros(shards, np.int64)
    for number in range(first, last):
        base = number * shards
        start = edges[number]
        for shard in range(shards):
            even[shard] = 0
            odd[shard] = 0
            place[shard] = 0
        for hit in range(hit_edges[number], hit_edges[number + 1]):
            place[shard_of[documents[start + hit_rank[hit] - 1]]] += 1
        to = hit_edges[number]
        for shard in range(shards):
            out_edges[base + shard] = to
            to += place[shard]
            place[shard] = out_edges[base + shard]
        at = start
        for hit in range(hit_edges[number], hit_edges[number + 1]):
            stop = start + hit_rank[hit]
            while at + 1 < stop:
                even[shard_of[documents[at]]] += 1
                odd[shard_of[documents[at + 1]]] += 1
                at += 2
            if at < stop:
                even[shard_of[documents[at]]] += 1
                at += 1
            shard = shard_of[documents[stop - 1]]
            out_rank[place[shard]] = even[shard] + odd[shard]
            out_judgment[place[shard]] = hit_judgment[hit]
            place[shard] += 1


def _shard_lengths(first, last, shards, edges, documents, shard_of, out_length):
    """How many documents of every list are in each shard."""
    for number in range(first, last):
        for at in range(edges[number], edges[number + 1]):
            out_length[number * shards + shard_of[documents[at]]] += 1


def _trim(first, last, systems, chosen, depth, edges, rank, judgment, kept, out_edges, out_rank, out_judgment):
    """The hits of the chosen systems on kept judgments down to a depth, topic by topic, put end to end.

    ``first`` and ``last`` are topics; the first is 0, because the start of a list depends on all lists before it.
    """
    to = 0
    out_edges[0] = 0
    for topic in range(first, last):
        for at in range(len(chosen)):
            number = topic * systems + chosen[at]
            for hit in range(edges[number], edges[number + 1]):
                if rank[hit] > depth:
                    break
                if kept[judgment[hit]]:
                    out_rank[to] = rank[hit]
                    out_judgment[to] = judgment[hit]
                    to += 1
            out_edges[topic * len(chosen) + at + 1] = to


def _best(first, last, edges, kept, out_edges, out_rank, out_judgment):
    """The ideal list of every topic: what is kept of its judgments, which come best first; ``first`` is 0."""
    to = 0
    out_edges[0] = 0
    for topic in range(first, last):
        start = to
        for judgment in range(edges[topic], edges[topic + 1]):
            if kept[judgment]:
                out_rank[to] = to - start + 1
                out_judgment[to] = judgment
                to += 1
        out_edges[topic + 1] = to


def _stay(first, last, member, staying, always, out_kept):
    """Which judgments some staying team contributed; ``always`` marks those that nobody is known to have."""
    for judgment in range(first, last):
        found = always[judgment]
        for word in range(len(staying)):
            if member[judgment * len(staying) + word] & staying[word]:
                found = 1
        out_kept[judgment] = found


shard_hits = Kernel(_shard_hits)
shard_lengths = Kernel(_shard_lengths)
trim = Kernel(_trim)
best = Kernel(_best)
stay = Kernel(_stay)
