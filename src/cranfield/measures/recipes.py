"""A measure as a recipe: which loop walks the lists, what every judgment and rank is worth, what the sum is divided by.

A recipe is all that such a measure declares. `follow` scores a view by it; those who score the same lists time and
again under other judgments keep the recipe, and gather several into one loop (`Recipes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from cranfield.collection import View
from cranfield.measures import kernels
from cranfield.measures.declaration import Measure
from cranfield.measures.lists import NO_CUTOFF, cumulated, divide, ideal, per_unit, run, spread_units
from cranfield.types import Array


class Walk(IntEnum):
    """The loop that walks the lists."""

    WEIGHTED = kernels.WEIGHTED
    BLENDED = kernels.BLENDED
    PREFERRED = kernels.PREFERRED
    FIRST_RELEVANT = kernels.FIRST_RELEVANT
    CASCADE = kernels.CASCADE


class Over(IntEnum):
    """What a sum is divided by: nothing, k, the relevant documents R, min(k, R), or what the ideal list has."""

    NOTHING = kernels.NOTHING
    CUTOFF = kernels.CUTOFF
    RELEVANT = kernels.RELEVANT
    RELEVANT_OR_CUTOFF = kernels.RELEVANT_OR_CUTOFF
    IDEAL = kernels.IDEAL


@dataclass(frozen=True, eq=False)
class Recipe:
    """One measure over one view: ``gain`` by judgment, ``weight`` by rank; ``beta`` for the blended ratios alone."""

    walk: Walk
    gain: Array
    over: Over
    cutoff: int = NO_CUTOFF
    weight: Array = field(default_factory=lambda: np.zeros(0))
    beta: float = 0.0
    most: float = np.inf
    cut_at_relevant: bool = False


@dataclass(frozen=True, eq=False)
class Recipes:
    """Several recipes side by side, as the loop that follows them all takes them."""

    walk: Array
    over: Array
    cutoff: Array
    cut_at_relevant: Array
    beta: Array
    most: Array
    gain: Array
    weight: Array

    @classmethod
    def gather(cls, made: Sequence[Recipe]) -> Recipes:
        longest = max((len(each.weight) for each in made), default=0)
        weight = np.zeros((len(made), max(longest, 1)))
        for row, each in zip(weight, made, strict=True):
            row[: len(each.weight)] = each.weight
        return cls(
            np.array([each.walk for each in made], np.int64),
            np.array([each.over for each in made], np.int64),
            np.array([each.cutoff for each in made], np.int64),
            np.array([each.cut_at_relevant for each in made], np.bool_),
            np.array([each.beta for each in made], np.float64),
            np.array([each.most for each in made], np.float64),
            np.stack([each.gain for each in made]).astype(np.float64) if made else np.empty((0, 0)),
            weight,
        )


def compute(view: View, measure: Measure) -> Array:
    """Topics × systems × shards of a measure, by its recipe or by its own function."""
    kind = measure.kind
    return kind.compute(view, measure) if kind.recipe is None else follow(view, kind.recipe(view, measure))


def follow(view: View, made: Recipe) -> Array:
    """Topics × systems × shards of a view by a recipe."""
    needed = per_unit(view, made.gain > 0)
    cutoff = needed if made.cut_at_relevant else np.full(view.units, made.cutoff, np.int64)
    score = _walk(view, view, made, cutoff)
    if made.over is Over.CUTOFF:
        score /= made.cutoff
    elif made.over is Over.RELEVANT:
        divide(score, spread_units(view, needed))
    elif made.over is Over.RELEVANT_OR_CUTOFF:
        divide(score, spread_units(view, np.minimum(needed, cutoff)))
    elif made.over is Over.IDEAL:
        divide(score, spread_units(view, _walk(view, ideal(view, made.gain), made, cutoff).ravel()))
    return score if made.most == np.inf else np.minimum(score, made.most)


def _walk(view: View, lists: View, made: Recipe, cutoff: Array) -> Array:
    """The sums over the ``lists`` of a view, or over its ideal ones."""
    if made.walk is Walk.WEIGHTED:
        return run(kernels.weighted, lists, made.gain, made.weight, cutoff)
    if made.walk is Walk.BLENDED:
        best = cumulated(view, made.gain) if made.beta else (np.zeros(view.units + 1, np.int64), np.zeros(1))
        return run(kernels.blended, lists, made.gain, cutoff, made.beta, *best)
    if made.walk is Walk.PREFERRED:
        return run(kernels.preferred, lists, made.gain, made.beta, *cumulated(view, made.gain))
    return run(
        kernels.first_relevant if made.walk is Walk.FIRST_RELEVANT else kernels.cascade, lists, made.gain, cutoff
    )


def kept_recipe(view: View, measure: Measure) -> Recipe | None:
    """The recipe of a measure, or None where it has none: it needs all judged documents, intents, or its own ideal.

    ``view`` has its judgments topic by topic, best grade first, so that an ideal list is simply what is left of them.
    """
    if measure.kind.recipe is None:
        return None
    made = measure.kind.recipe(view, measure)
    falls = np.diff(made.gain) <= 0
    return made if bool((falls | (np.diff(view.unit) != 0)).all()) else None


def cutoff_of(measure: Measure) -> int:
    return NO_CUTOFF if measure.k is None else measure.k
