"""Tukey's honestly significant differences, on any error variance, and by permutation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from cranfield.methods.contrasts.decisions import Verdicts, simultaneous
from cranfield.methods.contrasts.estimates import Estimate
from cranfield.scores.stored import Matrix, squared_deviations, system_means
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

    def reach(self, alpha: float) -> float:
        """Half-width of ANOVA's interval around a mean."""
        return float(t_critical(alpha / 2, self.df)) * self.standard_error  # FS19 Eq. 5


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


def system_sds(scores: Matrix) -> Array:
    """The sd of every system's scores over topics, and over shards where there are any."""
    if not isinstance(scores, np.ndarray):
        return np.sqrt(squared_deviations(scores, system_means(scores)) / (len(scores) - 1))
    flat = np.moveaxis(scores, 1, 0).reshape(scores.shape[1], -1)
    # Of many scores system by system, as a copy of all would take memory.
    return np.array([row.std(ddof=1) for row in flat]) if flat.size > LARGE else np.asarray(flat.std(axis=1, ddof=1))


def standard_error_reach(scores: Matrix, *, alpha: float = 0.05, sd: Array | None = None) -> Array:
    """Half-width of the interval of each system's own standard error, whatever the model."""
    count = len(scores) * math.prod(scores.shape[2:])
    sd = system_sds(scores) if sd is None else sd
    return np.asarray(t_critical(alpha / 2, count - 1) * (sd / np.sqrt(count)))  # FS19 Eq. 4
