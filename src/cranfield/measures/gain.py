"""Cumulated gain: nDCG in its two forms, Q and P+."""

from __future__ import annotations

import numpy as np

from cranfield.collection import View
from cranfield.measures import kernels
from cranfield.measures.declaration import Cutoff, Measure, MeasureKind, Parameter, between
from cranfield.measures.lists import (
    GAINS,
    cumulated,
    cut,
    discounts,
    divide,
    gain_of,
    ideal,
    per_unit,
    run,
    spread_units,
)
from cranfield.types import Array


def normalised_dcg(view: View, gain: Array, k: int | None, base: float | None) -> Array:
    """DCG over the DCG of the ideal list, for any gain a judgment."""
    weight, cutoff = discounts(view, base), cut(view, k)
    found = run(kernels.weighted, view, gain, weight, cutoff)
    best = run(kernels.weighted, ideal(view, gain), gain, weight, cutoff)
    return np.minimum(divide(found, spread_units(view, best.ravel())), 1.0)  # sums in another order may round past 1


def ndcg(view: View, measure: Measure) -> Array:
    return normalised_dcg(view, gain_of(view.grade, measure["gains"]), measure.k, measure["log"])


def first_gain(view: View, measure: Measure) -> Array:
    return normalised_dcg(view, gain_of(view.grade, measure["gains"]), 1, None)


def q_measure(view: View, measure: Measure) -> Array:
    gain = gain_of(view.grade, measure["gains"])
    edges, best = cumulated(view, gain)
    total = run(kernels.blended, view, gain, cut(view, measure.k), float(measure["beta"]), edges, best)
    needed = per_unit(view, gain > 0)
    return divide(total, spread_units(view, needed if measure.k is None else np.minimum(needed, measure.k)))


def p_plus(view: View, measure: Measure) -> Array:
    gain = gain_of(view.grade, measure["gains"])
    return run(kernels.preferred, view, gain, float(measure["beta"]), *cumulated(view, gain))


def _log_base(text: str) -> float:
    return between(1.0000001, 1e6)(text)


LOG = Parameter(
    "log",
    None,
    "the base b of Järvelin & Kekäläinen's discount: none before rank b, log_b(r) from there (without it: log2(r + 1))",
    _log_base,
)
BETA = Parameter("beta", 1.0, "how much gain counts against plain precision; 0 makes it precision", between(0, 1e6))

KINDS = (
    MeasureKind(
        "nDCG",
        "Normalised discounted cumulated gain",
        "Gains of the documents found, discounted by rank, over what an ideal list would have. Discount log2(r + 1) "
        "unless log gives a base.",
        "JarvelinKekalainen2002",
        ndcg,
        (GAINS, LOG),
        aliases=("ndcg", "ndcg_cut", "MSnDCG"),
    ),
    MeasureKind(
        "nG@1",
        "Normalised gain at rank 1",
        "nDCG@1: the gain of the first document over the highest there is.",
        "SakaiShang2016",
        first_gain,
        (GAINS,),
        Cutoff(allowed=False),
    ),
    MeasureKind(
        "Q",
        "Q-measure",
        "AP for graded judgments: the blended ratio (C(r) + β·cg(r)) / (r + β·cg*(r)) averaged over the relevant "
        "documents; divided by min(k, R).",
        "Sakai2004",
        q_measure,
        (GAINS, BETA),
    ),
    MeasureKind(
        "P+",
        "P-plus",
        "The blended ratio averaged over the relevant documents down to the preferred rank, that of the first document "
        "of the highest grade retrieved. For searchers who stop at the best document.",
        "Sakai2007",
        p_plus,
        (GAINS, BETA),
        Cutoff(allowed=False),
    ),
)
