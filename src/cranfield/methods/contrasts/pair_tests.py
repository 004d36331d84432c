"""Every test of pairs by its name: from scores to verdicts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.methods.contrasts.corrections import correction
from cranfield.methods.contrasts.decisions import (
    Drawing,
    Verdicts,
    by_bootstrap,
    by_max_t,
    by_student,
    draw_enough,
    simultaneous,
)
from cranfield.methods.contrasts.estimates import TWO_SIDED, Estimator
from cranfield.methods.contrasts.paired import Pairs
from cranfield.methods.contrasts.pairs import Contrasts
from cranfield.methods.contrasts.rank_tests import RANK_TESTS
from cranfield.methods.contrasts.resampling import Swapped, critical_value, resampled_p, shuffled_ranges
from cranfield.methods.contrasts.tukey import by_range
from cranfield.methods.contrasts.unpaired import UNPAIRED_TESTS, UnpairedMeans
from cranfield.stats.studentized import dunnett_critical, dunnett_tail
from cranfield.stats.tails import TINY
from cranfield.types import Array

FAMILY = ("max-t", "tukey", "dunnett", "tukey-permutation", "tukey-kramer")  # these control the family by themselves
ONE_THRESHOLD = ("tukey", "tukey-permutation")  # one difference decides about all pairs
RESAMPLED = ("max-t", "tukey-permutation", "bootstrap", "permutation")


def estimator_of(test: str, scores: Array, contrasts: Contrasts) -> Pairs | UnpairedMeans:
    """What a test of systems with independent topics estimates contrasts from."""
    return UnpairedMeans(scores, contrasts) if test in UNPAIRED_TESTS else Pairs(scores, contrasts)


def decide(
    estimator: Estimator | UnpairedMeans,
    test: str,
    *,
    correct: str = "holm",
    alpha: float,
    drawing: Drawing,
    shows: str = TWO_SIDED,
    margin: float = 0.0,
) -> Verdicts:
    """The verdicts of a test that ``check_test`` knows.

    Student's t, the bootstrap and max-t take any estimator and what they are to show; the others are two-sided tests of
    no difference on shared topics, or Tukey and Kramer's.
    """
    asked: dict[str, Any] = {"alpha": alpha, "shows": shows, "margin": margin}
    if isinstance(estimator, UnpairedMeans):
        if test == "tukey-kramer":
            return estimator.tukey_kramer(alpha)
        return by_student(estimator.fit(), correct=correct, **asked)
    if test == "max-t":
        return by_max_t(estimator, estimator.fit(), drawing=drawing, **asked)
    if test == "bootstrap":
        return by_bootstrap(estimator, estimator.fit(), correct=correct, drawing=drawing, **asked)
    if test != "t" and isinstance(estimator, Pairs):
        return _on_shared_topics(estimator, test, correct, alpha, drawing)
    return by_student(estimator.fit(), correct=correct, **asked)


def _on_shared_topics(pairs: Pairs, test: str, correct: str, alpha: float, drawing: Drawing) -> Verdicts:
    """By one error term, or by ranks, signs and permutations of the pairs' differences."""
    if test == "dunnett":
        return _dunnett(pairs, alpha)
    if test == "tukey":
        return by_range(pairs.pooled(pairs.squares.residual, _residual_df(pairs)), pairs.scores.shape[1], alpha)
    if test == "tukey-permutation":
        return _shuffled(pairs, alpha, drawing)
    p_value, resamples = (
        _swapped(pairs, correct, alpha, drawing) if test == "permutation" else (_ranked(pairs, test), None)
    )
    p_value = np.where(pairs.sd > 0, np.maximum(p_value, TINY), 1.0)
    plain = by_student(pairs.fit(), correct="none", alpha=alpha)
    interval = f"unadjusted {100 * (1 - alpha):.4g} %"
    adjusted = correction(correct)(p_value)
    return replace(plain, p_value=p_value, p_adjusted=adjusted, interval=interval, correct=correct, resamples=resamples)


def _residual_df(pairs: Pairs) -> float:
    n, m = pairs.scores.shape
    return float((n - 1) * (m - 1))


def _shuffled(pairs: Pairs, alpha: float, drawing: Drawing) -> Verdicts:
    """Tukey's test by permutation: every difference against the ranges of means of shuffled scores."""
    ranges = shuffled_ranges(pairs.held, resamples=drawing.resamples, seed=drawing.seed, progress=drawing.progress)
    estimate = pairs.pooled(pairs.squares.residual, 1.0)
    p_value, margin = resampled_p(ranges, estimate.value), critical_value(ranges, alpha)
    critical = np.divide(margin, estimate.standard_error, out=np.zeros_like(p_value), where=estimate.is_tested)
    return replace(simultaneous(estimate, p_value, p_value, critical, alpha), resamples=drawing.resamples)


def _dunnett(pairs: Pairs, alpha: float) -> Verdicts:
    """Every baseline's comparisons against Dunnett's distribution; with b baselines each at α / b."""
    df = _residual_df(pairs)
    estimate = pairs.pooled(pairs.squares.residual, df)
    baselines = np.unique(pairs.second)
    p_value, critical = np.ones((2, len(pairs.contrasts)))
    for baseline in baselines.tolist():
        mine = pairs.second == baseline
        p_value[mine] = dunnett_tail(np.minimum(np.abs(estimate.t[mine]), 1e9), int(mine.sum()), df)
        critical[mine] = dunnett_critical(alpha / len(baselines), int(mine.sum()), df)
    return simultaneous(estimate, p_value, np.minimum(len(baselines) * p_value, 1.0), critical, alpha)


def _swapped(pairs: Pairs, correct: str, alpha: float, drawing: Drawing) -> tuple[Array, int]:
    """Fisher's permutation test of every pair."""
    places, p_value = np.flatnonzero(pairs.sd > 0), np.ones(len(pairs.contrasts))

    def decided(p_of_places: Array) -> Array:
        p_value[places] = p_of_places
        return correction(correct)(p_value)[places]

    family = 1 if correct == "none" else len(places)
    swapped = Swapped(pairs.held, pairs.contrasts)
    drawn = draw_enough(swapped, places, decided, drawing, alpha=alpha, family=family)
    decided(drawn.p_value)
    return p_value, drawn.resamples


def _ranked(pairs: Pairs, test: str) -> Array:
    """p of a test of signs or ranks of every pair, some pairs at a time."""
    count, run = len(pairs.contrasts), RANK_TESTS[test]
    largest, p_value = _largest_difference(pairs), np.empty(count)
    for start in range(0, count, pairs.at_once):
        part = slice(start, start + pairs.at_once)
        p_value[part] = run(pairs.contrasts.some(part).of(pairs.held), largest)
    return p_value


def _largest_difference(pairs: Pairs) -> float:
    """The largest difference of two scores on a topic, of any pair."""
    ends = [pairs.held[:, np.unique(each)] for each in (pairs.first, pairs.second)]
    over = [(a.max(axis=1) - b.min(axis=1)).max() for a, b in (ends, ends[::-1])]
    return float(max(over))
