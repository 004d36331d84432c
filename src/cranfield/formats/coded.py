"""Runs with integers in place of document ids, and the vocabularies the integers stand for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from cranfield.formats.qrels import JudgmentLines
from cranfield.formats.runs import RunLines
from cranfield.types import Array


class Vocabulary(Protocol):
    """Document ids by code."""

    def width(self) -> int:
        """Bytes of the longest id."""
        ...

    def words(self, count: int) -> Array:
        """All ids as ``count`` × ids machine words, the first byte the highest, zeros after the last."""
        ...

    def ids(self) -> list[bytes]:
        """All ids."""
        ...


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class CodedJudgments:
    """Ordinary judgments, one row each: ``topics[topic[i]]``, the code of the document, and the grade."""

    file: str
    topics: list[bytes]
    topic: Array
    codes: Array
    grades: Array


class Coder:
    """A vocabulary that grows as ids are coded, one dictionary look-up an id."""

    def __init__(self) -> None:
        self._codes: dict[bytes, int] = {}

    def code(self, ids: Iterable[bytes]) -> Array:
        known = self._codes
        return np.array([known.setdefault(name, len(known)) for name in ids], np.int32)

    def code_run(self, run: RunLines) -> CodedRun:
        topics, firsts = list_starts(run.topics)
        edges = np.array([*firsts, len(run.topics)], np.int64)
        return CodedRun(run.file, run.tags, topics, edges, self.code(run.documents), np.array(run.keys, np.float64))

    def code_judgments(self, lines: JudgmentLines) -> CodedJudgments:
        numbers: dict[bytes, int] = {}
        topic = np.array([numbers.setdefault(name, len(numbers)) for name in lines.topics], np.int64)
        grades = np.array(lines.grades, np.int32)
        return CodedJudgments(lines.file, list(numbers), topic, self.code(lines.documents), grades)

    def width(self) -> int:
        return max(map(len, self._codes), default=1)

    def words(self, count: int) -> Array:
        return np.array(list(self._codes), f"S{8 * count}").view(">u8").reshape(-1, count).T.astype(np.uint64)

    def ids(self) -> list[bytes]:
        return list(self._codes)


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
