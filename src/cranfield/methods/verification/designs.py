"""Designs that can be verified: from a request, from formulas, or read from what another command wrote."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from cranfield.collection import Collection
from cranfield.errors import InputError, NoEffectError, RequestError
from cranfield.formats.text import read_bytes, show
from cranfield.measures import parse_measure
from cranfield.methods.design import Design, Goal, Judged, Sd, Size, Spread, achieved
from cranfield.methods.design.cheapest import Costs
from cranfield.methods.design.labels import check_labels, plan_labels
from cranfield.methods.design.planning import plan, plan_from_pilot, scales_of, with_default_goal
from cranfield.methods.design.request import Request
from cranfield.methods.design.spreads import STRUCTURES, Replicated
from cranfield.methods.names import fix_for_test
from cranfield.methods.sharding.anova import NESTED
from cranfield.methods.sharding.shard_models import SAMPLED, SHARD_MODELS, undefined_cells
from cranfield.methods.variance import estimate_variance
from cranfield.methods.variance.replicate_components import NAMES
from cranfield.methods.verification.batch_tests import TITLES
from cranfield.runtime.random import generator
from cranfield.scores import ScoreTable
from cranfield.scores.evaluation import score_view
from cranfield.stats.family import ALL_PAIRS_TEST, FAMILIES

# The test a user of each sizing method will run.
TEST_OF = {
    "exact": "anova",
    "sakai": "anova",
    "blocked": "blocked",
    "t": "t",
    "normal": "t",
    "unpaired": "anova",
    **{name: name for name in ("max-t", "tukey", "dunnett", "holm")},
}
NO_NUMBER = float("nan")


@dataclass(frozen=True, kw_only=True)
class PlannedDesign(Design):
    """A design with what it is to find, and the power that it was promised.

    ``goal`` is ``min_range`` or ``difference``: the best and the worst of the systems are that far apart, the others
    half way between them. ``method`` is the formula that ``topics`` come from, ``promised_power`` what it gives for
    them; ``test`` is any that is simulated. The sd of the spread and the power are nan where there is no formula.
    """

    source: str
    topics: int
    systems: int
    difference: float
    alpha: float = 0.05
    power: float = 0.8
    method: str = ""
    goal: str = "min_range"
    spread: Spread = Sd(sd=NO_NUMBER)  # noqa: RUF009 (immutable)
    promised_power: float = NO_NUMBER
    shards: int = 1
    measure: str = ""

    @property
    def variance(self) -> float:
        """σ² of one system's scores, as the formula took it."""
        several = self.replicates
        sd: Any = several.components.total**0.5 if several else self.spread.numbers["sd"]
        return float(sd) ** 2 / 2

    @property
    def judged_topics(self) -> int:
        """How many topics a judge labels beside people; 0 without a judge."""
        numbers: Any = self.spread.numbers
        return int(numbers.get("judged_topics", 0))

    @property
    def judge_correlation(self) -> float:
        numbers: Any = self.spread.numbers
        return float(numbers.get("judge_correlation", NO_NUMBER))

    @property
    def replicates(self) -> Replicated | None:
        """The several scores of a topic and system."""
        return self.spread if isinstance(self.spread, Replicated) else None

    def to_dict(self) -> dict[str, Any]:
        several, with_judge = self.replicates, bool(self.judged_topics)
        return {
            **self._named("source", "measure", "method", "test", "systems"),
            **({"shards": self.shards} if self.shards > 1 else {}),
            **({} if several is None else {"replicates": several.structure, **several.numbers}),
            self.goal: self.difference,
            **self._named("variance", "alpha", "power", "topics"),
            **(self._named("judged_topics", "judge_correlation") if with_judge else {}),
            "promised_power": self.promised_power,
        }

    def _named(self, *names: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names}


GOALS = ("min_range", "difference", "effect_size")


def _from_rows(rows: Sequence[Mapping[str, Any]], sides: int, measure: str = "") -> list[PlannedDesign]:
    if any(row.get("best") for row in rows):  # of a table with costs, the design that it recommends
        rows = [row for row in rows if row.get("best")]
    with_power = [row for row in rows if "power" in row and any(goal in row for goal in GOALS)]
    found = [_from_row(row, sides, measure) for row in with_power if row.get("topics") is not None]
    if not found:
        raise RequestError(
            "there is no design with a power to verify",
            fix="Plan for `min_range` or `difference`; widths have no power.",
        )
    return found


def _from_row(row: Mapping[str, Any], sides: int, measure: str) -> PlannedDesign:
    goal = next(name for name in GOALS if name in row)
    method = str(row["method"])
    test = row.get("test") or TEST_OF.get(method)
    if test is None:
        raise RequestError(f"no test is known for the method «{method}»", fix=f"One of: {', '.join(TEST_OF)}.")
    spread = _spread(row, goal, method)
    replicates = spread if isinstance(spread, Replicated) else None
    return PlannedDesign(
        source="size",
        test=str(test) if replicates is None else SAMPLED_TESTS.get(replicates.kind.shared, str(test)),
        systems=int(row.get("systems", 2)),
        topics=int(row["topics"]),
        difference=float(row[goal]),
        alpha=float(row["alpha"]),
        power=float(row["power"]),
        method=method,
        goal="min_range" if goal == "min_range" else "difference",
        spread=spread,
        promised_power=float(row.get("achieved_power") or NO_NUMBER),
        sides=sides if test == "t" else 2,
        measure=str(row.get("measure", measure)),
    )


def _spread(row: Mapping[str, Any], goal: str, method: str) -> Spread:
    """What the differences of a row of ``cranfield size`` vary by."""
    if row.get("replicates"):
        return _replicated(row)
    # Of two systems the sd of the paired difference is known: σ² is half its square, as each has its share.
    sd = float(row.get("sd", 1.0)) * 2**0.5 if method == "unpaired" else float(row.get("sd", 1.0))
    spread = Sd.of_variance(float(row["variance"])) if goal == "min_range" else Sd(sd=sd)
    if not row.get("judged_topics"):
        return spread
    judged = {name: float(row[name]) for name in ("judge_correlation", "judged_topics")}
    return Judged(sd=float(spread.sds), **judged)


def _replicated(row: Mapping[str, Any]) -> Replicated:
    """The several scores per topic of a row."""
    if row["replicates"] not in STRUCTURES:
        raise ValueError(f"replicates «{row['replicates']}»")
    components = {name: float(row[name]) for name in NAMES}
    return Replicated(structure=row["replicates"], **components, items=int(row["items"]), repeats=int(row["repeats"]))


SAMPLED_TESTS = {"items": SAMPLED, "repeats": NESTED}
"""The test that generalises to other replicates, by what all topics share."""


def _read_size(content: Mapping[str, Any]) -> list[PlannedDesign]:
    return _from_rows(content["rows"], 1 if content.get("inputs", {}).get("one_sided") else 2)


def _read_shards(content: Mapping[str, Any]) -> list[PlannedDesign]:
    """Every model on every number of shards; topics, systems and what to find are still to be said."""
    alpha = float(content.get("inputs", {}).get("alpha", 0.05))
    kinds = dict.fromkeys((row["measure"], row["model"], int(row["shards"])) for row in content["rows"])
    return [
        PlannedDesign(
            source="shards",
            test=model,
            systems=0,
            topics=0,
            difference=NO_NUMBER,
            alpha=alpha,
            method=model,
            shards=shards,
            measure=measure,
        )
        for measure, model, shards in kinds
        if model in SHARD_MODELS
    ]


def _read_plans(content: Mapping[str, Any]) -> list[PlannedDesign]:
    """The plan of a study with a fixed number of topics; those that stop on the way are for ``study simulate``."""
    asked = content["inputs"]
    difference, sd = float(asked["difference"]), float(asked["sd"])
    return [
        PlannedDesign(
            source="study plans",
            test="t",
            systems=2,
            topics=int(row["first"]),
            difference=difference,
            alpha=float(asked["alpha"]),
            power=float(asked["power"]),
            method="t",
            goal="difference",
            spread=Sd(sd=sd),
        )
        for row in content["rows"]
        if row["plan"] == "fixed"
    ]


Reader = Callable[[Mapping[str, Any]], list[PlannedDesign]]
SOURCES: dict[str, Reader] = {"size": _read_size, "shards": _read_shards, "study plans": _read_plans}
"""How the JSON of a question becomes designs, by what it says under ``method``."""
_NAMES = ", ".join(f"`{name.replace(' ', '_')}()`" for name in SOURCES)
_JSON_OF = f"Give the JSON output of one of: {_NAMES}."


def read_designs(path: str | Path) -> list[PlannedDesign]:
    """The designs in what a command printed with ``--json``."""
    where, data = show(path), read_bytes(path)
    try:
        content = json.loads(data)
    except ValueError as error:
        raise InputError(f"it is not JSON: {error}", where=where, fix=_JSON_OF) from None
    except RecursionError:
        raise InputError("its objects and lists are nested too deeply", where=where, fix=_JSON_OF) from None
    source = content.get("method") if isinstance(content, Mapping) else None
    if source not in SOURCES:
        raise InputError("it has no design that can be verified", where=where, fix=_JSON_OF)
    try:
        return SOURCES[source](content)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, RequestError):
            raise InputError(error.what, where=where, fix=error.fix) from None
        raise InputError(f"its rows lack something: {error}", where=where, fix="Make the design again.") from None


def completed(design: PlannedDesign, **given: Any) -> PlannedDesign:
    """A design with what was left open, or is to be otherwise."""
    return replace(design, **{name: value for name, value in given.items() if value is not None})


def planned_designs(
    request: Request, pilot: ScoreTable | None = None, *, topics: int | None = None
) -> list[PlannedDesign]:
    """The designs of ``cranfield size``, with a typed-in variance or that of a pilot, by the default or named method.

    With a pilot, its own number of systems unless another is named.
    """
    return designs_from_sizes([first_size(request, pilot)], topics=topics, sides=request.sides, measure=_measure(pilot))


def first_size(request: Request, pilot: ScoreTable | None) -> Size:
    """The topics by the default method, for the one goal that a design is verified for."""
    goals = request.goals or ["difference"]
    if len(goals) != 1 or goals[0] not in GOALS:
        raise RequestError(
            "a design is verified for one thing to find", fix="Name `min_range` (with `systems`), or `difference`."
        )
    if pilot is None:
        return plan(request)[0]
    return plan_from_pilot(request, estimate_variance(pilot), scales_of(pilot))[0].size


def designs_from_sizes(
    sizes: Sequence[Size], *, topics: int | None = None, sides: int = 2, measure: str = ""
) -> list[PlannedDesign]:
    """A design for every cell of a size that has a power, with its number of topics or another."""
    if topics is not None:
        sizes = [
            replace(
                size,
                topics=np.full_like(size.topics, topics),
                reached=size.reached | True,
                achieved=size.with_topics(topics),
            )
            for size in sizes
        ]
    return _from_rows([row for size in sizes for row in size.to_dict()], sides, measure)


def _measure(pilot: ScoreTable | None) -> str:
    return "" if pilot is None else pilot.measures[0]


PLANNED = {"tukey-permutation": "tukey"}
"""Tests that are planned for as another one: Tukey's by permutation has Tukey's critical values, but for chance."""


def sharded_designs(
    pilot: ScoreTable,
    models: Sequence[str],
    *,
    difference: float,
    systems: int | None = None,
    topics: int | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
) -> list[PlannedDesign]:
    """A design for each model of ``cranfield shards``, with the pilot's shards."""
    unknown = [model for model in models if model not in SHARD_MODELS]
    if unknown:
        raise RequestError(f"there is no model «{unknown[0]}» for shards", fix=f"One of: {', '.join(SHARD_MODELS)}.")
    if len(pilot.shards) < 2:
        raise RequestError(
            "a design with shards needs a pilot with shards",
            fix="Give scores with a column «shard», or runs with `qrels` and `shards`.",
        )
    return [
        PlannedDesign(
            source="shards",
            test=model,
            systems=systems or len(pilot.systems),
            topics=topics or len(pilot.topics),
            difference=difference,
            alpha=alpha,
            power=power,
            method=model,
            shards=len(pilot.shards),
            measure=pilot.measures[0],
        )
        for model in models
    ]


def pilots_of(
    data: ScoreTable | Collection, measures: Sequence[str] | None = None, *, shards: int | None = None, seed: int = 1
) -> list[ScoreTable]:
    """A pilot for every measure: of a table, or of a collection that is split into ``shards`` first."""
    if isinstance(data, ScoreTable):
        if shards is not None and len(data.shards) != shards:
            raise RequestError(f"the table has {len(data.shards) or 'no'} shards; only runs can be split anew")
        return [data.select(measures=[measure]) for measure in data.measures]
    if shards is None:
        raise RequestError("a collection is split into shards here", fix="Say how many.")
    return [sharded_pilot(data, each, shards=shards, seed=seed) for each in measures or ["AP"]]


def sharded_pilot(
    collection: Collection, measure: str, *, shards: int, undefined: float = 0.0, seed: int = 1
) -> ScoreTable:
    """Scores of a collection split into random shards; a shard without relevant documents scores ``undefined``."""
    view = collection.sharded(collection.random_shards(shards, seed=generator(seed, "verify", "shards")))
    parsed = parse_measure(measure)
    scores = score_view(view, [parsed])
    scores = np.where(undefined_cells(view, parsed)[:, np.newaxis, :], undefined, scores)
    names = tuple(str(at + 1) for at in range(shards))
    return ScoreTable((str(parsed),), collection.topics, collection.systems, scores, names)


@dataclass(frozen=True)
class DesignRequest:
    """Designs in a file, or what to make them of: a request, whose test is any that is simulated.

    ``topics`` take the place of those that a formula or a file has; ``models`` are for a pilot with shards.
    """

    request: Request = Request()  # noqa: RUF009 (immutable)
    design: str | None = None
    judge_correlation: Sequence[float] | None = None
    costs: Costs | None = None
    judged_topics: int | None = None
    topics: int | None = None
    models: tuple[str, ...] = ()

    def designs(self, pilot: ScoreTable | None) -> list[PlannedDesign]:
        """Those that the pilot is for."""
        if self.design is not None:
            made = [self._filled(each, pilot) for each in self._read()]
            return [each for each in made if _is_for(each, pilot)]
        request = with_default_goal(self.request, None if pilot is None else scales_of(pilot))
        if request.difference is not None and request.variance is not None:
            raise NoEffectError(
                "`variance` has no effect on a difference",
                parameter="variance",
                fix="Give `sd`, that of paired differences: √(2σ²(1 − ρ)) where scores correlate by ρ.",
            )
        if self.costs is not None:
            return self._judged(request, pilot, self.costs)
        if self.models or (pilot is not None and pilot.shards):
            return self._sharded(request, pilot)
        planned, test = _planned(request, pilot)
        return [completed(each, test=test) for each in planned_designs(planned, pilot, topics=self.topics)]

    def _judged(self, request: Request, pilot: ScoreTable | None, costs: Costs) -> list[PlannedDesign]:
        """Designs with a judge: the cheapest, or the topics that are given."""
        if self.models or (pilot is not None and pilot.shards):
            raise RequestError("a design with shards has no judge", fix="Leave one of them out.")
        check_labels(request)
        size, rs = first_size(request, pilot), self.judge_correlation or ()
        if self.topics is None:
            plans = plan_labels([size], rs, costs, judged_topics=self.judged_topics, sides=request.sides)
            return _from_rows([row for each in plans for row in each.to_dict()], request.sides, _measure(pilot))
        if self.judged_topics is None:
            raise RequestError(
                "the number of topics that the model labels is missing", fix="Add `judged_topics=200`, for instance."
            )
        designs = designs_from_sizes([size], topics=self.topics, sides=request.sides, measure=_measure(pilot))
        return [_among(each, self.judged_topics, r) for each, r in product(designs, rs)]

    def _read(self) -> list[PlannedDesign]:
        """The designs of the file; those for shards leave open what is to be detected, all others are complete."""
        assert self.design is not None
        made = read_designs(self.design)
        open_names = OPEN_IN_SHARDS if made[0].source == "shards" else ()
        _refuse(self.request, "a design from a file", [name for name in OPEN_IN_SHARDS if name not in open_names])
        return made

    def _filled(self, design: PlannedDesign, pilot: ScoreTable | None) -> PlannedDesign:
        """What a file left open: the test, the topics, and for shards what is to be found."""
        test = self.request.test
        if design.replicates is not None and design.replicates.kind.shared and test is not None:
            what = "`test` has no effect on a design whose replicates are a sample"
            raise NoEffectError(what, parameter="test", fix=f"It is {TITLES[design.test]}.")
        if design.source != "shards":
            return completed(design, test=test, topics=self.topics)
        if pilot is None:
            raise RequestError(
                "a design with shards needs a pilot with shards", fix="Give scores with a column «shard»."
            )
        return completed(
            design,
            difference=_goal(self.request),
            systems=_one(self.request, "systems") or len(pilot.systems),
            topics=self.topics or len(pilot.topics),
            power=_one(self.request, "power"),
        )

    def _sharded(self, request: Request, pilot: ScoreTable | None) -> list[PlannedDesign]:
        if pilot is None:
            raise RequestError("a model of shards needs a pilot with shards", fix="Give scores with a column «shard».")
        _refuse(request, "a design with shards", ["one_sided", "method", "test"])
        return sharded_designs(
            pilot,
            self.models or ("MD6", "MD6r"),
            difference=_goal(request),
            systems=_one(request, "systems"),
            topics=self.topics,
            alpha=_one(request, "alpha") or 0.05,
            power=_one(request, "power") or 0.8,
        )


OPEN_IN_SHARDS = ("min_range", "difference", "systems", "power")
"""What a file of ``cranfield shards`` leaves open."""


def _planned(request: Request, pilot: ScoreTable | None) -> tuple[Request, str | None]:
    """The request with a test that can be planned for, and the test that will be run."""
    test = request.test
    if test is not None and test not in TITLES:
        raise RequestError(f"there is no test «{test}»", fix=fix_for_test(test, TITLES))
    if request.difference is None:
        return replace(request, test=None), test
    systems = request.systems or (() if pilot is None else (len(pilot.systems),))
    is_pair = request.one_sided or request.method is not None or all(count <= 2 for count in systems)
    if test in FAMILIES or test in PLANNED or (test is None and not is_pair):
        family = test or ALL_PAIRS_TEST
        return replace(request, test=PLANNED.get(family, family)), family
    own = None if all(count == 2 for count in request.systems or ()) else request.systems
    return replace(request, test=None, systems=own, method=request.method or "t"), test


def _refuse(request: Request, what: str, names: Sequence[str]) -> None:
    """A parameter that has no effect on this kind of design is an error, not ignored."""
    for name in names:
        if name in request.given:
            raise NoEffectError(f"`{name}` has no effect on {what}", parameter=name, fix="Leave it out.")


def _goal(request: Request) -> float:
    goal = _one(request, "min_range") or _one(request, "difference")
    if goal is None:
        raise RequestError("the difference to detect is missing", fix="Name it: `min_range=0.1`, for instance.")
    return float(goal)


def _one(request: Request, name: str) -> Any:
    """The only value of a number that takes one here; None where it is left out."""
    values = getattr(request, name)
    if values is not None and len(values) != 1:
        raise RequestError(f"`{name}` takes one value here", fix="Verify one at a time.")
    return None if values is None else values[0]


def _among(design: PlannedDesign, judged_topics: int, correlation: float) -> PlannedDesign:
    """A design whose topics are among those that a judge labels."""
    sd = design.spread.numbers["sd"]
    judged = replace(design, spread=Judged(sd=sd, judge_correlation=correlation, judged_topics=judged_topics))
    planned = replace(judged, topics=max(4, min(design.topics, judged_topics)))
    return replace(judged, promised_power=float(achieved(planned, Goal("difference", design.difference))))


def _is_for(design: PlannedDesign, pilot: ScoreTable | None) -> bool:
    if pilot is None:
        return True
    fits = not design.measure or design.measure in pilot.measures
    return fits and (design.source != "shards" or design.shards == len(pilot.shards))
