"""Sums of squares of a topic × system table, and variance estimates computed from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import special

from cranfield.errors import RequestError
from cranfield.scores.stored import Matrix, fold, is_large, joined, system_means, totals
from cranfield.stats.pairs import every_pair, pair_count, pairs_at
from cranfield.types import Array

_BLOCK = 1_000_000  # numbers at a time, so that memory does not grow with the number of topics
_WHOLE = 4_000_000  # differences, topics × pairs, up to which all of them are kept
_PANEL = 1000  # systems whose products with all others a task computes
_PRODUCTS = 8_000_000  # of systems × systems, that are added at the end
_GROUPS = 64  # of topics, by how much one of them can change
_FEW = 8  # pairs that are looked at for every topic rather than sorted out
_CLOSE = 1e-3  # part of its systems' squares below which a pair's squares are summed from its differences


@dataclass(frozen=True)
class Squares:
    """Mean squares of two-way ANOVA without replication; every field may be an array over resampled tables."""

    topics: int
    systems: int
    between_systems: Any  # V_A
    between_topics: Any  # V_B
    within_systems: Any  # V_E1
    residual: Any  # V_E2

    def one_way(self) -> Any:
        """σ² from one-way ANOVA."""
        n, m = self.topics, self.systems
        return (m - 1) / (m * n) * (self.between_systems - self.within_systems) + self.within_systems  # S14 Eq. 4

    def system_part(self) -> Any:
        n, m = self.topics, self.systems
        return (m - 1) / (m * n) * (self.between_systems - self.residual)  # S14 Eq. 7, first term

    def topic_part(self) -> Any:
        return (self.between_topics - self.residual) / self.systems  # S14 Eq. 7, second term

    def two_way(self) -> Any:
        """σ² from two-way ANOVA: the sum of the components of systems, topics and residual."""
        return self.system_part() + self.topic_part() + self.residual  # S14 Eq. 7


def squares(scores: Matrix, weights: Array | None = None) -> Squares:
    """Mean squares of ``scores`` (topics × systems); with ``weights`` (resamples × topics) of every resample.

    A weight is the number of times that a topic was drawn; the weights of a resample sum to the number of topics.
    """
    if isinstance(scores, np.ndarray) and (weights is not None or not is_large(scores)):
        return _weighted_squares(_centred(scores), weights)
    return _whole_squares(scores.shape, _block_sums(scores)[1])


_Sums = tuple[Array, Array, Array]  # of centred scores: by system, their squares, and the squared means of topics


def _block_sums(scores: Matrix) -> tuple[float, _Sums]:
    """The centre of the scores, and their sums about it, a block of topics at a time."""
    centre = float(totals(scores).sums.sum() / (scores.shape[0] * scores.shape[1]))
    return centre, fold(_sums_of_block, scores, centre)


def _sums_of_block(block: Array, _: int, centre: float) -> _Sums:
    part = block - centre
    sums, means = part.sum(axis=0), part.mean(axis=1)
    return sums, np.square(part, out=part).sum(), np.square(means).sum()


def _whole_squares(shape: tuple[int, ...], sums: _Sums) -> Squares:
    n, m = shape
    parts = _mean_squares(n, m, *(np.asarray(part)[np.newaxis] for part in sums))
    return Squares(n, m, *(part[0] for part in parts))


def block_squares(n: int, m: int, tables: Callable[[slice], Array]) -> Squares:
    """Mean squares of several n × m tables; ``tables`` gives a block of topics: tables × topics × systems."""
    centre: Array | None = None
    sums, squared, by_topic = (np.zeros(()) for _ in range(3))
    for rows in _blocks(n, m):
        part = tables(rows)
        if centre is None:  # the mean of the first block, which is about that of all
            centre = part.mean(axis=(1, 2), keepdims=True)
        part = part - centre
        sums = sums + part.sum(axis=1)
        squared = squared + np.square(part).sum(axis=(1, 2))
        by_topic = by_topic + np.square(part.mean(axis=2)).sum(axis=1)
    return Squares(n, m, *_mean_squares(n, m, sums, squared, by_topic))


def squares_and_left_out(scores: Matrix) -> tuple[Squares, Squares]:
    """Mean squares of the whole table, and of the tables without one topic each."""
    if isinstance(scores, np.ndarray) and not is_large(scores):
        rows = _centred(scores)
        return _weighted_squares(rows, None), _left_out_squares(rows)
    centre, sums = _block_sums(scores)
    n, m = scores.shape
    parts = fold(_left_out_of_block, scores, centre, n, sums, combine=joined)
    return _whole_squares(scores.shape, sums), Squares(n - 1, m, *parts.T)


def _left_out_of_block(block: Array, _: int, centre: float, n: int, sums: _Sums) -> Array:
    """Mean squares without each topic of a block, one row per topic.

    The squares of the sums per system without a topic are multiplied out, so that no table of those sums is made.
    """
    part = np.ascontiguousarray(block - centre)
    m, own = part.shape[1], np.einsum("ij,ij->i", part, part)
    of_topic, of_sums = np.einsum("ij->i", part), np.einsum("ij,j->i", part, sums[0])
    grand = (sums[0].sum() - of_topic) / ((n - 1) * m)
    s_a = (sums[0] @ sums[0] - 2 * of_sums + own) / (n - 1) - (n - 1) * m * grand**2  # S14 Eq. 2
    by_topic = sums[2] - np.square(of_topic / m)
    return np.array(_from_sums_of_squares(n - 1, m, s_a, grand, sums[1] - own, by_topic)).T


def leave_one_out_squares(scores: Array) -> Squares:
    """Mean squares of the tables without one topic each, for a jackknife over topics."""
    return _left_out_squares(_centred(scores))


_Rows = tuple[Array, Array, Array]  # centred scores; of each topic the sum of squares, and the squared mean


def _centred(scores: Array) -> _Rows:
    """Scores less their mean, for the precision of what follows: no sum of squares changes."""
    centred = scores - scores.mean()
    return centred, _row_squares(centred), np.square(centred.mean(axis=1))


def _weighted_squares(rows: _Rows, weights: Array | None) -> Squares:
    n, m = rows[0].shape
    draws = np.ones((1, n)) if weights is None else weights
    parts = _mean_squares(n, m, *(draws @ part for part in rows))
    return Squares(n, m, *(part[0] if weights is None else part for part in parts))


def _left_out_squares(rows: _Rows) -> Squares:
    centred, squared, by_topic = rows
    n, m = centred.shape
    sums, squared, by_topic = centred.sum(axis=0), squared.sum() - squared, by_topic.sum() - by_topic
    parts = np.empty((4, n))
    for block in _blocks(n, m):
        parts[:, block] = _mean_squares(n - 1, m, sums - centred[block], squared[block], by_topic[block])
    return Squares(n - 1, m, *parts)


def _row_squares(scores: Array) -> Array:
    """The sum of squares of every topic."""
    sums = np.empty(len(scores))
    for rows in _blocks(*scores.shape):
        sums[rows] = (scores[rows] ** 2).sum(axis=1)
    return sums


def _blocks(n: int, m: int) -> list[slice]:
    """Rows of an n × m table, a block at a time."""
    step = max(1, _BLOCK // max(m, 1))
    return [slice(first, first + step) for first in range(0, n, step)]


def _mean_squares(n: int, m: int, sums: Array, squared: Array, by_topic: Array) -> tuple[Array, ...]:
    """V_A, V_B, V_E1 and V_E2 of tables of n topics, from each one's sums per system and sums of squares."""
    system_means = sums / n
    grand = system_means.mean(axis=1)
    s_a = n * ((system_means - grand[:, np.newaxis]) ** 2).sum(axis=1)  # S14 Eq. 2
    return _from_sums_of_squares(n, m, s_a, grand, squared, by_topic)


def _from_sums_of_squares(
    n: int, m: int, s_a: Array, grand: Array, squared: Array, by_topic: Array
) -> tuple[Array, ...]:
    total = squared - m * n * grand**2
    s_b = m * (by_topic - n * grand**2)  # S14 Eq. 5
    s_e1, s_e2 = total - s_a, total - s_a - s_b
    # If all systems or topics are equal, a sum that differs from 0 only by rounding is set to 0.
    s_a, s_b, s_e1, s_e2 = (np.where(part > 1e-13 * total, part, 0.0) for part in (s_a, s_b, s_e1, s_e2))
    parts = (
        s_a / max(m - 1, 1),  # S14 Eq. 3
        s_b / max(n - 1, 1),  # S14 Eq. 6
        s_e1 / max(m * (n - 1), 1),  # SS16 Eq. 1
        s_e2 / max((m - 1) * (n - 1), 1),
    )
    # No sum of squares is below 0, except by rounding if systems are equal on every topic.
    return tuple(np.maximum(part, 0.0) for part in parts)


def covariances(scores: Matrix) -> Array:
    """The covariances of systems; of many topics a block at a time."""
    if isinstance(scores, np.ndarray) and not is_large(scores):
        return np.atleast_2d(np.cov(scores, rowvar=False, ddof=1))
    return np.asarray(fold(_block_products, scores, system_means(scores)) / (scores.shape[0] - 1))


def _block_products(block: Array, _: int, means: Array) -> Array:
    centred = block - means
    return np.asarray(centred.T @ centred)


@dataclass(frozen=True, eq=False, kw_only=True)
class PairSpread:
    """What is asked of the variances of the differences of all pairs: no more of them has to be kept.

    ``left_out`` is the ``percentile`` of the variances with each topic left out in turn; None of two topics.
    ``median_sd`` is nan of more pairs than are kept.
    """

    median_sd: float
    mean_sd: float
    percentile_sd: float
    percentile: float
    left_out: Array | None


def pair_spread(scores: Matrix, percentile: float) -> PairSpread:
    """The mean sd of the differences of all pairs, and percentiles of their sds and variances."""
    if (few := _few_differences(scores)) is not None:
        variances = pair_variances(few)
        sds = np.sqrt(variances)
        return PairSpread(
            median_sd=float(np.median(sds)),
            mean_sd=float(sds.mean()),
            percentile_sd=float(np.percentile(sds, percentile)),
            percentile=float(np.percentile(variances, percentile)),
            left_out=leave_one_out_percentiles(few, percentile) if len(few) > 2 else None,
        )
    pairs, n = _Pairs.of(scores), scores.shape[0]
    rank = percentile / 100 * (pairs.count - 1)
    largest, roots = pairs.largest(2 * (pairs.count - int(rank)))
    low, high, share = largest.at(rank)
    variances = largest.totals[[low, high]] / (n - 1)
    percentile_sd, value = (float(each[0] + share * (each[1] - each[0])) for each in (np.sqrt(variances), variances))
    return PairSpread(
        median_sd=pairs.median_sd,
        mean_sd=roots / pairs.count / float(np.sqrt(n - 1)),
        percentile_sd=percentile_sd,
        percentile=value,
        left_out=pairs.left_out(rank, largest) if n > 2 else None,
    )


def pair_variances(scores: Matrix) -> Array:
    """Sakai (2014), Eq. 1: the variance of the difference of every pair of systems."""
    if (few := _few_differences(scores)) is not None:
        return np.asarray(_differences(few).var(axis=0, ddof=1))  # S14 Eq. 1
    return np.asarray(np.concatenate([sums for _, sums in _Pairs.of(scores).blocks()]) / (scores.shape[0] - 1))


def _few_differences(scores: Matrix) -> Array | None:
    """The scores themselves if the differences of all their pairs can be kept."""
    n, m = scores.shape
    is_few = isinstance(scores, np.ndarray) and not is_large(scores) and n * pair_count(m) <= _WHOLE
    return scores if is_few and isinstance(scores, np.ndarray) else None


def system_effects(scores: Matrix) -> Array:
    """The mean of every system over topics, of scores less the means of topics."""
    return np.asarray(fold(_effects_of_block, scores) / scores.shape[0])


def _effects_of_block(block: Array, _: int) -> Array:
    return np.asarray((block - block.mean(axis=1, keepdims=True)).sum(axis=0))


def residuals(block: Array, effects: Array) -> Array:
    """Scores less the means of topics and systems: their differences vary as those of the scores do."""
    left = block - block.mean(axis=1, keepdims=True)
    left -= effects
    return np.asarray(left)


def products(scores: Matrix, effects: Array) -> Array:
    """Σ over topics of the products of systems' residuals, systems × systems."""
    m = scores.shape[1]
    if m <= 2 * _PANEL:
        return np.asarray(fold(_products_of_block, scores, effects, parts=min(32, max(2, _PRODUCTS // m**2))))
    found = np.empty((m, m))
    for first in range(0, m, _PANEL):  # systems at a time, so that no task holds all products
        part = fold(_panel_of_block, scores, effects, first, parts=4)
        found[first : first + _PANEL, first:] = part
        found[first:, first : first + _PANEL] = part.T
    return found


def _products_of_block(block: Array, _: int, effects: Array) -> Array:
    rest = residuals(block, effects)
    return np.asarray(rest.T @ rest)  # a matrix with itself: the same bits, however many threads BLAS has


def _panel_of_block(block: Array, _: int, effects: Array, first: int) -> Array:
    """The products of some systems with themselves and with all after them, each as a part of such a matrix."""
    rest = residuals(block, effects)
    mine = rest[:, first : first + _PANEL]
    parts = []
    for start in range(first, rest.shape[1], _PANEL):
        both = np.concatenate([mine, rest[:, start : start + _PANEL]], axis=1)
        parts.append((both.T @ both)[: mine.shape[1], mine.shape[1] :])
    return np.concatenate(parts, axis=1)


_HELD = 10_000_000  # sums of pairs that are kept rather than computed again
MOST_PAIRS = 300_000_000
"""Pairs of systems whose variances are looked at: 24,495 systems, about a minute."""


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Σ(d − d̄)² of every pair of systems, computed a block of systems at a time whenever they are asked for.

    Nothing is kept of a pair, so that memory grows with the systems and not with their pairs.
    """

    scores: Matrix
    effects: Array
    own: Array  # of each system, the squares of its residuals

    @classmethod
    def of(cls, scores: Matrix) -> _Pairs:
        m = scores.shape[1]
        if pair_count(m) > MOST_PAIRS:
            raise RequestError(
                f"{m:,} systems have {pair_count(m):,} pairs, and the variances of {MOST_PAIRS:,} at most are "
                "looked at",
                fix=f"Give {int((2 * MOST_PAIRS) ** 0.5):,} systems or fewer.",
            )
        effects = system_effects(scores)
        return cls(scores, effects, np.asarray(fold(_own_squares_of_block, scores, effects)))

    @property
    def count(self) -> int:
        return pair_count(len(self.own))

    @cached_property
    def _held(self) -> list[tuple[int, Array]]:
        return list(self._computed())

    def blocks(self) -> Iterable[tuple[int, Array]]:
        """The sums of all pairs in blocks, with the place of the first of each; kept where they are few."""
        return self._held if self.count <= _HELD else self._computed()

    def _computed(self) -> Iterator[tuple[int, Array]]:
        """The pairs of some systems with all after them: the place of the first among all pairs, and their sums."""
        start, m = 0, len(self.own)
        whole = products(self.scores, self.effects) if m <= 2 * _PANEL else None
        for first in range(0, m, _PANEL):
            if whole is None:
                part = fold(_panel_of_block, self.scores, self.effects, first, parts=4)
            else:
                part = whole[first : first + _PANEL, first:]
            found = self._sums(first, part)
            yield start, np.maximum(found, 0.0, out=found)
            start += len(found)

    def _sums(self, first: int, part: Array) -> Array:
        """From the products of systems; of systems that are nearly equal, from differences."""
        rows, m = len(part), len(self.own)
        lengths = m - 1 - first - np.arange(rows)
        ends = np.cumsum(lengths)
        found, close = np.empty(int(ends[-1])), []
        for at, (end, length) in enumerate(zip(ends.tolist(), lengths.tolist(), strict=True)):
            own = self.own[first + at] + self.own[first + at + 1 :]
            row = found[end - length : end]
            np.subtract(own, 2 * part[at, at + 1 :], out=row)
            near = np.flatnonzero(row < _CLOSE * own)  # what is left of the products is rounding
            close.append((near + end - length, np.full(len(near), first + at), near + first + at + 1))
        places, a, b = (np.concatenate(each) for each in zip(*close, strict=True))
        for start in range(0, len(places), _BLOCK):
            some = slice(start, start + _BLOCK)
            means = fold(_gaps_of_block, self.scores, self.effects, a[some], b[some]) / self.scores.shape[0]
            found[places[some]] = fold(_gap_squares_of_block, self.scores, self.effects, a[some], b[some], means)
        return found

    @property
    def median_sd(self) -> float:
        """The median sd of the differences; nan of more pairs than are kept."""
        if self.count > _HELD:
            return float("nan")
        sums = np.concatenate([sums for _, sums in self.blocks()])
        return float(np.median(np.sqrt(sums / (self.scores.shape[0] - 1))))

    def largest(self, count: int) -> tuple[_SortedPairs, float]:
        """The ``count`` largest sums with their pairs, in order, and the sum of the roots of all.

        A first look counts sums by their leading bits, a second one keeps those that can be among the largest: the
        same numbers as from sorting all of them.
        """
        count = min(count, self.count)
        counts, roots = np.zeros(1 << _BITS, np.int64), 0.0
        for _, found in self.blocks():
            roots += float(np.sqrt(found).sum())
            counts += np.bincount(_leading_bits(found), minlength=len(counts))
        least = int(np.flatnonzero(counts[::-1].cumsum()[::-1] >= count)[-1])
        kept = []
        for start, found in self.blocks():
            places = np.flatnonzero(_leading_bits(found) >= least)
            kept.append((places + start, found[places]))
        places, sums = (np.concatenate(each) for each in zip(*kept, strict=True))
        order = np.argsort(sums, kind="stable")[-count:]
        first, second = pairs_at(places[order], len(self.own))
        return _SortedPairs(self.scores.shape[0], self.count, sums[order], first, second), roots

    def left_out(self, rank: float, pairs: _SortedPairs) -> Array:
        """As `leave_one_out_percentiles`, from the pairs of the largest sums alone.

        A topic takes something from a pair's sum and adds nothing. So a percentile without it that is no smaller than
        the least of these sums is no smaller than what is left of any other pair; where it is, more pairs are taken.
        """
        while True:
            out = fold(_percentiles_of_block, self.scores, self.effects, pairs, rank, combine=joined)
            if len(pairs.totals) == self.count or (out >= pairs.totals[0]).all():
                return np.asarray(np.maximum(out / (pairs.n - 2), 0.0))
            pairs, _ = self.largest(3 * len(pairs.totals))


_BITS = 20  # of a number: its exponent and 8 bits more


def _leading_bits(values: Array) -> Array:
    """Whole numbers in the order of values of 0 or more, the same for those that are nearly equal."""
    return np.asarray(values.view(np.int64) >> (64 - _BITS))


def _own_squares_of_block(block: Array, _: int, effects: Array) -> Array:
    rest = residuals(block, effects)
    return np.asarray(np.einsum("ij,ij->j", rest, rest))


def _gaps_of_block(block: Array, _: int, effects: Array, first: Array, second: Array) -> Array:
    return _differing(block, effects, first, second, lambda gaps, _: gaps.sum(axis=1))


def _gap_squares_of_block(block: Array, _: int, effects: Array, first: Array, second: Array, means: Array) -> Array:
    def squared(gaps: Array, some: slice) -> Array:
        gaps -= means[some, np.newaxis]
        return np.asarray(np.square(gaps, out=gaps).sum(axis=1))

    return _differing(block, effects, first, second, squared)


def _differing(
    block: Array, effects: Array, first: Array, second: Array, function: Callable[[Array, slice], Array]
) -> Array:
    """``function`` of the differences of pairs on the topics of a block, some pairs at a time."""
    rest = np.ascontiguousarray(residuals(block, effects).T)
    parts = _blocks(len(first), len(block))
    return np.concatenate([function(rest[first[some]] - rest[second[some]], some) for some in parts])


def leave_one_out_percentiles(scores: Array, percentile: float) -> Array:
    """The percentile of the variances of pairs, with each topic left out in turn."""
    n = len(scores)
    if _few_differences(scores) is None:
        left_out = pair_spread(scores, percentile).left_out
        return np.full(n, np.nan) if left_out is None else left_out
    gaps = _differences(scores)
    gaps -= gaps.mean(axis=0)
    squared = np.square(gaps, out=gaps)
    variances = (squared.sum(axis=0) - squared * n / (n - 1)) / (n - 2)
    return np.asarray(np.maximum(np.percentile(variances, percentile, axis=1), 0.0))


@dataclass(frozen=True, eq=False)
class _SortedPairs:
    """Pairs of systems in the order of the sums of squares of their differences on n topics: the last of ``count``."""

    n: int
    count: int
    totals: Array
    first: Array
    second: Array

    def at(self, rank: float) -> tuple[int, int, float]:
        """The pairs on both sides of a rank among all, and the share of the second."""
        low = int(rank) - (self.count - len(self.totals))
        return low, min(low + 1, len(self.totals) - 1), rank - int(rank)

    def window(self, largest: Any, rank: float) -> tuple[Any, Any]:
        """From which to which pair one can be at a rank without a topic, whose largest residual this is.

        A topic i takes at most h = n / (n − 1) · (2 max |r_i|)² from a pair's sum of squares. So the pairs whose sum
        lies more than h below or above the sum at the rank stay below or above it when the topic is left out.
        """
        low, high, _ = self.at(rank)
        taken = self.n / (self.n - 1) * np.square(2 * largest) * (1 + 1e-9)
        begin = np.searchsorted(self.totals, self.totals[low] - taken, side="left")
        return begin, np.searchsorted(self.totals, self.totals[high] + taken, side="right")


def _percentiles_of_block(block: Array, _: int, effects: Array, pairs: _SortedPairs, rank: float) -> Array:
    """Of every topic of a block, the sums of squares without it at a rank."""
    rest = residuals(block, effects)
    n, (low, high, share) = pairs.n, pairs.at(rank)
    out = np.empty(len(block))
    for topics, at, stop in _windows(rest, pairs, rank):
        rows = rest[topics].T
        squares = np.square(rows[pairs.first[at:stop]] - rows[pairs.second[at:stop]])
        squares *= -n / (n - 1)
        squares += pairs.totals[at:stop, np.newaxis]
        squares.partition([low - at, high - at], axis=0)
        out[topics] = squares[low - at] * (1 - share) + squares[high - at] * share
    return out


def _windows(rest: Array, pairs: _SortedPairs, rank: float) -> Iterator[tuple[Array | slice, int, int]]:
    """Some topics at a time, and from which to which pair to look for the percentile without one of them."""
    begin, end = pairs.window(max(rest.max(), -rest.min()), rank)
    if end - begin <= _FEW:  # for all topics alike
        for part in _blocks(len(rest), end - begin):
            yield part, int(begin), int(end)
        return
    largest = np.maximum(rest.max(axis=1), -rest.min(axis=1))
    begin, end = pairs.window(largest, rank)
    low, high, _ = pairs.at(rank)
    for group in np.array_split(np.argsort(largest, kind="stable"), _GROUPS):  # with windows of about one size
        at, stop = int(begin[group].min(initial=low)), int(end[group].max(initial=high + 1))
        for part in _blocks(len(group), stop - at):
            yield group[part], at, stop


def jackknife_df(estimate: float, left_out: Array, *, most: float) -> float:
    """Effective degrees of freedom of a variance estimate, by the jackknife over topics.

    The logarithm of a χ² with ν degrees of freedom has variance ψ′(ν/2), about 2/ν = CV²; ν is chosen so that this is
    the jackknife's variance of log σ̂². (The logarithm rather than σ̂² itself: with few topics its jackknife notices an
    outlying topic sooner, and the resulting power is closer to the true one.) ``left_out`` has the estimate with
    each topic left out; ``most`` are the degrees of freedom it would have if scores were normal.

    >>> x = np.random.default_rng(1).standard_normal((2000, 1))
    >>> round(jackknife_df(float(x.var(ddof=1)), leave_one_out_squares(x).within_systems, most=1e9) / 1999, 1)
    1.0
    """
    n = len(left_out)
    if not estimate > 0 or n < 3:
        return float(min(most, max(n - 1, 1)))
    logs = np.log(np.maximum(left_out, 1e-12 * estimate))
    spread = (n - 1) * float(np.mean((logs - logs.mean()) ** 2))
    return min(float(most), 2 * _trigamma_inverse(spread)) if spread > 0 else float(most)


def _trigamma_inverse(value: float) -> float:
    """x with ψ′(x) = value, by Newton's method on 1/ψ′, which is nearly straight (Smyth 2004, appendix)."""
    x = 0.5 + 1 / value
    for _ in range(50):
        now = float(special.zeta(2, x))  # ψ′(x) = ζ(2, x)
        step = now * (1 - now / value) / (-2 * float(special.zeta(3, x)))
        x += step
        if abs(step) < 1e-10 * x:
            break
    return x


def _differences(scores: Array) -> Array:
    first, second = every_pair(scores.shape[1])
    return np.asarray(scores[:, first] - scores[:, second])
