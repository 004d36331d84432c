# mypy: disable-error-code="no-untyped-def, no-untyped-call, assignment"
"""The loops of simulated studies: a path draws topics one by one until its plan says stop.

The generator is SplitMix64, as for permutations, written out so that a path depends on its own seed and nothing else.
Topics are drawn with replacement (the pair's topics are the population) or, with ``replace`` 0, as a shuffle that goes
no farther than the path does. The thresholds of a rule are tabulated for every number of topics; a table has one row
per pair, or one row for all pairs.

Sums are of n·Σx² − (Σx)², which is n(n − 1) times the variance: no division on the way. Where it is nothing but
rounding all differences so far are equal: there is no sd to stop by, and no t to be significant.
"""

from __future__ import annotations

import numpy as np

from cranfield.runtime.compiled import Kernel

CANCELLED = 1e-12  # of n·Σx²: a smaller spread is what subtracting left of it


def _mixed(state):
    """64 random bits from the counter."""
    bits = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _drawn(state, n, count, replace, order):
    """The topic that comes after ``n`` others: any, or one of those that ``order`` has not given out yet."""
    draw = _mixed(state) >> np.uint64(32)
    if replace == 1:
        return np.int64((draw * np.uint64(count)) >> np.uint64(32))
    other = n + np.int64((draw * np.uint64(count - n)) >> np.uint64(32))
    at = order[other]
    order[other] = order[n]
    order[n] = at
    return at


def _sd_paths(
    first,
    last,
    values,
    shift,
    repeats,
    seeds,
    start,
    step,
    limit,
    critical,
    replace,
    out_topics,
    out_mean,
    out_sd,
    out_significant,
):
    """Paths that stop when their sd is small enough: s² ≤ ``limit``[n]; then the t test, t² ≥ ``critical``[n].

    The sd is estimated after ``start`` topics and then after every ``step``; with ``step`` 0 after the number of topics
    that the last estimate required.
    """
    count = values.shape[1]
    most = limit.shape[1] - 1
    order = np.arange(count)
    for path in range(first, last):
        pair = path // repeats
        row = pair if limit.shape[0] > 1 else 0
        state = seeds[path]
        target = start[path]
        n = 0
        total = 0.0
        squares = 0.0
        if replace == 0:
            for at in range(count):
                order[at] = at
        while True:
            while n < target:
                state += np.uint64(0x9E3779B97F4A7C15)
                at = _drawn(state, n, count, replace, order)
                value = values[pair, at]
                total += value
                squares += value * value
                n += 1
            spread = n * squares - total * total
            varies = spread > CANCELLED * n * squares
            if n >= most or limit[row, n] == np.inf or (varies and spread <= limit[row, n] * n * (n - 1)):
                break
            if step > 0:
                target = min(n + step, most)
            else:
                target = n + 1
                while target < most and spread > limit[row, target] * n * (n - 1):
                    target += 1
        moved = total + n * shift[pair]
        out_topics[path] = n
        out_mean[path] = moved / n
        out_sd[path] = np.sqrt(max(spread, 0.0) / (n * (n - 1.0)))
        row = pair if critical.shape[0] > 1 else 0
        out_significant[path] = varies and moved * moved * (n - 1) >= critical[row, n] * spread


def _t_paths(
    first, last, values, shift, repeats, seeds, critical, ends, replace, out_topics, out_mean, out_sd, out_significant
):
    """Paths that stop when t² ≥ ``critical``[n], which is infinite where nobody looks, or at the pair's end."""
    count = values.shape[1]
    order = np.arange(count)
    for path in range(first, last):
        pair = path // repeats
        row = pair if critical.shape[0] > 1 else 0
        most = ends[pair]
        state = seeds[path]
        n = 0
        total = 0.0
        squares = 0.0
        spread = 0.0
        moved = 0.0
        found = False
        if replace == 0:
            for at in range(count):
                order[at] = at
        while n < most and not found:
            state += np.uint64(0x9E3779B97F4A7C15)
            at = _drawn(state, n, count, replace, order)
            value = values[pair, at]
            total += value
            squares += value * value
            n += 1
            if critical[row, n] < np.inf:
                spread = n * squares - total * total
                moved = total + n * shift[pair]
                varies = spread > CANCELLED * n * squares
                found = varies and moved * moved * (n - 1) >= critical[row, n] * spread
        spread = n * squares - total * total
        out_topics[path] = n
        out_mean[path] = total / n + shift[pair]
        out_sd[path] = np.sqrt(max(spread, 0.0) / (n * (n - 1.0)))
        out_significant[path] = found


def _betting_paths(
    first,
    last,
    values,
    null,
    low,
    high,
    repeats,
    seeds,
    bets,
    weights,
    threshold,
    ends,
    out_topics,
    out_mean,
    out_sd,
    out_significant,
):
    """Paths that stop when a bettor against ``null`` on either side has multiplied the stake by ``threshold``."""
    count = values.shape[1]
    kinds = bets.shape[1]
    above = np.empty(kinds)
    below = np.empty(kinds)
    for path in range(first, last):
        pair = path // repeats
        most = ends[pair]
        state = seeds[path]
        up = 1.0 / (null[pair] - low)
        down = 1.0 / (high - null[pair])
        for kind in range(kinds):
            above[kind] = weights[pair, kind]
            below[kind] = weights[pair, kind]
        n = 0
        total = 0.0
        squares = 0.0
        found = False
        while n < most and not found:
            state += np.uint64(0x9E3779B97F4A7C15)
            draw = _mixed(state) >> np.uint64(32)
            value = values[pair, np.int64((draw * np.uint64(count)) >> np.uint64(32))]
            total += value
            squares += value * value
            n += 1
            gain = value - null[pair]
            wealth_above = 0.0
            wealth_below = 0.0
            for kind in range(kinds):
                above[kind] *= 1.0 + bets[pair, kind] * up * gain
                below[kind] *= 1.0 - bets[pair, kind] * down * gain
                wealth_above += above[kind]
                wealth_below += below[kind]
            found = wealth_above >= threshold or wealth_below >= threshold
        out_topics[path] = n
        out_mean[path] = total / n
        out_sd[path] = np.sqrt(max(n * squares - total * total, 0.0) / (n * (n - 1.0))) if n > 1 else 0.0
        out_significant[path] = found


def _inclusions(first, last, count, paths, blocks, seeds, topics, replace, out_included):
    """In how many paths of each block every topic was drawn at least once; the paths are those that were walked."""
    order = np.arange(count)
    seen = np.full(count, -1)
    for block in range(first, last):
        for path in range(block * paths // blocks, (block + 1) * paths // blocks):
            state = seeds[path]
            if replace == 0:
                for at in range(count):
                    order[at] = at
            for n in range(topics[path]):
                state += np.uint64(0x9E3779B97F4A7C15)
                at = _drawn(state, n, count, replace, order)
                if seen[at] != path:
                    seen[at] = path
                    out_included[block, at] += 1


_mixer = Kernel(_mixed)
_drawer = Kernel(_drawn, uses=(_mixer,))
sd_paths = Kernel(_sd_paths, uses=(_drawer,))
t_paths = Kernel(_t_paths, uses=(_drawer,))
betting_paths = Kernel(_betting_paths, uses=(_mixer,))
inclusions = Kernel(_inclusions, uses=(_drawer,))
