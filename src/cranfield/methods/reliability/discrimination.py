"""Discriminative power: the share of significant pairs under a measure, and the curve of their p-values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.methods.comparison.comparison import compare
from cranfield.methods.comparison.families import RESAMPLED
from cranfield.methods.reliability.score_matrix import check_alpha, chosen_scores
from cranfield.runtime.random import Seed, generator
from cranfield.scores import ScoreTable
from cranfield.types import Array


@dataclass(frozen=True, eq=False)
class Discrimination:
    """One measure's p-values, smallest first, with the differences they belong to.

    ``difference`` is the required difference: Tukey's margin, or for pairwise tests the smallest from which on every
    pair is significant.
    """

    measure: str
    topics: int
    systems: int
    test: str
    correct: str
    alpha: float
    p_values: Array
    differences: Array
    difference: float
    seed: int | None

    @property
    def significant_pairs(self) -> int:
        return int((self.p_values <= self.alpha).sum())

    @property
    def share(self) -> float:
        """Discriminative power: the share of pairs significant at α."""
        return self.significant_pairs / len(self.p_values)

    def share_at(self, alpha: float) -> float:
        """The share at another α."""
        return float((self.p_values <= alpha).mean())

    def curve(self, points: int = 200) -> list[dict[str, Any]]:
        """The p-value curve: pairs sorted by p, their share so far, and p; thinned out where there are many."""
        places = np.unique(np.linspace(0, len(self.p_values) - 1, min(points, len(self.p_values))).astype(int))
        return [
            {"measure": self.measure, "share": (at + 1) / len(self.p_values), "p_value": float(self.p_values[at])}
            for at in places.tolist()
        ]

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one row per measure."""
        return [
            {
                "measure": self.measure,
                "topics": self.topics,
                "test": self.test,
                "alpha": self.alpha,
                "pairs": len(self.p_values),
                "significant_pairs": self.significant_pairs,
                "discriminative_power": self.share,
                "difference": self.difference,
            }
        ]


def discriminative_power(
    table: ScoreTable,
    *,
    measure: str | None = None,
    test: str = "tukey",
    correct: str | None = None,
    alpha: float = 0.05,
    resamples: int = 10_000,
    drop: float = 0.0,
    seed: Seed = 1,
) -> Discrimination:
    """Test all pairs of systems under one measure, to compare measures by the share of significant pairs.

    Parameters
    ----------
    test, correct
        As in ``compare``: ``tukey`` (blocked) by default, ``tukey-permutation`` for Tukey by permutation within topics.
    resamples
        Permutations or resamples of the tests that need them.
    """
    check_alpha(alpha)
    _, kept, _ = chosen_scores(table, measure, drop=drop)
    name = measure or table.measures[0]
    stream = int(generator(seed, "reliability", "discrimination", name).integers(2**63))  # no measure shares another's
    found = compare(
        table.select(systems=kept),
        measure=name,
        test=test,
        correct=correct,
        alpha=alpha,
        resamples=resamples if test in RESAMPLED else None,
        seed=stream,
    )
    order = np.argsort(found.p_adjusted, kind="stable")
    sizes = np.abs(found.difference)
    shared = found.half_width == found.half_width  # one threshold for all pairs
    needed = 2 * found.half_width if shared else _smallest_sure(sizes, found.significant)
    return Discrimination(
        found.measure,
        found.topics,
        len(found.systems),
        test,
        found.correct,
        alpha,
        found.p_adjusted[order],
        sizes[order],
        needed,
        found.seed,
    )


def _smallest_sure(sizes: Array, significant: Array) -> float:
    """The smallest difference from which on all are significant; nan where the largest of all is not."""
    missed = sizes[~significant].max(initial=-1.0)
    sure = sizes[significant & (sizes > missed)]
    return float(sure.min()) if len(sure) else float("nan")
