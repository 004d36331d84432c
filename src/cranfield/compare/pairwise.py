"""Tests of pairs of systems on shared topics, all pairs at once: a column of differences a pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from cranfield.stats.tails import t_critical

Array = npt.NDArray[Any]
Progress = Callable[[int, int], None]

_BLOCK = 4_000_000  # resampled means at a time, so that memory does not grow with their number


@dataclass(frozen=True, eq=False)
class Tested:
    """p and the interval of the mean difference, for every pair."""

    p_value: Array
    lower: Array
    upper: Array


def _moments(differences: Array) -> tuple[Array, Array]:
    """Mean and standard error of every column."""
    return differences.mean(axis=0), differences.std(axis=0, ddof=1) / np.sqrt(len(differences))


def _ratio(mean: Array, error: Array) -> Array:
    """t; 0 for pairs that are equal everywhere, infinite for pairs that differ by the same everywhere."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(error > 0, mean / error, np.where(mean == 0, 0.0, np.copysign(np.inf, mean)))


def t_interval(differences: Array, alpha: float) -> tuple[Array, Array]:
    """Student's interval for every mean difference."""
    mean, error = _moments(differences)
    reach = t_critical(alpha / 2, len(differences) - 1) * error
    return mean - reach, mean + reach


def paired_t(differences: Array, alpha: float, **_: Any) -> Tested:
    """Student's paired t test, two-sided."""
    mean, error = _moments(differences)
    p_value = 2 * special.stdtr(len(differences) - 1, -np.abs(_ratio(mean, error)))
    return Tested(p_value, *t_interval(differences, alpha))


def wilcoxon(differences: Array, alpha: float, **_: Any) -> Tested:
    """Wilcoxon's signed ranks: equal pairs left out, ties share ranks, normal approximation with its tie correction."""
    from scipy import stats

    sizes, given = np.abs(differences), differences != 0
    lowest, highest = (stats.rankdata(sizes, method=which, axis=0) for which in ("min", "max"))
    count = given.sum(axis=0)
    ranks = (lowest + highest) / 2 - (len(differences) - count)  # equal pairs had the lowest
    ties = np.where(given, (highest - lowest + 1) ** 2 - 1.0, 0.0).sum(axis=0)  # Σ t³ − t over ties of t
    spread = count * (count + 1) * (2 * count + 1) / 24 - ties / 48
    above = np.where(differences > 0, ranks, 0.0).sum(axis=0)
    with np.errstate(invalid="ignore"):
        z = (above - count * (count + 1) / 4) / np.sqrt(spread)
    p_value = np.where(count > 0, np.minimum(1.0, 2 * special.ndtr(-np.abs(z))), 1.0)
    return Tested(p_value, *t_interval(differences, alpha))


def sign(differences: Array, alpha: float, **_: Any) -> Tested:
    """The sign test, exact: how lopsided wins and losses are; ties left out."""
    wins, losses = (differences > 0).sum(axis=0), (differences < 0).sum(axis=0)
    fewer, count = np.minimum(wins, losses), wins + losses
    p_value = np.where(count > 0, np.minimum(1.0, 2 * special.bdtr(fewer, np.maximum(count, 1), 0.5)), 1.0)
    return Tested(p_value, *t_interval(differences, alpha))


def _exceedances(
    differences: Array,
    draws: Callable[[int, int], Array],
    count: int,
    statistic: Callable[[Array, Array], Array],
    seen: Array,
    progress: Progress | None,
) -> Array:
    """How many of ``count`` resamples are at least as extreme as what was seen, for every pair."""
    step = max(1, _BLOCK // differences.shape[1])
    more = np.zeros(differences.shape[1], np.int64)
    for first in range(0, count, step):
        weights = draws(first, min(first + step, count))
        # A hair below: ties, and the identity itself, must not be lost to rounding.
        more += (statistic(weights, differences) >= seen * (1 - 1e-12)).sum(axis=0)
        if progress is not None:
            progress(min(first + step, count), count)
    return more


def randomisation(
    differences: Array, alpha: float, *, count: int, seed: int, progress: Progress | None = None
) -> Tested:
    """Fisher's randomisation: had the two systems' names been swapped on some topics; p = (b + 1) / (B + 1)."""
    rng = np.random.default_rng(seed)
    n = len(differences)

    def draws(first: int, last: int) -> Array:
        return rng.integers(0, 2, (last - first, n)) * 2.0 - 1.0

    def statistic(signs: Array, gaps: Array) -> Array:
        return np.asarray(np.abs(signs @ gaps) / n)

    more = _exceedances(differences, draws, count, statistic, np.abs(differences.mean(axis=0)), progress)
    return Tested((more + 1) / (count + 1), *t_interval(differences, alpha))


def bootstrap(differences: Array, alpha: float, *, count: int, seed: int, progress: Progress | None = None) -> Tested:
    """The paired bootstrap of the studentised mean difference, shifted to no difference; p = (b + 1) / (B + 1)."""
    rng = np.random.default_rng(seed)
    n = len(differences)
    mean, error = _moments(differences)
    centred = differences - mean

    def draws(first: int, last: int) -> Array:
        return rng.multinomial(n, np.full(n, 1.0 / n), size=last - first).astype(float)

    def statistic(weights: Array, gaps: Array) -> Array:
        means = weights @ gaps / n
        variances = np.maximum(weights @ gaps**2 / n - means**2, 0.0) * n / (n - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(means == 0, 0.0, np.abs(means) / np.sqrt(variances / n))
        return np.asarray(t)

    more = _exceedances(centred, draws, count, statistic, np.abs(_ratio(mean, error)), progress)
    return Tested((more + 1) / (count + 1), *t_interval(differences, alpha))


def equivalence(differences: Array, margin: float) -> Array:
    """TOST: the larger p of the two one-sided t tests that the mean difference lies within ± margin."""
    mean, error = _moments(differences)
    df = len(differences) - 1
    above = special.stdtr(df, -_ratio(mean + margin, error))
    below = special.stdtr(df, _ratio(mean - margin, error))
    return np.asarray(np.maximum(above, below))


TESTS: dict[str, Callable[..., Tested]] = {
    "t": paired_t,
    "wilcoxon": wilcoxon,
    "sign": sign,
    "bootstrap": bootstrap,
    "randomisation": randomisation,
}
