"""From coded runs and judgments to a collection: place, rank and join, each one pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cranfield.collection.collection import NOT_POOLED, Collection, merge, relevant_judgments, same_as_before
from cranfield.formats.problems import Problem
from cranfield.formats.qrels import JudgmentLines, grade_array
from cranfield.formats.scan import CodedJudgments, CodedRun, JudgedDocuments, JudgedRun, Scanner, Vocabulary
from cranfield.formats.text import natural_key
from cranfield.runtime.threads import available_workers, slices, spread
from cranfield.types import Array

_AT_ONCE = 200_000  # documents, whose arrays stay in the cache


def rank_lists(edges: Array, documents: Array, keys: Array) -> None:
    """Order every list in place; those that are in order already, as most are but for ties, cost one look."""
    parts = 1 + len(documents) // _AT_ONCE
    spread(lambda piece: _rank_some(edges[piece[0] : piece[1] + 1], documents, keys), slices(len(edges) - 1, parts))


def _rank_some(edges: Array, documents: Array, keys: Array) -> None:
    first, last = int(edges[0]), int(edges[-1])
    if last - first < 2:
        return
    edges, documents, keys = edges - first, documents[first:last], keys[first:last]
    within = np.ones(last - first + 1, bool)  # whether a document is of the same list as the one before
    within[edges] = False
    within = within[1:-1]
    rising = within & (keys[1:] > keys[:-1])
    tied = within & (keys[1:] == keys[:-1])
    if rising.any():
        unordered = np.searchsorted(edges, np.flatnonzero(rising), side="right") - 1
        for number in dict.fromkeys(unordered.tolist()):
            start, end = int(edges[number]), int(edges[number + 1])
            tied[start : end - 1] = False
            _rank_one(documents[start:end], keys[start:end])
    if (tied & (documents[1:] > documents[:-1])).any():
        _rank_tied(tied, documents)


def _rank_one(documents: Array, keys: Array) -> None:
    # Codes are in the byte order of the ids, so the higher code is the higher id.
    best_first = np.lexsort((-documents, -keys))
    documents[:] = documents[best_first]
    keys[:] = keys[best_first]


def _rank_tied(tied: Array, documents: Array) -> None:
    """Order the documents that are tied with the one before or after them: one sort of numbers for all groups."""
    one_of_several = np.zeros(len(documents), bool)
    one_of_several[1:] = tied
    one_of_several[:-1] |= tied
    at = np.flatnonzero(one_of_several)
    group = np.cumsum(~np.concatenate([[False], tied])[at])
    codes = int(documents.max()) + 1
    numbers = group * codes + (codes - 1 - documents[at])
    numbers.sort()
    documents[at] = codes - 1 - numbers % codes


AT_ONCE = 200_000  # documents: fewer are joined before a thread has started


@dataclass(frozen=True, eq=False)
class NamedRun:
    """A coded run under its system's name; ``vocabulary`` says which of the vocabularies its codes are from."""

    system: str
    run: CodedRun
    vocabulary: int


@dataclass(frozen=True, eq=False)
class NamedHits:
    """What of a run is judged, under its system's name."""

    system: str
    run: JudgedRun


@dataclass(frozen=True, eq=False)
class Judged:
    """Everything judged: ordinary judgments with their vocabulary, per-intent judgments, how likely intents are."""

    qrels: tuple[CodedJudgments, Vocabulary] | None = None
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
    runs: Sequence[NamedRun],
    vocabularies: Sequence[Vocabulary],
    judged: Judged,
    teams: Mapping[str, str] | None,
    *,
    ascending: bool = False,
    keep_ties: bool = False,
) -> Collection:
    """Put everything together; documents with the same key are in descending order of their ids, or ``ascending``.

    ``keep_ties`` notes which documents have the same key as the one before.
    """
    runs = sorted(runs, key=lambda named: named.system)
    base = Base.lay(judged, vocabularies)
    list_arrays, warnings = _lists(runs, base.tables, base.number, ascending=ascending, keep_ties=keep_ties)
    documents = len(base.arrays["document_edges"]) - 1
    hits = _hits(runs, documents, {**base.arrays, **list_arrays})
    return base.finish(runs, list_arrays | hits, warnings, judged, teams)


def build_judged(
    read_runs: Callable[[JudgedDocuments], list[NamedHits]], base: Base, judged: Judged, teams: Mapping[str, str] | None
) -> Collection:
    """The same collection without the unjudged documents of lists; ``read_runs`` is told what is judged."""
    runs = sorted(read_runs(base.judged_documents), key=lambda named: named.system)
    arrays, warnings = _judged_lists(runs, base)
    return base.finish(runs, arrays, warnings, judged, teams)


@dataclass(frozen=True, eq=False)
class Base:
    """The judgments, in their arrays, on which a collection is built; ``tables`` sort the codes of vocabularies."""

    topics: list[bytes]
    vocabulary: Vocabulary
    intents: _Intents | None
    arrays: dict[str, Array]
    codes: Array  # of the judged documents in the vocabulary
    tables: list[Array]

    @classmethod
    def lay(cls, judged: Judged, vocabularies: Sequence[Vocabulary]) -> Base:
        rows, vocabulary, intents = _all_judgments(judged)
        vocabularies = list({id(each): each for each in (*vocabularies, vocabulary)}.values())
        documents, tables = merge(vocabularies)
        topics = natural_order(rows.topics)
        number = {topic: index for index, topic in enumerate(topics)}
        topic = np.array([number[name] for name in rows.topics], np.int32)[rows.topic]
        codes = next(table for each, table in zip(vocabularies, tables, strict=True) if each is vocabulary)[rows.codes]
        order = np.argsort(topic.astype(np.int64) * len(documents) + codes)
        arrays = {"document_blob": documents.blob, "document_edges": documents.edges}
        arrays |= _judgment_arrays(topic[order], codes[order], rows.grades[order], len(topics))
        if rows.strata is not None:
            arrays["stratum"] = _numbered(rows.strata)[order]
        if intents is not None:
            arrays |= intents.arrays(topics, order)
        return cls(topics, vocabulary, intents, arrays, rows.codes[order], tables)

    @cached_property
    def number(self) -> dict[bytes, int]:
        return {topic: index for index, topic in enumerate(self.topics)}

    @cached_property
    def judged_documents(self) -> JudgedDocuments:
        return JudgedDocuments(self.topics, self.arrays["judged_edges"], self.codes, self.vocabulary)

    def finish(
        self,
        runs: Sequence[NamedRun | NamedHits],
        more: dict[str, Array],
        warnings: list[Problem],
        judged: Judged,
        teams: Mapping[str, str] | None,
    ) -> Collection:
        arrays = self.arrays | more
        warnings = [*warnings, *_hit_warnings(runs, arrays, warnings)]
        return Collection(
            tuple(named.system for named in runs),
            tuple(topic.decode() for topic in self.topics),
            None if teams is None else tuple(teams.get(named.system, named.system) for named in runs),
            None if self.intents is None else self.intents.names(self.topics),
            arrays,
            (*warnings, *_judgment_warnings(judged), *_probability_warnings(judged)),
        )


def _judged_lists(runs: Sequence[NamedHits], base: Base) -> tuple[dict[str, Array], list[Problem]]:
    """How long all lists are, and their hits, put topic by topic."""
    systems = len(runs)
    targets = [_targets(named, base.number) for named in runs]
    lengths = np.zeros((len(base.topics), systems), np.int64)
    counts = np.zeros_like(lengths)
    for system, (named, target) in enumerate(zip(runs, targets, strict=True)):
        known = target >= 0
        lengths[target[known], system] = named.run.lengths[known]
        counts[target[known], system] = np.diff(named.run.edges)[known]
    edges, hit_edges = (np.concatenate([[0], np.cumsum(each.ravel())]) for each in (lengths, counts))
    rank, judgment = (np.empty(hit_edges[-1], np.int32) for _ in range(2))
    for system, (named, target) in enumerate(zip(runs, targets, strict=True)):
        hits, known = np.diff(named.run.edges), np.repeat(target >= 0, np.diff(named.run.edges))
        moved = hit_edges[:-1].reshape(-1, systems)[target, system] - named.run.edges[:-1]
        to = (np.repeat(moved, hits) + np.arange(len(known)))[known]
        rank[to], judgment[to] = named.run.ranks[known], named.run.rows[known]
    warnings = [
        warning
        for system, (named, target) in enumerate(zip(runs, targets, strict=True))
        for warning in _topic_warnings(named, target, lengths[:, system])
    ]
    return {"list_edges": edges, **_hit_arrays(hit_edges, rank, judgment, base.arrays)}, warnings


def _targets(named: NamedRun | NamedHits, number: Mapping[bytes, int]) -> Array:
    """Which topic each list of a run is of; -1: of one that is not judged."""
    return np.array([number.get(topic, -1) for topic in named.run.topics], np.int64)


def _lists(
    runs: Sequence[NamedRun], tables: Sequence[Array], number: Mapping[bytes, int], *, ascending: bool, keep_ties: bool
) -> tuple[dict[str, Array], list[Problem]]:
    """All lists in one array, ranked."""
    systems = len(runs)
    targets = [_targets(named, number) for named in runs]
    lengths = np.zeros((len(number), systems), np.int64)
    for system, (named, target) in enumerate(zip(runs, targets, strict=True)):
        known = target >= 0
        np.add.at(lengths[:, system], target[known], np.diff(named.run.edges)[known])
    edges = np.concatenate([[0], np.cumsum(lengths.ravel())])
    documents, keys = np.empty(edges[-1], np.int32), np.empty(edges[-1], np.float64)
    for system, (named, target) in enumerate(zip(runs, targets, strict=True)):
        run = named.run
        to = _segment_starts(target, np.diff(run.edges), edges[:-1].reshape(-1, systems)[:, system])
        _place(run, to, tables[named.vocabulary], documents, keys)
    most = documents.max(initial=0)
    if ascending:  # counted from the other end, and back
        np.subtract(most, documents, out=documents)
    rank_lists(edges, documents, keys)
    if ascending:
        np.subtract(most, documents, out=documents)
    for named, target in zip(runs, targets, strict=True):
        _refuse_unjudged_duplicates(named, target)
    warnings = [
        warning
        for system, (named, target) in enumerate(zip(runs, targets, strict=True))
        for warning in _topic_warnings(named, target, lengths[:, system])
    ]
    found = {"list_edges": edges, "list_documents": documents}
    return found | ({"list_tied": same_as_before(edges, keys)} if keep_ties else {}), warnings


def _place(run: CodedRun, to: Array, table: Array, documents: Array, keys: Array) -> None:
    """Copy the lists of a run to their places, documents under their sorted codes; not those of unjudged topics."""
    codes, starts = table[run.codes], run.edges.tolist()
    for start, end, at in zip(starts[:-1], starts[1:], to.tolist(), strict=True):
        if at >= 0:
            documents[at : at + end - start] = codes[start:end]
            keys[at : at + end - start] = run.keys[start:end]


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
    if len(set(target.tolist())) == len(target):
        return starts
    used: dict[int, int] = {}
    for segment, (topic, length) in enumerate(zip(target.tolist(), lengths.tolist(), strict=True)):
        if topic >= 0:
            starts[segment] += used.get(topic, 0)
            used[topic] = used.get(topic, 0) + length
    return starts


def _topic_warnings(named: NamedRun | NamedHits, target: Array, lengths: Array) -> list[Problem]:
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


def _hit_warnings(
    runs: Sequence[NamedRun | NamedHits], arrays: Mapping[str, Array], known: Sequence[Problem]
) -> list[Problem]:
    apart = {problem.file for problem in known if problem.slug == "no-overlap"}
    judged, found = (np.diff(arrays[f"{kind}_hit_edges"]).reshape(-1, len(runs)).sum(0) for kind in ("judged", "found"))
    warnings = []
    for at, named in enumerate(runs):
        if named.run.file not in apart and not found[at]:
            warnings.append(Problem("nothing-relevant" if judged[at] else "nothing-judged", named.run.file))
    return warnings


def _hits(runs: Sequence[NamedRun], documents: int, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The judged documents of every list."""
    edges = arrays["list_edges"]
    judgment_at, duplicates = _join(len(runs), documents, arrays)
    if duplicates:
        raise DuplicateDocumentError(runs[min(duplicates) % len(runs)].system)
    at = np.flatnonzero(judgment_at >= 0)
    hit_edges = np.searchsorted(at, edges)
    judgment = judgment_at[at]
    at -= np.repeat(edges[:-1] - 1, np.diff(hit_edges))
    return _hit_arrays(hit_edges, at.astype(np.int32), judgment, arrays)


def _hit_arrays(hit_edges: Array, rank: Array, judgment: Array, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """All hits on judgments, and those of them that may be worth something."""
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


def _join(systems: int, documents: int, arrays: Mapping[str, Array]) -> tuple[Array, list[int]]:
    """The judgment of every document of every list, -1 for none; and a list that has a document twice, if any does."""
    edges, judged_edges = arrays["list_edges"][::systems].tolist(), arrays["judged_edges"].tolist()
    judgment_at = np.empty(arrays["list_edges"][-1], np.int32)

    def some_topics(piece: tuple[int, int]) -> list[int]:
        judgment_of = np.full(documents, -1, np.int32)
        duplicates = []
        for topic in range(*piece):
            judged = arrays["judged_document"][judged_edges[topic] : judged_edges[topic + 1]]
            listed = arrays["list_documents"][edges[topic] : edges[topic + 1]]
            judgment_of[judged] = np.arange(judged_edges[topic], judged_edges[topic + 1])
            judgment_at[edges[topic] : edges[topic + 1]] = judgment_of[listed]
            judgment_of[judged] = -1
            lengths = np.diff(arrays["list_edges"][topic * systems : (topic + 1) * systems + 1])
            keys = np.repeat(np.arange(0, systems * documents, documents), lengths) + listed
            keys.sort()
            twice = keys[1:][keys[1:] == keys[:-1]]
            duplicates += [topic * systems + int(twice[0]) // documents] if len(twice) else []
        return duplicates

    parts = min(available_workers(), 1 + len(judgment_at) // AT_ONCE)
    found = spread(some_topics, slices(len(judged_edges) - 1, parts))
    return judgment_at, [number for numbers in found for number in numbers]


def _numbered(strata: Array) -> Array:
    """Strata counted from 0; −1 for judgments without one."""
    known = np.unique(strata[strata >= 0])
    return np.where(strata >= 0, np.searchsorted(known, strata), -1).astype(np.int32)


def _judgment_arrays(topic: Array, documents: Array, grade: Array, topics: int) -> dict[str, Array]:
    """Judgments by topic and document."""
    return {
        "judged_edges": np.concatenate([[0], np.cumsum(np.bincount(topic, minlength=topics))]),
        "judged_document": documents,
        "grade": grade,
        "highest_grade": np.array([grade.max(initial=0)], grade.dtype),
    }


def _all_judgments(judged: Judged) -> tuple[CodedJudgments, Vocabulary, _Intents | None]:
    """One row for every judged (topic, document), whichever file judged it."""
    if judged.intents is None:
        assert judged.qrels is not None
        return *judged.qrels, None
    lines = judged.intents
    topics, documents, grades = [], [], []
    if judged.qrels is not None:
        known, vocabulary = judged.qrels
        ids = vocabulary.ids()
        topics = [known.topics[topic] for topic in known.topic.tolist()]
        documents = [ids[code] for code in known.codes.tolist()]
        grades = known.grades.tolist()
    seen = set(zip(topics, documents, strict=True))
    for topic, document in zip(lines.topics, lines.documents, strict=True):
        if (topic, document) not in seen:
            seen.add((topic, document))
            topics.append(topic)
            documents.append(document)
            grades.append(NOT_POOLED)
    scanner = Scanner()
    rows = scanner.code_judgments(JudgmentLines(lines.file, topics, [], documents, grades))
    if judged.qrels is not None and (strata := judged.qrels[0].strata) is not None:
        rows = replace(rows, strata=np.append(strata, np.full(len(grades) - len(strata), -1, np.int32)))
    return (
        rows,
        scanner.vocabulary,
        _Intents.gather(lines, judged.probabilities, list(zip(topics, documents, strict=True))),
    )


@dataclass(frozen=True, eq=False)
class _Intents:
    """The intents of every topic, and the per-intent grades of every (topic, document) in ``pairs``."""

    pairs: list[tuple[bytes, bytes]]
    grades: dict[tuple[bytes, bytes], list[tuple[bytes, float]]]
    intents: dict[bytes, list[bytes]]
    probabilities: Mapping[tuple[bytes, bytes], float] | None

    @classmethod
    def gather(
        cls,
        lines: JudgmentLines,
        probabilities: Mapping[tuple[bytes, bytes], float] | None,
        pairs: list[tuple[bytes, bytes]],
    ) -> _Intents:
        grades: dict[tuple[bytes, bytes], list[tuple[bytes, float]]] = {}
        intents: dict[bytes, dict[bytes, None]] = {}
        for topic, intent, document, grade in zip(
            lines.topics, lines.intents, lines.documents, lines.grades, strict=True
        ):
            grades.setdefault((topic, document), []).append((intent, grade))
            intents.setdefault(topic, {}).setdefault(intent)
        for topic, intent in probabilities or ():
            if topic in intents:
                intents[topic].setdefault(intent)
        ordered = {topic: natural_order(list(names)) for topic, names in intents.items()}
        return cls(pairs, grades, ordered, probabilities)

    def arrays(self, topics: Sequence[bytes], order: Array) -> dict[str, Array]:
        position = {topic: {name: at for at, name in enumerate(names)} for topic, names in self.intents.items()}
        counts, index, grade = [0], [], []
        for row in order.tolist():
            topic, document = self.pairs[row]
            for intent, value in self.grades.get((topic, document), ()):
                index.append(position[topic][intent])
                grade.append(value)
            counts.append(len(index))
        sizes = [len(self.intents.get(topic, ())) for topic in topics]
        return {
            "intent_first": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            "intent_weight": np.concatenate([[], *(self._weights(topic) for topic in topics)]),
            "intent_edges": np.array(counts, np.int64),
            "intent_index": np.array(index, np.int32),
            "intent_grade": grade_array(grade),
        } | self._importance(topics)

    def _importance(self, topics: Sequence[bytes]) -> dict[str, Array]:
        """The weights as they were written, where there are some; 0 for an intent without one."""
        if self.probabilities is None:
            return {}
        given = [self.probabilities.get((topic, name), 0.0) for topic in topics for name in self.intents.get(topic, ())]
        return {"intent_importance": np.array(given, np.float64)}

    def _weights(self, topic: bytes) -> Array:
        """P(intent | topic): as given, made to sum to 1; uniform where nothing is given."""
        names = self.intents.get(topic, [])
        given = [(self.probabilities or {}).get((topic, name)) for name in names]
        weights = np.array([0.0 if weight is None else weight for weight in given])
        if all(weight is None for weight in given) or weights.sum() <= 0:
            weights = np.ones(len(names))
        return np.asarray(weights / max(float(weights.sum()), 1e-300))

    def names(self, topics: Sequence[bytes]) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(name.decode() for name in self.intents.get(topic, ())) for topic in topics)


def _judgment_warnings(judged: Judged) -> list[Problem]:
    if judged.qrels is None:
        return []
    rows = judged.qrels[0]
    barren = int(np.count_nonzero(np.bincount(rows.topic[rows.grades > 0], minlength=len(rows.topics)) == 0))
    negative = int(np.count_nonzero(rows.grades < 0))
    found = []
    if barren:
        found.append(Problem("no-relevant", rows.file, detail=f"{barren} topics", count=barren))
    if negative:
        found.append(Problem("grade-negative", rows.file, detail=f"{negative} judgments", count=negative))
    return found


def _probability_warnings(judged: Judged) -> list[Problem]:
    """Intents that count for nothing because others of their topic have a probability, and topics that are unknown."""
    if judged.intents is None or not judged.probabilities:
        return []
    intents = set(zip(judged.intents.topics, judged.intents.intents, strict=True))
    weighed, known = ({topic for topic, _ in pairs} for pairs in (judged.probabilities, intents))
    counts = {
        "probability-missing": sum(topic in weighed for topic, _ in intents - judged.probabilities.keys()),
        "probability-unused": len(weighed - known),
    }
    units = {"probability-missing": "intents", "probability-unused": "topics"}
    file = judged.intents.file
    return [
        Problem(slug, file, detail=f"{count} {units[slug]}", count=count) for slug, count in counts.items() if count
    ]
