"""Human labels until the corrected interval of a difference is narrow enough: where that stands, and what it costs.

The interval is narrow most often where the variance happens to be underestimated, so that stopping at a width covers
the difference less often than 1 − α. How often is simulated: studies like this one on its own topics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.contrasts.pairs import all_pairs
from cranfield.methods.design import Design, Goal, Judged, achieved
from cranfield.methods.design.labels import FEWEST
from cranfield.methods.judging.estimators import JudgedScores, Moments, estimate_pairs, pair_moments, regression
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

    systems: tuple[str, str]
    measure: str
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

    def to_dict(self) -> dict[str, Any]:
        """One row; the difference and its interval are shown only once the study may stop."""
        own = {name: value for name, value in vars(self).items() if name != "systems"}
        if not self.enough:
            own |= dict.fromkeys(("difference", "lower", "upper"))
        names = dict(zip(("system", "baseline"), self.systems, strict=True))
        return names | own | {"width": self.width, "enough": self.enough}

    def summary(self) -> str:
        """Return the next step, and the error rate of stopping by it."""
        level = f"{100 * (1 - self.alpha):g} %"
        where = (
            f"{self.topics:,} of {self.judged_topics:,} judged topics have human labels, and the {level} interval of "
            f"the difference is {self.width:.4f} wide. "
        )
        return (
            where
            + self._step()
            + (
                f" Of studies that stop by this rule, {100 * self.coverage:.1f} % cover the true difference "
                f"({self.studies:,} simulated on these topics; the interval claims {level})."
            )
        )

    def _step(self) -> str:
        if self.enough:
            system, baseline = self.systems
            return (
                f"It is at most {self.target:g} wide: stop. The difference of {system} and {baseline} is "
                f"{self.difference:.4f} [{self.lower:.4f}, {self.upper:.4f}]."
            )
        if self.topics < self.first:
            return f"The first look is at {self.first:,} topics: label {self.first - self.topics:,} more."
        if self.more is None:
            return f"All judged topics are not enough for {self.target:g}: judge more topics, or accept a wider one."
        return f"Label about {self.more:,} more topics for {self.target:g} (r = {self.judge_correlation:.2f})."


def width_status(
    scores: JudgedScores,
    *,
    width: float,
    systems: tuple[str, str] = ("first", "second"),
    measure: str = "",
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
    >>> found = width_status(JudgedScores(human=human, judge=judge, rows=np.arange(30)), width=0.4, studies=400)
    >>> found.enough, found.more > 0
    (False, True)
    """
    if scores.systems != 2 or not width > 0 or not FEWEST <= first <= scores.judged_topics or step < 1:
        raise RequestError(
            "two systems, a width above 0, and looks at topics among the judged ones are needed",
            fix=f"Look first at {FEWEST} topics or more, at most at the judged ones.",
        )
    moments, estimate = pair_moments(scores, all_pairs(2)), estimate_pairs(scores)
    lower, upper = (float(end[0]) for end in estimate.interval(alpha))
    r = float(moments.products[0] / np.sqrt(max(moments.human_squares[0] * moments.judge_squares[0], 1e-300)))
    sd = float(np.sqrt(moments.human_squares[0] / (scores.topics - 1)))
    coverage, stopped_at = stopping_coverage(
        scores, width=width, alpha=alpha, first=first, step=step, studies=studies, seed=seed
    )
    return WidthStatus(
        systems=systems,
        measure=measure,
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
        lowest=FEWEST,
        highest=whole,
    )
    return max(int(counts[0]) - scores.topics, 1) if reached[0] else None


def stopping_coverage(
    scores: JudgedScores,
    *,
    width: float,
    alpha: float = 0.05,
    first: int = FIRST,
    step: int = STEP,
    studies: int = STUDIES,
    seed: Seed = 1,
) -> tuple[float, float]:
    """How often studies that stop at a width cover the true difference, and how many topics they label on average.

    Topics with both label sets are the population: as many as were judged are drawn from it with replacement.
    """
    rng = generator(seed, "judges", "stopping")
    d, e = (each[:, 0] - each[:, 1] for each in (scores.human, scores.judge_beside_human))
    rows = rng.integers(0, len(d), (scores.judged_topics, studies))
    return stopped(d[rows], e[rows], float(d.mean()), width=width, alpha=alpha, first=first, step=step)


def stopped(
    human: Array, judge: Array, truth: float, *, width: float, alpha: float, first: int, step: int
) -> tuple[float, float]:
    """Coverage and average topics of studies in columns (topics × studies): each stops at its first narrow interval."""
    whole, total = judge.mean(axis=0), len(judge)
    squares = np.square(judge - whole).sum(axis=0)
    is_open, covered, at = np.ones(judge.shape[1], bool), np.zeros(judge.shape[1], bool), np.zeros(judge.shape[1])
    for n in [*range(first, total, step), total]:
        d, e = human[:n], judge[:n]
        means = d.mean(axis=0), e.mean(axis=0)
        d, e = d - means[0], e - means[1]
        moments = Moments(
            topics=n,
            judged_topics=total,
            human_mean=means[0],
            judge_mean=means[1],
            whole_mean=whole,
            human_squares=np.square(d).sum(axis=0),
            judge_squares=np.square(e).sum(axis=0),
            products=(d * e).sum(axis=0),
            whole_squares=squares,
        )
        lower, upper = regression(moments).interval(alpha)
        stops = is_open & ((upper - lower <= width) | (n == total))
        covered |= stops & (lower <= truth) & (truth <= upper)
        at[stops] = n
        is_open &= ~stops
        if not is_open.any():
            break
    return float(covered.mean()), float(at.mean())
