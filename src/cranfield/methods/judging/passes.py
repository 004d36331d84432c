"""Shares of passes under a judge that errs, corrected by its sensitivity and specificity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield.errors import InputError
from cranfield.methods.contrasts.estimates import Estimate
from cranfield.methods.judging.estimators import JudgedScores
from cranfield.types import Array


@dataclass(frozen=True, eq=False, kw_only=True)
class CorrectedShares(Estimate):
    """Shares of passes corrected for the judge's errors, one per system.

    ``sensitivity`` and ``specificity`` are pooled over systems. ``value`` is not limited to 0 … 1; it is nan where the
    judge is no better than chance.
    """

    sensitivity: float
    specificity: float


def are_passes(scores: JudgedScores) -> bool:
    """Whether all scores are 0 or 1."""
    return all(bool(np.isin(table, (0, 1)).all()) for table in (scores.human, scores.judge))


def rogan_gladen(scores: JudgedScores) -> CorrectedShares:
    """Correct shares of passes (scores of 0 and 1) by the judge's sensitivity and specificity.

    (p + specificity − 1) / (sensitivity + specificity − 1), p the judge's share of passes over all N topics. One
    sensitivity and one specificity serve all systems: where a judge errs more with some systems than with others, as
    judges do that favour some, the corrected shares are biased, and `estimate_means` is not. Standard errors are
    linearised topic by topic, so that the scores of one topic may depend on each other.

    References
    ----------
    - W. J. Rogan and B. Gladen, "Estimating prevalence from the results of a screening test", American Journal of
      Epidemiology 107 (1978), 71–76.

    Examples
    --------
    Eight of ten passes are recognised and nine of ten failures; 52 % of passes by the judge are then 60 %:

    >>> human = np.repeat([1.0, 0.0], 10)[:, np.newaxis]
    >>> judge = np.r_[np.repeat([1.0, 0, 0, 1], [8, 2, 9, 1]), np.repeat([1.0, 0], [17, 13])][:, np.newaxis]
    >>> corrected = rogan_gladen(JudgedScores(human=human, judge=judge, rows=np.arange(20)))
    >>> round(float(corrected.value[0]), 3)
    0.6
    """
    if not are_passes(scores):
        raise InputError("a score is neither 0 nor 1", fix="This correction is for passes and failures only.")
    passes, by_judge, n = scores.human, scores.judge_beside_human, scores.topics
    failures = 1 - passes
    if passes.sum() == 0 or failures.sum() == 0:
        raise InputError("human labels are all the same", fix="Label topics with passes and with failures.")
    sensitivity = float((passes * by_judge).sum() / passes.sum())
    specificity = float((failures * (1 - by_judge)).sum() / failures.sum())
    better = sensitivity + specificity - 1 if sensitivity + specificity > 1 else np.nan
    share = scores.judge.mean(axis=0)
    value = (share + specificity - 1) / better  # Rogan and Gladen 1978
    missed = (passes * (by_judge - sensitivity)).sum(axis=1, keepdims=True) / passes.sum()
    raised = (failures * (1 - by_judge - specificity)).sum(axis=1, keepdims=True) / failures.sum()
    influence: Array = (scores.judge - share) / len(scores.judge)
    influence[scores.rows] += (1 - value) * raised - value * missed
    variance = np.square(influence).sum(axis=0) * n / (n - 1) / better**2
    return CorrectedShares(
        value=value,
        standard_error=np.sqrt(variance),
        df=np.full(len(value), n - 1.0),
        sensitivity=sensitivity,
        specificity=specificity,
    )
