"""Designs from what is asked for: sized by the formulas where the number of topics is not named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.collection import Collection
from cranfield.errors import RequestError
from cranfield.measures import parse_measure
from cranfield.methods.design.inverse import power_of
from cranfield.methods.design.planning import Request, plan, plan_from_pilot
from cranfield.methods.design.sample_size import Size
from cranfield.methods.sharding.shard_models import SHARD_MODELS, undefined_cells
from cranfield.methods.variance import estimate_variance
from cranfield.methods.verification.designs import Design, designs_from_sizes
from cranfield.runtime.random import generator
from cranfield.scores import ScoreTable, score_view


def designs_from_request(request: Request, *, topics: int | None = None) -> list[Design]:
    """The designs of ``cranfield size`` for a typed-in variance, by the method to use by default or the one named."""
    _one_goal(request)
    return _with_topics(plan(request)[:1], topics, request.sides, "")


def designs_from_pilot(request: Request, pilot: ScoreTable, *, topics: int | None = None) -> list[Design]:
    """The same with the variance from the pilot; its own number of systems unless another is named."""
    _one_goal(request)
    if request.min_range is not None and request.systems is None:
        request = replace(request, systems=(len(pilot.systems),))
    found = plan_from_pilot(request, estimate_variance(pilot))
    return _with_topics([found[0].size], topics, request.sides, pilot.measures[0])


PLANNED = {"tukey-permutation": "tukey"}
"""Tests that are planned for as another one: Tukey's by permutation has Tukey's critical values, but for chance."""


def pair_designs(
    request: Request, test: str, pilot: ScoreTable | None = None, *, topics: int | None = None
) -> list[Design]:
    """Designs for one pair among the systems of a request (a pilot's, unless it says) under a test of all of them."""
    request = replace(request, test=PLANNED.get(test, test))
    if pilot is None:
        made = designs_from_request(request, topics=topics)
    else:
        made = designs_from_pilot(request, pilot, topics=topics)
    return [replace(each, test=test) for each in made]


def _one_goal(request: Request) -> None:
    if len(request.goals) != 1 or request.goals[0] not in ("min_range", "difference", "effect_size"):
        raise RequestError(
            "a design is verified for one thing to find", fix="Name `min_range` (with `systems`), or `difference`."
        )


def _with_topics(sizes: Sequence[Size], topics: int | None, sides: int, measure: str) -> list[Design]:
    if topics is None:
        return designs_from_sizes(sizes, sides=sides, measure=measure)
    found = [replace(size, topics=np.full_like(size.topics, topics), reached=size.reached | True) for size in sizes]
    found = [replace(size, achieved=power_of(size.method, topics, **_inputs(size))) for size in found]
    return designs_from_sizes(found, sides=sides, measure=measure)


def _inputs(size: Size) -> dict[str, Any]:
    return {name: values for name, values in size.inputs.items() if name != "power"}


def sharded_designs(
    pilot: ScoreTable,
    models: Sequence[str],
    *,
    difference: float,
    systems: int | None = None,
    topics: int | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
) -> list[Design]:
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
        Design(
            "shards",
            model,
            systems or len(pilot.systems),
            topics or len(pilot.topics),
            difference,
            alpha,
            power,
            model,
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
    scores = score_view(view, [parse_measure(measure)])
    scores = np.where(undefined_cells(view)[:, np.newaxis, :], undefined, scores)
    names = tuple(str(at + 1) for at in range(shards))
    return ScoreTable((str(parse_measure(measure)),), collection.topics, collection.systems, scores, names)
