"""A measure as a recipe: which loop walks the lists, what judgments and ranks are worth, what is divided by what."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any

import numpy as np

from cranfield.collection import Hits, View
from cranfield.errors import RequestError
from cranfield.formats.qrels import plain_grade
from cranfield.measures import kernels
from cranfield.measures.declaration import Measure, Parameter, read_grade
from cranfield.runtime.compiled import Kernel
from cranfield.types import Array

NO_CUTOFF = np.iinfo(np.int32).max


_TIED = {
    kernels.weighted: kernels.weighted_tied,
    kernels.blended: kernels.blended_tied,
    kernels.first_relevant: kernels.first_relevant_tied,
    kernels.preference_tied: kernels.preference_tied,
    kernels.any_tied: kernels.any_tied,
}
"""Where ties are averaged, the kernels of expected values in place of the others."""


def run(kernel: Kernel, view: View, *arguments: Any, hits: Hits | None = None) -> Array:
    """One kernel over a whole view, or over other ``hits`` of it; the answer is topics × systems × shards."""
    score: Array = run_into(1, kernel, view, *arguments, hits=hits)[0]
    return score


def run_rows(rows: int, kernel: Kernel, view: View, *arguments: Any) -> Array:
    """One kernel that writes several ``rows`` of scores; the answer is rows × topics × systems × shards."""
    segments = view.topics * view.systems * view.shards
    scores = np.empty((rows, segments), np.float64)
    run_onto((scores,), kernel, view, *arguments)
    return scores.reshape(rows, view.topics, view.systems, view.shards)


def run_into(count: int, kernel: Kernel, view: View, *arguments: Any, hits: Hits | None = None) -> Array:
    """One kernel that writes ``count`` scores for every list; the answer is count × topics × systems × shards."""
    scores = np.zeros((count, view.topics * view.systems * view.shards), np.float64)
    run_onto(tuple(scores), kernel, view, *arguments, hits=hits)
    return scores.reshape(count, view.topics, view.systems, view.shards)


def run_onto(written: Sequence[Array], kernel: Kernel, view: View, *arguments: Any, hits: Hits | None = None) -> None:
    """One kernel over a whole view, or over other ``hits`` of it, which writes to these arrays."""
    hits = view.found if hits is None else hits
    if view.ties is not None:
        kernel = _TIED[kernel]
        arguments = (*view.ties.around(hits), *arguments)
    segments = view.topics * view.systems * view.shards
    kernel(
        view.topics * view.systems,
        view.systems,
        view.shards,
        hits.edges,
        _unsigned(hits.rank),
        _unsigned(hits.judgment),
        *arguments,
        *written,
        work=len(hits.rank) + segments,
    )


def _unsigned(places: Array) -> Array:
    """The same numbers as an index that cannot be below 0, which machine code need not check."""
    return places.view(np.uint32) if places.dtype == np.int32 else places


def shared(view: View, make: Callable[[], Array], *key: object) -> Array:
    """An array that several measures of a view use, made once and known by its ``key``."""
    if key not in view.shared:
        made = make()
        made.flags.writeable = False
        view.shared[key] = made
    kept: Array = view.shared[key]
    return kept


def cut(view: View, k: int | None) -> Array:
    """The same cutoff for every unit."""
    return np.full(view.units, NO_CUTOFF if k is None else k, np.int64)


def whole_share(share: float, count: Array) -> Array:
    """A share of a number of documents as a number of documents: rounded up from a tenth on, as trec_eval 9 does."""
    return np.floor(share * count + 0.9).astype(np.int64)


def _once(view: View, gain: Array, make: Callable[[View, Array], Any]) -> Any:
    """What follows from a gain, made once where the gain is shared."""
    if gain.flags.writeable:  # it may change, and nobody else has it
        return make(view, gain)
    key = make, id(gain)
    if key not in view.shared:
        view.shared[key] = gain, make(view, gain)  # with the gain, so that its id stays its own
    return view.shared[key][1]


def _needed(view: View, gain: Array) -> Array:
    return per_unit(view, gain > 0)


def relevant_per_unit(view: View, rel: float) -> Array:
    """How many relevant documents each unit has."""
    return shared(view, lambda: per_unit(view, relevant(view, rel)), "relevant", rel)


def per_unit(view: View, chosen: Array) -> Array:
    """How many of the chosen judgments each unit has."""
    return np.bincount(view.unit[chosen], minlength=view.units)


def spread_units(view: View, per_unit_values: Array) -> Array:
    """A value a unit, shaped to divide scores of topics × systems × shards."""
    return per_unit_values.reshape(view.topics, 1, view.shards)


def divide(score: Array, by: Array) -> Array:
    """score / by, in place. Where there is nothing to divide by there is nothing to find, and the score stays 0."""
    score /= np.where(by > 0, by, 1)
    return score


def relevant(view: View, rel: float) -> Array:
    """Which judgments say relevant."""
    return view.grade >= rel


def binary(view: View, rel: float) -> Array:
    """Gain 1 for what is relevant."""
    return shared(view, lambda: relevant(view, rel).astype(np.float64), "binary", rel)


def graded(view: View, gains: str) -> Array:
    """What every judgment is worth, see `gain_of`."""
    return shared(view, lambda: gain_of(view.grade, gains), "graded", gains)


def read_gains(text: str) -> str:
    """``linear``, ``exp``, or a table ``1:1,2:3``, whose grades may be fractional."""
    if text in ("linear", "exp"):
        return text
    try:
        table = _table(text)
    except ValueError:
        table = {}
    if not table or not all(0 <= gain < 1e9 for gain in table.values()):
        raise ValueError("linear, exp, or a table of grade:gain such as 1:1,2:3")
    return text


def _table(text: str) -> dict[float, float]:
    if not text.isascii():
        raise ValueError(text)
    pairs = (pair.split(":") for pair in text.split(","))
    return {read_grade(grade): float(gain) for grade, gain in pairs}


GAINS = Parameter(
    "gains", "linear", "what a grade x is worth: linear (x), exp (2^x − 1), or a table such as 1:1,2:3", read_gains
)


def gain_of(grade: Array, gains: str) -> Array:
    """What grades are worth; 0 and less are worth nothing, and so is a whole grade that a table leaves out.

    A fractional grade that a table leaves out is refused: it lies between grades that are worth something.
    """
    positive = np.maximum(grade, 0).astype(np.float64)
    if gains == "linear":
        return positive
    if gains == "exp":
        return np.exp2(positive) - 1.0 if grade.dtype.kind == "i" else _exponential(positive)
    table = _table(gains)
    if grade.dtype.kind == "f":
        _check_listed(positive, table, gains)
    worth = np.zeros(len(positive))
    for value, gain in table.items():
        worth[grade == value] = gain
    return worth


def _exponential(grade: Array) -> Array:
    """2^x − 1: whole grades as they always are, others without the cancellation that would cut small ones to 0."""
    return np.where(grade % 1 == 0, np.exp2(grade) - 1.0, np.expm1(grade * np.log(2.0)))


def _check_listed(grade: Array, table: Mapping[float, float], gains: str) -> None:
    missing = grade[(grade % 1 != 0) & ~np.isin(grade, list(table))]
    if len(missing):
        shown = ", ".join(map(repr, np.unique(missing)[:5].tolist()))
        raise RequestError(
            f"gains={gains} does not say what {len(missing):,} judgments with fractional grades are worth ({shown})",
            fix="Add them to the table, or use gains=linear, which takes grades as they are.",
        )


def highest_gain(view: View, measure: Measure) -> float:
    """The gain of the highest grade: as the measure says (``max``), else the highest of the whole collection."""
    top = measure["max"]
    grade = view.highest_grade if top is None else top
    if top is not None and view.grade.max(initial=0) > grade:
        found = plain_grade(view.grade.max().item())
        raise RequestError(f"{measure} says grades end at {grade}, but the judgments have {found}")
    if measure["gains"] not in ("linear", "exp"):
        return max(_table(measure["gains"]).values())
    return float(gain_of(np.array([grade]), measure["gains"])[0])


def discounts(view: View, base: float | None) -> Array:
    """1 / log2(r + 1); with a base b, 1 before rank b and 1 / log_b(r) from there (Järvelin & Kekäläinen)."""
    return shared(view, lambda: _discounts(view, base), "discounts", base)


def _discounts(view: View, base: float | None) -> Array:
    ranks = np.arange(max(view.deepest, len(view.grade), 1) + 1, dtype=np.float64)
    ranks[0] = 1.0  # there is no rank 0
    if base is None:
        return 1.0 / np.log2(ranks + 1.0)
    return np.where(ranks < base, 1.0, np.log(base) / np.log(np.maximum(ranks, base)))


def ideal(view: View, gain: Array) -> View:
    """The best list there could be in every unit, as a view with one system: gains descending."""
    best: View = _once(view, gain, _ideal)
    return best


def _ideal(view: View, gain: Array) -> View:
    worth = np.flatnonzero(gain > 0)
    order = worth[np.lexsort((-gain[worth], view.unit[worth]))]
    counts = np.bincount(view.unit[order], minlength=view.units)
    return ideal_of_order(view, order, counts)


def ideal_of_order(view: View, order: Array, counts: Array) -> View:
    """The view whose lists are ``order``, cut into units of ``counts``."""
    edges = np.concatenate([[0], np.cumsum(counts)])
    rank = (np.arange(len(order)) - np.repeat(edges[:-1], counts) + 1).astype(np.int32)
    found = Hits(edges, rank, order.astype(np.int32))
    deepest = int(counts.max(initial=0))
    return replace(view, systems=1, found=found, deepest=deepest, load_length=lambda: counts, ties=None)


def cumulated(view: View, gain: Array) -> tuple[Array, Array]:
    """cg*: the gains of the ideal list added up, unit by unit, with the edges of the units."""
    best = ideal(view, gain).found
    running = np.cumsum(gain[best.judgment])
    before = np.concatenate([[0.0], running])[best.edges[:-1]]
    return best.edges, running - np.repeat(before, np.diff(best.edges))


@dataclass(frozen=True, eq=False)
class Places:
    """Hits as flat arrays, for measures that are computed by whole arrays: ``segment``, ``unit`` and ``rank`` of each.

    ``counted`` is how many there are up to each of them in its list, itself included.
    """

    segment: Array
    unit: Array
    rank: Array
    judgment: Array
    counted: Array

    def where(self, chosen: Array) -> Places:
        """Only some of the hits, counted as before."""
        return Places(*(getattr(self, name)[chosen] for name in ("segment", "unit", "rank", "judgment", "counted")))


def segment_units(view: View) -> Array:
    """The unit of every segment."""
    segments = np.arange(view.topics * view.systems * view.shards)
    return segments // (view.systems * view.shards) * view.shards + segments % view.shards


def places(view: View, gain: Array, hits: Hits | None = None) -> Places:
    """The hits with a gain, best first in every list."""
    hits = view.found if hits is None else hits
    segments = np.repeat(np.arange(view.topics * view.systems * view.shards), np.diff(hits.edges))
    chosen = np.flatnonzero(gain[hits.judgment] > 0)
    segment = segments[chosen]
    counted = np.arange(1, len(chosen) + 1) - np.searchsorted(segment, segment)
    unit = segment_units(view)[segment]
    return Places(segment, unit, hits.rank[chosen].astype(np.int64), hits.judgment[chosen], counted)


def add_up(view: View, found: Places, worth: Array) -> Array:
    """Topics × systems × shards: what the hits of each list are worth together."""
    sums = np.bincount(found.segment, worth, view.topics * view.systems * view.shards)
    return sums.astype(np.float64, copy=False).reshape(view.topics, view.systems, view.shards)  # of none it is whole


def running(view: View, found: Places, worth: Array) -> Array:
    """What the hits of a list are worth together down to each of them, added list by list."""
    edges = np.searchsorted(found.segment, np.arange(view.topics * view.systems * view.shards + 1))
    sums, counts = np.zeros(len(worth)), np.zeros(len(edges) - 1, np.int64)
    kernels.cumulate(len(edges) - 1, edges, np.arange(len(worth)), worth, sums, counts, work=len(worth) + len(edges))
    return sums


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
    multiple: float | None = None  # of the relevant documents, at which lists are cut

    @property
    def cut(self) -> tuple[object, ...]:
        """What says where lists are cut."""
        return self.cutoff, self.cut_at_relevant, self.multiple

    def cutoffs(self, relevant: Array) -> Array:
        """The rank at which the lists of each unit are cut, given how many ``relevant`` documents each has."""
        if self.multiple is not None:
            return whole_share(self.multiple, relevant)
        return relevant if self.cut_at_relevant else np.full(len(relevant), self.cutoff, np.int64)


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


def is_condensed(measure: Measure) -> bool:
    """Whether a measure looks at judged documents only."""
    return bool(dict(measure.values).get("judged_only", False))


def compute_all(view: View, measures: Sequence[Measure]) -> Iterator[tuple[int, Array]]:
    """Topics × systems × shards of every measure, with its place among them; those that can share a pass do.

    They come as they are computed, in any order, so that not all of them need be in memory.
    """
    for measure in measures:
        if view.ties is not None and not measure.kind.averages_ties:
            raise _without_average(measure)
    for condensed in (False, True):
        places = [at for at, measure in enumerate(measures) if is_condensed(measure) == condensed]
        if places:
            lists = view.condensed if condensed else view
            for at, score in _compute_lists(lists, [measures[at] for at in places]):
                yield places[at], score


def _compute_lists(view: View, measures: Sequence[Measure]) -> Iterator[tuple[int, Array]]:
    """By recipes, by passes that several measures share, or each by its own function; and finished."""
    for at, score in _unfinished(view, measures):
        finish = measures[at].kind.finish
        yield at, score if finish is None else finish(view, measures[at], score)


def _unfinished(view: View, measures: Sequence[Measure]) -> Iterator[tuple[int, Array]]:
    recipes: dict[int, Recipe] = {}
    passes: dict[Any, list[int]] = {}
    for at, measure in enumerate(measures):
        made = None if measure.kind.recipe is None else measure.kind.recipe(view, measure)
        if made is not None:
            recipes[at] = made
        elif measure.kind.together is not None:
            passes.setdefault(measure.kind.together, []).append(at)
        else:
            yield at, measure.kind.compute(view, measure)
    yield from follow_all(view, recipes)
    for together, places in passes.items():
        yield from zip(places, together(view, [measures[at] for at in places]), strict=True)


def _without_average(measure: Measure) -> RequestError:
    from cranfield.measures.catalog import CATALOG

    able = ", ".join(kind.name for kind in CATALOG.values() if kind.averages_ties)
    return RequestError(
        f"{measure} has no expected value over the orders of tied documents",
        fix=f'With `ties="average"` there are: {able}.',
    )


def follow(view: View, made: Recipe) -> Array:
    """Topics × systems × shards by one recipe."""
    return next(score for _, score in follow_all(view, {0: made}))


def follow_all(view: View, recipes: Mapping[int, Recipe]) -> Iterator[tuple[int, Array]]:
    """Topics × systems × shards by every recipe; those that differ only in where they cut share a pass."""
    alike: dict[tuple[object, ...], dict[int, Recipe]] = {}
    for at, each in recipes.items():
        weight = id(each.weight) if len(each.weight) else 0
        alike.setdefault((each.walk, id(each.gain), weight, each.beta, _is_any(each)), {})[at] = each
    for members in alike.values():
        yield from _follow_alike(view, members)


def _follow_alike(view: View, recipes: Mapping[int, Recipe]) -> Iterator[tuple[int, Array]]:
    """Recipes that differ only in where they cut, and in what they divide by."""
    first = next(iter(recipes.values()))
    needed = _once(view, first.gain, _needed)
    cutoffs = {each.cut: each.cutoffs(needed) for each in recipes.values()}
    sums = dict(zip(cutoffs, _sums(view, view, first, list(cutoffs.values())), strict=True))
    ideals: dict[Any, Array] = {}
    if any(each.over is Over.IDEAL for each in recipes.values()):
        best = _sums(view, ideal(view, first.gain), first, list(cutoffs.values()))
        ideals = dict(zip(cutoffs, best, strict=True))
    for at, each in recipes.items():
        score = sums[each.cut] if len(recipes) == 1 else sums[each.cut].copy()
        by = _divisor(each, needed, cutoffs[each.cut], ideals.get(each.cut))
        if each.over is Over.CUTOFF:
            score /= each.cutoff
        elif by is not None:
            divide(score, spread_units(view, by))
        yield at, score if each.most == np.inf else np.minimum(score, each.most, out=score)


def _divisor(made: Recipe, relevant: Array, cutoff: Array, best: Array | None) -> Array | None:
    """What the sums of each unit are divided by, if anything."""
    if made.over is Over.RELEVANT:
        return relevant
    if made.over is Over.RELEVANT_OR_CUTOFF:
        return np.minimum(relevant, cutoff)
    return best.ravel() if made.over is Over.IDEAL and best is not None else None


def _sums(view: View, lists: View, made: Recipe, cutoffs: Sequence[Array]) -> Sequence[Array]:
    """The sums over the ``lists`` of a view, or over its ideal ones, at each of the cutoffs."""
    if len(cutoffs) == 1 or lists.ties is not None or made.walk in (Walk.PREFERRED, Walk.FIRST_RELEVANT):
        return [_walk(view, lists, made, cutoff) for cutoff in cutoffs]
    ranks = np.stack(cutoffs, axis=1)
    row = np.argsort(ranks, axis=1, kind="stable")
    ascending = np.take_along_axis(ranks, row, axis=1)
    best = _best_gains(view, made)
    how = (made.gain, made.weight, int(made.walk), made.beta, *best, ascending.ravel(), row.ravel(), len(cutoffs))
    return list(run_rows(len(cutoffs), kernels.totals, lists, *how))


def _best_gains(view: View, made: Recipe) -> tuple[Array, Array]:
    """The cumulated gains of ideal lists, where a recipe blends them in."""
    return cumulated(view, made.gain) if made.beta else (np.zeros(view.units + 1, np.int64), np.zeros(1))


def _is_any(made: Recipe) -> bool:
    """Whether a recipe asks if there is any relevant document (Success): its expected value is no sum."""
    return made.over is Over.NOTHING and made.most < np.inf


def _walk(view: View, lists: View, made: Recipe, cutoff: Array) -> Array:
    """The sums over the ``lists`` of a view, or over its ideal ones, at one cutoff."""
    if lists.ties is not None and _is_any(made):
        return run(kernels.any_tied, lists, made.gain, cutoff)
    if made.walk is Walk.WEIGHTED:
        return run(kernels.weighted, lists, made.gain, made.weight, cutoff)
    if made.walk is Walk.BLENDED:
        return run(kernels.blended, lists, made.gain, cutoff, made.beta, *_best_gains(view, made))
    if made.walk is Walk.PREFERRED:
        return run(kernels.preferred, lists, made.gain, made.beta, *cumulated(view, made.gain))
    return run(
        kernels.first_relevant if made.walk is Walk.FIRST_RELEVANT else kernels.cascade, lists, made.gain, cutoff
    )


def kept_recipe(view: View, measure: Measure) -> Recipe | None:
    """The recipe of a measure, or None where it has none: it needs all judged documents, intents, or its own ideal.

    ``view`` has its judgments topic by topic, best grade first, so that an ideal list is simply what is left of them.
    """
    kind = measure.kind
    if kind.recipe is None or kind.finish is not None or is_condensed(measure):
        return None
    made = kind.recipe(view, measure)
    if made is None:
        return None
    falls = np.diff(made.gain) <= 0
    return made if bool((falls | (np.diff(view.unit) != 0)).all()) else None


def cutoff_of(measure: Measure) -> int:
    return NO_CUTOFF if measure.k is None else measure.k
