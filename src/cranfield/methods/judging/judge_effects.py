"""What a judge does to a comparison: correlation of paired differences, favoured systems, drift, several judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from cranfield.errors import InputError, RequestError
from cranfield.methods.comparison.anova import TINY
from cranfield.methods.comparison.maxima import CentredPairs, largest_t, resampled_critical, resampled_p
from cranfield.methods.judging.agreement import Interval, jackknife_interval
from cranfield.methods.judging.estimators import JudgedScores, Moments, pair_moments
from cranfield.runtime.random import Seed, generator, sequence
from cranfield.stats.tails import t_critical
from cranfield.types import Array, ArrayLike

RESAMPLES = 10_000
FOLDS = 5
_BLOCK = 2_000_000  # topics × pairs at a time


@dataclass(frozen=True, eq=False, kw_only=True)
class DifferenceCorrelation:
    """The correlation r of a pair's differences under human and under judge's labels, over topics.

    ``of_pairs`` is in the order of ``np.triu_indices``, nan for pairs that do not vary. ``median`` is over pairs, its
    interval by the jackknife over topics on the scale of Fisher's z. ``effective_topics`` is what the topics with human
    labels are worth at the median, at its lower and at its upper end.
    """

    of_pairs: Array
    median: Interval
    topics: int
    judged_topics: int
    effective_topics: tuple[float, float, float]


def difference_correlation(scores: JudgedScores, *, alpha: float = 0.05) -> DifferenceCorrelation:
    """Correlate paired differences under human and judge's labels, for all pairs of systems."""
    first, second = np.triu_indices(scores.systems, k=1)
    of_pairs = _correlation(pair_moments(scores, first, second))
    if not np.isfinite(of_pairs).any():
        raise InputError(
            "no pair of systems varies under both label sets", fix="A judge with constant labels says nothing."
        )
    left_out = _median_without_each(scores, first, second)
    median = jackknife_interval(float(np.nanmedian(of_pairs)), left_out, alpha=alpha, transform=np.arctanh)
    n, whole = scores.topics, scores.judged_topics
    worth = [float(effective_topics(n, whole, r)) for r in (median.value, median.lower, median.upper)]
    return DifferenceCorrelation(
        of_pairs=of_pairs, median=median, topics=n, judged_topics=whole, effective_topics=(worth[0], worth[1], worth[2])
    )


def effective_topics(topics: ArrayLike, judged_topics: ArrayLike, correlation: ArrayLike) -> Array:
    """Topics with human labels alone that n of them among N judged ones are worth: n / (1 − r²(1 − n/N)).

    >>> float(effective_topics(15, 200, 0.7305).round(1)), float(effective_topics(15, 15, 0.7305))
    (29.6, 15.0)
    """
    n, whole = np.asarray(topics, float), np.asarray(judged_topics, float)
    return np.asarray(n / (1 - np.square(correlation) * (1 - n / whole)))  # Cochran 1977 §12.6


def _correlation(moments: Moments) -> Array:
    scale = np.sqrt(moments.human_squares * moments.judge_squares)
    return np.asarray(np.divide(moments.products, scale, out=np.full(np.shape(scale), np.nan), where=scale > 0))


def _median_without_each(scores: JudgedScores, first: Array, second: Array) -> Array:
    """The median r over pairs without each topic in turn."""
    n, judge = scores.topics, scores.judge_beside_human
    median = np.empty(n)
    moments = pair_moments(scores, first, second)
    step = max(1, _BLOCK // len(first))
    for start in range(0, n, step):
        part = slice(start, start + step)
        d = scores.human[part, first] - scores.human[part, second] - moments.human_mean
        e = judge[part, first] - judge[part, second] - moments.judge_mean
        factor = n / (n - 1)  # what one topic adds to a sum of squares
        left = (moments.human_squares - factor * d**2, moments.judge_squares - factor * e**2)
        vary = [
            each > 1e-9 * whole
            for each, whole in zip(left, (moments.human_squares, moments.judge_squares), strict=True)
        ]
        known = vary[0] & vary[1]
        scale = np.sqrt(np.where(known, left[0] * left[1], 1.0))
        r = np.where(known, (moments.products - factor * d * e) / scale, np.nan)
        median[part] = np.nanmedian(np.clip(r, -1.0, 1.0), axis=1)
    return median


@dataclass(frozen=True, eq=False, kw_only=True)
class Favour:
    """Which systems, or groups of systems, a judge favours.

    ``value`` is the mean over topics of the judge's score minus the human one, relative to the average over all
    systems: a judge that is lenient to all alike favours none. Intervals are simultaneous and exclude 0 exactly when
    p ≤ α. ``beyond_scale`` is what is left of it after a straight line of the judge's means on the human ones: a judge
    that spreads all systems less, or more, favours the weak, or the strong, without preferring any for what it is.
    """

    value: Array
    standard_error: Array
    lower: Array
    upper: Array
    p_value: Array
    alpha: float
    beyond_scale: Array
    scale: float

    @property
    def favoured(self) -> Array:
        """Those that the judge significantly favours."""
        return np.asarray((self.p_value <= self.alpha) & (self.value > 0))

    @property
    def disfavoured(self) -> Array:
        """Those that the judge significantly disfavours."""
        return np.asarray((self.p_value <= self.alpha) & (self.value < 0))


def favour(
    scores: JudgedScores,
    *,
    groups: Array | None = None,
    alpha: float = 0.05,
    resamples: int = RESAMPLES,
    seed: Seed = 1,
) -> Favour:
    """Find the systems that a judge favours, with the error rate controlled over all of them (max-t over topics).

    Parameters
    ----------
    groups
        The number of the group of every system, from 0, such as its team: groups are tested instead of systems.
    """
    members = np.eye(scores.systems) if groups is None else _members(groups)
    lenience = scores.judge_beside_human - scores.human
    relative = (lenience - lenience.mean(axis=1, keepdims=True)) @ members
    n = len(relative)
    value, sd = relative.mean(axis=0), relative.std(axis=0, ddof=1)
    error, vary = sd / np.sqrt(n), sd > 1e-12 * max(float(np.abs(lenience).max()), TINY)
    p_value, critical = np.ones(len(value)), np.nan
    if vary.any():
        columns = np.column_stack([relative[:, vary] - value[vary], np.zeros(n)])
        count = int(vary.sum())
        pairs = CentredPairs(columns, np.arange(count), np.full(count, count), sd[vary])
        largest = largest_t(pairs, resamples=resamples, seed=sequence(seed, "judges", "favour"))
        p_value[vary] = np.maximum(resampled_p(largest, value[vary] / error[vary]), TINY)
        critical = resampled_critical(largest, alpha)
    reach = np.where(vary, critical * error, np.nan)
    scale, beyond = _beyond_scale(scores)
    return Favour(
        value=value,
        standard_error=error,
        lower=value - reach,
        upper=value + reach,
        p_value=p_value,
        alpha=alpha,
        beyond_scale=beyond @ members,
        scale=scale,
    )


def _members(groups: Array) -> Array:
    """The weights of systems in the mean of each group: systems × groups."""
    members = (np.asarray(groups)[:, np.newaxis] == np.arange(int(np.max(groups)) + 1)).astype(float)
    return np.asarray(members / np.maximum(members.sum(axis=0), 1))


def _beyond_scale(scores: JudgedScores) -> tuple[float, Array]:
    """The slope of the judge's means on the human ones over systems, and what it leaves of each."""
    human, judge = (each.mean(axis=0) for each in (scores.human, scores.judge_beside_human))
    human, judge = human - human.mean(), judge - judge.mean()
    spread = float(human @ human)
    slope = float(human @ judge) / spread if spread > 0 else float("nan")
    return slope, np.asarray(judge - slope * human if spread > 0 else judge)


@dataclass(frozen=True, eq=False, kw_only=True)
class Drift:
    """How scores changed between two label sets of one judge on the same topics: later minus earlier.

    ``mean`` is over all systems, ``of_systems`` with Student's intervals of each, unadjusted. ``correlation`` is the
    change of the median r with human labels, where there are some, with its interval by the jackknife over topics.
    """

    topics: int
    mean: Interval
    of_systems: Array
    lower: Array
    upper: Array
    p_value: float
    earlier_correlation: float | None
    later_correlation: float | None
    correlation: Interval | None


def drift(
    earlier: Array, later: Array, *, human: Array | None = None, rows: Array | None = None, alpha: float = 0.05
) -> Drift:
    """Compare the scores under a judge's labels at two times.

    Parameters
    ----------
    earlier, later
        N topics × k systems.
    human, rows
        Scores under human labels, and the rows of the others that are the same topics.
    """
    if earlier.shape != later.shape or len(earlier) < 2:
        raise InputError("two label sets of a judge must be of the same topics and systems", fix="Leave out others.")
    n, change = len(earlier), later - earlier
    error = change.std(axis=0, ddof=1) / np.sqrt(n)
    reach = t_critical(alpha / 2, n - 1) * error
    whole = change.mean(axis=1)
    mean = jackknife_interval(float(whole.mean()), (whole.sum() - whole) / (n - 1), alpha=alpha)
    t = abs(mean.value) / mean.standard_error if mean.standard_error > 0 else 0.0
    before = after = moved = None
    if human is not None and rows is not None:
        before, after, moved = _correlation_change(earlier, later, human, rows, alpha)
    return Drift(
        topics=n,
        mean=mean,
        of_systems=change.mean(axis=0),
        lower=change.mean(axis=0) - reach,
        upper=change.mean(axis=0) + reach,
        p_value=float(max(2 * special.stdtr(n - 1, -t), TINY)),
        earlier_correlation=before,
        later_correlation=after,
        correlation=moved,
    )


def _correlation_change(
    earlier: Array, later: Array, human: Array, rows: Array, alpha: float
) -> tuple[float, float, Interval]:
    pairs = np.triu_indices(human.shape[1], k=1)
    both = [JudgedScores(human=human, judge=each, rows=rows) for each in (earlier, later)]
    before, after = (float(np.nanmedian(_correlation(pair_moments(each, *pairs)))) for each in both)
    left_out = [_median_without_each(each, *pairs) for each in both]
    return before, after, jackknife_interval(after - before, left_out[1] - left_out[0], alpha=alpha)


@dataclass(frozen=True, eq=False, kw_only=True)
class CombinedJudge:
    """Several judges as one: ``judge`` (N topics × k systems) takes the place of a single judge's scores.

    ``weights`` has the weight of each judge, their mean over folds in a cross-fitted combination.
    """

    judge: Array
    weights: Array


def average_judge(judges: Sequence[Array]) -> CombinedJudge:
    """The mean of several judges' scores."""
    return CombinedJudge(judge=np.mean(judges, axis=0), weights=np.full(len(judges), 1 / len(judges)))


def best_combination(
    human: Array, judges: Sequence[Array], rows: Array, *, folds: int = FOLDS, seed: Seed = 1
) -> CombinedJudge:
    """The linear combination of judges that best explains human differences, cross-fitted.

    A topic with human labels takes the weights that the other folds of such topics give, so that its own labels have no
    part in what the judges say of it; a topic without takes their mean. The weights minimise the squared residuals of
    the differences of all pairs together, and are not limited to positive ones.

    Parameters
    ----------
    human
        n topics × k systems.
    judges
        Of each judge N topics × k systems.
    rows
        The row of the judges' scores that is the same topic, for every row of ``human``.

    References
    ----------
    - T. Zrnic and E. J. Candès, "Cross-prediction-powered inference", PNAS 121 (2024), e2322083121.
    """
    n, folds = len(human), min(folds, len(human))
    if n < 4 or folds < 2:
        raise RequestError("a combination takes four topics with human labels, in two folds or more", fix="Label more.")
    scores = np.stack(judges, axis=-1)
    fold = generator(seed, "judges", "folds").permutation(np.arange(n) % folds)
    weights = np.array([_best_weights(human[fold != each], scores[rows[fold != each]]) for each in range(folds)])
    mean = weights[fold].mean(axis=0)  # as the topics with human labels have them
    combined = scores @ mean
    combined[rows] = np.einsum("tsj,tj->ts", scores[rows], weights[fold])
    return CombinedJudge(judge=combined, weights=mean)


def _best_weights(human: Array, scores: Array) -> Array:
    """Least squares of all pairs' differences about their means, which is that of doubly centred scores."""
    columns = scores.reshape(*human.shape, -1)
    d, e = (each - each.mean(axis=1, keepdims=True) for each in (human, columns))
    d, e = (each - each.mean(axis=0) for each in (d, e))
    return np.asarray(np.linalg.lstsq(e.reshape(d.size, -1), d.ravel(), rcond=1e-9)[0])
