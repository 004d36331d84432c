# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""Loops over topics at random: scores shuffled within topics, and sums over sets of topics."""

from __future__ import annotations

import numpy as np

from cranfield.runtime.compiled import Kernel


def _mixed(state):
    """64 random bits from the counter: SplitMix64, whose draws do not wait for each other."""
    bits = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _permuted_ranges(first, last, scores, seeds, out_range):
    """The range of the systems' sums when scores are shuffled within each topic; a generator for each permutation.

    A permutation depends on its own seed and nothing else. Of up to 256 systems a draw of 64 bits gives four places:
    what multiplying 32 of them by a number of places leaves below the point serves for the next, at the price of
    probabilities that are off by less than 256² / 2³² = .000015 of themselves.
    """
    topics, systems = scores.shape
    row = np.empty(systems)
    one, half, low = np.uint64(1), np.uint64(32), np.uint64(0xFFFFFFFF)
    for number in range(first, last):
        state = seeds[number]
        sums = np.zeros(systems)
        for topic in range(topics):
            for at in range(systems):
                row[at] = scores[topic, at]
            left = np.uint64(systems)  # places not settled yet; unsigned, so that no index is looked at for its sign
            while np.uint64(4) < left <= np.uint64(256):
                state += np.uint64(0x9E3779B97F4A7C15)
                bits = _mixed(state)
                a = (bits & low) * left
                b = (a & low) * (left - one)
                c = (bits >> half) * (left - np.uint64(2))
                d = (c & low) * (left - np.uint64(3))
                # Written out four times, which the compiler would not do by itself. A place is settled once it is
                # summed: nothing is drawn from it again.
                left -= one
                sums[left] += row[a >> half]
                row[a >> half] = row[left]
                left -= one
                sums[left] += row[b >> half]
                row[b >> half] = row[left]
                left -= one
                sums[left] += row[c >> half]
                row[c >> half] = row[left]
                left -= one
                sums[left] += row[d >> half]
                row[d >> half] = row[left]
            while left > np.uint64(0):
                state += np.uint64(0x9E3779B97F4A7C15)
                other = ((_mixed(state) >> half) * left) >> half
                left -= one
                sums[left] += row[other]
                row[other] = row[left]
        out_range[number] = sums.max() - sums.min()


def _set_sums(first, last, values, chosen, out_sums):
    """The sums of ``values``, topics × columns, over each set: the topics of one row of ``chosen``, in its order."""
    for number in range(first, last):
        for at in range(chosen.shape[1]):
            topic = chosen[number, at]
            for column in range(values.shape[1]):
                out_sums[number, column] += values[topic, column]


def _gathered_sums(count, values, chosen, out_sums):
    for number in range(count):  # one at a time, so that no more than one set is copied
        out_sums[number] += values[chosen[number]].sum(axis=0)
    return True


_mixer = Kernel(_mixed)
permuted_ranges = Kernel(_permuted_ranges, uses=(_mixer,))
set_sums = Kernel(_set_sums, arrays=_gathered_sums)
