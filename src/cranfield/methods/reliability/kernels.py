# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""Loops over the pairs of systems of many trials: swaps between two sets of topics, and verdicts of two halves."""

from __future__ import annotations

import numpy as np

from cranfield.runtime.compiled import Kernel


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


def _count_verdicts(first, last, means, margins, out_counts):
    """What becomes of each half's significant pairs on the other, and how many pairs both put in the same order.

    ``means`` are trials × 2 × systems, ``margins`` the smallest significant differences. ``out_counts`` gets for each
    trial the significant pairs of both halves, the four outcomes of each, and the pairs in the same order.
    """
    systems = means.shape[2]
    for trial in range(first, last):
        counts = np.zeros(11, np.int64)
        for a in range(systems):
            for b in range(a + 1, systems):
                one = means[trial, 0, a] - means[trial, 0, b]
                other = means[trial, 1, a] - means[trial, 1, b]
                same = (one > 0.0 and other > 0.0) or (one < 0.0 and other < 0.0)
                opposite = (one > 0.0 and other < 0.0) or (one < 0.0 and other > 0.0)
                if same:
                    counts[10] += 1
                mine = abs(one) >= margins[trial, 0] and one != 0.0
                others = abs(other) >= margins[trial, 1] and other != 0.0
                if mine:
                    counts[0] += 1
                    if others:
                        counts[2 if same else 5] += 1
                    else:
                        counts[4 if opposite else 3] += 1
                if others:
                    counts[1] += 1
                    if mine:
                        counts[6 if same else 9] += 1
                    else:
                        counts[8 if opposite else 7] += 1
        for at in range(11):
            out_counts[trial, at] = counts[at]


count_swaps = Kernel(_count_swaps)
count_verdicts = Kernel(_count_verdicts)
