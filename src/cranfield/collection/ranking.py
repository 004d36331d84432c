"""The one ranking: key descending in double precision, ties by document id descending, as trec_eval has it."""

from __future__ import annotations

import numpy as np

from cranfield.collection.kernels import settle
from cranfield.runtime.threads import available_workers, slices, spread
from cranfield.types import Array


def rank_lists(edges: Array, documents: Array, keys: Array) -> None:
    """Order every list in place; those that are nearly in order already, as most are, cost one look."""
    lists = len(edges) - 1
    unordered = np.zeros(lists, np.bool_)
    settle(lists, edges, documents, keys, unordered, work=len(documents))
    todo = np.flatnonzero(unordered)

    def order(piece: tuple[int, int]) -> None:
        for number in todo[piece[0] : piece[1]].tolist():
            _rank_one(documents[edges[number] : edges[number + 1]], keys[edges[number] : edges[number + 1]])

    spread(order, slices(len(todo), available_workers()))


def _rank_one(documents: Array, keys: Array) -> None:
    # Codes are in the byte order of the ids, so the higher code is the higher id.
    best_first = np.lexsort((-documents, -keys))
    documents[:] = documents[best_first]
    keys[:] = keys[best_first]
