"""Designs with a judge: topics for people and for the judge at the least cost, beside human labels alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from cranfield.errors import Caution, NoEffectError, RequestError
from cranfield.methods.design.allocation import Allocation
from cranfield.methods.design.cards import Card
from cranfield.methods.design.cheapest import ROUNDING, Costs, cheapest
from cranfield.methods.design.formulas import MOST_TOPICS, Design
from cranfield.methods.design.goals import Goal
from cranfield.methods.design.inputs import broadcast
from cranfield.methods.design.planning import PilotSize
from cranfield.methods.design.request import Request, design_of
from cranfield.methods.design.solver import Size, achieved, solve
from cranfield.methods.design.spreads import Judged
from cranfield.stats.family import ALL_PAIRS_TEST
from cranfield.types import ArrayLike

JUDGED_METHODS = (ALL_PAIRS_TEST, "max-t", "t", "interval")
MOST_DESIGNS = 2_000
FEW_TOPICS, FEW_FOR_MAX_T = 10, 50
"""Topics with human labels below which power depends on differences being normal, and max-t has less than planned."""


def with_judge(design: Design, correlation: ArrayLike, judged_topics: ArrayLike = 0) -> Design:
    """The same with a judge: r of paired differences under human and judge's labels, and the topics that it labels."""
    sd = design.spread.independent(np.asarray(1.0))[1]
    return replace(design, spread=Judged(sd=sd, judge_correlation=correlation, judged_topics=judged_topics))


# --- topics for people and for the judge


def plan_labels(
    plans: Sequence[Size | PilotSize],
    correlations: Sequence[float],
    costs: Costs,
    *,
    ends: Sequence[tuple[float, float]] = (),
    **more: Any,
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
    more
        ``judged_topics``, where they are given, the ``limit`` of topics, and the ``sides`` of the test.

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
    largest, smallest = zip(*(_magnitudes(*each) for each in ends or [(r, r) for r in correlations]), strict=True)
    found = []
    for plan in plans:
        pilot, size = (plan, plan.size) if isinstance(plan, PilotSize) else (None, plan)
        if size.method.name not in JUDGED_METHODS:
            continue
        made = _allocation(size, correlations, costs, **more)
        if pilot is not None or ends:
            low, high = (size, size) if pilot is None else (pilot.lower, pilot.upper)
            lower, upper = _allocation(low, largest, costs, **more), _allocation(high, smallest, costs, **more)
            made = replace(made, lower=lower, upper=upper)
        if pilot is not None:
            made = replace(made, measure=pilot.measure, estimate=pilot.estimate.method)
        found.append(made)
    return found


def _magnitudes(lower: float, upper: float) -> tuple[float, float]:
    """The largest and the smallest |r| within an interval: a judge is worth r²."""
    ends = abs(lower), abs(upper)
    return max(ends), 0.0 if lower < 0 < upper else min(ends)


def _allocation(
    size: Size,
    correlations: Sequence[float],
    costs: Costs,
    *,
    judged_topics: int | None = None,
    limit: int = MOST_TOPICS,
    sides: int = 2,
) -> Allocation:
    """The designs of every cell of a size, for each r."""
    alone, rs = _repeated(size, len(correlations)), np.tile(correlations, size.topics.size)
    if len(rs) > MOST_DESIGNS:
        raise RequestError(
            f"the grid has {len(rs):,} cells", fix=f"With a judge, ask for at most {MOST_DESIGNS:,} at a time."
        )
    counts = []
    for cell, r in enumerate(rs.tolist()):
        inputs = {name: values[cell] for name, values in alone.inputs.items()}
        design, goal = design_of(alone.kind, alone.method, inputs, sides)
        people = float(alone.topics[cell]) if alone.reached[cell] else np.inf
        found = _cheapest(with_judge(design, r), goal, people, costs, judged_topics, limit)
        counts.append(found or (int(alone.topics[cell]), 0))
    n, whole = np.array(counts).T
    designs, goal = design_of(alone.kind, alone.method, alone.inputs, sides)
    judged = with_judge(designs, rs, whole).with_numbers(topics=n)
    reached = replace(alone, topics=n, reached=alone.reached | (whole > 0), achieved=achieved(judged, goal))
    return Allocation(size=reached, spread=judged.spread, costs=costs, judged_topics=judged_topics, alone=alone)


CELLS = ("topics", "reached", "achieved", "below")
"""What a size has of every cell."""


def _repeated(size: Size, times: int) -> Size:
    """Every cell of a size several times, one after another."""
    cells: dict[str, Any] = {name: np.repeat(getattr(size, name).ravel(), times) for name in CELLS}
    inputs = {name: np.repeat(values.ravel(), times) for name, values in size.inputs.items()}
    return replace(size, inputs=inputs, **cells)


def _cheapest(
    design: Design, goal: Goal, people: float, costs: Costs, judged_topics: int | None, limit: int
) -> tuple[int, int] | None:
    """n and N, where they cost less than the topics of people alone; without the price of N, where n is smaller."""
    if np.isnan(costs.judged_topic):
        costs = replace(costs, judged_topic=0.0)
    if judged_topics is None:
        # N ≥ n, so that more topics cost more than people alone.
        most = int(min(limit, costs.topic * people / (costs.topic + costs.judged_topic)))
        ranges = {"topics": (Judged.fewest, most)}
        counts = cheapest(design, goal, costs, ranges, unknown="judged_topics", limit=limit)
    else:
        fewest = float(solve(design.with_numbers(judged_topics=judged_topics), goal, limit=judged_topics))
        counts = None if np.isnan(fewest) else {"topics": int(fewest), "judged_topics": judged_topics}
    if counts is None or not costs.of(design.with_numbers(**counts)) < costs.topic * people:
        return None
    return counts["topics"], max(counts.values())


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
    """Refuse a test or a method that a plan with a judge has no place for."""
    Judged(sd=1.0, judge_correlation=0.0).check_test(request.test or ALL_PAIRS_TEST)
    if request.method is not None and request.method not in JUDGED_METHODS:
        raise NoEffectError(
            f'`judge_correlation` has no effect on `method="{request.method}"`',
            parameter="judge_correlation",
            fix=f"Choose one of: {', '.join(JUDGED_METHODS)}.",
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


def judged_cards(
    cards: Sequence[Card],
    correlations: Sequence[float],
    costs: Costs,
    *,
    judged_topics: Sequence[int] | None = None,
    budget: float | None = None,
) -> list[Card]:
    """Cards with a judge beside those of human labels alone, for every number of judged topics, or for a budget.

    A budget is for the topics that detect the smallest difference, of people alone where the judge does not pay.
    """
    if budget is None and judged_topics is None:
        raise RequestError(
            "the number of topics that the model labels is missing",
            fix="Add `judged_topics=200`, for instance, or `budget` with `human_cost` and `judge_cost`.",
        )
    return [
        _among(card, r, whole, costs) if budget is None else _for_budget(card, r, costs, budget)
        for card, whole, r in product(cards, judged_topics or (0,), correlations)
    ]


def budget_topics(costs: Costs, budget: float) -> list[int]:
    """The topics of human labels alone that a budget for all labels pays for; refuse one that pays for too few."""
    fewest = Judged.fewest * (costs.topic + costs.judged_topic)
    if not budget >= fewest:
        raise RequestError(
            f"a budget of {budget:g} pays for fewer than {Judged.fewest} topics labelled by people and by the model",
            fix=f"Plan for {fewest:g} or more.",
        )
    return [int(budget / costs.topic * ROUNDING)]


def _among(card: Card, r: float, judged_topics: int, costs: Costs) -> Card:
    topics, fewest = card.topics, Judged.fewest
    fix = f"Have {fewest} topics or more labelled by people, and at least as many by the model."
    if topics < fewest:
        raise RequestError(f"{topics} topics labelled by people are too few", fix=fix)
    if topics > judged_topics:
        raise RequestError(
            f"{topics:,} topics labelled by people are not among {judged_topics:,} labelled by the model", fix=fix
        )
    return _card(card, with_judge(card.designs(), r, judged_topics), costs)


def _for_budget(card: Card, r: float, costs: Costs, budget: float) -> Card:
    design, goal = with_judge(card.designs(), r), Goal("difference", at_least=card.power)
    most = int(budget / (costs.topic + costs.judged_topic) * ROUNDING)
    counts = cheapest(design, goal, costs, {"topics": (Judged.fewest, most)}, unknown="judged_topics", budget=budget)
    best = _card(card, design.with_numbers(**counts or {}), costs)
    return best if best.judge_pays else _card(card, design, costs)


def _card(human: Card, design: Design, costs: Costs) -> Card:
    """The card of a design with a judge, beside that of human labels alone."""
    assert isinstance(design.spread, Judged)
    design.spread.check_test(human.test)
    topics: Any = design.topics
    found = human.with_spread(design.spread, topics)
    worth = float(design.spread.effective_topics(topics))
    return replace(found, human=human, cost=float(costs.of(design)), effective_topics=worth)
