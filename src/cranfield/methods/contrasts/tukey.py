"""Tukey's honestly significant differences, on any error variance, and by permutation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from cranfield.methods.contrasts.anova import AnovaTable, Decomposition
from cranfield.methods.contrasts.decisions import Verdicts, simultaneous
from cranfield.methods.contrasts.estimates import Estimate
from cranfield.scores.stored import Matrix, squared_deviations, system_means
from cranfield.stats.pairs import every_pair
from cranfield.stats.studentized import studentized_range_critical, studentized_range_tail
from cranfield.stats.tails import t_critical
from cranfield.types import Array

LARGE = 4_000_000  # scores
MOST_RANGE = 1e9  # beyond which the studentised range has no p


@dataclass(frozen=True)
class ErrorTerm:
    """The error term: the variance of one score, its degrees of freedom, and the number of scores per mean."""

    ms: float
    df: float
    count: int

    @property
    def standard_error(self) -> float:
        return float(np.sqrt(self.ms / self.count))


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


def by_range(estimate: Estimate, systems: int, alpha: float) -> Verdicts:
    """All pairs of systems against the studentised range, by one variance: Tukey's test, and Tukey and Kramer's."""
    df = float(estimate.df[0])
    statistic = np.minimum(np.abs(estimate.t) * np.sqrt(2), MOST_RANGE)  # FS19 Eq. 1
    p_value = studentized_range_tail(statistic, systems, df)  # FS19 Eq. 2
    return simultaneous(estimate, p_value, p_value, critical_range(alpha, systems, df) / np.sqrt(2), alpha)


@lru_cache(maxsize=4096)
def critical_range(alpha: float, groups: int, df: float) -> float:
    """The studentised range that is exceeded with probability α."""
    return float(studentized_range_critical(alpha, groups, df))


@dataclass(frozen=True, eq=False)
class Intervals:
    """Half-widths of the three intervals around each system's mean: Ferro and Sanderson (2019), §5."""

    tukey: float
    anova: float
    standard_error: Array


def intervals(scores: Array, error: ErrorTerm, *, alpha: float = 0.05) -> Intervals:
    """Compute the intervals; two systems differ by Tukey's test exactly when their Tukey intervals do not overlap."""
    flat = np.moveaxis(scores, 1, 0).reshape(scores.shape[1], -1)
    count = flat.shape[1]
    critical = critical_range(alpha, scores.shape[1], error.df)
    spread = flat.std(axis=1, ddof=1) / np.sqrt(count)
    return Intervals(
        critical * error.standard_error / 2,  # FS19 Eq. 3
        float(t_critical(alpha / 2, error.df)) * error.standard_error,  # FS19 Eq. 5
        np.asarray(t_critical(alpha / 2, count - 1) * spread),  # FS19 Eq. 4
    )


def system_sds(scores: Matrix) -> Array:
    """The sd of every system's scores over topics, and over shards where there are any."""
    if not isinstance(scores, np.ndarray):
        return np.sqrt(squared_deviations(scores, system_means(scores)) / (len(scores) - 1))
    flat = np.moveaxis(scores, 1, 0).reshape(scores.shape[1], -1)
    # Of many scores system by system, as a copy of all would take memory.
    return np.array([row.std(ddof=1) for row in flat]) if flat.size > LARGE else np.asarray(flat.std(axis=1, ddof=1))


def standard_error_reach(scores: Matrix, *, alpha: float = 0.05) -> Array:
    """Half-width of the interval of each system's own standard error, whatever the model."""
    count = len(scores) * int(np.prod(scores.shape[2:]))
    return np.asarray(t_critical(alpha / 2, count - 1) * (system_sds(scores) / np.sqrt(count)))  # FS19 Eq. 4


def intervals_of(test: Tukey, standard_error: Array) -> Intervals:
    """The three intervals of a test that has been made, given those of the standard error, which models share."""
    within = float(t_critical(test.alpha / 2, test.error.df)) * test.error.standard_error  # FS19 Eq. 5
    return Intervals(test.margin / 2, within, standard_error)
