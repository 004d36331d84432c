"""Scoring the same lists again and again under fewer judgments: the lists stay, only what is kept of them changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.collection import Collection
from cranfield.collection import kernels as lists
from cranfield.collection.collection import Hits, View, relevant_judgments
from cranfield.measures import Measure, kernels
from cranfield.measures.declaration import relevant_grades
from cranfield.measures.recipes import NO_CUTOFF, Recipe, Recipes, kept_recipe
from cranfield.runtime.compiled import Kernel, pays
from cranfield.scores.evaluation import require_judgments, score_view
from cranfield.types import Array

if TYPE_CHECKING:
    from cranfield.collection.collection import Collection


@dataclass(frozen=True, eq=False)
class RelevantOnly:
    """``view`` has the judgments worth something, topic by topic, best grade first; ``origin`` is which they are.

    Topic ``t`` owns judgments ``edges[t]`` to ``edges[t + 1]``, and they are its ideal list.
    """

    view: View
    origin: Array
    edges: Array


def keep_relevant(collection: Collection) -> RelevantOnly:
    """The collection reduced to documents with a grade above 0, for measures that look at nothing else."""
    grade, topic = np.asarray(collection.arrays["grade"]), collection.judged_topic
    worth = np.flatnonzero(grade > 0)
    origin = worth[np.lexsort((-grade[worth], topic[worth]))]
    number = np.full(len(grade), -1, np.int32)
    number[origin] = np.arange(len(origin), dtype=np.int32)
    hits = collection.hits("found")
    judgment = number[hits.judgment]
    there = judgment >= 0  # a hit may be worth something for an intent alone
    view = replace(
        collection.whole,
        unit=topic[origin],
        grade=grade[origin],
        intents=None,
        stratum=None,
        found=Hits(
            np.concatenate([[0], np.cumsum(there)])[hits.edges].astype(np.int64),
            hits.rank[there].astype(np.uint32),
            judgment[there].astype(np.uint32),
        ),
    )
    counts = np.bincount(topic[origin], minlength=len(collection.topics))
    return RelevantOnly(view, origin, np.concatenate([[0], np.cumsum(counts)]))


Everything = Callable[[], Array]
"""Which judgments of the whole collection are kept; asked for by the measures that look at more than grades above 0."""


@dataclass(frozen=True, eq=False)
class Rescorer:
    """What stays the same from one set of judgments to the next, for several measures of one collection."""

    collection: Collection
    measures: tuple[Measure, ...]
    times: int

    def __post_init__(self) -> None:
        self.collection.refuse_averaged_ties("scoring under fewer judgments")
        require_judgments(self.collection, self.measures)

    def __reduce__(self) -> tuple[Any, ...]:
        """Whatever can be made again is made again where it is needed."""
        return type(self), (self.collection, self.measures, self.times)

    @cached_property
    def relevant_only(self) -> RelevantOnly:
        return keep_relevant(self.collection)

    @cached_property
    def made(self) -> tuple[Recipe | None, ...]:
        """The recipe of every measure, None for those without."""
        return tuple(kept_recipe(self.relevant_only.view, measure) for measure in self.measures)

    @cached_property
    def at_threshold(self) -> tuple[Array | None, ...]:
        """Which judgments of ``relevant_only`` are relevant to every measure; None where all of them are."""
        grade = self.relevant_only.view.grade
        masks = [None if each.kind.per_intent else relevant_grades(each, grade) for each in self.measures]
        return tuple(None if mask is None or mask.all() else mask for mask in masks)

    @cached_property
    def recipes(self) -> Recipes:
        return Recipes.gather([made for made in self.made if made is not None])

    @cached_property
    def compiled(self) -> bool:
        """Whether the loops are run as machine code: a matter of how much there is to do in all."""
        steps = len(self.relevant_only.view.found.rank) + len(self.collection.topics) * len(self.collection.systems)
        return pays(self.times * steps * (len(self.measures) + 1))

    def run(self, kernel: Kernel) -> Callable[..., Any]:
        return kernel.compiled if self.compiled else kernel.interpreted

    def prepare(self, *more: Kernel) -> None:
        """Have everything that threads share ready before they start, so that none of it is made twice."""
        self.buffers()
        for kernel in more:
            self.run(kernel)

    def buffers(self) -> ScoringBuffers:
        """Arrays to score with; every thread needs its own."""
        return ScoringBuffers(self)


class ScoringBuffers:
    """Arrays that hold one set of judgments at a time, used over and over."""

    def __init__(self, rescorer: Rescorer) -> None:
        self._all, view = rescorer, rescorer.relevant_only.view
        hits, worth, topics = len(view.found.rank), len(view.grade), view.topics
        self._trim, self._best, self._follow = map(rescorer.run, (lists.trim, lists.best, kernels.follow))
        # Unsigned, as in that view: machine code then need not look whether an index counts from the end.
        self._rank, self._judgment = np.empty(hits, np.uint32), np.empty(hits, np.uint32)
        self._ideal_edges = np.zeros(topics + 1, np.int64)
        self._ideal_rank, self._ideal_judgment = np.empty(worth, np.uint32), np.empty(worth, np.uint32)
        # room for the gains of ideal lists added up, and for the relevant documents, cutoff and divisor of a topic
        self._room = np.zeros(worth), np.zeros(topics, np.int64), np.zeros(topics, np.int64), np.zeros(topics)

    def relevant(self, everything: Everything) -> Array:
        """How many documents with a grade above 0 each topic has left; for an intent, where there are no others."""
        collection = self._all.collection
        if len(self._all.relevant_only.origin) or collection.intents is None:
            return self._ideal_edges[1:] - self._ideal_edges[:-1]
        worth = relevant_judgments(collection.arrays) & everything()
        return np.bincount(collection.judged_topic[worth], minlength=len(collection.topics))

    def alive(self, kept: Array, everything: Everything) -> list[Array]:
        """For every measure, which topics have a document left that is relevant to it; ``kept`` as it was scored."""
        view, usual = self._all.relevant_only.view, self.relevant(everything) > 0
        return [
            usual if mask is None else np.bincount(view.unit[mask & (kept > 0)], minlength=view.topics) > 0
            for mask in self._all.at_threshold
        ]

    def score(
        self, kept: Array, systems: Sequence[int] | Array, everything: Everything, *, depth: int = NO_CUTOFF
    ) -> list[Array]:
        """Topics × the chosen systems for every measure, under the judgments ``kept`` of ``relevant_only``.

        Lists are cut at ``depth``.
        """
        view = self._all.relevant_only.view
        chosen = np.ascontiguousarray(systems, np.int64)
        edges = np.empty(view.topics * len(chosen) + 1, np.int64)
        found = view.found
        self._trim(
            0,
            view.topics,
            view.systems,
            chosen,
            depth,
            found.edges,
            found.rank,
            found.judgment,
            kept,
            edges,
            self._rank,
            self._judgment,
        )
        self._best(
            0,
            view.topics,
            self._all.relevant_only.edges,
            kept,
            self._ideal_edges,
            self._ideal_rank,
            self._ideal_judgment,
        )
        followed = iter(self._followed(edges, len(chosen)))
        return [
            self._in_full(measure, chosen, everything(), depth) if made is None else next(followed)
            for measure, made in zip(self._all.measures, self._all.made, strict=True)
        ]

    def _followed(self, edges: Array, systems: int) -> Array:
        """The measures that have a recipe, × topics × systems."""
        made, topics = self._all.recipes, self._all.relevant_only.view.topics
        score = np.empty((len(made.walk), topics * systems))
        self._follow(
            0,
            len(score),
            topics,
            systems,
            edges,
            self._rank,
            self._judgment,
            self._ideal_edges,
            self._ideal_rank,
            self._ideal_judgment,
            made.walk,
            made.over,
            made.cutoff,
            made.cut_at_relevant,
            made.beta,
            made.most,
            made.gain,
            made.weight,
            *self._room,
            score,
        )
        return score.reshape(-1, topics, systems)

    def _in_full(self, measure: Measure, chosen: Array, kept: Array, depth: int) -> Array:
        """The long way, for a measure without a recipe."""
        reduced = self._all.collection.keeping(kept)
        if depth < NO_CUTOFF:
            reduced = reduced.cut(depth)
        values = score_view(reduced.whole, [measure])[0, :, :, 0]
        return np.ascontiguousarray(values[:, chosen])
