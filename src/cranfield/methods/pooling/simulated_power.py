"""The power of a design for a named difference, by simulation: topics of the real runs are drawn again and again.

A design has n topics and pools of one depth. Every draw takes n topics with replacement and their scores under the
pools of that depth. Pairs of runs whose difference at full depth is close to the named one are moved to it: the mean of
a pair is multiplied by the same factor at every depth, and its spread stays. The power is the share of these pairs that
the test finds, so that what a shallow pool takes from the differences counts as well as what it adds to the noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import special

from cranfield.methods.design import Design
from cranfield.methods.pooling.depths import PoolScores
from cranfield.runtime.random import Seed, generator
from cranfield.runtime.threads import slices
from cranfield.stats.family import degrees, pair_level
from cranfield.stats.pairs import every_pair
from cranfield.stats.tails import t_critical
from cranfield.types import Array

DRAWS = 2_000
SAME_POWER = 0.03
"""How much simulated powers of designs may differ that are said to have the same."""

CLOSEST = 200
FARTHEST = 2.0  # a pair is moved by at most this factor
MOST_TOPICS = 10_000_000
_STEP = np.log(4)  # of the search, at most
_CLOSE, _NEAR, _ROUNDS = 0.005, 0.02, 12  # of the search; other draws may differ by .01
_ROUNDING = 1e-12
_AT_ONCE = 2_000_000  # differences of all pairs in memory


@dataclass(frozen=True, eq=False)
class ClosePairs:
    """Pairs of systems that are moved to one difference at full depth, the better system first."""

    one: Array
    other: Array
    factors: Array

    @classmethod
    def choose(cls, full: PoolScores, difference: float) -> ClosePairs:
        """The pairs whose differences at full depth are nearest to the named one; none that is too far from it."""
        means = full.table.mean(axis=0)
        one, other = every_pair(len(means))
        gaps = means[one] - means[other]
        with np.errstate(divide="ignore"):
            away = np.abs(np.log(np.abs(gaps) / difference))
        near = np.argsort(away, kind="stable")[:CLOSEST]
        near = near[away[near] <= np.log(FARTHEST)]
        is_better = gaps[near] > 0
        return cls(
            one=np.where(is_better, one[near], other[near]),
            other=np.where(is_better, other[near], one[near]),
            factors=difference / np.abs(gaps[near]),
        )

    def kept(self, pool: PoolScores) -> float:
        """The share of the pairs whose order is that at full depth."""
        means = pool.table.mean(axis=0)
        return float((means[self.one] - means[self.other] > _ROUNDING).mean())


@dataclass(frozen=True, eq=False)
class Simulation:
    """Simulated power of designs; for every collection ``pools`` go from the shallowest to full depth.

    ``design`` has the test, α and the number of systems, and ``difference`` is that of a pair at full depth.
    """

    pools: Sequence[Sequence[PoolScores]]
    design: Design
    difference: float
    seed: Seed = 1
    draws: int = DRAWS
    known: dict[tuple[int, int], float] = field(default_factory=dict)

    @cached_property
    def pairs(self) -> list[ClosePairs]:
        return [ClosePairs.choose(pools[-1], self.difference) for pools in self.pools]

    @cached_property
    def weights(self) -> Array:
        """Of collections by their topics; none for one without a pair that is close."""
        topics = [len(pools[-1].table) - 1 for pools in self.pools]  # S14 Eq. 8
        return np.where([len(pairs.one) > 0 for pairs in self.pairs], topics, 0.0)

    @property
    def is_possible(self) -> bool:
        return bool(self.weights.any())

    def power(self, at: int, topics: int) -> float:
        """The share of the pairs that n topics find with the pools of one depth."""
        if (at, topics) not in self.known:
            self.known[at, topics] = self._mean(lambda which: self._power(which, at, topics))
        return self.known[at, topics]

    def limit(self, at: int) -> float:
        """The power of very many topics: the share of the pairs whose order a depth keeps."""
        return self._mean(lambda which: self.pairs[which].kept(self.pools[which][at]))

    def _mean(self, of_collection: Callable[[int], float]) -> float:
        where = np.flatnonzero(self.weights)
        return float(np.average([of_collection(which) for which in where.tolist()], weights=self.weights[where]))

    def _power(self, which: int, at: int, topics: int) -> float:
        """In one collection; all depths have the same draws of n topics."""
        pool = self.pools[which][at]
        rng, chances = generator(self.seed, which, topics), np.full(len(pool.alive), 1 / len(pool.alive))
        counts = rng.multinomial(topics, chances, self.draws)[:, pool.alive].astype(float)
        sample = _Sample.of(pool.table, self.pairs[which], self.design)
        parts = slices(self.draws, -(-self.draws * max(1, sample.family.shape[1]) // _AT_ONCE))
        return float(np.mean(np.concatenate([sample.found(counts[start:end]) for start, end in parts])))

    def matching(self, at: int, wanted: float, guess: int) -> int | None:
        """The topics that have the power wanted at a depth; None where no number comes near it."""
        if self.limit(at) < wanted - SAME_POWER:
            return None
        low, high, topics, powers = 1, MOST_TOPICS, max(guess, 2), {}
        for _ in range(_ROUNDS):
            powers[topics] = self.power(at, topics)
            if abs(powers[topics] - wanted) <= _CLOSE:
                return topics
            low, high = (topics, high) if powers[topics] < wanted else (low, topics)
            if high - low <= 1:
                break
            topics = int(np.clip(round(self._next(powers, wanted)), low + 1, high - 1))
        return min((n for n, power in powers.items() if abs(power - wanted) <= _NEAR), default=None)

    def _next(self, powers: Mapping[int, float], wanted: float) -> float:
        """Where a line through two powers nearest to the one wanted meets it: normal quantiles over log n.

        With one known power, the line is that of a normal statistic.
        """
        aim, *known = (special.ndtri(np.clip(each, 0.001, 0.999)) for each in (wanted, *powers.values()))
        (now, topics), *others = sorted(zip(known, powers, strict=True), key=lambda each: abs(each[0] - aim))
        if others and (others[0][0] - now) * (others[0][1] - topics) > 0:
            slope = (others[0][0] - now) / np.log(others[0][1] / topics)
        else:
            level = pair_level(self.design.test, self.design.alpha, self.design.systems)
            slope = max(now - float(special.ndtri(level / 2)), 0.5) / 2
        return float(topics * np.exp(np.clip((aim - now) / slope, -_STEP, _STEP)))


@dataclass(frozen=True, eq=False)
class _Sample:
    """The scores that are drawn from at one depth: differences of the close pairs and, for Holm's steps, of all."""

    design: Design
    scores: Array
    close: Array
    moved: Array
    family: Array
    squares: Array

    @classmethod
    def of(cls, scores: Array, pairs: ClosePairs, design: Design) -> _Sample:
        close = scores[:, pairs.one] - scores[:, pairs.other]
        one, other = every_pair(scores.shape[1])
        is_stepped = design.test == "holm" and scores.shape[1] == int(np.asarray(design.systems))
        family = scores[:, one] - scores[:, other] if is_stepped else scores[:, :0]
        return cls(design, scores, close, close.mean(axis=0) * (pairs.factors - 1), family, np.square(family))

    def found(self, counts: Array) -> Array:
        """For every draw, the share of the close pairs that are found; ``counts`` are how often each topic is drawn."""
        n = np.maximum(counts.sum(axis=1), 2.0)[:, np.newaxis]  # a draw may lose its topics
        mean, squares = _moments(self.close, counts, n)
        test, systems = self.design.test, np.asarray(self.design.systems)
        df = degrees(test, systems, n)
        if test in ("tukey", "dunnett"):  # one error term for all systems
            error = np.sqrt(2 * self._residual(counts, n) / n)
        else:
            error = np.sqrt(squares / (n - 1) / n)
        critical = t_critical(self._level(counts, n, df) / 2, df)
        return np.asarray((mean + self.moved > np.maximum(critical * error, _ROUNDING)).mean(axis=1))

    def _residual(self, counts: Array, n: Array) -> Array:
        """The residual mean square of topics × systems."""
        centred = self.scores - self.scores.mean(axis=1, keepdims=True)
        _, squares = _moments(centred, counts, n)
        return np.asarray(squares.sum(axis=1, keepdims=True) / (n - 1) / (self.scores.shape[1] - 1))

    def _level(self, counts: Array, n: Array, df: Array) -> Array:
        """The level of one pair; with Holm's correction that of the step at which it stops among the real pairs."""
        if not self.family.size:
            return pair_level(self.design.test, self.design.alpha, self.design.systems, n, df)
        sums, squares = counts @ self.family, counts @ self.squares
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.divide(np.square(sums, out=sums), squares, out=sums)  # it rises with t²: n·t² / (n − 1 + t²)
        pairs, rejected = self.family.shape[1], np.zeros_like(n)
        while True:
            level = self.design.alpha / np.maximum(pairs - rejected, 1)
            limit = np.square(t_critical(level / 2, df))
            now = (ratio >= n * limit / (n - 1 + limit)).sum(axis=1, keepdims=True)
            if (now <= rejected).all():
                return np.asarray(level)
            rejected = np.maximum(now, rejected)


def _moments(values: Array, counts: Array, n: Array) -> tuple[Array, Array]:
    """Means, and sums of squares around them, of every draw."""
    mean = counts @ values / n
    return mean, np.maximum(counts @ np.square(values) - n * np.square(mean), 0.0)
