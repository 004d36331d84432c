"""Past experience: the sds of the pairs of systems of an earlier table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.design import detectable_difference, power_for_difference
from cranfield.methods.sequential.paired_differences import complete_scores
from cranfield.methods.sequential.study_goal import fixed_topics
from cranfield.methods.variance.components import pair_variances
from cranfield.scores import ScoreTable
from cranfield.types import Array

TABLE_1_TOPICS = 50


@dataclass(frozen=True, eq=False)
class Estimate:
    """One estimate of the sd from the past, and the topics for it.

    ``topics`` detect ``difference`` if the sd is ``sd``; ``misses`` is the share of the pairs whose own sd is too large
    for the power with these topics; ``detectable`` is what 50 topics detect.
    """

    name: str
    sd: float
    topics: int
    misses: float
    detectable: float


@dataclass(frozen=True, eq=False)
class PastExperience:
    """The sd of every pair of an earlier table, and two estimates from them: the mean and a high percentile."""

    measure: str
    systems: int
    topics: int
    sds: Array
    difference: float
    alpha: float
    power: float
    percentile: float
    typical: Estimate
    cautious: Estimate
    citations: tuple[str, ...] = ("Webber2008",)

    @property
    def spread(self) -> tuple[float, float]:
        """The middle 95 % of the pairs' sds."""
        low, high = np.percentile(self.sds, [2.5, 97.5])
        return float(low), float(high)

    def to_dict(self) -> list[dict[str, Any]]:
        """One row per estimate: the columns of Table 1, and the topics for the difference."""
        shared = {"measure": self.measure, "systems": self.systems, "pairs": len(self.sds)}
        asked = {"difference": self.difference, "alpha": self.alpha, "power": self.power}
        return [
            {
                **shared,
                "estimate": each.name,
                "sd": each.sd,
                **asked,
                "topics": each.topics,
                "misses": each.misses,
                "detectable_difference": each.detectable,
            }
            for each in (self.typical, self.cautious)
        ]

    def to_frame(self, backend: str = "pandas") -> Any:
        """The rows as a data frame."""
        from cranfield.scores.frames import rows_frame

        return rows_frame(self.to_dict(), backend)

    def summary(self) -> str:
        """What may be claimed."""
        low, high = self.spread
        typical, cautious = self.typical, self.cautious
        return (
            f"A paired t test in {self.measure} requires {typical.topics:,} topics if the sd of the differences is the "
            f"mean of {len(self.sds):,} pairs ({typical.sd:.3f}); {100 * typical.misses:.0f} % of such pairs would "
            f"then miss the power. It requires {cautious.topics:,} topics at the {self.percentile:g}th percentile "
            f"({cautious.sd:.3f}), where {100 * cautious.misses:.0f} % would. The middle 95 % of the sds are between "
            f"{low:.3f} and {high:.3f}."
        )


def past_experience(
    table: ScoreTable,
    *,
    difference: float,
    measure: str | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    percentile: float = 95.0,
) -> PastExperience:
    """Estimate the sd from past experience: Webber et al. (2008), §5.1 and Table 1."""
    scores, name = complete_scores(table, measure), measure or table.measures[0]
    if scores.shape[1] < 2:
        raise RequestError("one system is not a pair", fix="Give the scores of two systems or more.")
    sds = np.sqrt(pair_variances(scores))
    goal = {"difference": difference, "alpha": alpha, "power": power}
    typical = _estimate("mean", float(sds.mean()), sds, goal)
    cautious = _estimate("percentile", float(np.percentile(sds, percentile)), sds, goal)
    return PastExperience(
        name, scores.shape[1], scores.shape[0], sds, difference, alpha, power, percentile, typical, cautious
    )


def _estimate(name: str, sd: float, sds: Array, goal: dict[str, Any]) -> Estimate:
    if not sd > 0:
        raise RequestError("the systems of this table do not differ on any topic", fix="Give scores of other systems.")
    topics = fixed_topics(sd=sd, **goal)
    moving = np.maximum(sds, 1e-9)  # two equal systems never vary, and have all the power
    reached = power_for_difference(topics=topics, difference=goal["difference"], sd=moving, alpha=goal["alpha"])
    detectable = detectable_difference(topics=TABLE_1_TOPICS, sd=sd, alpha=goal["alpha"], power=goal["power"])
    return Estimate(name, sd, topics, float(np.mean(reached < goal["power"])), float(detectable))
