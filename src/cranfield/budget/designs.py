"""Designs that see equally much and what each costs; and what a budget sees at each depth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.budget.depths import DepthStudy
from cranfield.design.targets import Target
from cranfield.errors import RequestError
from cranfield.formats.problems import Problem

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Prices:
    """What a judgment and what a topic costs; by default cost is counted in judgments."""

    judgment: float = 1.0
    topic: float = 0.0

    def __post_init__(self) -> None:
        if not (self.judgment >= 0 and self.topic >= 0 and 0 < self.judgment + self.topic < np.inf):
            raise RequestError(
                f"prices of {self.judgment:g} a judgment and {self.topic:g} a topic buy anything",
                fix="Give prices of 0 or more, one of them above 0.",
            )

    def per_topic(self, judged: Array) -> Array:
        return np.asarray(judged * self.judgment + self.topic)


@dataclass(frozen=True)
class Design:
    """So many topics with pools of one depth: enough for the target.

    ``judged`` is documents judged a topic; ``topics_low`` and ``topics_high`` are what the ends of the variance's
    interval ask for; ``judgments`` and ``cost`` are totals. ``cheapest`` marks the least cost of the measure;
    ``frontier`` says that no other depth needs fewer judgments and no more topics.
    """

    measure: str
    depth: int
    full: bool
    judged: float
    coverage: float
    lost: int
    variance: float
    lower: float
    upper: float
    topics: int | None
    topics_low: int | None
    topics_high: int | None
    judgments: float
    cost: float
    cheapest: bool
    frontier: bool

    def to_dict(self) -> dict[str, Any]:
        return dict(self.__dict__)


@dataclass(frozen=True, eq=False)
class Budget:
    """All designs that reach one target."""

    designs: tuple[Design, ...]
    target: Target
    estimate: str
    prices: Prices
    seed: int
    citations: tuple[str, ...]
    warnings: tuple[Problem, ...]

    def of(self, measure: str) -> list[Design]:
        """A measure's designs, shallowest first."""
        return [design for design in self.designs if design.measure == measure]

    def cheapest(self, measure: str) -> Design | None:
        return next((design for design in self.of(measure) if design.cheapest), None)

    def to_dict(self) -> list[dict[str, Any]]:
        return [design.to_dict() for design in self.designs]

    def to_frame(self, backend: str = "pandas") -> Any:
        from cranfield.scores.frames import rows_frame

        return rows_frame(self.to_dict(), backend)

    def summary(self) -> str:
        """The cheapest design of the first measure, and how much dearer the deepest is."""
        measure = self.designs[0].measure
        best, deepest = self.cheapest(measure), self.of(measure)[-1]
        if best is None:
            return f"No number of topics lets {measure} {self.target.wish()}."
        text = (
            f"To {self.target.wish()} with {measure}, {best.topics:,} topics at depth {best.depth} are cheapest: "
            f"{best.judgments:,.0f} judgments"
        )
        if best is deepest or deepest.topics is None:
            return f"{text}."
        return (
            f"{text}; {deepest.topics:,} topics at depth {deepest.depth} see as much and cost "
            f"{deepest.cost / best.cost:.1f} times as much ({deepest.judgments:,.0f} judgments)."
        )


def equivalent_designs(
    study: DepthStudy, target: Target | None = None, *, prices: Prices | None = None
) -> Budget:  # fmt: skip
    """n, judgments and cost at every depth, for designs that all reach the target (S14 Table 9, Fig. 4)."""
    target, prices = target or Target(), prices or Prices()
    if target.value is None:
        raise RequestError("the target has no value", fix="Say what is to be found, or what there is to spend.")
    found: list[Design] = []
    for measure in study.measures:
        points = study.of(measure)
        values = np.array([[point.variance, point.lower, point.upper] for point in points])
        topics = target.topics(values)
        judged = np.array([point.judged for point in points])
        cost = topics[:, 0] * prices.per_topic(judged)  # S14 §5.4, with a price for the topic too
        least = int(np.nanargmin(cost)) if np.isfinite(cost).any() else -1
        frontier = on_frontier(topics[:, 0], topics[:, 0] * judged)
        for at, point in enumerate(points):
            n, low, high = (_count(value) for value in topics[at])
            found.append(
                Design(
                    measure, point.depth, point.full, point.judged, point.coverage, point.lost, point.variance,
                    point.lower, point.upper, n, low, high, float(topics[at, 0] * judged[at]), float(cost[at]),
                    at == least, bool(frontier[at]),
                )
            )  # fmt: skip
    citations = ("Sakai2014", "Webber2008")
    return Budget(tuple(found), target, study.estimate, prices, study.seed, citations, study.warnings)


def on_frontier(topics: Array, judgments: Array) -> Array:
    """Which designs no other beats in one of the two without losing in the other.

    >>> on_frontier(np.array([100.0, 90.0, 90.0]), np.array([500.0, 900.0, 1000.0])).tolist()
    [True, True, False]
    """
    no_worse = (topics[:, None] <= topics) & (judgments[:, None] <= judgments)
    better = (topics[:, None] < topics) | (judgments[:, None] < judgments)
    return np.asarray(np.isfinite(topics) & ~(no_worse & better).any(axis=0))


@dataclass(frozen=True)
class Purchase:
    """What a budget buys at one depth: ``topics``, and ``seen``, the smallest difference or width they give.

    ``seen_low`` and ``seen_high`` belong to the ends of the variance's interval; ``best`` marks the least ``seen``.
    """

    measure: str
    depth: int
    full: bool
    judged: float
    coverage: float
    lost: int
    variance: float
    topics: int
    judgments: float
    cost: float
    seen: float
    seen_low: float
    seen_high: float
    best: bool

    def to_dict(self) -> dict[str, Any]:
        return dict(self.__dict__)


@dataclass(frozen=True, eq=False)
class Purchases:
    """A budget spent at every depth."""

    purchases: tuple[Purchase, ...]
    budget: float
    target: Target
    estimate: str
    prices: Prices
    seed: int
    citations: tuple[str, ...]
    warnings: tuple[Problem, ...]

    def of(self, measure: str) -> list[Purchase]:
        return [purchase for purchase in self.purchases if purchase.measure == measure]

    def best(self, measure: str) -> Purchase | None:
        return next((purchase for purchase in self.of(measure) if purchase.best), None)

    def to_dict(self) -> list[dict[str, Any]]:
        return [purchase.to_dict() for purchase in self.purchases]

    def to_frame(self, backend: str = "pandas") -> Any:
        from cranfield.scores.frames import rows_frame

        return rows_frame(self.to_dict(), backend)

    def summary(self) -> str:
        measure = self.purchases[0].measure
        best, deepest = self.best(measure), self.of(measure)[-1]
        if best is None:
            return f"{self.budget:,.0f} buy fewer than two topics at any depth."
        what = {"min_range": f"range of {self.target.systems} systems", "difference": "difference", "width": "interval"}
        text = (
            f"{self.budget:,.0f} buy the smallest {what[self.target.goal]} of {measure} with {best.topics:,} topics at "
            f"depth {best.depth}: {best.seen:.3f}"
        )
        return f"{text}." if best is deepest else f"{text}; at depth {deepest.depth} it is {deepest.seen:.3f}."


def spend(
    study: DepthStudy, budget: float, target: Target | None = None, *, prices: Prices | None = None
) -> Purchases:  # fmt: skip
    """The question turned round: what does a budget see at each depth?"""
    if not 0 < budget < np.inf:
        raise RequestError(f"a budget cannot be {budget:g}", fix="Give what there is to spend, e.g. 10000 judgments.")
    target, prices = target or Target(), prices or Prices()
    found: list[Purchase] = []
    for measure in study.measures:
        points = study.of(measure)
        values = np.array([[point.variance, point.lower, point.upper] for point in points])
        judged = np.array([point.judged for point in points])
        topics = np.floor(budget / prices.per_topic(judged))
        seen = target.seen(topics[:, np.newaxis], values)
        least = int(np.nanargmin(seen[:, 0])) if np.isfinite(seen[:, 0]).any() else -1
        for at, point in enumerate(points):
            now, low, high = (float(value) for value in seen[at])
            found.append(
                Purchase(
                    measure, point.depth, point.full, point.judged, point.coverage, point.lost, point.variance,
                    int(topics[at]), float(topics[at] * judged[at]),
                    float(topics[at] * prices.per_topic(judged)[at]), now, low, high, at == least,
                )
            )  # fmt: skip
    citations = ("Sakai2014", "Webber2008")
    return Purchases(tuple(found), budget, target, study.estimate, prices, study.seed, citations, study.warnings)


def _count(value: float) -> int | None:
    return int(value) if value == value else None
