"""Tukey's test of the systems of an ANOVA model, and intervals around their means."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cranfield.methods.contrasts.tukey import MOST_RANGE, ErrorTerm, Intervals, critical_range, standard_error_reach
from cranfield.methods.sharding.anova import AnovaTable, Decomposition
from cranfield.stats.pairs import every_pair
from cranfield.stats.studentized import studentized_range_tail
from cranfield.types import Array


def model_error(table: AnovaTable) -> ErrorTerm:
    """The error of a fixed-topic model."""
    return ErrorTerm(table.error.ms, table.error.df, table.topics * table.shards)


def random_topic_error(found: Decomposition) -> ErrorTerm:
    """topic*system, when topics are a sample: the claim then covers new topics."""
    t, _, s = found.shape
    df = found.df["topic*system"]
    return ErrorTerm(found.ss["topic*system"] / df, df, t * s)


@dataclass(frozen=True, eq=False)
class Tukey:
    """Tukey's test of all pairs; pairs are ``first < second`` in the order of the means given."""

    means: Array
    first: Array
    second: Array
    difference: Array
    alpha: float
    error: ErrorTerm

    @cached_property
    def p_value(self) -> Array:
        """P(Q ≥ |tk|) of every pair: Ferro and Sanderson (2019), Eq. 2."""
        with np.errstate(divide="ignore", invalid="ignore"):
            statistic = np.abs(self.difference) / self.error.standard_error  # FS19 Eq. 1
        statistic = np.where(self.difference == 0, 0.0, np.minimum(statistic, MOST_RANGE))
        return studentized_range_tail(statistic, len(self.means), self.error.df)  # FS19 Eq. 2

    @cached_property
    def margin(self) -> float:
        """The smallest significant difference."""
        return critical_range(self.alpha, len(self.means), self.error.df) * self.error.standard_error

    @cached_property
    def significant(self) -> Array:
        """Whether p_value ≤ alpha, without computing p-values."""
        gap = np.abs(self.difference)
        return np.asarray((gap >= self.margin) & (gap > 0))

    @property
    def significant_pairs(self) -> int:
        return int(self.significant.sum())

    @property
    def top_group(self) -> int:
        """The number of systems not significantly different from the best, including the best."""
        best = int(np.argmax(self.means))
        with_best = (self.first == best) | (self.second == best)
        return 1 + int((~self.significant[with_best]).sum())


def tukey(means: Array, error: ErrorTerm, *, alpha: float = 0.05) -> Tukey:
    """Tukey's HSD.

    |tk| = |μ̂_u − μ̂_v| / √(MS_error / (T·S)) against the studentised range, p = P(Q ≥ |tk|):
    Ferro and Sanderson (2019), Eq. 1 and Eq. 2.
    """
    first, second = every_pair(len(means))
    return Tukey(means, first, second, means[first] - means[second], alpha, error)


def intervals(scores: Array, error: ErrorTerm, *, alpha: float = 0.05) -> Intervals:
    """Compute the intervals; two systems differ by Tukey's test exactly when their Tukey intervals do not overlap."""
    critical = critical_range(alpha, scores.shape[1], error.df)
    half_width = critical * error.standard_error / 2  # FS19 Eq. 3
    return Intervals(half_width, error.reach(alpha), standard_error_reach(scores, alpha=alpha))


def intervals_of(test: Tukey, standard_error: Array) -> Intervals:
    """The three intervals of a test that has been made, given those of the standard error, which models share."""
    return Intervals(test.margin / 2, test.error.reach(test.alpha), standard_error)
