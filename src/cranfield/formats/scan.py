"""The quick reader of runs and judgments: one compiled pass over the bytes of a clean file, document ids coded."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from cranfield.formats.qrels import FIELDS as JUDGMENT_FIELDS
from cranfield.formats.qrels import MOST_GRADE, JudgmentLines, grade_array
from cranfield.formats.runs import FIELDS, Order, RunLines, parse_numbers
from cranfield.formats.text import BOM, LONGEST_LINE, why_not_text
from cranfield.types import Array

try:
    from cranfield.formats import _scan
except ImportError:  # installed where there was no compiler: the careful reader reads everything
    _scan = None  # type: ignore[assignment]


class Vocabulary:
    """Document ids, coded in the order in which they are met."""

    def __init__(self) -> None:
        # The key is secret, so that no file can be written whose ids all collide; codes do not depend on it.
        self.compiled = None if _scan is None else _scan.Vocabulary(os.urandom(16))
        self._codes: dict[bytes, int] = {}

    def code(self, ids: Sequence[Any]) -> Array:
        """The codes of ids, those that are new entered."""
        if self.compiled is not None:
            return np.frombuffer(self.compiled.code(list(ids)), np.int32)
        known = self._codes
        return np.array([known.setdefault(name, len(known)) for name in ids], np.int32)

    def enter(self, other: Vocabulary) -> Array:
        """Enter the ids of another vocabulary; which codes they have here."""
        if self.compiled is not None and other.compiled is not None:
            return np.frombuffer(self.compiled.enter(other.compiled), np.int32)
        return self.code(other.ids())

    def ids(self) -> list[bytes]:
        """All ids, by code."""
        return list(self._codes) if self.compiled is None else self.compiled.ids()

    def sorted(self) -> tuple[Array, Array, Array]:
        """The ids in byte order, end to end, with their edges; and the place of every code in that order."""
        if self.compiled is not None:
            return tuple(map(np.frombuffer, self.compiled.sorted(), (np.uint8, np.int64, np.int32)))  # type: ignore[return-value]
        ids = sorted(self._codes)
        edges = np.concatenate([[0], np.cumsum([len(name) for name in ids], dtype=np.int64)])
        places = np.empty(len(ids), np.int32)
        places[[self._codes[name] for name in ids]] = np.arange(len(ids))
        return np.frombuffer(bytearray(b"".join(ids)), np.uint8), edges, places


@dataclass(frozen=True, eq=False)
class CodedRun:
    """One run: ``topics[i]`` owns ``codes[edges[i]:edges[i + 1]]``; a topic may come more than once.

    ``ranks`` is the rank column, nan where it is no number; empty unless it was asked for.
    """

    file: str
    tags: tuple[str, ...]
    topics: list[bytes]
    edges: Array
    codes: Array
    keys: Array
    ranks: Array = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True, eq=False)
class CodedJudgments:
    """Ordinary judgments, one row each: ``topics[topic[i]]``, the code of the document, the grade, and any stratum."""

    file: str
    topics: list[bytes]
    topic: Array
    codes: Array
    grades: Array
    strata: Array | None = None


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """What of a run is judged: list ``i``, of ``topics[i]``, of which there is no other, has ``lengths[i]`` documents.

    Those at ``ranks[edges[i]:edges[i + 1]]`` are judged, and ``rows`` are their judgments.
    """

    file: str
    tags: tuple[str, ...]
    topics: list[bytes]
    lengths: Array
    edges: Array
    ranks: Array
    rows: Array


class JudgedDocuments:
    """Reads runs of which only judged documents are kept, ranked by score and, of equal scores, by the higher id.

    Nothing else about a run is needed for its scores, and no table of all documents has to be made.
    """

    def __init__(self, topics: list[bytes], edges: Array, codes: Array, vocabulary: Vocabulary) -> None:
        self._topics, self._edges, self._codes, self._vocabulary = topics, edges, codes, vocabulary
        compiled = vocabulary.compiled
        edges, codes = edges.astype(np.int64), codes.astype(np.int32)
        self._compiled = None if compiled is None else compiled.judgments(topics, edges.tobytes(), codes.tobytes())

    def scan(self, data: bytes, file: str) -> JudgedRun | None:
        """The run in ``data``, or None when the careful reader has to look at it."""
        data = data.removeprefix(BOM)
        if self._compiled is None or not _is_text(data):
            return None
        found = self._compiled.scan(data, _SCORE, LONGEST_LINE)
        if found is None or len(set(found[1])) < len(found[1]):  # a topic's documents stand apart
            return None
        tag, topics, *arrays = found
        parts = map(np.frombuffer, arrays, (np.int64, np.int64, np.int32, np.int32))
        return JudgedRun(file, (tag.decode(),), topics, *parts)

    def take(self, run: Any, file: str, system: str) -> JudgedRun | None:
        """What is judged of ``{topic: {document: score}}``, or None when it has to be read carefully."""
        found = None if self._compiled is None else self._compiled.take(run)
        if not found or not found[0] or len(set(found[0])) < len(found[0]):  # two topics have one name
            return None
        parts = map(np.frombuffer, found[1:], (np.int64, np.int64, np.int32, np.int32))
        return JudgedRun(file, (system,), found[0], *parts)

    def look_up(self, run: RunLines) -> JudgedRun:
        """What is judged of a run that was read carefully."""
        lists: dict[bytes, list[tuple[float, bytes]]] = {}
        for topic, document, key in zip(run.topics, run.documents, run.keys, strict=True):
            lists.setdefault(topic, []).append((key, document))
        edges, hits = [0], []
        for topic, ranked in lists.items():
            rows = self._rows.get(topic, {})
            ranked.sort(reverse=True)
            hits += [(rank, rows[document]) for rank, (_, document) in enumerate(ranked, 1) if document in rows]
            edges.append(len(hits))
        lengths = np.array([len(ranked) for ranked in lists.values()], np.int64)
        ranks, rows_found = np.array(hits, np.int32).reshape(-1, 2).T
        return JudgedRun(run.file, run.tags, list(lists), lengths, np.array(edges, np.int64), ranks, rows_found)

    @cached_property
    def _rows(self) -> dict[bytes, dict[bytes, int]]:
        """The judgment of every judged document of every topic."""
        ids, edges = self._vocabulary.ids(), self._edges.tolist()
        names = [ids[code] for code in self._codes.tolist()]
        return {
            topic: dict(zip(names[first:last], range(first, last), strict=True))
            for topic, first, last in zip(self._topics, edges[:-1], edges[1:], strict=True)
        }


def list_starts(topics: Iterable[bytes]) -> tuple[list[bytes], list[int]]:
    """Where a new list begins: the topics in order of appearance, and their first lines."""
    names: list[bytes] = []
    firsts: list[int] = []
    last = None
    for line, topic in enumerate(topics):
        if topic != last:
            names.append(topic)
            firsts.append(line)
            last = topic
    return names, firsts


class Scanner:
    """Reads files one after the other, keeping one vocabulary of document ids for all of them."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()

    def scan(self, data: bytes, file: str, order: Order = Order.SCORE, *, with_ranks: bool = False) -> CodedRun | None:
        """The run in ``data``, or None when the careful reader has to look at it."""
        key = _RANK if order is Order.RANK else _SCORE
        found = self._scanned(data, FIELDS, key, _RANK if with_ranks else -1)
        if found is None or not np.isfinite(found.keys).all():
            return None
        keys = -found.keys if order is Order.RANK else found.keys
        return CodedRun(file, (found.tag.decode(),), found.topics, found.edges, found.codes, keys, found.ranks)

    def scan_judgments(self, data: bytes, file: str) -> CodedJudgments | None:
        """The ordinary judgments in ``data``, or None when the careful reader has to look at them."""
        found = self._scanned(data, JUDGMENT_FIELDS, _GRADE, -1)
        if found is None or not np.abs(found.keys).max() <= MOST_GRADE:  # nan: no number
            return None
        numbers: dict[bytes, int] = {}
        topic = np.repeat([numbers.setdefault(name, len(numbers)) for name in found.topics], np.diff(found.edges))
        if has_repeats(topic, found.codes):
            return None
        return CodedJudgments(file, list(numbers), topic, found.codes, grade_array(found.keys))

    def code_run(self, run: RunLines) -> CodedRun:
        """A run that was read carefully."""
        topics, firsts = list_starts(run.topics)
        edges, codes = np.array([*firsts, len(run.topics)], np.int64), self.vocabulary.code(run.documents)
        return CodedRun(run.file, run.tags, topics, edges, codes, np.array(run.keys, np.float64))

    def take_judgments(self, judged: Any, file: str) -> CodedJudgments | None:
        """``{topic: {document: grade}}`` of text and numbers, or None when it has to be read carefully."""
        compiled = self.vocabulary.compiled
        taken = None if compiled is None else compiled.take(judged)
        if taken is None:
            return None
        names, lengths, codes, grades = taken
        exact = np.frombuffer(grades, np.float64)
        if np.abs(exact).max() > MOST_GRADE:
            return None
        topic = np.repeat(np.arange(len(names)), np.frombuffer(lengths, np.int64))
        return CodedJudgments(file, names, topic, np.frombuffer(codes, np.int32), grade_array(exact))

    def code_judgments(self, lines: JudgmentLines) -> CodedJudgments:
        """Judgments that were read carefully."""
        numbers: dict[bytes, int] = {}
        topic = np.array([numbers.setdefault(name, len(numbers)) for name in lines.topics], np.int64)
        codes, grades = self.vocabulary.code(lines.documents), grade_array(lines.grades)
        strata = np.array(lines.strata, np.int32) if lines.strata else None
        return CodedJudgments(lines.file, list(numbers), topic, codes, grades, strata)

    def _scanned(self, data: bytes, width: int, key: int, rank: int) -> _Columns | None:
        data = data.removeprefix(BOM)
        compiled = self.vocabulary.compiled
        if compiled is None or not _is_text(data):
            return None
        found = compiled.scan(data, width, key, rank, LONGEST_LINE)
        if found is None:
            return None
        tag, topics, edges, codes, keys, ranks, left = found
        columns = _Columns(tag, topics, *map(np.frombuffer, (edges, codes, keys, ranks), _TYPES))
        if left:
            columns.parse_left(data, np.frombuffer(left, np.int64).reshape(-1, 4), key, rank)
        return columns


_RANK, _SCORE, _GRADE = 3, 4, 3  # which field
_TYPES: tuple[Any, ...] = (np.int64, np.int32, np.float64, np.float64)


@dataclass(frozen=True, eq=False)
class _Columns:
    """What a pass over a file finds: list ``i`` is of ``topics[i]`` and begins at line ``edges[i]``."""

    tag: bytes
    topics: list[bytes]
    edges: Array
    codes: Array
    keys: Array
    ranks: Array

    def parse_left(self, data: bytes, left: Array, key: int, rank: int) -> None:
        """Read the numbers that take more than a machine word, or are none: nan. The key may be the rank."""
        parsed = np.array(parse_numbers([data[start : start + size] for _, _, start, size in left.tolist()]))
        for column, field_number in ((self.keys, key), (self.ranks, rank)):
            mine = left[:, 0] == field_number
            column[left[mine, 1]] = parsed[mine]


def _is_text(data: bytes) -> bool:
    """Whether the bytes are text; what begins as another kind of file does is left to the careful reader."""
    if why_not_text(data):
        return False
    if data.isascii():
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def has_repeats(lists: Array, codes: Array) -> bool:
    """Whether a list has a document twice."""
    keys = lists.astype(np.int64) * (int(codes.max()) + 1) + codes
    keys.sort()
    return bool((keys[1:] == keys[:-1]).any())
