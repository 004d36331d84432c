"""Split halves: the share of the significant pairs on one half of the topics that replicate on the other half."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from cranfield.methods.comparison.comparison import FAMILY, pair_p_values
from cranfield.methods.comparison.split_half_replication import (
    PairVerdicts,
    Replication,
    halves,
    joined,
    replication_of,
)
from cranfield.methods.comparison.tukey import ErrorTerm, tukey
from cranfield.methods.reliability.resampling import TrialTask, in_waves, tasks
from cranfield.methods.reliability.score_matrix import check_alpha, check_trials, chosen_scores
from cranfield.methods.variance.components import squares
from cranfield.runtime.random import Seed, generator, sequence
from cranfield.scores import ScoreTable
from cranfield.types import Array, Progress


@dataclass(frozen=True, eq=False)
class SplitHalves:
    """Replication of significant pairs on other topics, over many random halvings.

    ``replication`` has the shares that are significant again, not significant, reversed, or have the opposite sign;
    ``agreeing`` is the share of all pairs, significant or not, that both halves put in the same order.
    """

    measure: str
    topics: int
    systems: int
    test: str
    correct: str
    alpha: float
    replication: Replication
    agreeing: Array
    trials: int
    seed: Seed

    @property
    def pairs(self) -> int:
        return self.systems * (self.systems - 1) // 2

    @property
    def significant_share(self) -> float:
        """The share of all pairs that is significant on half of the topics."""
        return float(self.replication.significant.mean() / self.pairs)

    def to_dict(self) -> list[dict[str, Any]]:
        """One row, with the share and the interval of every outcome."""
        return [
            {
                "measure": self.measure,
                "topics": self.topics // 2,
                "test": self.test,
                "pairs": self.pairs,
                "significant_share": self.significant_share,
                "agreeing": float(self.agreeing.mean()),
                **self.replication.to_dict(),
            }
        ]


def split_halves(
    table: ScoreTable,
    *,
    measure: str | None = None,
    test: str = "tukey",
    correct: str | None = None,
    alpha: float = 0.05,
    trials: int = 1000,
    resamples: int = 1000,
    drop: float = 0.0,
    seed: Seed = 1,
    workers: int | None = None,
    progress: Progress | None = None,
) -> SplitHalves:
    """Halve the topics at random many times, test all pairs on both halves, and compare the results.

    Parameters
    ----------
    test, correct
        As in ``compare``: blocked Tukey by default.
    resamples
        Permutations or resamples of the tests that need them, on each half.
    """
    check_trials(trials)
    check_alpha(alpha)
    scores, _, _ = chosen_scores(table, measure, drop=drop, least_topics=4)
    halve = partial(_halvings, scores, test, correct, alpha, resamples)
    name = measure or table.measures[0]
    stream = sequence(seed, "reliability", "halves", name)
    done = in_waves(halve, tasks(stream, trials), workers=workers, progress=progress)
    replications, agreeing = zip(*done, strict=True)
    n, m = scores.shape
    return SplitHalves(
        measure=name,
        topics=n,
        systems=m,
        test=test,
        correct=correct or ("none" if test in FAMILY else "holm"),
        alpha=alpha,
        replication=joined(list(replications)),
        agreeing=np.concatenate(agreeing),
        trials=trials,
        seed=seed,
    )


def _halvings(
    scores: Array, test: str, correct: str | None, alpha: float, resamples: int, task: TrialTask
) -> tuple[Replication, Array]:
    """The replication of each halving of a task, and the share of all pairs in the same order."""
    stream, trials = task
    rng = generator(stream)
    found, agreeing = [], np.zeros(trials)
    for trial in range(trials):
        one, other = (
            _verdicts(scores[part], test, correct, alpha, resamples, int(rng.integers(2**63)))
            for part in halves(len(scores), rng)
        )
        agreeing[trial] = (one[0] * other[0] > 0).mean()
        found.append(replication_of(one, other))
    return joined(found), agreeing


def _verdicts(scores: Array, test: str, correct: str | None, alpha: float, resamples: int, seed: int) -> PairVerdicts:
    """The sign of every pair's difference, and whether it is significant."""
    means = scores.mean(axis=0)
    if test == "tukey" and correct in (None, "none"):  # its margin is enough, and quicker than its p-values
        n, m = scores.shape
        result = tukey(means, ErrorTerm(float(squares(scores).residual), (m - 1) * (n - 1), n), alpha=alpha)
        return np.sign(result.difference), result.significant
    first, second = np.triu_indices(len(means), k=1)
    p_adjusted = pair_p_values(scores, test=test, correct=correct, alpha=alpha, resamples=resamples, seed=seed)
    return np.sign(means[first] - means[second]), p_adjusted <= alpha
