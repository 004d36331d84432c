"""The order of all pairs of m systems, that of ``np.triu_indices``: row by row, each one shorter."""

from __future__ import annotations

import numpy as np

from cranfield.types import Array


def pair_count(systems: int) -> int:
    """The number of pairs.

    >>> pair_count(4)
    6
    """
    return systems * (systems - 1) // 2


def pair_place(first: Array, second: Array, systems: int) -> Array:
    """The places of pairs in the order, whichever of the two comes first.

    >>> pair_place(np.array([0, 3]), np.array([1, 1]), 4).tolist()
    [0, 4]
    """
    low, high = np.minimum(first, second), np.maximum(first, second)
    return np.asarray(low * (2 * systems - low - 1) // 2 + high - low - 1)


def pairs_at(places: Array, systems: int) -> tuple[Array, Array]:
    """The pairs at some places of the order, without making the others.

    >>> [each.tolist() for each in pairs_at(np.array([2, 3, 4]), 4)]
    [[0, 1, 1], [3, 2, 3]]
    """
    rows = np.arange(systems, dtype=np.int64)
    begins = rows * (2 * systems - rows - 1) // 2
    # The last row has no pairs, and begins where the order ends.
    first = np.minimum(np.searchsorted(begins, places, side="right") - 1, systems - 2)
    return first, np.asarray(places - begins[first] + first + 1)


def is_among(places: Array, chosen: Array) -> Array:
    """Which of the places are among those chosen, which are in order.

    >>> is_among(np.array([5, 1, 2]), np.array([1, 4, 5])).tolist()
    [True, True, False]
    """
    if not len(chosen):
        return np.zeros(len(places), bool)
    at = np.minimum(np.searchsorted(chosen, places), len(chosen) - 1)
    return np.asarray(chosen[at] == places)
