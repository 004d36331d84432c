"""The one ranking: key descending in double precision, ties by document id descending, as trec_eval has it."""

from __future__ import annotations

import numpy as np

from cranfield.runtime.threads import slices, spread
from cranfield.types import Array

_AT_ONCE = 200_000  # documents, whose arrays stay in the cache


def rank_lists(edges: Array, documents: Array, keys: Array) -> None:
    """Order every list in place; those that are in order already, as most are but for ties, cost one look."""
    parts = 1 + len(documents) // _AT_ONCE
    spread(lambda piece: _rank_some(edges[piece[0] : piece[1] + 1], documents, keys), slices(len(edges) - 1, parts))


def _rank_some(edges: Array, documents: Array, keys: Array) -> None:
    first, last = int(edges[0]), int(edges[-1])
    if last - first < 2:
        return
    edges, documents, keys = edges - first, documents[first:last], keys[first:last]
    within = np.ones(last - first + 1, bool)  # whether a document is of the same list as the one before
    within[edges] = False
    within = within[1:-1]
    rising = within & (keys[1:] > keys[:-1])
    tied = within & (keys[1:] == keys[:-1])
    if rising.any():
        unordered = np.searchsorted(edges, np.flatnonzero(rising), side="right") - 1
        for number in dict.fromkeys(unordered.tolist()):
            start, end = int(edges[number]), int(edges[number + 1])
            tied[start : end - 1] = False
            _rank_one(documents[start:end], keys[start:end])
    if (tied & (documents[1:] > documents[:-1])).any():
        _rank_tied(tied, documents)


def _rank_one(documents: Array, keys: Array) -> None:
    # Codes are in the byte order of the ids, so the higher code is the higher id.
    best_first = np.lexsort((-documents, -keys))
    documents[:] = documents[best_first]
    keys[:] = keys[best_first]


def _rank_tied(tied: Array, documents: Array) -> None:
    """Order the documents that are tied with the one before or after them: one sort of numbers for all groups."""
    one_of_several = np.zeros(len(documents), bool)
    one_of_several[1:] = tied
    one_of_several[:-1] |= tied
    at = np.flatnonzero(one_of_several)
    group = np.cumsum(~np.concatenate([[False], tied])[at])
    codes = int(documents.max()) + 1
    numbers = group * codes + (codes - 1 - documents[at])
    numbers.sort()
    documents[at] = codes - 1 - numbers % codes
