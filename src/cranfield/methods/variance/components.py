"""Sums of squares of a topic × system table, and variance estimates computed from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from cranfield.types import Array


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
        """σ² from two-way ANOVA: the sum of the components of systems, topics and residual."""
        return self.system_part() + self.topic_part() + self.residual  # S14 Eq. 7


def squares(scores: Array, weights: Array | None = None) -> Squares:
    """Mean squares of ``scores`` (topics × systems); with ``weights`` (resamples × topics) of every resample.

    A weight is the number of times that a topic was drawn; the weights of a resample sum to the number of topics.
    """
    n, m = scores.shape
    draws = np.ones((1, n)) if weights is None else weights
    centred = scores - scores.mean()  # for the precision of what follows; no sum of squares changes
    topic_means = centred.mean(axis=1)
    sums, squared, by_topic = draws @ centred, draws @ (centred**2).sum(axis=1), draws @ topic_means**2
    parts = _mean_squares(n, m, sums, squared, by_topic)
    return Squares(n, m, *(part[0] if weights is None else part for part in parts))


def leave_one_out_squares(scores: Array) -> Squares:
    """Mean squares of the tables without one topic each, for a jackknife over topics."""
    n, m = scores.shape
    centred = scores - scores.mean()
    squared, by_topic = (centred**2).sum(axis=1), np.square(centred.mean(axis=1))
    without = (centred.sum(axis=0) - centred, squared.sum() - squared, by_topic.sum() - by_topic)
    return Squares(n - 1, m, *_mean_squares(n - 1, m, *without))


def _mean_squares(n: int, m: int, sums: Array, squared: Array, by_topic: Array) -> tuple[Array, ...]:
    """V_A, V_B, V_E1 and V_E2 of tables of n topics, from each one's sums per system and sums of squares."""
    system_means = sums / n
    grand = system_means.mean(axis=1)
    total = squared - m * n * grand**2
    s_a = n * ((system_means - grand[:, np.newaxis]) ** 2).sum(axis=1)  # S14 Eq. 2
    s_b = m * (by_topic - n * grand**2)  # S14 Eq. 5
    s_e1, s_e2 = total - s_a, total - s_a - s_b
    # If all systems or topics are equal, a sum that differs from 0 only by rounding is set to 0.
    s_a, s_b, s_e1, s_e2 = (np.where(part > 1e-13 * total, part, 0.0) for part in (s_a, s_b, s_e1, s_e2))
    parts = (
        s_a / max(m - 1, 1),  # S14 Eq. 3
        s_b / max(n - 1, 1),  # S14 Eq. 6
        s_e1 / max(m * (n - 1), 1),  # SS16 Eq. 1
        s_e2 / max((m - 1) * (n - 1), 1),
    )
    # No sum of squares is below 0, except by rounding if systems are equal on every topic.
    return tuple(np.maximum(part, 0.0) for part in parts)


def pair_variances(scores: Array) -> Array:
    """Sakai (2014), Eq. 1: the variance of the difference of every pair of systems."""
    return np.asarray(_differences(scores).var(axis=0, ddof=1))  # S14 Eq. 1


def leave_one_out_percentiles(scores: Array, percentile: float) -> Array:
    """The percentile of the variances of pairs, with each topic left out in turn."""
    n = len(scores)
    gaps = _differences(scores)
    gaps -= gaps.mean(axis=0)
    squared = np.square(gaps, out=gaps)
    total = squared.sum(axis=0)
    out = np.empty(n)
    step = max(1, 4_000_000 // gaps.shape[1])  # topics at a time, so that memory does not grow with their number
    for first in range(0, n, step):
        variances = (total - squared[first : first + step] * n / (n - 1)) / (n - 2)
        out[first : first + step] = np.percentile(variances, percentile, axis=1)
    return np.maximum(out, 0.0)


def jackknife_df(estimate: float, left_out: Array, *, most: float) -> float:
    """Effective degrees of freedom of a variance estimate, by the jackknife over topics.

    The logarithm of a χ² with ν degrees of freedom has variance ψ′(ν/2), about 2/ν = CV²; ν is chosen so that this is
    the jackknife's variance of log σ̂². (The logarithm rather than σ̂² itself: with few topics its jackknife notices an
    outlying topic sooner, and the resulting power is closer to the true one.) ``left_out`` has the estimate with
    each topic left out; ``most`` are the degrees of freedom it would have if scores were normal.

    >>> x = np.random.default_rng(1).standard_normal((2000, 1))
    >>> round(jackknife_df(float(x.var(ddof=1)), leave_one_out_squares(x).within_systems, most=1e9) / 1999, 1)
    1.0
    """
    n = len(left_out)
    if not estimate > 0 or n < 3:
        return float(min(most, max(n - 1, 1)))
    logs = np.log(np.maximum(left_out, 1e-12 * estimate))
    spread = (n - 1) * float(np.mean((logs - logs.mean()) ** 2))
    return min(float(most), 2 * _trigamma_inverse(spread)) if spread > 0 else float(most)


def _trigamma_inverse(value: float) -> float:
    """x with ψ′(x) = value, by Newton's method on 1/ψ′, which is nearly straight (Smyth 2004, appendix)."""
    x = 0.5 + 1 / value
    for _ in range(50):
        now = float(special.zeta(2, x))  # ψ′(x) = ζ(2, x)
        step = now * (1 - now / value) / (-2 * float(special.zeta(3, x)))
        x += step
        if abs(step) < 1e-10 * x:
            break
    return x


def _differences(scores: Array) -> Array:
    first, second = np.triu_indices(scores.shape[1], k=1)
    return np.asarray(scores[:, first] - scores[:, second])
