"""Designs with a judge: topics for people and for the judge at the least cost, beside human labels alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from cranfield.errors import Caution, NoEffectError, RequestError
from cranfield.methods.design.cards import Card
from cranfield.methods.design.cheapest import least
from cranfield.methods.design.formulas import MOST_TOPICS, Design
from cranfield.methods.design.goals import Goal
from cranfield.methods.design.inputs import broadcast
from cranfield.methods.design.planning import PilotSize
from cranfield.methods.design.request import Request, design_of
from cranfield.methods.design.solver import Size, achieved, size, solve
from cranfield.methods.design.spreads import Judged
from cranfield.methods.names import TEST_LABELS
from cranfield.types import Array

FEWEST = 5
"""The fewest topics with human labels of a design; a comparison with fewer is not to be relied on."""
LABEL_GOALS = ("difference", "effect_size", "width")
LABEL_TESTS = ("holm", "max-t", "t")
LABEL_METHODS = (*LABEL_TESTS, "interval")
"""Methods with a standard error of each pair's own, which is what the regression estimator has."""
MOST_DESIGNS = 2_000
FEW_TOPICS, FEW_FOR_MAX_T = 10, 50
"""Topics with human labels below which power depends on differences being normal, and max-t has less than planned."""


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
                "`human_cost` and `judge_cost` must be positive",
                fix="Where the labels of the judge are free, say how many topics it labels: `judged_topics`.",
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

    def of(self, topics: Any, judged_topics: Any) -> Array:
        """c_H·n + c_M·N; nan where the costs are unknown."""
        return np.asarray(self.human * topics + (np.nan if self.judge is None else self.judge) * judged_topics)

    def check_budget(self, budget: float) -> float:
        """Refuse a budget that pays for no design; return the cost of a judged topic."""
        if self.judge is None:
            raise RequestError("a budget needs what the labels of the model cost", fix="Add `judge_cost`.")
        fewest = FEWEST * (self.human + self.judge)
        if not budget >= fewest:
            raise RequestError(
                f"a budget of {budget:g} pays for fewer than {FEWEST} topics labelled by people and by the model",
                fix=f"Plan for {fewest:g} or more.",
            )
        return self.judge


def best_share(correlation: float, human_cost: float, judge_cost: float) -> float:
    """n/N with the least cost for a variance, for many topics: √((1 − r²)/r² · c_M/c_H), at most 1.

    >>> round(best_share(0.6, 10, 0.1), 4)
    0.1333
    """
    r2 = correlation**2
    if r2 * human_cost <= (1 - r2) * judge_cost:
        return 1.0
    return float(np.sqrt((1 - r2) / r2 * judge_cost / human_cost))  # Cochran 1977 §12.5


@dataclass(frozen=True, kw_only=True)
class LabelDesign:
    """The cheapest design: ``topics`` with human labels among ``judged_topics`` that the judge labels.

    ``achieved`` is its power (or expected width; for a budget the detectable difference), ``cost`` its cost, nan where
    costs are unknown. ``human_topics`` and ``human_cost`` are those of human labels alone for the same goal; where they
    are no dearer, the judge does not pay: ``judge_pays`` is false, ``topics`` are ``human_topics``, and
    ``judged_topics`` are 0. Where no design reaches the goal, ``topics`` is None, as is ``human_topics`` where human
    labels alone do not reach it.
    """

    topics: int | None
    judged_topics: int
    achieved: float
    cost: float
    human_topics: int | None
    human_achieved: float
    human_cost: float
    judge_pays: bool


def cheapest_labels(
    design: Design, goal: Goal, correlation: float, costs: LabelCosts, *, budget: float | None = None
) -> LabelDesign:
    """Find the n and N that reach a goal at the least cost; with a budget, those that detect the smallest difference.

    Parameters
    ----------
    design
        Its test and its sd of paired differences under human labels, without topics; one cell.
    correlation
        The correlation r of paired differences under human and judge's labels.

    Examples
    --------
    >>> from cranfield.methods.design.spreads import Sd
    >>> design, goal, costs = Design(spread=Sd(sd=0.15)), Goal("difference", 0.05), LabelCosts(human=10, judge=0.1)
    >>> cheapest = cheapest_labels(design, goal, 0.6, costs)
    >>> cheapest.topics, cheapest.judged_topics, round(cheapest.cost, 1), cheapest.human_topics
    (52, 335, 553.5, 73)
    >>> affordable = cheapest_labels(design, goal, 0.6, costs, budget=500)
    >>> affordable.topics, affordable.judged_topics, round(affordable.achieved, 4), round(affordable.human_achieved, 4)
    (47, 300, 0.0528, 0.0606)
    """
    search = _Search(design, goal, correlation, costs)
    return search.for_goal() if budget is None else search.for_budget(budget)


@dataclass(frozen=True, eq=False)
class _Search:
    design: Design
    goal: Goal
    correlation: float
    costs: LabelCosts

    def _with(self, topics: Any, judged_topics: Any) -> Design:
        spread = Judged(
            sd=self.design.spread.independent(np.asarray(1.0))[1],
            judge_correlation=self.correlation,
            judged_topics=np.maximum(topics, judged_topics),
        )
        return replace(self.design, topics=topics, spread=spread)

    def for_goal(self) -> LabelDesign:
        """The cheapest design with the judge, or that with human labels alone where it is no dearer."""
        costs = self.costs
        alone = size(self.design, self.goal, limit=costs.limit)
        human = int(alone.topics) if alone.reached else None
        human_cost = np.inf if human is None else costs.human * human
        n, whole = self._given(costs.judged_topics) if costs.judged_topics else self._cheapest(human, human_cost)
        cost = float(costs.of(n, whole)) if n else np.inf
        pays = n > 0 and (human is None or (n < human if costs.judge is None else cost < human_cost))
        known = np.nan if costs.judge is None else 1.0
        return LabelDesign(
            topics=n if pays else human,
            judged_topics=whole if pays else 0,
            achieved=float(achieved(self._with(n, whole), self.goal) if pays else alone.achieved),
            cost=cost if pays else human_cost * known,
            human_topics=human,
            human_achieved=float(alone.achieved),
            human_cost=human_cost * known,
            judge_pays=pays,
        )

    def _given(self, judged_topics: int) -> tuple[int, int]:
        """The fewest n among a given N; 0 where even all N do not reach the goal."""
        fewest = float(solve(self._with(FEWEST, judged_topics), self.goal, limit=judged_topics))
        return (max(FEWEST, int(fewest)) if fewest == fewest else 0), judged_topics

    def _cheapest(self, human: int | None, human_cost: float) -> tuple[int, int]:
        """n and N at least cost; 0 where none reaches the goal for less than people alone."""
        costs = self.costs
        assert costs.judge is not None
        # N ≥ n, so that more topics cost more than people alone.
        most = costs.limit if human is None else int(human_cost / (costs.human + costs.judge))

        def loss(low: Array, high: Array) -> Array:
            """The most topics with human labels need the fewest others; the rest is cheapest with the fewest."""
            return np.nan_to_num(costs.of(low[0], self._fewest_judged(high[0])), nan=np.inf)

        best = None if most < FEWEST else least(loss, [(FEWEST, most)])
        return (0, 0) if best is None else (best[0], int(self._fewest_judged(np.array(best))[0]))

    def _fewest_judged(self, topics: Array) -> Array:
        """The fewest N for every n; nan where there is none."""
        judged = solve(self._with(topics, topics), self.goal, "judged_topics", limit=self.costs.limit)
        return np.maximum(judged, topics)

    def for_budget(self, budget: float) -> LabelDesign:
        costs, judge_cost = self.costs, self.costs.check_budget(budget)
        once = 1 + 1e-12
        human = int(min(budget / costs.human * once, costs.limit))

        def affordable(n: Array) -> Array:
            return np.clip(np.floor((budget - costs.human * n) / judge_cost * once), n, costs.limit)

        def loss(low: Array, high: Array) -> Array:
            return solve(self._with(high[0], affordable(low[0])), self.goal, self.goal.kind)

        most = int(min(budget / (costs.human + judge_cost) * once, costs.limit))
        best = least(loss, [(FEWEST, most)])
        assert best is not None
        n, whole = best[0], int(affordable(np.asarray(best[0])))
        with_judge = float(solve(self._with(n, whole), self.goal, self.goal.kind))
        alone = float(solve(replace(self.design, topics=human), self.goal, self.goal.kind))
        pays = with_judge < alone
        topics, judged = (n, whole) if pays else (human, 0)
        return LabelDesign(
            topics=topics,
            judged_topics=judged,
            achieved=with_judge if pays else alone,
            cost=costs.human * topics + judge_cost * judged,
            human_topics=human,
            human_achieved=alone,
            human_cost=costs.human * human,
            judge_pays=pays,
        )


# --- plans


@dataclass(frozen=True, kw_only=True)
class Correlation:
    """The correlation r of paired differences under human and judge's labels, with its interval where it is estimated.

    >>> Correlation.of(0.6, lower=0.4, upper=0.7).lower
    0.4
    """

    value: float
    lower: float
    upper: float

    @classmethod
    def of(cls, value: float, *, lower: float | None = None, upper: float | None = None) -> Correlation:
        return cls(value=value, lower=value if lower is None else lower, upper=value if upper is None else upper)

    @property
    def ends(self) -> tuple[float, float]:
        """The largest and the smallest |r| within the interval: a judge is worth r²."""
        sizes = abs(self.lower), abs(self.upper)
        return max(sizes), 0.0 if self.lower < 0 < self.upper else min(sizes)


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelSize:
    """Topics for people and for the judge, for every cell of a size and every correlation.

    Parameters
    ----------
    size
        Topics for the same goal with human labels alone.
    correlations
        The correlations r, one design each for every cell: ``designs`` are in this order within a cell.
    lower, upper
        The same at the ends of the intervals of the variance and of r, where they are estimated; the first is cheaper.
    test
        The test, or ``interval``.
    measure, estimate
        What the variance was estimated from, and how; empty where it is given.
    """

    size: Size
    test: str
    costs: LabelCosts
    correlations: tuple[float, ...]
    designs: tuple[LabelDesign, ...]
    lower: tuple[LabelDesign, ...] = ()
    upper: tuple[LabelDesign, ...] = ()
    measure: str = ""
    estimate: str = ""

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one row per design: the inputs, n and N, the cost, and the same of human labels alone."""
        word = self.size.method.achieves
        head = {"measure": self.measure, "estimate": self.estimate} if self.measure or self.estimate else {}
        own = (f"achieved_{word}", f"{word}_below", "topics")
        cells = [head | {name: value for name, value in row.items() if name not in own} for row in self.size.to_dict()]
        names = {"method": self.test, "test": "t" if self.test == "interval" else self.test}
        rows = [
            {**cell, **names, "judge_correlation": r, **_answer(design, own[0])}
            for (cell, r), design in zip(product(cells, self.correlations), self.designs, strict=True)
        ]
        for end, designs in (("lower", self.lower), ("upper", self.upper)):
            for row, design in zip(rows, designs, strict=bool(designs)):
                numbers = {"topics": design.topics, "judged_topics": design.judged_topics, "cost": _known(design.cost)}
                row |= {f"{name}_{end}": value for name, value in numbers.items()}
        return rows

    def summary(self) -> str:
        """Return one sentence about the first design: n and N, the goal, the cost, and that of human labels alone."""
        row = self.to_dict()[0]
        name = f"{self.measure}: " if self.measure else ""
        r, claim = f"r = {row['judge_correlation']:.4g}", self.size.claim(row)
        how = f"regression estimator, {TEST_LABELS['t' if self.test == 'interval' else self.test]}; {r}"
        cost = "" if row["cost"] is None else f", at a cost of {_money(row['cost'])}"
        if row["topics"] is None:
            return (
                f"{name}No design with up to {self.costs.limit:,} topics is enough ({how}). Ask for less, or choose a "
                "measure with less variance."
            )
        if not row["judge_pays"]:
            why = f"The labels of a model with {r} do not pay"
            if self.costs.judged_topics is not None:
                why = f"{self.costs.judged_topics:,} topics labelled by a model with {r} do not help"
            return f"{name}{why}: {row['topics']:,} topics labelled by people alone {claim}{cost}."
        return (
            f"{name}{row['topics']:,} topics labelled by people among {row['judged_topics']:,} labelled by the model "
            f"{claim} ({how}){cost}; {_human_words(row)}.{_range_words(row)}"
        )


def _answer(design: LabelDesign, word: str) -> dict[str, Any]:
    return {
        "topics": design.topics,
        "judged_topics": design.judged_topics,
        "cost": _known(design.cost),
        word: design.achieved,
        "human_topics": design.human_topics,
        "human_topics_cost": _known(design.human_cost),
        "judge_pays": design.judge_pays,
    }


def _known(cost: float) -> float | None:
    return cost if np.isfinite(cost) else None


def _money(cost: float) -> str:
    return f"{cost:,.10g}"


def _human_words(row: Mapping[str, Any]) -> str:
    if row["human_topics"] is None:
        return "people alone cannot reach it"
    cost = "" if row["human_topics_cost"] is None else f", {_money(row['human_topics_cost'])}"
    return f"people alone need {row['human_topics']:,} topics{cost}"


def _range_words(row: Mapping[str, Any]) -> str:
    if "topics_lower" not in row:
        return ""
    counts, costs = ([row[f"{name}_{end}"] for end in ("lower", "upper")] for name in ("topics", "cost"))
    low, high = ("no number" if count is None else f"{count:,}" for count in counts)
    priced = "" if None in costs else f" (cost {_money(costs[0])} to {_money(costs[1])})"
    return f" Between {low} and {high} topics for people{priced}, reflecting the uncertainty of the estimates."


_ADD_CORRELATION = "Add `judge_correlation`, the correlation of differences under human and the model's labels."


def label_costs(
    judge_correlation: Sequence[float] | None,
    *,
    human_cost: float | None,
    judge_cost: float | None,
    judged_topics: int | None,
    limit: int | None = None,
) -> LabelCosts | None:
    """The costs of a request with a judge, None without one; costs without a correlation are refused."""
    if judge_correlation is None:
        for name, value in (("human_cost", human_cost), ("judge_cost", judge_cost), ("judged_topics", judged_topics)):
            if value is not None:
                what = f"`{name}` has no effect without a judge"
                raise NoEffectError(what, parameter=name, fix=_ADD_CORRELATION)
        return None
    broadcast({"judge_correlation": judge_correlation})
    if human_cost is not None and judge_cost is None:
        raise RequestError("`human_cost` goes with `judge_cost`", fix="Add what the model's labels of a topic cost.")
    costs = LabelCosts(human=1.0 if human_cost is None else human_cost, judge=judge_cost, judged_topics=judged_topics)
    return costs if limit is None else replace(costs, limit=limit)


def check_labels(request: Request) -> None:
    """Refuse what a plan with a judge has no place for."""
    for goal in request.goals:
        if goal not in LABEL_GOALS:
            raise _refused(goal, "It goes with `difference`, `effect_size` or `width`.")
    if request.test is not None:
        _checked(request.test)
    if request.method is not None and request.method not in LABEL_METHODS:
        raise _refused(f'method="{request.method}"', f"Choose one of: {', '.join(LABEL_METHODS)}.")
    for name in ("unpaired", "assurance", "probability"):
        if name in request.given:
            raise _refused(name, "Leave one of them out.")


def _checked(test: str) -> str:
    if test not in LABEL_TESTS:
        raise _refused(f'test="{test}"', "The corrected comparison has holm, max-t, or t for a pair named in advance.")
    return test


def _refused(name: str, fix: str) -> RequestError:
    return NoEffectError(f"`judge_correlation` has no effect on `{name}`", parameter="judge_correlation", fix=fix)


def plan_labels(
    plans: Sequence[Size | PilotSize], correlations: Sequence[float | Correlation], costs: LabelCosts, *, sides: int = 2
) -> list[LabelSize]:
    """The cheapest topics for people and for the judge, for the plans that have such a design.

    There is a range where the variance comes from a pilot, or r has an interval.

    Examples
    --------
    >>> from cranfield.methods.design.planning import plan
    >>> sizes = plan(Request(difference=[0.05], sd=[0.15], method="t"))
    >>> costs = LabelCosts(human=10, judge=0.1)
    >>> row = plan_labels(sizes, [Correlation.of(0.6, lower=0.4, upper=0.75)], costs)[0].to_dict()[0]
    >>> row["topics"], row["topics_lower"], row["topics_upper"], row["human_topics"]
    (52, 38, 65, 73)
    """
    rs = [each if isinstance(each, Correlation) else Correlation.of(each) for each in correlations]
    sizes = [(each, each.size if isinstance(each, PilotSize) else each) for each in plans]
    return [_label_size(plan, size, rs, costs, sides) for plan, size in sizes if size.method.name in LABEL_METHODS]


def _label_size(
    plan: Size | PilotSize, size: Size, rs: Sequence[Correlation], costs: LabelCosts, sides: int
) -> LabelSize:
    found = LabelSize(
        size=size,
        test=size.method.name,
        costs=costs,
        correlations=tuple(r.value for r in rs),
        designs=_designs(size, [r.value for r in rs], costs, sides),
    )
    pilot = plan if isinstance(plan, PilotSize) else None
    if pilot is None and all(r.lower == r.upper for r in rs):
        return found
    low, high = (size, size) if pilot is None else (pilot.lower, pilot.upper)
    return replace(
        found,
        lower=_designs(low, [r.ends[0] for r in rs], costs, sides),
        upper=_designs(high, [r.ends[1] for r in rs], costs, sides),
        measure="" if pilot is None else pilot.measure,
        estimate="" if pilot is None else pilot.estimate.method,
    )


def _designs(size: Size, correlations: Sequence[float], costs: LabelCosts, sides: int) -> tuple[LabelDesign, ...]:
    count = size.topics.size * len(correlations)
    if count > MOST_DESIGNS:
        raise RequestError(
            f"the grid has {count:,} cells", fix=f"With a judge, ask for at most {MOST_DESIGNS:,} at a time."
        )
    cells = ({name: values.flat[cell] for name, values in size.inputs.items()} for cell in range(size.topics.size))
    return tuple(
        cheapest_labels(*design_of(size.kind, size.method, cell, sides), r, costs)
        for cell, r in product(cells, correlations)
    )


def label_cautions(topics: Sequence[int | None], test: str | None) -> tuple[Caution, ...]:
    """The warnings about designs with few topics for people."""
    fewest = min((n for n in topics if n is not None), default=FEW_FOR_MAX_T)
    cautions = []
    if test == "max-t" and fewest < FEW_FOR_MAX_T:
        cautions.append(
            Caution(
                "max-t-few-topics",
                f"with {fewest} topics labelled by people max-t has less power than its formula says (20 topics among "
                "200, five systems, r = 0.6: 0.77 in place of 0.86)",
                'Plan for `test="holm"`, or check the design with `verify()`.',
            )
        )
    if fewest < FEW_TOPICS:
        cautions.append(
            Caution(
                "few-human-topics",
                f"with {fewest} topics labelled by people the slope of the regression is hardly known, and the power "
                "holds for normal differences only",
                f"Have {FEW_TOPICS} topics or more labelled by people.",
            )
        )
    return tuple(cautions)


# --- cards


@dataclass(frozen=True, kw_only=True)
class LabelCard:
    """What n topics with human labels among N judged ones detect, beside the card of human labels alone, ``human``.

    ``achieved_power`` and ``detectable_difference`` are for a pair of ``systems`` under ``test``, those with ``pair_``
    for a pair named in advance. ``human`` has n topics, or as many as the same budget pays for. ``effective_topics`` is
    how many topics with human labels alone n among N are worth. ``judged_topics`` are 0 where a budget is better spent
    on human labels alone; ``cost`` is nan where costs are unknown.
    """

    human: Card
    topics: int
    judged_topics: int
    judge_correlation: float
    achieved_power: float
    detectable_difference: float
    pair_power: float
    pair_detectable_difference: float
    width: float
    effective_topics: float
    cost: float
    judge_pays: bool

    @property
    def measure(self) -> str:
        return self.human.measure

    @property
    def test(self) -> str:
        return self.human.test

    @property
    def systems(self) -> int:
        return self.human.systems

    @property
    def is_family(self) -> bool:
        """Whether the card is for all pairs of several systems."""
        return self.human.is_family

    def to_dict(self) -> dict[str, Any]:
        card, own = self.human, {name: value for name, value in vars(self).items() if name != "human"}
        asked = ("measure", "systems", "test", "sd", "alpha", "power", "difference")
        words = {"achieved_power": "power"} | {name: name for name in _BOTH if name != "achieved_power"}
        return {
            **{name: getattr(card, name) for name in asked},
            **own,
            "human_topics": card.topics,
            **{f"human_{word}": getattr(card, name) for name, word in words.items()},
        }

    def designs(self, test: str | None = None, topics: Any = None) -> Design:
        """Its design, under another test or with other numbers of topics labelled by people."""
        design = self.human.designs(test, self.topics if topics is None else topics)
        if not self.judged_topics:
            return design
        whole = np.maximum(self.judged_topics, np.asarray(design.topics))
        spread = Judged(sd=self.human.sd, judge_correlation=self.judge_correlation, judged_topics=whole)
        return replace(design, spread=spread)

    def power_for(self, difference: float, test: str) -> float:
        """The power for a difference under a test."""
        return float(achieved(self.designs(_checked(test)), Goal("difference", difference)))

    def sentence(self) -> str:
        """Return the conclusion in sentences."""
        card = self.human
        name = f"{card.measure}: " if card.measure else ""
        among = f"two of {card.systems} systems" if card.is_family else "two systems named in advance"
        level = f"between {among} with power {card.power:g} at α = {card.alpha:g}"
        cost = "" if np.isnan(self.cost) else f", at a cost of {_money(self.cost)},"
        alone = f"{card.topics:,} topics labelled by people alone detect"
        if not self.judge_pays:
            return (
                f"{name}The labels of a model with r = {self.judge_correlation:.4g} do not pay: {alone} a difference "
                f"of {card.detectable_difference:.3f} {level}."
            )
        return (
            f"{name}{self.topics:,} topics labelled by people among {self.judged_topics:,} labelled by the model"
            f"{cost} detect a difference of {self.detectable_difference:.3f} {level} (regression estimator, "
            f"{TEST_LABELS[card.test]}; r = {self.judge_correlation:.4g}), and one of {card.difference:g} with power "
            f"{self.achieved_power:.2f}; {alone} {card.detectable_difference:.3f}."
        )


_BOTH = ("achieved_power", "detectable_difference", "pair_power", "pair_detectable_difference", "width")
"""What a card with a judge and that of human labels alone have both."""


@dataclass(frozen=True, kw_only=True)
class LabelRequest:
    """A request for cards with a judge: its ``correlations``, and the topics that it labels or a budget for all labels.

    ``test`` is the one that was named, as in `plan_labels`. Without ``correlations`` there is no judge, and no topics,
    costs or budget may be given.
    """

    correlations: Sequence[float] | None = None
    judged_topics: Sequence[int] | None = None
    test: str | None = None
    budget: float | None = None
    human_cost: float | None = None
    judge_cost: float | None = None

    def __post_init__(self) -> None:
        if self.correlations is None and self.budget is not None:
            raise NoEffectError("`budget` has no effect without a judge", parameter="budget", fix=_ADD_CORRELATION)
        if self.correlations is not None and self.budget is None and self.judged_topics is None:
            raise RequestError(
                "the number of topics that the model labels is missing",
                fix="Add `judged_topics=200`, for instance, or `budget` with `human_cost` and `judge_cost`.",
            )
        if self.budget is not None and self.judged_topics is not None:
            raise RequestError("a `budget` takes the place of `judged_topics`", fix="Give one of them.")
        costs = self.costs
        if self.budget is not None and costs is not None:
            costs.check_budget(self.budget)

    @property
    def costs(self) -> LabelCosts | None:
        """The costs of labels; None without a judge."""
        some = None if self.judged_topics is None else max(FEWEST, *self.judged_topics)
        return label_costs(
            self.correlations, human_cost=self.human_cost, judge_cost=self.judge_cost, judged_topics=some
        )

    def topics(self, given: Sequence[int] | None) -> Sequence[int] | None:
        """Topics of human labels alone: those given, or what the budget pays for."""
        costs = self.costs
        if costs is None or self.budget is None:
            return given
        if given is not None:
            raise RequestError("a `budget` takes the place of `topics`", fix="Give one of them.")
        return [int(self.budget / costs.human * (1 + 1e-12))]

    def cards(self, cards: Sequence[Card]) -> tuple[LabelCard, ...]:
        """Cards with a judge beside those of human labels alone, for every r; none without a judge."""
        costs = self.costs
        if costs is None:
            return ()
        grid = product(cards, self.judged_topics or (0,), self.correlations or ())
        return tuple(self._card(card, whole, r, costs) for card, whole, r in grid)

    def cautions(self, cards: Sequence[LabelCard]) -> tuple[Caution, ...]:
        """The warnings about cards with few topics for people."""
        return label_cautions([card.topics for card in cards], self.test)

    def _card(self, card: Card, whole: int, r: float, costs: LabelCosts) -> LabelCard:
        _checked(card.test)
        if self.budget is None:
            _check_part(card.topics, whole)
            return label_card(card, r, card.topics, whole, float(costs.of(card.topics, whole)))
        goal = Goal("difference", card.difference, card.power)
        best = cheapest_labels(card.designs(), goal, r, costs, budget=self.budget)
        assert best.topics is not None
        return label_card(card, r, best.topics, best.judged_topics, best.cost)


def _check_part(topics: int, judged_topics: int) -> None:
    fix = f"Have {FEWEST} topics or more labelled by people, and at least as many by the model."
    if topics < FEWEST:
        raise RequestError(f"{topics} topics labelled by people are too few", fix=fix)
    if topics > judged_topics:
        raise RequestError(
            f"{topics:,} topics labelled by people are not among {judged_topics:,} labelled by the model", fix=fix
        )


def label_card(card: Card, r: float, topics: int, judged_topics: int, cost: float) -> LabelCard:
    """The card of n topics labelled by people among N; that of people alone where N is 0."""
    known: dict[str, Any] = {
        "human": card,
        "topics": topics,
        "judged_topics": judged_topics,
        "judge_correlation": r,
        "cost": cost,
    }
    own: dict[str, Any] = {name: getattr(card, name) for name in _BOTH}
    if not judged_topics:
        return LabelCard(**known, **own, effective_topics=float(card.topics), judge_pays=False)
    bare = LabelCard(**known, **own, effective_topics=np.nan, judge_pays=True)
    goal, family, pair = Goal("difference", card.difference, card.power), bare.designs(), bare.designs("t")
    assert isinstance(pair.spread, Judged)
    detectable = float(solve(family, goal, "difference"))
    return replace(
        bare,
        achieved_power=float(achieved(family, goal)),
        detectable_difference=detectable,
        pair_power=float(achieved(pair, goal)),
        pair_detectable_difference=float(solve(pair, goal, "difference")),
        width=float(achieved(pair, Goal("width", at_least=None))),
        effective_topics=float(pair.spread.effective_topics(topics)),
        judge_pays=detectable < card.detectable_difference,
    )
