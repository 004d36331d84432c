"""Measures of trec_eval that look at each relevant document found: interpolated, inferred, geometric, by lag."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cranfield.collection import View
from cranfield.collection.collection import NOT_POOLED
from cranfield.measures import kernels
from cranfield.measures.declaration import JUDGED_ONLY, REL, Cutoff, Measure, MeasureKind, Parameter, between
from cranfield.measures.precision import bpref, ones
from cranfield.measures.recipes import (
    GAINS,
    Over,
    Places,
    Recipe,
    Walk,
    add_up,
    binary,
    cumulated,
    discounts,
    divide,
    follow,
    gain_of,
    ideal,
    per_unit,
    places,
    relevant,
    run,
    running,
    segment_units,
    spread_units,
)
from cranfield.types import Array

LEAST_LOGGED = 1e-5  # trec_eval's MIN_GEO_MEAN
INFERRED_EPSILON = 1e-5  # trec_eval's INFAP_EPSILON
NO_RANK = np.int64(2**31)  # above every rank
ELEVEN = tuple(level / 10 for level in range(11))


def _whole_share(share: float, count: Array) -> Array:
    """A share of a number of documents as a number of documents: rounded up from a tenth on, as trec_eval 9 does."""
    return np.floor(share * count + 0.9).astype(np.int64)


def _interpolated(view: View, rel: float, levels: Sequence[float]) -> Array:
    """The highest precision from the relevant document on that reaches a level of recall, on average over levels."""
    count = per_unit(view, relevant(view, rel))
    needed = np.stack([_whole_share(level, count) for level in levels], axis=1).ravel()
    return run(kernels.interpolated, view, binary(view, rel), needed, len(levels))


def interpolated_precision(view: View, measure: Measure) -> Array:
    return _interpolated(view, measure["rel"], [measure["recall"]])


def eleven_points(view: View, measure: Measure) -> Array:
    return _interpolated(view, measure["rel"], ELEVEN)


def precision_at_multiple(view: View, measure: Measure) -> Array:
    gain = binary(view, measure["rel"])
    cutoff = _whole_share(measure["multiple"], per_unit(view, gain > 0))
    return divide(run(kernels.weighted, view, gain, ones(view), cutoff), spread_units(view, cutoff))


def _logarithm(score: Array) -> Array:
    return np.log(np.maximum(score, LEAST_LOGGED))


def geometric_ap(view: View, measure: Measure) -> Array:
    return _logarithm(follow(view, Recipe(Walk.BLENDED, binary(view, measure["rel"]), Over.RELEVANT)))


def geometric_bpref(view: View, measure: Measure) -> Array:
    return _logarithm(bpref(view, measure))


def _verdicts(view: View, rel: float) -> Array:
    """2 for relevant, 1 for not relevant, 0 for pooled and not judged, −1 for not pooled."""
    pooled = np.where(view.grade >= 0, 1, np.where(view.grade > NOT_POOLED, 0, -1))
    return np.where(relevant(view, rel), 2, pooled).astype(np.int32)


def inferred_ap(view: View, measure: Measure) -> Array:
    """Expected AP where only a sample of the pool was judged (Yilmaz & Aslam 2006, eq. 4, as trec_eval has it)."""
    verdict = _verdicts(view, measure["rel"])
    score = run(kernels.inferred, view, verdict, INFERRED_EPSILON, hits=view.judged)
    return divide(score, spread_units(view, per_unit(view, verdict == 2)))


def stratified_ap(view: View, measure: Measure) -> Array:
    """Expected AP where a sample of every stratum was judged (Yilmaz, Kanoulas & Aslam 2008, section 4).

    A stratum of N documents of which n were judged, r as relevant, has N·r / n relevant documents by estimate, and the
    precision at the r that were judged stands for the precision at all of them.
    """
    verdict = _verdicts(view, measure["rel"])
    stratum = np.zeros(len(verdict), np.int64) if view.stratum is None else np.maximum(view.stratum, 0)
    strata = int(stratum.max(initial=0)) + 1
    cell = view.unit.astype(np.int64) * strata + stratum
    size, judged, found = (np.bincount(cell[verdict >= least], minlength=view.units * strata) for least in (0, 1, 2))
    weight = size / np.maximum(judged, 1)  # documents that one judged document stands for
    needed = (weight * found).reshape(view.units, strata).sum(axis=1)
    arguments = (verdict, stratum.astype(np.int32), strata, weight, INFERRED_EPSILON)
    return divide(run(kernels.stratified, view, *arguments, hits=view.judged), spread_units(view, needed))


def binary_lag(view: View, measure: Measure) -> Array:
    gain = binary(view, measure["rel"])
    weight = 1.0 / np.log2(2.0 + np.arange(view.deepest + 1))
    return divide(run(kernels.lagging, view, gain, weight), spread_units(view, per_unit(view, gain > 0)))


def _ideal_until(view: View, found: Places, edges: Array, sums: Array) -> Array:
    """What ``sums``, added up along the ideal lists with these ``edges``, are at the rank of each hit."""
    size = np.diff(edges)[found.unit]
    return np.asarray(sums[edges[found.unit] + np.minimum(found.rank, size) - 1])


def gain_lag(view: View, measure: Measure) -> Array:
    """Σ g / log2(2 + ideal cg − cg) over the sum of all gains; an ideal document counts at least 1."""
    gain = gain_of(view.grade, measure["gains"])
    found = places(view, gain)
    edges, sums = cumulated(view, gain)
    ideal_edges, costs = _costs(view, gain)
    past = np.maximum(found.rank - np.diff(ideal_edges)[found.unit], 0)
    lag = _ideal_until(view, found, ideal_edges, costs) + past - running(view, found, gain[found.judgment])
    total = np.zeros(view.units)
    total[np.diff(edges) > 0] = sums[edges[1:][np.diff(edges) > 0] - 1]
    return divide(add_up(view, found, gain[found.judgment] / np.log2(2.0 + lag)), spread_units(view, total))


def _costs(view: View, gain: Array) -> tuple[Array, Array]:
    """As ``cumulated``, with at least 1 for every document of the ideal list."""
    best = ideal(view, gain).found
    sums = np.cumsum(np.maximum(gain[best.judgment], 1.0))
    before = np.concatenate([[0.0], sums])[best.edges[:-1]]
    return best.edges, sums - np.repeat(before, np.diff(best.edges))


def _discounted(view: View, gain: Array) -> tuple[Places, Array, Array, Array]:
    """Hits, DCG down to each of them, and the edges and the DCG of the ideal lists."""
    weight, best = discounts(view, None), ideal(view, gain)
    found, perfect = places(view, gain), places(best, gain)
    dcg = running(view, found, gain[found.judgment] * weight[found.rank])
    ideal_dcg = running(best, perfect, gain[perfect.judgment] * weight[perfect.rank])
    return found, dcg, best.found.edges, ideal_dcg


def _last(view: View, found: Places, sums: Array) -> tuple[Array, Array]:
    """For every list, what ``sums`` ends at (0 without a hit), and where its hits begin, with the end of all."""
    edges = np.searchsorted(found.segment, np.arange(view.topics * view.systems * view.shards + 1))
    return np.concatenate([[0.0], sums])[np.where(np.diff(edges) > 0, edges[1:], 0)], edges


def ndcg_of_relevant(view: View, measure: Measure) -> Array:
    """nDCG at the rank of each relevant document, on average; what is not found counts with nDCG at the list's end."""
    found, dcg, edges, ideal_dcg = _discounted(view, gain_of(view.grade, measure["gains"]))
    needed = np.diff(edges)
    score = add_up(view, found, dcg / _ideal_until(view, found, edges, ideal_dcg))
    end, starts = _last(view, found, dcg)
    rest = spread_units(view, needed) - np.diff(starts).reshape(score.shape)
    score += rest * end.reshape(score.shape) / spread_units(view, _whole(edges, ideal_dcg))
    return divide(score, spread_units(view, needed))


def ndcg_of_levels(view: View, measure: Measure) -> Array:
    """nDCG at the numbers of documents with at least each grade, on average, and at the end of lists that go on."""
    gain = gain_of(view.grade, measure["gains"])
    found, dcg, edges, ideal_dcg = _discounted(view, gain)
    level, level_edges = _levels(gain[ideal(view, gain).found.judgment], edges)
    end, starts = _last(view, found, dcg)
    segments, unit = np.arange(len(end)), segment_units(view)
    counts = np.diff(level_edges)[unit]
    segment = np.repeat(segments, counts)  # a pair of a list and a level
    at = level[np.arange(len(segment)) + np.repeat(level_edges[:-1][unit] - np.cumsum(counts) + counts, counts)]
    depth = at - edges[unit[segment]] + 1
    before = np.searchsorted(found.segment * NO_RANK + found.rank, segment * NO_RANK + depth, side="right")
    there = np.where(before > starts[segment], np.concatenate([[0.0], dcg])[before], 0.0)
    score = np.bincount(segment, there / ideal_dcg[at], len(segments)).astype(np.float64, copy=False)
    needed = np.diff(edges)[unit]
    goes_on = (view.length > needed + 1) & (needed > 0)  # trec_eval does not look past exactly one document more
    score += np.where(goes_on, end / _whole(edges, ideal_dcg)[unit], 0.0)
    return divide(score, counts + goes_on).reshape(view.topics, view.systems, view.shards)


def _levels(ideal_gain: Array, edges: Array) -> tuple[Array, Array]:
    """The places in the ideal lists after which gains fall, and which of them belong to each unit."""
    falls = np.zeros(len(ideal_gain), bool)
    falls[:-1] = np.diff(ideal_gain) != 0
    falls[edges[1:][np.diff(edges) > 0] - 1] = True
    level = np.flatnonzero(falls)
    return level, np.searchsorted(level, edges)


def _whole(edges: Array, ideal_dcg: Array) -> Array:
    """The DCG of each ideal list; 1 where there is none."""
    return np.concatenate([ideal_dcg, [1.0]])[np.where(np.diff(edges) > 0, edges[1:] - 1, -1)]


def accuracy(view: View, measure: Measure) -> Array:
    gain = binary(view, measure["rel"])
    found = places(view, gain)
    if measure.k is not None:
        found = found.where(found.rank <= measure.k)
    count = add_up(view, found, np.ones(len(found.rank)))
    above = add_up(view, found, (found.rank - found.counted).astype(np.float64))
    seen = view.length.reshape(count.shape)
    others = (seen if measure.k is None else np.minimum(seen, measure.k)) - count
    return np.where(count > 0, 1.0 - divide(above, others * count), 0.0)


RECALL = Parameter("recall", None, "the level of recall, from 0 to 1", between(0, 1))
MULTIPLE = Parameter("multiple", None, "how many times R", between(0, 100))

KINDS = (
    MeasureKind(
        name="IPrec",
        title="Interpolated precision",
        help="The highest precision at any rank from that on at which the level of recall after @ is reached; R times "
        "the level is rounded up from a tenth on, as in trec_eval 9.",
        citation="BuckleyVoorhees2005",
        compute=interpolated_precision,
        parameters=(RECALL, REL, JUDGED_ONLY),
        cutoff=Cutoff(required=True, parameter="recall"),
        aliases=("iprec_at_recall",),
    ),
    MeasureKind(
        name="11pt_avg",
        title="Eleven-point average precision",
        help="IPrec averaged over recall 0, 0.1, …, 1.",
        citation="BuckleyVoorhees2005",
        compute=eleven_points,
        parameters=(REL,),
        cutoff=Cutoff(allowed=False),
    ),
    MeasureKind(
        name="Rprec_mult",
        title="Precision at a multiple of R",
        help="Precision at the rank that is R (the number of relevant documents) times the number after @, rounded up "
        "from a tenth on.",
        citation="TrecEval",
        compute=precision_at_multiple,
        parameters=(MULTIPLE, REL),
        cutoff=Cutoff(required=True, parameter="multiple"),
        averages_ties=True,
    ),
    MeasureKind(
        name="GMAP",
        title="Geometric mean average precision",
        help="The logarithm of AP, of 0.00001 where AP is lower; this is what is tested. Tables of means show exp of "
        "its mean, the geometric mean of AP, which rewards not failing on any topic.",
        citation="Robertson2006",
        compute=geometric_ap,
        parameters=(REL,),
        cutoff=Cutoff(allowed=False),
        lowest=math.log(LEAST_LOGGED),
        highest=0.0,
        averaged="geometric",
        aliases=("gm_map",),
    ),
    MeasureKind(
        name="gm_bpref",
        title="Geometric mean binary preference",
        help="The logarithm of Bpref, of 0.00001 where it is lower; tables of means show exp of its mean.",
        citation="Robertson2006",
        compute=geometric_bpref,
        parameters=(REL,),
        cutoff=Cutoff(allowed=False),
        lowest=math.log(LEAST_LOGGED),
        highest=0.0,
        averaged="geometric",
    ),
    MeasureKind(
        name="infAP",
        title="Inferred average precision",
        help="AP estimated where only a random sample of the pool was judged: documents with a negative grade were "
        "pooled and not judged, and are taken to be relevant as often as judged ones.",
        citation="YilmazAslam2006",
        compute=inferred_ap,
        parameters=(REL,),
        cutoff=Cutoff(allowed=False),
    ),
    MeasureKind(
        name="xinfAP",
        title="Extended inferred average precision",
        help="AP estimated where a random sample of every stratum of the pool was judged (judgments with five fields: "
        "topic 0 document stratum grade, −1 if not judged). With one stratum it is infAP.",
        citation="YilmazKanoulasAslam2008",
        compute=stratified_ap,
        parameters=(REL,),
        cutoff=Cutoff(allowed=False),
        aliases=("xinfap",),
    ),
    MeasureKind(
        name="Accuracy",
        title="Pairwise accuracy",
        help="The probability that a relevant document of the list stands above one that is not relevant or not "
        "judged; 0 if none is found.",
        citation="MacAvaney2022",
        compute=accuracy,
        parameters=(REL,),
    ),
    MeasureKind(
        name="binG",
        title="Binary G",
        help="1 / log2(2 + the other documents above) averaged over the relevant documents.",
        citation="TrecEval",
        compute=binary_lag,
        parameters=(REL,),
        cutoff=Cutoff(allowed=False),
    ),
    MeasureKind(
        name="G",
        title="Normalised gain",
        help="Gains over log2(2 + how far the cumulated gain is behind that of the ideal list), divided by the sum of "
        "all gains; a document of the ideal list counts at least 1.",
        citation="TrecEval",
        compute=gain_lag,
        parameters=(GAINS,),
        cutoff=Cutoff(allowed=False),
    ),
    MeasureKind(
        name="ndcg_rel",
        title="nDCG averaged over relevant documents",
        help="nDCG at the rank of every relevant document, averaged; those not found count with nDCG of the whole "
        "list over that of the ideal one.",
        citation="TrecEval",
        compute=ndcg_of_relevant,
        parameters=(GAINS,),
        cutoff=Cutoff(allowed=False),
    ),
    MeasureKind(
        name="Rndcg",
        title="nDCG averaged over grades",
        help="nDCG at the number of documents of the highest grade, of the two highest, and so on, averaged, with that "
        "at the end of a list that is longer than one document more than all of them.",
        citation="TrecEval",
        compute=ndcg_of_levels,
        parameters=(GAINS,),
        cutoff=Cutoff(allowed=False),
    ),
)
