"""A confidence sequence for the mean of bounded differences: right at every number of topics at once.

Suppose every difference lies between a and b and has mean m. A bettor who stakes a share f ∈ [0, 1) of the wealth on
differences above m multiplies it, at each topic, by 1 + f·(x − m)/(m − a), which is never negative and 1 on average.
The wealth is then a fair game, and by Ville's inequality the probability that it ever reaches 2/α times the first
stake is at most α/2; the same holds for a bettor below m. Values of m at which neither has ever done so are the
confidence sequence. Nothing but the bounds is assumed: not the shape, not the variance.

The stake is divided over several shares f beforehand (a mixture of fair games is one), so that whatever the variance
turns out to be, some of it was placed well. Each wealth is monotone in m, so what is left is an interval.

The interval after n topics contains their mean (every bettor against the mean itself has lost, by Jensen's inequality),
but the values that earlier topics ruled out stay ruled out. Where the mean of all topics is among them, or no value is
left at all, the topics did not have one mean throughout, and nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.errors import InputError
from cranfield.methods.sequential.study_goal import StudyGoal
from cranfield.runtime import random
from cranfield.stats.roots import crossing
from cranfield.types import Array, ArrayLike

TINY = float(np.nextafter(0, 1))
BOLDEST = 0.95  # the largest share ever staked: one topic at the bound leaves a twentieth
_LADDER = BOLDEST / 2.0 ** np.arange(7)


@dataclass(frozen=True, eq=False)
class Bets:
    """Shares of the wealth that are staked, and how the first stake is divided over them."""

    shares: Array
    weights: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class Sequence:
    """The interval after n topics. ``evidence`` is the larger wealth against a mean of 0, over the first stake.

    ``p_value`` is 2 / ``evidence``, at most 1: it may be compared with α after any topic. Where nothing may be claimed,
    ``reason`` says why, and ``lower``, ``upper``, ``evidence`` and ``p_value`` are nan; ``empty`` is true where no
    value of the mean is left.
    """

    topics: int
    mean: float
    lower: float
    upper: float
    evidence: float
    p_value: float
    alpha: float
    empty: bool = False
    reason: str = ""

    @property
    def significant(self) -> bool:
        """Whether the interval leaves out 0."""
        return not self.reason and not self.lower <= 0 <= self.upper


def bets_for(goal: StudyGoal | None = None) -> Bets:
    """Half of the stake on the bet that suits the goal best (in one topic, f·E[x] − f²·E[x²]/2), half on a ladder."""
    ladder = 0.5 ** np.arange(1, len(_LADDER) + 1)
    ladder /= ladder.sum()
    if goal is None:
        return Bets(_LADDER, ladder)
    reach = min(-goal.lowest, goal.highest)
    best = min(reach * goal.difference / (goal.sd**2 + goal.difference**2), BOLDEST)
    return Bets(np.concatenate([[best], _LADDER]), np.concatenate([[0.5], ladder / 2]))


def wealth(gains: Array, bets: Bets) -> Array:
    """The wealth after every topic, from a stake of 1; ``gains`` are (x − m)/(m − a) or (m − x)/(b − m)."""
    logs = np.log1p(gains[:, np.newaxis] * bets.shares)
    return np.asarray(np.exp(np.minimum(np.cumsum(logs, axis=0), 600.0)) @ bets.weights)


def confidence_sequence(
    differences: ArrayLike, *, alpha: float = 0.05, lowest: float = -1.0, highest: float = 1.0, bets: Bets | None = None
) -> Sequence:
    """The interval for the mean after these topics, in the order they were added; it lies within all earlier ones.

    Parameters
    ----------
    differences
        One difference per topic, in the order of the topics.
    alpha
        The probability that the true mean is outside any of the intervals is at most this.
    lowest, highest
        Bounds of a difference.
    bets
        How the stake is divided; those of ``bets_for()`` where they are left out.

    Returns
    -------
    Sequence
        Without an interval where topics cannot have had one mean throughout; ``reason`` says why.

    References
    ----------
    Waudby-Smith & Ramdas 2024, Estimating means of bounded random variables by betting.

    Examples
    --------
    >>> found = confidence_sequence(np.tile([0.2, -0.1, 0.1, 0.05], 40))
    >>> 0 < found.lower < found.mean < found.upper, found.significant
    (True, True)
    >>> drifting = confidence_sequence(np.repeat([0.3, -0.3], 60))
    >>> drifting.empty, drifting.significant
    (True, False)
    """
    x = check_bounded(differences, lowest, highest)
    lower, upper, evidence = _ends(x, alpha, lowest, highest, bets or bets_for())
    shared: dict[str, Any] = {"topics": len(x), "mean": float(x.mean()), "alpha": alpha}
    reason = _why_no_claim(len(x), shared["mean"], lower, upper, alpha)
    if reason:
        unknown: dict[str, Any] = dict.fromkeys(("lower", "upper", "evidence", "p_value"), float("nan"))
        return Sequence(**shared, **unknown, empty=lower > upper, reason=reason)
    return Sequence(**shared, lower=lower, upper=upper, evidence=evidence, p_value=min(1.0, 2 / evidence))


def _ends(x: Array, alpha: float, lowest: float, highest: float, bets: Bets) -> tuple[float, float, float]:
    """Both ends of what no topic ruled out, and the larger wealth against 0."""
    above = float(wealth(x / -lowest, bets).max(initial=1.0))
    below = float(wealth(-x / highest, bets).max(initial=1.0))
    lower = _end(lambda m: wealth((x - m) / (m - lowest), bets).max(), lowest, highest, alpha)
    upper = _end(lambda m: wealth((m - x) / (highest - m), bets).max(), highest, lowest, alpha)
    evidence = max(above, below)
    lower = beside_zero(lower, ruled_out=2 / above <= alpha)
    return lower, -beside_zero(-upper, ruled_out=2 / below <= alpha), evidence


def beside_zero(lower: float, *, ruled_out: bool) -> float:
    """A lower end that leaves out 0 exactly where 0 was ruled out: rounding must not part interval and verdict."""
    return max(lower, TINY) if ruled_out else min(lower, 0.0)


def _why_no_claim(topics: int, mean: float, lower: float, upper: float, alpha: float) -> str:
    if lower > upper:
        return (
            f"the confidence sequence is empty: no mean difference is compatible with all {topics:,} topics in the "
            f"order in which they were added. With topics in random order this has probability {alpha:g} at most; an "
            "order in which the difference drifts is the likely cause"
        )
    if not lower <= mean <= upper:
        return (
            f"the mean difference of all {topics:,} topics ({mean:.4f}) lies outside the interval that the topics left "
            f"({lower:.4f} to {upper:.4f}): earlier and later topics disagree more than topics in random order do"
        )
    return ""


def check_bounded(differences: ArrayLike, lowest: float, highest: float) -> Array:
    """The differences, when all of them lie within the bounds the guarantee rests on."""
    x = np.asarray(differences, float)
    if not len(x):
        raise InputError("there are no differences yet", fix="Add topics first.")
    beyond = x[~((x >= lowest) & (x <= highest))]
    if len(beyond):
        raise InputError(
            f"a difference of {beyond[0]:g} lies outside {lowest:g} and {highest:g}",
            fix="The guarantee rests on the bounds; name those of the measure.",
        )
    return x


def _end(wealth_at: Callable[[float], Any], bound: float, other: float, alpha: float) -> float:
    """Where the largest wealth so far is 2/α; it falls as m goes from ``bound`` to ``other``."""
    near, low, high = bound + (other - bound) * 1e-12, min(bound, other), max(bound, other)

    def logged(m: Array, _: Array) -> Array:
        return np.array([np.log(wealth_at(each)) for each in m.tolist()])

    ends = (near, high) if bound == low else (low, near)
    found = crossing(logged, np.array([np.log(2 / alpha)]), np.array([ends[0]]), np.array([ends[1]]), rounds=50)[0]
    return float(found) if found == found else bound  # no m is ruled out on this side yet


def topics_to_find(goal: StudyGoal) -> tuple[float, int | None]:
    """How many topics until a difference as large as the goal's is found: the mean, and with the goal's power.

    Normal differences; some paths are walked, three times as far as Wald's approximation expects. The mean is infinite,
    and no number is enough, where the difference drowns in the variation that the bounds leave room for.
    """
    rough = rough_topics(goal, goal.sd)
    if not rough < 20_000:  # paths so long would take a while, and stray little
        return rough, int(np.ceil(rough)) if np.isfinite(rough) else None
    length, bets = int(3 * rough) + 10, bets_for(goal)
    paths = int(np.clip(16_000_000 // (length * len(bets.shares)), 20, 4000))
    drawn = random.generator(1, "study plans", "anytime").standard_normal((paths, length))
    topics = _crossings(np.clip(goal.difference + goal.sd * drawn, goal.lowest, goal.highest), goal, bets)
    return float(topics.mean()), int(np.ceil(np.quantile(topics, goal.power)))


def _crossings(x: Array, goal: StudyGoal, bets: Bets) -> Array:
    """After how many topics the wealth of every path reaches 2/α, or its length."""
    paths, length = x.shape
    stakes, topics = np.tile(bets.weights, (paths, 1)), np.full(paths, length)
    with np.errstate(over="ignore"):  # the wealth of paths that have crossed may grow without end
        for at in range(length):
            stakes *= 1 + np.outer(x[:, at], bets.shares) / -goal.lowest
            topics[(topics == length) & (stakes.sum(axis=1) >= 2 / goal.alpha)] = at + 1
    return topics


def rough_topics(goal: StudyGoal, sd: float) -> float:
    """Wald's approximation: log(2/α) over the growth of the wealth in one topic, for the bet that does best."""
    from scipy import special

    bets = bets_for(goal)
    x = goal.difference + sd * special.ndtri((np.arange(400) + 0.5) / 400)
    growth = np.log1p(np.outer(np.clip(x, goal.lowest, goal.highest), bets.shares) / -goal.lowest).mean(axis=0)
    with np.errstate(divide="ignore"):
        needed = np.where(growth > 0, np.log(2 / goal.alpha / bets.weights) / np.maximum(growth, 0.0), np.inf)
    return float(needed.min())
