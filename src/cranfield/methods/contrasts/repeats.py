"""How often a gate's verdict would change if the same systems were run again: an A/A check.

A system that is run again has the scores of before and other noise, independent from topic to topic, so that scores of
two runs differ on a topic with the sd of differences between repeats. The mean difference of two systems moves
accordingly; its standard error, which has the noise of one run in any case, is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.contrasts.corrections import correction
from cranfield.methods.contrasts.estimates import GREATER, Estimate
from cranfield.methods.contrasts.pairs import Contrasts
from cranfield.runtime.random import Seed, generator
from cranfield.types import Array

DRAWS = 10_000


def repeat_sd(scores: Array) -> float:
    """The sd of the differences between two repeats of one system on a topic; ``scores`` are topics × repeats.

    >>> round(repeat_sd(np.array([[0.3, 0.5], [0.6, 0.4]])), 4)
    0.2
    """
    return float(np.sqrt(2 * scores.var(axis=1, ddof=1).mean()))


def check_repeats(systems: Sequence[str]) -> None:
    """Refuse fewer than two repeats."""
    if len(set(systems)) < 2:
        raise RequestError(
            "the noise between repeats of a system takes two repeats or more",
            fix="Name each of them with `repeats`, such as base-1, base-2 and base-3.",
        )


def flip_shares(
    estimate: Estimate,
    contrasts: Contrasts,
    *,
    sd: float,
    shares: Array,
    margin: float,
    correct: str,
    alpha: float,
    draws: int = DRAWS,
    seed: Seed = 1,
) -> tuple[Array, Array]:
    """The share of repetitions with another verdict for every contrast, and its Monte Carlo error.

    All systems of the contrasts are run again, and one-sided t tests decided anew.

    Parameters
    ----------
    sd
        That of differences between two repeats of a system, see `repeat_sd`.
    shares
        What every topic counts in a mean.
    """
    systems, places = np.unique(np.r_[contrasts.first, contrasts.second], return_inverse=True)
    first, second = np.split(places, 2)
    reach = sd * float(np.sqrt(np.square(shares).sum()))
    moved = generator(seed, "repeats").normal(0.0, reach, (draws, len(systems)))
    again = replace(estimate, value=estimate.value + Contrasts(first, second, contrasts.factor).of(moved))
    decided = correction(correct)
    now = decided(estimate.p(GREATER, margin)) <= alpha
    then = decided(again.p(GREATER, margin)) <= alpha
    share = (now != then).mean(axis=0)
    return share, np.sqrt(share * (1 - share) / draws)
