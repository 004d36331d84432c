"""Which systems differ, from human labels on some topics and a judge's on all: ranking, groups and pairs.

The family is controlled by Holm's correction of the p-values of pairs (default), or by the largest |t| of all pairs
in resamples of the topics (max-t). On TREC Deep Learning 2019 with equal systems (human labels permuted within
topics) some pair is called different in .000–.022 of samples by Holm's correction (four judges; 10, 15 and 25 human
topics among 43 and 200), and in .000–.005 by max-t (one judge, 43). With 15 human topics among 200 Holm's correction
finds 18 % of the pairs of the real systems, max-t 9 %, human labels alone 6 %. Flipping the signs of whole topics
would find 22 %, and errs up to .10. `scripts/judge_error_rates.py` prints the error rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cranfield.errors import Caution, RequestError
from cranfield.methods.contrasts.comparison import Comparison, LabelsUsed
from cranfield.methods.contrasts.decisions import RESAMPLES, Drawing, by_max_t, by_student
from cranfield.methods.contrasts.estimates import Estimate, Estimator
from cranfield.methods.contrasts.paired import Pairs
from cranfield.methods.contrasts.pairs import Contrasts, all_pairs, chosen_pairs
from cranfield.methods.contrasts.resampling import summed, topic_weights
from cranfield.methods.contrasts.tested_pairs import decided_pairs, named_facts
from cranfield.methods.contrasts.tukey import Intervals
from cranfield.methods.judging.estimators import (
    JudgedEstimate,
    JudgedScores,
    Moments,
    estimate_means,
    estimate_pairs,
    find_estimator,
    pair_moments,
)
from cranfield.runtime.random import sequence
from cranfield.stats.family import DEFAULT_TEST
from cranfield.types import Array, Progress

TESTS = ("t", "max-t")


@dataclass(frozen=True, eq=False)
class JudgedPairs:
    """Contrasts of systems from human labels on some topics and a judge's on all of them."""

    scores: JudgedScores
    contrasts: Contrasts
    name: str = "regression"

    @property
    def topics(self) -> int:
        return self.scores.topics

    @cached_property
    def _estimate(self) -> JudgedEstimate:
        return estimate_pairs(self.scores, self.name, self.contrasts)

    def fit(self) -> JudgedEstimate:
        return self._estimate

    def draw(self, rng: np.random.Generator, size: int) -> tuple[Array, Array]:
        """How often topics with human labels are drawn, and the others among themselves."""
        return topic_weights(rng, self.topics, size), topic_weights(rng, max(len(self._others), 1), size)

    def redrawn(self, drawn: tuple[Array, Array], places: Array) -> tuple[Array, Array]:
        again = find_estimator(self.name)(self._redrawn_moments(drawn, self.contrasts.some(places)))
        return again.value - self.fit().value[places], again.standard_error

    @cached_property
    def _others(self) -> Array:
        return np.setdiff1d(np.arange(self.scores.judged_topics), self.scores.rows)

    def _redrawn_moments(self, drawn: tuple[Array, Array], contrasts: Contrasts) -> Moments:
        mine, rest = drawn
        scores, n = self.scores, self.topics
        moments = pair_moments(scores, contrasts)
        human, judge = contrasts.of(scores.human), contrasts.of(scores.judge_beside_human)
        human, centre = human - human.mean(axis=0), judge.mean(axis=0)
        judge = judge - centre
        human_mean, judge_mean = summed(mine, human) / n, summed(mine, judge) / n
        human_squares = np.maximum(summed(mine, human**2) - n * human_mean**2, 0)
        judge_squares = summed(mine, judge**2) - n * judge_mean**2
        judge_squares = np.where(judge_squares > 1e-9 * moments.judge_squares, judge_squares, 0.0)  # else only rounding
        products = summed(mine, human * judge) - n * human_mean * judge_mean
        total, square = n * judge_mean, judge_squares + n * judge_mean**2
        if len(self._others):
            gaps = contrasts.of(scores.judge[self._others]) - centre
            total, square = total + summed(rest, gaps), square + summed(rest, gaps**2)
        return Moments(
            topics=n,
            judged_topics=scores.judged_topics,
            human_mean=moments.human_mean + human_mean,
            judge_mean=moments.judge_mean + judge_mean,
            whole_mean=centre + total / scores.judged_topics,
            human_squares=human_squares,
            judge_squares=judge_squares,
            products=products,
            whole_squares=np.maximum(square - total**2 / scores.judged_topics, 0),
        )


def judged_estimator(scores: JudgedScores, contrasts: Contrasts, name: str) -> Estimator:
    """Labels of one kind alone are a table like any other."""
    if name == "human":
        return Pairs(scores.human, contrasts)
    return Pairs(scores.judge, contrasts) if name == "judge" else JudgedPairs(scores, contrasts, name)


def compare_judged(
    scores: JudgedScores,
    *,
    names: Sequence[str] = (),
    measure: str = "score",
    judge: str = "judge",
    estimator: str = "regression",
    test: str = DEFAULT_TEST,
    correct: str = "holm",
    alpha: float = 0.05,
    baselines: Sequence[int] = (),
    resamples: int = RESAMPLES,
    seed: int = 1,
    warnings: tuple[Caution, ...] = (),
    progress: Progress | None = None,
) -> Comparison:
    """Compare all systems, or all systems with some baselines.

    The mean of a system is that which its differences from all others give, so that means and differences agree. Each
    difference has a slope of its own, so that they do so nearly, and exactly for two systems. Effect sizes (d_z), wins,
    ties and losses are those of human labels.

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
    if test not in TESTS:
        raise RequestError(f"there is no test «{test}» of judged scores", fix=f"Choose one of: {', '.join(TESTS)}.")
    names = names or [str(at) for at in range(scores.systems)]
    own = estimate_means(scores, estimator)
    means = agreeing_means(own.value, estimate_pairs(scores, estimator).value)
    order = np.argsort(-means, kind="stable")
    ranked = scores.chosen(order)
    contrasts = chosen_pairs(scores.systems, [int(np.flatnonzero(order == at)[0]) for at in baselines])
    fitted = judged_estimator(ranked, contrasts, estimator)
    estimate: Estimate = fitted.fit()
    correct = "none" if len(contrasts) == 1 else correct
    if test == "max-t":
        stream = sequence(seed, "judges", "max-t", estimator)
        drawing = Drawing(resamples=resamples, seed=stream, progress=progress)
        verdicts = by_max_t(fitted, estimate, alpha=alpha, drawing=drawing)
    else:
        verdicts = by_student(estimate, correct=correct, alpha=alpha)
    people = Pairs(ranked.human, contrasts)
    facts = named_facts(people.effect_size, people.wins, people.approximate)
    fallback = getattr(estimate, "fallback", np.zeros(0))
    lower, upper = own.interval(alpha)
    return Comparison(
        measure=measure,
        test=test,
        correct="none" if test == "max-t" else correct,
        alpha=alpha,
        topics=scores.judged_topics if estimator == "judge" else scores.topics,
        systems=tuple(names[at] for at in order.tolist()),
        means=means[order],
        intervals=Intervals(tukey=float("nan"), anova=float("nan"), standard_error=((upper - lower) / 2)[order]),
        pairs=decided_pairs(contrasts, scores.systems, estimate, verdicts, facts=facts),
        interval=verdicts.interval,
        denominator="sd of the differences",
        baselines=tuple(names[at] for at in baselines),
        seed=seed if verdicts.resamples else None,
        resamples=verdicts.resamples,
        warnings=warnings,
        labels=LabelsUsed(
            judge=judge,
            estimator=estimator,
            judged_topics=scores.judged_topics,
            fallback=int(np.count_nonzero(fallback)),
        ),
    )


def agreeing_means(own: Array, differences: Array) -> Array:
    """Means with the average of systems' own estimates, and with the average of each system's differences.

    >>> agreeing_means(np.array([0.9, 0.3]), np.array([0.2])).tolist()
    [0.7, 0.5]
    """
    pairs = all_pairs(len(own))
    total = np.zeros(len(own))
    np.add.at(total, pairs.first, differences)
    np.add.at(total, pairs.second, -differences)
    return np.asarray(own.mean() + total / len(own))
