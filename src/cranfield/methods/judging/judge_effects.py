"""What a judge does to a comparison: correlation of paired differences, favoured systems, drift, several judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from cranfield.errors import InputError, RequestError
from cranfield.methods.contrasts.anova import TINY
from cranfield.methods.contrasts.decisions import Drawing, Verdicts, by_max_t
from cranfield.methods.contrasts.paired import Pairs
from cranfield.methods.contrasts.pairs import Contrasts, against, all_pairs
from cranfield.methods.design.spreads import effective_topics
from cranfield.methods.judging.agreement import Interval, jackknife_interval
from cranfield.methods.judging.estimators import JudgedScores, Moments, pair_moments
from cranfield.runtime.random import Seed, generator, sequence
from cranfield.stats.tails import t_critical
from cranfield.types import Array

RESAMPLES = 10_000
FOLDS = 5
_BLOCK = 2_000_000  # topics × pairs at a time
_MANY = 50  # topics from which on the slope costs next to nothing
_SAMPLES, _PAIRS = 400, 1000  # that measure what it costs with fewer


@dataclass(frozen=True, eq=False, kw_only=True)
class DifferenceCorrelation:
    """The correlation r of a pair's differences under human and under judge's labels, over topics.

    ``of_pairs`` is in the order of ``np.triu_indices``, nan for pairs that do not vary. ``median`` is over pairs, its
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
        middle, low = (max(1 - (1 - each) * (self.topics - 1) / (self.topics - 2), 0.0) for each in squares)
        r = np.sqrt([middle, low, max(*np.square(ends), middle)])
        worth = effective_topics(self.topics, max(judged_topics, self.topics), r, self.leverage)
        return float(worth[0]), float(worth[1]), float(worth[2])


def difference_correlation(scores: JudgedScores, *, alpha: float = 0.05) -> DifferenceCorrelation:
    """Correlate paired differences under human and judge's labels, for all pairs of systems."""
    every = all_pairs(scores.systems)
    of_pairs = _correlation(pair_moments(scores, every))
    if not np.isfinite(of_pairs).any():
        raise InputError(
            "no pair of systems varies under both label sets",
            fix="Check both: on some topics, two systems must have different scores.",
        )
    left_out = _median_without_each(scores, every)
    median = jackknife_interval(float(np.nanmedian(of_pairs)), left_out, alpha=alpha, transform=np.arctanh)
    return DifferenceCorrelation(
        of_pairs=of_pairs,
        median=median,
        topics=scores.topics,
        judged_topics=scores.judged_topics,
        leverage=_leverage(scores, every),
    )


def _leverage(scores: JudgedScores, contrasts: Contrasts) -> float:
    """E[(ē_N − ē_n)²/SS_e] in samples of n of the judged topics over that of normal scores; the median over pairs.

    Differences of few topics that are large, as nDCG has them, leave samples with next to no spread of e.
    """
    n, whole = scores.topics, scores.judged_topics
    normal = (1 / n - 1 / whole) / max(n - 3, TINY)
    if n == whole or n >= _MANY:
        return 1.0
    rng = generator(0, "judges", "leverage")
    some = contrasts.some(slice(None, None, -(-len(contrasts) // _PAIRS)))
    gaps = some.of(scores.judge - scores.judge.mean(axis=0))
    total, counts = np.zeros(len(some)), np.zeros(len(some))
    for _ in range(_SAMPLES):
        drawn = gaps[rng.choice(whole, n, replace=False)]
        mean = drawn.mean(axis=0)
        squares = np.square(drawn).sum(axis=0) - n * mean**2
        vary = squares > 1e-9 * np.square(gaps).mean(axis=0)
        total[vary] += mean[vary] ** 2 / squares[vary]
        counts += vary
    known = counts > 0
    return float(np.median(total[known] / counts[known])) / normal if known.any() else 1.0


def _correlation(moments: Moments) -> Array:
    scale = np.sqrt(moments.human_squares * moments.judge_squares)
    return np.asarray(np.divide(moments.products, scale, out=np.full(np.shape(scale), np.nan), where=scale > 0))


def _median_without_each(scores: JudgedScores, contrasts: Contrasts) -> Array:
    """The median r over pairs without each topic in turn."""
    n, judge = scores.topics, scores.judge_beside_human
    median = np.empty(n)
    moments = pair_moments(scores, contrasts)
    step = max(1, _BLOCK // len(contrasts))
    for start in range(0, n, step):
        part = slice(start, start + step)
        d = contrasts.of(scores.human[part]) - moments.human_mean
        e = contrasts.of(judge[part]) - moments.judge_mean
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


COMMON = ("shift", "line", "curve")
"""What a judge may do to all systems without favouring any."""
QUESTIONS = {"shift": "shift", "departure": "curve"}
"""What is asked about favour, and the common effect that answers it."""
FEWEST_FOR_CURVE = 8
"""Systems below which no departure from a curve through the others is looked for."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Favour:
    """Which systems, or groups of systems, a judge favours.

    ``value`` is how much the mean of a system under the judge's labels exceeds what ``common`` predicts from its mean
    under human labels. Intervals are simultaneous, and exclude 0 exactly when p ≤ α. All are nan (p is 1) where
    nothing can be said: the judge departs from the human scores by the same on every topic, or too few systems are left
    to fit ``common`` to.
    """

    common: str
    value: Array
    standard_error: Array
    lower: Array
    upper: Array
    p_value: Array
    alpha: float
    resamples: int

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
    common: str = "shift",
    groups: Array | None = None,
    alpha: float = 0.05,
    resamples: int = RESAMPLES,
    seed: Seed = 1,
) -> Favour:
    """Find the systems that a judge favours, with the error rate controlled over all of them (max-t over topics).

    Parameters
    ----------
    common
        What counts as no favour. ``shift`` (default): the judge scores all systems higher by the same; any other
        difference distorts comparisons. ``curve``: its means are a quadratic function of the human ones, as where the
        best systems of a lenient judge come close to the highest score; what departs from it is a preference for the
        system as such. ``line``: a linear function of them.
    groups
        The number of the group of every system, from 0, such as its team: groups are tested instead of systems.

    Notes
    -----
    A line or a curve is fitted to the means of the other systems, or of the systems of other groups. Standard errors
    and the resampled largest |t| are those of jackknife pseudo-values over topics.

    On TREC Deep Learning 2019 (37 runs, 43 topics, four judges made to favour none) some system is named in .01–.05 of
    samples with ``curve`` and .01–.07 with ``shift``. As they are, the three Llama judges distort comparisons in favour
    of lexical runs (``shift``: 3 to 7 runs are favoured), and none of the four favours a run beyond the curve.
    """
    if common not in COMMON:
        raise RequestError(f"there is no common effect «{common}»", fix=f"Choose one of: {', '.join(COMMON)}.")
    members = None if groups is None else [np.flatnonzero(groups == at) for at in range(int(np.max(groups)) + 1)]
    human, judge, n = scores.human, scores.judge_beside_human, scores.topics
    value = _departures(human.mean(axis=0), judge.mean(axis=0), common, members)
    sums = human.sum(axis=0), judge.sum(axis=0)
    left_out = np.array(
        [
            _departures((sums[0] - h) / (n - 1), (sums[1] - j) / (n - 1), common, members)
            for h, j in zip(human, judge, strict=True)
        ]
    )
    pseudo = n * value - (n - 1) * left_out
    error = pseudo.std(axis=0, ddof=1) / np.sqrt(n)
    vary = error > 1e-9 * max(float(np.abs(human).max()), float(np.abs(judge).max()), TINY)  # and not nan
    verdicts = _of_columns(pseudo[:, vary], value[vary], alpha, resamples, seed)
    reach, p_values = np.full(len(value), np.nan), np.ones(len(value))
    if verdicts is not None:
        reach[vary], p_values[vary] = verdicts.upper - value[vary], verdicts.p_adjusted
    return Favour(
        common=common,
        value=value,
        standard_error=error,
        lower=value - reach,
        upper=value + reach,
        p_value=p_values,
        alpha=alpha,
        resamples=resamples,
    )


def both_favours(scores: JudgedScores, **settings: Any) -> dict[str, Favour]:
    """Which systems a judge favours, by the question.

    ``shift``: does it raise or lower a system's mean relative to those of the others, so that it distorts comparisons?
    ``departure``: does the mean depart from a curve through the others, so that leniency does not explain it? It is
    not asked of fewer than 8 systems.
    """
    few = scores.systems < FEWEST_FOR_CURVE
    asked = {name: common for name, common in QUESTIONS.items() if common != "curve" or not few}
    return {name: favour(scores, common=common, **settings) for name, common in asked.items()}


def _of_columns(columns: Array, value: Array, alpha: float, resamples: int, seed: Seed) -> Verdicts | None:
    """Which of some values differ from 0, by max-t over the topics of their pseudo-values."""
    n, count = columns.shape
    if not count:
        return None
    with_zero = np.column_stack([columns - columns.mean(axis=0) + value, np.zeros(n)])  # a pair: a column and nothing
    pairs = Pairs(with_zero, against(count + 1, [count]))
    drawing = Drawing(resamples=resamples, seed=sequence(seed, "judges", "favour"))
    return by_max_t(pairs, pairs.fit(), alpha=alpha, drawing=drawing)


def _departures(human: Array, judge: Array, common: str, members: list[Array] | None) -> Array:
    """How far the judge's means are above what those of the other systems, or of other groups, predict."""
    if common == "shift":
        above = judge - human - (judge - human).mean()
        return np.asarray(above if members is None else [above[each].mean() for each in members])
    degree = {"line": 1, "curve": 2}[common]
    spread = float(np.ptp(human)) or 1.0
    terms = ((human - human.mean()) / spread)[:, np.newaxis] ** np.arange(degree + 1)
    basis = np.linalg.qr(terms)[0]
    residual = judge - basis @ (basis.T @ judge)
    if members is None:
        own = 1 - np.square(basis).sum(axis=1)
        return np.asarray(np.divide(residual, own, out=np.full(len(own), np.nan), where=own > 1e-6))
    return np.array([_departure(residual[each], basis[each], len(human) - degree - 2) for each in members])


def _departure(residual: Array, basis: Array, most: int) -> float:
    """The mean residual of a group from a fit to all other systems: (I − H)⁻¹r, H the part of the group in the fit."""
    if not 0 < len(residual) <= most:
        return float("nan")
    own = np.eye(len(residual)) - basis @ basis.T
    return float(np.linalg.lstsq(own, residual, rcond=1e-9)[0].mean())


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
    every = all_pairs(human.shape[1])
    both = [JudgedScores(human=human, judge=each, rows=rows) for each in (earlier, later)]
    before, after = (float(np.nanmedian(_correlation(pair_moments(each, every)))) for each in both)
    left_out = [_median_without_each(each, every) for each in both]
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
