"""Group-sequential designs: a few looks fixed in advance; a significant one ends the study."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.sequential.boundaries import (
    SPENDING,
    crossing_probabilities,
    drift_for_power,
    expected_time,
    spending_bounds,
)
from cranfield.methods.sequential.student import t_levels
from cranfield.methods.sequential.study_goal import Goal, fixed_topics
from cranfield.types import Array

FEWEST_AT_A_LOOK = 5  # with fewer topics the estimate of the sd is too uncertain


@dataclass(frozen=True, eq=False)
class GroupDesign:
    """A design that stops at ``topics[k]`` topics if p ≤ ``levels[k]``, where p is that of the t test.

    ``bounds`` are the boundaries for a normal statistic, which power and expectations are computed from; ``inflation``
    is the largest number of topics divided by that of a fixed design.
    """

    topics: Array
    bounds: Array
    levels: Array
    inflation: float
    expected: float
    expected_null: float

    def power(self, difference: float, sd: float) -> float:
        """The probability that some look finds ``difference`` when the sd is ``sd``; for a normal statistic."""
        most = float(self.topics[-1])
        drift = np.sqrt(most) * difference / sd
        return float(crossing_probabilities(self.topics / most, self.bounds, drift=drift).either.sum())


def group_design(goal: Goal) -> GroupDesign:
    """Return the looks of a goal: the smallest number of topics with the required power.

    >>> design = group_design(Goal(0.033, 0.15, plan="group-sequential"))
    >>> design.topics.tolist(), round(design.inflation, 3)
    ([43, 85, 127, 169], 1.02)
    """
    fixed = fixed_topics(goal.difference, goal.sd, goal.alpha, goal.power)
    return _design(fixed, goal.looks, goal.spending, goal.alpha, goal.power)


@lru_cache(maxsize=512)
def _design(fixed: int, looks: tuple[float, ...], spending: str, alpha: float, power: float) -> GroupDesign:
    inflation, drift = _inflation(looks, spending, alpha, power)
    most = int(np.ceil(fixed * inflation - 1e-9))
    topics = np.ceil(np.array(looks) * most - 1e-9).astype(np.int64)
    if topics[0] < FEWEST_AT_A_LOOK or (np.diff(topics) < 1).any():
        raise RequestError(
            f"looks at {', '.join(map(str, topics.tolist()))} topics are too early or too close",
            fix=f"Look less often; the first look needs {FEWEST_AT_A_LOOK} topics or more.",
        )
    times = topics / most
    bounds = spending_bounds(times, SPENDING[spending](times, alpha))
    expected, expected_null = (most * expected_time(times, bounds, drift=each) for each in (drift, 0.0))
    return GroupDesign(topics, bounds, levels_for(topics, most, spending, alpha), inflation, expected, expected_null)


def levels_for(topics: Array, most: int, spending: str, alpha: float) -> Array:
    """The level of t at the looks really made; the last look may come late, and spends what is left."""
    return t_levels(topics, SPENDING[spending](np.asarray(topics) / most, alpha))


@lru_cache(maxsize=256)
def _inflation(looks: tuple[float, ...], spending: str, alpha: float, power: float) -> tuple[float, float]:
    """How many times the topics of a fixed design, and the drift that has the power, for a normal statistic."""
    bounds = spending_bounds(looks, SPENDING[spending](np.array(looks), alpha))
    drift = drift_for_power(looks, bounds, power)
    once = drift_for_power([1.0], spending_bounds([1.0], [alpha]), power)
    return (drift / once) ** 2, drift
