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
from typing import Any

import numpy as np

from cranfield.errors import Caution, RequestError, there_are
from cranfield.methods.contrasts.comparison import Comparison, LabelsUsed
from cranfield.methods.contrasts.decisions import RESAMPLES, Drawing
from cranfield.methods.contrasts.gates import GateScores, GateVerdict, MarginGate, decide_gates
from cranfield.methods.contrasts.pair_tests import decide
from cranfield.methods.contrasts.paired import Pairs
from cranfield.methods.contrasts.pairs import all_pairs, chosen_pairs
from cranfield.methods.contrasts.tested_pairs import decided_pairs, named_facts
from cranfield.methods.contrasts.tukey import Intervals
from cranfield.methods.judging.estimators import JudgedScores, estimate_means, estimate_pairs, judged_estimator
from cranfield.methods.judging.label_sets import MatchedLabels
from cranfield.methods.judging.topic_draw import check_sample
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
    test: str | None = None,
    correct: str | None = None,
    alpha: float = 0.05,
    baselines: Sequence[int] = (),
    resamples: int | None = None,
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
    test = test or DEFAULT_TEST
    if test not in TESTS:
        raise RequestError(f"there is no test «{test}» of judged scores", fix=f"Choose one of: {', '.join(TESTS)}.")
    names = names or [str(at) for at in range(scores.systems)]
    own = estimate_means(scores, estimator)
    means = agreeing_means(own.value, estimate_pairs(scores, estimator).value)
    order = np.argsort(-means, kind="stable")
    ranked = scores.chosen(order)
    contrasts = chosen_pairs(scores.systems, np.argsort(order)[list(baselines)].tolist())
    pairs = judged_estimator(ranked, contrasts, estimator)
    estimate, people = pairs.fit(), Pairs(ranked.human, contrasts)
    correct = "none" if test == "max-t" or len(contrasts) == 1 else correct or "holm"
    stream = sequence(seed, "judges", "max-t", estimator)
    drawing = Drawing(resamples=resamples or RESAMPLES, seed=stream, progress=progress)
    verdicts = decide(pairs, test, correct=correct, alpha=alpha, drawing=drawing)
    lower, upper = own.interval(alpha)
    facts = named_facts(people.effect_size, people.wins, people.approximate)
    return Comparison(
        measure=measure,
        test=test,
        correct=correct,
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
            fallback=int(np.count_nonzero(getattr(estimate, "fallback", 0))),
        ),
    )


def agreeing_means(own: Array, differences: Array) -> Array:
    """Means with the average of systems' own estimates, and with the average of each system's differences.

    >>> agreeing_means(np.array([0.9, 0.3]), np.array([0.2])).tolist()
    [0.7, 0.5]
    """
    pairs, m = all_pairs(len(own)), len(own)
    total = np.bincount(pairs.first, differences, m) - np.bincount(pairs.second, differences, m)
    return np.asarray(own.mean() + total / m)


def compare_labels(
    labels: MatchedLabels,
    *,
    measure: str,
    estimator: str = "regression",
    baseline: Sequence[str] = (),
    sampled: bool = False,
    seed: int = 1,
    **options: Any,
) -> dict[str, Comparison]:
    """Compare systems by human labels on some topics and judges' labels on all, and by either alone.

    Parameters
    ----------
    labels
        Those of people, and of a judge; several judges are combined, with weights from the topics with human labels.
    sampled
        Whether the topics with human labels are known to be a random sample of the judged ones.
    options
        ``test``, ``correct``, ``alpha``, ``resamples`` and ``progress``, as `compare_judged` takes them.

    Returns
    -------
    dict
        By estimator: the one asked for first, then human labels alone and the judge's alone.
    """
    judge, scores = labels.as_one(measure, seed)
    unknown = [name for name in baseline if name not in labels.systems]
    if unknown:
        raise RequestError(f"there is no system «{unknown[0]}»", fix=there_are(labels.systems))
    cautions = check_sample(scores.judge.mean(axis=1), scores.rows).caution(judge, measure)
    if not sampled and scores.judged_topics > scores.topics:
        what = (
            f"the {scores.topics:,} topics with human labels are taken for a random sample of the "
            f"{scores.judged_topics:,} judged ones"
        )
        fix = "If they were drawn at random, say so with `sampled`; `judges()` with `draw` draws them."
        cautions.append(Caution("sample-assumed", what, fix))
    return {
        name: compare_judged(
            scores,
            names=labels.systems,
            measure=measure,
            judge=judge,
            estimator=name,
            baselines=[labels.systems.index(system) for system in baseline],
            seed=seed,
            warnings=(*labels.warnings, *cautions),
            **options,
        )
        for name in dict.fromkeys((estimator, "human", "judge"))
    }


def gate_labels(
    labels: MatchedLabels, gates: Sequence[MarginGate], comparison: Comparison, *, seed: int = 1, **options: Any
) -> tuple[list[GateVerdict], list[Caution]]:
    """The verdicts of gates by a comparison of `compare_labels`, and warnings; see `decide_gates`."""
    assert comparison.labels is not None
    estimator = comparison.labels.estimator
    _, scores = labels.as_one(comparison.measure, seed)
    gated = GateScores(
        systems=labels.systems,
        scores=scores.human,
        estimator=lambda contrasts: judged_estimator(scores, contrasts, estimator, is_gated=True),
        shares=np.full(scores.topics, 1 / scores.topics),
        note="" if estimator == "human" else f" with a judge ({estimator})",
    )
    return decide_gates(gated, gates, comparison, measure=comparison.measure, seed=seed, **options)
