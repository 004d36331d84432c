"""Equivalent designs at several pool depths and their costs, and the designs that a budget pays for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.errors import Caution, RequestError
from cranfield.methods.design import Design, Goal, Sd, achieved
from cranfield.methods.design.planning import variance_words
from cranfield.methods.design.target import Target, measure_lines
from cranfield.methods.pooling.depths import DepthStudy, DepthVariance
from cranfield.types import Array

EQUAL_POWER, RAW_DIFFERENCE = "equal-power", "raw-difference"
RULES = (EQUAL_POWER, RAW_DIFFERENCE)


@dataclass(frozen=True)
class Prices:
    """The price of one judgment and of one topic; by default cost is counted in judgments."""

    judgment: float = 1.0
    topic: float = 0.0

    def __post_init__(self) -> None:
        if not (self.judgment >= 0 and self.topic >= 0 and 0 < self.judgment + self.topic < np.inf):
            raise RequestError(
                f"prices of {self.judgment:g} per judgment and {self.topic:g} per topic make no sense",
                fix="Give prices of 0 or more, one of them above 0.",
            )

    def per_topic(self, judged: Array) -> Array:
        return np.asarray(judged * self.judgment + self.topic)


def noise(study: DepthStudy, measure: str, rule: str = EQUAL_POWER) -> Array:
    """Depths × (variance, lower, upper) in units of the differences that the systems have at full depth.

    A pool changes the differences of the systems (signal) as well as the variance (noise). If differences shrink by a
    factor s, a difference δ at full depth becomes sδ; the topics that detect sδ with variance σ² are those that detect
    δ with variance σ²/s². With the residual variance, designs of equal n·s²/σ² have equal Eρ². Sakai (2014) has s = 1.
    """
    if rule not in RULES:
        raise RequestError(f"there is no rule «{rule}»", fix=f"Choose one of: {', '.join(RULES)}.")
    points = study.of(measure)
    values = np.array([[point.variance, point.lower, point.upper] for point in points])
    if rule == RAW_DIFFERENCE:
        return values
    if np.isnan([point.system_variance for point in points]).all():
        raise RequestError(
            "the variance between systems is not known", fix="Take the rule raw-difference, as Sakai (2014) does."
        )
    signals = study.signals(measure)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(signals > 0, 1 / np.square(signals), np.nan)
    return np.asarray(scale[:, np.newaxis] * values)


@dataclass(frozen=True, kw_only=True)
class PoolDesign:
    """The topics that a target requires with pools of one depth.

    ``judged`` is judged documents per topic; ``variance`` with ``lower`` and ``upper`` the variance at this depth;
    ``signal_to_noise`` is σ_s²/σ_e² of the chosen systems, ``relative_topics`` the topics divided by those at full
    depth (before rounding), ``reliability`` Eρ² with ``topics`` topics. ``topics_low`` and ``topics_high`` are the
    topics at the ends of the variance's interval; ``judgments`` and ``cost`` are totals. ``cheapest`` marks the least
    cost of the measure; ``frontier`` is true if no other depth needs fewer judgments without needing more topics.
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
    signal_to_noise: float
    relative_topics: float
    topics: int | None
    topics_low: int | None
    topics_high: int | None
    reliability: float
    judgments: float
    cost: float
    cheapest: bool
    frontier: bool

    def to_dict(self) -> dict[str, Any]:
        return dict(self.__dict__)


@dataclass(frozen=True, eq=False, kw_only=True)
class Budget:
    """All designs that reach one target. ``chosen`` says for each measure which systems they distinguish."""

    designs: tuple[PoolDesign, ...]
    target: Target
    estimate: str
    rule: str
    chosen: dict[str, str]
    prices: Prices
    citations: tuple[str, ...]
    warnings: tuple[Caution, ...]

    def of(self, measure: str) -> list[PoolDesign]:
        """A measure's designs, shallowest first."""
        return [design for design in self.designs if design.measure == measure]

    def cheapest(self, measure: str) -> PoolDesign | None:
        return next((design for design in self.of(measure) if design.cheapest), None)

    def to_dict(self) -> list[dict[str, Any]]:
        return [design.to_dict() for design in self.designs]

    def to_frame(self, backend: str = "pandas") -> Any:
        from cranfield.scores.frames import rows_frame

        return rows_frame(self.to_dict(), backend)

    def summary(self) -> str:
        """The cheapest design of every measure, and the design at full depth that is equivalent to it."""
        return measure_lines([each.measure for each in self.designs], self._claim)

    def _claim(self, measure: str) -> str:
        best, deepest = self.cheapest(measure), self.of(measure)[-1]
        if best is None:
            return f"No number of topics is enough for {measure} to {self._goal(measure)}."
        text = (
            f"To {self._goal(measure)} with {measure} ({variance_words(self.estimate)}), {best.topics:,} topics "
            f"at depth {best.depth} are cheapest: {best.judgments:,.0f} judgments"
        )
        if best is deepest or deepest.topics is None:
            return f"{text}."
        return (
            f"{text}. {deepest.topics:,} topics at depth {deepest.depth} {self._equally(measure)} and cost "
            f"{deepest.cost / best.cost:.1f} times as much ({deepest.judgments:,.0f} judgments)."
        )

    def _goal(self, measure: str) -> str:
        return self.target.of(measure).goal_words()

    def _equally(self, measure: str) -> str:
        if self.rule == RAW_DIFFERENCE:
            return "detect the same raw difference (Sakai 2014)"
        return f"have the same power for {self.chosen[measure]}"


def own_difference(study: DepthStudy, target: Target) -> Target:
    """The goal, or where it has no value the difference that the pair has at full depth."""
    if target.has_value:
        return target
    if len(study.measures) > 1:
        raise RequestError("the pair's difference is not the same in every measure", fix="Give `difference`.")
    difference = abs(study.points[-1].difference)
    if difference == 0:
        raise RequestError("the two runs do not differ at full depth", fix="Give `difference`.")
    return target.with_value(difference)


def equivalent_designs(
    study: DepthStudy, target: Target | None = None, *, rule: str = EQUAL_POWER, prices: Prices | None = None
) -> Budget:
    """The topics, judgments and cost at every depth of designs that all reach the target.

    Parameters
    ----------
    study
        Signal and noise at every depth, for the systems that the designs are to distinguish.
    target
        The goal at full depth; by default the default difference of two of ten systems that share topics.
    rule
        ``equal-power``: the same power, and the same reliability Eρ², for the same systems. ``raw-difference``: the
        same raw difference at every depth, from the variance only: Sakai (2014), §5.4.
    prices
        Prices of a judgment and of a topic.

    Returns
    -------
    Budget
        One design per measure and depth.

    References
    ----------
    - T. Sakai. Designing Test Collections for Comparing Many Systems. CIKM 2014, §5.4, Table 9, Fig. 4.
    - R. L. Brennan. Generalizability Theory. Springer, 2001.

    Examples
    --------
    >>> study = DepthStudy.from_table({10: (96, {"AP": 0.0714}), 100: (731, {"AP": 0.0530})})  # S14 Table 9
    >>> target = Target(Design(systems=10, test="sakai"), Goal("min_range", 0.15))
    >>> budget = equivalent_designs(study, target, rule="raw-difference")
    >>> [(design.topics, round(design.judgments)) for design in budget.of("AP")]
    [(100, 9600), (74, 54094)]
    """
    target, prices = target or Target(), prices or Prices()
    if not target.has_value:
        raise RequestError("the target has no value", fix="Give the range, difference or width, or a budget.")
    found: list[PoolDesign] = []
    for measure in study.measures:
        found += _designs(study, measure, target.of(measure), rule, prices)
    return Budget(
        designs=tuple(found),
        target=target,
        estimate=study.estimate,
        rule=rule,
        chosen={measure: study.chosen(measure) for measure in study.measures},
        prices=prices,
        citations=CITATIONS[rule],
        warnings=study.warnings,
    )


CITATIONS = {EQUAL_POWER: ("Sakai2014", "Brennan2001"), RAW_DIFFERENCE: ("Sakai2014", "Webber2008")}


def _designs(study: DepthStudy, measure: str, target: Target, rule: str, prices: Prices) -> list[PoolDesign]:
    points, spread = study.of(measure), noise(study, measure, rule)
    topics = target.topics(spread)
    judged = np.array([point.judged for point in points])
    cost = topics[:, 0] * prices.per_topic(judged)  # S14 §5.4, with a price for the topic too
    least = int(np.nanargmin(cost)) if np.isfinite(cost).any() else -1
    frontier = on_frontier(topics[:, 0], topics[:, 0] * judged)
    relative = spread[:, 0] / spread[-1, 0] if spread[-1, 0] > 0 else np.full(len(points), np.nan)
    return [
        PoolDesign(
            **_depth(point),
            lower=point.lower,
            upper=point.upper,
            signal_to_noise=point.signal_to_noise,
            relative_topics=float(relative[at]),
            topics=_count(topics[at, 0]),
            topics_low=_count(topics[at, 1]),
            topics_high=_count(topics[at, 2]),
            reliability=reliability(float(topics[at, 0]), point.signal_to_noise),
            judgments=float(topics[at, 0] * judged[at]),
            cost=float(cost[at]),
            cheapest=at == least,
            frontier=bool(frontier[at]),
        )
        for at, point in enumerate(points)
    ]


def _depth(point: DepthVariance) -> dict[str, Any]:
    names = ("measure", "depth", "full", "judged", "coverage", "lost", "variance")
    return {name: getattr(point, name) for name in names}


def reliability(topics: float, signal_to_noise: float) -> float:
    """Eρ² of n topics; nan where the systems' variance is not known, 0 where it is estimated below 0.

    >>> round(reliability(50, 0.1285), 3)  # TREC-8 AP, the best 60 runs
    0.865
    """
    if not (topics >= 1 and signal_to_noise == signal_to_noise):
        return float("nan")
    spread = Sd.of_variance(1.0, systems_variance=signal_to_noise)
    return float(achieved(Design(topics=topics, spread=spread), Goal("reliability")))


def on_frontier(topics: Array, judgments: Array) -> Array:
    """Which designs no other beats in one of the two without losing in the other.

    >>> on_frontier(np.array([100.0, 90.0, 90.0]), np.array([500.0, 900.0, 1000.0])).tolist()
    [True, True, False]
    """
    no_worse = (topics[:, None] <= topics) & (judgments[:, None] <= judgments)
    better = (topics[:, None] < topics) | (judgments[:, None] < judgments)
    return np.asarray(np.isfinite(topics) & ~(no_worse & better).any(axis=0))


@dataclass(frozen=True, kw_only=True)
class AffordableDesign:
    """The ``topics`` that a budget pays for at one depth, and ``detectable``, the smallest detectable difference.

    (Or range, or the interval's width, as the target says.) It is in units of full depth: the difference that systems
    have there. ``detectable_low`` and ``detectable_high`` belong to the ends of the variance's interval; ``best`` marks
    the smallest.
    """

    measure: str
    depth: int
    full: bool
    judged: float
    coverage: float
    lost: int
    variance: float
    signal_to_noise: float
    topics: int
    reliability: float
    judgments: float
    cost: float
    detectable: float
    detectable_low: float
    detectable_high: float
    best: bool

    def to_dict(self) -> dict[str, Any]:
        return dict(self.__dict__)


@dataclass(frozen=True, eq=False, kw_only=True)
class AffordableDesigns:
    """The designs that a budget pays for, one per depth."""

    designs: tuple[AffordableDesign, ...]
    budget: float
    target: Target
    estimate: str
    rule: str
    chosen: dict[str, str]
    prices: Prices
    citations: tuple[str, ...]
    warnings: tuple[Caution, ...]

    def of(self, measure: str) -> list[AffordableDesign]:
        return [design for design in self.designs if design.measure == measure]

    def best(self, measure: str) -> AffordableDesign | None:
        return next((design for design in self.of(measure) if design.best), None)

    def to_dict(self) -> list[dict[str, Any]]:
        return [design.to_dict() for design in self.designs]

    def to_frame(self, backend: str = "pandas") -> Any:
        from cranfield.scores.frames import rows_frame

        return rows_frame(self.to_dict(), backend)

    def summary(self) -> str:
        return measure_lines([each.measure for each in self.designs], self._claim)

    def _claim(self, measure: str) -> str:
        best, deepest = self.best(measure), self.of(measure)[-1]
        unit = "judgments" if (self.prices.judgment, self.prices.topic) == (1.0, 0.0) else "in cost"
        if best is None:
            return f"{self.budget:,.0f} {unit} pay for fewer than two topics at any depth."
        goal = self.target.with_value(float(f"{best.detectable:.3g}")).goal_words()
        text = (
            f"{self.budget:,.0f} {unit} pay for {best.topics:,} topics at depth {best.depth}, enough to {goal} with "
            f"{measure} ({variance_words(self.estimate)}{self._units(measure)})"
        )
        if best is deepest:
            return f"{text}."
        return f"{text}; with {deepest.topics:,} topics at depth {deepest.depth} it is {deepest.detectable:.3g}."

    def _units(self, measure: str) -> str:
        if self.rule == RAW_DIFFERENCE:
            return ""
        return f"; in units of the differences at full depth, for {self.chosen[measure]}"


def affordable_designs(
    study: DepthStudy,
    budget: float,
    target: Target | None = None,
    *,
    rule: str = EQUAL_POWER,
    prices: Prices | None = None,
) -> AffordableDesigns:
    """The topics that a budget pays for at every depth, and the smallest difference that they detect.

    Parameters
    ----------
    study
        Signal and noise at every depth, for the systems that the designs are to distinguish.
    budget
        A number of judgments, or an amount where ``prices`` say so.
    target
        What is to be detected: a difference (by default), a range or an interval; its value is not needed.
    rule
        ``equal-power``: differences as they are at full depth. ``raw-difference``: as they are at each depth.
    prices
        Prices of a judgment and of a topic.

    Returns
    -------
    AffordableDesigns
        One design per measure and depth.
    """
    if not 0 < budget < np.inf:
        raise RequestError(f"a budget cannot be {budget:g}", fix="Give a number of judgments or a cost, e.g. 10000.")
    target, prices = target or Target(), prices or Prices()
    found: list[AffordableDesign] = []
    for measure in study.measures:
        found += _affordable(study, measure, budget, target, rule, prices)
    return AffordableDesigns(
        designs=tuple(found),
        budget=budget,
        target=target,
        estimate=study.estimate,
        rule=rule,
        chosen={measure: study.chosen(measure) for measure in study.measures},
        prices=prices,
        citations=CITATIONS[rule],
        warnings=study.warnings,
    )


def _affordable(
    study: DepthStudy, measure: str, budget: float, target: Target, rule: str, prices: Prices
) -> list[AffordableDesign]:
    points = study.of(measure)
    judged = np.array([point.judged for point in points])
    topics = np.floor(budget / prices.per_topic(judged))
    smallest = target.detectable(topics[:, np.newaxis], noise(study, measure, rule))
    least = int(np.nanargmin(smallest[:, 0])) if np.isfinite(smallest[:, 0]).any() else -1
    return [
        AffordableDesign(
            **_depth(point),
            signal_to_noise=point.signal_to_noise,
            topics=int(topics[at]),
            reliability=reliability(float(topics[at]), point.signal_to_noise),
            judgments=float(topics[at] * judged[at]),
            cost=float(topics[at] * prices.per_topic(judged)[at]),
            detectable=float(smallest[at, 0]),
            detectable_low=float(smallest[at, 1]),
            detectable_high=float(smallest[at, 2]),
            best=at == least,
        )
        for at, point in enumerate(points)
    ]


def _count(value: float) -> int | None:
    return int(value) if value == value else None
