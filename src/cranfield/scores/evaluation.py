"""Scores of a collection, or of run files a few at a time: every system on every topic, with every measure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cranfield.collection import Collection, View, read_collection
from cranfield.errors import Caution, RequestError
from cranfield.formats.text import STDIN, expand
from cranfield.measures import Measure, parse_measures
from cranfield.measures.recipes import compute
from cranfield.runtime.threads import tasks
from cranfield.scores.table import Missing, ScoreTable, choose, dropped_topics
from cranfield.types import Array, Progress


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


FILES_A_TASK = 4  # for this number of runs, reading the judgments again costs little


@dataclass(frozen=True)
class _Work:
    """How every file is read and scored."""

    measures: tuple[str, ...]
    qrels: str | None
    intents: str | None
    probabilities: str | None
    order: str
    name: str
    missing: str
    no_relevant: str


def score_files(
    runs: str | Path | Sequence[str | Path],
    qrels: str | Path | None = None,
    measures: Sequence[str] | str = "AP",
    *,
    intents: str | Path | None = None,
    probabilities: str | Path | None = None,
    order: str = "score",
    name: str = "auto",
    missing: str = "zero",
    no_relevant: str = "zero",
    progress: Progress | None = None,
) -> ScoreTable:
    """The same table as ``read_collection(runs, qrels).score(measures)``, a few files at a time.

    On a cluster the files are read where the tasks run, so that paths must lead to them there too.
    """
    files = expand([runs] if isinstance(runs, str | Path) else runs)
    if STDIN in files:
        raise RequestError("standard input cannot be read on another machine", fix="Name files.")
    judged = [None if path is None else str(path) for path in (qrels, intents, probabilities)]
    work = _Work(
        tuple(map(str, parse_measures(measures))), judged[0], judged[1], judged[2], order, name, missing, no_relevant
    )
    parts = [tuple(files[at : at + FILES_A_TASK]) for at in range(0, len(files), FILES_A_TASK)]
    if not parts:
        raise RequestError("no run was named", fix="Name run files, folders or patterns.")
    return _joined(tasks(_score_some, parts, shared=work, progress=progress))


def _score_some(work: _Work, files: tuple[str, ...]) -> ScoreTable:
    collection = read_collection(
        files, work.qrels, intents=work.intents, probabilities=work.probabilities, order=work.order, name=work.name
    )
    return score_collection(collection, work.measures, missing=work.missing, no_relevant=work.no_relevant)


def _joined(tables: Sequence[ScoreTable]) -> ScoreTable:
    """One table of all; a topic that one of them dropped is dropped from all."""
    names = [system for table in tables for system in table.systems]
    twice = [system for system, count in Counter(names).items() if count > 1]
    if twice:
        raise RequestError(f"two files hold a run called «{twice[0]}»", fix='Name systems after files: `name="file"`.')
    topics = [topic for topic in tables[0].topics if all(topic in table.topics for table in tables)]
    if not topics:
        raise RequestError("no topic is left to score", fix="Choose zero or nan for missing or no_relevant.")
    values = [table.values[:, [table.topics.index(topic) for topic in topics]] for table in tables]
    warnings = dict.fromkeys(warning for table in tables for warning in table.warnings)
    return ScoreTable(
        tables[0].measures, tuple(topics), tuple(names), np.concatenate(values, axis=2), warnings=tuple(warnings)
    )
