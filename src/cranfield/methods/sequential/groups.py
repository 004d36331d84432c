"""Group-sequential designs: a few looks fixed in advance, with exact levels for t tests."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.sequential.boundaries import (
    FARTHEST,
    SPENDING,
    crossing_probabilities,
    drift_for_power,
    expected_time,
    panels,
    spending_bounds,
)
from cranfield.methods.sequential.study_goal import StudyGoal, even_looks
from cranfield.stats.roots import crossing
from cranfield.types import Array, ArrayLike

CLOSEST = 4  # topics between looks: with fewer, the density of c has corners that quadrature does not follow
_SHARES = 20  # nodes for B


def t_levels(topics: ArrayLike, spent: ArrayLike) -> Array:
    """The two-sided p at which t stops at each look, when so much of α may have been spent by then.

    >>> t_levels([30], [0.05]).round(4).tolist()
    [0.05]
    >>> t_levels([25, 50, 75, 100], 0.05 * np.log1p((np.e - 1) * np.arange(1, 5) / 4)).round(4).tolist()
    [0.0179, 0.0175, 0.0179, 0.0184]
    """
    looks, totals = np.asarray(topics, np.int64), np.maximum.accumulate(np.asarray(spent, float))
    normal = normal_levels(spending_bounds(looks / looks[-1], totals))
    if looks[0] < CLOSEST or (np.diff(looks) < CLOSEST).any():
        return normal
    return _exact(tuple(looks.tolist()), tuple(totals.tolist()), tuple(normal.tolist()))


def normal_levels(bounds: Array) -> Array:
    """Two-sided p of a normal statistic on the boundary."""
    from scipy import special

    return np.asarray(2 * special.ndtr(-bounds))


@lru_cache(maxsize=512)
def _exact(looks: tuple[int, ...], totals: tuple[float, ...], normal: tuple[float, ...]) -> Array:
    levels, node, mass = [totals[0]], np.zeros(0), np.zeros(0)
    for at, n in enumerate(looks):
        if at == 0:
            node, mass = _first(n, levels[0])
            continue
        before = looks[at - 1]
        levels.append(_level(node, mass, before, n, totals[at] - totals[at - 1], normal[at]))
        if at + 1 < len(looks):
            node, mass = _next(node, mass, before, n, levels[-1])
    found = np.array(levels)
    found.flags.writeable = False
    return found


def _cosine(level: float, n: int) -> float:
    """The cosine at which t has this two-sided p; all but 1 where nothing may be spent."""
    from scipy import special

    if not level > 0:
        return float(min(FARTHEST / np.sqrt(n), 1 - 1e-12))
    t = float(-special.stdtrit(n - 1, level / 2))
    return float(t / np.sqrt(n - 1 + t * t))


def _density(c: Array, n: int) -> Array:
    """The density of the cosine for n topics: (1 − c²)^((n − 3)/2) / B(1/2, (n − 1)/2)."""
    from scipy import special

    inside = np.abs(c) < 1
    square = np.where(inside, np.square(c), 0.0)
    return np.where(inside, np.exp((n - 3) / 2 * np.log1p(-square) - special.betaln(0.5, (n - 1) / 2)), 0.0)


def _tail(c: Array, n: int) -> Array:
    """P(cosine ≥ c): that of t."""
    from scipy import special

    near = np.clip(c, -1 + 1e-15, 1 - 1e-15)
    return np.asarray(special.stdtr(n - 1, -near * np.sqrt(n - 1) / np.sqrt(1 - np.square(near))))


def _first(n: int, level: float) -> tuple[Array, Array]:
    edge = min(_cosine(level, n), FARTHEST / np.sqrt(n))
    node, weight = panels(-edge, edge, 2.0 / np.sqrt(n))
    return node, _density(node, n) * weight


def _shares(n: int, m: int) -> tuple[Array, Array]:
    """Nodes and weights for B."""
    from scipy import special

    low, high = special.betaincinv(n / 2, m / 2, 1e-12), 1 - special.betaincinv(m / 2, n / 2, 1e-12)
    x, w = np.polynomial.legendre.leggauss(_SHARES)
    b = low + (high - low) * (x + 1) / 2
    log_density = (n / 2 - 1) * np.log(b) + (m / 2 - 1) * np.log1p(-b) - special.betaln(n / 2, m / 2)
    weight = w * np.exp(log_density)
    return b, weight / weight.sum()


def _level(node: Array, mass: Array, before: int, n: int, wanted: float, normal: float) -> float:
    """The level at which so much more is spent at this look."""
    if not wanted > 0:
        return 0.0
    m = n - before
    b, weight = _shares(before, m)
    old, new = np.sqrt(before * b) * node[:, np.newaxis], np.sqrt(m * (1 - b))

    def leaving(logs: Array, _: Array) -> Array:
        edges = [np.sqrt(n) * _cosine(float(np.exp(each)), n) for each in logs.tolist()]
        return np.array([mass @ ((_tail((e - old) / new, m) + _tail((e + old) / new, m)) @ weight) for e in edges])

    for reach in (0.25, 5.0):  # not far from the normal boundary's level, unless topics are very few
        ends = np.array([np.log(normal) - reach]), np.array([min(np.log(normal) + reach / 5, -1e-9)])
        found = crossing(leaving, np.array([wanted]), *ends, rounds=20)[0]
        if found == found:
            return float(np.exp(found))
    return normal


def _next(node: Array, mass: Array, before: int, n: int, level: float) -> tuple[Array, Array]:
    """The studies that go on after this look."""
    m = n - before
    edge = min(_cosine(level, n), FARTHEST / np.sqrt(n))
    place, width = panels(-edge, edge, 2.5 * np.sqrt(m) / n)
    density = np.zeros(len(place))
    for share, weight in zip(*_shares(before, m), strict=True):
        scale = np.sqrt(m * (1 - share))
        c = (np.sqrt(n) * place[:, np.newaxis] - np.sqrt(before * share) * node) / scale
        density += weight * np.sqrt(n) / scale * (_density(c, m) @ mass)
    return place, density * width


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


def group_design(goal: StudyGoal) -> GroupDesign:
    """Return the looks of a goal: the smallest number of topics with the required power.

    >>> design = group_design(StudyGoal(difference=0.033, sd=0.15, plan="group-sequential"))
    >>> design.topics.tolist(), round(design.inflation, 3)
    ([43, 85, 127, 169], 1.02)
    """
    fixed = goal.needed_topics()
    return _design(fixed, goal.looks, goal.spending, goal.alpha, goal.power)


def with_usual_looks(goal: StudyGoal) -> StudyGoal:
    """The goal with four looks, or with fewer where that many would have fewer than five topics each.

    >>> goal = StudyGoal(difference=0.1, sd=0.1)
    >>> goal.needed_topics(), with_usual_looks(goal).looks
    (10, (0.5, 1.0))
    """
    most = goal.needed_topics() // FEWEST_AT_A_LOOK
    return replace(goal, looks=even_looks(min(4, max(1, most))))


@lru_cache(maxsize=512)
def _design(fixed: int, looks: tuple[float, ...], spending: str, alpha: float, power: float) -> GroupDesign:
    inflation, drift = _inflation(looks, spending, alpha, power)
    most = int(np.ceil(fixed * inflation - 1e-9))
    topics = np.ceil(np.array(looks) * most - 1e-9).astype(np.int64)
    if topics[0] < FEWEST_AT_A_LOOK or (np.diff(topics) < 1).any():
        raise RequestError(
            f"looks at {', '.join(map(str, topics.tolist()))} topics are too early or too close",
            fix=f"Look less often (the first look needs {FEWEST_AT_A_LOOK} topics or more), or choose the fixed plan.",
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
