"""Measures of the C/W/L framework, which model when a reader stops, and rank-biased overlap with other lists."""

from __future__ import annotations

import numpy as np

from cranfield.collection import View
from cranfield.errors import RequestError, there_are
from cranfield.measures import kernels
from cranfield.measures.declaration import (
    Cutoff,
    Measure,
    MeasureKind,
    Parameter,
    between,
    one_of,
    read_flag,
    read_grade,
)
from cranfield.measures.recipes import (
    Over,
    Recipe,
    Walk,
    add_up,
    cutoff_of,
    divide,
    gain_of,
    per_unit,
    places,
    spread_units,
)
from cranfield.types import Array

DEEPEST = 1000  # cwl_eval reads no further, and weighs every rank down to here


def scaled_gain(view: View, measure: Measure) -> Array:
    """Grades from ``min_rel`` to ``max_rel`` as gains from 0 to 1."""
    low = float(measure["min_rel"])
    high = float(view.highest_grade if measure["max_rel"] is None else measure["max_rel"])
    grade = np.clip(np.maximum(view.grade, 0), low, max(high, low))
    return np.asarray((grade - low) / (high - low) if high > low else np.zeros(len(grade)))


def _ranks(view: View) -> Array:
    """Ranks from 0, which is none, down to the deepest that is weighed."""
    return np.arange(max(view.deepest, DEEPEST) + 1, dtype=np.float64)


def _weighed(view: View, measure: Measure, weight: Array, deepest: int) -> Recipe:
    """Gains weighed by rank, the weights of the ranks down to the deepest adding up to 1."""
    weight = np.where(np.arange(len(weight)) <= deepest, weight, 0.0)
    weight[0] = 0.0
    return Recipe(Walk.WEIGHTED, scaled_gain(view, measure), Over.NOTHING, deepest, weight / weight.sum())


def scaled_dcg(view: View, measure: Measure) -> Recipe:
    weight = np.zeros(len(_ranks(view)))
    weight[1:] = 1.0 / np.log2(_ranks(view)[1:] + 1.0)
    return _weighed(view, measure, weight, min(cutoff_of(measure), DEEPEST))


def insq(view: View, measure: Measure) -> Recipe:
    """Weights 1 / (r + 2T − 1)² (Moffat, Scholer & Thomas 2012)."""
    return _weighed(view, measure, 1.0 / np.maximum(_ranks(view) + 2.0 * measure["T"] - 1.0, 1e-9) ** 2, DEEPEST)


def _stopping(view: View, measure: Measure, going_on: Array, goal: float, mode: int) -> Array:
    gain = scaled_gain(view, measure)
    score = np.zeros((view.topics, view.systems, view.shards))
    kernels.stopping(
        view.topics * view.systems,
        view.systems,
        view.shards,
        view.found.edges,
        view.found.rank,
        view.found.judgment,
        gain,
        going_on,
        goal,
        mode,
        DEEPEST,
        score.reshape(-1),
        work=score.size * DEEPEST,
    )
    return score


def _until(view: View, measure: Measure) -> Array:
    """1 before the cutoff and 0 from there on."""
    return (_ranks(view) < cutoff_of(measure)).astype(np.float64)


def inst(view: View, measure: Measure) -> Array:
    return _stopping(view, measure, _ranks(view), float(measure["T"]), kernels.ADAPTIVE)


def bpm(view: View, measure: Measure) -> Array:
    return _stopping(view, measure, _until(view, measure), float(measure["T"]), kernels.PATIENT)


def nearly_err_8(view: View, measure: Measure) -> Array:
    return _stopping(view, measure, _until(view, measure), 0.0, kernels.SATISFIABLE)


def nearly_err_9(view: View, measure: Measure) -> Array:
    rank = _ranks(view)
    return _stopping(view, measure, _until(view, measure) * rank / (rank + 1.0), 0.0, kernels.SATISFIABLE)


def nearly_err_10(view: View, measure: Measure) -> Array:
    return _stopping(view, measure, np.full(len(_ranks(view)), float(measure["p"])), 0.0, kernels.SATISFIABLE)


def nearly_err_11(view: View, measure: Measure) -> Array:
    goal = _ranks(view) + 2.0 * measure["T"]
    return _stopping(view, measure, ((goal - 1.0) / goal) ** 2, 0.0, kernels.SATISFIABLE)


def compatibility(view: View, measure: Measure) -> Array:
    """Rank-biased overlap with the ideal list that is most like the run's (Clarke, Vtyurina & Smucker 2021)."""
    gain = gain_of(view.grade, "linear")
    found = places(view, gain)
    needed = per_unit(view, gain > 0)
    both = np.maximum(found.rank, _ideal_place(view, gain[found.judgment], gain, found.segment, found.unit, found.rank))
    length = view.length.reshape(view.topics, view.systems, view.shards)
    depth = np.maximum(length, spread_units(view, needed))
    depths = np.arange(1, int(depth.max(initial=1)) + 1)
    weight = measure["p"] ** (depths - 1.0)
    agreeing = np.concatenate([[0.0], np.cumsum(weight / depths)])  # Σ p^(d − 1) / d: what one shared document adds
    score = add_up(view, found, agreeing[depth.reshape(-1)[found.segment]] - agreeing[both - 1])
    if not measure["normalize"]:
        return divide(score, np.concatenate([[0.0], np.cumsum(weight)])[depth])
    return divide(score, _own_overlap(agreeing, weight, spread_units(view, needed), depth))


def _own_overlap(agreeing: Array, weight: Array, needed: Array, depth: Array) -> Array:
    """Σ p^(d − 1) · min(d, n) / d: the overlap of an ideal list of n documents with itself."""
    before = np.concatenate([[0.0], np.cumsum(weight)])[needed]
    return np.asarray(before + needed * (agreeing[depth] - agreeing[needed]))


def _ideal_place(view: View, own: Array, gain: Array, segment: Array, unit: Array, rank: Array) -> Array:
    """Where each hit stands in the ideal list: after all better documents and the equal ones above it."""
    order = np.lexsort((rank, -own, segment))
    grades, level = np.unique(gain, return_inverse=True)
    counts = np.bincount(view.unit * len(grades) + level, minlength=view.units * len(grades)).reshape(-1, len(grades))
    better = counts.sum(axis=1, keepdims=True) - np.cumsum(counts, axis=1)
    group = segment[order] * len(grades) + np.searchsorted(grades, own[order])
    first = np.concatenate([[True], np.diff(group) != 0])[: len(group)]
    start = np.maximum.accumulate(np.where(first, np.arange(len(group)), 0))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - start + 1
    return np.asarray(place + better[unit, np.searchsorted(grades, own)])


def _lowest(text: str) -> float:
    return between(0, 1e9)(text)


GOAL = Parameter("T", 1.0, "how much gain a reader wants, in documents of the highest grade", between(0.001, 1e6))
MIN_REL = Parameter("min_rel", 0, "the grade that is worth 0, and all below", _lowest)
MAX_REL = Parameter("max_rel", None, "the grade that is worth 1, and all above (without it: the highest)", read_grade)
PERSISTENCE = Parameter(
    "p", 0.9, "persistence: the probability of reading on after each document", between(0, 0.999999)
)
OVERLAP = Parameter("p", 0.95, "persistence: how slowly the weight of deeper ranks falls", between(0.000001, 0.999999))
NORMALIZE = Parameter("normalize", True, "False: do not divide by the overlap of the ideal list with itself", read_flag)
SCALE = (MIN_REL, MAX_REL)


def rank_biased_overlap(view: View, measure: Measure) -> Array:
    """The overlap of every list with that of one system (Webber, Moffat & Zobel 2010)."""
    lists = view.load_lists()
    to = lists.systems[0] if measure["to"] is None else measure["to"]
    if to not in lists.systems:
        raise RequestError(f"{measure}: there is no run «{to}»", fix=there_are(lists.systems))
    p, ranks = measure["p"], np.arange(view.deepest + 1, dtype=np.float64)
    power = p**ranks
    weight = np.divide(power, ranks, out=np.zeros(len(ranks)), where=ranks > 0)
    below = np.maximum(-np.log1p(-p) - np.cumsum(weight), 0.0)  # Σ p^d / d over all d is −ln(1 − p)
    form = kernels.EXTRAPOLATED if measure["form"] == "ext" else kernels.LEAST
    score = np.zeros((view.topics, view.systems, view.shards))
    kernels.overlap(
        view.topics * view.systems,
        view.systems,
        view.shards,
        lists.edges,
        lists.documents,
        lists.systems.index(to),
        lists.count,
        cutoff_of(measure),
        p,
        power,
        weight,
        below,
        form,
        score.reshape(-1),
        work=2 * len(lists.documents) + score.size,
    )
    return score


def _run_name(text: str) -> str:
    if not text:
        raise ValueError("the name of a run")
    return text


TO = Parameter("to", None, "the run that every run is compared with (without it: the first by name)", _run_name)
FORM = Parameter(
    "form",
    "ext",
    "what is below the ends of the lists: ext, as much agreement as above (eq. 32), or min, no more in common (eq. 11)",
    one_of("ext", "min"),
)
SIMILARITY = Parameter(
    "p",
    0.9,
    "persistence: the probability of reading on after each rank; 0.9 weighs the first 10 by 86 %",
    between(0.000001, 0.999999),
)

KINDS = (
    MeasureKind(
        name="SDCG",
        title="Scaled discounted cumulated gain",
        help="DCG@k over that of a list of k documents of the highest grade, whether there are as many or not.",
        citation="Azzopardi2019",
        recipe=scaled_dcg,
        parameters=SCALE,
        cutoff=Cutoff(required=True),
    ),
    MeasureKind(
        name="INSQ",
        title="INSQ",
        help="Gains weighed by 1 / (r + 2T − 1)²: a reader who wants a gain of T reads on the longer the more T is.",
        citation="Moffat2012",
        recipe=insq,
        parameters=(GOAL, *SCALE),
        cutoff=Cutoff(allowed=False),
    ),
    MeasureKind(
        name="INST",
        title="INST",
        help="INSQ for a reader who adapts: what is left of the goal T after the gain so far decides about reading on.",
        citation="Moffat2015",
        compute=inst,
        parameters=(GOAL, *SCALE),
        cutoff=Cutoff(allowed=False),
    ),
    MeasureKind(
        name="BPM",
        title="Bejeweled player model",
        help="The mean gain of the documents read by a reader who stops at rank k or with a gain of T.",
        citation="Zhang2017",
        compute=bpm,
        parameters=(GOAL, *SCALE),
        cutoff=Cutoff(required=True),
    ),
    MeasureKind(
        name="NERR8",
        title="Nearly expected reciprocal rank, equation 8",
        help="The rate of gain of a reader who stops at a document with the probability of its gain, and at rank k.",
        citation="Azzopardi2021",
        compute=nearly_err_8,
        parameters=SCALE,
        cutoff=Cutoff(required=True),
    ),
    MeasureKind(
        name="NERR9",
        title="Nearly expected reciprocal rank, equation 9",
        help="NERR8 for a reader who also stops with probability 1 / (r + 1) at rank r.",
        citation="Azzopardi2021",
        compute=nearly_err_9,
        parameters=SCALE,
        cutoff=Cutoff(required=True),
    ),
    MeasureKind(
        name="NERR10",
        title="Nearly expected reciprocal rank, equation 10",
        help="NERR8 without a cutoff for a reader who, not satisfied, reads on with probability p, as in RBP.",
        citation="Azzopardi2021",
        compute=nearly_err_10,
        parameters=(PERSISTENCE, *SCALE),
        cutoff=Cutoff(allowed=False),
    ),
    MeasureKind(
        name="NERR11",
        title="Nearly expected reciprocal rank, equation 11",
        help="NERR8 without a cutoff for a reader who, not satisfied, reads on as in INSQ.",
        citation="Azzopardi2021",
        compute=nearly_err_11,
        parameters=(GOAL, *SCALE),
        cutoff=Cutoff(allowed=False),
    ),
    MeasureKind(
        name="Compat",
        title="Compatibility",
        help="The rank-biased overlap of the list with the ideal one: relevant documents by grade and, of equal grade, "
        "in the order of the list.",
        citation="Clarke2021",
        compute=compatibility,
        parameters=(OVERLAP, NORMALIZE),
        cutoff=Cutoff(allowed=False),
    ),
    MeasureKind(
        name="RBO",
        title="Rank-biased overlap with another run",
        help="How similar the list is to that of another run on the same topic, whatever is relevant: the overlap of "
        "their first d documents over d, weighed by p^d. 1 for the same list, 0 where one of them is empty.",
        citation="Webber2010",
        compute=rank_biased_overlap,
        parameters=(SIMILARITY, TO, FORM),
        compares_runs=True,
        aliases=("rbo",),
    ),
)
