"""Topics for people and topics for the judge: power, interval width, and the cheapest design for either.

The test is that of the regression estimator: d̄ + b(ē_N − ē_n) over its standard error, against Student's t with n − 2
degrees of freedom. For normal d and e with correlation r the residual variance estimate is σ²(1 − r²)χ²/(n − 2), and
(ē_N − ē_n)²/SS_e is (1/n − 1/N)·F(1, n − 1)/(n − 1); power and width are integrals over these two.
b² in the standard error is taken at its expected value: with fewer than 8 topics among few judged ones the power is
understated by up to .03, else it is right to about .005.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import special

from cranfield.errors import RequestError
from cranfield.methods.design.power_functions import expected_width, paired_t_power
from cranfield.stats.roots import smallest_integer
from cranfield.stats.tails import t_critical
from cranfield.types import Array, ArrayLike

FEWEST, MOST = 4, 100_000
"""Topics of a design: the fewest with human labels, and the most with either."""
_NODES = 24
_TRIED = 400  # numbers of topics with human labels that are tried, and then all between the neighbours of the best


@cache
def _grid() -> tuple[Array, Array]:
    """Probabilities and weights of Gauss–Legendre quadrature on (0, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return (nodes + 1) / 2, weights / 2


def judged_power(
    topics: ArrayLike,
    judged_topics: ArrayLike,
    difference: ArrayLike,
    sd: ArrayLike,
    correlation: ArrayLike,
    alpha: ArrayLike = 0.05,
    *,
    sides: int = 2,
) -> Array:
    """Power to detect a difference with human labels on n topics and a judge's on N.

    Parameters
    ----------
    topics, judged_topics
        n and N, n ≤ N.
    sd
        The sd of the paired differences under human labels.
    correlation
        The correlation r of paired differences under human and judge's labels.
    alpha
        The level of this pair, already adjusted where it is one of several.
    """
    n, whole, delta, s, r, level = (
        each[..., np.newaxis, np.newaxis]
        for each in np.broadcast_arrays(
            *(np.asarray(each, float) for each in (topics, judged_topics, difference, sd, correlation, alpha))
        )
    )
    residual, leverage, weights = _nuisance(n, whole)
    own = np.square(s) * (1 - np.square(r)) * leverage  # variance of the part that people's labels give
    reach = t_critical(level / sides, n - 2) * np.sqrt(own * residual + _shared(n, whole, s, r))
    spread = np.sqrt(own + np.square(s * r) / whole)
    power = special.ndtr((delta - reach) / spread)
    if sides == 2:
        power = power + special.ndtr((-delta - reach) / spread)
    return np.asarray((power * weights).sum(axis=(-2, -1)))


def judged_width(
    topics: ArrayLike, judged_topics: ArrayLike, sd: ArrayLike, correlation: ArrayLike, alpha: ArrayLike = 0.05
) -> Array:
    """Expected width of the 100(1 − α) % interval with human labels on n topics and a judge's on N."""
    n, whole, s, r, level = (
        each[..., np.newaxis, np.newaxis]
        for each in np.broadcast_arrays(
            *(np.asarray(each, float) for each in (topics, judged_topics, sd, correlation, alpha))
        )
    )
    residual, leverage, weights = _nuisance(n, whole)
    own = np.square(s) * (1 - np.square(r)) * leverage
    width = 2 * t_critical(level / 2, n - 2) * np.sqrt(own * residual + _shared(n, whole, s, r))
    return np.asarray((width * weights).sum(axis=(-2, -1)))


def _shared(n: Array, whole: Array, sd: Array, r: Array) -> Array:
    """The expected b²s²_e/N, b² being larger than its true value by the variance of b."""
    return np.asarray(np.square(sd) * (np.square(r) + (1 - np.square(r)) / (n - 3)) / whole)


def _nuisance(n: Array, whole: Array) -> tuple[Array, Array, Array]:
    """χ²/df of the residual variance, 1/n + (ē_N − ē_n)²/SS_e, and the weights of both together."""
    nodes, weights = _grid()
    residual = special.chdtri(n - 2, 1 - nodes[:, np.newaxis]) / (n - 2)
    t = special.stdtrit(n - 1, (1 + nodes) / 2)  # its square is F(1, n − 1)
    leverage = 1 / n + (1 / n - 1 / whole) * np.square(t) / (n - 1)
    return residual, leverage, weights[:, np.newaxis] * weights


@dataclass(frozen=True, kw_only=True)
class LabelDesign:
    """The cheapest design: ``topics`` with human labels among ``judged_topics`` that the judge labels.

    ``achieved`` is the power (or the expected width) of it, ``cost`` its cost. ``human_topics`` and ``human_cost`` are
    those of human labels alone for the same goal; where they are no dearer, the judge does not pay: ``judge_pays`` is
    false, and ``topics`` and ``judged_topics`` are both ``human_topics``. ``start`` is the share n/N that is the best
    for many topics, √((1 − r²)/r² · c_M/c_H), at most 1.
    """

    topics: int
    judged_topics: int
    achieved: float
    cost: float
    human_topics: int
    human_achieved: float
    human_cost: float
    judge_pays: bool
    start: float


def best_share(correlation: float, human_cost: float, judge_cost: float) -> float:
    """n/N with the least cost for a variance, for many topics: √((1 − r²)/r² · c_M/c_H), at most 1.

    >>> round(best_share(0.6, 10, 0.1), 4)
    0.1333
    """
    if correlation == 0:
        return 1.0
    r2 = correlation**2
    return float(min(1.0, np.sqrt((1 - r2) / r2 * judge_cost / human_cost)))  # Cochran 1977 §12.7


def design_for_power(
    difference: float,
    sd: float,
    correlation: float,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    human_cost: float = 1.0,
    judge_cost: float = 0.01,
    most_judged: int = MOST,
    sides: int = 2,
) -> LabelDesign:
    """Find the cheapest n and N with a power of at least ``power`` for a difference.

    Parameters
    ----------
    alpha
        The level of this pair, already adjusted where it is one of several (`cranfield.stats.family`).
    human_cost, judge_cost
        The cost of one topic labelled by people, and by the judge.
    most_judged
        The most topics that there are to judge.
    """
    _check(sd, correlation, human_cost, judge_cost)
    if not difference > 0 or not 0 < power < 1 or not 0 < alpha < 1:
        raise RequestError("a difference above 0, and a power and α between 0 and 1 are needed")

    def value(n: Array, whole: Array) -> Array:
        return judged_power(n, whole, difference, sd, correlation, alpha, sides=sides)

    def alone(n: Array) -> Array:
        return paired_t_power(n, np.asarray(difference), np.asarray(sd), np.asarray(alpha), sides)

    return _cheapest(value, alone, power, correlation, human_cost, judge_cost, most_judged)


def design_for_width(
    width: float,
    sd: float,
    correlation: float,
    *,
    alpha: float = 0.05,
    human_cost: float = 1.0,
    judge_cost: float = 0.01,
    most_judged: int = MOST,
) -> LabelDesign:
    """Find the cheapest n and N with an expected width of the interval of at most ``width``."""
    _check(sd, correlation, human_cost, judge_cost)
    if not width > 0 or not 0 < alpha < 1:
        raise RequestError("a width above 0, and an α between 0 and 1 are needed")

    def value(n: Array, whole: Array) -> Array:
        return -judged_width(n, whole, sd, correlation, alpha)

    def alone(n: Array) -> Array:
        return -expected_width(n, np.asarray(sd), np.asarray(alpha))

    return _cheapest(value, alone, -width, correlation, human_cost, judge_cost, most_judged)


Value = Callable[[Array, Array], Array]
"""The power, or minus the width, of n and N topics."""


def _check(sd: float, correlation: float, human_cost: float, judge_cost: float) -> None:
    if not sd > 0 or not -1 < correlation < 1:
        raise RequestError("an sd above 0, and a correlation between −1 and 1 are needed")
    if not human_cost > 0 or not judge_cost >= 0:
        raise RequestError("people's labels must cost something, and the judge's not less than nothing")


def _cheapest(
    value: Value,
    alone: Callable[[Array], Array],
    target: float,
    correlation: float,
    human_cost: float,
    judge_cost: float,
    most_judged: int,
) -> LabelDesign:
    """The design with the least cost: all n that may be the best, each with the fewest N that reach the target."""
    counts, reached = smallest_integer(
        lambda n, _: alone(n.astype(float)) >= target, np.array([30.0]), lowest=2, highest=MOST
    )
    without = int(counts[0])
    human_cost_alone = human_cost * without if reached[0] else float("inf")
    largest = min(without, most_judged)
    tried = (
        np.unique(np.geomspace(FEWEST, largest, _TRIED).astype(np.int64)) if largest >= FEWEST else np.array([], int)
    )
    n, whole, cost = _fewest_judged(value, target, tried, human_cost, judge_cost, most_judged)
    if len(n):
        best = int(np.argmin(cost))
        near = np.searchsorted(tried, n[best]) + np.array([-1, 1])
        low, high = tried[np.clip(near, 0, len(tried) - 1)].tolist()
        n, whole, cost = _fewest_judged(value, target, np.arange(low, high + 1), human_cost, judge_cost, most_judged)
    pays = len(n) > 0 and float(cost.min()) < human_cost_alone
    if not pays and not reached[0]:
        raise RequestError(f"no design with {MOST:,} topics or fewer reaches this", fix="Ask for less.")
    at = int(np.argmin(cost)) if pays else 0
    chosen = (int(n[at]), int(whole[at])) if pays else (without, without)
    achieved = value(*(np.array(each, float) for each in chosen)) if pays else alone(np.array(float(without)))
    return LabelDesign(
        topics=chosen[0],
        judged_topics=chosen[1],
        achieved=float(abs(achieved)),
        cost=float(cost[at]) if pays else human_cost_alone,
        human_topics=without,
        human_achieved=float(abs(alone(np.array(float(without))))),
        human_cost=human_cost_alone,
        judge_pays=pays,
        start=best_share(correlation, human_cost, judge_cost),
    )


def _fewest_judged(
    value: Value, target: float, topics: Array, human_cost: float, judge_cost: float, most: int
) -> tuple[Array, Array, Array]:
    """The fewest N for some n, and the cost, of those n for which there is one."""

    def reached(more: Array, index: Array) -> Array:
        n = topics[index].astype(float)
        return np.asarray(value(n, np.minimum(n + more, most)) >= target)

    more, there = smallest_integer(reached, np.zeros(len(topics)), lowest=0, highest=most)
    n = topics[there]
    whole = np.minimum(n + more[there], most)
    return n, whole, np.asarray(human_cost * n + judge_cost * whole)
