"""Designs by keywords, as tests ask for them: every one of these is `achieved`, `solve` or `size`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.methods.design import Design, Goal, Judged, Sd, achieved, significant_difference
from cranfield.methods.design.cards import Card, cards_from_grid
from cranfield.methods.design.cheapest import Costs
from cranfield.methods.design.labels import judged_cards, plan_labels
from cranfield.methods.design.request import Request
from cranfield.methods.design.solver import Size, size, solve
from cranfield.methods.design.target import Target


def paired(
    *, sd: Any = 1.0, systems: Any = None, test: str | None = None, method: str = "t", sides: int = 2, **more: Any
) -> Design:
    """A design for a pair: named in advance, or one of several systems."""
    chosen = method if systems is None else test or "holm"
    return Design(systems=2 if systems is None else systems, test=chosen, sides=sides, spread=Sd(sd=sd), **more)


def of_range(*, variance: Any, systems: Any, method: str = "exact", **more: Any) -> Design:
    return Design(systems=systems, test=method, spread=Sd.of_variance(variance), **more)


def size_for_range(*, min_range: Any, power: Any = 0.8, limit: int = 10_000_000, **design: Any) -> Size:
    return size(of_range(**design), Goal("min_range", min_range, power), limit=limit)


def size_for_difference(
    *, difference: Any = None, effect_size: Any = None, power: Any = 0.8, limit: int = 10_000_000, **design: Any
) -> Size:
    goal = Goal("difference", difference if effect_size is None else effect_size, power)
    return size(paired(**design), goal, limit=limit)


def size_for_equivalence(*, margin: Any, power: Any = 0.8, true_difference: Any = 0.0, **design: Any) -> Size:
    return size(paired(**{"method": "tost", **design}), Goal("equivalence", margin, power, true_difference))


def size_for_non_inferiority(*, margin: Any, power: Any = 0.8, true_difference: Any = 0.0, **design: Any) -> Size:
    return size(paired(**design), Goal("non_inferiority", margin, power, true_difference))


def size_for_width(*, width: Any, probability: Any = None, **design: Any) -> Size:
    return size(paired(**design), Goal("width", width, probability))


def size_for_sensitivity(*, sensitivity: Any, **design: Any) -> Size:
    return size(paired(**design), Goal("sensitivity", sensitivity))


def power_for_range(*, min_range: Any, **design: Any) -> np.ndarray:
    return achieved(of_range(**design), Goal("min_range", min_range))


def power_for_difference(*, difference: Any = None, effect_size: Any = None, **design: Any) -> np.ndarray:
    return achieved(paired(**design), Goal("difference", difference if effect_size is None else effect_size))


def detectable_range(*, power: Any = 0.8, **design: Any) -> np.ndarray:
    return solve(of_range(**design), Goal("min_range", at_least=power), "min_range")


def detectable_difference(*, power: Any = 0.8, **design: Any) -> np.ndarray:
    return solve(paired(**design), Goal("difference", at_least=power), "difference")


def smallest_significant(**design: Any) -> np.ndarray:
    return significant_difference(paired(**design))


def width_with(**design: Any) -> np.ndarray:
    return achieved(paired(**design), Goal("width", at_least=None))


def sensitivity_with(**design: Any) -> np.ndarray:
    return achieved(paired(**design), Goal("sensitivity"))


def judged(topics: Any, judged_topics: Any, sd: Any, correlation: Any, alpha: Any = 0.05, sides: int = 2) -> Design:
    """Human labels on n topics among N."""
    spread = Judged(sd=sd, judge_correlation=correlation, judged_topics=judged_topics)
    return Design(topics=topics, alpha=alpha, sides=sides, spread=spread)


def judged_power(
    topics: Any, judged_topics: Any, difference: Any, sd: Any, correlation: Any, alpha: Any = 0.05, *, sides: int = 2
) -> np.ndarray:
    return achieved(judged(topics, judged_topics, sd, correlation, alpha, sides), Goal("difference", difference))


def judged_width(topics: Any, judged_topics: Any, sd: Any, correlation: Any, alpha: Any = 0.05) -> np.ndarray:
    return achieved(judged(topics, judged_topics, sd, correlation, alpha), Goal("width", at_least=None))


def judged_detectable(
    topics: Any, judged_topics: Any, sd: Any, correlation: Any, alpha: Any = 0.05, *, power: Any = 0.8, sides: int = 2
) -> np.ndarray:
    design = judged(topics, judged_topics, sd, correlation, alpha, sides)
    return solve(design, Goal("difference", at_least=power), "difference")


@dataclass(frozen=True)
class Cheapest:
    """The cheapest design with a judge, and that of human labels alone."""

    topics: int | None
    judged_topics: int
    achieved: float
    cost: float
    human_topics: int | None
    human_cost: float
    judge_pays: bool


def _cheapest(
    design: Design, goal: Goal, correlation: float, costs: Costs, judged_topics: int | None = None
) -> Cheapest:
    alone = size(design, goal)
    (found,) = plan_labels([alone], [correlation], costs, judged_topics=judged_topics, sides=design.sides)
    row = found.to_dict()[0]
    achieved_names = ("achieved_power", "achieved_width")
    return Cheapest(
        topics=row["topics"],
        judged_topics=row["judged_topics"],
        achieved=next(row[name] for name in achieved_names if name in row),
        cost=row["cost"],
        human_topics=row["human_topics"],
        human_cost=row["human_topics_cost"],
        judge_pays=row["judge_pays"],
    )


def design_for_power(
    difference: float,
    sd: float,
    correlation: float,
    costs: Costs,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    sides: int = 2,
    judged_topics: int | None = None,
) -> Cheapest:
    design = Design(alpha=alpha, sides=sides, spread=Sd(sd=sd))
    return _cheapest(design, Goal("difference", difference, power), correlation, costs, judged_topics)


def design_for_width(width: float, sd: float, correlation: float, costs: Costs, *, alpha: float = 0.05) -> Cheapest:
    return _cheapest(Design(alpha=alpha, spread=Sd(sd=sd)), Goal("width", width, None), correlation, costs)


def card_for_budget(budget: float, sd: float, correlation: float, costs: Costs) -> Card:
    (alone,) = cards_from_grid(Request(sd=[sd]), [int(budget / costs.topic)])
    (found,) = judged_cards([alone], [correlation], costs, budget=budget)
    return found


def aim(
    kind: str = "min_range",
    value: float | None = 0.15,
    systems: int = 10,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    method: str = "blocked",
    test: str = "holm",
) -> Target:
    """The goal of a pilot or a budget."""
    name = {"min_range": method, "difference": test}.get(kind, "t")
    goal = Goal(kind, float("nan") if value is None else value, None if kind == "width" else power)
    return Target(Design(systems=systems, test=name, alpha=alpha), goal)
