"""Pairs of systems on shared topics: differences, their spread, wins and losses, whatever the size of the table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cranfield.methods.contrasts.estimates import Estimate
from cranfield.methods.contrasts.pairs import Contrasts, rounding
from cranfield.methods.contrasts.resampling import summed, topic_weights
from cranfield.methods.contrasts.tukey import system_sds
from cranfield.methods.variance.components import Squares, pair_variances, squares
from cranfield.scores.quality import DUPLICATE, FEWEST, SKEW, ZEROS
from cranfield.scores.stored import Matrix, fold, system_means, totals, whole
from cranfield.types import Array

_BLOCK = 500_000  # differences at a time, which fit into the cache of a core
_CACHED = 60_000  # differences at a time, where each is looked at several times
FEW_DIFFERENCES = 20_000_000  # topics × pairs


@dataclass(frozen=True, eq=False)
class Pairs:
    """Contrasts of systems that share topics, from scores, topics × systems: the paired estimator."""

    scores: Matrix
    contrasts: Contrasts

    @property
    def first(self) -> Array:
        return self.contrasts.first

    @property
    def second(self) -> Array:
        return self.contrasts.second

    def fit(self) -> Estimate:
        """Mean differences, each with its own standard error and n − 1 degrees of freedom."""
        error = self.sd / np.sqrt(self.topics)
        return Estimate(value=self.difference, standard_error=error, df=np.full(len(error), self.topics - 1.0))

    def pooled(self, variance: float, df: float) -> Estimate:
        """The same by one variance of scores for all systems; nothing is measured where differences do not vary."""
        error = np.where(self.sd > 0, np.sqrt(2 * variance / self.topics), 0.0)
        return Estimate(value=self.difference, standard_error=error, df=np.full(len(error), df))

    def draw(self, rng: np.random.Generator, size: int) -> tuple[Array, Array]:
        """The share of every topic, and how far the means of systems then are from those of all topics."""
        weights = topic_weights(rng, self.topics, size) / self.topics
        return weights, summed(weights, self.held - self.means)

    def redrawn(self, drawn: tuple[Array, Array], places: Array) -> tuple[Array, Array]:
        weights, means = drawn
        some = self.contrasts.some(places)
        gaps, shift = some.of(self.held) - self.difference[places], some.of(means)
        variance = summed(weights, np.square(gaps, out=gaps)) - np.square(shift)
        np.maximum(variance, 0.0, out=variance)
        variance /= self.topics - 1
        return shift, np.sqrt(variance, out=variance)

    @cached_property
    def held(self) -> Array:
        """The scores in memory, for tests that look at them again and again."""
        return whole(self.scores)

    @property
    def topics(self) -> int:
        return len(self.scores)

    @cached_property
    def means(self) -> Array:
        return system_means(self.scores)

    @cached_property
    def difference(self) -> Array:
        """Mean differences, without the table of all differences, which may be large."""
        return self.contrasts.of(self.means)

    @cached_property
    def squares(self) -> Squares:
        return squares(self.scores)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest score."""
        found = totals(self.scores)
        return found.low, found.high

    @property
    def tiny(self) -> float:
        """Scores that are no farther apart are equal but for rounding."""
        return rounding(*self.ends)

    def chosen(self, contrasts: Contrasts) -> Pairs:
        """Other pairs of the same systems; what belongs to the systems is not computed again."""
        other = Pairs(self.scores, contrasts)
        other.__dict__.update(means=self.means, ends=self.ends, own_sd=self.own_sd)
        return other

    @property
    def at_once(self) -> int:
        """Pairs whose differences are computed together."""
        return max(1, _BLOCK // self.topics)

    @property
    def are_few(self) -> bool:
        """Whether all differences are looked at, topic by topic; else those of the pairs that are asked for."""
        return self.topics * len(self.contrasts) <= FEW_DIFFERENCES

    @cached_property
    def sd(self) -> Array:
        """The sd of every pair's differences; 0 where they vary by rounding only."""
        if self.are_few or not self.contrasts.is_complete:
            spread = np.sqrt(self._gaps.squares / (self.topics - 1))
            return np.where(self._gaps.high - self._gaps.low <= 4 * self.tiny, 0.0, spread)
        sd = np.sqrt(pair_variances(self.scores))
        nearly_constant = np.flatnonzero(sd <= 4 * self.tiny)
        sd[nearly_constant] = self.chosen(self.contrasts.some(nearly_constant)).sd
        return sd

    @property
    def effect_size(self) -> Array:
        """The differences over the sds of the pairs' differences: d_z."""
        return np.asarray(np.divide(self.difference, self.sd, out=np.full(len(self.sd), np.nan), where=self.sd > 0))

    @cached_property
    def wins(self) -> tuple[Array, Array, Array]:
        """Topics on which the first of a pair scores higher, the same, and lower."""
        above, below = self._gaps.above, self._gaps.below
        return above, self.topics - above - below, below

    @cached_property
    def approximate(self) -> Array:
        """Pairs of which no test by the mean difference promises much.

        Their differences are skewed, their scores nearly the same, or equal on most topics.
        """
        n = self.topics
        if n < FEWEST:
            return np.zeros(len(self.contrasts), bool)
        own, varies = self.own_sd, self.sd > 0
        first, second = own[self.first], own[self.second]
        alike = np.square(first) + np.square(second) - np.square(self.sd) > 2 * DUPLICATE * first * second
        squares = np.where(varies, self._gaps.squares, 1.0)
        skewed = np.abs(self._gaps.cubes) / squares**1.5 > SKEW  # |g| / √n
        return np.asarray(varies & (alike | skewed | (self.wins[1] > ZEROS * n)))

    @cached_property
    def own_sd(self) -> Array:
        """The sd of every system's scores."""
        return system_sds(self.scores)

    @cached_property
    def _gaps(self) -> _Gaps:
        pairs = (self.contrasts, self.difference, self.tiny)
        found: _Gaps = fold(_gaps_of_block, self.scores, *pairs, combine=_Gaps.__add__)
        return found

    @property
    def constant(self) -> Array:
        """Pairs with the same difference on every topic, other than 0: their standard error is 0."""
        return np.asarray((self.sd == 0) & (np.abs(self.difference) > self.tiny))


@dataclass(frozen=True, eq=False)
class _Gaps:
    """Of the differences of pairs: how many are above and below 0, lowest, highest, Σ(d − d̄)² and Σ(d − d̄)³."""

    above: Array
    below: Array
    low: Array
    high: Array
    squares: Array
    cubes: Array

    def __add__(self, other: _Gaps) -> _Gaps:
        return _Gaps(
            self.above + other.above,
            self.below + other.below,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.squares + other.squares,
            self.cubes + other.cubes,
        )


def _gaps_of_block(block: Array, _: int, pairs: Contrasts, means: Array, tiny: float) -> _Gaps:
    first, second = pairs.first, pairs.second
    systems = np.ascontiguousarray(block.T)
    count, step = len(first), max(1, _CACHED // len(block))
    above, below = (np.empty(count, np.int64) for _ in range(2))
    low, high, squares, cubes = np.empty((4, count))
    # Once for all pairs: to get memory anew takes longer than to sum.
    buffers = np.empty((2, min(step, count), len(block)))
    for start in range(0, count, step):
        part = slice(start, min(start + step, count))
        gaps, others = buffers[:, : part.stop - start]
        np.take(systems, first[part], axis=0, out=gaps, mode="clip")
        np.take(systems, second[part], axis=0, out=others, mode="clip")
        if pairs.factor != 1:
            others *= pairs.factor
        gaps -= others
        above[part], below[part] = _counted(gaps > tiny), _counted(gaps < -tiny)
        low[part], high[part] = gaps.min(axis=1), gaps.max(axis=1)
        gaps -= means[part, np.newaxis]
        np.multiply(gaps, gaps, out=others)
        squares[part], cubes[part] = others.sum(axis=1), np.einsum("ij,ij->i", others, gaps)
    return _Gaps(above, below, low, high, squares, cubes)


def _counted(marked: Array) -> Array:
    """How many are marked in each row; long rows are counted much faster one by one."""
    if marked.shape[1] <= 1000:
        return np.asarray(marked.sum(axis=1))
    return np.array([np.count_nonzero(row) for row in marked])
