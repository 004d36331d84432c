"""Scoring the same lists again and again under fewer judgments: the lists stay, only what is kept of them changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.collection import Collection
from cranfield.collection import kernels as lists
from cranfield.collection.lean import Lean, make_lean
from cranfield.compiled import Kernel, pays
from cranfield.measures import Measure, kernels
from cranfield.measures.lists import NO_CUTOFF
from cranfield.measures.recipes import Over, Recipe, recipe
from cranfield.scores.scoring import score_view

Array = npt.NDArray[Any]
Everything = Callable[[], Array]
"""Which judgments of the whole collection are kept; asked for by the measures that look at more than grades above 0."""


@dataclass(frozen=True, eq=False)
class Rescorer:
    """What stays the same from one set of judgments to the next, for several measures of one collection."""

    collection: Collection
    measures: tuple[Measure, ...]
    times: int

    @cached_property
    def lean(self) -> Lean:
        return make_lean(self.collection)

    @cached_property
    def recipes(self) -> tuple[Recipe | None, ...]:
        return tuple(recipe(self.lean.view, measure) for measure in self.measures)

    @cached_property
    def compiled(self) -> bool:
        """Whether the loops are run as machine code: a matter of how much there is to do in all."""
        steps = len(self.lean.view.found.rank) + len(self.collection.topics) * len(self.collection.systems)
        return pays(self.times * steps * (len(self.measures) + 1))

    def run(self, kernel: Kernel) -> Callable[..., Any]:
        return kernel.compiled if self.compiled else kernel.interpreted

    def bench(self) -> Workbench:
        """A place to work at; every thread needs its own."""
        return Workbench(self)


class Workbench:
    """Room for one set of judgments at a time, used over and over."""

    def __init__(self, rescorer: Rescorer) -> None:
        self._all, view = rescorer, rescorer.lean.view
        hits, worth, topics = len(view.found.rank), len(view.grade), view.topics
        run = rescorer.run
        self._trim, self._best, self._cumulate, self._divide = map(
            run, (lists.trim, lists.best, kernels.cumulate, kernels.divide)
        )
        self._walks = [None if made is None else run(made.walk) for made in rescorer.recipes]
        # One more than there can be: a hit that is not kept is written too, and then written over.
        self._rank, self._judgment = np.empty(hits + 1, np.int32), np.empty(hits + 1, np.int32)
        self._ideal_rank, self._ideal_judgment = np.empty(worth + 1, np.int32), np.empty(worth + 1, np.int32)
        self._ideal_edges, self._running = np.zeros(topics + 1, np.int64), np.zeros(worth + 1)
        self._count, self._by = np.zeros(topics, np.int64), np.zeros(topics)
        self._cutoffs = [
            np.full(topics, NO_CUTOFF if made is None else made.cutoff, np.int64) for made in rescorer.recipes
        ]
        self._none = np.zeros(topics + 1, np.int64), np.zeros(1)

    @property
    def relevant(self) -> Array:
        """How many documents with a grade above 0 each topic has left."""
        return np.diff(self._ideal_edges)

    def score(
        self, kept: Array, systems: Sequence[int] | Array, everything: Everything, *, depth: int = NO_CUTOFF
    ) -> list[Array]:
        """Topics × the chosen systems for every measure, under the judgments ``kept`` of the lean collection.

        Lists are cut at ``depth``.
        """
        view = self._all.lean.view
        chosen = np.ascontiguousarray(systems, np.int64)
        edges = np.empty(view.topics * len(chosen) + 1, np.int64)
        found = view.found
        self._trim(
            0, view.topics, view.systems, chosen, depth, found.edges, found.rank, found.judgment, kept,
            edges, self._rank, self._judgment,
        )  # fmt: skip
        self._best(
            0, view.topics, self._all.lean.edges, kept, self._ideal_edges, self._ideal_rank, self._ideal_judgment
        )
        return [self._one(at, edges, chosen, everything, depth) for at in range(len(self._all.measures))]

    def _one(self, at: int, edges: Array, chosen: Array, everything: Everything, depth: int) -> Array:
        made = self._all.recipes[at]
        if made is None:
            return self._in_full(self._all.measures[at], chosen, everything(), depth)
        topics, systems = self._all.lean.view.topics, len(chosen)
        score = np.zeros(topics * systems)
        cutoff = self._cutoffs[at]
        if made.cumulates or made.over in (Over.RELEVANT, Over.RELEVANT_OR_CUTOFF):
            self._cumulate(0, topics, self._ideal_edges, self._ideal_judgment, made.gain, self._running, self._count)
        if made.cut_at_relevant:
            cutoff = self._count
        ideal = (self._ideal_edges, self._running) if made.cumulates else self._none
        walk, arguments = self._walks[at], made.arguments(cutoff, *ideal)
        assert walk is not None
        walk(0, topics * systems, systems, 1, edges, self._rank, self._judgment, *arguments, score)
        if made.over is not Over.NOTHING:
            self._divide(0, topics, systems, self._divisor(made, walk, arguments), made.most, score)
        return score.reshape(topics, systems)

    def _divisor(self, made: Recipe, walk: Callable[..., Any], arguments: tuple[Any, ...]) -> Array:
        if made.over is Over.IDEAL:
            ideal = (self._ideal_edges, self._ideal_rank, self._ideal_judgment)
            walk(0, len(self._by), 1, 1, *ideal, *arguments, self._by)
        elif made.over is Over.CUTOFF:
            self._by[:] = made.cutoff
        elif made.over is Over.RELEVANT:
            self._by[:] = self._count
        else:
            np.minimum(self._count, made.cutoff, out=self._by)
        return self._by

    def _in_full(self, measure: Measure, chosen: Array, kept: Array, depth: int) -> Array:
        """The long way, for a measure without a recipe."""
        reduced = self._all.collection.keeping(kept)
        if depth < NO_CUTOFF:
            reduced = reduced.cut(depth)
        values = score_view(reduced.whole, [measure])[0, :, :, 0]
        return np.ascontiguousarray(values[:, chosen])
