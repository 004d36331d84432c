"""Rankings: agreement of two sets of n topics on the order of the systems, and its expected value with more topics.

If systems' true means and their errors are about normal, the means on two sets of n topics have the correlation Eρ²(n),
and Kendall's τ between them is (2/π)·arcsin Eρ²(n); against the true order it is (2/π)·arcsin √Eρ²(n).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.methods.reliability.generalisability import Generalisability, generalise
from cranfield.methods.reliability.resampling import check_sizes, default_sizes, set_means, tasks
from cranfield.methods.reliability.score_matrix import check_trials, chosen_scores
from cranfield.runtime.random import Seed, sequence
from cranfield.runtime.threads import slices, spread
from cranfield.scores import ScoreTable
from cranfield.stats.kendall import kendall_taus, symmetric_tau_aps
from cranfield.types import Array, Progress


@dataclass(frozen=True, eq=False)
class RankStability:
    """τ and τ_AP between disjoint sets of topics, sizes × trials; and the variances that say what to expect."""

    measure: str
    topics: int
    systems: int
    sizes: tuple[int, ...]
    tau: Array
    tau_ap: Array
    study: Generalisability
    trials: int
    seed: Seed

    def expected_tau(self, topics: int) -> float:
        """Expected τ between two sets of ``topics`` topics under normality."""
        return float(2 / np.pi * np.arcsin(self.study.relative(topics).value))

    def expected_true_tau(self, topics: int) -> float:
        """Expected τ between a set of ``topics`` topics and the true order under normality."""
        return float(2 / np.pi * np.arcsin(np.sqrt(self.study.relative(topics).value)))

    def to_dict(self, topics: Sequence[int] = ()) -> list[dict[str, Any]]:
        """Return one row per size of the set; above half of the topics only the expected values exist."""
        return [self._row(size) for size in (*self.sizes, *(n for n in topics if n not in self.sizes))]

    def _row(self, size: int) -> dict[str, Any]:
        row: dict[str, Any] = {"measure": self.measure, "topics": size}
        for name, values in (("tau", self.tau), ("tau_ap", self.tau_ap)):
            mine = values[self.sizes.index(size)] if size in self.sizes else np.full(1, np.nan)
            row[name] = float(mine.mean())
            row[f"{name}_lower"], row[f"{name}_upper"] = np.quantile(mine, [0.025, 0.975]).tolist()
        row["expected_tau"], row["expected_true_tau"] = self.expected_tau(size), self.expected_true_tau(size)
        return row


def rank_stability(
    table: ScoreTable,
    *,
    measure: str | None = None,
    sizes: Sequence[int] | None = None,
    trials: int = 1000,
    drop: float = 0.0,
    seed: Seed = 1,
    workers: int | None = None,
    progress: Progress | None = None,
) -> RankStability:
    """Compute τ and τ_AP between two disjoint sets of topics, for sets of several sizes.

    τ_AP, which gives more weight to the top of the ranking, is the mean of both directions.
    """
    check_trials(trials)
    scores, _, _ = chosen_scores(table, measure, drop=drop)
    chosen = tuple(sizes) if sizes is not None else default_sizes(len(scores))
    check_sizes(chosen, len(scores), 2, replacement=False)
    stream = sequence(seed, "reliability", "rankings", measure or table.measures[0])
    found = []
    for at, size in enumerate(chosen):
        means = set_means(scores, size, tasks(sequence(stream, at), trials), sets=2, replacement=False, workers=workers)
        parts = [means[first:last] for first, last in slices(trials, max(1, trials // 50))]
        found.append(np.concatenate(spread(_agreements, parts, workers=workers), axis=1))
        if progress is not None:
            progress(at + 1, len(chosen))
    tau, tau_ap = np.moveaxis(np.array(found), 1, 0)
    study = generalise(table, measure=measure, drop=drop)
    n, m = scores.shape
    return RankStability(measure or table.measures[0], n, m, chosen, tau, tau_ap, study, trials, seed)


def _agreements(means: Array) -> Array:
    """τ and τ_AP of every trial."""
    one, other = means[:, 0], means[:, 1]
    return np.array([kendall_taus(one, other), symmetric_tau_aps(one, other)])
