"""Which systems differ, from human labels on some topics and a judge's on all: ranking, groups and pairs.

The family is controlled by Holm's correction of the p-values of pairs (default), or by the largest |t| of all pairs
in resamples of the topics (max-t). On TREC Deep Learning 2019 with equal systems (human labels permuted within
topics) some pair is called different in .000–.022 of samples by Holm's correction (four judges; 10, 15 and 25 human
topics among 43 and 200), and in .000–.005 by max-t (one judge, 43). With 15 human topics among 200 Holm's correction
finds 18 % of the pairs of the real systems, max-t 9 %, human labels alone 6 %. Flipping the signs of whole topics
would find 22 %, and errs up to .10. `scripts/judge_error_rates.py` prints the error rates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.comparison.anova import TINY
from cranfield.methods.comparison.families import Pairs, percent
from cranfield.methods.comparison.maxima import (
    ALONE,
    DRAWS,
    LEAST_VARIANCE,
    PAIRS,
    SIDE,
    CentredPairs,
    largest_t,
    max_t_critical,
    max_t_p,
)
from cranfield.methods.comparison.pairwise import correction, deciding_level, interval_level
from cranfield.methods.comparison.tested_pairs import HeldPairs, PairColumns, adjacent_groups, effect_size
from cranfield.methods.judging.estimators import (
    Estimate,
    JudgedScores,
    Moments,
    estimate_means,
    estimate_pairs,
    find_estimator,
    pair_moments,
)
from cranfield.runtime.random import Seed, generator, sequence
from cranfield.runtime.threads import tasks
from cranfield.types import Array, Progress

RESAMPLES = 10_000
TESTS = ("t", "max-t")
DEFAULT_TEST = "t"
"""With Holm's correction."""


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgedComparison:
    """Systems, best first by their estimated means, and pairs as ranks among them.

    Parameters
    ----------
    order
        The systems (columns of the scores), best first. Everything else is in this order.
    means
        The estimated mean human score of every system, with its own 100(1 − α) % interval by ``means.interval(alpha)``.
    estimates
        The estimated difference of every pair before the family is controlled: degrees of freedom, slopes, and which
        pairs fell back to human labels alone.
    pairs
        Every pair as `compare` has it: differences, simultaneous intervals, p before and after the control of the
        family. Effect sizes (d_z), wins, ties and losses are those of human labels.
    interval
        The kind of the intervals of differences.
    critical
        What |t| must exceed under max-t; nan under other tests.

    Notes
    -----
    Each pair and each system has a slope of its own, so that the estimated difference of a pair is not exactly the
    difference of the two estimated means, and may be negative for neighbours in the ranking.
    """

    estimator: str
    test: str
    correct: str
    alpha: float
    topics: int
    judged_topics: int
    order: Array
    means: Estimate
    estimates: Estimate
    pairs: HeldPairs
    interval: str
    critical: float
    baselines: tuple[int, ...]
    resamples: int | None

    @property
    def significant(self) -> Array:
        """Which pairs differ significantly."""
        return np.asarray(self.pairs.columns.p_adjusted <= self.alpha)

    @property
    def top_group(self) -> tuple[int, ...]:
        """Ranks of the best system and those not significantly different from it; empty with baselines."""
        return () if self.baselines else (0, *self.pairs.not_different(0).tolist())

    def groups(self) -> list[tuple[int, int]]:
        """Return maximal groups of adjacent ranks of which no two differ, as (first, last) positions."""
        return adjacent_groups(self.pairs.last_better)


def compare_judged(
    scores: JudgedScores,
    *,
    estimator: str = "regression",
    test: str = DEFAULT_TEST,
    correct: str = "holm",
    alpha: float = 0.05,
    baselines: Sequence[int] = (),
    resamples: int = RESAMPLES,
    seed: Seed = 1,
    progress: Progress | None = None,
) -> JudgedComparison:
    """Compare all systems, or all systems with some baselines.

    Parameters
    ----------
    estimator
        ``regression`` (default), ``ppi``, ``human`` or ``judge``.
    test
        ``t`` (default) with the correction ``correct``: ``holm`` (default), ``bh`` or ``none``; one pair needs none.
        ``max-t``: the largest |t| of all pairs, topics drawn with replacement.
    baselines
        Columns of the systems that the others are compared with; differences are candidate minus baseline.
    """
    means = estimate_means(scores, estimator)
    order = np.argsort(-means.value, kind="stable")
    ranked = scores.chosen(order)
    places = tuple(int(np.flatnonzero(order == at)[0]) for at in baselines)
    first, second = _pairs(scores.systems, places)
    if test not in TESTS:
        raise RequestError(f"there is no test «{test}» of judged scores", fix=f"Choose one of: {', '.join(TESTS)}.")
    estimates = estimate_pairs(ranked, estimator, first=first, second=second)
    if test == "max-t":
        stream = sequence(seed, "judges", "max-t", estimator)
        largest = largest_judged_t(
            ranked, estimator, first=first, second=second, resamples=resamples, seed=stream, progress=progress
        )
        verdicts = _simultaneous(estimates, largest, alpha)
    else:
        verdicts = _corrected(estimates, "none" if len(first) == 1 else correct, alpha)
    p_value, p_adjusted, critical, interval = verdicts
    error = np.where(estimates.standard_error > 0, estimates.standard_error, np.nan)
    return JudgedComparison(
        estimator=estimator,
        test=test,
        correct="none" if test == "max-t" or len(first) == 1 else correct,
        alpha=alpha,
        topics=scores.topics,
        judged_topics=scores.judged_topics,
        order=order,
        means=_chosen(means, order),
        estimates=estimates,
        pairs=_held(ranked, first, second, estimates, critical * error, p_value, p_adjusted, alpha),
        interval=interval,
        critical=float(np.max(critical)) if test == "max-t" else float("nan"),
        baselines=places,
        resamples=resamples if test == "max-t" else None,
    )


def _pairs(systems: int, baselines: tuple[int, ...]) -> tuple[Array, Array]:
    """All pairs, or all candidates with each baseline, which is second; two baselines are one pair."""
    if not baselines:
        first, second = np.triu_indices(systems, k=1)
        return first, second
    rank = {place: number for number, place in reversed([*enumerate(baselines)])}
    listed = [
        (at, place) for number, place in enumerate(baselines) for at in range(systems) if rank.get(at, systems) > number
    ]
    if not listed:
        raise RequestError("every system is a baseline", fix="Leave out `baseline` to compare all pairs.")
    first, second = np.array(listed).T
    return first, second


def _chosen(estimate: Estimate, places: Array) -> Estimate:
    return Estimate(**{name: column[places] for name, column in vars(estimate).items()})


def _simultaneous(estimates: Estimate, largest: Array, alpha: float) -> tuple[Array, Array, Array, str]:
    """p by the largest |t| of all pairs; and what |t| must exceed."""
    vary = estimates.standard_error > 0
    p_value = np.where(vary, np.maximum(max_t_p(largest, estimates.t, estimates.df), TINY), 1.0)
    critical = max_t_critical(largest, alpha, estimates.df, len(vary))
    return p_value, p_value, critical, f"simultaneous {percent(alpha)}"


def _corrected(estimates: Estimate, correct: str, alpha: float) -> tuple[Array, Array, Array, str]:
    """p of every pair by itself, corrected; and what |t| must exceed at the level that decides as they do."""
    from cranfield.stats.tails import t_critical

    p_adjusted = correction(correct)(estimates.p_value)
    level = deciding_level(p_adjusted <= alpha, correct, alpha)
    interval = interval_level(p_adjusted <= alpha, correct, alpha)
    return estimates.p_value, p_adjusted, t_critical(level / 2, estimates.df), interval


def _held(
    ranked: JudgedScores,
    first: Array,
    second: Array,
    estimates: Estimate,
    reach: Array,
    p_value: Array,
    p_adjusted: Array,
    alpha: float,
) -> HeldPairs:
    facts = Pairs(ranked.human, first, second)
    wins, ties, losses = facts.wins
    columns = PairColumns(
        place=np.arange(len(first)),
        first=first,
        second=second,
        difference=estimates.value,
        standard_error=estimates.standard_error,
        lower=estimates.value - reach,
        upper=estimates.value + reach,
        effect_size=effect_size(facts),
        p_value=p_value,
        p_adjusted=p_adjusted,
        wins=wins,
        ties=ties,
        losses=losses,
    )
    return HeldPairs(columns, ranked.systems, alpha)


def largest_judged_t(
    scores: JudgedScores,
    estimator: str = "regression",
    *,
    first: Array,
    second: Array,
    resamples: int = RESAMPLES,
    seed: Seed = 1,
    progress: Progress | None = None,
) -> Array:
    """The largest |t| of all pairs in each of ``resamples`` resamples of the topics; in order.

    Labels of one kind alone are resampled as `compare` does.
    """
    if estimator in _ONE_KIND:
        return _largest_alone(_ONE_KIND[estimator](scores), first, second, resamples, seed, progress)
    sizes = [min(DRAWS, resamples - done) for done in range(0, resamples, DRAWS)]
    streams = [(sequence(seed, number), size) for number, size in enumerate(sizes)]
    rows = _Resampling(scores, estimator, first, second)
    return np.sort(np.concatenate(tasks(_drawn, streams, shared=rows, progress=progress)))


_ONE_KIND: dict[str, Callable[[JudgedScores], Array]] = {
    "human": lambda scores: scores.human,
    "judge": lambda scores: scores.judge,
}


def _largest_alone(
    table: Array, first: Array, second: Array, resamples: int, seed: Seed, progress: Progress | None
) -> Array:
    sd = Pairs(table, first, second).sd
    vary = sd > 0
    rows = CentredPairs(table - table.mean(axis=0), first[vary], second[vary], sd[vary])
    return largest_t(rows, resamples=resamples, seed=seed, progress=progress)


@dataclass(frozen=True, eq=False)
class _Resampling:
    scores: JudgedScores
    estimator: str
    first: Array
    second: Array


def _drawn(rows: _Resampling, stream: tuple[np.random.SeedSequence, int]) -> Array:
    """The largest |t| of each resample of one stream."""
    source, size = stream
    largest, estimate = np.zeros(size), find_estimator(rows.estimator)
    for start in range(0, len(rows.first), PAIRS):
        first, second = (each[start : start + PAIRS] for each in (rows.first, rows.second))
        seen = estimate(pair_moments(rows.scores, first, second))
        again = estimate(_redrawn_moments(rows.scores, first, second, source, size))
        least = np.sqrt(LEAST_VARIANCE) * seen.standard_error
        error = np.maximum(again.standard_error, least)
        gaps = np.abs(again.value - seen.value)
        t = np.divide(gaps, error, out=np.zeros_like(gaps), where=least > 0)
        np.maximum(largest, t.max(axis=1, initial=0.0), out=largest)
    return largest


def _redrawn_moments(
    scores: JudgedScores, first: Array, second: Array, source: np.random.SeedSequence, size: int
) -> Moments:
    """Moments when topics are drawn with replacement: those with human labels, and the others."""
    moments, n, whole = pair_moments(scores, first, second), scores.topics, scores.judged_topics
    others = np.setdiff1d(np.arange(whole), scores.rows)
    rng = generator(source)
    mine = rng.multinomial(n, np.full(n, 1 / n), size=size).astype(float)
    human, judge = (each[:, first] - each[:, second] for each in (scores.human, scores.judge_beside_human))
    human, judge_centre = human - human.mean(axis=0), judge.mean(axis=0)
    judge = judge - judge_centre
    human_mean, judge_mean = _summed(mine, human) / n, _summed(mine, judge) / n
    human_squares = np.maximum(_summed(mine, human**2) - n * human_mean**2, 0)
    judge_squares = _summed(mine, judge**2) - n * judge_mean**2
    judge_squares = np.where(judge_squares > 1e-9 * moments.judge_squares, judge_squares, 0.0)  # else only rounding
    products = _summed(mine, human * judge) - n * human_mean * judge_mean
    total, square = n * judge_mean, judge_squares + n * judge_mean**2
    if len(others):
        rest = rng.multinomial(len(others), np.full(len(others), 1 / len(others)), size=size).astype(float)
        gaps = scores.judge[others][:, first] - scores.judge[others][:, second] - judge_centre
        total = total + _summed(rest, gaps)
        square = square + _summed(rest, gaps**2)
    return Moments(
        topics=n,
        judged_topics=whole,
        human_mean=moments.human_mean + human_mean,
        judge_mean=moments.judge_mean + judge_mean,
        whole_mean=judge_centre + total / whole,
        human_squares=human_squares,
        judge_squares=judge_squares,
        products=products,
        whole_squares=np.maximum(square - total**2 / whole, 0),
    )


def _summed(weights: Array, columns: Array) -> Array:
    """``weights @ columns`` in products so small that BLAS starts no threads, which would get in the way of ours."""
    size, n = weights.shape
    side = max(SIDE, int(np.sqrt(ALONE / n)))
    missing = -columns.shape[1] % side
    filled = np.pad(columns, ((0, 0), (0, missing))) if missing else columns
    stacked = np.ascontiguousarray(filled.reshape(n, -1, side).swapaxes(0, 1))
    sums = [np.matmul(weights[start : start + side], stacked) for start in range(0, size, side)]
    return np.concatenate(sums, axis=1).swapaxes(0, 1).reshape(size, -1)[:, : columns.shape[1]]
