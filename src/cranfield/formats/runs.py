"""Runs: ``topic Q0 document rank score tag``, one retrieved document a line."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from cranfield.formats.lines import Inspection, careful_lines, clean_columns, has_repeats, report_spacing, split_fields
from cranfield.formats.problems import Problem, refuse
from cranfield.formats.text import write_text
from cranfield.types import Array

FIELDS = 6
Field = TypeVar("Field")


class Order(StrEnum):
    """What decides the order of a list: the score column, as trec_eval does, or the rank column."""

    SCORE = "score"
    RANK = "rank"


class Ties(StrEnum):
    """The order of documents with the same score: by id, descending as in trec_eval, or ascending; or as they come.

    ``average``: all orders, that is, scores are expected values over them.
    """

    DOCID = "docid"
    ASCENDING = "docid-ascending"
    FILE = "file"
    AVERAGE = "average"


class Precision(StrEnum):
    """How scores are compared: as they are written, or rounded to single precision, as pytrec_eval has them."""

    DOUBLE = "double"
    SINGLE = "single"


def in_single_precision(keys: Array) -> Array:
    """The scores that pytrec_eval sees, and trec_eval before it had doubles."""
    with np.errstate(over="ignore"):  # what is too large is infinite there
        return keys.astype(np.float32).astype(np.float64)


@dataclass(frozen=True)
class RunLines:
    """The lines of a run, column by column; ``keys`` order the lists: scores, or ranks with the sign turned."""

    file: str
    numbers: Sequence[int]
    topics: Sequence[bytes]
    documents: Sequence[bytes]
    ranks: Sequence[bytes]
    keys: Sequence[float]
    line_tags: Sequence[bytes]

    @property
    def tags(self) -> tuple[str, ...]:
        """The run tags, each once."""
        return tuple(tag.decode() for tag in dict.fromkeys(self.line_tags))

    def only(self, tag: str) -> RunLines:
        """The lines under one tag."""
        at = [index for index, found in enumerate(self.line_tags) if found == tag.encode()]

        def pick(column: Sequence[Field]) -> list[Field]:
            return [column[index] for index in at]

        return RunLines(
            self.file,
            pick(self.numbers),
            pick(self.topics),
            pick(self.documents),
            pick(self.ranks),
            pick(self.keys),
            pick(self.line_tags),
        )


def parse_runs(data: bytes, file: str, *, order: Order = Order.SCORE, by_tag: bool = False) -> list[RunLines]:
    """The runs in one file: one, or one for each tag with ``by_tag``. What would make scores wrong is refused."""
    lines = _clean_run(data, file, order)
    if lines is None or _has_duplicate(lines, by_tag):
        lines, problems = inspect_run(data, file, order=order, by_tag=by_tag)
        refuse(problem for problem in problems if problem.slug != "several-tags")  # naming the systems decides that
    tags = lines.tags
    return [lines.only(tag) for tag in tags] if by_tag and len(tags) > 1 else [lines]


def _clean_run(data: bytes, file: str, order: Order) -> RunLines | None:
    columns = clean_columns(data, FIELDS)
    if columns is None:
        return None
    topics, _, documents, ranks, scores, tags = columns
    chosen = scores if order is not Order.RANK else ranks
    try:
        keys = list(map(float, chosen))
    except ValueError:
        return None
    if not all(map(math.isfinite, keys)) or b"_" in b"".join(chosen):
        return None
    if order is Order.RANK:
        keys = [-key for key in keys]
    return RunLines(file, range(1, len(topics) + 1), topics, documents, ranks, keys, tags)


def _list_keys(lines: RunLines, by_tag: bool) -> Iterable[tuple[bytes, ...]]:
    """Which list every line belongs to."""
    return zip(lines.line_tags, lines.topics, strict=True) if by_tag else zip(lines.topics, strict=True)


def _has_duplicate(lines: RunLines, by_tag: bool) -> bool:
    return has_repeats(list(_list_keys(lines, by_tag)) if by_tag else lines.topics, lines.documents)


def inspect_run(
    data: bytes, file: str, *, order: Order = Order.SCORE, by_tag: bool = False
) -> tuple[RunLines, list[Problem]]:
    """Read a run and report everything odd about it, line by line where need be."""
    look = Inspection(file)
    lines = _clean_run(data, file, order)
    if lines is not None:
        report_spacing(data, look)
    else:
        rows = [row for number, line in careful_lines(data, look) if (row := _parse_line(number, line, order, look))]
        columns = zip(*rows, strict=True) if rows else [()] * 6
        lines = RunLines(file, *columns)
        if not rows and not look.failed:
            look.add("empty-file")
    _inspect_duplicates(lines, by_tag, look)
    if lines.topics:
        _inspect_lists(lines, by_tag, order, look)
    if not by_tag:
        _inspect_tags(lines, look)
    return lines, look.problems


def parse_number(raw: bytes) -> float | None:
    """A decimal number as C reads it, nan and inf included; None for anything else (Python's 1_000 too)."""
    try:
        return None if b"_" in raw else float(raw)
    except ValueError:
        return None


def _parse_line(number: int, line: bytes, order: Order, look: Inspection) -> tuple[Any, ...] | None:
    fields = split_fields(line, number, FIELDS, look)
    if fields is None:
        return None
    topic, _, document, rank, score, tag = fields
    raw = score if order is not Order.RANK else rank
    value = parse_number(raw)
    if value is None:
        look.add("score-not-a-number", number, line, f"{order} «{raw[:40].decode(errors='replace')}»")
        return None
    if math.isnan(value):
        look.add("score-nan", number, line)
        return None
    if math.isinf(value):
        look.add("score-infinite", number, line)
    return number, topic, document, rank, value if order is not Order.RANK else -value, tag


def _inspect_duplicates(lines: RunLines, by_tag: bool, look: Inspection) -> None:
    if not _has_duplicate(lines, by_tag):
        return
    first: dict[tuple[tuple[bytes, ...], bytes], int] = {}
    for key, document, number in zip(_list_keys(lines, by_tag), lines.documents, lines.numbers, strict=True):
        before = first.setdefault((key, document), number)
        if before != number:
            text = f"{key[-1].decode()} {document.decode()}"
            look.add("duplicate-document", number, text, f"first on line {before}")


def _inspect_lists(lines: RunLines, by_tag: bool, order: Order, look: Inspection) -> None:
    """Ties, and ranks that disagree with scores, one report a list."""
    names: dict[tuple[bytes, ...], int] = {}
    pieces = [(key, len(list(piece))) for key, piece in groupby(_list_keys(lines, by_tag))]
    codes = [names.setdefault(key, len(names)) for key, _ in pieces]
    lists = np.repeat(codes, [length for _, length in pieces])
    columns = RankedLines(lists, np.array(lines.keys), np.array(parse_numbers(lines.ranks)), np.array(lines.numbers))
    report_order(columns, [key[-1] for key in names], order, look)


@dataclass(frozen=True, eq=False)
class RankedLines:
    """What the order of a run depends on, line by line: the number of its list, key, rank and line number."""

    lists: Array
    keys: Array
    ranks: Array
    numbers: Array

    def best_first(self) -> Array:
        """The lines list by list, in the order of the keys; the tied by rank, then as they come."""
        above, below = slice(None, -1), slice(1, None)
        together = self.lists[above] == self.lists[below]
        in_order = (self.keys[above] > self.keys[below]) | (
            (self.keys[above] == self.keys[below])
            & ((self.ranks[above] <= self.ranks[below]) | np.isnan(self.ranks[below]))
        )
        order = np.arange(len(self.lists))
        if (self.lists[above] > self.lists[below]).any():  # a list in several pieces
            return np.lexsort((self.ranks, -self.keys, self.lists))
        if not (in_order | ~together).all():  # sorting takes longer than everything else, so only what needs it
            unordered = np.zeros(self.lists[-1] + 1, bool)
            unordered[self.lists[below][together & ~in_order]] = True
            todo = np.flatnonzero(unordered[self.lists])
            order[todo] = todo[np.lexsort((self.ranks[todo], -self.keys[todo], self.lists[todo]))]
        return order


def report_order(lines: RankedLines, topics: Sequence[bytes], order: Order, look: Inspection) -> None:
    """Report ties, also in single precision, and ranks that disagree with scores, once for each list that has any."""
    best_first = lines.best_first()
    lists, keys, ranks, numbers = (
        column[best_first] for column in (lines.lists, lines.keys, lines.ranks, lines.numbers)
    )
    together = lists[:-1] == lists[1:]
    tied = together & (keys[:-1] == keys[1:])
    _report_lists("tie", tied, lists[1:], np.maximum(numbers[:-1], numbers[1:]), topics, look)
    if order is not Order.RANK:
        # Ranks among the tied are free; the last of them must still come before the next score.
        astray = together & ~tied & (ranks[:-1] >= ranks[1:])
        _report_lists("rank-disagrees", astray, lists[1:], numbers[1:], topics, look)
        rounded = in_single_precision(keys)
        near = together & ~tied & (rounded[:-1] == rounded[1:])
        _report_lists("tie-in-single-precision", near, lists[1:], np.maximum(numbers[:-1], numbers[1:]), topics, look)


def parse_numbers(texts: Sequence[bytes]) -> list[float]:
    """Every text as a number, nan where it is none; all at once where all of them are."""
    if b"_" not in b"".join(texts):
        try:
            return list(map(float, texts))
        except ValueError:
            pass
    return [math.nan if (number := parse_number(text)) is None else number for text in texts]


def _report_lists(
    slug: str, found: Array, lists: Array, numbers: Array, topics: Sequence[bytes], look: Inspection
) -> None:
    if not found.any():
        return
    counts = np.bincount(lists[found], minlength=len(topics))
    first = np.full(len(topics), np.iinfo(np.int64).max)
    np.minimum.at(first, lists[found], numbers[found])
    for topic, line, count in zip(topics, first.tolist(), counts.tolist(), strict=True):
        if count:
            look.add(slug, line, f"topic {topic.decode()}", count=count)


def _inspect_tags(lines: RunLines, look: Inspection) -> None:
    if len(set(lines.line_tags)) > 1:
        first = dict(zip(reversed(lines.line_tags), reversed(lines.numbers), strict=True))
        names = ", ".join(sorted(tag.decode() for tag in first)[:5])
        look.add("several-tags", sorted(first.values())[1], detail=f"{len(first)} tags ({names})")


def format_run(rows: Iterable[tuple[str, str, float]], tag: str) -> str:
    """TREC run lines from (topic, document, score) rows that are already in order."""
    lines: list[str] = []
    last, rank = "", 0
    for topic, document, score in rows:
        rank = rank + 1 if topic == last else 1
        last = topic
        lines.append(f"{topic} Q0 {document} {rank} {score!r} {tag}\n")
    return "".join(lines)


def write_run(path: str | Path, rows: Iterable[tuple[str, str, float]], tag: str) -> None:
    """Write a run; ``.gz`` in the name compresses it."""
    write_text(path, format_run(rows, tag))
