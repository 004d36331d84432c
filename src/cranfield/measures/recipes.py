"""A measure taken apart, for those who score the same lists time and again under other judgments.

Scoring a view once prepares gains, weights and ideal lists for it. Under the next set of judgments most of that is
the same, so a recipe keeps it: which loop walks the lists, what every judgment is worth, what weight every rank has,
and what the sum is divided by. What it gives is what the measure itself gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from cranfield.collection import View
from cranfield.measures import kernels
from cranfield.measures.cascade import stop_probability
from cranfield.measures.declaration import Measure
from cranfield.measures.lists import NO_CUTOFF, binary, discounts, gain_of, highest_gain
from cranfield.measures.precision import ones
from cranfield.measures.rank_biased import persistence
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


def recipe(view: View, measure: Measure) -> Recipe | None:
    """The recipe of a measure, or None where it has none: it needs all judged documents, intents, or its own ideal.

    ``view`` has its judgments topic by topic, best grade first, so that an ideal list is simply what is left of them.
    """
    make = _MAKERS.get(measure.kind.name)
    if make is None:
        return None
    made = make(view, measure)
    falls = np.diff(made.gain) <= 0
    return made if bool((falls | (np.diff(view.unit) != 0)).all()) else None


def _cut(measure: Measure) -> int:
    return NO_CUTOFF if measure.k is None else measure.k


def _average_precision(view: View, measure: Measure) -> Recipe:
    capped = measure["norm"] == "min" and measure.k is not None
    over = Over.RELEVANT_OR_CUTOFF if capped else Over.RELEVANT
    return Recipe(Walk.BLENDED, binary(view, measure["rel"]), over, _cut(measure), beta=0.0)


def _precision(view: View, measure: Measure) -> Recipe:
    return Recipe(Walk.WEIGHTED, binary(view, measure["rel"]), Over.CUTOFF, _cut(measure), ones(view))


def _recall(view: View, measure: Measure) -> Recipe:
    return Recipe(Walk.WEIGHTED, binary(view, measure["rel"]), Over.RELEVANT, _cut(measure), ones(view))


def _r_precision(view: View, measure: Measure) -> Recipe:
    gain = binary(view, measure["rel"])
    return Recipe(Walk.WEIGHTED, gain, Over.RELEVANT, weight=ones(view), cut_at_relevant=True)


def _reciprocal_rank(view: View, measure: Measure) -> Recipe:
    return Recipe(Walk.FIRST_RELEVANT, binary(view, measure["rel"]), Over.NOTHING, _cut(measure))


def _ndcg(view: View, measure: Measure) -> Recipe:
    log, cutoff = (None, 1) if measure.kind.name == "nG@1" else (measure["log"], _cut(measure))
    gain = gain_of(view.grade, measure["gains"])
    return Recipe(Walk.WEIGHTED, gain, Over.IDEAL, cutoff, discounts(view, log), most=1.0)


def _q_measure(view: View, measure: Measure) -> Recipe:
    over = Over.RELEVANT if measure.k is None else Over.RELEVANT_OR_CUTOFF
    gain = gain_of(view.grade, measure["gains"])
    return Recipe(Walk.BLENDED, gain, over, _cut(measure), beta=float(measure["beta"]))


def _p_plus(view: View, measure: Measure) -> Recipe:
    gain = gain_of(view.grade, measure["gains"])
    return Recipe(Walk.PREFERRED, gain, Over.NOTHING, beta=float(measure["beta"]))


def _err(view: View, measure: Measure) -> Recipe:
    over = Over.IDEAL if measure.kind.name == "nERR" else Over.NOTHING
    return Recipe(Walk.CASCADE, stop_probability(view, measure), over, _cut(measure))


def _rbp(view: View, measure: Measure) -> Recipe:
    if measure["gains"] == "binary":
        gain = binary(view, measure["rel"])
    else:
        gain = gain_of(view.grade, measure["gains"]) / (highest_gain(view, measure) or 1.0)
    return Recipe(Walk.WEIGHTED, gain, Over.NOTHING, _cut(measure), persistence(view, measure["p"]))


_MAKERS: dict[str, Callable[[View, Measure], Recipe]] = {
    "AP": _average_precision,
    "P": _precision,
    "R": _recall,
    "Rprec": _r_precision,
    "RR": _reciprocal_rank,
    "nDCG": _ndcg,
    "nG@1": _ndcg,
    "Q": _q_measure,
    "P+": _p_plus,
    "ERR": _err,
    "nERR": _err,
    "RBP": _rbp,
}
