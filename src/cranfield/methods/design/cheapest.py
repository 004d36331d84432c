"""What designs cost, and the counts of the one that reaches a goal at the least cost, or the most for a budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from cranfield.methods.design.formulas import MOST_TOPICS, Design
from cranfield.methods.design.goals import Goal
from cranfield.methods.design.solver import achieved, solve
from cranfield.types import Array, ArrayLike

Range = tuple[int, int] | list[int]
"""Numbers from the first to the last, or those that were given."""
Counts = Array | tuple[int, ...]
"""Values of the numbers to consider: a column for each design, or one of each."""
Loss = Callable[[Array, Array], Array]
ROUNDING = 1 + 1e-12
"""What a budget pays for is not less by a rounding error of its price."""


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What one of everything costs, nan where that is not known.

    A ``topic`` has its human labels, a ``judged_topic`` those of a model. Items and repeats that all topics share are
    paid for once.
    """

    topic: float = 0.0
    judged_topic: float = 0.0
    item: float = 0.0
    repeat: float = 0.0

    def of(self, design: Design) -> Array:
        """The cost of all that designs have.

        >>> from cranfield.methods.design.spreads import Judged
        >>> design = Design(topics=52, spread=Judged(sd=0.15, judge_correlation=0.6, judged_topics=335))
        >>> float(Costs(topic=10, judged_topic=0.1).of(design))
        553.5
        """
        return self._sum(design.spread.paid(design.topics))

    def affordable(self, design: Design, name: str, budget: float, most: int) -> Array:
        """The largest count ``name``, up to ``most``, that a budget pays for: each of them costs the same."""
        last, one_more = (
            moved.spread.paid(moved.topics)
            for moved in (design.with_numbers(**{name: float(count)}) for count in (most, most + 1))
        )
        each = {part: one_more[part] - last[part] for part in last}
        fixed = self._sum({part: last[part] - most * each[part] for part in last})
        with np.errstate(divide="ignore", invalid="ignore"):
            count = np.floor((budget - fixed) / self._sum(each) * ROUNDING)
        return np.asarray(np.clip(np.nan_to_num(count, nan=0.0, posinf=most), 0, most))

    def _sum(self, paid: Mapping[str, Array]) -> Array:
        return np.asarray(sum(vars(self)[name] * count for name, count in paid.items()))


def cheapest(
    design: Design,
    goal: Goal,
    costs: Costs,
    ranges: Mapping[str, Range],
    *,
    unknown: str = "topics",
    budget: float | None = None,
    limit: int = MOST_TOPICS,
) -> dict[str, int] | None:
    """Find the counts of a design that reach a goal at the least cost, or the most for a budget.

    Parameters
    ----------
    design
        One design, without the counts that are looked for.
    goal
        With a budget, the value or the power that is not given is the one that is to be best.
    ranges
        The counts to consider, by name.
    unknown
        The count that follows from the others: the smallest that reaches the goal, or the largest that is paid for.

    Returns
    -------
    dict
        The counts by name; None where no design reaches the goal, or a budget pays for none.

    Examples
    --------
    >>> from cranfield.methods.design.spreads import Judged, Replicated
    >>> goal, nested = Goal("difference", 0.05), Design(spread=Replicated(between=0.0116, within=0.0062))
    >>> cheapest(nested, goal, Costs(topic=10, item=1), {"items": (1, 1000)})
    {'items': 3, 'topics': 45}
    >>> judged, costs = Judged(sd=0.15, judge_correlation=0.6), Costs(topic=10, judged_topic=0.1)
    >>> cheapest(Design(spread=judged), goal, costs, {"topics": (5, 73)}, unknown="judged_topics")
    {'topics': 52, 'judged_topics': 335}
    >>> smallest = {"unknown": "judged_topics", "budget": 500}
    >>> cheapest(Design(spread=judged), Goal("difference"), costs, {"topics": (5, 49)}, **smallest)
    {'topics': 47, 'judged_topics': 300}
    """
    search = _Search(design, goal, costs, tuple(ranges), unknown, limit, budget)
    best = least(search.cost if budget is None else search.loss, [*ranges.values()])
    return None if best is None else search.complete(best)


@dataclass(frozen=True, eq=False)
class _Search:
    design: Design
    goal: Goal
    costs: Costs
    names: tuple[str, ...]
    unknown: str
    limit: int
    budget: float | None

    def cost(self, low: Array, high: Array) -> Array:
        """The least that a block of counts can cost.

        The most of them need the fewest of the unknown count, and the rest is cheapest with the fewest.
        """
        return _known(self.costs.of(self._at(low, self._fewest(high))))

    def loss(self, low: Array, high: Array) -> Array:
        """The least that a budget leaves to be detected, or 1 − the most power: the unknown count is bought last."""
        count = self._affordable(low)
        lowest = 2 if self.unknown == "topics" else 1
        design, is_value_open = self._at(high, np.maximum(count, lowest)), np.isnan(self.goal.value)
        loss = solve(design, self.goal, self.goal.kind) if is_value_open else 1 - achieved(design, self.goal)
        return _known(np.where(count >= lowest, loss, np.nan))

    def complete(self, counts: tuple[int, ...]) -> dict[str, int]:
        last = self._fewest(counts) if self.budget is None else self._affordable(counts)
        return {**dict(zip(self.names, counts, strict=True)), self.unknown: int(last)}

    def _fewest(self, counts: Counts) -> Array:
        return solve(self._at(counts), self.goal, self.unknown, limit=self.limit)

    def _affordable(self, counts: Counts) -> Array:
        assert self.budget is not None
        return self.costs.affordable(self._at(counts), self.unknown, self.budget, self.limit)

    def _at(self, counts: Counts, unknown: ArrayLike | None = None) -> Design:
        solved = {} if unknown is None else {self.unknown: unknown}
        return self.design.with_numbers(**dict(zip(self.names, counts, strict=True)), **solved)


def _known(loss: Array) -> Array:
    return np.where(np.isnan(loss), np.inf, loss)


def least(loss: Loss, ranges: Sequence[Range]) -> tuple[int, ...] | None:
    """The numbers with the smallest loss, of those equal the fewest; None where no loss is finite.

    ``loss(low, high)`` is at most that of any numbers from ``low`` to ``high`` (one column for each block of numbers,
    one row for each range), and that of the numbers themselves where both are the same.

    >>> least(lambda low, high: 12 / high[0] + 3 * low[0], [(1, 1000)])
    (2,)
    """
    low, high = _blocks(ranges)
    low, high = (each[:, (low <= high).all(axis=0)] for each in (low, high))
    best, chosen = np.inf, None
    while low.shape[1]:
        losses = loss(high, high)
        first = int(np.lexsort((high[0], high.prod(axis=0), losses))[0])
        if losses[first] < best:
            best, chosen = float(losses[first]), tuple(high[:, first].tolist())
        keep = np.flatnonzero((loss(low, high) < best) & (low != high).any(axis=0))
        low, high = _halved(low[:, keep], high[:, keep])
    return chosen


def _blocks(ranges: Sequence[Range]) -> tuple[Array, Array]:
    """Blocks of numbers to begin with: single ones of lists, the whole of ranges."""
    ends = [[(each, each) for each in numbers] if isinstance(numbers, list) else [numbers] for numbers in ranges]
    blocks = np.array(list(product(*ends)))
    return blocks[:, :, 0].T, blocks[:, :, 1].T


def _halved(low: Array, high: Array) -> tuple[Array, Array]:
    """Every block in two, along its longest side."""
    longest, column = np.argmax(high - low, axis=0), np.arange(low.shape[1])
    middle = (low[longest, column] + high[longest, column]) // 2
    first_high, second_low = high.copy(), low.copy()
    first_high[longest, column], second_low[longest, column] = middle, middle + 1
    return np.concatenate([low, second_low], axis=1), np.concatenate([first_high, high], axis=1)
