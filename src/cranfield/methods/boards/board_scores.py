"""The scores that a board is made of: tasks of one table, or topics of several collections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cranfield.errors import Caution, InputError, RequestError, there_are
from cranfield.methods.boards.scales import scale_caution, standardised
from cranfield.methods.contrasts.clusters import TopicDesign, design_of
from cranfield.scores import ScoreTable
from cranfield.scores.selection import REMEDY
from cranfield.types import Array


@dataclass(frozen=True, eq=False, kw_only=True)
class Scores:
    """Rows × systems, where a row is a task or, with ``part``, a topic of a collection.

    ``design`` says how rows were sampled; ``part`` is the place in ``tasks`` of the collection of each row; ``table``
    is where the scores of tasks are from.
    """

    measure: str
    systems: tuple[str, ...]
    tasks: tuple[str, ...]
    values: Array
    weights: Array
    design: TopicDesign
    standardise: str | None
    lower_is_better: bool
    part: Array | None = None
    table: ScoreTable | None = None

    @cached_property
    def oriented(self) -> Array:
        """Standardised, and so that more is better."""
        values = standardised(self.values) if self.standardise == "z" else self.values
        return -values if self.lower_is_better else values

    @property
    def of_task(self) -> Array:
        """The task, or the collection, of every row."""
        return np.arange(len(self.values)) if self.part is None else self.part

    @property
    def topics(self) -> tuple[int, ...]:
        """How many each collection has; of tasks none."""
        return () if self.part is None else tuple(np.bincount(self.part, minlength=len(self.tasks)).tolist())

    def cautions(self) -> Iterator[Caution]:
        """That tasks or collections are on different scales, where nothing was said about it."""
        caution = scale_caution(self.values, self.tasks, self.part) if self.standardise is None else None
        if caution is not None:
            yield caution

    def check(self) -> None:
        """Refuse rows and systems without any score, and parts that share no row."""
        there = np.isfinite(self.values)
        if len(self.systems) < 2:
            raise InputError("a leaderboard needs at least two systems", fix="Give more systems.")
        rows = self.tasks if self.part is None else [self.tasks[at] for at in self.part.tolist()]
        word = "task" if self.part is None else "a topic of the collection"
        for axis, what, names in ((0, "system", self.systems), (1, word, rows)):
            empty = ~there.any(axis=axis)
            if empty.any():
                raise InputError(f"{what} «{names[int(np.argmax(empty))]}» has no score", fix=f"Leave out that {what}.")
        if not connected(there):
            raise InputError(
                "the board falls into parts that share no task, and their systems cannot be compared",
                fix="Leave out the systems of one part, or add tasks that both have.",
            )


def tasks_of_table(
    table: ScoreTable,
    measure: str | None,
    *,
    weights: Mapping[str, float] | None,
    strata: bool,
    standardise: str | None,
    lower_is_better: bool,
) -> Scores:
    """The tasks of one table."""
    if table.shards:
        raise RequestError("there are several scores for each task and system", fix=REMEDY)
    name = measure or table.measures[0]
    weight = task_weights(table.topics, weights, "task", own=table.weights)
    return Scores(
        measure=name,
        systems=table.systems,
        tasks=table.topics,
        values=np.array(table.of(name), dtype=float),
        weights=weight,
        design=_design(table, weight, strata=strata),
        standardise=standardise,
        lower_is_better=lower_is_better,
        table=table.select(measures=[name]),
    )


def topics_of_collections(
    tables: Mapping[str, ScoreTable],
    measure: str | None,
    *,
    weights: Mapping[str, float] | None,
    standardise: str | None,
    lower_is_better: bool,
) -> Scores:
    """The topics of all collections below one another, for all systems that any of them has."""
    if len(tables) < 2:
        raise RequestError("there is one collection", fix="Give several.")
    name = measure or next(iter(tables.values())).measures[0]
    systems = tuple(dict.fromkeys(system for table in tables.values() for system in table.systems))
    place = {system: at for at, system in enumerate(systems)}
    blocks, part = [], []
    for at, (collection, table) in enumerate(tables.items()):
        if table.shards:
            raise RequestError("there are several scores for each topic and system", where=collection, fix=REMEDY)
        if table.has_roles:
            raise RequestError(
                "several collections have no clusters, strata or weights of topics",
                where=collection,
                fix="Leave out cluster=, stratum= and weight=, or give one table.",
            )
        scores = np.array(table.of(name), dtype=float)
        if len(scores) < 2:
            raise InputError("a collection has two topics or more", where=collection, fix="Leave it out.")
        block = np.full((len(scores), len(systems)), np.nan)
        block[:, [place[system] for system in table.systems]] = scores
        blocks.append(block)
        part += [at] * len(block)
    weight, of = task_weights(tuple(tables), weights, "collection"), np.array(part)
    return Scores(
        measure=name,
        systems=systems,
        tasks=tuple(tables),
        values=np.concatenate(blocks),
        weights=weight,
        design=TopicDesign(
            weights=(weight / np.bincount(of))[of],  # of the topics of a collection together that of the collection
            clusters=np.arange(len(of)),
            strata=of,
            has_strata=True,
        ),
        standardise=standardise,
        lower_is_better=lower_is_better,
        part=of,
    )


def connected(there: Array) -> bool:
    """Whether every system can be reached from the first over tasks that systems share."""
    reached = np.zeros(there.shape[1], bool)
    reached[0] = True
    while True:
        more = reached | (there & (there & reached).any(axis=1, keepdims=True)).any(axis=0)
        if (more == reached).all():
            return bool(reached.all())
        reached = more


def _design(table: ScoreTable, weight: Array, *, strata: bool) -> TopicDesign:
    if strata and not table.strata:
        raise RequestError(
            "`strata` orders by the mean of the strata's means, and no column is a stratum",
            fix='Name it: `columns="stratum=COLUMN"`.',
        )
    design = design_of(table, by_stratum=strata, weights=weight)
    if table.has_roles:
        design.check(table.topics)
    return design


def task_weights(tasks: Sequence[str], given: Mapping[str, float] | None, kind: str, own: Array | None = None) -> Array:
    """The weight of each task or collection: the one given, its own, or 1."""
    unknown = [name for name in given or {} if name not in tasks]
    if unknown:
        raise RequestError(f"there is no {kind} «{unknown[0]}»", fix=there_are(tasks))
    usual = np.ones(len(tasks)) if own is None else own
    weight = np.array([(given or {}).get(task, each) for task, each in zip(tasks, usual.tolist(), strict=True)], float)
    if not (np.isfinite(weight).all() and (weight >= 0).all()) or np.count_nonzero(weight) < 2:
        raise RequestError("weights are numbers of 0 or more, two of them above 0", fix="Leave out others.")
    return weight
