"""Retrieved documents as a set, without their order, and counts of them."""

from __future__ import annotations

import math

import numpy as np

from cranfield.collection import View
from cranfield.measures.declaration import (
    JUDGED_ONLY,
    REL,
    Cutoff,
    Measure,
    MeasureKind,
    Parameter,
    between,
    read_flag,
    read_grade,
)
from cranfield.measures.precision import judged_measures, ones
from cranfield.measures.recipes import Over, Recipe, Walk, binary, cutoff_of, divide, relevant_per_unit, spread_units
from cranfield.types import Array


def found(view: View, measure: Measure) -> Recipe:
    """How many relevant documents each list has, among its first k where the measure says that."""
    return Recipe(Walk.WEIGHTED, binary(view, measure["rel"]), Over.NOTHING, cutoff_of(measure), ones(view))


def _needed(view: View, rel: float) -> Array:
    """How many relevant documents there are for each list."""
    return np.broadcast_to(spread_units(view, relevant_per_unit(view, rel)), (view.topics, view.systems, view.shards))


def _returned(view: View) -> Array:
    return view.length.reshape(view.topics, view.systems, view.shards)


def set_precision(view: View, measure: Measure, found: Array) -> Array:
    returned = _returned(view)
    by = np.minimum(returned, _needed(view, measure["rel"])) if measure["relative"] else returned
    return divide(found, by)


def set_recall(view: View, measure: Measure) -> Recipe:
    return Recipe(Walk.WEIGHTED, binary(view, measure["rel"]), Over.RELEVANT, weight=ones(view))


def set_f(view: View, measure: Measure, found: Array) -> Array:
    """(x + 1)·P·R / (R + x·P), as trec_eval has it: x stands where van Rijsbergen has β²."""
    x = float(measure["beta"])
    return divide((x + 1.0) * found, _returned(view) + x * _needed(view, measure["rel"]))


def set_ap(view: View, measure: Measure, found: Array) -> Array:
    return divide(found * found, _returned(view) * _needed(view, measure["rel"]))


def f_at(view: View, measure: Measure, found: Array) -> Array:
    """(1 + β²)·P·R / (β²·P + R) with P = found / k and R = found / relevant (van Rijsbergen 1979, chapter 7)."""
    weight = float(measure["beta"]) ** 2
    return divide((1.0 + weight) * found, weight * _needed(view, measure["rel"]) + float(measure.k or 0))


def utility(view: View, measure: Measure, found: Array) -> Array:
    return np.asarray(2.0 * found - _returned(view))


def topics_scored(view: View, measure: Measure) -> Array:
    return np.ones((view.topics, view.systems, view.shards))


def returned_count(view: View, measure: Measure) -> Array:
    return _returned(view).astype(np.float64)


def found_above(view: View, measure: Measure) -> Recipe | None:
    """The relevant documents returned; None where all that are returned count."""
    return None if measure["rel"] is None else found(view, measure)


def relevant_count(view: View, measure: Measure) -> Array:
    return _needed(view, measure["rel"]).astype(np.float64)


RELATIVE = Parameter("relative", False, "True: divide by the smaller of returned and relevant documents", read_flag)
IMPORTANCE = Parameter(
    "beta", 1.0, "how much recall counts against precision, as in trec_eval (others write β² for it)", between(0, 1e6)
)
F_BETA = Parameter("beta", 1.0, "how many times as much recall counts as precision; β² is used", between(0, 1e3))
COUNTED = Parameter("rel", None, "the lowest grade that is counted (without it: every document)", read_grade)

KINDS = (
    MeasureKind(
        name="SetP",
        title="Set precision",
        help="The share of all documents returned that are relevant.",
        citation="Rijsbergen1979",
        recipe=found,
        finish=set_precision,
        parameters=(REL, RELATIVE, JUDGED_ONLY),
        cutoff=Cutoff(allowed=False),
        aliases=("set_P",),
        averages_ties=True,
    ),
    MeasureKind(
        name="SetR",
        title="Set recall",
        help="The share of the relevant documents that are returned at all.",
        citation="Rijsbergen1979",
        recipe=set_recall,
        parameters=(REL,),
        cutoff=Cutoff(allowed=False),
        aliases=("set_recall",),
        averages_ties=True,
    ),
    MeasureKind(
        name="SetF",
        title="Set F measure",
        help="(x + 1)·P·R / (R + x·P) of all documents returned, x being beta, as in trec_eval.",
        citation="Rijsbergen1979",
        recipe=found,
        finish=set_f,
        parameters=(REL, IMPORTANCE, JUDGED_ONLY),
        cutoff=Cutoff(allowed=False),
        aliases=("set_F",),
        averages_ties=True,
    ),
    MeasureKind(
        name="SetAP",
        title="Set average precision",
        help="SetP · SetR: average precision if the relevant documents were spread evenly over the list.",
        citation="TrecEval",
        recipe=found,
        finish=set_ap,
        parameters=(REL, JUDGED_ONLY),
        cutoff=Cutoff(allowed=False),
        aliases=("set_map",),
        averages_ties=True,
    ),
    MeasureKind(
        name="F",
        title="F measure",
        help="The harmonic mean of P@k and R@k, (1 + β²)·P·R / (β²·P + R).",
        citation="Rijsbergen1979",
        recipe=found,
        finish=f_at,
        parameters=(REL, F_BETA),
        cutoff=Cutoff(required=True),
        aliases=("F1", "f1"),
        averages_ties=True,
    ),
    MeasureKind(
        name="utility",
        title="Utility",
        help="Relevant documents returned minus other documents returned.",
        citation="TrecEval",
        recipe=found,
        finish=utility,
        parameters=(REL,),
        cutoff=Cutoff(allowed=False),
        lowest=-math.inf,
        highest=math.inf,
        averages_ties=True,
    ),
    MeasureKind(
        name="NumQ",
        title="Number of topics",
        help="1 for every topic; tables of means show the sum.",
        citation="TrecEval",
        compute=topics_scored,
        cutoff=Cutoff(allowed=False),
        averaged="sum",
        aliases=("num_q",),
        averages_ties=True,
    ),
    MeasureKind(
        name="NumRet",
        title="Number of documents returned",
        help="How many documents are returned or, with rel, how many relevant ones; tables of means show the sum.",
        citation="TrecEval",
        recipe=found_above,
        compute=returned_count,
        parameters=(COUNTED,),
        cutoff=Cutoff(allowed=False),
        highest=math.inf,
        averaged="sum",
        aliases=("num_ret",),
        averages_ties=True,
    ),
    MeasureKind(
        name="NumRel",
        title="Number of relevant documents",
        help="How many relevant documents the topic has, returned or not; tables of means show the sum.",
        citation="TrecEval",
        compute=relevant_count,
        parameters=(REL,),
        cutoff=Cutoff(allowed=False),
        highest=math.inf,
        averaged="sum",
        aliases=("num_rel",),
        averages_ties=True,
    ),
    MeasureKind(
        name="num_nonrel_judged_ret",
        title="Number of non-relevant documents returned",
        help="How many documents are returned that were judged and are not relevant; tables of means show the sum.",
        citation="TrecEval",
        together=judged_measures,
        parameters=(REL,),
        cutoff=Cutoff(allowed=False),
        highest=math.inf,
        averaged="sum",
        averages_ties=True,
    ),
)
