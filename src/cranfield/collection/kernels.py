# mypy: disable-error-code="no-untyped-def"
"""The loops over whole ranked lists. Lists are laid out topic by topic: list = topic · systems + system."""

from __future__ import annotations

import numpy as np

from cranfield.runtime.compiled import Kernel


def _place(first, last, source, target, codes, keys, sorted_code, out_documents, out_keys):
    """Copy the lists of one run to their places, documents under their sorted codes."""
    for segment in range(first, last):
        to = target[segment]
        if to < 0:  # a topic nobody judged
            continue
        for at in range(source[segment], source[segment + 1]):
            out_documents[to] = sorted_code[codes[at]]
            out_keys[to] = keys[at]
            to += 1


def _settle(first, last, edges, out_documents, out_keys, out_unordered):
    """Order lists that are nearly in order (key, then document, both descending) by insertion; mark those that are not.

    Most lists are in order but for ties, whose documents come in any order; each costs a few moves.
    """
    for number in range(first, last):
        start = edges[number]
        moves_left = 8 * (edges[number + 1] - start)
        for at in range(start + 1, edges[number + 1]):
            key, document = out_keys[at], out_documents[at]
            to = at
            while to > start and (
                key > out_keys[to - 1] or (key == out_keys[to - 1] and document > out_documents[to - 1])
            ):
                out_keys[to] = out_keys[to - 1]
                out_documents[to] = out_documents[to - 1]
                to -= 1
            out_keys[to] = key
            out_documents[to] = document
            moves_left -= at - to
            if moves_left < 0:
                out_unordered[number] = True
                break


def _join(
    first,
    last,
    systems,
    documents_count,
    edges,
    documents,
    judged_edges,
    judged_documents,
    out_judgment,
    out_hits,
    out_duplicate,
):
    """The judgment of every document of every list, -1 for none, and how many of a list's there are."""
    judgment_of = np.full(documents_count, -1, np.int32)
    seen_in = np.full(documents_count, -1, np.int32)
    for topic in range(first, last):
        for judgment in range(judged_edges[topic], judged_edges[topic + 1]):
            judgment_of[judged_documents[judgment]] = judgment
        for number in range(topic * systems, (topic + 1) * systems):
            hits = 0
            for at in range(edges[number], edges[number + 1]):
                document = documents[at]
                if seen_in[document] == number:
                    out_duplicate[number] = 1
                seen_in[document] = number
                judgment = judgment_of[document]
                out_judgment[at] = judgment
                if judgment >= 0:
                    hits += 1
            out_hits[number] = hits
        for judgment in range(judged_edges[topic], judged_edges[topic + 1]):
            judgment_of[judged_documents[judgment]] = -1


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


place = Kernel(_place)
settle = Kernel(_settle)
join = Kernel(_join)
shard_hits = Kernel(_shard_hits)
shard_lengths = Kernel(_shard_lengths)
trim = Kernel(_trim)
best = Kernel(_best)
stay = Kernel(_stay)
