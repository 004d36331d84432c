"""The order of all pairs of things: every two of them once, in the order of the first, then of the second."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from cranfield.types import Array

MOST_KEPT = 256  # things, up to which the pairs are kept: to make them takes longer than a t test


def pair_count(count: int) -> int:
    """The number of pairs.

    >>> pair_count(4)
    6
    """
    return count * (count - 1) // 2


def every_pair(count: int) -> tuple[Array, Array]:
    """The first and the second of every pair.

    >>> [each.tolist() for each in every_pair(3)]
    [[0, 0, 1], [1, 2, 2]]
    """
    return _kept(count) if count <= MOST_KEPT else _made(count)


def _made(count: int) -> tuple[Array, Array]:
    first, second = np.triu_indices(count, k=1)
    for each in (first, second):
        each.flags.writeable = False  # shared by all who ask
    return first, second


_kept = lru_cache(maxsize=8)(_made)


def pair_place(first: Array, second: Array, count: int) -> Array:
    """The places of pairs in the order, whichever of the two comes first.

    >>> pair_place(np.array([0, 3]), np.array([1, 1]), 4).tolist()
    [0, 4]
    """
    low, high = np.minimum(first, second), np.maximum(first, second)
    return np.asarray(low * (2 * count - low - 1) // 2 + high - low - 1)


def pairs_at(places: Array, count: int) -> tuple[Array, Array]:
    """The first and the second of the pairs at some places of the order, without making the others.

    >>> [each.tolist() for each in pairs_at(np.array([2, 3, 4]), 4)]
    [[0, 1, 1], [3, 2, 3]]
    """
    rows = np.arange(count, dtype=np.int64)
    begins = rows * (2 * count - rows - 1) // 2
    # The last one begins no pair.
    first = np.minimum(np.searchsorted(begins, places, side="right") - 1, count - 2)
    return first, np.asarray(places - begins[first] + first + 1)
