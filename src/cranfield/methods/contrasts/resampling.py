"""Tests by resampling: statistics of contrasts when topics are drawn again, or when the names of systems are swapped.

Of each resample only what decides is kept: how many have a statistic as large as a contrast's own, or as the largest of
those that are no larger than it (for step-down tests).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from cranfield.methods.contrasts.estimates import Estimate, Estimator
from cranfield.methods.contrasts.kernels import permuted_ranges
from cranfield.methods.contrasts.pairs import Contrasts
from cranfield.runtime.random import Seed, generator, sequence, words
from cranfield.runtime.threads import available_workers, pieces, tasks
from cranfield.types import Array, Progress

# The variance of a resample counts as at least a fifth of the sample's. Smaller ones come from resamples that drew few
# different topics; without the floor, a pair that differs on three topics or fewer makes every critical value infinite.
LEAST_VARIANCE = 0.2
EQUAL = 1e-12  # of a statistic: equal ones may differ by rounding
DRAWS = 250  # resamples of one random stream, whatever the number of workers
WEIGHTS = 8_000_000  # resamples × topics at a time, so that memory does not grow with the topics
BLOCK = 2_000_000  # topics × contrasts at a time, and resamples × contrasts
PRODUCT = 2**18  # multiplications up to which BLAS starts no threads, which would get in the way of ours
SIDE = 32  # resamples and columns at a time in a product; more where there are few topics


class Resampler(Protocol):
    """A statistic of contrasts, as observed and in resamples."""

    @property
    def observed(self) -> Array: ...

    @property
    def topics(self) -> int: ...

    def draw(self, rng: np.random.Generator, size: int) -> Any: ...

    def statistics(self, drawn: Any, places: Array) -> Array:
        """Resamples × contrasts."""


@dataclass(frozen=True, eq=False)
class Studentised:
    """t of contrasts in resamples of the topics, about what was estimated: |t| unless the test is one-sided."""

    estimator: Estimator
    estimate: Estimate
    observed: Array
    is_one_sided: bool = False

    @property
    def topics(self) -> int:
        return self.estimator.topics

    def draw(self, rng: np.random.Generator, size: int) -> Any:
        return self.estimator.draw(rng, size)

    def statistics(self, drawn: Any, places: Array) -> Array:
        shift, error = self.estimator.redrawn(drawn, places)
        least = np.sqrt(LEAST_VARIANCE) * self.estimate.standard_error[places]
        np.maximum(error, least, out=error)
        t = np.divide(shift, error, out=np.zeros_like(shift), where=error > 0)
        return t if self.is_one_sided else np.abs(t, out=t)


@dataclass(frozen=True, eq=False)
class Swapped:
    """Sums of contrasts when the names of the two systems are swapped on random topics: Fisher's permutation test.

    The same topics are swapped for all contrasts, whose sums follow from those of systems.
    """

    scores: Array
    contrasts: Contrasts

    @property
    def topics(self) -> int:
        return len(self.scores)

    @cached_property
    def observed(self) -> Array:
        return np.abs(self.contrasts.of(self._centred.sum(axis=0)))

    @cached_property
    def _centred(self) -> Array:
        """The scores without the means of topics, which cancel in contrasts."""
        return np.asarray(self.scores - self.scores.mean(axis=1, keepdims=True))

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        """The sums of systems, resamples × systems."""
        return summed(rng.integers(0, 2, (size, len(self.scores))) * 2.0 - 1.0, self._centred)

    def statistics(self, drawn: Array, places: Array) -> Array:
        return np.abs(self.contrasts.some(places).of(drawn))


@dataclass(frozen=True, eq=False)
class Exceeded:
    """How many resamples have a statistic that is at least each contrast's, and the largest one of each resample."""

    counts: Array
    largest: Array


Streams = Sequence[tuple[int, int]]
"""Numbers of random streams, and how many resamples each gives: what a resample is depends on these alone."""


def streams(resamples: int, after: Streams = ()) -> list[tuple[int, int]]:
    """The streams of a number of resamples, after others.

    >>> streams(600), streams(100, after=[(0, 250)])
    ([(0, 250), (1, 250), (2, 100)], [(1, 100)])
    """
    first = 1 + max((number for number, _ in after), default=-1)
    return [(first + at, min(DRAWS, resamples - at * DRAWS)) for at in range(-(-resamples // DRAWS))]


def doubled(resamples: int, total: int) -> list[tuple[int, int]]:
    """The streams of a number of resamples, and of twice as many again and again until there are ``total``.

    >>> doubled(300, 600)
    [(0, 250), (1, 50), (2, 250), (3, 50)]
    """
    drawn = streams(resamples)
    while (count := sum(size for _, size in drawn)) < total:
        drawn += streams(count, after=drawn)
    return drawn


def exceeded(
    resampler: Resampler,
    places: Array,
    drawn: Streams,
    seed: Seed,
    *,
    together: bool = False,
    progress: Progress | None = None,
) -> Exceeded:
    """Count resamples; ``together`` takes the contrasts in order, each with those before it.

    ``places`` then have the smallest observed statistic first, and a count is of the largest statistic so far: that of
    step-down tests.
    """
    job = _Job(resampler, places, resampler.observed[places], seed, together)
    parts = list(tasks(_count, drawn, shared=job, progress=progress))
    return Exceeded(np.sum([part.counts for part in parts], axis=0), np.concatenate([part.largest for part in parts]))


@dataclass(frozen=True, eq=False)
class _Job:
    resampler: Resampler
    places: Array
    observed: Array
    seed: Seed
    together: bool

    def blocks(self, stream: tuple[int, int]) -> Iterator[tuple[slice, slice, Array]]:
        """Some resamples of a stream, some contrasts, and their statistics."""
        number, size = stream
        rng, topics = generator(sequence(self.seed, number)), self.resampler.topics
        step, wide = max(1, WEIGHTS // topics), max(1, min(BLOCK // topics, BLOCK // size))
        for begin in range(0, size, step):
            rows = slice(begin, min(begin + step, size))
            drawn = self.resampler.draw(rng, rows.stop - rows.start)
            for at in range(0, len(self.places), wide):
                some = slice(at, at + wide)
                yield rows, some, self.resampler.statistics(drawn, self.places[some])


def _count(job: _Job, stream: tuple[int, int]) -> Exceeded:
    counts, largest = np.zeros(len(job.places), np.int64), np.full(stream[1], -np.inf)
    for rows, some, statistics in job.blocks(stream):
        if job.together:
            statistics[:, 0] = np.maximum(statistics[:, 0], largest[rows])
            np.maximum.accumulate(statistics, axis=1, out=statistics)
            largest[rows] = statistics[:, -1]
        else:
            np.maximum(largest[rows], statistics.max(axis=1), out=largest[rows])
        counts[some] += (statistics >= nearly(job.observed[some])).sum(axis=0)
    return Exceeded(counts, largest)


def nearly(observed: Array) -> Array:
    """A little less, so that rounding loses neither ties nor the sample itself."""
    return np.asarray(observed - EQUAL * np.abs(observed))


def quantiles(resampler: Resampler, places: Array, level: float, drawn: Streams, seed: Seed) -> Array:
    """What the statistic of each contrast must exceed for p ≤ ``level``, contrast by contrast."""
    found = np.empty(len(places))
    wide = max(1, BLOCK // sum(size for _, size in drawn))
    for at in range(0, len(places), wide):
        some = places[at : at + wide]
        job = _Job(resampler, some, resampler.observed[some], seed, together=False)
        made = np.concatenate(list(tasks(_statistics, drawn, shared=job)))
        found[at : at + wide] = [critical_value(np.sort(column), level) for column in made.T]
    return found


def _statistics(job: _Job, stream: tuple[int, int]) -> Array:
    found = np.empty((stream[1], len(job.places)))
    for rows, some, statistics in job.blocks(stream):
        found[rows, some] = statistics
    return found


def resampled_p(largest: Array, observed: Array) -> Array:
    """(b + 1) / (B + 1), b the resamples, in order, whose largest statistic is at least what was observed.

    >>> resampled_p(np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 5.0])).tolist()
    [0.8, 0.2]
    """
    more = len(largest) - np.searchsorted(largest, nearly(np.abs(observed)), side="left")
    return np.asarray((more + 1) / (len(largest) + 1))


def critical_value(largest: Array, alpha: float) -> float:
    """What a statistic must exceed for p ≤ α, of statistics in order; infinite where no p can be as small.

    >>> round(critical_value(np.arange(1.0, 100.0), 0.05), 6)  # beyond it 4 of 99 are as large, and p is 5 / 100
    95.0
    """
    beyond = int(np.floor(alpha * (len(largest) + 1) * (1 + EQUAL))) - 1  # resamples that may be as large
    return float(largest[-1 - beyond] * (1 + EQUAL)) if beyond >= 0 else float("inf")


def topic_weights(rng: np.random.Generator, topics: int, size: int) -> Array:
    """How often each of ``size`` resamples has every topic, drawn with replacement."""
    return rng.multinomial(topics, np.full(topics, 1.0 / topics), size=size).astype(float)


def summed(weights: Array, columns: Array) -> Array:
    """``weights @ columns`` in products so small that BLAS starts no threads, which would get in the way of ours."""
    size, n = weights.shape
    if size * n * columns.shape[1] <= PRODUCT:
        return np.asarray(weights @ columns)
    side, rows = max(SIDE, int(np.sqrt(PRODUCT / n))), max(1, PRODUCT // SIDE**2)
    if n > rows:
        parts = [slice(start, start + rows) for start in range(0, n, rows)]
        return np.asarray(sum(summed(weights[:, part], columns[part]) for part in parts))
    missing = -columns.shape[1] % side
    filled = np.pad(columns, ((0, 0), (0, missing))) if missing else columns
    stacked = np.ascontiguousarray(filled.reshape(n, -1, side).swapaxes(0, 1))
    sums = [np.matmul(weights[start : start + side], stacked) for start in range(0, size, side)]
    return np.concatenate(sums, axis=1).swapaxes(0, 1).reshape(size, -1)[:, : columns.shape[1]]


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
