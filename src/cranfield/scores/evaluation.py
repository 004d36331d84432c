"""Scores of a collection: every system on every topic, with every measure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cranfield.collection import Collection, View
from cranfield.errors import Caution, RequestError
from cranfield.measures import Measure, parse_measures
from cranfield.measures.recipes import compute
from cranfield.scores.table import Missing, ScoreTable, choose, dropped_topics
from cranfield.types import Array


def score_collection(
    collection: Collection, measures: Sequence[str] | str, *, missing: str = "zero", no_relevant: str = "zero"
) -> ScoreTable:
    """Score a collection.

    Parameters
    ----------
    measures
        Names such as ``AP``, ``P@10``, ``nDCG(gains=exp)@10``; ``cranfield measures`` lists them.
    missing
        Policy for a judged topic for which a run returned nothing: ``zero`` (as trec_eval -c), ``nan``, or ``drop``.
    no_relevant
        Policy for a topic without relevant documents: ``zero`` (as trec_eval), ``nan``, or ``drop``.
    """
    wanted = parse_measures(measures)
    require_judgments(collection, wanted)
    policies = choose(Missing, missing, "missing"), choose(Missing, no_relevant, "no_relevant")
    values = score_view(collection.whole, wanted)
    absent = collection.returned == 0
    barren = np.broadcast_to((_findable(collection) == 0)[:, np.newaxis], absent.shape)
    dropped = np.zeros(len(collection.topics), bool)
    for policy, cells in zip(policies, (absent, barren), strict=True):
        if policy is Missing.NAN:
            values[:, cells] = np.nan
        elif policy is Missing.DROP:
            dropped |= cells.any(axis=1)
    if dropped.all():
        raise RequestError("no topic is left to score", fix="Choose zero or nan for missing or no_relevant.")
    return ScoreTable(
        tuple(map(str, wanted)),
        tuple(topic for topic, gone in zip(collection.topics, dropped, strict=True) if not gone),
        collection.systems,
        values[:, ~dropped],
        warnings=_warnings(collection, policies[0], absent),
    )


def _warnings(collection: Collection, policy: Missing, absent: Array) -> tuple[Caution, ...]:
    """The collection's, with what became of topics for which a run returned nothing."""
    if policy is Missing.ZERO or not absent.any():
        return collection.warnings  # which count them, and say that they score 0
    kept = tuple(problem for problem in collection.warnings if problem.slug != "topic-missing")
    if policy is Missing.NAN:
        what = f"runs returned nothing for {int(absent.sum()):,} of {absent.size:,} topics, which have no score"
        return *kept, Caution("cell-missing", what)
    lost = [topic for topic, gone in zip(collection.topics, np.asarray(absent.any(axis=1)), strict=True) if gone]
    return *kept, dropped_topics(lost, len(collection.topics), "got nothing from a run")


def score_view(view: View, measures: Sequence[Measure]) -> Array:
    """Measures × topics × systems × shards of any view: the whole collection, or one split into shards."""
    if len(measures) == 1:  # many shards make many scores, and copying them takes as long as computing them
        return np.asarray(compute(view, measures[0]), np.float64)[np.newaxis]
    values = np.empty((len(measures), view.topics, view.systems, view.shards))
    for at, measure in enumerate(measures):
        values[at] = compute(view, measure)
    return values


def _findable(collection: Collection) -> Array:
    """Relevant documents of each topic, by the ordinary judgments or, without those, by the per-intent ones."""
    intents = collection.intents
    if intents is None or (collection.arrays["grade"] >= 0).any():
        return collection.relevant
    served = np.add.reduceat(np.append(intents.grade > 0, False), intents.edges[:-1]) * (np.diff(intents.edges) > 0)
    return np.bincount(collection.judged_topic, weights=served, minlength=len(collection.topics))


def require_judgments(collection: Collection, measures: Sequence[Measure]) -> None:
    """Refuse measures whose kind of judgments the collection does not have."""
    negative = any(problem.slug == "grade-negative" for problem in collection.warnings)
    if negative or (collection.arrays["grade"] >= 0).any():
        return
    plain = [str(measure) for measure in measures if not measure.kind.per_intent]
    if plain and collection.intents is not None:
        raise RequestError(
            f"{plain[0]} needs ordinary judgments, and only per-intent ones were read", fix="Give them too, as `qrels`."
        )
