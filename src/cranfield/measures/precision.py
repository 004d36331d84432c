"""Precision, recall, average precision, reciprocal rank, bpref: relevant or not."""

from __future__ import annotations

from collections.abc import Sequence

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


def relative_precision(view: View, measure: Measure) -> Recipe:
    gain = binary(view, measure["rel"])
    return Recipe(Walk.WEIGHTED, gain, Over.RELEVANT_OR_CUTOFF, cutoff_of(measure), ones(view))


INFERRED_EPSILON = 1e-5  # trec_eval's INFAP_EPSILON
_JUDGED = {"Bpref": 0, "gm_bpref": 0, "infAP": 1, "num_nonrel_judged_ret": 2}
"""Measures that need all judged documents, and which result of the pass over those they are."""


def judged_measures(view: View, measures: Sequence[Measure]) -> list[Array]:
    """Measures that need all judged documents, in one pass for each threshold of relevance."""
    passes = {rel: _judged_pass(view, rel) for rel in dict.fromkeys(each["rel"] for each in measures)}
    return [passes[each["rel"]][_JUDGED[each.kind.name]] for each in measures]


def _judged_pass(view: View, rel: float) -> Array:
    """bpref, the sums of inferred AP, and the judged documents that are not relevant."""
    is_relevant = relevant(view, rel)
    is_other = (view.grade >= 0) & ~is_relevant
    verdict = np.where(is_relevant, 2, np.where(is_other, 1, np.where(view.grade > NOT_POOLED, 0, -1))).astype(np.int8)
    counts = relevant_per_unit(view, rel), per_unit(view, is_other)
    longest = int(np.diff(view.judged.edges).max(initial=0))
    return run_into(3, kernels.judged_lists, view, verdict, *counts, INFERRED_EPSILON, longest, hits=view.judged)


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
    ),
    MeasureKind(
        name="R",
        title="Recall",
        help="The share of the relevant documents that are among the first k.",
        citation="Rijsbergen1979",
        recipe=recall,
        parameters=(REL, JUDGED_ONLY),
        cutoff=Cutoff(required=True),
        aliases=("recall", "Recall"),
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
    ),
    MeasureKind(
        name="RR",
        title="Reciprocal rank",
        help="1 / the rank of the first relevant document. Its mean over topics is MRR.",
        citation="KantorVoorhees2000",
        recipe=reciprocal_rank,
        parameters=(REL, JUDGED_ONLY),
        aliases=("recip_rank", "MRR"),
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
    ),
    MeasureKind(
        name="Judged",
        title="Judged documents",
        help="The share of the first k documents that have a judgment; if it is low, scores are unreliable. Negative "
        "grades are no judgments.",
        citation="MacAvaney2022",
        compute=judged,
        parameters=(),
    ),
)
