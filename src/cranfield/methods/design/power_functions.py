"""Statistical power and expected interval width on arrays: ANOVA for m systems, t tests for two."""

from __future__ import annotations

import numpy as np
from scipy import special

from cranfield.stats.tails import (
    f_critical,
    noncentral_f_tail,
    noncentral_t_tail,
    noncentral_t_tails,
    normal_critical,
    t_critical,
)
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


def _noncentrality(topics: Array, min_range: Array, variance: Array) -> Array:
    """λ when the best and the worst system differ by minD and the others lie half way: the smallest possible."""
    return np.asarray(topics * np.square(min_range) / (2 * variance))  # S14 §3.1, after Nagata


def one_way_power(topics: Array, systems: Array, min_range: Array, variance: Array, alpha: Array) -> Array:
    """Exact power of one-way ANOVA: P(F' ≥ F_α), F' non-central F(m − 1, m(n − 1), λ)."""
    above, below = systems - 1, systems * (topics - 1)  # S14 §3.1
    return noncentral_f_tail(f_critical(alpha, above, below), above, below, _noncentrality(topics, min_range, variance))


def blocked_power(topics: Array, systems: Array, min_range: Array, variance: Array, alpha: Array) -> Array:
    """Exact power of two-way ANOVA, topics as blocks: F'(m − 1, (m − 1)(n − 1), λ), ``variance`` the residual one."""
    above, below = systems - 1, (systems - 1) * (topics - 1)
    return noncentral_f_tail(f_critical(alpha, above, below), above, below, _noncentrality(topics, min_range, variance))


def sakai_power(topics: Array, systems: Array, min_range: Array, variance: Array, alpha: Array) -> Array:
    """The approximation of Sakai (2014) and Sakai and Shang (2016); nan where it is undefined (very small n).

    The minus sign under the root reproduces the tables; a derivation gives a plus sign.
    """
    above, below = systems - 1, systems * (topics - 1)  # S14 §3.1
    noncentrality = _noncentrality(topics, min_range, variance)
    w = f_critical(alpha, above, below)
    c = (above + 2 * noncentrality) / (above + noncentrality)
    phi = np.square(above + noncentrality) / (above + 2 * noncentrality)
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.sqrt(c / above) * np.sqrt(2 * phi - 1) - np.sqrt(w / below) * np.sqrt(2 * below - 1)
        return np.asarray(special.ndtr(z / np.sqrt(c / above - w / below)))


def t_power(noncentrality: Array, df: Array, alpha: Array, sides: int) -> Array:
    """Exact power of a t test: P(|T'| ≥ t), or P(T' ≥ t) of one side, T' non-central t."""
    if sides == 1:
        return noncentral_t_tail(t_critical(alpha, df), df, noncentrality)  # WMZ08 §3
    return noncentral_t_tails(t_critical(np.asarray(alpha) / 2, df), df, noncentrality)


def normal_power(topics: Array, difference: Array, sd: Array, alpha: Array, sides: int) -> Array:
    """The normal approximation of Webber et al. (2008) to the paired t test."""
    shift = np.sqrt(topics) * difference / sd
    if sides == 1:
        return np.asarray(special.ndtr(shift - normal_critical(alpha)))  # WMZ08 Eq. 2
    z = normal_critical(np.asarray(alpha) / 2)
    return np.asarray(special.ndtr(shift - z) + special.ndtr(-shift - z))  # WMZ08 Eq. 2, both sides


def satterthwaite(
    topics: Array, levels: Array, systems: Array, *, by_topic: Array, shared: Array, rest: Array, nested: bool
) -> tuple[Array, Array]:
    """Variance of the mean paired difference, and its degrees of freedom, if ``levels`` replicates are a sample too.

    ``by_topic``, ``shared`` and ``rest`` are the variances of paired differences between topics, between replicates
    that all topics share, and of what is left in a cell. Each system has its own replicates if ``nested``.
    """
    columns = systems if nested else systems - 1
    squares = (rest + levels * by_topic, rest + topics * shared, rest + 0 * topics)
    freedom = ((topics - 1) * (systems - 1), columns * (levels - 1), columns * (topics - 1) * (levels - 1))
    ms = squares[0] + squares[1] - squares[2]  # Clark 1973, the quasi-F ratio
    spread = sum(np.square(each) / df for each, df in zip(squares, freedom, strict=True))
    return np.asarray(ms / (topics * levels)), np.asarray(np.square(ms) / spread)  # Satterthwaite 1946


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)


def tost_power(topics: Array, margin: Array, true_difference: Array, sd: Array, alpha: Array) -> Array:
    """Exact power of two one-sided paired t tests to show a difference within ± ``margin``.

    Both tests reject where |d̄| ≤ margin − t·s/√n. Given s the mean is normal, and s²(n − 1)/σ² is χ², so that the
    power is one integral over s, from 0 to the s beyond which nothing rejects (Phillips 1990, by quadrature).
    """
    topics, margin, true_difference, sd, alpha = np.broadcast_arrays(topics, margin, true_difference, sd, alpha)
    df = topics - 1.0
    t = t_critical(alpha, df)
    scale = np.sqrt(topics) / sd
    lowest, highest = (np.sqrt(2 * special.gammaincinv(df / 2, tail) / df) for tail in (1e-15, 1 - 1e-15))
    end = np.minimum(highest, margin * scale / t)  # in units of σ
    start = np.minimum(lowest, end)
    s = (start + end)[..., None] / 2 + (end - start)[..., None] / 2 * _NODES
    k = df[..., None]
    with np.errstate(divide="ignore"):
        log_density = np.log(2) + k / 2 * np.log(k / 2) - special.gammaln(k / 2) + (k - 1) * np.log(s) - k * s**2 / 2
    upper = ((margin - true_difference) * scale)[..., None] - t[..., None] * s
    lower = (-(margin + true_difference) * scale)[..., None] + t[..., None] * s
    inside = special.ndtr(upper) - special.ndtr(lower)
    total = (np.exp(log_density) * np.maximum(inside, 0.0) * _WEIGHTS).sum(axis=-1) * (end - start) / 2
    return np.asarray(np.clip(total, 0.0, 1.0))


def tost_normal_power(topics: Array, margin: Array, true_difference: Array, sd: Array, alpha: Array) -> Array:
    """Normal approximation to the power of two one-sided tests."""
    scale, z = np.sqrt(topics) / sd, normal_critical(alpha)
    both = special.ndtr((margin - true_difference) * scale - z) + special.ndtr((margin + true_difference) * scale - z)
    return np.asarray(np.maximum(both - 1.0, 0.0))
