"""Which systems, or groups of systems, a judge favours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.contrasts.decisions import RESAMPLES, Drawing, by_max_t
from cranfield.methods.contrasts.paired import Pairs
from cranfield.methods.contrasts.pairs import against
from cranfield.methods.judging.estimators import JudgedScores
from cranfield.runtime.random import Seed, sequence
from cranfield.types import Array

QUESTIONS = ("shift", "departure")
"""Is a system's mean shifted relative to the others', and does it depart from a curve through the others?"""
DEGREE = 2
"""The degree of the polynomial that the curve is."""
FEWEST_FOR_CURVE = 8
"""Systems below which no departure from a curve through the others is looked for."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Favour:
    """Which systems, or groups of systems, a judge favours.

    ``value`` is how much the mean of a system under the judge's labels exceeds what those of the others predict.
    Intervals are simultaneous, and exclude 0 exactly when p ≤ α. All are nan (p is 1) where nothing can be said: the
    judge departs from the human scores by the same on every topic, or too few systems are left to fit a curve to.
    """

    value: Array
    lower: Array
    upper: Array
    p_value: Array
    alpha: float

    @property
    def favoured(self) -> Array:
        """Those that the judge significantly favours."""
        return np.asarray((self.p_value <= self.alpha) & (self.value > 0))

    @property
    def disfavoured(self) -> Array:
        """Those that the judge significantly disfavours."""
        return np.asarray((self.p_value <= self.alpha) & (self.value < 0))


def favour(
    scores: JudgedScores,
    *,
    question: str = "shift",
    groups: Array | None = None,
    alpha: float = 0.05,
    resamples: int = RESAMPLES,
    seed: Seed = 1,
) -> Favour:
    """Find the systems that a judge favours, with the error rate controlled over all of them (max-t over topics).

    Parameters
    ----------
    question
        ``shift`` (default): does the judge raise or lower a system's mean relative to those of the others, so that it
        distorts comparisons? ``departure``: does the mean depart from a quadratic curve through those of the others
        over the human ones? A lenient judge, under which the best systems come close to the highest score, shifts
        systems; a departure is a preference for the system as such.
    groups
        The number of the group of every system, from 0, such as its team: groups are tested instead of systems.

    Notes
    -----
    A curve is fitted to the means of the other systems, or of the systems of other groups. Standard errors and the
    resampled largest |t| are those of jackknife pseudo-values over topics.

    On TREC Deep Learning 2019 (37 runs, 43 topics, four judges made to favour none) some system is named in .03–.08 of
    samples, by either question. As they are, the three Llama judges distort comparisons in favour of lexical runs
    (``shift``: 3 to 7 runs are favoured), and none of the four favours a run beyond the curve.
    """
    if question not in QUESTIONS:
        raise RequestError(
            f"there is no question «{question}» of favour", fix=f"Choose one of: {', '.join(QUESTIONS)}."
        )
    members = None if groups is None else [np.flatnonzero(groups == at) for at in range(int(np.max(groups)) + 1)]
    human, judge, n = scores.human, scores.judge_beside_human, scores.topics
    value = _departures(human.mean(axis=0), judge.mean(axis=0), question, members)
    sums = human.sum(axis=0), judge.sum(axis=0)
    left_out = np.array(
        [
            _departures((sums[0] - h) / (n - 1), (sums[1] - j) / (n - 1), question, members)
            for h, j in zip(human, judge, strict=True)
        ]
    )
    pseudo = n * value - (n - 1) * left_out
    tiny = 1e-9 * max(float(np.abs(human).max()), float(np.abs(judge).max()))
    varies = pseudo.std(axis=0, ddof=1) / np.sqrt(n) > tiny  # and is not nan
    lower, upper, p_value = (np.full(len(value), fill) for fill in (np.nan, np.nan, 1.0))
    if varies.any():
        columns = pseudo[:, varies] - pseudo[:, varies].mean(axis=0) + value[varies]
        zero = columns.shape[1]  # a system that scores 0, which the columns are compared with
        pairs = Pairs(np.column_stack([columns, np.zeros(n)]), against(zero + 1, [zero]))
        drawing = Drawing(resamples=resamples, seed=sequence(seed, "judges", "favour"))
        verdicts = by_max_t(pairs, pairs.fit(), alpha=alpha, drawing=drawing)
        lower[varies], upper[varies], p_value[varies] = verdicts.lower, verdicts.upper, verdicts.p_adjusted
    return Favour(value=value, lower=lower, upper=upper, p_value=p_value, alpha=alpha)


def both_favours(scores: JudgedScores, **settings: Any) -> dict[str, Favour]:
    """Which systems a judge favours, by the question; of fewer than 8 systems only the shift is asked."""
    questions = QUESTIONS if scores.systems >= FEWEST_FOR_CURVE else QUESTIONS[:1]
    return {question: favour(scores, question=question, **settings) for question in questions}


def _departures(human: Array, judge: Array, question: str, members: list[Array] | None) -> Array:
    """How far the judge's means are above what those of the other systems, or of other groups, predict."""
    if question == "shift":
        above = judge - human - (judge - human).mean()
        return np.asarray(above if members is None else [above[group].mean() for group in members])
    spread = float(np.ptp(human)) or 1.0
    basis = np.linalg.qr(np.vander((human - human.mean()) / spread, DEGREE + 1, increasing=True))[0]
    residual = judge - basis @ (basis.T @ judge)
    if members is None:
        own = 1 - np.square(basis).sum(axis=1)
        return np.asarray(np.divide(residual, own, out=np.full(len(own), np.nan), where=own > 1e-6))
    return np.array([_departure(residual[group], basis[group], len(human) - DEGREE - 2) for group in members])


def _departure(residual: Array, basis: Array, most: int) -> float:
    """The mean residual of a group from a fit to all other systems: (I − H)⁻¹r, H the part of the group in the fit."""
    if not 0 < len(residual) <= most:
        return float("nan")
    own = np.eye(len(residual)) - basis @ basis.T
    return float(np.linalg.lstsq(own, residual, rcond=1e-9)[0].mean())
