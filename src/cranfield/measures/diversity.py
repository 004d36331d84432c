"""Measures for topics with several intents."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from cranfield.collection import Intents, View
from cranfield.measures import kernels
from cranfield.measures.declaration import REL, Cutoff, Measure, MeasureKind, Parameter, between, needs_intents, one_of
from cranfield.measures.gain import normalised_dcg
from cranfield.measures.recipes import (
    GAINS,
    Places,
    cut,
    cutoff_of,
    discounts,
    divide,
    follow,
    gain_of,
    ideal_of_order,
    places,
    run,
    spread_units,
)
from cranfield.types import Array


class _Relevant:
    """Per-intent judgments that say relevant, and what follows from them."""

    def __init__(self, view: View, intents: Intents, rel: float) -> None:
        keep = intents.grade >= rel
        self.index = intents.index[keep]
        self.edges = np.concatenate([[0], np.cumsum(keep)])[intents.edges]
        self.most = max([1, *map(len, intents.names)])
        owner = np.repeat(np.arange(len(view.unit)), np.diff(self.edges))
        pairs = np.unique(view.unit[owner].astype(np.int64) * self.most + self.index)
        # Intents nothing is relevant to cannot be served by any system and do not count.
        self.intents = np.bincount(pairs // self.most, minlength=view.units)

    def arguments(self) -> tuple[Any, ...]:
        return self.edges, self.index, self.most

    def ideal(self, view: View, fading: Array, k: int | None) -> View:
        """The greedy ideal lists, in id order among equals."""
        useful = np.flatnonzero(np.diff(self.edges))
        by_unit = useful[np.argsort(view.unit[useful], kind="stable")]
        counts = np.bincount(view.unit[by_unit], minlength=view.units)
        edges = np.concatenate([[0], np.cumsum(counts)])
        depth = int(counts.max(initial=0)) if k is None else k
        order = by_unit.copy()
        steps = int((np.minimum(counts, depth) * counts).sum())
        kernels.greedy(view.units, edges, by_unit, *self.arguments(), fading, depth, order, work=steps)
        return ideal_of_order(view, order, counts)


def _fading(alpha: float, deepest: int) -> Array:
    """(1 − α)^c for an intent that was served c times before."""
    return (1.0 - alpha) ** np.arange(max(deepest, 1) + 1, dtype=np.float64)


def _novelty(view: View, measure: Measure, weight: Array, *, against_ideal: bool) -> Array:
    found = _Relevant(view, needs_intents(view, measure), measure["rel"])
    fading = _fading(measure["alpha"], len(weight))
    arguments = (*found.arguments(), fading, weight, cut(view, measure.k))
    score = run(kernels.novelty, view, *arguments)
    if against_ideal:
        best = run(kernels.novelty, found.ideal(view, fading, measure.k), *arguments).ravel()
    else:
        depth = min(int(measure.k or 1), len(weight) - 1)  # a document at every rank that serves every intent
        best = found.intents * (fading[:depth] * weight[1 : depth + 1]).sum()
    return divide(score, spread_units(view, best))


def alpha_ndcg(view: View, measure: Measure) -> Array:
    return _novelty(view, measure, discounts(view, None), against_ideal=True)


def alpha_dcg(view: View, measure: Measure) -> Array:
    return _novelty(
        view, measure, _ranked(view, measure.k, lambda rank: 1.0 / np.log2(rank + 1.0)), against_ideal=False
    )


def nrbp(view: View, measure: Measure) -> Array:
    """(1 − (1 − α)β) / n · Σ β^(r − 1) Σ (1 − α)^c (Clarke, Kolla & Vechtomova 2009, eq. 12)."""
    found, score, _ = _persistent(view, measure)
    score *= 1.0 - (1.0 - measure["alpha"]) * measure["beta"]
    return divide(score, spread_units(view, found.intents))


def normalised_nrbp(view: View, measure: Measure) -> Array:
    found, score, arguments = _persistent(view, measure)
    best = run(kernels.novelty, found.ideal(view, arguments[3], None), *arguments).ravel()
    return divide(score, spread_units(view, best))


def _persistent(view: View, measure: Measure) -> tuple[_Relevant, Array, tuple[Any, ...]]:
    """Σ β^(r − 1) Σ (1 − α)^c of every list, with what it was computed from."""
    found = _Relevant(view, needs_intents(view, measure), measure["rel"])
    weight = _ranked(view, None, lambda rank: measure["beta"] ** (rank - 1.0))
    arguments = (*found.arguments(), _fading(measure["alpha"], len(weight)), weight, cut(view, None))
    return found, run(kernels.novelty, view, *arguments), arguments


def intent_aware_precision(view: View, measure: Measure) -> Array:
    found = _Relevant(view, needs_intents(view, measure), measure["rel"])
    always, same = np.ones(1), np.ones(view.deepest + 1)
    served = run(kernels.novelty, view, *found.arguments(), always, same, cut(view, measure.k))
    return divide(served, spread_units(view, found.intents * cutoff_of(measure)))


def intent_aware_ap(view: View, measure: Measure) -> Array:
    """AP for every intent that anything is relevant to, averaged."""
    found = _Relevant(view, needs_intents(view, measure), measure["rel"])
    hits, hit, at = _rows(view, found.edges)
    serving = np.diff(found.edges)
    intent = found.index[at].astype(np.int64)
    count = _counted_before(hits.segment[hit] * found.most + intent) + 1
    needed = np.bincount(
        np.repeat(view.unit.astype(np.int64), serving) * found.most + found.index, minlength=view.units * found.most
    )
    precision = count / hits.rank[hit] / needed[hits.unit[hit] * found.most + intent]
    score = np.zeros((view.topics, view.systems, view.shards))
    score += np.bincount(hits.segment[hit], precision, score.size).reshape(score.shape)
    return divide(score, spread_units(view, found.intents))


def _rows(view: View, edges: Array) -> tuple[Places, Array, Array]:
    """The hits that serve an intent, and one row for each intent that one serves: which hit, which of ``edges``."""
    serving = np.diff(edges)
    hits = places(view, serving)
    rows = serving[hits.judgment]
    hit = np.repeat(np.arange(len(rows)), rows)
    at = np.arange(len(hit)) - np.repeat(np.cumsum(rows) - rows, rows) + edges[:-1][hits.judgment][hit]
    return hits, hit, at


def _counted_before(group: Array) -> Array:
    """How often the group of each element occurs before it."""
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    count = np.empty(len(group), np.int64)
    count[order] = np.arange(len(group)) - np.searchsorted(ordered, ordered)
    return count


def _ranked(view: View, k: int | None, weigh: Callable[[Array], Array]) -> Array:
    """A weight for every rank."""
    # Beyond a million ranks a document adds nothing that shows.
    ranks = np.arange(max(view.deepest, len(view.unit), min(k or 1, 1_000_000)) + 1, dtype=np.float64)
    ranks[0] = 1.0
    return weigh(ranks)


def err_ia(view: View, measure: Measure) -> Array:
    return _novelty(view, measure, _ranked(view, measure.k, np.reciprocal), against_ideal=False)


def nerr_ia(view: View, measure: Measure) -> Array:
    return _novelty(view, measure, _ranked(view, measure.k, np.reciprocal), against_ideal=True)


def intent_recall(view: View, measure: Measure) -> Array:
    """An intent counts when it is first served, and not again."""
    found = _Relevant(view, needs_intents(view, measure), measure["rel"])
    once, same = np.array([1.0, 0.0]), np.ones(view.deepest + 1)
    served = run(kernels.novelty, view, *found.arguments(), once, same, cut(view, measure.k))
    return divide(served, spread_units(view, found.intents))


def nugget_recall(view: View, measure: Measure) -> Array:
    """Σ importance · support over Σ importance, the support of a nugget being the best of the first k documents'."""
    intents = needs_intents(view, measure)
    hits, hit, at = _rows(view, intents.edges)
    near = hits.rank[hit] <= cutoff_of(measure)
    segment, at = hits.segment[hit][near], at[near]
    grade, most = intents.grade[at], max([1, *map(len, intents.names)])
    support = np.where(grade >= measure["rel"], 1.0, np.where(grade > 0, float(measure["partial"]), 0.0))
    best = np.zeros(view.topics * view.systems * view.shards * most)
    np.maximum.at(best, segment * most + intents.index[at], support)
    importance = np.zeros((view.topics, most))
    count = np.diff(intents.first)
    topic = np.repeat(np.arange(view.topics), count)
    importance[topic, np.arange(len(topic)) - np.repeat(intents.first[:-1], count)] = _importance(intents, measure)
    supported = best.reshape(view.topics, -1, most) * importance[:, np.newaxis]
    score = supported.sum(axis=2).reshape(view.topics, view.systems, view.shards)
    return divide(score, importance.sum(axis=1).reshape(-1, 1, 1))


def _importance(intents: Intents, measure: Measure) -> Array:
    """What each nugget counts; without importance all of them are vital."""
    given = np.ones(len(intents.weight)) if intents.importance is None else np.asarray(intents.importance)
    if measure["of"] == "weighted":
        return given
    return np.ones(len(given)) if measure["of"] == "all" else (given >= VITAL).astype(np.float64)


def global_gain(view: View, intents: Intents, gains: str) -> Array:
    """Σ_i P(i|q) · g_i for every judgment."""
    owner = np.repeat(np.arange(len(view.unit)), np.diff(intents.edges))
    topic = view.unit[owner] // view.shards
    weight = intents.weight[intents.first[topic] + intents.index]
    return np.bincount(owner, weights=weight * gain_of(intents.grade, gains), minlength=len(view.unit))


def d_ndcg(view: View, measure: Measure) -> Array:
    gain = global_gain(view, needs_intents(view, measure), measure["gains"])
    return follow(view, normalised_dcg(view, gain, cutoff_of(measure), None))


def d_sharp_ndcg(view: View, measure: Measure) -> Array:
    gamma = float(measure["gamma"])
    return gamma * intent_recall(view, measure) + (1.0 - gamma) * d_ndcg(view, measure)


VITAL = 1.0  # the importance of a vital nugget; an okay one has half of it
OF = Parameter(
    "of",
    "all",
    "which nuggets count: all, only vital ones (importance 1), or weighted by importance (vital 1, okay 0.5)",
    one_of("all", "vital", "weighted"),
)
PARTIAL = Parameter(
    "partial",
    0.0,
    "what a nugget counts whose grade is above 0 and below rel (partial support): 0 is strict, 0.5 AutoNuggetizer's",
    between(0, 1),
)
ALPHA = Parameter("alpha", 0.5, "how much of an intent one relevant document satisfies", between(0, 1))
PATIENCE = Parameter("beta", 0.5, "patience: the probability of reading on after each document", between(0, 0.999999))
GAMMA = Parameter("gamma", 0.5, "the weight of intent recall", between(0, 1))

KINDS = (
    MeasureKind(
        name="alpha_nDCG",
        title="Novelty-biased nDCG",
        help="nDCG in which a further document for the same intent is worth 1 − α of the one before; the ideal list is "
        "built greedily, and a run may beat it: scores above 1 are possible, as in ndeval.",
        citation="Clarke2008",
        compute=alpha_ndcg,
        parameters=(ALPHA, REL),
        cutoff=Cutoff(required=True),
        highest=math.inf,
        per_intent=True,
        aliases=("alpha-nDCG", "α_nDCG"),
    ),
    MeasureKind(
        name="alpha_DCG",
        title="Novelty-biased DCG",
        help="alpha_nDCG divided by what documents that serve every intent would reach, as ndeval does, and not by the "
        "ideal list.",
        citation="Clarke2008",
        compute=alpha_dcg,
        parameters=(ALPHA, REL),
        cutoff=Cutoff(required=True),
        per_intent=True,
        aliases=("alpha-DCG", "α_DCG"),
    ),
    MeasureKind(
        name="NRBP",
        title="Novelty- and rank-biased precision",
        help="RBP in which a further document for the same intent is worth 1 − α of the one before; divided by what "
        "documents that serve every intent would reach.",
        citation="Clarke2009",
        compute=nrbp,
        parameters=(ALPHA, PATIENCE, REL),
        cutoff=Cutoff(allowed=False),
        per_intent=True,
    ),
    MeasureKind(
        name="nNRBP",
        title="Normalised novelty- and rank-biased precision",
        help="NRBP over that of the greedy ideal list, which a run may beat.",
        citation="Clarke2009",
        compute=normalised_nrbp,
        parameters=(ALPHA, PATIENCE, REL),
        cutoff=Cutoff(allowed=False),
        highest=math.inf,
        per_intent=True,
    ),
    MeasureKind(
        name="P_IA",
        title="Intent-aware precision",
        help="Precision for every intent that anything is relevant to, averaged.",
        citation="Agrawal2009",
        compute=intent_aware_precision,
        parameters=(REL,),
        cutoff=Cutoff(required=True),
        per_intent=True,
        aliases=("P-IA",),
    ),
    MeasureKind(
        name="AP_IA",
        title="Intent-aware average precision",
        help="Average precision for every intent that anything is relevant to, averaged.",
        citation="Agrawal2009",
        compute=intent_aware_ap,
        parameters=(REL,),
        cutoff=Cutoff(allowed=False),
        per_intent=True,
        aliases=("MAP_IA", "MAP-IA"),
    ),
    MeasureKind(
        name="ERR_IA",
        title="Intent-aware expected reciprocal rank",
        help="ERR for every intent, averaged; divided by what documents that serve every intent would reach, as "
        "ndeval does.",
        citation="Chapelle2011",
        compute=err_ia,
        parameters=(ALPHA, REL),
        cutoff=Cutoff(required=True),
        per_intent=True,
        aliases=("ERR-IA",),
    ),
    MeasureKind(
        name="nERR_IA",
        title="Normalised intent-aware ERR",
        help="ERR_IA over that of the greedy ideal list, which a run may beat.",
        citation="Chapelle2011",
        compute=nerr_ia,
        parameters=(ALPHA, REL),
        cutoff=Cutoff(required=True),
        highest=math.inf,
        per_intent=True,
        aliases=("nERR-IA",),
    ),
    MeasureKind(
        name="I-rec",
        title="Intent recall",
        help="The share of the intents (of those anything is relevant to) that the first k documents serve.",
        citation="SakaiSong2011",
        compute=intent_recall,
        parameters=(REL,),
        cutoff=Cutoff(required=True),
        per_intent=True,
        aliases=("StRecall", "STREC"),
    ),
    MeasureKind(
        name="NuggetRecall",
        title="Nugget recall",
        help="The share of a topic's nuggets that the first k documents support: intents are nuggets, and a grade of "
        "at least rel is support. All nuggets count that the judgments or the file of their importance name.",
        citation="Pradeep2024",
        compute=nugget_recall,
        parameters=(OF, PARTIAL, REL),
        cutoff=Cutoff(required=True),
        per_intent=True,
        aliases=("nugget_recall",),
    ),
    MeasureKind(
        name="D-nDCG",
        title="Diversity nDCG",
        help="nDCG with the global gain Σ P(intent)·gain(intent) of each document.",
        citation="SakaiSong2011",
        compute=d_ndcg,
        parameters=(GAINS,),
        per_intent=True,
    ),
    MeasureKind(
        name="D#-nDCG",
        title="D-sharp nDCG",
        help="γ·I-rec + (1 − γ)·D-nDCG.",
        citation="SakaiSong2011",
        compute=d_sharp_ndcg,
        parameters=(GAMMA, GAINS, REL),
        cutoff=Cutoff(required=True),
        per_intent=True,
        aliases=("Dsharp-nDCG", "D♯-nDCG"),
    ),
)
