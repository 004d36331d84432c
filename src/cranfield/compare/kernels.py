# mypy: disable-error-code="no-untyped-def"
"""The loop of randomised Tukey."""

from __future__ import annotations

import numpy as np

from cranfield.compiled import Kernel


def _permuted_ranges(first, last, scores, seeds, out_range):
    """The range of the systems' sums when scores are shuffled within each topic; a generator for each permutation.

    The generator is xorshift64*, written out so that a permutation depends on its own seed and nothing else.
    """
    topics, systems = len(scores), len(scores[0])
    for number in range(first, last):
        state = seeds[number]
        sums = np.zeros(systems)
        order = np.arange(systems)
        for topic in range(topics):
            # Any order of the systems is a fair start for the next shuffle.
            for at in range(systems - 1, 0, -1):
                state ^= state >> np.uint64(12)
                state ^= state << np.uint64(25)
                state ^= state >> np.uint64(27)
                draw = (state * np.uint64(2685821657736338717)) >> np.uint64(32)
                other = np.int64((draw * np.uint64(at + 1)) >> np.uint64(32))
                kept = order[at]
                order[at] = order[other]
                order[other] = kept
            for at in range(systems):
                sums[at] += scores[topic][order[at]]
        out_range[number] = sums.max() - sums.min()


permuted_ranges = Kernel(_permuted_ranges)
