"""Rank-biased precision, and how much of it the missing judgments leave open."""

from __future__ import annotations

import numpy as np

from cranfield.collection import View
from cranfield.measures import kernels
from cranfield.measures.cascade import MAX
from cranfield.measures.declaration import REL, Cutoff, Measure, MeasureKind, Parameter, between
from cranfield.measures.lists import binary, cut, gain_of, highest_gain, read_gains, run
from cranfield.types import Array


def persistence(view: View, p: float) -> Array:
    """(1 − p)·p^(r − 1) for every rank."""
    return (1.0 - p) * p ** np.maximum(np.arange(view.deepest + 1, dtype=np.float64) - 1.0, 0.0)


def rbp(view: View, measure: Measure) -> Array:
    if measure["gains"] == "binary":
        gain = binary(view, measure["rel"])
    else:
        gain = gain_of(view.grade, measure["gains"]) / (highest_gain(view, measure) or 1.0)
    return run(kernels.weighted, view, gain, persistence(view, measure["p"]), cut(view, measure.k))


def residual(view: View, measure: Measure) -> Array:
    """What RBP could still gain if every document without a judgment, below the list's end too, were relevant."""
    judged = (view.grade >= 0).astype(np.float64)
    return 1.0 - run(kernels.weighted, view, judged, persistence(view, measure["p"]), cut(view, None), hits=view.judged)


def _gains(text: str) -> str:
    return text if text == "binary" else read_gains(text)


P = Parameter("p", 0.8, "persistence: the probability of reading on after each document", between(0.0, 0.999999))
RBP_GAINS = Parameter("gains", "binary", "binary, or graded gains over the highest: linear, exp, or a table", _gains)

KINDS = (
    MeasureKind(
        "RBP",
        "Rank-biased precision",
        "The rate of gain of a user who reads on after each document with probability p. With graded gains each is "
        "divided by the highest.",
        "MoffatZobel2008",
        rbp,
        (P, REL, RBP_GAINS, MAX),
        beside="RBP_residual",
    ),
    MeasureKind(
        "RBP_residual",
        "Residual of rank-biased precision",
        "How much RBP could rise if every unjudged document turned out relevant: the true value lies between RBP and "
        "RBP + residual.",
        "MoffatZobel2008",
        residual,
        (P,),
        Cutoff(allowed=False),
    ),
)
