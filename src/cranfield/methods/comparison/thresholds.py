"""Tests with one error for all pairs: two systems differ if their means are one threshold apart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from cranfield.methods.comparison.maxima import resampled_critical, resampled_p
from cranfield.methods.comparison.tukey import ErrorTerm, critical_range, tukey
from cranfield.stats.studentized import FEW, studentized_range_tail
from cranfield.types import Array


def pair_count(systems: int) -> int:
    """The number of pairs.

    >>> pair_count(4)
    6
    """
    return systems * (systems - 1) // 2


def pair_place(first: Array, second: Array, systems: int) -> Array:
    """The places of pairs in the order, whichever of the two comes first.

    >>> pair_place(np.array([0, 3]), np.array([1, 1]), 4).tolist()
    [0, 4]
    """
    low, high = np.minimum(first, second), np.maximum(first, second)
    return np.asarray(low * (2 * systems - low - 1) // 2 + high - low - 1)


def pairs_at(places: Array, systems: int) -> tuple[Array, Array]:
    """The pairs at some places of the order, without making the others.

    >>> [each.tolist() for each in pairs_at(np.array([2, 3, 4]), 4)]
    [[0, 1, 1], [3, 2, 3]]
    """
    rows = np.arange(systems, dtype=np.int64)
    begins = rows * (2 * systems - rows - 1) // 2
    # The last row has no pairs, and begins where the order ends.
    first = np.minimum(np.searchsorted(begins, places, side="right") - 1, systems - 2)
    return first, np.asarray(places - begins[first] + first + 1)


def is_among(places: Array, chosen: Array) -> Array:
    """Which of the places are among those chosen, which are in order.

    >>> is_among(np.array([5, 1, 2]), np.array([1, 4, 5])).tolist()
    [True, True, False]
    """
    if not len(chosen):
        return np.zeros(len(places), bool)
    at = np.minimum(np.searchsorted(chosen, places), len(chosen) - 1)
    return np.asarray(chosen[at] == places)


AT_ONCE = 2**14  # pairs whose p is computed together, so that memory does not grow with their number
DOUBT = 1e-6  # of the threshold: pairs this close to it are decided by their p


class Threshold(Protocol):
    """What all pairs are measured by: ``margin`` is the smallest significant difference of two of the ``means``."""

    @property
    def means(self) -> Array: ...

    @property
    def margin(self) -> float: ...

    @property
    def variance(self) -> float:
        """Of one score: the error that all pairs share."""

    def p_value(self, first: Array, second: Array) -> Array:
        """p of some pairs, before anything is said of those whose differences do not vary."""

    def p_of(self, difference: Array) -> Array:
        """p of some differences of means."""


@dataclass(frozen=True, eq=False)
class TukeyThreshold:
    """The studentised range: Tukey's test."""

    means: Array
    error: ErrorTerm
    alpha: float

    @property
    def variance(self) -> float:
        return self.error.ms

    @cached_property
    def margin(self) -> float:
        return critical_range(self.alpha, len(self.means), self.error.df) * self.error.standard_error

    def p_value(self, first: Array, second: Array) -> Array:
        if pair_count(len(self.means)) < FEW:
            return np.asarray(self._all[pair_place(first, second, len(self.means))])
        return self.p_of(self.means[first] - self.means[second])

    def p_of(self, difference: Array) -> Array:
        found = np.empty(len(difference))
        for start in range(0, len(difference), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            statistic = self._statistic(difference[part])
            found[part] = studentized_range_tail(  # FS19 Eq. 2
                statistic, len(self.means), self.error.df, span=self._span
            )
        return found

    def _statistic(self, difference: Array) -> Array:
        """Differences of means, over the standard error of a mean."""
        with np.errstate(divide="ignore", invalid="ignore"):
            statistic = np.abs(difference) / self.error.standard_error  # FS19 Eq. 1
        return np.where(difference == 0, 0.0, np.minimum(statistic, 1e9))

    @cached_property
    def _span(self) -> tuple[float, float]:
        """The smallest and the largest statistic of all pairs: those of neighbours, and of the best and the worst."""
        ordered = np.sort(self.means)
        least, most = self._statistic(np.array([np.diff(ordered).min(), ordered[-1] - ordered[0]])).tolist()
        return least, most

    @cached_property
    def _all(self) -> Array:
        """p of all pairs, where they are too few for a table."""
        return tukey(self.means, self.error, alpha=self.alpha).p_value


@dataclass(frozen=True, eq=False)
class PermutationThreshold:
    """The ranges of means when scores are shuffled within topics, in order: Tukey's test by permutation."""

    means: Array
    ranges: Array
    variance: float
    alpha: float

    @cached_property
    def margin(self) -> float:
        return resampled_critical(self.ranges, self.alpha)

    def p_value(self, first: Array, second: Array) -> Array:
        return self.p_of(self.means[first] - self.means[second])

    def p_of(self, difference: Array) -> Array:
        return resampled_p(self.ranges, difference)


@dataclass(frozen=True, eq=False)
class SortedVerdicts:
    """The number of significant pairs, and the ``last_better`` system that each one differs from.

    ``last_better`` is the largest rank among the better systems that differ significantly, −1 if there is none;
    ``better`` and ``worse`` are the numbers of systems that are significantly better and worse than each.
    """

    significant_pairs: int
    last_better: Array
    better: Array
    worse: Array


def sorted_verdicts(threshold: Threshold, alpha: float, unvarying: Array) -> SortedVerdicts:
    """The verdicts of all pairs of systems, best first, from the order of their means.

    ``unvarying`` has the places, in order, of pairs whose differences do not vary: they are never significant. Pairs
    within a millionth of the threshold are decided by their p, so that rounding changes no verdict.
    """
    means = threshold.means
    falling = np.minimum.accumulate(means)  # the same but for rounding, as systems are in the order of their means
    if not _is_sharp(threshold, alpha, float(np.abs(falling - means).max())):
        return _pair_by_pair(threshold, alpha, unvarying)
    low, high = (threshold.margin * factor for factor in (1 - DOUBT, 1 + DOUBT))
    certain, possible = (np.searchsorted(-falling, -(falling + reach), side="right") for reach in (high, low))
    doubtful = possible - certain
    second = np.repeat(np.arange(len(means)), doubtful)
    first = np.arange(len(second)) - np.repeat(np.cumsum(doubtful) - doubtful, doubtful) + certain[second]
    significant = (threshold.p_value(first, second) <= alpha) & ~is_among(
        pair_place(first, second, len(means)), unvarying
    )
    last_better = _last_certain(certain, unvarying)
    np.maximum.at(last_better, second[significant], first[significant])
    one, other = pairs_at(unvarying, len(means))
    lost = one < certain[other]
    systems = len(means)
    better = certain - np.bincount(other[lost], minlength=systems)
    worse = systems - np.searchsorted(certain, np.arange(systems), side="right")
    worse -= np.bincount(one[lost], minlength=systems)
    better += np.bincount(second[significant], minlength=systems)
    worse += np.bincount(first[significant], minlength=systems)
    return SortedVerdicts(int(better.sum()), last_better, better, worse)


def _is_sharp(threshold: Threshold, alpha: float, disorder: float) -> bool:
    """Whether p crosses α within the doubtful zone around the threshold, and rounding moves no pair across the zone."""
    margin = threshold.margin
    if pair_count(len(threshold.means)) < FEW or not np.isfinite(margin):
        return False
    rounding = 8 * np.finfo(float).eps * float(np.abs(threshold.means).max()) + 2 * disorder
    if not rounding < DOUBT * margin / 8:
        return False
    below, above = threshold.p_of(margin * np.array([1 - DOUBT / 2, 1 + DOUBT / 2])).tolist()
    return bool(above <= alpha < below)


def _last_certain(certain: Array, unvarying: Array) -> Array:
    """Of each system the last of its ``certain`` better ones, leaving out those of ``unvarying`` pairs."""
    last, own = certain - 1, np.arange(len(certain))
    while (out := (last >= 0) & is_among(pair_place(last, own, len(certain)), unvarying)).any():
        last[out] -= 1
    return np.asarray(last)


def _pair_by_pair(threshold: Threshold, alpha: float, unvarying: Array) -> SortedVerdicts:
    """The same from the p of every pair, some at a time."""
    systems = len(threshold.means)
    last_better = np.full(systems, -1)
    better, worse = np.zeros((2, systems), np.int64)
    for start in range(0, pair_count(systems), AT_ONCE):
        places = np.arange(start, min(start + AT_ONCE, pair_count(systems)))
        first, second = pairs_at(places, systems)
        significant = (threshold.p_value(first, second) <= alpha) & ~is_among(places, unvarying)
        np.maximum.at(last_better, second[significant], first[significant])
        better += np.bincount(second[significant], minlength=systems)
        worse += np.bincount(first[significant], minlength=systems)
    return SortedVerdicts(int(better.sum()), last_better, better, worse)
