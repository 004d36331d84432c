"""Designs with several scores per topic: topics × query variations × seeds, topics × prompts, clusters × topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from scipy import special

from cranfield.errors import Caution, InputError, NoEffectError, RequestError
from cranfield.methods.design.allocation import Allocation
from cranfield.methods.design.cheapest import Costs, Range, cheapest
from cranfield.methods.design.formulas import METHODS, Design, Method
from cranfield.methods.design.goals import Goal
from cranfield.methods.design.request import Request
from cranfield.methods.design.solver import achieved, size
from cranfield.methods.design.spreads import STRUCTURES, Replicated, Structure
from cranfield.methods.variance.replicate_components import NAMES, ComponentEstimate, Components
from cranfield.scores import ScoreTable
from cranfield.stats.family import ALL_PAIRS_TEST
from cranfield.types import Array

MOST_ITEMS = 1000
"""The largest number of items and of repeats that a search for the cheapest design considers."""
LEAST_DF = 4
"""Degrees of freedom of shared replicates below which power and error rate are not what the formula says."""
FEW_DF = 10
"""Degrees of freedom of the error term below which there is a warning."""
MOST_DESIGNS = 5_000
_TABLE = (1, 2, 3, 5, 10)


# --- the components


def given_structure(replicates: str | None, shared_variance: float | None) -> str:
    """The structure without a pilot: prompts where a shared variance is given, else variations."""
    return replicates or ("variations" if shared_variance is None else "prompts")


def given_components(
    structure: str,
    *,
    between: float | None = None,
    within: float | None = None,
    shared_variance: float | None = None,
    repeat_variance: float | None = None,
    icc: float | None = None,
    sd: Sequence[float] | None = None,
) -> Components:
    """The components that were given, or those of ``sd`` and the intra-class correlation."""
    has_shared = bool(STRUCTURES[structure].shared)
    if shared_variance is not None and not has_shared:
        raise NoEffectError(
            f"`shared_variance` has no effect on {structure}",
            parameter="shared_variance",
            fix='All topics share `replicates="prompts"` and `"seeds"`; leave it out for others.',
        )
    if shared_variance is None and has_shared:
        raise RequestError(
            f"`shared_variance`, the variance of {structure} that all topics share, is missing",
            fix="Add it, or give pilot scores to estimate it from.",
        )
    rest: dict[str, Any] = {"shared_variance": shared_variance or 0.0, "repeat_variance": repeat_variance or 0.0}
    if icc is not None:
        return _checked(Components(**_two_levels(icc, sd or (), sum(rest.values())), **rest))
    if between is None or (within is None and structure != "seeds"):
        raise RequestError(
            "the components of the variance are missing",
            fix="Give `between` and `within`, or `sd` and `icc`, or pilot scores with replicates.",
        )
    return _checked(Components(between=between, within=within or 0.0, **rest))


def _two_levels(icc: float, sd: Sequence[float], rest: float) -> dict[str, float]:
    """The variance between units, and what of that within them the other components leave."""
    if len(sd) != 1:
        raise RequestError("`icc` goes with one `sd`", fix="Add `sd`, that of one paired difference of two systems.")
    total = sd[0] ** 2
    within = (1 - icc) * total - rest
    if within < 0:
        raise RequestError(
            "the other components are larger than what `icc` leaves of the variance",
            fix=f"What is left is {(1 - icc) * total:g}: (1 − ICC)·sd².",
        )
    return {"between": icc * total, "within": within}


def pilot_components(
    estimate: ComponentEstimate, structure: str, repeat_variance: float | None = None
) -> ComponentEstimate:
    """The components of a pilot for a structure, with the variance of repeats taken out of that of items."""
    components = estimate.components
    if structure == "fixed-prompts":  # their own effects are no error if no other prompts matter
        components = replace(components, shared_variance=0.0)
        estimate = replace(estimate, shared=0, left_out_units=estimate.left_out_units * [1.0, 1.0, 0.0, 1.0])
    if repeat_variance is not None:
        if structure == "seeds":
            raise RequestError("`repeat_variance` comes from the scores", fix="Leave it out, or the scores.")
        known = min(repeat_variance, components.within)
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


# --- the plan


def check_replicates(request: Request, others: Mapping[str, Any]) -> None:
    """Refuse what a plan with replicates has no place for: other goals, and all that is given of ``others``."""
    for goal in request.goals:
        if goal != "difference":
            raise RequestError(
                f"a design with replicates has no `{goal}`",
                fix="Ask for a `difference`; or average over replicates first, mean=COLUMN in `columns`.",
            )
    given = {*request.given, *(name for name, value in others.items() if value is not None)}
    for name in ("variance", "correlation", "assurance", "method", "estimate", "unpaired", *others):
        if name in given:
            what = f"`{name}` has no effect on a design with replicates"
            raise NoEffectError(what, parameter=name, fix="Leave it out.")


def planned_test(request: Request, structure: str, systems: int) -> str:
    """The test of a design: the one named, or else the one that `compare` runs on such scores.

    That is t for two systems; for more, t with Holm's correction, and Tukey's with shared replicates.
    """
    spread = Replicated(structure=structure)
    of_all_pairs = "tukey" if spread.kind.shared else ALL_PAIRS_TEST
    test = request.test or ("t" if systems == 2 or request.sides == 1 else of_all_pairs)
    spread.check_test(test)
    return test


def plan_replicates(
    request: Request,
    structure: str,
    estimate: Components | ComponentEstimate,
    *,
    items: Sequence[int] | None = None,
    repeats: Sequence[int] | None = None,
    costs: Costs | None = None,
    budget: float | None = None,
    systems: int = 2,
    measure: str = "",
) -> list[Allocation]:
    """Designs with several scores per topic for every difference, α, power and number of systems of a request.

    Parameters
    ----------
    structure
        What the scores of a topic are, one of `STRUCTURES`.
    estimate
        The components; estimated ones give a range for the number of units too.
    items, repeats
        Numbers of items and repeats to consider; by default all, of which usual ones are shown.
    costs, budget
        What the cheapest design is found by, or that with the largest power for the budget.
    systems
        The number of systems of a pilot, which those of the request take the place of.

    Examples
    --------
    >>> request, nested = Request(difference=[0.05]), Components(between=0.0116, within=0.0062)
    >>> (plan,) = plan_replicates(request, "variations", nested, items=[1, 3], costs=Costs(topic=10, item=1))
    >>> [(row["items"], row["topics"], row["cost"], row["best"]) for row in plan.to_dict()]
    [(1, 58, 638.0, False), (3, 45, 585.0, True)]
    """
    names = ("difference", "alpha", "power")
    cells = list(product(request.systems or (systems,), *(request.values(name) for name in names)))
    count = len(cells) * len(items or _TABLE) * len(repeats or _TABLE)
    if count > MOST_DESIGNS:
        raise RequestError(f"the grid has {count:,} cells", fix=f"Ask for at most {MOST_DESIGNS:,} designs at a time.")
    known = {"estimate": estimate, "counts": {"items": items, "repeats": repeats}, "costs": costs, "budget": budget}
    named = (dict(zip(("systems", *names), cell, strict=True)) for cell in cells)
    plans = [_Plan.of(request, structure, cell, **known).allocation() for cell in named]
    return [replace(each, measure=measure) for each in plans]


@dataclass(frozen=True, eq=False, kw_only=True)
class _Plan:
    """One goal: which numbers of units, items and repeats reach it, or what a budget reaches."""

    design: Design  # with one item and one repeat
    goal: Goal
    estimate: Components | ComponentEstimate
    counts: Mapping[str, Sequence[int] | None]
    costs: Costs | None
    budget: float | None
    limit: int

    @classmethod
    def of(cls, request: Request, structure: str, cell: Mapping[str, float], **known: Any) -> _Plan:
        test, estimate = planned_test(request, structure, int(cell["systems"])), known["estimate"]
        components = estimate if isinstance(estimate, Components) else estimate.components
        systems = 2 if test == "t" else cell["systems"]
        spread = Replicated(structure=structure, **components.to_dict())
        design = Design(systems=systems, test=test, alpha=cell["alpha"], sides=request.sides, spread=spread)
        return cls(
            design=design, goal=Goal("difference", cell["difference"], cell["power"]), limit=request.limit, **known
        )

    @property
    def spread(self) -> Replicated:
        assert isinstance(self.design.spread, Replicated)
        return self.design.spread

    @property
    def structure(self) -> Structure:
        return self.spread.kind

    def allocation(self) -> Allocation:
        """The table of designs with the best of them."""
        ranges = {name: self._range(name) for name in ("items", "repeats")}
        best = self._best(ranges)
        table = sorted({*product(*map(_shown, ranges.values())), *([best] if best else [])})
        design = self.design.with_numbers(**dict(zip(ranges, np.array(table).T, strict=True)))
        found = replace(self._sized(design), best=None if best is None else table.index(best))
        if isinstance(self.estimate, Components) or self.budget is not None:
            return found
        lower, upper = self._ends(design, found.size.topics, self.estimate)
        return replace(found, lower=lower, upper=upper)

    def _best(self, ranges: Mapping[str, Range]) -> tuple[int, ...] | None:
        """The numbers of items and repeats of the best design; None without costs."""
        if self.costs is None:
            return None
        found = cheapest(self.design, self.goal, self.costs, ranges, budget=self.budget, limit=self.limit)
        return None if found is None else tuple(found[name] for name in ranges)

    def _sized(self, design: Design) -> Allocation:
        """The units of every design, or those that the budget pays for: the goal is then the power that they have."""
        found = replace(size(design, self.goal, limit=self.limit), method=self._method)
        if self.costs is None:
            return Allocation(size=found, spread=design.spread)
        if self.budget is not None:
            topics = self.costs.affordable(design, "topics", self.budget, self.limit)
            power, below = (self._power(design, count) for count in (topics, topics - 1))
            counts: dict[str, Any] = {"topics": topics.astype(np.int64), "reached": topics >= 2}
            found = replace(found, **counts, achieved=power, below=below, inputs={**found.inputs, "power": power})
        return Allocation(size=found, spread=design.spread, costs=self.costs, budget=self.budget)

    def _power(self, design: Design, topics: Array) -> Array:
        power = achieved(design.with_numbers(topics=np.maximum(topics, 2)), self.goal)
        return np.where(topics >= 2, power, np.nan)

    @property
    def _method(self) -> Method:
        """The method of the test, with what its errors are."""
        structure, base = self.structure, METHODS["difference"][self.design.test]
        title = base.title.replace(", exact", "") + (", one-sided" if self.design.sides == 1 else "")
        samples = f"{structure.unit}s and {structure.sampled} as samples"
        return replace(
            base,
            title=f"{title}, {samples if structure.shared else f'means per {structure.unit}'}",
            when="Several scores per topic and system.",
            citation="Clark1973" if structure.shared else "Cochran1977",
        )

    def _ends(
        self, design: Design, topics: Array, estimate: ComponentEstimate, confidence: float = 0.95
    ) -> list[Allocation]:
        """Units at the ends of the interval of the variance of each design: χ² with effective degrees of freedom."""
        assert isinstance(design.spread, Replicated)
        df = np.array([estimate.effective_df(weights) for weights in design.spread.weights(topics).T])
        ends = []
        for level in ((1 - confidence) / 2, (1 + confidence) / 2):
            ratio = df / special.chdtri(df, level)
            scaled = {name: getattr(design.spread, name) * ratio for name in NAMES}
            ends.append(self._sized(design.with_numbers(**scaled)))
        return ends

    def _range(self, name: str) -> Range:
        """Which numbers of items or of repeats to consider."""
        shared, structure = self.structure.shared, self.structure
        columns = int(np.asarray(self.design.systems))
        df = columns if shared == "repeats" else columns - 1  # of one level of what is shared
        fewest = 1 + -(-LEAST_DF // df) if shared == name else 1
        variance = self.spread.within if name == "items" else self.spread.repeat_variance
        matters, counts = bool(variance > 0 or shared == name), self.counts[name]
        if counts is None:
            return fewest, MOST_ITEMS if matters else fewest
        word = structure.item if name == "items" else structure.repeat
        _check_numbers(name, word, counts, fewest, matters=matters)
        return [int(each) for each in dict.fromkeys(counts)]


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


def replicate_cautions(plans: Sequence[Allocation]) -> tuple[Caution, ...]:
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
            f"Have more {plan.replicated.structure}, or check the design with `verify()`.",
        ),
    )
