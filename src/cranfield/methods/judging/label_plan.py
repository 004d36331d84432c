"""Plans with a judge: topics for people and for the judge beside human labels alone, and what given topics detect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from cranfield.errors import Caution, NoEffectError, RequestError
from cranfield.methods.design.planning import PilotSize
from cranfield.methods.design.power_card import Card
from cranfield.methods.design.request import Request, broadcast
from cranfield.methods.design.sample_size import Size, claim, power_for_difference
from cranfield.methods.judging.judge_effects import effective_topics
from cranfield.methods.judging.label_design import (
    FEWEST,
    LabelCosts,
    LabelDesign,
    check_budget,
    design_for_budget,
    design_for_power,
    design_for_width,
    judged_detectable,
    judged_power,
    judged_width,
)
from cranfield.methods.names import TEST_LABELS
from cranfield.stats.family import LEVELS

LABEL_GOALS = ("difference", "effect_size", "width")
LABEL_METHODS = ("holm", "max-t", "t", "interval")
"""Methods with a standard error of each pair's own, which is what the regression estimator has."""
LABEL_TESTS = ("holm", "max-t", "t")
MOST_DESIGNS = 2_000
FEW_TOPICS, FEW_FOR_MAX_T = 10, 50
"""Topics with human labels below which power depends on differences being normal, and max-t has less than planned."""


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
    def is_range(self) -> bool:
        return self.lower < self.upper

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
    lower: LabelSize | None = None
    upper: LabelSize | None = None
    measure: str = ""
    estimate: str = ""

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one row per design: the inputs, n and N, the cost, and the same of human labels alone."""
        word = f"achieved_{self.size.method.achieves}"
        head = {"measure": self.measure, "estimate": self.estimate} if self.measure or self.estimate else {}
        cells = [
            head | {name: value for name, value in row.items() if name not in (word, f"{word[9:]}_below", "topics")}
            for row in self.size.to_dict()
        ]
        rows = []
        for (cell, r), design in zip(product(cells, self.correlations), self.designs, strict=True):
            names = {"method": self.test, "test": "t" if self.test == "interval" else self.test}
            rows.append({**cell, **names, "judge_correlation": r, **_answer(design, word)})
        if self.lower is not None and self.upper is not None:
            for row, lower, upper in zip(rows, self.lower.designs, self.upper.designs, strict=True):
                row |= _ends("lower", lower) | _ends("upper", upper)
        return rows

    def summary(self) -> str:
        """Return one sentence about the first design."""
        return explain_labels(self, self.to_dict()[0])


def _answer(design: LabelDesign, word: str) -> dict[str, Any]:
    return {
        "topics": design.topics,
        "judged_topics": design.judged_topics,
        "cost": design.cost if np.isfinite(design.cost) else None,
        word: design.achieved,
        "human_topics": design.human_topics,
        "human_topics_cost": design.human_cost if np.isfinite(design.human_cost) else None,
        "judge_pays": design.judge_pays,
    }


def _ends(word: str, design: LabelDesign) -> dict[str, Any]:
    return {
        f"topics_{word}": design.topics,
        f"judged_topics_{word}": design.judged_topics,
        f"cost_{word}": design.cost if np.isfinite(design.cost) else None,
    }


def explain_labels(plan: LabelSize, row: Mapping[str, Any]) -> str:
    """Return a sentence that states n and N, the goal, the cost, and the same of human labels alone."""
    method = plan.size.method
    how = f"regression estimator, {_test_words(plan.test)}; r = {row['judge_correlation']:.4g}"
    name = f"{plan.measure}: " if plan.measure else ""
    cost = "" if row["cost"] is None else f", at a cost of {_money(row['cost'])}"
    if row["topics"] is None:
        return (
            f"{name}No design with up to {plan.costs.limit:,} topics is enough ({how}). Ask for less, or choose a "
            "measure with less variance."
        )
    if not row["judge_pays"]:
        return (
            f"{name}{_no_use(plan, row)}: {row['topics']:,} topics labelled by people alone {claim(method, row)}{cost}."
        )
    return (
        f"{name}{row['topics']:,} topics labelled by people among {row['judged_topics']:,} labelled by the model "
        f"{claim(method, row)} ({how}){cost}; {_human_words(row)}.{_range_words(row)}"
    )


def _no_use(plan: LabelSize, row: Mapping[str, Any]) -> str:
    r = f"{row['judge_correlation']:.4g}"
    if plan.costs.judged_topics is not None:
        return f"{plan.costs.judged_topics:,} topics labelled by a model with r = {r} do not help"
    return f"The labels of a model with r = {r} do not pay"


def _money(cost: float) -> str:
    return f"{cost:,.10g}"


def _test_words(method: str) -> str:
    return TEST_LABELS["t"] if method == "interval" else TEST_LABELS[method]


def _human_words(row: Mapping[str, Any]) -> str:
    if row["human_topics"] is None:
        return "people alone cannot reach it"
    cost = "" if row["human_topics_cost"] is None else f", {_money(row['human_topics_cost'])}"
    return f"people alone need {row['human_topics']:,} topics{cost}"


def _range_words(row: Mapping[str, Any]) -> str:
    if "topics_lower" not in row:
        return ""
    low, high = (
        "no number" if row[f"topics_{word}"] is None else f"{row[f'topics_{word}']:,}" for word in ("lower", "upper")
    )
    costs = [row[f"cost_{word}"] for word in ("lower", "upper")]
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
    given = {"human_cost": human_cost, "judge_cost": judge_cost, "judged_topics": judged_topics}
    if judge_correlation is None:
        for name, value in given.items():
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
    if request.test is not None and request.test not in LABEL_TESTS:
        raise _refused(
            f'test="{request.test}"', "The corrected comparison has holm, max-t, or t for a pair named in advance."
        )
    if request.method is not None and request.method not in LABEL_METHODS:
        raise _refused(f'method="{request.method}"', f"Choose one of: {', '.join(LABEL_METHODS)}.")
    flags = {"unpaired": not request.paired, "assurance": request.assurance is not None}
    for name, is_given in (flags | {"probability": request.probability is not None}).items():
        if is_given:
            raise _refused(name, "Leave one of them out.")


def _refused(name: str, fix: str) -> RequestError:
    return NoEffectError(f"`judge_correlation` has no effect on `{name}`", parameter="judge_correlation", fix=fix)


def plan_labels(
    sizes: Sequence[Size], correlations: Sequence[float], costs: LabelCosts, *, sides: int = 2
) -> list[LabelSize]:
    """The cheapest topics for people and for the judge, for the sizes of `plan` that have such a design."""
    known = [Correlation.of(r) for r in correlations]
    mine = [size for size in sizes if size.method.name in LABEL_METHODS]
    return [label_size(size, known, costs, sides=sides) for size in mine]


def plan_labels_from_pilot(
    pilots: Sequence[PilotSize], correlations: Sequence[Correlation], costs: LabelCosts, *, sides: int = 2
) -> list[LabelSize]:
    """The same with the variance of a pilot, and r with its interval where it comes from one too."""
    found = []
    for each in pilots:
        if each.size.method.name not in LABEL_METHODS:
            continue
        ends = (each.lower, each.upper)
        one = label_size(each.size, correlations, costs, sides=sides, ends=ends)
        found.append(replace(one, measure=each.measure, estimate=each.estimate.method))
    return found


def label_size(
    size: Size,
    correlations: Sequence[Correlation],
    costs: LabelCosts,
    *,
    sides: int = 2,
    ends: tuple[Size, Size] | None = None,
) -> LabelSize:
    """Topics for people and for the judge at every r, with a range where r or the variance is estimated.

    Parameters
    ----------
    size
        The goal and its variance: `size_for_difference`, `size_for_width`, or one of `plan`.
    correlations
        r, with its interval where it is estimated.
    ends
        The size at the lower and at the upper end of the interval of the variance.

    Examples
    --------
    >>> from cranfield.methods.design import size_for_difference
    >>> size = size_for_difference(difference=0.05, sd=0.15)
    >>> costs = LabelCosts(human=10, judge=0.1)
    >>> row = label_size(size, [Correlation.of(0.6, lower=0.4, upper=0.75)], costs).to_dict()[0]
    >>> row["topics"], row["topics_lower"], row["topics_upper"], row["human_topics"]
    (52, 38, 65, 73)
    """
    at = _sized(size, [each.value for each in correlations], costs, sides)
    if ends is None and not any(each.is_range for each in correlations):
        return at
    low, high = ends or (size, size)
    return replace(
        at,
        lower=_sized(low, [each.ends[0] for each in correlations], costs, sides),
        upper=_sized(high, [each.ends[1] for each in correlations], costs, sides),
    )


def _sized(size: Size, correlations: Sequence[float], costs: LabelCosts, sides: int) -> LabelSize:
    cells = [{name: float(values.flat[at]) for name, values in size.inputs.items()} for at in range(size.topics.size)]
    count = len(cells) * len(correlations)
    if count > MOST_DESIGNS:
        raise RequestError(
            f"the grid has {count:,} cells", fix=f"With a judge, ask for at most {MOST_DESIGNS:,} at a time."
        )
    test = size.method.name
    designs = [_cell(test, cell, r, costs, sides) for cell, r in product(cells, correlations)]
    return LabelSize(size=size, test=test, costs=costs, correlations=tuple(correlations), designs=tuple(designs))


def _cell(test: str, cell: Mapping[str, float], r: float, costs: LabelCosts, sides: int) -> LabelDesign:
    """The design of one cell."""
    if test == "interval":
        return design_for_width(cell["width"], cell["sd"], r, costs, alpha=cell["alpha"])
    return design_for_power(
        cell["difference"],
        cell["sd"],
        r,
        costs,
        power=cell["power"],
        alpha=_level(test, cell["alpha"], cell.get("systems", 2.0)),
        sides=sides if test == "t" else 2,
    )


def _level(test: str, alpha: float, systems: float) -> float:
    """The level of one pair, which for these tests does not depend on the number of topics."""
    return alpha if test == "t" else float(LEVELS[test](alpha, systems, np.inf))


def label_cautions(topics: Sequence[int | None], test: str | None) -> tuple[Caution, ...]:
    """The warnings about designs with few topics for people."""
    fewest = min((n for n in topics if n is not None), default=FEW_FOR_MAX_T)
    found = []
    if test == "max-t" and fewest < FEW_FOR_MAX_T:
        found.append(
            Caution(
                "max-t-few-topics",
                f"with {fewest} topics labelled by people max-t has less power than its formula says (20 topics among "
                "200, five systems, r = 0.6: 0.77 in place of 0.86)",
                'Plan for `test="holm"`, or check the design with `verify()`.',
            )
        )
    if fewest < FEW_TOPICS:
        found.append(_few_topics(fewest))
    return tuple(found)


def _few_topics(fewest: int) -> Caution:
    return Caution(
        "few-human-topics",
        f"with {fewest} topics labelled by people the slope of the regression is hardly known, and the power holds "
        "for normal differences only",
        f"Have {FEW_TOPICS} topics or more labelled by people.",
    )


@dataclass(frozen=True, kw_only=True)
class LabelCard:
    """What n topics with human labels among N judged ones detect, beside human labels alone.

    ``achieved_power`` and ``detectable_difference`` are for a pair of ``systems`` under ``test``, those with ``pair_``
    for a pair named in advance, those with ``human_`` for ``human_topics`` topics with human labels alone (n, or as
    many as the same budget pays for). ``effective_topics`` is how many topics with human labels alone n among N are
    worth. ``judged_topics`` are 0 where a budget is better spent on human labels alone; ``cost`` is nan where costs are
    unknown.
    """

    measure: str
    topics: int
    judged_topics: int
    judge_correlation: float
    systems: int
    test: str
    sd: float
    alpha: float
    power: float
    difference: float
    achieved_power: float
    detectable_difference: float
    pair_power: float
    pair_detectable_difference: float
    width: float
    effective_topics: float
    cost: float
    human_topics: int
    human_power: float
    human_detectable_difference: float
    human_pair_power: float
    human_pair_detectable_difference: float
    human_width: float
    judge_pays: bool

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))

    @property
    def is_family(self) -> bool:
        """Whether the card is for all pairs of several systems."""
        return self.test != "t" and self.systems > 2

    @property
    def level(self) -> float:
        """The level of one pair under the test."""
        return _level(self.test, self.alpha, self.systems)

    def power_for(self, difference: float, test: str) -> float:
        """The power for a difference under a test."""
        level = _level(_checked(test), self.alpha, self.systems)
        if not self.judged_topics:
            return float(power_for_difference(topics=self.topics, difference=difference, sd=self.sd, alpha=level))
        return float(judged_power(self.topics, self.judged_topics, difference, self.sd, self.judge_correlation, level))

    def sentence(self) -> str:
        """Return the conclusion in sentences."""
        name = f"{self.measure}: " if self.measure else ""
        among = f"two of {self.systems} systems" if self.is_family else "two systems named in advance"
        cost = "" if np.isnan(self.cost) else f", at a cost of {_money(self.cost)},"
        if not self.judge_pays:
            return (
                f"{name}The labels of a model with r = {self.judge_correlation:.4g} do not pay: {self.human_topics:,} "
                f"topics labelled by people alone detect a difference of {self.human_detectable_difference:.3f} "
                f"between {among} with power {self.power:g} at α = {self.alpha:g}."
            )
        return (
            f"{name}{self.topics:,} topics labelled by people among {self.judged_topics:,} labelled by the model"
            f"{cost} detect a difference of {self.detectable_difference:.3f} between {among} with power {self.power:g} "
            f"at α = {self.alpha:g} (regression estimator, {TEST_LABELS[self.test]}; r = "
            f"{self.judge_correlation:.4g}), and one of {self.difference:g} with power {self.achieved_power:.2f}; "
            f"{self.human_topics:,} topics labelled by people alone detect "
            f"{self.human_detectable_difference:.3f}."
        )


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
            check_budget(self.budget, costs)

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
        test = _checked(card.test)
        if self.budget is None:
            _check_part(card.topics, whole)
            cost = float(costs.of(np.asarray(card.topics), np.asarray(whole)))
            return _card(card, test, r, card.topics, whole, cost)
        level = _level(test, card.alpha, card.systems)
        design = design_for_budget(self.budget, card.sd, r, costs, power=card.power, alpha=level)
        if design.judge_pays and design.topics is not None:
            return _card(card, test, r, design.topics, design.judged_topics, design.cost)
        return _human_card(card, r, design.cost)


def _check_part(topics: int, judged_topics: int) -> None:
    fix = f"Have {FEWEST} topics or more labelled by people, and at least as many by the model."
    if topics < FEWEST:
        raise RequestError(f"{topics} topics labelled by people are too few", fix=fix)
    if topics > judged_topics:
        raise RequestError(
            f"{topics:,} topics labelled by people are not among {judged_topics:,} labelled by the model", fix=fix
        )


def _checked(test: str) -> str:
    if test not in LABEL_TESTS:
        raise _refused(f'test="{test}"', "The corrected comparison has holm, max-t, or t for a pair named in advance.")
    return test


def _card(card: Card, test: str, r: float, topics: int, judged_topics: int, cost: float) -> LabelCard:
    level = _level(test, card.alpha, card.systems)
    design = (topics, judged_topics)
    known: dict[str, Any] = {"sd": card.sd, "correlation": r}
    detectable = float(judged_detectable(*design, **known, alpha=level, power=card.power))
    return LabelCard(
        **_of_people(card),
        test=test,
        topics=topics,
        judged_topics=judged_topics,
        judge_correlation=r,
        achieved_power=float(judged_power(*design, card.difference, card.sd, r, level)),
        detectable_difference=detectable,
        pair_power=float(judged_power(*design, card.difference, card.sd, r, card.alpha)),
        pair_detectable_difference=float(judged_detectable(*design, **known, alpha=card.alpha, power=card.power)),
        width=float(judged_width(*design, card.sd, r, card.alpha)),
        effective_topics=float(effective_topics(*design, r)),
        cost=cost,
        judge_pays=detectable < card.detectable_difference,
    )


def _of_people(card: Card) -> dict[str, Any]:
    """What a card with a judge has of that of human labels alone."""
    asked = {name: getattr(card, name) for name in ("measure", "systems", "sd", "alpha", "power", "difference")}
    return asked | {
        "human_topics": card.topics,
        "human_power": card.achieved_power,
        "human_detectable_difference": card.detectable_difference,
        "human_pair_power": card.pair_power,
        "human_pair_detectable_difference": card.pair_detectable_difference,
        "human_width": card.width,
    }


def _human_card(card: Card, r: float, cost: float) -> LabelCard:
    """A card of human labels alone, where a judge does not pay."""
    return LabelCard(
        **_of_people(card),
        test=card.test,
        topics=card.topics,
        judged_topics=0,
        judge_correlation=r,
        achieved_power=card.achieved_power,
        detectable_difference=card.detectable_difference,
        pair_power=card.pair_power,
        pair_detectable_difference=card.pair_detectable_difference,
        width=card.width,
        effective_topics=float(card.topics),
        cost=cost,
        judge_pays=False,
    )
