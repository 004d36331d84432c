"""Sums of squares of a topic × system table, and the estimates made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Squares:
    """Mean squares of two-way ANOVA without replication; every field may be an array over resampled tables."""

    topics: int
    systems: int
    between_systems: Any  # V_A
    between_topics: Any  # V_B
    within_systems: Any  # V_E1
    residual: Any  # V_E2

    def one_way(self) -> Any:
        """σ² from one-way ANOVA."""
        n, m = self.topics, self.systems
        return (m - 1) / (m * n) * (self.between_systems - self.within_systems) + self.within_systems  # S14 Eq. 4

    def system_part(self) -> Any:
        n, m = self.topics, self.systems
        return (m - 1) / (m * n) * (self.between_systems - self.residual)  # S14 Eq. 7, first term

    def topic_part(self) -> Any:
        return (self.between_topics - self.residual) / self.systems  # S14 Eq. 7, second term

    def two_way(self) -> Any:
        """σ² from two-way ANOVA: what systems, topics and the rest contribute."""
        return self.system_part() + self.topic_part() + self.residual  # S14 Eq. 7


def squares(scores: Array, weights: Array | None = None) -> Squares:
    """Mean squares of ``scores`` (topics × systems); with ``weights`` (resamples × topics) of every resample.

    A weight says how often a topic was drawn; the weights of a resample sum to the number of topics.
    """
    n, m = scores.shape
    draws = np.ones((1, n)) if weights is None else weights
    centred = scores - scores.mean()  # for the precision of what follows; no sum of squares changes
    topic_means = centred.mean(axis=1)
    system_means = draws @ centred / n
    grand = system_means.mean(axis=1)
    total = draws @ (centred**2).sum(axis=1) - m * n * grand**2
    s_a = n * ((system_means - grand[:, np.newaxis]) ** 2).sum(axis=1)  # S14 Eq. 2
    s_b = m * (draws @ topic_means**2 - n * grand**2)  # S14 Eq. 5
    s_e1, s_e2 = total - s_a, total - s_a - s_b
    # Where systems or topics are all alike, what rounding leaves of a sum, either side of 0, is nothing.
    s_a, s_b, s_e1, s_e2 = (np.where(part > 1e-13 * total, part, 0.0) for part in (s_a, s_b, s_e1, s_e2))
    parts = (
        s_a / max(m - 1, 1),  # S14 Eq. 3
        s_b / max(n - 1, 1),  # S14 Eq. 6
        s_e1 / max(m * (n - 1), 1),  # SS16 Eq. 1
        s_e2 / max((m - 1) * (n - 1), 1),
    )
    # No sum of squares is below 0; rounding may say so where systems are alike on every topic.
    parts = tuple(np.maximum(part, 0.0) for part in parts)
    return Squares(n, m, *(part[0] if weights is None else part for part in parts))


def pair_variances(scores: Array) -> Array:
    """S14 Eq. 1: the variance of the difference of every pair of systems."""
    return np.asarray(_differences(scores).var(axis=0, ddof=1))  # S14 Eq. 1


def pair_percentiles(scores: Array, weights: Array, percentile: float) -> Array:
    """The percentile of the pairs' variances in every resample (a row of ``weights``)."""
    n = len(scores)
    gaps = _differences(scores)
    gaps -= gaps.mean(axis=0)
    out = np.empty(len(weights))
    step = max(1, 4_000_000 // gaps.shape[1])  # resamples at a time, so that memory does not grow with their number
    for first in range(0, len(weights), step):
        draws = weights[first : first + step]
        variances = (draws @ gaps**2 - (draws @ gaps) ** 2 / n) / (n - 1)
        out[first : first + step] = np.percentile(variances, percentile, axis=1)
    return np.maximum(out, 0.0)


def _differences(scores: Array) -> Array:
    first, second = np.triu_indices(scores.shape[1], k=1)
    return np.asarray(scores[:, first] - scores[:, second])


def resamples(topics: int, count: int, rng: np.random.Generator) -> Array:
    """How often each topic is drawn in each of ``count`` bootstrap samples of the topics."""
    return rng.multinomial(topics, np.full(topics, 1.0 / topics), size=count).astype(float)
