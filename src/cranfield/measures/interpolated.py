"""Measures of trec_eval that look at each relevant document found: interpolated, inferred, geometric, by lag."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cranfield.collection import Hits, View
from cranfield.measures import kernels
from cranfield.measures.declaration import JUDGED_ONLY, REL, Cutoff, Measure, MeasureKind, Parameter, between
from cranfield.measures.precision import INFERRED_EPSILON, judged_measures, ones, verdicts
from cranfield.measures.recipes import (
    GAINS,
    Over,
    Recipe,
    Walk,
    add_up,
    binary,
    cumulated,
    cut,
    discounts,
    divide,
    graded,
    ideal,
    places,
    relevant_per_unit,
    run,
    run_into,
    run_rows,
    spread_units,
    whole_share,
)
from cranfield.types import Array

LEAST_LOGGED = 1e-5  # trec_eval's MIN_GEO_MEAN
ELEVEN = tuple(level / 10 for level in range(11))


def interpolated_measures(view: View, measures: Sequence[Measure]) -> list[Array]:
    """IPrec at all levels of recall, and averages over eleven of them, in one pass for each threshold of relevance."""
    levels: dict[float, dict[float, None]] = {}
    for each in measures:
        levels.setdefault(each["rel"], {}).update(dict.fromkeys(_levels_of(each)))
    best = {rel: _interpolated(view, rel, sorted(wanted)) for rel, wanted in levels.items()}
    return [_average([best[each["rel"]][level] for level in _levels_of(each)]) for each in measures]


def _levels_of(measure: Measure) -> Sequence[float]:
    return ELEVEN if measure.kind.name == "11pt_avg" else (measure["recall"],)


def _average(best: Sequence[Array]) -> Array:
    """The mean over levels, added up from the highest level on."""
    if len(best) == 1:
        return best[0]
    total = np.zeros(best[0].shape)
    for each in reversed(best):
        total += each
    total /= len(best)
    return total


def _interpolated(view: View, rel: float, levels: Sequence[float]) -> dict[float, Array]:
    """For each level of recall, the highest precision from the relevant document on that reaches it."""
    gain = binary(view, rel)
    count = relevant_per_unit(view, rel)
    needed = np.stack([whole_share(level, count) for level in levels], axis=1).ravel()
    best = run_rows(len(levels), kernels.interpolated, view, gain, needed, len(levels))
    return dict(zip(levels, best, strict=True))


def relevant_until_multiple(view: View, measure: Measure) -> Recipe:
    gain = binary(view, measure["rel"])
    return Recipe(Walk.WEIGHTED, gain, Over.NOTHING, weight=ones(view), multiple=measure["multiple"])


def precision_at_multiple(view: View, measure: Measure, found: Array) -> Array:
    cutoff = whole_share(measure["multiple"], relevant_per_unit(view, measure["rel"]))
    return divide(found, spread_units(view, cutoff))


def unnormalised_ap(view: View, measure: Measure) -> Recipe:
    return Recipe(Walk.BLENDED, binary(view, measure["rel"]), Over.RELEVANT)


def logarithm(view: View, measure: Measure, score: Array) -> Array:
    return np.log(np.maximum(score, LEAST_LOGGED))


def inferred_ap(view: View, measure: Measure, total: Array) -> Array:
    """Expected AP where only a sample of the pool was judged (Yilmaz & Aslam 2006, eq. 4, as trec_eval has it)."""
    return divide(total, spread_units(view, relevant_per_unit(view, measure["rel"])))


def stratified_ap(view: View, measure: Measure) -> Array:
    """Expected AP where a sample of every stratum was judged (Yilmaz, Kanoulas & Aslam 2008, section 4).

    A stratum of N documents of which n were judged, r as relevant, has N·r / n relevant documents by estimate, and the
    precision at the r that were judged stands for the precision at all of them.
    """
    verdict = verdicts(view, measure["rel"])
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
    needed = relevant_per_unit(view, measure["rel"])
    return divide(run(kernels.lagging, view, gain, weight), spread_units(view, needed))


def gain_lag(view: View, measure: Measure) -> Array:
    """Σ g / log2(2 + ideal cg − cg) over the sum of all gains; an ideal document counts at least 1."""
    gain = graded(view, measure["gains"])
    edges, sums = cumulated(view, gain)
    total = np.zeros(view.units)
    total[np.diff(edges) > 0] = sums[edges[1:][np.diff(edges) > 0] - 1]
    return divide(_lagging_gains(view, gain, *_costs(view, gain)), spread_units(view, total))


def _lagging_gains(view: View, gain: Array, edges: Array, costs: Array) -> Array:
    hits, is_whole = view.found, bool((gain % 1 == 0).all())
    furthest = int(costs.max(initial=0.0)) + view.deepest if is_whole else 0
    logarithm = np.log2(2.0 + np.arange(furthest + 1))
    lag = np.zeros(0 if is_whole else len(hits.rank))
    score = run(kernels.lagging_gains, view, gain, edges, costs, logarithm, is_whole, lag)
    if is_whole:
        return score
    worth = gain[hits.judgment] / np.log2(2.0 + lag)
    own = Hits(hits.edges, hits.rank, np.arange(len(worth)))
    return run(kernels.weighted, view, worth, ones(view), cut(view, None), hits=own)


def _costs(view: View, gain: Array) -> tuple[Array, Array]:
    """As ``cumulated``, with at least 1 for every document of the ideal list."""
    best = ideal(view, gain).found
    sums = np.cumsum(np.maximum(gain[best.judgment], 1.0))
    before = np.concatenate([[0.0], sums])[best.edges[:-1]]
    return best.edges, sums - np.repeat(before, np.diff(best.edges))


def averaged_ndcg(view: View, measures: Sequence[Measure]) -> list[Array]:
    """nDCG averaged over relevant documents, and over grades, in one pass for each kind of gains."""
    passes = {gains: _averaged_ndcg(view, gains) for gains in dict.fromkeys(each["gains"] for each in measures)}
    return [passes[each["gains"]][0 if each.kind.name == "ndcg_rel" else 1] for each in measures]


def _averaged_ndcg(view: View, gains: str) -> Array:
    gain, weight = graded(view, gains), discounts(view, None)
    best = ideal(view, gain).found
    worth = gain[best.judgment] * weight[best.rank]
    dcg, counts = np.zeros(len(worth)), np.zeros(view.units, np.int64)
    kernels.cumulate(view.units, best.edges, np.arange(len(worth)), worth, dcg, counts, work=len(worth) + view.units)
    level_edges, depth = _levels(gain[best.judgment], best.edges)
    lists = weight, np.asarray(view.length)
    return run_into(2, kernels.averaged_ndcg, view, gain, *lists, best.edges, dcg, level_edges, depth)


def _levels(ideal_gain: Array, edges: Array) -> tuple[Array, Array]:
    """The ranks in the ideal lists after which gains fall, and which of them belong to each unit."""
    falls = np.zeros(len(ideal_gain), bool)
    falls[:-1] = np.diff(ideal_gain) != 0
    falls[edges[1:][np.diff(edges) > 0] - 1] = True
    level = np.flatnonzero(falls)
    starts = np.searchsorted(level, edges)
    return starts, level - np.repeat(edges[:-1], np.diff(starts)) + 1


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
        together=interpolated_measures,
        parameters=(RECALL, REL, JUDGED_ONLY),
        cutoff=Cutoff(required=True, parameter="recall"),
        aliases=("iprec_at_recall",),
    ),
    MeasureKind(
        name="11pt_avg",
        title="Eleven-point average precision",
        help="IPrec averaged over recall 0, 0.1, …, 1.",
        citation="BuckleyVoorhees2005",
        together=interpolated_measures,
        parameters=(REL,),
        cutoff=Cutoff(allowed=False),
    ),
    MeasureKind(
        name="Rprec_mult",
        title="Precision at a multiple of R",
        help="Precision at the rank that is R (the number of relevant documents) times the number after @, rounded up "
        "from a tenth on.",
        citation="TrecEval",
        recipe=relevant_until_multiple,
        finish=precision_at_multiple,
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
        recipe=unnormalised_ap,
        finish=logarithm,
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
        together=judged_measures,
        finish=logarithm,
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
        together=judged_measures,
        finish=inferred_ap,
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
        together=averaged_ndcg,
        parameters=(GAINS,),
        cutoff=Cutoff(allowed=False),
    ),
    MeasureKind(
        name="Rndcg",
        title="nDCG averaged over grades",
        help="nDCG at the number of documents of the highest grade, of the two highest, and so on, averaged, with that "
        "at the end of a list that is longer than one document more than all of them.",
        citation="TrecEval",
        together=averaged_ndcg,
        parameters=(GAINS,),
        cutoff=Cutoff(allowed=False),
    ),
)
