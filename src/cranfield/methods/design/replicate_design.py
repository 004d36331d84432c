"""Numbers of units, items and repeats: the power of a design with several scores per topic, its cost, and the best.

The variance of the mean paired difference of two systems over J units with K items each and R repeats of each item is
between/J + within/(J·K) + repeat/(J·K·R), and what all units share (prompts, or seeds of trained systems) adds its
variance over its number, which more units do not reduce.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from cranfield.methods.design.formulas import Inputs, Method, difference_method, family_method
from cranfield.methods.design.power_functions import family_power, paired_t_power, sampled_power, satterthwaite
from cranfield.methods.design.sample_size import REPLICATE_INPUTS, Size, size
from cranfield.methods.variance.replicate_components import NAMES, Components
from cranfield.stats.tails import normal_critical
from cranfield.types import Array


@dataclass(frozen=True, kw_only=True)
class Structure:
    """What the units, items and repeats of a design are called, and which of them all units share."""

    unit: str
    item: str
    repeat: str
    covers: str
    shared: str = ""  # items, repeats, or neither

    @property
    def sampled(self) -> str:
        """What all units share, in words."""
        return f"{self.item if self.shared == 'items' else self.repeat}s"


STRUCTURES = {
    "variations": Structure(unit="topic", item="variation", repeat="repeat", covers="new topics and their variations"),
    "clusters": Structure(unit="cluster", item="topic", repeat="repeat", covers="new clusters of topics"),
    "fixed-prompts": Structure(unit="topic", item="prompt", repeat="repeat", covers="new topics, only these prompts"),
    "prompts": Structure(
        unit="topic", item="prompt", repeat="repeat", covers="new topics and other prompts", shared="items"
    ),
    "seeds": Structure(
        unit="topic", item="variation", repeat="seed", covers="new topics and other seeds", shared="repeats"
    ),
}


@dataclass(frozen=True, kw_only=True)
class ReplicateCosts:
    """What a unit, an item and a repeat cost, each paid once: what all units share is paid for once, not per unit."""

    topic: float = 0.0
    item: float = 0.0
    repeat: float = 0.0

    def of(self, structure: Structure, topics: Any, items: Any, repeats: Any) -> Array:
        """The cost of J units with K items and R repeats."""
        all_items = items if structure.shared == "items" else topics * items
        all_repeats = repeats if structure.shared == "repeats" else topics * items * repeats
        return np.asarray(self.topic * topics + self.item * all_items + self.repeat * all_repeats, float)

    def affordable(self, structure: Structure, budget: float, items: Array, repeats: Array, limit: int) -> Array:
        """The units that a budget pays for."""
        fixed = self.of(structure, 0, items, repeats)
        each = self.of(structure, 1, items, repeats) - fixed
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.floor((budget - fixed) / each * (1 + 1e-12))
        return np.asarray(np.clip(np.nan_to_num(most, nan=0.0, posinf=limit), 0, limit))


def numbers_in_words(structure: Structure, row: Mapping[str, Any]) -> str:
    """J, K and R in words.

    >>> numbers_in_words(STRUCTURES["variations"], {"topics": 40, "items": 3, "repeats": 2})
    '40 topics with 3 variations each and 2 repeats of each variation'
    >>> numbers_in_words(STRUCTURES["seeds"], {"topics": 40, "items": 1, "repeats": 5})
    '40 topics with 5 seeds of each system'
    """
    topics, items, repeats = (int(row[name]) for name in ("topics", "items", "repeats"))
    parts = []
    if items > 1 or structure.shared == "items" or structure.unit == "cluster":
        same = "the same " if structure.item == "prompt" else ""
        each = "" if structure.item == "prompt" else " each"
        parts.append(f"{same}{_plural(items, structure.item)}{each}")
    if structure.shared == "repeats":
        parts.append(f"{_plural(repeats, structure.repeat)} of each system")
    elif repeats > 1:
        of = structure.item if items > 1 or structure.unit == "cluster" else structure.unit
        parts.append(f"{_plural(repeats, structure.repeat)} of each {of}")
    told = f" with {' and '.join(parts)}" if parts else ""
    return f"{_plural(topics, structure.unit)}{told}"


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def design_effect(
    components: Components, structure: Structure, topics: float | None, items: float, repeats: float
) -> float | None:
    """By what the variance is larger than that of as many independent topics: 1 + (K − 1)ρ for nested items.

    >>> nested = Components(between=0.0116, within=0.0062)
    >>> round(design_effect(nested, STRUCTURES["variations"], 40, 5, 1), 3), round(1 + 4 * nested.icc, 3)
    (3.607, 3.607)
    """
    if topics is None:
        return None
    once = components.total - components.repeat_variance * (1 - 1 / repeats)  # one item, with all its repeats
    if structure.shared == "repeats":
        once = (
            components.between + components.within + (components.shared_variance + components.repeat_variance) / repeats
        )
    weights = weights_of(structure, topics, items, repeats)
    variance = float(weights @ [getattr(components, name) for name in NAMES])
    return variance * topics * items / once


def weights_of(structure: Structure, topics: float, items: float, repeats: float) -> Array:
    """By what each component enters the variance of the mean difference."""
    shared = {"items": 1 / items, "repeats": 1 / repeats, "": 0.0}[structure.shared]
    return np.array([1 / topics, 1 / (topics * items), shared, 1 / (topics * items * repeats)])


def replicate_method(replicates: str, test: str, *, sides: int = 2) -> Method:
    """The power of a design with replicates, for the one search for n.

    Without shared replicates the test is that of the means per unit: ``t`` with J − 1 degrees of freedom, or a test of
    all pairs. With them it is ``t``, or Tukey's test of all systems, with the error term of `satterthwaite`.

    >>> found = size(
    ...     replicate_method("variations", "t"),
    ...     difference=0.05, between=0.0116, within=0.0062, shared_variance=0, repeat_variance=0,
    ...     items=np.array([1, 3, 10]), repeats=1, alpha=0.05, power=0.8,
    ... )
    >>> found.topics.tolist()
    [58, 45, 41]
    """
    structure = STRUCTURES[replicates]
    base = difference_method("t", sides=sides) if test == "t" else family_method(test)
    base_title = base.title.replace(", exact", "")
    title = f"{base_title}, means per {structure.unit}"
    if structure.shared:
        title = f"{base_title}, {structure.unit}s and {structure.sampled} as samples"
    return replace(
        base,
        title=title,
        when="Several scores per topic and system.",
        citation="Clark1973" if structure.shared else "Cochran1977",
        inputs=tuple(name for name in base.inputs if name != "sd") + REPLICATE_INPUTS,
        value=partial(_power, replicates=replicates, test=test, sides=sides),
        guess=partial(_guess, replicates=replicates, sides=sides),
    )


def _power(topics: Array, inputs: Inputs, *, replicates: str, test: str, sides: int) -> Array:
    difference, alpha, systems = inputs["difference"], inputs["alpha"], inputs.get("systems")
    if STRUCTURES[replicates].shared:
        variance, df = _sampled(topics, inputs, replicates)
        return sampled_power(variance, df, difference, alpha, systems=None if test == "t" else systems, sides=sides)
    sd = np.sqrt(_of_means(inputs))
    if test == "t":
        return paired_t_power(topics, difference, sd, alpha, sides)
    return family_power(topics, np.asarray(systems), difference, sd, alpha, test)


def _of_means(inputs: Inputs) -> Array:
    """The variance of the paired differences of means per unit, without what units share."""
    between, within, repeat = inputs["between"], inputs["within"], inputs["repeat_variance"]
    return np.asarray(between + within / inputs["items"] + repeat / (inputs["items"] * inputs["repeats"]))


def _sampled(topics: Array, inputs: Inputs, replicates: str) -> tuple[Array, Array]:
    """The variance of the mean difference with shared replicates, and Satterthwaite's degrees of freedom."""
    items, repeats, systems = inputs["items"], inputs["repeats"], inputs.get("systems", np.asarray(2.0))
    if STRUCTURES[replicates].shared == "items":
        levels, by_topic = items, inputs["between"]
        rest = inputs["within"] + inputs["repeat_variance"] / repeats
    else:
        levels, by_topic = repeats, inputs["between"] + inputs["within"] / items
        rest = inputs["repeat_variance"] / items
    return satterthwaite(
        topics,
        levels,
        systems,
        by_topic=by_topic,
        shared=inputs["shared_variance"],
        rest=rest,
        nested=STRUCTURES[replicates].shared == "repeats",
    )


def _guess(inputs: Inputs, *, replicates: str, sides: int) -> Array:
    """J from the normal distribution; infinite where what units share is too much already."""
    z = normal_critical(inputs["alpha"] / sides) + normal_critical(1 - inputs["power"])
    shared = STRUCTURES[replicates].shared
    floor = inputs["shared_variance"] / inputs[shared] if shared else 0.0
    with np.errstate(divide="ignore"):
        found = _of_means(inputs) / (np.square(inputs["difference"] / z) - floor)
    return np.where(found > 0, found, np.inf)


def degrees_of(found: Size, at: int) -> Array:
    """The degrees of freedom of the test of one cell."""
    cell = {name: np.asarray(values.flat[at], float) for name, values in found.inputs.items()}
    topics, settings = np.asarray(float(found.topics.flat[at])), found.method.value.keywords  # type: ignore[attr-defined]
    if STRUCTURES[settings["replicates"]].shared:
        return _sampled(topics, cell, settings["replicates"])[1]
    one_error = settings["test"] in ("tukey", "dunnett")
    return np.asarray((topics - 1) * (cell["systems"] - 1 if one_error else 1))


# --- the best numbers


Range = tuple[int, int] | list[int]
"""Numbers from the first to the last, or those that were given."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """One goal: which J, K and R reach it, or what a budget reaches."""

    method: Method
    structure: Structure
    inputs: Mapping[str, float]
    limit: int
    costs: ReplicateCosts | None
    budget: float | None

    def sized(self, items: Array, repeats: Array, ratio: Array | float = 1.0) -> Size:
        """J of every pair of numbers; ``ratio`` multiplies the components."""
        inputs = {name: np.asarray(value) * (ratio if name in NAMES else 1.0) for name, value in self.inputs.items()}
        if self.budget is None:
            return size(self.method, limit=self.limit, **inputs, items=items, repeats=repeats)
        return self._paid(items, repeats)

    def _paid(self, items: Array, repeats: Array) -> Size:
        """What the budget pays for, as a size whose goal is what it reaches."""
        assert self.costs is not None
        assert self.budget is not None
        topics = self.costs.affordable(self.structure, self.budget, items, repeats, self.limit)
        flat = {name: np.full(len(items), value, float) for name, value in self.inputs.items()}
        flat |= {"items": items.astype(float), "repeats": repeats.astype(float)}
        achieved = self._power(topics, flat)
        return Size(
            method=self.method,
            inputs=flat | {"power": achieved},
            topics=topics.astype(np.int64),
            reached=topics >= self.method.fewest,
            achieved=achieved,
            below=self._power(topics - 1, flat),
            limit=self.limit,
        )

    def _power(self, topics: Array, flat: Mapping[str, Array]) -> Array:
        enough = topics >= self.method.fewest
        value = self.method.value(np.maximum(topics, self.method.fewest).astype(float), flat)
        return np.where(enough, value, np.nan)

    def best(self, items: Range, repeats: Range) -> tuple[int, int] | None:
        """K and R with the lowest cost, or with the largest power for the budget; None where no design reaches it."""
        loss = self._cost if self.budget is None else self._loss
        return _least(loss, items, repeats)

    def _cost(self, low: Array, high: Array) -> Array:
        """The least that a block of numbers, from ``low`` to ``high`` (K and R in rows), can cost.

        J is smallest with most items and repeats, and the rest cheapest with the fewest.
        """
        assert self.costs is not None
        found = self.sized(high[0], high[1])
        cost = self.costs.of(self.structure, found.topics, low[0], low[1])
        return np.where(found.reached, cost, np.inf)

    def _loss(self, low: Array, high: Array) -> Array:
        """The same of 1 − power: the most units go with the fewest items and repeats, the least variance with most."""
        topics = self._paid(low[0], low[1]).topics
        flat = {name: np.full(topics.shape, value, float) for name, value in self.inputs.items()}
        power = self._power(topics, flat | {"items": high[0].astype(float), "repeats": high[1].astype(float)})
        return np.where(np.isnan(power), np.inf, 1 - power)


Loss = Callable[[Array, Array], Array]


def _least(loss: Loss, items: Range, repeats: Range) -> tuple[int, int] | None:
    """The numbers with the smallest loss, of those equal the fewest, by branch and bound.

    ``loss(low, high)`` is at most that of any pair of numbers from ``low`` to ``high``, and that of the pair where both
    are the same.
    """
    low, high = _blocks(items, repeats)
    best, chosen = np.inf, None
    while low.shape[1]:
        for at in _cheapest(loss(high, high), best, high):
            best, chosen = at
        keep = np.flatnonzero((loss(low, high) < best) & (low != high).any(axis=0))
        low, high = _halved(low[:, keep], high[:, keep])
    return chosen


def _cheapest(losses: Array, best: float, numbers: Array) -> Iterator[tuple[float, tuple[int, int]]]:
    """The numbers with the smallest loss, where it is below the best so far."""
    order = np.lexsort((numbers[0], numbers[0] * numbers[1], losses))
    first = int(order[0])
    if losses[first] < best:
        yield float(losses[first]), (int(numbers[0, first]), int(numbers[1, first]))


def _blocks(items: Range, repeats: Range) -> tuple[Array, Array]:
    """Blocks of numbers to begin with: single ones of lists, the whole of ranges."""
    ends = [
        [(each, each) for each in numbers] if isinstance(numbers, list) else [numbers] for numbers in (items, repeats)
    ]
    pairs = list(product(*ends))
    return tuple(np.array([[k[end] for k, _ in pairs], [r[end] for _, r in pairs]]) for end in (0, 1))  # type: ignore[return-value]


def _halved(low: Array, high: Array) -> tuple[Array, Array]:
    """Every block in two, along its longer side."""
    longer = np.argmax(high - low, axis=0)
    column = np.arange(low.shape[1])
    middle = (low[longer, column] + high[longer, column]) // 2
    first_high, second_low = high.copy(), low.copy()
    first_high[longer, column], second_low[longer, column] = middle, middle + 1
    return np.concatenate([low, second_low], axis=1), np.concatenate([first_high, high], axis=1)
