"""The scores that a board is made of: tasks of one table, or topics of several collections, and their scales."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cranfield.errors import Caution, InputError, RequestError, there_are
from cranfield.methods.contrasts.clusters import TopicDesign, design_of
from cranfield.scores import ScoreTable
from cranfield.scores.selection import REMEDY
from cranfield.types import Array

MOST_RATIO = 5.0
"""Of the sds over systems of two tasks or collections; above it, one of them decides the means."""
_FEWEST_SYSTEMS = 3  # the sd of two scores is mostly chance


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
        """That the sds over systems differ too much between tasks or collections, where nothing was said about it.

        Of tasks the largest is compared with the lower quartile, so that a single task on which all systems are alike
        is no reason for a warning; of collections with the smallest.
        """
        if self.standardise is not None or len(self.systems) < _FEWEST_SYSTEMS:
            return
        squares = np.square(spreads(self.values))
        if self.part is None:
            kind, sds = "task", np.sqrt(squares)
            low, against = float(np.quantile(sds, 0.25)), "a quarter of the tasks have at most"
        else:
            kind, sds = "collection", np.sqrt(np.bincount(self.part, squares) / np.bincount(self.part))
            low, against = float(sds.min()), f"{self.tasks[int(sds.argmin())]} has"
        high = float(sds.max())
        if high > MOST_RATIO * low:
            yield Caution(
                "scales-differ",
                f"the scores of {kind}s are on different scales, so that few {kind}s decide the means: over systems "
                f"{self.tasks[int(sds.argmax())]} has an sd of {high:.3g}, and {against} {low:.3g}",
                'Choose with `standardise`: "z" standardises within each task or topic, "none" leaves scores as they '
                "are.",
            )

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


def standardised(values: Array) -> Array:
    """Scores minus their mean over the systems of a row, in units of their sd there; 0 in a row without a spread.

    Parameters
    ----------
    values
        Topics or tasks × systems; nan where there is no score.

    References
    ----------
    - W. Webber, A. Moffat and J. Zobel, "Score standardization for inter-collection comparison of retrieval systems",
      SIGIR 2008, 51–58.

    Examples
    --------
    >>> standardised(np.array([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0], [5.0, 5.0, 5.0]])).tolist()
    [[-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    """
    centred = values - np.nanmean(values, axis=1, keepdims=True)
    spread = spreads(values)[:, np.newaxis]
    flat = np.where(np.isnan(values), np.nan, 0.0)
    return np.asarray(np.divide(centred, spread, out=flat, where=spread > 0))


def spreads(values: Array) -> Array:
    """The sd over systems of each row; 0 where rounding leaves nothing else, or for fewer than two scores."""
    there = np.isfinite(values)
    counts = np.maximum(there.sum(axis=1), 1)
    means = np.where(there, values, 0.0).sum(axis=1) / counts
    squares = np.where(there, np.square(values - means[:, np.newaxis]), 0.0).sum(axis=1)
    found = np.sqrt(squares / np.maximum(counts - 1, 1))
    return np.where(found > 1e-12 * np.maximum(np.abs(means), 1e-300), found, 0.0)
