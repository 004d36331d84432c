# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""Loops over the pairs of systems: swaps between two sets of topics, and what t needs of a set."""

from __future__ import annotations

import numpy as np

from cranfield.runtime.compiled import Kernel
from cranfield.stats.pairs import every_pair


def _count_swaps(first, last, means, edges, second, width, known, out_seen, out_swapped, out_total):
    """Differences seen, swapped and their sums, by bin; ``means`` are trials × sets × systems.

    A part are the trials between two ``edges``. ``second`` is the first set of the second system of a pair. A tie is
    half a swap. ``known`` are the true means of the systems, whose differences count; none where those of sets do.
    """
    systems = means.shape[2]
    bins = out_seen.shape[1]
    for part in range(first, last):
        for trial in range(edges[part], edges[part + 1]):
            for a in range(systems):
                for b in range(a + 1, systems):
                    one = means[trial, 0, a] - means[trial, second, b]
                    other = means[trial, 1, a] - means[trial, second + 1, b]
                    swap = 0.0
                    if one == 0.0 or other == 0.0:
                        swap = 0.5
                    elif (one > 0.0) != (other > 0.0):
                        swap = 1.0
                    if len(known):
                        size = abs(known[a] - known[b])
                        place = min(int(size / width), bins - 1)
                        out_seen[part, place] += 1
                        out_swapped[part, place] += swap
                        out_total[part, place] += size
                        continue
                    for size in (abs(one), abs(other)):
                        place = min(int(size / width), bins - 1)
                        out_seen[part, place] += 1
                        out_swapped[part, place] += swap
                        out_total[part, place] += size


def _pair_squares(first, last, means, sums, own, products, topics, out_difference, out_squares, out_size):
    """Of every pair the difference of its means, Σ(d − d̄)², and the squares of its two systems.

    ``sums``, ``own`` squares and ``products`` are those of what topics and systems leave of the scores; of the products
    those of the pairs will do.
    """
    systems = len(means)
    for a in range(first, last):
        at = a * (2 * systems - a - 1) // 2
        for b in range(a + 1, systems):
            gap = sums[a] - sums[b]
            size = own[a] + own[b]
            out_difference[at] = means[a] - means[b]
            out_size[at] = size
            out_squares[at] = size - 2 * products[a, b] - gap * gap / topics
            at += 1


def _pair_squares_of_arrays(count, means, sums, own, products, topics, out_difference, out_squares, out_size):
    first, second = every_pair(count)
    np.subtract(means[first], means[second], out=out_difference)
    np.add(own[first], own[second], out=out_size)
    out_squares[:] = out_size - 2 * products[first, second] - np.square(sums[first] - sums[second]) / topics
    return True


pair_squares = Kernel(_pair_squares, arrays=_pair_squares_of_arrays)
count_swaps = Kernel(_count_swaps)
