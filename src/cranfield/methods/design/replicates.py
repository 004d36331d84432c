"""Designs with several scores per topic: topics × query variations × seeds, topics × prompts, clusters × topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from scipy import special

from cranfield.errors import Caution, InputError, NoEffectError, RequestError
from cranfield.methods.design.cheapest import Range, least
from cranfield.methods.design.formulas import METHODS, Design
from cranfield.methods.design.goals import Goal
from cranfield.methods.design.request import Request
from cranfield.methods.design.solver import Size, achieved, size
from cranfield.methods.design.spreads import STRUCTURES, Replicated, Structure
from cranfield.methods.variance.replicate_components import NAMES, ComponentEstimate, Components
from cranfield.scores import ScoreTable
from cranfield.stats.family import ALL_PAIRS_TEST, FAMILIES
from cranfield.types import Array

MOST_ITEMS = 1000
"""The largest number of items and of repeats that a search for the cheapest design considers."""
LEAST_DF = 4
"""Degrees of freedom of shared replicates below which power and error rate are not what the formula says."""
FEW_DF = 10
"""Degrees of freedom of the error term below which there is a warning."""
MOST_DESIGNS = 5_000
_TABLE = (1, 2, 3, 5, 10)


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


@dataclass(frozen=True, eq=False, kw_only=True)
class ReplicateSize:
    """Units for every number of items and repeats, one cell each of ``size``.

    Parameters
    ----------
    size
        J for every cell, with the components, K and R among its inputs; with a ``budget``, the J that it pays for.
    replicates
        The name of the structure, one of `STRUCTURES`.
    components
        The variances of the paired difference.
    best
        The cell with the lowest cost, or with the largest power for the budget; None where nothing costs.
    lower, upper
        Units of every cell at the ends of the interval of its variance, where the components are estimated.
    measure
        What the components were estimated from; empty where they are given.
    """

    size: Size
    replicates: str
    components: Components
    costs: ReplicateCosts | None = None
    budget: float | None = None
    best: int | None = None
    lower: Size | None = None
    upper: Size | None = None
    measure: str = ""

    @property
    def structure(self) -> Structure:
        return STRUCTURES[self.replicates]

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one row per cell: the inputs, J, the power, df, design effect, and the cost."""
        head = {"measure": self.measure} if self.measure else {}
        rows = []
        for cell, row in enumerate(self.size.to_dict()):
            row |= {"items": int(row["items"]), "repeats": int(row["repeats"])}
            rows.append({**head, "replicates": self.replicates, **row, **self._more(cell, row)})
        return rows

    def _more(self, cell: int, row: Mapping[str, Any]) -> dict[str, Any]:
        topics, items, repeats = row["topics"], row["items"], row["repeats"]
        more: dict[str, Any] = {"scores": None, "df": None, "icc": self.components.icc, "design_effect": None}
        if topics is not None:
            spread = _spread(self.replicates, self.components, items, repeats)
            error = spread.error(np.asarray(float(topics)), np.asarray(row.get("systems", 2.0)), row["test"])
            effect = design_effect(self.components, self.structure, topics, items, repeats)
            more |= {"scores": topics * items * repeats, "df": float(error[1]), "design_effect": effect}
        if self.costs is not None:
            cost = None if topics is None else float(self.costs.of(self.structure, topics, items, repeats))
            more |= {"cost": cost, "best": cell == self.best}
        if self.lower is not None and self.upper is not None:
            for word, end in (("lower", self.lower), ("upper", self.upper)):
                more[f"topics_{word}"] = int(end.topics[cell]) if end.reached[cell] else None
        return more

    def summary(self) -> str:
        """Return one sentence about the best cell, or about the first: J, K and R, the goal, the test and the cost."""
        row = self.to_dict()[self.best or 0]
        name = f"{self.measure}: " if self.measure else ""
        return name + (self._out_of_reach(row) if row["topics"] is None else self._reached(row))

    def _reached(self, row: Mapping[str, Any]) -> str:
        structure = self.structure
        how = f"{self.size.method.title}, df {row['df']:.3g}; the claim covers {structure.covers}"
        cost = "" if row.get("cost") is None else f", at a cost of {row['cost']:,.10g}"
        goal = self.size.claim(row)
        if self.budget is not None:
            goal = goal.replace(f"with power {row['power']:g}", f"with power {row['achieved_power']:.3f}")
            cost += f" within the budget of {self.budget:,.10g}"
        ends = ""
        if "topics_lower" in row:
            counts = (row[f"topics_{word}"] for word in ("lower", "upper"))
            low, high = ("no number" if count is None else f"{count:,}" for count in counts)
            ends = f" Between {low} and {high} {structure.unit}s, reflecting the uncertainty of the components."
        return f"{numbers_in_words(structure, row)} {goal}{cost} ({how}).{ends}"

    def _out_of_reach(self, row: Mapping[str, Any]) -> str:
        structure = self.structure
        if self.budget is not None:
            return f"A budget of {self.budget:,.10g} does not pay for two {structure.unit}s."
        more = f"Have more {structure.sampled}, or ask for less." if structure.shared else "Ask for less."
        numbers = numbers_in_words(structure, {**row, "topics": self.size.limit})
        return (
            f"No number of {structure.unit}s up to {self.size.limit:,} is enough: {numbers} give a power of "
            f"{row['achieved_power']:.4g}. {more}"
        )


def _spread(replicates: str, components: Components, items: Any, repeats: Any) -> Replicated:
    return Replicated(structure=replicates, **components.to_dict(), items=items, repeats=repeats)


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
        is_prompt = structure.item == "prompt"
        parts.append(f"{'the same ' * is_prompt}{_plural(items, structure.item)}{' each' * (not is_prompt)}")
    if structure.shared == "repeats":
        parts.append(f"{_plural(repeats, structure.repeat)} of each system")
    elif repeats > 1:
        of = structure.item if items > 1 or structure.unit == "cluster" else structure.unit
        parts.append(f"{_plural(repeats, structure.repeat)} of each {of}")
    told = f" with {' and '.join(parts)}" if parts else ""
    return f"{_plural(topics, structure.unit)}{told}"


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def design_effect(components: Components, structure: Structure, topics: float, items: float, repeats: float) -> float:
    """By what the variance is larger than that of as many independent topics: 1 + (K − 1)ρ for nested items.

    >>> nested = Components(between=0.0116, within=0.0062)
    >>> round(design_effect(nested, STRUCTURES["variations"], 40, 5, 1), 3), round(1 + 4 * nested.icc, 3)
    (3.607, 3.607)
    """
    once = components.total - components.repeat_variance * (1 - 1 / repeats)  # one item, with all its repeats
    if structure.shared == "repeats":
        once -= components.shared_variance * (1 - 1 / repeats)
    variance = float(weights_of(structure, topics, items, repeats) @ [getattr(components, name) for name in NAMES])
    return variance * topics * items / once


def weights_of(structure: Structure, topics: float, items: float, repeats: float) -> Array:
    """By what each component enters the variance of the mean difference."""
    shared = {"items": 1 / items, "repeats": 1 / repeats, "": 0.0}[structure.shared]
    return np.array([1 / topics, 1 / (topics * items), shared, 1 / (topics * items * repeats)])


# --- the request


@dataclass(frozen=True, kw_only=True)
class ReplicateRequest:
    """A request for designs with replicates: their structure, components, numbers and costs.

    None is what was not given. ``sd`` with ``icc`` takes the place of ``between`` and ``within``.
    """

    replicates: str | None = None
    items: Sequence[int] | None = None
    repeats: Sequence[int] | None = None
    between: float | None = None
    within: float | None = None
    shared_variance: float | None = None
    repeat_variance: float | None = None
    icc: float | None = None
    topic_cost: float | None = None
    item_cost: float | None = None
    repeat_cost: float | None = None
    budget: float | None = None

    def __post_init__(self) -> None:
        if self.budget is not None and self.costs is None:
            raise RequestError(
                "a budget needs costs", fix="Add `topic_cost`, `item_cost` or `repeat_cost`, whatever is paid for."
            )
        if self.costs is not None and not any(vars(self.costs).values()):
            raise RequestError("something has to cost something", fix="Give `topic_cost`, for instance, above 0.")

    @property
    def costs(self) -> ReplicateCosts | None:
        prices = (self.topic_cost, self.item_cost, self.repeat_cost)
        if all(price is None for price in prices):
            return None
        return ReplicateCosts(**dict(zip(("topic", "item", "repeat"), (price or 0.0 for price in prices), strict=True)))

    @property
    def kind(self) -> str:
        """The structure without a pilot: prompts where a shared variance is given, else variations."""
        return self.replicates or ("variations" if self.shared_variance is None else "prompts")

    def given_components(self, sd: Sequence[float] | None) -> Components:
        """The components that were given, or those of ``sd`` and the intra-class correlation."""
        kind, has_shared = self.kind, bool(STRUCTURES[self.kind].shared)
        if self.shared_variance is not None and not has_shared:
            raise NoEffectError(
                f"`shared_variance` has no effect on {kind}",
                parameter="shared_variance",
                fix='All topics share `replicates="prompts"` and `"seeds"`; leave it out for others.',
            )
        if self.shared_variance is None and has_shared:
            raise RequestError(
                f"`shared_variance`, the variance of {kind} that all topics share, is missing",
                fix="Add it, or give pilot scores to estimate it from.",
            )
        between, within = self._two_levels(sd) if self.icc is None else self._by_icc(self.icc, sd)
        return _checked(
            Components(
                between=between,
                within=within,
                shared_variance=self.shared_variance or 0.0,
                repeat_variance=self.repeat_variance or 0.0,
            )
        )

    def _two_levels(self, sd: Sequence[float] | None) -> tuple[float, float]:
        if sd is not None:
            raise RequestError("`sd` goes with `icc` here", fix="Add `icc`, or give `between` and `within`.")
        if self.between is None or (self.within is None and self.kind != "seeds"):
            raise RequestError(
                "the components of the variance are missing",
                fix="Give `between` and `within`, or `sd` and `icc`, or pilot scores with replicates.",
            )
        return self.between, self.within or 0.0

    def _by_icc(self, icc: float, sd: Sequence[float] | None) -> tuple[float, float]:
        if self.between is not None or self.within is not None:
            raise RequestError("`icc` takes the place of `between` and `within`", fix="Give one or the other.")
        if sd is None or len(sd) != 1:
            raise RequestError(
                "`icc` goes with one `sd`", fix="Add `sd`, that of one paired difference of two systems."
            )
        total = sd[0] ** 2
        within = (1 - icc) * total - (self.repeat_variance or 0.0) - (self.shared_variance or 0.0)
        if within < 0:
            raise RequestError(
                "the other components are larger than what `icc` leaves of the variance",
                fix=f"What is left is {(1 - icc) * total:g}: (1 − ICC)·sd².",
            )
        return icc * total, within

    def check_pilot(self, sd: Sequence[float] | None) -> None:
        """Refuse components beside those of a pilot; only the variance of repeats may be known in addition."""
        for name in ("between", "within", "shared_variance", "icc", "sd"):
            if (sd if name == "sd" else getattr(self, name)) is not None:
                raise RequestError(f"`{name}` comes from the scores", fix="Leave it out, or the scores.")

    def from_pilot(self, estimate: ComponentEstimate) -> ComponentEstimate:
        """The components of a pilot for the structure, with the variance of repeats taken out of that of items."""
        components = estimate.components
        if self.kind == "fixed-prompts":  # their own effects are no error if no other prompts matter
            components = replace(components, shared_variance=0.0)
            estimate = replace(estimate, shared=0, left_out_units=estimate.left_out_units * [1.0, 1.0, 0.0, 1.0])
        if self.repeat_variance is not None:
            if self.kind == "seeds":
                raise RequestError("`repeat_variance` comes from the scores", fix="Leave it out, or the scores.")
            known = min(self.repeat_variance, components.within)
            components = replace(components, within=components.within - known, repeat_variance=known)
            estimate = replace(estimate, **_moved(estimate, known))
        return replace(estimate, components=_checked(components))


def _moved(estimate: ComponentEstimate, known: float) -> dict[str, Any]:
    """Left-out components with ``known`` as the variance of repeats, and so much less within."""
    moved = {}
    for name in ("left_out_units", "left_out_shared"):
        rows = getattr(estimate, name).copy()
        rows[:, 1], rows[:, 3] = np.maximum(rows[:, 1] - known, 0.0), known
        moved[name] = rows
    return moved


def _checked(components: Components) -> Components:
    for name, value in components.to_dict().items():
        if not (value >= 0 and np.isfinite(value)):
            raise RequestError(f"`{name}` cannot be {value:g}", fix="A variance is 0 or more.")
    if not components.total > 0:
        raise RequestError("nothing varies, so no number of topics can be computed", fix="Give a variance above 0.")
    return components


def pilot_structure(replicates: str | None, table: ScoreTable) -> str:
    """The structure of the replicates of a pilot: the one named, or that of its column."""
    if replicates in (None, "clusters") and table.clusters and not table.shards:
        return "clusters"
    if replicates == "clusters":
        raise RequestError(
            "the scores have no clusters of topics"
            if not table.shards
            else "clusters of topics have no replicates here",
            fix="Name their column by cluster= in `columns`, without seed=, prompt= and shard=; or give `between` and "
            "`within` in place of scores.",
        )
    if not table.shards:
        raise RequestError(
            "the scores have one score per topic and system, and no replicates",
            fix="Name their column by its role (seed=, prompt= or shard=) in `columns`, or give `between` and `within` "
            "in place of scores.",
        )
    named = replicates or {"nested": "seeds", "crossed": "prompts"}.get(table.replicates)
    if named is None:
        raise RequestError(
            "the type of the replicates of the scores is unknown",
            fix='Name it: `replicates="variations"`, "prompts", "fixed-prompts" or "seeds".',
        )
    if (table.replicates == "nested") != (named == "seeds") and table.replicates:
        raise RequestError(
            f"the scores have {'seeds' if table.replicates == 'nested' else 'prompts or judges'}, not {named}",
            fix="Leave out `replicates`, or name the column by shard= in `columns`.",
        )
    if named == "variations":
        _check_variations(table)
    return named


def _check_variations(table: ScoreTable) -> None:
    """Refuse a variation that only some systems have a score of; topics may have different numbers of variations."""
    there = np.isfinite(table.values)
    partly = np.argwhere(there.any(axis=2) & ~there.all(axis=2))
    if len(partly):
        measure, topic, variation = partly[0].tolist()
        raise InputError(
            f"{len(partly):,} variations have scores of some systems only; the first: {table.measures[measure]}, topic "
            f"«{table.topics[topic]}», variation {table.shards[variation]}",
            fix="Give a score of every system for each variation, or leave the variation out.",
        )


def check_replicates(request: Request) -> None:
    """Refuse what a plan with replicates has no place for."""
    for goal in request.goals:
        if goal != "difference":
            raise RequestError(
                f"a design with replicates has no `{goal}`",
                fix="Ask for a `difference`; or average over replicates first, mean=COLUMN in `columns`.",
            )
    for name in ("variance", "correlation", "assurance", "method", "estimate", "unpaired"):
        if name in request.given:
            what = f"`{name}` has no effect on a design with replicates"
            raise NoEffectError(what, parameter=name, fix="Leave it out.")


def planned_test(request: Request, replicates: str, systems: int) -> str:
    """The test of a design: the one named, or else the one that `compare` runs on such scores.

    That is t for two systems; for more, t with Holm's correction, and Tukey's with shared replicates.
    """
    shared = STRUCTURES[replicates].shared
    of_all_pairs = "tukey" if shared else ALL_PAIRS_TEST
    test = request.test or ("t" if systems == 2 or request.sides == 1 else of_all_pairs)
    if test not in ("t", *FAMILIES):
        raise RequestError(f"there is no test «{test}» for replicates", fix="Choose max-t, tukey, holm, dunnett or t.")
    if shared and test not in ("t", "tukey"):
        raise NoEffectError(
            f"`test` {test} does not generalise to other {shared}",
            parameter="test",
            fix='With prompts or seeds as a sample the test is "tukey", or "t" for a pair named in advance.',
        )
    if replicates == "clusters" and test not in ("t", ALL_PAIRS_TEST):
        raise NoEffectError(
            f"`test` {test} has no form for topics in clusters",
            parameter="test",
            fix='With clusters the test is "holm", or "t" for a pair named in advance.',
        )
    if test != "t" and request.sides == 1:
        raise RequestError("one-sided tests are for a pair named in advance", fix='Add `test="t"`.')
    return test


# --- the plan


def plan_replicates(
    request: Request,
    replicates: ReplicateRequest,
    estimate: Components | ComponentEstimate,
    *,
    systems: int = 2,
    measure: str = "",
) -> list[ReplicateSize]:
    """Designs with replicates for every difference, α, power and number of systems of a request.

    Parameters
    ----------
    estimate
        The components; estimated ones give a range for the number of units too.
    systems
        The number of systems of a pilot, which those of the request take the place of.
    """
    names = ("difference", "alpha", "power")
    cells = list(product(request.systems or (systems,), *(request.values(name) for name in names)))
    count = len(cells) * len(replicates.items or _TABLE) * len(replicates.repeats or _TABLE)
    if count > MOST_DESIGNS:
        raise RequestError(f"the grid has {count:,} cells", fix=f"Ask for at most {MOST_DESIGNS:,} designs at a time.")
    return [
        _Task.of(request, replicates, estimate, dict(zip(("systems", *names), cell, strict=True))).plan(measure)
        for cell in cells
    ]


@dataclass(frozen=True, eq=False, kw_only=True)
class _Task:
    """One goal: which J, K and R reach it, or what a budget reaches."""

    request: Request
    replicates: ReplicateRequest
    estimate: Components | ComponentEstimate
    test: str
    cell: Mapping[str, float]

    @classmethod
    def of(
        cls,
        request: Request,
        replicates: ReplicateRequest,
        estimate: Components | ComponentEstimate,
        cell: Mapping[str, float],
    ) -> _Task:
        test = planned_test(request, replicates.kind, int(cell["systems"]))
        return cls(request=request, replicates=replicates, estimate=estimate, test=test, cell=cell)

    @property
    def structure(self) -> Structure:
        return STRUCTURES[self.replicates.kind]

    @property
    def components(self) -> Components:
        return self.estimate if isinstance(self.estimate, Components) else self.estimate.components

    @property
    def goal(self) -> Goal:
        return Goal("difference", self.cell["difference"], self.cell["power"])

    def plan(self, measure: str) -> ReplicateSize:
        """The table of designs with the best of them."""
        items, repeats = self._numbers()
        costs, budget = self.replicates.costs, self.replicates.budget
        best = None if costs is None else least(self._cost if budget is None else self._loss, [items, repeats])
        table = sorted({*product(_shown(items), _shown(repeats)), *([best] if best else [])})
        numbers = np.array(table).T
        sizes = self._sized(numbers)
        ends = (None, None) if isinstance(self.estimate, Components) or budget else self._ends(sizes, self.estimate)
        return ReplicateSize(
            size=sizes,
            replicates=self.replicates.kind,
            components=self.components,
            costs=costs,
            budget=budget,
            best=None if best is None else table.index(best),
            lower=ends[0],
            upper=ends[1],
            measure=measure,
        )

    def _design(self, numbers: Array, topics: Any = 2, ratio: Array | float = 1.0) -> Design:
        """Designs with K and R in rows; ``ratio`` multiplies the components."""
        spread = _spread(self.replicates.kind, self.components, *numbers)
        spread = replace(spread, **{name: getattr(spread, name) * ratio for name in NAMES})
        systems, sides = (2, self.request.sides) if self.test == "t" else (self.cell["systems"], 2)
        return Design(
            topics=topics, systems=systems, test=self.test, alpha=self.cell["alpha"], sides=sides, spread=spread
        )

    def _sized(self, numbers: Array, ratio: Array | float = 1.0) -> Size:
        """J of every pair of numbers, or what the budget pays for: then the goal is the power that it reaches."""
        design, limit = self._design(numbers, ratio=ratio), self.request.limit
        inputs = self._inputs(numbers, ratio)
        if self.replicates.budget is None:
            return replace(size(design, self.goal, limit=limit, inputs=inputs), method=self._method)
        topics = self._affordable(numbers)
        power = self._power(numbers, topics)
        return Size(
            design=design,
            goal=self.goal,
            method=self._method,
            inputs=inputs | {"power": power},
            topics=topics.astype(np.int64),
            reached=topics >= 2,
            achieved=power,
            below=self._power(numbers, topics - 1),
            limit=limit,
        )

    @property
    def _method(self) -> Any:
        """The method of the test, with what its errors are."""
        structure, base = self.structure, METHODS["difference"][self.test]
        title = base.title.replace(", exact", "") + (", one-sided" if self.request.sides == 1 else "")
        how = (
            f"{structure.unit}s and {structure.sampled} as samples"
            if structure.shared
            else f"means per {structure.unit}"
        )
        return replace(
            base,
            title=f"{title}, {how}",
            when="Several scores per topic and system.",
            citation="Clark1973" if structure.shared else "Cochran1977",
        )

    def _inputs(self, numbers: Array, ratio: Array | float) -> dict[str, Array]:
        known: dict[str, Any] = {
            name: value for name, value in self.cell.items() if name != "systems" or self.test != "t"
        }
        known |= {name: np.asarray(value) * ratio for name, value in self.components.to_dict().items()}
        known |= {"items": numbers[0], "repeats": numbers[1]}
        return {name: np.broadcast_to(np.asarray(value, float), numbers.shape[1:]) for name, value in known.items()}

    def _affordable(self, numbers: Array) -> Array:
        costs, budget = self.replicates.costs, self.replicates.budget
        assert costs is not None
        assert budget is not None
        items, repeats = numbers
        return costs.affordable(self.structure, budget, items, repeats, self.request.limit)

    def _power(self, numbers: Array, topics: Array) -> Array:
        power = achieved(self._design(numbers, np.maximum(topics, 2)), self.goal)
        return np.where(topics >= 2, power, np.nan)

    def _cost(self, low: Array, high: Array) -> Array:
        """The least that a block of numbers, from ``low`` to ``high`` (K and R in rows), can cost.

        J is smallest with most items and repeats, and the rest cheapest with the fewest.
        """
        assert self.replicates.costs is not None
        fewest = size(self._design(high), self.goal, limit=self.request.limit)
        cost = self.replicates.costs.of(self.structure, fewest.topics, *low)
        return np.where(fewest.reached, cost, np.inf)

    def _loss(self, low: Array, high: Array) -> Array:
        """The same of 1 − power: the most units go with the fewest items and repeats, the least variance with most."""
        return np.asarray(np.nan_to_num(1 - self._power(high, self._affordable(low)), nan=np.inf))

    def _ends(self, sizes: Size, estimate: ComponentEstimate, confidence: float = 0.95) -> tuple[Size, Size]:
        """Units at the ends of the interval of the variance of each cell: χ² with effective degrees of freedom."""
        numbers = np.array([sizes.inputs[name].astype(int) for name in ("items", "repeats")])
        cells = zip(sizes.topics.tolist(), *numbers.tolist(), strict=True)
        df = np.array([estimate.effective_df(weights_of(self.structure, *cell)) for cell in cells])
        lower, upper = (df / special.chdtri(df, level) for level in ((1 - confidence) / 2, (1 + confidence) / 2))
        return self._sized(numbers, lower), self._sized(numbers, upper)

    def _numbers(self) -> tuple[Range, Range]:
        """Which numbers of items and of repeats to consider."""
        shared = self.structure.shared
        columns = int(self.cell["systems"]) if self.test != "t" else 2
        df = columns if shared == "repeats" else columns - 1  # of one level of what is shared
        ranges: list[Range] = []
        for name, variance in (("items", self.components.within), ("repeats", self.components.repeat_variance)):
            named, matters = getattr(self.replicates, name), variance > 0 or shared == name
            fewest = 1 + -(-LEAST_DF // df) if shared == name else 1
            if named is not None:
                word = self.structure.item if name == "items" else self.structure.repeat
                _check_numbers(name, word, named, fewest, matters=matters)
                ranges.append([int(each) for each in dict.fromkeys(named)])
            else:
                ranges.append((fewest, MOST_ITEMS if matters else fewest))
        return ranges[0], ranges[1]


def _check_numbers(name: str, word: str, numbers: Sequence[int], fewest: int, *, matters: bool) -> None:
    if max(numbers) > 1 and not matters:
        source = "`within`" if name == "items" else "`repeat_variance`"
        raise RequestError(f"more {word}s have no effect on the variance", fix=f"Give {source}, or leave out `{name}`.")
    if min(numbers) < fewest:
        fix = f"Have {fewest} or more."
        if name == "items" and fewest > 1:
            fix = f'Have {fewest} or more, or plan for these prompts only: `replicates="fixed-prompts"`.'
        too_few = f"{min(numbers)} {word}s are too few to speak of others"
        raise RequestError(too_few if fewest > 1 else f"`{name}` cannot be {min(numbers)}", fix=fix)
    if max(numbers) > 1_000_000:
        raise RequestError(f"`{name}` cannot be {max(numbers):,}", fix="Have 1,000,000 or fewer.")


def _shown(numbers: Range) -> list[int]:
    """The numbers to show: those given, or usual ones."""
    if isinstance(numbers, list):
        return numbers
    first, last = numbers
    return [first] if first == last else sorted({first, *(each for each in _TABLE if each > first)})


def replicate_cautions(plans: Sequence[ReplicateSize]) -> tuple[Caution, ...]:
    """The warning about designs whose shared replicates leave few degrees of freedom."""
    few = [
        (row["df"], plan)
        for plan in plans
        if plan.structure.shared
        for cell, row in enumerate(plan.to_dict())
        if row["df"] is not None and plan.best in (None, cell) and row["df"] < FEW_DF
    ]
    if not few:
        return ()
    df, plan = min(few, key=lambda each: float(each[0]))
    return (
        Caution(
            "few-shared-replicates",
            f"the error term of a design has {df:.2g} degrees of freedom only: with few shared replicates a test errs "
            "up to .06 where α is .05, and its power may differ from the formula by .02",
            f"Have more {plan.replicates}, or check the design with `verify()`.",
        ),
    )
