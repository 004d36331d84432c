"""Precision, recall, average precision, reciprocal rank, bpref: relevant or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cranfield.collection import View
from cranfield.collection.collection import NOT_POOLED
from cranfield.measures import kernels
from cranfield.measures.declaration import JUDGED_ONLY, REL, Cutoff, Measure, MeasureKind, Parameter, one_of
from cranfield.measures.recipes import (
    Over,
    Recipe,
    Walk,
    binary,
    cut,
    cutoff_of,
    divide,
    per_unit,
    relevant,
    relevant_per_unit,
    run,
    run_into,
    shared,
)
from cranfield.types import Array


def ones(view: View) -> Array:
    """The same weight for every rank."""
    return shared(view, lambda: np.ones(view.deepest + 1), "ones")


def average_precision(view: View, measure: Measure) -> Recipe:
    capped = measure["norm"] == "min" and measure.k is not None
    over = Over.RELEVANT_OR_CUTOFF if capped else Over.RELEVANT  # S14 footnote 2
    return Recipe(Walk.BLENDED, binary(view, measure["rel"]), over, cutoff_of(measure), beta=0.0)


def precision(view: View, measure: Measure) -> Recipe:
    return Recipe(Walk.WEIGHTED, binary(view, measure["rel"]), Over.CUTOFF, cutoff_of(measure), ones(view))


def recall(view: View, measure: Measure) -> Recipe:
    return Recipe(Walk.WEIGHTED, binary(view, measure["rel"]), Over.RELEVANT, cutoff_of(measure), ones(view))


def r_precision(view: View, measure: Measure) -> Recipe:
    gain = binary(view, measure["rel"])
    return Recipe(Walk.WEIGHTED, gain, Over.RELEVANT, weight=ones(view), cut_at_relevant=True)


def reciprocal_rank(view: View, measure: Measure) -> Recipe:
    return Recipe(Walk.FIRST_RELEVANT, binary(view, measure["rel"]), Over.NOTHING, cutoff_of(measure))


def success(view: View, measure: Measure) -> Recipe:
    gain = binary(view, measure["rel"])
    return Recipe(Walk.WEIGHTED, gain, Over.NOTHING, cutoff_of(measure), ones(view), most=1.0)


def context_precision(view: View, measure: Measure) -> Array:
    """The mean of the precision at the relevant documents among the first k, those not there left out."""
    gain, cutoff = binary(view, measure["rel"]), cut(view, measure.k)
    sums = run(kernels.blended, view, gain, cutoff, 0.0, np.zeros(view.units + 1, np.int64), np.zeros(1))
    return divide(sums, run(kernels.weighted, view, gain, ones(view), cutoff))


def relative_precision(view: View, measure: Measure) -> Recipe:
    gain = binary(view, measure["rel"])
    return Recipe(Walk.WEIGHTED, gain, Over.RELEVANT_OR_CUTOFF, cutoff_of(measure), ones(view))


INFERRED_EPSILON = 1e-5  # trec_eval's INFAP_EPSILON
_JUDGED = {"Bpref": 0, "gm_bpref": 0, "infAP": 1, "num_nonrel_judged_ret": 2}
"""Measures that need all judged documents, and which result of the pass over those they are."""


def verdicts(view: View, rel: float) -> Array:
    """2 for relevant, 1 for not relevant, 0 for pooled and not judged, −1 for not pooled."""
    pooled = np.where(view.grade >= 0, 1, np.where(view.grade > NOT_POOLED, 0, -1))
    return np.where(relevant(view, rel), 2, pooled).astype(np.int8)


def judged_measures(view: View, measures: Sequence[Measure]) -> list[Array]:
    """Measures that need all judged documents, in one pass for each threshold of relevance."""
    passes = {rel: _judged_pass(view, rel) for rel in dict.fromkeys(each["rel"] for each in measures)}
    return [passes[each["rel"]][_JUDGED[each.kind.name]] for each in measures]


def _judged_pass(view: View, rel: float) -> Array:
    """bpref, the sums of inferred AP, and the judged documents that are not relevant."""
    verdict = verdicts(view, rel)
    counts = relevant_per_unit(view, rel), per_unit(view, verdict == 1)
    longest = int(np.diff(view.judged.edges).max(initial=0))
    lists = replace(view, ties=None)
    passed = run_into(3, kernels.judged_lists, lists, verdict, *counts, INFERRED_EPSILON, longest, hits=view.judged)
    if view.ties is not None:
        passed[0] = run(kernels.preference_tied, view, verdict, *counts, hits=view.judged)
    return passed


def judged(view: View, measure: Measure) -> Array:
    """Out of the documents there are: a list shorter than k is not blamed for its length."""
    gain = (view.grade >= 0).astype(np.float64)
    found = run(kernels.weighted, view, gain, ones(view), cut(view, measure.k), hits=view.judged)
    length = view.length.reshape(found.shape)
    return divide(found, length if measure.k is None else np.minimum(length, measure.k))


NORM = Parameter(
    "norm",
    "R",
    "what AP@k is divided by: R (trec_eval) or min, the smaller of k and R (Sakai 2014, footnote 2)",
    one_of("R", "min"),
)

KINDS = (
    MeasureKind(
        name="AP",
        title="Average precision",
        help="The mean of the precision at every relevant document, those not found counting 0. Rewards finding all "
        "relevant documents, early ones most. Its mean over topics is MAP.",
        citation="BuckleyVoorhees2005",
        recipe=average_precision,
        parameters=(REL, NORM, JUDGED_ONLY),
        aliases=("map", "MAP", "map_cut"),
        averages_ties=True,
    ),
    MeasureKind(
        name="P",
        title="Precision",
        help="The share of the first k documents that are relevant; a shorter list is filled up with "
        "non-relevant ones.",
        citation="Rijsbergen1979",
        recipe=precision,
        parameters=(REL, JUDGED_ONLY),
        cutoff=Cutoff(required=True),
        aliases=("P", "precision"),
        averages_ties=True,
    ),
    MeasureKind(
        name="R",
        title="Recall",
        help="The share of the relevant documents that are among the first k. In evaluations of retrieval-augmented "
        "generation it is context recall by ids.",
        citation="Rijsbergen1979",
        recipe=recall,
        parameters=(REL, JUDGED_ONLY),
        cutoff=Cutoff(required=True),
        aliases=("recall", "Recall", "ContextRecall", "context_recall"),
        averages_ties=True,
    ),
    MeasureKind(
        name="Rprec",
        title="R-precision",
        help="Precision at rank R, the number of relevant documents of the topic.",
        citation="BuckleyVoorhees2005",
        recipe=r_precision,
        parameters=(REL, JUDGED_ONLY),
        cutoff=Cutoff(allowed=False),
        aliases=("R-prec", "RPrec", "R-precision"),
        averages_ties=True,
    ),
    MeasureKind(
        name="RR",
        title="Reciprocal rank",
        help="1 / the rank of the first relevant document. Its mean over topics is MRR.",
        citation="KantorVoorhees2000",
        recipe=reciprocal_rank,
        parameters=(REL, JUDGED_ONLY),
        aliases=("recip_rank", "MRR"),
        averages_ties=True,
    ),
    MeasureKind(
        name="Success",
        title="Success",
        help="1 if a relevant document is among the first k, otherwise 0. Others call it hit rate.",
        citation="MacAvaney2022",
        recipe=success,
        parameters=(REL, JUDGED_ONLY),
        cutoff=Cutoff(required=True),
        aliases=("success", "HitRate", "hit_rate"),
        averages_ties=True,
    ),
    MeasureKind(
        name="ContextPrecision",
        title="Context precision",
        help="The mean of the precision at every relevant document among the first k, 0 if there is none; relevant "
        "documents that are not found do not count, as in Ragas. Its context precision by ids alone is P@k or SetP.",
        citation="Ragas",
        compute=context_precision,
        parameters=(REL,),
        aliases=("context_precision",),
    ),
    MeasureKind(
        name="relative_P",
        title="Relative precision",
        help="P@k over the highest P@k that the number of relevant documents R allows: divided by min(k, R) instead "
        "of k.",
        citation="TrecEval",
        recipe=relative_precision,
        parameters=(REL,),
        cutoff=Cutoff(required=True),
        averages_ties=True,
    ),
    MeasureKind(
        name="Bpref",
        title="Binary preference",
        help="How seldom judged non-relevant documents stand above relevant ones; unjudged documents do not matter. "
        "Follows trec_eval: relevant documents that were not retrieved count 0.",
        citation="BuckleyVoorhees2004",
        together=judged_measures,
        parameters=(REL,),
        cutoff=Cutoff(allowed=False),
        aliases=("bpref",),
        averages_ties=True,
    ),
    MeasureKind(
        name="Judged",
        title="Judged documents",
        help="The share of the first k documents that have a judgment; if it is low, scores are unreliable. Negative "
        "grades are no judgments.",
        citation="MacAvaney2022",
        compute=judged,
        parameters=(),
        averages_ties=True,
    ),
)
