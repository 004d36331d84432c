# mypy: disable-error-code="no-untyped-def"
"""The loop of randomised Tukey."""

from __future__ import annotations

import numpy as np

from cranfield.compiled import Kernel


def _permuted_ranges(first, last, scores, seeds, out_range):
    """The range of the systems' sums when scores are shuffled within each topic; a generator for each permutation.

    The generator is SplitMix64, written out so that a permutation depends on its own seed and nothing else; its state
    is a counter, so that draws do not wait for each other, and a draw of 64 bits serves two steps.
    """
    topics, systems = scores.shape
    row = np.empty(systems)
    for number in range(first, last):
        state = seeds[number]
        sums = np.zeros(systems)
        for topic in range(topics):
            for at in range(systems):
                row[at] = scores[topic, at]
            for at in range(systems - 1, 0, -2):
                state += np.uint64(0x9E3779B97F4A7C15)
                bits = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                bits ^= bits >> np.uint64(31)
                other = ((bits & np.uint64(0xFFFFFFFF)) * np.uint64(at + 1)) >> np.uint64(32)
                sums[at] += row[other]  # this place is settled: nothing is drawn from it again
                row[other] = row[at]
                other = ((bits >> np.uint64(32)) * np.uint64(at)) >> np.uint64(32)
                sums[at - 1] += row[other]
                row[other] = row[at - 1]
            if systems % 2:
                sums[0] += row[0]
        out_range[number] = sums.max() - sums.min()


permuted_ranges = Kernel(_permuted_ranges)
