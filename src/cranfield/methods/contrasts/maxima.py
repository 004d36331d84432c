"""The largest statistic of many pairs, resampled: what simultaneous tests without a formula compare pairs with.

``largest_t`` draws topics with replacement, ``shuffled_ranges`` shuffles scores within topics. Of each resample only
its largest statistic is kept; ``resampled_p`` and ``resampled_critical`` make p-values and intervals that agree, and
``max_t_p`` and ``max_t_critical`` do so where topics may be few.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from cranfield.methods.contrasts.kernels import permuted_ranges
from cranfield.runtime.random import Seed, generator, sequence, words
from cranfield.runtime.threads import available_workers, pieces, tasks
from cranfield.stats.family import FEW_TO_RESAMPLE
from cranfield.stats.tails import t_critical
from cranfield.types import Array, ArrayLike, Progress

# The variance of a resample counts as at least a fifth of the sample's. Smaller ones come from resamples that drew few
# different topics; without the floor, a pair that differs on three topics or fewer makes every critical value infinite.
LEAST_VARIANCE = 0.2
HAIR = 1e-12  # equal statistics may differ by rounding
DRAWS = 250  # resamples of one random stream, whatever the number of workers
ALONE = 2**18  # multiplications up to which BLAS starts no threads, which would get in the way of ours
SIDE = 32  # resamples and pairs at a time in a product; more where there are few topics
PAIRS = 2048  # pairs at a time, so that memory does not grow with their number
WEIGHTS = 8_000_000  # resamples × topics at a time, so that memory does not grow with the topics


@dataclass(frozen=True, eq=False)
class CentredPairs:
    """Centred scores, topics × systems, and the pairs to be compared with the sds of their differences (none is 0)."""

    centred: Array
    first: Array
    second: Array
    sd: Array


def largest_t(rows: CentredPairs, *, resamples: int, seed: Seed, progress: Progress | None = None) -> Array:
    """The largest |t| of all pairs in each of ``resamples`` resamples of the topics; in order.

    Differences are centred, so that no pair differs, and each is divided by its own standard error in the resample.

    References
    ----------
    - J. P. Romano and M. Wolf, "Exact and approximate stepdown methods for multiple hypothesis testing", Journal
      of the American Statistical Association 100 (2005), 94–108.
    """
    sizes = [min(DRAWS, resamples - done) for done in range(0, resamples, DRAWS)]
    streams = [(sequence(seed, number), size) for number, size in enumerate(sizes)]
    return np.sort(np.concatenate(tasks(_drawn, streams, shared=rows, progress=progress)))


def _drawn(rows: CentredPairs, stream: tuple[np.random.SeedSequence, int]) -> Array:
    """The largest |t| of each resample of one stream."""
    source, size = stream
    n, rng = len(rows.centred), generator(source)
    step = max(1, WEIGHTS // n)
    return np.concatenate([_largest(rows, _weights(rng, n, min(step, size - at))) for at in range(0, size, step)])


def _weights(rng: np.random.Generator, n: int, size: int) -> Array:
    """How often a resample has each topic, over n: resamples × topics."""
    return np.asarray(rng.multinomial(n, np.full(n, 1.0 / n), size=size) / n)


def _largest(rows: CentredPairs, weights: Array) -> Array:
    """The largest |t| of some resamples."""
    size, n = weights.shape
    largest = np.zeros(size)
    for start in range(0, len(rows.first), PAIRS):
        mean, square = _products(rows, slice(start, start + PAIRS), weights)
        np.maximum(largest, _squared_t(mean, square), out=largest)
    return np.asarray(np.sqrt((n - 1) * largest))


def _products(rows: CentredPairs, part: slice, weights: Array) -> tuple[Array, Array]:
    """The means of some pairs' differences, and of their squares, in every resample: stack × resamples × pairs.

    Products of all topics at once would wake BLAS's threads, and those of a few pairs at a time would be slow: topics
    are summed in blocks.
    """
    size, n = weights.shape
    side = max(SIDE, int(np.sqrt(ALONE / n)))
    stack = -(-len(rows.first[part]) // side)
    mean, square = np.zeros((2, stack, size, side))
    step = max(1, ALONE // side**2)
    for begin in range(0, n, step):
        topics = slice(begin, begin + step)
        scaled = _stacked(rows, topics, part, side)
        squared = scaled**2
        for first in range(0, size, side):
            some = slice(first, first + side)
            mean[:, some] += np.matmul(weights[some, topics], scaled)
            square[:, some] += np.matmul(weights[some, topics], squared)
    return mean, square


def _stacked(rows: CentredPairs, topics: slice, part: slice, side: int) -> Array:
    """Differences of some pairs, with Σd² / n = 1, as a stack of tables of ``side`` pairs; 0 fills the last."""
    n = len(rows.centred)
    gaps = rows.centred[topics, rows.first[part]] - rows.centred[topics, rows.second[part]]
    gaps /= rows.sd[part] * np.sqrt((n - 1) / n)
    missing = -gaps.shape[1] % side
    filled = np.pad(gaps, ((0, 0), (0, missing))) if missing else gaps
    return np.ascontiguousarray(filled.reshape(len(gaps), -1, side).swapaxes(0, 1))


def _squared_t(mean: Array, square: Array) -> Array:
    """t² / (n − 1) of the pair for which it is largest, for every resample; uses up its arguments."""
    mean *= mean
    square -= mean
    np.maximum(square, LEAST_VARIANCE, out=square)
    mean /= square
    return np.asarray(mean.max(axis=(0, 2)))


def shuffled_ranges(
    scores: Array, *, resamples: int, seed: Seed, workers: int | None = None, progress: Progress | None = None
) -> Array:
    """The ranges of the systems' means when scores are shuffled within topics, ``resamples`` times; in order."""
    scores = np.ascontiguousarray(scores)  # rows are read time and again
    seeds = words(seed, "shuffles", count=resamples)
    if workers == 1:
        return np.sort(_ranges(scores, seeds) / len(scores))
    parts = [seeds[first:last] for first, last in pieces(resamples, workers or available_workers())]
    done = tasks(_ranges, parts, shared=scores, workers=workers, progress=progress)
    return np.sort(np.concatenate(done) / len(scores))


def _ranges(scores: Array, seeds: Array) -> Array:
    """The range of the systems' sums under each of some permutations."""
    found = np.zeros(len(seeds))
    permuted_ranges(len(seeds), scores, seeds, found, work=max(len(seeds) * scores.size, 10**9), workers=1)
    return found


def resampled_p(largest: Array, observed: Array) -> Array:
    """(b + 1) / (B + 1), b the resamples whose largest statistic is at least what was observed.

    >>> resampled_p(np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 5.0])).tolist()
    [0.8, 0.2]
    """
    more = len(largest) - np.searchsorted(largest, np.abs(observed) * (1 - HAIR), side="left")
    return np.asarray((more + 1) / (len(largest) + 1))


def resampled_critical(largest: Array, alpha: float) -> float:
    """What a statistic must exceed for p ≤ α; infinite where no p can be as small.

    >>> round(resampled_critical(np.arange(1.0, 100.0), 0.05), 6)  # beyond it 4 of 99 are as large, and p is 5 / 100
    95.0
    """
    beyond = int(np.floor(alpha * (len(largest) + 1) * (1 + HAIR))) - 1  # resamples that may be as large
    return float(largest[-1 - beyond] * (1 + HAIR)) if beyond >= 0 else float("inf")


def max_t_p(largest: Array, t: Array, df: ArrayLike) -> Array:
    """p of each t by the largest |t| of resamples; with few topics at least Bonferroni's p of Student's t.

    >>> largest, t = np.linspace(0, 3, 99), np.array([5.0])
    >>> [round(float(max_t_p(largest, t, df=n - 1)[0]), 3) for n in (3, 30)]  # 2 P(T ≥ 5) with two degrees of freedom
    [0.038, 0.01]
    """
    p_value = resampled_p(largest, t)
    by_student = np.minimum(2 * len(t) * special.stdtr(df, -np.abs(t)), 1.0)
    return np.where(np.asarray(df) < FEW_TO_RESAMPLE - 1, np.maximum(p_value, by_student), p_value)


def max_t_critical(largest: Array, alpha: float, df: ArrayLike, comparisons: int) -> Array:
    """What |t| must exceed for ``max_t_p`` ≤ α."""
    critical = resampled_critical(largest, alpha)
    by_student = t_critical(alpha / (2 * comparisons), df)
    return np.where(np.asarray(df) < FEW_TO_RESAMPLE - 1, np.maximum(critical, by_student), critical)
