"""From coded runs and judgments to a collection: place, rank and join, each one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cranfield.collection.collection import UNJUDGED, Collection, relevant_judgments
from cranfield.collection.documents import merge
from cranfield.collection.kernels import join, place
from cranfield.collection.ranking import rank_lists
from cranfield.formats.coded import CodedRun, Coder, Vocabulary
from cranfield.formats.name_order import natural_key
from cranfield.formats.problems import Problem
from cranfield.formats.qrels import JudgmentLines
from cranfield.types import Array


@dataclass(frozen=True)
class NamedRun:
    """A coded run under its system's name; ``vocabulary`` says which of the vocabularies its codes are from."""

    system: str
    run: CodedRun
    vocabulary: int


@dataclass(frozen=True)
class Judged:
    """Everything judged: ordinary judgments, per-intent judgments, and how likely intents are."""

    qrels: JudgmentLines | None = None
    intents: JudgmentLines | None = None
    probabilities: Mapping[tuple[bytes, bytes], float] | None = None


class DuplicateDocumentError(Exception):
    """A list has a document twice; ``system`` is whose."""

    def __init__(self, system: str) -> None:
        super().__init__(system)
        self.system = system


def natural_order(names: Sequence[bytes]) -> list[bytes]:
    """Numbers by value, then everything else by its bytes.

    >>> natural_order([b"q2", b"10", b"9", b"q10"])
    [b'9', b'10', b'q10', b'q2']
    """
    return sorted(names, key=lambda name: natural_key(name.decode()))


def build(
    runs: Sequence[NamedRun], vocabularies: Sequence[Vocabulary], judged: Judged, teams: Mapping[str, str] | None
) -> Collection:
    """Put everything together."""
    runs = sorted(runs, key=lambda named: named.system)
    judgments, coder = _Judgments.gather(judged), Coder()
    judged_codes = coder.code(judgments.documents)
    documents, tables = merge([*vocabularies, coder])
    topics = natural_order(list(dict.fromkeys(judgments.topics)))
    number = {topic: index for index, topic in enumerate(topics)}
    arrays = {"document_blob": documents.blob, "document_edges": documents.edges}
    arrays |= judgments.arrays(number, tables[-1][judged_codes])
    list_arrays, warnings = _lists(runs, tables, number)
    arrays |= list_arrays | _hits(runs, len(documents), {**arrays, **list_arrays})
    warnings += _hit_warnings(runs, arrays, warnings)
    return Collection(
        tuple(named.system for named in runs),
        tuple(topic.decode() for topic in topics),
        None if teams is None else tuple(teams.get(named.system, named.system) for named in runs),
        judgments.intent_names(topics),
        arrays,
        (*warnings, *_judgment_warnings(judged)),
    )


def _lists(
    runs: Sequence[NamedRun], tables: Sequence[Array], number: Mapping[bytes, int]
) -> tuple[dict[str, Array], list[Problem]]:
    """All lists in one array, ranked."""
    systems = len(runs)
    targets = [np.array([number.get(topic, -1) for topic in named.run.topics], np.int64) for named in runs]
    lengths = np.zeros((len(number), systems), np.int64)
    for system, (named, target) in enumerate(zip(runs, targets, strict=True)):
        known = target >= 0
        np.add.at(lengths[:, system], target[known], np.diff(named.run.edges)[known])
    edges = np.concatenate([[0], np.cumsum(lengths.ravel())])
    documents, keys = np.empty(edges[-1], np.int32), np.empty(edges[-1], np.float64)
    for system, (named, target) in enumerate(zip(runs, targets, strict=True)):
        run = named.run
        to = _segment_starts(target, np.diff(run.edges), edges[:-1].reshape(-1, systems)[:, system])
        place(
            len(target),
            run.edges,
            to,
            run.codes,
            run.keys,
            tables[named.vocabulary],
            documents,
            keys,
            work=len(run.codes),
            workers=1,
        )
    rank_lists(edges, documents, keys)
    for named, target in zip(runs, targets, strict=True):
        _refuse_unjudged_duplicates(named, target)
    warnings = [
        warning
        for system, (named, target) in enumerate(zip(runs, targets, strict=True))
        for warning in _topic_warnings(named, target, lengths[:, system])
    ]
    return {"list_edges": edges, "list_documents": documents}, warnings


def _refuse_unjudged_duplicates(named: NamedRun, target: Array) -> None:
    """Lists that are not placed are not joined either; a document twice in one is refused all the same."""
    unplaced = target < 0
    if not unplaced.any():
        return
    numbers: dict[bytes, int] = {}
    topic = np.array([numbers.setdefault(name, len(numbers)) for name in named.run.topics], np.int64)
    lengths = np.diff(named.run.edges)
    keys = np.repeat(topic, lengths) * (int(named.run.codes.max()) + 1) + named.run.codes
    keys = keys[np.repeat(unplaced, lengths)]
    if len(np.unique(keys)) < len(keys):
        raise DuplicateDocumentError(named.system)


def _segment_starts(target: Array, lengths: Array, list_starts: Array) -> Array:
    """Where each segment of a run goes; segments of one topic that stand apart in the file follow each other."""
    starts = np.where(target >= 0, list_starts[target], -1)
    if len(np.unique(target)) == len(target):
        return starts
    used: dict[int, int] = {}
    for segment, (topic, length) in enumerate(zip(target.tolist(), lengths.tolist(), strict=True)):
        if topic >= 0:
            starts[segment] += used.get(topic, 0)
            used[topic] = used.get(topic, 0) + length
    return starts


def _topic_warnings(named: NamedRun, target: Array, lengths: Array) -> list[Problem]:
    unjudged = len({topic for topic, index in zip(named.run.topics, target.tolist(), strict=True) if index < 0})
    missing = int(np.count_nonzero(lengths == 0))
    found = []
    if unjudged and missing == len(lengths):
        found.append(Problem("no-overlap", named.run.file, detail=f"{unjudged} topics, none of them judged"))
    elif unjudged:
        found.append(Problem("topic-unjudged", named.run.file, detail=f"{unjudged} topics", count=unjudged))
    if missing and missing < len(lengths):
        found.append(Problem("topic-missing", named.run.file, detail=f"{missing} topics", count=missing))
    return found


def _hit_warnings(runs: Sequence[NamedRun], arrays: Mapping[str, Array], known: Sequence[Problem]) -> list[Problem]:
    apart = {problem.file for problem in known if problem.slug == "no-overlap"}
    judged, found = (np.diff(arrays[f"{kind}_hit_edges"]).reshape(-1, len(runs)).sum(0) for kind in ("judged", "found"))
    warnings = []
    for at, named in enumerate(runs):
        if named.run.file not in apart and not found[at]:
            warnings.append(Problem("nothing-relevant" if judged[at] else "nothing-judged", named.run.file))
    return warnings


def _hits(runs: Sequence[NamedRun], documents: int, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The judged documents of every list."""
    edges, lists = arrays["list_edges"], len(arrays["list_edges"]) - 1
    judgment_at = np.empty(edges[-1], np.int32)
    hits, duplicate = np.zeros(lists, np.int64), np.zeros(lists, np.bool_)
    join(
        len(arrays["judged_edges"]) - 1,
        len(runs),
        documents,
        edges,
        arrays["list_documents"],
        arrays["judged_edges"],
        arrays["judged_document"],
        judgment_at,
        hits,
        duplicate,
        work=len(arrays["list_documents"]),
    )
    if duplicate.any():
        raise DuplicateDocumentError(runs[int(np.argmax(duplicate)) % len(runs)].system)
    hit_edges = np.concatenate([[0], np.cumsum(hits)])
    at = np.flatnonzero(judgment_at >= 0)
    judgment = judgment_at[at]
    at -= np.repeat(edges[:-1] - 1, hits)
    rank = at.astype(np.int32)
    worth = relevant_judgments(arrays)[judgment]
    found_edges = np.searchsorted(np.flatnonzero(worth), hit_edges)
    return {
        "judged_hit_edges": hit_edges,
        "judged_hit_rank": rank,
        "judged_hit_judgment": judgment,
        "found_hit_edges": found_edges,
        "found_hit_rank": rank[worth],
        "found_hit_judgment": judgment[worth],
    }


@dataclass(frozen=True)
class _Judgments:
    """One row for every judged (topic, document), whichever file judged it."""

    topics: list[bytes]
    documents: list[bytes]
    grades: list[int]
    per_intent: dict[tuple[bytes, bytes], list[tuple[bytes, int]]]
    intents: dict[bytes, list[bytes]]
    probabilities: Mapping[tuple[bytes, bytes], float] | None

    @classmethod
    def gather(cls, judged: Judged) -> _Judgments:
        topics, documents, grades = [], [], []
        if judged.qrels is not None:
            topics, documents, grades = (
                list(judged.qrels.topics),
                list(judged.qrels.documents),
                list(judged.qrels.grades),
            )
        per_intent: dict[tuple[bytes, bytes], list[tuple[bytes, int]]] = {}
        intents: dict[bytes, dict[bytes, None]] = {}
        lines = judged.intents
        if lines is not None:
            known = set(zip(topics, documents, strict=True))
            for topic, intent, document, grade in zip(
                lines.topics, lines.intents, lines.documents, lines.grades, strict=True
            ):
                per_intent.setdefault((topic, document), []).append((intent, grade))
                intents.setdefault(topic, {}).setdefault(intent)
                if (topic, document) not in known:
                    known.add((topic, document))
                    topics.append(topic)
                    documents.append(document)
                    grades.append(UNJUDGED)
        for topic, intent in judged.probabilities or ():
            if topic in intents:
                intents[topic].setdefault(intent)
        ordered = {topic: natural_order(list(names)) for topic, names in intents.items()}
        return cls(topics, documents, grades, per_intent, ordered, judged.probabilities)

    def arrays(self, number: Mapping[bytes, int], codes: Array) -> dict[str, Array]:
        topic = np.array([number[name] for name in self.topics], np.int32)
        order = np.lexsort((codes, topic))
        edges = np.concatenate([[0], np.cumsum(np.bincount(topic, minlength=len(number)))])
        grade = np.array(self.grades, np.int32)[order]
        found = {
            "judged_edges": edges,
            "judged_document": codes[order],
            "grade": grade,
            "highest_grade": np.array([grade.max(initial=0)], np.int32),
        }
        return found | (self._intent_arrays(list(number), order.tolist()) if self.intents else {})

    def _intent_arrays(self, topics: Sequence[bytes], order: list[int]) -> dict[str, Array]:
        position = {topic: {name: at for at, name in enumerate(names)} for topic, names in self.intents.items()}
        counts, index, grade = [0], [], []
        for row in order:
            topic = self.topics[row]
            for intent, value in self.per_intent.get((topic, self.documents[row]), ()):
                index.append(position[topic][intent])
                grade.append(value)
            counts.append(len(index))
        sizes = [len(self.intents.get(topic, ())) for topic in topics]
        return {
            "intent_first": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            "intent_weight": np.concatenate([[], *(self._weights(topic) for topic in topics)]),
            "intent_edges": np.array(counts, np.int64),
            "intent_index": np.array(index, np.int32),
            "intent_grade": np.array(grade, np.int32),
        }

    def _weights(self, topic: bytes) -> Array:
        """P(intent | topic): as given, made to sum to 1; uniform where nothing is given."""
        names = self.intents.get(topic, [])
        given = [(self.probabilities or {}).get((topic, name)) for name in names]
        weights = np.array([0.0 if weight is None else weight for weight in given])
        if all(weight is None for weight in given) or weights.sum() <= 0:
            weights = np.ones(len(names))
        return np.asarray(weights / max(float(weights.sum()), 1e-300))

    def intent_names(self, topics: Sequence[bytes]) -> tuple[tuple[str, ...], ...] | None:
        if not self.intents:
            return None
        return tuple(tuple(name.decode() for name in self.intents.get(topic, ())) for topic in topics)


def _judgment_warnings(judged: Judged) -> list[Problem]:
    lines = judged.qrels
    if lines is None:
        return []
    fruitful = {topic for topic, grade in zip(lines.topics, lines.grades, strict=True) if grade > 0}
    barren = len(set(lines.topics)) - len(fruitful)
    negative = sum(grade < 0 for grade in lines.grades) if min(lines.grades) < 0 else 0
    found = []
    if barren:
        found.append(Problem("no-relevant", lines.file, detail=f"{barren} topics", count=barren))
    if negative:
        found.append(Problem("grade-negative", lines.file, detail=f"{negative} judgments", count=negative))
    return found
