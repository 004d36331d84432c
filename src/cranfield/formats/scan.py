"""The quick reader of runs and judgments: a few passes over the bytes of a clean file, document ids coded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from cranfield.formats.columns import Fields, blocks, find_fields
from cranfield.formats.qrels import FIELDS as JUDGMENT_FIELDS
from cranfield.formats.qrels import JudgmentLines
from cranfield.formats.runs import FIELDS, Order, RunLines
from cranfield.formats.text import BOM
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


_WIDEST = 32  # machine words; a name that needs more is left to the careful reader
_MIX = np.uint64(0xD6E8FEB86659FD93)


class Scanner:
    """Reads files one after the other, keeping one vocabulary of document ids for all of them.

    An id is a few machine words, its first byte the highest and zeros (which no id contains) after its last: they
    compare as the bytes do, eight at a time.
    """

    def __init__(self) -> None:
        self._words: Array = np.zeros((1, 0), np.uint64)  # words × documents, with room for more
        self._documents = 0
        self._longest = 1
        self._table: Array = np.zeros(1 << 12, np.int32)

    def scan(self, data: bytes, file: str, order: Order = Order.SCORE, *, with_ranks: bool = False) -> CodedRun | None:
        """The run in ``data``, or None when the careful reader has to look at it."""
        parts = _parts(data, FIELDS)
        if parts is None or not _has_one_value(parts, 5):
            return None
        keys = np.concatenate([part.numbers(3 if order is Order.RANK else 4) for part in parts])
        if not np.isfinite(keys).all():
            return None
        topics, edges = _lists(parts)
        return CodedRun(
            file,
            (parts[0].text(0, 5).decode(),),
            topics,
            edges,
            self._coded(parts),
            -keys if order is Order.RANK else keys,
            np.concatenate([part.numbers(3) for part in parts]) if with_ranks else np.empty(0),
        )

    def scan_judgments(self, data: bytes, file: str) -> CodedJudgments | None:
        """The ordinary judgments in ``data``, or None when the careful reader has to look at them."""
        parts = _parts(data, JUDGMENT_FIELDS)
        if parts is None or not all(part.is_digits(3) for part in parts):
            return None
        grades = np.concatenate([part.numbers(3) for part in parts])
        if np.abs(grades).max() > 2**31 - 1:
            return None
        names, edges = _lists(parts)
        numbers: dict[bytes, int] = {}
        topic = np.repeat([numbers.setdefault(name, len(numbers)) for name in names], np.diff(edges))
        codes = self._coded(parts)
        if has_repeats(topic, codes):
            return None
        return CodedJudgments(file, list(numbers), topic, codes, grades.astype(np.int32))

    def width(self) -> int:
        return self._longest

    def words(self, count: int) -> Array:
        known = self._words[:count, : self._documents]
        return np.concatenate([known, np.zeros((count - len(known), self._documents), np.uint64)])

    def ids(self) -> list[bytes]:
        rows = np.ascontiguousarray(self._words[:, : self._documents].T).astype(">u8")
        found: list[bytes] = rows.view(f"S{8 * len(self._words)}").ravel().tolist()
        return found

    def _coded(self, parts: Sequence[Fields]) -> Array:
        """The code of every line's document, new ones entered."""
        self._longest = max(self._longest, *(int(part.size[:, 2].max()) for part in parts))
        while len(self._words) * 8 < self._longest:
            self._widen()
        return np.concatenate([self._enter(part.names(2, len(self._words))) for part in parts])

    def _enter(self, words: Array) -> Array:
        """The codes of documents, all at once: every round settles those that meet themselves or an empty slot."""
        self._make_room(words.shape[1])
        mask = len(self._table) - 1
        slot, todo = (_hashed(words) & np.uint64(mask)).astype(np.int64), np.arange(words.shape[1])
        codes = np.empty(len(todo), np.int32)
        while len(todo):
            entry = self._table[slot]
            free = np.flatnonzero(entry == 0)
            if len(free):
                entry[free] = self._claim(slot[free], words[:, free])
            entry -= 1
            codes[todo] = entry  # of most lines their own, of the others until they are settled
            other = self._words[0][entry] != words[0]
            for known, word in zip(self._words[1:], words[1:], strict=True):
                other |= known[entry] != word
            left = np.flatnonzero(other)
            todo, words, slot = todo[left], words[:, left], (slot[left] + 1) & mask
        return codes

    def _claim(self, slots: Array, words: Array) -> Array:
        """Enter documents at free slots; of several at one slot the last has it. What the slots hold comes back."""
        bids = np.arange(1, len(slots) + 1, dtype=np.int32)
        self._table[slots] = bids
        won = np.flatnonzero(self._table[slots] == bids)
        codes = np.arange(self._documents, self._documents + len(won), dtype=np.int32)
        self._words[:, codes[0] : codes[-1] + 1] = words[:, won]
        self._table[slots[won]] = codes + 1
        self._documents += len(won)
        return self._table[slots]

    def _widen(self) -> None:
        """Twice the words for every id."""
        self._words = np.concatenate([self._words, np.zeros_like(self._words)])
        self._rehash(len(self._table))

    def _make_room(self, lines: int) -> None:
        """Room for the worst case, every line a new document."""
        most = self._documents + lines
        if self._words.shape[1] < most:
            grown = np.empty((len(self._words), most + lines), np.uint64)
            grown[:, : self._documents] = self._words[:, : self._documents]
            self._words = grown
        capacity = len(self._table)
        while capacity < 2 * most:
            capacity *= 2
        if capacity > len(self._table):
            self._rehash(capacity)

    def _rehash(self, capacity: int) -> None:
        """Enter every document into an empty, larger table."""
        self._table = np.zeros(capacity, np.int32)
        mask = np.uint64(capacity - 1)
        slot, todo = (
            _hashed(self._words[:, : self._documents]) & mask,
            np.arange(1, self._documents + 1, dtype=np.int32),
        )
        while len(todo):
            free = self._table[slot] == 0
            self._table[slot[free]] = todo[free]
            left = self._table[slot] != todo
            todo, slot = todo[left], (slot[left] + np.uint64(1)) & mask


def _hashed(words: Array) -> Array:
    key = np.zeros(words.shape[1], np.uint64)
    for word in words:
        key = (key ^ word) * _MIX
        key ^= key >> np.uint64(32)
    return (key * _MIX) >> np.uint64(20)


def _parts(data: bytes, width: int) -> list[Fields] | None:
    """The fields of a file, block by block; None when anything at all is odd."""
    data = data.removeprefix(BOM)
    try:
        if not data.isascii():
            data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    parts = []
    for block in blocks(data):
        part = find_fields(block, width)
        if part is None or part.size[:, [0, 2, -1]].max() > 8 * _WIDEST:
            return None
        parts.append(part)
    return parts or None


def _has_one_value(parts: Sequence[Fields], field: int) -> bool:
    """Whether a column has the same value on every line."""
    longest = max(int(part.size[:, field].max()) for part in parts)
    first = parts[0].names(field, -(-longest // 8))[:, :1]
    return all((part.names(field, len(first)) == first).all() for part in parts)


def _lists(parts: Sequence[Fields]) -> tuple[list[bytes], Array]:
    """The topics in the order of the lines, one for each list, and the lines at which lists begin and end."""
    names: list[bytes] = []
    edges = []
    before = 0
    for part in parts:
        words = part.names(0, -(-int(part.size[:, 0].max()) // 8))
        is_new = np.ones(words.shape[1], bool)
        is_new[1:] = (words[:, 1:] != words[:, :-1]).any(axis=0)
        firsts = np.flatnonzero(is_new)
        found = [part.text(line, 0) for line in firsts.tolist()]
        if names and found[0] == names[-1]:
            firsts, found = firsts[1:], found[1:]
        names += found
        edges.append(firsts + before)
        before += words.shape[1]
    return names, np.concatenate([*edges, [before]])


def has_repeats(lists: Array, codes: Array) -> bool:
    """Whether a list has a document twice."""
    keys = lists.astype(np.int64) * (int(codes.max()) + 1) + codes
    keys.sort()
    return bool((keys[1:] == keys[:-1]).any())
