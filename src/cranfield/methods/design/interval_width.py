"""Confidence intervals for a difference, and their expected width."""

from __future__ import annotations

import numpy as np
from scipy import special

from cranfield.stats.tails import normal_critical, t_critical
from cranfield.types import Array


def expected_sd(topics: Array, sd: Array) -> Array:
    """E[s] = σ·Γ(n/2) / (√((n − 1)/2)·Γ((n − 1)/2)): the expected sd of a sample, which is smaller than σ."""
    half = (topics - 1) / 2
    return np.asarray(sd * special.poch(half, 0.5) / np.sqrt(half))  # S14 §3.2; a ratio of gammas that never overflows


def expected_width(topics: Array, sd: Array, alpha: Array) -> Array:
    """Expected width of the 100(1 − α) % interval for the mean of n differences."""
    t = t_critical(np.asarray(alpha) / 2, topics - 1)
    return np.asarray(2 * t * expected_sd(topics, sd) / np.sqrt(topics))  # S14 §3.2


def width_probability(topics: Array, sd: Array, alpha: Array, width: Array) -> Array:
    """P(2·t·s/√n ≤ width): the probability that the interval of n differences is no wider than ``width``."""
    t = t_critical(np.asarray(alpha) / 2, topics - 1)
    largest = np.square(np.sqrt(topics) * width / (2 * t * sd))  # of s²/σ²
    return np.asarray(special.chdtr(topics - 1, (topics - 1) * largest))  # Kupper & Hafner 1989 Eq. 5


def sensitivity(topics: Array, sd: Array, alpha: Array, sides: int) -> Array:
    """δ = s·z/√n: the half-width of the interval of a mean over n topics, by the central limit theorem."""
    return np.asarray(normal_critical(np.asarray(alpha) / sides) * sd / np.sqrt(topics))  # D13 Inequality 1, 2
