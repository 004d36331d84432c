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

import numpy as np

from cranfield.errors import Caution, RequestError
from cranfield.methods.contrasts.comparison import Comparison, LabelsUsed
from cranfield.methods.contrasts.decisions import RESAMPLES, Drawing, by_max_t, by_student
from cranfield.methods.contrasts.estimates import Estimate
from cranfield.methods.contrasts.paired import Pairs
from cranfield.methods.contrasts.pairs import all_pairs, chosen_pairs
from cranfield.methods.contrasts.tested_pairs import effect_size, held_pairs
from cranfield.methods.contrasts.tukey import Intervals
from cranfield.methods.judging.estimators import JudgedScores, estimate_means, estimate_pairs, judged_estimator
from cranfield.runtime.random import sequence
from cranfield.stats.family import DEFAULT_TEST
from cranfield.types import Array, Progress

TESTS = ("t", "max-t")


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
        pairs=held_pairs(
            contrasts,
            scores.systems,
            estimate,
            verdicts,
            effect_size=effect_size(people),
            wins=people.wins,
            approximate=people.approximate,
        ),
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
