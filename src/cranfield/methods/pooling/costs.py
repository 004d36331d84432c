"""Designs with pools of several depths: topics of equal power or those that a budget pays for, and their cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from cranfield.errors import Caution, RequestError
from cranfield.methods.design import Design, Goal, Sd, achieved
from cranfield.methods.design.planning import variance_words
from cranfield.methods.design.target import Target, measure_lines
from cranfield.methods.pooling.depths import DepthStudy, DepthVariance
from cranfield.methods.pooling.newcomers import Reusability
from cranfield.methods.pooling.simulated_power import SAME_POWER, Simulation
from cranfield.runtime.random import Seed, sequence
from cranfield.runtime.threads import Counter
from cranfield.types import Array, Progress

EQUAL_POWER, RAW_DIFFERENCE = "equal-power", "raw-difference"
RULES = (EQUAL_POWER, RAW_DIFFERENCE)


JUDGMENTS_OF_A_TOPIC = 20.0
"""By default a topic costs as much as this number of judgments."""


@dataclass(frozen=True)
class Prices:
    """The price of one judgment and of one topic, which is added to that of its judgments."""

    judgment: float = 1.0
    topic: float = JUDGMENTS_OF_A_TOPIC

    def __post_init__(self) -> None:
        if not (self.judgment >= 0 and self.topic >= 0 and 0 < self.judgment + self.topic < np.inf):
            raise RequestError(
                f"prices of {self.judgment:g} per judgment and {self.topic:g} per topic make no sense",
                fix="Give prices of 0 or more, one of them above 0.",
            )

    @property
    def is_judgments(self) -> bool:
        """Whether cost is counted in judgments alone."""
        return (self.judgment, self.topic) == (1.0, 0.0)

    def words(self) -> str:
        """What a topic costs, in a sentence."""
        if self.topic == 0:
            return "Topics cost nothing beside their judgments."
        return f"A topic costs {self.topic:g} and a judgment {self.judgment:g}."

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
    """The topics of a design with pools of one depth, what they cost, and what they detect.

    ``judged`` is judged documents per topic; ``variance`` with ``lower`` and ``upper`` the variance at this depth;
    ``signal_to_noise`` is σ_s²/σ_e² of the chosen systems, ``relative_topics`` the topics that the formula requires
    divided by those at full depth (before rounding). ``topics`` are those with the simulated power of full depth, those
    of the formula where nothing is simulated, or those that a budget pays for; ``formula_topics`` those that the
    formula requires, ``topics_low`` and ``topics_high`` the required ones at the ends of the variance's interval.
    ``detectable`` (with its ends) is the smallest difference, range or width by the formula, in units of full depth;
    ``achieved_power`` the power for the goal by the formula, ``simulated_power`` by simulation. ``reliability`` is Eρ²;
    ``judgments`` and ``cost`` are totals. ``same_power`` says whether the simulated power is that of the design at full
    depth (of the most powerful one, for a budget), within ``SAME_POWER``; ``best`` marks the recommended design;
    ``frontier`` is true if no other depth needs fewer judgments without needing more topics. ``own_tau`` and ``drop``
    are the leave-one-team-out τ and the largest loss of a run whose team was left out of the pool.
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
    formula_topics: int | None
    reliability: float
    judgments: float
    cost: float
    detectable: float
    detectable_low: float
    detectable_high: float
    achieved_power: float
    simulated_power: float
    same_power: bool
    best: bool
    frontier: bool
    own_tau: float = float("nan")
    drop: float = float("nan")

    def to_dict(self) -> dict[str, Any]:
        return dict(self.__dict__)


@dataclass(frozen=True, eq=False, kw_only=True)
class Budget:
    """One design per measure and depth; with a ``budget`` those that it pays for.

    ``chosen`` says for each measure which systems they distinguish; ``reuse`` is what the pool of each depth means for
    new teams, where it is known which teams the runs are of.
    """

    designs: tuple[PoolDesign, ...]
    target: Target
    estimate: str
    rule: str
    chosen: dict[str, str]
    prices: Prices
    budget: float | None
    reuse: tuple[Reusability, ...]
    seed: int
    citations: tuple[str, ...]
    warnings: tuple[Caution, ...]

    def of(self, measure: str) -> list[PoolDesign]:
        """A measure's designs, shallowest first."""
        return [design for design in self.designs if design.measure == measure]

    def best(self, measure: str) -> PoolDesign | None:
        """The recommended design; None where no number of topics is enough, or the budget pays for none."""
        return next((design for design in self.of(measure) if design.best), None)

    @property
    def is_simulated(self) -> bool:
        return any(design.simulated_power == design.simulated_power for design in self.designs)

    def to_dict(self) -> list[dict[str, Any]]:
        return [design.to_dict() for design in self.designs]

    def to_frame(self, backend: str = "pandas") -> Any:
        from cranfield.scores.frames import rows_frame

        return rows_frame(self.to_dict(), backend)

    def summary(self) -> str:
        """The recommended design of every measure, the one at full depth, and what new teams are to expect."""
        return measure_lines([each.measure for each in self.designs], self._claim)

    def _claim(self, measure: str) -> str:
        best = self.best(measure)
        if best is None and self.budget is not None:
            return f"{self._pays()} for fewer than two topics at any depth."
        if best is None:
            return f"No number of topics is enough for {measure} to {self._goal(measure)}."
        claim = self._required(measure, best) if self.budget is None else self._afforded(measure, best)
        return " ".join(filter(None, (claim, self.prices.words(), self._new_teams(best))))

    def _required(self, measure: str, best: PoolDesign) -> str:
        deepest = self.of(measure)[-1]
        text = (
            f"To {self._goal(measure)} with {measure} ({variance_words(self.estimate)}), {best.topics:,} topics "
            f"at depth {best.depth} are cheapest: {best.judgments:,.0f} judgments"
        )
        if self.rule == EQUAL_POWER:
            text += f", with a simulated power of {best.simulated_power:.2f}" if best.same_power else ""
            text += f" for {self.chosen[measure]}"
        if best is deepest or deepest.topics is None:
            return f"{text}."
        return (
            f"{text}. {deepest.topics:,} topics at depth {deepest.depth} {self._equally(best, deepest)} and "
            f"cost {deepest.cost / best.cost:.1f} times as much ({deepest.judgments:,.0f} judgments)."
        )

    def _goal(self, measure: str) -> str:
        return self.target.of(measure).goal_words()

    def _equally(self, best: PoolDesign, deepest: PoolDesign) -> str:
        if self.rule == RAW_DIFFERENCE:
            return "detect the same raw difference (Sakai 2014)"
        if not best.same_power:
            return "do so too by the formula"
        return f"have the same power ({deepest.simulated_power:.2f})"

    def _afforded(self, measure: str, best: PoolDesign) -> str:
        deepest = self.of(measure)[-1]
        goal = self.target.with_value(float(f"{best.detectable:.3g}")).goal_words()
        text = (
            f"{self._pays()} for {best.topics:,} topics at depth {best.depth}, by the formula enough to {goal} "
            f"with {measure} ({variance_words(self.estimate)}{self._units(measure)})"
        )
        other = f"{deepest.detectable:.3g}"
        if self.is_simulated:
            difference, other = f"{self.target.of(measure).value:g}", f"{deepest.simulated_power:.2f}"
            text += f". By simulation a difference of {difference} at full depth is found with power "
            text += f"{best.simulated_power:.2f}"
        if best is deepest or (deepest.topics or 0) < 2:
            return f"{text}."
        return f"{text}; with {deepest.topics:,} topics at depth {deepest.depth} it is {other}."

    def _pays(self) -> str:
        amount = f"{self.budget:,.0f}"
        return f"{amount} judgments pay" if self.prices.is_judgments else f"A budget of {amount} pays"

    def _units(self, measure: str) -> str:
        if self.rule == RAW_DIFFERENCE:
            return ""
        return f"; in units of the differences at full depth, for {self.chosen[measure]}"

    def _new_teams(self, best: PoolDesign) -> str:
        if best.own_tau != best.own_tau:
            return ""
        deepest = self.of(best.measure)[-1]
        text = (
            f"At depth {best.depth} a run of a team that was left out of the pool loses up to {best.drop:.4f} in "
            f"{best.measure} and the leave-one-team-out τ is {best.own_tau:.3f}"
        )
        return (
            f"{text}."
            if best is deepest
            else f"{text} (depth {deepest.depth}: {deepest.drop:.4f}, {deepest.own_tau:.3f})."
        )


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


CITATIONS = {EQUAL_POWER: ("Sakai2014", "Brennan2001"), RAW_DIFFERENCE: ("Sakai2014", "Webber2008")}


def pool_designs(
    study: DepthStudy,
    target: Target | None = None,
    *,
    budget: float | None = None,
    rule: str = EQUAL_POWER,
    prices: Prices | None = None,
    reuse: Sequence[Reusability] = (),
    seed: int = 1,
    progress: Progress | None = None,
) -> Budget:
    """The topics, judgments, cost and power at every depth: of designs that reach the target, or that a budget affords.

    Parameters
    ----------
    study
        Signal, noise and scores at every depth, for the systems that the designs are to distinguish.
    target
        The goal at full depth; by default the default difference of two of ten systems that share topics.
    budget
        A number of judgments, or an amount where ``prices`` say so; None for the topics that reach the target.
    rule
        ``equal-power``: the simulated power of the design at full depth, for the same systems. ``raw-difference``: the
        same raw difference at every depth, by the formula and from the variance only: Sakai (2014), §5.4.
    prices
        Prices of a judgment and of a topic.
    reuse
        What the pools mean for teams that did not contribute to them.

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
    >>> budget = pool_designs(study, target, rule="raw-difference")
    >>> [(design.topics, round(design.judgments)) for design in budget.of("AP")]
    [(100, 9600), (74, 54094)]
    """
    target, prices = target or Target(), prices or Prices()
    if budget is None and not target.has_value:
        raise RequestError("the target has no value", fix="Give the range, difference or width, or a budget.")
    if budget is not None and not 0 < budget < np.inf:
        raise RequestError(f"a budget cannot be {budget:g}", fix="Give a number of judgments or a cost, e.g. 10000.")
    counter = Counter(progress, len(study.points))
    found: list[PoolDesign] = []
    for number, measure in enumerate(study.measures):
        simulation = simulation_for(study, measure, target.of(measure), sequence(seed, "budget", number))
        work = _OfMeasure(study, measure, target.of(measure), rule, prices, simulation, counter)
        found += work.designs(budget, [each for each in reuse if each.measure == measure])
    return Budget(
        designs=tuple(found),
        target=target,
        estimate=study.estimate,
        rule=rule,
        chosen={measure: study.chosen(measure) for measure in study.measures},
        prices=prices,
        budget=budget,
        reuse=tuple(reuse),
        seed=seed,
        citations=CITATIONS[rule],
        warnings=study.warnings,
    )


def simulation_for(study: DepthStudy, measure: str, target: Target, seed: Seed) -> Simulation | None:
    """The simulation of a difference's power; None for another goal, and where no pair has such a difference."""
    scores = study.scores.get(measure)
    if scores is None or target.goal.kind != "difference" or not target.has_value:
        return None
    simulation = Simulation(scores, target.design, target.value, seed)
    return simulation if simulation.is_possible else None


@dataclass(frozen=True, eq=False)
class _OfMeasure:
    """The designs of one measure, shallowest first."""

    study: DepthStudy
    measure: str
    target: Target
    rule: str
    prices: Prices
    simulation: Simulation | None
    counter: Counter

    @cached_property
    def points(self) -> list[DepthVariance]:
        return self.study.of(self.measure)

    @cached_property
    def noise(self) -> Array:
        return noise(self.study, self.measure, self.rule)

    @cached_property
    def required(self) -> Array:
        """Depths × (topics, at the ends of the variance's interval) by the formula."""
        return self.target.topics(self.noise)

    @cached_property
    def judged(self) -> Array:
        return np.array([point.judged for point in self.points])

    def designs(self, budget: float | None, reuse: Sequence[Reusability]) -> list[PoolDesign]:
        topics, power = self._solved(budget)
        cost = topics * self.prices.per_topic(self.judged)  # S14 §5.4, with a price for the topic too
        smallest = self.target.detectable(topics[:, np.newaxis], self.noise)
        reference = power[-1] if budget is None else max([*power[np.isfinite(power)], -np.inf])
        same = np.abs(power - reference) <= SAME_POWER
        best = self._cheapest(cost, same) if budget is None else _strongest(same, smallest[:, 0])
        columns = {
            **self._formula(budget, topics),
            "topics": topics,
            "reliability": reliability(topics, np.array([point.signal_to_noise for point in self.points])),
            "judgments": topics * self.judged,
            "cost": cost,
            **dict(zip(("detectable", "detectable_low", "detectable_high"), smallest.T, strict=True)),
            "simulated_power": power,
            "same_power": same,
            "best": np.arange(len(topics)) == best,
            "frontier": on_frontier(topics, topics * self.judged),
            "own_tau": [each.own_tau for each in reuse],
            "drop": [each.worst.drop for each in reuse],
        }
        return [
            self._design(at, {name: column for name, column in columns.items() if len(column)})
            for at in range(len(topics))
        ]

    def _design(self, at: int, columns: Mapping[str, Any]) -> PoolDesign:
        row = {name: np.asarray(column)[at].item() for name, column in columns.items()}
        row |= {name: _count(row[name]) for name in ("topics", "topics_low", "topics_high", "formula_topics")}
        names = ("measure", "depth", "full", "judged", "coverage", "lost", "variance", "lower", "upper")
        return PoolDesign(**{name: getattr(self.points[at], name) for name in (*names, "signal_to_noise")}, **row)

    def _solved(self, budget: float | None) -> tuple[Array, Array]:
        """The topics at every depth and their simulated power; nan where there is none."""
        topics = self.required[:, 0] if budget is None else np.floor(budget / self.prices.per_topic(self.judged))
        topics, powers = topics.copy(), np.full(len(topics), np.nan)
        for at in reversed(range(len(topics))):
            if budget is None and self.rule == EQUAL_POWER and powers[-1] == powers[-1]:
                topics[at] = self._corrected(at, topics[at], powers[-1])
            if self.simulation is not None and topics[at] >= 2:
                powers[at] = self.simulation.power(at, int(topics[at]))
            self.counter.step()
        return topics, powers

    def _corrected(self, at: int, formula: float, wanted: float) -> float:
        """The topics with the simulated power wanted; those of the formula where no number has it."""
        if self.simulation is None:
            return formula
        found = self.simulation.matching(at, wanted, int(np.nan_to_num(formula, nan=self.required[-1, 0])))
        return formula if found is None else found

    def _formula(self, budget: float | None, topics: Array) -> dict[str, Array]:
        """What the formula requires; the ends go with the topics, which simulation may have corrected."""
        formula, deepest = self.required[:, 0], self.noise[-1, 0]
        unknown = np.full(len(topics), np.nan)
        corrected = (
            np.ceil(self.required[:, 1:].T * (topics / formula) - 1e-9) if budget is None else (unknown, unknown)
        )
        return {
            "relative_topics": self.noise[:, 0] / deepest if deepest > 0 else unknown,
            "achieved_power": _formula_power(self.target, topics, self.noise[:, 0]),
            "formula_topics": formula,
            "topics_low": corrected[0],
            "topics_high": corrected[1],
        }

    def _cheapest(self, cost: Array, same: Array) -> int:
        """The cheapest design: of those with the same power, where power was simulated."""
        is_checked = self.simulation is not None and self.rule == EQUAL_POWER
        candidates = np.where(same, cost, np.nan) if is_checked else cost
        return int(np.nanargmin(candidates)) if np.isfinite(candidates).any() else -1


def _strongest(same: Array, detectable: Array) -> int:
    """The deepest of the most powerful designs, which is the fairest to new teams; else the one that detects most."""
    if same.any():
        return int(np.flatnonzero(same)[-1])
    return int(np.nanargmin(detectable)) if np.isfinite(detectable).any() else -1


def _formula_power(target: Target, topics: Array, variance: Array) -> Array:
    """Power for the goal by the formula; nan where there is no such power."""
    powers = np.full(len(topics), np.nan)
    good = np.flatnonzero((topics >= 2) & (variance > 0) & np.isfinite(variance))
    if len(good) and target.has_value and target.goal.at_least is not None:
        design = replace(target.design, topics=topics[good], spread=Sd.of_variance(variance[good]))
        powers[good] = achieved(design, target.goal)
    return powers


def reliability(topics: Array, signal_to_noise: Array) -> Array:
    """Eρ² of n topics; nan where the systems' variance is not known, 0 where it is estimated below 0.

    >>> reliability(np.array([50.0]), np.array([0.1285])).round(3).tolist()  # TREC-8 AP, the best 60 runs
    [0.865]
    """
    spread = Sd.of_variance(np.ones(len(topics)), systems_variance=signal_to_noise)
    return np.where(topics >= 1, achieved(Design(topics=topics, spread=spread), Goal("reliability")), np.nan)


def on_frontier(topics: Array, judgments: Array) -> Array:
    """Which designs no other beats in one of the two without losing in the other.

    >>> on_frontier(np.array([100.0, 90.0, 90.0]), np.array([500.0, 900.0, 1000.0])).tolist()
    [True, True, False]
    """
    no_worse = (topics[:, None] <= topics) & (judgments[:, None] <= judgments)
    better = (topics[:, None] < topics) | (judgments[:, None] < judgments)
    return np.asarray(np.isfinite(topics) & ~(no_worse & better).any(axis=0))


def _count(value: float) -> int | None:
    return int(value) if value == value else None
