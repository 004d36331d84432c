"""Topics for people and topics for the judge: power, interval width, and the cheapest design for either.

The test is that of the regression estimator: d̄ + b(ē_N − ē_n) over its standard error, against Student's t with n − 2
degrees of freedom. For normal d and e with correlation r the residual variance estimate is σ²(1 − r²)χ²/(n − 2), and
(ē_N − ē_n)²/SS_e is (1/n − 1/N)·F(1, n − 1)/(n − 1); power and width are integrals over these two. In the
standard error b² is taken at its expected value: with fewer than 8 topics among few judged ones the power is
understated by up to .03, else it is right to about .005.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import special

from cranfield.errors import RequestError
from cranfield.methods.design.formulas import MOST_TOPICS
from cranfield.methods.design.power_functions import expected_width, paired_t_power
from cranfield.stats.roots import crossing, smallest_integer
from cranfield.stats.tails import t_critical
from cranfield.types import Array, ArrayLike

FEWEST = 5
"""The fewest topics with human labels of a design; a comparison with fewer is not to be relied on."""
_NODES = 24
_TRIED = 24  # numbers of topics with human labels that are tried at a time, ever closer to the best
_LARGEST = 1e6  # differences that are looked for


@cache
def _grid() -> tuple[Array, Array]:
    """Probabilities and weights of Gauss–Legendre quadrature on (0, 1), with more nodes towards both ends.

    Quantiles go to infinity at the ends; after the substitution p = x³(10 − 15x + 6x²) 24 nodes have an error of 1e-8.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    x = (nodes + 1) / 2
    return x**3 * (10 - 15 * x + 6 * x**2), weights / 2 * 30 * x**2 * (1 - x) ** 2


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
        n and N, 4 ≤ n ≤ N.
    sd
        The sd of the paired differences under human labels.
    correlation
        The correlation r of paired differences under human and judge's labels.
    alpha
        The level of this pair, already adjusted where it is one of several.

    Examples
    --------
    >>> [round(float(judged_power(50, 400, 0.05, 0.15, r)), 3) for r in (0.3, 0.6, 0.9)]
    [0.664, 0.79, 0.99]
    """
    n, whole, delta, s, r, level = (
        each[..., np.newaxis, np.newaxis]
        for each in np.broadcast_arrays(
            *(np.asarray(each, float) for each in (topics, judged_topics, difference, sd, correlation, alpha))
        )
    )
    spread, estimated, weights = _errors(n, whole, s, r)
    reach = t_critical(level / sides, n - 2) * estimated
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
    _, estimated, weights = _errors(n, whole, s, r)
    return np.asarray((2 * t_critical(level / 2, n - 2) * estimated * weights).sum(axis=(-2, -1)))


def judged_detectable(
    topics: ArrayLike,
    judged_topics: ArrayLike,
    sd: ArrayLike,
    correlation: ArrayLike,
    alpha: ArrayLike = 0.05,
    *,
    power: ArrayLike = 0.8,
    sides: int = 2,
) -> Array:
    """The smallest difference that n topics with human labels among N judged ones detect with ``power``."""
    given = np.broadcast_arrays(
        *(np.asarray(each, float) for each in (topics, judged_topics, sd, correlation, alpha, power))
    )
    n, whole, s, r, level, target = (each.ravel() for each in given)

    def value(difference: Array, index: Array) -> Array:
        return judged_power(n[index], whole[index], difference, s[index], r[index], level[index], sides=sides)

    low, high = np.full(len(n), 1e-9), np.full(len(n), _LARGEST)
    return crossing(value, target, low, high).reshape(given[0].shape)


def _errors(n: Array, whole: Array, sd: Array, r: Array) -> tuple[Array, Array, Array]:
    """The standard error given the judge's scores, its estimate, and the weights of the points of the integral."""
    nodes, weights = _grid()
    residual = special.chdtri(n - 2, 1 - nodes[:, np.newaxis]) / (n - 2)
    t = special.stdtrit(n - 1, (1 + nodes) / 2)  # its square is F(1, n − 1)
    leverage = 1 / n + (1 / n - 1 / whole) * np.square(t) / (n - 1)
    own = (1 - np.square(r)) * leverage  # the part that people's labels have
    shared = np.square(r) / whole
    expected = shared + (1 - np.square(r)) / (n - 3) / whole  # E[b²]s²_e, as b varies too
    error = np.sqrt(own + shared)  # Cochran 1977 §12.6
    return sd * error, sd * np.sqrt(own * residual + expected), weights[:, np.newaxis] * weights


@dataclass(frozen=True, kw_only=True)
class LabelDesign:
    """The cheapest design: ``topics`` with human labels among ``judged_topics`` that the judge labels.

    ``achieved`` is its power (or expected width), ``cost`` its cost, nan where costs are unknown. ``human_topics`` and
    ``human_cost`` are those of human labels alone for the same goal; where they are no dearer, the judge does not pay:
    ``judge_pays`` is false, ``topics`` are ``human_topics``, and ``judged_topics`` are 0. ``share`` is the n/N that
    is the best for many topics. Where no design reaches the goal, ``topics`` is None, as is ``human_topics`` where
    human labels alone do not reach it.
    """

    topics: int | None
    judged_topics: int
    achieved: float
    cost: float
    human_topics: int | None
    human_achieved: float
    human_cost: float
    judge_pays: bool
    share: float


@dataclass(frozen=True, kw_only=True)
class LabelCosts:
    """What the labels of one topic cost, by people and by the judge; ``judged_topics`` where N is given.

    ``limit`` is the largest number of topics to consider.
    """

    human: float = 1.0
    judge: float | None = None
    judged_topics: int | None = None
    limit: int = MOST_TOPICS

    def __post_init__(self) -> None:
        if not self.human > 0 or (self.judge is not None and not self.judge > 0):
            raise RequestError(
                "labels cost something",
                fix="Where those of the judge are free, say how many topics it labels: `judged_topics`.",
            )
        if self.judge is None and self.judged_topics is None:
            raise RequestError(
                "what the labels of the model cost is missing",
                fix="Add `judge_cost`, the cost of one topic (with `human_cost`), or `judged_topics`, the number of "
                "topics that it labels.",
            )
        if self.judged_topics is not None and self.judged_topics < FEWEST:
            raise RequestError(
                f"{self.judged_topics} judged topics are too few", fix=f"Judge {FEWEST} or more, better hundreds."
            )

    def of(self, topics: Array, judged_topics: Array) -> Array:
        """c_H·n + c_M·N; nan where the costs are unknown."""
        return np.asarray(self.human * topics + (np.nan if self.judge is None else self.judge) * judged_topics)


def best_share(correlation: float, human_cost: float, judge_cost: float) -> float:
    """n/N with the least cost for a variance, for many topics: √((1 − r²)/r² · c_M/c_H), at most 1.

    >>> round(best_share(0.6, 10, 0.1), 4)
    0.1333
    """
    r2 = correlation**2
    if r2 * human_cost <= (1 - r2) * judge_cost:
        return 1.0
    return float(np.sqrt((1 - r2) / r2 * judge_cost / human_cost))  # Cochran 1977 §12.5


def design_for_power(
    difference: float,
    sd: float,
    correlation: float,
    costs: LabelCosts,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    sides: int = 2,
) -> LabelDesign:
    """Find the cheapest n and N with a power for a difference.

    ``alpha`` is the level of this pair, already adjusted where it is one of several.

    Examples
    --------
    >>> design = design_for_power(0.05, 0.15, 0.6, LabelCosts(human=10, judge=0.1))
    >>> design.topics, design.judged_topics, round(design.cost, 1), design.human_topics
    (52, 335, 553.5, 73)
    """
    _check(sd, correlation)
    if not difference > 0 or not 0 < alpha < power < 1:
        raise RequestError("a difference above 0, and a power above α are needed", fix="0.8 and 0.05 are usual.")

    def value(n: Array, whole: Array) -> Array:
        return judged_power(n, whole, difference, sd, correlation, alpha, sides=sides)

    def alone(n: Array) -> Array:
        return paired_t_power(n, np.asarray(difference), np.asarray(sd), np.asarray(alpha), sides)

    return _design(value, alone, power, correlation, costs)


def design_for_width(
    width: float, sd: float, correlation: float, costs: LabelCosts, *, alpha: float = 0.05
) -> LabelDesign:
    """Find the cheapest n and N with an expected width of the interval of at most ``width``."""
    _check(sd, correlation)
    if not width > 0 or not 0 < alpha < 1:
        raise RequestError("a width above 0, and an α between 0 and 1 are needed")

    def value(n: Array, whole: Array) -> Array:
        return -judged_width(n, whole, sd, correlation, alpha)

    def alone(n: Array) -> Array:
        return -expected_width(n, np.asarray(sd), np.asarray(alpha))

    return _design(value, alone, -width, correlation, costs)


def design_for_budget(
    budget: float,
    sd: float,
    correlation: float,
    costs: LabelCosts,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    sides: int = 2,
) -> LabelDesign:
    """Find the n and N with the smallest detectable difference that a budget pays for; ``achieved`` is that difference.

    Examples
    --------
    >>> design = design_for_budget(500, 0.15, 0.6, LabelCosts(human=10, judge=0.1))
    >>> design.topics, design.judged_topics, round(design.achieved, 4), round(design.human_achieved, 4)
    (47, 300, 0.0528, 0.0606)
    """
    _check(sd, correlation)
    judge_cost = check_budget(budget, costs)

    def detectable(n: Array, whole: Array) -> Array:
        return judged_detectable(n, whole, sd, correlation, alpha, power=power, sides=sides)

    without = int(min(budget / costs.human * (1 + 1e-12), costs.limit))
    human = _alone_detectable(without, sd, alpha, power, sides)
    n, whole = _affordable(budget, costs.human, judge_cost, costs.limit, detectable)
    with_judge = float(detectable(np.asarray(n), np.asarray(whole)))
    pays = with_judge < human
    chosen = (n, whole) if pays else (without, 0)
    return LabelDesign(
        topics=chosen[0],
        judged_topics=chosen[1],
        achieved=with_judge if pays else human,
        cost=costs.human * chosen[0] + judge_cost * chosen[1],
        human_topics=without,
        human_achieved=human,
        human_cost=costs.human * without,
        judge_pays=pays,
        share=best_share(correlation, costs.human, judge_cost),
    )


def check_budget(budget: float, costs: LabelCosts) -> float:
    """Refuse a budget that pays for no design; return the cost of a judged topic."""
    if costs.judge is None:
        raise RequestError("a budget needs what the labels of the model cost", fix="Add `judge_cost`.")
    least = FEWEST * (costs.human + costs.judge)
    if not budget >= least:
        raise RequestError(
            f"a budget of {budget:g} pays for fewer than {FEWEST} topics labelled by people and by the model",
            fix=f"Plan for {least:g} or more.",
        )
    return costs.judge


def _alone_detectable(topics: int, sd: float, alpha: float, power: float, sides: int) -> float:
    def value(difference: Array, _: Array) -> Array:
        return paired_t_power(np.array([topics]), difference, np.asarray(sd), np.asarray(alpha), sides)

    return float(crossing(value, np.array([power]), np.array([1e-9]), np.array([_LARGEST]))[0])


def _affordable(
    budget: float, human_cost: float, judge_cost: float, limit: int, detectable: Callable[[Array, Array], Array]
) -> tuple[int, int]:
    """n and N that a budget pays for, with the smallest detectable difference."""

    def value(n: Array) -> tuple[Array, Array]:
        rest = np.floor((budget - human_cost * n) / judge_cost * (1 + 1e-12))
        whole = np.clip(rest, n, limit)
        return whole, detectable(n, whole)

    most = int(min(budget / (human_cost + judge_cost) * (1 + 1e-12), limit))
    n, whole, differences = _narrowed(value, FEWEST, most, 0.0)
    best = int(np.argmin(differences))
    return int(n[best]), int(whole[best])


Value = Callable[[Array, Array], Array]
"""The power, or minus the width, of n and N topics."""


def _check(sd: float, correlation: float) -> None:
    if not sd > 0 or not -1 < correlation < 1:
        raise RequestError("an sd above 0, and a correlation between −1 and 1 are needed")


def _design(
    value: Value, alone: Callable[[Array], Array], target: float, correlation: float, costs: LabelCosts
) -> LabelDesign:
    """The cheapest design with the judge, or that with human labels alone where it is no dearer."""
    counts, reached = smallest_integer(
        lambda n, _: alone(n.astype(float)) >= target, np.array([30.0]), lowest=2, highest=costs.limit
    )
    without = int(counts[0])
    human_cost = costs.human * without if reached[0] else float("inf")
    # N ≥ n, so that more topics cost more than people alone.
    most = int(human_cost / (costs.human + (costs.judge or 0.0))) if reached[0] else costs.limit
    if costs.judged_topics is not None:
        n, whole, cost = _fewest_labelled(value, target, costs)
    else:
        n, whole, cost = _cheapest(value, target, correlation, most, without, costs)
    saves = n < without if costs.judge is None else cost < human_cost
    pays = n > 0 and (bool(saves) or not reached[0])
    human = float(abs(alone(np.array(float(without)))))
    chosen = (n, whole) if pays else (without if reached[0] else None, 0)
    achieved = float(abs(value(np.array(float(n)), np.array(float(whole))))) if pays else human
    return LabelDesign(
        topics=chosen[0],
        judged_topics=chosen[1],
        achieved=achieved,
        cost=cost if pays else human_cost if costs.judge is not None else float("nan"),
        human_topics=without if reached[0] else None,
        human_achieved=human,
        human_cost=human_cost if costs.judge is not None else float("nan"),
        judge_pays=pays,
        share=float("nan") if costs.judge is None else best_share(correlation, costs.human, costs.judge),
    )


def _fewest_labelled(value: Value, target: float, costs: LabelCosts) -> tuple[int, int, float]:
    """The fewest n among a given N, and the cost; 0 where even all N do not reach the target."""
    assert costs.judged_topics is not None
    whole = float(costs.judged_topics)
    counts, reached = smallest_integer(
        lambda n, _: value(n.astype(float), np.full(len(n), whole)) >= target,
        np.array([30.0]),
        lowest=FEWEST,
        highest=costs.judged_topics,
    )
    n = int(counts[0]) if reached[0] else 0
    return n, costs.judged_topics, float(costs.of(np.asarray(n), np.asarray(whole)))


def _cheapest(
    value: Value, target: float, correlation: float, most: int, without: int, costs: LabelCosts
) -> tuple[int, int, float]:
    """n and N at least cost, and the cost; n is 0 where none of up to ``most`` topics reaches the target."""
    assert costs.judge is not None
    if most < FEWEST:
        return 0, 0, float("inf")

    def priced(n: Array) -> tuple[Array, Array]:
        whole, there = _fewest_judged(value, target, n, correlation, without, costs.limit)
        return whole, np.where(there, costs.of(n, whole), np.inf)

    n, whole, cost = _narrowed(priced, FEWEST, most, costs.judge)
    best = int(np.argmin(cost))
    return (int(n[best]), int(whole[best]), float(cost[best])) if np.isfinite(cost[best]) else (0, 0, float("inf"))


def _narrowed(
    value: Callable[[Array], tuple[Array, Array]], low: int, high: int, rounding: float
) -> tuple[Array, Array, Array]:
    """Numbers around that with the smallest value, what ``value`` says of them, and the values themselves.

    The value falls and then rises, but for less than ``rounding``: the best is then between the neighbours of those
    tried that are no more than that above the best of them.
    """
    count = _TRIED
    while True:
        tried = np.unique(np.round(np.geomspace(low, high, count))).astype(np.int64)
        n = tried.astype(float)
        other, values = value(n)
        if len(tried) == high - low + 1 or not np.isfinite(values).any():
            return n, other, values
        near = np.flatnonzero(values <= values.min() + rounding)
        bounds = tried[max(near[0] - 1, 0)], tried[min(near[-1] + 1, len(tried) - 1)]
        if 2 * (bounds[1] - bounds[0]) > high - low:
            count *= 4
        low, high = int(bounds[0]), int(bounds[1])


def _fewest_judged(
    value: Value, target: float, topics: Array, correlation: float, without: int, most: int
) -> tuple[Array, Array]:
    """The fewest N for every n, and whether there is one."""

    def reached(whole: Array, index: Array) -> Array:
        n = topics[index]
        return np.asarray(value(n, np.maximum(whole, n)) >= target)

    r2 = correlation**2
    there = reached(np.full(len(topics), float(most)), np.arange(len(topics)))
    with np.errstate(divide="ignore"):
        guess = r2 / np.maximum(1 / without - (1 - r2) / topics, 1e-12)  # where n and N are worth as much as n alone
    whole, _ = smallest_integer(
        lambda whole, index: reached(whole, np.flatnonzero(there)[index]),
        np.clip(guess[there], topics[there], most),
        lowest=FEWEST,
        highest=most,
    )
    fewest = np.full(len(topics), float(most))
    fewest[there] = np.maximum(whole, topics[there])
    return fewest, there
