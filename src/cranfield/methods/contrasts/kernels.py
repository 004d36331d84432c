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


def _random_labels(first, last, likely, sizes, seeds, out_labels):
    """A label for every topic, ``sizes[c]`` of them c, each such labelling as likely as any other.

    Eight random bits choose a topic's label by the table ``likely``, independently of all other topics. Labels that are
    then too many are taken from topics chosen at random. Neither step prefers a topic to another, so the result does
    not either, however far the table is from the sizes.
    """
    topics = out_labels.shape[1]
    step, byte, half = np.uint64(0x9E3779B97F4A7C15), np.uint64(255), np.uint64(32)
    for number in range(first, last):
        state = seeds[number]
        labels = out_labels[number]
        bits = np.uint64(0)
        for topic in range(topics):
            if topic % 8 == 0:
                state += step
                bits = _mixed(state)
            labels[topic] = likely[bits & byte]
            bits >>= np.uint64(8)
        surplus = -sizes
        for topic in range(topics):
            surplus[labels[topic]] += 1
        lacking = 0
        left = 0
        for label in range(len(sizes)):
            left += max(surplus[label], 0)
        while left > 0:
            state += step
            topic = ((_mixed(state) >> half) * np.uint64(topics)) >> half
            label = labels[topic]
            if surplus[label] > 0:
                while surplus[lacking] >= 0:
                    lacking += 1
                labels[topic] = lacking
                surplus[label] -= 1
                surplus[lacking] += 1
                left -= 1


def _label_sums(first, last, values, labels, out_sums):
    """The sums of ``values``, topics × columns, over the topics of each label; a row of ``labels`` per labelling."""
    topics, columns = values.shape
    block = 1 + 100_000 // columns  # topics that stay in the cache while all labellings pass over them
    for begin in range(0, topics, block):
        end = min(begin + block, topics)
        for number in range(first, last):
            for topic in range(begin, end):
                label = labels[number, topic]
                for column in range(columns):
                    out_sums[number, label, column] += values[topic, column]


_mixer = Kernel(_mixed)
permuted_ranges = Kernel(_permuted_ranges, uses=(_mixer,))
set_sums = Kernel(_set_sums, arrays=_gathered_sums)
random_labels = Kernel(_random_labels, uses=(_mixer,))
label_sums = Kernel(_label_sums)
