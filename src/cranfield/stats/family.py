"""Tests of many pairs at once, as the level that each of them leaves to one pair.

A pair is called different where |t| reaches the critical value of the family's test. That value c belongs to a level
2·P(T ≥ c) of a single comparison, which is all that the power of one pair needs, and which varies little with the
degrees of freedom where c itself varies much: its logarithm over 1/ν is tabled once for a family and a level.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy import special

from cranfield.stats.studentized import Pieces, approximate, dunnett_critical, studentized_range_critical
from cranfield.types import Array, ArrayLike

DEFAULT_TEST = "t"
"""The test of every comparison unless another is named; pairs that are tested together are corrected by Holm."""
ALL_PAIRS_TEST = "holm"
"""The same where topics are planned for all pairs of several systems; ``t`` is for a pair named in advance."""

_FEW = 30  # degrees of freedom that are worth a table
_TOLERANCE = 1e-10


def pairs_of(systems: ArrayLike) -> Array:
    """m(m − 1)/2."""
    m = np.asarray(systems, float)
    return np.asarray(m * (m - 1) / 2)


def tukey_level(alpha: ArrayLike, systems: ArrayLike, df: ArrayLike) -> Array:
    """The level of one pair under Tukey's test of all pairs of ``systems`` means, with ``df`` of the common error.

    >>> round(float(tukey_level(0.05, 10, 1296)), 5)  # 145 topics
    0.00156
    """
    return _levels(_tukey_log_level, alpha, systems, df)


def dunnett_level(alpha: ArrayLike, systems: ArrayLike, df: ArrayLike) -> Array:
    """The level of one pair under Dunnett's test of ``systems`` − 1 systems against one baseline.

    >>> round(float(dunnett_level(0.05, 2, 72)), 12)  # one comparison has the level to itself
    0.05
    """
    return _levels(_dunnett_log_level, alpha, systems, df)


FEW_TO_RESAMPLE = 20
"""Of fewer topics, max-t is Holm's correction of Student's t."""

MAX_T_QUANTILES = (2.3437, 2.7278, 3.1637, 3.5438, 3.8876, 4.2050, 4.5016)
"""Normal quantiles of the level of one pair among 3, 5, 10, … 160 systems at α = .05 and very many topics."""

MAX_T_SHIFTS = {
    8: (-0.532, -0.531, -0.172, 0.473, 1.432, 2.503, 3.665),
    10: (-0.502, -0.707, -0.753, -0.397, 0.213, 1.049, 2.043),
    12: (-0.404, -0.731, -0.993, -0.954, -0.600, -0.020, 0.742),
    14: (-0.324, -0.638, -1.024, -1.230, -1.187, -0.793, -0.238),
    17: (-0.230, -0.474, -0.897, -1.304, -1.575, -1.541, -1.255),
    20: (-0.171, -0.354, -0.751, -1.182, -1.626, -1.884, -1.902),
    25: (-0.124, -0.241, -0.504, -0.896, -1.348, -1.779, -2.133),
    30: (-0.076, -0.181, -0.374, -0.661, -1.020, -1.460, -1.886),
    40: (-0.052, -0.097, -0.220, -0.396, -0.619, -0.918, -1.247),
    50: (-0.032, -0.081, -0.153, -0.276, -0.444, -0.639, -0.849),
    70: (-0.027, -0.038, -0.079, -0.152, -0.260, -0.362, -0.490),
    100: (-0.023, -0.023, -0.045, -0.077, -0.130, -0.192, -0.268),
}
"""How much lower the logarithm of that level is with n topics: ``scripts/max_t_levels.py``."""


def max_t_level(alpha: ArrayLike, systems: ArrayLike, topics: ArrayLike = np.inf) -> Array:
    """The level of one pair under the largest |t| of all pairs, each with its own standard error.

    With many topics it is Tukey's. With fewer, the largest |t| of resamples has longer tails, by a ratio that was
    simulated for normal scores and decreases as 1/n². The test is never stricter than Bonferroni's t, which it is below
    ``FEW_TO_RESAMPLE`` topics.

    >>> [round(float(max_t_level(0.05, 10, n)), 5) for n in (5, 20, 50, 150, np.inf)]
    [0.00111, 0.00111, 0.00134, 0.00153, 0.00156]
    """
    alpha, systems, topics = np.broadcast_arrays(*(np.asarray(each, float) for each in (alpha, systems, topics)))
    level = tukey_level(alpha, systems, np.inf)
    level = np.where(systems > 2, level * np.exp(_max_t_shift(-special.ndtri(level / 2), topics)), level)
    by_holm = holm_level(alpha, systems)
    return np.where(topics < FEW_TO_RESAMPLE, by_holm, np.maximum(level, by_holm))


def _max_t_shift(quantile: Array, topics: Array) -> Array:
    """Between the lines of the table; beyond its last line, 1/n²."""
    rows, table = np.array(list(MAX_T_SHIFTS), float), np.array(list(MAX_T_SHIFTS.values()))
    at, row_share = _between(np.log(rows), np.log(np.clip(topics, rows[0], rows[-1])))
    beside, column_share = _between(np.array(MAX_T_QUANTILES), quantile)
    low, high = (
        table[at + step, beside] * (1 - column_share) + table[at + step, beside + 1] * column_share for step in (0, 1)
    )
    return np.asarray((low * (1 - row_share) + high * row_share) * np.square(rows[-1] / np.maximum(topics, rows[-1])))


def _between(grid: Array, values: Array) -> tuple[Array, Array]:
    """The places of values in a grid, and how far each is on its way to the next; beyond the ends the line goes on."""
    at = np.clip(np.searchsorted(grid, values, side="right") - 1, 0, len(grid) - 2)
    return at, (values - grid[at]) / (grid[at + 1] - grid[at])


def holm_level(alpha: ArrayLike, systems: ArrayLike) -> Array:
    """The level of one pair in Holm's first step, where all pairs still stand: Bonferroni's.

    >>> round(float(holm_level(0.05, 10)), 5)
    0.00111
    """
    return np.asarray(np.asarray(alpha) / pairs_of(systems))


def tukey_critical(alpha: ArrayLike, systems: ArrayLike, df: ArrayLike) -> Array:
    """The critical value q/√2 of |t| under Tukey's test."""
    return np.asarray(-special.stdtrit(df, tukey_level(alpha, systems, df) / 2))


def _levels(log_level: Callable[..., float], alpha: ArrayLike, systems: ArrayLike, df: ArrayLike) -> Array:
    """Level by level and family by family, each with all its degrees of freedom at once."""
    arrays = np.broadcast_arrays(*(np.asarray(each, float) for each in (alpha, systems, df)))
    shape = arrays[0].shape
    level, groups, below = (each.ravel() for each in arrays)
    if len(level) == 1:  # a solver asks thousands of times
        return np.full(shape, np.exp(log_level(float(level[0]), int(groups[0]), float(below[0]))))
    out = np.empty(len(level))
    kinds, kind = np.unique(np.stack([level, groups]), axis=1, return_inverse=True)
    for at, (one_level, one_groups) in enumerate(kinds.T.tolist()):
        mine = np.flatnonzero(kind.ravel() == at)
        out[mine] = np.exp(_of_family(log_level, one_level, int(one_groups), below[mine]))
    return out.reshape(shape)


def _of_family(log_level: Callable[..., float], alpha: float, systems: int, df: Array) -> Array:
    different, back = np.unique(df, return_inverse=True)
    if len(different) <= _FEW or different[0] < systems - 1:
        return np.array([log_level(alpha, systems, each) for each in different.tolist()])[back.ravel()]
    return _table(log_level, alpha, systems)(1 / df)


@lru_cache(maxsize=256)
def _table(log_level: Callable[..., float], alpha: float, systems: int) -> Pieces:
    """Over 1/ν from 0 to 1/(m − 1), where two topics are."""

    def values(x: Array) -> Array:
        return np.array([log_level(alpha, systems, 1 / each) for each in x.tolist()])

    return approximate(values, [0.0, 1 / (systems - 1)], tolerance=_TOLERANCE, most=4)


def _log_tails(critical: float, df: float) -> float:
    """log 2·P(T ≥ c)."""
    if np.isinf(df):
        return float(np.log(2) + special.log_ndtr(-critical))
    return float(np.log(2 * special.stdtr(df, -critical)))


@lru_cache(maxsize=16384)
def _tukey_log_level(alpha: float, systems: int, df: float) -> float:
    if systems == 2:
        return float(np.log(alpha))
    return _log_tails(float(studentized_range_critical(alpha, systems, df)) / float(np.sqrt(2)), df)


@lru_cache(maxsize=16384)
def _dunnett_log_level(alpha: float, systems: int, df: float) -> float:
    if systems == 2:
        return float(np.log(alpha))
    return _log_tails(dunnett_critical(alpha, systems - 1, df), df)


FAMILIES = ("holm", "max-t", "tukey", "dunnett")
"""Tests of several pairs at once that have a level for one of them."""


def pair_level(
    test: str, alpha: ArrayLike, systems: ArrayLike, topics: ArrayLike = np.inf, df: ArrayLike | None = None
) -> Array:
    """The level that a test of m systems on n topics leaves to one pair: α itself, but for a family.

    ``df`` are the degrees of freedom of the error, by default those of topics that systems share.
    """
    if test == "holm":
        return holm_level(alpha, systems)
    if test == "max-t":
        return max_t_level(alpha, systems, topics)
    if test in ("tukey", "dunnett"):
        level = tukey_level if test == "tukey" else dunnett_level
        return level(alpha, systems, degrees(test, systems, topics) if df is None else df)
    return np.asarray(alpha, float)


def degrees(test: str, systems: ArrayLike, topics: ArrayLike) -> Array:
    """(m − 1)(n − 1) where all systems share one error term, n − 1 where each pair has its own."""
    n = np.asarray(topics, float) - 1
    return np.asarray(n * (np.asarray(systems, float) - 1) if test in ("tukey", "dunnett") else n)
