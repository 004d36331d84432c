"""Human labels until the corrected interval of a difference is narrow enough: where that stands, and what it costs.

The interval is narrow most often where the variance happens to be underestimated, so that stopping at a width covers
the difference less often than 1 − α. How often is simulated: studies like this one on its own topics.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.contrasts.pairs import all_pairs
from cranfield.methods.design import Design, Goal, Judged, achieved
from cranfield.methods.judging.estimators import JudgedScores, Moments, pair_moments, regression
from cranfield.runtime.random import Seed, generator
from cranfield.stats.roots import smallest_integer
from cranfield.types import Array

FIRST, STEP, STUDIES = 20, 5, 4000
"""Topics at the first look and between looks, and simulated studies."""


@dataclass(frozen=True, kw_only=True)
class WidthStatus:
    """Where a study that labels topics until an interval is narrow enough stands.

    ``width`` is that of the interval from ``lower`` to ``upper``, ``target`` the one to reach. ``more`` topics are
    expected to be missing, None where all judged topics do not suffice. ``coverage`` is how often such studies cover
    the true difference when they stop, in ``studies`` simulated ones of ``stopped_at`` topics on average.
    """

    topics: int
    judged_topics: int
    difference: float
    lower: float
    upper: float
    target: float
    alpha: float
    sd: float
    judge_correlation: float
    first: int
    step: int
    more: int | None
    coverage: float
    stopped_at: float
    studies: int

    @property
    def width(self) -> float:
        return self.upper - self.lower

    @property
    def enough(self) -> bool:
        """Whether the interval is narrow enough, and not looked at too early."""
        return self.width <= self.target and self.topics >= self.first


def width_status(
    scores: JudgedScores,
    *,
    width: float,
    alpha: float = 0.05,
    first: int = FIRST,
    step: int = STEP,
    studies: int = STUDIES,
    seed: Seed = 1,
) -> WidthStatus:
    """Estimate the difference of two systems, and whether its interval is narrow enough.

    Parameters
    ----------
    scores
        Those of the two systems; the topics with human labels were drawn at random from the judged ones.
    width
        The width to reach.
    first, step
        Topics with human labels at the first look, and between looks.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> judge = rng.normal(size=(200, 2))
    >>> human = judge[:30] + 0.5 * rng.normal(size=(30, 2))
    >>> status = width_status(JudgedScores(human=human, judge=judge, rows=np.arange(30)), width=0.4, studies=400)
    >>> status.enough, status.more > 0
    (False, True)
    """
    if scores.systems != 2 or not width > 0 or not Judged.fewest <= first <= scores.judged_topics or step < 1:
        raise RequestError(
            "two systems, a width above 0, and looks at topics among the judged ones are needed",
            fix=f"Look first at {Judged.fewest} topics or more, at most at the judged ones.",
        )
    moments = pair_moments(scores, all_pairs(2))
    estimate = regression(moments)
    lower, upper = (float(end[0]) for end in estimate.interval(alpha))
    r = float(moments.products[0] / np.sqrt(max(moments.human_squares[0] * moments.judge_squares[0], 1e-300)))
    sd = float(np.sqrt(moments.human_squares[0] / (scores.topics - 1)))
    d, e = (all_pairs(2).of(labels)[:, 0] for labels in (scores.human, scores.judge_beside_human))
    # Topics with both label sets are the population: as many as were judged are drawn from it.
    rows = generator(seed, "judges", "stopping").integers(0, len(d), (scores.judged_topics, studies))
    coverage, stopped_at = stopped(d[rows], e[rows], float(d.mean()), width=width, alpha=alpha, first=first, step=step)
    return WidthStatus(
        topics=scores.topics,
        judged_topics=scores.judged_topics,
        difference=float(estimate.value[0]),
        lower=lower,
        upper=upper,
        target=width,
        alpha=alpha,
        sd=sd,
        judge_correlation=r,
        first=first,
        step=step,
        more=_more_topics(scores, width, sd, min(abs(r), 0.999), alpha),
        coverage=coverage,
        stopped_at=stopped_at,
        studies=studies,
    )


def _more_topics(scores: JudgedScores, width: float, sd: float, r: float, alpha: float) -> int | None:
    """Topics with human labels that are expected to be missing; None where all judged topics do not suffice."""
    whole = scores.judged_topics
    if not sd > 0:
        return None
    judged, goal = Judged(sd=sd, judge_correlation=r, judged_topics=whole), Goal("width", at_least=None)
    counts, reached = smallest_integer(
        lambda n, _: achieved(Design(topics=n, alpha=alpha, spread=judged), goal) <= width,
        np.array([float(scores.topics)]),
        lowest=Judged.fewest,
        highest=whole,
    )
    return max(int(counts[0]) - scores.topics, 1) if reached[0] else None


def stopped(
    human: Array, judge: Array, truth: float, *, width: float, alpha: float, first: int, step: int
) -> tuple[float, float]:
    """How often studies in columns (topics × studies) cover the truth, and the topics that they label on average.

    Each study stops at its first narrow interval.
    """
    total, studies = judge.shape
    whole = Moments.of(human, judge)
    is_open, covered, topics = np.ones(studies, bool), np.zeros(studies, bool), np.zeros(studies)
    for n in [*range(first, total, step), total]:
        labelled = Moments.of(human[:n], judge[:n])
        two_phase = {"judged_topics": total, "whole_mean": whole.whole_mean, "whole_squares": whole.whole_squares}
        lower, upper = regression(replace(labelled, **two_phase)).interval(alpha)
        stops = is_open & ((upper - lower <= width) | (n == total))
        covered |= stops & (lower <= truth) & (truth <= upper)
        topics[stops] = n
        is_open &= ~stops
        if not is_open.any():
            break
    return float(covered.mean()), float(topics.mean())
