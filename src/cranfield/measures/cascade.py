"""Expected reciprocal rank: the user reads on until satisfied."""

from __future__ import annotations

from cranfield.collection import View
from cranfield.measures import kernels
from cranfield.measures.declaration import Measure, MeasureKind, Parameter, whole
from cranfield.measures.lists import GAINS, cut, divide, gain_of, highest_gain, ideal, run, spread_units
from cranfield.types import Array


def stop_probability(view: View, measure: Measure) -> Array:
    """g / (g_max + 1)."""
    return gain_of(view.grade, measure["gains"]) / (highest_gain(view, measure) + 1.0)


def err(view: View, measure: Measure) -> Array:
    return run(kernels.cascade, view, stop_probability(view, measure), cut(view, measure.k))


def nerr(view: View, measure: Measure) -> Array:
    stop, cutoff = stop_probability(view, measure), cut(view, measure.k)
    best = run(kernels.cascade, ideal(view, stop), stop, cutoff)
    return divide(run(kernels.cascade, view, stop, cutoff), spread_units(view, best.ravel()))


MAX = Parameter("max", None, "the highest grade of the scale, where the judgments do not reach it", whole)

KINDS = (
    MeasureKind(
        "ERR",
        "Expected reciprocal rank",
        "The expected 1 / rank at which a user stops who is satisfied by a document of gain g with probability "
        "g / (g_max + 1). With gains=exp and max=4 it is gdeval's.",
        "Chapelle2009",
        err,
        (GAINS, MAX),
    ),
    MeasureKind(
        "nERR",
        "Normalised expected reciprocal rank",
        "ERR over the ERR of the ideal list.",
        "SakaiSong2011",
        nerr,
        (GAINS, MAX),
    ),
)
