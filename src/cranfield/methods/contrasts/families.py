"""Tests of many pairs: p-values, intervals and standard errors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from cranfield.methods.contrasts.anova import TINY
from cranfield.methods.contrasts.maxima import CentredPairs, largest_t, max_t_critical, max_t_p, shuffled_ranges
from cranfield.methods.contrasts.pairwise import TESTS, correction, deciding_level, interval_level, moments
from cranfield.methods.contrasts.thresholds import PermutationThreshold, Threshold, TukeyThreshold
from cranfield.methods.contrasts.tukey import ErrorTerm
from cranfield.methods.variance.components import Squares, squares
from cranfield.runtime.random import Seed
from cranfield.scores.stored import Matrix, fold, system_means, totals, whole
from cranfield.stats.studentized import dunnett_critical, dunnett_tail
from cranfield.stats.tails import t_critical
from cranfield.types import Array, Progress

FAMILY = (
    "max-t",
    "tukey",
    "dunnett",
    "tukey-permutation",
    "unpaired",
)  # these control the family's error by themselves
ONE_THRESHOLD = ("tukey", "tukey-permutation", "unpaired")  # one difference decides about all pairs
RESAMPLED = ("max-t", "tukey-permutation", "bootstrap", "permutation")
_BLOCK = 500_000  # differences at a time, which fit into the cache of a core
_CACHED = 60_000  # differences at a time, where each is looked at several times
_TOGETHER = 64_000_000  # differences of pairs that are tested together; more are tested in blocks
_ROUNDING = 1e-12  # of the largest score: differences that vary by no more do not vary


@dataclass(frozen=True, eq=False)
class Verdicts:
    """The results of every pair: p, adjusted p, interval and standard error of the difference.

    ``half_width`` is that of intervals around means which do not touch exactly when two systems differ; nan for tests
    with a separate standard error for each pair. ``interval`` names the kind of the intervals of differences.
    """

    p_value: Array
    p_adjusted: Array
    lower: Array
    upper: Array
    standard_error: Array
    interval: str
    half_width: float = float("nan")


@dataclass(frozen=True, eq=False)
class Pairs:
    """Scores, topics × systems, and the pairs to test: ``first`` minus ``second``.

    With baselines ``second`` is the baseline of the pair.
    """

    scores: Matrix
    first: Array
    second: Array

    @cached_property
    def held(self) -> Array:
        """The scores in memory, for tests that look at them again and again."""
        return whole(self.scores)

    @property
    def topics(self) -> int:
        return len(self.scores)

    @cached_property
    def means(self) -> Array:
        if isinstance(self.scores, np.ndarray):
            return np.asarray(self.scores.mean(axis=0))
        return system_means(self.scores)

    @cached_property
    def difference(self) -> Array:
        """Mean differences, without the table of all differences, which may be large."""
        return np.asarray(self.means[self.first] - self.means[self.second])

    @cached_property
    def squares(self) -> Squares:
        return squares(self.scores)

    @cached_property
    def tiny(self) -> float:
        """Differences that vary by no more do so by rounding only."""
        return _ROUNDING * self.largest

    @cached_property
    def largest(self) -> float:
        """The largest score, whatever its sign."""
        extremes = totals(self.scores)
        return max(extremes.high, -extremes.low)

    def chosen(self, first: Array, second: Array) -> Pairs:
        """Other pairs of the same systems; what belongs to the systems is not computed again."""
        other = Pairs(self.scores, first, second)
        other.__dict__.update(means=self.means, largest=self.largest)
        return other

    @property
    def at_once(self) -> int:
        """Pairs whose differences are computed together."""
        return max(1, _BLOCK // self.topics)

    @cached_property
    def sd(self) -> Array:
        """The sd of every pair's differences; 0 where they vary by rounding only."""
        return self._facts[0]

    @cached_property
    def wins(self) -> tuple[Array, Array, Array]:
        """Topics on which the first of a pair scores higher, the same, and lower."""
        above, below = self._facts[1:]
        return above, self.topics - above - below, below

    @cached_property
    def _facts(self) -> tuple[Array, Array, Array]:
        tiny = self.tiny
        if not isinstance(self.scores, np.ndarray):
            return self._gaps.facts(self.topics, tiny)
        sd, above, below = np.empty(len(self.first)), *(np.empty(len(self.first), np.int64) for _ in range(2))
        for start in range(0, len(self.first), self.at_once):
            part = slice(start, start + self.at_once)
            gaps = self.scores[:, self.first[part]] - self.scores[:, self.second[part]]
            above[part], below[part] = (gaps > tiny).sum(axis=0), (gaps < -tiny).sum(axis=0)
            spread = gaps.std(axis=0, ddof=1)
            sd[part] = np.where(np.ptp(gaps, axis=0) <= 4 * tiny, 0.0, spread)
        return sd, above, below

    @property
    def _gaps(self) -> _Gaps:
        """The same from blocks of topics."""
        pairs = (self.first, self.second, self.difference, self.tiny)
        found: _Gaps = fold(_gaps_of_block, self.scores, *pairs, combine=_Gaps.__add__)
        return found

    @property
    def constant(self) -> Array:
        """Pairs with the same difference on every topic, other than 0: their standard error is 0."""
        return np.asarray((self.sd == 0) & (self.wins[1] < self.topics))

    def pooled(self, variance: float) -> Array:
        """The standard error of every difference, from one variance of scores for all systems."""
        return np.full(len(self.first), np.sqrt(2 * variance / self.topics))


@dataclass(frozen=True, eq=False)
class _Gaps:
    """Of the differences of pairs: how many are above and below 0, lowest, highest, and Σ(d − d̄)²."""

    above: Array
    below: Array
    low: Array
    high: Array
    squares: Array

    def facts(self, topics: int, tiny: float) -> tuple[Array, Array, Array]:
        spread = np.sqrt(self.squares / (topics - 1))
        return np.where(self.high - self.low <= 4 * tiny, 0.0, spread), self.above, self.below

    def __add__(self, other: _Gaps) -> _Gaps:
        return _Gaps(
            self.above + other.above,
            self.below + other.below,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.squares + other.squares,
        )


def _gaps_of_block(block: Array, _: int, first: Array, second: Array, means: Array, tiny: float) -> _Gaps:
    systems = np.ascontiguousarray(block.T)
    count, step = len(first), max(1, _CACHED // len(block))
    above, below = (np.empty(count, np.int64) for _ in range(2))
    low, high, squared = np.empty((3, count))
    # Once for all pairs: to get memory anew takes longer than to sum.
    buffers = np.empty((2, min(step, count), len(block)))
    for start in range(0, count, step):
        part = slice(start, min(start + step, count))
        gaps, others = buffers[:, : part.stop - start]
        np.take(systems, first[part], axis=0, out=gaps, mode="clip")
        np.take(systems, second[part], axis=0, out=others, mode="clip")
        gaps -= others
        above[part] = [np.count_nonzero(row) for row in gaps > tiny]  # much faster than all rows at once
        below[part] = [np.count_nonzero(row) for row in gaps < -tiny]
        low[part], high[part] = gaps.min(axis=1), gaps.max(axis=1)
        gaps -= means[part, np.newaxis]
        squared[part] = np.einsum("ij,ij->i", gaps, gaps)
    return _Gaps(above, below, low, high, squared)


def percent(alpha: float) -> str:
    return f"{100 * (1 - alpha):.4g} %"


def judge(
    pairs: Pairs,
    test: str,
    *,
    correct: str | None = None,
    alpha: float,
    resamples: int,
    seed: Seed,
    progress: Progress | None = None,
) -> Verdicts:
    """The verdicts of a test that ``check_test`` knows."""
    if test == "max-t":
        found = _max_t(pairs, alpha, resamples, seed, progress)
    elif test == "dunnett":
        found = _dunnett(pairs, alpha)
    elif test in ONE_THRESHOLD:
        threshold = find_threshold(pairs, test, alpha=alpha, resamples=resamples, seed=seed, progress=progress)
        p_value, margin = threshold.p_value(pairs.first, pairs.second), threshold.margin
        found = _around(pairs, p_value, margin, pairs.pooled(threshold.variance), alpha, margin / 2)
    else:
        options: dict[str, Any] = (
            {"resamples": resamples, "seed": seed, "progress": progress} if test in RESAMPLED else {}
        )
        found = _pairwise(pairs, test, correct or "holm", alpha, options)
    vary = np.full(len(pairs.sd), pairs.squares.within_systems > 0) if test == "unpaired" else pairs.sd > 0
    return _settled(found, vary)


def _settled(found: Verdicts, vary: Array) -> Verdicts:
    """No p is 0; and pairs whose differences do not vary have no error to measure by: nothing is claimed of them."""
    p_value, p_adjusted = (np.where(vary, np.maximum(p, TINY), 1.0) for p in (found.p_value, found.p_adjusted))
    lower, upper = (np.where(vary, end, np.nan) for end in (found.lower, found.upper))
    return replace(found, p_value=p_value, p_adjusted=p_adjusted, lower=lower, upper=upper)


def find_threshold(
    pairs: Pairs, test: str, *, alpha: float, resamples: int, seed: Seed, progress: Progress | None = None
) -> Threshold:
    """What one of ``ONE_THRESHOLD`` measures all pairs by."""
    n, m = pairs.scores.shape
    if test == "tukey-permutation":
        ranges = shuffled_ranges(pairs.held, resamples=resamples, seed=seed, progress=progress)
        return PermutationThreshold(pairs.means, ranges, pairs.squares.residual, alpha)
    found = pairs.squares
    error = (
        ErrorTerm(found.within_systems, m * (n - 1), n)
        if test == "unpaired"
        else ErrorTerm(found.residual, (m - 1) * (n - 1), n)
    )
    return TukeyThreshold(pairs.means, error, alpha)


def _max_t(pairs: Pairs, alpha: float, resamples: int, seed: Seed, progress: Progress | None) -> Verdicts:
    """Compare each |t|, with its own standard error, with the largest |t| of all pairs in resamples of the topics."""
    error = pairs.sd / np.sqrt(pairs.topics)
    vary = pairs.sd > 0
    p_value, reach = np.ones(len(error)), np.zeros(len(error))
    if vary.any():
        centred = pairs.held - pairs.held.mean(axis=0)
        rows = CentredPairs(centred, pairs.first[vary], pairs.second[vary], pairs.sd[vary])
        largest = largest_t(rows, resamples=resamples, seed=seed, progress=progress)
        df, error_of_varying = pairs.topics - 1, error[vary]
        p_value[vary] = max_t_p(largest, pairs.difference[vary] / error_of_varying, df)
        reach[vary] = max_t_critical(largest, alpha, df, int(vary.sum())) * error_of_varying
    return _around(pairs, p_value, reach, error, alpha)


def _dunnett(pairs: Pairs, alpha: float) -> Verdicts:
    """Every baseline's comparisons against Dunnett's distribution; with b baselines each at α / b."""
    n, m = pairs.scores.shape
    df, error = (n - 1) * (m - 1), pairs.pooled(pairs.squares.residual)
    baselines = np.unique(pairs.second)
    p_value, p_adjusted, reach = np.empty((3, len(error)))
    for baseline in baselines.tolist():
        mine = pairs.second == baseline
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(pairs.difference[mine] == 0, 0.0, np.abs(pairs.difference[mine]) / error[mine])
        p_value[mine] = dunnett_tail(np.minimum(t, 1e9), int(mine.sum()), df)
        p_adjusted[mine] = np.minimum(len(baselines) * p_value[mine], 1.0)
        reach[mine] = dunnett_critical(alpha / len(baselines), int(mine.sum()), df) * error[mine]
    return _around(pairs, p_value, reach, error, alpha, p_adjusted=p_adjusted)


def _around(
    pairs: Pairs,
    p_value: Array,
    reach: Array | float,
    error: Array,
    alpha: float,
    half_width: float = float("nan"),
    *,
    p_adjusted: Array | None = None,
) -> Verdicts:
    """Verdicts with simultaneous intervals that reach as far on both sides."""
    return Verdicts(
        p_value=p_value,
        p_adjusted=p_value if p_adjusted is None else p_adjusted,
        lower=pairs.difference - reach,
        upper=pairs.difference + reach,
        standard_error=error,
        interval=f"simultaneous {percent(alpha)}",
        half_width=half_width,
    )


def _pairwise(pairs: Pairs, test: str, correct: str, alpha: float, options: dict[str, Any]) -> Verdicts:
    p_value, mean, error = _tested_alone(pairs, test, alpha, options)
    p_value = np.where(pairs.sd > 0, p_value, 1.0)
    p_adjusted = correction(correct)(p_value)
    level, interval = alpha, f"unadjusted {percent(alpha)}"
    if test == "t":
        level = deciding_level(p_adjusted <= alpha, correct, alpha)
        interval = interval_level(p_adjusted <= alpha, correct, alpha)
    reach = t_critical(level / 2, pairs.topics - 1) * error
    return Verdicts(
        p_value=p_value,
        p_adjusted=p_adjusted,
        lower=mean - reach,
        upper=mean + reach,
        standard_error=pairs.sd / np.sqrt(pairs.topics),
        interval=interval,
    )


def _tested_alone(pairs: Pairs, test: str, alpha: float, options: dict[str, Any]) -> tuple[Array, Array, Array]:
    """p of every pair by itself, its mean difference and standard error; many pairs are tested some at a time.

    All pairs are resampled alike, whether together or not.
    """
    count, step = len(pairs.first), len(pairs.first)
    progress = options.get("progress")
    if count * pairs.topics > _TOGETHER:
        step = pairs.at_once
        options = {**options, "largest": _largest_difference(pairs)}
    p_value, mean, error = np.empty((3, count))
    for start in range(0, count, step):
        part = slice(start, start + step)
        gaps = pairs.held[:, pairs.first[part]] - pairs.held[:, pairs.second[part]]
        if progress is not None and step < count:
            options["progress"] = _later(progress, start // step, -(-count // step))
        p_value[part] = TESTS[test](gaps, alpha, **options).p_value
        mean[part], error[part] = moments(gaps)
    return p_value, mean, error


def _largest_difference(pairs: Pairs) -> float:
    """The largest difference of two scores on a topic, of any pair."""
    ends = [pairs.held[:, np.unique(each)] for each in (pairs.first, pairs.second)]
    over = [(a.max(axis=1) - b.min(axis=1)).max() for a, b in (ends, ends[::-1])]
    return float(max(over))


def _later(progress: Progress, part: int, parts: int) -> Progress:
    """Progress of one of several parts, as that of all of them."""
    return lambda done, total: progress(part * total + done, parts * total)
