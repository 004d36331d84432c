"""Precision, recall, average precision, reciprocal rank, bpref: relevant or not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cranfield.collection import View
from cranfield.measures import kernels
from cranfield.measures.declaration import REL, Cutoff, Measure, MeasureKind, Parameter, one_of
from cranfield.measures.lists import binary, cut, divide, per_unit, relevant, run, spread_units
from cranfield.types import Array


def ones(view: View) -> Array:
    """The same weight for every rank."""
    return np.ones(view.deepest + 1)


def average_precision(view: View, measure: Measure) -> Array:
    gain = binary(view, measure["rel"])
    nothing = (np.zeros(view.units + 1, np.int64), np.zeros(1))
    total = run(kernels.blended, view, gain, cut(view, measure.k), 0.0, *nothing)
    needed = per_unit(view, gain > 0)
    if measure["norm"] == "min" and measure.k is not None:
        needed = np.minimum(needed, measure.k)  # S14 footnote 2
    return divide(total, spread_units(view, needed))


def precision(view: View, measure: Measure) -> Array:
    return run(kernels.weighted, view, binary(view, measure["rel"]), ones(view), cut(view, measure.k)) / measure.k


def recall(view: View, measure: Measure) -> Array:
    gain = binary(view, measure["rel"])
    found = run(kernels.weighted, view, gain, ones(view), cut(view, measure.k))
    return divide(found, spread_units(view, per_unit(view, gain > 0)))


def r_precision(view: View, measure: Measure) -> Array:
    gain = binary(view, measure["rel"])
    needed = per_unit(view, gain > 0)
    return divide(run(kernels.weighted, view, gain, ones(view), needed), spread_units(view, needed))


def reciprocal_rank(view: View, measure: Measure) -> Array:
    return run(kernels.first_relevant, view, binary(view, measure["rel"]), cut(view, measure.k))


def bpref(view: View, measure: Measure) -> Array:
    is_relevant = relevant(view, measure["rel"])
    is_other = (view.grade >= 0) & ~is_relevant
    verdict = np.where(is_relevant, 1, np.where(is_other, 0, -1)).astype(np.int32)
    seen = replace(view.judged, rank=verdict[view.judged.judgment])
    return run(kernels.preference, view, per_unit(view, is_relevant), per_unit(view, is_other), hits=seen)


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
        "AP",
        "Average precision",
        "The mean of the precision at every relevant document, those not found counting 0. Rewards finding all "
        "relevant documents, early ones most. Its mean over topics is MAP.",
        "BuckleyVoorhees2005",
        average_precision,
        (REL, NORM),
        aliases=("map", "MAP", "map_cut"),
    ),
    MeasureKind(
        "P",
        "Precision",
        "The share of the first k documents that are relevant; a shorter list is filled up with non-relevant ones.",
        "Rijsbergen1979",
        precision,
        (REL,),
        Cutoff(required=True),
        aliases=("P", "precision"),
    ),
    MeasureKind(
        "R",
        "Recall",
        "The share of the relevant documents that are among the first k.",
        "Rijsbergen1979",
        recall,
        (REL,),
        Cutoff(required=True),
        aliases=("recall", "Recall"),
    ),
    MeasureKind(
        "Rprec",
        "R-precision",
        "Precision at rank R, the number of relevant documents of the topic.",
        "BuckleyVoorhees2005",
        r_precision,
        (REL,),
        Cutoff(allowed=False),
        aliases=("R-prec",),
    ),
    MeasureKind(
        "RR",
        "Reciprocal rank",
        "1 / the rank of the first relevant document. Its mean over topics is MRR.",
        "KantorVoorhees2000",
        reciprocal_rank,
        (REL,),
        aliases=("recip_rank", "MRR"),
    ),
    MeasureKind(
        "Bpref",
        "Binary preference",
        "How seldom judged non-relevant documents stand above relevant ones; unjudged documents do not matter. "
        "Follows trec_eval: relevant documents that were not retrieved count 0.",
        "BuckleyVoorhees2004",
        bpref,
        (REL,),
        Cutoff(allowed=False),
        aliases=("bpref",),
    ),
    MeasureKind(
        "Judged",
        "Judged documents",
        "The share of the first k documents that have a judgment; if it is low, scores are unreliable. Negative "
        "grades are no judgments.",
        "MacAvaney2022",
        judged,
        (),
    ),
)
