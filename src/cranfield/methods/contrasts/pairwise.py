"""Tests of pairs of systems on shared topics, of equivalence too, and corrections for their number."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from cranfield.errors import RequestError
from cranfield.methods.contrasts.anova import TINY
from cranfield.runtime.random import Seed, generator
from cranfield.stats.tails import t_critical
from cranfield.types import Array, Progress


def holm(p_values: Array) -> Array:
    """Holm's step-down correction, which controls the family-wise error rate.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order, count = np.argsort(p_values, kind="stable"), len(p_values)
    stepped = np.maximum.accumulate(p_values[order] * (count - np.arange(count)))
    adjusted = np.empty(count)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def benjamini_hochberg(p_values: Array) -> Array:
    """Benjamini and Hochberg's step-up correction, which controls the false discovery rate.

    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.04, 0.04]
    """
    # scipy.stats.false_discovery_control gives the same numbers in the same time (15 ms for 100,000), but loading
    # scipy.stats for it takes most of a second.
    order, count = np.argsort(p_values, kind="stable"), len(p_values)
    scaled = p_values[order] * count / (np.arange(count) + 1)
    stepped = np.minimum.accumulate(scaled[::-1])[::-1]
    adjusted = np.empty(count)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def none(p_values: Array) -> Array:
    """No correction: for one planned comparison."""
    return p_values


CORRECTIONS: dict[str, Callable[[Array], Array]] = {"holm": holm, "bh": benjamini_hochberg, "none": none}


def deciding_level(significant: Array, correct: str, alpha: float) -> float:
    """The level at which unadjusted intervals decide as the corrected p-values did.

    Holm's last step tests at α divided by the number of remaining pairs; if R of k pairs are significant with Benjamini
    and Hochberg's correction, intervals at level Rα/k have a false coverage rate of at most α.

    References
    ----------
    - Y. Benjamini and D. Yekutieli, "False discovery rate–adjusted multiple confidence intervals for selected
      parameters", Journal of the American Statistical Association 100 (2005), 71–81.

    >>> deciding_level(np.array([True, False, False]), "holm", 0.06), deciding_level(np.array([True] * 3), "bh", 0.06)
    (0.03, 0.06)
    """
    count, found = len(significant), int(np.sum(significant))
    if correct == "holm":
        return alpha / max(count - found, 1)
    return alpha * max(found, 1) / count if correct == "bh" else alpha


def covered(level: float) -> str:
    """The confidence of an interval at a level; that of a small level is not shown as 100 %.

    >>> covered(0.05), covered(0.05 / 13), covered(0.05 / 30_000)
    ('95 %', '99.62 %', '99.9998 %')
    """
    return f"{100 * (1 - level):.{max(4, -math.floor(math.log10(level)))}g} %"


def interval_level(significant: Array, correct: str, alpha: float) -> str:
    """The confidence of t intervals at the deciding level, and what the level is.

    >>> interval_level(np.array([True, False, False]), "holm", 0.05)
    "97.5 % (level of Holm's last step)"
    >>> interval_level(np.array([True]), "none", 0.05)
    '95 %'
    """
    note = {
        "holm": " (level of Holm's last step)",
        "bh": f" (false coverage rate {100 * alpha:.4g} %)",
        "none": " (not corrected for the number of pairs)" if len(significant) > 1 else "",
    }
    return covered(deciding_level(significant, correct, alpha)) + note[correct]


def correction(name: str) -> Callable[[Array], Array]:
    """Return a correction by its name."""
    if name not in CORRECTIONS:
        raise RequestError(f"there is no correction «{name}»", fix=f"Choose one of: {', '.join(CORRECTIONS)}.")
    return CORRECTIONS[name]


EXACT = 50  # topics up to which Wilcoxon's distribution is exact, as in scipy
_BLOCK = 4_000_000  # resampled means at a time, so that memory does not grow with their number


@dataclass(frozen=True, eq=False)
class PairwiseTest:
    """p and the interval of the mean difference, for every pair."""

    p_value: Array
    lower: Array
    upper: Array


def moments(differences: Array) -> tuple[Array, Array]:
    """Mean and standard error of every column."""
    return differences.mean(axis=0), differences.std(axis=0, ddof=1) / np.sqrt(len(differences))


def settled(differences: Array, largest: float | None = None) -> Array:
    """Differences of which rounding decides no sign and no tie: scores of 0.3 and 0.2, and of 0.2 and 0.1.

    ``largest`` is the largest of all differences, where these are not all.
    """
    largest = np.abs(differences).max(initial=0.0) if largest is None else largest
    return np.round(differences / largest, 12) if largest > 0 else np.asarray(differences, float)


def _ratio(mean: Array, error: Array) -> Array:
    """t; 0 for pairs that are equal everywhere, infinite for pairs that differ by the same everywhere."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(error > 0, mean / error, np.where(mean == 0, 0.0, np.copysign(np.inf, mean)))


def t_interval(differences: Array, alpha: float) -> tuple[Array, Array]:
    """Student's interval for every mean difference."""
    mean, error = moments(differences)
    reach = t_critical(alpha / 2, len(differences) - 1) * error
    return mean - reach, mean + reach


def paired_t(differences: Array, alpha: float, **_: Any) -> PairwiseTest:
    """Student's paired t test, two-sided."""
    mean, error = moments(differences)
    p_value = 2 * special.stdtr(len(differences) - 1, -np.abs(_ratio(mean, error)))
    return PairwiseTest(p_value, *t_interval(differences, alpha))


def wilcoxon(differences: Array, alpha: float, *, largest: float | None = None, **_: Any) -> PairwiseTest:
    """Wilcoxon's signed ranks: equal scores left out, ties share ranks; exact for up to 50 topics that differ.

    With more of them, the normal approximation with its correction for ties.
    """
    # scipy.stats.wilcoxon equals this without ties, 1.4 times slower (50 × 2,000 and 200 × 500 scores); with ties or
    # zeros it takes the normal approximation for small samples, which is off by up to .006 for 50 topics.
    from scipy import stats

    gaps = settled(differences, largest)
    count = (gaps != 0).sum(axis=0)
    doubled = np.rint(2 * stats.rankdata(np.abs(gaps), axis=0)).astype(np.int64)
    doubled -= 2 * (len(gaps) - count)  # equal scores had the lowest ranks
    doubled[gaps == 0] = 0
    above = np.where(gaps > 0, doubled, 0).sum(axis=0)
    p_value = np.empty(gaps.shape[1])
    few = count <= EXACT
    p_value[few] = _exact_ranks(np.sort(doubled[:, few], axis=0), above[few])
    p_value[~few] = _normal_ranks(doubled[:, ~few] / 2, above[~few] / 2)
    return PairwiseTest(p_value, *t_interval(differences, alpha))


def _exact_ranks(doubled: Array, above: Array) -> Array:
    """p from all 2ⁿ patterns of signs, for every column of sorted doubled ranks and the sum of those above 0."""
    p_value = np.empty(len(above))
    tables: dict[bytes, Array] = {}  # without ties there is one for each number of topics
    for at, column in enumerate(np.ascontiguousarray(doubled.T)):
        key = column.tobytes()
        if key not in tables:
            tables[key] = _sums_up_to(column)
        chances, total = tables[key], int(column.sum())
        p_value[at] = 2 * chances[min(int(above[at]), total - int(above[at]))]  # the distribution is symmetric
    return np.minimum(p_value, 1.0)


def _sums_up_to(doubled: Array) -> Array:
    """P(sum ≤ w) of a random half of the ranks, for every doubled w."""
    chances = np.zeros(int(doubled.sum()) + 1)
    chances[0] = 1.0
    for rank in doubled[doubled > 0].tolist():
        chances[rank:] += chances[:-rank].copy()
        chances /= 2
    return np.cumsum(chances)


def _normal_ranks(ranks: Array, above: Array) -> Array:
    """p from the normal approximation."""
    total, squares = ranks.sum(axis=0), (ranks**2).sum(axis=0)
    z = (above - total / 2) / np.sqrt(squares / 4)  # ties are in the squares
    return np.asarray(np.minimum(1.0, 2 * special.ndtr(-np.abs(z))))


def sign(differences: Array, alpha: float, *, largest: float | None = None, **_: Any) -> PairwiseTest:
    """The sign test, exact: how lopsided wins and losses are; ties left out."""
    signs = np.sign(settled(differences, largest))
    wins, losses = (signs > 0).sum(axis=0), (signs < 0).sum(axis=0)
    fewer, count = np.minimum(wins, losses), wins + losses
    p_value = np.where(count > 0, np.minimum(1.0, 2 * special.bdtr(fewer, np.maximum(count, 1), 0.5)), 1.0)
    return PairwiseTest(p_value, *t_interval(differences, alpha))


def _exceedances(
    differences: Array,
    draws: Callable[[int, int], Array],
    resamples: int,
    statistic: Callable[[Array, Array], Array],
    seen: Array,
    progress: Progress | None,
) -> Array:
    """How many of ``resamples`` resamples are at least as extreme as what was seen, for every pair."""
    step = max(1, _BLOCK // differences.shape[1])
    more = np.zeros(differences.shape[1], np.int64)
    for first in range(0, resamples, step):
        weights = draws(first, min(first + step, resamples))
        # A hair below: ties, and the identity itself, must not be lost to rounding.
        more += (statistic(weights, differences) >= seen * (1 - 1e-12)).sum(axis=0)
        if progress is not None:
            progress(min(first + step, resamples), resamples)
    return more


def permutation(
    differences: Array, alpha: float, *, resamples: int, seed: Seed, progress: Progress | None = None, **_: Any
) -> PairwiseTest:
    """Fisher's permutation test: had the two systems' names been swapped on some topics; p = (b + 1) / (B + 1)."""
    rng = generator(seed, "permutation")
    n = len(differences)

    def draws(first: int, last: int) -> Array:
        return rng.integers(0, 2, (last - first, n)) * 2.0 - 1.0

    def statistic(signs: Array, gaps: Array) -> Array:
        return np.asarray(np.abs(signs @ gaps) / n)

    more = _exceedances(differences, draws, resamples, statistic, np.abs(differences.mean(axis=0)), progress)
    return PairwiseTest((more + 1) / (resamples + 1), *t_interval(differences, alpha))


def bootstrap(
    differences: Array, alpha: float, *, resamples: int, seed: Seed, progress: Progress | None = None, **_: Any
) -> PairwiseTest:
    """The paired bootstrap of the studentised mean difference, shifted to no difference; p = (b + 1) / (B + 1)."""
    rng = generator(seed, "bootstrap")
    n = len(differences)
    mean, error = moments(differences)
    centred = differences - mean

    def draws(first: int, last: int) -> Array:
        return rng.multinomial(n, np.full(n, 1.0 / n), size=last - first).astype(float)

    def statistic(weights: Array, gaps: Array) -> Array:
        means = weights @ gaps / n
        variances = np.maximum(weights @ gaps**2 / n - means**2, 0.0) * n / (n - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(means == 0, 0.0, np.abs(means) / np.sqrt(variances / n))
        return np.asarray(t)

    more = _exceedances(centred, draws, resamples, statistic, np.abs(_ratio(mean, error)), progress)
    return PairwiseTest((more + 1) / (resamples + 1), *t_interval(differences, alpha))


TESTS: dict[str, Callable[..., PairwiseTest]] = {
    "t": paired_t,
    "wilcoxon": wilcoxon,
    "sign": sign,
    "bootstrap": bootstrap,
    "permutation": permutation,
}


@dataclass(frozen=True, eq=False)
class MarginTest:
    """What was shown about every pair: p adjusted for all of them, the interval that decides, and the verdict.

    A pair is ``shown`` exactly when its interval lies within the margin: both ends for equivalence, the lower end for
    non-inferiority, whose upper end is infinite. Each end is that of a one-sided test at ``level``; ``interval`` says
    how much the interval covers.
    """

    margin: float
    correct: str
    p_value: Array
    p_adjusted: Array
    lower: Array
    upper: Array
    shown: Array
    level: float
    interval: str

    def turned(self) -> MarginTest:
        """The same of differences with the other sign."""
        return replace(self, lower=-self.upper, upper=-self.lower)


def one_sided(mean: Array, error: Array, df: Array | int) -> Array:
    """p of Student's test that a mean difference is above 0; 1 where there is no error to measure it against."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(error > 0, np.maximum(special.stdtr(df, -mean / error), TINY), 1.0)


def equivalence_p(mean: Array, error: Array, df: Array | int, margin: float) -> Array:
    """The larger p of the two one-sided tests that the mean difference lies within ± margin (TOST)."""
    return np.maximum(one_sided(mean + margin, error, df), one_sided(margin - mean, error, df))


def check_margin(margin: float, what: str) -> None:
    if not margin > 0 or not np.isfinite(margin):
        raise RequestError(f"{what} within {margin:g} cannot be shown", fix="Name a margin above 0.")


def equivalence(mean: Array, error: Array, df: Array | int, *, margin: float, correct: str, alpha: float) -> MarginTest:
    """Whether mean differences are shown to lie within ± margin.

    References
    ----------
    - D. J. Schuirmann, "A comparison of the two one-sided tests procedure and the power approach for assessing the
      equivalence of average bioavailability", Journal of Pharmacokinetics and Biopharmaceutics 15 (1987), 657–680.
    """
    check_margin(margin, "equivalence")
    p_value = equivalence_p(mean, error, df, margin)
    p_adjusted = correction(correct)(p_value)
    level = deciding_level(p_adjusted <= alpha, correct, alpha)
    reach = t_critical(level, df) * error
    lower, upper = (np.where(error > 0, end, np.nan) for end in (mean - reach, mean + reach))
    return MarginTest(
        margin=margin,
        correct=correct,
        p_value=p_value,
        p_adjusted=p_adjusted,
        lower=lower,
        upper=upper,
        shown=p_adjusted <= alpha,
        level=level,
        interval=covered(2 * level),
    )


def non_inferiority(
    mean: Array, error: Array, df: Array | int, *, margin: float, correct: str, alpha: float
) -> MarginTest:
    """Whether candidates are shown to be worse than the baseline by less than the margin, if at all."""
    check_margin(margin, "non-inferiority")
    return shown_above(mean, error, df, margin=margin, correct=correct, alpha=alpha)


def shown_above(mean: Array, error: Array, df: Array | int, *, margin: float, correct: str, alpha: float) -> MarginTest:
    """Whether mean differences are shown to be above −margin, by one-sided t tests; the margin may be 0."""
    p_value = one_sided(mean + margin, error, df)
    p_adjusted = correction(correct)(p_value)
    level = deciding_level(p_adjusted <= alpha, correct, alpha)
    lower = np.where(error > 0, mean - t_critical(level, df) * error, np.nan)
    return MarginTest(
        margin=margin,
        correct=correct,
        p_value=p_value,
        p_adjusted=p_adjusted,
        lower=lower,
        upper=np.where(error > 0, np.inf, np.nan),
        shown=p_adjusted <= alpha,
        level=level,
        interval=f"{covered(level)}, one-sided",
    )
