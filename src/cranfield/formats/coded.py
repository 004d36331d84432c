"""Runs with integers in place of document ids, and the vocabularies the integers stand for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from cranfield.formats.runs import RunLines
from cranfield.types import Array


class Vocabulary(Protocol):
    """Document ids by code."""

    def width(self) -> int:
        """Bytes of the longest id."""
        ...

    def padded(self, width: int) -> Array:
        """All ids as one byte-string array of that width."""
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

    def width(self) -> int:
        return max(map(len, self._codes), default=1)

    def padded(self, width: int) -> Array:
        return np.array(list(self._codes), f"S{width}")

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
