"""Bootstrap ANOVA: which systems differ when the replicates of every (topic, system) might have come out otherwise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cranfield.errors import Caution, RequestError
from cranfield.methods.contrasts.assumptions import check_table
from cranfield.methods.contrasts.corrections import benjamini_hochberg
from cranfield.runtime.random import Seed, generator
from cranfield.stats.pairs import every_pair
from cranfield.types import Array

MOST_RESAMPLES = 10_000_000  # that can be asked for


@dataclass(frozen=True, kw_only=True, eq=False)
class BootstrapAnova:
    """Verdicts on all pairs, ``first < second`` in the order of the means; Benjamini and Hochberg's correction."""

    means: Array
    first: Array
    second: Array
    difference: Array
    p_value: Array
    p_adjusted: Array
    significant: Array
    half_width: Array  # of the interval around each system's mean, not corrected for many pairs
    alpha: float
    resamples: int

    @property
    def significant_pairs(self) -> int:
        return int(self.significant.sum())


def bootstrap_anova(scores: Array, *, alpha: float = 0.05, resamples: int = 2000, seed: Seed = 1) -> BootstrapAnova:
    """Resample the replicates within every topic and system, topics and systems as they are.

    Scores are topics × systems × replicates, y = μ + topic + system + topic*system + error, as MD3. A resample draws
    each cell's residuals anew, with replacement, and gives every system another mean; p = (b + 1) / (B + 1), where b
    counts the resamples whose difference of two systems is at least the one seen. Of S replicates the bootstrap sees
    only (S − 1) / S of their variance, so residuals are stretched by √(S / (S − 1)) first: with two shards intervals
    would be too short by 29 % otherwise. After Voorhees, Samarov and Soboroff (2017), who also correct by Benjamini
    and Hochberg.
    """
    y = np.asarray(scores, float)
    check_table(y)
    if y.ndim != 3 or y.shape[2] < 2:
        raise RequestError("a bootstrap of replicates needs two or more", fix="Give topics × systems × replicates.")
    if resamples < 1:
        raise RequestError("there must be one resample or more", fix="2,000 are usual.")
    replicates = y.shape[2]
    residuals = (y - y.mean(axis=2, keepdims=True)) * np.sqrt(replicates / (replicates - 1))
    moved = _moved_means(residuals, resamples, generator(seed, "bootstrap ANOVA"))
    means = y.mean(axis=(0, 2))
    first, second = every_pair(len(means))
    difference = means[first] - means[second]
    p_value = (_exceedances(moved, means) + 1) / (resamples + 1)
    adjusted = benjamini_hochberg(p_value)
    reach = np.quantile(np.abs(moved), 1 - alpha, axis=1, method="higher")
    return BootstrapAnova(
        means=means,
        first=first,
        second=second,
        difference=difference,
        p_value=p_value,
        p_adjusted=adjusted,
        significant=adjusted <= alpha,
        half_width=reach,
        alpha=alpha,
        resamples=resamples,
    )


def _moved_means(residuals: Array, resamples: int, rng: np.random.Generator) -> Array:
    """By how much each system's mean moves in each resample, systems × resamples.

    How often each replicate is drawn is looked up in a bank of draws, in another order for every topic and from
    another place on for every system of it. A cell's draws are then fair and those of two cells unrelated, at the
    price of one matrix product a topic.
    """
    topics, systems, replicates = residuals.shape
    bank = rng.multinomial(replicates, np.full(replicates, 1 / replicates), size=resamples).T / (replicates * topics)
    moved, rows = np.zeros((systems, resamples)), np.arange(systems)
    twice = np.empty((systems, 2 * resamples))  # so that every window of that many resamples has each of them once
    windows = np.lib.stride_tricks.sliding_window_view(twice, resamples, axis=1)
    for cells in residuals:
        _product(cells, bank[:, rng.permutation(resamples)], twice[:, :resamples])
        twice[:, resamples:] = twice[:, :resamples]
        start = rng.permutation(resamples)[:systems] if systems <= resamples else rng.integers(0, resamples, systems)
        moved += windows[rows, start]
    return moved


def _product(left: Array, right: Array, out: Array) -> None:
    """``left @ right`` in pieces too small for BLAS to wake its threads, which cost more than they save here."""
    step = max(1, 200_000 // left.size)
    for at in range(0, right.shape[1], step):
        out[:, at : at + step] = left @ right[:, at : at + step]


def _exceedances(moved: Array, means: Array) -> Array:
    """For every pair, how many resamples differ by at least what was seen."""
    found = []
    for at in range(len(means) - 1):
        seen = np.abs(means[at] - means[at + 1 :, np.newaxis])
        # A hair below: pairs that never differ must not be lost to rounding.
        found.append((np.abs(moved[at] - moved[at + 1 :]) >= seen * (1 - 1e-12)).sum(axis=1))
    return np.concatenate(found)


def too_few_resamples(resamples: int, pairs: int, alpha: float) -> Caution | None:
    """Warn if the smallest possible p of B resamples, 1 / (B + 1), is not significant for one of all pairs.

    >>> print(too_few_resamples(10_000, 8_256, 0.05).fix)
    Ask for 165,119 resamples or more, or use a test that needs none: `test="t"`.
    """
    least = 1 / (resamples + 1)
    if pairs * least <= alpha:
        return None
    enough, needed = math.ceil(round(pairs / alpha, 6)) - 1, math.ceil(round(pairs * least / alpha, 6))
    left = f": over {pairs:,} pairs Benjamini and Hochberg leave none significant unless {needed:,} have that p"
    left = left if needed <= pairs else ": no pair can be significant"
    return Caution(
        "too-few-resamples",
        f"{resamples:,} resamples give no p below {least:.1g}{left}",
        (f"Ask for {enough:,} resamples or more, or use" if enough <= MOST_RESAMPLES else "Use")
        + ' a test that needs none: `test="t"`.',
    )
