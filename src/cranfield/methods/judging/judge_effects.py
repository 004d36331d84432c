"""What a judge does to comparisons: the correlation of paired differences, what it is worth, and its drift."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield.errors import InputError
from cranfield.methods.contrasts.paired import Pairs
from cranfield.methods.contrasts.pairs import Contrasts, all_pairs
from cranfield.methods.design.spreads import effective_topics
from cranfield.methods.judging.agreement import Interval, jackknife_interval
from cranfield.methods.judging.estimators import JudgedScores, Moments, pair_moments
from cranfield.runtime.random import generator
from cranfield.stats.tails import TINY
from cranfield.types import Array

_BLOCK = 2_000_000  # topics × pairs at a time
_MANY = 50  # topics from which on the slope costs next to nothing
_SAMPLES, _PAIRS = 400, 1000  # that measure what it costs with fewer


@dataclass(frozen=True, eq=False, kw_only=True)
class DifferenceCorrelation:
    """The correlation r of a pair's differences under human and under judge's labels, over topics.

    ``of_pairs`` is in the order of ``stats.pairs``, nan for pairs that do not vary. ``median`` is over pairs, its
    interval by the jackknife over topics on the scale of Fisher's z. ``leverage`` is how much the judge's scores raise
    the cost of the slope above that of normal ones, see `effective_topics`.
    """

    of_pairs: Array
    median: Interval
    topics: int
    judged_topics: int
    leverage: float = 1.0

    @property
    def effective_topics(self) -> tuple[float, float, float]:
        """What the topics with human labels are worth among the judged ones."""
        return self.worth(self.judged_topics)

    def worth(self, judged_topics: int) -> tuple[float, float, float]:
        """What they are worth among N judged ones at the median of r², and at the ends of the interval of r.

        r² of a sample is too large: (1 − r²)(n − 1)/(n − 2) is unbiased for 1 − ρ² of normal scores.
        """
        ends = (self.median.lower, self.median.upper)
        least = 0.0 if ends[0] < 0 < ends[1] else min(abs(end) for end in ends)
        squares = [float(np.nanmedian(np.square(self.of_pairs))), least**2]
        middle, low = (max(1 - (1 - r2) * (self.topics - 1) / (self.topics - 2), 0.0) for r2 in squares)
        r = np.sqrt([middle, low, max(*np.square(ends), middle)])
        worth = effective_topics(self.topics, max(judged_topics, self.topics), r, self.leverage)
        return float(worth[0]), float(worth[1]), float(worth[2])


def difference_correlation(scores: JudgedScores, *, alpha: float = 0.05) -> DifferenceCorrelation:
    """Correlate paired differences under human and judge's labels, for all pairs of systems."""
    pairs = all_pairs(scores.systems)
    moments = pair_moments(scores, pairs)
    of_pairs = _correlation(moments.human_squares, moments.judge_squares, moments.products)
    if not np.isfinite(of_pairs).any():
        raise InputError(
            "no pair of systems varies under both label sets",
            fix="Check both: on some topics, two systems must have different scores.",
        )
    median, left_out = float(np.nanmedian(of_pairs)), _median_without_each(scores, pairs, moments)
    with np.errstate(divide="ignore", invalid="ignore"):  # r may be 1
        z = jackknife_interval(float(np.arctanh(median)), np.arctanh(left_out), alpha=alpha)
    error = jackknife_interval(median, left_out).standard_error
    lower, upper = np.tanh([z.lower, z.upper]).tolist()
    return DifferenceCorrelation(
        of_pairs=of_pairs,
        median=Interval(value=median, standard_error=error, lower=lower, upper=upper),
        topics=scores.topics,
        judged_topics=scores.judged_topics,
        leverage=_leverage(scores, pairs),
    )


def _leverage(scores: JudgedScores, pairs: Contrasts) -> float:
    """E[(ē_N − ē_n)²/SS_e] in samples of n of the judged topics over that of normal scores; the median over pairs.

    Differences of few topics that are large, as nDCG has them, leave samples with next to no spread of e.
    """
    n, whole = scores.topics, scores.judged_topics
    normal = (1 / n - 1 / whole) / max(n - 3, TINY)
    if n == whole or n >= _MANY:
        return 1.0
    rng = generator(0, "judges", "leverage")
    some = pairs.some(slice(None, None, -(-len(pairs) // _PAIRS)))
    gaps = some.of(scores.judge - scores.judge.mean(axis=0))
    least = 1e-9 * np.square(gaps).mean(axis=0)
    total, counts = np.zeros((2, len(some)))
    for _ in range(_SAMPLES):
        drawn = gaps[rng.choice(whole, n, replace=False)]
        mean = drawn.mean(axis=0)
        squares = np.square(drawn).sum(axis=0) - n * mean**2
        varies = squares > least
        total[varies] += mean[varies] ** 2 / squares[varies]
        counts += varies
    known = counts > 0
    return float(np.median(total[known] / counts[known])) / normal if known.any() else 1.0


def _correlation(human_squares: Array, judge_squares: Array, products: Array) -> Array:
    scale = np.sqrt(human_squares * judge_squares)
    return np.asarray(np.divide(products, scale, out=np.full(np.shape(scale), np.nan), where=scale > 0))


def _median_without_each(scores: JudgedScores, pairs: Contrasts, moments: Moments) -> Array:
    """The median r over pairs without each topic in turn."""
    n, medians = scores.topics, []
    factor, step = n / (n - 1), max(1, _BLOCK // len(pairs))  # what one topic adds to a sum of squares
    for start in range(0, n, step):
        part = slice(start, start + step)
        d = pairs.of(scores.human[part]) - moments.human_mean
        e = pairs.of(scores.judge_beside_human[part]) - moments.judge_mean
        sides = (moments.human_squares, d), (moments.judge_squares, e)
        left = [whole - factor * gaps**2 for whole, gaps in sides]
        squares = [np.where(x > 1e-9 * whole, x, 0.0) for x, (whole, _) in zip(left, sides, strict=True)]  # or rounding
        r = _correlation(squares[0], squares[1], moments.products - factor * d * e)
        medians.append(np.nanmedian(np.clip(r, -1.0, 1.0), axis=1))
    return np.concatenate(medians)


@dataclass(frozen=True, eq=False, kw_only=True)
class Drift:
    """How scores changed between two label sets of one judge on the same topics: later minus earlier.

    ``mean`` is over all systems, with Student's interval and p of no change. The correlations are the median r with
    human labels then and now.
    """

    mean: Interval
    p_value: float
    earlier_correlation: float
    later_correlation: float


def drift(earlier: JudgedScores, later: JudgedScores, *, alpha: float = 0.05) -> Drift:
    """Compare the scores under a judge's labels at two times; human labels, topics and systems are the same."""
    if earlier.judge.shape != later.judge.shape:
        raise InputError("two label sets of a judge must be of the same topics and systems", fix="Leave out others.")
    means = np.column_stack([scores.judge.mean(axis=1) for scores in (later, earlier)])
    change = Pairs(means, all_pairs(2)).fit()
    value, error, p_value, lower, upper = (
        float(column[0]) for column in (change.value, change.standard_error, change.p_value, *change.interval(alpha))
    )
    before, after = (_median_correlation(scores) for scores in (earlier, later))
    return Drift(
        mean=Interval(value=value, standard_error=error, lower=lower, upper=upper),
        p_value=p_value,
        earlier_correlation=before,
        later_correlation=after,
    )


def _median_correlation(scores: JudgedScores) -> float:
    moments = pair_moments(scores, all_pairs(scores.systems))
    return float(np.nanmedian(_correlation(moments.human_squares, moments.judge_squares, moments.products)))
