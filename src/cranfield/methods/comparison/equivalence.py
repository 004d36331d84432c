"""Equivalence and non-inferiority: pairs shown to differ by less than a margin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from cranfield.errors import RequestError
from cranfield.methods.comparison.anova import TINY
from cranfield.methods.comparison.corrections import correction, deciding_level
from cranfield.stats.tails import t_critical
from cranfield.types import Array


@dataclass(frozen=True, eq=False)
class MarginTest:
    """What was shown about every pair: p adjusted for all of them, the interval that decides, and the verdict.

    A pair is ``shown`` exactly when its interval lies within the margin: both ends for equivalence, the lower end for
    non-inferiority, whose upper end is infinite. ``interval`` says how much the interval covers.
    """

    margin: float
    correct: str
    p_value: Array
    p_adjusted: Array
    lower: Array
    upper: Array
    shown: Array
    interval: str


def one_sided(mean: Array, error: Array, df: int) -> Array:
    """p of Student's test that a mean difference is above 0; 1 where there is no error to measure it against."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(error > 0, np.maximum(special.stdtr(df, -mean / error), TINY), 1.0)


def equivalence_p(mean: Array, error: Array, df: int, margin: float) -> Array:
    """The larger p of the two one-sided tests that the mean difference lies within ± margin (TOST)."""
    return np.maximum(one_sided(mean + margin, error, df), one_sided(margin - mean, error, df))


def check_margin(margin: float, what: str) -> None:
    if not margin > 0 or not np.isfinite(margin):
        raise RequestError(f"{what} within {margin:g} cannot be shown", fix="Name a margin above 0.")


def equivalence(mean: Array, error: Array, df: int, *, margin: float, correct: str, alpha: float) -> MarginTest:
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
        interval=f"{100 * (1 - 2 * level):.4g} %",
    )


def non_inferiority(mean: Array, error: Array, df: int, *, margin: float, correct: str, alpha: float) -> MarginTest:
    """Whether candidates are shown to be worse than the baseline by less than the margin, if at all."""
    check_margin(margin, "non-inferiority")
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
        interval=f"{100 * (1 - level):.4g} %, one-sided",
    )
