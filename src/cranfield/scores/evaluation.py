"""Scores of a collection, or of run files a few at a time: every system on every topic, with every measure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cranfield.collection import Collection, View, read_collection
from cranfield.collection.collection import NOT_POOLED
from cranfield.errors import Caution, RequestError, say_percent
from cranfield.formats.text import STDIN, expand
from cranfield.measures import Measure, parse_measures
from cranfield.measures.declaration import REL, relevant_grades, threshold
from cranfield.measures.recipes import compute_all
from cranfield.runtime.threads import tasks
from cranfield.scores.table import Missing, ScoreTable, choose, dropped_topics
from cranfield.types import Array, Progress

JUDGED_DEPTH, MANY_UNJUDGED = 10, 0.1  # documents of a list, and their share on average over topics


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
    *values_of, judged = score_view(collection.whole, (*wanted, *parse_measures([f"Judged@{JUDGED_DEPTH}"])))
    values, absent = np.array(values_of), collection.returned == 0
    dropped = np.zeros(len(collection.topics), bool)
    for policy, cells in zip(policies, (absent[np.newaxis], _barren(collection, wanted, policies[1])), strict=True):
        if policy is Missing.NAN:
            values[np.broadcast_to(cells, values.shape[:3])] = np.nan
        elif policy is Missing.DROP:
            dropped |= cells.any(axis=(0, 2))
    if dropped.all():
        raise RequestError("no topic is left to score", fix="Choose zero or nan for missing or no_relevant.")
    return ScoreTable(
        tuple(map(str, wanted)),
        tuple(topic for topic, gone in zip(collection.topics, dropped, strict=True) if not gone),
        collection.systems,
        values[:, ~dropped],
        warnings=(
            *_warnings(collection, policies[0], absent),
            *threshold_cautions(collection, wanted),
            *_tie_cautions(collection, wanted, values),
            *_importance_cautions(collection, wanted),
            *_first_run_cautions(collection, wanted),
            *_unjudged_cautions(collection.systems, judged[..., 0], absent),
        ),
    )


def _unjudged_cautions(systems: Sequence[str], judged: Array, absent: Array) -> Iterator[Caution]:
    """Name the runs of whose first documents many are unjudged."""
    unjudged = np.where(absent, 0.0, 1.0 - judged).sum(axis=0) / np.maximum((~absent).sum(axis=0), 1)
    for at in np.flatnonzero(unjudged > MANY_UNJUDGED).tolist():
        yield Caution(
            "unjudged",
            f"{say_percent(unjudged[at])} of the first {JUDGED_DEPTH} documents of {systems[at]} are "
            "unjudged, and count as not relevant",
            f"The measure Judged@{JUDGED_DEPTH} is the share of judged documents on each topic.",
        )


def _importance_cautions(collection: Collection, measures: Sequence[Measure]) -> Iterator[Caution]:
    """Say so where measures tell vital nuggets from others, and nothing says which are."""
    asked = [str(each) for each in measures if dict(each.values).get("of", "all") != "all"]
    if asked and collection.intents is not None and collection.intents.importance is None:
        what = f"the importance of nuggets is not given, and all of them count as vital for {', '.join(asked)}"
        yield Caution("nugget-importance", what, "Give it as `intent_probabilities`: topic nugget vital, or okay.")


def _first_run_cautions(collection: Collection, measures: Sequence[Measure]) -> Iterator[Caution]:
    """Say with which run others are compared, where none was named."""
    asked = [str(each) for each in measures if each.kind.compares_runs and each["to"] is None]
    if asked:
        what = f"{', '.join(asked)} compares with «{collection.systems[0]}», the first run by name"
        yield Caution("first-run", what, "Name another one: RBO(to=NAME).")


def _tie_cautions(collection: Collection, measures: Sequence[Measure], averaged: Array) -> Iterator[Caution]:
    """Where ties are averaged, in how many lists they are, and in how many of those the order changes a score."""
    ties = collection.whole.ties
    if ties is None:
        return
    shape, lists = averaged.shape[1:3], int(ties.in_lists.sum())
    tied = ties.in_lists.reshape(shape)
    one_order = score_view(replace(collection.whole, ties=None), measures)
    away = np.where(tied, np.nan_to_num(np.abs(averaged - one_order)[..., 0]), 0.0)
    what = f"documents with the same score are in {lists:,} of {tied.size:,} lists"
    changed = int((away > SAME).any(axis=0).sum())
    if changed:
        at, topic, system = map(int, np.unravel_index(int(away.argmax()), away.shape))
        what += (
            f"; the expected score differs from that in descending order of ids in {changed:,} of them, by at most "
            f"{away.max():.4f} ({measures[at]}, {collection.systems[system]}, topic {collection.topics[topic]})"
        )
    elif lists:
        what += ", and their order changes no score"
    yield Caution("ties-averaged", what)


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


RELSTRING_DEPTH = 10  # trec_eval's


def relstrings(collection: Collection) -> dict[str, str]:
    """The grades of the first ten documents of the first system on every topic, as trec_eval writes them.

    One character stands for each document: its grade (``>`` above 9), ``.`` for a negative grade, ``-`` for none.
    """
    hits, systems = collection.hits("judged"), len(collection.systems)
    grade = np.where(collection.arrays["grade"] >= 0, np.minimum(collection.arrays["grade"], 10), -1).astype(np.int64)
    grade[collection.arrays["grade"] == NOT_POOLED] = -2
    texts = {}
    for at, topic in enumerate(collection.topics):
        marks = ["-"] * min(int(collection.returned[at, 0]), RELSTRING_DEPTH)
        mine = slice(*hits.edges[at * systems : at * systems + 2].tolist())
        for rank, judgment in zip(hits.rank[mine].tolist(), hits.judgment[mine].tolist(), strict=True):
            if rank <= len(marks):
                marks[rank - 1] = "0123456789>-."[grade[judgment]]
        texts[topic] = "".join(marks)
    return texts


def score_view(view: View, measures: Sequence[Measure]) -> Array:
    """Measures × topics × systems × shards of any view: the whole collection, or one split into shards."""
    scores = compute_all(view, measures)
    if len(measures) == 1:  # many shards make many scores, and copying them takes as long as computing them
        return np.asarray(next(scores)[1], np.float64)[np.newaxis]
    values = np.empty((len(measures), view.topics, view.systems, view.shards))
    for at, score in scores:
        values[at] = score
    return values


def _barren(collection: Collection, measures: Sequence[Measure], policy: Missing) -> Array:
    """Measures × topics × 1: whether a topic has no document that is relevant to a measure.

    Ordinary judgments decide or, without those, per-intent ones.
    """
    if policy is Missing.ZERO:  # which it is anyway
        return np.zeros((len(measures), len(collection.topics), 1), bool)
    by_intent = collection.intents is not None and not (collection.arrays["grade"] >= 0).any()
    topic, grade = _grades(collection, by_intent=by_intent)
    found = np.empty((len(measures), len(collection.topics), 1), bool)
    for at, measure in enumerate(measures):
        relevant = relevant_grades(measure, grade) if measure.kind.per_intent == by_intent else grade > 0
        found[at, :, 0] = np.bincount(topic[relevant], minlength=len(collection.topics)) == 0
    return found


def _grades(collection: Collection, *, by_intent: bool) -> tuple[Array, Array]:
    """The topic and the grade of every judgment, ordinary or per intent."""
    if not by_intent:
        return collection.judged_topic, collection.arrays["grade"]
    rows = np.diff(collection.arrays["intent_edges"])
    return np.repeat(collection.judged_topic, rows), collection.arrays["intent_grade"]


def threshold_cautions(collection: Collection, measures: Sequence[Measure]) -> Iterator[Caution]:
    """Name the threshold of binary measures that were given none, where grades are fractional."""
    for by_intent in (False, True):
        unset = [each for each in measures if threshold(each) == REL.default and each.kind.per_intent == by_intent]
        topic, grade = _grades(collection, by_intent=by_intent) if unset else (np.zeros(0), np.zeros(0, np.int32))
        if grade.dtype.kind == "f" and (grade[grade > 0] % 1).any():
            yield _threshold_caution(unset, topic, grade)


def _threshold_caution(measures: Sequence[Measure], topic: Array, grade: Array) -> Caution:
    relevant = grade >= REL.default
    below = (grade > 0) & ~relevant
    topics, served = (len(np.unique(topic[chosen])) for chosen in (grade >= 0, relevant))
    names = ", ".join(map(str, measures[:5])) + (f" and {len(measures) - 5} more" if len(measures) > 5 else "")
    what = (
        f"grades are fractional, and {names} count{'s' * (len(measures) == 1)} a grade of at least {REL.default} as "
        f"relevant ({int(relevant.sum()):,} judgments) and a grade between 0 and {REL.default} as not relevant "
        f"({int(below.sum()):,} judgments)"
    )
    barren = f"; {topics - served:,} of {topics:,} topics have no relevant document" if served < topics else ""
    values = tuple((name, 0.5 if name == "rel" else value) for name, value in measures[0].values)
    example = replace(measures[0], values=values)
    gain = "D-nDCG" if example.kind.per_intent else "nDCG"
    fix = (
        f"Choose the threshold, such as {example}, or a measure of gain, such as {gain}, which uses grades as they are."
    )
    return Caution("grade-threshold", what + barren, fix)


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


SAME = 1e-12  # scores that differ by less are the same
FILES_A_TASK = 4  # for this number of runs, reading the judgments again costs little


@dataclass(frozen=True)
class _Work:
    """How every file is read and scored."""

    measures: tuple[str, ...]
    qrels: str | None
    intents: str | None
    probabilities: str | None
    order: str
    ties: str
    precision: str
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
    ties: str = "docid",
    precision: str = "double",
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
        measures=tuple(map(str, parse_measures(measures))),
        qrels=judged[0],
        intents=judged[1],
        probabilities=judged[2],
        order=order,
        ties=ties,
        precision=precision,
        name=name,
        missing=missing,
        no_relevant=no_relevant,
    )
    parts = [tuple(files[at : at + FILES_A_TASK]) for at in range(0, len(files), FILES_A_TASK)]
    if not parts:
        raise RequestError("no run was named", fix="Name run files, folders or patterns.")
    return _joined(tasks(_score_some, parts, shared=work, progress=progress))


def _score_some(work: _Work, files: tuple[str, ...]) -> ScoreTable:
    collection = read_collection(
        files,
        work.qrels,
        intents=work.intents,
        probabilities=work.probabilities,
        order=work.order,
        ties=work.ties,
        precision=work.precision,
        name=work.name,
        only_judged=True,
    )
    return score_collection(collection, work.measures, missing=work.missing, no_relevant=work.no_relevant)


def _joined(tables: Sequence[ScoreTable]) -> ScoreTable:
    """One table of all; a topic that one of them dropped is dropped from all."""
    names = [system for table in tables for system in table.systems]
    twice = [system for system, count in Counter(names).items() if count > 1]
    if twice:
        raise RequestError(f"two files hold a run called «{twice[0]}»", fix='Name systems after files: `name="file"`.')
    places = [{topic: at for at, topic in enumerate(table.topics)} for table in tables]
    topics = [topic for topic in tables[0].topics if all(topic in place for place in places)]
    if not topics:
        raise RequestError("no topic is left to score", fix="Choose zero or nan for missing or no_relevant.")
    values = [table.values[:, [place[topic] for topic in topics]] for table, place in zip(tables, places, strict=True)]
    warnings = dict.fromkeys(warning for table in tables for warning in table.warnings)
    return ScoreTable(
        tables[0].measures, tuple(topics), tuple(names), np.concatenate(values, axis=2), warnings=tuple(warnings)
    )
