"""From estimates to verdicts: p, adjusted p and the intervals that agree with them.

Every comparison decides here, whatever its contrasts are estimated from: all pairs, pairs with baselines, gates and
margins, clusters, judges and boards.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.methods.contrasts.corrections import correction, covered, deciding_level, interval_level
from cranfield.methods.contrasts.estimates import GREATER, TWO_SIDED, WITHIN, Estimate, Estimator
from cranfield.methods.contrasts.resampling import (
    Resampler,
    Studentised,
    critical_value,
    doubled,
    exceeded,
    quantiles,
    streams,
)
from cranfield.runtime.random import Seed
from cranfield.stats.family import FEW_TO_RESAMPLE
from cranfield.stats.tails import TINY, t_critical
from cranfield.types import Array, Progress

RESAMPLES = 10_000
DOUBT, FURTHER = 2.0, 16  # standard errors around α, and how many times more are drawn where a p is so near to it
MOST_STATISTICS = 500_000_000  # resamples × contrasts, where all contrasts are drawn together


@dataclass(frozen=True, eq=False, kw_only=True)
class Verdicts:
    """What was shown of every contrast: p, adjusted p, and the interval that decides.

    A contrast is ``shown`` exactly when its interval excludes what is to be rejected: 0, differences of −``margin`` or
    less, or those outside ± ``margin``. Intervals called unadjusted need not agree. ``level`` is that of each end that
    decides, and ``interval`` says how much the interval covers.
    """

    p_value: Array
    p_adjusted: Array
    lower: Array
    upper: Array
    interval: str
    alpha: float
    level: float = float("nan")
    correct: str = "none"
    margin: float = 0.0
    resamples: int | None = None

    @property
    def shown(self) -> Array:
        return np.asarray(self.p_adjusted <= self.alpha)

    def turned(self) -> Verdicts:
        """The same of contrasts with the other sign."""
        return replace(self, lower=-self.upper, upper=-self.lower)


@dataclass(frozen=True, eq=False, kw_only=True)
class Drawing:
    """How a test by resampling draws: at first this many resamples, and ``further`` where the seed would decide."""

    resamples: int = RESAMPLES
    seed: Seed = 1
    further: bool = True
    progress: Progress | None = None


def by_student(
    estimate: Estimate, *, correct: str = "holm", alpha: float, shows: str = TWO_SIDED, margin: float = 0.0
) -> Verdicts:
    """Student's t of every contrast, corrected for their number."""
    p_value = estimate.p(shows, margin)
    p_adjusted = correction(correct)(p_value)
    return _with_intervals(estimate, p_value, p_adjusted, correct=correct, alpha=alpha, shows=shows, margin=margin)


def _with_intervals(
    estimate: Estimate, p_value: Array, p_adjusted: Array, *, correct: str, alpha: float, shows: str, margin: float
) -> Verdicts:
    """The ends of t intervals at the level that decides as the corrected p-values did."""
    significant = p_adjusted <= alpha
    level = deciding_level(significant, correct, alpha)
    two_sided = shows == TWO_SIDED
    lower, upper = estimate.ends(t_critical(level / 2 if two_sided else level, estimate.df))
    if shows == GREATER:
        upper = np.where(estimate.is_tested, np.inf, np.nan)
    names = {TWO_SIDED: interval_level(significant, correct, alpha), GREATER: f"{covered(level)} one-sided"}
    return Verdicts(
        p_value=p_value,
        p_adjusted=p_adjusted,
        lower=lower,
        upper=upper,
        interval=names.get(shows) or covered(2 * level),
        alpha=alpha,
        level=level,
        correct=correct,
        margin=margin,
    )


def simultaneous(
    estimate: Estimate, p_value: Array, p_adjusted: Array, critical: Array | float, alpha: float
) -> Verdicts:
    """Verdicts of a test that controls the family by itself; ``critical`` is what |t| must exceed."""
    tested = estimate.is_tested
    lower, upper = estimate.ends(critical)
    p_value, p_adjusted = (np.where(tested, np.maximum(p, TINY), 1.0) for p in (p_value, p_adjusted))
    interval = f"simultaneous {100 * (1 - alpha):.4g} %"
    return Verdicts(
        p_value=p_value, p_adjusted=p_adjusted, lower=lower, upper=upper, interval=interval, alpha=alpha, level=alpha
    )


def by_bootstrap(
    estimator: Estimator,
    estimate: Estimate,
    *,
    correct: str = "holm",
    alpha: float,
    shows: str = TWO_SIDED,
    margin: float = 0.0,
    drawing: Drawing,
) -> Verdicts:
    """t of every contrast against its own t in resamples of the topics, corrected for their number.

    Resamples of few topics have t with tails that are too short: p is at least Student's, and the interval as wide.
    """
    by_t = estimate.p(shows, margin)
    places = np.flatnonzero(estimate.is_tested)
    resampler = _studentised(estimator, estimate, shows=shows, margin=margin)
    p_value = np.ones(len(by_t))

    def decided(p_of_places: Array) -> Array:
        p_value[places] = np.maximum(p_of_places, by_t[places])
        return correction(correct)(p_value)[places]

    family = 1 if correct == "none" else len(places)
    drawn = draw_enough(resampler, places, decided, drawing, alpha=alpha, family=family)
    decided(drawn.p_value)
    p_adjusted = correction(correct)(p_value)
    made = _with_intervals(estimate, p_value, p_adjusted, correct=correct, alpha=alpha, shows=shows, margin=margin)
    critical = np.array(t_critical(made.level / (2 if shows == TWO_SIDED else 1), estimate.df))
    for total in np.unique(drawn.totals).tolist():
        mine = places[drawn.totals == total]
        again = doubled(drawing.resamples, total)
        critical[mine] = np.maximum(quantiles(resampler, mine, made.level, again, drawing.seed), critical[mine])
    lower, upper = estimate.ends(critical)
    return replace(made, lower=lower, upper=made.upper if shows == GREATER else upper, resamples=drawn.resamples)


def by_max_t(
    estimator: Estimator,
    estimate: Estimate,
    *,
    alpha: float,
    shows: str = TWO_SIDED,
    margin: float = 0.0,
    drawing: Drawing,
) -> Verdicts:
    """Step by step, each t against the largest t of the contrasts that remain, in resamples of the topics.

    What t must exceed is the smaller of that quantile and of Bonferroni's t for those that remain, and on fewer than 20
    topics the latter: never more than Holm's correction asks for.

    References
    ----------
    - J. P. Romano and M. Wolf, "Exact and approximate stepdown methods for multiple hypothesis testing", Journal
      of the American Statistical Association 100 (2005), 94–108.
    """
    by_holm = by_student(estimate, correct="holm", alpha=alpha, shows=shows, margin=margin)
    if estimator.topics < FEW_TO_RESAMPLE or not estimate.is_tested.any():
        return replace(by_holm, correct="none")
    resampler = _studentised(estimator, estimate, shows=shows, margin=margin)
    tested = np.flatnonzero(estimate.is_tested)
    places = tested[np.argsort(resampler.observed[tested], kind="stable")]  # the least first, as steps go down to it
    bonferroni = np.minimum(np.arange(1, len(places) + 1) * by_holm.p_value[places], 1.0)

    def decided(p_value: Array) -> Array:  # what Bonferroni's t decides does not depend on resamples
        return np.where(bonferroni <= alpha, 0.0, p_value)

    drawn = draw_enough(resampler, places, decided, drawing, alpha=alpha, family=1, together=True)
    p_adjusted = np.ones(len(by_holm.p_value))
    stepped = np.maximum(np.minimum(drawn.p_value, bonferroni), by_holm.p_value[places])  # at least Student's own
    p_adjusted[places] = np.maximum.accumulate(stepped[::-1])[::-1]  # the largest t is decided first
    rest = places[p_adjusted[places] > alpha]
    rest = rest if len(rest) else places[:1]  # all are shown: the last step was about the least
    largest = exceeded(resampler, rest, doubled(drawing.resamples, drawn.resamples), drawing.seed).largest
    alone, by_t = (
        t_critical(alpha / ((2 if shows == TWO_SIDED else 1) * count), estimate.df) for count in (1, len(rest))
    )
    critical = np.maximum(np.minimum(critical_value(np.sort(largest), alpha), by_t), alone)
    made = simultaneous(estimate, by_holm.p_value, p_adjusted, critical, alpha)
    if shows == GREATER:
        made = replace(made, upper=np.where(estimate.is_tested, np.inf, np.nan), margin=margin)
    kind = "one-sided" if shows == GREATER else "last step of max-t"
    interval = f"{covered(alpha)} {kind}" if shows == GREATER else f"{covered(alpha)} ({kind})"
    return replace(made, interval=interval, resamples=drawn.resamples)


def _studentised(estimator: Estimator, estimate: Estimate, *, shows: str, margin: float) -> Studentised:
    if shows == WITHIN:
        raise ValueError("equivalence is shown by two one-sided t tests")
    one_sided = shows == GREATER
    observed = estimate.t_from(-margin) if one_sided else np.abs(estimate.t)
    return Studentised(estimator, estimate, observed, is_one_sided=one_sided)


@dataclass(frozen=True, eq=False)
class Drawn:
    """How many resamples are at least as extreme as each of some contrasts, of those drawn for it."""

    counts: Array
    totals: Array

    @property
    def p_value(self) -> Array:
        """(b + 1) / (B + 1)."""
        return np.asarray((self.counts + 1) / (self.totals + 1))

    @property
    def resamples(self) -> int:
        """The most that were drawn for a contrast."""
        return int(self.totals.max(initial=0))


def draw_enough(
    resampler: Resampler,
    places: Array,
    decided: Callable[[Array], Array],
    drawing: Drawing,
    *,
    alpha: float,
    family: int,
    together: bool = False,
) -> Drawn:
    """Draw resamples for the contrasts at some places, and twice as many for those whose verdict depends on the seed.

    ``decided`` gives adjusted p-values for those of resamples. A verdict is in doubt where the adjusted p is within two
    of its Monte Carlo standard errors of α, as that of the smallest possible p is where α asks for a smaller one. There
    are at most 16 times as many resamples, or four times as many as the smallest p of ``family`` contrasts needs.
    """
    counts, totals = np.zeros(len(places), np.int64), np.zeros(len(places), np.int64)
    most = max(FURTHER * drawing.resamples, math.ceil(4 * family / alpha))
    if together:
        most = min(most, max(drawing.resamples, MOST_STATISTICS // max(len(places), 1)))
    if not drawing.further:
        most = drawing.resamples
    chosen, new = np.arange(len(places)), streams(drawing.resamples)
    drawn = list(new)
    while len(chosen):
        options: dict[str, Any] = {"together": together, "progress": None if totals.any() else drawing.progress}
        counts[chosen] += exceeded(resampler, places[chosen], new, drawing.seed, **options).counts
        total = totals[chosen] = sum(size for _, size in drawn)
        if 2 * total > most:
            break
        p_value = (counts + 1) / (totals + 1)
        doubtful = _in_doubt(p_value, decided(p_value), alpha, totals) & (totals == total)
        chosen = np.flatnonzero(np.full(len(doubtful), doubtful.any()) if together else doubtful)
        new = streams(total, after=drawn)
        drawn += new
    return Drawn(counts, totals)


def _in_doubt(p_value: Array, p_adjusted: Array, alpha: float, resamples: Array) -> Array:
    """Where another seed might decide otherwise."""
    error = p_adjusted * np.sqrt((1 - p_value) / p_value / resamples)
    return np.asarray((p_value < 1) & (np.abs(p_adjusted - alpha) < DOUBT * error))
