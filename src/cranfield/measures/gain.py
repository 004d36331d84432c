"""Graded measures: nDCG in its two forms, Q and P+, expected reciprocal rank, rank-biased precision."""

from __future__ import annotations

import math

import numpy as np

from cranfield.collection import View
from cranfield.measures import kernels
from cranfield.measures.declaration import (
    JUDGED_ONLY,
    REL,
    Cutoff,
    Measure,
    MeasureKind,
    Parameter,
    between,
    read_grade,
)
from cranfield.measures.recipes import (
    GAINS,
    Over,
    Recipe,
    Walk,
    binary,
    cut,
    cutoff_of,
    discounts,
    gain_of,
    graded,
    highest_gain,
    read_gains,
    run,
)
from cranfield.types import Array


def normalised_dcg(view: View, gain: Array, cutoff: int, base: float | None) -> Recipe:
    """DCG over the DCG of the ideal list, for any gain a judgment; sums in another order may round past 1."""
    return Recipe(Walk.WEIGHTED, gain, Over.IDEAL, cutoff, discounts(view, base), most=1.0)


def ndcg(view: View, measure: Measure) -> Recipe:
    return normalised_dcg(view, graded(view, measure["gains"]), cutoff_of(measure), measure["log"])


def dcg(view: View, measure: Measure) -> Recipe:
    gain = gain_of(view.grade, measure["gains"])
    return Recipe(Walk.WEIGHTED, gain, Over.NOTHING, cutoff_of(measure), discounts(view, measure["log"]))


def first_gain(view: View, measure: Measure) -> Recipe:
    return normalised_dcg(view, gain_of(view.grade, measure["gains"]), 1, None)


def q_measure(view: View, measure: Measure) -> Recipe:
    over = Over.RELEVANT if measure.k is None else Over.RELEVANT_OR_CUTOFF
    gain = gain_of(view.grade, measure["gains"])
    return Recipe(Walk.BLENDED, gain, over, cutoff_of(measure), beta=float(measure["beta"]))


def p_plus(view: View, measure: Measure) -> Recipe:
    return Recipe(Walk.PREFERRED, gain_of(view.grade, measure["gains"]), Over.NOTHING, beta=float(measure["beta"]))


def stop_probability(view: View, measure: Measure) -> Array:
    """g / (g_max + 1)."""
    return gain_of(view.grade, measure["gains"]) / (highest_gain(view, measure) + 1.0)


def err(view: View, measure: Measure) -> Recipe:
    return Recipe(Walk.CASCADE, stop_probability(view, measure), Over.NOTHING, cutoff_of(measure))


def nerr(view: View, measure: Measure) -> Recipe:
    return Recipe(Walk.CASCADE, stop_probability(view, measure), Over.IDEAL, cutoff_of(measure))


def persistence(view: View, p: float) -> Array:
    """(1 − p)·p^(r − 1) for every rank."""
    return (1.0 - p) * p ** np.maximum(np.arange(view.deepest + 1, dtype=np.float64) - 1.0, 0.0)


def rbp(view: View, measure: Measure) -> Recipe:
    if measure["gains"] == "binary":
        gain = binary(view, measure["rel"])
    else:
        gain = gain_of(view.grade, measure["gains"]) / (highest_gain(view, measure) or 1.0)
    return Recipe(Walk.WEIGHTED, gain, Over.NOTHING, cutoff_of(measure), persistence(view, measure["p"]))


def residual(view: View, measure: Measure) -> Array:
    """What RBP could still gain if every document without a judgment, below the list's end too, were relevant."""
    judged = (view.grade >= 0).astype(np.float64)
    return 1.0 - run(kernels.weighted, view, judged, persistence(view, measure["p"]), cut(view, None), hits=view.judged)


def _log_base(text: str) -> float:
    return between(1.0000001, 1e6)(text)


LOG = Parameter(
    "log",
    None,
    "the base b of Järvelin & Kekäläinen's discount: none before rank b, log_b(r) from there (without it: log2(r + 1))",
    _log_base,
)
BETA = Parameter("beta", 1.0, "how much gain counts against plain precision; 0 makes it precision", between(0, 1e6))
MAX = Parameter("max", None, "the highest grade of the scale, where the judgments do not reach it", read_grade)


def _gains(text: str) -> str:
    return text if text == "binary" else read_gains(text)


P = Parameter("p", 0.8, "persistence: the probability of reading on after each document", between(0.0, 0.999999))
RBP_GAINS = Parameter("gains", "binary", "binary, or graded gains over the highest: linear, exp, or a table", _gains)

KINDS = (
    MeasureKind(
        name="nDCG",
        title="Normalised discounted cumulated gain",
        help="Gains of the documents found, discounted by rank, over what an ideal list would have. Discount "
        "log2(r + 1) unless log gives a base.",
        citation="JarvelinKekalainen2002",
        recipe=ndcg,
        parameters=(GAINS, LOG, JUDGED_ONLY),
        aliases=("ndcg", "ndcg_cut", "MSnDCG"),
        averages_ties=True,
    ),
    MeasureKind(
        name="DCG",
        title="Discounted cumulated gain",
        help="Gains of the documents found, discounted by rank, not normalised: topics with more relevant documents "
        "weigh more in its mean. Discount log2(r + 1) unless log gives a base.",
        citation="JarvelinKekalainen2002",
        recipe=dcg,
        parameters=(GAINS, LOG),
        highest=math.inf,
        aliases=("dcg",),
        averages_ties=True,
    ),
    MeasureKind(
        name="nG@1",
        title="Normalised gain at rank 1",
        help="nDCG@1: the gain of the first document over the highest there is.",
        citation="SakaiShang2016",
        recipe=first_gain,
        parameters=(GAINS,),
        cutoff=Cutoff(allowed=False),
        averages_ties=True,
    ),
    MeasureKind(
        name="Q",
        title="Q-measure",
        help="AP for graded judgments: the blended ratio (C(r) + β·cg(r)) / (r + β·cg*(r)) averaged over the relevant "
        "documents; divided by min(k, R).",
        citation="Sakai2004",
        recipe=q_measure,
        parameters=(GAINS, BETA),
    ),
    MeasureKind(
        name="P+",
        title="P-plus",
        help="The blended ratio averaged over the relevant documents down to the preferred rank, that of the "
        "first document of the highest grade retrieved. For searchers who stop at the best document.",
        citation="Sakai2007",
        recipe=p_plus,
        parameters=(GAINS, BETA),
        cutoff=Cutoff(allowed=False),
    ),
    MeasureKind(
        name="ERR",
        title="Expected reciprocal rank",
        help="The expected 1 / rank at which a user stops who is satisfied by a document of gain g with probability "
        "g / (g_max + 1). With gains=exp and max=4 it is gdeval's.",
        citation="Chapelle2009",
        recipe=err,
        parameters=(GAINS, MAX),
    ),
    MeasureKind(
        name="nERR",
        title="Normalised expected reciprocal rank",
        help="ERR over the ERR of the ideal list.",
        citation="SakaiSong2011",
        recipe=nerr,
        parameters=(GAINS, MAX),
    ),
    MeasureKind(
        name="RBP",
        title="Rank-biased precision",
        help="The rate of gain of a user who reads on after each document with probability p. With graded "
        "gains each is divided by the highest.",
        citation="MoffatZobel2008",
        recipe=rbp,
        parameters=(P, REL, RBP_GAINS, MAX),
        beside="RBP_residual",
        averages_ties=True,
    ),
    MeasureKind(
        name="RBP_residual",
        title="Residual of rank-biased precision",
        help="How much RBP could rise if every unjudged document turned out relevant: the true value lies "
        "between RBP and RBP + residual.",
        citation="MoffatZobel2008",
        compute=residual,
        parameters=(P,),
        cutoff=Cutoff(allowed=False),
        averages_ties=True,
    ),
)
