"""Plans with several scores per topic: topics × query variations × seeds, topics × prompts, clusters × topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from scipy import special

from cranfield.errors import Caution, InputError, NoEffectError, RequestError
from cranfield.methods.design.planning import FEW_TOPICS, FEWEST_TOPICS, small_pilot_caution
from cranfield.methods.design.replicate_design import (
    STRUCTURES,
    Range,
    ReplicateCosts,
    Structure,
    Task,
    degrees_of,
    design_effect,
    numbers_in_words,
    replicate_method,
    weights_of,
)
from cranfield.methods.design.request import Request
from cranfield.methods.design.sample_size import Size, claim
from cranfield.methods.variance.replicate_components import ComponentEstimate, Components
from cranfield.scores import ScoreTable
from cranfield.stats.family import ALL_PAIRS_TEST, LEVELS

MOST_ITEMS = 1000
"""The largest number of items and of repeats that a search for the cheapest design considers."""
LEAST_DF = 4
"""Degrees of freedom of shared replicates below which power and error rate are not what the formula says."""
FEW_DF = 10
"""Degrees of freedom of the error term below which there is a warning."""
MOST_DESIGNS = 5_000
_TABLE = (1, 2, 3, 5, 10)


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
        for at, row in enumerate(self.size.to_dict()):
            row |= {"items": int(row["items"]), "repeats": int(row["repeats"])}
            rows.append({**head, "replicates": self.replicates, **row, **self._more(at, row)})
        return rows

    def _more(self, at: int, row: Mapping[str, Any]) -> dict[str, Any]:
        topics, items, repeats = row["topics"], row["items"], row["repeats"]
        effect = design_effect(self.components, self.structure, topics, items, repeats)
        found: dict[str, Any] = {
            "scores": None if topics is None else topics * items * repeats,
            "df": None if topics is None else float(degrees_of(self.size, at)),
            "icc": self.components.icc,
            "design_effect": effect,
        }
        if self.costs is not None:
            cost = None if topics is None else float(self.costs.of(self.structure, topics, items, repeats))
            found |= {"cost": cost, "best": at == self.best}
        if self.lower is not None and self.upper is not None:
            for word, end in (("lower", self.lower), ("upper", self.upper)):
                found[f"topics_{word}"] = int(end.topics[at]) if end.reached[at] else None
        return found

    def summary(self) -> str:
        """Return one sentence about the best cell, or about the first."""
        rows = self.to_dict()
        return explain_replicates(self, rows[self.best or 0])


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
    def is_empty(self) -> bool:
        return all(value is None for value in vars(self).values())

    @property
    def costs(self) -> ReplicateCosts | None:
        given = (self.topic_cost, self.item_cost, self.repeat_cost)
        if all(cost is None for cost in given):
            return None
        topic, item, repeat = (0.0 if cost is None else cost for cost in given)
        return ReplicateCosts(topic=topic, item=item, repeat=repeat)

    @property
    def kind(self) -> str:
        """The structure without a pilot: prompts where a shared variance is given, else variations."""
        return self.replicates or ("variations" if self.shared_variance is None else "prompts")

    def given_components(self, sd: Sequence[float] | None) -> Components:
        """The components that were given, or those of ``sd`` and the intra-class correlation."""
        kind = self.kind
        if self.shared_variance is not None and not STRUCTURES[kind].shared:
            raise NoEffectError(
                f"`shared_variance` has no effect on {kind}",
                parameter="shared_variance",
                fix='All topics share `replicates="prompts"` and `"seeds"`; leave it out for others.',
            )
        if self.shared_variance is None and STRUCTURES[kind].shared:
            raise RequestError(
                f"`shared_variance`, the variance of {kind} that all topics share, is missing",
                fix="Add it, or give pilot scores to estimate it from.",
            )
        between, within = self._two_levels(sd)
        return _checked(
            Components(
                between=between,
                within=within,
                shared_variance=self.shared_variance or 0.0,
                repeat_variance=self.repeat_variance or 0.0,
            )
        )

    def _two_levels(self, sd: Sequence[float] | None) -> tuple[float, float]:
        if self.icc is None:
            if sd is not None:
                raise RequestError("`sd` goes with `icc` here", fix="Add `icc`, or give `between` and `within`.")
            if self.between is None or (self.within is None and self.kind != "seeds"):
                raise RequestError(
                    "the components of the variance are missing",
                    fix="Give `between` and `within`, or `sd` and `icc`, or pilot scores with replicates.",
                )
            return self.between, self.within or 0.0
        if self.between is not None or self.within is not None:
            raise RequestError("`icc` takes the place of `between` and `within`", fix="Give one or the other.")
        if sd is None or len(sd) != 1:
            raise RequestError(
                "`icc` goes with one `sd`", fix="Add `sd`, that of one paired difference of two systems."
            )
        total = sd[0] ** 2
        within = (1 - self.icc) * total - (self.repeat_variance or 0.0) - (self.shared_variance or 0.0)
        if within < 0:
            raise RequestError(
                "the other components are larger than what `icc` leaves of the variance",
                fix=f"What is left is {(1 - self.icc) * total:g}: (1 − ICC)·sd².",
            )
        return self.icc * total, within

    def check_pilot(self, sd: Sequence[float] | None) -> None:
        """Refuse components beside those of a pilot; only the variance of repeats may be known in addition."""
        given = {"between": self.between, "within": self.within, "shared_variance": self.shared_variance}
        for name, value in (given | {"icc": self.icc, "sd": sd}).items():
            if value is not None:
                raise RequestError(f"`{name}` comes from the scores", fix="Leave it out, or the scores.")

    def from_pilot(self, estimate: ComponentEstimate) -> ComponentEstimate:
        """The components of a pilot for the structure, with the variance of repeats taken out of that of items."""
        kind, found = self.kind, estimate.components
        if kind == "fixed-prompts":  # their own effects are no error if no other prompts matter
            found = replace(found, shared_variance=0.0)
            estimate = replace(estimate, shared=0, left_out_units=estimate.left_out_units * [1.0, 1.0, 0.0, 1.0])
        if self.repeat_variance is not None:
            if kind == "seeds":
                raise RequestError("`repeat_variance` comes from the scores", fix="Leave it out, or the scores.")
            known = min(self.repeat_variance, found.within)
            found = replace(found, within=found.within - known, repeat_variance=known)
            estimate = replace(estimate, **_moved(estimate, known))
        return replace(estimate, components=_checked(found))


def _moved(estimate: ComponentEstimate, known: float) -> dict[str, Any]:
    """Left-out components with ``known`` as the variance of repeats, and so much less within."""
    found = {}
    for name in ("left_out_units", "left_out_shared"):
        rows = getattr(estimate, name).copy()
        rows[:, 1], rows[:, 3] = np.maximum(rows[:, 1] - known, 0.0), known
        found[name] = rows
    return found


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
            "nothing says what the replicates of the scores are",
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


def check_pilot_size(estimate: ComponentEstimate, measure: str, *, insisted: bool) -> tuple[Caution, ...]:
    """Raise RequestError for a pilot with too few topics to estimate components; return the warning about few."""
    if estimate.units < FEWEST_TOPICS and not insisted:
        raise RequestError(
            f"{estimate.units} topics are too few to estimate variances for planning",
            fix=f"Use a pilot of {FEW_TOPICS} topics or more; `small_pilot=True` overrides this.",
        )
    return small_pilot_caution(estimate.units, measure)


def check_replicates(request: Request) -> None:
    """Refuse what a plan with replicates has no place for."""
    for goal in request.goals:
        if goal != "difference":
            raise RequestError(
                f"a design with replicates has no `{goal}`",
                fix="Ask for a `difference`; or average over replicates first, mean=COLUMN in `columns`.",
            )
    if not request.goals:
        raise RequestError("there is no goal", fix="Name it: `difference=0.05`, for instance.")
    unused = {
        "variance": request.variance,
        "correlation": request.correlation,
        "assurance": request.assurance,
        "method": request.method,
        "unpaired": None if request.paired else True,
    }
    for name, value in unused.items():
        if value is not None:
            what = f"`{name}` has no effect on a design with replicates"
            raise NoEffectError(what, parameter=name, fix="Leave it out.")


def planned_test(request: Request, replicates: str, systems: int) -> str:
    """The test of a design: the one named, or else the one that `compare` runs on such scores.

    That is t for two systems; for more, t with Holm's correction, and Tukey's with shared replicates.
    """
    shared = bool(STRUCTURES[replicates].shared)
    of_all_pairs = "tukey" if shared else ALL_PAIRS_TEST
    test = request.test or ("t" if systems == 2 or request.sides == 1 else of_all_pairs)
    if test != "t" and test not in LEVELS:
        raise RequestError(f"there is no test «{test}» for replicates", fix="Choose max-t, tukey, holm, dunnett or t.")
    if shared and test not in ("t", "tukey"):
        raise NoEffectError(
            f"`test` {test} does not generalise to other {STRUCTURES[replicates].shared}",
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
    counts = [int(count) for count in request.systems or (systems,)]
    grid = product(counts, *(request.values(name) for name in ("difference", "alpha", "power")))
    cells = list(grid)
    count = len(cells) * len(replicates.items or _TABLE) * len(replicates.repeats or _TABLE)
    if count > MOST_DESIGNS:
        raise RequestError(f"the grid has {count:,} cells", fix=f"Ask for at most {MOST_DESIGNS:,} designs at a time.")
    return [
        _plan(
            request,
            replicates,
            estimate,
            cell=dict(zip(("systems", "difference", "alpha", "power"), each, strict=True)),
            measure=measure,
        )
        for each in cells
    ]


def _plan(
    request: Request,
    replicates: ReplicateRequest,
    estimate: Components | ComponentEstimate,
    *,
    cell: dict[str, float],
    measure: str,
) -> ReplicateSize:
    kind = replicates.kind
    test = planned_test(request, kind, int(cell["systems"]))
    if test == "t":
        cell = {name: value for name, value in cell.items() if name != "systems"}
    method = replicate_method(kind, test, sides=request.sides)
    components = estimate if isinstance(estimate, Components) else estimate.components
    task = Task(
        method=method,
        structure=STRUCTURES[kind],
        inputs={**cell, **components.to_dict()},
        limit=request.limit,
        costs=replicates.costs,
        budget=replicates.budget,
    )
    fewest = _fewest(kind, int(cell.get("systems", 2)))
    items, repeats = _numbers(replicates, components, fewest)
    chosen = None if task.costs is None else task.best(items, repeats)
    table = _table(items, repeats, chosen)
    found = task.sized(np.array([k for k, _ in table]), np.array([r for _, r in table]))
    ends = (None, None) if isinstance(estimate, Components) or task.budget else _ends(task, found, estimate)
    return ReplicateSize(
        size=found,
        replicates=kind,
        components=components,
        costs=task.costs,
        budget=task.budget,
        best=None if chosen is None else table.index(chosen),
        lower=ends[0],
        upper=ends[1],
        measure=measure,
    )


def _fewest(replicates: str, systems: int) -> dict[str, int]:
    """The fewest items and repeats of a structure: shared ones need `LEAST_DF` degrees of freedom."""
    shared = STRUCTURES[replicates].shared
    if not shared:
        return {"items": 1, "repeats": 1}
    columns = systems if shared == "repeats" else systems - 1
    return {"items": 1, "repeats": 1} | {shared: 1 + -(-LEAST_DF // columns)}


def _numbers(replicates: ReplicateRequest, components: Components, fewest: Mapping[str, int]) -> tuple[Range, Range]:
    """Which numbers of items and of repeats to consider."""
    structure = STRUCTURES[replicates.kind]
    matters = {
        "items": components.within > 0 or structure.shared == "items",
        "repeats": components.repeat_variance > 0 or structure.shared == "repeats",
    }
    found: list[Range] = []
    for name, word in (("items", structure.item), ("repeats", structure.repeat)):
        given, least = getattr(replicates, name), fewest[name]
        if given is not None:
            _check_numbers(name, word, given, least, matters=matters[name])
            found.append([int(each) for each in dict.fromkeys(given)])
        else:
            found.append((least, MOST_ITEMS if matters[name] else least))
    return found[0], found[1]


def _check_numbers(name: str, word: str, given: Sequence[int], least: int, *, matters: bool) -> None:
    if max(given) > 1 and not matters:
        source = "`within`" if name == "items" else "`repeat_variance`"
        raise RequestError(f"more {word}s have no effect on the variance", fix=f"Give {source}, or leave out `{name}`.")
    if min(given) < least:
        fix = f"Have {least} or more."
        if name == "items" and least > 1:
            fix = f'Have {least} or more, or plan for these prompts only: `replicates="fixed-prompts"`.'
        raise RequestError(
            f"{min(given)} {word}s are too few to speak of others" if least > 1 else f"`{name}` cannot be {min(given)}",
            fix=fix,
        )
    if max(given) > 1_000_000:
        raise RequestError(f"`{name}` cannot be {max(given):,}", fix="Have 1,000,000 or fewer.")


def _table(items: Range, repeats: Range, chosen: tuple[int, int] | None) -> list[tuple[int, int]]:
    """The cells to show: the numbers given, or usual ones, and the best."""
    cells = {(k, r) for k, r in product(_shown(items), _shown(repeats))}
    return sorted(cells | ({chosen} if chosen else set()))


def _shown(numbers: Range) -> list[int]:
    if isinstance(numbers, list):
        return numbers
    first, last = numbers
    return [first] if first == last else sorted({first, *(each for each in _TABLE if each > first)})


def _ends(task: Task, found: Size, estimate: ComponentEstimate, confidence: float = 0.95) -> tuple[Size, Size]:
    """Units at the ends of the interval of the variance of each cell: χ² with effective degrees of freedom."""
    items, repeats = (found.inputs[name].astype(int) for name in ("items", "repeats"))
    df = np.array(
        [
            estimate.effective_df(weights_of(task.structure, *numbers))
            for numbers in zip(found.topics.tolist(), items.tolist(), repeats.tolist(), strict=True)
        ]
    )
    lower, upper = (df / special.chdtri(df, level) for level in ((1 - confidence) / 2, (1 + confidence) / 2))
    return task.sized(items, repeats, lower), task.sized(items, repeats, upper)


# --- in words


def explain_replicates(plan: ReplicateSize, row: Mapping[str, Any]) -> str:
    """Return a sentence that states J, K and R, the goal, the test, the cost, and what the claim covers."""
    structure, method = plan.structure, plan.size.method
    name = f"{plan.measure}: " if plan.measure else ""
    if row["topics"] is None:
        return f"{name}{_out_of_reach(plan, row)}"
    how = f"{method.title}, df {row['df']:.3g}; the claim covers {structure.covers}"
    cost = "" if row.get("cost") is None else f", at a cost of {row['cost']:,.10g}"
    goal = claim(method, row)
    if plan.budget is not None:
        goal = goal.replace(f"with power {row['power']:g}", f"with power {row['achieved_power']:.3f}")
        cost = f", at a cost of {row['cost']:,.10g} within the budget of {plan.budget:,.10g}"
    ends = ""
    if "topics_lower" in row:
        low, high = (
            "no number" if row[f"topics_{word}"] is None else f"{row[f'topics_{word}']:,}"
            for word in ("lower", "upper")
        )
        ends = f" Between {low} and {high} {structure.unit}s, reflecting the uncertainty of the components."
    return f"{name}{numbers_in_words(structure, row)} {goal}{cost} ({how}).{ends}"


def _out_of_reach(plan: ReplicateSize, row: Mapping[str, Any]) -> str:
    structure = plan.structure
    if plan.budget is not None:
        return f"A budget of {plan.budget:,.10g} does not pay for two {structure.unit}s."
    more = f"Have more {structure.sampled}, or ask for less."
    numbers = numbers_in_words(structure, {**row, "topics": plan.size.limit})
    return (
        f"No number of {structure.unit}s up to {plan.size.limit:,} is enough: {numbers} give a power of "
        f"{row['achieved_power']:.4g}. {more if structure.shared else 'Ask for less.'}"
    )


def replicate_cautions(plans: Sequence[ReplicateSize]) -> tuple[Caution, ...]:
    """The warning about designs whose shared replicates leave few degrees of freedom."""
    few = [
        (row["df"], plan)
        for plan in plans
        if plan.structure.shared
        for at, row in enumerate(plan.to_dict())
        if row["df"] is not None and plan.best in (None, at) and row["df"] < FEW_DF
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
