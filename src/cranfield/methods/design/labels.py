"""Designs with a judge: topics for people and for the judge at the least cost, beside human labels alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from cranfield.errors import Caution, NoEffectError, RequestError
from cranfield.methods.design.allocation import Allocation
from cranfield.methods.design.cards import JUDGED_TESTS, Card, check_judged_test, make_card
from cranfield.methods.design.cheapest import ROUNDING, Costs, cheapest
from cranfield.methods.design.formulas import MOST_TOPICS, Design
from cranfield.methods.design.goals import Goal
from cranfield.methods.design.inputs import broadcast
from cranfield.methods.design.planning import PilotSize
from cranfield.methods.design.request import Request, design_of
from cranfield.methods.design.solver import Size, achieved, solve
from cranfield.methods.design.spreads import Judged
from cranfield.types import ArrayLike

JUDGED_GOALS = ("difference", "effect_size", "width")
JUDGED_METHODS = (*JUDGED_TESTS, "interval")
"""Methods with a standard error of each pair's own, which is what the regression estimator has."""
MOST_DESIGNS = 2_000
FEW_TOPICS, FEW_FOR_MAX_T = 10, 50
"""Topics with human labels below which power depends on differences being normal, and max-t has less than planned."""


# --- one design


def with_judge(design: Design, correlation: ArrayLike, judged_topics: ArrayLike = float("nan")) -> Design:
    """The same with a judge: r of paired differences under human and judge's labels, and the topics that it labels."""
    sd = design.spread.independent(np.asarray(1.0))[1]
    return replace(design, spread=Judged(sd=sd, judge_correlation=correlation, judged_topics=judged_topics))


def _cheapest(design: Design, goal: Goal, costs: Costs, alone: float, limit: int) -> Design | None:
    """The n and N of the least cost; None where they cost more than ``alone``, human labels alone."""
    # N ≥ n, so that more topics cost more than people alone.
    most = limit if np.isinf(alone) else int(alone / (costs.topic + costs.judged_topic))
    if most < Judged.fewest:
        return None
    found = cheapest(design, goal, costs, {"topics": (Judged.fewest, most)}, unknown="judged_topics", limit=limit)
    return None if found is None else found.with_numbers(judged_topics=max(_judged_topics(found), _topics(found)))


def _topics(design: Design) -> int:
    return int(np.asarray(design.topics))


def _judged_topics(design: Design) -> int:
    return int(np.asarray(design.spread.numbers["judged_topics"]))


def _fewest_people(design: Design, goal: Goal, judged_topics: int) -> Design | None:
    """The smallest n among N judged topics; None where even all of them do not suffice."""
    design = design.with_numbers(judged_topics=judged_topics)
    fewest = float(solve(design, goal, limit=judged_topics))
    return None if np.isnan(fewest) else design.with_numbers(topics=int(fewest))


def for_budget(design: Design, goal: Goal, correlation: float, costs: Costs, budget: float) -> Design | None:
    """The n and N that detect the smallest difference of all that a budget pays for.

    Examples
    --------
    >>> from cranfield.methods.design.spreads import Sd
    >>> best = for_budget(Design(spread=Sd(sd=0.15)), Goal(), 0.6, Costs(topic=10, judged_topic=0.1), 500)
    >>> best.topics, best.spread.judged_topics
    (47, 300)
    """
    most = int(min(budget / (costs.topic + costs.judged_topic) * ROUNDING, MOST_TOPICS))
    judged, ranges = with_judge(design, correlation), {"topics": (Judged.fewest, most)}
    return cheapest(judged, goal._replace(value=float("nan")), costs, ranges, unknown="judged_topics", budget=budget)


# --- plans


@dataclass(frozen=True, kw_only=True)
class _Prices:
    """What all designs of a plan have alike."""

    costs: Costs
    judged_topics: int | None
    limit: int
    sides: int


def plan_labels(
    plans: Sequence[Size | PilotSize],
    correlations: Sequence[float],
    costs: Costs,
    *,
    ends: Sequence[tuple[float, float]] = (),
    judged_topics: int | None = None,
    limit: int = MOST_TOPICS,
    sides: int = 2,
) -> list[Allocation]:
    """The cheapest topics for people and for the judge, for the plans that have such a design.

    Where human labels alone are no dearer, the judge does not pay: the topics are those of human labels alone, and 0
    are judged. There is a range where the variance comes from a pilot, or r has an interval.

    Parameters
    ----------
    plans
        Topics with human labels alone.
    correlations
        The correlations r of paired differences under human and judge's labels, one design each.
    ends
        The intervals of the correlations, where they are estimated.
    judged_topics
        Those that the judge labels; otherwise the cheapest number.

    Examples
    --------
    >>> from cranfield.methods.design.planning import plan
    >>> sizes = plan(Request(difference=[0.05], sd=[0.15], method="t"))
    >>> costs = Costs(topic=10, judged_topic=0.1)
    >>> row = plan_labels(sizes, [0.6], costs, ends=[(0.4, 0.75)])[0].to_dict()[0]
    >>> row["topics"], row["judged_topics"], round(row["cost"], 1), row["human_topics"]
    (52, 335, 553.5, 73)
    >>> row["topics_lower"], row["topics_upper"]
    (38, 65)
    """
    prices = _Prices(costs=costs, judged_topics=judged_topics, limit=limit, sides=sides)
    sizes = [(each, each.size if isinstance(each, PilotSize) else each) for each in plans]
    return [_plan(each, correlations, ends, prices) for each, size in sizes if size.method.name in JUDGED_METHODS]


def _plan(
    plan: Size | PilotSize, rs: Sequence[float], ends: Sequence[tuple[float, float]], prices: _Prices
) -> Allocation:
    pilot = plan if isinstance(plan, PilotSize) else None
    size = plan if isinstance(plan, Size) else plan.size
    found = _allocation(size, rs, prices)
    if pilot is None and not ends:
        return found
    low, high = (size, size) if pilot is None else (pilot.lower, pilot.upper)
    largest, smallest = zip(*(_magnitudes(*each) for each in ends or zip(rs, rs, strict=True)), strict=True)
    return replace(
        found,
        lower=_allocation(low, largest, prices),
        upper=_allocation(high, smallest, prices),
        measure="" if pilot is None else pilot.measure,
        estimate="" if pilot is None else pilot.estimate.method,
    )


def _magnitudes(lower: float, upper: float) -> tuple[float, float]:
    """The largest and the smallest |r| within an interval: a judge is worth r²."""
    ends = abs(lower), abs(upper)
    return max(ends), 0.0 if lower < 0 < upper else min(ends)


def _allocation(size: Size, correlations: Sequence[float], prices: _Prices) -> Allocation:
    """The designs of every cell of a size, for each r."""
    count = size.topics.size * len(correlations)
    if count > MOST_DESIGNS:
        raise RequestError(
            f"the grid has {count:,} cells", fix=f"With a judge, ask for at most {MOST_DESIGNS:,} at a time."
        )
    alone, rs, costs = _repeated(size, len(correlations)), np.tile(correlations, size.topics.size), prices.costs
    alone_cost = np.where(alone.reached, costs.topic * alone.topics, np.inf)
    found = [_paying(alone, cell, r, float(alone_cost[cell]), prices) for cell, r in enumerate(rs.tolist())]
    pays = np.array([each is not None for each in found])
    n = np.array([given if each is None else _topics(each) for each, given in zip(found, alone.topics, strict=True)])
    whole = np.array([0 if each is None else _judged_topics(each) for each in found])
    people, goal = design_of(alone.kind, alone.method, alone.inputs, prices.sides)
    judged = with_judge(people, rs, whole).with_numbers(topics=np.maximum(n, Judged.fewest))
    reached = replace(
        alone, topics=n, reached=pays | alone.reached, achieved=np.where(pays, achieved(judged, goal), alone.achieved)
    )
    return Allocation(size=reached, spread=judged.spread, costs=costs, judged_topics=prices.judged_topics, alone=alone)


CELLS = ("topics", "reached", "achieved", "below")


def _repeated(size: Size, times: int) -> Size:
    """Every cell of a size several times, one after another."""
    cells: dict[str, Any] = {name: np.repeat(getattr(size, name).ravel(), times) for name in CELLS}
    inputs = {name: np.repeat(values.ravel(), times) for name, values in size.inputs.items()}
    return replace(size, inputs=inputs, **cells)


def _paying(alone: Size, cell: int, r: float, alone_cost: float, prices: _Prices) -> Design | None:
    """The design with a judge, where it costs less than human labels alone; without prices, has fewer topics."""
    inputs = {name: values[cell] for name, values in alone.inputs.items()}
    design, goal = design_of(alone.kind, alone.method, inputs, prices.sides)
    judged, costs = with_judge(design, r), prices.costs
    if prices.judged_topics is None:
        found = _cheapest(judged, goal, costs, alone_cost, prices.limit)
    else:
        found = _fewest_people(judged, goal, prices.judged_topics)
    if found is None:
        return None
    if np.isnan(costs.judged_topic):
        is_cheaper = not alone.reached[cell] or _topics(found) < alone.topics[cell]
    else:
        is_cheaper = float(costs.of(found)) < alone_cost
    return found if is_cheaper else None


# --- requests


def label_costs(correlations: Sequence[float], *, human: float | None, judge: float | None, is_counted: bool) -> Costs:
    """The costs of labels by people, by default 1, and by the judge, nan where only its topics are counted."""
    broadcast({"judge_correlation": correlations})
    if judge is None and not is_counted:
        raise RequestError(
            "what the labels of the model cost is missing",
            fix="Add `judge_cost`, the cost of one topic (with `human_cost`), or `judged_topics`, the number of "
            "topics that it labels.",
        )
    return Costs(topic=1.0 if human is None else human, judged_topic=np.nan if judge is None else judge)


def check_labels(request: Request) -> None:
    """Refuse what a plan with a judge has no place for."""
    for goal in request.goals:
        if goal not in JUDGED_GOALS:
            raise _refused(goal, "It goes with `difference`, `effect_size` or `width`.")
    if request.test is not None:
        check_judged_test(request.test)
    if request.method is not None and request.method not in JUDGED_METHODS:
        raise _refused(f'method="{request.method}"', f"Choose one of: {', '.join(JUDGED_METHODS)}.")
    for name in ("unpaired", "assurance", "probability"):
        if name in request.given:
            raise _refused(name, "Leave one of them out.")


def _refused(name: str, fix: str) -> RequestError:
    return NoEffectError(f"`judge_correlation` has no effect on `{name}`", parameter="judge_correlation", fix=fix)


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


def judged_cards(
    cards: Sequence[Card],
    correlations: Sequence[float],
    costs: Costs,
    *,
    judged_topics: Sequence[int] | None = None,
    budget: float | None = None,
) -> list[Card]:
    """Cards with a judge beside those of human labels alone, for every number of judged topics, or for a budget."""
    if budget is None and judged_topics is None:
        raise RequestError(
            "the number of topics that the model labels is missing",
            fix="Add `judged_topics=200`, for instance, or `budget` with `human_cost` and `judge_cost`.",
        )
    grid = product(cards, judged_topics or (0,), correlations)
    if budget is None:
        return [_among(card, r, whole, costs) for card, whole, r in grid]
    return [_paid_for(card, r, costs, budget) for card, _, r in grid]


def budget_topics(costs: Costs, budget: float) -> list[int]:
    """The topics of human labels alone that a budget for all labels pays for; refuse one that pays for too few."""
    if np.isnan(costs.judged_topic):
        raise RequestError("a budget needs what the labels of the model cost", fix="Add `judge_cost`.")
    fewest = Judged.fewest * (costs.topic + costs.judged_topic)
    if not budget >= fewest:
        raise RequestError(
            f"a budget of {budget:g} pays for fewer than {Judged.fewest} topics labelled by people and by the model",
            fix=f"Plan for {fewest:g} or more.",
        )
    return [int(budget / costs.topic * ROUNDING)]


def _among(card: Card, r: float, judged_topics: int, costs: Costs) -> Card:
    """The card of n topics with human labels among N judged ones."""
    check_judged_test(card.test)
    topics, fewest = card.topics, Judged.fewest
    fix = f"Have {fewest} topics or more labelled by people, and at least as many by the model."
    if topics < fewest:
        raise RequestError(f"{topics} topics labelled by people are too few", fix=fix)
    if topics > judged_topics:
        raise RequestError(
            f"{topics:,} topics labelled by people are not among {judged_topics:,} labelled by the model", fix=fix
        )
    return judged_card(card, with_judge(card.designs(), r, judged_topics), costs)


def _paid_for(card: Card, r: float, costs: Costs, budget: float) -> Card:
    """The card of the best use of a budget, which may be human labels alone."""
    check_judged_test(card.test)
    best = for_budget(card.designs(), Goal("difference", at_least=card.power), r, costs, budget)
    assert best is not None
    judged = judged_card(card, best, costs)
    alone = replace(card, human=card, judge_correlation=r, cost=costs.topic * card.topics)
    return judged if judged.judge_pays else replace(alone, effective_topics=float(card.topics))


def judged_card(human: Card, design: Design, costs: Costs) -> Card:
    """The card of a design with a judge, beside that of human labels alone."""
    names = ("sd", "systems", "test", "alpha", "power", "difference", "measure")
    asked: dict[str, Any] = {name: getattr(human, name) for name in names}
    topics, spread = _topics(design), design.spread
    assert isinstance(spread, Judged)
    return replace(
        make_card(topics=topics, **asked, spread=spread),
        human=human,
        judge_correlation=float(np.asarray(spread.judge_correlation)),
        cost=float(costs.of(design)),
        effective_topics=float(spread.effective_topics(topics)),
    )
